//! Deadlines out of phases and progress: what is observed and when, and what comes of it.

use bytewise::{Phase, Progress, Time, TimedOut, Timeouts, Watchdog};

const MS: Time = Time::from_millis(1);
const fn s(seconds: u64) -> Time {
    Time::from_secs(seconds)
}

const fn progress(received: u64, sent: u64, queued: usize) -> Progress {
    Progress { received, sent, queued }
}

/// At so many seconds: the phase and its occurrence, totals received and sent, bytes queued; then the deadline expected,
/// in seconds.
type Row = (u64, (Phase, u32), (u64, u64, usize), Option<u64>);

#[track_caller]
fn check(timeouts: Timeouts, rows: &[Row]) -> Watchdog {
    let mut watchdog = Watchdog::new(timeouts);
    assert_eq!((watchdog.deadline(), watchdog.expired(Time::MAX)), (None, None), "nothing was observed yet");
    for &(at, phase, (received, sent, queued), deadline) in rows {
        watchdog.observe(phase, progress(received, sent, queued), s(at));
        assert_eq!(watchdog.deadline(), deadline.map(s), "after {at} s");
    }
    watchdog
}

/// Each phase has its own bound, from when it began.
#[test]
fn each_phase() {
    let phases = [Phase::Handshake, Phase::Idle, Phase::Head, Phase::Body, Phase::Local, Phase::Closing];
    for (at, phase) in phases.into_iter().enumerate() {
        let seconds = at as u64 + 1;
        let mut watchdog = Watchdog::new(Timeouts::none().with(phase, Some(s(seconds))));
        assert_eq!(Timeouts::none().with(phase, Some(s(seconds))).of(phase), Some(s(seconds)));
        for other in phases {
            watchdog.observe((other, 0), Progress::default(), s(100));
            let deadline = (other == phase).then(|| s(100 + seconds));
            assert_eq!(watchdog.deadline(), deadline, "{phase:?} {other:?}");
            assert_eq!(watchdog.expired(s(99 + seconds)), None);
            let expired = watchdog.expired(s(100 + seconds));
            assert_eq!(expired, (other == phase).then_some(TimedOut::Phase(phase)));
        }
    }
}

#[test]
fn defaults() {
    let timeouts = Timeouts::default();
    let rows = [
        (Phase::Handshake, 10),
        (Phase::Idle, 120),
        (Phase::Head, 30),
        (Phase::Body, 300),
        (Phase::Local, 600),
        (Phase::Closing, 10),
    ];
    for (phase, seconds) in rows {
        assert_eq!(timeouts.of(phase), Some(s(seconds)), "{phase:?}");
    }
    check(timeouts, &[(0, (Phase::Body, 0), (0, 0, 1), Some(30))]);
}

/// The clock starts with the first observation, though it be of the phase that it starts in.
#[test]
fn the_first_observation() {
    let timeouts = Timeouts::none().with(Phase::Idle, Some(s(10)));
    check(timeouts, &[(50, (Phase::Idle, 0), (0, 0, 0), Some(60)), (55, (Phase::Idle, 0), (0, 0, 0), Some(60))]);
}

/// Bytes of the same head give no reprieve; another occurrence, or another phase, does.
#[test]
fn occurrences() {
    let timeouts = Timeouts::none().with(Phase::Head, Some(s(10))).with(Phase::Local, Some(s(20)));
    let watchdog = check(
        timeouts,
        &[
            (0, (Phase::Head, 0), (1, 0, 0), Some(10)),
            (5, (Phase::Head, 0), (2, 0, 0), Some(10)),
            (9, (Phase::Head, 0), (3, 0, 0), Some(10)),
            (9, (Phase::Head, 1), (3, 0, 0), Some(19)),
            (12, (Phase::Local, 1), (3, 0, 0), Some(32)),
            (13, (Phase::Head, 1), (3, 0, 0), Some(23)),
            (14, (Phase::Body, 1), (3, 0, 0), None),
            (15, (Phase::Head, u32::MAX), (3, 0, 0), Some(25)),
            (16, (Phase::Head, 0), (3, 0, 0), Some(26)),
        ],
    );
    assert_eq!(watchdog.expired(s(26) - MS), None);
    assert_eq!(watchdog.expired(s(26)), Some(TimedOut::Phase(Phase::Head)));
}

