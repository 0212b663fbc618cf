//! Which runtime and topology to take, by what was measured.
//!
//! Means over several groups are geometric, so that each group counts alike and a mean of ratios is a ratio of means.

use crate::{
    groups::{Group, Key, Kind, Measured, NOISY_SPREAD, distinct, ratio},
    input::Run,
    table::{Table, list, maybe, percent, times},
};

/// What is said of the whole.
#[derive(Debug, Default)]
pub(crate) struct Advice {
    /// The recommendation and what goes with it, a paragraph each: the first words, and the rest.
    pub(crate) points: Vec<(String, String)>,
    /// The best of each protocol and load.
    pub(crate) best: Table,
    /// The fastest peer of each, beside it.
    pub(crate) peers: Table,
    /// What threads and contexts do, beside 1x1 of the same runtime.
    pub(crate) topologies: Table,
    /// What runtimes do, beside tokio in the same topology.
    pub(crate) runtimes: Table,
}

impl Advice {
    /// The tables with their titles and what is to know of them.
    pub(crate) fn tables(&self) -> [(&'static str, &'static str, &Table); 4] {
        [
            (
                "The best by protocol and load",
                "Servers of bytewise by each measure, over all payloads; beside the floor in brackets. As good is what \
                 cannot be told apart.",
                &self.best,
            ),
            ("The fastest peer", "The mean over all payloads, over that of bytewise at its fastest.", &self.peers),
            (
                "What threads and contexts do",
                "The mean over all protocols, payloads and runtimes, over that of 1x1 on the same runtime.",
                &self.topologies,
            ),
            (
                "What the runtime does",
                "The mean over all protocols, payloads and topologies, over that of tokio in the same topology.",
                &self.runtimes,
            ),
        ]
    }
}

/// Differences below that are never a reason to choose.
const TOLERANCE: f64 = 0.05;
/// What is written by hand around the core; all others are servers to be called.
const BY_HAND: &str = "epoll";

/// What is compared; the cost is less where it is better.
#[derive(Debug, Clone, Copy)]
struct Measure {
    cost: fn(&Measured) -> Option<f64>,
}

const TRIPS: Measure = Measure { cost: |row| Some(1.0 / row.trips) };
const CPU: Measure = Measure { cost: |row| row.row.server_cpu_ns_per_round_trip };
const P99: Measure = Measure { cost: |row| row.row.p99_us };
const MEASURES: [Measure; 3] = [TRIPS, CPU, P99];

/// Somebody in some topology, and the mean of the cost.
#[derive(Debug, Clone, PartialEq)]
struct Scored {
    who: String,
    cost: f64,
}

/// From the best one on: all that have been measured in every group.
fn ranking(groups: &[&Group], of: fn(&Measured) -> bool, measure: Measure) -> Vec<Scored> {
    let who = |row: &Measured| match row.kind {
        Kind::Ours => row.place(),
        _ => format!("{} on {}", row.row.name, row.place()),
    };
    let cost_in = |name: &str, group: &Group| {
        let row = group.rows.iter().find(|row| of(row) && who(row) == name)?;
        (measure.cost)(row).filter(|cost| cost.is_finite() && *cost > 0.0)
    };
    let names = distinct(groups.iter().flat_map(|group| &group.rows).filter(|row| of(row)).map(who));
    let scored = names.into_iter().filter_map(|who| {
        let costs: Option<Vec<f64>> = groups.iter().map(|group| cost_in(&who, group)).collect();
        Some(Scored { cost: mean(costs?)?, who })
    });
    let mut scored: Vec<_> = scored.collect();
    scored.sort_by(|one, other| one.cost.total_cmp(&other.cost));
    scored
}

/// The geometric mean, of positive values.
fn mean(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let logarithms: Vec<f64> = values.into_iter().map(f64::ln).collect();
    let mean = logarithms.iter().sum::<f64>() / logarithms.len() as f64;
    Some(mean.exp()).filter(|mean| mean.is_finite())
}

/// What cannot be told apart: the median of the rows' spreads, at least 5 %.
fn tolerance(groups: &[&Group]) -> f64 {
    let mut spreads: Vec<f64> = groups.iter().flat_map(|group| &group.rows).filter_map(|row| row.spread).collect();
    spreads.sort_by(f64::total_cmp);
    spreads.get(spreads.len() / 2).map_or(TOLERANCE, |median| median.max(TOLERANCE))
}

