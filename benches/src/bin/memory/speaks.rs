//! What the clients ask in each protocol, and what they make of the answers.

use bytewise::{
    Machine, SendBuf,
    framing::{ByteOrder, Frame, Framed, LengthPrefix, Width},
    http1::{Client, ClientEvent},
    ws,
};
use bytewise_net::BoxError;

/// Big-endian lengths of four bytes, of messages of up to 16 MiB.
pub(crate) fn framing() -> LengthPrefix {
    LengthPrefix::new(Width::U32, ByteOrder::Big, 16 << 20)
}

/// What an event means to a client.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Heard<'b> {
    /// Bytes of the echo; whether they are the last.
    Echo(&'b [u8], bool),
    Other,
}

/// A client's machine.
pub(crate) trait Speaks: Machine + Sized {
    /// Puts the message into `tx`.
    fn ask(&mut self, message: &[u8], tx: &mut SendBuf) -> Result<(), BoxError>;

    fn hear<'e>(event: Self::Event<'e>) -> Heard<'e>;

    /// Whether the server asks for a sign of life.
    fn is_ping(_: &Self::Event<'_>) -> bool {
        false
    }

    /// Frees what it does not need while it is quiet: it is the server that is measured.
    fn rest(&mut self) {}
}

impl Speaks for Framed<LengthPrefix> {
    fn ask(&mut self, message: &[u8], tx: &mut SendBuf) -> Result<(), BoxError> {
        Ok(self.send(message, tx)?)
    }

    fn hear<'e>(event: Self::Event<'e>) -> Heard<'e> {
        match event {
            Frame::Data(data) => Heard::Echo(data, true),
            _ => Heard::Other,
        }
    }
}

impl Speaks for Client {
    fn ask(&mut self, message: &[u8], tx: &mut SendBuf) -> Result<(), BoxError> {
        Ok(self.request("POST", "/echo", [("host", "localhost")], message, tx)?)
    }

    fn hear<'e>(event: Self::Event<'e>) -> Heard<'e> {
        match event {
            ClientEvent::Data(data) => Heard::Echo(data, false),
            ClientEvent::End(_) => Heard::Echo(&[], true),
            _ => Heard::Other,
        }
    }
}

impl Speaks for ws::Connection {
    fn ask(&mut self, message: &[u8], tx: &mut SendBuf) -> Result<(), BoxError> {
        Ok(self.send_binary(message, tx)?)
    }

    fn hear<'e>(event: Self::Event<'e>) -> Heard<'e> {
        match event {
            ws::Event::Binary(data) => Heard::Echo(data, true),
            _ => Heard::Other,
        }
    }

    fn is_ping(event: &Self::Event<'_>) -> bool {
        matches!(event, ws::Event::Ping(_))
    }

    fn rest(&mut self) {
        self.release_memory();
    }
}
