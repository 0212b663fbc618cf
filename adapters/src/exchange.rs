use crate::{Driver, Error, Outbox, Transport, heads};
use bytes::Bytes;
use bytewise::{
    Machine, Payload,
    http1::{
        self, Client, ClientEvent, Fields, Misuse, NO_FIELDS, OwnedFields, OwnedRequestHead, OwnedResponseHead,
        RequestHead, ResponseHead, Server, ServerEvent,
    },
};
use sealed::Piece;
use std::mem;

/// A request being answered ([`Server`]) or a response being received ([`Client`]): its head stays while its body comes.
///
/// That costs one copy of the head, into memory that a thread's connections share. [`Driver::next`] does without.
///
/// Answers are queued, and written when the connection next waits for input, or [closes](Driver::close). A handler that leaves
/// with an error drops those that were not written: [`Outbox::flush`] before what can fail, or answer and go on.
///
/// ```
/// # #[cfg(feature = "tokio")]
/// # mod example {
/// use bytewise::http1::{BodyLength, NO_FIELDS};
/// use bytewise_net::{BoxError, tokio::HttpConn};
///
/// async fn handle(mut conn: HttpConn) -> Result<(), BoxError> {
///     while let Some(mut exchange) = conn.exchange().await? {
///         match exchange.head().target() {
///             // Whole bodies.
///             "/length" => {
///                 let body = exchange.body(1 << 20).await?;
///                 exchange.respond(200, NO_FIELDS, body.len().to_string())?;
///             }
///             // Streamed both ways: a piece is copied once, into the send buffer.
///             "/echo" => {
///                 let out = exchange.outbox();
///                 out.machine.send_response(200, NO_FIELDS, BodyLength::Chunked, out.tx)?;
///                 while let Some((data, mut out)) = exchange.data().await? {
///                     out.machine.send_data(data, out.tx)?;
///                     out.ready(1 << 16).await?; // waits while the client does not read
///                 }
///                 let out = exchange.outbox();
///                 out.machine.send_end(NO_FIELDS, out.tx)?;
///             }
///             _ => exchange.respond(404, NO_FIELDS, "")?,
///         }
///     }
///     Ok(conn.close().await?)
/// }
/// # }
/// ```
#[derive(Debug)]
pub struct Exchange<'c, Io, M: Exchanges> {
    driver: &'c mut Driver<Io, M>,
    head: Kept<M::Head>,
    trailers: OwnedFields,
    /// What of a whole body has come, so that nothing is lost if its future is dropped.
    gathered: Vec<u8>,
    /// Bytes of the body that were lent.
    taken: u64,
    /// The message is complete.
    ended: bool,
}

/// The sides of HTTP/1: [`Server`] and [`Client`].
pub trait Exchanges: Machine + sealed::Sealed {
    /// The head that an exchange keeps.
    #[doc(hidden)]
    type Head: sealed::Head;

    /// What an event is to the body of a message.
    #[doc(hidden)]
    fn piece<'b>(event: Self::Event<'b>) -> Piece<'b>;

    /// Bounds the body, all of it.
    #[doc(hidden)]
    fn limit(&mut self, bytes: u64);
}

impl Exchanges for Server {
    type Head = OwnedRequestHead;

    fn piece<'b>(event: Self::Event<'b>) -> Piece<'b> {
        match event {
            ServerEvent::Data(data) => Piece::Data(data),
            ServerEvent::End(trailers) => Piece::End(trailers),
            _ => Piece::Other,
        }
    }

    fn limit(&mut self, bytes: u64) {
        self.limit_body(bytes);
    }
}

impl Exchanges for Client {
    type Head = OwnedResponseHead;

    fn piece<'b>(event: Self::Event<'b>) -> Piece<'b> {
        match event {
            ClientEvent::Data(data) => Piece::Data(data),
            ClientEvent::End(trailers) => Piece::End(trailers),
            _ => Piece::Other,
        }
    }

    fn limit(&mut self, bytes: u64) {
        self.limit_body(bytes);
    }
}

#[expect(unnameable_types, reason = "that is what seals them")]
mod sealed {
    use bytewise::http1::{Client, Fields, OwnedRequestHead, OwnedResponseHead, Server};
    use std::fmt::Debug;