fn is_server(row: &Measured) -> bool {
    row.kind == Kind::Ours && row.row.runtime != BY_HAND
}

fn is_by_hand(row: &Measured) -> bool {
    row.kind == Kind::Ours && row.row.runtime == BY_HAND
}

fn is_peer(row: &Measured) -> bool {
    row.kind == Kind::Peer
}

fn is_floor(row: &Measured) -> bool {
    row.kind == Kind::Floor
}

/// Groups that share all that this makes of their keys.
fn gathered<K: PartialEq>(groups: &[Group], key: impl Fn(&Key) -> K) -> Vec<Vec<&Group>> {
    let keys = distinct(groups.iter().map(|group| key(&group.key)));
    keys.iter().map(|one| groups.iter().filter(|group| key(&group.key) == *one).collect()).collect()
}

/// The advice of all groups; empty without any.
pub(crate) fn advice(groups: &[Group], runs: &[Run]) -> Advice {
    let rows = || groups.iter().flat_map(|group| &group.rows);
    if !rows().any(is_server) {
        return Advice::default();
    }
    let mut points = recommendations(groups);
    let topologies = beside(
        groups,
        "topology",
        |row| format!("{}x{}", row.row.contexts, row.row.threads),
        |row, other| row.row.runtime == other.row.runtime && (other.row.contexts, other.row.threads) == (1, 1),
    );
    let runtimes = beside(
        groups,
        "runtime",
        |row| row.row.runtime.clone(),
        |row, other| {
            let topology = |row: &Measured| (row.row.contexts, row.row.threads);
            other.row.runtime == "tokio" && topology(row) == topology(other)
        },
    );
    points.extend(cores(groups, runs));
    Advice { points, best: best(groups), peers: peers(groups), topologies, runtimes }
}

/// From the best one on, by the mean of all measures.
fn all_round(groups: &[&Group]) -> Vec<Scored> {
    let [trips, cpu, p99] = MEASURES.map(|measure| ranking(groups, is_server, measure));
    let overall = |one: &Scored| mean([one.cost, cost_of(&cpu, &one.who)?, cost_of(&p99, &one.who)?]);
    let scored = trips.iter().filter_map(|one| Some(Scored { cost: overall(one)?, who: one.who.clone() }));
    let mut scored: Vec<_> = scored.collect();
    scored.sort_by(|one, other| one.cost.total_cmp(&other.cost));
    scored
}

fn cost_of(ranking: &[Scored], who: &str) -> Option<f64> {
    ranking.iter().find(|one| one.who == who).map(|one| one.cost)
}

/// For each load, who is best all round, and what that costs by each measure.
fn recommendations(groups: &[Group]) -> Vec<(String, String)> {
    let mut points = Vec::new();
    for groups in gathered(groups, |key| (key.load(), key.rest())) {
        let (all_round, near) = (all_round(&groups), tolerance(&groups));
        let Some(chosen) = all_round.first() else { continue };
        let over_best = |measure| {
            let ranking = ranking(&groups, is_server, measure);
            ratio(cost_of(&ranking, &chosen.who), ranking.first().map(|best| best.cost)).unwrap_or(1.0)
        };
        let above = |ratio: f64, best: &str| match ratio {
            ratio if ratio <= 1.0 => format!("the {best}"),
            ratio if ratio < 2.0 => format!("{} above the {best}", percent(ratio - 1.0)),
            ratio => format!("{} times the {best}", times(ratio)),
        };
        let trips = match 1.0 - 1.0 / over_best(TRIPS) {
            part if part > 0.0 => format!("{} fewer round trips than the most", percent(part)),
            _ => "the most round trips".to_owned(),
        };
        let mut text = format!(
            "Best all round over {}: {trips}, CPU time {}, p99 {}.",
            scope(&groups),
            above(over_best(CPU), "least"),
            above(over_best(P99), "shortest"),
        );
        let as_good = all_round[1..].iter().take_while(|one| one.cost <= chosen.cost * (1.0 + near));
        let as_good: Vec<String> = as_good.map(|one| one.who.clone()).collect();
        if !as_good.is_empty() {
            text += &format!(" Not told apart from it, within {}: {}.", percent(near), list(&as_good));
        }
        text += &by_hand(&groups, &chosen.who);
        if near >= NOISY_SPREAD {
            text += " The rounds differ too much to rest a choice on them: measure again on a quiet machine.";
        }
        let key = &groups[0].key;
        points.push((format!("{}, {}: {}", key.load_words(), key.rest(), chosen.who), text));
    }
    points
}

