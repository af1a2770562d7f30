//! The only changes of a queue's state: no rules here.

use alloc::sync::Arc;
use alloc::vec::Vec;

use mainstay_core::{MatchId, TicketId, Timestamp};

use crate::backfill::{BackfillStage, BackfillTicket};
use crate::command::Target;
use crate::engine::{Cursor, Kind, Look, LookedAt};
use crate::event::{Event, Filled};
use crate::hold::{Asked, Hold};
use crate::members::Origin;
use crate::queue::{KEPT_MAX, Queue, is_kept};
use crate::spec::Venue;
use crate::statistics::LastWaits;
use crate::ticket::{Back, Cancellation, LetGo, Match, Searching, Seated, Stage, Ticket};

impl Queue {
    pub(crate) fn apply_event(&mut self, at: Timestamp, event: &Event) {
        self.forget(at);
        self.looked_at.until = Cursor::end_of(at);
        if let Some(live) = &mut self.engine {
            live.look = Look::Nothing;
        }
        match event {
            Event::Configured { spec, form } => {
                // By other limits tickets may match that did not: all are looked at again.
                (self.spec, self.form) = (Some(spec.clone()), *form);
                if let Some(tally) = &mut self.tally {
                    tally.reconfigured(spec);
                }
                (self.engine, self.looked_at) = (None, LookedAt::anew(at));
            }
            Event::Closed => {
                (self.spec, self.engine, self.tally, self.paused) = (None, None, None, None);
                self.waits = LastWaits::default();
            }
            Event::Paused => self.paused = Some(at),
            Event::Resumed => {
                self.paused = None;
                (self.engine, self.looked_at) = (None, LookedAt::anew(at));
            }
            Event::TicketCreated { ticket, creator, members, invited, give_up_after } => {
                let stage =
                    if invited.is_empty() { Stage::Searching(self.arrive(at)) } else { Stage::Gathering };
                let ticket = Ticket {
                    id: *ticket,
                    origin: self.shares.origin(&Origin::new(creator, members, invited)),
                    members: members.into(),
                    created: at,
                    give_up_after: *give_up_after,
                    changes: 1,
                    stage,
                };
                self.ticket_stands(Arc::new(ticket));
            }
            Event::TicketJoined { ticket, member } => {
                let Some(mut known) = self.tickets.get(ticket).map(|known| Ticket::clone(known)) else {
                    return;
                };
                self.leave(ticket);
                known.members = known.members.iter().cloned().chain([member.clone()]).collect();
                known.changes += 1;
                if known.missing().next().is_none() {
                    known.stage = Stage::Searching(self.arrive(at));
                }
                self.ticket_stands(Arc::new(known));
            }
            Event::TicketCanceled { ticket, reason } => {
                let held = self.tickets.get(ticket).and_then(|ticket| ticket.stage.hold());
                self.ticket_ended(at, *ticket, Stage::Canceled { reason: *reason, at });
                if let Some(hold) = held {
                    let why = match reason {
                        Cancellation::ServerAllocationFailed => LetGo::NoServer,
                        Cancellation::User
                        | Cancellation::Server
                        | Cancellation::Timeout
                        | Cancellation::TicketUnmatchable
                        | Cancellation::RetryRequired
                        | Cancellation::Internal => LetGo::Changed,
                    };
                    self.release(hold, Back { at, why });
                }
            }
            Event::BackfillCreated { ticket, owner, members, server, places, give_up_after, terms } => {
                let ticket = BackfillTicket {
                    id: *ticket,
                    owner: owner.clone(),
                    members: members.clone(),
                    server: server.clone(),
                    places: *places,
                    created: at,
                    give_up_after: *give_up_after,
                    terms: *terms,
                    stage: BackfillStage::Searching(self.arrive(at)),
                };
                let id = ticket.id;
                self.backfill_stands(Arc::new(ticket));
                self.hear(at, id);
            }
            Event::BackfillChanged { ticket, members, places } => {
                let lease_ends = self.leases.as_ref().and_then(|leases| leases.end(*ticket));
                let Some((known, searching)) = self.leave_game(*ticket) else { return };
                self.backfill_stands(Arc::new(BackfillTicket {
                    members: members.clone(),
                    places: *places,
                    stage: BackfillStage::Searching(Searching {
                        back: Some(Back { at, why: LetGo::Changed }),
                        ..searching
                    }),
                    ..BackfillTicket::clone(&known)
                }));
                // Whoever had it changed: its lease is renewed by its server alone.
                if let (Some(leases), Some(end)) = (&mut self.leases, lease_ends) {
                    leases.run_until(end, *ticket);
                }
            }
            Event::BackfillCanceled { ticket, reason } => {
                self.backfill_ended(*ticket, BackfillStage::Canceled { reason: *reason, at });
            }
            Event::MatchFormed { id, tickets, backfill, regions } => {
                let formed = self.matched(tickets, backfill.as_ref());
                for (ticket, _) in tickets.iter() {
                    self.ticket_ended(at, *ticket, Stage::Matched { id: *id, at });
                }
                let game = backfill.as_ref().and_then(|filled| self.backfills.get(&filled.ticket).cloned());
                if let Some(game) = &game {
                    self.backfill_ended(game.id, BackfillStage::Matched { id: *id, at });
                }
                let server = game.as_ref().map(|game| game.server.clone());
                let formed = Match { id: *id, formed: at, members: formed, regions: regions.clone(), server };
                self.match_forms(formed, game.map(|game| game.members.len()));
            }
            Event::MatchHeld { id, tickets, regions } => self.held(at, *id, tickets, regions),
            Event::MatchPlaced { hold, server } => {
                let Some(hold) = self.hold_ends(*hold) else { return };
                let (id, members) = (hold.asked(), self.matched(&hold.tickets, None));
                for (ticket, _) in hold.tickets.iter() {
                    let created = self.tickets.get(ticket).map(|ticket| ticket.created);
                    if let (Some(tally), Some(created), Venue::Server(of)) =
                        (&mut self.tally, created, &*hold.venue)
                    {
                        tally.plays(&of.fleet, created, at);
                    }
                    self.ticket_ended(at, *ticket, Stage::Matched { id, at });
                }
                let (regions, server) = (hold.regions.clone(), Some(server.clone()));
                self.match_forms(Match { id, formed: at, members, regions, server }, None);
            }
            Event::PlacementRefused { hold, code, again } => {
                let Some(hold) = self.hold_ends(*hold) else { return };
                let (refusals, refused) = (hold.refusals + 1, Some(code.clone()));
                self.hold_stands(Arc::new(Hold { refusals, refused, from: *again, ..Hold::clone(&hold) }));
            }
            Event::HoldReleased { hold } => self.release(*hold, Back { at, why: LetGo::Changed }),
            Event::PlacementUndone { id } => {
                self.undos.remove(id);
                self.touched.insert(Target::Allocation(*id));
            }
            Event::Searched(cursor) => self.looked_at.until = *cursor,
            Event::Merged(first) => self.merge(at, *first),
            Event::Stood { form, arrivals, looked_at } => {
                (self.form, self.arrivals, self.looked_at) = (*form, *arrivals, *looked_at);
            }
            Event::TicketStood(ticket) => {
                let origin = self.shares.origin(&ticket.origin);
                self.ticket_stands(Arc::new(Ticket { origin, ..Ticket::clone(ticket) }));
            }
            Event::BackfillStood(ticket) => self.backfill_stands(ticket.clone()),
            Event::MatchStood(formed) => self.match_stands(formed.clone()),
            Event::HoldStood(hold) => self.hold_stands(hold.clone()),
            Event::UndoStood { id, of } => self.undo(*id, of.clone()),
        }
        if let Some(live) = &mut self.engine {
            live.read = None;
        }
    }

