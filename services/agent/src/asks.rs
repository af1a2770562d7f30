//! What games want of the control plane, on its way there and back.
//!
//! A game waits for its answer, so an ask has an id and a time within which it must be answered. While a stream breaks and
//! the next one comes, what is unanswered stays and is said again: every wish may be granted twice. While there is no
//! stream, nothing is taken in: the game is told at once to come back.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mainstay_core::{Generation, MachineId, ServerId};
use mainstay_wire::agent::{ASKS_WITH_BACKFILL, ASKS_WITH_TOKENS, Answer, Ask, Outcome, Wish};
use tokio::sync::{Notify, oneshot};
use tokio::time::timeout;

/// The most unanswered asks of all games of an agent. The plane answers within milliseconds, so this is a burst of every
/// slot of a large machine at once.
pub(crate) const ASKS_MAX: usize = 1_024;
/// The most unanswered asks of one game: an SDK has one or two at a time.
pub(crate) const ASKS_PER_SERVER_MAX: usize = 8;
/// How long a game waits for the plane: half of what the SDKs wait for us (10 s), so that they hear why.
pub(crate) const ANSWER_WITHIN: Duration = Duration::from_secs(5);

/// Why an ask has no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unanswered {
    /// There is no stream to the plane.
    Away,
    /// The plane is of a version that takes no asks.
    Older,
    /// Too many are unanswered: this many are allowed.
    Full(usize),
    /// No answer came in time; the wish may have been granted.
    Late,
    /// The server is none of a machine that the stream speaks for.
    NotHere,
}

/// The asks of all games.
#[derive(Debug, Default)]
pub(crate) struct Asks {
    book: Mutex<Book>,
    news: Notify,
}

#[derive(Debug, Default)]
struct Book {
    line: Line,
    last: u64,
    unanswered: BTreeMap<u64, Waiting>,
    unsaid: BTreeSet<u64>,
}

/// The stream, as far as asks go.
#[derive(Debug, Default)]
enum Line {
    /// None.
    #[default]
    Down,
    /// To a plane that takes no asks.
    Deaf,
    /// To a plane that takes them, from these servers.
    Up {
        /// The version of asks that the plane takes.
        version: u32,
        servers: BTreeMap<ServerId, MachineId>,
    },
}

#[derive(Debug)]
struct Waiting {
    server: ServerId,
    process: Generation,
    wish: Wish,
    answer: oneshot::Sender<Outcome>,
}

impl Asks {
    /// Asks, and waits for the answer, but no longer than [`ANSWER_WITHIN`].
    pub(crate) async fn ask(
        &self,
        server: ServerId,
        process: Generation,
        wish: Wish,
    ) -> Result<Outcome, Unanswered> {
        self.ask_within(ANSWER_WITHIN, server, process, wish).await
    }

    async fn ask_within(
        &self,
        within: Duration,
        server: ServerId,
        process: Generation,
        wish: Wish,
    ) -> Result<Outcome, Unanswered> {
        let (id, answer) = self.take_in(server, process, wish)?;
        // Whoever gives up waiting takes the ask back.
        let _kept = Kept { asks: self, id };
        match timeout(within, answer).await {
            Ok(Ok(outcome)) => Ok(outcome),
            Ok(Err(_)) | Err(_) => Err(Unanswered::Late),
        }
    }

    fn take_in(
        &self,
        server: ServerId,
        process: Generation,
        wish: Wish,
    ) -> Result<(u64, oneshot::Receiver<Outcome>), Unanswered> {
        let mut book = self.lock();
        match &book.line {
            Line::Down => return Err(Unanswered::Away),
            Line::Deaf => return Err(Unanswered::Older),
            Line::Up { version, .. } if *version < needed(&wish) => return Err(Unanswered::Older),
            Line::Up { servers, .. } if servers.contains_key(&server) => {}
            Line::Up { .. } => return Err(Unanswered::NotHere),
        }
        if book.unanswered.len() >= ASKS_MAX {
            return Err(Unanswered::Full(ASKS_MAX));
        }
        if book.unanswered.values().filter(|it| it.server == server).count() >= ASKS_PER_SERVER_MAX {
            return Err(Unanswered::Full(ASKS_PER_SERVER_MAX));
        }
        book.last += 1;
        let id = book.last;
        let (answer, answered) = oneshot::channel();
        book.unanswered.insert(id, Waiting { server, process, wish, answer });
        book.unsaid.insert(id);
        drop(book);
        self.news.notify_one();
        Ok((id, answered))
    }

    /// A stream has begun: everything unanswered is said on it again.
    pub(crate) fn line_up(&self, servers: BTreeMap<ServerId, MachineId>, version: u32) {
        let mut book = self.lock();
        let all: BTreeSet<u64> = book.unanswered.keys().copied().collect();
        if version == 0 {
            book.line = Line::Deaf;
        } else {
            book.line = Line::Up { version, servers };
            book.unsaid = all;
        }
        drop(book);
        self.news.notify_one();
    }

    /// The stream has ended.
    pub(crate) fn line_down(&self) {
        self.lock().line = Line::Down;
    }

    /// What is to be said next; waits until there is something.
    pub(crate) async fn next(&self) -> Ask {
        loop {
            let news = self.news.notified();
            if let Some(ask) = self.take() {
                return ask;
            }
            news.await;
        }
    }

