//! What a configuration file says, as the catalog's declaration.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use mainstay_config::{
    self as config, BuildPath, Config, Join, MachineSize, Refused, SourceFile, Sourced, TtlReading, load,
};
use mainstay_core::{FleetId, RegionId};
use mainstay_fleet::catalog::{BuildDeclaration, ConfigurationDeclaration, Declaration, FleetDeclaration};
use mainstay_fleet::{
    AllocationTtl, ClaimedBy, Growth, Hardware, Hosting, IdleServers, MachinePolicy, MachineTtl, OnLoss,
    Provided, RegionOpening, RegionSpec, UsageSetting,
};
use serde_json::{Value, json};
use sha2::Digest as _;
use uuid::Uuid;

use crate::providers::{Program, Programs};

/// Region ids depend on the name alone: "Europe" is the same region in every fleet and on every instance.
const REGIONS: Uuid = Uuid::from_u128(0x9a3c_1f0e_6d57_4b0a_8e21_5c7f_20d4_b931);

/// The id of a region, by its name, compared without case.
#[must_use]
pub fn region_id(name: &str) -> RegionId {
    RegionId(named(REGIONS, &name.to_lowercase()))
}

/// The id of a fleet: of its name, in this instance's environment.
#[must_use]
pub fn fleet_id(environment: Uuid, name: &str) -> FleetId {
    FleetId(named(environment, name))
}

/// The id of a fleet's presence in a region.
#[must_use]
pub(crate) fn presence_id(fleet: FleetId, region: RegionId) -> Uuid {
    named(fleet.0, &region.to_string())
}

/// The UUID of a name within a namespace: version 8, of their SHA-256 (RFC 9562, 5.8).
pub(crate) fn named(namespace: Uuid, name: &str) -> Uuid {
    let hash =
        sha2::Sha256::new().chain_update(namespace.as_bytes()).chain_update(name.as_bytes()).finalize();
    let mut bytes = [0; 16];
    bytes.iter_mut().zip(hash.iter()).for_each(|(byte, hashed)| *byte = *hashed);
    uuid::Builder::from_custom_bytes(bytes).into_uuid()
}

/// The declaration of a configuration.
#[must_use]
pub fn declaration(config: &Config, environment: Uuid, machine: &MachineSize) -> Declaration {
    Declaration {
        builds: config.builds.values().map(build).collect(),
        configurations: config
            .build_configurations
            .values()
            .map(|declared| configuration(declared, machine))
            .collect(),
        fleets: config.fleets.values().map(|declared| fleet(declared, config, environment)).collect(),
    }
}

/// The programs of a configuration's machine providers, by the fleet regions that name them.
#[must_use]
pub fn programs(config: &Config, environment: Uuid) -> Programs {
    let regions = config.fleets.values().flat_map(|fleet| {
        fleet.regions.values().map(move |region| (fleet_id(environment, &fleet.name.value), region))
    });
    let named = regions.filter_map(|(fleet, region)| {
        let provider = config.providers.get(&region.provider.as_ref()?.value)?;
        Some(((fleet, region_id(&region.name.value)), Arc::new(program(provider))))
    });
    named.collect()
}

fn program(provider: &config::Provider) -> Program {
    let command = &provider.command.value;
    let bare = command.components().count() == 1;
    Program {
        name: provider.name.value.clone(),
        command: if bare { command.clone() } else { absolute(command).into() },
        arguments: provider.arguments.iter().map(|argument| argument.value.clone().into()).collect(),
        env: pairs(&provider.env),
        call_timeout: provider.call_timeout.value,
        list_every: provider.list_every.value,
        join_url: provider.join_url.as_ref().map(|url| url.value.clone()),
    }
}

/// A build configuration as a caller gives it; what they leave out is as in a file.
#[derive(Debug, Clone)]
pub(crate) struct Given {
    pub(crate) name: String,
    pub(crate) build: String,
    pub(crate) query_type: String,
    pub(crate) binary_path: String,
    pub(crate) command_line: String,
    pub(crate) variables: Vec<(String, String)>,
    pub(crate) readiness: bool,
}

/// The declaration of a build configuration that a caller gives, judged as one in a file is.
///
/// # Errors
/// Every problem it has.
pub(crate) fn configuration_given(
    given: &Given,
    machine: &MachineSize,
) -> Result<ConfigurationDeclaration, Refused> {
    let variables: BTreeMap<&str, &str> =
        given.variables.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let file = json!({
        "version": "1.0",
        "builds": { &given.build: { "buildPath": "/" } },
        "buildConfigurations": { &given.name: {
            "build": given.build,
            "queryType": given.query_type,
            "binaryPath": given.binary_path,
            "commandLine": given.command_line,
            "variables": variables,
            "readiness": given.readiness,
        } },
    });
    let config = load_given(&file)?;
    let declared =
        config.build_configurations.values().next().map(|declared| configuration(declared, machine));
    Ok(declared.expect("a file with one build configuration that loads has one"))
}

