//! TLS by rustls 0.23 as a layer between two pairs of buffers: no socket, no clock, no runtime.
//!
//! ```text
//!              wire                        Tls                        plain
//!  socket ──▶ rx (records) ─── decrypted in place, copied out ───▶ rx ──▶ machine
//!  socket ◀── tx (records) ◀── encrypted ───────────────────────── tx ◀── machine
//! ```
//!
//! The drivers do this by themselves, with [`ServerOptions::with_tls`](crate::ServerOptions::with_tls) and
//! [`ClientOptions::with_tls`](crate::ClientOptions::with_tls). In a loop of one's own:
//!
//! ```no_run
//! use bytewise::{Eof, Machine, NextIo, RecvBuf, SendBuf, http1::{Client, ClientEvent, Config, NO_FIELDS}};
//! use bytewise_net::tls::Tls;
//! use std::{io::{Read, Write}, net::TcpStream, sync::Arc};
//!
//! # fn config() -> Arc<rustls::ClientConfig> { unimplemented!() }
//! let mut socket = TcpStream::connect("example.org:443")?;
//! let mut tls = Tls::client(config(), "example.org".try_into()?)?;
//! let (mut rx, mut tx) = (RecvBuf::new(), SendBuf::new());
//! let mut http = Client::new(&Config::default());
//! http.request("GET", "/", [("host", "example.org")], "", &mut tx)?;
//! loop {
//!     let failed = tls.process(&mut rx, &mut tx).err(); // an alert says so to the peer
//!     while let Some(event) = http.next_event(&mut rx, &mut tx)? {
//!         if let ClientEvent::Data(data) = event {
//!             println!("{}", String::from_utf8_lossy(data));
//!         }
//!     }
//!     let (from_wire, to_wire) = tls.wire();
//!     socket.write_all(to_wire.pending())?;
//!     to_wire.consume(to_wire.pending().len());
//!     if let Some(failed) = failed {
//!         return Err(failed.into());
//!     }
//!     if http.next_io() != NextIo::Read {
//!         break;
//!     }
//!     match socket.read(from_wire.space())? {
//!         0 => from_wire.set_eof(Eof::Clean),
//!         n => from_wire.filled(n),
//!     }
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The configuration is the caller's, with certificates, ALPN, the versions and the cryptography: nothing here names any. 0-RTT is
//! refused, since what it carries can be replayed.
//!
//! rustls allocates twice for each record; everything else is in buffers that the connections of a thread share.

mod error;
#[cfg(feature = "native-certs")]
mod native;
mod pump;
mod server_name;

pub use error::TlsError;
#[cfg(feature = "native-certs")]
pub use native::native_roots;

use crate::buffers::{Buffers, Pair};
use bytewise::{Phase, RecvBuf, SendBuf};
use pump::Pump;
use rustls::{
    ClientConfig, CommonState, ProtocolVersion, ServerConfig,
    client::UnbufferedClientConnection,
    pki_types::{CertificateDer, ServerName},
    server::UnbufferedServerConnection,
};
use server_name::Requested;
use std::{fmt, ops::Deref, sync::Arc};

/// One session, client or server, with its buffers of records. See the [module](self).
pub struct Tls {
    role: Role,
    wire: Buffers,
    /// Plaintext that came where there was no buffer for it.
    held: RecvBuf,
    receiving: Receiving,
    sending: Sending,
}

enum Role {
    // Boxed: they take 1 KiB and more.
    Client(Box<UnbufferedClientConnection>),
    Server(Box<UnbufferedServerConnection>, Arc<Requested>),
}

/// What may still come.
#[derive(Debug)]
enum Receiving {
    Open,
    Closed,
    Failed(TlsError),
}

/// What is still to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sending {
    /// Plaintext is encrypted as it comes.
    Open,
    /// As `Open`, after a `key_update`.
    RefreshKeys,
    /// The plaintext at hand, then `close_notify`.
    Closing,
    /// `close_notify` is in the wire's buffer.
    Closed,
}

impl Tls {
    /// The client's side of a session with the server called `name`, which goes out as SNI if it is a DNS name.
    ///
    /// # Errors
    ///
    /// The configuration or the name cannot be used.
    pub fn client(config: Arc<ClientConfig>, name: ServerName<'static>) -> Result<Self, TlsError> {
        Ok(Self::new(Role::Client(Box::new(UnbufferedClientConnection::new(config, name)?))))
    }

    /// The server's side of a session.
    ///
    /// # Errors
    ///
    /// The configuration cannot be used, or allows [0-RTT](TlsError::EarlyData).
    pub fn server(config: Arc<ServerConfig>) -> Result<Self, TlsError> {
        if config.max_early_data_size > 0 {
            return Err(TlsError::EarlyData);
        }
        let (config, requested) = Requested::of(&config);
        let connection = UnbufferedServerConnection::new(Arc::new(config))?;
        Ok(Self::new(Role::Server(Box::new(connection), requested)))
    }

    fn new(role: Role) -> Self {
        let (wire, held) = (Buffers::new(), RecvBuf::new());
        Self { role, wire, held, receiving: Receiving::Open, sending: Sending::Open }
    }

    /// The wire's side: read into the first and declare its end there, write the second.
    ///
    /// Read no more than a [`space`](RecvBuf::space) before each [`process`](Self::process), so that no more plaintext comes of it.
    pub fn wire(&mut self) -> (&mut RecvBuf, &mut SendBuf) {
        let Pair { rx, tx, .. } = self.wire.pair();
        (rx, tx)
    }

