use crate::Payload;
use alloc::{collections::VecDeque, vec, vec::Vec};
use bytes::{Buf, Bytes};

/// Bytes to send: whole protocol units, in order.
///
/// ```text
///  0      sent                       end          len
///  | sent | inline | inline  (open)  | space      |
///              │        └──────────────────────────── what comes next is appended here
///   queue:  inline(n) · owned `Bytes`, uncopied · external(len) · …
/// ```
///
/// Small units share one contiguous tail. [`Bytes`] of at least [`UNCOPIED_FROM`](Self::UNCOPIED_FROM) bytes are queued as
/// they are. An *external* segment stands for bytes that the caller writes itself (sendfile, splice); what is queued later
/// waits behind it.
///
/// [`consume`](Self::consume) moves a cursor, never bytes, and [`put`](Self::put) drops written bytes when they outweigh
/// the others, so that a buffer that never quite empties stays bounded. [`queued`](Self::queued) is the signal for
/// backpressure: the buffer itself has no limit. Memory that a peak needed is given back once
/// [`CALM_ROUNDS`](Self::CALM_ROUNDS) batches did without, or at once by [`shrink`](Self::shrink).
///
/// ```
/// use bytewise::SendBuf;
/// use bytes::Bytes;
///
/// let mut tx = SendBuf::new();
/// tx.put("head ");
/// tx.put(Bytes::from(vec![b'x'; 10_000])); // not copied
/// tx.put(" tail");
/// assert_eq!(tx.chunks().map(<[u8]>::len).collect::<Vec<_>>(), [5, 10_000, 5]);
///
/// tx.consume(5 + 9_998); // as a vectored write might have taken
/// assert_eq!(tx.pending(), b"xx");
/// assert_eq!(tx.queued(), 7);
/// ```
#[derive(Debug, Default)]
pub struct SendBuf {
    /// Initialised throughout, so that a unit is one bounds check and its copies.
    bytes: Vec<u8>,
    /// Inline bytes before this are written.
    sent: usize,
    end: usize,
    /// What comes before the open tail; empty unless something owned or external is queued.
    queue: VecDeque<Segment>,
    /// Inline bytes that segments of the queue stand for.
    sealed: usize,
    /// Bytes in the owned segments.
    owned: usize,
    /// Batches in a row that would have done without the memory of a peak.
    calm: u8,
}

#[derive(Debug)]
enum Segment {
    /// The next so many inline bytes.
    Inline(usize),
    Owned(Bytes),
    /// Never zero.
    External(u64),
}

impl SendBuf {
    /// Owned payloads of at least so many bytes are queued without a copy; below, a copy is cheaper than a segment.
    pub const UNCOPIED_FROM: usize = 4096;

    /// Memory up to this size is kept for the next batch: 256 KiB.
    pub const KEEP: usize = 256 * 1024;
    /// After so many batches that needed no more than [`KEEP`](Self::KEEP), memory above it is given back.
    pub const CALM_ROUNDS: u8 = 16;

    /// Empty, without an allocation.
    pub const fn new() -> Self {
        Self { bytes: Vec::new(), sent: 0, end: 0, queue: VecDeque::new(), sealed: 0, owned: 0, calm: 0 }
    }

    // The transport's side.

    /// Bytes to write next: the first of [`chunks`](Self::chunks). Empty if there are none, or if what comes next is
    /// [`external`](Self::external).
    #[inline]
    pub fn pending(&self) -> &[u8] {
        let inline = &self.bytes[self.sent..self.end];
        match self.queue.front() {
            None => inline,
            Some(Segment::Inline(n)) => &inline[..*n],
            Some(Segment::Owned(bytes)) => bytes,
            Some(Segment::External(_)) => &[],
        }
    }

