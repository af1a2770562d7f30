//! From what travels to values. Whatever the bytes, the end is a value or a reason.

use std::sync::Arc;
use std::time::Duration;

use mainstay_core::density::{Host, MachineSize};
use mainstay_core::slot::{
    Caps, ConfigurationRef, Intent, Launch, Limits, Order, Phase, Query, QueryPort, ReadySignal,
    RestartPolicy, Session, Spec, Status, StopPolicy, Stopped,
};
use mainstay_core::{
    AllocationId, BuildConfigurationId, BuildId, FleetId, Generation, IdError, MachineId, MachineKey,
    RegionId, ServerId,
};
use mainstay_fleet::{JoinedSlot, Ports, SLOTS_PER_MACHINE_MAX};

use super::supervision::recovery;
use super::{
    CAUSE_BYTES_MAX, Down, Frame, Hello, JoiningMachine, MACHINES_PER_AGENT_MAX, Malformed, NAME_BYTES_MAX,
    PROCESSOR_BYTES_MAX, PROTOCOL, Statuses, Up, Welcome, WelcomedMachine, proto,
};

impl TryFrom<proto::Up> for Up {
    type Error = Malformed;

    fn try_from(up: proto::Up) -> Result<Self, Malformed> {
        use proto::up::What;
        match required(up.what, "Up", "what")? {
            What::Hello(hello) => Ok(Self::Hello(hello.try_into()?)),
            What::Resync(statuses) => Ok(Self::Resync(statuses.try_into()?)),
            What::Report(statuses) => Ok(Self::Report(statuses.try_into()?)),
            What::Incidents(incidents) => Ok(Self::Incidents(incidents.try_into()?)),
            What::Readings(readings) => Ok(Self::Readings(readings.try_into()?)),
            What::Ask(ask) => Ok(Self::Ask(ask.try_into()?)),
            What::Installs(installs) => Ok(Self::Installs(installs.try_into()?)),
            What::Looked(looked) => Ok(Self::Looked(looked.try_into()?)),
        }
    }
}

impl TryFrom<proto::Down> for Down {
    type Error = Malformed;

    fn try_from(down: proto::Down) -> Result<Self, Malformed> {
        use proto::down::What;
        match required(down.what, "Down", "what")? {
            What::Welcome(welcome) => Ok(Self::Welcome(welcome.try_into()?)),
            What::Frames(frames) => {
                let frames = at_most(frames.frames, MACHINES_PER_AGENT_MAX, "Frames", "frames")?;
                Ok(Self::Frames(all(frames)?))
            }
            What::Answer(answer) => Ok(Self::Answer(answer.try_into()?)),
            What::Look(look) => Ok(Self::Look(look.try_into()?)),
        }
    }
}

impl TryFrom<proto::Hello> for Hello {
    type Error = Malformed;

    fn try_from(hello: proto::Hello) -> Result<Self, Malformed> {
        // First: a newer agent's other fields may mean something else.
        if hello.protocol != PROTOCOL {
            return Err(Malformed::Protocol { found: hello.protocol });
        }
        let machines = at_most(hello.machines, MACHINES_PER_AGENT_MAX, "Hello", "machines")?;
        Ok(Self {
            agent_version: name(hello.agent_version, "Hello", "agent_version")?,
            boot_id: name(hello.boot_id, "Hello", "boot_id")?,
            token: name(hello.token, "Hello", "token")?,
            machines: all(machines)?,
            looks: hello.looks,
            host: hello.host.map(TryInto::try_into).transpose()?,
        })
    }
}

impl TryFrom<proto::Host> for Host {
    type Error = Malformed;

    fn try_from(host: proto::Host) -> Result<Self, Malformed> {
        let proto::Host { cores, speed_mhz, memory_mib, processor } = host;
        let size = MachineSize { cores, speed_mhz, memory_mib };
        let (found, max) = (processor.len(), PROCESSOR_BYTES_MAX);
        if found > max {
            return Err(Malformed::TooLong { message: "Host", field: "processor", found, max });
        }
        Ok(Self { size, processor: processor.into() })
    }
}

impl TryFrom<proto::JoiningMachine> for JoiningMachine {
    type Error = Malformed;

