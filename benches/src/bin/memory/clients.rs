//! A child that holds connections to the server, in the state that the case wants.

use crate::{
    bytewise::websocket,
    messages::{Clients, Report},
    plan::{Case, Protocol, State},
    speaks::{Heard, Speaks, framing},
};
use bytewise::{
    Machine, SendBuf, Timeouts,
    framing::Framed,
    http1::{self, Client},
};
use bytewise_bench::{
    messages::{receive, send},
    process, tls,
};
use bytewise_net::{BoxError, Driver, tls::Tls, tokio::Stream};
use futures_util::{
    FutureExt, StreamExt, TryStreamExt,
    future::{join_all, try_join_all},
    stream,
};
use rustls::{ClientConfig, pki_types::ServerName};
use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
    sync::Arc,
};
use tokio::net::TcpStream;

/// Connections that are opened, or have a message echoed, at the same time: what is long is then in few places at once.
const AT_ONCE: usize = 16;

/// Bytes of a small message.
const SMALL: usize = 1024;

type Conn<M> = Driver<Stream, M>;

/// Does what the first line of the input says, and stays until the input ends.
pub(crate) fn main() -> io::Result<()> {
    let job: Option<Clients> = receive(&mut io::stdin().lock())?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let failed = match job.map(|job| runtime.block_on(hold(job))) {
        None => "no job".to_owned(),
        Some(Err(error)) => error.to_string(),
        Some(Ok(())) => return Ok(()),
    };
    send(&mut io::stdout().lock(), &Report::Failed(failed))
}

async fn hold(job: Clients) -> Result<(), BoxError> {
    process::raise_file_limit()?;
    let trust = job.case.protocol.has_tls().then(|| tls::client(&job.certificate)).transpose()?;
    let server = Server { address: SocketAddr::from((Ipv4Addr::LOCALHOST, job.port)), trust };
    let framed = || Framed::new(framing());
    let http = || Client::new(&http1::Config::default());
    match job.case.protocol {
        Protocol::Framed | Protocol::Tls => hold_all(&job, || server.connect(framed())).await,
        Protocol::Http | Protocol::Https => hold_all(&job, || server.connect(http())).await,
        Protocol::Ws | Protocol::Wss => {
            let config = websocket(job.case.deflate);
            hold_all(&job, || async {
                let conn = server.connect(http()).await?;
                let upgraded = conn.upgrade("/echo", [("host", "localhost")], &[], &config).await?;
                match upgraded.machine().negotiated().extensions().is_some() == job.case.deflate {
                    true => Ok(upgraded),
                    false => Err("the server has not agreed on what was offered".into()),
                }
            })
            .await
        }
    }
}

