//! The parent's end of a child process, which takes its job from standard input and reports on standard output.

use crate::messages::{receive, send};
use serde::{Serialize, de::DeserializeOwned};
use std::{
    env,
    io::{self, BufReader},
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    thread,
    time::Duration,
};

/// What a child reports.
pub trait Reported: DeserializeOwned + Send + 'static {
    /// Itself, unless the child gives up: then why.
    ///
    /// # Errors
    ///
    /// It does.
    fn unless_failed(self) -> Result<Self, String>;
}

/// A child; killed when dropped.
#[derive(Debug)]
pub struct Process<R> {
    child: Child,
    input: ChildStdin,
    reports: Receiver<R>,
}

impl<R: Reported> Process<R> {
    /// This program with that subcommand, and its job.
    pub fn start(subcommand: &str, job: &impl Serialize) -> io::Result<Self> {
        let mut command = Command::new(env::current_exe()?);
        command.arg(subcommand);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::Error::other("a child without pipes"));
        };
        let (sender, reports) = channel();
        thread::spawn(move || {
            let mut output = BufReader::new(output);
            while let Ok(Some(report)) = receive(&mut output) {
                if sender.send(report).is_err() {
                    break;
                }
            }
        });
        let mut process = Self { child, input, reports };
        process.tell(job)?;
        Ok(process)
    }

    /// A line more of its input.
    pub fn tell(&mut self, command: &impl Serialize) -> io::Result<()> {
        send(&mut self.input, command)
    }

    /// The next report; it is an error if that is the child's failure.
    pub fn report(&mut self, patience: Duration) -> io::Result<R> {
        match self.reports.recv_timeout(patience) {
            Ok(report) => report.unless_failed().map_err(io::Error::other),
            Err(RecvTimeoutError::Timeout) => Err(io::Error::other("a child does not answer")),
            Err(RecvTimeoutError::Disconnected) => match self.child.wait()? {
                status if status.success() => Err(io::Error::other("a child ended too early")),
                status => Err(io::Error::other(format!("a child ended: {status}"))),
            },
        }
    }
}

impl<R> Drop for Process<R> {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The error of a report that was not to come.
#[must_use]
pub fn out_of_turn() -> io::Error {
    io::Error::other("a child said something out of turn")
}
