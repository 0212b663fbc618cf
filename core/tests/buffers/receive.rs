//! [`RecvBuf`], rule by rule.

use crate::common::Rng;
use bytewise::{Eof, LimitsError, RecvBuf};

/// Reads `n` bytes, as a transport would.
#[track_caller]
fn read(rx: &mut RecvBuf, n: usize) {
    let space = rx.space();
    assert!(n <= space.len(), "{n} bytes in a space of {}", space.len());
    space[..n].fill(7);
    rx.filled(n);
}

/// Reads as much as there is space for: how much.
fn read_all(rx: &mut RecvBuf) -> usize {
    let n = rx.space().len();
    rx.filled(n);
    n
}

fn drain(rx: &mut RecvBuf) {
    let n = rx.unread().len();
    rx.take(n);
}

#[test]
fn nothing_is_allocated_before_the_first_read() {
    let mut rx = RecvBuf::new();
    assert_eq!((rx.capacity(), rx.unread(), rx.is_idle(), rx.is_full(), rx.eof()), (0, &b""[..], true, false, None));
    rx.push(b"");
    rx.take(0);
    rx.shrink();
    assert_eq!(rx.capacity(), 0);
    assert_eq!(rx.space().len(), RecvBuf::INITIAL);
    assert_eq!((rx.capacity(), RecvBuf::default().capacity()), (4096, 0));
}

/// 4 KiB, then doubling while reads fill the space, up to the read-ahead.
#[test]
fn full_reads_grow_it() {
    let mut rx = RecvBuf::new();
    let mut sizes = Vec::new();
    for _ in 0..8 {
        sizes.push(read_all(&mut rx));
        drain(&mut rx);
    }
    assert_eq!(sizes[..5], [4096, 8192, 16_384, 32_768, 65_536]);
    assert_eq!(sizes[5..], [65_536; 3]);
    assert_eq!(rx.capacity(), RecvBuf::READ_AHEAD);
}

#[test]
fn limits_of_ones_own() {
    let rows = [
        // first allocation, read-ahead, spaces of full reads
        ((1000, 3000, usize::MAX), [1000, 2000, 3000, 3000]),
        ((100, 50, usize::MAX), [50, 50, 50, 50]),
        ((64, 64, usize::MAX), [64, 64, 64, 64]),
        ((16, 1024, 40), [16, 32, 40, 40]),
        ((1, 1, 1), [1, 1, 1, 1]),
    ];
    for ((initial, read_ahead, max), spaces) in rows {
        let mut rx = RecvBuf::with_limits(initial, read_ahead, max);
        let case = format!("{initial} {read_ahead} {max}");
        for space in spaces {
            assert_eq!(read_all(&mut rx), space, "{case}");
            drain(&mut rx);
        }
    }
}

#[test]
fn short_reads_do_not_grow_it() {
    let mut rx = RecvBuf::new();
    for round in 0..10_000 {
        read(&mut rx, 1 + round % 2000);
        drain(&mut rx);
    }
    assert_eq!(rx.capacity(), RecvBuf::INITIAL);
    // Nor do they where something is always left over.
    for _ in 0..10_000 {
        read(&mut rx, 1000);
        let n = rx.unread().len() - 700;
        rx.take(n);
    }
    assert_eq!(rx.capacity(), RecvBuf::INITIAL);
}

/// Beyond the read-ahead it grows as bytes come, and gives out no more than the read-ahead at a time.
#[test]
fn one_large_message() {
    let mut rx = RecvBuf::new();
    let mut total = 0;
    while total < 10 << 20 {
        let n = read_all(&mut rx);
        assert!((1..=RecvBuf::READ_AHEAD).contains(&n));
        total += n;
        // It doubles when at most an eighth is free.
        assert!(rx.capacity() * 7 <= total * 16, "{} for {total}", rx.capacity());
    }
    assert_eq!(rx.unread().len(), total);
}

