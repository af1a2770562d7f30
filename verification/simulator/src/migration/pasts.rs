//! A new host whose game rewrites the past. What it says that it went on from has the place of what the host before wrote, and another hash, for
//! that is what an edited game has; and so has what it says that it holds, until it has given a state of its own. [`super::laws`] asks for whoever
//! knows better to notice.
//!
//! Which hosts do is drawn from a chance of its own, so that a world is the same without them.

use std::collections::{BTreeMap, BTreeSet};

use mainstay_migration::{Beat, Body, Guards, Leads, Message, PeerId, Stamp, StateHash, StateId};

use super::World;
use super::scenario::Pasts;

/// How many hosts of a million do, in a world of such.
const EDITS: u32 = 300_000;

/// Which hosts did.
#[derive(Debug, Default)]
pub(super) struct Edits {
    /// From which state each of them really went on.
    opened: BTreeMap<PeerId, StateId>,
    /// What they said instead.
    pub told: BTreeSet<StateId>,
}

/// What an edited game has for a name.
fn edited(state: StateId) -> StateId {
    StateId { hash: StateHash(!state.hash.0), ..state }
}

impl<G: Guards> World<G> {
    /// A host goes on from that: perhaps its game has changed it before.
    pub(super) fn perhaps_edits(&mut self, id: PeerId, stamp: Stamp, state: StateId) {
        self.edits.opened.remove(&id);
        // Of two sides both pasts are honest.
        let is_certified = stamp.fork == 0 && state.stamp.fork == 0 && state != StateId::NONE;
        if self.scenario.pasts == Pasts::Edited && is_certified && self.editors.chance(EDITS) {
            self.edits.opened.insert(id, state);
            self.edits.told.insert(edited(state));
            self.say(id, |_| format!("rewrites {state:?}"));
        }
    }

    /// What goes out of its process.
    pub(super) fn as_it_is_edited(&self, from: PeerId, mut message: Message) -> Message {
        let opened = self.edits.opened.get(&from).copied();
        if let (Some(opened), Body::Beat(Beat { leads: Leads::Yes(side), .. })) = (opened, &mut message.body)
        {
            for told in [&mut side.opened, &mut side.state] {
                if *told == opened {
                    *told = edited(opened);
                }
            }
        }
        message
    }
}
