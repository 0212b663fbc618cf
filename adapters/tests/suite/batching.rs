//! What the driver asks of its transport, call by call.

use crate::{
    peer::{frame, noise},
    script::{Call::*, Input, Output, Script, now, once, waits},
    server::frames,
};
use bytes::Bytes;
use bytewise::{
    Machine, NextIo, Phase, RecvBuf, SendBuf, Time, TimedOut, Timeouts,
    framing::{self, Frame},
};
use bytewise_net::{Driver, Error};
use std::{convert::Infallible, io::ErrorKind, task::Poll};

type Conn = Driver<Script, crate::server::Frames>;

const HIGH_WATER: usize = 64 * 1024;

fn conn(script: Script) -> Conn {
    Driver::new(script, frames())
}

/// Echoes the next frame, if it is there at once.
async fn echo(conn: &mut Conn) -> Result<bool, Error<framing::Error>> {
    match conn.next().await? {
        Some((Frame::Data(frame), out)) => {
            out.machine.send(frame, out.tx).unwrap();
            Ok(true)
        }
        Some(_) => panic!("another event"),
        None => Ok(false),
    }
}

fn calls(conn: &mut Conn) -> Vec<crate::script::Call> {
    conn.outbox().io().unwrap().take_calls()
}

#[test]
fn sixteen_frames_in_one_read_are_answered_by_one_write() {
    let batch = frame(b"sixteen bytes...").repeat(16);
    let mut conn = conn(Script::new([Input::Bytes(batch.clone()), Input::Bytes(batch.clone()), Input::Pending]));
    for _ in 0..32 {
        assert!(now(echo(&mut conn)).unwrap());
    }
    assert!(waits(conn.next()));
    assert_eq!(calls(&mut conn), [Read(320), Write(320, 1), Flush, Read(320), Write(320, 1), Flush, ReadPending]);
    assert_eq!(conn.io().written, batch.repeat(2));
}

#[test]
fn nothing_queued_is_not_written() {
    let mut conn = conn(Script::new([Input::Bytes(frame(b"one")), Input::Bytes(frame(b"two")), Input::End]));
    for _ in 0..2 {
        assert!(now(conn.next()).unwrap().is_some());
    }
    for _ in 0..3 {
        assert!(now(conn.next()).unwrap().is_none(), "the end is the end");
    }
    assert_eq!(calls(&mut conn), [Read(7), Read(7), Read(0)]);
    now(conn.close()).unwrap();
}

#[test]
fn large_owned_payloads_go_out_by_vectored_writes_uncopied() {
    let mut conn = conn(Script::new([Input::Pending]));
    let body = Bytes::from(vec![7; 100_000]);
    let out = conn.outbox();
    out.machine.send(body.clone(), out.tx).unwrap();
    out.machine.send(body, out.tx).unwrap();
    assert!(out.tx.capacity() < 100_000, "it was copied");
    assert!(waits(conn.next()));
    assert_eq!(calls(&mut conn), [Write(200_008, 4), Flush, ReadPending]);
}

/// More chunks than one write takes.
#[test]
fn many_chunks() {
    let mut conn = conn(Script::new([Input::Pending]));
    let out = conn.outbox();
    for _ in 0..20 {
        out.machine.send(Bytes::from(vec![7; 5000]), out.tx).unwrap();
    }
    assert!(waits(conn.next()));
    let written = frame(&[7; 5000]).repeat(20);
    assert!(conn.io().written == written);
    let writes = calls(&mut conn);
    assert!(writes.len() == 5 && writes[3..] == [Flush, ReadPending], "{writes:?}");
}

#[test]
fn a_write_that_takes_nothing_is_an_error() {
    let mut conn = conn(Script::new([Input::Bytes(frame(b"one"))]).with_output(Output::Takes(0)));
    assert!(now(echo(&mut conn)).unwrap());
    match now(conn.next()) {
        Err(Error::Io(error)) => assert_eq!(error.kind(), ErrorKind::WriteZero),
        other => panic!("{other:?}"),
    };
}

