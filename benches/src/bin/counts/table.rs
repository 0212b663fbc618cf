//! What a person reads.

use crate::baseline::Row;
use comfy_table::{CellAlignment, Table, presets::NOTHING};

/// Percent from which a change is marked.
pub(crate) const MARKED: f64 = 1.0;

pub(crate) fn print(rows: &[Row]) {
    let mut table = Table::new();
    table.load_style(NOTHING);
    table.set_header(["case", "impl", "instructions/message", "x hand", "baseline", "change %", ""]);
    for row in rows {
        table.add_row(cells(row, rows));
    }
    for column in table.column_iter_mut().skip(2).take(4) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    for line in table.lines() {
        println!("{}", line.trim_end());
    }
}

fn cells(row: &Row, all: &[Row]) -> [String; 7] {
    let counted = &row.counted;
    let of_case = |other: &&Row| other.counted.name == counted.name && other.counted.candidate == "hand";
    let hand =
        all.iter().find(of_case).map(|hand| counted.instructions_per_message / hand.counted.instructions_per_message);
    let number = |value: Option<f64>, digits| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.digits$}"));
    let mark = match row.change_percent {
        None => "new",
        Some(change) if change >= MARKED => "! more",
        Some(change) if change <= -MARKED => "! less",
        Some(_) => "",
    };
    [
        counted.name.clone(),
        counted.candidate.clone(),
        format!("{:.1}", counted.instructions_per_message),
        number(hand, 2),
        number(row.baseline, 1),
        row.change_percent.map_or_else(|| "-".to_owned(), |change| format!("{:+.2}", change + 0.0)),
        mark.to_owned(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::baseline::Counted;

    fn row(candidate: &str, instructions_per_message: f64, change_percent: Option<f64>) -> Row {
        let counted = Counted { name: "a".to_owned(), candidate: candidate.to_owned(), instructions_per_message };
        Row { counted, baseline: change_percent.map(|_| 100.0), change_percent }
    }

    #[test]
    fn changes_are_marked_and_ratios_are_to_the_hand_of_the_case() {
        let hand = row("hand", 50.0, Some(0.0));
        for (row, expected) in [
            (row("bytewise", 101.0, Some(1.0)), ["101.0", "2.02", "100.0", "+1.00", "! more"]),
            (row("bytewise", 75.0, Some(-25.0)), ["75.0", "1.50", "100.0", "-25.00", "! less"]),
            (row("bytewise", 100.5, Some(0.5)), ["100.5", "2.01", "100.0", "+0.50", ""]),
            (row("bytewise", 100.0, None), ["100.0", "2.00", "-", "-", "new"]),
        ] {
            assert_eq!(cells(&row, &[row.clone(), hand.clone()])[2..], expected);
        }
        assert_eq!(cells(&hand, &[])[3], "-");
    }
}
