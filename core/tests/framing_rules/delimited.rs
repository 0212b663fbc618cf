//! Frames that end in a byte string, whatever it is.

use crate::{
    any_split, check,
    common::{BROKEN, CLEAN, Input, OPEN},
    encoded,
};
use bytewise::framing::{Delimited, Misuse, Unterminated};

fn by(delimiter: &'static [u8], max_len: usize) -> Delimited {
    Delimited::new(delimiter, max_len)
}

#[test]
fn delimiters() {
    check(
        &by(b"\0", 9),
        &[
            (b"", OPEN, "read"),
            (b"a\0\0b\0rest", OPEN, "[a] [] [b] read +rest"),
            (b"a\nb\r\n\0", OPEN, r"[a\nb\r\n] read"),
        ],
    );
    check(
        &by(b"\r\n", 9),
        &[
            (b"a\r\nb\r\n", OPEN, "[a] [b] read"),
            (b"\r\n\r\n", OPEN, "[] [] read"),
            (b"\r\r\n", OPEN, r"[\r] read"),
            (b"a\rb\nc\n\rd\r\n", OPEN, r"[a\rb\nc\n\rd] read"),
            (b"a\n", OPEN, r"read +a\n"),
            (b"a\r", OPEN, r"read +a\r"),
        ],
    );
    check(
        &by(b"\r\n.\r\n", 99),
        &[
            (b"Subject: hi\r\n\r\nhello\r\n.\r\nnext\r\n.\r\n", OPEN, r"[Subject: hi\r\n\r\nhello] [next] read"),
            (b"\r\n.\r\n.\r\n", OPEN, r"[] read +.\r\n"),
            (b"\r\n.\r\r\n..\r\n.\r\n", OPEN, r"[\r\n.\r\r\n..] read"),
        ],
    );
}

/// The first delimiter ends a frame, and what it used up does not begin another one.
#[test]
fn delimiters_that_overlap_themselves() {
    check(
        &by(b"aa", 9),
        &[
            (b"aa", OPEN, "[] read"),
            (b"aaa", OPEN, "[] read +a"),
            (b"aaaa", OPEN, "[] [] read"),
            (b"baab", OPEN, "[b] read +b"),
            (b"abaaaba", OPEN, "[ab] read +aba"),
        ],
    );
    check(
        &by(b"abab", 9),
        &[
            (b"abab", OPEN, "[] read"),
            (b"ababab", OPEN, "[] read +ab"),
            (b"abaabab", OPEN, "[aba] read"),
            (b"aababab", OPEN, "[a] read +ab"),
            (b"abacabab", OPEN, "[abac] read"),
        ],
    );
    check(
        &by(b"aab", 9),
        &[(b"aaab", OPEN, "[a] read"), (b"aaaaab", OPEN, "[aaa] read"), (b"abaab", OPEN, "[ab] read")],
    );
    check(
        &by(b"aabaaab", 9),
        &[
            (b"aabaabaaab", OPEN, "[aab] read"),
            (b"aabaaaabaaab", OPEN, "[aabaa] read"),
            (b"aaabaaab", OPEN, "[a] read"),
        ],
    );
}

#[test]
fn kept() {
    check(
        &by(b"\r\n", 3).keep_delimiter(),
        &[
            (b"a\r\n\r\nabc\r\n", OPEN, r"[a\r\n] [\r\n] [abc\r\n] read"),
            // It is not counted.
            (b"abcd\r\na\r\n", OPEN, r"oversize(4) [a\r\n] read"),
            (b"abc\r", CLEAN, r"!UnexpectedEof { seen: 4, expected: None } close"),
        ],
    );
    let deliver = by(b"\r\n", 3).keep_delimiter().with_unterminated(Unterminated::Deliver);
    check(
        &deliver,
        &[
            (b"a\r\nb", CLEAN, r"[a\r\n] [b] close"),
            (b"a\r\nb", BROKEN, r"[a\r\n] !UnexpectedEof { seen: 1, expected: None } close"),
        ],
    );
}

/// A frame that is too long is told of once, when it ends, with its length; the stream goes on behind it.
#[test]
fn too_long() {
    check(
        &by(b"\r\n", 3),
        &[
            (b"abc\r\n", OPEN, "[abc] read"),
            (b"abcd\r\n", OPEN, "oversize(4) read"),
            (b"abc\r\r\n", OPEN, "oversize(4) read"),
            (b"ab\rd\r\nabc\r\n", OPEN, "oversize(4) [abc] read"),
            (b"0123456789\r0123456789\n\r\r\n!\r\n", OPEN, "oversize(23) [!] read"),
            (b"one\r\n0123456789\r\n0123\r\ntwo\r\n", OPEN, "[one] oversize(10) oversize(4) [two] read"),
            (b"012345\r", OPEN, r"read +\r"),
        ],
    );
    check(
        &by(b"abab", 3),
        &[
            (b"ababxyzabababxyzzababaabab", OPEN, "[] [xyz] oversize(6) [a] read"),
            (b"xxxxabaabab", OPEN, "oversize(7) read"),
            (b"abaabab", OPEN, "[aba] read"),
            (b"aabaabab", OPEN, "oversize(4) read"),
        ],
    );
    check(&by(b"aaa", 0), &[(b"aaabaaaaa", OPEN, "[] oversize(1) read +aa")]);
    check(&by(b"\0", 0), &[(b"\0a\0\0", OPEN, "[] oversize(1) [] read")]);
    check(&by(b";", usize::MAX), &[(b"a;", OPEN, "[a] read")]);
}

