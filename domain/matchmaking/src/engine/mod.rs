//! The matching engine: which of the waiting tickets form a match, found by looking only at what has changed.
//!
//! It is soft state: fed by events as they are applied, holding handles only, and rebuilt from the tickets that wait whenever
//! it is missing. What it finds depends on values, arrival numbers and the times at which limits change, never on how its
//! blocks came to lie or on when it was asked; so a rebuilt engine finds what the old one would have found.
//!
//! What each ticket and each search passes once is part of its callers (`inline(always)`), as a compiler that has seen it run makes it: calls are
//! a good part of what a match of two costs. What few pass stands apart from it (`inline(never)`, and `cold` where under 1 of 100 tickets of the
//! reference queues do, by a profile of drains): nearly all the code that a match of ten runs is read anew each time, and so is what lies between.

mod agenda;
mod ahead;
mod apart;
mod batch;
mod block;
mod card;
mod census;
mod complete;
mod descent;
mod exchange;
mod fill;
mod filling;
mod frame;
mod games;
mod gather;
mod group;
mod index;
mod interner;
mod judged;
mod key;
mod lanes;
mod names;
mod near;
mod order;
mod otherwise;
mod packing;
mod pages;
mod plan;
mod pool;
mod rank;
mod rest;
mod room;
mod search;
mod sides;
mod slab;
mod spot;
mod squeeze;
mod teams;
#[cfg(test)]
mod tests;
mod walk;
mod ways;

use alloc::collections::BTreeSet;
use alloc::sync::Arc;
use alloc::vec::Vec;

use mainstay_core::Timestamp;

use self::agenda::{Agenda, Due, Place};
pub use self::agenda::{Cursor, LookedAt, Merged};
use self::apart::Apart;
use self::block::below;
pub use self::games::Game;
use self::games::Games;
use self::interner::Interner;
use self::lanes::Names;
pub use self::names::Kept;
use self::plan::{Plan, Stand};
use self::pool::Pool;
pub use self::search::Found;
use self::search::{Field, Searcher};
pub use self::slab::Kind;
use self::slab::{
    ANY_TEXT, Company, Handle as Slot, Layout, MIXED_TEXT, New, Ref, Shape, Slab, UNMEASURED, WILD,
};
use crate::attribute::{Facts, Text};
use crate::spec::QueueSpec;

/// A ticket's handle in the engine.
pub type Handle = Slot;

/// The most different values of one list that live tickets may hold in all: 16 words a ticket.
pub(crate) const LIST_VALUES_MAX: usize = 1_024;
/// The most different regions that live tickets may name: as many as a word has bits.
pub(crate) const REGIONS_MAX: usize = 64;

/// Of how many who are looked at next the memory is asked for the rows: some leave with whoever is looked at before them.
const FOLLOWING: usize = 3;

/// What came of looking at the next ticket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Look {
    /// No ticket's moment has come.
    Nothing,
    /// One was looked at, and has nobody to match with.
    Nobody(Cursor),
    /// A match.
    Match(Cursor, Found),
    /// Matches that were found together, the one around the eldest first: all of them are formed, or none.
    Batch(Cursor, Vec<Found>),
}

/// A ticket as the engine takes it.
#[derive(Debug)]
pub struct Newcomer<'a> {
    /// What the queue's rules see of it, each of them.
    pub facts: &'a Facts,
    /// The most players of a match it may be in.
    pub room: u8,
    /// Since when it waits.
    pub since: Timestamp,
    /// Its place among all: larger than that of all before it, none of which waits since later.
    pub arrival: u64,
    /// When it came back into the pool, if it had left it: it is looked at then, and not at the moments it was away.
    pub back: Option<Timestamp>,
    /// Who plays already, of a backfill ticket.
    pub game: Option<Game>,
}

