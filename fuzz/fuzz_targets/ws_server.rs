//! The input picks limits, extensions, what the application does, the blocks, and what a client sends. Held:
//!
//! * cut and whole agree: events, what is sent, error, what `next_io` says, before and after a shutdown;
//! * no panic, and receive memory follows what was received and the limits;
//! * what is sent the peer can read, and nothing comes after a close frame.
#![no_main]

use arbitrary::Arbitrary;
use bytewise_fuzz::ws::{Case, Side};
use libfuzzer_sys::fuzz_target;

#[derive(Debug, Arbitrary)]
struct Input<'a> {
    case: Case,
    wire: &'a [u8],
}

fuzz_target!(|input: Input<'_>| input.case.hold(Side::Server, input.wire));
