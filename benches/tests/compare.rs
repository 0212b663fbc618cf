//! The program as its users run it, for a fraction of a second.

use serde_json::Value;
use std::process::{Command, Output};

fn compare(arguments: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_compare"));
    command.args(arguments.split_whitespace()).output().expect("the program is built")
}

/// The rows, and what was said meanwhile.
fn rows_and_words(arguments: &str) -> (Vec<Value>, String) {
    let output = compare(&format!("{arguments} --seconds 0.05 --warmup 0.01 --repeat 1 --json -"));
    let errors = String::from_utf8(output.stderr).expect("it is UTF-8");
    assert!(output.status.success(), "{errors}");
    let text = String::from_utf8(output.stdout).expect("it is UTF-8");
    let mut lines = text.lines().map(|line| serde_json::from_str(line).expect("a line is a JSON value"));
    let first: Value = lines.next().expect("there is a first line");
    assert_eq!((&first["record"], &first["settings"]["seconds"]), (&"run".into(), &0.05.into()));
    (lines.collect(), errors)
}

fn rows(arguments: &str) -> Vec<Value> {
    rows_and_words(arguments).0
}

/// That the floor is the first of them, and that each was measured whole.
#[track_caller]
fn assert_measured(rows: &[Value], clients: u64, window: u64, payload: u64) {
    assert_eq!((&rows[0]["impl"], &rows[0]["floor_ratio"]), (&Value::from("floor"), &Value::from(1.0)));
    for row in rows {
        let number = |column: &str| row[column].as_f64().unwrap_or_else(|| panic!("{column} of {row}"));
        assert_eq!((&row["errors"], &row["error"]), (&Value::from(0), &Value::Null), "{row}");
        assert_eq!(
            (&row["clients"], &row["window"], &row["payload"]),
            (&clients.into(), &window.into(), &payload.into())
        );
        for column in ["round_trips_per_s", "server_cpu_ns_per_round_trip", "cpu_percent", "peak_rss_mib"] {
            assert!(number(column) > 0.0, "{column} of {row}");
        }
        assert!(number("p50_us") <= number("p95_us") && number("p95_us") <= number("p99_us"));
        assert!(number("floor_ratio") > 0.0 && number("p99_floor_ratio") > 0.0);
    }
}

/// All that every system has.
const WITHOUT_RING: &str = "--runtime tokio,smol,async-std,blocking,epoll";

/// How many rows that candidate has.
fn count(rows: &[Value], candidate: &str) -> usize {
    rows.iter().filter(|row| row["impl"] == candidate).count()
}

#[test]
fn every_candidate_is_measured_beside_the_floor() {
    let rows = rows("--payload 64 --load 2x4 --topology 1x1,1x2,2x2");
    assert!(rows.iter().any(|row| row["impl"] == "tokio-util" && row["contexts"] == 2 && row["threads"] == 2));
    assert_measured(&rows, 2, 4, 64);
}

#[test]
fn http_is_measured_beside_its_own_peers() {
    let arguments = "--protocol http --payload 64 --load 2x4 --topology 1x1,1x2,2x2 --peers hyper,hyper-pipelined";
    let rows = rows(&format!("{arguments} {WITHOUT_RING}"));
    let counts = ["floor", "bytewise", "hyper", "hyper-pipelined"].map(|candidate| count(&rows, candidate));
    assert_eq!(counts, [1, 3 * 3 + 2, 3, 3]);
    assert!(rows.iter().all(|row| row["protocol"] == "http"));
    assert_measured(&rows, 2, 4, 64);
}

#[test]
fn websocket_is_measured_beside_its_own_peers() {
    let peers = [
        "tungstenite",
        "tungstenite-batched",
        "fastwebsockets",
        "tokio-websockets",
        "tokio-websockets-batched",
        "nexus-web",
        "nexus-web-batched",
        "sockudo-ws",
    ];
    let arguments = "--protocol ws --payload 1024 --load 2x4 --topology 1x1,1x2,2x2 --peers";
    let rows = rows(&format!("{arguments} {} {WITHOUT_RING}", peers.join(",")));
    assert_eq!(["floor", "bytewise"].map(|candidate| count(&rows, candidate)), [1, 3 * 3 + 2]);
    assert_eq!(peers.map(|candidate| count(&rows, candidate)), [3; 8]);
    assert!(rows.iter().all(|row| row["protocol"] == "ws"));
    assert_measured(&rows, 2, 4, 1024);
}

