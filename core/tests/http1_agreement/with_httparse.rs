//! Heads, against httparse alone: what we accept it accepts, with the same parts; what it refuses we refuse; and where it
//! accepts what we refuse, there is a reason to be seen in the head.

use crate::{
    common::{CLEAN, Input, http1},
    generate::{self, Wire},
};
use bytewise::{
    Machine,
    http1::{ClientEvent, Config, NO_FIELDS, Server, ServerEvent, Version},
};
use httparse::{Header, Status};
use proptest::prelude::*;
use std::{
    cell::RefCell,
    fmt::{self, Debug},
};

/// The parts of a head, and its bytes.
#[derive(Clone, PartialEq)]
struct Head {
    /// Method and target, or status and reason.
    line: (Vec<u8>, Vec<u8>),
    minor: u8,
    fields: Vec<(Vec<u8>, Vec<u8>)>,
    bytes: Vec<u8>,
}

impl Debug for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (line, fields) = (&self.line, self.fields.iter());
        let fields: Vec<_> =
            fields.map(|(name, value)| format!("{}={}", name.escape_ascii(), value.escape_ascii())).collect();
        let line = format!("<{}> <{}> 1.{}", line.0.escape_ascii(), line.1.escape_ascii(), self.minor);
        write!(f, "{line} [{}] of {}", fields.join(", "), self.bytes.escape_ascii())
    }
}

fn ours<'a>(fields: impl Iterator<Item = (&'a str, &'a [u8])>) -> Vec<(Vec<u8>, Vec<u8>)> {
    fields.map(|(name, value)| (name.as_bytes().to_vec(), value.to_vec())).collect()
}

fn theirs(fields: &[Header<'_>]) -> Vec<(Vec<u8>, Vec<u8>)> {
    fields.iter().map(|field| (field.name.as_bytes().to_vec(), field.value.to_vec())).collect()
}

const fn minor(version: Version) -> u8 {
    match version {
        Version::Http10 => 0,
        Version::Http11 => 1,
    }
}

/// What a server makes of the first head, at every cut: the head, or the name of the error.
fn served(wire: &[u8]) -> Result<Head, String> {
    let found = RefCell::new(None);
    let log = Input::new(wire).ending(CLEAN).any_split(
        || Server::new(&Config::default()),
        |event, http, tx, _| {
            if let ServerEvent::Request(head) = event {
                let line = (head.method().into(), head.target().into());
                let (fields, bytes) = (ours(head.fields().iter()), head.as_bytes().to_vec());
                let head = Head { line, minor: minor(head.version()), fields, bytes };
                assert_eq!(found.borrow_mut().get_or_insert(head.clone()), &head);
                // That was all: the connection ends.
                http.shut_down(tx);
                http.respond(404, NO_FIELDS, "", tx).unwrap();
            }
        },
    );
    found.into_inner().ok_or_else(|| log.split(['!', ' ', '{']).nth(1).unwrap_or_default().to_owned())
}

/// What a client makes of the first head, at every cut.
fn received(wire: &[u8]) -> Result<Head, String> {
    let found = RefCell::new(None);
    let log = Input::new(wire).ending(CLEAN).any_split(
        || http1::asking(&Config::default(), &["HEAD"]),
        |event, _, _, _| {
            if let ClientEvent::Informational(head) | ClientEvent::Response(head) = event {
                let line = (head.status().to_string().into(), head.reason().to_vec());
                let (fields, bytes) = (ours(head.fields().iter()), head.as_bytes().to_vec());
                let head = Head { line, minor: minor(head.version()), fields, bytes };
                assert_eq!(found.borrow_mut().get_or_insert(head.clone()), &head);
            }
        },
    );
    found.into_inner().ok_or_else(|| log.split(['!', ' ', '{']).nth(1).unwrap_or_default().to_owned())
}

fn has_bare_line_feed(head: &[u8]) -> bool {
    head.iter().enumerate().any(|(at, &byte)| byte == b'\n' && (at == 0 || head[at - 1] != b'\r'))
}

fn values<'h>(head: &'h Head, name: &str) -> Vec<&'h [u8]> {
    head.fields.iter().filter(|(n, _)| n.eq_ignore_ascii_case(name.as_bytes())).map(|(_, value)| &value[..]).collect()
}

/// Whether a target is beyond doubt what its method asks for.
fn is_plain_target((method, target): &(Vec<u8>, Vec<u8>)) -> bool {
    let is_name = |name: &[u8]| !name.is_empty() && name.iter().all(u8::is_ascii_alphanumeric);
    match (&method[..], &target[..]) {
        (b"CONNECT", target) => target.strip_suffix(b":443").is_some_and(is_name),
        (b"OPTIONS", b"*") => true,
        (_, [b'/', path @ ..]) => path.iter().all(|byte| byte.is_ascii_alphanumeric() || b"/?&=%.~".contains(byte)),
        (_, target) => target.strip_prefix(b"http://").is_some_and(is_name),
    }
}

