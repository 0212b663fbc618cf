use super::{Error, Framing, Located, Misuse};
use crate::{Machine, NextIo, Payload, Phase, RecvBuf, SendBuf};

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
    /// Found by `poll`, and not yet lent out.
    found: Option<Found>,
    /// Fewer unread bytes than this cannot make a difference: spares the work per byte of tiny blocks.
    need: usize,
    /// Frames found, for [`Machine::phase`].
    frames: u32,
    /// Whether a frame had begun when there was nothing more to find.
    partial: bool,
}

#[derive(Debug)]
enum State {
    Open,
    /// To be shut down once so many bytes are taken: what was unread when it was first polled after `shut_down`.
    Draining(Option<usize>),
    ShutDown,
    Ended,
    Failed {
        error: Error,
        at_eof: bool,
    },
}

/// What to lend out, and what to consume with it.
#[derive(Debug)]
enum Found {
    Frame { start: usize, end: usize, consumed: usize },
    Oversize { skip: usize, len: u64 },
}

impl<F: Framing> Framed<F> {
    /// Wraps a framing.
    pub const fn new(framing: F) -> Self {
        Self { framing, state: State::Open, found: None, need: 0, frames: 0, partial: false }
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
        self.need = 0;
        &mut self.framing
    }

    /// Goes on with another framing, which begins with what is unread: after a handshake in lines, say, or to change the
    /// width of a prefix. A frame that [`poll`](Machine::poll) found and that was not taken is still unread.
    pub fn switch<G: Framing>(self, framing: G) -> Framed<G> {
        Framed { framing, state: self.state, found: None, need: 0, frames: self.frames, partial: self.partial }
    }

    /// Looks for the next frame, or something else to say.
    #[inline(always)]
    fn find(&mut self, rx: &mut RecvBuf) -> Result<Option<Found>, Error> {
        if !matches!(self.state, State::Open) {
            return self.find_last(rx);
        }
        let unread = rx.unread();
        if unread.len() < self.need && rx.eof().is_none() {
            self.partial = !unread.is_empty();
            return Ok(None);
        }
        match self.framing.locate(unread, rx.eof()) {
            Ok(Located::Frame { body, trailer }) => Ok(Some(self.frame(body.start, body.end, trailer))),
            located => self.other(located, rx),
        }
    }

    #[inline(always)]
    fn frame(&mut self, start: usize, end: usize, trailer: usize) -> Found {
        self.need = 0;
        self.frames = self.frames.wrapping_add(1);
        Found::Frame { start, end, consumed: end + trailer }
    }

    /// Everything but a frame at the first look.
    #[inline(never)]
    fn other(&mut self, mut located: Result<Located, Error>, rx: &mut RecvBuf) -> Result<Option<Found>, Error> {
        loop {
            self.need = 0;
            match located {
                Ok(Located::Frame { body, trailer }) => return Ok(Some(self.frame(body.start, body.end, trailer))),
                Ok(Located::Oversize { skip, len }) => {
                    self.frames = self.frames.wrapping_add(1);
                    return Ok(Some(Found::Oversize { skip, len }));
                }
                Ok(Located::Skip(n)) => {
                    rx.take(n);
                }
                Ok(Located::Need(total)) => return self.wait_for(total, rx),
                Err(error) => return Err(self.fail(error, rx)),
            }
            located = self.framing.locate(rx.unread(), rx.eof());
        }
    }

    fn wait_for(&mut self, total: usize, rx: &RecvBuf) -> Result<Option<Found>, Error> {
        let unread = rx.unread().len();
        self.partial = unread > 0;
        if rx.eof().is_some() {
            if unread > 0 {
                return Err(self.fail(Error::UnexpectedEof { seen: unread as u64, expected: None }, rx));
            }
            self.state = State::Ended;
        } else if total.saturating_sub(unread) > rx.room() {
            let max = unread.saturating_add(rx.room());
            return Err(self.fail(Error::TooLong { len: total as u64, max }, rx));
        }
        self.need = total;
        Ok(None)
    }

    /// While shutting down, and after the end or an error.
    #[cold]
    fn find_last(&mut self, rx: &mut RecvBuf) -> Result<Option<Found>, Error> {
        let State::Draining(left) = self.state else {
            return match self.state {
                State::Failed { error, .. } => Err(error),
                _ => Ok(None),
            };
        };
        let unread = rx.unread().len();
        let left = left.unwrap_or(unread);
        if left == 0 {
            self.state = State::ShutDown;
            return Ok(None);
        }
        self.state = State::Draining(Some(left));
        let located = self.framing.locate(rx.unread(), rx.eof());
        let found = self.other(located, rx)?;
        if matches!(self.state, State::Draining(_)) {
            let skipped = unread - rx.unread().len();
            let left = match found {
                Some(Found::Frame { consumed: n, .. } | Found::Oversize { skip: n, .. }) => {
                    left.saturating_sub(skipped + n)
                }
                // A frame that is being skipped had begun: its end is still to be told.
                None => left.saturating_sub(skipped).max(1),
            };
            self.state = State::Draining(Some(left));
        }
        Ok(found)
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
        if self.found.is_none() {
            self.found = self.find(rx)?;
        }
        Ok(self.found.is_some())
    }

    #[inline(always)]
    fn next_event<'b>(&mut self, rx: &'b mut RecvBuf, _: &mut SendBuf) -> Result<Option<Frame<'b>>, Error> {
        let found = match self.found.take() {
            Some(found) => Some(found),
            None => self.find(rx)?,
        };
        Ok(match found {
            Some(Found::Frame { start, end, consumed }) => Some(Frame::Data(&mut rx.take(consumed)[start..end])),
            Some(Found::Oversize { skip, len }) => {
                rx.take(skip);
                Some(Frame::Oversize { len })
            }
            None => None,
        })
    }

    fn shut_down(&mut self, _: &mut SendBuf) {
        if matches!(self.state, State::Open) {
            self.state = State::Draining(None);
        }
    }

    #[inline]
    fn next_io(&self) -> NextIo {
        match self.state {
            State::Open | State::Draining(_) => NextIo::Read,
            State::ShutDown | State::Failed { at_eof: false, .. } => NextIo::Linger,
            State::Ended | State::Failed { at_eof: true, .. } => NextIo::Close,
        }
    }

    /// [`Phase::Body`] while a frame has begun to come, [`Phase::Idle`] between frames.
    #[inline]
    fn phase(&self) -> (Phase, u32) {
        let phase = match self.state {
            State::Open | State::Draining(_) if self.partial => Phase::Body,
            State::Open | State::Draining(_) => Phase::Idle,
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
