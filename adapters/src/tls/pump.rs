//! One call to rustls after the other, until there is nothing more to do.
//!
//! What its unbuffered API asks of a caller, beyond its documentation:
//!
//! * It gets all unread bytes each time, for it keeps positions of pieces of handshake messages within them; with an empty slice
//!   it would panic when a peer splits such a message over two records.
//! * Writing is not offered while whole records are in view: they are decrypted first, all of them.
//! * What it has to send is lost if it is dropped for want of room: the same object is asked again.
//! * After an error the bad record stays, and must not be shown again: only the alerts are fetched.

use super::{Receiving, Sending, TlsError};
use crate::buffers::Pair;
use bytewise::{Eof, RecvBuf, SendBuf};
use rustls::{
    client::{ClientConnectionData, UnbufferedClientConnection},
    server::{ServerConnectionData, UnbufferedServerConnection},
    unbuffered::{
        ConnectionState, EncodeError, EncodeTlsData, EncryptError, InsufficientSizeError, UnbufferedConnectionCommon,
        UnbufferedStatus, WriteTraffic,
    },
};
use std::ops::Deref;

/// Plaintext of a full record (RFC 8446, section 5.1).
const MAX_PLAINTEXT: usize = 1 << 14;

/// Enough for header, nonce, type and tag in the cipher suites of today; a guess too low costs a second try.
const RECORD_OVERHEAD: usize = 64;

/// Nothing more is encrypted while so much waits to be written, but for a last record that is not full: alone it would be a write and
/// a segment of its own.
const HIGH_WATER: usize = 64 * 1024;

/// A chunk below this is sent in one record with what follows it, for a copy.
const SMALL: usize = 4096;

/// The one method in which rustls's two connections differ.
pub(super) trait Connection: Deref<Target = UnbufferedConnectionCommon<Self::Data>> {
    type Data;

    fn process<'c, 'i>(&'c mut self, records: &'i mut [u8]) -> UnbufferedStatus<'c, 'i, Self::Data>;
}

impl Connection for UnbufferedClientConnection {
    type Data = ClientConnectionData;

    fn process<'c, 'i>(&'c mut self, records: &'i mut [u8]) -> UnbufferedStatus<'c, 'i, Self::Data> {
        self.process_tls_records(records)
    }
}

impl Connection for UnbufferedServerConnection {
    type Data = ServerConnectionData;

    fn process<'c, 'i>(&'c mut self, records: &'i mut [u8]) -> UnbufferedStatus<'c, 'i, Self::Data> {
        self.process_tls_records(records)
    }
}

pub(super) struct Pump<'a> {
    pub(super) receiving: &'a mut Receiving,
    pub(super) sending: &'a mut Sending,
    pub(super) wire: &'a mut Pair,
}

impl Pump<'_> {
    pub(super) fn run(
        &mut self,
        connection: &mut impl Connection,
        rx: &mut RecvBuf,
        mut tx: Option<&mut SendBuf>,
    ) -> Result<(), TlsError> {
        while self.step(connection, rx, tx.as_deref_mut())? {}
        if self.wire.rx.eof().is_some() && matches!(self.receiving, Receiving::Open) {
            if connection.is_handshaking() {
                return Err(TlsError::HandshakeEof);
            }
            *self.receiving = Receiving::Closed;
            rx.set_eof(Eof::Truncated);
        }
        Ok(())
    }

    /// Handles one state of rustls's; whether there may be another.
    fn step(
        &mut self,
        connection: &mut impl Connection,
        rx: &mut RecvBuf,
        tx: Option<&mut SendBuf>,
    ) -> Result<bool, TlsError> {
        let begins = connection.is_handshaking() && is_not_tls(self.wire.rx.unread());
        let UnbufferedStatus { mut discard, state, .. } = connection.process(self.wire.rx.parts().0);
        let more = match state {
            Ok(ConnectionState::ReadTraffic(mut traffic)) => {
                while let Some(record) = traffic.next_record() {
                    let record = record?;
                    discard += record.discard;
                    rx.push(record.payload);
                }
                true
            }
            Ok(ConnectionState::EncodeTlsData(mut data)) => {
                encode(&mut data, &mut self.wire.tx)?;
                true
            }
            Ok(ConnectionState::TransmitTlsData(data)) => {
                // What was encoded is in the wire's buffer, which loses nothing: as good as sent.
                data.done();
                true
            }
            Ok(ConnectionState::PeerClosed) => {
                *self.receiving = Receiving::Closed;
                rx.set_eof(Eof::Clean);
                true
            }
            Ok(ConnectionState::WriteTraffic(traffic)) => match tx {
                Some(tx) => self.write(traffic, tx)?,
                None => false,
            },
            Ok(ConnectionState::BlockedHandshake | ConnectionState::Closed) => false,
            // Not reached: a server that accepts early data is refused.
            Ok(ConnectionState::ReadEarlyData(_)) => return Err(TlsError::EarlyData),
            // A state of a later rustls.
            Ok(_) => return Err(rustls::Error::General("unknown state".into()).into()),
            Err(error) => {
                encode_alerts(connection, &mut self.wire.tx);
                return Err(if begins { TlsError::NotTls } else { error.into() });
            }
        };
        self.wire.rx.take(discard);
        Ok(more)
    }

    /// Encrypts what `tx` holds: many small writes, few records.
    fn write<D>(&mut self, mut traffic: WriteTraffic<'_, D>, tx: &mut SendBuf) -> Result<bool, TlsError> {
        match self.sending {
            Sending::Closed => return Ok(false),
            Sending::RefreshKeys => {
                traffic.refresh_traffic_keys()?;
                *self.sending = Sending::Open;
                return Ok(true);
            }
            Sending::Open | Sending::Closing => {}
        }
        while self.wire.tx.queued() < HIGH_WATER || tx.queued() < MAX_PLAINTEXT {
            let mut gathered = Vec::new();
            let plaintext = next_plaintext(tx, &mut gathered);
            let taken = plaintext.len();
            if taken == 0 {
                break;
            }
            fill(&mut self.wire.tx, taken + RECORD_OVERHEAD, |space| traffic.encrypt(plaintext, space))?;
            tx.consume(taken);
        }
        if *self.sending == Sending::Closing && tx.is_empty() {
            fill(&mut self.wire.tx, RECORD_OVERHEAD, |space| traffic.queue_close_notify(space))?;
            *self.sending = Sending::Closed;
        }
        Ok(false)
    }
}

