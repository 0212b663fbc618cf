//! One measurement: fresh processes, from their start to their end.

use crate::{
    candidates::FLOOR,
    messages::{Command, Idle, Outcome, Report, Service, Traffic, Usage},
    options::{CHILD, Placement, Settings},
    parent::{self, out_of_turn},
    plan::{Entry, Group},
    summary::Sample,
    tls::Identity,
};
use std::{io, time::Duration};

type Process = parent::Process<Report>;

/// How long connections may take to open, the last requests to be answered, and then the server to close; and how much
/// longer for each connection, as a thousand handshakes take their time on a busy machine.
const LOAD_PATIENCE: (Duration, Duration) = (Duration::from_secs(5), Duration::from_millis(20));

/// How long a child may be silent, beside what a load generator waits for and measures.
const PATIENCE: Duration = Duration::from_secs(5);

/// Measures one server once, on those cores, with that identity where TLS is spoken.
pub fn measure(group: &Group, entry: &Entry, settings: &Settings, (cores, identity): (&[usize], &Identity)) -> Sample {
    let identity = group.protocol.has_tls().then_some(identity);
    let (server_cores, load_cores) = share(group.placement, entry.topology.threads, cores);
    let service = Service {
        candidate: entry.candidate.name().to_owned(),
        protocol: group.protocol,
        payload: group.payload,
        work: settings.work,
        runtime: entry.runtime,
        topology: entry.topology,
        identity: identity.cloned(),
        cores: server_cores.to_vec(),
    };
    let traffic = Traffic {
        protocol: group.protocol,
        certificate: identity.map(|identity| identity.certificate().to_owned()),
        mirrored: entry.candidate.name() == FLOOR,
        payload: group.payload,
        load: group.load,
        warmup: settings.warmup,
        seconds: settings.seconds,
        idle: if server_cores == load_cores { Idle::Sleep } else { Idle::Spin },
        patience: LOAD_PATIENCE.0 + LOAD_PATIENCE.1 * u32::try_from(group.load.clients).unwrap_or(u32::MAX),
        cores: load_cores.to_vec(),
    };
    let measured = match group.placement {
        Placement::Split => split(service, traffic),
        Placement::Shared => shared(service, traffic),
    };
    match measured {
        Ok(measured) => sample(measured, settings.work > 0),
        Err(error) => Sample::failed(error.to_string()),
    }
}

/// Who runs where: the server, and the load generator.
fn share(placement: Placement, threads: usize, cores: &[usize]) -> (&[usize], &[usize]) {
    match placement {
        Placement::Split if cores.len() > 1 => cores.split_at(threads.clamp(1, cores.len() - 1)),
        _ => {
            let both = &cores[..threads.clamp(1, cores.len())];
            (both, both)
        }
    }
}

/// What the load generator saw, what the server used from and to, and how much of the time others disturbed.
type Measured = (Outcome, Usage, Usage, Option<f64>);

fn split(service: Service, traffic: Traffic) -> io::Result<Measured> {
    let threads = service.topology.threads;
    let mut server = Process::start(CHILD, &Command::Serve(service))?;
    let Report::Listening(port) = server.report(PATIENCE)? else { return Err(out_of_turn()) };
    let patience = silence(&traffic);
    // Otherwise they wait for each other, or the server's threads do.
    let alone = traffic.idle == Idle::Spin && threads == 1;
    let mut load = Process::start(CHILD, &Command::Drive(traffic, port))?;
    let mut usages = Vec::new();
    loop {
        match load.report(patience)? {
            Report::Begun => usages.push(usage(&mut server)?),
            Report::Ended => {
                usages.push(usage(&mut server)?);
                load.tell(&Command::Stop)?;
            }
            Report::Driven(outcome, load_from, load_to) => {
                let from = usages.first().copied().unwrap_or_default();
                let to = usages.last().copied().unwrap_or_default();
                return Ok((outcome, from, to, alone.then(|| waited(from, to).max(waited(load_from, load_to)))));
            }
            _ => return Err(out_of_turn()),
        }
    }
}

