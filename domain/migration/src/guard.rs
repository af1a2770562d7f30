//! The guards that safety and liveness hang on, so that the simulator can take one away and show that it is missed.
//!
//! A session has all of them: [`Guards::ALL`] is what [`crate::Session`] is made with, and nothing turns one off while it runs.

/// One guard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Guard {
    /// A message of an older epoch is refused.
    Epoch,
    /// A host is obeyed only for votes that prove it.
    Certificate,
    /// A host is given up only when others miss it too.
    Confirmation,
    /// Hosts that were lost in a migration are not asked again in it.
    Exclusion,
}

/// Which guards stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Guards {
    missing: u8,
}

impl Guards {
    /// All of them.
    pub const ALL: Self = Self { missing: 0 };

    /// All but one: for the mutation check of the simulator alone.
    #[must_use]
    pub const fn all_but(guard: Guard) -> Self {
        Self { missing: 1 << guard as u8 }
    }

    /// Whether this one stands.
    #[must_use]
    pub const fn stands(self, guard: Guard) -> bool {
        self.missing & (1 << guard as u8) == 0
    }
}
