use alloc::{string::String, vec::Vec};
use bytes::Bytes;

/// Bytes to send, borrowed or owned. Large owned ones are queued without a copy.
///
/// Every method that sends takes `impl Into<Payload>`, so that slices, strings, arrays, `Vec<u8>`, `String` and [`Bytes`]
/// are passed as they are. It remembers that a `str` was one, so that a protocol of text checks only what came as bytes.
///
/// ```
/// use bytewise::{Payload, SendBuf};
///
/// let mut tx = SendBuf::new();
/// tx.put("text");
/// tx.put(b" and bytes");
/// tx.put(vec![b'!'; 3]);
/// assert_eq!(tx.pending(), b"text and bytes!!!");
///
/// assert!(Payload::from("text").is_text());
/// assert!(!Payload::from(b"text").is_text());
/// ```
#[derive(Debug, Clone)]
pub struct Payload<'a> {
    bytes: Repr<'a>,
    text: bool,
}

/// Of two variants, so that it needs no tag: behind one, payloads would be moved in pieces that wait for each other.
#[derive(Debug, Clone)]
enum Repr<'a> {
    Borrowed(&'a [u8]),
    Owned(Bytes),
}

impl<'a> Payload<'a> {
    #[inline]
    const fn borrowed(bytes: &'a [u8], text: bool) -> Self {
        Self { bytes: Repr::Borrowed(bytes), text }
    }

    /// The bytes.
    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        match &self.bytes {
            Repr::Borrowed(bytes) => bytes,
            Repr::Owned(bytes) => bytes,
        }
    }

    /// How many bytes it has.
    #[inline]
    pub fn len(&self) -> usize {
        self.as_bytes().len()
    }

    /// Whether it has none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether it was made from a `str` or a `String`, and so is known to be UTF-8.
    pub const fn is_text(&self) -> bool {
        self.text
    }

    /// The bytes to keep: a copy if they were borrowed.
    pub fn into_bytes(self) -> Bytes {
        match self.bytes {
            Repr::Borrowed(bytes) => Bytes::copy_from_slice(bytes),
            Repr::Owned(bytes) => bytes,
        }
    }

    /// Whether it owns its bytes, so that they can be kept without a copy.
    #[inline]
    pub(crate) const fn is_owned(&self) -> bool {
        matches!(self.bytes, Repr::Owned(_))
    }

    /// The bytes if it owns them.
    #[inline]
    pub(crate) fn owned(self) -> Option<Bytes> {
        match self.bytes {
            Repr::Owned(bytes) => Some(bytes),
            Repr::Borrowed(_) => None,
        }
    }

    /// Without its first `n` bytes.
    pub(crate) fn skip(self, n: usize) -> Self {
        let bytes = match self.bytes {
            Repr::Borrowed(bytes) => Repr::Borrowed(&bytes[n..]),
            Repr::Owned(bytes) => Repr::Owned(bytes.slice(n..)),
        };
        Self { bytes, text: false }
    }
}

impl<'a> From<&'a [u8]> for Payload<'a> {
    #[inline]
    fn from(bytes: &'a [u8]) -> Self {
        Self::borrowed(bytes, false)
    }
}

impl<'a> From<&'a mut [u8]> for Payload<'a> {
    #[inline]
    fn from(bytes: &'a mut [u8]) -> Self {
        Self::borrowed(bytes, false)
    }
}

impl<'a, const N: usize> From<&'a [u8; N]> for Payload<'a> {
    #[inline]
    fn from(bytes: &'a [u8; N]) -> Self {
        Self::borrowed(bytes, false)
    }
}

impl<'a> From<&'a Vec<u8>> for Payload<'a> {
    #[inline]
    fn from(bytes: &'a Vec<u8>) -> Self {
        Self::borrowed(bytes, false)
    }
}

impl<'a> From<&'a str> for Payload<'a> {
    #[inline]
    fn from(text: &'a str) -> Self {
        Self::borrowed(text.as_bytes(), true)
    }
}

impl<'a> From<&'a String> for Payload<'a> {
    #[inline]
    fn from(text: &'a String) -> Self {
        Self::borrowed(text.as_bytes(), true)
    }
}

impl From<Bytes> for Payload<'_> {
    #[inline]
    fn from(bytes: Bytes) -> Self {
        Self { bytes: Repr::Owned(bytes), text: false }
    }
}

impl From<Vec<u8>> for Payload<'_> {
    #[inline]
    fn from(bytes: Vec<u8>) -> Self {
        Self { bytes: Repr::Owned(bytes.into()), text: false }
    }
}

impl From<String> for Payload<'_> {
    #[inline]
    fn from(text: String) -> Self {
        Self { bytes: Repr::Owned(text.into()), text: true }
    }
}
