//! What has happened in a queue, for whoever watches it: how its tickets ended, how long they waited, what its matches are like.
//!
//! Soft: counted from a leader's first command on, and gone with it; what a replay does again is not counted.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;

use mainstay_core::{Buckets, Timestamp};

use crate::amount::Amount;
use crate::attribute::Value;
use crate::engine::Kind;
use crate::spec::{QueueSpec, RuleKind, Venue};
use crate::ticket::{Cancellation, Match};

/// How long something took, in milliseconds.
pub type Waits = Buckets<{ WAITS_MS.len() }>;
/// How many players matches have.
pub type Players = Buckets<{ PLAYERS.len() }>;
/// How far the players of matches are apart by a rule, in millionths.
pub type Spreads = Buckets<{ SPREADS.len() }>;

/// Where waits are told apart: at once, what a player does not notice, what he bears, what he does not, an evening.
const WAITS_MS: [u64; 12] =
    [100, 250, 1_000, 2_500, 5_000, 10_000, 30_000, 60_000, 120_000, 300_000, 900_000, 3_600_000];
/// Where matches are told apart: duels, the usual teams, the largest match there is.
const PLAYERS: [u64; 9] = [2, 4, 6, 8, 10, 16, 32, 64, 100];
/// Where spreads are told apart: attributes may be levels or ratings.
const SPREADS: [u64; 12] = {
    const WHOLE: u64 = 1_000_000;
    let mut bounds = [0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 5_000];
    let mut at = 0;
    while at < bounds.len() {
        bounds[at] *= WHOLE;
        at += 1;
    }
    bounds
};

/// What a queue has counted since its leader began.
#[derive(Debug, Clone)]
pub struct Tally {
    waits: [Waits; 2],
    canceled: [[u64; Cancellation::ALL.len()]; 2],
    players: Players,
    spreads: BTreeMap<Arc<str>, Spreads>,
    filled: u64,
    played: BTreeMap<Arc<str>, Waits>,
}

impl Tally {
    /// Nothing yet.
    pub(crate) const fn new() -> Self {
        Self {
            waits: [Waits::new(&WAITS_MS); 2],
            canceled: [[0; Cancellation::ALL.len()]; 2],
            players: Players::new(&PLAYERS),
            spreads: BTreeMap::new(),
            filled: 0,
            played: BTreeMap::new(),
        }
    }

    /// A ticket that began to search then is matched.
    pub(crate) fn matched(&mut self, kind: Kind, since: Timestamp, at: Timestamp) {
        self.waits[kind as usize].add(ms(since, at));
    }

    /// A ticket ended without a match.
    pub(crate) const fn canceled(&mut self, kind: Kind, reason: Cancellation) {
        self.canceled[kind as usize][reason as usize] += 1;
    }

    /// A match was formed; of a game that went on, where so many already played: it may have been empty.
    pub(crate) fn formed(&mut self, spec: &QueueSpec, formed: &Match, filled: Option<usize>) {
        self.players.add(formed.members.len() as u64);
        if let Some(played_already) = filled {
            self.filled += (formed.members.len() - played_already) as u64;
        }
        for (place, rule) in spec.rules.iter().enumerate() {
            let RuleKind::Difference { .. } = rule.kind else { continue };
            let Some(spread) = spread(formed, place) else { continue };
            match self.spreads.get_mut(&rule.name) {
                Some(spreads) => spreads.add(spread),
                None => {
                    let mut spreads = Spreads::new(&SPREADS);
                    spreads.add(spread);
                    self.spreads.insert(rule.name.clone(), spreads);
                }
            }
        }
    }

    /// A ticket that was made then has a server of a fleet to play on.
    pub(crate) fn plays(&mut self, fleet: &Arc<str>, created: Timestamp, at: Timestamp) {
        self.played.entry(fleet.clone()).or_insert(Waits::new(&WAITS_MS)).add(ms(created, at));
    }

    /// The queue matches by this from now on: what it told of other rules and fleets is told no more.
    pub(crate) fn reconfigured(&mut self, spec: &QueueSpec) {
        let compares = |name: &Arc<str>| {
            let same = spec.rules.iter().find(|rule| rule.name == *name);
            same.is_some_and(|rule| matches!(rule.kind, RuleKind::Difference { .. }))
        };
        self.spreads.retain(|rule, _| compares(rule));
        let fleet = match &spec.venue {
            Some(Venue::Server(allocation)) => Some(&allocation.fleet),
            Some(Venue::Session { .. }) | None => None,
        };
        self.played.retain(|known, _| Some(known) == fleet);
    }

    /// How long tickets searched before they were matched.
    #[must_use]
    pub const fn waits(&self, kind: Kind) -> &Waits {
        &self.waits[kind as usize]
    }

    /// How many tickets ended without a match, for this reason.
    #[must_use]
    pub const fn canceled_for(&self, kind: Kind, reason: Cancellation) -> u64 {
        self.canceled[kind as usize][reason as usize]
    }

    /// How many players matches have, those of a game that was filled included. One is counted for each match.
    #[must_use]
    pub const fn players(&self) -> &Players {
        &self.players
    }

    /// By rule that compares numbers: how far the players of a match are apart.
    pub fn spreads(&self) -> impl Iterator<Item = (&Arc<str>, &Spreads)> {
        self.spreads.iter()
    }

    /// How many players came into games that went on.
    #[must_use]
    pub const fn filled(&self) -> u64 {
        self.filled
    }

    /// By fleet: from a ticket's making to the server its match got.
    pub fn time_to_play(&self) -> impl Iterator<Item = (&Arc<str>, &Waits)> {
        self.played.iter()
    }
}

fn ms(since: Timestamp, at: Timestamp) -> u64 {
    u64::try_from(at.since(since).as_millis()).unwrap_or(u64::MAX)
}

/// How far the players of a match are apart by a rule's numbers; `None` where nobody has one.
fn spread(formed: &Match, rule: usize) -> Option<u64> {
    let numbers =
        formed.members.iter().filter_map(|seated| match seated.member.attributes.values.get(rule)? {
            Some(Value::Number(number)) => Some(*number),
            Some(Value::Text(_) | Value::Texts(_) | Value::Latencies(_) | Value::Other(_)) | None => None,
        });
    let range = |found: Option<(Amount, Amount)>, number: Amount| {
        Some(found.map_or((number, number), |(least, most)| (least.min(number), most.max(number))))
    };
    let (least, most) = numbers.fold(None, range)?;
    Some(most.millionths().abs_diff(least.millionths()))
}
