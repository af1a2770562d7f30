//! How long a queue's looks at what was due took: the engine has no clock, its shard has.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use mainstay_core::Buckets;

/// Where looks are told apart, in microseconds: nothing to do, a few matches, a busy queue, one that keeps callers waiting.
const BOUNDS_US: [u64; 10] = [50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 50_000, 250_000];

/// How long the looks of one queue took, in microseconds.
#[derive(Debug, Clone)]
pub(crate) struct Passes(Arc<Mutex<Buckets<{ BOUNDS_US.len() }>>>);

impl Passes {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Mutex::new(Buckets::new(&BOUNDS_US))))
    }

    pub(super) fn took(&self, took: Duration) {
        let us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).add(us);
    }

    /// What was counted so far.
    pub(crate) fn now(&self) -> Buckets<{ BOUNDS_US.len() }> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
