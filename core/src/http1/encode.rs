//! What is sent: heads and bodies. On [`Misuse`] the send buffer is as it was.

use super::{
    BodyLength, Misuse,
    fields::{NOT_IN_TRAILERS, is_one_of},
    syntax::{is_token, is_value},
};
use crate::{Payload, SendBuf};

/// Room for a status line: all of it is copied, since a copy of a known size is a few instructions.
const STATUS_LINE: usize = 48;

/// A status line, and its length.
type StatusLine = ([u8; STATUS_LINE], usize);

const fn padded(line: &str) -> StatusLine {
    let mut bytes = [0; STATUS_LINE];
    bytes.split_at_mut(line.len()).0.copy_from_slice(line.as_bytes());
    (bytes, line.len())
}

/// Full status lines, so that one is one copy.
macro_rules! status_lines {
    ($($status:literal $reason:literal),+ $(,)?) => {
        const fn status_line(status: u16) -> Option<&'static StatusLine> {
            match status {
                $($status => {
                    static LINE: StatusLine = padded(concat!("HTTP/1.1 ", $status, " ", $reason, "\r\n"));
                    Some(&LINE)
                })+
                _ => None,
            }
        }
    };
}

status_lines! {
    100 "Continue", 101 "Switching Protocols", 102 "Processing", 103 "Early Hints",
    200 "OK", 201 "Created", 202 "Accepted", 203 "Non-Authoritative Information", 204 "No Content",
    205 "Reset Content", 206 "Partial Content",
    300 "Multiple Choices", 301 "Moved Permanently", 302 "Found", 303 "See Other", 304 "Not Modified",
    307 "Temporary Redirect", 308 "Permanent Redirect",
    400 "Bad Request", 401 "Unauthorized", 403 "Forbidden", 404 "Not Found", 405 "Method Not Allowed",
    406 "Not Acceptable", 408 "Request Timeout", 409 "Conflict", 410 "Gone", 411 "Length Required",
    412 "Precondition Failed", 413 "Content Too Large", 414 "URI Too Long", 415 "Unsupported Media Type",
    416 "Range Not Satisfiable", 417 "Expectation Failed", 421 "Misdirected Request", 422 "Unprocessable Content",
    425 "Too Early", 426 "Upgrade Required", 428 "Precondition Required", 429 "Too Many Requests",
    431 "Request Header Fields Too Large",
    500 "Internal Server Error", 501 "Not Implemented", 502 "Bad Gateway", 503 "Service Unavailable",
    504 "Gateway Timeout", 505 "HTTP Version Not Supported",
}

/// Appends a status line (RFC 9112, section 4).
#[inline]
pub(super) fn put_status_line(status: u16, tx: &mut SendBuf) {
    match status_line(status) {
        Some((line, len)) => tx.put_with(|space| {
            *space = *line;
            *len
        }),
        None => put_line(tx, |line| {
            line.push(b"HTTP/1.1 ");
            line.push_decimal(status.into());
            line.push(b" \r\n");
        }),
    }
}

/// What the caller's fields say about the connection.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Noted {
    /// `upgrade` is there, so that `connection` has to name it (RFC 9110, section 7.8).
    pub(super) upgrade: bool,
    /// The same for `te` (RFC 9110, section 10.1.4).
    pub(super) te: bool,
    pub(super) date: bool,
    pub(super) hosts: u32,
}

/// A field that the core writes itself.
fn is_reserved(name: &[u8]) -> bool {
    match name.len() {
        10 => name.eq_ignore_ascii_case(b"connection"),
        14 => name.eq_ignore_ascii_case(b"content-length"),
        17 => name.eq_ignore_ascii_case(b"transfer-encoding"),
        _ => false,
    }
}

