//! Drivers over a transport in memory: byte by byte, dropped at any await, and ends where they are least expected.

use crate::{
    ends::End,
    pipe::{Pipe, once, pipes, soon},
    pki::{Pki, VERSIONS},
};
use bytewise::{
    Machine, Phase, Time, TimedOut, Timeouts,
    framing::{Frame, Framed, VarintPrefix},
    http1::{Client, ClientEvent, Config},
};
use bytewise_net::{
    Driver, Error,
    tls::{Tls, TlsError},
};
use futures_lite::future::{block_on, zip};
use rustls::{ProtocolVersion::TLSv1_3, SupportedProtocolVersion};
use std::{io::ErrorKind, rc::Rc, sync::Arc, task::Poll};

type Conn = Driver<Pipe, Framed<VarintPrefix>>;

fn frames() -> Framed<VarintPrefix> {
    Framed::new(VarintPrefix::new(64 << 20))
}

fn tls(version: &'static SupportedProtocolVersion) -> (Tls, Tls) {
    let pki = Pki::new(&["localhost"]);
    let client = Tls::client(Arc::new(pki.client(&[version])), "localhost".try_into().unwrap()).unwrap();
    (client, Tls::server(Arc::new(pki.server(&[version]))).unwrap())
}

fn conns(version: &'static SupportedProtocolVersion, block: usize) -> (Conn, Conn) {
    let ((client, server), (here, there)) = (tls(version), pipes(block));
    (Driver::new(here, frames()).with_tls(client), Driver::new(there, frames()).with_tls(server))
}

fn send(conn: &mut Conn, data: impl AsRef<[u8]>) {
    let out = conn.outbox();
    out.machine.send(data.as_ref(), out.tx).unwrap();
}

async fn receive(conn: &mut Conn) -> Option<Vec<u8>> {
    match conn.next().await.unwrap() {
        Some((Frame::Data(data), _)) => Some(data.to_vec()),
        Some(other) => panic!("{:?}", other.0),
        None => None,
    }
}

#[test]
fn byte_by_byte() {
    for version in VERSIONS {
        for block in [1, 2, 3, 5, 7, 100] {
            let (mut client, mut server) = conns(version, block);
            let echo = async {
                while let Some(data) = receive(&mut server).await {
                    send(&mut server, data);
                }
                server.close().await.unwrap();
            };
            let ask = async {
                for size in [0, 1, 100, 2000] {
                    send(&mut client, vec![7; size]);
                    assert_eq!(receive(&mut client).await, Some(vec![7; size]));
                }
                client.close().await.unwrap();
            };
            block_on(zip(echo, ask));
        }
    }
}

#[test]
fn keys_are_changed_between_messages() {
    for version in VERSIONS {
        let (mut client, mut server) = conns(version, 50);
        assert!(!client.refresh_keys(), "before the handshake");
        let echo = async {
            let mut changed = 0;
            while let Some(data) = receive(&mut server).await {
                changed += u32::from(server.refresh_keys());
                send(&mut server, data);
            }
            assert_eq!(changed, if version.version == TLSv1_3 { 4 } else { 0 });
            server.close().await.unwrap();
        };
        let ask = async {
            for size in [0, 1, 100, 20_000] {
                send(&mut client, vec![7; size]);
                assert_eq!(receive(&mut client).await, Some(vec![7; size]));
                let sent = |client: &Conn| client.io().to.borrow().total;
                let before = sent(&client);
                // Without a message: the next write is the peer's answer to the change, and the change.
                assert_eq!(client.refresh_keys(), version.version == TLSv1_3);
                client.outbox().flush().await.unwrap();
                assert_eq!(sent(&client) > before, version.version == TLSv1_3);
            }
            client.close().await.unwrap();
        };
        block_on(zip(echo, ask));
    }
}

