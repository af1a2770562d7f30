//! What must be true of every session at every moment, judged from outside: by what was sent, obeyed, called and held.
//!
//! The invariants of `reference/host-migration.md`, section 6.1, and where each is judged. All are in every world, whatever goes wrong in it;
//! what a fault excuses is in [`troubles`].
//!
//! | law | where |
//! |---|---|
//! | I1 one certificate an epoch; sides merge | [`after`], [`hosts`] |
//! | I2 no older host is obeyed | [`after`], [`applied`] |
//! | I3 one host an epoch | [`after`] |
//! | I4 an old host acts no longer than its lease | [`acts_alone`] |
//! | I5 a minority acknowledges nothing | [`acknowledges`] |
//! | I6 one list, one order | [`lists`] |
//! | I7 who may be host | [`hosts`] |
//! | I8 everybody ends with one host, in time | [`migrated`], [`ended`], [`endings`], [`stands_firm`], [`is_obeyed`], [`at_rest`] |
//! | I9 what was acknowledged is held by enough and outlives its host, inputs count once | [`copies`], [`states`], [`Oracle::applies`], [`at_rest`] |
//! | I10 one actor a player, and it keeps it | [`actors`] |
//! | I11, I12 callbacks come in their order | [`Grammar`] |
//! | I13 sessions are apart | [`apart`], [`mod@super::several`] |
//! | I14 nobody waits for ever | [`is_let_in`], [`at_rest`] |
//! | I15 a planned leave loses nothing | [`states`], [`at_rest`] |
//! | nobody waits for whom it has given up | [`turns`] |
//! | who does not go along stays, and nobody else | [`flags`] |
//! | I16 no panic, and limits everywhere | [`limits`], `live` |
//! | a new host cannot rewrite the past (reference, section 5.7) | [`is_noticed`], [`is_rewritten`] |
//! | I17 one seed, one world | `command_line`, `tests/migration.rs` |

mod actors;
mod apart;
mod copies;
mod endings;
mod flags;
mod grammar;
mod grants;
mod hosts;
mod limits;
mod lists;
mod pasts;
mod states;
mod troubles;
mod turns;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound::{Excluded, Unbounded};

use mainstay_lobby::Takeover;
use mainstay_migration::{
    Acting, Arbiter, Body, Cause, End, Epoch, Failure, Guards, Level, Message, Outcome, PeerId, Report,
    Session, Stamp, Standing, StateId, Tick, WithoutMajority,
};

use self::actors::Actors;
pub(super) use self::actors::{is_new, plays_again};
pub(super) use self::apart::is_not_its_own;
pub(super) use self::copies::is_held;
pub(super) use self::grammar::Grammar;
pub(super) use self::grants::grants;
use self::hosts::Elections;
pub(super) use self::hosts::{is_obeyed, names, votes};
pub(super) use self::limits::OUTPUTS_MAX;
use self::lists::Lists;
use self::pasts::Pasts;
pub(super) use self::pasts::{is_noticed, is_rewritten};
use self::states::States;
pub(super) use self::states::{keeps_game, leads};
use self::troubles::Troubles;
use self::turns::Turns;
use super::World;
use super::game::Game;
use super::peer::{Alive, Handed, Life};
use super::scenario::{Clocks, Deaths, Faults};
use crate::agenda::Micros;
use crate::laws::{Broken, ensure};

/// From a host's crash to the first message of the next one at every survivor, where nothing else is wrong: the bound of
/// issue 5's p99.
const GAP_MAX: Micros = 3_000_000;
/// The same where two players were left: nobody can confirm that the host is gone, so it is waited for.
const GAP_OF_TWO_MAX: Micros = 4_000_000;
/// And on a side without a majority: whoever misses its head asks voters for two seconds that may all be dead; and where two go on at once, one of whom has only just come,
/// they meet first, and agree within a second.
const GAP_OF_FORK_MAX: Micros = 5_000_000;
/// How much longer where a liar says that it holds more, and gives its new host less again and again: whoever gives nothing is waited for as long.
const HELD_UP_MAX: Micros = 5_000_000;

