//! Callers over HTTP: each connection allocates and deallocates in turn, so that the pool never drains; both count.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use hyper::Method;

use crate::Failure;
use crate::http::Connection;
use crate::report::{Run, histogram};

/// What a caller says.
#[derive(Debug, Clone)]
pub struct Caller {
    /// Where the control plane listens.
    pub api: SocketAddr,
    /// The path of the fleet's allocations.
    pub path: String,
    /// The service account's header.
    pub authorization: String,
    /// The build configuration and the region asked for.
    pub build_configuration: u64,
    /// The region asked for.
    pub region: String,
}

/// Runs so many connections until the time is over.
pub async fn measure(caller: &Caller, connections: u64, time: Duration, seed: u64) -> Result<Run, Failure> {
    let mut workers = Vec::new();
    for connection in 0..connections {
        let connected = Connection::open(caller.api).await?;
        workers.push((connected, caller.clone(), Ids::new(seed, connection)));
    }
    let began = Instant::now();
    let workers: Vec<_> = workers
        .into_iter()
        .map(|(connected, caller, ids)| tokio::spawn(work(connected, caller, ids, began, time)))
        .collect();
    let mut latencies = histogram()?;
    let mut operations = 0;
    for worker in workers {
        let (count, own) = worker.await??;
        operations += count;
        latencies.add(own)?;
    }
    Ok(Run { operations, took: began.elapsed(), latencies })
}

async fn work(
    mut connected: Connection,
    caller: Caller,
    mut ids: Ids,
    began: Instant,
    time: Duration,
) -> Result<(u64, hdrhistogram::Histogram<u64>), Failure> {
    let mut latencies = histogram()?;
    let mut operations = 0;
    while began.elapsed() < time {
        let id = ids.next();
        let body = format!(
            r#"{{"allocationId":"{id}","buildConfigurationId":{},"regionId":"{}"}}"#,
            caller.build_configuration, caller.region
        );
        for (method, path, body) in [
            (Method::POST, caller.path.clone(), body),
            (Method::DELETE, format!("{}/{id}", caller.path), String::new()),
        ] {
            let asked = Instant::now();
            let proof = ("authorization", caller.authorization.as_str());
            let (status, _) = connected.call(&method, &path, proof, &body).await?;
            latencies.record(u64::try_from(asked.elapsed().as_micros())?)?;
            if !status.is_success() {
                return Err(format!("{method} {path} was answered {status}").into());
            }
            operations += 1;
        }
    }
    Ok((operations, latencies))
}

/// Allocation ids: a mixed counter, so that the same seed asks for the same.
struct Ids {
    high: u64,
    low: u64,
}

impl Ids {
    const fn new(seed: u64, connection: u64) -> Self {
        Self { high: mix(seed ^ (connection << 32)), low: 0 }
    }

    fn next(&mut self) -> uuid::Uuid {
        self.low += 1;
        uuid::Uuid::from_u64_pair(self.high, mix(self.high.wrapping_add(self.low)))
    }
}

/// SplitMix64's finaliser.
const fn mix(n: u64) -> u64 {
    let n = (n ^ (n >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let n = (n ^ (n >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    n ^ (n >> 31)
}
