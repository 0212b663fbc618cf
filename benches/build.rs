//! Records which compiler built this, for the first line of results.

use std::{env, process::Command};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let version = env::var_os("RUSTC").and_then(|rustc| Command::new(rustc).arg("-V").output().ok());
    let version = version.and_then(|output| String::from_utf8(output.stdout).ok()).unwrap_or_default();
    println!("cargo::rustc-env=BYTEWISE_BENCH_RUSTC={}", version.trim());
}
