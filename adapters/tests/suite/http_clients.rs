//! A client of HTTP that does what a plan says and writes down what it sees, written once as
//! [`handlers`](crate::handlers) are.
//!
//! ```text
//! 200 {hello} (x-sum=7)       a response, its body, its trailers
//! (103)                       an interim response, to who looks at events
//! none !UnexpectedEof         no response; an error, or a misuse
//! reusable spent              whether the connection can be used again
//! ```

use crate::{http_peer::HttpPeer, http_server::listen, peer::Peer, server::Runtime};
use bytewise::{
    Machine, NextIo,
    http1::{BodyLength, Client, ClientEvent, Config, Error, Fields},
};
use bytewise_net::{self as net, BoxError, ClientOptions, Transport};
use std::{fmt::Display, thread};

/// A step of a plan.
#[derive(Debug, Clone)]
pub(crate) enum Do {
    /// Sends a whole request: method, target, body.
    Ask(&'static str, &'static str, &'static str),
    /// The same with a field.
    AskWith(&'static str, &'static str, (&'static str, &'static str)),
    /// Makes the next request the last one.
    Last,
    /// Sends the head of a POST.
    Begin(&'static str, BodyLength),
    /// Sends a piece of its body.
    Data(&'static str),
    /// Sends so many kibibytes of it, with room for few.
    Kibibytes(usize),
    /// Ends it, with that trailer if it has a name.
    End(&'static str, &'static str),
    Flush,
    /// Takes a response, whole, of at most so many bytes.
    Answer(usize),
    /// The same, but its body piece by piece.
    Pieces,
    /// The same, but each piece is answered by a piece of the request, so many times; then the request ends.
    PingPong(usize),
    /// Takes the head of a response, and forgets the rest.
    Head,
    /// Looks at the next event.
    Event,
    /// Looks whether the connection can be used again.
    Reusable,
    /// Looks at what is to be done next.
    NextIo,
    /// Switches to frames, and echoes one.
    EchoFrame,
}

/// Does all of `plan` on a connection to `server`, which is played on a thread; the log.
#[track_caller]
pub(crate) fn converse(
    runtime: Runtime,
    config: &Config,
    options: &ClientOptions,
    plan: &[Do],
    server: impl FnOnce(HttpPeer) + Send,
) -> String {
    let listener = listen();
    let port = listener.local_addr().unwrap().port();
    thread::scope(|scope| {
        scope.spawn(move || server(HttpPeer::over(Peer::over(listener.accept().unwrap().0))));
        connect(runtime, port, config, options, plan)
    })
}

/// The same with whoever listens at that port.
pub(crate) fn connect(runtime: Runtime, port: u16, config: &Config, options: &ClientOptions, plan: &[Do]) -> String {
    let http = Client::new(config);
    let outcome: Result<Log, BoxError> = match runtime {
        #[cfg(feature = "tokio")]
        Runtime::Tokio => {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                tasks::run(net::tokio::connect("127.0.0.1", port, options, http).await.unwrap(), plan).await
            })
        }
        #[cfg(feature = "smol")]
        Runtime::Smol => smol::block_on(async {
            tasks::run(net::smol::connect("127.0.0.1", port, options, http).await.unwrap(), plan).await
        }),
        #[cfg(feature = "async-std")]
        Runtime::AsyncStd => async_std::task::block_on(async {
            tasks::run(net::async_std::connect("127.0.0.1", port, options, http).await.unwrap(), plan).await
        }),
        #[cfg(feature = "blocking")]
        Runtime::Blocking => threads::run(net::blocking::connect("127.0.0.1", port, options, http).unwrap(), plan),
    };
    outcome.unwrap().0.join(" ")
}

#[derive(Debug, Default)]
pub(crate) struct Log(Vec<String>);

impl Log {
    fn item(&mut self, item: impl Display) {
        self.0.push(item.to_string());
    }

    fn body(&mut self, body: &[u8]) {
        match body.len() {
            0..=100 => self.item(format_args!("{{{}}}", body.escape_ascii())),
            many => self.item(format_args!("{{{many} bytes}}")),
        }
    }

    fn trailers(&mut self, trailers: Fields<'_>) {
        for (name, value) in trailers.iter() {
            self.item(format_args!("({name}={})", value.escape_ascii()));
        }
    }

    fn event(&mut self, event: Option<ClientEvent<'_>>) {
        match event {
            None => self.item("none"),
            Some(ClientEvent::Informational(head)) => self.item(format_args!("({})", head.status())),
            Some(ClientEvent::Response(head)) => self.item(head.status()),
            Some(ClientEvent::Data(data)) => self.body(data),
            Some(ClientEvent::End(trailers)) => {
                self.item("end");
                self.trailers(trailers);
            }
            Some(ClientEvent::Switched(head)) => self.item(format_args!("switched {}", head.status())),
            Some(other) => panic!("{other:?}"),
        }
    }