/// The declaration of a fleet that a caller gives by its name and the names of its regions and build configurations; the
/// rest is as in a file that says nothing of it.
///
/// # Errors
/// Every problem it has.
pub(crate) fn fleet_given(
    name: &str,
    regions: &[&str],
    configurations: &[Arc<str>],
    environment: Uuid,
) -> Result<FleetDeclaration, Refused> {
    let stub = json!({ "build": "build", "queryType": "none", "binaryPath": "x", "commandLine": "" });
    let names: Vec<&str> = configurations.iter().map(|name| &**name).collect();
    let stubs: BTreeMap<&str, &Value> = names.iter().map(|name| (*name, &stub)).collect();
    let region = json!({ "minAvailable": 0, "maxServers": 1 });
    let regions: BTreeMap<&str, &Value> = regions.iter().map(|name| (*name, &region)).collect();
    let file = json!({
        "version": "1.0",
        "builds": { "build": { "buildPath": "/" } },
        "buildConfigurations": stubs,
        "fleets": { name: { "buildConfigurations": names, "regions": regions } },
    });
    let config = load_given(&file)?;
    let declared = config.fleets.values().next().map(|declared| fleet(declared, &config, environment));
    Ok(declared.expect("a file with one fleet that loads has one"))
}

/// JSON is YAML.
fn load_given(file: &Value) -> Result<Config, Refused> {
    load(&[SourceFile::new("request", file.to_string())]).map(|accepted| accepted.config)
}

fn build(build: &config::Build) -> BuildDeclaration {
    let folder = match build.path.as_ref().map(|path| &path.value) {
        Some(BuildPath::Folder(folder)) => absolute(folder),
        Some(BuildPath::Image(image)) => image.text(absolute),
        Some(BuildPath::Windows(_)) | None => String::new(),
    };
    let excluded = build.exclude_paths.iter().map(|pattern| pattern.value.as_str().into()).collect();
    BuildDeclaration { name: build.name.value.as_str().into(), folder, excluded }
}

/// A folder as the agent finds it, whatever its own working directory is.
fn absolute(folder: &std::path::Path) -> String {
    let absolute = std::path::absolute(folder);
    absolute.unwrap_or_else(|_| folder.to_owned()).to_string_lossy().into_owned()
}

fn configuration(declared: &config::BuildConfiguration, machine: &MachineSize) -> ConfigurationDeclaration {
    ConfigurationDeclaration {
        name: declared.name.value.as_str().into(),
        build: declared.build.value.as_str().into(),
        binary: declared.binary_path.value.clone(),
        command_line: declared.command_line.value.to_string(),
        variables: pairs(&declared.variables),
        environment: pairs(&declared.env),
        query: declared.slot_query(),
        limits: declared.slot_limits(machine),
        caps: declared.slot_caps(),
        stop: declared.slot_stop(),
        restart: declared.slot_restart(),
        checks: declared.slot_checks(),
        recovery: declared.slot_recovery(),
        ready_signal: declared.slot_ready_signal(),
    }
}

fn pairs(named: &BTreeMap<String, Sourced<String>>) -> Vec<(String, String)> {
    named.iter().map(|(name, value)| (name.clone(), value.value.clone())).collect()
}

fn hosting(declared: &config::Fleet) -> Hosting {
    Hosting {
        claimed_by: match declared.claimed_by.value {
            config::ClaimedBy::Allocations => ClaimedBy::Allocations,
            config::ClaimedBy::Reservations => ClaimedBy::Reservations,
        },
        hold_max: declared.hold_max.value,
        allocation_ttl: match (declared.allocation_ttl.value, declared.allocation_ttl_reading.value) {
            (None, _) => AllocationTtl::Off,
            (Some(ttl), TtlReading::Idle) => AllocationTtl::Idle(ttl),
            (Some(ttl), TtlReading::Age) => AllocationTtl::Age(ttl),
        },
        machines: machine_policy(declared),
        usage: declared.usage_settings.iter().map(usage).collect(),
        disabled_delete: None,
    }
}

fn usage(declared: &config::UsageSetting) -> UsageSetting {
    UsageSetting {
        hardware: match declared.hardware.value {
            config::Hardware::Cloud => Hardware::Cloud,
            config::Hardware::Metal => Hardware::Metal,
        },
        machine_type: declared.machine_type.as_ref().map(|it| it.value.as_str().into()),
        per_machine: declared.max_servers_per_machine.as_ref().map(|it| it.value),
        per_core: declared.max_servers_per_core.as_ref().map(|it| it.value),
        speed_mhz: declared.speed_mhz.as_ref().map(|it| it.value),
        memory_mib: declared.memory_mib.as_ref().map(|it| it.value),
    }
}

