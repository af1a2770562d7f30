//! Who speaks to whom while the host is missed.
//!
//! In a small session everybody speaks to everybody. Sixty-four that do so every 200 ms send 20,000 messages a second, which
//! nobody gets through in time: votes came after more than a second, whoever had asked for them was passed over, and where that
//! fed itself a session found no host at all. So in large ones the few who may come next, the *front*, speak to everybody, and
//! everybody else to them each time and to each other in turn: whoever decides something hears all, and all hear whoever decides.

use alloc::vec::Vec;
use core::time::Duration;

use mainstay_core::Timestamp;

use crate::session::vacancy::Quorum;
use crate::session::{AGAIN, Contact, Leadership, Session};
use crate::{Guard, Guards, PeerId};

/// How many of the order may come next, as far as anybody prepares for it: the standbys, and two more if those died with their
/// host.
const FRONT: usize = 4;
/// How many of the others hear from one that is not of the front at a time.
const TURN: usize = 8;
/// How long a peer that speaks each time may say nothing and still be one to wait for.
const ANSWER_PATIENCE: Duration = Duration::from_millis(500);
/// For how long whom the last host had put out leaves its members the session: as long as they take to miss that host, to give a lobby up that answers nobody, and to gather.
const PUT_OUT_PATIENCE: Duration = Duration::from_secs(4);

/// How far a peer has got with speaking to everybody.
#[derive(Debug, Clone, Copy)]
pub(super) struct Round {
    spoken: Timestamp,
    /// Whose turn it was last.
    last: Option<PeerId>,
}

impl Round {
    pub(super) const fn beginning(now: Timestamp) -> Self {
        Self { spoken: now, last: None }
    }

    pub(super) fn is_due(&self, now: Timestamp) -> bool {
        now >= self.spoken + AGAIN
    }
}

impl<G: Guards> Session<G> {
    /// Whom this peer speaks to now, and how far it has got then.
    pub(super) fn circle(&self, now: Timestamp, round: Round) -> (Vec<PeerId>, Round) {
        let round = Round { spoken: now, ..round };
        let everybody = self.contacts.keys().copied();
        if self.is_small() {
            return (everybody.collect(), round);
        }
        let front: Vec<PeerId> = self.front(now).take(FRONT).collect();
        if front.contains(&self.me()) {
            return (everybody.collect(), round);
        }
        let rest: Vec<PeerId> = everybody.filter(|peer| !front.contains(peer)).collect();
        // The first turn is of the next in line after oneself, or all would begin with the same.
        let last = round.last.unwrap_or_else(|| self.me());
        let begin = rest.partition_point(|peer| *peer <= last);
        let turn: Vec<PeerId> = rest[begin..].iter().chain(&rest[..begin]).take(TURN).copied().collect();
        let last = turn.last().copied();
        let met = front.into_iter().filter(|peer| self.contacts.contains_key(peer)).chain(turn).collect();
        (met, Round { last, ..round })
    }

    /// Who may come next, the best first: whoever is neither given up, nor passed over, nor silent.
    pub(super) fn front(&self, now: Timestamp) -> impl Iterator<Item = PeerId> {
        let heard = match &self.leadership {
            Leadership::Vacant(vacancy) if now >= vacancy.since + ANSWER_PATIENCE => {
                let nearest = self.candidates(|peer| self.is_passed_over(peer)).take(FRONT);
                Some(nearest.collect::<Vec<PeerId>>())
            }
            // Until then nobody had anything to say to most.
            Leadership::Vacant(_)
            | Leadership::Follows
            | Leadership::Doubts(_)
            | Leadership::Reigns(_)
            | Leadership::Outside { .. }
            | Leadership::Over => None,
        };
        let is_silent = move |peer: PeerId, nearest: &[PeerId]| {
            let patience = self.answer_patience(peer, nearest);
            let contact = self.contacts.get(&peer);
            G::stands(Guard::Silence)
                && peer != self.me()
                && contact.is_some_and(|contact| contact.rhythm.silence(now) > patience)
        };
        let is_early = self.is_early(now);
        let rest = self.stands_in().then(|| self.me()).filter(|me| !is_early && !self.is_passed_over(*me));
        self.candidates(move |peer| {
            is_early && peer == self.me()
                || self.is_passed_over(peer)
                || heard.as_ref().is_some_and(|nearest| is_silent(peer, nearest))
        })
        .chain(rest)
    }

    /// Whether this peer comes last, for in its list it does not play: it was put out while it was away, came to the next host by that one's certificate, and
    /// lost it before it was told its list. A lobby that answers knows who is a member.
    fn stands_in(&self) -> bool {
        let me = self.me();
        let is_in = self.roster.members.contains_key(&me) || self.roster.kicked.contains(&me);
        let asks_lobby =
            matches!(&self.leadership, Leadership::Vacant(vacancy) if vacancy.quorum == Quorum::Majority);
        self.has_lobby() && asks_lobby && !is_in
    }

    /// Whether this peer leaves others their turn, though it may hear none of them: the host that is gone had put it out, and told it no list of its own. What that one wrote its members
    /// hold, and none of them speaks to this peer before it has come to them.
    fn is_early(&self, now: Timestamp) -> bool {
        let is_told = self.roster.stamp.epoch >= self.ballot.epoch();
        let has_waited = match &self.leadership {
            Leadership::Vacant(vacancy) => now >= vacancy.since + PUT_OUT_PATIENCE,
            Leadership::Follows
            | Leadership::Doubts(_)
            | Leadership::Reigns(_)
            | Leadership::Outside { .. }
            | Leadership::Over => true,
        };
        self.has_lobby() && !self.is_voter(self.me()) && !is_told && !has_waited
    }

    /// Whether this peer and another may both come next.
    pub(super) fn is_of_front(&self, now: Timestamp, other: PeerId) -> bool {
        let (mut me, mut it) = (false, false);
        for peer in self.front(now).take(FRONT) {
            (me, it) = (me | (peer == self.me()), it | (peer == other));
        }
        me && it
    }

    /// Whether somebody's turn is over, or never comes.
    fn is_passed_over(&self, peer: PeerId) -> bool {
        let has_passed = match &self.leadership {
            Leadership::Vacant(vacancy) => vacancy.passed.contains(&peer),
            Leadership::Follows
            | Leadership::Doubts(_)
            | Leadership::Reigns(_)
            | Leadership::Outside { .. }
            | Leadership::Over => false,
        };
        if peer == self.me() {
            return has_passed || G::stands(Guard::Suitability) && !self.reports_can_be_host();
        }
        let has_left = self.contacts.get(&peer).is_none_or(Contact::has_left);
        let is_out = peer == self.leader() || self.lost.contains(&peer) || has_left;
        has_passed && G::stands(Guard::Turns) || is_out && G::stands(Guard::Exclusion)
    }

    /// After how long a silence a peer is not waited for: whoever is not of the front is heard once a round.
    fn answer_patience(&self, peer: PeerId, front: &[PeerId]) -> Duration {
        if front.contains(&peer) || self.is_small() {
            return ANSWER_PATIENCE;
        }
        let turns = self.contacts.len().div_ceil(TURN);
        ANSWER_PATIENCE + AGAIN * u32::try_from(turns).unwrap_or(u32::MAX)
    }
}
