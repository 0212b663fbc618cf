//! The runtimes under one name: connections, halves and servers of all of them, each as one that is awaited. On threads, the
//! futures block where they are awaited.

use bytewise::{
    Machine, SendBuf,
    http1::{self, Client, NO_FIELDS, OwnedRequestHead, Server},
    ws::{Config, Connection, Misuse, handshake::Upgrade},
};
use bytewise_net::{
    self as net, Backoff, BoxError, ClientOptions, Error, ServerOptions, Shutdown, Topology, Transport, UpgradeError,
    WsOptions, blocking,
};
use std::{
    future::Future,
    io,
    net::{TcpListener, TcpStream},
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{LazyLock, mpsc},
    thread,
    time::Duration,
};

/// No wait is for ever. Nothing is measured by this.
pub(crate) const GUARD: Duration = Duration::from_secs(120);

/// Runs a test, which must come to an end.
#[track_caller]
pub(crate) fn within_guard<R: Runtime, F: Future<Output = ()>>(test: impl FnOnce() -> F + Send + 'static) {
    let (done, outcome) = mpsc::channel();
    thread::Builder::new()
        .name(thread::current().name().unwrap_or("test").into())
        .spawn(move || done.send(catch_unwind(AssertUnwindSafe(|| R::block_on(test())))))
        .unwrap();
    match outcome.recv_timeout(GUARD) {
        Ok(outcome) => outcome.unwrap_or_else(|panic| resume_unwind(panic)),
        Err(_) => panic!("the test does not come to an end"),
    }
}

/// A task, or a thread.
#[derive(Debug)]
pub(crate) struct Task<T>(async_channel::Receiver<T>);

impl<T> Task<T> {
    /// What it came to.
    pub(crate) async fn join(self) -> T {
        self.0.recv().await.expect("the task does not panic")
    }
}

pub(crate) trait Runtime: Send + Sync + Sized + 'static {
    type Io: Transport + Send + 'static;

    /// Whether tasks are threads.
    const BLOCKS: bool = false;

    fn block_on<T>(work: impl Future<Output = T>) -> T;

    fn start(work: impl Future<Output = ()> + Send + 'static);

    /// Over a connected socket, without bounds in time.
    fn over<M: Machine + Send + 'static>(socket: TcpStream, machine: M) -> Conn<Self, M>;

    fn connect<M: Machine + Send + 'static>(
        host: &str,
        port: u16,
        options: &ClientOptions,
        machine: M,
    ) -> impl Future<Output = io::Result<Conn<Self, M>>> + Send;

    fn connect_ws(url: &str, options: &WsOptions) -> impl Future<Output = Result<Ws<Self>, UpgradeError>> + Send;

    fn reconnect_ws(
        url: &str,
        options: &WsOptions,
        backoff: &mut Backoff,
    ) -> impl Future<Output = Result<Ws<Self>, UpgradeError>> + Send;

    fn serve<M, H, F>(
        listener: TcpListener,
        options: ServerOptions,
        machine: fn() -> M,
        handler: H,
        shutdown: Shutdown,
    ) -> io::Result<()>
    where
        M: Machine + Send + 'static,
        H: Fn(Conn<Self, M>) -> F + Clone + Send + 'static,
        F: Future<Output = Result<(), BoxError>> + Send + 'static;

    fn spawn<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> Task<T> {
        let (done, outcome) = async_channel::bounded(1);
        Self::start(async move { drop(done.try_send(work.await)) });
        Task(outcome)
    }
}

/// One for all tests.
static TOKIO: LazyLock<tokio::runtime::Runtime> = LazyLock::new(|| tokio::runtime::Runtime::new().unwrap());

pub(crate) struct Tokio;
pub(crate) struct Smol;
pub(crate) struct AsyncStd;
pub(crate) struct Blocking;

