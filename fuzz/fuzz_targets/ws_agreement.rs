//! The input is what a peer sends, to a server or a client. Held: `tungstenite` makes the same of it, or there is a reason.
#![no_main]

use bytewise::{
    Machine, RecvBuf, SendBuf,
    ws::{Config, Error, Event},
};
use bytewise_fuzz::ws::{Side, connection};
use libfuzzer_sys::fuzz_target;
use std::io::{self, Read, Write};
use tungstenite::{
    Message,
    protocol::{Role, WebSocket, WebSocketConfig},
};

const MAX: usize = 60_000;

fuzz_target!(|input: &[u8]| {
    let Some((who, wire)) = input.split_first() else { return };
    let side = if who % 2 == 0 { Side::Server } else { Side::Client };
    let (ours, error) = ours(side, wire);
    let theirs = theirs(side, wire);
    assert!(
        explained(wire, &ours, error, &theirs),
        "{side:?} {}\n ours   {ours:?} {error:?}\n theirs {theirs:?}",
        wire.escape_ascii()
    );
});

#[derive(Debug, PartialEq)]
struct Heard {
    events: Vec<String>,
    verdict: Verdict,
}

#[derive(Debug, PartialEq)]
enum Verdict {
    Open,
    Closed(Option<(u16, String)>),
    Refused,
}

fn ours(side: Side, wire: &[u8]) -> (Heard, Option<Error>) {
    let (mut rx, mut tx) = (RecvBuf::new(), SendBuf::new());
    let mut ws = connection(side, &Config::default().with_max_message(MAX).with_max_fragments(u32::MAX));
    let mut events = Vec::new();
    rx.push(wire);
    loop {
        match ws.next_event(&mut rx, &mut tx) {
            Ok(None) => return (Heard { events, verdict: Verdict::Open }, None),
            Ok(Some(Event::Text(text))) => events.push(format!("text {text}")),
            Ok(Some(Event::Binary(data))) => events.push(format!("binary {data:?}")),
            Ok(Some(Event::Ping(data))) => events.push(format!("ping {data:?}")),
            Ok(Some(Event::Pong(data))) => events.push(format!("pong {data:?}")),
            Ok(Some(Event::Close(frame))) => {
                let frame = frame.map(|frame| (frame.code.get(), frame.reason.to_owned()));
                return (Heard { events, verdict: Verdict::Closed(frame) }, None);
            }
            Ok(Some(other)) => unreachable!("{other:?}"),
            Err(error) => return (Heard { events, verdict: Verdict::Refused }, Some(error)),
        }
    }
}

struct Memory<'w>(&'w [u8]);

impl Read for Memory<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self.0.read(into)? {
            0 => Err(io::ErrorKind::WouldBlock.into()),
            n => Ok(n),
        }
    }
}

impl Write for Memory<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn theirs(side: Side, wire: &[u8]) -> Heard {
    let role = if side == Side::Server { Role::Server } else { Role::Client };
    let config =
        WebSocketConfig::default().max_message_size(Some(MAX)).max_frame_size(Some(MAX)).read_buffer_size(4096);
    let mut socket = WebSocket::from_raw_socket(Memory(wire), role, Some(config));
    let mut events = Vec::new();
    let verdict = loop {
        match socket.read() {
            Ok(Message::Text(text)) => events.push(format!("text {text}")),
            Ok(Message::Binary(data)) => events.push(format!("binary {:?}", &data[..])),
            Ok(Message::Ping(data)) => events.push(format!("ping {:?}", &data[..])),
            Ok(Message::Pong(data)) => events.push(format!("pong {:?}", &data[..])),
            Ok(Message::Close(frame)) => {
                break Verdict::Closed(frame.map(|frame| (frame.code.into(), frame.reason.as_str().to_owned())));
            }
            Ok(Message::Frame(_)) => unreachable!(),
            Err(tungstenite::Error::Io(error)) if error.kind() == io::ErrorKind::WouldBlock => break Verdict::Open,
            Err(_) => break Verdict::Refused,
        }
    };
    Heard { events, verdict }
}

/// Whether the two say the same, or it is known why not.
fn explained(wire: &[u8], ours: &Heard, error: Option<Error>, theirs: &Heard) -> bool {
    if ours == theirs {
        return true;
    }
    let same_events = ours.events == theirs.events;
    // Registered after the RFC, and not known to it.
    if let (Verdict::Closed(Some((1014, _))), Verdict::Closed(Some((1002, _)))) = (&ours.verdict, &theirs.verdict) {
        return same_events;
    }
    match (error, &theirs.verdict) {
        // Lengths that are not in their shortest form are taken by tungstenite (RFC 6455, section 5.2: "MUST"). For a control
        // frame that is one that is too long.
        (Some(Error::Length | Error::ControlFrame), _) => theirs.events.starts_with(&ours.events),
        // A code that must not be sent is replied to with 1002, but shown as a close frame.
        (Some(Error::CloseFrame), Verdict::Closed(_)) => same_events,
        // It judges frames that are there as a whole; we, every byte as it comes.
        (Some(_), Verdict::Open) => same_events && !ends_between_frames(wire),
        _ => false,
    }
}

/// Walks over the frames without judging them.
fn ends_between_frames(mut wire: &[u8]) -> bool {
    while let [_, b1, rest @ ..] = wire {
        let size = match b1 & 0x7F {
            126 => 2,
            127 => 8,
            _ => 0,
        };
        let mask = if b1 & 0x80 != 0 { 4 } else { 0 };
        let Some((length, rest)) = rest.split_at_checked(size) else { return false };
        let len = match size {
            0 => u64::from(b1 & 0x7F),
            _ => length.iter().fold(0, |len, byte| len << 8 | u64::from(*byte)),
        };
        let Some(total) = usize::try_from(len).ok().and_then(|len| len.checked_add(mask)) else { return false };
        let Some(rest) = rest.get(total..) else { return false };
        wire = rest;
    }
    wire.is_empty()
}
