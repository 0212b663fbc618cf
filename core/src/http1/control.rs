//! What the fields of a head say about the message and the connection.

use super::{
    BodyLength, Error, Leniency, Version,
    config::Settings,
    syntax::{decimal, is_named, is_token, items, trim},
    target::is_authority,
};
use memchr::memchr;

/// Whose head it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Request,
    Response,
}

/// Gathers what decides, field by field, so that what cannot be is refused at its line.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Control {
    length: u64,
    /// Digits of the length; 0 while there is none. Equal numbers of as many digits are equal to the letter.
    digits: u32,
    transfer: Transfer,
    host: bool,
    close: bool,
    keep_alive: bool,
    upgrade_option: bool,
    upgrade_field: bool,
    expects_continue: bool,
}

/// The codings of `transfer-encoding`, over all its lines (RFC 9112, sections 6.1 and 7).
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Transfer {
    #[default]
    Absent,
    Chunked,
    Unknown,
    UnknownThenChunked,
}

/// What a head says beyond its text.
///
/// All but the length is in one byte: made of many and then moved at once, it would wait for its own stores.
#[derive(Debug, Clone, Copy)]
pub(super) struct Meta {
    /// Of a body delimited by it.
    length: u64,
    bits: u8,
}

/// How the body is delimited: the lowest two bits.
const NONE: u8 = 0;
const LENGTH: u8 = 1;
const CHUNKED: u8 = 2;
const UNTIL_CLOSE: u8 = 3;
const DELIMITER: u8 = 3;
/// The others.
const HTTP11: u8 = 1 << 2;
const PERSISTENT: u8 = 1 << 3;
const UPGRADE: u8 = 1 << 4;
const EXPECTS_CONTINUE: u8 = 1 << 5;
const HIDES_LENGTH: u8 = 1 << 6;

impl Meta {
    #[inline]
    pub(super) const fn body(&self) -> BodyLength {
        match self.bits & DELIMITER {
            NONE => BodyLength::None,
            LENGTH => BodyLength::Length(self.length),
            CHUNKED => BodyLength::Chunked,
            _ => BodyLength::UntilClose,
        }
    }

    /// Whether not one byte of a body can follow.
    #[inline]
    pub(super) const fn is_without_body(&self) -> bool {
        self.bits & DELIMITER <= LENGTH && self.length == 0
    }

    #[inline]
    pub(super) const fn version(&self) -> Version {
        if self.bits & HTTP11 == 0 { Version::Http10 } else { Version::Http11 }
    }

    /// The connection may be used again (RFC 9112, section 9.3).
    #[inline]
    pub(super) const fn is_persistent(&self) -> bool {
        self.bits & PERSISTENT != 0
    }

    /// Both `upgrade` and the connection option are there, in HTTP/1.1 (RFC 9110, section 7.8).
    #[inline]
    pub(super) const fn is_upgrade(&self) -> bool {
        self.bits & UPGRADE != 0
    }

    /// The client waits for `100`: in HTTP/1.1, with a body (RFC 9110, section 10.1.1).
    #[inline]
    pub(super) const fn expects_continue(&self) -> bool {
        self.bits & EXPECTS_CONTINUE != 0
    }

    /// There is a length, and it does not count.
    #[inline]
    pub(super) const fn hides_length(&self) -> bool {
        self.bits & HIDES_LENGTH != 0
    }
}

impl Control {
    /// Takes note of a field. The value has no whitespace around it.
    #[inline(always)]
    pub(super) fn note(
        &mut self,
        name: &[u8],
        value: &[u8],
        side: Side,
        version: Version,
        settings: &Settings,
    ) -> Result<(), Error> {
        // Few lengths matter, and most fields have another.
        match name.len() {
            4 if side == Side::Request && is_named(name, b"host") => {
                // RFC 9112, section 3.2.
                if self.host || !is_authority(value) {
                    return Err(Error::Host);
                }
                self.host = true;
            }
            6 if is_named(name, b"expect") => {
                self.expects_continue |= items(value).any(|item| item.eq_ignore_ascii_case(b"100-continue"));
            }
            7 if is_named(name, b"upgrade") => self.upgrade_field = true,
            10 if is_named(name, b"connection") => self.note_connection(value),
            14 if is_named(name, b"content-length") => self.note_length(value, settings)?,
            17 if is_named(name, b"transfer-encoding") => self.note_codings(value, version, settings)?,
            _ => {}
        }
        Ok(())
    }

    /// RFC 9110, section 7.6.1.
    fn note_connection(&mut self, value: &[u8]) {
        if memchr(b',', value).is_none() {
            return self.note_connection_option(value);
        }
        // Options are tokens: a quote is none, and hides no comma.
        value.split(|&byte| byte == b',').for_each(|option| self.note_connection_option(trim(option)));
    }

