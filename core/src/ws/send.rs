//! What is sent.

use super::{
    CloseCode, CloseFrame, Connection, Kind, Misuse, Prepared,
    connection::Role,
    frame::{HeaderBytes, MAX_CONTROL},
    mask::copy_masked,
    utf8::Utf8Cut,
};
use crate::{Payload, SendBuf};

/// A message that is sent in pieces.
#[derive(Debug, Clone, Copy)]
pub(super) struct Outgoing {
    kind: Kind,
    compressed: bool,
    /// A frame of it was sent.
    begun: bool,
    cut: Utf8Cut,
}

/// The last frame of its message.
const FIN: u8 = 0x80;
/// The first frame of a compressed one.
const RSV1: u8 = 0x40;

const fn opcode(kind: Kind) -> u8 {
    match kind {
        Kind::Text => 1,
        Kind::Binary => 2,
    }
}

/// Whether it can be sent as text: what came as a `str` can.
#[inline]
pub(super) fn is_text(payload: &Payload<'_>) -> bool {
    payload.is_text() || simdutf8::basic::from_utf8(payload.as_bytes()).is_ok()
}

impl Connection {
    // Messages.

    /// Sends a text message.
    ///
    /// # Errors
    ///
    /// [`Misuse::Closed`], [`Misuse::MessageOpen`]; [`Misuse::NotUtf8`] for bytes that are not.
    #[inline]
    pub fn send_text<'a>(&mut self, text: impl Into<Payload<'a>>, tx: &mut SendBuf) -> Result<(), Misuse> {
        let text = text.into();
        self.check_between()?;
        if !is_text(&text) {
            return Err(Misuse::NotUtf8);
        }
        self.put_message(Kind::Text, text, tx);
        Ok(())
    }

    /// Sends a binary message.
    ///
    /// # Errors
    ///
    /// [`Misuse::Closed`], [`Misuse::MessageOpen`].
    #[inline]
    pub fn send_binary<'a>(&mut self, data: impl Into<Payload<'a>>, tx: &mut SendBuf) -> Result<(), Misuse> {
        self.check_between()?;
        self.put_message(Kind::Binary, data.into(), tx);
        Ok(())
    }

    /// Sends a message encoded before; a client masks a copy. It goes out compressed if it was prepared so and that was
    /// agreed on.
    ///
    /// # Errors
    ///
    /// [`Misuse::Closed`], [`Misuse::MessageOpen`].
    pub fn send_prepared(&mut self, message: &Prepared, tx: &mut SendBuf) -> Result<(), Misuse> {
        self.check_between()?;
        let plain = core::mem::take(&mut self.plain_next);
        let encoded = match message.compressed_for(&self.compression) {
            Some(compressed) if !plain => {
                // What it was compressed with is no context of this connection.
                self.compression.forget_sent();
                compressed
            }
            _ => message.plain(),
        };
        match self.role {
            Role::Server => tx.put(encoded.bytes.clone()),
            Role::Client(_) => {
                let (header, payload) = encoded.bytes.split_at(encoded.header);
                self.put_frame(header[0], Payload::from(payload), tx);
            }
        }
        Ok(())
    }

    /// Sends a binary or text message of `len` bytes that the caller writes itself when [`SendBuf::external`] says so. Text is
    /// not checked, and nothing is compressed.
    ///
    /// # Errors
    ///
    /// [`Misuse::Closed`], [`Misuse::MessageOpen`]; [`Misuse::Role`] for a client, which would have to mask it.
    pub fn announce(&mut self, kind: Kind, len: u64, tx: &mut SendBuf) -> Result<(), Misuse> {
        self.check_between()?;
        if !self.is_server() {
            return Err(Misuse::Role);
        }
        self.plain_next = false;
        tx.put_parts([&HeaderBytes::new(FIN | opcode(kind), len)[..]]);
        tx.put_external(len);
        Ok(())
    }

    /// The next message goes out uncompressed: a secret beside text that an attacker chooses, or data that is compressed.
    pub const fn uncompressed(&mut self) -> &mut Self {
        self.plain_next = true;
        self
    }

    // A message in pieces; control frames may go between them.

    /// Begins a message.
    ///
    /// # Errors
    ///
    /// [`Misuse::Closed`], [`Misuse::MessageOpen`].
    pub fn begin(&mut self, kind: Kind) -> Result<(), Misuse> {
        self.check_between()?;
        let compressed = !core::mem::take(&mut self.plain_next) && self.compression.is_on();
        self.outgoing = Some(Outgoing { kind, compressed, begun: false, cut: Utf8Cut::default() });
        Ok(())
    }

    /// Sends a piece of it; in text, a code point may go on in the next.
    ///
    /// # Errors
    ///
    /// [`Misuse::Closed`], [`Misuse::NoMessage`], [`Misuse::NotUtf8`].
    pub fn chunk<'a>(&mut self, data: impl Into<Payload<'a>>, tx: &mut SendBuf) -> Result<(), Misuse> {
        let data = data.into();
        let mut message = self.message_open()?;
        if message.kind == Kind::Text {
            message.cut = message.cut.then(data.as_bytes()).map_err(|_| Misuse::NotUtf8)?;
        }
        if message.compressed {
            self.compression.compress_piece(data.as_bytes());
            self.put_compressed_piece(&mut message, 0, tx);
        } else if !data.is_empty() {
            self.put_frame(first_byte(&mut message, 0), data, tx);
        }
        self.outgoing = Some(message);
        Ok(())
    }

    /// Ends it.
    ///
    /// # Errors
    ///
    /// [`Misuse::Closed`], [`Misuse::NoMessage`]; [`Misuse::NotUtf8`] if text ends inside a code point.
    pub fn finish(&mut self, tx: &mut SendBuf) -> Result<(), Misuse> {
        let mut message = self.message_open()?;
        if !message.cut.is_complete() {
            return Err(Misuse::NotUtf8);
        }
        if message.compressed {
            self.compression.finish_compressing();
            self.put_compressed_piece(&mut message, FIN, tx);
        } else {
            self.put_frame(first_byte(&mut message, FIN), Payload::from(&[]), tx);
        }
        self.outgoing = None;
        Ok(())
    }

    // Control frames.

    /// Sends a ping of at most 125 bytes.
    ///
    /// # Errors
    ///
    /// [`Misuse::Closed`], [`Misuse::TooLong`].
    pub fn ping(&mut self, payload: &[u8], tx: &mut SendBuf) -> Result<(), Misuse> {
        self.control(0x89, payload, tx)
    }

    /// Sends a pong of at most 125 bytes, unasked or with [`Config::with_manual_pong`](super::Config::with_manual_pong).
    ///
    /// # Errors
    ///
    /// [`Misuse::Closed`], [`Misuse::TooLong`].
    pub fn pong(&mut self, payload: &[u8], tx: &mut SendBuf) -> Result<(), Misuse> {
        self.control(0x8A, payload, tx)
    }

    /// Starts the closing handshake; events go on until the peer's close frame. A message that is begun is given up.
    ///
    /// # Errors
    ///
    /// [`Misuse::Closed`]; [`Misuse::TooLong`] for a reason above 123 bytes.
    pub fn close(&mut self, frame: Option<CloseFrame<'_>>, tx: &mut SendBuf) -> Result<(), Misuse> {
        self.check_open()?;
        let reason = frame.map_or("", |frame| frame.reason);
        if reason.len() > MAX_CONTROL - 2 {
            return Err(Misuse::TooLong);
        }
        self.put_close(frame.map(|frame| frame.code), reason, tx);
        Ok(())
    }

    // Inside.

    #[inline]
    fn check_open(&self) -> Result<(), Misuse> {
        if self.close_sent { Err(Misuse::Closed) } else { Ok(()) }
    }

    #[inline]
    fn check_between(&self) -> Result<(), Misuse> {
        self.check_open()?;
        if self.outgoing.is_some() { Err(Misuse::MessageOpen) } else { Ok(()) }
    }

    fn message_open(&self) -> Result<Outgoing, Misuse> {
        self.check_open()?;
        self.outgoing.ok_or(Misuse::NoMessage)
    }

    fn control(&mut self, b0: u8, payload: &[u8], tx: &mut SendBuf) -> Result<(), Misuse> {
        self.check_open()?;
        if payload.len() > MAX_CONTROL {
            return Err(Misuse::TooLong);
        }
        self.put_control(b0, payload, tx);
        Ok(())
    }

    pub(super) fn put_control(&mut self, b0: u8, payload: &[u8], tx: &mut SendBuf) {
        self.put_frame(b0, Payload::from(payload), tx);
    }

    pub(super) fn put_close(&mut self, code: Option<CloseCode>, reason: &str, tx: &mut SendBuf) {
        let mut payload = [0; MAX_CONTROL];
        let len = match code {
            None => 0,
            Some(code) => {
                payload[..2].copy_from_slice(&code.get().to_be_bytes());
                payload[2..2 + reason.len()].copy_from_slice(reason.as_bytes());
                2 + reason.len()
            }
        };
        self.put_control(0x88, &payload[..len], tx);
        self.close_sent = true;
        self.outgoing = None;
    }

    #[inline(always)]
    fn put_message(&mut self, kind: Kind, payload: Payload<'_>, tx: &mut SendBuf) {
        let b0 = FIN | opcode(kind);
        if self.compression.is_on() {
            return self.put_message_compressed(b0, payload, tx);
        }
        self.plain_next = false;
        self.put_frame_inline(b0, payload, tx);
    }

    #[inline(never)]
    fn put_message_compressed(&mut self, b0: u8, payload: Payload<'_>, tx: &mut SendBuf) {
        let plain = core::mem::take(&mut self.plain_next);
        if plain || !self.compression.compress(payload.as_bytes()) {
            return self.put_frame(b0, payload, tx);
        }
        let compressed = self.compression.take_compressed();
        self.put_frame(b0 | RSV1, Payload::from(&compressed), tx);
        self.compression.give_back(compressed);
    }

    fn put_compressed_piece(&mut self, message: &mut Outgoing, fin: u8, tx: &mut SendBuf) {
        let compressed = self.compression.take_compressed();
        if fin != 0 || !compressed.is_empty() {
            self.put_frame(first_byte(message, fin), Payload::from(&compressed), tx);
        }
        self.compression.give_back(compressed);
    }

    #[inline(never)]
    fn put_frame(&mut self, b0: u8, payload: Payload<'_>, tx: &mut SendBuf) {
        self.put_frame_inline(b0, payload, tx);
    }

    /// Appends a frame, masked by a client. In line where messages are sent: a call, and the payload in memory for it, would take
    /// longer than to write a short one.
    #[inline(always)]
    fn put_frame_inline(&mut self, b0: u8, payload: Payload<'_>, tx: &mut SendBuf) {
        let len = payload.len();
        let [high, low] = (len as u16).to_be_bytes();
        match &mut self.role {
            Role::Server => {
                let (header, size) = match len {
                    0..126 => ([b0, low, 0, 0, 0, 0, 0, 0], 2),
                    126..65536 => ([b0, 126, high, low, 0, 0, 0, 0], 4),
                    _ => return tx.put_unit(&HeaderBytes::new(b0, len as u64), payload),
                };
                tx.put_prefixed(header, size, payload);
            }
            Role::Client(masks) => {
                let mask = masks.next();
                let [a, b, c, d] = mask;
                let (header, size) = match len {
                    0..126 => ([b0, 0x80 | low, a, b, c, d, 0, 0], 6),
                    126..65536 => ([b0, 0xFE, high, low, a, b, c, d], 8),
                    _ => {
                        let mut header = HeaderBytes::new(b0, len as u64);
                        header.put_mask(mask);
                        tx.put_parts([&header[..]]);
                        ([0; 8], 0)
                    }
                };
                tx.put_written(header, size, len, |to| copy_masked(to, payload.as_bytes(), mask));
            }
        }
    }
}

/// The first byte of the next frame of a message.
fn first_byte(message: &mut Outgoing, fin: u8) -> u8 {
    if core::mem::replace(&mut message.begun, true) {
        return fin;
    }
    fin | opcode(message.kind) | if message.compressed { RSV1 } else { 0 }
}
