//! Pings while nothing comes, and what comes of it.

use crate::{
    peer::{BINARY, CLOSE, PING, PONG, Peer, TEXT, close_payload},
    runtime::{Conn, Runtime, Ws},
};
use bytewise::{
    Machine, Phase, Time, TimedOut, Timeouts,
    framing::{Framed, Lines},
    http1::{self, Server},
    ws::{Config, Connection, Event, MaskKeys, handshake::Negotiated},
};
use bytewise_net::Error;
use std::thread;

on_every_runtime!(
    pings_while_nothing_comes,
    a_peer_that_pongs_stays,
    a_peer_that_does_not_is_timed_out,
    a_client_asks_too,
    while_another_half_only_sends,
    halves_are_timed_out,
    other_protocols_do_not_ask,
    not_while_it_closes,
);

fn serve<R: Runtime>(timeouts: Timeouts) -> (Ws<R>, Peer) {
    let (socket, peer) = Peer::pair(true);
    let machine = Connection::server(&Config::default(), Negotiated::default());
    (R::over(socket, machine).with_timeouts(timeouts), peer)
}

const fn millis(millis: u64) -> Option<Time> {
    Some(Time::from_millis(millis))
}

/// And while it is asked, what comes is heard.
async fn pings_while_nothing_comes<R: Runtime>() {
    let (mut ws, mut peer) = serve::<R>(Timeouts::none().with_keep_alive(millis(20)));
    let peer = thread::spawn(move || {
        for _ in 0..3 {
            peer.expect(PING, b"");
        }
        peer.send(TEXT, b"hello");
        for _ in 0..3 {
            peer.expect(PING, b"");
        }
        peer.send(CLOSE, &close_payload(1000, ""));
        while peer.frame().0 != CLOSE {}
    });
    assert!(matches!(ws.next().await, Ok(Some((Event::Text("hello"), _)))));
    assert!(matches!(ws.next().await, Ok(Some((Event::Close(_), _)))));
    assert!(matches!(ws.next().await, Ok(None)));
    peer.join().unwrap();
}

/// Beyond the bound of the phase.
async fn a_peer_that_pongs_stays<R: Runtime>() {
    let timeouts = Timeouts::none().with(Phase::Idle, millis(600)).with_keep_alive(millis(60));
    let (mut ws, mut peer) = serve::<R>(timeouts);
    let peer = thread::spawn(move || {
        for _ in 0..20 {
            peer.expect(PING, b"");
            peer.send(PONG, b"");
        }
        peer.send(TEXT, b"still here");
        peer
    });
    for _ in 0..20 {
        assert!(matches!(ws.next().await, Ok(Some((Event::Pong(b""), _)))));
    }
    assert!(matches!(ws.next().await, Ok(Some((Event::Text("still here"), _)))));
    drop(peer.join().unwrap());
}

async fn a_peer_that_does_not_is_timed_out<R: Runtime>() {
    let timeouts = Timeouts::none().with(Phase::Idle, millis(200)).with_keep_alive(millis(20));
    let (mut ws, mut peer) = serve::<R>(timeouts);
    let peer = thread::spawn(move || {
        let mut pings = 0;
        loop {
            match peer.frame() {
                (PING, payload) if payload.is_empty() => pings += 1,
                (CLOSE, payload) => break assert_eq!(payload, 1001_u16.to_be_bytes()),
                other => panic!("{other:?}"),
            }
        }
        peer.expect_end();
        pings
    });
    for _ in 0..2 {
        assert!(matches!(ws.next().await, Err(Error::TimedOut(TimedOut::Phase(Phase::Idle)))));
    }
    assert!(peer.join().unwrap() > 0);
}

async fn a_client_asks_too<R: Runtime>() {
    let (socket, mut peer) = Peer::pair(false);
    let machine = Connection::client(&Config::default(), Negotiated::default(), MaskKeys::from_seed([1; 32]));
    let timeouts = Timeouts::none().with(Phase::Idle, millis(200)).with_keep_alive(millis(20));
    let mut ws: Ws<R> = R::over(socket, machine).with_timeouts(timeouts);
    let peer = thread::spawn(move || {
        peer.expect(PING, b"");
        loop {
            match peer.frame() {
                (PING, _) => {}
                other => break assert_eq!(other, (CLOSE, 1001_u16.to_be_bytes().to_vec())),
            }
        }
        peer.expect_end();
    });
    assert!(matches!(ws.next().await, Err(Error::TimedOut(TimedOut::Phase(Phase::Idle)))));
    peer.join().unwrap();
}

