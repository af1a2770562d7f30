//! What happens in a queue, durably.

use alloc::sync::Arc;

use mainstay_core::{MatchId, TicketId};

use crate::backfill::{BackfillTicket, ServerDetails};
use crate::engine::{Cursor, LookedAt};
use crate::entity::Entity;
use crate::spec::QueueSpec;
use crate::ticket::{Cancellation, Match, Member, Seated, Ticket};

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The queue matches by this from now on. A new form means that attributes read for the one before do not fit.
    Configured {
        /// The queue.
        spec: Arc<QueueSpec>,
        /// Its form.
        form: u32,
    },
    /// The queue takes no more tickets.
    Closed,
    /// A ticket was made. It searches at once where nobody was invited.
    TicketCreated {
        /// Its id.
        ticket: TicketId,
        /// Who made it.
        creator: Entity,
        /// Who is in it.
        members: Arc<[Member]>,
        /// Who has to join.
        invited: Arc<[Entity]>,
        /// How many seconds it waits.
        give_up_after: u32,
    },
    /// A player joined. The ticket searches once all have.
    TicketJoined {
        /// Which.
        ticket: TicketId,
        /// Who.
        member: Member,
    },
    /// A ticket ended without a match.
    TicketCanceled {
        /// Which.
        ticket: TicketId,
        /// Why.
        reason: Cancellation,
    },
    /// A backfill ticket was made.
    BackfillCreated {
        /// Its id.
        ticket: TicketId,
        /// The game server it belongs to; `None`: the title.
        owner: Option<Entity>,
        /// Who plays already.
        members: Arc<[Seated]>,
        /// How to reach the game.
        server: Arc<ServerDetails>,
        /// How many players are wanted at most.
        places: Option<u32>,
        /// How many seconds it waits.
        give_up_after: u32,
    },
    /// A backfill ticket ended without a match.
    BackfillCanceled {
        /// Which.
        ticket: TicketId,
        /// Why.
        reason: Cancellation,
    },
    /// A match was formed: every ticket in it is over.
    MatchFormed {
        /// Its id.
        id: MatchId,
        /// Its tickets, the eldest first, with the place of each one's team in the queue's list.
        tickets: Arc<[(TicketId, Option<u8>)]>,
        /// The game it goes on in.
        backfill: Option<Filled>,
        /// The regions it could be played in, the best first.
        regions: Arc<[Arc<str>]>,
    },
    /// Not everything that was due could be looked at in this turn; up to here it was.
    Searched(Cursor),
    /// Of a snapshot: how far it had come.
    Stood {
        /// The queue's form, also of one that is removed.
        form: u32,
        /// The last arrival given out.
        arrivals: u64,
        /// How far everything was looked at.
        looked_at: LookedAt,
    },
    /// Of a snapshot: a ticket.
    TicketStood(Arc<Ticket>),
    /// Of a snapshot: a backfill ticket.
    BackfillStood(Arc<BackfillTicket>),
    /// Of a snapshot: a match.
    MatchStood(Arc<Match>),
}

/// A game that got players.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filled {
    /// Its backfill ticket.
    pub ticket: TicketId,
    /// The place of the team in the queue's list, of each of its players who had none, in their order.
    pub teams: Arc<[u8]>,
}
