//! What a match around a ticket could share: each *lane* is one region and one value of the first list that the ticket could play
//! by, and, where large parties have to meet others, whether there are any. A group of tickets that fit each other lies in a
//! lane whole, so counting players by lane says, before any group is tried, which of them can become a match.

use alloc::vec::Vec;
use core::cmp::Ordering;

use super::block::Mark;
use super::card::Card;
use super::census::Marked;
use super::group::Group;
use super::interner::Interner;
use super::slab::{Layout, Ref};

/// The most lanes: as many as a word has bits. A ticket of more counts by regions alone, or not at all.
pub(super) const LANES_MAX: usize = 64;

/// What regions and the values of the first list are called.
#[derive(Debug, Clone, Copy)]
pub(super) struct Names<'a> {
    pub regions: &'a Interner,
    /// `None` where no rule compares lists.
    pub values: Option<&'a Interner>,
}

/// Which large parties a group may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Parties {
    /// Any.
    Any,
    /// None, or one for each team.
    NoneOrEach(Larges),
    /// One for each team: it has one already.
    Each(Larges),
}

/// Large parties, of which a group has one for each team.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Larges {
    /// From how many players on they are large.
    pub from: u8,
    /// How many the group as it was begun lacks.
    pub missing: usize,
}

/// Somebody who was met: its lanes, and which of the cards it is. Short, for candidates are put in order and asked for their lanes often.
#[derive(Debug, Clone, Copy)]
pub(super) struct Candidate {
    pub lanes: u64,
    pub card: u16,
    pub players: u8,
}

/// The lanes of one search, and the players met in each.
#[derive(Debug, Clone)]
pub(super) struct Lanes {
    /// The regions, the closest to the seed first; none where no rule restricts them.
    regions: Vec<u32>,
    /// The values, by name; none where no rule restricts them.
    values: Vec<u32>,
    /// Whether cards have them.
    in_one_word: bool,
    /// Where large parties have to meet others: each lane is there twice, first for those who are small.
    parties: Parties,
    /// From how many players on a party is large, where that matters; beyond all where it does not.
    large_from: u8,
    /// How many lanes there are, in parts that are counted at a time.
    parts: usize,
    players: [u16; LANES_MAX],
    /// What the first so many of those who were met can add up to, ticket by ticket, one bit each; of none nothing is written.
    sums: [u128; LANES_MAX],
    summed: [u8; LANES_MAX],
    /// How many large parties were met in each lane of them.
    larges: [u8; LANES_MAX],
    /// At how many players a lane is tried; never, as long as it lacks large parties.
    due: [u16; LANES_MAX],
    /// How many fill it.
    wanted: u16,
}

impl Default for Lanes {
    fn default() -> Self {
        let none = [0; LANES_MAX];
        let (regions, values) = (Vec::new(), Vec::new());
        Self {
            regions,
            values,
            in_one_word: true,
            parties: Parties::Any,
            large_from: u8::MAX,
            parts: 0,
            players: none,
            sums: [1; LANES_MAX],
            summed: [0; LANES_MAX],
            larges: [0; LANES_MAX],
            due: none,
            wanted: 0,
        }
    }
}

impl Lanes {
    /// Those of a group around a seed, to be filled with so many players. Their order depends on the seed's latencies and on
    /// names alone.
    pub(super) fn begin(
        &mut self,
        layout: &Layout,
        group: &Group,
        seed: Ref<'_>,
        (wanted, parties): (u8, Parties),
        names: Names<'_>,
    ) {
        let Names { regions, values } = names;
        self.wanted = wanted.into();
        self.parties = parties;
        self.large_from = match parties {
            Parties::Any => u8::MAX,
            Parties::NoneOrEach(larges) | Parties::Each(larges) => larges.from,
        };
        let most = match parties {
            Parties::Any | Parties::Each(_) => LANES_MAX,
            Parties::NoneOrEach(_) => LANES_MAX / 2,
        };
        self.regions.clear();
        if group.regions() != u64::MAX && group.regions().count_ones() as usize <= most {
            self.regions.extend(bits(group.regions()));
            self.regions.sort_unstable_by(|one, other| {
                let by_latency = seed.latency(*one as usize).cmp(&seed.latency(*other as usize));
                by_latency.then_with(|| by_name(regions, *one, *other))
            });
        }
        self.values.clear();
        if let (Some((shared, need)), Some(values)) = (group.first_set(layout), values)
            && need > 0
        {
            self.in_one_word = shared.len() == 1;
            let count: u32 = shared.iter().map(|word| word.count_ones()).sum();
            if self.regions.len().max(1) * count as usize <= most {
                let words = (0_u32..).zip(shared);
                self.values.extend(words.flat_map(|(at, word)| bits(*word).map(move |bit| at * 64 + bit)));
                self.values.sort_unstable_by(|one, other| by_name(values, *one, *other));
            }
        }
        self.empty();
    }

