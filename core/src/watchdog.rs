use crate::Phase;
use alloc::sync::Arc;
use core::fmt;

/// Time since an origin of the caller's choice, never going back: works without `std`, and on wasm, where `Instant` panics.
///
/// A [`Watchdog`] keeps it in nanoseconds, good for 584 years since that origin.
pub type Time = core::time::Duration;

/// The deadlines of one connection, made out of what it waits for and what it transfers.
///
/// Protocols have no timers, so their types have no clock: a machine says its [`phase`](crate::Machine::phase), the
/// transport counts bytes, and whoever owns the clock asks this for one deadline.
///
/// ```
/// use bytewise::{Phase, Progress, Time, TimedOut, Timeouts, Watchdog};
///
/// let second = Time::from_secs(1);
/// let mut watchdog = Watchdog::new(Timeouts::none().with(Phase::Head, Some(10 * second)));
///
/// watchdog.observe((Phase::Head, 0), Progress::default(), 100 * second); // after each round
/// assert_eq!(watchdog.deadline(), Some(110 * second)); // sleep until then at the latest
///
/// let trickle = Progress { received: 1, ..Progress::default() };
/// watchdog.observe((Phase::Head, 0), trickle, 109 * second); // one more byte of the same head: no reprieve
/// assert_eq!(watchdog.expired(110 * second), Some(TimedOut::Phase(Phase::Head)));
/// ```
#[derive(Debug, Clone)]
pub struct Watchdog {
    timeouts: Arc<Timeouts>,
    phase: (Phase, u32),
    /// How often the peer was asked for a sign of life since then.
    asked: u32,
    /// When the phase began or, for [`Phase::Idle`], when bytes last came.
    since: Instant,
    /// Bytes received when the phase was last observed.
    heard: u64,
    received: u64,
    sent: u64,
    /// Since when bytes have been waiting to be written, and none was.
    stalled: Instant,
    receiving: Window,
    sending: Window,
}

/// A time, or never, in eight bytes: each connection has a few. In nanoseconds, so that it is good for 584 years.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Instant(u64);

impl Instant {
    const NEVER: Self = Self(u64::MAX);

    fn new(time: Time) -> Self {
        Self(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX - 1))
    }

    fn get(self) -> Option<Time> {
        (self != Self::NEVER).then(|| Time::from_nanos(self.0))
    }
}

/// The window over which a rate is measured, if one is.
#[derive(Debug, Clone, Copy)]
struct Window {
    begin: Instant,
    /// Bytes before it.
    total: u64,
}

impl Window {
    const NONE: Self = Self { begin: Instant::NEVER, total: 0 };
}

impl Watchdog {
    /// With those bounds, which many may share. The clock of the first phase starts with the first
    /// [`observe`](Self::observe).
    pub fn new(timeouts: impl Into<Arc<Timeouts>>) -> Self {
        Self {
            timeouts: timeouts.into(),
            phase: (Phase::Idle, 0),
            asked: 0,
            since: Instant::NEVER,
            heard: 0,
            received: 0,
            sent: 0,
            stalled: Instant::NEVER,
            receiving: Window::NONE,
            sending: Window::NONE,
        }
    }

    /// The bounds.
    pub fn timeouts(&self) -> &Timeouts {
        &self.timeouts
    }

    /// Call after each round, with the time of then. The clock restarts with a new phase or occurrence and, in
    /// [`Phase::Idle`], with bytes received.
    pub fn observe(&mut self, phase: (Phase, u32), progress: Progress, now: Time) {
        let heard = phase.0 == Phase::Idle && progress.received != self.heard;
        let changed = phase != self.phase;
        self.heard = progress.received;
        if changed || heard || self.since == Instant::NEVER {
            self.phase = phase;
            self.since = Instant::new(now);
            self.asked = 0;
        }
        if let Some(rate) = self.timeouts.min_rate {
            let receiving = if changed { Window::NONE } else { self.receiving };
            self.receiving = match phase.0 {
                Phase::Body => rate.window(receiving, progress.received, now),
                _ => Window::NONE,
            };
        }
        self.observe_writing(progress, now);
    }

    /// The part of [`observe`](Self::observe) that is about writing: for one who holds an event and waits for room, during
    /// which the peer cannot be blamed for what does not come.
    pub fn observe_writing(&mut self, progress: Progress, now: Time) {
        if progress.queued == 0 {
            self.stalled = Instant::NEVER;
        } else if self.stalled == Instant::NEVER || progress.sent != self.sent {
            self.stalled = Instant::new(now);
        }
        if let Some(rate) = self.timeouts.min_rate {
            self.sending = match progress.queued {
                0 => Window::NONE,
                _ => rate.window(self.sending, progress.sent, now),
            };
        }
        (self.received, self.sent) = (progress.received, progress.sent);
    }