/// What a loop of one's own gives beside the one recommended.
fn by_hand(groups: &[&Group], chosen: &str) -> String {
    let over = |measure| {
        let hand = ranking(groups, is_by_hand, measure).first().map(|best| best.cost);
        ratio(hand, cost_of(&ranking(groups, is_server, measure), chosen))
    };
    let (Some(trips), Some(cpu)) = (over(TRIPS), over(CPU)) else { return String::new() };
    format!(
        " A loop of your own around the core ({BY_HAND}) does {} × as many round trips for {} × the CPU time each.",
        times(1.0 / trips),
        times(cpu)
    )
}

/// Protocols and payloads in words.
fn scope(groups: &[&Group]) -> String {
    let protocols = distinct(groups.iter().map(|group| group.key.protocol.clone()));
    let payloads = distinct(groups.iter().map(|group| group.key.payload));
    let sizes = match (payloads.iter().min(), payloads.iter().max()) {
        (Some(least), Some(most)) if least != most => format!("{least} to {most} B"),
        _ => payloads.first().map_or_else(String::new, |size| format!("{size} B")),
    };
    format!("{}, {sizes}", list(&protocols))
}

/// A row for each protocol and load: the fastest peer beside the fastest server of `bytewise`.
fn peers(groups: &[Group]) -> Table {
    let mut table = Table::new(&[
        "protocol",
        "clients × window",
        "placement",
        "fastest peer",
        "beside bytewise on",
        "#round trips",
        "#CPU per round trip",
        "#p99",
    ]);
    for groups in gathered(groups, |key| (key.protocol.clone(), key.load(), key.rest())) {
        let (ours, theirs) = (ranking(&groups, is_server, TRIPS), ranking(&groups, is_peer, TRIPS));
        let (Some(ours), Some(theirs)) = (ours.first(), theirs.first()) else { continue };
        let cost = |of, who, measure| cost_of(&ranking(&groups, of, measure), who);
        let over = |measure| ratio(cost(is_peer, &theirs.who, measure), cost(is_server, &ours.who, measure));
        let written = |ratio: Option<f64>| maybe(ratio, |ratio| format!("{} ×", times(ratio)));
        let key = &groups[0].key;
        table.push(
            "",
            [
                key.protocol.clone(),
                key.load(),
                key.rest(),
                theirs.who.clone(),
                ours.who.clone(),
                written(over(TRIPS).map(|ratio| 1.0 / ratio)),
                written(over(CPU)),
                written(over(P99)),
            ],
        );
    }
    table
}

/// Warns if threads had to share cores.
fn cores(groups: &[Group], runs: &[Run]) -> Option<(String, String)> {
    let cores = runs.iter().filter(|run| !run.compare.is_empty()).find_map(|run| run.provenance.as_ref()?.cores)?;
    let threads = groups
        .iter()
        .filter(|group| group.key.placement == "split")
        .flat_map(|group| &group.rows)
        .filter(|row| is_server(row) && row.row.runtime != "blocking")
        .map(|row| row.row.threads)
        .max()?;
    let had = cores.saturating_sub(1).max(1) as u64;
    let text = format!(
        "The server had {had} of {cores} cores (split). Topologies with more threads show here what they cost, not \
         what they are good for, and their p99 is how long the kernel lets one thread run before the other. Measure \
         them where there are more cores."
    );
    (threads > had).then(|| (format!("Up to {threads} threads"), text))
}

