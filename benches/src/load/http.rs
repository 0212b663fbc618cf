//! HTTP/1.1: a `POST` with a body, and a `200` with the same one.

use super::{
    Dialect, Expected, Fault, Mirror, Pattern,
    mirror::Head,
    response::{self, Partial},
};

/// What a request begins with.
#[derive(Debug)]
pub struct PostHead;

impl Head for PostHead {
    fn head(payload: usize) -> Vec<u8> {
        format!("POST /echo HTTP/1.1\r\nhost: localhost\r\ncontent-length: {payload}\r\n\r\n").into_bytes()
    }
}

/// The same requests to the floor, which sends them back as they are.
pub type HttpMirror = Mirror<PostHead>;

/// Sends requests, and expects their bodies back in responses.
///
/// Servers write different heads, but one server nearly always the same: the last head that was read is what the next
/// one is compared with, together with the body. One that differs (a `Date` does once a second) is read.
#[derive(Debug)]
pub struct Http {
    requests: Pattern,
    /// Responses with the head that was read last.
    expected: Expected,
    payload: usize,
    /// The beginning of a head that has to be read; `None` while what comes is compared.
    unread: Option<Partial>,
}

impl Http {
    /// Reads a head, of which some came before; returns what follows it, if it ends here.
    #[cold]
    fn read<'b>(&mut self, mut head: Partial, block: &'b [u8]) -> Result<Option<&'b [u8]>, Fault> {
        let fault = |why| Fault::Head { reply: self.expected.pattern().index(), why };
        let Some((head, body)) = head.read(block).map_err(fault)? else {
            self.unread = Some(head);
            return Ok(None);
        };
        check(&head, self.payload).map_err(fault)?;
        self.expected.go_on_behind(&head);
        Ok(Some(body))
    }
}

impl Dialect for Http {
    fn new(client: usize, payload: usize) -> Self {
        Self {
            requests: Pattern::new(client, payload, &PostHead::head(payload)),
            expected: Expected::new(Pattern::new(client, payload, b"")),
            payload,
            unread: Some(Partial::default()),
        }
    }

    #[inline]
    fn request(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.requests.current());
        self.requests.advance();
    }

    #[inline]
    fn replies(&mut self, mut block: &[u8]) -> Result<usize, Fault> {
        let mut complete = 0;
        loop {
            if let Some(head) = self.unread.take() {
                let Some(body) = self.read(head, block)? else { return Ok(complete) };
                block = body;
            }
            let Err(rest) = self.expected.compare(block, &mut complete) else { return Ok(complete) };
            if self.expected.difference(rest) >= self.expected.pattern().head() {
                return Err(self.expected.fault(rest));
            }
            self.unread = Some(Partial::new(self.expected.seen().to_vec()));
            block = rest;
        }
    }

    fn is_partial(&self) -> bool {
        self.unread.as_ref().map_or(self.expected.is_partial(), |head| !head.is_empty())
    }
}

