//! The client's side: what it asks for by URL, what it agrees to, what it makes of everything else.

use crate::{
    peer::{CLOSE, Peer, Site, TEXT, accepting, close_payload, field, frame},
    runtime::{Runtime, Serving, Ws},
};
use bytewise::{
    Phase, Time, TimedOut, Timeouts,
    http1::{self, Client, ClientEvent},
    ws::{self, Config, Deflate, Event, handshake::Rejected},
};
use bytewise_net::{ClientOptions, Error, ServerOptions, UpgradeError, WsOptions};
use std::{
    io::ErrorKind,
    net::{SocketAddr, TcpListener, TcpStream},
    sync::mpsc,
};

on_every_runtime!(
    request_as_asked,
    host_of_ones_own,
    host_of_ipv6,
    deflate_is_agreed_on,
    limits_of_messages,
    frames_right_behind_the_response,
    interim_responses,
    rejected_statuses,
    rejected_switches,
    no_response,
    no_server,
    no_answer_in_time,
    no_connection_in_time,
    limits_of_the_response,
    urls,
    what_cannot_be_sent,
    upgraded_by_hand,
);

/// Says hello, then good-bye, to a client that did the handshake.
fn greet(mut peer: Peer) {
    peer.send(TEXT, b"hello");
    peer.send(CLOSE, &close_payload(1000, ""));
    peer.expect_close(1000);
}

async fn assert_greeted<R: Runtime>(mut ws: Ws<R>) {
    assert!(matches!(ws.next().await, Ok(Some((Event::Text("hello"), _)))));
    assert!(matches!(ws.next().await, Ok(Some((Event::Close(Some(_)), _)))));
    assert!(matches!(ws.next().await, Ok(None)));
    ws.close().await.unwrap();
}

async fn refused<R: Runtime>(url: &str, options: &WsOptions) -> UpgradeError {
    match R::connect_ws(url, options).await {
        Ok(_) => panic!("it is no server of WebSockets"),
        Err(error) => error,
    }
}

async fn request_as_asked<R: Runtime>() {
    let (tell, told) = mpsc::channel();
    let site = Site::once(move |mut peer, head| {
        peer.write(accepting(&head, "sec-websocket-protocol: chat\r\n").as_bytes());
        tell.send(head).unwrap();
        greet(peer);
    });
    let options = WsOptions::default()
        .with_protocols(["chat.v2", "chat"])
        .with_field("authorization", "Bearer 4711")
        .with_field("origin", "http://page");
    let url = format!("ws://127.0.0.1:{}/a%20b?c=d&e#fragment", site.port);
    let ws = R::connect_ws(&url, &options).await.unwrap();
    assert_eq!(ws.machine().negotiated().protocol(), Some("chat"));
    assert_eq!(ws.machine().negotiated().extensions(), None);
    assert_greeted(ws).await;
    let head = told.recv().unwrap();
    assert!(head.starts_with("GET /a%20b?c=d&e HTTP/1.1\r\n"), "{head}");
    let own = format!("127.0.0.1:{}", site.port);
    for (name, value) in [
        ("host", Some(&*own)),
        ("upgrade", Some("websocket")),
        ("sec-websocket-version", Some("13")),
        ("sec-websocket-protocol", Some("chat.v2, chat")),
        ("sec-websocket-extensions", None),
        ("authorization", Some("Bearer 4711")),
        ("origin", Some("http://page")),
        ("content-length", None),
        ("transfer-encoding", None),
    ] {
        assert_eq!(field(&head, name), value, "{name} in {head}");
    }
    assert!(field(&head, "connection").unwrap().eq_ignore_ascii_case("upgrade"));
    assert_eq!(field(&head, "sec-websocket-key").unwrap().len(), 24);
    site.done();
}

/// Nonces are new each time.
async fn host_of_ones_own<R: Runtime>() {
    let (tell, told) = mpsc::channel();
    let play = move |mut peer: Peer, head: String| {
        peer.write(accepting(&head, "").as_bytes());
        tell.send(head).unwrap();
        greet(peer);
    };
    let plays = [play.clone(), play].map(|play| Box::new(play) as Box<dyn FnOnce(Peer, String) + Send>);
    let site = Site::playing(plays);
    let options = WsOptions::default().with_field("Host", "elsewhere");
    for _ in 0..2 {
        let ws = R::connect_ws(&format!("WS://localhost:{}", site.port), &options).await.unwrap();
        assert_greeted(ws).await;
    }
    site.done();
    let heads: Vec<String> = told.iter().collect();
    for head in &heads {
        assert!(head.starts_with("GET / HTTP/1.1\r\n"), "{head}");
        assert_eq!(head.to_lowercase().matches("host: ").count(), 1, "{head}");
        assert_eq!(field(head, "host"), Some("elsewhere"));
    }
    assert_ne!(field(&heads[0], "sec-websocket-key"), field(&heads[1], "sec-websocket-key"));
}

