//! Handlers, written once: for [`bytewise_net::Driver`], and without `async` for `bytewise_net::blocking::Driver`. That
//! both compile shows that the names are the same.

use crate::server::{Frames, frames};
use async_channel::Receiver;
use bytes::Bytes;
use bytewise::{
    RecvBuf, SendBuf,
    framing::{Frame, Framed, Lines},
};
use bytewise_net::{BoxError, Transport};
use std::{
    io::{self, IoSlice},
    panic::resume_unwind,
    sync::Arc,
};

/// What a handler does.
#[derive(Debug, Clone)]
pub(crate) enum Kind {
    /// Echoes, exactly as the documentation shows it.
    Echo,
    /// Echoes; after an error it closes, and then fails.
    ClosesOnError,
    /// Echoes, but for frames that are commands.
    Commands,
    /// Waits for this beside each frame, in `flush_while`.
    WaitsFor(Receiver<()>),
    /// Begins in lines; after the line `go` come frames.
    LinesFirst,
    /// Takes the connection apart after the first frame, and puts it together again.
    TakesApart,
    /// Receives into a buffer of at most so many bytes, in which some are already.
    Buffers(usize, Arc<[u8]>),
}

/// Commands that the handler for commands knows. It echoes anything else.
pub(crate) mod command {
    /// It fails.
    pub(crate) const FAIL: &[u8] = b"!fail";
    /// It panics.
    pub(crate) const PANIC: &[u8] = b"!panic";
    /// It returns, and what it drops is all there was.
    pub(crate) const DROP: &[u8] = b"!drop";
    /// It sends [`MANY`](super::MANY) frames of [`PIECE`](super::PIECE), with room for few of them.
    pub(crate) const FLOOD: &[u8] = b"!flood";
    /// The same, but all are queued at once.
    pub(crate) const QUEUE: &[u8] = b"!queue";
    /// It answers with a frame that it writes itself, `0` to `9` a thousand times.
    pub(crate) const EXTERNAL: &[u8] = b"!external";
}

/// Frames of a flood.
pub(crate) const MANY: usize = 1000;

/// Size of a frame of a flood.
pub(crate) const PIECE: usize = 16 * 1024;

/// Bytes in flight that the client for many frames allows itself.
pub(crate) const WINDOW: usize = 48 * 1024;

/// Writes one's own bytes past the buffers.
#[cfg(any(feature = "tokio", feature = "smol", feature = "async-std"))]
pub(crate) async fn write_all(io: &mut impl Transport, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        let n = std::future::poll_fn(|cx| io.poll_write(cx, &[IoSlice::new(bytes)])).await?;
        bytes = &bytes[n..];
    }
    Ok(())
}

/// The same, for a transport that blocks.
#[cfg(feature = "blocking")]
pub(crate) fn write_all_blocking(io: &mut impl Transport, mut bytes: &[u8]) -> io::Result<()> {
    use std::task::{Context, Poll, Waker};
    while !bytes.is_empty() {
        if let Poll::Ready(n) = io.poll_write(&mut Context::from_waker(Waker::noop()), &[IoSlice::new(bytes)]) {
            bytes = &bytes[n?..];
        }
    }
    Ok(())
}

