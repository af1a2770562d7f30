//! What callers may read of a queue's tickets and matches.

use alloc::sync::Arc;

use mainstay_core::{ClaimId, MatchId, Tenure, TicketId, Timestamp};

use crate::backfill::{BackfillStage, BackfillTicket};
use crate::decide::HOSTED_MAY;
use crate::engine::Kind;
use crate::entity::{Caller, Entity};
use crate::queue::Queue;
use crate::rejection::Rejection;
use crate::ticket::{Match, Stage, Ticket};

impl Queue {
    /// `GetMatchmakingTicket`: for servers, the creator and whoever was invited.
    ///
    /// # Errors
    /// [`Rejection::TicketNotFound`], [`Rejection::RequestTypeMismatch`] for a backfill ticket,
    /// [`Rejection::Unauthorized`].
    pub fn ticket(&self, id: TicketId, caller: &Caller, now: Timestamp) -> Result<&Arc<Ticket>, Rejection> {
        let ticket = self.ordinary_for(id, caller, now)?;
        match caller {
            Caller::Server(_) | Caller::Title => Ok(ticket),
            Caller::Hosted(_) => Err(Rejection::Unauthorized { who: caller.word(), why: HOSTED_MAY }),
            Caller::Player(player)
                if *ticket.creator() == *player
                    || ticket.has(player)
                    || ticket.invited().contains(player) =>
            {
                Ok(ticket)
            }
            Caller::Player(_) => {
                Err(Rejection::Unauthorized { who: "a player", why: "it is not in this ticket" })
            }
        }
    }

    /// `GetServerBackfillTicket`: for the server it belongs to, and the title.
    ///
    /// # Errors
    /// [`Rejection::TicketNotFound`], [`Rejection::RequestTypeMismatch`] for an ordinary ticket,
    /// [`Rejection::Unauthorized`].
    pub fn backfill(
        &self,
        id: TicketId,
        caller: &Caller,
        now: Timestamp,
    ) -> Result<&Arc<BackfillTicket>, Rejection> {
        if let Caller::Player(_) = caller {
            return Err(Rejection::Unauthorized {
                who: "a player",
                why: "backfill tickets are game servers' alone",
            });
        }
        let Some(ticket) = self.kept_backfill(&id, now) else {
            let known = self.kept_ticket(&id, now).is_some();
            return Err(if known {
                Rejection::RequestTypeMismatch(id)
            } else {
                Rejection::TicketNotFound(id)
            });
        };
        match caller {
            Caller::Title => Ok(ticket),
            Caller::Server(server) if ticket.owner.as_ref() == Some(server) => Ok(ticket),
            Caller::Hosted(tenure) if ticket.terms.lease.tenure() == Some(*tenure) => Ok(ticket),
            Caller::Server(_) | Caller::Hosted(_) | Caller::Player(_) => Err(Rejection::Unauthorized {
                who: caller.word(),
                why: "the ticket belongs to another game server",
            }),
        }
    }

    /// `GetMatch`: for servers and the match's players.
    ///
    /// # Errors
    /// [`Rejection::MatchNotFound`], [`Rejection::Unauthorized`].
    pub fn formed_match(
        &self,
        id: MatchId,
        caller: &Caller,
        now: Timestamp,
    ) -> Result<&Arc<Match>, Rejection> {
        let formed = self.kept_match(&id, now).ok_or(Rejection::MatchNotFound(id))?;
        match caller {
            Caller::Server(_) | Caller::Title => Ok(formed),
            Caller::Hosted(tenure) if plays_on(formed, tenure) => Ok(formed),
            Caller::Hosted(_) => {
                Err(Rejection::Unauthorized { who: caller.word(), why: "the match is not played on it" })
            }
            Caller::Player(player) if formed.has(player) => Ok(formed),
            Caller::Player(_) => {
                Err(Rejection::Unauthorized { who: "a player", why: "it is not in this match" })
            }
        }
    }

    /// The tickets that ended in a match, the game's too, while they are kept.
    pub fn ended_in(&self, id: MatchId) -> impl Iterator<Item = TicketId> {
        let at = self.matches.get(&id).map(|formed| formed.formed);
        let first = at.map_or(self.ended.len(), |at| self.ended.partition_point(|(ended, _)| *ended < at));
        let then = self.ended.range(first..).take_while(move |(ended, _)| Some(*ended) == at);
        then.map(|(_, ticket)| *ticket).filter(move |ticket| {
            let ordinary = self.tickets.get(ticket).map(|ticket| ticket.stage);
            let game = self.backfills.get(ticket).map(|game| game.stage);
            matches!(ordinary, Some(Stage::Matched { id: of, .. }) if of == id)
                || matches!(game, Some(BackfillStage::Matched { id: of, .. }) if of == id)
        })
    }

    /// `ListMatchmakingTicketsForPlayer`: the open ticket of a player, for itself and servers.
    ///
    /// # Errors
    /// [`Rejection::QueueNotFound`], [`Rejection::Unauthorized`].
    pub fn tickets_of(&self, player: &Entity, caller: &Caller) -> Result<Option<TicketId>, Rejection> {
        self.spec().ok_or(Rejection::QueueNotFound)?;
        if !caller.speaks_for(player) {
            return Err(Rejection::Unauthorized { who: caller.word(), why: "it is about another player" });
        }
        Ok(self.playing.of(player, Kind::Ordinary))
    }

    /// `ListServerBackfillTicketsForPlayer`: "a method to discover which backfill tickets a player may be in", for servers.
    ///
    /// # Errors
    /// [`Rejection::QueueNotFound`], [`Rejection::Unauthorized`].
    pub fn backfills_of(&self, player: &Entity, caller: &Caller) -> Result<Option<TicketId>, Rejection> {
        self.spec().ok_or(Rejection::QueueNotFound)?;
        match caller {
            Caller::Server(_) | Caller::Hosted(_) | Caller::Title => {
                Ok(self.playing.of(player, Kind::Backfill))
            }
            Caller::Player(_) => Err(Rejection::Unauthorized {
                who: "a player",
                why: "backfill tickets are game servers' alone",
            }),
        }
    }

    /// An ordinary ticket. "Users cannot view or interact with backfill tickets in any way": not even by learning of one.
    pub(crate) fn ordinary_for(
        &self,
        id: TicketId,
        caller: &Caller,
        now: Timestamp,
    ) -> Result<&Arc<Ticket>, Rejection> {
        self.kept_ticket(&id, now).ok_or_else(|| match caller {
            Caller::Server(_) | Caller::Hosted(_) | Caller::Title
                if self.kept_backfill(&id, now).is_some() =>
            {
                Rejection::RequestTypeMismatch(id)
            }
            Caller::Server(_) | Caller::Hosted(_) | Caller::Title | Caller::Player(_) => {
                Rejection::TicketNotFound(id)
            }
        })
    }
}

/// Whether a match is of the process's session: what it is reached by names that.
fn plays_on(formed: &Match, tenure: &Tenure) -> bool {
    let named = formed.server.as_ref().and_then(|server| server.server_id.as_deref());
    named.and_then(|named| named.parse::<ClaimId>().ok()) == Some(tenure.session)
}
