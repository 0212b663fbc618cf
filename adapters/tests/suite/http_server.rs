//! An HTTP server on any runtime, whose handler is [`http_handlers`]' site.

use crate::{
    http_handlers::{self, Site},
    server::{Runtime, Server},
};
use bytewise::http1::{self, Config};
use bytewise_net::{self as net, BoxError, ServerOptions};
use std::net::{TcpListener, TcpStream};

/// With all defaults.
pub(crate) fn start(runtime: Runtime) -> Server {
    with(runtime, ServerOptions::default(), Config::default())
}

pub(crate) fn with(runtime: Runtime, options: ServerOptions, config: Config) -> Server {
    serve(runtime, listen(), options, config, Site::default())
}

pub(crate) fn listen() -> TcpListener {
    TcpListener::bind("127.0.0.1:0").unwrap()
}

pub(crate) fn serve(
    runtime: Runtime,
    listener: TcpListener,
    options: ServerOptions,
    config: Config,
    site: Site,
) -> Server {
    Server::launch(listener, options, move |listener, options, shutdown| {
        let http = move || http1::Server::new(&config);
        match runtime {
            #[cfg(feature = "tokio")]
            Runtime::Tokio => {
                let handler = move |conn| http_handlers::tasks::handle(conn, site.clone());
                net::tokio::run(net::Topology::Single, listener, options, http, handler, shutdown.wait())
            }
            #[cfg(feature = "smol")]
            Runtime::Smol => {
                let handler = move |conn| http_handlers::tasks::handle(conn, site.clone());
                net::smol::run(net::Topology::Single, listener, options, http, handler, shutdown.wait())
            }
            #[cfg(feature = "async-std")]
            Runtime::AsyncStd => {
                let handler = move |conn| http_handlers::tasks::handle(conn, site.clone());
                net::async_std::run(net::Topology::Single, listener, options, http, handler, shutdown.wait())
            }
            #[cfg(feature = "blocking")]
            Runtime::Blocking => {
                let handler = move |conn| http_handlers::threads::handle(conn, site.clone());
                net::blocking::serve(listener, options, http, handler, shutdown)
            }
        }
    })
}

/// Serves one connection on this thread, until it ends.
pub(crate) fn serve_here(runtime: Runtime, socket: TcpStream, config: &Config, site: Site) -> Result<(), BoxError> {
    let http = http1::Server::new(config);
    socket.set_nodelay(true)?;
    match runtime {
        #[cfg(feature = "tokio")]
        Runtime::Tokio => {
            socket.set_nonblocking(true)?;
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(async {
                let io = net::tokio::Stream::new(tokio::net::TcpStream::from_std(socket)?);
                http_handlers::tasks::handle(net::Driver::new(io, http), site).await
            })
        }
        #[cfg(feature = "smol")]
        Runtime::Smol => smol::block_on(async {
            let io = net::smol::Stream::new(net::Socket::new(smol::Async::new(socket)?));
            http_handlers::tasks::handle(net::Driver::new(io, http), site).await
        }),
        #[cfg(feature = "async-std")]
        Runtime::AsyncStd => async_std::task::block_on(async {
            let io = net::async_std::Stream::new(async_std::net::TcpStream::from(socket));
            http_handlers::tasks::handle(net::Driver::new(io, http), site).await
        }),
        #[cfg(feature = "blocking")]
        Runtime::Blocking => {
            let io = net::blocking::Stream::new(socket);
            http_handlers::threads::handle(net::blocking::Driver::new(io, http), site)
        }
    }
}
