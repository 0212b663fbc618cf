//! Pongs while much waits to be sent (RFC 6455, section 5.5.3): the newest is enough, and no ping makes the queue grow.

use crate::common::ws::{SIDES, connection, drain, f, split_frames, wire};
use bytewise::{
    Machine, RecvBuf, SendBuf,
    ws::{Config, Connection, Event},
};

#[test]
fn only_the_newest() {
    for side in SIDES {
        let mut ws = connection(side, &Config::default());
        let (mut rx, mut tx) = (RecvBuf::new(), SendBuf::new());
        ws.send_binary(vec![0; Connection::REPLY_MARK], &mut tx).unwrap();
        let full = tx.queued();
        for n in 0..1000 {
            rx.push(&wire(side, &[f(0x89, format!("{n}"))]));
            assert!(matches!(ws.next_event(&mut rx, &mut tx), Ok(Some(Event::Ping(_)))));
            assert_eq!(tx.queued(), full);
        }
        assert_eq!(ws.poll(&mut rx, &mut tx), Ok(false));
        assert_eq!(tx.queued(), full, "there is no room yet");
        drain(&mut tx);
        assert_eq!(ws.poll(&mut rx, &mut tx), Ok(false));
        assert_eq!(split_frames(&drain(&mut tx), side), [(0x8A, b"999".to_vec())]);
        assert_eq!(ws.poll(&mut rx, &mut tx), Ok(false));
        assert!(tx.is_empty());
    }
}

/// A ping that is answered at once makes the older one's pong needless, and a close frame does.
#[test]
fn none_that_is_late() {
    for side in SIDES {
        let owing = || {
            let mut ws = connection(side, &Config::default());
            let (mut rx, mut tx) = (RecvBuf::new(), SendBuf::new());
            ws.send_binary(vec![0; Connection::REPLY_MARK], &mut tx).unwrap();
            rx.push(&wire(side, &[f(0x89, "old")]));
            assert_eq!(ws.next_event(&mut rx, &mut tx), Ok(Some(Event::Ping(b"old"))));
            (ws, rx, tx)
        };
        // It waits in front of the new one's event: the pong of the old one goes first, or not at all.
        let (mut ws, mut rx, mut tx) = owing();
        rx.push(&wire(side, &[f(0x89, "new")]));
        assert_eq!(ws.poll(&mut rx, &mut tx), Ok(true));
        drain(&mut tx);
        assert_eq!(ws.next_event(&mut rx, &mut tx), Ok(Some(Event::Ping(b"new"))));
        let frames = split_frames(&drain(&mut tx), side);
        assert_eq!(frames.last().unwrap(), &(0x8A, b"new".to_vec()));

        let (mut ws, mut rx, mut tx) = owing();
        ws.close(None, &mut tx).unwrap();
        drain(&mut tx);
        assert_eq!(ws.poll(&mut rx, &mut tx), Ok(false));
        assert!(tx.is_empty(), "a pong after the close frame");

        // Also the peer's.
        let (mut ws, mut rx, mut tx) = owing();
        rx.push(&wire(side, &[f(0x88, "")]));
        assert_eq!(ws.next_event(&mut rx, &mut tx), Ok(Some(Event::Close(None))));
        drain(&mut tx);
        assert_eq!(ws.poll(&mut rx, &mut tx), Ok(false));
        assert!(tx.is_empty(), "a pong after the close frame");
    }
}

/// Just below the mark there is room; an external segment that waits is none of the bytes held.
#[test]
fn at_the_mark() {
    let mut ws = connection(crate::common::ws::Side::Server, &Config::default());
    let (mut rx, mut tx) = (RecvBuf::new(), SendBuf::new());
    tx.put(vec![0; Connection::REPLY_MARK - 1]);
    rx.push(&wire(crate::common::ws::Side::Server, &[f(0x89, "")]));
    assert_eq!(ws.next_event(&mut rx, &mut tx), Ok(Some(Event::Ping(b""))));
    assert_eq!(tx.queued(), Connection::REPLY_MARK + 1);
}

#[test]
fn by_hand() {
    for side in SIDES {
        let config = Config::default().with_manual_pong();
        let mut ws = connection(side, &config);
        let (mut rx, mut tx) = (RecvBuf::new(), SendBuf::new());
        rx.push(&wire(side, &[f(0x89, "p")]));
        let Ok(Some(Event::Ping(payload))) = ws.next_event(&mut rx, &mut tx) else { panic!() };
        assert!(tx.is_empty());
        ws.pong(payload, &mut tx).unwrap();
        assert_eq!(split_frames(&drain(&mut tx), side), [(0x8A, b"p".to_vec())]);
    }
}
