//! A control plane for one test, and an HTTP client that shows everything.

use std::net::SocketAddr;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use base64::Engine as _;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use mainstay_control::doctor::NoHostChecks;
use mainstay_control::slot_files::{self, SlotFile};
use mainstay_control::{
    BuildTarget, Config, Control, Door, Handle, Listen, LogTail, Logins, Metrics, OpenFile, PlayFab, Title,
};
use mainstay_core::slot::{
    Caps, Checks, Limits, Query, QueryPort, ReadySignal, Recovery, RestartPolicy, StopPolicy,
};
use mainstay_core::{FleetId, RegionId, ServerId};
use mainstay_fleet::catalog::{
    BuildDeclaration, ConfigurationDeclaration, CredentialDeclaration, Declaration, FleetDeclaration, Role,
};
use mainstay_fleet::{Growth, IdleServers, RegionOpening, RegionSpec};
use mainstay_journal::history::History;
use mainstay_journal::memory::MemoryStore;
use mainstay_journal::sqlite::SqliteJournal;
use mainstay_journal::{Journal, Limits as WriterLimits, OpenError};
use mainstay_runtime::{Clock as _, JournalHandle, JournalThread, SystemClock};
use serde_json::Value;
use sha2::Digest as _;
use tempfile::TempDir;
use uuid::Uuid;

use crate::agent::{Habit, PaperAgent, joining};

pub const PROJECT: Uuid = Uuid::from_bytes([0x11; 16]);
pub const ENVIRONMENT: Uuid = Uuid::from_bytes([0x22; 16]);
pub const FLEET: FleetId = FleetId(Uuid::from_bytes([0x33; 16]));
pub const REGION: RegionId = RegionId(Uuid::from_bytes([0x44; 16]));
pub const TOKEN: &str = "join-token";
pub const TITLE: &str = "A1B2C3D4";
pub const TITLE_SECRET: &str = "title-secret";
/// What PlayFab would call the fleet `arena`'s build configuration `ranked`.
pub const PLAYFAB_BUILD: &str = "29ba9d61-6bd0-4f2e-8c1e-0d1a2b3c4d5e";
pub const ADMIN: (&str, &str) = ("admin", "admin-secret");
pub const ALLOCATOR: (&str, &str) = ("allocator", "allocator-secret");
pub const OPERATOR: (&str, &str) = ("operator", "operator-secret");
pub const VIEWER: (&str, &str) = ("viewer", "viewer-secret");

pub struct World {
    pub dir: TempDir,
    /// None where the journal is in memory.
    store: Option<SqliteJournal>,
    pub plane: Handle,
    pub journal: JournalHandle,
    pub clock: Arc<SystemClock>,
    /// Whoever asks for the files of a server.
    pub askers: Arc<Askers>,
    metrics: Arc<Metrics>,
    client: Client<HttpConnector, Full<Bytes>>,
}

pub struct Answer {
    pub status: u16,
    pub headers: hyper::HeaderMap,
    pub body: Value,
    pub text: String,
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    /// Its status and code.
    #[track_caller]
    pub fn expect(&self, status: u16, code: &str) {
        assert_eq!((self.status, self.header("mainstay-code")), (status, Some(code)), "{}", self.text);
    }
}

/// Those who ask for files at once, of whatever servers.
#[derive(Default)]
pub struct Askers {
    counts: Mutex<Counts>,
    more: Condvar,
}

#[derive(Default)]
struct Counts {
    now: usize,
    most: usize,
    /// Nobody is answered before so many ask.
    wanted: usize,
}

impl Askers {
    /// From now on nobody is answered before so many ask at once.
    pub fn want(&self, wanted: usize) {
        *self.counts.lock().unwrap() = Counts { wanted, ..Counts::default() };
    }

    /// How many have asked at once, at most, since then.
    pub fn most(&self) -> usize {
        self.counts.lock().unwrap().most
    }

    /// Whether so many asked in time.
    fn ask(&self) -> bool {
        let mut counts = self.counts.lock().unwrap();
        counts.now += 1;
        counts.most = counts.most.max(counts.now);
        self.more.notify_all();
        let alone = |counts: &mut Counts| counts.most < counts.wanted;
        let (mut counts, waited) =
            self.more.wait_timeout_while(counts, Duration::from_secs(90), alone).unwrap();
        counts.now -= 1;
        !waited.timed_out()
    }
}