#[test]
fn it_reads_on_while_a_write_is_blocked_below_the_mark() {
    let mut conn = conn(Script::new([Input::Bytes(frame(b"one")), Input::Bytes(frame(b"two")), Input::Pending]));
    conn.outbox().io().unwrap().output = Output::Blocked;
    assert!(now(echo(&mut conn)).unwrap());
    assert!(now(echo(&mut conn)).unwrap());
    assert!(waits(conn.next()));
    conn.outbox().io().unwrap().output = Output::Takes(usize::MAX);
    assert!(waits(conn.next()));
    assert_eq!(conn.io().written, [frame(b"one"), frame(b"two")].concat());
}

/// The peer sends and never reads: memory stays bounded, and the task sleeps.
#[test]
fn it_stops_reading_above_the_mark() {
    let body = [7; 1000];
    let mut conn = conn(Script::new([Input::Always(frame(&body))]).with_output(Output::Blocked));
    let mut echoed = 0;
    let mut turns = 0;
    loop {
        match once(echo(&mut conn)) {
            (Poll::Ready(more), _) => echoed += usize::from(more.unwrap()),
            (Poll::Pending, 0) => break,
            // It gave way to others.
            (Poll::Pending, _) => turns += 1,
        }
        assert!(turns < 1000, "it reads on for ever");
    }
    assert_eq!(echoed, HIGH_WATER.div_ceil(frame(&body).len()));
    assert!(conn.received().unread().len() <= 2 * HIGH_WATER);
    // And it goes on sleeping.
    let read = calls(&mut conn).iter().filter(|call| matches!(call, Read(_))).count();
    for _ in 0..10 {
        assert!(waits(conn.next()));
    }
    assert!(read > 0 && !calls(&mut conn).iter().any(|call| matches!(call, Read(_))));
    // Room makes it go on.
    conn.outbox().io().unwrap().output = Output::Takes(usize::MAX);
    assert!(now(echo(&mut conn)).unwrap());
    assert_eq!(conn.io().written, frame(&body).repeat(echoed));
}

/// A source that is always ready does not starve others: after four reads it is their turn.
#[test]
fn it_gives_way_after_four_reads() {
    // One frame that never ends.
    let prefix = Input::Bytes(1_000_000_u32.to_be_bytes().to_vec());
    let mut conn = conn(Script::new([prefix, Input::Always(vec![7])]));
    for _ in 0..10 {
        let (outcome, woken) = once(conn.next());
        assert!(outcome.is_pending());
        assert_eq!(woken, 1);
        assert_eq!(calls(&mut conn).len(), 4);
    }
    // Frames that are all answered are no excuse.
    let mut conn = self::conn(Script::new([Input::Always(frame(b"x"))]));
    conn = conn.with_buffers(RecvBuf::with_limits(5, 5, 1 << 20), SendBuf::new());
    for _ in 0..10 {
        for _ in 0..4 {
            assert!(now(echo(&mut conn)).unwrap());
        }
        assert!(matches!(once(conn.next()), (Poll::Pending, 1)));
    }
}

#[test]
fn it_holds_no_buffer_while_it_waits() {
    let script =
        Script::new([Input::Bytes(frame(&[7; 3000])), Input::Pending, Input::Bytes(vec![0, 0]), Input::Pending]);
    let mut conn = conn(script);
    assert_eq!(conn.received().capacity(), 0);
    assert!(now(echo(&mut conn)).unwrap());
    assert!(conn.received().capacity() > 0);
    assert!(waits(conn.next()));
    assert_eq!(conn.received().capacity(), 0);
    // Part of a frame is kept.
    assert!(waits(conn.next()));
    assert_eq!(conn.received().unread(), [0, 0]);

    let mut conn = self::conn(Script::new([Input::Bytes(frame(&[7; 3000])), Input::Pending]));
    assert!(now(echo(&mut conn)).unwrap());
    assert!(waits(conn.next()));
    let (_, _, rx, tx) = conn.into_parts();
    assert_eq!((rx.capacity(), tx.capacity()), (0, 0));
}

/// The next one works with the memory of the last one, and does not see what was in it.
#[test]
fn connections_of_a_thread_share_buffers() {
    for seed in 0..20 {
        let body = noise(3000, seed);
        let script = [Input::Bytes(frame(&body)), Input::Pending, Input::Bytes(frame(&body)), Input::End];
        let (mut one, mut other) = (conn(Script::new(script.clone())), conn(Script::new(script)));
        for _ in 0..2 {
            assert!(now(echo(&mut one)).unwrap());
            assert!(now(echo(&mut other)).unwrap());
            let _ = (once(one.next()), once(other.next()));
        }
        assert!(one.io().written == frame(&body).repeat(2));
        assert!(other.io().written == frame(&body).repeat(2));
    }
}

