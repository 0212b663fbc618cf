//! What a client takes for an answer: RFC 6455, section 4.1.

use crate::response;
use bytewise::ws::{
    Config, MaskKeys,
    handshake::{Rejected, Request},
};

const ACCEPT: &str = "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";
const UP: &str = "Upgrade: websocket";
const CONNECTION: &str = "Connection: Upgrade";

fn ask(protocols: &[&str]) -> Request {
    Request::new(*b"the sample nonce", &Config::default(), protocols)
}

fn verdict(protocols: &[&str], head: &str) -> Result<Option<String>, Rejected> {
    let request = ask(protocols);
    response(request.clone().fields(), head.as_bytes(), |head| {
        let ws = request.clone().finish(head, MaskKeys::from_seed([0; 32]))?;
        Ok(ws.negotiated().protocol().map(str::to_owned))
    })
}

fn switching(lines: &[&str]) -> String {
    format!("HTTP/1.1 101 Switching Protocols\r\n{}\r\n\r\n", lines.join("\r\n"))
}

#[test]
fn fields() {
    let fields: Vec<_> = ask(&[]).fields().map(|(name, value)| format!("{name}: {}", value.escape_ascii())).collect();
    let expected = ["upgrade: websocket", "sec-websocket-version: 13", "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ=="];
    assert_eq!(fields, expected);
    let asks = ask(&["a", "b"]);
    assert!(asks.fields().any(|field| field == ("sec-websocket-protocol", b"a, b")));
}

/// W04: the wrong key, none, two; and all that may be in other letters or lists.
#[test]
fn answers() {
    let accept = |value: &str| format!("Sec-WebSocket-Accept: {value}");
    let rows = [
        (switching(&[UP, CONNECTION, ACCEPT]), Ok(None)),
        (switching(&["upgrade: WebSocket", "connection: upgrade", ACCEPT]), Ok(None)),
        (switching(&[UP, "Connection: keep-alive, Upgrade", ACCEPT]), Ok(None)),
        (switching(&[UP, CONNECTION, &accept("  s3pPLMBiTxaQ9kYGzzhZRbK+xOo= \t")]), Ok(None)),
        (switching(&[UP, CONNECTION, &accept("AAAAAAAAAAAAAAAAAAAAAAAAAAA=")]), Err(Rejected::Key)),
        (switching(&[UP, CONNECTION, &accept("S3PPLMBITXAQ9KYGZZHZRBK+XOO=")]), Err(Rejected::Key)),
        (switching(&[UP, CONNECTION, &accept("s3pPLMBiTxaQ9kYGzzhZRbK+xOo")]), Err(Rejected::Key)),
        (switching(&[UP, CONNECTION, &accept("")]), Err(Rejected::Key)),
        (switching(&[UP, CONNECTION]), Err(Rejected::Key)),
        (switching(&[UP, CONNECTION, ACCEPT, ACCEPT]), Err(Rejected::Key)),
        (switching(&["Upgrade: h2c", CONNECTION, ACCEPT]), Err(Rejected::NotWebSocket)),
        (switching(&[UP, CONNECTION, ACCEPT, "Sec-WebSocket-Protocol: x"]), Err(Rejected::Protocol)),
        (
            switching(&[UP, CONNECTION, ACCEPT, "Sec-WebSocket-Extensions: permessage-deflate"]),
            Err(Rejected::Extension),
        ),
        (switching(&[UP, CONNECTION, ACCEPT, "Sec-WebSocket-Extensions: x"]), Err(Rejected::Extension)),
        (switching(&[UP, CONNECTION, ACCEPT, "Sec-WebSocket-Extensions:"]), Ok(None)),
        ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".to_owned(), Err(Rejected::Status(200))),
        ("HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n".to_owned(), Err(Rejected::Status(401))),
        ("HTTP/1.1 302 Found\r\nLocation: /\r\n\r\n".to_owned(), Err(Rejected::Status(302))),
    ];
    for (head, expected) in rows {
        assert_eq!(verdict(&[], &head), expected, "{head}");
    }
}

#[test]
fn subprotocols() {
    let answer = |lines: &[&str]| switching(&[&[UP, CONNECTION, ACCEPT], lines].concat());
    let rows: [(&[&str], &[&str], _); 8] = [
        (&["a", "b"], &[], Ok(None)),
        (&["a", "b"], &["Sec-WebSocket-Protocol: b"], Ok(Some("b".to_owned()))),
        (&["a", "b"], &["Sec-WebSocket-Protocol: c"], Err(Rejected::Protocol)),
        (&["a", "b"], &["Sec-WebSocket-Protocol: B"], Err(Rejected::Protocol)),
        (&["a", "b"], &["Sec-WebSocket-Protocol: a, b"], Err(Rejected::Protocol)),
        (&["a", "b"], &["Sec-WebSocket-Protocol: a", "Sec-WebSocket-Protocol: a"], Err(Rejected::Protocol)),
        (&["a", "b"], &["Sec-WebSocket-Protocol:"], Err(Rejected::Protocol)),
        (&[], &["Sec-WebSocket-Protocol: a"], Err(Rejected::Protocol)),
    ];
    for (asked, lines, expected) in rows {
        assert_eq!(verdict(asked, &answer(lines)), expected, "{lines:?}");
    }
}
