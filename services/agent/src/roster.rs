//! Who this agent is to the control plane: its machines, their slots' ports, and the names they were given.
//!
//! Kept in one small file beside the journal, because it must outlive both sides: a game that runs keeps its ports
//! whatever happens to the agent, and a crashed game is started again while the control plane is away.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use mainstay_core::{FleetId, MachineId, MachineKey, RegionId, ServerId};
use serde::{Deserialize, Serialize};

use crate::config::{Config, MachineOffer, PortRange, SlotCount};
use crate::error::Error;

/// Name of the file in the agent's directory.
pub(crate) const ROSTER_FILE: &str = "machines.json";
/// The version written and read.
const ROSTER_VERSION: u32 = 1;
/// The longest roster read: 16,384 slots of 60 bytes are below this.
const ROSTER_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// A slot's two ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Ports {
    /// Where players connect.
    pub game: u16,
    /// Where queries are answered.
    pub query: u16,
}

/// What the control plane answers when a machine joins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Membership {
    /// The machine's id.
    pub machine: MachineId,
    /// Its fleet.
    pub fleet: FleetId,
    /// Its region.
    pub region: RegionId,
    /// Its region's name.
    pub region_name: String,
    /// Its servers, in the order of its slots.
    pub servers: Vec<ServerId>,
}

/// One machine of this agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Member {
    pub(crate) key: MachineKey,
    /// The fleet and region it was made for, as the offer names them.
    pub(crate) fleet: String,
    pub(crate) region: String,
    pub(crate) ports: Vec<Ports>,
    pub(crate) membership: Option<Membership>,
}

impl Member {
    pub(crate) fn is_for(&self, offer: &MachineOffer) -> bool {
        self.fleet == offer.fleet && self.region == offer.region
    }

    /// Gives the machine so many slots, where it has fewer.
    fn fill(
        &mut self,
        slots: usize,
        used: &mut BTreeSet<u16>,
        range: PortRange,
        is_free: impl Fn(u16) -> bool,
    ) -> Result<(), Error> {
        let mut free = (range.first..=range.last).filter(|&port| is_free(port));
        while self.ports.len() < slots {
            let mut next = || free.by_ref().find(|&port| used.insert(port));
            let (Some(game), Some(query)) = (next(), next()) else {
                return Err(Error::PortsUsedUp { range, slots, found: self.ports.len() });
            };
            self.ports.push(Ports { game, query });
        }
        Ok(())
    }
}

/// Whether a machine has more slots than before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Grown {
    Yes,
    No,
}

/// Everything a slot's files and launch say beyond its order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SlotFacts {
    pub(crate) server: ServerId,
    pub(crate) ports: Ports,
    pub(crate) machine: MachineId,
    pub(crate) fleet: FleetId,
    pub(crate) region: RegionId,
    pub(crate) region_name: String,
    /// The slot's place among all slots of this agent: the same for life.
    pub(crate) place: u32,
}

/// The machines of this agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Roster {
    version: u32,
    members: Vec<Member>,
}

impl Roster {
    /// Reads the roster and brings it in line with what is offered now: machines and slots are added, never taken away.
    pub(crate) fn open(
        dir: &Path,
        offers: &[MachineOffer],
        range: PortRange,
        is_free: impl Fn(u16) -> bool,
    ) -> Result<Self, Error> {
        let mut roster = Self::read(dir)?;
        let before = roster.clone();
        for offer in offers {
            roster.take(offer, range, &is_free)?;
        }
        if roster != before {
            roster.write(dir)?;
        }
        Ok(roster)
    }

    /// What the machine of a fleet region calls itself that is here already; where neither is said, the only one.
    pub(crate) fn key_for(
        dir: &Path,
        fleet: Option<&str>,
        region: Option<&str>,
    ) -> Result<Option<MachineKey>, Error> {
        let roster = Self::read(dir)?;
        let is = |asked: Option<&str>, has: &str| asked.is_none_or(|asked| asked == has);
        let mut fit =
            roster.members.iter().filter(|member| is(fleet, &member.fleet) && is(region, &member.region));
        Ok(fit.next().filter(|_| fit.next().is_none()).map(|member| member.key))
    }