/// Where bytes are moved, it is no more of them than were consumed since the last move.
#[test]
fn moves_no_more_than_was_consumed() {
    for (initial, read_ahead, max) in [(4096, 65_536, usize::MAX), (64, 64, 1000), (100, 10, 100), (7, 64, 20)] {
        let mut rng = Rng::new(initial as u64);
        let mut rx = RecvBuf::with_limits(initial, read_ahead, max);
        let (mut consumed, mut moved, mut received) = (0, 0, 0);
        for _ in 0..20_000 {
            let (before, unread, capacity) = (rx.unread().as_ptr(), rx.unread().len(), rx.capacity());
            let space = rx.space().len();
            if rx.capacity() != capacity {
                consumed = 0; // It grew.
            } else if rx.unread().as_ptr() != before && unread > 0 {
                assert!(unread <= consumed, "moved {unread} bytes where {consumed} were consumed, {initial} {max}");
                moved += unread;
                consumed = 0;
            }
            let n = if space == 0 { 0 } else { rng.below(space) + 1 };
            rx.filled(n);
            received += n;
            let n = rng.below(rx.unread().len() + 1);
            rx.take(n);
            consumed += n;
        }
        assert!(moved <= received, "moved {moved} bytes of {received}");
    }
}

/// What reads cut off of messages is moved only while that is little; else it grows, up to four times the read-ahead.
#[test]
fn grows_rather_than_moves_much() {
    for (message, capacity, shortest) in
        [(4_000, 65_536, 61_000), (16_392, 131_072, 65_536), (65_550, 262_144, 65_536), (131_086, 262_144, 65_536)]
    {
        let mut rx = RecvBuf::new();
        for round in 0..200 {
            let space = read_all(&mut rx);
            assert!(round < 20 || space >= shortest, "a read of {space} bytes with messages of {message}");
            while rx.unread().len() >= message {
                rx.take(message);
            }
        }
        assert_eq!(rx.capacity(), capacity, "messages of {message}");
    }
}

/// It takes no memory anew while it does not grow, whatever its limits and however full it is.
#[test]
fn allocates_only_when_it_grows() {
    let limits = [
        (4096, 65_536, usize::MAX),
        (4096, 65_536, 4096),
        (4096, 65_536, 16_384),
        (4096, 4096, 16_384),
        (64, 64, 1000),
        (16, 1024, 16),
        (16, 16, 40),
        (100, 10, 100),
    ];
    for (initial, read_ahead, max) in limits {
        // Unread bytes that stay from round to round.
        for left in [0, 1, max.min(4096) / 2, max.min(4096) * 3 / 4, max.min(4096) - 1] {
            let mut rx = RecvBuf::with_limits(initial, read_ahead, max);
            let round = |rx: &mut RecvBuf| {
                read_all(rx);
                let n = rx.unread().len().saturating_sub(left);
                rx.take(n);
            };
            (0..5000).for_each(|_| round(&mut rx));
            let info = allocation_counter::measure(|| (0..5000).for_each(|_| round(&mut rx)));
            assert_eq!(info.count_total, 0, "limits {initial} {read_ahead} {max}, {left} bytes left over");
        }
    }
}

/// Space is empty at the bound, and only there; the memory behind it is at most twice the bound.
#[test]
fn the_bound() {
    for (initial, read_ahead, max) in [(1, 1, 1), (1, 4096, 3), (10, 3, 10), (64, 64, 100), (4096, 65_536, 100_000)] {
        let mut rng = Rng::new(max as u64);
        let mut rx = RecvBuf::with_limits(initial, read_ahead, max);
        for round in 0..5000 {
            let space = rx.space().len();
            assert_eq!(space == 0, rx.is_full(), "{initial} {read_ahead} {max} at {}", rx.unread().len());
            assert_eq!(rx.is_full(), rx.unread().len() == max);
            assert!(space <= read_ahead && rx.unread().len() + space <= max);
            assert!(rx.capacity() <= 2 * max, "{} of {max}", rx.capacity());
            rx.filled(if round % 3 == 0 { space } else { rng.below(space + 1) });
            let n = rng.below(rx.unread().len() + 1);
            rx.take(if round % 7 == 0 { rx.unread().len() } else { n / (1 + round % 5) });
        }
    }
}

