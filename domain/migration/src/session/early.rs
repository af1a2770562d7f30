//! What a host sent and overtook what comes before it: each part of a state goes on a stream of its own, and one that is lost is there a round trip or two later
//! than those after it. Without them its standby would lack them all, and would be sent them anew: of sixty-four players forty packets, of which some are lost
//! again.

use alloc::collections::VecDeque;

use crate::state::{Excerpt, STATE_BYTES_MAX, State};
use crate::{PeerId, Stamp};

/// How many excerpts wait: a second and a half of a game with twenty ticks. More are sent anew.
const EXCERPTS_MAX: usize = 32;

/// What waits for what comes before it.
#[derive(Debug, Clone, Default)]
pub(super) struct Early {
    /// Whose it is.
    of: Option<(PeerId, Stamp)>,
    excerpts: VecDeque<Excerpt>,
}

impl Early {
    /// Keeps what that host sent. What another did is of no use any more; of too much the oldest goes, and all together is no longer than a state.
    pub(super) fn keep(&mut self, host: PeerId, stamp: Stamp, sent: &Excerpt) {
        if self.of != Some((host, stamp)) {
            *self = Self { of: Some((host, stamp)), excerpts: VecDeque::new() };
        }
        self.excerpts.push_back(sent.clone());
        while self.excerpts.len() > EXCERPTS_MAX || self.bytes() > STATE_BYTES_MAX {
            self.excerpts.pop_front();
        }
    }

    /// The next that follows on what is held of that host's.
    pub(super) fn next(&mut self, host: PeerId, stamp: Stamp, held: &State) -> Option<Excerpt> {
        let newest = held.id();
        let is_its = self.of == Some((host, stamp));
        self.excerpts.retain(|it| is_its && it.parts.last().is_some_and(|last| last.id > newest));
        let follows = |it: &Excerpt| it.parts.first().is_some_and(|first| first.previous == newest.hash);
        let at = self.excerpts.iter().position(follows)?;
        self.excerpts.remove(at)
    }

    fn bytes(&self) -> usize {
        self.excerpts.iter().flat_map(|it| &it.parts).map(|part| part.bytes.len()).sum()
    }
}
