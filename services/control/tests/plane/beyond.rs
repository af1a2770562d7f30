//! What a control plane does before anybody joins: who is heard in the clear, and what cannot be promised without TLS.

use std::net::SocketAddr;
use std::sync::Arc;

use mainstay_control::doctor::NoHostChecks;
use mainstay_control::{Config, Control, Door, Listen, MachineSize, Metrics, NoLogs, StartError, Tls};
use mainstay_journal::Limits;
use mainstay_journal::memory::{MemoryStore, Tenancy};
use mainstay_runtime::{JournalThread, SystemClock};
use serde_json::json;

use crate::support::{ENVIRONMENT, PROJECT, TOKEN, World};

fn config(listen: Listen, tls: Option<Tls>) -> Config {
    let clock = Arc::new(SystemClock::start());
    let store = MemoryStore::new(Tenancy::Exclusive);
    let journal =
        JournalThread::start(Box::new(store.open("node", 1)), Limits::STANDARD, clock.clone()).unwrap();
    Config {
        journal,
        clock,
        listen,
        tls,
        project: PROJECT,
        environment: ENVIRONMENT,
        credentials: vec![],
        join_token: TOKEN.to_owned(),
        logs: Arc::new(NoLogs),
        machine: MachineSize { cores: 1, speed_mhz: None, memory_mib: 1024 },
        history: None,
        metrics: Arc::new(Metrics::default()),
        builds: None,
        host: Arc::new(NoHostChecks),
        providers: mainstay_control::Programs::new(),
        playfab: None,
        playfab_builds: mainstay_control::Builds::default(),
        stun: None,
        relay: None,
        lobby: None,
    }
}

/// Issue 3, section 4, and its brief: "a non-loopback listener without TLS is refused with a code and the mend".
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_listener_that_others_reach_is_refused_without_tls() {
    let here: SocketAddr = "127.0.0.1:0".parse().unwrap();
    for open in ["0.0.0.0:0", "[::]:0", "192.0.2.7:0", "[::ffff:192.0.2.7]:0"] {
        let open: SocketAddr = open.parse().unwrap();
        for listen in [
            Listen { api: vec![Door::At(here), Door::At(open)], agents: vec![Door::At(here)] },
            Listen { api: vec![Door::At(here)], agents: vec![Door::At(open)] },
        ] {
            let error = Control::start(config(listen, None)).await.unwrap_err();
            assert!(matches!(error, StartError::Unprotected { address } if address == open), "{error}");
            assert!(error.to_string().contains("MS-U120"), "{error}");
        }
    }
    let nowhere = Listen { api: vec![], agents: vec![Door::At(here)] };
    assert!(matches!(Control::start(config(nowhere, None)).await, Err(StartError::Nowhere)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_authority_is_made_once_and_its_key_is_its_owners_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let dir = tempfile::tempdir().unwrap();
    let tls = || Some(Tls { dir: dir.path().join("tls"), names: vec!["10.0.0.1".to_owned()], given: None });
    let here = || vec![Door::At("127.0.0.1:0".parse().unwrap())];
    let listen = || Listen { api: here(), agents: here() };
    let first = Control::start(config(listen(), tls())).await.unwrap();
    let pin = first.ca().unwrap();
    first.shutdown().await.unwrap();
    let key = dir.path().join("tls/ca.key");
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o644)).unwrap();
    let second = Control::start(config(listen(), tls())).await.unwrap();
    assert_eq!(second.ca(), Some(pin));
    assert_eq!(std::fs::metadata(&key).unwrap().permissions().mode() & 0o777, 0o600, "closed again");
    second.shutdown().await.unwrap();
    std::fs::write(&key, "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n").unwrap();
    let damaged = Control::start(config(listen(), tls())).await.unwrap_err();
    let mut told = damaged.to_string();
    let mut cause = std::error::Error::source(&damaged);
    while let Some(error) = cause {
        told = format!("{told}: {error}");
        cause = error.source();
    }
    assert!(told.contains("MS-U122"), "{told}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_an_authority_no_token_is_made() {
    let world = World::new().await;
    world.post("/v1/join-tokens", &json!({})).await.expect(409, "MS-A007");
}
