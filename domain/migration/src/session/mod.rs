//! One peer in one session: whom it obeys, whether it still hears him, and what it does when it does not.
//!
//! One file an idea: [`beats`] what is said ten times a second, [`circle`] to whom while the host is missed, [`doubt`] when a
//! host is given up, [`vacancy`] what is known while there is none, [`elect`] who comes after, [`reign`] what a host does, [`crowd`] who votes and who plays, [`play`] the game as it goes along, [`event`] what
//! it lives through, [`fork`] sides without a majority, [`mod@line`] what it
//! says to its lobby, [`show`] what can be drawn.

mod beats;
mod circle;
mod crowd;
mod doubt;
mod elect;
mod event;
mod fork;
mod handover;
mod line;
mod play;
mod reign;
mod show;
mod vacancy;
mod words;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::time::Duration;

use mainstay_core::Timestamp;

use crate::ballot::{Ballot, Root};
use crate::certificate::{Certificate, Forged};
use crate::hint::{CanBeHost, Hint, HintList};
use crate::message::{Beat, Body, Hears, Message, Welcome};
use crate::rhythm::{BEAT, Rhythm, SUSPECT_MIN};
use crate::stages::{LISTENERS_MAX, ListenerId, Priority};
use crate::state::{State, StateId};
use crate::view::{Roster, View, ViewId};
use crate::{Arbiter, ChannelId, Epoch, Guarded, Guards, PeerId, Settings, Signature, Stamp};

use doubt::Doubt;
pub use event::ENTITIES_MAX;
use event::Event;
use fork::Fork;
use line::Line;
pub use play::INPUTS_MAX;
use play::{Inputs, Names};
use reign::Reign;
pub use show::Identification;
use vacancy::Vacancy;
pub use words::{Acting, Cause, Config, End, Input, Migratable, Outcome, Output, Report, WithoutMajority};

/// A wake-up later than this after the moment asked for is a stall of this very peer: CRYENGINE's clamp.
const STALL: Duration = Duration::from_millis(300);
/// How often something that nobody answered is said again.
const AGAIN: Duration = Duration::from_millis(200);
/// How often a host beats that is just coming or going: a lost word is missed for so long, and not for a whole [`BEAT`].
const BEAT_MOVING: Duration = Duration::from_millis(25);
/// With so many others all may speak to all, and soon again: in larger sessions that alone would be more than all play.
const SMALL_MAX: usize = 16;
/// How many peers hold the newest state besides the host.
const STANDBYS: usize = 2;

/// One peer in one session.
#[derive(Debug, Clone)]
pub struct Session<G: Guards = Guarded> {
    config: Config,
    settings: Settings,
    ballot: Ballot<G>,
    /// Who plays, as the leader last told; as host, as it is.
    roster: Roster,
    fork: Option<Fork>,
    leadership: Leadership,
    line: Line,
    contacts: BTreeMap<PeerId, Contact>,
    /// Hosts of other sides that do not play on this one: they are met all the same.
    guests: BTreeSet<PeerId>,
    hint: Hint,
    hints: HintList,
    /// The newest state it holds: as host its own, as a standby its host's.
    held: State,
    /// As host: from which state it went on.
    opened: StateId,
    /// As host: the last input of each member that the game was given.
    applied: BTreeMap<PeerId, u64>,
    /// As host: the last input of each member that a new host would have, too.
    safe: BTreeMap<PeerId, u64>,
    /// What this peer's own game did.
    inputs: Inputs,
    names: Names,
    /// By number; without a priority it is registered no more.
    listeners: Vec<(String, Option<Priority>)>,
    event: Option<Event>,
    /// Hosts that were given up since the session last stood firm.
    lost: BTreeSet<PeerId>,
    /// Whether the game was told to step.
    acting: Acting,
    /// Why the session moved last.
    moved_by: Cause,
    /// The highest epoch that anybody spoke of.
    seen: Epoch,
    beat_at: Timestamp,
    due: Timestamp,
    outputs: Vec<Output>,
}

