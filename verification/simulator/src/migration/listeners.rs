//! Listeners of a peer's game: what they answer, when, and those that panic.

use mainstay_migration::{Answer, Call, Guards, Input, ListenerId, PeerId, Priority, Stage};

use super::peer::{Alive, Life};
use super::scenario::Listeners;
use super::{Happening, World};
use crate::laws::Broken;

/// What listens on each peer, where anybody does.
const LISTENERS: [(u32, &str, Priority); 2] =
    [(0, "game", Priority::PostEngine), (1, "engine", Priority::Engine)];
/// How many of a million calls panic, where listeners do.
const PANICS: u32 = 10_000;

/// What a listener is about to answer.
#[derive(Debug)]
pub(super) struct Reply {
    listener: ListenerId,
    number: u32,
    state: u32,
    answer: Answer,
}

impl<G: Guards> World<G> {
    /// A game that comes in registers its own.
    pub(super) fn registers(&mut self, id: PeerId) {
        if self.scenario.listeners == Listeners::None {
            return;
        }
        let peer = self.peer(id);
        for (number, name, priority) in LISTENERS {
            peer.grammar.register(ListenerId(number));
            if let Life::In(session) = &mut peer.life {
                session.add_listener(ListenerId(number), name, priority);
            }
        }
    }

    pub(super) fn call(&mut self, id: PeerId, call: Call) -> Result<(), Broken> {
        self.counts.calls += 1;
        self.peer(id).grammar.called(&call)?;
        let kind = self.scenario.listeners;
        if kind == Listeners::Panicking && self.busy && self.odds.chance(PANICS) {
            return self.panics(id, &call);
        }
        let is_slow = matches!(kind, Listeners::Slow | Listeners::Vetoing | Listeners::Panicking);
        let waits = is_slow && self.random.chance(300_000);
        let may_veto = match kind {
            Listeners::Vetoing => call.stage != Stage::Terminate,
            Listeners::Panicking => true,
            Listeners::None | Listeners::Quick | Listeners::Slow => false,
        };
        let vetoes = may_veto && self.random.chance(1_000);
        let answer = if vetoes {
            Answer::Veto
        } else if waits {
            Answer::Wait
        } else {
            Answer::Done
        };
        let reply = Reply { listener: call.listener, number: call.number, state: call.state + 1, answer };
        let delay = match kind {
            Listeners::None | Listeners::Quick => 1,
            Listeners::Slow | Listeners::Vetoing | Listeners::Panicking => self.random.between(1, 100_000),
        };
        self.after(delay, Happening::Answers { peer: id, reply });
        Ok(())
    }

    /// A listener panics: its game caught that and goes on, or went with it and dropped its seat. Either way nobody answers.
    fn panics(&mut self, id: PeerId, call: &Call) -> Result<(), Broken> {
        self.counts.panics += 1;
        self.peer(id).panicked = Some(self.now);
        self.say(id, |_| format!("panics in {:?}", call.stage));
        if self.odds.chance(500_000) {
            self.after(1, Happening::Quits { peer: id });
        }
        Ok(())
    }

    pub(super) fn answers(&mut self, id: PeerId, reply: Reply) -> Result<(), Broken> {
        if self.peers[&id].alive == Alive::Frozen {
            self.after(50_000, Happening::Answers { peer: id, reply });
            return Ok(());
        }
        let Reply { listener, number, state, answer } = reply;
        self.peer(id).grammar.answered(listener, number, state, &answer);
        self.give(id, Input::Answered { listener, number, state, answer })
    }
}
