//! What a report says, apart from how it looks.

use crate::{
    advice::{self, Advice},
    chart::{self, Bar},
    groups::{self, DISTURBED, Group, Kind, Measured, NOISY_SPREAD, distinct, place},
    input::{Codec, Count, Memory, Run},
    table::{Section, Table, maybe, percent, short, three_digits, times, whole},
};
use bytewise_bench::provenance::Provenance;
use serde_json::Value;

/// Everything that is shown.
#[derive(Debug, Default)]
pub(crate) struct Contents {
    /// Date and commit.
    pub(crate) subtitle: String,
    /// What is doubtful about the whole.
    pub(crate) warnings: Vec<String>,
    pub(crate) advice: Advice,
    pub(crate) protocols: Vec<Protocol>,
    pub(crate) failed: Table,
    pub(crate) codec: Vec<Section>,
    pub(crate) memory: Vec<Section>,
    pub(crate) counts: Vec<Section>,
    /// What was run, on what.
    pub(crate) runs: Vec<Section>,
    pub(crate) definitions: Table,
}

/// The groups of a protocol.
#[derive(Debug)]
pub(crate) struct Protocol {
    pub(crate) name: String,
    pub(crate) groups: Vec<Shown>,
}

/// A group as it is shown.
#[derive(Debug)]
pub(crate) struct Shown {
    /// Where links lead.
    pub(crate) id: String,
    /// What leads there: less than the title.
    pub(crate) link: String,
    pub(crate) title: String,
    /// The best of it in a line.
    pub(crate) gist: String,
    pub(crate) payload: String,
    pub(crate) load: String,
    pub(crate) placement: String,
    pub(crate) noisy: usize,
    pub(crate) failed: Vec<String>,
    pub(crate) table: Table,
    /// None that has no bar.
    pub(crate) charts: Vec<Chart>,
}

/// A chart before it is drawn.
#[derive(Debug)]
pub(crate) struct Chart {
    /// Above it.
    pub(crate) caption: String,
    /// For those who do not see it.
    pub(crate) label: String,
    pub(crate) bars: Vec<Bar>,
}

/// Puts everything together.
pub(crate) fn contents(runs: &[Run], skipped: &[String]) -> Contents {
    let groups = groups::groups(runs);
    let mut contents = Contents {
        subtitle: subtitle(runs),
        warnings: warnings(runs, &groups, skipped),
        advice: advice::advice(&groups, runs),
        failed: failed(&groups, runs),
        runs: runs.iter().map(about).collect(),
        definitions: definitions(),
        ..Contents::default()
    };
    for group in &groups {
        let name = &group.key.protocol;
        if contents.protocols.last().is_none_or(|protocol| protocol.name != *name) {
            contents.protocols.push(Protocol { name: name.clone(), groups: Vec::new() });
        }
        if let Some(protocol) = contents.protocols.last_mut() {
            protocol.groups.push(shown(group));
        }
    }
    contents.codec = sections(runs, |run| codec(&run.codec));
    contents.memory = sections(runs, |run| memory(&run.memory));
    contents.memory.sort_by_key(|section| !section.title.starts_with(CONNECTIONS));
    contents.counts = sections(runs, |run| counts(&run.counts));
    contents
}

/// The sections of all runs; those of one title say from which file they are.
fn sections(runs: &[Run], of: impl Fn(&Run) -> Vec<Section>) -> Vec<Section> {
    let mut sections: Vec<(&Run, Section)> =
        runs.iter().flat_map(|run| of(run).into_iter().map(move |section| (run, section))).collect();
    let titles: Vec<String> = sections.iter().map(|(_, section)| section.title.clone()).collect();
    for (run, section) in &mut sections {
        if titles.iter().filter(|title| **title == section.title).count() > 1 {
            section.title += &format!(" ({})", run.file);
        }
    }
    sections.into_iter().map(|(_, section)| section).collect()
}

