//! I6: the same list gives the same order on every peer.
//!
//! Judged whenever a peer comes to have another list: one name is one list, and whom it names next is whom the words of the order name,
//! reckoned here once more. When everything has come to rest, all have their host's list.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use mainstay_migration::{
    Arbiter, CanBeHost, ChannelId, Entry, Guards, HintList, HintVersion, Order, PeerId, Session, Stamp,
    Standing,
};

use super::super::World;
use super::super::peer::Moves;
use super::super::scenario::Scenario;
use crate::laws::{Broken, ensure};
use crate::random::mix;

/// What was seen of lists.
#[derive(Debug, Default)]
pub(super) struct Lists {
    /// Of which list each peer was seen last.
    seen: BTreeMap<PeerId, HintVersion>,
    /// What they are, by name, by whoever keeps it, and by what that one was then.
    known: BTreeMap<(HintVersion, PeerId, Stamp), u64>,
}

/// Somebody has perhaps another list than before.
pub(super) fn has<G: Guards>(world: &mut World<G>, id: PeerId) -> Result<(), Broken> {
    let Some(session) = world.peers[&id].session() else { return Ok(()) };
    let version = session.hints().version;
    let is_known = world.oracle.lists.seen.insert(id, version) == Some(version);
    // Whoever thaws is told, and misses its host, all in one moment: then it believes others beside its list.
    let thaws = world.peers[&id].froze == Some(world.now);
    // So does whoever has no host when that one's last list comes.
    let has_leader = session.has_host() || session.is_host();
    if is_known || thaws || !has_leader || version.epoch != session.stamp().epoch {
        return Ok(());
    }
    let (leader, told) = (session.leader(), digest(session.hints()));
    let known = *world.oracle.lists.known.entry((version, leader, session.stamp())).or_insert(told);
    ensure(known == told, "I6: lists of one name are one list", || {
        format!("{id} has {:?} of {leader}", session.hints())
    })?;
    let next = first(session, &world.scenario);
    // What this peer knows beside its list: who is out of its reach, and which hosts it has given up in the move that it lives through.
    let was_host = |peer: PeerId| {
        // Also one that was certified, and gone before it led.
        world.oracle.has_ever_led(peer) || world.oracle.crowned.values().any(|host| *host == peer)
    };
    let moves = world.peers[&id].moves == Moves::Yes;
    let is_out =
        |peer: PeerId| !session.is_reached(world.clock(id), peer) && peer != id || moves && was_host(peer);
    let anticipated = session.anticipated();
    ensure(
        anticipated == next || next.is_some_and(is_out),
        "I6: the first of a list is who comes first by the words of its order",
        || format!("{id} thinks of {anticipated:?}, not {next:?}: {:?}", session.hints()),
    )
}

/// Nothing is wrong, and nobody moves: who have one list expect the same one next, and it is the one whom the list names.
pub(super) fn is_expected<G: Guards>(world: &World<G>) -> Result<(), Broken> {
    let Some(host) = world.host() else { return Ok(()) };
    let Some(of_host) = world.peers[&host].session() else { return Ok(()) };
    let next = first(of_host, &world.scenario);
    let running = world.running();
    for id in &running {
        let Some(session) = world.peers[id].session() else { continue };
        let goes_by_it = session.hints() == of_host.hints() && session.roster() == of_host.roster();
        let is_judged = goes_by_it && session.view() == of_host.view() && session.stamp() == of_host.stamp();
        // Whoever has just gone some know of sooner than others.
        let is_judged = is_judged && next.is_none_or(|next| running.contains(&next));
        let is_judged = is_judged && session.migrates() == of_host.migrates();
        let anticipated = session.anticipated();
        ensure(!is_judged || anticipated == next, "I6: who have one list expect the same one next", || {
            format!("{id} expects {anticipated:?}, by the list of {host} it is {next:?}")
        })?;
    }
    Ok(())
}

/// When a session has come to rest: all have one list, and where a majority stands behind its host whoever plays votes.
pub(super) fn at_rest<G: Guards>(world: &World<G>) -> Result<(), Broken> {
    let Some(host) = world.host() else { return Ok(()) };
    let Some(of_host) = world.peers[&host].session() else { return Ok(()) };
    let (view, roster) = (of_host.view(), of_host.roster());
    // Who was stormed at has promised epochs that its host comes to by some hundreds each five seconds.
    let all_may = of_host.standing() == Some(Standing::Confirmed) && world.counts.storms == 0;
    let all_vote = view.members.keys().eq(roster.members.keys());
    ensure(!all_may || all_vote, "I8: at rest whoever plays votes", || {
        format!("{host} has {view:?} and {roster:?}")
    })?;
    for id in world.running() {
        let Some(session) = world.peers[&id].session() else { continue };
        let (own, others) = (session.hints(), of_host.hints());
        ensure(own == others, "I6: at rest all have one list", || {
            format!("{id} has {own:?}, its host {others:?}")
        })?;
    }
    is_expected(world)
}

/// Who comes first by seed 000, and by what CRYENGINE 5.1 does; whoever votes before whoever only plays. Nobody does for whoever would not go along.
fn first<G: Guards>(session: &Session<G>, scenario: &Scenario) -> Option<PeerId> {
    let (roster, view, leader) = (&session.roster().members, &session.view().members, session.leader());
    let kicked = &session.roster().kicked;
    let may = |(peer, entry): &(&PeerId, &Entry)| {
        let plays = roster.contains_key(peer) && !kicked.contains(peer);
        entry.hint.can_be_host == CanBeHost::Yes && **peer != leader && plays && session.migrates()
    };
    let votes = |peer: PeerId| match scenario.arbiter {
        Arbiter::Lobby => true,
        Arbiter::Majority => view.contains_key(&peer),
    };
    let candidates = session.hints().entries.iter().filter(may);
    let best = candidates.min_by_key(|(peer, entry)| {
        let hint = entry.hint;
        let connections = Reverse(hint.connections);
        let by_order = match scenario.order {
            Order::Documented => (u64::from(hint.nat as u8), connections, 0, Reverse(0), 0),
            Order::CryEngine51 | Order::Game { .. } => {
                let upstream = Reverse(hint.upstream_bps);
                (0, connections, hint.ping_ms, upstream, hint.nat as u8)
            }
        };
        (Reverse(votes(**peer)), by_order, entry.channel)
    });
    best.map(|(peer, _)| *peer)
}

fn digest(list: &HintList) -> u64 {
    list.entries.iter().fold(0, |sum, (peer, Entry { channel, hint })| {
        let ChannelId { stamp: Stamp { epoch, fork }, number } = channel;
        let words = [
            peer.0 as u64,
            u64::from(epoch.0) << 32 | u64::from(*fork),
            u64::from(*number) << 32 | u64::from(hint.upstream_bps),
            u64::from(hint.connections) << 32 | u64::from(hint.ping_ms),
            u64::from(hint.nat as u8) << 1 | u64::from(hint.can_be_host == CanBeHost::Yes),
        ];
        words.into_iter().fold(sum, |sum, word| mix(sum ^ word).wrapping_add(word))
    })
}