/// The usage settings that a caller gives, judged as those in a file are.
///
/// # Errors
/// Every problem they have.
pub(crate) fn usage_given(settings: &Value) -> Result<Vec<UsageSetting>, Refused> {
    let file = json!({
        "version": "1.0",
        "builds": { "build": { "buildPath": "/" } },
        "buildConfigurations": {
            "c": { "build": "build", "queryType": "none", "binaryPath": "x", "commandLine": "" },
        },
        "fleets": { "fleet": {
            "buildConfigurations": ["c"],
            "regions": { "r": { "minAvailable": 0, "maxServers": 1 } },
            "usageSettings": settings,
        } },
    });
    let config = load_given(&file)?;
    Ok(config.fleets.values().flat_map(|fleet| &fleet.usage_settings).map(usage).collect())
}

/// The container image that a caller gives, named as in a file; of one on a disk, by its absolute path on the control plane's.
///
/// # Errors
/// Every problem it has. `None`: its path is relative.
pub(crate) fn image_given(image: &str) -> Result<Option<String>, Refused> {
    let file = json!({ "version": "1.0", "builds": { "build": { "image": image } } });
    let config = load_given(&file)?;
    let path = config.builds.values().find_map(|build| build.path.as_ref()).map(|path| &path.value);
    Ok(match path {
        Some(BuildPath::Image(image)) => {
            let absolute = match image {
                config::Image::Layout(path, _) | config::Image::Archive(path, _) => path.is_absolute(),
                config::Image::Registry(_) => true,
            };
            absolute.then(|| image.text(|path| path.to_string_lossy().into_owned()))
        }
        Some(BuildPath::Folder(_) | BuildPath::Windows(_)) | None => None,
    })
}

/// How long machines idle where a provider makes them and nothing is written: long enough for the next session, short
/// enough for the bill.
pub(crate) const IDLE: (Duration, Duration) = (Duration::from_secs(10 * 60), Duration::from_secs(60 * 60));

/// Idle machines stay where neither a time nor a provider is written: they are the studio's own, and cost the same.
fn machine_policy(declared: &config::Fleet) -> MachinePolicy {
    let (shutdown, delete) = (declared.ttl_shutdown.as_ref(), declared.ttl_delete.as_ref());
    let made = declared.regions.values().any(|region| region.provider.is_some());
    let ttl = if shutdown.is_none() && delete.is_none() && !made {
        MachineTtl::Off
    } else {
        let delete = delete.map_or(IDLE.1, |delete| delete.value);
        let shutdown = shutdown.map_or(IDLE.0.min(delete), |shutdown| shutdown.value);
        MachineTtl::Idle { shutdown, delete: delete.max(shutdown) }
    };
    let on_loss = match declared.lost_allocations.value {
        config::LostAllocations::Fail => OnLoss::Fail,
        config::LostAllocations::PlaceAnew => OnLoss::PlaceAnew,
    };
    MachinePolicy { ttl, lost_after: declared.lost_after.value, on_loss }
}

fn provided(provider: &config::Provider) -> Provided {
    Provided {
        slots: provider.slots.value,
        machines_max: provider.max_machines.value,
        create_timeout: provider.create_timeout.value,
        retry: provider.retry.value,
    }
}

fn fleet(declared: &config::Fleet, config: &Config, environment: Uuid) -> FleetDeclaration {
    let others = match config.machines.join.value {
        Join::Allowed => Growth::MachinesMayJoin,
        Join::None => Growth::Fixed,
    };
    let growth = |region: &config::Region| {
        let provider = region.provider.as_ref().and_then(|name| config.providers.get(&name.value));
        provider.map_or(others, |provider| Growth::Provided(provided(provider)))
    };
    let region = |region: &config::Region| RegionSpec {
        id: region_id(&region.name.value),
        name: region.name.value.as_str().into(),
        aliases: region.aliases.iter().map(|alias| alias.value.as_str().into()).collect(),
        min_available: region.min_available.value,
        max_servers: region.max_servers.value,
        opening: if region.online.value { RegionOpening::Online } else { RegionOpening::Offline },
        growth: growth(region),
        ttl: None,
    };
    FleetDeclaration {
        name: declared.name.value.as_str().into(),
        id: fleet_id(environment, &declared.name.value),
        idle_servers: if declared.start_on_provision.value {
            IdleServers::StartOnProvision
        } else {
            IdleServers::StartOnAllocation
        },
        regions: declared.regions.values().map(region).collect(),
        configurations: declared
            .build_configurations
            .iter()
            .map(|name| Arc::from(name.value.as_str()))
            .collect(),
        placement_timeout: declared.placement_timeout.value,
        retention: declared.allocation_retention.value,
        hosting: hosting(declared),
    }
}
