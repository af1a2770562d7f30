//! A peer's hands: its clock, its sockets, its game and its listeners, as `game/peer` is to be them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use mainstay_migration::{
    Acting, ActorId, Admission, Arbiter, Beat, Body, CanBeHost, ChannelId, Config, GamePhase, Guards,
    Handover, Input, Joined, Joining, Leads, Level, MEMBERS_MAX, Migratable, NatType, Order, Outcome, Output,
    PeerId, Session, Stamp, StateError, StateId, Tick, WithoutMajority,
};

use super::clock::Clock;
use super::flags::Flag;
use super::game::Game;
use super::keys::NamedKeys;
use super::scenario::Faults;
use super::telling::Words;
use super::{Happening, Parcel, World};
use crate::agenda::Micros;
use crate::laws::{Broken, ensure};

/// How often a host's game steps.
const STEP: Micros = 100_000;
/// After how many steps a host looks for others of its session: about as often as CRYENGINE's LAN search.
const LOOKS_EVERY: u64 = 50;
/// When somebody asks the lobby again that was not let in: what it is told (`Retry-After`).
const ASKS_LOBBY_AGAIN: Micros = 1_000_000;
/// How often a player does something in a step, of a million.
const PLAYS: u32 = 200_000;
/// And how much then, at most: so soon after each other that one overtakes another on its way.
const PLAYS_AT_ONCE: u64 = 4;
/// How many states that are not acknowledged are remembered.
const WRITTEN_MAX: usize = 512;
/// How many parcels wait for a process that is frozen: what a socket's buffer takes.
const INBOX_MAX: usize = 256;
/// After how long a link that carries nothing is given up: as `game/peer` has QUIC do it.
const LINK_IDLE: Micros = 10_000_000;

/// One process.
#[derive(Debug)]
pub(super) struct Peer<G: Guards> {
    pub alive: Alive,
    /// Until when it was frozen, or when its clock leapt: what it took by its own clock meanwhile is not its fault.
    pub froze: Option<Micros>,
    /// Since when its clock stands still with it.
    pub asleep: Option<Micros>,
    pub life: Life<G>,
    pub speaks: Version,
    /// Whether it lives through a migration, as it says.
    pub moves: Moves,
    pub clock: Clock,
    /// When it is to wake, if it is.
    wakes: Option<Micros>,
    inbox: VecDeque<(PeerId, Parcel)>,
    /// When its links to others last carried both ways, and to whom it has told its rules that it has one.
    links: BTreeMap<PeerId, Micros>,
    linked: BTreeSet<PeerId>,
    pub acting: Acting,
    /// Its game, as it lives through it.
    pub game: Game,
    /// What it wrote as host and is not acknowledged yet.
    pub written: VecDeque<(StateId, Game)>,
    /// How many inputs its player gave.
    pub played: u64,
    pub suitable: CanBeHost,
    pub suits_since: Micros,
    pub flag: Flag,
    /// Since when it asks to be let in, while it does.
    pub came: Option<Micros>,
    /// When a listener of its game panicked last.
    pub panicked: Option<Micros>,
    pub handed: Handed,
    pub grammar: super::laws::Grammar,
    pub words: Words,
}

/// Who has asked it last to give its session away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Handed {
    /// Nobody.
    Unasked,
    /// Nobody, and it does.
    ByItself,
    /// Its game, when this was its stamp.
    Asked(Stamp),
}

/// Which version of the protocol a program speaks: those of two have no word for each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    /// The founder's.
    Ours,
    Another,
}

/// Whether somebody lives through a migration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Moves {
    No,
    Yes,
}

/// Whether a process runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Alive {
    Running,
    Frozen,
    Dead,
}

/// How far a peer came.
#[derive(Debug)]
pub(super) enum Life<G: Guards> {
    NotYet,
    Joins(Box<Joining<G>>),
    In(Box<Session<G>>),
    Over,
}

