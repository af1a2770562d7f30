//! `mainstay up`: control plane, agent and the servers of a file, in one process on this machine.
//!
//! The parts speak over the same sockets as they would across machines. SIGTERM and Ctrl-C stop the servers, unless
//! `--on-stop leave` says otherwise; SIGKILL leaves them playing under their holders, and the next `up` in the same data
//! directory finds them.

mod banner;
pub mod data;
pub mod doctor;
pub mod doors;
pub mod listen;
mod logs;
pub mod machine;
mod source;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mainstay_agent::{HostSecret, Pass};
use mainstay_control::{Control, Logins, Metrics};
use mainstay_fleet::catalog::{CredentialDeclaration, Role};
use mainstay_journal::Limits;
use mainstay_journal::history::History;
use mainstay_journal::sqlite::{SqliteJournal, SqliteReader};
use mainstay_runtime::{Chronicle, Clock, JournalHandle, JournalThread, SystemClock, Upkeep, UpkeepConfig};
use sha2::Digest as _;

use self::banner::Ready;
use self::listen::{Addresses, Doors};
use self::machine::Towards;
use self::source::Source;
use crate::arguments::{OnStop, TlsChoice, UpArguments};
use crate::client::{Client, Credentials, Listening, PORTS_FILE, Ports};
use crate::failure::{Exit, Failure, failed, failed_as};
use crate::system::{self, Endings};

/// How much longer than their stop ladder servers may take to be gone before they are killed.
const STOP_SLACK: Duration = Duration::from_secs(5);
/// How many queues the first screen names. More are `mainstay queue list`'s.
const QUEUES_SHOWN: usize = 8;
/// How long idle servers may take to answer before `up` says what it has: a world that loads slowly is no failure.
const ONLINE_WITHIN: Duration = Duration::from_secs(15);
/// How often the wait for them looks.
const LOOK: Duration = Duration::from_millis(25);

/// Refuses what would be heard in the clear beyond this host.
fn refuse_plain(arguments: &UpArguments) -> Result<(), Failure> {
    let open = arguments.listen.iter().find(|ip| !ip.to_canonical().is_loopback());
    match (arguments.tls, open) {
        (TlsChoice::Off, Some(ip)) => Err(Failure::new(
            Exit::Usage,
            "MS-U022",
            format!("{ip} can be reached from other hosts, and --tls is off"),
        )
        .why("secrets and payloads would cross the network in the clear")
        .fix("leave --tls out: a certificate is made; or leave --listen out")),
        (TlsChoice::On, _) | (TlsChoice::Off, None) => Ok(()),
    }
}

/// Runs until it is told to stop.
pub fn run(arguments: &UpArguments, data_dir: &Path) -> Result<ExitCode, Failure> {
    let began = Instant::now();
    let source = source::read(arguments, data_dir)?;
    let data_dir = &data::make(data_dir)?;
    let title = source.config.playfab_title.as_ref().map(|title| title.value.as_str());
    let credentials = data::credentials(data_dir, title)?;
    refuse_plain(arguments)?;
    let (addresses, doors) =
        listen::choose(arguments.ports, &arguments.listen, Ports::of(data_dir).as_ref())?;
    system::take_descriptors();
    system::give_memory_back();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| failed("the system gives no threads", &error))?;
    let up = Up { arguments, data_dir, source, credentials, addresses, metrics: Arc::default(), began };
    runtime.block_on(up.run(doors))
}

struct Up<'a> {
    arguments: &'a UpArguments,
    data_dir: &'a Path,
    source: Source,
    credentials: Credentials,
    addresses: Addresses,
    metrics: Arc<Metrics>,
    began: Instant,
}

