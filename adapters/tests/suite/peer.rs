//! The other end: a plain socket that speaks frames.

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
}

/// A frame on the wire.
pub(crate) fn frame(body: &[u8]) -> Vec<u8> {
    let mut wire = u32::try_from(body.len()).unwrap().to_be_bytes().to_vec();
    wire.extend(body);
    wire
}

/// So many bytes that do not look alike.
pub(crate) fn noise(len: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(2).wrapping_add(1);
    (0..len)
        .map(|_| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 56) as u8
        })
        .collect()
}

impl Peer {
    pub(crate) fn connect(address: SocketAddr) -> Self {
        Self::over(TcpStream::connect(address).unwrap())
    }

    pub(crate) fn over(socket: TcpStream) -> Self {
        socket.set_read_timeout(Some(GUARD)).unwrap();
        socket.set_write_timeout(Some(GUARD)).unwrap();
        socket.set_nodelay(true).unwrap();
        Self { socket }
    }

    /// Whose receive buffer is about that small.
    pub(crate) fn with_receive_buffer(address: SocketAddr, size: usize) -> Self {
        let socket = socket2::Socket::new(socket2::Domain::for_address(address), socket2::Type::STREAM, None).unwrap();
        socket.set_recv_buffer_size(size).unwrap();
        socket.connect(&address.into()).unwrap();
        Self::over(socket.into())
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) {
        self.socket.write_all(bytes).unwrap();
    }

    pub(crate) fn send(&mut self, body: &[u8]) {
        self.write(&frame(body));
    }

    pub(crate) fn finish(&self) {
        self.socket.shutdown(Shutdown::Write).unwrap();
    }

    pub(crate) fn receive(&mut self) -> Vec<u8> {
        self.try_receive().unwrap()
    }

    pub(crate) fn try_receive(&mut self) -> io::Result<Vec<u8>> {
        let mut prefix = [0; 4];
        self.socket.read_exact(&mut prefix)?;
        let mut body = vec![0; u32::from_be_bytes(prefix) as usize];
        self.socket.read_exact(&mut body)?;
        Ok(body)
    }

    /// Sends it, and expects it back.
    #[track_caller]
    pub(crate) fn echoes(&mut self, body: &[u8]) {
        self.send(body);
        assert!(self.receive() == body, "an echo is not what was sent");
    }

    /// Nothing follows, and the end is an orderly one.
    #[track_caller]
    pub(crate) fn assert_end(&mut self) {
        assert_eq!(self.rest().expect("an orderly end"), b"");
    }

    /// Nothing follows, and it ends somehow.
    #[track_caller]
    pub(crate) fn assert_cut_off(&mut self) {
        match self.rest() {
            Ok(rest) => assert_eq!(rest, b""),
            Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset, "{error}"),
        }
    }

    /// All there is up to the end.
    pub(crate) fn rest(&mut self) -> io::Result<Vec<u8>> {
        let mut rest = Vec::new();
        self.socket.read_to_end(&mut rest).map(|_| rest)
    }

    /// Whether nothing has come by now.
    pub(crate) fn has_nothing(&self) -> bool {
        self.socket.set_nonblocking(true).unwrap();
        let read = self.socket.peek(&mut [0]);
        self.socket.set_nonblocking(false).unwrap();
        matches!(read, Err(error) if error.kind() == ErrorKind::WouldBlock)
    }

    /// Closes with a reset.
    pub(crate) fn reset(self) {
        socket2::SockRef::from(&self.socket).set_linger(Some(Duration::ZERO)).unwrap();
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
}
