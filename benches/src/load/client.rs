//! One connection of the load generator, without I/O.

use super::{Dialect, Tally};
use std::{collections::VecDeque, fmt, io, time::Duration};

/// Bytes of requests that are made at once, at most one request more.
const CHUNK: usize = 1 << 20;

/// What is wrong with a connection.
#[derive(Debug)]
pub enum Fault {
    /// A byte is not what it must be.
    Differs {
        /// Which reply, from 0.
        reply: u64,
        /// Which byte of it, from 0.
        at: usize,
    },
    /// The head of a reply is not what it must be.
    Head {
        /// Which reply, from 0.
        reply: u64,
        /// What is wrong with it.
        why: &'static str,
    },
    /// What the connection was opened with is not answered as it must be.
    Opening(&'static str),
    /// More was received than was asked for.
    Surplus,
    /// The server closed the connection.
    Closed {
        /// So many requests were not answered.
        unanswered: usize,
    },
    /// The time to answer the last requests was over.
    Late {
        /// So many requests were not answered.
        unanswered: usize,
    },
    /// The server did not close after the end of the requests.
    Lingers,
    /// TLS failed.
    Tls(rustls::Error),
    /// The socket failed.
    Io(io::Error),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Differs { reply, at } => write!(f, "reply {reply} differs at byte {at}"),
            Self::Head { reply, why } => write!(f, "the head of reply {reply} {why}"),
            Self::Opening(why) => write!(f, "the answer to the opening handshake {why}"),
            Self::Surplus => f.write_str("surplus bytes received"),
            Self::Closed { unanswered } => write!(f, "closed with {unanswered} requests unanswered"),
            Self::Late { unanswered } => write!(f, "{unanswered} requests were never answered"),
            Self::Lingers => f.write_str("the server did not close after the end of the requests"),
            Self::Tls(error) => write!(f, "TLS: {error}"),
            Self::Io(error) => error.fmt(f),
        }
    }
}

impl From<rustls::Error> for Fault {
    fn from(error: rustls::Error) -> Self {
        Self::Tls(error)
    }
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Keeps a window of requests in flight, and checks each reply.
///
/// Times are durations since any origin; requests made at once share one.
#[derive(Debug)]
pub struct Client<D> {
    dialect: D,
    /// Whether what opens the connection was sent.
    opened: bool,
    /// Requests that may be sent now, or once the connection is open.
    due: usize,
    /// When requests were made, and how many of them wait for a reply.
    waiting: VecDeque<(Duration, usize)>,
    in_flight: usize,
}

impl<D: Dialect> Client<D> {
    /// With that many requests due; nothing is allocated after this.
    pub fn new(dialect: D, window: usize) -> Self {
        Self { dialect, opened: false, due: window, waiting: VecDeque::with_capacity(window), in_flight: 0 }
    }

    /// Checks what was received.
    #[inline]
    pub fn receive(&mut self, block: &[u8], now: Duration, tally: &mut Tally) -> Result<(), Fault> {
        let mut replies = self.dialect.replies(block)?;
        if replies > self.in_flight || (replies == self.in_flight && self.dialect.is_partial()) {
            return Err(Fault::Surplus);
        }
        self.in_flight -= replies;
        self.due += replies;
        while replies > 0 {
            let Some((at, waiting)) = self.waiting.front_mut() else { return Err(Fault::Surplus) };
            let answered = replies.min(*waiting);
            tally.record(now.saturating_sub(*at), answered);
            replies -= answered;
            *waiting -= answered;
            if *waiting == 0 {
                self.waiting.pop_front();
            }
        }
        Ok(())
    }

    /// Appends the requests that are due, or a good part of them; before the first, what opens the connection.
    #[inline]
    pub fn send(&mut self, now: Duration, out: &mut Vec<u8>) {
        if !self.opened {
            self.dialect.open(out);
            self.opened = true;
        }
        if !self.dialect.is_open() {
            return;
        }
        let before = self.due;
        while self.due > 0 && out.len() < CHUNK {
            self.dialect.request(out);
            self.due -= 1;
        }
        let made = before - self.due;
        if made > 0 {
            self.in_flight += made;
            self.waiting.push_back((now, made));
        }
    }

    /// Whether something may be sent.
    #[must_use]
    #[inline]
    pub fn is_due(&self) -> bool {
        if self.dialect.is_open() { self.due > 0 } else { !self.opened }
    }

    /// Whether what opens the connection is answered.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.dialect.is_open()
    }

