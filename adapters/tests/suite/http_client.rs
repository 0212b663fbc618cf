//! The client's side: what it sends to a server that is played, and what it makes of the answers.

use crate::{
    http_clients::{
        Do::{self, *},
        connect, converse,
    },
    http_handlers::target,
    http_peer::{CONTINUE, HttpPeer, LAST_CHUNK, OK_CHUNKED, chunk, get, ok, ok_and_close, post, post_chunked},
    http_server::start,
    peer::frame,
    server::Runtime,
};
use bytewise::{
    Phase, Time, Timeouts,
    http1::{BodyLength, Config},
};
use bytewise_net::ClientOptions;

on_every_runtime!(
    one_after_another,
    requests_of_all_kinds,
    the_last_request,
    bodies_of_all_kinds,
    responses_without_a_body,
    a_body_that_ends_with_the_connection,
    a_body_that_breaks_off,
    what_is_left_of_a_response,
    a_body_above_its_limit,
    interim_responses,
    one_at_a_time,
    pipelined,
    pipelined_and_closed,
    a_body_sent_while_the_response_comes,
    a_response_before_the_request_has_ended,
    a_final_response_and_the_end_before_the_request_has_ended,
    the_server_closes_between_requests,
    the_server_says_that_it_closes,
    the_server_closes_instead_of_answering,
    unsolicited_input,
    what_is_no_response,
    a_server_that_never_answers,
    a_server_that_never_ends,
    a_server_that_is_silent_between_requests,
    switching,
    switching_is_refused,
    with_a_server_of_ours,
);

/// The log of `plan` with everything as it is by default.
#[track_caller]
fn by_default(runtime: Runtime, plan: &[Do], server: impl FnOnce(HttpPeer) + Send) -> String {
    converse(runtime, &Config::default(), &ClientOptions::default(), plan, server)
}

const GET: Do = Ask("GET", "/", "");

fn one_after_another(runtime: Runtime) {
    let plan =
        [Reusable, Ask("GET", "/1", ""), Reusable, Answer(9), Reusable, Ask("GET", "/2", ""), Answer(9), Reusable];
    let log = by_default(runtime, &plan, |mut peer| {
        peer.expect(get("/1"));
        peer.send(ok("one"));
        peer.expect(get("/2"));
        for byte in ok("two").bytes() {
            peer.send([byte]);
        }
        peer.expect_end();
    });
    assert_eq!(log, "reusable spent 200 {one} reusable 200 {two} reusable");
}

fn requests_of_all_kinds(runtime: Runtime) {
    let plan = [
        Ask("POST", "/whole", "hello"),
        Answer(0),
        Ask("POST", "/empty", ""),
        Answer(0),
        Begin("/length", BodyLength::Length(10)),
        Data("hello"),
        Data("world"),
        Data("!"),
        End("", ""),
        Answer(0),
        Begin("/chunks", BodyLength::Chunked),
        Data("hello"),
        Flush,
        Data("world"),
        End("x-sum", "7"),
        Answer(0),
        Begin("/none", BodyLength::None),
        End("", ""),
        Answer(0),
        Reusable,
    ];
    let log = by_default(runtime, &plan, |mut peer| {
        for request in [
            post("/whole", "hello"),
            post("/empty", ""),
            post("/length", "helloworld"),
            [&post_chunked("/chunks"), &*chunk("hello"), &chunk("world"), "0\r\nx-sum: 7\r\n\r\n"].concat(),
            "POST /none HTTP/1.1\r\nhost: a\r\n\r\n".into(),
        ] {
            peer.expect(request);
            peer.send(ok(""));
        }
    });
    assert_eq!(log, "200 {} 200 {} !BodyTooLong 200 {} 200 {} 200 {} reusable");
}

fn the_last_request(runtime: Runtime) {
    let plan = [Last, GET, GET, Answer(9), Reusable, GET, Answer(9)];
    let log = by_default(runtime, &plan, |mut peer| {
        peer.expect("GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n");
        // A server that does not mind.
        peer.send(ok("last"));
        peer.expect_end();
    });
    assert_eq!(log, "!State 200 {last} spent !State none");
}