    /// Nobody was met yet.
    pub(super) fn empty(&mut self) {
        self.parts = self.count_all().div_ceil(COUNTED);
        let lanes = self.parts * COUNTED;
        self.players[..lanes].fill(0);
        self.summed[..lanes].fill(0);
        self.due[..lanes].fill(self.wanted);
        if let Parties::NoneOrEach(Larges { missing: 1.., .. }) | Parties::Each(Larges { missing: 1.., .. }) =
            self.parties
        {
            let small = self.count_small();
            self.larges[..lanes].fill(0);
            self.due[small..lanes].fill(NEVER);
        }
    }

    fn count_all(&self) -> usize {
        match self.parties {
            Parties::Any | Parties::Each(_) => self.count_once(),
            Parties::NoneOrEach(_) => self.count_once() * 2,
        }
    }

    /// How many there are, but for parties.
    fn count_once(&self) -> usize {
        self.regions.len().max(1) * self.values.len().max(1)
    }

    /// How many of them are for groups that need no large parties. Those come first.
    fn count_small(&self) -> usize {
        match self.parties {
            Parties::Any => LANES_MAX,
            Parties::Each(_) => 0,
            Parties::NoneOrEach(_) => self.count_once(),
        }
    }

    /// Whether a lane is one for groups with large parties.
    pub(super) fn is_of_large(&self, lane: u32) -> bool {
        lane as usize >= self.count_small()
    }

    /// By which marks whoever is in a lane is known, lane by lane, parties aside.
    pub(super) fn marks(&self) -> impl Iterator<Item = Marked> + Clone {
        let regions = self.regions.iter().map(|region| Some(Mark::of_region(*region)));
        let regions = regions.chain(self.regions.is_empty().then_some(None));
        regions.flat_map(|region| {
            let values = self.values.iter().map(|value| Some(Mark::of_value(*value)));
            values.chain(self.values.is_empty().then_some(None)).map(move |value| (region, value))
        })
    }

    /// In which lanes a ticket is, one bit each.
    pub(super) fn of(&self, row: Ref<'_>, card: &Card) -> u64 {
        let lanes = self.shared_with(row, card);
        match self.parties {
            Parties::Any | Parties::Each(_) => lanes,
            Parties::NoneOrEach(larges) if card.players < larges.from => lanes | lanes << self.count_once(),
            Parties::NoneOrEach(_) => lanes << self.count_once(),
        }
    }

    fn shared_with(&self, row: Ref<'_>, card: &Card) -> u64 {
        let values = if self.values.is_empty() {
            1
        } else if self.in_one_word {
            self.values.iter().rev().fold(0, |all, value| all << 1 | card.values >> (value % 64) & 1)
        } else {
            self.values_of_many(row)
        };
        if self.regions.is_empty() {
            return values;
        }
        let width = self.values.len().max(1);
        let (mut regions, mut at) = (0, 0);
        for region in &self.regions {
            // At the width of a word there is one region.
            regions |= (card.regions >> (region % 64) & 1) << (at % LANES_MAX);
            at += width;
        }
        // Each region's bit stands where the values of that region begin: the product has them all.
        regions.wrapping_mul(values)
    }

    fn values_of_many(&self, row: Ref<'_>) -> u64 {
        if row.any_set(0) {
            return u64::MAX >> (LANES_MAX - self.values.len());
        }
        let set = row.set(0);
        let has = |value: u32| set[value as usize / 64] >> (value % 64) & 1;
        self.values.iter().rev().fold(0, |all, value| all << 1 | has(*value))
    }

    /// Counts the players of somebody who was met in the lanes of that ticket; says in which of those there may be enough now.
    pub(super) fn count(&mut self, lanes: u64, players: u8) -> u64 {
        if players >= self.large_from {
            self.count_large(lanes);
        }
        let (counts, dues) = (self.players.as_chunks_mut().0, self.due.as_chunks().0);
        let mut enough = 0;
        for (part, (counts, due)) in (0..self.parts).zip(counts.iter_mut().zip(dues)) {
            let here = (lanes >> (part * COUNTED)) as u8;
            if count_some(counts, due, here, players.into()) {
                enough |= u64::from(of_those_due(counts, due, here)) << (part * COUNTED);
            }
        }
        enough
    }

    /// A large party was met: once those that a group lacks have been, its lanes are tried.
    #[inline(never)]
    fn count_large(&mut self, lanes: u64) {
        let (Parties::NoneOrEach(Larges { missing, .. }) | Parties::Each(Larges { missing, .. })) =
            self.parties
        else {
            return;
        };
        let small = self.count_small();
        for lane in bits(lanes).map(|lane| lane as usize).filter(|lane| *lane >= small) {
            self.larges[lane] = self.larges[lane].saturating_add(1);
            if usize::from(self.larges[lane]) == missing {
                self.due[lane] = self.wanted;
            }
        }
    }

