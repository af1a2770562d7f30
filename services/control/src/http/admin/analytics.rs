//! Series over time (reference 3.9): what happened from the history, how things stood from samples of every minute.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::routing::get;
use axum::{Json, Router};
use jiff::Timestamp as Instant;
use mainstay_core::{RegionId, Timestamp};
use mainstay_journal::history::{About, Happened};
use mainstay_wire::admin::TimeSeries;

use super::super::App;
use super::super::access::Permission;
use super::super::failure::{Failure, Unity};
use super::Area as _;
use super::call::Call;
use crate::samples::Sample;
use crate::shards::{FLEET_PREFIX, OpenFleet};

const FLEETS: &str = "fleets";
const SERVERS: &str = "servers";

/// Into how many steps a period is cut: as many points as a chart has room for.
const STEPS: u32 = 288;

pub(super) fn routes() -> Router<Arc<App>> {
    Router::new()
        .area(FLEETS, "/fleets/analytics/ccu", get(project_ccu))
        .area(FLEETS, "/fleets/analytics/ccustats", get(project_ccu_stats))
        .area(FLEETS, "/fleets/analytics/crashes", get(project_crashes))
        .area(FLEETS, "/fleets/analytics/events", get(project_events))
        .area(FLEETS, "/fleets/{fleet}/ccu", get(fleet_ccu))
        .area(FLEETS, "/fleets/{fleet}/users-per-build-configuration", get(fleet_ccu))
        .area(FLEETS, "/fleets/{fleet}/crashes", get(fleet_crashes))
        .area(FLEETS, "/fleets/{fleet}/events", get(fleet_events))
        .area(FLEETS, "/fleets/{fleet}/server-allocations", get(fleet_allocations))
        .area(FLEETS, "/fleets/{fleet}/server-density", get(fleet_density))
        .area(FLEETS, "/fleets/{fleet}/slots", get(fleet_slots))
        .area(SERVERS, "/servers/{server}/ccu", get(server_samples))
        .area(SERVERS, "/servers/{server}/compute", get(server_samples))
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
}

fn timestamp(at: Instant) -> Timestamp {
    Timestamp::from_unix_ms(u64::try_from(at.as_millisecond()).unwrap_or(0))
}

/// Which kinds of events are crashes.
fn is_crash(kind: &str) -> bool {
    matches!(kind, "server.crashed" | "server.misbehaved" | "server.backedOff" | "server.lost")
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
    call.may(Permission::Read)?;
    let shard = format!("{FLEET_PREFIX}{}", call.fleet()?.spec.number.get());
    Ok(Json(series(&happened(&call, Some(shard), None, period).await?, wanted)))
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

/// A server's own readings are not kept over time: no series.
async fn server_samples(call: Call) -> Result<Json<Vec<TimeSeries>>, Unity> {
    of_server(call, |_kind| false).await
}

/// Samples of a fleet, or of one of its regions.
fn samples(call: &Call) -> Result<(Period, Vec<Sample>), Unity> {
    let period = Period::read(call)?;
    let region: Option<uuid::Uuid> = call.asked_as("regionId", "a UUID")?;
    call.may(Permission::Read)?;
    let OpenFleet { spec, .. } = call.fleet()?;
    let known = call.app.samples.of(spec.number, region.map(RegionId));
    let within = |sample: &Sample| sample.at >= period.from && sample.at <= period.to;
    Ok((period, known.into_iter().filter(within).collect()))
}

fn sampled(samples: &[Sample], name: &str, value: impl Fn(&Sample) -> f64) -> TimeSeries {
    let data = samples.iter().map(|sample| (sample.at.unix_ms(), value(sample))).collect();
    TimeSeries { name: name.to_owned(), data }
}

async fn fleet_slots(call: Call) -> Result<Json<Vec<TimeSeries>>, Unity> {
    let (_, samples) = samples(&call)?;
    Ok(Json(vec![
        sampled(&samples, "total", |it| it.counted.total().into()),
        sampled(&samples, "allocated", |it| it.counted.claimed().into()),
        sampled(&samples, "online", |it| it.counted.online.into()),
        sampled(&samples, "available", |it| it.counted.available.into()),
    ]))
}

/// Servers on each machine, on the average.
async fn fleet_density(call: Call) -> Result<Json<Vec<TimeSeries>>, Unity> {
    let (_, samples) = samples(&call)?;
    let per_machine = |it: &Sample| f64::from(it.counted.total()) / f64::from(it.machines.max(1));
    Ok(Json(vec![sampled(&samples, "serversPerMachine", per_machine)]))
}

/// Players are not sampled yet: no series, rather than one of zeros.
async fn fleet_ccu(call: Call) -> Result<Json<Vec<TimeSeries>>, Unity> {
    let (_, _samples) = samples(&call)?;
    Ok(Json(Vec::new()))
}

async fn project_ccu(call: Call) -> Result<Json<Vec<TimeSeries>>, Unity> {
    let _period = Period::read(&call)?;
    call.may(Permission::Read)?;
    Ok(Json(Vec::new()))
}

async fn project_ccu_stats(call: Call) -> Result<Json<Vec<serde_json::Value>>, Unity> {
    call.may(Permission::Read)?;
    Ok(Json(Vec::new()))
}
