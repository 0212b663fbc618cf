//! Drives a machine with an input cut in every way, and writes down what happened: all logs have to be the same.
#![allow(dead_code, unreachable_pub)]

#[cfg(feature = "http1")]
pub mod http1;
mod log;
mod rng;
#[cfg(feature = "ws")]
pub mod ws;

pub use log::Log;
pub use rng::Rng;

use bytewise::{Eof, Machine, NextIo, RecvBuf, SendBuf};
use std::fmt::{self, Debug, Formatter, Write};

/// The peer goes on: input does not end.
pub const OPEN: Option<Eof> = None;
/// The peer closes in order.
pub const CLEAN: Option<Eof> = Some(Eof::Clean);
/// The connection breaks off.
pub const BROKEN: Option<Eof> = Some(Eof::Truncated);

/// An input, how it ends, and the receive buffer it comes through.
///
/// ```text
/// Input::new(b"one\ntwo").ending(CLEAN).any_split(|| Framed::new(Lines::new(80)), frames)
///     == "[one] [two] close"
/// ```
#[derive(Clone, Copy)]
pub struct Input<'a> {
    bytes: &'a [u8],
    eof: Option<Eof>,
    /// First allocation, read-ahead and bound of the receive buffer.
    limits: Option<(usize, usize, usize)>,
    /// How what was sent is written down.
    output: fn(&[u8]) -> String,
    /// Whether what is unread at the end says something.
    unread: bool,
}

/// How the bytes of a block come into the receive buffer.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Feed {
    /// By [`RecvBuf::push`].
    Push,
    /// By [`RecvBuf::space`] and [`RecvBuf::filled`], in as many reads as it takes.
    Space,
    /// By [`RecvBuf::lend`] and [`RecvBuf::restore`].
    Lend,
}

/// How events are asked for.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Ask {
    /// By `next_event` alone.
    Next,
    /// By `poll`, twice, and then `next_event`: they have to agree.
    Poll,
}

/// When the end of input is told.
#[derive(Debug, Clone, Copy, PartialEq)]
enum End {
    /// After the events of the last block were taken.
    Apart,
    /// Together with the last block.
    WithLastBlock,
}

/// What happened: `events` in order, with the error, what was sent, and what `next_io` says and what is unread at the `end`.
#[derive(PartialEq)]
struct Outcome {
    events: String,
    sent: Vec<u8>,
    end: String,
}

impl Debug for Outcome {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}{}", self.events, sent(&self.sent), self.end)
    }
}

fn sent(bytes: &[u8]) -> String {
    format!("sent {}", log::shortened(bytes))
}

