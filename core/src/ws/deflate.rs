//! Raw deflate as permessage-deflate (RFC 7692) needs it, over zlib-rs.
//!
//! A message is a deflate stream flushed to a byte boundary, less the four bytes `00 00 ff ff` with which such a flush ends:
//!
//! ```text
//!  compress: message ──▶ block, block, …, empty stored block 00 00 ff ff
//!  wire:                 block, block, …, 00 │ cut
//!  inflate:              block, block, …, 00 │ 00 00 ff ff added ──▶ message
//! ```

use super::{Error, handshake::Direction};
use alloc::vec::Vec;
use core::{fmt, mem};
use zlib_rs::{DeflateConfig, DeflateFlush, InflateFlush, Status};

/// What a synchronous flush ends with, and a message leaves out (RFC 7692, section 7.2.1).
const FLUSH_TAIL: [u8; 4] = [0x00, 0x00, 0xFF, 0xFF];

/// Parameters of permessage-deflate; by default what costs least to agree on: 15 bits, context takeover, level 1.
///
/// Memory of one connection, from its first message on: a compressor has 134 KiB (window 9, memory level 1) to 371 KiB
/// (15 and 8), a decompressor 46 KiB. Window 12 with memory level 5 (161 KiB) is a good small setting. A server of many
/// connections does [without context takeover](Self::without_context_takeover), and
/// [releases](super::Connection::release_memory) the memory of those that are quiet, which [`keep_alive`](crate::Machine::keep_alive)
/// does by itself.
///
/// Numbers out of range are taken for the nearest in range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deflate {
    pub(super) level: u8,
    pub(super) mem_level: u8,
    pub(super) threshold: usize,
    pub(super) window_bits: u8,
    pub(super) peer_window_bits: u8,
    pub(super) takeover: bool,
    pub(super) peer_takeover: bool,
}

impl Default for Deflate {
    fn default() -> Self {
        Self {
            level: 1,
            mem_level: 8,
            threshold: 64,
            window_bits: 15,
            peer_window_bits: 15,
            takeover: true,
            peer_takeover: true,
        }
    }
}

impl Deflate {
    /// Compression level: 0 stores, 1 (the default) is fastest, 9 is smallest and some nine times slower.
    #[must_use]
    pub fn with_level(mut self, level: u8) -> Self {
        self.level = level.min(9);
        self
    }

    /// Memory for matching, 1 to 9; 8 unless set.
    #[must_use]
    pub fn with_mem_level(mut self, level: u8) -> Self {
        self.mem_level = level.clamp(1, 9);
        self
    }

    /// Messages below so many bytes are sent as they are; 64 unless set. Without context takeover small messages grow: a few
    /// hundred are right then, and those that have grown all the same are sent as they are. With 0, every message is compressed.
    #[must_use]
    pub const fn with_threshold(mut self, bytes: usize) -> Self {
        self.threshold = bytes;
        self
    }

    /// Our window at most, 9 to 15 bits.
    #[must_use]
    pub fn with_window_bits(mut self, bits: u8) -> Self {
        self.window_bits = bits.clamp(9, 15);
        self
    }

    /// The peer's window at most, 9 to 15 bits.
    #[must_use]
    pub fn with_peer_window_bits(mut self, bits: u8) -> Self {
        self.peer_window_bits = bits.clamp(9, 15);
        self
    }

    /// Each message we send is compressed by itself: no memory between messages.
    #[must_use]
    pub const fn without_context_takeover(mut self) -> Self {
        self.takeover = false;
        self
    }

    /// The same for the messages of the peer.
    #[must_use]
    pub const fn without_peer_context_takeover(mut self) -> Self {
        self.peer_takeover = false;
        self
    }
}

/// A message compressed by itself.
pub(super) fn once(deflate: &Deflate, message: &[u8]) -> Vec<u8> {
    let direction = Direction { window_bits: deflate.window_bits, takeover: false };
    let mut compressor = Compressor::new(deflate, direction);
    let mut compressed = Vec::new();
    compressor.write(message, &mut compressed);
    compressor.finish(&mut compressed);
    compressed
}

/// The sending direction: `write` the pieces of a message, then `finish` it.
pub(super) struct Compressor {
    level: u8,
    mem_level: u8,
    direction: Direction,
    /// Made for the first message that has bytes.
    stream: Option<zlib_rs::Deflate>,
    has_bytes: bool,
}

impl Compressor {
    pub(super) const fn new(deflate: &Deflate, direction: Direction) -> Self {
        let Deflate { level, mem_level, .. } = *deflate;
        Self { level, mem_level, direction, stream: None, has_bytes: false }
    }

    pub(super) const fn window_bits(&self) -> u8 {
        self.direction.window_bits
    }

    /// Whether the next message refers to this one.
    pub(super) const fn keeps_context(&self) -> bool {
        self.direction.takeover
    }

    /// Takes a piece of a message. Appends to `out` what is ready, often nothing.
    pub(super) fn write(&mut self, piece: &[u8], out: &mut Vec<u8>) {
        if !piece.is_empty() {
            self.has_bytes = true;
            self.run(piece, DeflateFlush::NoFlush, out);
        }
    }

    /// Ends the message: appends the rest of it to `out`.
    pub(super) fn finish(&mut self, out: &mut Vec<u8>) {
        if !mem::take(&mut self.has_bytes) {
            // RFC 7692, section 7.2.3.6. zlib does not flush twice with nothing between.
            out.push(0x00);
            return;
        }
        self.run(&[], DeflateFlush::SyncFlush, out);
        debug_assert!(out.ends_with(&FLUSH_TAIL), "a synchronous flush ends with its marker");
        out.truncate(out.len() - FLUSH_TAIL.len());
        if !self.direction.takeover {
            self.forget();
        }
    }

