//! Who would be the best host: the same order on every peer that has the same list.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::cmp::{Ordering, Reverse};

use crate::hint::{CanBeHost, Entry, HintList};
use crate::{ChannelId, PeerId};

/// Compares two entries of a list, the better first. It has to be total and must read nothing else.
pub type Compare = fn(&Entry, &Entry) -> Ordering;

/// By what hosts are chosen.
#[derive(Debug, Clone, Copy)]
pub enum Order {
    /// Seed 000: NAT type, then active connections, then "the unique network channel identifier".
    Documented,
    /// What CRYENGINE 5.1 really does: connections, ping, upstream, NAT type, channel.
    CryEngine51,
    /// The game's own. Whom it calls equal, the channel tells apart.
    Game(Compare),
}

impl Order {
    fn compare(self, one: &Entry, other: &Entry) -> Ordering {
        let by_key = match self {
            Self::Documented => documented(one).cmp(&documented(other)),
            Self::CryEngine51 => cryengine_5_1(one).cmp(&cryengine_5_1(other)),
            Self::Game(compare) => compare(one, other),
        };
        by_key.then(one.channel.cmp(&other.channel))
    }

    /// Everybody of these that may be host, the best first, without those for whom `is_out` says so.
    #[must_use]
    pub fn candidates(
        self,
        list: &HintList,
        members: &BTreeMap<PeerId, ChannelId>,
        is_out: impl Fn(PeerId) -> bool,
    ) -> Vec<PeerId> {
        let mut able: Vec<(&PeerId, &Entry)> = list
            .entries
            .iter()
            .filter(|(peer, entry)| {
                entry.hint.can_be_host == CanBeHost::Yes && members.contains_key(peer) && !is_out(**peer)
            })
            .collect();
        able.sort_by(|one, other| self.compare(one.1, other.1));
        able.into_iter().map(|(peer, _)| *peer).collect()
    }

    /// Whether one is better than the other on what it can do, and not on its channel alone: only that is a reason to move
    /// a session that has a host.
    #[must_use]
    pub fn is_strictly_better(self, one: &Entry, other: &Entry) -> bool {
        let channel = ChannelId { stamp: crate::Stamp::certified(crate::Epoch::FIRST), number: 0 };
        let alike = |entry: &Entry| Entry { channel, hint: entry.hint };
        self.compare(&alike(one), &alike(other)) == Ordering::Less
    }
}

fn documented(entry: &Entry) -> impl Ord + use<> {
    (entry.hint.nat, Reverse(entry.hint.connections))
}

fn cryengine_5_1(entry: &Entry) -> impl Ord + use<> {
    let hint = entry.hint;
    (Reverse(hint.connections), hint.ping_ms, Reverse(hint.upstream_bps), hint.nat)
}
