//! What this workspace makes: an echo on each runtime, as its documentation shows it.

use crate::plan::{Case, Protocol, State};
use bytewise::{
    Machine, Phase, SendBuf, Time, Timeouts,
    framing::{Frame, Framed, LengthPrefix},
    http1::{self, BodyLength, NO_FIELDS, Server, ServerEvent},
    ws::{self, Deflate, handshake::Upgrade},
};
use bytewise_bench::options::Runtime;
use bytewise_net::{BoxError, Driver, ServerOptions, Shutdown, Topology, Transport, async_std, blocking, smol, tokio};
use rustls::ServerConfig;
use std::{future::pending, io, net::TcpListener, sync::Arc};

/// Longer than any run: connections do have a timer, as by default, but it does not go off.
const LONG: Time = Time::from_secs(24 * 3600);

/// When quiet connections are asked for a sign of life, where they are.
const KEEP_ALIVE: Time = Time::from_secs(1);

pub(crate) fn serve(listener: TcpListener, case: &Case, tls: Option<Arc<ServerConfig>>) -> io::Result<()> {
    let keep_alive = (case.state == State::AfterKeepAlive).then_some(KEEP_ALIVE);
    let timeouts = [Phase::Idle, Phase::Head, Phase::Body]
        .into_iter()
        .fold(Timeouts::default().with_keep_alive(keep_alive), |timeouts, phase| timeouts.with(phase, Some(LONG)));
    let mut options = ServerOptions::default().with_max_connections(usize::MAX).with_timeouts(timeouts);
    if let Some(tls) = tls {
        options = options.with_tls(tls);
    }
    let http = || Server::new(&http1::Config::default());
    // One for all connections, as in a program that has it in a static.
    let config: &'static ws::Config = Box::leak(Box::new(websocket(case.deflate)));
    macro_rules! on {
        ($runtime:ident) => {
            match case.protocol {
                Protocol::Framed | Protocol::Tls => {
                    $runtime::run(Topology::Single, listener, options, frames, echo::<_, Framed<_>>, pending())
                }
                Protocol::Http | Protocol::Https => {
                    $runtime::run(Topology::Single, listener, options, http, echo::<_, Server>, pending())
                }
                Protocol::Ws | Protocol::Wss => {
                    let handler = move |conn| echo_messages(conn, config);
                    $runtime::run(Topology::Single, listener, options, http, handler, pending())
                }
            }
        };
    }
    match case.runtime {
        Runtime::Tokio => on!(tokio),
        Runtime::Smol => on!(smol),
        Runtime::AsyncStd => on!(async_std),
        Runtime::Blocking => match case.protocol {
            Protocol::Framed | Protocol::Tls => {
                blocking::serve(listener, options, frames, echo_blocking::<Framed<_>>, Shutdown::new())
            }
            Protocol::Http | Protocol::Https => {
                blocking::serve(listener, options, http, echo_blocking::<Server>, Shutdown::new())
            }
            Protocol::Ws | Protocol::Wss => {
                let handler = move |conn| echo_messages_blocking(conn, config);
                blocking::serve(listener, options, http, handler, Shutdown::new())
            }
        },
        _ => Err(io::ErrorKind::Unsupported.into()),
    }
}

/// Limits and extensions of a WebSocket, at both ends.
pub(crate) fn websocket(deflate: bool) -> ws::Config {
    let config = ws::Config::default();
    if deflate { config.with_deflate(Deflate::default()) } else { config }
}

fn frames() -> Framed<LengthPrefix> {
    Framed::new(crate::speaks::framing())
}

/// Echoes what it hears.
trait Echo: for<'e> Machine<Event<'e>: Send> + Send {
    fn answer(&mut self, event: Self::Event<'_>, tx: &mut SendBuf) -> Result<(), BoxError>;
}

impl Echo for Framed<LengthPrefix> {
    fn answer(&mut self, event: Frame<'_>, tx: &mut SendBuf) -> Result<(), BoxError> {
        if let Frame::Data(data) = event {
            self.send(data, tx)?;
        }
        Ok(())
    }
}

impl Echo for Server {
    fn answer(&mut self, event: ServerEvent<'_>, tx: &mut SendBuf) -> Result<(), BoxError> {
        match event {
            ServerEvent::Request(head) => match head.body_length() {
                BodyLength::None | BodyLength::Length(0) => self.respond(200, NO_FIELDS, "", tx)?,
                length => self.send_response(200, NO_FIELDS, length, tx)?,
            },
            ServerEvent::Data(data) => self.send_data(data, tx)?,
            ServerEvent::End(_) => self.send_end(NO_FIELDS, tx)?,
            _ => {}
        }
        Ok(())
    }
}

impl Echo for ws::Connection {
    fn answer(&mut self, event: ws::Event<'_>, tx: &mut SendBuf) -> Result<(), BoxError> {
        if let ws::Event::Binary(data) = event {
            self.send_binary(data, tx)?;
        }
        Ok(())
    }
}

async fn echo<T: Transport + Send, M: Echo>(mut conn: Driver<T, M>) -> Result<(), BoxError> {
    while let Some((event, out)) = conn.next().await? {
        out.machine.answer(event, out.tx)?;
    }
    Ok(conn.close().await?)
}

async fn echo_messages<T: Transport + Send>(
    conn: Driver<T, Server>,
    config: &'static ws::Config,
) -> Result<(), BoxError> {
    // In a box, which is freed when it is done: in the task itself, its room would be kept for good.
    echo(Box::pin(upgrade(conn, config)).await?).await
}

async fn upgrade<T: Transport + Send>(
    mut conn: Driver<T, Server>,
    config: &'static ws::Config,
) -> Result<Driver<T, ws::Connection>, BoxError> {
    let mut exchange = conn.exchange().await?.ok_or("no request")?;
    let accepted = Upgrade::parse(exchange.head())?.accept(config, None);
    let out = exchange.outbox();
    out.machine.switch(101, accepted.fields(), out.tx)?;
    Ok(conn.switch(accepted.into_connection()))
}

fn echo_blocking<M: Echo>(mut conn: blocking::Conn<M>) -> Result<(), BoxError> {
    while let Some((event, out)) = conn.next()? {
        out.machine.answer(event, out.tx)?;
    }
    Ok(conn.close()?)
}

fn echo_messages_blocking(mut conn: blocking::HttpConn, config: &'static ws::Config) -> Result<(), BoxError> {
    let mut exchange = conn.exchange()?.ok_or("no request")?;
    let accepted = Upgrade::parse(exchange.head())?.accept(config, None);
    let out = exchange.outbox();
    out.machine.switch(101, accepted.fields(), out.tx)?;
    echo_blocking(conn.switch(accepted.into_connection()))
}