    fn arrive(&mut self, at: Timestamp) -> Searching {
        self.arrivals += 1;
        Searching { since: at, arrival: self.arrivals, back: None }
    }

    /// The tickets of a group leave the pool and wait for a server.
    fn held(
        &mut self,
        at: Timestamp,
        id: MatchId,
        tickets: &Arc<[(TicketId, Option<u8>)]>,
        regions: &Arc<[Arc<str>]>,
    ) {
        let Some(venue) = self.spec.as_ref().and_then(|spec| spec.venue.clone()) else { return };
        for (ticket, _) in tickets.iter() {
            let stage = self.tickets.get(ticket).map(|ticket| ticket.stage);
            if let Some(Stage::Searching(searching)) = stage {
                self.ticket_becomes(ticket, Stage::Held { hold: id, searching });
            }
        }
        self.hold_stands(Arc::new(Hold {
            id,
            tickets: tickets.clone(),
            regions: regions.clone(),
            venue: Arc::new(venue),
            held: at,
            refusals: 0,
            refused: None,
            from: at,
        }));
    }

    /// A group is held no longer: what was asked for it is to be undone, and its tickets search on as they did, with their places.
    fn release(&mut self, id: MatchId, back: Back) {
        let Some(hold) = self.hold_ends(id) else { return };
        self.undo(hold.asked(), Asked::of(&hold.venue));
        for (ticket, _) in hold.tickets.iter() {
            let stage = self.tickets.get(ticket).map(|ticket| ticket.stage);
            if let Some(Stage::Held { searching, .. }) = stage {
                self.ticket_becomes(ticket, Stage::Searching(Searching { back: Some(back), ..searching }));
            }
        }
    }