macro_rules! handlers {
    (
        $name:ident: $Driver:path, [$($async:tt)?], [$($await:tt)*],
        later: [$($later:tt)*], recv: $recv:ident, write_all: $write_all:path
    ) => {
        pub(crate) mod $name {
            use super::*;
            use $Driver as Driver;

            pub(crate) $($async)? fn handle<Io: Transport>(conn: Driver<Io, Frames>, kind: Kind) -> Result<(), BoxError> {
                match kind {
                    Kind::Echo => echo(conn)$($await)*,
                    Kind::ClosesOnError => closes_on_error(conn)$($await)*,
                    Kind::Commands => commands(conn)$($await)*,
                    Kind::WaitsFor(gate) => waits_for(conn, gate)$($await)*,
                    Kind::LinesFirst => lines_first(conn)$($await)*,
                    Kind::TakesApart => takes_apart(conn)$($await)*,
                    Kind::Buffers(max, there) => {
                        let mut rx = RecvBuf::with_limits(16, 64, max);
                        rx.push(&there);
                        echo(conn.with_buffers(rx, SendBuf::new()))$($await)*
                    }
                }
            }

            pub(crate) $($async)? fn echo<Io: Transport>(mut conn: Driver<Io, Frames>) -> Result<(), BoxError> {
                while let Some((frame, out)) = conn.next()$($await)*? {
                    if let Frame::Data(frame) = frame {
                        out.machine.send(frame, out.tx)?;
                    }
                }
                Ok(conn.close()$($await)*?)
            }

            $($async)? fn closes_on_error<Io: Transport>(mut conn: Driver<Io, Frames>) -> Result<(), BoxError> {
                let outcome = loop {
                    match conn.next()$($await)* {
                        Ok(Some((Frame::Data(frame), out))) => out.machine.send(frame, out.tx)?,
                        Ok(Some(_)) => {}
                        Ok(None) => break Ok(()),
                        Err(error) => break Err(error),
                    }
                };
                conn.close()$($await)*?;
                Ok(outcome?)
            }

            $($async)? fn commands<Io: Transport>(mut conn: Driver<Io, Frames>) -> Result<(), BoxError> {
                while let Some((frame, mut out)) = conn.next()$($await)*? {
                    let Frame::Data(frame) = frame else { continue };
                    match &*frame {
                        command::FAIL => return Err("a handler's own error".into()),
                        command::PANIC => resume_unwind(Box::new("a handler's own panic")),
                        command::DROP => return Ok(()),
                        command::FLOOD => {
                            for _ in 0..MANY {
                                out.machine.send(Bytes::from_static(&[7; PIECE]), out.tx)?;
                                out.ready(4 * PIECE)$($await)*?;
                                assert!(out.tx.queued() <= 4 * PIECE);
                            }
                            // The event is still there.
                            out.machine.send(frame, out.tx)?;
                        }
                        command::QUEUE => {
                            for _ in 0..MANY {
                                out.machine.send(Bytes::from_static(&[7; PIECE]), out.tx)?;
                            }
                        }
                        command::EXTERNAL => {
                            out.tx.put(&10_000_u32.to_be_bytes());
                            out.tx.put_external(10_000);
                            // Waits behind it.
                            out.machine.send(frame, out.tx)?;
                            out.flush()$($await)*?;
                            while let Some(left) = out.tx.external() {
                                let piece = &b"0123456789".repeat(100)[..usize::min(1000, left as usize)];
                                $write_all(out.io().unwrap(), piece)$($await)*?;
                                out.tx.external_written(piece.len() as u64);
                            }
                        }
                        _ => out.machine.send(frame, out.tx)?,
                    }
                }
                Ok(conn.close()$($await)*?)
            }

            $($async)? fn waits_for<Io: Transport>(
                mut conn: Driver<Io, Frames>,
                gate: Receiver<()>,
            ) -> Result<(), BoxError> {
                while let Some((frame, mut out)) = conn.next()$($await)*? {
                    let Frame::Data(frame) = frame else { continue };
                    out.machine.send("wait", out.tx)?;
                    out.flush_while($($later)* { gate.$recv()$($await)* })$($await)*??;
                    out.machine.send(frame, out.tx)?;
                }
                Ok(conn.close()$($await)*?)
            }

            $($async)? fn lines_first<Io: Transport>(conn: Driver<Io, Frames>) -> Result<(), BoxError> {
                let mut lines = conn.switch(Framed::new(Lines::new(100)));
                while let Some((line, out)) = lines.next()$($await)*? {
                    let Frame::Data(line) = line else { continue };
                    out.machine.send(&*line, out.tx)?;
                    if line == b"go" {
                        return echo(lines.switch(frames()))$($await)*;
                    }
                }
                Err("no handshake".into())
            }

            $($async)? fn takes_apart<Io: Transport>(mut conn: Driver<Io, Frames>) -> Result<(), BoxError> {
                if let Some((Frame::Data(frame), out)) = conn.next()$($await)*? {
                    out.machine.send(frame, out.tx)?;
                }
                let (io, machine, rx, tx) = conn.into_parts();
                echo(Driver::new(io, machine).with_buffers(rx, tx))$($await)*
            }

            /// A client: sends all of it, at most a window of bytes at once, and returns what comes back.
            pub(crate) $($async)? fn converse<Io: Transport>(
                conn: Driver<Io, Frames>,
                bodies: Vec<Vec<u8>>,
                window: usize,
            ) -> Result<Vec<Vec<u8>>, BoxError> {
                let mut conn = if window > WINDOW { conn.with_high_water(window) } else { conn };
                let mut answers = Vec::new();
                let mut in_flight = 0;
                let mut sent = 0;
                while answers.len() < bodies.len() {
                    while let Some(body) = bodies.get(sent)
                        && (in_flight == 0 || in_flight + body.len() <= window)
                    {
                        let out = conn.outbox();
                        out.machine.send(body, out.tx)?;
                        (sent, in_flight) = (sent + 1, in_flight + body.len());
                    }
                    let Some((frame, _)) = conn.next()$($await)*? else { return Err("the server closed".into()) };
                    let Frame::Data(frame) = frame else { continue };
                    in_flight -= frame.len();
                    answers.push(frame.to_vec());
                }
                conn.close()$($await)*?;
                Ok(answers)
            }
        }
    };
}

#[cfg(any(feature = "tokio", feature = "smol", feature = "async-std"))]
handlers! {
    tasks: bytewise_net::Driver, [async], [.await],
    later: [async], recv: recv, write_all: write_all
}

#[cfg(feature = "blocking")]
handlers! {
    threads: bytewise_net::blocking::Driver, [], [],
    later: [||], recv: recv_blocking, write_all: write_all_blocking
}
