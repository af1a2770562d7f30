//! `mainstay agent`: this machine's servers, for a control plane elsewhere. SIGTERM leaves them playing, so that an
//! upgrade keeps its players.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use mainstay_agent::{
    Addresses, Asked, BuildSource, Config, DiskLimits, HostSecret, MachineOffer, MachinePass, Pass,
    PassError, Plane, PortRange, Service, SlotCount,
};
use mainstay_runtime::{Clock, SystemClock};
use mainstay_wire::join::TextError;

use crate::arguments::{AgentArguments, BuildsChoice};
use crate::commands::explain;
use crate::failure::{Exit, Failure, failed, failed_as};
use crate::output;
use crate::system::{self, Endings};
use crate::up::machine::Towards;
use crate::up::{data, holder, listen, machine};

pub fn run(arguments: &AgentArguments, data_dir: &Path) -> Result<ExitCode, Failure> {
    let data_dir = data::make(data_dir)?;
    system::take_descriptors();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| failed("the system gives no threads", &error))?;
    runtime.block_on(serve(arguments, &data_dir))
}

async fn serve(arguments: &AgentArguments, data_dir: &Path) -> Result<ExitCode, Failure> {
    let mut endings = Endings::listen()?;
    let clock = SystemClock::start_in(data_dir);
    let clock: Arc<dyn Clock> = Arc::new(clock.map_err(|error| failed("the clock does not start", &error))?);
    let games = listen::games(arguments.games_port)?;
    let config = tokio::select! {
        config = config(arguments, data_dir, &clock, games.url()?) => config?,
        // Before it has joined there is nothing to leave in order.
        () = endings.asked() => return Ok(ExitCode::SUCCESS),
    };
    let agent = Service::start(config, clock)
        .await
        .map_err(|error| failed_as("the agent does not start", &error, error.code()))?;
    for listener in games.listeners()? {
        let _daemon = tokio::spawn(mainstay_agent::daemon::serve(listener, agent.daemon()));
    }
    output::write("{\"msg\":\"agent running\"}\n")?;
    tokio::select! {
        () = endings.asked() => {}
        failure = agent.failed() => return Err(failed("the agent's journal failed; its servers play on", &*failure)),
    }
    agent
        .leave()
        .await
        .map_err(|error| failed("the agent did not end in order; its servers play on", &error))?;
    Ok(ExitCode::SUCCESS)
}

async fn config(
    arguments: &AgentArguments,
    data_dir: &Path,
    clock: &Arc<dyn Clock>,
    local_proxy_url: String,
) -> Result<Config, Failure> {
    let dir = data_dir.join("agent");
    let ports = ports(&arguments.ports)?;
    let token = token(arguments)?;
    let (pass, fleet, region, key) = match host_secret(arguments, token.as_deref()) {
        Some(secret) => {
            let (fleet, region) = (said(&arguments.fleet, "--fleet")?, said(&arguments.region, "--region")?);
            (Pass::Host(HostSecret(secret)), fleet, region, None)
        }
        None => {
            let token = token.map(|token| token.parse()).transpose().map_err(|error: TextError| {
                Failure::new(Exit::Usage, error.code(), "the join token is none")
                    .why(error)
                    .fix("copy it whole: mainstay token create")
            })?;
            let (fleet, region) = (arguments.fleet.clone(), arguments.region.clone());
            let machine = arguments.machine_key;
            let asked = Asked { uri: arguments.join.clone(), token, fleet, region, machine };
            let pass = MachinePass::obtain(&dir, &asked, Arc::clone(clock)).await.map_err(not_joined)?;
            let (fleet, region) = pass.joined();
            let key = Some(pass.machine());
            (Pass::Machine(pass), fleet, region, key)
        }
    };
    let slots = match arguments.slots {
        Some(slots) => SlotCount::Stated(slots.into()),
        None => SlotCount::AsFleet(1),
    };
    let builds = match (arguments.builds, &pass) {
        (Some(BuildsChoice::Fetch), _) | (None, Pass::Machine(_)) => BuildSource::Plane,
        (Some(BuildsChoice::InPlace), _) | (None, Pass::Host(_)) => BuildSource::InPlace,
    };
    Ok(Config {
        data_dir: dir,
        private_dir: data_dir.to_owned(),
        plane: Plane { uri: arguments.join.clone(), pass },
        holder: holder()?,
        machines: vec![MachineOffer {
            fleet,
            region,
            name: arguments.name.clone().unwrap_or_else(machine::name),
            slots,
            key,
        }],
        ports,
        addresses: addresses(arguments)?,
        host: machine::host()?,
        builds,
        disk: DiskLimits { budget: arguments.disk, ..DiskLimits::default() },
        local_proxy_url,
    })
}

/// The token, from wherever it was given.
fn token(arguments: &AgentArguments) -> Result<Option<String>, Failure> {
    let Some(file) = &arguments.token_file else { return Ok(arguments.token.clone()) };
    let text = std::fs::read_to_string(file).map_err(|error| {
        Failure::new(Exit::Usage, "MS-U006", format!("cannot read {}", file.display())).why(error)
    })?;
    Ok(Some(text.trim().to_owned()))
}

/// The secret of the control plane's own host, which is no join token and goes over loopback alone.
fn host_secret(arguments: &AgentArguments, token: Option<&str>) -> Option<String> {
    let plain = arguments.join.starts_with("http://");
    token.filter(|token| plain && !token.starts_with("mainstay-")).map(str::to_owned)
}

fn said(value: &Option<String>, flag: &str) -> Result<String, Failure> {
    value.clone().ok_or_else(|| {
        Failure::new(Exit::Usage, "MS-U023", format!("{flag} is missing"))
            .why("the secret of the control plane's own host says nothing of fleets")
            .fix(format!("give {flag}, or join with a token of `mainstay token create`"))
    })
}

fn not_joined(error: PassError) -> Failure {
    let mut failure = failed("this machine has not joined", &error);
    failure.exit = match &error {
        PassError::Refused(_) | PassError::NoToken | PassError::Elsewhere { .. } => Exit::Denied,
        PassError::Connect(_) => Exit::Unreachable,
        PassError::Token(_) => Exit::Usage,
        PassError::Files(_) | PassError::Random(_) => Exit::Failed,
    };
    if let PassError::Refused(status) = &error
        && let Some((code, why)) = status.message().split_once(": ")
    {
        (failure.code, failure.why) = (code.to_owned(), Some(why.to_owned()));
        failure.fix = explain::mend(code).map(str::to_owned);
    }
    failure
}

fn addresses(arguments: &AgentArguments) -> Result<Addresses, Failure> {
    let (host, port) = mainstay_agent::host_and_port(&arguments.join).ok_or_else(|| {
        Failure::new(Exit::Usage, "MS-S407", format!("{:?} is no address of a control plane", arguments.join))
            .fix("write https://HOST:7421")
    })?;
    machine::addresses(&arguments.advertise, Towards::Plane(&host, port))
}

fn ports(text: &str) -> Result<PortRange, Failure> {
    let range = text.split_once('-').and_then(|(first, last)| {
        let (first, last) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        (first < last).then_some(PortRange { first, last })
    });
    range.ok_or_else(|| {
        Failure::new(Exit::Usage, "MS-U008", format!("{text:?} is no range of ports"))
            .fix("write the first and the last: --ports 20000-20999")
    })
}
