//! A group of tickets as it grows: what all its rules allow together, one frame for each ticket added, so that the last one can
//! be taken back.
//!
//! Rules between tickets are judged by each ticket's own limits: a player's limit holds for that player, however long another
//! has waited. All of them can be folded: a number's rule is "the hull of all numbers lies within the meet of all windows",
//! a list's "what all share is at least what the most demanding asks for". So judging one more ticket costs the same whether
//! the group has one or ninety-nine.

use alloc::vec::Vec;

use super::games::Game;
use super::plan::Plan;
use super::slab::{ANY_TEXT, Handle, Kind, Layout, MIXED_TEXT, Ref, WILD};
use super::walk::Window;

/// A group under construction. Kept between searches, so that growing allocates nothing.
#[derive(Debug, Clone, Default)]
pub(super) struct Group {
    shape: Parts,
    words: Vec<u64>,
    members: Vec<Handle>,
}

/// Where the parts of a frame stand.
#[derive(Debug, Clone, Default)]
struct Parts {
    numbers: usize,
    sets: usize,
    totals: usize,
    stride: usize,
}

const PLAYERS: usize = 0;
const ROOM: usize = 1;
const ELDEST_SINCE: usize = 2;
const ELDEST_ARRIVAL: usize = 3;
const ELDEST_STEP: usize = 4;
const BACKFILLS: usize = 5;
const LARGEST: usize = 6;
const REGIONS: usize = 7;
const TEXTS_ENFORCED: usize = 8;
const TEXTS_MIXED: usize = 9;
/// Of two teams: which numbers of players the first can have, one bit each.
const SPLITS: usize = 10;
/// How many large parties.
const LARGES: usize = 11;
const TEXTS: usize = 12;

const LOW: usize = 0;
const HIGH: usize = 1;
const FLOOR: usize = 2;
const CEILING: usize = 3;
const SPAN: usize = 4;

impl Group {
    /// Empties it, for tickets of a layout.
    pub(super) fn reset(&mut self, plan: &Plan, layout: &Layout) {
        let numbers = TEXTS + plan.texts.len();
        let sets = numbers + SPAN * plan.numbers.len();
        let set_words: usize = layout.sets.iter().map(|(_, words)| words + 1).sum();
        let totals = sets + set_words;
        self.shape = Parts { numbers, sets, totals, stride: totals + plan.totals.len() };
        self.members.clear();
        self.words.clear();
        self.words.resize(self.shape.stride, 0);
        let frame = &mut self.words[..];
        // More than its teams hold is no match.
        let room = if plan.teams.is_empty() { plan.max } else { plan.max.min(plan.seats) };
        (frame[ROOM], frame[REGIONS], frame[SPLITS]) = (room.into(), u64::MAX, 1);
        (frame[ELDEST_SINCE], frame[ELDEST_ARRIVAL]) = (u64::MAX, u64::MAX);
        frame[TEXTS..numbers].fill(ANY_TEXT);
        for span in frame[numbers..sets].chunks_exact_mut(SPAN) {
            (span[LOW], span[HIGH]) = (i64::MAX.cast_unsigned(), i64::MIN.cast_unsigned());
            (span[FLOOR], span[CEILING]) = (i64::MIN.cast_unsigned(), i64::MAX.cast_unsigned());
        }
        let mut at = sets;
        for (_, words) in &layout.sets {
            frame[at..at + words].fill(u64::MAX);
            at += words + 1;
        }
    }

    /// Adds a ticket if every rule between tickets allows it.
    pub(super) fn push(&mut self, plan: &Plan, handle: Handle, row: Ref<'_>) -> bool {
        let stride = self.shape.stride;
        let before = self.members.len() * stride;
        self.words.truncate(before + stride);
        self.words.extend_from_within(before..before + stride);
        let allowed = self.fold(plan, row);
        if allowed {
            self.members.push(handle);
        }
        allowed
    }

    /// Takes the last ticket back.
    pub(super) fn pop(&mut self) {
        self.members.pop();
    }

    /// Takes back all but the first so many.
    pub(super) fn shrink(&mut self, members: usize) {
        self.members.truncate(members);
    }

