use super::{Error, Framing, HeaderCheck, Located, Misuse, cut_off};
use crate::{Eof, Payload, SendBuf};

/// Width of a length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Width {
    /// One byte.
    U8 = 1,
    /// Two bytes.
    U16 = 2,
    /// Four bytes.
    U32 = 4,
    /// Eight bytes.
    U64 = 8,
}

/// Byte order of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ByteOrder {
    /// Most significant byte first.
    Big,
    /// Least significant byte first.
    Little,
}

/// What a length counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Counts {
    /// The payload: Kafka, gRPC, DNS over TCP.
    Payload,
    /// All that comes after the length: the rest of the header and the payload.
    AfterLength,
    /// Itself and all that comes after it: PostgreSQL, whose length stands behind a type byte.
    FromLength,
    /// The whole frame with its header: SMPP, LDP.
    Frame,
}

/// A length of fixed width before each frame, alone or in a header of fixed size.
///
/// ```text
///  | before | length | after | payload |
///  └───────── header ────────┘
/// ```
///
/// The frames are the payloads, unless [`keep_header`](Self::keep_header) makes them begin with their headers. What the
/// header carries beside the length is checked and written by a [`HeaderCheck`], or left zero.
///
/// ```
/// use bytewise::{Machine, RecvBuf, SendBuf};
/// use bytewise::framing::{ByteOrder, Counts, Frame, Framed, LengthPrefix, Width};
///
/// // PostgreSQL: a type byte, then a length that counts itself and the payload. The type is the application's.
/// let messages = LengthPrefix::new(Width::U32, ByteOrder::Big, 1 << 20)
///     .with_header(1, 0)
///     .counting(Counts::FromLength)
///     .keep_header();
/// let mut messages = Framed::new(messages);
///
/// let (mut rx, mut tx) = (RecvBuf::new(), SendBuf::new());
/// rx.push(b"Q\0\0\0\x0dSELECT 1\0");
/// let Some(Frame::Data(query)) = messages.next_event(&mut rx, &mut tx)? else { unreachable!() };
/// assert_eq!((query[0], &query[5..]), (b'Q', &b"SELECT 1\0"[..]));
///
/// messages.send(b"Z\0\0\0\0I", &mut tx)?; // the length is written over whatever stands in its place
/// assert_eq!(tx.pending(), b"Z\0\0\0\x05I");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct LengthPrefix<C = ()> {
    width: Width,
    order: ByteOrder,
    counts: Counts,
    /// Bytes of header before the length.
    before: u8,
    /// Bytes of the whole header.
    header: u8,
    /// What the length counts beside the payload.
    extra: u8,
    /// Bits of eight bytes that the length does not have.
    excess: u8,
    keep_header: bool,
    max_len: usize,
    check: C,
}

impl LengthPrefix {
    /// Most bytes that a header has.
    pub const MAX_HEADER: usize = 64;

    /// A length of that form, for payloads of at most `max_len` bytes. It counts the payload.
    pub const fn new(width: Width, order: ByteOrder, max_len: usize) -> Self {
        // A frame with its header must be a number of bytes.
        let most = usize::MAX - Self::MAX_HEADER;
        let max_len = if max_len < most { max_len } else { most };
        let header = width as u8;
        let counts = Counts::Payload;
        Self {
            width,
            order,
            counts,
            before: 0,
            header,
            extra: 0,
            excess: 64 - 8 * header,
            keep_header: false,
            max_len,
            check: (),
        }
    }

    /// The length stands in a header, behind `before` and in front of `after` other bytes.
    ///
    /// # Panics
    ///
    /// If the header has more than [`MAX_HEADER`](Self::MAX_HEADER) bytes.
    #[must_use]
    pub const fn with_header(mut self, before: usize, after: usize) -> Self {
        let most = Self::MAX_HEADER;
        assert!(
            before <= most && after <= most && before + self.width as usize + after <= most,
            "a header of more than 64 bytes"
        );
        self.before = before as u8;
        self.header = (before + self.width as usize + after) as u8;
        let counts = self.counts;
        self.counting(counts)
    }

    /// What the length counts; the payload unless set.
    #[must_use]
    pub const fn counting(mut self, counts: Counts) -> Self {
        let after_length = self.header - self.before - self.width as u8;
        self.counts = counts;
        self.extra = match counts {
            Counts::Payload => 0,
            Counts::AfterLength => after_length,
            Counts::FromLength => self.width as u8 + after_length,
            Counts::Frame => self.header,
        };
        self
    }

    /// Frames begin with their headers, received and sent: a frame to send brings a header, in which length and checks are
    /// written over. The limit stays that of the payload.
    #[must_use]
    pub const fn keep_header(mut self) -> Self {
        self.keep_header = true;
        self
    }

    /// Checks what the header carries beside the length; call it after [`with_header`](Self::with_header).
    ///
    /// # Panics
    ///
    /// If the header has no room for it.
    #[must_use]
    pub fn with_check<C: HeaderCheck>(self, check: C) -> LengthPrefix<C> {
        let Self { width, order, counts, before, header, extra, excess, keep_header, max_len, check: () } = self;
        let length = usize::from(before)..usize::from(before) + width as usize;
        assert!(check.fits(header.into(), length), "the header has no room for the check");
        LengthPrefix { width, order, counts, before, header, extra, excess, keep_header, max_len, check }
    }
}

