//! The other end, written out: frames by hand over a plain socket.

use crate::runtime::GUARD;
use bytewise::ws::handshake::accept_key;
use std::{
    io::{ErrorKind, Read, Write},
    net::{TcpListener, TcpStream},
    thread::{self, JoinHandle},
    time::Duration,
};

pub(crate) const TEXT: u8 = 0x81;
pub(crate) const BINARY: u8 = 0x82;
pub(crate) const CLOSE: u8 = 0x88;
pub(crate) const PING: u8 = 0x89;
pub(crate) const PONG: u8 = 0x8A;

pub(crate) const KEY: &str = "dGhlIHNhbXBsZSBub25jZQ==";

/// A whole upgrade request, with those fields more.
pub(crate) fn request(target: &str, more: &str) -> Vec<u8> {
    format!(
        "GET {target} HTTP/1.1\r\nhost: a\r\nconnection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n\
         sec-websocket-key: {KEY}\r\n{more}\r\n"
    )
    .into_bytes()
}

/// A frame as it is on the wire; a client's is masked.
pub(crate) fn frame(b0: u8, payload: &[u8], masked: bool) -> Vec<u8> {
    let mut frame = vec![b0];
    let bit = if masked { 0x80 } else { 0 };
    match payload.len() {
        len @ 0..126 => frame.push(bit | len as u8),
        len @ 126..65536 => {
            frame.push(bit | 126);
            frame.extend((len as u16).to_be_bytes());
        }
        len => {
            frame.push(bit | 127);
            frame.extend((len as u64).to_be_bytes());
        }
    }
    if masked {
        let mask = [0x37, 0xFA, 0x21, 0x3D];
        frame.extend(mask);
        frame.extend(payload.iter().zip(mask.iter().cycle()).map(|(byte, key)| byte ^ key));
    } else {
        frame.extend(payload);
    }
    frame
}

pub(crate) fn close_payload(code: u16, reason: &str) -> Vec<u8> {
    [&code.to_be_bytes()[..], reason.as_bytes()].concat()
}

/// A socket that speaks WebSocket by hand.
#[derive(Debug)]
pub(crate) struct Peer {
    pub(crate) socket: TcpStream,
    is_client: bool,
}

impl Peer {
    pub(crate) fn over(socket: TcpStream, is_client: bool) -> Self {
        socket.set_read_timeout(Some(GUARD)).unwrap();
        socket.set_write_timeout(Some(GUARD)).unwrap();
        socket.set_nodelay(true).unwrap();
        Self { socket, is_client }
    }

    /// A client of that server, upgraded.
    pub(crate) fn connect(port: u16) -> Self {
        let mut peer = Self::plain(port);
        peer.write(&request("/ws", ""));
        let head = peer.head();
        assert!(head.starts_with("HTTP/1.1 101 "), "{head}");
        peer
    }

    /// A client of that server, before anything is said.
    pub(crate) fn plain(port: u16) -> Self {
        Self::over(TcpStream::connect(("127.0.0.1", port)).unwrap(), true)
    }

