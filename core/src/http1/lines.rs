//! Field sections and heads line by line: those that come in pieces, those in which something is wrong, those that are
//! forgiven something.
//!
//! Every rule is here, and every error comes from here, so that the outcome is the same at any cut of the input: each line is
//! judged when it is complete, in order, and limits are decided by position.

use super::{
    Error, Leniency, Version,
    config::Settings,
    control::{Control, Meta, Side},
    fields,
    head::{RequestLine, StatusLine},
    scan::LineScan,
    syntax::{decimal, is_value, token_len, trim, trim_end, trim_start},
    target::is_target,
};
use memchr::memchr;

/// Room in a request line for all but the target: a method, two spaces, the version, the line end.
pub(super) const MAX_BESIDE_TARGET: usize = 32;

/// A field section on its way.
#[derive(Debug, Clone, Copy)]
pub(super) struct FieldLines {
    scan: LineScan,
    fields: u32,
}

/// The next line of a field section.
pub(super) enum FieldLine<'w> {
    /// It is not complete.
    Partial,
    /// A field; the value has no whitespace around it.
    Field(&'w [u8], &'w [u8]),
    /// The last field's value goes on; the line end between them is spaces now.
    Continued,
    /// The blank one: the section has so many bytes.
    Blank(usize),
}

impl FieldLines {
    pub(super) const fn new() -> Self {
        Self { scan: LineScan::new(), fields: 0 }
    }

    /// Takes the next line of a section, given from its first byte.
    pub(super) fn next<'w>(
        &mut self,
        window: &'w mut [u8],
        side: Side,
        settings: &Settings,
    ) -> Result<FieldLine<'w>, Error> {
        let start = self.scan.line_start();
        let Some(line_feed) = self.scan.find_line_feed(window) else { return Ok(FieldLine::Partial) };
        let len = self.scan.take_line(window, line_feed, settings.allows(Leniency::BareLf))?.len();
        if len == 0 {
            return Ok(FieldLine::Blank(self.scan.line_start()));
        }
        let is_fold = matches!(window[start], b' ' | b'\t') && self.fields > 0;
        if is_fold && settings.allows(Leniency::ObsFold) {
            if !is_value(&window[start..start + len]) {
                return Err(Error::Field);
            }
            // RFC 9112, section 5.2: the line end before it is replaced by spaces.
            for byte in window[..start].iter_mut().rev().take_while(|byte| matches!(byte, b'\r' | b'\n')) {
                *byte = b' ';
            }
            return Ok(FieldLine::Continued);
        }
        if self.fields as usize >= settings.max_fields {
            return Err(Error::TooManyFields);
        }
        self.fields += 1;
        let (name, value) = split_field(&window[start..start + len], side, settings).ok_or(Error::Field)?;
        Ok(FieldLine::Field(name, value))
    }
}

/// `field-name ":" OWS field-value OWS` (RFC 9112, section 5).
fn split_field<'l>(line: &'l [u8], side: Side, settings: &Settings) -> Option<(&'l [u8], &'l [u8])> {
    let (name, rest) = line.split_at(token_len(line));
    let forgiven = side == Side::Response && settings.allows(Leniency::SpaceBeforeColon);
    let rest = if forgiven { trim_start(rest) } else { rest };
    let value = rest.strip_prefix(b":")?;
    (!name.is_empty() && is_value(value)).then(|| (name, trim(value)))
}

/// What a head begins with.
pub(super) trait StartLine: Copy {
    const SIDE: Side;

    /// Looks at what there is of the line, of which the first `known` bytes are known: so that what is no HTTP at all fails
    /// with its first bytes.
    fn check(part: &[u8], known: usize, settings: &Settings) -> Result<(), Error>;

    /// Reads the complete line, whose length with its end is `len`.
    fn read(line: &[u8], len: usize, settings: &Settings) -> Result<(Self, Version), Error>;
}

/// A head on its way.
#[derive(Debug, Clone, Copy)]
pub(super) struct HeadLines<S> {
    lines: FieldLines,
    start: Option<(S, Version)>,
    control: Control,
}

/// How far a head is.
pub(super) enum Progress<S> {
    /// More is needed.
    Partial,
    /// A blank line, of so many bytes, is all there is.
    Blank(usize),
    /// It has so many bytes.
    Found(usize, S, Meta),
}

impl<S: StartLine> HeadLines<S> {
    pub(super) fn new() -> Self {
        Self { lines: FieldLines::new(), start: None, control: Control::default() }
    }

    /// Whether a few more bytes of a field have come, and nothing else to look at. `head` is all there is of it.
    #[inline]
    pub(super) fn continues(&mut self, head: &[u8], most: usize) -> bool {
        self.start.is_some() && head.len() < most && self.lines.scan.continues(head)
    }

