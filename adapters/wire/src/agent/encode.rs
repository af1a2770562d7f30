//! From values to what travels.

use std::time::Duration;

use mainstay_core::density::{Host, MachineSize};
use mainstay_core::slot::{
    ConfigurationRef, Intent, Order, Phase, QueryPort, Session, Spec, Status, Stopped,
};
use mainstay_fleet::Ports;

use super::{Down, Frame, Hello, JoiningMachine, PROTOCOL, Statuses, Up, Welcome, WelcomedMachine, proto};

impl From<Up> for proto::Up {
    fn from(up: Up) -> Self {
        use proto::up::What;
        let what = match up {
            Up::Hello(hello) => What::Hello(hello.into()),
            Up::Resync(statuses) => What::Resync(statuses.into()),
            Up::Report(statuses) => What::Report(statuses.into()),
            Up::Incidents(incidents) => What::Incidents(incidents.into()),
            Up::Readings(readings) => What::Readings(readings.into()),
            Up::Ask(ask) => What::Ask(ask.into()),
            Up::Installs(installs) => What::Installs(installs.into()),
            Up::Looked(looked) => What::Looked(looked.into()),
        };
        Self { what: Some(what) }
    }
}

impl From<Down> for proto::Down {
    fn from(down: Down) -> Self {
        use proto::down::What;
        let what = match down {
            Down::Welcome(welcome) => What::Welcome(welcome.into()),
            Down::Frames(frames) => {
                What::Frames(proto::Frames { frames: frames.into_iter().map(Into::into).collect() })
            }
            Down::Answer(answer) => What::Answer(answer.into()),
            Down::Look(look) => What::Look(look.into()),
        };
        Self { what: Some(what) }
    }
}

impl From<Hello> for proto::Hello {
    fn from(hello: Hello) -> Self {
        Self {
            protocol: PROTOCOL,
            agent_version: hello.agent_version,
            boot_id: hello.boot_id,
            token: hello.token,
            machines: hello.machines.into_iter().map(Into::into).collect(),
            looks: hello.looks,
            host: hello.host.map(Into::into),
        }
    }
}

impl From<JoiningMachine> for proto::JoiningMachine {
    fn from(machine: JoiningMachine) -> Self {
        Self {
            key: machine.key.0.into_bytes().to_vec(),
            fleet: machine.fleet,
            region: machine.region,
            name: machine.name.to_string(),
            ipv4: machine.ipv4.map(|address| address.to_string()).unwrap_or_default(),
            ipv6: machine.ipv6.map(|address| address.to_string()).unwrap_or_default(),
            slots: machine.slots.into_iter().map(Into::into).collect(),
        }
    }
}

impl From<Ports> for proto::Ports {
    fn from(ports: Ports) -> Self {
        Self { game: ports.game.into(), query: ports.query.into() }
    }
}

impl From<Welcome> for proto::Welcome {
    fn from(welcome: Welcome) -> Self {
        Self {
            protocol: PROTOCOL,
            machines: welcome.machines.into_iter().map(Into::into).collect(),
            asks: welcome.asks,
            installs: welcome.installs,
        }
    }
}

impl From<WelcomedMachine> for proto::WelcomedMachine {
    fn from(machine: WelcomedMachine) -> Self {
        let slot = |slot: mainstay_fleet::JoinedSlot| proto::WelcomedSlot {
            server: slot.server.number(),
            ports: Some(slot.ports.into()),
        };
        Self {
            machine: machine.machine.number(),
            fleet_id: machine.fleet_id.0.into_bytes().to_vec(),
            fleet_name: machine.fleet_name,
            region_id: machine.region_id.0.into_bytes().to_vec(),
            region_name: machine.region_name,
            slots: machine.slots.into_iter().map(slot).collect(),
        }
    }
}

impl From<Statuses> for proto::Statuses {
    fn from(statuses: Statuses) -> Self {
        Self {
            machine: statuses.machine.number(),
            statuses: statuses.statuses.into_iter().map(Into::into).collect(),
        }
    }
}

impl From<Host> for proto::Host {
    fn from(Host { size: MachineSize { cores, speed_mhz, memory_mib }, processor }: Host) -> Self {
        Self { cores, speed_mhz, memory_mib, processor: processor.to_string() }
    }
}