    fn try_from(machine: proto::JoiningMachine) -> Result<Self, Malformed> {
        const IN: &str = "JoiningMachine";
        Ok(Self {
            key: MachineKey(uuid(&machine.key, IN, "key")?),
            fleet: name(machine.fleet, IN, "fleet")?,
            region: name(machine.region, IN, "region")?,
            name: name(machine.name, IN, "name")?.into(),
            ipv4: address(&machine.ipv4, IN, "ipv4")?,
            ipv6: address(&machine.ipv6, IN, "ipv6")?,
            slots: all(at_most(machine.slots, SLOTS_PER_MACHINE_MAX, IN, "slots")?)?,
        })
    }
}

impl TryFrom<proto::Ports> for Ports {
    type Error = Malformed;

    fn try_from(ports: proto::Ports) -> Result<Self, Malformed> {
        let port = |number: u32, field| {
            let meaningless = Malformed::Meaningless { message: "Ports", field, value: number.into() };
            u16::try_from(number).map_err(|_| meaningless)
        };
        Ok(Self { game: port(ports.game, "game")?, query: port(ports.query, "query")? })
    }
}

impl TryFrom<proto::Welcome> for Welcome {
    type Error = Malformed;

    fn try_from(welcome: proto::Welcome) -> Result<Self, Malformed> {
        if welcome.protocol != PROTOCOL {
            return Err(Malformed::Protocol { found: welcome.protocol });
        }
        let machines = at_most(welcome.machines, MACHINES_PER_AGENT_MAX, "Welcome", "machines")?;
        Ok(Self { machines: all(machines)?, asks: welcome.asks, installs: welcome.installs })
    }
}

impl TryFrom<proto::WelcomedMachine> for WelcomedMachine {
    type Error = Malformed;

    fn try_from(machine: proto::WelcomedMachine) -> Result<Self, Malformed> {
        const IN: &str = "WelcomedMachine";
        Ok(Self {
            machine: id(MachineId::from_number(machine.machine), IN, "machine")?,
            fleet_id: FleetId(uuid(&machine.fleet_id, IN, "fleet_id")?),
            fleet_name: name(machine.fleet_name, IN, "fleet_name")?,
            region_id: RegionId(uuid(&machine.region_id, IN, "region_id")?),
            region_name: name(machine.region_name, IN, "region_name")?,
            slots: all(at_most(machine.slots, SLOTS_PER_MACHINE_MAX, IN, "slots")?)?,
        })
    }
}

impl TryFrom<proto::WelcomedSlot> for JoinedSlot {
    type Error = Malformed;

    fn try_from(slot: proto::WelcomedSlot) -> Result<Self, Malformed> {
        Ok(Self {
            server: id(ServerId::from_number(slot.server), "WelcomedSlot", "server")?,
            ports: required(slot.ports, "WelcomedSlot", "ports")?.try_into()?,
        })
    }
}

impl TryFrom<proto::Statuses> for Statuses {
    type Error = Malformed;

    fn try_from(statuses: proto::Statuses) -> Result<Self, Malformed> {
        const IN: &str = "Statuses";
        Ok(Self {
            machine: id(MachineId::from_number(statuses.machine), IN, "machine")?,
            statuses: all(at_most(statuses.statuses, SLOTS_PER_MACHINE_MAX, IN, "statuses")?)?,
        })
    }
}

impl TryFrom<proto::Frame> for Frame {
    type Error = Malformed;

    fn try_from(frame: proto::Frame) -> Result<Self, Malformed> {
        let specs = match frame.specs {
            None => None,
            Some(specs) => Some((specs.revision, all(specs.specs)?)),
        };
        Ok(Self {
            machine: id(MachineId::from_number(frame.machine), "Frame", "machine")?,
            specs,
            slots: frame.slots.map(room).transpose()?,
            orders: all(at_most(frame.orders, SLOTS_PER_MACHINE_MAX, "Frame", "orders")?)?,
        })
    }
}

/// How many slots there is room for: no more than a machine may bring.
fn room(slots: u32) -> Result<u32, Malformed> {
    let (found, max) = (usize::try_from(slots).unwrap_or(usize::MAX), SLOTS_PER_MACHINE_MAX);
    if found > max {
        return Err(Malformed::TooLong { message: "Frame", field: "slots", found, max });
    }
    Ok(slots)
}