fn shared(service: Service, traffic: Traffic) -> io::Result<Measured> {
    let patience = silence(&traffic);
    let mut both = Process::start(CHILD, &Command::Both(service, traffic))?;
    match both.report(patience)? {
        Report::Both(outcome, from, to) => Ok((outcome, from, to, None)),
        _ => Err(out_of_turn()),
    }
}

/// How long a load generator may be silent: one that reports only at the end is at most five times patient until then.
fn silence(traffic: &Traffic) -> Duration {
    PATIENCE + 5 * traffic.patience + traffic.warmup + traffic.seconds
}

fn usage(server: &mut Process) -> io::Result<Usage> {
    server.tell(&Command::Usage)?;
    match server.report(PATIENCE)? {
        Report::Usage(usage) => Ok(usage),
        _ => Err(out_of_turn()),
    }
}

/// Time without a core over time.
fn waited(from: Usage, to: Usage) -> f64 {
    to.waited.saturating_sub(from.waited).as_secs_f64() / to.at.saturating_sub(from.at).as_secs_f64()
}

/// CPU time is a rate between two instants, and so are round trips; that way the instants need not be the same.
fn sample((outcome, from, to, disturbed): Measured, has_work: bool) -> Sample {
    if has_work && to.worked.is_some_and(|worked| worked < outcome.round_trips) {
        return Sample::failed("it has worked for fewer messages than it has answered".to_owned());
    }
    let micros = |time: Duration| time.as_secs_f64() * 1e6;
    let cores = to.cpu.saturating_sub(from.cpu).as_secs_f64() / to.at.saturating_sub(from.at).as_secs_f64();
    let rate = outcome.round_trips as f64 / outcome.elapsed.as_secs_f64();
    let sample = Sample {
        round_trips_per_s: rate,
        cpu_ns_per_round_trip: cores / rate * 1e9,
        p50_us: micros(outcome.p50),
        p95_us: micros(outcome.p95),
        p99_us: micros(outcome.p99),
        cpu_percent: cores * 100.0,
        peak_rss_mib: to.peak_rss_kib as f64 / 1024.0,
        disturbed,
        errors: outcome.errors,
        error: outcome.error,
    };
    match sample.errors == 0 && !(sample.cpu_ns_per_round_trip.is_finite() && cores > 0.0) {
        true => Sample::failed("the measured time was too short to measure CPU time".to_owned()),
        false => sample,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_are_shared_as_the_placement_says() {
        let four = [0, 1, 2, 3];
        assert_eq!(share(Placement::Split, 1, &four), (&four[..1], &four[1..]));
        assert_eq!(share(Placement::Split, 2, &four), (&four[..2], &four[2..]));
        assert_eq!(share(Placement::Split, 16, &four), (&four[..3], &four[3..]));
        assert_eq!(share(Placement::Split, 2, &four[..2]), (&four[..1], &four[1..2]));
        assert_eq!(share(Placement::Split, 2, &four[..1]), (&four[..1], &four[..1]));
        assert_eq!(share(Placement::Shared, 2, &four), (&four[..2], &four[..2]));
    }

    #[test]
    fn cpu_time_per_round_trip_is_a_ratio_of_rates() {
        let at = |at, cpu| Usage {
            at: Duration::from_millis(at),
            cpu: Duration::from_millis(cpu),
            waited: Duration::ZERO,
            worked: Some(999),
            peak_rss_kib: 2048,
        };
        let outcome = Outcome { round_trips: 1000, elapsed: Duration::from_secs(1), ..Outcome::default() };
        let measured = (outcome, at(5000, 100), at(7000, 1100), None);
        let valid = sample(measured.clone(), false);
        assert_eq!((valid.round_trips_per_s, valid.cpu_percent, valid.peak_rss_mib), (1000.0, 50.0, 2.0));
        assert!((valid.cpu_ns_per_round_trip - 500_000.0).abs() < 1e-6);
        // One message too few.
        assert!(sample(measured, true).error.unwrap().contains("worked for fewer messages"));
    }
}