    /// When to wake up at the latest, and ask [`expired`](Self::expired).
    pub fn deadline(&self) -> Option<Time> {
        let rate = self.rate_deadline(self.receiving);
        [self.phase_deadline(), self.keep_alive_deadline(), rate, self.writing_deadline()].into_iter().flatten().min()
    }

    /// Whether it is time for [`Machine::keep_alive`](crate::Machine::keep_alive), of which it tells once each time. Ask it when
    /// nothing has [`expired`](Self::expired).
    pub fn keep_alive(&mut self, now: Time) -> bool {
        let due = is_due(self.keep_alive_deadline(), now);
        self.asked += u32::from(due);
        due
    }

    /// What took too long, if something has. The last [`observe`](Self::observe) should be no older than the last transfer.
    pub fn expired(&self, now: Time) -> Option<TimedOut> {
        if is_due(self.phase_deadline(), now) {
            return Some(TimedOut::Phase(self.phase.0));
        }
        let missed = self.is_missed(self.receiving, self.received, now);
        self.writing_expired(now).or(missed.then_some(TimedOut::Rate))
    }

    /// The part of [`deadline`](Self::deadline) that is about writing.
    pub fn writing_deadline(&self) -> Option<Time> {
        [self.stall_deadline(), self.rate_deadline(self.sending)].into_iter().flatten().min()
    }

    /// The part of [`expired`](Self::expired) that is about writing.
    pub fn writing_expired(&self, now: Time) -> Option<TimedOut> {
        if is_due(self.stall_deadline(), now) {
            return Some(TimedOut::Write);
        }
        self.is_missed(self.sending, self.sent, now).then_some(TimedOut::Rate)
    }

    fn phase_deadline(&self) -> Option<Time> {
        Some(self.since.get()?.saturating_add(self.timeouts.of(self.phase.0)?))
    }

    fn keep_alive_deadline(&self) -> Option<Time> {
        let every = self.timeouts.keep_alive.get().filter(|_| self.phase.0 == Phase::Idle)?;
        Some(self.since.get()?.saturating_add(every.saturating_mul(self.asked.checked_add(1)?)))
    }

    fn stall_deadline(&self) -> Option<Time> {
        Some(self.stalled.get()?.saturating_add(self.timeouts.write_stall.get()?))
    }

    fn rate_deadline(&self, window: Window) -> Option<Time> {
        self.timeouts.min_rate?.end(window)
    }

    fn is_missed(&self, window: Window, total: u64, now: Time) -> bool {
        self.timeouts.min_rate.is_some_and(|rate| rate.is_missed(window, total, now))
    }
}

fn is_due(deadline: Option<Time>, now: Time) -> bool {
    deadline.is_some_and(|deadline| deadline <= now)
}

/// How long things may take.
///
/// The defaults suit a server on the open internet: 10 s for a handshake, 30 s for a head, 2 min between messages, 5 min
/// for a body, 10 min for the application, 10 s for the peer's part of the closing, and 30 s without a byte
/// written while some are queued. After 45 s of silence between messages, a protocol that can asks for a sign of life. There is
/// no minimum rate unless you set one. Bounds are kept in whole milliseconds, rounded up, and at most 49 days.
///
/// ```
/// use bytewise::{Phase, Time, Timeouts};
///
/// let timeouts = Timeouts::default()
///     .with(Phase::Idle, None) // connections may stay silent for ever
///     .with_min_rate(500, Time::from_secs(20)); // but not trickle
/// ```
#[derive(Debug, Clone)]
pub struct Timeouts {
    phases: [Millis; 6],
    write_stall: Millis,
    keep_alive: Millis,
    min_rate: Option<MinRate>,
}

/// A bound in milliseconds, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Millis(u32);

impl Millis {
    const NONE: Self = Self(u32::MAX);

    /// Rounds up, and takes what is beyond 49 days for that.
    const fn new(at_most: Option<Time>) -> Self {
        match at_most {
            None => Self::NONE,
            Some(time) => {
                let millis = time.as_nanos().div_ceil(1_000_000);
                Self(if millis < u32::MAX as u128 { millis as u32 } else { u32::MAX - 1 })
            }
        }
    }

