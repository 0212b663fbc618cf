//! One row, in fresh processes.

use crate::{
    HOLD, SERVE,
    messages::{Clients, Held, Measure, Report, Service},
    plan::Case,
};
use bytewise_bench::{
    parent::{Process, out_of_turn},
    tls::Identity,
};
use std::{io, time::Duration};

/// How long a child may take for what should be done at once.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long the clients may take for each connection, beyond that: with a long message under TLS and a slow build.
const PATIENCE_EACH: Duration = Duration::from_millis(500);

/// A server's memory: before the first connection, with all of them, and after the last.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Measured {
    pub(crate) before: Held,
    pub(crate) with: Held,
    pub(crate) after: Held,
}

pub(crate) fn measure(case: &Case, message: usize, identity: &Identity) -> io::Result<Measured> {
    let service = Service { case: case.clone(), identity: identity.clone() };
    let mut server = Process::<Report>::start(SERVE, &service)?;
    let Report::Listening(port) = server.report(PATIENCE)? else { return Err(out_of_turn()) };
    let before = held(&mut server, 0)?;
    let certificate = identity.certificate().to_owned();
    let mut clients = Process::<Report>::start(HOLD, &Clients { case: case.clone(), certificate, port, message })?;
    let patience = PATIENCE + PATIENCE_EACH * u32::try_from(case.connections).unwrap_or(u32::MAX);
    let Report::Ready = clients.report(patience)? else { return Err(out_of_turn()) };
    let with = held(&mut server, case.connections)?;
    drop(clients);
    let after = held(&mut server, 0)?;
    Ok(Measured { before, with, after })
}

fn held(server: &mut Process<Report>, connections: usize) -> io::Result<Held> {
    server.tell(&Measure { connections })?;
    match server.report(PATIENCE)? {
        Report::Held(held) => Ok(held),
        _ => Err(out_of_turn()),
    }
}