impl<'a> Input<'a> {
    /// Input that does not end.
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, eof: OPEN, limits: None, output: sent, unread: true }
    }

    /// How it ends.
    pub const fn ending(self, eof: Option<Eof>) -> Self {
        Self { eof, ..self }
    }

    /// Comes through a receive buffer of these limits, by reads, since a push does not heed them.
    pub const fn through(self, initial: usize, read_ahead: usize, max: usize) -> Self {
        Self { limits: Some((initial, read_ahead, max)), ..self }
    }

    /// What is sent is written down by `output`, and not as the bytes that it is.
    pub const fn output(self, output: fn(&[u8]) -> String) -> Self {
        Self { output, ..self }
    }

    /// What is unread at the end is not looked at: a machine may have changed it in place.
    pub const fn whatever_is_unread(self) -> Self {
        Self { unread: false, ..self }
    }

    /// Drives machines made by `new` with the input whole, byte by byte, cut in two everywhere, in blocks of 2 to 9 and
    /// in random ones, handed over in every way, and asserts that all logs are the same: this one.
    ///
    /// `on` is told of the events, may answer them, and writes them down.
    #[track_caller]
    pub fn any_split<M: Machine>(
        self,
        new: impl Fn() -> M,
        on: impl for<'b> Fn(M::Event<'b>, &mut M, &mut SendBuf, &mut Log),
    ) -> String {
        let drive = |blocks: &[&[u8]], feed, ask, end| self.drive(new(), &on, blocks, feed, ask, end);
        let whole = drive(&[self.bytes], Feed::Space, Ask::Poll, End::Apart);
        let agrees = |blocks: &[&[u8]], cut: &str| {
            for feed in [Feed::Push, Feed::Space, Feed::Lend] {
                if feed != Feed::Space && self.limits.is_some() {
                    continue;
                }
                for ask in [Ask::Next, Ask::Poll] {
                    let outcome = drive(blocks, feed, ask, End::Apart);
                    assert_eq!(outcome, whole, "{cut}, {feed:?}, {ask:?}: {}", self.bytes.escape_ascii());
                }
            }
            if self.eof.is_some() && self.limits.is_none() {
                let outcome = drive(blocks, Feed::Push, Ask::Poll, End::WithLastBlock);
                // It is known at an error, then, that there is nothing to linger for.
                let outcome = Outcome { end: whole.end.clone(), ..outcome };
                assert_eq!(outcome, whole, "{cut}, end at once: {}", self.bytes.escape_ascii());
            }
        };

        agrees(&[self.bytes], "whole");
        for step in 1..10 {
            agrees(&self.bytes.chunks(step).collect::<Vec<_>>(), &format!("blocks of {step}"));
        }
        let mut rng = Rng::new(self.bytes.len() as u64);
        for cut in self.cuts(&mut rng) {
            let (a, b) = self.bytes.split_at(cut);
            agrees(&[a, b], &format!("cut at {cut}"));
        }
        for round in 0..8 {
            let blocks = rng.blocks(self.bytes, 2 << round);
            agrees(&blocks, &format!("blocks {:?}", blocks.iter().map(|block| block.len()).collect::<Vec<_>>()));
        }
        let sent = if whole.sent.is_empty() { String::new() } else { format!("{} ", (self.output)(&whole.sent)) };
        format!("{}{sent}{}", whole.events, whole.end)
    }

    /// Every place to cut it in two; of a long input both ends and a sample.
    fn cuts(&self, rng: &mut Rng) -> Vec<usize> {
        let len = self.bytes.len();
        match len {
            0..=500 => (0..=len).collect(),
            _ => (0..70).chain(len - 70..=len).chain((0..60).map(|_| rng.below(len))).collect(),
        }
    }

    fn drive<M: Machine>(
        &self,
        mut machine: M,
        on: &impl for<'b> Fn(M::Event<'b>, &mut M, &mut SendBuf, &mut Log),
        blocks: &[&[u8]],
        feed: Feed,
        ask: Ask,
        end: End,
    ) -> Outcome {
        let mut rx = match self.limits {
            None => RecvBuf::new(),
            Some((initial, read_ahead, max)) => RecvBuf::with_limits(initial, read_ahead, max),
        };
        let mut run = Run { tx: SendBuf::new(), log: Log::default(), ask, failed: false };
        // An idle connection is polled too, before anything came.
        run.take_events(&mut machine, &mut rx, on);

        let mut fed = 0;
        'input: for (at, block) in blocks.iter().enumerate() {
            let mut left = *block;
            while !left.is_empty() {
                if run.failed || machine.next_io() != NextIo::Read {
                    break 'input;
                }
                let n = hand_over(&mut rx, left, feed);
                (fed, left) = (fed + n, &left[n..]);
                if left.is_empty() && at + 1 == blocks.len() && end == End::WithLastBlock {
                    self.eof.into_iter().for_each(|eof| rx.set_eof(eof));
                }
                run.take_events(&mut machine, &mut rx, on);
            }
        }
        if !run.failed && machine.next_io() == NextIo::Read {
            self.eof.into_iter().for_each(|eof| rx.set_eof(eof));
            run.take_events(&mut machine, &mut rx, on);
        }

        let end = format!("{:?}", machine.next_io()).to_lowercase();
        let mut outcome = Outcome { events: String::new(), sent: Vec::new(), end };
        let unread = [rx.unread(), &self.bytes[fed..]].concat();
        if run.failed {
            run.stays_failed(&mut machine, &mut rx, &self.bytes[fed..]);
        } else if self.unread && !unread.is_empty() {
            write!(outcome.end, " +{}", log::shortened(&unread)).unwrap();
        }
        outcome.events = run.log.into_text();
        outcome.sent = run.tx.chunks().flatten().copied().collect();
        outcome
    }
}

