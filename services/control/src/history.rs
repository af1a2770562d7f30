//! What of the journal is worth telling later: an event a row, with the ids it is about, in the words of the API.

use mainstay_core::density::{Host, MachineSize};
use mainstay_core::slot::{Fault, Incident};
use mainstay_core::{AllocationId, ServerId, TicketId};
use mainstay_fleet::catalog::admission::AdmissionEvent;
use mainstay_fleet::catalog::{Catalog, CatalogEvent};
use mainstay_fleet::{End, Event, Fleet, Wish};
use mainstay_journal::history::Told;
use mainstay_journal::stored::Stored;
use mainstay_journal::{Cause, Fold, ShardName, StoredFold, TurnRecord};
use mainstay_lobby::Lobby;
use mainstay_matchmaking::{self as matchmaking, Queue};
use mainstay_players::Players;
use mainstay_wire::native::IncidentView;
use serde_json::{Value, json};

use crate::lobby::LOBBY;
use crate::queues::QUEUE_PREFIX;
use crate::shards::{CATALOG, FLEET_PREFIX, PLAYERS};

/// The empty state of one of this control plane's shards.
#[must_use]
pub fn empty_fold(shard: &ShardName) -> Option<Box<dyn Fold>> {
    let name = shard.as_str();
    if name == CATALOG {
        return Some(Box::new(StoredFold::new(Catalog::default())));
    }
    if name.starts_with(QUEUE_PREFIX) {
        return Some(Box::new(StoredFold::new(Queue::new(0))));
    }
    if name == PLAYERS {
        return Some(Box::new(StoredFold::new(Players::default())));
    }
    if name == LOBBY {
        return Some(Box::new(StoredFold::new(Lobby::default())));
    }
    name.starts_with(FLEET_PREFIX).then(|| -> Box<dyn Fold> { Box::new(StoredFold::new(Fleet::new(0))) })
}

/// The rows of one turn.
///
/// # Errors
/// Where its bytes are no events.
pub fn tell(turn: &TurnRecord) -> Result<Vec<Told>, Cause> {
    let name = turn.shard.as_str();
    if name == CATALOG {
        return Ok(rows(Catalog::load(&turn.bytes)?.iter().map(catalog_row)));
    }
    if name.starts_with(FLEET_PREFIX) {
        return Ok(rows(Fleet::load(&turn.bytes)?.iter().map(fleet_row)));
    }
    if name.starts_with(QUEUE_PREFIX) {
        return Ok(rows(Queue::load(&turn.bytes)?.iter().filter_map(queue_row)));
    }
    Ok(Vec::new())
}

