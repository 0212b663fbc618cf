//! A head of a request or of a response, against httparse. Held:
//!
//! * what we accept it accepts, with the same line, fields and length, but for minor versions above 1;
//! * what it refuses we refuse;
//! * where it accepts what we refuse, there is a reason to be seen in the head;
//! * and where the head says that a body follows, both sides' rules of RFC 9112, section 6.3, give the same one.
#![no_main]

use bytewise::{
    Eof, Machine, RecvBuf, SendBuf,
    http1::{BodyLength, Client, ClientEvent, Config, Error, Fields, Server, ServerEvent, Version},
};
use httparse::{Header, Status};
use libfuzzer_sys::fuzz_target;

/// The parts of a head: method and target, or status and reason; the minor version; the fields; all its bytes.
#[derive(Debug, PartialEq)]
struct Head {
    line: (String, Vec<u8>),
    minor: u8,
    fields: Vec<(String, Vec<u8>)>,
    bytes: Vec<u8>,
}

fuzz_target!(|input: &[u8]| {
    let Some((&kind, wire)) = input.split_first() else { return };
    match kind & 1 {
        0 => request(wire),
        _ => response(wire),
    }
});

fn request(wire: &[u8]) {
    let mut slots = [httparse::EMPTY_HEADER; 100];
    let mut request = httparse::Request::new(&mut slots);
    let theirs = request.parse(wire).map(|status| match status {
        Status::Partial => None,
        Status::Complete(len) => Some(Head {
            line: (request.method.unwrap().to_owned(), request.path.unwrap().into()),
            minor: request.version.unwrap(),
            fields: all(request.headers),
            bytes: wire[..len].to_vec(),
        }),
    });

    let (mut rx, mut tx, mut http) = (RecvBuf::new(), SendBuf::new(), Server::new(&Config::default()));
    rx.push(wire);
    rx.set_eof(Eof::Clean);
    let ours = match http.next_event(&mut rx, &mut tx) {
        Ok(Some(ServerEvent::Request(head))) => {
            assert_eq!(head.body_length(), body_of_request(head.fields()));
            Ok(Head {
                line: (head.method().to_owned(), head.target().into()),
                minor: minor(head.version()),
                fields: shown(head.fields()),
                bytes: head.as_bytes().to_vec(),
            })
        }
        Ok(_) => Err(None),
        Err(error) => Err(Some(error)),
    };
    compare(ours, theirs, is_plain_request);
}

fn response(wire: &[u8]) {
    let mut slots = [httparse::EMPTY_HEADER; 100];
    let mut response = httparse::Response::new(&mut slots);
    let theirs = response.parse(wire).map(|status| match status {
        Status::Partial => None,
        Status::Complete(len) => Some(Head {
            line: (format!("{:03}", response.code.unwrap()), response.reason.unwrap().into()),
            minor: response.version.unwrap(),
            fields: all(response.headers),
            bytes: wire[..len].to_vec(),
        }),
    });

    let (mut rx, mut tx, mut http) = (RecvBuf::new(), SendBuf::new(), Client::new(&Config::default()));
    http.request("HEAD", "/", [("host", "a")], "", &mut tx).unwrap();
    rx.push(wire);
    rx.set_eof(Eof::Clean);
    let ours = match http.next_event(&mut rx, &mut tx) {
        Ok(Some(ClientEvent::Response(head) | ClientEvent::Informational(head))) => {
            assert_eq!(head.body_length(), body_of_response(head.fields()));
            // It does not show a reason that is no ASCII.
            let reason = if head.reason().is_ascii() { head.reason().to_vec() } else { Vec::new() };
            Ok(Head {
                line: (head.status().to_string(), reason),
                minor: minor(head.version()),
                fields: shown(head.fields()),
                bytes: head.as_bytes().to_vec(),
            })
        }
        Ok(_) => Err(None),
        Err(error) => Err(Some(error)),
    };
    compare(ours, theirs, |head| head.line.0.starts_with(|first| first != '0') && head.line.0 != "101");
}

fn compare(
    ours: Result<Head, Option<Error>>,
    theirs: Result<Option<Head>, httparse::Error>,
    is_plain_line: impl Fn(&Head) -> bool,
) {
    match (ours, theirs) {
        (Ok(ours), Err(httparse::Error::Version)) => assert!(has_higher_minor_version(&ours), "{ours:?}"),
        (Ok(ours), Ok(Some(mut theirs))) => {
            // It counts an empty line before a request to the head.
            if theirs.bytes.starts_with(b"\r\n") {
                theirs.bytes.drain(..2);
            }
            assert_eq!(ours, theirs);
        }
        (Ok(ours), theirs) => panic!("accepted: {ours:?}, and there it is {theirs:?}"),
        (Err(error), Ok(Some(theirs))) => {
            assert!(is_reason(error, &theirs, is_plain_line(&theirs)), "{error:?}, but there {theirs:?}");
        }
        (Err(_), Ok(None) | Err(_)) => {}
    }
}

