//! What a thread that blocks does while it waits.
#![cfg(feature = "blocking")]

use crate::{
    peer::{Peer, frame},
    server::frames,
};
use bytewise::{Phase, Time, TimedOut, Timeouts, framing::Frame};
use bytewise_net::{
    Error,
    blocking::{BlockingStream, Driver, Stream},
};
use std::{
    io::{self, Read, Write},
    net::{TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

/// A socket whose reads are counted.
struct Counted {
    socket: TcpStream,
    reads: Arc<AtomicUsize>,
}

impl Read for Counted {
    fn read(&mut self, space: &mut [u8]) -> io::Result<usize> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        self.socket.read(space)
    }
}

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.socket.write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl BlockingStream for Counted {
    fn set_read_timeout(&mut self, at_most: Option<Time>) -> io::Result<()> {
        self.socket.set_read_timeout(at_most)
    }
    fn set_write_timeout(&mut self, at_most: Option<Time>) -> io::Result<()> {
        self.socket.set_write_timeout(at_most)
    }
    fn shut_down_writing(&mut self) -> io::Result<()> {
        self.socket.shutdown(std::net::Shutdown::Write)
    }
}

fn pair() -> (Peer, Stream<Counted>, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let peer = Peer::connect(listener.local_addr().unwrap());
    let reads = Arc::new(AtomicUsize::new(0));
    let socket = listener.accept().unwrap().0;
    (peer, Stream::new(Counted { socket, reads: Arc::clone(&reads) }), reads)
}

/// A deadline that no longer holds wakes nobody, not even once it is over: the body that it was for has come.
#[test]
fn without_a_deadline_it_sleeps() {
    let (mut peer, stream, reads) = pair();
    let timeouts = Timeouts::none().with(Phase::Body, Some(Time::from_millis(300)));
    let mut conn = Driver::new(stream, frames()).with_timeouts(timeouts);
    thread::scope(|scope| {
        scope.spawn(move || {
            peer.write(&[frame(b"first"), frame(b"second")[..6].to_vec()].concat());
            assert_eq!(peer.receive(), b"first");
            peer.write(&frame(b"second")[6..]);
            assert_eq!(peer.receive(), b"second");
            // Time passes: that is what this is about.
            thread::sleep(Time::from_millis(1000));
            peer.send(b"third");
        });
        for body in [&b"first"[..], b"second", b"third"] {
            let Some((Frame::Data(frame), out)) = conn.next().unwrap() else { panic!("it ends") };
            assert_eq!(frame, body);
            out.machine.send(frame, out.tx).unwrap();
        }
    });
    let reads = reads.load(Ordering::Relaxed);
    assert!(reads < 20, "{reads} reads for three frames");
}

/// A wait with a deadline is one read, not many.
#[test]
fn until_a_deadline_it_sleeps() {
    let (_peer, stream, reads) = pair();
    let timeouts = Timeouts::none().with(Phase::Idle, Some(Time::from_millis(500)));
    let mut conn = Driver::new(stream, frames()).with_timeouts(timeouts);
    match conn.next() {
        Err(Error::TimedOut(TimedOut::Phase(Phase::Idle))) => {}
        other => panic!("{:?}", other.err()),
    }
    let reads = reads.load(Ordering::Relaxed);
    assert!(reads < 20, "{reads} reads for nothing");
}
