//! Asks for a URL, and shows what comes.
//!
//! ```text
//! cargo run -p bytewise-net --all-features --example http_client -- GET http://localhost:8000/
//! cargo run -p bytewise-net --all-features --example http_client -- --runtime smol POST http://localhost:8000/echo hello
//! ```
//!
//! Redirects are followed, up to five. Runtimes are `tokio`, `smol`, `async-std` and `blocking`.

use bytewise::http1::{NO_FIELDS, ResponseHead};
use bytewise_net::{BoxError, ClientOptions, Connect, HttpClient, blocking};
use std::{
    env,
    io::{Write, stdout},
};

async fn ask<C: Connect>(client: HttpClient<C>, method: &str, url: &str, body: &str) -> Result<(), BoxError> {
    let mut response = client.with_redirects(5).request(method, url, NO_FIELDS, body).await?;
    show(response.head());
    while let Some(data) = response.data().await? {
        stdout().write_all(data)?;
    }
    Ok(())
}

fn ask_blocking(client: blocking::HttpClient, method: &str, url: &str, body: &str) -> Result<(), BoxError> {
    let mut response = client.with_redirects(5).request(method, url, NO_FIELDS, body)?;
    show(response.head());
    while let Some(data) = response.data()? {
        stdout().write_all(data)?;
    }
    Ok(())
}

fn show(head: ResponseHead<'_>) {
    println!("{} {} {}", head.version(), head.status(), head.reason().escape_ascii());
    for (name, value) in head.fields().iter() {
        println!("{name}: {}", value.escape_ascii());
    }
    println!();
}

fn main() -> Result<(), BoxError> {
    let mut arguments: Vec<String> = env::args().skip(1).collect();
    let runtime = match arguments.first() {
        Some(first) if first == "--runtime" && arguments.len() > 1 => arguments.drain(..2).nth(1),
        _ => None,
    };
    let [method, url, body @ ..] = &arguments[..] else {
        return Err("http_client [--runtime RUNTIME] METHOD URL [BODY]".into());
    };
    let body = body.first().map_or("", String::as_str);
    let options = ClientOptions::default();
    match runtime.as_deref().unwrap_or("tokio") {
        "tokio" => tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(ask(
            bytewise_net::tokio::HttpClient::new(options),
            method,
            url,
            body,
        )),
        "smol" => futures_lite::future::block_on(ask(bytewise_net::smol::HttpClient::new(options), method, url, body)),
        "async-std" => {
            futures_lite::future::block_on(ask(bytewise_net::async_std::HttpClient::new(options), method, url, body))
        }
        "blocking" => ask_blocking(blocking::HttpClient::new(options), method, url, body),
        other => Err(format!("{other} is no runtime of this example").into()),
    }
}
