//! tungstenite, in memory.

use crate::{Heard, Said, Side, Verdict};
use std::io::{self, Cursor, Read, Write};
use tungstenite::{
    Error, Message,
    protocol::{Role, WebSocket, WebSocketConfig},
};

/// A socket of which nothing more can be read for now.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    pub(crate) input: Cursor<Vec<u8>>,
    pub(crate) output: Vec<u8>,
}

impl Read for Memory {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self.input.read(into)? {
            0 => Err(io::ErrorKind::WouldBlock.into()),
            n => Ok(n),
        }
    }
}

impl Write for Memory {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.output.write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

pub(crate) fn socket(side: Side, input: Vec<u8>, max: usize) -> WebSocket<Memory> {
    let role = match side {
        Side::Server => Role::Server,
        Side::Client => Role::Client,
    };
    let config = WebSocketConfig::default().max_message_size(Some(max)).max_frame_size(Some(max));
    WebSocket::from_raw_socket(Memory { input: Cursor::new(input), output: Vec::new() }, role, Some(config))
}

/// What it makes of the input.
pub(crate) fn hear(side: Side, input: &[u8], max: usize) -> Heard {
    let mut socket = socket(side, input.to_vec(), max);
    let mut events = Vec::new();
    let verdict = loop {
        match socket.read() {
            Ok(Message::Text(text)) => events.push(Said::Text(text.as_str().to_owned())),
            Ok(Message::Binary(data)) => events.push(Said::Binary(data.to_vec())),
            Ok(Message::Ping(data)) => events.push(Said::Ping(data.to_vec())),
            Ok(Message::Pong(data)) => events.push(Said::Pong(data.to_vec())),
            Ok(Message::Close(frame)) => {
                break Verdict::Closed(frame.map(|frame| (frame.code.into(), frame.reason.as_str().to_owned())));
            }
            Ok(Message::Frame(_)) => unreachable!(),
            Err(Error::Io(error)) if error.kind() == io::ErrorKind::WouldBlock => break Verdict::Open,
            Err(_) => break Verdict::Refused,
        }
    };
    Heard { events, verdict }
}

/// What it puts on the wire for these.
pub(crate) fn say(side: Side, all: &[Said]) -> Vec<u8> {
    let mut socket = socket(side, Vec::new(), usize::MAX);
    for said in all {
        let message = match said.clone() {
            Said::Text(text) => Message::text(text),
            Said::Binary(data) => Message::binary(data),
            Said::Ping(data) => Message::Ping(data.into()),
            Said::Pong(data) => Message::Pong(data.into()),
        };
        // A pong waits for the next flush, and only the newest does.
        socket.send(message).unwrap();
        socket.flush().unwrap();
    }
    std::mem::take(&mut socket.get_mut().output)
}
