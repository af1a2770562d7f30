//! The state of a queue: its tickets and matches, durable, and what is derived from them.

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::Bound;
use core::time::Duration;

use mainstay_core::{ClaimId, MatchId, StateMachine, Tenure, TicketId, Timestamp, Turn};

use crate::backfill::BackfillTicket;
use crate::command::{Answer, Command, Observation, Target, Why};
use crate::engine::{Cursor, Look, LookedAt, Merged};
use crate::event::Event;
use crate::hold::{Asked, Hold, Owed};
use crate::live::Live;
use crate::playing::Playing;
use crate::rejection::Rejection;
use crate::shares::Shares;
use crate::spec::QueueSpec;
use crate::statistics::LastWaits;
use crate::tally::Tally;
use crate::terms::Leases;
use crate::ticket::{Match, Ticket};

/// How long a ticket that ended, and a match, can be asked about. PlayFab promises "a few minutes"; a client polls every six
/// seconds.
pub const KEPT: Duration = Duration::from_secs(300);
/// The most ended tickets, and the most matches, that are kept besides: at ten thousand tickets a second the last 25 s, four
/// polls of a client.
pub const KEPT_MAX: usize = 250_000;
/// The most tickets that wait in a queue. Twice the largest pool that was measured; at 600 bytes a ticket 1.2 GB.
pub const WAITING_MAX: usize = 2_000_000;

/// A queue.
#[derive(Debug, Clone)]
pub struct Queue {
    pub(crate) seed: u64,
    pub(crate) spec: Option<Arc<QueueSpec>>,
    /// Counts the changes of what rules read.
    pub(crate) form: u32,
    /// Since when it forms no matches, where an operator has it so.
    pub(crate) paused: Option<Timestamp>,
    pub(crate) arrivals: u64,
    pub(crate) looked_at: LookedAt,
    pub(crate) tickets: BTreeMap<TicketId, Arc<Ticket>>,
    pub(crate) backfills: BTreeMap<TicketId, Arc<BackfillTicket>>,
    pub(crate) matches: BTreeMap<MatchId, Arc<Match>>,
    /// The groups that wait for a server, by what they are held as.
    pub(crate) holds: BTreeMap<MatchId, Arc<Hold>>,
    /// By the id that a server is asked for under: what they are held as.
    pub(crate) asked: BTreeMap<MatchId, MatchId>,
    /// Those of them that every region has refused, the longest held first.
    pub(crate) resting: BTreeSet<(Timestamp, MatchId)>,
    /// The allocations that are no longer wanted, each with whom was asked for it.
    pub(crate) undos: BTreeMap<MatchId, Asked>,
    /// Who is in which open ticket.
    pub(crate) playing: Playing,
    /// The open backfill tickets of each hosted process.
    pub(crate) hosted: BTreeMap<Tenure, BTreeSet<TicketId>>,
    /// By session: its backfill tickets that were matched, while they are kept, in the order in which they were.
    pub(crate) filled: BTreeMap<ClaimId, BTreeSet<(Timestamp, TicketId)>>,
    pub(crate) give_ups: BTreeSet<(Timestamp, TicketId)>,
    /// Tickets of both kinds.
    pub(crate) open: usize,
    /// The tickets of players that search.
    pub(crate) matching: Crowd,
    /// The games that want players.
    pub(crate) games: Crowd,
    pub(crate) ended: VecDeque<(Timestamp, TicketId)>,
    pub(crate) formed: VecDeque<(Timestamp, MatchId)>,
    pub(crate) waits: LastWaits,
    /// `None` until the leader's first command.
    pub(crate) tally: Option<Tally>,
    pub(crate) touched: BTreeSet<Target>,
    pub(crate) shares: Shares,
    pub(crate) engine: Option<Live>,
    /// Soft: `None` until this leader listens.
    pub(crate) leases: Option<Leases>,
}

/// What the engine of a queue weighs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EngineGauges {
    /// Bytes of rows, indices and the agenda.
    pub bytes: usize,
    /// Searches that ended because they had tried as many candidates as they may, since the engine was built.
    pub exhausted: u64,
}

/// Tickets of one kind that search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Crowd {
    pub tickets: usize,
    /// Who is in them.
    pub players: usize,
}

/// How a queue stands, for whoever watches it. It takes no longer for more tickets.
#[derive(Debug, Clone)]
pub struct Gauges {
    /// Open tickets of players; those whose players have not all joined and those that wait for a server included.
    pub tickets: usize,
    /// Players who search.
    pub players: usize,
    /// Backfill tickets that search.
    pub backfills: usize,
    /// The players in their games.
    pub backfill_players: usize,
    /// Since when the ticket searches that has longest.
    pub eldest: Option<Timestamp>,
    /// What has happened since this leader began; `None` before its first command.
    pub tally: Option<Tally>,
    /// How often each rule was judged since the engine was built, in the queue's order; none before the first command.
    pub judged: Vec<Judged>,
}

