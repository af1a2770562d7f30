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
    Game {
        /// Which: another comparator has another number, for the number alone is told to others.
        number: u32,
        /// The comparator.
        compare: &'static Compare,
    },
}

/// Which order a session has, as it is told to whoever comes in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OrderName {
    /// [`Order::Documented`]
    Documented,
    /// [`Order::CryEngine51`]
    CryEngine51,
    /// [`Order::Game`], with that number.
    Game(u32),
}

impl fmt::Debug for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.name().fmt(f)
    }
}

impl Order {
    /// What is told of it.
    #[must_use]
    pub const fn name(self) -> OrderName {
        match self {
            Self::Documented => OrderName::Documented,
            Self::CryEngine51 => OrderName::CryEngine51,
            Self::Game { number, .. } => OrderName::Game(number),
        }
    }

    /// The order of that name, for a game whose own is this one; `None` where it does not have it.
    pub(crate) fn named(self, name: OrderName) -> Option<Self> {
        match name {
            OrderName::Documented => Some(Self::Documented),
            OrderName::CryEngine51 => Some(Self::CryEngine51),
            OrderName::Game(_) => (self.name() == name).then_some(self),
        }
    }

    /// Whether a game whose own order has that name can go by this one.
    pub(crate) fn is_known_to(self, own: OrderName) -> bool {
        match self.name() {
            OrderName::Documented | OrderName::CryEngine51 => true,
            OrderName::Game(_) => self.name() == own,
        }
    }

    fn compare(self, one: &Entry, other: &Entry) -> Ordering {
        let by_key = match self {
            Self::Documented => documented(one).cmp(&documented(other)),
            Self::CryEngine51 => cryengine_5_1(one).cmp(&cryengine_5_1(other)),
            Self::Game { compare, .. } => compare(one, other),
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
