//! HTTP/1.0 and 1.1, [RFC 9112](https://www.rfc-editor.org/rfc/rfc9112) with the semantics of
//! [RFC 9110](https://www.rfc-editor.org/rfc/rfc9110): [`Server`] and [`Client`].
//!
//! ```
//! # use bytewise::{Machine, RecvBuf, SendBuf, http1::{Config, NO_FIELDS, Server, ServerEvent}};
//! # let (mut rx, mut tx) = (RecvBuf::new(), SendBuf::new());
//! let mut http = Server::new(&Config::default());
//! rx.push(b"GET /a HTTP/1.1\r\nHost: x\r\n\r\nGET /b HTTP/1.1\r\nHost: x\r\n\r\n"); // pipelined
//! while let Some(event) = http.next_event(&mut rx, &mut tx)? {
//!     if let ServerEvent::Request(head) = event {
//!         http.respond(200, NO_FIELDS, head.target(), &mut tx)?;
//!     }
//! }
//! assert_eq!(
//!     tx.pending(),
//!     b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n/aHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n/b"
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What is refused
//!
//! By default everything that another parser could read in another way: a line feed or a carriage return alone, folded lines,
//! whitespace around names, control characters, `content-length` with `transfer-encoding`, differing or repeated lengths,
//! chunked twice or not last, `transfer-encoding` in HTTP/1.0, `host` missing, repeated or malformed, targets that are not of
//! their method's form. Each fails at the offending line, at any cut of the input alike. An [`Error`] names one cause and knows
//! the status it is answered with. Each [`Leniency`] forgives one thing, and says what that risks.
//!
//! Tolerated are one empty line before a request, and a status line that ends with its code (many servers leave out the space).
//!
//! # What is sent
//!
//! The core writes the framing fields (`content-length`, `transfer-encoding`) and `connection` itself and refuses them from the
//! caller, as it refuses CR, LF and NUL everywhere: what a caller does wrong is a [`Misuse`], and changes nothing. Fields to
//! send are any `IntoIterator` of name and value; [`NO_FIELDS`] is none. Bodies are copied once, into the send buffer, and
//! [`Bytes`](bytes::Bytes) of [`SendBuf::UNCOPIED_FROM`](crate::SendBuf::UNCOPIED_FROM) bytes or more not at all.

mod body;
mod client;
mod clock;
mod config;
mod control;
#[cfg(feature = "http")]
mod convert;
#[cfg(feature = "date")]
mod date;
mod encode;
mod error;
mod fields;
mod head;
mod lines;
mod scan;
mod server;
mod syntax;
mod target;
mod whole;

pub use client::{Client, ClientEvent};
pub use config::{Config, Leniency};
#[cfg(feature = "http")]
pub use convert::fields_of;
#[cfg(feature = "date")]
pub use date::Date;
pub use error::{Error, Misuse};
pub use fields::{Field, Fields, NO_FIELDS, OwnedFields};
pub use head::{BodyLength, OwnedRequestHead, OwnedResponseHead, RequestHead, ResponseHead, Version};
pub use server::{Server, ServerEvent};
#[cfg(feature = "deflate")]
pub(crate) use syntax::items as list_items;
