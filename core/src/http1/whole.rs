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
    // Behind `method SP target SP HTTP/1.1`. httparse skips empty lines before the head.
    if !is_line || offset(method, head) != 0 || !ends_line(head, method.len() + target.len() + 10) {
        return None;
    }
    let meta = meta(request.headers, head, Side::Request, version, settings)?;
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
    let line_feed = memchr(b'\n', head)?;
    if status < 100 || !head.starts_with(b"HTTP/") || !ends_line(head, line_feed - 1) {
        return None;
    }
    let meta = meta(response.headers, head, Side::Response, version, settings)?;
    Some((len, StatusLine { len: line_feed as u32 + 1, status }, meta))
}

#[inline(always)]
fn meta(fields: &[Header<'_>], head: &[u8], side: Side, version: Version, settings: &Settings) -> Option<Meta> {
    let mut control = Control::default();
    if !ends_line(head, head.len() - 2) {
        return None;
    }
    for field in fields {
        if !ends_line(head, offset(field.value, head) + field.value.len()) {
            return None;
        }
        control.note(field.name.as_bytes(), field.value, side, version, settings).ok()?;
    }
    control.finish(side, version, settings).ok()
}

const fn version(minor: u8) -> Version {
    if minor == 0 { Version::Http10 } else { Version::Http11 }
}

/// Whether a line end with a carriage return is there. httparse takes a bare line feed for one too, and drops whitespace before
/// it; but it has seen that a line feed follows the carriage return.
#[inline(always)]
fn ends_line(head: &[u8], at: usize) -> bool {
    head.get(at) == Some(&b'\r')
}

/// Where in the head a part of it begins.
#[inline(always)]
fn offset(part: &[u8], head: &[u8]) -> usize {
    (part.as_ptr() as usize).wrapping_sub(head.as_ptr() as usize)
}
