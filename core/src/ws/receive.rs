//! What is received: every state, every frame, every piece.

use super::{
    Connection, Delivery, Error, Event, Kind,
    close::{self, Fault},
    connection::State,
    frame::{MAX_CONTROL, Opcode, extended_length},
    mask::apply_mask,
    utf8::{Utf8Cut, extend_valid},
};
use crate::{RecvBuf, SendBuf};

/// A binary payload in place that is not complete is unmasked in blocks of at least this size.
const UNMASK_BLOCK: usize = 4096;

/// Output of one step where compressed messages are handed over in pieces.
const INFLATED_CHUNK: usize = 64 * 1024;

/// Memory of assembled messages that is kept for the next one.
const KEEP: usize = 256 * 1024;

/// Where a payload goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    /// A whole message in one frame: stays in place, is lent out from there.
    InPlace(Kind),
    /// Moved to the scratch area as it comes.
    Assemble {
        kind: Kind,
        last: bool,
    },
    /// Inflated into the scratch area as it comes.
    Inflate {
        kind: Kind,
        last: bool,
    },
    /// Lent out as it comes.
    Chunks {
        kind: Kind,
        last: bool,
    },
    /// Inflated and lent out as it comes.
    InflateChunks {
        kind: Kind,
        last: bool,
    },
    Ping,
    Pong,
    Close,
}

/// A payload of which a part may be still to come; what is left of it starts at `unread()[0]`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Payload {
    target: Target,
    /// Rotated so that it fits the first byte that is not consumed.
    mask: [u8; 4],
    /// Bytes not consumed.
    remaining: u64,
    /// Bytes of the frame consumed, the header included.
    consumed: u64,
    /// Bytes unmasked in place.
    done: usize,
    /// Of these, bytes known to be UTF-8.
    valid: usize,
}

/// What an event is made of: a kind and a length, so nothing is borrowed while the machine runs.
#[derive(Debug, Clone, Copy)]
pub(super) enum Step {
    InPlace(Kind, usize),
    Assembled(Kind),
    /// With what is left of the payload after it, or what is wrong there.
    Chunk {
        kind: Kind,
        len: usize,
        last: bool,
        rest: Result<Payload, Error>,
    },
    /// In the scratch area.
    InflatedChunk {
        kind: Kind,
        last: bool,
        rest: Result<Payload, Error>,
    },
    Ping(usize),
    Pong(usize),
    Close(usize),
}

/// The message whose frames are coming.
#[derive(Debug, Clone, Copy)]
pub(super) struct Incoming {
    kind: Kind,
    compressed: bool,
    frames: u32,
}

/// A message in one frame that is all there.
pub(super) struct Whole {
    pub(super) kind: Kind,
    /// Zero if there is none.
    pub(super) mask: [u8; 4],
    /// Length of the frame header.
    pub(super) header: usize,
    /// Length of the payload.
    pub(super) len: usize,
}

/// A frame header that was found to be in order.
struct Admitted {
    target: Target,
    mask: [u8; 4],
    len: u64,
    /// Length of the header itself.
    size: usize,
}

/// Whether a payload is at its end.
enum Taken {
    /// More is needed.
    Part,
    All,
    /// Something is to be lent out.
    Ready(Step),
}

impl Connection {
    /// What nearly every message is: one frame below 64 KiB that is all there. Anything else, and anything wrong, is
    /// [`advance`](Self::advance)'s; but of a small binary one that a block cut off it is said here how much it needs.
    #[inline(always)]
    pub(super) fn whole_message(&mut self, rx: &RecvBuf) -> Option<Whole> {
        let unread = rx.unread();
        if !matches!(self.state, State::Between) {
            return None;
        }
        let (b0, header, len, mask) = if self.is_server() {
            let (&[b0, b1, b2, b3, b4, b5, b6, b7], _) = unread.split_first_chunk()?;
            match b1 {
                0x80..=0xFD => (b0, 6, usize::from(b1 & 0x7F), [b2, b3, b4, b5]),
                0xFE => (b0, 8, long(b2, b3)?, [b4, b5, b6, b7]),
                _ => return None,
            }
        } else {
            let (&[b0, b1, b2, b3], _) = unread.split_first_chunk()?;
            match b1 {
                0..126 => (b0, 2, usize::from(b1), [0; 4]),
                126 => (b0, 4, long(b2, b3)?, [0; 4]),
                _ => return None,
            }
        };
        let kind = match b0 {
            0x82 => Kind::Binary,
            0x81 => Kind::Text,
            _ => return None,
        };
        if len > self.max_message {
            return None;
        }
        if header + len > unread.len() {
            if matches!(kind, Kind::Binary) && len < UNMASK_BLOCK && header + len <= rx.bound() {
                self.need = header + len;
            }
            return None;
        }
        Some(Whole { kind, mask, header, len })
    }

