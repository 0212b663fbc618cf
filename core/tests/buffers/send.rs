//! [`SendBuf`], rule by rule.

use bytes::{Buf, Bytes};
use bytewise::SendBuf;

const LARGE: usize = SendBuf::UNCOPIED_FROM;

/// All that is pending up to the next external segment.
fn pending(tx: &SendBuf) -> Vec<u8> {
    tx.chunks().flatten().copied().collect()
}

fn chunk_sizes(tx: &SendBuf) -> Vec<usize> {
    tx.chunks().map(<[u8]>::len).collect()
}

#[test]
fn empty() {
    let mut tx = SendBuf::new();
    assert_eq!((tx.capacity(), tx.queued(), tx.is_empty(), tx.external()), (0, 0, true, None));
    assert_eq!((tx.pending(), tx.chunks().count(), tx.remaining()), (&b""[..], 0, 0));
    assert_eq!(tx.lend(), Bytes::new());
    tx.put("");
    tx.put(Bytes::new());
    tx.put_external(0);
    tx.external_written(0);
    tx.consume(0);
    tx.shrink();
    assert!(tx.is_empty() && tx.capacity() == 0);
}

#[test]
fn small_units_share_a_tail() {
    let mut tx = SendBuf::new();
    tx.put("head ");
    tx.put(b"of ");
    tx.put(vec![b'x'; 3]);
    tx.put(Bytes::from(vec![b'y'; LARGE - 1]));
    assert_eq!((chunk_sizes(&tx), tx.queued()), (vec![11 + LARGE - 1], 11 + LARGE - 1));
    tx.consume(11);
    assert_eq!(tx.pending(), [b'y'; LARGE - 1]);
    tx.consume(LARGE - 1);
    assert!(tx.is_empty());
}

#[test]
fn large_owned_payloads_are_not_copied() {
    let payload = Bytes::from(vec![b'x'; LARGE]);
    let mut tx = SendBuf::new();
    tx.put("head ");
    tx.put(payload.clone());
    tx.put(payload.slice(1..));
    tx.put(" tail");
    assert_eq!((chunk_sizes(&tx), tx.queued()), (vec![5, LARGE, LARGE - 1 + 5], 2 * LARGE + 9));
    tx.consume(5);
    assert_eq!(tx.pending().as_ptr(), payload.as_ptr());
    tx.consume(1000);
    assert_eq!(tx.pending().as_ptr_range(), payload[1000..].as_ptr_range());
    tx.consume(LARGE - 1000);
    assert_eq!((tx.queued(), pending(&tx).ends_with(b"x tail")), (LARGE + 4, true));
    // What is borrowed is copied, however large.
    let mut tx = SendBuf::new();
    tx.put(&payload[..]);
    assert_ne!(tx.pending().as_ptr(), payload.as_ptr());
}

/// Bytes that the caller writes itself: what is queued later waits behind them.
#[test]
fn external() {
    let mut tx = SendBuf::new();
    tx.put("head ");
    tx.put_external(1 << 40);
    tx.put("middle ");
    tx.put_external(3);
    tx.put_external(4);
    assert_eq!((pending(&tx), tx.external(), tx.queued(), tx.remaining()), (b"head ".to_vec(), None, 12, 5));
    tx.consume(5);
    assert_eq!((tx.pending(), tx.external(), tx.is_empty(), tx.remaining()), (&b""[..], Some(1 << 40), false, 0));
    assert_eq!((tx.lend(), tx.chunks().count()), (Bytes::new(), 0));
    tx.external_written(0);
    tx.external_written((1 << 40) - 1);
    assert_eq!(tx.external(), Some(1));
    tx.put("tail");
    tx.external_written(1);
    assert_eq!((tx.external(), tx.pending(), tx.queued()), (None, &b"middle "[..], 11));
    tx.consume(7);
    tx.external_written(3);
    assert_eq!((tx.external(), tx.queued()), (Some(4), 4));
    tx.external_written(4);
    assert_eq!((tx.pending(), tx.external()), (&b"tail"[..], None));
    tx.consume(4);
    assert!(tx.is_empty());
}

#[test]
fn external_alone() {
    let mut tx = SendBuf::new();
    tx.put_external(u64::MAX);
    assert_eq!((tx.is_empty(), tx.queued(), tx.capacity(), tx.external()), (false, 0, 0, Some(u64::MAX)));
    tx.external_written(u64::MAX);
    assert!(tx.is_empty());
}