/// How often a rule was judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judged {
    /// Its name.
    pub rule: Arc<str>,
    /// How many passed it and every other rule: candidates, where it is a rule between tickets; groups that were large enough, where
    /// it is one of whole matches.
    pub passed: u64,
    /// How many it refused, as the first that did.
    pub refused: u64,
}

impl Queue {
    /// A queue before its configuration. The seed keeps strangers from choosing what collides in look-up tables.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self {
            seed,
            spec: None,
            form: 0,
            paused: None,
            arrivals: 0,
            looked_at: LookedAt::anew(Timestamp::EPOCH),
            tickets: BTreeMap::new(),
            backfills: BTreeMap::new(),
            matches: BTreeMap::new(),
            holds: BTreeMap::new(),
            asked: BTreeMap::new(),
            resting: BTreeSet::new(),
            undos: BTreeMap::new(),
            playing: Playing::seeded(seed),
            hosted: BTreeMap::new(),
            filled: BTreeMap::new(),
            give_ups: BTreeSet::new(),
            open: 0,
            matching: Crowd::default(),
            games: Crowd::default(),
            ended: VecDeque::new(),
            formed: VecDeque::new(),
            waits: LastWaits::default(),
            tally: None,
            touched: BTreeSet::new(),
            shares: Shares::default(),
            engine: None,
            leases: None,
        }
    }

    /// What it matches by; `None` where it was never configured, or is removed.
    #[must_use]
    pub const fn spec(&self) -> Option<&Arc<QueueSpec>> {
        self.spec.as_ref()
    }

    /// By which form attributes have to be read.
    #[must_use]
    pub const fn form(&self) -> u32 {
        self.form
    }

    /// Since when it forms no matches, where an operator has it so.
    #[must_use]
    pub const fn paused(&self) -> Option<Timestamp> {
        self.paused
    }

    /// How many tickets of both kinds are open.
    #[must_use]
    pub const fn open(&self) -> usize {
        self.open
    }

    /// Whether it is removed, and owes nobody anything any more: whoever runs it may end it.
    #[must_use]
    pub fn is_spent(&self) -> bool {
        self.spec.is_none() && self.open == 0 && self.holds.is_empty() && self.undos.is_empty()
    }

    /// Whether something that ended in it can still be asked about.
    #[must_use]
    pub fn is_asked_about(&self, now: Timestamp) -> bool {
        let last = [self.ended.back().map(|(at, _)| *at), self.formed.back().map(|(at, _)| *at)];
        last.into_iter().flatten().any(|at| is_kept(Some(at), now))
    }

    /// An ordinary ticket: one that is open, or ended a short while ago. Time alone decides, whether or not anything has happened since.
    pub(crate) fn kept_ticket(&self, id: &TicketId, now: Timestamp) -> Option<&Arc<Ticket>> {
        self.tickets.get(id).filter(|ticket| is_kept(ticket.stage.ended(), now))
    }

    /// A backfill ticket, likewise.
    pub(crate) fn kept_backfill(&self, id: &TicketId, now: Timestamp) -> Option<&Arc<BackfillTicket>> {
        self.backfills.get(id).filter(|ticket| is_kept(ticket.stage.ended(), now))
    }

    /// Of a session, the backfill ticket that was matched next after the one whose match its game knows.
    #[must_use]
    pub fn next_filled(&self, session: ClaimId, known: Option<TicketId>, now: Timestamp) -> Option<TicketId> {
        let filled = self.filled.get(&session)?;
        let kept = || filled.iter().filter(|(at, _)| is_kept(Some(*at), now));
        let after = kept().skip_while(|(_, ticket)| Some(*ticket) != known).nth(1);
        let first = || kept().next();
        let next = if kept().any(|(_, ticket)| Some(*ticket) == known) { after } else { first() };
        next.map(|(_, ticket)| *ticket)
    }

    /// A match, likewise.
    pub(crate) fn kept_match(&self, id: &MatchId, now: Timestamp) -> Option<&Arc<Match>> {
        self.matches.get(id).filter(|formed| is_kept(Some(formed.formed), now))
    }

    /// An ordinary ticket that has changed in this turn, for those who watch it.
    #[must_use]
    pub fn changed_ticket(&self, id: &TicketId) -> Option<&Arc<Ticket>> {
        self.tickets.get(id)
    }

    /// A backfill ticket, likewise.
    #[must_use]
    pub fn changed_backfill(&self, id: &TicketId) -> Option<&Arc<BackfillTicket>> {
        self.backfills.get(id)
    }

    /// Ordinary tickets, by id: those that are open, and those that ended and were not let go since.
    pub fn tickets(&self) -> impl Iterator<Item = &Arc<Ticket>> {
        self.tickets.values()
    }

    /// Ordinary tickets behind an id, in the order of ids: a page of a list goes on where the one before ended.
    pub fn tickets_after(
        &self,
        after: Option<TicketId>,
        now: Timestamp,
    ) -> impl Iterator<Item = &Arc<Ticket>> {
        let known = self.tickets.range((behind(after), Bound::Unbounded)).map(|(_, ticket)| ticket);
        known.filter(move |ticket| is_kept(ticket.stage.ended(), now))
    }

    /// Backfill tickets, likewise.
    pub fn backfills_after(
        &self,
        after: Option<TicketId>,
        now: Timestamp,
    ) -> impl Iterator<Item = &Arc<BackfillTicket>> {
        let known = self.backfills.range((behind(after), Bound::Unbounded)).map(|(_, ticket)| ticket);
        known.filter(move |ticket| is_kept(ticket.stage.ended(), now))
    }

    /// The matches of a short while, likewise.
    pub fn matches_after(&self, after: Option<MatchId>, now: Timestamp) -> impl Iterator<Item = &Arc<Match>> {
        let known = self.matches.range((behind(after), Bound::Unbounded)).map(|(_, formed)| formed);
        known.filter(move |formed| is_kept(Some(formed.formed), now))
    }

    /// Backfill tickets, likewise.
    pub fn backfills(&self) -> impl Iterator<Item = &Arc<BackfillTicket>> {
        self.backfills.values()
    }

    /// The matches of a short while.
    pub fn matches(&self) -> impl Iterator<Item = &Arc<Match>> {
        self.matches.values()
    }

    /// The hosted processes that have open backfill tickets.
    pub fn tenures(&self) -> impl Iterator<Item = &Tenure> {
        self.hosted.keys()
    }

    /// Whether a hosted process has some: whoever watches it then tells the queue of its end.
    #[must_use]
    pub fn hangs_on(&self, tenure: &Tenure) -> bool {
        self.hosted.contains_key(tenure)
    }

    /// This leader listens: leases count from now.
    fn listen(&mut self, now: Timestamp) {
        if self.leases.is_some() {
            return;
        }
        let mut leases = Leases::default();
        let open = self.give_ups.iter().filter_map(|(_, id)| self.backfills.get(id));
        open.for_each(|ticket| leases.hear(now, ticket.id, &ticket.terms.lease));
        self.leases = Some(leases);
    }

    /// This leader was held up, and could not hear: leases count from now, as a new leader's do.
    fn listen_again(&mut self, now: Timestamp) {
        let Some(leases) = &mut self.leases else { return };
        let open = self.give_ups.iter().filter_map(|(_, id)| self.backfills.get(id));
        open.for_each(|ticket| leases.let_off(now, ticket.id, &ticket.terms.lease));
    }

    pub(crate) fn hear(&mut self, now: Timestamp, ticket: TicketId) {
        if let (Some(leases), Some(known)) = (&mut self.leases, self.backfills.get(&ticket)) {
            leases.hear(now, ticket, &known.terms.lease);
        }
    }

    /// How it stands.
    #[must_use]
    pub fn gauges(&self) -> Gauges {
        Gauges {
            tickets: self.open - self.games.tickets,
            players: self.matching.players,
            backfills: self.games.tickets,
            backfill_players: self.games.players,
            eldest: self.engine.as_ref().and_then(|live| live.engine.eldest()),
            tally: self.tally.clone(),
            judged: self.judged(),
        }
    }

    fn judged(&self) -> Vec<Judged> {
        let (Some(spec), Some(live)) = (&self.spec, &self.engine) else { return Vec::new() };
        let told = spec.rules.iter().zip(live.engine.judged());
        told.map(|(rule, (passed, refused))| Judged { rule: rule.name.clone(), passed, refused }).collect()
    }

    /// What the engine weighs, for whoever watches it; `None` before the first command.
    #[must_use]
    pub fn engine_gauges(&self) -> Option<EngineGauges> {
        let engine = &self.engine.as_ref()?.engine;
        Some(EngineGauges { bytes: engine.bytes(), exhausted: engine.exhausted() })
    }

    /// From where on everything that is due by now would be looked at as one, if it is further behind than so long. What fell behind before
    /// is looked at to its end first: else the youngest, who come last, never would be.
    pub(crate) fn behind(&self, now: Timestamp, most: Duration) -> Option<Cursor> {
        let (spec, live) = (self.spec.as_ref()?, self.engine.as_ref()?);
        let first = live.engine.next().filter(|_| self.paused.is_none())?;
        let last = spec.gather.last_until(now);
        let is_of_round = self.looked_at.round().is_some_and(|round| first.at <= round.at);
        (!is_of_round && last.since(first.at) > most).then_some(first)
    }

    /// What is due from there on is looked at as one, with what was due last by now.
    pub(crate) fn merge(&mut self, now: Timestamp, first: Cursor) {
        let at = self.spec.as_ref().map_or(now, |spec| spec.gather.last_until(now));
        (self.looked_at.until, self.looked_at.merged) = (Cursor::start_of(at), Some(Merged { first, at }));
        if let Some(live) = &mut self.engine {
            live.looked_at = self.looked_at.until;
            live.engine.merge(at);
        }
    }

    /// The moment of the next deadline and what it is for.
    fn deadline(&self) -> Option<(Timestamp, Why)> {
        let gives_up = self.give_ups.first().map(|(at, _)| (*at, Why::GiveUp));
        let lease = self.leases.as_ref().and_then(Leases::next).map(|(at, _)| (at, Why::Lease));
        let search = match (&self.engine, self.paused) {
            (Some(live), _) if !live.turned_away.is_empty() => Some(Timestamp::EPOCH),
            (_, Some(_)) => None,
            (Some(live), None) => match live.look {
                Look::Match(cursor, _) | Look::Batch(cursor, _) => Some(cursor.at),
                Look::Nothing | Look::Nobody(_) => live.engine.next().map(|cursor| cursor.at),
            },
            // What is due is known once it is built.
            (None, None) => (self.open > 0 && self.spec.is_some()).then_some(Timestamp::EPOCH),
        };
        let search = search.map(|at| (at, Why::Search));
        // Who gives up at the same moment is gone first: "Expired tickets are removed".
        [gives_up, lease, search].into_iter().flatten().min_by_key(|(at, why)| (*at, *why == Why::Search))
    }
}

