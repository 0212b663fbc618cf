//! `host`: RFC 9112, section 3.2; RFC 9110, section 7.2; RFC 3986, section 3.2.

use crate::{OPEN, refuse, serve};
use bytewise::http1::Config;

#[test]
fn missing_and_repeated() {
    refuse(
        &Config::default(),
        &[
            ("9112 3.2, repeated", b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n", "Host", 400),
            ("9112 3.2, though it is the same", b"GET / HTTP/1.1\r\nHost: a\r\nX: y\r\nhOST: a\r\n", "Host", 400),
            ("9112 3.2, in 1.0 too", b"GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n", "Host", 400),
            ("9112 3.2, an empty one counts", b"GET / HTTP/1.1\r\nHost:\r\nHost: a\r\n", "Host", 400),
        ],
    );
    serve(
        &Config::default(),
        OPEN,
        &[
            ("9112 3.2", b"GET / HTTP/1.1\r\n\r\n", "!Host 400/close linger"),
            ("9112 3.2", b"GET / HTTP/1.1\r\nX-Host: a\r\n\r\n", "!Host 400/close linger"),
            ("9112 3.2, in the target is not enough", b"GET http://a/ HTTP/1.1\r\n\r\n", "!Host 400/close linger"),
            ("9112 3.2, CONNECT too", b"CONNECT a:1 HTTP/1.1\r\n\r\n", "!Host 400/close linger"),
            ("9112 3.2, not required in 1.0", b"GET / HTTP/1.0\r\n\r\n", "GET / . 200/close linger"),
            ("9112 3.2, empty", b"GET / HTTP/1.1\r\nHost:\r\n\r\n", "GET / . 200 read"),
            ("9112 3.2, empty", b"GET / HTTP/1.1\r\nHost: \t \r\n\r\n", "GET / . 200 read"),
        ],
    );
}

#[test]
fn malformed() {
    let values: &[&[u8]] = &[
        b"a b",
        b"a/b",
        b"/",
        b"http://a",
        b"u@a",
        b"a?b",
        b"a#b",
        b"a\\b",
        b"a\"b",
        b"a<b",
        b"a\xFC",
        b"a:b",
        b"a:-1",
        b"a:+1",
        b"a: 1",
        b"a:1:2",
        b"a:123456",
        b"::1",
        b"[::1",
        b"::1]",
        b"[::g]",
        b"[]",
        b"[1.2.3.4]",
        b"[::1]a",
        b"[::1]1",
        b"[fe80::1%25eth0]",
        b"[v.a]",
        b"[v1.]",
        b"[va]",
        b"[vg.a]",
        b"[v1.a/b]",
        b"a[::1]",
        b"a%",
        b"a%2",
        b"a%zz",
        b"%",
    ];
    for value in values {
        let input = [b"GET / HTTP/1.1\r\nHost: ", *value, b"\r\n"].concat();
        refuse(&Config::default(), &[("9110 7.2", &input, "Host", 400)]);
    }
}

#[test]
fn well_formed() {
    let values = [
        "a",
        "a.b.",
        "A-b_c~",
        "a:80",
        "a:",
        ":80",
        "a:65535",
        "127.0.0.1:8080",
        "[::1]",
        "[::1]:80",
        "[::ffff:1.2.3.4]",
        "[v1.a:b]:80",
        "[vF.a]",
        "a%2db",
        "%41:1",
        "!$&'()*+,;=",
    ];
    for value in values {
        let input = format!("GET / HTTP/1.1\r\nHost: {value}\r\n\r\n");
        serve(&Config::default(), OPEN, &[("9110 7.2", input.as_bytes(), "GET / . 200 read")]);
    }
}
