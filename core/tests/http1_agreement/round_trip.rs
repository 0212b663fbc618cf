//! What a client sends a server reads, and what it answers the client reads, whatever they are and however they are cut.

use crate::common::{CLEAN, Input, http1};
use bytewise::{
    Machine, RecvBuf, SendBuf,
    http1::{BodyLength, Client, Config, NO_FIELDS, Server, ServerEvent},
};
use proptest::{collection::vec, prelude::*, sample::select};

#[derive(Debug, Clone)]
struct Body {
    kind: Kind,
    pieces: Vec<Vec<u8>>,
    trailers: Vec<(String, Vec<u8>)>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    /// By one call with all of it.
    Whole,
    Length,
    Chunked,
    None,
}

#[derive(Debug, Clone)]
struct Exchange {
    method: &'static str,
    target: &'static str,
    fields: Vec<(String, Vec<u8>)>,
    request: Body,
    status: u16,
    response_fields: Vec<(String, Vec<u8>)>,
    response: Body,
}

fn fields(most: usize) -> impl Strategy<Value = Vec<(String, Vec<u8>)>> {
    let name = "x-[!#$%&'*+.^_`|~0-9A-Za-z-]{1,12}";
    let byte = prop_oneof![8 => 0x21u8..0x7F, 1 => 0x80u8..=0xFF];
    // No whitespace around it, which is not kept.
    let value = vec(
        prop_oneof![3 => byte.clone().prop_map(|byte| vec![byte]), 1 => byte.prop_map(|byte| vec![byte, b'\t', b' ', byte])],
        0..6,
    );
    vec((name, value.prop_map(|parts| parts.concat())), 0..most)
}

fn body() -> impl Strategy<Value = Body> {
    let piece = prop_oneof![6 => vec(any::<u8>(), 0..20), 1 => (4000usize..5000).prop_map(|len| vec![b'x'; len])];
    let kind = select(&[Kind::Whole, Kind::Length, Kind::Chunked, Kind::None][..]);
    (kind, vec(piece, 0..4), fields(3)).prop_map(|(kind, pieces, trailers)| match kind {
        Kind::None => Body { kind, pieces: Vec::new(), trailers: Vec::new() },
        Kind::Chunked => Body { kind, pieces, trailers },
        // There is no body under way then.
        Kind::Length if pieces.concat().is_empty() => Body { kind, pieces: Vec::new(), trailers: Vec::new() },
        Kind::Whole | Kind::Length => Body { kind, pieces, trailers: Vec::new() },
    })
}

fn exchange() -> impl Strategy<Value = Exchange> {
    let method = select(&["GET", "HEAD", "POST", "PUT", "DELETE", "BREW"][..]);
    let target = select(&["/", "/a?b=c", "http://b/c", "/~%20"][..]);
    let status = select(&[200u16, 201, 204, 205, 304, 404, 500, 599][..]);
    (method, target, fields(4), body(), status, fields(4), body()).prop_map(
        |(method, target, fields, request, status, response_fields, response)| {
            let response = match status {
                204 | 205 => Body { kind: Kind::None, pieces: Vec::new(), trailers: Vec::new() },
                _ => response,
            };
            Exchange { method, target, fields, request, status, response_fields, response }
        },
    )
}

impl Body {
    fn bytes(&self) -> Vec<u8> {
        self.pieces.concat()
    }

    fn length(&self) -> BodyLength {
        match self.kind {
            Kind::None => BodyLength::None,
            Kind::Chunked => BodyLength::Chunked,
            Kind::Whole | Kind::Length => BodyLength::Length(self.bytes().len() as u64),
        }
    }

    fn expected(&self) -> String {
        let mut log = crate::common::Log::default();
        log.piece(&self.bytes());
        let trailers: Vec<_> =
            self.trailers.iter().map(|(name, value)| format!("{name}={}", value.escape_ascii())).collect();
        match trailers.is_empty() {
            true => log.item(format_args!(".")),
            false => log.item(format_args!(".({})", trailers.join(", "))),
        }
        log.into_text()
    }
}

