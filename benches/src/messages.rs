//! What parent and children tell each other: one JSON value per line, over the children's standard streams.

use crate::{
    options::{Load, Protocol, Runtime, Topology},
    parent::Reported,
    tls::Identity,
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::{
    io::{self, BufRead, Write},
    time::Duration,
};

/// From the parent to a child.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// The first line: be a server.
    Serve(Service),
    /// The first line: be a load generator for that port of this host.
    Drive(Traffic, u16),
    /// The first line: be both.
    Both(Service, Traffic),
    /// To a server: report the [`Usage`] up to now.
    Usage,
    /// To a load generator: what is in flight is the last.
    Stop,
}

/// What a server shall be.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Service {
    /// The name of the candidate.
    pub candidate: String,
    /// What it speaks.
    pub protocol: Protocol,
    /// Bytes per message.
    pub payload: usize,
    /// Rounds of [work](crate::work) for each.
    pub work: u32,
    /// What it runs on.
    pub runtime: Runtime,
    /// Its contexts and threads.
    pub topology: Topology,
    /// Who it is under TLS, if that is spoken.
    pub identity: Option<Identity>,
    /// Where the process is pinned to; everywhere if empty.
    pub cores: Vec<usize>,
}

/// What a load generator shall send.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Traffic {
    /// What it speaks.
    pub protocol: Protocol,
    /// The certificate of the server, if TLS is spoken.
    pub certificate: Option<String>,
    /// Whether requests come back as they are, whatever the protocol says: the server is the floor.
    pub mirrored: bool,
    /// Bytes per message.
    pub payload: usize,
    /// Connections, and requests in flight.
    pub load: Load,
    /// Unmeasured time at the beginning.
    pub warmup: Duration,
    /// Measured time.
    pub seconds: Duration,
    /// What to do while nothing is to be done.
    pub idle: Idle,
    /// How long connections may take to open, the last requests to be answered, and then the server to close.
    pub patience: Duration,
    /// Where the process is pinned to; everywhere if empty.
    pub cores: Vec<usize>,
}

/// What a load generator does while nothing is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Idle {
    /// Asks again at once, on a core of its own: then no reply has to wake it up, which would be charged to the server.
    Spin,
    /// Sleeps, and leaves the core to the server.
    Sleep,
}

/// From a child to the parent.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Report {
    /// A server accepts connections on that port.
    Listening(u16),
    /// The answer to [`Command::Usage`].
    Usage(Usage),
    /// The measured time begins now.
    Begun,
    /// The measured time is over; traffic goes on until [`Command::Stop`].
    Ended,
    /// A load generator is done: what it saw, and its own usage at the beginning and the end of the measured time.
    Driven(Outcome, Usage, Usage),
    /// Both are done: usage at the beginning and the end of the measured time.
    Both(Outcome, Usage, Usage),
    /// The child gives up.
    Failed(String),
}

impl Reported for Report {
    fn unless_failed(self) -> Result<Self, String> {
        match self {
            Self::Failed(error) => Err(error),
            report => Ok(report),
        }
    }
}

/// What a process has used since it started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// When that was, by the monotonic clock.
    pub at: Duration,
    /// CPU time of all threads.
    pub cpu: Duration,
    /// How long the main thread could have run, but had no core; zero if the system does not say.
    pub waited: Duration,
    /// For how many messages it has [worked](crate::work), if it tells.
    pub worked: Option<u64>,
    /// The largest resident set so far.
    pub peak_rss_kib: u64,
}

/// What a load generator saw.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// Verified replies within the measured time.
    pub round_trips: u64,
    /// The measured time.
    pub elapsed: Duration,
    /// Latency, 50 of 100 were not slower.
    pub p50: Duration,
    /// Latency, 95 of 100 were not slower.
    pub p95: Duration,
    /// Latency, 99 of 100 were not slower.
    pub p99: Duration,
    /// Connections on which something went wrong at any time.
    pub errors: u64,
    /// The first thing that did.
    pub error: Option<String>,
}

/// Sends one message.
pub fn send(to: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    to.write_all(&line)?;
    to.flush()
}

/// Receives one message; `None` at the end.
pub fn receive<M: DeserializeOwned>(from: &mut impl BufRead) -> io::Result<Option<M>> {
    let mut line = String::new();
    match from.read_line(&mut line)? {
        0 => Ok(None),
        _ => Ok(Some(serde_json::from_str(&line)?)),
    }
}
