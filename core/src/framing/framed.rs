use super::{Error, Framing, Located, Misuse};
use crate::{Machine, NextIo, Payload, Phase, RecvBuf, SendBuf};
use core::ops::Range;

/// A framing as a [`Machine`]; its events are frames.
///
/// ```text
///           ┌──────── frames ───────┐
///           ▼                       │      end of input
///  ┌──────────────────┐  shut_down ┌┴─────────┐ ─────────▶ Ended     (next_io: Close)
///  │       Open       │ ─────────▶ │ Draining │ ─────────▶ ShutDown  (next_io: Linger)
///  └──────────────────┘            └──────────┘ what had come is done
///           │ the peer broke the framing │
///           └────────────┬───────────────┘
///                        ▼
///                      Failed (next_io: Linger, at the end of input Close)
/// ```
///
/// * At the end of input it is [`NextIo::Close`] once the frames that came are taken. Answers can still be sent: the peer
///   may have closed its direction only. An end inside a frame is [`Error::UnexpectedEof`]; between frames, a connection
///   that broke off ([`Eof::Truncated`](crate::Eof)) is as good as one that was closed, since no frame is missing a part:
///   [`RecvBuf::eof`] tells them apart.
/// * After [`shut_down`](Machine::shut_down) the frames that had begun to come are still delivered and can be answered,
///   nothing that begins later is.
///
/// ```
/// use bytewise::{Machine, RecvBuf, SendBuf};
/// use bytewise::framing::{DatagramPrefix, Frame, Framed};
///
/// let (mut rx, mut tx) = (RecvBuf::new(), SendBuf::new());
/// let mut frames = Framed::new(DatagramPrefix::new(1500));
/// rx.push(&[3, 1, 2, 3]);
/// if let Some(Frame::Data(frame)) = frames.next_event(&mut rx, &mut tx)? {
///     frame.iter_mut().for_each(|byte| *byte ^= 0x55); // a layer above may decrypt in place
///     frames.send(frame, &mut tx)?;
/// }
/// assert_eq!(tx.pending(), [3, 0x54, 0x57, 0x56]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Framed<F> {
    framing: F,
    state: State,
    /// Fewer unread bytes than this, at least one, cannot make a difference: spares the work per byte of tiny blocks.
    need: usize,
    /// Frames found, for [`Machine::phase`].
    frames: u32,
    /// Whether the next frame has begun to come.
    begun: bool,
}

#[derive(Debug, Clone, Copy)]
enum State {
    Open,
    /// Open, and something is found that is not lent out yet.
    Ready(Found),
    /// To be shut down once so many bytes are taken: what was unread when it was first looked at after `shut_down`.
    Draining {
        left: Option<usize>,
        found: Option<Found>,
    },
    ShutDown,
    Ended,
    Failed {
        error: Error,
        at_eof: bool,
    },
}

/// What to lend out, and what to consume with it.
#[derive(Debug, Clone, Copy)]
enum Found {
    Frame { start: usize, end: usize, consumed: usize },
    Oversize { skip: usize, len: u64 },
}

/// What one look came to.
enum Look {
    Frame {
        body: Range<usize>,
        consumed: usize,
    },
    /// There is nothing to say before more has come.
    Wait,
    /// Something else, if it was located already.
    Other(Option<Result<Located, Error>>),
}

impl<F: Framing> Framed<F> {
    /// Wraps a framing.
    pub const fn new(framing: F) -> Self {
        Self { framing, state: State::Open, need: 1, frames: 0, begun: false }
    }

