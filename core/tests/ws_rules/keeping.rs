//! What a quiet connection does: the ping it sends, and the memory it gives back; which side answers.

use crate::common::ws::{SIDES, Side, connection, drain, f, split_frames, wire};
use bytewise::{
    Machine, Phase, RecvBuf, SendBuf,
    ws::{Config, Connection, Delivery, Event, Kind},
};

/// A ping with nothing in it, while the connection is open and little waits to be written.
#[test]
fn keeping_alive() {
    for side in SIDES {
        let mut ws = connection(side, &Config::default());
        let (mut rx, mut tx) = (RecvBuf::new(), SendBuf::new());
        ws.keep_alive(&mut tx);
        assert_eq!(split_frames(&drain(&mut tx), side), [(0x89, vec![])]);

        // Between the frames of messages under way.
        ws.begin(Kind::Text).unwrap();
        ws.chunk("a", &mut tx).unwrap();
        ws.keep_alive(&mut tx);
        ws.finish(&mut tx).unwrap();
        let frames = [(0x01, b"a".to_vec()), (0x89, vec![]), (0x80, vec![])];
        assert_eq!(split_frames(&drain(&mut tx), side), frames);

        ws.send_binary(vec![0; Connection::REPLY_MARK], &mut tx).unwrap();
        let full = tx.queued();
        ws.keep_alive(&mut tx);
        assert_eq!(tx.queued(), full, "what waits already tells whether the peer is there");
        drain(&mut tx);

        // A pong is heard, and asks for nothing.
        rx.push(&wire(side, &[f(0x8A, "")]));
        assert_eq!(ws.next_event(&mut rx, &mut tx), Ok(Some(Event::Pong(b""))));
        assert!(tx.is_empty());

        ws.close(None, &mut tx).unwrap();
        drain(&mut tx);
        ws.keep_alive(&mut tx);
        assert!(tx.is_empty());

        let mut failed = connection(side, &Config::default());
        rx.push(&wire(side, &[f(0x83, "")]));
        assert!(failed.poll(&mut rx, &mut tx).is_err());
        drain(&mut tx);
        failed.keep_alive(&mut tx);
        assert!(tx.is_empty());
    }
}

/// Idle is where nothing of a frame or a message has come, looked for or not.
#[test]
fn phases() {
    for side in SIDES {
        for delivery in [Delivery::Messages, Delivery::Chunks] {
            let mut ws = connection(side, &Config::default().with_delivery(delivery));
            let (mut rx, mut tx) = (RecvBuf::new(), SendBuf::new());
            assert_eq!(ws.phase(), (Phase::Idle, 0));
            let mut events = 0;
            for frames in [vec![f(0x82, "abc")], vec![f(0x89, "")], vec![f(0x01, "a"), f(0x8A, ""), f(0x80, "b")]] {
                assert_eq!(ws.poll(&mut rx, &mut tx), Ok(false));
                assert_eq!(ws.phase(), (Phase::Idle, events));
                let wire = wire(side, &frames);
                for (at, byte) in wire.iter().enumerate() {
                    rx.push(&[*byte]);
                    while ws.next_event(&mut rx, &mut tx).unwrap().is_some() {
                        events += 1;
                    }
                    let phase = if at + 1 == wire.len() { Phase::Idle } else { Phase::Body };
                    assert_eq!(ws.phase(), (phase, events), "{delivery:?} {frames:?} after {at}");
                }
            }
            ws.close(None, &mut tx).unwrap();
            assert_eq!(ws.phase().0, Phase::Closing);
        }
    }
}

/// A server's queue is bounded by what it answers; a client has to hear what comes while it sends.
#[test]
fn who_answers() {
    assert!(connection(Side::Server, &Config::default()).answers());
    assert!(!connection(Side::Client, &Config::default()).answers());
}

#[cfg(feature = "deflate")]
mod compressed {
    use super::*;
    use crate::deflated::deflate;
    use bytewise::ws::{Deflate, MaskKeys, handshake::Negotiated};

    /// What comes out of compressed messages counts, in whole messages and in chunks; plain ones do not.
    #[test]
    fn inflated() {
        let config = Config::default().with_deflate(Deflate::default());
        let message = vec![b'A'; 100_000];
        for delivery in [Delivery::Messages, Delivery::Chunks] {
            let mut ws = connection(Side::Server, &config.clone().with_delivery(delivery));
            let (mut rx, mut tx) = (RecvBuf::new(), SendBuf::new());
            for n in 0..3 {
                assert_eq!(ws.inflated(), n * message.len() as u64);
                rx.push(&wire(Side::Server, &[f(0xC2, deflate(&message)), f(0x82, "plain")]));
                while ws.next_event(&mut rx, &mut tx).unwrap().is_some() {}
            }
        }
    }

    /// The messages after it are compressed anew, and both sides still understand each other.
    #[test]
    fn memory_given_back() {
        let config = Config::default().with_deflate(Deflate::default().with_threshold(0));
        let agreed = Negotiated::choose(b"permessage-deflate", &config);
        let mut server = Connection::server(&config, agreed.clone());
        let mut client = Connection::client(&config, agreed, MaskKeys::from_seed([1; 32]));
        let (mut to_server, mut to_client) = (SendBuf::new(), SendBuf::new());
        let (mut at_server, mut at_client) = (RecvBuf::new(), RecvBuf::new());
        let text = "the same words again and again";
        let mut sizes = Vec::new();
        for round in 0..6 {
            if round % 2 == 0 {
                client.keep_alive(&mut to_server);
                server.keep_alive(&mut to_client);
            }
            client.send_text(text, &mut to_server).unwrap();
            let sent = drain(&mut to_server);
            sizes.push(sent.len());
            at_server.push(&sent);
            let mut heard = 0;
            while let Some(event) = server.next_event(&mut at_server, &mut to_client).unwrap() {
                if let Event::Text(echo) = event {
                    heard += 1;
                    assert_eq!(echo, text);
                    server.send_text(echo, &mut to_client).unwrap();
                }
            }
            at_client.push(&drain(&mut to_client));
            while let Some(event) = client.next_event(&mut at_client, &mut to_server).unwrap() {
                if let Event::Text(echo) = event {
                    heard += 1;
                    assert_eq!(echo, text);
                }
            }
            assert_eq!(heard, 2);
            drain(&mut to_server);
        }
        assert!(sizes[1] < sizes[0] / 2, "the second refers to the first: {sizes:?}");
        assert_eq!((sizes[2], sizes[4]), (sizes[0], sizes[0]), "each with a ping before it, and nothing to refer to");
    }
}
