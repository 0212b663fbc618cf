//! What the fields of a head say about the message and the connection.

use super::{
    BodyLength, Error, Leniency, Version,
    config::Settings,
    syntax::{decimal, is_token, items, trim},
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
#[derive(Debug, Clone, Copy)]
pub(super) struct Meta {
    /// Of a body delimited by it.
    length: u64,
    delimiter: Delimiter,
    pub(super) version: Version,
    /// The connection may be used again (RFC 9112, section 9.3).
    pub(super) persistent: bool,
    /// Both `upgrade` and the connection option are there, in HTTP/1.1 (RFC 9110, section 7.8).
    pub(super) upgrade: bool,
    pub(super) expects_continue: bool,
    /// There is a length, and it does not count.
    pub(super) hides_length: bool,
}

/// [`BodyLength`] without the number: kept apart, both stay in registers (an enum built and moved at once stalls on its own
/// stores).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Delimiter {
    None,
    Length,
    Chunked,
    UntilClose,
}

impl Meta {
    #[inline]
    pub(super) const fn body(&self) -> BodyLength {
        match self.delimiter {
            Delimiter::None => BodyLength::None,
            Delimiter::Length => BodyLength::Length(self.length),
            Delimiter::Chunked => BodyLength::Chunked,
            Delimiter::UntilClose => BodyLength::UntilClose,
        }
    }

    /// Whether not one byte of a body can follow.
    #[inline]
    pub(super) const fn is_without_body(&self) -> bool {
        matches!(self.delimiter, Delimiter::None) || (matches!(self.delimiter, Delimiter::Length) && self.length == 0)
    }
}

impl Control {
    /// Takes note of a field. The value has no whitespace around it.
    #[inline]
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
            4 if side == Side::Request && name.eq_ignore_ascii_case(b"host") => {
                // RFC 9112, section 3.2.
                if self.host || !is_authority(value) {
                    return Err(Error::Host);
                }
                self.host = true;
            }
            6 if name.eq_ignore_ascii_case(b"expect") => {
                self.expects_continue |= value.eq_ignore_ascii_case(b"100-continue");
            }
            7 if name.eq_ignore_ascii_case(b"upgrade") => self.upgrade_field = true,
            10 if name.eq_ignore_ascii_case(b"connection") => self.note_connection(value),
            14 if name.eq_ignore_ascii_case(b"content-length") => self.note_length(value, settings)?,
            17 if name.eq_ignore_ascii_case(b"transfer-encoding") => self.note_codings(value, version, settings)?,
            _ => {}
        }
        Ok(())
    }

    /// RFC 9110, section 7.6.1.
    fn note_connection(&mut self, value: &[u8]) {
        if memchr(b',', value).is_none() {
            return self.note_connection_option(value);
        }
        items(value).for_each(|option| self.note_connection_option(option));
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
    #[inline]
    pub(super) fn finish(&self, side: Side, version: Version, settings: &Settings) -> Result<Meta, Error> {
        let http11 = version == Version::Http11;
        if side == Side::Request && !self.host && http11 && !settings.allows(Leniency::MissingHost) {
            return Err(Error::Host);
        }
        let delimiter = match self.transfer {
            Transfer::Absent if self.digits > 0 => Delimiter::Length,
            Transfer::Absent if side == Side::Request => Delimiter::None,
            Transfer::Absent => Delimiter::UntilClose,
            Transfer::Chunked => Delimiter::Chunked,
            Transfer::Unknown => return Err(Error::TransferEncoding),
            Transfer::UnknownThenChunked => return Err(Error::UnsupportedCoding),
        };
        let hides_length = delimiter == Delimiter::Chunked && self.digits > 0;
        let mut meta = Meta {
            length: self.length,
            delimiter,
            version,
            // Of two framings one is wrong, and what follows may be either (6.1).
            persistent: !self.close && (http11 || self.keep_alive) && !hides_length,
            hides_length,
            upgrade: self.upgrade_field && self.upgrade_option && http11,
            expects_continue: false,
        };
        meta.expects_continue = self.expects_continue && http11 && !meta.is_without_body();
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