/// How a ticket stands that is taken in: how many steps it has entered, and what it waits for.
#[derive(Debug, Clone, Copy)]
enum Entry {
    /// It has just come.
    New,
    /// It is to be looked at anew, since the limits changed.
    Anew { entered: usize },
    /// It was looked at, and waits for its next step.
    Waits { entered: usize },
    /// It has come back, and is to be looked at in the step it has come to.
    Back { entered: usize, at: Timestamp },
    /// It fell behind with others, and is to be looked at in the step it has come to.
    Merged { entered: usize, at: Timestamp },
}

/// The engine of one queue.
#[derive(Debug, Clone)]
pub struct Engine {
    plan: Plan,
    slab: Slab,
    pool: Pool,
    agenda: Agenda,
    games: Games,
    apart: Apart,
    searcher: Searcher,
    /// Numbers for texts, by rule.
    texts: Vec<Interner>,
    /// Numbers for list values, by rule.
    values: Vec<Interner>,
    regions: Interner,
    /// How many values and regions have been known at once: rows are wide enough for them.
    known: usize,
    /// The list values of whoever is taken in: by rule those numbered below 64, one bit each, and the others. Kept, so that nothing is
    /// allocated for them.
    listed: Vec<u64>,
    listed_further: Vec<(usize, u32)>,
    /// The moment up to which all have entered their steps.
    entered: Option<Timestamp>,
    /// Who came up to this moment is in the pool: a turn that is late does not match whom nobody could have met then.
    come: Timestamp,
    /// The last arrival of those who have come. Who arrives earlier waits since no later.
    come_until: u64,
    /// Of those who came back whom nobody can meet yet: a turn that is late works off moments at which they were away.
    away: BTreeSet<Handle>,
    /// Up to where the batches of moments are over.
    batched: Cursor,
}

impl Engine {
    /// An empty engine, whose limits hold since `anew`. The seed is for look-up tables alone; no result depends on it.
    pub fn new(spec: &QueueSpec, anew: Timestamp, seed: u64) -> Self {
        let plan = Plan::new(spec);
        let interners = |count: usize| (0..count).map(|_| Interner::new(seed)).collect::<Vec<_>>();
        let (texts, values) = (interners(plan.texts.len()), interners(plan.sets.len()));
        let layout = Layout::new(&plan, &alloc::vec![0; values.len()], 0);
        let listed = alloc::vec![0; values.len()];
        Self {
            slab: Slab::new(layout),
            pool: Pool::new(&plan),
            agenda: Agenda::new(&plan.starts, plan.gather, anew),
            games: Games::new(&plan),
            apart: Apart::default(),
            searcher: Searcher::default(),
            texts,
            values,
            regions: Interner::new(seed),
            known: 0,
            listed,
            listed_further: Vec::new(),
            entered: None,
            come: Timestamp::EPOCH,
            come_until: 0,
            away: BTreeSet::new(),
            batched: Cursor::start_of(Timestamp::EPOCH),
            plan,
        }
    }

    /// The most players of a match.
    pub const fn max(&self) -> u8 {
        self.plan.max
    }

    /// Whether a ticket could never be in any match, however long it waits and whoever comes: it breaks a rule by itself.
    pub fn is_hopeless(&self, facts: &Facts) -> bool {
        let rows = || self.plan.rows.iter();
        let texts = facts.texts.iter().enumerate();
        let mixed =
            texts.filter(|(_, text)| **text == Text::Mixed).fold(0_u32, |bits, (rule, _)| bits | 1 << rule);
        let sets = facts.sets.iter().enumerate().any(|(rule, set)| {
            set.as_ref().is_some_and(|set| rows().all(|row| set.len() < usize::from(row.sets[rule])))
        });
        let totals =
            facts.totals.iter().zip(&self.plan.totals).any(|(sum, rule)| sum.millionths() > rule.max_ever);
        let regions = self.plan.region.is_some()
            && rows().all(|row| {
                row.latency.is_some_and(|limit| facts.latencies.iter().all(|(_, latency)| *latency > limit))
            });
        rows().all(|row| row.texts & mixed != 0) || sets || totals || regions
    }

    /// Everything up to here was looked at before this engine was built: who came by then has come.
    pub fn goes_on(&mut self, until: Cursor) {
        (self.come, self.batched) = (until.at, until);
    }

