//! Who proves the hosts of a session, and what a session under a lobby and its lobby say to each other.
//!
//! The arbiter of a session is part of it from its beginning on and never changes: of two ways to the same epoch, two hosts
//! would come (decision 0053). What is asked here the hands carry to the lobby, and bring the answer; no answer is an answer,
//! too.

use alloc::vec::Vec;
use core::time::Duration;

use mainstay_core::Timestamp;

use crate::certificate::Certificate;
use crate::seal::Signature;
use crate::{Epoch, PeerId, SessionId};

/// How long the lobby lets a host be one without a renewal: `domain/lobby` has the same, and `adapters/wire` compares them.
pub const LOBBY_LEASE: Duration = Duration::from_secs(6);

/// Who proves who is host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Arbiter {
    /// The members themselves, more than half of them: a session without a server.
    Majority,
    /// The lobby that the session was made in: [`crate::Keys::is_of_lobby`] knows its key.
    Lobby,
}

/// What a lobby signs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Grant {
    /// Of which session.
    pub session: SessionId,
    /// Which epoch.
    pub epoch: Epoch,
    /// Its host.
    pub host: PeerId,
}

/// The longest name of a player in a pass, in bytes: `domain/lobby` has the same, and `adapters/wire` compares them.
pub const PASS_PLAYER_BYTES_MAX: usize = 128;

/// That a peer is a member of a session, as the session's lobby has signed it. Whoever wants in shows its own, over its own link:
/// nobody else can use it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Pass {
    /// Until when, by the lobby's clock.
    pub expires: Timestamp,
    /// Whose process it is, in at most [`PASS_PLAYER_BYTES_MAX`] bytes: signed with the rest, and not read by the rules.
    pub player: Vec<u8>,
    /// The lobby's, with what shows that the key it names is this peer's.
    pub signature: Signature,
}

/// What a lobby gave to a member when it let it in.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Admission {
    /// To be shown to other members.
    pub pass: Pass,
    /// What the lobby's clock said then: passes of others are measured by it.
    pub as_of: Timestamp,
    /// When that was by this peer's own clock, or before.
    pub at: Timestamp,
}

/// A host's word that it goes on, for members to bring to a lobby that it does not reach itself: signed by it, and worth a lease
/// from a moment of the lobby's clock on that it has heard of.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Renewal {
    /// By the lobby's clock.
    pub as_of: Timestamp,
    /// The host's: [`Renewal::words`].
    pub signature: Signature,
}

/// The lobby's word that it has counted a renewal which a member brought.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Receipt {
    /// As of when the renewal was.
    pub renewed: Timestamp,
    /// What the lobby's clock said as it was counted: later than its host had signed it.
    pub as_of: Timestamp,
    /// The lobby's.
    pub signature: Signature,
}

/// How soon a host renews its lease again, if the lobby answers: it is missed there after two renewals that do not come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// After 2 s: members that miss it tell the lobby so.
    Usual,
    /// After 0.5 s: it hears one member or none, who has nobody but the lobby to ask whether its host is gone.
    Quick,
}

/// What is asked of the lobby. Each is asked again until it is answered, or of no use any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Question {
    /// The host of this epoch goes on, and hears these.
    Renew {
        /// Its own.
        epoch: Epoch,
        /// When it says so again.
        pace: Pace,
        /// Members, itself not among them.
        hears: Vec<PeerId>,
    },
    /// The host of this epoch does not reach the lobby: this peer brings its renewal. Asked once: the host has it asked again.
    Bring {
        /// The host's.
        epoch: Epoch,
        /// What it signed.
        renewal: Renewal,
        /// Whom it hears.
        hears: Vec<PeerId>,
    },
    /// This peer misses the host of this epoch.
    Misses {
        /// The newest it knows.
        epoch: Epoch,
        /// How long ago it heard that host last as such; `None` where it never did. Of those who miss it whoever heard it last holds what it wrote.
        silent: Option<Duration>,
    },
    /// This peer would be host of the epoch after this one.
    Claim {
        /// The newest it knows.
        epoch: Epoch,
    },
    /// The host of this epoch wants another to be host of the one after it.
    HandOver {
        /// Its own.
        epoch: Epoch,
        /// Whom.
        to: PeerId,
    },
}

/// What the lobby answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ruling {
    /// It has taken note, and that epoch is the newest.
    Noted(Epoch),
    /// It has counted the renewal that was brought.
    Counted(Receipt),
    /// That one is the newest host: whoever asked, if its claim was granted.
    Host(Certificate),
    /// The host's lease stands.
    Stands,
    /// It makes nobody host whom the asker named: that one is no member, or has not said that it can be host.
    Unfit,
    /// Sessions of this lobby service do not move.
    Stays,
    /// The session is over, or this peer is thrown out of it.
    Over,
}