/// Every future is polled once, then dropped: in the handshake, in reads, in writes, and in what waits for room.
#[test]
fn dropped_at_every_await() {
    for version in VERSIONS {
        for block in [1, 11, 1000] {
            let (mut client, mut server) = conns(version, block);
            let mut shaken = (false, false);
            soon(|| {
                shaken.0 = shaken.0 || once(client.handshake()).map(Result::unwrap).is_ready();
                shaken.1 = shaken.1 || once(server.handshake()).map(Result::unwrap).is_ready();
                if shaken == (true, true) { Poll::Ready(()) } else { Poll::Pending }
            });
            for turn in 0..20_u8 {
                send(&mut client, vec![turn; 500]);
                let data = soon(|| {
                    assert!(once(client.outbox().flush()).map(Result::unwrap).is_ready() || block < 1000);
                    once(receive(&mut server))
                });
                send(&mut server, data.unwrap());
                let data = soon(|| {
                    let _ = once(server.outbox().ready(100)).map(Result::unwrap);
                    let _ = once(server.outbox().flush_while(std::future::pending::<()>())).map(Result::unwrap);
                    once(receive(&mut client))
                });
                assert_eq!(data, Some(vec![turn; 500]));
            }
        }
    }
}

#[test]
fn what_writes_first_shakes_hands() {
    for version in VERSIONS {
        let (mut client, mut server) = conns(version, 100);
        let greet = async {
            send(&mut server, "welcome");
            server.outbox().flush().await.unwrap();
            assert!(!server.tls().unwrap().is_handshaking());
            assert_eq!(receive(&mut server).await.unwrap(), b"thank you");
            server.close().await.unwrap();
        };
        let listen = async {
            assert_eq!(receive(&mut client).await.unwrap(), b"welcome");
            send(&mut client, "thank you");
            assert_eq!(receive(&mut client).await, None);
            client.close().await.unwrap();
        };
        block_on(zip(greet, listen));
    }
}

/// Which one is closed at once, before a byte came.
#[test]
fn a_greeting_and_no_more() {
    for version in VERSIONS {
        let (mut client, mut server) = conns(version, usize::MAX);
        let greet = async {
            send(&mut server, "full, come again");
            server.close().await.unwrap();
        };
        let listen = async {
            assert_eq!(receive(&mut client).await.unwrap(), b"full, come again");
            assert_eq!(receive(&mut client).await, None);
            client.close().await.unwrap();
        };
        block_on(zip(greet, listen));
    }
}

/// The same by one that only asks for what comes next, its machine being at its end.
#[test]
fn a_greeting_and_an_end_before_hands_are_shaken() {
    for version in VERSIONS {
        let (mut client, mut server) = conns(version, usize::MAX);
        let greet = async {
            send(&mut server, "full, come again");
            let out = server.outbox();
            out.machine.shut_down(out.tx);
            assert_eq!(receive(&mut server).await, None);
            server.close().await.unwrap();
        };
        let listen = async {
            assert_eq!(receive(&mut client).await.unwrap(), b"full, come again");
            assert_eq!(receive(&mut client).await, None);
            client.close().await.unwrap();
        };
        block_on(zip(greet, listen));
    }
}

/// What comes in the same read as the end of the handshake, the end of the session among it.
#[test]
fn all_at_once_to_one_who_only_shakes_hands() {
    for version in VERSIONS {
        let (client, server) = tls(version);
        let (here, there) = pipes(usize::MAX);
        let mut server = Driver::new(there, frames()).with_tls(server);
        let mut client = End::over(client);
        // A frame, and the end.
        client.tx.put("\x05hello");
        client.tls.close();
        let outcome = soon(|| {
            let shaken = once(server.handshake());
            let bytes: Vec<u8> = here.from.borrow_mut().bytes.drain(..).collect();
            client.receive(&bytes, usize::MAX).unwrap();
            here.to.borrow_mut().push(&client.records());
            shaken
        });
        outcome.unwrap();
        let outcome = soon(|| once(receive(&mut server)));
        assert_eq!(outcome.unwrap(), b"hello");
        assert_eq!(soon(|| once(receive(&mut server))), None);
    }
}

/// The same for a client, where the server's part comes last.
#[test]
fn all_at_once_to_a_client_that_only_shakes_hands() {
    let (client, server) = tls(VERSIONS[0]);
    let (here, there) = pipes(usize::MAX);
    let mut client = Driver::new(here, frames()).with_tls(client);
    let mut server = End::over(server);
    server.tx.put("\x05hello");
    server.tls.close();
    soon(|| {
        let shaken = once(client.handshake());
        let bytes: Vec<u8> = there.from.borrow_mut().bytes.drain(..).collect();
        server.receive(&bytes, usize::MAX).unwrap();
        there.to.borrow_mut().push(&server.records());
        shaken
    })
    .unwrap();
    assert_eq!(soon(|| once(receive(&mut client))).unwrap(), b"hello");
    assert_eq!(soon(|| once(receive(&mut client))), None);
}

