//! Two peers that both send before they read.

use crate::runtime::{Runtime, Serving, Ws};
use bytewise::ws::{Config, Event};
use bytewise_net::{ServerOptions, WsOptions};

on_every_runtime!(a_client_that_asks_a_lot, both_of_ours);

const SIZE: usize = 1 << 20;

/// How many of them; on threads, whose writes and reads take turns, it takes longer.
const fn count<R: Runtime>() -> usize {
    if R::BLOCKS { 8 } else { 32 }
}

/// It queues megabytes, and then reads on while they are written; the server answers each at once.
async fn a_client_that_asks_a_lot<R: Runtime>() {
    let server = Serving::echo::<R>(ServerOptions::default(), Config::default());
    let mut ws = R::connect_ws(&server.url(), &WsOptions::default()).await.unwrap();
    queue_and_read(&mut ws).await;
    ws.close().await.unwrap();
    server.stop().await;
}

async fn queue_and_read<R: Runtime>(ws: &mut Ws<R>) {
    for i in 0..count::<R>() {
        ws.with(|ws, tx| ws.send_binary(vec![i as u8; SIZE], tx)).unwrap();
    }
    for i in 0..count::<R>() {
        match ws.next().await {
            Ok(Some((Event::Binary(data), _))) => {
                assert!(data.len() == SIZE && data[0] == i as u8 && data[SIZE - 1] == i as u8);
            }
            _ => panic!("message {i} does not come"),
        }
    }
}

/// A server that is set not to wait for its answers' room, and a client.
async fn both_of_ours<R: Runtime>() {
    let server = Serving::websocket::<R, _>(ServerOptions::default(), Config::default(), async |ws: Ws<R>| {
        let mut ws = ws.with_high_water(usize::MAX);
        queue_and_read(&mut ws).await;
        while ws.next().await?.is_some() {}
        Ok(ws.close().await?)
    });
    let mut ws = R::connect_ws(&server.url(), &WsOptions::default()).await.unwrap();
    queue_and_read(&mut ws).await;
    ws.outbox().flush().await.unwrap();
    ws.close().await.unwrap();
    server.stop().await;
}
