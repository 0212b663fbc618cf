//! Boost.Beast: a program in C++ (`peers/beast_echo.cpp`), which is built where its tools are.

use super::{Candidate, Job};
use crate::{
    messages::Usage,
    options::{Placement, Protocol, Runtime, Topology},
    process, work,
};
use std::{
    env, fs,
    io::{self, BufRead, BufReader, Write},
    os::{fd::OwnedFd, unix::net::UnixStream},
    path::PathBuf,
    process::{Command, Stdio},
    sync::OnceLock,
    time::Duration,
};

const SOURCE: &str = include_str!("../../peers/beast_echo.cpp");

const COMPILER: [&str; 6] = ["g++", "-O2", "-DNDEBUG", "-std=c++20", "-pthread", "-xc++"];

/// With TLS it is another program, so that without OpenSSL there is the one.
const WITH_TLS: [&str; 3] = ["-DBEAST_ECHO_TLS", "-lssl", "-lcrypto"];

const NEEDS: &str = "needs g++ and the headers of Boost 1.81";

/// An echo of whole bodies or messages by Boost.Beast, in a process of its own below this one.
#[derive(Debug)]
pub(super) struct Beast {
    running: OnceLock<Running>,
}

#[derive(Debug)]
struct Running {
    id: u32,
    /// The program tells its CPU time here, and ends when this is closed.
    control: UnixStream,
}

impl Beast {
    /// Not running.
    pub(super) const fn new() -> Self {
        Self { running: OnceLock::new() }
    }
}

impl Candidate for Beast {
    fn name(&self) -> &'static str {
        "beast"
    }

    fn protocols(&self) -> &'static [Protocol] {
        &[Protocol::Http, Protocol::Ws, Protocol::Https, Protocol::Wss]
    }

    fn runtimes(&self) -> &'static [Runtime] {
        &[Runtime::Asio]
    }

    fn supports(&self, _: Runtime, _: Topology) -> bool {
        true
    }

    fn placements(&self) -> &'static [Placement] {
        &[Placement::Split]
    }

    fn prepare(&self, _: Runtime, protocol: Protocol) -> Result<(), String> {
        build(protocol.has_tls()).map_err(|why| match protocol.has_tls() {
            false => format!("{NEEDS} ({why})"),
            true => format!("with TLS it {NEEDS} and of OpenSSL 3 ({why})"),
        })
    }

    fn serve(&self, job: Job) -> io::Result<()> {
        let Job { listener, protocol, identity, topology: Topology { contexts, threads }, .. } = job;
        let (control, theirs) = UnixStream::pair()?;
        let mut program = Command::new(program(protocol.has_tls())?);
        program
            .args([protocol.to_string(), contexts.to_string(), threads.to_string(), work::rounds().to_string()])
            .stdin(OwnedFd::from(listener))
            .stdout(OwnedFd::from(theirs));
        if let Some(identity) = identity {
            program.env("BEAST_ECHO_CERTIFICATE", identity.certificate()).env("BEAST_ECHO_KEY", identity.key());
        }
        let mut program = program.spawn()?;
        let running = Running { id: program.id(), control };
        self.running.set(running).map_err(|_| io::Error::other("it runs already"))?;
        Err(io::Error::other(format!("beast_echo has ended: {}", program.wait()?)))
    }

    fn usage(&self) -> io::Result<Usage> {
        let Running { id, control } = self.running.wait();
        (&mut &*control).write_all(b"?")?;
        let mut line = String::new();
        BufReader::new(control).read_line(&mut line)?;
        let mut times = line.split_whitespace().map(|number| number.parse().map(Duration::from_nanos));
        match (times.next(), times.next()) {
            (Some(Ok(at)), Some(Ok(cpu))) => process::usage_of(*id, at, cpu),
            _ => Err(io::Error::other("beast_echo does not tell its CPU time")),
        }
    }
}

/// Where the program is, beside this one; another source is another program.
fn program(has_tls: bool) -> io::Result<PathBuf> {
    let version = crc32fast::hash([&COMPILER[..], with(has_tls), &[SOURCE]].concat().join(" ").as_bytes());
    Ok(env::current_exe()?.with_file_name("peers").join(format!("beast_echo-{version:08x}")))
}

/// What the compiler is told about TLS.
const fn with(tls: bool) -> &'static [&'static str] {
    if tls { &WITH_TLS } else { &[] }
}

/// Builds it unless that was done before.
fn build(has_tls: bool) -> io::Result<()> {
    let program = program(has_tls)?;
    if program.exists() {
        return Ok(());
    }
    program.parent().map_or(Ok(()), fs::create_dir_all)?;
    // Who else builds it at the same time does not see a half of it.
    let unfinished = program.with_extension(std::process::id().to_string());
    let [compiler, flags @ ..] = COMPILER;
    let mut command = Command::new(compiler);
    command
        .args(flags)
        .arg("-o")
        .arg(&unfinished)
        .arg("-")
        .args(with(has_tls))
        .stdin(Stdio::piped())
        .stderr(Stdio::piped());
    let mut compiling = command.spawn().map_err(|error| io::Error::other(format!("{compiler}: {error}")))?;
    eprintln!("building beast_echo{}, once", if has_tls { " with TLS" } else { "" });
    if let Some(mut source) = compiling.stdin.take() {
        source.write_all(SOURCE.as_bytes())?;
    }
    let output = compiling.wait_with_output()?;
    if output.status.success() {
        return fs::rename(&unfinished, &program);
    }
    let messages = String::from_utf8_lossy(&output.stderr);
    let error = messages.lines().find(|line| line.contains("error")).unwrap_or("it does not compile");
    Err(io::Error::other(error.to_owned()))
}
