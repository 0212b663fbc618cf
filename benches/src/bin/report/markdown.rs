//! The report as Markdown.

use crate::{
    contents::Contents,
    table::{Cell, Column, Line, Section, Table},
};
use std::fmt::Write as _;

/// The whole.
pub(crate) fn markdown(contents: &Contents) -> String {
    let mut text = format!("# Results of the comparison\n\n{}.\n", escape(&capitalized(&contents.subtitle)));
    let mut put = |part: String| {
        text.push('\n');
        text.push_str(&part);
    };
    for warning in &contents.warnings {
        put(format!("> **Warning.** {}\n", escape(warning)));
    }
    let advice = &contents.advice;
    if !advice.best.rows.is_empty() {
        put("## Which topology\n".to_owned());
        let points = advice.points.iter().map(|(head, words)| format!("- **{}:** {}\n", escape(head), escape(words)));
        put(points.collect());
        for (title, words, part) in advice.tables().into_iter().filter(|(_, _, part)| !part.rows.is_empty()) {
            put(format!("### {title}\n\n{words}\n\n{}", table(part)));
        }
    }
    if !contents.failed.rows.is_empty() {
        put(format!("## Failed rows\n\n{}", table(&contents.failed)));
    }
    for protocol in &contents.protocols {
        put(format!("## {}\n", escape(&protocol.name)));
        for group in &protocol.groups {
            put(format!("### {}: {}\n\n{}\n", escape(&protocol.name), escape(&group.title), escape(&group.gist)));
            put(table(&group.table));
        }
    }
    let parts = [("In memory", &contents.codec), ("Memory", &contents.memory), ("Instructions", &contents.counts)];
    for (title, part) in parts.into_iter().filter(|(_, part)| !part.is_empty()) {
        put(format!("## {title}\n"));
        part.iter().for_each(|part| put(section(part)));
    }
    put("## What was measured\n".to_owned());
    put(table(&contents.definitions));
    contents.runs.iter().for_each(|run| put(section(run)));
    text
}

fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

fn section(section: &Section) -> String {
    let words = if section.words.is_empty() { String::new() } else { format!("{}\n\n", escape(&section.words)) };
    format!("### {}\n\n{words}{}", escape(&section.title), table(&section.table))
}

fn table(table: &Table) -> String {
    let row = |cells: &mut dyn Iterator<Item = String>| format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "));
    let mut text = row(&mut table.columns.iter().map(|column| escape(&column.title)));
    let rule = |column: &Column| if column.numeric { "---:" } else { "---" }.to_owned();
    let _ = write!(text, "{}", row(&mut table.columns.iter().map(rule)));
    let cell = |cell: &Cell| match cell.strong {
        true => format!("**{}**", escape(&cell.text)),
        false => escape(&cell.text),
    };
    let line = |line: &Line| row(&mut line.cells.iter().map(cell));
    text.extend(table.rows.iter().map(line));
    text
}

/// Text that is nothing but text, also within a table.
fn escape(text: &str) -> String {
    let mut escaped = String::new();
    for letter in text.chars() {
        match letter {
            '\n' | '\r' => escaped.push(' '),
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '#' | '$' => escaped.extend(['\\', letter]),
            _ => escaped.push(letter),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_be_markup_is_escaped() {
        assert_eq!(escape("a|b\n<i> & *x* `y` [z](u) \\"), r"a\|b &lt;i&gt; &amp; \*x\* \`y\` \[z\](u) \\");
    }

    #[test]
    fn tables_align_numbers_and_emphasize_the_best() {
        let mut numbers = Table::new(&["who", "#how much"]);
        numbers.push("", ["a", "1"].map(str::to_owned));
        numbers.rows[0].cells[1].strong = true;
        assert_eq!(table(&numbers), "| who | how much |\n| --- | ---: |\n| a | **1** |\n");
    }
}
