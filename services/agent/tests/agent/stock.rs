//! A stock game server, where it is installed: `./check` installs it.

use std::path::Path;
use std::time::Duration;

use mainstay_core::slot::{Intent, Phase, Query, QueryPort};
use nix::sys::signal::Signal;

use crate::games::Build;
use crate::host::{Host, send};
use crate::plane::{Plane, allocation};

const FOLDER: &str = "/usr/games";
const BINARY: &str = "teeworlds-server";

/// Started, asked in its own protocol, killed, back under the same allocation, stopped.
#[tokio::test(flavor = "multi_thread")]
async fn teeworlds_comes_back_after_kill_9() {
    if !Path::new(FOLDER).join(BINARY).exists() {
        eprintln!("SKIPPED: {FOLDER}/{BINARY} is not installed; ./check installs it");
        return;
    }
    let (build, host) = (Build::new(), Host::new(1));
    let mut spec = build.spec(1, BINARY);
    spec.launch.folder = FOLDER.to_owned();
    spec.launch.command_line =
        "'sv_name probe; sv_port '$$port$$'; bindaddr 127.0.0.1; sv_register 0; sv_map dm1'".to_owned();
    spec.query = Some(Query {
        protocol: "teeworlds".to_owned(),
        port: QueryPort::Game,
        timeout: Duration::from_secs(1),
        start_grace: Duration::from_secs(60),
    });
    let plane = Plane::start(vec![spec.clone()]).await;
    let _agent = host.agent(&plane);
    plane.order(1, Intent::Run, &spec, Some(0xa)).await;
    let first = plane.online(1).await;
    send(first, Signal::SIGKILL);
    plane.online_not(1, first).await;
    assert_eq!(host.told(1, "allocatedUUID"), allocation(0xa).to_string());
    plane.order(1, Intent::Stop, &spec, None).await;
    plane.until(1, "stopped", |phase| matches!(phase, Phase::Stopped(_))).await;
}
