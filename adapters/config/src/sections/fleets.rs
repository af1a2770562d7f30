//! `fleets`.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::configurations::block;
use super::{name, no_effect};
use crate::codes::Code;
use crate::limits::{
    ALLOCATION_RETENTION, ALLOCATION_TTL, HOLD_MAX, LOST_AFTER, MACHINE_TTL, PLACEMENT_TIMEOUT, SERVERS_MAX,
    SERVERS_PER_MACHINE_MAX,
};
use crate::model::{
    Architecture, ClaimedBy, Fleet, Hardware, LostAllocations, Region, TtlReading, UsageSetting,
};
use crate::place::{Place, Sourced};
use crate::problem::{Problem, quote};
use crate::read::{Check, Fields, Keys, list, mapping};
use crate::tree::{Node, Value};

pub(super) const KEYS: Keys = Keys {
    known: &[
        "buildConfigurations",
        "regions",
        "usageSettings",
        "architecture",
        "startOnProvision",
        "placementTimeout",
        "allocationRetention",
        "allocationType",
        "allocationTTL",
        "allocationTTLReading",
        "holdMax",
        "ttl",
        "lost",
    ],
    later: &[("placement", "choose between packed and spread placement"), ("crashLimit", "stop a bad build")],
};

pub(super) const REGION: Keys =
    Keys { known: &["minAvailable", "maxServers", "online", "provider", "aliases"], later: &[] };
pub(super) const TTL: Keys = Keys { known: &["shutdown", "delete"], later: &[] };
pub(super) const LOST: Keys = Keys { known: &["after", "allocations"], later: &[] };
pub(super) const USAGE: Keys = Keys {
    known: &[
        "hardwareType",
        "machineType",
        "maxServersPerMachine",
        "maxServersPerCore",
        "fleetUsageID",
        "memory",
        "speed",
    ],
    later: &[],
};

/// How long an accepted allocation waits: longer, and players have given up.
const PLACEMENT_WAIT: Duration = Duration::from_secs(60);
/// How long an ended allocation stays readable: longer than any sensible client repeats a call.
const RETENTION: Duration = Duration::from_secs(3_600);

/// How long an allocation may be idle unless a fleet says otherwise (Unity's allocation-ttl page).
const ALLOCATED_FOR: Duration = Duration::from_secs(3_600);
/// The furthest away a hold may run out: a game that forgets its hold keeps a machine for a day at most.
const HOLD_LONGEST: Duration = Duration::from_secs(24 * 3_600);
/// How long an agent may be silent: twelve times what it takes to notice that a stream broke, and as long as a placement
/// waits.
const SILENT_FOR: Duration = Duration::from_secs(60);
/// The words of `lost: { allocations }`.
const LOSSES: [(&str, LostAllocations); 2] =
    [("fail", LostAllocations::Fail), ("placeAnew", LostAllocations::PlaceAnew)];
/// The words of `allocationType`.
const CLAIMS: [(&str, ClaimedBy); 2] =
    [("ALLOCATION", ClaimedBy::Allocations), ("RESERVATION", ClaimedBy::Reservations)];
/// The words of `allocationTTLReading`.
const READINGS: [(&str, TtlReading); 2] = [("idle", TtlReading::Idle), ("age", TtlReading::Age)];

pub(crate) fn fleet(check: &mut Check<'_>, fleet: Sourced<String>, key: &Node, node: &Node) -> Option<Fleet> {
    let fields = Fields::open(check, format!("fleet {}", quote(&fleet.value)), &key.place, node, KEYS)?;
    let (ttl_shutdown, ttl_delete) = ttl(check, &fields);
    let lost = block(check, &fields, "lost", LOST);
    let architectures = [("Amd64", Architecture::Amd64), ("Arm64", Architecture::Arm64)];
    let read = Fleet {
        build_configurations: build_configurations(check, &fields),
        regions: regions(check, &fields),
        usage_settings: usage_settings(check, &fields),
        architecture: fields.one_of(check, "architecture", &architectures),
        start_on_provision: fields.boolean(check, "startOnProvision", false),
        placement_timeout: fields.duration(check, "placementTimeout", PLACEMENT_WAIT, PLACEMENT_TIMEOUT),
        allocation_retention: fields.duration(check, "allocationRetention", RETENTION, ALLOCATION_RETENTION),
        claimed_by: fields
            .one_of(check, "allocationType", &CLAIMS)
            .unwrap_or(Sourced::default_of(ClaimedBy::Allocations)),
        allocation_ttl: allocation_ttl(check, &fields),
        allocation_ttl_reading: fields
            .one_of(check, "allocationTTLReading", &READINGS)
            .unwrap_or(Sourced::default_of(TtlReading::Idle)),
        hold_max: fields.duration(check, "holdMax", HOLD_LONGEST, HOLD_MAX),
        ttl_shutdown,
        ttl_delete,
        lost_after: lost.duration(check, "after", SILENT_FOR, LOST_AFTER),
        lost_allocations: lost
            .one_of(check, "allocations", &LOSSES)
            .unwrap_or(Sourced::default_of(LostAllocations::Fail)),
        name: fleet,
    };
    let empty = |key: &str| match fields.get(key).map(|(_, node)| &node.value) {
        None | Some(Value::Null) => true,
        Some(Value::Scalar(_)) => false,
        Some(Value::List(items)) => items.is_empty(),
        Some(Value::Map(entries)) => entries.is_empty(),
    };
    let lacks = match (empty("buildConfigurations"), empty("regions")) {
        (true, true) => Some("build configurations and regions"),
        (true, false) => Some("build configurations"),
        (false, true) => Some("regions"),
        (false, false) => None,
    };
    if let Some(lacks) = lacks {
        check.report(|sources| {
            Problem::new(Code::NothingToRun, format!("{} will never run a server", fields.owner))
                .at(sources, &key.place, format!("has no {lacks}"))
                .why("a fleet runs its build configurations in its regions")
                .fix(format!("add {lacks}"))
        });
    }
    Some(read)
}