    /// Takes a ticket in, to be looked at at once; or, where everything up to a moment was looked at before the engine was
    /// rebuilt, at its first moment after that.
    pub fn insert(&mut self, newcomer: Newcomer<'_>, looked_at: Option<LookedAt>) -> Handle {
        let Newcomer { facts, room, since, arrival, back, game } = newcomer;
        let kind = if game.is_some() { Kind::Backfill } else { Kind::Ordinary };
        let place = Place { since: since.unix_ms(), kind, arrival, back };
        let entry = self.entry(place, looked_at);
        let step = match entry {
            Entry::New => 0,
            Entry::Anew { entered }
            | Entry::Waits { entered }
            | Entry::Back { entered, .. }
            | Entry::Merged { entered, .. } => u16::try_from(entered.saturating_sub(1)).unwrap_or(u16::MAX),
        };
        debug_assert!(self.plan.reads(facts), "of each rule what it sees");
        let mut latencies = [UNMEASURED; REGIONS_MAX];
        let limit = self.plan.row(step).latency_of(kind);
        let within = number_regions(&mut self.regions, facts, limit, &mut latencies);
        let any_sets = self.number_lists(facts);
        self.widen();
        let shape = Shape { players: facts.players, room, step, kind, any_sets, company: Company::Alone };
        let New { handle, layout, words: row } = self.slab.add(arrival, place.since, shape);
        for (rule, (text, known)) in facts.texts.iter().zip(&mut self.texts).enumerate() {
            row[layout.texts + rule] = match text {
                Text::Any => ANY_TEXT,
                Text::Mixed => MIXED_TEXT,
                Text::Same(text) => known.hold(text).into(),
            };
        }
        for (word, number) in row[layout.numbers..].iter_mut().zip(&facts.numbers) {
            *word = number.map_or(WILD, |number| number.millionths()).cast_unsigned();
        }
        for ((at, words), first) in layout.sets.iter().zip(&self.listed) {
            row[*at] = *first;
            if *words > 1 {
                row[at + 1..at + words].fill(0);
            }
        }
        for (rule, id) in &self.listed_further {
            row[layout.sets[*rule].0 + *id as usize / 64] |= 1 << (id % 64);
        }
        for (known, (at, words)) in self.values.iter_mut().zip(&layout.sets) {
            known.hold_list(&row[*at..at + words]);
        }
        for (word, sum) in row[layout.totals..].iter_mut().zip(&facts.totals) {
            *word = sum.millionths().cast_unsigned();
        }
        for (word, sum) in row[layout.team_sums..].iter_mut().zip(&facts.team_sums) {
            *word = sum.millionths().cast_unsigned();
        }
        let (at, words) = layout.latencies;
        for (word, four) in row[at..at + words].iter_mut().zip(latencies.as_chunks::<4>().0) {
            let [first, second, third, fourth] = four.map(u64::from);
            *word = first | second << 16 | third << 32 | fourth << 48;
        }
        layout.put_regions(row, within);
        if let Some(game) = game {
            self.games.insert(handle, arrival, game);
        }
        let comes = self.comes(place.since);
        if comes <= self.come {
            self.come_until = self.come_until.max(arrival);
        }
        let is_away = match entry {
            Entry::Back { at, .. } => self.agenda.after(at) > self.come,
            Entry::New | Entry::Anew { .. } | Entry::Waits { .. } | Entry::Merged { .. } => false,
        };
        if is_away {
            self.away.insert(handle);
        } else if comes <= self.come {
            self.pool.insert(&self.plan, &self.slab, handle);
        }
        match entry {
            Entry::New => self.agenda.add_new(place, handle, comes),
            Entry::Anew { .. } => self.agenda.add_anew(place, handle),
            // Who was away has others behind it that came after, so its moments are kept one by one.
            Entry::Waits { entered } if back.is_some() => self.agenda.add_late(place, handle, entered),
            Entry::Waits { entered } => self.agenda.add(place, handle, entered),
            Entry::Back { at, .. } => self.agenda.add_back(place, handle, (at, step)),
            Entry::Merged { at, .. } => self.agenda.add_merged(place, handle, (at, step)),
        }
        handle
    }

