//! What the targets of HTTP/1 have in common: configuration and blocks that the input picks, and how events are written down.

use crate::{Feed, Plan};
use arbitrary::Arbitrary;
use bytewise::{
    Eof, Machine, SendBuf,
    http1::{Config, Fields, Leniency},
};

/// All that is not the wire; of fixed size, so that seeds can be written by hand.
#[derive(Debug, Clone, Arbitrary)]
pub struct Case {
    /// One bit each.
    pub leniencies: u8,
    /// One bit for each limit that is tight.
    pub tight: u8,
    /// What the application does, and what it asked for.
    pub does: [u8; 2],
    pub end: u8,
    pub blocks: [u8; 4],
    pub feed: u8,
    /// First allocation, read-ahead and, above the first allocation, bound of the receive buffer.
    pub buffer: [u8; 3],
    /// After how many bytes it is shut down; not at all for 255.
    pub shut_down: u8,
}

impl Case {
    pub fn config(&self) -> Config {
        let mut config = Config::default().with_max_outstanding(8);
        for (bit, leniency) in [
            Leniency::BareLf,
            Leniency::ObsFold,
            Leniency::RepeatedContentLength,
            Leniency::LengthWithChunked,
            Leniency::SpaceBeforeColon,
            Leniency::MissingHost,
        ]
        .into_iter()
        .enumerate()
        {
            if self.leniencies & 1 << bit != 0 {
                config = config.allow(leniency);
            }
        }
        let limits: [fn(Config) -> Config; 8] = [
            |config| config.with_max_head(80),
            |config| config.with_max_target(12),
            |config| config.with_max_fields(3),
            |config| config.with_max_body(9),
            |config| config.with_max_chunk_line(9),
            |config| config.with_max_trailers(20),
            |config| config.with_drain(6),
            |config| config.with_max_interim(1),
        ];
        for (bit, limit) in limits.into_iter().enumerate() {
            if self.tight & 1 << bit != 0 {
                config = limit(config);
            }
        }
        config
    }

    /// All at once.
    pub fn whole(&self) -> Plan {
        Plan {
            blocks: Vec::new(),
            eof: [None, Some(Eof::Clean), Some(Eof::Truncated)][usize::from(self.end % 3)],
            shut_down: (self.shut_down != 255).then(|| self.shut_down.into()),
            limits: (usize::from(self.buffer[0]) + 1, usize::from(self.buffer[1]) + 1, usize::MAX),
            feed: Feed::Push,
            poll: self.feed < 128,
        }
    }

    /// Drives machines made by `new` with the wire whole, cut and byte by byte, and holds them to one outcome.
    pub fn hold<M: Machine>(
        &self,
        wire: &[u8],
        new: impl Fn() -> M,
        mut on: impl for<'b> FnMut(M::Event<'b>, &mut M, &mut SendBuf, &mut Vec<u8>),
    ) {
        let blocks = self.blocks.map(usize::from).to_vec();
        let feed = [Feed::Push, Feed::Space, Feed::Lend][usize::from(self.feed % 3)];
        let whole = self.whole();
        let cut = Plan { blocks: blocks.clone(), feed, poll: !whole.poll, ..whole.clone() };
        let bytes = Plan { blocks: vec![1], feed: Feed::Space, ..cut.clone() };
        let expected = whole.drive(&mut new(), wire, &mut on);
        for plan in [cut, bytes] {
            let outcome = plan.drive(&mut new(), wire, &mut on);
            expected.assert_agrees(&outcome, &plan);
            // A head, which is the longest that is held at once, and what is read beyond it.
            let held = if self.tight & (1 | 1 << 5) == 1 | 1 << 5 { 256 } else { 16 << 10 };
            assert!(outcome.capacity <= 4 * (held + 512), "{} bytes for {held}, {plan:?}", outcome.capacity);
        }

        // With a bound, by reads, which alone heed it.
        let (initial, read_ahead, _) = whole.limits;
        let limits = (initial, read_ahead, initial + usize::from(self.buffer[2]));
        let whole = Plan { feed: Feed::Space, limits, ..whole };
        let cut = Plan { blocks, ..whole.clone() };
        let bounded = whole.drive(&mut new(), wire, &mut on);
        let outcome = cut.drive(&mut new(), wire, &mut on);
        bounded.assert_agrees(&outcome, &cut);
        assert!(outcome.capacity.max(bounded.capacity) <= 2 * limits.2, "{} bytes for {limits:?}", outcome.capacity);
    }
}

/// Writes fields down, and holds them to what they promise.
pub fn note_fields(fields: Fields<'_>, log: &mut Vec<u8>) {
    for (name, value) in fields.iter() {
        assert!(!name.is_empty() && !value.iter().any(|byte| b"\r\n\0".contains(byte)), "{name} {value:?}");
        assert!(fields.get_all(name).any(|other| other == value));
        log.extend([name.as_bytes(), b"=", value, b"\n"].concat());
    }
    assert_eq!(fields.is_empty(), fields.iter().next().is_none());
    assert!(fields.end_to_end().count() <= fields.iter().count());
}
