//! A client, and under it TLS where that is spoken; without I/O too.

use super::{Client, Dialect, Fault, Tally};
use crate::tls;
use rustls::{
    ClientConfig, Error,
    client::UnbufferedClientConnection,
    pki_types::ServerName,
    unbuffered::{ConnectionState, EncodeError, EncryptError, InsufficientSizeError, UnbufferedStatus},
};
use std::{cell::RefCell, fmt, io, sync::Arc, time::Duration};

/// Plaintext of a full record.
const RECORD: usize = 1 << 14;

/// What a record of the handshake needs at least, and what any has beside its plaintext at most.
const OVERHEAD: usize = 64;

thread_local! {
    /// Requests that are yet to be encrypted.
    static PLAINTEXT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// What a client needs for TLS.
#[derive(Debug, Clone)]
pub struct Trust(Arc<ClientConfig>, ServerName<'static>);

impl Trust {
    /// In the server with that certificate.
    pub fn new(certificate: &str) -> io::Result<Self> {
        let (config, name) = tls::client(certificate)?;
        Ok(Self(config, name))
    }
}

/// A [`Client`], and what stands between it and its socket.
#[derive(Debug)]
pub struct Session<D> {
    client: Client<D>,
    tls: Option<Box<Tls>>,
}

impl<D: Dialect> Session<D> {
    /// Under TLS if there is trust.
    pub fn new(client: Client<D>, trust: Option<&Trust>) -> Result<Self, Fault> {
        let tls = trust.map(Tls::new).transpose()?.map(Box::new);
        Ok(Self { client, tls })
    }

    /// Checks what was received, in place.
    #[inline]
    pub fn receive(&mut self, block: &mut [u8], now: Duration, tally: &mut Tally) -> Result<(), Fault> {
        let Self { client, tls } = self;
        match tls {
            None => client.receive(block, now, tally),
            Some(tls) => tls.decrypt(block, |plaintext| client.receive(plaintext, now, tally)),
        }
    }

    /// Appends what is to be sent, or a good part of it.
    #[inline]
    pub fn send(&mut self, now: Duration, out: &mut Vec<u8>) -> Result<(), Fault> {
        let Some(tls) = &mut self.tls else {
            self.client.send(now, out);
            return Ok(());
        };
        out.append(&mut tls.unsent);
        if tls.connection.is_handshaking() {
            return Ok(());
        }
        PLAINTEXT.with_borrow_mut(|plaintext| {
            plaintext.clear();
            self.client.send(now, plaintext);
            tls.encrypt(plaintext, out)
        })
    }

    /// Appends what says that nothing more is sent, if something does.
    pub fn close(&mut self, out: &mut Vec<u8>) -> Result<(), Fault> {
        self.tls.as_mut().map_or(Ok(()), |tls| tls.close(out))
    }

    /// Whether something may be sent.
    #[must_use]
    #[inline]
    pub fn is_due(&self) -> bool {
        match &self.tls {
            None => self.client.is_due(),
            Some(tls) => !tls.unsent.is_empty() || (!tls.connection.is_handshaking() && self.client.is_due()),
        }
    }

    /// Whether requests may be sent, or were.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.tls.as_ref().is_none_or(|tls| !tls.connection.is_handshaking()) && self.client.is_open()
    }

    /// Requests without a reply; what opens the connection counts as one.
    #[must_use]
    #[inline]
    pub fn in_flight(&self) -> usize {
        self.client.in_flight() + usize::from(!self.is_open())
    }
}

/// The client's end of TLS. Requests that are made together share records.
struct Tls {
    connection: UnbufferedClientConnection,
    /// The beginning of a record.
    cut: Vec<u8>,
    /// Of the handshake.
    unsent: Vec<u8>,
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls").finish_non_exhaustive()
    }
}

impl Tls {
    fn new(Trust(config, name): &Trust) -> Result<Self, Fault> {
        let connection = UnbufferedClientConnection::new(Arc::clone(config), name.clone())?;
        let mut tls = Self { connection, cut: Vec::new(), unsent: Vec::new() };
        tls.process(&mut [], |_| Ok(()))?;
        Ok(tls)
    }

    fn decrypt(&mut self, block: &mut [u8], each: impl FnMut(&[u8]) -> Result<(), Fault>) -> Result<(), Fault> {
        if self.cut.is_empty() {
            let taken = self.process(block, each)?;
            self.cut.extend_from_slice(&block[taken..]);
            return Ok(());
        }
        let mut records = std::mem::take(&mut self.cut);
        records.extend_from_slice(block);
        let taken = self.process(&mut records, each)?;
        records.drain(..taken);
        self.cut = records;
        Ok(())
    }

    /// Calls `each` with the plaintext of each whole record; says how many bytes all of them had.
    fn process(
        &mut self,
        records: &mut [u8],
        mut each: impl FnMut(&[u8]) -> Result<(), Fault>,
    ) -> Result<usize, Fault> {
        let mut taken = 0;
        loop {
            let UnbufferedStatus { mut discard, state, .. } =
                self.connection.process_tls_records(&mut records[taken..]);
            let goes_on = match state? {
                ConnectionState::ReadTraffic(mut traffic) => {
                    while let Some(record) = traffic.next_record() {
                        let record = record?;
                        discard += record.discard;
                        each(record.payload)?;
                    }
                    true
                }
                ConnectionState::EncodeTlsData(mut data) => {
                    append(&mut self.unsent, OVERHEAD, |space| data.encode(space))?;
                    true
                }
                ConnectionState::TransmitTlsData(data) => {
                    data.done();
                    true
                }
                ConnectionState::PeerClosed => true,
                _ => false,
            };
            taken += discard;
            if !goes_on {
                return Ok(taken);
            }
        }
    }

