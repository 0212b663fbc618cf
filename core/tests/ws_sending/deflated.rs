//! Compressed messages: RFC 7692, section 7.2.1 and what was agreed on.

use crate::{
    common::ws::{SIDES, Side, connection, drain, split_frames},
    frames,
};
use bytewise::{
    Machine, RecvBuf, SendBuf,
    ws::{Config, Connection, Deflate, Event, Kind, MaskKeys, handshake::Negotiated},
};

fn all() -> Deflate {
    Deflate::default().with_threshold(0)
}

fn config(deflate: Deflate) -> Config {
    Config::default().with_deflate(deflate)
}

/// RFC 7692, section 7.2.3.
#[test]
fn examples() {
    let hello = (0xC1, vec![0xF2, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00]);
    let empty = (0xC1, vec![0]);
    for side in SIDES {
        let send = |deflate: Deflate| {
            let (mut ws, mut tx) = (connection(side, &config(deflate.with_level(6))), SendBuf::new());
            for text in ["Hello", "", "Hello", ""] {
                ws.send_text(text, &mut tx).unwrap();
            }
            frames(&mut tx, side)
        };
        let sent = send(all());
        assert_eq!([&sent[0], &sent[1], &sent[3]], [&hello, &empty, &empty]);
        // A reference to the first; how it is written is the compressor's affair.
        assert!(sent[2].1.len() < hello.1.len(), "{:?}", sent[2]);
        let alone = send(all().without_context_takeover());
        assert_eq!(alone, [hello.clone(), empty.clone(), hello.clone(), empty.clone()]);
        // Without context, one that has grown goes out as it is, unless all are to be compressed.
        let plain = |text: &str| (0x81, text.as_bytes().to_vec());
        let alone = send(all().with_threshold(1).without_context_takeover());
        assert_eq!(alone, [plain("Hello"), plain(""), plain("Hello"), plain("")]);
        let (mut ws, mut tx) = (connection(side, &config(all().with_level(0))), SendBuf::new());
        ws.send_text("Hello", &mut tx).unwrap();
        assert_eq!(frames(&mut tx, side), [(0xC1, b"\x00\x05\x00\xFA\xFFHello\x00".to_vec())]);
    }
}

/// Which messages go out as they are.
#[test]
fn plain_ones() {
    for side in SIDES {
        let text = "x".repeat(64);
        let (mut ws, mut tx) = (connection(side, &config(Deflate::default())), SendBuf::new());
        ws.send_text(&text[1..], &mut tx).unwrap();
        ws.send_text(&text, &mut tx).unwrap();
        ws.uncompressed().send_text(&text, &mut tx).unwrap();
        ws.send_binary(text.as_bytes(), &mut tx).unwrap();
        // Also the next that is begun, and no more than it.
        ws.uncompressed().begin(Kind::Binary).unwrap();
        ws.chunk(&text, &mut tx).unwrap();
        ws.finish(&mut tx).unwrap();
        ws.begin(Kind::Binary).unwrap();
        ws.finish(&mut tx).unwrap();
        // Control frames never.
        ws.ping(text.as_bytes(), &mut tx).unwrap();
        let first: Vec<_> = frames(&mut tx, side).into_iter().map(|(b0, _)| b0).collect();
        assert_eq!(first, [0x81, 0xC1, 0x81, 0xC2, 0x02, 0x80, 0xC2, 0x89]);
        if side == Side::Server {
            ws.uncompressed().announce(Kind::Binary, 0, &mut tx).unwrap();
            ws.send_text(&text, &mut tx).unwrap();
            let first: Vec<_> = frames(&mut tx, side).into_iter().map(|(b0, _)| b0).collect();
            assert_eq!(first, [0x82, 0xC1]);
        }
    }
}

/// Text like a feed: repeated keys, values that differ.
fn feed(len: usize) -> Vec<u8> {
    let mut rng = crate::common::Rng::new(7);
    let mut text = String::new();
    while text.len() < len {
        let symbol = ["BTC-USD", "ETH-USD", "SOL-EUR", "XRP-USD"][rng.below(4)];
        text += &format!(
            "{{\"type\":\"trade\",\"id\":{},\"symbol\":\"{symbol}\",\"price\":{},\"note\":\"{:x}\"}}\n",
            rng.below(100_000),
            rng.below(1_000_000),
            rng.next()
        );
    }
    text.truncate(len);
    text.into_bytes()
}

