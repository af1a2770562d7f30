//! What members say to their host, each word once, whoever that is: what a host that gave the session away has not given its game any more, its members
//! say to the next one.
//!
//! A member numbers what it says, and keeps it for as long as a session is given away ([`Speech`]). Whoever was host says how much of it its game was
//! given ([`Given`]); the rest goes to whom the member obeys by then. A host's game is given nothing from the moment that its last state is made, for no state would
//! hold what it does with it ([`Audience`]). Of a host that dies nobody knows what it took, and what was under way to it is lost with it; what must
//! not be are inputs ([`crate::Input::Play`]).

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;
use core::time::Duration;

use mainstay_core::Timestamp;

use crate::view::Roster;
use crate::{PeerId, Stamp};

/// How many words of one member may be under way: two hundred a second for the five that they are kept.
pub const WORDS_MAX: usize = 1_024;
/// How many bytes a member keeps at most: two of the longest packets, as a link does.
pub const WORDS_BYTES_MAX: usize = 2 * (1 << 20);
/// How long a member keeps a word: its host takes two seconds at most to give the session away, and has two more for its last words.
const KEPT_FOR: Duration = Duration::from_secs(5);
/// Numbers are kept track of in groups of so many.
const GROUP: u64 = u64::BITS as u64;
/// How many groups there are.
pub const GROUPS: usize = WORDS_MAX / GROUP as usize;

/// Which of a member's words its host's game was given, of the newest [`WORDS_MAX`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Given {
    /// The highest number that was taken; 0 where none was.
    pub newest: u64,
    /// One bit for each number, at the number's place in a ring of [`WORDS_MAX`].
    pub groups: [u64; GROUPS],
}

impl Given {
    /// Notes one. `false` where it was taken before, or is too old for anybody to know.
    pub fn take(&mut self, number: u64) -> bool {
        if number == 0 || self.is_given(number) || self.is_old(number) {
            return false;
        }
        // The places of what comes between are those of much older ones.
        let skipped = number.saturating_sub(self.newest).min(WORDS_MAX as u64);
        for between in number.saturating_sub(skipped) + 1..=number {
            self.clear(between);
        }
        if let Some((group, bit)) = self.place(number) {
            *group |= bit;
        }
        self.newest = self.newest.max(number);
        true
    }

    /// Its game was not given that one after all.
    pub fn give_back(&mut self, number: u64) {
        if !self.is_old(number) {
            self.clear(number);
        }
    }

    /// Whether that one was taken.
    #[must_use]
    pub fn is_given(&self, number: u64) -> bool {
        let ring = number % WORDS_MAX as u64;
        let group = usize::try_from(ring / GROUP).ok().and_then(|at| self.groups.get(at));
        number <= self.newest
            && !self.is_old(number)
            && group.is_some_and(|group| group & 1 << (ring % GROUP) != 0)
    }

    const fn is_old(&self, number: u64) -> bool {
        self.newest.saturating_sub(number) >= WORDS_MAX as u64
    }

    fn clear(&mut self, number: u64) {
        if let Some((group, bit)) = self.place(number) {
            *group &= !bit;
        }
    }

    fn place(&mut self, number: u64) -> Option<(&mut u64, u64)> {
        let ring = number % WORDS_MAX as u64;
        let group = self.groups.get_mut(usize::try_from(ring / GROUP).ok()?)?;
        Some((group, 1 << (ring % GROUP)))
    }
}

/// What a member's game says to its host.
#[derive(Debug, Default)]
pub struct Speech {
    last: u64,
    /// What was said, until nobody can tell any more whether it was heard.
    kept: VecDeque<Word>,
    /// What no host has been told, the oldest first.
    waiting: VecDeque<Vec<u8>>,
    /// Of both.
    bytes: usize,
    /// Who was host, until which stamp, and has said what it took.
    over: Option<(PeerId, Stamp)>,
}

#[derive(Debug)]
struct Word {
    number: u64,
    host: PeerId,
    stamp: Stamp,
    said: Timestamp,
    bytes: Vec<u8>,
}

impl Speech {
    /// Says that to this host, under the number that is returned.
    pub fn say(&mut self, now: Timestamp, host: PeerId, stamp: Stamp, bytes: Vec<u8>) -> u64 {
        self.last += 1;
        self.bytes += bytes.len();
        self.kept.push_back(Word { number: self.last, host, stamp, said: now, bytes });
        let is_old = |word: &Word| now.since(word.said) > KEPT_FOR;
        while self.kept.len() > WORDS_MAX
            || self.bytes > WORDS_BYTES_MAX
            || self.kept.front().is_some_and(is_old)
        {
            let Some(word) = self.kept.pop_front() else { break };
            self.bytes -= word.bytes.len();
        }
        self.last
    }

