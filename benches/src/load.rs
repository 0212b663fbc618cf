//! The load generator: cheap, because the server is what is measured, and suspicious, because a fast wrong answer is
//! worth nothing.
//!
//! ```text
//!  block read ─▶ Dialect::replies ─▶ Client::receive ─▶ latencies
//!                 every byte is            │ as many requests as there were replies
//!                 compared, in order       ▼
//!  block written ◀─ Dialect::request ◀─ Client::send
//! ```
//!
//! [`Client`] does no I/O, nor does [`Session`], which is one with TLS under it, or without; [`event_loop`] drives it from one thread, [`companions`] from tasks on the server's own
//! runtime.

mod client;
pub mod companions;
pub mod event_loop;
mod expected;
mod http;
mod mirror;
mod pattern;
mod response;
mod session;
mod stopwatch;
mod tally;
mod ws;

use crate::options::Protocol;

pub use client::{Client, Fault};
pub use expected::Expected;
pub use http::{Http, HttpMirror, PostHead};
pub use mirror::{Framed, Head, LengthHead, Mirror};
pub use pattern::Pattern;
pub use session::{Session, Trust};
pub use stopwatch::Stopwatch;
pub use tally::Tally;
pub use ws::{MaskedHead, Ws, WsMirror};

/// One protocol as a client speaks it: how a request looks, and what must come back.
pub trait Dialect: Send + 'static {
    /// For connection number `client`, with payloads of `payload` bytes.
    fn new(client: usize, payload: usize) -> Self;

    /// Appends what opens the connection, if something does. Nothing is requested before it [is open](Self::is_open).
    fn open(&mut self, _out: &mut Vec<u8>) {}

    /// Whether what opens the connection is answered.
    fn is_open(&self) -> bool {
        true
    }

    /// Appends the next request.
    fn request(&mut self, out: &mut Vec<u8>);

    /// Compares a block of replies, cut anywhere, with what must come; says how many replies it has completed.
    fn replies(&mut self, block: &[u8]) -> Result<usize, Fault>;

    /// Whether a reply has begun and not ended.
    fn is_partial(&self) -> bool;
}

/// Bytes of a request, head and all.
#[must_use]
pub fn request_len(protocol: Protocol, payload: usize) -> usize {
    let head = match protocol {
        Protocol::Framed => LengthHead::head(payload),
        Protocol::Http | Protocol::Https => PostHead::head(payload),
        Protocol::Ws | Protocol::Wss => MaskedHead::head(payload),
    };
    head.len() + payload
}

/// When the measured time begins and ends, and how to stop.
pub trait Signals {
    /// The measured time begins now.
    fn begun(&mut self);
    /// The measured time is over.
    fn ended(&mut self);
    /// Whether to send no more.
    fn stop(&self) -> bool;
}
