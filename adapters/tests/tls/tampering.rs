//! Bytes that no honest peer sends, or that were changed on their way.

use crate::{
    ends::{ALERT, ALL, End, HANDSHAKE, exchange, pair, settle, shaken, split},
    pki::{Pki, VERSIONS},
};
use bytewise::Eof;
use bytewise_net::tls::TlsError;
use rustls::version::TLS12;

/// The end fails, has an alert for the peer, and nothing came out of it.
#[track_caller]
fn assert_refused(end: &mut End) -> String {
    let error = end.outcome().unwrap_err();
    assert!(end.received().is_empty() && end.rx.eof().is_none(), "something came of it");
    let alert = end.waiting();
    // rustls has none for the first.
    assert!(error.contains("HandshakePayloadTooLarge") || !alert.is_empty(), "no alert for {error}");
    // What follows is not looked at, and led to by nothing.
    end.tls.wire().0.push(&[0; 100]);
    end.tls.wire().0.set_eof(Eof::Clean);
    end.tx.put("never sent");
    end.tls.close();
    assert_eq!(end.outcome().unwrap_err(), error);
    assert!(end.received().is_empty() && end.waiting().is_empty() && end.rx.eof().is_none());
    error
}

#[test]
fn a_bit_of_a_record() {
    for version in VERSIONS {
        let (mut client, _) = shaken(version);
        client.tx.put("attack at dawn");
        let len = client.records().len();
        for at in 0..len {
            for bit in [0, 7] {
                let (mut client, mut server) = shaken(version);
                client.tx.put("attack at dawn");
                let mut bytes = client.records();
                bytes[at] ^= 1 << bit;
                let _ = server.receive(&bytes, ALL);
                if at < 3 && server.outcome().is_ok() {
                    // Type and version in front are not looked at: those that are authenticated count.
                    assert_eq!(server.received(), b"attack at dawn");
                    continue;
                }
                if server.outcome().is_ok() {
                    // It claims to be longer, and is not.
                    assert!(at == 3 || at == 4, "{at}");
                    let _ = server.receive(&[0; 1 << 16], ALL);
                }
                let error = assert_refused(&mut server);
                assert!(error.starts_with("TLS failed: "), "{error}");
            }
        }
    }
}

/// Every few bytes: a handshake takes its time.
#[test]
fn a_bit_of_the_handshake() {
    for version in VERSIONS {
        let pki = Pki::new(&["localhost"]);
        for flight in 0..4 {
            let mut at = flight;
            loop {
                let (mut client, mut server) =
                    (End::client(pki.client(&[version]), "localhost"), End::server(pki.server(&[version])));
                let mut was_changed = false;
                for turn in 0..6 {
                    let (from, to) =
                        if turn % 2 == 0 { (&mut client, &mut server) } else { (&mut server, &mut client) };
                    let mut bytes = from.records();
                    if turn == flight && at < bytes.len() {
                        bytes[at] ^= 1 << (at % 8);
                        was_changed = true;
                    }
                    let _ = to.receive(&bytes, ALL);
                }
                if !was_changed {
                    break;
                }
                // Whoever holds the changed bytes does not take data of the other.
                client.tx.put("a secret");
                server.tx.put("a secret");
                exchange(&mut client, &mut server, ALL);
                let (to_server, to_client) = (server.received(), client.received());
                let receiver = if flight % 2 == 0 { &mut server } else { &mut client };
                let is_header = receiver.outcome().is_ok();
                if !is_header {
                    let came = if flight % 2 == 0 { to_server } else { to_client };
                    assert!(came.is_empty(), "{flight} {at}: {came:?}");
                }
                at += 41;
            }
        }
    }
}

#[test]
fn records_repeated_dropped_or_in_another_order() {
    for version in VERSIONS {
        for order in [&[0, 0][..], &[1], &[1, 0], &[0, 2, 1], &[0, 1, 0]] {
            let (mut client, mut server) = shaken(version);
            let records = ["zero", "one", "two"].map(|text| {
                client.tx.put(text);
                client.records()
            });
            let outcomes: Vec<_> = order.iter().map(|at| server.receive(&records[*at], ALL)).collect();
            assert!(outcomes.last().unwrap().is_err(), "{order:?}");
            let came = server.received();
            assert!(b"zeroonetwo".starts_with(&came), "{order:?}: {came:?}");
            assert!(server.outcome().is_err() && !server.waiting().is_empty());
        }
    }
}

#[test]
fn no_tls_at_all() {
    for bytes in [
        &b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n"[..],
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"\x80\x2e\x01\x00\x02",
        b"\0",
        b"G",
        &[255; 5],
    ] {
        for version in VERSIONS {
            for block in [1, ALL] {
                let (client, server) = pair(version);
                for mut end in [client, server] {
                    // A client speaks first.
                    end.records();
                    let _ = end.receive(bytes, block);
                    // Some of it may be a while in coming.
                    if end.outcome().is_ok() {
                        assert!(bytes.len() < 5, "{}", bytes.escape_ascii());
                        end.tls.wire().0.set_eof(Eof::Clean);
                        assert_eq!(end.process(), Err(TlsError::HandshakeEof));
                        continue;
                    }
                    assert_eq!(end.process(), Err(TlsError::NotTls), "{}", bytes.escape_ascii());
                    assert_eq!(end.outcome().unwrap_err(), "the peer does not speak TLS");
                }
            }
        }
    }
}