    /// A socket for one of ours, and the peer at its other end, without a handshake.
    pub(crate) fn pair(is_client: bool) -> (TcpStream, Self) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let ours = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (ours, Self::over(listener.accept().unwrap().0, is_client))
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) {
        self.socket.write_all(bytes).unwrap();
    }

    pub(crate) fn send(&mut self, b0: u8, payload: &[u8]) {
        self.write(&frame(b0, payload, self.is_client));
    }

    pub(crate) fn read(&mut self, count: usize) -> Vec<u8> {
        let mut bytes = vec![0; count];
        self.socket.read_exact(&mut bytes).unwrap();
        bytes
    }

    /// Up to and with the blank line, and not a byte more.
    pub(crate) fn head(&mut self) -> String {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.extend(self.read(1));
        }
        String::from_utf8(head).unwrap()
    }

    /// The next frame.
    pub(crate) fn frame(&mut self) -> (u8, Vec<u8>) {
        let head = self.read(2);
        assert_eq!(head[1] & 0x80 != 0, !self.is_client, "masked if and only if a client's");
        let len = match head[1] & 0x7F {
            126 => usize::from(u16::from_be_bytes(self.read(2).try_into().unwrap())),
            127 => u64::from_be_bytes(self.read(8).try_into().unwrap()) as usize,
            len => usize::from(len),
        };
        let mask = if self.is_client { vec![0; 4] } else { self.read(4) };
        let mut payload = self.read(len);
        payload.iter_mut().zip(mask.iter().cycle()).for_each(|(byte, key)| *byte ^= key);
        (head[0], payload)
    }

    #[track_caller]
    pub(crate) fn expect(&mut self, b0: u8, payload: &[u8]) {
        let (found, bytes) = self.frame();
        assert_eq!(found, b0, "another frame, with {:?}", String::from_utf8_lossy(&bytes[..bytes.len().min(100)]));
        assert!(bytes == payload, "another payload, of {} bytes", bytes.len());
    }

    #[track_caller]
    pub(crate) fn expect_close(&mut self, code: u16) {
        self.expect(CLOSE, &code.to_be_bytes());
    }

    /// The end, and no reset.
    #[track_caller]
    pub(crate) fn expect_end(mut self) {
        assert_eq!(self.socket.read(&mut [0]).unwrap(), 0);
    }

    /// Reads whatever comes up to the end, in whatever way it ends.
    pub(crate) fn drain(&mut self) -> Vec<u8> {
        let mut all = Vec::new();
        if let Err(error) = self.socket.read_to_end(&mut all) {
            assert!(!matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut), "no end comes");
        }
        all
    }

    /// No more will be written.
    pub(crate) fn finish(&mut self) {
        self.socket.shutdown(std::net::Shutdown::Write).unwrap();
    }

    /// Makes the end a reset.
    pub(crate) fn reset(self) {
        socket2::SockRef::from(&self.socket).set_linger(Some(Duration::ZERO)).unwrap();
    }
}

/// A server that plays what a test writes out, one connection after the other.
pub(crate) struct Site {
    pub(crate) port: u16,
    thread: JoinHandle<()>,
}

impl Site {
    /// It plays each of these once.
    pub(crate) fn playing(
        plays: impl IntoIterator<Item = Box<dyn FnOnce(Peer, String) + Send>> + Send + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        Self::on(listener, plays)
    }

    fn on(
        listener: TcpListener,
        plays: impl IntoIterator<Item = Box<dyn FnOnce(Peer, String) + Send>> + Send + 'static,
    ) -> Self {
        let port = listener.local_addr().unwrap().port();
        let thread = thread::spawn(move || {
            for play in plays {
                let mut peer = Peer::over(listener.accept().unwrap().0, false);
                let head = peer.head();
                play(peer, head);
            }
        });
        Self { port, thread }
    }

    /// It plays that, with the head of the request.
    pub(crate) fn once(play: impl FnOnce(Peer, String) + Send + 'static) -> Self {
        Self::playing([Box::new(play) as Box<dyn FnOnce(Peer, String) + Send>])
    }

    /// The same on another address, if there is one.
    pub(crate) fn once_on(address: &str, play: impl FnOnce(Peer, String) + Send + 'static) -> Option<Self> {
        let listener = TcpListener::bind(address).ok()?;
        Some(Self::on(listener, [Box::new(play) as Box<dyn FnOnce(Peer, String) + Send>]))
    }

    pub(crate) fn url(&self) -> String {
        format!("ws://127.0.0.1:{}/ws", self.port)
    }

    /// All that it plays is played.
    pub(crate) fn done(self) {
        self.thread.join().expect("the site's part went well");
    }
}

/// A field of a head; its name is in lower case.
pub(crate) fn field<'h>(head: &'h str, name: &str) -> Option<&'h str> {
    head.lines()
        .find_map(|line| line.split_once(": ").filter(|(found, _)| found.eq_ignore_ascii_case(name)))
        .map(|(_, value)| value)
}

/// The response that accepts a request, with those fields more.
pub(crate) fn accepting(head: &str, more: &str) -> String {
    let accept = accept_key(field(head, "sec-websocket-key").unwrap().as_bytes());
    let accept = str::from_utf8(&accept).unwrap();
    format!(
        "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\n\
         sec-websocket-accept: {accept}\r\n{more}\r\n"
    )
}

/// Bytes that do not repeat soon.
pub(crate) fn noise(len: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let words = std::iter::repeat_with(move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    });
    let mut bytes: Vec<u8> = words.take(len / 8 + 1).flatten().collect();
    bytes.truncate(len);
    bytes
}
