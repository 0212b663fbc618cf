//! Messages at random.

use proptest::{collection::vec, prelude::*, sample::select};
use std::fmt::{self, Debug};

/// Bytes that are shown as text.
#[derive(Clone)]
pub(crate) struct Wire(pub(crate) Vec<u8>);

impl Debug for Wire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.escape_ascii())
    }
}

/// Well-formed for the most part, with a few that are not.
fn names() -> impl Strategy<Value = &'static str> {
    let framing = select(
        &["Content-Length", "content-length", "Transfer-Encoding", "Connection", "Host", "Expect", "Upgrade"][..],
    );
    let others = select(
        &["A", "x-long-name-of-a-field", "Accept", "Cookie", "!#$%&'*+-.^_`|~", "te", "Hos", "Content-Lengt"][..],
    );
    let faulty = select(&["", " A", "A ", "A\t", "A B", "A(", "\u{fc}", "A\0", "A\r"][..]);
    prop_oneof![6 => framing, 12 => others, 1 => faulty]
}

fn values() -> impl Strategy<Value = Vec<u8>> {
    let framing = select(
        &[
            "5",
            "0",
            "05",
            "+5",
            "5, 5",
            "18446744073709551616",
            "chunked",
            "Chunked",
            "gzip, chunked",
            "chunked, gzip",
            "identity",
            "close",
            "keep-alive",
            "Keep-Alive, x",
            "a",
            "a:80",
            "[::1]:80",
            "a b",
            "100-continue",
            "upgrade",
            "h2c",
            "",
        ][..],
    );
    let text = vec(prop_oneof![20 => 0x20u8..0x7F, 2 => Just(b'\t'), 1 => 0x80u8..=0xFF, 1 => any::<u8>()], 0..20);
    prop_oneof![3 => framing.prop_map(|value| value.as_bytes().to_vec()), 2 => text]
}

/// A field line with its end.
fn field() -> impl Strategy<Value = Vec<u8>> {
    let colon = prop_oneof![20 => Just(": "), 5 => Just(":"), 3 => Just(":\t "), 1 => Just(" : "), 1 => Just("")];
    let space = prop_oneof![10 => Just(""), 1 => Just(" "), 1 => Just("\t ")];
    (names(), colon, values(), space, line_end()).prop_map(|(name, colon, value, space, end)| {
        [name.as_bytes(), colon.as_bytes(), &value, space.as_bytes(), end.as_bytes()].concat()
    })
}

fn line_end() -> impl Strategy<Value = &'static str> {
    prop_oneof![60 => Just("\r\n"), 1 => Just("\n"), 1 => Just("\r"), 1 => Just("\r\r\n"), 1 => Just("\r\n "), 1 => Just("\r\n\r\n")]
}

fn request_line() -> impl Strategy<Value = String> {
    let method = prop_oneof![
        20 => select(&["GET", "POST", "HEAD", "OPTIONS", "CONNECT", "PUT", "get", "M-SEARCH", "!#$%&'*+-.^_`|~"][..]),
        1 => select(&["", "G T", "GET(", " GET", "G\u{fc}T", "\r\nGET", "\r\n\r\nGET", "\nGET"][..]),
    ];
    let target = prop_oneof![
        20 => select(&["/", "/a?b=c&d", "/a%20b", "http://a/b", "http://a:80", "*", "a:443", "/a|b{}^", "/~"][..]),
        2 => select(&["", "a", "/#a", "/\u{fc}", "/\"", "/<>", "/a b", "http://", "http://u@a/", "/\t", "/\0", "/\\"][..]),
    ];
    let version = prop_oneof![
        20 => Just("HTTP/1.1"),
        4 => Just("HTTP/1.0"),
        1 => select(&["HTTP/1.2", "HTTP/2.0", "HTTP/1.", "http/1.1", "HTTP/1.10", "HTTP/1.1 ", "", "HTTP/0.9"][..]),
    ];
    (method, target, version, line_end())
        .prop_map(|(method, target, version, end)| format!("{method} {target} {version}{end}"))
}

fn status_line() -> impl Strategy<Value = Vec<u8>> {
    let version = prop_oneof![20 => Just("HTTP/1.1"), 4 => Just("HTTP/1.0"), 1 => select(&["HTTP/1.2", "HTTP/2.0", "HTTP", " HTTP/1.1", "\r\nHTTP/1.1"][..])];
    let code = prop_oneof![20 => select(&[" 200", " 404", " 204", " 304", " 999"][..]), 1 => select(&[" 20", " 099", "  200", " 2000", " 2x0", "200", ""][..])];
    let reason = prop_oneof![
        10 => select(&[" OK", " ", "", " Not Found", "  a  b ", " \t"][..]).prop_map(|reason| reason.as_bytes().to_vec()),
        1 => select(vec![b" \xFC".to_vec(), b" \0".to_vec(), b" a\rb".to_vec(), b"\tOK".to_vec(), b" \x7F".to_vec()]),
    ];
    (version, code, reason, line_end()).prop_map(|(version, code, reason, end)| {
        [version.as_bytes(), code.as_bytes(), &reason, end.as_bytes()].concat()
    })
}