#[test]
fn records_that_cannot_be() {
    let mut too_large = vec![23, 3, 3, 0x50, 0];
    too_large.resize(5 + 0x5000, 0);
    for version in VERSIONS {
        for (name, bytes) in [
            ("too large", &too_large[..]),
            ("data in the clear", b"\x17\x03\x03\x00\x05hello"),
            ("a handshake in the clear", b"\x16\x03\x03\x00\x04\x00\x00\x00\x00"),
            ("an unknown type", b"\x63\x03\x03\x00\x05hello"),
            ("an empty record", b"\x17\x03\x03\x00\x00"),
            ("another version", b"\x17\x07\x07\x00\x05hello"),
        ] {
            let (client, server) = shaken(version);
            for mut end in [client, server] {
                let _ = end.receive(bytes, ALL);
                assert!(end.outcome().is_err(), "{name}");
                assert_refused(&mut end);
            }
        }
        for (name, bytes) in [
            ("data first", &b"\x17\x03\x03\x00\x05hello"[..]),
            ("an empty hello", b"\x16\x03\x01\x00\x00"),
            ("too large", &[&[22, 3, 1, 0x50, 0][..], &[0; 0x5000]].concat()),
            ("garbage for a hello", b"\x16\x03\x01\x00\x05hello"),
            ("a finished first", b"\x16\x03\x01\x00\x10\x14\x00\x00\x0cabcdefghijkl"),
            ("a change of ciphers first", b"\x14\x03\x03\x00\x02\x01\x01"),
        ] {
            let (_, mut server) = pair(version);
            let _ = server.receive(bytes, ALL);
            if server.outcome().is_ok() {
                server.tls.wire().0.set_eof(Eof::Clean);
                assert!(server.process().is_err(), "{name}");
                continue;
            }
            assert_refused(&mut server);
        }
    }
}

/// A second hello, as for a renegotiation.
#[test]
fn a_handshake_within_the_session() {
    for version in VERSIONS {
        let (mut stranger, _) = pair(version);
        let hello = stranger.records();
        assert_eq!(hello[0], HANDSHAKE);
        let (_, mut server) = shaken(version);
        assert!(server.receive(&hello, ALL).is_err());
        assert_refused(&mut server);
    }
}

#[test]
fn an_alert_of_the_peers() {
    for version in VERSIONS {
        // In the clear, to an end that has no keys yet: 40 is `handshake_failure`.
        let (client, server) = pair(version);
        for mut end in [client, server] {
            end.records();
            let error = end.receive(&[ALERT, 3, 3, 0, 2, 2, 40], ALL).unwrap_err();
            assert!(error.to_string().ends_with("(received fatal alert: HandshakeFailure)"), "{error}");
            // It is not answered.
            assert!(end.outcome().is_err() && end.waiting().is_empty());
        }
    }
    // A forged one is none: before the keys, anybody can break a connection, after them nobody.
    let (mut client, _) = shaken(&TLS12);
    assert!(!client.receive(&[ALERT, 3, 3, 0, 2, 1, 0], ALL).unwrap_err().to_string().contains("received"));
    assert!(client.rx.eof().is_none());
}

#[test]
fn an_endless_handshake() {
    // A hello that announces 16 MiB.
    let (_, mut server) = pair(VERSIONS[1]);
    let mut outcome = server.receive(&[22, 3, 1, 0x40, 0, 1, 0xFF, 0xFF, 0xFF], ALL);
    let mut sent = 0;
    while outcome.is_ok() && sent < 1 << 24 {
        outcome = server.receive(&[0; 4096], ALL);
        sent += 4096;
    }
    assert!(outcome.is_err(), "it takes all of it");
    assert!(sent < 1 << 18, "{sent} bytes");
}

#[test]
fn messages_pass_through_a_man_in_the_middle_unchanged_or_not_at_all() {
    for version in VERSIONS {
        let (mut client, mut server) = shaken(version);
        client.tx.put(vec![7; 40_000]);
        let bytes = client.records();
        let records = split(&bytes);
        // The last one short of its end: the others came.
        let cut = bytes.len() - 1;
        server.receive(&bytes[..cut], 1000).unwrap();
        assert_eq!(server.received().len(), 40_000 - 40_000 % 16_384);
        assert_eq!(records.len(), 3);
        server.receive(&bytes[cut..], 1).unwrap();
        assert_eq!(server.received().len(), 40_000 % 16_384);
        settle(&mut client, &mut server, ALL);
    }
}