    /// Numbers the values of a ticket's lists; says which lists fit any.
    #[inline]
    fn number_lists(&mut self, facts: &Facts) -> u32 {
        let mut any = 0;
        self.listed_further.clear();
        let rules = facts.sets.iter().zip(&mut self.values).zip(&mut self.listed).enumerate();
        for (rule, ((set, known), first)) in rules {
            *first = 0;
            let Some(set) = set else {
                any |= 1 << rule;
                continue;
            };
            for text in set {
                let id = known.number(text);
                if id < u64::BITS { *first |= 1 << id } else { self.listed_further.push((rule, id)) }
            }
        }
        any
    }

    /// Whether a game waits.
    pub fn has_games(&self) -> bool {
        !self.games.is_empty()
    }

    /// The games that wait, the eldest first.
    pub fn games(&self) -> impl Iterator<Item = Handle> {
        self.games.handles()
    }

    /// Two tickets share a player: they are in no match together, until one of them leaves.
    pub fn keep_apart(&mut self, one: Handle, other: Handle) {
        self.apart.insert(one, other);
    }

    /// How a ticket stands that is taken in: by how far everything was looked at, where it was there before the engine was built.
    #[inline]
    fn entry(&self, place: Place, looked_at: Option<LookedAt>) -> Entry {
        if looked_at.is_none() && place.back.is_none() {
            Entry::New
        } else {
            self.entry_again(place, looked_at)
        }
    }

    #[inline(never)]
    fn entry_again(&self, place: Place, looked_at: Option<LookedAt>) -> Entry {
        let Place { since, kind, arrival, back } = place;
        let entered = |until: Cursor| {
            (0..self.plan.starts.len())
                .take_while(|step| {
                    self.agenda.moment(since, kind, arrival, *step).is_some_and(|at| at <= until)
                })
                .count()
        };
        let came_back = |at| Entry::Back { entered: entered(Cursor::end_of(self.agenda.after(at))), at };
        let Some(looked_at) = looked_at else { return back.map_or(Entry::New, came_back) };
        let LookedAt { mut until, anew, .. } = looked_at;
        let again = self.agenda.after(anew);
        if let Some(merged) = looked_at.round() {
            let over = Cursor::end_of(merged.at);
            if (Cursor { at: merged.at, kind, arrival }) > until && self.fell_behind(place, anew, merged) {
                return Entry::Merged { entered: entered(over), at: merged.at };
            }
            until = over;
        }
        if self.comes(since) <= anew && (Cursor { at: again, kind, arrival }) > until {
            return Entry::Anew { entered: entered(Cursor::end_of(again)) };
        }
        match back {
            Some(at) if (Cursor { at: self.agenda.after(at), kind, arrival }) > until => came_back(at),
            Some(_) | None => Entry::Waits { entered: entered(until) },
        }
    }

    /// Whether a ticket was to be looked at at one of some moments.
    fn fell_behind(&self, place: Place, anew: Timestamp, merged: Merged) -> bool {
        let Place { since, kind, arrival, back } = place;
        let is_one = |at: Timestamp| at <= merged.at && Cursor { at, kind, arrival } >= merged.first;
        let back = back.map(|at| self.agenda.after(at));
        if back.is_some_and(|at| at > merged.at) {
            return false;
        }
        let steps = 0..self.plan.starts.len();
        let mut steps = steps.map_while(|step| self.agenda.moment(since, kind, arrival, step));
        back.is_some_and(is_one)
            || (self.comes(since) <= anew && is_one(self.agenda.after(anew)))
            || steps.any(|cursor| is_one(cursor.at))
    }

    /// What is due by a moment, and could not be looked at in time, is looked at then, once a ticket.
    pub fn merge(&mut self, at: Timestamp) {
        self.agenda.merge(&self.slab, at);
    }

