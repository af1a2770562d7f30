//! How many servers one machine holds: the fleet's usage settings, or what its build configurations state, or what
//! `.gsh` takes where a file states nothing.

use crate::limits::{GSH_MEMORY_MIB, GSH_SPEED_MHZ};
use crate::model::{Config, CpuLimit, Fleet, Hardware, UsageSetting};

/// Speed taken for a core of a machine that does not tell: a common cloud core's base clock.
pub(crate) const CORE_MHZ: u64 = 2_500;

/// What a machine has for servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MachineSize {
    /// Cores the operating system shows.
    pub cores: u32,
    /// MHz of one core, where the machine tells.
    pub speed_mhz: Option<u32>,
    /// Memory in MiB.
    pub memory_mib: u64,
}

/// A number of slots, and what bounded it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slots {
    /// How many servers fit; at least 1, so that a fleet can start anywhere.
    pub count: u32,
    /// The tightest bound.
    pub bound: Bound,
}

/// What bounds the number of slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Bound {
    /// `maxServersPerMachine`.
    PerMachine,
    /// `maxServersPerCore` times the cores.
    PerCore,
    /// The CPU one server needs.
    Cpu,
    /// The memory one server needs.
    Memory,
}

impl Config {
    /// The slots of one machine in a fleet (reference, 3.6): the least of what the usage settings state; without any,
    /// what the neediest build configuration leaves room for. A metal setting counts before a cloud one, as the
    /// machines are the studio's own; `maxServersPerMachine` alone decides where it stands alone.
    pub fn slots_on(&self, fleet: &Fleet, machine: &MachineSize) -> Slots {
        let setting = fleet.usage_settings.iter().find(|setting| setting.hardware.value == Hardware::Metal);
        let bounds = match setting.or(fleet.usage_settings.first()) {
            Some(setting) => declared(setting, machine),
            None => Vec::new(),
        };
        let bounds = if bounds.is_empty() { self.neediest(fleet, machine) } else { bounds };
        bounds.into_iter().min().map_or(Slots { count: 1, bound: Bound::Memory }, |(count, bound)| Slots {
            count: u32::try_from(count.max(1)).unwrap_or(u32::MAX),
            bound,
        })
    }

    fn neediest(&self, fleet: &Fleet, machine: &MachineSize) -> Vec<(u64, Bound)> {
        let configurations = || {
            fleet.build_configurations.iter().filter_map(|name| self.build_configurations.get(&name.value))
        };
        let cpu = configurations().map(|configuration| {
            let stated = configuration.limits.cpu.as_ref().map(|cpu| cpu.value);
            machine.millicores(stated.unwrap_or(CpuLimit::Megahertz(u64::from(GSH_SPEED_MHZ))))
        });
        let memory = configurations().map(|configuration| {
            configuration.limits.memory_bytes.as_ref().map_or(GSH_MEMORY_MIB << 20, |memory| memory.value)
        });
        let cpu = cpu.max().unwrap_or(1_000).max(1);
        let memory = memory.max().unwrap_or(GSH_MEMORY_MIB << 20).max(1);
        vec![
            (u64::from(machine.cores) * 1_000 / cpu, Bound::Cpu),
            (machine.memory_mib.saturating_mul(1 << 20) / memory, Bound::Memory),
        ]
    }
}

/// The slots of one machine for servers of which nothing is said: 750 MHz and 800 MiB each, as `.gsh` takes.
#[must_use]
pub fn slots_unstated(machine: &MachineSize) -> Slots {
    let cpu = machine.millicores(CpuLimit::Megahertz(u64::from(GSH_SPEED_MHZ))).max(1);
    let bounds = [
        (u64::from(machine.cores) * 1_000 / cpu, Bound::Cpu),
        (machine.memory_mib / GSH_MEMORY_MIB.max(1), Bound::Memory),
    ];
    bounds.into_iter().min().map_or(Slots { count: 1, bound: Bound::Memory }, |(count, bound)| Slots {
        count: u32::try_from(count.max(1)).unwrap_or(u32::MAX),
        bound,
    })
}

fn declared(setting: &UsageSetting, machine: &MachineSize) -> Vec<(u64, Bound)> {
    let cores = u64::from(machine.cores);
    let whole_speed = cores * machine.speed_mhz.map_or(CORE_MHZ, u64::from);
    let bounds = [
        setting.max_servers_per_machine.as_ref().map(|per| (u64::from(per.value), Bound::PerMachine)),
        setting.max_servers_per_core.as_ref().map(|per| (u64::from(per.value) * cores, Bound::PerCore)),
        setting.speed_mhz.as_ref().map(|speed| (whole_speed / u64::from(speed.value.max(1)), Bound::Cpu)),
        setting.memory_mib.as_ref().map(|memory| (machine.memory_mib / memory.value.max(1), Bound::Memory)),
    ];
    bounds.into_iter().flatten().collect()
}

impl MachineSize {
    /// A CPU limit in thousandths of this machine's cores.
    pub(crate) fn millicores(&self, limit: CpuLimit) -> u64 {
        match limit {
            CpuLimit::Millicores(millicores) => u64::from(millicores),
            CpuLimit::Megahertz(megahertz) => {
                megahertz.saturating_mul(1_000) / self.speed_mhz.map_or(CORE_MHZ, u64::from).max(1)
            }
        }
    }
}