/// Appends the caller's fields of a head.
#[inline]
pub(super) fn put_fields(
    fields: impl IntoIterator<Item = (impl AsRef<[u8]>, impl AsRef<[u8]>)>,
    tx: &mut SendBuf,
) -> Result<Noted, Misuse> {
    let mut noted = Noted::default();
    for (name, value) in fields {
        let (name, value) = (name.as_ref(), value.as_ref());
        if is_reserved(name) {
            return Err(Misuse::Field);
        }
        match name.len() {
            2 => noted.te |= name.eq_ignore_ascii_case(b"te"),
            4 if name.eq_ignore_ascii_case(b"host") => noted.hosts += 1,
            4 => noted.date |= name.eq_ignore_ascii_case(b"date"),
            7 => noted.upgrade |= name.eq_ignore_ascii_case(b"upgrade"),
            _ => {}
        }
        put_field(name, value, tx)?;
    }
    Ok(noted)
}

/// Appends the fields of a trailer section.
fn put_trailers(
    fields: impl IntoIterator<Item = (impl AsRef<[u8]>, impl AsRef<[u8]>)>,
    tx: &mut SendBuf,
) -> Result<(), Misuse> {
    for (name, value) in fields {
        if is_one_of(name.as_ref(), NOT_IN_TRAILERS) {
            return Err(Misuse::Field);
        }
        put_field(name.as_ref(), value.as_ref(), tx)?;
    }
    Ok(())
}

#[inline]
fn put_field(name: &[u8], value: &[u8], tx: &mut SendBuf) -> Result<(), Misuse> {
    if !is_token(name) || !is_value(value) {
        return Err(Misuse::Field);
    }
    tx.put_parts([name, b": ", value, b"\r\n"]);
    Ok(())
}

/// Does all of `put`, which appends bytes that are copied, or takes them back.
#[inline]
pub(super) fn atomically<T>(
    tx: &mut SendBuf,
    put: impl FnOnce(&mut SendBuf) -> Result<T, Misuse>,
) -> Result<T, Misuse> {
    let before = tx.inline_len();
    let result = put(tx);
    if result.is_err() {
        tx.truncate_inline(before);
    }
    result
}

/// The framing of a message to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    /// No field.
    Nothing,
    Length(u64),
    Chunked,
}

/// The `connection` field, if there is one; `options` are those that the connection's state asks for.
pub(super) const fn connection(noted: Noted, close: bool, keep_alive: bool) -> &'static [u8] {
    match (close, keep_alive, noted.upgrade, noted.te) {
        (false, false, false, false) => b"",
        (false, false, false, true) => b"connection: te\r\n",
        (false, false, true, false) => b"connection: upgrade\r\n",
        (false, false, true, true) => b"connection: upgrade, te\r\n",
        (false, true, ..) => b"connection: keep-alive\r\n",
        (true, _, false, false) => b"connection: close\r\n",
        (true, _, false, true) => b"connection: close, te\r\n",
        (true, _, true, false) => b"connection: close, upgrade\r\n",
        (true, _, true, true) => b"connection: close, upgrade, te\r\n",
    }
}

/// The end of a head: the fields that the core writes, the blank line, and what of the body is there.
#[inline]
pub(super) fn put_end_of_head(connection: &[u8], framing: Framing, body: Payload<'_>, tx: &mut SendBuf) {
    put_line(tx, |line| {
        if !connection.is_empty() {
            line.push(connection);
        }
        match framing {
            Framing::Nothing => {}
            Framing::Length(length) => {
                line.push(b"content-length: ");
                line.push_decimal(length);
                line.push(b"\r\n");
            }
            Framing::Chunked => line.push(b"transfer-encoding: chunked\r\n"),
        }
        line.push(b"\r\n");
    });
    if !body.is_empty() {
        tx.put_unit(&[], body);
    }
}

/// A body being sent.
#[derive(Debug, Clone, Copy)]
pub(super) enum Outgoing {
    Length {
        left: u64,
    },
    Chunked,
    UntilClose,
    /// The caller gives it and it is not sent: HEAD, 304.
    Unsent,
}

impl Outgoing {
    /// Of a message whose head was framed so.
    #[inline]
    pub(super) const fn new(length: BodyLength) -> Self {
        match length {
            BodyLength::None => Self::Length { left: 0 },
            BodyLength::Length(left) => Self::Length { left },
            BodyLength::Chunked => Self::Chunked,
            BodyLength::UntilClose => Self::UntilClose,
        }
    }

