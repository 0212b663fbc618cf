//! Rows of `compare`, in groups of what is compared: ratios, and what makes a row doubtful.

use crate::input::{Compare, Run};

/// (max - min) / median of round trips from which on a row is called noisy.
pub(crate) const NOISY_SPREAD: f64 = 0.25;
/// Part of the time that other programs had a core, from which on a row is called disturbed; as `compare` warns.
pub(crate) const DISTURBED: f64 = 0.05;

/// Who a row is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Ours,
    Floor,
    Peer,
}

/// What all rows of a group share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) protocol: String,
    pub(crate) payload: u64,
    pub(crate) clients: u64,
    pub(crate) window: u64,
    pub(crate) placement: String,
    pub(crate) work: u64,
    /// Of all runs, since ratios are never taken between runs; 0 is the first.
    pub(crate) run: usize,
}

impl Key {
    fn of(row: &Compare, run: usize) -> Self {
        Self {
            protocol: row.protocol.clone(),
            payload: row.payload,
            clients: row.clients,
            window: row.window,
            placement: row.placement.clone(),
            work: row.work,
            run,
        }
    }

    /// Clients and window as the command line has them.
    pub(crate) fn load(&self) -> String {
        format!("{}x{}", self.clients, self.window)
    }

    /// Clients and window in words.
    pub(crate) fn load_words(&self) -> String {
        let plural = |count: u64| if count == 1 { "" } else { "s" };
        format!("{} client{} × {} in flight", self.clients, plural(self.clients), self.window)
    }

    /// What is said only where it is not the usual.
    pub(crate) fn rest(&self) -> String {
        let work = if self.work == 0 { String::new() } else { format!(", work {}", self.work) };
        let run = if self.run == 0 { String::new() } else { format!(", run {}", self.run + 1) };
        format!("{}{work}{run}", self.placement)
    }
}

/// A row that is valid, and what is derived from it and its group.
#[derive(Debug, Clone)]
pub(crate) struct Measured {
    pub(crate) row: Compare,
    pub(crate) kind: Kind,
    pub(crate) trips: f64,
    /// Round trips over those of its reference in `bytewise`; of peers only.
    pub(crate) trips_to_ours: Option<f64>,
    /// CPU time per round trip over that of its reference in `bytewise`; of peers only.
    pub(crate) cpu_to_ours: Option<f64>,
    /// (max - min) / median of round trips.
    pub(crate) spread: Option<f64>,
}

impl Measured {
    fn new(row: Compare, trips: f64) -> Self {
        let range = row.round_trips_per_s_max.zip(row.round_trips_per_s_min);
        let spread = range.map(|(max, min)| (max - min) / trips).filter(|spread| spread.is_finite());
        let kind = match row.name.as_str() {
            "bytewise" => Kind::Ours,
            "floor" => Kind::Floor,
            _ => Kind::Peer,
        };
        Self { row, kind, trips, trips_to_ours: None, cpu_to_ours: None, spread }
    }

    /// Payload bytes times round trips, one way, in MiB/s.
    pub(crate) fn mib_per_s(&self) -> f64 {
        self.trips * self.row.payload as f64 / f64::from(1 << 20)
    }

    pub(crate) fn is_noisy(&self) -> bool {
        self.spread.is_some_and(|spread| spread >= NOISY_SPREAD)
            || self.row.disturbed.is_some_and(|part| part > DISTURBED)
    }

    /// Runtime and topology.
    pub(crate) fn place(&self) -> String {
        place(&self.row)
    }
}

/// Runtime and topology of a row.
pub(crate) fn place(row: &Compare) -> String {
    format!("{} {}x{}", row.runtime, row.contexts, row.threads)
}

/// Rows that may be compared with each other.
#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) key: Key,
    pub(crate) rows: Vec<Measured>,
    /// Those with errors, or without a result.
    pub(crate) failed: Vec<Compare>,
}

impl Group {
    /// The fastest row of this kind.
    pub(crate) fn fastest(&self, kind: Kind) -> Option<&Measured> {
        self.rows.iter().filter(|row| row.kind == kind).max_by(|one, other| one.trips.total_cmp(&other.trips))
    }