#[test]
fn tls_is_measured_beside_its_own_peers() {
    let arguments = "--payload 1024 --load 2x4 --topology 1x1,1x2,2x2 --peers";
    let https = ["hyper", "hyper-pipelined"];
    let wss = ["tungstenite", "tungstenite-batched", "fastwebsockets", "tokio-websockets", "tokio-websockets-batched"];
    for (protocol, peers) in [("https", &https[..]), ("wss", &wss)] {
        let rows = rows(&format!("--protocol {protocol} {arguments} {} {WITHOUT_RING}", peers.join(",")));
        assert_eq!(["floor", "bytewise"].map(|candidate| count(&rows, candidate)), [1, 3 * 3 + 2]);
        assert!(peers.iter().all(|peer| count(&rows, peer) == 3));
        assert!(rows.iter().all(|row| row["protocol"] == protocol));
        assert_measured(&rows, 2, 4, 1024);
    }
}

#[test]
fn beast_is_measured_where_it_can_be_built_and_else_said_to_be_missing() {
    for protocol in ["http", "ws", "https", "wss"] {
        let arguments = "--runtime asio --payload 1024 --load 2x4 --topology 1x1,1x2,2x2 --peers beast";
        let (rows, words) = rows_and_words(&format!("--protocol {protocol} {arguments}"));
        match count(&rows, "beast") {
            0 => {
                let missing = ["missing: beast:", "needs g++ and the headers of Boost 1.81"];
                assert!(missing.iter().all(|part| words.contains(part)), "{words}");
            }
            beast => assert_eq!((beast, rows.len()), (3, 4), "{words}"),
        }
        assert_measured(&rows, 2, 4, 1024);
    }
}

#[test]
fn large_and_odd_messages_pass() {
    for row in rows("--protocol framed,http,ws,https,wss --payload 1,300000 --load 1x1,2x3 --topology 1x1") {
        assert_eq!(row["errors"], 0, "{row}");
    }
}

#[test]
fn both_ends_in_one_process() {
    let arguments =
        "--protocol framed,http,ws,https,wss --payload 64 --load 2x4 --topology 1x1,1x2,2x2 --placement shared";
    let (rows, words) = rows_and_words(arguments);
    for row in &rows {
        assert_eq!((&row["errors"], &row["placement"]), (&Value::from(0), &Value::from("shared")), "{row}");
    }
    assert!(words.contains("beast: not with placement shared"), "{words}");
    assert_eq!(["hyper", "fastwebsockets", "beast"].map(|candidate| count(&rows, candidate)), [6, 6, 0]);
}

