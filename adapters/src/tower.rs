//! Serves a [`tower_service::Service`] of requests and responses of the crate `http`: an axum router, say, as it is.
//!
//! ```
//! # #[cfg(feature = "tokio")]
//! # mod example {
//! use axum::{Router, routing::get};
//! use bytewise::http1::{Config, Server};
//! use bytewise_net::{ServerOptions, tokio::serve, tower::serve_connection};
//!
//! async fn run(listener: tokio::net::TcpListener) -> std::io::Result<()> {
//!     let app: Router = Router::new().route("/", get(async || "Hello"));
//!     let config = Config::default();
//!     let http = move || Server::new(&config);
//!     serve(listener, ServerOptions::default(), http, move |conn| serve_connection(conn, app.clone()), async {
//!         let _ = tokio::signal::ctrl_c().await;
//!     })
//!     .await
//! }
//! # }
//! ```
//!
//! Upgrades and CONNECT are not passed on: what answers them with `101` or a tunnel needs the connection itself.

mod body;

pub use body::RequestBody;

use crate::{BoxError, Driver, Exchange, Transport};
use body::Feed;
use bytes::Buf;
use bytewise::{
    Machine,
    http1::{BodyLength, Date, Misuse, NO_FIELDS, Server, fields_of},
};
use futures_lite::future::poll_once;
use http::{HeaderMap, Request, Response, header, response};
use http_body::{Body, Frame};
use std::{
    future::{Future, poll_fn},
    pin::{Pin, pin},
    task::{Context, Poll, ready},
    time::SystemTime,
};
use tower_service::Service;

/// What is queued of a streamed response before its body is asked for more.
const HIGH_WATER: usize = 64 * 1024;

/// Serves one connection to its end: each request is a call of the service, one after the other.
///
/// The body of a request is read as the service asks for it; what it leaves is discarded, or closes the connection if it
/// is long. A response that says `connection: close` is the last one. `date` is added if it is missing (RFC 9110, section
/// 6.6.1). Bodies of responses to HEAD, and of those that have none (204, 205, 304), are not asked for. If the body of a
/// response fails, the connection closes without its end.
///
/// The connection's limits hold, that of bodies too: to let a service limit them itself, set
/// [`Config::with_max_body`](bytewise::http1::Config::with_max_body) high.
///
/// # Errors
///
/// The connection failed, or the service did (it is answered `500` then), or the body of a response, or it has a status that
/// cannot be sent.
pub async fn serve_connection<Io, S, B>(mut conn: Driver<Io, Server>, mut service: S) -> Result<(), BoxError>
where
    Io: Transport,
    S: Service<Request<RequestBody>, Response = Response<B>>,
    S::Error: Into<BoxError>,
    B: Body,
    B::Error: Into<BoxError>,
{
    let mut date = Date::default();
    while let Some(exchange) = conn.exchange().await? {
        if let Err(error) = answer(exchange, &mut service, &mut date).await {
            refuse(&mut conn, &mut date);
            // What there is to say to the client is said; the error is for the log.
            let _ = conn.close().await;
            return Err(error);
        }
    }
    Ok(conn.close().await?)
}

/// Says that the last request has no answer, unless one has begun.
fn refuse<Io: Transport>(conn: &mut Driver<Io, Server>, date: &mut Date) {
    let out = conn.outbox();
    if !out.machine.is_response_begun() {
        out.machine.shut_down(out.tx);
        // The misuse would be that none is due: the connection failed.
        let _ = out.machine.respond(500, [today(date)], "", out.tx);
    }
}

async fn answer<Io, S, B>(
    mut exchange: Exchange<'_, Io, Server>,
    service: &mut S,
    date: &mut Date,
) -> Result<(), BoxError>
where
    Io: Transport,
    S: Service<Request<RequestBody>, Response = Response<B>>,
    S::Error: Into<BoxError>,
    B: Body,
    B::Error: Into<BoxError>,
{
    let Ok(request) = Request::<()>::try_from(exchange.head()) else {
        return Ok(exchange.respond(400, [today(date)], "")?);
    };
    let is_head = request.method() == http::Method::HEAD;
    let (body, mut feed) = body::new(exchange.head().body_length());
    let called = async {
        poll_fn(|cx| service.poll_ready(cx)).await?;
        service.call(request.map(|()| body)).await
    };
    let response = beside(called, &mut feed, &mut exchange).await?.map_err(Into::into)?;
    let (head, body) = response.into_parts();
    let mut body = pin!(body);
    if says_close(&head.headers) {
        let out = exchange.outbox();
        out.machine.shut_down(out.tx);
    }
    let (announced, status) = (announced(&head.headers), head.status.as_u16());
    let length = match body.size_hint().exact() {
        _ if matches!(status, 204 | 205) => BodyLength::None,
        // What HEAD or a 304 would have had.
        Some(0) if is_head || status == 304 => announced.map_or(BodyLength::None, BodyLength::Length),
        Some(length) => BodyLength::Length(length),
        None => announced.map_or(BodyLength::Chunked, BodyLength::Length),
    };
    let is_unsent = is_head || matches!(status, 204 | 205 | 304);
    if is_unsent || length == BodyLength::Length(0) || body.is_end_stream() {
        send_head(&mut exchange, &head, length, date)?;
        let out = exchange.outbox();
        return finish(out.machine.send_end(NO_FIELDS, out.tx), exchange);
    }
    let first = poll_once(next_frame(body.as_mut(), &mut feed, &mut exchange)).await.transpose()?;
    let first = match first {
        Some(Some(frame)) => match frame.map_err(Into::into)?.into_data() {
            Ok(data) if length == BodyLength::Length(data.remaining() as u64) => {
                return respond(exchange, &head, data, date);
            }
            data => Some(Some(Ok(data.map_or_else(|other| other, Frame::data)))),
        },
        other => other,
    };
    // While the body takes its time, the head is sent; unless the request failed, which is told next.
    if first.is_some() || exchange.outbox().machine.is_responding() {
        send_head(&mut exchange, &head, length, date)?;
    }
    let mut frame = match first {
        Some(frame) => frame,
        None => next_frame(body.as_mut(), &mut feed, &mut exchange).await?,
    };
    loop {
        let Some(next) = frame else {
            let out = exchange.outbox();
            return finish(out.machine.send_end(NO_FIELDS, out.tx), exchange);
        };
        let next = match next {
            Ok(next) => next,
            Err(error) => {
                exchange.outbox().machine.abort();
                return Err(error.into());
            }
        };
        match next.into_data() {
            Ok(mut data) => {
                let mut out = exchange.outbox();
                let data = data.copy_to_bytes(data.remaining());
                if let Err(misuse) = out.machine.send_data(data, out.tx) {
                    return finish(Err(misuse), exchange);
                }
                out.ready(HIGH_WATER).await?;
            }
            Err(next) => {
                let trailers = next.into_trailers().unwrap_or_default();
                let out = exchange.outbox();
                let ended = match out.machine.send_end(fields_of(&trailers), out.tx) {
                    // Whoever gets no chunks gets no trailers, and fields that cannot be trailers are none.
                    Err(Misuse::BodyForbidden | Misuse::Field) => out.machine.send_end(NO_FIELDS, out.tx),
                    ended => ended,
                };
                return finish(ended, exchange);
            }
        }
        frame = next_frame(body.as_mut(), &mut feed, &mut exchange).await?;
    }
}

