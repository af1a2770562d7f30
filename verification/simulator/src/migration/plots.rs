//! A member that plots against whoever comes next, in some of the worlds where everything goes wrong. It looks like the best host there is, and takes no
//! session: it asks for votes again and again and wants none, whether it can be host or not. Its own votes are signed so that they prove nothing. In its host's
//! name it writes that nobody votes but itself and another. And where the lobby is out of reach, somebody else answers for it, and makes whoever asks host.
//!
//! It draws from a chance of its own, so that a world is the same without.

use mainstay_core::Timestamp;
use mainstay_migration::{
    Body, Certificate, Claim, Guards, Handover, Input, Keys as _, Message, NAMES, PeerId, Proof, Question,
    Refusal, Ruling, Signature, View, ViewId,
};

use super::keys::NamedKeys;
use super::peer::Handed;
use super::scenario::Plots;
use super::{Happening, Parcel, World};
use crate::agenda::Micros;
use crate::laws::Broken;

/// How long until it plots again: sooner than anybody's turn is over.
const PAUSE_MIN: Micros = 100_000;
const PAUSE_MAX: Micros = 600_000;
/// How many of a million times it writes who votes.
const WRITES: u32 = 100_000;
/// How many of a million questions that do not reach the lobby somebody else answers.
const ANSWERS: u32 = 500_000;
/// How many of a million times its host gives the session away.
const GIVES: u32 = 30_000;
/// How many of a million times it has its host shut off, and for how long: more than two leases.
const SHUTS: u32 = 10_000;
const SHUT_OFF: Micros = 15_000_000;
/// Nobody's signature.
const WORTHLESS: &[u8] = b"mine";

impl<G: Guards> World<G> {
    fn is_plotter(&self, peer: PeerId) -> bool {
        self.busy && self.plotter == Some(peer)
    }

    /// One plot, and another soon.
    pub(super) fn plots(&mut self) -> Result<(), Broken> {
        if !self.busy {
            return Ok(());
        }
        let pause = self.plotting.between(PAUSE_MIN, PAUSE_MAX);
        self.after(pause, Happening::Plots);
        let running = self.running();
        if self.plotter.is_none_or(|plotter| !running.contains(&plotter)) {
            let peer = running.get(self.plotting.index(running.len())).copied();
            return self.begins_to_plot(peer.filter(|peer| Some(*peer) != self.host()));
        }
        let Some(plotter) = self.plotter else { return Ok(()) };
        if self.plotting.chance(GIVES) {
            return self.has_session_given(plotter);
        }
        if self.has_lobby() && self.plotting.chance(SHUTS) {
            self.shuts_host_off();
        } else if self.plotting.chance(WRITES) {
            self.writes_who_votes(plotter);
        } else {
            self.asks_for_votes(plotter);
        }
        Ok(())
    }

    /// By what it tells of itself it comes first.
    fn begins_to_plot(&mut self, peer: Option<PeerId>) -> Result<(), Broken> {
        self.plotter = peer;
        let Some(peer) = peer else { return Ok(()) };
        self.say(peer, |_| "plots from now on".to_owned());
        for (name, value) in [(NAMES[4], "1"), (NAMES[5], "255")] {
            self.give(peer, Input::Set { name: name.to_owned(), value: value.to_owned() })?;
        }
        Ok(())
    }

    /// Its host gives the session to another than it: those who vote do so unasked then.
    fn has_session_given(&mut self, plotter: PeerId) -> Result<(), Broken> {
        let Some(host) = self.host() else { return Ok(()) };
        let Some(session) = self.peers[&host].session().filter(|it| it.is_host()) else { return Ok(()) };
        let running = self.running();
        let may = |peer: PeerId| peer != host && peer != plotter && running.contains(&peer);
        let Some(to) = self.scenario.order.first(session.hints(), may) else { return Ok(()) };
        let stamp = session.stamp();
        let last = self.peer(host).game.piece();
        self.peer(host).handed = Handed::Asked(stamp);
        self.say(host, |_| format!("gives its session to {to}"));
        self.give(host, Input::HandOver { to: Some(to), why: Handover::Lobby, last })
    }

    /// From everybody and from the lobby, for whom another answers it.
    fn shuts_host_off(&mut self) {
        let Some(host) = self.host() else { return };
        self.cuts_host_from_lobby();
        self.is_cut_off(host, SHUT_OFF);
    }