/// Pushes within the bound keep the memory within twice of it, too.
#[test]
fn the_bound_and_pushes() {
    for (initial, max) in [(8, 10), (10, 10), (3, 100), (4096, 5000)] {
        let mut rng = Rng::new(max as u64);
        let mut rx = RecvBuf::with_limits(initial, 4096, max);
        for _ in 0..5000 {
            let n = rng.below(max - rx.unread().len() + 1);
            rx.push(&vec![7; n]);
            assert!(rx.capacity() <= 2 * max, "{} of {max}", rx.capacity());
            let n = rng.below(rx.unread().len() + 1);
            rx.take(n / 2);
        }
    }
}

/// What is in the scratch area counts.
#[test]
fn the_bound_and_the_scratch_area() {
    let mut rx = RecvBuf::with_limits(16, 64, 100);
    rx.push(&[1; 30]);
    rx.parts().1.extend([2; 60]);
    assert_eq!((rx.space().len(), rx.is_full()), (10, false));
    rx.parts().1.extend([2; 10]);
    assert_eq!((rx.space().len(), rx.is_full()), (0, true));
    rx.take(30);
    assert_eq!((rx.space().is_empty(), rx.is_idle()), (false, false));
    rx.parts().1.clear();
    assert!(rx.is_idle() && rx.capacity() >= 70);
    rx.shrink();
    assert_eq!(rx.capacity(), 0);
}

/// A block that was received elsewhere is all appended, though it is more than the bound.
#[test]
fn push_beyond_the_bound() {
    let mut rx = RecvBuf::with_limits(4, 16, 10);
    rx.push(&[1; 8]);
    assert!(!rx.is_full());
    rx.push(&[2; 100]);
    assert_eq!((rx.unread().len(), rx.is_full(), rx.space().len()), (108, true, 0));
    rx.filled(0);
    assert_eq!(rx.take(9), [1, 1, 1, 1, 1, 1, 1, 1, 2]);
    rx.take(90);
    assert_eq!((rx.is_full(), rx.space().len()), (false, 1));
}

#[test]
fn events_stay_in_place() {
    let mut rx = RecvBuf::new();
    rx.push(b"header payload rest");
    let storage = rx.unread().as_ptr_range();
    rx.take(7);
    let payload = rx.take(7);
    assert_eq!(payload, b"payload");
    assert!(storage.contains(&payload.as_ptr()));
    payload.reverse(); // decrypted in place
    assert_eq!(rx.parts().0, b" rest");
    rx.parts().0[0] = b'-';
    assert_eq!(rx.unread(), b"-rest");
}

#[test]
fn lend_without_memory() {
    let mut rx = RecvBuf::new();
    let mut storage = rx.lend();
    assert_eq!((storage.len(), rx.capacity()), (4096, 0));
    storage[..3].copy_from_slice(b"abc");
    let at = storage.as_ptr();
    rx.restore(storage, 3);
    assert_eq!((rx.unread(), rx.unread().as_ptr(), rx.capacity()), (&b"abc"[..], at, 4096));
}

#[test]
fn lend_with_nothing_unread() {
    let mut rx = RecvBuf::new();
    read(&mut rx, 100);
    let at = rx.unread().as_ptr();
    drain(&mut rx);
    let storage = rx.lend();
    assert_eq!((storage.as_ptr(), storage.len(), rx.capacity(), rx.is_idle()), (at, 4096, 0, true));
    // A pool takes it; the next read allocates, or is given one.
    rx.restore(storage, 0);
    assert_eq!((rx.capacity(), rx.space().as_ptr()), (4096, at));
}

#[test]
fn lend_with_something_unread() {
    let mut rx = RecvBuf::new();
    rx.push(b"unread ");
    let mut storage = rx.lend();
    assert_eq!(rx.unread(), b"unread ");
    storage[..4].copy_from_slice(b"more");
    rx.restore(storage, 4);
    assert_eq!(rx.unread(), b"unread more");
    // Nothing came: nothing changes.
    let storage = rx.lend();
    rx.restore(storage, 0);
    assert_eq!(rx.unread(), b"unread more");
    // Consumed and pushed meanwhile: in the order of arrival.
    let storage = rx.lend();
    drain(&mut rx);
    rx.push(b"first ");
    rx.restore([&b"second"[..], &storage].concat(), 6);
    assert_eq!(rx.unread(), b"first second");
}