    /// No link took the last one: its game is told so, and it is not said again.
    pub fn unsay(&mut self, number: u64) {
        if let Some(word) = self.kept.pop_back_if(|word| word.number == number) {
            self.bytes -= word.bytes.len();
        }
    }

    /// There is no host now: it waits for the next.
    ///
    /// # Errors
    /// How many words of how many bytes wait, where that is too much.
    pub fn wait(&mut self, bytes: Vec<u8>) -> Result<(), (usize, usize)> {
        if self.waiting.len() >= WORDS_MAX || self.bytes + bytes.len() > WORDS_BYTES_MAX {
            return Err((self.waiting.len(), self.bytes));
        }
        self.bytes += bytes.len();
        self.waiting.push_back(bytes);
        Ok(())
    }

    /// Whether that one has said that it is host no more.
    #[must_use]
    pub fn is_over(&self, host: PeerId, stamp: Stamp) -> bool {
        self.over.is_some_and(|(over, until)| over == host && stamp <= until)
    }

    /// Whoever was host under that stamp tells what its game was given: the rest waits for the next host.
    pub fn learn(&mut self, host: PeerId, stamp: Stamp, given: &Given) {
        self.over = Some((host, stamp));
        for word in core::mem::take(&mut self.kept) {
            if word.host != host || word.stamp > stamp {
                self.kept.push_back(word);
            } else if given.is_given(word.number) {
                self.bytes -= word.bytes.len();
            } else {
                self.waiting.push_back(word.bytes);
            }
        }
    }

    /// What waits for a host, the oldest first.
    pub fn take_waiting(&mut self) -> Vec<Vec<u8>> {
        let waiting = Vec::from(core::mem::take(&mut self.waiting));
        self.bytes -= waiting.iter().map(Vec::len).sum::<usize>();
        waiting
    }
}

/// One word, as it comes to its host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// Whose.
    pub from: PeerId,
    /// Whom its sender obeyed.
    pub stamp: Stamp,
    /// Its number among that member's.
    pub number: u64,
    /// What.
    pub bytes: Vec<u8>,
}

/// What a word is to who hears it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ear {
    /// It is the host, and its game goes on.
    Opens,
    /// Whether it is (still) the host shows soon.
    Waits,
    /// It is not.
    Shut,
}

/// What members say to a host.
#[derive(Debug, Default)]
pub struct Audience {
    /// The stamp that it is host from on, as long as it is.
    since: Option<Stamp>,
    given: BTreeMap<PeerId, Given>,
    /// What waits until it is known who hears it, the oldest first.
    held: VecDeque<Said>,
    bytes: usize,
}

impl Audience {
    /// It is host from now on. What was said to it before, when it was host and gave the session away, was said to somebody else since.
    pub fn begin(&mut self, stamp: Stamp) {
        self.since = Some(stamp);
    }

    /// It is host no more. What nobody was given is said to the next by whoever said it.
    pub fn end(&mut self) {
        self.since = None;
        self.held.clear();
        self.bytes = 0;
    }

    /// Whether it is host, as far as its game knows.
    #[must_use]
    pub const fn is_open(&self) -> bool {
        self.since.is_some()
    }

    /// What of a member's words was taken.
    #[must_use]
    pub fn given(&self, from: PeerId) -> Given {
        self.given.get(&from).copied().unwrap_or_default()
    }

    /// Somebody says something. What its game is to be given now comes back, and whether its sender is to hear what was taken.
    pub fn hear(&mut self, ear: Ear, said: Said) -> Hearing {
        match (ear, self.since) {
            (Ear::Opens, Some(since)) if said.stamp >= since => {
                if self.given.entry(said.from).or_default().take(said.number) {
                    Hearing::Give(said)
                } else {
                    Hearing::Known
                }
            }
            (Ear::Waits, _)
                if self.held.len() < WORDS_MAX && self.bytes + said.bytes.len() <= WORDS_BYTES_MAX =>
            {
                self.bytes += said.bytes.len();
                self.held.push_back(said);
                Hearing::Known
            }
            (Ear::Opens | Ear::Waits | Ear::Shut, _) => Hearing::Tell,
        }
    }

    /// Its game has not read that one, and reads no more: it is as if it had not come yet.
    pub fn put_back(&mut self, said: Said) {
        self.given.entry(said.from).or_default().give_back(said.number);
        self.bytes += said.bytes.len();
        self.held.push_back(said);
    }

    /// What was held, to be heard anew.
    pub fn take_held(&mut self) -> VecDeque<Said> {
        self.bytes = 0;
        core::mem::take(&mut self.held)
    }

    /// Whoever plays no more is forgotten.
    pub fn keep(&mut self, roster: &Roster) {
        self.given.retain(|peer, _| roster.members.contains_key(peer));
    }
}

/// What becomes of a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hearing {
    /// The game is given it.
    Give(Said),
    /// It has it, or will have it.
    Known,
    /// It is told what was taken: this is not the host that it takes it for.
    Tell,
}
