//! Reads the history for the faces, on a connection of its own, off the threads that answer calls.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use mainstay_journal::history::{History, HistoryError};

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
}
