//! Format 3 of fleet specifications, which the catalog and the fleets both store: that of format 2, and what has come since.

use std::time::Duration;

use mainstay_fleet::{FleetSpec as DomainFleetSpec, Hardware as DomainHardware, Hosting, UsageSetting};
use serde::{Deserialize, Serialize};

use super::catalog_v2;
use super::machine_v3::{Policy, Ttl};
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
    #[serde(borrow)]
    usage: Vec<Usage<'a>>,
    disabled_delete: Option<Duration>,
}

#[derive(Serialize, Deserialize)]
struct Usage<'a> {
    hardware: Hardware,
    #[serde(borrow)]
    machine_type: Option<&'a str>,
    per_machine: Option<u32>,
    per_core: Option<u32>,
    speed_mhz: Option<u32>,
    memory_mib: Option<u64>,
}

#[derive(Serialize, Deserialize)]
enum Hardware {
    Cloud,
    Metal,
}

impl<'a> From<&'a UsageSetting> for Usage<'a> {
    fn from(setting: &'a UsageSetting) -> Self {
        let UsageSetting { hardware, machine_type, per_machine, per_core, speed_mhz, memory_mib } = setting;
        Self {
            hardware: match hardware {
                DomainHardware::Cloud => Hardware::Cloud,
                DomainHardware::Metal => Hardware::Metal,
            },
            machine_type: machine_type.as_deref(),
            per_machine: *per_machine,
            per_core: *per_core,
            speed_mhz: *speed_mhz,
            memory_mib: *memory_mib,
        }
    }
}

impl From<Usage<'_>> for UsageSetting {
    fn from(setting: Usage<'_>) -> Self {
        let Usage { hardware, machine_type, per_machine, per_core, speed_mhz, memory_mib } = setting;
        let hardware = match hardware {
            Hardware::Cloud => DomainHardware::Cloud,
            Hardware::Metal => DomainHardware::Metal,
        };
        let machine_type = machine_type.map(Into::into);
        Self { hardware, machine_type, per_machine, per_core, speed_mhz, memory_mib }
    }
}

/// By which times of their own the machines of each region go; `None` where those of none do.
pub(super) fn times(spec: &DomainFleetSpec) -> Option<Vec<Option<Ttl>>> {
    let own = spec.regions.iter().any(|region| region.ttl.is_some());
    own.then(|| spec.regions.iter().map(|region| region.ttl.map(Ttl::from)).collect())
}

/// A specification with [`times`].
pub(super) fn with_times(spec: FleetSpec<'_>, times: Vec<Option<Ttl>>) -> DomainFleetSpec {
    let mut spec = DomainFleetSpec::from(spec);
    for (region, ttl) in spec.regions.iter_mut().zip(times) {
        region.ttl = ttl.map(Into::into);
    }
    spec
}

impl<'a> From<&'a DomainFleetSpec> for FleetSpec<'a> {
    fn from(spec: &'a DomainFleetSpec) -> Self {
        let aliases = spec.regions.iter().map(|region| region.aliases.iter().map(|alias| &**alias).collect());
        Self {
            since_2: spec.into(),
            machines: spec.hosting.machines.into(),
            aliases: aliases.collect(),
            ready_signals: spec.configurations.iter().map(|it| it.ready_signal.into()).collect(),
            usage: spec.hosting.usage.iter().map(Into::into).collect(),
            disabled_delete: spec.hosting.disabled_delete,
        }
    }
}

impl From<FleetSpec<'_>> for DomainFleetSpec {
    fn from(spec: FleetSpec<'_>) -> Self {
        let FleetSpec { since_2, machines, aliases, ready_signals, usage, disabled_delete } = spec;
        let mut spec = Self::from(since_2);
        for (region, aliases) in spec.regions.iter_mut().zip(aliases) {
            region.aliases = aliases.into_iter().map(Into::into).collect();
        }
        for (configuration, signal) in spec.configurations.iter_mut().zip(ready_signals) {
            configuration.ready_signal = signal.into();
        }
        Self {
            hosting: Hosting {
                machines: machines.into(),
                usage: usage.into_iter().map(Into::into).collect(),
                disabled_delete,
                ..spec.hosting
            },
            ..spec
        }
    }
}