impl Up<'_> {
    async fn run(self, held: Doors) -> Result<ExitCode, Failure> {
        let clock: Arc<dyn Clock> = Arc::new(
            SystemClock::start_in(self.data_dir)
                .map_err(|error| failed("the clock does not start", &error))?,
        );
        let host = Arc::new(doctor::Host::new(self.data_dir, Arc::clone(&clock)));
        let (journal, upkeep) = self.journal(&clock, &host)?;
        let outputs = Arc::new(logs::Outputs::on(self.data_dir));
        let hardware = machine::host()?;
        let size = machine::as_any(hardware.size);
        let Doors { api, agents, multiplay, playfab } = held;
        let serves = (mainstay_control::Listen { api, agents }, self.playfab(playfab));
        let control = self.control(&clock, &journal, (&outputs, &size, &host), serves).await?;
        self.take(&control, &size).await?;
        let machines = self.machines(&control, &hardware).await?;
        let offered = machines.len();
        let ports = self.ports();
        // Before any game starts: one that is quicker than we are then waits for us.
        let games = multiplay.listeners()?;
        let agent = self.agent(&clock, &ports, hardware, machines).await?;
        if let Some(agent) = &agent {
            outputs.are_at(agent.outputs());
            host.asks(agent.doctor());
            for listener in games {
                let _daemon = tokio::spawn(mainstay_agent::daemon::serve(listener, agent.daemon()));
            }
        }
        let agent_failed = async {
            match &agent {
                Some(agent) => agent.failed().await,
                None => std::future::pending().await,
            }
        };
        self.tell_ports(&ports);

        let Looked { status, queues } = self.settled(offered).await?;
        banner::say(&Ready {
            ports: &ports,
            data_dir: self.data_dir,
            source: &self.source.name,
            status: &status,
            queues: &queues,
            took: self.began.elapsed(),
        })?;

        tokio::select! {
            asked = self.asked_to_stop() => asked?,
            failure = agent_failed => return Err(failed("the agent's journal failed; its servers play on", &*failure)),
            failure = control.failed() => return Err(Failure::new(Exit::Failed, "MS-U021", "the control plane failed; the servers play on").why(failure)),
            failure = journal.failed() => return Err(failed("the journal failed; the servers play on", &*failure)),
        }
        self.stop(agent, control, journal, upkeep).await
    }

    fn journal(
        &self,
        clock: &Arc<dyn Clock>,
        host: &doctor::Host,
    ) -> Result<(JournalHandle, Upkeep), Failure> {
        let opened = |error: mainstay_journal::OpenError| failed("the journal does not open", &error);
        let journal = SqliteJournal::open(&self.data_dir.join("journal")).map_err(opened)?;
        host.reads(journal.clone());
        let handle = JournalThread::start(Box::new(journal.clone()), Limits::STANDARD, Arc::clone(clock))
            .map_err(|error| failed("the journal has no thread", &error))?;
        let upkeep = Upkeep::start(UpkeepConfig {
            reader: journal.reader().map_err(opened)?,
            history: self.history(&journal)?,
            journal,
            empty: Box::new(mainstay_control::history::empty_fold),
            stories: handle.stories(),
            clock: Arc::clone(clock),
        })
        .map_err(|error| failed("the journal's upkeep has no thread", &error))?;
        Ok((handle, upkeep))
    }

    /// Where commands find this instance. A full disk must not keep it from watching the games that run: then it says where
    /// it is on its output alone, and what an earlier run said is taken away.
    fn tell_ports(&self, ports: &Ports) {
        if let Err(failure) = data::write(self.data_dir, PORTS_FILE, ports) {
            eprintln!("{failure}");
            eprintln!("  servers are watched all the same; commands find them after a restart");
            // Gone, or left as it was: either way nothing better can be done.
            let _removed = std::fs::remove_file(self.data_dir.join(PORTS_FILE));
        }
    }

    /// No state depends on the history, so a full disk that keeps it from opening keeps no server from playing.
    fn history(&self, journal: &SqliteJournal) -> Result<Option<Chronicle<SqliteReader>>, Failure> {
        let history = match History::open(self.data_dir) {
            Ok(history) => history,
            Err(error) => {
                let failure =
                    failed("the history does not open; it is not told until the next start", &error);
                tracing::error!("{failure}");
                return Ok(None);
            }
        };
        let reader = journal.reader().map_err(|error| failed("the journal does not open", &error))?;
        let metrics = Arc::clone(&self.metrics);
        let tell = move |turn: &mainstay_journal::TurnRecord| {
            metrics.follow(turn)?;
            mainstay_control::history::tell(turn)
        };
        Ok(Some(Chronicle { history, reader, tell: Box::new(tell) }))
    }

    async fn control(
        &self,
        clock: &Arc<dyn Clock>,
        journal: &JournalHandle,
        (outputs, size, host): (&Arc<logs::Outputs>, &mainstay_config::MachineSize, &Arc<doctor::Host>),
        (listen, playfab): (mainstay_control::Listen, mainstay_control::PlayFab),
    ) -> Result<mainstay_control::Handle, Failure> {
        let config = mainstay_control::Config {
            journal: journal.clone(),
            clock: Arc::clone(clock),
            listen,
            tls: self.tls(),
            project: self.credentials.project_id,
            environment: self.credentials.environment_id,
            credentials: vec![CredentialDeclaration {
                key: self.credentials.key_id.as_str().into(),
                secret_sha256: sha2::Sha256::digest(self.credentials.secret_key.as_bytes()).into(),
                role: Role::Admin,
            }],
            join_token: self.credentials.join_token.clone(),
            logs: outputs.clone(),
            machine: *size,
            metrics: Arc::clone(&self.metrics),
            history: Some(self.data_dir.to_owned()),
            builds: Some(self.data_dir.join("builds")),
            host: Arc::clone(host) as Arc<dyn mainstay_control::doctor::HostChecks>,
            providers: mainstay_control::programs(&self.source.config, self.credentials.environment_id),
            playfab: Some(playfab),
            playfab_builds: mainstay_control::Builds::of(&self.source.config),
            stun: doors::stun(&self.arguments.stun, &self.arguments.advertise)?,
            relay: self.arguments.relay.map(|door| doors::relay(door, &self.arguments.advertise)),
            lobby: Some(self.lobby()),
        };
        Control::start(config).await.map_err(|error| failed("the control plane does not start", &error))
    }

    /// Matchmaking for PlayFab's SDKs. Who they are, players say by themselves only where nobody else can.
    fn playfab(&self, listen: Vec<mainstay_control::Door>) -> mainstay_control::PlayFab {
        mainstay_control::PlayFab {
            listen,
            title: mainstay_control::Title {
                id: self.credentials.title_id.as_str().into(),
                secrets_sha256: self
                    .credentials
                    .title_secrets()
                    .map(|secret| sha2::Sha256::digest(secret).into())
                    .collect(),
                dir: self.data_dir.join("identity"),
            },
            logins: self.logins(),
        }
    }

    fn logins(&self) -> Logins {
        if self.arguments.listen.is_empty() { Logins::Open } else { Logins::Vouched }
    }

    /// The lobby. Its players say who they are by themselves where PlayFab's do.
    fn lobby(&self) -> mainstay_control::LobbyConfig {
        mainstay_control::LobbyConfig {
            dir: self.data_dir.join("identity"),
            logins: self.logins(),
            pass_lives: mainstay_control::pass_lives(&self.source.config),
        }
    }

    /// Takes what the files say, where they are others than at the last start: who starts with the same ones again has
    /// asked for nothing new, and what was changed since by calls is not to be undone by a crash of this process.
    async fn take(
        &self,
        control: &mainstay_control::Handle,
        size: &mainstay_config::MachineSize,
    ) -> Result<(), Failure> {
        let untaken = |error: &dyn std::error::Error| failed("the configuration is not taken", error);
        let (source, Some(sha256)) = (&self.source.name, self.source.sha256) else { return Ok(()) };
        if !control.is_new(sha256).await.map_err(|error| untaken(&error))? {
            tracing::info!(
                source,
                "the configuration is the one taken at an earlier start: changes made since stand"
            );
            return Ok(());
        }
        tracing::info!(source, "the configuration is new, and is taken whole");
        let environment = self.credentials.environment_id;
        let declaration = mainstay_control::declaration(&self.source.config, environment, size);
        let queues: Vec<_> =
            self.source.config.queues.values().map(|queue| Arc::clone(&queue.spec)).collect();
        control.apply_before(declaration, &queues).await.map_err(|error| untaken(&error))?;
        control.set_queues(queues).await.map_err(|error| untaken(&error))?;
        let lobbies = mainstay_control::supports(&self.source.config);
        control.set_lobbies(lobbies).await.map_err(|error| untaken(&error))?;
        // The last, after whatever else of the files is taken: a start that ends before it takes everything again.
        control.taken(sha256).await.map_err(|error| untaken(&error))
    }

    /// This host's machines: of the regions in the files, those that there are still.
    async fn machines(
        &self,
        control: &mainstay_control::Handle,
        host: &mainstay_core::density::Host,
    ) -> Result<Vec<mainstay_agent::MachineOffer>, Failure> {
        let known = control.regions().await.map_err(|error| failed("the fleets are not known", &error))?;
        let mut machines = machine::offers(&self.source.config, &host.size);
        machines.retain(|offer| {
            let mut named = known.iter().filter(|(fleet, _)| *fleet == offer.fleet);
            named.any(|(_, regions)| {
                regions.iter().any(|name| name.to_lowercase() == offer.region.to_lowercase())
            })
        });
        Ok(machines)
    }

    /// This host's machines; `None` where every region has its machines from a provider.
    async fn agent(
        &self,
        clock: &Arc<dyn Clock>,
        ports: &Ports,
        host: mainstay_core::density::Host,
        machines: Vec<mainstay_agent::MachineOffer>,
    ) -> Result<Option<mainstay_agent::Handle>, Failure> {
        if machines.is_empty() {
            return Ok(None);
        }
        let towards = if self.arguments.listen.is_empty() { Towards::Nobody } else { Towards::Anybody };
        let config = mainstay_agent::Config {
            data_dir: self.data_dir.join("agent"),
            private_dir: self.data_dir.to_owned(),
            plane: mainstay_agent::Plane {
                uri: ports.agents.clone(),
                pass: Pass::Host(HostSecret(self.credentials.join_token.clone())),
            },
            holder: holder()?,
            machines,
            ports: machine::ports(&self.source.config, self.arguments.ports)?,
            addresses: machine::addresses(&self.arguments.advertise, towards)?,
            host,
            builds: mainstay_agent::BuildSource::InPlace,
            disk: mainstay_agent::DiskLimits {
                budget: self.source.config.machines.disk.as_ref().map(|disk| disk.value),
                ..mainstay_agent::DiskLimits::default()
            },
            local_proxy_url: ports.multiplay.clone(),
        };
        mainstay_agent::Service::start(config, Arc::clone(clock))
            .await
            .map(Some)
            .map_err(|error| failed_as("the agent does not start", &error, error.code()))
    }

    /// What protects what other hosts reach. Ours is always there: join tokens carry it.
    fn tls(&self) -> Option<mainstay_control::Tls> {
        match self.arguments.tls {
            TlsChoice::Off => return None,
            TlsChoice::On => {}
        }
        let given = match (&self.arguments.tls_cert, &self.arguments.tls_key) {
            (Some(certificate), Some(key)) => Some(mainstay_control::GivenCertificate {
                certificate: certificate.clone(),
                key: key.clone(),
            }),
            (None, _) | (_, None) => None,
        };
        let named = self.arguments.tls_name.iter().cloned();
        let listened = self.arguments.listen.iter().chain(&self.arguments.advertise);
        let reached = listened.filter(|ip| !ip.is_unspecified()).map(ToString::to_string);
        Some(mainstay_control::Tls {
            dir: self.data_dir.join("tls"),
            names: named.chain(reached).chain(std::iter::once(machine::name())).collect(),
            given,
        })
    }

    fn ports(&self) -> Ports {
        let Addresses { api, agents, multiplay, playfab } = &self.addresses;
        let url = |address: std::net::SocketAddr| {
            let scheme = if address.ip().is_loopback() { "http" } else { "https" };
            format!("{scheme}://{address}")
        };
        let all = |addresses: &[std::net::SocketAddr]| addresses.iter().copied().map(url).collect();
        Ports {
            api: url(listen::first(api)),
            agents: url(listen::first(agents)),
            multiplay: url(listen::first(multiplay)),
            playfab: url(listen::first(playfab)),
            playfab_tls: match self.arguments.tls {
                TlsChoice::On => Some(format!("https://{}", listen::first(playfab))),
                TlsChoice::Off => None,
            },
            listening: Listening {
                api: all(api),
                agents: all(agents),
                multiplay: all(multiplay),
                playfab: all(playfab),
            },
        }
    }

    /// Waits until every machine is heard and idle servers answer, and says how things stand.
    async fn settled(&self, machines: usize) -> Result<Looked, Failure> {
        let data_dir = self.data_dir.to_owned();
        let looked = tokio::task::spawn_blocking(move || look(&data_dir, machines)).await;
        looked.map_err(|error| failed("looking at the servers failed", &error))?
    }

    async fn asked_to_stop(&self) -> Result<(), Failure> {
        let mut endings = Endings::listen()?;
        let parent_gone = async {
            if self.arguments.with_parent {
                let mut ignored = tokio::io::sink();
                // An unreadable standard input is a closed one.
                let _end = tokio::io::copy(&mut tokio::io::stdin(), &mut ignored).await;
            } else {
                std::future::pending::<()>().await;
            }
        };
        tokio::select! {
            () = endings.asked() => {}
            () = parent_gone => {}
        }
        Ok(())
    }

    async fn stop(
        &self,
        agent: Option<mainstay_agent::Handle>,
        control: mainstay_control::Handle,
        journal: JournalHandle,
        upkeep: Upkeep,
    ) -> Result<ExitCode, Failure> {
        match (self.arguments.on_stop, agent) {
            (_, None) => {}
            (OnStop::Stop, Some(agent)) => {
                let longest = control.longest_stop().await;
                stop_servers(agent, longest.map_err(|error| failed("the catalog is silent", &error))?)
                    .await?;
            }
            (OnStop::Leave, Some(agent)) => agent
                .leave()
                .await
                .map_err(|error| failed("the agent did not end in order; its servers play on", &error))?,
        }
        control.shutdown().await.map_err(|error| failed("the control plane did not end in order", &error))?;
        journal.stop().await.map_err(|error| failed("the journal did not end in order", &*error))?;
        drop(upkeep);
        eprintln!("stopped; data kept in {}", self.data_dir.display());
        Ok(ExitCode::SUCCESS)
    }
}