impl From<Frame> for proto::Frame {
    fn from(frame: Frame) -> Self {
        let specs = |(revision, specs): (u64, Vec<Spec>)| proto::Specs {
            revision,
            specs: specs.into_iter().map(Into::into).collect(),
        };
        Self {
            machine: frame.machine.number(),
            specs: frame.specs.map(specs),
            slots: frame.slots,
            orders: frame.orders.into_iter().map(Into::into).collect(),
        }
    }
}

impl From<ConfigurationRef> for proto::ConfigurationRef {
    fn from(reference: ConfigurationRef) -> Self {
        Self { id: reference.id.number(), revision: reference.revision }
    }
}

impl From<Order> for proto::Order {
    fn from(order: Order) -> Self {
        let intent = match order.intent {
            Intent::Stop => proto::Intent::Stop,
            Intent::Run => proto::Intent::Run,
            Intent::Renew => proto::Intent::Renew,
            Intent::Leave => proto::Intent::Leave,
        };
        Self {
            server: order.server.number(),
            generation: order.generation.number(),
            configuration: Some(order.configuration.into()),
            session: order.allocation.map(Into::into),
            intent: intent.into(),
        }
    }
}

impl From<Session> for proto::Session {
    fn from(session: Session) -> Self {
        Self {
            allocation: session.allocation.0.into_bytes().to_vec(),
            payload: session.payload.map(|payload| payload.to_string()),
        }
    }
}

impl From<Status> for proto::Status {
    fn from(status: Status) -> Self {
        use proto::status::Phase as Said;
        let phase = match status.phase {
            Phase::Stopped(why) => {
                let why = match why {
                    Stopped::Idle => proto::StoppedReason::StoppedIdle,
                    Stopped::Ordered => proto::StoppedReason::StoppedOrdered,
                    Stopped::Completed => proto::StoppedReason::StoppedCompleted,
                };
                Said::Stopped(why.into())
            }
            Phase::Starting { pid } => Said::Starting(proto::Starting { pid }),
            Phase::Online { pid } => Said::Online(proto::Online { pid }),
            Phase::Stopping { pid } => Said::Stopping(proto::Stopping { pid }),
            Phase::BackedOff { crashes, cause } => {
                Said::BackedOff(proto::BackedOff { crashes, cause: cause.to_string() })
            }
            Phase::PreRecovery { cause } => {
                Said::PreRecovery(proto::PreRecovery { cause: cause.to_string() })
            }
            Phase::Lost => Said::Lost(proto::Lost {}),
        };
        Self {
            server: status.server.number(),
            generation: status.generation.number(),
            configuration: status.configuration.map(Into::into),
            phase: Some(phase),
            run: status.run,
        }
    }
}

impl From<Spec> for proto::Spec {
    fn from(spec: Spec) -> Self {
        let variables = |pairs: Vec<(String, String)>| {
            pairs.into_iter().map(|(name, value)| proto::Variable { name, value }).collect()
        };
        let query = |query: mainstay_core::slot::Query| proto::Query {
            protocol: query.protocol,
            port: match query.port {
                QueryPort::Game => proto::QueryPort::Game.into(),
                QueryPort::Query => proto::QueryPort::Query.into(),
            },
            timeout_ms: millis(query.timeout),
            start_grace_ms: millis(query.start_grace),
        };
        Self {
            configuration: Some(spec.configuration.into()),
            name: spec.name.to_string(),
            build: spec.build.number(),
            launch: Some(proto::Launch {
                folder: spec.launch.folder,
                binary: spec.launch.binary,
                command_line: spec.launch.command_line,
                variables: variables(spec.launch.variables),
                environment: variables(spec.launch.environment),
            }),
            query: spec.query.map(query),
            limits: Some(proto::Limits {
                cpu_millis: spec.limits.cpu_millis,
                memory_mib: spec.limits.memory_mib,
            }),
            caps: Some(proto::Caps { cpu_millis: spec.caps.cpu_millis, memory_mib: spec.caps.memory_mib }),
            stop: Some(proto::StopPolicy {
                signal: spec.stop.signal,
                kill_after_ms: millis(spec.stop.kill_after),
            }),
            restart: Some(proto::RestartPolicy {
                attempts: spec.restart.attempts,
                within_ms: millis(spec.restart.within),
            }),
            checks: Some(spec.checks.into()),
            recovery: proto::Recovery::from(spec.recovery).into(),
        }
    }
}

pub(super) fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}
