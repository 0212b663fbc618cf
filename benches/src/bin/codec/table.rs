//! What a person reads.

use crate::{measure::Row, memory::Held};
use comfy_table::{CellAlignment, Table, presets::NOTHING};

pub(crate) fn print(rows: &[Row], held: &[Held]) {
    if !rows.is_empty() {
        let mut table =
            table(["case", "impl", "initial", "ns/message", "x hand", "x floor", "x hyper", "allocations/message"]);
        for row in rows {
            table.add_row([
                row.name.clone(),
                row.candidate.into(),
                row.initial.map_or_else(String::new, |initial| format!("{} KiB", initial >> 10)),
                format!("{:.1}", row.ns_per_message),
                ratio(row.hand_ratio),
                ratio(row.floor_ratio),
                ratio(row.hyper_ratio),
                format!("{:.3}", row.allocations_per_message),
            ]);
        }
        right_align(&mut table, 2);
        println!("{table}\n");
    }
    if !held.is_empty() {
        let mut table = table(["case", "impl", "state", "connections", "bytes each", "MiB"]);
        for row in held {
            table.add_row([
                row.name.into(),
                row.candidate.into(),
                row.state.into(),
                row.connections.to_string(),
                format!("{:.0}", row.bytes_per_connection),
                format!("{:.2}", row.mib),
            ]);
        }
        right_align(&mut table, 3);
        println!("{table}");
    }
}

/// Nothing where there is nothing to compare with.
fn ratio(ratio: f64) -> String {
    if ratio.is_nan() { String::new() } else { format!("{ratio:.2}") }
}

fn table<const N: usize>(header: [&str; N]) -> Table {
    let mut table = Table::new();
    table.load_style(NOTHING).set_header(header);
    table
}

fn right_align(table: &mut Table, from: usize) {
    for column in table.column_iter_mut().skip(from) {
        column.set_cell_alignment(CellAlignment::Right);
    }
}
