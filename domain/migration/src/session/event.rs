//! What the game lives through while its session moves: one [`Stages`] from the first loss to the end of it all.

use alloc::collections::BTreeSet;
use core::time::Duration;

use mainstay_core::Timestamp;

use crate::session::words::{Cause, End, Moving, Outcome, Output, Progress, Report};
use crate::session::{Leadership, Session};
use crate::settings::Switch;
use crate::stages::{Failure, Role, Stage, Stages};
use crate::{EntityId, Guards, PeerId};

/// A migration that runs.
#[derive(Debug, Clone)]
pub(super) struct Event {
    pub(super) stages: Stages,
    pub(super) cause: Cause,
    /// Under whom the game was played when it began.
    from: PeerId,
    /// Whom the listeners were told of last.
    host: Option<PeerId>,
    /// What the game has listed when it was demoted: once each, and kept while the session may still move on to this very peer.
    unneeded: BTreeSet<EntityId>,
    /// Of what the game was told last, and when.
    told: Option<(Option<Stage>, Timestamp)>,
}

/// How many entities a game lists in one migration at most: more than any client is sent of a world.
pub const ENTITIES_MAX: usize = 65_536;

/// How often the game is told how a migration goes on: what people read a clock by.
const PROGRESS_EVERY: Duration = Duration::from_secs(1);

/// Whether a migration runs now.
pub(super) enum Begun {
    Yes,
    /// The session is over instead.
    No,
}

impl<G: Guards> Session<G> {
    /// A migration begins, or the one that runs goes on: a host lost on the way resets it.
    pub(super) fn begin_event(&mut self, now: Timestamp, cause: Cause) -> Begun {
        if let Some(event) = &mut self.event {
            event.stages.lose(now);
            return Begun::Yes;
        }
        if !self.goes_along(cause) {
            self.end(now, End::HostLost);
            return Begun::No;
        }
        self.moved = Some(now);
        self.event = Some(Event {
            stages: Stages::begin(now, &self.listeners),
            cause,
            from: self.played_under,
            host: None,
            unneeded: BTreeSet::new(),
            told: None,
        });
        self.outputs.hold();
        Begun::Yes
    }

    /// Whether this peer goes along where the session moves for that.
    pub(super) fn goes_along(&self, cause: Cause) -> bool {
        let wanted = match cause {
            Cause::Catastrophic => self.settings.automigrate_host == Switch::On,
            Cause::Lobby | Cause::Controlled | Cause::Fenced | Cause::Merge => true,
        };
        wanted && self.migrates()
    }

    /// A migration that cannot succeed begins, so that the game is told in the form that it knows.
    pub(super) fn fail(&mut self, now: Timestamp, cause: Cause, failure: Failure) {
        if let Begun::Yes = self.begin_event(now, cause)
            && let Some(event) = &mut self.event
        {
            event.stages.fail(now, failure);
        }
    }

    /// Seed 000: "the list of entities created in the OnDemoteToClient() listener mustn't be deleted until the OnFinalise()
    /// listener", and of duplicates "it is safe to immediately discard" them.
    pub(super) fn list_entities(&mut self, entities: &[EntityId]) {
        let Some(event) = &mut self.event else { return };
        let room = ENTITIES_MAX.saturating_sub(event.unneeded.len());
        event.unneeded.extend(entities.iter().take(room));
    }

    pub(super) fn elected(&mut self, role: Role) {
        let leader = self.leader();
        // Its game hears whether it goes on, and who suits better is looked for anew.
        self.better.look_anew();
        if let Some(event) = &mut self.event
            && event.stages.elected(role)
        {
            event.host = Some(leader);
        }
    }

    pub(super) fn settle(&mut self) {
        if let Some(event) = &mut self.event {
            event.stages.settle();
        }
    }

    /// What the game has listed is of no use any more, but where this peer has become the host of it.
    pub(super) fn discard(&mut self) {
        let Some(event) = &mut self.event else { return };
        let unneeded = core::mem::take(&mut event.unneeded);
        let is_kept = event.stages.role() == Some(Role::Host) && event.stages.failure().is_none();
        if !is_kept && !unneeded.is_empty() {
            self.outputs.push(Output::Discard(unneeded.into_iter().collect()));
        }
    }

    /// What is known of the migration that runs.
    fn moving(&self) -> Option<Moving> {
        let Event { stages, cause, from, host, .. } = self.event.as_ref()?;
        let to = host.filter(|_| stages.role().is_some());
        Some(Moving { cause: *cause, from: *from, to, resets: stages.resets() })
    }

    /// Tells how far it is, where that is news.
    fn tell_progress(&mut self, now: Timestamp) {
        let timeout = self.settings.migrate_timeout;
        let Some(Event { stages, told, .. }) = &mut self.event else { return };
        let stage = stages.stage();
        let is_news = told.is_none_or(|(of, at)| of != stage || now >= at + PROGRESS_EVERY);
        if stages.is_complete() || !is_news {
            return;
        }
        *told = Some((stage, now));
        let ms = |span: Duration| u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
        let took = now.since(stages.begun());
        let waits_for = stages.waits_for();
        let Some(of) = self.moving() else { return };
        self.outputs.push(Output::Progress(Progress {
            of,
            stage,
            waits_for,
            took_ms: ms(took),
            left_ms: ms(timeout.saturating_sub(took)),
        }));
    }

