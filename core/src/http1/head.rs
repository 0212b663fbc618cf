use super::{Fields, control::Meta, target};
use alloc::vec::Vec;
use core::fmt;
use memchr::memchr;

/// Protocol version. A higher minor version is read as 1.1 (RFC 9110, section 2.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Version {
    /// HTTP/1.0.
    Http10,
    /// HTTP/1.1.
    Http11,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Http10 => "HTTP/1.0",
            Self::Http11 => "HTTP/1.1",
        })
    }
}

/// How a body is delimited (RFC 9112, section 6.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BodyLength {
    /// No body; nor, in a response that could have one, `content-length: 0`.
    None,
    /// By `content-length`. In a response to HEAD, or a 304, it is announced and not sent.
    Length(u64),
    /// By chunks; sent to an HTTP/1.0 client, until close.
    Chunked,
    /// By the end of the connection; responses only.
    UntilClose,
}

/// A request line and its fields, where they were received.
///
/// It is `Copy` and borrows from the receive buffer alone. To keep it while the body comes, take
/// [`into_owned`](Self::into_owned), or [`into_owned_in`](Self::into_owned_in) memory that is used again.
#[derive(Clone, Copy)]
pub struct RequestHead<'b> {
    /// Up to and with the blank line.
    bytes: &'b [u8],
    line: RequestLine,
    meta: Meta,
}

/// Lengths of what a request line is made of.
#[derive(Debug, Clone, Copy)]
pub(super) struct RequestLine {
    pub(super) method: u32,
    pub(super) target: u32,
}

impl<'b> RequestHead<'b> {
    /// The head in bytes that begin with it and end with its blank line.
    #[inline]
    pub(super) const fn new(bytes: &'b [u8], line: RequestLine, meta: Meta) -> Self {
        Self { bytes, line, meta }
    }

    /// The head as received, up to and with its blank line.
    pub const fn as_bytes(&self) -> &'b [u8] {
        self.bytes
    }

    /// A copy to keep while the body comes, or to send to another task.
    pub fn into_owned(self) -> OwnedRequestHead {
        self.into_owned_in(Vec::new())
    }

    /// The same in memory that was used before, so that nothing is allocated:
    /// [`OwnedRequestHead::into_memory`] gives it back.
    pub fn into_owned_in(self, mut memory: Vec<u8>) -> OwnedRequestHead {
        memory.clear();
        memory.extend_from_slice(self.bytes);
        OwnedRequestHead { bytes: memory, line: self.line, meta: self.meta }
    }

    /// Method, as sent: case matters (RFC 9110, section 9.1).
    #[inline]
    pub fn method(&self) -> &'b str {
        text(self.method_bytes())
    }

    #[inline]
    pub(super) fn method_bytes(&self) -> &'b [u8] {
        &self.bytes[..self.line.method as usize]
    }

    /// Target, as sent, in the form its method requires (RFC 9112, section 3.2). Visible ASCII; not decoded, not normalised.
    #[inline]
    pub fn target(&self) -> &'b str {
        text(self.target_bytes())
    }

    #[inline]
    pub(super) fn target_bytes(&self) -> &'b [u8] {
        let from = self.line.method as usize + 1;
        &self.bytes[from..from + self.line.target as usize]
    }

    /// Path of the target, without its query; `*` and the authority of CONNECT are none.
    pub fn path(&self) -> Option<&'b str> {
        let target = self.target();
        let path = match target.strip_prefix('/') {
            Some(_) => target,
            None if target == "*" || self.method_bytes() == b"CONNECT" => return None,
            // An absolute target without a path means `/` (RFC 9110, section 4.2.3).
            None => {
                let (_, rest) = target.split_once("://")?;
                rest.find(['/', '?']).map_or("/", |at| &rest[at..])
            }
        };
        Some(path.split_once('?').map_or(path, |(path, _)| if path.is_empty() { "/" } else { path }))
    }

    /// Query of the target: what follows the first `?`.
    pub fn query(&self) -> Option<&'b str> {
        self.target().split_once('?').map(|(_, query)| query)
    }

    /// Whom the request is for: that of the target, if it has one, before `host` (RFC 9112, sections 3.2.2 and 3.3). `None`
    /// without either; empty if `host` is.
    pub fn authority(&self) -> Option<&'b [u8]> {
        let target = self.target_bytes();
        match target {
            _ if self.method_bytes() == b"CONNECT" => Some(target),
            [b'/', ..] | b"*" => self.fields().get("host"),
            _ => target::absolute(target),
        }
    }

    /// Protocol version.
    #[inline]
    pub const fn version(&self) -> Version {
        self.meta.version()
    }

    /// Header fields.
    #[inline]
    pub fn fields(&self) -> Fields<'b> {
        // Behind `method SP target SP HTTP/1.1`.
        let line = self.line.method as usize + self.line.target as usize + 10;
        let line_end = if self.bytes[line] == b'\r' { 2 } else { 1 };
        Fields::of_head(&self.bytes[line + line_end..], self.meta.hides_length())
    }

    /// How the body is delimited.
    #[inline]
    pub const fn body_length(&self) -> BodyLength {
        self.meta.body()
    }

    /// Whether the client waits for `100`; never in HTTP/1.0, nor without a body (RFC 9110, section 10.1.1).
    #[inline]
    pub const fn expects_continue(&self) -> bool {
        self.meta.expects_continue()
    }
}