    /// Compares each peer with `bytewise` on the same runtime in the same topology; where there is no such row, with
    /// the fastest one of it on tokio 1x1.
    fn compare_peers(&mut self) {
        let ours: Vec<_> = self.rows.iter().filter(|row| row.kind == Kind::Ours).cloned().collect();
        let fastest = |place: &str| {
            let rows = ours.iter().filter(|row| row.place() == place);
            rows.max_by(|one, other| one.trips.total_cmp(&other.trips))
        };
        for row in self.rows.iter_mut().filter(|row| row.kind == Kind::Peer) {
            let Some(reference) = fastest(&row.place()).or_else(|| fastest("tokio 1x1")) else { continue };
            row.trips_to_ours = ratio(Some(row.trips), Some(reference.trips));
            row.cpu_to_ours = ratio(row.row.server_cpu_ns_per_round_trip, reference.row.server_cpu_ns_per_round_trip);
        }
    }
}

/// `None` where it would not be a number.
pub(crate) fn ratio(value: Option<f64>, to: Option<f64>) -> Option<f64> {
    Some(value? / to?).filter(|ratio| ratio.is_finite() && *ratio > 0.0)
}

/// All groups, whatever the order of their rows: protocols and placements in the order in which they come, sizes from
/// the smallest.
pub(crate) fn groups(runs: &[Run]) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for (run, rows) in runs.iter().map(|run| &run.compare).filter(|rows| !rows.is_empty()).enumerate() {
        for row in rows {
            let key = Key::of(row, run);
            let at = groups.iter().position(|group| group.key == key).unwrap_or_else(|| {
                groups.push(Group { key, rows: Vec::new(), failed: Vec::new() });
                groups.len() - 1
            });
            // As `compare` has it: one connection that went wrong makes the row invalid.
            let failed = row.errors > 0 || row.error.is_some();
            match row.round_trips_per_s.filter(|trips| !failed && *trips > 0.0) {
                Some(trips) => groups[at].rows.push(Measured::new(row.clone(), trips)),
                None => groups[at].failed.push(row.clone()),
            }
        }
    }
    groups.iter_mut().for_each(Group::compare_peers);
    let protocols = distinct(groups.iter().map(|group| group.key.protocol.clone()));
    let placements = distinct(groups.iter().map(|group| group.key.placement.clone()));
    groups.sort_by_key(|Group { key, .. }| {
        let protocol = protocols.iter().position(|protocol| *protocol == key.protocol);
        let placement = placements.iter().position(|placement| *placement == key.placement);
        (protocol, key.run, placement, key.work, key.payload, key.clients, key.window)
    });
    groups
}

