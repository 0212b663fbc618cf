//! Which combinations run, and which do not exist.

use crate::{
    candidates::{self, BYTEWISE, Candidate, FLOOR},
    options::{Load, Placement, Protocol, Runtime, Settings, Topology},
};
use std::{fmt, time::Duration};

/// About how long two processes take to start and to end.
const PROCESSES: Duration = Duration::from_millis(30);

/// Everything that will run.
#[derive(Debug)]
pub struct Plan {
    /// What is compared within.
    pub groups: Vec<Group>,
    /// Combinations that do not exist.
    pub skipped: Vec<String>,
    /// Candidates that cannot run here, and what they would need.
    pub missing: Vec<String>,
}

/// Rows that are compared with each other: the same bytes, by different servers.
#[derive(Debug)]
pub struct Group {
    /// Which processes.
    pub placement: Placement,
    /// What is spoken.
    pub protocol: Protocol,
    /// Bytes per message.
    pub payload: usize,
    /// Clients and window.
    pub load: Load,
    /// Who serves, the floor first.
    pub entries: Vec<Entry>,
}

/// A server.
#[derive(Clone, Copy)]
pub struct Entry {
    /// Whose.
    pub candidate: &'static dyn Candidate,
    /// On what.
    pub runtime: Runtime,
    /// With how many contexts and threads.
    pub topology: Topology,
}

impl Entry {
    /// Whether it is what the others are compared with.
    #[must_use]
    pub fn is_floor(&self) -> bool {
        self.candidate.name() == FLOOR
    }
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.candidate.name(), self.runtime, self.topology)
    }
}

impl Plan {
    /// All valid combinations of what was asked for.
    #[must_use]
    pub fn new(settings: &Settings) -> Self {
        let mut plan = Self { groups: Vec::new(), skipped: Vec::new(), missing: Vec::new() };
        for &placement in &settings.placements {
            for &protocol in &settings.protocols {
                for &payload in &settings.payloads {
                    for &load in &settings.loads {
                        let mut entries = plan.entries(settings, placement, protocol, load);
                        if settings.work > 0 {
                            plan.leave_out_idlers(&mut entries, protocol);
                        }
                        plan.groups.push(Group { placement, protocol, payload, load, entries });
                    }
                }
            }
        }
        plan
    }

    fn entries(&mut self, settings: &Settings, placement: Placement, protocol: Protocol, load: Load) -> Vec<Entry> {
        let mut entries = Vec::new();
        for candidate in candidates::all() {
            let name = candidate.name();
            let speaks = |protocol: &Protocol| candidate.protocols().contains(protocol);
            let runs_on = |runtime: &&Runtime| candidate.runtimes().contains(runtime);
            if name == FLOOR {
                if speaks(&protocol) {
                    entries.push(Entry { candidate, runtime: Runtime::Epoll, topology: Topology::SINGLE });
                }
            } else if name != BYTEWISE && !settings.peers.iter().any(|peer| peer == name) {
                // Nobody has asked for it.
            } else if !speaks(&protocol) {
                // Each protocol has its own peers, which need no words where theirs is spoken too.
                if !settings.protocols.iter().any(speaks) {
                    self.skip(format!("{name}: speaks none of these protocols"));
                }
            } else if !settings.runtimes.iter().any(|runtime| runs_on(&runtime)) {
                self.skip(format!("{name}: not on any of these runtimes"));
            } else if !candidate.placements().contains(&placement) {
                self.skip(format!("{name}: not with placement {placement}"));
            } else {
                for &runtime in settings.runtimes.iter().filter(runs_on) {
                    self.topologies(&mut entries, settings, load, (candidate, runtime));
                }
            }
        }
        entries
    }

    /// Without those that would have less to do than others.
    fn leave_out_idlers(&mut self, entries: &mut Vec<Entry>, protocol: Protocol) {
        entries.retain(|entry| {
            let works = entry.candidate.works(entry.runtime, protocol);
            if !works {
                self.skip(format!("{} on {} with work over {protocol}", entry.candidate.name(), entry.runtime));
            }
            works
        });
    }

