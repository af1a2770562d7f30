//! A whole `mainstay up` of its own, as a stranger would start it: this very program, a data directory, free ports.

use std::io::{BufRead as _, BufReader};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use mainstay_query::{Probe, Protocol, Step};
use serde_json::Value;

use crate::Failure;

/// How long the servers may take to be up, and an allocation to be played.
const PATIENCE: Duration = Duration::from_secs(120);
/// How often something awaited is looked at.
const POLL: Duration = Duration::from_millis(5);

/// A running instance; stopped with its servers when dropped.
pub struct Instance {
    /// Held for its end.
    _folder: tempfile::TempDir,
    process: Child,
    api: String,
    authorization: String,
    playfab: String,
    playfab_secret: String,
}

impl Instance {
    /// Starts `mainstay up` on a configuration and waits until it says that it is ready.
    pub fn start(configuration: &str) -> Result<Self, Failure> {
        Self::start_with(configuration, &[])
    }

    /// The same, with further arguments.
    pub fn start_with(configuration: &str, arguments: &[&str]) -> Result<Self, Failure> {
        let folder = tempfile::Builder::new().prefix("mainstay-bench").tempdir_in(".")?;
        let file = folder.path().join("mainstay.yaml");
        std::fs::write(&file, configuration)?;
        let data = folder.path().join("data");
        let mut process = Command::new(std::env::current_exe()?)
            .arg("up")
            .arg(&file)
            .arg("--data-dir")
            .arg(&data)
            .args(["--ports", "auto"])
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()?;
        let output = process.stdout.take().ok_or("mainstay up has no output")?;
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line)?;
        let ready: Value =
            serde_json::from_str(&line).map_err(|error| format!("not ready: {line:?}: {error}"))?;
        let api = ready["api"].as_str().ok_or("the ready line names no api")?.to_owned();
        let playfab = ready["playfab"].as_str().ok_or("the ready line names no playfab")?.to_owned();
        let credentials: Value = serde_json::from_slice(&std::fs::read(data.join("credentials.json"))?)?;
        let part = |name: &str| {
            credentials[name].as_str().map(str::to_owned).ok_or(format!("no {name} in the credentials"))
        };
        let authorization = basic(&part("keyId")?, &part("secretKey")?);
        let playfab_secret = part("playfabSecretKey")?;
        Ok(Self { _folder: folder, process, api, authorization, playfab, playfab_secret })
    }

    /// Where its HTTP API listens, and the header of its administrator.
    pub fn api(&self) -> Result<(SocketAddr, &str), Failure> {
        Ok((address(&self.api)?, &self.authorization))
    }

    /// Where PlayFab's calls are answered, and the title's secret.
    pub fn playfab(&self) -> Result<(SocketAddr, &str), Failure> {
        Ok((address(&self.playfab)?, &self.playfab_secret))
    }

    /// The process of `mainstay up`.
    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// GET, as JSON.
    pub fn get(&self, path: &str) -> Result<Value, Failure> {
        let request = ureq::get(format!("{}{path}", self.api)).header("authorization", &self.authorization);
        Ok(request.call()?.body_mut().read_json()?)
    }

    /// POST, as JSON.
    pub fn post(&self, path: &str, body: &Value) -> Result<Value, Failure> {
        self.post_as(&self.authorization, path, body)
    }

    /// The same, by whoever shows that.
    pub fn post_as(&self, authorization: &str, path: &str, body: &Value) -> Result<Value, Failure> {
        let request = ureq::post(format!("{}{path}", self.api)).header("authorization", authorization);
        Ok(request.send_json(body)?.body_mut().read_json()?)
    }

    /// Every server, as JSON.
    pub fn servers(&self) -> Result<Vec<Value>, Failure> {
        let page = self.get("/v1/servers?limit=1000")?;
        Ok(page["items"].as_array().cloned().ok_or("no list of servers")?)
    }

    /// Allocates a server of a fleet and waits until it plays.
    pub fn allocate(&self, fleet: &str, id: u128) -> Result<Value, Failure> {
        let id = uuid::Uuid::from_u128(id);
        self.post("/v1/allocations", &serde_json::json!({ "allocationId": id, "fleet": fleet }))?;
        wait("the allocation to be played", || {
            let allocation = self.get(&format!("/v1/allocations/{id}"))?;
            Ok(allocation["fulfilled"].is_string().then_some(allocation))
        })
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        use nix::sys::signal::{Signal, kill};
        let pid = nix::unistd::Pid::from_raw(i32::try_from(self.process.id()).unwrap_or(i32::MAX));
        // SIGTERM stops the servers too; one that is gone already is as good.
        let _gone = kill(pid, Signal::SIGTERM);
        let _reaped = self.process.wait();
    }
}

fn basic(key: &str, secret: &str) -> String {
    use base64::Engine as _;
    let pair = format!("{key}:{secret}");
    format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(pair))
}

fn address(url: &str) -> Result<SocketAddr, Failure> {
    Ok(url.strip_prefix("http://").ok_or("no plain HTTP")?.parse()?)
}

/// Looks until something is there.
pub fn wait<T>(what: &str, mut look: impl FnMut() -> Result<Option<T>, Failure>) -> Result<T, Failure> {
    let began = Instant::now();
    loop {
        if let Some(found) = look()? {
            return Ok(found);
        }
        if began.elapsed() > PATIENCE {
            return Err(format!("waited {} s for {what}", PATIENCE.as_secs()).into());
        }
        std::thread::sleep(POLL);
    }
}

/// Asks a server once; `false` where it does not answer in the time.
pub fn answers(protocol: &Protocol, port: u16, within: Duration) -> Result<bool, Failure> {
    let server = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let Probe::Datagrams(mut prober) = protocol.probe(u32::from(port)) else {
        return Err("only protocols of datagrams are probed here".into());
    };
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    socket.connect(server)?;
    socket.set_read_timeout(Some(within))?;
    let mut packet = vec![0; prober.receive_bytes_max() + 1];
    let mut next = prober.start();
    loop {
        // A closed port answers with an error at the next call: that is no answer yet.
        if socket.send(&next).is_err() {
            return Ok(false);
        }
        let Ok(length) = socket.recv(&mut packet) else { return Ok(false) };
        match prober.receive(&packet[..length]) {
            Step::Send(bytes) => next = bytes,
            Step::Done(_) => return Ok(true),
            Step::Wait | Step::Refused(_) => return Ok(false),
        }
    }
}
