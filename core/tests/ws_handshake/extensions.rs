//! What is agreed on of permessage-deflate: RFC 7692, section 7.1.

use bytewise::ws::{
    Config, Deflate,
    handshake::{Negotiated, Rejected, Request},
};

fn config(deflate: Deflate) -> Config {
    Config::default().with_deflate(deflate)
}

/// A server's answer.
#[track_caller]
fn answers(deflate: &Deflate, rows: &[(&str, Option<&str>)]) {
    for (offer, expected) in rows {
        let chosen = Negotiated::choose(offer.as_bytes(), &config(deflate.clone()));
        assert_eq!(chosen.extensions(), *expected, "{offer}");
        assert_eq!(Negotiated::choose(offer.as_bytes(), &Config::default()).extensions(), None);
    }
}

const PLAIN: Option<&str> = Some("permessage-deflate");

#[test]
fn a_server_accepts() {
    answers(
        &Deflate::default(),
        &[
            ("permessage-deflate", PLAIN),
            ("Permessage-Deflate", PLAIN),
            ("permessage-deflate; client_max_window_bits", PLAIN),
            ("permessage-deflate;client_max_window_bits", PLAIN),
            ("x-webkit-deflate-frame, permessage-deflate", PLAIN),
            ("permessage-deflate, permessage-deflate; server_no_context_takeover", PLAIN),
            ("permessage-deflate; server_no_context_takeover", Some("permessage-deflate; server_no_context_takeover")),
            ("permessage-deflate; client_no_context_takeover", Some("permessage-deflate; client_no_context_takeover")),
            ("permessage-deflate; server_max_window_bits=15", Some("permessage-deflate; server_max_window_bits=15")),
            ("permessage-deflate; server_max_window_bits=10", Some("permessage-deflate; server_max_window_bits=10")),
            (
                "permessage-deflate; server_max_window_bits=\"10\"",
                Some("permessage-deflate; server_max_window_bits=10"),
            ),
            ("permessage-deflate ; server_max_window_bits = 9 ", Some("permessage-deflate; server_max_window_bits=9")),
            // W10: eight is honoured.
            ("permessage-deflate; server_max_window_bits=8", Some("permessage-deflate; server_max_window_bits=8")),
            ("permessage-deflate; client_max_window_bits=12", Some("permessage-deflate; client_max_window_bits=12")),
            ("permessage-deflate; client_max_window_bits=8", Some("permessage-deflate; client_max_window_bits=8")),
            (
                "permessage-deflate; client_max_window_bits=9; server_max_window_bits=9; client_no_context_takeover; \
                 server_no_context_takeover",
                Some(
                    "permessage-deflate; server_no_context_takeover; client_no_context_takeover; \
                     server_max_window_bits=9; client_max_window_bits=9",
                ),
            ),
        ],
    );
    // What the server wants itself.
    answers(
        &Deflate::default()
            .with_window_bits(11)
            .with_peer_window_bits(10)
            .without_context_takeover()
            .without_peer_context_takeover(),
        &[
            // A client that does not know its parameter cannot be told.
            (
                "permessage-deflate",
                Some(
                    "permessage-deflate; server_no_context_takeover; client_no_context_takeover; server_max_window_bits=11",
                ),
            ),
            (
                "permessage-deflate; client_max_window_bits; server_max_window_bits=12",
                Some(
                    "permessage-deflate; server_no_context_takeover; client_no_context_takeover; \
                     server_max_window_bits=11; client_max_window_bits=10",
                ),
            ),
            (
                "permessage-deflate; client_max_window_bits=9; server_max_window_bits=9",
                Some(
                    "permessage-deflate; server_no_context_takeover; client_no_context_takeover; \
                     server_max_window_bits=9; client_max_window_bits=9",
                ),
            ),
        ],
    );
}

const MALFORMED: [&str; 31] = [
    "permessage-deflate; server_max_window_bits",
    "permessage-deflate; server_max_window_bits=",
    "permessage-deflate; server_max_window_bits=7",
    "permessage-deflate; server_max_window_bits=16",
    "permessage-deflate; server_max_window_bits=0",
    "permessage-deflate; server_max_window_bits=08",
    "permessage-deflate; server_max_window_bits=010",
    "permessage-deflate; server_max_window_bits=+9",
    "permessage-deflate; server_max_window_bits=9.0",
    "permessage-deflate; server_max_window_bits=x",
    "permessage-deflate; server_max_window_bits=265",
    "permessage-deflate; server_max_window_bits=\"",
    "permessage-deflate; server_max_window_bits=\"9",
    "permessage-deflate; client_max_window_bits=",
    "permessage-deflate; client_max_window_bits=7",
    "permessage-deflate; client_max_window_bits=16",
    "permessage-deflate; client_max_window_bits=09",
    "permessage-deflate; server_no_context_takeover=",
    "permessage-deflate; server_no_context_takeover=true",
    "permessage-deflate; client_no_context_takeover=1",
    "permessage-deflate; server_no_context_takeover; server_no_context_takeover",
    "permessage-deflate; client_no_context_takeover; client_no_context_takeover",
    "permessage-deflate; server_max_window_bits=9; server_max_window_bits=9",
    "permessage-deflate; client_max_window_bits=9; client_max_window_bits=9",
    "permessage-deflate; client_max_window_bits; client_max_window_bits=9",
    "permessage-deflate; unknown",
    "permessage-deflate; mem_level=8",
    "permessage-deflate;",
    "permessage-deflate;; client_no_context_takeover",
    "permessage-deflate2",
    "x-webkit-deflate-frame",
];

