//! One search: the match around a ticket, if there is one now.
//!
//! An ordinary ticket first looks for a game that goes on, and then for others like itself; a game looks for tickets. Either way a
//! group is begun, and [filled](Searcher::fill) around one of its tickets.

use alloc::vec::Vec;
use core::hint::cold_path;

use super::apart::Apart;
use super::block::{Filter, Texts};
use super::card::Card;
use super::descent::Steps;
use super::fill::{LOOKS_MAX, Near};
use super::filling::Fillings;
use super::games::Games;
use super::gather::{Running, Stander};
use super::group::Group;
use super::judged::Judged;
use super::lanes::{Candidate, Lanes, Names};
use super::plan::{Plan, Similarity};
use super::pool::{Part, Pool, primary};
use super::rank::Slack;
use super::slab::{Handle, Kind, Slab, WILD};
use super::spot::Spots;
use super::teams::{Demand, Seats};
use super::walk::Walk;

/// The most backfill tickets an ordinary ticket is offered to in one search: the nearest, the eldest of them first.
const BACKFILLS_MAX: usize = 64;
/// For how many searches it is remembered that one found nobody: the next will not, either, as a rule, and ask before they go.
const REMEMBERED: u8 = 2;
/// The most tickets a number is borrowed from by a ticket without one.
const PIVOTS_MAX: usize = 8;

/// As many looks at a candidate as a step of a seating takes, some 50 ns.
const SEATED: u32 = 16;

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
    pub apart: &'a Apart,
    pub names: Names<'a>,
}

/// What a search writes into. Kept between searches, so that they allocate next to nothing.
#[derive(Debug, Clone, Default)]
pub(super) struct Searcher {
    pub(super) group: Group,
    pub(super) lanes: Lanes,
    pub(super) seats: Seats,
    /// Who could join the group as it was begun.
    pub(super) near: Near,
    /// Whom the walk met, and who were not judged yet.
    pub(super) met: Vec<Handle>,
    /// The same before they are ranked.
    pub(super) unranked: Vec<Candidate>,
    /// Their distances.
    pub(super) order: Vec<f64>,
    /// How much nearer the regions of a seed are than they have to be.
    pub(super) slacks: Vec<Slack>,
    /// Those of one lane.
    pub(super) lane: Vec<Card>,
    /// What the players of its last so many can add up to.
    pub(super) sums: Vec<u128>,
    /// Who may join, as far as numbers and sizes go.
    pub(super) standers: Vec<Stander>,
    /// The same, added up.
    pub(super) running: Running,
    games: Vec<(u64, Handle)>,
    /// Where those stand who were met last.
    pub(super) spots: Spots,
    /// Those of a match, by arrival, with their teams.
    pub(super) seated: Vec<(u64, Handle, Option<u8>)>,
    /// The regions it could be played in: the worst latency, their sum, and which.
    pub(super) common: Vec<(u16, u32, u32)>,
    units: Vec<u8>,
    unit_sums: Vec<i64>,
    /// For how many searches it is remembered that one found nobody.
    pub(super) nobody_lately: u8,
    /// How many candidates may still be looked at in other groupings.
    pub(super) looks: u32,
    /// With how many tickets, and for a ticket of how many players, the group had no room on its teams. Whoever joins it ends that, so as
    /// long as it lasts a group of as many is the same.
    crowded: Option<(usize, u8)>,
    /// How far each lane is filled.
    pub(super) fillings: Fillings,
    /// Searches that ended for want of looks.
    pub exhausted: u64,
}

impl Searcher {
    /// How often which rule was judged.
    pub(super) const fn judged(&self) -> &Judged {
        &self.group.judged
    }

    /// The match around a ticket.
    pub(super) fn search(&mut self, field: Field<'_>, anchor: Handle) -> Option<Found> {
        let row = field.slab.get(anchor);
        let part = field.pool.part(field.plan, row)?;
        self.looks = LOOKS_MAX;
        self.seats.steps = Steps::default();
        if field.plan.asks_equals && field.games.is_empty() && part.is_alone(field.plan, row) {
            return None;
        }
        if !self.begin(field, &[anchor]) {
            return None;
        }
        let mut found = match row.shape().kind {
            Kind::Backfill => self.fill_game(field, anchor),
            Kind::Ordinary if field.games.is_empty() => self.fill_anew(field, part, anchor),
            Kind::Ordinary => self.join_or_fill(field, part, anchor),
        };
        self.nobody_lately = if found.is_none() { REMEMBERED } else { self.nobody_lately.saturating_sub(1) };
        if found.is_none() && self.looks == 0 {
            self.exhausted += 1;
        }
        if let Some(found) = &mut found {
            found.seed = anchor;
        }
        found
    }

