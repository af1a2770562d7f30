//! What goes on in every world beside its faults: somebody who is not of the session says that it leads it, that it has come to the
//! last epoch there can be, and that it holds the newest state; and a member says that of the epoch. One member, the *forger*, tells
//! every new host that it holds the newest state, and gives it one that no host wrote, and everybody that whatever they did is safe.
//! Nothing comes of it: the laws are those of a
//! world without.
//!
//! It draws from a chance of its own, so that a world is the same with other lies.

use mainstay_core::Timestamp;
use std::sync::Arc;

use mainstay_migration::{
    Ancestor, Beat, Body, Descent, Epoch, Guards, Hint, Keys as _, Kind, Leads, Message, PeerId, Piece,
    Session, Side, Stamp, Standing, State, StateId, Tick,
};

use super::keys::NamedKeys;
use super::{Faults, Happening, Parcel, World};
use crate::agenda::Micros;

/// Nobody of a world has such a number.
const STRANGERS: u128 = 1 << 64;
/// How long until the next, at most.
const PAUSE: Micros = 3_000_000;
/// How often, in a million, it is a member that lies.
const MEMBER: u32 = 300_000;

impl<G: Guards> World<G> {
    /// One lie to everybody.
    pub(super) fn lies(&mut self) {
        let pause = self.liars.between(20_000, PAUSE);
        self.after(pause, Happening::Lies);
        let running = self.running();
        let is_member = self.liars.chance(MEMBER);
        let at = self.liars.index(running.len());
        let Some(told) = running.get(at).copied() else { return };
        self.choose_forger(told);
        let Some(session) = self.peers[&told].session() else { return };
        let stranger = PeerId(STRANGERS + u128::from(self.now));
        // A host that says it is another one breaks its own session, and no other. And a member can make its host be certified anew, so
        // members lie only where such things are looked at after everything has come to rest.
        let may_lie = session.leader() != told && self.scenario.faults == Faults::Swarm;
        let is_member = is_member && may_lie;
        let (liar, holds) =
            if is_member { (told, session.held().descent()) } else { (stranger, itself(no_end(session))) };
        let stamp = session.stamp();
        let (stamp, body) = match self.liars.below(4) {
            // Members who miss their host believe a member that says it leads a side, as they have to.
            _ if is_member => (
                stamp,
                Body::Beat(Beat { leads: Leads::Obeys(session.leader()), ..boast(session, stamp, holds) }),
            ),
            0 => (
                stamp,
                Body::Beat(Beat { leads: Leads::Obeys(session.leader()), ..boast(session, stamp, holds) }),
            ),
            1 => (stamp, Body::State(forged(stamp).after(StateId::NONE))),
            _ => {
                let side = Stamp { fork: stamp.fork + 1, ..stamp };
                (side, Body::Beat(boast(session, side, holds)))
            }
        };
        let message = Message { session: self.session, stamp, body };
        self.oracle.trouble_with(liar, self.now);
        self.say(liar, |_| format!("lies at {stamp:?}"));
        for to in running.into_iter().filter(|to| *to != liar) {
            let parcel = Parcel::Protocol(Box::new(message.clone()));
            self.after(self.scenario.delay, Happening::Arrives { from: liar, to, parcel });
        }
    }
}

fn no_end(session: &Session<impl Guards>) -> StateId {
    StateId { number: u64::MAX, tick: Tick(u64::MAX), ..session.held().id() }
}

/// What goes back to nothing else.
const fn itself(id: StateId) -> Descent {
    Descent::of(id, Ancestor::itself(id))
}

fn boast(session: &Session<impl Guards>, stamp: Stamp, holds: Descent) -> Beat {
    let channel = mainstay_migration::ChannelId { stamp: Stamp::certified(Epoch::FIRST), number: 0 };
    let side = Side {
        mandate: Standing::Confirmed,
        size: u8::MAX,
        state: no_end(session),
        opened: holds.id(),
        channel,
    };
    Beat {
        sent: Timestamp::EPOCH,
        echo: Timestamp::EPOCH,
        leads: Leads::Yes(side),
        view: session.view().id,
        hints: mainstay_migration::HintVersion { epoch: stamp.epoch, number: 0 },
        hint: Hint::UNSUITABLE,
        promised: Epoch(u32::MAX),
        roster: 0,
        holds,
        applied: u64::MAX,
        taken: u64::MAX,
    }
}

