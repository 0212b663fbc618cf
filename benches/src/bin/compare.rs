//! Compares I/O topologies, runtimes and peers over loopback TCP; see `--help`.

use std::process::ExitCode;

fn main() -> ExitCode {
    bytewise_bench::main()
}
