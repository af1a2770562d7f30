//! Who would not go along is nobody's successor and plays under no other host; nor does anybody whose host would not have had its session move.
//! And nobody's game is over for want of its host that would have gone along.
//!
//! Judged by what players and the lobby say of moving, and whom each obeys. What a new host needs of those who stay, [`super::states`] judges.

use std::collections::BTreeMap;

use mainstay_migration::{End, Guards, PeerId, Stamp};

use super::super::World;
use super::super::flags::Along;
use super::super::scenario::Flags;
use super::hosts::KNOWN_WITHIN;
use super::{BUDGET_MS, GIVEN_MAX};
use crate::agenda::Micros;
use crate::laws::{Broken, ensure};

/// How long whoever stays is with another host at most: a second, in which that has from it what it needs, and a beat; by a clock that runs slow.
const STAYS_MAX: Micros = 1_300_000;
/// How long after its host or its lobby has said so somebody's session may be over for that: what it misses it waits for for ten seconds, and a move
/// that had begun may go on.
const LATELY: Micros = 15_000_000 + BUDGET_MS * 1_000;

/// Whom each obeys, and since when; and whom it obeyed before.
#[derive(Debug, Default)]
pub(super) struct Obeyed {
    hosts: BTreeMap<PeerId, Obedience>,
    /// When each had a host last: what is turned while it has none changes nothing of the move that it lives through.
    had_host: BTreeMap<PeerId, Micros>,
}

/// Whom one obeys.
#[derive(Debug, Clone, Copy)]
struct Obedience {
    host: PeerId,
    since: Micros,
    /// Whom it obeyed before, and since when.
    before: Option<(PeerId, Micros)>,
}

impl Obedience {
    /// It obeys that one now. Whose host is host again before it has gone is where it was.
    fn of(known: Option<Self>, host: PeerId, now: Micros) -> Self {
        let Some(known) = known else { return Self { host, since: 0, before: None } };
        let is_back = known.before.filter(|(before, _)| *before == host && now <= known.since + STAYS_MAX);
        match is_back {
            _ if known.host == host => known,
            Some((_, since)) => Self { host, since, before: None },
            None => Self { host, since: now, before: Some((known.host, known.since)) },
        }
    }
}

/// Something happened to it.
pub(super) fn stays<G: Guards>(world: &mut World<G>, id: PeerId) -> Result<(), Broken> {
    if world.scenario.flags == Flags::On {
        return Ok(());
    }
    let Some(session) = world.peers[&id].session() else { return Ok(()) };
    let (leader, now) = (session.leader(), world.now);
    let is_client = leader != id;
    let known = world.oracle.obeyed_hosts.hosts.get(&id).copied();
    let obedience = Obedience::of(known, leader, now);
    let since = obedience.since;
    if session.has_host() || session.is_host() {
        world.oracle.obeyed_hosts.had_host.insert(id, now);
    }
    world.oracle.obeyed_hosts.hosts.insert(id, obedience);
    let peer = &world.peers[&id];
    let stayed = peer.flag.along == Along::NotByFlag && peer.flag.since + KNOWN_WITHIN <= since;
    let is_late = now > since + STAYS_MAX && peer.froze.is_none_or(|until| until + STAYS_MAX < now);
    ensure(!(stayed && is_client && is_late), "whoever does not go along plays under no other host", || {
        format!("{id} is with {leader} since {since} µs, and is off since {}", world.peers[&id].flag.since)
    })
}

/// A peer leads that did not just now.
pub(super) fn begins<G: Guards>(world: &World<G>, id: PeerId, stamp: Stamp) -> Result<(), Broken> {
    if world.scenario.flags == Flags::On {
        return Ok(());
    }
    let flag = world.peers[&id].flag;
    let is_given = world.oracle.given.is_some_and(|given| given + GIVEN_MAX >= world.now);
    let had_host = world.oracle.obeyed_hosts.had_host.get(&id).copied().unwrap_or_default();
    let was_off = flag.along == Along::NotByVariable && flag.since + KNOWN_WITHIN <= had_host;
    ensure(
        !was_off || is_given || world.has_stormed(id),
        "whoever does not go along is nobody's successor",
        || format!("{id} leads {stamp:?}, and is off since {} µs", flag.since),
    )?;
    let before = world.oracle.obeyed_hosts.hosts.get(&id).map(|it| it.host);
    let Some(before) = before.filter(|before| *before != id) else { return Ok(()) };
    let of_host = world.peers[&before].flag;
    let troubles = &world.oracle.troubles;
    let (went, trouble) = troubles.went(before);
    let since = of_host.since;
    let was_well = [trouble, troubles.last_with(id), troubles.last_between(id, before)];
    let has_heard = of_host.along == Along::NotByFlag
        && went > since + KNOWN_WITHIN
        && was_well.into_iter().flatten().all(|last| last < since);
    ensure(!has_heard, "no session moves whose host does not support it", || {
        format!("{id} leads {stamp:?} after {before}, which is off since {since} µs")
    })
}

/// A session is over for a peer.
pub(super) fn ended<G: Guards>(world: &World<G>, id: PeerId, end: &End) -> Result<(), Broken> {
    if *end != End::HostLost {
        return Ok(());
    }
    ensure(
        may_stay(world, id),
        "nobody's game is over for want of its host that would have gone along",
        || id,
    )
}

/// Whether it would not have gone along lately, or whoever was host then would not have.
pub(super) fn may_stay<G: Guards>(world: &World<G>, id: PeerId) -> bool {
    let since = world.now.saturating_sub(LATELY);
    let led = |peer: &PeerId| *peer == id || world.oracle.has_ever_led(*peer);
    let mut stays = world.peers.iter().filter(|(_, peer)| peer.flag.was_off_since(since));
    world.scenario.flags == Flags::Some
        && (world.lobby_flag.was_off_since(since) || stays.any(|(peer, _)| led(peer)))
}