    const fn get(self) -> Option<Time> {
        match self {
            Self::NONE => None,
            Self(millis) => Some(Time::from_millis(millis as u64)),
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct MinRate {
    /// Bytes in one window.
    bytes: u64,
    window: Millis,
}

impl MinRate {
    /// The window to go on with: the same until it is over, then a new one, unless it was missed.
    fn window(self, window: Window, total: u64, now: Time) -> Window {
        match self.end(window) {
            Some(end) if now < end || self.is_missed(window, total, now) => window,
            _ => Window { begin: Instant::new(now), total },
        }
    }

    fn end(self, window: Window) -> Option<Time> {
        Some(window.begin.get()?.saturating_add(self.window.get().unwrap_or(Time::MAX)))
    }

    /// Whether a window is over, and less came than the rate asks of it.
    fn is_missed(self, window: Window, total: u64, now: Time) -> bool {
        is_due(self.end(window), now) && total.saturating_sub(window.total) < self.bytes
    }
}

impl Timeouts {
    /// No bounds at all.
    pub const fn none() -> Self {
        Self { phases: [Millis::NONE; 6], write_stall: Millis::NONE, keep_alive: Millis::NONE, min_rate: None }
    }

    /// How long `phase` may last; `None` is for ever.
    #[must_use]
    pub const fn with(mut self, phase: Phase, at_most: Option<Time>) -> Self {
        self.phases[phase as usize] = Millis::new(at_most);
        self
    }

    /// Bytes a second at least, while a body is received or something is written, measured over one `window` after the
    /// other.
    #[must_use]
    pub const fn with_min_rate(mut self, bytes_per_second: u32, window: Time) -> Self {
        let window = match Millis::new(Some(window)) {
            Millis(0) => Millis(1),
            window => window,
        };
        self.min_rate = Some(MinRate { bytes: (bytes_per_second as u64 * window.0 as u64).div_ceil(1000), window });
        self
    }

    /// How long something queued may go without a byte written; `None` is for ever.
    #[must_use]
    pub const fn with_write_stall(mut self, at_most: Option<Time>) -> Self {
        self.write_stall = Millis::new(at_most);
        self
    }

    /// How long nothing may come in [`Phase::Idle`] before the peer is asked for a sign of life, again and again
    /// ([`Machine::keep_alive`](crate::Machine::keep_alive)): a WebSocket says ping. With a bound of that phase that is longer,
    /// connections stay open as long as the peer is there. `None` is never.
    #[must_use]
    pub const fn with_keep_alive(mut self, every: Option<Time>) -> Self {
        self.keep_alive = match Millis::new(every) {
            Millis(0) => Millis(1),
            every => every,
        };
        self
    }

    /// How long `phase` may last.
    pub const fn of(&self, phase: Phase) -> Option<Time> {
        self.phases[phase as usize].get()
    }
}

impl Default for Timeouts {
    fn default() -> Self {
        let seconds = |seconds| Some(Time::from_secs(seconds));
        Self::none()
            .with(Phase::Handshake, seconds(10))
            .with(Phase::Idle, seconds(120))
            .with(Phase::Head, seconds(30))
            .with(Phase::Body, seconds(300))
            .with(Phase::Local, seconds(600))
            .with(Phase::Closing, seconds(10))
            .with_write_stall(seconds(30))
            .with_keep_alive(seconds(45))
    }
}

/// Totals of a connection, which the transport keeps up as it reads and writes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    /// Bytes received so far.
    pub received: u64,
    /// Bytes written so far, external ones too.
    pub sent: u64,
    /// Bytes waiting to be written, [`SendBuf::queued`](crate::SendBuf::queued).
    pub queued: usize,
}

/// What took too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TimedOut {
    /// A phase.
    Phase(Phase),
    /// The minimum rate was missed.
    Rate,
    /// Nothing could be written.
    Write,
}

impl fmt::Display for TimedOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Phase(Phase::Handshake) => "the handshake took too long",
            Self::Phase(Phase::Idle) => "nothing came for too long",
            Self::Phase(Phase::Head) => "the head took too long",
            Self::Phase(Phase::Body) => "the body took too long",
            Self::Phase(Phase::Local) => "the application took too long",
            Self::Phase(Phase::Closing) => "the peer took too long to close",
            Self::Rate => "the peer was too slow",
            Self::Write => "nothing could be written for too long",
        })
    }
}

impl core::error::Error for TimedOut {}
