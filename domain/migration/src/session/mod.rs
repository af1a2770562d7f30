//! One peer in one session: whom it obeys, whether it still hears him, and what it does when it does not.
//!
//! One file an idea: [`begin`] how a peer comes in, [`contact`] what is known of another, [`beats`] what is said ten times a
//! second, [`circle`] to whom while the host is missed, [`doubt`] when a host is given up, [`vacancy`] what is known while there
//! is none, [`elect`] who comes after, [`reign`] what a host does, [`gathering`] whom it asks for the state that it goes on from, [`branch`] which one that is,
//! [`handover`] how it gives its session away, [`suitable`] to whom before the game begins, [`crowd`] who votes and who plays, [`chain`]
//! the game as it goes along, [`hints`] what they tell of themselves,
//! [`play`] and [`intake`] what members do in it, [`event`] what it lives through, [`fork`] sides without a majority,
//! [`former`] who is heard at all, [`speakers`] whose game, [`rewritten`] of another past, [`mod@kept`] how much is remembered, [`mod@line`] what it says to its lobby, [`bearing`]
//! and by way of others, [`show`] what can be drawn.

mod admission;
mod advice;
mod bearing;
mod beats;
mod begin;
mod branch;
mod chain;
mod circle;
mod contact;
mod crowd;
mod doubt;
mod early;
mod elect;
mod event;
mod fork;
mod former;
mod gathering;
mod handover;
mod hints;
mod intake;
mod kept;
mod line;
mod lists;
mod outbox;
mod outside;
mod play;
mod reign;
mod rewritten;
mod show;
mod speakers;
mod suitable;
mod vacancy;
mod words;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use mainstay_core::Timestamp;

use crate::ballot::Ballot;
use crate::hint::{CanBeHost, Hint, HintList};
use crate::join::NoSeat;
use crate::message::{Body, Message};
use crate::rhythm::BEAT;
use crate::stages::{LISTENERS_MAX, ListenerId, Priority};
use crate::state::{State, StateId};
use crate::view::{Roster, View};
use crate::{Epoch, Guarded, Guards, PeerId, Settings, Stamp, Terms};

pub use chain::Telling;
use contact::{Contact, Presence};
use doubt::Doubt;
use early::Early;
use elect::Departure;
pub use event::ENTITIES_MAX;
use event::Event;
use fork::{Fork, Heads};
use former::Former;
use hints::Counted;
pub use kept::Kept;
use line::Line;
use outbox::Outbox;
pub use play::INPUTS_MAX;
use play::{Inputs, Names};
use reign::Reign;
use rewritten::Rewritten;
pub use show::Identification;
use speakers::Speakers;
use suitable::Better;
use vacancy::Vacancy;
pub use words::{
    Acting, Cause, Config, End, GamePhase, Input, Migratable, Moving, Newcomers, Outcome, Output, Progress,
    Report, WithoutMajority,
};

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
    heads: Heads,
    leadership: Leadership,
    line: Line,
    contacts: BTreeMap<PeerId, Contact>,
    former: Former,
    /// Hosts of other sides that do not play on this one: they are met all the same.
    guests: BTreeSet<PeerId>,
    /// To whom the hands have a link.
    linked: BTreeSet<PeerId>,
    hint: Hint,
    hints: HintList,
    /// As host: when that list changed last.
    list_changed: Option<Timestamp>,
    counted: Counted,
    /// The newest state it holds: as host its own, as a standby its host's.
    held: State,
    /// While that is of a side: the newest of a certified host that it held before.
    certified: State,
    early: Early,
    /// As host: from which state it went on.
    opened: StateId,
    /// As host: the newest event that its game gave.
    newest_event: StateId,
    /// As host: the last input of each member that the game was given.
    applied: Arc<BTreeMap<PeerId, u64>>,
    /// As host: the last input of each member that a new host would have, too.
    safe: Arc<BTreeMap<PeerId, u64>>,
    /// What this peer's own game did.
    inputs: Inputs,
    names: Names,
    rewritten: Rewritten,
    listeners: BTreeMap<ListenerId, (String, Priority)>,
    event: Option<Event>,
    /// How it has ended, until the game is told: first its listeners hear the migration out that ran.
    closing: Option<End>,
    /// Processes whose players are here with others, as the lobby knows.
    replaced: BTreeSet<PeerId>,
    /// Hosts that were given up since the session last stood firm.
    lost: BTreeSet<PeerId>,
    /// How far this peer's game is, as it says.
    game: GamePhase,
    /// Whether newcomers are let in, as this peer's game says.
    newcomers: Newcomers,
    /// As host, while players gather: who suits better.
    better: Better,
    /// When the session last began to move, as this peer lived through it.
    moved: Option<Timestamp>,
    /// When its copy of the game was last one that its host keeps up.
    kept_up: Timestamp,
    /// While it is with a host that it does not go along with.
    departs: Option<Departure>,
    /// Whether the game was told to step.
    acting: Acting,
    /// Until when it keeps a state of another side for its side's host.
    keeps_until: Timestamp,
    /// Why the session moved last.
    moved_by: Cause,
    /// Whom the game's listeners last knew as host.
    played_under: PeerId,
    speakers: Speakers,
    /// The highest epoch that anybody spoke of.
    seen: Epoch,
    beat_at: Timestamp,
    due: Timestamp,
    outputs: Outbox,
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
        no_seat: NoSeat,
    },
    /// It is over.
    Over,
}

