//! Request targets and authorities (RFC 9112, section 3.2; RFC 3986).

use super::syntax::{alphanumeric_and, are_all};

/// Whether a target has the form that its method requires, and no character that cannot be in it.
#[inline]
pub(super) fn is_target(method: &[u8], target: &[u8]) -> bool {
    are_all(&VISIBLE, target)
        && match target {
            _ if method == b"CONNECT" => is_authority_form(target),
            [b'/', ..] => true,
            b"*" => method == b"OPTIONS",
            _ => absolute(target).is_some(),
        }
}

/// Visible ASCII without `"`, `<`, `>` and `#`. What else RFC 3986 does not allow (`\ ^ { | }` and the backtick) browsers do send
/// in queries.
const VISIBLE: [bool; 256] = alphanumeric_and(b"!$%&'()*+,-./:;=?@[\\]^_`{|}~");

/// `host:port`, both there (RFC 9112, section 3.2.3).
fn is_authority_form(target: &[u8]) -> bool {
    // Colons in brackets are those of an address.
    let host = memchr::memrchr(b']', target).map_or(0, |bracket| bracket + 1);
    let port = memchr::memrchr(b':', &target[host..]).map_or(0, |colon| target.len() - host - colon - 1);
    port > 0 && is_authority(target) && !target.starts_with(b":")
}

/// The authority of an absolute target (RFC 9112, section 3.2.2); `None` if it is none. Of the schemes, only those with an authority: what
/// else has a colon, `a:443`, is meant for CONNECT.
pub(super) fn absolute(target: &[u8]) -> Option<&[u8]> {
    let colon = memchr::memchr(b':', target)?;
    let scheme = &target[..colon];
    let rest = target[colon + 1..].strip_prefix(b"//")?;
    let named = matches!(scheme, [first, others @ ..] if first.is_ascii_alphabetic()
        && others.iter().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(b)));
    let authority = &rest[..memchr::memchr2(b'/', b'?', rest).unwrap_or(rest.len())];
    // No userinfo (RFC 9110, section 4.2.4), and a host (section 4.2.1).
    (named && is_authority(authority) && !matches!(authority, [] | [b':', ..])).then_some(authority)
}

/// Characters of a registered name or an IPv4 address (RFC 3986, section 3.2.2).
const REG_NAME: [bool; 256] = alphanumeric_and(b"-._~!$&'()*+,;=");

/// `uri-host [ ":" port ]`, as in `host` (RFC 9110, section 7.2); may be empty.
#[inline]
pub(super) fn is_authority(authority: &[u8]) -> bool {
    // Most hosts are a name alone.
    are_all(&REG_NAME, authority) || is_other_authority(authority)
}

fn is_other_authority(authority: &[u8]) -> bool {
    let rest = if let Some(literal) = authority.strip_prefix(b"[") {
        let Some(end) = literal.iter().position(|&b| b == b']') else { return false };
        if !is_ip_literal(&literal[..end]) {
            return false;
        }
        &literal[end + 1..]
    } else {
        let end = authority.iter().position(|&b| !REG_NAME[usize::from(b)]).unwrap_or(authority.len());
        match authority[end..] {
            [b'%', ..] => after_percent_encoded(&authority[end..]),
            _ => &authority[end..],
        }
    };
    match rest {
        [] => true,
        [b':', port @ ..] => port.len() <= 5 && port.iter().all(u8::is_ascii_digit),
        _ => false,
    }
}

/// `IPv6address` or `IPvFuture`.
fn is_ip_literal(literal: &[u8]) -> bool {
    match literal {
        [b'v' | b'V', future @ ..] => {
            let dot = future.iter().position(|&b| b == b'.').unwrap_or(0);
            dot > 0
                && future[..dot].iter().all(u8::is_ascii_hexdigit)
                && dot + 1 < future.len()
                && future[dot + 1..].iter().all(|&b| b == b':' || REG_NAME[usize::from(b)])
        }
        _ => core::str::from_utf8(literal).is_ok_and(|text| text.parse::<core::net::Ipv6Addr>().is_ok()),
    }
}

/// What follows a registered name with percent-encoded characters (RFC 3986, section 2.1).
#[cold]
fn after_percent_encoded(mut name: &[u8]) -> &[u8] {
    loop {
        name = match name {
            [b'%', a, b, rest @ ..] if a.is_ascii_hexdigit() && b.is_ascii_hexdigit() => rest,
            [b, rest @ ..] if REG_NAME[usize::from(*b)] => rest,
            _ => return name,
        }
    }
}
