//! tokio-util's `LengthDelimitedCodec` on tokio, as its documentation shows it and as one writes it for throughput.

use super::on_tokio::{self, Flush, OnTokio};
use crate::options::Protocol;
use std::io;
use tokio::net::TcpStream;
use tokio_util::codec::{Framed, LengthDelimitedCodec};

/// Flushes after each message.
pub(super) const TOKIO_UTIL: OnTokio = OnTokio::new("tokio-util", &[Protocol::Framed], |job| {
    on_tokio::serve(job, |stream| echo(Framed::new(stream, codec()), Flush::EachMessage))
});

/// Flushes once per batch.
pub(super) const TOKIO_UTIL_BATCHED: OnTokio = OnTokio::new("tokio-util-batched", &[Protocol::Framed], |job| {
    on_tokio::serve(job, |stream| {
        let mut framed = Framed::with_capacity(stream, codec(), BATCH);
        framed.set_backpressure_boundary(BATCH);
        echo(framed, Flush::EachBatch)
    })
});

/// Buffers of the batched variant, in bytes; otherwise it would flush whenever 8 KiB are written.
const BATCH: usize = 64 * 1024;

fn codec() -> LengthDelimitedCodec {
    LengthDelimitedCodec::builder().max_frame_length(16 << 20).new_codec()
}

async fn echo(framed: Framed<TcpStream, LengthDelimitedCodec>, flush: Flush) -> io::Result<()> {
    on_tokio::echo(framed, flush, |message| Some(message.freeze())).await
}
