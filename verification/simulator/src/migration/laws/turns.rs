//! Nobody waits for a host that it has given up, nor votes for one, before the move that it lives through is over. Nor does anybody vote for whom it has waited for in
//! vain, before the rest had their turn.
//!
//! Judged by what each peer lived through, and not by what its session remembers of it: whom it obeyed, and who asked for votes or named another. Whom a host
//! names, whoever has this peer's vote by now, and a host that asks for votes itself are waited for, whoever they are.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use mainstay_core::Timestamp;
use mainstay_migration::{Beat, Body, Epoch, Guards, Leads, Message, PeerId, Stamp};

use super::super::World;
use super::Oracle;
use crate::laws::{Broken, ensure};

/// Whoever was waited for so long, by the clock of who waits, had its turn, unless a host that stood still has named it.
const TURN: Duration = Duration::from_secs(1);

/// Who was given up, by whom, and what excuses waiting for one of them.
#[derive(Debug, Default)]
pub(super) struct Turns {
    given_up: BTreeMap<PeerId, BTreeSet<PeerId>>,
    /// Whom hosts have named, under which stamp.
    named: BTreeMap<(PeerId, Stamp), BTreeSet<PeerId>>,
    /// In which epoch each asked for votes last.
    asked: BTreeMap<PeerId, Epoch>,
    /// Whom each waits for, and since when.
    awaited: BTreeMap<PeerId, (Option<PeerId>, Timestamp)>,
    /// Whom each has waited for in vain.
    let_go: BTreeMap<PeerId, BTreeSet<PeerId>>,
}

impl Turns {
    /// Somebody says that another shall be host, or that it would be one.
    pub(super) fn hears(&mut self, from: PeerId, message: &Message) {
        if let Body::Beat(Beat { leads: Leads::HandsOver { to, .. }, .. }) = &message.body {
            self.named.entry((from, message.stamp)).or_default().insert(*to);
        }
        if let Body::Claim(claim) = &message.body {
            let last = self.asked.entry(from).or_insert(claim.epoch);
            *last = claim.epoch.max(*last);
        }
    }

    /// Its move is over.
    pub(super) fn rests(&mut self, id: PeerId) {
        self.given_up.remove(&id);
        self.let_go.remove(&id);
    }

    /// It waits for that one now, if for anybody.
    fn waits_for(&mut self, id: PeerId, awaited: Option<PeerId>, now: Timestamp) {
        let (before, since) = self.awaited.get(&id).copied().unwrap_or((None, now));
        let is_known = self.awaited.contains_key(&id) && before == awaited;
        if !is_known {
            self.awaited.insert(id, (awaited, now));
        }
        let let_go = self.let_go.entry(id).or_default();
        match (before, awaited) {
            // Whoever falls silent in the very moment in which its turn is over has been waited for no longer: another takes its place at once.
            (Some(before), None) if now.since(since) >= TURN => {
                let_go.insert(before);
            }
            // All had their turn.
            (None, None) => let_go.clear(),
            (_, Some(awaited)) if let_go.contains(&awaited) => let_go.clear(),
            (Some(_) | None, _) => {}
        }
    }

    /// Whom it waited for before what happens now.
    pub(super) fn waited_for(&self, id: PeerId) -> Option<PeerId> {
        self.awaited.get(&id).and_then(|(awaited, _)| *awaited)
    }

    pub(super) fn has_let_go(&self, id: PeerId, candidate: PeerId) -> bool {
        self.let_go.get(&id).is_some_and(|let_go| let_go.contains(&candidate))
    }

    /// Whether it has asked for votes itself, in an epoch after that.
    pub(super) fn has_asked(&self, id: PeerId, epoch: Epoch) -> bool {
        self.asked.get(&id).is_some_and(|asked| *asked > epoch)
    }

    pub(super) fn has_given_up(&self, id: PeerId, host: PeerId) -> bool {
        self.given_up.get(&id).is_some_and(|given_up| given_up.contains(&host))
    }
}

/// Something happened to it.
pub(super) fn waits<G: Guards>(world: &mut World<G>, id: PeerId) -> Result<(), Broken> {
    let Some(session) = world.peers[&id].session() else { return Ok(()) };
    let (leader, stamp, epoch) = (session.leader(), session.stamp(), session.ballot().epoch());
    let (obeys, awaited) = (session.has_host() || session.is_host(), session.awaited());
    let now = world.clock(id);
    let Oracle { turns, elections, .. } = &mut world.oracle;
    if obeys {
        turns.given_up.entry(id).or_default().remove(&leader);
        turns.awaited.remove(&id);
        turns.let_go.remove(&id);
    } else {
        turns.waits_for(id, awaited, now);
    }
    let Some(awaited) = awaited else { return Ok(()) };
    let named = turns.named.get(&(leader, stamp)).cloned();
    let is_out = awaited == leader || turns.has_given_up(id, awaited);
    let is_named = named.as_ref().is_some_and(|named| named.contains(&awaited));
    let asks = awaited == leader && turns.asked.get(&awaited).is_some_and(|asked| *asked > epoch);
    let has_vote = elections.has_voted(id, awaited, epoch.next());
    // A host that names another is not given up yet.
    if named.is_none() {
        turns.given_up.entry(id).or_default().insert(leader);
    }
    ensure(
        !is_out || is_named || asks || has_vote,
        "nobody waits for a host that it has given up in the move that it lives through",
        || format!("{id} waits for {awaited}, and obeyed {leader} last"),
    )
}
