//! This machine: how large it is, how players reach it, and what it offers to each fleet region.

use std::net::Ipv4Addr;

use mainstay_agent::{Addresses, MachineOffer, PortRange};
use mainstay_config::{Config, MachineSize};

use super::data;
use crate::arguments::PortChoice;
use crate::failure::{Exit, Failure};

/// Where slots' ports come from, where no `machines` rule says otherwise: five hundred servers with two ports each, below
/// the ports that the kernel gives to outgoing connections.
const PORTS: PortRange = PortRange { first: 20_000, last: 20_999 };

/// Where a range is drawn from: above the well-known services, below the ports of outgoing connections (32768).
const DRAWN_FROM: u16 = 10_000;
const DRAWN_BELOW: u16 = 32_000;
const DRAWN_WIDTH: u16 = 999;

/// How large this machine is.
pub fn size() -> Result<MachineSize, Failure> {
    let unknown = |error: &dyn std::fmt::Display| {
        Failure::new(Exit::Failed, "MS-U013", "cannot tell how large this machine is").why(error)
    };
    let cores = std::thread::available_parallelism().map_err(|error| unknown(&error))?.get();
    let memory = std::fs::read_to_string("/proc/meminfo").map_err(|error| unknown(&error))?;
    let kib: u64 = memory
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))
        .and_then(|rest| rest.trim().trim_end_matches("kB").trim().parse().ok())
        .ok_or_else(|| unknown(&"/proc/meminfo has no MemTotal"))?;
    Ok(MachineSize {
        cores: u32::try_from(cores).unwrap_or(u32::MAX),
        speed_mhz: None,
        memory_mib: kib >> 10,
    })
}

/// What this machine is called.
#[must_use]
pub fn name() -> String {
    nix::unistd::gethostname()
        .map_or_else(|_| "this machine".into(), |name| name.to_string_lossy().into_owned())
}

/// One machine for each fleet region, with as many slots as the fleet's density gives and the region may use.
#[must_use]
pub fn offers(config: &Config, size: &MachineSize) -> Vec<MachineOffer> {
    let name = name();
    let offer = |fleet: &mainstay_config::Fleet, region: &mainstay_config::Region| {
        let slots = config.slots_on(fleet, size).count.min(region.max_servers.value);
        MachineOffer {
            fleet: fleet.name.value.clone(),
            region: region.name.value.clone(),
            name: name.clone(),
            slots: usize::try_from(slots).unwrap_or(usize::MAX),
        }
    };
    let regions =
        config.fleets.values().flat_map(|fleet| fleet.regions.values().map(move |region| (fleet, region)));
    regions.map(|(fleet, region)| offer(fleet, region)).filter(|offer| offer.slots > 0).collect()
}

/// The ports that the first rule for every machine gives, else the usual ones; where Mainstay shall choose, a range
/// drawn at random, so that instances that start together do not meet.
pub fn ports(config: &Config, choice: PortChoice) -> Result<PortRange, Failure> {
    let ruled = config
        .machines
        .rules
        .iter()
        .filter(|rule| rule.labels.is_empty())
        .find_map(|rule| rule.ports.as_ref());
    Ok(match (ruled, choice) {
        (Some(ports), _) => PortRange { first: ports.value.first, last: ports.value.last },
        (None, PortChoice::Fixed) => PORTS,
        (None, PortChoice::Auto) => {
            let drawn = u16::from_le_bytes(data::random()?);
            let first = DRAWN_FROM + drawn % (DRAWN_BELOW - DRAWN_FROM - DRAWN_WIDTH);
            PortRange { first, last: first + DRAWN_WIDTH }
        }
    })
}

/// How players reach it in dev mode, which is for this machine alone.
#[must_use]
pub const fn addresses() -> Addresses {
    Addresses { ipv4: Some(Ipv4Addr::LOCALHOST), ipv6: None }
}
