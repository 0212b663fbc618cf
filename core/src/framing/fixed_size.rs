use super::{Error, Framing, Located, Misuse, announced};
use crate::{Eof, Payload, SendBuf};
use core::num::NonZeroUsize;

/// Frames of one size, with nothing between them.
///
/// ```
/// use bytewise::{Machine, RecvBuf, SendBuf};
/// use bytewise::framing::{FixedSize, Frame, Framed, Misuse};
/// use std::num::NonZeroUsize;
///
/// let (mut rx, mut tx) = (RecvBuf::new(), SendBuf::new());
/// let mut records = Framed::new(FixedSize::new(NonZeroUsize::new(3).unwrap()));
/// rx.push(b"abcdef");
/// assert_eq!(records.next_event(&mut rx, &mut tx)?, Some(Frame::Data(&mut [b'a', b'b', b'c'])));
/// assert_eq!(records.send(b"four", &mut tx), Err(Misuse::Size));
/// # Ok::<(), bytewise::framing::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct FixedSize(NonZeroUsize);

impl FixedSize {
    /// Frames of `len` bytes.
    pub const fn new(len: NonZeroUsize) -> Self {
        Self(len)
    }
}

impl Framing for FixedSize {
    #[inline]
    fn locate(&mut self, unread: &[u8], eof: Option<Eof>) -> Result<Located, Error> {
        match unread {
            [] => Ok(Located::Need(self.0.get())),
            _ => announced(unread, eof, 0..self.0.get()),
        }
    }

    #[inline]
    fn encode(&self, frame: Payload<'_>, tx: &mut SendBuf) -> Result<(), Misuse> {
        if frame.len() != self.0.get() {
            return Err(Misuse::Size);
        }
        tx.put(frame);
        Ok(())
    }
}
