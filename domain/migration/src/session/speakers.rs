//! Whose words of the game count: the present host's. And what the same host said under an earlier stamp, or those before, where each of them gave the session
//! away by itself: it was said by whoever was the host, and was only longer under way than the word that somebody else is.
//!
//! Of a host that was replaced nothing counts, whatever it says and whenever it said it (I2).

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use crate::session::Session;
use crate::session::reign::Reign;
use crate::session::words::Cause;
use crate::{Guard, Guards, PeerId, Stamp};

/// Of how many hosts in a row that gave the session away what they said still counts. Giving it away takes a round trip; a message that is lost takes three more, and one
/// that is lost again six.
const GIVERS_MAX: usize = 8;

/// A host, as long as its stamp stays the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Speaker {
    pub(super) host: PeerId,
    pub(super) stamp: Stamp,
}

#[derive(Debug, Clone)]
pub(super) struct Speakers {
    present: Speaker,
    /// Each gave the session to the next, the last one to the present host.
    givers: VecDeque<Speaker>,
    /// Who would, if the last of them had given it to the present host, too.
    unheard: VecDeque<Speaker>,
    /// While this peer is on a side: whose words counted as it parted, the host last. The session was taken from nobody by that.
    parted: VecDeque<Speaker>,
}

impl Speakers {
    pub(super) const fn beginning(present: Speaker) -> Self {
        Self { present, givers: VecDeque::new(), unheard: VecDeque::new(), parted: VecDeque::new() }
    }

    fn pass_to(&mut self, next: Speaker, passage: Passage) {
        if next == self.present {
            return;
        }
        self.givers.push_back(self.present);
        self.forget_the_oldest();
        if is_of_side(next) && !is_of_side(self.present) {
            self.parted = self.givers.clone();
        }
        if next.host != self.present.host {
            self.unheard.clear();
        }
        match passage {
            Passage::Given => {}
            Passage::Unheard => self.unheard.append(&mut self.givers),
            Passage::Unknown => self.givers.clear(),
        }
        if !is_of_side(next) {
            let parted = core::mem::take(&mut self.parted);
            if passage != Passage::Unknown && parted.back().is_some_and(|host| host.host == next.host) {
                (self.givers, self.unheard) = (parted, VecDeque::new());
            }
        }
        self.present = next;
    }

    /// The present host was given the session, and this peer missed that.
    fn hear_of_gift(&mut self) {
        self.unheard.append(&mut self.givers);
        core::mem::swap(&mut self.unheard, &mut self.givers);
        self.forget_the_oldest();
    }

    fn forget_the_oldest(&mut self) {
        while self.givers.len() > GIVERS_MAX {
            self.givers.pop_front();
        }
    }
}

/// Whether nobody has certified it.
const fn is_of_side(speaker: Speaker) -> bool {
    speaker.stamp.fork > 0
}

/// How the session comes from one host to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Passage {
    /// It was given, or both are the same.
    Given,
    /// It was not, as far as this peer knows; the next host knows better.
    Unheard,
    /// Of those in between this peer knows nothing.
    Unknown,
}

/// Whether the host before has given the session away.
const fn is_gift(cause: Cause) -> bool {
    match cause {
        Cause::Lobby | Cause::Controlled => true,
        Cause::Catastrophic | Cause::Fenced | Cause::Merge => false,
    }
}

impl<G: Guards> Session<G> {
    /// Somebody is host from now on, or is so under another stamp than the one that is returned. Of who was host in between, which this peer never heard, its
    /// certificates tell; how the session came to those, and from them to the present one, they do not.
    pub(super) fn pass_word(&mut self, cause: Cause) -> Stamp {
        let Speaker { host: mut last, stamp: before } = self.speakers.present;
        let next = Speaker { host: self.leader(), stamp: self.stamp() };
        let certified = self.ballot.certificates_after(before.epoch);
        // A lobby counts its epochs, and its newest certificate stands for all; members leave numbers out that nobody was certified for.
        let is_whole =
            !self.has_lobby() || certified.first().is_none_or(|first| first.epoch == before.epoch.next());
        let speakers = certified
            .iter()
            .map(|it| Speaker { host: it.host, stamp: Stamp::certified(it.epoch) })
            .filter(|speaker| *speaker != next)
            .chain([next]);
        let line: Vec<Speaker> = speakers.collect();
        let moves = line.iter().filter(|it| core::mem::replace(&mut last, it.host) != it.host).count();
        for speaker in line {
            let is_same = speaker.host == self.speakers.present.host;
            let passage = match (is_whole, moves) {
                (false, _) => Passage::Unknown,
                (true, _) if is_same => Passage::Given,
                (true, ..=1) if is_gift(cause) => Passage::Given,
                (true, _) => Passage::Unheard,
            };
            self.speakers.pass_to(speaker, passage);
        }
        before
    }