/// Whom it obeys, and how sure it is of him.
#[derive(Debug, Clone)]
enum Leadership {
    /// It hears its host.
    Follows,
    /// It has begun to miss him.
    Doubts(Doubt),
    /// It has given him up, or was told to.
    Vacant(Vacancy),
    /// It is the host.
    Reigns(Reign),
    /// It is no member: it was away too long. It asks to be let in again.
    Outside {
        /// Since when.
        since: Timestamp,
        /// When it asked last.
        asked: Timestamp,
    },
    /// It is over.
    Over,
}

/// Another member.
#[derive(Debug, Clone)]
struct Contact {
    rhythm: Rhythm,
    /// The newest `sent` of its beats, which goes back to it.
    echo: Timestamp,
    /// The newest `sent` of ours that came back.
    echoed: Option<Timestamp>,
    /// Whom it obeys.
    stamp: Stamp,
    beat: Option<Beat>,
    /// The newest state that it holds, as it last told.
    holds: StateId,
    /// Which state it holds while that is not the newest, and since when.
    lacks: Option<(StateId, Timestamp)>,
    /// Whether it hears the host, as it last told, and when.
    hears: Option<(Timestamp, Hears)>,
    /// When the present host was announced to it last.
    announced: Option<Timestamp>,
    presence: Presence,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Presence {
    Here,
    /// Its link broke. Whatever comes shows that it is here.
    Gone,
    /// It has said that it goes, then. What it said before may come after, so only its asking to be let in shows that it is here,
    /// or that something comes when nothing can be on its way any more.
    Left(Timestamp),
}

impl Contact {
    fn new(now: Timestamp, stamp: Stamp) -> Self {
        Self {
            rhythm: Rhythm::starting(now),
            echo: Timestamp::EPOCH,
            echoed: None,
            stamp,
            beat: None,
            holds: StateId::NONE,
            lacks: None,
            hears: None,
            announced: None,
            presence: Presence::Here,
        }
    }

    /// Something came from it.
    fn hear(&mut self, now: Timestamp, message: &Message) {
        let is_late = match self.presence {
            Presence::Here | Presence::Gone => false,
            Presence::Left(at) => {
                now.since(at) < SUSPECT_MIN && !matches!(message.body, Body::Join(_) | Body::Present(_))
            }
        };
        if !is_late {
            self.presence = Presence::Here;
            self.rhythm.hear(now);
            self.stamp = message.stamp;
        }
    }

    fn is_gone(&self) -> bool {
        self.presence != Presence::Here
    }

    fn is_lost(&self, now: Timestamp) -> bool {
        self.is_gone() || self.rhythm.is_suspect(now)
    }

    fn is_doubtful(&self, now: Timestamp) -> bool {
        self.is_gone() || self.rhythm.is_doubtful(now)
    }
}

impl Session {
    /// Founds a session: this peer is its first host and only member.
    #[must_use]
    pub fn found(now: Timestamp, config: Config) -> Self {
        Self::found_by(now, config)
    }
}

impl<G: Guards> Session<G> {
    /// [`Session::found`], with the guards of its type.
    #[must_use]
    pub fn found_by(now: Timestamp, config: Config) -> Self {
        let config = Config { arbiter: Arbiter::Majority, admission: None, ..config };
        Self::founded(now, config, Epoch::FIRST, &[]).expect("a founder's own view is his")
    }

    /// Founds a session that this peer has made in a lobby, which certified it at once.
    ///
    /// # Errors
    /// A certificate of somebody else, or that no lobby of this session has signed.
    pub fn found_certified(
        now: Timestamp,
        config: Config,
        certificate: &Certificate,
    ) -> Result<Self, Forged> {
        let config = Config { arbiter: Arbiter::Lobby, ..config };
        if certificate.host != config.me || !certificate.is_genuine(config.session, config.keys.as_ref()) {
            return Err(Forged::Arbiter);
        }
        Self::founded(now, config, certificate.epoch, core::slice::from_ref(certificate))
    }

