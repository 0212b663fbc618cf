//! A chat room: what one says goes to all, encoded once, and who does not read is left out instead of waited for.
//!
//! ```text
//! cargo run --release -p bytewise-net --features tokio,deflate --example chat -- 127.0.0.1:8000
//! cargo run --release -p bytewise-net --features tokio,deflate --example chat -- 127.0.0.1:0 1000
//! ```
//!
//! The second argument fills the room with so many clients of its own, has one of them talk, and says how long it took until
//! all had heard everything.

use bytewise::{
    http1::{self, Server},
    ws::{Config, Connection, Deflate, Event, Kind, Prepared, handshake::Upgrade},
};
use bytewise_net::{
    BoxError, Receiver, Sender, ServerOptions, Shutdown, WsOptions,
    tokio::{HttpConn, Stream, WsConn, connect_ws, serve},
};
use std::{
    collections::HashMap,
    env, io,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Instant,
};
use tokio::{net::TcpListener, task::JoinSet};

/// Bytes that may wait for one who does not read.
const HIGH_WATER: usize = 256 * 1024;

/// Messages of the demonstration.
const SAID: usize = 100;

/// Who is there.
#[derive(Default)]
struct Room {
    members: Mutex<HashMap<u64, Sender<Stream, Connection>>>,
    next: AtomicU64,
}

impl Room {
    fn enter(&self, sender: Sender<Stream, Connection>) -> u64 {
        let name = self.next.fetch_add(1, Ordering::Relaxed);
        self.members().insert(name, sender);
        name
    }

    fn leave(&self, name: u64) {
        self.members().remove(&name);
    }

    /// Says it to all, without waiting for any.
    fn say(&self, message: &Prepared) {
        for member in self.members().values() {
            match member.try_send(|ws, tx| ws.send_prepared(message, tx)) {
                // Who is leaving does not mind.
                Ok(Ok(()) | Err(_)) => {}
                Err(slow) if slow.kind() == io::ErrorKind::WouldBlock => {}
                // The one who receives finds out by itself.
                Err(_) => {}
            }
        }
    }

    fn members(&self) -> MutexGuard<'_, HashMap<u64, Sender<Stream, Connection>>> {
        self.members.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn handle(mut conn: HttpConn, room: Arc<Room>) -> Result<(), BoxError> {
    let config = Config::default().with_max_message(64 * 1024).with_deflate(Deflate::default());
    while let Some(mut exchange) = conn.exchange().await? {
        match Upgrade::parse(exchange.head()) {
            Ok(upgrade) => {
                let accepted = upgrade.accept(&config, None);
                let out = exchange.outbox();
                out.machine.switch(101, accepted.fields(), out.tx)?;
                let (receiver, sender) = conn.switch(accepted.into_connection()).into_halves(HIGH_WATER);
                let name = room.enter(sender);
                let outcome = talk(receiver, &room).await;
                room.leave(name);
                return outcome;
            }
            Err(refusal) => exchange.respond(refusal.status(), refusal.fields(), refusal.to_string())?,
        }
    }
    Ok(conn.close().await?)
}

async fn talk(mut receiver: Receiver<Stream, Connection>, room: &Room) -> Result<(), BoxError> {
    while let Some(event) = receiver.next().await? {
        match event {
            Event::Text(text) => room.say(&Prepared::new(Kind::Text, text)?),
            Event::Binary(data) => room.say(&Prepared::new(Kind::Binary, data)?),
            _ => {}
        }
    }
    Ok(receiver.close().await?)
}

/// Fills the room, and has one talk until all have heard it.
async fn demonstrate(address: String, clients: usize) -> Result<(), BoxError> {
    let begin = Instant::now();
    let mut listeners = JoinSet::new();
    for _ in 0..clients {
        let mut ws = connect_ws(&address, &WsOptions::default()).await?;
        listeners.spawn(async move {
            for _ in 0..SAID {
                while !matches!(ws.next().await?, Some((Event::Text(_), _))) {}
            }
            Ok::<_, BoxError>(ws)
        });
    }
    println!("{clients} connected in {:?}", begin.elapsed());

    let begin = Instant::now();
    let mut speaker = connect_ws(&address, &WsOptions::default()).await?;
    for number in 0..SAID {
        let mut out = speaker.outbox();
        out.machine.send_text(format!("message {number}"), out.tx)?;
        out.flush().await?;
    }
    let mut heard = vec![speaker];
    while let Some(listener) = listeners.join_next().await {
        heard.push(listener??);
    }
    println!("{SAID} messages to {clients} each in {:?}", begin.elapsed());
    let mut leaving: JoinSet<_> = heard.into_iter().map(WsConn::close).collect();
    while let Some(left) = leaving.join_next().await {
        left??;
    }
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let listener = TcpListener::bind(arguments.first().map_or("127.0.0.1:8000", String::as_str)).await?;
    let address = format!("ws://{}", listener.local_addr()?);
    println!("listening on {address}");

    let room = Arc::<Room>::default();
    let options = ServerOptions::default().with_error_log(|error| eprintln!("{error}"));
    let http = || Server::new(&http1::Config::default());
    let shutdown = Shutdown::new();
    let server = serve(listener, options, http, move |conn| handle(conn, Arc::clone(&room)), shutdown.wait());
    match arguments.get(1) {
        None => server.await?,
        Some(clients) => {
            let server = async { server.await.map_err(BoxError::from) };
            let demonstration = async {
                demonstrate(address, clients.parse()?).await?;
                shutdown.begin();
                Ok(())
            };
            tokio::try_join!(server, demonstration)?;
        }
    }
    Ok(())
}