async fn host_of_ipv6<R: Runtime>() {
    let (tell, told) = mpsc::channel();
    let site = Site::once_on("[::1]:0", move |mut peer, head| {
        peer.write(accepting(&head, "").as_bytes());
        tell.send(head).unwrap();
        greet(peer);
    });
    let Some(site) = site else { return };
    let ws = R::connect_ws(&format!("ws://[::1]:{}/ws", site.port), &WsOptions::default()).await.unwrap();
    assert_greeted(ws).await;
    assert_eq!(field(&told.recv().unwrap(), "host"), Some(&*format!("[::1]:{}", site.port)));
    site.done();
}

async fn deflate_is_agreed_on<R: Runtime>() {
    let deflate = Config::default().with_deflate(Deflate::default().with_threshold(0));
    for (server, client, agreed) in [
        (deflate.clone(), deflate.clone(), true),
        (Config::default(), deflate.clone(), false),
        (deflate.clone(), Config::default(), false),
    ] {
        let server = Serving::echo::<R>(ServerOptions::default(), server);
        let options = WsOptions::default().with_config(client);
        let mut ws = R::connect_ws(&server.url(), &options).await.unwrap();
        let extensions = ws.machine().negotiated().extensions();
        assert_eq!(extensions.is_some_and(|found| found.starts_with("permessage-deflate")), agreed);
        ws.with(|ws, tx| ws.send_text("hello hello hello", tx)).unwrap();
        assert!(matches!(ws.next().await, Ok(Some((Event::Text("hello hello hello"), _)))));
        ws.close().await.unwrap();
        server.stop().await;
    }
}

async fn limits_of_messages<R: Runtime>() {
    let site = Site::once(|mut peer, head| {
        peer.write(accepting(&head, "").as_bytes());
        peer.send(TEXT, b"1234567890");
        peer.send(TEXT, b"12345678901");
        peer.expect_close(1009);
        peer.drain();
    });
    let options = WsOptions::default().with_config(Config::default().with_max_message(10));
    let mut ws = R::connect_ws(&site.url(), &options).await.unwrap();
    assert!(matches!(ws.next().await, Ok(Some((Event::Text("1234567890"), _)))));
    assert!(matches!(ws.next().await, Err(Error::Protocol(ws::Error::TooBig))));
    drop(ws);
    site.done();
}

async fn frames_right_behind_the_response<R: Runtime>() {
    let site = Site::once(|mut peer, head| {
        let frames = [frame(TEXT, b"hello", false), frame(CLOSE, &close_payload(1000, ""), false)].concat();
        peer.write(&[accepting(&head, "").as_bytes(), &frames].concat());
        peer.expect_close(1000);
    });
    let ws = R::connect_ws(&site.url(), &WsOptions::default()).await.unwrap();
    assert_greeted(ws).await;
    site.done();
}

