//! Which protocol a build configuration is asked by, in the form a configuration file says it.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::limits::{INTERVAL_MIN, UDP_PATTERN_BYTES_MAX};
use crate::prober::{Probe, Prober};
use crate::udp::UdpPattern;

/// A query protocol. Its text form is `sqp`, `a2s`, `quake3`, `teeworlds`, `tcp`, `udp:REQUEST:EXPECT` (two texts of
/// hexadecimal digits) or `none`; the first two and the last are Multiplay's `queryType`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// Unity's server query protocol.
    Sqp,
    /// Valve's server queries: `A2S_INFO`, with challenge.
    A2s,
    /// `getstatus` of Quake 3 and its many children.
    Quake3,
    /// Teeworlds 0.7: token, then `gie3`.
    Teeworlds,
    /// A TCP connection that comes about is an answer; nothing is sent.
    Tcp,
    /// One datagram for another.
    Udp(UdpPattern),
    /// Never asked: only the process's exit counts (seed 001).
    None,
}

impl Protocol {
    /// One probe. `nonce` marks its answers where the protocol can carry it; draw it at random for each probe.
    #[must_use]
    pub fn probe(&self, nonce: u32) -> Probe {
        match self {
            Self::Sqp => Probe::Datagrams(Prober::sqp()),
            Self::A2s => Probe::Datagrams(Prober::a2s()),
            Self::Quake3 => Probe::Datagrams(Prober::quake3(nonce)),
            Self::Teeworlds => Probe::Datagrams(Prober::teeworlds(nonce)),
            Self::Tcp => Probe::Connect,
            Self::Udp(pattern) => Probe::Datagrams(Prober::udp(pattern.clone())),
            Self::None => Probe::Nothing,
        }
    }

    /// The least time between the starts of two probes of one server.
    #[must_use]
    pub const fn interval_min(&self) -> Duration {
        INTERVAL_MIN
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqp => f.write_str("sqp"),
            Self::A2s => f.write_str("a2s"),
            Self::Quake3 => f.write_str("quake3"),
            Self::Teeworlds => f.write_str("teeworlds"),
            Self::Tcp => f.write_str("tcp"),
            Self::Udp(pattern) => write!(f, "udp:{pattern}"),
            Self::None => f.write_str("none"),
        }
    }
}

impl FromStr for Protocol {
    type Err = ProtocolError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "sqp" => Ok(Self::Sqp),
            "a2s" => Ok(Self::A2s),
            "quake3" => Ok(Self::Quake3),
            "teeworlds" => Ok(Self::Teeworlds),
            "tcp" => Ok(Self::Tcp),
            "none" => Ok(Self::None),
            other => match other.strip_prefix("udp:").map(|pattern| pattern.split_once(':')) {
                Some(Some((request, expect))) => Ok(Self::Udp(UdpPattern::from_hex(request, expect)?)),
                Some(None) => Err(ProtocolError::UdpForm),
                None => Err(ProtocolError::Unknown { text: shown(other) }),
            },
        }
    }
}

/// As much of a wrong value as helps to find it.
fn shown(text: &str) -> String {
    const SHOWN_CHARS_MAX: usize = 40;
    text.chars().take(SHOWN_CHARS_MAX).collect()
}

/// Why a text is no protocol. Each says how to mend it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProtocolError {
    /// No such protocol.
    #[error(
        "`{text}` is no query protocol: use sqp, a2s, quake3, teeworlds, tcp, udp:REQUEST:EXPECT (hexadecimal) or none"
    )]
    Unknown {
        /// What was written, cut.
        text: String,
    },
    /// `udp` without its two parts.
    #[error(
        "a udp query needs its request and the beginning of the answer: udp:REQUEST:EXPECT, both hexadecimal"
    )]
    UdpForm,
    /// Something else than a hexadecimal digit.
    #[error("the {what} has `{sign}` at {at}: write it in hexadecimal digits, two for each byte")]
    NotHex {
        /// `request` or `expected prefix`.
        what: &'static str,
        /// The character found.
        sign: char,
        /// Where, in bytes from the part's beginning.
        at: usize,
    },
    /// An odd number of digits.
    #[error("the {what} ends within a byte: write two hexadecimal digits for each byte")]
    HalfByte {
        /// `request` or `expected prefix`.
        what: &'static str,
    },
    /// Nothing to send.
    #[error("the request is empty: a udp query must send at least one byte")]
    RequestEmpty,
    /// A part that is too long.
    #[error("the {what} has {bytes} bytes: use at most {UDP_PATTERN_BYTES_MAX}")]
    PatternLong {
        /// `request` or `expected prefix`.
        what: &'static str,
        /// How many bytes it has.
        bytes: usize,
    },
}

impl ProtocolError {
    /// The code under which the manual explains this problem.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        "MS-C201"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_is_read_and_said_alike() {
        for text in ["sqp", "a2s", "quake3", "teeworlds", "tcp", "none", "udp:4f45:4f", "udp:00:"] {
            assert_eq!(text.parse::<Protocol>().unwrap().to_string(), text);
        }
        let spaced: Protocol = "udp:4F45 7403 0000:4f4574".parse().unwrap();
        assert_eq!(spaced.to_string(), "udp:4f4574030000:4f4574");
    }

    #[test]
    fn wrong_forms_say_what_is_wrong() {
        let long = "00".repeat(UDP_PATTERN_BYTES_MAX + 1);
        for (text, error) in [
            ("SQP", ProtocolError::Unknown { text: "SQP".into() }),
            ("", ProtocolError::Unknown { text: String::new() }),
            ("udp", ProtocolError::Unknown { text: "udp".into() }),
            ("udp:00", ProtocolError::UdpForm),
            ("udp::00", ProtocolError::RequestEmpty),
            ("udp:0g:", ProtocolError::NotHex { what: "request", sign: 'g', at: 1 }),
            ("udp:0 0:", ProtocolError::NotHex { what: "request", sign: ' ', at: 1 }),
            ("udp:00:1", ProtocolError::HalfByte { what: "expected prefix" }),
            ("udp:00:11:22", ProtocolError::NotHex { what: "expected prefix", sign: ':', at: 2 }),
            (&format!("udp:{long}:"), ProtocolError::PatternLong { what: "request", bytes: 257 }),
        ] {
            assert_eq!(text.parse::<Protocol>(), Err(error), "{text}");
        }
    }
}
