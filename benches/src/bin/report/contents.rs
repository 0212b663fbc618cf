//! What a report says, apart from how it looks.

use crate::{
    advice::{self, Advice},
    chart::{self, Bar},
    definitions,
    groups::{self, DISTURBED, Group, Kind, Measured, NOISY_SPREAD, distinct, place},
    input::Run,
    sections,
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
        runs: about(runs),
        definitions: definitions::table(),
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
    contents.codec = of_all(runs, |run| sections::codec(&run.codec));
    contents.memory = of_all(runs, |run| sections::memory(&run.memory));
    contents.memory.sort_by_key(|section| !section.title.starts_with(sections::CONNECTIONS));
    contents.counts = of_all(runs, |run| sections::counts(&run.counts));
    contents
}

/// The sections of all runs; those of one title say from which file they are.
fn of_all(runs: &[Run], of: impl Fn(&Run) -> Vec<Section>) -> Vec<Section> {
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
            "{noisy} of {} rows are noisy (⚠): their rounds differ by {} of the median or more, or other programs had \
             a core for more than {} of the time. Do not rest a choice on them.",
            rows.len(),
            percent(NOISY_SPREAD),
            percent(DISTURBED)
        ));
    }
    if !rows.is_empty() && rows.iter().all(|row| row.spread == Some(0.0)) {
        warnings.push("Each row is of one round: nothing says how noisy they are.".to_owned());
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

/// What each run was; what all share is said once, before them.
fn about(runs: &[Run]) -> Vec<Section> {
    let facts: Vec<_> = runs.iter().map(facts).collect();
    let is_shared = |fact: &Fact| runs.len() > 1 && facts.iter().all(|facts| facts.contains(fact));
    let section = |title: String, facts: &mut dyn Iterator<Item = &Fact>| {
        let mut table = Table::new(&["", ""]);
        facts.for_each(|(name, value)| table.push("", [(*name).to_owned(), value.clone()]));
        Section { title, words: String::new(), table }
    };
    let shared = section("All of them".to_owned(), &mut facts.iter().take(1).flatten().filter(|fact| is_shared(fact)));
    let each = runs.iter().zip(&facts).map(|(run, facts)| {
        let title = format!("{} ({})", run.program(), run.file);
        section(title, &mut facts.iter().filter(|fact| !is_shared(fact)))
    });
    Some(shared).filter(|shared| !shared.table.rows.is_empty()).into_iter().chain(each).collect()
}

/// A name and a value.
type Fact = (&'static str, String);

/// What is known of a run: its command and its machine.
fn facts(run: &Run) -> Vec<Fact> {
    let mut facts = Vec::new();
    let mut add = |name, value: Option<String>| {
        facts.extend(value.filter(|value| !value.is_empty()).map(|value| (name, value)));
    };
    if let Some(provenance) = &run.provenance {
        let Provenance { command, started, commit, rustc, kernel, cpu, cores, memory_mib, settings, .. } =
            provenance.clone();
        // As it can be said in a shell, from the sources.
        let (program, arguments) = command.split_once(' ').unwrap_or((&command, ""));
        let arguments = if arguments.is_empty() { String::new() } else { format!(" -- {arguments}") };
        add("command", Some(format!("cargo run --release --bin {program}{arguments}")));
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
    facts
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
        let once = Compare { round_trips_per_s_min: Some(4e5), round_trips_per_s_max: Some(4e5), ..quiet.clone() };
        assert!(of(vec![once]).warnings[0].starts_with("Each row is of one round"));
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
    fn what_runs_share_is_said_once() {
        let run = |command: &str| {
            let provenance = Provenance { command: command.to_owned(), commit: Some("c".to_owned()), ..provenance() };
            Run { provenance: Some(provenance), file: "a".to_owned(), ..Run::default() }
        };
        let named = |section: &Section, name| {
            let row = section.table.rows.iter().find(|row| row.cells[0].text == name)?;
            Some(row.cells[1].text.clone())
        };
        let command = |text: &str| Some(format!("cargo run --release --bin {text}"));
        let alone = about(&[run("compare")]);
        assert_eq!((alone.len(), named(&alone[0], "command")), (1, command("compare")));
        assert_eq!(named(&alone[0], "commit").as_deref(), Some("c"));
        let both = about(&[run("compare"), run("codec --millis 1")]);
        let commands: Vec<_> = both.iter().map(|section| named(section, "command")).collect();
        assert_eq!(commands, [None, command("compare"), command("codec -- --millis 1")]);
        let commits: Vec<_> = both.iter().map(|section| named(section, "commit").is_some()).collect();
        assert_eq!(commits, [true, false, false]);
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
}