impl Exchange {
    fn ask(&self, http: &mut Client, tx: &mut SendBuf) {
        let host = [("Host".to_owned(), b"a".to_vec())];
        let fields = host.iter().chain(&self.fields).map(|(name, value)| (name, value));
        match self.request.kind {
            Kind::Whole => http.request(self.method, self.target, fields, self.request.bytes(), tx).unwrap(),
            _ => {
                http.send_request(self.method, self.target, fields, self.request.length(), tx).unwrap();
                for piece in &self.request.pieces {
                    http.send_data(piece, tx).unwrap();
                }
                http.send_end(self.request.trailers.iter().map(|(name, value)| (name, value)), tx).unwrap();
            }
        }
    }

    fn answer(&self, http: &mut Server, tx: &mut SendBuf) {
        let fields = self.response_fields.iter().map(|(name, value)| (name, value));
        match self.response.kind {
            Kind::Whole => http.respond(self.status, fields, self.response.bytes(), tx).unwrap(),
            _ => {
                http.send_response(self.status, fields, self.response.length(), tx).unwrap();
                for piece in &self.response.pieces {
                    http.send_data(piece, tx).unwrap();
                }
                http.send_end(self.response.trailers.iter().map(|(name, value)| (name, value)), tx).unwrap();
            }
        }
    }

    fn is_response_unsent(&self) -> bool {
        self.method == "HEAD" || self.status == 304
    }
}

/// All fields that are not the core's own.
fn shown(fields: bytewise::http1::Fields<'_>) -> String {
    let fields = fields.iter().filter(|(name, _)| name.starts_with("x-"));
    fields.map(|(name, value)| format!("{name}={}", value.escape_ascii())).collect::<Vec<_>>().join(", ")
}

fn listed(fields: &[(String, Vec<u8>)]) -> String {
    fields.iter().map(|(name, value)| format!("{name}={}", value.escape_ascii())).collect::<Vec<_>>().join(", ")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn there_and_back(exchanges in vec(exchange(), 1..4)) {
        // All are asked at once, and what is on the wire is read at every cut.
        let config = Config::default().with_max_outstanding(exchanges.len());
        let (mut client, mut tx) = (Client::new(&config), SendBuf::new());
        exchanges.iter().for_each(|exchange| exchange.ask(&mut client, &mut tx));
        let requests: Vec<u8> = tx.chunks().flatten().copied().collect();
        let expected: String = exchanges
            .iter()
            .map(|it| format!("{} {} [{}] {}", it.method, it.target, listed(&it.fields), it.request.expected()))
            .collect();
        let log = Input::new(&requests).output(|_| "sent".to_owned()).any_split(
            || Server::new(&config),
            |event, http, tx, log| match event {
                ServerEvent::Request(head) => {
                    log.item(format_args!("{} {} [{}]", head.method(), head.target(), shown(head.fields())));
                }
                event => {
                    let ends = matches!(event, ServerEvent::End(_));
                    http1::note_request(event, log);
                    if ends {
                        http.respond(204, NO_FIELDS, "", tx).unwrap();
                    }
                }
            },
        );
        prop_assert_eq!(log, format!("{expected}sent read"));

        // They are answered one by one, and what comes of that is read in the same way.
        let (mut server, mut rx, mut tx) = (Server::new(&config), RecvBuf::new(), SendBuf::new());
        rx.push(&requests);
        let mut due = exchanges.iter();
        while let Some(event) = server.next_event(&mut rx, &mut tx)? {
            if matches!(event, ServerEvent::End(_)) {
                due.next().unwrap().answer(&mut server, &mut tx);
            }
        }
        let responses: Vec<u8> = tx.chunks().flatten().copied().collect();
        let mut expected = String::new();
        for exchange in &exchanges {
            expected += &format!("{} [{}] ", exchange.status, listed(&exchange.response_fields));
            expected += &if exchange.is_response_unsent() { ". ".to_owned() } else { exchange.response.expected() };
        }
        let log = Input::new(&responses).ending(CLEAN).any_split(
            || {
                let mut client = Client::new(&config);
                exchanges.iter().for_each(|exchange| exchange.ask(&mut client, &mut SendBuf::new()));
                client
            },
            |event, http, tx, log| match event {
                bytewise::http1::ClientEvent::Response(head) => {
                    log.item(format_args!("{} [{}]", head.status(), shown(head.fields())));
                }
                event => http1::note_response(event, http, tx, log),
            },
        );
        prop_assert_eq!(log, format!("{expected}reusable close"));
    }
}