/// What the program of somebody who comes in says of the session; but what a lobby says of it, it was told before.
fn disagrees(config: Config) -> Config {
    let order = match config.order {
        Order::Documented => Order::CryEngine51,
        Order::CryEngine51 | Order::Game { .. } => Order::Documented,
    };
    let config = Config { order, level: Level::Synchronous, ..config };
    match config.arbiter {
        Arbiter::Lobby => config,
        Arbiter::Majority => {
            let without_majority = match config.without_majority {
                WithoutMajority::Fork | WithoutMajority::Hold => WithoutMajority::End,
                WithoutMajority::End => WithoutMajority::Fork,
            };
            Config { migratable: Migratable::No, without_majority, size: 1, ..config }
        }
    }
}

impl<G: Guards> Peer<G> {
    /// Its link to that one is gone: once it has one again it tells its rules so.
    pub(super) fn is_unlinked(&mut self, other: PeerId) {
        self.links.remove(&other);
        self.linked.remove(&other);
    }

    /// When its link to that one last carried both ways, while it has one.
    pub(super) fn carried(&self, other: PeerId) -> Option<Micros> {
        self.links.get(&other).copied()
    }

    /// Its session, while it runs and is in one.
    pub(super) fn session(&self) -> Option<&Session<G>> {
        match &self.life {
            Life::In(session) if self.alive != Alive::Dead => Some(session),
            Life::In(_) | Life::NotYet | Life::Joins(_) | Life::Over => None,
        }
    }
}

impl<G: Guards> World<G> {
    pub(super) fn new_peer(&mut self) -> PeerId {
        // Ids in no order of their coming, as fingerprints are.
        let own = PeerId(u128::from(crate::random::mix(self.random.next())) << 8 | self.next_peer);
        let id = self.shared_machine(self.next_peer).unwrap_or(own);
        self.next_peer += 1;
        let skew_ms = self.random.below(1_000_000);
        let clock = self.new_clock(skew_ms);
        let only_crashes = self.scenario.faults != Faults::Swarm;
        let suitable =
            if only_crashes || self.random.chance(900_000) { CanBeHost::Yes } else { CanBeHost::NotYet };
        let flag = self.new_flag();
        self.peers.insert(
            id,
            Peer {
                alive: Alive::Running,
                froze: None,
                asleep: None,
                life: Life::NotYet,
                speaks: Version::Ours,
                moves: Moves::No,
                clock,
                wakes: None,
                inbox: VecDeque::new(),
                links: BTreeMap::new(),
                linked: BTreeSet::new(),
                acting: Acting::No,
                game: Game::default(),
                written: VecDeque::new(),
                played: 0,
                suitable,
                suits_since: self.now,
                flag,
                came: None,
                panicked: None,
                handed: Handed::Unasked,
                grammar: super::laws::Grammar::default(),
                words: Words::NONE,
            },
        );
        id
    }

    pub(super) fn starts(&mut self, id: PeerId) -> Result<(), Broken> {
        if self.has_lobby() && self.oracle.is_founded() && !self.is_let_in_by_lobby(id) {
            self.after(ASKS_LOBBY_AGAIN, Happening::Starts { peer: id });
            return Ok(());
        }
        let admission = self.has_lobby().then(|| self.admits(id));
        self.starts_with(id, admission)
    }

