//! Deadlines of HTTP: `408` to a request that begins and does not end, and silence to who has not begun one.

use crate::{
    http_handlers::{Site, target},
    http_peer::{HttpPeer, LAST_CHUNK, OK_CHUNKED, chunk, get, ok, post, post_chunked, post_expecting, refusal},
    http_server::{listen, serve, with},
    script::{Call, Input, Output, Script, now, waits},
    server::{Runtime, Server},
};
use bytewise::{
    Phase, Time, TimedOut, Timeouts,
    http1::{self, Config, NO_FIELDS, ServerEvent},
};
use bytewise_net::{Driver, Error, ServerOptions};
use std::{io::ErrorKind, time::Instant};

on_every_runtime!(
    a_slow_head,
    a_slow_head_behind_an_answer,
    a_head_that_trickles,
    a_slow_body,
    a_body_that_trickles,
    a_body_that_was_asked_for,
    a_slow_body_of_a_request_that_is_being_answered,
    a_slow_body_of_a_request_that_is_answered,
    an_idle_connection,
    a_handler_that_takes_its_time,
);

const SHORT: Time = Time::from_millis(150);

const TIMEOUT: &str = "408 Request Timeout";

fn start(runtime: Runtime, phase: Phase) -> Server {
    let timeouts = Timeouts::none().with(phase, Some(SHORT));
    with(runtime, ServerOptions::default().with_timeouts(timeouts), Config::default())
}

#[track_caller]
fn assert_timed_out(server: &Server, phase: Phase) {
    match server.error_of::<http1::Error>() {
        Error::TimedOut(timed_out) => assert_eq!(timed_out, TimedOut::Phase(phase)),
        other => panic!("{other}"),
    }
}

fn a_slow_head(runtime: Runtime) {
    let server = start(runtime, Phase::Head);
    for begun in ["G", "GET / HTTP/1.1\r\nhost: a\r\n", &get("/")[..get("/").len() - 1]] {
        let mut peer = HttpPeer::connect(server.address);
        peer.ask(begun, refusal(TIMEOUT));
        peer.expect_end();
        assert_timed_out(&server, Phase::Head);
    }
    server.stop();
}

fn a_slow_head_behind_an_answer(runtime: Runtime) {
    let server = start(runtime, Phase::Head);
    let mut peer = HttpPeer::connect(server.address);
    peer.ask(get("/one"), ok("/one"));
    peer.ask([&get("/two"), "GET"].concat(), [ok("/two"), refusal(TIMEOUT)].concat());
    peer.expect_end();
    assert_timed_out(&server, Phase::Head);
    server.stop();
}

/// Sends a byte from time to time until it is answered. More bytes of the same are no reprieve.
fn trickle(peer: &mut HttpPeer, byte: u8) {
    let tick = Time::from_millis(10);
    peer.peer.socket.set_read_timeout(Some(tick)).unwrap();
    let begin = Instant::now();
    loop {
        assert!(begin.elapsed() < 100 * SHORT, "it goes on and on");
        match peer.peer.socket.peek(&mut [0]) {
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            _ => break,
        }
        peer.send([byte]);
    }
    peer.peer.socket.set_read_timeout(Some(crate::peer::GUARD)).unwrap();
}

fn a_head_that_trickles(runtime: Runtime) {
    let server = start(runtime, Phase::Head);
    let mut peer = HttpPeer::connect(server.address);
    peer.send("GET / HTTP/1.1\r\nhost: a\r\nx: ");
    trickle(&mut peer, b'x');
    peer.expect(refusal(TIMEOUT));
    assert_timed_out(&server, Phase::Head);
    drop(peer);
    server.stop();
}

fn a_slow_body(runtime: Runtime) {
    let server = start(runtime, Phase::Body);
    let request = post("/body/9", "hello");
    for begun in [
        &request[..request.len() - 5],
        &request[..request.len() - 1],
        &[post_chunked("/limit/9"), chunk("hello")].concat(),
        &[post_chunked("/limit/9"), chunk("hello"), "0\r\nx: y\r\n".into()].concat(),
    ] {
        let mut peer = HttpPeer::connect(server.address);
        peer.ask([&get("/before"), begun].concat(), [ok("/before"), refusal(TIMEOUT)].concat());
        peer.expect_end();
        assert_timed_out(&server, Phase::Body);
    }
    server.stop();
}

