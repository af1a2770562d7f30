//! One migration as the game lives it: the listeners of seed 000, called in its order.
//!
//! "Each method returns a boolean, with true meaning 'all processing for this stage is complete'… Only when all the
//! registered listeners for a given state have returned true does the host migration process move onto the next state…
//! the passed reference 'state' is guaranteed to be 0 the first time the listener is invoked, and will persist its value on
//! subsequent invocations, until the listener completes". A listener may also veto, which ends the migration.
//!
//! Waiting for a new host is no stage of the listeners (B5): it goes on beside them, and is due between
//! [`Stage::DisconnectClient`] and the callback of the role.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

use mainstay_core::Timestamp;

/// How long a listener that waits is left alone: a frame of a game.
pub const PACE: Duration = Duration::from_millis(16);
/// How long [`Stage::Terminate`] may take, after the budget if need be: enough to save a game, and bounded (B6).
pub const TERMINATE_MAX: Duration = Duration::from_secs(2);
/// How many listeners a session has at most at once: CRYENGINE's engine and game register a dozen.
pub const LISTENERS_MAX: usize = 64;

/// The eight callbacks of `IHostMigrationEventListener`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stage {
    /// `OnInitiate`.
    Initiate,
    /// `OnDisconnectClient`.
    DisconnectClient,
    /// `OnDemoteToClient`: on whoever is not the new host.
    DemoteToClient,
    /// `OnPromoteToServer`: on the new host alone.
    PromoteToServer,
    /// `OnReconnectClient`.
    ReconnectClient,
    /// `OnFinalise`.
    Finalise,
    /// `OnTerminate`.
    Terminate,
    /// `OnReset`.
    Reset,
}

/// A listener: its place in the order of registration, which no other has after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ListenerId(pub u32);

/// When a listener is called among others: CRYENGINE's three classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Priority {
    /// Before the engine.
    PreEngine,
    /// The engine.
    Engine,
    /// After it: most games.
    PostEngine,
}

/// A listener that is to be called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Call {
    /// Who.
    pub listener: ListenerId,
    /// Which callback.
    pub stage: Stage,
    /// Which call this is: the answer names it.
    pub number: u32,
    /// The listener's own state.
    pub state: u32,
}

/// What a listener answered.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Answer {
    /// `true`: all processing for this stage is complete.
    Done,
    /// `false`: more processing is required.
    Wait,
    /// The migration shall end (CRYENGINE's Terminate). While terminating it counts as done.
    Veto,
}

/// What a peer becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// The new host.
    Host,
    /// A client of it.
    Client,
}

/// Why a migration failed.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Failure {
    /// Its time is up: all attempts together took longer than `net_migrate_timeout`.
    TimeLimit,
    /// A listener said so.
    Vetoed(String),
    /// There is no majority, and the session's policy is to end.
    NoMajority,
    /// Others hear the host, this peer does not.
    CutOff,
    /// The session ended for this peer meanwhile: its game left, it was thrown out or refused, or its lobby ended the session.
    Left,
}

/// In words, for people.
impl fmt::Display for Failure {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TimeLimit => to.write_str("all attempts together took longer than net_migrate_timeout"),
            Self::Vetoed(why) => write!(to, "a listener said no: {why}"),
            Self::NoMajority => to.write_str("a majority of its players is missing, and it ends without one"),
            Self::CutOff => to.write_str("others hear the host, and this player does not"),
            Self::Left => to.write_str("it ended for this player meanwhile"),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Listener {
    name: String,
    priority: Priority,
    state: u32,
    turn: Turn,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Turn {
    Due(Timestamp),
    Called(u32),
    Done,
}

/// Where a migration stands.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum At {
    Calling(Stage),
    /// CRYENGINE's WaitForNewServer.
    Electing,
    /// The role is played; the game does not go on yet.
    Settling,
    Complete,
}

/// One migration event of one session.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Stages {
    listeners: BTreeMap<ListenerId, Listener>,
    at: At,
    begun: Timestamp,
    role: Option<Role>,
    settled: Settled,
    failure: Option<(Failure, Timestamp)>,
    calls: u32,
    resets: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Settled {
    NotYet,
    Yes,
}

impl Stages {
    /// A migration begins, with these listeners and no others.
    #[must_use]
    pub fn begin(now: Timestamp, listeners: &BTreeMap<ListenerId, (String, Priority)>) -> Self {
        let listeners = listeners.iter().map(|(id, (name, priority))| {
            let (name, priority) = (name.clone(), *priority);
            (*id, Listener { name, priority, state: 0, turn: Turn::Due(now) })
        });
        Self {
            listeners: listeners.collect(),
            at: At::Calling(Stage::Initiate),
            begun: now,
            role: None,
            settled: Settled::NotYet,
            failure: None,
            calls: 0,
            resets: 0,
        }
    }

