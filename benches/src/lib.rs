//! The comparison: one echo service, every runtime, every topology, beside its peers and a floor.
//!
//! ```text
//!            options ─▶ plan ─▶ compare ──────────────▶ summary ─▶ report
//!                                  │ one round each
//!                                  ▼
//!   parent ───────────────────── round ─────────────────────────────────
//!                  pipes │ messages              messages │ pipes
//!   children             ▼                                ▼
//!            server: candidates::* ◀── loopback TCP ──▶ load::event_loop
//! ```
//!
//! [`main`] is the whole program `compare`, children included: they are the same executable, called with a hidden
//! subcommand. To add a peer, write one [`candidates::Candidate`].
#![forbid(unsafe_code)]

pub mod candidates;
pub mod child;
pub mod compare;
pub mod load;
pub mod messages;
pub mod options;
pub mod plan;
pub mod process;
pub mod progress;
pub mod provenance;
pub mod report;
pub mod round;
pub mod summary;
pub mod tls;

use clap::Parser;
use options::{Options, Subcommand};
use provenance::Provenance;
use report::Json;
use std::{env, io, process::ExitCode};

/// Runs the program `compare`: the comparison itself, or one of its children.
///
/// Fails if a row is invalid, or on an error of its own.
#[must_use]
pub fn main() -> ExitCode {
    let bare = env::args_os().len() == 1;
    let options = Options::parse();
    let result = match options.subcommand {
        Some(Subcommand::Child) => child::main().map(|()| true),
        None => run(options, bare),
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
fn run(options: Options, bare: bool) -> io::Result<bool> {
    let settings = options.settle(bare).unwrap_or_else(|error| error.exit());
    let json = Json::open(&settings)?;
    let provenance = Provenance::new("compare", settings.provenance());
    let rows = compare::run(&settings)?;
    report::print(&provenance, &rows, json)?;
    Ok(rows.iter().all(|row| row.errors == 0))
}
