//! A new host cannot rewrite the past: whoever heard its host tell a state's name, or holds that state, notices that a later one tells another; and
//! nobody says so of a host that did not.
//!
//! Judged by what came to each peer. A session says so once, and not with every beat that tells it: so a copy of it is told the first one.

use std::collections::{BTreeMap, BTreeSet};

use mainstay_migration::{Beat, Body, Guards, Input, Leads, Message, Output, PeerId, Stamp, StateId};

use super::super::World;
use crate::laws::{Broken, ensure};

/// How many names each is held to remember.
const NAMES_MAX: usize = 128;

/// Where in its chain a state is.
type Place = (Stamp, u64);

/// What each peer was told of the past.
#[derive(Debug, Default)]
pub(super) struct Pasts {
    names: BTreeMap<PeerId, Names>,
    noticed: BTreeSet<(PeerId, StateId)>,
}

#[derive(Debug, Default)]
struct Names {
    known: BTreeMap<Place, StateId>,
    /// Before that it may have forgotten some.
    forgotten: Option<Place>,
}

impl Names {
    /// It is told that. What it was told before instead, if it was.
    fn hear(&mut self, told: StateId) -> Option<StateId> {
        let place = (told.stamp, told.number);
        if told == StateId::NONE || self.forgotten.is_some_and(|forgotten| place <= forgotten) {
            return None;
        }
        let known = *self.known.entry(place).or_insert(told);
        if self.known.len() > NAMES_MAX {
            self.forgotten = self.known.pop_first().map(|(place, _)| place);
        }
        (known != told).then_some(known)
    }
}

/// What that one holds in the place of what it is told.
fn holds_instead<G: Guards>(world: &World<G>, id: PeerId, told: StateId) -> Option<StateId> {
    let held = world.peers[&id].session()?.held();
    let place = |id: StateId| (id.stamp, id.number);
    held.parts().iter().map(|part| part.id).find(|id| place(*id) == place(told) && *id != told)
}

/// A message is about to come.
pub(in super::super) fn is_noticed<G: Guards>(
    world: &mut World<G>,
    to: PeerId,
    from: PeerId,
    message: &Message,
) -> Result<(), Broken> {
    let Body::Beat(Beat { leads: Leads::Yes(side), .. }) = &message.body else { return Ok(()) };
    let Some(session) = world.peers[&to].session() else { return Ok(()) };
    let stamp = session.stamp();
    let is_hosts = session.leader() == from && stamp == message.stamp && !session.is_over();
    if !is_hosts || message.session != world.session {
        return Ok(());
    }
    for told in [side.opened, side.state] {
        // Of a later host nobody can have written anything, and of two sides both pasts are honest.
        if told.stamp > stamp || told.stamp.fork > 0 {
            continue;
        }
        let heard = world.oracle.pasts.names.entry(to).or_default().hear(told);
        let known = heard.or_else(|| holds_instead(world, to, told));
        if let Some(known) = known
            && world.oracle.pasts.noticed.insert((to, told))
        {
            notices(world, to, from, message, told, known)?;
        }
    }
    Ok(())
}

fn notices<G: Guards>(
    world: &mut World<G>,
    to: PeerId,
    from: PeerId,
    message: &Message,
    told: StateId,
    known: StateId,
) -> Result<(), Broken> {
    world.counts.rewritten += 1;
    let now = world.clock(to);
    let Some(mut copy) = world.peers[&to].session().cloned() else { return Ok(()) };
    copy.handle(now, Input::Message { from, message: message.clone() });
    let says = |output: &Output| matches!(output, Output::Rewritten { host, told: it, .. } if *host == from && *it == told);
    ensure(
        copy.take_outputs().iter().any(says),
        "whoever knows the past notices that it is rewritten",
        || format!("{from} tells {to} {told:?}, which knows {known:?}"),
    )
}

/// Somebody says that its host rewrites the past.
pub(in super::super) fn is_rewritten<G: Guards>(
    world: &World<G>,
    id: PeerId,
    host: PeerId,
    told: StateId,
    known: StateId,
) -> Result<(), Broken> {
    let edited = &world.edits.told;
    // Who came when such a one was host knows no other past than that, and its successor's is another.
    ensure(
        edited.contains(&told) || edited.contains(&known),
        "nobody rewrites the past who is honest",
        || format!("{host} told {id} {told:?}, known was {known:?}"),
    )
}
