//! The control plane under load: the real one, on SQLite on this disk, with simulated agents.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use mainstay_control::doctor::NoHostChecks;
use mainstay_control::{Config, Control, Door, Handle, Listen, NoLogs};
use mainstay_core::slot::{
    Caps, Checks, ConfigurationRef, Limits as SlotLimits, ReadySignal, Recovery, RestartPolicy, StopPolicy,
};
use mainstay_core::{BuildConfigurationId, FleetId, RegionId};
use mainstay_fleet::catalog::{
    BuildDeclaration, ConfigurationDeclaration, CredentialDeclaration, Declaration, FleetDeclaration, Role,
};
use mainstay_fleet::{Growth, IdleServers, RegionOpening, RegionSpec};
use mainstay_journal::Limits;
use mainstay_journal::sqlite::SqliteJournal;
use mainstay_runtime::{Clock, JournalHandle, JournalThread, SystemClock};
use sha2::Digest as _;
use tokio::task::JoinHandle;
use uuid::Uuid;

use super::agents::{self, Joining};
use super::load::Caller;
use crate::Failure;

/// Slots of a simulated machine, and machines of a simulated agent: a hundred machines with a hundred slots, ten agents.
const SLOTS: u16 = 100;
const MACHINES_PER_AGENT: u16 = 10;
const SECRET: &str = "bench";

/// A control plane with its agents.
pub struct World {
    control: Handle,
    journal: JournalHandle,
    agents: Vec<JoinHandle<Result<(), Failure>>>,
    /// How callers reach it.
    pub caller: Caller,
}

impl World {
    /// Starts it, and returns once every server is reported online.
    pub async fn start(folder: &Path, servers: u64) -> Result<Self, Failure> {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
        let opened = SqliteJournal::open(&folder.join("journal"))?;
        let journal = JournalThread::start(Box::new(opened), Limits::STANDARD, Arc::clone(&clock))?;
        let (project, environment) = (Uuid::from_u128(1), Uuid::from_u128(2));
        let anywhere = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let control = Control::start(Config {
            journal: journal.clone(),
            clock,
            listen: Listen { api: vec![Door::At(anywhere)], agents: vec![Door::At(anywhere)] },
            tls: None,
            project,
            environment,
            credentials: vec![CredentialDeclaration {
                key: "bench".into(),
                secret_sha256: sha2::Sha256::digest(SECRET.as_bytes()).into(),
                role: Role::Admin,
            }],
            join_token: SECRET.to_owned(),
            logs: Arc::new(NoLogs),
            machine: mainstay_control::MachineSize { cores: 2, speed_mhz: None, memory_mib: 8192 },
            metrics: Arc::default(),
            history: None,
            builds: None,
            host: Arc::new(NoHostChecks),
            providers: mainstay_control::Programs::new(),
            playfab: None,
            playfab_builds: mainstay_control::Builds::default(),
            stun: None,
            relay: None,
            lobby: None,
        })
        .await?;
        control.apply(declaration()).await?;
        let configuration = ConfigurationRef { id: BuildConfigurationId::from_number(1)?, revision: 1 };
        let mut agents = Vec::new();
        let count = servers.div_ceil(u64::from(SLOTS) * u64::from(MACHINES_PER_AGENT));
        for number in 0..u16::try_from(count)? {
            let joining = Joining {
                uri: format!("http://{}", control.agents()),
                token: SECRET.to_owned(),
                fleet: "bench".to_owned(),
                region: "Local".to_owned(),
                number,
                machines: MACHINES_PER_AGENT,
                slots: SLOTS,
                configuration,
            };
            agents.push(agents::start(joining).await?);
        }
        let basic = base64::engine::general_purpose::STANDARD.encode(format!("bench:{SECRET}"));
        let caller = Caller {
            api: control.api(),
            path: format!(
                "/v1/allocations/projects/{project}/environments/{environment}/fleets/{}/allocations",
                fleet()
            ),
            authorization: format!("Basic {basic}"),
            build_configuration: configuration.id.number(),
            region: region().to_string(),
        };
        Ok(Self { control, journal, agents, caller })
    }

    /// Ends it; an agent that failed meanwhile fails the measurement.
    pub async fn stop(self) -> Result<(), Failure> {
        for agent in self.agents {
            if agent.is_finished() {
                agent.await??;
            } else {
                agent.abort();
            }
        }
        self.control.shutdown().await?;
        self.journal.stop().await.map_err(|failure| failure.to_string().into())
    }
}

const fn fleet() -> FleetId {
    FleetId(Uuid::from_u128(3))
}

const fn region() -> RegionId {
    RegionId(Uuid::from_u128(4))
}

fn declaration() -> Declaration {
    Declaration {
        builds: vec![BuildDeclaration {
            name: "bench".into(),
            folder: "/nowhere".to_owned(),
            excluded: Vec::new(),
        }],
        configurations: vec![ConfigurationDeclaration {
            name: "bench".into(),
            build: "bench".into(),
            binary: "bench".to_owned(),
            command_line: String::new(),
            variables: Vec::new(),
            environment: Vec::new(),
            query: None,
            limits: SlotLimits { cpu_millis: 100, memory_mib: 64 },
            caps: Caps::default(),
            stop: StopPolicy::default(),
            restart: RestartPolicy::default(),
            checks: Checks::default(),
            recovery: Recovery::default(),
            ready_signal: ReadySignal::default(),
        }],
        fleets: vec![FleetDeclaration {
            name: "bench".into(),
            id: fleet(),
            idle_servers: IdleServers::StartOnAllocation,
            regions: vec![RegionSpec {
                id: region(),
                name: "Local".into(),
                aliases: vec![],
                min_available: 0,
                max_servers: u32::MAX,
                opening: RegionOpening::Online,
                growth: Growth::Fixed,
                ttl: None,
            }],
            configurations: vec!["bench".into()],
            placement_timeout: Duration::from_secs(60),
            retention: Duration::from_secs(3600),
            hosting: mainstay_fleet::Hosting::default(),
        }],
    }
}