/// What is in no host's game.
pub(super) const FORGED: &[u8] = b"another";

/// Another game, further than any.
fn forged(stamp: Stamp) -> State {
    let mut state = State::default();
    let piece = Piece { tick: Tick(u64::MAX), kind: Kind::Snapshot, bytes: FORGED.to_vec() };
    // It is short, and the first of its chain.
    let _taken = state.write(stamp, piece, Arc::default());
    state
}

/// Whether a liar has a part in it.
pub(super) fn is_forged(state: &State) -> bool {
    state.parts().iter().any(|part| part.bytes == FORGED)
}

/// A member that lies about the game.
#[derive(Debug, Clone, Copy)]
pub(super) struct Forger {
    pub peer: PeerId,
    /// Under whose stamp it lies: that of the host before, and of the present one.
    before: Stamp,
    present: Stamp,
}

impl<G: Guards> World<G> {
    /// There is one forger at a time, and never the host.
    fn choose_forger(&mut self, peer: PeerId) {
        let lives = self.forger.is_some_and(|it| self.running().contains(&it.peer));
        let Some(session) = self.peers[&peer].session() else { return };
        if !lives && session.leader() != peer && self.scenario.faults != Faults::Wireless {
            let present = session.stamp();
            self.forger = Some(Forger { peer, before: present, present });
            self.say(peer, |_| "lies about the game from now on".to_owned());
        }
    }

    /// What goes out of a process: the forger's beats say that it holds what it makes up.
    pub(super) fn as_it_is_told(&mut self, from: PeerId, mut message: Message) -> Message {
        let Some(forger) = self.forger.as_mut().filter(|it| it.peer == from) else { return message };
        if forger.present != message.stamp {
            forger.before = std::mem::replace(&mut forger.present, message.stamp);
        }
        let stamp = if self.liars.chance(500_000) { forger.before } else { forger.present };
        if let Body::Beat(beat) = &mut message.body
            && matches!(beat.leads, Leads::Obeys(_))
        {
            // As if it were host, and whatever anybody did were safe.
            (beat.applied, beat.taken) = (u64::MAX, u64::MAX);
            if let Some(forged) = self.forgery(from, stamp) {
                let newest = Ancestor { epoch: stamp.epoch, number: u64::MAX };
                beat.holds = Descent::of(forged.id(), newest);
            }
        }
        message
    }

    /// A new host asks for what it holds. `true` where that is the forger: then it is given what no host wrote.
    pub(super) fn forges_state(&mut self, asked: PeerId, by: PeerId, message: &Message) -> bool {
        let Some(Forger { peer, before, present }) = self.forger else { return false };
        if peer != asked || !matches!(message.body, Body::Pull(_)) {
            return false;
        }
        let stamp = if present < message.stamp { present } else { before };
        let Some(forged) = self.forgery(asked, stamp) else { return false };
        self.counts.forged += 1;
        self.oracle.is_lied_to(by);
        let body = Body::State(forged.after(StateId::NONE));
        let answer = Message { session: self.session, stamp: message.stamp, body };
        let parcel = Parcel::Protocol(Box::new(answer));
        self.after(self.scenario.delay, Happening::Arrives { from: asked, to: by, parcel });
        true
    }

    /// A game of its own, or what the host wrote and a piece more; signed with its own key.
    fn forgery(&mut self, forger: PeerId, stamp: Stamp) -> Option<State> {
        // Whoever was host of that time has the key that it takes, and its game was the game.
        if self.oracle.has_led(forger, stamp) {
            return None;
        }
        let held = self.peers[&forger].session()?.held();
        let mut state = forged(stamp);
        if held.id().stamp == stamp && self.liars.chance(500_000) {
            let mut longer = held.clone();
            let piece = Piece { tick: Tick(u64::MAX), kind: Kind::Event, bytes: FORGED.to_vec() };
            if longer.write(stamp, piece, held.inputs()).is_ok() {
                state = longer;
            }
        }
        state.sign(NamedKeys(forger).sign(&state.id().words(self.session)));
        Some(state)
    }
}
