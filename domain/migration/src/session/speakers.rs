//! Whose words of the game count: the present host's. And what the same host said under an earlier stamp, or those before, where each of them gave the session
//! away by itself: it was said by whoever was the host, and was only longer under way than the word that somebody else is.
//!
//! Of a host that was replaced nothing counts, whatever it says and whenever it said it (I2).

use alloc::collections::VecDeque;

use crate::session::reign::{Phase, Reign};
use crate::session::words::Cause;
use crate::session::{Leadership, Session};
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
}

impl Speakers {
    pub(super) const fn beginning(present: Speaker) -> Self {
        Self { present, givers: VecDeque::new() }
    }

    fn pass_to(&mut self, next: Speaker, cause: Cause) {
        if next == self.present {
            return;
        }
        let is_given = match cause {
            Cause::Lobby | Cause::Controlled => true,
            Cause::Catastrophic | Cause::Fenced | Cause::Merge => next.host == self.present.host,
        };
        if is_given {
            self.givers.push_back(self.present);
        } else {
            self.givers.clear();
        }
        if self.givers.len() > GIVERS_MAX {
            self.givers.pop_front();
        }
        self.present = next;
    }
}

impl<G: Guards> Session<G> {
    /// Somebody is host from now on, or is so under another stamp than the one that is returned.
    pub(super) fn pass_word(&mut self, cause: Cause) -> Stamp {
        let before = self.speakers.present.stamp;
        let next = Speaker { host: self.leader(), stamp: self.stamp() };
        // Somebody was host in between that this peer never heard.
        let direct = self.ballot.certificates_after(before.epoch).len() <= 1;
        self.speakers.pass_to(next, if direct { cause } else { Cause::Catastrophic });
        before
    }

    /// As host: another is about to be, and goes on from the state that this one's game gave last. What members say from now on is that one's.
    #[must_use]
    pub fn hands_over(&self) -> bool {
        matches!(&self.leadership, Leadership::Reigns(Reign { phase: Phase::HandingOver { .. }, .. }))
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
        let Speakers { present, givers } = &self.speakers;
        givers.iter().chain([present]).any(|speaker| self.is_said_by(*speaker, from, stamp))
    }

    fn is_said_by(&self, speaker: Speaker, from: PeerId, stamp: Stamp) -> bool {
        from == speaker.host && (stamp == speaker.stamp || !G::stands(Guard::Epoch)) && !self.is_over()
    }
}