/// How long a host acts that does not hear a majority: its lease, and a beat.
const LEASE: Micros = 2_200_000;
/// And one that does not hear from its lobby.
const LOBBY_LEASE: Micros = 6_000_000;
/// What a clock that runs slow, and a beat, may add to it.
const LEASE_SLACK: Micros = 200_000;
/// What `OnTerminate` may take, and a beat.
const ENDING_MS: u64 = 2_000 + 100;
/// `net_migrate_timeout`, and what its end takes.
const BUDGET_MS: u64 = 30_000 + ENDING_MS;

/// How long a host waits for its successor at most.
const HANDING_MAX: Micros = 2_100_000;

/// How long after a host has given its session away somebody is host: the host waits for its successor, a lobby for the host, and then it is as after
/// a crash. It is less than the time after which a session can be given away again.
pub(super) const GIVEN_MAX: Micros = HANDING_MAX + LOBBY_LEASE + LEASE_SLACK + GAP_OF_FORK_MAX;

/// How long after a host has given its session away, or gone, the last member begins to live through that.
const GIVING_MAX: Micros = 5_000_000;

/// How long somebody asks to be let in at most, and a beat.
const JOINING_MAX: Micros = 15_500_000;

/// What was seen from outside.
#[derive(Debug, Default)]
pub(super) struct Oracle {
    founder: Option<PeerId>,
    /// Who was host of each certified epoch: from its own mouth, or from the lobby's. And since when.
    crowned: BTreeMap<Epoch, PeerId>,
    crowned_at: BTreeMap<Epoch, Micros>,
    stamps: BTreeMap<PeerId, Stamp>,
    /// Since when each has its stamp.
    obeyed: BTreeMap<PeerId, Micros>,
    /// Since when each of those who play with a confirmed host does, and it is one itself.
    confirmed: BTreeMap<PeerId, BTreeMap<PeerId, Micros>>,
    /// Who was host under which stamps.
    led: BTreeSet<(PeerId, Stamp)>,
    applied: BTreeMap<PeerId, Stamp>,
    touched: BTreeSet<PeerId>,
    states: States,
    actors: Actors,
    elections: Elections,
    lists: Lists,
    pasts: Pasts,
    troubles: Troubles,
    turns: Turns,
    obeyed_hosts: flags::Obeyed,
    /// Since when confirmed hosts act beside a newer one, while they do.
    beside: BTreeMap<PeerId, Micros>,
    /// When a host last gave the session away, or went by its own word.
    given: Option<Micros>,
    crash: Option<Crash>,
    /// Whom the lobby has let in.
    let_in: BTreeSet<PeerId>,
    /// What was done, and applied by whichever host, or given up by whoever did it.
    settled: BTreeMap<PeerId, BTreeSet<u64>>,
}

#[derive(Debug)]
struct Crash {
    at: Micros,
    /// Its own.
    stamp: Stamp,
    /// Who was in the session then, and lived.
    survivors: Vec<PeerId>,
    /// When each of them applied the first message of the next host.
    resumed: BTreeMap<PeerId, Micros>,
    /// How often each was given a state since that no host wrote.
    lied_to: BTreeMap<PeerId, u32>,
}

impl Oracle {
    pub(super) const fn is_founded(&self) -> bool {
        self.founder.is_some()
    }

    pub(super) const fn found(&mut self, founder: PeerId) {
        self.founder = Some(founder);
    }

    /// Whether that host is the first that is told of this epoch.
    pub(super) fn crown(&mut self, epoch: Epoch, host: PeerId, now: Micros) -> bool {
        let is_new = !self.crowned.contains_key(&epoch);
        if is_new {
            self.crowned.insert(epoch, host);
            self.crowned_at.insert(epoch, now);
        }
        is_new
    }

