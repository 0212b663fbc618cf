//! Stream protocols as state machines without I/O, over buffers that the caller owns.
//!
//! **Storage is the caller's, protocol logic is ours, I/O is the adapter's.**
//!
//! ```text
//!             bytes                                        bytes
//!  socket ──────────────▶ RecvBuf ──▶ Machine ──▶ SendBuf ──────────────▶ socket
//!         adapter reads      │           ▲            adapter writes
//!                            ▼           │
//!                     events (borrowed   │ send(…, &mut tx)
//!                     from RecvBuf only) └── the application
//! ```
//!
//! * [`RecvBuf`] owns received bytes. An event borrows from it, and from nothing else.
//! * [`SendBuf`] owns bytes to send. Everything that produces output appends to it.
//! * A [`Machine`] owns neither: it is a small state machine, so the application can answer while it still holds the
//!   event that it answers.
//!
//! The core opens no socket, reads no clock, spawns nothing and never waits. It is handed bytes in blocks of any size,
//! one byte included, and every cut of the same input gives the same events.
//!
//! ```
//! use bytewise::{Machine, RecvBuf, SendBuf};
//! use bytewise::framing::{ByteOrder, Frame, Framed, LengthPrefix, Width};
//!
//! let (mut rx, mut tx) = (RecvBuf::new(), SendBuf::new());
//! let mut frames = Framed::new(LengthPrefix::new(Width::U32, ByteOrder::Big, 1 << 20));
//!
//! rx.push(b"\0\0\0\x05hel"); // bytes come as they come ...
//! assert!(frames.next_event(&mut rx, &mut tx)?.is_none());
//! rx.push(b"lo\0\0"); // ... and a frame is there with its last byte
//!
//! while let Some(Frame::Data(frame)) = frames.next_event(&mut rx, &mut tx)? {
//!     frames.send(frame, &mut tx)?; // `frame` still borrows `rx`
//! }
//! assert_eq!(tx.pending(), b"\0\0\0\x05hello"); // for the socket
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Who copies, and when
//!
//! | step | copies | allocations in steady state |
//! | --- | --- | --- |
//! | reading into [`RecvBuf::space`] | none | none |
//! | [`RecvBuf::push`] of a block received elsewhere | one | none |
//! | an event | none: it is a slice of the receive buffer | none |
//! | a partial frame left over when the buffer runs out | at most as many bytes as were consumed | none |
//! | sending a slice | one, into the send buffer | none |
//! | sending [`Bytes`](bytes::Bytes) of [`SendBuf::UNCOPIED_FROM`] bytes or more | none | none |
//!
//! # Features
//!
//! * `std` (default): vectored writes through [`bytes::Buf::chunks_vectored`], SIMD search chosen at run time. Without
//!   it the crate is `no_std` with `alloc`.
//! * `http1` (default): HTTP/1.0 and 1.1, both sides.
//! * `ws` (default): WebSocket, both sides; `deflate`: its permessage-deflate.
//! * `http`: conversions to and from the types of the crate `http`.
//! * `date`: `http1::Date`, the value of a `date` field.
//! * `crc32`: `framing::Crc32`, a checksum in the header of each frame.
#![no_std]
#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

extern crate alloc;
#[cfg(any(feature = "std", test))]
extern crate std;

pub mod framing;
#[cfg(feature = "http1")]
pub mod http1;
mod machine;
mod payload;
mod recv_buf;
mod send_buf;
mod spare;
mod watchdog;
#[cfg(feature = "ws")]
pub mod ws;

pub use machine::{Machine, NextIo, Phase};
pub use payload::Payload;
pub use recv_buf::{Eof, LimitsError, RecvBuf};
pub use send_buf::SendBuf;
pub use spare::Spare;
pub use watchdog::{Progress, Time, TimedOut, Timeouts, Watchdog};
