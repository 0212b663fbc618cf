use crate::SendBuf;
use core::{
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
};

/// A PROXY protocol header, version 1 or 2: what a load balancer says, before anything else, of whom it speaks for.
///
/// Decode it before the first machine, and [`take`](crate::RecvBuf::take) its bytes. It is required where it is
/// configured, and never to be guessed: whoever can reach the port could claim any address, so accept it from trusted
/// peers only. Whether it is one is said at the first byte that differs.
///
/// ```
/// use bytewise::{RecvBuf, framing::ProxyHeader};
///
/// let mut rx = RecvBuf::new();
/// rx.push(b"PROXY TCP4 203.0.113.7 198.51.100.1 35646 443\r\nGET / HTTP/1.1\r\n");
///
/// let (header, len) = ProxyHeader::decode(rx.unread())?.expect("it is all there");
/// let (source, _) = header.addresses.expect("it is not UNKNOWN");
/// assert_eq!(source.to_string(), "203.0.113.7:35646");
/// rx.take(len);
/// assert!(rx.unread().starts_with(b"GET"));
/// # Ok::<(), bytewise::framing::ProxyError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProxyHeader<'b> {
    /// Where the connection came from and what it was made to. `None` for `UNKNOWN`, `LOCAL` (the balancer speaks for
    /// itself, a health check say) and address families that are not IP.
    pub addresses: Option<(SocketAddr, SocketAddr)>,
    /// Type-length-value fields of version 2, not parsed; their checksum is not checked.
    pub extensions: &'b [u8],
}

const V1_SIGNATURE: &[u8] = b"PROXY ";
/// Longest header of version 1, CRLF included.
const V1_MAX: usize = 107;
const V2_SIGNATURE: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";
/// Signature, version and command, family, length.
const V2_FIXED: usize = 16;

impl<'b> ProxyHeader<'b> {
    /// Longest header accepted, in bytes: version 2 could announce 64 KiB, senders stay far below this.
    pub const MAX_LEN: usize = 4096;

    /// One to send, without extensions; `None` says `UNKNOWN` in version 1 and `LOCAL` in version 2.
    pub const fn new(addresses: Option<(SocketAddr, SocketAddr)>) -> Self {
        Self { addresses, extensions: &[] }
    }

    /// With extensions, type-length-value fields already encoded, which version 1 leaves out.
    #[must_use]
    pub const fn with_extensions(mut self, extensions: &'b [u8]) -> Self {
        self.extensions = extensions;
        self
    }

    /// The header and its length, or `None` when it is cut off: call it again with more.
    ///
    /// # Errors
    ///
    /// The connection does not begin with a header, or the header is malformed. Close it.
    pub fn decode(unread: &'b [u8]) -> Result<Option<(Self, usize)>, ProxyError> {
        let begins = |signature: &[u8]| unread.iter().zip(signature).all(|(a, b)| a == b);
        if begins(V1_SIGNATURE) {
            decode_v1(unread)
        } else if begins(V2_SIGNATURE) {
            decode_v2(unread)
        } else {
            Err(ProxyError::Signature)
        }
    }

    /// Appends it in version 1, a line of text.
    ///
    /// # Errors
    ///
    /// [`ProxyError::Address`] if the addresses are of two families; then nothing is appended.
    pub fn encode_v1(&self, tx: &mut SendBuf) -> Result<(), ProxyError> {
        let line = match self.addresses {
            None => "PROXY UNKNOWN\r\n".into(),
            Some((from, to)) => {
                let family = match (from, to) {
                    (SocketAddr::V4(_), SocketAddr::V4(_)) => "TCP4",
                    (SocketAddr::V6(_), SocketAddr::V6(_)) => "TCP6",
                    _ => return Err(ProxyError::Address),
                };
                alloc::format!("PROXY {family} {} {} {} {}\r\n", from.ip(), to.ip(), from.port(), to.port())
            }
        };
        tx.put(line);
        Ok(())
    }

    /// Appends it in version 2, in binary.
    ///
    /// # Errors
    ///
    /// [`ProxyError::Address`] if the addresses are of two families, [`ProxyError::TooLong`] if the extensions make it
    /// longer than [`MAX_LEN`](Self::MAX_LEN); then nothing is appended.
    pub fn encode_v2(&self, tx: &mut SendBuf) -> Result<(), ProxyError> {
        let mut addresses = [0; 36];
        let (command, family, len) = match self.addresses {
            None => (0x20, 0x00, 0),
            Some((SocketAddr::V4(from), SocketAddr::V4(to))) => {
                addresses[..4].copy_from_slice(&from.ip().octets());
                addresses[4..8].copy_from_slice(&to.ip().octets());
                addresses[8..10].copy_from_slice(&from.port().to_be_bytes());
                addresses[10..12].copy_from_slice(&to.port().to_be_bytes());
                (0x21, 0x11, 12)
            }
            Some((SocketAddr::V6(from), SocketAddr::V6(to))) => {
                addresses[..16].copy_from_slice(&from.ip().octets());
                addresses[16..32].copy_from_slice(&to.ip().octets());
                addresses[32..34].copy_from_slice(&from.port().to_be_bytes());
                addresses[34..].copy_from_slice(&to.port().to_be_bytes());
                (0x21, 0x21, 36)
            }
            Some(_) => return Err(ProxyError::Address),
        };
        let rest = len + self.extensions.len();
        let announced = match u16::try_from(rest) {
            Ok(announced) if V2_FIXED + rest <= Self::MAX_LEN => announced.to_be_bytes(),
            _ => return Err(ProxyError::TooLong),
        };
        tx.put_parts([V2_SIGNATURE, &[command, family], &announced, &addresses[..len], self.extensions]);
        Ok(())
    }
}