async fn interim_responses<R: Runtime>() {
    let site = Site::once(|mut peer, head| {
        peer.write(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n");
        for byte in accepting(&head, "").bytes() {
            peer.write(&[byte]);
        }
        greet(peer);
    });
    let ws = R::connect_ws(&site.url(), &WsOptions::default()).await.unwrap();
    assert_greeted(ws).await;
    site.done();
}

/// A status is no switch; whether trying again is of use is for the status to say.
async fn rejected_statuses<R: Runtime>() {
    let temporary = [429, 500, 502, 503, 504];
    let statuses = [200, 204, 301, 302, 400, 401, 403, 404, 405, 426, 501, 505, 429, 500, 502, 503, 504];
    for status in statuses {
        let site = Site::once(move |mut peer, _| {
            let body = if status == 204 { "" } else { "content-length: 3\r\n\r\nno!" };
            let end = if status == 204 { "\r\n" } else { "" };
            peer.write(format!("HTTP/1.1 {status} So\r\nx-why: because\r\nlocation: /\r\n{body}{end}").as_bytes());
            peer.drain();
        });
        let error = refused::<R>(&site.url(), &WsOptions::default()).await;
        let UpgradeError::Rejected(Rejected::Status(found), head) = &error else { panic!("{error:?} after {status}") };
        assert_eq!((*found, head.head().status()), (status, status));
        assert_eq!(head.head().fields().get("x-why"), Some(&b"because"[..]));
        assert_eq!(error.is_temporary(), temporary.contains(&status), "{status}");
        assert!(error.to_string().contains(&status.to_string()), "{error}");
        site.done();
    }
}

/// A switch that is not what was asked for.
async fn rejected_switches<R: Runtime>() {
    type Answer = fn(String) -> String;
    let wrong: [(Answer, Option<Rejected>); 9] = [
        (|good| good.replace("sec-websocket-accept: ", "sec-websocket-accept: x"), Some(Rejected::Key)),
        (|good| good.replace("sec-websocket-accept", "x-accept"), Some(Rejected::Key)),
        (|good| good.replace("\r\n\r\n", "\r\nsec-websocket-protocol: other\r\n\r\n"), Some(Rejected::Protocol)),
        (|good| good.replace("\r\n\r\n", "\r\nsec-websocket-protocol: chat, b\r\n\r\n"), Some(Rejected::Protocol)),
        (
            |good| good.replace("\r\n\r\n", "\r\nsec-websocket-extensions: permessage-deflate\r\n\r\n"),
            Some(Rejected::Extension),
        ),
        (|good| good.replace("\r\n\r\n", "\r\nsec-websocket-extensions: x-unknown\r\n\r\n"), Some(Rejected::Extension)),
        (|good| good.replace("upgrade: websocket", "upgrade: h2c"), Some(Rejected::NotWebSocket)),
        // Those may be wrong for HTTP already.
        (|good| good.replace("upgrade: websocket\r\nconnection: Upgrade\r\n", ""), None),
        (|good| good.replace("HTTP/1.1", "HTTP/1.0"), None),
    ];
    let options = WsOptions::default().with_protocols(["chat", "b"]);
    for (i, (answer, why)) in wrong.into_iter().enumerate() {
        let site = Site::once(move |mut peer, head| {
            peer.write(answer(accepting(&head, "")).as_bytes());
            peer.drain();
        });
        let error = refused::<R>(&site.url(), &options).await;
        match (&error, why) {
            (UpgradeError::Rejected(found, head), Some(why)) => {
                assert_eq!(*found, why, "in case {i}");
                assert_eq!(head.head().status(), 101);
            }
            (
                UpgradeError::Rejected(Rejected::NotWebSocket, _) | UpgradeError::Connection(Error::Protocol(_)),
                None,
            ) => {}
            _ => panic!("{error:?} in case {i}"),
        }
        assert!(!error.is_temporary(), "{error:?} in case {i}");
        site.done();
    }
}

/// Garbage does not go away; an end may.
async fn no_response<R: Runtime>() {
    let site = Site::once(|mut peer, _| {
        peer.write(b"SSH-2.0-OpenSSH\r\n\r\n");
        peer.drain();
    });
    let error = refused::<R>(&site.url(), &WsOptions::default()).await;
    assert!(matches!(error, UpgradeError::Connection(Error::Protocol(_))), "{error:?}");
    assert!(!error.is_temporary());
    site.done();

    for part in ["", "HTTP/1.1 101 Swi"] {
        let site = Site::once(move |mut peer, _| peer.write(part.as_bytes()));
        let error = refused::<R>(&site.url(), &WsOptions::default()).await;
        assert!(matches!(error, UpgradeError::Connection(Error::Protocol(_) | Error::Io(_))), "{error:?}");
        assert!(error.is_temporary(), "{error:?}");
        site.done();
    }

    let site = Site::once(|peer, _| peer.reset());
    let error = refused::<R>(&site.url(), &WsOptions::default()).await;
    assert!(matches!(error, UpgradeError::Connection(_)) && error.is_temporary(), "{error:?}");
    site.done();
}

async fn no_server<R: Runtime>() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let error = refused::<R>(&format!("ws://127.0.0.1:{port}"), &WsOptions::default()).await;
    let UpgradeError::Connect(why) = &error else { panic!("{error:?}") };
    assert_eq!(why.kind(), ErrorKind::ConnectionRefused);
    assert!(error.is_temporary());
}

