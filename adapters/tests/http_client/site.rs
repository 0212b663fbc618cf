//! The other end: a server that each test writes out, on threads and plain sockets, and what it hears.

use std::{
    io::{self, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread,
    time::Duration,
};

/// No wait is for ever. Nothing is measured by this.
pub(crate) const GUARD: Duration = Duration::from_secs(30);

/// A server that runs; what it does with a connection is a test's own.
#[derive(Debug)]
pub(crate) struct Site {
    pub(crate) address: SocketAddr,
    requests: mpsc::Receiver<Request>,
    ends: mpsc::Receiver<usize>,
    stopping: Arc<AtomicBool>,
}

/// A connection that it accepted.
#[derive(Debug)]
pub(crate) struct Conn {
    pub(crate) socket: TcpStream,
    /// From 0, in the order in which they were accepted.
    pub(crate) number: usize,
    /// Received and not taken yet.
    ahead: Vec<u8>,
    log: mpsc::Sender<Request>,
}

/// A request as it came.
#[derive(Debug, Clone, Default)]
pub(crate) struct Request {
    /// The connection's number.
    pub(crate) conn: usize,
    /// Up to and with the blank line.
    pub(crate) head: String,
    /// Without chunks.
    pub(crate) body: String,
    /// The lines after the last chunk.
    pub(crate) trailers: String,
}

impl Request {
    pub(crate) fn method(&self) -> &str {
        self.head.split(' ').next().unwrap()
    }

    pub(crate) fn target(&self) -> &str {
        self.head.split(' ').nth(1).unwrap()
    }

    /// The value of a field, whose name is in lower case.
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        let start = format!("{name}: ");
        self.head.lines().find_map(|line| line.strip_prefix(start.as_str()))
    }

    /// Names of its fields.
    pub(crate) fn names(&self) -> Vec<&str> {
        self.head.lines().skip(1).filter_map(|line| Some(line.split_once(": ")?.0)).collect()
    }
}

