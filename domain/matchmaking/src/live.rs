//! The engine beside the tickets it knows: built from the state whenever it is missing, and kept in step by each event.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;

use mainstay_core::{MatchId, Places, TicketId, Timestamp};

use crate::attribute::{AttributeFault, Facts, same, team_numbers};
use crate::backfill::{BackfillStage, BackfillTicket};
use crate::engine::{Cursor, Engine, Found, Game, Handle, Kept, Kind, Look, LookedAt, Newcomer};
use crate::event::{Event, Filled};
use crate::playing::Playing;
use crate::queue::Queue;
use crate::spec::{QueueSpec, RuleKind};
use crate::ticket::{Cancellation, Searching, Stage, Ticket};

/// The engine, and who its handles are. Soft: it may vanish at any instant.
#[derive(Debug, Clone)]
pub(crate) struct Live {
    pub engine: Engine,
    handles: Places,
    tickets: Vec<TicketId>,
    /// What looking at the next ticket came to. A match stays until it is formed, or something else happens.
    pub look: Look,
    /// Everything up to here was looked at.
    pub looked_at: Cursor,
    /// What the rules see of the ticket that the next event makes, where that was read already.
    pub read: Option<Facts>,
    /// Open tickets that the rules cannot read, as only the journal of an earlier version may hold, or that there is no room for, as those of
    /// a game whose players share more since one of them left: they are told so and end.
    pub turned_away: BTreeMap<TicketId, Cancellation>,
    /// What those keep that wait for a server: if they get none, they search on, and there is room for them.
    kept: BTreeMap<TicketId, Kept>,
}

impl Queue {
    /// Builds the engine where it is missing.
    pub(crate) fn open_engine(&mut self) {
        if self.engine.is_none() {
            self.engine = self.spec.clone().map(|spec| Live::build(self, &spec));
        }
    }

    /// Looks at the next ticket whose moment has come.
    pub(crate) fn look(&mut self, now: Timestamp) {
        self.open_engine();
        let Some(live) = &mut self.engine else { return };
        live.look = live.engine.look(now);
        if let Look::Nobody(cursor) = live.look {
            live.looked_at = cursor;
        }
    }

    /// All matches of a batch are formed.
    pub(crate) fn batch_formed(&mut self, cursor: Cursor) {
        if let Some(live) = &mut self.engine {
            live.looked_at = cursor;
            live.engine.batch_is_over(cursor);
        }
    }

    /// The event that forms the match which was found, or holds it until it has a server.
    pub(crate) fn formed(&self, found: &Found) -> Option<Event> {
        let (live, spec) = (self.engine.as_ref()?, self.spec.as_ref()?);
        let id = |handle: &Handle| live.tickets[*handle as usize];
        let tickets: Arc<[_]> = found.tickets.iter().map(|(handle, team)| (id(handle), *team)).collect();
        let backfill =
            found.backfill.as_ref().map(|(game, teams)| Filled { ticket: id(game), teams: teams[..].into() });
        let regions = found.regions.iter().filter_map(|region| live.engine.region(*region));
        let regions = regions.map(|region| self.written(spec, &tickets, backfill.as_ref(), region)).collect();
        let seed = id(&found.seed);
        let ticket = self.tickets.get(&seed);
        if let (Some(_), None, Some(ticket)) = (&spec.venue, &backfill, ticket) {
            let id = MatchId::held(seed, ticket.created, ticket.changes);
            return Some(Event::MatchHeld { id, tickets, regions });
        }
        let made = match ticket {
            Some(ticket) => ticket.created,
            None => self.backfills.get(&seed)?.created,
        };
        let id = MatchId::around(seed, made);
        Some(Event::MatchFormed { id, tickets, backfill, regions })
    }

    /// A region's name as the queue, the game or the eldest ticket writes it.
    fn written(
        &self,
        spec: &QueueSpec,
        tickets: &[(TicketId, Option<u8>)],
        filled: Option<&Filled>,
        region: &Arc<str>,
    ) -> Arc<str> {
        let game = filled.and_then(|filled| self.backfills.get(&filled.ticket)?.server.region.clone());
        let sent = tickets
            .iter()
            .filter_map(|(id, _)| self.tickets.get(id))
            .flat_map(|ticket| ticket.region_names());
        let mut names = spec.regions.iter().cloned().chain(game).chain(sent);
        names.find(|name| same(name, region)).unwrap_or_else(|| region.clone())
    }
}