fn provenances(runs: &[Run]) -> impl Iterator<Item = &Provenance> {
    runs.iter().filter_map(|run| run.provenance.as_ref())
}

fn subtitle(runs: &[Run]) -> String {
    let all = |field: fn(&Provenance) -> Option<&String>| distinct(provenances(runs).filter_map(field));
    let mut days: Vec<&str> =
        all(|run| run.started.as_ref()).iter().map(|time| time.split('T').next().unwrap_or_default()).collect();
    days.sort_unstable();
    let days = match (days.first(), days.last()) {
        (Some(first), Some(last)) if first != last => format!("measured {first} to {last}"),
        (Some(day), _) => format!("measured {day}"),
        _ => "date unknown".to_owned(),
    };
    let commits: Vec<&str> = all(|run| run.commit.as_ref()).into_iter().map(String::as_str).collect();
    let commits =
        if commits.is_empty() { "commit unknown".to_owned() } else { format!("commit {}", commits.join(", ")) };
    format!("{days}, {commits}")
}

fn warnings(runs: &[Run], groups: &[Group], skipped: &[String]) -> Vec<String> {
    let mut warnings = Vec::new();
    let rows: Vec<&Measured> = groups.iter().flat_map(|group| &group.rows).collect();
    let noisy = rows.iter().filter(|row| row.is_noisy()).count();
    if noisy > 0 {
        warnings.push(format!(
            "{noisy} of {} rows are noisy (⚠): their rounds differ by {} of the median or more, or other programs had a \
             core for more than {} of the time. Do not rest a choice on them.",
            rows.len(),
            percent(NOISY_SPREAD),
            percent(DISTURBED)
        ));
    }
    let failed: usize = groups.iter().map(|group| group.failed.len()).sum();
    if failed > 0 {
        let plural = if failed == 1 { "row has failed, and is" } else { "rows have failed, and are" };
        warnings.push(format!("{failed} {plural} in no chart and no ratio: see “Failed rows”."));
    }
    for run in runs.iter().filter(|run| run.provenance.is_none()) {
        warnings.push(format!("{} does not say what it was measured on, when, or with which commit.", run.file));
    }
    let texts = |field: fn(&Provenance) -> Option<&String>| {
        distinct(provenances(runs).map(|run| field(run).cloned().unwrap_or_default()))
    };
    let cores = distinct(provenances(runs).map(|run| maybe(run.cores.map(|cores| cores as f64), whole)));
    for (what, values) in [
        ("commits", texts(|run| run.commit.as_ref())),
        ("compilers", texts(|run| Some(&run.rustc))),
        ("kernels", texts(|run| run.kernel.as_ref())),
        ("processors", texts(|run| run.cpu.as_ref())),
        ("numbers of cores", cores),
    ] {
        if values.len() > 1 {
            let named: Vec<_> =
                values.iter().map(|value| if value.is_empty() { "unknown" } else { value.as_str() }).collect();
            warnings.push(format!("The files are of different {what}: {}.", named.join("; ")));
        }
    }
    if provenances(runs).any(|run| run.commit.as_ref().is_some_and(|commit| commit.ends_with("-dirty"))) {
        warnings.push("It was built from files that were not committed (-dirty).".to_owned());
    }
    warnings.extend(skipped.iter().map(|row| format!("Left out: {row}.")));
    warnings
}

fn failed(groups: &[Group], runs: &[Run]) -> Table {
    let mut table = Table::new(&["what", "impl", "runtime and topology", "#errors", "the first of them"]);
    for group in groups {
        for row in &group.failed {
            let key = &group.key;
            table.push(
                "",
                [
                    format!("{}, {} B, {}, {}", key.protocol, key.payload, key.load(), key.rest()),
                    row.name.clone(),
                    place(row),
                    row.errors.to_string(),
                    row.error.clone().unwrap_or_else(|| "no result".to_owned()),
                ],
            );
        }
    }
    for run in runs {
        let others = run.codec.iter().map(|row| (&row.name, &row.candidate, &row.error));
        let others = others.chain(run.memory.iter().map(|row| (&row.name, &row.candidate, &row.error)));
        let others = others.chain(run.counts.iter().map(|row| (&row.name, &row.candidate, &row.error)));
        for (name, candidate, error) in others {
            if let Some(error) = error {
                table.push("", [name.clone(), candidate.clone(), String::new(), String::new(), error.clone()]);
            }
        }
    }
    table.without_empty_columns()
}