    /// Whoever obeys nobody is asked to make it host.
    fn asks_for_votes(&mut self, plotter: PeerId) {
        let Some(session) = self.peers[&plotter].session() else { return };
        if session.has_host() || session.is_host() || self.has_lobby() {
            return;
        }
        let (epoch, view) = (session.ballot().promised().next(), session.view().clone());
        let stamp = session.stamp();
        self.counts.vain_claims += 1;
        let body = Body::Claim(Claim { epoch, candidate: plotter, view });
        self.tells_others(plotter, &Message { session: self.session, stamp, body });
    }

    /// The host of this epoch signs what it writes, and that is all that says whose a view is which another shows.
    fn writes_who_votes(&mut self, plotter: PeerId) {
        let Some(session) = self.peers[&plotter].session() else { return };
        let (stamp, view) = (session.stamp(), session.view().clone());
        let is_other = |peer: &PeerId| *peer != plotter && *peer != view.host;
        let others: Vec<PeerId> = view.members.keys().copied().filter(is_other).collect();
        let with = others.get(self.plotting.index(others.len())).copied();
        if view.host == plotter || with.is_none() || !view.members.contains_key(&plotter) {
            return;
        }
        let is_named = |peer: &PeerId| *peer == plotter || Some(*peer) == with;
        let members = view.members.iter().filter(|(peer, _)| is_named(peer));
        let members = members.map(|(peer, channel)| (*peer, *channel)).collect();
        let id = ViewId { version: view.id.version.saturating_add(1), ..view.id };
        let unsigned = View { id, members, signature: Signature::default(), ..view };
        let signature = NamedKeys(plotter).sign(&unsigned.words(self.session));
        let why = Refusal::NewerView(View { signature, ..unsigned });
        self.counts.forged_views += 1;
        let body = Body::Refusal { epoch: stamp.epoch, why };
        self.tells_others(plotter, &Message { session: self.session, stamp, body });
    }

    fn tells_others(&mut self, plotter: PeerId, message: &Message) {
        self.oracle.trouble_with(plotter, self.now);
        self.say(plotter, |_| format!("plots: {:?}", message.body));
        for to in self.running().into_iter().filter(|to| *to != plotter) {
            let parcel = Parcel::Protocol(Box::new(message.clone()));
            self.after(self.scenario.delay, Happening::Arrives { from: plotter, to, parcel });
        }
    }

    /// What goes out of its process: a vote that proves nothing.
    pub(super) fn as_it_is_signed(&mut self, from: PeerId, mut message: Message) -> Message {
        if let Body::Vote(vote) = &mut message.body
            && self.is_plotter(from)
        {
            vote.signature = Signature(WORTHLESS.to_vec());
            self.counts.worthless_votes += 1;
            self.oracle.trouble_with(from, self.now);
        }
        message
    }

    /// What comes to it: it takes nobody's vote.
    pub(super) fn is_unwanted(&self, to: PeerId, message: &Message) -> bool {
        self.is_plotter(to) && matches!(message.body, Body::Vote(_))
    }

    /// Nor does it ask the lobby to be host. `true` where that is what its session asks.
    pub(super) fn keeps_to_itself(&mut self, peer: PeerId, question: &Question) -> bool {
        let keeps = self.is_plotter(peer) && matches!(question, Question::Claim { .. });
        if keeps {
            self.oracle.trouble_with(peer, self.now);
        }
        keeps
    }

    /// What does not reach the lobby another answers.
    pub(super) fn is_answered_by_another(&mut self, peer: PeerId, asked: Timestamp, question: &Question) {
        if self.scenario.plots == Plots::None || !self.busy || !self.plotting.chance(ANSWERS) {
            return;
        }
        let epoch = match question {
            Question::Renew { epoch, .. } => *epoch,
            Question::Misses { epoch, .. } | Question::Claim { epoch } | Question::HandOver { epoch, .. } => {
                epoch.next()
            }
            Question::Bring { .. } => return,
        };
        self.counts.forged_grants += 1;
        let proof = Proof::Lobby(Signature(WORTHLESS.to_vec()));
        let ruling = Ruling::Host(Certificate { epoch, host: peer, proof });
        self.after(self.scenario.delay, Happening::Ruled { peer, asked, ruling });
    }
}