    /// Makes rows wide enough for the values and regions that are known.
    #[inline]
    fn widen(&mut self) {
        let known = self.values.iter().fold(self.regions.span(), |all, values| all + values.span());
        if known > self.known {
            self.known = known;
            self.widen_for_all();
        }
    }

    #[inline(never)]
    fn widen_for_all(&mut self) {
        let regions = self.regions.span().min(REGIONS_MAX);
        if !self.slab.layout().holds(self.values.iter().map(Interner::span), regions) {
            let values: Vec<usize> = self.values.iter().map(Interner::span).collect();
            self.slab.widen(Layout::new(&self.plan, &values, regions));
        }
    }

    /// From when on a ticket can be met that waits since a moment.
    fn comes(&self, since: u64) -> Timestamp {
        self.agenda.after(Timestamp::from_unix_ms(since))
    }

    /// Whether somebody can be met by now. Its moment is not asked for: it is read for this alone, and lies far from its row.
    const fn has_come(&self, row: Ref<'_>) -> bool {
        row.arrival() <= self.come_until
    }

    /// Lets a ticket go.
    pub fn remove(&mut self, handle: Handle) {
        self.pool.let_in(&self.plan, &mut self.slab);
        let row = self.slab.get(handle);
        let is_away = !self.away.is_empty() && was_away(&mut self.away, handle);
        debug_assert_eq!(
            self.has_come(row),
            self.comes(row.since()) <= self.come,
            "they come in the order of arrival"
        );
        if !is_away && self.has_come(row) {
            self.pool.remove(&self.plan, &self.slab, row, self.searcher.spots.of(handle));
        }
        self.agenda.remove(&self.slab, (handle, row));
        for (rule, known) in self.texts.iter_mut().enumerate() {
            if let Ok(id) = u32::try_from(row.text(rule)) {
                known.release(id);
            }
        }
        for (rule, known) in self.values.iter_mut().enumerate() {
            known.release_list(row.set(rule));
        }
        self.regions.release_all(row.measured());
        self.games.remove(handle);
        self.apart.remove(handle);
        self.slab.remove(handle);
    }

    /// When a ticket has next to be looked at.
    pub fn next(&self) -> Option<Cursor> {
        self.agenda.next()
    }

    /// Looks at the next ticket whose moment has come until now. One that has nobody to match with is done with until its
    /// next moment; one that has stays due until its match is formed, or something else happens first.
    pub fn look(&mut self, until: Timestamp) -> Look {
        let Some(due) = self.agenda.due(&self.slab, until) else { return Look::Nothing };
        let Due { cursor, handle, .. } = due;
        self.agenda.following().take(FOLLOWING).for_each(|next| self.slab.fetch(next));
        self.enter_steps(cursor.at);
        self.pool.let_in(&self.plan, &mut self.slab);
        if self.plan.is_batched()
            && let Some(look) = self.look_at_batch(cursor)
        {
            return look;
        }
        let field = Field {
            plan: &self.plan,
            slab: &self.slab,
            pool: &self.pool,
            games: &self.games,
            apart: &self.apart,
            names: Names { regions: &self.regions, values: self.values.first() },
        };
        match self.searcher.search(field, handle) {
            None => {
                self.agenda.settle(&self.slab, due);
                Look::Nobody(cursor)
            }
            Some(found) => Look::Match(cursor, found),
        }
    }

