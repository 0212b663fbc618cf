//! JSON Lines of `compare`, `codec`, `memory` and `counts`, as far as a report shows them.

use bytewise_bench::provenance::Provenance;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Map, Value};
use std::{fs, io, path::Path};

/// What one run of one program gave.
#[derive(Debug, Default)]
pub(crate) struct Run {
    /// Name of the file, without its directories.
    pub(crate) file: String,
    /// `None` if the file does not begin with it.
    pub(crate) provenance: Option<Provenance>,
    pub(crate) compare: Vec<Compare>,
    pub(crate) codec: Vec<Codec>,
    pub(crate) memory: Vec<Memory>,
    pub(crate) counts: Vec<Count>,
}

impl Run {
    pub(crate) fn rows(&self) -> usize {
        self.compare.len() + self.codec.len() + self.memory.len() + self.counts.len()
    }

    /// The program that was run, as far as that is known.
    pub(crate) fn program(&self) -> &str {
        match &self.provenance {
            Some(provenance) => &provenance.program,
            None if !self.compare.is_empty() => "compare",
            None if !self.codec.is_empty() => "codec",
            None if !self.memory.is_empty() => "memory",
            None if !self.counts.is_empty() => "counts",
            None => "unknown",
        }
    }
}

/// A row of `compare`.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct Compare {
    #[serde(rename = "impl")]
    pub(crate) name: String,
    pub(crate) protocol: String,
    pub(crate) runtime: String,
    pub(crate) contexts: u64,
    pub(crate) threads: u64,
    pub(crate) payload: u64,
    pub(crate) clients: u64,
    pub(crate) window: u64,
    pub(crate) placement: String,
    #[serde(default)]
    pub(crate) work: u64,
    pub(crate) round_trips_per_s: Option<f64>,
    pub(crate) round_trips_per_s_min: Option<f64>,
    pub(crate) round_trips_per_s_max: Option<f64>,
    pub(crate) server_cpu_ns_per_round_trip: Option<f64>,
    pub(crate) floor_ratio: Option<f64>,
    pub(crate) p50_us: Option<f64>,
    pub(crate) p95_us: Option<f64>,
    pub(crate) p99_us: Option<f64>,
    pub(crate) cpu_percent: Option<f64>,
    pub(crate) peak_rss_mib: Option<f64>,
    pub(crate) disturbed: Option<f64>,
    #[serde(default)]
    pub(crate) errors: u64,
    pub(crate) error: Option<String>,
}

/// A row of `codec` with a time.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct Codec {
    pub(crate) name: String,
    #[serde(rename = "impl")]
    pub(crate) candidate: String,
    pub(crate) initial: Option<u64>,
    pub(crate) ns_per_message: Option<f64>,
    pub(crate) hand_ratio: Option<f64>,
    pub(crate) floor_ratio: Option<f64>,
    pub(crate) hyper_ratio: Option<f64>,
    pub(crate) allocations_per_message: Option<f64>,
    pub(crate) error: Option<String>,
}

/// A row about what connections hold: of `memory`, or of `codec`.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct Memory {
    pub(crate) name: String,
    #[serde(rename = "impl")]
    pub(crate) candidate: String,
    pub(crate) runtime: Option<String>,
    pub(crate) protocol: Option<String>,
    pub(crate) deflate: Option<bool>,
    pub(crate) state: Option<String>,
    pub(crate) connections: Option<u64>,
    pub(crate) bytes_per_connection: Option<f64>,
    pub(crate) library_bytes_per_connection: Option<f64>,
    pub(crate) rss_bytes_per_connection: Option<f64>,
    pub(crate) error: Option<String>,
}

/// A row of `counts`.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct Count {
    pub(crate) name: String,
    #[serde(rename = "impl")]
    pub(crate) candidate: String,
    pub(crate) instructions_per_message: Option<f64>,
    pub(crate) baseline: Option<f64>,
    pub(crate) change_percent: Option<f64>,
    pub(crate) error: Option<String>,
}

/// The runs of all files, and a line for each row of an unknown kind, which is left out.
///
/// Fails with a message that names the file, and the line if it is one that is wrong.
pub(crate) fn read(paths: &[impl AsRef<Path>]) -> io::Result<(Vec<Run>, Vec<String>)> {
    let (mut runs, mut skipped) = (Vec::new(), Vec::new());
    for path in paths {
        let path = path.as_ref();
        let text =
            fs::read_to_string(path).map_err(|error| io::Error::other(format!("{}: {error}", path.display())))?;
        runs.extend(parse(path, &text, &mut skipped).map_err(io::Error::other)?);
    }
    Ok((runs, skipped))
}

