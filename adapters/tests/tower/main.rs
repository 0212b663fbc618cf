//! Services of tower on the HTTP server: what they are given, and what becomes of what they answer.
//!
//! Services are written once for all runtimes ([`service`]), clients are std's sockets ([`peer`]): a test is a function of
//! the [`Runtime`](server::Runtime) that it runs on.
#![forbid(unsafe_code)]

/// A `#[test]` for each runtime out of a function of the runtime.
macro_rules! on_both_runtimes {
    ($($test:ident),* $(,)?) => {
        $(mod $test {
            #[test]
            fn on_tokio() {
                super::$test(crate::server::Runtime::Tokio);
            }

            #[test]
            fn on_smol() {
                super::$test(crate::server::Runtime::Smol);
            }
        })*
    };
}

mod peer;
mod server;
mod service;

mod ends;
mod failures;
mod request_bodies;
mod requests;
mod responses;
mod router;
mod streams;
