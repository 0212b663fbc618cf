//! The client by URL, on every runtime, over loopback sockets.
//!
//! Its servers are written out, each test's own ([`site`]); a test is a function of the [`Client`](client::Client) that it
//! runs with, and knows nothing of the runtime below it. What only tasks have is in [`tasks`].
#![forbid(unsafe_code)]

/// A `#[test]` for each runtime out of a function that is generic over the client.
macro_rules! on_every_runtime {
    ($($test:ident),* $(,)?) => {
        $(mod $test {
            #[test]
            fn on_tokio() {
                super::$test::<bytewise_net::tokio::HttpClient>();
            }

            #[test]
            fn on_smol() {
                super::$test::<bytewise_net::smol::HttpClient>();
            }

            #[test]
            fn on_async_std() {
                super::$test::<bytewise_net::async_std::HttpClient>();
            }

            #[test]
            fn on_blocking() {
                super::$test::<bytewise_net::blocking::HttpClient>();
            }
        })*
    };
}

mod client;
mod site;

mod bodies;
mod deadlines;
mod exchanges;
mod keeping;
mod redirects;
mod stale;
mod tasks;
mod uploads;
mod urls;
