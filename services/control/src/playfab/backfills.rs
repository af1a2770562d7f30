//! Backfill tickets: a game looks for more players (seed 004). Servers' alone.

use mainstay_matchmaking::{Command, Entity, Lease, Rejection, TakenOut, Terms};
use mainstay_wire::playfab::answer::{BackfillAnswer, Created, Done, Listed};
use mainstay_wire::playfab::request::{CreateServerTicket, OfPlayer, OfTicket, OnPlayerTakenOut};

use super::Face;
use super::callers::Server;
use super::members::{Named, give_up_after, made, needs, new_ticket, player_of, sent};
use super::refusal::Refusal;
use super::tickets::{needs_of_player, objects};
use crate::allowance;

impl Face {
    /// `CreateServerBackfillTicket`.
    pub(super) async fn create_backfill(
        &self,
        server: &Server,
        asked: CreateServerTicket,
    ) -> Result<Created, Refusal> {
        needs(&[("QueueName", &asked.queue_name), ("GiveUpAfterSeconds", &asked.give_up_after_seconds)])?;
        let queue = self.queue(&asked.queue_name)?;
        let give_up_after = give_up_after(asked.give_up_after_seconds)?;
        let players: Vec<_> = asked.members.iter().map(sent).collect::<Result<_, _>>()?;
        let details = asked.server_details.clone().unwrap_or_default();
        let details = details.details().map_err(|why| Refusal::field("ServerDetails.Ports", why))?;
        // What could be no ticket is charged to nobody.
        let lease = self.queues.lease(details.server_id.as_deref(), asked.lease_seconds).await?;
        let charged = || players.iter().map(|player| &player.entity);
        self.allowance
            .backfill(&queue.name, &server.caller, charged(), self.now())
            .map_err(|it| Refusal::matching_rate(&it))?;
        let taken_out = match asked.on_player_taken_out {
            OnPlayerTakenOut::Cancel => TakenOut::Ends,
            OnPlayerTakenOut::GoOn => TakenOut::GoesOn,
        };
        let (ticket, terms) = (new_ticket()?, Terms { lease, taken_out });
        let command = |members, form| Command::CreateBackfill {
            ticket,
            caller: server.caller.clone(),
            members,
            server: details.clone(),
            places: asked.places,
            give_up_after,
            terms,
            form,
        };
        let answer = self.queues.ask_with(&queue.open, &players, command).await;
        let answer = answer.inspect_err(|not| {
            if not.is_refused() {
                self.allowance.no_backfill(&queue.name, &server.caller, charged(), self.now());
            }
        })?;
        Ok(Created { ticket_id: made(answer, ticket) })
    }

    /// `GetServerBackfillTicket`. A server that looks at its ticket goes on: a lease is renewed by that, also by a look too many. A lease
    /// may be shorter than the time between two looks.
    pub(super) async fn backfill(&self, server: Server, asked: OfTicket) -> Result<BackfillAnswer, Refusal> {
        let (queue, ticket) = self.of_ticket(&asked).await?;
        let about = ticket.to_string();
        let about = allowance::Asked { caller: &server.caller, queue: &queue.name, about: &about };
        let looks = self.allowance.poll(&about, self.now());
        if looks.is_err() {
            self.allowance.renewal(&about, self.now()).map_err(|it| Refusal::matching_rate(&it))?;
        }
        let asker = server.caller.clone();
        let found =
            queue.running.read(move |queue, now| queue.backfill(ticket, &asker, now).cloned()).await??;
        if let (Lease::Renewed { .. }, None) = (found.terms.lease, found.stage.ended()) {
            match queue.running.ask(Command::RenewBackfill { ticket, caller: server.caller }).await? {
                // It ended in between, which the next look shows.
                Ok(_) | Err(Rejection::AlreadyCompleted(_)) => {}
                Err(rejection) => return Err(rejection.into()),
            }
        }
        looks.map_err(|it| Refusal::matching_rate(&it))?;
        Ok(BackfillAnswer::of(&found, &queue.name, objects(asked.escape_object)))
    }

    /// `CancelServerBackfillTicket`.
    pub(super) async fn cancel_backfill(&self, server: Server, asked: OfTicket) -> Result<Done, Refusal> {
        let (queue, ticket) = self.of_ticket(&asked).await?;
        self.cancels(&server, &queue.name, &ticket.to_string())?;
        queue.running.ask(Command::CancelBackfill { ticket, caller: server.caller }).await??;
        Ok(Done {})
    }

    /// `CancelAllServerBackfillTicketsForPlayer`.
    pub(super) async fn cancel_all_backfills(
        &self,
        server: Server,
        asked: OfPlayer,
    ) -> Result<Done, Refusal> {
        let (queue, player) = self.of_player(&server, &asked)?;
        self.cancels(&server, &queue.name, player.as_str())?;
        queue.open.ask(Command::CancelAllBackfills { player, caller: server.caller }).await??;
        Ok(Done {})
    }

    /// `ListServerBackfillTicketsForPlayer`.
    pub(super) async fn list_backfills(&self, server: Server, asked: OfPlayer) -> Result<Listed, Refusal> {
        let (queue, player) = self.of_player(&server, &asked)?;
        let about = allowance::Asked { caller: &server.caller, queue: &queue.name, about: player.as_str() };
        self.allowance.list_backfills(&about, self.now()).map_err(|it| Refusal::matching_rate(&it))?;
        let found = queue.open.read(move |queue, _| queue.backfills_of(&player, &server.caller)).await??;
        Ok(Listed { ticket_ids: found.into_iter().collect() })
    }

    fn cancels(&self, server: &Server, queue: &str, about: &str) -> Result<(), Refusal> {
        let about = allowance::Asked { caller: &server.caller, queue, about };
        self.allowance.cancellation(&about, self.now()).map_err(|it| Refusal::matching_rate(&it))
    }

    fn of_player(&self, server: &Server, asked: &OfPlayer) -> Result<(Named, Entity), Refusal> {
        needs_of_player(&server.caller, asked)?;
        let queue = self.queue(&asked.queue_name)?;
        let key = asked.entity.as_ref().ok_or_else(|| Refusal::entity("Entity is missing"))?;
        Ok((queue, player_of(key)?))
    }
}
