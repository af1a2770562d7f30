//! What happens in a queue, durably.

use alloc::sync::Arc;

use mainstay_core::{MatchId, TicketId, Timestamp};

use crate::backfill::{BackfillTicket, ServerDetails};
use crate::engine::{Cursor, LookedAt};
use crate::entity::Entity;
use crate::hold::{Asked, Hold};
use crate::spec::QueueSpec;
use crate::terms::Terms;
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
    /// The queue forms no match from now on. Groups that wait for a server still get it. Of a snapshot too: since then.
    Paused,
    /// It matches again.
    Resumed,
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
        /// On what terms it stands.
        terms: Terms,
    },
    /// Players left a game or came to it by themselves, or it wants another number: its ticket searches on with its age and its
    /// place, and is looked at anew.
    BackfillChanged {
        /// Which.
        ticket: TicketId,
        /// Who plays now.
        members: Arc<[Seated]>,
        /// How many players are wanted at most.
        places: Option<u32>,
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
    /// A group was found that is a match once it has a server: its tickets wait for that.
    MatchHeld {
        /// What it is held as.
        id: MatchId,
        /// Its tickets, the eldest first, with the place of each one's team in the queue's list.
        tickets: Arc<[(TicketId, Option<u8>)]>,
        /// The regions it could be played in, the best first.
        regions: Arc<[Arc<str>]>,
    },
    /// It has a server: the match is formed, and every ticket in it is over.
    MatchPlaced {
        /// What it was held as. The match has the id that was asked under.
        hold: MatchId,
        /// How to reach the game.
        server: Arc<ServerDetails>,
    },
    /// It was refused a server; the next region is asked.
    PlacementRefused {
        /// What it is held as.
        hold: MatchId,
        /// The code of the reason.
        code: Arc<str>,
        /// From when on it is asked again.
        again: Timestamp,
    },
    /// It is held no longer: its tickets go on searching, and what was asked for it is to be undone. The end of a ticket of it
    /// does the same to the others.
    HoldReleased {
        /// What it was held as.
        hold: MatchId,
    },
    /// An allocation that was no longer wanted does not exist or is over.
    PlacementUndone {
        /// Its id.
        id: MatchId,
    },
    /// Not everything that was due could be looked at in this turn; up to here it was.
    Searched(Cursor),
    /// Nor was what was due looked at in time: all of it, from here on and up to now, is looked at as one, once a ticket and with the limits
    /// of now.
    Merged(Cursor),
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
    /// Of a snapshot: a group that waits for a server.
    HoldStood(Arc<Hold>),
    /// Of a snapshot: an allocation that is no longer wanted.
    UndoStood {
        /// Its id.
        id: MatchId,
        /// Of whom it was asked.
        of: Asked,
    },
}

/// A game that got players.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filled {
    /// Its backfill ticket.
    pub ticket: TicketId,
    /// The place of the team in the queue's list, of each of its players who had none, in their order.
    pub teams: Arc<[u8]>,
}
