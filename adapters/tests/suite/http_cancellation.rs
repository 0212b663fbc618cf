//! Futures of exchanges dropped at every await: nothing is lost, nothing is doubled, nothing is answered twice.
//!
//! As [`cancellation`](crate::cancellation): a server and a client, over a transport that is not ready before every step.

use crate::{
    cancellation::{Drops, Plan, until_done},
    http_peer::{
        CONTINUE, LAST_CHUNK, OK_CHUNKED, chunk, get, ok, ok_and_close, post, post_chunked, post_expecting, refusal,
    },
    script::Script,
};
use bytewise::http1::{BodyLength, Client, Config, NO_FIELDS, Server};
use bytewise_net::{BoxError, Driver, Transport};
use futures_lite::future::{block_on, yield_now};
use std::pin::pin;

/// Requests of all kinds; some are answered, some are not, and one is wrong.
fn requests() -> String {
    [
        get("/whole"),
        post("/taken", "hello"),
        [&post_chunked("/taken"), &*chunk("hello, "), &chunk("world"), "0\r\nx-sum: 7\r\n\r\n"].concat(),
        [&post_expecting("/taken", 5), "hello"].concat(),
        post("/ignored", "hello"),
        get("/forgotten"),
        post("/streamed", "hello"),
        get("/flushed"),
        get("/waited"),
        "not a request\r\n".into(),
    ]
    .concat()
}

fn responses() -> String {
    [
        ok("/whole"),
        ok("hello"),
        ok("hello, world x-sum=7"),
        [CONTINUE, &ok("hello")].concat(),
        ok("/ignored"),
        "HTTP/1.1 500 Internal Server Error\r\ncontent-length: 0\r\n\r\n".into(),
        "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello".into(),
        [OK_CHUNKED, &chunk("/flushed"), LAST_CHUNK].concat(),
        ok("/waited"),
        refusal("400 Bad Request"),
    ]
    .concat()
}

/// Waits in all the ways that a server has.
async fn serve<Io: Transport>(conn: &mut Driver<Io, Server>, plan: &Plan) -> Result<usize, BoxError> {
    let mut served = 0;
    loop {
        let Some(mut exchange) = until_done!(plan, conn.exchange()) else { return Ok(served) };
        served += 1;
        let target = exchange.head().target().to_owned();
        match target.as_str() {
            "/taken" => {
                let mut text = Vec::new();
                while let Some((data, _)) = until_done!(plan, exchange.data()) {
                    text.extend(data);
                }
                // The end stays the end.
                assert!(until_done!(plan, exchange.data()).is_none());
                for (name, value) in exchange.trailers().iter() {
                    text.extend([b" ", name.as_bytes(), b"=", value].concat());
                }
                exchange.respond(200, NO_FIELDS, text)?;
            }
            "/forgotten" => {}
            "/streamed" => {
                let length = exchange.head().body_length();
                let out = exchange.outbox();
                out.machine.send_response(200, NO_FIELDS, length, out.tx)?;
                while let Some((data, mut out)) = until_done!(plan, exchange.data()) {
                    out.machine.send_data(data, out.tx)?;
                    until_done!(plan, out.ready(1));
                }
                let out = exchange.outbox();
                out.machine.send_end(NO_FIELDS, out.tx)?;
            }
            "/flushed" => {
                let mut out = exchange.outbox();
                out.machine.send_response(200, NO_FIELDS, BodyLength::Chunked, out.tx)?;
                until_done!(plan, out.flush());
                out.machine.send_data(&*target, out.tx)?;
                until_done!(plan, out.flush());
                // It is ended when the next request is asked for.
            }
            "/waited" => {
                let mut other = pin!(yield_now());
                let mut out = exchange.outbox();
                until_done!(plan, out.flush_while(other.as_mut()));
                exchange.respond(200, NO_FIELDS, target)?;
            }
            _ => exchange.respond(200, NO_FIELDS, target)?,
        }
    }
}