/// What goes into the next record: the first chunk or, if that is small, as much of all as fits, in `gathered`.
fn next_plaintext<'a>(tx: &'a SendBuf, gathered: &'a mut Vec<u8>) -> &'a [u8] {
    let first = tx.pending();
    let first = &first[..first.len().min(MAX_PLAINTEXT)];
    if first.len() >= SMALL || tx.chunks().nth(1).is_none() {
        return first;
    }
    for chunk in tx.chunks() {
        let room = MAX_PLAINTEXT - gathered.len();
        gathered.extend_from_slice(&chunk[..chunk.len().min(room)]);
    }
    gathered
}

/// Whether the first bytes of a connection begin no handshake and no alert (RFC 8446, section 5.1).
fn is_not_tls(unread: &[u8]) -> bool {
    unread.first().is_some_and(|kind| !(20..=23).contains(kind))
}

/// An encoder's complaint that it was given too little space, told apart from a failure.
trait Encoding {
    fn required_size(&self) -> Option<usize>;
}

impl Encoding for EncodeError {
    fn required_size(&self) -> Option<usize> {
        match self {
            Self::InsufficientSize(InsufficientSizeError { required_size, .. }) => Some(*required_size),
            Self::AlreadyEncoded => None,
        }
    }
}

impl Encoding for EncryptError {
    fn required_size(&self) -> Option<usize> {
        match self {
            Self::InsufficientSize(InsufficientSizeError { required_size, .. }) => Some(*required_size),
            Self::EncryptExhausted => None,
        }
    }
}

/// Runs the encoder on at least `guess` bytes of space, and once more if it names a larger size.
fn fill<E: Encoding>(
    tx: &mut SendBuf,
    guess: usize,
    mut encoder: impl FnMut(&mut [u8]) -> Result<usize, E>,
) -> Result<(), TlsError> {
    let Err(error) = tx.put_in_place(guess, &mut encoder) else { return Ok(()) };
    let required = error.required_size().ok_or(rustls::Error::EncryptError)?;
    tx.put_in_place(required, encoder).map(drop).map_err(|_| rustls::Error::EncryptError.into())
}

/// Appends one handshake record or alert.
fn encode<D>(data: &mut EncodeTlsData<'_, D>, tx: &mut SendBuf) -> Result<(), TlsError> {
    fill(tx, RECORD_OVERHEAD, |space| data.encode(space))
}

/// Appends the alerts that an error queued, and only while there are any: with none left the bad record would be looked at again.
fn encode_alerts(connection: &mut impl Connection, tx: &mut SendBuf) {
    while connection.wants_write() {
        let Ok(ConnectionState::EncodeTlsData(mut data)) = connection.process(&mut []).state else { return };
        if encode(&mut data, tx).is_err() {
            return;
        }
    }
}
