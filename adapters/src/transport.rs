use bytewise::Time;
use std::{
    io::{self, IoSlice},
    task::{Context, Poll},
};

/// A byte stream and a clock: all that a runtime contributes. Implement it to bring a runtime of your own.
///
/// A poll that is not ready has arranged for the task to be woken. A transport that blocks instead
/// ([`BLOCKING`](Self::BLOCKING)) is not ready only when a bound of time of its own is over, and is then polled again.
///
/// ```
/// use bytewise::{Time, framing::{Frame, Framed, Lines}};
/// use bytewise_net::{Driver, Transport};
/// use std::{io::{self, IoSlice, Read, Write}, task::{Context, Poll}};
///
/// /// A script to read, and what was written.
/// struct Script(&'static [u8], Vec<u8>);
///
/// impl Transport for Script {
///     fn poll_read(&mut self, _: &mut Context<'_>, space: &mut [u8]) -> Poll<io::Result<usize>> {
///         Poll::Ready(self.0.read(space))
///     }
///     fn poll_write(&mut self, _: &mut Context<'_>, chunks: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
///         Poll::Ready(self.1.write_vectored(chunks))
///     }
///     fn poll_flush(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
///         Poll::Ready(Ok(()))
///     }
///     fn poll_shutdown(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
///         Poll::Ready(Ok(()))
///     }
///     fn now(&self) -> Time {
///         Time::ZERO
///     }
///     fn poll_deadline(&mut self, _: &mut Context<'_>, _: Time) -> Poll<()> {
///         Poll::Pending
///     }
/// }
///
/// # futures_lite::future::block_on(async {
/// let mut lines = Driver::new(Script(b"one\ntwo\n", Vec::new()), Framed::new(Lines::new(80)));
/// while let Some((frame, out)) = lines.next().await? {
///     if let Frame::Data(line) = frame {
///         out.machine.send(line, out.tx)?;
///     }
/// }
/// let (script, ..) = lines.into_parts();
/// assert_eq!(script.1, b"one\ntwo\n");
/// # Ok::<(), bytewise_net::BoxError>(())
/// # }).unwrap();
/// ```
pub trait Transport {
    /// Whether its calls block instead of being pending: deadlines are then announced before each read, so that the read
    /// can be bounded.
    const BLOCKING: bool = false;

    /// Reads into initialised memory, which is never empty; 0 is the end of input.
    ///
    /// # Errors
    ///
    /// The stream failed. [`ConnectionReset`](io::ErrorKind::ConnectionReset) is taken for an end of input that broke off.
    fn poll_read(&mut self, cx: &mut Context<'_>, space: &mut [u8]) -> Poll<io::Result<usize>>;

    /// Writes some of the chunks, of which there is at least one and none is empty; 0 is an error.
    ///
    /// # Errors
    ///
    /// The stream failed.
    fn poll_write(&mut self, cx: &mut Context<'_>, chunks: &[IoSlice<'_>]) -> Poll<io::Result<usize>>;

    /// Passes on what the stream buffers itself; a socket has nothing to do.
    ///
    /// # Errors
    ///
    /// The stream failed.
    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>>;

    /// Shuts down writing.
    ///
    /// # Errors
    ///
    /// The stream failed.
    fn poll_shutdown(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>>;

    /// Time since an origin of its choice.
    fn now(&self) -> Time;

    /// Ready at that time; a later call replaces an earlier one, and [`Time::MAX`] is never.
    fn poll_deadline(&mut self, cx: &mut Context<'_>, at: Time) -> Poll<()>;
}
