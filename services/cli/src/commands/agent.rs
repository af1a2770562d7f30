//! `mainstay agent`: this machine's servers, for a control plane elsewhere. SIGTERM leaves them playing, so that an
//! upgrade keeps its players.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use mainstay_agent::{Config, MachineOffer, Plane, PortRange, Service};
use mainstay_runtime::{Clock, SystemClock};

use crate::arguments::AgentArguments;
use crate::failure::failed;
use crate::failure::{Exit, Failure};
use crate::output;
use crate::system::{self, Endings};
use crate::up::{data, holder, machine};

pub fn run(arguments: &AgentArguments, data_dir: &Path) -> Result<ExitCode, Failure> {
    let config = config(arguments, &data::make(data_dir)?)?;
    system::take_descriptors();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| failed("the system gives no threads", &error))?;
    runtime.block_on(serve(config))
}

async fn serve(config: Config) -> Result<ExitCode, Failure> {
    let mut endings = Endings::listen()?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
    let agent =
        Service::start(config, clock).await.map_err(|error| failed("the agent does not start", &error))?;
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

fn config(arguments: &AgentArguments, data_dir: &Path) -> Result<Config, Failure> {
    let file = &arguments.token_file;
    let token = std::fs::read_to_string(file).map_err(|error| {
        Failure::new(Exit::Usage, "MS-U006", format!("cannot read {}", file.display())).why(error)
    })?;
    Ok(Config {
        data_dir: data_dir.join("agent"),
        private_dir: data_dir.to_owned(),
        plane: Plane { uri: arguments.join.clone(), token: token.trim().to_owned() },
        holder: holder()?,
        machines: vec![MachineOffer {
            fleet: arguments.fleet.clone(),
            region: arguments.region.clone(),
            name: machine::name(),
            slots: arguments.slots.into(),
        }],
        ports: ports(&arguments.ports)?,
        addresses: machine::addresses(),
        local_proxy_url: "http://127.0.0.1:8086".to_owned(),
    })
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
