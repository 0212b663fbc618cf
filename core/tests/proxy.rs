//! The PROXY protocol, version 1 and 2: one row per rule of its specification, at every cut.

use bytewise::{
    SendBuf,
    framing::{ProxyError, ProxyHeader},
};
use proptest::prelude::*;
use std::net::{IpAddr, SocketAddr};

/// What a receiver makes of the bytes, whole and cut anywhere: `source > destination` or `-`, `+ extensions`, and what
/// of the bytes comes behind the header; `more` if it is cut off.
#[track_caller]
fn decoded(input: &[u8]) -> String {
    let describe = |bytes: &[u8]| match ProxyHeader::decode(bytes) {
        Ok(None) => "more".to_owned(),
        Ok(Some((header, len))) => {
            let mut text = match header.addresses {
                None => "-".to_owned(),
                Some((from, to)) => format!("{from} > {to}"),
            };
            if !header.extensions.is_empty() {
                text += &format!(" +{}", header.extensions.escape_ascii());
            }
            if len < input.len() {
                text += &format!(" | {}", input[len..].escape_ascii());
            }
            text
        }
        Err(error) => format!("!{error:?}"),
    };
    let whole = describe(input);
    // With less of it: first it is cut off, and then it is what it is with all of it.
    let mut verdict = None;
    for cut in 0..input.len() {
        let text = describe(&input[..cut]);
        match &verdict {
            None if text == "more" => {}
            None => {
                assert_eq!(text, whole, "the first {cut} bytes of {}", input.escape_ascii());
                verdict = Some(text);
            }
            Some(verdict) => assert_eq!(text, *verdict, "the first {cut} bytes of {}", input.escape_ascii()),
        }
    }
    whole
}

