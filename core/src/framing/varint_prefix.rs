use super::{Error, Framing, Located, Misuse, announced};
use crate::{Eof, Payload, SendBuf};

/// A LEB128 length before each frame: seven bits a byte, the lowest first, the highest bit set in all but the last.
///
/// It is what protobuf calls delimited messages. A length has at most ten bytes, and must have its shortest form unless
/// [`allow_long_forms`](Self::allow_long_forms) is set.
///
/// ```
/// use bytewise::{Machine, RecvBuf, SendBuf};
/// use bytewise::framing::{Frame, Framed, VarintPrefix};
///
/// let (mut rx, mut tx) = (RecvBuf::new(), SendBuf::new());
/// let mut frames = Framed::new(VarintPrefix::new(1000));
/// frames.send(&[7; 300], &mut tx)?;
/// assert_eq!(tx.pending()[..3], [0xAC, 2, 7]);
///
/// rx.push(tx.pending());
/// assert_eq!(frames.next_event(&mut rx, &mut tx)?, Some(Frame::Data(&mut [7; 300])));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct VarintPrefix {
    max_len: usize,
    long_forms: bool,
}

/// Bytes of the longest length.
const MAX_PREFIX: usize = 10;

impl VarintPrefix {
    /// For frames of at most `max_len` bytes.
    pub const fn new(max_len: usize) -> Self {
        let most = usize::MAX - MAX_PREFIX;
        Self { max_len: if max_len < most { max_len } else { most }, long_forms: false }
    }

    /// Accepts lengths padded with zeros, as some writers make them that fill in a length later. The same frame then
    /// has more than one encoding, which matters where encodings are compared or signed.
    #[must_use]
    pub const fn allow_long_forms(mut self) -> Self {
        self.long_forms = true;
        self
    }

    /// Size of the prefix and the length, once it is there.
    #[inline]
    fn read(&self, unread: &[u8]) -> Result<Option<(usize, u64)>, Error> {
        let mut len = 0;
        for (at, byte) in unread.iter().enumerate().take(MAX_PREFIX) {
            let bits = u64::from(byte & 0x7F);
            len |= bits << (7 * at);
            if byte & 0x80 == 0 {
                let overflows = at == MAX_PREFIX - 1 && bits > 1;
                let padded = at > 0 && bits == 0 && !self.long_forms;
                return if overflows || padded { Err(Error::Length) } else { Ok(Some((at + 1, len))) };
            }
        }
        if unread.len() < MAX_PREFIX { Ok(None) } else { Err(Error::Length) }
    }
}

impl Framing for VarintPrefix {
    #[inline]
    fn locate(&mut self, unread: &[u8], eof: Option<Eof>) -> Result<Located, Error> {
        let Some((prefix, len)) = self.read(unread)? else { return Ok(Located::Need(unread.len() + 1)) };
        match usize::try_from(len) {
            Ok(n) if n <= self.max_len => announced(unread, eof, prefix..prefix + n),
            _ => Err(Error::TooLong { len, max: self.max_len }),
        }
    }

    #[inline]
    fn encode(&self, frame: Payload<'_>, tx: &mut SendBuf) -> Result<(), Misuse> {
        if frame.len() > self.max_len {
            return Err(Misuse::TooLong);
        }
        let (mut prefix, mut size, mut left) = ([0; MAX_PREFIX], 0, frame.len() as u64);
        while left >= 0x80 {
            prefix[size] = left as u8 | 0x80;
            left >>= 7;
            size += 1;
        }
        prefix[size] = left as u8;
        tx.put_unit(&prefix[..=size], frame);
        Ok(())
    }
}
