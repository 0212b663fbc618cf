mod receive;

use super::{
    BodyLength, Config, Error, Fields, Misuse, ResponseHead,
    encode::{Framing, Outgoing, atomically, connection, put_end_of_head, put_fields, put_no_end},
    syntax::is_token,
    target::is_target,
};
use crate::{Machine, NextIo, Payload, Phase, RecvBuf, SendBuf};
use alloc::collections::VecDeque;
use receive::{Asked, Receiving, Step};

/// Something the server sent.
#[derive(Debug)]
#[non_exhaustive]
pub enum ClientEvent<'b> {
    /// A 1xx other than `101`; the response is still to come.
    Informational(ResponseHead<'b>),
    /// A response begins.
    Response(ResponseHead<'b>),
    /// A piece of its body; never empty.
    Data(&'b [u8]),
    /// It is complete; the fields are trailers.
    End(Fields<'b>),
    /// `101`, or a `2xx` to CONNECT: what is unread belongs to the next protocol.
    Switched(ResponseHead<'b>),
}

/// Client side of a connection.
///
/// Requests are sent one after the other, up to [`Config::with_max_outstanding`] before the first is answered; responses come
/// in the same order. What is sent and what is received are independent: a body may be streamed while the response comes.
///
/// ```
/// use bytewise::{Machine, RecvBuf, SendBuf, http1::{Client, ClientEvent, Config}};
///
/// let (mut rx, mut tx) = (RecvBuf::new(), SendBuf::new());
/// let mut http = Client::new(&Config::default());
/// http.request("GET", "/", [("host", "a")], "", &mut tx)?;
/// assert_eq!(tx.pending(), b"GET / HTTP/1.1\r\nhost: a\r\n\r\n");
///
/// rx.push(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi");
/// while let Some(event) = http.next_event(&mut rx, &mut tx)? {
///     match event {
///         ClientEvent::Response(head) => assert_eq!(head.status(), 200),
///         ClientEvent::Data(data) => assert_eq!(data, b"hi"),
///         _ => {}
///     }
/// }
/// assert!(http.is_reusable());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Client {
    config: Config,
    receiving: Receiving,
    sending: Sending,
    /// What the next responses answer, in order.
    outstanding: VecDeque<Asked>,
    /// Interim responses before the final one that is due.
    interim: u32,
    max_body: u64,
    /// The server keeps the connection after the response under way.
    persistent: bool,
    /// The next request is the last one.
    closing: bool,
    responses: u32,
}

#[derive(Debug, Clone, Copy)]
enum Sending {
    /// Between requests.
    Ready,
    Body(Outgoing),
    /// The body of the last request.
    LastBody(Outgoing),
    /// No more requests: the last was sent, it was shut down, or a switch was asked for.
    Ended,
}

impl Machine for Client {
    type Event<'b> = ClientEvent<'b>;
    type Error = Error;

    #[inline(always)]
    fn poll(&mut self, rx: &mut RecvBuf, _: &mut SendBuf) -> Result<bool, Error> {
        Ok(!self.still_waits(rx) && !matches!(self.step(rx)?, Step::Nothing))
    }

    #[inline(always)]
    fn next_event<'b>(&mut self, rx: &'b mut RecvBuf, _: &mut SendBuf) -> Result<Option<ClientEvent<'b>>, Error> {
        if self.still_waits(rx) { Ok(None) } else { self.event(rx) }
    }

    /// Ends in order: what was asked for is still received, and no further request can be sent.
    fn shut_down(&mut self, _: &mut SendBuf) {
        self.sending = match self.sending {
            Sending::Body(body) => Sending::LastBody(body),
            Sending::Ready => Sending::Ended,
            other => other,
        };
        if matches!(self.receiving, Receiving::Head) && self.expects_nothing() {
            self.receiving = Receiving::Closed;
        }
    }

    fn next_io(&self) -> NextIo {
        match self.receiving {
            Receiving::Head | Receiving::HeadLines(_) | Receiving::HeadFound { .. } | Receiving::Body(_) => {
                NextIo::Read
            }
            Receiving::Switched => NextIo::Switched,
            Receiving::Closed | Receiving::Failed(_) => NextIo::Close,
        }
    }

    fn phase(&self) -> (Phase, u32) {
        let phase = match &self.receiving {
            Receiving::Head if self.outstanding.is_empty() => Phase::Idle,
            Receiving::Head | Receiving::HeadLines(_) | Receiving::HeadFound { .. } => Phase::Head,
            Receiving::Body(_) => Phase::Body,
            Receiving::Switched | Receiving::Closed | Receiving::Failed(_) => Phase::Closing,
        };
        (phase, self.responses)
    }

    /// It does not: what it sends is what it asks.
    fn answers(&self) -> bool {
        false
    }
}

impl Client {
    /// A new connection.
    pub fn new(config: &Config) -> Self {
        Self {
            config: config.clone(),
            receiving: Receiving::Head,
            sending: Sending::Ready,
            outstanding: VecDeque::new(),
            interim: 0,
            max_body: 0,
            persistent: true,
            closing: false,
            responses: 0,
        }
    }

    // The request.

    /// Makes the next request the last one: it says `connection: close`.
    pub const fn close_after_next(&mut self) {
        self.closing = true;
    }

    /// Sends a whole request. `fields` have exactly one `host` (RFC 9112, section 3.2).
    ///
    /// An empty body is announced with `content-length: 0` for POST, PUT and PATCH, where it means something (RFC 9110,
    /// section 8.6). With the field `upgrade` the request asks for a switch: no more requests can be sent until it is refused.
    ///
    /// # Errors
    ///
    /// [`Misuse::State`] while a body is under way, after [`shut_down`](Machine::shut_down) or when the server closes;
    /// [`Misuse::Outstanding`]; [`Misuse::RequestLine`]; [`Misuse::Field`]; [`Misuse::BodyForbidden`] for a body of CONNECT.
    pub fn request<'a>(
        &mut self,
        method: &str,
        target: &str,
        fields: impl IntoIterator<Item = (impl AsRef<[u8]>, impl AsRef<[u8]>)>,
        body: impl Into<Payload<'a>>,
        tx: &mut SendBuf,
    ) -> Result<(), Misuse> {
        let body = body.into();
        let length = if body.is_empty() && !expects_body(method) {
            BodyLength::None
        } else {
            BodyLength::Length(body.len() as u64)
        };
        self.put_head(method, target, fields, length, body, tx)?;
        self.requested();
        Ok(())
    }

    /// Sends a request head; unless the length is `None` or `Length(0)`, data and [`send_end`](Self::send_end) follow.
    ///
    /// # Errors
    ///
    /// As [`request`](Self::request); [`Misuse::BodyForbidden`] also for [`BodyLength::UntilClose`], which only responses have.
    pub fn send_request(
        &mut self,
        method: &str,
        target: &str,
        fields: impl IntoIterator<Item = (impl AsRef<[u8]>, impl AsRef<[u8]>)>,
        body: BodyLength,
        tx: &mut SendBuf,
    ) -> Result<(), Misuse> {
        self.put_head(method, target, fields, body, Payload::from(&[]), tx)?;
        self.sending = Sending::Body(Outgoing::new(body));
        if matches!(body, BodyLength::None | BodyLength::Length(0)) {
            self.requested();
        }
        Ok(())
    }

    /// Sends a piece of the body.
    ///
    /// # Errors
    ///
    /// [`Misuse::State`] if no body is under way, [`Misuse::BodyTooLong`] if it is more than was announced.
    pub fn send_data<'a>(&mut self, data: impl Into<Payload<'a>>, tx: &mut SendBuf) -> Result<(), Misuse> {
        match &mut self.sending {
            Sending::Body(body) | Sending::LastBody(body) => body.put_data(data.into(), tx),
            _ => Err(Misuse::State),
        }
    }

    /// Sends a piece of `len` bytes that the caller writes itself when [`SendBuf::external`] says so: for sendfile and splice.
    ///
    /// # Errors
    ///
    /// As [`send_data`](Self::send_data).
    pub fn announce_data(&mut self, len: u64, tx: &mut SendBuf) -> Result<(), Misuse> {
        match &mut self.sending {
            Sending::Body(body) | Sending::LastBody(body) => body.announce_data(len, tx),
            _ => Err(Misuse::State),
        }
    }

    /// Ends the body; trailers need chunks.
    ///
    /// After a head whose length is `None` or `Length(0)` it does nothing, so that a relay needs no case of its own.
    ///
    /// # Errors
    ///
    /// [`Misuse::BodyTooShort`] before the announced length; [`Misuse::BodyForbidden`] for trailers without chunks;
    /// [`Misuse::Field`], also for a field that must not be a trailer (RFC 9110, section 6.5.1).
    pub fn send_end(
        &mut self,
        trailers: impl IntoIterator<Item = (impl AsRef<[u8]>, impl AsRef<[u8]>)>,
        tx: &mut SendBuf,
    ) -> Result<(), Misuse> {
        match self.sending {
            Sending::Body(body) => {
                body.put_end(trailers, tx)?;
                self.requested();
            }
            Sending::LastBody(body) => {
                body.put_end(trailers, tx)?;
                self.sending = Sending::Ended;
            }
            Sending::Ready | Sending::Ended => return put_no_end(trailers),
        }
        Ok(())
    }

    /// Whether the body of a request is under way.
    pub const fn is_sending(&self) -> bool {
        matches!(self.sending, Sending::Body(_) | Sending::LastBody(_))
    }

    /// Requests sent whose final responses have not begun.
    pub fn outstanding(&self) -> usize {
        self.outstanding.len()
    }

    // The response.

    /// Bounds this response's body, in bytes; between [`ClientEvent::Response`] and the next poll.
    pub const fn limit_body(&mut self, bytes: u64) {
        self.max_body = bytes;
    }

    /// Whether another exchange may use the connection: all requests sent are answered, and neither side closes.
    ///
    /// A server may close at any time; [`NextIo`] of the next poll tells once that has come.
    pub fn is_reusable(&self) -> bool {
        self.outstanding.is_empty()
            && matches!(self.sending, Sending::Ready)
            && matches!(self.receiving, Receiving::Head)
    }

    fn put_head(
        &mut self,
        method: &str,
        target: &str,
        fields: impl IntoIterator<Item = (impl AsRef<[u8]>, impl AsRef<[u8]>)>,
        body: BodyLength,
        payload: Payload<'_>,
        tx: &mut SendBuf,
    ) -> Result<(), Misuse> {
        if !self.is_receiving() || !self.persistent || !matches!(self.sending, Sending::Ready) {
            return Err(Misuse::State);
        }
        if self.outstanding.len() >= self.config.settings().max_outstanding {
            return Err(Misuse::Outstanding);
        }
        // What waits for a switch may be followed by the other protocol only.
        if matches!(self.outstanding.back(), Some(Asked::Upgrade | Asked::Connect)) {
            return Err(Misuse::State);
        }
        let (name, target) = (method.as_bytes(), target.as_bytes());
        if !is_token(name) || !is_target(name, target) {
            return Err(Misuse::RequestLine);
        }
        let framing = match body {
            BodyLength::None => Framing::Nothing,
            BodyLength::UntilClose => return Err(Misuse::BodyForbidden),
            // A tunnel begins after the head (RFC 9110, section 9.3.6).
            BodyLength::Length(0) if method == "CONNECT" => Framing::Nothing,
            _ if method == "CONNECT" => return Err(Misuse::BodyForbidden),
            BodyLength::Length(length) => Framing::Length(length),
            BodyLength::Chunked => Framing::Chunked,
        };
        let noted = atomically(tx, |tx| {
            tx.put_parts([name, b" ", target, b" HTTP/1.1\r\n"]);
            let noted = put_fields(fields, tx)?;
            // RFC 9112, section 3.2.
            if noted.hosts != 1 {
                return Err(Misuse::Field);
            }
            put_end_of_head(connection(noted, self.closing, false), framing, payload, tx);
            Ok(noted)
        })?;
        self.outstanding.push_back(match method {
            "HEAD" => Asked::Head,
            "CONNECT" => Asked::Connect,
            _ if noted.upgrade => Asked::Upgrade,
            _ => Asked::Other,
        });
        Ok(())
    }

    /// Whether no response is to come, nor a request to be sent.
    pub(super) fn expects_nothing(&self) -> bool {
        self.outstanding.is_empty() && matches!(self.sending, Sending::Ended)
    }

    /// A request is complete.
    const fn requested(&mut self) {
        self.sending = if self.closing { Sending::Ended } else { Sending::Ready };
    }
}

/// Methods whose content has a meaning, so that an empty one is announced (RFC 9110, section 8.6).
fn expects_body(method: &str) -> bool {
    matches!(method, "POST" | "PUT" | "PATCH")
}
