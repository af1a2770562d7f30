//! Worlds of a session under a lobby that falls in two, again and again: its host and a few are cut off from the rest, all of whom reach the lobby. The rest
//! goes on under another host, and after a while that one dies. Whoever follows has to be one who was with it.

use std::collections::BTreeSet;

use mainstay_migration::{Guards, PeerId};

use super::{Happening, World};
use crate::agenda::Micros;
use crate::laws::Broken;

/// How many are needed for a smaller side of two, and a larger one that loses its host and is still the larger.
const LEAST: usize = 5;
/// How long after they are parted the host of the larger side dies: it has been host for some seconds.
const DIES_AFTER: (Micros, Micros) = (10_000_000, 18_000_000);
/// How long after that they stay parted.
const PARTED_AFTER: (Micros, Micros) = (2_000_000, 8_000_000);

impl<G: Guards> World<G> {
    /// They are parted, where they are not.
    pub(super) fn divides(&mut self) {
        let all = self.running();
        let Some(host) = self.host().filter(|_| all.len() >= LEAST && self.cuts.is_empty()) else { return };
        let most = u64::try_from((all.len() - 1) / 2).unwrap_or(1);
        let size = usize::try_from(self.random.between(1, most)).unwrap_or(1);
        let mut smaller = BTreeSet::from([host]);
        while smaller.len() < size {
            smaller.insert(all[self.random.index(all.len())]);
        }
        let crosses = |one: PeerId, other: PeerId| smaller.contains(&one) != smaller.contains(&other);
        let of = |one: PeerId| {
            all.iter().copied().filter(move |other| crosses(one, *other)).map(move |other| (one, other))
        };
        let links: BTreeSet<(PeerId, PeerId)> = all.iter().copied().flat_map(of).collect();
        let (dies, parted) = (
            self.random.between(DIES_AFTER.0, DIES_AFTER.1),
            self.random.between(PARTED_AFTER.0, PARTED_AFTER.1),
        );
        self.cut(links, dies + parted);
        self.after(dies, Happening::LosesItsHost);
    }

    /// The host that most obey dies, if they are parted still.
    pub(super) fn loses_its_host(&mut self) -> Result<(), Broken> {
        match self.host() {
            Some(host) if self.busy && !self.cuts.is_empty() && self.running().len() > 2 => {
                self.crashes(host)
            }
            Some(_) | None => Ok(()),
        }
    }
}