    fn hold_stands(&mut self, hold: Arc<Hold>) {
        self.touched.insert(Target::Allocation(hold.asked()));
        self.asked.insert(hold.asked(), hold.id);
        if hold.rests() {
            self.resting.insert((hold.held, hold.id));
        }
        self.holds.insert(hold.id, hold);
    }

    fn hold_ends(&mut self, id: MatchId) -> Option<Arc<Hold>> {
        let hold = self.holds.remove(&id)?;
        self.asked.remove(&hold.asked());
        self.resting.remove(&(hold.held, hold.id));
        self.touched.insert(Target::Allocation(hold.asked()));
        Some(hold)
    }

    fn undo(&mut self, id: MatchId, of: Asked) {
        self.touched.insert(Target::Allocation(id));
        self.undos.insert(id, of);
    }

    /// A ticket stands otherwise from now on.
    fn ticket_becomes(&mut self, id: &TicketId, stage: Stage) {
        let Some(ticket) = self.leave(id) else { return };
        let changes = ticket.changes + 1;
        self.ticket_stands(Arc::new(Ticket { stage, changes, ..Ticket::clone(&ticket) }));
    }

    fn ticket_stands(&mut self, ticket: Arc<Ticket>) {
        self.touched.insert(Target::Ticket(ticket.id));
        match ticket.stage.ended() {
            Some(at) => self.ended.push_back((at, ticket.id)),
            None => {
                self.open += 1;
                self.give_ups.insert((ticket.gives_up(), ticket.id));
                for member in ticket.members.iter() {
                    self.playing.set(&member.entity, Kind::Ordinary, Some(ticket.id));
                }
            }
        }
        let live = self.engine.as_mut().zip(self.spec.as_ref());
        match (ticket.stage, live) {
            (Stage::Searching(searching), live) => {
                self.matching.tickets += 1;
                self.matching.players += ticket.members.len();
                if let Some((live, spec)) = live {
                    live.take_in(spec, &ticket, searching, &self.playing);
                }
            }
            (Stage::Held { .. }, Some((live, spec))) => live.keep(spec, &ticket),
            (Stage::Gathering | Stage::Held { .. } | Stage::Matched { .. } | Stage::Canceled { .. }, _) => {}
        }
        self.tickets.insert(ticket.id, ticket);
    }

    fn backfill_stands(&mut self, ticket: Arc<BackfillTicket>) {
        self.touched.insert(Target::Ticket(ticket.id));
        match ticket.stage {
            BackfillStage::Matched { at, .. } | BackfillStage::Canceled { at, .. } => {
                self.ended.push_back((at, ticket.id));
                if let (BackfillStage::Matched { at, .. }, Some(tenure)) =
                    (ticket.stage, ticket.terms.lease.tenure())
                {
                    self.filled.entry(tenure.session).or_default().insert((at, ticket.id));
                }
            }
            BackfillStage::Searching(searching) => {
                self.open += 1;
                self.games.tickets += 1;
                self.games.players += ticket.members.len();
                self.give_ups.insert((ticket.gives_up(), ticket.id));
                for seated in ticket.members.iter() {
                    self.playing.set(&seated.member.entity, Kind::Backfill, Some(ticket.id));
                }
                if let Some(tenure) = ticket.terms.lease.tenure() {
                    self.hosted.entry(tenure).or_default().insert(ticket.id);
                    self.touched.insert(Target::Tenure(tenure));
                }
                if let (Some(live), Some(spec)) = (&mut self.engine, &self.spec) {
                    live.take_in_game(spec, &ticket, searching, &self.playing);
                }
            }
        }
        self.backfills.insert(ticket.id, ticket);
    }

    /// An open ticket is about to stand otherwise: whatever is derived from it goes.
    fn leave(&mut self, id: &TicketId) -> Option<Arc<Ticket>> {
        let ticket = self.tickets.get(id).cloned()?;
        if ticket.stage.ended().is_some() {
            return None;
        }
        self.open -= 1;
        self.give_ups.remove(&(ticket.gives_up(), *id));
        for member in ticket.members.iter() {
            self.playing.set(&member.entity, Kind::Ordinary, None);
        }
        if let Stage::Searching(_) = ticket.stage {
            self.matching.tickets -= 1;
            self.matching.players -= ticket.members.len();
        }
        if let Some(live) = &mut self.engine {
            live.let_go(*id);
        }
        Some(ticket)
    }