/// What is dropped of it is dropped in every cut alike.
#[test]
fn too_long_and_under_way() {
    check(
        &by(b"\r\n.\r\n", 3),
        &[
            (b"0123456789", OPEN, "read"),
            (b"0123456789\r\n.", OPEN, r"read +\r\n."),
            (b"01234567890123456789\r\n.\r\r\n!", OPEN, "read"),
        ],
    );
}

#[test]
fn end_of_input() {
    check(
        &by(b"\r\n", 3),
        &[
            (b"", CLEAN, "close"),
            (b"", BROKEN, "close"),
            (b"a\r\n", CLEAN, "[a] close"),
            (b"a\r\nb", CLEAN, "[a] !UnexpectedEof { seen: 1, expected: None } close"),
            (b"\r", BROKEN, "!UnexpectedEof { seen: 1, expected: None } close"),
            (b"0123456789\r", CLEAN, "!UnexpectedEof { seen: 11, expected: None } close"),
            (b"0123456789\r\n", CLEAN, "oversize(10) close"),
        ],
    );
    check(
        &by(b"\r\n", 3).with_unterminated(Unterminated::Deliver),
        &[
            (b"", CLEAN, "close"),
            (b"a\r\n", CLEAN, "[a] close"),
            (b"a\r\nb", CLEAN, "[a] [b] close"),
            (b"ab\r", CLEAN, r"[ab\r] close"),
            (b"abc\r", CLEAN, "oversize(4) close"),
            (b"0123456789\r", CLEAN, "oversize(11) close"),
            (b"0123456789", CLEAN, "oversize(10) close"),
            (b"b", BROKEN, "!UnexpectedEof { seen: 1, expected: None } close"),
            (b"0123456789\r", BROKEN, "!UnexpectedEof { seen: 11, expected: None } close"),
        ],
    );
}

#[test]
fn encoder() {
    let wire = |bytes: &[u8]| Ok(bytes.to_vec());
    let refused = Err(Misuse::Delimiter);
    let crlf = by(b"\r\n", 4);
    assert_eq!(encoded(&crlf, b"abcd"), wire(b"abcd\r\n"));
    assert_eq!(encoded(&crlf, b""), wire(b"\r\n"));
    assert_eq!(encoded(&crlf, b"\r\r"), wire(b"\r\r\r\n"));
    assert_eq!(encoded(&crlf, b"\n\r"), wire(b"\n\r\r\n"));
    assert_eq!(encoded(&crlf, b"abcde"), Err(Misuse::TooLong));
    assert_eq!(encoded(&crlf, b"a\r\nb"), refused);

    // What only the boundary makes a delimiter: the frame would end too early.
    let aa = by(b"aa", 9);
    assert_eq!(encoded(&aa, b"b"), wire(b"baa"));
    assert_eq!(encoded(&aa, b"ba"), refused);
    assert_eq!(encoded(&aa, b"a"), refused);
    let abab = by(b"abab", 9);
    assert_eq!(encoded(&abab, b"ab"), refused);
    assert_eq!(encoded(&abab, b"aba"), wire(b"abaabab"));
    assert_eq!(encoded(&abab, b"xxab"), refused);

    let kept = by(b"\r\n", 4).keep_delimiter();
    assert_eq!(encoded(&kept, b"abcd\r\n"), wire(b"abcd\r\n"));
    assert_eq!(encoded(&kept, b"\r\n"), wire(b"\r\n"));
    assert_eq!(encoded(&kept, b"abcde\r\n"), Err(Misuse::TooLong));
    assert_eq!(encoded(&kept, b"abcd"), refused);
    assert_eq!(encoded(&kept, b""), refused);
    assert_eq!(encoded(&kept, b"a\r\nb\r\n"), refused);
}

#[test]
#[should_panic(expected = "a delimiter needs a byte")]
fn a_delimiter_has_a_byte() {
    let _ = by(b"", 1);
}

/// Every delimiter of up to four letters out of two, against a search that tries every place.
#[test]
fn against_a_naive_search() {
    for bits in 2u32..32 {
        // 1xyz: the bits below the leading one.
        let letters =
            |bits: u32| -> Vec<u8> { (0..bits.ilog2()).rev().map(|at| b"ab"[(bits >> at & 1) as usize]).collect() };
        let delimiter = letters(bits);
        for input in 1u32..256 {
            let input = letters(input | 256);
            for max_len in [1, 9] {
                let framing = Delimited::new(delimiter.clone(), max_len);
                let mut expected = String::new();
                let mut rest = &input[..];
                while let Some(at) = rest.windows(delimiter.len()).position(|window| window == delimiter) {
                    expected += &match at <= max_len {
                        true => format!("[{}] ", rest[..at].escape_ascii()),
                        false => format!("oversize({at}) "),
                    };
                    rest = &rest[at + delimiter.len()..];
                }
                let log = one_by_one(&framing, &input);
                assert_eq!(log, expected, "{} in {}", delimiter.escape_ascii(), input.escape_ascii());
            }
        }
    }
    // And through the helper for a sample of them.
    for delimiter in [&b"aab"[..], b"abaa", b"bab"] {
        let log = any_split(&by(delimiter, 3), Input::new(b"abaabaabaabbabaaabababaabbaabab"));
        assert!(log.ends_with("read") || log.contains("read +"), "{log}");
    }
}

fn one_by_one(framing: &Delimited, input: &[u8]) -> String {
    use bytewise::{Machine, RecvBuf, SendBuf, framing::Framed};
    let (mut rx, mut tx, mut log) = (RecvBuf::new(), SendBuf::new(), crate::Log::default());
    let mut frames = Framed::new(framing.clone());
    for byte in input {
        rx.push(&[*byte]);
        while let Some(frame) = frames.next_event(&mut rx, &mut tx).unwrap() {
            crate::frames(frame, &mut Framed::new(framing.clone()), &mut tx, &mut log);
        }
    }
    log.into_text()
}
