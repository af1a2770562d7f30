//! The page of metrics against what is served.

use std::collections::{BTreeMap, BTreeSet};

use mainstay_core::{MachineId, RegionId, Timestamp};
use mainstay_fleet::{End, Fleet, FleetSpec, Hosting, IdleServers, Losers, RegionOpening, RegionSpec};
use uuid::Uuid;

use super::*;
use crate::samples::Load;

const PAGE: &str = include_str!("../../../../docs/reference/metrics.md");
const ALERTS: &str = include_str!("../../../../deploy/prometheus/mainstay.rules.yaml");

/// Type and labels.
type Shape = (String, BTreeSet<String>);

/// What the page says, by name.
fn told() -> BTreeMap<String, Shape> {
    let row = |line: &str| {
        let cells: Vec<&str> = line.strip_prefix("| `")?.split('|').map(str::trim).collect();
        let [name, kind, labels, ..] = cells.as_slice() else { return None };
        let labels = labels.split(',').map(|label| label.trim().trim_matches('`').to_owned());
        let labels = labels.filter(|label| !label.is_empty()).collect();
        Some((name.trim_matches('`').to_owned(), ((*kind).to_owned(), labels)))
    };
    PAGE.lines().filter_map(row).collect()
}

/// What OpenMetrics text says, by name; counters as their samples are called.
fn served(text: &str) -> BTreeMap<String, Shape> {
    let mut all: BTreeMap<String, Shape> = BTreeMap::new();
    for line in text.lines().filter_map(|line| line.strip_prefix("# TYPE ")) {
        let (name, kind) = line.split_once(' ').unwrap();
        let name = if kind == "counter" { format!("{name}_total") } else { name.to_owned() };
        let sample = text.lines().find(|line| {
            line.strip_prefix(&name)
                .is_some_and(|rest| rest.starts_with(['{', ' ']) || rest.starts_with("_count"))
        });
        let labels =
            sample.and_then(|sample| sample.split_once('{')).map(|(_, rest)| rest.split_once('}').unwrap().0);
        let labels = labels.into_iter().flat_map(|labels| labels.split(','));
        let labels = labels.filter_map(|label| Some(label.split_once('=')?.0.to_owned())).collect();
        all.insert(name, (kind.to_owned(), labels));
    }
    all
}

fn spec(number: FleetNumber) -> FleetSpec {
    FleetSpec {
        number,
        id: mainstay_core::FleetId::LOWEST,
        name: "arena".into(),
        revision: 1,
        idle_servers: IdleServers::StartOnAllocation,
        regions: vec![RegionSpec {
            id: RegionId::LOWEST,
            name: "local".into(),
            aliases: vec![],
            min_available: 0,
            max_servers: 1,
            opening: RegionOpening::Online,
            growth: mainstay_fleet::Growth::Fixed,
            ttl: None,
        }],
        configurations: Vec::new(),
        placement_timeout: Duration::from_secs(1),
        retention: Duration::from_secs(1),
        hosting: Hosting::default(),
        floors: Vec::new(),
    }
}

