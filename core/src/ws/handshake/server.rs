use super::{Negotiated, accept_key, is_key};
use crate::{
    http1::{BodyLength, Field, RequestHead, Version},
    ws::{Config, Connection},
};
use core::{fmt, str};

/// A well-formed upgrade request, to look at before it is answered.
#[derive(Debug, Clone, Copy)]
pub struct Upgrade<'b> {
    head: RequestHead<'b>,
    key: &'b [u8],
}

impl<'b> Upgrade<'b> {
    /// Checks a request (RFC 6455, section 4.2.1).
    ///
    /// # Errors
    ///
    /// What is wrong says how to refuse it. HTTP/1.0 has no upgrade.
    pub fn parse(head: RequestHead<'b>) -> Result<Self, Refusal> {
        let fields = head.fields();
        let has = |name: &str, item: &[u8]| fields.list(name).any(|listed| listed.eq_ignore_ascii_case(item));
        if head.version() == Version::Http10 || !has("upgrade", b"websocket") || !has("connection", b"upgrade") {
            return Err(Refusal::NotWebSocket);
        }
        if head.method() != "GET" {
            return Err(Refusal::Method);
        }
        let mut versions = fields.get_all("sec-websocket-version");
        if (versions.next(), versions.next()) != (Some(b"13"), None) {
            return Err(Refusal::Version);
        }
        let mut keys = fields.get_all("sec-websocket-key");
        let key = match (keys.next(), keys.next()) {
            (Some(key), None) if is_key(key) => key,
            _ => return Err(Refusal::Key),
        };
        if !matches!(head.body_length(), BodyLength::None | BodyLength::Length(0)) {
            return Err(Refusal::Body);
        }
        Ok(Self { head, key })
    }

    /// The whole request.
    pub const fn head(&self) -> RequestHead<'b> {
        self.head
    }

    /// The page that asks, as browsers say (RFC 6455, section 10.2): a server that answers to its own pages only compares it, to
    /// the letter, and refuses others with 403. Programs that are no browsers send none.
    pub fn origin(&self) -> Option<&'b [u8]> {
        self.head.fields().get("origin")
    }

    /// Subprotocols offered, in order of preference.
    pub fn protocols(&self) -> impl Iterator<Item = &'b str> + Clone {
        self.head.fields().list("sec-websocket-protocol").filter_map(|protocol| str::from_utf8(protocol).ok())
    }

    /// Accepts, with one of the subprotocols offered.
    ///
    /// # Panics
    ///
    /// If it was not offered.
    pub fn accept(&self, config: &Config, protocol: Option<&str>) -> Accepted {
        let mut negotiated = Negotiated::choose_from(self.head.fields().get_all("sec-websocket-extensions"), config);
        if let Some(protocol) = protocol {
            assert!(self.protocols().any(|offered| offered == protocol), "the subprotocol was not offered");
            negotiated = negotiated.with_protocol(protocol);
        }
        Accepted { accept: accept_key(self.key), connection: Connection::server(config, negotiated) }
    }
}

/// An accepted upgrade; borrows nothing.
#[derive(Debug)]
pub struct Accepted {
    accept: [u8; 28],
    connection: Connection,
}

impl Accepted {
    /// Fields of the `101`, for [`Server::switch`](crate::http1::Server::switch); chain your own.
    pub fn fields(&self) -> impl Iterator<Item = Field<'_>> + Clone {
        let negotiated = self.connection.negotiated();
        [("upgrade", &b"websocket"[..]), ("sec-websocket-accept", &self.accept)]
            .into_iter()
            .chain(negotiated.protocol().map(|protocol| ("sec-websocket-protocol", protocol.as_bytes())))
            .chain(negotiated.extensions().map(|extensions| ("sec-websocket-extensions", extensions.as_bytes())))
    }

    /// The connection to continue with, on the same buffers.
    pub fn into_connection(self) -> Connection {
        self.connection
    }
}

/// Why a request is not an upgrade that can be accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Refusal {
    /// No `upgrade: websocket` in `connection`.
    NotWebSocket,
    /// Not GET.
    Method,
    /// Not version 13.
    Version,
    /// Key missing, repeated, or not 16 bytes in base64.
    Key,
    /// The request has a body.
    Body,
}

impl Refusal {
    /// 400, 405 or 426.
    pub const fn status(self) -> u16 {
        match self {
            Self::NotWebSocket | Self::Version => 426,
            Self::Method => 405,
            Self::Key | Self::Body => 400,
        }
    }

    /// Fields that belong to the status: the protocol and its version with 426 (RFC 6455, section 4.4), `allow` with 405.
    pub fn fields(self) -> impl Iterator<Item = Field<'static>> + Clone {
        let fields: &'static [Field<'static>] = match self.status() {
            426 => &[("upgrade", b"websocket"), ("sec-websocket-version", b"13")],
            405 => &[("allow", b"GET")],
            _ => &[],
        };
        fields.iter().copied()
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotWebSocket => "not an upgrade to a WebSocket",
            Self::Method => "an upgrade that is not a GET",
            Self::Version => "not version 13 of WebSocket",
            Self::Key => "sec-websocket-key missing, repeated or malformed",
            Self::Body => "an upgrade with a body",
        })
    }
}

impl core::error::Error for Refusal {}
