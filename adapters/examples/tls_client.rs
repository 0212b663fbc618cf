//! Asks for a URL over TLS, with an authority of your own, or has a WebSocket echo.
//!
//! ```text
//! cargo run -p bytewise-net --all-features --example tls_client -- tokio localhost.pem GET https://localhost:8443/
//! cargo run -p bytewise-net --all-features --example tls_client -- smol localhost.pem POST https://localhost:8443/ hello
//! cargo run -p bytewise-net --all-features --example tls_client -- blocking localhost.pem ECHO wss://localhost:8443/ hello
//! ```
//!
//! Runtimes are `tokio`, `smol`, `async-std` and `blocking`. The file has the certificates that are trusted; without any, those of
//! the system are.

use bytewise::{
    http1::NO_FIELDS,
    ws::{self, Event},
};
use bytewise_net::{
    BoxError, ClientOptions, Connect, Driver, HttpClient, Transport, WsOptions, async_std, blocking, smol, tls, tokio,
};
use futures_lite::future::block_on;
use rustls::{
    ClientConfig, RootCertStore,
    crypto::ring::default_provider,
    pki_types::{CertificateDer, pem::PemObject},
};
use std::{
    env,
    io::{Write, stdout},
    process::ExitCode,
    sync::Arc,
};

fn config(file: &str) -> Result<ClientConfig, BoxError> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(file)? {
        roots.add(certificate?)?;
    }
    if roots.is_empty() {
        roots = tls::native_roots()?;
    }
    let mut config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

/// Status and body.
async fn ask<C: Connect>(client: HttpClient<C>, method: &str, url: &str, body: &str) -> Result<(), BoxError> {
    let mut response = client.request(method, url, NO_FIELDS, body).await?;
    println!("{}", response.head().status());
    while let Some(data) = response.data().await? {
        stdout().write_all(data)?;
    }
    Ok(())
}

fn ask_blocking(client: blocking::HttpClient, method: &str, url: &str, body: &str) -> Result<(), BoxError> {
    let mut response = client.request(method, url, NO_FIELDS, body)?;
    println!("{}", response.head().status());
    while let Some(data) = response.data()? {
        stdout().write_all(data)?;
    }
    Ok(())
}

async fn echo<Io: Transport>(mut ws: Driver<Io, ws::Connection>, text: &str) -> Result<(), BoxError> {
    let out = ws.outbox();
    out.machine.send_text(text, out.tx)?;
    if let Some((Event::Text(text), _)) = ws.next().await? {
        println!("{text}");
    }
    Ok(ws.close().await?)
}

fn echo_blocking(mut ws: blocking::WsConn, text: &str) -> Result<(), BoxError> {
    let out = ws.outbox();
    out.machine.send_text(text, out.tx)?;
    if let Some((Event::Text(text), _)) = ws.next()? {
        println!("{text}");
    }
    Ok(ws.close()?)
}

fn main() -> ExitCode {
    // In words, which `main` by itself would not use.
    run().map_or_else(
        |error| {
            eprintln!("{error}");
            ExitCode::FAILURE
        },
        |()| ExitCode::SUCCESS,
    )
}

fn run() -> Result<(), BoxError> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [runtime, file, method, url, body @ ..] = &arguments[..] else {
        return Err("tls_client RUNTIME CERTIFICATES GET|POST|ECHO URL [BODY]".into());
    };
    let body = body.first().map_or("", String::as_str);
    let options = ClientOptions::default().with_tls(config(file)?);
    let of_ws = WsOptions::default().with_tls(config(file)?);
    let in_tokio = || ::tokio::runtime::Builder::new_current_thread().enable_all().build();
    match (runtime.as_str(), method.as_str()) {
        ("tokio", "ECHO") => in_tokio()?.block_on(async { echo(tokio::connect_ws(url, &of_ws).await?, body).await }),
        ("smol", "ECHO") => block_on(async { echo(smol::connect_ws(url, &of_ws).await?, body).await }),
        ("async-std", "ECHO") => block_on(async { echo(async_std::connect_ws(url, &of_ws).await?, body).await }),
        ("blocking", "ECHO") => echo_blocking(blocking::connect_ws(url, &of_ws)?, body),
        ("tokio", method) => in_tokio()?.block_on(ask(tokio::HttpClient::new(options), method, url, body)),
        ("smol", method) => block_on(ask(smol::HttpClient::new(options), method, url, body)),
        ("async-std", method) => block_on(ask(async_std::HttpClient::new(options), method, url, body)),
        ("blocking", method) => ask_blocking(blocking::HttpClient::new(options), method, url, body),
        (other, _) => Err(format!("{other} is no runtime of this example").into()),
    }
}
