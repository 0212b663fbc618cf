//! What the targets of WebSocket have in common: configuration and blocks that the input picks, and how events are written down.

use crate::{Feed, Outcome, Plan};
use arbitrary::Arbitrary;
use bytewise::{
    Eof, Machine, RecvBuf, SendBuf,
    ws::{
        CloseCode, CloseFrame, Config, Connection, Deflate, Delivery, Event, Kind, MaskKeys,
        handshake::{Negotiated, Request},
    },
};

/// All that is not the wire; of fixed size, so that seeds can be written by hand.
#[derive(Debug, Clone, Arbitrary)]
pub struct Case {
    /// One bit each: chunks, pongs by hand, deflate, our takeover, the peer's, everything compressed.
    pub options: u8,
    /// One bit for each limit that is tight: bytes, frames.
    pub tight: u8,
    /// What the application does with a message, and at which event it closes.
    pub does: [u8; 2],
    pub end: u8,
    pub blocks: [u8; 4],
    pub feed: u8,
    /// First allocation, read-ahead and, above the first allocation, bound of the receive buffer.
    pub buffer: [u8; 3],
    /// After how many bytes it is shut down; not at all for 255.
    pub shut_down: u8,
}

/// Who receives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Server,
    Client,
}

impl Side {
    pub const fn peer(self) -> Self {
        match self {
            Self::Server => Self::Client,
            Self::Client => Self::Server,
        }
    }
}

/// A connection that agreed on all that it asks for.
pub fn connection(side: Side, config: &Config) -> Connection {
    let willing = Config::default().with_deflate(Deflate::default());
    match side {
        Side::Server => {
            Connection::server(config, Negotiated::choose(b"permessage-deflate; client_max_window_bits", config))
        }
        Side::Client => {
            let request = Request::new([0; 16], config, &[]);
            let offer = request.fields().find(|(name, _)| *name == "sec-websocket-extensions");
            let chosen = Negotiated::choose(offer.map_or(b"", |(_, offer)| offer), &willing);
            let answer = chosen.extensions().unwrap_or_default();
            let confirmed = Negotiated::confirm(answer.as_bytes(), config).expect("what it offered");
            Connection::client(config, confirmed, MaskKeys::from_seed([7; 32]))
        }
    }
}

impl Case {
    const fn has(&self, bit: u8) -> bool {
        self.options & 1 << bit != 0
    }

    pub fn config(&self) -> Config {
        let mut config = Config::default().with_max_message(1 << 16);
        if self.has(0) {
            config = config.with_delivery(Delivery::Chunks);
        }
        if self.has(1) {
            config = config.with_manual_pong();
        }
        if self.has(2) {
            let mut deflate = Deflate::default().with_window_bits(9).with_mem_level(1);
            if self.has(3) {
                deflate = deflate.without_context_takeover();
            }
            if self.has(4) {
                deflate = deflate.without_peer_context_takeover();
            }
            if self.has(5) {
                deflate = deflate.with_threshold(0);
            }
            config = config.with_deflate(deflate);
        }
        if self.tight & 1 != 0 {
            config = config.with_max_message(40);
        }
        if self.tight & 2 != 0 {
            config = config.with_max_fragments(3);
        }
        config
    }

    /// All at once.
    fn whole(&self) -> Plan {
        Plan {
            blocks: Vec::new(),
            eof: [None, Some(Eof::Clean), Some(Eof::Truncated)][usize::from(self.end % 3)],
            shut_down: (self.shut_down != 255).then(|| self.shut_down.into()),
            limits: (usize::from(self.buffer[0]) + 1, usize::from(self.buffer[1]) + 1, usize::MAX),
            feed: Feed::Push,
            poll: self.feed < 128,
        }
    }

    fn drive(&self, side: Side, plan: &Plan, wire: &[u8]) -> Outcome {
        let mut count = 0;
        let mut ws = connection(side, &self.config());
        let mut outcome = plan.drive(&mut ws, wire, |event, ws, tx, log| {
            // Pieces are as many as blocks are.
            count += u8::from(!matches!(event, Event::Chunk { last: false, .. }));
            self.answer(event, count, ws, tx, log);
        });
        // In the middle of a frame it was perhaps unmasked.
        outcome.unread.clear();
        outcome
    }

