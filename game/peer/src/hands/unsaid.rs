//! What a host's game has said and its members are not told yet, for that has to be held by others first (the session's `Level`).
//! It is told as soon as it is held, in its order; or when this peer gives the session away, for its successor goes on from that state. It is thrown
//! away where another has replaced it: whether it happened the next host's state says, and that host tells it.

use std::collections::VecDeque;

use mainstay_migration::StateId;

use crate::link::Way;
use crate::seat::To;

/// Why something that a host's game said is told to nobody: more would wait than may ([`crate::Seat::say`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "told to nobody: {count} more that were said while {messages} messages of {bytes} bytes waited until others hold the state that they \
     follow on; at most {UNSAID_MAX} and {UNSAID_BYTES_MAX} wait, so say less until Event::Durable tells that it is held [{code}]",
    code = Self::CODE
)]
pub struct NotSaid {
    /// How much was said and will not be told, since the game was told so last.
    pub count: u64,
    /// How many messages waited when the first of them was refused.
    pub messages: usize,
    /// How many bytes those had.
    pub bytes: usize,
}

impl NotSaid {
    /// Its code.
    pub const CODE: &'static str = "MS-S230";
}

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
    /// What the game is to be told of it.
    refused: Option<NotSaid>,
}

impl Unsaid {
    /// Keeps one back. Where more would wait than may, it is thrown away and counted.
    pub(super) fn keep(&mut self, saying: Saying) {
        let (messages, bytes) = (self.waiting.len(), self.bytes);
        if messages >= UNSAID_MAX || bytes + saying.bytes.len() > UNSAID_BYTES_MAX {
            self.refused.get_or_insert(NotSaid { count: 0, messages, bytes }).count += 1;
            return;
        }
        self.bytes += saying.bytes.len();
        self.waiting.push_back(saying);
    }

    /// What was refused since this was asked last.
    pub(super) fn take_refused(&mut self) -> Option<NotSaid> {
        self.refused.take()
    }

    /// The next, if what it waits for is held.
    pub(super) fn next(&mut self, is_held: impl FnOnce(StateId) -> bool) -> Option<Saying> {
        let saying = self.waiting.pop_front_if(|saying| is_held(saying.after))?;
        self.bytes -= saying.bytes.len();
        Some(saying)
    }

    pub(super) fn forget(&mut self) {
        *self = Self { refused: self.refused, ..Self::default() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn saying(bytes: usize) -> Saying {
        Saying { after: StateId::NONE, to: To::Members, way: Way::Stream, bytes: vec![0; bytes] }
    }

    #[test]
    fn no_more_waits_than_may_and_what_is_refused_is_counted() {
        let mut unsaid = Unsaid::default();
        (0..UNSAID_MAX).for_each(|_| unsaid.keep(saying(1)));
        assert_eq!(unsaid.take_refused(), None);
        unsaid.keep(saying(0));
        unsaid.keep(saying(7));
        let refused = NotSaid { count: 2, messages: UNSAID_MAX, bytes: UNSAID_MAX };
        assert_eq!((unsaid.take_refused(), unsaid.take_refused()), (Some(refused), None), "once");
        assert!(
            refused.to_string().contains("2 more") && refused.to_string().ends_with("[MS-S230]"),
            "{refused}"
        );
        assert!(unsaid.next(|_| false).is_none());
        assert_eq!(std::iter::from_fn(|| unsaid.next(|_| true)).count(), UNSAID_MAX);
        unsaid.keep(saying(UNSAID_BYTES_MAX));
        unsaid.keep(saying(1));
        unsaid.forget();
        unsaid.keep(saying(UNSAID_BYTES_MAX));
        let refused = NotSaid { count: 1, messages: 1, bytes: UNSAID_BYTES_MAX };
        assert_eq!(unsaid.take_refused(), Some(refused), "what was thrown away takes no room");
    }
}
