//! A thousand connections at once.

use crate::{
    descriptors::at_least,
    handlers::Kind,
    peer::{Peer, noise},
    server::{Runtime, Server, Spread},
};
use bytewise_net::ServerOptions;
use std::net::SocketAddr;

on_every_runtime!(a_thousand_at_once);

const CROWD: usize = 1000;

fn a_thousand_at_once(runtime: Runtime) {
    // Both ends, on four runtimes at the same time.
    at_least(10 * CROWD as u64);
    // Those that are not accepted yet wait in the listener's queue; std's is short.
    let listener = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    listener.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into()).unwrap();
    listener.listen(CROWD as i32).unwrap();
    let server = Server::spread(runtime, Spread::Single, listener.into(), ServerOptions::default(), Kind::Commands);
    let mut peers: Vec<_> = (0..CROWD).map(|_| Peer::connect(server.address)).collect();
    for round in 0..2 {
        for (i, peer) in peers.iter_mut().enumerate() {
            peer.send(&noise(100, (round * CROWD + i) as u64));
        }
        for (i, peer) in peers.iter_mut().enumerate() {
            assert!(peer.receive() == noise(100, (round * CROWD + i) as u64));
        }
    }
    drop(peers);
    server.stop();
}
