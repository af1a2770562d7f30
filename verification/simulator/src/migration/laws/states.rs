//! I9 and I15: what was acknowledged outlives its host while anybody lives who holds it, and a planned leave loses nothing.
//!
//! Where everything goes wrong a new host can go on from what it is told alone. A holder counts there that obeys it, with whom nothing
//! was wrong for a while, neither with its process nor with the link between the two.

use std::collections::BTreeMap;

use mainstay_migration::{
    Beat, Body, Epoch, Guards, Handover, Leads, Level, Message, PeerId, Session, Stamp, StateId, Tick,
};

use super::super::World;
use super::super::game::Game;
use super::super::scenario::Faults;
use super::troubles::reach_each_other;
use crate::agenda::Micros;
use crate::laws::{Broken, ensure};

/// For how long nothing was wrong with a holder that counts: as long as a new host takes at most from missing the old one on, and gathering.
const REACH: Micros = 3_000_000;

/// How long a new host waits for members and states. Its clock may run quicker than the world's.
const ACCESSION_MAX: Micros = 950_000;
/// How long it takes at most until a host has heard who has come to it: a beat, over the slowest link. From then on it waits for what that one holds.
const HEARD_WITHIN: Micros = 200_000;
/// For how long a side asks whoever comes to it, whatever is wrong between the two.
const ASKED_FOR: Micros = 4_500_000;
/// How long it takes at most from a holder's first word to its host until that has its state: asked twice, over the slowest link.
const GIVEN_WITHIN: Micros = 500_000;

/// What was acknowledged and handed on.
#[derive(Debug, Default)]
pub(super) struct States {
    /// The newest state that was acknowledged.
    acknowledged: Option<(StateId, Game)>,
    handed_over: Option<Tick>,
    /// What a host stands still with, by that host.
    handing: BTreeMap<PeerId, Handing>,
    /// What those held last who did not go along.
    stayed: BTreeMap<PeerId, Stayed>,
}

/// Who did not go along is over, and was with the next host before.
#[derive(Debug, Clone, Copy)]
struct Stayed {
    held: StateId,
    host: PeerId,
    stamp: Stamp,
    /// Under which it had come in.
    since: Stamp,
}

/// A host gives its session to another.
#[derive(Debug, Clone, Copy)]
struct Handing {
    to: PeerId,
    /// Of the host that does.
    epoch: Epoch,
    state: StateId,
    since: Micros,
    led: Led,
}

/// Whether the other has led a side since: what it was given it went on from then, or did not, and the next time is another matter. The host that gave it
/// may not have heard of that, and says it again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Led {
    NotYet,
    Side,
}

impl States {
    pub(super) fn acknowledge(&mut self, name: StateId, game: Game) {
        if self.acknowledged.as_ref().is_none_or(|(before, _)| *before < name) {
            self.acknowledged = Some((name, game));
        }
    }

    pub(super) const fn handed_over(&mut self, tick: Tick) {
        self.handed_over = Some(tick);
    }

    /// Nobody suits better than the host that asked for one: it goes on.
    pub(super) const fn stays(&mut self) {
        self.handed_over = None;
    }

    /// A host says to whom it gives its session, and with which state.
    pub(super) fn hands(&mut self, host: PeerId, message: &Message, now: Micros) {
        let Body::Beat(Beat { leads: Leads::HandsOver { to, why, state, .. }, .. }) = &message.body else {
            return;
        };
        match why {
            Handover::Lobby | Handover::Leaves => {}
            Handover::Merge => return,
        }
        let known = self.handing.get(&host).filter(|it| it.to == *to && it.state == *state);
        if known.is_none() {
            let (to, epoch, state) = (*to, message.stamp.epoch, *state);
            self.handing.insert(host, Handing { to, epoch, state, since: now, led: Led::NotYet });
        }
    }

    /// It does not go along, and its session is over now.
    pub(super) fn parts<G: Guards>(&mut self, id: PeerId, session: &Session<G>) {
        let Some(channel) = session.roster().members.get(&id) else { return };
        let (held, host, stamp) = (session.held().id(), session.leader(), session.stamp());
        self.stayed.insert(id, Stayed { held, host, stamp, since: channel.stamp });
    }

    /// It goes on itself.
    pub(super) fn keeps(&mut self, host: PeerId) {
        self.handing.remove(&host);
    }
}

/// Somebody says something: where nothing of the game goes along, nothing of it is sent, or asked for.
pub(in super::super) fn keeps_game<G: Guards>(
    world: &World<G>,
    id: PeerId,
    message: &Message,
) -> Result<(), Broken> {
    let goes_along = world.scenario.level != Level::None;
    ensure(
        goes_along || !matches!(message.body, Body::State(_) | Body::Pull(_)),
        "where nothing of the game goes along nothing of it is sent",
        || format!("{id} says {:?}", message.body),
    )
}