macro_rules! with_tasks {
    ($name:ident, $runtime:ident, $block_on:expr, $start:expr, $open:expr) => {
        impl Runtime for $name {
            type Io = net::$runtime::Stream;

            fn block_on<T>(work: impl Future<Output = T>) -> T {
                $block_on(work)
            }

            fn start(work: impl Future<Output = ()> + Send + 'static) {
                $start(work);
            }

            fn over<M: Machine + Send + 'static>(socket: TcpStream, machine: M) -> Conn<Self, M> {
                socket.set_nodelay(true).unwrap();
                Conn::Task(net::Driver::new($open(socket), machine))
            }

            async fn connect<M: Machine + Send + 'static>(
                host: &str,
                port: u16,
                options: &ClientOptions,
                machine: M,
            ) -> io::Result<Conn<Self, M>> {
                net::$runtime::connect(host, port, options, machine).await.map(Conn::Task)
            }

            async fn connect_ws(url: &str, options: &WsOptions) -> Result<Ws<Self>, UpgradeError> {
                net::$runtime::connect_ws(url, options).await.map(Conn::Task)
            }

            async fn reconnect_ws(
                url: &str,
                options: &WsOptions,
                backoff: &mut Backoff,
            ) -> Result<Ws<Self>, UpgradeError> {
                net::$runtime::reconnect_ws(url, options, backoff).await.map(Conn::Task)
            }

            fn serve<M, H, F>(
                listener: TcpListener,
                options: ServerOptions,
                machine: fn() -> M,
                handler: H,
                shutdown: Shutdown,
            ) -> io::Result<()>
            where
                M: Machine + Send + 'static,
                H: Fn(Conn<Self, M>) -> F + Clone + Send + 'static,
                F: Future<Output = Result<(), BoxError>> + Send + 'static,
            {
                let handler = move |conn| handler(Conn::Task(conn));
                net::$runtime::run(Topology::Single, listener, options, machine, handler, shutdown.wait())
            }
        }
    };
}

with_tasks!(Tokio, tokio, |work| TOKIO.block_on(work), |work| TOKIO.spawn(work), |socket: TcpStream| {
    socket.set_nonblocking(true).unwrap();
    let _entered = TOKIO.enter();
    net::tokio::Stream::new(tokio::net::TcpStream::from_std(socket).unwrap())
});
with_tasks!(Smol, smol, smol::block_on, |work| smol::spawn(work).detach(), over_async_io);
with_tasks!(AsyncStd, async_std, async_std::task::block_on, async_std::task::spawn, over_async_io);

fn over_async_io(socket: TcpStream) -> net::smol::Stream {
    net::smol::Stream::new(net::Socket::new(async_io::Async::new(socket).unwrap()))
}

impl Runtime for Blocking {
    type Io = blocking::Stream;

    const BLOCKS: bool = true;

    fn block_on<T>(work: impl Future<Output = T>) -> T {
        futures_lite::future::block_on(work)
    }

    fn start(work: impl Future<Output = ()> + Send + 'static) {
        thread::spawn(|| Self::block_on(work));
    }

    fn over<M: Machine + Send + 'static>(socket: TcpStream, machine: M) -> Conn<Self, M> {
        socket.set_nodelay(true).unwrap();
        Conn::Thread(blocking::Driver::new(blocking::Stream::new(socket), machine))
    }

    async fn connect<M: Machine + Send + 'static>(
        host: &str,
        port: u16,
        options: &ClientOptions,
        machine: M,
    ) -> io::Result<Conn<Self, M>> {
        blocking::connect(host, port, options, machine).map(Conn::Thread)
    }

    async fn connect_ws(url: &str, options: &WsOptions) -> Result<Ws<Self>, UpgradeError> {
        blocking::connect_ws(url, options).map(Conn::Thread)
    }

    async fn reconnect_ws(url: &str, options: &WsOptions, backoff: &mut Backoff) -> Result<Ws<Self>, UpgradeError> {
        blocking::reconnect_ws(url, options, backoff).map(Conn::Thread)
    }

    fn serve<M, H, F>(
        listener: TcpListener,
        options: ServerOptions,
        machine: fn() -> M,
        handler: H,
        shutdown: Shutdown,
    ) -> io::Result<()>
    where
        M: Machine + Send + 'static,
        H: Fn(Conn<Self, M>) -> F + Clone + Send + 'static,
        F: Future<Output = Result<(), BoxError>> + Send + 'static,
    {
        let handler = move |conn| Self::block_on(handler(Conn::Thread(conn)));
        blocking::serve(listener, options, machine, handler, shutdown)
    }
}

/// A connection of any runtime.
pub(crate) enum Conn<R: Runtime, M> {
    Task(net::Driver<R::Io, M>),
    Thread(blocking::Conn<M>),
}

/// A WebSocket.
pub(crate) type Ws<R> = Conn<R, Connection>;

