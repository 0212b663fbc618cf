//! What is refused leaves the connection and `tx` as they were.

use crate::{
    common::ws::{SIDES, Side, connection, f, wire},
    frames,
};
use bytewise::{
    Machine, RecvBuf, SendBuf,
    ws::{CloseCode, CloseFrame, Config, Connection, Error, Kind, Misuse, Prepared},
};

type Call = fn(&mut Connection, &mut SendBuf) -> Result<(), Misuse>;

const CLOSE: CloseFrame<'_> = CloseFrame { code: CloseCode::NORMAL, reason: "" };

/// All that can be called.
const CALLS: [(&str, Call); 12] = [
    ("send_text", |ws, tx| ws.send_text("x", tx)),
    ("send_text of bytes", |ws, tx| ws.send_text(b"x", tx)),
    ("send_binary", |ws, tx| ws.send_binary(b"x", tx)),
    ("send_prepared", |ws, tx| ws.send_prepared(&Prepared::new(Kind::Text, "x").unwrap(), tx)),
    ("announce", |ws, tx| ws.announce(Kind::Binary, 1, tx)),
    ("begin", |ws, _| ws.begin(Kind::Text)),
    ("chunk", |ws, tx| ws.chunk("x", tx)),
    ("empty chunk", |ws, tx| ws.chunk("", tx)),
    ("finish", |ws, tx| ws.finish(tx)),
    ("ping", |ws, tx| ws.ping(b"x", tx)),
    ("pong", |ws, tx| ws.pong(b"x", tx)),
    ("close", |ws, tx| ws.close(Some(CLOSE), tx)),
];

/// Refuses these, all of them with this, and nothing changes.
#[track_caller]
fn refuses(ws: &mut Connection, tx: &mut SendBuf, calls: &[&str], misuse: Misuse) {
    for (name, call) in CALLS.iter().filter(|(name, _)| calls.is_empty() || calls.contains(name)) {
        let before = (format!("{ws:?}"), tx.queued());
        assert_eq!(call(ws, tx), Err(misuse), "{name}");
        assert_eq!((format!("{ws:?}"), tx.queued()), before, "{name} changed something");
    }
}

/// Nothing after a close frame, whoever sent it and why, or after an error.
#[test]
fn closed() {
    for side in SIDES {
        let new = || (connection(side, &Config::default()), RecvBuf::new(), SendBuf::new());
        let (mut ws, _, mut tx) = new();
        ws.close(Some(CLOSE), &mut tx).unwrap();
        refuses(&mut ws, &mut tx, &[], Misuse::Closed);
        let (mut ws, _, mut tx) = new();
        ws.shut_down(&mut tx);
        refuses(&mut ws, &mut tx, &[], Misuse::Closed);
        let (mut ws, _, mut tx) = new();
        ws.time_out(&mut tx);
        refuses(&mut ws, &mut tx, &[], Misuse::Closed);
        // In the middle of a message.
        let (mut ws, _, mut tx) = new();
        ws.begin(Kind::Text).unwrap();
        ws.close(None, &mut tx).unwrap();
        refuses(&mut ws, &mut tx, &[], Misuse::Closed);
        for frame in [f(0x88, ""), f(0x83, "")] {
            let (mut ws, mut rx, mut tx) = new();
            rx.push(&wire(side, &[frame]));
            let _ = ws.next_event(&mut rx, &mut tx);
            refuses(&mut ws, &mut tx, &[], Misuse::Closed);
        }
        let (mut ws, mut rx, mut tx) = new();
        rx.set_eof(bytewise::Eof::Clean);
        assert!(matches!(ws.poll(&mut rx, &mut tx), Err(Error::UnexpectedEof { .. })));
        refuses(&mut ws, &mut tx, &[], Misuse::Closed);
        assert!(ws.is_closing() && tx.is_empty());
    }
}

#[test]
fn messages_in_pieces() {
    for side in SIDES {
        let (mut ws, mut tx) = (connection(side, &Config::default()), SendBuf::new());
        refuses(&mut ws, &mut tx, &["chunk", "empty chunk", "finish"], Misuse::NoMessage);
        ws.begin(Kind::Binary).unwrap();
        let inside = ["send_text", "send_text of bytes", "send_binary", "send_prepared", "announce", "begin"];
        refuses(&mut ws, &mut tx, &inside, Misuse::MessageOpen);
        ws.chunk(b"a", &mut tx).unwrap();
        refuses(&mut ws, &mut tx, &inside, Misuse::MessageOpen);
        ws.ping(b"", &mut tx).unwrap();
        ws.finish(&mut tx).unwrap();
        refuses(&mut ws, &mut tx, &["chunk", "empty chunk", "finish"], Misuse::NoMessage);
        assert_eq!(frames(&mut tx, side), [(0x02, b"a".to_vec()), (0x89, vec![]), (0x80, vec![])]);
    }
}

#[test]
fn payloads() {
    for side in SIDES {
        let (mut ws, mut tx) = (connection(side, &Config::default()), SendBuf::new());
        let state = |ws: &Connection, tx: &SendBuf| (format!("{ws:?}"), tx.queued());
        let before = state(&ws, &tx);
        for bad in [&b"\xFF"[..], b"a\xC0\x80", b"\xE2\x82", b"\xED\xA0\x80"] {
            assert_eq!(ws.send_text(bad, &mut tx), Err(Misuse::NotUtf8));
            assert_eq!(ws.send_text(bad.to_vec(), &mut tx), Err(Misuse::NotUtf8));
            assert_eq!(Prepared::new(Kind::Text, bad).map(drop), Err(Misuse::NotUtf8));
        }
        assert_eq!(ws.ping(&[0; 126], &mut tx), Err(Misuse::TooLong));
        assert_eq!(ws.pong(&[0; 126], &mut tx), Err(Misuse::TooLong));
        let reason = "x".repeat(124);
        assert_eq!(ws.close(Some(CloseFrame { reason: &reason, ..CLOSE }), &mut tx), Err(Misuse::TooLong));
        assert_eq!(state(&ws, &tx), before);
        if side == Side::Client {
            refuses(&mut ws, &mut tx, &["announce"], Misuse::Role);
        }
        // Bytes that are text can be sent as it.
        ws.send_text("\u{20AC}".as_bytes(), &mut tx).unwrap();
        assert_eq!(frames(&mut tx, side), [(0x81, b"\xE2\x82\xAC".to_vec())]);

        // Text in pieces: cut inside a code point, not ended there.
        ws.begin(Kind::Text).unwrap();
        ws.chunk(b"a\xE2", &mut tx).unwrap();
        let before = state(&ws, &tx);
        assert_eq!(ws.finish(&mut tx), Err(Misuse::NotUtf8));
        assert_eq!(ws.chunk(b"a", &mut tx), Err(Misuse::NotUtf8));
        assert_eq!(ws.chunk(b"\x82a", &mut tx), Err(Misuse::NotUtf8));
        assert_eq!(state(&ws, &tx), before);
        ws.chunk(b"\x82", &mut tx).unwrap();
        ws.chunk(b"\xACb", &mut tx).unwrap();
        ws.finish(&mut tx).unwrap();
        let all: Vec<u8> = frames(&mut tx, side).into_iter().flat_map(|(_, payload)| payload).collect();
        assert_eq!(all, "a\u{20AC}b".as_bytes());
    }
    for misuse in
        [Misuse::Closed, Misuse::MessageOpen, Misuse::NoMessage, Misuse::NotUtf8, Misuse::TooLong, Misuse::Role]
    {
        assert!(!misuse.to_string().is_empty());
    }
}
