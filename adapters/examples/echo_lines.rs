//! Echoes lines, on the runtime and in the topology of your choice; try it with `nc`.
//!
//! ```text
//! cargo run -p bytewise-net --all-features --example echo_lines -- tokio
//! cargo run -p bytewise-net --all-features --example echo_lines -- smol 127.0.0.1:7001 per-thread 2
//! ```
//!
//! The arguments: `tokio`, `smol`, `async-std` or `blocking`; an address; `single`, or `shared`, `per-thread` or
//! `handed-out` with a number of threads, which `blocking` ignores.

use bytewise::framing::{Frame, Framed, Lines};
use bytewise_net::{BoxError, Driver, ServerOptions, Shutdown, Topology, Transport, bind_reuse_port, blocking};
use std::{env, num::NonZeroUsize};

/// The same handler for every transport. Whatever is too long is said to be.
async fn echo<Io: Transport>(mut conn: Driver<Io, Framed<Lines>>) -> Result<(), BoxError> {
    while let Some((frame, out)) = conn.next().await? {
        match frame {
            Frame::Data(line) => out.machine.send(line, out.tx)?,
            Frame::Oversize { len } => out.machine.send(format!("{len} bytes are too many"), out.tx)?,
            _ => {}
        }
    }
    Ok(conn.close().await?)
}

/// The same without `async`.
fn echo_blocking(mut conn: blocking::Conn<Framed<Lines>>) -> Result<(), BoxError> {
    while let Some((frame, out)) = conn.next()? {
        match frame {
            Frame::Data(line) => out.machine.send(line, out.tx)?,
            Frame::Oversize { len } => out.machine.send(format!("{len} bytes are too many"), out.tx)?,
            _ => {}
        }
    }
    Ok(conn.close()?)
}

fn main() -> Result<(), BoxError> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let argument = |at: usize, default| arguments.get(at).map_or(default, String::as_str);
    let count: NonZeroUsize = argument(3, "2").parse()?;
    let topology = match argument(2, "single") {
        "single" => Topology::Single,
        "shared" => Topology::Shared(count),
        "per-thread" => Topology::PerThread(count),
        "handed-out" => Topology::HandedOut(count),
        other => return Err(format!("{other} is no topology").into()),
    };
    let listener = bind_reuse_port(argument(1, "127.0.0.1:7000").parse()?)?;
    println!("listening on {}", listener.local_addr()?);

    let options = ServerOptions::default().with_error_log(|error| eprintln!("{error}"));
    let lines = || Framed::new(Lines::new(1000));
    // Ends with the process; a program of yours would begin it at a signal.
    let shutdown = Shutdown::new();
    match argument(0, "tokio") {
        "tokio" => bytewise_net::tokio::run(topology, listener, options, lines, echo, shutdown.wait())?,
        "smol" => bytewise_net::smol::run(topology, listener, options, lines, echo, shutdown.wait())?,
        "async-std" => bytewise_net::async_std::run(topology, listener, options, lines, echo, shutdown.wait())?,
        "blocking" => blocking::serve(listener, options, lines, echo_blocking, shutdown)?,
        other => return Err(format!("{other} is no runtime").into()),
    }
    Ok(())
}
