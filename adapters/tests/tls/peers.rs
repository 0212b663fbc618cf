//! Peers that are not ours: rustls over plain sockets, by its buffered API.

use crate::runtimes::Server;
use bytewise::Time;
use rustls::{ClientConfig, ClientConnection, ServerConfig, ServerConnection, StreamOwned};
use std::{
    io::{self, Read, Write},
    net::{TcpListener, TcpStream},
    sync::Arc,
    thread,
};

pub(crate) type Client = StreamOwned<ClientConnection, TcpStream>;
pub(crate) type Accepted = StreamOwned<ServerConnection, TcpStream>;

pub(crate) fn client(server: &Server, config: ClientConfig) -> Client {
    let connection = ClientConnection::new(Arc::new(config), "localhost".try_into().unwrap()).unwrap();
    StreamOwned::new(connection, server.connect())
}

/// Plays the server for each connection, on a thread of its own.
pub(crate) fn serve(config: ServerConfig, play: impl Fn(Accepted) + Send + Sync + 'static) -> u16 {
    let (config, play) = (Arc::new(config), Arc::new(play));
    accept(move |socket| {
        play(StreamOwned::new(ServerConnection::new(Arc::clone(&config)).unwrap(), socket));
    })
}

/// The same without TLS.
pub(crate) fn accept(play: impl Fn(TcpStream) + Send + Sync + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let play = Arc::new(play);
    thread::spawn(move || {
        for socket in listener.incoming() {
            let socket = socket.unwrap();
            socket.set_read_timeout(Some(Time::from_secs(20))).unwrap();
            let play = Arc::clone(&play);
            thread::spawn(move || play(socket));
        }
    });
    port
}

/// Up to the end of a head.
pub(crate) fn read_head(stream: &mut impl Read) -> io::Result<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    Ok(String::from_utf8(head).unwrap())
}

/// What `close_notify` is in rustls's API.
pub(crate) fn close(stream: &mut Accepted) {
    stream.conn.send_close_notify();
    let _ = stream.flush();
}
