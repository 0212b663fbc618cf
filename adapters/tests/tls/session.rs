//! The layer without I/O: what goes in comes out, and how a session ends.

use crate::{
    ends::{ALL, End, exchange, pair, settle, shaken},
    pki::{Pki, VERSIONS},
};
use bytewise::{Eof, Phase, SendBuf};
use bytewise_net::tls::TlsError;
use std::thread;

/// Bytes in which a shift by any distance shows.
fn noise(len: usize) -> Vec<u8> {
    (0..len as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect()
}

#[test]
fn any_block_size() {
    for version in VERSIONS {
        for block in [1, 2, 3, 5, 7, 100, ALL] {
            let (mut client, mut server) = pair(version);
            client.tx.put("from the client");
            server.tx.put("from the server");
            settle(&mut client, &mut server, block);
            assert_eq!(
                (&server.received()[..], &client.received()[..]),
                (&b"from the client"[..], &b"from the server"[..])
            );
            assert_eq!(server.tls.server_name(), Some("localhost"));
            assert_eq!(client.tls.version(), Some(version.version));
            client.tls.close();
            settle(&mut client, &mut server, block);
            assert_eq!((server.rx.eof(), client.rx.eof()), (Some(Eof::Clean), None));
        }
    }
}

#[test]
fn every_size_around_that_of_a_record() {
    let sizes = (16_380..=16_390).chain([1, 255, 256, 4095, 4096, 4097, 32_767, 32_768, 32_769, 65_536, 200_000]);
    for version in VERSIONS {
        let (mut client, mut server) = shaken(version);
        for size in sizes.clone() {
            let data = noise(size);
            // Copied, and handed over.
            client.tx.put(&data[..]);
            server.tx.put(data.clone());
            settle(&mut client, &mut server, 1000);
            assert!(server.received() == data && client.received() == data, "{size}");
        }
    }
}

#[test]
fn phases() {
    for version in VERSIONS {
        let (mut client, mut server) = pair(version);
        for end in [&client, &server] {
            assert!(end.tls.is_handshaking());
            assert_eq!(end.tls.phase((Phase::Idle, 7)), (Phase::Handshake, 0));
        }
        settle(&mut client, &mut server, ALL);
        for end in [&client, &server] {
            assert_eq!(end.tls.phase((Phase::Idle, 7)), (Phase::Idle, 7));
        }
    }
}

#[test]
fn closed_on_one_side_the_other_still_speaks() {
    for version in VERSIONS {
        let (mut client, mut server) = shaken(version);
        client.tx.put("last words");
        client.tls.close();
        settle(&mut client, &mut server, 3);
        assert_eq!((server.received(), server.rx.eof()), (b"last words".to_vec(), Some(Eof::Clean)));
        server.tx.put("a long answer");
        settle(&mut client, &mut server, 3);
        assert_eq!((client.received(), client.rx.eof()), (b"a long answer".to_vec(), None));
        server.tls.close();
        settle(&mut client, &mut server, 3);
        assert_eq!(client.rx.eof(), Some(Eof::Clean));
        // Again is no difference.
        client.tls.close();
        server.tls.close();
        assert!(client.records().is_empty() && server.records().is_empty());
    }
}

#[test]
fn closed_before_hands_are_shaken() {
    for version in VERSIONS {
        let (mut client, mut server) = pair(version);
        client.tx.put("all I have to say");
        client.tls.close();
        server.tx.put("likewise");
        server.tls.close();
        settle(&mut client, &mut server, 100);
        assert_eq!((server.received(), server.rx.eof()), (b"all I have to say".to_vec(), Some(Eof::Clean)));
        assert_eq!((client.received(), client.rx.eof()), (b"likewise".to_vec(), Some(Eof::Clean)));
    }
}

#[test]
fn nothing_is_sent_after_the_end() {
    for version in VERSIONS {
        let (mut client, mut server) = shaken(version);
        client.tls.close();
        settle(&mut client, &mut server, ALL);
        client.tx.put("too late");
        assert!(client.records().is_empty());
        assert!(!client.tls.refresh_keys());
    }
}

#[test]
fn what_comes_behind_the_end_is_not_heard() {
    for version in VERSIONS {
        let (mut client, mut server) = shaken(version);
        client.tls.close();
        let mut bytes = client.records();
        bytes.extend([23, 3, 3, 0, 5, 1, 2, 3, 4, 5]);
        let _ = server.receive(&bytes, ALL);
        assert_eq!((server.received(), server.rx.eof()), (Vec::new(), Some(Eof::Clean)));
    }
}

#[test]
fn the_end_of_the_wire_is_no_end_of_the_session() {
    for version in VERSIONS {
        let (mut client, mut server) = shaken(version);
        client.tx.put("half of");
        server.receive(&client.records(), ALL).unwrap();
        server.tls.wire().0.set_eof(Eof::Clean);
        server.process().unwrap();
        assert_eq!((server.received(), server.rx.eof()), (b"half of".to_vec(), Some(Eof::Truncated)));
        // Also in the midst of a record.
        client.tx.put("a record");
        let bytes = client.records();
        let (mut client, mut server) = shaken(version);
        server.tls.wire().0.push(&bytes[..bytes.len().min(4)]);
        server.tls.wire().0.set_eof(Eof::Clean);
        server.process().unwrap();
        assert_eq!(server.rx.eof(), Some(Eof::Truncated));
        // And what is to be said still goes out.
        server.tx.put("who is there?");
        client.receive(&server.records(), ALL).unwrap();
        assert_eq!(client.received(), b"who is there?");
    }
}

#[test]
fn after_the_announced_end_that_of_the_wire_is_no_news() {
    for version in VERSIONS {
        let (mut client, mut server) = shaken(version);
        client.tls.close();
        server.receive(&client.records(), ALL).unwrap();
        server.tls.wire().0.set_eof(Eof::Truncated);
        server.process().unwrap();
        assert_eq!(server.rx.eof(), Some(Eof::Clean));
    }
}

#[test]
fn the_end_within_the_handshake() {
    for version in VERSIONS {
        let (mut client, mut server) = pair(version);
        let hello = client.records();
        server.receive(&hello, ALL).unwrap();
        let flight = server.records();
        for (name, bytes) in [("server", hello), ("client", flight)] {
            for cut in (0..bytes.len()).step_by(37).chain([bytes.len() - 1]) {
                let (mut client, mut server) = pair(version);
                let end = if name == "server" {
                    &mut server
                } else {
                    // What it says is of no use to another session, but it has to have begun.
                    client.records();
                    &mut client
                };
                // Only so far as it is no part of another session's secrets: a header.
                end.tls.wire().0.push(&bytes[..cut.min(if name == "server" { cut } else { 4 })]);
                end.tls.wire().0.set_eof(Eof::Clean);
                assert_eq!(end.process(), Err(TlsError::HandshakeEof), "{name} {cut}");
                assert_eq!(end.outcome().unwrap_err(), "the connection ended during the TLS handshake");
                assert!(end.received().is_empty() && end.rx.eof().is_none());
            }
        }
    }
}

#[test]
fn a_read_bounds_the_plaintext() {
    for version in VERSIONS {
        let (mut client, mut server) = shaken(version);
        client.tx.put(noise(1 << 20));
        let mut bytes = &client.records()[..];
        let mut most = 0;
        while !bytes.is_empty() {
            let space = server.tls.wire().0.space();
            let n = space.len().min(bytes.len());
            space[..n].copy_from_slice(&bytes[..n]);
            server.tls.wire().0.filled(n);
            bytes = &bytes[n..];
            server.process().unwrap();
            most = most.max(server.received().len());
        }
        assert!(most > 0 && most <= (64 + 17) * 1024, "{most}");
    }
}

#[test]
fn little_waits_on_the_wire() {
    for version in VERSIONS {
        let (mut client, mut server) = shaken(version);
        let data = noise(8 << 20);
        client.tx.put(data.clone());
        let (mut most, mut came) = (0, Vec::new());
        loop {
            client.process().unwrap();
            let bytes = client.waiting();
            if bytes.is_empty() {
                break;
            }
            most = most.max(bytes.len());
            server.receive(&bytes, ALL).unwrap();
            came.extend(server.received());
        }
        assert!(came == data);
        assert!(most <= (64 + 17) * 1024, "{most}");
    }
}

#[test]
fn idle_it_holds_no_buffers() {
    // A thread of its own shares with no other test.
    thread::spawn(|| {
        let (mut client, mut server) = shaken(VERSIONS[1]);
        client.tx.put(noise(100_000));
        settle(&mut client, &mut server, ALL);
        let mut before: Vec<_> =
            [&mut client, &mut server].map(|end| end.tls.wire().0.capacity()).into_iter().collect();
        client.tls.give_back_buffers();
        server.tls.give_back_buffers();
        // The next two have them.
        let (mut one, mut two) = pair(VERSIONS[0]);
        let mut after: Vec<_> = [&mut one, &mut two].map(|end| end.tls.wire().0.capacity()).into_iter().collect();
        before.sort_unstable();
        after.sort_unstable();
        assert_eq!(before, after);
        assert!(after[1] > 0);
        // What is unread or unwritten stays.
        one.process().unwrap();
        one.tls.give_back_buffers();
        assert!(!one.waiting().is_empty());
        two.tls.wire().0.push(&[22]);
        two.tls.give_back_buffers();
        assert_eq!(two.tls.wire().0.unread(), [22]);
    })
    .join()
    .unwrap();
}

#[test]
fn what_a_caller_is_to_write_itself_holds_up_what_is_behind_it() {
    for version in VERSIONS {
        let (mut client, mut server) = shaken(version);
        client.tx.put("before");
        client.tx.put_external(10);
        client.tx.put("behind");
        client.tls.close();
        settle(&mut client, &mut server, ALL);
        assert_eq!((server.received(), server.rx.eof()), (b"before".to_vec(), None));
        // There is no place for it under a cipher: given up, the rest goes out.
        assert_eq!(client.tx.external(), Some(10));
        client.tx.external_written(10);
        settle(&mut client, &mut server, ALL);
        assert_eq!((server.received(), server.rx.eof()), (b"behind".to_vec(), Some(Eof::Clean)));
    }
}

#[test]
fn a_session_that_fails_keeps_what_came_before() {
    for version in VERSIONS {
        let (mut client, mut server) = shaken(version);
        client.tx.put("whole");
        let mut bytes = client.records();
        bytes.extend([23, 3, 3, 0, 30]);
        bytes.extend([0; 30]);
        assert!(server.receive(&bytes, ALL).is_err());
        assert_eq!(server.received(), b"whole");
        server.tx.put("never sent");
        let alert = server.waiting();
        assert!(!alert.is_empty());
        assert!(server.process().is_err() && server.waiting().is_empty());
        // Which says why.
        assert!(client.receive(&alert, ALL).unwrap_err().to_string().contains("fatal alert"));
    }
}

#[test]
fn a_buffer_of_the_callers_need_not_be_the_same() {
    let pki = Pki::new(&["localhost"]);
    let mut client = End::client(pki.client(&VERSIONS), "localhost");
    let mut server = End::server(pki.server(&VERSIONS));
    for turn in 0..3 {
        client.tx = SendBuf::new();
        client.tx.put(format!("turn {turn}"));
        exchange(&mut client, &mut server, 50);
    }
    assert_eq!(server.received(), b"turn 0turn 1turn 2");
}
