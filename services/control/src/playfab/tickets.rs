//! Tickets of players: made by themselves or by a server, joined, looked at, and ended.

use mainstay_core::TicketId;
use mainstay_matchmaking::{Caller, Command, Entity, GIVE_UP_AFTER_MAX, Seated};
use mainstay_wire::playfab::answer::{Created, Done, Listed, TicketAnswer};
use mainstay_wire::playfab::request::{CreateServerTicket, CreateTicket, JoinTicket, OfPlayer, OfTicket};
use mainstay_wire::playfab::{EntityKey, Objects};

use super::Face;
use super::callers::Server;
use super::members::{Field, Kept, Named, give_up_after, id, made, needs, new_ticket, player_of, sent};
use super::refusal::Refusal;
use crate::allowance;
use crate::queues::{NotTaken, members};

impl Face {
    /// `CreateMatchmakingTicket`.
    pub(super) async fn create_ticket(
        &self,
        caller: &Caller,
        asked: CreateTicket,
    ) -> Result<Created, Refusal> {
        needs(&[
            ("QueueName", &asked.queue_name),
            ("GiveUpAfterSeconds", &asked.give_up_after_seconds),
            ("Creator", &asked.creator),
        ])?;
        let queue = self.queue(&asked.queue_name)?;
        let give_up_after = give_up_after(asked.give_up_after_seconds)?;
        let creator = asked.creator.as_ref().ok_or_else(|| Refusal::field("Creator", "it is missing"))?;
        let creator = sent(creator)?;
        let invited: Vec<Entity> =
            asked.members_to_match_with.iter().map(player_of).collect::<Result<_, _>>()?;
        self.joins(caller, &queue)?;
        let ticket = new_ticket()?;
        let command = |mut players: Vec<Seated>, form| Command::CreateTicket {
            ticket,
            caller: caller.clone(),
            creator: players.swap_remove(0).member,
            invited: invited.clone(),
            give_up_after,
            form,
        };
        let answer = self.queues.ask_with(&queue.open, std::slice::from_ref(&creator), command).await;
        let answer = answer.inspect_err(|not| self.does_not_join(caller, &queue, not))?;
        Ok(Created { ticket_id: made(answer, ticket) })
    }

    /// `CreateServerMatchmakingTicket`.
    pub(super) async fn create_server_ticket(
        &self,
        server: &Server,
        asked: CreateServerTicket,
    ) -> Result<Created, Refusal> {
        needs(&[
            ("QueueName", &asked.queue_name),
            ("GiveUpAfterSeconds", &asked.give_up_after_seconds),
            ("Members", &asked.members),
        ])?;
        let queue = self.queue(&asked.queue_name)?;
        let give_up_after = waits(&asked)?;
        let players: Vec<_> = asked.members.iter().map(sent).collect::<Result<_, _>>()?;
        let charged = || players.iter().map(|player| &player.entity);
        self.allowance
            .membership(&queue.name, charged(), self.now())
            .map_err(|it| Refusal::matching_rate(&it))?;
        let ticket = new_ticket()?;
        let command = |players, form| Command::CreateServerTicket {
            ticket,
            caller: server.caller.clone(),
            creator: server.entity.clone(),
            members: members(players),
            give_up_after,
            form,
        };
        let answer = self.queues.ask_with(&queue.open, &players, command).await;
        let answer = answer.inspect_err(|not| {
            if not.is_refused() {
                self.allowance.no_membership(&queue.name, charged(), self.now());
            }
        })?;
        Ok(Created { ticket_id: made(answer, ticket) })
    }

    /// `JoinMatchmakingTicket`.
    pub(super) async fn join_ticket(&self, caller: &Caller, asked: JoinTicket) -> Result<Done, Refusal> {
        needs(&[
            ("QueueName", &asked.queue_name),
            ("TicketId", &asked.ticket_id),
            ("Member", &asked.member),
        ])?;
        let queue = self.queue(&asked.queue_name)?;
        let ticket = TicketId(id("TicketId", &asked.ticket_id)?);
        let member = asked.member.as_ref().ok_or_else(|| Refusal::field("Member", "it is missing"))?;
        let member = sent(member)?;
        self.joins(caller, &queue)?;
        let command = |mut players: Vec<Seated>, form| Command::JoinTicket {
            ticket,
            caller: caller.clone(),
            member: players.swap_remove(0).member,
            form,
        };
        let answer = self.queues.ask_with(&queue.open, std::slice::from_ref(&member), command).await;
        answer.inspect_err(|not| self.does_not_join(caller, &queue, not))?;
        Ok(Done {})
    }

    /// Charges a player for a ticket it comes to be in by itself: never another, who could be kept out by that.
    fn joins(&self, caller: &Caller, queue: &Named) -> Result<(), Refusal> {
        let Caller::Player(player) = caller else { return Ok(()) };
        let charged = std::iter::once(player);
        self.allowance.membership(&queue.name, charged, self.now()).map_err(|it| Refusal::matching_rate(&it))
    }

    /// A ticket that its queue refused is not charged for.
    fn does_not_join(&self, caller: &Caller, queue: &Named, not: &NotTaken) {
        if let (Caller::Player(player), true) = (caller, not.is_refused()) {
            self.allowance.no_membership(&queue.name, std::iter::once(player), self.now());
        }
    }

