//! Two halves of a connection: who sends, who waits, who writes, and what each hears when the other is gone.

use crate::{
    peer::{BINARY, CLOSE, Peer, TEXT, close_payload, frame, noise},
    runtime::{Conn, Receiver, Runtime, Sender, Serving, Task, Ws},
};
use bytewise::{
    Phase, Time, TimedOut, Timeouts,
    framing::{Frame, Framed, Lines},
    ws::{Config, Connection, Event, MaskKeys, Misuse, handshake::Negotiated},
};
use bytewise_net::{Error, ServerOptions};
use futures_lite::future::{poll_once, yield_now};
use std::{
    io::{ErrorKind, Read},
    thread,
};

on_every_runtime!(
    echo,
    many_senders,
    goes_out_while_the_receiver_waits,
    a_full_queue,
    a_full_queue_with_an_event_in_hand,
    senders_outlive_the_receiver,
    a_sender_waits_and_the_receiver_is_gone,
    whole_again,
    another_machine,
    the_server_ends,
    nothing_is_read,
    closing_has_its_deadline,
    both_ends_pipeline,
);

on_every_task!(dropped_futures);

type Halves<R> = (Receiver<R, Connection>, Sender<R, Connection>);

const HIGH_WATER: usize = 64 * 1024;
const PIECE: usize = 16 * 1024;

fn server() -> Connection {
    Connection::server(&Config::default(), Negotiated::default())
}

fn halves<R: Runtime>(timeouts: Timeouts) -> (Halves<R>, Peer) {
    let (socket, peer) = Peer::pair(true);
    (R::over(socket, server()).with_timeouts(timeouts).into_halves(HIGH_WATER), peer)
}

async fn echo<R: Runtime>() {
    let ((mut receiver, sender), mut peer) = halves::<R>(Timeouts::none());
    let peer = thread::spawn(move || {
        for text in ["one", "two", "three"] {
            peer.send(TEXT, text.as_bytes());
            peer.expect(TEXT, text.as_bytes());
        }
        peer.send(CLOSE, &close_payload(1000, ""));
        peer.expect_close(1000);
        peer.expect_end();
    });
    while let Some(event) = receiver.next().await.unwrap() {
        if let Event::Text(text) = event {
            sender.text(text).await.unwrap().unwrap();
        }
    }
    assert_eq!(sender.text("too late").await.unwrap(), Err(Misuse::Closed));
    receiver.close().await.unwrap();
    peer.join().unwrap();
}

/// Each message whole, and those of one sender in order.
async fn many_senders<R: Runtime>() {
    const SENDERS: usize = 16;
    const EACH: usize = 100;
    let ((mut receiver, sender), mut peer) = halves::<R>(Timeouts::none());
    let peer = thread::spawn(move || {
        let mut heard = [0; SENDERS];
        for _ in 0..SENDERS * EACH {
            let (kind, message) = peer.frame();
            let (from, number) = (usize::from(message[0]), usize::from(message[1]));
            assert_eq!((kind, number), (BINARY, heard[from]), "from {from}");
            assert!(message[2..] == noise(number * 37, from as u64));
            heard[from] += 1;
        }
        peer.send(CLOSE, &close_payload(1000, ""));
        peer.expect_close(1000);
    });
    let senders: Vec<Task<()>> = (0..SENDERS)
        .map(|from| {
            let sender = sender.clone();
            R::spawn(async move {
                for number in 0..EACH {
                    let message = [vec![from as u8, number as u8], noise(number * 37, from as u64)].concat();
                    sender.binary(&message).await.unwrap().unwrap();
                }
            })
        })
        .collect();
    while receiver.next().await.unwrap().is_some() {}
    for sender in senders {
        sender.join().await;
    }
    peer.join().unwrap();
}

/// The peer says nothing that could wake it.
async fn goes_out_while_the_receiver_waits<R: Runtime>() {
    let ((mut receiver, sender), mut peer) = halves::<R>(Timeouts::none());
    let receiving = R::spawn(async move {
        assert!(matches!(receiver.next().await, Ok(Some(Event::Close(_)))));
        assert!(matches!(receiver.next().await, Ok(None)));
    });
    for n in 0..50 {
        let text = format!("message {n}");
        sender.text(&text).await.unwrap().unwrap();
        peer.expect(TEXT, text.as_bytes());
    }
    peer.send(CLOSE, &close_payload(1000, ""));
    peer.expect_close(1000);
    peer.expect_end();
    receiving.join().await;
}

/// Sends until there is no room; how many went.
fn fill<R: Runtime>(sender: &Sender<R, Connection>) -> usize {
    for sent in 0.. {
        let mut called = false;
        let outcome = sender.try_send(|ws, tx| {
            called = true;
            assert!(tx.queued() < HIGH_WATER, "{} bytes were queued", tx.queued());
            ws.send_binary(noise(PIECE, sent), tx)
        });
        match outcome {
            Ok(sent) => sent.unwrap(),
            Err(error) => {
                assert!(matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::BrokenPipe) && !called, "{error}");
                return sent as usize;
            }
        }
    }
    unreachable!()
}

