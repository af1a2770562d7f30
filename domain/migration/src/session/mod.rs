//! One peer in one session: whom it obeys, whether it still hears him, and what it does when it does not.
//!
//! One file an idea: [`beats`] what is said ten times a second, [`doubt`] when a host is given up, [`elect`] who comes
//! after, [`reign`] what a host does, [`event`] what the game lives through, [`fork`] sides without a majority, [`show`]
//! what can be drawn.

mod beats;
mod doubt;
mod elect;
mod event;
mod fork;
mod handover;
mod reign;
mod show;
mod words;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::time::Duration;

use mainstay_core::Timestamp;

use crate::ballot::Ballot;
use crate::certificate::Forged;
use crate::hint::{CanBeHost, Hint, HintList};
use crate::message::{Beat, Body, Closed, Hears, Message, State, Welcome};
use crate::rhythm::{BEAT, Rhythm};
use crate::stages::{LISTENERS_MAX, ListenerId, Priority};
use crate::view::{View, ViewId};
use crate::{ChannelId, Epoch, Guard, Guards, PeerId, Settings, Stamp, Tick};

use doubt::Doubt;
use elect::Vacancy;
use event::Event;
use fork::Fork;
use reign::Reign;
pub use show::Identification;
pub use words::{Acting, Cause, Config, End, Input, Migratable, Outcome, Output, Report, WithoutMajority};

/// A wake-up later than this after the moment asked for is a stall of this very peer: CRYENGINE's clamp.
const STALL: Duration = Duration::from_millis(300);
/// How often something that nobody answered is said again.
const AGAIN: Duration = Duration::from_millis(200);
/// How many peers hold the newest state besides the host.
const STANDBYS: usize = 2;

/// One peer in one session.
#[derive(Debug, Clone)]
pub struct Session {
    config: Config,
    settings: Settings,
    guards: Guards,
    founder: PeerId,
    ballot: Ballot,
    fork: Option<Fork>,
    leadership: Leadership,
    contacts: BTreeMap<PeerId, Contact>,
    /// Hosts of other sides that this one's view does not name (any more): they are met all the same.
    guests: BTreeSet<PeerId>,
    hint: Hint,
    hints: HintList,
    /// The newest state it holds: as host its own, as a standby its host's.
    held: Option<State>,
    listeners: Vec<(String, Priority)>,
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
        /// The view that does not name it: only a later one can let it in again.
        without: ViewId,
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
    /// Whether it hears the host, as it last told, and when.
    hears: Option<(Timestamp, Hears)>,
    /// When the present host was announced to it last.
    announced: Option<Timestamp>,
    /// It has said that it goes, or its link broke.
    gone: Presence,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Presence {
    Here,
    Gone,
}

impl Contact {
    fn new(now: Timestamp, stamp: Stamp) -> Self {
        Self {
            rhythm: Rhythm::starting(now),
            echo: Timestamp::EPOCH,
            echoed: None,
            stamp,
            beat: None,
            hears: None,
            announced: None,
            gone: Presence::Here,
        }
    }

    fn is_lost(&self, now: Timestamp) -> bool {
        self.gone == Presence::Gone || self.rhythm.is_suspect(now)
    }

    fn is_doubtful(&self, now: Timestamp) -> bool {
        self.gone == Presence::Gone || self.rhythm.is_doubtful(now)
    }

    fn holds(&self) -> Tick {
        self.beat.map_or(Tick::default(), |beat| beat.holds)
    }
}

impl Session {
    /// Founds a session: this peer is its first host and only member.
    #[must_use]
    pub fn found(now: Timestamp, config: Config) -> Self {
        Self::found_without_some_guard(now, config, Guards::ALL)
    }

    /// [`Session::found`], for the mutation check of the simulator.
    #[must_use]
    pub fn found_without_some_guard(now: Timestamp, config: Config, guards: Guards) -> Self {
        let me = config.me;
        let channel = ChannelId { epoch: Epoch::FIRST, number: 0 };
        let view = View {
            id: ViewId { epoch: Epoch::FIRST, version: 0 },
            host: me,
            members: BTreeMap::from([(me, channel)]),
        };
        let ballot = Ballot::new(me, me, view, &[], guards).expect("a founder's own view is his");
        let hints = HintList::empty(Epoch::FIRST);
        let mut session = Self::with(now, config, guards, me, ballot, hints);
        session.leadership = Leadership::Reigns(Reign::founded(now));
        session.outputs.push(Output::Lead { stamp: session.stamp(), state: None });
        session.pass(now);
        session
    }

