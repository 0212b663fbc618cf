//! What only tasks do: requests that are given up midway, on any thread, many at once.

use crate::{
    client::{OnRuntime, TOKIO},
    site::{GUARD, Site, ok},
};
use bytewise::http1::{BodyLength, NO_FIELDS};
use bytewise_net::{self as net, BoxError, ClientOptions, HttpClient, RequestError, Response};
use futures_lite::future::{or, poll_once};
use std::{future::Future, pin::pin};

/// A `#[test]` for each runtime that has tasks.
macro_rules! on_every_task {
    ($($test:ident),* $(,)?) => {
        $(mod $test {
            #[test]
            fn on_tokio() {
                super::$test::<bytewise_net::tokio::Connector>();
            }

            #[test]
            fn on_smol() {
                super::$test::<bytewise_net::smol::Connector>();
            }

            #[test]
            fn on_async_std() {
                super::$test::<bytewise_net::async_std::Connector>();
            }
        })*
    };
}

on_every_task!(
    given_up_before_the_response,
    given_up_in_an_upload,
    given_up_in_a_redirect,
    a_body_in_turns_with_something_else,
    all_may_go_to_other_threads,
    dropped_outside_of_its_runtime,
);

fn client<C: OnRuntime>() -> HttpClient<C> {
    HttpClient::new(ClientOptions::default())
}

async fn text<C: OnRuntime>(response: Result<Response<C>, RequestError>) -> String {
    String::from_utf8(response.unwrap().body(1000).await.unwrap().into()).unwrap()
}

/// Tells when it has heard of `/wait`, and never answers it.
fn waiting() -> (Site, async_channel::Receiver<()>) {
    let (tell, told) = async_channel::unbounded();
    let site = Site::start(move |conn| {
        while let Some(request) = conn.request() {
            match request.target() {
                "/wait" => drop(tell.try_send(())),
                "/away" => conn.say(crate::site::redirect(307, "/wait")),
                target => conn.say(ok(target)),
            }
        }
    });
    (site, told)
}

/// Works until it is told; then that is dropped.
async fn give_up(work: impl Future<Output = ()>, told: &async_channel::Receiver<()>) {
    or(async { told.recv().await.unwrap() }, async {
        work.await;
        panic!("it was not answered");
    })
    .await;
}

/// Its connection closes; others are as good as before.
fn given_up_before_the_response<C: OnRuntime>() {
    let (site, told) = waiting();
    C::block_on(async {
        let client = client::<C>();
        assert_eq!(text(client.get(&site.url("/a")).await).await, "/a");
        give_up(async { drop(client.get(&site.url("/wait")).await) }, &told).await;
        assert_eq!(site.ended(), 0);
        assert_eq!(text(client.get(&site.url("/b")).await).await, "/b");
        give_up(async { drop(client.post(&site.url("/wait"), NO_FIELDS, "hello").await) }, &told).await;
        assert_eq!(site.ended(), 1);
        assert_eq!(text(client.get(&site.url("/c")).await).await, "/c");
        assert_eq!(site.heard(), ["0 GET /a", "0 GET /wait", "1 GET /b", "1 POST /wait", "2 GET /c"]);
        // Nor is there anything to clean up before the first poll.
        drop(client.get(&site.url("/never")));
        assert!(poll_once(client.get("http://a b/")).await.unwrap().is_err());
    });
}

fn given_up_in_an_upload<C: OnRuntime>() {
    let (site, told) = waiting();
    C::block_on(async {
        let client = client::<C>();
        let upload = client.begin("PUT", &site.url("/wait"), NO_FIELDS, BodyLength::Length(0)).await.unwrap();
        give_up(async { drop(upload.finish(NO_FIELDS).await) }, &told).await;
        assert_eq!(site.ended(), 0);
        assert_eq!(text(client.get(&site.url("/a")).await).await, "/a");
    });
}

fn given_up_in_a_redirect<C: OnRuntime>() {
    let (site, told) = waiting();
    C::block_on(async {
        let client = client::<C>().with_redirects(1);
        give_up(async { drop(client.get(&site.url("/away")).await) }, &told).await;
        assert_eq!(text(client.get(&site.url("/a")).await).await, "/a");
        assert_eq!(site.heard(), ["0 GET /away", "0 GET /wait", "1 GET /a"]);
    });
}

