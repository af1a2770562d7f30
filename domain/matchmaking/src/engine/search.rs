//! One search: the match around a ticket, if there is one now.
//!
//! As published (*How matchmaking works*): candidates ranked by their summed distance to the seed, added greedily while every
//! rule allows it, the whole group checked at the end, and other groupings tried before the seed is given up. Three things
//! bound the work. Candidates come from a walk outwards from the seed's primary number, so whoever is out of reach is never
//! met. Only the nearest [`NEAREST_MIN`] or more are ranked by all rules; those further away follow in the order of the walk. And
//! the trying of other groupings ends after [`TRIES_MAX`] of them.

use alloc::vec::Vec;

use super::block::{Filter, fold};
use super::games::Games;
use super::group::Group;
use super::interner::Interner;
use super::plan::{FREE, Plan, Similarity};
use super::pool::{Part, Pool, primary};
use super::rank::distance;
use super::slab::{Handle, Kind, Slab, WILD};
use super::teams::{Demand, Seats};
use super::walk::Walk;

/// The fewest candidates that are ranked by all rules; twice as many as a match holds where that is more.
const NEAREST_MIN: usize = 32;
/// The most backfill tickets an ordinary ticket is offered to in one search: the nearest, the eldest of them first.
const BACKFILLS_MAX: usize = 64;
/// The most candidates tried in other groupings after the greedy one; at some 50 ns each a search ends within 0.1 ms. A match that
/// is overlooked for it is found at the next boundary of one of its tickets, if not before.
const TRIES_MAX: u32 = 2_000;
/// The most tickets a number is borrowed from by a ticket without one.
const PIVOTS_MAX: usize = 8;

/// A match, in handles.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Found {
    /// The ticket it was formed around.
    pub seed: Handle,
    /// Its tickets, the eldest first, with the team of each; the backfill ticket is none of them.
    pub tickets: Vec<(Handle, Option<u8>)>,
    /// The backfill ticket, with the team of each of its players who had none, in their order.
    pub backfill: Option<(Handle, Vec<u8>)>,
    /// The regions, best first.
    pub regions: Vec<u32>,
}

/// What a search reads.
#[derive(Debug, Clone, Copy)]
pub(super) struct Field<'a> {
    pub plan: &'a Plan,
    pub slab: &'a Slab,
    pub pool: &'a Pool,
    pub games: &'a Games,
    /// The names of regions.
    pub names: &'a Interner,
}

/// What a search writes into. Kept between searches, so that they allocate next to nothing.
#[derive(Debug, Clone, Default)]
pub(super) struct Searcher {
    group: Group,
    seats: Seats,
    near: Vec<Near>,
    /// Players of the candidates from each on.
    left: Vec<u32>,
    games: Vec<(u64, Handle)>,
    units: Vec<u8>,
    unit_sums: Vec<i64>,
    tries: u32,
    /// Searches that ended for want of tries.
    pub exhausted: u64,
}

#[derive(Debug, Clone, Copy)]
struct Near {
    distance: f64,
    arrival: u64,
    handle: Handle,
    players: u8,
}

impl Searcher {
    /// The match around a ticket.
    pub(super) fn search(&mut self, field: Field<'_>, anchor: Handle) -> Option<Found> {
        let row = field.slab.get(anchor);
        let part = field.pool.part(field.plan, row)?;
        self.tries = TRIES_MAX;
        if !self.begin(field, &[anchor]) {
            return None;
        }
        let found = match row.shape().kind {
            Kind::Backfill => field.pool.parts_for(field.plan, row).into_iter().find_map(|part| {
                if self.begin(field, &[anchor]) { self.fill(field, part, anchor) } else { None }
            }),
            Kind::Ordinary => self.join_game(field, part, anchor).or_else(|| {
                if !part.is_promising(field.plan, row) || !self.begin(field, &[anchor]) {
                    return None;
                }
                if primary(field.plan, row) == WILD {
                    self.fill_by_pivots(field, part, anchor)
                } else {
                    self.fill(field, part, anchor)
                }
            }),
        };
        if found.is_none() && self.tries == 0 {
            self.exhausted += 1;
        }
        found.map(|found| Found { seed: anchor, ..found })
    }

