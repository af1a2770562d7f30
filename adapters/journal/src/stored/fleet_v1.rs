//! Format 1 of a fleet's events: read, and raised to what the rules know; no longer written.

use std::sync::Arc;

use mainstay_core::{
    AllocationId, BuildConfigurationId, Generation, MachineId, MachineKey, RegionId, ServerId, Timestamp,
};
use mainstay_fleet::{
    Addresses, Cause, End as DomainEnd, Event as DomainEvent, Losers, Ports, Purpose, Renewal, Request,
};
use serde::{Deserialize, Serialize};

use super::catalog_v1::FleetSpec;
use super::slot_v1::{ConfigurationRef, Intent, Spec};

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
    },
    AllocationFulfilled {
        id: AllocationId,
    },
    AllocationEnded {
        id: AllocationId,
        end: End<'a>,
    },
}

#[derive(Serialize, Deserialize)]
pub(super) struct ReachedAt {
    ipv4: Option<[u8; 4]>,
    ipv6: Option<[u8; 16]>,
}

#[derive(Serialize, Deserialize)]
pub(super) enum Renews {
    Keep,
    Restart,
}

impl From<Renews> for Renewal {
    fn from(renewal: Renews) -> Self {
        match renewal {
            Renews::Keep => Self::Keep,
            Renews::Restart => Self::Restart,
        }
    }
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
}

impl From<Event<'_>> for DomainEvent {
    fn from(event: Event<'_>) -> Self {
        match event {
            Event::Configured(spec) => Self::Configured(Arc::new(spec.into())),
            Event::SpecKept(spec) => Self::SpecKept(Box::new(spec.into())),
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
            Event::ServerOrdered { server, generation, configuration, intent } => Self::ServerOrdered {
                server,
                generation,
                configuration: configuration.into(),
                intent: intent.into(),
                cause: Cause::Unrecorded,
            },
            Event::AllocationRequested { id, configuration, region, payload, renewal, until_ms } => {
                let (payload, renewal) = (payload.map(Into::into), renewal.into());
                let purpose = Purpose::Session;
                let request = Request { configuration, region, payload, renewal, purpose };
                Self::AllocationRequested { id, request, until: Timestamp::from_unix_ms(until_ms) }
            }
            Event::AllocationPlaced { id, server, generation, configuration, intent } => {
                Self::AllocationPlaced {
                    id,
                    server,
                    generation,
                    configuration: configuration.into(),
                    intent: intent.into(),
                    cause: Cause::Unrecorded,
                }
            }
            Event::AllocationFulfilled { id } => Self::AllocationFulfilled { id, server: None },
            Event::AllocationEnded { id, end } => Self::AllocationEnded { id, server: None, end: end.into() },
        }
    }
}

impl From<&Addresses> for ReachedAt {
    fn from(Addresses { ipv4, ipv6 }: &Addresses) -> Self {
        Self { ipv4: ipv4.map(|address| address.octets()), ipv6: ipv6.map(|address| address.octets()) }
    }
}

impl From<ReachedAt> for Addresses {
    fn from(ReachedAt { ipv4, ipv6 }: ReachedAt) -> Self {
        Self { ipv4: ipv4.map(Into::into), ipv6: ipv6.map(Into::into) }
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
        }
    }
}