/// What is unknown, repeated or malformed is declined, and the next is looked at.
#[test]
fn a_server_declines() {
    for offer in MALFORMED {
        let chosen = Negotiated::choose(offer.as_bytes(), &config(Deflate::default()));
        assert_eq!(chosen.extensions(), None, "{offer}");
        let chosen = Negotiated::choose(format!("{offer}, permessage-deflate").as_bytes(), &config(Deflate::default()));
        // A quoted string that does not end goes on.
        let expected = if offer.matches('"').count() % 2 == 0 { PLAIN } else { None };
        assert_eq!(chosen.extensions(), expected, "{offer}");
    }
    for offer in ["", ",", " , ,", "\u{FC}", "foo; x=\"permessage-deflate\"", "foo; x=\", permessage-deflate, \""] {
        let chosen = Negotiated::choose(offer.as_bytes(), &config(Deflate::default()));
        assert_eq!(chosen.extensions(), None, "{offer}");
    }
}

/// A client fails the connection on what it did not offer.
#[test]
fn a_client_fails() {
    let any = config(Deflate::default());
    for answer in MALFORMED {
        assert_eq!(Negotiated::confirm(answer.as_bytes(), &any).map(drop), Err(Rejected::Extension), "{answer}");
    }
    for answer in [
        "permessage-deflate, permessage-deflate",
        "permessage-deflate, x",
        "permessage-deflate; client_max_window_bits",
    ] {
        assert_eq!(Negotiated::confirm(answer.as_bytes(), &any).map(drop), Err(Rejected::Extension), "{answer}");
    }
    for answer in ["", " ", ","] {
        assert_eq!(Negotiated::confirm(answer.as_bytes(), &any).unwrap().extensions(), None);
    }
    for answer in [
        "permessage-deflate",
        "permessage-deflate; server_no_context_takeover",
        "permessage-deflate; client_no_context_takeover",
        "permessage-deflate; server_max_window_bits=8",
        "permessage-deflate; client_max_window_bits=8; server_max_window_bits=15",
    ] {
        assert_eq!(Negotiated::confirm(answer.as_bytes(), &any).unwrap().extensions(), Some(answer));
        assert_eq!(Negotiated::confirm(answer.as_bytes(), &Config::default()).map(drop), Err(Rejected::Extension));
    }
    // What was asked for is no option of the server's.
    let alone = config(Deflate::default().without_peer_context_takeover());
    let narrow = config(Deflate::default().with_peer_window_bits(10));
    for (config, answer, is_fine) in [
        (&alone, "permessage-deflate", false),
        (&alone, "permessage-deflate; client_no_context_takeover", false),
        (&alone, "permessage-deflate; server_no_context_takeover", true),
        (&narrow, "permessage-deflate", false),
        (&narrow, "permessage-deflate; server_max_window_bits=11", false),
        (&narrow, "permessage-deflate; server_max_window_bits=10", true),
        (&narrow, "permessage-deflate; server_max_window_bits=8", true),
    ] {
        assert_eq!(Negotiated::confirm(answer.as_bytes(), config).is_ok(), is_fine, "{answer}");
    }
}

/// What a client offers, and that a server's answer to it is always one it takes.
#[test]
fn offers() {
    let offer = |deflate: &Deflate| {
        let request = Request::new([0; 16], &config(deflate.clone()), &[]);
        let (_, value) = request.fields().find(|(name, _)| *name == "sec-websocket-extensions").unwrap();
        String::from_utf8(value.to_vec()).unwrap()
    };
    assert_eq!(offer(&Deflate::default()), "permessage-deflate; client_max_window_bits");
    let all = Deflate::default()
        .with_window_bits(9)
        .with_peer_window_bits(10)
        .without_context_takeover()
        .without_peer_context_takeover();
    assert_eq!(
        offer(&all),
        "permessage-deflate; server_no_context_takeover; client_no_context_takeover; server_max_window_bits=10; \
         client_max_window_bits=9"
    );
    let mut all = Vec::new();
    for ours in [9, 12, 15] {
        for theirs in [9, 12, 15] {
            for takeovers in 0..4 {
                let mut deflate = Deflate::default().with_window_bits(ours).with_peer_window_bits(theirs);
                if takeovers & 1 != 0 {
                    deflate = deflate.without_context_takeover();
                }
                if takeovers & 2 != 0 {
                    deflate = deflate.without_peer_context_takeover();
                }
                all.push(deflate);
            }
        }
    }
    for client in &all {
        for server in &all {
            let chosen = Negotiated::choose(offer(client).as_bytes(), &config(server.clone()));
            let answer = chosen.extensions().expect("our own offer");
            let confirmed = Negotiated::confirm(answer.as_bytes(), &config(client.clone())).unwrap();
            assert_eq!(confirmed.extensions(), Some(answer));
        }
    }
}