    /// Gets to [`State::Ready`] if it can.
    #[inline(never)]
    pub(super) fn find(&mut self, rx: &mut RecvBuf, tx: &mut SendBuf) -> Result<bool, Error> {
        self.need = 0;
        self.advance(rx).map_err(|error| self.fail(error, tx))
    }

    fn advance(&mut self, rx: &mut RecvBuf) -> Result<bool, Error> {
        loop {
            match &mut self.state {
                State::Ready(_) => return Ok(true),
                State::Finished => return Ok(false),
                State::Failed(error) => return Err(*error),
                State::AwaitsEnd => {
                    // Nothing counts after the close frame (RFC 6455, section 5.5.1).
                    let rest = rx.unread().len();
                    rx.take(rest);
                    if rx.eof().is_some() {
                        self.state = State::Finished;
                    }
                    return Ok(false);
                }
                State::Lent => {
                    let scratch = rx.parts().1;
                    scratch.clear();
                    if scratch.capacity() > KEEP {
                        *scratch = Default::default();
                    }
                    self.scratch_valid = 0;
                    self.state = self.between();
                }
                State::LentPiece(payload) => {
                    rx.parts().1.clear();
                    self.state = State::Payload((*payload)?);
                }
                State::Between | State::Header => {
                    let Some(header) = self.admit(rx)? else {
                        // In a buffer that is full before, it is looked at once more.
                        self.need = needed_for_header(rx.unread()).min(rx.bound());
                        return starved(rx, rx.unread().len() as u64, None);
                    };
                    let frame = (header.size as u64).saturating_add(header.len);
                    if header.is_taken_whole() && (rx.unread().len() as u64) < frame {
                        self.need = frame as usize;
                        return starved(rx, rx.unread().len() as u64, Some(frame));
                    }
                    rx.take(header.size);
                    self.begin_frame(header.target);
                    self.state = State::Payload(Payload {
                        target: header.target,
                        mask: header.mask,
                        remaining: header.len,
                        consumed: header.size as u64,
                        done: 0,
                        valid: 0,
                    });
                }
                State::Payload(_) => match self.take_in(rx)? {
                    Taken::Ready(step) => self.state = State::Ready(step),
                    Taken::All => self.state = self.between(),
                    Taken::Part => {
                        let State::Payload(payload) = &self.state else { continue };
                        let available = rx.unread().len() as u64;
                        self.need = payload.need();
                        let seen = payload.consumed + available.min(payload.remaining);
                        return starved(rx, seen, Some(payload.consumed + payload.remaining));
                    }
                },
            }
        }
    }

    /// Reads a frame header, each byte judged when it is there (RFC 6455, section 5.2).
    fn admit(&self, rx: &RecvBuf) -> Result<Option<Admitted>, Error> {
        let unread = rx.unread();
        let Some(&b0) = unread.first() else { return Ok(None) };
        let target = self.target(b0)?;
        let Some(&b1) = unread.get(1) else { return Ok(None) };
        // RFC 6455, section 5.1.
        if (b1 & 0x80 != 0) != self.is_server() {
            return Err(Error::Masking);
        }
        let seven = b1 & 0x7F;
        match target {
            Target::Close if seven == 1 => return Err(Error::CloseFrame),
            Target::Close | Target::Ping | Target::Pong if usize::from(seven) > MAX_CONTROL => {
                return Err(Error::ControlFrame);
            }
            _ => {}
        }
        let Some((len, rest)) = extended_length(seven, &unread[2..])? else { return Ok(None) };
        let held = match target {
            Target::InPlace(_) => Some(0),
            // What is in the scratch area counts.
            Target::Assemble { .. } => Some(self.assembled),
            _ => None,
        };
        if held.is_some_and(|held| len > self.max_message.saturating_sub(held) as u64) {
            return Err(Error::TooBig);
        }
        let (mask, rest) = match rest.split_first_chunk() {
            _ if !self.is_server() => ([0; 4], rest),
            Some((mask, rest)) => (*mask, rest),
            None => return Ok(None),
        };
        let size = unread.len() - rest.len();
        let in_place = matches!(target, Target::InPlace(_) | Target::Close | Target::Ping | Target::Pong);
        if in_place && len > rx.bound().saturating_sub(size) as u64 {
            return Err(Error::TooBig);
        }
        Ok(Some(Admitted { target, mask, len, size }))
    }