    /// What a step came to, if it is worth a word.
    fn failed(&mut self, outcome: Result<(), BoxError>) {
        let Err(error) = outcome else { return };
        if let Some(error) = error.downcast_ref::<net::Error<Error>>() {
            return match error {
                net::Error::Io(error) => self.item(format_args!("!{:?}", error.kind())),
                net::Error::Protocol(error) => self.item(format_args!("!{error:?}")),
                net::Error::TimedOut(what) => self.item(format_args!("!{what:?}")),
                other => panic!("{other}"),
            };
        }
        match error.downcast_ref::<std::io::Error>() {
            Some(error) => self.item(format_args!("!{:?}", error.kind())),
            None => self.item(format_args!("!{error:?}")),
        }
    }
}

macro_rules! clients {
    ($name:ident: $Driver:path, [$($async:tt)?], [$($await:tt)*]) => {
        pub(crate) mod $name {
            use super::*;
            use $Driver as Driver;

            pub(crate) $($async)? fn run<Io: Transport>(
                mut conn: Driver<Io, Client>,
                plan: &[Do],
            ) -> Result<Log, BoxError> {
                let mut log = Log::default();
                for (at, step) in plan.iter().enumerate() {
                    if let (Do::EchoFrame, true) = (step, at + 1 == plan.len()) {
                        echo_frame(conn)$($await)*?;
                        return Ok(log);
                    }
                    let outcome = perform(&mut conn, step, &mut log)$($await)*;
                    log.failed(outcome);
                }
                // After an error there may be nobody to close it with.
                let _ = conn.close()$($await)*;
                Ok(log)
            }

            $($async)? fn perform<Io: Transport>(
                conn: &mut Driver<Io, Client>,
                step: &Do,
                log: &mut Log,
            ) -> Result<(), BoxError> {
                let host = ("host", "a");
                match *step {
                    Do::Ask(method, target, body) => {
                        let out = conn.outbox();
                        out.machine.request(method, target, [host], body, out.tx)?;
                    }
                    Do::AskWith(method, target, field) => {
                        let out = conn.outbox();
                        out.machine.request(method, target, [host, field], "", out.tx)?;
                    }
                    Do::Last => conn.machine_mut().close_after_next(),
                    Do::Begin(target, length) => {
                        let out = conn.outbox();
                        out.machine.send_request("POST", target, [host], length, out.tx)?;
                    }
                    Do::Data(data) => {
                        let out = conn.outbox();
                        out.machine.send_data(data, out.tx)?;
                    }
                    Do::Kibibytes(count) => {
                        for _ in 0..count {
                            let mut out = conn.outbox();
                            out.machine.send_data(&[7; 1024], out.tx)?;
                            out.ready(16 * 1024)$($await)*?;
                            assert!(out.tx.queued() <= 16 * 1024);
                        }
                    }
                    Do::End(name, value) => {
                        let trailer = (!name.is_empty()).then_some((name, value));
                        let out = conn.outbox();
                        out.machine.send_end(trailer, out.tx)?;
                    }
                    Do::Flush => conn.outbox().flush()$($await)*?,
                    Do::Answer(max) => {
                        let Some(mut exchange) = conn.exchange()$($await)*? else {
                            log.item("none");
                            return Ok(());
                        };
                        log.item(exchange.head().status());
                        let body = exchange.body(max)$($await)*?;
                        log.body(&body);
                        log.trailers(exchange.trailers());
                    }
                    Do::Pieces => {
                        let Some(mut exchange) = conn.exchange()$($await)*? else {
                            log.item("none");
                            return Ok(());
                        };
                        log.item(exchange.head().status());
                        while let Some((data, _)) = exchange.data()$($await)*? {
                            log.body(data);
                        }
                        // The end is the end.
                        assert!(exchange.data()$($await)*?.is_none());
                        log.trailers(exchange.trailers());
                    }
                    Do::PingPong(rounds) => {
                        let Some(mut exchange) = conn.exchange()$($await)*? else {
                            log.item("none");
                            return Ok(());
                        };
                        log.item(exchange.head().status());
                        for _ in 0..rounds {
                            let Some((data, out)) = exchange.data()$($await)*? else { break };
                            out.machine.send_data(data, out.tx)?;
                        }
                        let out = exchange.outbox();
                        out.machine.send_end(None::<(&str, &str)>, out.tx)?;
                        let rest = exchange.body(1000)$($await)*?;
                        log.body(&rest);
                    }
                    Do::Head => match conn.exchange()$($await)*? {
                        Some(exchange) => log.item(exchange.head().status()),
                        None => log.item("none"),
                    },
                    Do::Event => log.event(conn.next()$($await)*?.map(|(event, _)| event)),
                    Do::Reusable => log.item(if conn.machine().is_reusable() { "reusable" } else { "spent" }),
                    Do::NextIo => log.item(format_args!("{:?}", conn.machine().next_io())),
                    Do::EchoFrame => return Err("only at the end of a plan".into()),
                }
                Ok(())
            }

            $($async)? fn echo_frame<Io: Transport>(conn: Driver<Io, Client>) -> Result<(), BoxError> {
                assert_eq!(conn.machine().next_io(), NextIo::Switched);
                let mut frames = conn.switch(crate::server::frames());
                let Some((bytewise::framing::Frame::Data(frame), out)) = frames.next()$($await)*? else {
                    return Err("no frame".into());
                };
                out.machine.send(frame, out.tx)?;
                Ok(frames.close()$($await)*?)
            }
        }
    };
}

#[cfg(any(feature = "tokio", feature = "smol", feature = "async-std"))]
clients!(tasks: bytewise_net::Driver, [async], [.await]);

#[cfg(feature = "blocking")]
clients!(threads: bytewise_net::blocking::Driver, [], []);