    pub trait Sealed {}
    impl Sealed for Server {}
    impl Sealed for Client {}

    #[derive(Debug)]
    pub enum Piece<'b> {
        Data(&'b [u8]),
        End(Fields<'b>),
        Other,
    }

    pub trait Head: Debug {
        fn into_memory(self) -> Vec<u8>;
    }
    impl Head for OwnedRequestHead {
        fn into_memory(self) -> Vec<u8> {
            self.into_memory()
        }
    }
    impl Head for OwnedResponseHead {
        fn into_memory(self) -> Vec<u8> {
            self.into_memory()
        }
    }
}

/// A head whose memory is given back; it is there until then.
#[derive(Debug)]
struct Kept<H: sealed::Head>(Option<H>);

impl<H: sealed::Head> Drop for Kept<H> {
    fn drop(&mut self) {
        if let Some(head) = self.0.take() {
            heads::give_back(head.into_memory());
        }
    }
}

impl<'c, Io, M: Exchanges> Exchange<'c, Io, M> {
    fn new(driver: &'c mut Driver<Io, M>, head: M::Head) -> Self {
        let trailers = OwnedFields::default();
        Self { driver, head: Kept(Some(head)), trailers, gathered: Vec::new(), taken: 0, ended: false }
    }

    /// The trailers, once [`data`](Self::data) has told the end; none before.
    pub fn trailers(&self) -> Fields<'_> {
        self.trailers.fields()
    }
}

impl<Io: Transport, M: Exchanges> Exchange<'_, Io, M> {
    /// Where to send: the response, or more of the request.
    ///
    /// If the server is ending, a response whose head is sent from now on says `connection: close`.
    pub fn outbox(&mut self) -> Outbox<'_, Io, M> {
        self.driver.outbox_for_answer()
    }

    /// The next piece of the body, and where to send; `None` at its end. A server sends the `100` that a client waits for.
    ///
    /// # Errors
    ///
    /// As [`Driver::next`].
    pub async fn data(&mut self) -> Result<Option<(&[u8], Outbox<'_, Io, M>)>, Error<M::Error>> {
        let Self { driver, trailers, taken, ended, .. } = self;
        if *ended {
            return Ok(None);
        }
        if let Some((event, out)) = driver.next().await? {
            match M::piece(event) {
                Piece::Data(data) => {
                    *taken += data.len() as u64;
                    return Ok(Some((data, out)));
                }
                Piece::End(fields) => *trailers = fields.into_owned(),
                Piece::Other => {}
            }
        }
        *ended = true;
        Ok(None)
    }

    /// Gathers what is left of the body; whether that is all of it.
    async fn gather(&mut self, max: usize) -> Result<bool, Error<M::Error>> {
        let Self { driver, trailers, gathered, taken, ended, .. } = self;
        driver.machine_mut().limit(taken.saturating_add(max as u64));
        while !*ended {
            let Some((event, _)) = driver.next().await? else { break };
            match M::piece(event) {
                Piece::Data(data) if data.len() > max.saturating_sub(gathered.len()) => return Ok(false),
                Piece::Data(data) => gathered.extend_from_slice(data),
                Piece::End(fields) => {
                    *trailers = fields.into_owned();
                    *ended = true;
                }
                Piece::Other => {}
            }
        }
        *ended = true;
        Ok(true)
    }
}

impl<Io: Transport> Driver<Io, Server> {
    /// The next request, or `None` at the end of the connection.
    ///
    /// What was left of the last one is settled first: its body is [discarded](Server::discard_body), its response
    /// ended if that can be told ended, or answered `500` if it has none. A response whose announced length is not
    /// reached [closes](Server::abort) the connection.
    ///
    /// # Errors
    ///
    /// As [`next`](Self::next).
    pub async fn exchange(&mut self) -> Result<Option<Exchange<'_, Io, Server>>, Error<http1::Error>> {
        self.settle();
        let head = loop {
            match self.next().await? {
                Some((ServerEvent::Request(head), _)) => break head.into_owned_in(heads::take()),
                Some(_) => {}
                None => return Ok(None),
            }
        };
        Ok(Some(Exchange::new(self, head)))
    }

    /// Ends what the handler left of the last exchange.
    fn settle(&mut self) {
        if !self.machine().is_in_exchange() {
            return;
        }
        let out = self.outbox();
        out.machine.discard_body();
        if out.machine.is_response_begun() {
            if out.machine.send_end(NO_FIELDS, out.tx).is_err() {
                out.machine.abort();
            }
        } else if out.machine.is_responding() {
            // The misuse would be that none is due.
            let _ = out.machine.respond(500, NO_FIELDS, "", out.tx);
        }
    }
}

