/// Limits and options of a connection.
///
/// ```
/// use bytewise::ws::{Config, Delivery};
///
/// let config = Config::default().with_max_message(1 << 20).with_delivery(Delivery::Chunks);
/// ```
#[derive(Debug, Clone)]
pub struct Config {
    pub(super) max_message: usize,
    pub(super) max_fragments: u32,
    pub(super) delivery: Delivery,
    pub(super) manual_pong: bool,
    #[cfg(feature = "deflate")]
    pub(super) deflate: Option<super::Deflate>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            max_message: 16 << 20,
            max_fragments: 16_384,
            delivery: Delivery::Messages,
            manual_pong: false,
            #[cfg(feature = "deflate")]
            deflate: None,
        }
    }
}

impl Config {
    /// Bytes of a message, after inflation: 16 MiB unless set (1009). It does not apply to [`Delivery::Chunks`].
    #[must_use]
    pub const fn with_max_message(mut self, bytes: usize) -> Self {
        self.max_message = bytes;
        self
    }

    /// Frames per message, 16,384 unless set (1008).
    #[must_use]
    pub const fn with_max_fragments(mut self, count: u32) -> Self {
        self.max_fragments = count;
        self
    }

    /// Whole messages (the default), or chunks.
    #[must_use]
    pub const fn with_delivery(mut self, delivery: Delivery) -> Self {
        self.delivery = delivery;
        self
    }

    /// Leaves pings to the caller, to answer with [`Connection::pong`](super::Connection::pong).
    #[must_use]
    pub const fn with_manual_pong(mut self) -> Self {
        self.manual_pong = true;
        self
    }

    /// Offers or accepts permessage-deflate (RFC 7692); the default does not.
    #[cfg(feature = "deflate")]
    #[must_use]
    pub const fn with_deflate(mut self, deflate: super::Deflate) -> Self {
        self.deflate = Some(deflate);
        self
    }
}

/// How messages are handed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Delivery {
    /// Whole.
    Messages,
    /// In pieces as they arrive, [`Event::Chunk`](super::Event::Chunk): for messages that are not to be held in memory.
    Chunks,
}
