//! Futures dropped at every await: nothing is lost, nothing is doubled.
//!
//! One conversation, of every future that there is, over a scripted transport (not ready before every step, one byte at a
//! time) and over sockets on each runtime. Whichever poll it is whose future is dropped, the outcome is the same.

use crate::{
    peer::{frame, noise},
    script::Script,
    server::{Frames, frames},
};
use bytewise::{
    Machine, NextIo, RecvBuf, SendBuf,
    framing::{Error, Frame},
};
use bytewise_net::{BoxError, Driver, Transport};
use futures_lite::future::{block_on, yield_now};
use std::{
    cell::Cell,
    future::{Future, poll_fn},
    pin::pin,
    task::Poll,
};

/// Which futures are dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Drops {
    None,
    /// The one that is not ready at the poll of that number, of all polls that are not.
    At(usize),
    /// Every one after a single poll.
    Each,
}

/// Counts polls that were not ready.
pub(crate) struct Plan {
    drops: Drops,
    pending: Cell<usize>,
}

impl Plan {
    pub(crate) const fn new(drops: Drops) -> Self {
        Self { drops, pending: Cell::new(0) }
    }

    /// Whether the future that is not ready now is dropped.
    fn drops(&self) -> bool {
        let pending = self.pending.get();
        self.pending.set(pending + 1);
        match self.drops {
            Drops::None => false,
            Drops::At(at) => at == pending,
            Drops::Each => true,
        }
    }

    /// How many polls were not ready.
    pub(crate) const fn pending(&self) -> usize {
        self.pending.get()
    }

    /// The future's outcome, or none if it was dropped.
    pub(crate) async fn attempt<F: Future>(&self, future: F) -> Option<F::Output> {
        let mut future = pin!(future);
        let outcome = poll_fn(|cx| match future.as_mut().poll(cx) {
            Poll::Ready(outcome) => Poll::Ready(Some(outcome)),
            Poll::Pending if self.drops() => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        });
        outcome.await
    }
}

/// Waits until the task is woken: by whatever the future that was dropped had arranged. It hangs if that is lost.
pub(crate) async fn woken() {
    let mut polled = false;
    poll_fn(|_| if std::mem::replace(&mut polled, true) { Poll::Ready(()) } else { Poll::Pending }).await;
}

/// Makes the call again, and again, as long as its future is dropped.
macro_rules! until_done {
    ($plan:expr, $call:expr) => {
        loop {
            if let Some(outcome) = $plan.attempt($call).await {
                break outcome?;
            }
            $crate::cancellation::woken().await;
        }
    };
}
pub(crate) use until_done;

const BODIES: usize = 6;

fn body(i: usize) -> Vec<u8> {
    noise(3 * i, i as u64)
}

fn request() -> Vec<u8> {
    (0..BODIES).flat_map(|i| frame(&body(i))).collect()
}

fn response() -> Vec<u8> {
    let echoes = (0..BODIES).flat_map(|i| [frame(&body(i)), frame(format!("after {i}").as_bytes())].concat());
    echoes.chain(frame(b"bye")).collect()
}

/// Echoes, and waits in all the ways there are.
async fn converse<Io: Transport>(mut conn: Driver<Io, Frames>, plan: &Plan) -> Result<Driver<Io, Frames>, BoxError> {
    let mut frames = 0;
    loop {
        let seen = until_done!(plan, async {
            let next = conn.next().await?;
            Ok::<_, BoxError>(match next {
                Some((Frame::Data(frame), out)) => {
                    out.machine.send(&*frame, out.tx)?;
                    Some(frame.to_vec())
                }
                _ => None,
            })
        });
        let Some(seen) = seen else { break };
        assert!(seen == body(frames), "frame {frames} is another one");
        match frames % 4 {
            0 => until_done!(plan, conn.outbox().flush()),
            1 => until_done!(plan, conn.outbox().ready(4)),
            2 => {
                // What it waits for is not the outbox's: it goes on where it was.
                let mut other = pin!(yield_now());
                until_done!(plan, conn.outbox().flush_while(other.as_mut()));
            }
            // The next wait writes it.
            _ => {}
        }
        let out = conn.outbox();
        out.machine.send(format!("after {frames}"), out.tx)?;
        frames += 1;
    }
    assert_eq!(frames, BODIES);
    let out = conn.outbox();
    out.machine.send("bye", out.tx)?;
    Ok(conn)
}

async fn flush<Io: Transport>(conn: &mut Driver<Io, Frames>, plan: &Plan) -> Result<(), BoxError> {
    until_done!(plan, conn.outbox().flush());
    Ok(())
}

