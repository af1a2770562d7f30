//! What plane and agent say about a slot, as format 1 stores it; shared by the three state machines' format 1.
//!
//! Text is borrowed both ways: from the event when written, from the bytes when read.

use std::time::Duration;

use mainstay_core::slot;
use mainstay_core::{AllocationId, BuildConfigurationId, BuildId, Generation, ServerId};
use serde::{Deserialize, Serialize};

/// Pairs of a name and a value.
type Pairs<'a> = Vec<(&'a str, &'a str)>;

#[derive(Serialize, Deserialize, Clone, Copy)]
pub(super) struct ConfigurationRef {
    id: BuildConfigurationId,
    revision: u32,
}

#[derive(Serialize, Deserialize, Clone, Copy)]
pub(super) enum Intent {
    Stop,
    Run,
    Renew,
    Leave,
}

#[derive(Serialize, Deserialize)]
pub(super) struct Session<'a> {
    allocation: AllocationId,
    #[serde(borrow)]
    payload: Option<&'a str>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct Order<'a> {
    server: ServerId,
    generation: Generation,
    configuration: ConfigurationRef,
    #[serde(borrow)]
    allocation: Option<Session<'a>>,
    intent: Intent,
}

#[derive(Serialize, Deserialize)]
pub(super) struct Spec<'a> {
    configuration: ConfigurationRef,
    #[serde(borrow)]
    name: &'a str,
    build: BuildId,
    launch: Launch<'a>,
    query: Option<Query<'a>>,
    limits: Limits,
    caps: Caps,
    stop: StopPolicy,
    restart: RestartPolicy,
}

#[derive(Serialize, Deserialize)]
struct Launch<'a> {
    #[serde(borrow)]
    folder: &'a str,
    binary: &'a str,
    command_line: &'a str,
    variables: Pairs<'a>,
    environment: Pairs<'a>,
}

#[derive(Serialize, Deserialize)]
struct Query<'a> {
    #[serde(borrow)]
    protocol: &'a str,
    port: QueryPort,
    timeout: Duration,
    start_grace: Duration,
}

#[derive(Serialize, Deserialize)]
enum QueryPort {
    Game,
    Query,
}

#[derive(Serialize, Deserialize)]
struct Limits {
    cpu_millis: u32,
    memory_mib: u32,
}

#[derive(Serialize, Deserialize)]
struct Caps {
    cpu_millis: Option<u32>,
    memory_mib: Option<u32>,
}

#[derive(Serialize, Deserialize)]
struct StopPolicy {
    signal: i32,
    kill_after: Duration,
}

#[derive(Serialize, Deserialize)]
struct RestartPolicy {
    attempts: u32,
    within: Duration,
}

impl From<slot::ConfigurationRef> for ConfigurationRef {
    fn from(slot::ConfigurationRef { id, revision }: slot::ConfigurationRef) -> Self {
        Self { id, revision }
    }
}

impl From<ConfigurationRef> for slot::ConfigurationRef {
    fn from(ConfigurationRef { id, revision }: ConfigurationRef) -> Self {
        Self { id, revision }
    }
}

impl From<slot::Intent> for Intent {
    fn from(intent: slot::Intent) -> Self {
        match intent {
            slot::Intent::Stop => Self::Stop,
            slot::Intent::Run => Self::Run,
            slot::Intent::Renew => Self::Renew,
            slot::Intent::Leave => Self::Leave,
        }
    }
}

impl From<Intent> for slot::Intent {
    fn from(intent: Intent) -> Self {
        match intent {
            Intent::Stop => Self::Stop,
            Intent::Run => Self::Run,
            Intent::Renew => Self::Renew,
            Intent::Leave => Self::Leave,
        }
    }
}

impl<'a> From<&'a slot::Session> for Session<'a> {
    fn from(slot::Session { allocation, payload }: &'a slot::Session) -> Self {
        Self { allocation: *allocation, payload: payload.as_deref() }
    }
}

impl From<Session<'_>> for slot::Session {
    fn from(Session { allocation, payload }: Session<'_>) -> Self {
        Self { allocation, payload: payload.map(Into::into) }
    }
}

