//! What peers say to each other. Nearly all of it is a level that is said again with every beat, so that a lost, doubled or
//! late message does no harm; the rest is asked for again until it is answered.

use alloc::vec::Vec;

use mainstay_core::Timestamp;

use crate::ballot::{Claim, Refusal};
use crate::certificate::{Certificate, Vote};
use crate::hint::{Hint, HintList, HintVersion};
use crate::session::Cause;
use crate::view::{View, ViewId};
use crate::{ChannelId, Epoch, PeerId, SessionId, Stamp, Tick};

/// The longest state of a game, in bytes: what two standbys of a home uplink (5 Mbit/s) take in a second.
pub const STATE_BYTES_MAX: usize = 256 * 1024;

/// One message.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Message {
    /// Of which session: a link carries those of all that two peers share.
    pub session: SessionId,
    /// Whom its sender obeys.
    pub stamp: Stamp,
    /// What it says.
    pub body: Body,
}

/// What a message says.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Body {
    /// I live, and this is how things stand with me.
    Beat(Beat),
    /// Do you hear the host of this stamp?
    Ask,
    /// The answer.
    Answer(Hears),
    /// Make me host of that epoch.
    Claim(Claim),
    /// My vote.
    Vote(Vote),
    /// No.
    Refusal {
        /// The epoch of the claim.
        epoch: Epoch,
        /// Why not.
        why: Refusal,
    },
    /// How the present host came to be it, from the epoch on that the receiver stopped at, and its newest view.
    Announce {
        /// Oldest first.
        certificates: Vec<Certificate>,
        /// The newest view that the sender has.
        view: View,
        /// Why the session moved last, as the sender knows.
        cause: Cause,
    },
    /// The host's newest view. It is taken with a [`Body::Taken`], and repeated until then.
    View(View),
    /// I have taken it.
    Taken(ViewId),
    /// The host's newest list.
    Hints(HintList),
    /// The game as its host has it; to a standby, or to a new host that asked.
    State(State),
    /// Give me the state you hold.
    Pull,
    /// Let me in.
    Join(Hint),
    /// You are in, on that channel.
    Welcome(Welcome),
    /// I am not the host; ask this one.
    Redirect(PeerId),
    /// I go.
    Leave,
    /// You are not let in, or not any more.
    Refused(Closed),
}

/// Why somebody is not let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Closed {
    /// It was thrown out.
    Kicked,
    /// The session has [`crate::MEMBERS_MAX`] members.
    Full,
}

/// Whether a peer hears its host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Hears {
    /// It does.
    Yes,
    /// It has begun to miss it.
    No,
}

/// How things stand with a peer. Small: host and standbys exchange it with everybody ten times a second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Beat {
    /// When it was sent, by the sender's clock: it comes back as `echo`, and means nothing to anyone else.
    pub sent: Timestamp,
    /// The newest `sent` that came from the receiver.
    pub echo: Timestamp,
    /// What the sender is to others.
    pub leads: Leads,
    /// The newest view it has.
    pub view: ViewId,
    /// The newest list of hints it has.
    pub hints: HintVersion,
    /// What it tells of itself.
    pub hint: Hint,
    /// The highest epoch it has voted in.
    pub promised: Epoch,
    /// The newest state it holds for its host.
    pub holds: Tick,
}

/// What a peer is to others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Leads {
    /// It obeys a host.
    No,
    /// It has just become host and gathers state and members.
    Accedes,
    /// It is the host, and the game goes on.
    Yes(Side),
    /// It is the host, and another shall be.
    HandsOver {
        /// Who.
        to: PeerId,
        /// Why.
        why: Handover,
        /// How far the game got: the other goes on from there, and not from before.
        tick: Tick,
    },
}

/// What two hosts compare that meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Side {
    /// Whether a majority stands behind it.
    pub mandate: Standing,
    /// How many it leads, itself included.
    pub size: u8,
    /// How far its game is.
    pub tick: Tick,
}

/// Whether a host has its majority.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Standing {
    /// It goes on without, as the session's policy allows.
    Unconfirmed,
    /// It has heard one within its lease.
    Confirmed,
}

/// Why a host gives the session to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Handover {
    /// Before the game begins: the other is more suitable. The old host stays as a client.
    Lobby,
    /// It leaves.
    Leaves,
    /// Two sides of one session have met, and the other side's host goes on.
    Merge,
}

/// The game at one of its moments, in a form that only the game reads: at most [`STATE_BYTES_MAX`].
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct State {
    /// Which moment.
    pub tick: Tick,
    /// The game.
    pub bytes: Vec<u8>,
}

/// What a joiner needs to be a member like any other.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Welcome {
    /// The first host.
    pub founder: PeerId,
    /// Every host since.
    pub certificates: Vec<Certificate>,
    /// The view that names it.
    pub view: View,
    /// The hints as they are.
    pub hints: HintList,
    /// Its channel.
    pub channel: ChannelId,
}
