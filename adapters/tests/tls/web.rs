//! HTTPS and WSS on every runtime, by URL.

use crate::pki::{Pki, VERSIONS};
use bytewise::{
    http1::{self, NO_FIELDS, Server},
    ws::{self, Event, handshake::Upgrade},
};
use bytewise_net::{BoxError, ClientOptions, Driver, ServerOptions, Shutdown, Transport, WsOptions, blocking};
use std::{net::TcpListener, thread};

/// Echoes bodies and, of a WebSocket, messages; says the name that was asked for.
async fn handle<Io: Transport>(mut conn: Driver<Io, Server>) -> Result<(), BoxError> {
    conn.handshake().await?;
    let name = conn.tls().and_then(|tls| tls.server_name()).unwrap_or_default().to_owned();
    while let Some(mut exchange) = conn.exchange().await? {
        if let Ok(upgrade) = Upgrade::parse(exchange.head()) {
            let accepted = upgrade.accept(&ws::Config::default(), None);
            let out = exchange.outbox();
            assert!(out.machine.switch(101, accepted.fields(), out.tx).is_ok());
            let mut ws = conn.switch(accepted.into_connection());
            while let Some((event, out)) = ws.next().await? {
                if let Event::Binary(data) = event {
                    out.machine.send_binary(data, out.tx)?;
                }
            }
            return Ok(ws.close().await?);
        }
        let body = exchange.body(1 << 24).await?;
        exchange.respond(200, [("x-name", &name)], body)?;
    }
    Ok(conn.close().await?)
}

const BODY: usize = 1 << 20;

macro_rules! on_a_runtime {
    ($runtime:ident, $block_on:path) => {
        #[test]
        fn $runtime() {
            use bytewise_net::$runtime::{HttpClient, connect_ws, run};
            for version in VERSIONS {
                let pki = Pki::new(&["localhost"]);
                let listener = TcpListener::bind("127.0.0.1:0").unwrap();
                let port = listener.local_addr().unwrap().port();
                let shutdown = Shutdown::new();
                let server = thread::spawn({
                    let (shutdown, tls) = (shutdown.clone(), pki.server(&[version]));
                    move || {
                        let options =
                            ServerOptions::default().with_tls(tls).with_error_log(|error| eprintln!("{error}"));
                        let http = || Server::new(&http1::Config::default());
                        run(bytewise_net::Topology::Single, listener, options, http, handle, shutdown.wait())
                    }
                });
                $block_on(async {
                    let client = HttpClient::new(ClientOptions::default().with_tls(pki.client(&VERSIONS)));
                    let url = format!("https://localhost:{port}/");
                    for size in [0, 1, 1000, 16_384, 16_385, BODY] {
                        let body = vec![b'x'; size];
                        let mut response = client.post(&url, NO_FIELDS, body.clone()).await.unwrap();
                        assert_eq!(response.head().fields().get("x-name"), Some(&b"localhost"[..]));
                        assert!(response.body(1 << 24).await.unwrap() == body);
                    }
                    let options = WsOptions::default().with_tls(pki.client(&VERSIONS));
                    let mut ws = connect_ws(&format!("wss://localhost:{port}/"), &options).await.unwrap();
                    for size in [0, 1, 1000, BODY] {
                        let out = ws.outbox();
                        out.machine.send_binary(vec![7; size], out.tx).unwrap();
                        let Some((Event::Binary(echo), _)) = ws.next().await.unwrap() else { panic!() };
                        assert!(echo == vec![7; size]);
                    }
                    ws.close().await.unwrap();
                    // Another authority.
                    let stranger = Pki::new(&["localhost"]);
                    let client = HttpClient::new(ClientOptions::default().with_tls(stranger.client(&VERSIONS)));
                    let error = client.get(&url).await.unwrap_err().to_string();
                    assert!(error.contains("no authority that is trusted here"), "{error}");
                    let client = HttpClient::new(ClientOptions::default().with_tls(pki.client(&VERSIONS)));
                    let error = client.get(&url.replace("localhost", "127.0.0.1")).await.unwrap_err().to_string();
                    assert!(error.contains("is for another name"), "{error}");
                });
                shutdown.begin();
                server.join().unwrap().unwrap();
            }
        }
    };
}

fn on_tokio(future: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future);
}

on_a_runtime!(tokio, on_tokio);
on_a_runtime!(smol, ::smol::block_on);
on_a_runtime!(async_std, ::async_std::task::block_on);

fn handle_blocking(mut conn: blocking::HttpConn) -> Result<(), BoxError> {
    while let Some(mut exchange) = conn.exchange()? {
        let body = exchange.body(1 << 24)?;
        exchange.respond(200, NO_FIELDS, body)?;
    }
    Ok(conn.close()?)
}

#[test]
fn blocking() {
    let pki = Pki::new(&["localhost"]);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let shutdown = Shutdown::new();
    let server = thread::spawn({
        let (shutdown, tls) = (shutdown.clone(), pki.server(&VERSIONS));
        move || {
            let options = ServerOptions::default().with_tls(tls).with_error_log(|error| eprintln!("{error}"));
            let http = || Server::new(&http1::Config::default());
            blocking::serve(listener, options, http, handle_blocking, shutdown)
        }
    });
    let client = blocking::HttpClient::new(ClientOptions::default().with_tls(pki.client(&VERSIONS)));
    for size in [0, 1, 1000, 16_384, 16_385, BODY] {
        let body = vec![b'x'; size];
        let mut response = client.post(&format!("https://localhost:{port}/"), NO_FIELDS, body.clone()).unwrap();
        assert!(response.body(1 << 24).unwrap() == body);
    }
    // The server lingers until its client has closed, too.
    drop(client);
    shutdown.begin();
    server.join().unwrap().unwrap();
}
