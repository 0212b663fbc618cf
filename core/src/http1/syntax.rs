//! The characters of which heads are made (RFC 9110, section 5).

/// Characters of a token (RFC 9110, section 5.6.2).
const TCHAR: [bool; 256] = alphanumeric_and(b"!#$%&'*+-.^_`|~");

/// Whether all bytes are in the table. Without an early exit, since that is what is expected, and cheaper for a few of them.
#[inline(always)]
pub(super) fn are_all(table: &[bool; 256], bytes: &[u8]) -> bool {
    bytes.iter().fold(true, |all, &byte| all & table[usize::from(byte)])
}

/// A table of letters, digits, and `others`.
pub(super) const fn alphanumeric_and(others: &[u8]) -> [bool; 256] {
    let mut table = [false; 256];
    let mut byte = 0u8;
    while byte < 128 {
        table[byte as usize] = byte.is_ascii_alphanumeric();
        byte += 1;
    }
    let mut at = 0;
    while at < others.len() {
        table[others[at] as usize] = true;
        at += 1;
    }
    table
}

pub(super) const fn is_tchar(byte: u8) -> bool {
    TCHAR[byte as usize]
}

/// Whether it is a token: a method, a field name.
#[inline]
pub(super) fn is_token(bytes: &[u8]) -> bool {
    !bytes.is_empty() && are_all(&TCHAR, bytes)
}

/// Whether a token is that name, which is in lower case and made of letters and hyphens, in any case.
///
/// No other character of a token becomes one of these by the bit of the case. As arrays, they are compared in a few words.
#[inline(always)]
pub(super) fn is_named<const N: usize>(token: &[u8], name: &[u8; N]) -> bool {
    let Ok(token) = <&[u8; N]>::try_from(token) else { return false };
    let mut differing = 0;
    for at in 0..N {
        differing |= (token[at] | 0x20) ^ name[at];
    }
    differing == 0
}

/// Whether it has no control characters but tabs (RFC 9110, section 5.5). Without an early exit, so that it is vectorised.
#[inline]
pub(super) fn is_value(bytes: &[u8]) -> bool {
    !bytes.iter().fold(false, |bad, &byte| bad | ((byte < 0x20) & (byte != b'\t')) | (byte == 0x7F))
}

/// Without optional whitespace around it: space and tab, nothing else (RFC 9110, section 5.6.3).
#[inline]
pub(super) fn trim(value: &[u8]) -> &[u8] {
    trim_end(trim_start(value))
}

pub(super) fn trim_start(mut value: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] = value {
        value = rest;
    }
    value
}

pub(super) fn trim_end(mut value: &[u8]) -> &[u8] {
    while let [rest @ .., b' ' | b'\t'] = value {
        value = rest;
    }
    value
}

/// Items of a list, empty ones too; a comma inside a quoted string does not separate (RFC 9110, sections 5.6.1 and 5.6.4).
pub(crate) fn items(value: &[u8]) -> impl Iterator<Item = &[u8]> + Clone {
    let mut rest = Some(value);
    core::iter::from_fn(move || {
        let list = rest?;
        let (mut quoted, mut escaped) = (false, false);
        let comma = list.iter().position(|&byte| {
            match byte {
                _ if escaped => escaped = false,
                b'\\' if quoted => escaped = true,
                b'"' => quoted = !quoted,
                b',' if !quoted => return true,
                _ => {}
            }
            false
        });
        rest = comma.map(|at| &list[at + 1..]);
        Some(trim(&list[..comma.unwrap_or(list.len())]))
    })
}

/// Length of the token at the front.
pub(super) fn token_len(bytes: &[u8]) -> usize {
    bytes.iter().position(|&byte| !is_tchar(byte)).unwrap_or(bytes.len())
}

/// Length of the quoted string at the front, with its quotes (RFC 9110, section 5.6.4); 0 if there is none.
pub(super) fn quoted_len(bytes: &[u8]) -> usize {
    if bytes.first() != Some(&b'"') {
        return 0;
    }
    let mut escaped = false;
    for (at, &byte) in bytes.iter().enumerate().skip(1) {
        match byte {
            _ if !is_value(&[byte]) => return 0,
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    0
}

/// `1*DIGIT`, below 2^64 (RFC 9110, section 8.6).
pub(super) fn decimal(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0u64, |n, &byte| match byte {
        b'0'..=b'9' => n.checked_mul(10)?.checked_add(u64::from(byte - b'0')),
        _ => None,
    })
}
