//! One row per rule of the framings: input, how it ends, and what comes of it, at every cut.

#[path = "../common/mod.rs"]
mod common;

mod checks;
mod delimited;
mod encoders;
mod lines;
mod machine;
mod own;
mod prefixes;
mod round_trip;
mod shut_down;

use bytewise::{
    Eof, SendBuf,
    framing::{Frame, Framed, Framing},
};
use common::{Input, Log};

/// Input, how it ends, and what comes of it: `[a frame]`, `oversize(its length)`, `!AnError`, then what `next_io` says
/// and `+` what is unread.
type Row<'a> = (&'a [u8], Option<Eof>, &'a str);

/// Holds all rows against a framing, at every cut.
#[track_caller]
fn check<F: Framing + Clone>(framing: &F, rows: &[Row<'_>]) {
    let mut wrong = String::new();
    for (input, eof, expected) in rows {
        let log = any_split(framing, Input::new(input).ending(*eof));
        if log != *expected {
            wrong += &format!("\n{}, {eof:?}\n  expected {expected}\n  got      {log}", input.escape_ascii());
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[track_caller]
fn any_split<F: Framing + Clone>(framing: &F, input: Input<'_>) -> String {
    input.any_split(|| Framed::new(framing.clone()), frames)
}

/// Writes frames down.
fn frames<F: Framing>(frame: Frame<'_>, _: &mut Framed<F>, _: &mut SendBuf, log: &mut Log) {
    match frame {
        Frame::Data(bytes) => log.bytes(bytes),
        Frame::Oversize { len } => log.item(format_args!("oversize({len})")),
        other => unreachable!("{other:?}"),
    }
}

/// Sends one frame after some other bytes: what was appended, or the refusal, after which nothing may be different.
fn encoded<F: Framing>(framing: &F, frame: &[u8]) -> Result<Vec<u8>, bytewise::framing::Misuse> {
    let mut all = Vec::new();
    for owned in [false, true] {
        let (mut tx, before) = (SendBuf::new(), b"what was queued before");
        tx.put(before);
        tx.put_external(1);
        let result = match owned {
            false => framing.encode(frame.into(), &mut tx),
            true => framing.encode(bytes::Bytes::copy_from_slice(frame).into(), &mut tx),
        };
        assert_eq!(tx.pending(), before);
        tx.consume(before.len());
        tx.external_written(1);
        if let Err(misuse) = result {
            assert!(tx.is_empty() && tx.queued() == 0, "{misuse:?} changed what is queued");
            return Err(misuse);
        }
        all.push(tx.chunks().flatten().copied().collect::<Vec<u8>>());
    }
    assert_eq!(all[0], all[1], "borrowed and owned");
    Ok(all.remove(0))
}