    fn note_connection_option(&mut self, option: &[u8]) {
        match option.len() {
            5 => self.close |= option.eq_ignore_ascii_case(b"close"),
            7 => self.upgrade_option |= option.eq_ignore_ascii_case(b"upgrade"),
            10 => self.keep_alive |= option.eq_ignore_ascii_case(b"keep-alive"),
            _ => {}
        }
    }

    /// Repeated lengths, as lines or as a list, are equal to the letter and forgiven, or refused (RFC 9112, section 6.3).
    #[inline]
    fn note_length(&mut self, value: &[u8], settings: &Settings) -> Result<(), Error> {
        match decimal(value) {
            Some(length) if self.digits == 0 => (self.length, self.digits) = (length, value.len() as u32),
            _ => self.note_repeated_length(value, settings)?,
        }
        self.check_one_framing(settings)
    }

    #[cold]
    fn note_repeated_length(&mut self, value: &[u8], settings: &Settings) -> Result<(), Error> {
        if !settings.allows(Leniency::RepeatedContentLength) {
            return Err(Error::ContentLength);
        }
        for item in items(value) {
            let length = decimal(item).ok_or(Error::ContentLength)?;
            let digits = item.len() as u32;
            if self.digits == 0 {
                (self.length, self.digits) = (length, digits);
            } else if (self.length, self.digits) != (length, digits) {
                return Err(Error::ContentLength);
            }
        }
        Ok(())
    }

    fn note_codings(&mut self, value: &[u8], version: Version, settings: &Settings) -> Result<(), Error> {
        // RFC 9112, section 6.1: such a message has a faulty framing, whatever else it says.
        if version == Version::Http10 {
            return Err(Error::TransferEncoding);
        }
        for coding in items(value) {
            self.transfer = self.transfer.then(coding)?;
        }
        self.check_one_framing(settings)
    }

    /// RFC 9112, section 6.3, item 3.
    fn check_one_framing(&self, settings: &Settings) -> Result<(), Error> {
        let both = self.digits > 0 && self.transfer != Transfer::Absent;
        if both && !settings.allows(Leniency::LengthWithChunked) { Err(Error::ContentLength) } else { Ok(()) }
    }

    /// All fields are noted: how the body is delimited (RFC 9112, section 6.3), and whether the connection persists (9.3).
    #[inline(always)]
    pub(super) fn finish(&self, side: Side, version: Version, settings: &Settings) -> Result<Meta, Error> {
        let http11 = version == Version::Http11;
        if side == Side::Request && !self.host && http11 && !settings.allows(Leniency::MissingHost) {
            return Err(Error::Host);
        }
        let delimiter = match self.transfer {
            Transfer::Absent if self.digits > 0 => LENGTH,
            Transfer::Absent if side == Side::Request => NONE,
            Transfer::Absent => UNTIL_CLOSE,
            Transfer::Chunked => CHUNKED,
            Transfer::Unknown => return Err(Error::TransferEncoding),
            Transfer::UnknownThenChunked => return Err(Error::UnsupportedCoding),
        };
        let hides_length = delimiter == CHUNKED && self.digits > 0;
        // Of two framings one is wrong, and what follows may be either (6.1).
        let persistent = !self.close && (http11 || self.keep_alive) && !hides_length;
        let mut bits = delimiter;
        bits |= if http11 { HTTP11 } else { 0 };
        bits |= if persistent { PERSISTENT } else { 0 };
        bits |= if hides_length { HIDES_LENGTH } else { 0 };
        bits |= if self.upgrade_field && self.upgrade_option && http11 { UPGRADE } else { 0 };
        let mut meta = Meta { length: self.length, bits };
        meta.bits |= if self.expects_continue && http11 && !meta.is_without_body() { EXPECTS_CONTINUE } else { 0 };
        Ok(meta)
    }
}

impl Transfer {
    fn then(self, coding: &[u8]) -> Result<Self, Error> {
        let name = trim(coding.split(|&byte| byte == b';').next().unwrap_or_default());
        let chunked = name.eq_ignore_ascii_case(b"chunked");
        match self {
            // An empty one is not ignored: parsers differ, and a body depends on it. Chunked has no parameters.
            _ if !is_token(name) || (chunked && name.len() != coding.len()) => Err(Error::TransferEncoding),
            Self::Absent if chunked => Ok(Self::Chunked),
            Self::Unknown if chunked => Ok(Self::UnknownThenChunked),
            Self::Absent | Self::Unknown => Ok(Self::Unknown),
            // Once, and last.
            Self::Chunked | Self::UnknownThenChunked => Err(Error::TransferEncoding),
        }
    }
}
