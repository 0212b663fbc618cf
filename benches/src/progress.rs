//! What is said while it runs, on standard error.

use crate::{
    options::{Placement, Settings},
    plan::{Entry, Group, Plan},
    summary::Sample,
};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::{
    cell::Cell,
    io::{self, IsTerminal},
    time::Duration,
};

/// A bar on a terminal; otherwise a line per twentieth of the work. Both say how long the rest takes.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
    plain: bool,
    twentieths: Cell<u64>,
}

impl Progress {
    /// Says what will be done.
    #[must_use]
    pub fn start(plan: &Plan, settings: &Settings, cores: &[usize], kept: usize) -> Self {
        let count = plan.measurements(settings);
        let duration = readable(plan.duration(settings));
        eprintln!("{count} measurements (rounds: {}, cores: {}), about {duration}", settings.repeat, cores.len());
        if kept > 0 {
            eprintln!("kept: {kept} rows that are there already");
        }
        if !plan.skipped.is_empty() {
            eprintln!("skipped, as there is no such thing: {}", plan.skipped.join("; "));
        }
        if !plan.missing.is_empty() {
            eprintln!("missing: {}", plan.missing.join("; "));
        }
        if settings.placements.contains(&Placement::Split) && cores.len() == 1 {
            eprintln!("one core only: server and load generator take it from each other");
        }
        let plain = !io::stderr().is_terminal();
        // Drawn only between measurements, so that it takes no time from them.
        let target = if plain { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let bar = ProgressBar::with_draw_target(Some(count as u64), target);
        let style = ProgressStyle::with_template("{bar:32} {pos}/{len}, {eta} left; {wide_msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Self { bar, plain, twentieths: Cell::new(0) }
    }

    /// Says what is measured now.
    pub fn measuring(&self, round: usize, group: &Group, entry: &Entry) {
        let Group { payload, load, .. } = group;
        self.bar.set_message(format!("round {}: {entry:?}, {payload} B, {load}", round + 1));
    }

    /// Counts a measurement, and says what was wrong with it.
    pub fn measured(&self, entry: &Entry, sample: &Sample) {
        self.bar.inc(1);
        if let Some(error) = &sample.error {
            self.bar.suspend(|| eprintln!("{entry:?}: {error}"));
        }
        let (done, all) = (self.bar.position(), self.bar.length().unwrap_or(0));
        let twentieths = done * 20 / all.max(1);
        if self.plain && twentieths > self.twentieths.replace(twentieths) {
            eprintln!("{done} of {all}, about {} left", readable(self.bar.eta()));
        }
    }

    /// Removes the bar; warns if other programs disturbed for a good part of the time.
    pub fn finish(&self, disturbed: Option<f64>) {
        self.bar.finish_and_clear();
        if let Some(part) = disturbed.filter(|part| *part > 0.05) {
            eprintln!(
                "warning: other programs had a core of the server's or of the load generator's for {:.0} % of the time. \
                 Throughput and latencies say little then, and CPU times less than on a quiet machine",
                part * 100.0
            );
        }
    }
}

/// In minutes, where seconds say too much.
fn readable(time: Duration) -> String {
    match time.as_secs_f64().ceil() {
        seconds if seconds < 180.0 => format!("{seconds} s"),
        seconds => format!("{} min", (seconds / 60.0).round()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_readable() {
        assert_eq!(readable(Duration::from_millis(1100)), "2 s");
        assert_eq!(readable(Duration::from_secs(2090)), "35 min");
    }
}