#[test]
fn the_transport_is_not_to_be_had() {
    let (mut client, _server) = conns(VERSIONS[1], 1);
    assert!(client.outbox().io().is_none());
    let (here, _there) = pipes(1);
    assert!(Driver::new(here, frames()).outbox().io().is_some());
}

#[test]
fn what_a_caller_is_to_write_itself_is_missing() {
    for version in VERSIONS {
        let (mut client, mut server) = conns(version, 1000);
        let listen = async {
            assert_eq!(receive(&mut server).await.unwrap(), b"before");
        };
        let send = async {
            send(&mut client, "before");
            client.outbox().tx.put_external(10);
            client.outbox().flush().await.unwrap();
            let Err(Error::Io(error)) = client.close().await else { panic!() };
            assert_eq!(error.kind(), ErrorKind::InvalidInput);
        };
        block_on(zip(listen, send));
    }
}

#[test]
fn the_end_of_the_wire() {
    for version in VERSIONS {
        let (mut client, mut server) = conns(version, 1000);
        let listen = async {
            assert_eq!(receive(&mut server).await.unwrap(), b"whole");
            server.next().await.map(drop)
        };
        let leave = async {
            send(&mut client, "whole");
            // And the prefix of one more.
            client.outbox().tx.put(&[100][..]);
            client.outbox().flush().await.unwrap();
            drop(client);
        };
        let (outcome, ()) = block_on(zip(listen, leave));
        let Err(Error::Protocol(error)) = outcome else { panic!("{outcome:?}") };
        assert!(error.to_string().contains("ended"), "{error}");
    }
}

#[test]
fn the_end_of_the_wire_within_the_handshake() {
    for version in VERSIONS {
        for is_server in [true, false] {
            let (client, server) = conns(version, 1000);
            let (mut conn, other) = if is_server { (server, client) } else { (client, server) };
            drop(other);
            for _ in 0..2 {
                let Err(Error::Io(error)) = block_on(conn.next()).map(drop) else { panic!() };
                assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
                assert_eq!(error.downcast::<TlsError>().unwrap(), TlsError::HandshakeEof);
            }
            assert!(block_on(conn.handshake()).is_err());
        }
    }
}

/// Announced by an alert that anybody could have sent, it is no better, and no end before the wire's.
#[test]
fn an_announced_end_within_the_handshake() {
    for version in VERSIONS {
        for is_server in [true, false] {
            let (client, server) = conns(version, 1000);
            let (mut conn, other) = if is_server { (server, client) } else { (client, server) };
            let other = other.into_parts().0;
            other.to.borrow_mut().push(&[21, 3, 3, 0, 2, 1, 0]);
            for _ in 0..10 {
                assert!(once(conn.handshake()).is_pending());
            }
            drop(other);
            let error = soon(|| once(conn.handshake())).unwrap_err();
            assert_eq!(error.downcast::<TlsError>().unwrap(), TlsError::HandshakeEof);
            assert!(soon(|| once(conn.next()).map_ok(drop)).is_err());
        }
    }
}