    fn fold(&mut self, plan: &Plan, row: Ref<'_>) -> bool {
        let parts = &self.shape;
        let at = self.words.len() - parts.stride;
        let frame = &mut self.words[at..];
        let shape = row.shape();
        let limits = plan.row(shape.step);
        frame[PLAYERS] += u64::from(shape.players);
        frame[LARGEST] = frame[LARGEST].max(shape.players.into());
        frame[LARGES] += u64::from(shape.players >= plan.large_from);
        frame[ROOM] = frame[ROOM].min(shape.room.into());
        if frame[PLAYERS] > frame[ROOM] {
            return false;
        }
        match shape.kind {
            Kind::Backfill if frame[BACKFILLS] > 0 => return false,
            Kind::Backfill => frame[BACKFILLS] = 1,
            Kind::Ordinary => {
                let splits = frame[SPLITS];
                frame[SPLITS] |= splits.checked_shl(shape.players.into()).unwrap_or(0);
                if !split_fits(plan, frame[SPLITS], frame[PLAYERS]) {
                    return false;
                }
            }
        }
        if (row.since(), row.arrival()) < (frame[ELDEST_SINCE], frame[ELDEST_ARRIVAL]) {
            (frame[ELDEST_SINCE], frame[ELDEST_ARRIVAL]) = (row.since(), row.arrival());
            frame[ELDEST_STEP] = shape.step.into();
        }
        frame[REGIONS] &= row.regions();
        if frame[REGIONS] == 0 {
            return false;
        }
        for (rule, limit) in limits.numbers.iter().enumerate() {
            let number = row.number(rule);
            if number == WILD {
                continue;
            }
            let span = &mut frame[parts.numbers + SPAN * rule..][..SPAN];
            let low = span[LOW].cast_signed().min(number);
            let high = span[HIGH].cast_signed().max(number);
            let floor = span[FLOOR].cast_signed().max(number - limit.allowed);
            let ceiling = span[CEILING].cast_signed().min(number + limit.allowed);
            if low < floor || high > ceiling {
                return false;
            }
            (span[LOW], span[HIGH]) = (low.cast_unsigned(), high.cast_unsigned());
            (span[FLOOR], span[CEILING]) = (floor.cast_unsigned(), ceiling.cast_unsigned());
        }
        fold_texts(plan, frame, row, limits.texts)
            && fold_sets(frame, parts.sets, row, &limits.sets)
            && fold_totals(plan, &mut frame[parts.totals..], row)
    }

    /// Seats who plays already in the game that is in the group; says whether two teams have room for them.
    pub(super) fn seat(&mut self, plan: &Plan, game: &Game) -> bool {
        let at = self.members.len() * self.shape.stride;
        let frame = &mut self.words[at..];
        let first = game.seated.first().copied().unwrap_or(0);
        let loose = (0..game.loose.len()).fold(frame[SPLITS], |splits, _| splits | splits << 1);
        frame[SPLITS] = loose.checked_shl(first.into()).unwrap_or(0);
        split_fits(plan, frame[SPLITS], frame[PLAYERS])
    }

    /// The most players that one more ticket may have.
    pub(super) fn room_left(&self, plan: &Plan) -> u8 {
        let frame = self.frame();
        let left = self.room() - self.players();
        if plan.pair.is_none() {
            return left;
        }
        let fits = |players: &u8| {
            let splits = frame[SPLITS];
            let with = splits | splits.checked_shl(u32::from(*players)).unwrap_or(0);
            split_fits(plan, with, frame[PLAYERS] + u64::from(*players))
        };
        (1..=left).rev().find(fits).unwrap_or(0)
    }

    /// The numbers that one more ticket may have, by the rule of a number.
    pub(super) fn window(&self, rule: Option<usize>) -> Window {
        let Some(rule) = rule else { return (i64::MIN, i64::MAX) };
        let span = &self.frame()[self.shape.numbers + SPAN * rule..][..SPAN];
        (span[FLOOR].cast_signed(), span[CEILING].cast_signed())
    }

    /// The lowest number of the group; above all numbers where it has none.
    pub(super) fn lowest(&self, rule: usize) -> i64 {
        self.frame()[self.shape.numbers + SPAN * rule + LOW].cast_signed()
    }

    fn frame(&self) -> &[u64] {
        &self.words[self.members.len() * self.shape.stride..][..self.shape.stride]
    }

