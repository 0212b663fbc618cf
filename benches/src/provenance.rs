//! Where results come from: the first line of every file of them.

use crate::process;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{env, fs, process::Command};
use time::{UtcDateTime, format_description::well_known::Rfc3339};

/// When, by what and on what something was measured. `null` is what the system does not say.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Provenance {
    /// By which a reader knows that this is no row.
    pub record: Record,
    /// The program that measured.
    pub program: String,
    /// How it was called.
    pub command: String,
    /// When it started, in UTC: `2026-12-01T05:00:00Z`.
    pub started: Option<String>,
    /// The commit of the sources, with `-dirty` if they have been changed since.
    pub commit: Option<String>,
    /// The compiler that built the program.
    pub rustc: String,
    /// The system, and its version.
    pub kernel: Option<String>,
    /// The model of the processor.
    pub cpu: Option<String>,
    /// How many cores the program may use.
    pub cores: Option<usize>,
    /// The machine's memory.
    pub memory_mib: Option<u64>,
    /// What the program was told that bears on its numbers; each program has its own.
    pub settings: Value,
}

/// What kind of line it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Record {
    /// A run of a program; its rows follow.
    Run,
}

impl Provenance {
    /// Of this process, which begins now.
    #[must_use]
    pub fn new(program: &str, settings: Value) -> Self {
        let arguments = env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned());
        let command: Vec<_> = [program.to_owned()].into_iter().chain(arguments).collect();
        let read = |file: &str| fs::read_to_string(file).unwrap_or_default();
        let kernel = ["ostype", "osrelease"].map(|file| read(&format!("/proc/sys/kernel/{file}")).trim().to_owned());
        let now = UtcDateTime::now();
        Self {
            record: Record::Run,
            program: program.to_owned(),
            command: command.join(" "),
            started: now.replace_nanosecond(0).unwrap_or(now).format(&Rfc3339).ok(),
            commit: commit(),
            rustc: env!("BYTEWISE_BENCH_RUSTC").to_owned(),
            kernel: kernel.iter().all(|part| !part.is_empty()).then(|| kernel.join(" ")),
            cpu: field(&read("/proc/cpuinfo"), "model name"),
            cores: process::cores().map(|cores| cores.len()).ok(),
            memory_mib: memory_mib(&read("/proc/meminfo")),
            settings,
        }
    }
}

/// That of the sources this was built from, as they are now; nothing without them, or without git.
fn commit() -> Option<String> {
    let mut git = Command::new("git");
    git.args(["-C", env!("CARGO_MANIFEST_DIR"), "describe", "--always", "--dirty", "--abbrev=12"]);
    let output = git.output().ok().filter(|output| output.status.success())?;
    let commit = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (!commit.is_empty()).then_some(commit)
}

/// The first value of that name in a file of `/proc`.
fn field(text: &str, name: &str) -> Option<String> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.trim().to_owned())
    })
}

fn memory_mib(meminfo: &str) -> Option<u64> {
    let kib: u64 = field(meminfo, "MemTotal")?.strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib / 1024)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn it_tells_when_by_what_and_on_what() {
        let provenance = Provenance::new("compare", json!({ "seconds": 0.5 }));
        let line = serde_json::to_string(&provenance).unwrap();
        assert!(line.starts_with(r#"{"record":"run","program":"compare","command":"compare"#), "{line}");
        // As texts, dates have the order of time.
        let later = UtcDateTime::now().format(&Rfc3339).unwrap();
        let started = provenance.started.as_deref().unwrap();
        assert!(started.len() == "2026-12-01T05:00:00Z".len() && started.ends_with('Z'), "{started}");
        assert!(("2026"..=&later[..19]).contains(&&started[..19]), "{started}, {later}");
        assert!(provenance.rustc.starts_with("rustc 1."));
        assert!(provenance.kernel.as_deref().unwrap().starts_with("Linux "));
        assert!(provenance.cores.unwrap() > 0 && provenance.memory_mib.unwrap() > 0);
        assert_eq!(provenance.settings["seconds"], 0.5);
        assert_eq!(serde_json::from_str::<Provenance>(&line).unwrap(), provenance);
    }

    #[test]
    fn files_of_the_system_are_read() {
        let cpuinfo = "processor\t: 0\nmodel name\t: Some CPU: 2 GHz\n\nprocessor\t: 1\nmodel name\t: Another\n";
        assert_eq!(field(cpuinfo, "model name").as_deref(), Some("Some CPU: 2 GHz"));
        assert_eq!(field(cpuinfo, "model"), None);
        assert_eq!(memory_mib("MemTotal:       24576000 kB\nMemFree:  1 kB\n"), Some(24_000));
        assert_eq!(memory_mib("MemTotal: much\n"), None);
    }
}
