//! What connections hold: all memory of a server process for real connections over loopback, by allocator and by resident
//! set, beside a bare task and its socket.
//!
//! ```text
//!   parent:  plan ─▶ measure ──────────────────────────▶ row ─▶ table, JSON Lines
//!                       │ one child of each kind a row
//!   children:           ▼
//!            server: {bytewise, bare, peers} ◀── loopback TCP ──▶ clients
//! ```
//!
//! `cargo run --release --bin memory -- --help`
#![forbid(unsafe_code)]

mod bare;
mod bytewise;
mod clients;
mod measure;
mod messages;
mod plan;
mod row;
mod server;
mod speaks;

use bytewise_bench::{process, provenance::Provenance, tls::Identity};
use clap::Parser;
use plan::Plan;
use row::Row;
use serde_json::json;
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};
use std::{
    alloc::System,
    fs::File,
    io::{self, BufWriter, Write},
    path::PathBuf,
    process::ExitCode,
};

/// Counts what all threads allocate.
#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// How this program calls itself for a server.
const SERVE: &str = "__serve";

/// How this program calls itself for the clients.
const HOLD: &str = "__hold";

/// Measures the memory of real connections: of a server's process, which has nothing else to hold, divided by their number.
///
/// Each row is measured in a process of its own; the clients are in another one. `bare` is the runtime's own task and
/// socket, which `of these the library's` leaves out.
#[derive(Debug, Parser)]
#[command(name = "memory", version)]
struct Options {
    /// Only rows that have this in IMPL/RUNTIME/PROTOCOL/STATE, e.g. `bytewise/tokio`, `ws+deflate`, `/idle`; those that are
    /// subtracted from them are measured too.
    #[arg(long, default_value = "")]
    filter: String,
    /// Also writes one JSON object a row, behind one that says where they come from; `-` for standard output, instead of
    /// the table.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Connections of a row.
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    connections: u32,
    /// Connections at most where each has megabytes, or a thread.
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    heavy: u32,
    /// Bytes of the message that each connection has echoed in the states that follow one.
    #[arg(long, default_value_t = 1 << 20, value_parser = clap::value_parser!(u32).range(1..=16 << 20))]
    message: u32,
    #[command(subcommand)]
    role: Option<Role>,
}

/// What a child is; its job is the first line of its input.
#[derive(Debug, Clone, Copy, clap::Subcommand)]
enum Role {
    #[command(name = SERVE, hide = true)]
    Serve,
    #[command(name = HOLD, hide = true)]
    Hold,
}

fn main() -> ExitCode {
    let options = Options::parse();
    let result = match options.role {
        Some(Role::Serve) => server::main().map(|()| true),
        Some(Role::Hold) => clients::main().map(|()| true),
        None => run(&options),
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Whether all rows are valid.
fn run(options: &Options) -> io::Result<bool> {
    process::raise_file_limit()?;
    let settings = json!({
        "filter": &options.filter,
        "connections": options.connections,
        "heavy": options.heavy,
        "message": options.message,
    });
    let provenance = Provenance::new("memory", settings);
    let to_stdout = options.json.as_deref().is_some_and(|path| path.as_os_str() == "-");
    // Before anything is measured, so that it need not be measured again.
    let mut json: Option<Box<dyn Write>> = match &options.json {
        None => None,
        Some(_) if to_stdout => Some(Box::new(io::stdout())),
        Some(path) => Some(Box::new(BufWriter::new(File::create(path)?))),
    };
    if let Some(json) = &mut json {
        writeln!(json, "{}", serde_json::to_string(&provenance)?)?;
    }
    let plan = Plan::new(&options.filter, options.connections, options.heavy);
    let identity = Identity::new()?;
    let mut rows: Vec<Row> = Vec::new();
    for (at, case) in plan.cases.iter().enumerate() {
        eprintln!("{}/{}: {case}, {} connections", at + 1, plan.cases.len(), case.connections);
        let held = measure::measure(case, options.message as usize, &identity);
        let row = Row::new(case, held, &rows);
        if let Some(error) = &row.error {
            eprintln!("  {error}");
        }
        // Each at once, so that a long run that is interrupted has something to show.
        if let Some(json) = &mut json {
            writeln!(json, "{}", serde_json::to_string(&row)?)?;
            json.flush()?;
        }
        rows.push(row);
    }
    if !to_stdout {
        io::stdout().write_all(row::table(&rows).as_bytes())?;
    }
    Ok(rows.iter().all(|row| row.error.is_none()))
}
