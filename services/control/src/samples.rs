//! How fleets stood, minute by minute, for a day: what charts show. Soft: it begins anew with the process.
//!
//! Counts come from the fleets' own; players, CPU and memory from a walk over what agents last read of each server, in
//! parts, so that no turn waits for a large fleet. Whoever asks is given the present moment too.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mainstay_core::slot::{Heard, Phase, Reading};
use mainstay_core::{BuildConfigurationId, FleetNumber, RegionId, ServerId, Timestamp};
use mainstay_runtime::{Clock, Error};
use tokio::sync::watch;

use crate::counted::Counted;
use crate::http::raised;
use crate::metrics::Metrics;
use crate::shards::{Fleets, OpenFleet};

/// How often a fleet is looked at: what people watch changes over minutes.
const INTERVAL: Duration = Duration::from_secs(60);
/// How many looks are kept: a day of them, 130 KB a region.
const KEPT: usize = 24 * 60;
/// The most regions, of all fleets together, that are sampled: 130 MB. Further ones have no charts.
const REGIONS_MAX: usize = 1_000;
/// The most build configurations of regions whose players are sampled: 24 bytes a look each, 69 MB.
const CONFIGURATIONS_MAX: usize = 2_000;
/// A single server is sampled once in so many looks, and for a day as well: 12 KB a server.
const SERVER_EVERY: usize = 5;
/// The most servers that are sampled: 120 MB. Further ones have no charts of their own.
const SERVERS_MAX: usize = 10_000;
/// Servers that one turn is asked about.
const PART: usize = 1_000;
/// A walk is good for this long: several charts of one page are one walk.
const FRESH: Duration = Duration::from_secs(5);

/// How a region of a fleet stood.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sample {
    pub(crate) at: Timestamp,
    pub(crate) counted: Counted,
    pub(crate) machines: u32,
    pub(crate) load: Load,
}

/// What was last read of some servers together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Load {
    /// Players, of the servers whose query tells.
    pub(crate) players: u32,
    /// The most these servers take.
    pub(crate) capacity: u32,
    /// CPU, in thousandths of a core.
    pub(crate) cpu_millis: u64,
    /// Memory, in bytes.
    pub(crate) memory_bytes: u64,
    /// Servers that are kept down after crashing too often.
    pub(crate) backed_off: u32,
}

impl std::ops::AddAssign for Load {
    fn add_assign(&mut self, other: Self) {
        self.players += other.players;
        self.capacity += other.capacity;
        self.cpu_millis += other.cpu_millis;
        self.memory_bytes += other.memory_bytes;
        self.backed_off += other.backed_off;
    }
}

/// How one server stood.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ServerSample {
    pub(crate) at: Timestamp,
    pub(crate) load: Load,
}

/// How one fleet stands, as a walk over its servers found.
#[derive(Debug, Clone)]
pub(crate) struct Walked {
    at: Timestamp,
    regions: BTreeMap<RegionId, Sample>,
    players: BTreeMap<(RegionId, BuildConfigurationId), u32>,
    servers: Vec<(ServerId, Load)>,
}

impl Walked {
    /// All regions together.
    pub(crate) fn load(&self) -> Load {
        let mut load = Load::default();
        self.regions.values().for_each(|sample| load += sample.load);
        load
    }
}

type Ring<T> = VecDeque<T>;

#[derive(Debug, Default)]
struct Kept {
    regions: BTreeMap<(FleetNumber, RegionId), Ring<Sample>>,
    players: BTreeMap<(FleetNumber, RegionId, BuildConfigurationId), Ring<(Timestamp, u32)>>,
    servers: BTreeMap<ServerId, Ring<ServerSample>>,
    newest: BTreeMap<FleetNumber, Arc<Walked>>,
}

/// The samples of a running control plane.
#[derive(Debug, Clone, Default)]
pub(crate) struct Samples(Arc<Mutex<Kept>>);

impl Samples {
    /// Of one region of a fleet, or of all together; oldest first, and the present last.
    pub(crate) fn of(&self, walked: &Walked, fleet: FleetNumber, region: Option<RegionId>) -> Vec<Sample> {
        let kept = self.lock();
        let wanted = |id: RegionId| region.is_none_or(|region| region == id);
        let of_fleet = kept.regions.iter().filter(|((number, id), _)| *number == fleet && wanted(*id));
        let present = walked.regions.iter().filter(|(id, _)| wanted(**id)).map(|(_, sample)| sample);
        let mut at: BTreeMap<Timestamp, Sample> = BTreeMap::new();
        for sample in
            of_fleet.flat_map(|(_, ring)| ring).filter(|sample| sample.at < walked.at).chain(present)
        {
            let none =
                Sample { at: sample.at, counted: Counted::default(), machines: 0, load: Load::default() };
            let sum = at.entry(sample.at).or_insert(none);
            sum.counted += sample.counted;
            sum.machines += sample.machines;
            sum.load += sample.load;
        }
        at.into_values().collect()
    }

