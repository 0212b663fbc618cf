//! WebSocket in the words of a log.
//!
//! ```text
//! (text) [binary] {chunks of a message}.text ping[p] pong[p] close close(1000 bye) !Opcode   events
//! >pong[p] >close(1002) >(text) >c1[compressed]                                            frames sent
//! linger                                                       what is to be done
//! ```

use super::{Input, Log, log::shortened};
use bytewise::{
    Eof, Machine, RecvBuf, SendBuf,
    ws::{
        CloseFrame, Config, Connection, Error, Event, Kind, MaskKeys,
        handshake::{Negotiated, Request},
    },
};

/// The masking key of RFC 6455, section 5.7.
pub const KEY: [u8; 4] = [0x37, 0xFA, 0x21, 0x3D];

/// Who receives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Server,
    Client,
}

pub const SIDES: [Side; 2] = [Side::Server, Side::Client];

/// A frame, as it is for either side: its first byte, its length, which may be a lie, and its payload.
#[derive(Debug, Clone)]
pub struct Frame {
    b0: u8,
    len: Vec<u8>,
    payload: Vec<u8>,
}

/// A frame with its length in the shortest form.
pub fn f(b0: u8, payload: impl AsRef<[u8]>) -> Frame {
    let payload = payload.as_ref().to_vec();
    let len = match payload.len() {
        n @ 0..126 => vec![n as u8],
        n @ 126..65536 => [&[126], &(n as u16).to_be_bytes()[..]].concat(),
        n => [&[127], &(n as u64).to_be_bytes()[..]].concat(),
    };
    Frame { b0, len, payload }
}

/// A frame with a length of these bytes, whatever it has.
pub fn raw(b0: u8, len: &[u8], payload: impl AsRef<[u8]>) -> Frame {
    Frame { b0, len: len.to_vec(), payload: payload.as_ref().to_vec() }
}

pub fn masked(payload: &[u8], key: [u8; 4]) -> Vec<u8> {
    payload.iter().zip(key.iter().cycle()).map(|(byte, key)| byte ^ key).collect()
}

/// The frames as that side receives them.
pub fn wire(side: Side, frames: &[Frame]) -> Vec<u8> {
    let mut wire = Vec::new();
    for Frame { b0, len, payload } in frames {
        wire.push(*b0);
        match side {
            Side::Client => wire.extend([&len[..], payload].concat()),
            Side::Server => {
                wire.push(len[0] | 0x80);
                wire.extend([&len[1..], &KEY, &masked(payload, KEY)].concat());
            }
        }
    }
    wire
}

/// A connection that agreed on what `config` asks for.
pub fn connection(side: Side, config: &Config) -> Connection {
    match side {
        Side::Server => {
            Connection::server(config, Negotiated::choose(b"permessage-deflate; client_max_window_bits", config))
        }
        Side::Client => {
            let request = Request::new([0; 16], config, &[]);
            let offer = request.fields().find(|(name, _)| *name == "sec-websocket-extensions");
            let chosen = Negotiated::choose(offer.map_or(b"", |(_, offer)| offer), &willing());
            let confirmed = Negotiated::confirm(chosen.extensions().unwrap_or_default().as_bytes(), config).unwrap();
            Connection::client(config, confirmed, MaskKeys::from_seed([7; 32]))
        }
    }
}

/// What agrees to all that is asked for.
fn willing() -> Config {
    #[cfg(feature = "deflate")]
    return Config::default().with_deflate(bytewise::ws::Deflate::default());
    #[cfg(not(feature = "deflate"))]
    return Config::default();
}

/// What that side makes of the input, at every cut.
#[track_caller]
pub fn receive(side: Side, config: &Config, input: Input<'_>) -> String {
    input.output(sent(side)).whatever_is_unread().any_split(|| connection(side, config), note)
}

/// How what that side sends is written down.
pub fn sent(side: Side) -> fn(&[u8]) -> String {
    match side {
        Side::Server => |bytes| frames_of(bytes, Side::Server),
        Side::Client => |bytes| frames_of(bytes, Side::Client),
    }
}

/// Writes an event down.
pub fn note(event: Event<'_>, _: &mut Connection, _: &mut SendBuf, log: &mut Log) {
    match event {
        Event::Text(text) => log.item(format_args!("({})", shortened(text.as_bytes()))),
        Event::Binary(data) => log.bytes(data),
        Event::Chunk { kind, data, last } => {
            assert!(last || !data.is_empty(), "an empty piece that is not the last");
            log.piece(data);
            if last {
                log.item(format_args!(".{}", if kind == Kind::Text { "text" } else { "binary" }));
            }
        }
        Event::Ping(data) => log.item(format_args!("ping[{}]", shortened(data))),
        Event::Pong(data) => log.item(format_args!("pong[{}]", shortened(data))),
        Event::Close(None) => log.item(format_args!("close")),
        Event::Close(Some(CloseFrame { code, reason: "" })) => log.item(format_args!("close({code})")),
        Event::Close(Some(CloseFrame { code, reason })) => log.item(format_args!("close({code} {reason})")),
        other => unreachable!("{other:?}"),
    }
}