/// While idle, each byte received restarts the clock; bytes sent do not.
#[test]
fn idle() {
    let timeouts = Timeouts::none().with(Phase::Idle, Some(s(10)));
    let watchdog = check(
        timeouts,
        &[
            (0, (Phase::Idle, 0), (0, 0, 0), Some(10)),
            (4, (Phase::Idle, 0), (0, 0, 0), Some(10)),
            (5, (Phase::Idle, 0), (1, 0, 0), Some(15)),
            (6, (Phase::Idle, 0), (1, 7, 9), Some(15)),
            (7, (Phase::Idle, 1), (1, 7, 9), Some(17)),
        ],
    );
    assert_eq!(watchdog.expired(s(17)), Some(TimedOut::Phase(Phase::Idle)));
}

/// Bytes received while an answer waited for room were heard, too.
#[test]
fn idle_and_bytes_that_came_while_writing() {
    let mut watchdog = Watchdog::new(Timeouts::none().with(Phase::Idle, Some(s(10))));
    watchdog.observe((Phase::Idle, 0), progress(1, 0, 0), s(0));
    watchdog.observe_writing(progress(2, 0, 9), s(8));
    watchdog.observe((Phase::Idle, 0), progress(2, 9, 0), s(9));
    assert_eq!(watchdog.deadline(), Some(s(19)));
}

/// Something is queued, and nothing is written.
#[test]
fn write_stall() {
    let timeouts = Timeouts::none().with_write_stall(Some(s(5)));
    let local = (Phase::Local, 0);
    let watchdog = check(
        timeouts,
        &[
            (0, local, (0, 0, 0), None),
            (1, local, (0, 0, 100), Some(6)),
            (3, local, (0, 0, 200), Some(6)),
            (4, local, (0, 1, 199), Some(9)),
            (5, (Phase::Local, 1), (9, 1, 199), Some(9)),
            (8, local, (0, 200, 0), None),
            (20, local, (0, 200, 1), Some(25)),
        ],
    );
    assert_eq!(watchdog.expired(s(25) - MS), None);
    assert_eq!(watchdog.expired(s(25)), Some(TimedOut::Write));
    assert_eq!((watchdog.writing_deadline(), watchdog.writing_expired(s(25))), (Some(s(25)), Some(TimedOut::Write)));
}

/// While one holds an event and waits for room, only writing is watched.
#[test]
fn writing_alone() {
    let timeouts = Timeouts::none().with(Phase::Body, Some(s(3))).with_write_stall(Some(s(5))).with_min_rate(10, s(4));
    let mut watchdog = Watchdog::new(timeouts);
    watchdog.observe((Phase::Body, 0), progress(0, 0, 0), s(0));
    assert_eq!((watchdog.deadline(), watchdog.writing_deadline()), (Some(s(3)), None));
    watchdog.observe_writing(progress(0, 0, 1000), s(2));
    assert_eq!((watchdog.deadline(), watchdog.writing_deadline()), (Some(s(3)), Some(s(6))));
    assert_eq!((watchdog.expired(s(4)), watchdog.writing_expired(s(4))), (Some(TimedOut::Phase(Phase::Body)), None));
    assert_eq!(watchdog.writing_expired(s(6)), Some(TimedOut::Rate));
    assert_eq!(watchdog.writing_expired(s(7)), Some(TimedOut::Write));
    watchdog.observe_writing(progress(0, 1000, 0), s(5));
    assert_eq!((watchdog.writing_deadline(), watchdog.writing_expired(s(100))), (None, None));
}

