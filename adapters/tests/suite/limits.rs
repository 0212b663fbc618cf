//! How many connections at once.

use crate::{
    handlers::Kind,
    peer::{Peer, frame},
    server::{Runtime, Server},
};
use bytewise_net::ServerOptions;
use std::thread;

on_every_runtime!(the_third_waits, one_at_a_time, shutdown_while_full, taken_apart_it_no_longer_counts);

fn start(runtime: Runtime, at_once: usize, kind: Kind) -> Server {
    Server::with(runtime, ServerOptions::default().with_max_connections(at_once), kind)
}

fn the_third_waits(runtime: Runtime) {
    let server = start(runtime, 2, Kind::Commands);
    let mut first = Peer::connect(server.address);
    first.echoes(b"1");
    let mut second = Peer::connect(server.address);
    second.echoes(b"2");
    let mut third = Peer::connect(server.address);
    third.send(b"3");
    for _ in 0..200 {
        first.echoes(b"1");
        second.echoes(b"2");
    }
    assert!(third.has_nothing(), "more connections than it should have");
    drop(first);
    assert_eq!(third.receive(), b"3");
    second.echoes(b"2");
    drop((second, third));
    server.stop();
}

fn one_at_a_time(runtime: Runtime) {
    let server = start(runtime, 1, Kind::Commands);
    thread::scope(|scope| {
        for i in 0..20_u8 {
            let address = server.address;
            scope.spawn(move || Peer::connect(address).echoes(&[i]));
        }
    });
    server.stop();
}

fn shutdown_while_full(runtime: Runtime) {
    let server = start(runtime, 1, Kind::Commands);
    let mut served = Peer::connect(server.address);
    served.echoes(b"1");
    let mut waiting = Peer::connect(server.address);
    waiting.send(b"2");
    server.shutdown.begin();
    served.assert_end();
    drop(served);
    waiting.assert_cut_off();
    server.stop();
}

fn taken_apart_it_no_longer_counts(runtime: Runtime) {
    let server = start(runtime, 1, Kind::TakesApart);
    let mut first = Peer::connect(server.address);
    // What is behind the first frame is in the buffers that are handed on.
    first.write(&[frame(b"1"), frame(b"2"), frame(b"3")[..5].to_vec()].concat());
    assert_eq!(first.receive(), b"1");
    assert_eq!(first.receive(), b"2");
    let mut second = Peer::connect(server.address);
    second.echoes(b"beside it");
    first.write(&frame(b"3")[5..]);
    assert_eq!(first.receive(), b"3");
    drop((first, second));
    server.stop();
}