/// A future of `data` that is dropped loses nothing.
fn a_body_in_turns_with_something_else<C: OnRuntime>() {
    let (go, may_go) = async_channel::unbounded::<()>();
    let site = Site::start(move |conn| {
        while conn.request().is_some() {
            conn.say("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n");
            while may_go.recv_blocking().is_ok() {
                conn.say("5\r\nhel");
                conn.say("lo\r\n");
            }
            conn.say("0\r\n\r\n");
        }
    });
    C::block_on(async {
        let mut response = client::<C>().get(&site.url("/")).await.unwrap();
        for _ in 0..5 {
            assert!(poll_once(response.data()).await.is_none());
            go.send(()).await.unwrap();
            let mut came = Vec::new();
            while came.len() < 5 {
                came.extend_from_slice(response.data().await.unwrap().unwrap());
            }
            assert_eq!(came, b"hello");
        }
        let mut body = Box::pin(response.body(1000));
        assert!(poll_once(&mut body).await.is_none());
        drop(go);
        assert_eq!(body.await.unwrap(), "");
    });
}

/// This is decided when it is compiled.
fn all_may_go_to_other_threads<C: OnRuntime>() {
    fn send<T: Send>(of: T) -> T {
        of
    }
    let site = Site::plain();
    C::block_on(async {
        let client = send(client::<C>());
        let (url, fields) = (site.url("/a"), vec![("x-one", String::from("1"))]);
        let mut response = send(client.get(&url)).await.unwrap();
        send(response.data()).await.unwrap();
        send(response.body(100)).await.unwrap();
        drop(send(response));
        let fields = fields.iter().map(|(name, value)| (*name, value.as_bytes()));
        send(client.request("PUT", &url, fields.clone(), String::from("owned"))).await.unwrap();
        send(client.post(&url, fields.clone(), b"borrowed")).await.unwrap();
        let mut upload = send(client.post_stream(&url, fields)).await.unwrap();
        send(upload.send("hello")).await.unwrap();
        send(send(upload).finish(NO_FIELDS)).await.unwrap();
    });
}

fn dropped_outside_of_its_runtime<C: OnRuntime>() {
    let site = Site::plain();
    let client = client::<C>();
    for _ in 0..3 {
        let mut response = C::block_on(client.get(&site.url("/a"))).unwrap();
        assert_eq!(C::block_on(response.body(100)).unwrap(), "GET /a");
        drop(response);
        let mut response = C::block_on(client.get(&site.url("/b"))).unwrap();
        while C::block_on(response.data()).unwrap().is_some() {}
        drop(response);
        drop(C::block_on(client.request("HEAD", &site.url("/c"), NO_FIELDS, "")).unwrap());
    }
    // Before it is read, too.
    drop(C::block_on(client.get(&site.url("/d"))).unwrap());
    assert_eq!(site.ended(), 0);
    drop(client);
}

/// Tasks on many threads, each with answers of its own, over no more connections than there are tasks.
#[test]
fn many_at_once() {
    const TASKS: usize = 16;
    let site = Site::answering(|request| ok(&format!("{} {}", request.target(), request.body)));
    let url = site.url("");
    TOKIO.block_on(async {
        let client = net::tokio::HttpClient::new(ClientOptions::default()).with_idle(TASKS, GUARD);
        let tasks: Vec<_> = (0..TASKS)
            .map(|task| {
                let (client, url) = (client.clone(), url.clone());
                tokio::spawn(async move {
                    for i in 0..20 {
                        let (target, body) = (format!("/{task}/{i}"), "x".repeat(task * i));
                        let mut response = client.post(&format!("{url}{target}"), NO_FIELDS, &*body).await?;
                        assert_eq!(response.body(1000).await?, format!("{target} {body}"));
                    }
                    Ok::<(), BoxError>(())
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap().unwrap();
        }
    });
    let heard = site.heard();
    assert_eq!(heard.len(), TASKS * 20);
    assert!(heard.iter().all(|heard| heard.split(' ').next().unwrap().parse::<usize>().unwrap() < TASKS));
}

/// It is one that is polled by another task half-way, too.
#[test]
fn begun_on_one_thread_and_ended_on_another() {
    let (site, told) = waiting();
    let client = client::<net::tokio::Connector>();
    let url = site.url("/wait");
    TOKIO.block_on(async {
        let mut request = Box::pin(async move { client.get(&url).await.map(drop) });
        let begun = or(async { told.recv().await.is_ok() }, async { (&mut request).await.is_ok() }).await;
        assert!(begun);
        let moved = tokio::spawn(async move { poll_once(pin!(request)).await.is_none() });
        assert!(moved.await.unwrap());
    });
    assert_eq!(site.ended(), 0);
}
