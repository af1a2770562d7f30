//! Why a ticket is not matched yet: who is nearest, which rule keeps them apart and by how much, and when a rule gives way next.
//!
//! Told of pairs; and of what the nearest that fit would be together, since two tickets that fit each other may still wait for others, for
//! a sum, or for teams that are even.

mod fitting;
mod funnel;
mod judge;
mod limits;
mod together;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::cmp::Reverse;
use core::time::Duration;

use mainstay_core::{TicketId, Timestamp};

pub use self::funnel::{FUNNEL_TICKETS_MAX, Funnel, Narrowing, Sample};
use self::judge::Side;
pub use self::judge::{Judged, Short, Verdict};
pub use self::together::Together;
use crate::amount::Amount;
pub use crate::attribute::Text;
use crate::attribute::{Facts, same};
use crate::backfill::{BackfillStage, BackfillTicket};
use crate::engine::Kind;
use crate::entity::Caller;
use crate::queue::Queue;
use crate::spec::{QueueSpec, Rule, RuleKind};
use crate::ticket::{Searching, Stage, Ticket};

/// Of how many other tickets a ticket is told why they are no match for it. Copied within a turn, where it costs half a millisecond,
/// and judged outside of it. Of more they are the nearest by the number of the heaviest DifferenceRule; where there is none, and of those
/// who came while the queue is paused, those who wait longest or give up first.
pub const LOOKED_AT_MAX: usize = 2_000;
/// How many of them are told one by one.
pub const NEAREST_MAX: usize = 5;
/// At how many moments ahead two tickets are judged again, for when a rule gives way: an hour of steps of ten seconds of one of them. Each costs some
/// microseconds, outside of the queue's turn.
const MOMENTS_MAX: usize = 360;

/// A ticket that searches and the others it could meet, as they are at one moment.
#[derive(Debug, Clone)]
pub struct Around {
    spec: Arc<QueueSpec>,
    subject: Waiting,
    others: Vec<Waiting>,
    waiting: usize,
}

/// Somebody who searches.
#[derive(Debug, Clone)]
enum Waiting {
    Ticket(Arc<Ticket>, Searching),
    Game(Arc<BackfillTicket>, Searching),
}

/// Why a ticket still searches.
#[derive(Debug, Clone, PartialEq)]
pub struct WhyNot {
    /// How long it has searched, in whole seconds.
    pub waited: u32,
    /// How many players a match has, at least and at most: of a game, as many as it has places for.
    pub players_wanted: (u32, u32),
    /// How many others search that it could meet: none that waits for players or for a server.
    pub others: usize,
    /// How many of them were looked at: at most [`LOOKED_AT_MAX`].
    pub looked_at: usize,
    /// How many of those fit it by every rule between two tickets.
    pub fitting: usize,
    /// How many players they have together.
    pub fitting_players: usize,
    /// How many of those looked at each rule keeps away; the rule that keeps most first.
    pub kept_away: Vec<(Arc<str>, usize)>,
    /// The nearest: those with the fewest rules in between, then the least apart.
    pub nearest: Vec<Neighbour>,
    /// What it would be as one match with the nearest that fit it.
    pub together: Together,
    /// The next time that a rule gives way for this ticket.
    pub next: Option<Step>,
}

/// Another ticket, by each rule.
#[derive(Debug, Clone, PartialEq)]
pub struct Neighbour {
    /// Which.
    pub ticket: TicketId,
    /// Of which kind.
    pub kind: Kind,
    /// With how many players.
    pub players: usize,
    /// By each rule, in the queue's order.
    pub rules: Vec<Judged>,
    apart: f64,
}

/// A change of what a rule asks of a ticket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Of which rule.
    pub rule: Arc<str>,
    /// When.
    pub at: Timestamp,
    /// What it asks until then.
    pub from: Asked,
    /// What it asks from then on.
    pub to: Asked,
}

/// What a rule asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// Nothing: it does not restrict.
    Nothing,
    /// That texts are the same.
    Sameness,
    /// That numbers differ by at most so much.
    Apart(Amount),
    /// That a sum is so large at least, and at most, where it asks for that.
    Sum(Option<Amount>, Option<Amount>),
    /// So many: shared values at least, milliseconds or players apart at most.
    Count(u32),
}

