use super::Error;
use memchr::memchr;

/// Goes through a section of lines, a head or a trailer section, as they come (RFC 9112, section 2.2).
///
/// It resumes where the last call stopped, so that a section which comes byte by byte costs O(n). Each line feed is judged by
/// its predecessor, so that a bare one fails as soon as it is seen, and not when a deadline is over.
///
/// All calls are given the section from its first byte, which only grows meanwhile. Places are kept in 32 bits, as the limits
/// of sections are.
#[derive(Debug, Clone, Copy)]
pub(super) struct LineScan {
    /// Bytes in which there is no line feed that was not found.
    searched: u32,
    /// Where the line under way begins.
    line: u32,
}

impl LineScan {
    pub(super) const fn new() -> Self {
        Self { searched: 0, line: 0 }
    }

    /// Bytes that were looked at.
    pub(super) const fn searched(&self) -> usize {
        self.searched as usize
    }

    /// Where the line under way begins: behind all that were [taken](Self::take_line).
    pub(super) const fn line_start(&self) -> usize {
        self.line as usize
    }

    /// Where the line under way ends, if that has come: the place of its line feed.
    #[inline]
    pub(super) fn find_line_feed(&mut self, section: &[u8]) -> Option<usize> {
        match memchr(b'\n', &section[self.searched()..]) {
            Some(found) => {
                self.searched += found as u32;
                Some(self.searched())
            }
            None => {
                self.searched = section.len() as u32;
                None
            }
        }
    }

    /// Whether all that came since, a few bytes, is part of the line under way. [`find_line_feed`](Self::find_line_feed)
    /// tells the same; this is cheaper where input comes in small blocks.
    #[inline]
    pub(super) fn continues(&mut self, section: &[u8]) -> bool {
        /// Above it, a search that is set up for long input is worth it.
        const FEW: usize = 16;
        let new = &section[self.searched()..];
        let continues = new.len() <= FEW && !new.contains(&b'\n');
        if continues {
            self.searched = section.len() as u32;
        }
        continues
    }

    /// The line under way, which ends there, without its end.
    #[inline]
    pub(super) fn take_line<'s>(
        &mut self,
        section: &'s [u8],
        line_feed: usize,
        bare_lf: bool,
    ) -> Result<&'s [u8], Error> {
        let line = &section[self.line_start()..line_feed];
        let line = match line.strip_suffix(b"\r") {
            Some(line) => line,
            None if bare_lf => line,
            None => return Err(Error::BareLf),
        };
        self.searched = line_feed as u32 + 1;
        self.line = self.searched;
        Ok(line)
    }
}
