//! Heads and bodies made at random, well-formed and mutilated: what we make of them is what independent implementations do, but
//! where we are stricter, each time for a reason; and what we send we read.
#![cfg(feature = "http1")]

#[path = "../common/mod.rs"]
mod common;

mod generate;
mod round_trip;
mod with_httparse;
mod with_hyper;