/// When idle machines go, as far as it is written.
fn ttl(check: &mut Check<'_>, fields: &Fields<'_>) -> (Option<Sourced<Duration>>, Option<Sourced<Duration>>) {
    let block = block(check, fields, "ttl", TTL);
    let read = |check: &mut Check<'_>, name: &str| {
        block.get(name).map(|_| block.duration(check, name, Duration::from_secs(600), MACHINE_TTL))
    };
    let (shutdown, delete) = (read(check, "shutdown"), read(check, "delete"));
    if let (Some(shutdown), Some(delete)) = (&shutdown, &delete)
        && delete.value < shutdown.value
        && let Some(place) = delete.place()
    {
        check.report(|sources| {
            Problem::new(Code::TtlOrder, format!("{} deletes before it shuts down", fields.named("ttl")))
                .at(sources, place, "shorter than shutdown")
                .why("both times count from when the last server of a machine was free")
                .fix("raise delete, or lower shutdown")
        });
    }
    (shutdown, delete)
}

/// How long an allocation lives; `off` for ever.
fn allocation_ttl(check: &mut Check<'_>, fields: &Fields<'_>) -> Sourced<Option<Duration>> {
    let is_off = |text: &str| text.trim().eq_ignore_ascii_case("off");
    match fields.get("allocationTTL").map(|(_, node)| &node.value) {
        Some(Value::Scalar(text)) if is_off(text) => {
            fields.text(check, "allocationTTL").map_or(Sourced::default_of(None), |text| text.map(|_| None))
        }
        None | Some(Value::Null | Value::Scalar(_) | Value::List(_) | Value::Map(_)) => {
            fields.duration(check, "allocationTTL", ALLOCATED_FOR, ALLOCATION_TTL).map(Some)
        }
    }
}

/// The list, each name once.
fn build_configurations(check: &mut Check<'_>, fields: &Fields<'_>) -> Vec<Sourced<String>> {
    let mut seen = BTreeSet::new();
    let mut once = Vec::new();
    for name in fields.texts(check, "buildConfigurations") {
        if seen.insert(name.value.clone()) {
            once.push(name);
        } else if let Some(place) = name.place() {
            let what = format!("{} has {} twice", fields.named("buildConfigurations"), quote(&name.value));
            no_effect(check, what, place, "once is enough");
        }
    }
    once
}

fn regions(check: &mut Check<'_>, fields: &Fields<'_>) -> BTreeMap<String, Region> {
    let Some((key, node)) = fields.get("regions") else { return BTreeMap::new() };
    let owner = fields.named("regions");
    let mut regions = BTreeMap::new();
    let mut places: BTreeMap<String, Place> = BTreeMap::new();
    for (key, node) in mapping(check, &owner, &key.place, node).unwrap_or_default() {
        let Some(region) = name(check, "region", key) else { continue };
        if let Some(first) = places.insert(region.value.to_lowercase(), key.place.clone()) {
            check.report(|sources| {
                let what = format!("{} has region {} twice", fields.owner, quote(&region.value));
                Problem::new(Code::DuplicateName, what)
                    .at(sources, &key.place, "written again here")
                    .at(sources, &first, "first written here")
                    .why("a region's id is made of its name, without regard to case")
                    .fix("rename one of them")
            });
            continue;
        }
        let owner = format!("region {} of {}", quote(&region.value), fields.owner);
        let Some(fields) = Fields::open(check, owner, &key.place, node, REGION) else { continue };
        let count = |check: &mut Check<'_>, name: &str| {
            let count = fields.whole(check, name, (0, SERVERS_MAX));
            count.map_or(Sourced::default_of(0), |count| count.map(small))
        };
        let read = Region {
            aliases: aliases(check, &fields),
            min_available: count(check, "minAvailable"),
            max_servers: count(check, "maxServers"),
            online: fields.boolean(check, "online", true),
            provider: fields.text(check, "provider"),
            name: region.clone(),
        };
        let refused = fields.get("maxServers").is_some() && read.max_servers.place().is_none();
        if read.online.value && read.max_servers.value == 0 && !refused {
            let place = read.max_servers.place().unwrap_or(&key.place);
            holds_nothing(check, &fields, place);
        }
        regions.insert(region.value, read);
    }
    regions
}

