//! What goes over the wire: how many records, what is in them, and messages that are not data.

use crate::{
    ends::{ALL, DATA, End, pair, settle, shaken, split},
    pki::{Pki, VERSIONS},
};
use bytewise::SendBuf;
use rustls::{
    ProtocolVersion::{TLSv1_2, TLSv1_3},
    version::TLS13,
};

/// How much of what is put goes into each record.
#[track_caller]
fn sizes(put: impl Fn(&mut SendBuf)) -> Vec<usize> {
    let [of_12, of_13] = VERSIONS.map(|version| {
        let (mut client, mut server) = shaken(version);
        // What a record adds is always the same.
        client.tx.put("x");
        let one = client.records();
        assert_eq!((split(&one).len(), one[0]), (1, DATA));
        put(&mut client.tx);
        let expected: Vec<u8> = client.tx.chunks().flatten().copied().collect();
        let bytes = client.records();
        server.receive(&one, ALL).unwrap();
        server.receive(&bytes, ALL).unwrap();
        assert!(server.received()[1..] == expected);
        split(&bytes).iter().map(|record| record.len() + 1 - one.len()).collect::<Vec<_>>()
    });
    assert_eq!(of_12, of_13);
    of_13
}

#[test]
fn many_small_writes_share_a_record() {
    assert_eq!(sizes(|tx| (0..1000).for_each(|_| tx.put("0123456789"))), [10_000]);
    assert_eq!(sizes(|tx| (0..2000).for_each(|_| tx.put("0123456789"))), [16_384, 3616]);
}

#[test]
fn large_payloads_go_alone() {
    assert_eq!(sizes(|tx| tx.put(vec![1; 5000])), [5000]);
    assert_eq!(sizes(|tx| tx.put(vec![1; 50_000])), [16_384, 16_384, 16_384, 848]);
    let two = |tx: &mut SendBuf| {
        tx.put(vec![1; 10_000]);
        tx.put(vec![2; 10_000]);
    };
    assert_eq!(sizes(two), [10_000, 10_000]);
}

#[test]
fn a_header_goes_with_its_payload() {
    let message = |tx: &mut SendBuf| {
        tx.put("a header");
        tx.put(vec![1; 10_000]);
        tx.put("a trailer");
    };
    assert_eq!(sizes(message), [10_017]);
    // The rest of one, and the header of the next.
    let messages = |tx: &mut SendBuf| {
        for _ in 0..2 {
            tx.put("header");
            tx.put(vec![1; 20_000]);
        }
    };
    assert_eq!(sizes(messages), [16_384, 3622 + 6 + 12_756, 7244]);
}

#[test]
fn nothing_is_no_record() {
    assert_eq!(sizes(|_| ()), [0; 0]);
    assert_eq!(sizes(|tx| tx.put("")), [0; 0]);
}

#[test]
fn what_comes_in_small_records_comes_out_whole() {
    for version in VERSIONS {
        let pki = Pki::new(&["localhost"]);
        // Certificates and tickets go over many records, the end of each within a message of the handshake: to show rustls
        // an empty buffer then would be a panic.
        for size in [32, 33, 64, 100, 500] {
            let mut config = pki.server(&[version]);
            config.max_fragment_size = Some(size);
            let mut of_client = pki.client(&[version]);
            of_client.max_fragment_size = Some(size);
            let (mut client, mut server) = (End::client(of_client, "localhost"), End::server(config));
            let mut flights = 0;
            loop {
                let (to_server, to_client) = (client.records(), server.records());
                if to_server.is_empty() && to_client.is_empty() {
                    break;
                }
                flights += split(&to_client).len();
                // Processed after each, and twice.
                for record in split(&to_server) {
                    server.receive(record, ALL).unwrap();
                    server.process().unwrap();
                }
                for record in split(&to_client) {
                    client.receive(record, ALL).unwrap();
                    client.process().unwrap();
                }
            }
            assert!(flights > 3, "{flights} records");
            client.tx.put("hello");
            server.tx.put("hello");
            settle(&mut client, &mut server, 1);
            assert_eq!((client.received(), server.received()), (b"hello".to_vec(), b"hello".to_vec()));
        }
    }
}