    /// Somebody tells how the session came to the present host. Where that one itself says that it was given it, this peer missed the word of the one before: its
    /// line was silent just then.
    pub(super) fn hear_how(&mut self, from: PeerId, cause: Cause) {
        if from == self.speakers.present.host && is_gift(cause) {
            self.speakers.hear_of_gift();
        }
    }

    /// As host: another is about to be, and goes on from the state that this one's game gave last. What members say from now on is that one's.
    #[must_use]
    pub fn hands_over(&self) -> bool {
        self.reigning().is_some_and(Reign::hands_over)
    }

    /// Whether a message of the game that carries this stamp is to be applied: it is the present host's, and no older
    /// one's. This is the fence; the hands ask it for every message of the game.
    #[must_use]
    pub fn is_of_host(&self, from: PeerId, stamp: Stamp) -> bool {
        self.is_said_by(self.speakers.present, from, stamp)
    }

    /// The same of what is to come through, such as an event: those before may have said it, where they gave the session away. How things stand
    /// the present one alone says.
    #[must_use]
    pub fn is_word_of_host(&self, from: PeerId, stamp: Stamp) -> bool {
        let Speakers { present, givers, unheard: _, parted: _ } = &self.speakers;
        givers.iter().chain([present]).any(|speaker| self.is_said_by(*speaker, from, stamp))
    }

    fn is_said_by(&self, speaker: Speaker, from: PeerId, stamp: Stamp) -> bool {
        from == speaker.host && (stamp == speaker.stamp || !G::stands(Guard::Epoch)) && !self.is_over()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Epoch;

    const fn host(peer: u128, epoch: u32) -> Speaker {
        Speaker { host: PeerId(peer), stamp: Stamp::certified(Epoch(epoch)) }
    }

    /// What a present host says of how it became that concerns the host before it, and those who gave the session to that one.
    #[test]
    fn a_gift_that_was_not_heard_of_counts_from_when_the_next_host_tells_of_it() {
        let mut speakers = Speakers::beginning(host(1, 1));
        speakers.pass_to(host(2, 2), Passage::Given);
        speakers.pass_to(host(3, 3), Passage::Unheard);
        assert_eq!(speakers.givers, []);
        speakers.pass_to(host(3, 4), Passage::Given);
        assert_eq!(speakers.givers, [host(3, 3)], "certified anew");
        speakers.hear_of_gift();
        assert_eq!(speakers.givers, [host(1, 1), host(2, 2), host(3, 3)]);
        speakers.hear_of_gift();
        assert_eq!(speakers.givers.len(), 3, "it is said to each more than once");
    }

    /// Who was cut off and went on alone for a moment comes back to the host that it parted from: what that one said meanwhile is under way.
    #[test]
    fn a_host_that_this_peer_comes_back_to_from_a_side_was_not_replaced() {
        let side = |peer, fork| Speaker { host: PeerId(peer), stamp: Stamp { epoch: Epoch(2), fork } };
        let away = |last: Speaker, passage| {
            let mut speakers = Speakers::beginning(host(1, 1));
            speakers.pass_to(host(2, 2), Passage::Given);
            speakers.pass_to(side(3, 1), Passage::Unheard);
            speakers.pass_to(side(4, 2), Passage::Unheard);
            speakers.pass_to(last, passage);
            speakers
        };
        assert_eq!(away(host(2, 3), Passage::Unheard).givers, [host(1, 1), host(2, 2)]);
        assert_eq!(away(host(5, 3), Passage::Unheard).givers, [], "replaced");
        assert_eq!(away(host(2, 5), Passage::Unknown).givers, [], "who knows who was in between");
        let mut replaced = away(host(5, 3), Passage::Unheard);
        replaced.pass_to(host(2, 4), Passage::Unheard);
        assert_eq!(replaced.givers, []);
    }

    /// I2: of a host that was replaced nothing counts, however the session moved after that.
    #[test]
    fn a_host_that_was_replaced_counts_no_more_whatever_the_one_after_the_next_tells() {
        let mut speakers = Speakers::beginning(host(1, 1));
        speakers.pass_to(host(2, 2), Passage::Unheard);
        speakers.pass_to(host(3, 3), Passage::Unheard);
        speakers.hear_of_gift();
        assert_eq!(speakers.givers, [host(2, 2)]);
        speakers.pass_to(host(4, 6), Passage::Unknown);
        speakers.hear_of_gift();
        assert_eq!(speakers.givers, []);
    }
}
