//! Every limit of a lobby, each with its reason.

use core::time::Duration;

/// How often a host renews its lease (ARCHITECTURE.md section 6).
pub const RENEW_EVERY: Duration = Duration::from_secs(2);
/// How often one does that hears one member or none: nobody but the lobby could tell the other that it is gone.
pub const RENEW_QUICKLY_EVERY: Duration = Duration::from_millis(500);
/// How long a lease lasts from its last renewal: three renewals, so that two may be lost.
pub const LEASE: Duration = Duration::from_secs(6);
/// A host that has left out so many renewals counts as one that misses itself (reference, section 5.3 A).
pub(crate) const RENEWALS_MISSED: u32 = 2;
/// How old a claim or a handover may be that is granted: twice what one call may take.
pub const CLAIM_LIFE: Duration = Duration::from_secs(3);
/// How long a member's word counts that it misses the host: members that miss it say so with every beat.
pub const REPORT_LIFE: Duration = Duration::from_secs(4);
/// How much later than another a member has to have heard its host to come before it: of those who hear the same host none misses ten of its beats.
pub(crate) const LATER: Duration = Duration::from_secs(1);
/// How long after a renewal did not come whoever was with the host has to say that it misses it: it does after 0.8 s, and says so every second.
pub(crate) const SAY_SO: Duration = Duration::from_secs(2);
/// A member of whom nothing was heard for so long, neither by itself nor by its host, is lost. It may come again.
pub const SILENCE: Duration = Duration::from_secs(30);
/// How long seats that a match filled are kept for players who have not come.
pub const SEATS_KEPT: Duration = Duration::from_secs(120);
/// How long it is told of a session that it ended, and how.
pub const ENDED_KEPT: Duration = Duration::from_secs(600);
/// Of how many at most.
pub const ENDED_MAX: usize = 10_000;

/// The most members of a session: `domain/migration` and CRYENGINE's lobby end there too.
pub const MEMBERS_MAX: u32 = 64;
/// The most sessions of a slice. One of eight members takes some 3 KB and a beat every two seconds.
pub const SESSIONS_MAX: usize = 50_000;
/// All that is stored, in bytes: it lies in memory. Twice what that many sessions take.
pub const STORED_BYTES_MAX: usize = 512 << 20;
/// The most that are kicked out of a session and remembered; then nobody new comes in.
pub const KICKED_MAX: usize = 256;
/// How many players that were members of a session are remembered, the latest: as many as it may have kicked.
pub const FORMER_MAX: usize = 256;
/// Longest name of a session.
pub const NAME_CHARS_MAX: usize = 64;
/// The most attributes of a session.
pub const ATTRIBUTES_MAX: usize = 16;
/// Longest name of an attribute.
pub const ATTRIBUTE_NAME_MAX: usize = 64;
/// Longest value of an attribute, in bytes.
pub const ATTRIBUTE_VALUE_MAX: usize = 256;
/// The most addresses of a peer: two of each kind of network it is in, and its relay's.
pub const ADDRESSES_MAX: usize = 8;
/// Longest of them: an IPv6 address with zone and port, or a host name.
pub const ADDRESS_BYTES_MAX: usize = 128;
/// Longest name of a player: an entity's type and id.
pub const PLAYER_BYTES_MAX: usize = 128;
/// How many sessions one search looks at: turns wait meanwhile.
pub(crate) const LOOKS_MAX: usize = 10_000;
/// How many members are lost, and seats given up, in one turn.
pub(crate) const DUE_MAX: usize = 512;