    /// A group of these tickets alone; says whether the rules allow it.
    fn begin(&mut self, field: Field<'_>, tickets: &[Handle]) -> bool {
        self.group.reset(field.plan, field.slab.layout());
        tickets.iter().all(|ticket| self.add(field, *ticket))
    }

    fn add(&mut self, field: Field<'_>, ticket: Handle) -> bool {
        if !self.group.push(field.plan, ticket, field.slab.get(ticket)) {
            return false;
        }
        let fits = field.plan.teams.is_empty()
            || (self.group.is_of_singles() && !self.group.has_backfill())
            || self.on_teams(field, |seats, demand| seats.have_room(demand));
        if !fits {
            self.group.pop();
        }
        fits
    }

    /// "Backfill tickets are given priority during searching": an ordinary ticket first looks for a game that goes on.
    fn join_game(&mut self, field: Field<'_>, part: &Part, anchor: Handle) -> Option<Found> {
        let (from, reach) = self.around(field, anchor);
        let mut games = core::mem::take(&mut self.games);
        games.clear();
        for index in field.pool.games_for(field.plan, part) {
            for met in Walk::new(index, from, reach, self.filter(field)) {
                if self.group.push(field.plan, met.handle, field.slab.get(met.handle)) {
                    self.group.pop();
                    games.push((met.arrival, met.handle));
                    if games.len() == BACKFILLS_MAX {
                        break;
                    }
                }
            }
        }
        games.sort_unstable();
        let found = games.iter().find_map(|(_, game)| {
            if self.begin(field, &[*game, anchor]) { self.fill(field, part, *game) } else { None }
        });
        self.games = games;
        found
    }

    /// A ticket that fits any number has none to walk from: it borrows those of the first it meets.
    fn fill_by_pivots(&mut self, field: Field<'_>, part: &Part, anchor: Handle) -> Option<Found> {
        let (from, reach) = self.around(field, anchor);
        let mut pivots: Vec<Handle> = Vec::new();
        for met in
            Walk::new(&part.ordinary, from, reach, self.filter(field)).filter(|met| met.handle != anchor)
        {
            if self.add(field, met.handle) {
                self.group.pop();
                pivots.push(met.handle);
                if pivots.len() == PIVOTS_MAX {
                    break;
                }
            }
        }
        pivots.into_iter().find_map(|pivot| {
            if self.begin(field, &[anchor, pivot]) { self.fill(field, part, pivot) } else { None }
        })
    }

    /// Where a walk around a ticket begins, and how far it goes.
    fn around(&self, field: Field<'_>, seed: Handle) -> (i64, i64) {
        let row = field.slab.get(seed);
        let limits = field.plan.row(row.shape().step);
        (primary(field.plan, row), field.plan.primary.map_or(FREE, |rule| limits.numbers[rule].allowed))
    }

    /// What the group as it is asks of any candidate.
    fn filter(&self, field: Field<'_>) -> Filter {
        let (set, any_set) = match self.group.first_set(field.slab.layout()) {
            Some((shared, need)) if need > 0 => (fold(shared), 0),
            Some(_) | None => (u32::MAX, u32::MAX),
        };
        let totals = field.plan.totals.iter().enumerate();
        Filter {
            room: self.group.room() - self.group.players(),
            regions: fold(&[self.group.regions()]),
            set,
            any_set,
            totals: totals.map(|(rule, it)| it.max_ever - self.group.total(rule)).collect(),
        }
    }

