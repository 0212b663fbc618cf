use alloc::sync::Arc;

/// What a peer may make us hold or wait for, and what we forgive it. Exceeding a limit has the status in brackets.
///
/// A clone shares the settings: one `Config` serves any number of connections.
///
/// ```
/// use bytewise::http1::{Config, Leniency};
///
/// let config = Config::default().with_max_body(1 << 20).with_max_fields(40);
/// let for_old_clients = config.clone().allow(Leniency::MissingHost); // `config` is as it was
/// ```
#[derive(Debug, Clone, Default)]
pub struct Config(Option<Arc<Settings>>);

#[derive(Debug, Clone)]
pub(super) struct Settings {
    pub(super) max_head: usize,
    pub(super) max_target: usize,
    pub(super) max_fields: usize,
    /// `None`: the role's default.
    pub(super) max_body: Option<u64>,
    pub(super) max_chunk_line: usize,
    pub(super) max_trailers: usize,
    pub(super) max_interim: u32,
    pub(super) max_outstanding: usize,
    pub(super) drain: u64,
    #[cfg(feature = "date")]
    pub(super) clock: Option<fn() -> std::time::SystemTime>,
    forgiven: u8,
}

/// Places in heads and trailer sections are kept in 32 bits.
const MOST: usize = u32::MAX as usize;

/// What [`Config::default`] stands for, without an allocation of its own.
static DEFAULT: Settings = Settings {
    max_head: 16 * 1024,
    max_target: 8000,
    max_fields: 100,
    max_body: None,
    max_chunk_line: 256,
    max_trailers: 8 * 1024,
    max_interim: 16,
    max_outstanding: 1,
    drain: 64 * 1024,
    #[cfg(feature = "date")]
    clock: None,
    forgiven: 0,
};

impl Settings {
    pub(super) fn allows(&self, leniency: Leniency) -> bool {
        self.forgiven & leniency.bit() != 0
    }

    /// Whether a whole head can be parsed without a look at each of its lines.
    pub(super) fn reads_lines_as_sent(&self) -> bool {
        self.forgiven & (Leniency::BareLf.bit() | Leniency::ObsFold.bit() | Leniency::SpaceBeforeColon.bit()) == 0
    }
}

impl Config {
    /// Start line and fields, with their line ends: 16 KiB unless set, 4 GiB at most (431).
    #[must_use]
    pub fn with_max_head(self, bytes: usize) -> Self {
        self.with(|settings| settings.max_head = bytes.min(MOST))
    }

    /// Request target, 8,000 bytes unless set (414). RFC 9112, section 3, recommends at least that.
    #[must_use]
    pub fn with_max_target(self, bytes: usize) -> Self {
        self.with(|settings| settings.max_target = bytes)
    }

    /// Fields in a section, 100 unless set (431). Heads with more than 100 are parsed line by line, which is slower.
    #[must_use]
    pub fn with_max_fields(self, count: usize) -> Self {
        self.with(|settings| settings.max_fields = count)
    }

    /// Body, 16 MiB unless set for a server (413), unbounded unless set for a client. For one message there are
    /// [`Server::limit_body`](super::Server::limit_body) and [`Client::limit_body`](super::Client::limit_body).
    #[must_use]
    pub fn with_max_body(self, bytes: u64) -> Self {
        self.with(|settings| settings.max_body = Some(bytes))
    }

    /// A chunk-size line with its extensions and its line end, 256 bytes unless set (400). All extensions of one body: 16 KiB.
    #[must_use]
    pub fn with_max_chunk_line(self, bytes: usize) -> Self {
        self.with(|settings| settings.max_chunk_line = bytes.min(MOST))
    }

    /// Trailer section with its line ends, 8 KiB unless set (431).
    #[must_use]
    pub fn with_max_trailers(self, bytes: usize) -> Self {
        self.with(|settings| settings.max_trailers = bytes.min(MOST))
    }

    /// Client: interim responses before the final one, 16 unless set.
    #[must_use]
    pub fn with_max_interim(self, count: u32) -> Self {
        self.with(|settings| settings.max_interim = count)
    }

    /// Client: requests sent whose responses have not begun, 1 unless set. More is pipelining.
    #[must_use]
    pub fn with_max_outstanding(self, count: usize) -> Self {
        self.with(|settings| settings.max_outstanding = count)
    }

    /// Server: what of a body that nobody reads is worth reading to keep the connection, 64 KiB unless set.
    ///
    /// A whole response that is sent with more of the request to come, or an unknown rest, says `connection: close`.
    #[must_use]
    pub fn with_drain(self, bytes: u64) -> Self {
        self.with(|settings| settings.drain = bytes)
    }

    /// Server: a clock, `SystemTime::now`, so that the core writes the field `date` into final responses that have none. A
    /// server that has a clock must send it (RFC 9110, section 6.6.1); none unless set.
    ///
    /// ```
    /// use bytewise::http1::{Config, Server};
    /// use std::time::SystemTime;
    ///
    /// let http = Server::new(&Config::default().with_clock(SystemTime::now));
    /// ```
    #[cfg(feature = "date")]
    #[must_use]
    pub fn with_clock(self, now: fn() -> std::time::SystemTime) -> Self {
        self.with(|settings| settings.clock = Some(now))
    }

    /// Forgives one thing; the default forgives nothing.
    #[must_use]
    pub fn allow(self, leniency: Leniency) -> Self {
        self.with(|settings| settings.forgiven |= leniency.bit())
    }

    #[inline]
    pub(super) fn settings(&self) -> &Settings {
        self.0.as_deref().unwrap_or(&DEFAULT)
    }

    fn with(mut self, set: impl FnOnce(&mut Settings)) -> Self {
        set(Arc::make_mut(self.0.get_or_insert_with(|| Arc::new(DEFAULT.clone()))));
        self
    }
}

/// What can be forgiven, and what that risks. Safe only where no other parser stands before or behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Leniency {
    /// LF alone ends a line of a head or a trailer section (RFC 9112, section 2.2); chunks keep their CRLF.
    ///
    /// Risk: smuggling past a parser that takes it for data.
    BareLf,
    /// Folded field lines, read as if there were spaces instead of the line end (RFC 9112, section 5.2).
    ///
    /// Risk: a field hidden in the value of another one. The head is changed in place: what
    /// [`as_bytes`](super::RequestHead::as_bytes) shows has the spaces.
    ObsFold,
    /// Equal lengths repeated, to the letter, as lines or as a list: `5, 5` (RFC 9112, section 6.3).
    ///
    /// Risk: a parser that takes another of them.
    RepeatedContentLength,
    /// `transfer-encoding` wins over `content-length`, and the connection closes after the exchange (RFC 9112, section 6.1).
    ///
    /// Risk: request smuggling. [`Fields`](super::Fields) do not show the length then.
    LengthWithChunked,
    /// Whitespace between the name of a response's field and the colon, dropped (RFC 9112, section 5.1).
    ///
    /// Risk: a field that others do not see.
    SpaceBeforeColon,
    /// No `host` in HTTP/1.1 (RFC 9112, section 3.2).
    ///
    /// Risk: the wrong virtual host.
    MissingHost,
}

impl Leniency {
    const fn bit(self) -> u8 {
        1 << self as u8
    }
}