    fn founded(
        now: Timestamp,
        config: Config,
        epoch: Epoch,
        certificates: &[Certificate],
    ) -> Result<Self, Forged> {
        let me = config.me;
        let stamp = Stamp::certified(epoch);
        let members = BTreeMap::from([(me, ChannelId { stamp, number: 0 })]);
        let id = ViewId { epoch, version: 0 };
        let view = View { id, host: me, members: members.clone(), signature: Signature::default() };
        let ballot = Ballot::new(config.arbiter, me, Root { epoch, host: me }, view, certificates)?;
        let roster = Roster { stamp, version: 1, members, kicked: BTreeSet::new(), actors: BTreeMap::new() };
        let mut session = Self::with(now, config, ballot, roster, HintList::empty(epoch));
        session.sign_view();
        session.leadership = Leadership::Reigns(Reign::founded(now));
        session.outputs.push(Output::Lead { stamp, state: State::default() });
        session.pass(now);
        Ok(session)
    }

    /// Enters a session that it has been let in to by its host, over whose link the welcome came.
    ///
    /// # Errors
    /// A welcome that proves another host, or does not name this peer.
    pub fn enter(
        now: Timestamp,
        config: Config,
        host: PeerId,
        stamp: Stamp,
        welcome: &Welcome,
    ) -> Result<Self, Forged> {
        let me = config.me;
        let view = welcome.view.clone();
        let ballot = Ballot::new(config.arbiter, me, welcome.root, view, &welcome.certificates)?;
        let fork = (stamp.fork > 0).then_some(Fork { number: stamp.fork, head: host });
        if stamp.epoch != ballot.epoch() || (fork.is_none() && ballot.host() != host) {
            return Err(Forged::Sender);
        }
        let roster = welcome.roster.clone();
        if roster.stamp != stamp || !roster.members.contains_key(&me) {
            return Err(Forged::Outsider);
        }
        let mut session = Self::with(now, config, ballot, roster, welcome.hints.clone());
        session.fork = fork;
        session.outputs.push(Output::Follow { leader: host, stamp });
        session.pass(now);
        Ok(session)
    }

    fn with(now: Timestamp, config: Config, ballot: Ballot<G>, roster: Roster, hints: HintList) -> Self {
        let seen = ballot.epoch();
        let mut session = Self {
            settings: Settings::DEFAULT,
            ballot,
            roster,
            fork: None,
            leadership: Leadership::Follows,
            line: Line::beginning(now),
            contacts: BTreeMap::new(),
            guests: BTreeSet::new(),
            hint: Hint::UNSUITABLE,
            hints,
            held: State::default(),
            opened: StateId::NONE,
            applied: BTreeMap::new(),
            safe: BTreeMap::new(),
            inputs: Inputs::default(),
            names: Names::default(),
            listeners: Vec::new(),
            event: None,
            lost: BTreeSet::new(),
            acting: Acting::No,
            moved_by: Cause::Catastrophic,
            seen,
            beat_at: now,
            due: now,
            outputs: Vec::new(),
            config,
        };
        session.meet_members(now);
        session
    }

    /// Registers a listener; its number is its place. `None` where there are [`LISTENERS_MAX`]. A migration that runs does
    /// not know it.
    pub fn add_listener(&mut self, name: &str, priority: Priority) -> Option<ListenerId> {
        let id = ListenerId(u16::try_from(self.listeners.len()).ok()?);
        (self.listeners.len() < LISTENERS_MAX).then(|| {
            self.listeners.push((name.to_string(), Some(priority)));
            id
        })
    }