    /// Sends one frame.
    ///
    /// # Errors
    ///
    /// The framing cannot carry it, or the machine was shut down; then `tx` is as it was.
    #[inline]
    pub fn send<'a>(&mut self, frame: impl Into<Payload<'a>>, tx: &mut SendBuf) -> Result<(), Misuse> {
        if matches!(self.state, State::ShutDown) {
            return Err(Misuse::Closed);
        }
        self.framing.encode(frame.into(), tx)
    }

    /// The framing.
    pub const fn framing(&self) -> &F {
        &self.framing
    }

    /// The framing, to change a limit. A frame that [`poll`](Machine::poll) found already is not looked at again.
    pub const fn framing_mut(&mut self) -> &mut F {
        self.need = 1;
        &mut self.framing
    }

    /// Goes on with another framing, which begins with what is unread: after a handshake in lines, say, or to change the
    /// width of a prefix. A frame that [`poll`](Machine::poll) found and that was not taken is still unread.
    pub fn switch<G: Framing>(self, framing: G) -> Framed<G> {
        let state = match self.state {
            State::Ready(_) => State::Open,
            State::Draining { left, .. } => State::Draining { left, found: None },
            state => state,
        };
        Framed { framing, state, need: 1, frames: self.frames, begun: self.begun }
    }

    /// One look: the next frame if it is open, nothing is found yet and one is there, as in by far most calls.
    #[inline(always)]
    fn look(&mut self, rx: &RecvBuf) -> Look {
        if !matches!(self.state, State::Open) {
            return Look::Other(None);
        }
        let unread = rx.unread();
        if unread.len() < self.need {
            return if rx.eof().is_none() { Look::Wait } else { Look::Other(None) };
        }
        match self.framing.locate(unread, rx.eof()) {
            Ok(Located::Frame { body, trailer }) => {
                self.count();
                Look::Frame { consumed: body.end + trailer, body }
            }
            located => Look::Other(Some(located)),
        }
    }

    /// What there is to say that is not simply the next frame.
    #[inline(never)]
    fn find_other(
        &mut self,
        located: Option<Result<Located, Error>>,
        rx: &mut RecvBuf,
    ) -> Result<Option<Found>, Error> {
        match self.state {
            State::Open => self.go_on(located, rx),
            State::Ready(found) => Ok(Some(found)),
            State::Draining { found: Some(found), .. } => Ok(Some(found)),
            State::Draining { left, found: None } => self.drain(left, rx),
            State::ShutDown | State::Ended => Ok(None),
            State::Failed { error, .. } => Err(error),
        }
    }

    /// Locates until there is something to say, from what was located already.
    fn go_on(&mut self, mut located: Option<Result<Located, Error>>, rx: &mut RecvBuf) -> Result<Option<Found>, Error> {
        loop {
            let next = located.take().unwrap_or_else(|| self.framing.locate(rx.unread(), rx.eof()));
            let found = match next {
                Ok(Located::Frame { body, trailer }) => {
                    Found::Frame { start: body.start, end: body.end, consumed: body.end + trailer }
                }
                Ok(Located::Oversize { skip, len }) => Found::Oversize { skip, len },
                Ok(Located::Skip(n)) => {
                    rx.take(n);
                    self.begun = true;
                    continue;
                }
                Ok(Located::Need(total)) => return self.wait_for(total, rx),
                Err(error) => return Err(self.fail(error, rx)),
            };
            self.count();
            return Ok(Some(found));
        }
    }

    /// A frame more is found.
    #[inline(always)]
    const fn count(&mut self) {
        (self.need, self.begun) = (1, false);
        self.frames = self.frames.wrapping_add(1);
    }

    fn wait_for(&mut self, total: usize, rx: &RecvBuf) -> Result<Option<Found>, Error> {
        let unread = rx.unread().len();
        self.begun |= unread > 0;
        if rx.eof().is_some() {
            if unread > 0 {
                return Err(self.fail(Error::UnexpectedEof { seen: unread as u64, expected: None }, rx));
            }
            self.state = State::Ended;
        } else if total > rx.bound() {
            return Err(self.fail(Error::BufferFull { max: rx.bound() }, rx));
        }
        self.need = total;
        Ok(None)
    }

    /// While shutting down.
    fn drain(&mut self, left: Option<usize>, rx: &mut RecvBuf) -> Result<Option<Found>, Error> {
        let unread = rx.unread().len();
        // A frame that is being skipped had begun, though nothing of it is unread: its end is still to be told.
        let left = left.unwrap_or(unread).max(usize::from(self.begun));
        if left == 0 {
            self.state = State::ShutDown;
            return Ok(None);
        }
        self.state = State::Draining { left: Some(left), found: None };
        let found = self.go_on(None, rx)?;
        if let State::Draining { left: still, .. } = &mut self.state {
            let skipped = unread - rx.unread().len();
            *still = Some(match found {
                Some(Found::Frame { consumed: n, .. } | Found::Oversize { skip: n, .. }) => {
                    left.saturating_sub(skipped + n)
                }
                None => left.saturating_sub(skipped),
            });
        }
        Ok(found)
    }

    /// Keeps what is found until it is lent out.
    fn keep(&mut self, kept: Found) {
        match &mut self.state {
            State::Draining { found, .. } => *found = Some(kept),
            state => *state = State::Ready(kept),
        }
    }

    /// Lends out what is found, which is then no longer kept.
    #[inline(always)]
    fn lend<'b>(&mut self, found: Found, rx: &'b mut RecvBuf) -> Frame<'b> {
        match &mut self.state {
            State::Draining { found, .. } => *found = None,
            State::Ready(_) => self.state = State::Open,
            _ => {}
        }
        match found {
            Found::Frame { start, end, consumed } => Frame::Data(rx.take_range(start..end, consumed)),
            Found::Oversize { skip, len } => {
                rx.take(skip);
                Frame::Oversize { len }
            }
        }
    }

    #[cold]
    fn fail(&mut self, error: Error, rx: &RecvBuf) -> Error {
        self.state = State::Failed { error, at_eof: rx.eof().is_some() };
        error
    }
}