/// A queue that has formed one match, which was given a server.
fn queue() -> QueueGauges {
    use mainstay_core::{MatchId, StateMachine as _, TicketId, Timestamp};
    use mainstay_matchmaking::spec::{
        Attribute, Declared, Expansion, Gather, Merge, Missing, QueueSpec, Rule, RuleKind, ServerAllocation,
        Source, Visibility, Weight,
    };
    use mainstay_matchmaking::{
        Amount, Attributes, Entity, Event, Member, Observation, Queue, ServerDetails, Value,
    };

    let skill = RuleKind::Difference {
        attribute: Attribute { source: Source::User, path: "skill".into() },
        weight: Weight::DEFAULT,
        missing: Missing::MatchAny,
        merge: Merge::Average,
        allowed: Expansion::Fixed(Amount::ONE),
    };
    let allocation =
        ServerAllocation { fleet: "arena".into(), build_configuration: "plain".into(), build: None };
    let spec = QueueSpec::new(Declared {
        name: "ranked".into(),
        min_match_size: 2,
        max_match_size: 2,
        max_ticket_size: None,
        teams: Vec::new(),
        rules: vec![Rule { name: "skill".into(), optional_after: None, kind: skill }],
        regions: Vec::new(),
        visibility: Visibility::default(),
        venue: Some(mainstay_matchmaking::spec::Venue::Server(allocation)),
        gather: Gather::NONE,
        unread: mainstay_matchmaking::spec::Unread::default(),
    })
    .unwrap();
    let member = |name: &str| Member {
        entity: Entity::new(Entity::PLAYER, name).unwrap(),
        attributes: Attributes { raw: None, values: [Some(Value::Number(Amount::ONE))].into() },
    };
    let (ticket, hold) = (TicketId(Uuid::from_u128(1)), MatchId(Uuid::from_u128(2)));
    let mut queue = Queue::new(0);
    queue.observe(Timestamp::EPOCH, Observation::Open);
    for event in [
        Event::Configured { spec: Arc::new(spec), form: 1 },
        Event::TicketCreated {
            ticket,
            creator: member("alice").entity,
            members: [member("alice"), member("bob")].into(),
            invited: [].into(),
            give_up_after: 60,
        },
        Event::MatchHeld { id: hold, tickets: [(ticket, None)].into(), regions: [].into() },
        Event::MatchPlaced { hold, server: Arc::new(ServerDetails::default()) },
    ] {
        queue.apply(Timestamp::EPOCH, &event);
    }
    // A configuration takes the engine away.
    queue.observe(Timestamp::EPOCH, Observation::Open);
    QueueGauges {
        name: "ranked".into(),
        now: Timestamp::EPOCH,
        gauges: queue.gauges(),
        passes: crate::queues::Passes::new(),
    }
}

/// Each row of the page is served with its type and labels, and nothing is served that has no row.
#[test]
fn the_page_of_metrics_is_what_is_served() {
    let metrics = Arc::new(Metrics::default());
    let number = FleetNumber::new(1).unwrap();
    let fleet = metrics.fleet(number);
    // One of each, so that each shows its labels.
    metrics.called("/metrics", "GET", 200, Duration::ZERO);
    metrics.asked("hold", "done");
    metrics.stun_asked("answered");
    metrics.relay_hailed("heard");
    metrics.relay_carried("carried", 1);
    metrics.used(number, Some(0.5), Some(0.5));
    metrics.synced(Duration::ZERO);
    metrics.timed(number, "fulfilled", mainstay_core::Timestamp::EPOCH, mainstay_core::Timestamp::EPOCH);
    let cause = CauseLabels { fleet: Arc::clone(&fleet), cause: "exit" };
    metrics.crashes.get_or_create(&cause).inc();
    metrics.orders.get_or_create(&cause).inc();
    metrics.allocation_failures.get_or_create(&cause).inc();
    let reason = ReasonLabels { fleet: Arc::clone(&fleet), reason: "released" };
    metrics.hold_expiries.get_or_create(&reason).inc();
    metrics.scaled(number, "up", "requested");
    let check = CheckLabels { fleet: Arc::clone(&fleet), check: "cpu" };
    metrics.check_failures.get_or_create(&check).inc();
    metrics.restarts.get_or_create(&FleetLabels { fleet: Arc::clone(&fleet) }).inc();
    let result = ResultLabels { fleet, result: "online" };
    metrics.start_seconds.get_or_create(&result).observe(1.0);
    let mut watch = Watch::new(Arc::clone(&metrics));
    watch.joined(MachineId::of(number, 1), "local", Duration::ZERO);
    let gauges = FleetGauges::of(&spec(number), &Fleet::new(0), Load::default(), BTreeMap::new());
    let whole = Whole { silences: metrics.silences(Duration::ZERO), events: 1 };
    let text = metrics
        .encode(&Gauges::new(
            vec![gauges],
            vec![queue()],
            Some(SessionGauges::of(&mainstay_lobby::Lobby::default(), Timestamp::EPOCH)),
            whole,
        ))
        .unwrap();
    assert_eq!(served(&text), told(), "docs/reference/metrics.md on the right, in\n{text}");
}