/// 10 bytes a second over windows of 4 s, of what is received while a body is, one window after the other.
#[test]
fn rate_of_receiving() {
    let timeouts = Timeouts::none().with_min_rate(10, s(4));
    let body = (Phase::Body, 0);
    let watchdog = check(
        timeouts.clone(),
        &[
            (0, (Phase::Head, 0), (500, 0, 0), None),
            (1, body, (500, 0, 0), Some(5)),
            (3, body, (520, 0, 0), Some(5)),
            // Enough came: the next window begins.
            (5, body, (540, 0, 0), Some(9)),
            (8, body, (579, 0, 0), Some(9)),
        ],
    );
    assert_eq!(watchdog.expired(s(9) - MS), None);
    assert_eq!(watchdog.expired(s(9)), Some(TimedOut::Rate));

    // It stays missed while nobody asks.
    let watchdog = check(
        timeouts.clone(),
        &[(0, body, (0, 0, 0), Some(4)), (6, body, (39, 0, 0), Some(4)), (7, body, (39, 0, 0), Some(4))],
    );
    assert_eq!(watchdog.expired(s(7)), Some(TimedOut::Rate));

    // Another body, another window; in no other phase is there any.
    check(
        timeouts,
        &[
            (0, body, (0, 0, 0), Some(4)),
            (3, (Phase::Body, 1), (1, 0, 0), Some(7)),
            (4, (Phase::Idle, 1), (1, 0, 0), None),
            (50, (Phase::Body, 1), (2, 0, 0), Some(54)),
        ],
    );
}

/// Of what is written, in every phase, while something is queued.
#[test]
fn rate_of_sending() {
    let timeouts = Timeouts::none().with_min_rate(10, s(4));
    let idle = (Phase::Idle, 0);
    let watchdog = check(
        timeouts.clone(),
        &[
            (0, idle, (0, 0, 0), None),
            (1, idle, (0, 0, 1000), Some(5)),
            (2, (Phase::Idle, 1), (0, 30, 970), Some(5)),
            (5, idle, (0, 40, 960), Some(9)),
            (6, idle, (0, 79, 921), Some(9)),
        ],
    );
    assert_eq!(watchdog.expired(s(9)), Some(TimedOut::Rate));
    check(
        timeouts,
        &[(0, idle, (0, 0, 1000), Some(4)), (2, idle, (0, 1000, 0), None), (3, idle, (0, 1000, 1), Some(7))],
    );
}

/// A rate that comes to less than a byte in a window asks for one all the same.
#[test]
fn a_small_rate() {
    let timeouts = Timeouts::none().with_min_rate(1, Time::from_millis(500));
    let mut watchdog = Watchdog::new(timeouts);
    watchdog.observe((Phase::Body, 0), progress(0, 0, 0), s(0));
    assert_eq!(watchdog.expired(s(1)), Some(TimedOut::Rate));
}

/// The earliest of them all, and which of them it was.
#[test]
fn the_earliest() {
    let timeouts = Timeouts::none().with(Phase::Body, Some(s(10))).with_write_stall(Some(s(6))).with_min_rate(10, s(4));
    let rows = [
        (0, (Phase::Body, 0), (0, 0, 9), Some(4)),
        (4, (Phase::Body, 0), (100, 0, 9), Some(4)), // too little was sent
        (5, (Phase::Body, 0), (200, 100, 9), Some(8)),
        (8, (Phase::Body, 0), (300, 200, 9), Some(9)),
    ];
    let watchdog = check(timeouts, &rows);
    assert_eq!(watchdog.expired(s(9)), None);
    assert_eq!(watchdog.expired(s(10)), Some(TimedOut::Phase(Phase::Body)));
}

/// Nothing overflows, whatever the clock and the bounds; a clock is good for 584 years.
#[test]
fn huge_durations() {
    let timeouts = Timeouts::none()
        .with(Phase::Body, Some(Time::MAX))
        .with_write_stall(Some(Time::MAX))
        .with_min_rate(u32::MAX, Time::MAX);
    let five_centuries = s(500 * 365 * 86_400);
    for now in [Time::ZERO, five_centuries, s(u64::MAX), Time::MAX] {
        let mut watchdog = Watchdog::new(timeouts.clone());
        watchdog.observe((Phase::Body, 0), progress(u64::MAX, u64::MAX, usize::MAX), now);
        watchdog.observe((Phase::Body, 0), progress(0, 0, usize::MAX), now);
        assert!(now > five_centuries || watchdog.deadline().is_some_and(|deadline| deadline > now));
        assert_eq!(watchdog.expired(Time::ZERO), None);
        let _ = watchdog.expired(Time::MAX);
    }
    // A clock that jumps back does no harm.
    let mut watchdog = Watchdog::new(timeouts);
    watchdog.observe((Phase::Body, 0), progress(1, 1, 1), s(100));
    watchdog.observe((Phase::Body, 0), progress(1, 1, 1), s(1));
    assert_eq!(watchdog.expired(s(1)), None);
}

