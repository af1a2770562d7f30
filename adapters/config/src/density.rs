//! How many servers one machine holds: the fleet's usage settings, or what its build configurations state, or what
//! `.gsh` takes where a file states nothing; by the formula of [`mainstay_core::density`].

use mainstay_core::density::{CORE_MHZ, MachineSize, Need, Slots, Usage};

use crate::limits::{GSH_MEMORY_MIB, GSH_SPEED_MHZ};
use crate::model::{Config, CpuLimit, Fleet, Hardware, UsageSetting};

impl Config {
    /// The slots of one machine in a fleet (reference, 3.6): the least of what the usage settings state; without any,
    /// what the neediest build configuration leaves room for. A metal setting counts before a cloud one, as the
    /// machines are the studio's own; `maxServersPerMachine` alone decides where it stands alone.
    pub fn slots_on(&self, fleet: &Fleet, machine: &MachineSize) -> Slots {
        let setting = fleet.usage_settings.iter().find(|setting| setting.hardware.value == Hardware::Metal);
        let usage = setting.or(fleet.usage_settings.first()).map(usage).unwrap_or_default();
        Slots::of(machine, usage, self.neediest(fleet, machine))
    }

    fn neediest(&self, fleet: &Fleet, machine: &MachineSize) -> Need {
        let configurations = || {
            fleet.build_configurations.iter().filter_map(|name| self.build_configurations.get(&name.value))
        };
        let cpu = configurations().map(|configuration| {
            let stated = configuration.limits.cpu.as_ref().map(|cpu| cpu.value);
            millicores(machine, stated.unwrap_or(CpuLimit::Megahertz(u64::from(GSH_SPEED_MHZ))))
        });
        let memory = configurations().map(|configuration| {
            configuration.limits.memory_bytes.as_ref().map_or(GSH_MEMORY_MIB << 20, |memory| memory.value)
        });
        Need {
            cpu_millis: cpu.max().unwrap_or(1_000),
            memory_bytes: memory.max().unwrap_or(GSH_MEMORY_MIB << 20),
        }
    }
}

fn usage(setting: &UsageSetting) -> Usage {
    Usage {
        per_machine: setting.max_servers_per_machine.as_ref().map(|per| per.value),
        per_core: setting.max_servers_per_core.as_ref().map(|per| per.value),
        speed_mhz: setting.speed_mhz.as_ref().map(|speed| speed.value),
        memory_mib: setting.memory_mib.as_ref().map(|memory| memory.value),
    }
}

/// A CPU limit in thousandths of a machine's cores; one whose speed is not known has cores of [`CORE_MHZ`].
pub fn millicores(machine: &MachineSize, limit: CpuLimit) -> u64 {
    match limit {
        CpuLimit::Millicores(millicores) => u64::from(millicores),
        CpuLimit::Megahertz(megahertz) => megahertz.saturating_mul(1_000) / core_mhz(machine),
    }
}

/// The fewest MHz of a machine whose [`millicores`] are these.
pub fn megahertz(machine: &MachineSize, millicores: u32) -> u64 {
    u64::from(millicores).saturating_mul(core_mhz(machine)).div_ceil(1_000)
}

fn core_mhz(machine: &MachineSize) -> u64 {
    machine.speed_mhz.map_or(CORE_MHZ, u64::from).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_in_mhz_may_be_sent_back() {
        for speed_mhz in [None, Some(1_000), Some(2_893), Some(5_201)] {
            let machine = MachineSize { cores: 1, speed_mhz, memory_mib: 1 };
            for limit in [1, 300, 750, 999, 64_000] {
                let told = megahertz(&machine, limit);
                assert_eq!(
                    millicores(&machine, CpuLimit::Megahertz(told)),
                    u64::from(limit),
                    "{speed_mhz:?}"
                );
            }
        }
    }
}