    /// A match of players alone, around a ticket that is the group.
    #[inline(always)]
    fn fill_anew(&mut self, field: Field<'_>, part: &Part, anchor: Handle) -> Option<Found> {
        let row = field.slab.get(anchor);
        if !part.is_promising(field.plan, row) {
            None
        } else if primary(field.plan, row) == WILD {
            self.fill_by_pivots(field, part, anchor)
        } else {
            self.fill(field, part, anchor)
        }
    }

    /// The match around a ticket, where games wait.
    #[inline(never)]
    fn join_or_fill(&mut self, field: Field<'_>, part: &Part, anchor: Handle) -> Option<Found> {
        if let Some(found) = self.join_game(field, part, anchor) {
            return Some(found);
        }
        if self.begin(field, &[anchor]) { self.fill_anew(field, part, anchor) } else { None }
    }

    /// What the last search took besides walking once through who is near, in candidates looked at.
    pub(super) const fn effort(&self) -> u32 {
        let seated = self.seats.steps.taken() * SEATED;
        // Without steps to seat others with, it ended with the looks that it had left.
        if self.seats.steps.is_over() { seated } else { seated + LOOKS_MAX - self.looks }
    }

    /// A group of these tickets alone; says whether the rules allow it.
    #[inline(always)]
    pub(super) fn begin(&mut self, field: Field<'_>, tickets: &[Handle]) -> bool {
        self.group.reset(field.plan, field.slab.layout());
        self.crowded = None;
        tickets.iter().all(|ticket| self.add(field, &Card::of(field.plan, *ticket, field.slab.get(*ticket))))
    }

    /// Adds a ticket if the rules allow it and the teams have room for it.
    #[inline(always)]
    pub(super) fn add(&mut self, field: Field<'_>, card: &Card) -> bool {
        let plan = field.plan;
        if !field.apart.allows(card.handle, self.group.members()) || !self.group.push(plan, field.slab, card)
        {
            return false;
        }
        let has_game = self.group.has_backfill();
        let fits = if plan.teams.is_empty() || (self.group.is_of_singles() && !has_game) {
            true
        } else if plan.pair.is_some() {
            card.kind == Kind::Ordinary || self.group.seat(plan, field.games.game(Some(card.handle)))
        } else {
            self.have_room(field, card.players)
        };
        if fits {
            // A group of as many may be another from now on.
            self.crowded = None;
        } else {
            self.group.pop();
        }
        fits
    }

    /// Whether teams have room for all of the group, of whom the last came as so many.
    #[inline(never)]
    fn have_room(&mut self, field: Field<'_>, players: u8) -> bool {
        let before = self.group.members().len() - 1;
        // Where those before had none for one of a size, they have none for a larger one.
        if self.crowded.is_some_and(|(members, size)| members == before && size <= players) {
            return false;
        }
        let have_room = self.on_teams(field, |seats, demand| seats.have_room(demand));
        if !have_room {
            self.crowded = Some((before, players));
        }
        have_room
    }

    /// The match around a game.
    #[inline(never)]
    fn fill_game(&mut self, field: Field<'_>, game: Handle) -> Option<Found> {
        let parts = field.pool.parts_for(field.plan, field.slab.get(game));
        parts
            .into_iter()
            .find_map(|part| if self.begin(field, &[game]) { self.fill(field, part, game) } else { None })
    }