    /// Fills the group up around a seed that is in it.
    fn fill(&mut self, field: Field<'_>, part: &Part, seed: Handle) -> Option<Found> {
        let base = self.group.members().len();
        let (from, reach) = self.around(field, seed);
        let filter = self.filter(field);
        let mut near = core::mem::take(&mut self.near);
        near.clear();
        let mut walk = Walk::new(&part.ordinary, from, reach, filter.clone());
        // Where the walk's own order is the ranking there is nothing to gather for it.
        if !field.plan.is_ranked_by_walk() {
            self.gather(field, seed, &mut walk, &mut near);
        }
        let mut found = self.fill_greedily(field, &near, &mut walk);
        if found.is_none() {
            while self.group.members().len() > base {
                self.group.pop();
            }
            if near.is_empty() && field.plan.is_ranked_by_walk() {
                self.gather(field, seed, &mut Walk::new(&part.ordinary, from, reach, filter), &mut near);
            }
            if self.could_be_filled(field, &near) {
                self.left.clear();
                self.left.resize(near.len() + 1, 0);
                for at in (0..near.len()).rev() {
                    self.left[at] = self.left[at + 1] + u32::from(near[at].players);
                }
                found = self.fill_otherwise(field, &near, 0);
            }
        }
        self.near = near;
        found
    }

    /// The nearest that fit the group as it is, ranked by all rules.
    fn gather(&mut self, field: Field<'_>, seed: Handle, walk: &mut Walk<'_>, near: &mut Vec<Near>) {
        let nearest = NEAREST_MIN.max(usize::from(field.plan.max) * 2);
        for met in walk {
            let row = field.slab.get(met.handle);
            if self.group.members().contains(&met.handle) || !self.group.push(field.plan, met.handle, row) {
                continue;
            }
            self.group.pop();
            let distance = distance(field.plan, field.slab.get(seed), row);
            near.push(Near {
                distance,
                arrival: met.arrival,
                handle: met.handle,
                players: row.shape().players,
            });
            if near.len() == nearest {
                break;
            }
        }
        near.sort_unstable_by(|a, b| a.distance.total_cmp(&b.distance).then(a.arrival.cmp(&b.arrival)));
    }

    /// Whether there are players enough for some common region and, where the first list restricts, some common value: each by
    /// itself, which is cheap and spares most searches that cannot succeed.
    fn could_be_filled(&self, field: Field<'_>, near: &[Near]) -> bool {
        let wanted = u32::from(field.plan.min).saturating_sub(self.group.players().into());
        let enough = |fits: &dyn Fn(Handle) -> bool| {
            let fitting = near.iter().filter(|it| fits(it.handle));
            fitting.map(|it| u32::from(it.players)).sum::<u32>() >= wanted
        };
        let regions = self.group.regions();
        let some_region = regions == u64::MAX
            || (0..64)
                .filter(|region| regions >> region & 1 == 1)
                .any(|region| enough(&|ticket| field.slab.get(ticket).regions() >> region & 1 == 1));
        let some_value = match self.group.first_set(field.slab.layout()) {
            Some((shared, need)) if need > 0 => shared.iter().enumerate().any(|(word, bits)| {
                let mut bits = *bits;
                let mut found = false;
                while bits != 0 && !found {
                    let bit = bits & bits.wrapping_neg();
                    bits ^= bit;
                    found = enough(&|ticket| {
                        let row = field.slab.get(ticket);
                        row.any_set(0) || row.set(0)[word] & bit != 0
                    });
                }
                found
            }),
            Some(_) | None => true,
        };
        some_region && some_value
    }

    fn fill_greedily(&mut self, field: Field<'_>, near: &[Near], walk: &mut Walk<'_>) -> Option<Found> {
        for candidate in near {
            if self.group.players() == self.group.room() {
                break;
            }
            self.add(field, candidate.handle);
        }
        if self.group.players() < self.group.room() {
            walk.narrow(self.filter(field));
            while let Some(met) = walk.next() {
                if !self.group.members().contains(&met.handle) && self.add(field, met.handle) {
                    if self.group.players() == self.group.room() {
                        break;
                    }
                    walk.narrow(self.filter(field));
                }
            }
        }
        self.complete(field)
    }