/// The output of server 1 of fleet 1, whose slot is a folder of the test.
struct OneLog {
    slot: std::path::PathBuf,
    askers: Arc<Askers>,
}

impl OneLog {
    fn slot(&self, server: ServerId) -> Option<&std::path::Path> {
        (server.counter() == 1).then_some(&*self.slot)
    }
}

impl LogTail for OneLog {
    fn tail(&self, server: ServerId, lines: usize) -> std::io::Result<Option<String>> {
        Ok((server.counter() == 1).then(|| format!("the last {lines} lines\n")))
    }

    fn files(&self, server: ServerId) -> std::io::Result<Option<Vec<SlotFile>>> {
        if !self.askers.ask() {
            return Err(std::io::ErrorKind::TimedOut.into());
        }
        self.slot(server).map_or(Ok(None), slot_files::list)
    }

    fn open(&self, server: ServerId, path: &str) -> std::io::Result<Option<OpenFile>> {
        let Some(slot) = self.slot(server) else { return Ok(None) };
        slot_files::open(slot, path)?.map(OpenFile::here).transpose()
    }

    fn free(&self) -> std::io::Result<u64> {
        slot_files::free(&self.slot)
    }
}

impl World {
    pub async fn new() -> Self {
        Self::at(tempfile::tempdir().unwrap()).await
    }

