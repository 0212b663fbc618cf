//! The embedder's example over real sockets: whole, byte by byte, larger than any buffer, and after an error.

#[allow(dead_code, unreachable_pub)] // its `main` is not for us, and a module is not a program
#[path = "../examples/epoll_echo.rs"]
mod epoll_echo;

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::thread;

fn serve() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(|| epoll_echo::serve(listener));
    address
}

/// Writes from another thread, so that neither side can wait for the other for ever.
fn exchange(address: SocketAddr, input: Vec<u8>, block: usize) -> Vec<u8> {
    let mut socket = TcpStream::connect(address).unwrap();
    socket.set_nodelay(true).unwrap();
    let mut writer = socket.try_clone().unwrap();
    let sent = thread::spawn(move || {
        for block in input.chunks(block) {
            writer.write_all(block).unwrap();
        }
        writer.shutdown(Shutdown::Write).unwrap();
    });
    let mut output = Vec::new();
    socket.read_to_end(&mut output).unwrap();
    sent.join().unwrap();
    output
}

fn frames(sizes: &[usize]) -> Vec<u8> {
    let mut wire = Vec::new();
    for &size in sizes {
        wire.extend(u32::try_from(size).unwrap().to_be_bytes());
        wire.extend((0..size).map(|i| i as u8));
    }
    wire
}

#[test]
fn frames_of_all_sizes_come_back() {
    let address = serve();
    let large = frames(&[0, 1, 64, 5000, 1 << 20, 3]);
    assert!(exchange(address, large.clone(), usize::MAX) == large);
    let small = frames(&[0, 1, 64, 300]);
    assert!(exchange(address, small.clone(), 1) == small);
}

#[test]
fn many_connections_at_once() {
    let address = serve();
    let wire = frames(&[10; 1000]);
    thread::scope(|scope| {
        for _ in 0..50 {
            scope.spawn(|| assert!(exchange(address, wire.clone(), 997) == wire));
        }
    });
}

#[test]
fn what_came_before_an_error_is_answered() {
    let address = serve();
    let mut input = frames(&[5, 6]);
    input.extend([0xFF; 4]); // a length above the limit
    input.extend([7; 100_000]); // and input that nobody reads
    assert!(exchange(address, input, usize::MAX) == frames(&[5, 6]));
}