/// The runs of one file: each line of provenance begins another one.
pub(crate) fn parse(path: &Path, text: &str, skipped: &mut Vec<String>) -> Result<Vec<Run>, String> {
    let file = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
    let begin = |provenance| Run { file: file.clone().into_owned(), provenance, ..Run::default() };
    let mut runs: Vec<Run> = Vec::new();
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let place = format!("{}:{}", path.display(), index + 1);
        let row: Map<String, Value> = serde_json::from_str(line).map_err(|error| format!("{place}: {error}"))?;
        if row.get("record").is_some_and(|record| record == "run") {
            runs.push(begin(Some(typed(row, &place)?)));
            continue;
        }
        if runs.is_empty() {
            runs.push(begin(None));
        }
        let Some(run) = runs.last_mut() else { continue };
        if row.contains_key("round_trips_per_s") {
            run.compare.push(typed(row, &place)?);
        } else if row.contains_key("ns_per_message") {
            run.codec.push(typed(row, &place)?);
        } else if row.contains_key("bytes_per_connection") {
            run.memory.push(typed(row, &place)?);
        } else if row.contains_key("instructions_per_message") {
            run.counts.push(typed(row, &place)?);
        } else {
            let what = ["name", "record", "impl"].iter().find_map(|key| Some(format!("{key} {}", row.get(*key)?)));
            let what = what.unwrap_or_else(|| "without a name".to_owned());
            skipped.push(format!("{file}:{}: a row of an unknown kind ({what})", index + 1));
        }
    }
    Ok(runs)
}

fn typed<T: DeserializeOwned>(row: Map<String, Value>, place: &str) -> Result<T, String> {
    serde_json::from_value(Value::Object(row)).map_err(|error| format!("{place}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROW: &str = r#"{"impl":"floor","protocol":"http","runtime":"epoll","contexts":1,"threads":1,"payload":64,
        "clients":1,"window":1,"placement":"split","round_trips_per_s":2.0,"new":[1]}"#;

    fn run(program: &str) -> String {
        let known = r#""record":"run","command":"it --all","rustc":"rustc 1.95.0","cores":2,"settings":{"repeat":3}"#;
        format!(r#"{{"program":"{program}",{known},"more":true}}"#)
    }

    fn one_line(text: &str) -> String {
        text.replace('\n', "")
    }

    #[test]
    fn rows_are_told_apart_and_unknown_fields_ignored() {
        let text = [
            &run("compare"),
            &one_line(ROW),
            r#"{"name":"encode/64","impl":"hand","ns_per_message":null}"#,
            "",
            r#"{"name":"memory/connections","impl":"bare","bytes_per_connection":null,"error":"no room"}"#,
            r#"{"name":"decode/framed/64","impl":"bytewise","instructions_per_message":90}"#,
            r#"{"name":"weather"}"#,
            &run("codec"),
        ]
        .join("\n");
        let mut skipped = Vec::new();
        let runs = parse(Path::new("a.jsonl"), &text, &mut skipped).unwrap();
        assert_eq!(skipped, [r#"a.jsonl:7: a row of an unknown kind (name "weather")"#]);
        assert_eq!(runs.len(), 2);
        let run = &runs[0];
        assert_eq!([run.compare.len(), run.codec.len(), run.memory.len(), run.counts.len()], [1; 4]);
        assert_eq!((run.program(), run.provenance.as_ref().unwrap().cores), ("compare", Some(2)));
        assert_eq!((run.compare[0].work, run.compare[0].errors, run.compare[0].p99_us), (0, 0, None));
        assert_eq!(run.memory[0].error.as_deref(), Some("no room"));
        assert_eq!((runs[1].program(), runs[1].rows()), ("codec", 0));
    }

    #[test]
    fn a_file_without_provenance_is_named_by_its_rows() {
        let runs =
            parse(Path::new("a.jsonl"), r#"{"name":"a","impl":"b","ns_per_message":1}"#, &mut Vec::new()).unwrap();
        assert_eq!((runs.len(), runs[0].program(), runs[0].rows()), (1, "codec", 1));
        assert!(parse(Path::new("a.jsonl"), "\n", &mut Vec::new()).unwrap().is_empty());
    }

    #[test]
    fn a_bad_line_is_named() {
        let missing = one_line(ROW).replace(r#""payload":64,"#, "");
        let wrong = one_line(ROW).replace("2.0", r#""fast""#);
        let run = run("codec").replace("rustc", "cc");
        for (line, word) in [("{", "EOF"), ("[1]", "map"), (&missing, "`payload`"), (&wrong, "f64"), (&run, "`rustc`")]
        {
            let error = parse(Path::new("a.jsonl"), &format!("\n{line}\n"), &mut Vec::new()).unwrap_err();
            assert!(error.starts_with("a.jsonl:2: ") && error.contains(word), "{error}");
        }
    }

    #[test]
    fn a_missing_file_is_named() {
        let error = read(&["no/such.jsonl"]).unwrap_err().to_string();
        assert!(error.starts_with("no/such.jsonl: "), "{error}");
    }
}