    fn read(dir: &Path) -> Result<Self, Error> {
        let path = dir.join(ROSTER_FILE);
        let wrong = |why: String| Error::Roster { path: path.clone(), why };
        let length = match std::fs::metadata(&path) {
            Ok(metadata) => metadata.len(),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Self { version: ROSTER_VERSION, members: Vec::new() });
            }
            Err(source) => return Err(Error::Files { what: "read", path: path.clone(), source }),
        };
        if length > ROSTER_BYTES_MAX {
            return Err(wrong(format!(
                "it has {length} bytes, more than the {ROSTER_BYTES_MAX} it can need"
            )));
        }
        let bytes = std::fs::read(&path).map_err(|source| Error::Files {
            what: "read",
            path: path.clone(),
            source,
        })?;
        let roster: Self = serde_json::from_slice(&bytes).map_err(|error| wrong(error.to_string()))?;
        if roster.version != ROSTER_VERSION {
            return Err(wrong(format!(
                "it has version {}, this agent reads {ROSTER_VERSION}",
                roster.version
            )));
        }
        Ok(roster)
    }

    fn write(&self, dir: &Path) -> Result<(), Error> {
        crate::files::write(dir, ROSTER_FILE, self)
    }

    fn take(
        &mut self,
        offer: &MachineOffer,
        range: PortRange,
        is_free: impl Fn(u16) -> bool,
    ) -> Result<(), Error> {
        let mut used = self.ports_used();
        let index = match self.members.iter().position(|member| member.is_for(offer)) {
            Some(index) => index,
            None => {
                let key = match offer.key {
                    Some(key) => key,
                    None => new_key()?,
                };
                let (fleet, region) = (offer.fleet.clone(), offer.region.clone());
                self.members.push(Member { key, fleet, region, ports: Vec::new(), membership: None });
                self.members.len() - 1
            }
        };
        let Some(member) = self.members.get_mut(index) else { return Ok(()) };
        let stated = match offer.slots {
            SlotCount::Stated(slots) => slots,
            SlotCount::AsFleet(_) => usize::MAX,
        };
        if member.ports.len() > stated {
            tracing::warn!(
                code = "MS-S418",
                asked = stated,
                has = member.ports.len(),
                "this machine keeps the slots it joined with; fewer need a new data directory"
            );
        }
        let outside = |ports: &&Ports| !(range.first..=range.last).contains(&ports.game);
        if let Some(ports) = member.ports.iter().find(outside) {
            tracing::info!(
                code = "MS-S418",
                first = range.first,
                last = range.last,
                has = ports.game,
                "slots keep the ports they joined with; others need a new data directory"
            );
        }
        member.fill(offer.slots.first(), &mut used, range, is_free)
    }

    /// Brings a machine that has as many slots as its fleet has room for to so many. Whether it has more than before.
    pub(crate) fn grow(
        &mut self,
        config: &Config,
        machine: MachineId,
        slots: usize,
        is_free: impl Fn(u16) -> bool,
    ) -> Result<Grown, Error> {
        let mut used = self.ports_used();
        let is_ours =
            |member: &&mut Member| member.membership.as_ref().is_some_and(|it| it.machine == machine);
        let Some(member) = self.members.iter_mut().find(is_ours) else { return Ok(Grown::No) };
        let as_fleet = config.machines.iter().any(|offer| {
            let may = match offer.slots {
                SlotCount::AsFleet(_) => true,
                SlotCount::Stated(_) => false,
            };
            may && member.is_for(offer)
        });
        if !as_fleet || member.ports.len() >= slots {
            return Ok(Grown::No);
        }
        let before = member.ports.clone();
        if let Err(error) = member.fill(slots, &mut used, config.ports, is_free) {
            member.ports = before;
            return Err(error);
        }
        self.write(&config.data_dir)?;
        Ok(Grown::Yes)
    }

    fn ports_used(&self) -> BTreeSet<u16> {
        self.members.iter().flat_map(|member| &member.ports).flat_map(|it| [it.game, it.query]).collect()
    }

    /// The machines, each for one fleet region.
    pub(crate) fn members(&self) -> &[Member] {
        &self.members
    }

    /// Notes what the control plane answered. A machine keeps its id, and a slot its server, for life.
    pub(crate) fn joined(
        &mut self,
        dir: &Path,
        key: MachineKey,
        membership: Membership,
    ) -> Result<(), Error> {
        let Some(member) = self.members.iter_mut().find(|member| member.key == key) else {
            return Ok(());
        };
        if member.membership.as_ref() == Some(&membership) {
            return Ok(());
        }
        member.membership = Some(membership);
        self.write(dir)
    }

    /// Every slot that has a server's id.
    pub(crate) fn slots(&self) -> BTreeMap<ServerId, SlotFacts> {
        let mut place = 0;
        let mut slots = BTreeMap::new();
        for member in &self.members {
            for (n, &ports) in member.ports.iter().enumerate() {
                let known = member.membership.as_ref().and_then(|it| Some((it, *it.servers.get(n)?)));
                if let Some((membership, server)) = known {
                    let facts = SlotFacts {
                        server,
                        ports,
                        machine: membership.machine,
                        fleet: membership.fleet,
                        region: membership.region,
                        region_name: membership.region_name.clone(),
                        place,
                    };
                    slots.insert(server, facts);
                }
                place += 1;
            }
        }
        slots
    }
}