impl<Io: Transport> Exchange<'_, Io, Server> {
    /// The request.
    ///
    /// # Panics
    ///
    /// Never: the head is there as long as the exchange.
    pub fn head(&self) -> RequestHead<'_> {
        self.head.0.as_ref().expect("kept until it is dropped").head()
    }

    /// The whole body, or what is left of it, of at most `max` bytes; more is answered `413`.
    ///
    /// If its future is dropped, the next one goes on where it was.
    ///
    /// # Errors
    ///
    /// [`http1::Error::BodyTooLong`], and as [`Driver::next`].
    pub async fn body(&mut self, max: usize) -> Result<Bytes, Error<http1::Error>> {
        if self.gather(max).await? {
            return Ok(mem::take(&mut self.gathered).into());
        }
        // Only of a length, if part of it was taken before: otherwise the machine has found out, and answered.
        let out = self.outbox();
        out.machine.shut_down(out.tx);
        // The misuse would be that a response has begun.
        let _ = out.machine.respond(413, NO_FIELDS, "", out.tx);
        out.machine.discard_body();
        while self.driver.next().await?.is_some() {}
        Err(Error::Protocol(http1::Error::BodyTooLong))
    }

    /// Queues a whole response; it is written when the connection next waits, or closes.
    ///
    /// # Errors
    ///
    /// As [`Server::respond`].
    pub fn respond<'a>(
        self,
        status: u16,
        fields: impl IntoIterator<Item = (impl AsRef<[u8]>, impl AsRef<[u8]>)>,
        body: impl Into<Payload<'a>>,
    ) -> Result<(), Misuse> {
        let out = self.driver.outbox_for_answer();
        out.machine.respond(status, fields, body, out.tx)
    }
}

impl<Io: Transport> Driver<Io, Client> {
    /// The response to the oldest request sent; interim ones are skipped. `None` if the server closed first, or switched to
    /// another protocol: then [`next_io`](Machine::next_io) of the [machine](Self::machine) says so.
    ///
    /// What was left of the last response is read first, and dropped: do not begin another exchange where that may be long.
    /// To see interim responses or the head of a switch, take [`next`](Self::next).
    ///
    /// # Errors
    ///
    /// As [`next`](Self::next).
    pub async fn exchange(&mut self) -> Result<Option<Exchange<'_, Io, Client>>, Error<http1::Error>> {
        let head = loop {
            match self.next().await? {
                Some((ClientEvent::Response(head), _)) => break head.into_owned_in(heads::take()),
                Some(_) => {}
                None => return Ok(None),
            }
        };
        Ok(Some(Exchange::new(self, head)))
    }
}

impl<Io: Transport> Exchange<'_, Io, Client> {
    /// The response.
    ///
    /// # Panics
    ///
    /// Never: the head is there as long as the exchange.
    pub fn head(&self) -> ResponseHead<'_> {
        self.head.0.as_ref().expect("kept until it is dropped").head()
    }

    /// The whole body, or what is left of it, of at most `max` bytes.
    ///
    /// If its future is dropped, the next one goes on where it was.
    ///
    /// # Errors
    ///
    /// [`http1::Error::BodyTooLong`], and as [`Driver::next`].
    pub async fn body(&mut self, max: usize) -> Result<Bytes, Error<http1::Error>> {
        if self.gather(max).await? {
            return Ok(mem::take(&mut self.gathered).into());
        }
        Err(Error::Protocol(http1::Error::BodyTooLong))
    }
}