/// Without repetitions, in the order in which they come.
pub(crate) fn distinct<T: PartialEq>(values: impl IntoIterator<Item = T>) -> Vec<T> {
    values.into_iter().fold(Vec::new(), |mut seen, value| {
        if !seen.contains(&value) {
            seen.push(value);
        }
        seen
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A row of 64 bytes, 1x1, split: who, where, round trips per second, CPU time.
    pub(crate) fn row(name: &str, runtime: &str, topology: (u64, u64), trips: f64, cpu: f64) -> Compare {
        Compare {
            name: name.to_owned(),
            protocol: "framed".to_owned(),
            runtime: runtime.to_owned(),
            contexts: topology.0,
            threads: topology.1,
            payload: 64,
            clients: 1,
            window: 1,
            placement: "split".to_owned(),
            round_trips_per_s: Some(trips),
            round_trips_per_s_min: Some(trips * 0.95),
            round_trips_per_s_max: Some(trips * 1.05),
            server_cpu_ns_per_round_trip: Some(cpu),
            p99_us: Some(cpu / 10.0),
            ..Compare::default()
        }
    }

    pub(crate) fn of(rows: Vec<Compare>) -> Vec<Group> {
        groups(&[Run { compare: rows, ..Run::default() }])
    }

    #[test]
    fn rows_are_grouped_by_all_they_share() {
        let one = row("bytewise", "tokio", (1, 1), 1e5, 1e3);
        let others = [
            Compare { protocol: "http".to_owned(), ..one.clone() },
            Compare { payload: 65, ..one.clone() },
            Compare { clients: 2, ..one.clone() },
            Compare { window: 2, ..one.clone() },
            Compare { placement: "shared".to_owned(), ..one.clone() },
            Compare { work: 7, ..one.clone() },
        ];
        let rows = [vec![one.clone()], others.to_vec(), vec![row("floor", "epoll", (1, 1), 1e6, 1e2)]].concat();
        let groups = of(rows);
        assert_eq!(groups.len(), 7);
        assert_eq!(groups.iter().map(|group| group.rows.len()).collect::<Vec<_>>(), [2, 1, 1, 1, 1, 1, 1]);
        assert_eq!(groups[3].key.payload, 65);
        assert_eq!((groups[4].key.rest(), groups[5].key.rest()), ("split, work 7".to_owned(), "shared".to_owned()));
        // Protocol by protocol, though the other one came second.
        assert_eq!(groups[6].key.protocol, "http");
    }

    #[test]
    fn two_runs_are_never_one_group() {
        let run = || Run { compare: vec![row("bytewise", "tokio", (1, 1), 1e5, 1e3)], ..Run::default() };
        let groups = groups(&[run(), Run::default(), run()]);
        assert_eq!(groups.iter().map(|group| group.key.rest()).collect::<Vec<_>>(), ["split", "split, run 2"]);
    }

    #[test]
    fn peers_are_compared_with_the_same_place_or_else_with_tokio() {
        let groups = of(vec![
            row("floor", "epoll", (1, 1), 8e5, 1e2),
            row("bytewise", "tokio", (1, 1), 4e5, 1e3),
            row("bytewise", "tokio", (2, 2), 2e5, 2e3),
            row("tokio-util", "tokio", (2, 2), 1e5, 3e3),
            row("beast", "asio", (2, 2), 1e5, 3e3),
        ]);
        let ratios: Vec<_> = groups[0].rows.iter().map(|row| (row.trips_to_ours, row.cpu_to_ours)).collect();
        assert_eq!(ratios[..3], [(None, None); 3]);
        assert_eq!(ratios[3], (Some(0.5), Some(1.5)));
        assert_eq!(ratios[4], (Some(0.25), Some(3.0)));
    }

    #[test]
    fn without_a_reference_there_is_no_ratio() {
        let smol = row("bytewise", "smol", (1, 1), 4e5, 1e3);
        let groups = of(vec![smol, row("tokio-util", "tokio", (1, 1), 1e5, 3e3)]);
        assert_eq!((groups[0].rows[1].trips_to_ours, groups[0].rows[1].cpu_to_ours), (None, None));
        assert_eq!(ratio(Some(1.0), Some(0.0)), None);
    }

    #[test]
    fn what_failed_is_apart_and_no_reference() {
        let mut bad = row("bytewise", "tokio", (1, 1), 1e9, 1.0);
        bad.errors = 1;
        bad.error = Some("a byte differs".to_owned());
        let unmeasured = Compare { round_trips_per_s: None, ..row("bytewise", "smol", (1, 1), 1.0, 1.0) };
        let groups = of(vec![bad, unmeasured, row("tokio-util", "tokio", (1, 1), 1e5, 3e3)]);
        assert_eq!((groups[0].rows.len(), groups[0].failed.len()), (1, 2));
        assert_eq!(groups[0].rows[0].trips_to_ours, None);
        assert!(groups[0].fastest(Kind::Ours).is_none());
    }

    #[test]
    fn wide_spreads_and_other_programs_make_a_row_noisy() {
        let quiet = row("bytewise", "tokio", (1, 1), 1e5, 1e3);
        let wide = Compare { round_trips_per_s_min: Some(7.9e4), ..quiet.clone() };
        let disturbed = Compare { disturbed: Some(0.06), ..quiet.clone() };
        let unknown = Compare { round_trips_per_s_min: None, ..quiet.clone() };
        let groups = of(vec![quiet, wide, disturbed, unknown]);
        let noisy: Vec<_> = groups[0].rows.iter().map(Measured::is_noisy).collect();
        assert_eq!(noisy, [false, true, true, false]);
        assert!((groups[0].rows[1].spread.unwrap() - 0.26).abs() < 1e-9);
    }

    #[test]
    fn a_mebibyte_is_counted_one_way() {
        let groups = of(vec![Compare { payload: 1 << 20, ..row("bytewise", "tokio", (1, 1), 3.0, 1e3) }]);
        assert_eq!(groups[0].rows[0].mib_per_s(), 3.0);
    }
}
