//! Connections in halves under TLS: many senders, both directions busy, messages.

use crate::{
    pki::{Pki, VERSIONS},
    runtimes::{Runtime, Server, on_every_runtime},
};
use bytewise::{
    http1,
    ws::{Config, Connection, Event},
};
use bytewise_net::{ClientOptions, Connect, Driver, Message, ServerOptions, WsOptions, blocking};
use futures::{SinkExt, StreamExt, future::join_all};
use futures_lite::future::zip;
use std::thread;

on_every_runtime!(many_senders, messages, back_together);

const SENDERS: u8 = 16;
const EACH: usize = 20;

async fn open<R: Runtime>(server: &Server, pki: &Pki) -> Driver<R::Io, Connection> {
    let options = ClientOptions::default().with_tls(pki.client(&VERSIONS));
    let http = http1::Client::new(&http1::Config::default());
    let http = R::Connector::default().connect("localhost", server.port, &options, http).await.unwrap();
    http.upgrade("/", [("host", "localhost")], &[], &Config::default()).await.unwrap()
}

/// Messages of one sender come in its order, and whole.
#[derive(Default)]
struct Came([usize; SENDERS as usize]);

impl Came {
    fn take(&mut self, event: Event<'_>) -> bool {
        let Event::Binary(data) = event else { panic!("{event:?}") };
        let sender = data[0];
        assert!(data.iter().all(|byte| *byte == sender));
        let nth = &mut self.0[usize::from(sender)];
        assert_eq!(data.len(), size(sender, *nth));
        *nth += 1;
        self.0.iter().any(|nth| *nth < EACH)
    }
}

fn size(sender: u8, nth: usize) -> usize {
    1 + nth * 37 + usize::from(sender) * 1000
}

fn many_senders<R: Runtime>() {
    for version in VERSIONS {
        let pki = Pki::new(&["localhost"]);
        let server = Server::start::<R>(ServerOptions::default().with_tls(pki.server(&[version])));
        R::block_on(async {
            let (mut receiver, sender) = open::<R>(&server, &pki).await.into_halves(1 << 16);
            let senders = (0..SENDERS).map(|own| {
                let sender = sender.clone();
                async move {
                    for nth in 0..EACH {
                        let message = vec![own; size(own, nth)];
                        sender.send(|ws, tx| ws.send_binary(message, tx)).await.unwrap().unwrap();
                    }
                    sender.flush().await.unwrap();
                }
            });
            let receive = async {
                let mut came = Came::default();
                while came.take(receiver.next().await.unwrap().unwrap()) {}
            };
            zip(join_all(senders), receive).await;
            receiver.close().await.unwrap();
            assert!(sender.is_closed());
        });
    }
}

fn messages<R: Runtime>() {
    for version in VERSIONS {
        let pki = Pki::new(&["localhost"]);
        let server = Server::start::<R>(ServerOptions::default().with_tls(pki.server(&[version])));
        R::block_on(async {
            let mut messages = open::<R>(&server, &pki).await.into_messages(1 << 16);
            for size in [0, 1, 16_384, 100_000] {
                messages.send(vec![7; size].into()).await.unwrap();
                let Some(Ok(Message::Binary(data))) = messages.next().await else { panic!() };
                assert!(data == vec![7; size]);
            }
            messages.close().await.unwrap();
            assert!(matches!(messages.next().await, Some(Ok(Message::Close(_)))));
            assert!(messages.next().await.is_none());
        });
    }
}

fn back_together<R: Runtime>() {
    let pki = Pki::new(&["localhost"]);
    let server = Server::start::<R>(ServerOptions::default().with_tls(pki.server(&VERSIONS)));
    R::block_on(async {
        let (receiver, sender) = open::<R>(&server, &pki).await.into_halves(1 << 16);
        sender.send(|ws, tx| ws.send_binary(vec![1; 10], tx)).await.unwrap().unwrap();
        let mut ws = receiver.into_driver();
        assert!(!ws.tls().unwrap().is_handshaking());
        let Some((Event::Binary(data), _)) = ws.next().await.unwrap() else { panic!() };
        assert_eq!(data, [1; 10]);
        ws.close().await.unwrap();
    });
}

/// On threads: one receives while sixteen send.
#[test]
fn many_threads() {
    for version in VERSIONS {
        let pki = Pki::new(&["localhost"]);
        let server =
            Server::start::<crate::runtimes::Blocking>(ServerOptions::default().with_tls(pki.server(&[version])));
        let options = WsOptions::default().with_tls(pki.client(&VERSIONS)).with_config(Config::default());
        let ws = blocking::connect_ws(&server.url("wss"), &options).unwrap();
        let (mut receiver, sender) = ws.into_halves(1 << 16).unwrap();
        thread::scope(|scope| {
            for own in 0..SENDERS {
                let sender = sender.clone();
                scope.spawn(move || {
                    for nth in 0..EACH {
                        let message = vec![own; size(own, nth)];
                        sender.send(|ws, tx| ws.send_binary(message, tx)).unwrap().unwrap();
                    }
                    sender.flush().unwrap();
                });
            }
            let mut came = Came::default();
            while came.take(receiver.next().unwrap().unwrap()) {}
        });
        receiver.close().unwrap();
    }
}
