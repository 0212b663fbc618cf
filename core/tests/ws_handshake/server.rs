//! What a server accepts and refuses: RFC 6455, section 4.2.

use crate::request;
use bytewise::ws::{
    Config,
    handshake::{Refusal, Upgrade, accept_key},
};

const KEY: &str = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==";

/// A request of these lines.
fn get(lines: &[&str]) -> String {
    format!("GET /chat HTTP/1.1\r\nHost: a\r\n{}\r\n\r\n", lines.join("\r\n"))
}

/// The verdict and, of an accepted one, the fields of the answer.
fn verdict(head: &str) -> Result<String, Refusal> {
    request(head, |head| {
        let accepted = Upgrade::parse(head)?.accept(&Config::default(), None);
        let fields = accepted.fields().map(|(name, value)| format!("{name}: {}", value.escape_ascii()));
        Ok(fields.collect::<Vec<_>>().join(", "))
    })
}

const UP: &str = "Upgrade: websocket";
const CONNECTION: &str = "Connection: Upgrade";
const V13: &str = "Sec-WebSocket-Version: 13";

#[test]
fn accepted() {
    let accept = "upgrade: websocket, sec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";
    // W03: token lists, in any case, on any number of lines.
    for lines in [
        [UP, CONNECTION, KEY, V13],
        [UP, "Connection: keep-alive, Upgrade", KEY, V13],
        [UP, "connection: upgrade", KEY, V13],
        [UP, "Connection: keep-alive\r\nConnection: Upgrade", KEY, V13],
        [UP, "Connection: ,, Upgrade ,", KEY, V13],
        ["Upgrade: WebSocket", CONNECTION, KEY, V13],
        ["Upgrade: h2c, websocket", CONNECTION, KEY, V13],
        ["Upgrade: h2c\r\nUpgrade: WEBSOCKET", CONNECTION, KEY, V13],
        [UP, CONNECTION, "sec-websocket-KEY:    dGhlIHNhbXBsZSBub25jZQ==  ", V13],
        [UP, CONNECTION, KEY, "Sec-WebSocket-Version:13\r\nContent-Length: 0"],
    ] {
        assert_eq!(verdict(&get(&lines)).as_deref(), Ok(accept), "{lines:?}");
    }
    assert_eq!(&accept_key(b"dGhlIHNhbXBsZSBub25jZQ=="), b"s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
}

/// Refusals, their statuses and fields (section 4.2.1, 4.2.2 and 4.4).
#[test]
fn refused() {
    use Refusal::{Body, Key, Method, NotWebSocket, Version};
    let key = |key: &str| format!("Sec-WebSocket-Key: {key}");
    let long = key(&"A".repeat(8000));
    let rows = [
        // W06: keys.
        (get(&[UP, CONNECTION, V13]), Key),
        (get(&[UP, CONNECTION, &key("eA=="), V13]), Key),
        (get(&[UP, CONNECTION, &key(""), V13]), Key),
        (get(&[UP, CONNECTION, &key("AAAAAAAAAAAAAAAAAAAAAAAAAAA="), V13]), Key),
        (get(&[UP, CONNECTION, &key("dGhlIHNhbXBsZSBub25jZQ"), V13]), Key),
        (get(&[UP, CONNECTION, &key("dGhlIHNhbXBsZSBub25jZQ=!"), V13]), Key),
        (get(&[UP, CONNECTION, &key("!!!!!!!!!!!!!!!!!!!!!!=="), V13]), Key),
        (get(&[UP, CONNECTION, &key("dGhlIHNhbXBsZSBub25jZR=="), V13]), Key), // Bits behind the sixteenth byte.
        (get(&[UP, CONNECTION, &key("dGhlIHNhbXBsZSBub25jZTEy"), V13]), Key), // Eighteen bytes.
        (get(&[UP, CONNECTION, &key("dGhlIHNhbXBsZSBub25j ZQ=="), V13]), Key),
        (get(&[UP, CONNECTION, KEY, KEY, V13]), Key),
        (get(&[UP, CONNECTION, &long, V13]), Key),
        // W07: versions.
        (get(&[UP, CONNECTION, KEY]), Version),
        (get(&[UP, CONNECTION, KEY, "Sec-WebSocket-Version: 8"]), Version),
        (get(&[UP, CONNECTION, KEY, "Sec-WebSocket-Version: 013"]), Version),
        (get(&[UP, CONNECTION, KEY, "Sec-WebSocket-Version: 13, 8"]), Version),
        (get(&[UP, CONNECTION, KEY, "Sec-WebSocket-Version:"]), Version),
        (get(&[UP, CONNECTION, KEY, V13, V13]), Version),
        // Not for us.
        (get(&[KEY, V13]), NotWebSocket),
        (get(&[UP, KEY, V13]), NotWebSocket),
        (get(&[CONNECTION, KEY, V13]), NotWebSocket),
        (get(&[UP, "Connection: keep-alive", KEY, V13]), NotWebSocket),
        (get(&[UP, "Connection: Upgraded", KEY, V13]), NotWebSocket),
        (get(&["Upgrade: h2c", CONNECTION, KEY, V13]), NotWebSocket),
        (get(&["Upgrade: websocket/13", CONNECTION, KEY, V13]), NotWebSocket),
        (get(&[UP, CONNECTION, KEY, V13]).replace("1.1", "1.0"), NotWebSocket),
        (get(&[UP, CONNECTION, KEY, V13]).replace("GET", "POST"), Method),
        (get(&[UP, CONNECTION, KEY, V13]).replace("GET", "HEAD"), Method),
        (get(&[UP, CONNECTION, KEY, V13, "Content-Length: 1"]), Body),
        (get(&[UP, CONNECTION, KEY, V13, "Transfer-Encoding: chunked"]), Body),
    ];
    for (head, refusal) in rows {
        assert_eq!(verdict(&head), Err(refusal), "{head}");
    }
    let answers = [
        (NotWebSocket, 426, "upgrade: websocket, sec-websocket-version: 13"),
        (Version, 426, "upgrade: websocket, sec-websocket-version: 13"),
        (Method, 405, "allow: GET"),
        (Key, 400, ""),
        (Body, 400, ""),
    ];
    for (refusal, status, fields) in answers {
        let shown: Vec<_> = refusal.fields().map(|(name, value)| format!("{name}: {}", value.escape_ascii())).collect();
        assert_eq!((refusal.status(), &*shown.join(", ")), (status, fields));
        assert!(!refusal.to_string().is_empty());
    }
}

/// W08: who asks is shown before the answer; subprotocols are one of those offered, or none.
#[test]
fn shown_first() {
    let head = get(&[
        UP,
        CONNECTION,
        KEY,
        V13,
        "Origin: https://evil.example",
        "Sec-WebSocket-Protocol: chat, superchat",
        "Sec-WebSocket-Protocol: v2 ,, Chat",
    ]);
    request(&head, |head| {
        let upgrade = Upgrade::parse(head).unwrap();
        assert_eq!(upgrade.head().target(), "/chat");
        assert_eq!(upgrade.origin(), Some(&b"https://evil.example"[..]));
        assert_eq!(upgrade.protocols().collect::<Vec<_>>(), ["chat", "superchat", "v2", "Chat"]);
        let accepted = upgrade.accept(&Config::default(), Some("v2"));
        assert!(accepted.fields().any(|field| field == ("sec-websocket-protocol", b"v2")));
        assert_eq!(accepted.into_connection().negotiated().protocol(), Some("v2"));
        assert_eq!(upgrade.accept(&Config::default(), None).into_connection().negotiated().protocol(), None);
    });
    for (line, origin) in [("X: y", None), ("Origin: null", Some(&b"null"[..]))] {
        request(&get(&[UP, CONNECTION, KEY, V13, line]), |head| {
            let upgrade = Upgrade::parse(head).unwrap();
            assert_eq!(upgrade.origin(), origin);
            assert_eq!(upgrade.protocols().count(), 0);
        });
    }
}

#[test]
#[should_panic = "was not offered"]
fn a_subprotocol_that_was_not_offered() {
    request(&get(&[UP, CONNECTION, KEY, V13, "Sec-WebSocket-Protocol: chat"]), |head| {
        drop(Upgrade::parse(head).unwrap().accept(&Config::default(), Some("Chat")));
    });
}
