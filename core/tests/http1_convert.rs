//! Heads as the types of the crate `http`, and what is sent out of those; the value of `date`.

use bytewise::{
    Machine, RecvBuf, SendBuf,
    http1::{
        BodyLength, Client, ClientEvent, Config, Date, Misuse, NO_FIELDS, OwnedRequestHead, Server, ServerEvent,
        Version, fields_of,
    },
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, header};
use proptest::{collection::vec, prelude::*};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The head of a request that a server received.
#[track_caller]
fn request_head(wire: impl AsRef<[u8]>, config: &Config) -> OwnedRequestHead {
    let (mut rx, mut tx) = (RecvBuf::new(), SendBuf::new());
    rx.push(wire.as_ref());
    match Server::new(config).next_event(&mut rx, &mut tx) {
        Ok(Some(ServerEvent::Request(head))) => head.into_owned(),
        other => panic!("not a request: {other:?}"),
    }
}

#[track_caller]
fn request(wire: impl AsRef<[u8]>) -> Result<Request<()>, http::Error> {
    request_head(wire, &Config::default()).head().try_into()
}

/// What a client received in answer to a GET.
#[track_caller]
fn response(wire: impl AsRef<[u8]>) -> Response<()> {
    let (mut rx, mut tx) = (RecvBuf::new(), SendBuf::new());
    let mut client = Client::new(&Config::default());
    client.request("GET", "/", [("host", "a")], "", &mut tx).unwrap();
    rx.push(wire.as_ref());
    match client.next_event(&mut rx, &mut tx) {
        Ok(Some(ClientEvent::Response(head))) => head.try_into().unwrap(),
        other => panic!("not a response: {other:?}"),
    }
}

fn map(fields: &[(&'static str, &'static str)]) -> HeaderMap {
    fields.iter().map(|&(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value))).collect()
}

#[test]
fn the_head_of_a_request() {
    let request = request("PATCH /a/b?c=d&e HTTP/1.1\r\nHost: example.org\r\nX-One: 1\r\nx-empty:\r\n\r\n").unwrap();
    assert_eq!(request.method(), Method::PATCH);
    assert_eq!((request.uri().path(), request.uri().query()), ("/a/b", Some("c=d&e")));
    assert_eq!(request.version(), http::Version::HTTP_11);
    // Names in lower case, which is what that crate compares.
    assert_eq!(request.headers(), &map(&[("host", "example.org"), ("x-one", "1"), ("x-empty", "")]));
}

#[test]
fn targets_in_each_form() {
    let uri = |wire: &str| request(wire).unwrap().into_parts().0.uri;
    let absolute = uri("GET http://example.org:81/a?b HTTP/1.1\r\nHost: example.org:81\r\n\r\n");
    assert_eq!((absolute.scheme_str(), absolute.authority().unwrap().as_str()), (Some("http"), "example.org:81"));
    assert_eq!((absolute.path(), absolute.query()), ("/a", Some("b")));
    assert_eq!(uri("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n").path(), "*");
    let authority = uri("CONNECT example.org:443 HTTP/1.1\r\nHost: example.org:443\r\n\r\n");
    assert_eq!((authority.authority().unwrap().as_str(), authority.scheme()), ("example.org:443", None));
}