/// What comes next, if it comes.
type Turn<'a, R, M> =
    Result<Option<(<M as Machine>::Event<'a>, Out<'a, <R as Runtime>::Io, M>)>, Error<<M as Machine>::Error>>;

impl<R: Runtime, M: Machine> Conn<R, M> {
    pub(crate) async fn next(&mut self) -> Turn<'_, R, M> {
        match self {
            Self::Task(conn) => Ok(conn.next().await?.map(|(event, out)| (event, Out::Task(out)))),
            Self::Thread(conn) => Ok(conn.next()?.map(|(event, out)| (event, Out::Thread(out)))),
        }
    }

    pub(crate) async fn close(self) -> Result<(), Error<M::Error>> {
        match self {
            Self::Task(conn) => conn.close().await,
            Self::Thread(conn) => conn.close(),
        }
    }

    pub(crate) fn outbox(&mut self) -> Out<'_, R::Io, M> {
        match self {
            Self::Task(conn) => Out::Task(conn.outbox()),
            Self::Thread(conn) => Out::Thread(conn.outbox()),
        }
    }

    /// Sends between events.
    pub(crate) fn with<T>(&mut self, send: impl FnOnce(&mut M, &mut SendBuf) -> T) -> T {
        self.outbox().with(send)
    }

    pub(crate) fn machine(&self) -> &M {
        match self {
            Self::Task(conn) => conn.machine(),
            Self::Thread(conn) => conn.machine(),
        }
    }

    pub(crate) fn switch<N>(self, machine: N) -> Conn<R, N> {
        match self {
            Self::Task(conn) => Conn::Task(conn.switch(machine)),
            Self::Thread(conn) => Conn::Thread(conn.switch(machine)),
        }
    }

    pub(crate) fn with_timeouts(self, timeouts: bytewise::Timeouts) -> Self {
        match self {
            Self::Task(conn) => Self::Task(conn.with_timeouts(timeouts)),
            Self::Thread(conn) => Self::Thread(conn.with_timeouts(timeouts)),
        }
    }

    pub(crate) fn with_high_water(self, bytes: usize) -> Self {
        match self {
            Self::Task(conn) => Self::Task(conn.with_high_water(bytes)),
            Self::Thread(conn) => Self::Thread(conn.with_high_water(bytes)),
        }
    }

    pub(crate) fn into_halves(self, high_water: usize) -> (Receiver<R, M>, Sender<R, M>) {
        match self {
            Self::Task(conn) => {
                let (receiver, sender) = conn.into_halves(high_water);
                (Receiver::Task(receiver), Sender::Task(sender))
            }
            Self::Thread(conn) => {
                let (receiver, sender) = conn.into_halves(high_water).unwrap();
                (Receiver::Thread(receiver), Sender::Thread(sender))
            }
        }
    }
}

impl<R: Runtime> Conn<R, Client> {
    pub(crate) async fn upgrade(
        self,
        target: &str,
        fields: &[(&str, &str)],
        protocols: &[&str],
        config: &Config,
    ) -> Result<Ws<R>, UpgradeError> {
        let fields = fields.iter().copied();
        match self {
            Self::Task(conn) => conn.upgrade(target, fields, protocols, config).await.map(Conn::Task),
            Self::Thread(conn) => conn.upgrade(target, fields, protocols, config).map(Conn::Thread),
        }
    }
}

impl<R: Runtime> Conn<R, Server> {
    /// The next request with its body, which is to be answered.
    pub(crate) async fn request(&mut self) -> Result<Option<(OwnedRequestHead, Vec<u8>)>, Error<http1::Error>> {
        match self {
            Self::Task(conn) => {
                let Some(mut exchange) = conn.exchange().await? else { return Ok(None) };
                let head = exchange.head().into_owned();
                Ok(Some((head, exchange.body(1 << 20).await?.into())))
            }
            Self::Thread(conn) => {
                let Some(mut exchange) = conn.exchange()? else { return Ok(None) };
                let head = exchange.head().into_owned();
                Ok(Some((head, exchange.body(1 << 20)?.into())))
            }
        }
    }
}