    /// Unregisters it: it is called no more, and nobody waits for what it was called for.
    pub fn remove_listener(&mut self, listener: ListenerId) {
        if let Some((_, priority)) = self.listeners.get_mut(usize::from(listener.0)) {
            *priority = None;
        }
        if let Some(event) = &mut self.event {
            event.stages.remove(listener);
        }
    }

    /// Takes what happened at `now`, which is this peer's own monotonic time.
    pub fn handle(&mut self, now: Timestamp, input: Input) {
        self.forgive_own_stall(now);
        match input {
            Input::Wake => {}
            Input::Message { from, message } => self.receive(now, from, message),
            Input::LinkLost(peer) => {
                if let Some(contact) = self.contacts.get_mut(&peer)
                    && contact.presence == Presence::Here
                {
                    contact.presence = Presence::Gone;
                }
            }
            Input::Found(peer) => self.find(now, peer),
            Input::Plays { peer, actor } => self.bind_actor(peer, actor),
            Input::NoLongerNeeded(entities) => self.list_entities(&entities),
            Input::Answered { listener, number, state, answer } => {
                if let Some(event) = &mut self.event {
                    event.stages.answer(now, listener, number, state, &answer);
                }
            }
            Input::State(piece) => self.write_state(now, piece),
            Input::Play(bytes) => self.play(bytes),
            Input::Suitable(can_be_host) => self.hint.can_be_host = can_be_host,
            Input::Reachable { nat, ping_ms, upstream_bps } => {
                let ping_ms = self.hint.steady_ping(ping_ms);
                self.hint = Hint { nat, ping_ms, upstream_bps, ..self.hint };
            }
            Input::Set { name, value } => match self.settings.set(&name, &value) {
                Ok(()) => {}
                Err(why) => self.outputs.push(Output::NotSet(why)),
            },
            Input::HandOver { to, why, last } => self.begin_handover(now, to, why, Some(last)),
            Input::Kick(peer) => self.kick(peer),
            Input::Leave => self.leave(now),
            Input::Lobby { asked, ruling } => self.be_ruled(now, asked, ruling),
            Input::Admitted(admission) => self.be_admitted(admission),
        }
        self.pass(now);
    }

    /// What the hands must do, in this order; each is given once.
    pub fn take_outputs(&mut self) -> Vec<Output> {
        core::mem::take(&mut self.outputs)
    }

    /// When it wants to be woken, at the latest. `None` once it is over.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Timestamp> {
        if matches!(self.leadership, Leadership::Over) {
            return None;
        }
        let event =
            self.event.as_ref().and_then(|event| event.stages.next_deadline(self.settings.migrate_timeout));
        let suspicion = match self.leadership {
            Leadership::Follows => self.contacts.get(&self.leader()).map(|host| host.rhythm.deadline()),
            Leadership::Doubts(_)
            | Leadership::Vacant(_)
            | Leadership::Reigns(_)
            | Leadership::Outside { .. }
            | Leadership::Over => None,
        };
        [Some(self.beat_at), event, suspicion].into_iter().flatten().min()
    }

    /// What every message of this peer carries.
    #[must_use]
    pub fn stamp(&self) -> Stamp {
        Stamp { epoch: self.ballot.epoch(), fork: self.fork.as_ref().map_or(0, |fork| fork.number) }
    }

    /// Whom it obeys: itself, where it is the host.
    #[must_use]
    pub fn leader(&self) -> PeerId {
        self.fork.as_ref().map_or_else(|| self.ballot.host(), |fork| fork.head)
    }

    /// Whether a message of the game that carries this stamp is to be applied: it is the present host's, and no older
    /// one's. This is the fence; the hands ask it for every message of the game.
    #[must_use]
    pub fn is_of_host(&self, from: PeerId, stamp: Stamp) -> bool {
        let present = stamp == self.stamp() || !G::EPOCH;
        present && from == self.leader() && !matches!(self.leadership, Leadership::Over)
    }

