//! An axum router, as it is, on this workspace's HTTP server.
//!
//! ```text
//! cargo run -p bytewise-net --features tokio,tower --example axum -- 127.0.0.1:8000
//!
//! curl http://127.0.0.1:8000/hello/you
//! curl -d '{"n": 4}' -H 'content-type: application/json' http://127.0.0.1:8000/double
//! curl -T big.iso http://127.0.0.1:8000/echo | cmp - big.iso
//! ```

use axum::{
    Json, Router,
    body::Body,
    extract::{DefaultBodyLimit, Path},
    http::StatusCode,
    routing::{get, post, put},
};
use bytewise::http1::{Config, Server};
use bytewise_net::{ServerOptions, tokio::serve, tower::serve_connection};
use std::env;
use tokio::net::TcpListener;

#[derive(serde::Serialize, serde::Deserialize)]
struct Number {
    n: i64,
}

fn app() -> Router {
    Router::new()
        .route("/hello/{name}", get(async |Path(name): Path<String>| format!("Hello, {name}.\n")))
        .route("/double", post(async |Json(Number { n })| Json(Number { n: 2 * n })))
        // The body of the request is that of the response: streamed, both ways at once.
        .route("/echo", put(async |body: Body| body))
        .route("/teapot", get(async || (StatusCode::IM_A_TEAPOT, [("x-spout", "short")])))
        .layer(DefaultBodyLimit::disable())
}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let address = env::args().nth(1).unwrap_or_else(|| "127.0.0.1:8000".into());
    let listener = TcpListener::bind(address).await?;
    println!("listening on http://{}", listener.local_addr()?);

    let app = app();
    let options = ServerOptions::default().with_error_log(|error| eprintln!("{error}"));
    // axum has limits of its own.
    let config = Config::default().with_max_body(u64::MAX);
    let http = move || Server::new(&config);
    serve(listener, options, http, move |conn| serve_connection(conn, app.clone()), async {
        let _ = tokio::signal::ctrl_c().await;
    })
    .await
}
