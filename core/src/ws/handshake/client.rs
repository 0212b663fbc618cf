use super::{Negotiated, STANDARD, accept_key};
use crate::{
    http1::{Field, ResponseHead, Version},
    ws::{Config, Connection, MaskKeys},
};
use alloc::string::String;
use base64::Engine;
use core::{fmt, str};

/// The client's side.
///
/// ```
/// use bytewise::{Machine, RecvBuf, SendBuf, http1::{self, Client, ClientEvent}};
/// use bytewise::ws::{Config, Event, MaskKeys, handshake::Request};
///
/// let (mut rx, mut tx) = (RecvBuf::new(), SendBuf::new());
/// let mut http = Client::new(&http1::Config::default());
/// let request = Request::new(*b"the sample nonce", &Config::default(), &[]); // sixteen random bytes, in earnest
/// http.request("GET", "/chat", request.fields().chain([("host", &b"a"[..])]), "", &mut tx)?;
///
/// rx.push(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
///     Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n\x81\x05hello");
/// let Some(ClientEvent::Switched(head)) = http.next_event(&mut rx, &mut tx)? else { panic!() };
/// let mut ws = request.finish(&head, MaskKeys::from_seed([7; 32]))?;
/// assert_eq!(ws.next_event(&mut rx, &mut tx)?, Some(Event::Text("hello")));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Request {
    key: [u8; 24],
    protocols: Option<String>,
    extensions: Option<String>,
    config: Config,
}

impl Request {
    /// A request with a nonce of 16 random bytes, and subprotocols in order of preference.
    pub fn new(nonce: [u8; 16], config: &Config, protocols: &[&str]) -> Self {
        let mut key = [0; 24];
        // Sixteen bytes are 24 characters.
        let _ = STANDARD.encode_slice(nonce, &mut key);
        let protocols = (!protocols.is_empty()).then(|| protocols.join(", "));
        Self { key, protocols, extensions: Negotiated::offer(config), config: config.clone() }
    }

    /// The same with a nonce of the system's randomness.
    ///
    /// # Errors
    ///
    /// The system has none.
    #[cfg(feature = "std")]
    pub fn from_system(config: &Config, protocols: &[&str]) -> std::io::Result<Self> {
        let mut nonce = [0; 16];
        getrandom::fill(&mut nonce)?;
        Ok(Self::new(nonce, config, protocols))
    }

    /// Fields for [`Client::request`](crate::http1::Client::request); chain your own, `host` among them.
    pub fn fields(&self) -> impl Iterator<Item = Field<'_>> + Clone {
        [("upgrade", &b"websocket"[..]), ("sec-websocket-version", b"13"), ("sec-websocket-key", &self.key)]
            .into_iter()
            .chain(self.protocols.iter().map(|protocols| ("sec-websocket-protocol", protocols.as_bytes())))
            .chain(self.extensions.iter().map(|extensions| ("sec-websocket-extensions", extensions.as_bytes())))
    }

    /// Checks the response (RFC 6455, section 4.1); the connection continues on the same buffers.
    ///
    /// # Errors
    ///
    /// The server did not agree, or to something else: fail the connection.
    pub fn finish(self, head: &ResponseHead<'_>, masks: MaskKeys) -> Result<Connection, Rejected> {
        if head.status() != 101 {
            return Err(Rejected::Status(head.status()));
        }
        let fields = head.fields();
        let has = |name: &str, item: &[u8]| fields.list(name).any(|listed| listed.eq_ignore_ascii_case(item));
        if head.version() == Version::Http10 || !has("upgrade", b"websocket") || !has("connection", b"upgrade") {
            return Err(Rejected::NotWebSocket);
        }
        let mut accepts = fields.get_all("sec-websocket-accept");
        if (accepts.next(), accepts.next()) != (Some(&accept_key(&self.key)[..]), None) {
            return Err(Rejected::Key);
        }
        let mut negotiated = Negotiated::confirm_from(fields.get_all("sec-websocket-extensions"), &self.config)?;
        let mut protocols = fields.get_all("sec-websocket-protocol");
        if let Some(protocol) = protocols.next() {
            let protocol = str::from_utf8(protocol).map_err(|_| Rejected::Protocol)?;
            let mut offered = self.protocols.iter().flat_map(|protocols| protocols.split(", "));
            if protocols.next().is_some() || !offered.any(|offered| offered == protocol) {
                return Err(Rejected::Protocol);
            }
            negotiated = negotiated.with_protocol(protocol);
        }
        Ok(Connection::client(&self.config, negotiated, masks))
    }
}

/// The response is not one to the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Rejected {
    /// Not a `101`.
    Status(u16),
    /// No `upgrade: websocket`.
    NotWebSocket,
    /// The wrong accept key.
    Key,
    /// A subprotocol that was not offered.
    Protocol,
    /// An extension or parameter that was not offered.
    Extension,
}

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Status(status) => return write!(f, "the server answered {status}"),
            Self::NotWebSocket => "the server switched to something else",
            Self::Key => "the server answered another key",
            Self::Protocol => "the server chose a subprotocol that was not offered",
            Self::Extension => "the server chose an extension that was not offered",
        })
    }
}

impl core::error::Error for Rejected {}
