//! The product in the machine: its units, its configuration, its API, and its games.

use std::path::Path;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use base64::Engine as _;
use mainstay_lab::words::{SeenAllocation, SeenReservations, SeenServer};
use serde_json::{Value, json};
use ureq::RequestBuilder;
use ureq::typestate::WithBody;

use crate::run;

/// The directory that the unit `mainstay` names.
const DATA: &str = "/var/lib/mainstay";
/// The file that it runs.
const CONFIG: &str = "/etc/mainstay/mainstay.yaml";
/// Where it keeps what its slots have and write.
const SLOTS: &str = "/var/lib/mainstay/agent/slots";
/// How long a game may take to say that it has heard a command.
const HEARD_WITHIN: Duration = Duration::from_secs(30);
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

/// Writes what the unit will run: fleets of the demo's game, one after the other, and of further builds.
pub fn configure(builds: &str, configurations: &str, fleets: &str) {
    let yaml = format!(
        "version: 1.0\nbuilds:\n  game: {{ executableName: mainstay, buildPath: /usr/bin }}\n{builds}\
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

/// An account's authorization, of its key and its secret with a colon between.
fn basic(account: &str) -> String {
    format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(account))
}

/// A caller of the control plane.
#[derive(Debug, Clone)]
pub struct Product {
    agent: ureq::Agent,
    api: String,
    authorization: String,
    /// The instance's own account.
    pub own_account: String,
    /// Where the admin API's paths begin, after the area's name.
    environment: String,
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
        let own_account = text(&credentials["keyId"])?;
        let pair = format!("{own_account}:{}", text(&credentials["secretKey"])?);
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(Duration::from_secs(60)))
            .build();
        Some(Self {
            agent: config.into(),
            api: text(&ports["api"])?,
            authorization: basic(&pair),
            own_account,
            environment: format!(
                "projects/{}/environments/{}",
                text(&credentials["projectId"])?,
                text(&credentials["environmentId"])?
            ),
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

    /// A path of the admin API.
    pub fn admin(&self, area: &str, rest: &str) -> String {
        format!("/multiplay/{area}/v1/{}{rest}", self.environment)
    }

    /// Posts what must be taken, and gives the answer.
    #[track_caller]
    pub fn post(&self, path: &str, body: &Value) -> String {
        self.taken(path, self.agent.post(format!("{}{path}", self.api)), body)
    }

    /// Puts what must be taken, and gives the answer.
    #[track_caller]
    pub fn put(&self, path: &str, body: &Value) -> String {
        self.taken(path, self.agent.put(format!("{}{path}", self.api)), body)
    }

    #[track_caller]
    fn taken(&self, path: &str, request: RequestBuilder<WithBody>, body: &Value) -> String {
        let request =
            request.header("authorization", &self.authorization).header("content-type", "application/json");
        let mut response = request.send(body.to_string()).expect("an answer");
        let text = response.body_mut().read_to_string().expect("a text");
        assert!(response.status().is_success(), "{path} {body}: {} {text}", response.status());
        text
    }

    /// Deletes what must be there.
    #[track_caller]
    pub fn delete(&self, path: &str) {
        let request = self.agent.delete(format!("{}{path}", self.api));
        let response = request.header("authorization", &self.authorization).call().expect("an answer");
        assert!(response.status().is_success(), "DELETE {path}: {}", response.status());
    }

    /// Sends a piece of a file to a link that needs no credentials; it must be taken.
    #[track_caller]
    pub fn send(&self, url: &str, range: &str, bytes: &[u8]) {
        let request = self.agent.put(url).header("content-range", range);
        let mut response = request.send(bytes).expect("an answer");
        let text = response.body_mut().read_to_string().expect("a text");
        assert!(response.status().is_success(), "PUT {url} {range}: {} {text}", response.status());
    }

    /// How many bytes of a file have come, by its link.
    #[track_caller]
    pub fn come(&self, url: &str) -> u64 {
        let response = self.agent.head(url).call().expect("an answer");
        let come =
            response.headers().get("upload-offset").and_then(|value| value.to_str().ok()?.parse().ok());
        come.unwrap_or_else(|| panic!("HEAD {url}: {}", response.status()))
    }

    /// Whether an account, as `KEY:SECRET`, may ask.
    #[track_caller]
    pub fn may_ask(&self, account: &str) -> bool {
        let request = self.agent.get(format!("{}/v1/servers", self.api));
        let response = request.header("authorization", basic(account)).call().expect("an answer");
        match response.status().as_u16() {
            200 => true,
            401 => false,
            other => panic!("GET /v1/servers as another account: {other}"),
        }
    }

    /// What a link gives that needs no credentials.
    #[track_caller]
    pub fn download(&self, url: &str) -> Vec<u8> {
        let mut response = self.agent.get(url).call().expect("an answer");
        assert!(response.status().is_success(), "GET {url}: {}", response.status());
        response.body_mut().with_config().limit(u64::MAX).read_to_vec().expect("all of it")
    }

    /// Asks for a server; back once the answer is yes.
    #[track_caller]
    pub fn allocate(&self, fleet: &str, id: &str) {
        self.post("/v1/allocations", &json!({ "allocationId": id, "fleet": fleet }));
    }

    /// Ends an allocation; back once the answer is yes.
    #[track_caller]
    pub fn deallocate(&self, id: &str) {
        self.delete(&format!("/v1/allocations/{id}"));
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

    /// A server as it is shown.
    #[track_caller]
    pub fn server(&self, id: u64) -> Value {
        self.get(&format!("/v1/servers/{id}"))
    }

    /// The first server of a fleet.
    #[track_caller]
    pub fn server_of(&self, fleet: &str) -> SeenServer {
        let servers = self.servers();
        servers.into_iter().find(|server| server.fleet_name == fleet).expect("the fleet has a server")
    }

    /// Commands a game, which hears it.
    #[track_caller]
    pub fn command(&self, server: u64, command: &str) {
        let port = self.server(server)["port"].as_u64().and_then(|port| u16::try_from(port).ok());
        let game = ([127, 0, 0, 1], port.expect("a port")).into();
        mainstay_tugboat::client::control(game, TOKEN, command, HEARD_WITHIN).expect("the game obeys");
    }

    /// Commands a game to ask something of its host; back with what it was answered.
    #[track_caller]
    pub fn wish(&self, server: u64, command: &str, word: &str) -> String {
        let begins = format!("asked {word}: ");
        let answers = || {
            let said = std::fs::read(format!("{SLOTS}/{server}/output/stdout.log")).unwrap_or_default();
            let said = String::from_utf8_lossy(&said).into_owned();
            let answers = said.lines().filter_map(|line| line.split_once(&begins));
            answers.map(|(_, answer)| answer.to_owned()).collect::<Vec<_>>()
        };
        let before = answers().len();
        self.command(server, command);
        let answer = until(&format!("{command}: an answer"), || answers().into_iter().nth(before));
        assert!(!answer.starts_with("no: "), "{command} of {server}: {answer}");
        answer
    }

    /// The reservations that a server had, once the history knows the newest order it was given.
    #[track_caller]
    pub fn reservations(&self, server: u64) -> SeenReservations {
        let newest = self.server(server)["orderedGeneration"].clone();
        let detail = |row: &Value| -> Value {
            row["attachment"].as_str().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
        };
        let rows = until("the history has caught up", || {
            let told = self.get(&self.admin("servers", &format!("/servers/{server}/actions")));
            let rows = told.as_array().cloned().unwrap_or_default();
            let is_newest =
                |row: &Value| row["message"] == "server.ordered" && detail(row)["generation"] == newest;
            rows.iter().any(is_newest).then_some(rows)
        });
        let of = |kind: &'static str| rows.iter().filter(move |row| row["message"] == kind);
        let ends = of("server.reservationEnded")
            .map(|row| detail(row)["reason"].as_str().unwrap_or_default().to_owned());
        SeenReservations { made: of("server.reserved").count(), ends: ends.collect() }
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
