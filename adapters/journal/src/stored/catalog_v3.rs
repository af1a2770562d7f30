//! Format 3 of fleet specifications, which the catalog and the fleets both store: that of format 2, and what has come since.

use mainstay_fleet::{FleetSpec as DomainFleetSpec, Hosting};
use serde::{Deserialize, Serialize};

use super::catalog_v2;
use super::machine_v3::Policy;
use super::slot_v3::ReadySignal;

#[derive(Serialize, Deserialize)]
pub(super) struct FleetSpec<'a> {
    #[serde(borrow)]
    since_2: catalog_v2::FleetSpec<'a>,
    machines: Policy,
    /// Of each region, in its order.
    aliases: Vec<Vec<&'a str>>,
    /// Of each build configuration, in its order.
    ready_signals: Vec<ReadySignal>,
}

impl<'a> From<&'a DomainFleetSpec> for FleetSpec<'a> {
    fn from(spec: &'a DomainFleetSpec) -> Self {
        let aliases = spec.regions.iter().map(|region| region.aliases.iter().map(|alias| &**alias).collect());
        Self {
            since_2: spec.into(),
            machines: spec.hosting.machines.into(),
            aliases: aliases.collect(),
            ready_signals: spec.configurations.iter().map(|it| it.ready_signal.into()).collect(),
        }
    }
}

impl From<FleetSpec<'_>> for DomainFleetSpec {
    fn from(FleetSpec { since_2, machines, aliases, ready_signals }: FleetSpec<'_>) -> Self {
        let mut spec = Self::from(since_2);
        for (region, aliases) in spec.regions.iter_mut().zip(aliases) {
            region.aliases = aliases.into_iter().map(Into::into).collect();
        }
        for (configuration, signal) in spec.configurations.iter_mut().zip(ready_signals) {
            configuration.ready_signal = signal.into();
        }
        Self { hosting: Hosting { machines: machines.into(), ..spec.hosting }, ..spec }
    }
}
