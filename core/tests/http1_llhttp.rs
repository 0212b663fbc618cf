//! What llhttp, the parser of Node.js, makes of its own test cases in its strict mode, and what we make of them: the same, but
//! for the table of differences, each with the section of the RFC that decides.
//!
//! The cases are in a corpus beside the repository; a few of them are here, so that something is compared where it is not.
#![cfg(feature = "http1")]

mod common;

use base64::{Engine, prelude::BASE64_STANDARD};
use bytewise::{
    Eof, SendBuf,
    http1::{Client, ClientEvent, Config, Fields, Leniency, NO_FIELDS, Server, ServerEvent},
};
use common::{CLEAN, Input, Log, OPEN, http1::listed};
use serde_json::Value;
use std::io::Write;

/// Why a row differs.
const EXPLAINED: &[(&str, &str)] = &[
    ("request/connection.md:81", "9112 9.6: what follows a closing exchange is not looked at, rather than an error"),
    ("request/connection.md:292", "9112 9.6: the same"),
    ("request/connection.md:342", "9112 9.6: the same"),
    ("request/connection.md:156", "9112 2.2: at least one empty line is ignored; here exactly one, there any number"),
    (
        "request/content-length.md:444",
        "9112 6.3: a request's body is as long as it says; there the caller may say that there is none",
    ),
    ("request/content-length.md:493", "9112 2.2: a bare CR is judged with its line, whose end never comes"),
    ("request/invalid.md:66", "9110 9.1: methods are extensible, and have nothing to do with the protocol's name"),
    ("request/invalid.md:356", "9110 9.1: any token is a method"),
    ("request/invalid.md:490", "9112 3: a version is judged with its line, whose end never comes"),
    ("request/invalid.md:509", "9112 2.2: a field line is judged when it is complete, which it never is"),
    ("request/method.md:96", "9112 6.3: a request has the body that its length says; CONNECT is no exception"),
    ("request/method.md:135", "9112 3.2.4: asterisk-form is for OPTIONS"),
    ("request/method.md:372", "9112 2.3: ICE is not HTTP"),
    ("request/method.md:400", "9112 2.3: RTSP is not HTTP"),
    ("request/method.md:430", "9112 2.3: RTSP is not HTTP"),
    ("request/method.md:458", "9112 3.2.4: asterisk-form is for OPTIONS; and PRI is of HTTP/2, not of 1.1"),
    ("request/sample.md:314", "9112 3: the version is not optional"),
    ("request/transfer-encoding.md:464", "9112 6.3 (4): refused before it is shown, not after"),
    ("request/transfer-encoding.md:751", "9112 3.2.1: no fragment in a target; and 6.1, a coding that nobody decodes"),
    ("request/transfer-encoding.md:793", "9112 3.2.1: the same"),
    ("request/transfer-encoding.md:840", "9112 3.2.1: the same, and so before it is shown"),
    ("request/uri.md:4", "3986 2: no quotes in a URI"),
    ("request/uri.md:165", "9112 3.2.1: no fragment in a target"),
    ("request/uri.md:222", "9110 4.2.4: userinfo is refused"),
    ("response/connection.md:164", "9112 9.6: what follows a closing exchange is not looked at, rather than an error"),
    ("response/connection.md:225", "9112 9.6: the same"),
    ("response/connection.md:492", "9112 2.2: empty lines are tolerated before requests, not before responses"),
    ("response/connection.md:586", "9112 2.2: the same"),
    ("response/pipelining.md:4", "9112 2.2: the same"),
    ("response/sample.md:695", "9112 2.2: the same"),
    ("response/finish.md:6", "9112 6.3 (8): the end of input completes it; there another call does"),
    ("response/invalid.md:212", "9112 2.2: a field line is judged when it is complete, which it never is"),
    ("response/sample.md:40", "9112 2.3: RTSP is not HTTP"),
    ("response/sample.md:60", "9112 2.3: ICE is not HTTP"),
    ("response/sample.md:645", "9110 2.5: 0.9 is no version that has a status line"),
    (
        "response/transfer-encoding.md:43",
        "9112 6.1: a body that cannot be decoded is refused, not handed over as it is until close (6.3, item 4)",
    ),
    ("response/transfer-encoding.md:74", "9112 6.1: the same"),
    ("response/transfer-encoding.md:110", "9112 6.1: the same"),
];

