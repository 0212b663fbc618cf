//! What can be asked for on the command line.

use crate::candidates::{self, Candidate};
use clap::{CommandFactory, Parser, ValueEnum, error::ErrorKind};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::{fmt, path::PathBuf, str::FromStr, time::Duration};

const ABOUT: &str = "Compares I/O topologies, runtimes and peers: an echo service over loopback TCP.

Without arguments it runs a quick profile (under 90 s) and prints a table. Beside the candidates it always runs the
floor: a raw epoll echo of the same bytes that parses nothing. Read the column `x floor` first: the server's CPU time
per round trip over that of the floor in the same round. 1.00 means that the protocol and the runtime cost nothing.";

const EXAMPLES: &str = "Every option but the times takes a comma list, and every valid combination runs.

Examples:
  compare                                                  the quick profile
  compare --runtime tokio,smol --payload 64 --load 16x16   two runtimes, small messages, 256 requests in flight
  compare --topology 1x1,1x4,4x4 --peers none --quick      does it scale with threads, or with contexts?
  compare --runtime tokio --repeat 7 --json results.jsonl  seven rounds, kept as JSON Lines
  compare --protocol http --topology 1x1 --load 16x16      HTTP/1.1, beside its own peers; the same with ws,
                                                           and with https and wss

Exit status: 0 all well; 1 a row is invalid (a wrong, lost or surplus reply); 2 bad arguments.";

/// The command line.
#[derive(Debug, Parser)]
#[command(name = "compare", version, about = "Compares I/O topologies, runtimes and peers", long_about = ABOUT,
    after_long_help = EXAMPLES)]
pub struct Options {
    /// What is spoken: framed (length-prefixed frames), http (HTTP/1.1: a POST, and its body back), ws (WebSocket: a
    /// binary message, and the same one back), https and wss (the same under TLS) [default: framed]
    #[arg(long, value_delimiter = ',', value_name = "LIST", hide_possible_values = true)]
    protocol: Option<Vec<Protocol>>,
    /// Runtimes: tokio, smol, async-std, blocking, epoll, asio [default: all]
    #[arg(long, value_delimiter = ',', value_name = "LIST", hide_possible_values = true)]
    runtime: Option<Vec<Runtime>>,
    /// CONTEXTSxTHREADS, threads in total: 1x2 is one event loop on two threads, 2x2 is two event loops with one thread
    /// each [default: 1x1,1x2,2x2]
    #[arg(long, value_delimiter = ',', value_name = "LIST")]
    topology: Option<Vec<Topology>>,
    /// Bytes of payload per message [default: 64,1024,16384; quick: 64,1024]
    #[arg(long, value_delimiter = ',', value_name = "LIST", value_parser = payload)]
    payload: Option<Vec<usize>>,
    /// CLIENTSxWINDOW: connections, and requests in flight on each [default: 1x1,16x16; quick: 16x16]
    #[arg(long, value_delimiter = ',', value_name = "LIST")]
    load: Option<Vec<Load>>,
    /// Peers to run beside it: all, none, or their names [default: all]
    #[arg(long, value_delimiter = ',', value_name = "LIST", value_parser = peer)]
    peers: Option<Vec<String>>,
    /// Measured time of a round [default: 1; quick: 0.5]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    seconds: Option<Duration>,
    /// Traffic before the measured time [default: 0.25; quick: 0.125]
    #[arg(long, value_name = "SECONDS", value_parser = any_seconds)]
    warmup: Option<Duration>,
    /// Rounds, each with fresh processes and in another order; the table shows medians [default: 3]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    repeat: Option<u32>,
    /// split: server and load generator in processes of their own, pinned to different cores, so that only the server is
    /// measured; shared: both in one process, whose cost is measured [default: split]
    #[arg(long, value_delimiter = ',', value_name = "LIST", hide_possible_values = true)]
    placement: Option<Vec<Placement>>,
    /// Also write the rows as JSON Lines; `-` is standard output, instead of the table
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// The quick profile's values for whatever is not given
    #[arg(long)]
    quick: bool,
    /// Which part of the program this process is.
    #[command(subcommand)]
    pub subcommand: Option<Subcommand>,
}

/// How the program calls itself for a child process.
pub const CHILD: &str = "__child";

/// What the program calls itself with.
#[derive(Debug, Clone, Copy, clap::Subcommand)]
pub enum Subcommand {
    /// A server or a load generator that takes its job from standard input.
    #[command(name = CHILD, hide = true)]
    Child,
}