type Row = (&'static str, Vec<String>, Value);

fn rows(rows: impl Iterator<Item = Row>) -> Vec<Told> {
    let told = |(index, (kind, subjects, detail)): (u32, Row)| Told {
        index,
        kind: kind.to_owned(),
        subjects,
        detail: detail.to_string(),
    };
    (0..).zip(rows).map(told).collect()
}

fn catalog_row(event: &CatalogEvent) -> Row {
    match event {
        CatalogEvent::BuildDeclared { id, declared } => (
            "build.declared",
            vec![id.to_string()],
            json!({ "name": &*declared.name, "folder": declared.folder }),
        ),
        CatalogEvent::ConfigurationDeclared(spec) => (
            "buildConfiguration.declared",
            vec![spec.configuration.id.to_string(), spec.build.to_string()],
            json!({ "name": &*spec.name, "revision": spec.configuration.revision }),
        ),
        CatalogEvent::FleetDeclared(spec) => (
            "fleet.declared",
            vec![spec.id.to_string()],
            json!({ "name": &*spec.name, "revision": spec.revision }),
        ),
        CatalogEvent::CredentialAdmitted(known) => {
            ("credential.admitted", vec![known.key.to_string()], Value::Null)
        }
        CatalogEvent::CredentialRevoked(key) => ("credential.revoked", vec![key.to_string()], Value::Null),
        CatalogEvent::BuildReleased { id, release } => (
            "build.released",
            vec![id.to_string()],
            json!({ "version": release.version, "files": release.files, "bytes": release.bytes }),
        ),
        CatalogEvent::BuildDeleted(id) => ("build.deleted", vec![id.to_string()], Value::Null),
        CatalogEvent::ConfigurationDeleted(id) => {
            ("buildConfiguration.deleted", vec![id.to_string()], Value::Null)
        }
        CatalogEvent::FleetDeleted(number) => ("fleet.deleted", vec![], json!({ "number": number.get() })),
        CatalogEvent::CountersKept(_) => ("catalog.countersKept", vec![], Value::Null),
        CatalogEvent::Revised { number, by } => {
            ("configuration.revised", vec![by.to_string()], json!({ "revision": number, "by": &**by }))
        }
        CatalogEvent::Admission(event) => admission_row(event),
        CatalogEvent::StartTaken(_) => ("start.taken", vec![], Value::Null),
    }
}

/// What an operator looks for later: how queues were configured, which matches there were, and who ended without one. Of the
/// tickets of a match, their ids are told with it.
fn queue_row(event: &matchmaking::Event) -> Option<Row> {
    use matchmaking::Event;
    let canceled = |kind, ticket: &TicketId, reason: &matchmaking::Cancellation| {
        Some((kind, vec![ticket.to_string()], json!({ "reason": reason.as_str() })))
    };
    match event {
        Event::Configured { spec, form } => {
            Some(("queue.configured", vec![spec.name.to_string()], json!({ "form": form })))
        }
        Event::Closed => Some(("queue.removed", vec![], Value::Null)),
        Event::Paused => Some(("queue.paused", vec![], Value::Null)),
        Event::Resumed => Some(("queue.resumed", vec![], Value::Null)),
        Event::MatchFormed { id, tickets, backfill, regions } => {
            let filled = backfill.as_ref().map(|filled| filled.ticket);
            let tickets = tickets.iter().map(|(ticket, _)| *ticket).chain(filled);
            let subjects = std::iter::once(id.to_string()).chain(tickets.map(|ticket| ticket.to_string()));
            let detail = json!({
                "backfill": filled.map(|ticket| ticket.to_string()),
                "region": regions.first().map(|region| &**region),
            });
            Some(("match.formed", subjects.collect(), detail))
        }
        Event::MatchHeld { id, tickets, regions } => {
            let tickets = tickets.iter().map(|(ticket, _)| ticket.to_string());
            let detail = json!({ "region": regions.first().map(|region| &**region) });
            Some(("match.held", std::iter::once(id.to_string()).chain(tickets).collect(), detail))
        }
        Event::MatchPlaced { hold, server } => {
            let region = server.region.as_deref();
            Some((
                "match.placed",
                // The allocation has the id of the match.
                std::iter::once(hold.to_string())
                    .chain(server.server_id.as_deref().map(str::to_owned))
                    .collect(),
                json!({ "allocation": server.server_id.as_deref(), "region": region }),
            ))
        }
        Event::PlacementRefused { hold, code, .. } => {
            Some(("match.refused", vec![hold.to_string()], json!({ "code": &**code })))
        }
        Event::HoldReleased { hold } => Some(("match.released", vec![hold.to_string()], Value::Null)),
        Event::TicketCanceled { ticket, reason } => canceled("ticket.canceled", ticket, reason),
        Event::BackfillCanceled { ticket, reason } => canceled("backfill.canceled", ticket, reason),
        Event::TicketCreated { .. }
        | Event::TicketJoined { .. }
        | Event::BackfillCreated { .. }
        | Event::BackfillChanged { .. }
        | Event::Searched(_)
        | Event::Merged(_)
        | Event::PlacementUndone { .. }
        | Event::HoldStood(_)
        | Event::UndoStood { .. }
        | Event::Stood { .. }
        | Event::TicketStood(_)
        | Event::BackfillStood(_)
        | Event::MatchStood(_) => None,
    }
}

fn admission_row(event: &AdmissionEvent) -> Row {
    match event {
        AdmissionEvent::TokenMade { token, new, expires } => (
            "joinToken.made",
            vec![token.to_string()],
            json!({ "uses": new.uses, "expiresUnixMs": expires.unix_ms() }),
        ),
        AdmissionEvent::TokenWithdrawn(token) => {
            ("joinToken.withdrawn", vec![token.to_string()], Value::Null)
        }
        AdmissionEvent::TokenStood { token, .. } => ("joinToken.stood", vec![token.to_string()], Value::Null),
        AdmissionEvent::MachineAdmitted { machine, fleet, region, token, .. } => (
            "machine.admitted",
            vec![machine.to_string(), fleet.to_string(), region.to_string(), token.to_string()],
            Value::Null,
        ),
        AdmissionEvent::CredentialRenewed { machine, current, .. } => (
            "machine.credentialRenewed",
            vec![machine.to_string()],
            json!({ "expiresUnixMs": current.expires.unix_ms() }),
        ),
        AdmissionEvent::FormerDropped(machine) => {
            ("machine.credentialTaken", vec![machine.to_string()], Value::Null)
        }
        AdmissionEvent::MachineRevoked { machine, .. } => {
            ("machine.revoked", vec![machine.to_string()], Value::Null)
        }
        AdmissionEvent::LiveStood { machine, .. } | AdmissionEvent::RevokedStood { machine, .. } => {
            ("machine.stood", vec![machine.to_string()], Value::Null)
        }
    }
}

fn fleet_row(event: &Event) -> Row {
    match event {
        Event::Configured(spec) => {
            ("fleet.configured", vec![spec.id.to_string()], json!({ "revision": spec.revision }))
        }
        Event::SpecKept(spec) => ("fleet.specKept", vec![spec.configuration.id.to_string()], Value::Null),
        Event::MachineJoined { machine, key, region, name, .. } => (
            "machine.joined",
            vec![machine.to_string(), key.to_string(), region.to_string()],
            json!({ "name": &**name }),
        ),
        Event::MachineReaddressed { machine, name, .. } => {
            ("machine.readdressed", vec![machine.to_string()], json!({ "name": &**name }))
        }
        Event::ServersAdded { machine, first, ports, .. } => (
            "machine.serversAdded",
            vec![machine.to_string()],
            json!({ "first": first.to_string(), "count": ports.len() }),
        ),
        Event::ServersForgotten { machine, servers } => {
            let of = std::iter::once(machine.to_string()).chain(servers.iter().map(ToString::to_string));
            ("machine.serversForgotten", of.collect(), json!({ "count": servers.len() }))
        }
        Event::MachineRequested { machine, region, slots, until, .. } => (
            "machine.requested",
            vec![machine.to_string(), region.to_string()],
            json!({ "slots": slots, "untilMs": until.unix_ms() }),
        ),
        Event::MachineCame { machine } => ("machine.came", vec![machine.to_string()], Value::Null),
        Event::MachineBooted { machine, boot } => {
            ("machine.booted", vec![machine.to_string()], json!({ "bootId": boot.to_string() }))
        }
        Event::MachineDescribed { machine, host } => {
            let Host { size: MachineSize { cores, speed_mhz, memory_mib }, processor } = host;
            let detail = json!({
                "cores": cores, "speedMhz": speed_mhz, "memoryMib": memory_mib, "processor": &**processor,
            });
            ("machine.described", vec![machine.to_string()], detail)
        }
        Event::MachineDraining { machine } => ("machine.draining", vec![machine.to_string()], Value::Null),
        Event::MachineEmptied { machine } => ("machine.emptied", vec![machine.to_string()], Value::Null),
        Event::MachineWoken { machine } => ("machine.woken", vec![machine.to_string()], Value::Null),
        Event::MachineLost { machine } => ("machine.lost", vec![machine.to_string()], Value::Null),
        Event::MachineReturned { machine, absence } => {
            ("machine.returned", vec![machine.to_string()], json!({ "absence": absence.word() }))
        }
        Event::MachineParting { machine, why } => {
            ("machine.removing", vec![machine.to_string()], json!({ "reason": why.word() }))
        }
        Event::MachineDutySet { machine, wish } => {
            let kind = match wish {
                Wish::Serve => "machine.undrained",
                Wish::Drain => "machine.drained",
                Wish::Leave => "machine.leaving",
            };
            (kind, vec![machine.to_string()], Value::Null)
        }
        Event::MachineRemoved { machine } => ("machine.removed", vec![machine.to_string()], Value::Null),
        Event::CountersKept { .. } => ("fleet.countersKept", vec![], Value::Null),
        Event::ServerOrdered { server, generation, intent, cause, .. } => (
            "server.ordered",
            vec![server.to_string()],
            json!({
                "generation": generation.number(),
                "intent": format!("{intent:?}").to_lowercase(),
                "cause": cause.word(),
            }),
        ),
        Event::ServerAssigned { server, configuration } => {
            ("server.assigned", vec![server.to_string(), configuration.to_string()], Value::Null)
        }
        Event::ServerHeld { server, until } => {
            ("server.held", vec![server.to_string()], json!({ "untilMs": until.unix_ms() }))
        }
        Event::HoldEnded { server, end } => {
            ("server.holdEnded", vec![server.to_string()], json!({ "reason": end.word() }))
        }
        Event::ServerReserved { server, reservation } => {
            ("server.reserved", vec![server.to_string(), reservation.to_string()], Value::Null)
        }
        Event::ReservationEnded { server, end } => {
            ("server.reservationEnded", vec![server.to_string()], json!({ "reason": end.word() }))
        }
        Event::ServerReadied { server } => ("server.ready", vec![server.to_string()], Value::Null),
        Event::ServerUnreadied { server } => ("server.unready", vec![server.to_string()], Value::Null),
        Event::AllocationRequested { id, request, .. } => (
            "allocation.requested",
            vec![id.to_string(), request.region.to_string(), request.configuration.to_string()],
            Value::Null,
        ),
        Event::AllocationPlaced { id, server, generation, cause, .. } => (
            "allocation.placed",
            vec![id.to_string(), server.to_string()],
            json!({ "generation": generation.number(), "cause": cause.word() }),
        ),
        Event::AllocationReadied { id } => ("allocation.readied", vec![id.to_string()], Value::Null),
        Event::AllocationDisplaced { id, until } => {
            ("allocation.displaced", vec![id.to_string()], json!({ "untilMs": until.unix_ms() }))
        }
        Event::AllocationFulfilled { id, server } => {
            ("allocation.fulfilled", of_allocation(*id, *server), Value::Null)
        }
        Event::AllocationEnded { id, server, end } => {
            ("allocation.ended", of_allocation(*id, *server), end_detail(end))
        }
        Event::IncidentTold { incident } => {
            let kind = match incident.fault {
                Fault::Crash => "server.crashed",
                Fault::Misbehaviour(_) => "server.misbehaved",
            };
            incident_row(kind, incident)
        }
        Event::IncidentClosed { incident } => incident_row("server.misbehaviourEnded", incident),
    }
}

/// What is told of an allocation is told of its server too.
fn of_allocation(id: AllocationId, server: Option<ServerId>) -> Vec<String> {
    std::iter::once(id.to_string()).chain(server.map(|server| server.to_string())).collect()
}

/// In the words of `/v1/servers/{id}`.
fn incident_row(kind: &'static str, incident: &Incident) -> Row {
    let mut subjects = vec![incident.server.to_string(), incident.configuration.id.to_string()];
    subjects.extend(incident.allocation.map(|id| id.to_string()));
    // Plain data always has a JSON form.
    let detail = serde_json::to_value(IncidentView::of(incident)).unwrap_or(Value::Null);
    (kind, subjects, detail)
}

fn end_detail(end: &End) -> Value {
    match end {
        End::Deallocated => json!({ "reason": "deallocated" }),
        End::Completed => json!({ "reason": "completed" }),
        End::PlacementTimedOut(losers) => {
            json!({ "reason": "placementTimedOut", "detail": losers.to_string() })
        }
        End::BackedOff { crashes, cause } => {
            json!({ "reason": "backedOff", "crashes": crashes, "cause": &**cause })
        }
        End::Lost => json!({ "reason": "lost" }),
        End::PreRecovery { cause } => json!({ "reason": "preRecovery", "cause": &**cause }),
        End::Idle { ttl } => json!({ "reason": "idle", "ttlSeconds": ttl.as_secs() }),
        End::Aged { ttl } => json!({ "reason": "aged", "ttlSeconds": ttl.as_secs() }),
        End::RolledOut => json!({ "reason": "rolledOut" }),
        End::MachineLost => json!({ "reason": "machineLost" }),
    }
}
