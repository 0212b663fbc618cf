use alloc::{vec, vec::Vec};
use core::{fmt, ops::Range};

/// Received bytes that are not consumed yet.
///
/// ```text
///  0          start    end              len
///  | consumed | unread | space          |      scratch: what was not contiguous on the wire
///             └─ take ─▶└─ filled ─▶
/// ```
///
/// Nothing is allocated before the first read; then 4 KiB, doubling towards the read-ahead bound while reads fill the
/// space. The memory is initialised once, when it grows, and never again: [`space`](Self::space) is an ordinary
/// `&mut [u8]`, which every reader accepts (`std::io::Read`, `futures_io::AsyncRead`, `tokio::io::ReadBuf::new`, `recv(2)`).
///
/// It moves bytes only when that moves no more of them than were consumed since, so that the work stays linear whatever
/// the blocks. Beyond the read-ahead it grows as bytes come, never because a peer announces them: where messages do not fit,
/// or, up to four times the read-ahead, where what reads cut off of them is more than an eighth of it. Memory that a peak
/// needed is given back once [`CALM_ROUNDS`](Self::CALM_ROUNDS) rounds did without, or at once by [`shrink`](Self::shrink).
///
/// ```
/// use bytewise::{Eof, RecvBuf};
/// use std::io::Read;
///
/// let mut socket = &b"some bytes"[..];
/// let mut rx = RecvBuf::new();
/// loop {
///     match socket.read(rx.space())? {
///         0 => break rx.set_eof(Eof::Clean),
///         n => rx.filled(n),
///     }
/// }
/// assert_eq!(rx.take(5), b"some ");
/// assert_eq!(rx.unread(), b"bytes");
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct RecvBuf {
    /// Initialised throughout; its length is the capacity in use.
    bytes: Vec<u8>,
    start: usize,
    end: usize,
    scratch: Vec<u8>,
    initial: usize,
    read_ahead: usize,
    max: usize,
    eof: Option<Eof>,
    /// Rounds in a row that would have done without the memory of a peak.
    pub(crate) calm: u8,
}

impl RecvBuf {
    /// Size of the first allocation, unless set: 4 KiB.
    pub const INITIAL: usize = 4096;
    /// Most space given out per read, unless set: 64 KiB.
    pub const READ_AHEAD: usize = 64 * 1024;
    /// After so many rounds that needed no more than the read-ahead, memory above four times as much is given back.
    pub const CALM_ROUNDS: u8 = 16;

    /// Empty, without an allocation. No bound of its own: the limits of the machine bound it.
    pub const fn new() -> Self {
        Self::with_limits(Self::INITIAL, Self::READ_AHEAD, usize::MAX)
    }

    /// With a first allocation of `initial` bytes, at most `read_ahead` bytes of space given out per read, and at most
    /// `max` bytes held (unread and scratch). The memory behind them is at most twice `max`.
    ///
    /// `max` should be above the limits of the machine, frame and prefix: a frame that does not fit is an error.
    ///
    /// # Panics
    ///
    /// If one of them is zero, or `initial` is above `max`. [`set_limits`](Self::set_limits) returns an error instead.
    pub const fn with_limits(initial: usize, read_ahead: usize, max: usize) -> Self {
        assert!(initial > 0 && read_ahead > 0 && max > 0, "a receive buffer needs room");
        assert!(initial <= max, "the first allocation is above the bound");
        Self { bytes: Vec::new(), start: 0, end: 0, scratch: Vec::new(), initial, read_ahead, max, eof: None, calm: 0 }
    }

    /// Changes what [`with_limits`](Self::with_limits) sets. Memory held without content is freed, so that the next read
    /// allocates by the new limits.
    ///
    /// # Errors
    ///
    /// If one of them is zero, `initial` is above `max`, or the buffer holds bytes. Then nothing is changed.
    pub fn set_limits(&mut self, initial: usize, read_ahead: usize, max: usize) -> Result<(), LimitsError> {
        if initial == 0 || read_ahead == 0 || max == 0 {
            return Err(LimitsError::Zero);
        }
        if initial > max {
            return Err(LimitsError::InitialAboveMax);
        }
        if !self.is_idle() {
            return Err(LimitsError::InUse);
        }
        *self = Self { eof: self.eof, ..Self::with_limits(initial, read_ahead, max) };
        Ok(())
    }

    // The transport's side.

    /// Initialised space to read into; follow with [`filled`](Self::filled).
    ///
    /// It is empty only at the bound, when [`is_full`](Self::is_full): take events first, and never read into an empty
    /// slice, which would look like the end of input.
    #[inline]
    pub fn space(&mut self) -> &mut [u8] {
        let size = self.bytes.len();
        if size - self.end < self.read_ahead.min(size / 2 + 1) {
            self.make_space();
        } else if self.start == self.end {
            self.rewind();
        }
        let end = self.end + self.space_len();
        &mut self.bytes[self.end..end]
    }