fn new_key() -> Result<MachineKey, Error> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| Error::Randomness { why: error.to_string() })?;
    Ok(MachineKey(uuid::Builder::from_random_bytes(bytes).into_uuid()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use mainstay_core::FleetNumber;
    use uuid::Uuid;

    const RANGE: PortRange = PortRange { first: 9000, last: 9009 };

    fn offer(n: u32, slots: usize) -> MachineOffer {
        MachineOffer {
            fleet: "arena".into(),
            region: format!("region {n}"),
            name: "here".into(),
            slots: SlotCount::Stated(slots),
            key: None,
        }
    }

    fn membership(servers: u32) -> Membership {
        let fleet = FleetNumber::new(1).unwrap();
        Membership {
            machine: MachineId::of(fleet, 1),
            fleet: FleetId(Uuid::from_u128(9)),
            region: RegionId(Uuid::from_u128(8)),
            region_name: "home".into(),
            servers: (1..=servers).map(|n| ServerId::of(fleet, n)).collect(),
        }
    }

    #[test]
    fn what_was_given_once_stays() {
        let dir = tempfile::tempdir().unwrap();
        let first = Roster::open(dir.path(), &[offer(1, 2)], RANGE, |port| port != 9001).unwrap();
        assert_eq!(
            first.members()[0].ports,
            [Ports { game: 9000, query: 9002 }, Ports { game: 9003, query: 9004 }]
        );
        let again = Roster::open(dir.path(), &[offer(1, 2)], RANGE, |_| false).unwrap();
        assert_eq!(again, first, "ports that are in use by our own games are kept");
        let grown = Roster::open(dir.path(), &[offer(1, 3), offer(2, 1)], RANGE, |_| true).unwrap();
        assert_eq!(grown.members()[0].ports[2], Ports { game: 9001, query: 9005 });
        assert_eq!(grown.members()[1].ports, [Ports { game: 9006, query: 9007 }]);
        assert_eq!(grown.members()[0].key, first.members()[0].key);
        let error = Roster::open(dir.path(), &[offer(2, 3)], RANGE, |_| true).unwrap_err();
        assert!(matches!(error, Error::PortsUsedUp { slots: 3, found: 2, .. }), "{error}");
    }

    #[test]
    fn names_given_by_the_plane_are_kept() {
        let dir = tempfile::tempdir().unwrap();
        let mut roster = Roster::open(dir.path(), &[offer(1, 2)], RANGE, |_| true).unwrap();
        assert!(roster.slots().is_empty());
        let key = roster.members()[0].key;
        roster.joined(dir.path(), key, membership(2)).unwrap();
        let read = Roster::open(dir.path(), &[], RANGE, |_| true).unwrap();
        assert_eq!(read, roster);
        let slots = read.slots();
        assert_eq!(slots.len(), 2);
        let facts = &slots[&membership(2).servers[1]];
        assert_eq!((facts.ports, facts.place), (Ports { game: 9002, query: 9003 }, 1));
    }

    #[test]
    fn a_damaged_roster_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        for text in ["", "{}", r#"{"version":2,"members":[]}"#] {
            std::fs::write(dir.path().join(ROSTER_FILE), text).unwrap();
            let error = Roster::open(dir.path(), &[], RANGE, |_| true).unwrap_err();
            assert!(matches!(error, Error::Roster { .. }), "{text}: {error}");
        }
    }
}