    /// What the first byte of a frame says, and whether that can be now.
    fn target(&self, b0: u8) -> Result<Target, Error> {
        let (last, rsv) = (b0 & 0x80 != 0, b0 & 0x70);
        // Of the reserved bits, only the first, on the first frame of a message (RFC 7692, section 6).
        let begins = matches!(b0 & 0x0F, 1 | 2);
        if rsv != 0 && !(rsv == 0x40 && begins && self.compression.is_on()) {
            return Err(Error::ReservedBits);
        }
        let opcode = Opcode::new(b0 & 0x0F).ok_or(Error::Opcode)?;
        let (kind, compressed, first) = match (opcode, self.incoming) {
            (Opcode::Close | Opcode::Ping | Opcode::Pong, _) if !last => return Err(Error::ControlFrame),
            (Opcode::Close, _) => return Ok(Target::Close),
            (Opcode::Ping, _) => return Ok(Target::Ping),
            (Opcode::Pong, _) => return Ok(Target::Pong),
            (Opcode::Continuation, Some(message)) if message.frames >= self.max_fragments => {
                return Err(Error::TooManyFragments);
            }
            (Opcode::Continuation, Some(message)) => (message.kind, message.compressed, false),
            (Opcode::Text, None) => (Kind::Text, rsv != 0, true),
            (Opcode::Binary, None) => (Kind::Binary, rsv != 0, true),
            _ => return Err(Error::Fragmentation),
        };
        Ok(match (self.delivery, compressed) {
            (Delivery::Messages, false) if first && last => Target::InPlace(kind),
            (Delivery::Messages, false) => Target::Assemble { kind, last },
            (Delivery::Messages, true) => Target::Inflate { kind, last },
            (Delivery::Chunks, false) => Target::Chunks { kind, last },
            (Delivery::Chunks, true) => Target::InflateChunks { kind, last },
        })
    }

    /// A header was consumed.
    fn begin_frame(&mut self, target: Target) {
        let (kind, compressed) = match target {
            Target::Assemble { kind, .. } | Target::Chunks { kind, .. } => (kind, false),
            Target::Inflate { kind, .. } | Target::InflateChunks { kind, .. } => (kind, true),
            _ => return,
        };
        let message = self.incoming.get_or_insert(Incoming { kind, compressed, frames: 0 });
        message.frames += 1;
    }

    /// The state before a frame.
    pub(super) const fn between(&self) -> State {
        match (self.incoming, self.delivery) {
            (None, Delivery::Messages) => State::Between,
            _ => State::Header,
        }
    }

