//! WebSocket messages, each of one frame.

use super::{
    Candidate, FIXED,
    fixed::Fixed,
    framed::{BATCH, batches},
    http::write,
    workload::{MAX_BODY, Workload},
};
use bytewise::{
    Machine, Payload, RecvBuf, SendBuf,
    ws::{Config, Connection, Event, MaskKeys, handshake::Negotiated},
};
use std::hint::black_box;

/// Bytes of text messages.
const TEXT: usize = 1024;

/// Of one byte to a letter.
pub const ASCII: &str = "The quick brown fox jumps over the lazy dog. ";

/// Scripts of one, two, three and four bytes to a letter.
pub const MIXED: &str = "The quick brown fox, быстрая лиса, γρήγορη αλεπού, ถ้าหมาจิ้งจอก, 素早い茶色の狐 🦊, שועל מהיר; ";

/// Longest header: that of a message of 64 KiB from a client.
const HEADER: usize = 14;

const MASK: [u8; 4] = [0x37, 0xFA, 0x21, 0x3D];

/// What is in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// UTF-8.
    Text = 1,
    /// Any bytes.
    Binary = 2,
}

/// Who sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Does not mask.
    Server,
    /// Masks.
    Client,
}

/// That sentence over and over, filled up with spaces.
#[must_use]
pub fn text(sentence: &str) -> Vec<u8> {
    let mut text = sentence.repeat(TEXT / sentence.len()).into_bytes();
    text.resize(TEXT, b' ');
    text
}

/// The frame in which a client sends it.
#[must_use]
pub fn masked(kind: Kind, mut payload: Vec<u8>) -> Vec<u8> {
    let mut header = [0; HEADER];
    let length = put_header(&mut header, kind, payload.len(), Some(MASK));
    unmask(&mut payload, MASK);
    [&header[..length], &payload].concat()
}

/// Its length.
fn put_header(to: &mut [u8], kind: Kind, length: usize, mask: Option<[u8; 4]>) -> usize {
    let masked = if mask.is_some() { 0x80 } else { 0 };
    to[0] = 0x80 | kind as u8;
    let mut end = match length {
        0..=125 => {
            to[1] = masked | length as u8;
            2
        }
        126..=0xFFFF => {
            to[1] = masked | 126;
            to[2..4].copy_from_slice(&(length as u16).to_be_bytes());
            4
        }
        _ => {
            to[1] = masked | 127;
            to[2..10].copy_from_slice(&(length as u64).to_be_bytes());
            10
        }
    };
    if let Some(mask) = mask {
        to[end..end + 4].copy_from_slice(&mask);
        end += 4;
    }
    end
}

/// Length of the header of a client's whole message, of the payload, and the key; `None` while the header is cut off.
fn header(bytes: &[u8], kind: Kind) -> Option<(usize, usize, [u8; 4])> {
    let [first, second, ..] = *bytes else { return None };
    assert!(first == 0x80 | kind as u8 && second >= 0x80, "not as it was sent");
    let (start, length) = match second & 0x7F {
        126 => (4, u64::from(u16::from_be_bytes(*bytes.get(2..4)?.first_chunk()?))),
        127 => (10, u64::from_be_bytes(*bytes.get(2..10)?.first_chunk()?)),
        length => (2, u64::from(length)),
    };
    assert!(length <= MAX_BODY as u64, "above the limit");
    Some((start + 4, length as usize, *bytes.get(start..)?.first_chunk()?))
}

/// From the beginning of a payload; masks too.
fn unmask(payload: &mut [u8], key: [u8; 4]) {
    let [a, b, c, d] = key;
    let eight = u64::from_ne_bytes([a, b, c, d, a, b, c, d]);
    let (words, rest) = payload.as_chunks_mut();
    words.iter_mut().for_each(|word| *word = (u64::from_ne_bytes(*word) ^ eight).to_ne_bytes());
    rest.iter_mut().zip(key.iter().cycle()).for_each(|(byte, key)| *byte ^= key);
}

