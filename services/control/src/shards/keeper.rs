//! Opens fleets as the catalog lists them, and hands each its newest specification until it has it.
//!
//! This is an ask across shards: the catalog owes a specification (durable there), the fleet is asked with it as often as
//! it takes (a repeat is a no-op, by its revision), and its answer is the catalog's acknowledgement.

use std::collections::BTreeMap;
use std::sync::Arc;

use mainstay_core::{FleetNumber, StateMachine};
use mainstay_fleet::catalog::{Catalog, CatalogObservation};
use mainstay_fleet::{Command, Fleet, FleetSpec};
use mainstay_journal::ShardName;
use mainstay_runtime::{
    Growth, Handle, Hands, JournalHandle, MAILBOX_MAX, RETRY_AFTER, Shard, StartError, StoredCodec, TakenUp,
};
use tokio::sync::{mpsc, watch};

use super::{FLEET_PREFIX, FleetHands, Fleets, OpenFleet};
use crate::invitations::Invitations;
use crate::metrics::Metrics;
use crate::providers::Errands;
use crate::streams::Outboxes;

/// Hands specifications on to the [`Keeper`].
#[derive(Debug)]
pub(crate) struct CatalogHands(mpsc::UnboundedSender<Arc<FleetSpec>>);

impl Hands<Catalog> for CatalogHands {
    type Delivery = Arc<FleetSpec>;

    fn take_up(
        &mut self,
        fleet: &FleetNumber,
        catalog: &Catalog,
    ) -> Option<TakenUp<Catalog, Arc<FleetSpec>>> {
        catalog.owed(fleet).map(|delivery| TakenUp { delivery, noted: None })
    }

    fn deliver(&mut self, specs: Vec<Arc<FleetSpec>>) {
        for spec in specs {
            // The keeper ends only with the control plane.
            let _ended = self.0.send(spec);
        }
    }
}

/// Opens and configures fleets, one after another.
pub(crate) struct Keeper {
    /// Bounded by the catalog: a fleet's specification goes in once for each of its revisions.
    specs: mpsc::UnboundedReceiver<Arc<FleetSpec>>,
    journal: JournalHandle,
    outboxes: Outboxes,
    errands: Errands,
    fleets: Fleets,
    invitations: Arc<Invitations>,
    metrics: Arc<Metrics>,
    configured: watch::Sender<BTreeMap<FleetNumber, u64>>,
}

/// Which revision each fleet has said it has.
pub(crate) type Configured = watch::Receiver<BTreeMap<FleetNumber, u64>>;

impl Keeper {
    pub(crate) fn new(
        journal: JournalHandle,
        (outboxes, errands): (Outboxes, Errands),
        (fleets, invitations): (Fleets, Arc<Invitations>),
        metrics: Arc<Metrics>,
    ) -> (Self, CatalogHands, Configured) {
        let (sender, specs) = mpsc::unbounded_channel();
        let (configured, seen) = watch::channel(BTreeMap::new());
        let keeper = Self { specs, journal, outboxes, errands, fleets, invitations, metrics, configured };
        (keeper, CatalogHands(sender), seen)
    }

    /// Runs until the catalog has ended.
    ///
    /// # Errors
    /// Where a fleet's shard does not start: nothing can be done about its fleet then, and the process must say so.
    pub(crate) async fn run(mut self, catalog: Handle<Catalog>) -> Result<(), StartError> {
        while let Some(spec) = self.specs.recv().await {
            let shard = match self.fleets.now().number(spec.number) {
                Some(open) => open.shard.clone(),
                None => self.open(spec.number).await?,
            };
            if !self.configure(&shard, &spec).await {
                continue;
            }
            self.metrics.name(spec.number, &spec.name);
            self.fleets.put(OpenFleet { spec: Arc::clone(&spec), shard });
            if self.invitations.tell(&catalog, &self.fleets).await.is_err() {
                return Ok(());
            }
            let acknowledged = CatalogObservation::Configured { fleet: spec.number, revision: spec.revision };
            if catalog.observe(acknowledged).await.is_err() {
                return Ok(());
            }
            self.configured.send_modify(|configured| {
                configured.insert(spec.number, spec.revision);
            });
        }
        Ok(())
    }

    async fn open(&self, number: FleetNumber) -> Result<Handle<Fleet>, StartError> {
        let name = ShardName::new(&format!("{FLEET_PREFIX}{}", number.get()));
        Shard::start(mainstay_runtime::Config {
            name: name.expect("`fleet/` and a number of at most seven digits is a shard name"),
            journal: self.journal.clone(),
            initial: Fleet::new(seed()),
            codec: StoredCodec,
            hands: FleetHands::new(self.outboxes.clone(), self.errands.clone()),
            due: |_why| Command::Due,
            mailbox_max: MAILBOX_MAX,
        })
        .await
    }

    /// Asks until there is an answer; says whether the fleet has the specification now.
    async fn configure(&self, shard: &Handle<Fleet>, spec: &Arc<FleetSpec>) -> bool {
        loop {
            match shard.command(Command::Configure(Arc::clone(spec)), Growth::Grows).await {
                Ok(Ok(_done)) => return true,
                Ok(Err(rejection)) => {
                    tracing::error!(fleet = %spec.name, code = rejection.code(), %rejection, "the fleet keeps its old configuration");
                    return false;
                }
                Err(mainstay_runtime::Error::Stopping | mainstay_runtime::Error::Lost(_)) => return false,
                Err(
                    error @ (mainstay_runtime::Error::Busy { .. } | mainstay_runtime::Error::JournalFull),
                ) => {
                    tracing::warn!(fleet = %spec.name, %error, "the fleet is asked to take its configuration again");
                    tokio::time::sleep(RETRY_AFTER).await;
                }
            }
        }
    }
}

/// Where look-up tables begin: random, so that nobody can choose collisions.
pub(crate) fn seed() -> u64 {
    getrandom::u64().unwrap_or_else(|error| {
        tracing::warn!(%error, "no random seed; look-up tables start at a fixed one");
        0
    })
}
