//! Every limit of this crate, each with its reason.

use std::time::Duration;

/// The largest datagram of SQP, A2S and Teeworlds: an Ethernet frame of 1,500 bytes less 28 of IPv4 and UDP headers.
/// Unity's own SQP client and server use the same number.
pub const DATAGRAM_BYTES_MAX: usize = 1472;

/// The largest answer of any protocol here, and so the size of a hand's receive buffer: a Quake 3 server with many
/// players sends its whole status in one datagram of up to 16,384 bytes (`MAX_MSGLEN` of its engine).
pub const RECEIVE_BYTES_MAX: usize = 16_384;

/// The longest text kept from an answer. SQP cannot say more (one length byte); the others have no limit of their own.
pub const TEXT_BYTES_MAX: usize = 255;

/// How long a hand waits for one datagram; Unity's own prober waits as long.
pub const ANSWER_TIMEOUT: Duration = Duration::from_secs(1);

/// The least time between two probes of one server, whatever the protocol: ioquake3 drops more than about one a second
/// from one address, and Armagetron bans an address after ten in half a second.
pub(crate) const INTERVAL_MIN: Duration = Duration::from_secs(1);

/// How long a responder's token is good for (Unity's Go SDK: one minute).
pub const TOKEN_LIFETIME: Duration = Duration::from_secs(60);

/// How many tokens a responder keeps. A prober spends its token within a round trip, so this is room for a thousand
/// probers at once; a flood from made-up addresses evicts the oldest and costs no more than about 100 KB.
pub const TOKENS_MAX: usize = 1024;

/// The longest request, and the longest expected prefix, of a plain UDP probe: longer than any known greeting, and short
/// enough to stand in a configuration file.
pub const UDP_PATTERN_BYTES_MAX: usize = 256;

/// How often an A2S server may ask for another challenge within one probe; a well-behaved one asks once.
pub(crate) const CHALLENGES_MAX: u8 = 3;

/// How many metrics an SQP answer may hold: the highest of what known clients read (go-svrquery).
pub(crate) const METRICS_MAX: usize = 25;

/// How many metrics our own SQP responder sends: what Unity's Go SDK allows a server.
pub(crate) const METRICS_SENT_MAX: usize = 10;