    /// Players of a fleet by build configuration, in one region or in all; oldest first, and the present last.
    pub(crate) fn players(
        &self,
        walked: &Walked,
        fleet: FleetNumber,
        region: Option<RegionId>,
    ) -> BTreeMap<BuildConfigurationId, BTreeMap<Timestamp, u32>> {
        let kept = self.lock();
        let wanted = |id: RegionId| region.is_none_or(|region| region == id);
        let mut all: BTreeMap<BuildConfigurationId, BTreeMap<Timestamp, u32>> = BTreeMap::new();
        for ((number, id, configuration), ring) in &kept.players {
            if *number == fleet && wanted(*id) {
                for (at, players) in ring.iter().filter(|(at, _)| *at < walked.at) {
                    *all.entry(*configuration).or_default().entry(*at).or_default() += players;
                }
            }
        }
        for ((id, configuration), players) in &walked.players {
            if wanted(*id) {
                *all.entry(*configuration).or_default().entry(walked.at).or_default() += players;
            }
        }
        all
    }

    /// Of one server; oldest first, and the present last.
    pub(crate) fn server(&self, walked: &Walked, server: ServerId) -> Vec<ServerSample> {
        let kept = self.lock();
        let past = kept.servers.get(&server).into_iter().flatten().copied();
        let now = walked.servers.iter().find(|(id, _)| *id == server);
        let present = now.map(|(_, load)| ServerSample { at: walked.at, load: *load });
        past.filter(|sample| sample.at < walked.at).chain(present).collect()
    }

    /// How a fleet stands: the newest walk where it is fresh, else another.
    pub(crate) async fn now(&self, fleet: &OpenFleet, now: Timestamp) -> Result<Arc<Walked>, Error> {
        let number = fleet.spec.number;
        let known = self.lock().newest.get(&number).cloned();
        if let Some(known) = known.filter(|known| now.since(known.at) < FRESH) {
            return Ok(known);
        }
        let walked = Arc::new(walk(fleet, |_, _| {}).await?);
        self.lock().newest.insert(number, Arc::clone(&walked));
        Ok(walked)
    }

    /// Looks every minute until told to stop.
    pub(crate) async fn run(
        self,
        fleets: Fleets,
        metrics: Arc<Metrics>,
        clock: Arc<dyn Clock>,
        mut closed: watch::Receiver<bool>,
    ) {
        let mut looks: usize = 0;
        loop {
            let directory = fleets.now();
            for fleet in directory.all() {
                self.look(fleet, &metrics, looks.is_multiple_of(SERVER_EVERY)).await;
            }
            let open = |number: &FleetNumber| directory.number(*number).is_some();
            self.lock().newest.retain(|number, _| open(number));
            tracing::trace!(at = clock.now().unix_ms(), "fleets were looked at");
            looks = looks.wrapping_add(1);
            tokio::select! {
                () = tokio::time::sleep(INTERVAL) => {}
                () = raised(&mut closed) => return,
            }
        }
    }