    /// Somebody starts whom the lobby, where there is one, has let in; or who says so.
    pub(super) fn starts_with(&mut self, id: PeerId, admission: Option<Admission>) -> Result<(), Broken> {
        let config = Config {
            me: id,
            admission,
            session: self.session,
            arbiter: self.scenario.arbiter,
            order: self.scenario.order,
            migratable: Migratable::Yes,
            without_majority: self.scenario.without_majority,
            level: self.scenario.level,
            size: MEMBERS_MAX,
            support: self.peers[&id].flag.support(),
            keys: Arc::new(NamedKeys(id)),
        };
        // The programs of those who come in say otherwise, and go by what the host says.
        let config = if self.oracle.is_founded() { disagrees(config) } else { config };
        let known: Vec<PeerId> = self
            .peers
            .iter()
            .filter(|(_, peer)| peer.session().is_some() && peer.alive == Alive::Running)
            .map(|(id, _)| *id)
            .take(3)
            .collect();
        let now = self.clock(id);
        let life = if self.oracle.is_founded() {
            if known.is_empty() {
                self.counts.kept_out += 1;
                Life::Over
            } else {
                Life::Joins(Box::new(Joining::of(now, config, known)))
            }
        } else {
            self.oracle.found(id);
            let session = match config.arbiter {
                Arbiter::Majority => Session::found_by(now, config),
                Arbiter::Lobby => {
                    let certificate = self.makes_session(id)?;
                    Session::found_certified(now, config, &certificate)
                        .map_err(|why| Broken::new("a lobby proves its first host", why))?
                }
            };
            Life::In(Box::new(session))
        };
        self.say(id, |_| "starts".to_owned());
        self.peer(id).came = matches!(life, Life::Joins(_)).then_some(self.now);
        self.peer(id).life = life;
        if self.peers[&id].session().is_some() {
            self.settle_in(id);
        }
        self.after(STEP, Happening::Steps { peer: id });
        self.wakes(id)
    }

    pub(super) fn peer(&mut self, id: PeerId) -> &mut Peer<G> {
        self.peers.get_mut(&id).expect("peers are never forgotten, only dead")
    }

    /// What a game does once it is in: it registers its listeners, and tells what is known of its machine.
    fn settle_in(&mut self, id: PeerId) {
        self.registers(id);
        let nat = [NatType::Open, NatType::Moderate, NatType::Strict, NatType::Unknown];
        let nat = nat[self.random.index(4)];
        let suitable = self.peers[&id].suitable;
        let has_begun = self.now >= self.scenario.gathers;
        let phase = if has_begun { GamePhase::Started } else { GamePhase::Gathering };
        let now = self.clock(id);
        if let Life::In(session) = &mut self.peer(id).life {
            session.handle(now, Input::Reachable { nat, ping_ms: 30 });
            session.handle(now, Input::Suitable(suitable));
            session.handle(now, Input::Phase(phase));
        }
        if let Some(set) = self.sets_variable(id)
            && let Life::In(session) = &mut self.peer(id).life
        {
            session.handle(now, set);
        }
    }

    /// The game begins, for everybody at once.
    pub(super) fn begins(&mut self) -> Result<(), Broken> {
        self.say("world", |_| "the game begins".to_owned());
        self.running().into_iter().try_for_each(|id| self.give(id, Input::Phase(GamePhase::Started)))
    }

    pub(super) fn wakes(&mut self, id: PeerId) -> Result<(), Broken> {
        if self.peers[&id].alive != Alive::Running {
            return Ok(());
        }
        // A sooner deadline may have taken this one's place.
        let early = self.peers[&id].wakes.is_some_and(|at| at > self.now);
        if early {
            return Ok(());
        }
        self.peer(id).wakes = None;
        let now = self.clock(id);
        let joined = match &mut self.peer(id).life {
            Life::In(session) => {
                session.handle(now, Input::Wake);
                None
            }
            Life::Joins(joining) => Some(joining.wake(now)),
            Life::NotYet | Life::Over => None,
        };
        if let Some(joined) = joined {
            self.joined(id, joined)?;
        }
        super::laws::is_let_in(self, id)?;
        self.drain(id)
    }

    /// What it was to wake for may be over by its own clock.
    pub(super) fn wakes_anew(&mut self, id: PeerId) -> Result<(), Broken> {
        self.peer(id).wakes = None;
        self.wakes(id)
    }

