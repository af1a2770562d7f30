//! An agent as a process of its own, for the tests that kill it. SIGTERM leaves its games, SIGINT stops them, and the
//! end of standard input ends it as SIGTERM does: no test leaves one behind.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use mainstay_agent::{
    Addresses, Config, HolderProgram, HostSecret, MachineOffer, Pass, Plane, PortRange, Service, SlotCount,
};
use mainstay_core::density::{Host, MachineSize};
use mainstay_runtime::SystemClock;
use tokio::io::AsyncReadExt as _;
use tokio::signal::unix::{SignalKind, signal};

type Failure = Box<dyn std::error::Error>;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [dir, uri, holder, first, last, slots] = words.as_slice() else {
        return Err("usage: agent_alone DIR URI HOLDER FIRST_PORT LAST_PORT SLOTS[+SLOTS…]".into());
    };
    tracing_subscriber::fmt().with_writer(std::io::stderr).init();
    // The next agent in this directory answers games at the same place.
    let place = std::path::Path::new(dir).join("daemon");
    let address = std::fs::read_to_string(&place).unwrap_or_else(|_| "127.0.0.1:0".to_owned());
    let games = tokio::net::TcpListener::bind(&address).await?;
    let address = games.local_addr()?.to_string();
    std::fs::write(&place, &address)?;
    let config = Config {
        data_dir: dir.into(),
        private_dir: dir.into(),
        plane: Plane { uri: uri.clone(), pass: Pass::Host(HostSecret("join".into())) },
        holder: HolderProgram { executable: holder.into(), words: Vec::new() },
        machines: machines(slots)?,
        ports: PortRange { first: first.parse()?, last: last.parse()? },
        builds: mainstay_agent::BuildSource::InPlace,
        disk: mainstay_agent::DiskLimits::default(),
        addresses: Addresses { ipv4: Some(Ipv4Addr::LOCALHOST), ipv6: None },
        host: Host {
            size: MachineSize { cores: 1, speed_mhz: None, memory_mib: 1_024 },
            processor: "".into(),
        },
        local_proxy_url: format!("http://{address}"),
    };
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let agent = Service::start(config, Arc::new(SystemClock::start())).await?;
    tokio::spawn(mainstay_agent::daemon::serve(games, agent.daemon()));
    let mut nothing = [0; 1];
    let mut stdin = tokio::io::stdin();
    tokio::select! {
        _ = terminate.recv() => agent.leave().await?,
        _ = interrupt.recv() => agent.stop_all(tokio::time::sleep(Duration::from_secs(30))).await?,
        end = stdin.read(&mut nothing) => {
            end?;
            agent.leave().await?;
        }
        failure = agent.failed() => return Err(failure.to_string().into()),
    }
    // A read of standard input cannot be called off, and would keep the runtime.
    std::process::exit(0)
}

/// One machine for each number, each in a region of its own.
fn machines(slots: &str) -> Result<Vec<MachineOffer>, Failure> {
    let offer = |(n, slots): (usize, &str)| {
        Ok(MachineOffer {
            fleet: "arena".into(),
            region: format!("region {n}"),
            name: "test".into(),
            slots: SlotCount::Stated(slots.parse()?),
            key: None,
        })
    };
    slots.split('+').enumerate().map(offer).collect()
}