/// Wants more, whatever there is.
#[derive(Debug)]
struct Glutton;

impl Machine for Glutton {
    type Event<'b> = Infallible;
    type Error = framing::Error;

    fn poll(&mut self, _: &mut RecvBuf, _: &mut SendBuf) -> Result<bool, framing::Error> {
        Ok(false)
    }
    fn next_event(&mut self, _: &mut RecvBuf, _: &mut SendBuf) -> Result<Option<Infallible>, framing::Error> {
        Ok(None)
    }
    fn shut_down(&mut self, _: &mut SendBuf) {}
    fn next_io(&self) -> NextIo {
        NextIo::Read
    }
}

/// The script asserts that no read is into nothing.
#[test]
fn a_full_buffer_is_an_error_and_not_the_end() {
    let driver = Driver::new(Script::new([Input::Always(vec![7])]), Glutton);
    let mut driver = driver.with_buffers(RecvBuf::with_limits(8, 8, 20), SendBuf::new());
    let failed = loop {
        match once(driver.next()) {
            (Poll::Ready(outcome), _) => break outcome.unwrap_err(),
            (Poll::Pending, woken) => assert_eq!(woken, 1),
        }
    };
    assert!(matches!(failed, Error::Io(_)), "{failed}");
    assert_eq!(driver.received().unread().len(), 20);
    assert_eq!(driver.received().eof(), None);
}

#[test]
fn a_frame_that_does_not_fit_its_buffer_is_an_error() {
    let mut conn = conn(Script::new([Input::Bytes(frame(&[7; 100])[..4].to_vec()), Input::End]));
    conn = conn.with_buffers(RecvBuf::with_limits(8, 8, 50), SendBuf::new());
    match now(conn.next()) {
        Err(Error::Protocol(framing::Error::BufferFull { max: 50 })) => {}
        other => panic!("{other:?}"),
    };
}

#[test]
fn a_reset_between_frames_is_the_end_and_other_failures_are_errors() {
    let mut conn = conn(Script::new([Input::Bytes(frame(b"one")), Input::Fails(ErrorKind::ConnectionReset)]));
    assert!(now(conn.next()).unwrap().is_some());
    assert!(now(conn.next()).unwrap().is_none());
    assert_eq!(conn.received().eof(), Some(bytewise::Eof::Truncated));

    let mut conn = self::conn(Script::new([Input::Fails(ErrorKind::PermissionDenied)]));
    for _ in 0..3 {
        assert!(matches!(now(conn.next()), Err(Error::Io(error)) if error.kind() == ErrorKind::PermissionDenied));
    }
}

/// Answers are written before the error is told.
#[test]
fn answers_before_an_error() {
    let wire = [frame(b"one"), vec![0xff; 4]].concat();
    let mut conn = conn(Script::new([Input::Bytes(wire), Input::End]).with_output(Output::Blocked));
    assert!(now(echo(&mut conn)).unwrap());
    assert!(waits(conn.next()));
    conn.outbox().io().unwrap().output = Output::Takes(1);
    for _ in 0..3 {
        assert!(matches!(now(conn.next()), Err(Error::Protocol(_))), "an error is final");
    }
    assert_eq!(conn.io().written, frame(b"one"));
}

#[test]
fn a_timeout_is_final() {
    let second = Time::from_secs(1);
    let timeouts = Timeouts::none().with(Phase::Idle, Some(second));
    let mut conn = conn(Script::new([Input::Pending, Input::Pending])).with_timeouts(timeouts);
    assert!(waits(conn.next()));
    assert_eq!(conn.io().armed, Some(second));
    conn.outbox().io().unwrap().now = second;
    assert!(matches!(now(conn.next()), Err(Error::TimedOut(TimedOut::Phase(Phase::Idle)))));
    // The documentation says that it errs again, whatever comes.
    conn.outbox().io().unwrap().input.push_back(Input::Bytes(frame(b"too late")));
    assert!(now(conn.next()).is_err());
}