    pub(super) fn joined(&mut self, id: PeerId, joined: Joined<G>) -> Result<(), Broken> {
        match joined {
            Joined::NotYet(outputs) => {
                for output in outputs {
                    self.does(id, output)?;
                }
            }
            Joined::In(session) => {
                self.peer(id).life = Life::In(session);
                self.peer(id).came = None;
                self.counts.joined += 1;
                self.say(id, |_| "is in".to_owned());
                self.settle_in(id);
            }
            Joined::Refused(_) | Joined::NoAnswer => {
                self.peer(id).life = Life::Over;
                self.peer(id).came = None;
                self.counts.kept_out += 1;
            }
            Joined::Forged(why) => return Err(Broken::new("whoever welcomes proves who is host", why)),
        }
        Ok(())
    }

    /// Does what the session asks for, and sleeps until its next deadline.
    pub(super) fn drain(&mut self, id: PeerId) -> Result<(), Broken> {
        let mut given = 0;
        loop {
            let outputs = match &mut self.peer(id).life {
                Life::In(session) => session.take_outputs(),
                Life::NotYet | Life::Joins(_) | Life::Over => Vec::new(),
            };
            if outputs.is_empty() {
                break;
            }
            given += outputs.len();
            ensure(
                given <= super::laws::OUTPUTS_MAX,
                "I16: nobody says more than there is room for",
                || format!("{id}: {given} at once"),
            )?;
            let struck = self.fate(id, &outputs);
            let (said, fate) = struck.map_or((outputs.len(), None), |(said, fate)| (said, Some(fate)));
            let mut outputs = outputs.into_iter();
            for output in outputs.by_ref().take(said) {
                self.does(id, output)?;
            }
            if let Some(fate) = fate {
                // What it lives through it knows before it says so.
                if outputs.as_slice().iter().any(|output| matches!(output, Output::Progress(_))) {
                    self.peer(id).moves = Moves::Yes;
                }
                self.meets(id, fate)?;
            }
            if self.peers[&id].alive == Alive::Dead {
                return Ok(());
            }
            for output in outputs {
                self.does(id, output)?;
            }
        }
        let deadline = match &self.peers[&id].life {
            Life::In(session) => session.next_deadline(),
            Life::Joins(joining) => Some(joining.next_deadline()),
            Life::NotYet | Life::Over => None,
        };
        if let Some(deadline) = deadline {
            let at = self.peers[&id].clock.when(deadline).max(self.now + 1);
            if self.peers[&id].wakes.is_none_or(|wakes| wakes > at) {
                self.peer(id).wakes = Some(at);
                self.agenda.put(at, Happening::Wakes { peer: id });
            }
        }
        self.oracle.touch(id);
        Ok(())
    }

