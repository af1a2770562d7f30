//! The product in the machine: its units, its configuration, its API.

use std::path::Path;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use base64::Engine as _;
use mainstay_lab::words::{SeenAllocation, SeenServer};
use serde_json::{Value, json};

use crate::run;

/// The directory that the unit `mainstay` names.
const DATA: &str = "/var/lib/mainstay";
/// The file that it runs.
const CONFIG: &str = "/etc/mainstay/mainstay.yaml";
/// Only who knows it commands the game.
pub const TOKEN: &str = "token-of-the-lab";
/// Longest wait for anything, in the guest's own time.
const PATIENCE: Duration = Duration::from_secs(90);
/// Restarts of the service while somebody waits for it: one is SIGKILL's, more say that it does not start.
const RESTARTS_MAX: u32 = 1;
/// Pause between two looks.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// Looks until `look` sees something.
#[track_caller]
pub fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(seen) = look() {
            return seen;
        }
        assert!(began.elapsed() < PATIENCE, "{what}: not within {} s", PATIENCE.as_secs());
        sleep(LOOK_AGAIN);
    }
}

/// Tells systemd.
#[track_caller]
pub fn systemctl(words: &[&str]) -> String {
    run(Command::new("systemctl").args(words)).trim().to_owned()
}

/// The main process of a unit.
#[track_caller]
pub fn main_pid(unit: &str) -> u32 {
    let pid = systemctl(&["show", "--property=MainPID", "--value", unit]).parse().expect("a number");
    assert!(pid != 0, "{unit} runs");
    pid
}

/// Whether a process lives: it exists and is no zombie.
pub fn lives(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
    stat.is_ok_and(|stat| stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.starts_with(" Z")))
}

/// Writes what the unit will run: fleets of the demo's game, one after the other.
pub fn configure(configurations: &str, fleets: &str) {
    let yaml = format!(
        "version: 1.0\nbuilds:\n  game: {{ executableName: mainstay, buildPath: /usr/bin }}\n\
         buildConfigurations:\n{configurations}fleets:\n{fleets}"
    );
    std::fs::create_dir_all("/etc/mainstay").expect("a folder");
    std::fs::write(CONFIG, yaml).expect("a file");
}

/// A build configuration of the game with further keys.
pub fn configuration(name: &str, keys: &str) -> String {
    format!(
        "  {name}:\n    build: game\n    queryType: sqp\n    binaryPath: mainstay\n    \
         commandLine: demo server --port $$port$$ --query-port $$query_port$$ --control-token {TOKEN}\n    \
         stop: {{ killTimeout: 5s }}\n{keys}"
    )
}

/// A fleet of that build configuration, with so many slots on this machine.
pub fn fleet(name: &str, slots: u32, keys: &str) -> String {
    format!(
        "  {name}:\n    buildConfigurations: [{name}]\n    \
         usageSettings: [{{ hardwareType: METAL, maxServersPerMachine: {slots} }}]\n    \
         regions: {{ Home: {{ minAvailable: 0, maxServers: {slots} }} }}\n{keys}"
    )
}

/// A caller of the control plane.
#[derive(Debug, Clone)]
pub struct Product {
    agent: ureq::Agent,
    api: String,
    authorization: String,
    /// For the agent of another machine.
    pub join_token: String,
    /// Where that connects.
    pub agents: String,
}

impl Product {
    /// Once it answers; a service that ends again and again fails at once.
    pub fn connect() -> Self {
        let restarts = || -> u32 {
            let text = systemctl(&["show", "--property=NRestarts", "--value", "mainstay"]);
            text.parse().expect("a number")
        };
        let before = restarts();
        until("the control plane answers", || {
            assert!(restarts() <= before + RESTARTS_MAX, "mainstay does not start");
            let product = Self::read()?;
            product.try_get("/v1/status").map(|_| product)
        })
    }