/// Frames that were sent, masked by a client and by no one else, with lengths in the shortest form.
pub fn split_frames(mut bytes: &[u8], from: Side) -> Vec<(u8, Vec<u8>)> {
    let mut frames = Vec::new();
    while !bytes.is_empty() {
        let (b0, b1) = (bytes[0], bytes[1]);
        assert_eq!(b1 & 0x80 != 0, from == Side::Client, "masked by a client only");
        let (len, header) = match b1 & 0x7F {
            126 => (u64::from(u16::from_be_bytes([bytes[2], bytes[3]])), 4),
            127 => (u64::from_be_bytes(bytes[2..10].try_into().unwrap()), 10),
            len => (u64::from(len), 2),
        };
        let least = [(2, 0), (4, 126), (10, 65536)].into_iter().find(|(size, _)| *size == header).unwrap().1;
        assert!(len >= least, "a length not in its shortest form");
        let (key, header) = match from {
            Side::Server => ([0; 4], header),
            Side::Client => (bytes[header..header + 4].try_into().unwrap(), header + 4),
        };
        let end = header + len as usize;
        frames.push((b0, masked(&bytes[header..end], key)));
        bytes = &bytes[end..];
    }
    frames
}

fn frames_of(bytes: &[u8], from: Side) -> String {
    let mut list = Vec::new();
    for (b0, payload) in split_frames(bytes, from) {
        let shown = shortened(&payload);
        list.push(match (b0, &payload[..]) {
            (0x81, _) => format!(">({shown})"),
            (0x82, _) => format!(">[{shown}]"),
            (0x89, _) => format!(">ping[{shown}]"),
            (0x8A, _) => format!(">pong[{shown}]"),
            (0x88, []) => ">close".to_owned(),
            (0x88, [a, b]) => format!(">close({})", u16::from_be_bytes([*a, *b])),
            (0x88, [a, b, reason @ ..]) => {
                format!(">close({} {})", u16::from_be_bytes([*a, *b]), str::from_utf8(reason).unwrap())
            }
            (b0, _) => format!(">{b0:02x}[{shown}]"),
        });
    }
    list.join(" ")
}

/// Holds a row against both sides: its frames, how input ends, and events, error and frames sent. What is to be done then
/// follows from it.
#[track_caller]
pub fn both(config: &Config, eof: Option<Eof>, section: &str, frames: &[Frame], expected: &str) {
    for side in SIDES {
        one(side, config, eof, section, frames, expected);
    }
}

/// The same, of one side.
#[track_caller]
pub fn one(side: Side, config: &Config, eof: Option<Eof>, section: &str, frames: &[Frame], expected: &str) {
    let input = wire(side, frames);
    let log = receive(side, config, Input::new(&input).ending(eof));
    let said = || expected.split(" >").next().unwrap().split(' ');
    let is_over = said().any(|word| word == "close" || word.starts_with("close("));
    let failed = said().any(|word| word.starts_with('!') && word[1..].starts_with(char::is_uppercase));
    let end = match (side, is_over) {
        _ if expected.contains("!UnexpectedEof") => "close",
        _ if failed => "linger",
        (Side::Server, true) => "linger",
        (Side::Client, true) if eof.is_some() => "close",
        _ => "read",
    };
    let expected = format!("{expected} {end}").trim_start().to_owned();
    assert_eq!(log, expected, "{section}, {side:?}: {}", input.escape_ascii());
}

/// Bytes as a log shows them.
pub fn shown(bytes: &[u8]) -> String {
    shortened(bytes)
}

/// What comes out of a machine by itself, in order: an error is the last.
pub fn events(machine: &mut Connection, rx: &mut RecvBuf, tx: &mut SendBuf) -> (String, Option<Error>) {
    let mut log = Log::default();
    loop {
        match machine.next_event(rx, tx) {
            Ok(Some(event)) => {
                let mut nothing = SendBuf::new();
                let mut other = connection(Side::Server, &Config::default());
                note(event, &mut other, &mut nothing, &mut log);
            }
            Ok(None) => return (log.into_text(), None),
            Err(error) => return (log.into_text(), Some(error)),
        }
    }
}

/// Everything in `tx`, taken out of it.
pub fn drain(tx: &mut SendBuf) -> Vec<u8> {
    let mut all = Vec::new();
    while !tx.is_empty() {
        let n = tx.pending().len();
        all.extend_from_slice(tx.pending());
        tx.consume(n);
    }
    all
}