impl Leadership {
    /// From now on, and it asks at once.
    fn outside(now: Timestamp) -> Self {
        Self::Outside { since: now, asked: now, no_seat: NoSeat::default() }
    }
}

impl<G: Guards> Session<G> {
    /// Registers a listener under the next number, which is none that was given before. `false` where there are [`LISTENERS_MAX`]. A
    /// migration that runs does not know it: whoever came in the middle would have nothing stored to release.
    pub fn add_listener(&mut self, listener: ListenerId, name: &str, priority: Priority) -> bool {
        let has_room = self.listeners.len() < LISTENERS_MAX;
        if has_room {
            self.listeners.insert(listener, (name.to_string(), priority));
        }
        has_room
    }

    /// Unregisters it: it is called no more, and nobody waits for what it was called for. In the middle of a stage that goes on without
    /// it.
    pub fn remove_listener(&mut self, listener: ListenerId) {
        self.listeners.remove(&listener);
        if let Some(event) = &mut self.event {
            event.stages.remove(listener);
        }
    }

    /// Takes what happened at `now`, which is this peer's own monotonic time.
    pub fn handle(&mut self, now: Timestamp, input: Input) {
        self.forgive_own_stall(now);
        if !self.is_over() || input.is_of_listeners() {
            self.take(now, input);
        }
        self.pass(now);
    }

