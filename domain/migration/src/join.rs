//! How somebody comes in: it asks whom it knows, is sent to the host, and is welcomed once the members' view names it; or it
//! hears why not, or gives up. It never waits for ever (I14), also where the session moves meanwhile.
//!
//! Who of them is host nobody can tell it but they, and any of them may lie. So whoever does not let it in, or sends it to somebody who did not, is one fewer to
//! ask, and what they say is believed once all say so.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::marker::PhantomData;
use core::time::Duration;

use mainstay_core::Timestamp;

use crate::certificate::Forged;
use crate::hint::Hint;
use crate::message::{Body, Closed, Message};
use crate::session::{Config, Output, Session};
use crate::view::MEMBERS_MAX;
use crate::{Guard, Guarded, Guards, PeerId, Stamp};

/// How long it asks: longer than a migration usually takes, and shorter than a person waits.
pub(crate) const JOIN_MAX: Duration = Duration::from_secs(15);
/// How often.
const AGAIN: Duration = Duration::from_millis(300);
/// How long a session that says it is full is asked again before it is believed. A member that has gone without its word being heard
/// is missed after [`SUSPECT_MIN`](crate::rhythm::SUSPECT_MIN), later over a worse link, and until then its seat looks taken.
const FULL_ASKED: Duration = Duration::from_secs(3);

/// What whoever asks for a seat has heard of there being none.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct NoSeat {
    /// When first.
    since: Option<Timestamp>,
}

impl NoSeat {
    /// It is said (again). Whether it is to be believed by now.
    pub(crate) fn hear(&mut self, now: Timestamp) -> Full {
        if now < *self.since.get_or_insert(now) + FULL_ASKED { Full::Perhaps } else { Full::Indeed }
    }
}

/// Whether a session that says it is full is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Full {
    /// A seat may become free: it is asked again.
    Perhaps,
    /// It said so for long enough.
    Indeed,
}

/// A peer that wants to be a member.
#[derive(Debug, Clone)]
pub struct Joining<G: Guards = Guarded> {
    guards: PhantomData<G>,
    config: Config,
    /// Whom it knew at first.
    given: Vec<PeerId>,
    /// Whom it asks, the next one first.
    known: Vec<PeerId>,
    /// Of those, who may answer.
    asked: BTreeSet<PeerId>,
    /// Who does not let it in.
    against: BTreeMap<PeerId, Against>,
    ask_at: Timestamp,
    until: Timestamp,
    no_seat: NoSeat,
}

/// Why somebody does not let it in.
#[derive(Debug, Clone, Copy)]
enum Against {
    Refuses(Closed),
    Lies(Forged),
}

impl Against {
    fn said_by_all<G: Guards>(self) -> Joined<G> {
        match self {
            Self::Refuses(why) => Joined::Refused(why),
            Self::Lies(why) => Joined::Forged(why),
        }
    }
}

/// What came of it.
#[derive(Debug)]
pub enum Joined<G: Guards = Guarded> {
    /// Nothing yet. Here is what to send.
    NotYet(Vec<Output>),
    /// It is a member.
    In(Box<Session<G>>),
    /// It is not let in, by anybody it knows.
    Refused(Closed),
    /// Nobody who can let it in has answered.
    NoAnswer,
    /// It was welcomed by somebody who is no host, and by nobody else.
    Forged(Forged),
}

impl Joining {
    /// Begins to ask those that it knows: at least one.
    #[must_use]
    pub fn new(now: Timestamp, config: Config, known: Vec<PeerId>) -> Self {
        Self::of(now, config, known)
    }
}

impl<G: Guards> Joining<G> {
    /// [`Joining::new`], with the guards of its type.
    #[must_use]
    pub fn of(now: Timestamp, config: Config, known: Vec<PeerId>) -> Self {
        let given = known.clone();
        let (ask_at, until) = (now, now + JOIN_MAX);
        Self {
            guards: PhantomData,
            config,
            given,
            known,
            asked: BTreeSet::new(),
            against: BTreeMap::new(),
            ask_at,
            until,
            no_seat: NoSeat::default(),
        }
    }

    /// Whom it asks: those it knew, and whom they have named.
    #[must_use]
    pub fn asks(&self) -> &[PeerId] {
        &self.known
    }

    /// Somebody says that it is host of this session: it is asked next, unless it does not let this peer in.
    pub fn find(&mut self, now: Timestamp, host: PeerId) -> Joined<G> {
        if self.known.contains(&host) || self.against.contains_key(&host) {
            return Joined::NotYet(Vec::new());
        }
        self.ask_next(now, host)
    }