/// Appends `block`, or as much of it as there is space for: how much.
fn hand_over(rx: &mut RecvBuf, block: &[u8], feed: Feed) -> usize {
    match feed {
        Feed::Push => {
            rx.push(block);
            block.len()
        }
        Feed::Space => {
            let space = rx.space();
            assert!(!space.is_empty(), "the machine wants more, though the buffer is full");
            let n = space.len().min(block.len());
            space[..n].copy_from_slice(&block[..n]);
            rx.filled(n);
            n
        }
        Feed::Lend => {
            let mut storage = rx.lend();
            let n = storage.len().min(block.len());
            storage[..n].copy_from_slice(&block[..n]);
            rx.restore(storage, n);
            n
        }
    }
}

struct Run {
    tx: SendBuf,
    log: Log,
    ask: Ask,
    failed: bool,
}

impl Run {
    /// Takes events until there are none.
    fn take_events<M: Machine>(
        &mut self,
        machine: &mut M,
        rx: &mut RecvBuf,
        on: &impl for<'b> Fn(M::Event<'b>, &mut M, &mut SendBuf, &mut Log),
    ) {
        while !self.failed {
            let polled = (self.ask == Ask::Poll).then(|| self.poll_twice(machine, rx));
            match machine.next_event(rx, &mut self.tx) {
                Ok(Some(event)) => {
                    assert!(matches!(polled, None | Some(Ok(true))), "an event, where poll said {polled:?}");
                    on(event, machine, &mut self.tx, &mut self.log);
                }
                Ok(None) => {
                    assert!(matches!(polled, None | Some(Ok(false))), "no event, where poll said {polled:?}");
                    break;
                }
                Err(error) => {
                    let error = format!("{error:?}");
                    if let Some(polled) = polled {
                        // It may have looked no further than that there is something to say.
                        assert!(polled == Err(error.clone()) || polled == Ok(true), "{error}, {polled:?}");
                    }
                    self.log.item(format_args!("!{error}"));
                    self.failed = true;
                }
            }
        }
    }

    /// A second poll says the same and changes nothing.
    fn poll_twice<M: Machine>(&mut self, machine: &mut M, rx: &mut RecvBuf) -> Result<bool, String> {
        let polled = machine.poll(rx, &mut self.tx).map_err(|error| format!("{error:?}"));
        let state = |rx: &RecvBuf, tx: &SendBuf, machine: &M| {
            (rx.unread().as_ptr_range(), tx.queued(), machine.next_io(), machine.phase())
        };
        let before = state(rx, &self.tx, machine);
        let again = machine.poll(rx, &mut self.tx).map_err(|error| format!("{error:?}"));
        assert_eq!(again, polled, "polled twice");
        assert_eq!(state(rx, &self.tx, machine), before, "polled twice");
        polled
    }

    /// After an error every call returns it again, whatever comes, and nothing more is sent.
    fn stays_failed<M: Machine>(&mut self, machine: &mut M, rx: &mut RecvBuf, rest: &[u8]) {
        let io = machine.next_io();
        assert!(matches!(io, NextIo::Linger | NextIo::Close), "{io:?} after an error");
        let sent = self.tx.queued();
        let mut errors = Vec::new();
        for turn in 0..4 {
            match turn {
                1 => rx.push(rest),
                2 => rx.set_eof(Eof::Clean),
                3 => machine.shut_down(&mut self.tx),
                _ => {}
            }
            errors.push(machine.poll(rx, &mut self.tx).map(|_| ()));
            errors.push(machine.next_event(rx, &mut self.tx).map(|_| ()));
        }
        for error in errors {
            let error = error.expect_err("an error is final");
            self.log.ends_with(format_args!("!{error:?}"));
        }
        assert_eq!(self.tx.queued(), sent, "sent something after an error");
        assert_eq!(machine.next_io(), io, "another thing to do after an error");
    }
}
