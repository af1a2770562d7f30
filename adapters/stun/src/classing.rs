//! How strictly a peer's router translates, asked from the socket it plays on (RFC 5780, sections 4.3 and 4.4).
//!
//! Three questions, in this order, since each opens the router for what it is sent to: how am I seen; does an answer from
//! elsewhere get through (to a mapping that anybody reaches); am I seen the same from elsewhere (or does the router choose
//! another port for each).

use std::net::SocketAddr;
use std::time::Duration;

use mainstay_migration::NatType;

use crate::message::{MESSAGE_BYTES_MAX, Request, Response, Transaction};
use crate::responder::Corner;

/// How often a question is sent: UDP loses some.
pub const SENDS: u32 = 3;

/// The pause before the second, doubled before the next and before giving up: longer than most round trips.
const PAUSE: Duration = Duration::from_millis(250);

/// How long one question takes where nothing answers; a classing of a peer behind a router takes this once.
pub const GIVE_UP_AFTER: Duration = Duration::from_millis(1_750);

/// What was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reach {
    /// How others reach the peer; [`NatType::Unknown`] where the responder has one address, or does not answer.
    pub nat: NatType,
    /// How others see it; `None` where nothing answered.
    pub seen_as: Option<SocketAddr>,
}

impl Reach {
    /// Nobody has asked yet, or nothing has answered.
    pub const UNKNOWN: Self = Self { nat: NatType::Unknown, seen_as: None };
}

/// One classing on its way.
#[derive(Debug, Clone)]
pub struct Classing {
    server: SocketAddr,
    /// What was found before: where the first answer says the same, nothing else is asked.
    before: Reach,
    /// The number of the first question; the others count from it.
    first: u128,
    question: Question,
    /// How often it was sent, and when next.
    sent: u32,
    due: Duration,
}

/// Which is asked now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Question {
    HowAmISeen,
    WhoGetsThrough { seen_as: SocketAddr, other: SocketAddr },
    HowAmISeenElsewhere { seen_as: SocketAddr, other: SocketAddr, anybody: Anybody },
    Answered(Reach),
}

/// Whether anybody reaches the peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Anybody {
    GetsThrough,
    DoesNot,
}

impl Classing {
    /// Asks a responder, from now on; `random` are 96 bits that nobody foresees.
    #[must_use]
    pub const fn new(server: SocketAddr, random: u128, now: Duration) -> Self {
        Self::again(server, random, now, Reach::UNKNOWN)
    }

    /// Asks again: only how the peer is seen, where that is as before. It also keeps the router from forgetting the peer. What
    /// gets through cannot be asked twice of one mapping: the first time has opened it.
    #[must_use]
    pub const fn again(server: SocketAddr, random: u128, now: Duration, before: Reach) -> Self {
        Self { server, before, first: random, question: Question::HowAmISeen, sent: 0, due: now }
    }

    /// What is to be sent now, and where to; `None` until [`Classing::next_deadline`].
    pub fn send(&mut self, now: Duration) -> Option<(SocketAddr, Vec<u8>)> {
        while now >= self.due && self.sent >= SENDS {
            self.unanswered(now);
        }
        if now < self.due {
            return None;
        }
        let (to, from) = match self.question {
            Question::HowAmISeen => (self.server, Corner::SAME),
            Question::WhoGetsThrough { .. } => (self.server, Corner::OTHER),
            // The other address alone: a router that tells addresses apart is told from one that tells ports apart by nobody
            // here, for games it is the same.
            Question::HowAmISeenElsewhere { other, .. } => {
                (SocketAddr::new(other.ip(), self.server.port()), Corner::SAME)
            }
            Question::Answered(_) => return None,
        };
        self.due = now + PAUSE * 2_u32.pow(self.sent);
        self.sent += 1;
        Some((to, Request { transaction: self.transaction(), from }.encode()))
    }