fn a_body_that_trickles(runtime: Runtime) {
    let server = start(runtime, Phase::Body);
    let mut peer = HttpPeer::connect(server.address);
    peer.send("POST /body/999999 HTTP/1.1\r\nhost: a\r\ncontent-length: 999999\r\n\r\n");
    trickle(&mut peer, b'x');
    peer.expect(refusal(TIMEOUT));
    assert_timed_out(&server, Phase::Body);
    drop(peer);
    server.stop();
}

fn a_body_that_was_asked_for(runtime: Runtime) {
    let server = start(runtime, Phase::Body);
    let mut peer = HttpPeer::connect(server.address);
    peer.ask(post_expecting("/body/9", 5), ["HTTP/1.1 100 Continue\r\n\r\n", &refusal(TIMEOUT)].concat());
    peer.expect_end();
    assert_timed_out(&server, Phase::Body);
    server.stop();
}

/// Nothing is put into the midst of a response; what there is of it is written.
fn a_slow_body_of_a_request_that_is_being_answered(runtime: Runtime) {
    let server = start(runtime, Phase::Body);
    let mut peer = HttpPeer::connect(server.address);
    peer.ask([post_chunked(target::ECHO), chunk("hello")].concat(), [OK_CHUNKED, &chunk("hello")].concat());
    peer.expect_end();
    assert_timed_out(&server, Phase::Body);
    server.stop();
}

fn a_slow_body_of_a_request_that_is_answered(runtime: Runtime) {
    let server = start(runtime, Phase::Body);
    let mut peer = HttpPeer::connect(server.address);
    let request = post(target::IGNORE, "hello");
    peer.ask(&request[..request.len() - 1], ok("ignored"));
    peer.expect_end();
    assert_timed_out(&server, Phase::Body);
    server.stop();
}

/// It is closed without a word: the answer would be taken for that to the next request.
fn an_idle_connection(runtime: Runtime) {
    let server = start(runtime, Phase::Idle);
    HttpPeer::connect(server.address).expect_end();
    assert_timed_out(&server, Phase::Idle);
    let mut peer = HttpPeer::connect(server.address);
    peer.ask(get("/one"), ok("/one"));
    peer.expect_end();
    assert_timed_out(&server, Phase::Idle);
    server.stop();
}

/// Bounds of the client are none of the handler's.
fn a_handler_that_takes_its_time(runtime: Runtime) {
    let (open, gate) = async_channel::unbounded();
    let timeouts = Timeouts::none().with(Phase::Head, Some(SHORT)).with(Phase::Body, Some(SHORT));
    let options = ServerOptions::default().with_timeouts(timeouts);
    let server = serve(runtime, listen(), options, Config::default(), Site::waiting_for(gate));
    let mut peer = HttpPeer::connect(server.address);
    let request = post(target::WAIT_INSIDE, "hello");
    // Its body is not there yet, and nobody asks for it.
    let (front, rest) = request.split_at(request.len() - 1);
    peer.ask(front, [OK_CHUNKED, &chunk("begun")].concat());
    // Time passes: that is what this is about.
    std::thread::sleep(2 * SHORT);
    open.send_blocking(()).unwrap();
    peer.ask(rest, LAST_CHUNK);
    peer.ask(get("/after"), ok("/after"));
    drop(peer);
    server.stop();
}

type Conn = Driver<Script, http1::Server>;

const SECOND: Time = Time::from_secs(1);

/// Over a script, with one bound of ten seconds.
fn conn(input: impl IntoIterator<Item = String>, phase: Phase) -> Conn {
    let input = input.into_iter().map(|text| if text.is_empty() { Input::Pending } else { Input::Bytes(text.into()) });
    let timeouts = Timeouts::none().with(phase, Some(10 * SECOND));
    Driver::new(Script::new(input), http1::Server::new(&Config::default())).with_timeouts(timeouts)
}

/// Answers `200` at the end of the next request.
async fn answer(conn: &mut Conn) -> Result<bool, Error<http1::Error>> {
    while let Some((event, out)) = conn.next().await? {
        if let ServerEvent::End(_) = event {
            out.machine.respond(200, NO_FIELDS, "", out.tx).unwrap();
            return Ok(true);
        }
    }
    Ok(false)
}