/// A file of its own for a test, removed in the end.
struct Scratch(std::path::PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        Self(std::env::temp_dir().join(format!("bytewise-compare-{name}-{}", std::process::id())))
    }

    fn text(&self) -> String {
        std::fs::read_to_string(&self.0).expect("the file is there")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn what_was_interrupted_is_resumed() {
    let file = Scratch::new("resume");
    let run = |more: &str| {
        let times = "--seconds 0.05 --warmup 0.01 --repeat 1 --peers none --load 1x1 --topology 1x1 --runtime tokio";
        let output = compare(&format!("{times} --payload 64,1024 --json {} {more}", file.0.display()));
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    assert_eq!(run("").0, Some(0));
    let whole = file.text();
    assert_eq!(whole.lines().count(), 1 + 2 * 2);
    // As if it had been killed within the last group: one row is whole, and one is not.
    let cut = whole.trim_end().len() - 20;
    std::fs::write(&file.0, &whole[..cut]).expect("it can be written");
    let (status, words) = run("--resume");
    assert_eq!(status, Some(0), "{words}");
    assert!(words.contains("2 measurements") && words.contains("kept: 3 rows"), "{words}");
    let kept = whole.lines().take(4).collect::<Vec<_>>().join("\n");
    let text = file.text();
    assert!(text.starts_with(&kept) && text.lines().count() == 5, "{text}");
    let last: Value = serde_json::from_str(text.lines().last().expect("a line")).expect("a JSON value");
    assert_eq!((&last["impl"], &last["payload"]), (&"bytewise".into(), &1024.into()));
    // There is nothing left to do.
    let (status, words) = run("--resume");
    assert!(status == Some(0) && words.contains("0 measurements"), "{words}");
    let (status, words) = run("--resume --work 3");
    assert!(status == Some(1) && words.contains("of another kind") && words.contains("\"work\":3"), "{words}");
    assert_eq!(file.text(), text);
}

#[test]
fn a_row_that_fails_is_kept_with_its_error_and_the_others_go_on() {
    let file = Scratch::new("failed");
    let times = "--seconds 0.05 --warmup 0.01 --repeat 1 --peers none --topology 1x1 --runtime tokio --payload 64";
    let arguments = format!("{times} --load 100x1,1x1 --json {}", file.0.display());
    // So few descriptors that nobody has a hundred connections.
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -n 64 && exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_compare")]);
    let output = command.args(arguments.split_whitespace()).output().expect("there is a shell");
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    let text = file.text();
    let rows: Vec<Value> = text.lines().skip(1).map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(rows.len(), 4);
    for row in &rows {
        let has_failed = row["clients"] == 100;
        assert_eq!((has_failed, has_failed), (row["error"].is_string(), row["floor_ratio"].is_null()), "{row}");
    }
    // It is there, so that it is not measured again, and still no success.
    let output = compare(&format!("{arguments} --resume"));
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(1) && words.contains("0 measurements"), "{words}");
    assert_eq!(file.text(), text);
}

#[test]
fn all_work_for_each_message_or_are_left_out() {
    let arguments = "--payload 64 --load 2x4 --topology 1x1 --protocol framed,http,ws,https,wss --work";
    let (rows, words) = rows_and_words(&format!("{arguments} 2000"));
    // Who has answered more messages than it has worked for has an error.
    assert!(rows.iter().all(|row| row["errors"] == 0 && row["work"] == 2000), "{rows:?}");
    assert!(
        ["framed", "http", "ws"].iter().all(|p| words.contains(&format!("on epoll with work over {p}"))),
        "{words}"
    );
}

#[test]
fn a_ring_is_measured_where_there_is_one_and_else_said_to_be_missing() {
    let arguments =
        "--runtime io-uring --protocol framed,http,ws,https,wss --peers none --payload 64,300000 --load 2x3";
    for placement in ["split", "shared"] {
        let (rows, words) = rows_and_words(&format!("{arguments} --topology 1x1,2x2 --placement {placement}"));
        assert!(rows.iter().all(|row| row["errors"] == 0), "{rows:?}");
        let missing = words.contains("missing: bytewise on io-uring: the kernel gives no io_uring (");
        let rings = rows.iter().filter(|row| row["runtime"] == "io-uring").count();
        assert_eq!(rings, if missing { 0 } else { 10 }, "{words}");
        assert_eq!(count(&rows, "floor"), 10);
    }
}

#[test]
fn more_connections_than_usually_wait_open_under_tls() {
    let arguments = "--runtime tokio,epoll,io-uring --protocol wss --peers none --payload 64 --load 300x1";
    let rows = rows(&format!("{arguments} --topology 1x1,4x4"));
    assert!(rows.len() >= 4 && rows.iter().all(|row| row["errors"] == 0 && row["clients"] == 300), "{rows:?}");
}

#[test]
fn a_table_is_printed() {
    let output = compare("--peers none --payload 64 --load 1x1 --topology 1x1 --seconds 0.02 --warmup 0 --repeat 1");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("framed, 64 B, 1 client x window 1, split"), "{text}");
    assert!(text.contains("x floor") && text.contains("1.00"), "{text}");
}

#[test]
fn a_file_that_cannot_be_written_is_noticed_at_once() {
    let output = compare("--seconds 3600 --json /nonexistent/rows");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(1) && errors.contains("/nonexistent/rows"), "{errors}");
}

#[test]
fn bad_arguments_are_explained() {
    for (arguments, word) in [("--topology 2x3", "NxN"), ("--peers nobody", "tokio-util"), ("--load 0x1", "1x2")] {
        let output = compare(arguments);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2));
        assert!(errors.contains(word), "{errors}");
    }
}

#[test]
fn the_help_does_not_mention_children() {
    let output = compare("--help");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("floor") && text.contains("Examples") && !text.contains("__child"), "{text}");
}
