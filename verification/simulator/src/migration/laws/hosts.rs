//! I1 and I7: who becomes host was elected by members who could, and is one who may be. I8: whoever hears it obeys it.
//!
//! Judged by what went over the links: who voted for whom in which epoch, and which views hosts have written.

use std::collections::{BTreeMap, BTreeSet};

use mainstay_migration::{
    Arbiter, CanBeHost, Certificate, Epoch, Guards, Keys as _, PeerId, Proof, Stamp, Standing, View, ViewId,
    Vote,
};

use super::super::World;
use super::super::flags::Along;
use super::super::keys::NamedKeys;
use super::super::scenario::Plots;
use super::troubles::reach_each_other;
use crate::agenda::Micros;
use crate::laws::{Broken, ensure};

/// How long it takes at most until everybody goes by what somebody says of itself: what it asked for before may be granted yet.
pub(super) const KNOWN_WITHIN: Micros = 3_000_000;

/// Who hears a certified host obeys it by then.
const HEEDED_WITHIN: Micros = 3_000_000;
/// How soon a host is certified anew for what others say, who are on a side beside it and cannot come back to a lower number.
const RENEWED_EVERY: Micros = 5_000_000;

/// What was seen of elections.
#[derive(Debug, Default)]
pub(super) struct Elections {
    /// For whom each voted.
    votes: BTreeMap<(PeerId, Epoch), PeerId>,
    /// Who votes, by what hosts have written.
    views: BTreeMap<(ViewId, PeerId), BTreeSet<PeerId>>,
    /// Whom a host has named last that had not heard yet that it cannot be one, and when.
    named: BTreeMap<PeerId, Micros>,
}

/// Since when that one cannot be host, and has had the time to let others know; it does not run while it stands still. `None` where it can be, or
/// has just said so.
fn cannot_be_since<G: Guards>(world: &World<G>, id: PeerId) -> Option<Micros> {
    let peer = &world.peers[&id];
    let stays = peer.flag.along == Along::NotByFlag;
    let said = match peer.suitable {
        CanBeHost::NotYet if stays => peer.suits_since.min(peer.flag.since),
        CanBeHost::NotYet => peer.suits_since,
        CanBeHost::Yes if stays => peer.flag.since,
        CanBeHost::Yes => return None,
    };
    let since = said.max(peer.froze.unwrap_or_default());
    (since + KNOWN_WITHIN <= world.now).then_some(since)
}

/// A host names who is to follow it.
pub(in super::super) fn names<G: Guards>(
    world: &mut World<G>,
    host: PeerId,
    to: PeerId,
) -> Result<(), Broken> {
    let Some(since) = cannot_be_since(world, to) else { return Ok(()) };
    let has_heard = reach_each_other(world, host, to, since);
    world.oracle.elections.named.insert(to, world.now);
    ensure(!has_heard, "I7: nobody is named who cannot be host", || {
        format!("{host} names {to}, which cannot be host since {since} µs")
    })
}