/// A row for each protocol and load: who is best by each measure.
fn best(groups: &[Group]) -> Table {
    let mut table = Table::new(&[
        "protocol",
        "clients × window",
        "placement",
        "most round trips/s",
        "least CPU per round trip",
        "shortest p99",
    ]);
    for groups in gathered(groups, |key| (key.protocol.clone(), key.load(), key.rest())) {
        let near = tolerance(&groups);
        let cell = |of: fn(&Measured) -> bool, measure: Measure, inverse: bool| {
            let ranking_of = ranking(&groups, of, measure);
            let Some(best) = ranking_of.first() else { return String::new() };
            let floor = ranking(&groups, is_floor, measure);
            let over = floor.first().map_or_else(String::new, |floor| {
                let ratio = if inverse { floor.cost / best.cost } else { best.cost / floor.cost };
                format!(" ({} × floor)", times(ratio))
            });
            let same: Vec<_> = ranking_of[1..].iter().filter(|one| one.cost <= best.cost * (1.0 + near)).collect();
            let mut names: Vec<String> = same.iter().take(2).map(|one| one.who.clone()).collect();
            if same.len() > names.len() {
                names.push(format!("{} more", same.len() - names.len()));
            }
            let same = if names.is_empty() { String::new() } else { format!("; as good: {}", list(&names)) };
            format!("{}{over}{same}", best.who)
        };
        let key = &groups[0].key;
        table.push(
            "",
            [
                key.protocol.clone(),
                key.load(),
                key.rest(),
                cell(is_server, TRIPS, true),
                cell(is_server, CPU, false),
                cell(is_server, P99, false),
            ],
        );
    }
    table
}