impl fmt::Debug for RequestHead<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestHead")
            .field("method", &self.method())
            .field("target", &self.target())
            .field("version", &self.version())
            .field("fields", &DebugFields(self.fields()))
            .finish()
    }
}

/// A status line and its fields, where they were received.
#[derive(Clone, Copy)]
pub struct ResponseHead<'b> {
    bytes: &'b [u8],
    line: StatusLine,
    meta: Meta,
}

/// What there is to know of a status line.
#[derive(Debug, Clone, Copy)]
pub(super) struct StatusLine {
    /// Its length, with the line end.
    pub(super) len: u32,
    pub(super) status: u16,
}

impl<'b> ResponseHead<'b> {
    /// The head in bytes that begin with it and end with its blank line.
    #[inline]
    pub(super) const fn new(bytes: &'b [u8], line: StatusLine, meta: Meta) -> Self {
        Self { bytes, line, meta }
    }

    /// The head as received, up to and with its blank line.
    pub const fn as_bytes(&self) -> &'b [u8] {
        self.bytes
    }

    /// A copy to keep while the body comes, or to send to another task.
    pub fn into_owned(self) -> OwnedResponseHead {
        self.into_owned_in(Vec::new())
    }

    /// The same in memory that was used before, so that nothing is allocated:
    /// [`OwnedResponseHead::into_memory`] gives it back.
    pub fn into_owned_in(self, mut memory: Vec<u8>) -> OwnedResponseHead {
        memory.clear();
        memory.extend_from_slice(self.bytes);
        OwnedResponseHead { bytes: memory, line: self.line, meta: self.meta }
    }

    /// Status code: three digits, 100 to 999.
    #[inline]
    pub const fn status(&self) -> u16 {
        self.line.status
    }

    /// Reason phrase, which means nothing (RFC 9112, section 4); often empty.
    pub fn reason(&self) -> &'b [u8] {
        let line = &self.bytes[..self.line.len as usize];
        let end = memchr(b'\r', line).unwrap_or(line.len() - 1);
        // Behind `HTTP/1.1 200 `.
        line.get(13..end).unwrap_or_default()
    }

    /// Protocol version.
    #[inline]
    pub const fn version(&self) -> Version {
        self.meta.version()
    }

    /// Header fields.
    #[inline]
    pub fn fields(&self) -> Fields<'b> {
        Fields::of_head(&self.bytes[self.line.len as usize..], self.meta.hides_length())
    }

    /// How the body is delimited; for HEAD and 304, how it would be.
    #[inline]
    pub const fn body_length(&self) -> BodyLength {
        self.meta.body()
    }
}

impl fmt::Debug for ResponseHead<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseHead")
            .field("status", &self.status())
            .field("version", &self.version())
            .field("fields", &DebugFields(self.fields()))
            .finish()
    }
}

/// A [`RequestHead`] with its own memory.
#[derive(Debug, Clone)]
pub struct OwnedRequestHead {
    bytes: Vec<u8>,
    line: RequestLine,
    meta: Meta,
}

impl OwnedRequestHead {
    /// The head; not parsed again.
    #[inline]
    pub fn head(&self) -> RequestHead<'_> {
        RequestHead::new(&self.bytes, self.line, self.meta)
    }

    /// The memory, for the next one.
    pub fn into_memory(self) -> Vec<u8> {
        self.bytes
    }
}

/// A [`ResponseHead`] with its own memory.
#[derive(Debug, Clone)]
pub struct OwnedResponseHead {
    bytes: Vec<u8>,
    line: StatusLine,
    meta: Meta,
}

impl OwnedResponseHead {
    /// The head; not parsed again.
    #[inline]
    pub fn head(&self) -> ResponseHead<'_> {
        ResponseHead::new(&self.bytes, self.line, self.meta)
    }

    /// The memory, for the next one.
    pub fn into_memory(self) -> Vec<u8> {
        self.bytes
    }
}

/// Bytes that were found to be ASCII.
#[inline]
fn text(bytes: &[u8]) -> &str {
    core::str::from_utf8(bytes).unwrap_or_default()
}

/// Fields as they read.
struct DebugFields<'b>(Fields<'b>);

impl fmt::Debug for DebugFields<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fields = self.0.iter().map(|(name, value)| (name, value.escape_ascii()));
        f.debug_map().entries(fields.map(|(name, value)| (name, DebugValue(value)))).finish()
    }
}

struct DebugValue<'b>(core::slice::EscapeAscii<'b>);

impl fmt::Debug for DebugValue<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.0)
    }
}
