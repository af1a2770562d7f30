//! What every slot uses, measured now and then: news for people, and later for the checks of seed 001. Never durable.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use mainstay_core::{ServerId, Timestamp};
use mainstay_holder::record::ProcessMark;
use mainstay_runtime::Clock;
use tokio::time::sleep;

use crate::config::MEASURE_INTERVAL;
use crate::os::measure::{Meter, Usage, cpu_millis};
use crate::slot::Context;
use crate::slot::ended::in_full;

/// What a slot uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reading {
    /// When it was read.
    pub at: Timestamp,
    /// CPU since the reading before, in thousandths of a core; `None` at the first.
    pub cpu_millis: Option<u32>,
    /// Memory that only this slot needs, in bytes.
    pub memory_bytes: u64,
}

/// The newest readings.
#[derive(Debug, Default)]
pub(crate) struct Readings {
    newest: Mutex<BTreeMap<ServerId, (Reading, Taken)>>,
}

/// What the next reading is compared with.
#[derive(Debug, Clone, Copy)]
struct Taken {
    holder: ProcessMark,
    usage: Usage,
    since_boot: Duration,
}

impl Readings {
    /// The newest reading of a slot whose game runs.
    pub(crate) fn get(&self, server: ServerId) -> Option<Reading> {
        let newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        newest.get(&server).map(|(reading, _)| *reading)
    }

    /// Reads every running slot once. Blocks: hundreds of small files.
    fn take(&self, context: &Context, clock: &dyn Clock) {
        let before = self.newest.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut newest = BTreeMap::new();
        for (server, holder) in context.holders() {
            let usage = match usage(context, server, holder) {
                Ok(usage) => usage,
                Err(error) => {
                    // A game that ends while it is measured is the ordinary case.
                    tracing::debug!(%server, error = %in_full(&*error), "a slot could not be measured");
                    continue;
                }
            };
            let taken = Taken { holder, usage, since_boot: clock.since_boot() };
            let earlier = before.get(&server).map(|(_, taken)| *taken).filter(|it| it.holder == holder);
            let cpu_millis = earlier.and_then(|earlier| {
                cpu_millis(earlier.usage, usage, taken.since_boot.saturating_sub(earlier.since_boot))
            });
            let reading = Reading { at: clock.now(), cpu_millis, memory_bytes: usage.memory_bytes };
            newest.insert(server, (reading, taken));
        }
        *self.newest.lock().unwrap_or_else(PoisonError::into_inner) = newest;
    }
}

type AnyError = Box<dyn std::error::Error + Send + Sync>;

fn usage(context: &Context, server: ServerId, holder: ProcessMark) -> Result<Usage, AnyError> {
    match &context.ground.capabilities().groups {
        Some(groups) => Ok(Meter::Group(&groups.slot(server)?).read()?),
        None => Ok(Meter::Tree(holder).read()?),
    }
}

/// Measures for as long as it is let.
pub(crate) async fn measure(readings: Arc<Readings>, context: Arc<Context>, clock: Arc<dyn Clock>) {
    loop {
        let (book, slots, time) = (Arc::clone(&readings), Arc::clone(&context), Arc::clone(&clock));
        let done = tokio::task::spawn_blocking(move || book.take(&slots, &*time)).await;
        if let Err(error) = done {
            tracing::error!(%error, "measuring failed; this is our bug");
        }
        sleep(MEASURE_INTERVAL).await;
    }
}