impl<F: Framing> Machine for Framed<F> {
    type Event<'b> = Frame<'b>;
    type Error = Error;

    #[inline(always)]
    fn poll(&mut self, rx: &mut RecvBuf, _: &mut SendBuf) -> Result<bool, Error> {
        let located = match self.look(rx) {
            Look::Frame { body, consumed } => {
                self.state = State::Ready(Found::Frame { start: body.start, end: body.end, consumed });
                return Ok(true);
            }
            Look::Wait => return Ok(false),
            Look::Other(located) => located,
        };
        match self.find_other(located, rx)? {
            Some(found) => self.keep(found),
            None => return Ok(false),
        }
        Ok(true)
    }

    #[inline(always)]
    fn next_event<'b>(&mut self, rx: &'b mut RecvBuf, _: &mut SendBuf) -> Result<Option<Frame<'b>>, Error> {
        if let State::Ready(found) = self.state {
            return Ok(Some(self.lend(found, rx)));
        }
        let located = match self.look(rx) {
            Look::Frame { body, consumed } => return Ok(Some(Frame::Data(rx.take_range(body, consumed)))),
            Look::Wait => return Ok(None),
            Look::Other(located) => located,
        };
        let found = self.find_other(located, rx)?;
        Ok(found.map(|found| self.lend(found, rx)))
    }

    fn shut_down(&mut self, _: &mut SendBuf) {
        self.state = match self.state {
            State::Open => State::Draining { left: None, found: None },
            State::Ready(found) => State::Draining { left: None, found: Some(found) },
            state => state,
        };
    }

    #[inline]
    fn next_io(&self) -> NextIo {
        match self.state {
            State::Open | State::Ready(_) | State::Draining { .. } => NextIo::Read,
            State::ShutDown | State::Failed { at_eof: false, .. } => NextIo::Linger,
            State::Ended | State::Failed { at_eof: true, .. } => NextIo::Close,
        }
    }

    /// [`Phase::Body`] while a frame has begun to come, [`Phase::Idle`] between frames.
    #[inline]
    fn phase(&self) -> (Phase, u32) {
        let phase = match self.state {
            State::Open | State::Ready(_) | State::Draining { .. } if self.begun => Phase::Body,
            State::Open | State::Ready(_) | State::Draining { .. } => Phase::Idle,
            _ => Phase::Closing,
        };
        (phase, self.frames)
    }
}

/// A frame received.
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Frame<'b> {
    /// A frame; mutable, so that the next layer can decrypt in place.
    Data(&'b mut [u8]),
    /// One that was too long and was dropped; the next one follows.
    Oversize {
        /// Its length, without the delimiter.
        len: u64,
    },
}
