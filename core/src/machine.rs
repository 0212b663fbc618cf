use crate::{RecvBuf, SendBuf};

/// A protocol as a state machine over bytes that the caller owns. It never opens a socket, reads a clock or waits.
///
/// A round, for whoever does the I/O:
///
/// ```text
///  ┌─▶ take events until there are none ─▶ write `tx` ─▶ poll once more if that wrote anything ─▶ do what `next_io` says ─┐
///  └──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────┘
/// ```
///
/// What every implementation in this crate keeps, and one of your own should:
///
/// * **Any cut is the same.** However the input is cut into blocks, events, output and errors are the same, and the work
///   is linear in the bytes.
/// * **Errors are final.** After one, every later call returns it again; what answers the peer is in `tx` already, and
///   nothing that came before it is lost.
/// * **Misuse changes nothing.** What the caller does wrong is another type of error, and leaves the machine and `tx` as
///   they were.
/// * **No allocation is sized by a peer's word**, and no input makes it panic.
///
/// ```
/// use bytewise::{Eof, Machine, NextIo, RecvBuf, SendBuf};
/// use bytewise::framing::{Frame, Framed, Lines};
/// use std::io::{self, Read, Write};
///
/// /// A whole blocking adapter, for any machine.
/// fn drive<M: Machine>(
///     io: &mut (impl Read + Write),
///     machine: &mut M,
///     mut on: impl for<'b> FnMut(M::Event<'b>, &mut M, &mut SendBuf),
/// ) -> io::Result<()> {
///     let (mut rx, mut tx) = (RecvBuf::new(), SendBuf::new());
///     loop {
///         let failed = loop {
///             match machine.next_event(&mut rx, &mut tx) {
///                 Ok(Some(event)) => on(event, machine, &mut tx),
///                 Ok(None) => break None,
///                 Err(error) => break Some(error),
///             }
///         };
///         io.write_all(tx.pending())?;
///         tx.consume(tx.pending().len());
///         if let Some(error) = failed {
///             return Err(io::Error::other(error));
///         }
///         if machine.next_io() != NextIo::Read {
///             return Ok(());
///         }
///         match io.read(rx.space())? {
///             0 => rx.set_eof(Eof::Clean),
///             n => rx.filled(n),
///         }
///     }
/// }
///
/// # struct Pipe(&'static [u8], Vec<u8>);
/// # impl Read for Pipe { fn read(&mut self, to: &mut [u8]) -> io::Result<usize> { self.0.read(to) } }
/// # impl Write for Pipe {
/// #     fn write(&mut self, bytes: &[u8]) -> io::Result<usize> { self.1.write(bytes) }
/// #     fn flush(&mut self) -> io::Result<()> { Ok(()) }
/// # }
/// # let mut socket = Pipe(b"one\r\ntwo\n", Vec::new());
/// drive(&mut socket, &mut Framed::new(Lines::new(1000)), |line, lines, tx| {
///     if let Frame::Data(line) = line {
///         lines.send(line, tx).expect("a line that came in can go out");
///     }
/// })?;
/// # assert_eq!(socket.1, b"one\ntwo\n");
/// # Ok::<(), io::Error>(())
/// ```
///
/// It is not dyn-compatible, since its event is generic over a lifetime: several protocols on one connection are an enum
/// of machines, or one after another on the same buffers.
pub trait Machine {
    /// Something the peer sent. It borrows from the receive buffer only.
    type Event<'b>;

    /// The peer broke the protocol. What answers it is in `tx` already, and every later call returns it again.
    type Error: core::error::Error + Clone + Send + Sync + 'static;

    /// Works until an event is ready (`true`), or until input, or room in `tx`, is missing (`false`).
    ///
    /// It is for loops that wait for I/O between tries: the borrow of an event would outlive the loop, a `bool` does not.
    /// `true` promises that [`next_event`](Self::next_event) will not return `Ok(None)`; it may still return an error.
    /// Sending in between changes neither.
    ///
    /// # Errors
    ///
    /// The peer broke the protocol, or it needs more input than [`RecvBuf`] may hold.
    fn poll(&mut self, rx: &mut RecvBuf, tx: &mut SendBuf) -> Result<bool, Self::Error>;

    /// The next event, or `None` when nothing more can be said before [`next_io`](Self::next_io) is done.
    ///
    /// Call it again until it returns `None`, however much is read in between.
    ///
    /// # Errors
    ///
    /// As [`poll`](Self::poll).
    fn next_event<'b>(&mut self, rx: &'b mut RecvBuf, tx: &mut SendBuf)
    -> Result<Option<Self::Event<'b>>, Self::Error>;

    /// Ends in order: what is under way is finished, nothing new is begun.
    ///
    /// Go on with rounds until [`next_io`](Self::next_io) is neither [`NextIo::Read`] nor [`NextIo::Paused`].
    fn shut_down(&mut self, tx: &mut SendBuf);

    /// What the peer was given time for did not come, as a [`Watchdog`](crate::Watchdog) found: puts into `tx` what tells the
    /// peer, if the protocol has anything to say. The connection ends then: write `tx` if that goes at once, and close.
    ///
    /// HTTP answers `408` to a request that has begun and does not end. By default nothing is said.
    fn time_out(&mut self, tx: &mut SendBuf) {
        let _ = tx;
    }

    /// Nothing has come for as long as [`Timeouts::with_keep_alive`](crate::Timeouts::with_keep_alive) says: puts into `tx` what
    /// the peer answers if it is still there, if the protocol has such a thing. By default nothing is said.
    fn keep_alive(&mut self, tx: &mut SendBuf) {
        let _ = tx;
    }

    /// Whether what is sent answers what is received: then no more events are taken while much waits to be written, or a peer that
    /// does not read could have memory filled. A client that asks is bounded by what it asks, and has to hear what comes while it
    /// sends. By default it is so.
    fn answers(&self) -> bool {
        true
    }

    /// Bytes that came out of decompression so far, which may be a thousand for each that was received: whoever serves many
    /// connections on a thread lets others have their turn when it was much since the last. The number wraps around.
    fn inflated(&self) -> u64 {
        0
    }

    /// What the transport is to do once there are no events and `tx` is written.
    ///
    /// After an error it is [`NextIo::Linger`] or [`NextIo::Close`].
    fn next_io(&self) -> NextIo;

    /// What it waits for, and which time it is that it does, for a [`Watchdog`](crate::Watchdog): two frames in a row are
    /// two occurrences. The number wraps around.
    fn phase(&self) -> (Phase, u32) {
        (Phase::Idle, 0)
    }
}

/// What the transport is to do next, after `tx` is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NextIo {
    /// Read into [`RecvBuf::space`], then poll.
    Read,
    /// Backpressure: the application's turn. Reading up to a bound, to notice the end of input, is allowed.
    Paused,
    /// The connection belongs to another protocol, whose input begins with what is unread.
    Switched,
    /// Shut down writing, discard input to its end within bounds of bytes and time, then close: a close with input
    /// unread would reset the connection and could destroy the last answer (RFC 9112, section 9.6).
    Linger,
    /// Close.
    Close,
}

/// What a connection waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Phase {
    /// The opening handshake of a layer.
    Handshake,
    /// Nothing is under way: between requests, messages or frames.
    Idle,
    /// The rest of a head, or, for a client, the response to come.
    Head,
    /// The rest of a body, message or frame.
    Body,
    /// The application: a response, or a pause that it asked for.
    Local,
    /// The peer's part of the closing.
    Closing,
}