    /// All bytes to write up to the next external segment, for a vectored write. None of them is empty.
    #[inline]
    pub fn chunks(&self) -> impl Iterator<Item = &[u8]> {
        let mut inline = &self.bytes[self.sent..self.end];
        let segments = self.queue.iter().map(Some).chain([None]);
        segments
            .map_while(move |segment| match segment {
                Some(Segment::Inline(n)) => {
                    let (chunk, rest) = inline.split_at(*n);
                    inline = rest;
                    Some(chunk)
                }
                Some(Segment::Owned(bytes)) => Some(&bytes[..]),
                Some(Segment::External(_)) => None,
                None => Some(inline),
            })
            .filter(|chunk| !chunk.is_empty())
    }

    /// An owned handle on [`pending`](Self::pending), for a write that completes later (io_uring). It stays queued until
    /// it is consumed; what is put meanwhile goes behind it.
    ///
    /// Inline bytes are not copied, but leave the buffer without memory of its own: the next unit allocates.
    pub fn lend(&mut self) -> Bytes {
        match self.queue.front() {
            Some(Segment::Owned(bytes)) => return bytes.clone(),
            Some(Segment::External(_)) => return Bytes::new(),
            Some(Segment::Inline(_)) => {}
            None if self.sent == self.end => return Bytes::new(),
            None => {}
        }
        self.seal();
        let mut inline = Bytes::from(core::mem::take(&mut self.bytes)).slice(self.sent..self.end);
        self.owned += inline.len();
        (self.sent, self.end, self.sealed) = (0, 0, 0);
        for segment in &mut self.queue {
            if let Segment::Inline(n) = *segment {
                *segment = Segment::Owned(inline.split_to(n));
            }
        }
        self.lend()
    }

    /// The first `n` bytes were written: moves a cursor, not the bytes.
    ///
    /// # Panics
    ///
    /// If fewer are pending up to the next external segment.
    #[inline]
    pub fn consume(&mut self, n: usize) {
        if self.queue.is_empty() {
            self.consume_inline(n);
        } else {
            self.consume_segments(n);
        }
    }

    /// Bytes that the caller has to write itself now; `None` while others come first.
    pub fn external(&self) -> Option<u64> {
        match self.queue.front() {
            Some(Segment::External(len)) => Some(*len),
            _ => None,
        }
    }

    /// The caller wrote `n` of the [`external`](Self::external) bytes.
    ///
    /// # Panics
    ///
    /// If fewer are due.
    pub fn external_written(&mut self, n: u64) {
        match self.queue.front_mut() {
            Some(Segment::External(len)) if n < *len => *len -= n,
            Some(Segment::External(len)) if n == *len => drop(self.queue.pop_front()),
            _ => assert!(n == 0, "wrote more than was due"),
        }
    }

    /// Bytes held in memory and not yet written: the backpressure signal. External segments hold none.
    #[inline]
    pub const fn queued(&self) -> usize {
        self.end - self.sent + self.owned
    }