/// A server that refuses an upload answers, and closes: the answer is heard though the rest cannot be written.
#[test]
fn an_answer_is_heard_when_writing_fails() {
    for version in VERSIONS {
        let (client, server) = tls(version);
        let (here, there) = pipes(usize::MAX);
        let mut client = Driver::new(here, Client::new(&Config::default())).with_tls(client);
        let mut server = End::over(server);
        server.tx.put("HTTP/1.1 413 Content Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
        server.tls.close();
        soon(|| {
            let shaken = once(client.handshake());
            let bytes: Vec<u8> = there.from.borrow_mut().bytes.drain(..).collect();
            server.receive(&bytes, usize::MAX).unwrap();
            if shaken.is_pending() {
                server.tls.process(&mut Default::default(), &mut Default::default()).unwrap();
                let bytes = server.waiting();
                there.to.borrow_mut().push(&bytes);
            }
            shaken
        })
        .unwrap();
        // The end of the handshake, if it was still to come.
        let bytes = server.records();
        there.to.borrow_mut().push(&bytes);
        there.from.borrow_mut().is_refused = true;
        there.to.borrow_mut().end();
        let out = client.outbox();
        out.machine.request("POST", "/", [("host", "a")], vec![0; 1 << 20], out.tx).unwrap();
        let event = block_on(client.next()).unwrap().unwrap().0;
        let ClientEvent::Response(head) = event else { panic!("{event:?}") };
        assert_eq!(head.status(), 413);
    }
}

/// So is an alert: it says more than that the pipe is broken.
#[test]
fn an_alert_is_heard_when_writing_fails() {
    for version in VERSIONS {
        let (mut client, server) = conns(version, 1000);
        let there = server.into_parts().0;
        assert!(once(client.handshake()).is_pending());
        there.to.borrow_mut().push(&[21, 3, 3, 0, 2, 2, 40]);
        there.to.borrow_mut().end();
        let error = block_on(client.handshake()).unwrap_err().to_string();
        assert!(error.ends_with("nothing that both ends can do (received fatal alert: HandshakeFailure)"), "{error}");
    }
    // Also if that was seen first.
    let (client, server) = conns(VERSIONS[1], 1000);
    let (mut client, there) = (client, server.into_parts().0);
    there.from.borrow_mut().is_refused = true;
    there.to.borrow_mut().push(&[21, 3, 3, 0, 2, 2, 40]);
    there.to.borrow_mut().end();
    let error = block_on(client.handshake()).unwrap_err().to_string();
    assert!(error.ends_with("nothing that both ends can do (received fatal alert: HandshakeFailure)"), "{error}");
}

#[test]
fn deadlines() {
    for version in VERSIONS {
        for is_server in [true, false] {
            // It stops after so many polls of the other.
            for polls in 0..2 {
                let (client, server) = conns(version, 100);
                let (conn, mut other) = if is_server { (server, client) } else { (client, server) };
                let bound = Time::from_secs(10);
                let mut conn = conn.with_timeouts(Timeouts::none().with(Phase::Handshake, Some(bound)));
                let clock = Rc::clone(&conn.io().clock);
                for _ in 0..polls {
                    let _ = once(other.handshake());
                    assert!(once(conn.next()).is_pending());
                }
                assert!(once(conn.next()).is_pending());
                *clock.borrow_mut() = bound - Time::from_millis(1);
                assert!(once(conn.next()).is_pending());
                *clock.borrow_mut() = bound;
                let Poll::Ready(Err(error)) = once(conn.next()).map_ok(drop) else { panic!() };
                assert!(matches!(error, Error::TimedOut(TimedOut::Phase(Phase::Handshake))), "{error}");
            }
        }
    }
}

#[test]
fn memory_is_bounded_while_the_peer_does_not_read() {
    for version in VERSIONS {
        let (client, mut server) = conns(version, 64 << 10);
        let stall = Time::from_secs(5);
        let mut client = client.with_timeouts(Timeouts::none().with_write_stall(Some(stall)));
        let clock = Rc::clone(&client.io().clock);
        soon(|| {
            let _ = once(server.handshake());
            once(client.handshake())
        })
        .unwrap();
        soon(|| once(server.handshake())).unwrap();
        let line = Rc::clone(&client.io().to);
        let mut sent = 0;
        // Until it waits.
        while once(async { client.outbox().ready(1 << 16).await.unwrap() }).is_ready() {
            send(&mut client, vec![0; 1 << 16]);
            sent += 1;
            assert!(sent < 100, "it takes all there is");
        }
        assert!(line.borrow().bytes.len() <= 1 << 20);
        assert!(client.outbox().tx.queued() < 1 << 18);
        *clock.borrow_mut() = stall;
        let Poll::Ready(Err(error)) = once(async { client.outbox().flush().await }) else { panic!() };
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        assert_eq!(error.to_string(), "nothing could be written for too long");
    }
}

#[test]
fn two_that_write_at_once_do_not_lock_up() {
    const FRAME: usize = 8 << 10;
    const FRAMES: usize = 256;
    for version in VERSIONS {
        let (client, server) = conns(version, 10_000);
        let [one, two] = [client, server].map(|mut conn| async move {
            conn.io().to.borrow_mut().room = 20_000;
            let (mut sent, mut came) = (0, 0);
            while came < FRAMES {
                // Each is ahead of the other by what the lines and the buffers hold.
                while sent < FRAMES && conn.outbox().tx.queued() < 48 << 10 {
                    send(&mut conn, vec![0; FRAME]);
                    sent += 1;
                }
                assert_eq!(receive(&mut conn).await.unwrap().len(), FRAME);
                came += 1;
            }
            conn.outbox().flush().await.unwrap();
        });
        block_on(zip(one, two));
    }
}