    pub(super) fn is_crowned(&self, epoch: Epoch) -> bool {
        self.crowned.contains_key(&epoch)
    }

    /// The first epoch after that of which another was host, and since when.
    fn followed(&self, epoch: Epoch, host: PeerId) -> Option<(Epoch, Micros)> {
        let mut after = self.crowned.range((Excluded(epoch), Unbounded));
        let (epoch, _) = after.find(|(_, other)| **other != host)?;
        Some((*epoch, *self.crowned_at.get(epoch)?))
    }

    pub(super) fn has_led(&self, peer: PeerId, stamp: Stamp) -> bool {
        self.led.contains(&(peer, stamp))
    }

    pub(super) fn has_ever_led(&self, peer: PeerId) -> bool {
        self.led.iter().any(|(leader, _)| *leader == peer)
    }

    pub(super) fn touch(&mut self, peer: PeerId) {
        self.touched.insert(peer);
    }

    pub(super) fn acknowledge(&mut self, name: StateId, game: Game) {
        // What an old host acknowledges beside a new one is lost with its side: a lease's worth at most.
        let is_present = self.crowned.last_key_value().is_none_or(|(newest, _)| *newest <= name.stamp.epoch);
        if is_present {
            self.states.acknowledge(name, game);
        }
    }

    /// Something was lost or late between the two.
    pub(super) fn trouble_between(&mut self, one: PeerId, other: PeerId, now: Micros) {
        self.troubles.between(one, other, now);
    }

    /// It dies, or its session ends.
    pub(super) fn goes(&mut self, peer: PeerId, now: Micros) {
        self.troubles.goes(peer, now);
    }

    /// It does not go along.
    pub(super) fn parts<G: Guards>(&mut self, id: PeerId, session: &Session<G>) {
        self.states.parts(id, session);
    }

    /// It stood still until now, or says what is not so.
    pub(super) fn trouble_with(&mut self, peer: PeerId, now: Micros) {
        self.troubles.with(peer, now);
    }

    /// Somebody says something: perhaps who votes, or that another shall be host.
    pub(super) fn says(&mut self, host: PeerId, message: &Message, now: Micros) {
        if let Body::View(view) = &message.body {
            self.elections.writes(host, view);
        }
        self.states.hands(host, message, now);
        self.turns.hears(host, message);
    }

    /// A move is over for it.
    pub(super) fn rests(&mut self, peer: PeerId) {
        self.turns.rests(peer);
    }

    /// A host's game steps on.
    pub(super) fn keeps(&mut self, host: PeerId) {
        self.states.keeps(host);
    }

    /// A host goes on from a state.
    fn goes_on(&mut self, id: PeerId, now: Micros) {
        if let Some(crash) = &mut self.crash {
            crash.resumed.entry(id).or_insert(now);
        }
    }

    /// A host's game is given an input, after one of the same player that it holds.
    pub(super) fn applies(&mut self, player: PeerId, last: u64, number: u64) -> Result<(), Broken> {
        let settled = self.settled.entry(player).or_default();
        // A host that goes on from before knows nothing of what another applied, and its player keeps it no more.
        let lost = (last + 1..number).find(|number| !settled.contains(number));
        settled.insert(number);
        ensure(lost.is_none(), "I9: no input is left out that was not given up", || {
            format!("{player}: {number} after {last}, without {lost:?}")
        })
    }

    pub(super) fn forgets(&mut self, player: PeerId, number: u64) {
        self.settled.entry(player).or_default().insert(number);
    }

    pub(super) fn new_actor(&mut self, peer: PeerId) -> mainstay_migration::ActorId {
        self.actors.make(peer)
    }

    pub(super) fn gone(&mut self, peer: PeerId) {
        self.actors.gone(peer);
    }