    /// Enters a session that it has been let in to.
    ///
    /// # Errors
    /// A welcome that proves no host, or does not name this peer.
    pub fn enter(now: Timestamp, config: Config, welcome: &Welcome, guards: Guards) -> Result<Self, Forged> {
        let me = config.me;
        let ballot = Ballot::new(me, welcome.founder, welcome.view.clone(), &welcome.certificates, guards)?;
        if !welcome.view.members.contains_key(&me) {
            return Err(Forged::Outsider);
        }
        let mut session = Self::with(now, config, guards, welcome.founder, ballot, welcome.hints.clone());
        session.outputs.push(Output::Follow { leader: session.leader(), stamp: session.stamp() });
        session.pass(now);
        Ok(session)
    }

    fn with(
        now: Timestamp,
        config: Config,
        guards: Guards,
        founder: PeerId,
        ballot: Ballot,
        hints: HintList,
    ) -> Self {
        let seen = ballot.epoch();
        let mut session = Self {
            settings: Settings::DEFAULT,
            guards,
            founder,
            ballot,
            fork: None,
            leadership: Leadership::Follows,
            contacts: BTreeMap::new(),
            guests: BTreeSet::new(),
            hint: Hint::UNSUITABLE,
            hints,
            held: None,
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
            self.listeners.push((name.to_string(), priority));
            id
        })
    }

    /// Takes what happened at `now`, which is this peer's own monotonic time.
    pub fn handle(&mut self, now: Timestamp, input: Input) {
        self.forgive_own_stall(now);
        match input {
            Input::Wake => {}
            Input::Message { from, message } => self.receive(now, from, message),
            Input::LinkLost(peer) => {
                if let Some(contact) = self.contacts.get_mut(&peer) {
                    contact.gone = Presence::Gone;
                }
            }
            Input::Answered { listener, number, state, answer } => {
                if let Some(event) = &mut self.event {
                    event.stages.answer(now, listener, number, state, &answer);
                }
            }
            Input::State(state) => self.take_own_state(now, state),
            Input::Suitable(can_be_host) => self.hint.can_be_host = can_be_host,
            Input::Reachable { nat, ping_ms, upstream_bps } => {
                self.hint = Hint { nat, ping_ms, upstream_bps, ..self.hint };
            }
            Input::Set { name, value } => match self.settings.set(&name, &value) {
                Ok(()) => {}
                Err(why) => self.outputs.push(Output::NotSet(why)),
            },
            Input::HandOver { to, why, last } => self.begin_handover(now, to, why, last),
            Input::Kick(peer) => self.kick(peer),
            Input::Leave => self.leave(now),
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
        let present = stamp == self.stamp() || !self.guards.stands(Guard::Epoch);
        present && from == self.leader() && !matches!(self.leadership, Leadership::Over)
    }

    /// The members, as far as this peer knows.
    #[must_use]
    pub const fn view(&self) -> &View {
        self.ballot.view()
    }

    /// Its ballot, for laws and pages.
    #[must_use]
    pub const fn ballot(&self) -> &Ballot {
        &self.ballot
    }

    /// Its settings.
    #[must_use]
    pub const fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The newest state it holds.
    #[must_use]
    pub const fn held(&self) -> Option<&State> {
        self.held.as_ref()
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
        }
        self.live_through(now);
        if now >= self.beat_at {
            self.beat_at = now + BEAT;
            self.beat(now);
        }
        self.due = self.next_deadline().unwrap_or(now);
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

    /// Contacts are the other members.
    fn meet_members(&mut self, now: Timestamp) {
        let me = self.config.me;
        let members = &self.ballot.view().members;
        self.guests.retain(|peer| !members.contains_key(peer));
        self.contacts.retain(|peer, _| members.contains_key(peer) || self.guests.contains(peer));
        let stamp = Stamp::certified(self.ballot.view().id.epoch);
        for peer in members.keys().filter(|peer| **peer != me) {
            self.contacts.entry(*peer).or_insert_with(|| Contact::new(now, stamp));
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

    fn refuse_in(&mut self, to: PeerId, why: Closed) {
        self.send(to, Body::Refused(why));
    }
}
