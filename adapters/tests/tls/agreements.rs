//! What two ends agree on, and what keeps them from it: versions, protocols, names, certificates, tickets.

use crate::{
    ends::{ALL, End, exchange, fates, pair, settle, shaken},
    pki::{Pki, VERSIONS},
};
use bytewise_net::tls::{Tls, TlsError};
use rcgen::{CertificateParams, date_time_ymd};
use rustls::{
    client::Resumption,
    version::{TLS12, TLS13},
};
use std::{io, sync::Arc};

/// Both ends' errors say these words.
#[track_caller]
fn assert_fails(client: End, server: End, of_client: &str, of_server: &str) {
    let (client, server) = fates(client, server);
    let (client, server) = (client.unwrap_err(), server.unwrap_err());
    assert!(client.contains(of_client), "client: {client}");
    assert!(server.contains(of_server), "server: {server}");
}

#[test]
fn versions() {
    let pki = Pki::new(&["localhost"]);
    for (of_client, of_server, agreed) in [
        (&VERSIONS[..], &VERSIONS[..], rustls::ProtocolVersion::TLSv1_3),
        (&VERSIONS[..], &[&TLS12][..], rustls::ProtocolVersion::TLSv1_2),
        (&[&TLS12][..], &VERSIONS[..], rustls::ProtocolVersion::TLSv1_2),
    ] {
        let mut client = End::client(pki.client(of_client), "localhost");
        let mut server = End::server(pki.server(of_server));
        assert_eq!((client.tls.version(), server.tls.version()), (None, None));
        settle(&mut client, &mut server, ALL);
        assert_eq!((client.tls.version(), server.tls.version()), (Some(agreed), Some(agreed)));
    }
    for (of_client, of_server) in [(&TLS12, &TLS13), (&TLS13, &TLS12)] {
        let client = End::client(pki.client(&[of_client]), "localhost");
        let server = End::server(pki.server(&[of_server]));
        assert_fails(
            client,
            server,
            "none of the versions",
            "no version of TLS is common to both ends (peer is incompatible",
        );
    }
}

#[test]
fn protocols() {
    let pki = Pki::new(&["localhost"]);
    for version in VERSIONS {
        for (offered, known, agreed) in [
            (&["h2", "http/1.1"][..], &["http/1.1"][..], Some("http/1.1")),
            (&["a", "b"], &["b", "a"], Some("b")),
            (&[], &["http/1.1"], None),
            (&["http/1.1"], &[], None),
        ] {
            let names = |names: &[&str]| names.iter().map(|name| name.as_bytes().to_vec()).collect::<Vec<_>>();
            let (mut client, mut server) = (pki.client(&[version]), pki.server(&[version]));
            (client.alpn_protocols, server.alpn_protocols) = (names(offered), names(known));
            let (mut client, mut server) = (End::client(client, "localhost"), End::server(server));
            assert_eq!(client.tls.alpn(), None);
            settle(&mut client, &mut server, ALL);
            let agreed = agreed.map(str::as_bytes);
            assert_eq!((client.tls.alpn(), server.tls.alpn()), (agreed, agreed));
        }
        let (mut client, mut server) = (pki.client(&[version]), pki.server(&[version]));
        client.alpn_protocols = vec![b"h2".to_vec()];
        server.alpn_protocols = vec![b"http/1.1".to_vec()];
        let (client, server) = (End::client(client, "localhost"), End::server(server));
        assert_fails(client, server, "none of the application protocols (ALPN)", "(ALPN) is common to both ends");
    }
}