/// Whether what ended then, or has not, can be asked about.
pub(crate) fn is_kept(ended: Option<Timestamp>, now: Timestamp) -> bool {
    ended.is_none_or(|at| now.since(at) < KEPT)
}

fn behind<Id>(after: Option<Id>) -> Bound<Id> {
    after.map_or(Bound::Unbounded, Bound::Excluded)
}

impl StateMachine for Queue {
    type Command = Command;
    type Event = Event;
    type Answer = Answer;
    type Rejection = Rejection;
    type Observation = Observation;
    type Target = Target;
    /// What the fleet is owed; where tickets stand, and what hangs on a process, is read from the state.
    type Effects = Option<Owed>;
    type Why = Why;

    fn decide(turn: &mut Turn<'_, Self>, command: &Command) -> Result<Answer, Rejection> {
        crate::decide::decide(turn, command)
    }

    fn apply(&mut self, at: Timestamp, event: &Event) {
        self.apply_event(at, event);
    }

    fn observe(&mut self, now: Timestamp, observation: Observation) {
        match observation {
            Observation::Open => {
                self.tally.get_or_insert_with(Tally::new);
                self.open_engine();
                self.listen(now);
            }
            Observation::Read(facts) => {
                if let Some(live) = &mut self.engine {
                    live.read = Some(facts);
                }
            }
            Observation::Look => self.look(now),
            Observation::BatchFormed(cursor) => self.batch_formed(cursor),
            Observation::Heard(ticket) => self.hear(now, ticket),
            Observation::HeldUp => self.listen_again(now),
            Observation::Forgotten => {
                (self.engine, self.leases) = (None, None);
                (self.waits, self.tally) = (LastWaits::default(), None);
            }
        }
    }

    fn owed(&self, target: &Target) -> Option<Owed> {
        match target {
            Target::Ticket(_) | Target::Tenure(_) => None,
            Target::Allocation(id) => self.owed_for(*id),
        }
    }

    fn take_touched(&mut self) -> Vec<Target> {
        core::mem::take(&mut self.touched).into_iter().collect()
    }

    fn next_deadline(&self) -> Option<(Timestamp, Why)> {
        self.deadline()
    }

    fn story(&self) -> impl Iterator<Item = (Timestamp, Event)> {
        self.told()
    }
}
