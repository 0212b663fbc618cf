//! Over a scripted transport: futures of the halves dropped at every await, and a timer that several wait for.

#[path = "../suite/script.rs"]
#[allow(dead_code, reason = "the other target uses all of it")]
mod script;

use crate::peer::{CLOSE, PING, PONG, TEXT, close_payload, frame};
use bytewise::{
    Phase, Time, TimedOut, Timeouts,
    ws::{Config, Connection, Event, handshake::Negotiated},
};
use bytewise_net::{BoxError, Driver, Error, Message, MessageError};
use futures::{SinkExt, StreamExt};
use futures_lite::future::block_on;
use script::{Input, Output, Script, now, once, waits};
use std::{
    cell::Cell,
    future::{Future, poll_fn},
    io::ErrorKind,
    pin::pin,
    task::Poll,
};

/// Which futures are dropped, and how many polls were not ready.
struct Plan {
    /// That one, all of them, or none.
    drops: Option<usize>,
    pending: Cell<usize>,
}

const EACH: usize = usize::MAX;

impl Plan {
    /// Makes the call again as long as its future is dropped, each time when the task is woken.
    async fn done<T>(&self, mut call: impl AsyncFnMut() -> T) -> T {
        loop {
            let mut future = pin!(call());
            let outcome = poll_fn(|cx| match future.as_mut().poll(cx) {
                Poll::Ready(outcome) => Poll::Ready(Some(outcome)),
                Poll::Pending => {
                    let number = self.pending.replace(self.pending.get() + 1);
                    if self.drops == Some(number) || self.drops == Some(EACH) {
                        Poll::Ready(None)
                    } else {
                        Poll::Pending
                    }
                }
            });
            if let Some(outcome) = outcome.await {
                return outcome;
            }
            let mut polled = false;
            poll_fn(|_| if std::mem::replace(&mut polled, true) { Poll::Ready(()) } else { Poll::Pending }).await;
        }
    }
}

fn machine() -> Connection {
    Connection::server(&Config::default(), Negotiated::default())
}

const TEXTS: [&str; 4] = ["one", "twotwo", "", "three is longer"];

fn input() -> Vec<u8> {
    let texts = TEXTS.iter().flat_map(|text| [frame(TEXT, text.as_bytes(), true), frame(PING, b"?", true)]);
    texts.chain([frame(CLOSE, &close_payload(1000, ""), true)]).flatten().collect()
}

/// Echoes are between the pongs, in order.
fn assert_output(written: &[u8], what: &Plan) {
    let mut rest = written;
    let (mut echoes, mut pongs) = (Vec::new(), 0);
    while let [b0, len, more @ ..] = rest {
        let (payload, more) = more.split_at(usize::from(*len));
        match *b0 {
            TEXT => echoes.push(str::from_utf8(payload).unwrap()),
            PONG => pongs += 1,
            CLOSE => assert!(payload == [3, 0xE8] && more.is_empty()),
            other => panic!("{other:#x}"),
        }
        rest = more;
    }
    let expected: Vec<String> = TEXTS.iter().flat_map(|text| [text.to_string(), format!("after {text}")]).collect();
    assert_eq!((echoes, pongs), (expected.iter().map(String::as_str).collect(), 4), "with {:?} dropped", what.drops);
}

/// Echoes by halves with a queue of a single message; how many polls were not ready.
fn play_halves(drops: Option<usize>) -> usize {
    let plan = Plan { drops, pending: Cell::new(0) };
    block_on(async {
        let (mut receiver, sender) = Driver::new(Script::reluctant(&input()), machine()).into_halves(1);
        loop {
            let seen = plan
                .done(async || {
                    Ok::<_, BoxError>(match receiver.next().await? {
                        Some(Event::Text(text)) => Some(Some(text.to_string())),
                        Some(_) => Some(None),
                        None => None,
                    })
                })
                .await
                .unwrap();
            match seen {
                None => break,
                Some(None) => {}
                Some(Some(text)) => {
                    plan.done(async || sender.send(|ws, tx| ws.send_text(&*text, tx)).await).await.unwrap().unwrap();
                    plan.done(async || sender.flush().await).await.unwrap();
                    let after = format!("after {text}");
                    plan.done(async || sender.send(|ws, tx| ws.send_text(&*after, tx)).await).await.unwrap().unwrap();
                }
            }
        }
        assert_output(&receiver.into_driver().io().written, &plan);
    });
    plan.pending.get()
}

#[test]
fn halves_dropped_at_every_await() {
    let polls = play_halves(None);
    assert!(polls > input().len(), "the script is not reluctant");
    for at in 0..polls {
        play_halves(Some(at));
    }
    play_halves(Some(EACH));
}