/// Every window, level and memory level, both sides, both takeovers, whole and in pieces: what is sent comes back, and
/// nothing refers farther back than was agreed on.
#[test]
fn windows() {
    let long = feed(120_000);
    for bits in 8..=15_u8 {
        for (level, mem_level) in [(1, 8), (1, 1), (2, 9), (4, 8), (6, 5), (9, 8)] {
            for side in SIDES {
                for context in ["", "; server_no_context_takeover; client_no_context_takeover"] {
                    let deflate = all().with_level(level).with_mem_level(mem_level);
                    let (mut ws, mut peer) = pair(side, &config(deflate), bits, context);
                    let (mut tx, mut rx, mut stream) = (SendBuf::new(), RecvBuf::new(), Vec::new());
                    let messages =
                        [&long[..500], b"", &long[..if bits == 15 { 120_000 } else { 20_000 }], &long[300..1000]];
                    for (at, message) in messages.into_iter().enumerate() {
                        if at % 2 == 0 {
                            ws.send_binary(message, &mut tx).unwrap();
                        } else {
                            ws.begin(Kind::Binary).unwrap();
                            message.chunks(97).for_each(|piece| ws.chunk(piece, &mut tx).unwrap());
                            ws.finish(&mut tx).unwrap();
                        }
                        let wire = drain(&mut tx);
                        rx.push(&wire);
                        let event = peer.next_event(&mut rx, &mut tx).unwrap();
                        assert!(event == Some(Event::Binary(message)), "{bits} {level} {mem_level} {side:?} {context}");
                        let sent = split_frames(&wire, side);
                        if sent[0].0 & 0x40 != 0 {
                            sent.iter().for_each(|(_, payload)| stream.extend_from_slice(payload));
                            stream.extend([0, 0, 0xFF, 0xFF]);
                        }
                    }
                    let farthest = max_distance(&stream);
                    assert!(farthest <= 1 << bits, "{bits} {level} {mem_level}: {farthest}");
                    if bits < 15 && mem_level > 1 {
                        assert!(farthest > 1 << (bits - 2), "{bits} {level} {mem_level}: {farthest} is not all of it");
                    }
                }
            }
        }
    }
}

/// A sender with that window, and its peer.
fn pair(side: Side, config: &Config, bits: u8, context: &str) -> (Connection, Connection) {
    let masks = || MaskKeys::from_seed([1; 32]);
    let answer = format!("permessage-deflate{context}; server_max_window_bits={bits}; client_max_window_bits={bits}");
    let server = Connection::server(config, Negotiated::choose(answer.as_bytes(), config));
    let client = Connection::client(config, Negotiated::confirm(answer.as_bytes(), config).unwrap(), masks());
    assert_eq!(
        server.negotiated().extensions().unwrap().matches("no_context").count(),
        context.matches("no_c").count()
    );
    if side == Side::Server { (server, client) } else { (client, server) }
}

/// Takeover is what was agreed on, each direction by itself.
#[test]
fn takeover() {
    let text = "a text that is repeated, again and again and again, so that it can be compressed well";
    for (offer, server_keeps, client_keeps) in [
        ("permessage-deflate", true, true),
        ("permessage-deflate; server_no_context_takeover", false, true),
        ("permessage-deflate; client_no_context_takeover", true, false),
    ] {
        let config = config(all());
        let negotiated = Negotiated::choose(offer.as_bytes(), &config);
        let confirmed = Negotiated::confirm(negotiated.extensions().unwrap().as_bytes(), &config).unwrap();
        let server = Connection::server(&config, negotiated);
        let client = Connection::client(&config, confirmed, MaskKeys::from_seed([0; 32]));
        for (side, mut ws, keeps) in [(Side::Server, server, server_keeps), (Side::Client, client, client_keeps)] {
            let mut tx = SendBuf::new();
            ws.send_text(text, &mut tx).unwrap();
            ws.send_text(text, &mut tx).unwrap();
            let sent = frames(&mut tx, side);
            assert_eq!(sent[0] != sent[1], keeps, "{offer} {side:?}");
            assert!(!keeps || sent[1].1.len() < 10);
        }
    }
}

