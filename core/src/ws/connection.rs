use super::{
    CloseCode, Config, Delivery, Error, Event, Kind, MaskKeys,
    compression::Compression,
    handshake::Negotiated,
    mask::apply_mask,
    receive::{Incoming, Payload, Step, Whole},
    send::Outgoing,
    utf8::Utf8Cut,
};
use crate::{Machine, NextIo, Phase, RecvBuf, SendBuf};
use alloc::boxed::Box;

/// An open WebSocket, either side. The `send` methods may be called between events, whatever is being received.
///
/// ```text
///              ┌──────────── frames ───────────┐
///   header ──▶ payload ──▶ event ──▶ header … ─┘      close received, replied to ──▶ Linger (server), or
///     │           │                                   the server's end awaited (client)
///     └───────────┴── what breaks the protocol ──▶ close frame with its code, Linger
/// ```
///
/// A message that lies whole in one frame is unmasked and lent where it was received; fragments and compressed messages are
/// assembled in the scratch area of the receive buffer. Pings are answered, and the close handshake is done, by itself.
///
/// ```
/// use bytewise::{Machine, RecvBuf, SendBuf};
/// use bytewise::ws::{Config, Connection, Event, handshake::Negotiated};
///
/// let (mut rx, mut tx) = (RecvBuf::new(), SendBuf::new());
/// let mut ws = Connection::server(&Config::default(), Negotiated::default());
/// rx.push(b"\x81\x85\x37\xFA\x21\x3D\x7F\x9F\x4D\x51\x58"); // RFC 6455, section 5.7
/// while let Some(event) = ws.next_event(&mut rx, &mut tx)? {
///     if let Event::Text(text) = event {
///         assert_eq!(text, "Hello");
///         ws.send_text(text, &mut tx)?; // `text` still borrows `rx`
///     }
/// }
/// assert_eq!(tx.pending(), b"\x81\x05Hello");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Connection {
    pub(super) state: State,
    pub(super) role: Role,
    /// Nothing can be done before so many bytes are there: spares the work per byte of tiny blocks.
    pub(super) need: usize,
    pub(super) max_message: usize,
    pub(super) max_fragments: u32,
    pub(super) delivery: Delivery,
    manual_pong: bool,
    /// A close frame was sent: nothing else will be.
    pub(super) close_sent: bool,
    /// The next message goes out as it is.
    pub(super) plain_next: bool,
    /// The message whose frames are coming.
    pub(super) incoming: Option<Incoming>,
    /// Bytes of it in the scratch area, if it is not compressed.
    pub(super) assembled: usize,
    /// Prefix of the scratch area known to be UTF-8.
    pub(super) scratch_valid: usize,
    /// The end of a text that is handed over in pieces.
    pub(super) text_cut: Utf8Cut,
    pub(super) outgoing: Option<Outgoing>,
    pub(super) compression: Compression,
    /// The newest ping that waits for its pong, while much waits in `tx`.
    owed: Option<Box<Owed>>,
    negotiated: Negotiated,
    pub(super) events: u32,
}

/// A pong to be written when there is room.
#[derive(Debug)]
struct Owed {
    payload: [u8; 125],
    len: u8,
}

/// Where in the input it is.
#[derive(Debug, Clone, Copy)]
pub(super) enum State {
    /// The next byte begins a frame, and whole messages can be lent in place.
    Between,
    /// The next byte begins a frame, inside a fragmented message or where messages are handed over in pieces.
    Header,
    /// The header is consumed.
    Payload(Payload),
    /// Found by `poll`, not yet lent out by `next_event`.
    Ready(Step),
    /// The assembled message was lent out; the next call forgets it.
    Lent,
    /// A piece was lent out; the next call forgets it, and goes on, or says what is wrong behind it.
    LentPiece(Result<Payload, Error>),
    /// Both sides have closed; the server ends the connection.
    AwaitsEnd,
    Finished,
    Failed(Error),
}

/// Which side it is. A client has to mask.
#[derive(Debug)]
pub(super) enum Role {
    Server,
    Client(MaskKeys),
}

