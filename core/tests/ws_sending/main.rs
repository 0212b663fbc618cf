//! What is sent: forms of headers, masks, pieces, what is copied; and all that is refused, with nothing changed.
#![cfg(feature = "ws")]

#[path = "../common/mod.rs"]
mod common;

#[cfg(feature = "deflate")]
mod deflated;
mod frames;
mod misuse;
mod pieces;
mod prepared;

use bytewise::SendBuf;
use common::ws::{Side, drain, split_frames};

/// The frames in `tx`, taken out of it.
fn frames(tx: &mut SendBuf, from: Side) -> Vec<(u8, Vec<u8>)> {
    split_frames(&drain(tx), from)
}
