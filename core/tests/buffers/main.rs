//! How the buffers grow, move, lend and give memory back.

#[path = "../common/mod.rs"]
mod common;

mod receive;
mod receive_model;
mod send;
mod send_model;
mod spare;