    /// The first `n` bytes of [`space`](Self::space) now hold input.
    ///
    /// # Panics
    ///
    /// If `n` is more than the space.
    #[inline]
    pub fn filled(&mut self, n: usize) {
        assert!(n <= self.space_len(), "filled more than the space given out");
        self.end += n;
    }

    /// Appends a block that was received elsewhere: one copy.
    ///
    /// The bound is for [`space`](Self::space), not for this: the block is all appended, since its bytes are here anyway.
    /// Drain the buffer before the next one when it [`is_full`](Self::is_full).
    #[inline]
    pub fn push(&mut self, block: &[u8]) {
        if self.start == self.end {
            self.rewind();
        }
        if self.bytes.len() - self.end < block.len() {
            self.make_room(block.len());
        }
        self.bytes[self.end..][..block.len()].copy_from_slice(block);
        self.end += block.len();
    }

    /// Gives a block out to be read into from its beginning: to an operation that completes later (io_uring), or to a
    /// pool. Unread bytes stay. Follow with [`restore`](Self::restore).
    ///
    /// With nothing unread it is the buffer's own memory; otherwise, or if there is none, or if the last read filled it
    /// and it is to grow, a new block. As [`space`](Self::space), it is empty only at the bound.
    pub fn lend(&mut self) -> Vec<u8> {
        let size = self.bytes.len();
        let doubled = size.saturating_mul(2).min(self.read_ahead).max(self.initial);
        if self.start < self.end {
            return vec![0; doubled.min(self.room())];
        }
        let full = self.end == size && size < self.read_ahead;
        self.rewind();
        let own = core::mem::take(&mut self.bytes);
        if full { vec![0; doubled] } else { own }
    }

    /// Takes a block back, of which the first `filled` bytes are input. It becomes the buffer's memory without a copy if
    /// nothing is unread, else its input is appended with one.
    ///
    /// # Panics
    ///
    /// If `filled > block.len()`.
    pub fn restore(&mut self, block: Vec<u8>, filled: usize) {
        assert!(filled <= block.len(), "filled more than the block has");
        if self.start < self.end {
            self.push(&block[..filled]);
        } else if filled > 0 || block.len() >= self.bytes.len() {
            self.bytes = block;
            (self.start, self.end) = (0, filled);
        }
    }

    /// The peer will send nothing more. What that means is the machine's affair: poll it.
    pub const fn set_eof(&mut self, eof: Eof) {
        self.eof = Some(eof);
    }

    /// Whether it holds nothing, in the scratch area neither, so that its memory can be freed or lent.
    #[inline]
    pub const fn is_idle(&self) -> bool {
        self.start == self.end && self.scratch.is_empty()
    }

    /// Bytes of memory behind it, in use or not.
    #[inline]
    pub const fn capacity(&self) -> usize {
        self.bytes.len() + self.scratch.capacity()
    }

    /// Gives memory back that is above the first allocation and not in use; all of it if nothing is unread.
    pub fn shrink(&mut self) {
        self.scratch.shrink_to_fit();
        let unread = self.end - self.start;
        if unread == 0 {
            self.bytes = Vec::new();
            (self.start, self.end) = (0, 0);
        } else if unread.max(self.initial) < self.bytes.len() {
            self.resize(unread.max(self.initial));
        }
        self.calm = 0;
    }

    // The machine's side.

