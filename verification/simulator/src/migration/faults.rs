//! What goes wrong, and what people do meanwhile.

use std::collections::{BTreeMap, BTreeSet};

use mainstay_migration::{
    Announcement, Body, CanBeHost, Cause, Certificate, Guards, Handover, Input, Keys, Message, NAMES, PeerId,
    Proof, Signature, Stamp, View, ViewId, Vote,
};

use super::clock::Sleeps;
use super::keys::NamedKeys;
use super::peer::{Alive, Handed, Life};
use super::scenario::{Comers, Deaths, Faults};
use super::{Happening, Parcel, REST, SLEEP_MAX, World};
use crate::agenda::Micros;
use crate::laws::Broken;

/// In how many of a million crashes the next host dies before it is over.
const TOO: u32 = 250_000;
/// How long somebody stands still at least, where nothing else is wrong.
const SLEEP_MIN: Micros = 300_000;
/// In how many of a million faults the lobby is struck, where there is one.
const LOBBY: u32 = 120_000;
/// How many of a million that start have no pass of the lobby, where there is one.
const INTRUDERS: u32 = 300_000;
/// How many start after the beginning, at most: each costs time in every later event.
const LATE_MAX: u128 = 6;

impl<G: Guards> World<G> {
    /// One fault of this world's kind.
    pub(super) fn strike(&mut self) -> Result<(), Broken> {
        if self.scenario.comers == Comers::OneForEach {
            self.refills();
        }
        match self.scenario.faults {
            Faults::HostAfterHost => {
                if self.now < self.went + REST && !super::laws::is_at_rest(self) {
                    return Ok(());
                }
                super::laws::stands_firm(self)?;
                self.went = self.now;
                self.host_goes()
            }
            Faults::Calm => self.hands_over(),
            Faults::Sleepers => self.one_sleeps_or_goes(),
            Faults::HostCrashes => {
                super::laws::stands_firm(self)?;
                match self.host() {
                    Some(host) if self.running().len() > 1 && self.scenario.deaths == Deaths::InCompany => {
                        self.dies_in_company(host)
                    }
                    Some(host) if self.running().len() > 1 => {
                        self.crashes(host)?;
                        if self.random.chance(TOO) {
                            let at = self.random.below(4_000_000);
                            self.after(at, Happening::CrashesToo);
                        }
                        Ok(())
                    }
                    Some(_) | None => Ok(()),
                }
            }
            Faults::OneDeaf => self.deafens(),
            // It goes on beside: see `storms` and `several`.
            Faults::Stormer | Faults::Beside => Ok(()),
            Faults::Wireless => {
                self.pauses_radio();
                Ok(())
            }
            Faults::HostUnheard => {
                self.cuts_host_from_lobby();
                Ok(())
            }
            Faults::Swarm if self.scenario.deaths == Deaths::OfTheLarger => {
                self.divides();
                Ok(())
            }
            Faults::Swarm if self.has_lobby() && self.random.chance(LOBBY) => {
                self.strikes_lobby();
                Ok(())
            }
            Faults::Swarm => match self.random.below(100) {
                0..=9 => self.strikes_host_or(|world, peer| world.crashes(peer)),
                10..=21 => self.strikes_host_or(|world, peer| {
                    world.freezes(peer);
                    Ok(())
                }),
                22..=33 => self.cuts_pair(),
                34..=43 => self.partitions(),
                44..=49 => self.hands_over(),
                50..=54 => self.leaves(),
                55..=64 => self.somebody_starts(),
                65..=67 => self.kicks(),
                68..=75 => self.changes_settings(),
                76..=83 => self.forges(),
                84..=89 => self.breaks_link(),
                90..=94 => self.changes_suitability(),
                _ => self.cuts_host_one_way(),
            },
        }
    }

    fn one_sleeps_or_goes(&mut self) -> Result<(), Broken> {
        match self.random.below(10) {
            0..=6 => self.strikes_host_or(|world, peer| {
                let span = world.random.between(SLEEP_MIN, SLEEP_MAX);
                world.stands_still(peer, span, Sleeps::No);
                Ok(())
            }),
            _ => self.host_goes(),
        }
    }

    /// Everybody who runs and is in the session.
    pub(super) fn running(&self) -> Vec<PeerId> {
        let runs =
            |(_, peer): &(&PeerId, &super::Peer<G>)| peer.alive == Alive::Running && peer.session().is_some();
        self.peers.iter().filter(runs).map(|(id, _)| *id).collect()
    }

