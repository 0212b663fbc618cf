//! The input picks who reads, blocks, and a head with frames behind it, or a field of extensions. Held:
//!
//! * cut and whole agree: what is sent, what the handshake said, and the frames behind it;
//! * what is accepted has all that RFC 6455, section 4, asks for;
//! * what a server answers to an offer, a client that could have made it takes.
#![no_main]

use arbitrary::Arbitrary;
use bytewise::{
    Machine, NextIo, RecvBuf, SendBuf,
    http1::{self, Client, ClientEvent, Server, ServerEvent},
    ws::{
        Config, Connection, Deflate, MaskKeys,
        handshake::{Negotiated, Request, Upgrade},
    },
};
use libfuzzer_sys::fuzz_target;

#[derive(Debug, Arbitrary)]
struct Input<'a> {
    who: u8,
    blocks: [u8; 2],
    wire: &'a [u8],
}

fuzz_target!(|input: Input<'_>| {
    match input.who % 3 {
        0 => assert_eq!(serve(input.wire, &[usize::MAX]), serve(input.wire, &input.blocks.map(usize::from))),
        1 => assert_eq!(connect(input.wire, &[usize::MAX]), connect(input.wire, &input.blocks.map(usize::from))),
        _ => extensions(input.wire),
    }
});

fn config() -> Config {
    Config::default().with_deflate(Deflate::default())
}

/// Hands the wire over in blocks of these sizes.
fn blocks<'w>(wire: &'w [u8], sizes: &'w [usize]) -> impl Iterator<Item = &'w [u8]> {
    let mut left = wire;
    let mut sizes = sizes.iter().cycle();
    std::iter::from_fn(move || {
        let n = left.len().min((*sizes.next()?).max(1));
        let (block, rest) = left.split_at(n);
        left = rest;
        (!block.is_empty()).then_some(block)
    })
}

/// Takes the events of an open connection; whether it failed.
fn frames(ws: &mut Connection, rx: &mut RecvBuf, tx: &mut SendBuf, log: &mut String) -> bool {
    loop {
        match ws.next_event(rx, tx) {
            Ok(Some(event)) => *log += &format!("{event:?}\n"),
            Ok(None) => return false,
            Err(error) => {
                *log += &format!("{error}\n");
                return true;
            }
        }
    }
}

fn serve(wire: &[u8], sizes: &[usize]) -> (String, Vec<u8>) {
    let (mut rx, mut tx, mut log) = (RecvBuf::new(), SendBuf::new(), String::new());
    let mut http = Server::new(&http1::Config::default());
    let mut ws: Option<Connection> = None;
    'input: for block in blocks(wire, sizes) {
        rx.push(block);
        while ws.is_none() {
            match http.next_event(&mut rx, &mut tx) {
                Ok(Some(ServerEvent::Request(head))) => match Upgrade::parse(head) {
                    Ok(upgrade) => {
                        let fields = head.fields();
                        let text = String::from_utf8_lossy(head.as_bytes()).to_lowercase();
                        assert!(text.starts_with("get ") && text.contains("websocket") && text.contains("upgrade"));
                        let key = fields.get("sec-websocket-key").expect("a key");
                        assert!(key.len() == 24 && key.ends_with(b"=="), "{}", key.escape_ascii());
                        assert_eq!(fields.get("sec-websocket-version"), Some(&b"13"[..]));
                        let accepted = upgrade.accept(&config(), upgrade.protocols().last());
                        http.switch(101, accepted.fields(), &mut tx).expect("our own fields");
                        let accepted = accepted.into_connection();
                        log += &format!("{:?}\n", accepted.negotiated());
                        ws = Some(accepted);
                    }
                    Err(refusal) => {
                        log += &format!("{refusal}\n");
                        assert!(matches!(refusal.status(), 400 | 405 | 426));
                        http.discard_body();
                        http.respond(refusal.status(), refusal.fields(), "", &mut tx).expect("our own fields");
                    }
                },
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(error) => {
                    log += &format!("{error}\n");
                    break 'input;
                }
            }
        }
        if http.next_io() != NextIo::Read && ws.is_none() {
            break;
        }
        if let Some(ws) = &mut ws
            && frames(ws, &mut rx, &mut tx, &mut log)
        {
            break;
        }
    }
    (log, tx.chunks().flatten().copied().collect())
}

fn connect(wire: &[u8], sizes: &[usize]) -> (String, Vec<u8>) {
    let (mut rx, mut tx, mut log) = (RecvBuf::new(), SendBuf::new(), String::new());
    let mut http = Client::new(&http1::Config::default());
    let request = Request::new(*b"the sample nonce", &config(), &["a", "b"]);
    http.request("GET", "/", request.fields().chain([("host", &b"a"[..])]), "", &mut tx).expect("our own fields");
    let mut ws: Option<Connection> = None;
    'input: for block in blocks(wire, sizes) {
        rx.push(block);
        while ws.is_none() {
            match http.next_event(&mut rx, &mut tx) {
                Ok(Some(ClientEvent::Switched(head))) => {
                    match request.clone().finish(&head, MaskKeys::from_seed([0; 32])) {
                        Ok(accepted) => {
                            let accept = head.fields().get("sec-websocket-accept");
                            assert_eq!(accept, Some(&b"s3pPLMBiTxaQ9kYGzzhZRbK+xOo="[..]));
                            log += &format!("{:?}\n", accepted.negotiated());
                            ws = Some(accepted);
                        }
                        Err(rejected) => {
                            log += &format!("{rejected}\n");
                            break 'input;
                        }
                    }
                }
                Ok(Some(ClientEvent::Response(head))) => {
                    let rejected = request.clone().finish(&head, MaskKeys::from_seed([0; 32]));
                    log += &format!("{}\n", rejected.expect_err("no 101"));
                    break 'input;
                }
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(error) => {
                    log += &format!("{error}\n");
                    break 'input;
                }
            }
        }
        if let Some(ws) = &mut ws
            && frames(ws, &mut rx, &mut tx, &mut log)
        {
            break;
        }
    }
    (log, tx.chunks().flatten().copied().collect())
}

fn extensions(field: &[u8]) {
    let chosen = Negotiated::choose(field, &config());
    if let Some(answer) = chosen.extensions() {
        let text = String::from_utf8_lossy(field).to_lowercase();
        assert!(text.contains("permessage-deflate"));
        let confirmed = Negotiated::confirm(answer.as_bytes(), &config()).expect("an answer of our own");
        assert_eq!(confirmed.extensions(), Some(answer));
        // What was answered is an offer, too.
        let again = Negotiated::choose(answer.as_bytes(), &config());
        assert_eq!(again.extensions(), Some(answer));
    }
    if let Ok(confirmed) = Negotiated::confirm(field, &config())
        && let Some(answer) = confirmed.extensions()
    {
        assert!(Negotiated::choose(answer.as_bytes(), &config()).extensions().is_some());
    }
}
