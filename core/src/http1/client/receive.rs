//! What a client receives: responses, in the order of its requests.

use super::{Client, ClientEvent, Sending};
use crate::{
    RecvBuf,
    http1::{
        BodyLength, Error, Fields, ResponseHead,
        body::{Available, Body},
        control::{Meta, Side},
        head::StatusLine,
        lines::{HeadLines, Progress},
        whole,
    },
};

/// What of a request decides how its response is read (RFC 9112, section 6.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    Head,
    Connect,
    Upgrade,
    Other,
}

/// Where in the input it is.
#[derive(Debug, Clone, Copy)]
pub(super) enum Receiving {
    /// Before a head.
    Head,
    /// In a head that did not come whole, or in which something is wrong.
    HeadLines(HeadLines<StatusLine>),
    /// A head is there, and its parts are known.
    HeadFound {
        len: u32,
        line: StatusLine,
        meta: Meta,
    },
    Body(Body),
    Switched,
    Closed,
    Failed(Error),
}

/// What can be lent out; lengths at the front of `rx`.
#[derive(Debug, Clone, Copy)]
pub(super) enum Step {
    Nothing,
    Head,
    Data(usize),
    End(usize),
}

impl Client {
    /// Whether there is nothing to do yet, where that is seen at a glance: between responses, and inside of a line.
    #[inline(always)]
    pub(super) fn still_waits(&mut self, rx: &RecvBuf) -> bool {
        rx.eof().is_none()
            && match &mut self.receiving {
                Receiving::Head => rx.unread().is_empty(),
                Receiving::HeadLines(lines) => {
                    lines.continues(rx.unread(), self.config.settings().max_head.min(rx.bound()))
                }
                _ => false,
            }
    }

