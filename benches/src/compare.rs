//! The order of measurements.

use crate::{
    options::Settings,
    plan::Plan,
    process,
    progress::Progress,
    results::Results,
    round,
    summary::{self, Sample},
    tls::Identity,
};
use std::io;

/// Measures everything that was asked for and is not among the results.
///
/// Group by group, so that each can be kept as soon as it is complete; within a group round by round, so that a change
/// of the machine's speed meets all alike, one server after the other, beginning with another one in each round.
pub fn run(settings: &Settings, results: &mut Results) -> io::Result<()> {
    let mut plan = Plan::new(settings);
    plan.prepare();
    results.leave_out(&mut plan);
    let cores = process::cores()?;
    let identity = Identity::new()?;
    let progress = Progress::start(&plan, settings, &cores, results.rows().len());
    let mut disturbed = Vec::new();
    for group in &plan.groups {
        let count = group.entries.len();
        let mut rounds = Vec::new();
        for round in 0..settings.repeat as usize {
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
        disturbed.extend(rounds.iter().flatten().filter_map(|sample| sample.disturbed));
        results.add(group, summary::rows(group, &rounds, settings.work))?;
    }
    progress.finish(summary::median(disturbed));
    Ok(())
}
