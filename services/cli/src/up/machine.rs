//! This machine: how large it is, how players reach it, and what it offers to each fleet region.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, ToSocketAddrs as _, UdpSocket};

use mainstay_agent::{Addresses, MachineOffer, PortRange, SlotCount};
use mainstay_config::{Config, MachineSize};
use mainstay_core::density::Host;

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

/// What this machine has for servers.
pub fn host() -> Result<Host, Failure> {
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
    // Not every kernel tells: one without it is a machine of an unknown processor.
    let processors = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let size = MachineSize {
        cores: u32::try_from(cores).unwrap_or(u32::MAX),
        speed_mhz: top_speed().or_else(|| told(&processors, "cpu MHz")?.parse::<f64>().ok().and_then(mhz)),
        memory_mib: kib >> 10,
    };
    Ok(Host { size, processor: told(&processors, "model name").unwrap_or_default().into() })
}

/// What `/proc/cpuinfo` says of the first processor; no longer than the wire takes.
fn told<'a>(processors: &'a str, what: &str) -> Option<&'a str> {
    let line = processors.lines().find_map(|line| line.strip_prefix(what))?;
    let value = line.split_once(':')?.1.trim();
    let end = (0..=mainstay_wire::agent::PROCESSOR_BYTES_MAX).rev().find(|end| value.is_char_boundary(*end));
    Some(value.get(..end?).unwrap_or(value))
}

/// MHz of the first core at its fastest, where its frequency is scaled: what it runs at just now changes from start to start.
fn top_speed() -> Option<u32> {
    let khz = std::fs::read_to_string("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq").ok()?;
    khz.trim().parse::<u32>().ok().map(|khz| khz / 1_000).filter(|mhz| *mhz > 0)
}

/// A whole number of MHz that a processor may have.
fn mhz(told: f64) -> Option<u32> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "within the range just looked at"
    )]
    (1.0..=100_000.0).contains(&told).then(|| told.round() as u32)
}

/// This machine as limits are counted on: a core has [`mainstay_core::density::CORE_MHZ`] everywhere, so that a limit in MHz
/// is the same share of a core whichever computer reads the file.
#[must_use]
pub const fn as_any(size: MachineSize) -> MachineSize {
    MachineSize { speed_mhz: None, ..size }
}

/// What this machine is called.
#[must_use]
pub fn name() -> String {
    nix::unistd::gethostname()
        .map_or_else(|_| "this machine".into(), |name| name.to_string_lossy().into_owned())
}

/// One machine for each fleet region that has no provider of its own, with as many slots as the fleet's density gives and
/// the region may use.
#[must_use]
pub fn offers(config: &Config, size: &MachineSize) -> Vec<MachineOffer> {
    let name = name();
    let offer = |fleet: &mainstay_config::Fleet, region: &mainstay_config::Region| {
        // What build configurations need is a share of a core; what usage settings say counts by the real one.
        let size = if fleet.usage_settings.is_empty() { as_any(*size) } else { *size };
        let slots = config.slots_on(fleet, &size).within(region.max_servers.value).count;
        MachineOffer {
            fleet: fleet.name.value.clone(),
            region: region.name.value.clone(),
            name: name.clone(),
            slots: SlotCount::AsFleet(usize::try_from(slots).unwrap_or(usize::MAX)),
            key: None,
        }
    };
    let regions =
        config.fleets.values().flat_map(|fleet| fleet.regions.values().map(move |region| (fleet, region)));
    let regions = regions.filter(|(_, region)| region.provider.is_none());
    regions
        .map(|(fleet, region)| offer(fleet, region))
        .filter(|offer| offer.slots != SlotCount::AsFleet(0))
        .collect()
}

/// The ports that the file gives, else the usual ones; where Mainstay shall choose, a range
/// drawn at random, so that instances that start together do not meet.
pub fn ports(config: &Config, choice: PortChoice) -> Result<PortRange, Failure> {
    Ok(match (&config.machines.ports, choice) {
        (Some(ports), _) => PortRange { first: ports.value.first, last: ports.value.last },
        (None, PortChoice::Fixed) => PORTS,
        (None, PortChoice::Auto) => {
            let drawn = u16::from_le_bytes(data::random()?);
            let first = DRAWN_FROM + drawn % (DRAWN_BELOW - DRAWN_FROM - DRAWN_WIDTH);
            PortRange { first, last: first + DRAWN_WIDTH }
        }
    })
}