/// Letters and digits of any text, for an `id`.
fn slug(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' }).collect()
}

fn shown(group: &Group) -> Shown {
    let key = &group.key;
    let mut rows: Vec<&Measured> = group.rows.iter().collect();
    rows.sort_by(|one, other| other.trips.total_cmp(&one.trips));
    let noisy = rows.iter().filter(|row| row.is_noisy()).count();
    let best = |kind, name: &str| {
        let row = group.fastest(kind)?;
        let who = if kind == Kind::Peer { format!("{} {}", row.row.name, row.place()) } else { row.place() };
        Some(format!("{name} {}/s ({who})", short(row.trips)))
    };
    let mut gist: Vec<String> = [(Kind::Ours, "bytewise"), (Kind::Peer, "fastest peer")]
        .into_iter()
        .filter_map(|(kind, name)| best(kind, name))
        .collect();
    if let Some(floor) = group.fastest(Kind::Floor) {
        gist.push(format!("floor {}/s", short(floor.trips)));
    }
    let payload = format!("{} B", whole(key.payload as f64));
    let title = format!("{payload}, {}, {}", key.load_words(), key.rest());
    let mut link = vec![payload, key.load()];
    link.extend(Some(key.rest()).filter(|rest| rest != "split"));
    let whole_title = format!("{}, {title}", key.protocol);
    let label = |row: &Measured| format!("{} {}", row.row.name, row.place());
    let trips = rows.iter().map(|row| Bar {
        label: label(row),
        kind: row.kind,
        value: row.trips,
        range: row.row.round_trips_per_s_min.zip(row.row.round_trips_per_s_max),
        text: short(row.trips),
    });
    let p99 = rows.iter().filter_map(|row| {
        let value = row.row.p99_us.filter(|value| *value > 0.0)?;
        Some(Bar { label: label(row), kind: row.kind, value, range: None, text: short(value) })
    });
    let mut p99: Vec<Bar> = p99.collect();
    p99.sort_by(|one, other| one.value.total_cmp(&other.value));
    let charts = [("Round trips per second (more is better)", trips.collect()), ("p99 in µs (less is better)", p99)];
    let chart = |(what, bars): (&str, Vec<Bar>)| {
        let scale = if chart::is_logarithmic(&bars) { ", logarithmic axis" } else { "" };
        let caption = format!("{what}{scale}");
        Chart { label: format!("{caption}: {whole_title}"), caption, bars }
    };
    let named = |row: &crate::input::Compare| {
        format!("{} {}: {}", row.name, place(row), row.error.as_deref().unwrap_or("no result"))
    };
    Shown {
        id: slug(&format!("{}-{}-{}-{}", key.protocol, key.payload, key.load(), key.rest())),
        link: link.join(" · "),
        gist: gist.join(" · "),
        title,
        payload: key.payload.to_string(),
        load: key.load(),
        placement: key.rest(),
        noisy,
        failed: group.failed.iter().map(named).collect(),
        table: table(&rows),
        charts: charts.into_iter().filter(|(_, bars)| !bars.is_empty()).map(chart).collect(),
    }
}

fn class(kind: Kind) -> &'static str {
    match kind {
        Kind::Ours => "ours",
        Kind::Floor => "floor",
        Kind::Peer => "peer",
    }
}