    /// When to call [`Classing::send`] again, at the latest; `None` once it is answered.
    #[must_use]
    pub const fn next_deadline(&self) -> Option<Duration> {
        match self.question {
            Question::Answered(_) => None,
            Question::HowAmISeen | Question::WhoGetsThrough { .. } | Question::HowAmISeenElsewhere { .. } => {
                Some(self.due)
            }
        }
    }

    /// How others see the peer, as soon as that is known: long before the rest, behind a router.
    #[must_use]
    pub const fn seen_as(&self) -> Option<SocketAddr> {
        match self.question {
            Question::HowAmISeen => None,
            Question::WhoGetsThrough { seen_as, .. } | Question::HowAmISeenElsewhere { seen_as, .. } => {
                Some(seen_as)
            }
            Question::Answered(reach) => reach.seen_as,
        }
    }

    /// What was found, once it is.
    #[must_use]
    pub const fn reach(&self) -> Option<Reach> {
        match self.question {
            Question::Answered(reach) => Some(reach),
            Question::HowAmISeen | Question::WhoGetsThrough { .. } | Question::HowAmISeenElsewhere { .. } => {
                None
            }
        }
    }

    /// Takes a datagram that [`crate::is_stun`]. Whatever does not answer the question that is asked now is ignored.
    pub fn receive(&mut self, now: Duration, bytes: &[u8]) {
        if bytes.len() > MESSAGE_BYTES_MAX {
            return;
        }
        let Some(response) = Response::decode(bytes) else { return };
        if response.transaction != self.transaction() {
            return;
        }
        let seen_as = response.mapped;
        // Who learned nothing the first time may have lost every answer: it asks on.
        let is_as_before = self.before.seen_as == Some(seen_as) && self.before.nat != NatType::Unknown;
        let next = match (self.question, response.other) {
            (Question::HowAmISeen, _) if is_as_before => Question::Answered(self.before),
            (Question::HowAmISeen, None) => {
                Question::Answered(Reach { seen_as: Some(seen_as), ..Reach::UNKNOWN })
            }
            (Question::HowAmISeen, Some(other)) => Question::WhoGetsThrough { seen_as, other },
            (Question::WhoGetsThrough { seen_as, other }, _) => {
                Question::HowAmISeenElsewhere { seen_as, other, anybody: Anybody::GetsThrough }
            }
            (Question::HowAmISeenElsewhere { seen_as: before, anybody, .. }, _) => {
                let nat = match anybody {
                    _ if before != seen_as => NatType::Strict,
                    Anybody::GetsThrough => NatType::Open,
                    Anybody::DoesNot => NatType::Moderate,
                };
                Question::Answered(Reach { nat, seen_as: Some(before) })
            }
            (answered @ Question::Answered(_), _) => answered,
        };
        self.ask(next, now);
    }

    /// Nothing has answered for long enough.
    fn unanswered(&mut self, now: Duration) {
        let next = match self.question {
            Question::HowAmISeen => Question::Answered(Reach::UNKNOWN),
            Question::WhoGetsThrough { seen_as, other } => {
                Question::HowAmISeenElsewhere { seen_as, other, anybody: Anybody::DoesNot }
            }
            // Its other address is not there, whatever it says: nothing is known of the router.
            Question::HowAmISeenElsewhere { seen_as, .. } => {
                Question::Answered(Reach { seen_as: Some(seen_as), ..Reach::UNKNOWN })
            }
            answered @ Question::Answered(_) => answered,
        };
        self.ask(next, now);
    }

    const fn ask(&mut self, question: Question, now: Duration) {
        self.question = question;
        self.sent = 0;
        self.due = now;
    }

    const fn transaction(&self) -> Transaction {
        let number = match self.question {
            Question::HowAmISeen => 0,
            Question::WhoGetsThrough { .. } => 1,
            Question::HowAmISeenElsewhere { .. } => 2,
            Question::Answered(_) => 3,
        };
        Transaction::new(self.first.wrapping_add(number))
    }
}
