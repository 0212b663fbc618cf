//! What is sent: heads and bodies. On [`Misuse`] the send buffer is as it was.

use super::{
    BodyLength, Misuse,
    fields::{NOT_IN_TRAILERS, is_one_of},
    syntax::{is_token, is_value},
};
use crate::{Payload, SendBuf};

/// Full status lines, so that one is one copy.
macro_rules! status_lines {
    ($($status:literal $reason:literal),+ $(,)?) => {
        const fn status_line(status: u16) -> Option<&'static str> {
            match status {
                $($status => Some(concat!("HTTP/1.1 ", $status, " ", $reason, "\r\n")),)+
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
        Some(line) => tx.put_parts([line.as_bytes()]),
        None => {
            let mut line = Line::new();
            line.push(b"HTTP/1.1 ");
            line.push_decimal(status.into());
            line.push(b" \r\n");
            tx.put_parts([line.as_bytes()]);
        }
    }
}

/// What the caller's fields say about the connection.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Noted {
    /// `upgrade` is there, so that `connection` has to name it (RFC 9110, section 7.8).
    pub(super) upgrade: bool,
    /// The same for `te` (RFC 9110, section 10.1.4).
    pub(super) te: bool,
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
            4 => noted.hosts += u32::from(name.eq_ignore_ascii_case(b"host")),
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
    let mut line = Line::new();
    line.push(connection);
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
    tx.put_unit(line.as_bytes(), body);
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
                let size = size_line(data.len() as u64);
                if data.len() < SendBuf::UNCOPIED_FROM {
                    tx.put_parts([size.as_bytes(), data.as_bytes(), b"\r\n"]);
                } else {
                    tx.put_unit(size.as_bytes(), data);
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
                tx.put_parts([size_line(len).as_bytes()]);
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
fn size_line(len: u64) -> Line {
    let mut line = Line::new();
    line.push_hex(len);
    line.push(b"\r\n");
    line
}

/// A short line, made on the stack: at most two fields of the core and a blank line.
struct Line {
    bytes: [u8; 96],
    len: usize,
}

impl Line {
    #[inline]
    const fn new() -> Self {
        Self { bytes: [0; 96], len: 0 }
    }

    #[inline]
    fn push(&mut self, bytes: &[u8]) {
        self.bytes[self.len..self.len + bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
    }

    fn push_decimal(&mut self, n: u64) {
        self.push_digits(n, 10, n.checked_ilog10().unwrap_or(0) + 1);
    }

    fn push_hex(&mut self, n: u64) {
        self.push_digits(n, 16, n.checked_ilog2().unwrap_or(0) / 4 + 1);
    }

    #[inline(always)]
    fn push_digits(&mut self, mut n: u64, base: u64, count: u32) {
        let end = self.len + count as usize;
        for digit in self.bytes[self.len..end].iter_mut().rev() {
            *digit = b"0123456789abcdef"[(n % base) as usize];
            n /= base;
        }
        self.len = end;
    }

    #[inline]
    fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}
