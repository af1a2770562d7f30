//! Whom this peer has met: whoever is no member any more may lead another side, or not know that it was put out, and is heard.
//! Nobody else is: a message of a stranger moves nothing, and costs no more than one answer.

use alloc::collections::VecDeque;

use mainstay_core::Timestamp;

use crate::message::Body;
use crate::session::{AGAIN, Leadership, Session};
use crate::view::MEMBERS_MAX;
use crate::{Guards, PeerId};

/// How many that are no members any more are remembered: a session that changed all of its players four times over knows the
/// newest of them.
const FORMER_MAX: usize = 4 * MEMBERS_MAX;

/// How many strangers are answered within [`AGAIN`]: as many as a peer has links (`game/peer`). Whoever is not says it again.
const ANSWERED_MAX: usize = 4 * MEMBERS_MAX;

/// Who was a member once, the newest last, and when each was told who is host; and which strangers were answered just now, the newest last.
#[derive(Debug, Clone, Default)]
pub(super) struct Former {
    members: VecDeque<(PeerId, Option<Timestamp>)>,
    answered: VecDeque<(PeerId, Wish, Timestamp)>,
}

/// What a stranger is answered for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wish {
    /// It obeys this host, or says so.
    Obeys,
    /// It asks to be let in.
    Enters,
}

impl Former {
    fn knows(&self, peer: PeerId) -> bool {
        self.place(peer).is_some()
    }

    /// How many are remembered, or were just answered.
    pub(super) fn kept(&self) -> usize {
        self.members.len().max(self.answered.len())
    }

    /// How long ago it left, beside others: whoever left later has a later place, and who was not met here an earlier one than all.
    pub(super) fn place(&self, peer: PeerId) -> Option<usize> {
        self.members.iter().position(|(former, _)| *former == peer)
    }

    pub(super) fn remember(&mut self, peer: PeerId) {
        let told = self.place(peer).and_then(|at| self.members.remove(at)).and_then(|(_, told)| told);
        if self.members.len() >= FORMER_MAX {
            self.members.pop_front();
        }
        self.members.push_back((peer, told));
    }

    /// Whether a stranger is to be answered: not again at once, whatever it says and however often.
    fn may_answer(&mut self, now: Timestamp, stranger: PeerId, wish: Wish) -> bool {
        while self.answered.front().is_some_and(|(.., at)| now >= *at + AGAIN) {
            self.answered.pop_front();
        }
        let may = self.answered.len() < ANSWERED_MAX
            && self.answered.iter().all(|(it, its, _)| (*it, *its) != (stranger, wish));
        if may {
            self.answered.push_back((stranger, wish, now));
        }
        may
    }

    /// Whether it is to be told who is host, and was not just now: who is host of a large session is a long story.
    fn may_tell(&mut self, now: Timestamp, peer: PeerId) -> bool {
        let Some((_, told)) = self.members.iter_mut().find(|(former, _)| *former == peer) else {
            return false;
        };
        let may = told.is_none_or(|told| now >= told + AGAIN);
        if may {
            *told = Some(now);
        }
        may
    }
}

impl<G: Guards> Session<G> {
    /// Whether it is, or was, somebody of this session as far as this peer knows, or was found by its hands.
    #[must_use]
    pub fn has_met(&self, peer: PeerId) -> bool {
        self.contacts.contains_key(&peer) || self.former.knows(peer) || self.ballot.was_host(peer)
    }

    /// Whether this peer speaks with it: a member, or somebody of another side that it has met.
    #[must_use]
    pub fn speaks_with(&self, peer: PeerId) -> bool {
        self.contacts.contains_key(&peer)
    }

    /// Whether somebody who is no member any more is to be told how things stand. Who was host before this peer came is known by its certificate alone: it is
    /// heard, and remembered from then on.
    pub(super) fn may_inform(&mut self, now: Timestamp, peer: PeerId) -> bool {
        if !self.former.knows(peer) && self.ballot.was_host(peer) {
            self.former.remember(peer);
        }
        self.former.may_tell(now, peer)
    }

    /// Somebody that this peer never met. It may have come in on another side, and obey this host since that one does: then it asks
    /// to be let in on this one.
    pub(super) fn turn_away(&mut self, now: Timestamp, from: PeerId, body: &Body) {
        let asks = matches!((&self.leadership, body), (Leadership::Reigns(_), Body::Beat(_)));
        if asks && self.may_ask(now, from, Wish::Obeys) {
            let me = self.me();
            self.send(from, Body::Redirect(me));
        }
    }

    /// Whether somebody is answered: whoever was met each time, a stranger not again at once.
    pub(super) fn may_ask(&mut self, now: Timestamp, from: PeerId, wish: Wish) -> bool {
        self.has_met(from) || self.former.may_answer(now, from, wish)
    }

    /// Whether that is to be read. Whoever was never met may ask to be let in, and tell who is host: that proves itself.
    pub(super) fn is_heard(&self, from: PeerId, body: &Body) -> bool {
        match body {
            Body::Join { .. } | Body::Present { .. } | Body::Announce(_) => true,
            Body::Beat(_)
            | Body::Ask
            | Body::Answer(_)
            | Body::Claim(_)
            | Body::Vote(_)
            | Body::Refusal { .. }
            | Body::View(_)
            | Body::Taken(_)
            | Body::Roster(_)
            | Body::Hints(_)
            | Body::State(_)
            | Body::Holds(_)
            | Body::Pull(_)
            | Body::Play { .. }
            | Body::Welcome(_)
            | Body::Redirect(_)
            | Body::Leave
            | Body::Refused(_)
            | Body::Bring { .. }
            | Body::Counted(_) => self.has_met(from),
        }
    }
}