impl Role {
    #[inline]
    pub(super) const fn is_server(&self) -> bool {
        matches!(self, Self::Server)
    }
}

impl Machine for Connection {
    type Event<'b> = Event<'b>;
    type Error = Error;

    #[inline(always)]
    fn poll(&mut self, rx: &mut RecvBuf, tx: &mut SendBuf) -> Result<bool, Error> {
        if self.owed.is_some() {
            self.pay(tx);
        }
        if self.whole_message(rx).is_some() {
            return Ok(true);
        }
        if rx.unread().len() < self.need && rx.eof().is_none() {
            return Ok(false);
        }
        self.find(rx, tx)
    }

    #[inline(always)]
    fn next_event<'b>(&mut self, rx: &'b mut RecvBuf, tx: &mut SendBuf) -> Result<Option<Event<'b>>, Error> {
        if self.owed.is_some() {
            self.pay(tx);
        }
        if let Some(Whole { kind, mask, header, len }) = self.whole_message(rx) {
            self.need = 0;
            self.events = self.events.wrapping_add(1);
            let payload = rx.take_range(header..header + len, header + len);
            if self.role.is_server() {
                apply_mask(payload, mask, 0);
            }
            return match kind {
                Kind::Binary => Ok(Some(Event::Binary(payload))),
                Kind::Text => match simdutf8::basic::from_utf8(payload) {
                    Ok(text) => Ok(Some(Event::Text(text))),
                    Err(_) => Err(self.fail(Error::Utf8, tx)),
                },
            };
        }
        if rx.unread().len() < self.need && rx.eof().is_none() {
            return Ok(None);
        }
        self.find(rx, tx)?;
        let State::Ready(step) = self.state else { return Ok(None) };
        Ok(Some(self.resolve(step, rx, tx)))
    }

    /// Says that it goes away, 1001, or as a client that it is done, 1000; goes on until the peer's close frame.
    fn shut_down(&mut self, tx: &mut SendBuf) {
        self.end(if self.is_server() { CloseCode::GOING_AWAY } else { CloseCode::NORMAL }, tx);
    }

    /// Says 1001, and waits for no more.
    fn time_out(&mut self, tx: &mut SendBuf) {
        self.end(CloseCode::GOING_AWAY, tx);
        if !matches!(self.state, State::Failed(_)) {
            self.state = State::Finished;
        }
    }

    /// Sends a ping, which is empty, unless much waits to be written. What is quiet gives back the memory of its compression, as by
    /// `release_memory`.
    fn keep_alive(&mut self, tx: &mut SendBuf) {
        self.release();
        if self.is_alive() && !self.close_sent && tx.queued() < Self::REPLY_MARK {
            self.put_control(0x89, &[], tx);
        }
    }

    #[inline]
    fn inflated(&self) -> u64 {
        self.compression.inflated()
    }

    /// A server does; a client is bounded by what it asks.
    #[inline]
    fn answers(&self) -> bool {
        self.is_server()
    }

    fn next_io(&self) -> NextIo {
        match self.state {
            State::Finished if self.role.is_server() => NextIo::Linger,
            State::Finished | State::Failed(Error::UnexpectedEof { .. }) => NextIo::Close,
            State::Failed(_) => NextIo::Linger,
            _ => NextIo::Read,
        }
    }

    fn phase(&self) -> (Phase, u32) {
        let phase = match self.state {
            State::AwaitsEnd | State::Finished | State::Failed(_) => Phase::Closing,
            _ if self.close_sent => Phase::Closing,
            // With nothing of a frame there, one byte is what it needs.
            State::Between if self.need <= 1 => Phase::Idle,
            State::Header if self.need <= 1 && self.incoming.is_none() => Phase::Idle,
            _ => Phase::Body,
        };
        (phase, self.events)
    }
}

impl Connection {
    /// Pongs are written at once while `tx` queues less; above it only the newest is kept, for the poll that finds room.
    pub const REPLY_MARK: usize = 16 * 1024;

    /// Server side, after a handshake of [`handshake`](super::handshake)'s or another library's.
    pub fn server(config: &Config, negotiated: Negotiated) -> Self {
        Self::new(config, negotiated, Role::Server)
    }

