//! What a caller can do wrong: each is refused, and leaves the connection and what is queued as they were.

use crate::{GET, asked, drained, http1};
use bytewise::{
    Machine, RecvBuf, SendBuf,
    http1::{BodyLength, Client, Config, Misuse, NO_FIELDS, Server},
};
use std::fmt::Debug;

/// Brings a machine into a state twice and misuses one of them: it has to be refused so, and afterwards the two are the same,
/// and so is what they have queued.
#[track_caller]
fn refused<M: Debug>(
    state: impl Fn(&mut SendBuf) -> M,
    call: impl FnOnce(&mut M, &mut SendBuf) -> Result<(), Misuse>,
    expected: Misuse,
) {
    let (mut tx, mut untouched) = (SendBuf::new(), SendBuf::new());
    let (mut machine, same) = (state(&mut tx), state(&mut untouched));
    for tx in [&mut tx, &mut untouched] {
        // Behind a hole there is nothing to be appended to.
        tx.put("queued");
        tx.put_external(7);
    }
    assert_eq!(call(&mut machine, &mut tx), Err(expected));
    assert_eq!(format!("{machine:?}"), format!("{same:?}"), "{expected:?} changed the connection");
    assert_eq!(drained(&mut tx), drained(&mut untouched), "{expected:?} changed what is queued");
}

/// The same with a server that was sent this.
#[track_caller]
fn refused_by_server(
    input: &str,
    call: impl FnOnce(&mut Server, &mut SendBuf) -> Result<(), Misuse>,
    expected: Misuse,
) {
    refused(|tx| server(input, |_, _| {}, tx), call, expected);
}

/// The same with a client that has sent nothing.
#[track_caller]
fn refused_by_client(call: impl FnOnce(&mut Client, &mut SendBuf) -> Result<(), Misuse>, expected: Misuse) {
    refused(|_| Client::new(&Config::default()), call, expected);
}

fn server(input: &str, begin: impl Fn(&mut Server, &mut SendBuf), tx: &mut SendBuf) -> Server {
    let (mut http, _, mut sent) = asked(input);
    if !sent.is_empty() {
        tx.put(drained(&mut sent));
    }
    begin(&mut http, tx);
    http
}

fn client(input: &str, begin: impl Fn(&mut Client, &mut SendBuf), tx: &mut SendBuf) -> Client {
    let (mut http, mut rx) = (Client::new(&Config::default()), RecvBuf::new());
    begin(&mut http, tx);
    rx.push(input.as_bytes());
    while let Ok(Some(_)) = http.next_event(&mut rx, tx) {}
    http
}

const CHUNKS: BodyLength = BodyLength::Chunked;
const HOST: [(&str, &str); 1] = [("host", "a")];
const CONNECT: &str = "CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n";
const UPGRADE: &str = "GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n";
const POST: &str = "POST / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: x\r\nContent-Length: 9\r\n\r\n";

/// A call and its name.
type Call<'a, M> = (&'a str, &'a dyn Fn(&mut M, &mut SendBuf) -> Result<(), Misuse>);

/// Which call is possible in which state: `-` is, the others are refused.
#[test]
fn states_of_a_server() {
    let trailer = [("x", "y")];
    type Begin = fn(&mut Server, &mut SendBuf);
    let states: [(&str, &str, Begin, &str); 11] = [
        ("nothing asked", "", |_, _| {}, "State State State State State State State - BodyForbidden"),
        ("a head begun", "GET", |_, _| {}, "State State State State State State State - BodyForbidden"),
        ("asked", GET, |_, _| {}, "- - - Status Status State State State State"),
        ("asked to connect", CONNECT, |_, _| {}, "Status Status - Status - State State State State"),
        ("asked to upgrade", UPGRADE, |_, _| {}, "- - - - Status State State State State"),
        ("asked, with a body to come", POST, |_, _| {}, "- - - State State State State State State"),
        (
            "a length begun",
            GET,
            |h, tx| h.send_response(200, NO_FIELDS, BodyLength::Length(1), tx).unwrap(),
            "State State State State State - - BodyTooShort BodyTooShort",
        ),
        (
            "chunks begun",
            GET,
            |h, tx| h.send_response(200, NO_FIELDS, CHUNKS, tx).unwrap(),
            "State State State State State - - - -",
        ),
        (
            "answered",
            GET,
            |h, tx| h.respond(200, NO_FIELDS, "", tx).unwrap(),
            "State State State State State State State - BodyForbidden",
        ),
        (
            "switched",
            CONNECT,
            |h, tx| h.switch(200, NO_FIELDS, tx).unwrap(),
            "State State State State State State State - BodyForbidden",
        ),
        ("given up", GET, |h, _| h.abort(), "State State State State State State State - BodyForbidden"),
    ];
    for (name, input, begin, expected) in states {
        let calls: [Call<'_, Server>; 9] = [
            ("respond", &|h, tx| h.respond(200, NO_FIELDS, "", tx)),
            ("send_response", &|h, tx| h.send_response(200, NO_FIELDS, CHUNKS, tx)),
            ("send_informational", &|h, tx| h.send_informational(103, NO_FIELDS, tx)),
            ("switch to 101", &|h, tx| h.switch(101, NO_FIELDS, tx)),
            ("switch to 200", &|h, tx| h.switch(200, NO_FIELDS, tx)),
            ("send_data", &|h, tx| h.send_data("x", tx)),
            ("announce_data", &|h, tx| h.announce_data(1, tx)),
            ("send_end", &|h, tx| h.send_end(NO_FIELDS, tx)),
            ("send_end with trailers", &|h, tx| h.send_end(trailer, tx)),
        ];
        hold(name, |tx| server(input, begin, tx), &calls, expected);
    }
}

