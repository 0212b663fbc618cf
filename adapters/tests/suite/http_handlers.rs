//! The handler of HTTP's tests, written once as [`handlers`](crate::handlers) are: a site whose targets are what it does.

use crate::{handlers, server::frames};
use async_channel::Receiver;
use bytes::Bytes;
use bytewise::http1::{BodyLength, Misuse, NO_FIELDS, Server};
use bytewise_net::{BoxError, Transport};
use std::panic::resume_unwind;

/// Targets that the site knows; to any other it answers with the target. `/n` at their end is a number.
pub(crate) mod target {
    /// Tells the request's head, as [`describe`](super::describe) does.
    pub(crate) const HEAD: &str = "/head";
    /// The body and its trailers come back as they come, framed alike.
    pub(crate) const ECHO: &str = "/echo";
    /// The same, but the head and a first piece go out before the body is asked for.
    pub(crate) const EARLY: &str = "/early";
    /// Takes the whole body, of at most so many bytes, and tells its length.
    pub(crate) const BODY: &str = "/body";
    /// Takes a piece, says `102`, then takes the rest, of at most so many bytes; tells both lengths.
    pub(crate) const REST: &str = "/rest";
    /// Sets the body's limit and takes it piece by piece; tells its length.
    pub(crate) const LIMIT: &str = "/limit";
    /// Takes the body and sends its trailers on, with its length as one of them.
    pub(crate) const TRAILERS: &str = "/trailers";
    /// Answers, and never looks at the body.
    pub(crate) const IGNORE: &str = "/ignore";
    /// Answers `417`, and never looks at the body.
    pub(crate) const REFUSE: &str = "/refuse";
    /// Does nothing.
    pub(crate) const FORGET: &str = "/forget";
    /// Begins to take the body, and forgets the rest and the answer.
    pub(crate) const FORGET_REST: &str = "/forget-rest";
    /// Begins a response in chunks, and forgets to end it.
    pub(crate) const OPEN: &str = "/open";
    /// Announces ten bytes, and sends so many.
    pub(crate) const SHORT: &str = "/short";
    /// Says `103`, then answers.
    pub(crate) const HINTS: &str = "/hints";
    /// Does all that is wrong, and then what is right.
    pub(crate) const MISUSE: &str = "/misuse";
    /// Answers with a status that is none.
    pub(crate) const NO_STATUS: &str = "/no-status";
    /// Sends so many pieces of [`PIECE`](super::PIECE), with room for few of them.
    pub(crate) const STREAM: &str = "/stream";
    /// The same, but all are queued at once.
    pub(crate) const QUEUE: &str = "/queue";
    /// Sends a head in chunks and a piece, waits for the gate, and ends.
    pub(crate) const WAIT_INSIDE: &str = "/wait-inside";
    /// Waits for the gate, then answers.
    pub(crate) const WAIT: &str = "/wait";
    /// Announces a body of ten thousand bytes in chunks, and writes it past the buffers.
    pub(crate) const EXTERNAL: &str = "/external";
    /// Switches to frames, and echoes them.
    pub(crate) const SWITCH: &str = "/switch";
    /// Fails.
    pub(crate) const FAIL: &str = "/fail";
    /// Panics.
    pub(crate) const PANIC: &str = "/panic";
    /// Returns, and what it drops is all there was.
    pub(crate) const DROP: &str = "/drop";
}

/// Size of a piece of a stream.
pub(crate) const PIECE: usize = 16 * 1024;

/// What the site waits for where it waits.
#[derive(Debug, Clone)]
pub(crate) struct Site {
    gate: Receiver<()>,
}

impl Site {
    pub(crate) const fn waiting_for(gate: Receiver<()>) -> Self {
        Self { gate }
    }
}

impl Default for Site {
    /// Waits for nothing.
    fn default() -> Self {
        Self { gate: async_channel::bounded(1).1 }
    }
}

/// What a request asks for: its route, and the number at the end of its target.
fn split(target: &str) -> (String, usize) {
    let number = target.rsplit_once('/').and_then(|(route, number)| Some((route.to_owned(), number.parse().ok()?)));
    match number {
        Some((route, number)) if !route.is_empty() => (route, number),
        _ => (target.to_owned(), 0),
    }
}

/// A request's head in words.
pub(crate) fn describe(head: bytewise::http1::RequestHead<'_>) -> String {
    let fields = head.fields().iter().map(|(name, value)| format!("\n{name}={}", value.escape_ascii()));
    let (method, path, query) = (head.method(), head.path().unwrap_or("-"), head.query().unwrap_or("-"));
    format!("{method} {path} {query} {}{}", head.version(), fields.collect::<String>())
}

