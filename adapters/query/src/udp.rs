//! The plain UDP probe: send these bytes, expect an answer that begins with those. Minetest needs it, and it fits any
//! server with a greeting. Seen on the wire of Debian's `minetestserver` 5.6.1: the connect packet
//! `4f45740300000003ffdc0100` is answered by `4f45740300010003ffdc0001` and a peer number, so its form is
//! `udp:4f45740300000003ffdc0100:4f457403`. The server drops such a half-open peer by itself.

use std::fmt;

use crate::answer::Answer;
use crate::limits::UDP_PATTERN_BYTES_MAX;
use crate::prober::Step;
use crate::protocol::ProtocolError;

/// What a plain UDP probe sends, and how an answer begins.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct UdpPattern {
    request: Vec<u8>,
    expect: Vec<u8>,
}

impl UdpPattern {
    /// A pattern from bytes: `request` has 1 to [`UDP_PATTERN_BYTES_MAX`] bytes, `expect` at most as many; an empty
    /// `expect` takes any answer.
    ///
    /// # Errors
    /// Where a length is outside these bounds.
    pub fn new(request: Vec<u8>, expect: Vec<u8>) -> Result<Self, ProtocolError> {
        if request.is_empty() {
            return Err(ProtocolError::RequestEmpty);
        }
        for (what, bytes) in [("request", &request), ("expected prefix", &expect)] {
            if bytes.len() > UDP_PATTERN_BYTES_MAX {
                return Err(ProtocolError::PatternLong { what, bytes: bytes.len() });
            }
        }
        Ok(Self { request, expect })
    }

    /// A pattern from two texts of hexadecimal digits (spaces are allowed between bytes).
    ///
    /// # Errors
    /// Where a text is not hexadecimal, or a length is outside the bounds of [`UdpPattern::new`].
    pub fn from_hex(request: &str, expect: &str) -> Result<Self, ProtocolError> {
        Self::new(bytes("request", request)?, bytes("expected prefix", expect)?)
    }

    /// What is sent.
    #[must_use]
    pub fn request(&self) -> &[u8] {
        &self.request
    }

    /// How an answer begins.
    #[must_use]
    pub fn expect(&self) -> &[u8] {
        &self.expect
    }
}

impl fmt::Display for UdpPattern {
    /// `REQUEST:EXPECT` in lower-case hexadecimal digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for byte in &self.request {
            write!(f, "{byte:02x}")?;
        }
        f.write_str(":")?;
        for byte in &self.expect {
            write!(f, "{byte:02x}")?;
        }
        Ok(())
    }
}

fn bytes(what: &'static str, text: &str) -> Result<Vec<u8>, ProtocolError> {
    let mut bytes = Vec::new();
    let mut high = None;
    for (at, sign) in text.char_indices() {
        if sign.is_ascii_whitespace() && high.is_none() {
            continue;
        }
        let Some(digit) = sign.to_digit(16).and_then(|digit| u8::try_from(digit).ok()) else {
            return Err(ProtocolError::NotHex { what, sign, at });
        };
        match high.take() {
            None => high = Some(digit),
            Some(first) => bytes.push(first << 4 | digit),
        }
    }
    match high {
        None => Ok(bytes),
        Some(_) => Err(ProtocolError::HalfByte { what }),
    }
}

/// One exchange: there is only the one question.
#[derive(Debug, Clone)]
pub(crate) struct Prober(pub(crate) UdpPattern);

impl Prober {
    pub(crate) fn start(&self) -> Vec<u8> {
        self.0.request.clone()
    }

    pub(crate) fn receive(&self, packet: &[u8]) -> Step {
        if packet.starts_with(&self.0.expect) { Step::Done(Answer::default()) } else { Step::Wait }
    }
}