    /// Whether some of the players met in a lane are just as many as are wanted.
    pub(super) fn adds_up(&mut self, lane: u32, met: &[Candidate]) -> bool {
        self.sums(lane, met) >> self.wanted & 1 == 1
    }

    /// What the players met in a lane can add up to; asked for only where they are enough.
    fn sums(&mut self, lane: u32, met: &[Candidate]) -> u128 {
        let (sums, summed) = (&mut self.sums[lane as usize], &mut self.summed[lane as usize]);
        if *summed == 0 {
            *sums = 1;
        }
        let later = &met[usize::from(*summed)..];
        for at in members(lane, later) {
            *sums |= *sums << later[at].players;
        }
        // No more are met than are kept.
        *summed = u8::try_from(met.len()).unwrap_or(u8::MAX);
        *sums
    }

    /// A lane could not be filled by those met so far: it is tried again when a quarter of what is wanted has been met
    /// besides.
    pub(super) fn put_off(&mut self, lane: u32) {
        self.due[lane as usize] = self.players[lane as usize] + (self.wanted / 4).max(1);
    }

    /// A lane was full and is no match: whoever else is met, it stays full of the same.
    pub(super) fn give_up(&mut self, lane: u32) {
        self.due[lane as usize] = NEVER;
    }

    /// The lanes whose players can add up to so many at least, and no more than are wanted; the fullest first.
    pub(super) fn fullest(&mut self, least: u8, met: &[Candidate]) -> impl Iterator<Item = u32> + use<> {
        let enough = (u128::MAX << least) & !(u128::MAX << self.wanted << 1);
        let mut left = 0;
        for lane in 0..self.count_all() {
            let players = self.players[lane];
            let full =
                players > 0 && players >= u16::from(least) && self.sums(lane as u32, met) & enough != 0;
            left |= u64::from(full) << lane;
        }
        let players = self.players;
        core::iter::from_fn(move || {
            let lane = bits(left).max_by_key(|lane| (players[*lane as usize], core::cmp::Reverse(*lane)))?;
            left &= !(1 << lane);
            Some(lane)
        })
    }
}

/// The order of two by their names, which are seldom asked: most latencies differ.
#[inline(never)]
pub(super) fn by_name(names: &Interner, one: u32, other: u32) -> Ordering {
    names.text(one).cmp(&names.text(other))
}

/// More players than are ever met.
const NEVER: u16 = u16::MAX;
/// How many lanes are counted at a time.
const COUNTED: usize = 8;

/// Adds players to some lanes; says whether any of those has come to its number. Without a branch, for lanes are as they come, and so
/// that the compiler counts all at a time.
fn count_some(counts: &mut [u16; COUNTED], due: &[u16; COUNTED], lanes: u8, players: u16) -> bool {
    let mut any = 0;
    for lane in 0..COUNTED {
        let inside = if lanes & 1 << lane != 0 { u16::MAX } else { 0 };
        counts[lane] = counts[lane].saturating_add(players & inside);
        any |= inside & if counts[lane] >= due[lane] { u16::MAX } else { 0 };
    }
    any != 0
}

/// Which of some lanes have come to their number.
#[inline(never)]
fn of_those_due(counts: &[u16; COUNTED], due: &[u16; COUNTED], lanes: u8) -> u8 {
    let is_due = |lane: usize| u8::from(counts[lane] >= due[lane]) << lane;
    lanes & (0..COUNTED).map(is_due).fold(0, |all, lane| all | lane)
}

/// Who of some is in a lane, by the lanes of each; of 128 at most. All are asked without a branch, since lanes are as they come: only those
/// who are there cost a turn.
pub(super) fn members(lane: u32, those: &[Candidate]) -> impl Iterator<Item = usize> + Clone + use<> {
    let (first, others) = those.split_at(those.len().min(LANES_MAX));
    let others = if others.is_empty() { 0 } else { are_there(lane, others) };
    bits(are_there(lane, first)).chain(bits(others).map(|at| at + u64::BITS)).map(|at| at as usize)
}

/// Which of some are in a lane, one bit each. One for all who ask: each copy would be more code to be read for every match.
#[inline(never)]
fn are_there(lane: u32, those: &[Candidate]) -> u64 {
    those.iter().rev().fold(0, |all, it| all << 1 | it.lanes >> lane & 1)
}

/// The bits that are set, from the lowest on.
pub(super) fn bits(mut word: u64) -> impl Iterator<Item = u32> + Clone {
    core::iter::from_fn(move || {
        let lowest = (word != 0).then(|| word.trailing_zeros())?;
        word &= word - 1;
        Some(lowest)
    })
}