fn bodies_of_all_kinds(runtime: Runtime) {
    let plan = [GET, Answer(99), GET, Answer(99), GET, Pieces, GET, Pieces, GET, Answer(1 << 20), Reusable];
    let log = by_default(runtime, &plan, |mut peer| {
        let chunks = [OK_CHUNKED, &chunk("hello, "), &chunk("world"), "0\r\nX-Sum: 7\r\nhost: no\r\n\r\n"].concat();
        for answer in [&ok(""), &chunks, &ok("pieces"), &chunks, &ok(&"x".repeat(1 << 20))] {
            peer.expect(get("/"));
            peer.send(answer);
        }
        peer.expect_end();
    });
    assert_eq!(
        log,
        "200 {} 200 {hello, world} (X-Sum=7) 200 {pieces} 200 {hello, } {world} (X-Sum=7) 200 {1048576 bytes} reusable"
    );
}

/// Whatever their heads announce (RFC 9112, section 6.3).
fn responses_without_a_body(runtime: Runtime) {
    let plan = [Ask("HEAD", "/", ""), Answer(9), GET, Answer(9), GET, Answer(9), GET, Answer(9), Reusable];
    let log = by_default(runtime, &plan, |mut peer| {
        peer.expect(get("/").replace("GET", "HEAD"));
        peer.send("HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n");
        peer.expect(get("/"));
        peer.send("HTTP/1.1 204 No Content\r\n\r\n");
        peer.expect(get("/"));
        peer.send("HTTP/1.1 304 Not Modified\r\ncontent-length: 1000\r\n\r\n");
        peer.expect(get("/"));
        peer.send(ok("after"));
    });
    assert_eq!(log, "200 {} 204 {} 304 {} 200 {after} reusable");
}

fn a_body_that_ends_with_the_connection(runtime: Runtime) {
    for (plan, expected) in [
        ([GET, Answer(99), Reusable, GET, Answer(9)], "200 {up to the end} spent !State none"),
        ([GET, Answer(5), Reusable, GET, Answer(9)], "200 !BodyTooLong spent !State !BodyTooLong"),
    ] {
        let log = by_default(runtime, &plan, |mut peer| {
            peer.expect(get("/"));
            peer.send("HTTP/1.1 200 OK\r\n\r\nup to the end");
        });
        assert_eq!(log, expected);
    }
}

/// Whatever told of its end, it is not taken for whole.
fn a_body_that_breaks_off(runtime: Runtime) {
    let broken = |answer: &'static str, reset: bool| {
        let log = by_default(runtime, &[GET, Head, Answer(99), Answer(99), Reusable], move |mut peer| {
            peer.expect(get("/"));
            peer.send(answer);
            if reset {
                peer.reset();
            }
        });
        assert!(log.ends_with("spent"), "{log}");
        log
    };
    let log = broken("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhello", false);
    assert_eq!(
        log,
        "200 !UnexpectedEof { seen: 5, expected: Some(10) } !UnexpectedEof { seen: 5, expected: Some(10) } spent"
    );
    let log = broken("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n", false);
    assert_eq!(log, "200 !UnexpectedEof { seen: 5, expected: None } !UnexpectedEof { seen: 5, expected: None } spent");
    let log = broken("HTTP/1.1 200 OK\r\n\r\nhello", true);
    assert_eq!(log, "200 !UnexpectedEof { seen: 5, expected: None } !UnexpectedEof { seen: 5, expected: None } spent");
    let log = broken("HTTP/1.1 200 OK\r\nx: y\r\n", false);
    assert!(log.starts_with("!UnexpectedEof"), "{log}");
}

/// It is read over before the next one.
fn what_is_left_of_a_response(runtime: Runtime) {
    let plan = [GET, Head, Reusable, GET, Head, GET, Answer(9), Reusable];
    let log = by_default(runtime, &plan, |mut peer| {
        peer.expect(get("/"));
        peer.send(ok(&"x".repeat(100_000)));
        peer.expect(get("/"));
        peer.send([OK_CHUNKED, &chunk("left"), LAST_CHUNK].concat());
        peer.expect(get("/"));
        peer.send(ok("whole"));
    });
    assert_eq!(log, "200 spent 200 200 {whole} reusable");
}

