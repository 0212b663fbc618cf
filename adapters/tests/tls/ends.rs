//! Two ends of a session, and the bytes between them in the hands of a test.

use crate::pki::Pki;
use bytewise::{RecvBuf, SendBuf};
use bytewise_net::tls::{Tls, TlsError};
use rustls::{ClientConfig, ServerConfig, SupportedProtocolVersion};
use std::sync::Arc;

pub(crate) const ALL: usize = usize::MAX;

/// Types of records (RFC 8446, section 5.1).
pub(crate) const ALERT: u8 = 21;
pub(crate) const HANDSHAKE: u8 = 22;
pub(crate) const DATA: u8 = 23;

/// One end, with its plaintext.
pub(crate) struct End {
    pub(crate) tls: Tls,
    pub(crate) rx: RecvBuf,
    pub(crate) tx: SendBuf,
}

impl End {
    pub(crate) fn client(config: ClientConfig, name: &str) -> Self {
        Self::client_of(&Arc::new(config), name)
    }

    pub(crate) fn client_of(config: &Arc<ClientConfig>, name: &str) -> Self {
        Self::over(Tls::client(Arc::clone(config), name.to_owned().try_into().unwrap()).unwrap())
    }

    pub(crate) fn server(config: ServerConfig) -> Self {
        Self::server_of(&Arc::new(config))
    }

    pub(crate) fn server_of(config: &Arc<ServerConfig>) -> Self {
        Self::over(Tls::server(Arc::clone(config)).unwrap())
    }

    pub(crate) fn over(tls: Tls) -> Self {
        Self { tls, rx: RecvBuf::new(), tx: SendBuf::new() }
    }

    pub(crate) fn process(&mut self) -> Result<(), TlsError> {
        self.tls.process(&mut self.rx, &mut self.tx)
    }

    /// What waits on the wire, without anything being processed.
    pub(crate) fn waiting(&mut self) -> Vec<u8> {
        let tx = self.tls.wire().1;
        let waiting: Vec<u8> = tx.chunks().flatten().copied().collect();
        tx.consume(waiting.len());
        waiting
    }

    /// All that it has to send; after a failure, the alerts.
    pub(crate) fn records(&mut self) -> Vec<u8> {
        let mut records = Vec::new();
        loop {
            let failed = self.process().is_err();
            let waiting = self.waiting();
            records.extend_from_slice(&waiting);
            if waiting.is_empty() || failed {
                return records;
            }
        }
    }

    /// Takes bytes in blocks of that size.
    pub(crate) fn receive(&mut self, bytes: &[u8], block: usize) -> Result<(), TlsError> {
        for block in bytes.chunks(block.max(1)) {
            self.tls.wire().0.push(block);
            self.process()?;
        }
        Ok(())
    }

    /// What has come in plaintext.
    pub(crate) fn received(&mut self) -> Vec<u8> {
        let n = self.rx.unread().len();
        self.rx.take(n).to_vec()
    }

    /// What this end comes to, if nothing more does: an error, which has to be final.
    pub(crate) fn outcome(&mut self) -> Result<(), String> {
        // By their texts: there are errors of rustls's that equal nothing, themselves neither.
        let [outcome, again] =
            [self.process(), self.process()].map(|outcome| outcome.map_err(|error| error.to_string()));
        assert_eq!(again, outcome, "not final");
        outcome
    }
}

pub(crate) fn pair(version: &'static SupportedProtocolVersion) -> (End, End) {
    let pki = Pki::new(&["localhost"]);
    (End::client(pki.client(&[version]), "localhost"), End::server(pki.server(&[version])))
}

/// A pair that has shaken hands, the tickets taken.
pub(crate) fn shaken(version: &'static SupportedProtocolVersion) -> (End, End) {
    let (mut client, mut server) = pair(version);
    settle(&mut client, &mut server, ALL);
    assert!(!client.tls.is_handshaking() && !server.tls.is_handshaking());
    (client, server)
}

/// Until neither has anything to say, whatever becomes of it. Whoever failed is not asked again once its alert is out.
pub(crate) fn exchange(client: &mut End, server: &mut End, block: usize) {
    loop {
        let (to_server, to_client) = (client.records(), server.records());
        if to_server.is_empty() && to_client.is_empty() {
            return;
        }
        let _ = server.receive(&to_server, block);
        let _ = client.receive(&to_client, block);
    }
}

/// The same where nothing may fail.
pub(crate) fn settle(client: &mut End, server: &mut End, block: usize) {
    exchange(client, server, block);
    assert_eq!((client.outcome(), server.outcome()), (Ok(()), Ok(())));
}

/// What each end of a handshake comes to.
pub(crate) fn fates(mut client: End, mut server: End) -> (Result<(), String>, Result<(), String>) {
    exchange(&mut client, &mut server, ALL);
    (client.outcome(), server.outcome())
}

/// The records in these bytes, headers included; all are whole.
pub(crate) fn split(mut bytes: &[u8]) -> Vec<&[u8]> {
    let mut records = Vec::new();
    while !bytes.is_empty() {
        let (record, rest) = bytes.split_at(5 + usize::from(u16::from_be_bytes([bytes[3], bytes[4]])));
        records.push(record);
        bytes = rest;
    }
    records
}