/// A vote is given.
pub(in super::super) fn votes<G: Guards>(
    world: &mut World<G>,
    voter: PeerId,
    vote: &Vote,
) -> Result<(), Broken> {
    // What its voter has not signed nobody takes for its vote.
    if !NamedKeys(voter).is_by(voter, &vote.words(world.session), &vote.signature) {
        return Ok(());
    }
    let candidate = vote.candidate;
    let obeyed = world.peers[&voter].session().map_or(Epoch::FIRST, |it| it.ballot().epoch());
    let has_vote = world.oracle.elections.has_voted(voter, candidate, obeyed.next());
    let given = *world.oracle.elections.votes.entry((voter, vote.epoch)).or_insert(candidate);
    ensure(given == candidate, "I1: nobody votes for two in one epoch", || {
        format!("{voter} for {given} and {candidate} in {}", vote.epoch)
    })?;
    // Who gave way to another side's host, or came over to it, goes by that side, and not by whom its own had thrown out.
    let is_kicked = world.peers[&voter]
        .session()
        .is_some_and(|it| it.leader() != candidate && it.roster().kicked.contains(&candidate));
    ensure(!is_kicked, "I7: nobody votes for whom it knows to be thrown out", || {
        format!("{voter} for {candidate} in {}", vote.epoch)
    })?;
    let Some(session) = world.peers[&voter].session().filter(|it| it.leader() != candidate) else {
        return Ok(());
    };
    // A host may hear of it in the moment in which it votes.
    let hint = session.hints().entries.get(&candidate).map(|entry| entry.hint.can_be_host);
    ensure(
        session.is_host() || hint == Some(CanBeHost::Yes),
        "I7: nobody votes for whom it knows to be unable",
        || format!("{voter} for {candidate} in {}", vote.epoch),
    )?;
    let turns = &world.oracle.turns;
    ensure(
        !turns.has_given_up(voter, candidate),
        "nobody votes for a host that it has given up in the move that it lives through",
        || format!("{voter} for {candidate} in {}", vote.epoch),
    )?;
    // Of two who ask and have each waited for the other one lets the other go first, once. And whoever has this peer's vote is waited for.
    let asks = turns.has_asked(voter, session.ballot().epoch());
    // Whoever is waited for may have said in this moment that it cannot be host: it was the last of the rest.
    let can_be = |it: PeerId| session.hints().entries.get(&it).map(|entry| entry.hint.can_be_host);
    let waits_for_none = turns.waited_for(voter).is_some_and(|it| can_be(it) == Some(CanBeHost::NotYet));
    ensure(
        asks || has_vote || waits_for_none || !turns.has_let_go(voter, candidate),
        "nobody votes for whom it has waited for in vain before the rest had their turn",
        || format!("{voter} for {candidate} in {}", vote.epoch),
    )
}

impl Elections {
    /// Whether that one has its vote, for that epoch or a later one.
    pub(super) fn has_voted(&self, voter: PeerId, candidate: PeerId, since: Epoch) -> bool {
        let mut given = self.votes.range((voter, since)..=(voter, Epoch(u32::MAX)));
        given.any(|(_, whom)| *whom == candidate)
    }

    /// A host has written a view: by that others are elected.
    pub(super) fn writes(&mut self, host: PeerId, view: &View) {
        if view.host == host {
            let members = || view.members.keys().copied().collect();
            self.views.entry((view.id, host)).or_insert_with(members);
        }
    }
}

/// A peer is certified for an epoch: by votes that were given, of members that its predecessor has written down.
pub(super) fn is_elected<G: Guards>(world: &mut World<G>, id: PeerId, epoch: Epoch) -> Result<(), Broken> {
    if world.scenario.arbiter == Arbiter::Lobby || epoch == Epoch::FIRST {
        return Ok(());
    }
    let elections = &mut world.oracle.elections;
    let own = *elections.votes.entry((id, epoch)).or_insert(id);
    ensure(own == id, "I1: nobody votes for two in one epoch", || format!("{id} for itself and {own}"))?;
    let certificate = world.peers[&id].session().and_then(|session| session.ballot().certificate_of(epoch));
    let Some(Certificate { proof: Proof::Majority { electorate, votes }, .. }) = certificate else {
        return Err(Broken::new("I1: whoever is certified has its certificate", format!("{id} for {epoch}")));
    };
    let members: BTreeSet<PeerId> = electorate.members.keys().copied().collect();
    let written = elections.views.get(&(electorate.id, electorate.host));
    // Alone it may have written one, and elected itself by it, in one go.
    let is_written = written == Some(&members) || members.len() == 1 && electorate.host == id;
    ensure(
        is_written && members.contains(&id),
        "I7: nobody is host who is outside the view that elects it",
        || format!("{id} for {epoch} by {electorate:?}, written was {written:?}"),
    )?;
    let is_cast =
        |voter: &&PeerId| members.contains(voter) && elections.votes.get(&(**voter, epoch)) == Some(&id);
    let cast = votes.keys().filter(is_cast).count();
    ensure(cast >= electorate.majority(), "I1: whoever is certified has the votes of a majority", || {
        format!("{id} for {epoch}: {cast} of {members:?}")
    })
}