    pub(super) fn let_in(&mut self, peer: PeerId) {
        self.let_in.insert(peer);
    }

    /// Another host died before it was over: it takes as long as it takes, and its end is judged.
    pub(super) fn crashed_too(&mut self) {
        self.crash = None;
    }

    pub(super) const fn handed_over(&mut self, tick: Tick) {
        self.states.handed_over(tick);
    }

    /// A host gives the session away, or goes by its own word.
    pub(super) const fn gives(&mut self, now: Micros) {
        self.given = Some(now);
    }

    /// When that was last.
    pub(super) const fn given(&self) -> Option<Micros> {
        self.given
    }

    /// Nobody suits better than the host that asked for one: it goes on.
    pub(super) const fn stays(&mut self) {
        self.states.stays();
    }

    pub(super) fn crashed(&mut self, at: Micros, stamp: Stamp, survivors: Vec<PeerId>) {
        self.crash = Some(Crash { at, stamp, survivors, resumed: BTreeMap::new(), lied_to: BTreeMap::new() });
    }

    /// Somebody asked a liar for the newest state.
    pub(super) fn is_lied_to(&mut self, asked_by: PeerId) {
        if let Some(crash) = &mut self.crash {
            *crash.lied_to.entry(asked_by).or_default() += 1;
        }
    }
}

/// After every event, for whoever it touched.
pub(super) fn after<G: Guards>(world: &mut World<G>) -> Result<(), Broken> {
    let touched = std::mem::take(&mut world.oracle.touched);
    for id in touched {
        let Some(session) = world.peers[&id].session() else { continue };
        let (stamp, leader, epoch) = (session.stamp(), session.leader(), session.ballot().epoch());
        let host = session.ballot().host();
        if world.scenario.faults == Faults::HostUnheard {
            world.lease_stands(id)?;
        }
        let before = world.oracle.stamps.insert(id, stamp);
        ensure(before.is_none_or(|before| before <= stamp), "I2: the stamp of a peer never falls", || {
            format!("{id}: {before:?}, then {stamp:?}")
        })?;
        if before != Some(stamp) {
            world.oracle.obeyed.insert(id, world.now);
            world.trace.number(u64::from(stamp.epoch.0) << 32 | u64::from(stamp.fork));
            world.trace.number(world.now);
        }
        if host == id && world.oracle.crown(epoch, id, world.now) {
            world.counts.certified += 1;
            world.say(id, |_| format!("is certified for {epoch}"));
            super::storms::is_crowned(world)?;
            hosts::is_elected(world, id, epoch)?;
        }
        if leader == id {
            let led = before.is_some_and(|before| world.oracle.led.contains(&(id, before)));
            let is_new = world.oracle.led.insert((id, stamp));
            if is_new && !led {
                hosts::begins(world, id, stamp)?;
                flags::begins(world, id, stamp)?;
            }
            if is_new && led && stamp.fork == 0 && world.peers[&id].acting == Acting::Yes {
                states::goes_on_certified(world, id)?;
            }
            if let Some(session) = world.peers[&id].session() {
                world.oracle.elections.writes(id, session.view());
            }
        }
        let crowned = world.oracle.crowned.get(&epoch);
        ensure(
            crowned == Some(&host),
            "I1, I3: an epoch has one host, and nobody is obeyed who was not elected",
            || format!("{id} obeys {host} in {epoch}, whose host is {crowned:?}"),
        )?;
        ensure(stamp.fork > 0 || leader == host, "a certified stamp is its host's", || id)?;
        flags::stays(world, id)?;
        turns::waits(world, id)?;
        lists::has(world, id)?;
        actors::has(world, id)?;
        limits::keeps(world, id)?;
    }
    Ok(())
}