impl Queue {
    /// A ticket of either kind and those it could meet; `None` where it does not search. For a player there are no games: "Users cannot
    /// view or interact with backfill tickets in any way".
    #[must_use]
    pub fn around(&self, ticket: TicketId, asker: &Caller) -> Option<Around> {
        let spec = Arc::clone(self.spec()?);
        let subject = self.searching(&ticket)?;
        let near = match &self.engine {
            Some(live) if self.open > LOOKED_AT_MAX => live.nearest(&ticket, LOOKED_AT_MAX),
            Some(_) | None => Vec::new(),
        };
        let known: BTreeSet<&TicketId> = near.iter().chain([&ticket]).collect();
        let all = self.give_ups.iter().map(|(_, id)| id).filter(|id| !known.contains(id));
        let others = near.iter().chain(all).filter_map(|id| self.searching(id));
        let games_are_told = match (&subject, asker) {
            // Two games never meet.
            (Waiting::Game(..), _) | (Waiting::Ticket(..), Caller::Player(_)) => false,
            (Waiting::Ticket(..), Caller::Server(_) | Caller::Hosted(_) | Caller::Title) => true,
        };
        let others = others.filter(|other| games_are_told || !other.is_game());
        let others = others.take(LOOKED_AT_MAX).collect();
        let tickets = self.matching.tickets - usize::from(!subject.is_game());
        let waiting = if games_are_told { tickets + self.games.tickets } else { tickets };
        Some(Around { spec, subject, others, waiting })
    }

    fn searching(&self, id: &TicketId) -> Option<Waiting> {
        if let Some(ticket) = self.tickets.get(id) {
            return match ticket.stage {
                Stage::Searching(searching) => Some(Waiting::Ticket(ticket.clone(), searching)),
                Stage::Gathering | Stage::Held { .. } | Stage::Matched { .. } | Stage::Canceled { .. } => {
                    None
                }
            };
        }
        let game = self.backfills.get(id)?;
        match game.stage {
            BackfillStage::Searching(searching) => Some(Waiting::Game(game.clone(), searching)),
            BackfillStage::Matched { .. } | BackfillStage::Canceled { .. } => None,
        }
    }
}

impl Waiting {
    const fn is_game(&self) -> bool {
        matches!(self, Self::Game(..))
    }

    const fn kind(&self) -> Kind {
        match self {
            Self::Ticket(..) => Kind::Ordinary,
            Self::Game(..) => Kind::Backfill,
        }
    }

    fn since(&self) -> Timestamp {
        let (Self::Ticket(_, searching) | Self::Game(_, searching)) = self;
        searching.since
    }

    fn gives_up(&self) -> Timestamp {
        match self {
            Self::Ticket(ticket, _) => ticket.gives_up(),
            Self::Game(game, _) => game.gives_up(),
        }
    }

    fn waited(&self, now: Timestamp) -> u32 {
        u32::try_from(now.since(self.since()).as_secs()).unwrap_or(u32::MAX)
    }

    /// What the rules see of it. It was read when it came, and reads as it did.
    fn side(&self, spec: &QueueSpec, now: Timestamp) -> Side<'_> {
        let (players, facts) = match self {
            Self::Ticket(ticket, _) => {
                (ticket.members.iter().map(|it| &it.entity).collect(), Facts::of(spec, &*ticket.members))
            }
            Self::Game(game, _) => {
                (game.members.iter().map(|it| &it.member.entity).collect(), Facts::of(spec, &game.party()))
            }
        };
        let facts = facts.unwrap_or_default();
        // Limits are those of the last moment at which anybody was looked at.
        let waited = self.waited(spec.gather.last_until(now));
        Side { kind: self.kind(), players, facts, room: self.room(spec), waited }
    }

    fn room(&self, spec: &QueueSpec) -> u32 {
        let room = match self {
            Self::Ticket(..) => None,
            Self::Game(game, _) => game.room(),
        };
        room.unwrap_or(u32::MAX).min(spec.holds())
    }

    /// The regions that its players measured, or that its game is in.
    fn regions(&self) -> Vec<Arc<str>> {
        match self {
            Self::Ticket(ticket, _) => ticket.region_names().collect(),
            Self::Game(game, _) => game.server.region.iter().cloned().collect(),
        }
    }

    fn named(&self) -> (TicketId, Kind, usize) {
        match self {
            Self::Ticket(ticket, _) => (ticket.id, self.kind(), ticket.members.len()),
            Self::Game(game, _) => (game.id, self.kind(), game.members.len()),
        }
    }
}

