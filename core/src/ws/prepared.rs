use super::{Kind, Misuse, compression::Compression, frame::HeaderBytes, send::is_text};
use crate::Payload;
use alloc::vec::Vec;
use bytes::Bytes;

/// A message encoded once, for many connections; cloning shares it.
///
/// A server's connections queue it as it is, from [`SendBuf::UNCOPIED_FROM`](crate::SendBuf::UNCOPIED_FROM) bytes on without a
/// copy.
///
/// ```
/// use bytewise::{SendBuf, ws::{Config, Connection, Kind, Prepared, handshake::Negotiated}};
///
/// let news = Prepared::new(Kind::Text, "news")?;
/// for _ in 0..3 {
///     let (mut ws, mut tx) = (Connection::server(&Config::default(), Negotiated::default()), SendBuf::new());
///     ws.send_prepared(&news, &mut tx)?;
///     assert_eq!(tx.pending(), b"\x81\x04news");
/// }
/// # Ok::<(), bytewise::ws::Misuse>(())
/// ```
#[derive(Debug, Clone)]
pub struct Prepared {
    plain: Encoded,
    compressed: Option<Encoded>,
    /// Window that the compressed form needs.
    #[cfg(feature = "deflate")]
    window_bits: u8,
}

/// A frame as a server sends it.
#[derive(Debug, Clone)]
pub(super) struct Encoded {
    pub(super) bytes: Bytes,
    /// Length of its header.
    pub(super) header: usize,
}

impl Encoded {
    fn new(b0: u8, payload: &[u8]) -> Self {
        let header = HeaderBytes::new(b0, payload.len() as u64);
        let mut bytes = Vec::with_capacity(header.len() + payload.len());
        bytes.extend_from_slice(&header);
        bytes.extend_from_slice(payload);
        Self { bytes: bytes.into(), header: header.len() }
    }
}

impl Prepared {
    /// Encodes a message. Text that came as bytes is checked.
    ///
    /// # Errors
    ///
    /// [`Misuse::NotUtf8`].
    pub fn new<'a>(kind: Kind, payload: impl Into<Payload<'a>>) -> Result<Self, Misuse> {
        let payload = payload.into();
        let b0 = match kind {
            Kind::Text if !is_text(&payload) => return Err(Misuse::NotUtf8),
            Kind::Text => 0x81,
            Kind::Binary => 0x82,
        };
        Ok(Self {
            plain: Encoded::new(b0, payload.as_bytes()),
            compressed: None,
            #[cfg(feature = "deflate")]
            window_bits: 15,
        })
    }

    /// Compressed too, once, for connections that agreed on permessage-deflate with a window that is large enough; their
    /// compression context starts anew after it.
    ///
    /// # Errors
    ///
    /// [`Misuse::NotUtf8`].
    #[cfg(feature = "deflate")]
    pub fn compressed<'a>(
        kind: Kind,
        payload: impl Into<Payload<'a>>,
        deflate: &super::Deflate,
    ) -> Result<Self, Misuse> {
        let payload = payload.into();
        let mut prepared = Self::new(kind, payload.clone())?;
        let compressed = super::deflate::once(deflate, payload.as_bytes());
        prepared.compressed = Some(Encoded::new(prepared.plain.bytes[0] | 0x40, &compressed));
        prepared.window_bits = deflate.window_bits;
        Ok(prepared)
    }

    pub(super) const fn plain(&self) -> &Encoded {
        &self.plain
    }

    /// The compressed form, if there is one that the peer can inflate.
    pub(super) fn compressed_for(&self, compression: &Compression) -> Option<&Encoded> {
        #[cfg(feature = "deflate")]
        return self.compressed.as_ref().filter(|_| compression.window_bits() >= Some(self.window_bits));
        #[cfg(not(feature = "deflate"))]
        return self.compressed.as_ref().filter(|_| compression.is_on());
    }
}