#[test]
fn states_of_a_client() {
    let trailer = [("x", "y")];
    type Begin = fn(&mut Client, &mut SendBuf);
    let get: Begin = |h, tx| h.request("GET", "/", HOST, "", tx).unwrap();
    let states: [(&str, &str, Begin, &str); 13] = [
        ("new", "", |_, _| {}, "- - State State - BodyForbidden"),
        ("unanswered", "", get, "Outstanding Outstanding State State - BodyForbidden"),
        ("half answered", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n", get, "- - State State - BodyForbidden"),
        ("answered", "HTTP/1.1 204 N\r\n\r\n", get, "- - State State - BodyForbidden"),
        (
            "half answered, by a server that closes",
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: close\r\n\r\n",
            get,
            "State State State State - BodyForbidden",
        ),
        ("answered until close", "HTTP/1.1 200 OK\r\n\r\n", get, "State State State State - BodyForbidden"),
        (
            "answered by one that closes",
            "HTTP/1.1 204 N\r\nConnection: close\r\n\r\n",
            get,
            "State State State State - BodyForbidden",
        ),
        ("failed", "SSH", get, "State State State State - BodyForbidden"),
        (
            "a length begun",
            "",
            |h, tx| h.send_request("PUT", "/", HOST, BodyLength::Length(1), tx).unwrap(),
            "State State - - BodyTooShort BodyTooShort",
        ),
        ("chunks begun", "", |h, tx| h.send_request("PUT", "/", HOST, CHUNKS, tx).unwrap(), "State State - - - -"),
        (
            "chunks begun, and shut down",
            "",
            |h, tx| {
                h.send_request("PUT", "/", HOST, CHUNKS, tx).unwrap();
                h.shut_down(tx);
            },
            "State State - - - -",
        ),
        (
            "the last one sent",
            "HTTP/1.1 204 N\r\n\r\n",
            |h, tx| {
                h.close_after_next();
                h.request("GET", "/", HOST, "", tx).unwrap();
            },
            "State State State State - BodyForbidden",
        ),
        (
            "switched",
            "HTTP/1.1 200 OK\r\n\r\n",
            |h, tx| h.request("CONNECT", "a:1", HOST, "", tx).unwrap(),
            "State State State State - BodyForbidden",
        ),
    ];
    for (name, input, begin, expected) in states {
        let calls: [Call<'_, Client>; 6] = [
            ("request", &|h, tx| h.request("GET", "/", HOST, "", tx)),
            ("send_request", &|h, tx| h.send_request("GET", "/", HOST, CHUNKS, tx)),
            ("send_data", &|h, tx| h.send_data("x", tx)),
            ("announce_data", &|h, tx| h.announce_data(1, tx)),
            ("send_end", &|h, tx| h.send_end(NO_FIELDS, tx)),
            ("send_end with trailers", &|h, tx| h.send_end(trailer, tx)),
        ];
        hold(name, |tx| client(input, begin, tx), &calls, expected);
    }
}

/// Holds calls in one state against what is expected of each.
#[track_caller]
fn hold<M: Debug>(name: &str, state: impl Fn(&mut SendBuf) -> M, calls: &[Call<'_, M>], expected: &str) {
    let mut got = Vec::new();
    for (_, call) in calls {
        let mut tx = SendBuf::new();
        match call(&mut state(&mut tx), &mut tx) {
            Ok(()) => got.push("-".to_owned()),
            Err(misuse) => {
                got.push(format!("{misuse:?}"));
                refused(&state, call, misuse);
            }
        }
    }
    let names: Vec<&str> = calls.iter().map(|(name, _)| *name).collect();
    assert_eq!(got.join(" "), expected, "{name}: {}", names.join(", "));
}

/// A request that waits for a switch is followed by the other protocol only.
#[test]
fn behind_a_switch() {
    for (method, target, fields) in
        [("GET", "/", vec![("host", "a"), ("upgrade", "x")]), ("CONNECT", "a:1", vec![("host", "a")])]
    {
        let state = |tx: &mut SendBuf| {
            let mut http = Client::new(&Config::default().with_max_outstanding(3));
            http.request("GET", "/", HOST, "", tx).unwrap();
            http.request(method, target, fields.iter().copied(), "", tx).unwrap();
            http
        };
        refused(state, |h, tx| h.request("GET", "/", HOST, "", tx), Misuse::State);
    }
}

/// RFC 9110, sections 5.1, 5.5 and 5.6.2; RFC 9112, section 11.1: what could be taken for a line end or another field, and
/// what the core writes itself. (H36)
#[test]
fn fields() {
    let malformed = [
        ("x", "12 \r\n\r\naaa:aaa"),
        ("x", "a\rb"),
        ("x", "a\nb"),
        ("x", "a\0b"),
        ("x", "a\x01b"),
        ("x", "a\x7Fb"),
        ("x", "a\r\n b"),
        ("x", "\n"),
        ("x y", "a"),
        ("", "a"),
        ("x:", "a"),
        (" x", "a"),
        ("x\r\n", "a"),
        ("x\r\ny: z\r\nq", "a"),
        ("x\0", "a"),
        ("\u{fc}", "a"),
    ];
    let reserved = [
        ("content-length", "1"),
        ("Content-Length", "0"),
        ("Transfer-Encoding", "chunked"),
        ("transfer-encoding", "identity"),
        ("Connection", "close"),
        ("connection", ""),
    ];
    for bad in malformed.into_iter().chain(reserved) {
        let fields = [("good", "one"), bad, ("good", "two")];
        refused_by_server(GET, |h, tx| h.respond(200, fields, "body", tx), Misuse::Field);
        refused_by_server(GET, |h, tx| h.respond(200, fields, vec![b'x'; 9999], tx), Misuse::Field);
        refused_by_server(GET, |h, tx| h.send_response(200, fields, CHUNKS, tx), Misuse::Field);
        refused_by_server(GET, |h, tx| h.send_informational(103, fields, tx), Misuse::Field);
        refused_by_server(&GET.replace("1.1", "1.0"), |h, tx| h.send_informational(103, fields, tx), Misuse::Field);
        if !bad.0.eq_ignore_ascii_case("connection") {
            refused_by_server(UPGRADE, |h, tx| h.switch(101, fields, tx), Misuse::Field);
        }
        let with_host = HOST.into_iter().chain(fields);
        refused_by_client(|h, tx| h.request("GET", "/", with_host.clone(), "body", tx), Misuse::Field);
        refused_by_client(|h, tx| h.send_request("GET", "/", with_host, CHUNKS, tx), Misuse::Field);

        let begun = |tx: &mut SendBuf| server(GET, |h, tx| h.send_response(200, NO_FIELDS, CHUNKS, tx).unwrap(), tx);
        refused(begun, |h, tx| h.send_end(fields, tx), Misuse::Field);
        let begun = |tx: &mut SendBuf| client("", |h, tx| h.send_request("PUT", "/", HOST, CHUNKS, tx).unwrap(), tx);
        refused(begun, |h, tx| h.send_end(fields, tx), Misuse::Field);
    }
}

/// RFC 9110, section 6.5.1.
#[test]
fn fields_that_must_not_be_trailers() {
    let names = [
        "host",
        "Trailer",
        "TE",
        "upgrade",
        "Keep-Alive",
        "Proxy-Connection",
        "content-type",
        "Content-Encoding",
        "Content-Range",
        "Cache-Control",
        "Authorization",
        "Proxy-Authorization",
        "WWW-Authenticate",
        "Set-Cookie",
        "Cookie",
        "Expect",
        "Max-Forwards",
        "Range",
        "Date",
        "Expires",
        "Location",
        "Retry-After",
        "Vary",
        "Age",
        "Pragma",
        "Warning",
    ];
    for name in names {
        let begun = |tx: &mut SendBuf| server(GET, |h, tx| h.send_response(200, NO_FIELDS, CHUNKS, tx).unwrap(), tx);
        refused(begun, |h, tx| h.send_end([("x", "y"), (name, "z")], tx), Misuse::Field);
    }
}

/// RFC 9112, section 3.2.
#[test]
fn hosts() {
    refused_by_client(|h, tx| h.request("GET", "/", NO_FIELDS, "", tx), Misuse::Field);
    refused_by_client(|h, tx| h.request("GET", "/", [("host", "a"), ("Host", "a")], "", tx), Misuse::Field);
    refused_by_client(|h, tx| h.request("CONNECT", "a:1", NO_FIELDS, "", tx), Misuse::Field);
    refused_by_client(|h, tx| h.send_request("GET", "/", NO_FIELDS, CHUNKS, tx), Misuse::Field);
}

/// RFC 9112, section 3.
#[test]
fn request_lines() {
    let methods = ["", " ", "G T", "GET ", "GET\r\n", "G\0T", "GET:", "G\u{fc}T", "GET / HTTP/1.1\r\nx: y\r\n\r\nGET"];
    for method in methods {
        refused_by_client(|h, tx| h.request(method, "/", HOST, "", tx), Misuse::RequestLine);
    }
    let targets = [
        "",
        " ",
        "/ x",
        "/\r\n",
        "/ HTTP/1.1\r\nx: y\r\n\r\n",
        "/\0",
        "/\t",
        "/\u{fc}",
        "/\u{7f}",
        "/#a",
        "a",
        "*",
        "a:443",
        "http://",
        "http://u@a/",
        "/\"",
        "/<",
    ];
    for target in targets {
        refused_by_client(|h, tx| h.request("GET", target, HOST, "", tx), Misuse::RequestLine);
        refused_by_client(|h, tx| h.send_request("GET", target, HOST, CHUNKS, tx), Misuse::RequestLine);
    }
    for target in ["/", "a", "a:", ":1", "*", "http://a:1", "a:1/", "[::1]", "u@a:1"] {
        refused_by_client(|h, tx| h.request("CONNECT", target, HOST, "", tx), Misuse::RequestLine);
    }
}

/// RFC 9110, section 15.
#[test]
fn statuses() {
    for status in [0, 1, 99, 100, 101, 103, 199, 1000, 9999, u16::MAX] {
        refused_by_server(GET, |h, tx| h.respond(status, NO_FIELDS, "", tx), Misuse::Status);
        refused_by_server(GET, |h, tx| h.send_response(status, NO_FIELDS, CHUNKS, tx), Misuse::Status);
    }
    for status in [0, 99, 101, 200, 404, 1000] {
        refused_by_server(GET, |h, tx| h.send_informational(status, NO_FIELDS, tx), Misuse::Status);
    }
    // A 2xx to CONNECT switches (RFC 9110, section 9.3.6), and nothing else does but 101.
    for status in [200, 204, 299] {
        refused_by_server(CONNECT, |h, tx| h.respond(status, NO_FIELDS, "", tx), Misuse::Status);
        refused_by_server(CONNECT, |h, tx| h.send_response(status, NO_FIELDS, CHUNKS, tx), Misuse::Status);
        refused_by_server(UPGRADE, |h, tx| h.switch(status, NO_FIELDS, tx), Misuse::Status);
    }
    for status in [100, 101, 199, 300, 404] {
        refused_by_server(CONNECT, |h, tx| h.switch(status, NO_FIELDS, tx), Misuse::Status);
    }
    for request in
        [UPGRADE.replace("1.1", "1.0"), UPGRADE.replace("Connection", "X"), UPGRADE.replace("Upgrade:", "X:")]
    {
        refused_by_server(&request, |h, tx| h.switch(101, NO_FIELDS, tx), Misuse::Status);
    }
}

/// RFC 9110, sections 6.4.1, 9.3.6, 15.3.5 and 15.3.6; RFC 9112, section 6.3. (H35)
#[test]
fn bodies_that_cannot_be() {
    for status in [204, 205] {
        refused_by_server(GET, |h, tx| h.respond(status, NO_FIELDS, "x", tx), Misuse::BodyForbidden);
        for length in [BodyLength::Length(1), CHUNKS, BodyLength::UntilClose] {
            refused_by_server(GET, |h, tx| h.send_response(status, NO_FIELDS, length, tx), Misuse::BodyForbidden);
        }
    }
    refused_by_client(|h, tx| h.send_request("PUT", "/", HOST, BodyLength::UntilClose, tx), Misuse::BodyForbidden);
    refused_by_client(|h, tx| h.request("CONNECT", "a:1", HOST, "x", tx), Misuse::BodyForbidden);
    refused_by_client(|h, tx| h.send_request("CONNECT", "a:1", HOST, CHUNKS, tx), Misuse::BodyForbidden);
    refused_by_client(|h, tx| h.send_request("CONNECT", "a:1", HOST, BodyLength::Length(1), tx), Misuse::BodyForbidden);
}

/// A body is as long as it was announced, and ends.
#[test]
fn lengths() {
    let begun = |tx: &mut SendBuf| {
        server(
            GET,
            |h, tx| {
                h.send_response(200, NO_FIELDS, BodyLength::Length(5), tx).unwrap();
                h.send_data("abc", tx).unwrap();
            },
            tx,
        )
    };
    refused(begun, |h, tx| h.send_data("def", tx), Misuse::BodyTooLong);
    refused(begun, |h, tx| h.send_data(vec![0; 9999], tx), Misuse::BodyTooLong);
    refused(begun, |h, tx| h.announce_data(3, tx), Misuse::BodyTooLong);
    refused(begun, |h, tx| h.announce_data(u64::MAX, tx), Misuse::BodyTooLong);
    refused(begun, |h, tx| h.send_end(NO_FIELDS, tx), Misuse::BodyTooShort);
    refused(begun, |h, tx| h.respond(200, NO_FIELDS, "", tx), Misuse::State);
    let done = |tx: &mut SendBuf| {
        let mut http = begun(tx);
        http.send_data("de", tx).unwrap();
        http
    };
    refused(done, |h, tx| h.send_data("f", tx), Misuse::BodyTooLong);
    refused(done, |h, tx| h.send_end([("x", "y")], tx), Misuse::BodyForbidden);
    let begun =
        |tx: &mut SendBuf| client("", |h, tx| h.send_request("PUT", "/", HOST, BodyLength::Length(2), tx).unwrap(), tx);
    refused(begun, |h, tx| h.send_data("abc", tx), Misuse::BodyTooLong);
    refused(begun, |h, tx| h.send_end(NO_FIELDS, tx), Misuse::BodyTooShort);
}

/// After what was refused all goes on as if it had not been tried.
#[test]
fn life_goes_on() {
    let (mut http, mut rx, mut tx) = asked(GET);
    assert_eq!(http.respond(200, [("x", "\n")], "", &mut tx), Err(Misuse::Field));
    assert_eq!(http.respond(99, NO_FIELDS, "", &mut tx), Err(Misuse::Status));
    http.send_response(200, NO_FIELDS, CHUNKS, &mut tx).unwrap();
    assert_eq!(http.send_end([("host", "a")], &mut tx), Err(Misuse::Field));
    http.send_data("ok", &mut tx).unwrap();
    http.send_end(NO_FIELDS, &mut tx).unwrap();
    rx.push(GET.as_bytes());
    while http.next_event(&mut rx, &mut tx).unwrap().is_some() {}
    http.respond(204, NO_FIELDS, "", &mut tx).unwrap();
    assert_eq!(http1::statuses(tx.pending()), "200 204");
    assert_eq!(
        drained(&mut tx),
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n"
    );
}

/// Every error says what it is.
#[test]
fn in_words() {
    let all = [
        Misuse::State,
        Misuse::Status,
        Misuse::RequestLine,
        Misuse::Field,
        Misuse::BodyTooLong,
        Misuse::BodyTooShort,
        Misuse::BodyForbidden,
        Misuse::Outstanding,
    ];
    let mut texts: Vec<String> =
        all.iter().map(|misuse| (Box::new(*misuse) as Box<dyn std::error::Error + Send + Sync>).to_string()).collect();
    texts.sort();
    texts.dedup();
    assert_eq!((texts.len(), texts.iter().all(|text| text.len() > 10)), (all.len(), true));
}