/// Every row of matchmaking in the design's list.
#[test]
fn the_page_has_every_row_of_matchmaking() {
    let rows = told();
    for name in [
        "queue_tickets",
        "queue_players",
        "queue_oldest_ticket_seconds",
        "time_to_match_seconds",
        "matches_total",
        "match_players",
        "match_spread",
        "ticket_endings_total",
        "matcher_pass_seconds",
        "rule_evaluations_total",
        "backfill_filled_places_total",
        "time_to_play_seconds",
    ] {
        assert!(rows.contains_key(&format!("mainstay_{name}")), "{name}");
    }
}

/// Those rows of sessions in the design's list that a lobby can tell; the others are the peers'.
#[test]
fn the_page_has_the_lobbys_rows() {
    let rows = told();
    for name in ["sessions", "migrations_total", "migration_seconds"] {
        assert!(rows.contains_key(&format!("mainstay_{name}")), "{name}");
    }
}

/// Every row of hosting in the design's list of metrics is on the page; what it calls by one name with several endings has a
/// row for each.
#[test]
fn the_page_has_every_row_of_hosting() {
    let rows = told();
    for name in [
        "build_info",
        "servers",
        "server_state_transitions_total",
        "server_state_duration_seconds",
        "server_start_seconds",
        "server_crashes_total",
        "server_restarts_total",
        "server_backoffs",
        "server_check_failures_total",
        "server_cpu_ratio",
        "server_memory_ratio",
        "slots",
        "machines",
        "machine_servers",
        "machine_heartbeat_age_seconds_max",
        "fleet_min_available",
        "fleet_max_servers",
        "fleet_free_servers",
        "fleet_unmet_servers",
        "fleet_scale_decisions_total",
        "holds",
        "hold_expiries_total",
        "reservations",
        "allocation_seconds",
        "allocation_failures_total",
        "players_connected",
        "player_capacity",
        "sdk_calls_total",
        "http_requests_total",
        "http_request_seconds",
        "event_log_seq",
        "event_log_fsync_seconds",
    ] {
        assert!(rows.contains_key(&format!("mainstay_{name}")), "{name}");
    }
    assert!(rows.keys().any(|name| name.starts_with("process_")));
}

/// Decisions to grow and to shrink, by what the journal says of machines; and machines in each of their states.
#[test]
fn growth_and_machines_are_counted_by_what_became_of_them() {
    use mainstay_core::{MachineKey, StateMachine as _, Timestamp};
    use mainstay_fleet::{Event, Observation, Parting, StreamId};

    let number = FleetNumber::new(1).unwrap();
    let (metrics, mut fleet) = (Metrics::default(), Fleet::new(0));
    let machine = |n| MachineId::of(number, n);
    let requested = |n: u32| Event::MachineRequested {
        machine: machine(n),
        key: MachineKey(uuid::Uuid::from_u128(n.into())),
        region: RegionId::LOWEST,
        slots: 2,
        until: Timestamp::from_unix_ms(60_000),
    };
    let came = |n| Event::MachineCame { machine: machine(n) };
    let mut story = vec![Event::Configured(Arc::new(spec(number)))];
    story.extend((1..=7).map(requested));
    story.extend((2..=7).map(came));
    story.extend([
        Event::MachineDraining { machine: machine(4) },
        Event::MachineDraining { machine: machine(5) },
        Event::MachineEmptied { machine: machine(5) },
        Event::MachineLost { machine: machine(6) },
        Event::MachineParting { machine: machine(7), why: Parting::Idle },
    ]);
    for event in &story {
        fleet.apply(Timestamp::from_unix_ms(1), event);
        metrics.count(number, Timestamp::from_unix_ms(1), event);
    }
    fleet.observe(
        Timestamp::from_unix_ms(2),
        Observation::Connected { machine: machine(2), stream: StreamId(1) },
    );
    let gauges = FleetGauges::of(&spec(number), &fleet, Load::default(), BTreeMap::new());
    let text = metrics.encode(&Gauges::new(vec![gauges], Vec::new(), None, Whole::default())).unwrap();
    for state in ["requested", "ready", "away", "draining", "emptied", "lost", "removing"] {
        let line = format!("mainstay_machines{{region=\"local\",state=\"{state}\"}} 1\n");
        assert!(text.contains(&line), "{line} in\n{text}");
    }
    for (direction, reason, count) in [("up", "requested", 7), ("down", "drained", 2), ("down", "idle", 1)] {
        let line = format!(
            "mainstay_fleet_scale_decisions_total{{fleet=\"arena\",direction=\"{direction}\",reason=\"{reason}\"}} {count}\n"
        );
        assert!(text.contains(&line), "{line} in\n{text}");
    }
}

