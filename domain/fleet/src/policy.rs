//! What an operator says of a fleet's machines: when idle ones go, when silent ones are lost, and what provider makes more.

use core::time::Duration;

/// How a fleet treats its machines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MachinePolicy {
    /// When idle machines go.
    pub ttl: MachineTtl,
    /// How long an agent may be silent before its machine is lost. A slow one answers before that.
    pub lost_after: Duration,
    /// What becomes of the allocations of a lost machine, and of one whose process its machine lost, as by a reboot.
    pub on_loss: OnLoss,
}

/// When idle machines go ("machines idle beyond their TTLs"). Both times count from when the last server of the machine
/// that had been allocated or reserved no longer was; a hold keeps the machine past either.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MachineTtl {
    /// Never.
    Off,
    /// After a time.
    Idle {
        /// After so long its servers are stopped.
        shutdown: Duration,
        /// After so long it is given back to the provider that made it; never less than `shutdown`.
        delete: Duration,
    },
}

/// What becomes of the allocations of a lost machine, and of one whose process its machine lost, as by a reboot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum OnLoss {
    /// They end as failed.
    Fail,
    /// They wait for another server, under the same allocation id, for as long as a new one may.
    PlaceAnew,
}

/// A region's machine provider, as far as rules go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Provided {
    /// How many slots each of its machines has; at least 1.
    pub slots: u32,
    /// The most machines at once, those on their way in or out with them.
    pub machines_max: u32,
    /// How long a machine may take from the request until it joins. Then it is given up, and given back.
    pub create_timeout: Duration,
    /// How long the first try after one that failed waits; each further one twice as long, up to
    /// [`Provided::RETRY_MAX`].
    pub retry: Duration,
}

impl Provided {
    /// The longest pause between two tries: somebody mends a provider within minutes, and nobody should have to say so.
    pub const RETRY_MAX: Duration = Duration::from_secs(5 * 60);
    /// How often a provider may fail to make one machine before it is given up. With a first pause of a second these are
    /// some four minutes.
    pub const CREATE_TRIES_MAX: u32 = 8;

    /// The pause after so many failures in a row.
    #[must_use]
    pub fn pause(&self, failures: u32) -> Duration {
        let doublings = failures.saturating_sub(1).min(31);
        self.retry.saturating_mul(1 << doublings).min(Self::RETRY_MAX)
    }
}

impl MachinePolicy {
    /// How long an agent may be silent unless an operator says otherwise: twelve times what it takes to notice that a
    /// stream broke, and as long as a placement waits.
    pub const LOST_AFTER_DEFAULT: Duration = Duration::from_secs(60);
}

impl Default for MachinePolicy {
    /// What was so before there was a policy: machines stay.
    fn default() -> Self {
        Self { ttl: MachineTtl::Off, lost_after: Self::LOST_AFTER_DEFAULT, on_loss: OnLoss::Fail }
    }
}

impl MachineTtl {
    /// How long a machine may idle before its servers are stopped.
    #[must_use]
    pub const fn shutdown(self) -> Option<Duration> {
        match self {
            Self::Off => None,
            Self::Idle { shutdown, .. } => Some(shutdown),
        }
    }

    /// How long a machine that a provider made may idle before it is given back.
    #[must_use]
    pub const fn delete(self) -> Option<Duration> {
        match self {
            Self::Off => None,
            Self::Idle { delete, .. } => Some(delete),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_their_limit() {
        let provided = Provided {
            slots: 1,
            machines_max: 1,
            create_timeout: Duration::from_secs(60),
            retry: Duration::from_secs(1),
        };
        let seconds = |failures| provided.pause(failures).as_secs();
        assert_eq!([1, 2, 3, 9, 10, 200].map(seconds), [1, 2, 4, 256, 300, 300]);
    }
}
