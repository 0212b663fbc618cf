//! Fields of heads: RFC 9110, section 5; RFC 9112, section 5.

use crate::{Input, OPEN, chunked, http1, receive, refuse, refuse_response};
use bytewise::{
    Machine, RecvBuf, SendBuf,
    http1::{ClientEvent, Config, Fields, OwnedFields, Server, ServerEvent},
};

#[test]
fn names() {
    refuse(
        &Config::default(),
        &[
            ("9112 5.1, space before the colon", b"GET / HTTP/1.1\r\nHost : a\r\n", "Field", 400),
            ("9112 5.1, tab before the colon", b"GET / HTTP/1.1\r\nHost\t: a\r\n", "Field", 400),
            ("9112 5.1, of any field", b"POST / HTTP/1.1\r\nTransfer-Encoding : chunked\r\n", "Field", 400),
            ("9112 5, no colon", b"GET / HTTP/1.1\r\nHost: a\r\nnothing\r\n", "Field", 400),
            ("9112 5, no name", b"GET / HTTP/1.1\r\nHost: a\r\n: x\r\n", "Field", 400),
            ("9112 5, no name", b"GET / HTTP/1.1\r\nHost: a\r\n:\r\n", "Field", 400),
            ("9110 5.1", b"GET / HTTP/1.1\r\nHost: a\r\nX(: x\r\n", "Field", 400),
            ("9110 5.1", b"GET / HTTP/1.1\r\nHost: a\r\nX Y: x\r\n", "Field", 400),
            ("9110 5.1", b"GET / HTTP/1.1\r\nHost: a\r\nX/Y: x\r\n", "Field", 400),
            ("9110 5.1", b"GET / HTTP/1.1\r\nHost: a\r\n\"X\": x\r\n", "Field", 400),
            ("9110 5.1", b"GET / HTTP/1.1\r\nHost: a\r\nX\0: x\r\n", "Field", 400),
            ("9110 5.1", b"GET / HTTP/1.1\r\nHost: a\r\nX\x7F: x\r\n", "Field", 400),
            ("9110 5.1", b"GET / HTTP/1.1\r\nHost: a\r\n\xFC: x\r\n", "Field", 400),
            ("9110 5.1", b"GET / HTTP/1.1\r\nHost: a\r\nX=1; y: x\r\n", "Field", 400),
        ],
    );
    refuse_response(
        &Config::default(),
        &[
            ("9112 5.1", b"HTTP/1.1 200 OK\r\nContent-Length : 5\r\n", "Field"),
            ("9112 5.1", b"HTTP/1.1 200 OK\r\nContent-Length\t: 5\r\n", "Field"),
            ("9112 5", b"HTTP/1.1 200 OK\r\nnothing\r\n", "Field"),
            ("9112 5", b"HTTP/1.1 200 OK\r\n: x\r\n", "Field"),
            ("9110 5.1", b"HTTP/1.1 200 OK\r\nX Y: x\r\n", "Field"),
            ("9110 5.1", b"HTTP/1.1 200 OK\r\nX\0: x\r\n", "Field"),
        ],
    );
}

#[test]
fn control_characters_in_values() {
    for byte in (0..0x20).chain([0x7F]).filter(|byte| !b"\t\n".contains(byte)) {
        let request = |at: &[u8]| [b"GET / HTTP/1.1\r\nHost: a\r\nX: ", at, b"\r\n"].concat();
        let response = |at: &[u8]| [b"HTTP/1.1 200 OK\r\nX: ", at, b"\r\n"].concat();
        for value in [&[b'a', byte, b'b'][..], &[byte], &[byte, b'b'], &[b'a', byte]] {
            refuse(&Config::default(), &[("9110 5.5", &request(value), "Field", 400)]);
            refuse_response(&Config::default(), &[("9110 5.5", &response(value), "Field")]);
        }
    }
}