/// Memory appears with the first message, and is what the docs say.
#[test]
fn memory() {
    let text = feed(10_000);
    for (deflate, least, most) in [
        (all().with_window_bits(9).with_mem_level(1), 100, 145),
        (all().with_window_bits(12).with_mem_level(5), 140, 185),
        (all(), 330, 400),
    ] {
        let config = config(deflate);
        let created = allocation_counter::measure(|| drop(connection(Side::Server, &config)));
        assert!(created.bytes_max < 2048, "{} bytes before the first message", created.bytes_max);
        let (mut ws, mut tx) = (connection(Side::Server, &config), SendBuf::new());
        tx.put(vec![0; 100]);
        let used = allocation_counter::measure(|| ws.send_binary(&text, &mut tx).unwrap());
        let kib = used.bytes_current / 1024;
        assert!((least..=most).contains(&kib), "{kib} KiB for {config:?}");
        let given_back = allocation_counter::measure(|| ws.release_memory());
        assert!(given_back.bytes_current < -(least - 20) * 1024, "{}", given_back.bytes_current);
    }
}

/// The farthest distance that a raw deflate stream refers back to: an inflater of its own.
fn max_distance(stream: &[u8]) -> usize {
    let mut bits = Bits { stream, at: 0 };
    let mut farthest = 0;
    while bits.at + 3 <= stream.len() * 8 {
        let last = bits.take(1) == 1;
        assert!(!last, "a final block");
        let (literals, distances) = match bits.take(2) {
            0 => {
                bits.at = bits.at.next_multiple_of(8);
                let len = bits.take(16);
                assert_eq!(bits.take(16), len ^ 0xFFFF);
                bits.at += len * 8;
                continue;
            }
            1 => {
                let mut lengths = [8; 288];
                lengths[144..256].fill(9);
                lengths[256..280].fill(7);
                (Code::new(&lengths), Code::new(&[5; 30]))
            }
            2 => dynamic(&mut bits),
            _ => panic!("block type"),
        };
        loop {
            match literals.next(&mut bits) {
                0..256 => {}
                256 => break,
                symbol => {
                    const EXTRA: [usize; 29] =
                        [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0];
                    bits.take(EXTRA[symbol - 257]);
                    let symbol = distances.next(&mut bits);
                    let extra = (symbol / 2).saturating_sub(1);
                    let base = if symbol < 4 { symbol + 1 } else { ((2 + symbol % 2) << extra) + 1 };
                    farthest = farthest.max(base + bits.take(extra));
                }
            }
        }
    }
    farthest
}

fn dynamic(bits: &mut Bits<'_>) -> (Code, Code) {
    const ORDER: [usize; 19] = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];
    let (literals, distances, codes) = (bits.take(5) + 257, bits.take(5) + 1, bits.take(4) + 4);
    let mut lengths = [0; 19];
    for &symbol in &ORDER[..codes] {
        lengths[symbol] = bits.take(3);
    }
    let code = Code::new(&lengths);
    let mut lengths = vec![];
    while lengths.len() < literals + distances {
        let (value, times) = match code.next(bits) {
            16 => (*lengths.last().unwrap(), 3 + bits.take(2)),
            17 => (0, 3 + bits.take(3)),
            18 => (0, 11 + bits.take(7)),
            length => (length, 1),
        };
        lengths.extend(std::iter::repeat_n(value, times));
    }
    (Code::new(&lengths[..literals]), Code::new(&lengths[literals..]))
}

struct Bits<'a> {
    stream: &'a [u8],
    at: usize,
}

impl Bits<'_> {
    fn take(&mut self, n: usize) -> usize {
        (0..n).fold(0, |value, i| {
            let bit = self.stream[self.at / 8] >> (self.at % 8) & 1;
            self.at += 1;
            value | usize::from(bit) << i
        })
    }
}

/// A canonical Huffman code.
struct Code {
    /// By length, then by symbol.
    symbols: Vec<usize>,
    counts: [usize; 16],
}

impl Code {
    fn new(lengths: &[usize]) -> Self {
        let mut counts = [0; 16];
        let mut symbols: Vec<usize> = (0..lengths.len()).filter(|&s| lengths[s] > 0).collect();
        symbols.sort_by_key(|&symbol| lengths[symbol]);
        for &symbol in &symbols {
            counts[lengths[symbol]] += 1;
        }
        Self { symbols, counts }
    }

    fn next(&self, bits: &mut Bits<'_>) -> usize {
        let (mut code, mut first, mut index) = (0, 0, 0);
        for &count in &self.counts[1..] {
            code |= bits.take(1);
            if code < first + count {
                return self.symbols[index + code - first];
            }
            index += count;
            first = (first + count) << 1;
            code <<= 1;
        }
        panic!("no such code")
    }
}
