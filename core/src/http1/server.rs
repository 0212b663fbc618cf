mod receive;

use super::{
    BodyLength, Config, Error, Fields, Misuse, RequestHead, Version,
    clock::Clock,
    encode::{Framing, Outgoing, atomically, connection, put_end_of_head, put_fields, put_no_end, put_status_line},
};
use crate::{Machine, NextIo, Payload, Phase, RecvBuf, SendBuf};
use receive::{Method, Receiving, Request, Step};

/// Something the client sent.
#[derive(Debug)]
#[non_exhaustive]
pub enum ServerEvent<'b> {
    /// A request begins.
    Request(RequestHead<'b>),
    /// A piece of its body; never empty.
    Data(&'b [u8]),
    /// It is complete; the fields are trailers.
    End(Fields<'b>),
}

/// Server side of a connection.
///
/// One cycle of it; the next request waits in `rx` until both sides of this one are complete, so that responses go out in
/// the order of requests:
///
/// ```text
///               Request            Data*              End
///   Head ───────────────▶ Body ───────────────▶ … ───────────▶ Complete ──┐
///    ▲                                                                    ├─ keep-alive ─▶ Head
///    │          Due ── send_response ─▶ Body ── send_end ─▶ Done ─────────┘
///    └── 400 and Linger on every violation             close ─▶ Linger
/// ```
///
/// The application may answer at any time after [`ServerEvent::Request`], before the body too. While the request is complete
/// and its response is not, [`next_io`](Machine::next_io) is [`NextIo::Paused`].
///
/// [`shut_down`](Machine::shut_down) closes after the current response, whose head says so unless it is sent.
/// [`time_out`](Machine::time_out) answers `408` to a request that has begun, if no response has.
///
/// ```
/// use bytewise::{Machine, RecvBuf, SendBuf, http1::{BodyLength, Config, NO_FIELDS, Server, ServerEvent}};
///
/// let (mut rx, mut tx) = (RecvBuf::new(), SendBuf::new());
/// let mut http = Server::new(&Config::default());
/// rx.push(b"POST /up HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n");
///
/// while let Some(event) = http.next_event(&mut rx, &mut tx)? {
///     match event {
///         // Whole responses are `respond`; this one is streamed.
///         ServerEvent::Request(_) => http.send_response(200, [("x-echo", "1")], BodyLength::Chunked, &mut tx)?,
///         ServerEvent::Data(data) => http.send_data(data, &mut tx)?, // borrows `rx`
///         ServerEvent::End(trailers) => http.send_end(trailers.iter(), &mut tx)?,
///         _ => {}
///     }
/// }
/// let response = b"HTTP/1.1 200 OK\r\nx-echo: 1\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
/// assert_eq!(tx.pending(), response);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Server {
    config: Config,
    receiving: Receiving,
    responding: Responding,
    request: Request,
    clock: Clock,
    shutting_down: bool,
    requests: u32,
}

/// Where in the output it is.
#[derive(Debug, Clone, Copy)]
enum Responding {
    /// No request to answer.
    Idle,
    /// The head of the response is due.
    Due,
    Body(Outgoing),
    Done,
}

impl Machine for Server {
    type Event<'b> = ServerEvent<'b>;
    type Error = Error;

    #[inline(always)]
    fn poll(&mut self, rx: &mut RecvBuf, tx: &mut SendBuf) -> Result<bool, Error> {
        Ok(self.at_hand(rx).is_some() || (!self.still_waits(rx) && !matches!(self.step(rx, tx)?, Step::Nothing)))
    }

    #[inline(always)]
    fn next_event<'b>(&mut self, rx: &'b mut RecvBuf, tx: &mut SendBuf) -> Result<Option<ServerEvent<'b>>, Error> {
        if self.still_waits(rx) { Ok(None) } else { self.event(rx, tx) }
    }

    /// Ends in order: the response under way is finished, and no further request is begun.
    fn shut_down(&mut self, _: &mut SendBuf) {
        self.shutting_down = true;
        if let Receiving::Head { .. } = self.receiving {
            self.receiving = Receiving::Lingering;
        }
    }

    fn time_out(&mut self, tx: &mut SendBuf) {
        let begun = matches!(self.phase().0, Phase::Head | Phase::Body);
        if begun && matches!(self.responding, Responding::Idle | Responding::Due) {
            self.put_refusal(408, tx);
        }
        self.give_up();
    }

    fn next_io(&self) -> NextIo {
        match self.receiving {
            Receiving::Head { .. }
            | Receiving::HeadLines { .. }
            | Receiving::HeadFound { .. }
            | Receiving::BeforeBody(_)
            | Receiving::Body(_)
            | Receiving::Discarding { .. } => NextIo::Read,
            Receiving::NoBody | Receiving::Abandoned | Receiving::Complete => NextIo::Paused,
            Receiving::Switched => NextIo::Switched,
            Receiving::Closed | Receiving::Failed(Error::UnexpectedEof { .. }) => NextIo::Close,
            Receiving::Lingering | Receiving::Failed(_) => NextIo::Linger,
        }
    }

    fn phase(&self) -> (Phase, u32) {
        let phase = match &self.receiving {
            Receiving::Head { .. } => Phase::Idle,
            Receiving::HeadLines { .. } | Receiving::HeadFound { .. } => Phase::Head,
            Receiving::BeforeBody(_) | Receiving::Body(_) | Receiving::Discarding { .. } => Phase::Body,
            Receiving::NoBody | Receiving::Abandoned | Receiving::Complete => Phase::Local,
            Receiving::Switched | Receiving::Lingering | Receiving::Closed | Receiving::Failed(_) => Phase::Closing,
        };
        (phase, self.requests)
    }
}