fn play_messages(drops: Option<usize>) -> usize {
    let plan = Plan { drops, pending: Cell::new(0) };
    block_on(async {
        let mut messages = Driver::new(Script::reluctant(&input()), machine()).into_messages(1);
        loop {
            let next = plan.done(async || messages.next().await.transpose()).await.unwrap();
            match next {
                None => break,
                Some(Message::Text(text)) => {
                    let after = format!("after {text}");
                    for text in [text, after] {
                        plan.done(async || poll_fn(|cx| messages.poll_ready_unpin(cx)).await).await.unwrap();
                        messages.start_send_unpin(Message::Text(text)).unwrap();
                    }
                    plan.done(async || poll_fn(|cx| messages.poll_flush_unpin(cx)).await).await.unwrap();
                }
                Some(_) => {}
            }
        }
        assert!(messages.next().await.is_none());
        assert_output(&messages.into_driver().io().written, &plan);
    });
    plan.pending.get()
}

#[test]
fn messages_dropped_at_every_await() {
    let polls = play_messages(None);
    assert!(polls > input().len(), "the script is not reluctant");
    for at in 0..polls {
        play_messages(Some(at));
    }
    play_messages(Some(EACH));
}

/// The sender that waits for room, without a bound, leaves the receiver's bound set.
#[test]
fn one_timer_for_both_halves() {
    let script = Script::new([]).with_output(Output::Blocked);
    let second = Time::from_secs(1);
    let timeouts = Timeouts::none().with(Phase::Idle, Some(second));
    let (mut receiver, sender) = Driver::new(script, machine()).with_timeouts(timeouts).into_halves(4);
    assert!(sender.try_send(|ws, tx| ws.send_text("hello", tx)).unwrap().is_ok());
    assert!(waits(receiver.next()));
    assert!(waits(sender.flush()));
    assert!(waits(sender.send(|_, _| ())));
    let mut driver = receiver.into_driver();
    assert_eq!(driver.io().armed, Some(second), "the bound is forgotten");
    assert!(waits(driver.next()));
}

/// Each is an error for the receiver, and the end for the senders.
#[test]
fn a_transport_that_fails() {
    let (mut receiver, sender) = Driver::new(Script::new([Input::Fails(ErrorKind::Other)]), machine()).into_halves(4);
    assert!(matches!(now(receiver.next()), Err(Error::Io(error)) if error.kind() == ErrorKind::Other));
    drop(receiver);
    assert_eq!(now(sender.flush()).unwrap_err().kind(), ErrorKind::BrokenPipe);

    let script = Script::new([]).with_output(Output::Fails(ErrorKind::Other));
    let (mut receiver, sender) = Driver::new(script, machine()).into_halves(4);
    assert_eq!(now(sender.send(|ws, tx| ws.send_text("hello", tx))).unwrap_err().kind(), ErrorKind::Other);
    assert!(matches!(now(receiver.next()), Err(Error::Io(error)) if error.kind() == ErrorKind::Other));
}

/// A receiver whose future was dropped does not wait any more, and so does not write.
#[test]
fn nobody_waits_any_more() {
    let (mut receiver, sender) = Driver::new(Script::new([]), machine()).into_halves(100);
    assert!(waits(receiver.next()));
    now(sender.send(|ws, tx| ws.send_text("a", tx))).unwrap().unwrap();
    assert_eq!(receiver.into_driver().io().written, b"\x81\x01a");
}

/// A sender wakes the receiver that waits, which writes; one that does not wait is not needed.
#[test]
fn who_writes() {
    let (receiver, sender) = Driver::new(Script::new([]), machine()).into_halves(100);
    now(sender.send(|ws, tx| ws.send_text("a", tx))).unwrap().unwrap();
    let mut driver = receiver.into_driver();
    assert_eq!(driver.io().written, b"\x81\x01a");
    assert!(waits(driver.next()));

    let (mut receiver, sender) = driver.into_halves(100);
    let both = async {
        let receive = async { receiver.next().await.map(|event| event.is_some()) };
        let send = async { sender.send(|ws, tx| ws.send_text("b", tx)).await.unwrap() };
        futures_lite::future::zip(receive, send).await
    };
    let (outcome, woken) = once(both);
    assert!(outcome.is_pending() && woken > 0, "the receiver is not woken");
    assert!(waits(receiver.next()));
    assert_eq!(receiver.into_driver().io().written, b"\x81\x01a\x81\x01b");
}

#[test]
fn timed_out_is_final() {
    let script = Script::new([]);
    let timeouts = Timeouts::none().with(Phase::Idle, Some(Time::ZERO));
    let mut messages = Driver::new(script, machine()).with_timeouts(timeouts).into_messages(10);
    let timed_out = now(messages.next()).unwrap();
    assert!(matches!(timed_out, Err(MessageError::Connection(Error::TimedOut(TimedOut::Phase(Phase::Idle))))));
    assert!(now(messages.next()).is_none());
}