/// Over the script; how many polls were not ready.
fn play(drops: Drops) -> usize {
    let plan = Plan::new(drops);
    block_on(async {
        let conn = Driver::new(Script::reluctant(&request()), frames());
        let mut conn = converse(conn, &plan).await.unwrap();
        flush(&mut conn, &plan).await.unwrap();
        let (script, _, rx, tx) = conn.into_parts();
        assert!(rx.unread().is_empty() && tx.is_empty());
        assert!(script.written == response(), "{drops:?} led to another output");
    });
    plan.pending()
}

#[test]
fn over_a_script_dropped_at_every_await() {
    let polls = play(Drops::None);
    assert!(polls > request().len(), "the script is not reluctant");
    for at in 0..polls {
        play(Drops::At(at));
    }
}

#[test]
fn over_a_script_dropped_after_every_poll() {
    play(Drops::Each);
}

/// Closing consumes the connection: up to there nothing is lost, and closing itself, slow as it is, writes the rest.
#[test]
fn over_a_script_and_then_closed() {
    for drops in [Drops::None, Drops::Each] {
        let plan = Plan::new(drops);
        block_on(async {
            let conn = Driver::new(Script::reluctant(&request()), frames());
            converse(conn, &plan).await.unwrap().close().await.unwrap();
        });
    }
}

/// Says that an event is ready, and fails only when it is to be lent; that is answered.
#[derive(Debug, Default)]
struct FailsLate(Option<Error>);

impl Machine for FailsLate {
    type Event<'b> = ();
    type Error = Error;

    fn poll(&mut self, _: &mut RecvBuf, _: &mut SendBuf) -> Result<bool, Error> {
        self.0.map_or(Ok(true), Err)
    }
    fn next_event(&mut self, _: &mut RecvBuf, tx: &mut SendBuf) -> Result<Option<()>, Error> {
        if self.0.is_none() {
            tx.put("an answer");
        }
        Err(*self.0.insert(Error::Length))
    }
    fn shut_down(&mut self, _: &mut SendBuf) {}
    fn next_io(&self) -> NextIo {
        if self.0.is_some() { NextIo::Close } else { NextIo::Read }
    }
}

#[test]
fn over_a_script_while_an_error_is_answered() {
    for drops in [Drops::None, Drops::At(0), Drops::At(3), Drops::Each] {
        let plan = Plan::new(drops);
        let mut driver = Driver::new(Script::reluctant(b""), FailsLate::default());
        for _ in 0..3 {
            let failed: Result<bool, _> =
                block_on(async { Ok(until_done!(plan, async { driver.next().await.map(|event| event.is_some()) })) });
            assert!(matches!(failed, Err(bytewise_net::Error::Protocol(Error::Length))));
        }
        assert_eq!(driver.io().written, b"an answer");
    }
}

#[cfg(any(feature = "tokio", feature = "smol", feature = "async-std"))]
mod over_sockets {
    use super::*;
    use crate::peer::Peer;
    use bytewise_net::ClientOptions;
    use std::{net::TcpListener, thread};

    /// A peer that sends byte by byte, and each frame only when the one before is answered.
    fn peer(listener: TcpListener) -> impl FnOnce() {
        move || {
            let mut peer = Peer::over(listener.accept().unwrap().0);
            for i in 0..BODIES {
                for byte in frame(&body(i)) {
                    peer.write(&[byte]);
                }
                assert!(peer.receive() == body(i));
                assert_eq!(peer.receive(), format!("after {i}").as_bytes());
            }
            peer.finish();
            assert_eq!(peer.receive(), b"bye");
            peer.assert_end();
        }
    }

    macro_rules! runtime {
        ($feature:literal, $name:ident, $connect:path, $block_on:expr) => {
            #[cfg(feature = $feature)]
            mod $name {
                use super::*;

                fn play(drops: Drops) -> usize {
                    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
                    let port = listener.local_addr().unwrap().port();
                    let peer = thread::spawn(peer(listener));
                    let plan = Plan::new(drops);
                    let options = ClientOptions::default();
                    $block_on(async {
                        let conn = $connect("127.0.0.1", port, &options, frames()).await.unwrap();
                        converse(conn, &plan).await.unwrap().close().await.unwrap();
                    });
                    peer.join().unwrap();
                    plan.pending()
                }

                #[test]
                fn dropped_at_every_await() {
                    // How many there are is the system's affair.
                    let polls = play(Drops::None);
                    assert!(polls >= BODIES);
                    for at in 0..polls.min(50) {
                        play(Drops::At(at));
                    }
                }

                #[test]
                fn dropped_after_every_poll() {
                    for _ in 0..5 {
                        play(Drops::Each);
                    }
                }
            }
        };
    }

    runtime!("tokio", on_tokio, bytewise_net::tokio::connect, on_tokio);
    #[cfg(feature = "tokio")]
    fn on_tokio<T>(work: impl Future<Output = T>) -> T {
        ::tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
    }

    runtime!("smol", on_smol, bytewise_net::smol::connect, ::smol::block_on);
    runtime!("async-std", on_async_std, bytewise_net::async_std::connect, ::async_std::task::block_on);
}