/// The end of a streamed response. One that is not as long as announced closes the connection.
fn finish<Io: Transport>(ended: Result<(), Misuse>, mut exchange: Exchange<'_, Io, Server>) -> Result<(), BoxError> {
    if ended.is_err() {
        exchange.outbox().machine.abort();
    }
    Ok(ended?)
}

fn respond<Io: Transport>(
    exchange: Exchange<'_, Io, Server>,
    head: &response::Parts,
    mut data: impl Buf,
    date: &mut Date,
) -> Result<(), BoxError> {
    let date = missing_date(&head.headers, date);
    let data = data.copy_to_bytes(data.remaining());
    Ok(exchange.respond(head.status.as_u16(), fields_of(&head.headers).chain(date), data)?)
}

fn send_head<Io: Transport>(
    exchange: &mut Exchange<'_, Io, Server>,
    head: &response::Parts,
    length: BodyLength,
    date: &mut Date,
) -> Result<(), Misuse> {
    let date = missing_date(&head.headers, date);
    let out = exchange.outbox();
    out.machine.send_response(head.status.as_u16(), fields_of(&head.headers).chain(date), length, out.tx)
}

fn missing_date<'d>(headers: &HeaderMap, date: &'d mut Date) -> Option<(&'static str, &'d [u8])> {
    (!headers.contains_key(header::DATE)).then(|| today(date))
}

fn today(date: &mut Date) -> (&'static str, &[u8]) {
    ("date", date.at(SystemTime::now()).as_bytes())
}

fn announced(headers: &HeaderMap) -> Option<u64> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

fn says_close(headers: &HeaderMap) -> bool {
    let values = headers.get_all(header::CONNECTION).into_iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|option| option.trim().eq_ignore_ascii_case("close"))
}

async fn next_frame<Io: Transport, B: Body>(
    mut body: Pin<&mut B>,
    feed: &mut Feed,
    exchange: &mut Exchange<'_, Io, Server>,
) -> Result<Option<Result<Frame<B::Data>, B::Error>>, BoxError> {
    beside(poll_fn(|cx| body.as_mut().poll_frame(cx)), feed, exchange).await
}

/// Waits for something of the service's, and meanwhile feeds the body of the request to it, and writes what is queued.
async fn beside<Io: Transport, F: Future>(
    work: F,
    feed: &mut Feed,
    exchange: &mut Exchange<'_, Io, Server>,
) -> Result<F::Output, BoxError> {
    let mut work = pin!(work);
    poll_fn(|cx| {
        loop {
            if let Poll::Ready(output) = work.as_mut().poll(cx) {
                return Poll::Ready(Ok(output));
            }
            if feed.is_wanted(cx) {
                ready!(poll_feed(feed, exchange, cx))?;
            } else {
                let mut out = exchange.outbox();
                let flushed = pin!(out.flush()).poll(cx);
                if let Poll::Ready(Err(error)) = flushed {
                    return Poll::Ready(Err(error.into()));
                }
                return Poll::Pending;
            }
        }
    })
    .await
}

/// Hands the next piece to the service.
fn poll_feed<Io: Transport>(
    feed: &mut Feed,
    exchange: &mut Exchange<'_, Io, Server>,
    cx: &mut Context<'_>,
) -> Poll<Result<(), BoxError>> {
    let ended = match ready!(pin!(exchange.data()).poll(cx)) {
        Ok(Some((data, _))) => {
            feed.data(data);
            false
        }
        Ok(None) => true,
        Err(error) => {
            feed.fail();
            return Poll::Ready(Err(error.into()));
        }
    };
    if ended {
        feed.end(HeaderMap::try_from(exchange.trailers()).unwrap_or_default());
    }
    Poll::Ready(Ok(()))
}