/// A whole `200`.
pub(crate) fn ok(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

/// A whole redirect, with something for people in it.
pub(crate) fn redirect(status: u16, location: &str) -> String {
    format!("HTTP/1.1 {status} Elsewhere\r\nlocation: {location}\r\ncontent-length: 5\r\n\r\nmoved")
}

impl Site {
    pub(crate) fn start(handle: impl Fn(&mut Conn) + Send + Sync + 'static) -> Self {
        Self::over(TcpListener::bind("127.0.0.1:0").unwrap(), handle)
    }

    /// [`plain`](Self::plain) on another address, if it exists.
    pub(crate) fn on(address: &str) -> Option<Self> {
        Some(Self::over(TcpListener::bind(address).ok()?, plainly))
    }

    fn over(listener: TcpListener, handle: impl Fn(&mut Conn) + Send + Sync + 'static) -> Self {
        let address = listener.local_addr().unwrap();
        let ((log, requests), (end, ends)) = (mpsc::channel(), mpsc::channel());
        let stopping = Arc::new(AtomicBool::new(false));
        let (until, handle) = (Arc::clone(&stopping), Arc::new(handle));
        thread::spawn(move || {
            for number in 0.. {
                let (socket, _) = listener.accept().unwrap();
                if until.load(Ordering::Relaxed) {
                    break;
                }
                socket.set_read_timeout(Some(GUARD)).unwrap();
                socket.set_write_timeout(Some(GUARD)).unwrap();
                socket.set_nodelay(true).unwrap();
                let (handle, end) = (Arc::clone(&handle), end.clone());
                let mut conn = Conn { socket, number, ahead: Vec::new(), log: log.clone() };
                thread::spawn(move || {
                    handle(&mut conn);
                    drop(conn);
                    let _ = end.send(number);
                });
            }
        });
        Self { address, requests, ends, stopping }
    }

    /// Answers every request with what it says; HEAD without the body.
    pub(crate) fn answering(answer: impl Fn(&Request) -> String + Send + Sync + 'static) -> Self {
        Self::start(move |conn| conn.answer(&answer))
    }

    /// Answers every request with its method and target.
    pub(crate) fn plain() -> Self {
        Self::start(plainly)
    }

    /// The URL of a target of this site.
    pub(crate) fn url(&self, target: &str) -> String {
        format!("http://{}{target}", self.address)
    }

    /// The next request, whether it has come already or not.
    #[track_caller]
    pub(crate) fn request(&self) -> Request {
        self.requests.recv_timeout(GUARD).expect("a request")
    }

    /// Requests that have come since, as `0 GET /`: number of the connection, method, target. Those that are answered have
    /// come.
    pub(crate) fn heard(&self) -> Vec<String> {
        let line = |request: Request| format!("{} {} {}", request.conn, request.method(), request.target());
        self.requests.try_iter().map(line).collect()
    }

    /// Waits until a connection has ended: the client closed it, or the site did.
    #[track_caller]
    pub(crate) fn ended(&self) -> usize {
        self.ends.recv_timeout(GUARD).expect("the end of a connection")
    }

    /// Whether a connection has ended by now.
    pub(crate) fn has_ended(&self) -> bool {
        self.ends.try_recv().is_ok()
    }
}

fn plainly(conn: &mut Conn) {
    conn.answer(&|request| ok(&format!("{} {}", request.method(), request.target())));
}

impl Drop for Site {
    fn drop(&mut self) {
        self.stopping.store(true, Ordering::Relaxed);
        drop(TcpStream::connect(self.address));
    }
}

impl Conn {
    fn answer(&mut self, answer: &impl Fn(&Request) -> String) {
        while let Some(request) = self.request() {
            let answer = answer(&request);
            let head = answer.find("\r\n\r\n").map_or(answer.len(), |end| end + 4);
            self.say(if request.method() == "HEAD" { &answer[..head] } else { &answer });
        }
    }

    /// The next request, with its body; `None` at the end of the connection.
    pub(crate) fn request(&mut self) -> Option<Request> {
        let mut request = self.head()?;
        let chunked = request.field("transfer-encoding") == Some("chunked");
        let length = request.field("content-length").map(|length| length.parse().unwrap());
        match length {
            Some(length) => request.body = self.take(length)?,
            None if chunked => loop {
                let size = usize::from_str_radix(self.line()?.trim_end(), 16).unwrap();
                if size == 0 {
                    request.trailers = self.trailers()?;
                    break;
                }
                request.body += &self.take(size)?;
                assert_eq!(self.take(2)?, "\r\n");
            },
            None => {}
        }
        let _ = self.log.send(request.clone());
        Some(request)
    }

    /// The head of the next request; what of it is to be logged is said by [`heard`](Self::heard).
    pub(crate) fn head(&mut self) -> Option<Request> {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            head += &self.line()?;
        }
        Some(Request { conn: self.number, head, ..Request::default() })
    }

    /// Logs a request of which only the head was taken.
    pub(crate) fn heard(&self, request: &Request) {
        let _ = self.log.send(request.clone());
    }

    /// The client may be gone.
    pub(crate) fn say(&mut self, bytes: impl AsRef<[u8]>) {
        let _ = self.socket.write_all(bytes.as_ref());
    }

    /// So many bytes, which are text; `None` if the end comes before.
    pub(crate) fn take(&mut self, count: usize) -> Option<String> {
        while self.ahead.len() < count {
            self.read_more()?;
        }
        Some(String::from_utf8(self.ahead.drain(..count).collect()).unwrap())
    }

    /// Whether the client has closed it, after a wait of the socket's read timeout.
    pub(crate) fn is_over(&mut self) -> bool {
        match self.socket.read(&mut [0; 1024]) {
            Ok(n) => n == 0,
            Err(error) => !matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut),
        }
    }

    /// Makes the end a reset.
    pub(crate) fn reset(&self) {
        socket2::SockRef::from(&self.socket).set_linger(Some(Duration::ZERO)).unwrap();
    }

    fn line(&mut self) -> Option<String> {
        loop {
            if let Some(at) = self.ahead.iter().position(|&byte| byte == b'\n') {
                return self.take(at + 1);
            }
            self.read_more()?;
        }
    }

    fn trailers(&mut self) -> Option<String> {
        let mut trailers = String::new();
        loop {
            match self.line()?.as_str() {
                "\r\n" => return Some(trailers),
                line => trailers += line,
            }
        }
    }

    fn read_more(&mut self) -> Option<()> {
        let mut block = [0; 16 * 1024];
        let n = loop {
            match self.socket.read(&mut block) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read.unwrap_or(0),
            }
        };
        self.ahead.extend(&block[..n]);
        (n > 0).then_some(())
    }
}
