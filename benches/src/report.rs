//! Rows as a table, and as JSON Lines.

use crate::{options::Settings, provenance::Provenance, summary::Row};
use comfy_table::{CellAlignment, Table, presets};
use std::{
    fmt::Write as _,
    fs::File,
    io::{self, BufWriter, Write},
    path::Path,
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

/// Where JSON Lines go.
#[derive(Debug)]
pub enum Json {
    /// Nowhere.
    None,
    /// To standard output, instead of the table.
    Stdout,
    /// To a file, beside the table.
    File(File),
}

impl Json {
    /// Before anything is measured, so that it need not be measured again.
    pub fn open(settings: &Settings) -> io::Result<Self> {
        match settings.json.as_deref() {
            None => Ok(Self::None),
            Some(path) if path == Path::new("-") => Ok(Self::Stdout),
            Some(path) => {
                let named = |error| io::Error::other(format!("{}: {error}", path.display()));
                File::create(path).map(Self::File).map_err(named)
            }
        }
    }
}

/// Writes the rows to where they shall go; as JSON, behind where they come from.
pub fn print(provenance: &Provenance, rows: &[Row], to: Json) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    match to {
        Json::Stdout => return json(provenance, rows, &mut stdout),
        Json::File(file) => json(provenance, rows, &mut BufWriter::new(file))?,
        Json::None => {}
    }
    stdout.write_all(table(rows).as_bytes())
}

fn json(provenance: &Provenance, rows: &[Row], to: &mut impl Write) -> io::Result<()> {
    serde_json::to_writer(&mut *to, provenance)?;
    writeln!(to)?;
    for row in rows {
        serde_json::to_writer(&mut *to, row)?;
        writeln!(to)?;
    }
    to.flush()
}

/// Grouped by what is compared, the floor first.
fn table(rows: &[Row]) -> String {
    let title = |row: &Row| {
        let Row { protocol, payload, clients, window, placement, .. } = row;
        let plural = if *clients == 1 { "" } else { "s" };
        format!("{protocol}, {payload} B, {clients} client{plural} x window {window}, {placement}")
    };
    let mut text = String::new();
    for group in rows.chunk_by(|one, other| title(one) == title(other)) {
        let mut table = Table::new();
        table.load_style(presets::NOTHING);
        table.set_header(HEADER);
        for row in group {
            table.add_row(cells(row));
        }
        for column in table.column_iter_mut().skip(2) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        let _ = writeln!(text, "\n{}", title(&group[0]));
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
        row.name.to_owned(),
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
        let mut rows = summary::rows(&good, &[vec![sample]]);
        rows.extend(summary::rows(&bad, &[vec![Sample::failed("a byte differs".to_owned())]]));
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

    #[test]
    fn json_has_a_line_per_row_with_all_columns() {
        let mut text = Vec::new();
        json(&Provenance::new("compare", "settings".into()), &some_rows(), &mut text).unwrap();
        let mut lines: Vec<serde_json::Value> =
            text.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect();
        let first = lines.remove(0);
        assert_eq!((&first["record"], &first["settings"]), (&"run".into(), &"settings".into()));
        assert_eq!((lines.len(), &lines[0]["error"], &lines[1]["floor_ratio"]), (2, &().into(), &().into()));
        let columns = "impl protocol runtime contexts threads payload clients window placement round_trips_per_s \
            round_trips_per_s_min round_trips_per_s_max server_cpu_ns_per_round_trip floor_ratio p50_us p95_us p99_us \
            p99_floor_ratio cpu_percent peak_rss_mib errors error";
        for line in &lines {
            let line = line.as_object().unwrap();
            assert!(columns.split_whitespace().all(|column| line.contains_key(column)));
            assert_eq!(line.len(), columns.split_whitespace().count());
        }
    }
}
