//! Samples of CPU time, interleaved, and allocations.

use bytewise_bench::cases::Candidate;
use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;

/// How often and how long.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sampling {
    pub(crate) rounds: usize,
    pub(crate) millis: u64,
}

/// One line of the result.
#[derive(Debug, Serialize)]
pub(crate) struct Row {
    pub(crate) name: String,
    #[serde(rename = "impl")]
    pub(crate) candidate: &'static str,
    pub(crate) block: Option<usize>,
    pub(crate) body: usize,
    pub(crate) delivery: &'static str,
    pub(crate) initial: Option<usize>,
    pub(crate) ns_per_message: f64,
    pub(crate) hand_ratio: f64,
    pub(crate) floor_ratio: f64,
    pub(crate) hyper_ratio: f64,
    pub(crate) allocations_per_message: f64,
}

/// What is measured, without the candidate.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) block: Option<usize>,
    pub(crate) body: usize,
    pub(crate) delivery: &'static str,
}

/// Measures the candidates of one case, one after the other in each round. Ratios are to those called
/// `hand`, `floor` and `hyper`, where there are such.
pub(crate) fn rows(case: &Case, sampling: Sampling, mut candidates: Vec<Candidate<'_>>) -> Vec<Row> {
    let passes: Vec<_> = candidates.iter_mut().map(|candidate| calibrate(candidate, sampling.millis)).collect();
    let mut samples = vec![Vec::with_capacity(sampling.rounds); candidates.len()];
    for round in 0..sampling.rounds {
        for turn in 0..candidates.len() {
            let at = (turn + round) % candidates.len();
            samples[at].push(sample(&mut candidates[at], passes[at]));
        }
    }
    let position = |name| candidates.iter().position(|candidate| candidate.name == name);
    let (floor, hand, hyper) = (position("floor"), position("hand"), position("hyper"));
    let ratio = |at: usize, to: Option<usize>| {
        let Some(to) = to else { return f64::NAN };
        median(samples[at].iter().zip(&samples[to]).map(|(a, b)| a / b).collect())
    };
    let measured: Vec<_> = (0..candidates.len())
        .map(|at| (median(samples[at].clone()), ratio(at, hand), ratio(at, floor), ratio(at, hyper)))
        .collect();
    let allocations: Vec<_> = candidates.iter_mut().map(allocations).collect();
    candidates
        .iter()
        .zip(measured)
        .zip(allocations)
        .map(|((candidate, (ns_per_message, hand_ratio, floor_ratio, hyper_ratio)), allocations_per_message)| Row {
            name: case.name.clone(),
            candidate: candidate.name,
            block: case.block,
            body: case.body,
            delivery: case.delivery,
            initial: candidate.initial,
            ns_per_message,
            hand_ratio,
            floor_ratio,
            hyper_ratio,
            allocations_per_message,
        })
        .collect()
}

/// How many passes take so many milliseconds.
fn calibrate(candidate: &mut Candidate<'_>, millis: u64) -> u64 {
    (candidate.pass)();
    let mut passes = 1;
    loop {
        let begin = cpu_ns();
        for _ in 0..passes {
            (candidate.pass)();
        }
        let took = cpu_ns() - begin;
        if took * 4 >= millis * 1_000_000 {
            return (passes * millis * 1_000_000 / took.max(1)).max(1);
        }
        passes *= 2;
    }
}

/// Nanoseconds per message.
fn sample(candidate: &mut Candidate<'_>, passes: u64) -> f64 {
    let begin = cpu_ns();
    let messages: u64 = (0..passes).map(|_| (candidate.pass)()).sum();
    (cpu_ns() - begin) as f64 / messages as f64
}

/// Allocations per message of one more pass, by this thread.
fn allocations(candidate: &mut Candidate<'_>) -> f64 {
    let mut messages = 0;
    let info = allocation_counter::measure(|| messages = (candidate.pass)());
    info.count_total as f64 / messages as f64
}

/// CPU time of this thread.
fn cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => values[n / 2],
        n => f64::midpoint(values[n / 2 - 1], values[n / 2]),
    }
}
