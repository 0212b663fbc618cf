//! A child process: a server, a load generator, or both, as its first line of input says.
//!
//! It ends when its input does, so that nothing outlives the parent.

use crate::{
    candidates::{self, Candidate, Job},
    load::{self, Signals, Stopwatch, companions::Companions},
    messages::{Command, Outcome, Report, Service, Traffic, Usage, receive, send},
    options::{Protocol, Runtime},
    process, work,
};
use std::{
    io,
    net::{Ipv4Addr, SocketAddr, TcpListener},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

/// Connections that may wait to be accepted, if the system allows as many.
const BACKLOG: i32 = 4096;

/// Does what the first line says. Its own failure is a [`Report::Failed`].
pub fn main() -> io::Result<()> {
    // The lock must not be held while `listen` waits for it.
    let job = receive(&mut io::stdin().lock())?;
    let result = match job {
        Some(Command::Serve(service)) => serve(&service),
        Some(Command::Drive(traffic, port)) => drive(&traffic, port),
        Some(Command::Both(service, traffic)) => both(&service, traffic),
        other => Err(io::Error::other(format!("not a job: {other:?}"))),
    };
    if let Err(error) = result {
        report(&Report::Failed(error.to_string()))?;
    }
    Ok(())
}

fn report(report: &Report) -> io::Result<()> {
    send(&mut io::stdout().lock(), report)
}

/// Hears all further commands on a thread of its own, and ends the process after the last.
fn listen(mut hear: impl FnMut(Command) -> io::Result<()> + Send + 'static) {
    thread::spawn(move || {
        let mut input = io::stdin().lock();
        while let Ok(Some(command)) = receive(&mut input) {
            if hear(command).is_err() {
                break;
            }
        }
        std::process::exit(0);
    });
}

/// Who shall serve, and what it needs for that.
fn prepare(service: &Service) -> io::Result<(&'static dyn Candidate, Job, SocketAddr)> {
    process::pin(&service.cores)?;
    process::raise_file_limit()?;
    work::set(service.work);
    let Service { ref candidate, protocol, payload, runtime, topology, ref identity, .. } = *service;
    let unknown = || io::Error::other(format!("no candidate is called {candidate}"));
    let candidate = candidates::named(candidate).ok_or_else(unknown)?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    // All clients connect at once; who finds no room would try again after a second.
    rustix::net::listen(&listener, BACKLOG)?;
    let address = listener.local_addr()?;
    let (request, identity) = (load::request_len(protocol, payload), identity.clone());
    Ok((candidate, Job { listener, protocol, request, identity, runtime, topology, companions: None }, address))
}

/// Serves; that this ends is an error.
fn serve_on(candidate: &dyn Candidate, job: Job) -> io::Error {
    match candidate.serve(job) {
        Ok(()) => io::Error::other(format!("{} has stopped serving", candidate.name())),
        Err(error) => error,
    }
}

fn serve(service: &Service) -> io::Result<()> {
    let (candidate, job, address) = prepare(service)?;
    listen(move |command| match command {
        Command::Usage => report(&Report::Usage(candidate.usage()?)),
        _ => Ok(()),
    });
    report(&Report::Listening(address.port()))?;
    Err(serve_on(candidate, job))
}

/// Reports to the parent, and stops when it says so.
struct Remote {
    stop: Arc<AtomicBool>,
    stopwatch: Stopwatch,
}

impl Signals for Remote {
    fn begun(&mut self) {
        self.stopwatch.begun();
        // Without a parent the process ends anyway.
        let _ = report(&Report::Begun);
    }

    fn ended(&mut self) {
        self.stopwatch.ended();
        let _ = report(&Report::Ended);
    }

    fn stop(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

fn drive(traffic: &Traffic, port: u16) -> io::Result<()> {
    process::pin(&traffic.cores)?;
    process::raise_file_limit()?;
    let stop = Arc::new(AtomicBool::new(false));
    let mut remote = Remote { stop: Arc::clone(&stop), stopwatch: Stopwatch::default() };
    listen(move |command| {
        if matches!(command, Command::Stop) {
            stop.store(true, Ordering::Relaxed);
        }
        Ok(())
    });
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let outcome = from_this_thread(traffic, address, &mut remote)?;
    let (from, to) = remote.stopwatch.usage()?;
    report(&Report::Driven(outcome, from, to))
}

fn from_this_thread(traffic: &Traffic, server: SocketAddr, signals: &mut impl Signals) -> io::Result<Outcome> {
    use load::event_loop::run;
    match (traffic.protocol, traffic.mirrored) {
        (Protocol::Framed, _) => run::<load::Framed>(traffic, server, signals),
        (Protocol::Http | Protocol::Https, false) => run::<load::Http>(traffic, server, signals),
        (Protocol::Http | Protocol::Https, true) => run::<load::HttpMirror>(traffic, server, signals),
        (Protocol::Ws | Protocol::Wss, false) => run::<load::Ws>(traffic, server, signals),
        (Protocol::Ws | Protocol::Wss, true) => run::<load::WsMirror>(traffic, server, signals),
    }
}

/// The server has this thread; the load another one, or tasks on the server's runtime if there is one.
fn both(service: &Service, traffic: Traffic) -> io::Result<()> {
    let (candidate, mut job, address) = prepare(service)?;
    listen(|_| Ok(()));
    if matches!(job.runtime, Runtime::Blocking | Runtime::Epoll | Runtime::IoUring) {
        report_from_thread(move || {
            let mut stopwatch = Stopwatch::default();
            let outcome = from_this_thread(&traffic, address, &mut stopwatch)?;
            let (from, to) = stopwatch.usage()?;
            Ok((outcome, from, to))
        });
    } else {
        let companions = Arc::new(Companions::new(traffic, address, job.topology.threads)?);
        job.companions = Some(Arc::clone(&companions));
        report_from_thread(move || companions.conduct());
    }
    Err(serve_on(candidate, job))
}

/// Does the work on a thread of its own, reports it and ends the process.
fn report_from_thread(work: impl FnOnce() -> io::Result<(Outcome, Usage, Usage)> + Send + 'static) {
    thread::spawn(|| {
        let result = match work() {
            Ok((outcome, from, to)) => Report::Both(outcome, from, to),
            Err(error) => Report::Failed(error.to_string()),
        };
        let _ = report(&result);
        std::process::exit(0);
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        candidates::Floor,
        messages::Idle,
        options::{Load, Topology},
    };
    use std::{
        io::{Read, Write},
        time::Duration,
    };

    /// Answers the third block of a connection with the second one.
    struct Repeating;

    impl Candidate for Repeating {
        fn name(&self) -> &'static str {
            "repeating"
        }
        fn runtimes(&self) -> &'static [Runtime] {
            &[Runtime::Blocking]
        }
        fn protocols(&self) -> &'static [Protocol] {
            &[Protocol::Framed]
        }
        fn supports(&self, _: Runtime, _: Topology) -> bool {
            true
        }
        fn serve(&self, job: Job) -> io::Result<()> {
            let (mut stream, _) = job.listener.accept()?;
            let mut block = [0; 68];
            for number in 1.. {
                let mut read = [0; 68];
                stream.read_exact(&mut read)?;
                if number != 3 {
                    block = read;
                }
                stream.write_all(&block)?;
            }
            Ok(())
        }
    }

    fn outcome(candidate: &'static dyn Candidate) -> Outcome {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let (protocol, runtime, topology) = (Protocol::Framed, candidate.runtimes()[0], Topology::SINGLE);
        let job = Job { listener, protocol, request: 68, identity: None, runtime, topology, companions: None };
        thread::spawn(move || serve_on(candidate, job));
        let traffic = Traffic {
            protocol,
            certificate: None,
            mirrored: false,
            payload: 64,
            load: Load { clients: 1, window: 4 },
            warmup: Duration::ZERO,
            seconds: Duration::from_millis(10),
            idle: Idle::Sleep,
            patience: Duration::from_secs(1),
            cores: Vec::new(),
        };
        from_this_thread(&traffic, address, &mut Stopwatch::default()).unwrap()
    }

    #[test]
    fn the_floor_is_valid() {
        let outcome = outcome(&Floor);
        assert_eq!((outcome.errors, outcome.error), (0, None));
    }

    #[test]
    fn a_broken_candidate_is_not() {
        let outcome = outcome(&Repeating);
        assert_eq!(outcome.errors, 1);
        assert_eq!(outcome.error.unwrap(), "connection 0: reply 2 differs at byte 4");
    }
}