    #[inline]
    pub(super) fn put_data(&mut self, data: Payload<'_>, tx: &mut SendBuf) -> Result<(), Misuse> {
        match self {
            Self::Length { left } => {
                *left = left.checked_sub(data.len() as u64).ok_or(Misuse::BodyTooLong)?;
                tx.put_unit(&[], data);
            }
            Self::UntilClose => tx.put_unit(&[], data),
            // An empty chunk would be the last one.
            Self::Chunked if !data.is_empty() => {
                put_size_line(data.len() as u64, tx);
                if data.len() < SendBuf::UNCOPIED_FROM {
                    tx.put_parts([data.as_bytes(), b"\r\n"]);
                } else {
                    tx.put_unit(&[], data);
                    tx.put_parts([b"\r\n"]);
                }
            }
            Self::Chunked | Self::Unsent => {}
        }
        Ok(())
    }

    /// Room for `len` bytes that the caller writes itself.
    pub(super) fn announce_data(&mut self, len: u64, tx: &mut SendBuf) -> Result<(), Misuse> {
        match self {
            Self::Length { left } => {
                *left = left.checked_sub(len).ok_or(Misuse::BodyTooLong)?;
                tx.put_external(len);
            }
            Self::UntilClose => tx.put_external(len),
            Self::Chunked if len > 0 => {
                put_size_line(len, tx);
                tx.put_external(len);
                tx.put_parts([b"\r\n"]);
            }
            Self::Chunked | Self::Unsent => {}
        }
        Ok(())
    }

    pub(super) fn put_end(
        self,
        trailers: impl IntoIterator<Item = (impl AsRef<[u8]>, impl AsRef<[u8]>)>,
        tx: &mut SendBuf,
    ) -> Result<(), Misuse> {
        match self {
            Self::Chunked => atomically(tx, |tx| {
                tx.put_parts([b"0\r\n"]);
                put_trailers(trailers, tx)?;
                tx.put_parts([b"\r\n"]);
                Ok(())
            }),
            Self::Length { left: 1.. } => Err(Misuse::BodyTooShort),
            Self::Length { left: 0 } => put_no_end(trailers),
            // A client of HTTP/1.0 has no chunks, and so no trailers; HEAD has no body that could have any.
            Self::UntilClose | Self::Unsent => Ok(()),
        }
    }
}

/// Ends a body that has no end of its own to be written, and so no trailers.
pub(super) fn put_no_end(
    trailers: impl IntoIterator<Item = (impl AsRef<[u8]>, impl AsRef<[u8]>)>,
) -> Result<(), Misuse> {
    if trailers.into_iter().next().is_some() { Err(Misuse::BodyForbidden) } else { Ok(()) }
}

/// The line before a chunk of so many bytes (RFC 9112, section 7.1).
#[inline]
fn put_size_line(len: u64, tx: &mut SendBuf) {
    put_line(tx, |line| {
        line.push_hex(len);
        line.push(b"\r\n");
    });
}

/// Longest piece that is made at once: two fields of the core and a blank line.
const LINE: usize = 96;

/// Appends a piece that is made in place.
#[inline(always)]
fn put_line(tx: &mut SendBuf, make: impl FnOnce(&mut Line<'_>)) {
    tx.put_with(|space| {
        let mut line = Line { space, len: 0 };
        make(&mut line);
        line.len
    });
}

/// A short piece, made in the send buffer.
struct Line<'s> {
    space: &'s mut [u8; LINE],
    len: usize,
}

impl Line<'_> {
    #[inline(always)]
    fn push(&mut self, bytes: &[u8]) {
        self.space[self.len..self.len + bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
    }

    #[inline]
    fn push_decimal(&mut self, n: u64) {
        self.push_digits(n, 10, n.checked_ilog10().unwrap_or(0) + 1);
    }

    #[inline]
    fn push_hex(&mut self, n: u64) {
        self.push_digits(n, 16, n.checked_ilog2().unwrap_or(0) / 4 + 1);
    }

    #[inline(always)]
    fn push_digits(&mut self, mut n: u64, base: u64, count: u32) {
        let end = self.len + count as usize;
        for digit in self.space[self.len..end].iter_mut().rev() {
            *digit = b"0123456789abcdef"[(n % base) as usize];
            n /= base;
        }
        self.len = end;
    }
}
