//! How much one peer keeps of its session. There is a limit to each part of it, whatever others say and however often.

use crate::Guards;
use crate::session::{Leadership, Session};

/// How long the lists of a session are, for laws and pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Kept {
    /// The longest list of peers: who is met, linked or guessed at, who plays or was thrown out, who did how much.
    pub peers: usize,
    /// Whom it remembers that are no members any more, processes that were replaced, or strangers whom it has just answered.
    pub former: usize,
    /// Hosts of the past and their certificates.
    pub hosts: usize,
    /// Names of states, and parts of the one that it holds.
    pub states: usize,
    /// What its own game did and no state that is safe holds.
    pub inputs: usize,
    /// What others did, on its way into the game of a host.
    pub deeds: usize,
    /// Bytes of the game: of the state that it holds and of the one that its side branched off from, of its own inputs and of others'.
    pub bytes: usize,
    /// Listeners.
    pub listeners: usize,
}

impl<G: Guards> Session<G> {
    /// How much it keeps now.
    #[must_use]
    pub fn kept(&self) -> Kept {
        let roster = &self.roster;
        let (deeds, deed_bytes, doers) = self.reigning().map_or((0, 0, 0), |reign| reign.intake.kept());
        let (inputs, input_bytes) = self.inputs.kept();
        let of_host = self.reigning().map_or(0, |reign| {
            let sets = [&reign.remove, &reign.joining, &reign.connected].map(|peers| peers.len());
            let asked = [reign.gathering.kept(), reign.contests.len(), doers];
            sets.into_iter().chain(asked).max().unwrap_or_default()
        });
        let passed = match &self.leadership {
            Leadership::Vacant(vacancy) => vacancy.passed.len(),
            Leadership::Follows
            | Leadership::Doubts(_)
            | Leadership::Reigns(_)
            | Leadership::Outside { .. }
            | Leadership::Over => 0,
        };
        let peers = [
            self.contacts.len(),
            self.guests.len(),
            self.linked.len(),
            self.hints.entries.len(),
            self.lost.len(),
            self.applied.len(),
            self.safe.len(),
            roster.members.len(),
            roster.kicked.len(),
            roster.actors.len(),
            self.view().members.len(),
            passed,
            of_host,
        ];
        let safe = self.reigning().map_or(0, |reign| reign.safe_inputs.len());
        Kept {
            peers: peers.into_iter().max().unwrap_or_default(),
            former: self.former.kept().max(self.replaced.len()),
            hosts: self.ballot.kept().max(self.heads.kept()),
            states: self
                .names
                .kept()
                .max(safe)
                .max(self.held.parts().len())
                .max(self.certified.parts().len()),
            inputs,
            deeds,
            bytes: self.held.bytes() + self.certified.bytes() + input_bytes + deed_bytes,
            listeners: self.listeners.len(),
        }
    }
}
