//! Whom a new host asks for the newest state, among members of whom some may say that they hold what nobody wrote.
//!
//! A claim costs nothing, so no claim keeps the new host from asking others: it asks a few at once, the newest claims first, and
//! in each round those that were asked the least. Who answers with a forgery is not asked or waited for again.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::cmp::Reverse;
use core::time::Duration;

use mainstay_core::Timestamp;

use crate::PeerId;
use crate::descent::Descent;
use crate::session::{AGAIN, STANDBYS};

/// How many are asked in a round: as many as hold the newest state of a host, and one that lies. Each may send
/// [`crate::STATE_BYTES_MAX`].
const ASKED_AT_ONCE: usize = STANDBYS + 1;

/// How long whoever is heard and holds what a host would go on from is waited for: what was acknowledged, be its line slow or its machine busy. A
/// state of a megabyte takes that long at 2 Mbit/s.
pub(super) const FETCHING_MAX: Duration = Duration::from_secs(5);

/// How often whoever answers with that alone is asked.
const ROOT_ROUNDS: u32 = 3;

/// What a new host knows of those who say that they hold more than it does.
#[derive(Debug, Clone, Default)]
pub(super) struct Gathering {
    /// When it asked last.
    asked: Option<Timestamp>,
    /// How often each was asked, and since when.
    rounds: BTreeMap<PeerId, (u32, Timestamp)>,
    /// Who sent what no host wrote.
    forgers: BTreeSet<PeerId>,
}

impl Gathering {
    /// Who of these is asked next, and waited for. Empty: nobody is.
    pub(super) fn holders(&self, mut claims: Vec<(PeerId, Descent)>) -> Vec<PeerId> {
        claims.retain(|(peer, _)| !self.forgers.contains(peer));
        let rounds = |peer: &PeerId| self.rounds.get(peer).map(|(rounds, _)| *rounds);
        claims.sort_by_key(|(peer, holds)| (rounds(peer), Reverse(*holds)));
        claims.into_iter().map(|(peer, _)| peer).take(ASKED_AT_ONCE).collect()
    }

    /// The same of those who were not asked in vain for long.
    pub(super) fn patiently(&self, now: Timestamp, mut claims: Vec<(PeerId, Descent)>) -> Vec<PeerId> {
        claims.retain(|(peer, _)| self.rounds.get(peer).is_none_or(|(_, since)| now < *since + FETCHING_MAX));
        self.holders(claims)
    }

    /// Asks them, if it is time to: returns whom.
    pub(super) fn ask(&mut self, now: Timestamp, holders: Vec<PeerId>) -> Vec<PeerId> {
        if holders.is_empty() || self.asked.is_some_and(|asked| now < asked + AGAIN) {
            return Vec::new();
        }
        self.asked = Some(now);
        holders.iter().for_each(|peer| self.rounds.entry(*peer).or_insert((0, now)).0 += 1);
        holders
    }

    /// What that one sent is of a side that this peer knows nothing of. It may be asked again for what that goes back to: what it sends of that may be lost.
    pub(super) fn pass_over(&mut self, peer: PeerId) {
        if self.rounds.get(&peer).is_none_or(|(rounds, _)| *rounds >= ROOT_ROUNDS) {
            self.distrust(peer);
        }
    }

    /// Of how many something is known.
    pub(super) fn kept(&self) -> usize {
        self.rounds.len().max(self.forgers.len())
    }

    /// What that one sent no host wrote. Whoever was not asked for its sake is, at once.
    pub(super) fn distrust(&mut self, peer: PeerId) {
        if self.forgers.insert(peer) {
            self.asked = None;
        }
    }
}