#[test]
fn lend_inline() {
    let mut tx = SendBuf::new();
    tx.put("in flight");
    tx.consume(3);
    let at = tx.pending().as_ptr();
    let lent = tx.lend();
    assert_eq!((&lent[..], lent.as_ptr()), (&b"flight"[..], at));
    // It stays queued; what is put meanwhile goes behind it.
    tx.put(", and more");
    assert_eq!((pending(&tx), tx.queued()), (b"flight, and more".to_vec(), 16));
    assert_eq!(tx.lend(), lent);
    tx.consume(2);
    assert_eq!((&tx.lend()[..], &lent[..]), (&b"ight"[..], &b"flight"[..]));
    tx.consume(4);
    assert_eq!((&tx.lend()[..], tx.queued()), (&b", and more"[..], 10));
    tx.consume(10);
    assert!(tx.is_empty());
}

#[test]
fn lend_in_each_state() {
    let payload = Bytes::from(vec![b'x'; LARGE]);
    let mut tx = SendBuf::new();
    tx.put("a");
    tx.put(payload.clone());
    tx.put("bc");
    tx.put_external(9);
    tx.put("d");
    // Inline, in front of something owned: both inline parts behind it stay in order.
    assert_eq!(tx.lend(), "a");
    assert_eq!((pending(&tx), tx.queued()), ([b"a", &payload[..], b"bc"].concat(), LARGE + 4));
    tx.consume(1);
    assert_eq!(tx.lend().as_ptr(), payload.as_ptr());
    tx.consume(LARGE - 1);
    assert_eq!(tx.lend(), "x");
    tx.consume(1);
    assert_eq!(tx.lend(), "bc");
    tx.consume(2);
    assert_eq!((tx.lend(), tx.external()), (Bytes::new(), Some(9)));
    tx.external_written(9);
    assert_eq!(tx.lend(), "d");
    tx.consume(1);
    assert_eq!((tx.lend(), tx.is_empty(), tx.queued()), (Bytes::new(), true, 0));
}

#[test]
fn shrink() {
    let mut tx = SendBuf::new();
    tx.put(&[7; 10_000]);
    tx.put(Bytes::from(vec![8; LARGE]));
    tx.put("tail");
    tx.consume(9990);
    tx.shrink();
    assert_eq!((tx.capacity(), tx.queued()), (14, 14 + LARGE));
    assert_eq!(pending(&tx), [&[7; 10][..], &[8; LARGE], b"tail"].concat());
    tx.put("!");
    assert!(pending(&tx).ends_with(b"tail!"));
    tx.consume(tx.queued());
    assert!(tx.capacity() > 0);
    tx.shrink();
    assert_eq!((tx.capacity(), tx.is_empty()), (0, true));
    tx.put("again");
    assert_eq!(tx.pending(), b"again");
}

/// The queue of segments is given back, too.
#[test]
fn shrink_gives_all_back() {
    static PAYLOAD: [u8; LARGE] = [7; LARGE];
    let mut tx = SendBuf::new();
    let info = allocation_counter::measure(|| {
        for _ in 0..1000 {
            tx.put("head");
            tx.put(Bytes::from_static(&PAYLOAD));
        }
        tx.consume(tx.queued());
        tx.shrink();
    });
    assert_eq!((info.bytes_current, tx.is_empty()), (0, true));
}

/// 100 MiB in units of various sizes, while `waiting` bytes are always pending: memory stays within a few times that.
fn through(waiting: usize, unit: usize, total: usize) -> usize {
    let (mut tx, unit, mut most) = (SendBuf::new(), vec![7; unit], 0);
    tx.put(vec![7; waiting].as_slice());
    for _ in 0..total / unit.len() {
        tx.put(&unit);
        tx.consume(unit.len());
        most = most.max(tx.capacity());
    }
    assert_eq!(tx.queued(), waiting);
    most
}

#[test]
fn memory_is_bounded_where_it_never_empties() {
    for unit in [1000, 4096, 65_536, 100_000] {
        let most = through(64 * 1024, unit, 100 << 20);
        assert!(most <= 4 * (64 * 1024 + unit).next_power_of_two(), "{most} for units of {unit}");
    }
    assert!(through(1, 100, 10 << 20) <= 4096);
}

