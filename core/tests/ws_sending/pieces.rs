//! Messages in pieces: RFC 6455, section 5.4.

use crate::{
    common::ws::{SIDES, connection},
    frames,
};
use bytewise::{
    SendBuf,
    ws::{Config, Kind},
};

/// Kind, pieces, and the frames that come of them.
type Row<'p> = (Kind, &'p [&'p [u8]], Vec<(u8, Vec<u8>)>);

#[test]
fn fragments() {
    let b = |bytes: &[u8]| bytes.to_vec();
    let rows: [Row<'_>; 5] = [
        (Kind::Text, &[], vec![(0x81, b(b""))]),
        (Kind::Binary, &[b"", b""], vec![(0x82, b(b""))]),
        (Kind::Text, &[b"a"], vec![(0x01, b(b"a")), (0x80, b(b""))]),
        (Kind::Binary, &[b"", b"a", b"", b"b"], vec![(0x02, b(b"a")), (0x00, b(b"b")), (0x80, b(b""))]),
        (
            Kind::Text,
            &[b"\xE2", b"\x82", b"\xAC"],
            vec![(0x01, b(b"\xE2")), (0x00, b(b"\x82")), (0x00, b(b"\xAC")), (0x80, b(b""))],
        ),
    ];
    for side in SIDES {
        // One after the other on one connection.
        let (mut ws, mut tx) = (connection(side, &Config::default()), SendBuf::new());
        for (kind, pieces, expected) in &rows {
            ws.begin(*kind).unwrap();
            for piece in *pieces {
                ws.chunk(*piece, &mut tx).unwrap();
            }
            ws.finish(&mut tx).unwrap();
            assert_eq!(frames(&mut tx, side), *expected);
        }
        // Control frames between.
        ws.begin(Kind::Binary).unwrap();
        ws.ping(b"1", &mut tx).unwrap();
        ws.chunk(b"a", &mut tx).unwrap();
        ws.pong(b"2", &mut tx).unwrap();
        ws.finish(&mut tx).unwrap();
        ws.send_binary(b"b", &mut tx).unwrap();
        let order: Vec<_> = frames(&mut tx, side).into_iter().map(|(b0, _)| b0).collect();
        assert_eq!(order, [0x89, 0x02, 0x8A, 0x80, 0x82]);
    }
}
