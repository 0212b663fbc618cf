//! The opening handshake: RFC 6455, section 4, and what RFC 7692, section 7, negotiates.
#![cfg(feature = "ws")]

mod client;
mod end_to_end;
#[cfg(feature = "deflate")]
mod extensions;
mod server;

use bytewise::{
    Machine, RecvBuf, SendBuf,
    http1::{self, Client, ClientEvent, RequestHead, ResponseHead, Server, ServerEvent},
};

/// Shows the head of a request to `on`.
fn request<T>(head: &str, on: impl FnOnce(RequestHead<'_>) -> T) -> T {
    let (mut rx, mut tx) = (RecvBuf::new(), SendBuf::new());
    rx.push(head.as_bytes());
    match Server::new(&http1::Config::default()).next_event(&mut rx, &mut tx) {
        Ok(Some(ServerEvent::Request(head))) => on(head),
        other => panic!("{other:?}: {head}"),
    }
}

/// Shows the head that answers `asked` to `on`.
fn response<'f, T>(
    asked: impl Iterator<Item = http1::Field<'f>> + Clone,
    head: &[u8],
    on: impl FnOnce(&ResponseHead<'_>) -> T,
) -> T {
    let (mut rx, mut tx) = (RecvBuf::new(), SendBuf::new());
    let mut http = Client::new(&http1::Config::default());
    http.request("GET", "/", asked.chain([("host", &b"a"[..])]), "", &mut tx).unwrap();
    rx.push(head);
    match http.next_event(&mut rx, &mut tx) {
        Ok(Some(ClientEvent::Switched(head) | ClientEvent::Response(head))) => on(&head),
        other => panic!("{other:?}: {}", head.escape_ascii()),
    }
}
