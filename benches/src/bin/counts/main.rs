//! How many instructions a message takes, counted by callgrind: exact where clocks are noisy.
//!
//! `cargo run --release --bin counts -- --help`

mod baseline;
mod callgrind;
mod cases;
mod table;
mod tools;

use baseline::{Baseline, Counted, Row};
use bytewise_bench::provenance::Provenance;
use callgrind::Callgrind;
use clap::Parser;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::{
    fs::File,
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
    process::ExitCode,
};
use tools::Tools;

/// The exit status without valgrind.
const NO_VALGRIND: u8 = 3;

/// Counts the instructions that a message takes in steady state, in memory, under valgrind's callgrind.
///
/// The same executable gives the same counts to the last digit. They are compared with those in the repository.
/// The exit status is 3 if there is no valgrind, and no count makes it other than 0.
#[derive(Debug, Parser)]
struct Options {
    /// Only what has this in its name, e.g. `decode`, `ws`, `echo/http`.
    #[arg(long, default_value = "")]
    filter: String,
    /// Also writes one JSON object a row, behind one that says where they come from; `-` for standard output.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// What is compared with.
    #[arg(long, value_name = "FILE", default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/counts.jsonl"))]
    #[arg(hide_default_value = true)]
    baseline: PathBuf,
    /// Writes these counts to the file of the baseline.
    #[arg(long, conflicts_with = "filter")]
    save_baseline: bool,
    #[command(subcommand)]
    role: Option<Role>,
}

#[derive(Debug, clap::Subcommand)]
enum Role {
    /// One case, to be run under callgrind.
    #[command(hide = true)]
    Pass { name: String, candidate: String },
}

/// What a pass tells, one line of JSON.
#[derive(Debug, Serialize, Deserialize)]
struct Told {
    messages: u64,
    /// See [`Tools::cpu`].
    cpu: String,
}

fn main() -> ExitCode {
    let options = Options::parse();
    let result = match &options.role {
        Some(Role::Pass { name, candidate }) => pass(name, candidate),
        None => match Callgrind::find() {
            Ok(Some(callgrind)) => count(&options, &callgrind),
            Ok(None) => {
                eprintln!("not counted: there is no valgrind (on Debian: apt-get install valgrind)");
                return ExitCode::from(NO_VALGRIND);
            }
            Err(error) => Err(error),
        },
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn pass(name: &str, candidate: &str) -> io::Result<()> {
    let case = cases::all().into_iter().find(|case| case.name == name && case.candidate == candidate);
    let case = case.ok_or_else(|| io::Error::other("there is no such case"))?;
    println!("{}", serde_json::to_string(&Told { messages: (case.run)(), cpu: tools::cpu() })?);
    Ok(())
}

fn count(options: &Options, callgrind: &Callgrind) -> io::Result<()> {
    let mut provenance = Provenance::new("counts", ().into());
    let before = Baseline::read(&options.baseline)?;
    let cases: Vec<_> = cases::all().into_iter().filter(|case| case.name.contains(&options.filter)).collect();
    eprintln!("{} counts, about half a second each", cases.len());
    let (mut counted, mut cpu) = (Vec::new(), None);
    for case in cases {
        let (line, instructions) = callgrind.run(&case.name, case.candidate)?;
        let told: Told = serde_json::from_str(&line)?;
        counted.push(Counted {
            name: case.name,
            candidate: case.candidate.to_owned(),
            instructions_per_message: instructions as f64 / told.messages as f64,
        });
        cpu = Some(told.cpu);
    }
    let cpu = cpu.ok_or_else(|| io::Error::other(format!("no case has {:?} in its name", options.filter)))?;
    let (valgrind, libc) = (callgrind.version.clone(), tools::libc());
    provenance.settings = json!({ "filter": options.filter, "valgrind": valgrind, "libc": libc, "cpu": cpu });
    let tools = Tools { rustc: provenance.rustc.clone(), valgrind, libc, cpu };
    let rows = baseline::compare(counted.clone(), before.as_ref());
    match options.json.as_deref() {
        None => table::print(&rows),
        Some(path) if path == Path::new("-") => json(&provenance, &rows, &mut io::stdout())?,
        Some(path) => {
            json(&provenance, &rows, &mut BufWriter::new(File::create(path)?))?;
            table::print(&rows);
        }
    }
    match &before {
        None if options.save_baseline => {}
        None => eprintln!("there is no baseline at {}: --save-baseline makes one", options.baseline.display()),
        Some(before) => before.differences(&tools).iter().for_each(|difference| eprintln!("warning: {difference}")),
    }
    if options.save_baseline {
        Baseline { tools, counted }.write(&options.baseline)?;
        eprintln!("these are the baseline now: {}", options.baseline.display());
    }
    eprintln!("profiles, for callgrind_annotate: {}", callgrind.profiles.display());
    Ok(())
}

fn json(provenance: &Provenance, rows: &[Row], to: &mut impl Write) -> io::Result<()> {
    writeln!(to, "{}", serde_json::to_string(provenance)?)?;
    for row in rows {
        writeln!(to, "{}", serde_json::to_string(row)?)?;
    }
    to.flush()
}
