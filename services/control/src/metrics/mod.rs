//! What `/metrics` says: counters fed from the durable tail and by the HTTP faces, and gauges read from the fleets' own
//! counts at each scrape. Labels come from the configuration and small enums, never from ids.

mod counts;
mod follow;
mod gauges;
mod queues;
mod sessions;
mod watch;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use mainstay_core::FleetNumber;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::{encode_eof, encode_registry};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use self::follow::Follow;
pub(crate) use self::gauges::{FleetGauges, Gauges, Whole};
pub(crate) use self::queues::QueueGauges;
pub(crate) use self::sessions::SessionGauges;
use self::watch::Heard;
pub(crate) use self::watch::Watch;

/// The media type of what [`Metrics::encode`] writes.
pub(crate) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
/// What every name begins with.
const PREFIX: &str = "mainstay";

/// The word for what a relay has carried on.
pub(crate) const RELAY_CARRIED: &str = "carried";
/// Where calls' times are told apart, in seconds: from an answer of memory to a client that gave up.
const CALL_SECONDS: [f64; 12] = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 30.0];
/// Where starts' times are told apart, in seconds: a small game, a large world, one that never comes up.
const START_SECONDS: [f64; 10] = [0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 15.0, 60.0, 120.0];
/// Where syncs' times are told apart, in seconds: a good disk, a busy one, one that is failing.
const SYNC_SECONDS: [f64; 10] = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 2.0];
/// Where shares of a limit are told apart: 1 is the limit, 1.1 the tolerance of the CPU check.
const RATIOS: [f64; 10] = [0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0, 1.1, 1.5, 3.0];
/// Where allocations' times are told apart, in seconds: a running server, one that starts, one that waits for a machine.
const ALLOCATION_SECONDS: [f64; 12] = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 15.0, 60.0, 300.0];

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CallLabels {
    route: String,
    method: String,
    code: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RouteLabels {
    route: String,
    method: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ResultLabels {
    fleet: Arc<str>,
    result: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CauseLabels {
    fleet: Arc<str>,
    cause: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ReasonLabels {
    fleet: Arc<str>,
    reason: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ScaleLabels {
    fleet: Arc<str>,
    direction: &'static str,
    reason: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct FleetLabels {
    fleet: Arc<str>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct SdkLabels {
    protocol: &'static str,
    call: &'static str,
    result: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CheckLabels {
    fleet: Arc<str>,
    check: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct AnswerLabels {
    result: &'static str,
}

type Histograms<L> = Family<L, Histogram, fn() -> Histogram>;

/// Everything that is counted as it happens. One a process; it begins at zero with it.
pub struct Metrics {
    registry: Registry,
    calls: Family<CallLabels, Counter>,
    call_seconds: Histograms<RouteLabels>,
    allocation_seconds: Histograms<ResultLabels>,
    allocation_failures: Family<CauseLabels, Counter>,
    orders: Family<CauseLabels, Counter>,
    hold_expiries: Family<ReasonLabels, Counter>,
    scale_decisions: Family<ScaleLabels, Counter>,
    crashes: Family<CauseLabels, Counter>,
    check_failures: Family<CheckLabels, Counter>,
    events: Counter,
    start_seconds: Histograms<ResultLabels>,
    restarts: Family<FleetLabels, Counter>,
    cpu_ratios: Histograms<FleetLabels>,
    memory_ratios: Histograms<FleetLabels>,
    sdk_calls: Family<SdkLabels, Counter>,
    stun_requests: Family<AnswerLabels, Counter>,
    relay_seats: Gauge,
    relay_hails: Family<AnswerLabels, Counter>,
    relay_packets: Family<AnswerLabels, Counter>,
    relay_bytes: Counter,
    sync_seconds: Histogram,
    heard: Mutex<Heard>,
    follow: Mutex<Follow>,
    names: RwLock<BTreeMap<FleetNumber, Arc<str>>>,
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix(PREFIX);
        let calls = Family::default();
        registry.register(
            "http_requests",
            "HTTP calls answered, by route and class of status",
            calls.clone(),
        );
        let call_seconds: Histograms<RouteLabels> =
            Family::new_with_constructor(|| Histogram::new(CALL_SECONDS));
        registry.register(
            "http_request_seconds",
            "How long HTTP calls took, their bodies' last byte not counted",
            call_seconds.clone(),
        );
        let allocation_seconds: Histograms<ResultLabels> =
            Family::new_with_constructor(|| Histogram::new(ALLOCATION_SECONDS));
        registry.register(
            "allocation_seconds",
            "From the asking for an allocation to its server playing, or to its end before that",
            allocation_seconds.clone(),
        );
        let allocation_failures = Family::default();
        registry.register(
            "allocation_failures",
            "Allocations that ended without having been wished to",
            allocation_failures.clone(),
        );
        let orders = Family::default();
        registry.register("server_orders", "Orders given to servers, by why they were", orders.clone());
        let hold_expiries = Family::default();
        registry.register("hold_expiries", "Holds that ended, by why they did", hold_expiries.clone());
        let scale_decisions = Family::default();
        registry.register(
            "fleet_scale_decisions",
            "Machines that a fleet asked for, woke, emptied or gave back, by why",
            scale_decisions.clone(),
        );
        let crashes = Family::default();
        registry.register("server_crashes", "Processes that ended as nobody wished", crashes.clone());
        let check_failures = Family::default();
        registry.register(
            "server_check_failures",
            "Servers ended for failing a check too often",
            check_failures.clone(),
        );
        let events = Counter::default();
        registry.register(
            "event_log_events",
            "Events of all shards followed on the durable tail",
            events.clone(),
        );
        let start_seconds: Histograms<ResultLabels> =
            Family::new_with_constructor(|| Histogram::new(START_SECONDS));
        registry.register(
            "server_start_seconds",
            "From the first word of a start to its server online, or to the end of the attempt",
            start_seconds.clone(),
        );
        let restarts = Family::default();
        registry.register(
            "server_restarts",
            "Processes that agents started again by themselves",
            restarts.clone(),
        );
        let cpu_ratios: Histograms<FleetLabels> = Family::new_with_constructor(|| Histogram::new(RATIOS));
        registry.register(
            "server_cpu_ratio",
            "CPU of running servers as a share of their limits, at a look each minute",
            cpu_ratios.clone(),
        );
        let memory_ratios: Histograms<FleetLabels> = Family::new_with_constructor(|| Histogram::new(RATIOS));
        registry.register(
            "server_memory_ratio",
            "Memory of running servers as a share of their limits, at a look each minute",
            memory_ratios.clone(),
        );
        let sdk_calls = Family::default();
        registry.register("sdk_calls", "What games asked of the control plane", sdk_calls.clone());
        let stun_requests = Family::default();
        registry.register(
            "stun_requests",
            "Datagrams that the STUN responder was sent, by what became of them",
            stun_requests.clone(),
        );
        let relay_seats = Gauge::default();
        registry.register(
            "relay_seats",
            "Members of sessions that the relay carries for",
            relay_seats.clone(),
        );
        let relay_hails = Family::default();
        registry.register(
            "relay_hails",
            "Members that made themselves known to the relay, by what became of it",
            relay_hails.clone(),
        );
        let relay_packets = Family::default();
        registry.register(
            "relay_packets",
            "What the relay was given to carry, by what became of it",
            relay_packets.clone(),
        );
        let relay_bytes = Counter::default();
        registry.register(
            "relay_bytes",
            "What the relay has carried, without its own heads",
            relay_bytes.clone(),
        );
        let sync_seconds = Histogram::new(SYNC_SECONDS);
        registry.register(
            "event_log_fsync_seconds",
            "How long batches took to become durable",
            sync_seconds.clone(),
        );
        Self {
            registry,
            calls,
            call_seconds,
            allocation_seconds,
            allocation_failures,
            orders,
            hold_expiries,
            scale_decisions,
            crashes,
            check_failures,
            events,
            start_seconds,
            restarts,
            cpu_ratios,
            memory_ratios,
            sdk_calls,
            stun_requests,
            relay_seats,
            relay_hails,
            relay_packets,
            relay_bytes,
            sync_seconds,
            heard: Mutex::default(),
            follow: Mutex::default(),
            names: RwLock::default(),
        }
    }
}

impl Metrics {
    /// Somebody asked the STUN responder.
    pub(crate) fn stun_asked(&self, result: &'static str) {
        self.stun_requests.get_or_create(&AnswerLabels { result }).inc();
    }

    /// How many members the relay carries for.
    pub(crate) fn relay_seats(&self, seats: usize) {
        self.relay_seats.set(i64::try_from(seats).unwrap_or(i64::MAX));
    }

    /// A member made itself known to the relay.
    pub(crate) fn relay_hailed(&self, result: &'static str) {
        self.relay_hails.get_or_create(&AnswerLabels { result }).inc();
    }

    /// The relay was given a packet of so many bytes.
    pub(crate) fn relay_carried(&self, result: &'static str, bytes: usize) {
        self.relay_packets.get_or_create(&AnswerLabels { result }).inc();
        if result == RELAY_CARRIED {
            self.relay_bytes.inc_by(u64::try_from(bytes).unwrap_or(u64::MAX));
        }
    }

    /// A call was answered. A method that no call here has is `other`: whoever may knock could else make up as many names as it likes.
    pub(crate) fn called(&self, route: &str, method: &str, status: u16, took: Duration) {
        let code = match status {
            100..=199 => "1xx",
            200..=299 => "2xx",
            300..=399 => "3xx",
            400..=499 => "4xx",
            _ => "5xx",
        };
        let (route, method) = (route.to_owned(), known(method).to_owned());
        self.calls.get_or_create(&CallLabels { route: route.clone(), method: method.clone(), code }).inc();
        self.call_seconds.get_or_create(&RouteLabels { route, method }).observe(took.as_secs_f64());
    }

    /// A batch became durable.
    pub(crate) fn synced(&self, took: Duration) {
        self.sync_seconds.observe(took.as_secs_f64());
    }

    /// A game asked for something, and was answered.
    pub(crate) fn asked(&self, call: &'static str, result: &'static str) {
        self.sdk_calls.get_or_create(&SdkLabels { protocol: "multiplay", call, result }).inc();
    }

    /// What a running server uses of its limits.
    pub(crate) fn used(&self, fleet: FleetNumber, cpu: Option<f64>, memory: Option<f64>) {
        let labels = FleetLabels { fleet: self.fleet(fleet) };
        if let Some(cpu) = cpu {
            self.cpu_ratios.get_or_create(&labels).observe(cpu);
        }
        if let Some(memory) = memory {
            self.memory_ratios.get_or_create(&labels).observe(memory);
        }
    }

    /// A fleet's name, for what its journal says.
    pub(crate) fn name(&self, fleet: FleetNumber, name: &Arc<str>) {
        let mut names = self.names.write().unwrap_or_else(PoisonError::into_inner);
        if names.get(&fleet) != Some(name) {
            names.insert(fleet, Arc::clone(name));
            self.begin(name);
        }
    }

    fn fleet(&self, number: FleetNumber) -> Arc<str> {
        let names = self.names.read().unwrap_or_else(PoisonError::into_inner);
        names.get(&number).cloned().unwrap_or_else(|| "".into())
    }

    /// Everything, as OpenMetrics text: what was counted, and the gauges of this moment.
    ///
    /// # Errors
    /// Where a metric cannot be written, which is our bug.
    pub(crate) fn encode(&self, gauges: &Gauges) -> Result<String, fmt::Error> {
        let mut text = String::new();
        encode_registry(&mut text, &self.registry)?;
        gauges.encode(&mut text)?;
        encode_eof(&mut text)?;
        Ok(text)
    }
}

/// A method as it is counted.
fn known(method: &str) -> &'static str {
    const KNOWN: [&str; 7] = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"];
    KNOWN.into_iter().find(|known| *known == method).unwrap_or("other")
}

#[cfg(test)]
mod tests;
