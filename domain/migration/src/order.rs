//! Who would be the best host: the same order on every peer that has the same list.

use core::cmp::{Ordering, Reverse};
use core::fmt;

use crate::hint::{CanBeHost, Entry, HintList};
use crate::{ChannelId, PeerId};

/// Compares two entries of a list, the better first. It has to be total and must read nothing else: every peer's has to say the same.
pub type Compare = dyn Fn(&Entry, &Entry) -> Ordering + Send + Sync;

/// By what hosts are chosen.
#[derive(Clone, Copy)]
pub enum Order {
    /// Seed 000: NAT type, then active connections, then "the unique network channel identifier".
    Documented,
    /// What CRYENGINE 5.1 really does: connections, ping, upstream, NAT type, channel.
    CryEngine51,
    /// The game's own. Whom it calls equal, the channel tells apart.
    Game(&'static Compare),
}

impl fmt::Debug for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Documented => "Documented",
            Self::CryEngine51 => "CryEngine51",
            Self::Game(_) => "Game",
        })
    }
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

    /// The best of those that may be host and that `is_meant` says so of: it is asked of few, only of whoever is better than the
    /// best before.
    #[must_use]
    pub fn first(self, list: &HintList, is_meant: impl Fn(PeerId) -> bool) -> Option<PeerId> {
        let mut first: Option<(PeerId, &Entry)> = None;
        for (peer, entry) in &list.entries {
            let is_better = || first.is_none_or(|(_, best)| self.compare(entry, best) == Ordering::Less);
            if entry.hint.can_be_host == CanBeHost::Yes && is_better() && is_meant(*peer) {
                first = Some((*peer, entry));
            }
        }
        first.map(|(peer, _)| peer)
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