    /// Whether all is written, external segments too.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.sent == self.end && self.queue.is_empty()
    }

    /// Bytes of memory behind the contiguous tail, in use or not.
    #[inline]
    pub const fn capacity(&self) -> usize {
        self.bytes.len()
    }

    /// Gives memory back that is not in use; all of it if it is empty.
    pub fn shrink(&mut self) {
        self.queue.shrink_to_fit();
        let inline = self.end - self.sent;
        if inline == 0 {
            self.bytes = Vec::new();
            (self.sent, self.end) = (0, 0);
        } else if inline < self.bytes.len() {
            self.resize(inline);
        }
    }

    // The machine's side.

    /// Appends bytes.
    #[inline]
    pub fn put<'a>(&mut self, bytes: impl Into<Payload<'a>>) {
        self.put_unit(&[], bytes.into());
    }

    /// Appends what is written into `space` bytes of memory, which are not cleared before; says how much of them that is. For
    /// encoders and ciphers, which would otherwise write somewhere else first.
    ///
    /// # Errors
    ///
    /// Those of `write`; then nothing is appended.
    ///
    /// # Panics
    ///
    /// If it says that it wrote more than the space.
    ///
    /// ```
    /// use bytewise::SendBuf;
    /// use std::io::{self, Read};
    ///
    /// let mut tx = SendBuf::new();
    /// let n = tx.put_in_place(64, |space| (&b"from elsewhere"[..]).read(space))?;
    /// assert_eq!((n, tx.pending()), (14, &b"from elsewhere"[..]));
    /// # Ok::<(), io::Error>(())
    /// ```
    #[inline]
    pub fn put_in_place<E>(
        &mut self,
        space: usize,
        write: impl FnOnce(&mut [u8]) -> Result<usize, E>,
    ) -> Result<usize, E> {
        if self.bytes.len() - self.end < space {
            self.grow(space);
        }
        let written = write(&mut self.bytes[self.end..self.end + space])?;
        assert!(written <= space, "wrote more than the space given out");
        self.end += written;
        Ok(written)
    }

    /// Appends `len` bytes that the caller writes itself, when [`external`](Self::external) says that it is their turn.
    pub fn put_external(&mut self, len: u64) {
        if len > 0 {
            self.seal();
            self.queue.push_back(Segment::External(len));
        }
    }

    /// Appends a header and what it announces.
    #[inline]
    pub(crate) fn put_unit(&mut self, header: &[u8], payload: Payload<'_>) {
        if payload.len() >= Self::UNCOPIED_FROM {
            self.put_large(header, payload);
        } else {
            self.put_parts([header, payload.as_bytes()]);
        }
    }

    /// Appends the first `len` bytes of a prefix and what it announces.
    #[inline(always)]
    pub(crate) fn put_prefixed(&mut self, prefix: [u8; 8], len: usize, payload: Payload<'_>) {
        let size = payload.len();
        if size >= Self::UNCOPIED_FROM && payload.is_owned() {
            return self.put_large(&prefix[..len], payload);
        }
        self.put_written(prefix, len, size, |to| to.copy_from_slice(payload.as_bytes()));
    }

    /// Appends the first `len` bytes of a prefix and `size` bytes that are written now.
    ///
    /// All eight are stored, in one go, and those that are not meant are overwritten.
    #[inline(always)]
    pub(crate) fn put_written(&mut self, prefix: [u8; 8], len: usize, size: usize, write: impl FnOnce(&mut [u8])) {
        if self.bytes.len() - self.end < prefix.len() + size {
            self.grow(prefix.len() + size);
        }
        let space = &mut self.bytes[self.end..];
        space[..prefix.len()].copy_from_slice(&prefix);
        write(&mut space[len..len + size]);
        self.end += len + size;
    }

    fn put_large(&mut self, header: &[u8], payload: Payload<'_>) {
        self.put_parts([header, if payload.is_owned() { &[] } else { payload.as_bytes() }]);
        if let Some(bytes) = payload.owned() {
            self.seal();
            self.owned += bytes.len();
            self.queue.push_back(Segment::Owned(bytes));
        }
    }

    /// Appends all parts to the open tail.
    #[inline]
    pub(crate) fn put_parts<const N: usize>(&mut self, parts: [&[u8]; N]) {
        let size = parts.iter().map(|part| part.len()).sum();
        if self.bytes.len() - self.end < size {
            self.grow(size);
        }
        let mut space = &mut self.bytes[self.end..];
        for part in parts {
            let (to, rest) = space.split_at_mut(part.len());
            to.copy_from_slice(part);
            space = rest;
        }
        self.end += size;
    }

    /// Bytes of the contiguous tail that are not written.
    #[cfg(feature = "http1")]
    #[inline]
    pub(crate) const fn inline_len(&self) -> usize {
        self.end - self.sent
    }

    /// Takes back what was appended to the contiguous tail since [`inline_len`](Self::inline_len) was that; nothing else was
    /// queued meanwhile.
    #[cfg(feature = "http1")]
    pub(crate) fn truncate_inline(&mut self, len: usize) {
        debug_assert!(self.sealed <= len && len <= self.inline_len(), "takes back what others stand behind");
        self.end = self.sent + len;
    }

    /// Appends what is written into so much space, which is not cleared; says how much of it that is.
    #[cfg(feature = "http1")]
    #[inline(always)]
    pub(crate) fn put_with<const SPACE: usize>(&mut self, write: impl FnOnce(&mut [u8; SPACE]) -> usize) {
        if self.bytes.len() - self.end < SPACE {
            self.grow(SPACE);
        }
        if let Some(space) = self.bytes[self.end..].first_chunk_mut() {
            self.end += write(space).min(SPACE);
        }
    }

    /// Closes the open tail, so that something else can be queued behind it.
    fn seal(&mut self) {
        let open = self.end - self.sent - self.sealed;
        if open > 0 {
            self.queue.push_back(Segment::Inline(open));
            self.sealed += open;
        }
    }

    #[inline]
    fn consume_inline(&mut self, n: usize) {
        assert!(n <= self.end - self.sent, "consumed more than was pending");
        self.sent += n;
        if self.sent == self.end {
            if self.bytes.len() > Self::KEEP && n > 0 {
                self.calm_down();
            }
            (self.sent, self.end) = (0, 0);
        }
    }

    /// Counts batches that did without the memory of a peak, and gives it back when there were enough.
    #[cold]
    fn calm_down(&mut self) {
        self.calm = if self.end > Self::KEEP { 0 } else { self.calm + 1 };
        if self.calm == Self::CALM_ROUNDS {
            self.resize(Self::KEEP);
        }
    }

    #[cold]
    fn consume_segments(&mut self, mut n: usize) {
        while n > 0 {
            let written = match self.queue.front_mut() {
                None => break,
                Some(Segment::Inline(left)) => {
                    let written = n.min(*left);
                    *left -= written;
                    let done = *left == 0;
                    self.sealed -= written;
                    if done {
                        self.queue.pop_front();
                    }
                    self.consume_inline(written);
                    written
                }
                Some(Segment::Owned(bytes)) => {
                    let written = n.min(bytes.len());
                    bytes.advance(written);
                    let done = bytes.is_empty();
                    self.owned -= written;
                    if done {
                        self.queue.pop_front();
                    }
                    written
                }
                Some(Segment::External(_)) => panic!("consumed more than was pending"),
            };
            n -= written;
        }
        self.consume_inline(n);
    }

    /// Makes room for `size` more inline bytes: drops the written ones if they outweigh the others, or grows.
    #[cold]
    fn grow(&mut self, size: usize) {
        let inline = self.end - self.sent;
        if inline <= self.sent && size <= self.bytes.len() - inline {
            self.bytes.copy_within(self.sent..self.end, 0);
            (self.sent, self.end) = (0, inline);
        } else {
            // Twice what there is: before it is used up, as many bytes are written as the next move has to move.
            self.resize((2 * inline + size).next_power_of_two().max(4096));
        }
    }

    fn resize(&mut self, size: usize) {
        let inline = self.end - self.sent;
        let mut bytes = vec![0; size];
        bytes[..inline].copy_from_slice(&self.bytes[self.sent..self.end]);
        self.bytes = bytes;
        (self.sent, self.end, self.calm) = (0, inline, 0);
    }
}

/// What is pending up to the next external segment: `remaining` counts no further, and is then 0 though the buffer is
/// not [empty](SendBuf::is_empty).
impl Buf for SendBuf {
    #[inline]
    fn remaining(&self) -> usize {
        self.chunks().map(<[u8]>::len).sum()
    }

    #[inline]
    fn chunk(&self) -> &[u8] {
        self.pending()
    }

    #[inline]
    fn advance(&mut self, n: usize) {
        self.consume(n);
    }

    #[cfg(feature = "std")]
    fn chunks_vectored<'a>(&'a self, to: &mut [std::io::IoSlice<'a>]) -> usize {
        let mut filled = 0;
        for (slot, chunk) in to.iter_mut().zip(self.chunks()) {
            *slot = std::io::IoSlice::new(chunk);
            filled += 1;
        }
        filled
    }
}