/// How players reach this host: as the operator says; else by the addresses from which it would reach `towards`, or
/// loopback where nothing lies beyond.
pub fn addresses(advertised: &[IpAddr], towards: Towards<'_>) -> Result<Addresses, Failure> {
    let mut addresses = Addresses::default();
    for ip in advertised {
        let taken = match ip.to_canonical() {
            IpAddr::V4(ip) => addresses.ipv4.replace(ip).is_some(),
            IpAddr::V6(ip) => addresses.ipv6.replace(ip).is_some(),
        };
        if taken || ip.is_unspecified() {
            let what =
                format!("{ip} cannot be advertised: one IPv4 and one IPv6 address are, each a host's own");
            return Err(Failure::new(Exit::Usage, "MS-U024", what).fix("give --advertise once for each"));
        }
    }
    if !advertised.is_empty() {
        return Ok(addresses);
    }
    let found = match towards {
        Towards::Nobody => return Ok(Addresses { ipv4: Some(Ipv4Addr::LOCALHOST), ipv6: None }),
        Towards::Anybody => Addresses { ipv4: v4_towards(SOMEWHERE_V4), ipv6: v6_towards(SOMEWHERE_V6) },
        Towards::Plane(host, port) => towards_plane(host, port),
    };
    if found.ipv4.is_none() && found.ipv6.is_none() {
        return Err(Failure::new(Exit::Failed, "MS-U025", "cannot tell how players reach this machine")
            .why("no route leads anywhere yet")
            .fix("say it: --advertise IP"));
    }
    Ok(found)
}

/// Whom this host wants to reach, which decides the address it shows.
#[derive(Debug, Clone, Copy)]
pub enum Towards<'a> {
    /// Nobody beyond itself.
    Nobody,
    /// Whoever comes: the route that leads everywhere.
    Anybody,
    /// A control plane.
    Plane(&'a str, u16),
}

/// Addresses that belong to nobody (RFC 5737, RFC 3849): the route to them is the one that leads everywhere.
const SOMEWHERE_V4: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const SOMEWHERE_V6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1);

/// Of the version of IP by which the control plane is reached, that very address; of the other, the one that leads to it
/// under its other name, else the one that leads everywhere. Where that is this host's loopback, nobody beyond it is reached
/// either way, as with [`Towards::Nobody`].
fn towards_plane(host: &str, port: u16) -> Addresses {
    let plane: Vec<IpAddr> = (host, port)
        .to_socket_addrs()
        .into_iter()
        .flatten()
        .map(|address| address.ip().to_canonical())
        .collect();
    let v4 = plane.iter().find_map(|ip| match ip {
        IpAddr::V4(ip) => Some(*ip),
        IpAddr::V6(_) => None,
    });
    let v6 = plane.iter().find_map(|ip| match ip {
        IpAddr::V6(ip) => Some(*ip),
        IpAddr::V4(_) => None,
    });
    let found = Addresses { ipv4: v4.and_then(v4_towards), ipv6: v6.and_then(v6_towards) };
    if plane.iter().any(IpAddr::is_loopback) {
        return found;
    }
    Addresses {
        ipv4: found.ipv4.or_else(|| v4_towards(SOMEWHERE_V4)),
        ipv6: found.ipv6.or_else(|| v6_towards(SOMEWHERE_V6)),
    }
}

fn v4_towards(there: Ipv4Addr) -> Option<Ipv4Addr> {
    match source(IpAddr::V4(there), IpAddr::V4(Ipv4Addr::UNSPECIFIED))? {
        IpAddr::V4(ip) => Some(ip),
        IpAddr::V6(_) => None,
    }
}

fn v6_towards(there: Ipv6Addr) -> Option<Ipv6Addr> {
    match source(IpAddr::V6(there), IpAddr::V6(Ipv6Addr::UNSPECIFIED))? {
        // Without its interface's name a link-local address leads nowhere.
        IpAddr::V6(ip) if !ip.is_unicast_link_local() => Some(ip),
        IpAddr::V6(_) | IpAddr::V4(_) => None,
    }
}

/// The address from which the system would speak to another: asked by a socket that never sends.
fn source(there: IpAddr, any: IpAddr) -> Option<IpAddr> {
    let socket = UdpSocket::bind((any, 0)).ok()?;
    socket.connect((there, 9)).ok()?;
    Some(socket.local_addr().ok()?.ip()).filter(|ip| !ip.is_unspecified())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// "each machine has advertised IPv4 and IPv6 addresses (set or detected)" (issue 3, point 4): both by one rule, so that a
    /// machine that joins over loopback shows no address of another network beside it.
    #[test]
    fn a_machine_that_joins_over_loopback_shows_loopback_alone() {
        let joined = |host: &str| towards_plane(host, 7421);
        assert_eq!(joined("127.0.0.1"), Addresses { ipv4: Some(Ipv4Addr::LOCALHOST), ipv6: None });
        // Without IPv6 there is no address to show.
        let over_v6 = joined("::1");
        assert!(over_v6.ipv4.is_none() && over_v6.ipv6.is_none_or(|ip| ip.is_loopback()), "{over_v6:?}");
    }
}