#[test]
fn names() {
    let pki = Pki::new(&["localhost", "*.example.org", "127.0.0.1", "::1"]);
    for version in VERSIONS {
        for (name, told) in [
            ("localhost", Some("localhost")),
            ("LOCALHOST", Some("localhost")),
            ("www.example.org", Some("www.example.org")),
            // An address is not told (RFC 6066, section 3).
            ("127.0.0.1", None),
            ("::1", None),
        ] {
            let mut client = End::client(pki.client(&[version]), name);
            let mut server = End::server(pki.server(&[version]));
            assert_eq!(server.tls.server_name(), None);
            settle(&mut client, &mut server, ALL);
            let heard = server.tls.server_name().map(str::to_ascii_lowercase);
            assert_eq!((client.tls.server_name(), heard.as_deref()), (None, told));
            let certificates = client.tls.peer_certificates().unwrap();
            assert_eq!(certificates.len(), 1);
            assert!(server.tls.peer_certificates().is_none());
        }
        for name in ["example.org", "a.b.example.org", "other.host", "127.0.0.2", "::2"] {
            let client = End::client(pki.client(&[version]), name);
            assert_fails(
                client,
                End::server(pki.server(&[version])),
                "is for another name (",
                "received fatal alert: ",
            );
        }
    }
    let mut quiet = pki.client(&VERSIONS);
    quiet.enable_sni = false;
    let (mut client, mut server) = (End::client(quiet, "localhost"), End::server(pki.server(&VERSIONS)));
    settle(&mut client, &mut server, ALL);
    assert_eq!(server.tls.server_name(), None);
}

#[test]
fn certificates_out_of_their_time() {
    for version in VERSIONS {
        for (from, to, words) in
            [(1990, 2000, "certificate has expired ("), (2900, 3000, "certificate is not valid yet (")]
        {
            let mut leaf = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
            (leaf.not_before, leaf.not_after) = (date_time_ymd(from, 1, 1), date_time_ymd(to, 1, 1));
            let pki = Pki::of(leaf);
            let client = End::client(pki.client(&[version]), "localhost");
            assert_fails(client, End::server(pki.server(&[version])), words, "received fatal alert: Certificate");
        }
    }
}

#[test]
fn an_authority_that_is_not_trusted() {
    let (pki, other) = (Pki::new(&["localhost"]), Pki::new(&["localhost"]));
    for version in VERSIONS {
        let client = End::client(other.client(&[version]), "localhost");
        let server = End::server(pki.server(&[version]));
        assert_fails(client, server, "no authority that is trusted here vouches for", "does not trust who vouches for");
    }
}

#[test]
fn certificates_of_clients() {
    let (pki, people, strangers) = (Pki::new(&["localhost"]), Pki::new(&["somebody"]), Pki::new(&["nobody"]));
    for version in VERSIONS {
        let server = || End::server(pki.server_for(&people, &[version]));
        let (mut client, mut accepting) = (End::client(pki.client_as(&people, &[version]), "localhost"), server());
        client.tx.put("it is me");
        settle(&mut client, &mut accepting, 100);
        assert_eq!(accepting.received(), b"it is me");
        assert_eq!(accepting.tls.peer_certificates().map(<[_]>::len), Some(1));

        // In TLS 1.3 the client hears of it when it thinks that hands are shaken.
        for (config, of_client, of_server) in [
            (
                pki.client_as(&strangers, &[version]),
                "does not trust who vouches for",
                "no authority that is trusted here",
            ),
            (pki.client(&[version]), "requires a certificate", "the peer has no certificate"),
        ] {
            let mut client = End::client(config, "localhost");
            client.tx.put("let me in");
            let (mut refusing, of_client) =
                (server(), if *version == TLS12 { "received fatal alert" } else { of_client });
            exchange(&mut client, &mut refusing, ALL);
            assert!(refusing.received().is_empty(), "data of a stranger");
            let (client, server) = (client.outcome().unwrap_err(), refusing.outcome().unwrap_err());
            assert!(client.contains(of_client), "client: {client}");
            assert!(server.contains(of_server), "server: {server}");
        }
    }
}