impl Live {
    /// Every ticket that searches, and the names of those that are held, in the order of arrival.
    fn build(queue: &Queue, spec: &QueueSpec) -> Self {
        let mut live = Self {
            engine: Engine::new(spec, queue.looked_at.anew, queue.seed),
            handles: Places::seeded(queue.seed),
            tickets: Vec::new(),
            look: Look::Nothing,
            looked_at: queue.looked_at.until,
            read: None,
            turned_away: BTreeMap::new(),
            kept: BTreeMap::new(),
        };
        live.engine.goes_on(queue.looked_at.until);
        let tickets = queue.tickets.values().filter_map(|ticket| match ticket.stage {
            Stage::Searching(searching) => Some((searching, Waiting::Ticket(ticket))),
            Stage::Held { searching, .. } => Some((searching, Waiting::Held(ticket))),
            Stage::Gathering | Stage::Matched { .. } | Stage::Canceled { .. } => None,
        });
        let games = queue.backfills.values().filter_map(|ticket| match ticket.stage {
            BackfillStage::Searching(searching) => Some((searching, Waiting::Game(ticket))),
            BackfillStage::Matched { .. } | BackfillStage::Canceled { .. } => None,
        });
        let mut waiting: Vec<_> = tickets.chain(games).collect();
        waiting.sort_by_key(|(searching, _)| searching.arrival);
        for (searching, waiting) in waiting {
            match waiting {
                Waiting::Ticket(ticket) => live.add(spec, ticket, searching, Some(queue.looked_at)),
                Waiting::Game(ticket) => live.add_game(spec, ticket, searching, Some(queue.looked_at)),
                Waiting::Held(ticket) => live.keep(spec, ticket),
            }
        }
        // All are there now: from the side of the games each pair is met once.
        for ticket in queue.backfills.values() {
            live.keep_game_apart(ticket, &queue.playing);
        }
        live
    }

    /// A new ticket, to be looked at. Its players may be in games that wait, and then it does not join those.
    pub(crate) fn take_in(
        &mut self,
        spec: &QueueSpec,
        ticket: &Ticket,
        searching: Searching,
        playing: &Playing,
    ) {
        self.add(spec, ticket, searching, None);
        if self.engine.has_games() {
            let games = ticket.members.iter().filter_map(|it| playing.of(&it.entity, Kind::Backfill));
            self.keep_apart(ticket.id, games);
        }
    }

    /// A new game, to be looked at. Its players may wait in tickets, and then those do not join it.
    pub(crate) fn take_in_game(
        &mut self,
        spec: &QueueSpec,
        ticket: &BackfillTicket,
        searching: Searching,
        playing: &Playing,
    ) {
        self.add_game(spec, ticket, searching, None);
        self.keep_game_apart(ticket, playing);
    }

    fn keep_game_apart(&mut self, game: &BackfillTicket, playing: &Playing) {
        let tickets = game.members.iter().filter_map(|it| playing.of(&it.member.entity, Kind::Ordinary));
        self.keep_apart(game.id, tickets);
    }

    /// Of these some may not search, and are not known.
    fn keep_apart(&mut self, one: TicketId, others: impl Iterator<Item = TicketId>) {
        let handle = |ticket: &TicketId| self.handles.get(&self.tickets, ticket);
        let Some(one) = handle(&one) else { return };
        for other in others.filter_map(|other| handle(&other)) {
            self.engine.keep_apart(one, other);
        }
    }

    fn add(&mut self, spec: &QueueSpec, ticket: &Ticket, searching: Searching, looked_at: Option<LookedAt>) {
        // Whoever was read already was judged, too.
        let read = self.read.take();
        let facts = read.or_else(|| self.admitted(ticket.id, Facts::of(spec, &*ticket.members)));
        if let Some(facts) = facts {
            self.insert(ticket.id, &facts, searching, self.engine.max(), None, looked_at);
        }
    }

    /// What the rules see of a ticket that can be taken in; any other is turned away.
    fn admitted(&mut self, id: TicketId, facts: Result<Facts, AttributeFault>) -> Option<Facts> {
        let reason = match facts {
            Ok(facts) if self.engine.has_room(&facts) => return Some(facts),
            Ok(_) => Cancellation::RetryRequired,
            Err(_) => Cancellation::Internal,
        };
        self.turned_away.insert(id, reason);
        None
    }

