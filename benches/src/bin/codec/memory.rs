//! What connections hold: receive memory of objects, and all memory of real idle connections on tokio, by allocator.

use bytewise::{
    Machine, RecvBuf, SendBuf, Spare,
    framing::{ByteOrder, Frame, Framed, LengthPrefix, Width},
};
use bytewise_net::{BoxError, ServerOptions, tokio::Conn};
use futures_util::{SinkExt, StreamExt};
use serde::Serialize;
use std::{
    hint::black_box,
    io::{self, BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
    process::{Command, Stdio},
    thread,
};
use tokio::{io::AsyncWriteExt, net::TcpListener, runtime::Builder, sync::oneshot};
use tokio_util::codec::{Framed as TokioFramed, LengthDelimitedCodec};

/// One line of the result.
#[derive(Debug, Serialize)]
pub(crate) struct Held {
    pub(crate) name: &'static str,
    #[serde(rename = "impl")]
    pub(crate) candidate: &'static str,
    pub(crate) state: &'static str,
    pub(crate) connections: usize,
    pub(crate) bytes_per_connection: f64,
    pub(crate) mib: f64,
}

impl Held {
    fn new(name: &'static str, candidate: &'static str, state: &'static str, connections: usize, bytes: i64) -> Self {
        let (bytes, count) = (bytes.max(0) as f64, connections as f64);
        Self {
            name,
            candidate,
            state,
            connections,
            bytes_per_connection: bytes / count,
            mib: bytes / f64::from(1 << 20),
        }
    }
}

pub(crate) fn rows(filter: &str, connections: usize) -> io::Result<Vec<Held>> {
    let mut rows = Vec::new();
    if "memory/objects".contains(filter) {
        rows.extend(objects(connections));
    }
    if "memory/idle".contains(filter) {
        for (state, len) in [("after 64 B", 64), ("after 32 KiB", 32 << 10)] {
            for (candidate, server) in
                [("a bare task", Server::Bare), ("bytewise", Server::Bytewise), ("tokio-util", Server::TokioUtil)]
            {
                let bytes = idle(server, connections, len)?;
                rows.push(Held::new("memory/idle", candidate, state, connections, bytes));
            }
        }
    }
    Ok(rows)
}

fn framing() -> LengthPrefix {
    LengthPrefix::new(Width::U32, ByteOrder::Big, 1 << 20)
}

/// Receive memory of objects that are no more than that, without sockets.
fn objects(connections: usize) -> Vec<Held> {
    let held = |state, bytes| Held::new("memory/objects", "bytewise", state, connections, bytes);
    let frame = [&64u32.to_be_bytes()[..], &[7; 64]].concat();
    let mut all = Vec::with_capacity(connections);
    let grown = |work: &mut dyn FnMut()| allocation_counter::measure(work).bytes_current;

    let new = grown(&mut || {
        all.extend((0..connections).map(|_| (RecvBuf::new(), SendBuf::new(), Framed::new(framing()))));
    });
    let receive = |(rx, tx, frames): &mut (RecvBuf, SendBuf, Framed<LengthPrefix>), bytes: &[u8]| {
        rx.space()[..bytes.len()].copy_from_slice(bytes);
        rx.filled(bytes.len());
        while let Ok(Some(Frame::Data(frame))) = frames.next_event(rx, tx) {
            black_box(frame);
        }
    };
    let reading = grown(&mut || all.iter_mut().for_each(|connection| receive(connection, &frame[..60])));
    let done = reading + grown(&mut || all.iter_mut().for_each(|connection| receive(connection, &frame[60..])));
    let mut spare = Spare::new();
    let idle = done + grown(&mut || all.iter_mut().for_each(|(rx, tx, _)| spare.take_back(rx, tx)));
    let pooled = grown(&mut || {
        for connection in &mut all {
            spare.lend(&mut connection.0, &mut connection.1);
            receive(connection, &frame);
            spare.take_back(&mut connection.0, &mut connection.1);
        }
    });
    vec![
        held("new", new),
        held("part of a frame each", reading),
        held("idle, memory kept", done),
        held("idle, given to a pool", idle),
        held("idle after more, with a pool", idle + pooled),
    ]
}

#[derive(Debug, Clone, Copy)]
enum Server {
    /// A task and a socket of tokio's, with a buffer on the stack while it works: what the runtime itself holds.
    Bare,
    Bytewise,
    TokioUtil,
}

/// Bytes that so many idle connections hold in the server, after one echo of a frame of `len` bytes each.
fn idle(server: Server, connections: usize, len: usize) -> io::Result<i64> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0"))?;
    let mut clients = Command::new(std::env::current_exe()?)
        .args(["hold", &listener.local_addr()?.to_string(), &connections.to_string(), &len.to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let (done, ready) = oneshot::channel();
    let (go, stdout) = (clients.stdin.take(), clients.stdout.take());
    // Its allocations are another thread's, and do not count.
    let told = thread::spawn(move || {
        let mut line = String::new();
        let read = BufReader::new(stdout.expect("it is piped")).read_line(&mut line);
        let _ = done.send(read.is_ok() && line == "ready\n");
    });
    let mut all_echoed = false;
    let info = allocation_counter::measure(|| {
        all_echoed = runtime.block_on(async {
            match server {
                Server::Bytewise => {
                    let machine = || Framed::new(framing());
                    let options = ServerOptions::default().with_max_connections(usize::MAX);
                    tokio::spawn(bytewise_net::tokio::serve(listener, options, machine, echo, std::future::pending()));
                }
                Server::TokioUtil => drop(tokio::spawn(accept(listener, echo_by_tokio_util))),
                Server::Bare => drop(tokio::spawn(accept(listener, echo_bare))),
            }
            let all_echoed = ready.await.unwrap_or(false);
            // The last ones still have to notice that there is no more.
            for _ in 0..100 {
                tokio::task::yield_now().await;
            }
            all_echoed
        });
    });
    drop(go);
    clients.wait()?;
    let _ = told.join();
    if all_echoed { Ok(info.bytes_current) } else { Err(io::Error::other("the clients of idle connections failed")) }
}

async fn echo(mut conn: Conn<Framed<LengthPrefix>>) -> Result<(), BoxError> {
    while let Some((frame, out)) = conn.next().await? {
        if let Frame::Data(frame) = frame {
            out.machine.send(frame, out.tx)?;
        }
    }
    Ok(conn.close().await?)
}

async fn accept<F: Future<Output = io::Result<()>> + Send + 'static>(
    listener: TcpListener,
    echo: impl Fn(tokio::net::TcpStream) -> F,
) {
    while let Ok((stream, _)) = listener.accept().await {
        tokio::spawn(echo(stream));
    }
}

async fn echo_by_tokio_util(stream: tokio::net::TcpStream) -> io::Result<()> {
    let mut frames = TokioFramed::new(stream, LengthDelimitedCodec::builder().max_frame_length(1 << 20).new_codec());
    while let Some(frame) = frames.next().await {
        frames.send(frame?.freeze()).await?;
    }
    Ok(())
}

/// Keeps nothing while it waits.
async fn echo_bare(mut stream: tokio::net::TcpStream) -> io::Result<()> {
    loop {
        stream.readable().await?;
        let mut bytes = vec![0; 64 << 10];
        match stream.try_read(&mut bytes) {
            Ok(0) => return Ok(()),
            Ok(n) => stream.write_all(&bytes[..n]).await?,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
        drop(bytes);
    }
}

/// The clients: connect, exchange one frame each, say so, and wait for the end of input.
pub(crate) fn hold(address: SocketAddr, connections: usize, len: usize) -> io::Result<()> {
    let frame = [&(len as u32).to_be_bytes()[..], &vec![7; len]].concat();
    let mut echo = vec![0; frame.len()];
    let mut streams = Vec::with_capacity(connections);
    for _ in 0..connections {
        let mut stream = TcpStream::connect(address)?;
        stream.write_all(&frame)?;
        stream.read_exact(&mut echo)?;
        if echo != frame {
            return Err(io::Error::other("the echo differs"));
        }
        streams.push(stream);
    }
    println!("ready");
    io::copy(&mut io::stdin(), &mut io::sink())?;
    Ok(())
}
