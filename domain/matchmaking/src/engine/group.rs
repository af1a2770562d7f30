//! A group of tickets as it grows: what all its rules allow together, one frame for each ticket added, so that the last one can
//! be taken back.
//!
//! Rules between tickets are judged by each ticket's own limits: a player's limit holds for that player, however long another
//! has waited. All of them can be folded: a number's rule is "the hull of all numbers lies within the meet of all windows",
//! a list's "what all share is at least what the most demanding asks for". So judging one more ticket costs the same whether
//! the group has one or ninety-nine.

use alloc::vec::Vec;

use super::block::below;
use super::card::Card;
use super::filling::Filling;
use super::frame::Frame;
use super::games::Game;
use super::judged::{Judged, Rule};
use super::plan::Plan;
use super::rest::Rest;
use super::slab::{Handle, Layout, Slab};
use super::walk::Window;

/// A group under construction. Kept between searches, so that growing allocates nothing.
#[derive(Debug, Clone, Default)]
pub(super) struct Group {
    /// One more than can be taken back: the first is of nobody, the last of all.
    frames: Vec<Frame>,
    rest: Rest,
    members: Vec<Handle>,
    /// Of all groups.
    pub judged: Judged,
}

/// What a group of one ticket asks of others in its step, beside its window: they ask the same of it. So whoever is met within the window
/// is let in by a few questions. Whom it does not let in the [group](Group::admits) may.
#[derive(Debug, Clone, Copy)]
pub(super) struct Likeness {
    step: u16,
    regions: u64,
    shared: u64,
    players: u8,
    /// Which sizes have room, one bit each.
    sizes: u64,
}

impl Likeness {
    /// Whether every rule lets in one who was met within the window.
    #[inline]
    pub(super) const fn lets_in(&self, card: &Card) -> bool {
        (card.step == self.step)
            & (card.regions & self.regions != 0)
            & (card.values & self.shared != 0)
            & (self.sizes >> (card.players % 64) & 1 == 1)
            & (card.players < 64 && self.players + card.players <= card.room)
    }
}

impl Group {
    /// What it asks of those who are in the step of its only ticket; `None` where it has others, or asks more than that tells.
    pub(super) fn likeness(&self, plan: &Plan) -> Option<Likeness> {
        let frame = self.frame();
        let is_simple = self.members.len() == 1 && !frame.has_backfill && frame.need <= 1;
        (is_simple && self.judges_all(plan)).then(|| Likeness {
            step: frame.eldest_step,
            regions: frame.regions,
            shared: frame.shared,
            players: frame.players,
            sizes: self.sizes_beside_one(plan),
        })
    }

    /// Of its only ticket: which sizes one more may have, one bit each.
    fn sizes_beside_one(&self, plan: &Plan) -> u64 {
        let frame = self.frame();
        plan.beside(frame.players) & below(usize::from(frame.room - frame.players) + 1)
    }

    /// One was [let in](Likeness::lets_in) without asking the group.
    pub(super) const fn let_in(&mut self) {
        self.judged.candidate_fits();
    }

    /// Empties it, for tickets of a layout.
    pub(super) fn reset(&mut self, plan: &Plan, layout: &Layout) {
        self.rest.reset(plan, layout);
        self.members.clear();
        self.frames.clear();
        self.frames.push(Frame::of_nobody(plan));
    }

    /// Adds a ticket if every rule between tickets allows it.
    pub(super) fn push(&mut self, plan: &Plan, slab: &Slab, card: &Card) -> bool {
        if !self.frame().admits(plan, card) {
            return self.refuse(plan, self.frame().refusing(plan, card));
        }
        if let Err(rule) = self.push_rest(plan, slab, card) {
            return self.refuse(plan, Some(rule));
        }
        let (before, members) = (self.frames.len() - 1, self.members.len());
        self.frames.extend_from_within(before..);
        self.frames[before + 1].take(plan, card);
        // The first has nobody to fit.
        if members > 0 {
            self.judged.candidate_fits();
        }
        self.members.push(card.handle);
        true
    }

    #[inline]
    fn push_rest(&mut self, plan: &Plan, slab: &Slab, card: &Card) -> Result<(), Rule> {
        if self.rest.is_none() { Ok(()) } else { self.push_some_rest(plan, slab, card) }
    }

    #[inline(never)]
    fn push_some_rest(&mut self, plan: &Plan, slab: &Slab, card: &Card) -> Result<(), Rule> {
        self.rest.push(plan, self.members.len(), slab.get(card.handle))
    }

    #[cold]
    fn refuse(&mut self, plan: &Plan, rule: Option<Rule>) -> bool {
        if let Some(rule) = rule {
            self.judged.refused(plan, rule);
        }
        false
    }

    /// Whether every rule between tickets allows one more.
    #[inline]
    pub(super) fn admits(&mut self, plan: &Plan, slab: &Slab, card: &Card) -> bool {
        if !self.frame().admits(plan, card) {
            return self.refuse(plan, self.frame().refusing(plan, card));
        }
        if let Err(rule) = self.push_rest(plan, slab, card) {
            return self.refuse(plan, Some(rule));
        }
        self.judged.candidate_fits();
        true
    }

    /// Whether every rule is judged here that decides who may join: those of few queues are not.
    pub(super) const fn judges_all(&self, plan: &Plan) -> bool {
        self.rest.is_none() && (plan.pair.is_some() || plan.teams.is_empty())
    }

