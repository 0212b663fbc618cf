//! A handler that fails or panics goes to the log, and others go on.

use crate::{
    handlers::command,
    peer::Peer,
    server::{Runtime, Server},
};

on_every_runtime!(error, panic, again_and_again);

fn error(runtime: Runtime) {
    let server = Server::start(runtime);
    let mut other = Peer::connect(server.address);
    other.echoes(b"before");
    let mut peer = Peer::connect(server.address);
    peer.send(command::FAIL);
    peer.assert_end();
    assert_eq!(server.error().to_string(), "a handler's own error");
    other.echoes(b"after");
    drop(other);
    server.stop();
}

fn panic(runtime: Runtime) {
    let server = Server::start(runtime);
    let mut other = Peer::connect(server.address);
    other.echoes(b"before");
    let mut peer = Peer::connect(server.address);
    peer.send(command::PANIC);
    peer.assert_end();
    assert_eq!(server.error().to_string(), "a handler panicked: a handler's own panic");
    other.echoes(b"after");
    Peer::connect(server.address).echoes(b"a new one");
    drop(other);
    server.stop();
}

fn again_and_again(runtime: Runtime) {
    let server = Server::start(runtime);
    for i in 0..20 {
        let mut peer = Peer::connect(server.address);
        peer.send(if i % 2 == 0 { command::FAIL } else { command::PANIC });
        peer.assert_end();
        server.error();
    }
    server.stop();
}
