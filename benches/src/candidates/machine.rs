//! What a loop by hand over the core speaks, whatever its bytes come over.

use super::bytewise::Echo;
use crate::options::Protocol;
use ::bytewise::{
    Machine, NextIo, RecvBuf, SendBuf,
    framing::{Framed, LengthPrefix},
    http1::{self, Server, ServerEvent},
    ws::{self, handshake::Upgrade},
};
use std::io;

/// The machine of one connection.
pub(super) enum Spoken {
    Framed(Framed<LengthPrefix>),
    Http(Server),
    /// HTTP, until a request is upgraded.
    Upgrading(Server),
    Ws(ws::Connection),
}

impl Spoken {
    pub(super) fn new(protocol: Protocol) -> Self {
        let http = || Server::new(&http1::Config::default());
        match protocol {
            Protocol::Framed => Self::Framed(<Framed<LengthPrefix> as Echo>::first()),
            Protocol::Http | Protocol::Https => Self::Http(http()),
            Protocol::Ws | Protocol::Wss => Self::Upgrading(http()),
        }
    }

    pub(super) fn next_io(&self) -> NextIo {
        match self {
            Self::Framed(framed) => framed.next_io(),
            Self::Http(http) | Self::Upgrading(http) => http.next_io(),
            Self::Ws(ws) => ws.next_io(),
        }
    }

    /// Answers all events.
    pub(super) fn answer(&mut self, rx: &mut RecvBuf, tx: &mut SendBuf) -> io::Result<()> {
        if let Self::Upgrading(http) = self {
            let Some(ws) = upgrade(http, rx, tx)? else { return Ok(()) };
            *self = Self::Ws(ws);
        }
        match self {
            Self::Framed(framed) => answer(framed, rx, tx),
            Self::Http(http) => answer(http, rx, tx),
            Self::Ws(ws) => answer(ws, rx, tx),
            Self::Upgrading(_) => Ok(()),
        }
    }
}

fn answer<M: Echo>(machine: &mut M, rx: &mut RecvBuf, tx: &mut SendBuf) -> io::Result<()> {
    while let Ok(Some(event)) = machine.next_event(rx, tx) {
        machine.answer(event, tx).map_err(io::Error::other)?;
    }
    Ok(())
}

fn upgrade(http: &mut Server, rx: &mut RecvBuf, tx: &mut SendBuf) -> io::Result<Option<ws::Connection>> {
    let event = http.next_event(rx, tx).map_err(io::Error::other)?;
    let Some(ServerEvent::Request(head)) = event else { return Ok(None) };
    let accepted = Upgrade::parse(head).map_err(io::Error::other)?.accept(&ws::Config::default(), None);
    http.switch(101, accepted.fields(), tx).map_err(io::Error::other)?;
    Ok(Some(accepted.into_connection()))
}
