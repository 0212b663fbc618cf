//! The signals of a load generator that shares its process with the server.

use super::Signals;
use crate::{messages::Usage, process};
use std::io;

/// Takes the usage of this process at the beginning and at the end of the measured time, and stops then.
#[derive(Debug, Default)]
pub struct Stopwatch {
    from: Option<io::Result<Usage>>,
    to: Option<io::Result<Usage>>,
}

impl Stopwatch {
    /// The usage at both ends; zero if there was no measured time.
    pub fn usage(self) -> io::Result<(Usage, Usage)> {
        let from = self.from.unwrap_or_else(|| Ok(Usage::default()))?;
        Ok((from, self.to.unwrap_or(Ok(from))?))
    }
}

impl Signals for Stopwatch {
    fn begun(&mut self) {
        self.from = Some(process::usage());
    }

    fn ended(&mut self) {
        self.to = Some(process::usage());
    }

    fn stop(&self) -> bool {
        self.to.is_some()
    }
}
