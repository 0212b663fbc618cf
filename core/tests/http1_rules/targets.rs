//! Request targets: RFC 9112, section 3.2; RFC 9110, sections 4.2 and 7.1; RFC 3986.

use crate::{Input, http1, note_difference, refuse};
use bytewise::{
    SendBuf,
    http1::{Config, NO_FIELDS, RequestHead, Server, ServerEvent},
};

/// Runs `GET /x HTTP/1.1`, with that request line, through every cut: what `show` says of its head.
fn shown(line: &str, show: impl Fn(RequestHead<'_>) -> String) -> String {
    let input = format!("{line} HTTP/1.1\r\nHost: a:80\r\n\r\n");
    let log = Input::new(input.as_bytes()).any_split(
        || Server::new(&Config::default()),
        |event, http: &mut Server, _: &mut SendBuf, log| match event {
            ServerEvent::Request(head) => log.item(format_args!("{}", show(head))),
            _ => assert!(http.is_responding()),
        },
    );
    log.strip_suffix(" paused").unwrap_or_else(|| panic!("{line}: {log}")).to_owned()
}

#[test]
fn origin_form() {
    for target in [
        "/",
        "//",
        "//a/b",
        "/a/../b/./c",
        "/a%20b?c=%C3%BC",
        "/a;b=1,2:@!$&'()*+-._~",
        "/?",
        "/a?b?c/d",
        // What RFC 3986 does not allow and browsers send.
        r"/a?b=|{}^[]`\",
        "/%zz%",
    ] {
        assert_eq!(shown(&format!("GET {target}"), |head| head.target().to_owned()), target);
    }
    refuse(
        &Config::default(),
        &[
            ("9112 3.2.1, a path begins with a slash", b"GET a HTTP/1.1\r\n", "StartLine", 400),
            ("9112 3.2.1", b"GET ?a HTTP/1.1\r\n", "StartLine", 400),
            ("9112 3.2.1", b"GET . HTTP/1.1\r\n", "StartLine", 400),
            ("9112 3.2.1, no fragment", b"GET /#a HTTP/1.1\r\n", "StartLine", 400),
            ("9112 3.2.1, no fragment", b"GET /a?b#c HTTP/1.1\r\n", "StartLine", 400),
            ("9112 3.2, no space", b"GET /a b HTTP/1.1\r\n", "StartLine", 400),
            ("3986 2", b"GET /<a HTTP/1.1\r\n", "StartLine", 400),
            ("3986 2", b"GET /a> HTTP/1.1\r\n", "StartLine", 400),
            ("3986 2", b"GET /\"a HTTP/1.1\r\n", "StartLine", 400),
        ],
    );
}

#[test]
fn absolute_form() {
    for target in [
        "http://b/x",
        "http://b",
        "http://b:80?x",
        "http://b:/",
        "HTTP://B/",
        "https://[::1]:443/a?b",
        "http://[v1.a:b]/",
        "coap+tcp://b/x",
        "http://a%2db/",
        "http://b//c",
    ] {
        assert_eq!(shown(&format!("GET {target}"), |head| head.target().to_owned()), target);
    }
    refuse(
        &Config::default(),
        &[
            ("9110 4.2.1, no host", b"GET http:///x HTTP/1.1\r\n", "StartLine", 400),
            ("9110 4.2.1, no host", b"GET http://:80/ HTTP/1.1\r\n", "StartLine", 400),
            ("9110 4.2.1, no host", b"GET http:// HTTP/1.1\r\n", "StartLine", 400),
            ("9110 4.2.4, userinfo", b"GET http://u@b/x HTTP/1.1\r\n", "StartLine", 400),
            ("9110 4.2.4, userinfo", b"GET http://u:p@b/x HTTP/1.1\r\n", "StartLine", 400),
            ("9112 3.2.2, no authority", b"GET http:/x HTTP/1.1\r\n", "StartLine", 400),
            ("9112 3.2.2, no authority", b"GET http:x HTTP/1.1\r\n", "StartLine", 400),
            ("9112 3.2.2, no authority", b"GET mailto:a HTTP/1.1\r\n", "StartLine", 400),
            ("3986 3.1, scheme", b"GET 1http://b/ HTTP/1.1\r\n", "StartLine", 400),
            ("3986 3.1, scheme", b"GET ht_tp://b/ HTTP/1.1\r\n", "StartLine", 400),
            ("3986 3.1, scheme", b"GET ://b/ HTTP/1.1\r\n", "StartLine", 400),
            ("3986 3.2.2", b"GET http://[::1/ HTTP/1.1\r\n", "StartLine", 400),
            ("3986 3.2.2", b"GET http://a\\b/ HTTP/1.1\r\n", "StartLine", 400),
            ("3986 3.2.3, port", b"GET http://b:8x/ HTTP/1.1\r\n", "StartLine", 400),
            ("3986 3.5, fragment", b"GET http://b/#x HTTP/1.1\r\n", "StartLine", 400),
        ],
    );
}

#[test]
fn authority_form_and_asterisk_form() {
    for line in
        ["CONNECT a:443", "CONNECT [::1]:443", "CONNECT 127.0.0.1:1", "OPTIONS *", "OPTIONS /", "OPTIONS http://b"]
    {
        assert_eq!(shown(line, |head| format!("{} {}", head.method(), head.target())), line);
    }
    refuse(
        &Config::default(),
        &[
            ("9112 3.2.3, no port", b"CONNECT a HTTP/1.1\r\n", "StartLine", 400),
            ("9112 3.2.3, no port", b"CONNECT a: HTTP/1.1\r\n", "StartLine", 400),
            ("9112 3.2.3, no port", b"CONNECT [::1] HTTP/1.1\r\n", "StartLine", 400),
            ("9112 3.2.3, no host", b"CONNECT :443 HTTP/1.1\r\n", "StartLine", 400),
            ("9112 3.2.3", b"CONNECT a:1:2 HTTP/1.1\r\n", "StartLine", 400),
            ("9112 3.2.3", b"CONNECT u@a:443 HTTP/1.1\r\n", "StartLine", 400),
            ("9112 3.2.3", b"CONNECT a:443/ HTTP/1.1\r\n", "StartLine", 400),
            ("9112 3.2.3", b"CONNECT / HTTP/1.1\r\n", "StartLine", 400),
            ("9112 3.2.3", b"CONNECT * HTTP/1.1\r\n", "StartLine", 400),
            ("9112 3.2.3", b"CONNECT http://a:443 HTTP/1.1\r\n", "StartLine", 400),
            ("9112 3.2.3, of CONNECT only", b"GET a:443 HTTP/1.1\r\n", "StartLine", 400),
            ("9110 9.1, case matters", b"connect a:443 HTTP/1.1\r\n", "StartLine", 400),
            ("9112 3.2.4, of OPTIONS only", b"GET * HTTP/1.1\r\n", "StartLine", 400),
            ("9112 3.2.4", b"OPTIONS *x HTTP/1.1\r\n", "StartLine", 400),
            ("9112 3.2.4", b"OPTIONS ** HTTP/1.1\r\n", "StartLine", 400),
        ],
    );
}

/// Path and query as they were sent.
#[test]
fn parts_of_a_target() {
    let rows = [
        ("GET /", "Some(\"/\") None"),
        ("GET /a/b?c=d?e", "Some(\"/a/b\") Some(\"c=d?e\")"),
        ("GET /a?", "Some(\"/a\") Some(\"\")"),
        ("GET //a", "Some(\"//a\") None"),
        ("GET /http://b/c", "Some(\"/http://b/c\") None"),
        ("GET /?u=http://b/c?d", "Some(\"/\") Some(\"u=http://b/c?d\")"),
        ("GET http://b", "Some(\"/\") None"),
        ("GET http://b?c", "Some(\"/\") Some(\"c\")"),
        ("GET http://b?c/d", "Some(\"/\") Some(\"c/d\")"),
        ("GET http://b/c/d?e", "Some(\"/c/d\") Some(\"e\")"),
        ("GET http://b:80/", "Some(\"/\") None"),
        ("OPTIONS *", "None None"),
        ("OPTIONS /", "Some(\"/\") None"),
        ("OPTIONS http://b", "Some(\"/\") None"),
        ("CONNECT a:1", "None None"),
    ];
    for (line, expected) in rows {
        assert_eq!(shown(line, |head| format!("{:?} {:?}", head.path(), head.query())), expected, "{line}");
    }
}

/// RFC 9112, section 3.2.2: the target's authority counts, whatever `host` says.
#[test]
fn whom_a_request_is_for() {
    let authority = |head: RequestHead<'_>| match head.authority() {
        Some(authority) => authority.escape_ascii().to_string(),
        None => "nobody".to_owned(),
    };
    let rows = [
        ("GET /", "a:80"),
        ("GET //b/", "a:80"),
        ("GET http://b/", "b"),
        ("GET http://b:81/c", "b:81"),
        ("GET http://b:81?c@d", "b:81"),
        ("GET http://[::1]:1", "[::1]:1"),
        ("OPTIONS *", "a:80"),
        ("CONNECT c:443", "c:443"),
    ];
    for (line, expected) in rows {
        assert_eq!(shown(line, authority), expected, "{line}");
    }

    let rows = [
        ("9112 3.3, no host", "GET / HTTP/1.0\r\n\r\n", "nobody . 200/close linger"),
        ("9112 3.3, no host", "OPTIONS * HTTP/1.0\r\n\r\n", "nobody . 200/close linger"),
        ("9112 3.2, an empty one", "GET / HTTP/1.1\r\nHost:\r\n\r\n", " . 200 read"),
        ("9112 3.2.2", "GET http://b/ HTTP/1.1\r\nHost:\r\n\r\n", "b . 200 read"),
        ("9112 3.2.2", "GET http://b/ HTTP/1.0\r\n\r\n", "b . 200/close linger"),
    ];
    let mut wrong = String::new();
    for (section, input, expected) in rows {
        let log = Input::new(input.as_bytes()).output(http1::statuses).any_split(
            || Server::new(&Config::default()),
            |event, http, tx, log| match event {
                ServerEvent::Request(head) => {
                    log.item(format_args!("{}", authority(head)));
                    http.respond(200, NO_FIELDS, "", tx).unwrap();
                }
                _ => log.item(format_args!(".")),
            },
        );
        note_difference(&mut wrong, section, input.as_bytes(), &log, expected);
    }
    assert!(wrong.is_empty(), "{wrong}");
}