/// A host says that a state is held.
pub(super) fn acknowledges<G: Guards>(world: &World<G>, id: PeerId) -> Result<(), Broken> {
    let Some(session) = world.peers[&id].session() else { return Ok(()) };
    ensure(
        session.standing() != Some(Standing::Unconfirmed),
        "I5: a side without a majority acknowledges nothing",
        || id,
    )?;
    hears_of_most(world, id, session)?;
    let lease = if world.has_lobby() { LOBBY_LEASE + LEASE_SLACK } else { LEASE };
    let epoch = session.stamp().epoch;
    // One whose clock slept with it does not know how late it is.
    let slept = world.scenario.clocks == Clocks::Bad && world.peers[&id].froze.is_some();
    let is_followed = world.oracle.followed(epoch, id).is_some_and(|(_, since)| world.now > since + lease);
    ensure(
        slept || !is_followed,
        "I5: a host that another follows acknowledges nothing after its lease",
        || format!("{id} of {epoch}, followed since {:?}", world.oracle.followed(epoch, id)),
    )
}

/// Who acknowledges is not cut off from most of those who could have another host.
fn hears_of_most<G: Guards>(world: &World<G>, id: PeerId, session: &Session<G>) -> Result<(), Broken> {
    let since = world.now.saturating_sub(LEASE + LEASE_SLACK);
    let (host, view) = (&world.peers[&id], session.view());
    // One whose clock slept with it does not know how late it is.
    if world.scenario.clocks == Clocks::Bad && host.froze.is_some() {
        return Ok(());
    }
    // Who stood still until a moment ago may have been heard since, before a link to it was cut.
    let thawed = |other: PeerId| world.oracle.troubles.last_with(other).is_some_and(|last| last >= since);
    // Deaf to it for a while, and then heard by it no more: what comes in between tells a deaf host that it was heard a moment ago.
    let began_deaf = world.now.saturating_sub(3 * LEASE);
    let hears = |other: PeerId| !world.cuts.values().any(|cut| cut.contains(&(other, id)));
    let is_cut_off = |other: &&PeerId| {
        let since = if hears(**other) { began_deaf } else { since };
        let was_so = host.carried(**other).is_some_and(|carried| carried < since) && !thawed(**other);
        **other != id && was_so && !world.carries(id, **other)
    };
    let cut_off = view.members.keys().filter(is_cut_off).count();
    ensure(
        view.members.len() - cut_off >= view.majority(),
        "I5: a host that most of its members are cut off from acknowledges nothing",
        || format!("{id}: {cut_off} of {:?}", view.members),
    )
}

/// Somebody still asks to be let in.
pub(super) fn is_let_in<G: Guards>(world: &World<G>, id: PeerId) -> Result<(), Broken> {
    let peer = &world.peers[&id];
    let is_late = peer.came.is_some_and(|came| world.now > came + JOINING_MAX) && peer.froze.is_none();
    ensure(!is_late, "I14: whoever wants in is in, or knows soon that it is not", || {
        format!("{id} asks since {:?}", peer.came)
    })
}

/// Two confirmed hosts act at once only as long as the older one's lease; each of those, where one after the other was cut off.
pub(super) fn acts_alone<G: Guards>(world: &mut World<G>, id: PeerId) -> Result<(), Broken> {
    let acts = |id: &PeerId| {
        let peer = &world.peers[id];
        let host =
            peer.session().filter(|it| it.standing() == Some(Standing::Confirmed) && it.stamp().fork == 0);
        host.filter(|_| peer.acting == Acting::Yes).map(|session| (session.stamp().epoch, *id))
    };
    if acts(&id).is_none() {
        world.oracle.beside.remove(&id);
        return Ok(());
    }
    let mut acting: Vec<(Epoch, PeerId)> = world.running().iter().filter_map(acts).collect();
    acting.sort_unstable();
    let newest = acting.pop();
    let (now, before) = (world.now, core::mem::take(&mut world.oracle.beside));
    let since = |host: PeerId| (host, before.get(&host).copied().unwrap_or(now));
    world.oracle.beside = acting.into_iter().map(|(_, host)| since(host)).collect();
    let lease = match (world.scenario.arbiter, world.scenario.takeover, world.scenario.clocks) {
        (Arbiter::Majority, Takeover::Fast | Takeover::Strict, Clocks::True | Clocks::Bad) => LEASE,
        (Arbiter::Lobby, Takeover::Strict, Clocks::True) => 0,
        (Arbiter::Lobby, Takeover::Fast, Clocks::True | Clocks::Bad)
        | (Arbiter::Lobby, Takeover::Strict, Clocks::Bad) => LOBBY_LEASE,
    };
    let late = world.oracle.beside.iter().find(|(_, since)| now - **since > lease);
    ensure(late.is_none(), "I4: an old host acts no longer than its lease beside a new one", || {
        format!("{late:?} beside {newest:?}")
    })
}