    /// A listener is unregistered: nobody waits for it.
    pub fn remove(&mut self, listener: ListenerId) {
        self.listeners.remove(&listener);
    }

    /// The names of those who have not answered that this stage is done, in the order that they are called in.
    #[must_use]
    pub fn waits_for(&self) -> Vec<String> {
        let waiting = self.listeners.values().filter(|it| self.stage().is_some() && it.turn != Turn::Done);
        let mut waiting: Vec<&Listener> = waiting.collect();
        waiting.sort_by_key(|listener| listener.priority);
        waiting.into_iter().map(|listener| listener.name.clone()).collect()
    }

    /// When it began.
    #[must_use]
    pub const fn begun(&self) -> Timestamp {
        self.begun
    }

    /// How often it was reset.
    #[must_use]
    pub const fn resets(&self) -> u32 {
        self.resets
    }

    /// The callback that runs now, if one does.
    #[must_use]
    pub const fn stage(&self) -> Option<Stage> {
        match self.at {
            At::Calling(stage) => Some(stage),
            At::Electing | At::Settling | At::Complete => None,
        }
    }

    /// Whether all is said and done.
    #[must_use]
    pub const fn is_complete(&self) -> bool {
        matches!(self.at, At::Complete)
    }

    /// Why it failed, once it is bound to.
    #[must_use]
    pub fn failure(&self) -> Option<&Failure> {
        self.failure.as_ref().map(|(failure, _)| failure)
    }

    /// What the peer becomes, once that is known.
    #[must_use]
    pub const fn role(&self) -> Option<Role> {
        self.role
    }

    /// The new host is known. `false` where it is too late to be told.
    pub fn elected(&mut self, role: Role) -> bool {
        let in_time = self.failure.is_none() && !self.is_ending();
        if in_time {
            self.role = Some(role);
        }
        in_time
    }

    /// The new host's game goes on.
    pub fn settle(&mut self) {
        if self.role.is_some() {
            self.settled = Settled::Yes;
        }
    }

    /// The new host is lost, too. Seed 000: "the host migration internal state machine will go back to OnDisconnectClient()
    /// after this method, not OnInitiate()". Before there is one, nobody has left, and before `OnDisconnectClient` there is nothing to go back to. `false`
    /// where it is too late: what is lost then is the next migration's.
    pub fn lose(&mut self, now: Timestamp) -> bool {
        if self.failure.is_some() || self.is_ending() {
            return false;
        }
        self.settled = Settled::NotYet;
        if self.role.take().is_none() {
            return true;
        }
        let goes_back = match self.at {
            At::Calling(
                Stage::DisconnectClient
                | Stage::DemoteToClient
                | Stage::PromoteToServer
                | Stage::ReconnectClient,
            )
            | At::Electing
            | At::Settling => true,
            At::Calling(Stage::Initiate | Stage::Reset | Stage::Finalise | Stage::Terminate)
            | At::Complete => false,
        };
        if goes_back {
            self.resets += 1;
            self.enter(now, Stage::Reset);
        }
        true
    }

    /// Ends it: `OnTerminate` runs, once; after `OnFinalise`, too, where a listener never finishes that.
    pub fn fail(&mut self, now: Timestamp, failure: Failure) {
        if self.failure.is_none() && !self.is_complete() {
            self.failure = Some((failure, now));
            self.enter(now, Stage::Terminate);
        }
    }

