//! A runtime's own task and socket, and no buffer while it waits: what everything else is compared with. And that under
//! rustls, whose part of a TLS connection no library on top of it can save.

use async_executor::Executor;
use async_io::Async;
use bytewise_bench::{options::Runtime, tls::Identity};
use futures_util::FutureExt;
use std::{
    io::{self, ErrorKind::WouldBlock, Read, Write},
    net::TcpListener,
    thread,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_rustls::TlsAcceptor;

/// Bytes that are read at once.
const BLOCK: usize = 64 << 10;

/// Sends back what comes, until the process ends.
pub(crate) fn serve(listener: TcpListener, runtime: Runtime) -> io::Result<()> {
    match runtime {
        Runtime::Tokio => on_tokio(listener, echo_on_tokio),
        Runtime::Smol | Runtime::AsyncStd => on_async_io(listener),
        Runtime::Blocking => on_threads(&listener),
        _ => Err(io::ErrorKind::Unsupported.into()),
    }
}

/// The same of what is decrypted, on tokio by tokio-rustls.
pub(crate) fn serve_under_tls(listener: TcpListener, identity: &Identity) -> io::Result<()> {
    let acceptor = TlsAcceptor::from(identity.server()?);
    on_tokio(listener, move |stream| echo_under_tls(acceptor.clone(), stream))
}

fn on_tokio<F>(listener: TcpListener, echo: impl Fn(tokio::net::TcpStream) -> F) -> io::Result<()>
where
    F: Future<Output = io::Result<()>> + Send + 'static,
{
    listener.set_nonblocking(true)?;
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
        let listener = tokio::net::TcpListener::from_std(listener)?;
        loop {
            // How it ends, the clients see.
            tokio::spawn(echo(listener.accept().await?.0));
        }
    })
}

async fn echo_on_tokio(mut stream: tokio::net::TcpStream) -> io::Result<()> {
    loop {
        stream.readable().await?;
        let mut bytes = vec![0; BLOCK];
        match stream.try_read(&mut bytes) {
            Ok(0) => return Ok(()),
            Ok(n) => stream.write_all(&bytes[..n]).await?,
            Err(error) if error.kind() == WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
}

async fn echo_under_tls(acceptor: TlsAcceptor, stream: tokio::net::TcpStream) -> io::Result<()> {
    // In a box, as a library has it: the stream of tokio-rustls is rustls's connection itself.
    let mut stream = Box::new(acceptor.accept(stream).await?);
    loop {
        let mut bytes = vec![0; BLOCK];
        match stream.read(&mut bytes).now_or_never() {
            Some(Ok(0)) => return Ok(()),
            Some(Ok(n)) => {
                stream.write_all(&bytes[..n]).await?;
                stream.flush().await?;
            }
            Some(Err(error)) => return Err(error),
            None => {
                drop(bytes);
                stream.get_ref().0.readable().await?;
            }
        }
    }
}

/// smol and async-std have the same executor and the same reactor.
fn on_async_io(listener: TcpListener) -> io::Result<()> {
    let executor = Executor::new();
    async_io::block_on(executor.run(async {
        let listener = Async::new(listener)?;
        loop {
            let (stream, _) = listener.accept().await?;
            executor.spawn(echo_on_async_io(stream)).detach();
        }
    }))
}

async fn echo_on_async_io(stream: Async<std::net::TcpStream>) -> io::Result<()> {
    loop {
        stream.readable().await?;
        let mut bytes = vec![0; BLOCK];
        let n = match stream.get_ref().read(&mut bytes) {
            Ok(0) => return Ok(()),
            Ok(n) => n,
            Err(error) if error.kind() == WouldBlock => continue,
            Err(error) => return Err(error),
        };
        let mut unsent = &bytes[..n];
        while !unsent.is_empty() {
            let sent = stream.write_with(|mut stream| stream.write(unsent)).await?;
            unsent = &unsent[sent..];
        }
    }
}

fn on_threads(listener: &TcpListener) -> io::Result<()> {
    loop {
        let (stream, _) = listener.accept()?;
        thread::Builder::new().spawn(move || -> io::Result<()> {
            // Waits without a buffer.
            while stream.peek(&mut [0])? > 0 {
                let mut bytes = vec![0; BLOCK];
                let n = (&stream).read(&mut bytes)?;
                (&stream).write_all(&bytes[..n])?;
            }
            Ok(())
        })?;
    }
}
