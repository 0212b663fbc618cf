//! WebSocket under TLS, both ends on one thread: a client sends sixteen messages at once, a server sends them back.

mod peers;

use crate::measure::{Case, Row, Sampling, rows as measure};
use bytewise_bench::cases::wss::{Secrets, bytewise};

const BODIES: [usize; 3] = [64, 1024, 16_384];

pub(crate) fn rows(filter: &str, sampling: Sampling) -> Vec<Row> {
    let mut rows = Vec::new();
    for body in BODIES {
        let name = format!("wss/echo/{body}");
        if name.contains(filter) {
            let payload: Vec<u8> = (0..body).map(|i| i as u8).collect();
            let secrets = Secrets::make();
            let mut candidates = vec![peers::floor(&payload, &secrets), bytewise(&payload, &secrets)];
            candidates.extend(peers::all(&payload, &secrets));
            rows.extend(measure(&Case { name, block: None, body, delivery: "batch16" }, sampling, candidates));
        }
    }
    rows
}