/// HTTP until a request asks for a WebSocket: `/` and its like are answered with target and body, what is wrong is refused.
pub(crate) async fn upgraded<R: Runtime>(
    mut conn: Conn<R, Server>,
    config: &Config,
    protocol: Option<&str>,
) -> Result<Option<Ws<R>>, BoxError> {
    while let Some((head, body)) = conn.request().await? {
        let head = head.head();
        if head.fields().get("upgrade").is_none() && head.target() != "/ws" {
            let echo = [head.target().as_bytes(), &body].concat();
            conn.with(|http, tx| http.respond(200, NO_FIELDS, echo, tx))?;
            continue;
        }
        if head.fields().get("origin") == Some(b"http://evil") {
            conn.with(|http, tx| http.respond(403, NO_FIELDS, "not yours", tx))?;
            continue;
        }
        match Upgrade::parse(head) {
            Ok(upgrade) => {
                let protocol = protocol.filter(|protocol| upgrade.protocols().any(|offered| offered == *protocol));
                let accepted = upgrade.accept(config, protocol);
                let fields = accepted.fields().chain([("x-served-by", &b"bytewise"[..])]);
                conn.with(|http, tx| http.switch(101, fields, tx))?;
                return Ok(Some(conn.switch(accepted.into_connection())));
            }
            Err(refusal) => {
                conn.with(|http, tx| http.respond(refusal.status(), refusal.fields(), refusal.to_string(), tx))?;
            }
        }
    }
    conn.close().await?;
    Ok(None)
}

/// Where replies go.
pub(crate) enum Out<'a, Io, M> {
    Task(net::Outbox<'a, Io, M>),
    Thread(blocking::Outbox<'a, blocking::Stream, M>),
}

impl<Io: Transport, M> Out<'_, Io, M> {
    pub(crate) fn with<T>(&mut self, send: impl FnOnce(&mut M, &mut SendBuf) -> T) -> T {
        match self {
            Self::Task(out) => send(out.machine, out.tx),
            Self::Thread(out) => send(out.machine, out.tx),
        }
    }

    pub(crate) async fn ready(&mut self, high_water: usize) -> io::Result<()> {
        match self {
            Self::Task(out) => out.ready(high_water).await,
            Self::Thread(out) => out.ready(high_water),
        }
    }

    pub(crate) async fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Task(out) => out.flush().await,
            Self::Thread(out) => out.flush(),
        }
    }
}

pub(crate) enum Receiver<R: Runtime, M> {
    Task(net::Receiver<R::Io, M>),
    Thread(blocking::Receiver<M>),
}

pub(crate) enum Sender<R: Runtime, M> {
    Task(net::Sender<R::Io, M>),
    Thread(blocking::Sender<M>),
}

impl<R: Runtime, M> Clone for Sender<R, M> {
    fn clone(&self) -> Self {
        match self {
            Self::Task(sender) => Self::Task(sender.clone()),
            Self::Thread(sender) => Self::Thread(sender.clone()),
        }
    }
}

impl<R: Runtime, M: Machine> Receiver<R, M> {
    pub(crate) async fn next(&mut self) -> Result<Option<M::Event<'_>>, Error<M::Error>> {
        match self {
            Self::Task(receiver) => receiver.next().await,
            Self::Thread(receiver) => receiver.next(),
        }
    }

    pub(crate) async fn close(self) -> Result<(), Error<M::Error>> {
        match self {
            Self::Task(receiver) => receiver.close().await,
            Self::Thread(receiver) => receiver.close(),
        }
    }

    pub(crate) fn sender(&self) -> Sender<R, M> {
        match self {
            Self::Task(receiver) => Sender::Task(receiver.sender()),
            Self::Thread(receiver) => Sender::Thread(receiver.sender()),
        }
    }

    pub(crate) fn into_driver(self) -> Conn<R, M> {
        match self {
            Self::Task(receiver) => Conn::Task(receiver.into_driver()),
            Self::Thread(receiver) => Conn::Thread(receiver.into_driver()),
        }
    }
}

impl<R: Runtime, M: Machine> Sender<R, M> {
    pub(crate) async fn send<T>(&self, with: impl FnOnce(&mut M, &mut SendBuf) -> T) -> io::Result<T> {
        match self {
            Self::Task(sender) => sender.send(with).await,
            Self::Thread(sender) => sender.send(with),
        }
    }

    pub(crate) fn try_send<T>(&self, with: impl FnOnce(&mut M, &mut SendBuf) -> T) -> io::Result<T> {
        match self {
            Self::Task(sender) => sender.try_send(with),
            Self::Thread(sender) => sender.try_send(with),
        }
    }

