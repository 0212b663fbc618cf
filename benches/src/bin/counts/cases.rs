//! What is counted.

use bytewise_bench::cases::{
    Candidate, deflate, echo, framed, http,
    workload::{Delivery, Workload},
    ws::{self, Kind, Role},
    wss,
};
use std::hint::black_box;

/// As much as a socket has read on at once, about.
const BLOCK: usize = 65_536;

/// Frames and messages that are decoded: their bytes, and those of the blocks that they come in.
const DECODED: [(usize, usize); 5] = [(64, BLOCK), (1024, BLOCK), (16_384, BLOCK), (64, 64), (64, 1)];

const BODIES: [usize; 3] = [64, 1024, 16_384];

/// First allocation of the receive buffer: its default.
const INITIAL: usize = 4 << 10;

/// Passes before the one that is counted: the first ones let the buffers grow.
const WARM_UP: usize = 3;

/// A case, and one candidate of it.
pub(crate) struct Case {
    pub(crate) name: String,
    /// Who is counted, `bytewise` or `hand`.
    pub(crate) candidate: &'static str,
    /// Does it all; how many messages the counted pass had.
    pub(crate) run: Box<dyn Fn() -> u64>,
}

/// All, by name.
pub(crate) fn all() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |name: &str, candidate, run: Box<dyn Fn() -> u64>| {
        cases.push(Case { name: name.to_owned(), candidate, run });
    };
    for (body, block) in DECODED {
        let suffix = if block == BLOCK { String::new() } else { format!("/{block}") };
        let name = format!("decode/framed/{body}{suffix}");
        let work = move || Workload::new(body, block, Delivery::Stream, framed::header);
        add(&name, "bytewise", Box::new(move || pass(framed::decode(&work(), INITIAL, framed::framing()))));
        add(&name, "hand", Box::new(move || pass(framed::hand_decode(&work(), 4, |_, _| true))));
        let name = format!("decode/ws/{body}{suffix}");
        let work = move || Workload::of(&ws::masked(Kind::Binary, payload(body)), block, Delivery::Stream);
        add(&name, "bytewise", Box::new(move || pass(ws::decode(&work()))));
        add(&name, "hand", Box::new(move || pass(ws::hand_decode(&work(), Kind::Binary))));
    }
    for (script, sentence) in [("ascii", ws::ASCII), ("mixed", ws::MIXED)] {
        let name = format!("decode/ws-text/1024/{script}");
        let work = move || Workload::of(&ws::masked(Kind::Text, ws::text(sentence)), BLOCK, Delivery::Stream);
        add(&name, "bytewise", Box::new(move || pass(ws::decode(&work()))));
        add(&name, "hand", Box::new(move || pass(ws::hand_decode(&work(), Kind::Text))));
    }
    for (name, head) in [("decode/http/short", http::SHORT), ("decode/http/browser", http::LONG)] {
        let work = move || Workload::new(0, BLOCK, Delivery::Batch(1), |_| head.into());
        add(name, "bytewise", Box::new(move || pass(http::parse(&work(), true))));
        add(name, "hand", Box::new(move || pass(http::hand_parse(&work(), true))));
    }
    for body in BODIES {
        let name = format!("encode/framed/{body}");
        add(&name, "bytewise", Box::new(move || pass(framed::encode(&payload(body)))));
        add(&name, "hand", Box::new(move || pass(framed::hand_encode(&payload(body)))));
        for (role, as_role) in [("server", Role::Server), ("client", Role::Client)] {
            let name = format!("encode/ws-{role}/{body}");
            add(&name, "bytewise", Box::new(move || pass(ws::encode("bytewise", &payload(body)[..], as_role))));
            add(&name, "hand", Box::new(move || pass(ws::hand_encode(&payload(body), as_role))));
        }
    }
    add("encode/ws-deflate/1024", "bytewise", Box::new(|| pass(deflate::deflate(&deflate::records(1024)))));
    add("decode/ws-deflate/1024", "bytewise", Box::new(|| pass(deflate::inflate(&deflate::records(1024)))));
    for (suffix, delivery) in [("", Delivery::Batch(16)), ("/single", Delivery::Batch(1))] {
        let work = move || Workload::new(64, BLOCK, delivery, framed::header);
        let name = format!("echo/framed/64{suffix}");
        add(&name, "bytewise", Box::new(move || pass(echo::framed(&work()))));
        add(&name, "hand", Box::new(move || pass(framed::hand_echo(&work()))));
        let work = move || Workload::new(64, BLOCK, delivery, http::post);
        let name = format!("echo/http/64{suffix}");
        add(&name, "bytewise", Box::new(move || pass(echo::http(&work()))));
        add(&name, "hand", Box::new(move || pass(http::hand_echo(&work()))));
        let work = move || Workload::of(&ws::masked(Kind::Binary, payload(64)), BLOCK, delivery);
        let name = format!("echo/ws/64{suffix}");
        add(&name, "bytewise", Box::new(move || pass(echo::ws(&work()))));
        add(&name, "hand", Box::new(move || pass(ws::hand_echo(&work()))));
    }
    add("echo/wss/1024", "bytewise", Box::new(|| pass(wss::bytewise(&payload(1024), &wss::Secrets::make()))));
    cases.sort_by(|one, other| (&one.name, one.candidate).cmp(&(&other.name, other.candidate)));
    cases
}

fn payload(body: usize) -> Vec<u8> {
    (0..body).map(|i| i as u8).collect()
}

/// In steady state.
fn pass(mut candidate: Candidate<'_>) -> u64 {
    for _ in 0..WARM_UP {
        (candidate.pass)();
    }
    counted_pass(&mut candidate.pass)
}

/// Callgrind counts what is done in here: see `callgrind::COUNTED`.
#[inline(never)]
fn counted_pass(pass: &mut dyn FnMut() -> u64) -> u64 {
    // Looked at afterwards, so that the call is no jump, which would leave the function.
    black_box(pass())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_has_a_name_of_its_own_and_messages() {
        let cases = all();
        for pair in cases.windows(2) {
            assert!((&pair[0].name, pair[0].candidate) < (&pair[1].name, pair[1].candidate), "{}", pair[1].name);
        }
        for case in cases {
            assert!((case.run)() > 0, "{} {}", case.name, case.candidate);
        }
    }
}
