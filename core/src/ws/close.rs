use core::{fmt, str};

/// Why a side closes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CloseFrame<'a> {
    /// The code.
    pub code: CloseCode,
    /// At most 123 bytes.
    pub reason: &'a str,
}

/// A close code that may be on the wire (RFC 6455, section 7.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CloseCode(u16);

impl CloseCode {
    /// The purpose is fulfilled.
    pub const NORMAL: Self = Self(1000);
    /// The server goes down, or the page is left.
    pub const GOING_AWAY: Self = Self(1001);
    /// The peer broke the protocol.
    pub const PROTOCOL_ERROR: Self = Self(1002);
    /// A kind of data that is not accepted.
    pub const UNSUPPORTED_DATA: Self = Self(1003);
    /// Data not of its type, such as text that is not UTF-8.
    pub const INVALID_PAYLOAD: Self = Self(1007);
    /// Against a policy.
    pub const POLICY_VIOLATION: Self = Self(1008);
    /// A message above the limit.
    pub const MESSAGE_TOO_BIG: Self = Self(1009);
    /// The client misses an extension.
    pub const MANDATORY_EXTENSION: Self = Self(1010);
    /// The server cannot go on.
    pub const INTERNAL_ERROR: Self = Self(1011);

    /// `None` for codes that must not be sent: below 1000, 1004 to 1006, 1015, unassigned ones below 3000, above 4999.
    ///
    /// 1012 to 1014 are registered beside those of the RFC, and allowed.
    pub const fn new(code: u16) -> Option<Self> {
        match code {
            1000..=1003 | 1007..=1014 | 3000..=4999 => Some(Self(code)),
            _ => None,
        }
    }

    /// The number.
    pub const fn get(self) -> u16 {
        self.0
    }
}

impl fmt::Display for CloseCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What is wrong with a close frame's payload.
pub(super) enum Fault {
    Frame,
    Utf8,
}

/// Reads the payload of a close frame (RFC 6455, section 5.5.1).
pub(super) fn parse(payload: &[u8]) -> Result<Option<CloseFrame<'_>>, Fault> {
    let Some((code, reason)) = payload.split_first_chunk() else {
        return if payload.is_empty() { Ok(None) } else { Err(Fault::Frame) };
    };
    let code = CloseCode::new(u16::from_be_bytes(*code)).ok_or(Fault::Frame)?;
    let reason = str::from_utf8(reason).map_err(|_| Fault::Utf8)?;
    Ok(Some(CloseFrame { code, reason }))
}
