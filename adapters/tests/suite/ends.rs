//! How connections end: half-closed, inside a frame, with a reset, with nonsense.

use crate::{
    handlers::{Kind, command},
    peer::{Peer, frame},
    server::{MAX_FRAME, Runtime, Server},
};
use bytewise::framing;
use bytewise_net::{Error, ServerOptions};

on_every_runtime!(
    half_close,
    end_inside_a_frame,
    end_inside_a_prefix,
    reset_between_frames,
    reset_inside_a_frame,
    protocol_error,
    protocol_error_with_unread_input,
    protocol_error_with_unread_input_and_a_handler_that_closes,
    a_handler_that_ends_first,
);

/// All answers come after the end of the requests.
fn half_close(runtime: Runtime) {
    let server = Server::start(runtime);
    let mut peer = Peer::connect(server.address);
    let bodies: Vec<_> = (0..100_u8).map(|i| vec![i; usize::from(i)]).collect();
    let wire: Vec<_> = bodies.iter().flat_map(|body| frame(body)).collect();
    peer.write(&wire);
    peer.finish();
    for body in &bodies {
        assert_eq!(peer.receive(), *body);
    }
    peer.assert_end();
    server.stop();
}

fn end_inside_a_frame(runtime: Runtime) {
    let server = Server::start(runtime);
    let mut peer = Peer::connect(server.address);
    peer.write(&frame(b"whole"));
    peer.write(&frame(b"half")[..6]);
    peer.finish();
    assert_eq!(peer.receive(), b"whole");
    peer.assert_end();
    assert_eof(&server, 6, Some(8));
    server.stop();
}

fn end_inside_a_prefix(runtime: Runtime) {
    let server = Server::start(runtime);
    let mut peer = Peer::connect(server.address);
    peer.write(&[0, 0]);
    peer.finish();
    peer.assert_end();
    assert_eof(&server, 2, None);
    server.stop();
}

#[track_caller]
fn assert_eof(server: &Server, seen: u64, expected: Option<u64>) {
    match server.connection_error() {
        Error::Protocol(error) => assert_eq!(error, framing::Error::UnexpectedEof { seen, expected }),
        other => panic!("{other}"),
    }
}

/// No frame is missing a part: as good as a close.
fn reset_between_frames(runtime: Runtime) {
    let server = Server::start(runtime);
    let mut peer = Peer::connect(server.address);
    peer.echoes(b"before");
    peer.reset();
    server.stop();
}

fn reset_inside_a_frame(runtime: Runtime) {
    let server = Server::start(runtime);
    let mut peer = Peer::connect(server.address);
    peer.write(&[frame(b"before"), frame(b"inside")[..5].to_vec()].concat());
    assert_eq!(peer.receive(), b"before");
    peer.reset();
    assert_eof(&server, 5, Some(10));
    server.stop();
}

/// A frame above the limit.
fn too_long() -> Vec<u8> {
    u32::try_from(MAX_FRAME + 1).unwrap().to_be_bytes().to_vec()
}

#[track_caller]
fn assert_too_long(server: &Server) {
    match server.connection_error() {
        Error::Protocol(framing::Error::TooLong { len, max: MAX_FRAME }) => assert_eq!(len, MAX_FRAME as u64 + 1),
        other => panic!("{other}"),
    }
}

fn protocol_error(runtime: Runtime) {
    let server = Server::start(runtime);
    let mut peer = Peer::connect(server.address);
    peer.write(&[frame(b"one"), frame(b"two"), too_long()].concat());
    assert_eq!(peer.receive(), b"one");
    assert_eq!(peer.receive(), b"two");
    peer.assert_end();
    drop(peer);
    assert_too_long(&server);
    server.stop();
}

/// With the handler of the documentation, which ends with `?`: a reset must not destroy the answers.
fn protocol_error_with_unread_input(runtime: Runtime) {
    let server = Server::with(runtime, ServerOptions::default(), Kind::Echo);
    answers_then_end_despite_unread_input(server);
}

fn protocol_error_with_unread_input_and_a_handler_that_closes(runtime: Runtime) {
    let server = Server::with(runtime, ServerOptions::default(), Kind::ClosesOnError);
    answers_then_end_despite_unread_input(server);
}

fn answers_then_end_despite_unread_input(server: Server) {
    let mut peer = Peer::connect(server.address);
    peer.write(&[frame(b"one"), frame(b"two"), too_long(), vec![0xff; 100_000]].concat());
    assert_eq!(peer.receive(), b"one");
    assert_eq!(peer.receive(), b"two");
    peer.assert_end();
    drop(peer);
    assert_too_long(&server);
    server.stop();
}

/// Dropped, a connection is closed.
fn a_handler_that_ends_first(runtime: Runtime) {
    let server = Server::start(runtime);
    let mut peer = Peer::connect(server.address);
    peer.echoes(b"before");
    peer.send(command::DROP);
    peer.assert_end();
    server.stop();
}
