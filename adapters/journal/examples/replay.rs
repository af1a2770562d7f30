//! Measures a start: a journal of 1,000,000 events in SQLite, read, verified, decoded and applied to a fleet.
//!
//! ```text
//! cargo run --release -p mainstay-journal --example replay [EVENTS] [RUNS]
//! ```

use std::error::Error;
use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mainstay_core::slot::{ConfigurationRef, Intent};
use mainstay_core::{
    AllocationId, BuildConfigurationId, FleetNumber, Generation, MachineId, RegionId, ServerId, Timestamp,
};
use mainstay_fleet::{
    Addresses, End, Event, Fleet, FleetSpec, IdleServers, Ports, Purpose, Renewal, Request,
};
use mainstay_journal::sqlite::SqliteJournal;
use mainstay_journal::stored::Stored;
use mainstay_journal::{Cause, Fold, Journal, Reader, Seq, ShardName, StoredFold, TurnRecord, replay};

const EVENTS: u64 = 1_000_000;
const RUNS: usize = 11;
/// Servers that take the allocations in turn.
const SERVERS: u32 = 1_000;
/// How long ended allocations stay; there is a turn each millisecond.
const RETENTION: Duration = Duration::from_secs(60);
/// Turns in one commit while the journal is built.
const BATCH: usize = 1_024;

/// Reads and verifies, and looks at nothing.
struct ReadAlone;

impl Fold for ReadAlone {
    fn take_chunk(&mut self, _chunk: &[u8]) -> Result<(), Cause> {
        Ok(())
    }

    fn take_turn(&mut self, _turn: &TurnRecord) -> Result<(), Cause> {
        Ok(())
    }

    fn chunks(&self) -> Box<dyn Iterator<Item = Vec<u8>> + '_> {
        Box::new(std::iter::empty())
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let events = arguments.next().map_or(Ok(EVENTS), |text| text.parse())?;
    let runs = arguments.next().map_or(Ok(RUNS), |text| text.parse())?;
    let dir = tempfile::tempdir()?;
    let name = ShardName::new("fleet/1")?;
    let turns = build(dir.path(), &name, events)?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "journal of {events} events in {turns} turns, {runs} runs")?;

    let read = measure(runs, || {
        let mut journal = SqliteJournal::open(dir.path())?;
        let head = journal.head(&name)?.ok_or("the shard is there")?;
        replay(&mut journal, &head, &mut ReadAlone)?;
        Ok(())
    })?;
    writeln!(out, "open, read, verify           {read}")?;
    let whole = measure(runs, || {
        let mut journal = SqliteJournal::open(dir.path())?;
        let head = journal.head(&name)?.ok_or("the shard is there")?;
        let mut fold = StoredFold::new(Fleet::new(1));
        replay(&mut journal, &head, &mut fold)?;
        std::hint::black_box(fold.into_state());
        Ok(())
    })?;
    writeln!(out, "the same, decoded and applied {whole}")?;
    Ok(())
}

fn measure(
    runs: usize,
    mut run: impl FnMut() -> Result<(), Box<dyn Error>>,
) -> Result<String, Box<dyn Error>> {
    let mut times = Vec::with_capacity(runs);
    for _ in 0..runs.max(1) {
        let begun = Instant::now();
        run()?;
        times.push(begun.elapsed());
    }
    times.sort_unstable();
    let at = |hundredths: usize| -> Duration { times[(times.len() * hundredths / 100).min(times.len() - 1)] };
    Ok(format!("median {:?}, p99 {:?}, fastest {:?}", at(50), at(99), times[0]))
}

/// Allocations that are asked for, placed, fulfilled and ended, one after another on each server.
fn build(dir: &std::path::Path, name: &ShardName, events: u64) -> Result<u64, Box<dyn Error>> {
    let mut journal = SqliteJournal::open(dir)?;
    let leadership = journal.lead(name)?;
    let (mut next, epoch) = (Seq::FIRST, leadership.head.epoch);
    let fleet = FleetNumber::new(1).ok_or("1 is a fleet number")?;
    let configuration = ConfigurationRef { id: BuildConfigurationId::of(fleet, 1), revision: 1 };
    let region: RegionId = "00000000-0000-0000-0000-00000000000a".parse()?;
    let machine = MachineId::of(fleet, 1);
    let joined = Event::MachineJoined {
        machine,
        key: "00000000-0000-0000-0000-00000000000b".parse()?,
        region,
        name: "machine".into(),
        addresses: Addresses::default(),
    };
    let ports = vec![Ports { game: 7000, query: 7001 }; usize::try_from(SERVERS)?];
    let added = Event::ServersAdded { machine, first: ServerId::of(fleet, 1), ports, configuration };
    let (mut batch, mut turns) = (Vec::new(), 0);
    let configured = Event::Configured(Arc::new(FleetSpec {
        number: fleet,
        id: "00000000-0000-0000-0000-00000000000f".parse()?,
        name: "fleet".into(),
        revision: 1,
        idle_servers: IdleServers::StartOnAllocation,
        regions: Vec::new(),
        configurations: Vec::new(),
        placement_timeout: Duration::from_secs(60),
        retention: RETENTION,
        hosting: mainstay_fleet::Hosting::default(),
        floors: Vec::new(),
    }));
    let mut told = vec![vec![configured], vec![joined], vec![added]].into_iter();
    let mut cycle: u64 = 0;
    while next.0 <= events {
        let Some(turn) = told.next() else {
            told = allocation(cycle, fleet, configuration, region)?.into_iter();
            cycle += 1;
            continue;
        };
        let count = u32::try_from(turn.len())?;
        let mut bytes = Vec::new();
        Fleet::store(&turn, &mut bytes);
        let at = Timestamp::from_unix_ms(1_800_000_000_000 + turns);
        batch.push(TurnRecord { shard: name.clone(), first: next, count, epoch, at, bytes });
        next = next.plus(count.into());
        turns += 1;
        if batch.len() == BATCH {
            journal.append(&batch)?;
            batch.clear();
        }
    }
    journal.append(&batch)?;
    Ok(turns)
}

fn allocation(
    cycle: u64,
    fleet: FleetNumber,
    configuration: ConfigurationRef,
    region: RegionId,
) -> Result<Vec<Vec<Event>>, Box<dyn Error>> {
    let id: AllocationId = format!("{:032x}", u128::from(cycle) + 1).parse()?;
    let server = ServerId::of(fleet, u32::try_from(cycle % u64::from(SERVERS))? + 1);
    let generation = Generation::from_number(cycle / u64::from(SERVERS) + 1);
    let request = Request {
        configuration: configuration.id,
        region,
        payload: None,
        renewal: Renewal::Keep,
        purpose: Purpose::Session,
    };
    let until = Timestamp::from_unix_ms(1_900_000_000_000);
    Ok(vec![
        vec![
            Event::AllocationRequested { id, request, until },
            Event::AllocationPlaced {
                id,
                server,
                generation,
                configuration,
                intent: Intent::Run,
                cause: mainstay_fleet::Cause::Allocated(mainstay_fleet::Fit::Stopped),
            },
        ],
        vec![Event::AllocationFulfilled { id, server: Some(server) }],
        vec![Event::AllocationEnded { id, server: Some(server), end: End::Deallocated }],
    ])
}