    /// Decrypts all records of the wire into `rx`, and encrypts `tx` into the wire, as long as little waits there: call it after
    /// a read, after the machine, and after a write.
    ///
    /// `close_notify` is the end of `rx`, [`Eof::Clean`](bytewise::Eof); the end of the wire without it is
    /// [`Eof::Truncated`](bytewise::Eof).
    ///
    /// # Errors
    ///
    /// The session failed, for good; the alert that says so is in the wire's buffer, and `rx` has what came before.
    pub fn process(&mut self, rx: &mut RecvBuf, tx: &mut SendBuf) -> Result<(), TlsError> {
        self.decrypt(rx)?;
        self.encrypt(tx)
    }

    /// The receiving part of [`process`](Self::process).
    pub(crate) fn decrypt(&mut self, rx: &mut RecvBuf) -> Result<(), TlsError> {
        if let Some(eof) = self.held.eof() {
            rx.set_eof(eof);
        }
        if !self.held.is_idle() {
            rx.push(self.held.unread());
            self.held = RecvBuf::new();
        }
        self.pump(|pump, role| match role {
            Role::Client(client) => pump.run(&mut **client, rx, None),
            Role::Server(server, _) => pump.run(&mut **server, rx, None),
        })
    }

    /// The sending part of [`process`](Self::process). During the handshake it goes as far as that can.
    pub(crate) fn encrypt(&mut self, tx: &mut SendBuf) -> Result<(), TlsError> {
        let mut held = std::mem::take(&mut self.held);
        let outcome = self.pump(|pump, role| match role {
            Role::Client(client) => pump.run(&mut **client, &mut held, Some(tx)),
            Role::Server(server, _) => pump.run(&mut **server, &mut held, Some(tx)),
        });
        self.held = held;
        outcome
    }

    /// What came of the wire, for one who waits to send: plaintext is kept for the next who asks for it.
    pub(crate) fn shake_hands(&mut self) -> Result<(), TlsError> {
        let mut held = std::mem::take(&mut self.held);
        let outcome = self.pump(|pump, role| match role {
            Role::Client(client) => pump.run(&mut **client, &mut held, None),
            Role::Server(server, _) => pump.run(&mut **server, &mut held, None),
        });
        self.held = held;
        outcome
    }

    fn pump(&mut self, run: impl FnOnce(&mut Pump<'_>, &mut Role) -> Result<(), TlsError>) -> Result<(), TlsError> {
        if let Receiving::Failed(error) = &self.receiving {
            return Err(error.clone());
        }
        let wire = self.wire.pair();
        let mut pump = Pump { receiving: &mut self.receiving, sending: &mut self.sending, wire };
        let outcome = run(&mut pump, &mut self.role);
        if let Err(error) = &outcome {
            self.receiving = Receiving::Failed(error.clone());
        }
        outcome
    }

    /// Ends the sending direction: [`process`](Self::process) sends what `tx` holds, then `close_notify`.
    pub fn close(&mut self) {
        if self.sending != Sending::Closed {
            self.sending = Sending::Closing;
        }
    }

    /// Changes the keys of the sending direction, and asks the peer to do the same; whether that can be, which is between the
    /// handshake and the closing of TLS 1.3.
    pub fn refresh_keys(&mut self) -> bool {
        let can = !self.is_handshaking()
            && self.common().protocol_version() == Some(ProtocolVersion::TLSv1_3)
            && matches!(self.sending, Sending::Open | Sending::RefreshKeys);
        if can {
            self.sending = Sending::RefreshKeys;
        }
        can
    }

    /// Whether the handshake is under way.
    pub fn is_handshaking(&self) -> bool {
        self.common().is_handshaking()
    }

    /// [`Phase::Handshake`] until that is done, then the machine's.
    pub fn phase(&self, machine: (Phase, u32)) -> (Phase, u32) {
        if self.is_handshaking() { (Phase::Handshake, 0) } else { machine }
    }

    /// The protocol agreed on by ALPN.
    pub fn alpn(&self) -> Option<&[u8]> {
        self.common().alpn_protocol()
    }

    /// The version agreed on, once the server chose it.
    pub fn version(&self) -> Option<ProtocolVersion> {
        self.common().protocol_version()
    }

    /// The name that the client asked the server for (SNI), once it did; `None` for a client.
    pub fn server_name(&self) -> Option<&str> {
        match &self.role {
            Role::Client(_) => None,
            Role::Server(_, requested) => requested.name(),
        }
    }

    /// The peer's certificates, its own first, once the handshake is done: the server's, or those a client was asked for.
    pub fn peer_certificates(&self) -> Option<&[CertificateDer<'static>]> {
        self.common().peer_certificates()
    }

    /// Gives the wire's buffers to the thread, if they hold nothing: for one who waits to read.
    pub fn give_back_buffers(&mut self) {
        self.wire.give_back();
    }

    /// Bytes of the wire that are to be written.
    pub(crate) fn queued(&self) -> usize {
        self.wire.queued()
    }

    fn common(&self) -> &CommonState {
        match &self.role {
            Role::Client(client) => client.deref(),
            Role::Server(server, _) => server.deref(),
        }
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls")
            .field("receiving", &self.receiving)
            .field("sending", &self.sending)
            .field("version", &self.version())
            .finish_non_exhaustive()
    }
}