    fn does(&mut self, id: PeerId, output: Output) -> Result<(), Broken> {
        match output {
            Output::Send { to, message } if message.body == Body::Ask => {
                self.counts.suspicions += 1;
                self.transmit(id, to, Parcel::Protocol(Box::new(message)));
            }
            Output::Send { to, message } => {
                self.oracle.says(id, &message, self.now);
                super::laws::keeps_game(self, id, &message)?;
                let message = self.as_it_is_signed(id, message);
                if let Body::Vote(vote) = &message.body {
                    super::laws::votes(self, id, vote)?;
                }
                self.unrest.note_view(&message);
                if let Body::Beat(Beat { leads: Leads::HandsOver { why, to: next, .. }, .. }) = &message.body
                {
                    self.oracle.gives(self.now);
                    // Whom two sides merge under is host already.
                    if *why != Handover::Merge {
                        super::laws::names(self, id, *next)?;
                    }
                    if *why == Handover::Lobby {
                        super::laws::gives_away(self, id)?;
                    }
                }
                let message = self.as_it_is_told(id, message);
                let message = self.as_it_is_edited(id, message);
                self.transmit(id, to, Parcel::Protocol(Box::new(message)));
            }
            Output::Call(call, _) => return self.call(id, call),
            Output::AskLobby { asked, question } => self.asks_lobby(id, asked, question),
            Output::Lead { stamp, state } => {
                ensure(
                    !super::lies::is_forged(&state),
                    "nobody goes on from a state that no host wrote",
                    || format!("{id} from {:?}", state.id()),
                )?;
                let game = Game::of(state.parts());
                self.say(id, |_| format!("leads {stamp:?} from {:?}", state.id()));
                self.perhaps_edits(id, stamp, state.id());
                let holds = state.inputs();
                // Of whom has left it may know no more: see `PLAYERS_MAX`.
                let plays = |player: &PeerId| {
                    self.peers[&id].session().is_some_and(|it| it.roster().members.contains_key(player))
                };
                let is_named = |(player, number): (&PeerId, &u64)| match holds.get(player) {
                    Some(held) => held == number,
                    None => !plays(player),
                };
                ensure(
                    game.inputs.iter().all(is_named) && holds.len() <= game.inputs.len(),
                    "I9: a state names the inputs that it holds",
                    || format!("{id}: {holds:?}, not {:?}", game.inputs),
                )?;
                self.peer(id).written.clear();
                self.peer(id).words = Words::NONE;
                // Where nothing goes along its own game does, which heard how far the host's was.
                let goes_along = self.scenario.level != Level::None;
                let tick = self.peers[&id].game.tick;
                self.peer(id).game = if goes_along { game } else { Game::of_client(tick) };
                if stamp.fork > 0 {
                    self.counts.forks += 1;
                }
                return super::laws::leads(self, id, stamp, state.id());
            }
            Output::Apply { from, number, .. } => {
                self.counts.inputs += 1;
                let last = Arc::make_mut(&mut self.peer(id).game.inputs).insert(from, number);
                ensure(last.is_none_or(|last| last < number), "I9: an input is applied once", || {
                    format!("{id}: {number} of {from} after {last:?}")
                })?;
                if self.has_stormed(from) {
                    return Ok(());
                }
                return self.oracle.applies(from, last.unwrap_or_default(), number);
            }
            Output::Connected { peer, channel, actor } => return self.connects(id, peer, channel, actor),
            Output::Follow { leader, stamp } => self.say(id, |_| format!("follows {leader} {stamp:?}")),
            Output::HostNoMore { stamp, cause } => {
                self.say(id, |_| format!("is host no more: {stamp:?}, {cause:?}"))
            }
            Output::Act(acting) => {
                self.peer(id).acting = acting;
                if acting == Acting::Yes {
                    self.oracle.keeps(id);
                }
                self.say(id, |_| format!("acts: {acting:?}"));
            }
            Output::Durable(state) => {
                self.counts.acknowledged += 1;
                super::laws::acknowledges(self, id)?;
                super::laws::is_held(self, id, state)?;
                self.peer(id).words.acknowledge(state);
                let written = &mut self.peer(id).written;
                let mut safe = None;
                while written.front().is_some_and(|(name, _)| *name <= state) {
                    safe = written.pop_front();
                }
                if let Some((name, game)) = safe {
                    self.oracle.acknowledge(name, game);
                }
            }
            Output::InputForgotten { number } => self.oracle.forgets(id, number),
            Output::NobodyBetter => self.oracle.stays(),
            // A game that says nothing: what it gave last goes along.
            Output::SomebodyBetter(better) => self.say(id, |_| format!("has a better one in {better}")),
            Output::Gone(peer) => self.oracle.gone(peer),
            Output::Progress(_) => self.peer(id).moves = Moves::Yes,
            Output::Discard(_) => {}
            Output::NotTaken(StateError::NotNow) => self.peer(id).game.begin_anew(),
            Output::NotTaken(why) => {
                return Err(Broken::new("a host's own state fits its chain", format!("{id}: {why}")));
            }
            Output::Rewritten { host, told, known } => {
                return super::laws::is_rewritten(self, id, host, told, known);
            }
            Output::Confirmed(stamp) => self.say(id, |_| format!("is confirmed {stamp:?}")),
            // Its game gives one with every step.
            Output::StateWanted(stamp) => self.say(id, |_| format!("wants a state of {stamp:?}")),
            Output::Migrated(report) => {
                self.peer(id).moves = Moves::No;
                self.oracle.rests(id);
                self.say(id, |_| format!("{report:?}"));
                // It may have been asked before it was done with the move that made it host.
                let asked = |stamp: &Stamp| self.peers[&id].handed == Handed::Asked(*stamp);
                if !matches!(&report.outcome, Outcome::Moved { stamp, .. } if asked(stamp)) {
                    self.peer(id).handed = Handed::Unasked;
                }
                match &report.outcome {
                    Outcome::Moved { .. } => {
                        self.counts.moved += 1;
                        self.counts.multi += u64::from(report.resets > 0);
                        self.counts.merged += u64::from(report.cause == mainstay_migration::Cause::Merge);
                        self.counts.fenced += u64::from(report.cause == mainstay_migration::Cause::Fenced);
                    }
                    Outcome::Terminated(_) => self.counts.terminated += 1,
                }
                return super::laws::migrated(self, id, &report);
            }
            Output::NotSet(why) => {
                return Err(Broken::new("a console variable that there is can be set", why));
            }
            Output::Ended(end) => {
                self.say(id, |_| format!("ends: {end:?}"));
                if end == mainstay_migration::End::HostLost {
                    self.counts.stayed += 1;
                    if let Life::In(session) = &self.peers[&id].life {
                        self.oracle.parts(id, session);
                    }
                }
                if end == mainstay_migration::End::Left && self.oracle.has_ever_led(id) {
                    self.oracle.gives(self.now);
                }
                self.peer(id).life = Life::Over;
                self.oracle.goes(id, self.now);
                self.leaves_lobby(id);
                return super::laws::ended(self, id, &end);
            }
        }
        Ok(())
    }