/// Bounds are whole milliseconds, rounded up, and at most 49 days.
#[test]
fn rounding() {
    let most = Time::from_millis(u64::from(u32::MAX) - 1);
    let rows = [
        (Time::ZERO, Time::ZERO),
        (Time::from_nanos(1), MS),
        (Time::from_micros(1000), MS),
        (Time::from_micros(1001), 2 * MS),
        (most, most),
        (most - Time::from_nanos(1), most),
        (most + Time::from_nanos(1), most),
        (most + MS, most),
        (Time::MAX, most),
    ];
    for (bound, kept) in rows {
        assert_eq!(Timeouts::none().with(Phase::Head, Some(bound)).of(Phase::Head), Some(kept), "{bound:?}");
    }
    assert_eq!(most.as_secs() / 86_400, 49);
    assert_eq!(Timeouts::default().with(Phase::Head, None).of(Phase::Head), None);
}

#[test]
fn in_words() {
    for (cause, text) in [
        (TimedOut::Phase(Phase::Handshake), "the handshake took too long"),
        (TimedOut::Phase(Phase::Idle), "nothing came for too long"),
        (TimedOut::Phase(Phase::Head), "the head took too long"),
        (TimedOut::Phase(Phase::Body), "the body took too long"),
        (TimedOut::Phase(Phase::Local), "the application took too long"),
        (TimedOut::Phase(Phase::Closing), "the peer took too long to close"),
        (TimedOut::Rate, "the peer was too slow"),
        (TimedOut::Write, "nothing could be written for too long"),
    ] {
        assert_eq!((&cause as &dyn std::error::Error).to_string(), text);
    }
}

/// In [`Phase::Idle`] only, again and again, from the last byte that came; once each time.
#[test]
fn keep_alive() {
    let timeouts = || Timeouts::none().with(Phase::Idle, Some(s(100))).with_keep_alive(Some(s(30)));
    let mut watchdog = Watchdog::new(timeouts());
    let mut asked = Vec::new();
    for at in 0..100 {
        watchdog.observe((Phase::Idle, 0), progress(5, at, 0), s(at));
        if watchdog.keep_alive(s(at)) {
            asked.push(at);
            assert!(!watchdog.keep_alive(s(at)));
        }
    }
    assert_eq!(asked, [30, 60, 90]);
    assert_eq!(watchdog.deadline(), Some(s(100)));
    // Something comes, in the same occurrence or another one.
    watchdog.observe((Phase::Idle, 0), progress(6, 0, 0), s(99));
    assert_eq!(watchdog.deadline(), Some(s(129)));
    assert!(!watchdog.keep_alive(s(128)));
    watchdog.observe((Phase::Idle, 1), progress(6, 0, 0), s(110));
    assert_eq!(watchdog.deadline(), Some(s(140)));
    assert!(watchdog.keep_alive(s(140)));
    assert_eq!(watchdog.deadline(), Some(s(170)));

    for phase in [Phase::Handshake, Phase::Head, Phase::Body, Phase::Local, Phase::Closing] {
        let mut watchdog = Watchdog::new(timeouts());
        watchdog.observe((phase, 0), Progress::default(), s(0));
        assert!(!watchdog.keep_alive(s(1000)));
        assert_eq!(watchdog.deadline(), None);
    }
    // Never, and every millisecond at most.
    let mut never = Watchdog::new(timeouts().with_keep_alive(None));
    never.observe((Phase::Idle, 0), Progress::default(), s(0));
    assert_eq!((never.keep_alive(s(99)), never.deadline()), (false, Some(s(100))));
    let mut often = Watchdog::new(Timeouts::none().with_keep_alive(Some(Time::ZERO)));
    often.observe((Phase::Idle, 0), Progress::default(), s(0));
    assert_eq!(often.deadline(), Some(MS));
}