    fn encrypt(&mut self, plaintext: &[u8], out: &mut Vec<u8>) -> Result<(), Fault> {
        // rustls wants to see what it has seen.
        match self.connection.process_tls_records(&mut self.cut).state? {
            ConnectionState::WriteTraffic(mut traffic) => plaintext
                .chunks(RECORD)
                .try_for_each(|piece| append(out, piece.len() + OVERHEAD, |space| traffic.encrypt(piece, space))),
            _ => Err(Error::EncryptError.into()),
        }
    }

    fn close(&mut self, out: &mut Vec<u8>) -> Result<(), Fault> {
        match self.connection.process_tls_records(&mut self.cut).state? {
            ConnectionState::WriteTraffic(mut traffic) => {
                append(out, OVERHEAD, |space| traffic.queue_close_notify(space))
            }
            // The server was faster.
            _ => Ok(()),
        }
    }
}

/// A complaint about too little space says how much is enough.
trait Complaint {
    fn required(&self) -> Option<usize>;
}

impl Complaint for EncodeError {
    fn required(&self) -> Option<usize> {
        match self {
            Self::InsufficientSize(InsufficientSizeError { required_size, .. }) => Some(*required_size),
            Self::AlreadyEncoded => None,
        }
    }
}

impl Complaint for EncryptError {
    fn required(&self) -> Option<usize> {
        match self {
            Self::InsufficientSize(InsufficientSizeError { required_size, .. }) => Some(*required_size),
            Self::EncryptExhausted => None,
        }
    }
}

/// Appends what is written into at least `space` bytes.
fn append<E: Complaint>(
    out: &mut Vec<u8>,
    mut space: usize,
    mut write: impl FnMut(&mut [u8]) -> Result<usize, E>,
) -> Result<(), Fault> {
    let before = out.len();
    loop {
        out.resize(before + space, 0);
        match write(&mut out[before..]) {
            Ok(written) => {
                out.truncate(before + written);
                return Ok(());
            }
            Err(error) => space = error.required().ok_or(Error::EncryptError)?,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::Framed, *};
    use crate::tls::Identity;
    use rustls::ServerConnection;
    use std::io::{Read, Write};

    const WINDOW: usize = 40;
    const FRAME: usize = 1004;

    /// A session whose window is in flight, and the records that an honest server replies with.
    fn started() -> (Session<Framed>, Vec<u8>) {
        let identity = Identity::new().unwrap();
        let trust = Trust::new(identity.certificate()).unwrap();
        let client = Client::new(Framed::new(7, FRAME - 4), WINDOW);
        let mut session = Session::new(client, Some(&trust)).unwrap();
        let mut server = ServerConnection::new(identity.server().unwrap()).unwrap();
        let (mut requests, mut records) = (Vec::new(), Vec::new());
        while requests.len() < WINDOW * FRAME {
            assert!(session.is_due() && session.in_flight() > 0 || session.is_open());
            let mut out = Vec::new();
            session.send(Duration::ZERO, &mut out).unwrap();
            let mut unread = &out[..];
            while !unread.is_empty() {
                server.read_tls(&mut unread).unwrap();
                let plaintext = server.process_new_packets().unwrap().plaintext_bytes_to_read();
                let at = requests.len();
                requests.resize(at + plaintext, 0);
                server.reader().read_exact(&mut requests[at..]).unwrap();
            }
            while server.wants_write() {
                server.write_tls(&mut records).unwrap();
            }
            receive(&mut session, &mut records).unwrap();
            records.clear();
        }
        assert_eq!((session.in_flight(), session.is_due(), session.is_open()), (WINDOW, false, true));
        server.writer().write_all(&requests).unwrap();
        while server.wants_write() {
            server.write_tls(&mut records).unwrap();
        }
        (session, records)
    }

    fn receive(session: &mut Session<Framed>, block: &mut [u8]) -> Result<(), Fault> {
        session.receive(block, Duration::ZERO, &mut Tally::new())
    }

    #[test]
    fn honest_replies_pass_wherever_records_are_cut() {
        for size in [1, 7, 4096, 16_384, 16_500, 100_000] {
            let (mut session, mut records) = started();
            records.chunks_mut(size).for_each(|block| receive(&mut session, block).unwrap());
            assert_eq!((session.in_flight(), session.is_due()), (0, true));
        }
    }

    #[test]
    fn what_was_changed_on_the_way_is_caught() {
        let (mut session, mut records) = started();
        records[20_000] ^= 1;
        assert!(matches!(receive(&mut session, &mut records), Err(Fault::Tls(_))));
    }

    #[test]
    fn the_end_is_said_once_it_can_be() {
        let (mut session, mut records) = started();
        receive(&mut session, &mut records).unwrap();
        let mut out = Vec::new();
        session.close(&mut out).unwrap();
        assert!(!out.is_empty());
    }
}