impl<C: HeaderCheck> LengthPrefix<C> {
    /// Longest payload accepted and sent, in bytes.
    pub const fn max_len(&self) -> usize {
        self.max_len
    }

    /// Changes the longest payload, at any time.
    pub fn set_max_len(&mut self, max_len: usize) {
        self.max_len = max_len.min(usize::MAX - LengthPrefix::MAX_HEADER);
    }

    /// Sizes of header and payload once the header is there, for payloads streamed by hand.
    ///
    /// # Errors
    ///
    /// As of [`locate`](Framing::locate), by what the header says.
    pub fn read(&self, unread: &[u8]) -> Result<Option<(usize, u64)>, Error> {
        Ok(self.payload_len(unread)?.map(|len| (usize::from(self.header), len as u64)))
    }

    /// Length of the payload, within the limit, once the header is there.
    #[inline(always)]
    fn payload_len(&self, unread: &[u8]) -> Result<Option<usize>, Error> {
        let Some(header) = unread.get(..usize::from(self.header)) else { return Ok(None) };
        self.check.check_header(header)?;
        let counted = self.counted(header);
        let Some(len) = counted.checked_sub(u64::from(self.extra)) else { return Err(Error::Length) };
        match usize::try_from(len) {
            Ok(len) if len <= self.max_len => Ok(Some(len)),
            _ => Err(Error::TooLong { len, max: self.max_len }),
        }
    }

    /// The number in a header that is there.
    ///
    /// A branch on the width is foreseen; shifting eight bytes by it would delay where the next frame begins.
    #[inline(always)]
    fn counted(&self, header: &[u8]) -> u64 {
        let length = &header[usize::from(self.before)..];
        match self.width {
            Width::U8 => length[0].into(),
            Width::U16 => match self.order {
                ByteOrder::Big => u16::from_be_bytes(first(length)).into(),
                ByteOrder::Little => u16::from_le_bytes(first(length)).into(),
            },
            Width::U32 => match self.order {
                ByteOrder::Big => u32::from_be_bytes(first(length)).into(),
                ByteOrder::Little => u32::from_le_bytes(first(length)).into(),
            },
            Width::U64 => match self.order {
                ByteOrder::Big => u64::from_be_bytes(first(length)),
                ByteOrder::Little => u64::from_le_bytes(first(length)),
            },
        }
    }

    /// The bytes of a length, the first ones of eight.
    #[inline(always)]
    fn length_bytes(&self, counted: u64) -> [u8; 8] {
        match self.order {
            ByteOrder::Big => (counted << self.excess).to_be_bytes(),
            ByteOrder::Little => counted.to_le_bytes(),
        }
    }

    /// A header with its length, in the first bytes of an array.
    fn header_for(&self, counted: u64, body: &[u8], template: &[u8]) -> [u8; LengthPrefix::MAX_HEADER] {
        let mut header = [0; LengthPrefix::MAX_HEADER];
        header[..template.len()].copy_from_slice(template);
        let width = self.width as usize;
        header[usize::from(self.before)..][..width].copy_from_slice(&self.length_bytes(counted)[..width]);
        self.check.write(&mut header[..usize::from(self.header)], body);
        header
    }

    /// A header with something beside the length.
    #[inline(never)]
    fn encode_header(&self, frame: Payload<'_>, tx: &mut SendBuf) -> Result<(), Misuse> {
        let header = usize::from(self.header);
        let kept = if self.keep_header { header } else { 0 };
        let (template, body) = frame.as_bytes().split_at_checked(kept).ok_or(Misuse::Size)?;
        let counted = self.to_count(body.len())?;
        let bytes = self.header_for(counted, body, template);
        tx.put_unit(&bytes[..header], frame.skip(kept));
        Ok(())
    }

    /// The number that stands for a payload of `len` bytes.
    #[inline]
    fn to_count(&self, len: usize) -> Result<u64, Misuse> {
        let most = u64::MAX >> self.excess;
        match (len as u64).checked_add(u64::from(self.extra)) {
            Some(counted) if counted <= most && len <= self.max_len => Ok(counted),
            _ => Err(Misuse::TooLong),
        }
    }
}

/// The first bytes of a header that has as many.
#[inline(always)]
fn first<const N: usize>(length: &[u8]) -> [u8; N] {
    let mut bytes = [0; N];
    bytes.copy_from_slice(&length[..N]);
    bytes
}

impl<C: HeaderCheck> Framing for LengthPrefix<C> {
    #[inline(always)]
    fn locate(&mut self, unread: &[u8], eof: Option<Eof>) -> Result<Located, Error> {
        let header = usize::from(self.header);
        let Some(len) = self.payload_len(unread)? else { return Ok(Located::Need(header)) };
        let total = header + len;
        let Some(frame) = unread.get(..total) else { return cut_off(unread, eof, total) };
        let (head, body) = frame.split_at(header);
        self.check.check_body(head, body)?;
        Ok(Located::Frame { body: if self.keep_header { 0..total } else { header..total }, trailer: 0 })
    }

    #[inline(always)]
    fn encode(&self, frame: Payload<'_>, tx: &mut SendBuf) -> Result<(), Misuse> {
        let width = self.width as usize;
        if usize::from(self.header) != width || self.keep_header {
            return self.encode_header(frame, tx);
        }
        let counted = self.to_count(frame.len())?;
        tx.put_prefixed(self.length_bytes(counted), width, frame);
        Ok(())
    }
}