    fn read() -> Option<Self> {
        let file = |name: &str| -> Option<Value> {
            serde_json::from_slice(&std::fs::read(Path::new(DATA).join(name)).ok()?).ok()
        };
        let (ports, credentials) = (file("ports.json")?, file("credentials.json")?);
        let text = |value: &Value| value.as_str().map(ToOwned::to_owned);
        let pair = format!("{}:{}", text(&credentials["keyId"])?, text(&credentials["secretKey"])?);
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(Duration::from_secs(60)))
            .build();
        Some(Self {
            agent: config.into(),
            api: text(&ports["api"])?,
            authorization: format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(pair)),
            join_token: text(&credentials["joinToken"])?,
            agents: text(&ports["agents"])?,
        })
    }

    fn try_get(&self, path: &str) -> Option<Value> {
        let request =
            self.agent.get(format!("{}{path}", self.api)).header("authorization", &self.authorization);
        let mut response = request.call().ok()?;
        assert!(response.status().is_success(), "GET {path}: {}", response.status());
        serde_json::from_reader(response.body_mut().as_reader()).ok()
    }

    #[track_caller]
    pub fn get(&self, path: &str) -> Value {
        self.try_get(path).unwrap_or_else(|| panic!("GET {path}: no answer"))
    }

    /// Asks for a server; back once the answer is yes.
    #[track_caller]
    pub fn allocate(&self, fleet: &str, id: &str) {
        let body = json!({ "allocationId": id, "fleet": fleet }).to_string();
        let request = self
            .agent
            .post(format!("{}/v1/allocations", self.api))
            .header("authorization", &self.authorization)
            .header("content-type", "application/json");
        let mut response = request.send(body).expect("an answer");
        let text = response.body_mut().read_to_string().expect("a text");
        assert!(response.status().is_success(), "allocate {id}: {} {text}", response.status());
    }

    /// Ends an allocation; back once the answer is yes.
    #[track_caller]
    pub fn deallocate(&self, id: &str) {
        let request = self
            .agent
            .delete(format!("{}/v1/allocations/{id}", self.api))
            .header("authorization", &self.authorization);
        let response = request.call().expect("an answer");
        assert!(response.status().is_success(), "deallocate {id}: {}", response.status());
    }

    /// All allocations: far fewer here than a page holds.
    #[track_caller]
    pub fn allocations(&self) -> Vec<SeenAllocation> {
        self.page("/v1/allocations?limit=1000")
    }

    /// All servers: far fewer here than a page holds.
    #[track_caller]
    pub fn servers(&self) -> Vec<SeenServer> {
        self.page("/v1/servers?limit=1000")
    }

    #[track_caller]
    fn page<T: serde::de::DeserializeOwned>(&self, path: &str) -> Vec<T> {
        let page = self.get(path);
        assert!(page["nextCursor"].is_null(), "more than a page: {page}");
        serde_json::from_value(page["items"].clone()).unwrap_or_else(|error| panic!("{error} in {page}"))
    }

    /// The servers, once every machine is heard and nothing is on its way.
    #[track_caller]
    pub fn settled(&self, machines: usize) -> Vec<SeenServer> {
        until("machines are heard and servers are at rest", || {
            let heard = self.get("/v1/status")["connectedMachines"].as_u64();
            let servers = self.servers();
            let moves =
                |server: &SeenServer| ["unknown", "starting", "stopping"].contains(&server.process.as_str());
            let waits = |it: &SeenAllocation| ["waiting", "placed"].contains(&it.state.as_str());
            let rests = !servers.iter().any(moves) && !self.allocations().iter().any(waits);
            (heard == u64::try_from(machines).ok() && rests).then_some(servers)
        })
    }

    /// Servers that play, by id, with their processes, once all of them do.
    #[track_caller]
    pub fn playing(&self, machines: usize, count: usize) -> Vec<(u64, u32)> {
        until(&format!("{count} servers play"), || {
            let servers = self.settled(machines);
            let mut playing: Vec<(u64, u32)> =
                servers.iter().filter_map(|server| Some((server.id, server.pid?))).collect();
            playing.sort_unstable();
            (playing.len() == count).then_some(playing)
        })
    }
}
