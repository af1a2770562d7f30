//! The state of a lobby: its sessions, those that ended lately, and whose sessions move.

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::sync::Arc;
use alloc::vec::Vec;

use mainstay_core::{SessionId, StateMachine, Timestamp, Turn};

use crate::command::{Answer, Command, Observation, Target, Why};
use crate::event::Event;
use crate::id::{PeerKey, Service};
use crate::pulse::{Lease, Pulses};
use crate::rejection::Rejection;
use crate::session::{Ending, Session};
use crate::settings::{Migratable, Support};
use crate::tally::Tally;

/// A session that ended, or that never came to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    /// When.
    pub at: Timestamp,
    /// Why.
    pub ending: Ending,
}

/// A slice of the lobby.
#[derive(Debug, Clone, Default)]
pub struct Lobby {
    /// What services support; those that nobody configured support it.
    pub(crate) support: BTreeMap<Service, Support>,
    pub(crate) sessions: BTreeMap<SessionId, Arc<Session>>,
    pub(crate) ended: BTreeMap<SessionId, Ended>,
    /// Those in the order in which they will be forgotten.
    pub(crate) ended_order: VecDeque<SessionId>,
    /// What can be found, by service. Derived.
    pub(crate) found: BTreeSet<(Service, SessionId)>,
    /// Seats that players have not come to, by the moment they are given up. Derived.
    pub(crate) seats: BTreeSet<(Timestamp, SessionId)>,
    /// What sessions take, in bytes. Derived.
    pub(crate) bytes: usize,
    pub(crate) pulses: Pulses,
    pub(crate) touched: BTreeSet<SessionId>,
}

impl Lobby {
    /// Whether a service's sessions move.
    #[must_use]
    pub fn support(&self, service: Service) -> Support {
        self.support.get(&service).copied().unwrap_or_default()
    }

    /// A session that goes on.
    ///
    /// # Errors
    /// [`Rejection::Over`] where it ended a while ago, [`Rejection::NotFound`] where there is none.
    pub fn session(&self, id: SessionId) -> Result<&Arc<Session>, Rejection> {
        match (self.sessions.get(&id), self.ended.get(&id)) {
            (Some(session), _) => Ok(session),
            (None, Some(ended)) => Err(Rejection::Over { session: id, ending: ended.ending }),
            (None, None) => Err(Rejection::NotFound(id)),
        }
    }

    /// All sessions behind this one, in order of their ids.
    pub fn sessions_after(&self, after: Option<SessionId>) -> impl Iterator<Item = &Arc<Session>> {
        use core::ops::Bound::{Excluded, Unbounded};
        let from = after.map_or(Unbounded, Excluded);
        self.sessions.range((from, Unbounded)).map(|(_, session)| session)
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.sessions.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sessions.is_empty()
    }

    /// What they take, in bytes.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.bytes
    }

    /// How the lease of a session's host stands.
    #[must_use]
    pub fn lease(&self, session: &Session, now: Timestamp) -> Lease {
        self.pulses.lease(session, now)
    }

    /// How often sessions moved, and how long that took.
    #[must_use]
    pub const fn tally(&self) -> &Tally {
        self.pulses.tally()
    }

    /// Whether a session would be given another host.
    ///
    /// # Errors
    /// Why not.
    pub fn moves(&self, session: &Session) -> Result<(), Rejection> {
        match (session.settings.migratable, self.support(session.service)) {
            (Migratable::No, _) => Err(Rejection::NotMigratable),
            (Migratable::Yes, Support::Unsupported) => Err(Rejection::Unsupported(session.service)),
            (Migratable::Yes, Support::Supported) => Ok(()),
        }
    }

    /// Whether a session whose host is gone can have another: whoever misses its host need not wait where it cannot.
    ///
    /// # Errors
    /// Why not.
    pub fn goes_on(&self, session: &Session, now: Timestamp) -> Result<(), Rejection> {
        match self.lease(session, now) {
            Lease::Vacant | Lease::Lost if session.grant.is_some() => self.moves(session),
            Lease::Vacant | Lease::Lost | Lease::Held { .. } | Lease::Awaited { .. } => Ok(()),
        }
    }

    /// Whether it is known that a session of this id ended.
    pub(crate) fn has_ended(&self, id: SessionId) -> bool {
        self.ended.contains_key(&id)
    }

    fn is_member(&self, session: SessionId, peer: &PeerKey) -> bool {
        self.sessions.get(&session).is_some_and(|session| session.members.contains_key(peer))
    }

    /// Who is a member of these was heard.
    fn hear_all(&mut self, session: SessionId, peers: Vec<PeerKey>, at: Timestamp) {
        for peer in peers {
            if self.is_member(session, &peer) {
                self.pulses.hear(session, peer, at);
            }
        }
    }

    fn members(&self) -> Vec<(SessionId, PeerKey)> {
        let of = |session: &Arc<Session>| {
            let id = session.id;
            session.members.keys().map(move |peer| (id, *peer)).collect::<Vec<_>>()
        };
        self.sessions.values().flat_map(of).collect()
    }
}