/// A loop by hand over a fixed buffer, unmasked in place: the same blocks, the same limit. The buffer has room for eight
/// of the largest messages: with less, moving what is cut off to its beginning would be a third of their time.
#[must_use]
pub fn hand_decode(work: &Workload, kind: Kind) -> Candidate<'_> {
    let mut rx = Fixed::new(4 * FIXED + HEADER);
    let pass = move || {
        let mut messages = 0;
        for block in work.blocks() {
            rx.push(block);
            while let Some((start, length, key)) = header(rx.unread(), kind) {
                let Some(payload) = rx.unread_mut().get_mut(start..start + length) else { break };
                unmask(payload, key);
                match kind {
                    Kind::Binary => _ = black_box(payload),
                    Kind::Text => _ = black_box(simdutf8::basic::from_utf8(payload).expect("it was sent so")),
                }
                rx.take(start + length);
                messages += 1;
            }
        }
        messages
    };
    Candidate::new("hand", pass)
}

pub(super) fn config() -> Config {
    Config::default().with_max_message(MAX_BODY)
}

/// Takes messages.
#[must_use]
pub fn decode(work: &Workload) -> Candidate<'_> {
    let (mut rx, mut tx) = (RecvBuf::new(), SendBuf::new());
    let mut ws = Connection::server(&config(), Negotiated::default());
    let pass = move || {
        let mut messages = 0;
        for block in work.blocks() {
            rx.push(block);
            while let Some(event) = ws.next_event(&mut rx, &mut tx).expect("messages are as they were sent") {
                match event {
                    Event::Binary(data) => _ = black_box(data),
                    Event::Text(text) => _ = black_box(text),
                    _ => continue,
                }
                messages += 1;
            }
        }
        messages
    };
    Candidate::new("bytewise", pass)
}

/// By hand into a fixed buffer. The keys of a client are cheap ones, which an attacker could foretell.
#[must_use]
pub fn hand_encode(payload: &[u8], role: Role) -> Candidate<'_> {
    let mut buf = vec![0; BATCH * (HEADER + payload.len())];
    let mut state = 1_u32;
    let pass = move || {
        batches(|| {
            let mut end = 0;
            for _ in 0..BATCH {
                let payload = black_box(payload);
                state = state.wrapping_mul(0x0019_660D).wrapping_add(0x3C6E_F35F);
                let mask = (role == Role::Client).then_some(state.to_be_bytes());
                end += put_header(&mut buf[end..], Kind::Binary, payload.len(), mask);
                let to = &mut buf[end..][..payload.len()];
                to.copy_from_slice(payload);
                if let Some(mask) = mask {
                    unmask(to, mask);
                }
                end += to.len();
            }
            black_box(&buf[..end]);
        })
    };
    Candidate::new("hand", pass)
}

/// Owned payloads are a shared handle here; long ones are not copied, unless they are masked.
#[must_use]
pub fn encode<'p>(name: &'static str, payload: impl Into<Payload<'p>> + Clone + 'p, role: Role) -> Candidate<'p> {
    let mut tx = SendBuf::new();
    let mut ws = match role {
        Role::Server => Connection::server(&config(), Negotiated::default()),
        Role::Client => Connection::client(&config(), Negotiated::default(), MaskKeys::from_seed([7; 32])),
    };
    let pass = move || {
        batches(|| {
            for _ in 0..BATCH {
                ws.send_binary(black_box(&payload).clone(), &mut tx).expect("the connection is open");
            }
            write(&mut tx);
        })
    };
    Candidate::new(name, pass)
}

/// An echo between fixed buffers.
#[must_use]
pub fn hand_echo(work: &Workload) -> Candidate<'_> {
    let (mut rx, mut tx) = (Fixed::new(FIXED), vec![0; FIXED]);
    let pass = move || {
        let mut messages = 0;
        for block in work.blocks() {
            rx.push(block);
            let mut end = 0;
            while let Some((start, length, key)) = header(rx.unread(), Kind::Binary) {
                let Some(payload) = rx.unread_mut().get_mut(start..start + length) else { break };
                unmask(payload, key);
                end += put_header(&mut tx[end..], Kind::Binary, length, None);
                tx[end..][..length].copy_from_slice(payload);
                end += length;
                rx.take(start + length);
                messages += 1;
            }
            black_box(&tx[..end]);
        }
        messages
    };
    Candidate::new("hand", pass)
}
