//! How often somebody may call: so many at once, and so many a second after.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use mainstay_core::ServerId;
use tokio::time::Instant;

/// A bucket of calls that fills by itself.
#[derive(Debug)]
pub(super) struct Bucket {
    rate: Rate,
    /// When it will be full again: later by one call's time with each call.
    full_at: Mutex<Instant>,
}

/// So many at once, and one more after each `every`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rate {
    pub(super) at_once: u32,
    pub(super) every: Duration,
}

/// A bucket for each server that has asked: no more than there are slots.
#[derive(Debug)]
pub(super) struct Buckets {
    rate: Rate,
    buckets: Mutex<BTreeMap<ServerId, Bucket>>,
}

impl Buckets {
    pub(super) fn new(rate: Rate) -> Self {
        Self { rate, buckets: Mutex::default() }
    }

    /// Takes one call of a server's, or says how often there is one.
    pub(super) fn take(&self, server: ServerId) -> Result<(), Rate> {
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        buckets.entry(server).or_insert_with(|| Bucket::new(self.rate)).take().map_err(|_later| self.rate)
    }
}

impl Bucket {
    pub(super) fn new(rate: Rate) -> Self {
        Self { rate, full_at: Mutex::new(Instant::now()) }
    }

    /// Takes one call, or says after which time there is one.
    pub(super) fn take(&self) -> Result<(), Duration> {
        self.take_at(Instant::now())
    }

    fn take_at(&self, now: Instant) -> Result<(), Duration> {
        let mut full_at = self.full_at.lock().unwrap_or_else(PoisonError::into_inner);
        let next = (*full_at).max(now) + self.rate.every;
        let latest = now + self.rate.every * self.rate.at_once;
        if next > latest {
            return Err(next - latest);
        }
        *full_at = next;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_at_once_and_one_more_after_each_time() {
        let every = Duration::from_millis(100);
        let bucket = Bucket::new(Rate { at_once: 3, every });
        let began = Instant::now();
        for _ in 0..3 {
            assert_eq!(bucket.take_at(began), Ok(()));
        }
        assert_eq!(bucket.take_at(began), Err(every));
        assert_eq!(bucket.take_at(began + every / 2), Err(every / 2));
        assert_eq!(bucket.take_at(began + every), Ok(()));
        assert_eq!(bucket.take_at(began + every), Err(every));
        for _ in 0..3 {
            assert_eq!(bucket.take_at(began + every * 100), Ok(()));
        }
        assert_eq!(bucket.take_at(began + every * 100), Err(every), "it never holds more than it may");
    }
}
