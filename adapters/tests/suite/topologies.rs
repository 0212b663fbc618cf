//! Contexts and threads: whatever the topology, all are served, and it ends.
#![cfg(any(feature = "tokio", feature = "smol", feature = "async-std"))]

use crate::{
    handlers::Kind,
    peer::{Peer, frame, noise},
    server::{Runtime, Server, Spread},
};
use bytewise::{Time, Timeouts};
use bytewise_net::ServerOptions;
use std::{
    io::{ErrorKind, Write},
    net::{TcpListener, TcpStream},
};

macro_rules! in_every_topology {
    ($($test:ident),*) => {
        $(mod $test {
            use super::Spread::*;

            fn one(runtime: super::Runtime) {
                super::$test(runtime, Single, false);
            }

            fn shared(runtime: super::Runtime) {
                super::$test(runtime, Shared(2), false);
            }

            fn per_thread(runtime: super::Runtime) {
                super::$test(runtime, PerThread(2), false);
            }

            #[cfg(unix)]
            fn per_thread_with_listeners_of_their_own(runtime: super::Runtime) {
                super::$test(runtime, PerThread(2), true);
            }

            fn handed_out(runtime: super::Runtime) {
                super::$test(runtime, HandedOut(2), false);
            }

            on_every_runtime_with_tasks!(one, shared, per_thread, handed_out);
            #[cfg(unix)]
            on_every_runtime_with_tasks!(per_thread_with_listeners_of_their_own);
        })*
    };
}

macro_rules! on_every_runtime_with_tasks {
    ($($test:ident),*) => {
        $(mod $test {
            #[cfg(feature = "tokio")]
            #[test]
            fn on_tokio() {
                super::$test(crate::server::Runtime::Tokio);
            }

            #[cfg(feature = "smol")]
            #[test]
            fn on_smol() {
                super::$test(crate::server::Runtime::Smol);
            }

            #[cfg(feature = "async-std")]
            #[test]
            fn on_async_std() {
                super::$test(crate::server::Runtime::AsyncStd);
            }
        })*
    };
}

in_every_topology!(forty_clients, drains, drains_until_the_deadline, full);

fn start(runtime: Runtime, spread: Spread, reuse_port: bool, options: ServerOptions) -> Server {
    let listener = if reuse_port {
        bytewise_net::bind_reuse_port("127.0.0.1:0".parse().unwrap()).unwrap()
    } else {
        TcpListener::bind("127.0.0.1:0").unwrap()
    };
    Server::spread(runtime, spread, listener, options, Kind::Commands)
}

fn forty_clients(runtime: Runtime, spread: Spread, reuse_port: bool) {
    let server = start(runtime, spread, reuse_port, ServerOptions::default());
    let mut peers: Vec<_> = (0..40).map(|_| Peer::connect(server.address)).collect();
    for round in 0..5 {
        for (i, peer) in peers.iter_mut().enumerate() {
            peer.send(&noise(1000 * round, i as u64));
        }
        for (i, peer) in peers.iter_mut().enumerate() {
            assert!(peer.receive() == noise(1000 * round, i as u64));
        }
    }
    // Some go, some stay until the end.
    peers.truncate(20);
    server.shutdown.begin();
    for peer in &mut peers {
        peer.assert_end();
    }
    drop(peers);
    server.stop();
}

/// While one finishes its frame, the others are ended and nobody new is let in.
fn drains(runtime: Runtime, spread: Spread, reuse_port: bool) {
    let options = ServerOptions::default().with_timeouts(Timeouts::none()).with_drain(Time::from_secs(1000));
    let server = start(runtime, spread, reuse_port, options);
    let mut idle: Vec<_> = (0..8).map(|_| Peer::connect(server.address)).collect();
    for peer in &mut idle {
        peer.echoes(b"before");
    }
    let mut busy = Peer::connect(server.address);
    busy.write(&[frame(b"before"), frame(b"begun")[..6].to_vec()].concat());
    assert_eq!(busy.receive(), b"before");
    server.shutdown.begin();
    for peer in &mut idle {
        peer.assert_end();
    }
    // Who comes now is refused or, if a context was about to close its listener, dropped or still served, but not left
    // waiting.
    match TcpStream::connect(server.address) {
        Ok(late) => {
            let mut late = Peer::over(late);
            // Without it, whoever connects just as a listener is closed may not be told by the system.
            let _ = late.socket.write_all(&frame(b"late"));
            match late.rest() {
                Ok(rest) => assert!(rest.is_empty() || rest == frame(b"late")),
                Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset),
            }
        }
        Err(error) => {
            let refused = matches!(error.kind(), ErrorKind::ConnectionRefused | ErrorKind::ConnectionReset);
            assert!(refused, "{error}");
        }
    }
    busy.write(&frame(b"begun")[6..]);
    assert_eq!(busy.receive(), b"begun");
    busy.assert_end();
    drop((idle, busy));
    server.stop();
}

fn drains_until_the_deadline(runtime: Runtime, spread: Spread, reuse_port: bool) {
    let options = ServerOptions::default().with_timeouts(Timeouts::none()).with_drain(Time::from_millis(200));
    let server = start(runtime, spread, reuse_port, options);
    let mut peers: Vec<_> = (0..8).map(|_| Peer::connect(server.address)).collect();
    for peer in &mut peers {
        peer.write(&[frame(b"before"), frame(b"begun")[..6].to_vec()].concat());
        assert_eq!(peer.receive(), b"before");
    }
    server.shutdown.begin();
    server.ended().unwrap();
    for peer in &mut peers {
        peer.assert_cut_off();
    }
}

/// More clients than it takes at once: each has its turn, and it ends while some wait.
fn full(runtime: Runtime, spread: Spread, reuse_port: bool) {
    let server = start(runtime, spread, reuse_port, ServerOptions::default().with_max_connections(2));
    std::thread::scope(|scope| {
        for i in 0..20_u8 {
            let address = server.address;
            scope.spawn(move || Peer::connect(address).echoes(&[i]));
        }
    });
    let mut waiting: Vec<_> = (0..10).map(|_| Peer::connect(server.address)).collect();
    for peer in &mut waiting {
        peer.write(&[0]);
    }
    for peer in &mut waiting {
        peer.finish();
    }
    server.shutdown.begin();
    for peer in &mut waiting {
        peer.assert_cut_off();
    }
    server.ended().unwrap();
}