/// For each load and each name of rows of `bytewise`, the means of their ratios to the rows they stand beside.
fn beside(
    groups: &[Group],
    title: &'static str,
    name: fn(&Measured) -> String,
    stands_beside: fn(&Measured, &Measured) -> bool,
) -> Table {
    let mut table =
        Table::new(&["clients × window", "placement", title, "#round trips", "#CPU per round trip", "#p99", "#pairs"]);
    for groups in gathered(groups, |key| (key.load(), key.rest())) {
        let pairs: Vec<(&Measured, &Measured)> = groups
            .iter()
            .flat_map(|group| {
                let ours = || group.rows.iter().filter(|row| is_server(row));
                ours().filter_map(move |row| Some((row, ours().find(|other| stands_beside(row, other))?)))
            })
            .filter(|(row, other)| !std::ptr::eq(*row, *other))
            .collect();
        for one in distinct(pairs.iter().map(|(row, _)| name(row))) {
            let pairs: Vec<_> = pairs.iter().filter(|(row, _)| name(row) == one).collect();
            let ratio = |measure: Measure| {
                mean(pairs.iter().filter_map(|(row, other)| Some((measure.cost)(row)? / (measure.cost)(other)?)))
                    .map_or_else(String::new, |ratio| format!("{} ×", times(ratio)))
            };
            let trips = mean(pairs.iter().map(|(row, other)| row.trips / other.trips));
            let key = &groups[0].key;
            table.push(
                "",
                [
                    key.load(),
                    key.rest(),
                    one,
                    trips.map_or_else(String::new, |ratio| format!("{} ×", times(ratio))),
                    ratio(CPU),
                    ratio(P99),
                    pairs.len().to_string(),
                ],
            );
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        groups::tests::{of, row},
        input::Compare,
    };
    use bytewise_bench::provenance::Provenance;
    use serde_json::Value;

    /// Two payloads: tokio is first with one, smol with the other and over both.
    fn groups() -> Vec<Group> {
        let large = |row: Compare| Compare { payload: 1024, ..row };
        of(vec![
            row("floor", "epoll", (1, 1), 8e5, 500.0),
            row("bytewise", "tokio", (1, 1), 4e5, 1000.0),
            row("bytewise", "smol", (1, 1), 3.9e5, 1000.0),
            row("bytewise", "smol", (2, 2), 1e5, 3000.0),
            row("bytewise", "epoll", (1, 1), 6e5, 600.0),
            row("tokio-util", "tokio", (1, 1), 2e5, 2000.0),
            large(row("floor", "epoll", (1, 1), 8e5, 500.0)),
            large(row("bytewise", "tokio", (1, 1), 1e5, 4000.0)),
            large(row("bytewise", "smol", (1, 1), 2e5, 2000.0)),
            large(row("bytewise", "smol", (2, 2), 1e5, 3000.0)),
            large(row("bytewise", "epoll", (1, 1), 4e5, 1200.0)),
            large(row("tokio-util", "tokio", (1, 1), 2e5, 2000.0)),
        ])
    }

    fn texts(table: &Table, row: usize) -> Vec<&str> {
        table.rows[row].cells.iter().map(|cell| cell.text.as_str()).collect()
    }

    #[test]
    fn the_best_over_all_payloads_is_recommended() {
        let advice = advice(&groups(), &[]);
        let (head, words) = &advice.points[0];
        assert_eq!(head, "1 client × 1 in flight, split: smol 1x1");
        assert!(
            words.starts_with("Best all round over framed, 64 to 1024 B: the most round trips, CPU time the least")
        );
        assert!(words.contains("(epoll) does 1.75 × as many round trips for 0.60 × the CPU time"), "{words}");
        assert!(!words.contains("Not told apart") && !words.contains("measure again"), "{words}");
        // Roots of 0.4875 * 0.25 and of 2 * 4.
        let best = texts(&advice.best, 0);
        assert_eq!(best[3..5], ["smol 1x1 (0.35 × floor)", "smol 1x1 (2.83 × floor)"]);
    }

    #[test]
    fn what_costs_more_is_said() {
        let mut groups =
            of(vec![row("bytewise", "tokio", (1, 1), 4e5, 1000.0), row("bytewise", "smol", (1, 1), 5e5, 2500.0)]);
        groups[0].rows[1].row.p99_us = Some(400.0);
        let words = &advice(&groups, &[]).points[0].1;
        assert!(
            words.contains(": 20\u{a0}% fewer round trips than the most, CPU time the least, p99 the shortest."),
            "{words}"
        );
        groups[0].rows[0].row.p99_us = Some(800.0);
        groups[0].rows[0].row.server_cpu_ns_per_round_trip = Some(2000.0);
        groups[0].rows[1].row.server_cpu_ns_per_round_trip = Some(1900.0);
        groups[0].rows[1].trips = 1e5;
        let words = &advice(&groups, &[]).points[0].1;
        assert!(
            words.contains(": the most round trips, CPU time 5\u{a0}% above the least, p99 2.00 times the shortest."),
            "{words}"
        );
    }

    #[test]
    fn what_cannot_be_told_apart_is_named_and_noise_is_said() {
        let wide = |row: Compare| Compare { round_trips_per_s_min: Some(2e5), ..row };
        let groups = of(vec![
            wide(row("bytewise", "tokio", (1, 1), 4e5, 1000.0)),
            wide(row("bytewise", "smol", (1, 1), 3.8e5, 1000.0)),
        ]);
        let advice = advice(&groups, &[]);
        let words = &advice.points[0].1;
        assert!(words.contains("Not told apart from it, within 55\u{a0}%: smol 1x1."), "{words}");
        assert!(words.ends_with("measure again on a quiet machine."), "{words}");
        assert_eq!(texts(&advice.best, 0)[3], "tokio 1x1; as good: smol 1x1");
    }

    #[test]
    fn who_failed_with_one_payload_is_not_recommended() {
        let mut groups = groups();
        groups[1].rows.retain(|row| row.place() != "smol 1x1");
        assert!(advice(&groups, &[]).points[0].0.ends_with(": tokio 1x1"));
    }

    #[test]
    fn the_fastest_peer_stands_beside_the_fastest_server() {
        let advice = advice(&groups(), &[]);
        let words = ["framed", "1x1", "split", "tokio-util on tokio 1x1", "smol 1x1", "0.72 ×", "1.41 ×", "1.41 ×"];
        assert_eq!(texts(&advice.peers, 0), words);
    }

    #[test]
    fn topologies_and_runtimes_stand_beside_the_plain_ones() {
        let advice = advice(&groups(), &[]);
        assert_eq!(texts(&advice.topologies, 0), ["1x1", "split", "2x2", "0.36 ×", "2.12 ×", "2.12 ×", "2"]);
        assert_eq!(texts(&advice.runtimes, 0), ["1x1", "split", "smol", "1.40 ×", "0.71 ×", "0.71 ×", "2"]);
        assert_eq!((advice.topologies.rows.len(), advice.runtimes.rows.len()), (1, 1));
    }

    #[test]
    fn more_threads_than_cores_are_said_to_be() {
        let on = |cores| {
            let provenance = Provenance { cores: Some(cores), ..Provenance::new("compare", Value::Null) };
            let runs = [Run { provenance: Some(provenance), compare: vec![Compare::default()], ..Run::default() }];
            advice(&groups(), &runs).points.iter().any(|(head, _)| head == "Up to 2 threads")
        };
        assert_eq!([1, 2, 3, 8].map(on), [true, true, false, false]);
    }

    #[test]
    fn without_servers_there_is_no_advice() {
        let advice = advice(&of(vec![row("floor", "epoll", (1, 1), 8e5, 500.0)]), &[]);
        assert!(advice.points.is_empty() && advice.best.rows.is_empty());
    }
}
