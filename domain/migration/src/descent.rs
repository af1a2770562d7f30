//! What a state goes back to, and so which of two a session goes on from (decision 0062).

use crate::state::{StateHash, StateId};
use crate::{Epoch, Stamp, Tick};

/// A state of a certified host: one host writes those of an epoch, in one chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ancestor {
    /// Of whose time it is.
    pub epoch: Epoch,
    /// Its place in the chain.
    pub number: u64,
}

impl Ancestor {
    /// Of what goes back to nothing that a certified host wrote.
    pub const NONE: Self = Self::itself(StateId::NONE);

    /// That state.
    #[must_use]
    pub const fn itself(id: StateId) -> Self {
        Self { epoch: id.stamp.epoch, number: id.number }
    }
}

/// The name of a state, and the newest state of a certified host that it goes back to. A session goes on from the greater of two: the one whose
/// ancestor is the newer, and of one ancestor the newer by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Descent {
    ancestor: Ancestor,
    id: StateId,
}

impl Descent {
    /// Of no state.
    pub const NONE: Self = Self { ancestor: Ancestor::NONE, id: StateId::NONE };

    /// Of that state. What a certified host wrote is its own ancestor, whatever is said.
    #[must_use]
    pub const fn of(id: StateId, ancestor: Ancestor) -> Self {
        Self { ancestor: if id.is_of_side() { ancestor } else { Ancestor::itself(id) }, id }
    }

    /// The state.
    #[must_use]
    pub const fn id(self) -> StateId {
        self.id
    }

    /// The newest state of a certified host that it goes back to: itself, where such a host wrote it.
    #[must_use]
    pub const fn ancestor(self) -> Ancestor {
        self.ancestor
    }

    /// The state of a certified host that it goes back to, as far as its name is known: less than that name, and more than any before it.
    #[must_use]
    pub(crate) const fn root(self) -> Self {
        let Ancestor { epoch, number } = self.ancestor;
        let id = StateId { stamp: Stamp::certified(epoch), number, tick: Tick(0), hash: StateHash(0) };
        if self.id.is_of_side() { Self { ancestor: self.ancestor, id } } else { self }
    }
}
