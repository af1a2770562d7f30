//! Filling a group around a seed.
//!
//! As published (*How matchmaking works*): candidates ranked by their summed distance to the seed, added greedily while every
//! rule allows it, the whole group checked at the end, and other groupings tried before the seed is given up. What bounds the
//! work:
//!
//! - Candidates come from a walk outwards from the seed's primary number, so whoever is out of reach is never met. Only the
//!   nearest, [`NEAREST_MIN`] players or more, are ranked by all rules; those further away follow in the order of the walk.
//! - A group is tried only in a [lane](super::lanes) with players enough, the first in which there are. A group in which the first
//!   candidates left nothing to share is so never begun, and a seed without a match is known by counting.
//! - Other groupings are tried only in such lanes, only where enough of their players are near enough to each other, and no
//!   more than [`LOOKS_MAX`] looks at them.

use alloc::vec::Vec;
use core::ops::Range;

use super::card::Card;
use super::group::Likeness;
use super::lanes::{Candidate, Larges, Parties, bits, members};
use super::plan::Similarity;
use super::pool::{Part, primary};
use super::rank::Rank;
use super::search::{Field, Found, Searcher};
use super::slab::{Handle, Ref};
use super::walk::{Met, Walk};

/// Candidates are ranked by all rules who have so many players at least, together; twice as many as a match holds where that is more.
const NEAREST_MIN: u32 = 16;
/// The most candidates that are kept. Where so many do not do, the fullest lane is filled further away, by whoever still fits.
pub(super) const NEAR_MAX: usize = 128;
/// The most candidates looked at in other groupings after the greedy one: at some 3 ns each a search ends within 0.1 ms, in a lane of a few
/// and in one of a hundred. A match that is overlooked for it is found at the next boundary of one of its tickets, if not before.
pub(super) const LOOKS_MAX: u32 = 32_000;

/// Who fits the group as it was begun.
#[derive(Debug, Clone, Default)]
pub(super) struct Near {
    /// As they were met.
    cards: Vec<Card>,
    /// In the order in which they are tried.
    pub candidates: Vec<Candidate>,
}

impl Near {
    fn clear(&mut self) {
        self.cards.clear();
        self.candidates.clear();
    }

    pub(super) const fn len(&self) -> usize {
        self.candidates.len()
    }

    /// Keeps somebody, in these lanes.
    pub(super) fn keep(&mut self, card: Card, lanes: u64) {
        // No more are kept than a byte can tell.
        let at = self.cards.len() as u16;
        self.candidates.push(Candidate { lanes, card: at, players: card.players });
        self.cards.push(card);
    }

    pub(super) fn card(&self, candidate: &Candidate) -> &Card {
        &self.cards[usize::from(candidate.card)]
    }

    /// Those of some who are in a lane, each with its place.
    pub(super) fn of_lane(
        &self,
        some: Range<usize>,
        lane: u32,
    ) -> impl Iterator<Item = (u16, &Card)> + Clone {
        let from = some.start;
        let here = members(lane, &self.candidates[some]);
        here.map(move |at| ((from + at) as u16, self.card(&self.candidates[from + at])))
    }
}

impl Searcher {
    /// Fills the group up around a seed that is in it.
    #[inline(always)]
    pub(super) fn fill(&mut self, field: Field<'_>, part: &Part, seed: Handle) -> Option<Found> {
        match self.group.room() - self.group.players() {
            0 => return self.complete(field),
            1 if field.plan.is_ranked_by_walk => return self.fill_last(field, part, seed),
            _ => {}
        }
        let mut near = core::mem::take(&mut self.near);
        near.clear();
        self.fillings.clear();
        let found = self.fill_from(field, part, seed, &mut near);
        self.near = near;
        found
    }