/// What is wrong with the head of a response, if something is.
fn check(head: &[u8], payload: usize) -> Result<(), &'static str> {
    let mut length = None;
    response::check(head, "HTTP/1.1 200", |name, value| {
        match name {
            "content-length" if length.is_some() => return Err("has two lengths"),
            "content-length" => length = Some(value == payload.to_string()),
            "transfer-encoding" => return Err("has a transfer coding"),
            "connection" if !value.eq_ignore_ascii_case("keep-alive") => return Err("does not keep the connection"),
            _ => {}
        }
        Ok(())
    })?;
    match length {
        None => Err("has no length"),
        Some(false) => Err("has another length"),
        Some(true) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::{Client, Tally, response::MAX_HEAD};
    use std::time::Duration;

    const WINDOW: usize = 4;
    const PAYLOAD: usize = 16;
    const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-length: 16\r\n\r\n";

    /// A client with its window in flight, and the bodies of its requests.
    fn started() -> (Client<Http>, Vec<Vec<u8>>) {
        let mut client = Client::new(Http::new(7, PAYLOAD), WINDOW);
        let mut out = Vec::new();
        client.send(Duration::ZERO, &mut out);
        let request = PostHead::head(PAYLOAD);
        let bodies = out.chunks(request.len() + PAYLOAD).map(|one| one.strip_prefix(&request[..]).unwrap().to_vec());
        (client, bodies.collect())
    }

    /// Replies with these heads, in turn.
    fn replies(heads: &[&str], bodies: &[Vec<u8>]) -> Vec<u8> {
        heads.iter().cycle().zip(bodies).flat_map(|(head, body)| [head.as_bytes(), body].concat()).collect()
    }

    fn receive(client: &mut Client<Http>, block: &[u8]) -> Result<u64, Fault> {
        let mut tally = Tally::new();
        tally.measuring = true;
        client.receive(block, Duration::from_micros(5), &mut tally)?;
        Ok(tally.outcome(Duration::ZERO).round_trips)
    }

    /// What is wrong with the second of two replies, the first having that head.
    fn fault(heads: [&str; 2]) -> String {
        let (mut client, bodies) = started();
        receive(&mut client, &replies(&heads, &bodies)).unwrap_err().to_string()
    }

    #[test]
    fn the_request_is_what_a_server_expects() {
        let mut out = Vec::new();
        Http::new(0, 3).request(&mut out);
        assert!(out.starts_with(b"POST /echo HTTP/1.1\r\nhost: localhost\r\ncontent-length: 3\r\n\r\n\0"));
    }

    #[test]
    fn honest_replies_pass_at_every_cut_whether_heads_change_or_not() {
        let dated = "HTTP/1.1 200 \r\nDate: now\r\nContent-Length:16\r\nConnection: Keep-Alive\r\n\r\n";
        for heads in [&[HEAD][..], &[dated], &[HEAD, dated], &[HEAD, HEAD, dated]] {
            let (_, bodies) = started();
            let all = replies(heads, &bodies);
            for cut in 0..=all.len() {
                let (mut client, _) = started();
                let (one, two) = all.split_at(cut);
                let counted = receive(&mut client, one).unwrap() + receive(&mut client, two).unwrap();
                assert_eq!((counted, client.in_flight(), client.is_due()), (WINDOW as u64, 0, true));
            }
            let (mut client, _) = started();
            let counted = all.iter().map(|byte| receive(&mut client, std::slice::from_ref(byte)).unwrap());
            assert_eq!(counted.sum::<u64>(), WINDOW as u64);
        }
    }

    #[test]
    fn each_flipped_byte_of_a_body_is_caught_where_it_is() {
        let (_, bodies) = started();
        for (reply, at) in (0..WINDOW).flat_map(|reply| (HEAD.len()..HEAD.len() + PAYLOAD).map(move |at| (reply, at))) {
            let (mut client, _) = started();
            let mut all = replies(&[HEAD], &bodies);
            all[reply * (HEAD.len() + PAYLOAD) + at] ^= 1;
            let caught = receive(&mut client, &all).unwrap_err().to_string();
            assert_eq!(caught, format!("reply {reply} differs at byte {at}"));
        }
    }

    #[test]
    fn heads_that_are_wrong_are_caught() {
        for (head, why) in [
            ("HTTP/1.1 500 Oh\r\ncontent-length: 16\r\n\r\n", "has another status line"),
            ("HTTP/1.0 200 OK\r\ncontent-length: 16\r\n\r\n", "has another status line"),
            ("HTTP/1.1 2000 \r\ncontent-length: 16\r\n\r\n", "has another status line"),
            ("HTTP/1.1 200 OK\r\n\r\n", "has no length"),
            ("HTTP/1.1 200 OK\r\ncontent-length: 17\r\n\r\n", "has another length"),
            ("HTTP/1.1 200 OK\r\ncontent-length: 016\r\n\r\n", "has another length"),
            ("HTTP/1.1 200 OK\r\ncontent-length: 16\r\ncontent-length: 16\r\n\r\n", "has two lengths"),
            ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n", "has a transfer coding"),
            ("HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n", "does not keep the connection"),
            ("HTTP/1.1 200 OK\r\ncontent-length\r\n\r\n", "has a line without a colon"),
            ("HTTP/1.1 200 OK\r\ncontent length: 16\r\n\r\n", "has a line that is no field"),
            ("HTTP/1.1 200 OK\r\ncontent-length: 16\nx: y\r\n\r\n", "has a line that is no field"),
        ] {
            assert_eq!(fault([head, HEAD]), format!("the head of reply 0 {why}"));
            assert_eq!(fault([HEAD, head]), format!("the head of reply 1 {why}"));
        }
        assert_eq!(fault([&"x".repeat(MAX_HEAD + 1), HEAD]), "the head of reply 0 has no end");
    }

    #[test]
    fn lost_swapped_and_surplus_replies_are_caught() {
        let (mut client, mut bodies) = started();
        let size = HEAD.len() + PAYLOAD;
        let all = replies(&[HEAD], &bodies);
        assert!(matches!(receive(&mut client, &all[size..]), Err(Fault::Differs { reply: 0, .. })));
        let (mut client, _) = started();
        assert!(matches!(receive(&mut client, &[&all, &b"H"[..]].concat()), Err(Fault::Surplus)));
        let (mut client, _) = started();
        assert!(matches!(receive(&mut client, &[&all, &b"X"[..]].concat()), Err(Fault::Surplus)));
        let (mut client, _) = started();
        receive(&mut client, &all[..all.len() - 1]).unwrap();
        assert_eq!(client.in_flight(), 1);
        bodies.swap(1, 2);
        let (mut client, _) = started();
        assert!(matches!(receive(&mut client, &replies(&[HEAD], &bodies)), Err(Fault::Differs { reply: 1, .. })));
    }

    #[test]
    fn requests_that_come_back_are_no_responses() {
        let mut requests = Vec::new();
        let mut client = Client::new(Http::new(7, PAYLOAD), WINDOW);
        client.send(Duration::ZERO, &mut requests);
        let why = receive(&mut client, &requests).unwrap_err().to_string();
        assert_eq!(why, "the head of reply 0 has another status line");
        assert_eq!(HttpMirror::new(7, PAYLOAD).replies(&requests).ok(), Some(WINDOW));
    }
}
