//! Over HTTP, both sides, on the same buffers: frames may come right behind the head.

use bytewise::{
    Machine, NextIo, RecvBuf, SendBuf,
    http1::{self, Client, ClientEvent, Server, ServerEvent},
    ws::{
        Config, Connection, Event, MaskKeys,
        handshake::{Refusal, Request, Upgrade},
    },
};

fn drain(tx: &mut SendBuf) -> Vec<u8> {
    let all = tx.chunks().flatten().copied().collect();
    while !tx.is_empty() {
        tx.consume(tx.pending().len());
    }
    all
}

/// Serves an upgrade out of `input`, cut in two: what was sent, and the text that came first.
fn serve(input: &[u8], cut: usize) -> (Vec<u8>, Option<String>) {
    let (mut rx, mut tx) = (RecvBuf::new(), SendBuf::new());
    let mut http = Server::new(&http1::Config::default());
    let mut ws: Option<Connection> = None;
    let mut text = None;
    for block in [&input[..cut], &input[cut..]] {
        rx.push(block);
        while ws.is_none() {
            match http.next_event(&mut rx, &mut tx).unwrap() {
                Some(ServerEvent::Request(head)) => match Upgrade::parse(head) {
                    Ok(upgrade) => {
                        let accepted = upgrade.accept(&Config::default(), upgrade.protocols().next());
                        http.switch(101, accepted.fields().chain([("x", &b"y"[..])]), &mut tx).unwrap();
                        ws = Some(accepted.into_connection());
                    }
                    Err(refusal) => http.respond(refusal.status(), refusal.fields(), "", &mut tx).unwrap(),
                },
                Some(_) => {}
                None => break,
            }
        }
        if let Some(ws) = &mut ws {
            while let Some(event) = ws.next_event(&mut rx, &mut tx).unwrap() {
                if let Event::Text(came) = event {
                    text = Some(came.to_owned());
                    ws.send_text(came, &mut tx).unwrap();
                }
            }
        }
    }
    (drain(&mut tx), text)
}

#[test]
fn a_server_at_every_cut() {
    let input = b"GET /chat HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: keep-alive, Upgrade\r\n\
        Sec-WebSocket-Protocol: a, b\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n\
        \x81\x85\x37\xFA\x21\x3D\x7F\x9F\x4D\x51\x58";
    for cut in 0..=input.len() {
        let (sent, text) = serve(input, cut);
        let sent = sent.escape_ascii().to_string();
        assert_eq!(text.as_deref(), Some("Hello"), "cut at {cut}");
        assert!(sent.starts_with("HTTP/1.1 101 ") && sent.ends_with(r"\r\n\r\n\x81\x05Hello"), "{sent}");
        for field in [
            "connection: upgrade",
            "sec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=",
            "sec-websocket-protocol: a",
            "x: y",
        ] {
            assert!(sent.to_lowercase().contains(&field.to_lowercase()), "{field} in {sent}");
        }
    }
}

#[test]
fn a_server_that_refuses() {
    for (lines, status, field) in [
        ("", 426, "sec-websocket-version: 13"),
        ("Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 8\r\n", 426, "sec-websocket-version: 13"),
        ("Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n", 400, ""),
    ] {
        let input = format!("GET / HTTP/1.1\r\nHost: a\r\n{lines}\r\n");
        let (sent, _) = serve(input.as_bytes(), 10);
        let sent = String::from_utf8(sent).unwrap();
        assert!(sent.starts_with(&format!("HTTP/1.1 {status} ")) && sent.contains(field), "{sent}");
    }
    assert_eq!(Refusal::Method.status(), 405);
}

/// W01: the first frame in the same read as the 101, and everywhere else.
#[test]
fn a_client_at_every_cut() {
    let input = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
        Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n\x81\x05hello";
    for cut in 0..=input.len() {
        let (mut rx, mut tx) = (RecvBuf::new(), SendBuf::new());
        let mut http = Client::new(&http1::Config::default());
        let request = Request::new(*b"the sample nonce", &Config::default(), &[]);
        http.request("GET", "/chat", request.fields().chain([("host", &b"a"[..])]), "", &mut tx).unwrap();
        let (mut request, mut ws, mut seen) = (Some(request), None, false);
        for block in [&input[..cut], &input[cut..]] {
            rx.push(block);
            if ws.is_none()
                && let Some(ClientEvent::Switched(head)) = http.next_event(&mut rx, &mut tx).unwrap()
            {
                ws = Some(request.take().unwrap().finish(&head, MaskKeys::from_seed([0; 32])).unwrap());
                assert_eq!(http.next_io(), NextIo::Switched);
            }
            if let Some(ws) = &mut ws
                && let Some(event) = ws.next_event(&mut rx, &mut tx).unwrap()
            {
                assert_eq!(event, Event::Text("hello"));
                seen = true;
            }
        }
        assert!(seen, "cut at {cut}");
    }
}

/// Our client and our server, with all there is to agree on, in memory.
#[test]
fn both() {
    let config = Config::default();
    #[cfg(feature = "deflate")]
    let config = config.with_deflate(bytewise::ws::Deflate::default().with_threshold(0));
    let (mut client_rx, mut client_tx) = (RecvBuf::new(), SendBuf::new());
    let (mut server_rx, mut server_tx) = (RecvBuf::new(), SendBuf::new());
    let (mut client, mut server) = (Client::new(&http1::Config::default()), Server::new(&http1::Config::default()));
    let request = Request::new([9; 16], &config, &["v1", "v2"]);
    client.request("GET", "/", request.fields().chain([("host", &b"a"[..])]), "", &mut client_tx).unwrap();

    server_rx.push(&drain(&mut client_tx));
    let Ok(Some(ServerEvent::Request(head))) = server.next_event(&mut server_rx, &mut server_tx) else { panic!() };
    let accepted = Upgrade::parse(head).unwrap().accept(&config, Some("v2"));
    server.switch(101, accepted.fields(), &mut server_tx).unwrap();
    let mut server = accepted.into_connection();
    server.send_text("first", &mut server_tx).unwrap();

    client_rx.push(&drain(&mut server_tx));
    let Ok(Some(ClientEvent::Switched(head))) = client.next_event(&mut client_rx, &mut client_tx) else { panic!() };
    let mut client = request.finish(&head, MaskKeys::from_seed([1; 32])).unwrap();
    assert_eq!(client.negotiated().protocol(), Some("v2"));
    assert_eq!(client.negotiated().extensions(), server.negotiated().extensions());
    assert_eq!(client.negotiated().extensions().is_some(), cfg!(feature = "deflate"));
    assert_eq!(client.next_event(&mut client_rx, &mut client_tx), Ok(Some(Event::Text("first"))));
    client.send_text("second", &mut client_tx).unwrap();
    server_rx.push(&drain(&mut client_tx));
    assert_eq!(server.next_event(&mut server_rx, &mut server_tx), Ok(Some(Event::Text("second"))));
}
