//! What is asked of a queue, what it answers, and what it is told.

use alloc::sync::Arc;
use alloc::vec::Vec;

use mainstay_core::{MatchId, Tenure, TicketId};

use crate::attribute::Facts;
use crate::backfill::ServerDetails;
use crate::engine::Cursor;
use crate::entity::{Caller, Entity};
use crate::hold::Outcome;
use crate::spec::QueueSpec;
use crate::terms::Terms;
use crate::ticket::{Member, Seated};

/// What is asked. Attributes are read by the rules of one form of the queue, told with them: a queue whose rules have come to
/// read something else refuses them, and they are read anew.
#[derive(Debug, Clone)]
pub enum Command {
    /// Match by this from now on.
    Configure(Arc<QueueSpec>),
    /// Take no more tickets, and cancel all there are (`RemoveMatchmakingQueue`).
    Close,
    /// Form no match until [`Command::Resume`]: tickets come, wait, give up and are cancelled as ever.
    Pause,
    /// Match again: everyone who waits is looked at anew.
    Resume,
    /// `CreateMatchmakingTicket`: a player looks for a match, with others it names.
    CreateTicket {
        /// The new ticket's id.
        ticket: TicketId,
        /// Who asks.
        caller: Caller,
        /// The player, with its attributes.
        creator: Member,
        /// Who has to join before the search begins.
        invited: Vec<Entity>,
        /// How many seconds it waits.
        give_up_after: u32,
        /// By which form of the queue the attributes were read.
        form: u32,
    },
    /// `CreateServerMatchmakingTicket`: a server looks for a match for players; nobody has to join.
    CreateServerTicket {
        /// The new ticket's id.
        ticket: TicketId,
        /// Who asks.
        caller: Caller,
        /// The entity that stands as the ticket's creator.
        creator: Entity,
        /// The players.
        members: Vec<Member>,
        /// How many seconds it waits.
        give_up_after: u32,
        /// By which form of the queue the attributes were read.
        form: u32,
    },
    /// `JoinMatchmakingTicket`.
    JoinTicket {
        /// Which.
        ticket: TicketId,
        /// Who asks.
        caller: Caller,
        /// The player, with its attributes.
        member: Member,
        /// By which form of the queue the attributes were read.
        form: u32,
    },
    /// `CancelMatchmakingTicket`.
    CancelTicket {
        /// Which.
        ticket: TicketId,
        /// Who asks.
        caller: Caller,
    },
    /// `CancelAllMatchmakingTicketsForPlayer`.
    CancelAllTickets {
        /// Whose.
        player: Entity,
        /// Who asks.
        caller: Caller,
    },
    /// `CreateServerBackfillTicket`.
    CreateBackfill {
        /// The new ticket's id.
        ticket: TicketId,
        /// Who asks.
        caller: Caller,
        /// Who plays already.
        members: Vec<Seated>,
        /// How to reach the game.
        server: ServerDetails,
        /// How many players are wanted at most.
        places: Option<u32>,
        /// How many seconds it waits.
        give_up_after: u32,
        /// On what terms it stands. A game hosted here does not choose what it lives by: its own process.
        terms: Terms,
        /// By which form of the queue the attributes were read.
        form: u32,
    },
    /// A game hosted here says who plays and how many it wants: its ticket is made, changed or ended to fit that. The answer is
    /// the ticket to look at; one that is matched, and not known yet, changes nothing.
    KeepBackfill {
        /// The id of a new ticket, where one is made.
        ticket: TicketId,
        /// Of which process.
        tenure: Tenure,
        /// Who plays.
        members: Vec<Seated>,
        /// How to reach the game.
        server: ServerDetails,
        /// How many players are wanted; 0: none.
        places: u32,
        /// The newest ticket of it whose match the game knows.
        known: Option<TicketId>,
        /// By which form of the queue the attributes were read.
        form: u32,
    },
    /// Its server says that a game goes on: a lease is renewed.
    RenewBackfill {
        /// Which.
        ticket: TicketId,
        /// Who asks.
        caller: Caller,
    },
    /// A hosted process or its session is over.
    TenureOver(Tenure),
    /// `CancelServerBackfillTicket`.
    CancelBackfill {
        /// Which.
        ticket: TicketId,
        /// Who asks.
        caller: Caller,
    },
    /// `CancelAllServerBackfillTicketsForPlayer`.
    CancelAllBackfills {
        /// Of the games of which player.
        player: Entity,
        /// Who asks.
        caller: Caller,
    },
    /// What became of asking a fleet for a server of a group that is held.
    Placement {
        /// The id that was asked under.
        id: MatchId,
        /// What became of it.
        outcome: Outcome,
    },
    /// A moment has come at which a limit changes or a ticket gives up.
    Due,
}

/// What a command came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// It is so now.
    Done,
    /// The ticket of that id was made before, or is made now.
    Ticket(TicketId),
    /// So many tickets were cancelled.
    Cancelled(usize),
}

/// What a queue is told that nobody journals.
#[derive(Debug, Clone)]
pub enum Observation {
    /// Build the engine, and count leases from now on, where that is not done yet.
    Open,
    /// What the rules see of the ticket that the next event makes, so that it is read once. Good for that event alone.
    Read(Facts),
    /// Look at the next ticket whose moment has come until now.
    Look,
    /// All matches that were found together there are formed.
    BatchFormed(Cursor),
    /// Something was heard of a ticket's server.
    Heard(TicketId),
    /// A lease ran out some time ago, and nobody was there to notice or to hear: all count from now.
    HeldUp,
    /// Everything soft is gone.
    Forgotten,
}

/// Of what a queue tells or asks others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Target {
    /// A ticket of either kind: whoever watches it.
    Ticket(TicketId),
    /// An allocation: the fleet.
    Allocation(MatchId),
    /// A hosted process that has tickets: whoever sees when it ends.
    Tenure(Tenure),
}

/// What a deadline of a queue is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// A ticket is to be looked at.
    Search,
    /// A ticket gives up.
    GiveUp,
    /// A lease runs out.
    Lease,
}