impl Server {
    /// A new connection.
    pub fn new(config: &Config) -> Self {
        Self {
            config: config.clone(),
            receiving: Receiving::Head { after_blank: false },
            responding: Responding::Idle,
            request: Request::NONE,
            clock: Clock::default(),
            shutting_down: false,
            requests: 0,
        }
    }

    // The request.

    /// Bounds this request's body, up or down, in bytes; between [`ServerEvent::Request`] and the next poll.
    ///
    /// One that is announced longer is answered `413` with the next poll, others when they become so.
    pub const fn limit_body(&mut self, bytes: u64) {
        self.request.max_body = bytes;
    }

    /// Reads the rest of the body without events, or closes after the response if it is above
    /// [`Config::with_drain`]: for one that nobody wants. Nothing else is left to do for this request but to answer it.
    ///
    /// Of a client that waits for `100` and was not sent it, none is read: it may never come (RFC 9110, section 10.1.1).
    pub fn discard_body(&mut self) {
        self.discard();
    }

    /// Whether a request has come that is not complete, or whose response is not: the next one waits until then.
    pub const fn is_in_exchange(&self) -> bool {
        !matches!(self.responding, Responding::Idle)
    }

    /// Whether a response is due or under way: the request has come and its response has not ended.
    pub const fn is_responding(&self) -> bool {
        matches!(self.responding, Responding::Due | Responding::Body(_))
    }

    /// Whether a response has begun and not ended.
    pub const fn is_response_begun(&self) -> bool {
        matches!(self.responding, Responding::Body(_))
    }

    // The response.

    /// Sends a 1xx: `100` to ask for the body, `103` for early hints. Nothing to an HTTP/1.0 client (RFC 9110, section 15.2).
    ///
    /// `100` need not be sent by hand: asking for the body does.
    ///
    /// # Errors
    ///
    /// [`Misuse::State`] if no response is due; [`Misuse::Status`] for 101 (see [`switch`](Self::switch)) and others out of
    /// 100 to 199; [`Misuse::Field`].
    pub fn send_informational(
        &mut self,
        status: u16,
        fields: impl IntoIterator<Item = (impl AsRef<[u8]>, impl AsRef<[u8]>)>,
        tx: &mut SendBuf,
    ) -> Result<(), Misuse> {
        if !matches!(self.responding, Responding::Due) {
            return Err(Misuse::State);
        }
        if !(100..200).contains(&status) || status == 101 {
            return Err(Misuse::Status);
        }
        let before = tx.inline_len();
        atomically(tx, |tx| {
            put_status_line(status, tx);
            put_fields(fields, tx)?;
            tx.put_parts([b"\r\n"]);
            Ok(())
        })?;
        if self.request.version == Version::Http10 {
            tx.truncate_inline(before);
        }
        self.request.awaits_continue &= status != 100;
        Ok(())
    }

