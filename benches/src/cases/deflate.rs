//! WebSocket messages under permessage-deflate, with what it agrees on by default: windows that outlast a message.

use super::{Candidate, framed::BATCH, http::write, ws::config};
use bytewise::{
    Machine, RecvBuf, SendBuf,
    ws::{Config, Connection, Deflate, Event, MaskKeys, handshake::Negotiated},
};
use std::{fmt::Write, hint::black_box};

/// Messages of a pass.
const MESSAGES: u32 = 16 * BATCH as u32;

/// Bytes that are received at once.
const BLOCK: usize = 65_536;

const OPEN: &str = "the connection is open";

/// A server and its client.
fn ends() -> (Connection, Connection) {
    let config = deflating();
    let chosen = Negotiated::choose(b"permessage-deflate", &config);
    let answer = chosen.extensions().expect("it is spoken").to_owned();
    let confirmed = Negotiated::confirm(answer.as_bytes(), &config).expect("it was offered");
    (Connection::server(&config, chosen), Connection::client(&config, confirmed, MaskKeys::from_seed([7; 32])))
}

fn deflating() -> Config {
    config().with_deflate(Deflate::default())
}

/// Messages of so many bytes, none like the other, as a program sends them.
#[must_use]
pub fn records(length: usize) -> Vec<String> {
    let mut state = 1_u32;
    let mut next = || {
        state = state.wrapping_mul(0x0019_660D).wrapping_add(0x3C6E_F35F);
        state >> 16
    };
    let record = |number| {
        let mut record = format!(r#"{{"record":{number},"readings":["#);
        while record.len() < length {
            let (sensor, value) = (next() % 100, next());
            let _ = write!(record, r#"{{"sensor":"s-{sensor:02}","celsius":{}.{:02}}},"#, value % 40, value % 97);
        }
        record.truncate(length);
        record
    };
    (0..MESSAGES).map(record).collect()
}

/// A server sends them.
#[must_use]
pub fn deflate(records: &[String]) -> Candidate<'_> {
    let (mut server, mut tx) = (ends().0, SendBuf::new());
    let pass = move || {
        for batch in records.chunks(BATCH) {
            for record in batch {
                server.send_text(black_box(record.as_str()), &mut tx).expect(OPEN);
            }
            write(&mut tx);
        }
        records.len() as u64
    };
    Candidate::new("bytewise", pass)
}

/// A server receives them. The same bytes can come again: what they refer to in the window is in their own pass.
#[must_use]
pub fn inflate(records: &[String]) -> Candidate<'static> {
    let (mut server, mut client) = ends();
    let mut sent = SendBuf::new();
    for record in records {
        client.send_text(record.as_str(), &mut sent).expect(OPEN);
    }
    let wire: Vec<u8> = sent.chunks().flatten().copied().collect();
    let (mut rx, mut tx) = (RecvBuf::new(), SendBuf::new());
    let pass = move || {
        let mut messages = 0;
        for block in wire.chunks(BLOCK) {
            rx.push(block);
            while let Some(event) = server.next_event(&mut rx, &mut tx).expect("messages are as they were sent") {
                if let Event::Text(text) = event {
                    black_box(text);
                    messages += 1;
                }
            }
        }
        messages
    };
    Candidate::new("bytewise", pass)
}
