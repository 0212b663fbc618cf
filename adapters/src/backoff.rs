use bytewise::Time;
use std::hash::{BuildHasher, RandomState};

/// How long to wait before each try to connect again: twice as long each time, up to a bound, each a random part shorter, so that
/// many clients of a server that went down do not come back at once. It has no end.
///
/// ```
/// use bytewise::Time;
/// use bytewise_net::Backoff;
///
/// let mut backoff = Backoff::new(Time::from_millis(100), Time::from_secs(30));
/// let first = backoff.next().unwrap();
/// assert!(Time::from_millis(50) <= first && first <= Time::from_millis(100));
/// let second = backoff.next().unwrap();
/// assert!(Time::from_millis(100) <= second && second <= Time::from_millis(200));
/// backoff.reset(); // connected: begins anew the next time
/// ```
#[derive(Debug, Clone)]
pub struct Backoff {
    first: Time,
    last: Time,
    next: Time,
    /// Nothing was tried yet.
    fresh: bool,
    state: u64,
}

impl Backoff {
    /// Of about `first`, up to `last`; never above it.
    pub fn new(first: Time, last: Time) -> Self {
        // The standard library's hashers begin with what is random.
        Self::with_seed(first, last, RandomState::new().hash_one(0))
    }

    /// The same times each time, for tests.
    pub fn with_seed(first: Time, last: Time, seed: u64) -> Self {
        let first = first.min(last);
        Self { first, last, next: first, fresh: true, state: seed }
    }

    /// Begins anew.
    pub const fn reset(&mut self) {
        (self.next, self.fresh) = (self.first, true);
    }

    /// The time to wait before a try, none before the first.
    #[cfg(feature = "ws")]
    pub(crate) fn before_try(&mut self) -> Time {
        match self.fresh {
            true => {
                self.fresh = false;
                Time::ZERO
            }
            false => self.next().unwrap_or_default(),
        }
    }

    /// A number of SplitMix64's.
    const fn random(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.state ^ (self.state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
}

impl Default for Backoff {
    /// From half a second to a minute.
    fn default() -> Self {
        Self::new(Time::from_millis(500), Time::from_secs(60))
    }
}

impl Iterator for Backoff {
    type Item = Time;

    /// The next time to wait, never `None`.
    fn next(&mut self) -> Option<Time> {
        let whole = self.next;
        self.fresh = false;
        self.next = whole.saturating_mul(2).min(self.last);
        // Between a half of it and all of it.
        let part = (self.random() >> 40) as u32;
        let half = whole / 2;
        Some(half.saturating_add(half / (1 << 24) * part))
    }
}