    fn topologies(
        &mut self,
        entries: &mut Vec<Entry>,
        settings: &Settings,
        load: Load,
        (candidate, runtime): (&'static dyn Candidate, Runtime),
    ) {
        // A thread per connection is one topology, whatever else was asked for.
        let per_connection = [Topology { contexts: 1, threads: load.clients }];
        let topologies = match runtime {
            Runtime::Blocking => &per_connection[..],
            _ if settings.peers_once && candidate.name() != BYTEWISE => &[Topology::SINGLE],
            _ => &settings.topologies,
        };
        let mut refused = Vec::new();
        for &topology in topologies {
            match candidate.supports(runtime, topology) {
                true => entries.push(Entry { candidate, runtime, topology }),
                false => refused.push(topology.to_string()),
            }
        }
        if !refused.is_empty() {
            self.skip(format!("{} on {runtime} in {}", candidate.name(), refused.join(", ")));
        }
    }

    /// Prepares all that will run; what cannot be is left out, and named.
    pub fn prepare(&mut self) {
        for candidate in candidates::all() {
            let pairs = candidate
                .runtimes()
                .iter()
                .flat_map(|runtime| candidate.protocols().iter().map(move |p| (*runtime, *p)));
            for (runtime, protocol) in pairs {
                let is_it = |entry: &Entry| entry.candidate.name() == candidate.name() && entry.runtime == runtime;
                let mut groups: Vec<_> = self.groups.iter_mut().filter(|group| group.protocol == protocol).collect();
                if !groups.iter().flat_map(|group| &group.entries).any(is_it) {
                    continue;
                }
                if let Err(why) = candidate.prepare(runtime, protocol) {
                    groups.iter_mut().for_each(|group| group.entries.retain(|entry| !is_it(entry)));
                    let what = match candidate.runtimes() {
                        [_] => format!("{}: {why}", candidate.name()),
                        _ => format!("{} on {runtime}: {why}", candidate.name()),
                    };
                    if !self.missing.contains(&what) {
                        self.missing.push(what);
                    }
                }
            }
        }
    }

    fn skip(&mut self, what: String) {
        if !self.skipped.contains(&what) {
            self.skipped.push(what);
        }
    }

    /// How many times a server is started and measured.
    #[must_use]
    pub fn measurements(&self, settings: &Settings) -> usize {
        self.groups.iter().map(|group| group.entries.len()).sum::<usize>() * settings.repeat as usize
    }

    /// About how long all of it takes.
    #[must_use]
    pub fn duration(&self, settings: &Settings) -> Duration {
        let of = |group: &Group| {
            let clients = u32::try_from(group.load.clients).unwrap_or(u32::MAX);
            let opening = Duration::from_micros(if group.protocol.has_tls() { 600 } else { 150 });
            let once = PROCESSES + opening.saturating_mul(clients).max(settings.warmup) + settings.seconds;
            let count = u32::try_from(group.entries.len()).unwrap_or(u32::MAX).saturating_mul(settings.repeat);
            once.saturating_mul(count)
        };
        self.groups.iter().map(of).fold(Duration::ZERO, Duration::saturating_add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Options;
    use clap::Parser;

    fn plan(arguments: &[&str]) -> Plan {
        let options = Options::try_parse_from([&["compare"], arguments].concat()).unwrap();
        Plan::new(&options.settle(false).unwrap())
    }

    #[test]
    fn each_group_begins_with_one_floor() {
        let plan =
            plan(&["--payload", "1,2", "--load", "1x1,2x2", "--topology", "1x1,3x3", "--placement", "split,shared"]);
        assert_eq!(plan.groups.len(), 2 * 2 * 2);
        for group in &plan.groups {
            assert!(group.entries[0].is_floor());
            assert_eq!(group.entries.iter().filter(|entry| entry.is_floor()).count(), 1);
        }
    }

    #[test]
    fn what_does_not_exist_is_named_once() {
        let plan = plan(&["--runtime", "blocking,epoll", "--peers", "tokio-util"]);
        assert_eq!(plan.skipped, ["bytewise on epoll in 1x2, 2x2", "tokio-util: not on any of these runtimes"]);
    }

    #[test]
    fn peers_are_named_only_if_no_protocol_is_theirs() {
        let arguments = ["--runtime", "tokio", "--topology", "1x1", "--peers", "tokio-util,hyper", "--protocol"];
        assert_eq!(plan(&[&arguments[..], &["http"]].concat()).skipped, ["tokio-util: speaks none of these protocols"]);
        let both = plan(&[&arguments[..], &["framed,http"]].concat());
        assert!(both.skipped.is_empty());
        for group in both.groups {
            let peer = if group.protocol == Protocol::Http { "hyper" } else { "tokio-util" };
            let names: Vec<_> = group.entries.iter().map(|entry| entry.candidate.name()).collect();
            assert_eq!(names, [FLOOR, BYTEWISE, peer]);
        }
    }

    #[test]
    fn a_program_of_its_own_is_never_in_this_process() {
        let plan = plan(&["--protocol", "http", "--peers", "beast", "--placement", "shared"]);
        assert!(plan.skipped.contains(&"beast: not with placement shared".to_owned()), "{:?}", plan.skipped);
    }

    #[test]
    fn a_thread_per_connection_is_one_topology() {
        let plan = plan(&["--runtime", "blocking", "--load", "5x2", "--peers", "none"]);
        let topologies = plan.groups[0].entries.iter().map(|entry| entry.topology);
        assert_eq!(topologies.collect::<Vec<_>>(), [Topology::SINGLE, Topology { contexts: 1, threads: 5 }]);
    }

    #[test]
    fn the_full_plan_is_the_whole_matrix() {
        let plan = plan(&["--full"]);
        assert_eq!(plan.groups.len(), 5 * 3 * 3);
        let topologies = ["1x1", "1x2", "1x4", "2x2", "4x4"];
        for group in &plan.groups {
            let names: Vec<_> = group.entries.iter().map(|entry| format!("{entry:?}")).collect();
            for runtime in ["tokio", "smol", "async-std"] {
                assert!(topologies.iter().all(|topology| names.contains(&format!("bytewise {runtime} {topology}"))));
            }
            let threads = group.load.clients;
            for name in ["bytewise epoll 1x1", "bytewise io-uring 1x1", &format!("bytewise blocking 1x{threads}")] {
                assert_eq!(names.iter().filter(|other| *other == name).count(), 1, "{name} in {names:?}");
            }
            let peers = candidates::peers().filter(|peer| peer.protocols().contains(&group.protocol));
            for peer in peers {
                let of_it: Vec<_> =
                    group.entries.iter().filter(|entry| entry.candidate.name() == peer.name()).collect();
                assert_eq!(of_it.len(), 1, "{}", peer.name());
                assert_eq!(of_it[0].topology, Topology::SINGLE);
            }
        }
        let loads = ["1x1", "16x16", "1000x1"];
        let pairs: Vec<_> = plan.groups[..9].iter().map(|group| (group.payload, group.load.to_string())).collect();
        assert!([64, 1024, 16384].iter().all(|p| loads.iter().all(|load| pairs.contains(&(*p, (*load).to_owned())))));
    }

    #[test]
    fn what_is_asked_for_is_in_the_full_plan_with_all_peers() {
        let entries = |arguments: &[&str]| -> Vec<String> {
            let plan = plan(&[&["--full", "--payload", "1", "--protocol", "framed"], arguments].concat());
            plan.groups[0].entries.iter().map(|entry| format!("{entry:?}")).collect()
        };
        assert!(entries(&["--topology", "4x4"]).contains(&"tokio-util tokio 4x4".to_owned()));
        assert!(entries(&["--peers", "tokio-util"]).contains(&"tokio-util tokio 2x2".to_owned()));
        assert!(!entries(&[]).contains(&"tokio-util tokio 2x2".to_owned()));
    }

    #[test]
    fn who_cannot_work_is_left_out_and_named() {
        let plan = plan(&["--protocol", "framed,https", "--runtime", "tokio,epoll", "--peers", "none", "--work", "9"]);
        let on_epoll =
            |group: &Group| group.entries.iter().any(|entry| !entry.is_floor() && entry.runtime == Runtime::Epoll);
        for group in &plan.groups {
            assert!(group.entries[0].is_floor());
            assert_eq!(on_epoll(group), group.protocol == Protocol::Https);
        }
        assert!(plan.skipped.contains(&"bytewise on epoll with work over framed".to_owned()), "{:?}", plan.skipped);
    }

    #[test]
    fn many_connections_take_longer_to_open() {
        let duration = |arguments: &[&str]| {
            let options = Options::try_parse_from([&["compare", "--seconds", "1"], arguments].concat()).unwrap();
            let settings = options.settle(false).unwrap();
            Plan::new(&settings).duration(&settings)
        };
        let few = duration(&["--protocol", "https", "--load", "1x1"]);
        let many = duration(&["--protocol", "https", "--load", "1000x1"]);
        assert!(many > few && many > duration(&["--protocol", "http", "--load", "1000x1"]));
    }
}
