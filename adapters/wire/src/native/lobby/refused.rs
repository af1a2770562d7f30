//! The codes of what a lobby refuses, as far as a peer obeys them: what the control plane writes and a peer reads is one word.

/// There is no such session.
pub const NOT_FOUND: &str = "MS-G001";
/// It is over.
pub const OVER: &str = "MS-G002";
/// The asker is no member, or no longer.
pub const NOT_MEMBER: &str = "MS-G005";
/// It was kicked, and does not come in again.
pub const KICKED: &str = "MS-G006";
/// Its player has come with another process.
pub const REPLACED: &str = "MS-G024";
/// Nobody new comes in.
pub const FULL: &str = "MS-G008";
/// The host's lease stands: it may be claimed later.
pub const LEASE_STANDS: &str = "MS-G011";
/// Who is to be host has not said that it can.
pub const UNSUITABLE: &str = "MS-G012";
/// The session does not move.
pub const NOT_MIGRATABLE: &str = "MS-G013";
/// It was asked too long ago.
pub const STALE: &str = "MS-G022";
/// Only the host may do this.
pub const NOT_HOST: &str = "MS-G014";
