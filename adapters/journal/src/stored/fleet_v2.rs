//! Format 2 of a fleet's events, and format 3, which only appends to it: holds, reservations, readiness, and why a server got an order.

use std::sync::Arc;
use std::time::Duration;

use mainstay_core::density::{Host, MachineSize};
use mainstay_core::{
    AllocationId, BuildConfigurationId, Generation, MachineId, MachineKey, RegionId, ReservationId, ServerId,
    Timestamp,
};
use mainstay_fleet::{End as DomainEnd, Event as DomainEvent, Losers, Ports, Purpose, Renewal, Request};
use serde::{Deserialize, Serialize};

use super::catalog_v2::FleetSpec;
use super::catalog_v3;
use super::cause_v2::{Cause, HoldEnd, ReservationEnd};
use super::fleet_v1::{ReachedAt, Renews};
use super::machine_v3::{Machine, Ttl};
use super::slot_v1::{ConfigurationRef, Intent};
use super::slot_v2::{Incident, Spec};
use super::slot_v3;

#[derive(Serialize, Deserialize)]
pub(super) enum Event<'a> {
    #[serde(borrow)]
    Configured(FleetSpec<'a>),
    SpecKept(Spec<'a>),
    MachineJoined {
        machine: MachineId,
        key: MachineKey,
        region: RegionId,
        name: &'a str,
        reached_at: ReachedAt,
    },
    MachineReaddressed {
        machine: MachineId,
        name: &'a str,
        reached_at: ReachedAt,
    },
    ServersAdded {
        machine: MachineId,
        first: ServerId,
        /// Game and query port of each.
        ports: Vec<(u16, u16)>,
        configuration: ConfigurationRef,
    },
    ServerOrdered {
        server: ServerId,
        generation: Generation,
        configuration: ConfigurationRef,
        intent: Intent,
        cause: Cause,
    },
    AllocationRequested {
        id: AllocationId,
        configuration: BuildConfigurationId,
        region: RegionId,
        payload: Option<&'a str>,
        renewal: Renews,
        until_ms: u64,
    },
    AllocationPlaced {
        id: AllocationId,
        server: ServerId,
        generation: Generation,
        configuration: ConfigurationRef,
        intent: Intent,
        cause: Cause,
    },
    AllocationFulfilled {
        id: AllocationId,
    },
    AllocationEnded {
        id: AllocationId,
        end: End<'a>,
    },
    ServerHeld {
        server: ServerId,
        until_ms: u64,
    },
    HoldEnded {
        server: ServerId,
        end: HoldEnd,
    },
    ServerReserved {
        server: ServerId,
        reservation: ReservationId,
    },
    ReservationEnded {
        server: ServerId,
        end: ReservationEnd,
    },
    ServerReadied {
        server: ServerId,
    },
    ServerUnreadied {
        server: ServerId,
    },
    IncidentTold(Incident<'a>),
    ServerAssigned {
        server: ServerId,
        configuration: BuildConfigurationId,
    },
    /// Since format 3, in the place of `Configured`.
    ConfiguredInV3(catalog_v3::FleetSpec<'a>),
    /// Since format 3.
    Machine(Machine),
    /// Since format 3, in the place of `SpecKept`.
    SpecKeptInV3(slot_v3::Spec<'a>),
    /// Since format 3. Before, it was an `IncidentTold` too.
    IncidentClosed(Incident<'a>),
    /// Since format 3: as `AllocationRequested`, of an operator's test.
    TestRequested {
        id: AllocationId,
        configuration: BuildConfigurationId,
        region: RegionId,
        payload: Option<&'a str>,
        renewal: Renews,
        until_ms: u64,
    },
    /// Since format 3, in the place of `AllocationFulfilled`.
    FulfilledOn {
        id: AllocationId,
        server: ServerId,
    },
    /// Since format 3, in the place of `AllocationEnded` where it had a server.
    EndedOn {
        id: AllocationId,
        server: ServerId,
        end: End<'a>,
    },
    /// Since format 3.
    Described {
        machine: MachineId,
        cores: u32,
        speed_mhz: Option<u32>,
        memory_mib: u64,
        processor: &'a str,
    },
    /// Since format 3, in the place of `Configured` where a region's machines go by times of their own: those of each.
    ConfiguredWithTimes(catalog_v3::FleetSpec<'a>, Vec<Option<Ttl>>),
    /// Since format 3.
    ServersForgotten {
        machine: MachineId,
        servers: Vec<ServerId>,
    },
}

#[derive(Serialize, Deserialize)]
pub(super) enum End<'a> {
    Deallocated,
    Completed,
    PlacementTimedOut {
        servers: u32,
        allocated: u32,
        silent: u32,
        unreported: u32,
    },
    BackedOff {
        crashes: u32,
        #[serde(borrow)]
        cause: &'a str,
    },
    Lost,
    PreRecovery {
        cause: &'a str,
    },
    Idle {
        ttl: Duration,
    },
    Aged {
        ttl: Duration,
    },
    RolledOut,
    /// Since format 3.
    MachineLost,
}

impl<'a> From<&'a DomainEvent> for Event<'a> {
    fn from(event: &'a DomainEvent) -> Self {
        match event {
            DomainEvent::Configured(spec) => match catalog_v3::times(spec) {
                None => Self::ConfiguredInV3(spec.as_ref().into()),
                Some(times) => Self::ConfiguredWithTimes(spec.as_ref().into(), times),
            },
            DomainEvent::SpecKept(spec) => Self::SpecKeptInV3(spec.as_ref().into()),
            DomainEvent::MachineJoined { machine, key, region, name, addresses } => Self::MachineJoined {
                machine: *machine,
                key: *key,
                region: *region,
                name,
                reached_at: addresses.into(),
            },
            DomainEvent::MachineReaddressed { machine, name, addresses } => {
                Self::MachineReaddressed { machine: *machine, name, reached_at: addresses.into() }
            }
            DomainEvent::ServersAdded { machine, first, ports, configuration } => Self::ServersAdded {
                machine: *machine,
                first: *first,
                ports: ports.iter().map(|Ports { game, query }| (*game, *query)).collect(),
                configuration: (*configuration).into(),
            },
            DomainEvent::ServerOrdered { server, generation, configuration, intent, cause } => {
                Self::ServerOrdered {
                    server: *server,
                    generation: *generation,
                    configuration: (*configuration).into(),
                    intent: (*intent).into(),
                    cause: (*cause).into(),
                }
            }
            DomainEvent::AllocationRequested { id, request, until } => Self::requested(*id, request, *until),
            DomainEvent::AllocationPlaced { id, server, generation, configuration, intent, cause } => {
                Self::AllocationPlaced {
                    id: *id,
                    server: *server,
                    generation: *generation,
                    configuration: (*configuration).into(),
                    intent: (*intent).into(),
                    cause: (*cause).into(),
                }
            }
            DomainEvent::AllocationFulfilled { id, server } => match *server {
                None => Self::AllocationFulfilled { id: *id },
                Some(server) => Self::FulfilledOn { id: *id, server },
            },
            DomainEvent::AllocationEnded { id, server, end } => match *server {
                None => Self::AllocationEnded { id: *id, end: end.into() },
                Some(server) => Self::EndedOn { id: *id, server, end: end.into() },
            },
            DomainEvent::MachineDescribed { machine, host } => {
                let Host { size: MachineSize { cores, speed_mhz, memory_mib }, processor } = host;
                let (cores, speed_mhz, memory_mib) = (*cores, *speed_mhz, *memory_mib);
                Self::Described { machine: *machine, cores, speed_mhz, memory_mib, processor }
            }
            DomainEvent::ServersForgotten { machine, servers } => {
                Self::ServersForgotten { machine: *machine, servers: servers.clone() }
            }
            DomainEvent::ServerHeld { server, until } => {
                Self::ServerHeld { server: *server, until_ms: until.unix_ms() }
            }
            DomainEvent::HoldEnded { server, end } => Self::HoldEnded { server: *server, end: (*end).into() },
            DomainEvent::ServerReserved { server, reservation } => {
                Self::ServerReserved { server: *server, reservation: *reservation }
            }
            DomainEvent::ReservationEnded { server, end } => {
                Self::ReservationEnded { server: *server, end: (*end).into() }
            }
            DomainEvent::ServerReadied { server } => Self::ServerReadied { server: *server },
            DomainEvent::ServerUnreadied { server } => Self::ServerUnreadied { server: *server },
            DomainEvent::IncidentTold { incident } => Self::IncidentTold(incident.as_ref().into()),
            DomainEvent::IncidentClosed { incident } => Self::IncidentClosed(incident.as_ref().into()),
            DomainEvent::ServerAssigned { server, configuration } => {
                Self::ServerAssigned { server: *server, configuration: *configuration }
            }
            DomainEvent::MachineRequested { machine, key, region, slots, until } => {
                Self::Machine(Machine::Requested {
                    machine: *machine,
                    key: *key,
                    region: *region,
                    slots: *slots,
                    until_ms: until.unix_ms(),
                })
            }
            DomainEvent::MachineCame { machine } => Self::Machine(Machine::Came(*machine)),
            DomainEvent::MachineBooted { machine, boot } => {
                Self::Machine(Machine::Booted { machine: *machine, boot: *boot })
            }
            DomainEvent::MachineDraining { machine } => Self::Machine(Machine::Draining(*machine)),
            DomainEvent::MachineEmptied { machine } => Self::Machine(Machine::Emptied(*machine)),
            DomainEvent::MachineWoken { machine } => Self::Machine(Machine::Woken(*machine)),
            DomainEvent::MachineLost { machine } => Self::Machine(Machine::Lost(*machine)),
            DomainEvent::MachineReturned { machine, absence } => {
                Self::Machine(Machine::Returned { machine: *machine, absence: (*absence).into() })
            }
            DomainEvent::MachineParting { machine, why } => {
                Self::Machine(Machine::Parting { machine: *machine, why: (*why).into() })
            }
            DomainEvent::MachineDutySet { machine, wish } => {
                Self::Machine(Machine::Duty { machine: *machine, wish: (*wish).into() })
            }
            DomainEvent::MachineRemoved { machine } => Self::Machine(Machine::Removed(*machine)),
            DomainEvent::CountersKept { machines, servers } => {
                Self::Machine(Machine::CountersKept { machines: *machines, servers: *servers })
            }
            DomainEvent::AllocationReadied { id } => Self::Machine(Machine::Readied(*id)),
            DomainEvent::AllocationDisplaced { id, until } => {
                Self::Machine(Machine::Displaced { id: *id, until_ms: until.unix_ms() })
            }
        }
    }
}

impl<'a> Event<'a> {
    fn requested(id: AllocationId, request: &'a Request, until: Timestamp) -> Self {
        let Request { configuration, region, payload, renewal, purpose } = request;
        let renewal = match renewal {
            Renewal::Keep => Renews::Keep,
            Renewal::Restart => Renews::Restart,
        };
        let (configuration, region, payload) = (*configuration, *region, payload.as_deref());
        let until_ms = until.unix_ms();
        match purpose {
            Purpose::Session => {
                Self::AllocationRequested { id, configuration, region, payload, renewal, until_ms }
            }
            Purpose::Test => Self::TestRequested { id, configuration, region, payload, renewal, until_ms },
        }
    }
}

impl From<Event<'_>> for DomainEvent {
    fn from(event: Event<'_>) -> Self {
        match event {
            Event::Configured(spec) => Self::Configured(Arc::new(spec.into())),
            Event::ConfiguredInV3(spec) => Self::Configured(Arc::new(spec.into())),
            Event::ConfiguredWithTimes(spec, times) => {
                Self::Configured(Arc::new(catalog_v3::with_times(spec, times)))
            }
            Event::Machine(event) => event.into(),
            Event::SpecKept(spec) => Self::SpecKept(Box::new(spec.into())),
            Event::SpecKeptInV3(spec) => Self::SpecKept(Box::new(spec.into())),
            Event::MachineJoined { machine, key, region, name, reached_at } => {
                Self::MachineJoined { machine, key, region, name: name.into(), addresses: reached_at.into() }
            }
            Event::MachineReaddressed { machine, name, reached_at } => {
                Self::MachineReaddressed { machine, name: name.into(), addresses: reached_at.into() }
            }
            Event::ServersAdded { machine, first, ports, configuration } => Self::ServersAdded {
                machine,
                first,
                ports: ports.into_iter().map(|(game, query)| Ports { game, query }).collect(),
                configuration: configuration.into(),
            },
            Event::ServerOrdered { server, generation, configuration, intent, cause } => {
                Self::ServerOrdered {
                    server,
                    generation,
                    configuration: configuration.into(),
                    intent: intent.into(),
                    cause: cause.into(),
                }
            }
            Event::AllocationRequested { id, configuration, region, payload, renewal, until_ms } => {
                let (payload, renewal) = (payload.map(Into::into), renewal.into());
                let purpose = Purpose::Session;
                let request = Request { configuration, region, payload, renewal, purpose };
                Self::AllocationRequested { id, request, until: Timestamp::from_unix_ms(until_ms) }
            }
            Event::TestRequested { id, configuration, region, payload, renewal, until_ms } => {
                let (payload, renewal) = (payload.map(Into::into), renewal.into());
                let purpose = Purpose::Test;
                let request = Request { configuration, region, payload, renewal, purpose };
                Self::AllocationRequested { id, request, until: Timestamp::from_unix_ms(until_ms) }
            }
            Event::AllocationPlaced { id, server, generation, configuration, intent, cause } => {
                Self::AllocationPlaced {
                    id,
                    server,
                    generation,
                    configuration: configuration.into(),
                    intent: intent.into(),
                    cause: cause.into(),
                }
            }
            Event::AllocationFulfilled { id } => Self::AllocationFulfilled { id, server: None },
            Event::FulfilledOn { id, server } => Self::AllocationFulfilled { id, server: Some(server) },
            Event::AllocationEnded { id, end } => Self::AllocationEnded { id, server: None, end: end.into() },
            Event::EndedOn { id, server, end } => {
                Self::AllocationEnded { id, server: Some(server), end: end.into() }
            }
            Event::Described { machine, cores, speed_mhz, memory_mib, processor } => {
                let size = MachineSize { cores, speed_mhz, memory_mib };
                Self::MachineDescribed { machine, host: Host { size, processor: processor.into() } }
            }
            Event::ServersForgotten { machine, servers } => Self::ServersForgotten { machine, servers },
            Event::ServerHeld { server, until_ms } => {
                Self::ServerHeld { server, until: Timestamp::from_unix_ms(until_ms) }
            }
            Event::HoldEnded { server, end } => Self::HoldEnded { server, end: end.into() },
            Event::ServerReserved { server, reservation } => Self::ServerReserved { server, reservation },
            Event::ReservationEnded { server, end } => Self::ReservationEnded { server, end: end.into() },
            Event::ServerReadied { server } => Self::ServerReadied { server },
            Event::ServerUnreadied { server } => Self::ServerUnreadied { server },
            Event::IncidentTold(incident) => Self::IncidentTold { incident: Box::new(incident.into()) },
            Event::IncidentClosed(incident) => Self::IncidentClosed { incident: Box::new(incident.into()) },
            Event::ServerAssigned { server, configuration } => Self::ServerAssigned { server, configuration },
        }
    }
}

impl<'a> From<&'a DomainEnd> for End<'a> {
    fn from(end: &'a DomainEnd) -> Self {
        match end {
            DomainEnd::Deallocated => Self::Deallocated,
            DomainEnd::Completed => Self::Completed,
            DomainEnd::PlacementTimedOut(Losers { servers, allocated, silent, unreported }) => {
                Self::PlacementTimedOut {
                    servers: *servers,
                    allocated: *allocated,
                    silent: *silent,
                    unreported: *unreported,
                }
            }
            DomainEnd::BackedOff { crashes, cause } => Self::BackedOff { crashes: *crashes, cause },
            DomainEnd::Lost => Self::Lost,
            DomainEnd::PreRecovery { cause } => Self::PreRecovery { cause },
            DomainEnd::Idle { ttl } => Self::Idle { ttl: *ttl },
            DomainEnd::Aged { ttl } => Self::Aged { ttl: *ttl },
            DomainEnd::RolledOut => Self::RolledOut,
            DomainEnd::MachineLost => Self::MachineLost,
        }
    }
}

impl From<End<'_>> for DomainEnd {
    fn from(end: End<'_>) -> Self {
        match end {
            End::Deallocated => Self::Deallocated,
            End::Completed => Self::Completed,
            End::PlacementTimedOut { servers, allocated, silent, unreported } => {
                Self::PlacementTimedOut(Losers { servers, allocated, silent, unreported })
            }
            End::BackedOff { crashes, cause } => Self::BackedOff { crashes, cause: cause.into() },
            End::Lost => Self::Lost,
            End::PreRecovery { cause } => Self::PreRecovery { cause: cause.into() },
            End::Idle { ttl } => Self::Idle { ttl },
            End::Aged { ttl } => Self::Aged { ttl },
            End::RolledOut => Self::RolledOut,
            End::MachineLost => Self::MachineLost,
        }
    }
}