    #[inline]
    pub(super) fn event<'b>(&mut self, rx: &'b mut RecvBuf) -> Result<Option<ClientEvent<'b>>, Error> {
        Ok(match self.step(rx)? {
            Step::Nothing => None,
            Step::Head => self.take_head(rx),
            Step::Data(len) => {
                self.took(len);
                Some(ClientEvent::Data(rx.take(len)))
            }
            Step::End(len) => {
                self.complete();
                Some(ClientEvent::End(Fields::of_trailers(rx.take(len))))
            }
        })
    }

    #[inline]
    pub(super) fn step(&mut self, rx: &mut RecvBuf) -> Result<Step, Error> {
        let settings = self.config.settings();
        match &mut self.receiving {
            Receiving::HeadFound { .. } => Ok(Step::Head),
            Receiving::Body(body) => {
                let available = match body {
                    Body::Length { total, .. } if *total > self.max_body => Err(Error::BodyTooLong),
                    _ => body.advance(rx, self.max_body, Side::Response, settings),
                };
                match available {
                    Ok(Available::Nothing) => Ok(Step::Nothing),
                    Ok(Available::Data(len)) => Ok(Step::Data(len)),
                    Ok(Available::End(len)) => Ok(Step::End(len)),
                    Err(error) => Err(self.fail(error)),
                }
            }
            Receiving::Head if !self.outstanding.is_empty() => {
                // Most heads come whole: one that parses needs no search.
                let unread = rx.unread();
                let window = &unread[..unread.len().min(settings.max_head).min(rx.bound())];
                if let Some((len, line, meta)) = whole::response(window, settings) {
                    return self.found(len, line, meta).map_err(|error| self.fail(error));
                }
                self.step_aside(rx)
            }
            _ => self.step_aside(rx),
        }
    }

    /// The states that are left soon, or for good.
    #[inline(never)]
    fn step_aside(&mut self, rx: &mut RecvBuf) -> Result<Step, Error> {
        self.try_step_aside(rx).map_err(|error| self.fail(error))
    }

    fn try_step_aside(&mut self, rx: &mut RecvBuf) -> Result<Step, Error> {
        let settings = self.config.settings();
        match &mut self.receiving {
            Receiving::Head if self.outstanding.is_empty() => match rx.unread() {
                [] if rx.eof().is_some() => {
                    self.receiving = Receiving::Closed;
                    Ok(Step::Nothing)
                }
                [] => Ok(Step::Nothing),
                // It could be taken for the answer to the next request.
                _ => Err(Error::Unsolicited),
            },
            Receiving::Head if rx.unread().is_empty() && rx.eof().is_none() => Ok(Step::Nothing),
            Receiving::Head => {
                self.receiving = Receiving::HeadLines(HeadLines::new());
                self.try_step_aside(rx)
            }
            Receiving::HeadLines(lines) => {
                let most = settings.max_head.min(rx.bound());
                let window = rx.parts().0;
                let len = window.len().min(most);
                match lines.advance(&mut window[..len], settings)? {
                    Progress::Found(len, line, meta) => self.found(len, line, meta),
                    // Empty lines are tolerated before requests only (RFC 9112, section 2.2).
                    Progress::Blank(_) => Err(Error::StartLine),
                    Progress::Partial if len >= most => Err(Error::HeadTooLong),
                    Progress::Partial if rx.eof().is_some() => {
                        Err(Error::UnexpectedEof { seen: rx.unread().len() as u64, expected: None })
                    }
                    Progress::Partial => Ok(Step::Nothing),
                }
            }
            Receiving::Failed(error) => Err(*error),
            _ => Ok(Step::Nothing),
        }
    }

    /// A head is there: whether it can be an answer now (RFC 9110, section 15.2).
    fn found(&mut self, len: usize, line: StatusLine, meta: Meta) -> Result<Step, Error> {
        let asked = self.outstanding.front().copied();
        match line.status {
            101 if asked == Some(Asked::Upgrade) && meta.is_upgrade() && !self.is_sending() => {}
            101 => return Err(Error::Unsolicited),
            100..200 if self.interim >= self.config.settings().max_interim => return Err(Error::TooManyInterim),
            _ => {}
        }
        self.receiving = Receiving::HeadFound { len: len as u32, line, meta };
        Ok(Step::Head)
    }

    /// Lends the head that was found: what it is to the request that it answers (RFC 9112, section 6.3).
    pub(super) fn take_head<'b>(&mut self, rx: &'b mut RecvBuf) -> Option<ClientEvent<'b>> {
        let Receiving::HeadFound { len, line, meta } = self.receiving else { return None };
        let head = ResponseHead::new(rx.take(len as usize), line, meta);
        let asked = self.outstanding.front().copied();
        match (line.status, asked) {
            (101, _) | (200..300, Some(Asked::Connect)) => {
                self.outstanding.clear();
                self.sending = Sending::Ended;
                self.receiving = Receiving::Switched;
                return Some(ClientEvent::Switched(head));
            }
            (100..200, _) => {
                self.interim += 1;
                self.receiving = Receiving::Head;
                return Some(ClientEvent::Informational(head));
            }
            _ => {}
        }
        self.outstanding.pop_front();
        self.interim = 0;
        self.responses = self.responses.wrapping_add(1);
        self.max_body = self.config.settings().max_body.unwrap_or(u64::MAX);
        let length = match (line.status, asked) {
            (204 | 304, _) | (_, Some(Asked::Head)) => BodyLength::None,
            _ => meta.body(),
        };
        self.persistent = meta.is_persistent() && length != BodyLength::UntilClose;
        self.receiving = Receiving::Body(Body::new(length));
        Some(ClientEvent::Response(head))
    }

    /// `len` bytes of the body are lent.
    #[inline]
    pub(super) const fn took(&mut self, len: usize) {
        if let Receiving::Body(body) = &mut self.receiving {
            body.took(len);
        }
    }

    /// The response is complete. After one that closes, requests without an answer have none to expect (RFC 9112, section 9.6).
    pub(super) fn complete(&mut self) {
        self.receiving = if self.persistent && !self.expects_nothing() {
            Receiving::Head
        } else if self.outstanding.is_empty() {
            Receiving::Closed
        } else {
            Receiving::Failed(Error::UnexpectedEof { seen: 0, expected: None })
        };
    }

    pub(super) const fn is_receiving(&self) -> bool {
        matches!(
            self.receiving,
            Receiving::Head | Receiving::HeadLines(_) | Receiving::HeadFound { .. } | Receiving::Body(_)
        )
    }

    #[cold]
    fn fail(&mut self, error: Error) -> Error {
        self.receiving = Receiving::Failed(error);
        error
    }
}