impl<'a> From<&'a slot::Order> for Order<'a> {
    fn from(order: &'a slot::Order) -> Self {
        let slot::Order { server, generation, configuration, allocation, intent } = order;
        Self {
            server: *server,
            generation: *generation,
            configuration: (*configuration).into(),
            allocation: allocation.as_ref().map(Into::into),
            intent: (*intent).into(),
        }
    }
}

impl From<Order<'_>> for slot::Order {
    fn from(Order { server, generation, configuration, allocation, intent }: Order<'_>) -> Self {
        Self {
            server,
            generation,
            configuration: configuration.into(),
            allocation: allocation.map(Into::into),
            intent: intent.into(),
        }
    }
}

impl<'a> From<&'a slot::Spec> for Spec<'a> {
    fn from(spec: &'a slot::Spec) -> Self {
        // `checks` and `recovery` came with format 2, `ready_signal` with format 3 of fleets and the catalog.
        let slot::Spec {
            configuration,
            name,
            build,
            launch,
            query,
            limits,
            caps,
            stop,
            restart,
            checks: _,
            recovery: _,
            ready_signal: _,
        } = spec;
        Self {
            configuration: (*configuration).into(),
            name,
            build: *build,
            launch: launch.into(),
            query: query.as_ref().map(Into::into),
            limits: Limits { cpu_millis: limits.cpu_millis, memory_mib: limits.memory_mib },
            caps: Caps { cpu_millis: caps.cpu_millis, memory_mib: caps.memory_mib },
            stop: StopPolicy { signal: stop.signal, kill_after: stop.kill_after },
            restart: RestartPolicy { attempts: restart.attempts, within: restart.within },
        }
    }
}

impl From<Spec<'_>> for slot::Spec {
    fn from(spec: Spec<'_>) -> Self {
        let Spec { configuration, name, build, launch, query, limits, caps, stop, restart } = spec;
        Self {
            configuration: configuration.into(),
            name: name.into(),
            build,
            launch: launch.into(),
            query: query.map(Into::into),
            limits: slot::Limits { cpu_millis: limits.cpu_millis, memory_mib: limits.memory_mib },
            caps: slot::Caps { cpu_millis: caps.cpu_millis, memory_mib: caps.memory_mib },
            stop: slot::StopPolicy { signal: stop.signal, kill_after: stop.kill_after },
            restart: slot::RestartPolicy { attempts: restart.attempts, within: restart.within },
            checks: slot::Checks::default(),
            recovery: slot::Recovery::default(),
            ready_signal: slot::ReadySignal::default(),
        }
    }
}

impl<'a> From<&'a slot::Launch> for Launch<'a> {
    fn from(launch: &'a slot::Launch) -> Self {
        let slot::Launch { folder, binary, command_line, variables, environment } = launch;
        Self { folder, binary, command_line, variables: borrow(variables), environment: borrow(environment) }
    }
}

impl From<Launch<'_>> for slot::Launch {
    fn from(launch: Launch<'_>) -> Self {
        let Launch { folder, binary, command_line, variables, environment } = launch;
        Self {
            folder: folder.into(),
            binary: binary.into(),
            command_line: command_line.into(),
            variables: own(variables),
            environment: own(environment),
        }
    }
}

impl<'a> From<&'a slot::Query> for Query<'a> {
    fn from(slot::Query { protocol, port, timeout, start_grace }: &'a slot::Query) -> Self {
        let port = match port {
            slot::QueryPort::Game => QueryPort::Game,
            slot::QueryPort::Query => QueryPort::Query,
        };
        Self { protocol, port, timeout: *timeout, start_grace: *start_grace }
    }
}

impl From<Query<'_>> for slot::Query {
    fn from(Query { protocol, port, timeout, start_grace }: Query<'_>) -> Self {
        let port = match port {
            QueryPort::Game => slot::QueryPort::Game,
            QueryPort::Query => slot::QueryPort::Query,
        };
        Self { protocol: protocol.into(), port, timeout, start_grace }
    }
}

fn borrow(pairs: &[(String, String)]) -> Pairs<'_> {
    pairs.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
}

fn own(pairs: Pairs<'_>) -> Vec<(String, String)> {
    pairs.into_iter().map(|(name, value)| (name.into(), value.into())).collect()
}
