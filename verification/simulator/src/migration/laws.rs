//! What must be true of every session at every moment, judged from outside: by what was sent, obeyed, called and held.

use std::collections::{BTreeMap, BTreeSet};

use mainstay_migration::{
    Acting, ActorId, Answer, Arbiter, Call, Cause, End, Epoch, Failure, Guards, ListenerId, Outcome, PeerId,
    Report, Stage, Stamp, Standing, StateId, Tick, WithoutMajority,
};

use super::World;
use super::game::Game;
use super::peer::{Alive, Handed, Life};
use super::scenario::{Comers, Faults};
use crate::agenda::Micros;
use crate::laws::{Broken, ensure};

/// From a host's crash to the first message of the next one at every survivor, where nothing else is wrong: the bound of
/// issue 5's p99.
const GAP_MAX: Micros = 3_000_000;
/// The same where two players were left: nobody can confirm that the host is gone, so it is waited for.
const GAP_OF_TWO_MAX: Micros = 4_000_000;

/// The same under a lobby, which waits as long for a silent host.
const GAP_OF_TWO_UNDER_LOBBY_MAX: Micros = 5_500_000;

/// How long a host acts that does not hear a majority: its lease, and a beat.
const LEASE: Micros = 2_200_000;
/// And one that does not hear from its lobby.
const LOBBY_LEASE: Micros = 6_000_000;
/// `net_migrate_timeout`, what `OnTerminate` may take, and a beat.
const BUDGET_MS: u64 = 30_000 + 2_000 + 100;

/// How long a host waits for its successor at most.
const HANDING_MAX: Micros = 2_100_000;

/// How long after a host has given its session away, or gone, the last member begins to live through that.
const GIVING_MAX: Micros = 5_000_000;

/// What was seen from outside.
#[derive(Debug, Default)]
pub(super) struct Oracle {
    founder: Option<PeerId>,
    /// Who was host of each certified epoch: from its own mouth, or from the lobby's.
    crowned: BTreeMap<Epoch, PeerId>,
    stamps: BTreeMap<PeerId, Stamp>,
    /// Who was host under which stamps.
    led: BTreeSet<(PeerId, Stamp)>,
    applied: BTreeMap<PeerId, Stamp>,
    touched: BTreeSet<PeerId>,
    /// The newest state that was acknowledged.
    acknowledged: Option<(StateId, Game)>,
    /// Every actor that a peer was ever given.
    actors: BTreeMap<PeerId, BTreeSet<ActorId>>,
    next_actor: u64,
    /// Since when two confirmed hosts act, while they do.
    two_act: Option<Micros>,
    handed_over: Option<Tick>,
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
}

impl Oracle {
    pub(super) const fn is_founded(&self) -> bool {
        self.founder.is_some()
    }

    pub(super) const fn found(&mut self, founder: PeerId) {
        self.founder = Some(founder);
    }