struct Server {
    address: SocketAddr,
    trust: Option<(Arc<ClientConfig>, ServerName<'static>)>,
}

impl Server {
    /// With hands shaken under TLS.
    async fn connect<M: Machine>(&self, machine: M) -> Result<Conn<M>, BoxError> {
        let stream = TcpStream::connect(self.address).await?;
        stream.set_nodelay(true)?;
        let mut conn = Driver::new(Stream::new(stream), machine).with_timeouts(Timeouts::none());
        if let Some((config, name)) = &self.trust {
            conn = conn.with_tls(Tls::client(Arc::clone(config), name.clone())?);
            conn.handshake().await?;
        }
        Ok(conn)
    }
}

/// Opens all connections and brings them into the state, says so, and keeps them until the input ends.
async fn hold_all<M: Speaks, F: Future<Output = Result<Conn<M>, BoxError>>>(
    job: &Clients,
    open: impl Fn() -> F,
) -> Result<(), BoxError> {
    let Case { state, connections, .. } = job.case;
    let opening = stream::iter(0..connections).map(|_| open());
    let mut all: Vec<_> = opening.buffer_unordered(AT_ONCE).try_collect().await?;
    let echoed_bytes = match state {
        State::Idle | State::Active => None,
        State::AfterSmall => Some(SMALL),
        State::AfterTraffic | State::AfterKeepAlive => Some(job.message),
    };
    if let Some(bytes) = echoed_bytes {
        let message = message(bytes);
        let echoes = stream::iter(all).map(|conn| echoed(conn, &message));
        all = echoes.buffer_unordered(AT_ONCE).try_collect().await?;
    }
    if state == State::Active {
        let message = message(SMALL);
        for conn in &mut all {
            send_half(conn, &message).await?;
        }
    }
    if state == State::AfterKeepAlive {
        all = try_join_all(all.into_iter().map(pinged)).await?;
    }
    send(&mut io::stdout().lock(), &Report::Ready)?;
    // Each answers pings meanwhile; if one ends, the server has a descriptor less than it should.
    let stays = join_all(all.into_iter().map(stay));
    let end = tokio::task::spawn_blocking(|| io::copy(&mut io::stdin().lock(), &mut io::sink()));
    tokio::select! {
        end = end => Ok(end?.map(drop)?),
        _ = stays => Err("all connections have ended".into()),
    }
}

/// Compressible to a half or less, as text is.
fn message(len: usize) -> Vec<u8> {
    const WORDS: [&[u8]; 8] = [b"the ", b"quick ", b"brown ", b"fox ", b"jumps ", b"over ", b"lazy ", b"dogs "];
    let mut state = 1_u32;
    let mut message = Vec::with_capacity(len + 8);
    while message.len() < len {
        // Numerical Recipes' generator; its upper bits are good enough.
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        message.extend_from_slice(WORDS[(state >> 29) as usize]);
    }
    message.truncate(len);
    message
}

/// Sends the message, and compares what comes back with it.
async fn echoed<M: Speaks>(mut conn: Conn<M>, message: &[u8]) -> Result<Conn<M>, BoxError> {
    let out = conn.outbox();
    out.machine.ask(message, out.tx)?;
    let mut left = message;
    loop {
        let Some((event, _)) = conn.next().await.map_err(told)? else {
            return Err("the server closed instead of an echo".into());
        };
        if let Heard::Echo(bytes, last) = M::hear(event) {
            left = left.strip_prefix(bytes).ok_or("the echo differs")?;
            match (last, left.is_empty()) {
                (true, true) => break,
                (true, false) => return Err("the echo is too short".into()),
                (false, _) => {}
            }
        }
    }
    conn.machine_mut().rest();
    // It has its buffers, of megabytes, until it waits for more, before which it may give way to others once or twice.
    for _ in 0..3 {
        match conn.next().now_or_never() {
            None => {}
            // It was silent for long enough to be asked for a sign of life; it will be again.
            Some(Ok(Some((event, _)))) if M::is_ping(&event) => {}
            Some(Ok(Some(_))) => return Err("something came behind the echo".into()),
            Some(_) => return Err("the server closed behind the echo".into()),
        }
    }
    Ok(conn)
}

/// Sends the first half of what the message is on the wire, by bytes.
async fn send_half<M: Speaks>(conn: &mut Conn<M>, message: &[u8]) -> Result<(), BoxError> {
    let mut whole = SendBuf::new();
    conn.machine_mut().ask(message, &mut whole)?;
    let whole: Vec<u8> = whole.chunks().flatten().copied().collect();
    let mut out = conn.outbox();
    out.tx.put(&whole[..whole.len() / 2]);
    out.flush().await?;
    conn.machine_mut().rest();
    Ok(())
}

/// Waits until the server has asked for a sign of life; the answer goes out with the next wait.
async fn pinged<M: Speaks>(mut conn: Conn<M>) -> Result<Conn<M>, BoxError> {
    loop {
        let Some((event, _)) = conn.next().await.map_err(told)? else {
            return Err("the server closed instead of asking for a sign of life".into());
        };
        let is_ping = M::is_ping(&event);
        drop(event);
        if is_ping {
            return Ok(conn);
        }
    }
}

/// Until the connection ends.
async fn stay<M: Machine>(mut conn: Conn<M>) {
    while let Ok(Some(_)) = conn.next().await {}
}

/// As an error that does not borrow from the connection.
fn told(error: impl std::fmt::Display) -> BoxError {
    error.to_string().into()
}
