//! The closing handshake: RFC 6455, sections 5.5.1 and 7.1, in every order.

use crate::common::{
    BROKEN, CLEAN, Input, OPEN,
    ws::{SIDES, Side, connection, drain, f, note, sent, split_frames, wire},
};
use bytewise::{
    Eof, Machine, NextIo, Phase, RecvBuf, SendBuf,
    ws::{CloseCode, CloseFrame, Config, Connection, Error, Event, Misuse},
};

/// What comes of frames after we closed with the first message: `(a)`, then ours.
fn closing_first(side: Side, eof: Option<Eof>, frames: &[crate::common::ws::Frame]) -> String {
    let frames = [&[f(0x81, "a")], frames].concat();
    Input::new(&wire(side, &frames)).ending(eof).output(sent(side)).whatever_is_unread().any_split(
        || connection(side, &Config::default()),
        |event, ws, tx, log| {
            if event == Event::Text("a") {
                ws.close(Some(CloseFrame { code: CloseCode::NORMAL, reason: "ours" }), tx).unwrap();
                assert_eq!(ws.phase().0, Phase::Closing);
            }
            note(event, ws, tx, log);
        },
    )
}

/// Ours first: what the peer sent before it saw it still counts, its reply ends it, and is not replied to.
#[test]
fn ours_first() {
    let rows = [
        (vec![], "(a) >close(1000 ours) read", "(a) >close(1000 ours) read"),
        (
            vec![f(0x88, b"\x03\xE8")],
            "(a) close(1000) >close(1000 ours) linger",
            "(a) close(1000) >close(1000 ours) read",
        ),
        (vec![f(0x88, "")], "(a) close >close(1000 ours) linger", "(a) close >close(1000 ours) read"),
        // Simultaneous: theirs has a reason of its own.
        (
            vec![f(0x88, b"\x03\xE9theirs")],
            "(a) close(1001 theirs) >close(1000 ours) linger",
            "(a) close(1001 theirs) >close(1000 ours) read",
        ),
        // Still an event; no pong after a close frame.
        (
            vec![f(0x82, "b"), f(0x89, "p"), f(1, "c"), f(0x80, "d"), f(0x88, b"\x03\xE8")],
            "(a) [b] ping[p] (cd) close(1000) >close(1000 ours) linger",
            "(a) [b] ping[p] (cd) close(1000) >close(1000 ours) read",
        ),
        // One close frame is all there is, also when the peer breaks the protocol.
        (vec![f(0x83, "")], "(a) !Opcode >close(1000 ours) linger", "(a) !Opcode >close(1000 ours) linger"),
        (vec![f(0x88, "x")], "(a) !CloseFrame >close(1000 ours) linger", "(a) !CloseFrame >close(1000 ours) linger"),
        (vec![f(0x81, b"\xFF")], "(a) !Utf8 >close(1000 ours) linger", "(a) !Utf8 >close(1000 ours) linger"),
    ];
    for (frames, server, client) in rows {
        assert_eq!(closing_first(Side::Server, OPEN, &frames), server);
        assert_eq!(closing_first(Side::Client, OPEN, &frames), client);
    }
    // The peer just goes.
    for side in SIDES {
        for eof in [CLEAN, BROKEN] {
            let log = closing_first(side, eof, &[]);
            assert_eq!(log, "(a) !UnexpectedEof { seen: 0, expected: None } >close(1000 ours) close");
        }
    }
}

/// Theirs first: answered with its code, and nothing after it is looked at. A server is done, a client awaits the end.
#[test]
fn theirs_first() {
    for junk in [&b""[..], b"\x81\x01x", b"\xFF\xFF\xFF", b"\x88\x80\0\0\0\0", &[0; 300]] {
        for (payload, close) in [(&b""[..], "close >close"), (b"\x03\xE9", "close(1001) >close(1001)")] {
            for (side, eof, end) in [
                (Side::Server, OPEN, "linger"),
                (Side::Server, CLEAN, "linger"),
                (Side::Client, OPEN, "read"),
                (Side::Client, CLEAN, "close"),
                (Side::Client, BROKEN, "close"),
            ] {
                let input = [&wire(side, &[f(0x82, "d"), f(0x88, payload)])[..], junk].concat();
                let log = Input::new(&input).ending(eof).output(sent(side)).any_split(
                    || connection(side, &Config::default()),
                    |event, ws, tx, log| {
                        note(event, ws, tx, log);
                        if ws.is_closing() {
                            assert_eq!(ws.send_text("x", tx), Err(Misuse::Closed));
                        }
                    },
                );
                assert_eq!(log.split(" +").next().unwrap(), format!("[d] {close} {end}"), "{side:?} {eof:?}");
            }
        }
    }
}

