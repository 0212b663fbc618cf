//! [`Spare`]: memory goes to whoever works, and comes back when nothing is left.

use bytewise::{RecvBuf, SendBuf, Spare};

struct Connection {
    rx: RecvBuf,
    tx: SendBuf,
}

impl Connection {
    const fn new() -> Self {
        Self { rx: RecvBuf::new(), tx: SendBuf::new() }
    }

    fn memory(&self) -> usize {
        self.rx.capacity() + self.tx.capacity()
    }

    /// One wake-up: `n` bytes come, and are sent back.
    fn work(&mut self, spare: &mut Spare, n: usize) {
        spare.lend(&mut self.rx, &mut self.tx);
        let mut left = n;
        while left > 0 {
            let space = self.rx.space().len().min(left);
            self.rx.filled(space);
            left -= space;
        }
        self.tx.put(&*self.rx.take(n));
        self.tx.consume(n);
        spare.take_back(&mut self.rx, &mut self.tx);
    }
}

#[test]
fn connections_that_wait_hold_nothing() {
    let (mut spare, mut connections) = (Spare::new(), [const { Connection::new() }; 10]);
    for connection in &mut connections {
        connection.work(&mut spare, 3000);
    }
    let info = allocation_counter::measure(|| {
        for _ in 0..100 {
            for connection in &mut connections {
                connection.work(&mut spare, 3000);
                assert_eq!(connection.memory(), 0);
            }
        }
    });
    assert_eq!(info.count_total, 0);
}

/// What is unread or not yet written stays where it is.
#[test]
fn what_holds_bytes_keeps_its_memory() {
    let (mut spare, mut a, mut b) = (Spare::new(), Connection::new(), Connection::new());
    a.work(&mut spare, 10);
    spare.lend(&mut a.rx, &mut a.tx);
    a.rx.push(b"part of a frame");
    a.tx.put("not yet written");
    spare.take_back(&mut a.rx, &mut a.tx);
    assert_eq!((a.rx.unread(), a.tx.pending()), (&b"part of a frame"[..], &b"not yet written"[..]));

    // Another one is given none, and what it leaves does not get into the way.
    b.work(&mut spare, 10);
    spare.lend(&mut a.rx, &mut a.tx);
    assert_eq!((a.rx.unread(), a.tx.pending()), (&b"part of a frame"[..], &b"not yet written"[..]));
    a.tx.consume(15);
    a.tx.put_external(1);
    a.rx.take(15);
    spare.take_back(&mut a.rx, &mut a.tx);
    assert_eq!((a.tx.external(), a.rx.capacity()), (Some(1), 0));
    a.tx.external_written(1);
    a.rx.parts().1.push(7);
    spare.take_back(&mut a.rx, &mut a.tx);
    assert_eq!((a.rx.parts().1.as_slice(), a.tx.capacity()), (&[7][..], 0));
}

/// No bytes of one connection are seen by another.
#[test]
fn nothing_leaks() {
    let (mut spare, mut a, mut b) = (Spare::new(), Connection::new(), Connection::new());
    spare.lend(&mut a.rx, &mut a.tx);
    a.rx.push(b"secret");
    a.rx.take(6);
    a.tx.put("secret");
    a.tx.consume(6);
    spare.take_back(&mut a.rx, &mut a.tx);
    spare.lend(&mut b.rx, &mut b.tx);
    assert_eq!((b.rx.unread(), b.tx.pending(), b.rx.is_idle(), b.tx.is_empty()), (&b""[..], &b""[..], true, true));
}

/// What one large message needed is given back once there were enough rounds without.
#[test]
fn a_peak_is_given_back() {
    let (mut spare, mut connections) = (Spare::new(), [const { Connection::new() }; 3]);
    connections[0].work(&mut spare, 8 << 20);
    for round in 0..100 {
        connections[round % 3].work(&mut spare, 100);
    }
    let mut connection = Connection::new();
    spare.lend(&mut connection.rx, &mut connection.tx);
    assert!(connection.rx.capacity() <= 4 * RecvBuf::READ_AHEAD, "{} to receive", connection.rx.capacity());
    assert!(connection.tx.capacity() <= SendBuf::KEEP, "{} to send", connection.tx.capacity());
}

#[test]
fn more_than_it_keeps_is_freed() {
    let (mut spare, mut connection) = (Spare::new(), Connection::new());
    connection.work(&mut spare, Spare::KEEP + 1);
    assert_eq!(connection.memory(), 0);
    spare.lend(&mut connection.rx, &mut connection.tx);
    assert_eq!(connection.memory(), 0);
}