/// A host goes on from a state.
pub(in super::super) fn leads<G: Guards>(
    world: &mut World<G>,
    id: PeerId,
    stamp: Stamp,
    state: StateId,
) -> Result<(), Broken> {
    world.oracle.goes_on(id, world.now);
    if world.scenario.level == Level::None {
        let is_its_own = state == StateId::NONE;
        // What was acknowledged was so as long as that host led.
        world.oracle.states.acknowledged = None;
        return ensure(
            is_its_own,
            "where nothing of the game goes along a host goes on from what it has",
            || format!("{id} goes on from {state:?}"),
        );
    }
    if stamp.fork > 0 {
        let given = world.oracle.states.handing.values_mut().filter(|handing| handing.to == id);
        given.for_each(|handing| handing.led = Led::Side);
    }
    let told = world.running().into_iter().map(|id| world.peers[&id].game.tick).max();
    let handed = world.oracle.states.handed_over.take();
    if let (Some(last), Faults::Calm) = (handed.max(told), world.scenario.faults) {
        ensure(
            last == state.tick || stamp.epoch == Epoch::FIRST,
            "I15: a planned leave loses nothing",
            || format!("handed over at {last}, went on from {state:?}"),
        )?;
    }
    is_handed_on(world, id, stamp, state)?;
    let Some((acknowledged, game)) = world.oracle.states.acknowledged.clone() else { return Ok(()) };
    let resumed = &world.peers[&id].game;
    let has_all = game.inputs.iter().all(|(peer, number)| resumed.inputs.get(peer) >= Some(number));
    // Who came to a side without a majority a moment ago does not know who wrote before.
    let is_new = stamp.fork > 0 && state == StateId::NONE;
    let holders = if is_new { Vec::new() } else { holders(world, id, stamp, acknowledged) };
    let is_there = state >= acknowledged && has_all;
    ensure(
        is_there || holders.is_empty(),
        "I9: what was acknowledged is there while one of its holders lives",
        || {
            format!(
                "{id} goes on from {state:?}, acknowledged was {acknowledged:?}, of which {holders:?} hold it"
            )
        },
    )?;
    if !holders.is_empty() {
        world.counts.kept += 1;
    }
    if !is_there {
        // Whoever held it was lost, too, and nobody can say it any more.
        world.oracle.states.acknowledged = None;
    }
    Ok(())
}

/// The host of a side without a majority is certified, and its game goes on as it is: whoever has the newest certificate does (reference,
/// section 5.3). What another acknowledged beside it is lost where none of those who obey it holds that: nobody else could be asked, as with any
/// new host.
pub(super) fn goes_on_certified<G: Guards>(world: &mut World<G>, id: PeerId) -> Result<(), Broken> {
    let Some(session) = world.peers[&id].session() else { return Ok(()) };
    let (held, resumed) = (session.held().id(), &world.peers[&id].game);
    let is_there = |(acknowledged, game): &(StateId, Game)| {
        let has_all = game.inputs.iter().all(|(peer, number)| resumed.inputs.get(peer) >= Some(number));
        held >= *acknowledged && has_all
    };
    let Some((acknowledged, _)) = world.oracle.states.acknowledged.as_ref().filter(|it| !is_there(it)) else {
        return Ok(());
    };
    let holders = voters_that_hold(world, id, *acknowledged);
    ensure(
        holders.is_empty(),
        "I9: whom its voters made host of them all goes on from what they hold that was acknowledged",
        || {
            format!(
                "{id} goes on from {held:?}, acknowledged was {acknowledged:?}, of which {holders:?} hold it"
            )
        },
    )?;
    world.oracle.states.acknowledged = None;
    Ok(())
}

/// Who obeyed that host of a side for long enough to give it that state; or has just come to it, and voted for it: a side asks whoever votes for what it holds first.
fn voters_that_hold<G: Guards>(world: &World<G>, host: PeerId, state: StateId) -> Vec<PeerId> {
    let since = world.now.saturating_sub(REACH);
    let Some(of_host) = world.peers[&host].session() else { return Vec::new() };
    let is_voter = |id: &PeerId| {
        let Some(session) = world.peers[id].session() else { return false };
        let held = session.held().id();
        let obeyed = world.oracle.obeyed.get(id);
        let has_come = obeyed.is_some_and(|obeyed| world.now > obeyed + GIVEN_WITHIN);
        let has_just_come = obeyed.is_some_and(|obeyed| world.now < obeyed + ASKED_FOR);
        // They may have voted for it before another was host, and it hears so as it thaws.
        let epoch = of_host.stamp().epoch;
        let has_voted = state.stamp.epoch < epoch && world.oracle.elections.has_voted(*id, host, epoch);
        let is_liar = world.forger.is_some_and(|forger| forger.peer == *id);
        // Whoever it has let in itself came as it had gone on.
        let was_there = of_host.roster().members.get(id).is_some_and(|it| it.stamp < state.stamp);
        let obeys = session.leader() == host && session.has_host();
        let holds = held.stamp == state.stamp && held >= state && was_there;
        let could_give = obeys && has_come && reach_each_other(world, host, *id, since);
        holds && !is_liar && !world.has_stormed(*id) && (could_give || has_voted && has_just_come)
    };
    world.running().into_iter().filter(is_voter).collect()
}