    async fn look(&self, fleet: &OpenFleet, metrics: &Metrics, servers_too: bool) {
        let number = fleet.spec.number;
        let walked = walk(fleet, |cpu, memory| metrics.used(number, cpu, memory)).await;
        // A shard that does not answer is a minute without a sample.
        let Ok(walked) = walked else { return };
        let mut kept = self.lock();
        for (region, sample) in &walked.regions {
            push(&mut kept.regions, (number, *region), *sample, KEPT, REGIONS_MAX);
        }
        for ((region, configuration), players) in &walked.players {
            let key = (number, *region, *configuration);
            push(&mut kept.players, key, (walked.at, *players), KEPT, CONFIGURATIONS_MAX);
        }
        if servers_too {
            for (server, load) in &walked.servers {
                let sample = ServerSample { at: walked.at, load: *load };
                push(&mut kept.servers, *server, sample, KEPT / SERVER_EVERY, SERVERS_MAX);
            }
        }
        kept.newest.insert(number, Arc::new(walked));
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn push<K: Ord, T>(rings: &mut BTreeMap<K, Ring<T>>, key: K, value: T, kept: usize, rings_max: usize) {
    if rings.len() >= rings_max && !rings.contains_key(&key) {
        return;
    }
    let ring = rings.entry(key).or_default();
    if ring.len() == kept {
        ring.pop_front();
    }
    ring.push_back(value);
}

/// What one turn tells of some servers.
struct Part {
    at: Timestamp,
    seen: Vec<Seen>,
    last: Option<ServerId>,
}

struct Seen {
    server: ServerId,
    region: RegionId,
    configuration: BuildConfigurationId,
    load: Load,
    /// Of its limits.
    shares: (Option<f64>, Option<f64>),
}

/// Walks over a fleet, part by part; `used` hears each running server's shares of its limits.
async fn walk(fleet: &OpenFleet, used: impl Fn(Option<f64>, Option<f64>)) -> Result<Walked, Error> {
    let spec = Arc::clone(&fleet.spec);
    let regions = fleet.read(move |state, now| {
        let region = |region: &mainstay_fleet::RegionSpec| {
            let machines = state.pool(region.id).map_or(0, mainstay_fleet::Pool::machines);
            let counted = Counted::region(state, region.id);
            (region.id, Sample { at: now, counted, machines, load: Load::default() })
        };
        (now, spec.regions.iter().map(region).collect::<BTreeMap<_, _>>())
    });
    let (at, regions) = regions.await?;
    let mut walked = Walked { at, regions, players: BTreeMap::new(), servers: Vec::new() };
    let mut after = None;
    loop {
        let Part { at, seen, last } = fleet.read(move |state, now| part(state, now, after)).await?;
        walked.at = walked.at.max(at);
        for Seen { server, region, configuration, load, shares } in seen {
            if let Some(sample) = walked.regions.get_mut(&region) {
                sample.load += load;
            }
            *walked.players.entry((region, configuration)).or_default() += load.players;
            walked.servers.push((server, load));
            used(shares.0, shares.1);
        }
        match last {
            Some(last) => after = Some(last),
            None => break,
        }
    }
    walked.regions.values_mut().for_each(|sample| sample.at = walked.at);
    Ok(walked)
}

fn part(state: &mainstay_fleet::Fleet, now: Timestamp, after: Option<ServerId>) -> Part {
    let (mut seen, mut last, mut count) = (Vec::new(), None, 0);
    for (id, server) in state.servers(after).take(PART) {
        (last, count) = (Some(id), count + 1);
        let backed_off = match server.seen().map(|seen| &seen.phase) {
            Some(Phase::BackedOff { .. }) => 1,
            Some(
                Phase::Stopped(_)
                | Phase::Starting { .. }
                | Phase::Online { .. }
                | Phase::Stopping { .. }
                | Phase::PreRecovery { .. }
                | Phase::Lost,
            )
            | None => 0,
        };
        let reading = server.reading();
        if reading.is_none() && backed_off == 0 {
            continue;
        }
        let Some(machine) = state.machine(server.machine) else { continue };
        let limits = state.configuration(server.configuration).map(|spec| spec.limits);
        seen.push(Seen {
            server: id,
            region: machine.region,
            configuration: server.configuration.id,
            load: Load { backed_off, ..reading.map(load).unwrap_or_default() },
            shares: reading.zip(limits).map_or((None, None), |(reading, limits)| shares(reading, limits)),
        });
    }
    Part { at: now, seen, last: last.filter(|_| count == PART) }
}

fn load(reading: &Reading) -> Load {
    let (players, capacity) = match reading.heard {
        Heard::Answer { players, players_max } => (players.unwrap_or(0), players_max.unwrap_or(0)),
        Heard::Unasked | Heard::Silence => (0, 0),
    };
    Load {
        players,
        capacity,
        cpu_millis: reading.cpu_millis.unwrap_or(0).into(),
        memory_bytes: reading.memory_bytes.unwrap_or(0),
        backed_off: 0,
    }
}

/// CPU and memory as shares of their limits.
fn shares(reading: &Reading, limits: mainstay_core::slot::Limits) -> (Option<f64>, Option<f64>) {
    const MIB: f64 = 1_048_576.0;
    let cpu = reading.cpu_millis.filter(|_| limits.cpu_millis > 0);
    let cpu = cpu.map(|millis| f64::from(millis) / f64::from(limits.cpu_millis));
    let memory = reading.memory_bytes.filter(|_| limits.memory_mib > 0);
    // A share needs no more digits than a float has.
    let memory = memory.map(|bytes| bytes as f64 / (f64::from(limits.memory_mib) * MIB));
    (cpu, memory)
}
