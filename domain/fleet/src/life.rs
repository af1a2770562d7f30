//! The life of a machine: asked of a provider, serving, emptied when nobody needs it, given back; or lost.
//!
//! ```text
//!              comes               idle past its TTL            empty
//! Requested ──────────▶ Serving ──────────────────▶ Draining ─────────▶ Emptied ──┐
//!     │                  ▲  │ ▲                         │                  │  ▲    │ idle past the delete TTL
//!     │ never comes      │  │ └───────── needed again ──┴──────────────────┘  │    │ (provider made)
//!     │         comes    │  │ silent                        silent ───────────┘    ▼
//!     │         back     │  ▼                                              acknowledged
//!     │                  Lost ─── gone, or given up (provider made) ───▶ Removing ─────────▶ forgotten
//!     └────────────────────────────────────────────────────────────────────▲
//! ```

use mainstay_core::Timestamp;

/// How a machine came to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// It joined by itself (`local`, `static`): it is the studio's, and is emptied, never deleted.
    Joined,
    /// A provider made it for this fleet, and deletes it.
    Made,
}

/// How a machine stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Life {
    /// A provider is to make it, and it has not joined yet.
    Requested {
        /// Since when.
        at: Timestamp,
        /// When it is given up.
        until: Timestamp,
        /// How many slots it will bring.
        slots: u32,
    },
    /// Its servers may be allocated.
    Serving,
    /// It idled past its TTL: its servers are being stopped, and none of them takes anybody.
    Draining {
        /// Since when.
        since: Timestamp,
    },
    /// None of its servers runs. It is woken when capacity is needed.
    Emptied {
        /// Since when.
        since: Timestamp,
    },
    /// Its agent has been silent for longer than machines may be.
    Lost {
        /// Since when it has counted as lost.
        at: Timestamp,
    },
    /// Its provider is to delete it, until it says it has; of one that joined by itself, its credential is to end.
    Removing {
        /// Since when.
        since: Timestamp,
        /// Why.
        why: Parting,
    },
}

/// What an operator wants of a machine, whatever its life is: it outlasts the machine's silence and its loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Duty {
    /// It serves when it can.
    InService,
    /// It takes nobody any more. Once nobody is on it, its servers are stopped, and it stays empty.
    Drained {
        /// Since when.
        since: Timestamp,
    },
    /// As drained; and once it is emptied or lost it is taken out of the fleet.
    Leaving {
        /// Since when.
        since: Timestamp,
    },
}

/// A duty as an operator gives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wish {
    /// [`Duty::InService`].
    Serve,
    /// [`Duty::Drained`].
    Drain,
    /// [`Duty::Leaving`].
    Leave,
}

impl Wish {
    /// The duty from then on.
    pub(crate) const fn since(self, since: Timestamp) -> Duty {
        match self {
            Self::Serve => Duty::InService,
            Self::Drain => Duty::Drained { since },
            Self::Leave => Duty::Leaving { since },
        }
    }
}

impl Duty {
    /// What the operator wishes.
    #[must_use]
    pub const fn wish(self) -> Wish {
        match self {
            Self::InService => Wish::Serve,
            Self::Drained { .. } => Wish::Drain,
            Self::Leaving { .. } => Wish::Leave,
        }
    }

    /// Since when it takes nobody by an operator's wish.
    #[must_use]
    pub const fn withdrawn(self) -> Option<Timestamp> {
        match self {
            Self::InService => None,
            Self::Drained { since } | Self::Leaving { since } => Some(since),
        }
    }

    /// The word for it, in the API and the history.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::InService => "inService",
            Self::Drained { .. } => "drained",
            Self::Leaving { .. } => "leaving",
        }
    }
}

/// Why a machine is given back to its provider, or, where it joined by itself, is no longer the fleet's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Parting {
    /// It idled past the delete TTL.
    Idle,
    /// It had not joined by the end of the creation timeout, or its provider failed to make it too often.
    NeverCame,
    /// It was lost, and did not come back within the delete TTL.
    Lost,
    /// It was lost, and its provider no longer has it.
    Died,
    /// An operator removed it.
    ByHand,
}

/// What is known of a lost machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fate {
    /// Nothing but its silence.
    Unknown,
    /// Its provider still has it: it may play on, out of sight.
    CutOff,
}

/// What had become of a lost machine, as its return shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Absence {
    /// It does not say which run of its kernel it is, or nobody had kept the one before.
    Unknown,
    /// It ran all the time, out of sight: the same run of its kernel.
    CutOff,
    /// It had died and was started again.
    Rebooted,
}

impl Life {
    /// Whether allocations, holds and reservations may begin on it.
    #[must_use]
    pub const fn serves(self) -> bool {
        match self {
            Self::Serving => true,
            Self::Requested { .. }
            | Self::Draining { .. }
            | Self::Emptied { .. }
            | Self::Lost { .. }
            | Self::Removing { .. } => false,
        }
    }

    /// Whether it has been chosen to go: nobody may be on it.
    #[must_use]
    pub const fn leaves(self) -> bool {
        match self {
            Self::Draining { .. } | Self::Emptied { .. } | Self::Removing { .. } => true,
            Self::Requested { .. } | Self::Serving | Self::Lost { .. } => false,
        }
    }

    /// Whether its agent's silence is counted.
    pub(crate) const fn is_missed(self) -> bool {
        match self {
            Self::Serving | Self::Draining { .. } => true,
            Self::Requested { .. } | Self::Emptied { .. } | Self::Lost { .. } | Self::Removing { .. } => {
                false
            }
        }
    }

    /// The word for it, in the API and the history.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Requested { .. } => "requested",
            Self::Serving => "serving",
            Self::Draining { .. } => "draining",
            Self::Emptied { .. } => "emptied",
            Self::Lost { .. } => "lost",
            Self::Removing { .. } => "removing",
        }
    }
}

impl Parting {
    /// The word for it, in the API and the history.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::NeverCame => "neverCame",
            Self::Lost => "lost",
            Self::Died => "died",
            Self::ByHand => "byHand",
        }
    }
}

impl Fate {
    /// The word for it, in the API.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::CutOff => "cutOff",
        }
    }
}

impl Absence {
    /// The word for it, in the API and the history.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::CutOff => "cutOff",
            Self::Rebooted => "rebooted",
        }
    }
}