    /// "Backfill tickets are given priority during searching": an ordinary ticket first looks for a game that goes on.
    fn join_game(&mut self, field: Field<'_>, part: &Part, anchor: Handle) -> Option<Found> {
        let from = primary(field.plan, field.slab.get(anchor));
        let window = self.group.window();
        let mut games = core::mem::take(&mut self.games);
        games.clear();
        for index in field.pool.games_for(field.plan, part) {
            // Who plays already is on both teams.
            let room = self.group.room() - self.group.players();
            let filter = self.filter(field, room);
            for met in Walk::new(index, from, window, filter) {
                if self.fits(field, &Card::of(field.plan, met.handle, field.slab.get(met.handle))) {
                    games.push((field.slab.get(met.handle).arrival(), met.handle));
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

    /// Whether every rule between tickets, and that nobody is in a match twice, lets a ticket join the group as it is.
    #[inline]
    pub(super) fn fits(&mut self, field: Field<'_>, card: &Card) -> bool {
        field.apart.allows(card.handle, self.group.members())
            && self.group.admits(field.plan, field.slab, card)
    }

    /// A ticket that fits any number meets others like itself first, and has none to walk on from: then it borrows those of the first it meets
    /// who have one.
    #[inline(never)]
    fn fill_by_pivots(&mut self, field: Field<'_>, part: &Part, anchor: Handle) -> Option<Found> {
        let window = self.group.window();
        let filter = self.filter(field, self.group.room_left(field.plan));
        if let Some(found) = self.fill(field, part, anchor) {
            return Some(found);
        }
        if self.looks == 0 || !self.begin(field, &[anchor]) {
            return None;
        }
        let mut walk = Walk::of_numbers(&part.open, window, filter);
        walk.through(&part.exact);
        let fits = |met: &Handle| self.fits(field, &Card::of(field.plan, *met, field.slab.get(*met)));
        let pivots: Vec<Handle> = walk.map(|met| met.handle).filter(fits).take(PIVOTS_MAX).collect();
        pivots.into_iter().find_map(|pivot| {
            if self.looks > 0 && self.begin(field, &[anchor, pivot]) {
                self.fill(field, part, pivot)
            } else {
                None
            }
        })
    }

    /// What the group as it is asks of any candidate, that has room for so many players.
    #[inline(always)]
    pub(super) fn filter(&self, field: Field<'_>, room: u8) -> Filter {
        let values = match self.group.first_set(field.slab.layout()) {
            Some((shared, need)) if need > 0 => Some(shared.iter().fold(0, |all, word| all | word)),
            Some(_) | None => None,
        };
        let (texts, totals) =
            if self.group.asks_the_rest() { self.rest_asked(field) } else { (Texts::NONE, Vec::new()) };
        Filter::new(room, self.group.regions(), values, texts, totals)
    }

    /// The same by rules that few queues have.
    #[inline(never)]
    fn rest_asked(&self, field: Field<'_>) -> (Texts, Vec<i64>) {
        let totals = field.plan.totals.iter().enumerate();
        let totals = totals.map(|(rule, it)| it.max_ever - self.group.total(rule)).collect();
        let text = field.plan.marked_text.and_then(|rule| self.group.text_asked(rule));
        (text.map_or(Texts::NONE, Texts::of), totals)
    }

    /// Hands the teams' question to whoever answers it.
    pub(super) fn on_teams(
        &mut self,
        field: Field<'_>,
        ask: impl FnOnce(&mut Seats, &Demand<'_>) -> bool,
    ) -> bool {
        let plan = field.plan;
        self.units.clear();
        self.unit_sums.clear();
        let mut game = None;
        for handle in self.group.members() {
            let row = field.slab.get(*handle);
            match row.shape().kind {
                Kind::Backfill => {
                    cold_path();
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
        let similarity = self.similarity(field);
        let demand = Demand {
            teams: &plan.teams,
            row,
            similarity,
            large_from: plan.large_from,
            seated: &game.seated,
            seated_sums: &game.seated_sums,
            units: &self.units,
            unit_sums: &self.unit_sums,
            larges: self.group.larges(),
            numbers: plan.team_numbers,
        };
        ask(&mut self.seats, &demand)
    }

    /// Whether the group's large parties have to meet others. "the Ticket Size Similarity Rule is ignored when matching backfill
    /// tickets."
    pub(super) fn similarity(&self, field: Field<'_>) -> Similarity {
        if self.group.has_backfill() {
            Similarity::Any
        } else {
            field.plan.row(self.group.eldest_step()).similarity
        }
    }
}
