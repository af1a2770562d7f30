//! Reads the history for the faces, on a connection of its own, off the threads that answer calls.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use std::time::Duration;

use mainstay_journal::Head;
use mainstay_journal::history::{History, HistoryError};

/// How often it is looked whether the history has read what is durable.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// And how many times: it follows each second, and by three of those it does, or has much to read.
const LOOKS_MAX: u32 = 30;

/// The history, where one is kept.
#[derive(Debug, Clone, Default)]
pub(crate) struct Told(Option<Arc<Mutex<History>>>);

/// Why the history does not say.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Untold {
    /// None is kept here, or it could not be opened at the start.
    #[error("no history is kept here")]
    NotKept,
    /// It could not be read.
    #[error("the history could not be read: {0}")]
    Failed(#[from] HistoryError),
    /// Reading it panicked.
    #[error("reading the history failed: {0}")]
    Bug(String),
}

impl Told {
    /// The history of a data directory. One that does not open is gone without: no state is lost with it.
    pub(crate) fn open(dir: Option<&Path>) -> Self {
        let opened = dir.map(History::open).transpose().unwrap_or_else(|error| {
            tracing::warn!(error = &error as &dyn std::error::Error, "the history does not open for reading");
            None
        });
        Self(opened.map(|history| Arc::new(Mutex::new(history))))
    }

    /// Reads, one call at a time.
    ///
    /// # Errors
    /// See [`Untold`].
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&History) -> Result<T, HistoryError> + Send + 'static,
    ) -> Result<T, Untold> {
        let history = self.0.clone().ok_or(Untold::NotKept)?;
        let read = tokio::task::spawn_blocking(move || {
            read(&history.lock().unwrap_or_else(PoisonError::into_inner))
        });
        Ok(read.await.map_err(|panicked| Untold::Bug(panicked.to_string()))??)
    }

    /// Waits until the history has read what was durable at some moment, for three seconds at most: how many events it has not read by then.
    ///
    /// # Errors
    /// See [`Untold`].
    pub(crate) async fn wait(&self, heads: Vec<Head>) -> Result<u64, Untold> {
        let heads = Arc::new(heads);
        let mut looks = 1;
        loop {
            let heads = Arc::clone(&heads);
            let behind = self.read(move |history| history.behind(&heads)).await?;
            if behind == 0 || looks >= LOOKS_MAX {
                return Ok(behind);
            }
            looks += 1;
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }
}