    /// Whether that host is the first that is told of this epoch.
    pub(super) fn crown(&mut self, epoch: Epoch, host: PeerId) -> bool {
        let is_new = !self.crowned.contains_key(&epoch);
        self.crowned.entry(epoch).or_insert(host);
        is_new
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
        if self.acknowledged.as_ref().is_none_or(|(before, _)| *before < name) {
            self.acknowledged = Some((name, game));
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

    pub(super) fn new_actor(&mut self, peer: PeerId) -> ActorId {
        self.next_actor += 1;
        let actor = ActorId(self.next_actor);
        self.actors.entry(peer).or_default().insert(actor);
        actor
    }

    pub(super) fn let_in(&mut self, peer: PeerId) {
        self.let_in.insert(peer);
    }

    /// Another host died before it was over: it takes as long as it takes, and its end is judged.
    pub(super) fn crashed_too(&mut self) {
        self.crash = None;
    }

    pub(super) const fn handed_over(&mut self, tick: Tick) {
        self.handed_over = Some(tick);
    }

    /// A host gives the session away, or goes by its own word.
    pub(super) const fn gives(&mut self, now: Micros) {
        self.given = Some(now);
    }

    /// Nobody suits better than the host that asked for one: it goes on.
    pub(super) const fn stays(&mut self) {
        self.handed_over = None;
    }

    pub(super) fn crashed(&mut self, at: Micros, stamp: Stamp, survivors: Vec<PeerId>) {
        self.crash = Some(Crash { at, stamp, survivors, resumed: BTreeMap::new() });
    }
}

/// After every event, for whoever it touched.
pub(super) fn after<G: Guards>(world: &mut World<G>) -> Result<(), Broken> {
    let touched = std::mem::take(&mut world.oracle.touched);
    for id in touched {
        let Some(session) = world.peers[&id].session() else { continue };
        let (stamp, leader, epoch) = (session.stamp(), session.leader(), session.ballot().epoch());
        let host = session.ballot().host();
        let let_in = &world.oracle.let_in;
        let stranger = session.roster().members.keys().find(|peer| !let_in.contains(peer));
        ensure(
            world.scenario.arbiter == Arbiter::Majority || stranger.is_none(),
            "nobody plays whom the lobby has not let in",
            || format!("{id}: {stranger:?}"),
        )?;
        if world.scenario.faults == Faults::HostUnheard {
            world.lease_stands(id)?;
        }
        if leader == id {
            world.oracle.led.insert((id, stamp));
        }
        let before = world.oracle.stamps.insert(id, stamp);
        ensure(before.is_none_or(|before| before <= stamp), "I2: the stamp of a peer never falls", || {
            format!("{id}: {before:?}, then {stamp:?}")
        })?;
        if before != Some(stamp) {
            world.trace.number(u64::from(stamp.epoch.0) << 32 | u64::from(stamp.fork));
            world.trace.number(world.now);
        }
        if host == id && !world.oracle.crowned.contains_key(&epoch) {
            world.oracle.crowned.insert(epoch, id);
            world.counts.certified += 1;
            world.say(id, |_| format!("is certified for {epoch}"));
            super::storms::is_crowned(world)?;
            let suitable = epoch == Epoch::FIRST
                || world.peers[&id].suitable == mainstay_migration::CanBeHost::Yes
                || world.scenario.faults == Faults::Swarm;
            ensure(suitable, "I7: nobody is host who cannot be", || id)?;
        }
        let crowned = world.oracle.crowned.get(&epoch);
        ensure(
            crowned == Some(&host),
            "I1, I3: an epoch has one host, and nobody is obeyed who was not elected",
            || format!("{id} obeys {host} in {epoch}, whose host is {crowned:?}"),
        )?;
        ensure(stamp.fork > 0 || leader == host, "a certified stamp is its host's", || id)?;
    }
    Ok(())
}

/// A host goes on from a state.
pub(super) fn leads<G: Guards>(
    world: &mut World<G>,
    id: PeerId,
    stamp: Stamp,
    state: StateId,
) -> Result<(), Broken> {
    let now = world.now;
    if let Some(crash) = &mut world.oracle.crash {
        crash.resumed.entry(id).or_insert(now);
    }
    let told = world.running().into_iter().map(|id| world.peers[&id].game.tick).max();
    if let (Some(last), Faults::Calm) = (world.oracle.handed_over.take().max(told), world.scenario.faults) {
        ensure(
            last == state.tick || stamp.epoch == Epoch::FIRST,
            "I15: a planned leave loses nothing",
            || format!("handed over at {last}, went on from {state:?}"),
        )?;
    }
    let Some((acknowledged, game)) = world.oracle.acknowledged.clone() else { return Ok(()) };
    if world.scenario.faults == Faults::Swarm {
        return Ok(());
    }
    // Who lies about it is no holder.
    let forger = world.forger.map(|forger| forger.peer);
    let holders = world.running().into_iter().filter(|id| Some(*id) != forger);
    let sessions = holders.filter_map(|id| world.peers[&id].session());
    // A side without a majority has what its own members hold; and who came to it a moment ago does not know who wrote before.
    let is_fork = world.peers[&id].session().is_some_and(|session| session.stamp().fork > 0);
    let held = sessions.filter(|it| !is_fork || it.leader() == id).map(|session| session.held().id());
    let is_new = is_fork && state == StateId::NONE;
    let is_there = !is_new && held.max().is_some_and(|held| held >= acknowledged);
    if !is_there {
        // Nobody who held it lives, or is on this side: what comes after is a game of its own.
        world.oracle.acknowledged = None;
        return Ok(());
    }
    let resumed = &world.peers[&id].game;
    let has_all = game.inputs.iter().all(|(peer, number)| resumed.inputs.get(peer) >= Some(number));
    ensure(
        state >= acknowledged && has_all,
        "I9: what was acknowledged is there while one of its holders lives",
        || format!("{id} goes on from {state:?}, acknowledged was {acknowledged:?}"),
    )
}

/// Two confirmed hosts act at once only as long as the older one's lease.
pub(super) fn acts_alone<G: Guards>(world: &mut World<G>, id: PeerId) -> Result<(), Broken> {
    let acts = |id: &PeerId| {
        let peer = &world.peers[id];
        let session = peer.session();
        peer.acting == Acting::Yes
            && session.is_some_and(|it| it.standing() == Some(Standing::Confirmed) && it.stamp().fork == 0)
    };
    if !acts(&id) {
        return Ok(());
    }
    let others: Vec<PeerId> =
        world.running().into_iter().filter(|other| *other != id && acts(other)).collect();
    if others.is_empty() {
        world.oracle.two_act = None;
        return Ok(());
    }
    let now = world.now;
    let since = *world.oracle.two_act.get_or_insert(now);
    let lease = if world.has_lobby() { LOBBY_LEASE } else { LEASE };
    ensure(now - since <= lease, "I4: an old host acts no longer than its lease beside a new one", || {
        format!("{id} and {others:?} since {since}")
    })
}

/// Somebody that a host's game knows connects.
pub(super) fn plays_again<G: Guards>(
    world: &World<G>,
    peer: PeerId,
    actor: Option<ActorId>,
) -> Result<(), Broken> {
    let own = world.oracle.actors.get(&peer);
    let is_own = actor.is_some_and(|actor| own.is_some_and(|own| own.contains(&actor)));
    ensure(is_own, "I10: nobody gets another's actor", || format!("{peer}: {actor:?} of {own:?}"))
}

/// Somebody without an actor connects: one that had one has lost it only with a side, or by being away.
pub(super) fn is_new<G: Guards>(world: &World<G>, peer: PeerId) -> Result<(), Broken> {
    let had = world.oracle.actors.contains_key(&peer);
    let lost = had && world.scenario.faults == Faults::Calm;
    ensure(!lost, "I10: whoever has an actor keeps it", || peer)
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
    let froze = world.peers[&id].froze;
    ensure(
        froze || report.took_ms <= BUDGET_MS,
        "I8: a migration ends within its budget and its grace",
        || format!("{id}: {report:?}"),
    )?;
    // What a host gives away is judged where it does. Some clocks run slower than the world's.
    let took = Micros::from(report.took_ms) * 1_000 + GIVING_MAX;
    let was_given = world.oracle.given.is_some_and(|given| given + took >= world.now);
    let is_given = was_given && matches!(report.cause, Cause::Lobby | Cause::Controlled);
    let unprovoked = !is_given
        && match world.scenario.faults {
            Faults::Calm | Faults::Wireless | Faults::HostUnheard => true,
            Faults::Stormer => !world.has_stormed(id),
            // It ends where it is cut off, and does not hear its host give the session away.
            Faults::OneDeaf => report.outcome != Outcome::Terminated(Failure::CutOff) && !was_given,
            Faults::HostCrashes | Faults::HostAfterHost | Faults::Swarm => false,
        };
    ensure(!unprovoked, "nobody migrates whose host most of them hear", || format!("{id}: {report:?}"))
}

/// A session is over for a peer.
pub(super) fn ended<G: Guards>(world: &World<G>, id: PeerId, end: &End) -> Result<(), Broken> {
    let heard_out = !world.peers[&id].grammar.is_running();
    ensure(heard_out, "I11: what ends in the middle of a migration ends with Terminate", || {
        format!("{id}: {end:?}")
    })?;
    let is_put_out = world.scenario.faults == Faults::Stormer && !world.has_stormed(id);
    ensure(!is_put_out, "a storm puts nobody out", || format!("{id}: {end:?}"))?;
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
    let Some(Crash { at, survivors, resumed, .. }) = world.oracle.crash.take() else { return Ok(()) };
    let running = world.running();
    for id in survivors.iter().filter(|id| running.contains(id)) {
        let is_fork = world.peers[id].session().is_some_and(|session| session.stamp().fork > 0);
        let limit = match (survivors.len(), world.scenario.arbiter) {
            // The lobby takes whoever is just coming for one that would miss the host, too.
            _ if world.has_lobby() && world.scenario.comers == Comers::OneForEach => {
                GAP_OF_TWO_UNDER_LOBBY_MAX
            }
            (1, Arbiter::Majority) => GAP_OF_TWO_MAX,
            // Newcomers do not vote yet, nor does a side that lost its majority.
            (_, Arbiter::Majority) if is_fork => GAP_OF_TWO_MAX,
            (1, Arbiter::Lobby) => GAP_OF_TWO_UNDER_LOBBY_MAX,
            _ => GAP_MAX,
        };
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
        let is_behind = last != played && world.scenario.faults != Faults::Swarm && !lies;
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

/// I11 and I12: the callbacks of one peer, in the order of seed 000.
#[derive(Debug, Default)]
pub(super) struct Grammar {
    stage: Option<Stage>,
    /// The state that each listener of this stage is to be called with next, and whether it is done.
    listeners: BTreeMap<ListenerId, (u32, bool)>,
    calls: BTreeMap<ListenerId, u32>,
}

impl Grammar {
    /// A listener is called.
    pub(super) fn called(&mut self, call: &Call) -> Result<(), Broken> {
        if self.stage != Some(call.stage) {
            let ok = follows(self.stage, call.stage);
            ensure(ok, "I11: callbacks come in the order of the seed", || {
                format!("{:?} after {:?}", call.stage, self.stage)
            })?;
            let pending = self.listeners.values().any(|(_, done)| !done);
            let may_cut_short = matches!(call.stage, Stage::Terminate | Stage::Reset);
            ensure(!pending || may_cut_short, "I12: no stage begins while a listener is pending", || {
                format!("{:?} after {:?}", call.stage, self.stage)
            })?;
            self.stage = Some(call.stage);
            self.listeners.clear();
        }
        let (state, done) = *self.listeners.entry(call.listener).or_insert((0, false));
        ensure(!done, "I12: a listener that is done is not called again", || format!("{call:?}"))?;
        ensure(call.state == state, "I11: state is 0 at first and kept until a listener is done", || {
            format!("{call:?}, not {state}")
        })?;
        self.calls.insert(call.listener, call.number);
        Ok(())
    }

    /// It answers.
    pub(super) fn answered(&mut self, listener: ListenerId, number: u32, state: u32, answer: &Answer) {
        if self.calls.get(&listener) != Some(&number) {
            return;
        }
        if let Some(entry) = self.listeners.get_mut(&listener) {
            *entry = (state, matches!(answer, Answer::Done | Answer::Veto));
        }
    }

    fn completed(&mut self, report: &Report) -> Result<(), Broken> {
        let last = self.stage.take();
        self.listeners.clear();
        let ok = match &report.outcome {
            Outcome::Moved { .. } => matches!(last, None | Some(Stage::Finalise)),
            Outcome::Terminated(_) => matches!(last, None | Some(Stage::Terminate)),
        };
        ensure(ok, "I11: a migration ends with Finalise or Terminate", || format!("{last:?}: {report:?}"))
    }

    const fn is_running(&self) -> bool {
        self.stage.is_some()
    }
}

fn follows(before: Option<Stage>, next: Stage) -> bool {
    match next {
        Stage::Initiate => before.is_none(),
        Stage::DisconnectClient => matches!(before, Some(Stage::Initiate | Stage::Reset)),
        Stage::DemoteToClient | Stage::PromoteToServer => before == Some(Stage::DisconnectClient),
        Stage::ReconnectClient => {
            matches!(before, Some(Stage::DemoteToClient | Stage::PromoteToServer))
        }
        Stage::Finalise => before == Some(Stage::ReconnectClient),
        Stage::Reset => matches!(
            before,
            Some(Stage::DemoteToClient | Stage::PromoteToServer | Stage::ReconnectClient | Stage::Reset)
        ),
        // "An error … could happen at any point": also while a listener finalises.
        Stage::Terminate => before != Some(Stage::Terminate),
    }
}
