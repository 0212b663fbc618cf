//! Headers (RFC 6455, section 5.2), masks (5.3), what is copied and what is not.

use crate::{
    common::ws::{SIDES, Side, connection, drain},
    frames,
};
use bytes::Bytes;
use bytewise::{
    SendBuf,
    ws::{
        CloseCode, CloseFrame, Config, Connection, Kind, MaskKeys, Misuse,
        frame::{Header, Opcode, apply_mask},
        handshake::Negotiated,
    },
};
use std::collections::HashSet;

/// F13: 125, 126, 65535 and 65536 bytes need 7, 16, 16 and 64 bits.
#[test]
fn lengths() {
    for (n, header) in [
        (0, &[0x82, 0][..]),
        (1, &[0x82, 1]),
        (125, &[0x82, 125]),
        (126, &[0x82, 126, 0, 126]),
        (4095, &[0x82, 126, 0x0F, 0xFF]),
        (4096, &[0x82, 126, 0x10, 0]),
        (65535, &[0x82, 126, 0xFF, 0xFF]),
        (65536, &[0x82, 127, 0, 0, 0, 0, 0, 1, 0, 0]),
    ] {
        let payload: Vec<u8> = (0..n).map(|at| at as u8).collect();
        for owned in [false, true] {
            for side in SIDES {
                let (mut ws, mut tx) = (connection(side, &Config::default()), SendBuf::new());
                match owned {
                    true => ws.send_binary(Bytes::from(payload.clone()), &mut tx).unwrap(),
                    false => ws.send_binary(&payload, &mut tx).unwrap(),
                }
                ws.ping(b"x", &mut tx).unwrap();
                let sent = drain(&mut tx);
                if side == Side::Server {
                    assert_eq!(sent, [header, &payload, b"\x89\x01x"].concat());
                } else {
                    assert_eq!(sent[..2], [header[0], header[1] | 0x80]);
                    assert_eq!(sent[2..header.len()], header[2..]);
                }
                let frames = crate::common::ws::split_frames(&sent, side);
                assert_eq!(frames, [(0x82, payload.clone()), (0x89, b"x".to_vec())]);
            }
        }
    }
}

/// F25: headers of every length, there and back.
#[test]
fn headers() {
    let header = |len, mask| Header { fin: true, rsv: 0, opcode: Opcode::Binary, mask, len };
    assert_eq!(*header(1 << 32, None).encode(), [0x82, 0x7F, 0, 0, 0, 1, 0, 0, 0, 0]);
    for bits in 0..63 {
        for len in [1_u64 << bits, (1 << bits) - 1] {
            for mask in [None, Some([1, 2, 3, 4])] {
                for (fin, rsv, opcode) in
                    [(true, 0, Opcode::Text), (false, 7, Opcode::Continuation), (true, 4, Opcode::Binary)]
                {
                    let header = Header { fin, rsv, opcode, mask, len };
                    let encoded = header.encode();
                    assert_eq!(Header::decode(&encoded), Ok(Some((header, encoded.len()))));
                    for cut in 0..encoded.len() {
                        assert_eq!(Header::decode(&encoded[..cut]), Ok(None));
                    }
                }
            }
        }
    }
    use bytewise::ws::Error;
    for (bytes, error) in [
        (&[0x83, 0][..], Error::Opcode),
        (&[0x8F, 0], Error::Opcode),
        (&[0x09, 0], Error::ControlFrame),
        (&[0x88, 126], Error::ControlFrame),
        (&[0x82, 126, 0, 125], Error::Length),
        (&[0x82, 127, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF], Error::Length),
        (&[0x82, 127, 0x80, 0, 0, 0, 0, 0, 0, 0], Error::Length),
    ] {
        assert_eq!(Header::decode(bytes), Err(error));
    }
    for opcode in [Opcode::Close, Opcode::Ping, Opcode::Pong] {
        assert!(opcode.is_control());
    }
    assert!(!Opcode::Text.is_control());
}