/// A message of a host was applied.
pub(super) fn applied<G: Guards>(world: &mut World<G>, id: PeerId, stamp: Stamp) -> Result<(), Broken> {
    let own = world.peers[&id].session().map(|session| session.stamp());
    let before = world.oracle.applied.insert(id, stamp);
    ensure(
        before.is_none_or(|before| before <= stamp) && own.is_none_or(|own| stamp >= own),
        "I2: no message of an older host is applied",
        || format!("{id} at {own:?} applied {stamp:?} after {before:?}"),
    )?;
    let now = world.now;
    if let Some(crash) = &mut world.oracle.crash
        && crash.stamp < stamp
    {
        crash.resumed.entry(id).or_insert(now);
    }
    Ok(())
}

/// A host says that it gives its session to another, for that one suits better.
pub(super) fn gives_away<G: Guards>(world: &mut World<G>, id: PeerId) -> Result<(), Broken> {
    if world.peers[&id].handed == Handed::Unasked {
        world.peer(id).handed = Handed::ByItself;
        world.counts.suited += 1;
    }
    let is_asked = matches!(world.peers[&id].handed, Handed::Asked(_));
    let may = is_asked || world.now < world.scenario.gathers + HANDING_MAX;
    ensure(may, "a game that has begun stays where it is", || id)
}

/// A migration ended on one peer.
pub(super) fn migrated<G: Guards>(world: &mut World<G>, id: PeerId, report: &Report) -> Result<(), Broken> {
    world.peers.get_mut(&id).map_or(Ok(()), |peer| peer.grammar.completed(report))?;
    let took = Micros::from(report.took_ms) * 1_000 + GIVING_MAX;
    // It stood still meanwhile, or its clock leapt.
    let froze = world.peers[&id].froze.is_some_and(|until| until + took >= world.now);
    ensure(
        froze || report.took_ms <= BUDGET_MS,
        "I8: a migration ends within its budget and its grace",
        || format!("{id}: {report:?}"),
    )?;
    // What a host gives away is judged where it does. Some clocks run slower than the world's.
    let was_given = world.oracle.given.is_some_and(|given| given + took >= world.now);
    let is_given = was_given && matches!(report.cause, Cause::Lobby | Cause::Controlled);
    let unprovoked = !is_given
        && match world.scenario.faults {
            Faults::Calm | Faults::Wireless | Faults::HostUnheard => true,
            Faults::Stormer => !world.has_stormed(id),
            Faults::Beside => !world.shared.contains(&id),
            // It ends at once where it is cut off, and does not hear its host give the session away.
            Faults::OneDeaf => {
                let is_cut_off = report.outcome == Outcome::Terminated(Failure::CutOff);
                !(was_given || is_cut_off && report.took_ms <= ENDING_MS)
            }
            Faults::HostCrashes | Faults::HostAfterHost | Faults::Swarm | Faults::Sleepers => false,
        };
    ensure(!unprovoked, "nobody migrates whose host most of them hear", || format!("{id}: {report:?}"))?;
    // Whoever should not have begun is not asked how it ended.
    endings::is_inevitable(world, id, report)
}