/// What else a region is called.
fn aliases(check: &mut Check<'_>, fields: &Fields<'_>) -> Vec<Sourced<String>> {
    let mut aliases = Vec::new();
    for alias in fields.texts(check, "aliases") {
        match (alias.value.trim().is_empty(), alias.place()) {
            (true, Some(place)) => {
                no_effect(
                    check,
                    format!("{} has an empty name", fields.named("aliases")),
                    place,
                    "nobody can say it",
                );
            }
            (true, None) | (false, _) => aliases.push(alias),
        }
    }
    aliases
}

fn holds_nothing(check: &mut Check<'_>, fields: &Fields<'_>, place: &Place) {
    check.report(|sources| {
        Problem::new(Code::RegionHoldsNothing, format!("{} can never hold an allocation", fields.owner))
            .at(sources, place, "maxServers is 0")
            .why("maxServers bounds the allocated servers, and its default in .gsh is 0")
            .fix("write maxServers: with a number, or online: false")
    });
}

fn usage_settings(check: &mut Check<'_>, fields: &Fields<'_>) -> Vec<UsageSetting> {
    let Some((key, node)) = fields.get("usageSettings") else { return Vec::new() };
    let owner = fields.named("usageSettings");
    let items = list(check, &owner, &key.place, node);
    items.iter().filter_map(|item| usage_setting(check, &fields.owner, item)).collect()
}

fn usage_setting(check: &mut Check<'_>, fleet: &str, node: &Node) -> Option<UsageSetting> {
    let fields = Fields::open(check, format!("a usage setting of {fleet}"), &node.place, node, USAGE)?;
    let types = [("CLOUD", Hardware::Cloud), ("METAL", Hardware::Metal)];
    if fields.get("hardwareType").is_none() {
        bad_usage(
            check,
            &fields,
            &node.place,
            "hardwareType is missing",
            "add hardwareType: METAL, or CLOUD",
        );
    }
    let hardware = fields.one_of(check, "hardwareType", &types);
    let per = (1, SERVERS_PER_MACHINE_MAX);
    let read =
        |check: &mut Check<'_>, name: &str| fields.whole(check, name, per).map(|count| count.map(small));
    let per_machine = read(check, "maxServersPerMachine");
    let per_core = read(check, "maxServersPerCore");
    let speed = fields.whole(check, "speed", (1, 100_000)).map(|speed| speed.map(small));
    let memory = fields.whole(check, "memory", (1, 1 << 30));
    let machine_type = fields.text(check, "machineType");
    let hardware = hardware?;
    match hardware.value {
        Hardware::Cloud => {
            if fields.get("maxServersPerMachine").is_none() {
                let place = hardware.place().unwrap_or(&node.place);
                bad_usage(
                    check,
                    &fields,
                    place,
                    "CLOUD needs maxServersPerMachine",
                    "add maxServersPerMachine: 2",
                );
            }
            if let Some((key, _)) = fields.get("maxServersPerCore") {
                bad_usage(check, &fields, &key.place, "belongs to METAL alone", "remove it, or write METAL");
            }
        }
        Hardware::Metal => {
            if let Some((key, _)) = fields.get("machineType") {
                bad_usage(check, &fields, &key.place, "belongs to CLOUD alone", "remove machineType");
            }
        }
    }
    Some(UsageSetting {
        hardware,
        machine_type,
        max_servers_per_machine: per_machine,
        max_servers_per_core: per_core,
        speed_mhz: speed,
        memory_mib: memory,
    })
}

fn bad_usage(check: &mut Check<'_>, fields: &Fields<'_>, place: &Place, label: &str, fix: &str) {
    check.report(|sources| {
        Problem::new(Code::BadUsage, format!("{} does not follow Unity's rules", fields.owner))
            .at(sources, place, label)
            .why("CLOUD: maxServersPerMachine, and machineType; METAL: either maximum, or none")
            .fix(fix)
    });
}

/// A number that its range has already bounded below 2^32.
pub(crate) fn small(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
