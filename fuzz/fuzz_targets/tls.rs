//! The input picks the version, who hears raw bytes, and what happens to the records on their way. Held:
//!
//! * nothing panics, and everything comes to an end;
//! * what comes out is the beginning of what went in, however records are cut, changed, dropped, repeated or held back;
//! * an end of the session is one that was announced;
//! * errors are final, and nothing comes out or is sent after them but alerts.
#![no_main]

use arbitrary::Arbitrary;
use bytewise::{Eof, RecvBuf, SendBuf};
use bytewise_net::tls::Tls;
use libfuzzer_sys::fuzz_target;
use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::{
    ClientConfig, RootCertStore, ServerConfig, SupportedProtocolVersion,
    client::Resumption,
    crypto::ring::default_provider,
    pki_types::{PrivateKeyDer, ServerName},
    version::{TLS12, TLS13},
};
use std::sync::{Arc, LazyLock};

#[derive(Debug, Arbitrary)]
struct Input<'a> {
    how: u8,
    /// Each four are a turn.
    script: [[u8; 4]; 12],
    /// For an end that hears nothing else, or in between.
    raw: &'a [u8],
}

type Configs = (Arc<ClientConfig>, Arc<ServerConfig>);

static CONFIGS: LazyLock<[Configs; 2]> = LazyLock::new(|| {
    let CertifiedKey { cert, signing_key } = generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    [&TLS12, &TLS13].map(|version: &'static SupportedProtocolVersion| {
        let mut roots = RootCertStore::empty();
        roots.add(cert.der().clone()).unwrap();
        let mut client = ClientConfig::builder_with_provider(Arc::new(default_provider()))
            .with_protocol_versions(&[version])
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        // One input knows nothing of another.
        client.resumption = Resumption::disabled();
        let mut server = ServerConfig::builder_with_provider(Arc::new(default_provider()))
            .with_protocol_versions(&[version])
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![cert.der().clone()], PrivateKeyDer::Pkcs8(signing_key.serialize_der().into()))
            .unwrap();
        // Messages over several records.
        server.max_fragment_size = Some(200);
        (Arc::new(client), Arc::new(server))
    })
});

struct End {
    tls: Tls,
    rx: RecvBuf,
    tx: SendBuf,
    /// All that was to be said, and all that was heard.
    said: Vec<u8>,
    heard: Vec<u8>,
    closed: bool,
    failed: Option<String>,
}

impl End {
    fn new(tls: Tls) -> Self {
        let (said, heard) = (Vec::new(), Vec::new());
        Self { tls, rx: RecvBuf::new(), tx: SendBuf::new(), said, heard, closed: false, failed: None }
    }

    fn say(&mut self, len: usize) {
        if !self.closed {
            let data: Vec<u8> = (self.said.len()..self.said.len() + len).map(|at| (at % 251) as u8).collect();
            self.said.extend_from_slice(&data);
            self.tx.put(data);
        }
    }

    fn process(&mut self) {
        let queued = self.tls.wire().1.queued();
        let outcome = self.tls.process(&mut self.rx, &mut self.tx).map_err(|error| error.to_string());
        if let Some(failed) = &self.failed {
            assert_eq!(outcome.as_ref(), Err(failed), "an error was not final");
            assert!(self.rx.unread().is_empty(), "data after an error");
            assert_eq!(self.tls.wire().1.queued(), queued, "something is sent after an error");
        }
        self.failed = outcome.err();
        let n = self.rx.unread().len();
        self.heard.extend_from_slice(self.rx.take(n));
    }

    fn records(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for turn in 0.. {
            assert!(turn < 1000, "it never ends");
            self.process();
            let tx = self.tls.wire().1;
            let n = tx.queued();
            bytes.extend(tx.chunks().flatten());
            tx.consume(n);
            if n == 0 {
                break;
            }
        }
        bytes
    }

    fn receive(&mut self, bytes: &[u8], block: usize) {
        for block in bytes.chunks(block) {
            self.tls.wire().0.push(block);
            self.process();
        }
    }

    fn end(&mut self, eof: Eof) {
        self.tls.wire().0.set_eof(eof);
        self.process();
        self.process();
        assert!(self.failed.is_some() || self.rx.eof().is_some(), "the end was not noticed");
    }
}

fuzz_target!(|input: Input<'_>| {
    let (client, server) = &CONFIGS[usize::from(input.how & 1)];
    let client = Tls::client(Arc::clone(client), ServerName::try_from("localhost").unwrap()).unwrap();
    let (mut client, mut server) = (End::new(client), End::new(Tls::server(Arc::clone(server)).unwrap()));
    if input.how & 2 != 0 {
        let end = if input.how & 4 != 0 { &mut client } else { &mut server };
        end.say(10);
        end.records();
        end.receive(input.raw, usize::from(input.how >> 3) + 1);
        end.end(Eof::Clean);
        assert!(end.heard.is_empty());
        return;
    }
    let (mut to_server, mut to_client) = (Vec::new(), Vec::new());
    let mut tampered = [false; 2];
    for [what, which, at, size] in input.script {
        let (from, to, line) = if what & 1 == 0 {
            (&mut client, &mut server, &mut to_server)
        } else {
            (&mut server, &mut client, &mut to_client)
        };
        match which >> 4 & 3 {
            0 => from.say(usize::from(size) << (at & 7)),
            1 if size == 1 => _ = from.tls.refresh_keys(),
            2 if size == 2 => {
                from.tls.close();
                from.closed = true;
            }
            3 if size == 3 => line.extend_from_slice(input.raw),
            _ => {}
        }
        line.extend(from.records());
        let at = usize::from(at);
        let begin = line.iter().position(|byte| usize::from(*byte) == at).unwrap_or_default();
        // Where a record begins, as far as can be told, or anywhere.
        match which & 15 {
            1 if !line.is_empty() => {
                let at = at * 7 % line.len();
                line[at] ^= 1 << (size & 7);
            }
            2 => line.truncate(line.len().saturating_sub(at)),
            3 => drop(line.drain(..first_record(line))),
            4 => {
                let record = line[..first_record(line)].to_vec();
                line.splice(..0, record);
            }
            5 => drop(line.drain(begin..(begin + usize::from(size)).min(line.len()))),
            // It is held back.
            6 => continue,
            _ => {}
        }
        tampered[usize::from(what & 1)] |= matches!(which & 15, 1..=5) || (which >> 4 & 3 == 3 && size == 3);
        if to.closed && tampered[usize::from(what & 1)] {
            // rustls asserts, where assertions are on, that no alert follows its own `close_notify`.
            break;
        }
        to.receive(&std::mem::take(line), usize::from(what >> 1) * 16 + 1);
        if what & 1 == 1 && which & 15 == 7 {
            to.end(if at & 1 == 0 { Eof::Clean } else { Eof::Truncated });
        }
    }
    for (end, other) in [(&client, &server), (&server, &client)] {
        assert!(other.said.starts_with(&end.heard), "what is heard was not said");
        if end.rx.eof() == Some(Eof::Clean) {
            assert!(other.closed && end.heard == other.said, "an end that was not announced");
        }
    }
});

fn first_record(line: &[u8]) -> usize {
    match line {
        [_, _, _, high, low, ..] => line.len().min(5 + usize::from(u16::from_be_bytes([*high, *low]))),
        _ => line.len(),
    }
}
