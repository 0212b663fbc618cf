//! A child that serves, and says what it holds.

use crate::{
    ALLOCATOR, bare, bytewise,
    messages::{Held, Measure, Report, Service},
    plan::{BARE, Case, Protocol, RUSTLS},
};
use bytewise_bench::{
    candidates::{self, BYTEWISE, Job},
    messages::{receive, send},
    options::{self, Topology},
    process,
};
use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
    thread,
    time::{Duration, Instant},
};

/// How often it looks whether something has changed.
const LOOK: Duration = Duration::from_millis(10);

/// Nothing changes any more if so many looks in a row saw the same.
const LOOKS: usize = 10;

/// Something always changes if that does not come about for so long.
const SETTLED_WITHIN: Duration = Duration::from_secs(40);

/// Does what the first line of the input says. Its own failure is a [`Report::Failed`].
pub(crate) fn main() -> io::Result<()> {
    // The lock must not be held while the other thread waits for it.
    let job: Option<Service> = receive(&mut io::stdin().lock())?;
    if let Err(error) = job.ok_or_else(|| io::Error::other("no job")).and_then(serve) {
        report(&Report::Failed(error.to_string()))?;
    }
    Ok(())
}

fn report(report: &Report) -> io::Result<()> {
    send(&mut io::stdout().lock(), report)
}

fn serve(Service { case, identity }: Service) -> io::Result<()> {
    process::raise_file_limit()?;
    // Its backlog is long, so that nobody is asked to try again.
    let listener = bytewise_net::bind_reuse_port(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?;
    report(&Report::Listening(listener.local_addr()?.port()))?;
    thread::spawn(|| {
        if let Err(error) = answer() {
            let _ = report(&Report::Failed(error.to_string()));
        }
        std::process::exit(0);
    });
    let tls = case.protocol.has_tls().then(|| identity.server()).transpose()?;
    match &*case.candidate {
        BARE => bare::serve(listener, case.runtime)?,
        RUSTLS => bare::serve_under_tls(listener, &identity)?,
        BYTEWISE => bytewise::serve(listener, &case, tls)?,
        name => {
            let unknown = || io::Error::other(format!("no candidate is called {name}"));
            let candidate = candidates::named(name).ok_or_else(unknown)?;
            let Case { runtime, protocol, .. } = case;
            let protocol = as_compared(protocol)?;
            let identity = protocol.has_tls().then_some(identity);
            candidate.serve(Job {
                listener,
                protocol,
                // That is for the floor, which is not among them.
                request: 1,
                identity,
                runtime,
                topology: Topology::SINGLE,
                companions: None,
            })?;
        }
    }
    Err(io::Error::other("it has stopped serving"))
}

/// As the comparison calls it.
fn as_compared(protocol: Protocol) -> io::Result<options::Protocol> {
    Ok(match protocol {
        Protocol::Framed => options::Protocol::Framed,
        Protocol::Http => options::Protocol::Http,
        Protocol::Ws => options::Protocol::Ws,
        Protocol::Https => options::Protocol::Https,
        Protocol::Wss => options::Protocol::Wss,
        Protocol::Tls => return Err(io::ErrorKind::Unsupported.into()),
    })
}

/// Says what is held each time it is asked, until the end of the input.
fn answer() -> io::Result<()> {
    let mut input = io::stdin().lock();
    let mut without = None;
    while let Some(Measure { connections }) = receive(&mut input)? {
        let open = without.map(|open: usize| open + connections);
        let (held, open) = settled(open)?;
        without.get_or_insert(open);
        report(&Report::Held(held))?;
    }
    Ok(())
}

/// What is held, and how many descriptors are open, once so many are, and nothing changes any more.
fn settled(wanted: Option<usize>) -> io::Result<(Held, usize)> {
    let begun = Instant::now();
    let (mut last, mut same) = ((0, 0), 0);
    loop {
        // The look itself has freed what it took by the time that is counted.
        let open = process::descriptors()?;
        let now = (allocated(), open);
        let is_awaited = wanted.is_none_or(|wanted| wanted == open);
        same = if now == last && is_awaited { same + 1 } else { 0 };
        last = now;
        if same == LOOKS {
            let resident = usize::try_from(process::rss_kib()?).unwrap_or(usize::MAX).saturating_mul(1024);
            return Ok((Held { allocated: now.0, resident }, open));
        }
        if begun.elapsed() > SETTLED_WITHIN {
            return Err(io::Error::other(match wanted {
                Some(wanted) if wanted != open => format!("{open} descriptors are open instead of {wanted}"),
                _ => "what it holds goes on changing".to_owned(),
            }));
        }
        thread::sleep(LOOK);
    }
}

fn allocated() -> usize {
    let stats = ALLOCATOR.stats();
    stats.bytes_allocated.saturating_sub(stats.bytes_deallocated)
}