/// What will be done: the options with all defaults filled in.
#[derive(Debug, Clone)]
pub struct Settings {
    /// What is spoken.
    pub protocols: Vec<Protocol>,
    /// What serves.
    pub runtimes: Vec<Runtime>,
    /// Contexts and threads.
    pub topologies: Vec<Topology>,
    /// Bytes per message.
    pub payloads: Vec<usize>,
    /// Clients and windows.
    pub loads: Vec<Load>,
    /// Names of peers.
    pub peers: Vec<String>,
    /// Measured time of a round.
    pub seconds: Duration,
    /// Traffic before it.
    pub warmup: Duration,
    /// Rounds.
    pub repeat: u32,
    /// Which processes.
    pub placements: Vec<Placement>,
    /// Where rows go as JSON Lines.
    pub json: Option<PathBuf>,
}

impl Options {
    /// Fills in the defaults; `bare` says that there were no arguments at all.
    pub fn settle(self, bare: bool) -> Result<Settings, clap::Error> {
        let quick = self.quick || bare;
        let either = |quickly: f64, else_: f64| Duration::from_secs_f64(if quick { quickly } else { else_ });
        let every = |word: &str| self.peers.as_ref().is_none_or(|names| names.iter().any(|name| name == word));
        let peers = match &self.peers {
            Some(names) if names.len() > 1 && names.iter().any(|name| name == "all" || name == "none") => {
                let message = "--peers: `all` and `none` stand alone";
                return Err(Self::command().error(ErrorKind::ArgumentConflict, message));
            }
            Some(names) if names.iter().any(|name| name == "none") => Vec::new(),
            _ if every("all") => candidates::peers().map(|peer| peer.name().to_owned()).collect(),
            names => names.clone().unwrap_or_default(),
        };
        Ok(Settings {
            protocols: distinct(self.protocol.unwrap_or_else(|| vec![Protocol::Framed])),
            runtimes: distinct(self.runtime.unwrap_or_else(|| Runtime::value_variants().to_vec())),
            topologies: distinct(self.topology.unwrap_or_else(|| {
                [(1, 1), (1, 2), (2, 2)].map(|(contexts, threads)| Topology { contexts, threads }).to_vec()
            })),
            payloads: distinct(self.payload.unwrap_or_else(|| match quick {
                true => vec![64, 1024],
                false => vec![64, 1024, 16384],
            })),
            loads: distinct(self.load.unwrap_or_else(|| {
                let busy = Load { clients: 16, window: 16 };
                if quick { vec![busy] } else { vec![Load { clients: 1, window: 1 }, busy] }
            })),
            peers: distinct(peers),
            seconds: self.seconds.unwrap_or_else(|| either(0.5, 1.0)),
            warmup: self.warmup.unwrap_or_else(|| either(0.125, 0.25)),
            repeat: self.repeat.unwrap_or(3),
            placements: distinct(self.placement.unwrap_or_else(|| vec![Placement::Split])),
            json: self.json,
        })
    }
}

impl Settings {
    /// What bears on each number, for the first line of the results.
    #[must_use]
    pub fn provenance(&self) -> Value {
        json!({
            "seconds": self.seconds.as_secs_f64(),
            "warmup": self.warmup.as_secs_f64(),
            "repeat": self.repeat,
        })
    }
}

/// Without repetitions, in the order given.
fn distinct<T: PartialEq>(values: Vec<T>) -> Vec<T> {
    values.into_iter().fold(Vec::new(), |mut seen, value| {
        if !seen.contains(&value) {
            seen.push(value);
        }
        seen
    })
}

/// What is spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// A big-endian length of four bytes, then so many bytes.
    Framed,
    /// HTTP/1.1: a `POST` with so many bytes, and a `200` with the same ones.
    Http,
    /// WebSocket: a masked binary message of so many bytes, and the same one unmasked.
    Ws,
    /// HTTP/1.1 under TLS.
    Https,
    /// WebSocket under TLS.
    Wss,
}

impl Protocol {
    /// Whether it is spoken under TLS.
    #[must_use]
    pub const fn has_tls(self) -> bool {
        matches!(self, Self::Https | Self::Wss)
    }
}

/// What serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Runtime {
    /// tokio.
    Tokio,
    /// smol.
    Smol,
    /// async-std.
    AsyncStd,
    /// A thread per connection.
    Blocking,
    /// A bare readiness loop on one thread.
    Epoll,
    /// Boost.Asio, for peers in C++.
    Asio,
}

/// Which processes run, and what is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// Server and load generator in processes of their own, on cores of their own; the server is measured.
    Split,
    /// Both in one process and, where there is a runtime, on the same runtime; both are measured.
    Shared,
}

/// Contexts (event loops with their tasks) and threads in total.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Topology {
    /// Event loops.
    pub contexts: usize,
    /// Threads in total.
    pub threads: usize,
}

impl Topology {
    /// One context on one thread.
    pub const SINGLE: Self = Self { contexts: 1, threads: 1 };
}

/// Connections, and requests in flight on each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Load {
    /// Connections.
    pub clients: usize,
    /// Requests in flight on each.
    pub window: usize,
}