    /// Drives connections with the wire whole, cut and byte by byte, holds them to one outcome, and reads what they sent.
    pub fn hold(&self, side: Side, wire: &[u8]) {
        let blocks = self.blocks.map(usize::from).to_vec();
        let feed = [Feed::Push, Feed::Space, Feed::Lend][usize::from(self.feed % 3)];
        let whole = self.whole();
        let cut = Plan { blocks: blocks.clone(), feed, poll: !whole.poll, ..whole.clone() };
        let bytes = Plan { blocks: vec![1], feed: Feed::Space, ..cut.clone() };
        let expected = self.drive(side, &whole, wire);
        for plan in [cut, bytes] {
            let outcome = self.drive(side, &plan, wire);
            expected.assert_agrees(&outcome, &plan);
            // What was received, what it is inflated to, and the same again for growing.
            let held = wire.len() + if self.has(2) { 80 << 10 } else { 0 };
            assert!(outcome.capacity <= 4 * (held + 512), "{} bytes for {held}, {plan:?}", outcome.capacity);
        }
        self.can_be_read(side, &expected.sent);

        // With a bound, by reads, which alone heed it; what is inflated may be above it or not, as the blocks are.
        if self.has(2) {
            return;
        }
        let (initial, read_ahead, _) = whole.limits;
        let limits = (initial, read_ahead, initial + usize::from(self.buffer[2]));
        let whole = Plan { feed: Feed::Space, limits, ..whole };
        let cut = Plan { blocks, ..whole.clone() };
        let bounded = self.drive(side, &whole, wire);
        let outcome = self.drive(side, &cut, wire);
        bounded.assert_agrees(&outcome, &cut);
        let capacity = outcome.capacity.max(bounded.capacity);
        assert!(capacity <= 4 * (limits.2 + 8), "{capacity} bytes for {limits:?}");
    }

    /// Writes an event down, and answers it.
    fn answer(&self, event: Event<'_>, count: u8, ws: &mut Connection, tx: &mut SendBuf, log: &mut Vec<u8>) {
        let is_piece = matches!(event, Event::Chunk { last: false, .. });
        let name = |log: &mut Vec<u8>, name: &str| log.extend(format!("\n{name} ").bytes());
        match event {
            Event::Text(text) => {
                name(log, "text");
                log.extend(text.bytes());
                match self.does[0] % 4 {
                    1 => drop(ws.send_text(text, tx)),
                    2 => in_pieces(ws, Kind::Text, text.as_bytes(), tx),
                    3 => drop(ws.uncompressed().send_text(text, tx)),
                    _ => {}
                }
            }
            Event::Binary(data) => {
                name(log, "binary");
                log.extend(data);
                match self.does[0] % 4 {
                    1 => drop(ws.send_binary(data, tx)),
                    2 => in_pieces(ws, Kind::Binary, data, tx),
                    3 => ws.release_memory(),
                    _ => {}
                }
            }
            Event::Chunk { kind, data, last } => {
                assert!(last || !data.is_empty());
                assert!(data.len() <= 64 * 1024 || !self.has(2));
                log.extend(data);
                if last {
                    name(log, if kind == Kind::Text { "end of text" } else { "end of binary" });
                    if self.does[0] % 4 == 1 {
                        let _ = ws.ping(b"end", tx);
                    }
                }
            }
            Event::Ping(data) => {
                assert!(data.len() <= 125);
                name(log, "ping");
                log.extend(data);
            }
            Event::Pong(data) => {
                assert!(data.len() <= 125);
                name(log, "pong");
                log.extend(data);
            }
            Event::Close(frame) => {
                name(log, &format!("close {frame:?}"));
                assert!(ws.is_closing());
            }
            _ => unreachable!(),
        }
        // Not at a piece, of which nobody knows how many there are.
        if !is_piece && count == self.does[1] {
            let _ = ws.close(Some(CloseFrame { code: CloseCode::NORMAL, reason: "enough" }), tx);
        }
    }

    /// Reads what was sent as the peer: it is in order, and the last of it is a close frame if there is one.
    fn can_be_read(&self, side: Side, sent: &[u8]) {
        let (mut rx, mut tx) = (RecvBuf::new(), SendBuf::new());
        // What is sent may be above our own limits, when it was received in pieces or inflated.
        let config = Case { options: mirrored(self.options) & !3, tight: 0, ..self.clone() }.config();
        let mut peer = connection(side.peer(), &config.with_max_message(1 << 20));
        rx.push(sent);
        let mut closed = false;
        loop {
            match peer.next_event(&mut rx, &mut tx) {
                Ok(Some(event)) => {
                    assert!(!closed, "something after the close frame");
                    closed = matches!(event, Event::Close(_));
                }
                Ok(None) => break,
                Err(error) => panic!("{error} in what was sent: {}", sent.escape_ascii()),
            }
        }
        assert!(rx.unread().is_empty(), "half a frame, or more than a close frame: {}", rx.unread().escape_ascii());
    }
}

/// The takeovers change places.
const fn mirrored(options: u8) -> u8 {
    options & !0x18 | options >> 1 & 8 | (options & 8) << 1
}

fn in_pieces(ws: &mut Connection, kind: Kind, data: &[u8], tx: &mut SendBuf) {
    if ws.begin(kind).is_err() {
        return;
    }
    for piece in data.chunks(3) {
        ws.chunk(piece, tx).expect("a piece of what is text");
        ws.ping(b"", tx).expect("control frames go between");
    }
    ws.finish(tx).expect("it is complete");
}