/// What llhttp makes of a case.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Verdict {
    Accepts,
    Fails,
    /// CONNECT or an upgrade: what follows is not HTTP.
    Switches,
}
use Verdict::{Accepts, Fails, Switches};

/// Some of the cases, as they are in the corpus.
const CASES: &[(&str, &[u8], Verdict, &str)] = &[
    (
        "request/connection.md:34",
        b"PUT /url HTTP/1.1\r\nConnection: keep-alive\r\n\r\nPUT /url HTTP/1.1\r\nConnection: keep-alive\r\n\r\n",
        Accepts,
        "PUT /url [Connection=keep-alive] . PUT /url [Connection=keep-alive] . ",
    ),
    ("request/connection.md:208", b"PUT /url HTTP/1.1\r\nConnection: keep\ralive\r\n\r\n", Fails, ""),
    (
        "request/connection.md:713",
        b"PUT /url HTTP/1.1\r\nConnection: upgrade\r\nContent-Length: 4\r\nUpgrade: ws\r\n\r\nabcdefgh",
        Switches,
        "PUT /url [Connection=upgrade, Content-Length=4, Upgrade=ws] {abcd} . ",
    ),
    (
        "request/content-length.md:4",
        b"PUT /url HTTP/1.1\r\nContent-Length: 003\r\n\r\nabc",
        Accepts,
        "PUT /url [Content-Length=003] {abc} . ",
    ),
    ("request/content-length.md:100", b"PUT /url HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n", Fails, ""),
    ("request/content-length.md:370", b"POST / HTTP/1.1\r\nContent-Length: 13 37\r\n\r\n", Fails, ""),
    (
        "request/invalid.md:113",
        b"POST / HTTP/1.1\r\nHost: localhost:5000\r\nx:x\nTransfer-Encoding: chunked\r\n\r\n1\r\nA\r\n0\r\n",
        Fails,
        "",
    ),
    (
        "request/invalid.md:650",
        b"POST /hello HTTP/1.1\r\nHost: localhost\r\nFoo: bar\r\n Content-Length: 38\r\n\r\n\
            GET /bye HTTP/1.1\r\nHost: localhost\r\n\r\n",
        Fails,
        "",
    ),
    (
        "request/method.md:27",
        b"CONNECT 0-home0.netscape.com:443 HTTP/1.0\r\nUser-agent: Mozilla/1.1N\r\n\
            Proxy-authorization: basic aGVsbG86d29ybGQ=\r\n\r\nsome data\r\nand yet even more data",
        Switches,
        "CONNECT 0-home0.netscape.com:443 [User-agent=Mozilla/1.1N, Proxy-authorization=basic aGVsbG86d29ybGQ=] . ",
    ),
    (
        "request/transfer-encoding.md:877",
        b"PUT /url HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nfoo\r\n\r\n",
        Fails,
        "PUT /url [Transfer-Encoding=chunked] {foo} ",
    ),
    (
        "response/connection.md:293",
        b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: h2c\r\nContent-Length: 4\r\n\r\nbodyproto",
        Switches,
        "<Switching Protocols> [Connection=upgrade, Upgrade=h2c, Content-Length=4] . ",
    ),
    (
        "response/sample.md:330",
        b"HTTP/1.1 200 OK\nContent-Type: text/html; charset=utf-8\nConnection: close\n\n\
            these headers are from http://news.ycombinator.com/",
        Fails,
        "",
    ),
    (
        "response/transfer-encoding.md:157",
        b"HTTP/1.1 200 OK\r\nHost: localhost\r\nTransfer-encoding: chunked\r\n\r\n\
            5;ilovew3;somuchlove=aretheseparametersfor\r\nhello\r\n6;blahblah;blah\r\n world\r\n0\r\n\r\n",
        Accepts,
        "<OK> [Host=localhost, Transfer-encoding=chunked] {hello world} . ",
    ),
    (
        "response/transfer-encoding.md:248",
        b"HTTP/1.1 200 OK\r\nHost: localhost\r\nTransfer-encoding: chunked\r\n\r\n2;\r\naa\r\n0\r\n\r\n",
        Fails,
        "<OK> [Host=localhost, Transfer-encoding=chunked] ",
    ),
];