/// Two positive numbers with an `x` between them.
fn pair(text: &str) -> Result<(usize, usize), String> {
    let number = |text: &str| text.parse().ok().filter(|n| (1..=100_000).contains(n));
    let (left, right) = text.split_once('x').unwrap_or_default();
    number(left).zip(number(right)).ok_or_else(|| "two numbers from 1 to 100000 are expected, like 1x2".to_owned())
}

impl FromStr for Topology {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let (contexts, threads) = pair(text)?;
        match contexts == 1 || contexts == threads {
            true if threads <= 1024 => Ok(Self { contexts, threads }),
            true => Err("at most 1024 threads".to_owned()),
            false => Err("one context on N threads (1xN), or N contexts of one thread each (NxN)".to_owned()),
        }
    }
}

impl FromStr for Load {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let (clients, window) = pair(text)?;
        Ok(Self { clients, window })
    }
}

impl fmt::Display for Topology {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.contexts, self.threads)
    }
}

impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.clients, self.window)
    }
}

/// Displays a value by its name on the command line.
macro_rules! display_by_name {
    ($($type:ty),*) => {$(
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.to_possible_value().as_ref().map_or("", |value| value.get_name()))
            }
        }
    )*};
}
display_by_name!(Protocol, Runtime, Placement);

fn payload(text: &str) -> Result<usize, String> {
    let most = 16 << 20;
    text.parse()
        .ok()
        .filter(|n| (1..=most).contains(n))
        .ok_or_else(|| format!("a number of bytes from 1 to {most} is expected"))
}

fn any_seconds(text: &str) -> Result<Duration, String> {
    let number = text.parse().ok().filter(|n| (0.0..=3600.0).contains(n));
    number.map(Duration::from_secs_f64).ok_or_else(|| "seconds up to 3600 are expected".to_owned())
}

fn seconds(text: &str) -> Result<Duration, String> {
    let time = any_seconds(text)?;
    if time < Duration::from_millis(1) { Err("at least 0.001 is expected".to_owned()) } else { Ok(time) }
}

fn peer(text: &str) -> Result<String, String> {
    let mut names = vec!["all", "none"];
    names.extend(candidates::peers().map(Candidate::name));
    match names.contains(&text) {
        true => Ok(text.to_owned()),
        false => Err(format!("known are {}", names.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settle(arguments: &[&str]) -> Result<Settings, clap::Error> {
        Options::try_parse_from([&["compare"], arguments].concat())?.settle(arguments.is_empty())
    }

    #[test]
    fn the_command_line_is_consistent() {
        Options::command().debug_assert();
    }

    #[test]
    fn no_arguments_are_the_quick_profile() {
        let quick = settle(&[]).unwrap();
        assert_eq!((quick.protocols, quick.payloads), (vec![Protocol::Framed], vec![64, 1024]));
        assert_eq!(quick.loads, [Load { clients: 16, window: 16 }]);
        assert!(quick.seconds < Duration::from_secs(1));
        let full = settle(&["--repeat", "3"]).unwrap();
        assert_eq!((full.payloads.len(), full.loads.len(), full.seconds), (3, 2, Duration::from_secs(1)));
    }

    #[test]
    fn lists_are_parsed_without_repetitions() {
        let settings = settle(&["--topology", "1x1,4x4,1x1", "--runtime", "async-std,epoll", "--load=2x3"]).unwrap();
        assert_eq!(settings.topologies, [Topology::SINGLE, Topology { contexts: 4, threads: 4 }]);
        assert_eq!(settings.runtimes, [Runtime::AsyncStd, Runtime::Epoll]);
        assert_eq!(settings.loads, [Load { clients: 2, window: 3 }]);
    }

    #[test]
    fn peers_are_all_none_or_named() {
        assert_eq!(settle(&[]).unwrap().peers.len(), candidates::peers().count());
        assert!(settle(&["--peers", "none"]).unwrap().peers.is_empty());
        assert_eq!(settle(&["--peers", "tokio-util"]).unwrap().peers, ["tokio-util"]);
        assert!(settle(&["--peers", "all,tokio-util"]).is_err());
        assert!(settle(&["--peers", "floor"]).is_err());
    }

    #[test]
    fn nonsense_is_refused() {
        for arguments in [
            ["--topology", "2x3"],
            ["--topology", "1"],
            ["--load", "0x1"],
            ["--load", "1x"],
            ["--payload", "0"],
            ["--payload", "-1"],
            ["--seconds", "nan"],
            ["--warmup", "inf"],
            ["--repeat", "0"],
            ["--protocol", "smtp"],
            ["--placement", "apart"],
        ] {
            assert!(settle(&arguments).is_err(), "{arguments:?}");
        }
    }
}
