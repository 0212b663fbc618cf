use crate::{Driver, Error, Outbox, Transport, heads};
use bytes::Bytes;
use bytewise::{
    Machine, Payload,
    http1::{
        self, Client, ClientEvent, Fields, Misuse, NO_FIELDS, OwnedFields, OwnedRequestHead, OwnedResponseHead,
        RequestHead, ResponseHead, Server, ServerEvent,
    },
};

/// A request being answered ([`Server`]) or a response being received ([`Client`]): its head stays while its body comes.
///
/// That costs one copy of the head, into memory that a thread's connections share. [`Driver::next`] does without.
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
    /// The message is complete.
    ended: bool,
}

/// The sides of HTTP/1: [`Server`] and [`Client`].
pub trait Exchanges: Machine + sealed::Sealed {
    /// The head that an exchange keeps.
    #[doc(hidden)]
    type Head: sealed::Head;
}

impl Exchanges for Server {
    type Head = OwnedRequestHead;
}

impl Exchanges for Client {
    type Head = OwnedResponseHead;
}

#[expect(unnameable_types, reason = "that is what seals them")]
mod sealed {
    use bytewise::http1::{Client, OwnedRequestHead, OwnedResponseHead, Server};
    use std::fmt::Debug;

    pub trait Sealed {}
    impl Sealed for Server {}
    impl Sealed for Client {}

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
        Self { driver, head: Kept(Some(head)), trailers: OwnedFields::default(), ended: false }
    }

    /// The trailers, once [`data`](Self::data) has told the end; none before.
    pub fn trailers(&self) -> Fields<'_> {
        self.trailers.fields()
    }

    /// Where to send: the response, or more of the request.
    pub fn outbox(&mut self) -> Outbox<'_, Io, M> {
        self.driver.outbox()
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

    /// The next piece of its body, and where the response goes; `None` at its end. Sends the `100` a client waits for.
    ///
    /// # Errors
    ///
    /// As [`Driver::next`].
    pub async fn data(&mut self) -> Result<Option<(&[u8], Outbox<'_, Io, Server>)>, Error<http1::Error>> {
        let Self { driver, trailers, ended, .. } = self;
        if *ended {
            return Ok(None);
        }
        match driver.next().await? {
            Some((ServerEvent::Data(data), out)) => return Ok(Some((data, out))),
            Some((ServerEvent::End(fields), _)) => *trailers = fields.into_owned(),
            _ => {}
        }
        *ended = true;
        Ok(None)
    }

    /// The whole body, or what is left of it, of at most `max` bytes; more is answered `413`.
    ///
    /// # Errors
    ///
    /// [`http1::Error::BodyTooLong`], and as [`Driver::next`].
    pub async fn body(&mut self, max: usize) -> Result<Bytes, Error<http1::Error>> {
        self.driver.machine_mut().limit_body(max as u64);
        let mut body = Body::new(max);
        loop {
            match self.data().await? {
                None => return Ok(body.into()),
                Some((data, _)) if body.add(data) => {}
                Some((_, out)) => {
                    // Only if part of the body was taken before: otherwise the machine knows the limit.
                    let _ = out.machine.respond(413, NO_FIELDS, "", out.tx);
                    return Err(Error::Protocol(http1::Error::BodyTooLong));
                }
            }
        }
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
        let out = self.driver.outbox();
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

    /// The next piece of its body, and where more of the request goes; `None` at its end.
    ///
    /// # Errors
    ///
    /// As [`Driver::next`].
    pub async fn data(&mut self) -> Result<Option<(&[u8], Outbox<'_, Io, Client>)>, Error<http1::Error>> {
        let Self { driver, trailers, ended, .. } = self;
        if *ended {
            return Ok(None);
        }
        match driver.next().await? {
            Some((ClientEvent::Data(data), out)) => return Ok(Some((data, out))),
            Some((ClientEvent::End(fields), _)) => *trailers = fields.into_owned(),
            _ => {}
        }
        *ended = true;
        Ok(None)
    }

    /// The whole body, or what is left of it, of at most `max` bytes.
    ///
    /// # Errors
    ///
    /// [`http1::Error::BodyTooLong`], and as [`Driver::next`].
    pub async fn body(&mut self, max: usize) -> Result<Bytes, Error<http1::Error>> {
        self.driver.machine_mut().limit_body(max as u64);
        let mut body = Body::new(max);
        while let Some((data, _)) = self.data().await? {
            if !body.add(data) {
                return Err(Error::Protocol(http1::Error::BodyTooLong));
            }
        }
        Ok(body.into())
    }
}

/// A body being gathered: memory follows what has come.
struct Body {
    bytes: Vec<u8>,
    max: usize,
}

impl Body {
    const fn new(max: usize) -> Self {
        Self { bytes: Vec::new(), max }
    }

    /// Whether there was room for it.
    fn add(&mut self, data: &[u8]) -> bool {
        let fits = data.len() <= self.max - self.bytes.len();
        if fits {
            self.bytes.extend_from_slice(data);
        }
        fits
    }
}

impl From<Body> for Bytes {
    fn from(body: Body) -> Self {
        body.bytes.into()
    }
}