#[test]
fn masks_at_any_offset() {
    let key = [1, 2, 4, 8];
    for len in 0..80 {
        let plain: Vec<u8> = (0..len).map(|n| (n * 7) as u8).collect();
        let mut whole = plain.clone();
        apply_mask(&mut whole, key, 0);
        assert_eq!(whole, crate::common::ws::masked(&plain, key));
        for cut in 0..=len {
            let mut cut_in_two = plain.clone();
            let (a, b) = cut_in_two.split_at_mut(cut);
            apply_mask(a, key, 0);
            apply_mask(b, key, cut as u64 + (1 << 40));
            assert_eq!(cut_in_two, whole);
        }
    }
}

/// Long payloads are masked from where they are aligned in memory on: it does not show.
#[test]
fn masks_anywhere_in_memory() {
    let (key, memory) = ([1, 2, 4, 8], vec![0x5A; 5000]);
    for begin in 0..33 {
        for len in [2047, 2048, 2049, 4100 + begin] {
            for offset in 0..4 {
                let mut bytes = memory.clone();
                apply_mask(&mut bytes[begin..begin + len], key, offset as u64);
                for (at, byte) in bytes.iter().enumerate() {
                    let masked = (begin..begin + len).contains(&at);
                    let key = if masked { key[(at - begin + offset) % 4] } else { 0 };
                    assert_eq!(*byte, 0x5A ^ key, "byte {at} of {len} from {begin}, offset {offset}");
                }
            }
        }
    }
}

/// What a client copies and masks in one go, of any length, to anywhere in memory.
#[test]
fn masked_copies() {
    let payload: Vec<u8> = (0..5000).map(|at| (at * 7 + at / 256) as u8).collect();
    let (mut ws, mut tx) = (connection(Side::Client, &Config::default()), SendBuf::new());
    for len in (0..300).chain(2030..2100).chain([4095, 4096, 4999]) {
        ws.ping(&payload[..len % 33], &mut tx).unwrap();
        ws.send_binary(&payload[..len], &mut tx).unwrap();
        let sent = [(0x89, payload[..len % 33].to_vec()), (0x82, payload[..len].to_vec())];
        assert_eq!(frames(&mut tx, Side::Client), sent);
    }
}

/// The masking keys in `tx`.
fn keys(ws: &mut Connection, count: usize) -> Vec<[u8; 4]> {
    let mut tx = SendBuf::new();
    (0..count)
        .map(|n| {
            match n % 4 {
                0 => ws.send_binary(&[0; 8], &mut tx).unwrap(),
                1 => ws.ping(&[0; 8], &mut tx).unwrap(),
                2 => ws.send_text("\0\0\0\0\0\0\0\0", &mut tx).unwrap(),
                _ => ws.pong(&[0; 8], &mut tx).unwrap(),
            }
            let sent = drain(&mut tx);
            assert_eq!(sent[2..6], sent[6..10]);
            assert_eq!(sent[2..6], sent[10..]);
            sent[2..6].try_into().unwrap()
        })
        .collect()
}

/// F26: a fresh key per frame; the same ones only for the same seed.
#[test]
fn masking_keys() {
    let client = |masks| Connection::client(&Config::default(), Negotiated::default(), masks);
    #[cfg(feature = "std")]
    {
        let from_system = keys(&mut client(MaskKeys::from_system().unwrap()), 1000);
        assert!(from_system.iter().collect::<HashSet<_>>().len() >= 998);
        assert_ne!(from_system, keys(&mut client(MaskKeys::from_system().unwrap()), 1000));
    }
    let seeded = keys(&mut client(MaskKeys::from_seed([1; 32])), 1000);
    assert!(seeded.iter().collect::<HashSet<_>>().len() >= 998);
    assert_eq!(seeded, keys(&mut client(MaskKeys::from_seed([1; 32])), 1000));
    assert_ne!(seeded, keys(&mut client(MaskKeys::from_seed([2; 32])), 1000));
    // Every bit is set about half of the time.
    for bit in 0..32 {
        let set = seeded.iter().filter(|key| u32::from_le_bytes(**key) >> bit & 1 == 1).count();
        assert!((400..600).contains(&set), "bit {bit}: {set}");
    }
    assert_eq!(format!("{:?}", MaskKeys::from_seed([0; 32])), "MaskKeys(..)");
}

