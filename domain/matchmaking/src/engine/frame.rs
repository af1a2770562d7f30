//! What a group allows as it is: one value for all its rules together, which is all that is asked of for one more ticket.

use super::card::Card;
use super::judged::Rule;
use super::plan::Plan;
use super::slab::{Kind, WILD};

/// What some tickets allow together.
#[derive(Debug, Clone, Copy)]
pub(super) struct Frame {
    /// The arrival of whoever waits longest.
    pub eldest: u64,
    pub regions: u64,
    /// Of two teams: which numbers of players the first can have, one bit each.
    pub splits: u64,
    /// The hull of the primary numbers.
    pub low: i64,
    pub high: i64,
    /// The meet of their windows.
    pub floor: i64,
    pub ceiling: i64,
    /// What all share of the first list, and how much of it they have to.
    pub shared: u64,
    pub need: u16,
    pub eldest_step: u16,
    pub players: u8,
    pub room: u8,
    pub largest: u8,
    /// How many large parties.
    pub larges: u8,
    pub has_backfill: bool,
}

impl Frame {
    /// Before anybody is in.
    pub(super) fn of_nobody(plan: &Plan) -> Self {
        Self {
            eldest: u64::MAX,
            regions: u64::MAX,
            splits: 1,
            low: i64::MAX,
            high: i64::MIN,
            floor: i64::MIN,
            ceiling: i64::MAX,
            shared: u64::MAX,
            need: 0,
            eldest_step: 0,
            players: 0,
            // More than its teams hold is no match.
            room: if plan.teams.is_empty() { plan.max } else { plan.max.min(plan.seats) },
            largest: 0,
            larges: 0,
            has_backfill: false,
        }
    }

    /// Takes one more ticket, that it [admits](Self::admits).
    pub(super) fn take(&mut self, plan: &Plan, card: &Card) {
        self.players = self.players.saturating_add(card.players);
        self.room = self.room.min(card.room);
        self.regions &= card.regions;
        self.shared &= card.values;
        self.need = self.need.max(card.need);
        if card.number != WILD {
            self.low = self.low.min(card.number);
            self.high = self.high.max(card.number);
            self.floor = self.floor.max(card.number - card.reach);
            self.ceiling = self.ceiling.min(card.number + card.reach);
        }
        match card.kind {
            Kind::Backfill => self.has_backfill = true,
            Kind::Ordinary => self.splits = self.splits_with(card.players),
        }
        self.largest = self.largest.max(card.players);
        self.larges += u8::from(card.players >= plan.large_from);
        if card.arrival < self.eldest {
            (self.eldest, self.eldest_step) = (card.arrival, card.step);
        }
    }

    /// Which numbers of players the first of two teams can have with so many more.
    pub(super) fn splits_with(&self, players: u8) -> u64 {
        self.splits | self.splits.checked_shl(players.into()).unwrap_or(0)
    }

    /// Whether by its number a ticket is near enough to all, and they to it.
    pub(super) fn is_near(&self, card: &Card) -> bool {
        let (floor, ceiling) = (card.number.wrapping_sub(card.reach), card.number.wrapping_add(card.reach));
        // Nearly always all of it holds: one question costs less than four.
        let allows_it = (self.floor <= card.number) & (card.number <= self.ceiling);
        let is_allowed = (floor <= self.low) & (self.high <= ceiling);
        (card.number == WILD) | (allows_it & is_allowed)
    }

    fn shares_enough(&self, card: &Card) -> bool {
        is_enough(self.shared & card.values, self.need.max(card.need))
    }

    /// The rule that does not let a ticket in; `None` where it is the teams' room.
    #[cold]
    #[inline(never)]
    pub(super) fn refusing(&self, plan: &Plan, card: &Card) -> Option<Rule> {
        if !self.is_near(card) {
            plan.primary.map(Rule::Number)
        } else if self.regions & card.regions == 0 {
            Some(Rule::Region)
        } else {
            (!self.shares_enough(card)).then_some(Rule::List(0))
        }
    }

    /// Whether every rule judged here allows one more ticket.
    #[inline]
    pub(super) fn admits(&self, plan: &Plan, card: &Card) -> bool {
        let players = self.players.saturating_add(card.players);
        let fits = (players <= self.room.min(card.room))
            & (self.regions & card.regions != 0)
            & self.shares_enough(card)
            & self.is_near(card);
        fits && match card.kind {
            Kind::Backfill => !self.has_backfill,
            Kind::Ordinary => self.splits_with(card.players) & plan.splits(players) != 0,
        }
    }
}

/// Most lists ask for one common value: then nothing is counted.
const fn is_enough(shared: u64, need: u16) -> bool {
    match need {
        0 => true,
        1 => shared != 0,
        need => is_enough_of_many(shared, need),
    }
}

#[cold]
#[inline(never)]
const fn is_enough_of_many(shared: u64, need: u16) -> bool {
    shared.count_ones() >= need as u32
}