/// What a server makes of these lines: the fields as they are shown, at every cut.
fn fields_of(lines: &[u8], show: impl Fn(Fields<'_>) -> String) -> String {
    let input = [b"GET / HTTP/1.0\r\n", lines, b"\r\n"].concat();
    let log = Input::new(&input).any_split(
        || Server::new(&Config::default()),
        |event, _: &mut Server, _, log| {
            if let ServerEvent::Request(head) = event {
                assert_eq!(head.as_bytes(), input);
                log.item(format_args!("{}", show(head.fields())));
            }
        },
    );
    log.strip_suffix(" paused").unwrap_or_else(|| panic!("{log}")).to_owned()
}

#[test]
fn names_and_values_as_received() {
    let rows: [(&str, &[u8], &str); 12] = [
        ("9112 5", b"", ""),
        ("9112 5", b"A: b\r\n", "A=b"),
        ("9112 5.1, no space", b"A:b\r\n", "A=b"),
        ("9112 5.1, whitespace around", b"A: \t b c\t \r\n", "A=b c"),
        ("9112 5.1, empty", b"A:\r\nB: \t\r\n", "A=, B="),
        ("9110 5.3, in order", b"B: 1\r\nA: 2\r\nb: 3\r\n", "B=1, A=2, b=3"),
        ("9110 5.5, obs-text and tabs", b"A: a\t\xFC\xFF\x80b\r\n", r"A=a\t\xfc\xff\x80b"),
        ("9110 5.5, further colons", b"A: b: c:d\r\nB::\r\n", "A=b: c:d, B=:"),
        ("9110 5.6.2, any token", b"!#$%&'*+-.^_`|~09aZ: x\r\n", "!#$%&'*+-.^_`|~09aZ=x"),
        ("9110 5.5, what is to be judged elsewhere", b"A: \"unbalanced\r\n", r#"A=\"unbalanced"#),
        ("9110 5.1, one letter", b"a:b\r\n", "a=b"),
        ("9110 5.5, no other whitespace is dropped", b"A: \xC2\xA0b\xC2\xA0\r\n", r"A=\xc2\xa0b\xc2\xa0"),
    ];
    for (section, lines, expected) in rows {
        assert_eq!(fields_of(lines, http1::listed), expected, "{section}: {}", lines.escape_ascii());
    }
}

/// RFC 9110, sections 5.1, 5.3 and 5.6.1.
#[test]
fn look_ups() {
    let lines = b"Accept: text/html, */*;q=0.1\r\nX: 1\r\nACCEPT:a,,\"b,\\\"c\" , ,d\r\naccept-language: en\r\nx: 2\r\nEmpty:\r\n";
    let text = |value: &[u8]| value.escape_ascii().to_string();
    let shown = fields_of(lines, |fields| {
        assert_eq!((fields.get("accept"), fields.get("AccEpt")), (fields.get("Accept"), fields.get("ACCEPT")));
        assert!(!fields.is_empty() && fields.get("accep").is_none() && fields.get("").is_none());
        assert_eq!(fields.get("empty"), Some(&b""[..]));
        assert_eq!((fields.list("empty").count(), fields.list("none").count()), (0, 0));
        let all: Vec<_> = fields.get_all("x").map(text).collect();
        let list: Vec<_> = fields.list("accept").map(text).collect();
        format!("{}; {}", all.join("|"), list.join("|"))
    });
    assert_eq!(shown, r#"1|2; text/html|*/*;q=0.1|a|\"b,\\\"c\"|d"#);
    assert_eq!(fields_of(b"", |fields| format!("{} {}", fields.is_empty(), fields.iter().count())), "true 0");
}

/// RFC 9110, section 7.6.1.
#[test]
fn what_a_proxy_passes_on() {
    let lines = b"Via: 1\r\nConnection: x-hop, Close\r\nX-Hop: 2\r\nKeep-Alive: 5\r\nTE: trailers\r\nTrailer: a\r\nUpgrade: b\r\n\
        Proxy-Connection: c\r\nContent-Length: 0\r\nConnection: other\r\nOTHER: d\r\nX: last\r\n";
    let shown = fields_of(lines, |fields| {
        let list: Vec<_> =
            fields.end_to_end().map(|(name, value)| format!("{name}={}", value.escape_ascii())).collect();
        list.join(", ")
    });
    assert_eq!(shown, "Via=1, X=last");
}

/// Fields of a response are read as those of a request are.
#[test]
fn fields_of_a_response() {
    let input = b"HTTP/1.1 200 OK\r\nHost: any thing\r\nHost: twice\r\nSet-Cookie: a=b\r\nset-cookie: c\r\nContent-Length: 0\r\n\r\n";
    let log = Input::new(input).any_split(
        || http1::asking(&Config::default(), &["GET"]),
        |event, _, _, log| {
            if let ClientEvent::Response(head) = event {
                assert_eq!(head.as_bytes(), input);
                log.item(format_args!("{}", http1::listed(head.fields())));
            }
        },
    );
    assert_eq!(log, "Host=any thing, Host=twice, Set-Cookie=a=b, set-cookie=c, Content-Length=0 read");
    let none = b"HTTP/1.1 204 No Content\r\n\r\n";
    receive(&Config::default(), &["GET"], OPEN, &[("9112 5, none", none, "204 . reusable read")]);
}

/// Fields to keep: of a head, of a trailer section without what must not be there, and none.
#[test]
fn fields_that_are_kept() {
    let show = |fields: Fields<'_>| {
        let kept = fields.into_owned();
        assert_eq!((http1::listed(kept.fields()), kept.clone()), (http1::listed(fields), kept.clone()));
        http1::listed(kept.fields())
    };
    assert_eq!(fields_of(b"A: b\r\nA: c\r\n", show), "A=b, A=c");
    assert_eq!(fields_of(b"", show), "");
    assert!(OwnedFields::default().fields().is_empty());
    let log = Input::new(chunked("0\r\nX: y\r\nHost: b\r\n\r\n").as_bytes()).any_split(
        || Server::new(&Config::default()),
        |event, _: &mut Server, _, log| {
            if let ServerEvent::End(trailers) = event {
                log.item(format_args!("{}", show(trailers)));
            }
        },
    );
    assert_eq!(log, "X=y paused");
}

/// What can be printed of a head, and heads to keep.
#[test]
fn heads_that_are_kept() {
    let (mut rx, mut tx, mut server) = (RecvBuf::new(), SendBuf::new(), Server::new(&Config::default()));
    rx.push(b"GET /a HTTP/1.1\r\nHost: b\r\nX: \"\xFC\"\r\n\r\n");
    let event = server.next_event(&mut rx, &mut tx).unwrap();
    let Some(ServerEvent::Request(head)) = event else { panic!("{event:?}") };
    assert_eq!(
        format!("{head:?}"),
        r#"RequestHead { method: "GET", target: "/a", version: Http11, fields: {"Host": "b", "X": "\"\xfc\""} }"#
    );
    let kept = head.into_owned();
    let memory = kept.clone().into_memory();
    assert_eq!((memory.as_slice(), kept.head().as_bytes()), (head.as_bytes(), head.as_bytes()));
    // Memory that was used before is used again.
    let pointer = memory.as_ptr();
    let again = head.into_owned_in(memory).into_memory();
    assert_eq!(again.as_ptr(), pointer);

    let (mut rx, mut client) = (RecvBuf::new(), http1::asking(&Config::default(), &["GET"]));
    rx.push(b"HTTP/1.1 204 No\r\nX: y\r\n\r\n");
    let event = client.next_event(&mut rx, &mut tx).unwrap();
    let Some(ClientEvent::Response(head)) = event else { panic!("{event:?}") };
    assert_eq!(format!("{head:?}"), r#"ResponseHead { status: 204, version: Http11, fields: {"X": "y"} }"#);
    let memory = head.into_owned().into_memory();
    assert_eq!(memory, head.as_bytes());
    let pointer = memory.as_ptr();
    let again = head.into_owned_in(memory).into_memory();
    assert_eq!(again.as_ptr(), pointer);
}
