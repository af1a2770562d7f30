//! What waits for the game: a queue that the hands fill and the game's own thread empties, whenever it likes to.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use mainstay_migration::{Call, Moving, Said};

use crate::{Event, Over};

/// How many messages of the game wait: a second of the largest session's. Of more the oldest are dropped: whoever does not
/// read for a second wants the newest.
const MESSAGES_MAX: usize = 64 * 20;
/// How many other things wait. There are few of them: a game that lets so many lie has hung.
const OTHERS_MAX: usize = 4_096;

/// What a game is to be told.
#[derive(Debug)]
pub(crate) enum Mail {
    Event(Event),
    Call(Call, Moving),
    /// What a member says to this host, over a stream.
    Word(Said),
}

/// Whether there was room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Room {
    Yes,
    No,
}

#[derive(Debug, Default)]
pub(crate) struct Mailbox {
    queue: Mutex<Queue>,
    filled: Condvar,
}

#[derive(Debug, Default)]
struct Queue {
    mail: VecDeque<Mail>,
    messages: usize,
    reads: Reads,
}

/// What the game reads.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Reads {
    #[default]
    All,
    /// It has given its last state, and no word that it has not read is in that.
    NoWords,
}

const fn is_message(mail: &Mail) -> bool {
    matches!(mail, Mail::Word(_) | Mail::Event(Event::FromHost { .. } | Event::FromMember { .. }))
}

impl Mailbox {
    pub(crate) fn put(&self, mail: Mail) -> Room {
        let mut queue = self.lock();
        if is_message(&mail) {
            if queue.messages >= MESSAGES_MAX
                && let Some(oldest) = queue.mail.iter().position(is_message)
            {
                queue.mail.remove(oldest);
                queue.messages -= 1;
            }
            queue.messages += 1;
        } else if queue.mail.len() - queue.messages >= OTHERS_MAX {
            return Room::No;
        }
        queue.mail.push_back(mail);
        drop(queue);
        self.filled.notify_one();
        Room::Yes
    }

    /// The last that the game is told, whatever it has not read.
    pub(crate) fn close(&self, over: Over) {
        self.lock().mail.push_back(Mail::Event(Event::Over(over)));
        self.filled.notify_one();
    }

    /// The next, waiting for it until then.
    pub(crate) fn take(&self, until: Instant) -> Option<Mail> {
        let mut queue = self.lock();
        loop {
            let next = match queue.reads {
                Reads::All => Some(0),
                Reads::NoWords => queue.mail.iter().position(|mail| !matches!(mail, Mail::Word(_))),
            };
            if let Some(mail) = next.and_then(|next| queue.mail.remove(next)) {
                queue.messages -= usize::from(is_message(&mail));
                return Some(mail);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left == Duration::ZERO {
                return None;
            }
            queue = self.filled.wait_timeout(queue, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// The game is about to give its last state: it reads no word any more until [`Self::take_words`] was asked for.
    pub(crate) fn keep_words(&self) {
        self.lock().reads = Reads::NoWords;
    }

    /// What it has not read of its members' words, for the next host or to be read after all.
    pub(crate) fn take_words(&self) -> Vec<Said> {
        let mut queue = self.lock();
        queue.reads = Reads::All;
        let mut words = Vec::new();
        for mail in std::mem::take(&mut queue.mail) {
            match mail {
                Mail::Word(said) => words.push(said),
                Mail::Event(_) | Mail::Call(..) => queue.mail.push_back(mail),
            }
        }
        queue.messages -= words.len();
        words
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mainstay_migration::{PeerId, StateId, Tick};

    fn message(number: u8) -> Mail {
        Mail::Event(Event::FromMember { peer: PeerId(1), bytes: vec![number] })
    }

    fn state(tick: u64) -> StateId {
        StateId { tick: Tick(tick), ..StateId::NONE }
    }

    #[test]
    fn of_too_many_messages_the_oldest_go_and_nothing_else() {
        let mailbox = Mailbox::default();
        assert_eq!(mailbox.put(Mail::Event(Event::Durable(state(1)))), Room::Yes);
        for number in 0..=MESSAGES_MAX {
            assert_eq!(mailbox.put(message(u8::try_from(number % 256).unwrap())), Room::Yes);
        }
        let now = Instant::now();
        assert!(matches!(mailbox.take(now), Some(Mail::Event(Event::Durable(_)))));
        let Some(Mail::Event(Event::FromMember { bytes, .. })) = mailbox.take(now) else {
            panic!("a message")
        };
        assert_eq!(bytes, [1], "the first one was dropped");
        let left = std::iter::from_fn(|| mailbox.take(now)).count();
        assert_eq!(left, MESSAGES_MAX - 1);
    }

    #[test]
    fn a_game_that_hangs_is_noticed() {
        let mailbox = Mailbox::default();
        for tick in 0..OTHERS_MAX {
            let durable = Event::Durable(state(u64::try_from(tick).unwrap()));
            assert_eq!(mailbox.put(Mail::Event(durable)), Room::Yes);
        }
        assert_eq!(mailbox.put(Mail::Event(Event::Durable(state(0)))), Room::No);
        assert_eq!(mailbox.put(message(1)), Room::Yes, "messages have room of their own");
    }
}