async fn stop_servers(agent: mainstay_agent::Handle, longest: Duration) -> Result<(), Failure> {
    eprintln!(
        "stopping the servers (by their stop ladder, at most {} s); again to kill them now",
        longest.as_secs()
    );
    let mut endings = Endings::listen()?;
    let patience = async {
        tokio::select! {
            () = tokio::time::sleep(longest + STOP_SLACK) => {}
            () = endings.asked() => eprintln!("killing them now"),
        }
    };
    agent.stop_all(patience).await.map_err(|error| failed("not every server stopped", &error))
}

/// What the first screen shows of what runs.
struct Looked {
    /// `GET /v1/status`.
    status: serde_json::Value,
    /// The first of `GET /v1/queues`.
    queues: serde_json::Value,
}

fn look(data_dir: &Path, machines: usize) -> Result<Looked, Failure> {
    let client = Client::here(data_dir)?;
    let began = Instant::now();
    loop {
        let status = client.get("/v1/status")?;
        let heard = status["connectedMachines"].as_u64() >= u64::try_from(machines).ok();
        if (heard && everyone_settled(&client, &status)?) || began.elapsed() > ONLINE_WITHIN {
            let queues = client.get(&format!("/v1/queues?limit={QUEUES_SHOWN}"))?["items"].take();
            return Ok(Looked { status, queues });
        }
        std::thread::sleep(LOOK);
    }
}

/// Whether no server is still on its way up. A first page will do: what `up` waits for is a first screen.
fn everyone_settled(client: &Client, status: &serde_json::Value) -> Result<bool, Failure> {
    let fleets = status["fleets"].as_array().into_iter().flatten();
    let starting: Vec<&str> = fleets
        .filter(|fleet| fleet["startOnProvision"] == true)
        .filter_map(|fleet| fleet["name"].as_str())
        .collect();
    let page = client.get("/v1/servers?limit=500")?;
    Ok(page["items"].as_array().into_iter().flatten().all(|server| match server["process"].as_str() {
        Some("starting" | "unknown") | None => false,
        Some("stopped") => !starting.iter().any(|fleet| server["fleetName"] == *fleet),
        Some(_) => true,
    }))
}

/// This program, as a holder of game servers.
pub fn holder() -> Result<mainstay_agent::HolderProgram, Failure> {
    let executable =
        std::env::current_exe().map_err(|error| failed("cannot tell where this program is", &error))?;
    Ok(mainstay_agent::HolderProgram { executable, words: vec!["holder".to_owned()] })
}