/// The bytes that wait are not moved with each unit, however nearly they fill the memory.
#[test]
fn the_work_is_linear_where_it_never_empties() {
    for waiting in [4000, 4090, 8000, 8190, 65_000, 65_535, 65_536] {
        let mut tx = SendBuf::new();
        tx.put(vec![7; waiting].as_slice());
        let mut moves = 0;
        for _ in 0..20_000 {
            let before = tx.pending().as_ptr();
            tx.put("x");
            moves += usize::from(tx.pending().as_ptr() != before);
            tx.consume(1);
        }
        // Each move is of so many bytes: it takes as many to pay for it.
        assert!(moves <= 2 + 2 * 20_000 / waiting, "{waiting} bytes moved {moves} times for 20,000 that were put");
    }
}

#[test]
fn steady_traffic_allocates_nothing() {
    for waiting in [0, 1, 3000, 4095, 4096, 5000, 8000, 65_000, 65_536] {
        let mut tx = SendBuf::new();
        tx.put(vec![7; waiting].as_slice());
        let round = |tx: &mut SendBuf| {
            tx.put(&[7; 100]);
            tx.consume(100);
        };
        (0..5000).for_each(|_| round(&mut tx));
        let info = allocation_counter::measure(|| (0..5000).for_each(|_| round(&mut tx)));
        assert_eq!(info.count_total, 0, "{waiting} bytes wait");
    }
}

/// Batches that do without the memory of a peak give it back: after 16 of them, and not before.
#[test]
fn a_peak_is_given_back() {
    let mut tx = SendBuf::new();
    let mut batch = |n: usize| {
        tx.put(vec![7; n].as_slice());
        tx.consume(n);
        tx.capacity()
    };
    let peak = batch(1 << 20);
    for round in 1..SendBuf::CALM_ROUNDS {
        assert_eq!(batch(100), peak, "round {round}");
    }
    assert_eq!(batch(100), SendBuf::KEEP);
    // A peak that comes again keeps its memory.
    for _ in 0..5 {
        batch(1 << 20);
        (0..10).for_each(|_| assert!(batch(100) >= 1 << 20));
    }
}

/// As `bytes::Buf`, whose `remaining` ends at an external segment.
#[test]
fn as_a_buf() {
    let payload = Bytes::from(vec![b'x'; LARGE]);
    let mut tx = SendBuf::new();
    tx.put("abc");
    tx.put(payload);
    tx.put("def");
    tx.put_external(1);
    tx.put("ghi");
    assert_eq!((tx.remaining(), tx.chunk(), tx.has_remaining()), (LARGE + 6, &b"abc"[..], true));
    assert_eq!(tx.get_u8(), b'a');
    tx.advance(2 + LARGE);
    assert_eq!(tx.copy_to_bytes(3), "def");
    assert_eq!((tx.has_remaining(), tx.chunk(), tx.is_empty()), (false, &b""[..], false));
    tx.external_written(1);
    assert_eq!(tx.copy_to_bytes(tx.remaining()), "ghi");
    assert!(tx.is_empty());
}

#[cfg(feature = "std")]
#[test]
fn vectored() {
    use std::io::IoSlice;

    let payload = Bytes::from(vec![b'x'; LARGE]);
    let mut tx = SendBuf::new();
    tx.put("abc");
    tx.put(payload);
    tx.put("def");
    tx.put_external(1);
    tx.put("ghi");
    let mut slices = [IoSlice::new(b""); 4];
    assert_eq!(tx.chunks_vectored(&mut slices), 3);
    assert_eq!(slices.map(|slice| slice.len()), [3, LARGE, 3, 0]);
    assert_eq!(tx.chunks_vectored(&mut slices[..2]), 2);
    assert_eq!(tx.chunks_vectored(&mut []), 0);
}

#[test]
#[should_panic(expected = "consumed more than was pending")]
fn consumed_too_much() {
    let mut tx = SendBuf::new();
    tx.put("abc");
    tx.consume(4);
}

#[test]
#[should_panic(expected = "consumed more than was pending")]
fn consumed_too_much_of_segments() {
    let mut tx = SendBuf::new();
    tx.put(Bytes::from(vec![0; LARGE]));
    tx.put("abc");
    tx.consume(LARGE + 4);
}

#[test]
#[should_panic(expected = "consumed more than was pending")]
fn consumed_what_is_external() {
    let mut tx = SendBuf::new();
    tx.put("abc");
    tx.put_external(9);
    tx.consume(4);
}

#[test]
#[should_panic(expected = "wrote more than was due")]
fn wrote_too_much() {
    let mut tx = SendBuf::new();
    tx.put_external(9);
    tx.external_written(10);
}

#[test]
#[should_panic(expected = "wrote more than was due")]
fn wrote_before_it_was_due() {
    let mut tx = SendBuf::new();
    tx.put("abc");
    tx.put_external(9);
    tx.external_written(1);
}
