//! What a server receives: the cycle of a request.

use super::{Responding, Server, put_continue};
use crate::{
    RecvBuf, SendBuf,
    http1::{
        BodyLength, Error, Fields, RequestHead, ServerEvent, Version,
        body::{Available, Body, at_most},
        control::{Meta, Side},
        head::RequestLine,
        lines::{HeadLines, Progress},
        whole,
    },
};

/// Bodies of requests, unless [`Config::with_max_body`](crate::http1::Config::with_max_body) says otherwise.
const MAX_BODY: u64 = 16 << 20;

/// Where in the input it is.
#[derive(Debug, Clone, Copy)]
pub(super) enum Receiving {
    /// Before a head. One empty line before it is tolerated (RFC 9112, section 2.2).
    Head {
        after_blank: bool,
    },
    /// In a head that did not come whole, or in which something is wrong.
    HeadLines {
        lines: HeadLines<RequestLine>,
        after_blank: bool,
    },
    /// A head is there, and its parts are known.
    HeadFound {
        len: u32,
        line: RequestLine,
        meta: Meta,
    },
    /// After a head without a body.
    NoBody,
    /// After a head with one, whose limit may still be changed.
    BeforeBody(BodyLength),
    Body(Body),
    /// The rest of the body is dropped, at most so many bytes.
    Discarding {
        body: Body,
        budget: u64,
    },
    /// There is more of the body than is worth reading: closes after the response.
    Abandoned,
    /// The request is complete; the next one waits in `rx`.
    Complete,
    /// What is unread belongs to another protocol.
    Switched,
    /// After the last response.
    Lingering,
    Closed,
    Failed(Error),
}

/// What the response has to know of the request under way.
#[derive(Debug, Clone, Copy)]
pub(super) struct Request {
    pub(super) version: Version,
    pub(super) method: Method,
    pub(super) persistent: bool,
    pub(super) upgrade: bool,
    /// The client may be waiting for a `100` (RFC 9110, section 10.1.1).
    pub(super) awaits_continue: bool,
    pub(super) max_body: u64,
}

impl Request {
    pub(super) const NONE: Self = Self {
        version: Version::Http11,
        method: Method::Other,
        persistent: true,
        upgrade: false,
        awaits_continue: false,
        max_body: 0,
    };
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Method {
    Head,
    Connect,
    Other,
}

/// What can be lent out; lengths at the front of `rx`.
#[derive(Debug, Clone, Copy)]
pub(super) enum Step {
    Nothing,
    Head,
    Data(usize),
    End(usize),
}

impl Server {
    /// Whether there is nothing to do yet, where that is seen at a glance: between requests, and inside of a line.
    #[inline(always)]
    pub(super) fn still_waits(&mut self, rx: &RecvBuf) -> bool {
        rx.eof().is_none()
            && match &mut self.receiving {
                Receiving::Head { .. } => rx.unread().is_empty(),
                Receiving::HeadLines { lines, .. } => {
                    lines.continues(rx.unread(), self.config.settings().max_head.min(rx.bound()))
                }
                _ => false,
            }
    }

    /// What there is to lend, where that is seen at a glance.
    #[inline(always)]
    pub(super) fn at_hand(&self, rx: &RecvBuf) -> Option<Step> {
        match self.receiving {
            Receiving::HeadFound { .. } => Some(Step::Head),
            Receiving::NoBody | Receiving::Body(Body::Length { left: 0, .. }) => Some(Step::End(0)),
            Receiving::Body(Body::Length { left, .. }) if !rx.unread().is_empty() => {
                Some(Step::Data(at_most(rx.unread().len(), left)))
            }
            _ => None,
        }
    }