/// Whether there is a reason in a head that httparse accepts to refuse it so.
fn is_reason(error: &str, head: &Head, is_request: bool) -> bool {
    let (lengths, codings) = (values(head, "content-length"), values(head, "transfer-encoding"));
    let begins_with_empty_lines = head.bytes.starts_with(b"\r\n\r\n");
    match error {
        // RFC 9112, section 2.2. An empty line is skipped, and no more.
        "BareLf" => has_bare_line_feed(&head.bytes),
        "StartLine" if is_request => {
            !is_plain_target(&head.line) || begins_with_empty_lines || has_bare_line_feed(&head.bytes)
        }
        "StartLine" => head.line.0[0] == b'0' || head.bytes.starts_with(b"\r") || has_bare_line_feed(&head.bytes),
        "Host" => {
            let hosts = values(head, "host");
            hosts.len() > 1
                || (hosts.is_empty() && head.minor == 1)
                || hosts.iter().any(|host| !host.iter().all(u8::is_ascii_alphanumeric))
        }
        "ContentLength" => {
            let is_number =
                |value: &[u8]| !value.is_empty() && value.len() < 20 && value.iter().all(u8::is_ascii_digit);
            lengths.len() > 1
                || !lengths.iter().all(|value| is_number(value))
                || (!lengths.is_empty() && !codings.is_empty())
        }
        "TransferEncoding" => {
            !codings.is_empty()
                && (head.minor == 0 || codings.len() > 1 || !codings[0].eq_ignore_ascii_case(b"chunked"))
        }
        "UnsupportedCoding" => codings.iter().any(|value| value.contains(&b',')) || codings.len() > 1,
        _ => false,
    }
}

/// Whether it is one that httparse refuses for being newer than it is: we read it as 1.1 (RFC 9110, section 2.5).
fn has_higher_minor_version(head: &Head) -> bool {
    let line = head.bytes.split(|&byte| byte == b'\r').next().unwrap_or_default();
    (2..=9).any(|minor| {
        let version = format!("HTTP/1.{minor}");
        line.ends_with(version.as_bytes()) || line.starts_with(version.as_bytes())
    })
}

fn check(
    ours: Result<Head, String>,
    theirs: Result<Option<Head>, httparse::Error>,
    is_request: bool,
) -> Result<(), TestCaseError> {
    match (ours, theirs) {
        (Ok(ours), Err(httparse::Error::Version)) => prop_assert!(has_higher_minor_version(&ours), "{ours:?}"),
        (Ok(ours), Ok(Some(mut theirs))) => {
            // It counts an empty line before a request to the head.
            if theirs.bytes.starts_with(b"\r\n") {
                theirs.bytes.drain(..2);
            }
            prop_assert_eq!(ours, theirs);
        }
        (Ok(ours), theirs) => {
            return Err(TestCaseError::fail(format!("accepted: {ours:?}, and there it is {theirs:?}")));
        }
        (Err(error), Ok(Some(theirs))) => {
            prop_assert!(is_reason(&error, &theirs, is_request), "{error}, but there {theirs:?}");
        }
        (Err(_), Ok(None) | Err(_)) => {}
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn request_heads(Wire(wire) in generate::request_head()) {
        let mut fields = [httparse::EMPTY_HEADER; 100];
        let mut request = httparse::Request::new(&mut fields);
        let parsed = request.parse(&wire).map(|status| match status {
            Status::Partial => None,
            Status::Complete(len) => Some(Head {
                line: (request.method.unwrap().into(), request.path.unwrap().into()),
                minor: request.version.unwrap(),
                fields: theirs(request.headers),
                bytes: wire[..len].to_vec(),
            }),
        });
        check(served(&wire), parsed, true)?;
    }

    #[test]
    fn response_heads(Wire(wire) in generate::response_head()) {
        let mut fields = [httparse::EMPTY_HEADER; 100];
        let mut response = httparse::Response::new(&mut fields);
        let parsed = response.parse(&wire).map(|status| match status {
            Status::Partial => None,
            Status::Complete(len) => Some(Head {
                line: (format!("{:03}", response.code.unwrap()).into(), response.reason.unwrap().into()),
                minor: response.version.unwrap(),
                fields: theirs(response.headers),
                bytes: wire[..len].to_vec(),
            }),
        });
        let mut ours = received(&wire);
        if let Ok(head) = &mut ours && !head.line.1.is_ascii() {
            // It does not show a reason that is no ASCII.
            head.line.1.clear();
        }
        check(ours, parsed, false)?;
    }
}