    /// Bytes not yet consumed.
    #[inline]
    pub fn unread(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    /// Whether the bound is reached: a machine that needs more input has to fail.
    #[inline]
    pub const fn is_full(&self) -> bool {
        self.room() == 0
    }

    /// How input ended, if it has.
    #[inline]
    pub const fn eof(&self) -> Option<Eof> {
        self.eof
    }

    /// Consumes `n` bytes and lends them out; ignore them to skip. They stay in place as long as the borrow lasts.
    ///
    /// # Panics
    ///
    /// If fewer are unread.
    #[inline]
    pub fn take(&mut self, n: usize) -> &mut [u8] {
        assert!(n <= self.end - self.start, "took more than was unread");
        let from = self.start;
        self.start += n;
        &mut self.bytes[from..from + n]
    }

    /// Unread bytes, to decrypt in place, and the scratch area, to assemble in what is not contiguous.
    ///
    /// The scratch area is a machine's to fill and to clear; what it holds counts towards the bound.
    #[inline]
    pub fn parts(&mut self) -> (&mut [u8], &mut Vec<u8>) {
        (&mut self.bytes[self.start..self.end], &mut self.scratch)
    }

    /// Consumes `n` bytes and lends `range` of them out.
    #[inline]
    pub(crate) fn take_range(&mut self, range: Range<usize>, n: usize) -> &mut [u8] {
        assert!(range.end <= n && n <= self.end - self.start, "took more than was unread");
        let from = self.start;
        self.start += n;
        &mut self.bytes[from + range.start..from + range.end]
    }

    /// Most bytes that may be unread.
    #[inline]
    pub(crate) const fn bound(&self) -> usize {
        self.max.saturating_sub(self.scratch.len())
    }

    /// How many more bytes may be held.
    #[inline]
    const fn room(&self) -> usize {
        self.max.saturating_sub(self.end - self.start).saturating_sub(self.scratch.len())
    }

    #[inline]
    fn space_len(&self) -> usize {
        (self.bytes.len() - self.end).min(self.read_ahead).min(self.room())
    }

    /// Starts at the beginning again: nothing is unread.
    #[inline]
    fn rewind(&mut self) {
        if self.bytes.len() > self.peak() {
            self.calm_down();
        }
        (self.start, self.end) = (0, 0);
    }

    /// More memory than this is a peak's.
    const fn peak(&self) -> usize {
        let keep = self.read_ahead.saturating_mul(4);
        if keep > self.initial { keep } else { self.initial }
    }

    /// Most memory for what the bound lets it hold: then bytes are moved only for as many consumed.
    const fn most(&self) -> usize {
        self.max.saturating_mul(2)
    }

    /// Counts rounds that did without the memory of a peak, and gives it back when there were enough.
    #[cold]
    fn calm_down(&mut self) {
        if self.end > self.read_ahead {
            self.calm = 0;
            return;
        }
        self.calm += 1;
        if self.calm == Self::CALM_ROUNDS {
            self.start = self.end;
            self.resize(self.read_ahead.max(self.initial));
        }
    }

    /// Starts again, compacts or grows.
    #[inline(never)]
    fn make_space(&mut self) {
        let size = self.bytes.len();
        let unread = self.end - self.start;
        let most = self.most();
        if self.end == size && size < self.read_ahead.min(most) {
            // The last read took all there was, or nothing is allocated yet.
            self.resize(size.saturating_mul(2).min(self.read_ahead).max(self.initial).min(most));
        } else if unread == 0 {
            self.rewind();
        } else if unread <= self.start && !self.moves_much() {
            self.compact();
        } else if size < most && (unread <= self.start || size - self.end <= size / 8) {
            // With most of it, and more unread than consumed, there is little room left to the bound either.
            self.resize(size.saturating_mul(2).min(most));
        }
    }

    /// Makes space for a block of `n` bytes.
    #[inline(never)]
    fn make_room(&mut self, n: usize) {
        let unread = self.end - self.start;
        if unread <= self.start && n <= self.bytes.len() - unread && !self.moves_much() {
            self.compact();
        }
        if n > self.bytes.len() - self.end {
            let needed = unread.saturating_add(n);
            let mut size = self.bytes.len().saturating_mul(2).max(self.initial);
            while size < needed {
                size = size.saturating_mul(2);
            }
            self.resize(size.min(self.most().max(needed)));
        }
    }

    /// Whether moving what is unread, read by read, would be a good part of the work. Then more memory is better, up to a peak's:
    /// it is moved less often, and reads need not be short beside it.
    const fn moves_much(&self) -> bool {
        let size = self.bytes.len();
        self.end - self.start > size / 8 && size >= self.read_ahead && size < self.peak() && size < self.most()
    }

    /// Moves what is unread to the beginning: amortised O(1), since it is no more than was consumed.
    fn compact(&mut self) {
        debug_assert!(self.end - self.start <= self.start, "moves more than was consumed");
        self.bytes.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
    }

    /// Moves to a zeroed allocation of `size` bytes, in which the unread ones fit.
    fn resize(&mut self, size: usize) {
        let unread = self.end - self.start;
        let mut bytes = vec![0; size];
        bytes[..unread].copy_from_slice(self.unread());
        self.bytes = bytes;
        (self.start, self.end) = (0, unread);
        self.calm = 0;
    }
}

impl Default for RecvBuf {
    fn default() -> Self {
        Self::new()
    }
}

/// How input ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Eof {
    /// The peer said so: FIN, or `close_notify` under TLS.
    Clean,
    /// It broke off: a reset, or TLS without `close_notify`. What only the end of input delimits is then not complete.
    Truncated,
}

/// Why [`RecvBuf::set_limits`] refused; the buffer is as it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LimitsError {
    /// A limit is zero.
    Zero,
    /// The first allocation is above the bound.
    InitialAboveMax,
    /// The buffer holds bytes.
    InUse,
}

impl fmt::Display for LimitsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Zero => "a limit of the receive buffer is zero",
            Self::InitialAboveMax => "the first allocation is above the bound",
            Self::InUse => "the receive buffer holds bytes",
        })
    }
}

impl core::error::Error for LimitsError {}