    /// Takes in what has arrived of the payload since the last call.
    fn take_in(&mut self, rx: &mut RecvBuf) -> Result<Taken, Error> {
        let State::Payload(payload) = &mut self.state else { return Ok(Taken::Part) };
        let ready = usize::try_from(payload.remaining).map_or(rx.unread().len(), |n| n.min(rx.unread().len()));
        let whole = ready as u64 == payload.remaining;
        // What is assembled is held in `rx`, and has to fit.
        let bound = rx.bound();
        let (unread, scratch) = rx.parts();
        let max_inflated = self.max_message.min(bound.saturating_add(scratch.len()));
        if self.role.is_server() {
            apply_mask(&mut unread[payload.done..ready], payload.mask, payload.done as u64);
        }
        payload.done = ready;
        match payload.target {
            Target::InPlace(kind) => {
                if kind == Kind::Text && !extend_valid(&unread[..ready], &mut payload.valid, whole) {
                    return Err(Error::Utf8);
                }
                Ok(if whole { Taken::Ready(Step::InPlace(kind, ready)) } else { Taken::Part })
            }
            Target::Ping => Ok(Taken::Ready(Step::Ping(ready))),
            Target::Pong => Ok(Taken::Ready(Step::Pong(ready))),
            Target::Close => match close::parse(&unread[..ready]) {
                Ok(_) => Ok(Taken::Ready(Step::Close(ready))),
                Err(Fault::Frame) => Err(Error::CloseFrame),
                Err(Fault::Utf8) => Err(Error::Utf8),
            },
            Target::Assemble { kind, last } => {
                scratch.extend_from_slice(&unread[..ready]);
                self.assembled = scratch.len();
                if kind == Kind::Text && !extend_valid(scratch, &mut self.scratch_valid, whole && last) {
                    return Err(Error::Utf8);
                }
                payload.consume(ready, rx);
                Ok(self.after_piece(kind, whole, last))
            }
            Target::Inflate { kind, last } => {
                let mut inflated = self.compression.inflate(&unread[..ready], scratch, max_inflated);
                if whole && last && inflated.is_ok() {
                    inflated = self.compression.finish_inflating(scratch);
                }
                // A byte that cannot be comes before what is wrong behind it, as if it had come alone.
                let complete = whole && last && inflated.is_ok();
                let known = scratch.len().min(max_inflated);
                if kind == Kind::Text && !extend_valid(&scratch[..known], &mut self.scratch_valid, complete) {
                    return Err(Error::Utf8);
                }
                inflated?;
                payload.consume(ready, rx);
                Ok(self.after_piece(kind, whole, last))
            }
            Target::Chunks { kind, last } => {
                let last = whole && last;
                let (mut len, mut fault) = (ready, None);
                if kind == Kind::Text {
                    (len, fault) = follow(&mut self.text_cut, &unread[..ready], last);
                }
                match fault {
                    Some(error) if len == 0 => return Err(error),
                    None if ready == 0 && !last => return Ok(if whole { Taken::All } else { Taken::Part }),
                    _ => {}
                }
                let (last, rest) = (last && fault.is_none(), fault.map_or(Ok(payload.after(len)), Err));
                if last {
                    self.incoming = None;
                }
                Ok(Taken::Ready(Step::Chunk { kind, len, last, rest }))
            }
            Target::InflateChunks { kind, last } => {
                let mut fault = None;
                let taken = self.compression.inflate_some(&unread[..ready], scratch, INFLATED_CHUNK);
                let taken = taken.unwrap_or_else(|error| {
                    fault = Some(error);
                    ready
                });
                let all = fault.is_none() && whole && taken == ready && scratch.len() < INFLATED_CHUNK;
                let mut last = all && last;
                if last && let Err(error) = self.compression.finish_inflating(scratch) {
                    (last, fault) = (false, Some(error));
                }
                if kind == Kind::Text {
                    let (len, earlier) = follow(&mut self.text_cut, scratch, last);
                    scratch.truncate(len);
                    fault = earlier.or(fault);
                    last &= fault.is_none();
                }
                let nothing = scratch.is_empty();
                // What came out before the fault is handed over first, as if it had come alone.
                if let Some(error) = fault
                    && nothing
                {
                    return Err(error);
                }
                payload.consume(taken, rx);
                let rest = fault.map_or(Ok(*payload), Err);
                if last {
                    self.incoming = None;
                }
                Ok(match nothing && !last {
                    true if all => Taken::All,
                    true => Taken::Part,
                    false => Taken::Ready(Step::InflatedChunk { kind, last, rest }),
                })
            }
        }
    }

    /// A piece went to the scratch area.
    fn after_piece(&mut self, kind: Kind, whole: bool, last: bool) -> Taken {
        if whole && last {
            self.incoming = None;
            self.assembled = 0;
            return Taken::Ready(Step::Assembled(kind));
        }
        if whole { Taken::All } else { Taken::Part }
    }