    /// The tickets, in the order they were added.
    pub(super) fn members(&self) -> &[Handle] {
        &self.members
    }

    #[expect(clippy::cast_possible_truncation, reason = "never above a match's size")]
    pub(super) fn players(&self) -> u8 {
        self.frame()[PLAYERS] as u8
    }

    /// The most players it may have.
    #[expect(clippy::cast_possible_truncation, reason = "never above a match's size")]
    pub(super) fn room(&self) -> u8 {
        self.frame()[ROOM] as u8
    }

    /// Whether nobody came with others: then any seating has room for all that the teams hold.
    pub(super) fn is_of_singles(&self) -> bool {
        self.frame()[LARGEST] <= 1
    }

    pub(super) fn larges(&self) -> usize {
        self.frame()[LARGES] as usize
    }

    pub(super) fn has_backfill(&self) -> bool {
        self.frame()[BACKFILLS] > 0
    }

    /// The step of the ticket that has waited longest: what holds for a match as a whole is judged by it.
    #[expect(clippy::cast_possible_truncation, reason = "a step is a u16")]
    pub(super) fn eldest_step(&self) -> u16 {
        self.frame()[ELDEST_STEP] as u16
    }

    /// The regions all its players can play in; all bits where nobody's rule restricts.
    pub(super) fn regions(&self) -> u64 {
        self.frame()[REGIONS]
    }

    /// What all share of the first list, and whether anyone asks for some of it.
    pub(super) fn first_set<'a>(&'a self, layout: &Layout) -> Option<(&'a [u64], u64)> {
        let (_, words) = *layout.sets.first()?;
        let at = self.shape.sets;
        let frame = self.frame();
        Some((&frame[at..at + words], frame[at + words]))
    }

    pub(super) fn total(&self, rule: usize) -> i64 {
        self.frame()[self.shape.totals + rule].cast_signed()
    }

    /// Whether every rule on sums over players allows it as it is.
    pub(super) fn totals_hold(&self, plan: &Plan) -> bool {
        let row = plan.row(self.eldest_step());
        row.totals
            .iter()
            .enumerate()
            .all(|(rule, bounds)| (bounds.min..=bounds.max).contains(&self.total(rule)))
    }
}

/// Whether two teams have room, by the numbers of players that the first can have of all. Of more teams, or none, nothing is said.
fn split_fits(plan: &Plan, splits: u64, players: u64) -> bool {
    let Some((first, second)) = plan.pair else { return true };
    let least = players.saturating_sub(second);
    least <= first && splits >> least & (u64::MAX >> (63 - (first - least))) != 0
}

fn fold_texts(plan: &Plan, frame: &mut [u64], row: Ref<'_>, enforced: u32) -> bool {
    for rule in 0..plan.texts.len() {
        let text = row.text(rule);
        if text == ANY_TEXT {
            continue;
        }
        let bit = 1 << rule;
        if u64::from(enforced) & bit != 0 {
            frame[TEXTS_ENFORCED] |= bit;
        }
        let seen = &mut frame[TEXTS + rule];
        if *seen == ANY_TEXT {
            *seen = text;
        }
        if *seen != text || text == MIXED_TEXT {
            frame[TEXTS_MIXED] |= bit;
        }
    }
    frame[TEXTS_ENFORCED] & frame[TEXTS_MIXED] == 0
}

fn fold_sets(frame: &mut [u64], sets: usize, row: Ref<'_>, least: &[u16]) -> bool {
    let mut at = sets;
    for (rule, least) in least.iter().enumerate() {
        let own = row.set(rule);
        let (words, need) = (at, at + own.len());
        at = need + 1;
        if row.any_set(rule) {
            continue;
        }
        let mut shared = 0_u32;
        for (word, own) in frame[words..need].iter_mut().zip(own) {
            *word &= own;
            shared += word.count_ones();
        }
        frame[need] = frame[need].max(u64::from(*least));
        if u64::from(shared) < frame[need] {
            return false;
        }
    }
    true
}

fn fold_totals(plan: &Plan, frame: &mut [u64], row: Ref<'_>) -> bool {
    plan.totals.iter().enumerate().zip(frame).all(|((index, rule), word)| {
        let sum = word.cast_signed() + row.total(index);
        *word = sum.cast_unsigned();
        sum <= rule.max_ever
    })
}