    fn take(&mut self, now: Timestamp, input: Input) {
        match input {
            Input::Wake => {}
            Input::Message { from, message } => self.receive(now, from, message),
            Input::LinkLost(peer) => {
                self.linked.remove(&peer);
                if let Some(contact) = self.contacts.get_mut(&peer) {
                    contact.lose_link();
                    if contact.presence == Presence::Here {
                        contact.presence = Presence::Gone;
                    }
                }
            }
            Input::Linked(peers) => self.be_linked(peers),
            Input::Found(peer) => self.find(now, peer),
            Input::Plays { peer, actor } => self.bind_actor(now, peer, actor),
            Input::NoLongerNeeded(entities) => self.list_entities(&entities),
            Input::Answered { listener, number, state, answer } => {
                if let Some(event) = &mut self.event {
                    event.stages.answer(now, listener, number, state, &answer);
                }
            }
            Input::State(piece) => self.write_state(now, piece),
            Input::StateMissed => self.miss_piece(),
            Input::Play(bytes) => self.play(now, bytes),
            Input::Suitable(can_be_host) => self.be_suitable(can_be_host),
            Input::Reachable { nat, ping_ms } => {
                let ping_ms = self.hint.steady_ping(ping_ms);
                self.hint = Hint { nat, ping_ms, ..self.hint };
            }
            Input::Upstream(upstream_bps) => self.hint.upstream_bps = upstream_bps,
            Input::Set { name, value } => match self.settings.set(&name, &value) {
                Ok(()) => {}
                Err(why) => self.outputs.push(Output::NotSet(why)),
            },
            Input::HandOver { to, why, last } => self.begin_handover(now, to, why, Some(last)),
            Input::Phase(phase) => self.be_in_phase(phase),
            Input::Newcomers(newcomers) => self.newcomers = newcomers,
            Input::Kick(peer) => self.kick(now, peer),
            Input::Leave => self.leave(now),
            Input::Lobby { asked, ruling } => self.be_ruled(now, asked, ruling),
            Input::Admitted(admission) => self.be_admitted(admission),
            Input::Replaced(peers) => self.be_told_of_replaced(peers),
            Input::Supports(support) => self.be_told_of_support(now, support),
            Input::OwnFlag(support) => self.set_own_flag(now, support),
        }
    }

    /// Whether this peer is a member no more. Its listeners may still hear a migration out ([`Self::next_deadline`]).
    #[must_use]
    pub const fn is_over(&self) -> bool {
        matches!(self.leadership, Leadership::Over)
    }

    /// What the hands must do, in this order; each is given once.
    pub fn take_outputs(&mut self) -> Vec<Output> {
        self.outputs.take()
    }

    /// When it wants to be woken, at the latest. `None` once it is over and nothing is left to be heard out.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Timestamp> {
        let event =
            self.event.as_ref().and_then(|event| event.stages.next_deadline(self.settings.migrate_timeout));
        if self.is_over() {
            return event;
        }
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

    /// What the session was made with, and goes by whoever is host.
    #[must_use]
    pub fn terms(&self) -> Terms {
        self.config.terms()
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

    /// Whether newcomers are let in, as this peer's game says.
    #[must_use]
    pub const fn newcomers(&self) -> Newcomers {
        self.newcomers
    }

    /// Its ballot, for laws and pages.
    #[must_use]
    pub const fn ballot(&self) -> &Ballot<G> {
        &self.ballot
    }

    /// What all members tell of themselves, as far as this peer knows: its host's list.
    #[must_use]
    pub const fn hints(&self) -> &HintList {
        &self.hints
    }

    /// Its settings.
    #[must_use]
    pub const fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Everything whose time has come.
    fn pass(&mut self, now: Timestamp) {
        if self.is_over() {
            return self.close(now);
        }
        self.depart(now);
        if !self.is_failing() && !self.is_over() {
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
            self.count_links(now);
            self.keep_hints(now);
            self.forget_old_copy(now);
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
            Leadership::Reigns(reign) if reign.hands_over() || reign.is_moving(now) && self.is_small() => {
                BEAT_MOVING
            }
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
        self.line.forgive(now, self.due);
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

    /// It is a member no more. The game is told once its listeners have heard `OnTerminate`.
    fn end(&mut self, now: Timestamp, end: End) {
        self.leadership = Leadership::Over;
        self.set_acting(Acting::No);
        self.closing = Some(end);
        if let Some(event) = &mut self.event {
            event.stages.fail(now, crate::Failure::Left);
        }
        self.close(now);
    }

    /// "it will be called until it returns true": what the listeners were told of is closed for them, within the time that
    /// [`Stage::Terminate`](crate::Stage::Terminate) has.
    fn close(&mut self, now: Timestamp) {
        self.live_through(now);
        if self.event.is_none()
            && let Some(end) = self.closing.take()
        {
            self.outputs.push(Output::Ended(end));
        }
    }
}