fn decode_v1(unread: &[u8]) -> Result<Option<(ProxyHeader<'_>, usize)>, ProxyError> {
    let head = &unread[..unread.len().min(V1_MAX)];
    let Some(end) = head.windows(2).position(|pair| pair == b"\r\n") else {
        return if head.len() < V1_MAX { Ok(None) } else { Err(ProxyError::TooLong) };
    };
    let line = &head[V1_SIGNATURE.len()..end];
    let mut words = line.split(|byte| *byte == b' ').map(|word| core::str::from_utf8(word).unwrap_or_default());
    let addresses = match words.next() {
        // What comes behind it is to be ignored.
        Some("UNKNOWN") => None,
        Some("TCP4") => Some(words_to_addresses::<Ipv4Addr>(words)?),
        Some("TCP6") => Some(words_to_addresses::<Ipv6Addr>(words)?),
        _ => return Err(ProxyError::Family),
    };
    Ok(Some((ProxyHeader::new(addresses), end + 2)))
}

/// Source, destination and their ports, one blank between each.
fn words_to_addresses<'b, A: core::str::FromStr + Into<IpAddr>>(
    mut words: impl Iterator<Item = &'b str>,
) -> Result<(SocketAddr, SocketAddr), ProxyError> {
    let mut next = || words.next().ok_or(ProxyError::Address);
    let ip = |word: &str| word.parse::<A>().map(Into::into).map_err(|_| ProxyError::Address);
    let (from, to) = (ip(next()?)?, ip(next()?)?);
    let (from, to) = (SocketAddr::new(from, port(next()?)?), SocketAddr::new(to, port(next()?)?));
    match words.next() {
        None => Ok((from, to)),
        Some(_) => Err(ProxyError::Address),
    }
}

/// Digits without a leading zero.
fn port(word: &str) -> Result<u16, ProxyError> {
    let canonical = word == "0" || word.starts_with(|first: char| matches!(first, '1'..='9'));
    match word.parse() {
        Ok(port) if canonical => Ok(port),
        _ => Err(ProxyError::Address),
    }
}

fn decode_v2(unread: &[u8]) -> Result<Option<(ProxyHeader<'_>, usize)>, ProxyError> {
    let Some(&[version_command, family, high, low]) = unread.get(V2_SIGNATURE.len()..V2_FIXED) else {
        return Ok(None);
    };
    let local = match version_command {
        0x20 => true,
        0x21 => false,
        0x22..=0x2F => return Err(ProxyError::Command),
        _ => return Err(ProxyError::Version),
    };
    let total = V2_FIXED + usize::from(u16::from_be_bytes([high, low]));
    if total > ProxyHeader::MAX_LEN {
        return Err(ProxyError::TooLong);
    }
    let Some(rest) = unread.get(V2_FIXED..total) else { return Ok(None) };
    if local {
        // Of a connection of the balancer's own, the rest is to be ignored, whatever the family.
        return Ok(Some((ProxyHeader::new(None), total)));
    }
    let size = match family {
        0x00 => 0,
        0x11 | 0x12 => 12,
        0x21 | 0x22 => 36,
        0x31 | 0x32 => 216,
        _ => return Err(ProxyError::Family),
    };
    let (addresses, extensions) = rest.split_at_checked(size).ok_or(ProxyError::Address)?;
    let addresses = match size {
        12 => addresses_of::<4>(addresses),
        36 => addresses_of::<16>(addresses),
        _ => None,
    };
    Ok(Some((ProxyHeader { addresses, extensions }, total)))
}

/// Source, destination and their ports, in binary.
fn addresses_of<const N: usize>(bytes: &[u8]) -> Option<(SocketAddr, SocketAddr)>
where
    IpAddr: From<[u8; N]>,
{
    let (from, bytes) = bytes.split_first_chunk::<N>()?;
    let (to, bytes) = bytes.split_first_chunk::<N>()?;
    let (from_port, bytes) = bytes.split_first_chunk()?;
    let to_port = bytes.first_chunk()?;
    let address = |ip: &[u8; N], port: &[u8; 2]| SocketAddr::new(IpAddr::from(*ip), u16::from_be_bytes(*port));
    Some((address(from, from_port), address(to, to_port)))
}

/// Why a connection does not begin with a PROXY protocol header that can be used, or one cannot be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ProxyError {
    /// Neither of the two signatures.
    Signature,
    /// A version other than 1 and 2.
    Version,
    /// A command other than `LOCAL` and `PROXY`.
    Command,
    /// An unknown address family or transport.
    Family,
    /// Addresses or ports that are malformed, missing, of two families, or followed by something.
    Address,
    /// Above 107 bytes in version 1, or above [`ProxyHeader::MAX_LEN`].
    TooLong,
}

impl fmt::Display for ProxyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Signature => "the connection does not begin with a PROXY protocol header",
            Self::Version => "unknown version of the PROXY protocol",
            Self::Command => "unknown command of the PROXY protocol",
            Self::Family => "unknown address family in a PROXY protocol header",
            Self::Address => "malformed addresses in a PROXY protocol header",
            Self::TooLong => "a PROXY protocol header is too long",
        })
    }
}

impl core::error::Error for ProxyError {}