fn a_body_above_its_limit(runtime: Runtime) {
    for answer in [ok("hello!"), [OK_CHUNKED, &chunk("hello"), &chunk("!"), LAST_CHUNK].concat()] {
        let log = by_default(runtime, &[GET, Answer(6), GET, Answer(5), Reusable], move |mut peer| {
            peer.expect(get("/"));
            peer.send(&answer);
            peer.expect(get("/"));
            peer.send(&answer);
        });
        assert_eq!(log, "200 {hello!} 200 !BodyTooLong spent");
    }
}

fn interim_responses(runtime: Runtime) {
    let hints = "HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n";
    let plan = [GET, Answer(9), GET, Event, Event, Event, Event, Event, Reusable];
    let log = by_default(runtime, &plan, |mut peer| {
        peer.expect(get("/"));
        peer.send([CONTINUE, hints, &ok("final")].concat());
        peer.expect(get("/"));
        peer.send([CONTINUE, hints, &ok("final")].concat());
    });
    assert_eq!(log, "200 {final} (100) (103) 200 {final} end reusable");
    let log = by_default(runtime, &[GET, Answer(9), Reusable], |mut peer| {
        peer.expect(get("/"));
        peer.send(hints.repeat(17));
    });
    assert_eq!(log, "!TooManyInterim spent");
}

fn one_at_a_time(runtime: Runtime) {
    let log = by_default(runtime, &[GET, GET, Answer(9), GET, Answer(9)], |mut peer| {
        for i in 0..2 {
            peer.expect(get("/"));
            assert!(peer.peer.has_nothing());
            peer.send(ok(&i.to_string()));
        }
        peer.expect_end();
    });
    assert_eq!(log, "!Outstanding 200 {0} 200 {1}");
}

fn pipelined(runtime: Runtime) {
    let mut plan = vec![GET; 17];
    plan.extend([Answer(9), GET, GET]);
    plan.extend(vec![Answer(9); 17]);
    plan.push(Reusable);
    let config = Config::default().with_max_outstanding(16);
    let log = converse(runtime, &config, &ClientOptions::default(), &plan, |mut peer| {
        peer.expect(get("/").repeat(16));
        peer.send((0..16).map(|i| ok(&i.to_string())).collect::<String>());
        peer.expect(get("/"));
        peer.send(ok("16"));
    });
    let answers: String = (1..17).map(|i| format!("200 {{{i}}} ")).collect();
    // The seventeenth has to wait for an answer, and then there is none to the eighteenth.
    assert_eq!(log, format!("!Outstanding 200 {{0}} !Outstanding {answers}none spent"));
}

/// What is behind the last answer is not answered, and that is told (RFC 9112, section 9.6).
fn pipelined_and_closed(runtime: Runtime) {
    let plan = [GET, GET, GET, Answer(9), Answer(9), Answer(9), Reusable];
    let config = Config::default().with_max_outstanding(3);
    let log = converse(runtime, &config, &ClientOptions::default(), &plan, |mut peer| {
        peer.expect(get("/").repeat(3));
        peer.send([ok("one"), ok_and_close("two")].concat());
        peer.expect_end();
    });
    let unanswered = "!UnexpectedEof { seen: 0, expected: None }";
    assert_eq!(log, format!("200 {{one}} 200 {{two}} {unanswered} spent"));
}

fn a_body_sent_while_the_response_comes(runtime: Runtime) {
    let plan = [Begin("/", BodyLength::Chunked), PingPong(3), Reusable];
    let log = by_default(runtime, &plan, |mut peer| {
        peer.expect(post_chunked("/"));
        peer.send(OK_CHUNKED);
        for piece in ["one", "two", "three"] {
            peer.send(chunk(piece));
            peer.expect(chunk(piece));
        }
        peer.expect(LAST_CHUNK);
        peer.send([&*chunk("end"), LAST_CHUNK].concat());
        peer.expect_end();
    });
    assert_eq!(log, "200 {end} reusable");
}

/// The connection can be used again when the request has ended, too.
fn a_response_before_the_request_has_ended(runtime: Runtime) {
    let plan = [
        Begin("/", BodyLength::Length(10)),
        Data("hello"),
        Answer(9),
        Reusable,
        Data("world"),
        End("", ""),
        Reusable,
        GET,
        Answer(9),
    ];
    let log = by_default(runtime, &plan, |mut peer| {
        peer.expect(&post("/", "helloworld")[..post("/", "helloworld").len() - 5]);
        peer.send(ok("early"));
        peer.expect(["world", &get("/")].concat());
        peer.send(ok("after"));
    });
    assert_eq!(log, "200 {early} spent reusable 200 {after}");
}