/// A timer that fires early, because the deadline has moved away since, is set anew and no reason to fail.
#[test]
fn the_timer_is_not_moved_while_the_deadline_only_moves_away() {
    let second = Time::from_secs(1);
    let timeouts = Timeouts::none().with(Phase::Idle, Some(10 * second));
    let mut conn = conn(Script::new([Input::Pending])).with_timeouts(timeouts);
    assert!(waits(conn.next()));
    conn.outbox().io().unwrap().now = 6 * second;
    conn.outbox().io().unwrap().input.extend([Input::Bytes(frame(b"one")), Input::Pending]);
    assert!(now(echo(&mut conn)).unwrap());
    assert!(waits(conn.next()));
    assert_eq!(conn.io().armed, Some(10 * second));
    conn.outbox().io().unwrap().now = 10 * second;
    assert!(waits(conn.next()));
    assert_eq!(conn.io().armed, Some(16 * second));
    conn.outbox().io().unwrap().now = 16 * second;
    assert!(matches!(now(conn.next()), Err(Error::TimedOut(TimedOut::Phase(Phase::Idle)))));
}

#[test]
fn a_write_that_stalls() {
    let second = Time::from_secs(1);
    let timeouts = Timeouts::none().with_write_stall(Some(second));
    let mut conn = conn(Script::new([]).with_output(Output::Blocked)).with_timeouts(timeouts);
    let out = conn.outbox();
    out.machine.send("waits", out.tx).unwrap();
    assert!(waits(conn.next()));
    // A byte is a reprieve.
    conn.outbox().io().unwrap().now = second - Time::from_millis(1);
    conn.outbox().io().unwrap().output = Output::Takes(1);
    assert!(waits(async { conn.outbox().ready(8).await.map(|()| std::future::pending::<()>()).unwrap().await }));
    conn.outbox().io().unwrap().output = Output::Blocked;
    conn.outbox().io().unwrap().now = second;
    assert!(waits(conn.outbox().flush()));
    conn.outbox().io().unwrap().now = 3 * second;
    let error = now(conn.outbox().flush()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    assert!(matches!(now(conn.next()), Err(Error::TimedOut(TimedOut::Write))));
}

/// Nothing is lost when another protocol takes over.
#[test]
fn switching_keeps_what_is_unread_and_what_is_unwritten() {
    let mut conn = conn(Script::new([Input::Bytes([frame(b"frame"), b"a line\n".to_vec()].concat()), Input::End]));
    assert!(now(echo(&mut conn)).unwrap());
    let mut conn = conn.switch(framing::Framed::new(framing::Lines::new(80)));
    let Some((Frame::Data(line), out)) = now(conn.next()).unwrap() else { panic!("no line") };
    assert_eq!(line, b"a line");
    out.machine.send(line, out.tx).unwrap();
    assert!(now(conn.next()).unwrap().is_none());
    let (script, _, rx, tx) = conn.into_parts();
    assert!(rx.unread().is_empty() && tx.is_empty());
    assert_eq!(script.written, [frame(b"frame"), b"a line\n".to_vec()].concat());
}

/// What waits behind bytes that the caller writes is neither written before them nor forgotten.
#[test]
fn external_bytes_keep_their_place() {
    let mut conn = conn(Script::new([Input::Pending, Input::Pending]));
    let mut out = conn.outbox();
    out.tx.put("before ");
    out.tx.put_external(3);
    out.tx.put(" after");
    now(out.flush()).unwrap();
    assert_eq!(out.tx.external(), Some(3));
    assert_eq!(out.io().unwrap().written, b"before ");
    assert!(waits(conn.next()));
    assert_eq!(conn.io().written, b"before ");
    conn.outbox().tx.external_written(3);
    assert!(waits(conn.next()));
    assert_eq!(conn.io().written, b"before  after");
}

/// What the caller was to write is not quietly left out, with what comes behind it.
#[test]
fn closing_without_the_external_bytes_is_an_error() {
    let mut conn = conn(Script::new([]));
    let out = conn.outbox();
    out.tx.put("before");
    out.tx.put_external(10);
    out.tx.put("after");
    let Err(Error::Io(error)) = now(conn.close()) else { panic!("it closes as if nothing were missing") };
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
}