/// All that can be done wrong before a response and in it: each is told, and changes nothing.
fn misuse(http: &mut Server, tx: &mut bytewise::SendBuf) {
    let before = tx.queued();
    assert_eq!(http.send_data("x", tx), Err(Misuse::State));
    assert_eq!(http.send_end(NO_FIELDS, tx), Err(Misuse::State));
    for status in [0, 99, 100, 199, 1000] {
        assert_eq!(http.respond(status, NO_FIELDS, "", tx), Err(Misuse::Status));
    }
    assert_eq!(http.switch(101, [("upgrade", "x")], tx), Err(Misuse::Status));
    assert_eq!(http.send_informational(101, NO_FIELDS, tx), Err(Misuse::Status));
    assert_eq!(http.respond(204, NO_FIELDS, "x", tx), Err(Misuse::BodyForbidden));
    for field in [
        ("content-length", "3"),
        ("transfer-encoding", "chunked"),
        ("connection", "close"),
        ("", "no name"),
        ("a name", "x"),
        ("x", "a\r\nset-cookie: b"),
        ("x", "\0"),
    ] {
        assert_eq!(http.respond(200, [("fine", "fine"), field], "", tx), Err(Misuse::Field), "{field:?}");
    }
    assert_eq!(tx.queued(), before);
    http.send_response(200, NO_FIELDS, BodyLength::Length(8), tx).unwrap();
    let before = tx.queued();
    assert_eq!(http.respond(200, NO_FIELDS, "", tx), Err(Misuse::State));
    assert_eq!(http.send_informational(103, NO_FIELDS, tx), Err(Misuse::State));
    assert_eq!(http.send_data("too long!", tx), Err(Misuse::BodyTooLong));
    assert_eq!(http.send_end(NO_FIELDS, tx), Err(Misuse::BodyTooShort));
    assert_eq!(tx.queued(), before);
    http.send_data("unharmed", tx).unwrap();
    assert_eq!(http.send_end([("x-sum", "1")], tx), Err(Misuse::BodyForbidden));
    http.send_end(NO_FIELDS, tx).unwrap();
}

