//! Worlds of a session that falls in two, again and again. Under a lobby, which all reach, its host and a few are cut off from the rest, which goes on under another
//! host, and after a while that one dies: whoever follows has to be one who was with it. Elsewhere one is cut off, and goes on alone before it is put out; then the host stands still as
//! the others die, so that it alone holds what it acknowledged as the two meet.

use std::collections::BTreeSet;

use mainstay_migration::{Guards, PeerId};

use super::clock::Sleeps;
use super::{Happening, World};
use crate::agenda::Micros;
use crate::laws::Broken;

/// How many are needed for a smaller side of two, and a larger one that loses its host and is still the larger.
const LEAST: usize = 5;
/// How long after they are parted the host of the larger side dies: it has been host for some seconds.
const DIES_AFTER: (Micros, Micros) = (10_000_000, 18_000_000);
/// How long after that they stay parted.
const PARTED_AFTER: (Micros, Micros) = (2_000_000, 8_000_000);
/// How long whoever is cut off alone has gone on, and has a vote still.
const ALONE_FOR: (Micros, Micros) = (3_200_000, 4_800_000);
/// How long the host stands still then: longer than it is waited for, and nobody moves before it hears the other.
const STILL_FOR: (Micros, Micros) = (500_000, 9_000_000);

impl<G: Guards> World<G> {
    /// They are parted, where they are not.
    pub(super) fn divides(&mut self) {
        if self.has_lobby() {
            return self.cuts_the_host_off();
        }
        let (all, host) = (self.running(), self.host());
        let away = all.iter().copied().filter(|id| Some(*id) != host).collect::<Vec<_>>();
        if away.len() < 2 || !self.cuts.is_empty() {
            return;
        }
        let away = away[self.random.index(away.len())];
        let to_and_fro = |other: PeerId| [(away, other), (other, away)];
        let links = all.iter().copied().filter(|other| *other != away).flat_map(to_and_fro).collect();
        let alone = self.random.between(ALONE_FOR.0, ALONE_FOR.1);
        let still = self.random.between(STILL_FOR.0, STILL_FOR.1);
        self.cut(links, alone + still);
        self.after(alone, Happening::LosesItsHost { away: Some((away, still)) });
    }

    fn cuts_the_host_off(&mut self) {
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
        self.after(dies, Happening::LosesItsHost { away: None });
    }

    /// The host that most obey dies, if they are parted still; or stands still, where one is cut off alone, and all others die.
    pub(super) fn loses_its_host(&mut self, away: Option<(PeerId, Micros)>) -> Result<(), Broken> {
        let Some(host) = self.host().filter(|_| self.busy && !self.cuts.is_empty()) else { return Ok(()) };
        match away {
            None if self.running().len() > 2 => self.crashes(host),
            None => Ok(()),
            Some((away, still)) => {
                self.stands_still(host, still + self.scenario.delay, Sleeps::No);
                let die = self.running().into_iter().filter(|id| *id != host && *id != away);
                die.collect::<Vec<_>>().into_iter().try_for_each(|id| self.crashes(id))
            }
        }
    }
}
