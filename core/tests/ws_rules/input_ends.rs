//! Input ends without a close frame (RFC 6455, section 7.1.5): how much of what came.

use crate::common::{
    BROKEN, CLEAN,
    ws::{SIDES, Side, both, f, one, wire},
};
use bytewise::ws::{Config, Delivery, Error};

/// At every byte of a frame: what is seen, and what is expected once the header is there.
#[test]
fn inside_a_frame() {
    for delivery in [Delivery::Messages, Delivery::Chunks] {
        let config = Config::default().with_delivery(delivery);
        for side in SIDES {
            for (b0, len) in [(0x82, 5), (0x81, 5), (2, 5), (0x89, 5), (0x88, 5), (0x82, 200), (0x81, 200)] {
                let payload = if b0 == 0x88 { b"\x03\xE8abc".to_vec() } else { vec![b'x'; len] };
                let whole = wire(side, &[f(b0, &payload)]);
                let header = whole.len() - len;
                for cut in (0..whole.len()).filter(|cut| *cut < header + 8 || cut % 37 == 0) {
                    for eof in [CLEAN, BROKEN] {
                        let expected = (cut >= header).then_some(whole.len() as u64);
                        let error = Error::UnexpectedEof { seen: cut as u64, expected };
                        let is_chunk = delivery == Delivery::Chunks && matches!(b0, 1 | 2 | 0x81 | 0x82);
                        let before = if is_chunk && cut > header {
                            format!("{{{}}} ", crate::common::ws::shown(&payload[..cut - header]))
                        } else {
                            String::new()
                        };
                        let input = crate::common::Input::new(&whole[..cut]).ending(eof);
                        let log = crate::common::ws::receive(side, &config, input);
                        assert_eq!(log, format!("{before}!{error:?} close"), "{side:?} {b0:02x} {len} {cut}");
                    }
                }
            }
        }
    }
}

/// Between frames nothing is missing of one, though a message may be.
#[test]
fn between_frames() {
    let config = Config::default();
    let nothing = "!UnexpectedEof { seen: 0, expected: None }";
    for eof in [CLEAN, BROKEN] {
        both(&config, eof, "6455 7.1.5", &[], nothing);
        both(&config, eof, "6455 7.1.5", &[f(0x81, "a")], &format!("(a) {nothing}"));
        both(&config, eof, "6455 7.1.5", &[f(1, "a")], nothing);
        both(&config, eof, "6455 7.1.5", &[f(1, "a"), f(0, "b"), f(0x89, "")], &format!("ping[] {nothing} >pong[]"));
        both(&config, eof, "6455 7.1.1", &[f(0x88, "")], "close >close");
        // The violation comes first.
        one(
            Side::Client,
            &config,
            eof,
            "6455 8.1",
            &[crate::common::ws::raw(0x81, &[5], b"a\xFF")],
            "!Utf8 >close(1007)",
        );
    }
    let error = Error::UnexpectedEof { seen: 3, expected: Some(9) };
    assert_eq!(error.to_string(), "input ended after 3 of 9 bytes of a frame");
    assert_eq!(error.close_code(), None);
}