    pub(crate) async fn flush(&self) -> io::Result<()> {
        match self {
            Self::Task(sender) => sender.flush().await,
            Self::Thread(sender) => sender.flush(),
        }
    }

    pub(crate) fn is_closed(&self) -> bool {
        match self {
            Self::Task(sender) => sender.is_closed(),
            Self::Thread(sender) => sender.is_closed(),
        }
    }
}

impl<R: Runtime> Sender<R, Connection> {
    pub(crate) async fn text(&self, text: &str) -> io::Result<Result<(), Misuse>> {
        self.send(|ws, tx| ws.send_text(text, tx)).await
    }

    pub(crate) async fn binary(&self, data: &[u8]) -> io::Result<Result<(), Misuse>> {
        self.send(|ws, tx| ws.send_binary(data, tx)).await
    }
}

/// A server that runs on a thread of its own; dropped, it is told to end.
#[derive(Debug)]
pub(crate) struct Serving {
    pub(crate) port: u16,
    pub(crate) shutdown: Shutdown,
    ended: async_channel::Receiver<io::Result<()>>,
    errors: async_channel::Receiver<BoxError>,
}

impl Serving {
    pub(crate) fn of<R: Runtime, M, F>(
        options: ServerOptions,
        machine: fn() -> M,
        handler: impl Fn(Conn<R, M>) -> F + Clone + Send + 'static,
    ) -> Self
    where
        M: Machine + Send + 'static,
        F: Future<Output = Result<(), BoxError>> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (log, errors) = async_channel::unbounded();
        let (end, ended) = async_channel::bounded(1);
        let shutdown = Shutdown::new();
        let until = shutdown.clone();
        let options = options.with_error_log(move |error| drop(log.try_send(error)));
        thread::spawn(move || drop(end.try_send(R::serve(listener, options, machine, handler, until))));
        Self { port, shutdown, ended, errors }
    }

    /// A WebSocket server, which gives what was accepted to the handler.
    pub(crate) fn websocket<R: Runtime, F>(
        options: ServerOptions,
        config: Config,
        handler: impl Fn(Ws<R>) -> F + Clone + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<(), BoxError>> + Send + 'static,
    {
        Self::of(options, http, move |conn: Conn<R, Server>| {
            let (config, handler) = (config.clone(), handler.clone());
            async move {
                match upgraded(conn, &config, Some("chat")).await? {
                    Some(ws) => handler(ws).await,
                    None => Ok(()),
                }
            }
        })
    }

    /// One that echoes.
    pub(crate) fn echo<R: Runtime>(options: ServerOptions, config: Config) -> Self {
        Self::websocket::<R, _>(options, config, echo)
    }

    pub(crate) fn url(&self) -> String {
        format!("ws://127.0.0.1:{}/ws", self.port)
    }

    /// What the log heard next.
    pub(crate) async fn error(&self) -> BoxError {
        self.errors.recv().await.expect("an error in the log")
    }

    /// The same, as an error of a WebSocket.
    pub(crate) async fn ws_error(&self) -> Error<bytewise::ws::Error> {
        *self.error().await.downcast().expect("an error of a WebSocket")
    }

    pub(crate) async fn ended(&self) -> io::Result<()> {
        self.ended.recv().await.expect("the server ends")
    }

    /// Ends it; nothing must have gone wrong.
    pub(crate) async fn stop(self) {
        self.shutdown.begin();
        self.ended().await.unwrap();
        if let Ok(error) = self.errors.try_recv() {
            panic!("an error in the log: {error}");
        }
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.shutdown.begin();
    }
}

pub(crate) fn http() -> Server {
    Server::new(&http1::Config::default())
}

/// Echoes messages to the end.
pub(crate) async fn echo<R: Runtime>(mut ws: Ws<R>) -> Result<(), BoxError> {
    use bytewise::ws::Event;
    while let Some((event, mut out)) = ws.next().await? {
        match event {
            Event::Text(text) => out.with(|ws, tx| ws.send_text(text, tx))?,
            Event::Binary(data) => out.with(|ws, tx| ws.send_binary(data, tx))?,
            _ => {}
        }
        out.ready(1 << 20).await?;
    }
    Ok(ws.close().await?)
}