    /// The host that most obey.
    pub(super) fn host(&self) -> Option<PeerId> {
        let mut obeyed: BTreeMap<PeerId, usize> = BTreeMap::new();
        for id in self.running() {
            if let Some(session) = self.peers[&id].session() {
                *obeyed.entry(session.leader()).or_default() += 1;
            }
        }
        obeyed
            .into_iter()
            .max_by_key(|(_, count)| *count)
            .map(|(id, _)| id)
            .filter(|id| self.running().contains(id))
    }

    pub(super) fn anybody(&mut self) -> Option<PeerId> {
        let all = self.running();
        let index = self.random.index(all.len());
        all.get(index).copied()
    }

    fn strikes_host_or(
        &mut self,
        strike: impl FnOnce(&mut Self, PeerId) -> Result<(), Broken>,
    ) -> Result<(), Broken> {
        let peer = if self.random.chance(600_000) { self.host() } else { self.anybody() };
        match peer {
            Some(peer) if self.running().len() > 1 => strike(self, peer),
            Some(_) | None => Ok(()),
        }
    }

    pub(super) fn crashes(&mut self, peer: PeerId) -> Result<(), Broken> {
        self.say(peer, |_| "crashes".to_owned());
        self.counts.crashes += 1;
        // Whoever is dead has no session any more.
        let stamp = self.peers[&peer].session().map(|session| session.stamp());
        self.peer(peer).alive = Alive::Dead;
        // Whose session has ended went then.
        if !matches!(self.peers[&peer].life, Life::Over) {
            self.oracle.goes(peer, self.now);
        }
        if let Some(stamp) = stamp {
            // Whoever obeys the next one already does not miss it.
            let misses = |id: &PeerId| self.peers[id].session().is_some_and(|it| it.stamp() <= stamp);
            let survivors = self.running().into_iter().filter(misses).collect();
            self.oracle.crashed(self.now, stamp, survivors);
        }
        // A process that crashes on a machine that runs is told of: its sockets answer with errors.
        if self.scenario.faults == Faults::Swarm && self.random.chance(300_000) {
            for other in self.running() {
                self.loses_link(other, peer)?;
            }
        }
        Ok(())
    }

    /// The next host, or whoever is to be it, dies before it is over.
    pub(super) fn crashes_too(&mut self) -> Result<(), Broken> {
        let next = self.running().into_iter().find_map(|id| {
            let session = self.peers[&id].session()?;
            let next = [session.leader()].into_iter().chain(session.anticipated());
            next.into_iter().find(|peer| self.running().contains(peer))
        });
        match next {
            Some(next) if self.running().len() > 1 => {
                self.crashes(next)?;
                self.oracle.crashed_too();
                Ok(())
            }
            Some(_) | None => Ok(()),
        }
    }

    pub(super) fn freezes(&mut self, peer: PeerId) {
        let span = self.freezes_for(20_000_000);
        let sleeps = self.has_clock_that_sleeps();
        self.stands_still(peer, span, sleeps);
    }

    /// A process stands still so long, and perhaps its clock with it.
    pub(super) fn stands_still(&mut self, peer: PeerId, span: u64, sleeps: Sleeps) {
        self.say(peer, |_| format!("freezes for {span} µs"));
        self.counts.freezes += 1;
        self.peer(peer).alive = Alive::Frozen;
        self.peer(peer).froze = Some(self.now + span);
        match sleeps {
            Sleeps::No => {}
            Sleeps::Yes => {
                self.counts.slept += 1;
                self.peer(peer).asleep = Some(self.now);
            }
        }
        self.after(span, Happening::Thaws { peer });
    }

    pub(super) fn cut(&mut self, links: BTreeSet<(PeerId, PeerId)>, span: u64) {
        self.say("network", |_| format!("cut for {span} µs: {links:?}"));
        self.counts.cuts += 1;
        let cut = self.next_cut;
        self.next_cut += 1;
        self.cuts.insert(cut, links);
        self.after(span, Happening::Heals { cut });
    }

    fn cuts_pair(&mut self) -> Result<(), Broken> {
        let (Some(one), Some(other)) = (self.anybody(), self.anybody()) else { return Ok(()) };
        let mut links = BTreeSet::from([(one, other)]);
        if self.random.chance(500_000) {
            links.insert((other, one));
        }
        let span = self.random.between(200_000, 15_000_000);
        self.cut(links, span);
        Ok(())
    }

    fn cuts_host_one_way(&mut self) -> Result<(), Broken> {
        let Some(host) = self.host() else { return Ok(()) };
        let hears = self.random.chance(500_000);
        let others = self.running();
        let links =
            others.iter().filter(|it| **it != host).map(|it| if hears { (*it, host) } else { (host, *it) });
        let links = links.collect();
        let span = self.random.between(500_000, 15_000_000);
        self.cut(links, span);
        Ok(())
    }

