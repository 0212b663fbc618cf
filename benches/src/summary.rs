//! From rounds to rows.

use crate::{
    options::{Placement, Protocol, Runtime},
    plan::{Entry, Group},
};
use serde::{Deserialize, Serialize};

/// What one round of one server gave.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sample {
    /// Verified replies.
    pub round_trips_per_s: f64,
    /// CPU time of the measured process.
    pub cpu_ns_per_round_trip: f64,
    /// Latency, 50 of 100 were not slower.
    pub p50_us: f64,
    /// Latency, 95 of 100 were not slower.
    pub p95_us: f64,
    /// Latency, 99 of 100 were not slower.
    pub p99_us: f64,
    /// Of one core.
    pub cpu_percent: f64,
    /// Of the measured process.
    pub peak_rss_mib: f64,
    /// How much of the time other programs kept the server or the load generator from running, where each had a core.
    pub disturbed: Option<f64>,
    /// What went wrong; if anything did, nothing above counts.
    pub errors: u64,
    /// The first of it.
    pub error: Option<String>,
}

impl Sample {
    /// A round that did not come to its end.
    #[must_use]
    pub fn failed(error: String) -> Self {
        Self { errors: 1, error: Some(error), ..Self::default() }
    }

    const fn is_valid(&self) -> bool {
        self.errors == 0
    }
}

/// A row of the result. The names of the columns are those of the fields; `null` is what could not be measured.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Row {
    /// The name of the candidate.
    #[serde(rename = "impl")]
    pub name: String,
    /// What is spoken.
    pub protocol: Protocol,
    /// What serves.
    pub runtime: Runtime,
    /// Event loops.
    pub contexts: usize,
    /// Threads of the server.
    pub threads: usize,
    /// Bytes per message.
    pub payload: usize,
    /// Connections.
    pub clients: usize,
    /// Requests in flight on each.
    pub window: usize,
    /// Which processes.
    pub placement: Placement,
    /// Rounds of [work](crate::work) for each message.
    pub work: u32,
    /// Median of the rounds.
    pub round_trips_per_s: Option<f64>,
    /// The slowest round.
    pub round_trips_per_s_min: Option<f64>,
    /// The fastest round.
    pub round_trips_per_s_max: Option<f64>,
    /// Median of the rounds.
    pub server_cpu_ns_per_round_trip: Option<f64>,
    /// Median of: CPU time per round trip over that of the floor in the same round.
    pub floor_ratio: Option<f64>,
    /// Median of the rounds.
    pub p50_us: Option<f64>,
    /// Median of the rounds.
    pub p95_us: Option<f64>,
    /// Median of the rounds.
    pub p99_us: Option<f64>,
    /// Median of: 99th percentile over that of the floor in the same round.
    pub p99_floor_ratio: Option<f64>,
    /// Median of the rounds.
    pub cpu_percent: Option<f64>,
    /// Median of the rounds.
    pub peak_rss_mib: Option<f64>,
    /// Sum of the rounds; a row with errors is not compared.
    pub errors: u64,
    /// The first error.
    pub error: Option<String>,
}

impl Row {
    /// Whether it is of that server in that group; how it was measured aside.
    #[must_use]
    pub fn is_of(&self, group: &Group, entry: &Entry) -> bool {
        let Group { placement, protocol, payload, load, .. } = *group;
        self.name == entry.candidate.name()
            && self.runtime == entry.runtime
            && (self.contexts, self.threads) == (entry.topology.contexts, entry.topology.threads)
            && (self.protocol, self.payload, self.placement) == (protocol, payload, placement)
            && (self.clients, self.window) == (load.clients, load.window)
    }
}

/// The rows of a group, from its rounds with that [work](crate::work); each round has a sample per entry.
#[must_use]
pub fn rows(group: &Group, rounds: &[Vec<Sample>], work: u32) -> Vec<Row> {
    let floor = group.entries.iter().position(Entry::is_floor);
    let row = |(at, entry): (usize, &Entry)| {
        let samples: Vec<_> = rounds.iter().map(|round| (&round[at], floor.map(|floor| &round[floor]))).collect();
        row(group, entry, &samples, work)
    };
    group.entries.iter().enumerate().map(row).collect()
}

/// One row, from its sample and the floor's in each round.
fn row(group: &Group, entry: &Entry, rounds: &[(&Sample, Option<&Sample>)], work: u32) -> Row {
    let valid = || rounds.iter().map(|(sample, _)| *sample).filter(|sample| sample.is_valid());
    let over_rounds = |column: fn(&Sample) -> f64| median(valid().map(column).collect());
    let errors = rounds.iter().map(|(sample, _)| sample.errors).sum();
    let over_floor = |column: fn(&Sample) -> f64| {
        let pairs =
            rounds.iter().filter_map(|&(sample, floor)| Some((sample, floor.filter(|floor| floor.is_valid())?)));
        let ratios = pairs.map(|(sample, floor)| column(sample) / column(floor)).filter(|ratio| ratio.is_finite());
        if errors == 0 { median(ratios.collect()) } else { None }
    };
    Row {
        name: entry.candidate.name().to_owned(),
        protocol: group.protocol,
        runtime: entry.runtime,
        contexts: entry.topology.contexts,
        threads: entry.topology.threads,
        payload: group.payload,
        clients: group.load.clients,
        window: group.load.window,
        placement: group.placement,
        work,
        round_trips_per_s: over_rounds(|sample| sample.round_trips_per_s.round()),
        round_trips_per_s_min: valid().map(|sample| sample.round_trips_per_s.round()).reduce(f64::min),
        round_trips_per_s_max: valid().map(|sample| sample.round_trips_per_s.round()).reduce(f64::max),
        server_cpu_ns_per_round_trip: over_rounds(|sample| sample.cpu_ns_per_round_trip),
        floor_ratio: over_floor(|sample| sample.cpu_ns_per_round_trip),
        p50_us: over_rounds(|sample| sample.p50_us),
        p95_us: over_rounds(|sample| sample.p95_us),
        p99_us: over_rounds(|sample| sample.p99_us),
        p99_floor_ratio: over_floor(|sample| sample.p99_us),
        cpu_percent: over_rounds(|sample| sample.cpu_percent),
        peak_rss_mib: over_rounds(|sample| sample.peak_rss_mib),
        errors,
        error: rounds.iter().find_map(|(sample, _)| sample.error.clone()),
    }
}

