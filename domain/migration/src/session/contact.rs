//! What is known of another member: how its link beats, whom it obeys, what it holds, and whether it has gone.

use mainstay_core::Timestamp;

use crate::certificate::Vote;
use crate::descent::Descent;
use crate::message::{Beat, Body, Handover, Hears, Leads, Message};
use crate::rhythm::{Rhythm, SUSPECT_MIN};
use crate::state::StateId;
use crate::{PeerId, Stamp};

/// Another member.
#[derive(Debug, Clone)]
pub(super) struct Contact {
    pub(super) rhythm: Rhythm,
    /// The newest `sent` of its beats, which goes back to it.
    pub(super) echo: Timestamp,
    /// The newest `sent` of ours that came back.
    pub(super) echoed: Option<Timestamp>,
    /// The newest of those while it obeyed this peer as its host.
    pub(super) backed: Option<Timestamp>,
    /// Whom it obeys.
    pub(super) stamp: Stamp,
    pub(super) beat: Option<Beat>,
    /// The newest state that it holds, as it last told.
    pub(super) holds: Descent,
    /// Whom it obeyed then.
    pub(super) told: Stamp,
    /// Which host that was: sides of one number have one each.
    pub(super) obeys: Option<PeerId>,
    /// Since when it says that it obeys another, where it is this peer's host.
    pub(super) stepped_down: Option<Timestamp>,
    /// When it last sent this peer to another host, which it obeys.
    pub(super) sent_on: Option<Timestamp>,
    /// Which state it holds while that is not the newest, and since when.
    pub(super) lacks: Option<(StateId, Timestamp)>,
    /// Whether it hears the host, as it last told, and when.
    pub(super) hears: Option<(Timestamp, Hears)>,
    /// Its vote for this peer, where it came before this peer asks for any: the host has named it to them both.
    pub(super) early: Option<Vote>,
    /// When the present host was announced to it last.
    pub(super) announced: Option<Timestamp>,
    /// When it was given lists, where the session is large.
    pub(super) listed: Option<Timestamp>,
    /// Until when a state that it asked for is on its way to it.
    pub(super) supplied: Option<Timestamp>,
    /// Until when its welcome is.
    pub(super) welcomed: Option<Timestamp>,
    pub(super) presence: Presence,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Presence {
    Here,
    /// Its link broke. Whatever comes shows that it is here.
    Gone,
    /// It has said that it goes, then. What it said before may come after, so only its asking to be let in shows that it is here,
    /// or that something comes when nothing can be on its way any more.
    Left(Timestamp),
}

impl Contact {
    pub(super) fn new(now: Timestamp, stamp: Stamp) -> Self {
        Self {
            rhythm: Rhythm::starting(now),
            echo: Timestamp::EPOCH,
            echoed: None,
            backed: None,
            stamp,
            beat: None,
            holds: Descent::NONE,
            told: Stamp::NOBODY,
            obeys: None,
            stepped_down: None,
            sent_on: None,
            lacks: None,
            hears: None,
            early: None,
            announced: None,
            listed: None,
            supplied: None,
            welcomed: None,
            presence: Presence::Here,
        }
    }

    /// Something came from it.
    pub(super) fn hear(&mut self, now: Timestamp, message: &Message) {
        let is_late = match self.presence {
            Presence::Here | Presence::Gone => false,
            Presence::Left(at) => {
                now.since(at) < SUSPECT_MIN
                    && !matches!(message.body, Body::Join { .. } | Body::Present { .. })
            }
        };
        if !is_late {
            self.presence = Presence::Here;
            self.rhythm.hear(now);
            self.stamp = message.stamp;
        }
    }

    /// What was on its way to it is lost.
    pub(super) fn lose_link(&mut self) {
        self.announced = None;
        self.supplied = None;
        self.welcomed = None;
    }

    pub(super) fn is_gone(&self) -> bool {
        self.presence != Presence::Here
    }

    /// It has said so.
    pub(super) fn has_left(&self) -> bool {
        matches!(self.presence, Presence::Left(_))
    }

    /// Whether it is a host that has said last that this one shall be host instead.
    pub(super) fn gives_session_to(&self, successor: PeerId) -> bool {
        let leads = self.beat.map(|beat| beat.leads);
        match leads {
            Some(Leads::HandsOver { to, why: Handover::Lobby | Handover::Leaves, .. }) => to == successor,
            Some(
                Leads::HandsOver { why: Handover::Merge, .. }
                | Leads::Yes(_)
                | Leads::Accedes
                | Leads::Obeys(_),
            )
            | None => false,
        }
    }

    pub(super) fn is_lost(&self, now: Timestamp) -> bool {
        self.is_gone() || self.rhythm.is_suspect(now)
    }

    pub(super) fn is_doubtful(&self, now: Timestamp) -> bool {
        self.is_gone() || self.rhythm.is_doubtful(now)
    }
}