/// Bytes that the server sends in a handshake: much less without its certificate.
fn cost(client: &mut End, server: &mut End) -> usize {
    let mut cost = 0;
    while client.tls.is_handshaking() || server.tls.is_handshaking() {
        server.receive(&client.records(), ALL).unwrap();
        let bytes = server.records();
        cost += bytes.len();
        client.receive(&bytes, ALL).unwrap();
    }
    settle(client, server, ALL);
    cost
}

#[test]
fn resumption() {
    let pki = Pki::new(&["localhost"]);
    for version in VERSIONS {
        let (of_client, of_server) = (Arc::new(pki.client(&[version])), Arc::new(pki.server(&[version])));
        let costs = [0, 1, 2].map(|_| {
            let (mut client, mut server) = (End::client_of(&of_client, "localhost"), End::server_of(&of_server));
            let cost = cost(&mut client, &mut server);
            client.tx.put("hello");
            server.tx.put("hello");
            settle(&mut client, &mut server, 1);
            assert_eq!((client.received(), server.received()), (b"hello".to_vec(), b"hello".to_vec()));
            // Names and certificates are known all the same.
            assert_eq!(server.tls.server_name(), Some("localhost"));
            assert!(client.tls.peer_certificates().is_some());
            cost
        });
        assert!(costs[1] + 200 < costs[0] && costs[2] + 200 < costs[0], "{costs:?}");
        // Another server does not know the tickets, and it works all the same.
        let (mut client, mut server) = (End::client_of(&of_client, "localhost"), End::server(pki.server(&[version])));
        assert!(cost(&mut client, &mut server) + 100 > costs[0]);
    }
}

#[test]
fn without_resumption() {
    let pki = Pki::new(&["localhost"]);
    for version in VERSIONS {
        let mut config = pki.client(&[version]);
        config.resumption = Resumption::disabled();
        let (of_client, of_server) = (Arc::new(config), Arc::new(pki.server(&[version])));
        let costs = [0, 1].map(|_| cost(&mut End::client_of(&of_client, "localhost"), &mut End::server_of(&of_server)));
        assert!(costs[0].abs_diff(costs[1]) < 50, "{costs:?}");
    }
}

#[test]
fn data_in_the_first_flight_is_refused() {
    let pki = Pki::new(&["localhost"]);
    let mut config = pki.server(&[&TLS13]);
    config.max_early_data_size = 1;
    let error = Tls::server(Arc::new(config)).unwrap_err();
    assert_eq!(error, TlsError::EarlyData);
    assert_eq!(error.to_string(), "0-RTT data is not supported: it can be replayed");
    assert_eq!(io::Error::from(error).kind(), io::ErrorKind::InvalidInput);
    // A client that would like to is not harmed.
    let mut config = pki.client(&[&TLS13]);
    config.enable_early_data = true;
    let (of_client, of_server) = (Arc::new(config), Arc::new(pki.server(&[&TLS13])));
    for _ in 0..2 {
        let (mut client, mut server) = (End::client_of(&of_client, "localhost"), End::server_of(&of_server));
        client.tx.put("not early");
        exchange(&mut client, &mut server, ALL);
        assert_eq!((server.outcome(), &server.received()[..]), (Ok(()), &b"not early"[..]));
    }
}

#[test]
fn errors_of_io() {
    let (_, mut server) = pair(&TLS13);
    let _ = server.receive(b"GET / HTTP/1.1\r\n", ALL);
    let error = io::Error::from(server.process().unwrap_err());
    assert_eq!((error.kind(), error.to_string()), (io::ErrorKind::InvalidData, "the peer does not speak TLS".into()));
    assert_eq!(error.downcast::<TlsError>().unwrap(), TlsError::NotTls);
    assert_eq!(io::Error::from(TlsError::HandshakeEof).kind(), io::ErrorKind::UnexpectedEof);
    let (client, _) = shaken(&TLS13);
    assert!(format!("{:?}", client.tls).contains("TLSv1_3"));
}
