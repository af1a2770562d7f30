//! Series over time (reference 3.9): what happened from the history, how things stood from samples of every minute.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::routing::get;
use axum::{Json, Router};
use jiff::Timestamp as Instant;
use mainstay_core::{RegionId, Timestamp};
use mainstay_fleet::FleetSpec;
use mainstay_journal::history::{About, Happened};
use mainstay_wire::admin::TimeSeries;

use super::super::App;
use super::super::access::Permission;
use super::super::failure::{Failure, Unity};
use super::Area as _;
use super::call::Call;
use crate::samples::{Load, Sample, ServerSample};
use crate::shards::FLEET_PREFIX;

const FLEETS: &str = "fleets";
const SERVERS: &str = "servers";

/// Into how many steps a period is cut: as many points as a chart has room for.
const STEPS: u32 = 288;

/// What passes between the asking and the look.
const PRESENT: Duration = Duration::from_secs(30);

pub(super) fn routes() -> Router<Arc<App>> {
    Router::new()
        .area(FLEETS, "/fleets/analytics/ccu", get(project_ccu))
        .area(FLEETS, "/fleets/analytics/ccustats", get(project_ccu_stats))
        .area(FLEETS, "/fleets/analytics/crashes", get(project_crashes))
        .area(FLEETS, "/fleets/analytics/events", get(project_events))
        .area(FLEETS, "/fleets/{fleet}/ccu", get(fleet_ccu))
        .area(FLEETS, "/fleets/{fleet}/users-per-build-configuration", get(fleet_users))
        .area(FLEETS, "/fleets/{fleet}/crashes", get(fleet_crashes))
        .area(FLEETS, "/fleets/{fleet}/events", get(fleet_events))
        .area(FLEETS, "/fleets/{fleet}/server-allocations", get(fleet_allocations))
        .area(FLEETS, "/fleets/{fleet}/server-density", get(fleet_density))
        .area(FLEETS, "/fleets/{fleet}/slots", get(fleet_slots))
        .area(SERVERS, "/servers/{server}/ccu", get(server_ccu))
        .area(SERVERS, "/servers/{server}/compute", get(server_compute))
        .area(SERVERS, "/servers/{server}/crashes", get(server_crashes))
        .area(SERVERS, "/servers/{server}/events", get(server_events))
}

/// From when to when, and how finely.
#[derive(Debug, Clone, Copy)]
struct Period {
    from: Timestamp,
    to: Timestamp,
    step: Duration,
}

impl Period {
    /// `period` (hour, day, week or month; a day unasked) back from `end` (now unasked), or from `start`.
    fn read(call: &Call) -> Result<Self, Unity> {
        let now = call.app.now();
        let time = "a time such as 2026-11-20T12:00:00Z";
        let at = |name| Ok::<_, Unity>(call.asked_as::<Instant>(name, time)?.map(timestamp));
        let (start, to) = (at("start")?, at("end")?.unwrap_or(now));
        let hours = match call.asked("period").unwrap_or("day").to_lowercase().as_str() {
            "hour" => 1,
            "day" => 24,
            "week" => 7 * 24,
            "month" => 30 * 24,
            other => {
                let detail = format!("`period` is `{other}`, and should be hour, day, week or month");
                return Err(Unity::bad_query(&detail));
            }
        };
        let from = start.unwrap_or_else(|| to.back(Duration::from_secs(hours * 3_600)));
        if from >= to {
            return Err(Unity::bad_query("`start` is not before `end`"));
        }
        Ok(Self { from, to, step: to.since(from) / STEPS })
    }

    /// The present belongs to a period that ends now, although it is a moment later.
    fn holds(&self, at: Timestamp) -> bool {
        at >= self.from && at <= self.to + PRESENT
    }
}

fn timestamp(at: Instant) -> Timestamp {
    Timestamp::from_unix_ms(u64::try_from(at.as_millisecond()).unwrap_or(0))
}

/// Which kinds of events are crashes.
fn is_crash(kind: &str) -> bool {
    matches!(kind, "server.crashed" | "server.misbehaved")
}

fn is_any(_kind: &str) -> bool {
    true
}

fn is_allocation(kind: &str) -> bool {
    kind == "allocation.placed"
}

/// One series a kind of event.
fn series(happened: &[Happened], wanted: fn(&str) -> bool) -> Vec<TimeSeries> {
    let mut all: BTreeMap<&str, BTreeMap<u64, f64>> = BTreeMap::new();
    for step in happened.iter().filter(|step| wanted(&step.kind)) {
        let count = f64::from(u32::try_from(step.count).unwrap_or(u32::MAX));
        *all.entry(&step.kind).or_default().entry(step.at.unix_ms()).or_default() += count;
    }
    let one = |(name, data): (&str, BTreeMap<u64, f64>)| TimeSeries {
        name: name.to_owned(),
        data: data.into_iter().collect(),
    };
    all.into_iter().map(one).collect()
}