    /// The next message refers to none before it.
    pub(super) fn forget(&mut self) {
        if let Some(stream) = &mut self.stream {
            stream.reset();
        }
    }

    /// Frees its memory, between messages: the next one refers to none before it.
    pub(super) fn release(&mut self) {
        if !self.has_bytes {
            self.stream = None;
        }
    }

    fn run(&mut self, mut input: &[u8], flush: DeflateFlush, out: &mut Vec<u8>) {
        let stream = self.stream.get_or_insert_with(|| {
            // zlib has no raw window of 8 bits, and needs none: with 9 it looks back at most 512 - 262 = 250 bytes, which a
            // window of 256 holds. Negative: raw.
            let window_bits = -i32::from(self.direction.window_bits.max(9));
            let (level, mem_level) = (i32::from(self.level), i32::from(self.mem_level));
            zlib_rs::Deflate::new_with_config(DeflateConfig {
                level,
                mem_level,
                window_bits,
                ..DeflateConfig::default()
            })
        });
        // Always more than the flush marker's 6 bytes, or zlib would write it again.
        let mut space = 512;
        loop {
            let (taken, written) = (stream.total_in(), stream.total_out());
            let end = out.len();
            out.resize(end + space, 0);
            // `BufError` is "nothing to do"; other errors need a misuse that is not made here.
            let _ = stream.compress(input, &mut out[end..], flush);
            let written = (stream.total_out() - written) as usize;
            out.truncate(end + written);
            input = &input[(stream.total_in() - taken) as usize..];
            if written < space {
                return;
            }
            space = (space * 2).min(64 * 1024);
        }
    }
}

/// The receiving direction: `write` the pieces of a message, then `finish` it.
pub(super) struct Decompressor {
    direction: Direction,
    /// Made for the first message.
    stream: Option<zlib_rs::Inflate>,
    /// Whether there is something of the message.
    begun: bool,
}

impl Decompressor {
    pub(super) const fn new(direction: Direction) -> Self {
        Self { direction, stream: None, begun: false }
    }

    /// Takes a piece of a message and appends what comes out of it to `out`, which may hold at most `max` bytes.
    pub(super) fn write(&mut self, piece: &[u8], out: &mut Vec<u8>, max: usize) -> Result<(), Error> {
        // One byte beyond the limit tells "too big" from "just fits". What is wrong behind it does not matter.
        let written = self.write_some(piece, out, max.saturating_add(1));
        if out.len() > max {
            return Err(Error::TooBig);
        }
        written.map(drop)
    }

    /// Takes a piece until `out` holds `room` bytes; says how much of it that took. What is then held back comes with the next
    /// call.
    pub(super) fn write_some(&mut self, piece: &[u8], out: &mut Vec<u8>, room: usize) -> Result<usize, Error> {
        self.begun |= !piece.is_empty();
        // Any window a peer may use; zlib-rs holds 32 KiB in any case.
        let stream = self.stream.get_or_insert_with(|| zlib_rs::Inflate::new(false, 15));
        let mut used = 0;
        // Half a KiB at least: with less than 260 bytes zlib-rs takes its slow path.
        let mut guess = piece.len().saturating_mul(4).clamp(512, 64 * 1024);
        loop {
            let (taken, written) = (stream.total_in(), stream.total_out());
            let end = out.len();
            let space = guess.min(room.saturating_sub(end));
            if space == 0 {
                return Ok(used);
            }
            out.resize(end + space, 0);
            let status = stream.decompress(&piece[used..], &mut out[end..], InflateFlush::SyncFlush);
            let written = (stream.total_out() - written) as usize;
            used += (stream.total_in() - taken) as usize;
            out.truncate(end + written);
            match status.map_err(|_| Error::Deflate)? {
                // RFC 7692, section 7.2.3.4: a block may say that it is the last; more may follow.
                // Space is cleared each time: not much of it for many small ones.
                Status::StreamEnd => {
                    stream.reset(false);
                    guess = 512;
                }
                // Space is left: the input is used up, and so is what was held back.
                Status::Ok | Status::BufError if written < space => return Ok(used),
                Status::Ok | Status::BufError => guess = (guess * 2).min(64 * 1024),
            }
        }
    }

    /// Ends the message, all of which is in `out`.
    pub(super) fn finish(&mut self, out: &mut Vec<u8>) -> Result<(), Error> {
        // Where there is no block, the tail would begin one, and the next message go on with it.
        if self.begun {
            let len = out.len();
            self.write_some(&FLUSH_TAIL, out, usize::MAX)?;
            self.begun = false;
            if out.len() > len {
                // The tail ends a block that has nothing in it: it was taken for the inside of another.
                out.truncate(len);
                return Err(Error::Deflate);
            }
        }
        if !self.direction.takeover
            && let Some(stream) = &mut self.stream
        {
            stream.reset(false);
        }
        Ok(())
    }

    /// Frees its memory between messages, if none refers to one before it.
    pub(super) fn release(&mut self) {
        if !self.direction.takeover {
            self.stream = None;
        }
    }
}

impl fmt::Debug for Compressor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Compressor")
            .field("level", &self.level)
            .field("direction", &self.direction)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Decompressor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decompressor").field("direction", &self.direction).finish_non_exhaustive()
    }
}