/// Nobody waits for input: who waits for room writes.
async fn a_full_queue<R: Runtime>() {
    let ((receiver, sender), mut peer) = halves::<R>(Timeouts::none());
    let sent = fill(&sender);
    let last = noise(PIECE, sent as u64);
    let waiting = R::spawn({
        let (sender, last) = (sender.clone(), last.clone());
        async move { sender.binary(&last).await }
    });
    for seed in 0..sent {
        peer.expect(BINARY, &noise(PIECE, seed as u64));
    }
    waiting.join().await.unwrap().unwrap();
    sender.flush().await.unwrap();
    peer.expect(BINARY, &last);
    drop(receiver);
    peer.expect_end();
}

async fn a_full_queue_with_an_event_in_hand<R: Runtime>() {
    let ((mut receiver, sender), mut peer) = halves::<R>(Timeouts::none());
    peer.send(TEXT, b"go");
    let Ok(Some(Event::Text(go))) = receiver.next().await else { panic!() };
    let sent = fill(&sender);
    let (told, tell) = async_channel::bounded::<()>(1);
    let peer = thread::spawn(move || {
        tell.recv_blocking().unwrap();
        for seed in 0..sent + 20 {
            peer.expect(BINARY, &noise(PIECE, seed as u64));
        }
        peer.expect(TEXT, b"go");
    });
    told.send(()).await.unwrap();
    for seed in sent..sent + 20 {
        sender.binary(&noise(PIECE, seed as u64)).await.unwrap().unwrap();
    }
    // It is still lent.
    sender.text(go).await.unwrap().unwrap();
    sender.flush().await.unwrap();
    peer.join().unwrap();
}

async fn senders_outlive_the_receiver<R: Runtime>() {
    for ending in 0..3 {
        let ((receiver, sender), mut peer) = halves::<R>(Timeouts::none());
        let more = receiver.sender();
        assert!(!sender.is_closed() && !more.is_closed());
        match ending {
            0 => drop(receiver),
            1 => {
                peer.finish();
                receiver.close().await.unwrap();
            }
            _ => drop(receiver.into_driver()),
        }
        for sender in [&sender, &more, &sender.clone()] {
            assert!(sender.is_closed());
            assert_eq!(sender.text("a").await.unwrap_err().kind(), ErrorKind::BrokenPipe);
            assert_eq!(sender.try_send(|_, _| ()).unwrap_err().kind(), ErrorKind::BrokenPipe);
            assert_eq!(sender.flush().await.unwrap_err().kind(), ErrorKind::BrokenPipe);
        }
        let left = peer.drain();
        let close = frame(CLOSE, &close_payload(1001, ""), false);
        assert_eq!(left, if ending == 1 { close } else { vec![] }, "the socket is closed though there are senders");
    }
}

async fn a_sender_waits_and_the_receiver_is_gone<R: Runtime>() {
    let ((receiver, sender), peer) = halves::<R>(Timeouts::none());
    fill(&sender);
    // The system may find room for some more.
    let (sending, flushing) = (sender.clone(), sender.clone());
    let sending = R::spawn(async move {
        loop {
            if let Err(error) = sending.binary(&[0; PIECE]).await {
                return error.kind();
            }
        }
    });
    let flushing = R::spawn(async move {
        loop {
            if let Err(error) = flushing.flush().await {
                return error.kind();
            }
            fill(&flushing);
        }
    });
    drop(receiver);
    assert_eq!((sending.join().await, flushing.join().await), (ErrorKind::BrokenPipe, ErrorKind::BrokenPipe));
    drop(peer);
}

/// What is unread and what is queued stays.
async fn whole_again<R: Runtime>() {
    let ((mut receiver, sender), mut peer) = halves::<R>(Timeouts::none());
    peer.write(&[frame(TEXT, b"one", true), frame(TEXT, b"two", true), frame(TEXT, b"three", true)].concat());
    let Ok(Some(Event::Text("one"))) = receiver.next().await else { panic!() };
    sender.text("from the sender").await.unwrap().unwrap();
    let mut ws: Ws<R> = receiver.into_driver();
    for text in ["two", "three"] {
        let (event, mut out) = ws.next().await.unwrap().unwrap();
        assert_eq!(event, Event::Text(text));
        out.with(|ws, tx| ws.send_text(text, tx)).unwrap();
    }
    ws.outbox().flush().await.unwrap();
    for text in ["from the sender", "two", "three"] {
        peer.expect(TEXT, text.as_bytes());
    }
    // And in halves once more.
    let (mut receiver, sender) = ws.into_halves(1);
    peer.send(TEXT, b"four");
    let Ok(Some(Event::Text(four))) = receiver.next().await else { panic!() };
    sender.text(four).await.unwrap().unwrap();
    sender.flush().await.unwrap();
    peer.expect(TEXT, b"four");
}