    fn fill_from(&mut self, field: Field<'_>, part: &Part, anchor: Handle, near: &mut Near) -> Option<Found> {
        let plan = field.plan;
        let seed = field.slab.get(anchor);
        let base = self.group.members().len();
        let wanted = self.group.room() - self.group.players();
        let window = self.group.window();
        let room = self.group.room_left(plan);
        let filter = self.filter(field, part.room_to_ask(room));
        let least = plan.min.saturating_sub(self.group.players());
        // Nobody tends to come after nobody: then counting comes first, where there is anything to count.
        let is_doubtful =
            self.nobody_lately > 0 && window.0 < window.1 && !part.has_exact_for(primary(plan, seed));
        if is_doubtful {
            self.begin_lanes(field, seed, wanted);
            if !self.could_find(field, part, (&filter, room)) {
                return self.complete(field);
            }
        }
        let mut walk = Walk::new(&part.open, primary(plan, seed), window, filter);
        walk.through(&part.exact);
        let nearest = NEAREST_MIN.max(u32::from(plan.max) * 2);
        let first = if plan.is_ranked_by_walk { wanted.into() } else { nearest };
        self.met.clear();
        self.go_ahead(field, &mut walk, near, first);
        // What else has to be made ready is, while the memory looks for the rows of those who were met.
        if !is_doubtful {
            self.begin_lanes(field, seed, wanted);
        }
        let likeness = self.group.likeness(plan).filter(|_| field.apart.is_empty());
        if !plan.is_ranked_by_walk {
            self.meet(field, &mut walk, near, (nearest, likeness));
            // Some are met beyond those, as many as were met at a time: whoever does not fit is no reason to rank others.
            let mut players = 0;
            let enough = near.candidates.iter().take_while(|it| {
                let before = players;
                players += u32::from(it.players);
                before < nearest
            });
            let enough = enough.count();
            self.rank(field, (anchor, seed), near, enough);
        }
        let mut at = 0;
        loop {
            if at == near.len() {
                // At first as many as fill a lane at least, and then a few at a time: most lanes are full soon after.
                let players = if at == 0 { wanted } else { (wanted / 2).max(1) };
                self.meet(field, &mut walk, near, (players.into(), likeness));
            }
            let Some(candidate) = near.candidates.get(at) else { break };
            let due = self.lanes.count(candidate.lanes, candidate.players);
            at += 1;
            for lane in bits(due) {
                if !self.lanes.adds_up(lane, &near.candidates[..at]) {
                    continue;
                }
                if !self.offer(field, near, at, lane) {
                    self.lanes.put_off(lane);
                    continue;
                }
                self.take_lane(field, near, at, lane);
                let is_full = self.group.players() == self.group.room();
                if is_full && let Some(found) = self.complete(field) {
                    return Some(found);
                }
                self.group.shrink(base);
                if is_full { self.lanes.give_up(lane) } else { self.lanes.put_off(lane) }
            }
        }
        if near.len() < NEAR_MAX && self.lanes.fullest(least, &near.candidates).next().is_none() {
            return self.complete(field);
        }
        if near.len() == NEAR_MAX
            && let Some(fullest) = self.lanes.fullest(0, &near.candidates).next()
        {
            self.offer(field, near, near.len(), fullest);
            self.take_lane(field, near, near.len(), fullest);
            self.fill_further(field, &mut walk);
            if let Some(found) = self.complete(field) {
                return Some(found);
            }
            self.group.shrink(base);
        }
        self.fill_otherwise(field, near)
    }

    /// The lanes of the group as it is, to be filled with so many players.
    fn begin_lanes(&mut self, field: Field<'_>, seed: Ref<'_>, wanted: u8) {
        let plan = field.plan;
        let missing = plan.teams.len().saturating_sub(self.group.larges());
        let larges = Larges { from: plan.large_from, missing };
        let parties = match (self.similarity(field), self.group.larges()) {
            (Similarity::Any, _) => Parties::Any,
            (Similarity::Alike, 0) => Parties::NoneOrEach(larges),
            (Similarity::Alike, _) => Parties::Each(larges),
        };
        self.lanes.begin(field.slab.layout(), &self.group, seed, (wanted, parties), field.names);
    }