    /// When it wants to be looked at again.
    #[must_use]
    pub fn next_deadline(&self) -> Timestamp {
        self.ask_at.min(self.until)
    }

    /// Time has passed.
    pub fn wake(&mut self, now: Timestamp) -> Joined<G> {
        if now >= self.until {
            return match (self.no_seat.since, self.against.pop_first()) {
                (Some(_), _) => Joined::Refused(Closed::Full),
                (None, Some((_, why))) => why.said_by_all(),
                (None, None) => Joined::NoAnswer,
            };
        }
        let mut outputs = Vec::new();
        if now >= self.ask_at
            && let Some(to) = self.known.first().copied()
        {
            self.ask_at = now + AGAIN;
            self.known.rotate_left(1);
            self.asked.insert(to);
            let order = self.config.order.name();
            let body = match &self.config.admission {
                Some(admission) => Body::Present { pass: admission.pass.clone(), order },
                None => Body::Join { hint: Hint::UNSUITABLE, order },
            };
            let message = Message { session: self.config.session, stamp: Stamp::NOBODY, body };
            outputs.push(Output::Send { to, message });
        }
        Joined::NotYet(outputs)
    }

    /// A message came over the link of that peer.
    pub fn receive(&mut self, now: Timestamp, from: PeerId, message: &Message) -> Joined<G> {
        // Nobody else has anything to say in it.
        let is_asked = self.known.contains(&from);
        if !is_asked
            || message.session != self.config.session && G::stands(Guard::Session)
            || !message.is_genuine(self.config.keys.as_ref())
        {
            return Joined::NotYet(Vec::new());
        }
        match &message.body {
            Body::Welcome(welcome) => {
                let Some(config) = self.config.clone().under(&welcome.terms) else {
                    return self.ask_others(now, from, Against::Refuses(Closed::OtherOrder));
                };
                match Session::enter(now, config, from, message.stamp, welcome) {
                    Ok(session) => Joined::In(Box::new(session)),
                    Err(why) => self.ask_others(now, from, Against::Lies(why)),
                }
            }
            Body::Redirect(host) if let Some(why) = self.against.get(host).copied() => {
                self.ask_others(now, from, why)
            }
            Body::Redirect(host) if self.asked.remove(&from) => self.ask_next(now, *host),
            Body::Refused(Closed::Full) if self.no_seat.hear(now) == Full::Perhaps => {
                Joined::NotYet(Vec::new())
            }
            Body::Refused(why) => self.ask_others(now, from, Against::Refuses(*why)),
            Body::Beat(_)
            | Body::Ask
            | Body::Answer(_)
            | Body::Claim(_)
            | Body::Vote(_)
            | Body::Refusal { .. }
            | Body::Announce(_)
            | Body::View(_)
            | Body::Taken(_)
            | Body::Roster(_)
            | Body::Holds(_)
            | Body::Hints(_)
            | Body::State(_)
            | Body::Pull(_)
            | Body::Play { .. }
            | Body::Join { .. }
            | Body::Present { .. }
            | Body::Leave
            | Body::Redirect(_)
            | Body::Bring { .. }
            | Body::Counted(_) => Joined::NotYet(Vec::new()),
        }
    }

    /// The one that is named is asked next, at once, and then whoever would have been.
    fn ask_next(&mut self, now: Timestamp, host: PeerId) -> Joined<G> {
        self.known.retain(|peer| *peer != host);
        // Whom it was told of first it asks on, whomever one of those names.
        if self.known.len() >= MEMBERS_MAX
            && let Some(named) = self.known.iter().position(|peer| !self.given.contains(peer))
        {
            let forgotten = self.known.remove(named);
            self.asked.remove(&forgotten);
        }
        self.known.insert(0, host);
        self.ask_at = self.ask_at.min(now);
        self.wake(now)
    }

    /// That one does not let it in: perhaps another does.
    fn ask_others(&mut self, now: Timestamp, from: PeerId, why: Against) -> Joined<G> {
        self.known.retain(|peer| *peer != from);
        self.asked.remove(&from);
        if self.known.is_empty() {
            return why.said_by_all();
        }
        if self.against.len() >= MEMBERS_MAX {
            self.against.pop_first();
        }
        self.against.insert(from, why);
        self.ask_at = self.ask_at.min(now);
        self.wake(now)
    }
}