    /// Client side.
    pub fn client(config: &Config, negotiated: Negotiated, masks: MaskKeys) -> Self {
        Self::new(config, negotiated, Role::Client(masks))
    }

    fn new(config: &Config, negotiated: Negotiated, role: Role) -> Self {
        let mut this = Self {
            state: State::Between,
            need: 0,
            max_message: config.max_message,
            max_fragments: config.max_fragments,
            delivery: config.delivery,
            manual_pong: config.manual_pong,
            close_sent: false,
            plain_next: false,
            incoming: None,
            assembled: 0,
            scratch_valid: 0,
            text_cut: Utf8Cut::default(),
            outgoing: None,
            compression: Compression::new(config, &negotiated, role.is_server()),
            owed: None,
            role,
            negotiated,
            events: 0,
        };
        this.state = this.between();
        this
    }

    /// What the handshake agreed on: subprotocol and extensions.
    pub const fn negotiated(&self) -> &Negotiated {
        &self.negotiated
    }

    /// Whether a close frame was sent, by [`close`](Self::close), in reply, or with an error: nothing can be sent any more.
    pub const fn is_closing(&self) -> bool {
        self.close_sent
    }

    /// Gives back the memory of the compression between messages, for a connection that is quiet. What can be inflated only with
    /// the messages before keeps its window; ours begin anew.
    #[cfg(feature = "deflate")]
    pub fn release_memory(&mut self) {
        self.release();
    }

    fn release(&mut self) {
        if self.outgoing.is_none() && self.incoming.is_none() {
            self.compression.release();
        }
    }

    #[inline]
    pub(super) const fn is_server(&self) -> bool {
        self.role.is_server()
    }

    /// Whether events can still come.
    pub(super) const fn is_alive(&self) -> bool {
        !matches!(self.state, State::AwaitsEnd | State::Finished | State::Failed(_))
    }

    /// Answers a ping at once, or when there is room for it (RFC 6455, section 5.5.3: the newest is enough).
    pub(super) fn answer_ping(&mut self, payload: &[u8], tx: &mut SendBuf) {
        if self.manual_pong || self.close_sent {
            return;
        }
        if tx.queued() < Self::REPLY_MARK {
            // One that was owed is older.
            self.owed = None;
            return self.put_control(0x8A, payload, tx);
        }
        let owed = self.owed.get_or_insert_with(|| Box::new(Owed { payload: [0; 125], len: 0 }));
        owed.payload[..payload.len()].copy_from_slice(payload);
        owed.len = payload.len() as u8;
    }

    /// Writes the pong that is owed if there is room now.
    #[cold]
    fn pay(&mut self, tx: &mut SendBuf) {
        if self.close_sent {
            self.owed = None;
        } else if tx.queued() < Self::REPLY_MARK
            && let Some(owed) = self.owed.take()
        {
            self.put_control(0x8A, &owed.payload[..usize::from(owed.len)], tx);
        }
    }

    /// The peer's close frame came: replies with its code, unless ours was first (RFC 6455, section 5.5.1).
    pub(super) fn answer_close(&mut self, frame: Option<super::CloseFrame<'_>>, tx: &mut SendBuf) {
        if !self.close_sent {
            self.put_close(frame.map(|frame| frame.code), "", tx);
        }
        // The server ends the connection first (RFC 6455, section 7.1.1).
        self.state = if self.is_server() { State::Finished } else { State::AwaitsEnd };
    }

    /// Says why it ends, if it has not.
    fn end(&mut self, code: CloseCode, tx: &mut SendBuf) {
        if self.is_alive() && !self.close_sent {
            self.put_close(Some(code), "", tx);
        }
    }

    /// Remembers the error, and answers it the first time.
    #[cold]
    pub(super) fn fail(&mut self, error: Error, tx: &mut SendBuf) -> Error {
        if !matches!(self.state, State::Failed(_)) {
            self.state = State::Failed(error);
            self.need = 0;
            if let Some(code) = error.close_code()
                && !self.close_sent
            {
                self.put_close(Some(code), "", tx);
            }
            self.close_sent = true;
        }
        error
    }
}
