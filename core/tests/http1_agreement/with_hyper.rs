//! Requests with their bodies, against hyper as a server: each that both accept has the same head and the same body, and so both
//! find the next one at the same place.

use crate::generate::{self, Wire};
use bytewise::{
    Eof, Machine, NextIo, RecvBuf, SendBuf,
    http1::{Config, Error, NO_FIELDS, Server, ServerEvent},
};
use http_body_util::{BodyExt, Empty};
use hyper::{Request, Response, body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use proptest::prelude::*;
use std::{cell::RefCell, convert::Infallible, rc::Rc};
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

/// What came of a request; its body is `None` if something is wrong with it.
#[derive(Debug, Clone, PartialEq)]
struct Seen {
    line: (String, String),
    /// Sorted, since hyper keeps them by name.
    fields: Vec<(String, Vec<u8>)>,
    body: Option<Vec<u8>>,
}

/// What our server makes of a connection on which this came in blocks of `step`, and what it failed with.
fn ours(wire: &[u8], step: usize) -> (Vec<Seen>, Option<Error>) {
    let (mut rx, mut tx, mut http) = (RecvBuf::new(), SendBuf::new(), Server::new(&Config::default()));
    let (mut seen, mut body, mut blocks): (Vec<Seen>, _, _) = (Vec::new(), Vec::new(), wire.chunks(step));
    loop {
        match http.next_event(&mut rx, &mut tx) {
            Ok(Some(ServerEvent::Request(head))) => {
                let fields = head.fields().iter().map(|(name, value)| (name.to_ascii_lowercase(), value.to_vec()));
                let mut fields: Vec<_> = fields.collect();
                fields.sort_by(|a, b| a.0.cmp(&b.0));
                seen.push(Seen { line: (head.method().to_owned(), head.target().to_owned()), fields, body: None });
            }
            Ok(Some(ServerEvent::Data(data))) => body.extend_from_slice(data),
            Ok(Some(ServerEvent::End(_))) => {
                seen.last_mut().unwrap().body = Some(std::mem::take(&mut body));
                http.respond(200, NO_FIELDS, "", &mut tx).unwrap();
            }
            Ok(Some(other)) => unreachable!("{other:?}"),
            Err(error) => return (seen, Some(error)),
            Ok(None) if http.next_io() != NextIo::Read => return (seen, None),
            Ok(None) => match blocks.next() {
                Some(block) => rx.push(block),
                None => rx.set_eof(Eof::Clean),
            },
        }
    }
}

/// What hyper does, and what it answers.
fn theirs(wire: &[u8]) -> (Vec<Seen>, Vec<u8>) {
    let seen = Rc::new(RefCell::new(Vec::new()));
    let service = service_fn(|request: Request<Incoming>| {
        let seen = seen.clone();
        async move {
            let (head, body) = request.into_parts();
            let mut fields: Vec<_> = head
                .headers
                .iter()
                .map(|(name, value)| (name.as_str().to_owned(), value.as_bytes().to_vec()))
                .collect();
            fields.sort_by(|a, b| a.0.cmp(&b.0));
            let at = seen.borrow().len();
            seen.borrow_mut().push(Seen { line: (head.method.to_string(), head.uri.to_string()), fields, body: None });
            let body = body.collect().await.ok().map(|body| body.to_bytes().to_vec());
            seen.borrow_mut()[at].body = body;
            Ok::<_, Infallible>(Response::new(Empty::<&[u8]>::new()))
        }
    });
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let answer = runtime.block_on(async {
        let (mut client, server) = duplex(1 << 16);
        client.write_all(wire).await.unwrap();
        client.shutdown().await.unwrap();
        // What it says of the connection is no more than what was seen of it.
        let _ = http1::Builder::new().half_close(true).serve_connection(TokioIo::new(server), service).await;
        let mut answer = Vec::new();
        client.read_to_end(&mut answer).await.unwrap();
        answer
    });
    (seen.take(), answer)
}

/// hyper's targets are URIs: a scheme that it knows is shown in lower case, an absolute one without a path with one.
fn same_target(ours: &str, theirs: &str) -> bool {
    let parts = |target: &str| match target.split_once("://") {
        Some((scheme, rest)) if !target.starts_with('/') => (scheme.to_ascii_lowercase(), rest.to_owned()),
        _ => (String::new(), target.to_owned()),
    };
    let (ours, theirs) = (parts(ours), parts(theirs));
    ours.0 == theirs.0 && (ours.1 == theirs.1 || ours.1 + "/" == theirs.1)
}

fn check(wire: &[u8]) -> Result<(), TestCaseError> {
    let (ours, error) = ours(wire, usize::MAX);
    for step in [1, 2, 7] {
        prop_assert_eq!(&self::ours(wire, step), &(ours.clone(), error), "blocks of {}", step);
    }
    let (theirs, answer) = theirs(wire);
    for (ours, theirs) in ours.iter().zip(&theirs) {
        prop_assert_eq!(&ours.line.0, &theirs.line.0);
        prop_assert!(same_target(&ours.line.1, &theirs.line.1), "{:?} {:?}", ours.line, theirs.line);
        prop_assert_eq!(&ours.fields, &theirs.fields);
        match (&ours.body, &theirs.body) {
            (Some(ours), Some(theirs)) => prop_assert_eq!(ours, theirs),
            (None, None) => return Ok(()),
            // It reads over what stands between chunks, and does not look at trailers so closely.
            (None, Some(_)) => {
                prop_assert!(matches!(error, Some(Error::Chunk | Error::Field | Error::BareLf)), "{error:?}");
                return Ok(());
            }
            (Some(_), None) => return Err(TestCaseError::fail(format!("a body that is refused there: {ours:?}"))),
        }
    }
    if theirs.len() > ours.len() {
        // It accepts what we refuse: a head, for one of the reasons that are told apart in `with_httparse`.
        let stricter = matches!(
            error,
            Some(
                Error::BareLf
                    | Error::StartLine
                    | Error::Host
                    | Error::ContentLength
                    | Error::TransferEncoding
                    | Error::UnsupportedCoding
            )
        );
        prop_assert!(stricter, "{error:?}, and there {:?}", theirs[ours.len()]);
    } else if ours.len() > theirs.len() {
        // It refuses what we accept, and says so: a target that is no URI, a newer version.
        prop_assert!(
            answer.windows(12).any(|part| part == b"HTTP/1.1 400")
                || answer.windows(12).any(|part| part == b"HTTP/1.1 505"),
            "{:?}",
            ours
        );
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn requests(Wire(wire) in generate::requests()) {
        check(&wire)?;
    }
}
