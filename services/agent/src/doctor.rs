//! What an agent says of itself to `mainstay doctor`: its rules' laws at one turn, and what its machine does not give.

use std::sync::Arc;

use mainstay_supervisor::laws;

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
