use super::syntax::{items, trim, trim_end};
use alloc::vec::Vec;
use memchr::memchr;

/// Name and value.
pub type Field<'a> = (&'a str, &'a [u8]);

/// No fields, with a type that can be inferred.
pub const NO_FIELDS: [Field<'static>; 0] = [];

/// A validated field section, left where it was received, and split again whenever it is walked.
///
/// Every look-up goes through the section. Who needs many fields of it makes one pass over [`iter`](Self::iter).
///
/// ```
/// # use bytewise::{Machine, RecvBuf, SendBuf, http1::{Config, Server, ServerEvent}};
/// # let (mut rx, mut tx, mut http) = (RecvBuf::new(), SendBuf::new(), Server::new(&Config::default()));
/// rx.push(b"GET / HTTP/1.1\r\nHost: a\r\nAccept: text/html, */*\r\nX-Empty:\r\n\r\n");
/// let Some(ServerEvent::Request(head)) = http.next_event(&mut rx, &mut tx)? else { panic!() };
/// let fields = head.fields();
/// assert_eq!(fields.get("HOST"), Some(&b"a"[..]));
/// assert_eq!(fields.list("accept").collect::<Vec<_>>(), [&b"text/html"[..], b"*/*"]);
/// assert_eq!(fields.iter().last(), Some(("X-Empty", &b""[..])));
/// # Ok::<(), bytewise::http1::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fields<'b> {
    /// Whole lines, up to and with the blank one, or nothing.
    section: &'b [u8],
    place: Place,
}

/// Which section the fields stand in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Head,
    /// `content-length` is not shown: the body is in chunks (RFC 9112, section 6.3, item 3).
    HeadInChunks,
    /// Those that must not be here are not shown (RFC 9110, section 6.5.1).
    Trailers,
}

impl<'b> Fields<'b> {
    /// The fields of a head, which are known to be valid.
    pub(super) const fn of_head(section: &'b [u8], hides_length: bool) -> Self {
        Self { section, place: if hides_length { Place::HeadInChunks } else { Place::Head } }
    }

    /// The fields of a trailer section, which are known to be valid.
    pub(super) const fn of_trailers(section: &'b [u8]) -> Self {
        Self { section, place: Place::Trailers }
    }

    /// A copy to keep, or to send to another task. Nothing is allocated if there are no fields.
    pub fn into_owned(self) -> OwnedFields {
        let section = if self.is_empty() { Vec::new() } else { self.section.to_vec() };
        OwnedFields { section, place: self.place }
    }

    /// Each field in the order received, values without surrounding whitespace. Of a trailer section, only those allowed
    /// there (RFC 9110, section 6.5.1).
    pub fn iter(self) -> impl Iterator<Item = Field<'b>> + Clone {
        self.raw().map(|(name, value)| (core::str::from_utf8(name).unwrap_or_default(), value))
    }

    /// What a proxy passes on: without framing and hop-by-hop fields, and without those that `connection` names (RFC 9110,
    /// section 7.6.1).
    pub fn end_to_end(self) -> impl Iterator<Item = Field<'b>> + Clone {
        self.iter().filter(move |(name, _)| {
            !is_one_of(name.as_bytes(), HOP_BY_HOP)
                && !self.options().any(|option| option.eq_ignore_ascii_case(name.as_bytes()))
        })
    }

    /// First value of that name, in any case.
    pub fn get(self, name: &str) -> Option<&'b [u8]> {
        self.get_all(name).next()
    }

    /// All values of that name, in any case, in the order received.
    pub fn get_all(self, name: &str) -> impl Iterator<Item = &'b [u8]> + Clone {
        self.raw().filter(move |(n, _)| n.eq_ignore_ascii_case(name.as_bytes())).map(|(_, value)| value)
    }

    /// Items of a comma-separated list, over all fields of that name, without the empty ones; a comma inside quotes does not
    /// separate (RFC 9110, section 5.6.1).
    pub fn list(self, name: &str) -> impl Iterator<Item = &'b [u8]> + Clone {
        self.get_all(name).flat_map(items).filter(|item| !item.is_empty())
    }

    /// Whether there is none.
    pub fn is_empty(self) -> bool {
        self.raw().next().is_none()
    }

    /// Options of `connection`: tokens, so that a quote is none, and hides no comma.
    fn options(self) -> impl Iterator<Item = &'b [u8]> + Clone {
        self.get_all("connection").flat_map(|value| value.split(|&byte| byte == b',')).map(trim)
    }

    fn raw(self) -> impl Iterator<Item = Raw<'b>> + Clone {
        lines(self.section).filter_map(move |line| {
            // Names are short: a search that is set up for long ones would take longer.
            let (name, value) = line.split_at(line.iter().position(|&byte| byte == b':')?);
            let name = trim_end(name);
            let shown = match self.place {
                Place::Head => true,
                Place::HeadInChunks => !name.eq_ignore_ascii_case(b"content-length"),
                Place::Trailers => !is_one_of(name, NOT_IN_TRAILERS),
            };
            shown.then(|| (name, trim(&value[1..])))
        })
    }
}

/// [`Fields`] with their own memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnedFields {
    section: Vec<u8>,
    place: Place,
}

impl OwnedFields {
    /// The fields.
    pub fn fields(&self) -> Fields<'_> {
        Fields { section: &self.section, place: self.place }
    }
}

impl Default for OwnedFields {
    /// None.
    fn default() -> Self {
        Self { section: Vec::new(), place: Place::Trailers }
    }
}

/// Name and value, as bytes.
type Raw<'b> = (&'b [u8], &'b [u8]);

/// Lines up to the blank one, without their ends.
pub(super) fn lines(mut rest: &[u8]) -> impl Iterator<Item = &[u8]> + Clone {
    core::iter::from_fn(move || {
        let line;
        (line, rest) = rest.split_at(memchr(b'\n', rest)? + 1);
        let line = line.strip_suffix(b"\r\n").or_else(|| line.strip_suffix(b"\n"))?;
        (!line.is_empty()).then_some(line)
    })
}

/// Fields of one hop (RFC 9110, section 7.6.1), and those of framing, which each hop writes itself.
const HOP_BY_HOP: &[&str] = &[
    "connection",
    "content-length",
    "keep-alive",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Fields for framing, routing, authentication, request modifiers, response control and content format (RFC 9110, section
/// 6.5.1).
pub(super) const NOT_IN_TRAILERS: &[&str] = &[
    "age",
    "authorization",
    "cache-control",
    "connection",
    "content-encoding",
    "content-length",
    "content-range",
    "content-type",
    "cookie",
    "date",
    "expect",
    "expires",
    "host",
    "keep-alive",
    "location",
    "max-forwards",
    "pragma",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "range",
    "retry-after",
    "set-cookie",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "vary",
    "warning",
    "www-authenticate",
];

pub(super) fn is_one_of(name: &[u8], names: &[&str]) -> bool {
    names.iter().any(|n| name.eq_ignore_ascii_case(n.as_bytes()))
}