/// A case of llhttp's.
#[derive(Debug)]
struct Row {
    id: String,
    input: Vec<u8>,
    eof: Option<Eof>,
    /// The responses are to HEAD.
    skips_body: bool,
    verdict: Verdict,
    /// As we write them down: `PUT /url [a=b, c=d] {body} .`
    messages: String,
    /// Messages begun, complete or not.
    count: usize,
}

impl Row {
    fn of_case(&(id, input, verdict, messages): &(&str, &[u8], Verdict, &str)) -> Self {
        let (id, input, messages) = (id.to_owned(), input.to_owned(), messages.to_owned());
        Self { id, input, eof: OPEN, skips_body: false, verdict, messages, count: 1 }
    }

    /// `None` if it is about a leniency of theirs, or not about messages.
    fn read(row: &Value) -> Option<Self> {
        let kind = row["kind"].as_str().unwrap();
        if !row["lenient"].is_null() || row["skip"] == true || kind == "url" {
            return None;
        }
        let messages = row["messages"].as_array().unwrap();
        let begun = messages.iter().filter(|message| message["headers_complete"] == true);
        Some(Self {
            id: row["id"].as_str().unwrap().to_owned(),
            input: BASE64_STANDARD.decode(row["input_b64"].as_str().unwrap()).unwrap(),
            eof: if row["finish"] == true { CLEAN } else { OPEN },
            skips_body: row["skip_body"] == true,
            verdict: match row["outcome"].as_str().unwrap() {
                "ok" => Accepts,
                "pause" => Switches,
                "error" | "unsafe-finish" => Fails,
                other => panic!("{other}"),
            },
            messages: begun.map(|message| shown(message, kind == "request")).collect(),
            count: messages.len().max(1),
        })
    }

    /// What we make of it, in the same words.
    fn ours(&self) -> String {
        // llhttp does not look for a host.
        let config = Config::default().allow(Leniency::MissingHost);
        let input = Input::new(&self.input).ending(self.eof).output(|_| "sent".to_owned());
        if self.id.starts_with("request/") {
            return input.any_split(|| Server::new(&config), note_request);
        }
        let method = match self.verdict {
            _ if self.skips_body => "HEAD",
            Switches => "UPGRADE",
            Accepts | Fails => "GET",
        };
        input.any_split(|| common::http1::asking(&config, &vec![method; self.count]), note_response)
    }

    /// How it differs, if it does: in the messages, as far as they were accepted, or in what follows them.
    fn difference(&self) -> Option<String> {
        let ours = self.ours();
        let agrees = ours.strip_prefix(&self.messages).is_some_and(|rest| {
            let rest = rest.strip_prefix("sent ").unwrap_or(rest);
            match self.verdict {
                Accepts => ["read", "linger", "close"].iter().any(|end| rest.starts_with(end)),
                Fails => rest.starts_with('!'),
                Switches => rest.starts_with("switched"),
            }
        });
        let (input, theirs) = (self.input.escape_ascii(), &self.messages);
        (!agrees)
            .then(|| format!("{}\n  input  {input}\n  theirs {theirs}{:?}\n  ours   {ours}\n", self.id, self.verdict))
    }
}