    /// Lends out what was found.
    #[inline(never)]
    pub(super) fn resolve<'b>(&mut self, step: Step, rx: &'b mut RecvBuf, tx: &mut SendBuf) -> Event<'b> {
        self.events = self.events.wrapping_add(1);
        self.state = match step {
            Step::Assembled(_) | Step::InflatedChunk { last: true, .. } => State::Lent,
            // Also one of which nothing is left: there may be more to inflate.
            Step::InflatedChunk { rest, .. } => State::LentPiece(rest),
            Step::Chunk { rest: Ok(rest), .. } if rest.remaining > 0 => State::Payload(rest),
            Step::Chunk { rest: Err(error), .. } => State::LentPiece(Err(error)),
            _ => self.between(),
        };
        match step {
            Step::InPlace(Kind::Binary, n) => Event::Binary(rx.take(n)),
            Step::InPlace(Kind::Text, n) => Event::Text(checked_text(rx.take(n))),
            Step::Assembled(Kind::Text) => Event::Text(checked_text(rx.parts().1)),
            Step::Assembled(Kind::Binary) => Event::Binary(rx.parts().1),
            Step::Chunk { kind, len, last, .. } => Event::Chunk { kind, data: rx.take(len), last },
            Step::InflatedChunk { kind, last, .. } => Event::Chunk { kind, data: rx.parts().1, last },
            Step::Pong(n) => Event::Pong(rx.take(n)),
            Step::Ping(n) => {
                let payload = &*rx.take(n);
                self.answer_ping(payload, tx);
                Event::Ping(payload)
            }
            Step::Close(n) => {
                let payload = &*rx.take(n);
                let frame = close::parse(payload).ok().flatten();
                self.answer_close(frame, tx);
                Event::Close(frame)
            }
        }
    }
}

impl Payload {
    /// `n` unmasked bytes are consumed.
    fn consume(&mut self, n: usize, rx: &mut RecvBuf) {
        *self = self.after(n);
        rx.take(n);
    }

    /// What is left after `n` unmasked bytes.
    fn after(mut self, n: usize) -> Self {
        self.remaining -= n as u64;
        self.consumed += n as u64;
        self.mask.rotate_left(n % 4);
        self.done -= n;
        self.valid = 0;
        self
    }

    /// How many unread bytes make another call worth while. What can fail, or is not held, is looked at as it comes.
    fn need(&self) -> usize {
        let next = self.done + 1;
        match self.target {
            Target::InPlace(Kind::Binary) => {
                let block = self.done + UNMASK_BLOCK;
                usize::try_from(self.remaining).map_or(block, |remaining| remaining.min(block)).max(next)
            }
            _ => next,
        }
    }
}

impl Admitted {
    /// A small payload that stays in place is taken in one go when it is all there; for text, that would be late to fail.
    fn is_taken_whole(&self) -> bool {
        match self.target {
            Target::InPlace(Kind::Binary) => self.len < UNMASK_BLOCK as u64,
            Target::Close | Target::Ping | Target::Pong => true,
            _ => false,
        }
    }
}

/// A length of 16 bits, if it needs them.
#[inline(always)]
fn long(high: u8, low: u8) -> Option<usize> {
    let len = usize::from(u16::from_be_bytes([high, low]));
    (len >= 126).then_some(len)
}

/// How many bytes it takes to say more about a header that is cut off.
fn needed_for_header(unread: &[u8]) -> usize {
    let Some(b1) = unread.get(1) else { return unread.len() + 1 };
    let mask = if b1 & 0x80 == 0 { 0 } else { 4 };
    let length = match b1 & 0x7F {
        126 => 4,
        127 => 10,
        _ => 2,
    };
    if unread.len() < length { length } else { length + mask }
}

/// More input is needed; at its end, or in a full buffer, there is none.
fn starved(rx: &RecvBuf, seen: u64, expected: Option<u64>) -> Result<bool, Error> {
    if rx.eof().is_some() {
        return Err(Error::UnexpectedEof { seen, expected });
    }
    if rx.is_full() { Err(Error::TooBig) } else { Ok(false) }
}

/// Goes on with a text whose pieces are not kept: how many bytes of the piece can be, and what is wrong behind them.
fn follow(text: &mut Utf8Cut, piece: &[u8], last: bool) -> (usize, Option<Error>) {
    match text.then(piece) {
        Ok(cut) => {
            *text = cut;
            (piece.len(), (last && !cut.is_complete()).then_some(Error::Utf8))
        }
        Err(len) => (len, Some(Error::Utf8)),
    }
}

/// Without `unsafe`, a `str` costs a second check; with SIMD that is less than the copy to the socket.
#[inline]
pub(super) fn checked_text(bytes: &[u8]) -> &str {
    simdutf8::basic::from_utf8(bytes).unwrap_or_default()
}