    /// All who come or enter a step at a moment do so before any of them is looked at: a limit may tighten, too.
    fn enter_steps(&mut self, at: Timestamp) {
        if self.entered.replace(at) == Some(at) {
            return;
        }
        let before = self.come;
        self.come = before.max(at);
        // Those who have come already, and wait for their first look, are in their first step.
        let first = usize::from(before >= at);
        let comes = |(handle, _): &(Handle, u16)| {
            self.away.contains(handle) || self.comes(self.slab.get(*handle).since()) > before
        };
        let (coming, entering): (Vec<_>, Vec<_>) =
            self.agenda.entering(&self.slab, at, first).into_iter().partition(comes);
        for (handle, step) in coming {
            self.away.remove(&handle);
            self.come_until = self.come_until.max(self.slab.get(handle).arrival());
            // Whoever is gathered may have passed some before it is met.
            if step > 0 {
                self.slab.set_step(handle, step, self.plan.row(step));
            }
            self.pool.insert(&self.plan, &self.slab, handle);
        }
        let (mut moving, mut steps) = (Vec::new(), Vec::new());
        for (handle, step) in entering {
            let row = self.slab.get(handle);
            let (before, stands) = (row.regions(), self.plan.stands(row, row.shape().step));
            if self.plan.stands(row, step) != stands {
                moving.push(handle);
                steps.push(step);
                continue;
            }
            self.slab.set_step(handle, step, self.plan.row(step));
            // Nobody looks for the regions of those who meet their equals alone.
            if stands != Stand::Exact && self.slab.get(handle).regions() != before {
                self.pool.set_marks(&self.plan, &mut self.slab, handle);
            }
        }
        if !moving.is_empty() {
            self.move_all(&moving, &steps);
        }
    }

    /// Those enter steps in which they may be met by others than before.
    #[inline(never)]
    fn move_all(&mut self, moving: &[Handle], steps: &[u16]) {
        self.pool.let_in(&self.plan, &mut self.slab);
        self.pool.remove_all(&self.plan, &self.slab, moving);
        for (handle, step) in moving.iter().zip(steps) {
            self.slab.set_step(*handle, *step, self.plan.row(*step));
            self.pool.insert(&self.plan, &self.slab, *handle);
        }
    }

    /// Since when the ticket waits that has longest. Looks at all of them.
    pub fn eldest(&self) -> Option<Timestamp> {
        self.slab.eldest().map(Timestamp::from_unix_ms)
    }

    /// What the last search took besides walking once through who is near, in candidates looked at: 3 ns each.
    pub const fn effort(&self) -> u32 {
        self.searcher.effort()
    }

    /// Searches that ended for want of looks, since the engine was built.
    pub const fn exhausted(&self) -> u64 {
        self.searcher.exhausted
    }

    /// By rule, in the queue's order, how often it let pass, and how often it was the first to refuse, since the engine was built.
    pub fn judged(&self) -> Vec<(u64, u64)> {
        self.searcher.judged().told(&self.plan)
    }

    /// The name of a region.
    pub fn region(&self, id: u32) -> Option<&Arc<str>> {
        self.regions.text(id)
    }

    /// Bytes it holds: rows, indices and the agenda.
    pub fn bytes(&self) -> usize {
        self.slab.bytes() + self.pool.bytes() + self.agenda.bytes()
    }
}

#[cold]
#[inline(never)]
fn was_away(away: &mut BTreeSet<Handle>, ticket: Handle) -> bool {
    away.remove(&ticket)
}

/// Numbers a ticket's regions, and holds them; puts its latencies into the order of their numbers. Says which are within a limit: all that
/// there could ever be, where there is none.
#[inline]
fn number_regions(
    known: &mut Interner,
    facts: &Facts,
    limit: Option<u16>,
    latencies: &mut [u16; REGIONS_MAX],
) -> u64 {
    let measurable = |latency: u32| latency.min(u32::from(UNMEASURED) - 1) as u16;
    let allowed = limit.unwrap_or(UNMEASURED);
    let (mut in_turn, mut within) = (0, 0_u64);
    for (latency, own) in latencies.iter_mut().zip(known.in_turn(&facts.latencies)) {
        *latency = measurable(*own);
        within |= u64::from(*latency <= allowed) << (in_turn % REGIONS_MAX);
        in_turn += 1;
    }
    let mut measured = below(in_turn);
    for (region, own) in &facts.latencies[in_turn..] {
        let region = known.number(region);
        // Whoever inserts it has asked whether there is room.
        if let Some(latency) = latencies.get_mut(region as usize) {
            *latency = measurable(*own);
            measured |= 1 << region;
            let is_within = u64::from(*latency <= allowed) << region;
            within = within & !(1 << region) | is_within;
        }
    }
    known.hold_all(measured);
    if limit.is_some() { within } else { u64::MAX }
}