fn table(rows: &[&Measured]) -> Table {
    let mut table = Table::new(&[
        "impl",
        "runtime",
        "topology",
        "#round trips/s",
        "#[min, max]",
        "#CPU ns/trip",
        "#CPU × floor",
        "#p50 µs",
        "#p95 µs",
        "#p99 µs",
        "#trips × bytewise",
        "#CPU × bytewise",
        "#MiB/s",
        "#CPU %",
        "#RSS MiB",
        "#spread",
    ]);
    for measured in rows {
        let row = &measured.row;
        let range = row.round_trips_per_s_min.zip(row.round_trips_per_s_max);
        let spread = maybe(measured.spread, percent);
        let disturbed = row.disturbed.filter(|part| *part > DISTURBED);
        let disturbed = maybe(disturbed, |part| format!(", disturbed {}", percent(part)));
        table.push(
            class(measured.kind),
            [
                row.name.clone(),
                row.runtime.clone(),
                format!("{}x{}", row.contexts, row.threads),
                whole(measured.trips),
                range.map_or_else(String::new, |(min, max)| format!("[{}, {}]", short(min), short(max))),
                maybe(row.server_cpu_ns_per_round_trip, whole),
                maybe(row.floor_ratio, times),
                maybe(row.p50_us, three_digits),
                maybe(row.p95_us, three_digits),
                maybe(row.p99_us, three_digits),
                maybe(measured.trips_to_ours, times),
                maybe(measured.cpu_to_ours, times),
                three_digits(measured.mib_per_s()),
                maybe(row.cpu_percent, whole),
                maybe(row.peak_rss_mib, three_digits),
                format!("{}{spread}{disturbed}", if measured.is_noisy() { "⚠ " } else { "" }),
            ],
        );
    }
    // The best of each, the floor aside.
    let mut emphasize = |column: usize, cost: fn(&Measured) -> Option<f64>| {
        let costs = rows.iter().enumerate().filter(|(_, row)| row.kind != Kind::Floor);
        let costs = costs.filter_map(|(at, row)| Some((at, cost(row)?)));
        if let Some((at, _)) = costs.min_by(|one, other| one.1.total_cmp(&other.1)) {
            table.rows[at].cells[column].strong = true;
        }
    };
    emphasize(3, |row| Some(-row.trips));
    emphasize(5, |row| row.row.server_cpu_ns_per_round_trip);
    emphasize(7, |row| row.row.p50_us);
    emphasize(9, |row| row.row.p99_us);
    emphasize(14, |row| row.row.peak_rss_mib);
    table
}

/// `decode` of `decode/64/4096/single`, `ws/text` of `ws/text/ascii`: what stands before the first number and the end.
fn family(name: &str) -> &str {
    let end =
        name.match_indices('/').map(|(at, _)| at).find(|at| name[at + 1..].starts_with(|c: char| c.is_ascii_digit()));
    &name[..end.or_else(|| name.rfind('/')).unwrap_or(name.len())]
}

/// Between a candidate and its first allocation.
const FROM: &str = " from ";

/// A table for each family: a row for each case, a column for each candidate.
fn codec(rows: &[Codec]) -> Vec<Section> {
    let valid: Vec<&Codec> = rows.iter().filter(|row| row.error.is_none()).collect();
    let of_family = |name: &str| {
        let rows: Vec<_> = valid.iter().copied().filter(|row| family(&row.name) == name).collect();
        let table = pivot(&rows);
        let mut words =
            "CPU time in ns per message; in brackets allocations per message, where there are any.".to_owned();
        if table.columns.iter().any(|column| column.title.contains(FROM)) {
            words += " “From” is the first allocation of the receive buffer; ratios are those of the first column.";
        }
        Section { title: name.to_owned(), words, table }
    };
    distinct(valid.iter().map(|row| family(&row.name))).into_iter().map(of_family).collect()
}

