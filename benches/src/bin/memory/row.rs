//! Rows of the result, and a table of them.

use crate::{
    measure::Measured,
    plan::{Case, Protocol, State, name},
};
use bytewise_bench::options::Runtime;
use comfy_table::{CellAlignment, Table, presets::NOTHING};
use serde::Serialize;
use std::{fmt::Write as _, io};

/// One line of the result. Its fields are defined in the README.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Row {
    name: &'static str,
    #[serde(rename = "impl")]
    candidate: String,
    runtime: Runtime,
    protocol: Protocol,
    deflate: bool,
    state: State,
    connections: usize,
    bytes_per_connection: Option<f64>,
    library_bytes_per_connection: Option<f64>,
    rss_bytes_per_connection: Option<f64>,
    bytes_after_close: Option<i64>,
    pub(crate) error: Option<String>,
    #[serde(skip)]
    case: Case,
}

impl Row {
    /// `rows` are those before it, with what is subtracted among them.
    pub(crate) fn new(case: &Case, measured: io::Result<Measured>, rows: &[Self]) -> Self {
        let (measured, error) = match measured {
            Ok(measured) => (Some(measured), None),
            Err(error) => (None, Some(error.to_string())),
        };
        let each = |more: i64| more as f64 / case.connections as f64;
        let bytes = measured.map(|Measured { before, with, .. }| each(more(before.allocated, with.allocated)));
        let base = rows.iter().find(|row| row.case.is_base_of(case)).and_then(|row| row.bytes_per_connection);
        Self {
            name: "memory/connections",
            candidate: case.candidate.clone(),
            runtime: case.runtime,
            protocol: case.protocol,
            deflate: case.deflate,
            state: case.state,
            connections: case.connections,
            bytes_per_connection: bytes,
            library_bytes_per_connection: bytes.zip(base).map(|(bytes, base)| bytes - base),
            rss_bytes_per_connection: measured
                .map(|Measured { before, with, .. }| each(more(before.resident, with.resident))),
            bytes_after_close: measured.map(|Measured { before, after, .. }| more(before.allocated, after.allocated)),
            error,
            case: case.clone(),
        }
    }
}

/// How many bytes more the second is.
fn more(before: usize, after: usize) -> i64 {
    i64::try_from(after).unwrap_or(i64::MAX) - i64::try_from(before).unwrap_or(i64::MAX)
}

/// A part for each implementation and runtime.
pub(crate) fn table(rows: &[Row]) -> String {
    let header = [
        "protocol",
        "state",
        "connections",
        "bytes each",
        "of these the library's",
        "RSS bytes each",
        "KiB after close",
    ];
    let mut text = String::new();
    for part in rows.chunk_by(|one, other| (&one.candidate, one.runtime) == (&other.candidate, other.runtime)) {
        let mut table = Table::new();
        table.load_style(NOTHING).set_header(header);
        for row in part {
            let whole = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.0}"));
            table.add_row([
                name(&row.protocol) + if row.deflate { "+deflate" } else { "" },
                name(&row.state),
                row.connections.to_string(),
                whole(row.bytes_per_connection),
                whole(row.library_bytes_per_connection),
                whole(row.rss_bytes_per_connection),
                whole(row.bytes_after_close.map(|bytes| bytes as f64 / 1024.0)),
            ]);
        }
        for column in table.column_iter_mut().skip(2) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        let _ = writeln!(text, "\n{} on {}", part[0].candidate, part[0].runtime);
        for line in table.lines() {
            let _ = writeln!(text, "{}", line.trim_end());
        }
        for row in part {
            if let Some(error) = &row.error {
                let _ = writeln!(text, "INVALID {}: {error}", row.case);
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{messages::Held, plan::Plan};

    fn measured(with: usize) -> io::Result<Measured> {
        let held = |allocated| Held { allocated, resident: 2 * allocated };
        Ok(Measured { before: held(1000), with: held(with), after: held(900) })
    }

    #[test]
    fn what_is_subtracted_is_the_bare_row_and_a_failure_is_a_row() {
        let plan = Plan::new("bytewise/tokio/framed/idle", 10, 10);
        let [bare, ours] = &plan.cases[..] else { panic!("{plan:?}") };
        let mut rows = vec![Row::new(bare, measured(6000), &[])];
        rows.push(Row::new(ours, measured(8000), &rows));
        rows.push(Row::new(ours, Err(io::Error::other("it broke")), &rows));
        assert_eq!((rows[0].bytes_per_connection, rows[0].library_bytes_per_connection), (Some(500.0), None));
        assert_eq!((rows[1].bytes_per_connection, rows[1].library_bytes_per_connection), (Some(700.0), Some(200.0)));
        assert_eq!((rows[1].rss_bytes_per_connection, rows[1].bytes_after_close), (Some(1400.0), Some(-100)));
        assert_eq!((rows[2].bytes_per_connection, rows[2].library_bytes_per_connection), (None, None));
        let table = table(&rows);
        let lines: Vec<_> = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        assert_eq!(lines[1], "bare on tokio");
        assert_eq!(lines[3], "framed idle 10 500 - 1000 -0");
        assert_eq!(lines[7], "framed idle 10 700 200 1400 -0");
        assert_eq!(lines[9], "INVALID bytewise/tokio/framed/idle: it broke");
    }
}
