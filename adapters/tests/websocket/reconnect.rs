//! Connecting again and again, and how long it waits.

use crate::{
    peer::{Peer, Site, TEXT, accepting},
    runtime::Runtime,
};
use bytewise::{
    Time,
    ws::{Event, handshake::Rejected},
};
use bytewise_net::{Backoff, UpgradeError, WsOptions};
use std::{net::TcpListener, thread};

on_every_runtime!(until_it_accepts, until_there_is_a_server, permanent,);

fn quick() -> Backoff {
    Backoff::with_seed(Time::from_millis(1), Time::from_millis(20), 7)
}

async fn until_it_accepts<R: Runtime>() {
    type Play = Box<dyn FnOnce(Peer, String) + Send>;
    let answer = |status: &'static str| -> Play {
        Box::new(move |mut peer, _| peer.write(format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n").as_bytes()))
    };
    let site = Site::playing([
        answer("503 Service Unavailable"),
        answer("429 Too Many Requests"),
        // It closes without a word.
        Box::new(|_, _| ()),
        Box::new(|mut peer, head| {
            peer.write(accepting(&head, "").as_bytes());
            peer.send(TEXT, b"at last");
        }),
    ]);
    let mut ws = R::reconnect_ws(&site.url(), &WsOptions::default(), &mut quick()).await.unwrap();
    assert!(matches!(ws.next().await, Ok(Some((Event::Text("at last"), _)))));
    site.done();
}

async fn until_there_is_a_server<R: Runtime>() {
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let url = format!("ws://{address}/");
    let error = R::connect_ws(&url, &WsOptions::default()).await.err().unwrap();
    assert!(matches!(error, UpgradeError::Connect(_)) && error.is_temporary(), "{error:?}");
    let server = thread::spawn(move || {
        let listener = TcpListener::bind(address).unwrap();
        let mut peer = Peer::over(listener.accept().unwrap().0, false);
        let head = peer.head();
        peer.write(accepting(&head, "").as_bytes());
        peer.send(TEXT, b"here");
        peer
    });
    let mut ws = R::reconnect_ws(&url, &WsOptions::default(), &mut quick()).await.unwrap();
    assert!(matches!(ws.next().await, Ok(Some((Event::Text("here"), _)))));
    drop(server.join().unwrap());
}

async fn permanent<R: Runtime>() {
    let site = Site::once(|mut peer, _| peer.write(b"HTTP/1.1 401 Unauthorized\r\nwww-authenticate: Basic\r\n\r\n"));
    match R::reconnect_ws(&site.url(), &WsOptions::default(), &mut quick()).await.err().unwrap() {
        UpgradeError::Rejected(Rejected::Status(401), head) => {
            assert_eq!(head.head().fields().get("www-authenticate"), Some(&b"Basic"[..]));
        }
        other => panic!("{other:?}"),
    }
    site.done();
    let error = R::reconnect_ws("ws://a b/", &WsOptions::default(), &mut quick()).await.err().unwrap();
    assert!(matches!(error, UpgradeError::Url(_)), "{error:?}");
}

/// Doubling, each between its half and itself, up to the last; anew after a reset.
#[test]
fn pauses() {
    let (first, last) = (Time::from_millis(100), Time::from_secs(5));
    for seed in 0..200 {
        let mut backoff = Backoff::with_seed(first, last, seed);
        for _ in 0..2 {
            let mut whole = first;
            for pause in backoff.by_ref().take(40) {
                assert!(whole / 2 <= pause && pause <= whole, "{pause:?} of {whole:?}");
                whole = (whole * 2).min(last);
            }
            backoff.reset();
        }
    }
    let times = |seed| Backoff::with_seed(first, last, seed).take(20).collect::<Vec<_>>();
    assert_eq!(times(3), times(3));
    assert_ne!(times(3), times(4));
    assert_ne!(Backoff::new(first, last).take(20).collect::<Vec<_>>(), times(3));
}

#[test]
fn pauses_at_the_edges() {
    for (first, last) in [
        (Time::ZERO, Time::ZERO),
        (Time::MAX, Time::MAX),
        (Time::from_secs(9), Time::from_secs(1)),
        (Time::ZERO, Time::MAX),
    ] {
        for pause in Backoff::with_seed(first, last, 1).take(300) {
            assert!(pause <= last);
        }
    }
    assert!(
        Backoff::with_seed(Time::from_nanos(1), Time::MAX, 1).take(300).last().unwrap()
            >= Time::MAX / 2 - Time::from_secs(1)
    );
}