async fn happened(
    call: &Call,
    shard: Option<String>,
    subject: Option<String>,
    period: Period,
) -> Result<Vec<Happened>, Unity> {
    let read = call.app.told.read(move |history| {
        let about = match (&shard, &subject) {
            (_, Some(subject)) => About::Subject(subject),
            (Some(shard), None) => About::Shard(shard),
            (None, None) => About::Everything,
        };
        history.count(about, period.from, period.to, period.step)
    });
    Ok(read.await?)
}

async fn of_project(call: Call, wanted: fn(&str) -> bool) -> Result<Json<Vec<TimeSeries>>, Unity> {
    let period = Period::read(&call)?;
    call.may(Permission::Read)?;
    Ok(Json(series(&happened(&call, None, None, period).await?, wanted)))
}

async fn project_crashes(call: Call) -> Result<Json<Vec<TimeSeries>>, Unity> {
    of_project(call, is_crash).await
}

async fn project_events(call: Call) -> Result<Json<Vec<TimeSeries>>, Unity> {
    of_project(call, is_any).await
}

async fn of_fleet(call: Call, wanted: fn(&str) -> bool) -> Result<Json<Vec<TimeSeries>>, Unity> {
    let period = Period::read(&call)?;
    let region: Option<uuid::Uuid> = call.asked_as("regionId", "a UUID")?;
    call.may(Permission::Read)?;
    let fleet = call.fleet()?;
    if let Some(region) = region {
        whole_fleet(&fleet.spec, RegionId(region))?;
    }
    let shard = format!("{FLEET_PREFIX}{}", fleet.spec.number.get());
    Ok(Json(series(&happened(&call, Some(shard), None, period).await?, wanted)))
}

/// What happens is kept of a fleet, not of its regions: of one in several, a region's part is not known.
fn whole_fleet(spec: &FleetSpec, region: RegionId) -> Result<(), Unity> {
    let detail = match (spec.region(region), spec.regions.len()) {
        (Some(_), 1) => return Ok(()),
        (Some(region), regions) => format!(
            "`regionId` is {}, and what happened in this fleet's {regions} regions is not told apart",
            region.name
        ),
        (None, _) => format!("`regionId` is {region}, a region that this fleet is not in"),
    };
    Err(Unity::bad_query(&detail))
}

async fn fleet_crashes(call: Call) -> Result<Json<Vec<TimeSeries>>, Unity> {
    of_fleet(call, is_crash).await
}

async fn fleet_events(call: Call) -> Result<Json<Vec<TimeSeries>>, Unity> {
    of_fleet(call, is_any).await
}

async fn fleet_allocations(call: Call) -> Result<Json<Vec<TimeSeries>>, Unity> {
    of_fleet(call, is_allocation).await
}

async fn of_server(call: Call, wanted: fn(&str) -> bool) -> Result<Json<Vec<TimeSeries>>, Unity> {
    let period = Period::read(&call)?;
    call.may(Permission::Read)?;
    let (id, fleet) = call.server()?;
    if !fleet.read(move |state, _| state.server(id).is_some()).await? {
        return Err(Failure::no_server(call.path("server")).into());
    }
    Ok(Json(series(&happened(&call, None, Some(id.to_string()), period).await?, wanted)))
}

async fn server_crashes(call: Call) -> Result<Json<Vec<TimeSeries>>, Unity> {
    of_server(call, is_crash).await
}

async fn server_events(call: Call) -> Result<Json<Vec<TimeSeries>>, Unity> {
    of_server(call, is_any).await
}

/// What was read of a server, over time: none where nothing was.
async fn server_samples(call: &Call) -> Result<Vec<ServerSample>, Unity> {
    let period = Period::read(call)?;
    call.may(Permission::Read)?;
    let (id, fleet) = call.server()?;
    if !fleet.read(move |state, _| state.server(id).is_some()).await? {
        return Err(Failure::no_server(call.path("server")).into());
    }
    let walked = call.app.samples.now(&fleet, call.app.now()).await?;
    let known = call.app.samples.server(&walked, id);
    Ok(known.into_iter().filter(|sample| period.holds(sample.at)).collect())
}

fn of_samples(samples: &[ServerSample], name: &str, value: impl Fn(&Load) -> f64) -> TimeSeries {
    let data = samples.iter().map(|sample| (sample.at.unix_ms(), value(&sample.load))).collect();
    TimeSeries { name: name.to_owned(), data }
}

/// Players on a server, as its query told.
async fn server_ccu(call: Call) -> Result<Json<Vec<TimeSeries>>, Unity> {
    let samples = server_samples(&call).await?;
    Ok(Json(vec![of_samples(&samples, "ccu", |load| load.players.into())]))
}

/// What a server uses: `cpu` in cores, `memory` in bytes.
async fn server_compute(call: Call) -> Result<Json<Vec<TimeSeries>>, Unity> {
    let samples = server_samples(&call).await?;
    Ok(Json(vec![
        of_samples(&samples, "cpu", |load| load.cpu_millis as f64 / 1_000.0),
        of_samples(&samples, "memory", |load| load.memory_bytes as f64),
    ]))
}

