//! `serve` in a runtime of the caller's, not in one that it makes: served, drained, and what becomes of connections when
//! its future is dropped.
#![cfg(any(feature = "tokio", feature = "smol", feature = "async-std"))]

use crate::{
    handlers::{Kind, tasks::handle},
    peer::{Peer, frame},
    server::frames,
};
use bytewise_net::{ServerOptions, Shutdown};
use futures_lite::future::{or, zip};
use std::{
    io::ErrorKind,
    net::{SocketAddr, TcpStream},
    thread,
};

/// A client on a thread of its own: the runtime may have only one.
async fn beside(client: impl FnOnce() + Send + 'static) {
    let (done, ended) = async_channel::bounded::<()>(1);
    let client = thread::spawn(move || {
        client();
        drop(done);
    });
    ended.recv().await.unwrap_err();
    client.join().unwrap();
}

fn drains(address: SocketAddr, shutdown: Shutdown) -> impl FnOnce() + Send {
    move || {
        let mut idle = Peer::connect(address);
        idle.echoes(b"before");
        let mut busy = Peer::connect(address);
        busy.write(&[frame(b"before"), frame(b"begun")[..6].to_vec()].concat());
        assert_eq!(busy.receive(), b"before");
        shutdown.begin();
        idle.assert_end();
        assert_eq!(TcpStream::connect(address).unwrap_err().kind(), ErrorKind::ConnectionRefused);
        busy.write(&frame(b"begun")[6..]);
        assert_eq!(busy.receive(), b"begun");
        busy.assert_end();
    }
}

macro_rules! runtime {
    ($feature:literal, $name:ident, $block_on:expr, $listener:ty, $serve:path) => {
        #[cfg(feature = $feature)]
        mod $name {
            use super::*;

            #[test]
            fn serves_and_drains() {
                $block_on(async {
                    let listener = <$listener>::bind("127.0.0.1:0").await.unwrap();
                    let address = listener.local_addr().unwrap();
                    let shutdown = Shutdown::new();
                    let handler = |conn| handle(conn, Kind::Echo);
                    let server = $serve(listener, ServerOptions::default(), frames, handler, shutdown.wait());
                    let (served, ()) = zip(server, beside(drains(address, shutdown.clone()))).await;
                    served.unwrap();
                });
            }

            /// Nobody new is let in; who is served is served on.
            #[test]
            fn dropped() {
                $block_on(async {
                    let listener = <$listener>::bind("127.0.0.1:0").await.unwrap();
                    let address = listener.local_addr().unwrap();
                    let handler = |conn| handle(conn, Kind::Echo);
                    let shutdown = std::future::pending();
                    let server = $serve(listener, ServerOptions::default(), frames, handler, shutdown);
                    let (to, from) = async_channel::bounded(1);
                    let client = beside(move || {
                        let mut peer = Peer::connect(address);
                        peer.echoes(b"before");
                        to.send_blocking(peer).unwrap();
                    });
                    or(async { drop(server.await) }, client).await;
                    beside(move || {
                        assert_eq!(TcpStream::connect(address).unwrap_err().kind(), ErrorKind::ConnectionRefused);
                        let mut peer = from.recv_blocking().unwrap();
                        peer.echoes(b"after");
                        peer.finish();
                        peer.assert_end();
                    })
                    .await;
                });
            }
        }
    };
}

runtime!(
    "tokio",
    on_tokio,
    |work| tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work),
    ::tokio::net::TcpListener,
    bytewise_net::tokio::serve
);
runtime!("smol", on_smol, ::smol::block_on, ::smol::net::TcpListener, bytewise_net::smol::serve);
runtime!(
    "async-std",
    on_async_std,
    ::async_std::task::block_on,
    ::async_std::net::TcpListener,
    bytewise_net::async_std::serve
);
