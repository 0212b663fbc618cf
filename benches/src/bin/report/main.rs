//! Results as a page and as Markdown: what `compare`, `codec`, `memory` and `counts` wrote as JSON Lines.
//!
//! ```text
//! input ─▶ groups ─▶ advice ─┐
//!    └───▶ sections ─────────┴▶ contents ─▶ page (chart), markdown
//! ```
//!
//! `cargo run --release --bin report -- --help`

mod advice;
mod chart;
mod contents;
mod definitions;
mod groups;
mod input;
mod markdown;
mod page;
mod sections;
mod table;

use clap::{ArgGroup, Parser};
use std::{
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
    process::ExitCode,
};

const EXAMPLES: &str = "Examples:
  report results.jsonl --html results.html               one page, with charts
  report *.jsonl --html results.html --markdown RESULTS.md
  report results.jsonl --markdown -                      to standard output

What a row is about is seen from its columns, so that the files may come in any order, and rows of several programs may
be in one file. Ratios are never taken between runs. Rows of unknown kinds are named and left out.

Exit status: 0 all well; 1 a file cannot be read or written, or has a line that is no row; 2 bad arguments.";

/// Renders results as one self-contained HTML page, with charts and advice, and as Markdown.
#[derive(Debug, Parser)]
#[command(name = "report", version, after_long_help = EXAMPLES,
    group = ArgGroup::new("output").required(true).multiple(true))]
struct Options {
    /// JSON Lines of compare, codec, memory and counts.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Where the page goes, `-` for standard output.
    #[arg(long, value_name = "FILE", group = "output")]
    html: Option<PathBuf>,
    /// Where the Markdown goes, `-` for standard output.
    #[arg(long, value_name = "FILE", group = "output")]
    markdown: Option<PathBuf>,
}

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> io::Result<()> {
    let (runs, skipped) = input::read(&options.files)?;
    for row in &skipped {
        eprintln!("left out: {row}");
    }
    if runs.iter().all(|run| run.rows() == 0) {
        return Err(io::Error::other("there is no row to show in these files"));
    }
    let contents = contents::contents(&runs, &skipped);
    if let Some(path) = &options.html {
        write(path, &page::page(&contents)?)?;
    }
    if let Some(path) = &options.markdown {
        write(path, &markdown::markdown(&contents))?;
    }
    Ok(())
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    if path == Path::new("-") {
        return io::stdout().write_all(text.as_bytes());
    }
    fs::write(path, text).map_err(|error| io::Error::other(format!("{}: {error}", path.display())))
}
