use super::Error;
use alloc::borrow::Cow;
use core::ops::Range;

/// What the header of a [`LengthPrefix`](super::LengthPrefix) carries beside the length: a version, a magic, a checksum.
///
/// It is checked in place, once per frame, and written by the encoder. Two of them are a check as a tuple.
///
/// ```
/// use bytewise::framing::{Error, HeaderCheck};
/// use std::ops::Range;
///
/// /// The first byte of each header is the version, 1.
/// #[derive(Debug, Clone)]
/// struct Version;
///
/// impl HeaderCheck for Version {
///     fn fits(&self, _header: usize, length: Range<usize>) -> bool {
///         !length.contains(&0)
///     }
///     fn check_header(&self, header: &[u8]) -> Result<(), Error> {
///         if header[0] == 1 { Ok(()) } else { Err(Error::Malformed("version")) }
///     }
///     fn write(&self, header: &mut [u8], _body: &[u8]) {
///         header[0] = 1;
///     }
/// }
/// ```
pub trait HeaderCheck {
    /// Whether a header of so many bytes has room for it beside the length, which lies at `length`.
    fn fits(&self, header: usize, length: Range<usize>) -> bool;

    /// Checks a header as soon as it is there, before its length is believed.
    ///
    /// # Errors
    ///
    /// The header is not one of this protocol.
    #[inline]
    fn check_header(&self, header: &[u8]) -> Result<(), Error> {
        let _ = header;
        Ok(())
    }

    /// Checks a body once it is there.
    ///
    /// # Errors
    ///
    /// The body does not match its header.
    #[inline]
    fn check_body(&self, header: &[u8], body: &[u8]) -> Result<(), Error> {
        let _ = (header, body);
        Ok(())
    }

    /// Writes its part of the header of a frame to send.
    fn write(&self, header: &mut [u8], body: &[u8]);
}

/// No check.
impl HeaderCheck for () {
    #[inline]
    fn fits(&self, _: usize, _: Range<usize>) -> bool {
        true
    }

    #[inline]
    fn write(&self, _: &mut [u8], _: &[u8]) {}
}

/// Both, the first one first.
impl<A: HeaderCheck, B: HeaderCheck> HeaderCheck for (A, B) {
    fn fits(&self, header: usize, length: Range<usize>) -> bool {
        self.0.fits(header, length.clone()) && self.1.fits(header, length)
    }

    #[inline]
    fn check_header(&self, header: &[u8]) -> Result<(), Error> {
        self.0.check_header(header)?;
        self.1.check_header(header)
    }

    #[inline]
    fn check_body(&self, header: &[u8], body: &[u8]) -> Result<(), Error> {
        self.0.check_body(header, body)?;
        self.1.check_body(header, body)
    }

    #[inline]
    fn write(&self, header: &mut [u8], body: &[u8]) {
        self.0.write(header, body);
        self.1.write(header, body);
    }
}

/// Fixed bytes at a fixed place in each header; anything else is [`Error::Magic`].
#[derive(Debug, Clone)]
pub struct Magic {
    at: usize,
    bytes: Cow<'static, [u8]>,
}

impl Magic {
    /// `bytes`, `at` so many bytes from the beginning of the header.
    pub fn new(at: usize, bytes: impl Into<Cow<'static, [u8]>>) -> Self {
        Self { at, bytes: bytes.into() }
    }
}

impl HeaderCheck for Magic {
    fn fits(&self, header: usize, length: Range<usize>) -> bool {
        fits(self.at, self.bytes.len(), header, &length)
    }

    #[inline]
    fn check_header(&self, header: &[u8]) -> Result<(), Error> {
        match header[self.at..].starts_with(&self.bytes) {
            true => Ok(()),
            false => Err(Error::Magic),
        }
    }

    #[inline]
    fn write(&self, header: &mut [u8], _: &[u8]) {
        header[self.at..][..self.bytes.len()].copy_from_slice(&self.bytes);
    }
}

/// The CRC-32 of the body (that of zlib, gzip and Ethernet), in four bytes of each header; another one is
/// [`Error::Checksum`].
#[cfg(feature = "crc32")]
#[derive(Debug, Clone)]
pub struct Crc32 {
    at: usize,
    order: super::ByteOrder,
}

#[cfg(feature = "crc32")]
impl Crc32 {
    /// A checksum `at` so many bytes from the beginning of the header.
    pub const fn new(at: usize, order: super::ByteOrder) -> Self {
        Self { at, order }
    }
}

#[cfg(feature = "crc32")]
impl HeaderCheck for Crc32 {
    fn fits(&self, header: usize, length: Range<usize>) -> bool {
        fits(self.at, 4, header, &length)
    }

    #[inline]
    fn check_body(&self, header: &[u8], body: &[u8]) -> Result<(), Error> {
        let mut bytes = [0; 4];
        bytes.copy_from_slice(&header[self.at..][..4]);
        let expected = match self.order {
            super::ByteOrder::Big => u32::from_be_bytes(bytes),
            super::ByteOrder::Little => u32::from_le_bytes(bytes),
        };
        let computed = crc32fast::hash(body);
        if computed == expected { Ok(()) } else { Err(Error::Checksum { expected, computed }) }
    }

    #[inline]
    fn write(&self, header: &mut [u8], body: &[u8]) {
        let crc = crc32fast::hash(body);
        header[self.at..][..4].copy_from_slice(&match self.order {
            super::ByteOrder::Big => crc.to_be_bytes(),
            super::ByteOrder::Little => crc.to_le_bytes(),
        });
    }
}

/// Whether `len` bytes at `at` lie in the header and beside the length.
fn fits(at: usize, len: usize, header: usize, length: &Range<usize>) -> bool {
    let Some(end) = at.checked_add(len) else { return false };
    end <= header && (end <= length.start || at >= length.end)
}