    /// With players who may, or may not, say by themselves who they are.
    pub async fn with_logins(logins: Logins) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let store = SqliteJournal::open(&dir.path().join("journal")).unwrap();
        Self::over(dir, Some(store.clone()), Box::new(store), logins).await
    }

    /// Starts on what a directory holds.
    pub async fn at(dir: TempDir) -> Self {
        let store = loop {
            // A compactor of the world before may still be letting go.
            match SqliteJournal::open(&dir.path().join("journal")) {
                Err(OpenError::InUse { .. }) => tokio::task::yield_now().await,
                opened => break opened.unwrap(),
            }
        };
        Self::over(dir, Some(store.clone()), Box::new(store), Logins::Open).await
    }

    /// Starts on a store in memory, whose faults the test commands.
    pub async fn in_memory(store: &MemoryStore) -> Self {
        let dir = tempfile::tempdir().unwrap();
        Self::over(dir, None, Box::new(store.open("node", 1)), Logins::Open).await
    }

    async fn over(
        dir: TempDir,
        store: Option<SqliteJournal>,
        journal: Box<dyn Journal>,
        logins: Logins,
    ) -> Self {
        let clock = Arc::new(SystemClock::start());
        let journal = JournalThread::start(journal, WriterLimits::STANDARD, clock.clone()).unwrap();
        let (metrics, askers) = (Arc::new(Metrics::default()), Arc::new(Askers::default()));
        std::fs::create_dir_all(dir.path().join("slot")).unwrap();
        let free = SocketAddr::from(([127, 0, 0, 1], 0));
        let credential = |(key, secret): (&str, &str), role| CredentialDeclaration {
            key: key.into(),
            secret_sha256: sha2::Sha256::digest(secret.as_bytes()).into(),
            role,
        };
        let plane = Control::start(Config {
            journal: journal.clone(),
            clock: clock.clone(),
            listen: Listen { api: vec![Door::At(free)], agents: vec![Door::At(free)] },
            tls: None,
            project: PROJECT,
            environment: ENVIRONMENT,
            credentials: vec![
                credential(ADMIN, Role::Admin),
                credential(ALLOCATOR, Role::Allocator),
                credential(OPERATOR, Role::Operator),
                credential(VIEWER, Role::Viewer),
            ],
            join_token: TOKEN.to_owned(),
            logs: Arc::new(OneLog { slot: dir.path().join("slot"), askers: Arc::clone(&askers) }),
            machine: mainstay_control::MachineSize { cores: 2, speed_mhz: None, memory_mib: 8192 },
            metrics: Arc::clone(&metrics),
            history: Some(dir.path().to_owned()),
            builds: Some(dir.path().join("builds")),
            host: Arc::new(NoHostChecks),
            providers: mainstay_control::Programs::new(),
            playfab_builds: [(
                PLAYFAB_BUILD.to_owned(),
                BuildTarget { fleet: "arena".into(), build_configuration: "ranked".into() },
            )]
            .into_iter()
            .collect(),
            stun: None,
            relay: None,
            lobby: Some(mainstay_control::LobbyConfig {
                dir: dir.path().join("identity"),
                logins: Logins::Vouched,
                pass_lives: std::collections::BTreeMap::new(),
            }),
            playfab: Some(PlayFab {
                listen: vec![Door::At(free)],
                title: Title {
                    id: TITLE.into(),
                    secrets_sha256: vec![sha2::Sha256::digest(TITLE_SECRET.as_bytes()).into()],
                    dir: dir.path().join("identity"),
                },
                logins,
            }),
        })
        .await
        .unwrap();
        let client = Client::builder(TokioExecutor::new()).build_http();
        Self { dir, store, plane, journal, clock, askers, metrics, client }
    }

    pub fn store(&self) -> SqliteJournal {
        self.store.clone().unwrap()
    }

    /// A world with the fleet `arena` and one machine of so many slots.
    pub async fn with_agent(slots: u16, habit: Habit) -> (Self, PaperAgent) {
        let world = Self::new().await;
        world.plane.apply(declaration(Growth::Fixed, Duration::from_secs(60))).await.unwrap();
        let agent = world.agent(1, slots, habit).await;
        (world, agent)
    }

    pub async fn agent(&self, key: u8, slots: u16, habit: Habit) -> PaperAgent {
        let agent =
            PaperAgent::connect(self.plane.agents(), TOKEN, joining(key, "arena", slots), habit).await;
        let machine = agent.machine.number();
        self.eventually(&format!("/v1/machines/{machine}"), |it| it["status"] == "connected").await;
        agent
    }

    /// The history and the metrics follow what is durable by now, as the upkeep does every second.
    pub fn tell(&self) {
        let mut history = History::open(self.dir.path()).unwrap();
        let told = history.follow(&mut self.store().reader().unwrap(), |turn| {
            self.metrics.follow(turn)?;
            mainstay_control::history::tell(turn)
        });
        assert!(told.unwrap() > 0);
    }

    /// Time goes on by that, at once.
    pub fn goes_on(&self, by: Duration) {
        self.clock.not_below(self.clock.now() + by);
    }

    /// Ends everything in order, and hands the directory on.
    pub async fn shutdown(self) -> TempDir {
        self.plane.shutdown().await.unwrap();
        self.journal.stop().await.unwrap();
        self.dir
    }

    pub async fn call(&self, method: &str, path: &str, authorization: Option<&str>, body: Vec<u8>) -> Answer {
        let mut request = hyper::Request::builder();
        if let Some(authorization) = authorization {
            request = request.header("authorization", authorization);
        }
        self.send(request, method, path, body).await
    }

    /// A call that is safe to repeat.
    pub async fn keyed(&self, path: &str, authorization: &str, key: &str, body: &Value) -> Answer {
        let request = hyper::Request::builder().header("authorization", authorization);
        self.send(request.header("idempotency-key", key), "POST", path, body.to_string().into_bytes()).await
    }

    /// A call by an entity token.
    pub async fn by_entity(&self, token: &str, method: &str, path: &str, body: &Value) -> Answer {
        let request = hyper::Request::builder().header("x-entitytoken", token);
        self.send(request, method, path, body.to_string().into_bytes()).await
    }

    /// A call of the administrator with headers of its own.
    pub async fn request(
        &self,
        request: hyper::http::request::Builder,
        method: &str,
        path: &str,
        body: Vec<u8>,
    ) -> Answer {
        self.send(request.header("authorization", basic(ADMIN)), method, path, body).await
    }

    /// A call with these headers and no others.
    pub async fn send(
        &self,
        request: hyper::http::request::Builder,
        method: &str,
        path: &str,
        body: Vec<u8>,
    ) -> Answer {
        self.sent(request.uri(format!("http://{}{path}", self.plane.api())), method, body).await
    }

    /// A call of the PlayFab face.
    pub async fn playfab(&self, method: &str, path: &str, headers: &[(&str, &str)], body: Vec<u8>) -> Answer {
        let face = self.plane.playfab().unwrap();
        let mut request = hyper::Request::builder().uri(format!("http://{face}{path}"));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        self.sent(request, method, body).await
    }

    async fn sent(&self, request: hyper::http::request::Builder, method: &str, body: Vec<u8>) -> Answer {
        let request = request.method(method);
        let request = request.body(Full::new(Bytes::from(body))).unwrap();
        let response = self.client.request(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        Answer {
            status: parts.status.as_u16(),
            headers: parts.headers,
            body: serde_json::from_slice(&bytes).unwrap_or(Value::Null),
            text: String::from_utf8_lossy(&bytes).into_owned(),
        }
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.call("GET", path, Some(&basic(ADMIN)), vec![]).await
    }

    pub async fn delete(&self, path: &str) -> Answer {
        self.call("DELETE", path, Some(&basic(ADMIN)), vec![]).await
    }

    pub async fn post(&self, path: &str, body: &Value) -> Answer {
        self.call("POST", path, Some(&basic(ADMIN)), serde_json::to_vec(body).unwrap()).await
    }

    /// Asks until the answer is as wanted; a test that never gets it is ended by its runner.
    pub async fn eventually(&self, path: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        loop {
            let answer = self.get(path).await;
            if answer.status == 200 && wanted(&answer.body) {
                return answer.body;
            }
            tokio::task::yield_now().await;
        }
    }

    /// Allocates by the Multiplay face.
    /// Makes tickets in the queue `q` until one is answered so: a disk that is full, or has room again, is known by what is written to it.
    pub async fn until_tickets_are(&self, status: u16) {
        for n in 0.. {
            let player = serde_json::json!({ "player": format!("{status}-{n}") });
            let asked = serde_json::json!({ "players": [player], "giveUpAfterSeconds": 600 });
            if self.post("/v1/queues/q/tickets", &asked).await.status == status {
                return;
            }
            tokio::task::yield_now().await;
        }
    }

    pub async fn allocate(&self, id: Uuid) -> Answer {
        self.post(&allocations(), &request(id, self.configuration().await)).await
    }

    /// The id of the fleet's first build configuration.
    pub async fn configuration(&self) -> u64 {
        let fleet = self.get("/v1/fleets/arena").await;
        fleet.body["buildConfigurations"][0]["id"].as_u64().unwrap()
    }
}