    /// Offers tickets to what a [lane](super::filling) has so far, in their order and each with its place, until there is no more room.
    /// Every rule [is judged here](Self::judges_all).
    pub(super) fn offer<'a>(
        &mut self,
        plan: &Plan,
        filling: &mut Filling,
        those: impl Iterator<Item = (u16, &'a Card)>,
    ) {
        for (place, card) in those {
            if filling.is_full() {
                break;
            }
            // Only large parties are taken out of turn.
            if card.players >= plan.large_from && filling.has(place) {
                continue;
            }
            if filling.frame.admits(plan, card) {
                filling.take(plan, place, card);
                self.judged.candidate_fits();
            } else {
                self.refuse(plan, filling.frame.refusing(plan, card));
            }
        }
    }

    /// Adds all that a lane has. They are [taken back](Self::shrink) together.
    pub(super) fn push_filling(&mut self, filling: &Filling, card: impl Fn(u16) -> Handle) {
        self.members.extend(filling.taken.iter().map(|place| card(*place)));
        self.frames.push(filling.frame);
    }

    /// Takes the last ticket back, that was added alone.
    pub(super) fn pop(&mut self) {
        self.members.pop();
        self.frames.pop();
    }

    /// Takes back all but the first so many, each of whom was added alone.
    pub(super) fn shrink(&mut self, members: usize) {
        self.members.truncate(members);
        self.frames.truncate(members + 1);
    }

    /// Seats who plays already in the game that was added last; says whether two teams have room for them.
    #[inline(never)]
    pub(super) fn seat(&mut self, plan: &Plan, game: &Game) -> bool {
        let Some(frame) = self.frames.last_mut() else { return false };
        let first = game.seated.first().copied().unwrap_or(0);
        let loose = (0..game.loose.len()).fold(frame.splits, |splits, _| splits | splits << 1);
        frame.splits = loose.checked_shl(first.into()).unwrap_or(0);
        frame.splits & plan.splits(frame.players) != 0
    }

    /// The most players that one more ticket may have.
    pub(super) fn room_left(&self, plan: &Plan) -> u8 {
        let frame = self.frame();
        let left = frame.room - frame.players;
        let Some(pair) = plan.pair else { return left };
        if self.members.len() == 1 && !frame.has_backfill {
            self.sizes_beside_one(plan).checked_ilog2().unwrap_or(0) as u8
        } else {
            self.room_left_of_pair(plan, pair)
        }
    }

    #[inline(never)]
    fn room_left_of_pair(&self, plan: &Plan, (first, second): (u64, u64)) -> u8 {
        let frame = self.frame();
        let left = frame.room - frame.players;
        let fits =
            |more: &u8| frame.splits_with(*more) & plan.splits(frame.players.saturating_add(*more)) != 0;
        // Nobody comes with more than a team holds.
        let most = u8::try_from(first.max(second)).map_or(left, |most| most.min(left));
        (1..=most).rev().find(fits).unwrap_or(0)
    }

    /// The primary numbers that one more ticket may have.
    pub(super) fn window(&self) -> Window {
        (self.frame().floor, self.frame().ceiling)
    }

    /// The lowest primary number of the group; above all numbers where it has none.
    pub(super) fn lowest(&self) -> i64 {
        self.frame().low
    }

    /// The highest primary number of the group; below all numbers where it has none.
    pub(super) fn highest(&self) -> i64 {
        self.frame().high
    }

    pub(super) fn frame(&self) -> &Frame {
        &self.frames[self.frames.len() - 1]
    }

    /// Whether a ticket is in it.
    #[inline]
    pub(super) fn has(&self, ticket: Handle) -> bool {
        // As a rule there is one, and searching many at a time would be more code.
        for member in &self.members {
            if *member == ticket {
                return true;
            }
        }
        false
    }

    /// The tickets, in the order they were added.
    pub(super) fn members(&self) -> &[Handle] {
        &self.members
    }

    pub(super) fn players(&self) -> u8 {
        self.frame().players
    }

    /// The most players it may have.
    pub(super) fn room(&self) -> u8 {
        self.frame().room
    }

    /// Whether nobody came with others: then any seating has room for all that the teams hold.
    pub(super) fn is_of_singles(&self) -> bool {
        self.frame().largest <= 1
    }

    pub(super) fn larges(&self) -> usize {
        self.frame().larges.into()
    }

    pub(super) fn has_backfill(&self) -> bool {
        self.frame().has_backfill
    }

    /// The step of the ticket that has waited longest: what holds for a match as a whole is judged by it.
    pub(super) fn eldest_step(&self) -> u16 {
        self.frame().eldest_step
    }

    /// The regions all its players can play in; all bits where nobody's rule restricts.
    pub(super) fn regions(&self) -> u64 {
        self.frame().regions
    }

    /// What all share of the first list, and how much of it somebody asks for.
    pub(super) fn first_set<'a>(&'a self, layout: &Layout) -> Option<(&'a [u64], u64)> {
        layout.sets.first()?;
        let own = || (core::slice::from_ref(&self.frame().shared), self.frame().need.into());
        if self.rest.is_none() {
            return Some(own());
        }
        Some(self.rest.first_list(layout, self.members.len()).unwrap_or_else(own))
    }

    /// Whether it asks by rules that few queues have.
    pub(super) const fn asks_the_rest(&self) -> bool {
        !self.rest.is_none()
    }

    /// The text that a rule of its tickets asks of others.
    pub(super) fn text_asked(&self, rule: usize) -> Option<u64> {
        self.rest.text_asked(self.members.len(), rule)
    }

    pub(super) fn total(&self, rule: usize) -> i64 {
        self.rest.total(self.members.len(), rule)
    }

    /// The rule on sums over players that does not allow it as it is.
    pub(super) fn broken_total(&self, plan: &Plan) -> Option<Rule> {
        let row = plan.row(self.eldest_step());
        let mut totals = row.totals.iter().enumerate();
        totals
            .find(|(rule, bounds)| !(bounds.min..=bounds.max).contains(&self.total(*rule)))
            .map(|(rule, _)| Rule::Total(rule))
    }
}