/// A session is over for a peer.
pub(super) fn ended<G: Guards>(world: &World<G>, id: PeerId, end: &End) -> Result<(), Broken> {
    let heard_out = !world.peers[&id].grammar.is_running();
    ensure(heard_out, "I11: what ends in the middle of a migration ends with Terminate", || {
        format!("{id}: {end:?}")
    })?;
    flags::ended(world, id, end)?;
    if *end == End::HostLost {
        return Ok(());
    }
    let is_put_out = world.scenario.faults == Faults::Stormer && !world.has_stormed(id);
    ensure(!is_put_out, "a storm puts nobody out", || format!("{id}: {end:?}"))?;
    let is_beside = world.scenario.faults == Faults::Beside && !world.shared.contains(&id);
    ensure(!is_beside, "I13: a session ends nobody for what another lives through", || {
        format!("{id}: {end:?}")
    })?;
    let has_left = *end == End::Left && world.scenario.faults == Faults::HostAfterHost;
    if !matches!(world.scenario.faults, Faults::HostCrashes | Faults::HostAfterHost) || has_left {
        return Ok(());
    }
    // Two players without a majority end where that is their session's policy.
    let of_two = world.scenario.without_majority != WithoutMajority::Fork;
    ensure(of_two, "I8: whoever survives its host goes on", || format!("{id}: {end:?}"))
}

/// Whether the last move is over for everybody, and all know each other: a host that goes in the moment in which somebody comes may take with
/// it that it did.
pub(super) fn is_at_rest<G: Guards>(world: &World<G>) -> bool {
    let has_resumed = |crash: &Crash| {
        let runs =
            |id: &&PeerId| world.peers[*id].alive == Alive::Running && world.peers[*id].session().is_some();
        crash.survivors.iter().filter(runs).all(|id| crash.resumed.contains_key(id))
    };
    let running = world.running();
    let knows_all = |id: &PeerId| {
        let session = world.peers[id].session();
        session.is_some_and(|it| running.iter().all(|other| it.roster().members.contains_key(other)))
    };
    world.oracle.crash.as_ref().is_none_or(has_resumed)
        && running.iter().all(knows_all)
        && !world.peers.keys().any(|id| world.is_on_its_way(*id))
        && one_host(world).is_ok()
}

/// Before the next host crashes in a world where nothing else is wrong: everybody has had the next one's first message in
/// time, and it is the same one for all.
pub(super) fn stands_firm<G: Guards>(world: &mut World<G>) -> Result<(), Broken> {
    one_host(world)?;
    lists::is_expected(world)?;
    let Some(Crash { at, survivors, resumed, lied_to, .. }) = world.oracle.crash.take() else {
        return Ok(());
    };
    // Who is found out by its first answer is asked no more.
    let is_held_up = lied_to.values().any(|times| *times > 2);
    let held_up = if is_held_up { HELD_UP_MAX } else { 0 };
    let running = world.running();
    // Whoever is left alone by those who did not go along is one of two.
    let gone = survivors.iter().filter(|id| flags::may_stay(world, **id)).count();
    let left_alone = gone > 0 && survivors.len() - gone == 1;
    for id in survivors.iter().filter(|id| running.contains(id) && !flags::may_stay(world, **id)) {
        let is_fork = world.peers[id].session().is_some_and(|session| session.stamp().fork > 0);
        let limit = match (survivors.len(), world.scenario.arbiter) {
            // Newcomers do not vote yet, nor does a side that lost its majority.
            (_, Arbiter::Majority) if is_fork => GAP_OF_FORK_MAX,
            (1, Arbiter::Majority) => GAP_OF_TWO_MAX,
            (_, Arbiter::Lobby) if world.scenario.takeover == Takeover::Strict => LOBBY_LEASE + GAP_MAX,
            _ if left_alone => GAP_OF_TWO_MAX,
            _ => GAP_MAX,
        } + held_up;
        let gap = resumed.get(id).map(|resumed| resumed - at);
        ensure(
            gap.is_some_and(|gap| gap <= limit),
            "a crash of a host is over within the bound for everybody",
            || format!("{id}: {gap:?} µs of at most {limit}"),
        )?;
    }
    Ok(())
}