/// Reads that fill what was lent make the next one larger, up to the read-ahead.
#[test]
fn lend_grows() {
    let mut rx = RecvBuf::new();
    let mut sizes = Vec::new();
    for _ in 0..7 {
        let storage = rx.lend();
        sizes.push(storage.len());
        rx.restore(storage, *sizes.last().unwrap());
        drain(&mut rx);
    }
    assert_eq!(sizes, [4096, 8192, 16_384, 32_768, 65_536, 65_536, 65_536]);
}

/// Storage of any size is taken back, and what is smaller does not displace what is there.
#[test]
fn restore_foreign_storage() {
    let mut rx = RecvBuf::new();
    rx.restore(Vec::new(), 0);
    rx.restore(vec![7; 10], 10);
    assert_eq!((rx.unread(), rx.capacity()), (&[7; 10][..], 10));
    read(&mut rx, 1000);
    drain(&mut rx);
    let capacity = rx.capacity();
    rx.restore(vec![0; 5], 0);
    assert_eq!(rx.capacity(), capacity);
    rx.restore(vec![9; 5], 2);
    assert_eq!(rx.unread(), [9, 9]);
    assert!(!rx.space().is_empty());
}

#[test]
fn set_limits() {
    let mut rx = RecvBuf::new();
    let refused = [
        ((0, 1, 1), LimitsError::Zero, "a limit of the receive buffer is zero"),
        ((1, 0, 1), LimitsError::Zero, "a limit of the receive buffer is zero"),
        ((1, 1, 0), LimitsError::Zero, "a limit of the receive buffer is zero"),
        ((2, 1, 1), LimitsError::InitialAboveMax, "the first allocation is above the bound"),
    ];
    for ((initial, read_ahead, max), error, text) in refused {
        assert_eq!(rx.set_limits(initial, read_ahead, max), Err(error));
        assert_eq!((&error as &dyn std::error::Error).to_string(), text);
    }
    assert_eq!((rx.space().len(), LimitsError::InUse.to_string()), (4096, "the receive buffer holds bytes".into()));

    rx.push(b"x");
    assert_eq!(rx.set_limits(8, 16, 32), Err(LimitsError::InUse));
    rx.parts().1.push(1);
    rx.take(1);
    assert_eq!(rx.set_limits(8, 16, 32), Err(LimitsError::InUse));
    rx.parts().1.clear();
    rx.set_eof(Eof::Clean);
    // What is refused changes nothing; what is not frees what is held and keeps the end.
    assert_eq!((rx.capacity() >= 4096, rx.set_limits(8, 16, 32), rx.capacity()), (true, Ok(()), 0));
    assert_eq!((rx.eof(), rx.space().len()), (Some(Eof::Clean), 8));
}

/// Rounds that do without the memory of a peak give it back: after 16 of them, and not before.
#[test]
fn a_peak_is_given_back() {
    let mut rx = RecvBuf::new();
    rx.push(&vec![7; 1 << 20]);
    let peak = rx.capacity();
    drain(&mut rx);
    // The first of them is the end of the peak's own round.
    for round in 0..=usize::from(RecvBuf::CALM_ROUNDS) {
        read(&mut rx, 100);
        drain(&mut rx);
        let given_back = rx.capacity() < peak;
        assert_eq!(given_back, round == usize::from(RecvBuf::CALM_ROUNDS), "round {round}");
    }
    assert_eq!(rx.capacity(), RecvBuf::READ_AHEAD);
}

#[test]
fn a_peak_that_comes_again_keeps_its_memory() {
    let mut rx = RecvBuf::new();
    for _ in 0..5 {
        rx.push(&vec![7; 1 << 20]);
        drain(&mut rx);
        for _ in 0..10 {
            read(&mut rx, 100);
            drain(&mut rx);
        }
        assert!(rx.capacity() >= 1 << 20);
    }
}