/// Large bytes that are owned are not copied, by a server; a client has to mask a copy.
#[test]
fn uncopied() {
    for n in [SendBuf::UNCOPIED_FROM, 65535, 65536, 1 << 20] {
        let payload = Bytes::from(vec![7; n]);
        let text = "t".repeat(n);
        let at = text.as_ptr();
        let (mut ws, mut tx) = (connection(Side::Server, &Config::default()), SendBuf::new());
        ws.send_binary(payload.clone(), &mut tx).unwrap();
        ws.send_text(text, &mut tx).unwrap();
        let chunks: Vec<_> = tx.chunks().map(|chunk| (chunk.as_ptr(), chunk.len())).collect();
        assert_eq!((chunks.len(), chunks[1], chunks[3]), (4, (payload.as_ptr(), n), (at, n)));
        assert_eq!(tx.queued(), 2 * n + chunks[0].1 + chunks[2].1);

        let (mut ws, mut tx) = (connection(Side::Client, &Config::default()), SendBuf::new());
        ws.send_binary(payload.clone(), &mut tx).unwrap();
        assert_eq!(payload[0], 7, "what is shared is not masked");
        assert_eq!(frames(&mut tx, Side::Client), [(0x82, payload.to_vec())]);
    }
}

/// A header, and `len` bytes that the caller writes itself; what follows waits behind them.
#[test]
fn announced() {
    for (kind, b0) in [(Kind::Binary, 0x82), (Kind::Text, 0x81)] {
        let (mut ws, mut tx) = (connection(Side::Server, &Config::default()), SendBuf::new());
        ws.send_binary(b"before", &mut tx).unwrap();
        ws.announce(kind, 70_000, &mut tx).unwrap();
        ws.ping(b"p", &mut tx).unwrap();
        ws.announce(kind, 0, &mut tx).unwrap();
        ws.send_binary(b"after", &mut tx).unwrap();
        let header = [b0, 127, 0, 0, 0, 0, 0, 1, 0x11, 0x70];
        assert_eq!(tx.pending(), [&b"\x82\x06before"[..], &header].concat());
        tx.consume(tx.pending().len());
        assert_eq!((tx.external(), tx.pending()), (Some(70_000), &b""[..]));
        tx.external_written(70_000);
        assert_eq!(tx.pending(), [&b"\x89\x01p"[..], &[b0, 0], b"\x82\x05after"].concat());
    }
    let (mut ws, mut tx) = (connection(Side::Client, &Config::default()), SendBuf::new());
    assert_eq!(ws.announce(Kind::Binary, 5, &mut tx), Err(Misuse::Role));
    assert!(tx.is_empty());
}

/// Close frames: with and without a code and a reason, which may have 123 bytes.
#[test]
fn close_frames() {
    let long = "x".repeat(123);
    for side in SIDES {
        for (frame, payload) in [
            (None, vec![]),
            (Some((1000, "")), vec![0x03, 0xE8]),
            (Some((1001, "bye")), b"\x03\xE9bye".to_vec()),
            (Some((4999, "\u{20AC}")), b"\x13\x87\xE2\x82\xAC".to_vec()),
            (Some((3000, &*long)), [b"\x0B\xB8", long.as_bytes()].concat()),
        ] {
            let (mut ws, mut tx) = (connection(side, &Config::default()), SendBuf::new());
            let frame = frame.map(|(code, reason)| CloseFrame { code: CloseCode::new(code).unwrap(), reason });
            assert!(!ws.is_closing());
            ws.close(frame, &mut tx).unwrap();
            assert!(ws.is_closing());
            assert_eq!(frames(&mut tx, side), [(0x88, payload)]);
        }
    }
    for code in 0..=u16::MAX {
        let is_allowed = matches!(code, 1000..=1003 | 1007..=1014 | 3000..=4999);
        assert_eq!(CloseCode::new(code).map(CloseCode::get), is_allowed.then_some(code));
    }
}

#[test]
fn control_frames() {
    for side in SIDES {
        let (mut ws, mut tx) = (connection(side, &Config::default()), SendBuf::new());
        ws.ping(b"", &mut tx).unwrap();
        ws.pong(&[7; 125], &mut tx).unwrap();
        assert_eq!(frames(&mut tx, side), [(0x89, vec![]), (0x8A, vec![7; 125])]);
    }
}
