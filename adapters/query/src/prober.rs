//! One probe of one server, as a state machine that the hand with the socket drives.

use crate::answer::Answer;
use crate::limits::{DATAGRAM_BYTES_MAX, RECEIVE_BYTES_MAX};
use crate::malformed::Malformed;
use crate::udp::UdpPattern;
use crate::{a2s, quake3, sqp, teeworlds, udp};

/// What a hand must do to probe a server.
#[derive(Debug, Clone)]
pub enum Probe {
    /// Nothing: this server is never asked.
    Nothing,
    /// Connect a TCP socket and close it; that it connects is the answer, [`Answer::default`].
    Connect,
    /// Carry datagrams between the server and this prober.
    Datagrams(Prober),
}

/// What follows a received datagram.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Send this, and wait for the next datagram.
    Send(Vec<u8>),
    /// The server has answered: the probe is over.
    Done(Answer),
    /// The datagram belongs to another exchange, or came twice: go on waiting.
    Wait,
    /// The datagram breaks the protocol. Go on waiting, and report this if nothing better comes.
    Refused(Malformed),
}

impl From<Result<Step, Malformed>> for Step {
    fn from(result: Result<Step, Malformed>) -> Self {
        result.unwrap_or_else(Self::Refused)
    }
}

/// One exchange with one server over datagrams. See the crate's rules for the hand.
#[derive(Debug, Clone)]
pub struct Prober(Exchange);

#[derive(Debug, Clone)]
enum Exchange {
    Sqp(sqp::Prober),
    A2s(a2s::Prober),
    Quake3(quake3::Prober),
    Teeworlds(teeworlds::Prober),
    Udp(udp::Prober),
}

impl Prober {
    pub(crate) fn sqp() -> Self {
        Self(Exchange::Sqp(sqp::Prober::new()))
    }

    pub(crate) fn a2s() -> Self {
        Self(Exchange::A2s(a2s::Prober::new()))
    }

    pub(crate) fn quake3(nonce: u32) -> Self {
        Self(Exchange::Quake3(quake3::Prober::new(nonce)))
    }

    pub(crate) fn teeworlds(nonce: u32) -> Self {
        Self(Exchange::Teeworlds(teeworlds::Prober::new(nonce)))
    }

    pub(crate) fn udp(pattern: UdpPattern) -> Self {
        Self(Exchange::Udp(udp::Prober(pattern)))
    }

    /// Begins, or begins again after silence, and gives the first datagram to send.
    pub fn start(&mut self) -> Vec<u8> {
        match &mut self.0 {
            Exchange::Sqp(prober) => prober.start(),
            Exchange::A2s(prober) => prober.start(),
            Exchange::Quake3(prober) => prober.start(),
            Exchange::Teeworlds(prober) => prober.start(),
            Exchange::Udp(prober) => prober.start(),
        }
    }

    /// Takes a received datagram, whatever its bytes. After [`Step::Done`], only [`Prober::start`] makes sense.
    pub fn receive(&mut self, packet: &[u8]) -> Step {
        let max = self.receive_bytes_max();
        if packet.len() > max {
            return Step::Refused(Malformed::Oversize { bytes: packet.len(), max });
        }
        match &mut self.0 {
            Exchange::Sqp(prober) => prober.receive(packet),
            Exchange::A2s(prober) => prober.receive(packet),
            Exchange::Quake3(prober) => prober.receive(packet),
            Exchange::Teeworlds(prober) => prober.receive(packet),
            Exchange::Udp(prober) => prober.receive(packet),
        }
    }

    /// The longest datagram that [`Prober::receive`] takes. A hand's buffer is one byte longer, so that a cut datagram
    /// is not taken for a whole one.
    #[must_use]
    pub const fn receive_bytes_max(&self) -> usize {
        match self.0 {
            Exchange::Sqp(_) | Exchange::A2s(_) | Exchange::Teeworlds(_) => DATAGRAM_BYTES_MAX,
            Exchange::Quake3(_) | Exchange::Udp(_) => RECEIVE_BYTES_MAX,
        }
    }
}