/// Over the script; how many polls were not ready.
fn play_server(drops: Drops) -> usize {
    let plan = Plan::new(drops);
    block_on(async {
        let mut conn = Driver::new(Script::reluctant(requests().as_bytes()), Server::new(&Config::default()));
        let error = serve(&mut conn, &plan).await.unwrap_err();
        assert_eq!(error.to_string(), "the peer broke the protocol: malformed start line");
        let written = String::from_utf8_lossy(&conn.io().written);
        assert!(written == responses(), "{drops:?} led to another output:\n{written}");
    });
    plan.pending()
}

#[test]
fn a_server_dropped_at_every_await() {
    let polls = play_server(Drops::None);
    assert!(polls > requests().len(), "the script is not reluctant");
    for at in 0..polls {
        play_server(Drops::At(at));
    }
}

#[test]
fn a_server_dropped_after_every_poll() {
    play_server(Drops::Each);
}

/// A whole body is gathered however often its future is dropped.
fn play_whole_bodies(drops: Drops) -> usize {
    let plan = Plan::new(drops);
    let requests =
        [post("/", "hello"), [post_chunked("/"), chunk("hello, "), chunk("world"), LAST_CHUNK.into()].concat()]
            .concat();
    block_on(async {
        let mut conn = Driver::new(Script::reluctant(requests.as_bytes()), Server::new(&Config::default()));
        for expected in ["hello", "hello, world"] {
            let exchanged = async {
                let mut exchange = until_done!(&plan, conn.exchange()).ok_or("no request")?;
                let body = until_done!(&plan, exchange.body(100));
                exchange.respond(200, NO_FIELDS, "")?;
                Ok::<_, BoxError>(body)
            };
            assert_eq!(exchanged.await.unwrap(), expected, "{drops:?}");
        }
    });
    plan.pending()
}

#[test]
fn whole_bodies_dropped_at_every_await() {
    let polls = play_whole_bodies(Drops::None);
    for at in 0..polls {
        play_whole_bodies(Drops::At(at));
    }
    play_whole_bodies(Drops::Each);
}

/// What a server answers to the client's requests.
fn answers() -> String {
    [
        ok("one"),
        [CONTINUE, OK_CHUNKED, &chunk("hello, "), &chunk("two"), "0\r\nx-sum: 7\r\n\r\n"].concat(),
        ok("left"),
        "HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n".into(),
        ok_and_close("last"),
    ]
    .concat()
}

/// What the client asks.
fn questions() -> String {
    let chunked = [&post_chunked("/2"), &*chunk("hello"), LAST_CHUNK].concat();
    [get("/1"), chunked, get("/3"), get("/4").replace("GET", "HEAD"), get("/5")].concat()
}

/// What it makes of the answers.
const SEEN: &str = "200 {one} 200 {hello, two x-sum=7} 200 200 {} 200 {last}";

/// Waits in all the ways that a client has; what it saw.
async fn ask<Io: Transport>(conn: &mut Driver<Io, Client>, plan: &Plan) -> Result<String, BoxError> {
    let host = [("host", "a")];
    for (method, target) in [("GET", "/1"), ("POST", "/2"), ("GET", "/3"), ("HEAD", "/4"), ("GET", "/5")] {
        let mut out = conn.outbox();
        if method == "POST" {
            out.machine.send_request(method, target, host, BodyLength::Chunked, out.tx)?;
            out.machine.send_data("hello", out.tx)?;
            until_done!(plan, out.ready(10));
            out.machine.send_end(NO_FIELDS, out.tx)?;
        } else {
            out.machine.request(method, target, host, "", out.tx)?;
        }
    }
    let mut log = Vec::new();
    while let Some(mut exchange) = until_done!(plan, conn.exchange()) {
        log.push(exchange.head().status().to_string());
        if log.len() == 5 {
            // The rest of the third one is left to the next exchange.
            continue;
        }
        let mut text = String::new();
        while let Some((data, _)) = until_done!(plan, exchange.data()) {
            text += std::str::from_utf8(data)?;
        }
        for (name, value) in exchange.trailers().iter() {
            text += &format!(" {name}={}", value.escape_ascii());
        }
        log.push(format!("{{{text}}}"));
    }
    Ok(log.join(" "))
}