    /// A host's game gives whoever connects its actor, or the one it has.
    fn connects(
        &mut self,
        host: PeerId,
        peer: PeerId,
        channel: ChannelId,
        actor: Option<ActorId>,
    ) -> Result<(), Broken> {
        let session = self.peers[&host].session();
        let known = session.and_then(|session| session.actor_for_channel(channel));
        // It may have gone in the same moment, which the game hears next.
        let plays = session.is_some_and(|session| session.roster().members.contains_key(&peer));
        ensure(
            known == actor || !plays,
            "I10: the actor of a channel is that of who connects on it",
            || format!("{host}: {peer} {channel:?} {known:?}, not {actor:?}"),
        )?;
        if let Some(actor) = actor {
            return super::laws::plays_again(self, host, peer, actor);
        }
        super::laws::is_new(self, host, peer)?;
        let actor = self.oracle.new_actor(peer);
        super::laws::plays_again(self, host, peer, actor)?;
        self.give(host, Input::Plays { peer, actor })
    }

    /// Hands something to a running session.
    pub(super) fn give(&mut self, id: PeerId, input: Input) -> Result<(), Broken> {
        if self.peers[&id].alive != Alive::Running {
            return Ok(());
        }
        let now = self.clock(id);
        if let Life::In(session) = &mut self.peer(id).life {
            session.handle(now, input);
            self.drain(id)?;
        }
        Ok(())
    }

