//! What peers tell of themselves so that all agree who would be the best host, and the list that the host keeps of it.
//!
//! Seed 000: "The hint list is maintained by the current host for as long as the session is active (and supports host
//! migration), and propagated to all clients." Each list is numbered, and a peer that asks for votes with an older one is
//! no danger: it costs time, never a second host.

use alloc::collections::BTreeMap;

use crate::{ChannelId, Epoch, PeerId};

/// How well others can reach a peer. Seed 000: "open is better than moderate, which is better than strict, with unknown
/// NAT's being considered the worst"; the derived order is that one, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NatType {
    /// Anybody reaches it.
    Open,
    /// Whoever it has written to reaches it.
    Moderate,
    /// Only whoever it writes to, from a port that others cannot foresee.
    Strict,
    /// Nobody has found out.
    Unknown,
}

/// Whether a peer may become host. Seed 000: "all clients will initially report that they are unsuitable as a host of any
/// session they connect to" until "the game deems that the client has sufficient information".
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CanBeHost {
    /// The game has said so, for this session.
    Yes,
    /// It has not.
    NotYet,
}

/// By how much the mean round trip has to change before it is told anew, in milliseconds, and as a part of what it was: each
/// change is a new list for every member.
const PING_STEP_MS: u16 = 10;
const PING_STEP_PART: u16 = 4;

/// What a peer tells of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Hint {
    /// Whether it may be host at all.
    pub can_be_host: CanBeHost,
    /// How others reach it.
    pub nat: NatType,
    /// To how many of the others who play it has a link; 255 stands for more.
    pub connections: u8,
    /// The mean round trip to them, in milliseconds.
    pub ping_ms: u16,
    /// What it can send, in bits a second, as its game has said; 0 where it has not.
    pub upstream_bps: u32,
}

impl Hint {
    /// Of a peer that has just come: unsuitable, and nothing known.
    pub const UNSUITABLE: Self = Self {
        can_be_host: CanBeHost::NotYet,
        nat: NatType::Unknown,
        connections: 0,
        ping_ms: u16::MAX,
        upstream_bps: 0,
    };

    /// What it tells of its mean round trip, where that was just measured.
    pub(crate) const fn steady_ping(self, measured_ms: u16) -> u16 {
        let told = self.ping_ms;
        let part = told / PING_STEP_PART;
        let step = if part > PING_STEP_MS { part } else { PING_STEP_MS };
        if measured_ms.abs_diff(told) < step { told } else { measured_ms }
    }
}

/// Which list: those of a later host come after.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HintVersion {
    /// The epoch of the host that keeps it.
    pub epoch: Epoch,
    /// Counts its changes.
    pub number: u32,
}

impl HintVersion {
    /// Before any.
    pub(crate) const NONE: Self = Self { epoch: Epoch(0), number: 0 };
}

/// One peer in the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Entry {
    /// Its channel: what decides between equals.
    pub channel: ChannelId,
    /// What it told.
    pub hint: Hint,
}

/// The hints of all members, as the host knows them.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct HintList {
    /// Which list.
    pub version: HintVersion,
    /// By peer.
    pub entries: BTreeMap<PeerId, Entry>,
}

impl HintList {
    /// Of a host that has heard nothing yet.
    #[must_use]
    pub const fn empty(epoch: Epoch) -> Self {
        Self { version: HintVersion { epoch, number: 0 }, entries: BTreeMap::new() }
    }

    /// Takes what a peer told. `true` where that changes the list.
    pub fn take(&mut self, peer: PeerId, channel: ChannelId, hint: Hint) -> bool {
        let entry = Entry { channel, hint };
        if self.entries.insert(peer, entry) == Some(entry) {
            return false;
        }
        // A host that has told of all numbers there are tells of no change any more, and stops nobody.
        self.version.number = self.version.number.saturating_add(1);
        true
    }

    /// Forgets whoever is no member any more. `true` where that changes the list.
    pub fn keep<V>(&mut self, members: &BTreeMap<PeerId, V>) -> bool {
        let before = self.entries.len();
        self.entries.retain(|peer, _| members.contains_key(peer));
        let changed = self.entries.len() != before;
        self.version.number += u32::from(changed);
        changed
    }
}