/// Both at once, in memory: each hears the other's, none replies, and both are done.
#[test]
fn simultaneous() {
    let config = Config::default();
    let (mut server, mut client) = (connection(Side::Server, &config), connection(Side::Client, &config));
    let (mut to_server, mut to_client) = (SendBuf::new(), SendBuf::new());
    let frame = |reason| Some(CloseFrame { code: CloseCode::GOING_AWAY, reason });
    server.close(frame("server"), &mut to_client).unwrap();
    client.close(frame("client"), &mut to_server).unwrap();
    let (mut server_rx, mut client_rx) = (RecvBuf::new(), RecvBuf::new());
    server_rx.push(&drain(&mut to_server));
    client_rx.push(&drain(&mut to_client));
    assert_eq!(server.next_event(&mut server_rx, &mut to_client), Ok(Some(Event::Close(frame("client")))));
    assert_eq!(client.next_event(&mut client_rx, &mut to_server), Ok(Some(Event::Close(frame("server")))));
    assert!(to_server.is_empty() && to_client.is_empty());
    assert_eq!((server.next_io(), client.next_io()), (NextIo::Linger, NextIo::Read));
    client_rx.set_eof(Eof::Clean);
    assert_eq!(client.next_event(&mut client_rx, &mut to_server), Ok(None));
    assert_eq!(client.next_io(), NextIo::Close);
}

/// `close` between `poll` and `next_event` is before what was found: there is one close frame.
#[test]
fn closing_over_what_was_found() {
    for side in SIDES {
        let mut ws = connection(side, &Config::default());
        let (mut rx, mut tx) = (RecvBuf::new(), SendBuf::new());
        rx.push(&wire(side, &[f(0x89, "p"), f(0x88, b"\x03\xE8")]));
        assert_eq!(ws.poll(&mut rx, &mut tx), Ok(true));
        ws.close(None, &mut tx).unwrap();
        assert_eq!(ws.next_event(&mut rx, &mut tx), Ok(Some(Event::Ping(b"p"))));
        assert_eq!(ws.poll(&mut rx, &mut tx), Ok(true));
        assert!(matches!(ws.next_event(&mut rx, &mut tx), Ok(Some(Event::Close(Some(_))))));
        assert_eq!(split_frames(&drain(&mut tx), side), [(0x88, vec![])]);
    }
}

