//! How many servers one machine holds (reference multiplay.md 3.6): the one formula, for files and fleets alike.
//!
//! No closed formula is published; this is the one that Multiplay's worked example gives ("8 cores at half a core each are
//! 16, 32 GB at 6 GB each are 5: 5"): the least of every bound that is stated.

use alloc::sync::Arc;

/// Speed taken for a core of a machine that does not tell: a common cloud core's base clock.
pub const CORE_MHZ: u64 = 2_500;

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

/// What a machine's agent says of the host it runs on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// What it has for servers.
    pub size: MachineSize,
    /// What its processor is called; empty where it does not say.
    pub processor: Arc<str>,
}

/// What a fleet says of how many servers its machines take; what it leaves out bounds nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// `maxServersPerMachine`.
    pub per_machine: Option<u32>,
    /// `maxServersPerCore`.
    pub per_core: Option<u32>,
    /// MHz that one server needs.
    pub speed_mhz: Option<u32>,
    /// MiB that one server needs.
    pub memory_mib: Option<u64>,
}

/// What the neediest server of a fleet may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Need {
    /// Thousandths of a core.
    pub cpu_millis: u64,
    /// Bytes.
    pub memory_bytes: u64,
}

/// A number of slots, and what bounded it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slots {
    /// How many servers fit; at least 1, so that a fleet can start anywhere.
    pub count: u32,
    /// The tightest bound.
    pub bound: Bound,
}

/// What bounded the number of slots.
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
    /// The region's `maxServers`: more could never be allocated.
    Region,
}

impl Bound {
    /// The word for it, in the API.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::PerMachine => "maxServersPerMachine",
            Self::PerCore => "maxServersPerCore",
            Self::Cpu => "cpu",
            Self::Memory => "memory",
            Self::Region => "maxServers",
        }
    }
}

impl Slots {
    /// As many as the usage says; where it says nothing, as many as the machine has room for of the neediest.
    #[must_use]
    pub fn of(machine: &MachineSize, usage: Usage, neediest: Need) -> Self {
        let cores = u64::from(machine.cores);
        let speed = cores * machine.speed_mhz.map_or(CORE_MHZ, u64::from);
        let stated = [
            usage.per_machine.map(|per| (u64::from(per), Bound::PerMachine)),
            usage.per_core.map(|per| (u64::from(per) * cores, Bound::PerCore)),
            usage.speed_mhz.map(|mhz| (speed / u64::from(mhz.max(1)), Bound::Cpu)),
            usage.memory_mib.map(|mib| (machine.memory_mib / mib.max(1), Bound::Memory)),
        ];
        let cpu = cores.saturating_mul(1_000) / neediest.cpu_millis.max(1);
        let memory = machine.memory_mib.saturating_mul(1 << 20) / neediest.memory_bytes.max(1);
        let room = (cpu, Bound::Cpu).min((memory, Bound::Memory));
        let (count, bound) = stated.into_iter().flatten().min().unwrap_or(room);
        Self { count: u32::try_from(count.max(1)).unwrap_or(u32::MAX), bound }
    }

    /// No more than a region may ever have allocated.
    #[must_use]
    pub fn within(self, max_servers: u32) -> Self {
        if max_servers < self.count { Self { count: max_servers, bound: Bound::Region } } else { self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MACHINE: MachineSize = MachineSize { cores: 8, speed_mhz: None, memory_mib: 32 << 10 };
    const NEED: Need = Need { cpu_millis: 500, memory_bytes: 6 << 30 };

    #[test]
    fn the_example_of_multiplays_blog_is_five() {
        let slots = Slots::of(&MACHINE, Usage::default(), NEED);
        assert_eq!(slots, Slots { count: 5, bound: Bound::Memory });
    }

    #[test]
    fn what_is_stated_counts_alone_and_the_region_bounds_it() {
        let usage = Usage { per_core: Some(3), ..Usage::default() };
        let slots = Slots::of(&MACHINE, usage, NEED);
        assert_eq!(slots, Slots { count: 24, bound: Bound::PerCore });
        assert_eq!(slots.within(24), slots);
        assert_eq!(slots.within(7), Slots { count: 7, bound: Bound::Region });
    }

    #[test]
    fn one_always_fits() {
        let none = MachineSize { cores: 0, speed_mhz: Some(0), memory_mib: 0 };
        let usage = Usage { speed_mhz: Some(0), memory_mib: Some(0), ..Usage::default() };
        for usage in [usage, Usage::default()] {
            assert_eq!(Slots::of(&none, usage, Need { cpu_millis: 0, memory_bytes: 0 }).count, 1);
        }
    }
}
