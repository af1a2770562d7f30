//! What a host's game tells its members, and how long it waits with that: by the session's level, as `game/peer` has it wait.

use std::collections::VecDeque;

use mainstay_migration::{Guards, Kind, Level, PeerId, Standing, StateId, Telling};

use super::World;
use crate::laws::{Broken, ensure};

/// What a host has told, and what waits.
#[derive(Debug)]
pub(super) struct Words {
    /// The newest event of its game.
    event: StateId,
    /// What waits: until which state is held, and which has to be.
    unsaid: VecDeque<(StateId, StateId)>,
    /// What was acknowledged last while it is host.
    durable: StateId,
}

impl Words {
    pub(super) const NONE: Self =
        Self { event: StateId::NONE, unsaid: VecDeque::new(), durable: StateId::NONE };

    pub(super) fn acknowledge(&mut self, state: StateId) {
        self.durable = self.durable.max(state);
    }
}

impl<G: Guards> World<G> {
    /// The host's game tells of the state that it has just given, and of which kind that is.
    pub(super) fn tells(&mut self, id: PeerId, state: StateId, kind: Kind) -> Result<(), Broken> {
        let Some(session) = self.peers[&id].session() else { return Ok(()) };
        let (waits_for, level) = (session.waits_for(Telling::Events), self.scenario.level);
        let words = &mut self.peer(id).words;
        if kind == Kind::Event {
            words.event = state;
        }
        let shows = match level {
            Level::None | Level::Asynchronous => return Ok(()),
            Level::DurableEvents => words.event,
            Level::Synchronous => state,
        };
        match waits_for {
            Some(until) => words.unsaid.push_back((until, shows)),
            None => self.has_told(id, shows)?,
        }
        self.says_what_is_held(id)
    }

    /// What has waited long enough is told.
    pub(super) fn says_what_is_held(&mut self, id: PeerId) -> Result<(), Broken> {
        while let Some(session) = self.peers[&id].session() {
            if !session.is_host() {
                self.peer(id).words.unsaid.clear();
                return Ok(());
            }
            let Some((until, shows)) = self.peers[&id].words.unsaid.front().copied() else { return Ok(()) };
            if !session.may_tell(until) {
                return Ok(());
            }
            self.peer(id).words.unsaid.pop_front();
            self.has_told(id, shows)?;
        }
        Ok(())
    }

    fn has_told(&mut self, id: PeerId, shows: StateId) -> Result<(), Broken> {
        let peer = &self.peers[&id];
        let Some(session) = peer.session().filter(|it| it.standing() == Some(Standing::Confirmed)) else {
            return Ok(());
        };
        // It was host without a majority when its game gave that, and is certified since.
        if shows.stamp != session.stamp() {
            return Ok(());
        }
        self.counts.told += 1;
        ensure(
            shows <= peer.words.durable,
            "I9: what a host shows at its session's level was acknowledged before",
            || format!("{id}: {shows:?}, acknowledged is {:?}", peer.words.durable),
        )
    }
}
