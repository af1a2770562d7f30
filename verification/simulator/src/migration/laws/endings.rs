//! I8: nobody's game ends for want of a host who could have one.
//!
//! Whoever ends so, though nothing was wrong with it for long enough, had nobody who could be host among those that it heard all the while, itself included; or
//! they were too few for the session's policy, or its lobby was away, or kept a host that it heard itself (of a strict session, or because no more than half missed that one). Whose time went with hosts that
//! were lost one after another is not judged.

use mainstay_migration::{CanBeHost, Failure, Guards, Outcome, PeerId, Report, WithoutMajority};

use super::super::World;
use super::super::lobby::LOBBY;
use super::super::scenario::Plots;
use super::hosts::KNOWN_WITHIN;
use super::troubles::reach_each_other;
use super::{GAP_MAX, LOBBY_LEASE, flags};
use crate::agenda::Micros;
use crate::laws::{Broken, ensure};

/// Who hears each other for so long has a host: a lobby's lease, and what the next host takes.
const LONG_ENOUGH: Micros = LOBBY_LEASE + GAP_MAX;

/// A migration ended on one peer.
pub(super) fn is_inevitable<G: Guards>(world: &World<G>, id: PeerId, report: &Report) -> Result<(), Broken> {
    // Who is cut off has a host that others hear.
    let lacks_host = match &report.outcome {
        Outcome::Terminated(Failure::TimeLimit | Failure::NoMajority) => report.resets == 0,
        Outcome::Terminated(Failure::CutOff | Failure::Vetoed(_) | Failure::Left) | Outcome::Moved { .. } => {
            false
        }
    };
    // Its own game may have stopped answering.
    let Some(session) = world.peers[&id].session().filter(|_| world.peers[&id].panicked.is_none()) else {
        return Ok(());
    };
    let since = world.now.saturating_sub(LONG_ENOUGH);
    let troubles = &world.oracle.troubles;
    let was_well = troubles.last_with(id).is_none_or(|last| last < since);
    // Whose question or its answer was lost may take the lobby for silent, where the session waits for nothing.
    let ends_at_once = matches!(&report.outcome, Outcome::Terminated(Failure::NoMajority));
    let was_heard = troubles.last_between(id, LOBBY).is_none_or(|last| last < since);
    if !lacks_host || !was_well || ends_at_once && !was_heard {
        return Ok(());
    }
    let hears = |one: PeerId, other: PeerId| one == other || reach_each_other(world, one, other, since);
    let heard: Vec<PeerId> = world.running().into_iter().filter(|other| hears(id, *other)).collect();
    let view = session.view();
    let could_be_host = |other: &&PeerId| {
        let peer = &world.peers[*other];
        let is_able = peer.suitable == CanBeHost::Yes && peer.panicked.is_none();
        let is_known = peer.suits_since + KNOWN_WITHIN <= since;
        let plays =
            session.roster().members.contains_key(*other) && !session.roster().kicked.contains(*other);
        let votes = heard.iter().filter(|it| view.members.contains_key(*it) && hears(**other, **it)).count();
        let are_enough = if world.has_lobby() {
            !world.has_lobby_been_away_since(since) && !world.lobby_keeps_its_host(heard.len())
        } else {
            // Of a majority that somebody pretends to there is no side, and no host where too few are left without it.
            let goes_on = world.scenario.without_majority == WithoutMajority::Fork;
            goes_on && world.scenario.plots == Plots::None || votes >= view.majority()
        };
        is_able && is_known && plays && are_enough && !flags::may_stay(world, **other)
    };
    let host = heard.iter().find(could_be_host);
    ensure(host.is_none(), "I8: nobody's game ends who could have a host", || {
        format!("{id}: {report:?}, {host:?} could be: {}", session.shown())
    })
}
