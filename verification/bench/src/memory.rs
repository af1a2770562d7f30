//! What an idle server costs the control plane in memory: a fleet of a hundred thousand, all reported online.

use std::sync::Arc;
use std::time::Duration;

use mainstay_core::slot::{
    Caps, Checks, ConfigurationRef, Launch, Limits, Phase, ReadySignal, Recovery, RestartPolicy, Spec,
    Status, StopPolicy,
};
use mainstay_core::{
    BuildConfigurationId, BuildId, FleetId, FleetNumber, Generation, MachineKey, Outcome, RegionId,
    Timestamp, Turn,
};
use mainstay_fleet::{
    Addresses, Answer, Command, Fleet, FleetSpec, Growth, IdleServers, JoinedSlot, Ports, RegionOpening,
    RegionSpec, StreamId,
};

use crate::{Failure, option};

/// How many of the servers are on one machine.
const SLOTS: u16 = 20;

/// When the fleet is built.
pub const START: Timestamp = Timestamp::from_unix_ms(1_800_000_000_000);

/// Builds the fleet and says what it takes.
pub fn run(arguments: &[String]) -> Result<(), Failure> {
    let servers = option(arguments, "--servers")?.unwrap_or(100_000);
    let before = resident_kib()?;
    let fleet = build(servers)?;
    let bytes = (resident_kib()? - before) * 1024;
    let count = u64::try_from(fleet.servers(None).count())?;
    say!("{count} idle servers: {} bytes each, {} MiB in all", bytes / count, bytes >> 20);
    Ok(())
}

/// A fleet whose servers all run idle.
pub fn build(servers: u64) -> Result<Fleet, Failure> {
    let mut fleet = Fleet::new(1);
    must(&mut fleet, &Command::Configure(Arc::new(spec()?)))?;
    for machine in 0..servers / u64::from(SLOTS) {
        let join = Command::Join {
            key: MachineKey(uuid(machine)),
            region: RegionId(uuid(0)),
            name: format!("machine {machine}").into(),
            addresses: Addresses::default(),
            slots: (0..SLOTS)
                .map(|slot| Ports { game: 20_000 + 2 * slot, query: 20_001 + 2 * slot })
                .collect(),
            boot: None,
            host: None,
        };
        let Answer::Joined { machine, slots } = must(&mut fleet, &join)? else {
            return Err("no machine joined".into());
        };
        let configuration = Some(reference()?);
        let online = |slot: &JoinedSlot| Status {
            server: slot.server,
            generation: Generation::from_number(1),
            configuration,
            run: 0,
            phase: Phase::Online { pid: 1000 },
        };
        let statuses = slots.iter().map(online).collect();
        must(&mut fleet, &Command::Connect { machine, stream: StreamId(machine.number()), statuses })?;
    }
    Ok(fleet)
}

fn must(fleet: &mut Fleet, command: &Command) -> Result<Answer, Failure> {
    let Outcome { answer, .. } = Turn::run(START, fleet, command);
    Ok(answer?)
}

fn spec() -> Result<FleetSpec, Failure> {
    Ok(FleetSpec {
        number: FleetNumber::new(1).ok_or("1 is a fleet number")?,
        id: FleetId(uuid(1)),
        name: "bench".into(),
        revision: 1,
        idle_servers: IdleServers::StartOnProvision,
        regions: vec![RegionSpec {
            id: RegionId(uuid(0)),
            name: "Local".into(),
            aliases: vec![],
            min_available: 0,
            max_servers: u32::MAX,
            opening: RegionOpening::Online,
            growth: Growth::Fixed,
            ttl: None,
        }],
        configurations: vec![Spec {
            configuration: reference()?,
            name: "bench".into(),
            build: BuildId::from_number(1)?,
            launch: Launch {
                folder: "/nowhere".into(),
                binary: "bench".into(),
                command_line: String::new(),
                variables: Vec::new(),
                environment: Vec::new(),
            },
            query: None,
            limits: Limits { cpu_millis: 100, memory_mib: 64 },
            caps: Caps::default(),
            stop: StopPolicy::default(),
            restart: RestartPolicy::default(),
            checks: Checks::default(),
            recovery: Recovery::default(),
            ready_signal: ReadySignal::default(),
        }],
        placement_timeout: Duration::from_secs(60),
        retention: Duration::from_secs(3600),
        hosting: mainstay_fleet::Hosting::default(),
        floors: Vec::new(),
    })
}

/// What every server runs.
pub fn reference() -> Result<ConfigurationRef, Failure> {
    Ok(ConfigurationRef { id: BuildConfigurationId::from_number(1)?, revision: 1 })
}

/// Some id.
pub fn uuid(n: u64) -> uuid::Uuid {
    uuid::Uuid::from_u128(u128::from(n) + 1)
}

/// Memory of this process in RAM, from the kernel.
pub fn resident_kib() -> Result<u64, Failure> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .ok_or("/proc/self/status has no VmRSS")?;
    Ok(line.trim().trim_end_matches("kB").trim().parse()?)
}
