//! Clients by URL: which connection a request takes, and what ends a response.

use crate::{
    peers::{self, close, read_head},
    pki::{Pki, VERSIONS},
    runtimes::{Runtime, Server, on_every_runtime},
};
use bytewise::{
    http1::{self, NO_FIELDS},
    ws::{self, Event},
};
use bytewise_net::{ClientOptions, Connect, HttpClient, ServerOptions, WsOptions};
use std::{
    io::Write,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

on_every_runtime!(
    a_connection_is_kept,
    schemes_are_different_origins,
    without_a_configuration,
    a_connection_whose_end_was_announced_is_not_kept,
    a_body_up_to_the_end,
    a_websocket_that_breaks_off,
    hands_are_shaken_when_connected,
);

fn client<R: Runtime>(pki: &Pki) -> HttpClient<R::Connector> {
    HttpClient::new(ClientOptions::default().with_tls(pki.client(&VERSIONS)))
}

/// Though tickets came.
fn a_connection_is_kept<R: Runtime>() {
    for version in VERSIONS {
        let pki = Pki::new(&["localhost"]);
        let server = Server::start::<R>(ServerOptions::default().with_tls(pki.server(&[version])));
        R::block_on(async {
            let client = client::<R>(&pki);
            for size in [0, 1, 100_000, 0, 20_000] {
                let mut response = client.post(&server.url("https"), NO_FIELDS, vec![7; size]).await.unwrap();
                assert_eq!(response.body(1 << 24).await.unwrap().len(), size);
            }
        });
        assert_eq!(server.accepted.load(Ordering::Relaxed), 1);
    }
}

fn schemes_are_different_origins<R: Runtime>() {
    let pki = Pki::new(&["localhost"]);
    let server = Server::start::<R>(ServerOptions::default().with_tls(pki.server(&VERSIONS)));
    R::block_on(async {
        let client = client::<R>(&pki);
        client.get(&server.url("https")).await.unwrap().body(10).await.unwrap();
        // Not over the connection that is kept.
        assert!(client.get(&server.url("http")).await.is_err());
        client.get(&server.url("https")).await.unwrap().body(10).await.unwrap();
    });
    assert_eq!(server.error(), "the connection failed: the peer does not speak TLS");
    assert_eq!(server.accepted.load(Ordering::Relaxed), 2);
}

fn without_a_configuration<R: Runtime>() {
    R::block_on(async {
        let client = HttpClient::<R::Connector>::new(ClientOptions::default());
        let error = client.get("https://localhost:1/").await.unwrap_err().to_string();
        assert!(error.contains("`with_tls`"), "{error}");
        let error = client.get("wss://localhost:1/").await.unwrap_err().to_string();
        assert!(error.contains("neither http nor https"), "{error}");
    });
}

/// By the server, with the response: a request that cannot be sent twice is not risked on it.
fn a_connection_whose_end_was_announced_is_not_kept<R: Runtime>() {
    for version in VERSIONS {
        let pki = Pki::new(&["localhost"]);
        let accepted = Arc::<AtomicUsize>::default();
        let port = peers::serve(pki.server(&[version]), {
            let accepted = Arc::clone(&accepted);
            move |mut stream| {
                accepted.fetch_add(1, Ordering::Relaxed);
                let Ok(_) = read_head(&mut stream) else { return };
                stream.conn.writer().write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").unwrap();
                close(&mut stream);
                // The socket stays open for as long as the client wants.
                let _ = read_head(&mut stream.sock);
            }
        });
        R::block_on(async {
            let client = client::<R>(&pki);
            for turn in 1..=3 {
                let url = format!("https://localhost:{port}/");
                let mut response = client.post(&url, NO_FIELDS, "").await.unwrap();
                assert_eq!(response.body(10).await.unwrap(), "ok");
                assert_eq!(accepted.load(Ordering::Relaxed), turn);
            }
        });
    }
}

/// Which only `close_notify` can say.
fn a_body_up_to_the_end<R: Runtime>() {
    for version in VERSIONS {
        let pki = Pki::new(&["localhost"]);
        let port = peers::serve(pki.server(&[version]), |mut stream| {
            let Ok(head) = read_head(&mut stream) else { return };
            stream.write_all(b"HTTP/1.1 200 OK\r\n\r\nall or nothing").unwrap();
            if head.starts_with("GET /whole") {
                close(&mut stream);
            }
        });
        R::block_on(async {
            let client = client::<R>(&pki);
            let mut whole = client.get(&format!("https://localhost:{port}/whole")).await.unwrap();
            assert_eq!(whole.body(100).await.unwrap(), "all or nothing");
            let mut cut = client.get(&format!("https://localhost:{port}/cut")).await.unwrap();
            let error = cut.body(100).await.unwrap_err();
            let bytewise_net::RequestError::Connection(bytewise_net::Error::Protocol(error)) = error else { panic!() };
            assert!(matches!(error, http1::Error::UnexpectedEof { .. }), "{error:?}");
        });
    }
}

fn a_websocket_that_breaks_off<R: Runtime>() {
    for version in VERSIONS {
        let pki = Pki::new(&["localhost"]);
        let server = Server::start::<R>(ServerOptions::default().with_tls(pki.server(&[version])));
        R::block_on(async {
            let options = ClientOptions::default().with_tls(pki.client(&VERSIONS));
            let http = http1::Client::new(&http1::Config::default());
            let http = R::Connector::default().connect("localhost", server.port, &options, http).await.unwrap();
            let mut ws = http.upgrade("/", [("host", "localhost")], &[], &ws::Config::default()).await.unwrap();
            let out = ws.outbox();
            out.machine.send_binary(vec![7; 100_000], out.tx).unwrap();
            let Some((Event::Binary(echo), _)) = ws.next().await.unwrap() else { panic!() };
            assert_eq!(echo.len(), 100_000);
        });
        // Dropped without a word.
        let error = server.error();
        assert!(error.contains("end") || error.contains("broke off"), "{error}");
    }
}

fn hands_are_shaken_when_connected<R: Runtime>() {
    for version in VERSIONS {
        let pki = Pki::new(&["localhost"]);
        let mut config = pki.server(&[version]);
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        let server = Server::start::<R>(ServerOptions::default().with_tls(config));
        R::block_on(async {
            let mut config = pki.client(&VERSIONS);
            config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
            let options = ClientOptions::default().with_tls(config);
            let http = http1::Client::new(&http1::Config::default());
            let conn = R::Connector::default().connect("localhost", server.port, &options, http).await.unwrap();
            let tls = conn.tls().unwrap();
            assert!(!tls.is_handshaking());
            assert_eq!((tls.version(), tls.alpn()), (Some(version.version), Some(&b"http/1.1"[..])));
            assert_eq!(tls.peer_certificates().map(<[_]>::len), Some(1));
            // What is no name.
            let http = http1::Client::new(&http1::Config::default());
            let refused = R::Connector::default().connect("127.0.0.1", server.port, &options, http).await;
            assert!(refused.unwrap_err().to_string().contains("not valid for name"));
        });
    }
}

#[test]
fn websockets_without_a_configuration() {
    let options = WsOptions::default();
    let error = ::smol::block_on(bytewise_net::smol::connect_ws("wss://localhost:1/", &options));
    let error = error.unwrap_err().to_string();
    assert!(error.contains("`with_tls`"), "{error}");
    let error = bytewise_net::blocking::connect_ws("wss://localhost:1/", &WsOptions::default()).unwrap_err();
    assert!(error.to_string().contains("`with_tls`"), "{error}");
}