    /// From Finalise on nothing turns it back: it is ended or runs out of time.
    const fn is_ending(&self) -> bool {
        matches!(self.at, At::Calling(Stage::Finalise | Stage::Terminate) | At::Complete)
    }

    /// A listener answers. An answer to a call that is no longer the listener's latest is for nobody.
    pub fn answer(&mut self, now: Timestamp, listener: ListenerId, number: u32, state: u32, answer: &Answer) {
        let is_ending = self.is_ending();
        let Some(called) = self.listeners.get_mut(&listener) else { return };
        if called.turn != Turn::Called(number) {
            return;
        }
        called.state = state;
        match answer {
            Answer::Done => called.turn = Turn::Done,
            Answer::Wait => called.turn = Turn::Due(now + PACE),
            Answer::Veto if is_ending => called.turn = Turn::Done,
            Answer::Veto => {
                let name = called.name.clone();
                self.fail(now, Failure::Vetoed(name));
            }
        }
    }

    /// Goes as far as it can, and says who is to be called now, in the order of priority.
    pub fn advance(&mut self, now: Timestamp, timeout: Duration) -> Vec<Call> {
        if now >= self.begun + timeout {
            self.fail(now, Failure::TimeLimit);
        }
        while self.step(now) {}
        let At::Calling(stage) = self.at else { return Vec::new() };
        let due = self.listeners.iter_mut().filter(|(_, it)| matches!(it.turn, Turn::Due(at) if at <= now));
        let mut due: Vec<(ListenerId, &mut Listener)> = due.map(|(id, listener)| (*id, listener)).collect();
        due.sort_by_key(|(_, listener)| listener.priority);
        let called = due.into_iter().map(|(id, listener)| {
            self.calls += 1;
            listener.turn = Turn::Called(self.calls);
            Call { listener: id, stage, number: self.calls, state: listener.state }
        });
        called.collect()
    }

    fn step(&mut self, now: Timestamp) -> bool {
        let over = |(_, at): &(Failure, Timestamp)| now >= *at + TERMINATE_MAX;
        match self.at {
            At::Calling(Stage::Terminate) if self.failure.as_ref().is_some_and(over) => {
                self.at = At::Complete
            }
            At::Calling(stage) if self.all_done() => match stage {
                Stage::Initiate | Stage::Reset => self.enter(now, Stage::DisconnectClient),
                Stage::DisconnectClient => self.at = At::Electing,
                Stage::DemoteToClient | Stage::PromoteToServer => self.enter(now, Stage::ReconnectClient),
                Stage::ReconnectClient => self.at = At::Settling,
                Stage::Finalise | Stage::Terminate => self.at = At::Complete,
            },
            At::Electing => match self.role {
                Some(Role::Host) => self.enter(now, Stage::PromoteToServer),
                Some(Role::Client) => self.enter(now, Stage::DemoteToClient),
                None => return false,
            },
            At::Settling if self.settled == Settled::Yes => self.enter(now, Stage::Finalise),
            At::Calling(_) | At::Settling | At::Complete => return false,
        }
        true
    }

    fn all_done(&self) -> bool {
        self.listeners.values().all(|listener| listener.turn == Turn::Done)
    }

    fn enter(&mut self, now: Timestamp, stage: Stage) {
        self.at = At::Calling(stage);
        for listener in self.listeners.values_mut() {
            listener.state = 0;
            listener.turn = Turn::Due(now);
        }
    }

    /// When it wants to be looked at again.
    #[must_use]
    pub fn next_deadline(&self, timeout: Duration) -> Option<Timestamp> {
        if self.is_complete() {
            return None;
        }
        let end = match &self.failure {
            Some((_, at)) => *at + TERMINATE_MAX,
            None => self.begun + timeout,
        };
        let due = self.listeners.values().filter_map(|listener| match listener.turn {
            Turn::Due(at) if self.stage().is_some() => Some(at),
            Turn::Due(_) | Turn::Called(_) | Turn::Done => None,
        });
        due.chain([end]).min()
    }
}
