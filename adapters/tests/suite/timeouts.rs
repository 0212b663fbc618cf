//! Deadlines: what takes too long is closed, and the log says why.

use crate::{
    handlers::{Kind, command},
    peer::{Peer, frame},
    server::{Runtime, Server},
};
use bytewise::{Phase, Time, TimedOut, Timeouts};
use bytewise_net::{Error, ServerOptions};
use std::io;

on_every_runtime!(
    idle,
    idle_is_prolonged_by_frames,
    body,
    body_that_trickles,
    write_stall_in_next,
    write_stall_in_ready,
    minimum_rate,
);

const SHORT: Time = Time::from_millis(150);

fn start(runtime: Runtime, timeouts: Timeouts) -> Server {
    Server::with(runtime, ServerOptions::default().with_timeouts(timeouts), Kind::Commands)
}

#[track_caller]
fn assert_timed_out(server: &Server, what: TimedOut) {
    match server.connection_error() {
        Error::TimedOut(timed_out) => assert_eq!(timed_out, what),
        other => panic!("{other}"),
    }
}

fn idle(runtime: Runtime) {
    let server = start(runtime, Timeouts::none().with(Phase::Idle, Some(SHORT)));
    let mut silent = Peer::connect(server.address);
    silent.assert_end();
    assert_timed_out(&server, TimedOut::Phase(Phase::Idle));
    let mut silent_later = Peer::connect(server.address);
    silent_later.echoes(b"first");
    silent_later.assert_end();
    assert_timed_out(&server, TimedOut::Phase(Phase::Idle));
    server.stop();
}

/// Round trips for longer than the bound, none of them longer.
fn idle_is_prolonged_by_frames(runtime: Runtime) {
    let server = start(runtime, Timeouts::none().with(Phase::Idle, Some(Time::from_secs(1))));
    let mut peer = Peer::connect(server.address);
    let begin = std::time::Instant::now();
    while begin.elapsed() < Time::from_millis(1200) {
        peer.echoes(b"still here");
    }
    drop(peer);
    server.stop();
}

fn body(runtime: Runtime) {
    let server = start(runtime, Timeouts::none().with(Phase::Body, Some(SHORT)));
    let mut peer = Peer::connect(server.address);
    peer.write(&[frame(b"whole"), frame(b"half")[..6].to_vec()].concat());
    assert_eq!(peer.receive(), b"whole");
    peer.assert_end();
    assert_timed_out(&server, TimedOut::Phase(Phase::Body));
    server.stop();
}

/// More bytes of the same frame are no reprieve.
fn body_that_trickles(runtime: Runtime) {
    let server = start(runtime, Timeouts::none().with(Phase::Body, Some(SHORT)));
    let mut peer = Peer::connect(server.address);
    peer.write(&1_000_000_u32.to_be_bytes());
    let tick = Time::from_millis(10);
    peer.socket.set_read_timeout(Some(tick)).unwrap();
    let begin = std::time::Instant::now();
    let end = loop {
        assert!(begin.elapsed() < 100 * SHORT, "it goes on and on");
        // The other end may close at any time.
        drop(io::Write::write(&mut peer.socket, b"x"));
        match io::Read::read(&mut peer.socket, &mut [0]) {
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {}
            end => break end,
        }
    };
    assert!(matches!(end, Ok(0) | Err(_)), "{end:?}");
    assert_timed_out(&server, TimedOut::Phase(Phase::Body));
    server.stop();
}

/// The driver writes, and the peer never reads.
fn write_stall_in_next(runtime: Runtime) {
    let server = start(runtime, Timeouts::none().with_write_stall(Some(SHORT)));
    let mut peer = Peer::with_receive_buffer(server.address, 4096);
    peer.send(command::QUEUE);
    assert_timed_out(&server, TimedOut::Write);
    server.stop();
}

/// The handler waits for room, and the peer never reads.
fn write_stall_in_ready(runtime: Runtime) {
    let server = start(runtime, Timeouts::none().with_write_stall(Some(SHORT)));
    let mut peer = Peer::with_receive_buffer(server.address, 4096);
    peer.send(command::FLOOD);
    let error = *server.error().downcast::<io::Error>().unwrap();
    assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    assert!(error.get_ref().unwrap().downcast_ref::<TimedOut>() == Some(&TimedOut::Write), "{error:?}");
    server.stop();
}

fn minimum_rate(runtime: Runtime) {
    let server = start(runtime, Timeouts::none().with_min_rate(1_000_000, SHORT));
    let mut peer = Peer::connect(server.address);
    // Between frames there is no rate.
    peer.echoes(b"whole");
    peer.write(&1_000_000_u32.to_be_bytes());
    peer.assert_end();
    assert_timed_out(&server, TimedOut::Rate);
    server.stop();
}