    /// The host's game steps, tells its members, and hands its state to the session.
    pub(super) fn steps(&mut self, id: PeerId) -> Result<(), Broken> {
        if self.peers[&id].alive == Alive::Dead || matches!(self.peers[&id].life, Life::Over) {
            return Ok(());
        }
        self.after(STEP, Happening::Steps { peer: id });
        if self.peers[&id].alive == Alive::Frozen {
            return Ok(());
        }
        self.tells_links(id)?;
        if self.busy && self.random.chance(PLAYS) && self.peers[&id].session().is_some() {
            for _ in 0..self.random.between(1, PLAYS_AT_ONCE) {
                // Perhaps it was struck as it played.
                if self.peers[&id].alive != Alive::Running {
                    return Ok(());
                }
                self.peer(id).played += 1;
                self.give(id, Input::Play(Vec::new()))?;
            }
        }
        if self.peers[&id].acting == Acting::No || self.peers[&id].alive != Alive::Running {
            return Ok(());
        }
        self.finds(id)?;
        super::laws::acts_alone(self, id)?;
        super::laws::is_obeyed(self, id)?;
        let Some(session) = self.peers[&id].session() else { return Ok(()) };
        let (stamp, roster) = (session.stamp(), session.roster().clone());
        self.peer(id).game.tick.0 += 1;
        let tick = self.peers[&id].game.tick;
        for to in roster.members.keys().filter(|to| **to != id) {
            self.transmit(id, *to, Parcel::Game { stamp, tick });
        }
        let piece = self.peer(id).game.piece();
        let kind = piece.kind;
        self.give(id, Input::State(piece))?;
        let Some(name) = self.peers[&id].session().map(|session| session.held().id()) else { return Ok(()) };
        let game = self.peers[&id].game.clone();
        if name.tick == game.tick && name.stamp == stamp {
            self.peer(id).written.push_back((name, game));
            self.tells(id, name, kind)?;
        }
        if self.peers[&id].written.len() > WRITTEN_MAX {
            self.peer(id).written.pop_front();
        }
        if let Life::In(session) = &mut self.peer(id).life {
            session.read_deeds();
        }
        self.drain(id)
    }

    /// Whether their link carries both ways now.
    pub(super) fn carries(&self, id: PeerId, other: PeerId) -> bool {
        let is_cut = |cut: &BTreeSet<_>| cut.contains(&(id, other)) || cut.contains(&(other, id));
        let runs = self.peers.get(&other).is_some_and(|peer| peer.alive == Alive::Running);
        runs && !self.cuts.values().any(is_cut)
    }

    /// To whom it has a link: one that carries nothing, one way or both, is given up after a while.
    fn tells_links(&mut self, id: PeerId) -> Result<(), Broken> {
        let Some(session) = self.peers[&id].session() else { return Ok(()) };
        let members: Vec<PeerId> = session.roster().members.keys().copied().filter(|it| *it != id).collect();
        let carrying: Vec<PeerId> =
            members.iter().copied().filter(|other| self.carries(id, *other)).collect();
        let now = self.now;
        let peer = self.peer(id);
        peer.links.extend(carrying.into_iter().map(|other| (other, now)));
        let stands = |other: &PeerId| peer.links.get(other).is_some_and(|at| now < at + LINK_IDLE);
        let linked: BTreeSet<PeerId> = members.into_iter().filter(stands).collect();
        if linked == peer.linked {
            return Ok(());
        }
        peer.linked.clone_from(&linked);
        self.give(id, Input::Linked(linked))
    }

    /// A host looks around now and then, as on a LAN: two sides may share nobody who lives.
    fn finds(&mut self, id: PeerId) -> Result<(), Broken> {
        if !self.peers[&id].game.tick.0.is_multiple_of(LOOKS_EVERY) {
            return Ok(());
        }
        for other in self.running().into_iter().filter(|other| *other != id) {
            let is_cut = self.cuts.values().any(|cut| cut.contains(&(other, id)));
            if !is_cut {
                self.give(id, Input::Found(other))?;
            }
        }
        Ok(())
    }

