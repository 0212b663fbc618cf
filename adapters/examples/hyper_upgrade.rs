//! hyper speaks HTTP, and hands a connection over when a request asks for a WebSocket: the same port, another's server.
//!
//! ```text
//! cargo run --release -p bytewise-net --all-features --example hyper_upgrade -- 127.0.0.1:8000
//! curl -d hello http://127.0.0.1:8000/echo
//! ```
//!
//! The handshake is hyper's heads and two functions of ours. What hyper has read behind the head is in its `Upgraded`.

use bytewise::ws::{
    Config, Connection, Deflate, Event,
    handshake::{Negotiated, Refusal, accept_key},
};
use bytewise_net::{BoxError, Driver, tokio::Stream};
use http_body_util::{Either, Full};
use hyper::{
    HeaderMap, Method, Request, Response, StatusCode, Version,
    body::{Bytes, Incoming},
    header::{self, HeaderValue},
    server::conn::http1,
    service::service_fn,
    upgrade::{OnUpgrade, on},
};
use hyper_util::rt::TokioIo;
use std::env;
use tokio::net::{TcpListener, TcpStream};

type Body = Either<Incoming, Full<Bytes>>;

fn config() -> Config {
    Config::default().with_max_message(64 << 20).with_deflate(Deflate::default())
}

async fn answer(request: Request<Incoming>) -> Result<Response<Body>, BoxError> {
    match (request.method(), request.uri().path()) {
        (_, "/ws") => upgrade(request),
        (&Method::GET, "/") => Ok(Response::new(text("Hello, this is hyper.\n"))),
        (&Method::POST, "/echo") => Ok(Response::new(Either::Left(request.into_body()))),
        _ => Ok(Response::builder().status(StatusCode::NOT_FOUND).body(text("There is nothing here.\n"))?),
    }
}

fn text(words: impl Into<Bytes>) -> Body {
    Either::Right(Full::new(words.into()))
}

fn upgrade(mut request: Request<Incoming>) -> Result<Response<Body>, BoxError> {
    let key = match key_of(&request) {
        Ok(key) => key,
        Err(refusal) => {
            let response = Response::builder().status(refusal.status());
            let response = refusal.fields().fold(response, |response, (name, value)| response.header(name, value));
            return Ok(response.body(text(format!("{refusal}\n")))?);
        }
    };
    let offers: Vec<_> =
        request.headers().get_all(header::SEC_WEBSOCKET_EXTENSIONS).iter().map(HeaderValue::as_bytes).collect();
    let negotiated = Negotiated::choose(&offers.join(&b","[..]), &config());
    let mut response = Response::builder()
        .status(StatusCode::SWITCHING_PROTOCOLS)
        .header(header::CONNECTION, "upgrade")
        .header(header::UPGRADE, "websocket")
        .header(header::SEC_WEBSOCKET_ACCEPT, &accept_key(key.as_bytes())[..]);
    if let Some(extensions) = negotiated.extensions() {
        response = response.header(header::SEC_WEBSOCKET_EXTENSIONS, extensions);
    }
    let upgraded = on(&mut request);
    tokio::spawn(async move {
        if let Err(error) = echo(upgraded, negotiated).await {
            eprintln!("{error}");
        }
    });
    Ok(response.body(text(""))?)
}

/// What `Upgrade::parse` checks of heads of ours.
fn key_of(request: &Request<Incoming>) -> Result<String, Refusal> {
    let fields = request.headers();
    if request.version() < Version::HTTP_11
        || !lists(fields, header::UPGRADE, "websocket")
        || !lists(fields, header::CONNECTION, "upgrade")
    {
        return Err(Refusal::NotWebSocket);
    }
    if request.method() != Method::GET {
        return Err(Refusal::Method);
    }
    if fields.get(header::SEC_WEBSOCKET_VERSION).is_none_or(|version| version != "13") {
        return Err(Refusal::Version);
    }
    let key = fields.get(header::SEC_WEBSOCKET_KEY).and_then(|key| key.to_str().ok());
    // Sixteen bytes in base64.
    key.filter(|key| key.len() == 24 && key.ends_with("==")).map(str::to_owned).ok_or(Refusal::Key)
}

fn lists(fields: &HeaderMap, name: header::HeaderName, item: &str) -> bool {
    let values = fields.get_all(name).into_iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|listed| listed.trim().eq_ignore_ascii_case(item))
}

async fn echo(upgraded: OnUpgrade, negotiated: Negotiated) -> Result<(), BoxError> {
    let stream = Stream::new(TokioIo::new(upgraded.await?));
    let mut ws = Driver::new(stream, Connection::server(&config(), negotiated));
    while let Some((event, mut out)) = ws.next().await? {
        match event {
            Event::Text(text) => out.machine.send_text(text, out.tx)?,
            Event::Binary(data) => out.machine.send_binary(data, out.tx)?,
            _ => {}
        }
        out.ready(1 << 20).await?;
    }
    Ok(ws.close().await?)
}

async fn serve(stream: TcpStream) {
    let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service_fn(answer));
    if let Err(error) = connection.with_upgrades().await {
        eprintln!("{error}");
    }
}

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    let address = env::args().nth(1).unwrap_or("127.0.0.1:8000".into());
    let listener = TcpListener::bind(address).await?;
    println!("listening on http://{}", listener.local_addr()?);
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        tokio::spawn(serve(stream));
    }
}
