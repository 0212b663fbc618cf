//! Redirects (RFC 9110, section 15.4).

use super::{Connect, RequestError, Response, check};
use url::Url;

/// Most bytes of a redirect's own body that are read over.
pub(super) const MAX_BODY: usize = 64 * 1024;

/// Where a response sends the client to.
pub(super) fn next<C: Connect>(response: &Response<C>, url: &Url) -> Result<Option<Url>, RequestError> {
    if !matches!(response.head().status(), 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let Some(location) = response.head().fields().get("location") else { return Ok(None) };
    let location = std::str::from_utf8(location).map_err(|error| RequestError::Url(error.to_string()))?;
    let mut next = url.join(location).map_err(|error| RequestError::Url(error.to_string()))?;
    if next.fragment().is_none() {
        // RFC 9110, section 10.2.2.
        next.set_fragment(url.fragment());
    }
    check(&next)?;
    Ok(Some(next))
}

/// Whether the next request is a GET without a body.
pub(super) fn becomes_get(status: u16, method: &str) -> bool {
    match status {
        303 => method != "HEAD",
        301 | 302 => method == "POST",
        _ => false,
    }
}

/// Fields that are for one origin.
pub(super) fn is_private(name: &impl AsRef<[u8]>) -> bool {
    is_one_of(name, &["authorization", "cookie", "host", "proxy-authorization"])
}

/// Fields that say something of a body (RFC 9110, sections 8, 10.1.1 and 15.4).
pub(super) fn is_of_body(name: &impl AsRef<[u8]>) -> bool {
    const PREFIX: &[u8] = b"content-";
    name.as_ref().get(..PREFIX.len()).is_some_and(|front| front.eq_ignore_ascii_case(PREFIX))
        || is_one_of(name, &["digest", "expect", "last-modified"])
}

fn is_one_of(name: &impl AsRef<[u8]>, names: &[&str]) -> bool {
    names.iter().any(|other| name.as_ref().eq_ignore_ascii_case(other.as_bytes()))
}