/// It makes no difference how the bytes come.
#[test]
fn a_peak_is_given_back_where_blocks_are_pushed() {
    let mut rx = RecvBuf::new();
    rx.push(&vec![7; 1 << 20]);
    drain(&mut rx);
    for _ in 0..1000 {
        rx.push(&[7; 100]);
        drain(&mut rx);
    }
    assert!(rx.capacity() <= 4 * RecvBuf::READ_AHEAD, "{}", rx.capacity());
}

#[test]
fn a_peak_is_given_back_where_storage_is_lent() {
    let mut rx = RecvBuf::new();
    rx.push(&vec![7; 1 << 20]);
    drain(&mut rx);
    for _ in 0..1000 {
        let storage = rx.lend();
        rx.restore(storage, 100);
        drain(&mut rx);
    }
    assert!(rx.capacity() <= 4 * RecvBuf::READ_AHEAD, "{}", rx.capacity());
}

#[test]
fn shrink() {
    let mut rx = RecvBuf::new();
    rx.push(&vec![7; 100_000]);
    rx.shrink();
    assert_eq!((rx.capacity(), rx.unread().len()), (100_000, 100_000));
    rx.take(99_000);
    rx.shrink();
    assert_eq!((rx.capacity(), rx.unread()), (RecvBuf::INITIAL, &[7; 1000][..]));
    rx.shrink();
    assert_eq!(rx.capacity(), RecvBuf::INITIAL);
    drain(&mut rx);
    rx.shrink();
    assert_eq!((rx.capacity(), rx.is_idle(), rx.space().len()), (0, true, 4096));
}

/// The end is remembered whatever is done.
#[test]
fn the_end_is_kept() {
    let mut rx = RecvBuf::new();
    rx.push(b"last");
    rx.set_eof(Eof::Truncated);
    rx.shrink();
    let storage = rx.lend();
    rx.restore(storage, 0);
    drain(&mut rx);
    let storage = rx.lend();
    rx.restore(storage, 0);
    rx.space();
    assert_eq!(rx.eof(), Some(Eof::Truncated));
    rx.set_eof(Eof::Clean);
    assert_eq!(rx.eof(), Some(Eof::Clean));
}

#[test]
#[should_panic(expected = "filled more than the space given out")]
fn filled_too_much() {
    let mut rx = RecvBuf::with_limits(16, 16, 16);
    let n = rx.space().len() + 1;
    rx.filled(n);
}

#[test]
#[should_panic(expected = "filled more than the space given out")]
fn filled_beyond_the_bound() {
    let mut rx = RecvBuf::with_limits(16, 16, 20);
    rx.push(&[0; 16]);
    rx.space();
    rx.filled(5);
}

#[test]
#[should_panic(expected = "filled more than the space given out")]
fn filled_before_there_is_space() {
    RecvBuf::new().filled(1);
}

#[test]
#[should_panic(expected = "took more than was unread")]
fn took_too_much() {
    let mut rx = RecvBuf::new();
    rx.push(b"abc");
    rx.take(4);
}

#[test]
#[should_panic(expected = "filled more than the block has")]
fn restored_too_much() {
    RecvBuf::new().restore(vec![0; 3], 4);
}

#[test]
#[should_panic(expected = "a receive buffer needs room")]
fn no_first_allocation() {
    let _ = RecvBuf::with_limits(0, 1, 1);
}

#[test]
#[should_panic(expected = "a receive buffer needs room")]
fn no_read_ahead() {
    let _ = RecvBuf::with_limits(1, 0, 1);
}

#[test]
#[should_panic(expected = "a receive buffer needs room")]
fn no_bound() {
    let _ = RecvBuf::with_limits(1, 1, 0);
}

#[test]
#[should_panic(expected = "the first allocation is above the bound")]
fn first_allocation_above_the_bound() {
    let _ = RecvBuf::with_limits(2, 1, 1);
}