fn pipelining() -> Client {
    Client::new(&Config::default().with_max_outstanding(5))
}

/// Over the script; how many polls were not ready.
fn play_client(drops: Drops) -> usize {
    let plan = Plan::new(drops);
    block_on(async {
        let mut conn = Driver::new(Script::reluctant(answers().as_bytes()), pipelining());
        assert_eq!(ask(&mut conn, &plan).await.unwrap(), SEEN, "{drops:?}");
        let written = String::from_utf8_lossy(&conn.io().written);
        assert!(written == questions(), "{drops:?} led to another output:\n{written}");
    });
    plan.pending()
}

#[test]
fn a_client_dropped_at_every_await() {
    let polls = play_client(Drops::None);
    assert!(polls > answers().len(), "the script is not reluctant");
    for at in 0..polls {
        play_client(Drops::At(at));
    }
}

#[test]
fn a_client_dropped_after_every_poll() {
    play_client(Drops::Each);
}

/// The client's whole bodies, too, are gathered however often that is begun.
fn play_answers(drops: Drops) -> usize {
    let plan = Plan::new(drops);
    let answers = [ok("one"), [OK_CHUNKED, &chunk("hello, "), &chunk("two"), LAST_CHUNK].concat()].concat();
    block_on(async {
        let mut conn = Driver::new(Script::reluctant(answers.as_bytes()), pipelining());
        for expected in ["one", "hello, two"] {
            let out = conn.outbox();
            out.machine.request("GET", "/", [("host", "a")], "", out.tx).unwrap();
            let exchanged = async {
                let mut exchange = until_done!(&plan, conn.exchange()).ok_or("no answer")?;
                Ok::<_, BoxError>(until_done!(&plan, exchange.body(100)))
            };
            assert_eq!(exchanged.await.unwrap(), expected, "{drops:?}");
        }
    });
    plan.pending()
}

#[test]
fn whole_answers_dropped_at_every_await() {
    let polls = play_answers(Drops::None);
    for at in 0..polls {
        play_answers(Drops::At(at));
    }
    play_answers(Drops::Each);
}

#[cfg(any(feature = "tokio", feature = "smol", feature = "async-std"))]
mod over_sockets {
    use super::*;
    use crate::{http_peer::HttpPeer, http_server::listen, peer::Peer};
    use bytewise_net::ClientOptions;
    use std::thread;

    macro_rules! runtime {
        ($feature:literal, $name:ident, $connect:path, $block_on:expr) => {
            #[cfg(feature = $feature)]
            mod $name {
                use super::*;

                /// A server that answers byte by byte, once all is asked.
                fn play(drops: Drops) -> usize {
                    let listener = listen();
                    let port = listener.local_addr().unwrap().port();
                    let plan = Plan::new(drops);
                    let options = ClientOptions::default();
                    thread::scope(|scope| {
                        scope.spawn(move || {
                            let mut peer = HttpPeer::over(Peer::over(listener.accept().unwrap().0));
                            peer.expect(questions());
                            for byte in answers().bytes() {
                                peer.send([byte]);
                            }
                            peer.expect_end();
                        });
                        $block_on(async {
                            let mut conn = $connect("127.0.0.1", port, &options, pipelining()).await.unwrap();
                            assert_eq!(ask(&mut conn, &plan).await.unwrap(), SEEN, "{drops:?}");
                            conn.close().await.unwrap();
                        });
                    });
                    plan.pending()
                }

                #[test]
                fn dropped_at_every_await() {
                    // How many there are is the system's affair.
                    let polls = play(Drops::None);
                    for at in 0..polls.min(50) {
                        play(Drops::At(at));
                    }
                }

                #[test]
                fn dropped_after_every_poll() {
                    for _ in 0..5 {
                        play(Drops::Each);
                    }
                }
            }
        };
    }

    runtime!("tokio", on_tokio, bytewise_net::tokio::connect, |work| {
        ::tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work);
    });
    runtime!("smol", on_smol, bytewise_net::smol::connect, ::smol::block_on);
    runtime!("async-std", on_async_std, bytewise_net::async_std::connect, ::async_std::task::block_on);
}
