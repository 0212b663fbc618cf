//! Runs the machines of [`bytewise`] on sockets: tokio, smol, async-std, or threads that block.
//!
//! A runtime is a [`Transport`], a byte stream and a clock. Everything above it ([`Driver`], [`Outbox`], servers, settings)
//! is written once, so that the modules `tokio`, `smol`, `async_std` and `blocking` have the same names and
//! the same behaviour, `blocking` without `async`.
//!
//! ```
//! # #[cfg(feature = "blocking")] {
//! use bytewise::framing::{Frame, Framed, Lines};
//! use bytewise_net::{ClientOptions, ServerOptions, Shutdown, blocking};
//! use std::{net::TcpListener, thread};
//!
//! let listener = TcpListener::bind("127.0.0.1:0")?;
//! let port = listener.local_addr()?.port();
//! let lines = || Framed::new(Lines::new(1000));
//! let shutdown = Shutdown::new();
//!
//! let server = thread::spawn({
//!     let shutdown = shutdown.clone();
//!     move || blocking::serve(listener, ServerOptions::default(), lines, |mut conn| {
//!         while let Some((frame, out)) = conn.next()? {
//!             if let Frame::Data(line) = frame {
//!                 out.machine.send(line, out.tx)?; // `line` still borrows the receive buffer
//!             }
//!         }
//!         Ok(conn.close()?)
//!     }, shutdown)
//! });
//!
//! let mut client = blocking::connect("127.0.0.1", port, &ClientOptions::default(), lines())?;
//! let out = client.outbox();
//! out.machine.send("hello", out.tx)?;
//! let Some((Frame::Data(line), _)) = client.next()? else { panic!("the server closed") };
//! assert_eq!(line, b"hello");
//! client.close()?;
//!
//! shutdown.begin();
//! server.join().unwrap()?;
//! # }
//! # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
//! ```
//!
//! # Features
//!
//! * `blocking` (default), `tokio`, `smol` and `async-std`, each for the module of its name. async-std is discontinued and
//!   names smol its successor.
//! * `tls`: TLS by rustls, for all of them and for loops of one's own; `native-certs` adds the authorities that the system trusts.
//! * `tower`: any `tower` service of HTTP requests, an axum router for one, on the HTTP server.
//! * `http-client`: `HttpClient`, requests by URL over connections that are kept.
//! * `ws`: WebSocket clients by URL, and connections of owned messages; `deflate` adds permessage-deflate.
#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]
// Without a runtime there is only what one's own needs: what the runtimes share is unused then.
#![cfg_attr(not(any(feature = "blocking", feature = "_tasks")), allow(dead_code))]

#[cfg(any(feature = "blocking", feature = "_tasks"))]
mod accept;
#[cfg(feature = "async-std")]
pub mod async_std;
mod backoff;
#[cfg(feature = "blocking")]
pub mod blocking;
mod buffers;
mod client;
mod connections;
mod driver;
mod error;
mod exchange;
#[cfg(any(feature = "smol", feature = "async-std"))]
mod futures_io;
mod halves;
mod heads;
#[cfg(feature = "http-client")]
mod http_client;
mod link;
mod outbox;
#[cfg(feature = "_tasks")]
mod serve;
mod server;
mod shutdown;
#[cfg(feature = "smol")]
pub mod smol;
#[cfg(feature = "tls")]
pub mod tls;
#[cfg(feature = "tokio")]
pub mod tokio;
#[cfg(feature = "_tasks")]
mod topology;
#[cfg(feature = "tower")]
pub mod tower;
mod transport;
#[cfg(any(feature = "http-client", feature = "ws"))]
mod url;
mod wakers;
#[cfg(feature = "ws")]
mod ws;

pub use backoff::Backoff;
pub use client::ClientOptions;
pub use driver::Driver;
pub use error::Error;
pub use exchange::{Exchange, Exchanges};
#[cfg(any(feature = "smol", feature = "async-std"))]
pub use futures_io::Socket;
pub use halves::{Receiver, Sender};
#[cfg(feature = "http-client")]
pub use http_client::{Connect, HttpClient, RequestError, Response, Upload};
pub use outbox::Outbox;
pub use server::{BoxError, ServerOptions};
pub use shutdown::{Shutdown, Waiting};
#[cfg(feature = "_tasks")]
pub use topology::{Topology, bind_reuse_port};
pub use transport::Transport;
#[cfg(all(feature = "ws", feature = "_tasks"))]
pub use ws::{Message, MessageError, Messages};
#[cfg(feature = "ws")]
pub use ws::{UpgradeError, WsOptions};

// The README's examples are tests too.
#[cfg(all(doctest, feature = "tokio", feature = "http-client", feature = "ws", feature = "tls", feature = "tower"))]
#[doc = include_str!("../../README.md")]
#[derive(Debug)]
pub struct Readme;
