//! In steady state an echo allocates nothing, whole or in halves. Counted per thread: the other end does not count.
//!
//! On tokio and on threads. With smol and async-std whoever waits runs the reactor of the whole process, which allocates for itself
//! and for all other tests.

use crate::peer::{Peer, TEXT};
use allocation_counter::measure;
use bytewise::ws::{Config, Connection, Event, handshake::Negotiated};
use bytewise_net::{Driver, blocking, tokio::Stream};
use std::thread;

/// Messages until nothing new happens, and those that are counted.
const WARM_UP: usize = 500;
const COUNTED: usize = 2_000;

fn server() -> Connection {
    Connection::server(&Config::default(), Negotiated::default())
}

/// A peer that has so many messages echoed, one after the other.
fn asking(mut peer: Peer) -> thread::JoinHandle<Peer> {
    thread::spawn(move || {
        for _ in 0..WARM_UP + COUNTED {
            peer.send(TEXT, b"hello");
            peer.expect(TEXT, b"hello");
        }
        peer
    })
}

fn assert_none(counted: allocation_counter::AllocationInfo) {
    assert_eq!((counted.count_total, counted.bytes_total), (0, 0));
}

#[test]
fn on_tokio() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let open = |socket: std::net::TcpStream| {
        socket.set_nonblocking(true).unwrap();
        socket.set_nodelay(true).unwrap();
        let _entered = runtime.enter();
        Driver::new(Stream::new(tokio::net::TcpStream::from_std(socket).unwrap()), server())
    };

    let (socket, peer) = Peer::pair(true);
    let (mut ws, peer) = (open(socket), asking(peer));
    let mut echo = |count: usize| {
        runtime.block_on(async {
            for _ in 0..count {
                let Ok(Some((Event::Text(text), mut out))) = ws.next().await else { panic!() };
                out.machine.send_text(text, out.tx).unwrap();
                out.flush().await.unwrap();
            }
        });
    };
    echo(WARM_UP);
    assert_none(measure(|| echo(COUNTED)));
    drop(peer.join().unwrap());

    let (socket, peer) = Peer::pair(true);
    let ((mut receiver, sender), peer) = (open(socket).into_halves(1 << 16), asking(peer));
    let mut echo = |count: usize| {
        runtime.block_on(async {
            for _ in 0..count {
                let Ok(Some(Event::Text(text))) = receiver.next().await else { panic!() };
                sender.send(|ws, tx| ws.send_text(text, tx)).await.unwrap().unwrap();
            }
        });
    };
    echo(WARM_UP);
    assert_none(measure(|| echo(COUNTED)));
    drop(peer.join().unwrap());
}

#[test]
fn on_threads() {
    let (socket, peer) = Peer::pair(true);
    let mut ws = blocking::Driver::new(blocking::Stream::new(socket), server());
    let peer = asking(peer);
    let mut echo = |count: usize| {
        for _ in 0..count {
            let Ok(Some((Event::Text(text), mut out))) = ws.next() else { panic!() };
            out.machine.send_text(text, out.tx).unwrap();
            out.flush().unwrap();
        }
    };
    echo(WARM_UP);
    assert_none(measure(|| echo(COUNTED)));
    drop(peer.join().unwrap());
}
