//! On what terms a game's ticket stands: what it lives by besides its time, and what becomes of it when a player is taken out.
//!
//! No player is stuck in the ticket of a game that is gone: "any users in the lost backfill ticket will be unable to be submitted
//! in another backfill ticket" (seed 004) holds here until the game's end is known, and no longer (record 0043).

use alloc::collections::{BTreeMap, BTreeSet};
use core::time::Duration;

use mainstay_core::{Tenure, TicketId, Timestamp};

use crate::rejection::Rejection;

/// The longest lease, in seconds: an hour. A longer one would keep a crashed game's players as long as giving up does.
pub const LEASE_SECONDS_MAX: u32 = 3_600;

/// How late the end of a lease may be noticed. A leader that runs notices within milliseconds; one that notices later than this was held up (its
/// process stopped, its host asleep), and what servers said meanwhile waits to be read.
const NOTICED_WITHIN: Duration = Duration::from_millis(250);

/// The terms of a backfill ticket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Terms {
    /// What it lives by, besides its time.
    pub lease: Lease,
    /// What becomes of it when a player is taken out.
    pub taken_out: TakenOut,
}

/// What a backfill ticket lives by, besides its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Lease {
    /// Nothing: it stands until somebody ends it, as PlayFab's.
    #[default]
    Free,
    /// Its server's word: it is withdrawn when nothing was heard for this long.
    Renewed {
        /// How many seconds, from the last word on: 1 to [`LEASE_SECONDS_MAX`].
        within: u32,
    },
    /// A process that Mainstay hosts: it is withdrawn with the session, or with the process.
    Hosted(Tenure),
}

/// What becomes of a backfill ticket when a player is taken out (`CancelAllServerBackfillTicketsForPlayer`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum TakenOut {
    /// It ends: the call "removes all backfill tickets the user is in" (seed 004).
    #[default]
    Ends,
    /// It goes on without the player, with its age and its place.
    GoesOn,
}

impl Lease {
    /// One that its server renews.
    ///
    /// # Errors
    /// Where it is to last for less than a second or more than [`LEASE_SECONDS_MAX`].
    pub fn renewed(within: u32) -> Result<Self, Rejection> {
        if (1..=LEASE_SECONDS_MAX).contains(&within) {
            Ok(Self::Renewed { within })
        } else {
            Err(Rejection::BadRequest("a lease has 1 to 3600 seconds"))
        }
    }

    /// What it hangs on, where that is a process hosted here.
    #[must_use]
    pub const fn tenure(&self) -> Option<Tenure> {
        match self {
            Self::Hosted(tenure) => Some(*tenure),
            Self::Free | Self::Renewed { .. } => None,
        }
    }

    fn span(&self) -> Option<Duration> {
        match self {
            Self::Renewed { within } => Some(Duration::from_secs((*within).into())),
            Self::Free | Self::Hosted(_) => None,
        }
    }
}

/// When leases run out. Soft, as silence is: it counts from the moment this leader began to listen.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Leases {
    ends: BTreeMap<TicketId, Timestamp>,
    order: BTreeSet<(Timestamp, TicketId)>,
    /// Those that were counted anew because this leader had been held up, and of whose servers nothing was heard since. Each is so once: a
    /// leader that always comes late withdraws them all the same.
    let_off: BTreeSet<TicketId>,
}

impl Leases {
    /// Something was heard of a ticket's server now.
    pub fn hear(&mut self, now: Timestamp, ticket: TicketId, lease: &Lease) {
        self.forget(ticket);
        if let Some(span) = lease.span() {
            self.run_until(now + span, ticket);
        }
    }

    /// The lease of a ticket that has none runs until then.
    pub fn run_until(&mut self, end: Timestamp, ticket: TicketId) {
        self.ends.insert(ticket, end);
        self.order.insert((end, ticket));
    }

    pub fn forget(&mut self, ticket: TicketId) {
        self.let_off.remove(&ticket);
        if let Some(end) = self.ends.remove(&ticket) {
            self.order.remove(&(end, ticket));
        }
    }

    /// Whether this leader was held up as one ran out: then nobody could be heard, and it is no silence.
    pub fn were_unheard(&self, now: Timestamp) -> bool {
        let mut late = self.order.iter().take_while(|(end, _)| *end + NOTICED_WITHIN < now);
        late.any(|(_, ticket)| !self.let_off.contains(ticket))
    }

    /// They count from now on, where nothing was heard since they last did so.
    pub fn let_off(&mut self, now: Timestamp, ticket: TicketId, lease: &Lease) {
        if !self.let_off.contains(&ticket) && lease.span().is_some() {
            self.hear(now, ticket, lease);
            self.let_off.insert(ticket);
        }
    }

    /// Which runs out first.
    pub fn next(&self) -> Option<(Timestamp, TicketId)> {
        self.order.first().copied()
    }

    /// When a ticket's does.
    pub fn end(&self, ticket: TicketId) -> Option<Timestamp> {
        self.ends.get(&ticket).copied()
    }

    /// Those there are, for the laws: `None` where the two sides differ.
    pub fn known(&self) -> Option<BTreeSet<TicketId>> {
        let alike =
            self.order.iter().map(|(at, ticket)| (*ticket, *at)).collect::<BTreeMap<_, _>>() == self.ends;
        alike.then(|| self.ends.keys().copied().collect())
    }
}
