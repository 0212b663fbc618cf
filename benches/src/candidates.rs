//! Who is compared.
//!
//! A peer is one file here, with a type that implements [`Candidate`]; its module and a line in [`all`] name it, and nothing
//! else does.

mod beast;
mod bytewise;
mod epoll_tls;
mod fastwebsockets;
mod floor;
mod floor_tls;
mod hyper;
mod io_uring;
mod machine;
mod nexus_web;
mod on_tokio;
mod sockudo_ws;
mod tokio_util;
mod tokio_websockets;
mod tungstenite;

use crate::{
    load::companions::Companions,
    messages::Usage,
    options::{Placement, Protocol, Runtime, Topology},
    process,
    tls::Identity,
};
use rustls::ServerConfig;
use std::{io, net::TcpListener, sync::Arc};

pub use floor::Floor;
pub use on_tokio::OnTokio;

/// The name of what everything is compared with.
pub const FLOOR: &str = "floor";

/// The name of what this workspace makes.
pub const BYTEWISE: &str = "bytewise";

/// An echo service.
pub trait Candidate: Sync {
    /// Its name in tables and on the command line.
    fn name(&self) -> &'static str;

    /// What it speaks.
    fn protocols(&self) -> &'static [Protocol];

    /// What it can run on.
    fn runtimes(&self) -> &'static [Runtime];

    /// Whether it has that topology on that runtime, which is one of its own.
    fn supports(&self, runtime: Runtime, topology: Topology) -> bool;

    /// Where its clients can be.
    fn placements(&self) -> &'static [Placement] {
        &[Placement::Split, Placement::Shared]
    }

    /// Whether it does [work](crate::work::message) for each message there.
    fn works(&self, _: Runtime, _: Protocol) -> bool {
        true
    }

    /// Makes what it needs for that, before anything is measured; or says in a few words what is missing.
    fn prepare(&self, _: Runtime, _: Protocol) -> Result<(), String> {
        Ok(())
    }

    /// Serves until the process ends, or until it cannot go on.
    ///
    /// It sends back each payload of each connection, in order, and says [`work::message`](crate::work::message) for each before; sets
    /// `TCP_NODELAY`; and closes a connection once the client has ended it and everything is sent back.
    fn serve(&self, job: Job) -> io::Result<()>;

    /// What the server has used up to now: this process, unless it is another one.
    fn usage(&self) -> io::Result<Usage> {
        process::usage()
    }
}

/// How a candidate shall serve: a combination that it [supports](Candidate::supports).
#[derive(Debug)]
pub struct Job {
    /// Accepts on the loopback interface; in blocking mode.
    pub listener: TcpListener,
    /// What is spoken.
    pub protocol: Protocol,
    /// Bytes of a request, for one who does not know what it is.
    pub request: usize,
    /// Who it is under TLS, if that is spoken.
    pub identity: Option<Identity>,
    /// What to run on.
    pub runtime: Runtime,
    /// Contexts and threads.
    pub topology: Topology,
    /// Clients that shall run on the same runtime: spawn a [`client`](Companions::client) with each connection that is
    /// accepted. On [`Runtime::Blocking`], [`Runtime::Epoll`] and [`Runtime::IoUring`] there are none.
    pub companions: Option<Arc<Companions>>,
}

impl Job {
    /// How rustls shall serve, if TLS is spoken.
    fn tls(&self) -> io::Result<Option<Arc<ServerConfig>>> {
        self.identity.as_ref().map(Identity::server).transpose()
    }
}

/// All of them, the floor first.
pub fn all() -> impl Iterator<Item = &'static dyn Candidate> {
    static BEAST: beast::Beast = beast::Beast::new();
    static ALL: &[&dyn Candidate] = &[
        &Floor,
        &bytewise::Bytewise,
        &tokio_util::TOKIO_UTIL,
        &tokio_util::TOKIO_UTIL_BATCHED,
        &hyper::HYPER,
        &hyper::HYPER_PIPELINED,
        &tungstenite::TUNGSTENITE,
        &tungstenite::TUNGSTENITE_BATCHED,
        &fastwebsockets::FASTWEBSOCKETS,
        &tokio_websockets::TOKIO_WEBSOCKETS,
        &tokio_websockets::TOKIO_WEBSOCKETS_BATCHED,
        &nexus_web::NEXUS_WEB,
        &nexus_web::NEXUS_WEB_BATCHED,
        &sockudo_ws::SOCKUDO_WS,
        &BEAST,
    ];
    ALL.iter().copied()
}

/// Those that can be chosen by name: neither the floor nor what this workspace makes.
pub fn peers() -> impl Iterator<Item = &'static dyn Candidate> {
    all().filter(|candidate| ![FLOOR, BYTEWISE].contains(&candidate.name()))
}

/// The one of that name.
#[must_use]
pub fn named(name: &str) -> Option<&'static dyn Candidate> {
    all().find(|candidate| candidate.name() == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique() {
        for candidate in all() {
            assert_eq!(all().filter(|other| other.name() == candidate.name()).count(), 1);
            assert!(!["all", "none"].contains(&candidate.name()) && !candidate.name().contains(','));
        }
    }
}
