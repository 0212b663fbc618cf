//! Slow readers, slow writers, and two peers that both pipeline.

use crate::{
    client::{converse, converse_within},
    handlers::{MANY, PIECE, command},
    peer::{Peer, frame, noise},
    server::{Runtime, Server},
};
use bytewise_net::ClientOptions;
use std::thread;

on_every_runtime!(
    slow_reader,
    slow_reader_of_a_flood,
    slow_reader_of_a_queue,
    slow_writer_beside_fast_ones,
    pipelining_with_small_buffers,
    both_pipeline,
    all_at_once,
);

/// Writes megabytes without reading, until the buffers of both are full; then reads, and all is there.
fn slow_reader(runtime: Runtime) {
    let server = Server::start(runtime);
    let mut peer = Peer::with_receive_buffer(server.address, 8 * 1024);
    let bodies: Vec<_> = (0..24).map(|seed| noise(1 << 20, seed)).collect();
    let wire: Vec<_> = bodies.iter().flat_map(|body| frame(body)).collect();
    let written = peer.fill(&wire);
    assert!(written < wire.len(), "the server took {written} bytes without anyone reading its answers");
    let mut writer = Peer::over(peer.socket.try_clone().unwrap());
    thread::scope(|scope| {
        scope.spawn(|| {
            writer.write(&wire[written..]);
            writer.finish();
        });
        for body in &bodies {
            assert!(peer.receive() == *body);
        }
        peer.assert_end();
    });
    server.stop();
}

/// The handler waits for room with the event in its hand.
fn slow_reader_of_a_flood(runtime: Runtime) {
    let server = Server::start(runtime);
    let mut peer = Peer::with_receive_buffer(server.address, 8 * 1024);
    peer.send(command::FLOOD);
    // It is under way when others are served.
    assert!(peer.receive() == [7; PIECE]);
    Peer::connect(server.address).echoes(b"beside it");
    for _ in 1..MANY {
        assert!(peer.receive() == [7; PIECE]);
    }
    assert_eq!(peer.receive(), command::FLOOD);
    drop(peer);
    server.stop();
}

/// The driver writes what the handler queued.
fn slow_reader_of_a_queue(runtime: Runtime) {
    let server = Server::start(runtime);
    let mut peer = Peer::with_receive_buffer(server.address, 8 * 1024);
    peer.send(command::QUEUE);
    peer.send(b"behind it");
    peer.finish();
    for _ in 0..MANY {
        assert!(peer.receive() == [7; PIECE]);
    }
    assert_eq!(peer.receive(), b"behind it");
    peer.assert_end();
    server.stop();
}

fn slow_writer_beside_fast_ones(runtime: Runtime) {
    let server = Server::start(runtime);
    let mut slow = Peer::connect(server.address);
    let mut fast: Vec<_> = (0..4).map(|_| Peer::connect(server.address)).collect();
    for byte in frame(b"a frame that takes its time") {
        slow.write(&[byte]);
        for (i, peer) in fast.iter_mut().enumerate() {
            peer.echoes(&noise(100, i as u64));
        }
    }
    assert_eq!(slow.receive(), b"a frame that takes its time");
    drop((slow, fast));
    server.stop();
}

/// A window of requests larger than what the sockets hold: the server has to read on while it cannot write.
fn pipelining_with_small_buffers(runtime: Runtime) {
    let server = Server::start(runtime);
    let mut peer = Peer::with_receive_buffer(server.address, 4 * 1024);
    socket2::SockRef::from(&peer.socket).set_send_buffer_size(4 * 1024).unwrap();
    let wire: Vec<_> = (0..50).flat_map(|seed| frame(&noise(1000, seed))).collect();
    for _ in 0..5 {
        peer.write(&wire);
        for seed in 0..50 {
            assert!(peer.receive() == noise(1000, seed));
        }
    }
    drop(peer);
    server.stop();
}

/// The same from both ends.
fn both_pipeline(runtime: Runtime) {
    let server = Server::start(runtime);
    let bodies: Vec<_> = (0..2000_usize).map(|i| noise(i % 4000, i as u64)).collect();
    let answers = converse(runtime, "127.0.0.1", server.address.port(), &ClientOptions::default(), bodies.clone());
    assert!(answers.unwrap() == bodies);
    server.stop();
}

/// More is queued at once than both sides may hold: the client has to hear answers while it sends.
fn all_at_once(runtime: Runtime) {
    let server = Server::start(runtime);
    let bodies: Vec<_> = (0..24).map(|seed| noise(1 << 20, seed)).collect();
    let (host, port, options) = ("127.0.0.1", server.address.port(), ClientOptions::default());
    let answers = converse_within(usize::MAX, runtime, host, port, &options, bodies.clone());
    assert!(answers.unwrap() == bodies);
    server.stop();
}