#[test]
fn writes_go_out_while_records_are_in_view() {
    for version in VERSIONS {
        let (mut client, mut server) = shaken(version);
        for _ in 0..5 {
            client.tx.put("a record");
            let bytes = client.records();
            server.tls.wire().0.push(&bytes);
        }
        // And a piece of one more.
        client.tx.put("a record");
        let bytes = client.records();
        server.tls.wire().0.push(&bytes[..7]);
        server.tx.put("an answer");
        client.receive(&server.records(), ALL).unwrap();
        assert_eq!(client.received(), b"an answer");
        assert_eq!(server.received(), b"a record".repeat(5));
        server.receive(&bytes[7..], ALL).unwrap();
        assert_eq!(server.received(), b"a record");
    }
}

#[test]
fn both_write_before_either_reads() {
    for version in VERSIONS {
        let (mut client, mut server) = shaken(version);
        for turn in 0..20 {
            client.tx.put(vec![turn; 30_000]);
            server.tx.put(vec![turn; 30_000]);
            let (to_server, to_client) = (client.records(), server.records());
            client.receive(&to_client, 4096).unwrap();
            server.receive(&to_server, 4096).unwrap();
            assert!(client.received() == vec![turn; 30_000] && server.received() == vec![turn; 30_000]);
        }
    }
}

#[test]
fn keys_change_in_both_directions() {
    let (mut client, mut server) = shaken(&TLS13);
    for turn in 0..100_u8 {
        assert!(client.tls.refresh_keys());
        if turn % 2 == 0 {
            // Twice is once.
            assert!(client.tls.refresh_keys());
        }
        if turn % 3 == 0 {
            assert!(server.tls.refresh_keys());
        }
        client.tx.put(format!("client {turn}"));
        server.tx.put(format!("server {turn}"));
        settle(&mut client, &mut server, usize::from(turn) + 1);
        assert_eq!(server.received(), format!("client {turn}").as_bytes());
        assert_eq!(client.received(), format!("server {turn}").as_bytes());
    }
}

#[test]
fn a_change_of_keys_is_a_record_of_its_own_and_is_answered_once() {
    let (mut client, mut server) = shaken(&TLS13);
    assert!(client.tls.refresh_keys());
    let update = client.records();
    assert_eq!(split(&update).len(), 1);
    assert!(client.records().is_empty());
    server.receive(&update, 1).unwrap();
    // With what is said next.
    server.tx.put("new keys");
    let answer = [server.waiting(), server.records()].concat();
    assert_eq!(split(&answer).len(), 2);
    client.receive(&answer, 1).unwrap();
    assert_eq!(client.received(), b"new keys");
    assert!(client.records().is_empty() && server.records().is_empty(), "answers to answers");
}

/// A peer that asks again and again, and says nothing, is stopped.
#[test]
fn many_changes_of_keys_for_nothing() {
    let (mut client, mut server) = shaken(&TLS13);
    let mut updates = Vec::new();
    for _ in 0..200 {
        assert!(client.tls.refresh_keys());
        updates.extend(client.records());
    }
    let error = server.receive(&updates, ALL).unwrap_err().to_string();
    assert!(error.contains("TooManyKeyUpdateRequests"), "{error}");
    assert!(split(&server.waiting()).len() < 40);
}

#[test]
fn keys_that_cannot_change() {
    for version in VERSIONS {
        let (mut client, mut server) = pair(version);
        assert!(!client.tls.refresh_keys() && !server.tls.refresh_keys(), "within the handshake");
        settle(&mut client, &mut server, ALL);
        assert_eq!(client.tls.refresh_keys(), client.tls.version() == Some(TLSv1_3));
        assert_eq!(server.tls.refresh_keys(), server.tls.version() != Some(TLSv1_2));
        client.tls.close();
        assert!(!client.tls.refresh_keys(), "while it closes");
        settle(&mut client, &mut server, ALL);
    }
}
