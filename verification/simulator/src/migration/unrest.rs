//! What people, programs and networks do while a session moves: somebody comes, leaves, is thrown out or changes its network; a burst of
//! packets is lost; a member asks to be host by a list of old; somebody asks to be let in whose program is of another version.
//!
//! It draws from the chance of those who are struck in the moment of a step, for that is when some of it happens.

use std::collections::{BTreeSet, VecDeque};

use mainstay_migration::{Body, Claim, Guards, Input, Message, NatType, PeerId, View};

use super::peer::Version;
use super::{Happening, Parcel, World};
use crate::agenda::Micros;
use crate::laws::Broken;

/// How long until the next, at most.
const PAUSE: Micros = 6_000_000;
/// How long a burst is.
const BURST_MIN: Micros = 20_000;
const BURST_MAX: Micros = 200_000;
/// For how long whoever changes its network is in none.
const ROAMS_MIN: Micros = 50_000;
const ROAMS_MAX: Micros = 1_500_000;
/// How many ask in vain, at most.
const VERSIONS_MAX: u64 = 3;
/// How many lists of old are remembered.
const VIEWS_MAX: usize = 16;

/// What is remembered for it.
#[derive(Debug, Default)]
pub(super) struct Unrest {
    /// What hosts have written, as they signed it.
    views: VecDeque<View>,
}

impl Unrest {
    /// Somebody says something: perhaps who votes.
    pub(super) fn note_view(&mut self, message: &Message) {
        if let Body::View(view) = &message.body
            && self.views.back().is_none_or(|newest| newest.id < view.id)
        {
            self.views.push_back(view.clone());
            if self.views.len() > VIEWS_MAX {
                self.views.pop_front();
            }
        }
    }
}

impl<G: Guards> World<G> {
    /// One of all of that, and another later.
    pub(super) fn stirs(&mut self) -> Result<(), Broken> {
        if !self.busy {
            return Ok(());
        }
        let pause = self.fates.between(10_000, PAUSE);
        self.after(pause, Happening::Stirs);
        match self.fates.below(8) {
            0..=2 => self.changes(),
            3..=4 => self.loses_a_burst(),
            5..=6 => self.claims_by_an_old_list(),
            _ => self.asks_in_with_another_version(),
        }
    }

    /// Somebody comes, goes or changes its network.
    pub(super) fn changes(&mut self) -> Result<(), Broken> {
        if !self.busy {
            return Ok(());
        }
        match self.fates.below(8) {
            0..=1 => self.somebody_starts(),
            2 => self.leaves(),
            3 => self.kicks(),
            _ => self.roams(),
        }
    }

    /// A machine is in another network than before: its links break, others reach it otherwise, and for a while nobody does.
    fn roams(&mut self) -> Result<(), Broken> {
        let Some(peer) = self.anybody() else { return Ok(()) };
        let span = self.fates.between(ROAMS_MIN, ROAMS_MAX);
        let nat = [NatType::Open, NatType::Moderate, NatType::Strict, NatType::Unknown][self.fates.index(4)];
        let ping_ms = u16::try_from(self.fates.between(5, 200)).unwrap_or(u16::MAX);
        self.counts.roamed += 1;
        self.say(peer, |_| format!("changes its network: {nat:?}, {ping_ms} ms"));
        let others: Vec<PeerId> = self.running().into_iter().filter(|other| *other != peer).collect();
        self.is_cut_off(peer, span);
        self.oracle.trouble_with(peer, self.now);
        self.give(peer, Input::Reachable { nat, ping_ms })?;
        for other in others {
            // Who is told of it, and who finds out by silence, is chance.
            if self.fates.chance(500_000) {
                self.loses_link(peer, other)?;
            }
            if self.fates.chance(200_000) {
                self.loses_link(other, peer)?;
            }
        }
        Ok(())
    }

    fn loses_a_burst(&mut self) -> Result<(), Broken> {
        let Some(peer) = self.anybody() else { return Ok(()) };
        let span = self.fates.between(BURST_MIN, BURST_MAX);
        self.counts.bursts += 1;
        self.is_cut_off(peer, span);
        Ok(())
    }

    /// From and to everybody.
    pub(super) fn is_cut_off(&mut self, peer: PeerId, span: Micros) {
        let others = self.running().into_iter().filter(|other| *other != peer);
        let links: BTreeSet<_> = others.flat_map(|other| [(peer, other), (other, peer)]).collect();
        self.cut(links, span);
    }

    /// A candidate lies: it asks for votes by a list that its host has written once, and that may still name who has gone, or not yet who has come.
    fn claims_by_an_old_list(&mut self) -> Result<(), Broken> {
        let Some(liar) = self.anybody() else { return Ok(()) };
        let drawn = self.fates.index(self.unrest.views.len());
        let Some(view) = self.unrest.views.get(drawn).cloned() else { return Ok(()) };
        let Some(session) = self.peers[&liar].session() else { return Ok(()) };
        if session.is_host() {
            return Ok(());
        }
        let (stamp, epoch) = (session.stamp(), session.ballot().promised().next());
        let message = Message {
            session: self.session,
            stamp,
            body: Body::Claim(Claim { epoch, candidate: liar, view }),
        };
        self.counts.old_claims += 1;
        self.oracle.trouble_with(liar, self.now);
        self.say(liar, |_| format!("lies: it asks for votes in {epoch} by a list of old"));
        for to in self.running().into_iter().filter(|to| *to != liar) {
            let parcel = Parcel::Protocol(Box::new(message.clone()));
            self.after(self.scenario.delay, Happening::Arrives { from: liar, to, parcel });
        }
        Ok(())
    }

    fn asks_in_with_another_version(&mut self) -> Result<(), Broken> {
        if self.counts.of_another_version >= VERSIONS_MAX {
            return Ok(());
        }
        let peer = self.new_peer();
        self.peer(peer).speaks = Version::Another;
        self.counts.of_another_version += 1;
        self.say(peer, |_| "speaks another version".to_owned());
        self.starts(peer)
    }
}
