//! When an allocation has lived long enough (the allocation TTL). The sources give two readings of it, and both are
//! settings: idle for that long, judged by queried players; or that old, whoever plays.

use alloc::collections::btree_map::Entry;
use core::time::Duration;

use mainstay_core::{AllocationId, ServerId, Timestamp};

use crate::allocation::End;
use crate::fleet::Fleet;
use crate::spec::AllocationTtl;

impl Fleet {
    /// What a server's query said of its players: how many, or `None` for no answer and for a protocol that does not
    /// tell. The idle clock runs from the first answer of an allocated server that says nobody plays, stops at any other,
    /// and at silence: what nobody knows ends no session.
    pub(crate) fn saw_players(&mut self, now: Timestamp, id: ServerId, players: Option<u32>) {
        let allocated = self.servers.get(&id).is_some_and(|server| server.allocation().is_some());
        if players != Some(0) || !allocated {
            self.stop_idle_clock(id);
        } else if let Entry::Vacant(clock) = self.empty_since.entry(id) {
            clock.insert(now);
            self.empty.insert((now, id));
        }
    }

    /// Nothing is known of a server's players any more.
    pub(crate) fn stop_idle_clock(&mut self, id: ServerId) {
        if let Some(since) = self.empty_since.remove(&id) {
            self.empty.remove(&(since, id));
        }
    }

    /// The allocation that the TTL ends next, with the time and the words for it.
    pub(crate) fn next_expiry(&self) -> Option<(Timestamp, AllocationId, End)> {
        match self.spec.as_ref()?.hosting.allocation_ttl {
            AllocationTtl::Off => None,
            AllocationTtl::Idle(ttl) => {
                let &(since, server) = self.empty.first()?;
                let id = self.servers.get(&server)?.allocation()?;
                Some((since + ttl, id, End::Idle { ttl }))
            }
            AllocationTtl::Age(ttl) => {
                let &(requested, id) = self.live.first()?;
                Some((requested + ttl, id, End::Aged { ttl }))
            }
        }
    }

    /// Since when an allocated server is known to be empty.
    #[must_use]
    pub fn empty_since(&self, server: ServerId) -> Option<Timestamp> {
        self.empty_since.get(&server).copied()
    }
}

impl AllocationTtl {
    /// An hour without players (Unity's allocation-ttl page). Off, in effect, for a server without a query: nothing ever
    /// says that nobody plays there, so that the multi-session pattern of seed 002 holds.
    pub const DEFAULT: Self = Self::Idle(Duration::from_secs(60 * 60));
}
