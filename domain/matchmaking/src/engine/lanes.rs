//! What a match around a ticket could share: each *lane* is one region and one value of the first list that the ticket could play
//! by, and, where large parties have to meet others, whether there are any. A group of tickets that fit each other lies in a
//! lane whole, so counting players by lane says, before any group is tried, which of them can become a match.

use alloc::vec::Vec;

use super::group::Group;
use super::interner::Interner;
use super::slab::{Layout, Ref};

/// The most lanes: as many as a word has bits. A ticket of more counts by regions alone, or not at all.
const LANES_MAX: usize = 64;

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
    /// None, or one for each team; from so many players on they are large.
    NoneOrEach { large_from: u8 },
    /// One for each team: it has one already.
    Each,
}

/// The lanes of one search, and the players met in each.
#[derive(Debug, Clone)]
pub(super) struct Lanes {
    /// The regions, the closest to the seed first; none where no rule restricts them.
    regions: Vec<u32>,
    /// The values, by name; none where no rule restricts them.
    values: Vec<u32>,
    /// Where large parties have to meet others: each lane is there twice, first for those who are small.
    parties: Parties,
    players: [u16; LANES_MAX],
    /// What those players can add up to, ticket by ticket, one bit each.
    sums: [u128; LANES_MAX],
    /// At how many players a lane is tried.
    due: [u16; LANES_MAX],
    /// How many fill it.
    wanted: u16,
}

impl Default for Lanes {
    fn default() -> Self {
        let none = [0; LANES_MAX];
        let (regions, values) = (Vec::new(), Vec::new());
        let sums = [0; LANES_MAX];
        Self { regions, values, parties: Parties::Any, players: none, sums, due: none, wanted: 0 }
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
        let most = match parties {
            Parties::Any | Parties::Each => LANES_MAX,
            Parties::NoneOrEach { .. } => LANES_MAX / 2,
        };
        self.regions.clear();
        if group.regions() != u64::MAX && group.regions().count_ones() as usize <= most {
            self.regions.extend(bits(group.regions()));
            self.regions.sort_unstable_by(|one, other| {
                let by_latency = seed.latency(*one as usize).cmp(&seed.latency(*other as usize));
                by_latency.then_with(|| regions.text(*one).cmp(&regions.text(*other)))
            });
        }
        self.values.clear();
        if let (Some((shared, need)), Some(values)) = (group.first_set(layout), values)
            && need > 0
        {
            let count: u32 = shared.iter().map(|word| word.count_ones()).sum();
            if self.regions.len().max(1) * count as usize <= most {
                let words = (0_u32..).zip(shared);
                self.values.extend(words.flat_map(|(at, word)| bits(*word).map(move |bit| at * 64 + bit)));
                self.values.sort_unstable_by(|one, other| values.text(*one).cmp(&values.text(*other)));
            }
        }
        self.empty();
    }

    /// Nobody was met yet.
    pub(super) fn empty(&mut self) {
        let lanes = self.count_all();
        self.players[..lanes].fill(0);
        self.sums[..lanes].fill(1);
        self.due[..lanes].fill(self.wanted);
    }

    fn count_all(&self) -> usize {
        match self.parties {
            Parties::Any | Parties::Each => self.count_once(),
            Parties::NoneOrEach { .. } => self.count_once() * 2,
        }
    }

    /// How many there are, but for parties.
    fn count_once(&self) -> usize {
        self.regions.len().max(1) * self.values.len().max(1)
    }

    /// Whether a lane is one for groups with large parties.
    pub(super) fn is_of_large(&self, lane: u32) -> bool {
        match self.parties {
            Parties::Any => false,
            Parties::Each => true,
            Parties::NoneOrEach { .. } => lane as usize >= self.count_once(),
        }
    }

    /// In which lanes a ticket is, one bit each.
    pub(super) fn of(&self, row: Ref<'_>) -> u64 {
        let lanes = self.shared_with(row);
        match self.parties {
            Parties::Any | Parties::Each => lanes,
            Parties::NoneOrEach { large_from } if row.shape().players < large_from => {
                lanes | lanes << self.count_once()
            }
            Parties::NoneOrEach { .. } => lanes << self.count_once(),
        }
    }

    fn shared_with(&self, row: Ref<'_>) -> u64 {
        let width = self.values.len().max(1);
        let mut values = u64::MAX >> (LANES_MAX - width);
        if !self.values.is_empty() && !row.any_set(0) {
            let set = row.set(0);
            let has = |value: u32| set[value as usize / 64] >> (value % 64) & 1;
            values = self.values.iter().rev().fold(0, |all, value| all << 1 | has(*value));
        }
        if self.regions.is_empty() {
            return values;
        }
        let own = row.regions();
        let lane = |all: u64, region: &u32| {
            // The width is 64 only where there is one region.
            all.checked_shl(width as u32).unwrap_or(0) | (values & (own >> region & 1).wrapping_neg())
        };
        self.regions.iter().rev().fold(0, lane)
    }

    /// Counts a ticket's players in its lanes; says which of them it is time to try.
    pub(super) fn count(&mut self, lanes: u64, players: u8) -> u64 {
        let mut due = 0;
        for lane in bits(lanes) {
            let here = &mut self.players[lane as usize];
            *here = here.saturating_add(players.into());
            let sums = &mut self.sums[lane as usize];
            *sums |= *sums << players;
            let fills = *sums >> self.wanted & 1 == 1;
            due |= u64::from(fills && *here >= self.due[lane as usize]) << lane;
        }
        due
    }

    /// A lane could not be filled by those met so far: it is tried again when a quarter of what is wanted has been met
    /// besides.
    pub(super) fn put_off(&mut self, lane: u32) {
        self.due[lane as usize] = self.players[lane as usize] + (self.wanted / 4).max(1);
    }

    /// The lanes whose players can add up to so many at least, and no more than are wanted; the fullest first.
    pub(super) fn fullest(&self, least: u8) -> impl Iterator<Item = u32> + use<> {
        let players = self.players;
        let enough = (u128::MAX << least) & !(u128::MAX << self.wanted << 1);
        let full = |lane: usize| u64::from(players[lane] > 0 && self.sums[lane] & enough != 0) << lane;
        let mut left = (0..self.count_all()).map(full).fold(0, |all, lane| all | lane);
        core::iter::from_fn(move || {
            let lane = bits(left).max_by_key(|lane| (players[*lane as usize], core::cmp::Reverse(*lane)))?;
            left &= !(1 << lane);
            Some(lane)
        })
    }
}

/// The bits that are set, from the lowest on.
pub(super) fn bits(mut word: u64) -> impl Iterator<Item = u32> {
    core::iter::from_fn(move || {
        let lowest = (word != 0).then(|| word.trailing_zeros())?;
        word &= word - 1;
        Some(lowest)
    })
}