/// When faults have stopped and everything was healed: whoever is in the session has one host, and it plays.
pub(super) fn at_rest<G: Guards>(world: &World<G>) -> Result<(), Broken> {
    one_host(world)?;
    let waiting =
        world.peers.iter().find(|(id, peer)| peer.alive == Alive::Running && world.is_on_its_way(**id));
    ensure(waiting.is_none(), "I14: whoever wants in is in, or knows that it is not", || {
        format!("{:?}", waiting.map(|(id, _)| id))
    })?;
    super::storms::at_rest(world)?;
    limits::at_rest(world)?;
    lists::at_rest(world)?;
    all_was_applied(world)
}

/// Whatever a player did is in the game in the end, or was in that of a side that gave way.
fn all_was_applied<G: Guards>(world: &World<G>) -> Result<(), Broken> {
    let Some(host) = world.host() else { return Ok(()) };
    let applied = &world.peers[&host].game.inputs;
    let lost = world.running().into_iter().filter(|id| !world.has_stormed(*id)).find_map(|id| {
        let played = world.peers[&id].played;
        let last = applied.get(&id).copied().unwrap_or_default();
        let settled = world.oracle.settled.get(&id);
        let missing = (1..=played).find(|number| settled.is_none_or(|settled| !settled.contains(number)));
        // Who says that it holds more than it does has its host take for safe what is not.
        let lies = world.forger.is_some_and(|forger| forger.peer == id);
        let is_apart =
            matches!(world.scenario.faults, Faults::Swarm | Faults::Sleepers) || world.shared.contains(&id);
        // Where nothing goes along no later host's game has what an earlier one's had; nor where all died at once who held it.
        let goes_along = world.scenario.level != Level::None && world.scenario.deaths == Deaths::Alone;
        let is_behind = last != played && !is_apart && !lies && goes_along;
        (missing.is_some() || is_behind)
            .then(|| format!("{id}: {last} of {played} in the game of {host}, {missing:?} in none"))
    });
    ensure(lost.is_none(), "I9, I15: every input of who is left was applied", || format!("{lost:?}"))
}

fn one_host<G: Guards>(world: &World<G>) -> Result<(), Broken> {
    let mut hosts: BTreeMap<(Stamp, PeerId), Vec<PeerId>> = BTreeMap::new();
    for id in world.running() {
        if let Some(session) = world.peers[&id].session() {
            hosts.entry((session.stamp(), session.leader())).or_default().push(id);
        }
    }
    let views = || {
        let sessions = world.running().into_iter().filter_map(|id| Some((id, world.peers[&id].session()?)));
        let views = sessions.map(|(id, session)| format!("{id} {:?}: {}", session.stamp(), session.shown()));
        views.collect::<Vec<_>>().join("; ")
    };
    ensure(hosts.len() <= 1, "I8: everybody who is left has one host", views)?;
    let Some(((_, host), members)) = hosts.pop_first() else { return Ok(()) };
    let plays = world.peers.get(&host).is_some_and(|peer| {
        peer.alive == Alive::Running && peer.acting == Acting::Yes && matches!(peer.life, Life::In(_))
    });
    // Where nobody can be host, the session waits for somebody who can until its time is over.
    ensure(plays, "I8: the host of whoever is left is there, and its game steps", || {
        format!("{host} of {members:?}: {}", views())
    })?;
    let busy = world.running().into_iter().find(|id| world.peers[id].grammar.is_running());
    ensure(busy.is_none(), "I8: every migration has come to its end", || format!("{busy:?}"))
}
