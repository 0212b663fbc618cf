//! The compression of a connection, if it was agreed on.

#[cfg(feature = "deflate")]
use super::deflate::{Compressor, Decompressor};
use super::{Config, Error, handshake::Negotiated};
use alloc::{boxed::Box, vec::Vec};

/// permessage-deflate in both directions, or nothing.
#[derive(Debug)]
pub(super) struct Compression(Option<Box<Deflating>>);

#[cfg(feature = "deflate")]
#[derive(Debug)]
struct Deflating {
    compressor: Compressor,
    decompressor: Decompressor,
    threshold: usize,
    /// Bytes that came out of the decompressor so far.
    inflated: u64,
    /// What was compressed and not yet sent.
    compressed: Vec<u8>,
}

/// Without the feature `deflate` nothing is ever agreed on.
#[cfg(not(feature = "deflate"))]
#[derive(Debug)]
enum Deflating {}

/// Memory of compressed messages that is kept.
#[cfg(feature = "deflate")]
const KEEP: usize = 64 * 1024;

impl Compression {
    #[inline]
    pub(super) const fn is_on(&self) -> bool {
        self.0.is_some()
    }
}

#[cfg(feature = "deflate")]
impl Compression {
    pub(super) fn new(config: &Config, negotiated: &Negotiated, is_server: bool) -> Self {
        let Some(agreed) = negotiated.deflate() else { return Self(None) };
        let deflate = config.deflate.clone().unwrap_or_default();
        let (ours, theirs) = agreed.directions(is_server);
        Self(Some(Box::new(Deflating {
            compressor: Compressor::new(&deflate, ours),
            decompressor: Decompressor::new(theirs),
            threshold: deflate.threshold,
            inflated: 0,
            compressed: Vec::new(),
        })))
    }

    /// Bits of our window.
    pub(super) fn window_bits(&self) -> Option<u8> {
        self.0.as_ref().map(|deflating| deflating.compressor.window_bits())
    }

    /// Appends what comes out of a piece to `out`, which may hold at most `max` bytes.
    pub(super) fn inflate(&mut self, piece: &[u8], out: &mut Vec<u8>, max: usize) -> Result<(), Error> {
        let deflating = self.deflating()?;
        let before = out.len();
        let inflated = deflating.decompressor.write(piece, out, max);
        deflating.inflated = deflating.inflated.wrapping_add((out.len() - before) as u64);
        inflated
    }

    /// All that comes out of the message is in `out`.
    pub(super) fn finish_inflating(&mut self, out: &mut Vec<u8>) -> Result<(), Error> {
        self.deflating()?.decompressor.finish(out)
    }

    /// The same until `out` holds `room` bytes; says how much of the piece that took.
    pub(super) fn inflate_some(&mut self, piece: &[u8], out: &mut Vec<u8>, room: usize) -> Result<usize, Error> {
        let deflating = self.deflating()?;
        let before = out.len();
        let taken = deflating.decompressor.write_some(piece, out, room);
        deflating.inflated = deflating.inflated.wrapping_add((out.len() - before) as u64);
        taken
    }

    fn deflating(&mut self) -> Result<&mut Deflating, Error> {
        self.0.as_deref_mut().ok_or(Error::ReservedBits)
    }

    /// Bytes that came out of the decompressor so far.
    #[inline]
    pub(super) fn inflated(&self) -> u64 {
        self.0.as_ref().map_or(0, |deflating| deflating.inflated)
    }

    /// Compresses a message, if that is worth it.
    pub(super) fn compress(&mut self, message: &[u8]) -> bool {
        let Some(deflating) = &mut self.0 else { return false };
        if message.len() < deflating.threshold {
            return false;
        }
        deflating.compressor.write(message, &mut deflating.compressed);
        deflating.compressor.finish(&mut deflating.compressed);
        // Where no message refers to another, one that has grown need not be sent, unless all are to be.
        let is_smaller = deflating.compressed.len() < message.len();
        let worth = is_smaller || deflating.compressor.keeps_context() || deflating.threshold == 0;
        if !worth {
            deflating.compressed.clear();
        }
        worth
    }

    pub(super) fn compress_piece(&mut self, piece: &[u8]) {
        if let Some(deflating) = &mut self.0 {
            deflating.compressor.write(piece, &mut deflating.compressed);
        }
    }

    pub(super) fn finish_compressing(&mut self) {
        if let Some(deflating) = &mut self.0 {
            deflating.compressor.finish(&mut deflating.compressed);
        }
    }

    /// What was compressed; [`give_back`](Self::give_back) its memory.
    pub(super) fn take_compressed(&mut self) -> Vec<u8> {
        self.0.as_mut().map(|deflating| core::mem::take(&mut deflating.compressed)).unwrap_or_default()
    }

    pub(super) fn give_back(&mut self, mut memory: Vec<u8>) {
        if let Some(deflating) = &mut self.0
            && memory.capacity() <= KEEP
        {
            memory.clear();
            deflating.compressed = memory;
        }
    }

    /// The peer's window holds something else now.
    pub(super) fn forget_sent(&mut self) {
        if let Some(deflating) = &mut self.0 {
            deflating.compressor.forget();
        }
    }

    /// Gives back the memory of both directions that can be had anew.
    pub(super) fn release(&mut self) {
        if let Some(deflating) = &mut self.0 {
            deflating.compressor.release();
            deflating.decompressor.release();
            deflating.compressed = Vec::new();
        }
    }
}

#[cfg(not(feature = "deflate"))]
impl Compression {
    pub(super) const fn new(_: &Config, _: &Negotiated, _: bool) -> Self {
        Self(None)
    }
    pub(super) fn inflate(&mut self, _: &[u8], _: &mut Vec<u8>, _: usize) -> Result<(), Error> {
        Err(Error::ReservedBits)
    }
    pub(super) fn finish_inflating(&mut self, _: &mut Vec<u8>) -> Result<(), Error> {
        Err(Error::ReservedBits)
    }
    pub(super) fn inflate_some(&mut self, _: &[u8], _: &mut Vec<u8>, _: usize) -> Result<usize, Error> {
        Err(Error::ReservedBits)
    }
    pub(super) const fn inflated(&self) -> u64 {
        0
    }
    pub(super) fn compress(&mut self, _: &[u8]) -> bool {
        false
    }
    pub(super) fn compress_piece(&mut self, _: &[u8]) {}
    pub(super) fn finish_compressing(&mut self) {}
    pub(super) fn take_compressed(&mut self) -> Vec<u8> {
        Vec::new()
    }
    pub(super) fn give_back(&mut self, _: Vec<u8>) {}
    pub(super) fn forget_sent(&mut self) {}
    pub(super) fn release(&mut self) {}
}
