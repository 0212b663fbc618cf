//! One message, encoded once, to a thousand connections, some of which do not read.

use crate::{
    peer::{Peer, TEXT, noise},
    runtime::{AsyncStd, Blocking, Runtime, Sender, Serving, Smol, Tokio, Ws, within_guard},
};
use bytewise::ws::{Config, Connection, Kind, Prepared};
use bytewise_net::ServerOptions;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::io::ErrorKind;

#[test]
fn on_tokio() {
    within_guard::<Tokio, _>(|| to_all::<Tokio>(1000));
}

#[test]
fn on_smol() {
    within_guard::<Smol, _>(|| to_all::<Smol>(1000));
}

#[test]
fn on_async_std() {
    within_guard::<AsyncStd, _>(|| to_all::<AsyncStd>(200));
}

/// A thread for each.
#[test]
fn on_blocking() {
    within_guard::<Blocking, _>(|| to_all::<Blocking>(200));
}

const HIGH_WATER: usize = 64 * 1024;
/// Those that do not read.
const SLOW: usize = 5;
const MESSAGES: usize = 20;

fn news(number: usize) -> String {
    format!("{number}: {}", "news ".repeat(number))
}

async fn to_all<R: Runtime>(count: usize) {
    // Both ends, on four runtimes at the same time.
    let limit = getrlimit(Resource::Nofile);
    let most = limit.maximum.unwrap_or(u64::MAX).min(16_384);
    setrlimit(Resource::Nofile, Rlimit { current: limit.current.map(|current| current.max(most)), ..limit }).unwrap();

    let (enter, entered) = async_channel::unbounded::<Sender<R, Connection>>();
    let handler = move |ws: Ws<R>| {
        let enter = enter.clone();
        async move {
            let (mut receiver, sender) = ws.into_halves(HIGH_WATER);
            enter.send(sender).await?;
            while receiver.next().await?.is_some() {}
            Ok(receiver.close().await?)
        }
    };
    let server = Serving::websocket::<R, _>(ServerOptions::default(), Config::default(), handler);
    let (mut peers, mut room) = (Vec::new(), Vec::new());
    for _ in 0..count {
        peers.push(Peer::connect(server.port));
        room.push(entered.recv().await.unwrap());
    }
    // What the slow ones are sent fills the buffers of both sides, and the queue.
    let mut sent = [0; SLOW];
    for (slow, sent) in room.iter().zip(&mut sent) {
        while slow.try_send(|ws, tx| ws.send_binary(noise(16_384, 1), tx)).is_ok() {
            *sent += 1;
        }
    }
    let (mut left_out, mut heard) = (0, 0);
    for number in 0..MESSAGES {
        let message = Prepared::new(Kind::Text, news(number)).unwrap();
        for member in &room {
            match member.try_send(|ws, tx| ws.send_prepared(&message, tx)) {
                Ok(sent) => {
                    sent.unwrap();
                    heard += 1;
                }
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::WouldBlock);
                    left_out += 1;
                }
            }
        }
    }
    assert!(heard >= (count - SLOW) * MESSAGES, "only those that do not read are left out");
    assert!(left_out > 0, "those that do not read are");
    for peer in &mut peers[SLOW..] {
        for number in 0..MESSAGES {
            peer.expect(TEXT, news(number).as_bytes());
        }
    }
    // When the slow ones read, they have what they were sent, and go on.
    for (peer, sent) in peers.iter_mut().zip(sent) {
        for _ in 0..sent {
            assert!(peer.frame().1 == noise(16_384, 1));
        }
    }
    for slow in &room[..SLOW] {
        slow.text("and now").await.unwrap().unwrap();
    }
    for peer in &mut peers[..SLOW] {
        while peer.frame() != (TEXT, b"and now".to_vec()) {}
    }
}
