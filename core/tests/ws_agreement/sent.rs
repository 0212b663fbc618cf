//! What one sends the other reads.

use crate::{
    Heard, Said, Side, Verdict,
    common::ws::{connection, drain},
    peer, talk, theirs,
};
use bytewise::{
    Machine, RecvBuf, SendBuf,
    ws::{CloseCode, CloseFrame, Config, Event, Kind},
};
use proptest::prelude::*;

/// What we make of the input, in blocks.
pub(crate) fn hear(side: Side, input: &[u8], max: usize, block: usize) -> (Heard, Option<bytewise::ws::Error>) {
    let (mut rx, mut tx) = (RecvBuf::new(), SendBuf::new());
    let mut ws = connection(side, &Config::default().with_max_message(max).with_max_fragments(u32::MAX));
    let mut events = Vec::new();
    for block in input.chunks(block.max(1)) {
        rx.push(block);
        loop {
            match ws.next_event(&mut rx, &mut tx) {
                Ok(None) => break,
                Ok(Some(Event::Text(text))) => events.push(Said::Text(text.to_owned())),
                Ok(Some(Event::Binary(data))) => events.push(Said::Binary(data.to_vec())),
                Ok(Some(Event::Ping(data))) => events.push(Said::Ping(data.to_vec())),
                Ok(Some(Event::Pong(data))) => events.push(Said::Pong(data.to_vec())),
                Ok(Some(Event::Close(frame))) => {
                    let frame = frame.map(|frame| (frame.code.get(), frame.reason.to_owned()));
                    return (Heard { events, verdict: Verdict::Closed(frame) }, None);
                }
                Ok(Some(other)) => unreachable!("{other:?}"),
                Err(error) => return (Heard { events, verdict: Verdict::Refused }, Some(error)),
            }
        }
    }
    (Heard { events, verdict: Verdict::Open }, None)
}

/// What we put on the wire, in pieces of `piece` bytes if there is one, with a ping between each two.
pub(crate) fn say(side: Side, all: &[Said], piece: Option<usize>) -> Vec<u8> {
    let (mut ws, mut tx) = (connection(side, &Config::default()), SendBuf::new());
    for said in all {
        let (kind, bytes) = match said {
            Said::Text(text) => (Kind::Text, text.as_bytes()),
            Said::Binary(data) => (Kind::Binary, &data[..]),
            Said::Ping(data) => {
                ws.ping(data, &mut tx).unwrap();
                continue;
            }
            Said::Pong(data) => {
                ws.pong(data, &mut tx).unwrap();
                continue;
            }
        };
        match (piece, kind) {
            (Some(piece), _) => {
                ws.begin(kind).unwrap();
                for bytes in bytes.chunks(piece.max(bytes.len() / 20).max(1)) {
                    ws.chunk(bytes, &mut tx).unwrap();
                    ws.pong(b"between", &mut tx).unwrap();
                }
                ws.finish(&mut tx).unwrap();
            }
            (None, Kind::Text) => ws.send_text(bytes, &mut tx).unwrap(),
            (None, Kind::Binary) => ws.send_binary(bytes, &mut tx).unwrap(),
        }
    }
    drain(&mut tx)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(100) })]

    #[test]
    fn by_us((side, all) in talk(), piece in proptest::option::of(1..200_usize)) {
        let wire = say(peer(side), &all, piece);
        let mut heard = theirs::hear(side, &wire, usize::MAX);
        if piece.is_some() {
            heard.events.retain(|said| *said != Said::Pong(b"between".to_vec()));
        }
        prop_assert_eq!(heard, Heard { events: all, verdict: Verdict::Open });
    }

    #[test]
    fn by_them((side, all) in talk(), block in prop_oneof![1..64_usize, Just(usize::MAX)]) {
        let wire = theirs::say(peer(side), &all);
        let (heard, error) = hear(side, &wire, usize::MAX, block);
        prop_assert_eq!(error, None);
        prop_assert_eq!(heard, Heard { events: all, verdict: Verdict::Open });
    }

    /// The closing handshake, started by either.
    #[test]
    fn closing(ours_first: bool, code in prop_oneof![1000..=1003_u16, 1007..=1013_u16, 3000..=4999_u16], reason in "\\PC{0,30}") {
        for side in crate::common::ws::SIDES {
            let (mut ws, mut tx, mut rx) = (connection(side, &Config::default()), SendBuf::new(), RecvBuf::new());
            let mut theirs = theirs::socket(peer(side), Vec::new(), usize::MAX);
            let frame = CloseFrame { code: CloseCode::new(code).unwrap(), reason: &reason };
            if ours_first {
                ws.close(Some(frame), &mut tx).unwrap();
                theirs.get_mut().input = std::io::Cursor::new(drain(&mut tx));
                let tungstenite::Message::Close(Some(heard)) = theirs.read().unwrap() else { panic!() };
                prop_assert_eq!((u16::from(heard.code), heard.reason.as_str()), (code, &*reason));
                let _ = theirs.flush();
                rx.push(&theirs.get_ref().output);
                let Ok(Some(Event::Close(Some(reply)))) = ws.next_event(&mut rx, &mut tx) else { panic!() };
                prop_assert_eq!(reply.code.get(), code);
                prop_assert!(tx.is_empty());
            } else {
                let close = tungstenite::protocol::CloseFrame { code: code.into(), reason: reason.clone().into() };
                theirs.close(Some(close)).unwrap();
                rx.push(&theirs.get_ref().output);
                prop_assert_eq!(ws.next_event(&mut rx, &mut tx), Ok(Some(Event::Close(Some(frame)))));
                theirs.get_mut().input = std::io::Cursor::new(drain(&mut tx));
                let heard = theirs.read();
                prop_assert!(matches!(heard, Ok(tungstenite::Message::Close(Some(_))) | Err(tungstenite::Error::ConnectionClosed)));
            }
        }
    }
}