/// Whoever may knock could else fill the memory, and the page, with methods of its own.
#[test]
fn methods_that_nobody_knows_are_one() {
    let metrics = Metrics::default();
    for method in ["GET", "AAAA1", "AAAA2", "get"] {
        metrics.called("/x", method, 404, Duration::ZERO);
    }
    let mut text = String::new();
    encode_registry(&mut text, &metrics.registry).unwrap();
    let methods: BTreeSet<&str> =
        text.split("method=\"").skip(1).map(|rest| rest.split_once('"').unwrap().0).collect();
    assert_eq!(methods, BTreeSet::from(["GET", "other"]));
}

/// Every way for an allocation to end.
fn ends() -> [End; 10] {
    let losers = Losers { servers: 0, allocated: 0, silent: 0, unreported: 0 };
    [
        End::Deallocated,
        End::Completed,
        End::PlacementTimedOut(losers),
        End::BackedOff { crashes: 1, cause: "".into() },
        End::Lost,
        End::PreRecovery { cause: "".into() },
        End::Idle { ttl: Duration::ZERO },
        End::Aged { ttl: Duration::ZERO },
        End::RolledOut,
        End::MachineLost,
    ]
}

/// The alert on allocations that fail leaves out what somebody wished, and nothing else.
#[test]
fn what_the_alert_calls_a_failure_is_one() {
    let (_, rest) = ALERTS.split_once("mainstay_allocation_seconds_count{result!~\"").unwrap();
    let (left_out, _) = rest.split_once('"').unwrap();
    let wished = ends().into_iter().filter(|end| !end.failed()).map(|end| follow::cause(&end));
    assert_eq!(left_out.split('|').collect::<BTreeSet<_>>(), wished.chain(["fulfilled"]).collect());
}

/// Else their first failure is no increase.
#[test]
fn failures_of_a_fleet_are_counted_from_zero_on() {
    let (metrics, number) = (Metrics::default(), FleetNumber::new(1).unwrap());
    let encoded = || {
        let mut text = String::new();
        encode_registry(&mut text, &metrics.registry).unwrap();
        text
    };
    assert!(!encoded().contains("fleet="));
    metrics.name(number, &"arena".into());
    let text = encoded();
    let failed =
        ends().into_iter().filter(End::failed).map(|end| ("allocation_failures", follow::cause(&end)));
    let crashes =
        ["exit", "signal", "misbehaviour", "notStarted", "unknown"].map(|cause| ("server_crashes", cause));
    for (name, cause) in failed.chain(crashes) {
        let line = format!("mainstay_{name}_total{{fleet=\"arena\",cause=\"{cause}\"}} 0\n");
        assert!(text.contains(&line), "{line} in\n{text}");
    }
}
