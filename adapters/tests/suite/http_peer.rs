//! The other end of HTTP: a plain socket, and what is said over it, written out.

use crate::peer::Peer;
use std::{
    io::{self, Read},
    net::{SocketAddr, TcpStream},
};

/// A client or a server that says and expects exact bytes.
#[derive(Debug)]
pub(crate) struct HttpPeer {
    pub(crate) peer: Peer,
    /// What has come and was not expected yet.
    ahead: Vec<u8>,
}

/// A request without a body.
pub(crate) fn get(target: &str) -> String {
    format!("GET {target} HTTP/1.1\r\nhost: a\r\n\r\n")
}

/// A request with a body of that length.
pub(crate) fn post(target: &str, body: &str) -> String {
    format!("POST {target} HTTP/1.1\r\nhost: a\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

/// A request whose body is announced in chunks, up to its head.
pub(crate) fn post_chunked(target: &str) -> String {
    format!("POST {target} HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n")
}

/// A request that waits for `100`, up to its head.
pub(crate) fn post_expecting(target: &str, length: usize) -> String {
    format!("POST {target} HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\ncontent-length: {length}\r\n\r\n")
}

pub(crate) fn chunk(data: &str) -> String {
    format!("{:x}\r\n{data}\r\n", data.len())
}

/// The last chunk, without trailers.
pub(crate) const LAST_CHUNK: &str = "0\r\n\r\n";

pub(crate) const CONTINUE: &str = "HTTP/1.1 100 Continue\r\n\r\n";

/// A whole `200`.
pub(crate) fn ok(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

/// The same as the last one of its connection.
pub(crate) fn ok_and_close(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

/// The head of a `200` in chunks.
pub(crate) const OK_CHUNKED: &str = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";

/// What the server answers by itself when it refuses a request.
pub(crate) fn refusal(status_and_reason: &str) -> String {
    format!("HTTP/1.1 {status_and_reason}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n")
}

impl HttpPeer {
    pub(crate) fn connect(address: SocketAddr) -> Self {
        Self::over(Peer::connect(address))
    }

    pub(crate) const fn over(peer: Peer) -> Self {
        Self { peer, ahead: Vec::new() }
    }

    /// The same socket once more, for another thread that writes.
    pub(crate) fn writer(&self) -> TcpStream {
        self.peer.socket.try_clone().unwrap()
    }

    pub(crate) fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.peer.write(bytes.as_ref());
    }

    /// Reads what comes next, which must be that.
    #[track_caller]
    pub(crate) fn expect(&mut self, bytes: impl AsRef<[u8]>) {
        let expected = bytes.as_ref();
        let mut end = "";
        while self.ahead.len() < expected.len() {
            match self.read_more() {
                Ok(true) => {}
                Ok(false) => end = "the end",
                Err(error) => panic!("{error} after {}", shown(&self.ahead)),
            }
            // Later bytes make an earlier difference no better.
            if !end.is_empty() || !expected.starts_with(&self.ahead) {
                break;
            }
        }
        let came = self.ahead.get(..expected.len()).unwrap_or(&self.ahead);
        assert!(came == expected, "expected: {}\ncame: {}{end}", shown(expected), shown(&self.ahead));
        self.ahead.drain(..expected.len());
    }

    /// Says that, and is answered that.
    #[track_caller]
    pub(crate) fn ask(&mut self, request: impl AsRef<[u8]>, answer: impl AsRef<[u8]>) {
        self.send(request);
        self.expect(answer);
    }

    /// Nothing follows, and the end is an orderly one.
    #[track_caller]
    pub(crate) fn expect_end(&mut self) {
        let rest = self.rest().expect("an orderly end");
        assert!(rest.is_empty(), "expected the end, but there came: {}", shown(&rest));
    }

    /// Ends the connection by a reset, which takes nothing back that has come.
    pub(crate) fn reset(self) {
        self.peer.reset();
    }

    /// All there is up to the end.
    pub(crate) fn rest(&mut self) -> io::Result<Vec<u8>> {
        let mut rest = std::mem::take(&mut self.ahead);
        self.peer.socket.read_to_end(&mut rest)?;
        Ok(rest)
    }

    /// What comes up to and with `end`.
    #[track_caller]
    pub(crate) fn read_to(&mut self, end: &str) -> String {
        let end = end.as_bytes();
        loop {
            if let Some(at) = self.ahead.windows(end.len()).position(|window| window == end) {
                let bytes: Vec<_> = self.ahead.drain(..at + end.len()).collect();
                return String::from_utf8(bytes).expect("text");
            }
            assert!(self.read_more().unwrap(), "the end before {}, after {}", shown(end), shown(&self.ahead));
        }
    }

    /// A body in chunks, put together, and its trailer section; the head was read before.
    #[track_caller]
    pub(crate) fn chunks(&mut self) -> (Vec<u8>, String) {
        let mut body = Vec::new();
        loop {
            let line = self.read_to("\r\n");
            let size = usize::from_str_radix(line.trim_end(), 16).expect("a size");
            if size == 0 {
                let mut trailers = String::new();
                while !trailers.ends_with("\r\n\r\n") && trailers != "\r\n" {
                    trailers += &self.read_to("\r\n");
                }
                return (body, trailers);
            }
            self.read_into(&mut body, size);
            self.expect("\r\n");
        }
    }

    /// So many bytes, whatever they are.
    #[track_caller]
    pub(crate) fn bytes(&mut self, count: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.read_into(&mut bytes, count);
        bytes
    }

    #[track_caller]
    fn read_into(&mut self, bytes: &mut Vec<u8>, count: usize) {
        let mut left = count;
        while left > 0 {
            if self.ahead.is_empty() {
                assert!(self.read_more().unwrap(), "the end, {left} bytes too early");
            }
            let n = left.min(self.ahead.len());
            bytes.extend(self.ahead.drain(..n));
            left -= n;
        }
    }

    /// Whether there was more.
    fn read_more(&mut self) -> io::Result<bool> {
        let mut block = [0; 16 * 1024];
        let n = self.peer.socket.read(&mut block)?;
        self.ahead.extend(&block[..n]);
        Ok(n > 0)
    }
}

/// Bytes as a literal, cut if they are many.
fn shown(bytes: &[u8]) -> String {
    match bytes.get(..2000) {
        None => format!("\"{}\"", bytes.escape_ascii()),
        Some(front) => format!("\"{}\"... ({} bytes)", front.escape_ascii(), bytes.len()),
    }
}