    fn take(&self) -> Option<Ask> {
        let mut book = self.lock();
        while let Some(id) = book.unsaid.pop_first() {
            let (Line::Up { version, servers }, Some(waiting)) = (&book.line, book.unanswered.get(&id))
            else {
                continue;
            };
            let Some(&machine) = servers.get(&waiting.server) else { continue };
            let (server, process, wish) = (waiting.server, waiting.process, waiting.wish.clone());
            // The next stream may be to an older plane, which would not know what is meant: nobody answers then.
            if *version < needed(&wish) {
                continue;
            }
            return Some(Ask { id, machine, server, process, wish });
        }
        None
    }

    /// An answer has come. One that nobody waits for any more is dropped.
    pub(crate) fn answered(&self, answer: Answer) {
        let Some(waiting) = self.forget(answer.id) else { return };
        let _gave_up = waiting.answer.send(answer.outcome);
    }

    fn forget(&self, id: u64) -> Option<Waiting> {
        let mut book = self.lock();
        book.unsaid.remove(&id);
        book.unanswered.remove(&id)
    }

    fn lock(&self) -> MutexGuard<'_, Book> {
        // Nothing under this lock can panic half-way.
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The version of asks that a wish belongs to.
const fn needed(wish: &Wish) -> u32 {
    match wish {
        Wish::Token { .. } => ASKS_WITH_TOKENS,
        Wish::Backfill { .. } => ASKS_WITH_BACKFILL,
        Wish::Hold { .. }
        | Wish::ReadHold
        | Wish::ReleaseHold
        | Wish::Reserve { .. }
        | Wish::Unreserve
        | Wish::SetReady
        | Wish::SetUnready => 1,
    }
}

/// An ask that somebody waits for.
struct Kept<'a> {
    asks: &'a Asks,
    id: u64,
}

impl Drop for Kept<'_> {
    fn drop(&mut self) {
        self.asks.forget(self.id);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use mainstay_core::FleetNumber;

    use super::*;

    fn server(n: u32) -> ServerId {
        ServerId::of(FleetNumber::new(1).unwrap(), n)
    }

    fn servers(n: u32) -> BTreeMap<ServerId, MachineId> {
        let machine = MachineId::of(FleetNumber::new(1).unwrap(), 1);
        (1..=n).map(|n| (server(n), machine)).collect()
    }

    fn asking(asks: &Arc<Asks>, n: u32) -> tokio::task::JoinHandle<Result<Outcome, Unanswered>> {
        let asks = Arc::clone(asks);
        tokio::spawn(async move { asks.ask(server(n), Generation::NONE, Wish::SetReady).await })
    }

    #[tokio::test]
    async fn what_is_unanswered_is_said_again_on_the_next_stream_with_the_same_id() {
        let asks = Arc::new(Asks::default());
        asks.line_up(servers(1), 1);
        let asked = asking(&asks, 1);
        let first = asks.next().await;
        asks.line_down();
        assert_eq!(asks.take(), None);
        asks.line_up(servers(1), 1);
        assert_eq!(asks.next().await, first);
        asks.answered(Answer { id: first.id + 1, outcome: Outcome::Done });
        asks.answered(Answer { id: first.id, outcome: Outcome::Held { until: None } });
        asks.answered(Answer { id: first.id, outcome: Outcome::Done });
        assert_eq!(asked.await.unwrap(), Ok(Outcome::Held { until: None }));
        assert_eq!(asks.take(), None);
    }

    #[tokio::test]
    async fn without_a_stream_a_game_hears_it_at_once() {
        let asks = Asks::default();
        let ask = || asks.ask(server(1), Generation::NONE, Wish::ReadHold);
        assert_eq!(ask().await, Err(Unanswered::Away));
        asks.line_up(servers(1), 0);
        assert_eq!(ask().await, Err(Unanswered::Older));
        asks.line_up(BTreeMap::new(), 1);
        assert_eq!(ask().await, Err(Unanswered::NotHere));
    }

    /// A plane of the first version would take a wish it does not know for a broken stream.
    #[tokio::test]
    async fn tokens_are_asked_only_of_a_plane_that_gives_them() {
        let asks = Arc::new(Asks::default());
        let ask = || asks.ask(server(1), Generation::NONE, Wish::Token { run: 1 });
        asks.line_up(servers(1), 1);
        assert_eq!(ask().await, Err(Unanswered::Older));
        asks.line_up(servers(1), 2);
        let late = asks.ask_within(Duration::ZERO, server(1), Generation::NONE, Wish::Token { run: 1 }).await;
        assert_eq!(late, Err(Unanswered::Late));
    }

    #[tokio::test]
    async fn unanswered_asks_have_a_limit_and_who_gives_up_frees_a_place() {
        let asks = Arc::new(Asks::default());
        asks.line_up(servers(2), 1);
        let mut waiting: Vec<_> = (0..ASKS_PER_SERVER_MAX).map(|_| asking(&asks, 1)).collect();
        for _ in 0..ASKS_PER_SERVER_MAX {
            asks.next().await;
        }
        assert_eq!(asking(&asks, 1).await.unwrap(), Err(Unanswered::Full(ASKS_PER_SERVER_MAX)));
        let other = asking(&asks, 2);
        assert_eq!(asks.next().await.server, server(2), "one game does not take the places of others");
        other.abort();
        let gone = waiting.remove(0);
        gone.abort();
        assert!(gone.await.unwrap_err().is_cancelled());
        let again = asking(&asks, 1);
        assert_eq!(asks.next().await.server, server(1));
        again.abort();
    }

    #[tokio::test]
    async fn an_answer_that_does_not_come_is_late() {
        let asks = Asks::default();
        asks.line_up(servers(1), 1);
        let late = asks.ask_within(Duration::ZERO, server(1), Generation::NONE, Wish::SetReady).await;
        assert_eq!(late, Err(Unanswered::Late));
        assert_eq!(asks.take(), None, "nobody waits for it any more");
    }
}
