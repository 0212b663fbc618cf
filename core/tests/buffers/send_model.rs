//! [`SendBuf`] against a plain queue of bytes with gaps, through any sequence of calls.

use bytes::{Buf, Bytes};
use bytewise::SendBuf;
use proptest::{collection::vec, prelude::*};
use std::collections::VecDeque;

#[derive(Debug, Clone)]
enum Step {
    Put(usize),
    PutOwned(usize),
    PutExternal(u64),
    /// Writes this much of what is pending, or of what is external, in 1/255 of it.
    Write(u8),
    Lend,
    Shrink,
}

fn step() -> impl Strategy<Value = Step> {
    let part = prop_oneof![Just(255u8), any::<u8>()];
    prop_oneof![
        4 => (0usize..300).prop_map(Step::Put),
        1 => (0usize..10_000).prop_map(Step::Put),
        3 => (4000usize..6000).prop_map(Step::PutOwned),
        1 => (0usize..100).prop_map(Step::PutOwned),
        1 => (0u64..5).prop_map(Step::PutExternal),
        8 => part.prop_map(Step::Write),
        1 => Just(Step::Lend),
        1 => Just(Step::Shrink),
    ]
}

/// What is to be written next.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Unit {
    Byte(u8),
    External,
}

#[derive(Default)]
struct Model {
    units: VecDeque<Unit>,
    next: u8,
}

impl Model {
    fn put(&mut self, len: usize) -> Vec<u8> {
        let bytes: Vec<u8> = (0..len).map(|at| self.next.wrapping_add((at as u8).wrapping_mul(7))).collect();
        self.next = self.next.wrapping_add(101);
        self.units.extend(bytes.iter().copied().map(Unit::Byte));
        bytes
    }

    /// Bytes up to the next gap.
    fn pending(&self) -> Vec<u8> {
        let bytes = self.units.iter().map_while(|unit| match unit {
            Unit::Byte(byte) => Some(*byte),
            Unit::External => None,
        });
        bytes.collect()
    }

    fn external(&self) -> usize {
        self.units.iter().take_while(|unit| **unit == Unit::External).count()
    }

    fn apply(&mut self, step: &Step, tx: &mut SendBuf) -> Result<(), TestCaseError> {
        match *step {
            Step::Put(len) => tx.put(self.put(len).as_slice()),
            Step::PutOwned(len) => tx.put(Bytes::from(self.put(len))),
            Step::PutExternal(len) => {
                tx.put_external(len);
                self.units.extend((0..len).map(|_| Unit::External));
            }
            Step::Write(part) => match tx.external() {
                Some(len) => {
                    let n = len * u64::from(part) / 255;
                    tx.external_written(n);
                    self.units.drain(..n as usize);
                }
                None => {
                    let n = self.pending().len() * usize::from(part) / 255;
                    tx.consume(n);
                    self.units.drain(..n);
                }
            },
            Step::Lend => {
                let lent = tx.lend();
                prop_assert!(self.pending().starts_with(&lent));
                prop_assert_eq!(lent.is_empty(), self.pending().is_empty());
                prop_assert_eq!(&lent[..], tx.pending());
            }
            Step::Shrink => tx.shrink(),
        }
        Ok(())
    }

    fn agrees(&self, tx: &SendBuf) -> Result<(), TestCaseError> {
        let pending = self.pending();
        prop_assert!(tx.chunks().flatten().eq(&pending), "other bytes are pending");
        prop_assert!(tx.chunks().all(|chunk| !chunk.is_empty()));
        prop_assert_eq!(tx.chunks().next().unwrap_or_default(), tx.pending());
        prop_assert_eq!((tx.remaining(), tx.chunk().len()), (pending.len(), tx.pending().len()));
        let held = self.units.iter().filter(|unit| **unit != Unit::External).count();
        prop_assert_eq!((tx.queued(), tx.is_empty()), (held, self.units.is_empty()));
        // Adjacent external segments may be told of one by one.
        match tx.external() {
            None => prop_assert!(self.external() == 0),
            Some(len) => prop_assert!(0 < len && len <= self.external() as u64),
        }
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_calls(steps in vec(step(), 0..50)) {
        let (mut tx, mut model) = (SendBuf::new(), Model::default());
        for step in &steps {
            model.apply(step, &mut tx)?;
            model.agrees(&tx)?;
        }
    }
}
