//! I9, the other half: what is acknowledged two others hold who could be host next (`docs/decisions/0050-one-host-an-epoch.md`), or all of them
//! where there are fewer.
//!
//! Judged by what each peer holds, and not by what its host believes of it. Whoever could follow has obeyed this host for a while, with nothing wrong between
//! the two.

use mainstay_migration::{CanBeHost, Guards, Level, PeerId, StateId};

use super::super::World;
use super::super::peer::Life;
use super::troubles::reach_each_other;
use crate::agenda::Micros;
use crate::laws::{Broken, ensure};

/// How many others hold what is acknowledged, where there are as many.
const COPIES: usize = 2;
/// How long after the last thing that was wrong between a host and a member it counts on that one: it was missed for two seconds at the most, and is
/// heard and given the state within another.
const REACH: Micros = 3_000_000;
/// How soon after its flag was turned on somebody is counted on: its host may hear of that as it acknowledges.
const TURNED: Micros = 1_000_000;
/// For how long whoever could follow has obeyed: it has been heard since, and given the state.
const OBEYED: Micros = 2_000_000;
/// How long a host may count on what somebody held that has gone.
const MISSED_WITHIN: Micros = 3_000_000;

/// A host says that a state is held.
pub(in super::super) fn is_held<G: Guards>(
    world: &mut World<G>,
    host: PeerId,
    state: StateId,
) -> Result<(), Broken> {
    if world.scenario.level == Level::None {
        return Ok(());
    }
    let others = || world.peers.keys().copied().filter(|id| *id != host);
    let could_follow: Vec<PeerId> = others().filter(|id| could_follow(world, host, *id)).collect();
    let holders: Vec<PeerId> = others().filter(|id| holds(world, *id, state)).collect();
    if could_follow.is_empty() {
        return Ok(());
    }
    world.counts.copied += 1;
    ensure(
        holders.len() >= could_follow.len().min(COPIES),
        "I9: what is acknowledged is held by two others, or by all who could be host next",
        || format!("{host} acknowledges {state:?}: {holders:?} hold it, and {could_follow:?} could follow"),
    )
}

/// Whether that one obeys the host and could be the next.
fn could_follow<G: Guards>(world: &World<G>, host: PeerId, id: PeerId) -> bool {
    let (Some(of_host), Some(session)) = (world.peers[&host].session(), world.peers[&id].session()) else {
        return false;
    };
    let obeys = session.leader() == host && session.stamp() == of_host.stamp() && session.has_host();
    let has_come = world.oracle.obeyed.get(&id).is_some_and(|obeyed| world.now > obeyed + OBEYED);
    let roster = of_host.roster();
    let plays = roster.members.contains_key(&id) && !roster.kicked.contains(&id);
    let suits = of_host.hints().entries.get(&id).is_some_and(|it| it.hint.can_be_host == CanBeHost::Yes);
    let has_turned = world.peers[&id].flag.since + TURNED > world.now;
    let since = world.now.saturating_sub(REACH);
    obeys
        && has_come
        && plays
        && suits
        && !has_turned
        && !may_lie(world, id)
        && reach_each_other(world, host, id, since)
}

/// Whether that one holds it, or may have as it was last heard. Who lies about it is believed. What another host wrote later may be of a side that never
/// had it.
fn holds<G: Guards>(world: &World<G>, id: PeerId, state: StateId) -> bool {
    let (went, _) = world.oracle.troubles.went(id);
    let has_just_gone = went > 0 && world.now < went + MISSED_WITHIN;
    match &world.peers[&id].life {
        Life::In(session) => {
            let held = session.held().id();
            held.stamp == state.stamp && held >= state || may_lie(world, id)
        }
        Life::NotYet | Life::Joins(_) => false,
        Life::Over => has_just_gone,
    }
}

/// Whether that one may say what is not so.
fn may_lie<G: Guards>(world: &World<G>, id: PeerId) -> bool {
    world.forger.is_some_and(|forger| forger.peer == id) || world.has_stormed(id)
}