    /// Sends a whole response. A body that cannot be sent (HEAD, 304) is announced by its length and left out.
    ///
    /// If more of the request's body is to come than [`Config::with_drain`], or an unknown rest, it says `connection: close`:
    /// nobody will want that.
    ///
    /// # Errors
    ///
    /// [`Misuse::State`] if no response is due; [`Misuse::Status`] out of 200 to 999, or for 2xx to CONNECT;
    /// [`Misuse::Field`]; [`Misuse::BodyForbidden`] with a 204 or 205.
    #[inline]
    pub fn respond<'a>(
        &mut self,
        status: u16,
        fields: impl IntoIterator<Item = (impl AsRef<[u8]>, impl AsRef<[u8]>)>,
        body: impl Into<Payload<'a>>,
        tx: &mut SendBuf,
    ) -> Result<(), Misuse> {
        let body = body.into();
        let length = match status {
            204 | 304 if body.is_empty() => BodyLength::None,
            _ => BodyLength::Length(body.len() as u64),
        };
        self.put_head(status, fields, length, body, self.is_rest_worth_reading(), tx)?;
        self.responded();
        Ok(())
    }

    /// Sends a response head; unless the length is `None` or `Length(0)`, data and [`send_end`](Self::send_end) follow.
    ///
    /// [`BodyLength::Chunked`] is for a length that is not known; an HTTP/1.0 client gets it until close.
    /// The request's body may be read on meanwhile: a client that waits for `100` is sent it before a 2xx.
    ///
    /// # Errors
    ///
    /// As [`respond`](Self::respond).
    #[inline]
    pub fn send_response(
        &mut self,
        status: u16,
        fields: impl IntoIterator<Item = (impl AsRef<[u8]>, impl AsRef<[u8]>)>,
        body: BodyLength,
        tx: &mut SendBuf,
    ) -> Result<(), Misuse> {
        if matches!(body, BodyLength::None | BodyLength::Length(0)) {
            self.put_head(status, fields, body, Payload::from(&[]), self.is_rest_worth_reading(), tx)?;
            self.responded();
            return Ok(());
        }
        // Who begins to answer with success, and goes on, wants the body.
        let asks = (200..300).contains(&status) && self.awaits_continue();
        let before = tx.inline_len();
        if asks {
            put_continue(tx);
        }
        let head = self.put_head(status, fields, body, Payload::from(&[]), asks || self.can_rest_be_read(), tx);
        if let Err(misuse) = head {
            tx.truncate_inline(before);
            return Err(misuse);
        }
        self.request.awaits_continue &= !asks;
        self.responding = Responding::Body(match body {
            _ if self.request.method == Method::Head || status == 304 => Outgoing::Unsent,
            BodyLength::Chunked if self.request.version == Version::Http10 => Outgoing::UntilClose,
            length => Outgoing::new(length),
        });
        Ok(())
    }

    /// Sends a piece of the body. Of a response to HEAD, or a 304, nothing is sent.
    ///
    /// # Errors
    ///
    /// [`Misuse::State`] if no body is under way, [`Misuse::BodyTooLong`] if it is more than was announced.
    #[inline]
    pub fn send_data<'a>(&mut self, data: impl Into<Payload<'a>>, tx: &mut SendBuf) -> Result<(), Misuse> {
        match &mut self.responding {
            Responding::Body(body) => body.put_data(data.into(), tx),
            _ => Err(Misuse::State),
        }
    }

    /// Sends a piece of `len` bytes that the caller writes itself when [`SendBuf::external`] says so: for sendfile and splice.
    ///
    /// Of a response to HEAD, or a 304, nothing is to be written.
    ///
    /// # Errors
    ///
    /// As [`send_data`](Self::send_data).
    pub fn announce_data(&mut self, len: u64, tx: &mut SendBuf) -> Result<(), Misuse> {
        match &mut self.responding {
            Responding::Body(body) => body.announce_data(len, tx),
            _ => Err(Misuse::State),
        }
    }

    /// Ends the body; trailers need chunks, and go to nobody but who gets chunks.
    ///
    /// After a head whose length is `None` or `Length(0)` it does nothing, so that a relay needs no case of its own.
    ///
    /// # Errors
    ///
    /// [`Misuse::State`] if no response has begun; [`Misuse::BodyTooShort`] before the announced length;
    /// [`Misuse::BodyForbidden`] for trailers without chunks; [`Misuse::Field`], also for a field that must not be a trailer
    /// (RFC 9110, section 6.5.1).
    #[inline]
    pub fn send_end(
        &mut self,
        trailers: impl IntoIterator<Item = (impl AsRef<[u8]>, impl AsRef<[u8]>)>,
        tx: &mut SendBuf,
    ) -> Result<(), Misuse> {
        match self.responding {
            Responding::Body(body) => body.put_end(trailers, tx)?,
            Responding::Due => return Err(Misuse::State),
            Responding::Idle | Responding::Done => return put_no_end(trailers),
        }
        self.responded();
        Ok(())
    }

    /// Sends a `101`, or a `2xx` to CONNECT; what is unread belongs to the next protocol.
    ///
    /// The request has to have ended: with its head, if it has no body (no [`ServerEvent::End`] follows then).
    /// `connection` is written by the core and skipped in `fields`.
    ///
    /// Any other response to CONNECT closes the connection. HTTP/1.0 has no `101`: its `upgrade` is ignored (RFC 9110,
    /// section 7.8).
    ///
    /// # Errors
    ///
    /// [`Misuse::State`] before the request's end, or if no response is due; [`Misuse::Status`] if the client asked for no
    /// such switch; [`Misuse::Field`].
    pub fn switch(
        &mut self,
        status: u16,
        fields: impl IntoIterator<Item = (impl AsRef<[u8]>, impl AsRef<[u8]>)>,
        tx: &mut SendBuf,
    ) -> Result<(), Misuse> {
        let ended = matches!(self.receiving, Receiving::NoBody | Receiving::Complete);
        if !ended || !matches!(self.responding, Responding::Due) {
            return Err(Misuse::State);
        }
        let connection: &[u8] = match (status, self.request.method) {
            (101, _) if self.request.upgrade => b"connection: upgrade\r\n",
            (200..300, Method::Connect) => b"",
            _ => return Err(Misuse::Status),
        };
        atomically(tx, |tx| {
            put_status_line(status, tx);
            let others = fields.into_iter().filter(|(name, _)| !name.as_ref().eq_ignore_ascii_case(b"connection"));
            put_fields(others, tx)?;
            put_end_of_head(connection, Framing::Nothing, Payload::from(&[]), tx);
            Ok(())
        })?;
        self.responding = Responding::Done;
        self.receiving = Receiving::Switched;
        Ok(())
    }

    /// Whether the client waits to be asked for the body, and none has come.
    fn awaits_continue(&self) -> bool {
        self.request.awaits_continue && matches!(self.receiving, Receiving::BeforeBody(_))
    }

    /// Gives the response under way up, and the connection with it: it closes without what would end the body, so that the
    /// client notices that something is missing. For a body whose source fails.
    pub fn abort(&mut self) {
        self.give_up();
    }

    /// Appends a head, with the body if it is all there. The connection may outlive what is to come of the request, or not.
    #[inline]
    fn put_head(
        &mut self,
        status: u16,
        fields: impl IntoIterator<Item = (impl AsRef<[u8]>, impl AsRef<[u8]>)>,
        body: BodyLength,
        payload: Payload<'_>,
        outlives_rest: bool,
        tx: &mut SendBuf,
    ) -> Result<(), Misuse> {
        if !matches!(self.responding, Responding::Due) {
            return Err(Misuse::State);
        }
        let connect = self.request.method == Method::Connect;
        if !(200..1000).contains(&status) || (connect && status < 300) {
            return Err(Misuse::Status);
        }
        let unsent = self.request.method == Method::Head || status == 304;
        let http10 = self.request.version == Version::Http10;
        let mut until_close = false;
        // RFC 9112, sections 6.1 and 6.2; RFC 9110, sections 8.6, 15.3.5 and 15.3.6.
        let framing = match body {
            BodyLength::None | BodyLength::Length(0) if status == 204 => Framing::Nothing,
            _ if status == 204 => return Err(Misuse::BodyForbidden),
            BodyLength::None if unsent => Framing::Nothing,
            BodyLength::None => Framing::Length(0),
            BodyLength::Length(1..) | BodyLength::Chunked | BodyLength::UntilClose if status == 205 => {
                return Err(Misuse::BodyForbidden);
            }
            BodyLength::Length(length) => Framing::Length(length),
            BodyLength::Chunked if !http10 => Framing::Chunked,
            BodyLength::Chunked | BodyLength::UntilClose => {
                until_close = !unsent;
                Framing::Nothing
            }
        };
        let persistent = self.request.persistent && !self.shutting_down && !until_close && outlives_rest;
        let payload = if unsent { Payload::from(&[]) } else { payload };
        atomically(tx, |tx| {
            put_status_line(status, tx);
            let noted = put_fields(fields, tx)?;
            if !noted.date {
                self.clock.put_date(self.config.settings(), tx);
            }
            put_end_of_head(connection(noted, !persistent, http10), framing, payload, tx);
            Ok(())
        })?;
        self.request.persistent = persistent;
        Ok(())
    }

    /// Appends a response to what is wrong with a request, after which the connection closes.
    fn put_refusal(&mut self, status: u16, tx: &mut SendBuf) {
        put_status_line(status, tx);
        self.clock.put_date(self.config.settings(), tx);
        put_end_of_head(b"connection: close\r\n", Framing::Length(0), Payload::from(&[]), tx);
    }

    /// The response is complete. If it said `close` before an end of the request that is not worth waiting for, that is all.
    #[inline]
    fn responded(&mut self) {
        self.responding = Responding::Done;
        if let Receiving::Complete = self.receiving {
            self.next_cycle();
        } else if !self.request.persistent && !self.is_rest_worth_reading() {
            self.receiving = Receiving::Lingering;
        }
    }
}

/// Asks for the body (RFC 9110, section 15.2.1).
fn put_continue(tx: &mut SendBuf) {
    put_status_line(100, tx);
    tx.put_parts([b"\r\n"]);
}