    fn partitions(&mut self) -> Result<(), Broken> {
        let all = self.running();
        let side: BTreeSet<PeerId> = all.iter().copied().filter(|_| self.random.chance(500_000)).collect();
        let mut links = BTreeSet::new();
        for one in &all {
            for other in &all {
                if side.contains(one) != side.contains(other) {
                    links.insert((*one, *other));
                }
            }
        }
        let span = self.random.between(500_000, 25_000_000);
        self.cut(links, span);
        Ok(())
    }

    /// A scan for other networks, a move to another access point, a burst of somebody else's: for 50 to 450 ms nothing goes
    /// either way, and then all of it at once.
    fn pauses_radio(&mut self) {
        let Some(peer) = self.anybody() else { return };
        let span = self.random.between(50_000, 450_000);
        self.radios.insert(peer, self.now + span);
    }

    /// One peer does not hear its host for as long as faults last.
    fn deafens(&mut self) -> Result<(), Broken> {
        let Some(host) = self.host() else { return Ok(()) };
        let others: Vec<PeerId> = self.running().into_iter().filter(|peer| *peer != host).collect();
        // Two players cannot tell a deaf one from a dead host; and only one is deaf at a time.
        if others.len() < 2 || !self.cuts.is_empty() {
            return Ok(());
        }
        let deaf = others[self.random.index(others.len())];
        self.cut(BTreeSet::from([(host, deaf)]), u64::from(u32::MAX));
        Ok(())
    }

    fn hands_over(&mut self) -> Result<(), Broken> {
        let Some(host) = self.host() else { return Ok(()) };
        let tick = self.peers[&host].game.tick;
        let why = if self.random.chance(500_000) { Handover::Lobby } else { Handover::Leaves };
        if self.running().len() < 3 {
            return Ok(());
        }
        self.counts.handed_over += 1;
        self.say(host, |_| format!("hands over: {why:?} at {tick}"));
        self.oracle.handed_over(tick);
        let last = self.peer(host).game.piece();
        let stamp = self.peers[&host].session().map_or(Stamp::NOBODY, mainstay_migration::Session::stamp);
        self.peer(host).handed = Handed::Asked(stamp);
        // To one that is named, or to whoever suits better, if anybody does.
        let next = self.peers[&host].session().and_then(mainstay_migration::Session::anticipated);
        let to = next.filter(|_| why == Handover::Lobby && self.random.chance(500_000));
        self.give(host, Input::HandOver { to, why, last })
    }

    /// In any of the ways there are.
    fn host_goes(&mut self) -> Result<(), Broken> {
        let Some(host) = self.host().filter(|_| self.running().len() > 1) else { return Ok(()) };
        match self.random.below(10) {
            0..=5 => self.crashes(host),
            6..=7 => self.hands_over(),
            _ => {
                self.say(host, |_| "leaves".to_owned());
                self.give(host, Input::Leave)
            }
        }
    }

    /// Somebody new comes for whoever has gone by now.
    fn refills(&mut self) {
        let on_their_way = self.peers.keys().filter(|peer| self.is_coming(**peer)).count();
        for _ in self.running().len() + on_their_way..=self.scenario.peers {
            let peer = self.new_peer();
            let at = self.random.between(50_000, 1_000_000);
            self.after(at, Happening::Starts { peer });
        }
    }

    pub(super) fn leaves(&mut self) -> Result<(), Broken> {
        match self.anybody() {
            Some(peer) if self.running().len() > 2 => self.give(peer, Input::Leave),
            Some(_) | None => Ok(()),
        }
    }

    pub(super) fn kicks(&mut self) -> Result<(), Broken> {
        let (Some(host), Some(peer)) = (self.host(), self.anybody()) else { return Ok(()) };
        if peer == host {
            return Ok(());
        }
        if self.has_lobby() {
            self.is_kicked_from_lobby(host, peer);
        }
        self.give(host, Input::Kick(peer))
    }

    pub(super) fn somebody_starts(&mut self) -> Result<(), Broken> {
        if !self.has_room_for_late() {
            return Ok(());
        }
        let peer = self.new_peer();
        if self.has_lobby() && self.random.chance(INTRUDERS) {
            let shown = self.worthless_pass(peer);
            self.counts.intruders += 1;
            self.say(peer, |_| format!("intrudes with {shown:?}"));
            return self.starts_with(peer, shown);
        }
        self.starts(peer)
    }

    pub(super) const fn has_room_for_late(&self) -> bool {
        self.next_peer <= self.scenario.peers as u128 + 2 + LATE_MAX
    }

