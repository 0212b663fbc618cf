//! WebSocket: after the opening handshake, binary messages of one frame, and the same ones back.

use super::{
    Dialect, Expected, Fault, Mirror, Pattern,
    mirror::Head,
    response::{self, Partial},
};

/// What opens a connection, with the key of the example in RFC 6455.
const OPENING: &[u8] = b"GET /echo HTTP/1.1\r\nhost: localhost\r\nupgrade: websocket\r\nconnection: upgrade\r\n\
    sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\nsec-websocket-version: 13\r\n\r\n";

/// What that key is answered with.
const ACCEPT: &str = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";

/// What a request begins with. All are masked with one key, so that they need not be masked one by one.
#[derive(Debug)]
pub struct MaskedHead;

impl Head for MaskedHead {
    const MASK: [u8; 4] = [0x37, 0xFA, 0x21, 0x3D];

    fn head(payload: usize) -> Vec<u8> {
        let mut head = plain_head(payload);
        head[1] |= 0x80;
        head.extend(Self::MASK);
        head
    }
}

/// Of a whole binary message, unmasked: its length in the shortest form.
fn plain_head(payload: usize) -> Vec<u8> {
    const FIN_BINARY: u8 = 0x82;
    match (u8::try_from(payload), u16::try_from(payload)) {
        (Ok(length @ ..=125), _) => vec![FIN_BINARY, length],
        (_, Ok(length)) => [&[FIN_BINARY, 126][..], &length.to_be_bytes()].concat(),
        _ => [&[FIN_BINARY, 127][..], &(payload as u64).to_be_bytes()].concat(),
    }
}

/// The same messages to the floor, without a handshake, and back as they are.
pub type WsMirror = Mirror<MaskedHead>;

/// Opens the connection, sends masked messages, and expects them back unmasked, each in one frame.
#[derive(Debug)]
pub struct Ws {
    requests: Pattern,
    expected: Expected,
    /// The beginning of the answer to the handshake; `None` once that is complete.
    opening: Option<Partial>,
}

impl Dialect for Ws {
    fn new(client: usize, payload: usize) -> Self {
        Self {
            requests: Pattern::new(client, payload, &MaskedHead::head(payload)).masked(MaskedHead::MASK),
            expected: Expected::new(Pattern::new(client, payload, &plain_head(payload))),
            opening: Some(Partial::default()),
        }
    }

    fn open(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(OPENING);
    }

    #[inline]
    fn is_open(&self) -> bool {
        self.opening.is_none()
    }

    #[inline]
    fn request(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.requests.current());
        self.requests.advance();
    }

    #[inline]
    fn replies(&mut self, mut block: &[u8]) -> Result<usize, Fault> {
        if let Some(opening) = &mut self.opening {
            let Some((head, rest)) = opening.read(block).map_err(Fault::Opening)? else { return Ok(0) };
            check(&head).map_err(Fault::Opening)?;
            self.opening = None;
            block = rest;
        }
        let mut complete = 0;
        match self.expected.compare(block, &mut complete) {
            Ok(()) => Ok(complete),
            Err(rest) => Err(self.expected.fault(rest)),
        }
    }

    fn is_partial(&self) -> bool {
        self.expected.is_partial()
    }
}