    fn ticket_ended(&mut self, at: Timestamp, id: TicketId, stage: Stage) {
        let before = self.tickets.get(&id).map(|ticket| ticket.stage);
        match (stage, before) {
            (Stage::Matched { .. }, Some(Stage::Searching(searching) | Stage::Held { searching, .. })) => {
                self.waits.add(at, at.since(searching.since));
                if let Some(tally) = &mut self.tally {
                    tally.matched(Kind::Ordinary, searching.since, at);
                }
            }
            (Stage::Canceled { reason, .. }, Some(before)) if before.ended().is_none() => {
                if let Some(tally) = &mut self.tally {
                    tally.canceled(Kind::Ordinary, reason);
                }
            }
            (Stage::Gathering | Stage::Searching(_) | Stage::Held { .. }, _)
            | (Stage::Matched { .. } | Stage::Canceled { .. }, _) => {}
        }
        self.ticket_becomes(&id, stage);
    }

    fn backfill_ended(&mut self, id: TicketId, stage: BackfillStage) {
        let Some((ticket, searching)) = self.leave_game(id) else { return };
        match (stage, &mut self.tally) {
            (BackfillStage::Matched { at, .. }, Some(tally)) => {
                tally.matched(Kind::Backfill, searching.since, at);
            }
            (BackfillStage::Canceled { reason, .. }, Some(tally)) => tally.canceled(Kind::Backfill, reason),
            (BackfillStage::Searching(_), _) | (_, None) => {}
        }
        self.backfill_stands(Arc::new(BackfillTicket { stage, ..BackfillTicket::clone(&ticket) }));
    }

    /// An open backfill ticket is about to stand otherwise: whatever is derived from it goes.
    fn leave_game(&mut self, id: TicketId) -> Option<(Arc<BackfillTicket>, Searching)> {
        let ticket = self.backfills.get(&id).cloned()?;
        let BackfillStage::Searching(searching) = ticket.stage else { return None };
        self.open -= 1;
        self.games.tickets -= 1;
        self.games.players -= ticket.members.len();
        self.give_ups.remove(&(ticket.gives_up(), id));
        for seated in ticket.members.iter() {
            self.playing.set(&seated.member.entity, Kind::Backfill, None);
        }
        if let Some(live) = &mut self.engine {
            live.let_go(id);
        }
        if let Some(leases) = &mut self.leases {
            leases.forget(id);
        }
        if let Some(tenure) = ticket.terms.lease.tenure()
            && let Some(open) = self.hosted.get_mut(&tenure)
        {
            open.remove(&id);
            if open.is_empty() {
                self.hosted.remove(&tenure);
                self.touched.insert(Target::Tenure(tenure));
            }
        }
        Some((ticket, searching))
    }

    /// The players of a match with their teams: those of the game first, then ticket by ticket.
    pub(crate) fn matched(&self, tickets: &[(TicketId, Option<u8>)], filled: Option<&Filled>) -> Vec<Seated> {
        let team = |index: u8| -> Option<Arc<str>> {
            self.spec.as_ref()?.teams.get(usize::from(index)).map(|team| team.name.clone())
        };
        let mut members = Vec::new();
        if let Some((filled, game)) =
            filled.and_then(|filled| Some((filled, self.backfills.get(&filled.ticket)?)))
        {
            let mut loose = filled.teams.iter();
            for seated in game.members.iter() {
                let given = || loose.next().and_then(|index| team(*index));
                let team = seated.team.clone().or_else(given);
                members.push(Seated { member: seated.member.clone(), team });
            }
        }
        for (id, index) in tickets {
            let Some(ticket) = self.tickets.get(id) else { continue };
            let team = index.and_then(team);
            members.extend(
                ticket.members.iter().map(|member| Seated { member: member.clone(), team: team.clone() }),
            );
        }
        members
    }

    /// A match is formed; of a game that went on, where so many already played.
    fn match_forms(&mut self, formed: Match, filled: Option<usize>) {
        if let (Some(tally), Some(spec)) = (&mut self.tally, &self.spec) {
            tally.formed(spec, &formed, filled);
        }
        self.match_stands(Arc::new(formed));
    }

    fn match_stands(&mut self, formed: Arc<Match>) {
        self.formed.push_back((formed.formed, formed.id));
        self.matches.insert(formed.id, formed);
    }

    /// What ended long ago is forgotten, without an event: time alone decides.
    fn forget(&mut self, now: Timestamp) {
        let over = |list: usize, at: Timestamp| list > KEPT_MAX || !is_kept(Some(at), now);
        while let Some((at, id)) = self.ended.front().copied()
            && over(self.ended.len(), at)
        {
            self.ended.pop_front();
            self.tickets.remove(&id);
            if let Some(session) =
                self.backfills.remove(&id).and_then(|it| it.terms.lease.tenure()).map(|it| it.session)
                && let Some(filled) = self.filled.get_mut(&session)
            {
                filled.remove(&(at, id));
                if filled.is_empty() {
                    self.filled.remove(&session);
                }
            }
        }
        while let Some((at, id)) = self.formed.front().copied()
            && over(self.formed.len(), at)
        {
            self.formed.pop_front();
            self.matches.remove(&id);
        }
    }
}
