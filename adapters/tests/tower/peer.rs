//! The client: a plain socket, and what is said over it, written out.

use std::{
    io::{self, ErrorKind, Read, Write},
    net::{Shutdown, SocketAddr, TcpStream},
    time::Duration,
};

/// No wait is for ever. Nothing is measured by this.
pub(crate) const GUARD: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub(crate) struct Peer {
    pub(crate) socket: TcpStream,
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

/// A request whose body comes in chunks, up to its head.
pub(crate) fn post_chunked(target: &str) -> String {
    format!("POST {target} HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n")
}

pub(crate) fn chunk(data: &str) -> String {
    format!("{:x}\r\n{data}\r\n", data.len())
}

/// The last chunk, without trailers.
pub(crate) const LAST_CHUNK: &str = "0\r\n\r\n";

/// The head of a `200` in chunks.
pub(crate) const OK_CHUNKED: &str = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";

/// A whole `200`.
pub(crate) fn ok(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

/// The same as the last one of its connection.
pub(crate) fn ok_and_close(body: &str) -> String {
    ok(body).replacen("content-length", "connection: close\r\ncontent-length", 1)
}

/// A response without content that is the last one.
pub(crate) fn refusal(status_and_reason: &str) -> String {
    format!("HTTP/1.1 {status_and_reason}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n")
}

impl Peer {
    pub(crate) fn connect(address: SocketAddr) -> Self {
        let socket = TcpStream::connect(address).unwrap();
        socket.set_read_timeout(Some(GUARD)).unwrap();
        socket.set_write_timeout(Some(GUARD)).unwrap();
        socket.set_nodelay(true).unwrap();
        Self { socket, ahead: Vec::new() }
    }

    pub(crate) fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.socket.write_all(bytes.as_ref()).unwrap();
    }

    pub(crate) fn finish(&self) {
        self.socket.shutdown(Shutdown::Write).unwrap();
    }

    /// Writes until the other end has taken nothing for a moment, so that the buffers between are full; how much.
    pub(crate) fn fill(&mut self, bytes: &[u8]) -> usize {
        self.socket.set_write_timeout(Some(Duration::from_millis(300))).unwrap();
        let mut written = 0;
        while written < bytes.len() {
            match self.socket.write(&bytes[written..]) {
                Ok(n) => written += n,
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => break,
                Err(error) => panic!("{error}"),
            }
        }
        self.socket.set_write_timeout(Some(GUARD)).unwrap();
        written
    }

    /// Whether nothing has come by now.
    pub(crate) fn has_nothing(&self) -> bool {
        self.socket.set_nonblocking(true).unwrap();
        let read = self.socket.peek(&mut [0]);
        self.socket.set_nonblocking(false).unwrap();
        self.ahead.is_empty() && matches!(read, Err(error) if error.kind() == ErrorKind::WouldBlock)
    }

    /// Says that, and is answered that: responses one after the other, whose heads have a date, which is not looked at.
    #[track_caller]
    pub(crate) fn ask(&mut self, request: impl AsRef<[u8]>, answer: impl AsRef<str>) {
        self.send(request);
        self.hears(answer);
    }

    /// Reads what comes next, which must be that: the head of a response, without its date, and what is behind it.
    #[track_caller]
    pub(crate) fn hears(&mut self, answer: impl AsRef<str>) {
        let (head, rest) = answer.as_ref().split_once("\r\n\r\n").expect("a head");
        let came = self.head();
        assert_eq!(came.0, format!("{head}\r\n\r\n"));
        assert_eq!(came.1.len(), 1, "one date: {came:?}");
        self.expect(rest);
    }

    /// The head of a response, without its dates, and those.
    #[track_caller]
    pub(crate) fn head(&mut self) -> (String, Vec<String>) {
        let (mut head, mut dates) = (String::new(), Vec::new());
        loop {
            let line = self.line();
            match line.strip_prefix("date: ") {
                Some(date) => dates.push(date.trim_end().to_owned()),
                None => head += &line,
            }
            if line == "\r\n" {
                return (head, dates);
            }
        }
    }

    /// Reads what comes next, which must be that.
    #[track_caller]
    pub(crate) fn expect(&mut self, bytes: impl AsRef<[u8]>) {
        let expected = bytes.as_ref();
        while self.ahead.len() < expected.len() && expected.starts_with(&self.ahead) && self.read_more().unwrap() {}
        let came = self.ahead.get(..expected.len()).unwrap_or(&self.ahead);
        assert!(came == expected, "expected: {}\ncame: {}", shown(expected), shown(&self.ahead));
        self.ahead.drain(..expected.len());
    }

    /// Nothing follows, and the end is an orderly one; then it closes, which the server waits for.
    #[track_caller]
    pub(crate) fn expect_end(mut self) {
        let rest = self.rest().expect("an orderly end");
        assert!(rest.is_empty(), "expected the end, but there came: {}", shown(&rest));
    }

    /// All there is up to the end.
    pub(crate) fn rest(&mut self) -> io::Result<Vec<u8>> {
        let mut rest = std::mem::take(&mut self.ahead);
        self.socket.read_to_end(&mut rest)?;
        Ok(rest)
    }

    /// So many bytes, whatever they are.
    #[track_caller]
    pub(crate) fn bytes(&mut self, count: usize) -> Vec<u8> {
        let mut bytes: Vec<_> = self.ahead.drain(..count.min(self.ahead.len())).collect();
        let begun = bytes.len();
        bytes.resize(count, 0);
        self.socket.read_exact(&mut bytes[begun..]).unwrap();
        bytes
    }

    /// A chunk; `None` if it is the last one.
    #[track_caller]
    pub(crate) fn chunk(&mut self) -> Option<Vec<u8>> {
        let size = usize::from_str_radix(self.line().trim_end(), 16).expect("a size");
        if size == 0 {
            return None;
        }
        let data = self.bytes(size);
        self.expect("\r\n");
        Some(data)
    }

    #[track_caller]
    fn line(&mut self) -> String {
        loop {
            if let Some(at) = self.ahead.iter().position(|&byte| byte == b'\n') {
                return String::from_utf8(self.ahead.drain(..=at).collect()).expect("text");
            }
            assert!(self.read_more().unwrap(), "the end, after {}", shown(&self.ahead));
        }
    }

    /// Whether there was more.
    fn read_more(&mut self) -> io::Result<bool> {
        let mut block = [0; 16 * 1024];
        let n = self.socket.read(&mut block)?;
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