    /// `GetMatchmakingTicket`.
    pub(super) async fn ticket(&self, caller: Caller, asked: OfTicket) -> Result<TicketAnswer, Refusal> {
        let (queue, ticket) = self.of_ticket(&asked).await?;
        let about = ticket.to_string();
        let about = allowance::Asked { caller: &caller, queue: &queue.name, about: &about };
        self.allowance.poll(&about, self.now()).map_err(|it| Refusal::matching_rate(&it))?;
        let found =
            queue.running.read(move |queue, now| queue.ticket(ticket, &caller, now).cloned()).await??;
        Ok(TicketAnswer::of(&found, &queue.name, objects(asked.escape_object)))
    }

    /// `CancelMatchmakingTicket`.
    pub(super) async fn cancel_ticket(&self, caller: Caller, asked: OfTicket) -> Result<Done, Refusal> {
        let (queue, ticket) = self.of_ticket(&asked).await?;
        let about = ticket.to_string();
        let about = allowance::Asked { caller: &caller, queue: &queue.name, about: &about };
        self.allowance.cancellation(&about, self.now()).map_err(|it| Refusal::matching_rate(&it))?;
        queue.running.ask(Command::CancelTicket { ticket, caller }).await??;
        Ok(Done {})
    }

    /// `CancelAllMatchmakingTicketsForPlayer`.
    pub(super) async fn cancel_all_tickets(&self, caller: Caller, asked: OfPlayer) -> Result<Done, Refusal> {
        needs_of_player(&caller, &asked)?;
        let (queue, player) = (self.queue(&asked.queue_name)?, subject(&caller, asked.entity.as_ref())?);
        let about = allowance::Asked { caller: &caller, queue: &queue.name, about: player.as_str() };
        self.allowance.cancellation(&about, self.now()).map_err(|it| Refusal::matching_rate(&it))?;
        queue.open.ask(Command::CancelAllTickets { player, caller }).await??;
        Ok(Done {})
    }

    /// `ListMatchmakingTicketsForPlayer`.
    pub(super) async fn list_tickets(&self, caller: Caller, asked: OfPlayer) -> Result<Listed, Refusal> {
        needs_of_player(&caller, &asked)?;
        let (queue, player) = (self.queue(&asked.queue_name)?, subject(&caller, asked.entity.as_ref())?);
        let about = allowance::Asked { caller: &caller, queue: &queue.name, about: player.as_str() };
        self.allowance.list(&about, self.now()).map_err(|it| Refusal::matching_rate(&it))?;
        let found = queue.open.read(move |queue, _| queue.tickets_of(&player, &caller)).await??;
        Ok(Listed { ticket_ids: found.into_iter().collect() })
    }

    pub(super) async fn of_ticket(&self, asked: &OfTicket) -> Result<(Kept, TicketId), Refusal> {
        needs(&[("QueueName", &asked.queue_name), ("TicketId", &asked.ticket_id)])?;
        Ok((self.kept(&asked.queue_name).await?, TicketId(id("TicketId", &asked.ticket_id)?)))
    }
}

/// How long a server's ticket waits. Of this call PlayFab's specification has no `MatchmakingBadRequest`: what contradicts itself is
/// told by its field.
fn waits(asked: &CreateServerTicket) -> Result<u32, Refusal> {
    let seconds = asked.give_up_after_seconds.unwrap_or(1);
    if !(1..=i64::from(GIVE_UP_AFTER_MAX)).contains(&seconds) {
        return Err(Refusal::field("GiveUpAfterSeconds", format!("{seconds}: 1 to {GIVE_UP_AFTER_MAX}")));
    }
    give_up_after(asked.give_up_after_seconds)
}

/// What a call about a player's tickets needs. Where the player alone is missing PlayFab has an error of its own.
pub(super) fn needs_of_player(caller: &Caller, asked: &OfPlayer) -> Result<(), Refusal> {
    let queue: (&str, &dyn Field) = ("QueueName", &asked.queue_name);
    match (queue.1.lacks(), caller) {
        (None, _) => Ok(()),
        (Some(_), Caller::Player(_)) => needs(&[queue]),
        (Some(_), Caller::Server(_) | Caller::Hosted(_) | Caller::Title) => {
            needs(&[queue, ("Entity", &asked.entity)])
        }
    }
}

/// Whom a call is about: "optional if the caller is a player and defaults to that player", "required if the caller is a server".
fn subject(caller: &Caller, entity: Option<&EntityKey>) -> Result<Entity, Refusal> {
    match (entity.filter(|key| **key != EntityKey::default()), caller) {
        (Some(key), _) => player_of(key),
        (None, Caller::Player(player)) => Ok(player.clone()),
        (None, Caller::Server(_) | Caller::Hosted(_) | Caller::Title) => {
            Err(Refusal::entity("Entity is missing: a server says whose tickets it asks about"))
        }
    }
}

/// How objects are told.
pub(super) const fn objects(escape: bool) -> Objects {
    if escape { Objects::Escaped } else { Objects::Plain }
}