/// Who holds that state, and could have given it to the new host.
fn holders<G: Guards>(world: &World<G>, host: PeerId, stamp: Stamp, state: StateId) -> Vec<PeerId> {
    // Who lies about it is no holder.
    let forger = world.forger.map(|forger| forger.peer);
    let Some(of_host) = world.peers[&host].session() else { return Vec::new() };
    let since = world.now.saturating_sub(REACH);
    let holds = |id: &PeerId| {
        let Some(session) = world.peers[id].session() else { return false };
        let held = session.held().id();
        let is_judged = match world.scenario.faults {
            Faults::Swarm | Faults::Beside | Faults::Sleepers => {
                let obeys = session.stamp() == stamp && session.leader() == host;
                // What another wrote later may be of a side that never had it.
                held.stamp == state.stamp
                    && obeys
                    && !is_late(world, host, *id)
                    // Whoever it has let in itself came as it had gone on.
                    && of_host.roster().members.get(id).is_some_and(|channel| channel.stamp < stamp)
                    && !world.has_stormed(*id)
                    && (*id == host || reach_each_other(world, host, *id, since))
            }
            Faults::Calm
            | Faults::HostCrashes
            | Faults::OneDeaf
            | Faults::Wireless
            | Faults::HostUnheard
            | Faults::Stormer
            // A side without a majority has what its own members hold.
            | Faults::HostAfterHost => stamp.fork == 0 || session.leader() == host,
        };
        Some(*id) != forger && held >= state && is_judged
    };
    let mut holders: Vec<PeerId> = world.running().into_iter().filter(holds).collect();
    holders.extend(who_stayed(world, host, stamp, state, since));
    holders
}

/// Who held it, was with the new host, and did not go along: it had the time to give it what it held.
fn who_stayed<G: Guards>(
    world: &World<G>,
    host: PeerId,
    stamp: Stamp,
    state: StateId,
    since: Micros,
) -> impl Iterator<Item = PeerId> {
    let troubles = &world.oracle.troubles;
    let obeyed_for = |peer: PeerId| world.oracle.obeyed.get(&peer).map_or(0, |since| world.now - since);
    let forger = world.forger.map(|forger| forger.peer);
    let held = move |(id, stayed): &(&PeerId, &Stayed)| {
        let (went, trouble) = troubles.went(**id);
        let was_wrong = [trouble, troubles.last_with(host), troubles.last_between(**id, host)];
        let was_well = was_wrong.into_iter().flatten().all(|last| last < since);
        let is_late = obeyed_for(**id) < HEARD_WITHIN && obeyed_for(host) >= ACCESSION_MAX;
        let holds = stayed.held.stamp == state.stamp && stayed.held >= state && stayed.since < stamp;
        let was_there = stayed.host == host && stayed.stamp == stamp && went >= since;
        holds && was_there && was_well && !is_late && Some(**id) != forger && !world.has_stormed(**id)
    };
    world.oracle.states.stayed.iter().filter(held).map(|(id, _)| *id)
}

/// Whether that one came to its host only as the time was over for which a new host waits: for whoever it has not heard for long that is sooner.
fn is_late<G: Guards>(world: &World<G>, host: PeerId, holder: PeerId) -> bool {
    let since = |peer: PeerId| world.oracle.obeyed.get(&peer).map_or(0, |since| world.now - since);
    let is_heard = || {
        let session = world.peers[&host].session();
        session.is_some_and(|session| session.is_reached(world.clock(host), holder))
    };
    holder != host && since(holder) < HEARD_WITHIN && (since(host) >= ACCESSION_MAX || !is_heard())
}

/// Where the old host named this one and stood still, nothing is lost: neither a tick nor what anybody did.
fn is_handed_on<G: Guards>(
    world: &mut World<G>,
    id: PeerId,
    stamp: Stamp,
    state: StateId,
) -> Result<(), Broken> {
    let before = world.oracle.crowned.range(..stamp.epoch).next_back();
    let Some((epoch, host)) = before.map(|(epoch, host)| (*epoch, *host)) else { return Ok(()) };
    let handing = world.oracle.states.handing.get(&host).copied();
    let is_due = |it: &Handing| it.to == id && it.epoch == epoch && stamp.fork == 0 && it.led == Led::NotYet;
    let Some(handing) = handing.filter(is_due) else {
        return Ok(());
    };
    if !reach_each_other(world, id, host, handing.since.saturating_sub(REACH)) {
        return Ok(());
    }
    world.counts.handed_on += 1;
    // Who had nothing itself loses nothing where the next one has the state of a side.
    let is_kept = state == handing.state || handing.state == StateId::NONE;
    ensure(is_kept, "I15: a planned leave loses zero ticks and zero messages", || {
        format!("{host} stood still with {:?}, {id} goes on from {state:?}", handing.state)
    })
}
