//! TLS on every runtime: both sides, what is agreed on, and everything that goes wrong.
#![forbid(unsafe_code)]

mod ends;
mod peers;
mod pipe;
mod pki;
mod runtimes;

mod agreements;
mod drivers;
mod halves;
mod https;
mod records;
mod session;
mod strangers;
mod tampering;
mod web;