impl TryFrom<proto::ConfigurationRef> for ConfigurationRef {
    type Error = Malformed;

    fn try_from(reference: proto::ConfigurationRef) -> Result<Self, Malformed> {
        let number = BuildConfigurationId::from_number(reference.id);
        Ok(Self { id: id(number, "ConfigurationRef", "id")?, revision: reference.revision })
    }
}

impl TryFrom<proto::Order> for Order {
    type Error = Malformed;

    fn try_from(order: proto::Order) -> Result<Self, Malformed> {
        const IN: &str = "Order";
        let meaningless =
            || Malformed::Meaningless { message: IN, field: "intent", value: order.intent.into() };
        let intent = match proto::Intent::try_from(order.intent).map_err(|_| meaningless())? {
            proto::Intent::Unspecified => return Err(meaningless()),
            proto::Intent::Stop => Intent::Stop,
            proto::Intent::Run => Intent::Run,
            proto::Intent::Renew => Intent::Renew,
            proto::Intent::Leave => Intent::Leave,
        };
        Ok(Self {
            server: id(ServerId::from_number(order.server), IN, "server")?,
            generation: Generation::from_number(order.generation),
            configuration: required(order.configuration, IN, "configuration")?.try_into()?,
            allocation: order.session.map(TryInto::try_into).transpose()?,
            intent,
        })
    }
}

impl TryFrom<proto::Session> for Session {
    type Error = Malformed;

    fn try_from(session: proto::Session) -> Result<Self, Malformed> {
        let allocation = AllocationId(uuid(&session.allocation, "Session", "allocation")?);
        Ok(Self { allocation, payload: session.payload.map(Into::into) })
    }
}

impl TryFrom<proto::Status> for Status {
    type Error = Malformed;

    fn try_from(status: proto::Status) -> Result<Self, Malformed> {
        use proto::status::Phase as Said;
        const IN: &str = "Status";
        let phase = match required(status.phase, IN, "phase")? {
            Said::Stopped(why) => Phase::Stopped(stopped(why)?),
            Said::Starting(proto::Starting { pid }) => Phase::Starting { pid },
            Said::Online(proto::Online { pid }) => Phase::Online { pid },
            Said::Stopping(proto::Stopping { pid }) => Phase::Stopping { pid },
            Said::BackedOff(proto::BackedOff { crashes, cause }) => {
                let cause = short(cause, CAUSE_BYTES_MAX, "BackedOff", "cause")?;
                Phase::BackedOff { crashes, cause: cause.into() }
            }
            Said::PreRecovery(proto::PreRecovery { cause }) => {
                let cause = short(cause, CAUSE_BYTES_MAX, "PreRecovery", "cause")?;
                Phase::PreRecovery { cause: cause.into() }
            }
            Said::Lost(proto::Lost {}) => Phase::Lost,
        };
        Ok(Self {
            server: id(ServerId::from_number(status.server), IN, "server")?,
            generation: Generation::from_number(status.generation),
            configuration: status.configuration.map(TryInto::try_into).transpose()?,
            run: status.run,
            phase,
        })
    }
}

fn stopped(why: i32) -> Result<Stopped, Malformed> {
    let meaningless = || Malformed::Meaningless { message: "Status", field: "stopped", value: why.into() };
    match proto::StoppedReason::try_from(why).map_err(|_| meaningless())? {
        proto::StoppedReason::StoppedUnspecified => Err(meaningless()),
        proto::StoppedReason::StoppedIdle => Ok(Stopped::Idle),
        proto::StoppedReason::StoppedOrdered => Ok(Stopped::Ordered),
        proto::StoppedReason::StoppedCompleted => Ok(Stopped::Completed),
    }
}

impl TryFrom<proto::Spec> for Spec {
    type Error = Malformed;

