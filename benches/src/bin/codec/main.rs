//! In memory: what decoding and encoding a frame or a WebSocket message costs and what an HTTP request does, whatever the
//! blocks, and what a connection holds.
//!
//! `cargo run --release --bin codec -- --help`

mod decode;
mod encode;
mod fixed;
mod http;
mod measure;
mod memory;
mod table;
mod workload;
mod ws;
mod wss;

use bytewise_bench::provenance::Provenance;
use clap::Parser;
use measure::Sampling;
use serde_json::json;
use std::{
    fs::File,
    io::{self, BufWriter, Write},
    path::PathBuf,
};

/// Measures decoding, encoding and memory of length-prefixed frames, HTTP/1.1 requests and WebSocket messages, without
/// sockets (but for idle connections).
///
/// Times are CPU time of the thread, medians of interleaved rounds. `hand` is a hand-written loop over a fixed buffer with
/// the same blocks and the same limit; `floor` only copies the blocks. Ratios are taken within each round.
#[derive(Debug, Parser)]
struct Options {
    /// Only what has this in its name, e.g. `decode/64`, `encode`, `http/echo`, `ws`, `wss`, `memory`.
    #[arg(long, default_value = "")]
    filter: String,
    /// Also writes one JSON object a row, behind one that says where they come from; `-` for standard output.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Rounds of each measurement.
    #[arg(long, default_value_t = 7)]
    rounds: usize,
    /// Milliseconds of each sample.
    #[arg(long, default_value_t = 8)]
    millis: u64,
    /// Connections of the memory measurements.
    #[arg(long, default_value_t = 10_000)]
    connections: usize,
    #[command(subcommand)]
    role: Option<Role>,
}

#[derive(Debug, clap::Subcommand)]
enum Role {
    /// The clients of idle connections.
    #[command(hide = true)]
    Hold { address: std::net::SocketAddr, connections: usize, len: usize },
}

fn main() -> io::Result<()> {
    let options = Options::parse();
    if let Some(Role::Hold { address, connections, len }) = options.role {
        return memory::hold(address, connections, len);
    }
    let settings = json!({
        "filter": &options.filter,
        "rounds": options.rounds,
        "millis": options.millis,
        "connections": options.connections,
    });
    let provenance = Provenance::new("codec", settings);
    let sampling = Sampling { rounds: options.rounds, millis: options.millis };
    let mut rows = decode::rows(&options.filter, sampling);
    rows.extend(encode::rows(&options.filter, sampling));
    rows.extend(http::rows(&options.filter, sampling));
    rows.extend(ws::rows(&options.filter, sampling));
    rows.extend(wss::rows(&options.filter, sampling));
    let held = memory::rows(&options.filter, options.connections)?;
    if let Some(path) = options.json {
        let mut out: Box<dyn Write> = if path.as_os_str() == "-" {
            Box::new(io::stdout())
        } else {
            Box::new(BufWriter::new(File::create(path)?))
        };
        writeln!(out, "{}", serde_json::to_string(&provenance)?)?;
        for row in &rows {
            writeln!(out, "{}", serde_json::to_string(row)?)?;
        }
        for row in &held {
            writeln!(out, "{}", serde_json::to_string(row)?)?;
        }
        out.flush()?;
    }
    table::print(&rows, &held);
    Ok(())
}
