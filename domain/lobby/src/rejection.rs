//! Why not.

use core::time::Duration;

use mainstay_core::{SessionId, Timestamp};

use crate::id::{Epoch, PeerKey, Service};
use crate::limits::{CLAIM_LIFE, KICKED_MAX, SESSIONS_MAX, STORED_BYTES_MAX};
use crate::session::{Ending, Grant};
use crate::settings::Unfit;

/// Why not.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Rejection {
    /// No session of that id.
    #[error("there is no session {0}, or it ended some time ago")]
    NotFound(SessionId),
    /// It has ended.
    #[error("session {session} has ended: {ending}")]
    Over {
        /// Which.
        session: SessionId,
        /// Why.
        ending: Ending,
    },
    /// The id belongs to a session of others.
    #[error("session {0} was made by somebody else")]
    Taken(SessionId),
    /// The key under which it is asked for was used before, for something else.
    #[error("this key has made session {0}, which was asked for otherwise")]
    KeyReused(SessionId),
    /// It cannot be made so.
    #[error(transparent)]
    Unfit(#[from] Unfit),
    /// Too many sessions.
    #[error("there are {SESSIONS_MAX} sessions, as many as there can be")]
    TooMany,
    /// Too much is stored.
    #[error("sessions take {bytes} bytes in all, at most {STORED_BYTES_MAX}")]
    NoRoom {
        /// How many there would be.
        bytes: usize,
    },
    /// Nobody of that key is a member.
    #[error("peer {0} is no member of the session")]
    NotMember(PeerKey),
    /// It was thrown out.
    #[error("the player, or its process, was kicked out of the session, and does not come back")]
    Kicked,
    /// Its player is here with another process.
    #[error("the player has come with another process, which is the member by now")]
    Replaced,
    /// The key is another player's.
    #[error("the key belongs to another player's process")]
    KeyTaken,
    /// No seat is free.
    #[error("all {size} seats are taken")]
    Full {
        /// How many there are.
        size: u32,
    },
    /// So many were thrown out that nobody new is let in.
    #[error("{KICKED_MAX} were kicked out of the session: it takes nobody new any more")]
    TooManyKicked,
    /// It takes nobody new.
    #[error("the session takes nobody new")]
    Closed,
    /// It is on its way to another host: ask again.
    #[error("the session has no host at the moment; epoch {epoch} was the last")]
    Moving {
        /// The newest epoch.
        epoch: Epoch,
        /// When to ask again.
        again: Duration,
    },
    /// Another epoch is the newest.
    #[error("epoch {expected} is not the newest: {found} is")]
    Passed {
        /// Which was thought to be.
        expected: Epoch,
        /// Which is.
        found: Epoch,
        /// Its host, where it has one.
        grant: Option<Grant>,
    },
    /// The host's lease stands.
    #[error("the host's lease stands, and {reports} members miss it, of {needed} that are needed")]
    LeaseStands {
        /// Until when, as far as is known.
        until: Timestamp,
        /// How long that is.
        again: Duration,
        /// How many miss the host.
        reports: usize,
        /// How many would have to.
        needed: usize,
    },
    /// The host's lease stands, and the session is one that waits for its end.
    #[error("the host's lease stands for {} ms more, and a strict session waits for its end, whoever misses it", again.as_millis())]
    LeaseToEnd {
        /// Until when, as far as is known.
        until: Timestamp,
        /// How long that is.
        again: Duration,
    },
    /// Others who miss the host heard it later than who asks.
    #[error("members that heard the host later come first, for {} ms more at most: they hold what it wrote", again.as_millis())]
    OthersFirst {
        /// Until when, as far as is known.
        until: Timestamp,
        /// How long that is.
        again: Duration,
    },
    /// It may not be host.
    #[error("peer {0} has not said that it can be host of this session")]
    Unsuitable(PeerKey),
    /// The session does not move.
    #[error("the session was not made to migrate")]
    NotMigratable,
    /// Its service's sessions do not move.
    #[error("lobby service {0} does not support host migration")]
    Unsupported(Service),
    /// It was asked too long ago.
    #[error("it was asked {} ms ago, and counts for {}", age.as_millis(), CLAIM_LIFE.as_millis())]
    Stale {
        /// How long ago.
        age: Duration,
    },
    /// Who asks is not the host.
    #[error("peer {0} is not the host")]
    NotHost(PeerKey),
    /// There will be no more epochs.
    #[error("the session has had as many hosts as can be counted")]
    LastEpoch,
}

impl core::fmt::Display for Ending {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::Closed => "it was closed",
            Self::Empty => "nobody was left",
            Self::HostLost => "its host was lost, and it does not migrate",
            Self::Withdrawn => "its match was not wanted any more",
        })
    }
}