    #[inline(always)]
    pub(super) fn event<'b>(
        &mut self,
        rx: &'b mut RecvBuf,
        tx: &mut SendBuf,
    ) -> Result<Option<ServerEvent<'b>>, Error> {
        let step = match (self.at_hand(rx), self.receiving) {
            (Some(step), _) => step,
            // Without a state in between, which would be stored and loaded at once.
            (None, Receiving::Head { .. }) => match self.whole_head(rx) {
                Some((len, line, meta)) => {
                    return Ok(Some(ServerEvent::Request(self.begin(rx.take(len), line, meta))));
                }
                None => self.step_aside(rx, tx)?,
            },
            (None, _) => self.step(rx, tx)?,
        };
        Ok(match step {
            Step::Nothing => None,
            Step::Head => self.take_head(rx).map(ServerEvent::Request),
            Step::Data(len) => {
                self.took(len);
                Some(ServerEvent::Data(rx.take(len)))
            }
            Step::End(len) => {
                self.complete();
                Some(ServerEvent::End(Fields::of_trailers(rx.take(len))))
            }
        })
    }

    #[inline]
    pub(super) fn step(&mut self, rx: &mut RecvBuf, tx: &mut SendBuf) -> Result<Step, Error> {
        let settings = self.config.settings();
        match &mut self.receiving {
            Receiving::HeadFound { .. } => Ok(Step::Head),
            Receiving::NoBody => Ok(Step::End(0)),
            Receiving::BeforeBody(BodyLength::Length(length))
                if !self.request.awaits_continue && *length <= self.request.max_body && !rx.unread().is_empty() =>
            {
                let length = *length;
                self.receiving = Receiving::Body(Body::new(BodyLength::Length(length)));
                Ok(Step::Data(at_most(rx.unread().len(), length)))
            }
            Receiving::Body(body) => match body.advance(rx, self.request.max_body, Side::Request, settings) {
                Ok(Available::Nothing) => Ok(Step::Nothing),
                Ok(Available::Data(len)) => Ok(Step::Data(len)),
                Ok(Available::End(len)) => Ok(Step::End(len)),
                Err(error) => Err(self.fail(error, tx)),
            },
            Receiving::Head { .. } => {
                if let Some((len, line, meta)) = self.whole_head(rx) {
                    self.receiving = Receiving::HeadFound { len: len as u32, line, meta };
                    return Ok(Step::Head);
                }
                self.step_aside(rx, tx)
            }
            _ => self.step_aside(rx, tx),
        }
    }

    /// The head that comes next, if it came whole, as most do: then it needs no search.
    #[inline]
    pub(super) fn whole_head(&self, rx: &RecvBuf) -> Option<(usize, RequestLine, Meta)> {
        let settings = self.config.settings();
        let unread = rx.unread();
        whole::request(&unread[..unread.len().min(settings.max_head).min(rx.bound())], settings)
    }

    /// The states that are left soon, or for good.
    #[inline(never)]
    pub(super) fn step_aside(&mut self, rx: &mut RecvBuf, tx: &mut SendBuf) -> Result<Step, Error> {
        match self.try_step_aside(rx, tx) {
            Ok(Some(step)) => Ok(step),
            Ok(None) => self.step(rx, tx),
            Err(error) => Err(self.fail(error, tx)),
        }
    }

    /// `None` if another state is to go on.
    fn try_step_aside(&mut self, rx: &mut RecvBuf, tx: &mut SendBuf) -> Result<Option<Step>, Error> {
        let settings = self.config.settings();
        match &mut self.receiving {
            Receiving::Head { after_blank } => {
                if rx.unread().is_empty() {
                    if rx.eof().is_some() {
                        self.receiving = Receiving::Closed;
                    }
                    return Ok(Some(Step::Nothing));
                }
                self.receiving = Receiving::HeadLines { lines: HeadLines::new(), after_blank: *after_blank };
                self.try_step_aside(rx, tx)
            }
            Receiving::HeadLines { lines, after_blank } => {
                let most = settings.max_head.min(rx.bound());
                let window = rx.parts().0;
                let len = window.len().min(most);
                match lines.advance(&mut window[..len], settings)? {
                    Progress::Found(len, line, meta) => {
                        self.receiving = Receiving::HeadFound { len: len as u32, line, meta };
                        Ok(Some(Step::Head))
                    }
                    Progress::Blank(_) if *after_blank => Err(Error::StartLine),
                    Progress::Blank(len) if self.shutting_down => {
                        rx.take(len);
                        self.receiving = Receiving::Lingering;
                        Ok(None)
                    }
                    Progress::Blank(len) => {
                        rx.take(len);
                        self.receiving = Receiving::Head { after_blank: true };
                        Ok(None)
                    }
                    Progress::Partial if len >= most => Err(Error::HeadTooLong),
                    Progress::Partial if rx.eof().is_some() => {
                        Err(Error::UnexpectedEof { seen: rx.unread().len() as u64, expected: None })
                    }
                    Progress::Partial => Ok(Some(Step::Nothing)),
                }
            }
            Receiving::BeforeBody(length) => {
                let length = *length;
                if matches!(length, BodyLength::Length(n) if n > self.request.max_body) {
                    return Err(Error::BodyTooLong);
                }
                self.receiving = Receiving::Body(Body::new(length));
                if self.request.awaits_continue && matches!(self.responding, Responding::Due) {
                    // Whatever has come of the body already, so that the answer does not depend on the cut.
                    self.request.awaits_continue = false;
                    put_continue(tx);
                }
                Ok(None)
            }
            Receiving::Discarding { body, budget } => {
                loop {
                    match body.advance(rx, self.request.max_body, Side::Request, settings)? {
                        Available::Nothing => return Ok(Some(Step::Nothing)),
                        Available::Data(len) => {
                            let n = at_most(len, *budget);
                            *budget -= n as u64;
                            body.took(n);
                            rx.take(n);
                            if n < len {
                                break;
                            }
                        }
                        Available::End(len) => {
                            rx.take(len);
                            self.complete();
                            return Ok(None);
                        }
                    }
                }
                self.abandon();
                Ok(Some(Step::Nothing))
            }
            Receiving::Failed(error) => Err(*error),
            _ => Ok(Some(Step::Nothing)),
        }
    }

    /// Lends the head that was found.
    #[inline]
    pub(super) fn take_head<'b>(&mut self, rx: &'b mut RecvBuf) -> Option<RequestHead<'b>> {
        let Receiving::HeadFound { len, line, meta } = self.receiving else { return None };
        Some(self.begin(rx.take(len as usize), line, meta))
    }

    /// Begins the cycle of a request.
    #[inline(always)]
    pub(super) fn begin<'b>(&mut self, bytes: &'b [u8], line: RequestLine, meta: Meta) -> RequestHead<'b> {
        let head = RequestHead::new(bytes, line, meta);
        self.requests = self.requests.wrapping_add(1);
        self.responding = Responding::Due;
        let method = match head.method_bytes() {
            b"HEAD" => Method::Head,
            b"CONNECT" => Method::Connect,
            _ => Method::Other,
        };
        self.request = Request {
            version: meta.version(),
            method,
            persistent: meta.is_persistent() && method != Method::Connect,
            upgrade: meta.is_upgrade(),
            awaits_continue: meta.expects_continue(),
            max_body: self.config.settings().max_body.unwrap_or(MAX_BODY),
        };
        self.receiving = if meta.is_without_body() { Receiving::NoBody } else { Receiving::BeforeBody(meta.body()) };
        head
    }

    /// `len` bytes of the body are lent.
    #[inline]
    pub(super) const fn took(&mut self, len: usize) {
        // It came without being asked for.
        self.request.awaits_continue = false;
        if let Receiving::Body(body) = &mut self.receiving {
            body.took(len);
        }
    }

    pub(super) fn discard(&mut self) {
        let body = match self.receiving {
            Receiving::NoBody => return self.complete(),
            // A client that was not asked for the body may never send it.
            Receiving::BeforeBody(_) if self.request.awaits_continue => None,
            Receiving::BeforeBody(length) => Some(Body::new(length)),
            Receiving::Body(body) => Some(body),
            _ => return,
        };
        let budget = self.config.settings().drain;
        match body {
            Some(body) if body.rest().is_none_or(|rest| rest <= budget) => {
                self.receiving = Receiving::Discarding { body, budget };
            }
            _ => self.abandon(),
        }
    }

    /// The request is complete.
    #[inline]
    pub(super) fn complete(&mut self) {
        self.receiving = Receiving::Complete;
        if matches!(self.responding, Responding::Done) {
            self.next_cycle();
        }
    }

    #[inline]
    pub(super) fn next_cycle(&mut self) {
        self.responding = Responding::Idle;
        self.receiving = if self.request.persistent && !self.shutting_down {
            Receiving::Head { after_blank: false }
        } else {
            Receiving::Lingering
        };
    }

    /// Whether the connection can go on after an early response (RFC 9112, section 9.3; RFC 9110, section 10.1.1).
    #[inline]
    pub(super) fn is_rest_worth_reading(&self) -> bool {
        let rest = match &self.receiving {
            Receiving::BeforeBody(_) | Receiving::Body(_) if self.request.awaits_continue => None,
            Receiving::BeforeBody(BodyLength::Length(length)) => Some(*length),
            Receiving::Body(body) | Receiving::Discarding { body, .. } => body.rest(),
            Receiving::BeforeBody(_) | Receiving::Abandoned => None,
            _ => Some(0),
        };
        rest.is_some_and(|rest| rest <= self.config.settings().drain)
    }

    /// Whether the rest of the body will come: not that of a client that still waits to be asked for it, or is closed upon.
    #[inline]
    pub(super) fn can_rest_be_read(&self) -> bool {
        match self.receiving {
            Receiving::BeforeBody(_) => !self.request.awaits_continue,
            Receiving::Abandoned => false,
            _ => true,
        }
    }

    pub(super) fn give_up(&mut self) {
        self.responding = Responding::Done;
        if !matches!(self.receiving, Receiving::Failed(_) | Receiving::Switched) {
            self.receiving = Receiving::Closed;
        }
    }

    /// Reads no more of this request: the connection ends with its response.
    fn abandon(&mut self) {
        self.request.persistent = false;
        self.receiving =
            if matches!(self.responding, Responding::Done) { Receiving::Lingering } else { Receiving::Abandoned };
    }

    /// Ends the connection with an error, and with a response to it unless one is under way or sent.
    #[cold]
    fn fail(&mut self, error: Error, tx: &mut SendBuf) -> Error {
        if !matches!(self.receiving, Receiving::Failed(_)) {
            if let (Some(status), Responding::Idle | Responding::Due) = (error.status(), self.responding) {
                self.put_refusal(status, tx);
            }
            self.responding = Responding::Done;
            self.receiving = Receiving::Failed(error);
        }
        error
    }
}
