use super::config::Settings;
#[cfg(feature = "date")]
use super::date::Date;
use crate::SendBuf;
#[cfg(feature = "date")]
use alloc::boxed::Box;

/// The `date` of a server's responses, if it was given a clock (RFC 9110, section 6.6.1).
#[derive(Debug, Default)]
pub(super) struct Clock {
    /// The value of this second, once there was one.
    #[cfg(feature = "date")]
    date: Option<Box<Date>>,
}

impl Clock {
    /// Appends the field.
    #[cfg(feature = "date")]
    #[inline]
    pub(super) fn put_date(&mut self, settings: &Settings, tx: &mut SendBuf) {
        if let Some(now) = settings.clock {
            let date = self.date.get_or_insert_default();
            tx.put_parts([b"date: ", date.at(now()).as_bytes(), b"\r\n"]);
        }
    }

    /// Without the feature `date` there is no clock.
    #[cfg(not(feature = "date"))]
    #[inline]
    pub(super) fn put_date(&mut self, _: &Settings, _: &mut SendBuf) {}
}
