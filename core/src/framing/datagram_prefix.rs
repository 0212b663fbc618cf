use super::{Error, Framing, Located, Misuse, announced};
use crate::{Eof, Payload, SendBuf};

/// A length of one byte for frames below 254 bytes; 254 and a `u16`, or 255 and a `u64`, little endian, for longer ones.
///
/// The shortest form is required unless [`allow_long_forms`](Self::allow_long_forms) is set.
///
/// ```
/// use bytewise::{SendBuf, framing::{DatagramPrefix, Framed}};
///
/// let mut tx = SendBuf::new();
/// let mut frames = Framed::new(DatagramPrefix::new(1500));
/// frames.send(b"ping", &mut tx)?;
/// frames.send(&[0; 300], &mut tx)?;
/// assert_eq!(tx.pending()[..8], [4, b'p', b'i', b'n', b'g', 254, 44, 1]);
/// # Ok::<(), bytewise::framing::Misuse>(())
/// ```
#[derive(Debug, Clone)]
pub struct DatagramPrefix {
    max_len: usize,
    long_forms: bool,
}

/// Bytes of the longest prefix.
const MAX_PREFIX: usize = 9;

impl DatagramPrefix {
    /// For frames of at most `max_len` bytes.
    pub const fn new(max_len: usize) -> Self {
        let most = usize::MAX - MAX_PREFIX;
        Self { max_len: if max_len < most { max_len } else { most }, long_forms: false }
    }

    /// Accepts lengths in a longer form: the same frame then has more than one encoding, which matters where encodings
    /// are compared or signed.
    #[must_use]
    pub const fn allow_long_forms(mut self) -> Self {
        self.long_forms = true;
        self
    }
}

impl Framing for DatagramPrefix {
    #[inline]
    fn locate(&mut self, unread: &[u8], eof: Option<Eof>) -> Result<Located, Error> {
        let (prefix, len, shortest) = match unread {
            [] => return Ok(Located::Need(1)),
            [254, a, b, ..] => (3, u64::from(u16::from_le_bytes([*a, *b])), 254),
            [254, ..] => return Ok(Located::Need(3)),
            [255, rest @ ..] => match rest.first_chunk() {
                Some(bytes) => (9, u64::from_le_bytes(*bytes), 1 << 16),
                None => return Ok(Located::Need(9)),
            },
            [len, ..] => (1, u64::from(*len), 0),
        };
        if len < shortest && !self.long_forms {
            return Err(Error::Length);
        }
        match usize::try_from(len) {
            Ok(n) if n <= self.max_len => announced(unread, eof, prefix..prefix + n),
            _ => Err(Error::TooLong { len, max: self.max_len }),
        }
    }

    #[inline]
    fn encode(&self, frame: Payload<'_>, tx: &mut SendBuf) -> Result<(), Misuse> {
        let len = frame.len();
        if len > self.max_len {
            return Err(Misuse::TooLong);
        }
        let (prefix, size) = match (u8::try_from(len), u16::try_from(len)) {
            (Ok(n @ ..254), _) => ([n, 0, 0, 0, 0, 0, 0, 0], 1),
            (_, Ok(n)) => {
                let [low, high] = n.to_le_bytes();
                ([254, low, high, 0, 0, 0, 0, 0], 3)
            }
            _ => {
                let mut prefix = [255; MAX_PREFIX];
                prefix[1..].copy_from_slice(&(len as u64).to_le_bytes());
                tx.put_unit(&prefix, frame);
                return Ok(());
            }
        };
        tx.put_prefixed(prefix, size, frame);
        Ok(())
    }
}
