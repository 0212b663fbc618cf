use core::fmt::Write;
use httpdate::HttpDate;
use std::time::{SystemTime, UNIX_EPOCH};

/// The value of a `date` field (RFC 9110, section 6.6.1), made once a second and used for all responses of that second.
///
/// The core reads no clock, so whoever does hands the time in. A server with a clock has to send the field.
///
/// ```
/// use bytewise::http1::Date;
/// use std::time::{Duration, UNIX_EPOCH};
///
/// let mut date = Date::default();
/// assert_eq!(date.at(UNIX_EPOCH + Duration::from_secs(784_111_777)), "Sun, 06 Nov 1994 08:49:37 GMT");
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Date {
    /// Seconds since 1970, or none yet.
    second: Option<u64>,
    text: [u8; LEN],
}

/// `Sun, 06 Nov 1994 08:49:37 GMT`
const LEN: usize = 29;

impl Date {
    /// The value for that time. Times before 1970 and after 9999, which have none, are taken for the nearest that has.
    pub fn at(&mut self, now: SystemTime) -> &str {
        /// The first second of the year 10000.
        const END: u64 = 253_402_300_800;
        let second = now.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs().min(END - 1));
        if self.second != Some(second) {
            self.second = Some(second);
            let date = HttpDate::from(UNIX_EPOCH + core::time::Duration::from_secs(second));
            // It is as long as that, always.
            let _ = write!(Text { to: &mut self.text, at: 0 }, "{date}");
        }
        core::str::from_utf8(&self.text).unwrap_or_default()
    }
}

impl Default for Date {
    fn default() -> Self {
        Self { second: None, text: [b' '; LEN] }
    }
}

/// Writes into bytes that are there.
struct Text<'t> {
    to: &'t mut [u8; LEN],
    at: usize,
}

impl Write for Text<'_> {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        let end = self.at + text.len();
        self.to.get_mut(self.at..end).ok_or(core::fmt::Error)?.copy_from_slice(text.as_bytes());
        self.at = end;
        Ok(())
    }
}
