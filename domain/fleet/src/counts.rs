//! How many servers stand how: kept as they change, so that nobody walks a fleet to count it.

use crate::server::ServerStatus;

/// How many servers stand how.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts([u32; ServerStatus::ALL.len()]);

impl Counts {
    /// How many have a status.
    #[must_use]
    pub const fn of(&self, status: ServerStatus) -> u32 {
        self.0[status as usize]
    }

    /// All of them.
    #[must_use]
    pub fn total(&self) -> u32 {
        self.0.iter().sum()
    }

    /// How many are taken out of the pool: allocated or reserved.
    #[must_use]
    pub const fn claimed(&self) -> u32 {
        self.of(ServerStatus::Allocated) + self.of(ServerStatus::Reserved)
    }

    /// How many are in the pool. A hold changes nothing here: "holding a server does not negatively influence the number
    /// of available servers" (seed 003).
    #[must_use]
    pub fn unclaimed(&self) -> u32 {
        self.total() - self.claimed()
    }

    pub(crate) const fn add(&mut self, status: ServerStatus) {
        self.0[status as usize] += 1;
    }

    pub(crate) const fn remove(&mut self, status: ServerStatus) {
        self.0[status as usize] -= 1;
    }
}

impl core::ops::AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        for (mine, theirs) in self.0.iter_mut().zip(other.0) {
            *mine += theirs;
        }
    }
}
