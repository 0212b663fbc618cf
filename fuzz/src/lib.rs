//! What the fuzz targets have in common: an input, cut into blocks, drives a machine, and what happened is compared.

pub mod http1;
pub mod ws;

use bytewise::{Eof, Machine, NextIo, RecvBuf, SendBuf};

/// How an input is handed over.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Sizes of blocks, used in turns; a zero counts as one byte.
    pub blocks: Vec<usize>,
    /// How it ends.
    pub eof: Option<Eof>,
    /// After so many bytes, their events taken, the machine is shut down.
    pub shut_down: Option<usize>,
    /// First allocation, read-ahead and bound of the receive buffer.
    pub limits: (usize, usize, usize),
    pub feed: Feed,
    /// Whether it is polled before each event.
    pub poll: bool,
}

/// How a block comes into the receive buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Feed {
    Push,
    Space,
    Lend,
}

/// What happened.
#[derive(Debug, PartialEq, Eq)]
pub struct Outcome {
    /// As the target writes them down.
    pub events: Vec<u8>,
    pub sent: Vec<u8>,
    pub error: Option<String>,
    pub next_io: NextIo,
    /// What was not consumed of the input; after an error it is of no interest.
    pub unread: Vec<u8>,
    /// The most memory that was behind the receive buffer.
    pub capacity: usize,
}

impl Outcome {
    /// Panics unless the two tell the same story.
    pub fn assert_agrees(&self, cut: &Self, plan: &Plan) {
        assert_eq!(self.error, cut.error, "{plan:?}");
        assert_eq!(self.events.escape_ascii().to_string(), cut.events.escape_ascii().to_string(), "{plan:?}");
        assert_eq!(self.sent.escape_ascii().to_string(), cut.sent.escape_ascii().to_string(), "{plan:?}");
        assert_eq!(self.next_io, cut.next_io, "{plan:?}");
        assert_eq!(self.unread.escape_ascii().to_string(), cut.unread.escape_ascii().to_string(), "{plan:?}");
    }
}

impl Plan {
    /// Drives `machine` with `input`; `on` answers events and writes them down.
    ///
    /// On the way it is held to the contract: `poll` and `next_event` agree, polling again changes nothing, errors are
    /// final, and a machine that wants more input has room for it.
    pub fn drive<M: Machine>(
        &self,
        machine: &mut M,
        input: &[u8],
        mut on: impl for<'b> FnMut(M::Event<'b>, &mut M, &mut SendBuf, &mut Vec<u8>),
    ) -> Outcome {
        let (initial, read_ahead, max) = self.limits;
        let (mut rx, mut tx) = (RecvBuf::with_limits(initial, read_ahead, max), SendBuf::new());
        let (mut events, mut error, mut capacity) = (Vec::new(), None, 0);
        let mut sizes = self.blocks.iter().cycle();
        let (mut fed, mut ended, mut shut_down) = (0, false, self.shut_down);
        loop {
            // Whatever there is to say, until input is missing.
            while error.is_none() {
                let polled = self.poll.then(|| poll_twice(machine, &mut rx, &mut tx));
                match machine.next_event(&mut rx, &mut tx) {
                    Ok(Some(event)) => {
                        assert!(polled.is_none_or(|polled| polled == Ok(true)), "an event after no promise");
                        on(event, machine, &mut tx, &mut events);
                    }
                    Ok(None) => {
                        assert!(polled.is_none_or(|polled| polled == Ok(false)), "no event after a promise");
                        break;
                    }
                    Err(failed) => {
                        let failed = format!("{failed:?}");
                        assert!(polled.is_none_or(|polled| polled == Ok(true) || polled == Err(failed.clone())));
                        error = Some(failed);
                    }
                }
            }
            capacity = capacity.max(rx.capacity());
            if shut_down.is_some_and(|at| at <= fed) {
                shut_down = None;
                machine.shut_down(&mut tx);
                continue;
            }
            if error.is_some() || machine.next_io() != NextIo::Read || ended {
                break;
            }
            let until = shut_down.unwrap_or(usize::MAX).min(input.len());
            let size = (*sizes.next().unwrap_or(&usize::MAX)).max(1);
            let block = &input[fed..until.min(fed.saturating_add(size))];
            if block.is_empty() {
                ended = true;
                self.eof.into_iter().for_each(|eof| rx.set_eof(eof));
                continue;
            }
            fed += self.feed.hand_over(&mut rx, block);
        }
        if let Some(error) = &error {
            stays_failed(machine, &mut rx, &mut tx, error, &input[fed..]);
        }
        let unread = if error.is_some() { Vec::new() } else { [rx.unread(), &input[fed..]].concat() };
        let sent = tx.chunks().flatten().copied().collect();
        Outcome { events, sent, error, next_io: machine.next_io(), unread, capacity }
    }
}

impl Feed {
    /// Hands over the block, or as much of it as there is space for: how much.
    fn hand_over(self, rx: &mut RecvBuf, block: &[u8]) -> usize {
        match self {
            Self::Push => {
                rx.push(block);
                block.len()
            }
            Self::Space => {
                let space = rx.space();
                assert!(!space.is_empty(), "the machine wants more, though the buffer is full");
                let n = space.len().min(block.len());
                space[..n].copy_from_slice(&block[..n]);
                rx.filled(n);
                n
            }
            Self::Lend => {
                let mut storage = rx.lend();
                let n = storage.len().min(block.len());
                assert!(n > 0, "nothing was lent");
                storage[..n].copy_from_slice(&block[..n]);
                rx.restore(storage, n);
                n
            }
        }
    }
}

fn poll_twice<M: Machine>(machine: &mut M, rx: &mut RecvBuf, tx: &mut SendBuf) -> Result<bool, String> {
    let polled = machine.poll(rx, tx).map_err(|error| format!("{error:?}"));
    let before = (rx.unread().as_ptr_range(), tx.queued(), machine.next_io(), machine.phase());
    let again = machine.poll(rx, tx).map_err(|error| format!("{error:?}"));
    assert_eq!(again, polled, "polled twice");
    assert_eq!((rx.unread().as_ptr_range(), tx.queued(), machine.next_io(), machine.phase()), before, "polled twice");
    polled
}

fn stays_failed<M: Machine>(machine: &mut M, rx: &mut RecvBuf, tx: &mut SendBuf, error: &str, rest: &[u8]) {
    let (io, queued) = (machine.next_io(), tx.queued());
    assert!(matches!(io, NextIo::Linger | NextIo::Close), "{io:?} after an error");
    rx.push(rest);
    for _ in 0..2 {
        let polled = machine.poll(rx, tx).map_err(|error| format!("{error:?}"));
        assert_eq!(polled, Err(error.to_owned()));
        match machine.next_event(rx, tx) {
            Err(again) => assert_eq!(format!("{again:?}"), error),
            Ok(_) => panic!("an error was not final"),
        }
        rx.set_eof(Eof::Clean);
        machine.shut_down(tx);
    }
    assert_eq!((machine.next_io(), tx.queued()), (io, queued), "something changed after an error");
}
