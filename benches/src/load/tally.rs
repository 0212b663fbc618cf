//! What load generators count.

use super::Fault;
use crate::messages::Outcome;
use hdrhistogram::Histogram;
use std::time::Duration;

/// Latencies above this are recorded as this.
const SLOWEST: Duration = Duration::from_secs(60);

/// Round trips, latencies and errors.
#[derive(Debug)]
pub struct Tally {
    /// Whether the measured time is now.
    pub measuring: bool,
    /// Verified replies within the measured time.
    round_trips: u64,
    latencies: Histogram<u64>,
    errors: u64,
    error: Option<String>,
}

impl Tally {
    /// Nothing yet.
    #[must_use]
    pub fn new() -> Self {
        let latencies = Histogram::new_with_bounds(1, SLOWEST.as_nanos() as u64, 3);
        let latencies = latencies.expect("bounds and precision are valid");
        Self { measuring: false, round_trips: 0, latencies, errors: 0, error: None }
    }

    /// Counts that many replies of the same latency, if the measured time is now.
    #[inline]
    pub fn record(&mut self, latency: Duration, replies: usize) {
        if self.measuring {
            self.round_trips += replies as u64;
            self.latencies.saturating_record_n(latency.as_nanos() as u64, replies as u64);
        }
    }

    /// Whether a reply came within the measured time. It is prolonged until one did, within patience: a machine that
    /// is busy otherwise is no error of the server's.
    #[must_use]
    pub const fn has_any(&self) -> bool {
        self.round_trips > 0
    }

    /// Counts what ended a connection.
    #[cold]
    pub fn fault(&mut self, client: usize, fault: &Fault) {
        self.errors += 1;
        self.error.get_or_insert_with(|| format!("connection {client}: {fault}"));
    }

    /// Adds what another one has counted.
    pub fn merge(&mut self, other: &Self) {
        self.round_trips += other.round_trips;
        self.latencies += &other.latencies;
        self.errors += other.errors;
        if self.error.is_none() {
            self.error.clone_from(&other.error);
        }
    }

    /// The sum of it.
    #[must_use]
    pub fn outcome(&self, elapsed: Duration) -> Outcome {
        let quantile = |q| Duration::from_nanos(self.latencies.value_at_quantile(q));
        let nothing = || "no reply within the measured time, however long it was made".to_owned();
        let idle = self.errors == 0 && self.round_trips == 0;
        Outcome {
            round_trips: self.round_trips,
            elapsed,
            p50: quantile(0.5),
            p95: quantile(0.95),
            p99: quantile(0.99),
            errors: self.errors + u64::from(idle),
            error: self.error.clone().or_else(|| idle.then(nothing)),
        }
    }
}

impl Default for Tally {
    fn default() -> Self {
        Self::new()
    }
}