impl Around {
    /// Judges everyone looked at.
    #[must_use]
    pub fn why(&self, now: Timestamp) -> WhyNot {
        let own = self.subject.side(&self.spec, now);
        let mut kept_away: BTreeMap<usize, usize> = BTreeMap::new();
        let (mut fitting, mut fitting_players) = (0, 0);
        let mut nearest: Vec<(Neighbour, &Waiting)> = Vec::new();
        let mut fit: Vec<(f64, &Waiting, Side<'_>)> = Vec::new();
        for other in &self.others {
            let side = other.side(&self.spec, now);
            let (rules, apart) = judge::judge(&self.spec, &own, &side);
            let (ticket, kind, players) = other.named();
            for (index, _) in rules.iter().enumerate().filter(|(_, rule)| rule.fails()) {
                *kept_away.entry(index).or_default() += 1;
            }
            if !rules.iter().any(Judged::fails) {
                (fitting, fitting_players) = (fitting + 1, fitting_players + players);
                fit.push((apart, other, side));
            }
            nearest.push((Neighbour { ticket, kind, players, rules, apart }, other));
        }
        nearest.sort_by(|(a, _), (b, _)| a.between().cmp(&b.between()).then(a.apart.total_cmp(&b.apart)));
        nearest.truncate(NEAREST_MAX);
        let foretold = nearest.into_iter().map(|(mut neighbour, other)| {
            self.foretell(&mut neighbour.rules, other, now);
            neighbour
        });
        let mut nearest: Vec<Neighbour> = foretold.collect();
        fit.sort_by(|a, b| a.0.total_cmp(&b.0));
        let fit: Vec<_> = fit.iter().map(|(_, waiting, side)| (*waiting, side)).collect();
        let mut together = together::together(&self.spec, (&self.subject, &own), &fit);
        let told = nearest.iter_mut().flat_map(|it| &mut it.rules).chain(&mut together.rules);
        told.for_each(|judged| self.write_region(judged));
        let name = |index: usize| judge::name(&self.spec, index);
        let mut kept_away: Vec<_> =
            kept_away.into_iter().map(|(index, count)| (name(index), count)).collect();
        kept_away.sort_by_key(|(_, count)| Reverse(*count));
        WhyNot {
            waited: self.subject.waited(now),
            players_wanted: (self.spec.min_match_size, own.room.min(self.spec.max_match_size)),
            others: self.waiting,
            looked_at: self.others.len(),
            fitting,
            fitting_players,
            kept_away,
            nearest,
            together,
            next: self
                .spec
                .rules
                .iter()
                .filter_map(|rule| self.step(rule, own.waited))
                .min_by_key(|step| step.at),
        }
    }

    /// When each rule that keeps the two apart will do so no more, as both wait on: either's own limit may be the one that has to give way.
    fn foretell(&self, rules: &mut [Judged], other: &Waiting, now: Timestamp) {
        let (mut own, mut others) = (self.subject.side(&self.spec, now), other.side(&self.spec, now));
        let ends = self.subject.gives_up().min(other.gives_up());
        let moments: BTreeSet<Timestamp> = [&self.subject, other]
            .into_iter()
            .flat_map(|it| self.moments(it, now))
            .filter(|at| *at < ends)
            .collect();
        for at in moments.into_iter().take(MOMENTS_MAX) {
            let waits = |rule: &Judged| rule.fails() && rule.fits_at.is_none();
            if !rules.iter().any(waits) {
                return;
            }
            let until = self.spec.gather.last_until(at);
            (own.waited, others.waited) = (self.subject.waited(until), other.waited(until));
            let (then, _) = judge::judge(&self.spec, &own, &others);
            let give_way = rules.iter_mut().zip(then).filter(|(rule, then)| waits(rule) && !then.fails());
            give_way.for_each(|(rule, _)| rule.fits_at = Some(at));
        }
    }

    /// When a limit of that ticket changes from now on.
    fn moments(&self, waiting: &Waiting, now: Timestamp) -> Vec<Timestamp> {
        let boundaries = self
            .spec
            .rules
            .iter()
            .flat_map(|rule| boundaries(&rule.kind).into_iter().chain(rule.optional_after));
        let at =
            |seconds: u32| self.spec.gather.next_from(waiting.since() + Duration::from_secs(seconds.into()));
        boundaries.map(at).filter(|at| *at > now).collect()
    }

    /// Rules compare regions without regard to case; told they are as the queue writes them, or who waits.
    fn write_region(&self, judged: &mut Judged) {
        let Verdict::Fails(Short::Region { best: Some((region, _)), .. }) = &mut judged.verdict else {
            return;
        };
        let waiting = core::iter::once(&self.subject).chain(&self.others);
        let mut names = self.spec.regions.iter().cloned().chain(waiting.flat_map(Waiting::regions));
        if let Some(written) = names.find(|name| same(name, region)) {
            *region = written;
        }
    }

    fn step(&self, rule: &Rule, waited: u32) -> Option<Step> {
        let expands = boundaries(&rule.kind).into_iter().chain(rule.optional_after);
        let begins = expands.filter(|at| *at > waited).min()?;
        let at = self.spec.gather.next_from(self.subject.since() + Duration::from_secs(begins.into()));
        let (from, to) = (asked(rule, waited), asked(rule, self.subject.waited(at)));
        (from != to).then(|| Step { rule: rule.name.clone(), at, from, to })
    }
}

impl Neighbour {
    /// How many rules are between.
    fn between(&self) -> usize {
        self.rules.iter().filter(|rule| rule.fails()).count()
    }
}

/// After how many seconds of waiting a rule's limit changes.
fn boundaries(kind: &RuleKind) -> Vec<u32> {
    match kind {
        RuleKind::StringEquality { enforced, .. } => enforced.boundaries().collect(),
        RuleKind::Difference { allowed, .. } | RuleKind::TeamDifference { allowed, .. } => {
            allowed.boundaries().collect()
        }
        RuleKind::SetIntersection { shared, .. } => shared.boundaries().collect(),
        RuleKind::MatchTotal { min, max, .. } => min.boundaries().chain(max.boundaries()).collect(),
        RuleKind::RegionSelection { latency, .. } => latency.boundaries().collect(),
        RuleKind::TeamSizeBalance { allowed } => allowed.boundaries().collect(),
        RuleKind::TeamTicketSizeSimilarity => Vec::new(),
    }
}

/// What a rule asks of a ticket that has waited so many seconds.
fn asked(rule: &Rule, waited: u32) -> Asked {
    if rule.optional_after.is_some_and(|after| waited >= after) {
        return Asked::Nothing;
    }
    let count = |limit: Option<u32>| limit.map_or(Asked::Nothing, Asked::Count);
    match &rule.kind {
        RuleKind::StringEquality { enforced, .. } => {
            enforced.after(waited).map_or(Asked::Nothing, |_| Asked::Sameness)
        }
        RuleKind::Difference { allowed, .. } | RuleKind::TeamDifference { allowed, .. } => {
            allowed.after(waited).map_or(Asked::Nothing, Asked::Apart)
        }
        RuleKind::SetIntersection { shared, .. } => count(shared.after(waited)),
        RuleKind::MatchTotal { min, max, .. } => match (min.after(waited), max.after(waited)) {
            (None, None) => Asked::Nothing,
            (min, max) => Asked::Sum(min, max),
        },
        RuleKind::RegionSelection { latency, .. } => count(latency.after(waited)),
        RuleKind::TeamSizeBalance { allowed } => count(allowed.after(waited)),
        RuleKind::TeamTicketSizeSimilarity => Asked::Sameness,
    }
}
