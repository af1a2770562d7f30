//! What an agent says of itself to `mainstay doctor`: its rules' laws at one turn and over all that it keeps, and what its
//! machine does not give.

use std::sync::Arc;

use mainstay_core::Timestamp;
use mainstay_journal::Watch;
use mainstay_supervisor::{Event, Supervisor, laws};

use crate::brain::{Brain, Ended};
use crate::os::cgroup::Version;
use crate::os::{Missing, Sight};
use crate::slot::Context;

/// Asks a running agent. Outlives its handle; then it has nothing to say.
#[derive(Debug, Clone)]
pub struct Doctor {
    context: Arc<Context>,
    brain: Brain,
}

/// The laws over an agent's journal: of every turn that is kept, of what has been before it, and of the state they lead to.
#[derive(Debug, Default)]
pub struct Replayed {
    history: laws::History,
    broken: Option<laws::Broken>,
}

impl Watch<Supervisor> for Replayed {
    fn snapshot(&mut self, _: &Supervisor) {}

    fn turn(&mut self, state: &Supervisor, at: Timestamp, events: &[Event]) {
        let judged = |event| self.history.watch(at, event).and_then(|()| laws::after(state, event));
        let broken = events.iter().map(judged).find_map(Result::err);
        self.broken = self.broken.take().or(broken);
    }
}

impl Replayed {
    /// How the rules stand at the end, and stood on the way there.
    #[must_use]
    pub fn rules(self, state: &Supervisor) -> Rules {
        match self.broken.map_or_else(|| laws::all(state), Err) {
            Ok(()) => {
                let live = state.slots().filter(|(_, slot)| slot.live_run().is_some()).count();
                Rules::Hold { slots: state.slots().count(), live }
            }
            Err(broken) => Rules::Broken(broken),
        }
    }
}

/// How the rules of an agent stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rules {
    /// Every law holds.
    Hold {
        /// How many slots they were looked at in.
        slots: usize,
        /// How many of these have a process, or are owed one.
        live: usize,
    },
    /// One does not.
    Broken(laws::Broken),
    /// The agent is ending.
    Ended,
}

/// What the machine gives to its agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Given {
    /// The version of the control groups in use; none where there are none.
    pub groups: Option<Version>,
    /// What games see.
    pub sight: Sight,
    /// Whether each slot has a user of its own.
    pub users: bool,
    /// What is missing.
    pub missing: Vec<Missing>,
}

impl Doctor {
    pub(crate) const fn new(context: Arc<Context>, brain: Brain) -> Self {
        Self { context, brain }
    }

    /// Every law of the rules, at one turn: an agent has at most some thousands of slots.
    pub async fn rules(&self) -> Rules {
        match self.brain.broken_law().await {
            Err(Ended) => Rules::Ended,
            Ok(Err(broken)) => Rules::Broken(broken),
            Ok(Ok((slots, live))) => Rules::Hold { slots, live },
        }
    }

    /// What was found at the agent's start.
    #[must_use]
    pub fn given(&self) -> Given {
        let found = self.context.ground.capabilities();
        Given {
            groups: found.groups.as_ref().map(crate::os::cgroup::Groups::version),
            sight: found.sight,
            users: found.users.is_some(),
            missing: found.missing.clone(),
        }
    }
}