/// A message of theirs in our words.
fn shown(message: &Value, is_request: bool) -> String {
    let mut log = Log::default();
    let line = &message["start_line"];
    let of = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    if is_request {
        log.item(format_args!("{} {}", of(&line["method"]), of(&line["url"])));
    } else {
        log.item(format_args!("<{}>", of(&line["status"]).as_bytes().escape_ascii()));
    }
    let list = |fields: &Value| {
        let fields = fields.as_array().unwrap().iter();
        fields
            .map(|field| format!("{}={}", of(&field[0]), of(&field[1]).trim_end().as_bytes().escape_ascii()))
            .collect::<Vec<_>>()
            .join(", ")
    };
    log.item(format_args!("[{}]", list(&message["headers"])));
    log.piece(of(&message["body"]).as_bytes());
    if message["complete"] == true {
        log.item(format_args!("."));
    }
    log.into_text()
}

fn note_request(event: ServerEvent<'_>, http: &mut Server, tx: &mut SendBuf, log: &mut Log) {
    match event {
        ServerEvent::Request(head) => {
            log.item(format_args!("{} {}", head.method(), head.target()));
            note_fields(head.fields(), log);
        }
        ServerEvent::Data(data) => log.piece(data),
        ServerEvent::End(_) => {
            log.item(format_args!("."));
            let switched = http.switch(101, NO_FIELDS, tx).or_else(|_| http.switch(200, NO_FIELDS, tx));
            switched.or_else(|_| http.respond(200, NO_FIELDS, "", tx)).unwrap();
        }
        other => unreachable!("{other:?}"),
    }
}

fn note_response(event: ClientEvent<'_>, _: &mut Client, _: &mut SendBuf, log: &mut Log) {
    match event {
        ClientEvent::Informational(head) | ClientEvent::Response(head) | ClientEvent::Switched(head) => {
            log.item(format_args!("<{}>", head.reason().escape_ascii()));
            note_fields(head.fields(), log);
            if head.status() < 200 {
                log.item(format_args!("."));
            }
        }
        ClientEvent::Data(data) => log.piece(data),
        ClientEvent::End(_) => log.item(format_args!(".")),
        other => unreachable!("{other:?}"),
    }
}

fn note_fields(fields: Fields<'_>, log: &mut Log) {
    log.item(format_args!("[{}]", listed(fields)));
}

#[test]
fn differences() {
    let cases: Vec<Row> = CASES.iter().map(Row::of_case).collect();
    let wrong: String = cases.iter().filter_map(Row::difference).collect();
    assert!(wrong.is_empty(), "{wrong}");

    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/corpora/llhttp.jsonl");
    let Ok(rows) = std::fs::read_to_string(path) else {
        // Past the capture of the test harness.
        writeln!(std::io::stderr(), "{} cases of llhttp compared, and not the others: no {path}", cases.len()).unwrap();
        return;
    };
    let rows: Vec<Row> = rows.lines().filter_map(|row| Row::read(&serde_json::from_str(row).unwrap())).collect();
    for case in &cases {
        let Some(row) = rows.iter().find(|row| row.id == case.id) else { panic!("no {}", case.id) };
        assert_eq!(
            (&case.input, case.verdict, &case.messages),
            (&row.input, row.verdict, &row.messages),
            "{}",
            case.id
        );
    }
    let (mut unexplained, mut agree) = (String::new(), 0);
    let mut unused: Vec<&str> = EXPLAINED.iter().map(|(id, _)| *id).collect();
    for row in &rows {
        match row.difference() {
            None => agree += 1,
            Some(_) if EXPLAINED.iter().any(|(id, _)| *id == row.id) => unused.retain(|id| *id != row.id),
            Some(difference) => unexplained += &difference,
        }
    }
    println!("{agree} of {} agree, {} differ for a reason", rows.len(), EXPLAINED.len());
    assert!(unexplained.is_empty(), "{agree} of {} agree:\n{unexplained}", rows.len());
    assert!(unused.is_empty(), "no difference: {unused:?}");
}
