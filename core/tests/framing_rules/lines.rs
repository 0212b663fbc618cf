//! Lines end in LF or CRLF; a CR elsewhere is part of the line.

use crate::{
    check,
    common::{BROKEN, CLEAN, OPEN},
    encoded,
};
use bytewise::framing::{Lines, Misuse, Unterminated};

#[test]
fn line_ends() {
    check(
        &Lines::new(10),
        &[
            (b"", OPEN, "read"),
            (b"a\nb\n", OPEN, "[a] [b] read"),
            (b"a\r\nb\r\n", OPEN, "[a] [b] read"),
            (b"\n\r\n\n", OPEN, "[] [] [] read"),
            (b"a\rb\n", OPEN, r"[a\rb] read"),
            (b"a\r\r\n", OPEN, r"[a\r] read"),
            (b"\r\r\r\n", OPEN, r"[\r\r] read"),
            (b"\n\r", OPEN, r"[] read +\r"),
            (b"a\n\rb\n", OPEN, r"[a] [\rb] read"),
            (b"a\nrest", OPEN, "[a] read +rest"),
            (b"a\nrest\r", OPEN, r"[a] read +rest\r"),
            (b"nul\0\xff\n", OPEN, r"[nul\x00\xff] read"),
        ],
    );
}

/// The limit is without the line's end, whichever it is.
#[test]
fn limits() {
    check(
        &Lines::new(3),
        &[
            (b"abc\n", OPEN, "[abc] read"),
            (b"abc\r\n", OPEN, "[abc] read"),
            (b"abcd\n", OPEN, "oversize(4) read"),
            (b"abcd\r\n", OPEN, "oversize(4) read"),
            (b"abc\r\r\n", OPEN, "oversize(4) read"),
            (b"ab\r\r\n", OPEN, r"[ab\r] read"),
            (b"\r\r\r\r\n", OPEN, r"[\r\r\r] read"),
            (b"\r\r\r\r\r\n", OPEN, "oversize(4) read"),
            (b"one\nmuch too long\ntwo\r\n", OPEN, "[one] oversize(13) [two] read"),
            (b"much too long\r\nagain too long\n\nab\n", OPEN, "oversize(13) oversize(14) [] [ab] read"),
            (b"too long\rtoo long\r\r\n!\n", OPEN, "oversize(18) [!] read"),
            (b"abc", OPEN, "read +abc"),
            (b"abc\r", OPEN, r"read +abc\r"),
            // What is too long is dropped as it comes.
            (b"abcd", OPEN, "read"),
            (b"abcd\r", OPEN, r"read +\r"),
        ],
    );
    check(
        &Lines::new(0),
        &[(b"\n\r\na\n\r\r\n\n", OPEN, "[] [] oversize(1) oversize(1) [] read"), (b"\r", OPEN, r"read +\r")],
    );
    check(&Lines::new(usize::MAX), &[(b"line\r\n", OPEN, "[line] read")]);
}

/// A last line without its end: a frame once, then the end; or an error.
#[test]
fn end_of_input() {
    check(
        &Lines::new(8),
        &[
            (b"", CLEAN, "close"),
            (b"", BROKEN, "close"),
            (b"line 1\n", CLEAN, "[line 1] close"),
            (b"line 1\n", BROKEN, "[line 1] close"),
            (b"line 1", CLEAN, "[line 1] close"),
            (b"line 1\r", CLEAN, r"[line 1\r] close"),
            (b"1234567\r", CLEAN, r"[1234567\r] close"),
            (b"12345678\r", CLEAN, "oversize(9) close"),
            (b"123456789", CLEAN, "oversize(9) close"),
            (b"too long, and more\r", CLEAN, "oversize(19) close"),
            (b"line 1", BROKEN, "!UnexpectedEof { seen: 6, expected: None } close"),
            (b"a\nline 1\r", BROKEN, "[a] !UnexpectedEof { seen: 7, expected: None } close"),
            (b"too long, and more", BROKEN, "!UnexpectedEof { seen: 18, expected: None } close"),
        ],
    );
    check(
        &Lines::new(8).with_unterminated(Unterminated::Refuse),
        &[
            (b"line 1\n", CLEAN, "[line 1] close"),
            (b"line 1", CLEAN, "!UnexpectedEof { seen: 6, expected: None } close"),
            (b"line 1\r", BROKEN, "!UnexpectedEof { seen: 7, expected: None } close"),
            (b"a\ntoo long, and more\r", CLEAN, "[a] !UnexpectedEof { seen: 19, expected: None } close"),
        ],
    );
}

#[test]
fn encoder() {
    let lf = Lines::new(5);
    let crlf = Lines::new(5).with_crlf();
    let wire = |bytes: &[u8]| Ok(bytes.to_vec());
    assert_eq!(encoded(&lf, b"hello"), wire(b"hello\n"));
    assert_eq!(encoded(&crlf, b"hello"), wire(b"hello\r\n"));
    assert_eq!(encoded(&lf, b""), wire(b"\n"));
    assert_eq!(encoded(&lf, b"a\rb"), wire(b"a\rb\n"));
    assert_eq!(encoded(&crlf, b"a\r"), wire(b"a\r\r\n"));
    assert_eq!(encoded(&lf, b"hello!"), Err(Misuse::TooLong));
    assert_eq!(encoded(&crlf, b"hello!"), Err(Misuse::TooLong));
    assert_eq!(encoded(&lf, b"a\nb"), Err(Misuse::Delimiter));
    assert_eq!(encoded(&crlf, b"a\nb"), Err(Misuse::Delimiter));
    // Would be taken for a part of the end.
    assert_eq!(encoded(&lf, b"a\r"), Err(Misuse::Delimiter));
}