    /// Requests without a reply; what opens the connection counts as one.
    #[must_use]
    #[inline]
    pub fn in_flight(&self) -> usize {
        self.in_flight + usize::from(!self.dialect.is_open())
    }
}

#[cfg(test)]
mod tests {
    use super::{super::Framed, *};

    const WINDOW: usize = 4;
    const FRAME: usize = 20;

    /// A client with its window in flight, and what an honest server replies.
    fn started() -> (Client<Framed>, Vec<u8>) {
        let mut client = Client::new(Framed::new(7, FRAME - 4), WINDOW);
        let mut out = Vec::new();
        client.send(Duration::ZERO, &mut out);
        assert_eq!((out.len(), client.in_flight(), client.is_due()), (WINDOW * FRAME, WINDOW, false));
        (client, out)
    }

    fn receive(client: &mut Client<Framed>, block: &[u8]) -> Result<u64, Fault> {
        let mut tally = Tally::new();
        tally.measuring = true;
        client.receive(block, Duration::from_micros(5), &mut tally)?;
        Ok(tally.outcome(Duration::ZERO).round_trips)
    }

    #[test]
    fn honest_replies_pass_at_every_cut() {
        for cut in 0..=WINDOW * FRAME {
            let (mut client, replies) = started();
            let (one, two) = replies.split_at(cut);
            let counted = receive(&mut client, one).unwrap() + receive(&mut client, two).unwrap();
            assert_eq!((counted, client.in_flight(), client.is_due()), (WINDOW as u64, 0, true));
        }
    }

    #[test]
    fn the_window_is_replenished_by_as_many() {
        let (mut client, replies) = started();
        receive(&mut client, &replies[..2 * FRAME + 3]).unwrap();
        let mut out = Vec::new();
        client.send(Duration::ZERO, &mut out);
        assert_eq!((out.len(), client.in_flight()), (2 * FRAME, WINDOW));
        assert_eq!(out[4..12], 4u64.to_le_bytes());
    }

    #[test]
    fn each_flipped_byte_is_caught_where_it_is() {
        for flipped in 0..WINDOW * FRAME {
            let (mut client, mut replies) = started();
            replies[flipped] ^= 1;
            match receive(&mut client, &replies) {
                Err(Fault::Differs { reply, at }) => assert_eq!(reply as usize * FRAME + at, flipped),
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn swapped_replies_are_caught() {
        let (mut client, replies) = started();
        let swapped = [&replies[FRAME..2 * FRAME], &replies[..FRAME], &replies[2 * FRAME..]].concat();
        assert!(matches!(receive(&mut client, &swapped), Err(Fault::Differs { reply: 0, at: 4 })));
    }

    #[test]
    fn replies_of_another_connection_are_caught() {
        let (mut client, _) = started();
        let mut other = Vec::new();
        Framed::new(8, FRAME - 4).request(&mut other);
        assert!(matches!(receive(&mut client, &other), Err(Fault::Differs { reply: 0, at: 12 })));
    }

    #[test]
    fn a_truncated_reply_stays_in_flight() {
        let (mut client, replies) = started();
        receive(&mut client, &replies[..WINDOW * FRAME - 1]).unwrap();
        assert_eq!(client.in_flight(), 1);
    }

    #[test]
    fn a_lost_reply_is_caught_by_the_next() {
        let (mut client, replies) = started();
        assert!(matches!(receive(&mut client, &replies[FRAME..]), Err(Fault::Differs { reply: 0, .. })));
    }

    #[test]
    fn surplus_is_caught_even_where_it_looks_right() {
        let (mut client, mut replies) = started();
        replies.extend_from_slice(&[0, 0, 0, 16, WINDOW as u8]);
        assert!(matches!(receive(&mut client, &replies), Err(Fault::Surplus)));
        let (mut client, replies) = started();
        receive(&mut client, &replies).unwrap();
        assert!(matches!(receive(&mut client, &[0]), Err(Fault::Surplus)));
    }

    #[test]
    fn latencies_are_those_of_the_batch() {
        let (mut client, replies) = started();
        let mut tally = Tally::new();
        client.receive(&replies[..FRAME], Duration::from_micros(10), &mut tally).unwrap();
        tally.measuring = true;
        client.send(Duration::from_micros(10), &mut Vec::new());
        client.receive(&replies[FRAME..], Duration::from_micros(30), &mut tally).unwrap();
        let outcome = tally.outcome(Duration::from_secs(1));
        assert_eq!(outcome.round_trips, WINDOW as u64 - 1);
        assert!(outcome.p50 >= Duration::from_micros(30) && outcome.p99 < Duration::from_micros(31));
    }
}