#[track_caller]
fn assert_cut_at(conn: &mut Conn, at: Time, phase: Phase, written: &str) {
    assert!(waits(answer(conn)));
    conn.outbox().io().unwrap().now = at - Time::from_millis(1);
    assert!(waits(answer(conn)), "too early");
    conn.outbox().io().unwrap().now = at;
    for _ in 0..3 {
        match now(answer(conn)) {
            Err(Error::TimedOut(timed_out)) => assert_eq!(timed_out, TimedOut::Phase(phase)),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(String::from_utf8_lossy(&conn.io().written), written);
}

/// A deadline is one for the whole head, and each head has its own.
#[test]
fn over_a_script_a_slow_head() {
    let [front, back] = [&get("/")[..5], &get("/")[5..]];
    let input = [front.into(), String::new(), back.into(), String::new(), front.into(), String::new(), "x".into()];
    let mut conn = conn(input, Phase::Head);
    assert!(waits(answer(&mut conn)));
    assert_eq!(conn.io().armed, Some(10 * SECOND));
    conn.outbox().io().unwrap().now = 9 * SECOND;
    assert!(now(answer(&mut conn)).unwrap());
    // Between requests there is no head to be slow.
    assert!(waits(answer(&mut conn)));
    conn.outbox().io().unwrap().now = 100 * SECOND;
    assert!(waits(answer(&mut conn)));
    conn.outbox().io().unwrap().now = 105 * SECOND;
    let answers = [ok(""), refusal(TIMEOUT)].concat();
    assert_cut_at(&mut conn, 110 * SECOND, Phase::Head, &answers);
}

#[test]
fn over_a_script_a_slow_body() {
    let request = post("/", "hello");
    let (front, back) = request.split_at(request.len() - 3);
    let mut conn = conn([front.into(), String::new(), back[..1].into()], Phase::Body);
    assert!(waits(answer(&mut conn)));
    conn.outbox().io().unwrap().now = 5 * SECOND;
    assert_cut_at(&mut conn, 10 * SECOND, Phase::Body, &refusal(TIMEOUT));
}

#[test]
fn over_a_script_an_idle_connection() {
    let mut conn = conn([String::new(), get("/"), String::new()], Phase::Idle);
    assert!(waits(answer(&mut conn)));
    conn.outbox().io().unwrap().now = 9 * SECOND;
    assert!(now(answer(&mut conn)).unwrap());
    assert_cut_at(&mut conn, 19 * SECOND, Phase::Idle, &ok(""));
}

/// `408` and then the end of writing; nobody waits for who is slow on purpose.
#[test]
fn over_a_script_the_calls_of_a_timeout() {
    for output in [Output::Takes(usize::MAX), Output::Blocked] {
        let mut conn = conn(["GET".into()], Phase::Head);
        assert!(waits(answer(&mut conn)));
        conn.outbox().io().unwrap().output = output;
        conn.outbox().io().unwrap().now = 10 * SECOND;
        conn.outbox().io().unwrap().take_calls();
        assert!(matches!(now(answer(&mut conn)), Err(Error::TimedOut(TimedOut::Phase(Phase::Head)))));
        let calls = conn.outbox().io().unwrap().take_calls();
        let length = refusal(TIMEOUT).len();
        match output {
            Output::Blocked => assert_eq!(calls, [Call::ReadPending, Call::WritePending]),
            _ => assert_eq!(calls, [Call::ReadPending, Call::Write(length, 1), Call::Flush, Call::Shutdown]),
        }
    }
}

/// On tokio's clock, which stands until everyone sleeps.
#[cfg(feature = "tokio")]
#[test]
fn on_a_paused_clock() {
    use bytewise_net::Transport;
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt, duplex},
        time::{pause, sleep},
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (mut client, server) = duplex(1000);
        let io = bytewise_net::tokio::Stream::new(server);
        // Times are counted from the first one that is asked for.
        let _ = io.now();
        pause();
        let timeouts = Timeouts::default();
        let conn = Driver::new(io, http1::Server::new(&Config::default())).with_timeouts(timeouts);
        let server = tokio::spawn(crate::http_handlers::tasks::handle(conn, Site::default()));
        client.write_all(get("/one").as_bytes()).await.unwrap();
        // The defaults: 2 min between requests, 30 s for a head.
        sleep(119 * SECOND).await;
        client.write_all(b"GET /two").await.unwrap();
        sleep(29 * SECOND).await;
        client.write_all(b" HTTP/1.1\r\nhost: a\r\n\r\nGET").await.unwrap();
        let begin = tokio::time::Instant::now();
        let mut answers = String::new();
        client.read_to_string(&mut answers).await.unwrap();
        assert_eq!(answers, [ok("/one"), ok("/two"), refusal(TIMEOUT)].concat());
        assert!((29 * SECOND..31 * SECOND).contains(&begin.elapsed()), "{:?}", begin.elapsed());
        server.await.unwrap().unwrap_err();
    });
}
