//! Frames come back, whatever the cuts.

use crate::{
    handlers::Kind,
    peer::{Peer, frame, noise},
    server::{Runtime, Server},
};
use bytewise_net::ServerOptions;
use std::thread;

on_every_runtime!(whole, byte_by_byte, frames_of_a_mebibyte, many_small_frames, one_after_another);

fn whole(runtime: Runtime) {
    let server = Server::with(runtime, ServerOptions::default(), Kind::Echo);
    let mut peer = Peer::connect(server.address);
    peer.echoes(b"hello");
    peer.echoes(b"");
    peer.echoes(&noise(70_000, 1));
    drop(peer);
    server.stop();
}

fn byte_by_byte(runtime: Runtime) {
    let server = Server::start(runtime);
    let mut peer = Peer::connect(server.address);
    for body in [&b"hello"[..], b"", b"world, and a few more bytes of it"] {
        for byte in frame(body) {
            peer.write(&[byte]);
        }
        assert_eq!(peer.receive(), body);
    }
    drop(peer);
    server.stop();
}

fn frames_of_a_mebibyte(runtime: Runtime) {
    let server = Server::start(runtime);
    let mut peer = Peer::connect(server.address);
    let bodies: Vec<_> = (0..3).map(|seed| noise(1 << 20, seed)).collect();
    let wire: Vec<_> = bodies.iter().flat_map(|body| frame(body)).collect();
    let mut writer = Peer::over(peer.socket.try_clone().unwrap());
    thread::scope(|scope| {
        scope.spawn(move || writer.write(&wire));
        for body in &bodies {
            assert!(peer.receive() == *body);
        }
    });
    drop(peer);
    server.stop();
}

fn many_small_frames(runtime: Runtime) {
    let server = Server::start(runtime);
    let mut peer = Peer::connect(server.address);
    let bodies: Vec<_> = (0..5000_usize).map(|i| noise(i % 50, i as u64)).collect();
    let wire: Vec<_> = bodies.iter().flat_map(|body| frame(body)).collect();
    let mut writer = Peer::over(peer.socket.try_clone().unwrap());
    thread::scope(|scope| {
        scope.spawn(move || writer.write(&wire));
        for body in &bodies {
            assert_eq!(peer.receive(), *body);
        }
    });
    drop(peer);
    server.stop();
}

fn one_after_another(runtime: Runtime) {
    let server = Server::start(runtime);
    for i in 0..50 {
        Peer::connect(server.address).echoes(&[i]);
    }
    server.stop();
}
