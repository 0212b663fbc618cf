//! One suite, run on every runtime that is built in, over loopback sockets; and beside it what is deterministic, over a
//! scripted transport.
//!
//! Handlers are written once for all runtimes ([`handlers`]), clients are std's sockets ([`peer`]): a test is a function
//! of the [`Runtime`](server::Runtime) that it runs on. `cargo test -p bytewise-net --all-features` runs all of it; with
//! fewer features, what there is.
#![forbid(unsafe_code)]
// Without a runtime there are no servers.
#![cfg_attr(not(any(feature = "blocking", feature = "tokio", feature = "smol", feature = "async-std")), allow(unused))]

/// A `#[test]` for each runtime out of a function of the runtime.
macro_rules! on_every_runtime {
    ($($test:ident),* $(,)?) => {
        $(mod $test {
            #[cfg(feature = "tokio")]
            #[test]
            fn on_tokio() {
                super::$test(crate::server::Runtime::Tokio);
            }

            #[cfg(feature = "smol")]
            #[test]
            fn on_smol() {
                super::$test(crate::server::Runtime::Smol);
            }

            #[cfg(feature = "async-std")]
            #[test]
            fn on_async_std() {
                super::$test(crate::server::Runtime::AsyncStd);
            }

            #[cfg(feature = "blocking")]
            #[test]
            fn on_blocking() {
                super::$test(crate::server::Runtime::Blocking);
            }
        })*
    };
}

mod handlers;
mod http_clients;
mod http_handlers;
mod http_peer;
mod http_server;
mod peer;
mod script;
mod server;

mod batching;
mod blocking_waits;
mod cancellation;
mod client;
mod connection;
mod crowd;
mod descriptors;
mod echo;
mod ends;
mod flow;
mod handler_failures;
mod http_batching;
mod http_cancellation;
mod http_client;
mod http_deadlines;
mod http_ends;
mod http_exchange;
mod http_limits;
mod http_no_alloc;
mod http_refusals;
mod http_slow_head;
mod http_unread;
mod limits;
mod lingering;
mod own_runtime;
mod races;
mod shutdown;
mod timeouts;
mod topologies;

/// What a handler awaits can go to another thread, whatever the machine, which needs not be shared between threads.
#[cfg(feature = "tokio")]
#[expect(dead_code, reason = "that it compiles is the test")]
fn futures_are_send<M: bytewise::Machine + Send + 'static>(mut conn: bytewise_net::tokio::Conn<M>)
where
    for<'b> M::Event<'b>: Send,
{
    fn is_send<T: Send>(_: T) {}
    is_send(async move {
        let _ = conn.next().await.map(drop);
        let (mut receiver, sender) = conn.into_halves(1);
        let _ = receiver.next().await.map(drop);
        let _ = sender.send(|_, _| ()).await;
        let _ = sender.flush().await;
        receiver.close().await
    });
}