    /// Calls whoever is to be called, and closes what is complete.
    pub(super) fn live_through(&mut self, now: Timestamp) {
        let timeout = self.settings.migrate_timeout;
        let Some(event) = &mut self.event else {
            self.played_under = self.leader();
            self.forgive_lost();
            return;
        };
        let calls = event.stages.advance(now, timeout);
        let told_since = self.outputs.release();
        // Before the calls, as the listeners hear it.
        let is_complete = event.stages.is_complete();
        self.tell_progress(now);
        if let Some(moving) = self.moving() {
            self.outputs.extend(calls.into_iter().map(|call| Output::Call(call, moving)));
        }
        self.outputs.extend(told_since);
        if is_complete {
            self.discard();
        }
        let Some(Event { stages, cause, host, .. }) = self.event.take_if(|event| event.stages.is_complete())
        else {
            return;
        };
        let report = |outcome| Report {
            cause,
            outcome,
            resets: stages.resets(),
            took_ms: u64::try_from(now.since(stages.begun()).as_millis()).unwrap_or(u64::MAX),
        };
        if let Some(failure) = stages.failure() {
            self.outputs.push(Output::Migrated(report(Outcome::Terminated(failure.clone()))));
            if !self.is_over() {
                self.send_all(&crate::Body::Leave);
                self.end(now, End::Failed(failure.clone()));
            }
            return;
        }
        let role = stages.role().unwrap_or(Role::Client);
        let outcome = Outcome::Moved { host: self.leader(), stamp: self.stamp(), role };
        self.outputs.push(Output::Migrated(report(outcome)));
        self.played_under = host.unwrap_or(self.played_under);
        // What was lost or decided while the listeners finalised is the next migration's.
        let next = match &self.leadership {
            Leadership::Follows | Leadership::Doubts(_) if host != Some(self.leader()) => {
                Some((self.moved_by, Some(Role::Client)))
            }
            Leadership::Reigns(_) if host != Some(self.leader()) => Some((self.moved_by, Some(Role::Host))),
            Leadership::Follows | Leadership::Reigns(_) => {
                self.forgive_lost();
                None
            }
            Leadership::Vacant(vacancy) => Some((vacancy.cause, None)),
            Leadership::Doubts(_) | Leadership::Outside { .. } | Leadership::Over => None,
        };
        if let Some((cause, role)) = next
            && let Begun::Yes = self.begin_event(now, cause)
        {
            role.into_iter().for_each(|role| self.elected(role));
            self.live_through(now);
        }
    }

    /// The session stands firm, though perhaps not in the moment in which its last move was over here: who was given up in that one may be
    /// host again, for others think so, too.
    fn forgive_lost(&mut self) {
        match &self.leadership {
            Leadership::Follows | Leadership::Reigns(_) => self.lost.clear(),
            Leadership::Doubts(_) | Leadership::Vacant(_) | Leadership::Outside { .. } | Leadership::Over => {
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::sync::Arc;

    use super::*;
    use crate::session::{Config, Migratable, WithoutMajority};
    use crate::stages::{ListenerId, Priority};
    use crate::state::{State, StateId};
    use crate::{Arbiter, Epoch, Grant, Keys, Level, Order, Pass, Receipt, SessionId, Signature, Support};

    /// Keys that nobody is asked for.
    #[derive(Debug)]
    struct Trusting;

    impl Keys for Trusting {
        fn sign(&self, _: &[u8]) -> Signature {
            Signature::default()
        }
        fn is_by(&self, _: PeerId, _: &[u8], _: &Signature) -> bool {
            true
        }
        fn is_of_lobby(&self, _: &Grant, _: &Signature) -> bool {
            true
        }
        fn is_pass(&self, _: SessionId, _: PeerId, _: &Pass) -> bool {
            true
        }
        fn is_receipt(&self, _: SessionId, _: Epoch, _: &Receipt) -> bool {
            true
        }
    }

    /// "OnInitiate() is called at the start of a host migration event": also where what a host was about to acknowledge is taken back once
    /// its migration has begun, because nobody certifies it any more.
    #[test]
    fn oninitiate_comes_first_where_acknowledgements_are_taken_back() {
        let config = Config {
            me: PeerId(1),
            session: SessionId(1),
            arbiter: Arbiter::Majority,
            order: Order::Documented,
            migratable: Migratable::Yes,
            without_majority: WithoutMajority::Fork,
            level: Level::Asynchronous,
            size: 2,
            support: Support::Supported,
            admission: None,
            keys: Arc::new(Trusting),
        };
        let now = Timestamp::from_unix_ms(1_000);
        let mut session: Session = Session::found(now, config);
        session.add_listener(ListenerId(0), "game", Priority::PostEngine);
        session.take_outputs();

        (0..3).for_each(|_| session.outputs.push(Output::Durable(StateId::NONE)));
        session.outputs.push(Output::Gone(PeerId(2)));
        assert!(matches!(session.begin_event(now, Cause::Fenced), Begun::Yes));
        session.outputs.push(Output::Durable(StateId::NONE));
        session.lead_uncertified(now, 1);
        session.outputs.push(Output::Lead { stamp: session.stamp(), state: State::default() });
        session.live_through(now);

        let told = session.take_outputs();
        assert!(!told.iter().any(|output| matches!(output, Output::Durable(_))), "{told:?}");
        let at = |is: fn(&Output) -> bool| told.iter().position(is).unwrap();
        let gone = at(|output| matches!(output, Output::Gone(_)));
        let begins = at(|output| matches!(output, Output::Call(call, _) if call.stage == Stage::Initiate));
        let leads = at(|output| matches!(output, Output::Lead { .. }));
        assert!(gone < begins && begins < leads, "{told:?}");
    }
}
