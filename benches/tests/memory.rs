//! The program `memory` as its users run it, with few connections.

use serde_json::Value;
use std::process::{Command, Output};

fn memory(arguments: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_memory"));
    command.args(arguments.split_whitespace());
    command.output().unwrap()
}

/// The rows, behind the line that says where they come from.
fn rows(arguments: &str) -> Vec<Value> {
    let output = memory(&format!("{arguments} --json -"));
    let lines: Vec<Value> =
        String::from_utf8(output.stdout).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    assert_eq!((&lines[0]["record"], &lines[0]["program"]), (&"run".into(), &"memory".into()));
    lines[1..].to_vec()
}

/// `IMPL/RUNTIME/PROTOCOL`, with `+deflate` if it is.
fn title(row: &Value) -> String {
    let text = |field: &str| row[field].as_str().unwrap().to_owned();
    let deflate = if row["deflate"].as_bool().unwrap() { "+deflate" } else { "" };
    format!("{}/{}/{}{deflate}", text("impl"), text("runtime"), text("protocol"))
}

#[test]
fn all_that_is_planned_is_measured() {
    let rows = rows("--connections 4 --heavy 3 --message 70000");
    let mut expected = vec!["rustls/tokio/tls".to_owned()];
    for runtime in ["tokio", "smol", "async-std", "blocking"] {
        expected.push(format!("bare/{runtime}/framed"));
        for protocol in ["framed", "http", "ws", "ws+deflate", "https", "wss", "wss+deflate"] {
            expected.push(format!("bytewise/{runtime}/{protocol}"));
        }
    }
    for peer in ["tokio-util/tokio/framed", "hyper/tokio/http", "hyper/tokio/https"] {
        expected.push(peer.to_owned());
    }
    for peer in ["tungstenite/tokio/ws", "tungstenite/tokio/wss", "nexus-web/tokio/ws"] {
        expected.push(peer.to_owned());
    }
    for title_ in &expected {
        let found: Vec<_> = rows.iter().filter(|row| title(row) == *title_).collect();
        for state in ["idle", "after-small", "after-traffic", "active"] {
            assert_eq!(found.iter().filter(|row| row["state"] == state).count(), 1, "{title_}, {state}");
        }
        let keep_alive = found.iter().filter(|row| row["state"] == "after-keep-alive").count();
        assert_eq!(keep_alive, usize::from(title_.ends_with("+deflate")), "{title_}");
    }
    for row in &rows {
        assert!(expected.contains(&title(row)), "{row}");
        assert_eq!((&row["name"], &row["error"]), (&"memory/connections".into(), &Value::Null));
        // The task or the thread, and what belongs to the socket.
        assert!(row["bytes_per_connection"].as_f64().unwrap() > 0.0, "{row}");
        let is_bare = row["impl"] == "bare";
        assert_eq!(row["library_bytes_per_connection"].is_null(), is_bare, "{row}");
        assert!(is_bare || row["library_bytes_per_connection"].as_f64().unwrap() > 0.0, "{row}");
        assert!(row["rss_bytes_per_connection"].is_f64() && row["bytes_after_close"].is_i64(), "{row}");
    }
}

#[test]
fn a_session_under_tls_and_a_compressor_are_seen() {
    let rows = rows("--connections 20 --heavy 20 --message 2000 --filter bytewise/tokio/ws");
    let library = |title_: &str, state: &str| {
        let mut found =
            rows.iter().filter(|row| title(row) == format!("bytewise/tokio/{title_}") && row["state"] == state);
        found.next().unwrap()["library_bytes_per_connection"].as_f64().unwrap()
    };
    assert!(library("wss", "idle") > library("ws", "idle") + 1000.0);
    // A compressor has 134 KiB or more, and it is freed before a ping; what is kept is the window that the peer refers to.
    let (before, after) = (library("ws+deflate", "after-traffic"), library("ws+deflate", "after-keep-alive"));
    assert!(before > 134.0 * 1024.0 && after < before / 2.0, "{before}, {after}");
}

#[test]
fn the_table_has_a_part_for_each_who() {
    let output = memory("--connections 3 --filter bytewise/smol/framed/idle");
    let table = String::from_utf8(output.stdout).unwrap();
    let parts: Vec<_> = table.lines().filter(|line| line.contains(" on ")).collect();
    assert_eq!(parts, ["bare on smol", "bytewise on smol"]);
    assert!(table.contains("of these the library's") && output.status.success());
}

#[test]
fn what_fails_is_a_row_with_an_error_and_the_rest_goes_on() {
    // A server that may not have as many descriptors as it has connections.
    let memory = concat!("ulimit -n 40; exec ", env!("CARGO_BIN_EXE_memory"));
    let arguments = "--connections 64 --heavy 2 --filter tokio/ws/idle --json -";
    let output = Command::new("sh").args(["-c", &format!("{memory} {arguments}")]).output().unwrap();
    let lines: Vec<Value> =
        String::from_utf8(output.stdout).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |who: &str| lines.iter().find(|row| row["impl"] == who).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(of("bytewise")["error"].is_string() && of("bytewise")["bytes_per_connection"].is_null());
    // Of these there are two.
    assert!(of("tungstenite")["error"].is_null() && of("tungstenite")["bytes_per_connection"].is_f64());
}

#[test]
fn nonsense_is_refused() {
    for arguments in ["--connections 0", "--message 0", "--message 99999999", "--heavy x", "--filters idle"] {
        assert_eq!(memory(arguments).status.code(), Some(2), "{arguments}");
    }
}