macro_rules! site {
    (
        $name:ident: $Driver:path, $Exchange:path, [$($async:tt)?], [$($await:tt)*],
        later: [$($later:tt)*], recv: $recv:ident, write_all: $write_all:path
    ) => {
        pub(crate) mod $name {
            use super::*;
            use $Driver as Driver;
            use $Exchange as Exchange;

            pub(crate) $($async)? fn handle<Io: Transport>(
                mut conn: Driver<Io, Server>,
                site: Site,
            ) -> Result<(), BoxError> {
                while let Some(mut exchange) = conn.exchange()$($await)*? {
                    let (route, n) = split(exchange.head().target());
                    match route.as_str() {
                        target::HEAD => {
                            let text = describe(exchange.head());
                            exchange.respond(200, [("content-type", "text/plain")], text)?;
                        }
                        target::ECHO => echo(exchange)$($await)*?,
                        target::EARLY => {
                            let mut out = exchange.outbox();
                            out.machine.send_response(200, NO_FIELDS, BodyLength::Chunked, out.tx)?;
                            out.machine.send_data("early", out.tx)?;
                            out.flush()$($await)*?;
                            pass_on(exchange)$($await)*?;
                        }
                        target::BODY => {
                            let body = exchange.body(n)$($await)*?;
                            exchange.respond(200, NO_FIELDS, body.len().to_string())?;
                        }
                        target::REST => rest(exchange, n)$($await)*?,
                        target::LIMIT => {
                            let head = describe(exchange.head());
                            exchange.outbox().machine.limit_body(n as u64);
                            let mut len = 0;
                            while let Some((data, _)) = exchange.data()$($await)*? {
                                len += data.len();
                            }
                            // The end is the end.
                            assert!(exchange.data()$($await)*?.is_none());
                            assert_eq!(describe(exchange.head()), head);
                            exchange.respond(200, NO_FIELDS, len.to_string())?;
                        }
                        target::TRAILERS => trailers(exchange)$($await)*?,
                        target::IGNORE => exchange.respond(200, NO_FIELDS, "ignored")?,
                        target::REFUSE => exchange.respond(417, NO_FIELDS, "refused")?,
                        target::FORGET => {}
                        target::FORGET_REST => {
                            exchange.data()$($await)*?;
                        }
                        target::OPEN => {
                            let out = exchange.outbox();
                            out.machine.send_response(200, NO_FIELDS, BodyLength::Chunked, out.tx)?;
                            out.machine.send_data("open", out.tx)?;
                        }
                        target::SHORT => {
                            let out = exchange.outbox();
                            out.machine.send_response(200, NO_FIELDS, BodyLength::Length(10), out.tx)?;
                            out.machine.send_data(&b"0123456789"[..n], out.tx)?;
                        }
                        target::HINTS => {
                            let out = exchange.outbox();
                            out.machine.send_informational(103, [("link", "</style.css>")], out.tx)?;
                            exchange.respond(200, NO_FIELDS, "hinted")?;
                        }
                        target::MISUSE => {
                            let out = exchange.outbox();
                            misuse(out.machine, out.tx);
                        }
                        target::NO_STATUS => assert_eq!(exchange.respond(99, NO_FIELDS, ""), Err(Misuse::Status)),
                        target::STREAM => {
                            let mut out = exchange.outbox();
                            out.machine.send_response(200, NO_FIELDS, BodyLength::Chunked, out.tx)?;
                            for _ in 0..n {
                                out.machine.send_data(Bytes::from_static(&[7; PIECE]), out.tx)?;
                                out.ready(4 * PIECE)$($await)*?;
                                assert!(out.tx.queued() <= 4 * PIECE);
                            }
                            out.machine.send_end(NO_FIELDS, out.tx)?;
                        }
                        target::QUEUE => {
                            let out = exchange.outbox();
                            out.machine.send_response(200, NO_FIELDS, BodyLength::Chunked, out.tx)?;
                            for _ in 0..n {
                                out.machine.send_data(Bytes::from_static(&[7; PIECE]), out.tx)?;
                            }
                            out.machine.send_end(NO_FIELDS, out.tx)?;
                        }
                        target::WAIT => {
                            exchange.outbox().flush_while($($later)* { site.gate.$recv()$($await)* })$($await)*??;
                            exchange.respond(200, NO_FIELDS, "waited")?;
                        }
                        target::WAIT_INSIDE => {
                            let mut out = exchange.outbox();
                            out.machine.send_response(200, NO_FIELDS, BodyLength::Chunked, out.tx)?;
                            out.machine.send_data("begun", out.tx)?;
                            out.flush_while($($later)* { site.gate.$recv()$($await)* })$($await)*??;
                            out.machine.send_end(NO_FIELDS, out.tx)?;
                        }
                        target::EXTERNAL => {
                            let mut out = exchange.outbox();
                            out.machine.send_response(200, NO_FIELDS, BodyLength::Chunked, out.tx)?;
                            out.machine.announce_data(10_000, out.tx)?;
                            out.flush()$($await)*?;
                            while let Some(left) = out.tx.external() {
                                let piece = &b"0123456789".repeat(100)[..usize::min(1000, left as usize)];
                                $write_all(out.io().unwrap(), piece)$($await)*?;
                                out.tx.external_written(piece.len() as u64);
                            }
                            out.machine.send_end(NO_FIELDS, out.tx)?;
                        }
                        target::SWITCH => {
                            let out = exchange.outbox();
                            out.machine.switch(101, [("upgrade", "frames")], out.tx)?;
                            return handlers::$name::echo(conn.switch(frames()))$($await)*;
                        }
                        target::FAIL => return Err("a handler's own error".into()),
                        target::PANIC => resume_unwind(Box::new("a handler's own panic")),
                        target::DROP => return Ok(()),
                        _ => {
                            let target = exchange.head().target().to_owned();
                            exchange.respond(200, NO_FIELDS, target)?;
                        }
                    }
                }
                Ok(conn.close()$($await)*?)
            }

            $($async)? fn echo<Io: Transport>(mut exchange: Exchange<'_, Io, Server>) -> Result<(), BoxError> {
                let length = exchange.head().body_length();
                let out = exchange.outbox();
                out.machine.send_response(200, NO_FIELDS, length, out.tx)?;
                pass_on(exchange)$($await)*
            }

            $($async)? fn pass_on<Io: Transport>(mut exchange: Exchange<'_, Io, Server>) -> Result<(), BoxError> {
                while let Some((data, mut out)) = exchange.data()$($await)*? {
                    out.machine.send_data(data, out.tx)?;
                    out.ready(4 * PIECE)$($await)*?;
                }
                let trailers = exchange.trailers().into_owned();
                let out = exchange.outbox();
                out.machine.send_end(trailers.fields().iter(), out.tx)?;
                Ok(())
            }

            $($async)? fn rest<Io: Transport>(
                mut exchange: Exchange<'_, Io, Server>,
                max: usize,
            ) -> Result<(), BoxError> {
                let piece = match exchange.data()$($await)*? {
                    Some((data, mut out)) => {
                        out.machine.send_informational(102, NO_FIELDS, out.tx)?;
                        out.flush()$($await)*?;
                        data.len()
                    }
                    None => 0,
                };
                let rest = exchange.body(max)$($await)*?.len();
                Ok(exchange.respond(200, NO_FIELDS, format!("{piece} + {rest}"))?)
            }

            $($async)? fn trailers<Io: Transport>(mut exchange: Exchange<'_, Io, Server>) -> Result<(), BoxError> {
                let mut len = 0;
                while let Some((data, _)) = exchange.data()$($await)*? {
                    len += data.len();
                }
                let trailers = exchange.trailers().into_owned();
                let len = ("x-length", len.to_string().into_bytes());
                let out = exchange.outbox();
                out.machine.send_response(200, [("trailer", "x-length")], BodyLength::Chunked, out.tx)?;
                let others = trailers.fields().iter().map(|(name, value)| (name, value.to_vec()));
                out.machine.send_end(others.chain([len]), out.tx)?;
                Ok(())
            }
        }
    };
}

#[cfg(any(feature = "tokio", feature = "smol", feature = "async-std"))]
site! {
    tasks: bytewise_net::Driver, bytewise_net::Exchange, [async], [.await],
    later: [async], recv: recv, write_all: handlers::write_all
}

#[cfg(feature = "blocking")]
site! {
    threads: bytewise_net::blocking::Driver, bytewise_net::blocking::Exchange, [], [],
    later: [||], recv: recv_blocking, write_all: handlers::write_all_blocking
}
