//! Agreement with tungstenite, an independent implementation: what one sends the other reads, and inputs that were damaged are
//! taken or refused by both. Where the two differ, it is listed and explained in [`mutated::explained`].
#![cfg(feature = "ws")]

#[path = "../common/mod.rs"]
mod common;

mod mutated;
mod sent;
mod theirs;

use common::ws::Side;
use proptest::prelude::*;

/// Of the bytes in `wire`, for that side, what a peer said: with `!` at the end if it was refused, `#` if it closed.
#[derive(Debug, PartialEq, Eq)]
struct Heard {
    events: Vec<Said>,
    verdict: Verdict,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Said {
    Text(String),
    Binary(Vec<u8>),
    Ping(Vec<u8>),
    Pong(Vec<u8>),
}

#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    /// It goes on, or more is needed.
    Open,
    /// With what the close frame said.
    Closed(Option<(u16, String)>),
    Refused,
}

/// Something to send.
fn said() -> impl Strategy<Value = Said> {
    let len = prop_oneof![0..10_usize, Just(125), Just(126), Just(127), 4090..4100_usize, Just(65535), Just(65536)];
    let bytes = len.prop_flat_map(|len| prop::collection::vec(any::<u8>(), len));
    prop_oneof![
        "\\PC{0,80}".prop_map(Said::Text),
        bytes.prop_map(Said::Binary),
        prop::collection::vec(any::<u8>(), 0..126).prop_map(Said::Ping),
        prop::collection::vec(any::<u8>(), 0..126).prop_map(Said::Pong),
    ]
}

/// A side, and things to send to it.
fn talk() -> impl Strategy<Value = (Side, Vec<Said>)> {
    (prop_oneof![Just(Side::Server), Just(Side::Client)], prop::collection::vec(said(), 0..6))
}

fn peer(side: Side) -> Side {
    match side {
        Side::Server => Side::Client,
        Side::Client => Side::Server,
    }
}