fn pivot(rows: &[&Codec]) -> Table {
    let label = |row: &Codec| {
        // Only where the same one is measured with several.
        let twins = |other: &&&Codec| (&other.name, &other.candidate) == (&row.name, &row.candidate);
        match row.initial.filter(|_| rows.iter().filter(twins).count() > 1) {
            Some(initial) => format!("{}{FROM}{} KiB", row.candidate, whole(initial as f64 / 1024.0)),
            None => row.candidate.clone(),
        }
    };
    // Ours first, then what it is compared with.
    let order = |candidate: &String| match candidate.as_str() {
        "hand" => 1,
        "floor" => 2,
        name if name.starts_with("bytewise") => 0,
        _ => 3,
    };
    let mut candidates = distinct(rows.iter().map(|row| label(row)));
    candidates.sort_by_key(order);
    let mut titles = ["case", "#× hand", "#× floor", "#× hyper"].map(str::to_owned).to_vec();
    titles.extend(candidates.iter().map(|candidate| format!("#{candidate}")));
    let mut table = Table::new(&titles.iter().map(String::as_str).collect::<Vec<_>>());
    for case in distinct(rows.iter().map(|row| &row.name)) {
        let of_case: Vec<&Codec> = rows.iter().copied().filter(|row| row.name == *case).collect();
        let find = |candidate: &String| of_case.iter().find(|row| label(row) == *candidate);
        let cell = |candidate: &String| {
            let row = find(candidate)?;
            let allocations = row.allocations_per_message.filter(|count| *count >= 0.0005);
            let allocations = maybe(allocations, |count| format!(" ({})", short(count)));
            Some(format!("{}{allocations}", three_digits(row.ns_per_message?)))
        };
        let ours = of_case.iter().find(|row| row.candidate == "bytewise");
        let ratio = |column: fn(&Codec) -> Option<f64>| maybe(ours.and_then(|row| column(row)), times);
        let ratios = [ratio(|row| row.hand_ratio), ratio(|row| row.floor_ratio), ratio(|row| row.hyper_ratio)];
        let mut cells = vec![case.clone()];
        cells.extend(ratios);
        cells.extend(candidates.iter().map(|candidate| cell(candidate).unwrap_or_default()));
        table.push("", cells);
    }
    table.without_empty_columns()
}

/// The name of the rows of `memory`, which say most and come first.
const CONNECTIONS: &str = "memory/connections";

/// A table for each name.
fn memory(rows: &[Memory]) -> Vec<Section> {
    let valid: Vec<&Memory> = rows.iter().filter(|row| row.error.is_none()).collect();
    let names = distinct(valid.iter().map(|row| row.name.as_str()));
    let of_name = |name: &str| {
        let mut table = Table::new(&[
            "impl",
            "runtime",
            "protocol",
            "deflate",
            "state",
            "#connections",
            "#bytes each",
            "#of these the library's",
            "#RSS bytes each",
        ]);
        for row in valid.iter().filter(|row| row.name == name) {
            let deflate = match row.deflate {
                Some(true) => "yes",
                Some(false) => "no",
                None => "",
            };
            let kind = if row.candidate == "bytewise" { "ours" } else { "" };
            table.push(
                kind,
                [
                    row.candidate.clone(),
                    row.runtime.clone().unwrap_or_default(),
                    row.protocol.clone().unwrap_or_default(),
                    deflate.to_owned(),
                    row.state.clone().unwrap_or_default(),
                    maybe(row.connections.map(|count| count as f64), whole),
                    maybe(row.bytes_per_connection, whole),
                    maybe(row.library_bytes_per_connection, whole),
                    maybe(row.rss_bytes_per_connection, whole),
                ],
            );
        }
        Section { title: name.to_owned(), words: String::new(), table: table.without_empty_columns() }
    };
    names.into_iter().map(of_name).collect()
}