/// What is wrong with the answer to the handshake, if something is.
fn check(head: &[u8]) -> Result<(), &'static str> {
    let (mut upgrade, mut connection, mut accept) = (false, false, false);
    response::check(head, "HTTP/1.1 101", |name, value| {
        match name {
            "upgrade" => upgrade = value.eq_ignore_ascii_case("websocket"),
            "connection" => {
                connection |= value.split(',').any(|option| option.trim().eq_ignore_ascii_case("upgrade"));
            }
            "sec-websocket-accept" if accept => return Err("accepts twice"),
            "sec-websocket-accept" if value != ACCEPT => return Err("accepts another key"),
            "sec-websocket-accept" => accept = true,
            "sec-websocket-extensions" => return Err("has an extension that was not offered"),
            "sec-websocket-protocol" => return Err("has a subprotocol that was not offered"),
            "content-length" | "transfer-encoding" => return Err("has a body"),
            _ => {}
        }
        Ok(())
    })?;
    match (upgrade && connection, accept) {
        (true, true) => Ok(()),
        (false, _) => Err("does not upgrade to websocket"),
        (_, false) => Err("accepts no key"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::{Client, Tally};
    use std::time::Duration;

    const WINDOW: usize = 4;
    const PAYLOAD: usize = 16;
    const FRAME: usize = 2 + PAYLOAD;
    const OPENED: &str = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: WebSocket\r\nConnection: Upgrade\r\n\
        Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n";

    fn receive(client: &mut Client<Ws>, block: &[u8]) -> Result<u64, Fault> {
        let mut tally = Tally::new();
        tally.measuring = true;
        client.receive(block, Duration::from_micros(5), &mut tally)?;
        Ok(tally.outcome(Duration::ZERO).round_trips)
    }

    fn send(client: &mut Client<Ws>) -> Vec<u8> {
        let mut out = Vec::new();
        client.send(Duration::ZERO, &mut out);
        out
    }

    /// A client whose window is in flight, and what an honest server replies: what it got, unmasked.
    fn started() -> (Client<Ws>, Vec<u8>) {
        let mut client = Client::new(Ws::new(7, PAYLOAD), WINDOW);
        assert_eq!(send(&mut client), OPENING);
        assert_eq!(receive(&mut client, OPENED.as_bytes()).unwrap(), 0);
        let replies = send(&mut client).chunks(FRAME + 4).flat_map(unmasked).collect();
        (client, replies)
    }

    /// The frame of a server with the message of a frame of a client.
    fn unmasked(frame: &[u8]) -> Vec<u8> {
        assert_eq!(frame[..2], [0x82, 0x80 | PAYLOAD as u8]);
        let (key, payload) = frame[2..].split_at(4);
        let payload = payload.iter().zip(key.iter().cycle()).map(|(byte, key)| byte ^ key);
        [0x82, PAYLOAD as u8].into_iter().chain(payload).collect()
    }

    #[test]
    fn lengths_are_in_their_shortest_form() {
        for (payload, head) in [
            (0, &[0x82, 0][..]),
            (125, &[0x82, 125]),
            (126, &[0x82, 126, 0, 126]),
            (0xFFFF, &[0x82, 126, 0xFF, 0xFF]),
            (0x1_0000, &[0x82, 127, 0, 0, 0, 0, 0, 1, 0, 0]),
        ] {
            assert_eq!(plain_head(payload), head);
            let mut masked = head.to_vec();
            masked[1] |= 0x80;
            masked.extend(MaskedHead::MASK);
            assert_eq!(MaskedHead::head(payload), masked);
        }
    }

    #[test]
    fn nothing_is_requested_before_the_handshake_is_answered() {
        let mut client = Client::new(Ws::new(7, PAYLOAD), WINDOW);
        assert!(client.is_due());
        assert_eq!(send(&mut client), OPENING);
        let (one, two) = OPENED.as_bytes().split_at(70);
        for block in [&b""[..], one] {
            receive(&mut client, block).unwrap();
            assert_eq!((client.is_due(), client.in_flight(), send(&mut client).len()), (false, 1, 0));
        }
        receive(&mut client, two).unwrap();
        assert_eq!((client.is_due(), client.in_flight()), (true, 0));
        assert_eq!(send(&mut client).len(), WINDOW * (FRAME + 4));
        assert_eq!((client.is_due(), client.in_flight()), (false, WINDOW));
    }

    #[test]
    fn honest_answers_pass_at_every_cut() {
        for cut in 0..=OPENED.len() {
            let mut client = Client::new(Ws::new(7, PAYLOAD), WINDOW);
            send(&mut client);
            let (one, two) = OPENED.as_bytes().split_at(cut);
            receive(&mut client, one).unwrap();
            receive(&mut client, two).unwrap();
            assert!(client.is_due());
        }
        for cut in 0..=WINDOW * FRAME {
            let (mut client, replies) = started();
            let (one, two) = replies.split_at(cut);
            let counted = receive(&mut client, one).unwrap() + receive(&mut client, two).unwrap();
            assert_eq!((counted, client.in_flight(), client.is_due()), (WINDOW as u64, 0, true));
        }
        let mut client = Client::new(Ws::new(7, PAYLOAD), WINDOW);
        send(&mut client);
        OPENED.bytes().for_each(|byte| assert_eq!(receive(&mut client, &[byte]).unwrap(), 0));
        send(&mut client);
        let (_, replies) = started();
        let counted = replies.iter().map(|byte| receive(&mut client, std::slice::from_ref(byte)).unwrap());
        assert_eq!(counted.sum::<u64>(), WINDOW as u64);
    }

    #[test]
    fn each_flipped_byte_is_caught_where_it_is() {
        for flipped in 0..WINDOW * FRAME {
            let (mut client, mut replies) = started();
            replies[flipped] ^= 1;
            let caught = receive(&mut client, &replies).unwrap_err().to_string();
            assert_eq!(caught, format!("reply {} differs at byte {}", flipped / FRAME, flipped % FRAME));
        }
    }

    #[test]
    fn lost_swapped_masked_and_surplus_replies_are_caught() {
        let (mut client, replies) = started();
        assert!(matches!(receive(&mut client, &replies[FRAME..]), Err(Fault::Differs { reply: 0, at: 2 })));
        let (mut client, _) = started();
        let swapped = [&replies[FRAME..2 * FRAME], &replies[..FRAME], &replies[2 * FRAME..]].concat();
        assert!(matches!(receive(&mut client, &swapped), Err(Fault::Differs { reply: 0, at: 2 })));
        let (mut client, _) = started();
        assert!(matches!(receive(&mut client, &[&replies, &b"\x82"[..]].concat()), Err(Fault::Surplus)));
        let (mut client, _) = started();
        receive(&mut client, &replies[..replies.len() - 1]).unwrap();
        assert_eq!(client.in_flight(), 1);
        let mut requests = Vec::new();
        WsMirror::new(7, PAYLOAD).request(&mut requests);
        let (mut client, _) = started();
        assert!(matches!(receive(&mut client, &requests), Err(Fault::Differs { reply: 0, at: 1 })));
        assert_eq!(WsMirror::new(7, PAYLOAD).replies(&requests).ok(), Some(1));
    }

    #[test]
    fn messages_that_nobody_asked_for_are_surplus() {
        let (_, replies) = started();
        for early in [&replies[..FRAME], &replies[..1]] {
            let mut client = Client::new(Ws::new(7, PAYLOAD), WINDOW);
            send(&mut client);
            let all = [OPENED.as_bytes(), early].concat();
            assert!(matches!(receive(&mut client, &all), Err(Fault::Surplus)));
        }
    }

    #[test]
    fn wrong_answers_to_the_handshake_are_caught() {
        for (from, to, why) in [
            ("101", "200", "has another status line"),
            ("HTTP/1.1", "HTTP/1.0", "has another status line"),
            ("WebSocket", "h2c", "does not upgrade to websocket"),
            ("Connection: Upgrade", "Connection: close", "does not upgrade to websocket"),
            ("Upgrade: WebSocket\r\n", "", "does not upgrade to websocket"),
            ("xOo=", "xOO=", "accepts another key"),
            ("Sec-WebSocket-Accept", "Sec-WebSocket-Accepts", "accepts no key"),
            ("Upgrade: W", "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\nUpgrade: W", "accepts twice"),
            ("Upgrade: W", "Sec-WebSocket-Extensions: x\r\nUpgrade: W", "has an extension that was not offered"),
            ("Upgrade: W", "Sec-WebSocket-Protocol: x\r\nUpgrade: W", "has a subprotocol that was not offered"),
            ("Upgrade: W", "Content-Length: 0\r\nUpgrade: W", "has a body"),
            ("Upgrade:", "Upgrade :", "has a line that is no field"),
        ] {
            let mut client = Client::new(Ws::new(7, PAYLOAD), WINDOW);
            send(&mut client);
            let caught = receive(&mut client, OPENED.replacen(from, to, 1).as_bytes()).unwrap_err().to_string();
            assert_eq!(caught, format!("the answer to the opening handshake {why}"), "{to}");
        }
    }
}
