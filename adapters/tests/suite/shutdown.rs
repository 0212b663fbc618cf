//! The end of a server: what is under way is finished, nothing new is begun, and at the deadline all is over.

use crate::{
    handlers::{Kind, MANY, PIECE, command},
    peer::{Peer, frame},
    server::{Runtime, Server},
};
use bytewise::{Time, Timeouts};
use bytewise_net::ServerOptions;
use std::{
    io::{ErrorKind, Read},
    net::TcpStream,
    time::Duration,
};

on_every_runtime!(
    without_connections,
    graceful,
    deadline,
    deadline_for_a_handler_that_waits_for_room,
    deadline_for_a_handler_that_waits_for_something_else,
    twice_and_before_it_starts,
    many_idle_connections,
);

/// Long enough that nothing but the drain ends it.
fn patient(drain: Time) -> ServerOptions {
    ServerOptions::default().with_timeouts(Timeouts::none()).with_drain(drain)
}

fn without_connections(runtime: Runtime) {
    Server::start(runtime).stop();
}

fn graceful(runtime: Runtime) {
    let server = Server::with(runtime, patient(Time::from_secs(1000)), Kind::Commands);
    let mut idle = Peer::connect(server.address);
    idle.echoes(b"before");
    let mut busy = Peer::connect(server.address);
    busy.write(&[frame(b"before"), frame(b"begun")[..6].to_vec()].concat());
    assert_eq!(busy.receive(), b"before");

    server.shutdown.begin();
    idle.assert_end();
    let refused = TcpStream::connect(server.address).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);

    busy.write(&frame(b"begun")[6..]);
    assert_eq!(busy.receive(), b"begun");
    busy.send(b"later");
    busy.assert_end();
    drop((idle, busy));
    server.stop();
}

/// One that never finishes is cut off, though the thread that served is still there.
fn deadline(runtime: Runtime) {
    let server = Server::with(runtime, patient(Time::from_millis(200)), Kind::Commands);
    let mut peer = Peer::connect(server.address);
    peer.write(&[frame(b"before"), frame(b"begun")[..6].to_vec()].concat());
    assert_eq!(peer.receive(), b"before");
    server.shutdown.begin();
    server.ended().unwrap();
    peer.socket.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    peer.assert_cut_off();
}

/// The same while the handler holds an event. What the system holds is still sent, but no more of the flood.
fn deadline_for_a_handler_that_waits_for_room(runtime: Runtime) {
    let server = Server::with(runtime, patient(Time::from_millis(200)), Kind::Commands);
    let mut peer = Peer::with_receive_buffer(server.address, 4096);
    peer.send(command::FLOOD);
    assert_eq!(peer.receive().len(), PIECE);
    server.shutdown.begin();
    server.ended().unwrap();
    peer.socket.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let mut after = 0;
    let end = loop {
        match peer.socket.read(&mut [0; PIECE]) {
            Ok(n) if n > 0 => after += n,
            end => break end,
        }
    };
    assert!(after < MANY * PIECE / 2, "it went on for {after} bytes");
    assert!(end.as_ref().map_or_else(|error| error.kind() == ErrorKind::ConnectionReset, |_| true), "{end:?}");
}

/// The same for one that waits for something that never comes. A thread cannot be cut off in that.
fn deadline_for_a_handler_that_waits_for_something_else(runtime: Runtime) {
    if runtime.blocks() {
        return;
    }
    let (_open, gate) = async_channel::unbounded();
    let server = Server::with(runtime, patient(Time::from_millis(200)), Kind::WaitsFor(gate));
    let mut peer = Peer::connect(server.address);
    peer.send(b"one");
    assert_eq!(peer.receive(), b"wait");
    server.shutdown.begin();
    server.ended().unwrap();
    peer.socket.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    peer.assert_cut_off();
}

fn twice_and_before_it_starts(runtime: Runtime) {
    let server = Server::start(runtime);
    server.shutdown.begin();
    server.shutdown.begin();
    server.stop();
}

fn many_idle_connections(runtime: Runtime) {
    let server = Server::with(runtime, patient(Time::from_secs(1000)), Kind::Commands);
    let mut peers: Vec<_> = (0..50).map(|_| Peer::connect(server.address)).collect();
    for (i, peer) in peers.iter_mut().enumerate() {
        peer.echoes(&[i as u8]);
    }
    server.shutdown.begin();
    for mut peer in peers {
        peer.assert_end();
    }
    server.stop();
}