/// One table of all, beside the baseline where there is one.
fn counts(rows: &[Count]) -> Vec<Section> {
    let mut table = Table::new(&["case", "impl", "#instructions per message", "#baseline", "#change %"]);
    for row in rows.iter().filter(|row| row.error.is_none()) {
        let kind = if row.candidate == "bytewise" { "ours" } else { "" };
        table.push(
            kind,
            [
                row.name.clone(),
                row.candidate.clone(),
                maybe(row.instructions_per_message, three_digits),
                maybe(row.baseline, three_digits),
                maybe(row.change_percent, |change| format!("{change:+.2}")),
            ],
        );
    }
    if table.rows.is_empty() {
        return Vec::new();
    }
    let title = "Instructions per message".to_owned();
    vec![Section { title, words: String::new(), table: table.without_empty_columns() }]
}

/// What a run was: its command and its machine.
fn about(run: &Run) -> Section {
    let mut table = Table::new(&["", ""]);
    let mut add = |name: &str, value: Option<String>| {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            table.push("", [name.to_owned(), value]);
        }
    };
    if let Some(provenance) = &run.provenance {
        let Provenance { command, started, commit, rustc, kernel, cpu, cores, memory_mib, settings, .. } =
            provenance.clone();
        add("command", Some(command));
        add("started", started);
        add("commit", commit);
        add("compiler", Some(rustc));
        add("kernel", kernel);
        add("processor", cpu);
        add("cores", cores.map(|cores| cores.to_string()));
        add("memory", memory_mib.map(|size| format!("{} MiB", whole(size as f64))));
        let settings = settings.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null());
        let setting = |(name, value): (&String, &Value)| match value.as_str() {
            Some(text) => format!("{name} {text}"),
            None => format!("{name} {value}"),
        };
        add("settings", Some(settings.map(setting).collect::<Vec<_>>().join(", ")));
    }
    add("rows", Some(run.rows().to_string()));
    Section { title: format!("{} ({})", run.program(), run.file), words: String::new(), table }
}

