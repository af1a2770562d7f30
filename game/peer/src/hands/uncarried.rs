//! What a game said over [`crate::link::Way::Stream`] and no link takes: the game hears how much of it, to whom, and why. What travels so is to
//! come through as long as the link stands; a message that is missing without a word is worse than a link that is gone.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use mainstay_migration::{MEMBERS_MAX, PeerId};

use crate::link::Obstacle;

/// How often a game is told: it can do nothing about it faster, and of sixty-three links each may be full.
const TELL_EVERY: Duration = Duration::from_secs(1);

/// Why something that a game said over [`crate::link::Way::Stream`] does not come to a peer ([`crate::Seat::say`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "not sent to {peer}: {count} more messages over a stream; of the first {first}. {mend} of what it missed [{code}]",
    mend = match self.first {
        Obstacle::NoLink => "It is linked again or leaves; once it is, give that player a fresh picture",
        Obstacle::Full(_) => "Say less at a time, and give that player a fresh picture",
    },
    code = Self::CODE
)]
pub struct NotCarried {
    /// To whom.
    pub peer: PeerId,
    /// How many messages, since the game was told so last.
    pub count: u64,
    /// What stood in the way of the first of them.
    pub first: Obstacle,
}

impl NotCarried {
    /// Its code.
    pub const CODE: &'static str = "MS-S247";
}

/// Those of one session since its game was told last.
#[derive(Debug, Default)]
pub(super) struct Uncarried {
    by_peer: BTreeMap<PeerId, NotCarried>,
    told: Option<Instant>,
}

impl Uncarried {
    /// One more. A game may speak to whoever it likes: of who are no members as many are told of as could be.
    pub(super) fn note(&mut self, peer: PeerId, obstacle: Obstacle) {
        if self.by_peer.len() < MEMBERS_MAX || self.by_peer.contains_key(&peer) {
            self.by_peer.entry(peer).or_insert(NotCarried { peer, count: 0, first: obstacle }).count += 1;
        }
    }

    /// What the game is to be told now.
    pub(super) fn take(&mut self, now: Instant) -> impl Iterator<Item = NotCarried> + use<> {
        let is_time = self.told.is_none_or(|told| now >= told + TELL_EVERY) && !self.by_peer.is_empty();
        let all = if is_time { core::mem::take(&mut self.by_peer) } else { BTreeMap::new() };
        if is_time {
            self.told = Some(now);
        }
        all.into_values()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::Load;

    #[test]
    fn a_game_is_told_once_a_second_how_much_of_it_to_whom_and_why() {
        let (one, other, began) = (PeerId(1), PeerId(2), Instant::now());
        let full = Obstacle::Full(Load { messages: 1_024, bytes: 70 });
        let mut uncarried = Uncarried::default();
        assert_eq!(uncarried.take(began).count(), 0);
        uncarried.note(one, full);
        uncarried.note(other, Obstacle::NoLink);
        uncarried.note(one, Obstacle::NoLink);
        let told: Vec<NotCarried> = uncarried.take(began).collect();
        let first = NotCarried { peer: one, count: 2, first: full };
        assert_eq!(told, [first, NotCarried { peer: other, count: 1, first: Obstacle::NoLink }]);
        let why = first.to_string();
        assert!(why.contains("2 more") && why.contains("1024 messages of 70 bytes"), "{why}");
        assert!(why.contains("Say less at a time") && why.ends_with("[MS-S247]"), "{why}");
        let why = NotCarried { first: Obstacle::NoLink, ..first }.to_string();
        assert!(why.contains("once it is, give that player") && !why.contains("Say less"), "{why}");
        uncarried.note(one, full);
        assert_eq!(uncarried.take(began + TELL_EVERY / 2).count(), 0, "it was told just now");
        assert_eq!(
            uncarried.take(began + TELL_EVERY).map(|why| why.count).sum::<u64>(),
            1,
            "and not forgotten"
        );
        (0..=MEMBERS_MAX).for_each(|peer| uncarried.note(PeerId(peer as u128), full));
        assert_eq!(uncarried.take(began + 2 * TELL_EVERY).count(), MEMBERS_MAX);
    }
}