    /// One player is missing, and nearness by number is all that counts: the nearest who completes the match does.
    #[inline(never)]
    fn fill_last(&mut self, field: Field<'_>, part: &Part, seed: Handle) -> Option<Found> {
        let from = primary(field.plan, field.slab.get(seed));
        let filter = self.filter(field, part.room_to_ask(self.group.room_left(field.plan)));
        let base = self.group.members().len();
        let mut tried = 0;
        let mut walk = Walk::new(&part.open, from, self.group.window(), filter);
        walk.through(&part.exact);
        for met in walk.by_ref() {
            self.spots.keep(met.handle, met.spot);
            let card = Card::of(field.plan, met.handle, field.slab.get(met.handle));
            if !self.group.has(met.handle) && self.add(field, &card) {
                if let Some(found) = self.complete(field) {
                    return Some(found);
                }
                self.group.shrink(base);
                tried += 1;
                if tried == NEAR_MAX {
                    break;
                }
            }
        }
        self.complete(field)
    }

    /// Puts the first so many in the order of their summed distance to a seed, and of arrival among equals.
    #[inline(never)]
    fn rank(&mut self, field: Field<'_>, (anchor, seed): (Handle, Ref<'_>), near: &mut Near, first: usize) {
        let rank = Rank::new(field.plan, &Card::of(field.plan, anchor, seed), seed, &mut self.slacks);
        let Near { cards, candidates } = near;
        let candidates = &mut candidates[..first];
        let card = |it: &Candidate| &cards[usize::from(it.card)];
        self.order.clear();
        self.order.extend(candidates.iter().map(card).map(|it| rank.distance(it, field.slab.get(it.handle))));
        self.unranked.clear();
        self.unranked.extend_from_slice(candidates);
        // Of so few it costs less to count who is nearer than to guess at each step of a sort.
        let mut taken = [false; NEAR_MAX];
        for (candidate, own) in self.unranked.iter().zip(&self.order) {
            let nearer: u64 = self.order.iter().map(|other| u64::from(other < own)).sum();
            let (mut place, mut candidate) = (usize::try_from(nearer).unwrap_or(usize::MAX), *candidate);
            // Who is as near stands there already: the elder comes first.
            while core::mem::replace(&mut taken[place % NEAR_MAX], true) {
                if card(&candidate).arrival < card(&candidates[place]).arrival {
                    core::mem::swap(&mut candidate, &mut candidates[place]);
                }
                place += 1;
            }
            candidates[place] = candidate;
        }
    }

    /// Puts down the next who fit the group as it is, until they have so many players, or there are none, or they are as many as are
    /// kept.
    fn meet(
        &mut self,
        field: Field<'_>,
        walk: &mut Walk<'_>,
        near: &mut Near,
        (players, likeness): (u32, Option<Likeness>),
    ) {
        let mut missing = players;
        while missing > 0 && near.len() < NEAR_MAX {
            if self.met.is_empty() {
                self.go_ahead(field, walk, near, missing);
            }
            if self.met.is_empty() {
                return;
            }
            for at in 0..self.met.len() {
                let handle = self.met[at];
                if self.group.has(handle) {
                    continue;
                }
                let row = field.slab.get(handle);
                let card = Card::of(field.plan, handle, row);
                let is_alike = likeness.is_some_and(|it| it.lets_in(&card));
                if is_alike {
                    self.group.let_in();
                }
                if is_alike || self.fits(field, &card) {
                    missing = missing.saturating_sub(card.players.into());
                    near.keep(card, self.lanes.of(row, &card));
                }
            }
            self.met.clear();
        }
    }

    /// Walks on to as many tickets as may have so many players together. All are asked of the memory before any is judged: so it answers for
    /// many at a time.
    fn go_ahead(&mut self, field: Field<'_>, walk: &mut Walk<'_>, near: &Near, players: u32) {
        let many = (players as usize).div_ceil(2).min(NEAR_MAX - near.len());
        walk.meet(field.slab, many, &mut self.met, &mut self.spots);
    }

    /// Adds whoever fits on the rest of the way.
    #[cold]
    #[inline(never)]
    fn fill_further(&mut self, field: Field<'_>, walk: &mut Walk<'_>) {
        while self.group.players() < self.group.room() {
            let room = self.group.room_left(field.plan);
            walk.narrow(self.filter(field, room), self.group.window());
            let joins = |met: &Met| {
                let card = || Card::of(field.plan, met.handle, field.slab.get(met.handle));
                !self.group.has(met.handle) && self.add(field, &card())
            };
            if walk.find(joins).is_none() {
                return;
            }
        }
    }
}
