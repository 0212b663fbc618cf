//! What a handler can do with its connection.

use crate::{
    handlers::{Kind, command},
    peer::{Peer, frame, noise},
    server::{Runtime, Server},
};
use bytewise::framing;
use bytewise_net::{Error, ServerOptions};

on_every_runtime!(
    switch_with_frames_behind_the_handshake,
    switch_byte_by_byte,
    into_parts_and_back,
    a_small_buffer,
    a_frame_too_large_for_its_buffer,
    flush_while_it_waits,
    shutdown_while_it_waits,
    external_segments,
    vectored_writes,
);

fn start(runtime: Runtime, kind: Kind) -> Server {
    Server::with(runtime, ServerOptions::default(), kind)
}

fn switch_with_frames_behind_the_handshake(runtime: Runtime) {
    let server = start(runtime, Kind::LinesFirst);
    let mut peer = Peer::connect(server.address);
    peer.write(&[b"hello\r\ngo\n".to_vec(), frame(b"one"), frame(b"go\n"), frame(b"three")[..5].to_vec()].concat());
    peer.write(&frame(b"three")[5..]);
    peer.finish();
    let answer = [b"hello\ngo\n".to_vec(), frame(b"one"), frame(b"go\n"), frame(b"three")].concat();
    assert_eq!(peer.rest().unwrap(), answer);
    server.stop();
}

fn switch_byte_by_byte(runtime: Runtime) {
    let server = start(runtime, Kind::LinesFirst);
    let mut peer = Peer::connect(server.address);
    for byte in [b"hello\r\ngo\n".to_vec(), frame(b"one"), frame(b"two")].concat() {
        peer.write(&[byte]);
    }
    peer.finish();
    let answer = [b"hello\ngo\n".to_vec(), frame(b"one"), frame(b"two")].concat();
    assert_eq!(peer.rest().unwrap(), answer);
    server.stop();
}

fn into_parts_and_back(runtime: Runtime) {
    let server = start(runtime, Kind::TakesApart);
    let mut peer = Peer::connect(server.address);
    // Frames that are there already when it is put together again, and answers not yet written.
    peer.write(&[frame(b"one"), frame(b"two"), frame(b"three")].concat());
    for body in [&b"one"[..], b"two", b"three"] {
        assert_eq!(peer.receive(), body);
    }
    peer.echoes(&noise(100_000, 1));
    drop(peer);
    server.stop();
}

fn a_small_buffer(runtime: Runtime) {
    // A frame and a half are there before the first read.
    let there = [frame(b"already there"), frame(b"half of it")[..6].to_vec()].concat();
    let server = start(runtime, Kind::Buffers(256, there.into()));
    let mut peer = Peer::connect(server.address);
    assert_eq!(peer.receive(), b"already there");
    peer.write(&frame(b"half of it")[6..]);
    assert_eq!(peer.receive(), b"half of it");
    for i in 0..100 {
        peer.echoes(&noise(252 * i / 99, i as u64));
    }
    // Many at once do not fit, and need not.
    let wire: Vec<_> = (0..100).flat_map(|seed| frame(&noise(200, seed))).collect();
    peer.write(&wire);
    for seed in 0..100 {
        assert_eq!(peer.receive(), noise(200, seed));
    }
    drop(peer);
    server.stop();
}

fn a_frame_too_large_for_its_buffer(runtime: Runtime) {
    let server = start(runtime, Kind::Buffers(256, [].into()));
    let mut peer = Peer::connect(server.address);
    peer.write(&300_u32.to_be_bytes());
    peer.assert_end();
    drop(peer);
    match server.connection_error() {
        Error::Protocol(framing::Error::BufferFull { max: 256 }) => {}
        other => panic!("{other}"),
    }
    server.stop();
}

/// What is queued is written before, not after.
fn flush_while_it_waits(runtime: Runtime) {
    let (open, gate) = async_channel::unbounded();
    let server = start(runtime, Kind::WaitsFor(gate));
    let mut peer = Peer::connect(server.address);
    for body in [&b"one"[..], b"two"] {
        peer.send(body);
        assert_eq!(peer.receive(), b"wait");
        open.send_blocking(()).unwrap();
        assert_eq!(peer.receive(), body);
    }
    // Nothing to wait for.
    open.send_blocking(()).unwrap();
    peer.send(b"three");
    assert_eq!(peer.receive(), b"wait");
    assert_eq!(peer.receive(), b"three");
    drop(peer);
    server.stop();
}

/// A handler that waits for something else is not disturbed; its answer is written, then it ends.
fn shutdown_while_it_waits(runtime: Runtime) {
    let (open, gate) = async_channel::unbounded();
    let server = start(runtime, Kind::WaitsFor(gate));
    let mut peer = Peer::connect(server.address);
    peer.send(b"one");
    assert_eq!(peer.receive(), b"wait");
    server.shutdown.begin();
    open.send_blocking(()).unwrap();
    assert_eq!(peer.receive(), b"one");
    peer.assert_end();
    drop(peer);
    server.stop();
}

/// Bytes that the handler writes past the buffers, between those that are queued.
fn external_segments(runtime: Runtime) {
    let server = start(runtime, Kind::Commands);
    let mut peer = Peer::connect(server.address);
    peer.write(&[frame(b"before"), frame(command::EXTERNAL), frame(b"after")].concat());
    assert_eq!(peer.receive(), b"before");
    assert_eq!(peer.receive(), b"0123456789".repeat(1000));
    assert_eq!(peer.receive(), command::EXTERNAL);
    assert_eq!(peer.receive(), b"after");
    drop(peer);
    server.stop();
}

/// Owned payloads: four thousand chunks, more than any system call takes.
fn vectored_writes(runtime: Runtime) {
    let server = start(runtime, Kind::Commands);
    let mut peer = Peer::connect(server.address);
    peer.write(&[frame(command::QUEUE), frame(command::QUEUE), frame(b"behind")].concat());
    for _ in 0..2 * crate::handlers::MANY {
        assert!(peer.receive() == [7; crate::handlers::PIECE]);
    }
    assert_eq!(peer.receive(), b"behind");
    drop(peer);
    server.stop();
}