/// Whether there is a reason in a head that httparse accepts to refuse it so.
fn is_reason(error: Option<Error>, head: &Head, is_plain_line: bool) -> bool {
    let values = |name: &str| {
        let all = head.fields.iter().filter(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, value)| &value[..]);
        all.collect::<Vec<_>>()
    };
    let (lengths, codings, hosts) = (values("content-length"), values("transfer-encoding"), values("host"));
    let is_number = |value: &&[u8]| !value.is_empty() && value.len() < 20 && value.iter().all(u8::is_ascii_digit);
    let line_len = head.bytes.iter().position(|&byte| byte == b'\n').unwrap_or_default();
    match error {
        Some(Error::BareLf) => has_bare_line_feed(&head.bytes),
        Some(Error::StartLine) => !is_plain_line || head.bytes.starts_with(b"\r\n") || has_bare_line_feed(&head.bytes),
        Some(Error::TargetTooLong) => line_len > 8000,
        Some(Error::HeadTooLong) => head.bytes.len() > 16 * 1024,
        Some(Error::Host) => {
            hosts.len() > 1
                || (hosts.is_empty() && head.minor == 1)
                || hosts.iter().any(|host| !host.iter().all(u8::is_ascii_alphanumeric))
        }
        Some(Error::ContentLength) => {
            lengths.len() > 1 || !lengths.iter().all(is_number) || (!lengths.is_empty() && !codings.is_empty())
        }
        Some(Error::TransferEncoding) => {
            !codings.is_empty()
                && (head.minor == 0 || codings.len() > 1 || !codings[0].eq_ignore_ascii_case(b"chunked"))
        }
        Some(Error::UnsupportedCoding) => codings.len() > 1 || codings.iter().any(|value| value.contains(&b',')),
        // A switch that was not asked for.
        Some(Error::Unsolicited) => head.line.0 == "101",
        _ => false,
    }
}

/// Whether a request's target is beyond doubt what its method asks for.
fn is_plain_request(head: &Head) -> bool {
    let is_name = |name: &[u8]| !name.is_empty() && name.iter().all(u8::is_ascii_alphanumeric);
    head.line.0.len() < 20
        && match (&*head.line.0, &head.line.1[..]) {
            ("CONNECT", target) => target.strip_suffix(b":443").is_some_and(is_name),
            ("OPTIONS", b"*") => true,
            (_, [b'/', path @ ..]) => path.iter().all(|byte| byte.is_ascii_alphanumeric() || b"/?&=%.~".contains(byte)),
            (_, target) => target.strip_prefix(b"http://").is_some_and(is_name),
        }
}

/// How a request's body is delimited, read anew from the fields: RFC 9112, section 6.3, of a head that was accepted.
fn body_of_request(fields: Fields<'_>) -> BodyLength {
    match (fields.get("transfer-encoding"), fields.get("content-length")) {
        (Some(coding), None) => {
            assert!(coding.eq_ignore_ascii_case(b"chunked"));
            BodyLength::Chunked
        }
        (None, Some(length)) => BodyLength::Length(str::from_utf8(length).unwrap().parse().unwrap()),
        (None, None) => BodyLength::None,
        (Some(_), Some(_)) => panic!("both framings"),
    }
}

fn body_of_response(fields: Fields<'_>) -> BodyLength {
    match body_of_request(fields) {
        BodyLength::None => BodyLength::UntilClose,
        length => length,
    }
}

fn has_bare_line_feed(head: &[u8]) -> bool {
    head.iter().enumerate().any(|(at, &byte)| byte == b'\n' && (at == 0 || head[at - 1] != b'\r'))
}

/// Whether it is one that httparse refuses for being newer than it is: we read it as 1.1 (RFC 9110, section 2.5).
fn has_higher_minor_version(head: &Head) -> bool {
    let line = head.bytes.split(|&byte| byte == b'\r').next().unwrap_or_default();
    (2..=9).any(|minor| {
        let version = format!("HTTP/1.{minor}");
        line.ends_with(version.as_bytes()) || line.starts_with(version.as_bytes())
    })
}

fn all(fields: &[Header<'_>]) -> Vec<(String, Vec<u8>)> {
    fields.iter().map(|field| (field.name.to_owned(), field.value.to_vec())).collect()
}

fn shown(fields: Fields<'_>) -> Vec<(String, Vec<u8>)> {
    fields.iter().map(|(name, value)| (name.to_owned(), value.to_vec())).collect()
}

const fn minor(version: Version) -> u8 {
    match version {
        Version::Http10 => 0,
        Version::Http11 => 1,
    }
}