    fn transmit(&mut self, from: PeerId, to: PeerId, parcel: Parcel) {
        if self.cuts.values().any(|cut| cut.contains(&(from, to))) {
            return;
        }
        if self.random.chance(self.scenario.loss) {
            return self.oracle.trouble_between(from, to, self.now);
        }
        let speaks = |peer: &PeerId| self.peers.get(peer).map(|it| it.speaks);
        if speaks(&to).is_none() || speaks(&to) != speaks(&from) {
            return;
        }
        let copies = if self.random.chance(self.scenario.doubled) { 2 } else { 1 };
        for _ in 0..copies {
            let mut delay = self.scenario.delay + self.random.below(self.scenario.jitter + 1);
            let pause = [from, to].iter().filter_map(|peer| self.radios.get(peer)).max();
            delay += pause.map_or(0, |until| until.saturating_sub(self.now));
            if self.random.chance(self.scenario.spikes) {
                let late = self.random.below(2_000_000);
                delay += late;
                self.oracle.trouble_between(from, to, self.now + late);
            }
            self.after(delay, Happening::Arrives { from, to, parcel: parcel.clone() });
        }
    }

    pub(super) fn arrives(&mut self, from: PeerId, to: PeerId, parcel: Parcel) -> Result<(), Broken> {
        match self.peers[&to].alive {
            Alive::Dead => return Ok(()),
            Alive::Frozen => {
                let inbox = &mut self.peer(to).inbox;
                if inbox.len() < INBOX_MAX {
                    inbox.push_back((from, parcel));
                }
                return Ok(());
            }
            Alive::Running => {}
        }
        let now = self.clock(to);
        match parcel {
            Parcel::Protocol(message) if self.is_unwanted(to, &message) => Ok(()),
            Parcel::Protocol(message) if self.forges_state(to, from, &message) => Ok(()),
            Parcel::Protocol(message) => {
                super::laws::is_not_its_own(self, to, from, &message)?;
                super::laws::is_noticed(self, to, from, &message)?;
                let joined = match &mut self.peer(to).life {
                    Life::In(session) => {
                        session.handle(now, Input::Message { from, message: *message });
                        None
                    }
                    Life::Joins(joining) => Some(joining.receive(now, from, &message)),
                    Life::NotYet | Life::Over => None,
                };
                if let Some(joined) = joined {
                    self.joined(to, joined)?;
                }
                self.drain(to)
            }
            Parcel::Game { stamp, tick } => self.plays(from, to, stamp, tick),
        }
    }

    fn plays(&mut self, from: PeerId, to: PeerId, stamp: Stamp, tick: Tick) -> Result<(), Broken> {
        let Some(session) = self.peers[&to].session() else { return Ok(()) };
        if !session.is_of_host(from, stamp) {
            self.counts.refused += 1;
            return Ok(());
        }
        self.counts.applied += 1;
        self.peer(to).game.tick = tick;
        super::storms::hears(self, to)?;
        super::laws::applied(self, to, stamp)
    }

    pub(super) fn thaws(&mut self, id: PeerId) -> Result<(), Broken> {
        if self.peers[&id].alive != Alive::Frozen {
            return Ok(());
        }
        self.say(id, |_| "thaws".to_owned());
        let now = self.now;
        let thawed = self.peer(id);
        thawed.alive = Alive::Running;
        thawed.froze = Some(now);
        thawed.wakes = None;
        if let Some(since) = thawed.asleep.take() {
            thawed.clock.stood_still(now - since);
        }
        self.oracle.trouble_with(id, now);
        if self.now >= self.scenario.gathers {
            self.give(id, Input::Phase(GamePhase::Started))?;
        }
        // Its timers are as late as it is; what waited in its socket comes after.
        self.wakes(id)?;
        // It may be struck anew meanwhile, and stand still with the rest of it.
        while self.peers[&id].alive == Alive::Running
            && let Some((from, parcel)) = self.peer(id).inbox.pop_front()
        {
            // What has come so far may make it host, and what comes next outrank it.
            super::laws::after(self)?;
            self.arrives(from, id, parcel)?;
        }
        Ok(())
    }
}
