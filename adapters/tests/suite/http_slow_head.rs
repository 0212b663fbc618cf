//! The attack by slow heads: a hundred clients that send a byte from time to time and never end their head, beside a
//! thousand honest ones.

use crate::{
    descriptors::at_least,
    http_handlers::Site,
    http_peer::{HttpPeer, get, ok, refusal},
    http_server::serve,
    server::Runtime,
};
use bytewise::{Phase, Time, Timeouts, http1::Config};
use bytewise_net::ServerOptions;
use std::{
    io::Write,
    net::SocketAddr,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Instant,
};

on_every_runtime!(slow_heads_are_cut_off_and_nobody_else);

const SLOW: usize = 100;
const HONEST: usize = 1000;
const THREADS: usize = 4;

/// How long a head may take.
const HEAD: Time = Time::from_millis(500);

/// Rounds of requests that each honest client makes at least.
const ROUNDS: usize = 3;

fn slow_heads_are_cut_off_and_nobody_else(runtime: Runtime) {
    // Both ends, on four runtimes at the same time.
    at_least(10 * (SLOW + HONEST) as u64);
    // Those that are not accepted yet wait in the listener's queue; std's is short.
    let listener = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    listener.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into()).unwrap();
    listener.listen((SLOW + HONEST) as i32).unwrap();
    let timeouts = Timeouts::default().with(Phase::Head, Some(HEAD));
    let options = ServerOptions::default().with_timeouts(timeouts);
    let server = serve(runtime, listener.into(), options, Config::default(), Site::default());

    let attack_is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let (address, over) = (server.address, &attack_is_over);
            scope.spawn(move || be_honest(address, thread, over));
        }
        // The others have to notice also when this fails.
        let _over = SetWhenDropped(&attack_is_over);
        attack(server.address);
    });
    for _ in 0..SLOW {
        assert_eq!(server.error().to_string(), "timed out: the head took too long");
    }
    server.stop();
}

struct SetWhenDropped<'a>(&'a AtomicBool);

impl Drop for SetWhenDropped<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// Many connections that are kept alive; every request is answered as if nothing else were there.
fn be_honest(address: SocketAddr, thread: usize, attack_is_over: &AtomicBool) {
    let mut peers: Vec<_> = (0..HONEST / THREADS).map(|_| HttpPeer::connect(address)).collect();
    let mut round = 0;
    while round < ROUNDS || !attack_is_over.load(Ordering::Acquire) {
        for (i, peer) in peers.iter_mut().enumerate() {
            peer.send(get(&format!("/{thread}/of/{round}/{i}/-")));
        }
        for (i, peer) in peers.iter_mut().enumerate() {
            peer.expect(ok(&format!("/{thread}/of/{round}/{i}/-")));
        }
        round += 1;
    }
}

/// Until all are cut off, at the deadline and not before.
fn attack(address: SocketAddr) {
    let begin = Instant::now();
    let mut peers: Vec<_> = (0..SLOW)
        .map(|_| {
            let mut peer = HttpPeer::connect(address);
            peer.send("GET / HTTP/1.1\r\nhost: a\r\nx: ");
            (Instant::now(), peer)
        })
        .collect();
    while !peers.is_empty() {
        assert!(begin.elapsed() < 40 * HEAD, "{} are never cut off", peers.len());
        peers.retain_mut(|(begun, peer)| {
            if peer.peer.has_nothing() {
                // It may be cut off just now.
                let _ = peer.peer.socket.write(b"x");
                return true;
            }
            assert!(begun.elapsed() + Time::from_millis(50) >= HEAD, "cut off after {:?}", begun.elapsed());
            peer.expect(refusal("408 Request Timeout"));
            peer.peer.assert_cut_off();
            false
        });
        // That is what makes it slow.
        thread::sleep(Time::from_millis(20));
    }
}