    /// Who votes, as far as this peer knows.
    #[must_use]
    pub const fn view(&self) -> &View {
        self.ballot.view()
    }

    /// Who plays on this peer's side, as far as it knows.
    #[must_use]
    pub const fn roster(&self) -> &Roster {
        &self.roster
    }

    /// Its ballot, for laws and pages.
    #[must_use]
    pub const fn ballot(&self) -> &Ballot<G> {
        &self.ballot
    }

    /// Its settings.
    #[must_use]
    pub const fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Everything whose time has come.
    fn pass(&mut self, now: Timestamp) {
        if matches!(self.leadership, Leadership::Over) {
            return;
        }
        if !self.is_failing() {
            match self.leadership {
                Leadership::Follows => self.watch(now),
                Leadership::Reigns(_) => self.reign(now),
                Leadership::Outside { .. } => self.ask_in(now),
                Leadership::Doubts(_) | Leadership::Vacant(_) | Leadership::Over => {}
            }
            if matches!(self.leadership, Leadership::Doubts(_)) {
                self.doubt(now);
            }
            if matches!(self.leadership, Leadership::Vacant(_)) {
                self.elect(now);
            }
            self.keep_line(now);
        }
        self.live_through(now);
        if now >= self.beat_at {
            self.keep_hints();
            self.beat(now);
        }
        self.due = self.next_deadline().unwrap_or(now);
    }

    /// Whether everybody may speak to everybody, and whoever lost a word is told again within a round trip.
    fn is_small(&self) -> bool {
        self.contacts.len() <= SMALL_MAX
    }

    fn beat_gap(&self, now: Timestamp) -> Duration {
        match &self.leadership {
            Leadership::Reigns(reign) if reign.is_moving(now) && self.is_small() => BEAT_MOVING,
            Leadership::Reigns(_)
            | Leadership::Follows
            | Leadership::Doubts(_)
            | Leadership::Vacant(_)
            | Leadership::Outside { .. }
            | Leadership::Over => BEAT,
        }
    }

    /// Whether the game has given up: it says nothing any more, so that the others go on without it.
    fn is_failing(&self) -> bool {
        self.event.as_ref().is_some_and(|event| event.stages.failure().is_some())
    }

    fn forgive_own_stall(&mut self, now: Timestamp) {
        let late = now.since(self.due);
        if late < STALL {
            return;
        }
        for contact in self.contacts.values_mut() {
            contact.rhythm.forgive(late);
        }
        self.line.forgive(late);
        // What it had begun to doubt it begins to doubt anew.
        if matches!(self.leadership, Leadership::Doubts(_)) {
            self.leadership = Leadership::Follows;
        }
    }

    fn me(&self) -> PeerId {
        self.config.me
    }

    fn reports_can_be_host(&self) -> bool {
        self.hint.can_be_host == CanBeHost::Yes && !self.is_failing()
    }

    fn send(&mut self, to: PeerId, body: Body) {
        let message = Message { session: self.config.session, stamp: self.stamp(), body };
        self.outputs.push(Output::Send { to, message });
    }

    fn send_all(&mut self, body: &Body) {
        let others: Vec<PeerId> = self.contacts.keys().copied().collect();
        for peer in others {
            self.send(peer, body.clone());
        }
    }

    fn leave(&mut self, now: Timestamp) {
        self.send_all(&Body::Leave);
        self.end(now, End::Left);
    }

    fn end(&mut self, now: Timestamp, end: End) {
        if let Some(event) = &mut self.event {
            // What the listeners were told has to be closed for them: once, and without waiting for anybody.
            event.stages.fail(now, crate::Failure::Left);
            let calls = event.stages.advance(now, self.settings.migrate_timeout);
            self.outputs.extend(calls.into_iter().map(Output::Call));
            self.event = None;
        }
        self.leadership = Leadership::Over;
        self.set_acting(Acting::No);
        self.outputs.push(Output::Ended(end));
    }
}