async fn no_answer_in_time<R: Runtime>() {
    let site = Site::once(|mut peer, _| drop(peer.drain()));
    let timeouts = Timeouts::none().with(Phase::Head, Some(Time::from_millis(50)));
    let error = refused::<R>(&site.url(), &WsOptions::default().with_timeouts(timeouts)).await;
    assert!(matches!(error, UpgradeError::Connection(Error::TimedOut(TimedOut::Phase(Phase::Head)))), "{error:?}");
    assert!(error.is_temporary());
    site.done();
}

/// A listener whose queue is full.
async fn no_connection_in_time<R: Runtime>() {
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    socket.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into()).unwrap();
    socket.listen(0).unwrap();
    let address = socket.local_addr().unwrap().as_socket().unwrap();
    let within = Time::from_millis(100);
    let mut queue = Vec::new();
    if cfg!(target_os = "linux") {
        while let Ok(socket) = TcpStream::connect_timeout(&address, within) {
            queue.push(socket);
        }
        let options = WsOptions::default().with_connect_timeout(within);
        let error = refused::<R>(&format!("ws://{address}/"), &options).await;
        assert!(matches!(&error, UpgradeError::Connect(why) if why.kind() == ErrorKind::TimedOut), "{error:?}");
        assert!(error.is_temporary());
    }
}

async fn limits_of_the_response<R: Runtime>() {
    let site = Site::once(|mut peer, head| {
        peer.write(accepting(&head, &format!("x-long: {}\r\n", "x".repeat(2000))).as_bytes());
        peer.drain();
    });
    let options = WsOptions::default().with_http(http1::Config::default().with_max_head(1000));
    let error = refused::<R>(&site.url(), &options).await;
    assert!(matches!(error, UpgradeError::Connection(Error::Protocol(_))), "{error:?}");
    assert!(!error.is_temporary());
    site.done();
}

async fn urls<R: Runtime>() {
    for (url, why) in [
        ("wss://127.0.0.1/", "TLS"),
        ("http://127.0.0.1/", "scheme"),
        ("ws://user@127.0.0.1/", "user name"),
        ("ws://:password@127.0.0.1/", "user name"),
        ("ws://", ""),
        ("ws://a b/", ""),
        ("ws://127.0.0.1:99999/", ""),
        ("/relative", ""),
        ("", ""),
    ] {
        let error = refused::<R>(url, &WsOptions::default()).await;
        assert!(matches!(error, UpgradeError::Url(_)), "{error:?} for {url}");
        assert!(error.to_string().contains(why), "{error} for {url}");
        assert!(!error.is_temporary());
    }
}

/// Nothing is sent then.
async fn what_cannot_be_sent<R: Runtime>() {
    for options in [
        WsOptions::default().with_field("a b", "c"),
        WsOptions::default().with_field("a", "b\r\nc: d"),
        WsOptions::default().with_protocols(["a\nb"]),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("ws://{}/", listener.local_addr().unwrap());
        let error = refused::<R>(&url, &options).await;
        assert!(matches!(error, UpgradeError::Misuse(_)), "{error:?}");
        assert!(!error.is_temporary());
        assert_eq!(Peer::over(listener.accept().unwrap().0, false).drain(), b"");
    }
}

/// After a request on the same connection.
async fn upgraded_by_hand<R: Runtime>() {
    let server = Serving::echo::<R>(ServerOptions::default(), Config::default());
    let machine = Client::new(&http1::Config::default());
    let mut http = R::connect("127.0.0.1", server.port, &ClientOptions::default(), machine).await.unwrap();
    http.with(|http, tx| http.request("GET", "/before", [("host", "a")], "", tx)).unwrap();
    let mut body = Vec::new();
    while body != b"/before" {
        if let (ClientEvent::Data(data), _) = http.next().await.unwrap().unwrap() {
            body.extend_from_slice(data);
        }
    }
    let mut ws = http.upgrade("/ws", &[("host", "a")], &["chat"], &Config::default()).await.unwrap();
    assert_eq!(ws.machine().negotiated().protocol(), Some("chat"));
    ws.with(|ws, tx| ws.send_binary(b"by hand", tx)).unwrap();
    assert!(matches!(ws.next().await, Ok(Some((Event::Binary(b"by hand"), _)))));
    ws.close().await.unwrap();
    server.stop().await;
}
