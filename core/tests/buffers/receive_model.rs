//! [`RecvBuf`] against a plain `Vec`, through any sequence of calls.

use bytewise::{Eof, RecvBuf};
use proptest::{collection::vec, prelude::*};

#[derive(Debug, Clone)]
enum Step {
    /// Reads this much of the space, in 1/255 of it.
    Read(u8),
    Push(usize),
    /// Takes this much of what is unread, in 1/255 of it.
    Take(u8),
    /// Lends a block, takes this much of what is unread and pushes that many bytes meanwhile, and restores it with this
    /// much read into it.
    Lend(u8, usize, u8),
    /// Storage from a pool: its size, and how much of it is read into.
    Restore(usize, u8),
    Shrink,
    Scratch(usize),
    SetLimits(usize, usize, usize),
    SetEof(bool),
    Decrypt,
}

fn step() -> impl Strategy<Value = Step> {
    let part = || prop_oneof![Just(0u8), Just(255), any::<u8>()];
    let size = || prop_oneof![5 => 0usize..200, 1 => 0usize..9000];
    prop_oneof![
        6 => part().prop_map(Step::Read),
        3 => size().prop_map(Step::Push),
        6 => part().prop_map(Step::Take),
        2 => (part(), 0usize..50, part()).prop_map(|(take, push, read)| Step::Lend(take, push, read)),
        1 => (size(), part()).prop_map(|(size, read)| Step::Restore(size, read)),
        1 => Just(Step::Shrink),
        1 => (0usize..100).prop_map(Step::Scratch),
        1 => (0usize..100, 0usize..100, 0usize..10_000).prop_map(|(a, b, c)| Step::SetLimits(a, b, c)),
        1 => any::<bool>().prop_map(Step::SetEof),
        1 => Just(Step::Decrypt),
    ]
}

const fn part_of(whole: usize, part: u8) -> usize {
    whole * part as usize / 255
}

struct Model {
    unread: Vec<u8>,
    scratch: Vec<u8>,
    read_ahead: usize,
    max: usize,
    eof: Option<Eof>,
    /// Counts up, so that no byte is like its neighbours.
    next: u8,
}

impl Model {
    fn bytes(&mut self, n: usize) -> Vec<u8> {
        let bytes = (0..n).map(|at| self.next.wrapping_add((at as u8).wrapping_mul(3))).collect();
        self.next = self.next.wrapping_add((n as u8).wrapping_mul(3));
        bytes
    }

    fn apply(&mut self, step: &Step, rx: &mut RecvBuf) -> Result<(), TestCaseError> {
        match *step {
            Step::Read(part) => {
                let space = rx.space().len();
                let room = self.max.saturating_sub(self.unread.len() + self.scratch.len());
                prop_assert_eq!(space == 0, room == 0);
                prop_assert!(space <= self.read_ahead.min(room));
                let bytes = self.bytes(part_of(space, part));
                // Asking again gives no less.
                prop_assert!(rx.space().len() >= space);
                rx.space()[..bytes.len()].copy_from_slice(&bytes);
                rx.filled(bytes.len());
                self.unread.extend(bytes);
            }
            Step::Push(n) => {
                let bytes = self.bytes(n);
                rx.push(&bytes);
                self.unread.extend(bytes);
            }
            Step::Take(part) => self.take(part, rx)?,
            Step::Lend(take, push, read) => {
                let mut storage = rx.lend();
                let room = self.max.saturating_sub(self.unread.len() + self.scratch.len());
                prop_assert!(!storage.is_empty() || room == 0);
                prop_assert!(self.unread.is_empty() || storage.len() <= room);
                self.take(take, rx)?;
                self.apply(&Step::Push(push), rx)?;
                let bytes = self.bytes(part_of(storage.len(), read));
                storage[..bytes.len()].copy_from_slice(&bytes);
                rx.restore(storage, bytes.len());
                self.unread.extend(bytes);
            }
            Step::Restore(size, read) => {
                let bytes = self.bytes(part_of(size, read));
                let mut storage = vec![0; size];
                storage[..bytes.len()].copy_from_slice(&bytes);
                rx.restore(storage, bytes.len());
                self.unread.extend(bytes);
            }
            Step::Shrink => {
                rx.shrink();
                if self.unread.is_empty() && self.scratch.is_empty() {
                    prop_assert_eq!(rx.capacity(), 0);
                }
            }
            Step::Scratch(n) => {
                let bytes = self.bytes(n);
                rx.parts().1.clone_from(&bytes);
                self.scratch = bytes;
            }
            Step::SetLimits(initial, read_ahead, max) => {
                let good = initial > 0 && read_ahead > 0 && initial <= max;
                let result = rx.set_limits(initial, read_ahead, max);
                prop_assert_eq!(result.is_ok(), good && self.unread.is_empty() && self.scratch.is_empty());
                if result.is_ok() {
                    (self.read_ahead, self.max) = (read_ahead, max);
                    prop_assert_eq!(rx.capacity(), 0);
                }
            }
            Step::SetEof(clean) => {
                let eof = if clean { Eof::Clean } else { Eof::Truncated };
                rx.set_eof(eof);
                self.eof = Some(eof);
            }
            Step::Decrypt => {
                for bytes in [rx.parts().0, &mut self.unread] {
                    bytes.iter_mut().for_each(|byte| *byte ^= 0x55);
                }
            }
        }
        Ok(())
    }

    fn take(&mut self, part: u8, rx: &mut RecvBuf) -> Result<(), TestCaseError> {
        let n = part_of(self.unread.len(), part);
        let expected: Vec<u8> = self.unread.drain(..n).collect();
        prop_assert_eq!(&*rx.take(n), &expected[..]);
        Ok(())
    }

    fn agrees(&self, rx: &mut RecvBuf) -> Result<(), TestCaseError> {
        prop_assert_eq!(rx.unread(), &self.unread[..]);
        prop_assert_eq!(rx.eof(), self.eof);
        prop_assert_eq!(rx.is_full(), self.unread.len() + self.scratch.len() >= self.max);
        prop_assert_eq!(rx.is_idle(), self.unread.is_empty() && self.scratch.is_empty());
        prop_assert!(rx.capacity() >= self.unread.len() + self.scratch.len());
        let (unread, scratch) = rx.parts();
        prop_assert_eq!((&*unread, &*scratch), (&self.unread[..], &self.scratch));
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_calls(
        steps in vec(step(), 0..60),
        (initial, read_ahead) in (1usize..64, 1usize..300),
        more in prop_oneof![0usize..500, Just(usize::MAX / 2)],
    ) {
        let max = initial + more;
        let mut rx = RecvBuf::with_limits(initial, read_ahead, max);
        let mut model = Model { unread: Vec::new(), scratch: Vec::new(), read_ahead, max, eof: None, next: 0 };
        for step in &steps {
            model.apply(step, &mut rx)?;
            model.agrees(&mut rx)?;
        }
    }
}