    fn changes_settings(&mut self) -> Result<(), Broken> {
        let Some(peer) = self.anybody() else { return Ok(()) };
        let (name, values) = if self.random.chance(500_000) {
            (NAMES[4], ["0", "1", "2", "3", "255"])
        } else {
            (NAMES[5], ["0", "1", "7", "8", "255"])
        };
        let value = values[self.random.index(values.len())];
        self.give(peer, Input::Set { name: name.to_owned(), value: value.to_owned() })
    }

    fn changes_suitability(&mut self) -> Result<(), Broken> {
        let Some(peer) = self.anybody() else { return Ok(()) };
        let suitable = match self.peers[&peer].suitable {
            CanBeHost::Yes if self.random.chance(300_000) => CanBeHost::NotYet,
            CanBeHost::Yes | CanBeHost::NotYet => CanBeHost::Yes,
        };
        self.peer(peer).suitable = suitable;
        self.peer(peer).suits_since = self.now;
        self.give(peer, Input::Suitable(suitable))
    }

    fn breaks_link(&mut self) -> Result<(), Broken> {
        let (Some(one), Some(other)) = (self.anybody(), self.anybody()) else { return Ok(()) };
        if one == other {
            return Ok(());
        }
        self.oracle.trouble_between(one, other, self.now);
        self.loses_link(one, other)
    }

    /// A link breaks, and is made anew as soon as it carries something.
    pub(super) fn loses_link(&mut self, one: PeerId, other: PeerId) -> Result<(), Broken> {
        self.peer(one).is_unlinked(other);
        self.give(one, Input::LinkLost(other))
    }

    /// A member lies: it says that it is host, with votes that it does not have, or of a view that nobody wrote.
    fn forges(&mut self) -> Result<(), Broken> {
        let Some(liar) = self.anybody() else { return Ok(()) };
        let Some(session) = self.peers[&liar].session() else { return Ok(()) };
        let mut electorate = session.view().clone();
        let epoch = session.stamp().epoch.next();
        let keys = NamedKeys(liar);
        let session = self.session;
        if self.random.chance(500_000) {
            // Only its own vote, of a view that it wrote itself.
            electorate = View {
                id: ViewId { epoch: electorate.id.epoch, version: electorate.id.version + 1 },
                host: liar,
                members: electorate.members.into_iter().filter(|(peer, _)| *peer == liar).collect(),
                signature: Signature::default(),
            };
            electorate.signature = keys.sign(&electorate.words(session));
        }
        // Its own vote alone, or one in each member's name, which it cannot sign.
        let names: Vec<PeerId> = if self.random.chance(500_000) {
            vec![liar]
        } else {
            electorate.members.keys().copied().collect()
        };
        let votes = names.into_iter().map(|voter| {
            let signature = Signature::default();
            let vote = Vote { epoch, candidate: liar, voter, electorate: electorate.id, signature };
            (voter, keys.sign(&vote.words(session)))
        });
        let votes: BTreeMap<PeerId, Signature> = votes.collect();
        let mut view = View { id: ViewId { epoch, version: 0 }, host: liar, ..electorate.clone() };
        view.signature = keys.sign(&view.words(session));
        // Whoever votes for itself and has a majority by it is no liar.
        let Some(own) = self.peers[&liar].session().map(|session| session.view().clone()) else {
            return Ok(());
        };
        if electorate.members.len() == 1 && (own.members.len() == 1 || electorate.host == own.host) {
            return Ok(());
        }
        // Under a lobby a majority proves nothing, and nobody else has the lobby's key.
        let proof = if self.has_lobby() && self.random.chance(500_000) {
            Proof::Lobby(keys.sign(&epoch.0.to_be_bytes()))
        } else {
            Proof::Majority { electorate, votes }
        };
        let certificate = Certificate { epoch, host: liar, proof };
        let stamp = mainstay_migration::Stamp::certified(epoch);
        for to in self.running().into_iter().filter(|to| *to != liar) {
            let (certificates, view) = (vec![certificate.clone()], view.clone());
            let word = Announcement { certificates, view, cause: Cause::Catastrophic };
            let message = Message { session, stamp, body: Body::Announce(word) };
            let at = self.scenario.delay;
            self.after(
                at,
                Happening::Arrives { from: liar, to, parcel: Parcel::Protocol(Box::new(message)) },
            );
        }
        self.oracle.trouble_with(liar, self.now);
        self.say(liar, |_| format!("lies that it is host of {epoch}"));
        Ok(())
    }

    /// Whether a peer is on its way, or about to start.
    fn is_coming(&self, peer: PeerId) -> bool {
        let it = &self.peers[&peer];
        it.alive == Alive::Running && matches!(it.life, Life::NotYet | Life::Joins(_))
    }

    /// Whether a peer is in the session, or on its way.
    pub(super) fn is_on_its_way(&self, peer: PeerId) -> bool {
        matches!(self.peers[&peer].life, Life::Joins(_))
    }
}
