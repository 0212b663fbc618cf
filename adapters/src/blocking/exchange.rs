use super::{Driver, Outbox, block};
use crate::{Error, Exchanges, Transport};
use bytes::Bytes;
use bytewise::{
    Payload,
    http1::{self, Fields, RequestHead, ResponseHead},
};

/// A request being answered or a response being received: [`crate::Exchange`] without `async`.
#[derive(Debug)]
pub struct Exchange<'c, Io, M: Exchanges>(crate::Exchange<'c, Io, M>);

macro_rules! exchange {
    ($side:ty, $head:ty, $what:literal) => {
        impl<Io: Transport> Driver<Io, $side> {
            #[doc = concat!("The next ", $what, ", or `None` at the end of the connection, as [`crate::Driver::exchange`].")]
            ///
            /// # Errors
            ///
            /// As [`next`](Self::next).
            pub fn exchange(&mut self) -> Result<Option<Exchange<'_, Io, $side>>, Error<http1::Error>> {
                Ok(block(self.0.exchange())?.map(Exchange))
            }
        }

        impl<Io: Transport> Exchange<'_, Io, $side> {
            #[doc = concat!("The ", $what, ".")]
            pub fn head(&self) -> $head {
                self.0.head()
            }

            /// The next piece of its body, and where to send; `None` at its end.
            ///
            /// # Errors
            ///
            /// As [`Driver::next`].
            pub fn data(&mut self) -> Result<Option<(&[u8], Outbox<'_, Io, $side>)>, Error<http1::Error>> {
                let turn = block(self.0.data())?;
                Ok(turn.map(|(data, crate::Outbox { machine, tx, link })| (data, Outbox { machine, tx, link })))
            }

            /// The whole body, or what is left of it, of at most `max` bytes.
            ///
            /// # Errors
            ///
            /// [`http1::Error::BodyTooLong`], and as [`Driver::next`].
            pub fn body(&mut self, max: usize) -> Result<Bytes, Error<http1::Error>> {
                block(self.0.body(max))
            }
        }
    };
}

exchange!(http1::Server, RequestHead<'_>, "request");
exchange!(http1::Client, ResponseHead<'_>, "response");

impl<Io: Transport, M: Exchanges> Exchange<'_, Io, M> {
    /// The trailers, once `data` has told the end; none before.
    pub fn trailers(&self) -> Fields<'_> {
        self.0.trailers()
    }

    /// Where to send: the response, or more of the request.
    pub fn outbox(&mut self) -> Outbox<'_, Io, M> {
        let crate::Outbox { machine, tx, link } = self.0.outbox();
        Outbox { machine, tx, link }
    }
}

impl<Io: Transport> Exchange<'_, Io, http1::Server> {
    /// Queues a whole response; it is written when the connection next waits, or closes.
    ///
    /// # Errors
    ///
    /// As [`http1::Server::respond`].
    pub fn respond<'a>(
        self,
        status: u16,
        fields: impl IntoIterator<Item = (impl AsRef<[u8]>, impl AsRef<[u8]>)>,
        body: impl Into<Payload<'a>>,
    ) -> Result<(), http1::Misuse> {
        self.0.respond(status, fields, body)
    }
}
