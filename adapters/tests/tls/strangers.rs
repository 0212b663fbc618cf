//! Who comes to a port of TLS and does not speak it, or not to the end; and how servers end their sessions.

use crate::{
    peers::{self, accept, read_head},
    pki::{Pki, VERSIONS},
    runtimes::{Runtime, Server, on_every_runtime},
};
use bytewise::{Phase, Time, Timeouts, http1::NO_FIELDS};
use bytewise_net::{ClientOptions, HttpClient, ServerOptions};
use std::{
    io::{ErrorKind, Read, Write},
    net::Shutdown,
    time::Instant,
};

on_every_runtime!(
    plain_http_to_a_server,
    a_server_of_plain_http,
    a_client_of_tls_at_a_plain_port,
    a_client_that_says_nothing,
    a_client_that_stops_midway,
    a_client_that_leaves_midway,
    a_server_that_says_nothing,
    refused_certificates_are_heard_of,
    the_end_is_announced,
    idle_connections_end_when_the_server_does,
    slow_clients,
);

fn server<R: Runtime>(pki: &Pki) -> Server {
    Server::start::<R>(ServerOptions::default().with_tls(pki.server(&VERSIONS)))
}

/// However much of it: it ends, and what comes last, if anything does, is an alert.
fn plain_http_to_a_server<R: Runtime>() {
    let server = server::<R>(&Pki::new(&["localhost"]));
    for size in [0, 100, 1 << 20] {
        let mut socket = server.connect();
        let head = format!("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: {size}\r\n\r\n");
        // It may be gone before all is written.
        let _ = socket.write_all(&[head.as_bytes(), &vec![b'x'; size]].concat());
        let mut answer = Vec::new();
        let _ = socket.read_to_end(&mut answer);
        assert!(answer.is_empty() || answer[0] == 21, "{}", answer.escape_ascii());
        assert!(size > 0 || !answer.is_empty(), "no alert");
        assert_eq!(server.error(), "the connection failed: the peer does not speak TLS");
    }
}