/// Samples of a fleet, or of one of its regions.
async fn samples(call: &Call) -> Result<Vec<Sample>, Unity> {
    let period = Period::read(call)?;
    let region: Option<uuid::Uuid> = call.asked_as("regionId", "a UUID")?;
    call.may(Permission::Read)?;
    let fleet = call.fleet()?;
    let walked = call.app.samples.now(&fleet, call.app.now()).await?;
    let known = call.app.samples.of(&walked, fleet.spec.number, region.map(RegionId));
    Ok(known.into_iter().filter(|sample| period.holds(sample.at)).collect())
}

fn sampled(samples: &[Sample], name: &str, value: impl Fn(&Sample) -> f64) -> TimeSeries {
    let data = samples.iter().map(|sample| (sample.at.unix_ms(), value(sample))).collect();
    TimeSeries { name: name.to_owned(), data }
}

async fn fleet_slots(call: Call) -> Result<Json<Vec<TimeSeries>>, Unity> {
    let samples = samples(&call).await?;
    Ok(Json(vec![
        sampled(&samples, "total", |it| it.counted.total().into()),
        sampled(&samples, "allocated", |it| it.counted.claimed().into()),
        sampled(&samples, "online", |it| it.counted.online.into()),
        sampled(&samples, "available", |it| it.counted.available.into()),
    ]))
}

/// Servers on each machine, on the average.
async fn fleet_density(call: Call) -> Result<Json<Vec<TimeSeries>>, Unity> {
    let samples = samples(&call).await?;
    let per_machine = |it: &Sample| f64::from(it.counted.total()) / f64::from(it.machines.max(1));
    Ok(Json(vec![sampled(&samples, "serversPerMachine", per_machine)]))
}

/// Players, as queries told; a server whose query tells none has none.
async fn fleet_ccu(call: Call) -> Result<Json<Vec<TimeSeries>>, Unity> {
    let samples = samples(&call).await?;
    Ok(Json(vec![sampled(&samples, "ccu", |it| it.load.players.into())]))
}

/// Players by build configuration, each by its name.
async fn fleet_users(call: Call) -> Result<Json<Vec<TimeSeries>>, Unity> {
    let period = Period::read(&call)?;
    let region: Option<uuid::Uuid> = call.asked_as("regionId", "a UUID")?;
    call.may(Permission::Read)?;
    let fleet = call.fleet()?;
    let walked = call.app.samples.now(&fleet, call.app.now()).await?;
    let known = call.app.samples.players(&walked, fleet.spec.number, region.map(RegionId));
    let series = known.into_iter().map(|(id, players)| {
        let name = fleet.spec.configuration(id).map(|spec| spec.name.to_string());
        let within = players.into_iter().filter(|(at, _)| period.holds(*at));
        let data = within.map(|(at, players)| (at.unix_ms(), players.into())).collect();
        TimeSeries { name: name.unwrap_or_else(|| id.number().to_string()), data }
    });
    Ok(Json(series.collect()))
}

/// Players of all fleets together. Each fleet is looked at at its own moment, so they are added up by the minute.
async fn project_players(call: &Call) -> Result<BTreeMap<u64, f64>, Unity> {
    const MINUTE_MS: u64 = 60_000;
    let period = Period::read(call)?;
    call.may(Permission::Read)?;
    let mut sums: BTreeMap<u64, f64> = BTreeMap::new();
    for fleet in call.app.fleets.now().all() {
        let walked = call.app.samples.now(fleet, call.app.now()).await?;
        let known = call.app.samples.of(&walked, fleet.spec.number, None);
        let by_minute: BTreeMap<u64, f64> = known
            .iter()
            .filter(|sample| period.holds(sample.at))
            .map(|sample| (sample.at.unix_ms() / MINUTE_MS * MINUTE_MS, sample.load.players.into()))
            .collect();
        for (at, players) in by_minute {
            *sums.entry(at).or_default() += players;
        }
    }
    Ok(sums)
}

async fn project_ccu(call: Call) -> Result<Json<Vec<TimeSeries>>, Unity> {
    let data = project_players(&call).await?.into_iter().collect();
    Ok(Json(vec![TimeSeries { name: "ccu".to_owned(), data }]))
}

/// The last, the highest and the average of the period, each as a series of one value; none where nothing was sampled.
async fn project_ccu_stats(call: Call) -> Result<Json<Vec<TimeSeries>>, Unity> {
    let sums = project_players(&call).await?;
    let Some((&at, &current)) = sums.last_key_value() else { return Ok(Json(Vec::new())) };
    let peak = sums.values().copied().fold(0.0, f64::max);
    let average = sums.values().sum::<f64>() / sums.len() as f64;
    let one = |name: &str, value| TimeSeries { name: name.to_owned(), data: vec![(at, value)] };
    Ok(Json(vec![one("current", current), one("peak", peak), one("average", average)]))
}
