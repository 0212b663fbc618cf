//! Extensions (RFC 6455, section 9.1), of which there is one: permessage-deflate (RFC 7692, section 7).

use super::Rejected;
use crate::ws::Config;
use alloc::{boxed::Box, string::String};

/// What a handshake agreed on; `Default` is nothing.
#[derive(Debug, Clone, Default)]
pub struct Negotiated {
    protocol: Option<Box<str>>,
    /// Value of the field that answers an offer.
    extensions: Option<Box<str>>,
    #[cfg(feature = "deflate")]
    deflate: Option<Agreed>,
}

impl Negotiated {
    /// A server's choice out of the client's `sec-websocket-extensions`; several fields are joined by commas. What is offered
    /// otherwise than the RFC says is declined.
    pub fn choose(offer: &[u8], config: &Config) -> Self {
        Self::choose_from(core::iter::once(offer), config)
    }

    /// A client's check of the server's `sec-websocket-extensions`; empty if there is none.
    ///
    /// # Errors
    ///
    /// [`Rejected::Extension`]: something that was not offered.
    pub fn confirm(answer: &[u8], config: &Config) -> Result<Self, Rejected> {
        Self::confirm_from(core::iter::once(answer), config)
    }

    /// With a subprotocol.
    #[must_use]
    pub fn with_protocol(mut self, protocol: &str) -> Self {
        self.protocol = Some(protocol.into());
        self
    }

    /// The subprotocol.
    pub fn protocol(&self) -> Option<&str> {
        self.protocol.as_deref()
    }

    /// Value of `sec-websocket-extensions` to answer with; for a client, what was answered.
    pub fn extensions(&self) -> Option<&str> {
        self.extensions.as_deref()
    }
}

#[cfg(not(feature = "deflate"))]
impl Negotiated {
    pub(super) fn choose_from<'f>(_: impl Iterator<Item = &'f [u8]>, _: &Config) -> Self {
        Self::default()
    }

    pub(super) fn confirm_from<'f>(mut answer: impl Iterator<Item = &'f [u8]>, _: &Config) -> Result<Self, Rejected> {
        if answer.any(|value| !value.is_empty()) { Err(Rejected::Extension) } else { Ok(Self::default()) }
    }

    pub(super) fn offer(_: &Config) -> Option<String> {
        None
    }
}

#[cfg(feature = "deflate")]
pub(in crate::ws) use deflate::Direction;
#[cfg(feature = "deflate")]
use deflate::{Agreed, Parameters};

#[cfg(feature = "deflate")]
impl Negotiated {
    pub(super) fn choose_from<'f>(offer: impl Iterator<Item = &'f [u8]>, config: &Config) -> Self {
        let Some(deflate) = &config.deflate else { return Self::default() };
        // The first that can be accepted (RFC 7692, section 5).
        let agreed = offer
            .flat_map(crate::http1::list_items)
            .filter_map(Parameters::parse)
            .find_map(|offer| deflate::accept(&offer, deflate));
        let Some((agreed, answer)) = agreed else { return Self::default() };
        Self { extensions: Some(answer.into()), deflate: Some(agreed), ..Self::default() }
    }

    pub(super) fn confirm_from<'f>(answer: impl Iterator<Item = &'f [u8]>, config: &Config) -> Result<Self, Rejected> {
        let mut items = answer.flat_map(crate::http1::list_items).filter(|item| !item.is_empty());
        let Some(item) = items.next() else { return Ok(Self::default()) };
        let (None, Some(deflate)) = (items.next(), &config.deflate) else { return Err(Rejected::Extension) };
        let agreed = Parameters::parse(item).and_then(|answer| deflate::confirm(&answer, deflate));
        let text = core::str::from_utf8(item).map_err(|_| Rejected::Extension)?;
        let agreed = agreed.ok_or(Rejected::Extension)?;
        Ok(Self { extensions: Some(text.into()), deflate: Some(agreed), ..Self::default() })
    }

    pub(super) fn offer(config: &Config) -> Option<String> {
        config.deflate.as_ref().map(deflate::offer)
    }

    pub(in crate::ws) const fn deflate(&self) -> Option<Agreed> {
        self.deflate
    }
}

#[cfg(feature = "deflate")]
mod deflate {
    use crate::ws::Deflate;
    use alloc::string::String;
    use core::{fmt::Write, str};

    const NAME: &str = "permessage-deflate";

    /// What both sides agreed on.
    #[derive(Debug, Clone, Copy)]
    pub(in crate::ws) struct Agreed {
        server: Direction,
        client: Direction,
    }

    /// Of the messages of one side.
    #[derive(Debug, Clone, Copy)]
    pub(in crate::ws) struct Direction {
        pub(in crate::ws) window_bits: u8,
        /// Whether messages refer to those before them.
        pub(in crate::ws) takeover: bool,
    }

    impl Agreed {
        /// That of this side, and that of the other.
        pub(in crate::ws) const fn directions(self, is_server: bool) -> (Direction, Direction) {
            if is_server { (self.server, self.client) } else { (self.client, self.server) }
        }
    }

