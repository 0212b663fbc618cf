//! Tables as both the page and the Markdown show them, and how numbers are written.

/// A table of texts.
#[derive(Debug, Default)]
pub(crate) struct Table {
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: Vec<Line>,
}

/// A column; its cells are aligned to the right if they are numbers.
#[derive(Debug, Clone)]
pub(crate) struct Column {
    pub(crate) title: String,
    pub(crate) numeric: bool,
}

/// A row of a table.
#[derive(Debug, Default)]
pub(crate) struct Line {
    /// What it is, for its colour: a class of the page's style sheet, or nothing.
    pub(crate) class: &'static str,
    pub(crate) cells: Vec<Cell>,
}

/// A cell.
#[derive(Debug, Default, Clone)]
pub(crate) struct Cell {
    pub(crate) text: String,
    /// The best of its column.
    pub(crate) strong: bool,
}

impl Table {
    /// Titles of columns of numbers begin with `#`, which is not shown.
    pub(crate) fn new(titles: &[&str]) -> Self {
        let column = |title: &&str| match title.strip_prefix('#') {
            Some(title) => Column { title: title.to_owned(), numeric: true },
            None => Column { title: (*title).to_owned(), numeric: false },
        };
        Self { columns: titles.iter().map(column).collect(), rows: Vec::new() }
    }

    /// Adds a row.
    pub(crate) fn push(&mut self, class: &'static str, cells: impl IntoIterator<Item = String>) {
        let cells = cells.into_iter().map(|text| Cell { text, strong: false }).collect();
        self.rows.push(Line { class, cells });
    }

    /// Each cell with the numbers of its column, for the page's loop.
    pub(crate) fn zip<'a>(&'a self, line: &'a Line) -> impl Iterator<Item = (&'a Column, &'a Cell)> {
        self.columns.iter().zip(&line.cells)
    }

    /// Removes columns that are empty in every row.
    pub(crate) fn without_empty_columns(mut self) -> Self {
        for at in (0..self.columns.len()).rev() {
            if self.rows.iter().all(|row| row.cells.get(at).is_none_or(|cell| cell.text.is_empty())) {
                self.columns.remove(at);
                for row in self.rows.iter_mut().filter(|row| at < row.cells.len()) {
                    row.cells.remove(at);
                }
            }
        }
        self
    }
}

/// A heading, words, and a table below them.
#[derive(Debug, Default)]
pub(crate) struct Section {
    pub(crate) title: String,
    pub(crate) words: String,
    pub(crate) table: Table,
}

/// A whole number with its thousands apart.
pub(crate) fn whole(value: f64) -> String {
    let digits = format!("{:.0}", value.abs());
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if value < 0.0 && digits != "0" { format!("-{text}") } else { text }
}

/// Three digits that count, or all of a larger number.
pub(crate) fn three_digits(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        size if size < 9.995 => format!("{value:.2}"),
        size if size < 99.95 => format!("{value:.1}"),
        _ => whole(value),
    }
}

/// With a unit's prefix, for where there is little room.
pub(crate) fn short(value: f64) -> String {
    match value.abs() {
        size if size >= 999_500.0 => format!("{} M", three_digits(value / 1e6)),
        size if size >= 999.5 => format!("{} k", three_digits(value / 1e3)),
        size if size < 1.0 => format!("{}", (value * 1e4).round() / 1e4),
        _ => three_digits(value),
    }
}

/// The same, of round numbers.
pub(crate) fn tick(value: f64) -> String {
    let text = short(value);
    let (digits, unit) =
        text.split_once(' ').map_or((text.as_str(), ""), |(digits, _)| (digits, &text[digits.len()..]));
    match digits.contains('.') {
        true => format!("{}{unit}", digits.trim_end_matches('0').trim_end_matches('.')),
        false => text,
    }
}

/// Nothing for `None`.
pub(crate) fn maybe(value: Option<f64>, format: impl Fn(f64) -> String) -> String {
    value.map_or_else(String::new, format)
}

/// How often one is in the other.
pub(crate) fn times(value: f64) -> String {
    if value < 99.95 { three_digits(value) } else { whole(value) }
}

/// A part of a whole. The space does not break.
pub(crate) fn percent(part: f64) -> String {
    format!("{:.0}\u{a0}%", part * 100.0)
}

/// `a, b and c`.
pub(crate) fn list(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_so_that_they_are_read() {
        assert_eq!([0.4, 999.0, 1000.0, 1_234_567.8].map(whole), ["0", "999", "1,000", "1,234,568"]);
        assert_eq!([-0.3, -1234.0].map(whole), ["0", "-1,234"]);
        assert_eq!([0.0, 1.234, 9.999, 12.34, 123.4].map(three_digits), ["0", "1.23", "10.0", "12.3", "123"]);
        assert_eq!([0.05, 12.0, 999.7, 15_000.0, 2.5e6].map(short), ["0.05", "12.0", "1.00 k", "15.0 k", "2.50 M"]);
        assert_eq!([0.0, 0.05, 10.0, 1e3, 2.5e6].map(tick), ["0", "0.05", "10", "1 k", "2.5 M"]);
        assert_eq!((maybe(None, whole), maybe(Some(2.0), whole)), (String::new(), "2".to_owned()));
    }

    #[test]
    fn lists_are_words() {
        let words = ["a", "b", "c"].map(str::to_owned);
        assert_eq!([0, 1, 2, 3].map(|n| list(&words[..n])), ["", "a", "a and b", "a, b and c"]);
    }

    #[test]
    fn empty_columns_go() {
        let mut table = Table::new(&["a", "#b", "c"]);
        table.push("", ["1", "", "3"].map(str::to_owned));
        let table = table.without_empty_columns();
        assert_eq!(table.columns.iter().map(|column| column.title.as_str()).collect::<Vec<_>>(), ["a", "c"]);
        assert_eq!(table.rows[0].cells[1].text, "3");
    }
}
