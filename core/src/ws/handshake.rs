//! The opening handshake (RFC 6455, section 4): functions of heads, no state, no I/O.
//!
//! Over [`http1`](crate::http1): [`Upgrade`] and [`Request`]. Over hyper, axum or HTTP/2: [`accept_key`] and [`Negotiated`].
//!
//! ```
//! use bytewise::{Machine, RecvBuf, SendBuf};
//! use bytewise::http1::{self, Server, ServerEvent};
//! use bytewise::ws::{self, Event, handshake::Upgrade};
//!
//! let (mut rx, mut tx) = (RecvBuf::new(), SendBuf::new());
//! let mut http = Server::new(&http1::Config::default());
//! rx.push(b"GET /chat HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
//!     Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n\
//!     \x81\x85\x37\xFA\x21\x3D\x7F\x9F\x4D\x51\x58"); // the first frame comes right behind
//!
//! let Some(ServerEvent::Request(head)) = http.next_event(&mut rx, &mut tx)? else { panic!() };
//! let upgrade = Upgrade::parse(head)?; // look at its target, its origin, its subprotocols; then accept it or refuse
//! let accepted = upgrade.accept(&ws::Config::default(), None);
//! http.switch(101, accepted.fields(), &mut tx)?;
//!
//! let mut ws = accepted.into_connection(); // on the same buffers
//! assert_eq!(ws.next_event(&mut rx, &mut tx)?, Some(Event::Text("Hello")));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod client;
mod extension;
mod server;

pub use client::{Rejected, Request};
#[cfg(feature = "deflate")]
pub(super) use extension::Direction;
pub use extension::Negotiated;
pub use server::{Accepted, Refusal, Upgrade};

use base64::{Engine, engine::general_purpose::STANDARD};
use sha1::{Digest, Sha1};

/// RFC 6455, section 1.3.
const GUID: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// `sec-websocket-accept` to a `sec-websocket-key` (RFC 6455, section 4.2.2).
///
/// ```
/// let accept = bytewise::ws::handshake::accept_key(b"dGhlIHNhbXBsZSBub25jZQ==");
/// assert_eq!(&accept, b"s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
/// ```
pub fn accept_key(key: &[u8]) -> [u8; 28] {
    let digest = Sha1::new().chain_update(key).chain_update(GUID).finalize();
    let mut accept = [0; 28];
    // Twenty bytes are 28 characters.
    let _ = STANDARD.encode_slice(digest, &mut accept);
    accept
}

/// Whether it is the base64 of 16 bytes (RFC 6455, section 4.1); nothing long is decoded.
fn is_key(key: &[u8]) -> bool {
    let mut nonce = [0; 18];
    key.len() == 24 && STANDARD.decode_slice(key, &mut nonce) == Ok(16)
}
