//! A group that was found and waits for a server: held, so that no match is formed without one and no server taken without a match.
//!
//! What is owed to the fleet follows from what stands here until it is answered (record 0040, *Placement*): an allocation for each
//! hold, its end for each that was asked and is no longer wanted.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use mainstay_core::{MatchId, TicketId, Timestamp};

use crate::backfill::ServerDetails;
use crate::queue::Queue;
use crate::spec::{QueueSpec, Venue};
use crate::ticket::Seated;

/// After how long a group is asked a server for again when every region has refused it. A fleet refuses where nothing can come
/// before somebody leaves, so asking more often tells nothing; a client polls every six seconds.
pub const ASKED_AGAIN_AFTER: Duration = Duration::from_secs(5);

/// A group that waits for a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hold {
    /// What it is held as.
    pub id: MatchId,
    /// Its tickets, the eldest first, with the place of each one's team in the queue's list.
    pub tickets: Arc<[(TicketId, Option<u8>)]>,
    /// The regions it could be played in, the best first; none where the queue has no such rule.
    pub regions: Arc<[Arc<str>]>,
    /// Where it is to be played.
    pub venue: Arc<Venue>,
    /// Since when.
    pub held: Timestamp,
    /// How often it was refused.
    pub refusals: u32,
    /// The code of the last refusal.
    pub refused: Option<Arc<str>>,
    /// It is asked for from this moment on.
    pub from: Timestamp,
}

/// What became of asking a fleet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// There is a server, and it plays.
    Placed(Arc<ServerDetails>),
    /// There is none, and the allocation does not exist or is over.
    Refused {
        /// The code of the reason.
        code: Arc<str>,
        /// How many regions there are to ask in turn for a group that names none.
        regions: u32,
    },
    /// The allocation that was no longer wanted does not exist or is over.
    Undone,
}

/// What a fleet is owed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Owed {
    /// An allocation, under the id that the match will have.
    Allocate(Ask),
    /// The end of an allocation that is not wanted any more, whether it was ever asked for or not.
    Undo {
        /// Its id.
        id: MatchId,
        /// Of whom it was asked.
        of: Asked,
    },
}

/// Of whom something was asked that is no longer wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asked {
    /// A fleet, as the queue names it.
    Fleet(Arc<str>),
    /// The lobby.
    Lobby,
}

impl Asked {
    pub(crate) fn of(venue: &Venue) -> Self {
        match venue {
            Venue::Server(allocation) => Self::Fleet(allocation.fleet.clone()),
            Venue::Session { .. } => Self::Lobby,
        }
    }
}

/// An allocation that is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ask {
    /// Its id, and the match's.
    pub id: MatchId,
    /// The queue that asks, as it matches now.
    pub spec: Arc<QueueSpec>,
    /// Where it is to be played.
    pub venue: Arc<Venue>,
    /// Where; `None` where the queue has no rule of regions.
    pub region: Option<Arc<str>>,
    /// How often it was refused before: where there are no regions, those of the fleet are tried in turn.
    pub refusals: u32,
    /// Not before this moment.
    pub from: Timestamp,
    /// Where it could be played, the best first.
    pub regions: Arc<[Arc<str>]>,
    /// Who will play, each with its team.
    pub members: Vec<Seated>,
}

impl Hold {
    /// What a server is asked for under now.
    #[must_use]
    pub const fn asked(&self) -> MatchId {
        self.id.asked(self.refusals)
    }

    /// Where.
    #[must_use]
    pub fn region(&self) -> Option<&Arc<str>> {
        let count = self.regions.len().max(1);
        self.regions.get(usize::try_from(self.refusals).unwrap_or(usize::MAX) % count)
    }

    /// Whether every region has refused it, and none was asked since; of a group that names none, whether one has.
    pub(crate) fn rests(&self) -> bool {
        self.refusals > 0 && self.regions_refuse_with(self.refusals)
    }

    fn regions_refuse_with(&self, refusals: u32) -> bool {
        refusals.is_multiple_of(u32::try_from(self.regions.len().max(1)).unwrap_or(u32::MAX))
    }

    /// When it is to be asked for again, after one more refusal: at once in the next region, later when all have refused. Where it names
    /// none, there are so many.
    pub(crate) fn again(&self, now: Timestamp, unnamed: u32) -> Timestamp {
        let refusals = self.refusals.wrapping_add(1);
        let all_refuse = match &*self.regions {
            [] => refusals.is_multiple_of(unnamed.max(1)),
            [..] => self.regions_refuse_with(refusals),
        };
        if all_refuse { now + ASKED_AGAIN_AFTER } else { now }
    }
}

impl Queue {
    /// The groups that wait for a server.
    pub fn holds(&self) -> impl Iterator<Item = &Arc<Hold>> {
        self.holds.values()
    }

    /// One of them, by what it is held as.
    #[must_use]
    pub fn hold(&self, id: MatchId) -> Option<&Arc<Hold>> {
        self.holds.get(&id)
    }

    /// Those whom every region has refused and who are not asked for at this moment: the longest held first.
    pub(crate) fn at_rest(&self, now: Timestamp) -> impl Iterator<Item = &Arc<Hold>> {
        let resting = self.resting.iter().filter_map(|(_, id)| self.holds.get(id));
        resting.filter(move |hold| hold.from > now)
    }

    /// The allocations that are no longer wanted, and whose end was not acknowledged.
    pub fn undos(&self) -> impl Iterator<Item = MatchId> {
        self.undos.keys().copied()
    }

    /// What is owed to the fleet for an allocation.
    pub(crate) fn owed_for(&self, id: MatchId) -> Option<Owed> {
        if let Some(of) = self.undos.get(&id) {
            return Some(Owed::Undo { id, of: of.clone() });
        }
        let hold = self.holds.get(self.asked.get(&id)?)?;
        Some(Owed::Allocate(Ask {
            id,
            spec: self.spec()?.clone(),
            venue: hold.venue.clone(),
            region: hold.region().cloned(),
            refusals: hold.refusals,
            from: hold.from,
            regions: hold.regions.clone(),
            members: self.matched(&hold.tickets, None),
        }))
    }
}