#[track_caller]
fn check(rows: &[(&[u8], &str)]) {
    let mut wrong = String::new();
    for (input, expected) in rows {
        let got = decoded(input);
        if got != *expected {
            wrong += &format!("\n{}\n  expected {expected}\n  got      {got}", input.escape_ascii());
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// Section 2: the receiver must not guess; a connection that begins otherwise is refused at the first byte that differs.
#[test]
fn signature() {
    check(&[
        (b"", "more"),
        (b"P", "more"),
        (b"PROXY ", "more"),
        (b"\r", "more"),
        (b"\r\n\r\n\0\r\nQUIT\n", "more"),
        (b"G", "!Signature"),
        (b"GET / HTTP/1.1\r\n", "!Signature"),
        (b"PROXX", "!Signature"),
        (b"proxy ", "!Signature"),
        (b"PROXY\r\n", "!Signature"),
        (b"PROXY\t", "!Signature"),
        (b" PROXY ", "!Signature"),
        (b"\n", "!Signature"),
        (b"\r\r", "!Signature"),
        (b"\r\n\r\n\0\r\nQUIT\r", "!Signature"),
        (b"\x16\x03\x01", "!Signature"),
    ]);
    let v2: &[u8] = b"\r\n\r\n\0\r\nQUIT\n\x20\0\0\0";
    for at in 0..12 {
        let mut input = v2.to_vec();
        input[at] ^= 1;
        assert_eq!(decoded(&input[..=at]), "!Signature");
        assert_eq!(decoded(&input[..at]), "more");
    }
}

/// Section 2.1, the human-readable header.
#[test]
fn v1() {
    check(&[
        (b"PROXY TCP4 203.0.113.7 198.51.100.1 35646 443\r\n", "203.0.113.7:35646 > 198.51.100.1:443"),
        (b"PROXY TCP4 255.255.255.255 255.255.255.255 65535 65535\r\nGET", "255.255.255.255:65535 > 255.255.255.255:65535 | GET"),
        (b"PROXY TCP4 0.0.0.0 0.0.0.0 0 0\r\n\r\n", r"0.0.0.0:0 > 0.0.0.0:0 | \r\n"),
        (b"PROXY TCP6 2001:db8::7 ::1 1 2\r\n", "[2001:db8::7]:1 > [::1]:2"),
        (
            b"PROXY TCP6 ffff:f...f:ffff ffff:f...f:ffff 65535 65535\r\n",
            "!Address",
        ),
        (
            b"PROXY TCP6 ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff 65535 65535\r\n",
            "[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:65535 > [ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:65535",
        ),
        // The end of the line is still to come.
        (b"PROXY TCP4 203.0.113.7 198.51.100.1 35646 443\r", "more"),
        (b"PROXY TCP4 203.0.113.7 198.51.100.1 35646 443\n", "more"),
        (b"PROXY ", "more"),
    ]);
}

#[test]
fn v1_unknown() {
    let longest = [b"PROXY UNKNOWN ", &[b'f'; 91][..], b"\r\n"].concat();
    assert_eq!(longest.len(), 107);
    check(&[
        (b"PROXY UNKNOWN\r\n", "-"),
        (b"PROXY UNKNOWN\r\nrest", "- | rest"),
        // Whatever comes before the end of the line is to be ignored.
        (b"PROXY UNKNOWN 1.2.3.4 5.6.7.8 1 2\r\n", "-"),
        (b"PROXY UNKNOWN  \r \n what ever\r\n", "-"),
        (b"PROXY UNKNOWN \xff\xfe\0\r\n", "-"),
        (&longest, "-"),
        (b"PROXY UNKNOWNS\r\n", "!Family"),
        (b"PROXY unknown\r\n", "!Family"),
    ]);
}

#[test]
fn v1_malformed() {
    check(&[
        (b"PROXY \r\n", "!Family"),
        (b"PROXY TCP\r\n", "!Family"),
        (b"PROXY tcp4 1.2.3.4 5.6.7.8 1 2\r\n", "!Family"),
        (b"PROXY UDP4 1.2.3.4 5.6.7.8 1 2\r\n", "!Family"),
        (b"PROXY  TCP4 1.2.3.4 5.6.7.8 1 2\r\n", "!Family"),
        (b"PROXY TCP4\r\n", "!Address"),
        (b"PROXY TCP4 1.2.3.4\r\n", "!Address"),
        (b"PROXY TCP4 1.2.3.4 5.6.7.8\r\n", "!Address"),
        (b"PROXY TCP4 1.2.3.4 5.6.7.8 1\r\n", "!Address"),
        (b"PROXY TCP4 1.2.3.4 5.6.7.8 1 \r\n", "!Address"),
        (b"PROXY TCP4 1.2.3.4 5.6.7.8 1 2 \r\n", "!Address"),
        (b"PROXY TCP4 1.2.3.4 5.6.7.8 1 2 3\r\n", "!Address"),
        (b"PROXY TCP4  1.2.3.4 5.6.7.8 1 2\r\n", "!Address"),
        (b"PROXY TCP4 1.2.3.4\t5.6.7.8 1 2\r\n", "!Address"),
        (b"PROXY TCP4 1.2.3.4 5.6.7.8 1 2\r\r\n", "!Address"),
        (b"PROXY TCP4 1.2.3.4 5.6.7.8 1 2\n\r\n", "!Address"),
        // One family.
        (b"PROXY TCP4 ::1 ::1 1 2\r\n", "!Address"),
        (b"PROXY TCP4 1.2.3.4 ::1 1 2\r\n", "!Address"),
        (b"PROXY TCP6 1.2.3.4 5.6.7.8 1 2\r\n", "!Address"),
        // Addresses in their canonical form.
        (b"PROXY TCP4 1.2.3 5.6.7.8 1 2\r\n", "!Address"),
        (b"PROXY TCP4 1.2.3.256 5.6.7.8 1 2\r\n", "!Address"),
        (b"PROXY TCP4 01.2.3.4 5.6.7.8 1 2\r\n", "!Address"),
        (b"PROXY TCP4 1.2.3.4 5.6.7.8/8 1 2\r\n", "!Address"),
        (b"PROXY TCP4 example.org 5.6.7.8 1 2\r\n", "!Address"),
        (b"PROXY TCP6 fe80::1%eth0 ::1 1 2\r\n", "!Address"),
        (b"PROXY TCP6 [::1] ::1 1 2\r\n", "!Address"),
        (b"PROXY TCP6 1::2::3 ::1 1 2\r\n", "!Address"),
        (b"PROXY TCP4 1.2.3.4 5.6.7.8\xff 1 2\r\n", "!Address"),
        // Ports between 0 and 65535, without leading zeros.
        (b"PROXY TCP4 1.2.3.4 5.6.7.8 01 2\r\n", "!Address"),
        (b"PROXY TCP4 1.2.3.4 5.6.7.8 00 2\r\n", "!Address"),
        (b"PROXY TCP4 1.2.3.4 5.6.7.8 1 65536\r\n", "!Address"),
        (b"PROXY TCP4 1.2.3.4 5.6.7.8 1 99999999999\r\n", "!Address"),
        (b"PROXY TCP4 1.2.3.4 5.6.7.8 +1 2\r\n", "!Address"),
        (b"PROXY TCP4 1.2.3.4 5.6.7.8 -1 2\r\n", "!Address"),
        (b"PROXY TCP4 1.2.3.4 5.6.7.8 0x1 2\r\n", "!Address"),
        (b"PROXY TCP4 1.2.3.4 5.6.7.8 1a 2\r\n", "!Address"),
    ]);
}

/// A line of at most 107 bytes, its end included.
#[test]
fn v1_too_long() {
    let line = |len: usize| [b"PROXY UNKNOWN ", &vec![b'x'; len - 16][..], b"\r\n"].concat();
    check(&[
        (&line(107), "-"),
        (&line(108), "!TooLong"),
        (&line(5000), "!TooLong"),
        (&line(108)[..107], "!TooLong"),
        (&line(108)[..106], "more"),
        (&[b"PROXY ", &[b'\n'; 200][..]].concat(), "!TooLong"),
    ]);
}

/// Signature, version and command, family and transport, length, and the rest.
fn v2(version_command: u8, family: u8, rest: &[u8]) -> Vec<u8> {
    let len = (rest.len() as u16).to_be_bytes();
    [b"\r\n\r\n\0\r\nQUIT\n", &[version_command, family][..], &len, rest].concat()
}

const INET: &[u8] = &[203, 0, 113, 7, 198, 51, 100, 1, 0x8B, 0x3E, 1, 0xBB];
const FROM_INET: &str = "203.0.113.7:35646 > 198.51.100.1:443";
const INET6: &[u8] = &[
    0x20, 1, 0x0D, 0xB8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7, //
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 2,
];
const FROM_INET6: &str = "[2001:db8::7]:1 > [::1]:2";

/// Section 2.2, the binary header.
#[test]
fn v2_addresses() {
    let with = |addresses: &[u8], more: &[u8]| [addresses, more].concat();
    check(&[
        (&v2(0x21, 0x11, INET), FROM_INET),
        (&v2(0x21, 0x12, INET), FROM_INET),
        (&v2(0x21, 0x21, INET6), FROM_INET6),
        (&v2(0x21, 0x22, INET6), FROM_INET6),
        (&v2(0x21, 0x31, &[b'/'; 216]), "-"),
        (&v2(0x21, 0x32, &[0; 216]), "-"),
        (&v2(0x21, 0x00, b""), "-"),
        (&with(&v2(0x21, 0x11, INET), b"\x16\x03\x01"), &format!(r"{FROM_INET} | \x16\x03\x01")),
        // What comes behind the addresses are extensions.
        (&v2(0x21, 0x11, &with(INET, b"\x01\0\x02h2")), &format!(r"{FROM_INET} +\x01\x00\x02h2")),
        (&v2(0x21, 0x21, &with(INET6, b"\x04\0\0")), &format!(r"{FROM_INET6} +\x04\x00\x00")),
        (&v2(0x21, 0x31, &with(&[0; 216], b"\x04\0\0")), r"- +\x04\x00\x00"),
        // Of an unspecified family the length is heeded all the same.
        (&with(&v2(0x20, 0x00, b"whatever"), b"rest"), "- | rest"),
    ]);
    assert!(decoded(&with(&v2(0x21, 0x00, b"whatever"), b"rest")).ends_with("| rest"));
}

/// `LOCAL`: the connection is the balancer's own, and the rest of the block, its family included, is to be ignored.
#[test]
fn v2_local() {
    check(&[
        (&v2(0x20, 0x00, b""), "-"),
        (&v2(0x20, 0x11, INET), "-"),
        (&v2(0x20, 0x21, INET6), "-"),
        (&v2(0x20, 0x11, b"short"), "-"),
        (&v2(0x20, 0x00, b"\x03\0\x04\x01\x02\x03\x04"), "-"),
        (&v2(0x20, 0x01, b""), "-"),
        (&v2(0x20, 0xFF, b"of a later version"), "-"),
    ]);
}

#[test]
fn v2_malformed() {
    check(&[
        (&v2(0x11, 0x11, INET), "!Version"),
        (&v2(0x01, 0x11, INET), "!Version"),
        (&v2(0x31, 0x11, INET), "!Version"),
        (&v2(0xFF, 0x11, INET), "!Version"),
        (&v2(0x22, 0x11, INET), "!Command"),
        (&v2(0x2F, 0x00, b""), "!Command"),
        (&v2(0x21, 0x13, INET), "!Family"),
        (&v2(0x21, 0x41, INET), "!Family"),
        (&v2(0x21, 0xFF, INET), "!Family"),
        (&v2(0x21, 0x11, &INET[..11]), "!Address"),
        (&v2(0x21, 0x11, b""), "!Address"),
        (&v2(0x21, 0x21, INET), "!Address"),
        (&v2(0x21, 0x21, &INET6[..35]), "!Address"),
        (&v2(0x21, 0x31, &[0; 215]), "!Address"),
    ]);
}

/// The length is refused before that much has come.
#[test]
fn v2_too_long() {
    let longest = [INET, &[7; ProxyHeader::MAX_LEN - 16 - 12][..]].concat();
    assert!(decoded(&v2(0x21, 0x11, &longest)).starts_with(FROM_INET));
    check(&[
        (&v2(0x21, 0x11, &[0; ProxyHeader::MAX_LEN - 15])[..16], "!TooLong"),
        (&v2(0x20, 0x00, &[0; 65_535])[..16], "!TooLong"),
        (&v2(0x21, 0x11, INET)[..27], "more"),
        (&v2(0x20, 0x00, &[0; 10])[..25], "more"),
    ]);
}

type Encode = fn(&ProxyHeader<'_>, &mut SendBuf) -> Result<(), ProxyError>;
const V1: Encode = |header, tx| header.encode_v1(tx);
const V2: Encode = |header, tx| header.encode_v2(tx);

fn encoded(header: &ProxyHeader<'_>, encode: Encode) -> Result<Vec<u8>, ProxyError> {
    let mut tx = SendBuf::new();
    tx.put("before ");
    let result = encode(header, &mut tx);
    let wire = tx.pending().strip_prefix(b"before ").unwrap();
    assert!(result.is_ok() || wire.is_empty(), "something of a header that was refused is queued");
    result.map(|()| wire.to_vec())
}

fn pair(from: &str, to: &str) -> ProxyHeader<'static> {
    ProxyHeader::new(Some((from.parse().unwrap(), to.parse().unwrap())))
}

#[test]
fn encoders() {
    let inet = pair("203.0.113.7:35646", "198.51.100.1:443");
    let inet6 = pair("[2001:db8::7]:1", "[::1]:2");
    let unknown = ProxyHeader::new(None);
    let text = |line: &str| Ok(line.as_bytes().to_vec());
    assert_eq!(encoded(&inet, V1), text("PROXY TCP4 203.0.113.7 198.51.100.1 35646 443\r\n"));
    assert_eq!(encoded(&inet6, V1), text("PROXY TCP6 2001:db8::7 ::1 1 2\r\n"));
    assert_eq!(encoded(&unknown, V1), text("PROXY UNKNOWN\r\n"));
    assert_eq!(encoded(&inet, V2), Ok(v2(0x21, 0x11, INET)));
    assert_eq!(encoded(&inet6, V2), Ok(v2(0x21, 0x21, INET6)));
    assert_eq!(encoded(&unknown, V2), Ok(v2(0x20, 0x00, b"")));

    let tls = b"\x01\0\x02h2";
    assert_eq!(encoded(&inet.with_extensions(tls), V2), Ok(v2(0x21, 0x11, &[INET, tls].concat())));
    assert_eq!(encoded(&unknown.with_extensions(tls), V2), Ok(v2(0x20, 0x00, tls)));
    assert_eq!(encoded(&inet.with_extensions(tls), V1), encoded(&inet, V1));
}

#[test]
fn encoders_refuse() {
    for (from, to) in [("1.2.3.4:1", "[::1]:2"), ("[::1]:1", "1.2.3.4:2")] {
        assert_eq!(encoded(&pair(from, to), V1), Err(ProxyError::Address));
        assert_eq!(encoded(&pair(from, to), V2), Err(ProxyError::Address));
    }
    let inet = pair("1.2.3.4:1", "5.6.7.8:2");
    let most = vec![7; ProxyHeader::MAX_LEN - 28];
    assert_eq!(encoded(&inet.with_extensions(&most), V2).map(|wire| wire.len()), Ok(ProxyHeader::MAX_LEN));
    for len in [most.len() + 1, 65_523, 65_524, 100_000] {
        assert_eq!(encoded(&inet.with_extensions(&vec![7; len]), V2), Err(ProxyError::TooLong));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// What is sent comes out again, in both versions.
    #[test]
    fn round_trip(
        from in any::<[u8; 16]>(),
        to in any::<[u8; 16]>(),
        ports in any::<(u16, u16)>(),
        v6 in any::<bool>(),
        extensions in proptest::collection::vec(any::<u8>(), 0..50),
    ) {
        let ip = |bytes: [u8; 16]| match v6 {
            true => IpAddr::from(bytes),
            false => IpAddr::from([bytes[0], bytes[1], bytes[2], bytes[3]]),
        };
        let addresses = (SocketAddr::new(ip(from), ports.0), SocketAddr::new(ip(to), ports.1));
        let header = ProxyHeader::new(Some(addresses)).with_extensions(&extensions);
        for (encode, expected) in [(V1, ProxyHeader::new(Some(addresses))), (V2, header)] {
            let wire = encoded(&header, encode).unwrap();
            prop_assert_eq!(ProxyHeader::decode(&wire), Ok(Some((expected, wire.len()))));
            prop_assert_eq!(ProxyHeader::decode(&wire[..wire.len() - 1]), Ok(None));
        }
    }

    /// No input makes it panic, and a verdict stays whatever comes behind.
    #[test]
    fn any_bytes(input in proptest::collection::vec(any::<u8>(), 0..300), begin in 0usize..4) {
        let begins: [&[u8]; 4] = [b"", b"PROXY TCP4 ", b"PROXY UNKNOWN", b"\r\n\r\n\0\r\nQUIT\n"];
        decoded(&[begins[begin], &input].concat());
    }
}

#[test]
fn errors_in_words() {
    for (error, text) in [
        (ProxyError::Signature, "the connection does not begin with a PROXY protocol header"),
        (ProxyError::Version, "unknown version of the PROXY protocol"),
        (ProxyError::Command, "unknown command of the PROXY protocol"),
        (ProxyError::Family, "unknown address family in a PROXY protocol header"),
        (ProxyError::Address, "malformed addresses in a PROXY protocol header"),
        (ProxyError::TooLong, "a PROXY protocol header is too long"),
    ] {
        assert_eq!((&error as &dyn std::error::Error).to_string(), text);
    }
}