fn a_server_of_plain_http<R: Runtime>() {
    let port = accept(|mut socket| {
        let _ = socket.read(&mut [0; 1000]);
        let _ = socket.write_all(b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n");
        let _ = socket.read(&mut [0; 1000]);
    });
    R::block_on(async {
        let client = HttpClient::<R::Connector>::new(
            ClientOptions::default().with_tls(Pki::new(&["localhost"]).client(&VERSIONS)),
        );
        let error = client.get(&format!("https://localhost:{port}/")).await.unwrap_err();
        assert_eq!(error.to_string(), "connecting failed: the peer does not speak TLS");
    });
}

fn a_client_of_tls_at_a_plain_port<R: Runtime>() {
    let server = Server::start::<R>(ServerOptions::default());
    R::block_on(async {
        let client = HttpClient::<R::Connector>::new(
            ClientOptions::default().with_tls(Pki::new(&["localhost"]).client(&VERSIONS)),
        );
        let error = client.get(&server.url("https")).await.unwrap_err();
        assert_eq!(error.to_string(), "connecting failed: the peer does not speak TLS");
    });
    assert!(!server.error().is_empty());
}

fn impatient() -> Timeouts {
    Timeouts::none().with(Phase::Handshake, Some(Time::from_millis(200)))
}

fn a_client_that_says_nothing<R: Runtime>() {
    let pki = Pki::new(&["localhost"]);
    let options = ServerOptions::default().with_tls(pki.server(&VERSIONS)).with_timeouts(impatient());
    let server = Server::start::<R>(options);
    let begin = Instant::now();
    let mut socket = server.connect();
    // Not a byte of the machine's, in the clear.
    assert_eq!(socket.read(&mut [0; 100]).unwrap(), 0);
    assert!(begin.elapsed() >= Time::from_millis(150));
    assert_eq!(server.error(), "timed out: the handshake took too long");
}

fn a_client_that_stops_midway<R: Runtime>() {
    let pki = Pki::new(&["localhost"]);
    for version in VERSIONS {
        let options = ServerOptions::default().with_tls(pki.server(&[version])).with_timeouts(impatient());
        let server = Server::start::<R>(options);
        for part in [1, 20, 1000] {
            let mut client = peers::client(&server, pki.client(&[version]));
            let mut hello = Vec::new();
            client.conn.write_tls(&mut hello).unwrap();
            client.sock.write_all(&hello[..part.min(hello.len())]).unwrap();
            let mut answer = Vec::new();
            client.sock.read_to_end(&mut answer).unwrap();
            assert_eq!(answer.is_empty(), part < hello.len());
            assert_eq!(server.error(), "timed out: the handshake took too long");
        }
    }
}

fn a_client_that_leaves_midway<R: Runtime>() {
    let server = server::<R>(&Pki::new(&["localhost"]));
    for part in [&b""[..], b"\x16", b"\x16\x03\x01\x00\x20half"] {
        let mut socket = server.connect();
        socket.write_all(part).unwrap();
        socket.shutdown(Shutdown::Write).unwrap();
        assert_eq!(socket.read(&mut [0; 100]).unwrap(), 0);
        assert_eq!(server.error(), "the connection failed: the connection ended during the TLS handshake");
    }
}

fn a_server_that_says_nothing<R: Runtime>() {
    for part in [&b""[..], b"\x16\x03\x03\x00\x7a\x02\x00"] {
        let port = accept(|mut socket| {
            let _ = socket.write_all(part);
            // Until the client leaves.
            let _ = socket.read_to_end(&mut Vec::new());
        });
        R::block_on(async {
            let options = ClientOptions::default().with_tls(Pki::new(&["localhost"]).client(&VERSIONS));
            let client = HttpClient::<R::Connector>::new(options.with_timeouts(impatient()));
            let error = client.get(&format!("https://localhost:{port}/")).await.unwrap_err();
            assert_eq!(error.to_string(), "connecting failed: the handshake took too long");
        });
    }
}

/// By a client that thinks that hands are shaken, too: its request fails with the alert.
fn refused_certificates_are_heard_of<R: Runtime>() {
    let (pki, people) = (Pki::new(&["localhost"]), Pki::new(&["somebody"]));
    for version in VERSIONS {
        let server = Server::start::<R>(ServerOptions::default().with_tls(pki.server_for(&people, &[version])));
        R::block_on(async {
            let options = ClientOptions::default().with_tls(pki.client(&VERSIONS));
            let client = HttpClient::<R::Connector>::new(options);
            let error = client.post(&server.url("https"), NO_FIELDS, "let me in").await.unwrap_err().to_string();
            assert!(error.contains("received fatal alert: "), "{error}");
            let options = ClientOptions::default().with_tls(pki.client_as(&people, &VERSIONS));
            let client = HttpClient::<R::Connector>::new(options);
            let mut response = client.post(&server.url("https"), NO_FIELDS, "it is me").await.unwrap();
            assert_eq!(response.body(100).await.unwrap(), "it is me");
        });
        assert!(server.error().contains("peer sent no certificates"));
    }
}

/// rustls makes an error of an end that is not.
fn the_end_is_announced<R: Runtime>() {
    let pki = Pki::new(&["localhost"]);
    let server = server::<R>(&pki);
    for version in VERSIONS {
        let mut client = peers::client(&server, pki.client(&[version]));
        client.write_all(b"GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        client.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
        // So is one that follows an error of the machine's.
        let mut client = peers::client(&server, pki.client(&[version]));
        client.write_all(b"no HTTP\r\n\r\n").unwrap();
        let mut answer = String::new();
        client.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
        // The server lingers until then.
        drop(client);
        server.error();
    }
}

fn idle_connections_end_when_the_server_does<R: Runtime>() {
    let pki = Pki::new(&["localhost"]);
    let server = server::<R>(&pki);
    let mut clients: Vec<_> = VERSIONS
        .iter()
        .map(|version| {
            let mut client = peers::client(&server, pki.client(&[version]));
            client.write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n").unwrap();
            read_head(&mut client).unwrap();
            client
        })
        .collect();
    // And one that never shook hands.
    let mut idle = server.connect();
    server.shutdown.begin();
    for client in &mut clients {
        assert_eq!(client.read(&mut [0; 100]).unwrap(), 0);
    }
    drop(clients);
    let mut rest = Vec::new();
    assert!(matches!(
        idle.read_to_end(&mut rest).map_err(|error| error.kind()),
        Ok(0) | Err(ErrorKind::ConnectionReset)
    ));
    drop(server);
}

/// A byte at a time, in one packet each.
fn slow_clients<R: Runtime>() {
    let pki = Pki::new(&["localhost"]);
    let server = server::<R>(&pki);
    for version in VERSIONS {
        let mut client = peers::client(&server, pki.client(&[version]));
        client.conn.writer().write_all(b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\n\r\nhello").unwrap();
        let mut answer = Vec::new();
        while !answer.ends_with(b"hello") {
            let mut bytes = Vec::new();
            while client.conn.wants_write() {
                client.conn.write_tls(&mut bytes).unwrap();
            }
            bytes.iter().for_each(|byte| client.sock.write_all(&[*byte]).unwrap());
            client.conn.read_tls(&mut client.sock).unwrap();
            client.conn.process_new_packets().unwrap();
            let _ = client.conn.reader().read_to_end(&mut answer);
        }
        assert!(answer.starts_with(b"HTTP/1.1 200 OK\r\n"));
    }
}
