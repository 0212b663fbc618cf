//! Rows as a table.

use crate::summary::Row;
use comfy_table::{CellAlignment, Table, presets};
use std::{
    fmt::Write as _,
    io::{self, Write},
};

const HEADER: [&str; 15] = [
    "impl",
    "runtime",
    "topology",
    "k trips/s",
    "min",
    "max",
    "CPU ns/trip",
    "x floor",
    "p50 us",
    "p95 us",
    "p99 us",
    "p99 x floor",
    "CPU %",
    "RSS MiB",
    "errors",
];

/// Prints the rows as a table.
pub fn print(rows: &[Row]) -> io::Result<()> {
    io::stdout().lock().write_all(table(rows).as_bytes())
}

/// Grouped by what is compared, the floor first.
fn table(rows: &[Row]) -> String {
    let title = |row: &Row| {
        let Row { protocol, payload, clients, window, placement, work, .. } = row;
        let plural = if *clients == 1 { "" } else { "s" };
        let work = if *work == 0 { String::new() } else { format!(", work {work}") };
        format!("{protocol}, {payload} B, {clients} client{plural} x window {window}, {placement}{work}")
    };
    // What was resumed has the rest of a group behind other ones.
    let mut groups: Vec<(String, Vec<&Row>)> = Vec::new();
    for row in rows {
        let title = title(row);
        match groups.iter_mut().find(|(other, _)| *other == title) {
            Some((_, group)) => group.push(row),
            None => groups.push((title, vec![row])),
        }
    }
    let mut text = String::new();
    for (title, group) in groups {
        let mut table = Table::new();
        table.load_style(presets::NOTHING);
        table.set_header(HEADER);
        for row in &group {
            table.add_row(cells(row));
        }
        for column in table.column_iter_mut().skip(2) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        let _ = writeln!(text, "\n{title}");
        for line in table.lines() {
            let _ = writeln!(text, "{}", line.trim_end());
        }
        for row in group {
            if let Some(error) = &row.error {
                let _ =
                    writeln!(text, "INVALID {} {} {}x{}: {error}", row.name, row.runtime, row.contexts, row.threads);
            }
        }
    }
    text
}

fn cells(row: &Row) -> Vec<String> {
    let number = |value: Option<f64>, digits: usize| value.map_or("-".to_owned(), |value| format!("{value:.digits$}"));
    let thousands = |value: Option<f64>| {
        let digits = if value.is_some_and(|value| value < 10_000.0) { 3 } else { 1 };
        number(value.map(|value| value / 1000.0), digits)
    };
    vec![
        row.name.clone(),
        row.runtime.to_string(),
        format!("{}x{}", row.contexts, row.threads),
        thousands(row.round_trips_per_s),
        thousands(row.round_trips_per_s_min),
        thousands(row.round_trips_per_s_max),
        number(row.server_cpu_ns_per_round_trip, 0),
        number(row.floor_ratio, 2),
        number(row.p50_us, 0),
        number(row.p95_us, 0),
        number(row.p99_us, 0),
        number(row.p99_floor_ratio, 2),
        number(row.cpu_percent, 0),
        number(row.peak_rss_mib, 1),
        row.errors.to_string(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        candidates,
        options::{Load, Placement, Protocol, Topology},
        plan::{Entry, Group},
        summary::{self, Sample},
    };

    fn some_rows() -> Vec<Row> {
        let floor = candidates::named(candidates::FLOOR).unwrap();
        let entry = Entry { candidate: floor, runtime: floor.runtimes()[0], topology: Topology::SINGLE };
        let [good, bad] = [64, 1024].map(|payload| Group {
            placement: Placement::Split,
            protocol: Protocol::Framed,
            payload,
            load: Load { clients: 1, window: 2 },
            entries: vec![entry],
        });
        let sample = Sample { round_trips_per_s: 1_234_567.0, cpu_ns_per_round_trip: 345.6, ..Sample::default() };
        let mut rows = summary::rows(&good, &[vec![sample]], 0);
        rows.extend(summary::rows(&bad, &[vec![Sample::failed("a byte differs".to_owned())]], 0));
        rows
    }

    #[test]
    fn the_table_has_a_part_per_group_and_names_errors() {
        let table = table(&some_rows());
        let lines: Vec<_> = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        assert_eq!(lines[1], "framed, 64 B, 1 client x window 2, split");
        assert!(lines[2].starts_with("impl runtime topology k trips/s"), "{table}");
        assert!(lines[3].starts_with("floor epoll 1x1 1234.6 1234.6 1234.6 346 1.00 "), "{table}");
        assert!(lines[7].starts_with("floor epoll 1x1 - - - - -"), "{table}");
        assert_eq!(lines[8], "INVALID floor epoll 1x1: a byte differs");
    }
}
