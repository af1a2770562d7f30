//! What queues know of the servers that games run on here: whose a process is, and when it is over (record 0043).
//!
//! Nothing is remembered. A queue's state says which processes its backfill tickets hang on, the fleet's says whether they stand;
//! whoever looks at both, whenever, comes to the same. So a crash of this program between any two steps loses nothing.

use std::collections::BTreeSet;
use std::time::Duration;

use mainstay_core::{AllocationId, Tenure, Timestamp};
use mainstay_fleet::Fleet;
use mainstay_journal::ShardName;
use mainstay_matchmaking::{Command, Queue, ServerDetails};
use mainstay_runtime::{Error, Growth, Handle, JournalHandle};
use mainstay_wire::native::{NativeAllocation, Within};
use tokio::sync::{broadcast, watch};

use super::changes::Changes;
use super::placement::{details, wait_for};
use crate::shards::{FLEET_PREFIX, Fleets, OpenFleet};

/// How often the processes that tickets hang on are looked at while no fleet decides anything: that a process was replaced is a
/// report, and reports alone are not journalled.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// The shortest between two looks, however much the fleets decide: ten reads a second of each fleet and queue.
const LOOK_AFTER: Duration = Duration::from_millis(100);

/// The servers of games.
#[derive(Debug, Clone)]
pub(crate) struct Hosts {
    fleets: Fleets,
    /// Counts the durable turns of fleets.
    turns: watch::Receiver<u64>,
}

impl Hosts {
    /// Follows what fleets decide, from now on.
    pub(super) fn new(fleets: Fleets, journal: &JournalHandle) -> Self {
        let (decided, turns) = watch::channel(0);
        let mut tail = journal.tail();
        tokio::spawn(async move {
            let is_fleets = |shard: &ShardName| shard.as_str().starts_with(FLEET_PREFIX);
            loop {
                let news = match tail.recv().await {
                    Ok(batch) => batch.iter().any(|turn| is_fleets(&turn.shard)),
                    Err(broadcast::error::RecvError::Lagged(_)) => true,
                    Err(broadcast::error::RecvError::Closed) => return,
                };
                if news {
                    decided.send_modify(|turns| *turns += 1);
                }
            }
        });
        Self { fleets, turns }
    }

    /// The process that plays for an allocation, where that lives; `None` for a text that names none.
    ///
    /// # Errors
    /// Where a fleet gives no answer.
    pub(crate) async fn of_allocation(&self, named: &str) -> Result<Option<Tenure>, Error> {
        let Ok(allocation) = named.parse::<AllocationId>() else { return Ok(None) };
        for fleet in self.fleets.now().all() {
            if let Some(tenure) = fleet.read(move |fleet, _| fleet.tenure_of(allocation)).await? {
                return Ok(Some(tenure));
            }
        }
        Ok(None)
    }

    /// Whether a process and its session are not over, as far as is known.
    ///
    /// # Errors
    /// Where its fleet gives no answer.
    pub(crate) async fn stands(&self, tenure: Tenure) -> Result<bool, Error> {
        match self.fleet(&tenure) {
            Some(fleet) => fleet.read(move |fleet, _| !fleet.is_over(&tenure)).await,
            None => Ok(false),
        }
    }

    /// How players reach a process that stands; its region by one of these names, where one is its region's.
    ///
    /// # Errors
    /// Where its fleet gives no answer.
    pub(crate) async fn details(
        &self,
        tenure: Tenure,
        regions: &[std::sync::Arc<str>],
    ) -> Result<Option<ServerDetails>, Error> {
        let Some(fleet) = self.fleet(&tenure) else { return Ok(None) };
        let spec = std::sync::Arc::clone(&fleet.spec);
        let read = move |state: &Fleet, now: Timestamp| -> Option<NativeAllocation> {
            if state.is_over(&tenure) {
                return None;
            }
            let id = AllocationId(tenure.session.0);
            let allocation = state.allocation(id, now)?;
            Some(Within { spec: &spec, fleet: state }.allocation(id, allocation))
        };
        let view = fleet.read(read).await?;
        Ok(view.map(|view| {
            let region = Some(view.allocation.region_id);
            let named = regions.iter().find(|named| fleet.region(named) == region);
            details(&view, &fleet, named)
        }))
    }

    fn fleet(&self, tenure: &Tenure) -> Option<OpenFleet> {
        self.fleets.now().number(tenure.server.fleet()).cloned()
    }

    /// Tells a queue of each process that its tickets hang on and that is over, until its shard ends.
    pub(super) async fn watch(mut self, queue: Handle<Queue>, hanging: Changes<Tenure, Hangs>) {
        let mut watched = BTreeSet::new();
        loop {
            tokio::select! {
                _ended = queue.ended() => return,
                changed = hanging.take() => for (tenure, hangs) in changed {
                    match hangs {
                        Hangs::Some => { watched.insert(tenure); }
                        Hangs::None => { watched.remove(&tenure); }
                    }
                },
                () = self.something_happens(), if !watched.is_empty() => {}
            }
            for tenure in self.over(&watched).await {
                if tell(&queue, tenure).await.is_err() {
                    return;
                }
            }
            tokio::time::sleep(LOOK_AFTER).await;
        }
    }

    async fn something_happens(&mut self) {
        tokio::select! {
            // The sender ends with the journal, and then the queue does.
            changed = self.turns.changed() => if changed.is_err() { std::future::pending().await },
            () = tokio::time::sleep(LOOK_EVERY) => {}
        }
    }

    /// Those that are over. A fleet that gives no answer is asked again at the next look.
    async fn over(&self, watched: &BTreeSet<Tenure>) -> Vec<Tenure> {
        let mut over = Vec::new();
        let mut left = watched.iter().copied().collect::<Vec<_>>();
        while let Some(number) = left.first().map(|tenure| tenure.server.fleet()) {
            let (its, others): (Vec<_>, Vec<_>) =
                left.into_iter().partition(|tenure| tenure.server.fleet() == number);
            left = others;
            match self.fleets.now().number(number).cloned() {
                Some(fleet) => {
                    let gone = fleet
                        .read(move |fleet, _| {
                            its.into_iter().filter(|it| fleet.is_over(it)).collect::<Vec<_>>()
                        })
                        .await;
                    over.extend(gone.unwrap_or_default());
                }
                // A fleet that was deleted has no servers.
                None => over.extend(its),
            }
        }
        over
    }
}

/// Whether tickets hang on a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hangs {
    Some,
    None,
}

async fn tell(queue: &Handle<Queue>, tenure: Tenure) -> Result<(), Error> {
    loop {
        match queue.command(Command::TenureOver(tenure), Growth::Shrinks).await {
            Ok(_cancelled) => {
                tracing::info!(server = %tenure.server, session = %tenure.session, run = tenure.run, "backfill tickets end with their game's process");
                return Ok(());
            }
            Err(error) => wait_for(error).await?,
        }
    }
}
