//! The input picks parameters of compression, and messages. Held:
//!
//! * what is compressed, whole, in pieces, prepared or not at all, comes out again at the peer, in any blocks;
//! * any bytes inflate to the same in whole messages and in pieces, within the limit, or fail in both.
#![no_main]

use arbitrary::Arbitrary;
use bytewise::{
    Machine, RecvBuf, SendBuf,
    ws::{Config, Connection, Deflate, Delivery, Error, Event, Kind, MaskKeys, Prepared, handshake::Negotiated},
};
use libfuzzer_sys::fuzz_target;

#[derive(Debug, Arbitrary)]
struct Input<'a> {
    level: u8,
    mem_level: u8,
    window_bits: u8,
    /// One bit each: no takeover of the server's, of the client's, who sends.
    options: u8,
    block: u8,
    limit: u16,
    messages: Vec<(u8, &'a [u8])>,
    wire: &'a [u8],
}

fuzz_target!(|input: Input<'_>| {
    round_trip(&input);
    any_bytes(&input);
});

fn pair(input: &Input<'_>, config: &Config) -> (Connection, Connection) {
    let bits = 8 + input.window_bits % 8;
    let mut answer = format!("permessage-deflate; server_max_window_bits={bits}; client_max_window_bits={bits}");
    if input.options & 1 != 0 {
        answer += "; server_no_context_takeover";
    }
    if input.options & 2 != 0 {
        answer += "; client_no_context_takeover";
    }
    let server = Connection::server(config, Negotiated::choose(answer.as_bytes(), config));
    let confirmed = Negotiated::confirm(answer.as_bytes(), config).expect("an answer to it");
    let client = Connection::client(config, confirmed, MaskKeys::from_seed([1; 32]));
    if input.options & 4 == 0 { (server, client) } else { (client, server) }
}

fn round_trip(input: &Input<'_>) {
    let deflate =
        Deflate::default().with_level(input.level % 10).with_mem_level(input.mem_level % 10).with_threshold(0);
    let config = Config::default().with_deflate(deflate.clone());
    let (mut ws, mut peer) = pair(input, &config);
    let (mut tx, mut rx, mut nothing) = (SendBuf::new(), RecvBuf::new(), SendBuf::new());
    for (how, message) in &input.messages {
        match how % 6 {
            0 | 1 => ws.send_binary(*message, &mut tx).unwrap(),
            2 => {
                ws.begin(Kind::Binary).unwrap();
                for piece in message.chunks(usize::from(*how) + 1) {
                    ws.chunk(piece, &mut tx).unwrap();
                }
                ws.finish(&mut tx).unwrap();
            }
            3 => ws.uncompressed().send_binary(*message, &mut tx).unwrap(),
            4 => {
                let prepared = Prepared::compressed(Kind::Binary, *message, &deflate).unwrap();
                ws.send_prepared(&prepared, &mut tx).unwrap();
            }
            _ => {
                ws.release_memory();
                peer.release_memory();
                ws.send_binary(*message, &mut tx).unwrap();
            }
        }
        let wire: Vec<u8> = tx.chunks().flatten().copied().collect();
        while !tx.is_empty() {
            tx.consume(tx.pending().len());
        }
        let mut received = None;
        for block in wire.chunks(usize::from(input.block) + 1) {
            rx.push(block);
            if let Some(event) = peer.next_event(&mut rx, &mut nothing).unwrap() {
                let Event::Binary(data) = event else { panic!("{event:?}") };
                assert!(received.is_none());
                received = Some(data.to_vec());
            }
        }
        assert_eq!(received.as_deref(), Some(*message));
    }
}

fn any_bytes(input: &Input<'_>) {
    let limit = usize::from(input.limit);
    let config = Config::default().with_max_message(limit).with_deflate(Deflate::default());
    // A compressed message of these bytes, twice, on a client, whose peer does not mask.
    let mut wire = Vec::new();
    for _ in 0..2 {
        wire.extend([0xC2, 127]);
        let Ok(len) = u16::try_from(input.wire.len()) else { return };
        match len {
            0..126 => *wire.last_mut().unwrap() = len as u8,
            _ => {
                *wire.last_mut().unwrap() = 126;
                wire.extend(len.to_be_bytes());
            }
        }
        wire.extend(input.wire);
    }
    let input = Input { options: input.options | 4, messages: Vec::new(), ..*input };
    let whole = inflate(pair(&input, &config).0, &wire, usize::MAX, limit);
    for block in [usize::from(input.block) + 1, 1] {
        assert_eq!(inflate(pair(&input, &config).0, &wire, block, limit), whole);
    }
    let chunks = config.with_delivery(Delivery::Chunks);
    let in_pieces = inflate(pair(&input, &chunks).0, &wire, usize::MAX, usize::MAX);
    for block in [usize::from(input.block) + 1, 1] {
        assert_eq!(inflate(pair(&input, &chunks).0, &wire, block, usize::MAX), in_pieces);
    }
    match whole.1 {
        Some(Error::TooBig) => {
            assert!(in_pieces.0.iter().any(|message| message.len() > limit) || in_pieces.1.is_some())
        }
        error => {
            assert_eq!(error, in_pieces.1);
            let ended = whole.0.len();
            assert_eq!(whole.0, in_pieces.0[..ended]);
        }
    }
}

/// Messages and, in pieces, what there was of one more; how it ended.
fn inflate(mut ws: Connection, wire: &[u8], block: usize, limit: usize) -> (Vec<Vec<u8>>, Option<Error>) {
    let (mut tx, mut rx) = (SendBuf::new(), RecvBuf::new());
    let (mut messages, mut message) = (Vec::new(), Vec::new());
    let mut total = 0;
    for block in wire.chunks(block) {
        rx.push(block);
        loop {
            match ws.next_event(&mut rx, &mut tx) {
                Ok(Some(Event::Binary(data))) => {
                    assert!(data.len() <= limit);
                    messages.push(data.to_vec());
                }
                Ok(Some(Event::Chunk { data, last, .. })) => {
                    assert!(data.len() <= 64 * 1024);
                    message.extend_from_slice(data);
                    total += data.len();
                    if last {
                        messages.push(std::mem::take(&mut message));
                    }
                    if total > 8 << 20 {
                        return (messages, None);
                    }
                }
                Ok(Some(event)) => panic!("{event:?}"),
                Ok(None) => break,
                Err(error) => {
                    if !message.is_empty() {
                        messages.push(message);
                    }
                    return (messages, Some(error));
                }
            }
        }
    }
    (messages, None)
}