pub fn basic((key, secret): (&str, &str)) -> String {
    format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(format!("{key}:{secret}")))
}

pub fn allocations() -> String {
    format!("/v1/allocations/projects/{PROJECT}/environments/{ENVIRONMENT}/fleets/{FLEET}/allocations")
}

pub fn allocation(id: Uuid) -> String {
    format!("{}/{id}", allocations())
}

pub fn request(id: Uuid, configuration: u64) -> Value {
    serde_json::json!({ "allocationId": id, "buildConfigurationId": configuration, "regionId": REGION })
}

pub fn id(n: u128) -> Uuid {
    Uuid::from_u128(0xa110_c000_0000_0000_0000_0000_0000_0000 | n)
}

/// A fleet `arena` that starts its servers on allocation, in the region `local`.
pub fn declaration(growth: Growth, placement_timeout: Duration) -> Declaration {
    Declaration {
        builds: vec![BuildDeclaration {
            name: "arena".into(),
            folder: "/srv/arena".to_owned(),
            excluded: Vec::new(),
        }],
        configurations: vec![ConfigurationDeclaration {
            name: "ranked".into(),
            build: "arena".into(),
            binary: "server".to_owned(),
            command_line: "-port $$port$$".to_owned(),
            variables: vec![],
            environment: vec![],
            query: Some(Query {
                protocol: "sqp".to_owned(),
                port: QueryPort::Query,
                timeout: Duration::from_secs(1),
                start_grace: Duration::from_secs(30),
            }),
            limits: Limits { cpu_millis: 1000, memory_mib: 800 },
            caps: Caps::default(),
            stop: StopPolicy::default(),
            restart: RestartPolicy::default(),
            checks: Checks::default(),
            recovery: Recovery::default(),
            ready_signal: ReadySignal::default(),
        }],
        fleets: vec![FleetDeclaration {
            name: "arena".into(),
            id: FLEET,
            idle_servers: IdleServers::StartOnAllocation,
            regions: vec![RegionSpec {
                id: REGION,
                name: "local".into(),
                aliases: vec![],
                min_available: 0,
                max_servers: 100,
                opening: RegionOpening::Online,
                growth,
                ttl: None,
            }],
            configurations: vec!["ranked".into()],
            placement_timeout,
            retention: Duration::from_secs(3600),
            hosting: mainstay_fleet::Hosting::default(),
        }],
    }
}
