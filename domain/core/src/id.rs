//! Typed ids. Those that foreign clients read as int64 are `fleet number << 32 | counter`, below 2^53, and are shown
//! to people with a prefix (`srv-1-7` is server 7 of fleet 1); both forms are accepted everywhere.

use alloc::string::{String, ToString};
use core::fmt;
use core::num::ParseIntError;
use core::str::FromStr;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::time::Timestamp;

/// The largest int64 that every JSON reader carries exactly (2^53 - 1; JavaScript's safe integer).
const NUMBER_MAX: u64 = (1 << 53) - 1;

/// A fleet's short number: the high half of the ids of its machines and servers. Below 2^21, so that ids stay below 2^53.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct FleetNumber(u32);

impl FleetNumber {
    /// The first number that would push an id past 2^53.
    pub const LIMIT: u32 = 1 << 21;

    /// `None` at or above [`FleetNumber::LIMIT`].
    #[must_use]
    pub const fn new(number: u32) -> Option<Self> {
        if number < Self::LIMIT { Some(Self(number)) } else { None }
    }

    /// Its number.
    #[must_use]
    pub const fn get(self) -> u32 {
        self.0
    }
}

impl fmt::Debug for FleetNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "fleet/{}", self.0)
    }
}

/// Why a text is no id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    /// Neither a number nor a prefixed form.
    #[error("`{text}` is no {kind} id: give its number or its {prefix}-… form")]
    Shape {
        /// What was given.
        text: String,
        /// The noun.
        kind: &'static str,
        /// The prefix of its printed form.
        prefix: &'static str,
    },
    /// Above 2^53 - 1.
    #[error("{kind} id {number} is above 2^53 - 1, so no Mainstay made it")]
    TooLarge {
        /// The number read.
        number: u64,
        /// The noun.
        kind: &'static str,
    },
}

macro_rules! number_ids {
    ($($(#[$doc:meta])* $name:ident, $prefix:literal, $kind:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(u64);

        impl $name {
            /// Number `counter` of the fleet.
            #[must_use]
            pub const fn of(fleet: FleetNumber, counter: u32) -> Self {
                Self(((fleet.0 as u64) << 32) | counter as u64)
            }

            /// The first in order; nobody's, since counters begin at 1.
            pub const LOWEST: Self = Self(0);

            /// From the int64 that clients carry.
            ///
            /// # Errors
            /// [`IdError::TooLarge`] above 2^53 - 1.
            pub const fn from_number(number: u64) -> Result<Self, IdError> {
                if number > NUMBER_MAX {
                    return Err(IdError::TooLarge { number, kind: $kind });
                }
                Ok(Self(number))
            }

            /// The int64 that clients carry.
            #[must_use]
            pub const fn number(self) -> u64 {
                self.0
            }

            /// The fleet's number in its high half.
            #[must_use]
            pub const fn fleet(self) -> FleetNumber {
                FleetNumber((self.0 >> 32) as u32)
            }

            /// The counter in its low half.
            #[must_use]
            #[expect(clippy::cast_possible_truncation, reason = "the low half is what is asked for")]
            pub const fn counter(self) -> u32 {
                self.0 as u32
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "-{}-{}"), self.fleet().0, self.counter())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl FromStr for $name {
            type Err = IdError;

            fn from_str(text: &str) -> Result<Self, IdError> {
                let shape = || IdError::Shape { text: text.to_string(), kind: $kind, prefix: $prefix };
                match text.strip_prefix(concat!($prefix, "-")) {
                    None => Self::from_number(text.parse().map_err(|_: ParseIntError| shape())?),
                    Some(rest) => {
                        let (fleet, counter) = rest.split_once('-').ok_or_else(shape)?;
                        let fleet = fleet.parse().ok().and_then(FleetNumber::new).ok_or_else(shape)?;
                        Ok(Self::of(fleet, counter.parse().map_err(|_: ParseIntError| shape())?))
                    }
                }
            }
        }
    )*};
}

number_ids! {
    /// A server: the game-server process in one slot. The slot and its server share the id.
    ServerId, "srv", "server";
    /// A machine: a host (or a fleet region's share of one) that an agent answers for.
    MachineId, "mch", "machine";
    /// A build: the files a server runs from.
    BuildId, "bld", "build";
    /// A build configuration: how a build is started, queried and limited.
    BuildConfigurationId, "bcf", "build configuration";
}

macro_rules! uuid_ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub Uuid);

        impl $name {
            /// The first in order; nobody's.
            pub const LOWEST: Self = Self(Uuid::nil());
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }

        impl FromStr for $name {
            type Err = uuid::Error;

            fn from_str(text: &str) -> Result<Self, uuid::Error> {
                text.parse().map(Self)
            }
        }
    )*};
}

uuid_ids! {
    /// An allocation, as its caller named it: the idempotency key.
    AllocationId;
    /// A reservation, as the server that made it is told.
    ReservationId;
    /// What a server is taken for: an allocation or a reservation. Neither is ever used again.
    ClaimId;
    /// A fleet, as Multiplay's clients name it.
    FleetId;
    /// A region, as Multiplay's clients name it (`regionId`).
    RegionId;
    /// What a machine calls itself when it joins: made once by its agent, kept in the agent's data directory.
    MachineKey;
    /// A join token, by its public half.
    JoinTokenId;
    /// A ticket or a backfill ticket of a matchmaking queue, minted where it was asked for.
    TicketId;
    /// A match; made of the ticket it was formed around, its id and its moment.
    MatchId;
    /// A session of a lobby, minted where it was asked for, or made from the id of the match it is for.
    SessionId;
    /// One run of a host's kernel, from boot to boot (`/proc/sys/kernel/random/boot_id`): of two words from a machine with
    /// the same boot id no process of its can have been lost to a reboot in between.
    BootId;
}