fn definitions() -> Table {
    let mut table = Table::new(&["column", "what it is"]);
    for (column, words) in [
        (
            "floor",
            "an echo that parses nothing: one thread, edge-triggered epoll, one read and one write per wake-up; under TLS through rustls alone",
        ),
        ("topology", "contexts x threads: event loops, and threads in total"),
        (
            "round trips/s [min, max]",
            "replies that came back and were compared byte by byte, per second: median of the rounds, slowest and fastest round",
        ),
        ("MiB/s", "payload bytes × round trips/s, counted one way: as much goes in the other direction"),
        (
            "p50, p95, p99 µs",
            "latency, from the making of a request to the read that completes its reply; medians of the rounds",
        ),
        (
            "CPU ns/trip",
            "CPU time of all threads of the measured process, kernel and user, per round trip; with `shared` that is both ends",
        ),
        ("CPU %", "the same over time; 100 is one core"),
        ("RSS MiB", "largest resident set of the measured process"),
        ("CPU × floor", "CPU ns/trip over that of the floor; ratios are taken within a round, the median is shown"),
        (
            "trips × bytewise, CPU × bytewise",
            "of peers: their value over that of bytewise on the same runtime in the same topology; where there is none, over that of bytewise on tokio 1x1. Above 1, more round trips are better, and more CPU time is worse",
        ),
        (
            "spread",
            "(max - min) / median of round trips/s; ⚠ where it is 25 % or more, or where other programs had a core for more than 5 % of the time",
        ),
        (
            "all round",
            "of the advice: the geometric mean of round trips/s, CPU ns/trip and p99 over all groups of that load, of those that were measured in each",
        ),
        ("as good", "of the advice: within the median spread of the rows compared, at least 5 %"),
        ("bytes each", "of memory: all that the allocator has given out, over the connections"),
    ] {
        table.push("", [column.to_owned(), words.to_owned()]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        groups::tests::row,
        input::{Compare, parse},
    };
    use std::path::Path;

    fn of(rows: Vec<Compare>) -> Contents {
        contents(&[Run { compare: rows, ..Run::default() }], &[])
    }

    fn cells(table: &Table, row: usize) -> Vec<&str> {
        table.rows[row].cells.iter().map(|cell| cell.text.as_str()).collect()
    }

    fn provenance() -> Provenance {
        Provenance { started: Some("2026-12-01T05:00:00Z".to_owned()), ..Provenance::new("compare", Value::Null) }
    }

    #[test]
    fn the_fastest_comes_first_and_the_best_stand_out() {
        let contents = of(vec![
            row("floor", "epoll", (1, 1), 9e5, 100.0),
            row("tokio-util", "tokio", (1, 1), 2e5, 900.0),
            row("bytewise", "tokio", (1, 1), 4e5, 1000.0),
        ]);
        let group = &contents.protocols[0].groups[0];
        let names: Vec<_> = group.table.rows.iter().map(|row| row.cells[0].text.as_str()).collect();
        assert_eq!(names, ["floor", "bytewise", "tokio-util"]);
        let strong: Vec<Vec<usize>> = group
            .table
            .rows
            .iter()
            .map(|row| row.cells.iter().enumerate().filter(|(_, cell)| cell.strong).map(|(at, _)| at).collect())
            .collect();
        // Round trips; CPU time and p99.
        assert_eq!(strong, [vec![], vec![3], vec![5, 9]]);
        assert_eq!(cells(&group.table, 2)[..5], ["tokio-util", "tokio", "1x1", "200,000", "[190 k, 210 k]"]);
        assert_eq!(cells(&group.table, 2)[10..12], ["0.50", "0.90"]);
        assert_eq!(
            group.gist,
            "bytewise 400 k/s (tokio 1x1) · fastest peer 200 k/s (tokio-util tokio 1x1) · floor 900 k/s"
        );
        assert_eq!(group.charts.iter().map(|chart| chart.bars.len()).collect::<Vec<_>>(), [3, 3]);
    }

    #[test]
    fn what_was_not_measured_is_neither_a_bar_nor_a_number() {
        let contents = of(vec![Compare { p99_us: None, ..row("bytewise", "tokio", (1, 1), 4e5, 1000.0) }]);
        let group = &contents.protocols[0].groups[0];
        assert_eq!((group.charts.len(), cells(&group.table, 0)[9]), (1, ""));
    }

    #[test]
    fn noise_failures_and_missing_provenance_are_warned_of() {
        let quiet = row("bytewise", "tokio", (1, 1), 4e5, 1000.0);
        assert_eq!(of(vec![quiet.clone()]).warnings.len(), 1);
        let noisy = Compare { round_trips_per_s_min: Some(1e5), ..row("bytewise", "smol", (1, 1), 4e5, 1000.0) };
        let failed = Compare { errors: 2, ..row("bytewise", "epoll", (1, 1), 4e5, 1000.0) };
        let contents = of(vec![quiet, noisy, failed]);
        assert_eq!(contents.warnings.len(), 3);
        assert!(contents.warnings[0].starts_with("1 of 2 rows are noisy"));
        assert!(contents.warnings[1].starts_with("1 row has failed"));
        assert_eq!(cells(&contents.failed, 0), ["framed, 64 B, 1x1, split", "bytewise", "epoll 1x1", "2", "no result"]);
        assert_eq!(contents.protocols[0].groups[0].noisy, 1);
    }

    #[test]
    fn runs_of_different_commits_and_dirty_ones_are_warned_of() {
        let run = |commit: &str| {
            let provenance = Provenance { commit: Some(commit.to_owned()), ..provenance() };
            Run { provenance: Some(provenance), ..Run::default() }
        };
        assert!(contents(&[run("a"), run("a")], &[]).warnings.is_empty());
        let contents = contents(&[run("a"), run("b-dirty")], &["x:1: what".to_owned()]);
        assert_eq!(contents.warnings.len(), 3);
        assert_eq!(contents.warnings[0], "The files are of different commits: a; b-dirty.");
        assert_eq!(contents.subtitle, "measured 2026-12-01, commit a, b-dirty");
    }

    #[test]
    fn sections_of_two_files_say_which() {
        let run = |file: &str| {
            let rows = r#"{"name":"encode/64","impl":"hand","ns_per_message":8}"#;
            parse(Path::new(file), rows, &mut Vec::new()).unwrap().remove(0)
        };
        let titles = |runs: &[Run]| contents(runs, &[]).codec.into_iter().map(|part| part.title).collect::<Vec<_>>();
        assert_eq!(titles(&[run("a.jsonl")]), ["encode"]);
        assert_eq!(titles(&[run("a.jsonl"), run("b.jsonl")]), ["encode (a.jsonl)", "encode (b.jsonl)"]);
    }

    #[test]
    fn families_are_what_stands_before_the_numbers() {
        let names = ["decode/64/4096/single", "ws/text/ascii", "encode/64", "ws/encode/server/64", "memory"];
        assert_eq!(names.map(family), ["decode", "ws/text", "encode", "ws/encode/server", "memory"]);
    }

    #[test]
    fn cases_are_rows_and_candidates_columns() {
        let text = r#"
            {"name":"encode/64","impl":"floor","ns_per_message":2,"hand_ratio":0.5,"allocations_per_message":0}
            {"name":"encode/64","impl":"bytewise","ns_per_message":5,"hand_ratio":1.25,"allocations_per_message":0}
            {"name":"encode/64","impl":"peer","ns_per_message":50,"allocations_per_message":2}
            {"name":"encode/128","impl":"hand","ns_per_message":8}
            {"name":"decode/1/1","impl":"bytewise","initial":1024,"ns_per_message":1,"hand_ratio":3}
            {"name":"decode/1/1","impl":"bytewise","initial":4096,"ns_per_message":2}"#;
        let runs = parse(Path::new("a"), text, &mut Vec::new()).unwrap();
        let sections = contents(&runs, &[]).codec;
        let titles = |at: usize| sections[at].table.columns.iter().map(|column| &*column.title).collect::<Vec<_>>();
        assert_eq!(titles(0), ["case", "× hand", "bytewise", "hand", "floor", "peer"]);
        assert_eq!(cells(&sections[0].table, 0), ["encode/64", "1.25", "5.00", "", "2.00", "50.0 (2.00)"]);
        assert_eq!(cells(&sections[0].table, 1), ["encode/128", "", "", "8.00", "", ""]);
        assert_eq!(titles(1), ["case", "× hand", "bytewise from 1 KiB", "bytewise from 4 KiB"]);
        assert!(sections[1].words.contains("“From”") && !sections[0].words.contains("“From”"));
    }

    #[test]
    fn memory_and_counts_have_their_tables() {
        let text = r#"
            {"name":"memory/idle","impl":"bytewise","state":"after 64 B","connections":10000,"bytes_per_connection":9}
            {"name":"memory/connections","impl":"hyper","deflate":false,"bytes_per_connection":null,"error":"no"}
            {"name":"memory/connections","impl":"bare","deflate":true,"bytes_per_connection":1234.5}
            {"name":"encode/64","impl":"bytewise","instructions_per_message":99,"baseline":100,"change_percent":-1}"#;
        let runs = parse(Path::new("a"), text, &mut Vec::new()).unwrap();
        let contents = contents(&runs, &[]);
        assert_eq!(
            contents.memory.iter().map(|part| part.title.as_str()).collect::<Vec<_>>(),
            ["memory/connections", "memory/idle"]
        );
        assert_eq!(cells(&contents.memory[0].table, 0), ["bare", "yes", "1,234"]);
        assert_eq!(cells(&contents.counts[0].table, 0), ["encode/64", "bytewise", "99.0", "100", "-1.00"]);
        assert_eq!(cells(&contents.failed, 0), ["memory/connections", "hyper", "no"]);
    }
}
