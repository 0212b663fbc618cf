//! How a connection is closed, call by call.

use crate::{
    peer::frame,
    script::{Call, Call::*, Input, Output, Script, now},
    server::{Frames, frames},
};
use bytewise::{Phase, Time, Timeouts};
use bytewise_net::{Driver, Error, Transport};
use std::{
    cell::RefCell,
    io::{self, ErrorKind, IoSlice},
    pin::pin,
    rc::Rc,
    task::{Context, Poll, Waker},
};

/// A script that can be looked at when the connection is gone.
#[derive(Debug, Clone)]
struct Kept(Rc<RefCell<Script>>);

impl Kept {
    fn new(script: Script) -> Self {
        Self(Rc::new(RefCell::new(script)))
    }

    fn calls(&self) -> Vec<Call> {
        self.0.borrow_mut().take_calls()
    }
}

impl Transport for Kept {
    fn poll_read(&mut self, cx: &mut Context<'_>, space: &mut [u8]) -> Poll<io::Result<usize>> {
        self.0.borrow_mut().poll_read(cx, space)
    }
    fn poll_write(&mut self, cx: &mut Context<'_>, chunks: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
        self.0.borrow_mut().poll_write(cx, chunks)
    }
    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.borrow_mut().poll_flush(cx)
    }
    fn poll_shutdown(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.borrow_mut().poll_shutdown(cx)
    }
    fn now(&self) -> Time {
        self.0.borrow().now
    }
    fn poll_deadline(&mut self, cx: &mut Context<'_>, at: Time) -> Poll<()> {
        self.0.borrow_mut().poll_deadline(cx, at)
    }
}

/// A connection with something queued.
fn conn(script: Script) -> (Kept, Driver<Kept, Frames>) {
    let script = Kept::new(script);
    let mut conn = Driver::new(script.clone(), frames());
    let out = conn.outbox();
    out.machine.send("last", out.tx).unwrap();
    (script, conn)
}

#[test]
fn at_the_end_of_input_it_only_shuts_down_writing() {
    let (script, mut conn) = conn(Script::new([Input::End]).with_output(Output::Takes(3)));
    assert!(now(conn.next()).unwrap().is_none());
    now(conn.close()).unwrap();
    assert_eq!(script.calls(), [Write(3, 1), Write(3, 1), Write(2, 1), Flush, Read(0), Shutdown]);
}

#[test]
fn before_the_end_of_input_it_waits_for_it() {
    let (script, conn) = conn(Script::new([Input::Bytes(vec![1; 100]), Input::Bytes(vec![2; 100]), Input::End]));
    now(conn.close()).unwrap();
    assert_eq!(script.calls(), [Write(8, 1), Flush, Shutdown, Read(100), Read(100), Read(0)]);
}

#[test]
fn after_a_protocol_error_what_is_unread_is_read() {
    let (script, mut conn) = conn(Script::new([Input::Bytes(vec![0xff; 4]), Input::Bytes(vec![1; 100]), Input::End]));
    assert!(matches!(now(conn.next()), Err(Error::Protocol(_))));
    now(conn.close()).unwrap();
    let calls = script.calls();
    assert_eq!(calls[calls.len() - 3..], [Shutdown, Read(100), Read(0)], "{calls:?}");
}

/// A peer that sends without end is left after 16 MiB, and others have their turn meanwhile.
#[test]
fn bounded_in_bytes() {
    let (script, conn) = conn(Script::new([Input::Always(vec![1; 10_000])]));
    let mut close = pin!(conn.close());
    let mut turns = 0;
    while close.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending() {
        turns += 1;
        assert!(turns < 1000, "it reads on for ever");
    }
    let calls = script.calls();
    let read: usize = calls.iter().map(|call| if let Read(n) = call { *n } else { 0 }).sum();
    assert!((16 << 20..(16 << 20) + 70_000).contains(&read), "{read}");
    let reads = calls.iter().filter(|call| matches!(call, Read(_))).count();
    assert!(turns >= reads / 4 - 1, "{reads} reads in {turns} turns");
}

#[test]
fn bounded_in_time() {
    let second = Time::from_secs(1);
    for (timeouts, bound) in [
        (None, 10 * second),
        (Some(Timeouts::none()), 10 * second),
        (Some(Timeouts::none().with(Phase::Closing, Some(3 * second))), 3 * second),
    ] {
        let (script, mut conn) = conn(Script::new([]));
        if let Some(timeouts) = timeouts {
            conn = conn.with_timeouts(timeouts);
        }
        script.0.borrow_mut().now = 100 * second;
        let mut close = pin!(conn.close());
        let mut poll = || close.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert!(poll().is_pending());
        assert_eq!(script.0.borrow().armed, Some(100 * second + bound));
        script.0.borrow_mut().now = 100 * second + bound - Time::from_nanos(1);
        assert!(poll().is_pending());
        script.0.borrow_mut().now = 100 * second + bound;
        assert!(matches!(poll(), Poll::Ready(Ok(()))));
    }
}

#[test]
fn a_peer_that_breaks_off_meanwhile_is_no_error() {
    for kind in [ErrorKind::ConnectionReset, ErrorKind::BrokenPipe] {
        let (_, conn) = conn(Script::new([Input::Bytes(vec![1; 100]), Input::Fails(kind)]));
        now(conn.close()).unwrap();
    }
}

#[test]
fn what_could_not_be_written_is_an_error() {
    let (_, conn) = conn(Script::new([]).with_output(Output::Fails(ErrorKind::BrokenPipe)));
    assert!(matches!(now(conn.close()), Err(Error::Io(error)) if error.kind() == ErrorKind::BrokenPipe));
}

/// What had come is discarded: a handler that wants it takes it before.
#[test]
fn unread_frames_are_not_answered() {
    let wire = [frame(b"one"), frame(b"two")].concat();
    let (script, mut conn) = conn(Script::new([Input::Bytes(wire), Input::End]));
    assert!(now(conn.next()).unwrap().is_some());
    now(conn.close()).unwrap();
    assert_eq!(script.0.borrow().written, frame(b"last"));
}