    fn try_from(spec: proto::Spec) -> Result<Self, Malformed> {
        const IN: &str = "Spec";
        let launch = required(spec.launch, IN, "launch")?;
        let limits = required(spec.limits, IN, "limits")?;
        let caps = required(spec.caps, IN, "caps")?;
        let stop = required(spec.stop, IN, "stop")?;
        let restart = required(spec.restart, IN, "restart")?;
        let pairs = |variables: Vec<proto::Variable>| {
            variables.into_iter().map(|variable| (variable.name, variable.value)).collect()
        };
        Ok(Self {
            configuration: required(spec.configuration, IN, "configuration")?.try_into()?,
            name: Arc::from(spec.name),
            build: id(BuildId::from_number(spec.build), IN, "build")?,
            launch: Launch {
                folder: launch.folder,
                binary: launch.binary,
                command_line: launch.command_line,
                variables: pairs(launch.variables),
                environment: pairs(launch.environment),
            },
            query: spec.query.map(TryInto::try_into).transpose()?,
            limits: Limits { cpu_millis: limits.cpu_millis, memory_mib: limits.memory_mib },
            caps: Caps { cpu_millis: caps.cpu_millis, memory_mib: caps.memory_mib },
            stop: StopPolicy { signal: stop.signal, kill_after: Duration::from_millis(stop.kill_after_ms) },
            restart: RestartPolicy {
                attempts: restart.attempts,
                within: Duration::from_millis(restart.within_ms),
            },
            checks: spec.checks.map(Into::into).unwrap_or_default(),
            recovery: recovery(spec.recovery)?,
            // Nothing that an agent does depends on it, so it does not travel.
            ready_signal: ReadySignal::NotAwaited,
        })
    }
}

impl TryFrom<proto::Query> for Query {
    type Error = Malformed;

    fn try_from(query: proto::Query) -> Result<Self, Malformed> {
        let meaningless =
            || Malformed::Meaningless { message: "Query", field: "port", value: query.port.into() };
        let port = match proto::QueryPort::try_from(query.port).map_err(|_| meaningless())? {
            proto::QueryPort::Unspecified => return Err(meaningless()),
            proto::QueryPort::Game => QueryPort::Game,
            proto::QueryPort::Query => QueryPort::Query,
        };
        Ok(Self {
            protocol: query.protocol,
            port,
            timeout: Duration::from_millis(query.timeout_ms),
            start_grace: Duration::from_millis(query.start_grace_ms),
        })
    }
}

pub(super) fn required<T>(
    value: Option<T>,
    message: &'static str,
    field: &'static str,
) -> Result<T, Malformed> {
    value.ok_or(Malformed::Missing { message, field })
}

pub(super) fn all<T, U: TryFrom<T, Error = Malformed>>(values: Vec<T>) -> Result<Vec<U>, Malformed> {
    values.into_iter().map(U::try_from).collect()
}

pub(super) fn at_most<T>(
    values: Vec<T>,
    max: usize,
    message: &'static str,
    field: &'static str,
) -> Result<Vec<T>, Malformed> {
    match values.len() {
        found if found > max => Err(Malformed::TooLong { message, field, found, max }),
        _fits => Ok(values),
    }
}

pub(super) fn short(
    text: String,
    max: usize,
    message: &'static str,
    field: &'static str,
) -> Result<String, Malformed> {
    match text.len() {
        found if found > max => Err(Malformed::TooLong { message, field, found, max }),
        _fits => Ok(text),
    }
}

fn name(text: String, message: &'static str, field: &'static str) -> Result<String, Malformed> {
    short(text, NAME_BYTES_MAX, message, field)
}

pub(super) fn uuid(
    bytes: &[u8],
    message: &'static str,
    field: &'static str,
) -> Result<uuid::Uuid, Malformed> {
    uuid::Uuid::from_slice(bytes).map_err(|_| Malformed::Uuid { message, field, bytes: bytes.len() })
}

pub(super) fn id<T>(
    number: Result<T, IdError>,
    message: &'static str,
    field: &'static str,
) -> Result<T, Malformed> {
    number.map_err(|cause| Malformed::Id { message, field, cause })
}

fn address<T: std::str::FromStr>(
    text: &str,
    message: &'static str,
    field: &'static str,
) -> Result<Option<T>, Malformed> {
    if text.is_empty() {
        return Ok(None);
    }
    text.parse().map(Some).map_err(|_| Malformed::Address { message, field })
}