impl StateMachine for Lobby {
    type Command = Command;
    type Event = Event;
    type Answer = Answer;
    type Rejection = Rejection;
    type Observation = Observation;
    type Target = Target;
    type Effects = ();
    type Why = Why;

    fn decide(turn: &mut Turn<'_, Self>, command: &Command) -> Result<Answer, Rejection> {
        crate::decide::decide(turn, command)
    }

    fn apply(&mut self, at: Timestamp, event: &Event) {
        crate::apply::apply(self, at, event);
    }

    fn observe(&mut self, now: Timestamp, observation: Observation) {
        match observation {
            Observation::Listening => {
                let members = self.members();
                self.pulses.listen(now, members.into_iter());
            }
            Observation::Heard { session, peers } => self.hear_all(session, peers, now),
            Observation::Renewed { session, epoch, host, renewal, hears } => {
                let known = self.sessions.get(&session).and_then(|session| session.grant);
                let is_host = known.is_some_and(|grant| grant.epoch == epoch && grant.host == host);
                if is_host && self.is_member(session, &host) {
                    let before = self.sessions.get(&session).map(|it| self.pulses.lease(it, now));
                    let Some(at) = self.pulses.renew(session, epoch, now, renewal) else { return };
                    self.pulses.hear(session, host, at);
                    self.hear_all(session, hears, at);
                    // Whoever waits for it to be confirmed is told; the renewals after that tell nobody anything.
                    if !matches!(before, Some(Lease::Held { .. })) {
                        self.touched.insert(session);
                    }
                }
            }
            Observation::Misses { session, epoch, peer, misses } => {
                if self.is_member(session, &peer) {
                    self.pulses.misses(session, epoch, (peer, misses), now);
                    self.pulses.hear(session, peer, now);
                }
            }
            Observation::Moved { session, cause } => {
                let grant = self.sessions.get(&session).and_then(|session| session.grant);
                self.pulses.moved(session, grant.map(|grant| grant.host), cause);
            }
            Observation::Forgotten => self.pulses = Pulses::default(),
        }
    }

    fn owed(&self, _target: &Target) {}

    fn take_touched(&mut self) -> Vec<Target> {
        core::mem::take(&mut self.touched).into_iter().map(Target::Session).collect()
    }

    fn next_deadline(&self) -> Option<(Timestamp, Why)> {
        if self.pulses.listening().is_none() {
            return Some((Timestamp::EPOCH, Why::Listen));
        }
        let silence = self.pulses.most_silent().map(|(at, ..)| (at, Why::Silence));
        let seats = self.seats.first().map(|(at, _)| (*at, Why::Seats));
        silence.into_iter().chain(seats).min_by_key(|(at, _)| *at)
    }

    fn story(&self) -> impl Iterator<Item = (Timestamp, Event)> {
        let support = self.support.iter().map(|(service, migration)| {
            (Timestamp::EPOCH, Event::Configured { service: *service, migration: *migration })
        });
        let ended = self.ended_order.iter().filter_map(|id| {
            let ended = self.ended.get(id)?;
            Some((ended.at, Event::Ended { session: *id, ending: ended.ending }))
        });
        let sessions = self.sessions.values().map(|it| (Timestamp::EPOCH, Event::Stood(Arc::clone(it))));
        support.chain(ended).chain(sessions)
    }
}