    /// "If no valid group can be formed, the service removes the last-added ticket and tries the next candidate."
    fn fill_otherwise(&mut self, field: Field<'_>, near: &[Near], from: usize) -> Option<Found> {
        let players = u32::from(self.group.players());
        if players + self.left[from] < u32::from(field.plan.min) {
            return None;
        }
        for at in from..near.len() {
            if self.group.players() == self.group.room() {
                break;
            }
            let tries = self.tries.checked_sub(1)?;
            self.tries = tries;
            if !self.add(field, near[at].handle) {
                continue;
            }
            if let Some(found) = self.fill_otherwise(field, near, at + 1) {
                return Some(found);
            }
            self.group.pop();
        }
        self.complete(field)
    }

    /// The group as a match, if every rule of whole matches allows it. "it won't return a match found until it matches at
    /// least one other ticket".
    fn complete(&mut self, field: Field<'_>) -> Option<Found> {
        let plan = field.plan;
        let tickets = self.group.members().len();
        if tickets < 2 || self.group.players() < plan.min || !self.group.totals_hold(plan) {
            return None;
        }
        let mut seats: Vec<u8> = Vec::new();
        if !plan.teams.is_empty()
            && !self.on_teams(field, |teams, demand| {
                teams.seat(demand).map(|found| seats.extend_from_slice(found)).is_some()
            })
        {
            return None;
        }
        let mut seats = seats.into_iter();
        let mut found = Found { regions: self.regions(field), ..Found::default() };
        for handle in self.group.members() {
            match field.slab.get(*handle).shape().kind {
                Kind::Backfill => {
                    let loose = field.games.game(Some(*handle)).loose.len();
                    found.backfill = Some((*handle, seats.by_ref().take(loose).collect()));
                }
                Kind::Ordinary => found.tickets.push((*handle, seats.next())),
            }
        }
        found.tickets.sort_by_key(|(handle, _)| field.slab.get(*handle).arrival());
        Some(found)
    }

    /// Hands the teams' question to whoever answers it.
    fn on_teams(&mut self, field: Field<'_>, ask: impl FnOnce(&mut Seats, &Demand<'_>) -> bool) -> bool {
        let plan = field.plan;
        self.units.clear();
        self.unit_sums.clear();
        let mut game = None;
        for handle in self.group.members() {
            let row = field.slab.get(*handle);
            match row.shape().kind {
                Kind::Backfill => {
                    game = Some(*handle);
                    for sums in &field.games.game(Some(*handle)).loose {
                        self.units.push(1);
                        self.unit_sums.extend_from_slice(sums);
                    }
                }
                Kind::Ordinary => {
                    self.units.push(row.shape().players);
                    self.unit_sums.extend((0..plan.team_numbers).map(|rule| row.team_sum(rule)));
                }
            }
        }
        let game = field.games.game(game);
        let row = plan.row(self.group.eldest_step());
        // "the Ticket Size Similarity Rule is ignored when matching backfill tickets."
        let similarity = if self.group.has_backfill() { Similarity::Any } else { row.similarity };
        let demand = Demand {
            teams: &plan.teams,
            row,
            similarity,
            seated: &game.seated,
            seated_sums: &game.seated_sums,
            units: &self.units,
            unit_sums: &self.unit_sums,
            numbers: plan.team_numbers,
        };
        ask(&mut self.seats, &demand)
    }

    /// The common regions: the one with the least worst latency first, among equals the one with the least sum, then by name.
    fn regions(&self, field: Field<'_>) -> Vec<u32> {
        if field.plan.region.is_none() {
            return Vec::new();
        }
        let common = self.group.regions();
        let rows: Vec<_> = self.group.members().iter().map(|handle| field.slab.get(*handle)).collect();
        let judged = |region: u32| {
            let latencies = rows.iter().map(|row| row.latency(region as usize));
            let worst = latencies.clone().max().unwrap_or(super::slab::UNMEASURED);
            (worst, latencies.map(u32::from).sum::<u32>())
        };
        let measured =
            |region: &u32| rows.iter().any(|row| row.latency(*region as usize) != super::slab::UNMEASURED);
        let mut regions: Vec<u32> =
            (0..64).filter(|region| common >> region & 1 == 1).filter(measured).collect();
        regions.sort_by_key(|region| (judged(*region), field.names.text(*region)));
        regions
    }
}
