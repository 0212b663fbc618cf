//! Races: threads that begin a shutdown, wait for it and go away; servers that end while clients come.

use crate::{
    handlers::Kind,
    peer::{Peer, frame},
    server::{Runtime, Server},
};
use bytewise::{Time, Timeouts};
use bytewise_net::{ServerOptions, Shutdown};
use futures_lite::future::{block_on, poll_once};
use std::{
    future::Future,
    pin::pin,
    sync::{
        Arc, Barrier, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Wake, Waker},
    thread,
};

on_every_runtime!(clients_that_come_while_it_ends, clients_that_break_off_at_once);

#[test]
fn all_who_wait_are_woken_whenever_it_begins() {
    for round in 0..200 {
        let shutdown = Shutdown::new();
        let start = Barrier::new(5);
        thread::scope(|scope| {
            for i in 0..4 {
                let (shutdown, start) = (&shutdown, &start);
                scope.spawn(move || {
                    start.wait();
                    for _ in 0..(round + i) % 7 {
                        // Comes, and goes away again.
                        block_on(poll_once(shutdown.wait()));
                    }
                    let mut waiting = pin!(shutdown.wait());
                    block_on(poll_once(waiting.as_mut()));
                    block_on(waiting);
                    assert!(shutdown.has_begun());
                });
            }
            start.wait();
            shutdown.begin();
            shutdown.begin();
        });
        block_on(shutdown.wait());
    }
}

/// Wakers of others are not touched by who goes away, though places are used again.
#[test]
fn who_goes_away_takes_only_its_own_place() {
    struct Count(AtomicUsize);
    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    let shutdown = Shutdown::new();
    let counts: Vec<_> = (0..10).map(|_| Arc::new(Count(AtomicUsize::new(0)))).collect();
    let mut waiting: Vec<_> = counts.iter().map(|_| Some(Box::pin(shutdown.wait()))).collect();
    let poll = |waiting: &mut Vec<Option<std::pin::Pin<Box<bytewise_net::Waiting>>>>, i: usize| {
        let waker = Waker::from(Arc::clone(&counts[i]));
        waiting[i].as_mut().unwrap().as_mut().poll(&mut Context::from_waker(&waker)).is_ready()
    };
    for i in 0..10 {
        assert!(!poll(&mut waiting, i) && !poll(&mut waiting, i));
    }
    for i in [1, 3, 5] {
        waiting[i] = None;
    }
    waiting[3] = Some(Box::pin(shutdown.wait()));
    assert!(!poll(&mut waiting, 3));
    shutdown.begin();
    let woken: Vec<_> = counts.iter().map(|count| count.0.load(Ordering::Relaxed)).collect();
    assert_eq!(woken, [1, 0, 1, 1, 1, 0, 1, 1, 1, 1]);
    for i in [0, 2, 3, 4] {
        assert!(poll(&mut waiting, i));
    }
    drop(waiting);
}

/// A waker whose last clone owns another one that waits: its drop must not find the lock taken.
#[test]
fn a_waker_may_own_one_that_waits() {
    struct Owner(#[expect(dead_code, reason = "it is dropped")] Mutex<Option<bytewise_net::Waiting>>);
    impl Wake for Owner {
        fn wake(self: Arc<Self>) {}
    }
    let (done, ended) = std::sync::mpsc::channel();
    thread::spawn(move || {
        let shutdown = Shutdown::new();
        let mut inner = shutdown.wait();
        block_on(poll_once(&mut inner));
        let owner = Waker::from(Arc::new(Owner(Mutex::new(Some(inner)))));
        let mut waiting = pin!(shutdown.wait());
        assert!(Future::poll(waiting.as_mut(), &mut Context::from_waker(&owner)).is_pending());
        drop(owner);
        // Another task takes it over.
        block_on(poll_once(waiting.as_mut()));
        done.send(()).unwrap();
    });
    ended.recv_timeout(std::time::Duration::from_secs(10)).expect("it does not wait for itself");
}

/// Whoever is served is served whole; whoever is not learns it; and the server ends.
fn clients_that_come_while_it_ends(runtime: Runtime) {
    for round in 0..10 {
        let options = ServerOptions::default().with_timeouts(Timeouts::none()).with_drain(Time::from_secs(1000));
        let server = Server::with(runtime, options.with_max_connections(1 + round), Kind::Commands);
        let start = Barrier::new(5);
        thread::scope(|scope| {
            for i in 0..4_u8 {
                let (start, address) = (&start, server.address);
                scope.spawn(move || {
                    start.wait();
                    for _ in 0..10 {
                        let Ok(socket) = std::net::TcpStream::connect(address) else { break };
                        let mut peer = Peer::over(socket);
                        if std::io::Write::write_all(&mut peer.socket, &frame(&[i])).is_err() {
                            break;
                        }
                        match peer.try_receive() {
                            Ok(echo) => assert_eq!(echo, [i]),
                            Err(_) => break,
                        }
                    }
                });
            }
            start.wait();
            for _ in 0..round {
                thread::yield_now();
            }
            server.shutdown.begin();
        });
        server.ended().unwrap();
    }
}

/// Resets before the connection is accepted, or right after.
fn clients_that_break_off_at_once(runtime: Runtime) {
    let server = Server::start(runtime);
    for i in 0..100 {
        let mut peer = Peer::connect(server.address);
        if i % 2 == 0 {
            peer.send(b"nobody will read the answer");
        }
        peer.reset();
    }
    Peer::connect(server.address).echoes(b"after");
    server.shutdown.begin();
    server.ended().unwrap();
}