/// What is sent is no sign of life of the peer.
async fn while_another_half_only_sends<R: Runtime>() {
    let timeouts = Timeouts::none().with(Phase::Idle, millis(300)).with_keep_alive(millis(30));
    let (ws, mut peer) = serve::<R>(timeouts);
    let (mut receiver, sender) = ws.into_halves(1 << 16);
    let (go, may_go) = async_channel::unbounded();
    let peer = thread::spawn(move || {
        let (mut pings, mut messages) = (0, 0);
        go.send_blocking(()).unwrap();
        loop {
            match peer.frame() {
                (PING, _) => pings += 1,
                (BINARY, _) => {
                    messages += 1;
                    // The sender goes on at once.
                    let _ = go.send_blocking(());
                }
                (CLOSE, payload) => break assert_eq!(payload, 1001_u16.to_be_bytes()),
                other => panic!("{other:?}"),
            }
        }
        (pings, messages)
    });
    let sending = R::spawn(async move {
        while may_go.recv().await.is_ok() {
            if !matches!(sender.binary(b"news").await, Ok(Ok(()))) {
                break;
            }
        }
    });
    assert!(matches!(receiver.next().await, Err(Error::TimedOut(TimedOut::Phase(Phase::Idle)))));
    drop(receiver);
    let (pings, messages) = peer.join().unwrap();
    assert!(pings > 0 && messages > 0, "{pings} pings among {messages} messages");
    sending.join().await;
}

async fn halves_are_timed_out<R: Runtime>() {
    let timeouts = Timeouts::none().with(Phase::Idle, millis(200)).with_keep_alive(millis(20));
    let (ws, mut peer) = serve::<R>(timeouts);
    let (mut receiver, _sender) = ws.into_halves(1 << 16);
    let peer = thread::spawn(move || {
        peer.expect(PING, b"");
        while peer.frame().0 == PING {}
        peer.expect_end();
    });
    assert!(matches!(receiver.next().await, Err(Error::TimedOut(TimedOut::Phase(Phase::Idle)))));
    peer.join().unwrap();
}

async fn other_protocols_do_not_ask<R: Runtime>() {
    async fn hears_nothing<R: Runtime, M: Machine + Send + 'static>(machine: M) {
        let (socket, mut peer) = Peer::pair(true);
        let timeouts = Timeouts::none().with(Phase::Idle, millis(100)).with_keep_alive(millis(10));
        let mut conn: Conn<R, M> = R::over(socket, machine).with_timeouts(timeouts);
        let outcome = conn.next().await.map(|next| next.is_some());
        assert!(matches!(outcome, Err(Error::TimedOut(TimedOut::Phase(Phase::Idle)))));
        drop(conn);
        assert_eq!(peer.drain(), b"");
    }
    hears_nothing::<R, _>(Framed::new(Lines::new(100))).await;
    hears_nothing::<R, _>(Server::new(&http1::Config::default())).await;
}

/// After our close frame there is nothing to ask.
async fn not_while_it_closes<R: Runtime>() {
    let timeouts = Timeouts::none().with(Phase::Closing, millis(150)).with_keep_alive(millis(10));
    let (mut ws, mut peer) = serve::<R>(timeouts);
    ws.with(|ws, tx| ws.close(None, tx)).unwrap();
    assert!(matches!(ws.next().await, Err(Error::TimedOut(TimedOut::Phase(Phase::Closing)))));
    peer.expect(CLOSE, b"");
    peer.expect_end();
}

/// With the default bounds, on a clock that does not take its time.
#[test]
fn by_default_on_tokio() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    runtime.block_on(async {
        use tokio::io::AsyncReadExt;
        let (ours, mut theirs) = tokio::io::duplex(1 << 16);
        let machine = Connection::server(&Config::default(), Negotiated::default());
        let ws = bytewise_net::Driver::new(bytewise_net::tokio::Stream::new(ours), machine);
        let mut ws = ws.with_timeouts(Timeouts::default());
        let begin = tokio::time::Instant::now();
        let at = |found: tokio::time::Instant| found.duration_since(begin).as_secs();
        let peer = async {
            let (mut times, mut frame) = (Vec::new(), [0; 2]);
            while theirs.read_exact(&mut frame).await.is_ok() {
                times.push((frame[0], at(tokio::time::Instant::now())));
                if frame[0] == CLOSE {
                    assert_eq!(theirs.read_u16().await.unwrap(), 1001);
                }
            }
            times
        };
        let (outcome, times) = tokio::join!(async { ws.next().await.map(drop) }, peer);
        assert!(matches!(outcome, Err(Error::TimedOut(TimedOut::Phase(Phase::Idle)))));
        assert_eq!(times, [(PING, 45), (PING, 90), (CLOSE, 120)]);
    });
}
