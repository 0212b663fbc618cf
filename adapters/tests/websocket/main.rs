//! WebSockets on every runtime, over loopback sockets.
//!
//! A test is a function of the [`Runtime`](runtime::Runtime) that it runs on; on threads, what it awaits blocks. The other end
//! is either one of ours, or a plain socket on which each test writes out its part ([`peer`]).
#![forbid(unsafe_code)]

/// A `#[test]` for each runtime out of an async function that is generic over it.
macro_rules! on_every_runtime {
    ($($test:ident),* $(,)?) => {
        $(mod $test {
            use crate::runtime::{AsyncStd, Blocking, Smol, Tokio, within_guard};

            #[test]
            fn on_tokio() {
                within_guard::<Tokio, _>(super::$test::<Tokio>);
            }

            #[test]
            fn on_smol() {
                within_guard::<Smol, _>(super::$test::<Smol>);
            }

            #[test]
            fn on_async_std() {
                within_guard::<AsyncStd, _>(super::$test::<AsyncStd>);
            }

            #[test]
            fn on_blocking() {
                within_guard::<Blocking, _>(super::$test::<Blocking>);
            }
        })*
    };
}

/// The same for what only tasks have.
macro_rules! on_every_task {
    ($($test:ident),* $(,)?) => {
        $(mod $test {
            use crate::runtime::{AsyncStd, Smol, Tokio, within_guard};

            #[test]
            fn on_tokio() {
                within_guard::<Tokio, _>(super::$test::<Tokio>);
            }

            #[test]
            fn on_smol() {
                within_guard::<Smol, _>(super::$test::<Smol>);
            }

            #[test]
            fn on_async_std() {
                within_guard::<AsyncStd, _>(super::$test::<AsyncStd>);
            }
        })*
    };
}

mod peer;
mod runtime;

mod broadcast;
mod cancellation;
mod client;
mod closing;
mod halves;
mod keep_alive;
mod messages;
mod no_alloc;
mod pipelining;
mod reconnect;
mod server;
mod stream_and_sink;
