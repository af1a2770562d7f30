//! I16: whatever comes, nothing panics, and what is kept has its limits.

use mainstay_migration::{
    Guards, INPUTS_MAX, Kept, LINEAGE_MAX, LISTENERS_MAX, MEMBERS_MAX, PARTS_MAX, PeerId, STATE_BYTES_MAX,
};

use super::super::World;
use crate::laws::{Broken, ensure};

/// The most of each that one peer keeps. Beside members it may know as many voters of another list, and as many hosts of other sides.
const LIMITS: Kept = Kept {
    peers: 4 * MEMBERS_MAX,
    former: 4 * MEMBERS_MAX,
    hosts: LINEAGE_MAX,
    states: PARTS_MAX,
    inputs: INPUTS_MAX,
    deeds: 3 * MEMBERS_MAX * MEMBERS_MAX,
    bytes: STATE_BYTES_MAX * 2,
    listeners: LISTENERS_MAX,
};

/// How much one happening has a peer say and do at most: everybody is told everything there is, and a host's game reads on.
pub(in super::super) const OUTPUTS_MAX: usize = 64 * MEMBERS_MAX;

/// How long a session is, written down: many times what the largest is whose lists are as long as they may be.
const WRITTEN_MAX: usize = 16 * 1024 * 1024;

/// After every event.
pub(super) fn keeps<G: Guards>(world: &World<G>, id: PeerId) -> Result<(), Broken> {
    let Some(kept) = world.peers[&id].session().map(mainstay_migration::Session::kept) else { return Ok(()) };
    let Kept { peers, former, hosts, states, inputs, deeds, bytes, listeners } = kept;
    let fits = peers <= LIMITS.peers
        && former <= LIMITS.former
        && hosts <= LIMITS.hosts
        && states <= LIMITS.states
        && inputs <= LIMITS.inputs
        && deeds <= LIMITS.deeds
        && bytes <= LIMITS.bytes
        && listeners <= LIMITS.listeners;
    ensure(fits, "I16: what is kept has its limits", || format!("{id} keeps {kept:?} of {LIMITS:?}"))
}

/// At the end: also what nobody has thought of counting.
pub(super) fn at_rest<G: Guards>(world: &World<G>) -> Result<(), Broken> {
    let sessions = world.running().into_iter().filter_map(|id| Some((id, world.peers[&id].session()?)));
    for (id, session) in sessions {
        let written = format!("{session:?}").len();
        ensure(written <= WRITTEN_MAX, "I16: what is kept has its limits", || format!("{id}: {written}"))?;
    }
    Ok(())
}