/// The server reads no more, and resets the connection: its answer, which had come before, is not lost.
fn a_final_response_and_the_end_before_the_request_has_ended(runtime: Runtime) {
    let plan = [Begin("/", BodyLength::Chunked), Kibibytes(64 * 1024), Answer(9), Answer(9), Reusable];
    let log = by_default(runtime, &plan, |mut peer| {
        peer.expect(post_chunked("/"));
        peer.send("HTTP/1.1 413 Content Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\r\n");
        peer.reset();
    });
    let failed = ["!BrokenPipe", "!ConnectionReset"].iter().any(|failed| log.starts_with(failed));
    assert!(failed && log[1..].contains(" 413 {}"), "{log}");
}

fn the_server_closes_between_requests(runtime: Runtime) {
    let plan = [GET, Answer(9), Reusable, Event, Reusable, GET, Answer(9)];
    let log = by_default(runtime, &plan, |mut peer| {
        peer.expect(get("/"));
        peer.send(ok("last"));
    });
    assert_eq!(log, "200 {last} reusable none spent !State none");
}

fn the_server_says_that_it_closes(runtime: Runtime) {
    for answer in [ok_and_close("last"), "HTTP/1.0 200 OK\r\ncontent-length: 4\r\n\r\nlast".into()] {
        let log = by_default(runtime, &[GET, Answer(9), Reusable, GET, Answer(9)], move |mut peer| {
            peer.expect(get("/"));
            peer.send(answer);
            peer.expect_end();
        });
        assert_eq!(log, "200 {last} spent !State none");
    }
}

/// Which is not the end of a connection that nobody asked anything.
fn the_server_closes_instead_of_answering(runtime: Runtime) {
    let log = by_default(runtime, &[GET, Answer(9), Answer(9), Reusable], |mut peer| peer.expect(get("/")));
    let unanswered = "!UnexpectedEof { seen: 0, expected: None }";
    assert_eq!(log, format!("{unanswered} {unanswered} spent"));
    let log = by_default(runtime, &[Event, Answer(9), Reusable], drop);
    assert_eq!(log, "none none spent");
}

/// It could be taken for the answer to the next request.
fn unsolicited_input(runtime: Runtime) {
    let log = by_default(runtime, &[Answer(9), Reusable, GET], |mut peer| {
        peer.send(ok("nobody asked"));
    });
    assert_eq!(log, "!Unsolicited spent !State");
    let log = by_default(runtime, &[GET, Answer(9), Event, Reusable], |mut peer| {
        peer.expect(get("/"));
        peer.send([&ok("one"), "two"].concat());
    });
    assert_eq!(log, "200 {one} !Unsolicited spent");
    let log = by_default(runtime, &[Ask("HEAD", "/", ""), Answer(9), Event, Reusable], |mut peer| {
        peer.expect("HEAD");
        peer.send(ok("a body that cannot be"));
    });
    assert_eq!(log, "200 {} !Unsolicited spent");
}

fn what_is_no_response(runtime: Runtime) {
    for (answer, error) in [
        ("HTTP/1.1 200 OK\n\r\n", "!BareLf"),
        ("SSH-2.0-OpenSSH_9.2\r\n", "!StartLine"),
        ("\x15\x03\x01", "!StartLine"),
        ("HTTP/2.0 200 OK\r\n", "!Version"),
        ("HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n", "!ContentLength"),
        ("HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n", "!Unsolicited"),
    ] {
        let log = by_default(runtime, &[GET, Answer(9), Answer(9), Reusable], move |mut peer| {
            peer.expect(get("/"));
            peer.send(answer);
            peer.expect_end();
        });
        assert_eq!(log, format!("{error} {error} spent"), "{answer:?}");
    }
}

fn bounded(phase: Phase) -> ClientOptions {
    ClientOptions::default().with_timeouts(Timeouts::none().with(phase, Some(Time::from_millis(150))))
}