    /// Goes on with what has come. `window` is the head from its first byte, as far as it may go.
    pub(super) fn advance(&mut self, window: &mut [u8], settings: &Settings) -> Result<Progress<S>, Error> {
        let (start, version) = match self.start {
            Some(start) => start,
            None => {
                let scan = &mut self.lines.scan;
                let known = scan.searched();
                let line_feed = scan.find_line_feed(window);
                S::check(&window[..line_feed.unwrap_or(window.len())], known, settings)?;
                let Some(line_feed) = line_feed else { return Ok(Progress::Partial) };
                let line = scan.take_line(window, line_feed, settings.allows(Leniency::BareLf))?;
                if line.is_empty() {
                    return Ok(Progress::Blank(line_feed + 1));
                }
                *self.start.insert(S::read(line, line_feed + 1, settings)?)
            }
        };
        loop {
            match self.lines.next(window, S::SIDE, settings)? {
                FieldLine::Partial => return Ok(Progress::Partial),
                // A value that can go on in the next line is read when all of them are there.
                FieldLine::Field(..) if settings.allows(Leniency::ObsFold) => {}
                FieldLine::Field(name, value) => self.control.note(name, value, S::SIDE, version, settings)?,
                FieldLine::Continued => {}
                FieldLine::Blank(len) => {
                    if settings.allows(Leniency::ObsFold) {
                        self.note_all(&window[..len], version, settings)?;
                    }
                    let meta = self.control.finish(S::SIDE, version, settings)?;
                    return Ok(Progress::Found(len, start, meta));
                }
            }
        }
    }

    #[cold]
    fn note_all(&mut self, head: &[u8], version: Version, settings: &Settings) -> Result<(), Error> {
        for line in fields::lines(head).skip(1) {
            let (name, value) = split_field(line, S::SIDE, settings).ok_or(Error::Field)?;
            self.control.note(name, value, S::SIDE, version, settings)?;
        }
        Ok(())
    }
}

impl StartLine for RequestLine {
    const SIDE: Side = Side::Request;

    fn check(part: &[u8], known: usize, settings: &Settings) -> Result<(), Error> {
        let most = settings.max_target.saturating_add(MAX_BESIDE_TARGET);
        // A carriage return is judged with the whole line. Without an early exit, so that it is vectorised.
        let new = &part[known.min(most)..part.len().min(most)];
        if new.iter().fold(false, |bad, &byte| bad | ((byte < b' ') & (byte != b'\r')) | (byte >= 0x7F)) {
            return Err(Error::StartLine);
        }
        if part.len() < most {
            return Ok(());
        }
        // A method longer than any is no reason to blame the target.
        let method = memchr(b' ', part).unwrap_or(part.len());
        Err(if method < MAX_BESIDE_TARGET { Error::TargetTooLong } else { Error::StartLine })
    }

    /// `method SP request-target SP HTTP-version` (RFC 9112, section 3).
    fn read(line: &[u8], _: usize, settings: &Settings) -> Result<(Self, Version), Error> {
        let (method, rest) = line.split_at(token_len(line));
        let rest = rest.strip_prefix(b" ").ok_or(Error::StartLine)?;
        let (target, rest) = rest.split_at(memchr(b' ', rest).ok_or(Error::StartLine)?);
        if method.is_empty() || target.is_empty() {
            return Err(Error::StartLine);
        }
        if target.len() > settings.max_target {
            return Err(Error::TargetTooLong);
        }
        let version = read_version(&rest[1..])?;
        if !is_target(method, target) {
            return Err(Error::StartLine);
        }
        Ok((Self { method: method.len() as u32, target: target.len() as u32 }, version))
    }
}

impl StartLine for StatusLine {
    const SIDE: Side = Side::Response;

    fn check(part: &[u8], known: usize, _: &Settings) -> Result<(), Error> {
        let name = &part[..part.len().min(5)];
        let new = part[known..].iter();
        // Obsolete text may be in a reason phrase.
        let bad =
            new.fold(false, |bad, &byte| bad | ((byte < b' ') & (byte != b'\t') & (byte != b'\r')) | (byte == 0x7F));
        let is_blank = matches!(part, [b'\r'] | []);
        if bad || !(b"HTTP/".starts_with(name) || is_blank) { Err(Error::StartLine) } else { Ok(()) }
    }

    /// `HTTP-version SP status-code SP [ reason-phrase ]` (RFC 9112, section 4), where the last space may be missing if no
    /// phrase follows: many servers leave it out.
    fn read(line: &[u8], len: usize, _: &Settings) -> Result<(Self, Version), Error> {
        let (version, rest) = line.split_at_checked(8).ok_or(Error::StartLine)?;
        let version = read_version(version)?;
        let (code, reason) = match rest {
            [b' ', code @ ..] => code.split_at_checked(3).ok_or(Error::StartLine)?,
            _ => return Err(Error::StartLine),
        };
        let status = decimal(code).filter(|status| *status >= 100).ok_or(Error::StartLine)?;
        if !matches!(reason, [] | [b' ', ..]) || !is_value(trim_end(reason)) {
            return Err(Error::StartLine);
        }
        Ok((Self { len: len as u32, status: status as u16 }, version))
    }
}

/// `HTTP/1.` and a digit (RFC 9112, section 2.3); a higher minor version is read as 1.1 (RFC 9110, section 2.5).
fn read_version(text: &[u8]) -> Result<Version, Error> {
    match text {
        b"HTTP/1.0" => Ok(Version::Http10),
        [b'H', b'T', b'T', b'P', b'/', b'1', b'.', b'1'..=b'9'] => Ok(Version::Http11),
        [b'H', b'T', b'T', b'P', b'/', b'0'..=b'9', b'.', b'0'..=b'9'] => Err(Error::Version),
        // Higher versions are written with one digit.
        [b'H', b'T', b'T', b'P', b'/', b'2'..=b'9'] => Err(Error::Version),
        _ => Err(Error::StartLine),
    }
}
