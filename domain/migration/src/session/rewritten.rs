//! What this peer's game was told of another past. Its host tells that with each of its beats; the game hears of it once, and once more where it goes on.

use alloc::collections::VecDeque;
use core::time::Duration;

use mainstay_core::Timestamp;

use crate::PeerId;
use crate::state::StateId;

/// How soon the same is told again: a hundred beats.
const AGAIN_AFTER: Duration = Duration::from_secs(10);
/// How many are remembered: with one beat a host tells two names. Of a host that tells others with each beat the game hears each time.
const TOLD_MAX: usize = 8;

/// Which host told what, and when the game heard of it.
#[derive(Debug, Clone, Default)]
pub(super) struct Rewritten {
    told: VecDeque<(Timestamp, PeerId, StateId)>,
}

impl Rewritten {
    /// Whether the game is to hear now that this host tells that.
    pub(super) fn is_news(&mut self, now: Timestamp, host: PeerId, told: StateId) -> bool {
        self.told.retain(|(at, ..)| now < *at + AGAIN_AFTER);
        if self.told.iter().any(|(_, by, it)| (*by, *it) == (host, told)) {
            return false;
        }
        if self.told.len() == TOLD_MAX {
            self.told.pop_front();
        }
        self.told.push_back((now, host, told));
        true
    }
}