fn a_server_that_never_answers(runtime: Runtime) {
    for begun in ["", "HTTP/1.1 200 OK\r\n", CONTINUE] {
        let plan = [GET, Answer(9), Answer(9), Reusable];
        let log = converse(runtime, &Config::default(), &bounded(Phase::Head), &plan, |mut peer| {
            peer.expect(get("/"));
            peer.send(begun);
            peer.expect_end();
        });
        // Nobody takes what comes later for the answer to another request.
        assert_eq!(log, "!Phase(Head) !Phase(Head) spent");
    }
}

fn a_server_that_never_ends(runtime: Runtime) {
    for begun in [&ok("hello")[..ok("hello").len() - 1], OK_CHUNKED, "HTTP/1.1 200 OK\r\n\r\nhello"] {
        let plan = [GET, Answer(9), Answer(9), Reusable];
        let log = converse(runtime, &Config::default(), &bounded(Phase::Body), &plan, |mut peer| {
            peer.expect(get("/"));
            peer.send(begun);
            peer.expect_end();
        });
        assert_eq!(log, "200 !Phase(Body) !Phase(Body) spent");
    }
}

fn a_server_that_is_silent_between_requests(runtime: Runtime) {
    let plan = [GET, Answer(9), Event];
    let log = converse(runtime, &Config::default(), &bounded(Phase::Idle), &plan, |mut peer| {
        peer.expect(get("/"));
        peer.send(ok("one"));
        peer.expect_end();
    });
    assert_eq!(log, "200 {one} !Phase(Idle)");
}

const SWITCHES: &str = "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: frames\r\n\r\n";

/// What comes behind the head belongs to the next protocol.
fn switching(runtime: Runtime) {
    let upgrade = "GET / HTTP/1.1\r\nhost: a\r\nupgrade: frames\r\nconnection: upgrade\r\n\r\n";
    let plan = [AskWith("GET", "/", ("upgrade", "frames")), GET, Answer(9), NextIo, Reusable, EchoFrame];
    let log = by_default(runtime, &plan, |mut peer| {
        peer.expect(upgrade);
        peer.send([SWITCHES.as_bytes(), &frame(b"hello")].concat());
        peer.expect(frame(b"hello"));
        peer.expect_end();
    });
    assert_eq!(log, "!Outstanding none Switched spent");
    let plan = [Ask("CONNECT", "a:1", ""), Event, NextIo, EchoFrame];
    let log = by_default(runtime, &plan, |mut peer| {
        peer.expect("CONNECT a:1 HTTP/1.1\r\nhost: a\r\n\r\n");
        peer.send([b"HTTP/1.1 200 OK\r\n\r\n", &*frame(b"hello")].concat());
        peer.expect(frame(b"hello"));
        peer.expect_end();
    });
    assert_eq!(log, "switched 200 Switched");
}

fn switching_is_refused(runtime: Runtime) {
    let plan = [AskWith("GET", "/", ("upgrade", "frames")), Answer(9), Reusable, GET, Answer(9)];
    let log = by_default(runtime, &plan, |mut peer| {
        peer.read_to("\r\n\r\n");
        peer.send(ok("no"));
        peer.expect(get("/"));
        peer.send(ok("after"));
    });
    assert_eq!(log, "200 {no} reusable 200 {after}");
}

/// Both sides are ours: nothing is played.
fn with_a_server_of_ours(runtime: Runtime) {
    let server = start(runtime);
    let mut plan = vec![
        Ask("POST", "/body/99", "hello"),
        Ask("GET", "/stream/100", ""),
        Ask("HEAD", "/stream/100", ""),
        Ask("GET", target::HINTS, ""),
        Begin("/limit/99999999", BodyLength::Chunked),
        Kibibytes(10_000),
        End("", ""),
        Ask("GET", target::SHORT, ""),
    ];
    plan.extend(vec![Answer(1 << 22); 6]);
    plan.push(Reusable);
    let config = Config::default().with_max_outstanding(16);
    let log = connect(runtime, server.address.port(), &config, &ClientOptions::default(), &plan);
    let short = "200 !UnexpectedEof { seen: 0, expected: Some(10) }";
    assert_eq!(log, format!("200 {{5}} 200 {{1638400 bytes}} 200 {{}} 200 {{hinted}} 200 {{10240000}} {short} spent"));
    server.stop();
}
