//! What goes on in every world beside its faults: somebody who is not of the session says that it leads it, that it has come to the
//! last epoch there can be, and that it holds the newest state; and a member says that of the epoch. Nothing comes of it: the laws
//! are those of a world without.
//!
//! It draws from a chance of its own, so that a world is the same with other lies.

use mainstay_core::Timestamp;
use mainstay_migration::{
    Beat, Body, Epoch, Guards, Hint, Kind, Leads, Message, PeerId, Piece, Session, SessionId, Side, Stamp,
    Standing, State, StateId, Tick,
};

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
        let Some((told, session)) =
            running.get(at).and_then(|peer| Some((*peer, self.peers[peer].session()?)))
        else {
            return;
        };
        let stranger = PeerId(STRANGERS + u128::from(self.now));
        // A host that says it is another one breaks its own session, and no other. And a member can make its host be certified anew, so
        // members lie only where such things are looked at after everything has come to rest.
        let may_lie = session.leader() != told && self.scenario.faults == Faults::Swarm;
        let is_member = is_member && may_lie;
        let (liar, holds) = if is_member { (told, session.held().id()) } else { (stranger, no_end(session)) };
        let stamp = session.stamp();
        let (stamp, body) = match self.liars.below(4) {
            // Members who miss their host believe a member that says it leads a side, as they have to.
            _ if is_member => (stamp, Body::Beat(Beat { leads: Leads::No, ..boast(session, stamp, holds) })),
            0 => (stamp, Body::Beat(Beat { leads: Leads::No, ..boast(session, stamp, holds) })),
            1 => (stamp, Body::State(forged(stamp))),
            _ => {
                let side = Stamp { fork: stamp.fork + 1, ..stamp };
                (side, Body::Beat(boast(session, side, holds)))
            }
        };
        let message = Message { session: SessionId(7), stamp, body };
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

fn boast(session: &Session<impl Guards>, stamp: Stamp, holds: StateId) -> Beat {
    let channel = mainstay_migration::ChannelId { stamp: Stamp::certified(Epoch::FIRST), number: 0 };
    let side =
        Side { mandate: Standing::Confirmed, size: u8::MAX, state: no_end(session), opened: holds, channel };
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
        applied: 0,
        taken: 0,
    }
}

/// Another game, further than any.
fn forged(stamp: Stamp) -> Vec<mainstay_migration::Part> {
    let mut state = State::default();
    let piece = Piece { tick: Tick(u64::MAX), kind: Kind::Snapshot, bytes: b"another".to_vec() };
    match state.write(stamp, piece, std::collections::BTreeMap::new()) {
        Ok(_) => state.parts().to_vec(),
        Err(_) => Vec::new(),
    }
}