impl From<AllocationId> for ClaimId {
    fn from(AllocationId(id): AllocationId) -> Self {
        Self(id)
    }
}

impl From<ReservationId> for ClaimId {
    fn from(ReservationId(id): ReservationId) -> Self {
        Self(id)
    }
}

impl MatchId {
    /// The match that is formed around a ticket. A ticket is matched at most once, so no two matches have one id; and a ticket whose
    /// id comes again, as an idempotency key's does once its ticket is forgotten, was made at another moment.
    #[must_use]
    pub const fn around(ticket: TicketId, made: Timestamp) -> Self {
        Self::held(ticket, made, 0)
    }

    /// What a group is held as that is found around a ticket and waits for a server, when the ticket has changed so often: it
    /// may be held more than once, each time with others. Every ticket counts its making as a change.
    #[must_use]
    pub const fn held(ticket: TicketId, made: Timestamp, changes: u32) -> Self {
        Self(mixed(ticket.0)).with(((made.unix_ms() as u128) << u32::BITS) | changes as u128)
    }

    /// What the group that is held as this is asked a server for, the n-th time. The match that is formed has that id, and so
    /// has its allocation.
    #[must_use]
    pub const fn asked(self, attempt: u32) -> Self {
        if attempt == 0 {
            return self;
        }
        self.with(attempt as u128)
    }

    const fn with(self, what: u128) -> Self {
        Self(mixed(Uuid::from_u128(self.0.as_u128() ^ what)))
    }
}

/// Since an odd multiplication can be undone, no two ids lead to the same.
const fn mixed(id: Uuid) -> Uuid {
    const ODD: u128 = 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835;
    let mixed = id.as_u128().wrapping_mul(ODD);
    Uuid::from_u128((mixed ^ (mixed >> 64)).wrapping_mul(ODD))
}

impl MachineKey {
    /// What a machine calls itself that a provider makes for a fleet: the control plane chooses it before the machine is
    /// there. Of one fleet's machines no two have the same, and [`MachineKey::made_for`] tells it from one that an agent
    /// drew by itself.
    #[must_use]
    pub const fn made(fleet: FleetId, machine: MachineId) -> Self {
        Self(Uuid::from_u128(fleet.0.as_u128() ^ machine.number() as u128))
    }

    /// The machine of a fleet that a provider was asked to make under this key; `None` for a key that an agent drew.
    #[must_use]
    pub fn made_for(self, fleet: FleetId, number: FleetNumber) -> Option<MachineId> {
        let machine = u64::try_from(self.0.as_u128() ^ fleet.0.as_u128()).ok()?;
        let machine = MachineId::from_number(machine).ok()?;
        (machine.fleet() == number && machine.counter() > 0).then_some(machine)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::format;

    #[test]
    fn both_forms_of_an_id_are_read() {
        let fleet = FleetNumber::new(3).unwrap();
        let id = ServerId::of(fleet, 7);
        assert_eq!(id.to_string(), "srv-3-7");
        for text in ["srv-3-7", "12884901895"] {
            assert_eq!(text.parse::<ServerId>(), Ok(id), "{text}");
        }
        assert_eq!((id.fleet(), id.counter(), id.number()), (fleet, 7, (3 << 32) | 7));
    }

    #[test]
    fn what_is_no_id_is_refused() {
        for text in
            ["", "srv-", "srv-3", "srv-3-", "mch-3-7", "srv-2097152-1", "-1", "srv-3-4294967296", "9x"]
        {
            assert!(text.parse::<ServerId>().is_err(), "{text}");
        }
        let large = format!("{}", 1_u64 << 53);
        assert!(matches!(large.parse::<ServerId>(), Err(IdError::TooLarge { .. })));
    }

    #[test]
    fn the_key_of_a_made_machine_says_which_it_is() {
        let (fleet, number) = (FleetId(Uuid::from_u128(0xf1_ee70 << 90)), FleetNumber::new(3).unwrap());
        let machine = MachineId::of(number, 7);
        let key = MachineKey::made(fleet, machine);
        assert_eq!(key.made_for(fleet, number), Some(machine));
        assert_eq!(key.made_for(FleetId(Uuid::from_u128(5)), number), None, "of another fleet");
        assert_eq!(key.made_for(fleet, FleetNumber::new(4).unwrap()), None, "of another number");
        assert_eq!(
            MachineKey(Uuid::from_u128(u128::MAX / 3)).made_for(fleet, number),
            None,
            "drawn by an agent"
        );
    }

    #[test]
    fn the_largest_fleet_keeps_ids_below_2_pow_53() {
        let last = FleetNumber::new(FleetNumber::LIMIT - 1).unwrap();
        assert_eq!(ServerId::of(last, u32::MAX).number(), NUMBER_MAX);
        assert_eq!(FleetNumber::new(FleetNumber::LIMIT), None);
    }
}
