//! One row per rule of RFC 6455 and RFC 7692: its section, what the peer sends, and what comes of it, at every cut, for both
//! sides.
#![cfg(feature = "ws")]

#[path = "../common/mod.rs"]
mod common;

mod bounds;
mod cases;
mod chunks;
mod closing;
mod control;
#[cfg(feature = "deflate")]
mod deflated;
mod fragments;
mod frames;
mod input_ends;
mod keeping;
mod pongs;
mod utf8;
