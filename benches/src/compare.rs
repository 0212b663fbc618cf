//! The order of measurements.

use crate::{
    options::Settings,
    plan::Plan,
    process,
    progress::Progress,
    round,
    summary::{self, Row, Sample},
    tls::Identity,
};
use std::io;

/// Measures everything that was asked for.
///
/// Round by round, so that a change of the machine's speed meets all alike; within a round group by group, and within
/// a group one server after the other, beginning with another one in each round.
pub fn run(settings: &Settings) -> io::Result<Vec<Row>> {
    let mut plan = Plan::new(settings);
    plan.prepare();
    let cores = process::cores()?;
    let identity = Identity::new()?;
    let progress = Progress::start(&plan, settings, &cores);
    let mut rounds: Vec<Vec<Vec<Sample>>> = plan.groups.iter().map(|_| Vec::new()).collect();
    for round in 0..settings.repeat as usize {
        for (group, rounds) in plan.groups.iter().zip(&mut rounds) {
            let count = group.entries.len();
            let mut samples = vec![Sample::default(); count];
            for turn in 0..count {
                // Rounds begin evenly spread over the entries.
                let at = (turn + round * count / settings.repeat as usize) % count;
                let entry = &group.entries[at];
                progress.measuring(round, group, entry);
                samples[at] = round::measure(group, entry, settings, (&cores, &identity));
                progress.measured(entry, &samples[at]);
            }
            rounds.push(samples);
        }
    }
    progress.finish(summary::disturbed(rounds.iter().flatten().flatten()));
    Ok(plan.groups.iter().zip(&rounds).flat_map(|(group, rounds)| summary::rows(group, rounds)).collect())
}