    /// The parameters of an offer or an answer (RFC 7692, section 7.1), as they are written.
    #[derive(Debug, Default)]
    pub(super) struct Parameters {
        server_no_takeover: bool,
        client_no_takeover: bool,
        server_bits: Option<u8>,
        /// Without a value: any.
        client_bits: Option<Option<u8>>,
    }

    impl Parameters {
        /// `None` if it is another extension, or has a parameter that is unknown, repeated or malformed.
        pub(super) fn parse(item: &[u8]) -> Option<Self> {
            let mut parts = str::from_utf8(item).ok()?.split(';').map(str::trim);
            if !parts.next()?.eq_ignore_ascii_case(NAME) {
                return None;
            }
            let mut parameters = Self::default();
            for part in parts {
                let (name, value) = match part.split_once('=') {
                    Some((name, value)) => (name.trim_end(), Some(unquoted(value.trim_start()))),
                    None => (part, None),
                };
                let repeated = match (name, value) {
                    ("server_no_context_takeover", None) => {
                        core::mem::replace(&mut parameters.server_no_takeover, true)
                    }
                    ("client_no_context_takeover", None) => {
                        core::mem::replace(&mut parameters.client_no_takeover, true)
                    }
                    ("server_max_window_bits", Some(value)) => parameters.server_bits.replace(bits(value)?).is_some(),
                    ("client_max_window_bits", value) => {
                        let value = value.map(bits);
                        if value == Some(None) {
                            return None;
                        }
                        parameters.client_bits.replace(value.flatten()).is_some()
                    }
                    _ => return None,
                };
                if repeated {
                    return None;
                }
            }
            Some(parameters)
        }
    }

    /// A value may be a token or a quoted string (RFC 6455, section 9.1).
    fn unquoted(value: &str) -> &str {
        value.strip_prefix('"').and_then(|value| value.strip_suffix('"')).unwrap_or(value)
    }

    /// 8 to 15, without leading zeros (RFC 7692, section 7.1.2).
    fn bits(value: &str) -> Option<u8> {
        if value.starts_with('0') || value.len() > 2 || !value.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        value.parse().ok().filter(|bits| (8..=15).contains(bits))
    }

    /// A server accepts an offer, and how it says so.
    pub(super) fn accept(offer: &Parameters, deflate: &Deflate) -> Option<(Agreed, String)> {
        let server = Direction {
            window_bits: offer.server_bits.unwrap_or(15).min(deflate.window_bits),
            takeover: deflate.takeover && !offer.server_no_takeover,
        };
        // A client that did not say that it knows the parameter cannot be told its window (section 7.1.2.2).
        let client_bits = offer.client_bits.map_or(15, |bits| bits.unwrap_or(15).min(deflate.peer_window_bits));
        let client =
            Direction { window_bits: client_bits, takeover: deflate.peer_takeover && !offer.client_no_takeover };
        let mut answer = String::from(NAME);
        if !server.takeover {
            answer.push_str("; server_no_context_takeover");
        }
        if !client.takeover {
            answer.push_str("; client_no_context_takeover");
        }
        if offer.server_bits.is_some() || server.window_bits < 15 {
            let _ = write!(answer, "; server_max_window_bits={}", server.window_bits);
        }
        if client_bits < 15 {
            let _ = write!(answer, "; client_max_window_bits={client_bits}");
        }
        Some((Agreed { server, client }, answer))
    }

    /// A client's offer.
    pub(super) fn offer(deflate: &Deflate) -> String {
        let mut offer = String::from(NAME);
        if !deflate.peer_takeover {
            offer.push_str("; server_no_context_takeover");
        }
        if !deflate.takeover {
            offer.push_str("; client_no_context_takeover");
        }
        if deflate.peer_window_bits < 15 {
            let _ = write!(offer, "; server_max_window_bits={}", deflate.peer_window_bits);
        }
        offer.push_str("; client_max_window_bits");
        if deflate.window_bits < 15 {
            let _ = write!(offer, "={}", deflate.window_bits);
        }
        offer
    }

    /// A client checks the answer to its offer (RFC 7692, sections 7.1.1 and 7.1.2).
    pub(super) fn confirm(answer: &Parameters, deflate: &Deflate) -> Option<Agreed> {
        let client_bits = match answer.client_bits {
            None => 15,
            Some(bits) => bits?,
        };
        let server_bits = answer.server_bits.unwrap_or(15);
        // Both were asked for, and are not options of the server's.
        if (!deflate.peer_takeover && !answer.server_no_takeover) || server_bits > deflate.peer_window_bits {
            return None;
        }
        let server = Direction { window_bits: server_bits, takeover: !answer.server_no_takeover };
        let client = Direction {
            window_bits: client_bits.min(deflate.window_bits),
            takeover: deflate.takeover && !answer.client_no_takeover,
        };
        Some(Agreed { server, client })
    }
}
