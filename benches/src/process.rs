//! What a process is allowed to run on, and what it has used.

use crate::{messages::Usage, work};
use rustix::{
    process::{Resource, Rlimit, getrlimit, setrlimit},
    thread::{CpuSet, sched_getaffinity, sched_setaffinity},
    time::{ClockId, clock_gettime},
};
use std::{fs, io, time::Duration};

/// The cores this process may use.
pub fn cores() -> io::Result<Vec<usize>> {
    let set = sched_getaffinity(None)?;
    Ok((0..CpuSet::MAX_CPU).filter(|&core| set.is_set(core)).collect())
}

/// Pins this thread, and those that it will start, to these cores; to none in particular if there are none.
pub fn pin(cores: &[usize]) -> io::Result<()> {
    if cores.is_empty() {
        return Ok(());
    }
    let mut set = CpuSet::new();
    cores.iter().for_each(|&core| set.set(core));
    Ok(sched_setaffinity(None, &set)?)
}

/// What this process has used up to now.
pub fn usage() -> io::Result<Usage> {
    let worked = Some(work::messages());
    let usage = usage_of(std::process::id(), clock(ClockId::Monotonic), clock(ClockId::ProcessCPUTime))?;
    Ok(Usage { worked, ..usage })
}

/// What the process of that number has used, by its own clocks and the system's word.
pub fn usage_of(id: u32, at: Duration, cpu: Duration) -> io::Result<Usage> {
    Ok(Usage { at, cpu, waited: waited(id), worked: None, peak_rss_kib: peak_rss_kib(id)? })
}

/// Allows as many open files as the system lets this process have.
pub fn raise_file_limit() -> io::Result<()> {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    Ok(setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum })?)
}

fn clock(id: ClockId) -> Duration {
    let time = clock_gettime(id);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// The second number there, in nanoseconds.
fn waited(id: u32) -> Duration {
    let text = fs::read_to_string(format!("/proc/{id}/schedstat")).unwrap_or_default();
    let nanos = text.split_whitespace().nth(1).and_then(|number| number.parse().ok());
    Duration::from_nanos(nanos.unwrap_or(0))
}

fn peak_rss_kib(id: u32) -> io::Result<u64> {
    status_kib(&id.to_string(), "VmHWM")
}

/// The resident set of this process now.
pub fn rss_kib() -> io::Result<u64> {
    status_kib("self", "VmRSS")
}

/// Descriptors that this process has open, the one of this look among them.
pub fn descriptors() -> io::Result<usize> {
    Ok(fs::read_dir("/proc/self/fd")?.count())
}

fn status_kib(process: &str, field: &str) -> io::Result<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status"))?;
    status
        .lines()
        .find_map(|line| line.strip_prefix(field)?.strip_prefix(':')?.trim().strip_suffix("kB")?.trim().parse().ok())
        .ok_or_else(|| io::Error::other(format!("its status in /proc has no {field}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usage_grows() {
        let before = usage().unwrap();
        let sum: u64 = std::hint::black_box((0..100_000u64).sum());
        let after = usage().unwrap();
        assert!(sum > 0 && after.cpu > before.cpu && after.at > before.at);
        assert!(before.peak_rss_kib > 0 && after.peak_rss_kib >= before.peak_rss_kib);
    }

    #[test]
    fn this_process_has_memory_and_descriptors() {
        let peak = peak_rss_kib(std::process::id()).unwrap();
        assert!(rss_kib().unwrap() > 0 && peak > 0 && descriptors().unwrap() > 0);
        assert!(status_kib("self", "VmNone").is_err());
    }

    #[test]
    fn this_process_has_cores() {
        let cores = cores().unwrap();
        assert!(!cores.is_empty());
        std::thread::spawn(move || pin(&cores[..1]).unwrap()).join().unwrap();
    }
}
