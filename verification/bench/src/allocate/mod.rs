//! Durable allocations over HTTP: ten thousand idle servers on simulated agents over the real stream, callers that
//! allocate and deallocate in turn, every answer after its sync; and PostgreSQL beside it for the ratio.

mod agents;
mod load;
mod world;

use std::time::Duration;

use crate::postgres::Postgres;
use crate::report::{Run, median, summary};
use crate::{Failure, option};

/// What is measured.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    runs: u64,
    time: Duration,
    connections: u64,
    servers: u64,
    yardstick: Yardstick,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Yardstick {
    Postgres,
    None,
}

/// The workload is the same in every run of every build.
const SEED: u64 = 20_261_120;

impl Settings {
    /// From the command line.
    pub fn read(arguments: &[String]) -> Result<Self, Failure> {
        let without = arguments.iter().any(|argument| argument == "--no-postgres");
        Ok(Self {
            runs: option(arguments, "--runs")?.unwrap_or(5),
            time: Duration::from_secs(option(arguments, "--seconds")?.unwrap_or(5)),
            connections: option(arguments, "--connections")?.unwrap_or(64),
            servers: option(arguments, "--servers")?.unwrap_or(10_000),
            yardstick: if without { Yardstick::None } else { Yardstick::Postgres },
        })
    }
}

/// Measures.
pub fn run(settings: &Settings) -> Result<(), Failure> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(measure(settings))
}

async fn measure(settings: &Settings) -> Result<(), Failure> {
    let folder = tempfile::Builder::new().prefix("mainstay-bench").tempdir_in(".")?;
    let world = world::World::start(folder.path(), settings.servers).await?;
    let postgres = match settings.yardstick {
        Yardstick::Postgres => Some(Postgres::start(folder.path())?),
        Yardstick::None => None,
    };
    if let Some(postgres) = &postgres {
        postgres.prepare(settings.servers).await?;
    }
    say!(
        "allocate: {} idle servers, {} connections, {} s a run, POST and DELETE in turn, answered after fsync",
        settings.servers,
        settings.connections,
        settings.time.as_secs()
    );
    let (mut ours, mut theirs): (Vec<Run>, Vec<Run>) = (Vec::new(), Vec::new());
    for run in 0..settings.runs {
        let measured = load::measure(&world.caller, settings.connections, settings.time, SEED + run).await?;
        say!("  mainstay   {}", measured.line());
        ours.push(measured);
        if let Some(postgres) = &postgres {
            let measured = postgres.measure(settings.connections, settings.time).await?;
            say!("  postgresql {}", measured.line());
            theirs.push(measured);
        }
    }
    say!("{}", summary("mainstay", &ours));
    if !theirs.is_empty() {
        say!("{}", summary("postgresql, single-row claims", &theirs));
        let ratios = ours.iter().zip(&theirs).map(|(ours, theirs)| ours.rate() / theirs.rate());
        say!("ratio, run by run: median {:.2}", median(ratios));
    }
    world.stop().await
}
