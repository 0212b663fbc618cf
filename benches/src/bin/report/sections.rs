//! The tables of `codec`, `memory` and `counts`.

use crate::{
    groups::distinct,
    input::{Codec, Count, Memory},
    table::{Section, Table, maybe, short, three_digits, times, whole},
};

/// `decode` of `decode/64/4096/single`, `ws/text` of `ws/text/ascii`: what stands before the first number and the end.
fn family(name: &str) -> &str {
    let end =
        name.match_indices('/').map(|(at, _)| at).find(|at| name[at + 1..].starts_with(|c: char| c.is_ascii_digit()));
    &name[..end.or_else(|| name.rfind('/')).unwrap_or(name.len())]
}

/// Between a candidate and its first allocation.
const FROM: &str = " from ";

/// A table for each family: a row for each case, a column for each candidate.
pub(crate) fn codec(rows: &[Codec]) -> Vec<Section> {
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
pub(crate) const CONNECTIONS: &str = "memory/connections";

/// A table for each name.
pub(crate) fn memory(rows: &[Memory]) -> Vec<Section> {
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
pub(crate) fn counts(rows: &[Count]) -> Vec<Section> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::parse;
    use std::path::Path;

    fn cells(table: &Table, row: usize) -> Vec<&str> {
        table.rows[row].cells.iter().map(|cell| cell.text.as_str()).collect()
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
        let sections = codec(&runs[0].codec);
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
        let (memory, counts) = (memory(&runs[0].memory), counts(&runs[0].counts));
        let titles: Vec<_> = memory.iter().map(|part| part.title.as_str()).collect();
        assert_eq!(titles, ["memory/idle", CONNECTIONS]);
        // The failed row is elsewhere.
        assert_eq!((memory[1].table.rows.len(), cells(&memory[1].table, 0)), (1, vec!["bare", "yes", "1,234"]));
        assert_eq!(cells(&counts[0].table, 0), ["encode/64", "bytewise", "99.0", "100", "-1.00"]);
    }
}
