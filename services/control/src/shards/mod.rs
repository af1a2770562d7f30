//! The catalog and one shard a fleet, all in one journal, and the list of those that are open.

mod keeper;
mod owed;

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use mainstay_core::{BuildConfigurationId, FleetId, FleetNumber, RegionId, StateMachine, Timestamp};
use mainstay_fleet::catalog::Catalog;
use mainstay_fleet::{Fleet, FleetSpec};
use mainstay_runtime::{Growth, Handle, Reply};

pub(crate) use keeper::{CatalogHands, Configured, Keeper, seed};
pub(crate) use owed::FleetHands;

/// The name of the catalog's shard.
pub(crate) const CATALOG: &str = "catalog";
/// What the names of fleets' shards begin with; their number follows.
pub(crate) const FLEET_PREFIX: &str = "fleet/";
/// The name of the shard of players' stored objects: the first slice, and for now the only one.
pub(crate) const PLAYERS: &str = "players/0";

/// A fleet whose shard runs.
#[derive(Debug, Clone)]
pub(crate) struct OpenFleet {
    /// The newest specification the shard has said it has.
    pub(crate) spec: Arc<FleetSpec>,
    pub(crate) shard: Handle<Fleet>,
}

/// Every open fleet. Replaced whole when one opens or changes, so that readers hold no lock.
#[derive(Debug, Clone, Default)]
pub(crate) struct Directory(BTreeMap<FleetNumber, OpenFleet>);

/// The open fleets of a running control plane.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fleets(Arc<RwLock<Arc<Directory>>>);

impl Fleets {
    pub(crate) fn now(&self) -> Arc<Directory> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn put(&self, fleet: OpenFleet) {
        let mut directory = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let mut changed = Directory::clone(&directory);
        changed.0.insert(fleet.spec.number, fleet);
        *directory = Arc::new(changed);
    }

    /// A fleet that was deleted is no longer here. Its shard runs on until the process ends, and is not opened again.
    pub(crate) fn close(&self, number: FleetNumber) {
        let mut directory = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let mut changed = Directory::clone(&directory);
        changed.0.remove(&number);
        *directory = Arc::new(changed);
    }
}

impl Directory {
    pub(crate) fn number(&self, number: FleetNumber) -> Option<&OpenFleet> {
        self.0.get(&number)
    }

    pub(crate) fn id(&self, id: FleetId) -> Option<&OpenFleet> {
        self.all().find(|fleet| fleet.spec.id == id)
    }

    /// By id or name.
    pub(crate) fn named(&self, text: &str) -> Option<&OpenFleet> {
        let id = text.parse::<FleetId>().ok();
        self.all().find(|fleet| id == Some(fleet.spec.id) || *fleet.spec.name == *text)
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &OpenFleet> {
        self.0.values()
    }
}

impl OpenFleet {
    /// A region of it, by id, name or alias (names are compared without case, as their ids are made).
    pub(crate) fn region(&self, text: &str) -> Option<RegionId> {
        let id = text.parse::<RegionId>().ok();
        let is = |region: &&mainstay_fleet::RegionSpec| id == Some(region.id) || region.is_called(text);
        self.spec.regions.iter().find(is).map(|region| region.id)
    }

    /// One of its build configurations, by id or name.
    pub(crate) fn configuration(&self, text: &str) -> Option<BuildConfigurationId> {
        let id = text.parse::<BuildConfigurationId>().ok();
        let known = self.spec.configurations.iter();
        known
            .map(|it| (it.configuration.id, &it.name))
            .find(|it| Some(it.0) == id || **it.1 == *text)
            .map(|it| it.0)
    }

    pub(crate) fn region_name(&self, id: RegionId) -> String {
        self.spec.region(id).map(|region| region.name.to_string()).unwrap_or_default()
    }

    pub(crate) async fn ask(
        &self,
        command: mainstay_fleet::Command,
    ) -> Result<Reply<Fleet>, mainstay_runtime::Error> {
        let growth = growth(&command);
        self.shard.try_command(command, growth).await
    }

    pub(crate) async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Fleet, Timestamp) -> T + Send + 'static,
    ) -> Result<T, mainstay_runtime::Error> {
        self.shard.query(read).await
    }
}

/// What a command does to the size of what is stored.
pub(crate) const fn growth(command: &mainstay_fleet::Command) -> Growth {
    use mainstay_fleet::Command;
    match command {
        Command::Configure(_) | Command::Join { .. } | Command::Allocate { .. } => Growth::Grows,
        Command::SetConfiguration { .. } => Growth::Grows,
        // A hold or a reservation stands in the place of an earlier one, or of none; a server has room for one of them.
        Command::Hold { .. }
        | Command::ReleaseHold { .. }
        | Command::Reserve { .. }
        | Command::Unreserve { .. }
        | Command::SetReady { .. }
        | Command::SetUnready { .. }
        | Command::Release(_) => Growth::Shrinks,
        // A start or restart is an order in the place of an older one.
        Command::Connect { .. }
        | Command::Report { .. }
        | Command::TakeIncidents { .. }
        | Command::TakeOutcome { .. }
        | Command::TakeListing { .. }
        | Command::Deallocate { .. }
        | Command::StartServer(_)
        | Command::StopServer(_)
        | Command::RestartServer(_)
        | Command::DrainMachine(_)
        | Command::UndrainMachine(_)
        | Command::RemoveMachine { .. }
        | Command::Due => Growth::Shrinks,
    }
}

/// The catalog has no deadlines.
pub(crate) const fn catalog_due(why: <Catalog as StateMachine>::Why) -> <Catalog as StateMachine>::Command {
    match why {}
}