/// A target may have characters that browsers send and that [`http::Uri`] does not take.
#[test]
fn a_target_that_is_refused() {
    assert!(request("GET /`a` HTTP/1.1\r\nHost: a\r\n\r\n").is_err());
    request("GET /?`a`|{b}^ HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
}

#[test]
fn methods_of_ones_own() {
    assert_eq!(request("PURGE / HTTP/1.1\r\nHost: a\r\n\r\n").unwrap().method().as_str(), "PURGE");
    // Case matters.
    assert_ne!(request("get / HTTP/1.1\r\nHost: a\r\n\r\n").unwrap().method(), Method::GET);
}

#[test]
fn versions() {
    assert_eq!(request("GET / HTTP/1.0\r\n\r\n").unwrap().version(), http::Version::HTTP_10);
    assert_eq!(http::Version::from(Version::Http10), http::Version::HTTP_10);
    assert_eq!(http::Version::from(Version::Http11), http::Version::HTTP_11);
}

#[test]
fn the_head_of_a_response() {
    let teapot = response("HTTP/1.0 418 I'm a teapot\r\nContent-Length: 2\r\nX-Spout: short\r\n\r\nhi");
    assert_eq!(teapot.status(), StatusCode::IM_A_TEAPOT);
    assert_eq!(teapot.version(), http::Version::HTTP_10);
    assert_eq!(teapot.headers(), &map(&[("content-length", "2"), ("x-spout", "short")]));
    // Any that the wire can have.
    let wire = "HTTP/1.1 999 \r\ncontent-length: 0\r\n\r\n";
    assert_eq!(response(wire).status().as_u16(), 999);
}

/// All values of a name, in their order.
#[test]
fn repeated_fields() {
    let wire =
        "HTTP/1.1 200 OK\r\nSet-Cookie: a\r\nVia: 1\r\nset-cookie: b\r\nSET-COOKIE: c\r\ncontent-length: 0\r\n\r\n";
    let response = response(wire);
    let cookies: Vec<_> = response.headers().get_all("set-cookie").iter().collect();
    assert_eq!(cookies, ["a", "b", "c"]);
    let sent: Vec<_> = fields_of(response.headers()).filter(|(name, _)| *name == "set-cookie").collect();
    assert_eq!(sent, [("set-cookie", &b"a"[..]), ("set-cookie", b"b"), ("set-cookie", b"c")]);
}

/// Bytes above ASCII are opaque (RFC 9110, section 5.5), and so is a tab inside a value.
#[test]
fn values_that_are_not_ascii() {
    let wire = b"GET / HTTP/1.1\r\nHost: a\r\nX-Latin: caf\xe9\r\nX-Utf: caf\xc3\xa9\r\nX-All: \x80\tb \xff\r\n\r\n";
    let request = request(wire).unwrap();
    let expected = [("x-latin", &b"caf\xe9"[..]), ("x-utf", "café".as_bytes()), ("x-all", b"\x80\tb \xff")];
    for (name, value) in expected {
        assert_eq!(request.headers()[name].as_bytes(), value);
    }
    assert!(expected.into_iter().all(|field| fields_of(request.headers()).any(|sent| sent == field)));
}

#[test]
fn trailers() {
    let (mut rx, mut tx) = (RecvBuf::new(), SendBuf::new());
    rx.push(b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX-Sum: 7\r\nHost: b\r\n\r\n");
    let mut server = Server::new(&Config::default());
    let mut trailers = None;
    while let Some(event) = server.next_event(&mut rx, &mut tx).unwrap() {
        if let ServerEvent::End(fields) = event {
            trailers = Some(HeaderMap::try_from(fields).unwrap());
        }
    }
    // Those that must not be there are not shown.
    assert_eq!(trailers, Some(map(&[("x-sum", "7")])));
}

/// A map has room for 32,768 fields: more is an error, and no panic.
#[test]
fn many_fields() {
    let config = Config::default().with_max_head(1 << 20).with_max_fields(40_000);
    let wire = |count: usize| {
        let lines: String = (1..count).map(|i| format!("x-{i}: {i}\r\n")).collect();
        format!("GET / HTTP/1.1\r\nhost: a\r\n{lines}\r\n")
    };
    let map = HeaderMap::try_from(request_head(wire(20_000), &config).head().fields()).unwrap();
    assert_eq!((map.len(), &map["x-19999"]), (20_000, &HeaderValue::from_static("19999")));
    assert_eq!(fields_of(&map).count(), 20_000);
    HeaderMap::try_from(request_head(wire(40_000), &config).head().fields()).unwrap_err();
}

/// What frames a message the core writes itself: out of a map it is left out, wherever it stands.
#[test]
fn reserved_fields_are_left_out() {
    let map = map(&[
        ("transfer-encoding", "gzip, chunked"),
        ("x-one", "1"),
        ("connection", "keep-alive, x-two"),
        ("x-two", "2"),
        ("content-length", "1000000"),
        // Not ours: these are passed on, and judged where they are sent.
        ("host", "a"),
        ("keep-alive", "timeout=5"),
        ("upgrade", "x"),
        ("te", "trailers"),
    ]);
    let names: Vec<_> = fields_of(&map).map(|(name, _)| name).collect();
    assert_eq!(names, ["x-one", "x-two", "host", "keep-alive", "upgrade", "te"]);

    let (mut tx, mut client) = (SendBuf::new(), Client::new(&Config::default()));
    client.send_request("POST", "/", fields_of(&map), BodyLength::Chunked, &mut tx).unwrap();
    let sent = String::from_utf8(tx.pending().to_vec()).unwrap();
    assert!(sent.ends_with("connection: upgrade, te\r\ntransfer-encoding: chunked\r\n\r\n"), "{sent}");
    assert_eq!(sent.matches("content-length").count(), 0);
}

/// The map of a head that was received sends the same head again.
#[test]
fn a_response_passed_on() {
    let wire = "HTTP/1.1 404 Not Found\r\nserver: a\r\nvary: b\r\nvary: c\r\ncontent-length: 5\r\n\r\nhello";
    let response = response(wire);
    let (mut rx, mut tx, mut server) = (RecvBuf::new(), SendBuf::new(), Server::new(&Config::default()));
    rx.push(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n");
    assert!(server.next_event(&mut rx, &mut tx).unwrap().is_some());
    server.respond(response.status().as_u16(), fields_of(response.headers()), "hello", &mut tx).unwrap();
    assert_eq!(tx.pending(), wire.as_bytes());
}

/// Whatever a map holds can be sent, and is received as it was; surrounding whitespace is no part of a value.
fn any_map() -> impl Strategy<Value = HeaderMap> {
    let name = "[a-zA-Z0-9!#$%&'*+.^_`|~-]{1,12}".prop_map(|name| HeaderName::from_bytes(name.as_bytes()).unwrap());
    let byte = prop_oneof![4 => 0x21..=0x7E_u8, 1 => 0x80..=0xFF_u8, 1 => Just(b' '), 1 => Just(b'\t')];
    let value = vec(byte, 0..20).prop_map(|bytes| HeaderValue::from_bytes(bytes.trim_ascii()).unwrap());
    let plain = |name: &HeaderName| {
        ![header::CONNECTION, header::CONTENT_LENGTH, header::TRANSFER_ENCODING, header::HOST].contains(name)
    };
    vec((name.prop_filter("for itself", plain), value), 0..30).prop_map(|fields| {
        let mut map = HeaderMap::new();
        for (name, value) in fields {
            map.append(name, value);
        }
        map
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

    #[test]
    fn there_and_back(fields in any_map()) {
        let (mut tx, mut client) = (SendBuf::new(), Client::new(&Config::default()));
        let host = [("host", &b"a"[..])];
        client.request("GET", "/", host.into_iter().chain(fields_of(&fields)), "", &mut tx).unwrap();
        let wire = tx.pending().to_vec();
        let mut received = request(wire).unwrap().into_parts().0.headers;
        received.remove("host");
        // Where the core names them.
        received.remove("connection");
        prop_assert_eq!(received, fields);
    }
}

/// That crate has statuses that cannot be sent as final ones.
#[test]
fn statuses_that_are_no_responses() {
    let (mut rx, mut tx, mut server) = (RecvBuf::new(), SendBuf::new(), Server::new(&Config::default()));
    rx.push(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n");
    assert!(server.next_event(&mut rx, &mut tx).unwrap().is_some());
    let status = StatusCode::SWITCHING_PROTOCOLS.as_u16();
    assert_eq!(server.respond(status, NO_FIELDS, "", &mut tx), Err(Misuse::Status));
}

fn after_epoch(seconds: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(seconds)
}

#[test]
fn dates() {
    for (second, text) in [
        (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
        (1, "Thu, 01 Jan 1970 00:00:01 GMT"),
        (86_399, "Thu, 01 Jan 1970 23:59:59 GMT"),
        (86_400, "Fri, 02 Jan 1970 00:00:00 GMT"),
        (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"),
        (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"),
        (1_709_164_800, "Thu, 29 Feb 2024 00:00:00 GMT"),
        // What is over with 32 bits.
        (2_147_483_648, "Tue, 19 Jan 2038 03:14:08 GMT"),
        (4_107_542_400, "Mon, 01 Mar 2100 00:00:00 GMT"),
        (253_402_300_799, "Fri, 31 Dec 9999 23:59:59 GMT"),
    ] {
        assert_eq!(Date::default().at(after_epoch(second)), text);
    }
}

/// The nearest time that has a date.
#[test]
fn times_without_a_date() {
    let mut date = Date::default();
    assert_eq!(date.at(after_epoch(253_402_300_800)), "Fri, 31 Dec 9999 23:59:59 GMT");
    assert_eq!(date.at(after_epoch(u64::MAX >> 2)), "Fri, 31 Dec 9999 23:59:59 GMT");
    for before in [Duration::from_nanos(1), Duration::from_secs(1), Duration::from_secs(1 << 40)] {
        assert_eq!(date.at(UNIX_EPOCH - before), "Thu, 01 Jan 1970 00:00:00 GMT");
    }
}

/// One for all of a second; whichever way the clock goes, the next one is of its own.
#[test]
fn dates_of_one_second() {
    let mut date = Date::default();
    let millis = |millis| UNIX_EPOCH + Duration::from_millis(millis);
    for (time, text) in [
        (784_111_777_000, "Sun, 06 Nov 1994 08:49:37 GMT"),
        (784_111_777_999, "Sun, 06 Nov 1994 08:49:37 GMT"),
        (784_111_778_000, "Sun, 06 Nov 1994 08:49:38 GMT"),
        (784_111_777_500, "Sun, 06 Nov 1994 08:49:37 GMT"),
        (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
        (999, "Thu, 01 Jan 1970 00:00:00 GMT"),
        (1000, "Thu, 01 Jan 1970 00:00:01 GMT"),
    ] {
        assert_eq!(date.at(millis(time)), text);
    }
    // It is a value that can be kept and copied.
    let (mut one, mut other) = (date, date);
    assert_eq!(one.at(millis(5000)), "Thu, 01 Jan 1970 00:00:05 GMT");
    assert_eq!(other.at(millis(1000)), "Thu, 01 Jan 1970 00:00:01 GMT");
}

#[test]
fn dates_allocate_nothing() {
    let mut date = Date::default();
    let info = allocation_counter::measure(|| {
        for second in 0..100 {
            assert!(date.at(after_epoch(second)).ends_with(" GMT"));
        }
    });
    assert_eq!(info.count_total, 0);
}
