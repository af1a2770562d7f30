//! Every event of every state machine survives being stored; `golden` has the bytes of each format.

use std::sync::Arc;
use std::time::Duration;

use mainstay_core::density::{Host, MachineSize};
use mainstay_core::slot::{
    Caps, Check, Checks, ConfigurationRef, Exit, Fault, Incident, Intent, Killer, Launch, Limits, Order,
    Query, QueryPort, ReadySignal, Recovery, RestartPolicy, Session, Spec, StopPolicy,
};
use mainstay_core::{
    AllocationId, BootId, BuildConfigurationId, BuildId, FleetId, FleetNumber, Generation, MachineId,
    MachineKey, RegionId, ReservationId, ServerId, Strikes, Timestamp,
};
use mainstay_fleet::catalog::{
    BuildDeclaration, Catalog, CatalogEvent, Counters, CredentialDeclaration, Release, Role,
};
use mainstay_fleet::{
    Absence, Addresses, AllocationTtl, Cause, ClaimedBy, End, Event as FleetEvent, Fit, Fleet, FleetSpec,
    Growth, Hardware, HoldEnd, Hosting, IdleServers, Losers, MachinePolicy, MachineTtl, OnLoss, Parting,
    Ports, Provided, Purpose, RegionOpening, RegionSpec, Renewal, Request, ReservationEnd, UsageSetting,
    Wish,
};
use mainstay_journal::stored::{Stored, StoredError};
use mainstay_journal::{EVENT_BYTES_MAX, SNAPSHOT_CHUNK_BYTES_MAX};
use mainstay_supervisor::{
    Ending, Event as SupervisorEvent, Failures, Life, Reason, Run, RunNumber, Rung, Slot, Stage, Supervisor,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use crate::fixture::at;

/// Every cause, in the order of its stored number.
const CAUSES: [Cause; 26] = [
    Cause::Unrecorded,
    Cause::Provisioned,
    Cause::Allocated(Fit::Running),
    Cause::Allocated(Fit::Starting),
    Cause::Allocated(Fit::Stopped),
    Cause::Allocated(Fit::OtherConfiguration),
    Cause::Allocated(Fit::OtherBuild),
    Cause::Allocated(Fit::RestartAsked),
    Cause::Allocated(Fit::KeptDown),
    Cause::Allocated(Fit::Stopping),
    Cause::Deallocated,
    Cause::TimedToLive,
    Cause::Exited,
    Cause::Failed,
    Cause::Lost,
    Cause::FoundDown,
    Cause::StartedByHand,
    Cause::StoppedByHand,
    Cause::RestartedByHand,
    Cause::ConfigurationChanged,
    Cause::RolledOut,
    Cause::Restored,
    Cause::Drained,
    Cause::Woken,
    Cause::MachineLost,
    Cause::Returned,
];

const HOLD_ENDS: [HoldEnd; 7] = [
    HoldEnd::Released,
    HoldEnd::TimedOut,
    HoldEnd::Allocated,
    HoldEnd::Reserved,
    HoldEnd::StoppedByHand,
    HoldEnd::RestartedByHand,
    HoldEnd::ConfigurationChanged,
];

const RESERVATION_ENDS: [ReservationEnd; 7] = [
    ReservationEnd::Released,
    ReservationEnd::ReleasedByHand,
    ReservationEnd::Completed,
    ReservationEnd::Failed,
    ReservationEnd::Lost,
    ReservationEnd::RolledOut,
    ReservationEnd::MachineLost,
];

fn text() -> impl Strategy<Value = String> {
    "\\PC{0,12}"
}

fn shared() -> impl Strategy<Value = Arc<str>> {
    text().prop_map(Into::into)
}

fn time() -> impl Strategy<Value = Timestamp> {
    any::<u64>().prop_map(at)
}

fn span() -> impl Strategy<Value = Duration> {
    (any::<u64>(), 0..1_000_000_000_u32).prop_map(|(seconds, nanos)| Duration::new(seconds, nanos))
}

fn number() -> impl Strategy<Value = u64> {
    0..(1_u64 << 53)
}

fn server() -> impl Strategy<Value = ServerId> {
    number().prop_map(|number| ServerId::from_number(number).unwrap())
}

fn machine() -> impl Strategy<Value = MachineId> {
    number().prop_map(|number| MachineId::from_number(number).unwrap())
}

fn generation() -> impl Strategy<Value = Generation> {
    any::<u64>().prop_map(Generation::from_number)
}

/// A UUID by its text, so that no crate need be named for it.
fn uuid<T>() -> impl Strategy<Value = T>
where
    T: std::str::FromStr + std::fmt::Debug,
    T::Err: std::fmt::Debug,
{
    any::<u128>().prop_map(|bits| format!("{bits:032x}").parse().unwrap())
}

fn configuration() -> impl Strategy<Value = ConfigurationRef> {
    (number(), any::<u32>()).prop_map(|(id, revision)| ConfigurationRef {
        id: BuildConfigurationId::from_number(id).unwrap(),
        revision,
    })
}

fn intent() -> impl Strategy<Value = Intent> {
    prop_oneof![Just(Intent::Stop), Just(Intent::Run), Just(Intent::Renew), Just(Intent::Leave)]
}

fn pairs() -> impl Strategy<Value = Vec<(String, String)>> {
    vec((text(), text()), 0..3)
}

fn query() -> impl Strategy<Value = Query> {
    let port = prop_oneof![Just(QueryPort::Game), Just(QueryPort::Query)];
    (text(), port, span(), span()).prop_map(|(protocol, port, timeout, start_grace)| Query {
        protocol,
        port,
        timeout,
        start_grace,
    })
}

fn checks() -> impl Strategy<Value = Checks> {
    (span(), any::<u32>(), span(), any::<u32>(), any::<u64>(), any::<i32>()).prop_map(
        |(every, failures, within, cpu_tolerance_percent, memory_tolerance_bytes, signal)| Checks {
            every,
            failures,
            within,
            cpu_tolerance_percent,
            memory_tolerance_bytes,
            signal,
        },
    )
}

fn recovery() -> impl Strategy<Value = Recovery> {
    prop_oneof![Just(Recovery::PreRecovery), Just(Recovery::Restart)]
}

fn ready_signal() -> impl Strategy<Value = ReadySignal> {
    prop_oneof![Just(ReadySignal::NotAwaited), Just(ReadySignal::Awaited)]
}

fn check() -> impl Strategy<Value = Check> {
    prop_oneof![Just(Check::Cpu), Just(Check::Memory), Just(Check::Query)]
}

fn incident() -> impl Strategy<Value = Incident> {
    let fault = prop_oneof![Just(Fault::Crash), check().prop_map(Fault::Misbehaviour)];
    let killer = prop_oneof![Just(Killer::Unknown), Just(Killer::OutOfMemory)];
    let exit = prop_oneof![
        any::<i32>().prop_map(Exit::Code),
        (any::<i32>(), killer).prop_map(|(signal, killed_by)| Exit::Signal { signal, killed_by }),
        shared().prop_map(Exit::NotStarted),
    ];
    let place = (server(), any::<u64>(), time(), configuration(), option::of(uuid::<AllocationId>()));
    (place, fault, shared(), option::of(exit), shared(), option::of(shared())).prop_map(
        |((server, run, at, configuration, allocation), fault, cause, exit, last_words, core)| Incident {
            server,
            run,
            at,
            fault,
            cause,
            exit,
            configuration,
            allocation,
            last_words,
            core,
        },
    )
}

/// A build configuration as an agent is told it.
fn spec_told() -> impl Strategy<Value = Spec> {
    let launch = (text(), text(), text(), pairs(), pairs()).prop_map(
        |(folder, binary, command_line, variables, environment)| Launch {
            folder,
            binary,
            command_line,
            variables,
            environment,
        },
    );
    let bounds = (any::<[u32; 2]>(), option::of(any::<u32>()), option::of(any::<u32>()));
    let policies = (any::<i32>(), span(), any::<u32>(), span(), checks(), recovery());
    (configuration(), shared(), number(), launch, option::of(query()), bounds, policies).prop_map(
        |(configuration, name, build, launch, query, bounds, policies)| Spec {
            configuration,
            name,
            build: BuildId::from_number(build).unwrap(),
            launch,
            query,
            limits: Limits { cpu_millis: bounds.0[0], memory_mib: bounds.0[1] },
            caps: Caps { cpu_millis: bounds.1, memory_mib: bounds.2 },
            stop: StopPolicy { signal: policies.0, kill_after: policies.1 },
            restart: RestartPolicy { attempts: policies.2, within: policies.3 },
            checks: policies.4,
            recovery: policies.5,
            ready_signal: ReadySignal::NotAwaited,
        },
    )
}

fn spec() -> impl Strategy<Value = Spec> {
    (spec_told(), ready_signal()).prop_map(|(spec, ready_signal)| Spec { ready_signal, ..spec })
}

fn region() -> impl Strategy<Value = RegionSpec> {
    let opening = prop_oneof![Just(RegionOpening::Online), Just(RegionOpening::Offline)];
    let provided =
        (any::<[u32; 2]>(), span(), span()).prop_map(|([slots, machines_max], create_timeout, retry)| {
            Growth::Provided(Provided { slots, machines_max, create_timeout, retry })
        });
    let growth = prop_oneof![Just(Growth::Fixed), Just(Growth::MachinesMayJoin), provided];
    let names = (shared(), vec(shared(), 0..3));
    (uuid::<RegionId>(), names, any::<[u32; 2]>(), opening, growth, option::of(machine_ttl())).prop_map(
        |(id, (name, aliases), [min_available, max_servers], opening, growth, ttl)| RegionSpec {
            id,
            name,
            aliases,
            min_available,
            max_servers,
            opening,
            growth,
            ttl,
        },
    )
}

fn hosting() -> impl Strategy<Value = Hosting> {
    let claimed_by = prop_oneof![Just(ClaimedBy::Allocations), Just(ClaimedBy::Reservations)];
    let ttl = prop_oneof![
        Just(AllocationTtl::Off),
        span().prop_map(AllocationTtl::Idle),
        span().prop_map(AllocationTtl::Age)
    ];
    let settings = (vec(usage(), 0..3), option::of(span()));
    (claimed_by, span(), ttl, machine_policy(), settings).prop_map(
        |(claimed_by, hold_max, allocation_ttl, machines, (usage, disabled_delete))| Hosting {
            claimed_by,
            hold_max,
            allocation_ttl,
            machines,
            usage,
            disabled_delete,
        },
    )
}

fn usage() -> impl Strategy<Value = UsageSetting> {
    let hardware = prop_oneof![Just(Hardware::Cloud), Just(Hardware::Metal)];
    let number = || option::of(any::<u32>());
    (hardware, option::of(shared()), number(), number(), number(), option::of(any::<u64>())).prop_map(
        |(hardware, machine_type, per_machine, per_core, speed_mhz, memory_mib)| UsageSetting {
            hardware,
            machine_type,
            per_machine,
            per_core,
            speed_mhz,
            memory_mib,
        },
    )
}

fn machine_ttl() -> impl Strategy<Value = MachineTtl> {
    let idle = (span(), span()).prop_map(|(shutdown, delete)| MachineTtl::Idle { shutdown, delete });
    prop_oneof![Just(MachineTtl::Off), idle]
}

fn machine_policy() -> impl Strategy<Value = MachinePolicy> {
    let on_loss = prop_oneof![Just(OnLoss::Fail), Just(OnLoss::PlaceAnew)];
    (machine_ttl(), span(), on_loss).prop_map(|(ttl, lost_after, on_loss)| MachinePolicy {
        ttl,
        lost_after,
        on_loss,
    })
}

fn host() -> impl Strategy<Value = Host> {
    (any::<u32>(), option::of(any::<u32>()), any::<u64>(), shared()).prop_map(
        |(cores, speed_mhz, memory_mib, processor)| Host {
            size: MachineSize { cores, speed_mhz, memory_mib },
            processor,
        },
    )
}

fn machine_event() -> impl Strategy<Value = FleetEvent> {
    let absence = [Absence::Unknown, Absence::CutOff, Absence::Rebooted];
    let why = [Parting::Idle, Parting::NeverCame, Parting::Lost, Parting::Died, Parting::ByHand];
    prop_oneof![
        (machine(), uuid::<MachineKey>(), uuid::<RegionId>(), any::<u32>(), time()).prop_map(
            |(machine, key, region, slots, until)| FleetEvent::MachineRequested {
                machine,
                key,
                region,
                slots,
                until
            }
        ),
        machine().prop_map(|machine| FleetEvent::MachineCame { machine }),
        (machine(), uuid::<BootId>()).prop_map(|(machine, boot)| FleetEvent::MachineBooted { machine, boot }),
        (machine(), host()).prop_map(|(machine, host)| FleetEvent::MachineDescribed { machine, host }),
        machine().prop_map(|machine| FleetEvent::MachineDraining { machine }),
        machine().prop_map(|machine| FleetEvent::MachineEmptied { machine }),
        machine().prop_map(|machine| FleetEvent::MachineWoken { machine }),
        machine().prop_map(|machine| FleetEvent::MachineLost { machine }),
        (machine(), proptest::sample::select(absence.to_vec()))
            .prop_map(|(machine, absence)| FleetEvent::MachineReturned { machine, absence }),
        (machine(), proptest::sample::select(why.to_vec()))
            .prop_map(|(machine, why)| FleetEvent::MachineParting { machine, why }),
        machine().prop_map(|machine| FleetEvent::MachineRemoved { machine }),
        (machine(), prop::collection::vec(server(), 0..3))
            .prop_map(|(machine, servers)| FleetEvent::ServersForgotten { machine, servers }),
        (machine(), proptest::sample::select([Wish::Serve, Wish::Drain, Wish::Leave].to_vec()))
            .prop_map(|(machine, wish)| FleetEvent::MachineDutySet { machine, wish }),
        any::<[u32; 2]>().prop_map(|[machines, servers]| FleetEvent::CountersKept { machines, servers }),
        uuid::<AllocationId>().prop_map(|id| FleetEvent::AllocationReadied { id }),
        (uuid::<AllocationId>(), time())
            .prop_map(|(id, until)| FleetEvent::AllocationDisplaced { id, until }),
    ]
}

fn cause() -> impl Strategy<Value = Cause> {
    proptest::sample::select(CAUSES.as_slice())
}

fn fleet_spec() -> impl Strategy<Value = FleetSpec> {
    let idle = prop_oneof![Just(IdleServers::StartOnProvision), Just(IdleServers::StartOnAllocation)];
    let names = (0..FleetNumber::LIMIT, uuid::<FleetId>(), shared(), any::<u64>());
    (
        names,
        idle,
        vec(region(), 0..3),
        vec(spec(), 0..3),
        [span(), span()],
        hosting(),
        vec(configuration(), 0..3),
    )
        .prop_map(
            |(
                (number, id, name, revision),
                idle_servers,
                regions,
                configurations,
                [placement_timeout, retention],
                hosting,
                floors,
            )| {
                FleetSpec {
                    number: FleetNumber::new(number).unwrap(),
                    id,
                    name,
                    revision,
                    idle_servers,
                    regions,
                    configurations,
                    placement_timeout,
                    retention,
                    hosting,
                    floors,
                }
            },
        )
}

fn end() -> impl Strategy<Value = End> {
    prop_oneof![
        Just(End::Deallocated),
        Just(End::Completed),
        any::<[u32; 4]>().prop_map(|[servers, allocated, silent, unreported]| {
            End::PlacementTimedOut(Losers { servers, allocated, silent, unreported })
        }),
        (any::<u32>(), shared()).prop_map(|(crashes, cause)| End::BackedOff { crashes, cause }),
        Just(End::Lost),
        shared().prop_map(|cause| End::PreRecovery { cause }),
        span().prop_map(|ttl| End::Idle { ttl }),
        span().prop_map(|ttl| End::Aged { ttl }),
        Just(End::RolledOut),
        Just(End::MachineLost),
    ]
}

fn addresses() -> impl Strategy<Value = Addresses> {
    (option::of(any::<u32>()), option::of(any::<u128>()))
        .prop_map(|(ipv4, ipv6)| Addresses { ipv4: ipv4.map(Into::into), ipv6: ipv6.map(Into::into) })
}

fn request() -> impl Strategy<Value = Request> {
    let renewal = prop_oneof![Just(Renewal::Keep), Just(Renewal::Restart)];
    let purpose = prop_oneof![Just(Purpose::Session), Just(Purpose::Test)];
    (configuration(), uuid::<RegionId>(), option::of(shared()), renewal, purpose).prop_map(
        |(configuration, region, payload, renewal, purpose)| Request {
            configuration: configuration.id,
            region,
            payload,
            renewal,
            purpose,
        },
    )
}

fn fleet_event() -> impl Strategy<Value = FleetEvent> {
    prop_oneof![
        8 => machine_event(),
        20 => other_fleet_event(),
    ]
}

fn other_fleet_event() -> impl Strategy<Value = FleetEvent> {
    let ports = any::<[u16; 2]>().prop_map(|[game, query]| Ports { game, query });
    let id = uuid::<AllocationId>;
    prop_oneof![
        fleet_spec().prop_map(|spec| FleetEvent::Configured(Arc::new(spec))),
        spec().prop_map(|spec| FleetEvent::SpecKept(Box::new(spec))),
        (machine(), uuid::<MachineKey>(), uuid::<RegionId>(), shared(), addresses()).prop_map(
            |(machine, key, region, name, addresses)| FleetEvent::MachineJoined {
                machine,
                key,
                region,
                name,
                addresses
            }
        ),
        (machine(), shared(), addresses()).prop_map(|(machine, name, addresses)| {
            FleetEvent::MachineReaddressed { machine, name, addresses }
        }),
        (machine(), server(), vec(ports, 0..4), configuration()).prop_map(
            |(machine, first, ports, configuration)| FleetEvent::ServersAdded {
                machine,
                first,
                ports,
                configuration
            }
        ),
        (server(), generation(), configuration(), intent(), cause()).prop_map(
            |(server, generation, configuration, intent, cause)| {
                FleetEvent::ServerOrdered { server, generation, configuration, intent, cause }
            }
        ),
        (id(), request(), time()).prop_map(|(id, request, until)| FleetEvent::AllocationRequested {
            id,
            request,
            until
        }),
        (id(), server(), generation(), configuration(), intent(), cause()).prop_map(
            |(id, server, generation, configuration, intent, cause)| {
                FleetEvent::AllocationPlaced { id, server, generation, configuration, intent, cause }
            }
        ),
        (id(), option::of(server())).prop_map(|(id, server)| FleetEvent::AllocationFulfilled { id, server }),
        (id(), option::of(server()), end()).prop_map(|(id, server, end)| FleetEvent::AllocationEnded {
            id,
            server,
            end
        }),
        incident().prop_map(|incident| FleetEvent::IncidentTold { incident: Box::new(incident) }),
        incident().prop_map(|incident| FleetEvent::IncidentClosed { incident: Box::new(incident) }),
        (server(), time()).prop_map(|(server, until)| FleetEvent::ServerHeld { server, until }),
        (server(), proptest::sample::select(HOLD_ENDS.as_slice()))
            .prop_map(|(server, end)| FleetEvent::HoldEnded { server, end }),
        (server(), uuid::<ReservationId>())
            .prop_map(|(server, reservation)| FleetEvent::ServerReserved { server, reservation }),
        (server(), proptest::sample::select(RESERVATION_ENDS.as_slice()))
            .prop_map(|(server, end)| FleetEvent::ReservationEnded { server, end }),
        server().prop_map(|server| FleetEvent::ServerReadied { server }),
        server().prop_map(|server| FleetEvent::ServerUnreadied { server }),
        (server(), configuration()).prop_map(|(server, configuration)| FleetEvent::ServerAssigned {
            server,
            configuration: configuration.id
        }),
    ]
}

fn catalog_event() -> impl Strategy<Value = CatalogEvent> {
    let role =
        prop_oneof![Just(Role::Admin), Just(Role::Allocator), Just(Role::Operator), Just(Role::Viewer)];
    prop_oneof![
        (number(), shared(), text(), vec(shared(), 0..3)).prop_map(|(id, name, folder, excluded)| {
            let declared = BuildDeclaration { name, folder, excluded };
            CatalogEvent::BuildDeclared { id: BuildId::from_number(id).unwrap(), declared }
        }),
        spec().prop_map(|spec| CatalogEvent::ConfigurationDeclared(Box::new(spec))),
        fleet_spec().prop_map(|spec| CatalogEvent::FleetDeclared(Arc::new(spec))),
        (shared(), any::<[u8; 32]>(), role).prop_map(|(key, secret_sha256, role)| {
            CatalogEvent::CredentialAdmitted(CredentialDeclaration { key, secret_sha256, role })
        }),
        shared().prop_map(CatalogEvent::CredentialRevoked),
        (number(), any::<(u32, [u8; 32], u32, u64)>()).prop_map(|(id, (version, manifest, files, bytes))| {
            let release = Release { version, manifest, files, bytes };
            CatalogEvent::BuildReleased { id: BuildId::from_number(id).unwrap(), release }
        }),
        number().prop_map(|id| CatalogEvent::BuildDeleted(BuildId::from_number(id).unwrap())),
        number().prop_map(|id| {
            CatalogEvent::ConfigurationDeleted(BuildConfigurationId::from_number(id).unwrap())
        }),
        (0..1_u32 << 20).prop_map(|number| CatalogEvent::FleetDeleted(FleetNumber::new(number).unwrap())),
        any::<(u32, u32, u32)>().prop_map(|(builds, configurations, fleets)| {
            CatalogEvent::CountersKept(Counters { builds, configurations, fleets })
        }),
        (any::<u64>(), shared()).prop_map(|(number, by)| CatalogEvent::Revised { number, by }),
        any::<[u8; 32]>().prop_map(CatalogEvent::StartTaken),
    ]
}

fn order() -> impl Strategy<Value = Order> {
    let session = (uuid::<AllocationId>(), option::of(shared()))
        .prop_map(|(allocation, payload)| Session { allocation, payload });
    (server(), generation(), configuration(), option::of(session), intent()).prop_map(
        |(server, generation, configuration, allocation, intent)| Order {
            server,
            generation,
            configuration,
            allocation,
            intent,
        },
    )
}

fn run_number() -> impl Strategy<Value = RunNumber> {
    any::<u64>().prop_map(RunNumber::from_number)
}

fn run() -> impl Strategy<Value = Run> {
    (run_number(), configuration(), generation(), time()).prop_map(
        |(number, configuration, generation, began)| Run { number, configuration, generation, began },
    )
}

fn reason() -> impl Strategy<Value = Reason> {
    prop_oneof![
        Just(Reason::Ordered),
        Just(Reason::Replaced),
        Just(Reason::Silent),
        Just(Reason::Forgotten),
        Just(Reason::Parked),
        Just(Reason::Resumed),
        check().prop_map(Reason::Misbehaved)
    ]
}

fn rung() -> impl Strategy<Value = Rung> {
    prop_oneof![Just(Rung::Signal), Just(Rung::Kill)]
}

fn ending() -> impl Strategy<Value = Ending> {
    prop_oneof![
        Just(Ending::Ordered),
        Just(Ending::Completed),
        (any::<u32>(), shared()).prop_map(|(crashes, cause)| Ending::BackedOff { crashes, cause }),
        Just(Ending::Lost),
        Just(Ending::Parked),
        shared().prop_map(|cause| Ending::PreRecovery { cause }),
    ]
}

fn failures() -> impl Strategy<Value = Failures> {
    let strikes = || vec(time(), 0..4).prop_map(Strikes::from_moments);
    (strikes(), strikes(), strikes()).prop_map(|(cpu, memory, query)| Failures { cpu, memory, query })
}

fn life() -> impl Strategy<Value = Life> {
    let stage = prop_oneof![Just(Stage::Started), Just(Stage::Answered)];
    prop_oneof![
        Just(Life::Fresh),
        (run(), ending()).prop_map(|(last, ending)| Life::Down { last, ending }),
        (run(), time()).prop_map(|(last, until)| Life::Resting { last, until }),
        (run(), stage, failures()).prop_map(|(run, stage, failures)| Life::Up { run, stage, failures }),
        (run(), time(), rung(), reason()).prop_map(|(run, began, rung, reason)| Life::Stopping {
            run,
            began,
            rung,
            reason
        }),
    ]
}

fn slot() -> impl Strategy<Value = Slot> {
    let incidents = vec(incident(), 0..3);
    (order(), life(), vec(time(), 0..5), incidents).prop_map(|(order, life, moments, incidents)| Slot {
        order,
        life,
        strikes: Strikes::from_moments(moments),
        incidents,
    })
}

fn supervisor_event() -> impl Strategy<Value = SupervisorEvent> {
    use SupervisorEvent as Event;
    prop_oneof![
        spec_told().prop_map(|spec| Event::SpecTaken { spec: Arc::new(spec) }),
        order().prop_map(|order| Event::OrderTaken { order }),
        (server(), run_number(), configuration(), generation()).prop_map(
            |(server, run, configuration, generation)| Event::RunBegan {
                server,
                run,
                configuration,
                generation
            }
        ),
        server().prop_map(|server| Event::Answered { server }),
        (server(), reason(), rung()).prop_map(|(server, reason, rung)| Event::StopBegan {
            server,
            reason,
            rung
        }),
        (server(), reason()).prop_map(|(server, reason)| Event::StopTurned { server, reason }),
        server().prop_map(|server| Event::KillBegan { server }),
        (server(), shared(), span()).prop_map(|(server, cause, within)| Event::Crashed {
            server,
            cause,
            within
        }),
        server().prop_map(|server| Event::StrikesCleared { server }),
        (server(), ending()).prop_map(|(server, ending)| Event::Ended { server, ending }),
        (server(), time()).prop_map(|(server, until)| Event::RestBegan { server, until }),
        server().prop_map(|server| Event::SlotForgotten { server }),
        slot().prop_map(|slot| Event::SlotKept { slot: Box::new(slot) }),
        (server(), check(), shared(), span()).prop_map(|(server, check, reading, within)| {
            Event::CheckFailed { server, check, reading, within }
        }),
        (server(), check()).prop_map(|(server, check)| Event::Misbehaved { server, check }),
        incident().prop_map(|incident| Event::IncidentNoted { incident: Box::new(incident) }),
        run_number().prop_map(|newest| Event::RunsCounted { newest }),
    ]
}

/// Stored and loaded, as a turn and as a snapshot in chunks, the events are what they were; and no cut of the bytes passes.
pub(crate) fn survives<M: Stored>(events: &[M::Event]) -> Result<(), TestCaseError>
where
    M::Event: PartialEq + std::fmt::Debug,
{
    let mut bytes = Vec::new();
    M::store(events, &mut bytes);
    let loaded = M::load(&bytes).map_err(|error| TestCaseError::fail(error.to_string()))?;
    prop_assert_eq!(loaded.as_slice(), events);
    for length in 0..bytes.len() {
        prop_assert!(M::load(&bytes[..length]).is_err(), "cut to {}", length);
    }
    let story: Vec<_> = events.iter().cloned().zip(3..).map(|(event, ms)| (at(ms), event)).collect();
    let mut whole = Vec::new();
    M::store_story(&story, &mut whole);
    prop_assert_eq!(M::story_chunks(story.iter().cloned()).collect::<Vec<_>>(), [whole.clone()]);
    let loaded = M::load_story(&whole).map_err(|error| TestCaseError::fail(error.to_string()))?;
    prop_assert_eq!(loaded, story);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_fleet_event_survives(events in vec(fleet_event(), 0..4)) {
        survives::<Fleet>(&events)?;
    }

    #[test]
    fn every_catalog_event_survives(events in vec(catalog_event(), 0..4)) {
        survives::<Catalog>(&events)?;
    }

    #[test]
    fn every_supervisor_event_survives(events in vec(supervisor_event(), 0..4)) {
        survives::<Supervisor>(&events)?;
    }

    #[test]
    fn any_bytes_are_events_or_an_error(bytes in vec(any::<u8>(), 0..200)) {
        let mut bytes = bytes;
        bytes.insert(0, 1);
        // What is shown is that none of these panics or takes memory without end.
        let read = (Fleet::load(&bytes), Catalog::load(&bytes), Supervisor::load(&bytes), Fleet::load_story(&bytes));
        if let Ok(events) = &read.0 {
            prop_assert!(events.len() <= bytes.len());
        }
    }
}

#[test]
fn what_is_no_turn_is_refused() {
    assert!(matches!(Fleet::load(&[]), Err(StoredError::Empty)));
    assert!(matches!(Fleet::load(&[4, 0]), Err(StoredError::Version { found: 4, newest: 3 })));
    assert!(matches!(Fleet::load(&[1]), Err(StoredError::Shape { at: 1, .. })));
    assert!(matches!(Fleet::load(&[1, 1, 99]), Err(StoredError::Shape { at: 2, .. })));
    assert!(matches!(Fleet::load(&[1, 0, 7, 7]), Err(StoredError::Trailing(2))));
    let endless = [1, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1];
    assert!(matches!(Fleet::load(&endless), Err(StoredError::Shape { .. })));
}

#[test]
fn snapshots_are_cut_into_chunks_below_the_limit() {
    let event = |fill: usize| {
        let cause: Arc<str> = "x".repeat(fill).into();
        let id = "00112233-4455-6677-8899-aabbccddeeff".parse().unwrap();
        (at(7), FleetEvent::AllocationEnded { id, server: None, end: End::BackedOff { crashes: 2, cause } })
    };
    let story: Vec<_> = (0..50).map(|index| event(100_000 + index)).collect();
    let chunks: Vec<_> = Fleet::story_chunks(story.iter().cloned()).collect();
    assert_eq!(chunks.len(), 5, "ten of 100 kB fit a chunk");
    assert!(chunks.iter().all(|chunk| chunk.len() <= SNAPSHOT_CHUNK_BYTES_MAX));
    let told: Vec<_> = chunks.iter().flat_map(|chunk| Fleet::load_story(chunk).unwrap()).collect();
    assert_eq!(told, story);
    let large = event(2_000_000);
    let alone: Vec<_> = Fleet::story_chunks([event(1), large.clone(), event(2)].into_iter()).collect();
    assert_eq!(
        alone.iter().map(|chunk| Fleet::load_story(chunk).unwrap()).collect::<Vec<_>>()[1],
        [large],
        "alone"
    );
    assert!(alone[1].len() <= EVENT_BYTES_MAX);
    let told = std::cell::Cell::new(0);
    let counted = story.iter().cloned().inspect(|_| told.set(told.get() + 1));
    assert_eq!(Fleet::story_chunks(counted).next(), chunks.first().cloned());
    assert_eq!(told.get(), 11, "no more of the story is told than the chunk takes, and who did not fit");
    let empty: Vec<_> = Fleet::story_chunks(std::iter::empty()).collect();
    assert_eq!(empty, [[3, 0]], "an empty state has a snapshot too");
}
