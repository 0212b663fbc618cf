//! Heads that came whole, which most do: parsed at once, by httparse.
//!
//! `None` in any doubt: then [`HeadLines`](super::lines::HeadLines) goes through it line by line, and says what is wrong.

use super::{
    Version,
    config::Settings,
    control::{Control, Meta, Side},
    head::{RequestLine, StatusLine},
    lines::MAX_BESIDE_TARGET,
    target,
};
use core::mem::MaybeUninit;
use httparse::Header;
use memchr::memchr;

/// So many fields are parsed here.
const FIELDS: usize = 100;

/// Parses the request head at the front of `window`; says how long it is.
#[inline]
pub(super) fn request(window: &[u8], settings: &Settings) -> Option<(usize, RequestLine, Meta)> {
    if !settings.reads_lines_as_sent() {
        return None;
    }
    let mut slots = [const { MaybeUninit::<Header<'_>>::uninit() }; FIELDS];
    let mut request = httparse::Request::new(&mut []);
    let slots = &mut slots[..settings.max_fields.min(FIELDS)];
    let Ok(httparse::Status::Complete(len)) = request.parse_with_uninit_headers(window, slots) else { return None };
    let (method, target) = (request.method?.as_bytes(), request.path?.as_bytes());
    let version = version(request.version?);
    let head = &window[..len];
    let is_line = target.len() <= settings.max_target
        && method.len() + target.len() + 12 <= settings.max_target.saturating_add(MAX_BESIDE_TARGET)
        && target::is_target(method, target);
    // httparse skips empty lines before the head, and takes a bare line feed for a line end.
    if !is_line || head[0] == b'\r' || has_bare_line_feed(head) {
        return None;
    }
    let meta = meta(request.headers, Side::Request, version, settings)?;
    Some((len, RequestLine { method: method.len() as u32, target: target.len() as u32 }, meta))
}

/// Parses the response head at the front of `window`; says how long it is.
#[inline]
pub(super) fn response(window: &[u8], settings: &Settings) -> Option<(usize, StatusLine, Meta)> {
    if !settings.reads_lines_as_sent() {
        return None;
    }
    let mut slots = [const { MaybeUninit::<Header<'_>>::uninit() }; FIELDS];
    let mut response = httparse::Response::new(&mut []);
    let slots = &mut slots[..settings.max_fields.min(FIELDS)];
    let parser = httparse::ParserConfig::default();
    let parsed = parser.parse_response_with_uninit_headers(&mut response, window, slots);
    let Ok(httparse::Status::Complete(len)) = parsed else { return None };
    let (status, version) = (response.code?, version(response.version?));
    let head = &window[..len];
    if status < 100 || head[0] == b'\r' || has_bare_line_feed(head) {
        return None;
    }
    let meta = meta(response.headers, Side::Response, version, settings)?;
    let line = memchr(b'\n', head)? + 1;
    Some((len, StatusLine { len: line as u32, status }, meta))
}

#[inline(always)]
fn meta(fields: &[Header<'_>], side: Side, version: Version, settings: &Settings) -> Option<Meta> {
    let mut control = Control::default();
    for field in fields {
        control.note(field.name.as_bytes(), field.value, side, version, settings).ok()?;
    }
    control.finish(side, version, settings).ok()
}

const fn version(minor: u8) -> Version {
    if minor == 0 { Version::Http10 } else { Version::Http11 }
}

/// Whether a line feed follows anything but a carriage return (RFC 9112, section 2.2). Without an early exit, so that it is
/// vectorised.
#[inline]
fn has_bare_line_feed(head: &[u8]) -> bool {
    let Some((first, rest)) = head.split_first() else { return false };
    rest.iter().zip(head).fold(*first == b'\n', |bad, (&byte, &before)| bad | ((byte == b'\n') & (before != b'\r')))
}
