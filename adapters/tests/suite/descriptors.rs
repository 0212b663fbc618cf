//! Descriptors: a server survives their lack, and ends without one.
//!
//! The limit is of a process: these tests run themselves once more, in one of their own.

use crate::{
    peer::{GUARD, Peer},
    server::{Runtime, Server},
};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::{
    env,
    fs::File,
    net::{Shutdown, TcpListener},
    process::Command,
};

on_every_runtime!(a_listener_that_fails);

/// Raises the limit of descriptors to what a test needs, if it is lower.
pub(crate) fn at_least(needed: u64) {
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| current >= needed) {
        return;
    }
    assert!(
        limit.maximum.is_none_or(|maximum| maximum >= needed),
        "this test needs {needed} descriptors, and the system's hard limit (`ulimit -Hn`) is lower: {limit:?}"
    );
    setrlimit(Resource::Nofile, Rlimit { current: Some(needed), ..limit }).unwrap();
}

const CHILD: &str = "BYTEWISE_TEST_CHILD";

/// Does `work` in a process of its own, which runs nothing but the test of that name.
fn alone(test: &str, work: impl FnOnce()) {
    if env::var_os(CHILD).is_some_and(|name| name == test) {
        return work();
    }
    let output = Command::new(env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env(CHILD, test)
        .output()
        .unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && out.contains("1 passed"), "in a process of its own:\n{out}\n{err}");
}

/// Takes all descriptors that there are.
fn exhaust() -> Vec<File> {
    let open = || File::open("/dev/null");
    let mut taken = Vec::new();
    while let Ok(file) = open() {
        taken.push(file);
    }
    taken
}

fn limit(most: u64) {
    setrlimit(Resource::Nofile, Rlimit { current: Some(most), ..getrlimit(Resource::Nofile) }).unwrap();
}

macro_rules! in_a_process_of_its_own {
    ($($test:ident),*) => {
        $(mod $test {
            #[cfg(feature = "tokio")]
            #[test]
            fn on_tokio() {
                super::alone(concat!("descriptors::", stringify!($test), "::on_tokio"), || {
                    super::$test(crate::server::Runtime::Tokio);
                });
            }

            #[cfg(feature = "smol")]
            #[test]
            fn on_smol() {
                super::alone(concat!("descriptors::", stringify!($test), "::on_smol"), || {
                    super::$test(crate::server::Runtime::Smol);
                });
            }

            #[cfg(feature = "async-std")]
            #[test]
            fn on_async_std() {
                super::alone(concat!("descriptors::", stringify!($test), "::on_async_std"), || {
                    super::$test(crate::server::Runtime::AsyncStd);
                });
            }

            #[cfg(feature = "blocking")]
            #[test]
            fn on_blocking() {
                super::alone(concat!("descriptors::", stringify!($test), "::on_blocking"), || {
                    super::$test(crate::server::Runtime::Blocking);
                });
            }
        })*
    };
}

in_a_process_of_its_own!(accepting_survives_their_lack, ends_without_one);

fn accepting_survives_their_lack(runtime: Runtime) {
    let server = Server::start(runtime);
    let mut before = Peer::connect(server.address);
    before.echoes(b"before");
    // The client's end is made while there is still one; the server's is one too many.
    let late = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    limit(64);
    let mut taken = exhaust();
    late.connect(&server.address.into()).unwrap();
    let mut late = Peer::over(late.into());
    late.send(b"late");
    let error = *server.error().downcast::<std::io::Error>().unwrap();
    assert_eq!(error.raw_os_error(), Some(24), "{error}");
    before.echoes(b"meanwhile");
    taken.truncate(10);
    assert_eq!(late.receive(), b"late");
    limit(1000);
    Peer::connect(server.address).echoes(b"after");
    drop((before, late));
    server.shutdown.begin();
    server.ended().unwrap();
}

fn ends_without_one(runtime: Runtime) {
    let server = Server::start(runtime);
    let mut peer = Peer::connect(server.address);
    peer.echoes(b"before");
    limit(64);
    let taken = exhaust();
    server.shutdown.begin();
    peer.assert_end();
    drop(peer);
    server.ended().unwrap();
    drop(taken);
}

/// It ends the server, with its error; connections are drained.
fn a_listener_that_fails(runtime: Runtime) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let same = listener.try_clone().unwrap();
    let server = Server::spread(
        runtime,
        crate::server::Spread::Single,
        listener,
        bytewise_net::ServerOptions::default(),
        crate::handlers::Kind::Commands,
    );
    let mut peer = Peer::connect(server.address);
    peer.echoes(b"before");
    socket2::SockRef::from(&same).shutdown(Shutdown::Both).unwrap();
    peer.socket.set_read_timeout(Some(GUARD)).unwrap();
    peer.assert_end();
    drop(peer);
    server.ended().unwrap_err();
}