/// A peer leads that did not just now: certified, or a side without a majority.
pub(super) fn begins<G: Guards>(world: &World<G>, id: PeerId, stamp: Stamp) -> Result<(), Broken> {
    if stamp == Stamp::certified(Epoch::FIRST) {
        // Whoever makes a session is its host, suitable or not.
        return Ok(());
    }
    let named = world.oracle.elections.named.get(&id).copied();
    // What a member that storms says of itself others take for true, as they have to.
    let is_unnamed = |since: &Micros| named.is_none_or(|named| named < *since) && !world.has_stormed(id);
    // What the lobby granted while it could be, it may hear much later.
    let certified =
        world.oracle.crowned_at.get(&stamp.epoch).filter(|_| world.has_lobby() && stamp.fork == 0);
    let is_ungranted = |since: &Micros| certified.is_none_or(|at| *at >= since + KNOWN_WITHIN);
    let since = cannot_be_since(world, id).filter(is_unnamed).filter(is_ungranted);
    let session = world.peers[&id].session();
    ensure(since.is_none(), "I7: nobody is host who cannot be", || {
        let shown = session.map(|session| session.shown());
        format!("{id} leads {stamp:?}, and cannot be host since {since:?} µs, now {}: {shown:?}", world.now)
    })?;
    let is_kicked = session.is_some_and(|session| session.roster().kicked.contains(&id));
    ensure(!is_kicked, "I7: nobody is host who knows that it was thrown out", || format!("{id} of {stamp:?}"))
}

/// A host's game steps: whoever plays, and hears it as it is heard, obeys it.
pub(in super::super) fn is_obeyed<G: Guards>(world: &mut World<G>, id: PeerId) -> Result<(), Broken> {
    let Some(session) = world.peers[&id].session() else { return Ok(()) };
    let stamp = session.stamp();
    if stamp.fork > 0 || session.standing() != Some(Standing::Confirmed) {
        world.oracle.confirmed.remove(&id);
        return Ok(());
    }
    let plays: BTreeSet<PeerId> = session.roster().members.keys().copied().chain([id]).collect();
    let play_since = world.oracle.confirmed.entry(id).or_default();
    play_since.retain(|peer, _| plays.contains(peer));
    for peer in plays {
        play_since.entry(peer).or_insert(world.now);
    }
    // Under a lobby that takes its word, and it is asked once a second.
    let within = if world.has_lobby() { 2 * HEEDED_WITHIN } else { HEEDED_WITHIN };
    let since = world.now.saturating_sub(within);
    // While it stood still its clock may have, too: by that it rests from being certified.
    let thawed = world.peers[&id].froze.unwrap_or_default();
    let play_since = &world.oracle.confirmed[&id];
    if play_since[&id] > since
        || world.has_lobby_been_away_since(since)
        || world.oracle.obeyed.get(&id).is_none_or(|at| (*at).max(thawed) + RENEWED_EVERY > since)
    {
        return Ok(());
    }
    let Some(session) = world.peers[&id].session() else { return Ok(()) };
    let is_astray = |other: &PeerId| {
        let Some(of_other) = world.peers[other].session() else { return false };
        let plays =
            play_since.get(other).is_some_and(|at| *at <= since) && !session.roster().kicked.contains(other);
        let astray = of_other.leader() != id && of_other.stamp().epoch <= stamp.epoch;
        // Whoever is on a side has to be outranked, and whoever plots votes for nobody.
        let is_outvoted = world.scenario.plots == Plots::Some && of_other.stamp().fork > 0;
        astray && plays && !is_outvoted && reach_each_other(world, id, *other, since)
    };
    let astray = world.running().into_iter().find(is_astray);
    ensure(astray.is_none(), "I8: whoever plays and hears its host obeys it", || {
        let shown = astray.and_then(|it| world.peers[&it].session()).map(mainstay_migration::Session::shown);
        format!("{id} of {stamp:?}: {astray:?} {shown:?}")
    })
}