    fn add_game(
        &mut self,
        spec: &QueueSpec,
        ticket: &BackfillTicket,
        searching: Searching,
        looked_at: Option<LookedAt>,
    ) {
        let room = ticket.room().and_then(|room| u8::try_from(room).ok());
        let room = room.map_or(self.engine.max(), |room| room.min(self.engine.max()));
        if let Some(facts) = self.admitted(ticket.id, Facts::of(spec, &ticket.party())) {
            self.insert(ticket.id, &facts, searching, room, Some(game(spec, ticket)), looked_at);
        }
    }

    fn insert(
        &mut self,
        id: TicketId,
        facts: &Facts,
        searching: Searching,
        room: u8,
        game: Option<Game>,
        looked_at: Option<LookedAt>,
    ) {
        let Searching { since, arrival, back } = searching;
        let back = back.map(|back| back.at);
        if let (Some(at), None) = (back, looked_at) {
            // What this queue says of how far it came must not be beyond one that is still to be looked at.
            self.looked_at = self.looked_at.min(Cursor::start_of(self.engine.looks_after(at)));
        }
        let handle = self.engine.insert(Newcomer { facts, room, since, arrival, back, game }, looked_at);
        let at = handle as usize;
        if self.tickets.len() <= at {
            self.tickets.resize(at + 1, TicketId::LOWEST);
        }
        self.tickets[at] = id;
        self.handles.insert(&self.tickets, handle);
    }

    /// At most so many of those that could meet a ticket, the nearest first; nobody, where it is not known.
    pub(crate) fn nearest(&self, ticket: &TicketId, most: usize) -> Vec<TicketId> {
        let Some(handle) = self.handles.get(&self.tickets, ticket) else { return Vec::new() };
        let near = self.engine.nearest(handle, most);
        near.into_iter().map(|near| self.tickets[near as usize]).collect()
    }

    /// The games that wait, the eldest first.
    pub(crate) fn games(&self) -> impl Iterator<Item = TicketId> {
        self.engine.games().map(|game| self.tickets[game as usize])
    }

    /// Who has to go so that a ticket's names have room beside those of all others; `None` where nobody does for it.
    pub(crate) fn giving_way(&self, facts: &Facts) -> Option<Vec<TicketId>> {
        let going = self.engine.giving_way(facts)?;
        Some(going.into_iter().map(|handle| self.tickets[handle as usize]).collect())
    }

    /// How many tickets it knows.
    pub(crate) fn len(&self) -> usize {
        self.handles.len() + self.turned_away.len()
    }

    /// How many are held.
    pub(crate) fn held(&self) -> usize {
        self.kept.len()
    }

    /// A ticket is held, and what it names is kept.
    pub(crate) fn keep(&mut self, spec: &QueueSpec, ticket: &Ticket) {
        let facts = Facts::of(spec, &*ticket.members).ok().filter(|facts| self.engine.has_room(facts));
        let kept = facts.map(|facts| self.engine.keep(&facts)).unwrap_or_default();
        self.kept.insert(ticket.id, kept);
    }

    /// A ticket is over, or stands otherwise.
    pub(crate) fn let_go(&mut self, id: TicketId) {
        if let Some(handle) = self.handles.remove(&self.tickets, &id) {
            self.engine.remove(handle);
        }
        if let Some(kept) = self.kept.remove(&id) {
            self.engine.keep_no_more(kept);
        }
        self.turned_away.remove(&id);
    }
}

enum Waiting<'a> {
    Ticket(&'a Ticket),
    Game(&'a BackfillTicket),
    Held(&'a Ticket),
}

/// What a game weighs on its teams.
pub(crate) fn game(spec: &QueueSpec, ticket: &BackfillTicket) -> Game {
    let teams = spec.teams.len();
    let rules = spec.rules.iter().filter(|rule| matches!(rule.kind, RuleKind::TeamDifference { .. })).count();
    let mut game =
        Game { seated: alloc::vec![0; teams], seated_sums: alloc::vec![0; teams * rules], loose: Vec::new() };
    for seated in ticket.members.iter() {
        let numbers: Vec<i64> = team_numbers(spec, &seated.member.attributes)
            .into_iter()
            .map(|number| number.millionths())
            .collect();
        let team = seated.team.as_ref().and_then(|name| spec.team(name));
        match team {
            Some(team) => {
                game.seated[team] += 1;
                let sums = &mut game.seated_sums[team * numbers.len()..][..numbers.len()];
                sums.iter_mut().zip(&numbers).for_each(|(sum, number)| *sum += number);
            }
            None => game.loose.push(numbers),
        }
    }
    game
}