/// The middle value, or the mean of the two in the middle; without digits that say nothing.
#[must_use]
pub fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    let median = match values.len() {
        0 => return None,
        n if n % 2 == 1 => values[middle],
        _ => f64::midpoint(values[middle - 1], values[middle]),
    };
    Some((median * 1000.0).round() / 1000.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        candidates::{self, FLOOR},
        options::{Load, Topology},
    };

    fn group() -> Group {
        let entry = |name| {
            let candidate = candidates::named(name).unwrap();
            Entry { candidate, runtime: candidate.runtimes()[0], topology: Topology::SINGLE }
        };
        Group {
            placement: Placement::Split,
            protocol: Protocol::Framed,
            payload: 64,
            load: Load { clients: 1, window: 1 },
            entries: [FLOOR, "tokio-util"].map(entry).to_vec(),
        }
    }

    fn sample(cpu: f64, p99: f64) -> Sample {
        Sample { round_trips_per_s: 1e9 / cpu, cpu_ns_per_round_trip: cpu, p99_us: p99, ..Sample::default() }
    }

    #[test]
    fn medians() {
        assert_eq!(median(vec![]), None);
        assert_eq!(median(vec![3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(vec![70.335_000_000_000_01]), Some(70.335));
    }

    #[test]
    fn ratios_are_of_the_same_round() {
        // The machine is ten times slower in the second round; the medians alone would say 40 / 20.
        let rounds = [(10.0, 15.0), (200.0, 300.0), (20.0, 40.0)];
        let rounds = rounds.map(|(floor, peer)| vec![sample(floor, floor), sample(peer, 2.0 * peer)]);
        let rows = rows(&group(), &rounds, 0);
        assert_eq!((rows[0].floor_ratio, rows[0].p99_floor_ratio), (Some(1.0), Some(1.0)));
        assert_eq!((rows[1].floor_ratio, rows[1].p99_floor_ratio), (Some(1.5), Some(3.0)));
        assert_eq!(rows[1].server_cpu_ns_per_round_trip, Some(40.0));
        assert_eq!(rows[0].round_trips_per_s_max, Some(1e8));
        assert_eq!(rows[0].round_trips_per_s_min, Some(5e6));
    }

    #[test]
    fn a_row_with_an_error_is_never_compared() {
        let rounds =
            [vec![sample(10.0, 1.0), sample(20.0, 1.0)], vec![sample(10.0, 1.0), Sample::failed("flipped".to_owned())]];
        let rows = rows(&group(), &rounds, 0);
        assert_eq!((rows[1].errors, rows[1].error.as_deref()), (1, Some("flipped")));
        assert_eq!((rows[1].floor_ratio, rows[1].p99_floor_ratio), (None, None));
        assert_eq!(rows[1].server_cpu_ns_per_round_trip, Some(20.0));
        assert_eq!(rows[0].floor_ratio, Some(1.0));
    }

    #[test]
    fn a_round_without_a_floor_gives_no_ratio() {
        let rounds = [vec![Sample::failed("port".to_owned()), sample(20.0, 1.0)]];
        let rows = rows(&group(), &rounds, 0);
        assert_eq!((rows[1].floor_ratio, rows[1].errors), (None, 0));
    }

    #[test]
    fn a_row_as_json_has_all_columns_and_can_be_read_again() {
        let rounds = [vec![sample(10.0, 1.0), Sample::failed("flipped".to_owned())]];
        let columns = "impl protocol runtime contexts threads payload clients window placement work round_trips_per_s \
            round_trips_per_s_min round_trips_per_s_max server_cpu_ns_per_round_trip floor_ratio p50_us p95_us p99_us \
            p99_floor_ratio cpu_percent peak_rss_mib errors error";
        for row in rows(&group(), &rounds, 3) {
            let line = serde_json::to_value(&row).unwrap();
            let names: Vec<_> = line.as_object().unwrap().keys().map(String::as_str).collect();
            let mut columns: Vec<_> = columns.split_whitespace().collect();
            columns.sort_unstable();
            assert_eq!(names, columns);
            assert_eq!((&line["work"], line["error"].is_null()), (&3.into(), row.errors == 0));
            let again: Row = serde_json::from_value(line.clone()).unwrap();
            assert_eq!(serde_json::to_value(again).unwrap(), line);
        }
    }
}
