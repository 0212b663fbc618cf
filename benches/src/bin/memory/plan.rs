//! What is measured.

use bytewise_bench::{candidates::BYTEWISE, options::Runtime};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The runtime's own task and socket, which is subtracted from all others.
pub(crate) const BARE: &str = "bare";

/// That under rustls.
pub(crate) const RUSTLS: &str = "rustls";

/// What is spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Protocol {
    Framed,
    /// Frames under TLS.
    Tls,
    Http,
    Ws,
    Https,
    Wss,
}

impl Protocol {
    pub(crate) const fn has_tls(self) -> bool {
        matches!(self, Self::Tls | Self::Https | Self::Wss)
    }
}

/// What the connections have behind them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum State {
    /// They are accepted, all hands are shaken, and nothing else was said.
    Idle,
    /// Each had a message of 1 KiB echoed, a few at a time; now they are quiet.
    AfterSmall,
    /// The same with a long message.
    AfterTraffic,
    /// The same with a long message; then each was asked for a sign of life, and gave it.
    AfterKeepAlive,
    /// Each has sent the first half of a message of 1 KiB.
    Active,
}

/// One row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Case {
    /// `bytewise`, `bare`, `rustls`, or a peer of the comparison.
    pub(crate) candidate: String,
    pub(crate) runtime: Runtime,
    pub(crate) protocol: Protocol,
    pub(crate) deflate: bool,
    pub(crate) state: State,
    pub(crate) connections: usize,
}

impl Case {
    /// What is subtracted from it to leave the library's part.
    pub(crate) fn is_base_of(&self, other: &Self) -> bool {
        // A bare task says nothing by itself.
        let state = if other.state == State::AfterKeepAlive { State::AfterTraffic } else { other.state };
        self.candidate == BARE && self.runtime == other.runtime && self.state == state
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { candidate, runtime, protocol, deflate, state, .. } = self;
        let deflate = if *deflate { "+deflate" } else { "" };
        write!(f, "{candidate}/{runtime}/{}{deflate}/{}", name(protocol), name(state))
    }
}

/// As it is in JSON.
pub(crate) fn name(value: &impl Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|name| name.as_str().map(str::to_owned)).unwrap_or_default()
}

#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) cases: Vec<Case>,
}

impl Plan {
    /// All cases with that in their name, behind those that are subtracted from them: of so many connections, `heavy` at most
    /// where each has megabytes or a thread.
    pub(crate) fn new(filter: &str, connections: u32, heavy: u32) -> Self {
        let all = all(connections as usize, heavy.min(connections) as usize);
        let named = |case: &Case| case.to_string().contains(filter);
        let is_needed = |case: &Case| all.iter().any(|other| named(other) && case.is_base_of(other));
        Self { cases: all.iter().filter(|case| named(case) || is_needed(case)).cloned().collect() }
    }
}

fn all(connections: usize, heavy: usize) -> Vec<Case> {
    use Protocol::{Framed, Http, Https, Tls, Ws, Wss};
    const RUNTIMES: [Runtime; 4] = [Runtime::Tokio, Runtime::Smol, Runtime::AsyncStd, Runtime::Blocking];
    let mut all = Vec::new();
    let mut add = |candidate: &str, runtime, protocol, deflate: bool| {
        let is_peer = ![BARE, RUSTLS, BYTEWISE].contains(&candidate);
        let connections = if is_peer || deflate || runtime == Runtime::Blocking { heavy } else { connections };
        for state in [State::Idle, State::AfterSmall, State::AfterTraffic, State::AfterKeepAlive, State::Active] {
            // What a sign of life makes a difference to.
            if state != State::AfterKeepAlive || deflate {
                all.push(Case { candidate: candidate.to_owned(), runtime, protocol, deflate, state, connections });
            }
        }
    };
    for runtime in RUNTIMES {
        add(BARE, runtime, Framed, false);
    }
    add(RUSTLS, Runtime::Tokio, Tls, false);
    for runtime in RUNTIMES {
        for protocol in [Framed, Http, Ws, Https, Wss] {
            add(BYTEWISE, runtime, protocol, false);
            if matches!(protocol, Ws | Wss) {
                add(BYTEWISE, runtime, protocol, true);
            }
        }
    }
    let peers = [
        ("tokio-util", Framed),
        ("hyper", Http),
        ("tungstenite", Ws),
        ("nexus-web", Ws),
        ("hyper", Https),
        ("tungstenite", Wss),
    ];
    for (peer, protocol) in peers {
        add(peer, Runtime::Tokio, protocol, false);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_keeps_what_is_subtracted() {
        let plan = Plan::new("bytewise/smol/ws+deflate/after-traffic", 20, 10);
        let names: Vec<_> = plan.cases.iter().map(ToString::to_string).collect();
        assert_eq!(names, ["bare/smol/framed/after-traffic", "bytewise/smol/ws+deflate/after-traffic"]);
        assert_eq!(plan.cases.iter().map(|case| case.connections).collect::<Vec<_>>(), [20, 10]);
    }

    #[test]
    fn every_case_has_a_name_of_its_own_and_something_to_subtract() {
        let all = all(3, 2);
        for case in &all {
            assert_eq!(all.iter().filter(|other| other.to_string() == case.to_string()).count(), 1, "{case}");
            assert_eq!(all.iter().filter(|other| other.is_base_of(case)).count(), 1, "{case}");
        }
    }
}
