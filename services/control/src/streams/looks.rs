//! Questions to machines about their servers' files, on the streams of their agents, and who waits for the answers.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mainstay_core::ServerId;
use mainstay_fleet::StreamId;
use mainstay_wire::agent::{Look, LookFor, Looked, Seen};
use tokio::sync::oneshot;

use super::Outboxes;

/// The most questions that wait for answers: each is a caller who waits, and an answer of at most 4 MB, so all of them are
/// 256 MB at the very worst, and some MB as a rule.
const WAITING_MAX: usize = 64;
/// How long a machine may take to answer: it reads a part of one file.
const ANSWER_WITHIN: Duration = Duration::from_secs(15);

/// Asks machines. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Looking {
    outboxes: Outboxes,
    book: Arc<Mutex<Book>>,
}

#[derive(Debug, Default)]
struct Book {
    last: u64,
    waiting: HashMap<u64, (StreamId, oneshot::Sender<Seen>)>,
    /// The streams whose agents take such questions.
    able: HashSet<StreamId>,
}

/// Why a server's files cannot be seen now.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unseen {
    /// Nobody speaks for its machine.
    #[error("its machine is not heard now")]
    Unheard,
    /// Its agent is older than such questions.
    #[error("the agent of its machine is too old to be asked for files")]
    TooOld,
    /// Too many wait.
    #[error("{WAITING_MAX} questions to machines wait for their answers already")]
    Busy,
    /// No answer.
    #[error("its machine did not answer within {} s", ANSWER_WITHIN.as_secs())]
    Silent,
    /// It could not be read there.
    #[error("{0}")]
    Failed(String),
}

impl Looking {
    pub(crate) fn new(outboxes: Outboxes) -> Self {
        Self { outboxes, book: Arc::default() }
    }

    /// From now on this stream may be asked.
    pub(super) fn may_ask(&self, stream: StreamId) {
        self.book().able.insert(stream);
    }

    /// A stream has ended: who waits for it waits no longer.
    pub(super) fn gone(&self, stream: StreamId) {
        let mut book = self.book();
        book.able.remove(&stream);
        book.waiting.retain(|_, (of, _)| *of != stream);
    }

    /// An answer has come, on the stream that was asked.
    pub(super) fn found(&self, stream: StreamId, looked: Looked) {
        let mut book = self.book();
        if book.waiting.get(&looked.id).is_some_and(|(of, _)| *of == stream)
            && let Some((_, waiting)) = book.waiting.remove(&looked.id)
        {
            // Who asked may have gone.
            let _gone = waiting.send(looked.seen);
        }
    }

    /// Asks the agent of a stream.
    ///
    /// # Errors
    /// Why there is no answer.
    pub(crate) async fn ask(
        &self,
        stream: StreamId,
        server: ServerId,
        what: LookFor,
    ) -> Result<Seen, Unseen> {
        let (answer, answered) = oneshot::channel();
        let id = {
            let mut book = self.book();
            if !book.able.contains(&stream) {
                return Err(Unseen::TooOld);
            }
            if book.waiting.len() >= WAITING_MAX {
                return Err(Unseen::Busy);
            }
            book.last += 1;
            let id = book.last;
            book.waiting.insert(id, (stream, answer));
            id
        };
        if self.outboxes.look(stream, Look { id, server, what }).is_err() {
            self.book().waiting.remove(&id);
            return Err(Unseen::Unheard);
        }
        let seen = tokio::time::timeout(ANSWER_WITHIN, answered).await;
        self.book().waiting.remove(&id);
        match seen {
            Ok(Ok(Seen::Failed { detail, .. })) => Err(Unseen::Failed(detail)),
            Ok(Ok(seen)) => Ok(seen),
            Ok(Err(_gone)) => Err(Unseen::Unheard),
            Err(_elapsed) => Err(Unseen::Silent),
        }
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
