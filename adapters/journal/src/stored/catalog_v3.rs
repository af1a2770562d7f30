//! Format 3 of fleet specifications, which the catalog and the fleets both store: that of format 2, and what has come since.

use mainstay_fleet::{FleetSpec as DomainFleetSpec, Hosting};
use serde::{Deserialize, Serialize};

use super::catalog_v2;
use super::machine_v3::Policy;

#[derive(Serialize, Deserialize)]
pub(super) struct FleetSpec<'a> {
    #[serde(borrow)]
    since_2: catalog_v2::FleetSpec<'a>,
    machines: Policy,
}

impl<'a> From<&'a DomainFleetSpec> for FleetSpec<'a> {
    fn from(spec: &'a DomainFleetSpec) -> Self {
        Self { since_2: spec.into(), machines: spec.hosting.machines.into() }
    }
}

impl From<FleetSpec<'_>> for DomainFleetSpec {
    fn from(FleetSpec { since_2, machines }: FleetSpec<'_>) -> Self {
        let spec = Self::from(since_2);
        Self { hosting: Hosting { machines: machines.into(), ..spec.hosting }, ..spec }
    }
}
