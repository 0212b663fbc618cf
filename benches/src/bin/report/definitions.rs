//! What the columns are, in short; `benches/README.md` has more.

use crate::table::Table;

const DEFINITIONS: [(&str, &str); 15] = [
    (
        "floor",
        "an echo that parses nothing: one thread, edge-triggered epoll, one read and one write per wake-up; under TLS \
         through rustls alone",
    ),
    ("topology", "contexts x threads: event loops, and threads in total"),
    (
        "round trips/s [min, max]",
        "replies that came back and were compared byte by byte, per second: median of the rounds, slowest and fastest \
         round",
    ),
    ("MiB/s", "payload bytes × round trips/s, counted one way: as much goes in the other direction"),
    (
        "p50, p95, p99 µs",
        "latency, from the making of a request to the read that completes its reply; medians of the rounds",
    ),
    (
        "CPU ns/trip",
        "CPU time of all threads of the measured process, kernel and user, per round trip; with shared placement that is both \
         ends",
    ),
    ("CPU %", "the same over time; 100 is one core"),
    ("RSS MiB", "largest resident set of the measured process"),
    ("CPU × floor", "CPU ns/trip over that of the floor; ratios are taken within a round, the median is shown"),
    (
        "trips × bytewise, CPU × bytewise",
        "of peers: their value over that of bytewise on the same runtime in the same topology; where there is none, \
         over that of bytewise on tokio 1x1. Above 1, more round trips are better, and more CPU time is worse",
    ),
    (
        "spread",
        "(max - min) / median of round trips/s; ⚠ where it is 25 % or more, or where other programs had a core for \
         more than 5 % of the time",
    ),
    (
        "all round",
        "of the advice: the geometric mean of round trips/s, CPU ns/trip and p99 over all groups of that load, of \
         those that were measured in each",
    ),
    ("as good", "of the advice: within the median spread of the rows compared, at least 5 %"),
    (
        "× hand, × floor, × hyper",
        "in memory: the time of bytewise over that of a hand-written loop, of copying alone, and of hyper",
    ),
    (
        "bytes each",
        "of memory: all that the allocator has given out, over the connections; the library's are those beyond what a \
         bare task and socket of the runtime hold",
    ),
];

/// A row for each column.
pub(crate) fn table() -> Table {
    let mut table = Table::new(&["column", "what it is"]);
    for (column, words) in DEFINITIONS {
        table.push("", [column, words].map(str::to_owned));
    }
    table
}
