//! What is asked of a lobby, what it comes to, and what it is told that nobody journals.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use mainstay_core::{SessionId, Timestamp};

use crate::id::{Epoch, PeerKey, Player, Service};
use crate::limits::{RENEW_EVERY, RENEW_QUICKLY_EVERY, RENEWALS_MISSED};
use crate::session::{CanBeHost, Phase, Session};
use crate::settings::{Joining, Searchable, Settings, Support};
use crate::tally::Cause;

/// Who wants to be a member. That the key is its own, and the player is who it says, the hands have made sure of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Joiner {
    /// Its key.
    pub peer: PeerKey,
    /// Whose process it is.
    pub player: Player,
    /// Whether it may become host.
    pub can_be_host: CanBeHost,
    /// How others reach it.
    pub addresses: Vec<Arc<str>>,
}

/// By what right something is done to a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Authority {
    /// As the host of an epoch: one that was followed by another is refused.
    Host {
        /// Who.
        peer: PeerKey,
        /// The epoch it believes to be host of.
        epoch: Epoch,
    },
    /// As the studio.
    Studio,
}

/// What a host changes of its session; `None` stays.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Update {
    /// Its name.
    pub name: Option<Arc<str>>,
    /// Whether it is found.
    pub searchable: Option<Searchable>,
    /// Whether newcomers are let in.
    pub joining: Option<Joining>,
    /// How far it is.
    pub phase: Option<Phase>,
    /// Attributes by name: what they become, or `None` where they go.
    pub attributes: Vec<(Arc<str>, Option<Arc<str>>)>,
}

/// What is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Whether sessions of a service move, from now on.
    Configure {
        /// Which service.
        service: Service,
        /// Whether.
        migration: Support,
    },
    /// A session whose first host is whoever asks.
    Create {
        /// Its id, chosen by the hands: a repeat finds the session.
        session: SessionId,
        /// Of which service.
        service: Service,
        /// What it is made with.
        settings: Settings,
        /// Its first member.
        by: Joiner,
    },
    /// A session for the players of a match, who come later; the first of them that can is its host.
    Reserve {
        /// Its id, derived from the match: a repeat is a no-op.
        session: SessionId,
        /// Of which service.
        service: Service,
        /// What it is made with.
        settings: Settings,
        /// For whom.
        players: Vec<Player>,
    },
    /// The undo of [`Command::Reserve`]; one that comes before it leaves word that it did.
    Withdraw {
        /// Which.
        session: SessionId,
    },
    /// Somebody comes in, or comes again.
    Join {
        /// Where.
        session: SessionId,
        /// Who.
        by: Joiner,
    },
    /// A member says of itself what has changed.
    Introduce {
        /// Where.
        session: SessionId,
        /// Who.
        peer: PeerKey,
        /// Whether it may become host.
        can_be_host: CanBeHost,
        /// How others reach it.
        addresses: Vec<Arc<str>>,
    },
    /// A member leaves.
    Leave {
        /// What.
        session: SessionId,
        /// Who.
        peer: PeerKey,
    },
    /// A member is thrown out, and never comes back.
    Kick {
        /// Out of what.
        session: SessionId,
        /// Who.
        peer: PeerKey,
        /// By whom.
        by: Authority,
    },
    /// A member would be host of the epoch after the one it knows.
    Claim {
        /// Of what.
        session: SessionId,
        /// The newest epoch it knows; [`Epoch::NONE`] where nobody has been host.
        expected: Epoch,
        /// Who.
        by: PeerKey,
        /// When whoever asks wanted that, by the lobby's clock; `None`: just now.
        as_of: Option<Timestamp>,
    },
    /// The host makes another member host of the next epoch.
    HandOver {
        /// Of what.
        session: SessionId,
        /// Its own epoch.
        expected: Epoch,
        /// The host.
        by: PeerKey,
        /// The next.
        to: PeerKey,
        /// When whoever asks wanted that, by the lobby's clock; `None`: just now.
        as_of: Option<Timestamp>,
    },
    /// The host changes what its session is like.
    Update {
        /// Which.
        session: SessionId,
        /// By whom.
        by: Authority,
        /// How.
        update: Update,
    },
    /// The session ends.
    End {
        /// Which.
        session: SessionId,
        /// By whom.
        by: Authority,
    },
    /// A moment has come at which something is over by itself.
    Due,
}

/// What a command came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// It is so now.
    Done,
    /// The session as it is now.
    Session(Arc<Session>),
}

/// A renewal of a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Renewal {
    /// The host itself asks, and means to do so again.
    Now(Pace),
    /// Another brings what the host signed when it knew of this moment of the lobby's clock: it counts from then.
    AsOf(Timestamp),
}

/// How soon a host renews its lease again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Pace {
    /// After [`RENEW_EVERY`].
    #[default]
    Usual,
    /// After [`RENEW_QUICKLY_EVERY`]: whoever waits for the lobby to miss it waits a second, not four.
    Quick,
}

impl Pace {
    /// After how long.
    #[must_use]
    pub const fn every(self) -> Duration {
        match self {
            Self::Usual => RENEW_EVERY,
            Self::Quick => RENEW_QUICKLY_EVERY,
        }
    }

    /// For how long it may be silent and is not missed.
    #[must_use]
    pub const fn patience(self) -> Duration {
        self.every().saturating_mul(RENEWALS_MISSED)
    }
}

/// What a lobby is told that nobody journals.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Observation {
    /// Leases and silence count from now on, where they do not yet.
    Listening,
    /// Something was heard of these members, by themselves or by their host.
    Heard {
        /// Of which session.
        session: SessionId,
        /// Whom.
        peers: Vec<PeerKey>,
    },
    /// The host of an epoch goes on.
    Renewed {
        /// Of which session.
        session: SessionId,
        /// Which.
        epoch: Epoch,
        /// Who says so.
        host: PeerKey,
        /// How.
        renewal: Renewal,
        /// Which members it hears, as far as the renewal counts: then they were heard as of the same moment.
        hears: Vec<PeerKey>,
    },
    /// A member says whether it misses the host of an epoch.
    Misses {
        /// Of which session.
        session: SessionId,
        /// Which.
        epoch: Epoch,
        /// Who says so.
        peer: PeerKey,
        /// Whether.
        misses: Misses,
    },
    /// A session got another host, in this turn.
    Moved {
        /// Which.
        session: SessionId,
        /// Why.
        cause: Cause,
    },
    /// Everything soft is gone.
    Forgotten,
}

/// Whether a member misses its host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Misses {
    /// It does not hear it.
    Yes {
        /// How long ago it heard it last as host of that epoch; `None`: it never did, or does not say.
        silent: Option<Duration>,
    },
    /// It hears it.
    No,
}

/// Of what a lobby tells others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Target {
    /// A session: whoever watches it.
    Session(SessionId),
}

/// What a deadline of a lobby is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// Nobody has begun to count silence.
    Listen,
    /// A member is silent for too long.
    Silence,
    /// Seats are given up.
    Seats,
}
