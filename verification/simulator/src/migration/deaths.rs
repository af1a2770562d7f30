//! Hosts that do not die alone, in some of the worlds where nothing is wrong but that hosts die. With one go those who would come next, as where a
//! room loses its power; and one dies as it gives its session away. The session goes on as soon as after any other crash.
//!
//! It draws from the chance of those who are struck, which is no other's in such a world.

use mainstay_migration::{Guards, Handover, Input, PeerId};

use super::peer::{Alive, Handed};
use super::{Happening, World};
use crate::agenda::Micros;
use crate::laws::Broken;

/// In how many of a million such crashes the host is about to give its session away.
const GIVES: u32 = 500_000;
/// How long it lives yet, at most: giving takes a few round trips.
const GIVING_MAX: Micros = 200_000;
/// How many others go with a host, at most.
const COMPANY_MAX: u64 = 4;

impl<G: Guards> World<G> {
    pub(super) fn dies_in_company(&mut self, host: PeerId) -> Result<(), Broken> {
        if self.running().len() > 2 && self.fates.chance(GIVES) {
            return self.gives_and_dies(host);
        }
        let company = self.company(host);
        self.counts.companions += company.len() as u64;
        company.into_iter().try_for_each(|peer| self.crashes(peer))?;
        self.crashes(host)
    }

    /// Those who would come next, of whom so many are left that there can be another host at once.
    fn company(&mut self, host: PeerId) -> Vec<PeerId> {
        let most = self.fates.between(1, COMPANY_MAX);
        let running = self.running();
        let Some(session) = self.peers[&host].session() else { return Vec::new() };
        // A lobby, too, takes a host for lost that more than half of its members miss.
        let needed = session.view().majority();
        let voters = running.iter().filter(|peer| session.view().members.contains_key(peer)).count();
        let spare = voters.saturating_sub(1 + needed);
        let mut company: Vec<PeerId> = Vec::new();
        for _ in 0..most.min(spare as u64) {
            let stays = |peer: PeerId| peer != host && running.contains(&peer) && !company.contains(&peer);
            let next = self.scenario.order.first(session.hints(), stays);
            company.extend(next);
        }
        company
    }

    /// It says to whom, and dies before it is over, if it has not been quicker.
    fn gives_and_dies(&mut self, host: PeerId) -> Result<(), Broken> {
        let Some(session) = self.peers[&host].session() else { return Ok(()) };
        let (to, stamp) = (session.anticipated(), session.stamp());
        let last = self.peer(host).game.piece();
        self.peer(host).handed = Handed::Asked(stamp);
        self.say(host, |_| format!("gives its session to {to:?}, and is about to die"));
        self.give(host, Input::HandOver { to, why: Handover::Lobby, last })?;
        let at = self.fates.below(GIVING_MAX);
        self.after(at, Happening::DiesGiving { host });
        Ok(())
    }

    pub(super) fn dies_giving(&mut self, host: PeerId) -> Result<(), Broken> {
        let gives = self.peers[&host].session().is_some_and(mainstay_migration::Session::hands_over);
        if !gives || self.peers[&host].alive != Alive::Running {
            return Ok(());
        }
        self.counts.amid_giving += 1;
        self.crashes(host)
    }
}