/// A head of a request, with a blank line.
pub(crate) fn request_head() -> impl Strategy<Value = Wire> {
    let host = prop_oneof![10 => Just("Host: a\r\n"), 1 => Just("")];
    let head = (request_line(), host, vec(field(), 0..5), line_end());
    mutilated(head.prop_map(|(line, host, fields, end)| {
        [line.as_bytes(), host.as_bytes(), &fields.concat(), end.as_bytes()].concat()
    }))
}

/// A head of a response, with a blank line.
pub(crate) fn response_head() -> impl Strategy<Value = Wire> {
    mutilated(
        (status_line(), vec(field(), 0..5), line_end())
            .prop_map(|(line, fields, end)| [line, fields.concat(), end.into()].concat()),
    )
}

/// A body in chunks, whole.
fn chunks() -> impl Strategy<Value = Vec<u8>> {
    let size = select(&["1", "2", "a", "A", "05", "0002"][..]);
    let extension = prop_oneof![10 => Just(""), 2 => select(&[";a", ";a=b", " ; a = \"b\\\"\"", ";", " "][..])];
    let chunk = (size, extension, vec(any::<u8>(), 10)).prop_map(|(size, extension, data)| {
        let len = usize::from_str_radix(size, 16).unwrap();
        [size.as_bytes(), extension.as_bytes(), b"\r\n", &data[..len], b"\r\n"].concat()
    });
    let trailers = prop_oneof![5 => Just(""), 1 => Just("X: y\r\n"), 1 => Just("Host: b\r\nX:\r\n")];
    (vec(chunk, 0..3), trailers)
        .prop_map(|(chunks, trailers)| [&chunks.concat()[..], b"0\r\n", trailers.as_bytes(), b"\r\n"].concat())
}

/// Requests with their bodies, one behind the other.
pub(crate) fn requests() -> impl Strategy<Value = Wire> {
    let line = prop_oneof![8 => Just("HTTP/1.1\r\nHost: a\r\n"), 1 => Just("HTTP/1.0\r\n"), 1 => Just("HTTP/1.0\r\nConnection: keep-alive\r\n")];
    let target = select(&["/", "/a?b", "http://a/b", "/a%20"][..]);
    let body = prop_oneof![
        4 => Just(b"\r\n".to_vec()),
        4 => vec(any::<u8>(), 0..9).prop_map(|data| [format!("Content-Length: {}\r\n\r\n", data.len()).as_bytes(), &data].concat()),
        4 => chunks().prop_map(|chunks| [&b"Transfer-Encoding: chunked\r\n\r\n"[..], &chunks].concat()),
        1 => chunks().prop_map(|chunks| [&b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n"[..], &chunks].concat()),
    ];
    let field = prop_oneof![4 => Just(Vec::new()), 1 => field()];
    let method = select(&["GET", "POST", "HEAD", "PUT"][..]);
    let request = (method, target, line, field, body).prop_map(|(method, target, line, field, body)| {
        [format!("{method} {target} {line}").as_bytes(), &field, &body].concat()
    });
    mutilated(vec(request, 1..4).prop_map(|requests| requests.concat()))
}

/// As it is, or with a few bytes removed, replaced or inserted.
fn mutilated(wire: impl Strategy<Value = Vec<u8>>) -> impl Strategy<Value = Wire> {
    let byte = prop_oneof![4 => select(&b"\r\n \t:,;=\"/0159aGH\0\x7F\x80"[..]), 1 => any::<u8>()];
    let change = (any::<proptest::sample::Index>(), 0..3u8, byte);
    let changes = prop_oneof![2 => Just(Vec::new()), 1 => vec(change, 1..3)];
    (wire, changes).prop_map(|(mut wire, changes)| {
        for (at, kind, byte) in changes {
            let at = at.index(wire.len() + 1);
            match kind {
                0 => wire.insert(at, byte),
                1 if at < wire.len() => wire[at] = byte,
                2 if at < wire.len() => drop(wire.remove(at)),
                _ => {}
            }
        }
        Wire(wire)
    })
}
