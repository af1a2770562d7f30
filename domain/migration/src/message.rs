//! What peers say to each other. Nearly all of it is a level that is said again with every beat, so that a lost, doubled or
//! late message does no harm; the rest is asked for again until it is answered.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;

use mainstay_core::Timestamp;

use crate::ballot::{Claim, Refusal, Root};
use crate::certificate::{Certificate, Vote};
use crate::descent::Descent;
use crate::hint::{Hint, HintList, HintVersion};
use crate::lobby::{Pass, Receipt, Renewal};
use crate::order::OrderName;
use crate::session::Cause;
use crate::state::{Excerpt, StateId};
use crate::terms::Terms;
use crate::view::{Roster, View, ViewId};
use crate::{ChannelId, Epoch, PeerId, SessionId, Stamp};

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
    /// How the present host came to be it, from the epoch on that the receiver stopped at. Whoever obeys it then tells in its beat
    /// that it lacks the [`Body::Roster`]: everybody waits for this, and for that nobody.
    Announce(Announcement),
    /// The host's newest view. It is taken with a [`Body::Taken`], and repeated until then.
    View(View),
    /// I have taken it.
    Taken(ViewId),
    /// Who plays; repeated to whoever's beat tells of an older one.
    Roster(Roster),
    /// The host's newest list.
    Hints(HintList),
    /// Parts of the game as its host has it, in order; to a standby, or to a new host that asked.
    State(Excerpt),
    /// So far I hold the state: said at once, so that nobody waits for a beat.
    Holds(StateId),
    /// Give me the state you hold, if it is not this one.
    Pull(StateId),
    /// What the game of a member does, to its host; again until a beat of the host's tells that it has come.
    Play {
        /// The oldest that the member keeps: what lies before it, and has not come, will not come any more.
        oldest: u64,
        /// Its number among that member's.
        number: u64,
        /// In a form that only the game reads.
        bytes: Vec<u8>,
    },
    /// Let me in: to a session without a lobby.
    Join {
        /// What it tells of itself.
        hint: Hint,
        /// Its game's own order: where the session has a game's, it has to be that one.
        order: OrderName,
    },
    /// Let me in, as the lobby of this session has.
    Present {
        /// What the lobby gave it.
        pass: Pass,
        /// As in [`Body::Join`].
        order: OrderName,
    },
    /// You are in, on that channel.
    Welcome(Box<Welcome>),
    /// I am not the host; ask this one.
    Redirect(PeerId),
    /// I go.
    Leave,
    /// You are not let in, or not any more.
    Refused(Closed),
    /// The host does not reach its lobby: bring it this.
    Bring {
        /// Its word that it goes on.
        renewal: Renewal,
        /// Whom it hears.
        hears: Vec<PeerId>,
    },
    /// I have brought it, and the lobby has counted it.
    Counted(Receipt),
}

/// Who is host, and what proves it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Announcement {
    /// Oldest first.
    pub certificates: Vec<Certificate>,
    /// The newest view that the sender has.
    pub view: View,
    /// Why the session moved last, as the sender knows.
    pub cause: Cause,
}

/// Why somebody is not let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Closed {
    /// It was thrown out.
    Kicked,
    /// The session has as many members as it was made for, or [`crate::MEMBERS_MAX`]; or has thrown out as many as it can remember.
    Full,
    /// The session is a lobby's, and no pass was shown that its lobby has signed for this peer.
    NoPass,
    /// The pass has run out: the lobby gives a new one to whoever joins again.
    PassExpired,
    /// The session lets nobody in who was never a member.
    ToNewcomers,
    /// Hosts of the session are chosen by an order of the game's own that this peer's game does not have.
    OtherOrder,
    /// Its player is here with another process, as the lobby knows.
    Replaced,
}

/// In words, for people.
impl fmt::Display for Closed {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(match self {
            Self::Kicked => "this player was thrown out",
            Self::Full => "it is full",
            Self::NoPass => "it is a lobby's, which has signed no pass for this player",
            Self::PassExpired => {
                "this player's pass has run out: its lobby gives a new one to whoever joins again"
            }
            Self::ToNewcomers => "it lets no newcomers in",
            Self::OtherOrder => "its hosts are chosen by an order that this player's game does not have",
            Self::Replaced => "this player is in it with another process",
        })
    }
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
    /// The newest list of who plays that it has.
    pub roster: u32,
    /// The newest state it holds for its host.
    pub holds: Descent,
    /// Of a host: the last input of the receiver that is safe, for a new host would have it too.
    pub applied: u64,
    /// Of a host: the last input of the receiver that has come, with all before it.
    pub taken: u64,
}

/// What a peer is to others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Leads {
    /// It obeys that host, or did until it lost it: of two sides of one number this tells which it is on.
    Obeys(PeerId),
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
        /// The game's last state: the other goes on from there, and not from before.
        state: StateId,
        /// In which epoch it shall be: where members decide, whoever hears this votes without being asked.
        epoch: Epoch,
    },
}

impl Leads {
    /// Whom somebody obeys who says this.
    #[must_use]
    pub const fn host(&self, from: PeerId) -> PeerId {
        match self {
            Self::Obeys(host) => *host,
            Self::Accedes | Self::Yes(_) | Self::HandsOver { .. } => from,
        }
    }
}

/// What two hosts compare that meet, and what a host's members watch: see [`crate::Output::Rewritten`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Side {
    /// Whether a majority stands behind it.
    pub mandate: Standing,
    /// How many it leads, itself included.
    pub size: u8,
    /// How far its game is.
    pub state: StateId,
    /// From where this host went on.
    pub opened: StateId,
    /// Its channel.
    pub channel: ChannelId,
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

/// What a joiner needs to be a member. It plays from now on, and votes once the view names it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Welcome {
    /// What the session was made with.
    pub terms: Terms,
    /// A host that it has to believe.
    pub root: Root,
    /// Every host since.
    pub certificates: Vec<Certificate>,
    /// The newest view.
    pub view: View,
    /// Who plays: it names the joiner.
    pub roster: Roster,
    /// The hints as they are.
    pub hints: HintList,
    /// Its channel.
    pub channel: ChannelId,
    /// Its last input that the host knows of, where it was here before: the next one is the one after.
    pub inputs: u64,
}