async fn another_machine<R: Runtime>() {
    let (socket, mut peer) = Peer::pair(true);
    let lines: Conn<R, _> = R::over(socket, Framed::new(Lines::new(100)));
    let (mut receiver, sender) = lines.into_halves(HIGH_WATER);
    peer.write(b"one\ntwo\n");
    peer.finish();
    while let Some(event) = receiver.next().await.unwrap() {
        if let Frame::Data(line) = event {
            sender.send(|lines, tx| lines.send(line, tx)).await.unwrap().unwrap();
        }
    }
    receiver.close().await.unwrap();
    assert_eq!(peer.drain(), b"one\ntwo\n");
}

async fn the_server_ends<R: Runtime>() {
    let handler = async |ws: Ws<R>| {
        let (mut receiver, sender) = ws.into_halves(HIGH_WATER);
        sender.text("ready").await??;
        while receiver.next().await?.is_some() {}
        Ok(receiver.close().await?)
    };
    let server = Serving::websocket::<R, _>(ServerOptions::default(), Config::default(), handler);
    let mut peer = Peer::connect(server.port);
    peer.expect(TEXT, b"ready");
    server.shutdown.begin();
    peer.expect_close(1001);
    peer.send(CLOSE, &close_payload(1001, ""));
    peer.expect_end();
    server.ended().await.unwrap();
}

/// Whoever waits for room is told, and so is the receiver.
async fn nothing_is_read<R: Runtime>() {
    let ((mut receiver, sender), peer) = halves::<R>(Timeouts::none().with_write_stall(Some(Time::from_millis(200))));
    let sending = R::spawn(async move {
        loop {
            if let Err(error) = sender.binary(&[0; PIECE]).await {
                return error.kind();
            }
        }
    });
    let outcome = receiver.next().await.map(|event| event.is_some());
    assert!(matches!(outcome, Err(Error::TimedOut(TimedOut::Write))), "{outcome:?}");
    drop(receiver);
    let kind = sending.join().await;
    assert!(matches!(kind, ErrorKind::TimedOut | ErrorKind::BrokenPipe), "{kind:?}");
    drop(peer);
}

/// A sender begins the closing while the receiver waits, and the peer never answers.
async fn closing_has_its_deadline<R: Runtime>() {
    let timeouts = Timeouts::none().with(Phase::Closing, Some(Time::from_millis(100)));
    let ((mut receiver, sender), mut peer) = halves::<R>(timeouts);
    let receiving = R::spawn(async move { receiver.next().await.map(|event| event.is_some()) });
    sender.send(|ws, tx| ws.close(None, tx)).await.unwrap().unwrap();
    peer.expect(CLOSE, b"");
    assert!(matches!(receiving.join().await, Err(Error::TimedOut(TimedOut::Phase(Phase::Closing)))));
}

/// Megabytes both ways at once, through small queues.
async fn both_ends_pipeline<R: Runtime>() {
    const COUNT: u64 = 400;
    async fn run<R: Runtime>((mut receiver, sender): Halves<R>) {
        let sending = R::spawn(async move {
            for seed in 0..COUNT {
                sender.binary(&noise(PIECE, seed)).await.unwrap().unwrap();
            }
            sender.flush().await.unwrap();
        });
        for seed in 0..COUNT {
            let Ok(Some(Event::Binary(data))) = receiver.next().await else { panic!("message {seed}") };
            assert!(data == noise(PIECE, seed));
        }
        sending.join().await;
    }
    let (socket, peer) = Peer::pair(false);
    let client = Connection::client(&Config::default(), Negotiated::default(), MaskKeys::from_seed([1; 32]));
    let client = R::over(socket, client).into_halves(HIGH_WATER);
    let server = R::over(peer.socket.try_clone().unwrap(), server()).into_halves(HIGH_WATER);
    let server = R::spawn(run::<R>(server));
    run::<R>(client).await;
    server.join().await;
}

/// At each await, again and again: nothing that came is lost, and nothing is sent that was given up.
async fn dropped_futures<R: Runtime>() {
    let ((mut receiver, sender), mut peer) = halves::<R>(Timeouts::none());
    let sent = fill(&sender);
    for _ in 0..100 {
        assert!(poll_once(sender.text("given up")).await.is_none());
        assert!(poll_once(sender.flush()).await.is_none());
    }
    let peer = thread::spawn(move || {
        let texts: Vec<u8> = (0..200_u32).flat_map(|n| frame(TEXT, n.to_string().as_bytes(), true)).collect();
        for byte in texts {
            peer.write(&[byte]);
        }
        for seed in 0..sent {
            peer.expect(BINARY, &noise(PIECE, seed as u64));
        }
        peer.expect(TEXT, b"the last");
        let mut left = Vec::new();
        peer.socket.read_to_end(&mut left).unwrap();
        assert!(left.is_empty(), "{left:?}");
    });
    for n in 0..200_u32 {
        loop {
            if let Some(event) = poll_once(receiver.next()).await {
                assert_eq!(event.unwrap(), Some(Event::Text(&n.to_string())));
                break;
            }
            yield_now().await;
        }
    }
    sender.text("the last").await.unwrap().unwrap();
    sender.flush().await.unwrap();
    drop(receiver);
    peer.join().unwrap();
}