/// `shut_down` says once that the server goes away, 1001, or that the client is done, 1000; events go on until the peer's close frame. `time_out` does not wait for it.
#[test]
fn shutting_down() {
    for side in SIDES {
        let going_away = vec![(0x88, vec![0x03, 0xE9])];
        let ended = if side == Side::Server { going_away.clone() } else { vec![(0x88, vec![0x03, 0xE8])] };
        let new = || (connection(side, &Config::default()), RecvBuf::new(), SendBuf::new());

        let (mut ws, mut rx, mut tx) = new();
        ws.begin(bytewise::ws::Kind::Text).unwrap();
        ws.shut_down(&mut tx);
        ws.shut_down(&mut tx);
        assert!(ws.is_closing());
        assert_eq!((ws.next_io(), ws.phase().0), (NextIo::Read, Phase::Closing));
        assert_eq!(ws.send_binary("x".as_bytes(), &mut tx), Err(Misuse::Closed));
        assert_eq!(split_frames(&drain(&mut tx), side), ended);
        rx.push(&wire(side, &[f(0x81, "late"), f(0x88, "")]));
        assert_eq!(ws.next_event(&mut rx, &mut tx), Ok(Some(Event::Text("late"))));
        assert_eq!(ws.next_event(&mut rx, &mut tx), Ok(Some(Event::Close(None))));
        ws.shut_down(&mut tx);
        assert!(tx.is_empty());

        // In the middle of what comes.
        for frames in [vec![f(0x82, "abcdef")], vec![f(1, "abc"), f(0x80, "d")]] {
            let whole = wire(side, &frames);
            for cut in 0..whole.len() {
                let (mut ws, mut rx, mut tx) = new();
                rx.push(&whole[..cut]);
                assert_eq!(ws.poll(&mut rx, &mut tx), Ok(false));
                ws.shut_down(&mut tx);
                rx.push(&whole[cut..]);
                assert!(matches!(ws.next_event(&mut rx, &mut tx), Ok(Some(Event::Binary(_) | Event::Text(_)))));
                assert_eq!(split_frames(&drain(&mut tx), side), ended);

                let (mut ws, mut rx, mut tx) = new();
                rx.push(&whole[..cut]);
                assert_eq!(ws.poll(&mut rx, &mut tx), Ok(false));
                ws.time_out(&mut tx);
                ws.time_out(&mut tx);
                assert_eq!(split_frames(&drain(&mut tx), side), going_away);
                assert_eq!(ws.next_io(), if side == Side::Server { NextIo::Linger } else { NextIo::Close });
                rx.push(&whole[cut..]);
                assert_eq!(ws.poll(&mut rx, &mut tx), Ok(false));
                assert_eq!(ws.next_event(&mut rx, &mut tx), Ok(None));
            }
        }

        // After each of the two close frames, and after an error.
        let (mut ws, _, mut tx) = new();
        ws.close(None, &mut tx).unwrap();
        ws.time_out(&mut tx);
        assert_eq!(split_frames(&drain(&mut tx), side), [(0x88, vec![])]);
        assert_ne!(ws.next_io(), NextIo::Read);
        let (mut ws, mut rx, mut tx) = new();
        rx.push(&wire(side, &[f(0x88, "")]));
        assert!(ws.next_event(&mut rx, &mut tx).is_ok());
        ws.time_out(&mut tx);
        assert_eq!(split_frames(&drain(&mut tx), side), [(0x88, vec![])]);
        assert_ne!(ws.next_io(), NextIo::Read);
        let (mut ws, mut rx, mut tx) = new();
        rx.push(b"\xFF");
        assert_eq!(ws.poll(&mut rx, &mut tx), Err(Error::ReservedBits));
        ws.time_out(&mut tx);
        ws.shut_down(&mut tx);
        assert_eq!(split_frames(&drain(&mut tx), side), [(0x88, vec![0x03, 0xEA])]);
        assert_eq!(ws.next_io(), NextIo::Linger);
    }
}

/// The phases, and how often an event came.
#[test]
fn phases() {
    let mut ws: Connection = connection(Side::Client, &Config::default());
    let (mut rx, mut tx) = (RecvBuf::new(), SendBuf::new());
    let mut step = |ws: &mut Connection, bytes: &[u8], tx: &mut SendBuf| {
        rx.push(bytes);
        let event = ws.next_event(&mut rx, tx).unwrap().is_some();
        (event, ws.phase().0, ws.phase().1)
    };
    assert_eq!(ws.phase(), (Phase::Idle, 0));
    for (bytes, expected) in [
        (&b""[..], (false, Phase::Idle, 0)),
        (b"\x82\x05", (false, Phase::Body, 0)),
        (b"abcde", (true, Phase::Idle, 1)),
        (b"", (false, Phase::Idle, 1)),
    ] {
        let got = step(&mut ws, bytes, &mut tx);
        assert_eq!((got.0, got.2), (expected.0, expected.2), "{bytes:?}");
        if !got.0 && !bytes.is_empty() {
            assert_eq!(got.1, expected.1, "{bytes:?}");
        }
    }
    assert_eq!(step(&mut ws, b"\x01\x01a", &mut tx), (false, Phase::Body, 1));
    assert!(step(&mut ws, b"\x80\x00", &mut tx).0);
    assert_eq!(step(&mut ws, b"\x88\x00", &mut tx), (true, Phase::Closing, 3));
}
