//! The program `report` as its users run it, on files with a bit of everything: see `report/`.

use serde_json::Value;
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/report").join(name)
}

/// A file of this test's own.
fn temporary(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

fn report(files: &[PathBuf], options: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_report")).args(files).args(options).output().expect("the program is built")
}

/// What it writes, and what it says meanwhile.
#[track_caller]
fn written(files: &[&str], option: &str) -> (String, String) {
    let files: Vec<_> = files.iter().map(|name| fixture(name)).collect();
    let output = report(&files, &[option, "-"]);
    let words = String::from_utf8(output.stderr).expect("it is UTF-8");
    assert!(output.status.success(), "{words}");
    (String::from_utf8(output.stdout).expect("it is UTF-8"), words)
}

const ALL: [&str; 3] = ["compare.jsonl", "codec.jsonl", "others.jsonl"];

fn count(text: &str, what: &str) -> usize {
    text.matches(what).count()
}

/// What stands from this text on up to that one.
#[track_caller]
fn between<'a>(text: &'a str, from: &str, to: &str) -> &'a str {
    let rest = text.split_once(from).unwrap_or_else(|| panic!("{from} is not there")).1;
    rest.split_once(to).unwrap_or_else(|| panic!("{to} is not there")).0
}

#[test]
fn the_page_has_every_part() {
    let (page, words) = written(&ALL, "--html");
    assert!(words.contains("others.jsonl:12: a row of an unknown kind (name \"a kind of tomorrow\")"), "{words}");
    for id in ["advice", "failed", "protocol-1", "protocol-2", "codec", "memory", "instructions", "method", "runs"] {
        assert_eq!(count(&page, &format!("id=\"{id}\"")), 1, "{id}");
        assert_eq!(count(&page, &format!("href=\"#{id}\"")), 1, "{id}");
    }
    assert_eq!((count(&page, "<details id="), count(&page, "<svg ")), (3, 6));
    let memory = between(&page, "<section id=\"memory\">", "</section>");
    let names: Vec<_> = memory.split("class=\"title\">").skip(1).filter_map(|part| part.split('<').next()).collect();
    assert_eq!(names, ["memory/connections", "memory/objects", "memory/idle"]);
    assert!(
        page.contains("cargo run --release --bin compare -- --protocol framed,http")
            && page.contains("commit add5e10abcde")
    );
}

#[test]
fn a_failed_row_is_listed_and_nowhere_else() {
    let (page, _) = written(&ALL, "--html");
    let group = between(&page, "<details id=\"http-1024-16x16-split\"", "</details>");
    let rows = fs::read_to_string(fixture("compare.jsonl")).expect("it is there");
    let rows = rows.lines().map(|line| serde_json::from_str::<Value>(line).expect("a line is a JSON value"));
    let of_group = |row: &Value| row["protocol"] == "http" && row["payload"] == 1024 && row["errors"] == 0;
    let valid = rows.filter(of_group).count();
    assert!(valid > 5);
    assert_eq!((count(group, "<tr class="), count(group, "<rect ")), (valid, 2 * valid));
    assert_eq!((count(group, ">bytewise smol 1x1<"), count(group, ">bytewise smol 2x2<")), (2, 0));
    assert_eq!(count(group, "Failed: bytewise smol 2x2: "), 1);
    let failed = between(&page, "<section id=\"failed\">", "</section>");
    assert!(failed.contains("http, 1024 B, 16x16, split") && failed.contains("the clients failed"), "{failed}");
    // It is not measured in every group, so that nobody is advised to take it.
    assert!(!between(&page, "<dl class=\"points\">", "</dl>").contains("smol 2x2"));
}

#[test]
fn texts_are_texts() {
    let (page, _) = written(&ALL, "--html");
    assert_eq!((count(&page, "<script>"), count(&page, "alert(\"")), (1, 0));
    assert!(page.contains("A processor &#60;R&#62; @") && page.contains("&#38; more"));
    let (markdown, _) = written(&ALL, "--markdown");
    assert!(markdown.contains(r#"\`&lt;script&gt;alert("1\|2")&lt;/script&gt;\` &amp; more"#));
}

#[test]
fn nothing_is_fetched() {
    let (page, _) = written(&ALL, "--html");
    for word in ["src=", "url(", "@import", "http://", "https://", "<link rel=\"stylesheet"] {
        assert_eq!(count(&page, word), 0, "{word}");
    }
}

#[test]
fn the_markdown_has_the_same_tables() {
    let (markdown, _) = written(&ALL, "--markdown");
    let titles: Vec<_> = markdown.lines().filter_map(|line| line.strip_prefix("## ")).collect();
    let expected =
        ["Which topology", "Failed rows", "framed", "http", "In memory", "Memory", "Instructions", "What was measured"];
    assert_eq!(titles, expected);
    // Every row of a table has as many cells as its header.
    for table in markdown.split("\n\n").filter(|part| part.starts_with('|')) {
        let cells = |line: &str| count(line, "|") - count(line, r"\|");
        let mut lines = table.lines();
        let first = lines.next().map(cells);
        assert!(lines.all(|line| Some(cells(line)) == first), "{table}");
    }
    assert!(markdown.contains("> **Warning.** 2 of "), "{markdown}");
}

#[test]
fn parts_without_rows_are_missing() {
    let (page, words) = written(&["codec.jsonl"], "--html");
    assert_eq!(words, "");
    for id in ["advice", "failed", "protocol-1", "instructions"] {
        assert_eq!(count(&page, &format!("#{id}\"")) + count(&page, &format!("id=\"{id}\"")), 0, "{id}");
    }
    assert_eq!((count(&page, "<form"), count(&page, "<svg "), count(&page, "id=\"codec\"")), (0, 0, 1));
    let (markdown, _) = written(&["codec.jsonl"], "--markdown");
    assert!(!markdown.contains("Which topology") && markdown.contains("## In memory"));
}

#[test]
fn both_are_written_at_once() {
    let (html, markdown) = (temporary("both.html"), temporary("both.md"));
    let options = ["--html", html.to_str().unwrap(), "--markdown", markdown.to_str().unwrap()];
    assert!(report(&[fixture("compare.jsonl")], &options).status.success());
    assert!(fs::read_to_string(html).unwrap().starts_with("<!DOCTYPE html>"));
    assert!(fs::read_to_string(markdown).unwrap().starts_with("# Results"));
}

#[test]
fn bad_files_and_arguments_are_refused() {
    let bad = temporary("bad.jsonl");
    fs::write(&bad, "{\"name\":\"ä\"}\n{\"round_trips_per_s\":1}\n").unwrap();
    let empty = temporary("empty.jsonl");
    fs::write(&empty, "").unwrap();
    for (files, options, code, words) in [
        (&[bad][..], &["--html", "-"][..], 1, "bad.jsonl:2: missing field `impl`"),
        (&[empty], &["--html", "-"], 1, "there is no row to show"),
        (&[fixture("none.jsonl")], &["--html", "-"], 1, "none.jsonl: "),
        (&[fixture("compare.jsonl")], &["--html", "no/such/directory/a.html"], 1, "no/such/directory/a.html: "),
        (&[fixture("compare.jsonl")], &[], 2, "--html"),
        (&[], &["--html", "-"], 2, "FILE"),
    ] {
        let output = report(files, options);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert!(said.contains(words) && output.stdout.is_empty(), "{said}");
    }
}
