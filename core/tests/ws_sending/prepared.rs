//! Messages encoded once.

use crate::{
    common::ws::{SIDES, Side, connection},
    frames,
};
use bytewise::{
    SendBuf,
    ws::{Config, Kind, Prepared},
};

#[test]
fn plain() {
    for n in [0, 5, 126, 70_000] {
        let payload = "x".repeat(n);
        for (kind, b0) in [(Kind::Text, 0x81), (Kind::Binary, 0x82)] {
            let prepared = Prepared::new(kind, &payload).unwrap();
            for side in SIDES {
                let (mut ws, mut tx) = (connection(side, &Config::default()), SendBuf::new());
                ws.send_prepared(&prepared, &mut tx).unwrap();
                ws.send_prepared(&prepared.clone(), &mut tx).unwrap();
                let frame = (b0, payload.clone().into_bytes());
                assert_eq!(frames(&mut tx, side), [frame.clone(), frame]);
            }
        }
    }
}

/// From the threshold on it is shared by the servers that send it.
#[test]
fn shared() {
    let prepared = Prepared::new(Kind::Binary, vec![0; 5000]).unwrap();
    let places: Vec<_> = (0..3)
        .map(|_| {
            let (mut ws, mut tx) = (connection(Side::Server, &Config::default()), SendBuf::new());
            ws.send_prepared(&prepared, &mut tx).unwrap();
            tx.pending().as_ptr()
        })
        .collect();
    assert!(places.iter().all(|place| *place == places[0]));
}

/// The compressed form goes where it can be inflated; later messages do not refer to it or to what was before it.
#[cfg(feature = "deflate")]
#[test]
fn compressed() {
    use crate::common::ws::note;
    use bytewise::ws::{Deflate, Error};
    use bytewise::{Machine, RecvBuf};
    let text = "a message for many, a message for many, a message for many, a message for many, and one";
    let deflate = Deflate::default();
    let prepared = Prepared::compressed(Kind::Text, text, &deflate).unwrap();
    assert!(Prepared::compressed(Kind::Text, b"\xFF", &deflate).is_err());
    for side in SIDES {
        for (config, compressed) in [
            (Config::default(), false),
            (Config::default().with_deflate(deflate.clone()), true),
            (Config::default().with_deflate(deflate.clone().without_context_takeover()), true),
            // A window too small for it.
            (Config::default().with_deflate(deflate.clone().with_window_bits(9)), false),
        ] {
            let other = if side == Side::Server { Side::Client } else { Side::Server };
            let (mut ws, mut tx) = (connection(side, &config), SendBuf::new());
            ws.send_text(text, &mut tx).unwrap();
            ws.send_prepared(&prepared, &mut tx).unwrap();
            ws.send_text(text, &mut tx).unwrap();
            ws.send_prepared(&prepared, &mut tx).unwrap();
            ws.uncompressed().send_prepared(&prepared, &mut tx).unwrap();
            ws.send_text(text, &mut tx).unwrap();
            let sent = crate::common::ws::drain(&mut tx);
            let first: Vec<_> = crate::common::ws::split_frames(&sent, side).iter().map(|(b0, _)| *b0).collect();
            let by_itself = if config_is_plain(&config) { 0x81 } else { 0xC1 };
            let as_prepared = if compressed { 0xC1 } else { 0x81 };
            assert_eq!(first, [by_itself, as_prepared, by_itself, as_prepared, 0x81, by_itself]);

            // A peer with context takeover reads all of them.
            let reads = Config::default().with_deflate(deflate.clone());
            let mut peer = connection(other, &reads);
            let (mut rx, mut nothing, mut log) = (RecvBuf::new(), SendBuf::new(), crate::common::Log::default());
            rx.push(&sent);
            let mut count = 0;
            let end: Result<(), Error> = loop {
                match peer.next_event(&mut rx, &mut nothing) {
                    Ok(Some(event)) => {
                        assert_eq!(event, bytewise::ws::Event::Text(text));
                        let mut unused = connection(other, &Config::default());
                        note(event, &mut unused, &mut SendBuf::new(), &mut log);
                        count += 1;
                    }
                    Ok(None) => break Ok(()),
                    Err(error) => break Err(error),
                }
            };
            assert_eq!((end, count), (Ok(()), 6));
        }
    }
}

#[cfg(feature = "deflate")]
fn config_is_plain(config: &Config) -> bool {
    connection(Side::Server, config).negotiated().extensions().is_none()
}
