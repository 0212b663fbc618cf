//! WebSocket, [RFC 6455](https://www.rfc-editor.org/rfc/rfc6455), with permessage-deflate,
//! [RFC 7692](https://www.rfc-editor.org/rfc/rfc7692): both roles.
//!
//! ```
//! use bytewise::{Machine, RecvBuf, SendBuf};
//! use bytewise::ws::{Config, Connection, Event, MaskKeys, handshake::Negotiated};
//!
//! let config = Config::default();
//! let mut server = Connection::server(&config, Negotiated::default());
//! let mut client = Connection::client(&config, Negotiated::default(), MaskKeys::from_seed([7; 32]));
//! let (mut to_server, mut to_client) = (SendBuf::new(), SendBuf::new());
//!
//! client.send_binary(b"ping-pong", &mut to_server)?;
//! let mut rx = RecvBuf::new();
//! rx.push(to_server.pending()); // as the network would
//! while let Some(event) = server.next_event(&mut rx, &mut to_client)? {
//!     if let Event::Binary(data) = event {
//!         server.send_binary(data, &mut to_client)?;
//!     }
//! }
//! assert_eq!(to_client.pending(), b"\x82\x09ping-pong");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The opening handshake is functions of heads, in [`handshake`]; what follows it is a [`Connection`], on the same buffers. Over
//! another HTTP library it is made out of [`Negotiated`](handshake::Negotiated) parameters.

mod close;
mod compression;
mod config;
mod connection;
#[cfg(feature = "deflate")]
mod deflate;
mod error;
mod event;
pub mod frame;
pub mod handshake;
mod mask;
mod mask_keys;
mod prepared;
mod receive;
mod send;
mod utf8;

pub use close::{CloseCode, CloseFrame};
pub use config::{Config, Delivery};
pub use connection::Connection;
#[cfg(feature = "deflate")]
pub use deflate::Deflate;
pub use error::{Error, Misuse};
pub use event::{Event, Kind};
pub use mask_keys::MaskKeys;
pub use prepared::Prepared;
