//! The program `counts`, from its command line.

use serde_json::Value;
use std::process::{Command, Output};

fn counts(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_counts"));
    command.args(arguments);
    command
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn without_valgrind_it_says_so_and_has_a_status_of_its_own() {
    let output = counts(&[]).env("PATH", "").output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(stderr(&output).contains("there is no valgrind"), "{}", stderr(&output));
}

/// Where there is a valgrind; elsewhere the status says that there is none.
#[test]
fn what_is_counted_twice_is_the_same() {
    let count = || {
        let output = counts(&["--filter", "encode/framed/64", "--json", "-", "--baseline", "none"]).output().unwrap();
        if output.status.code() == Some(3) {
            return None;
        }
        assert!(output.status.success(), "{}", stderr(&output));
        assert!(stderr(&output).contains("there is no baseline at none"), "{}", stderr(&output));
        let lines = output.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        let lines: Vec<Value> = lines.map(|line| serde_json::from_slice(line).unwrap()).collect();
        assert_eq!(lines[0]["program"], "counts");
        Some(lines[1..].to_vec())
    };
    let Some(rows) = count() else { return };
    let described: Vec<_> = rows.iter().map(|row| (&row["name"], &row["impl"], &row["baseline"])).collect();
    let [bytewise, hand] = ["bytewise", "hand"].map(Value::from);
    assert_eq!(described, [&bytewise, &hand].map(|candidate| (&rows[0]["name"], candidate, &Value::Null)));
    assert!(rows.iter().all(|row| row["instructions_per_message"].as_f64().unwrap() > 10.0), "{rows:?}");
    assert_eq!(count(), Some(rows));
}

#[test]
fn a_case_that_is_not_there_is_an_error() {
    let output = counts(&["pass", "decode/nothing", "bytewise"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("there is no such case"), "{}", stderr(&output));
}
