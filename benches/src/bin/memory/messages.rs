//! What parent and children tell each other: one JSON value per line.

use crate::plan::Case;
use bytewise_bench::{parent::Reported, tls::Identity};
use serde::{Deserialize, Serialize};

/// A server's first line.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Service {
    pub(crate) case: Case,
    pub(crate) identity: Identity,
}

/// The clients' first line.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Clients {
    pub(crate) case: Case,
    pub(crate) certificate: String,
    pub(crate) port: u16,
    /// Bytes of a message.
    pub(crate) message: usize,
}

/// To a server: report what is held once it has so many connections, and nothing changes any more.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Measure {
    pub(crate) connections: usize,
}

/// From a child to the parent.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Report {
    /// A server accepts connections on that port.
    Listening(u16),
    /// What a server holds.
    Held(Held),
    /// The clients are where the case wants them, and stay there until their input ends.
    Ready,
    /// The child gives up.
    Failed(String),
}

/// What a process holds, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Held {
    /// Allocated and not freed, as they were asked for.
    pub(crate) allocated: usize,
    /// The resident set.
    pub(crate) resident: usize,
}

impl Reported for Report {
    fn unless_failed(self) -> Result<Self, String> {
        match self {
            Self::Failed(error) => Err(error),
            report => Ok(report),
        }
    }
}
