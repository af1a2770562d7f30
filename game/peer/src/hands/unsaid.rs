//! What a host's game has said and its members are not told yet, for that has to be held by others first (the session's `Level`).
//! It is told as soon as it is held, in its order; and thrown away where this peer is host no more before: whether it happened the
//! next host's state says, and that host tells it.

use std::collections::VecDeque;

use mainstay_migration::StateId;

use crate::link::Way;
use crate::seat::To;

/// How many bytes wait at most: of a session of 64, at 20 Hz, those of two seconds, in which whoever holds a state answers or is lost.
pub(crate) const UNSAID_BYTES_MAX: usize = 4 * 1024 * 1024;
/// How many messages wait at most: a hundred a tick of those two seconds.
pub(crate) const UNSAID_MAX: usize = 4_096;

/// One message.
#[derive(Debug)]
pub(super) struct Saying {
    pub(super) after: StateId,
    pub(super) to: To,
    pub(super) way: Way,
    pub(super) bytes: Vec<u8>,
}

/// Those of one session.
#[derive(Debug, Default)]
pub(super) struct Unsaid {
    waiting: VecDeque<Saying>,
    bytes: usize,
}

impl Unsaid {
    /// Keeps one back. Where more wait than may, it gives it back.
    pub(super) fn keep(&mut self, saying: Saying) -> Result<(), Saying> {
        if self.waiting.len() >= UNSAID_MAX || self.bytes + saying.bytes.len() > UNSAID_BYTES_MAX {
            return Err(saying);
        }
        self.bytes += saying.bytes.len();
        self.waiting.push_back(saying);
        Ok(())
    }

    /// The next, if what it waits for is held.
    pub(super) fn next(&mut self, is_held: impl FnOnce(StateId) -> bool) -> Option<Saying> {
        let saying = self.waiting.pop_front_if(|saying| is_held(saying.after))?;
        self.bytes -= saying.bytes.len();
        Some(saying)
    }

    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn saying(bytes: usize) -> Saying {
        Saying { after: StateId::NONE, to: To::Members, way: Way::Stream, bytes: vec![0; bytes] }
    }

    #[test]
    fn no_more_waits_than_may() {
        let mut unsaid = Unsaid::default();
        assert!((0..UNSAID_MAX).all(|_| unsaid.keep(saying(1)).is_ok()));
        assert!(unsaid.keep(saying(0)).is_err());
        assert!(unsaid.next(|_| false).is_none());
        while unsaid.next(|_| true).is_some() {}
        assert!(unsaid.keep(saying(UNSAID_BYTES_MAX)).is_ok());
        assert!(unsaid.keep(saying(1)).is_err());
        unsaid.forget();
        assert!(unsaid.keep(saying(UNSAID_BYTES_MAX)).is_ok(), "what was thrown away takes no room");
    }
}
