//! The wall clock of the control plane's host is set, by a day, in either direction, while holds, TTLs and silences run.

use std::sync::Arc;
use std::time::Duration;

use mainstay_core::{AllocationId, Generation, StateMachine as _, Timestamp, Turn};
use mainstay_fleet::catalog::{Catalog, CatalogCommand, Edit};
use mainstay_fleet::{
    Addresses, AllocationTtl, Answer, Command, Fleet, FleetSpec, Growth, IdleServers, JoinedSlot,
    Observation, Ports, Purpose, Renewal, Request, StreamId,
};
use mainstay_runtime::{Jump, OneClock, Past, Readings, Wall};
use uuid::Uuid;

use crate::support::declaration;

const DAY: Duration = Duration::from_hours(24);
const MINUTE: Duration = Duration::from_secs(60);
/// Time since boot when the control plane starts, and the wall time then.
const BOOTED: Duration = Duration::from_secs(1_000);
const WALL: Duration = Duration::from_secs(1_800_000_000);

/// Steering takes or gives a tenth at most, so a minute of the one clock has at least this much real time.
const MINUTE_STEERED: Duration = Duration::from_millis(54_545);

/// What the clocks show so long after the start, where the wall clock was set by `off` ms a second after it.
fn readings(after: Duration, off: i64) -> Readings {
    let wall = (WALL + after).checked_add_signed_ms(if after >= Duration::from_secs(1) { off } else { 0 });
    Readings { wall, boot: BOOTED + after }
}

trait Signed {
    fn checked_add_signed_ms(self, ms: i64) -> Duration;
}

impl Signed for Duration {
    fn checked_add_signed_ms(self, ms: i64) -> Duration {
        let by = Duration::from_millis(ms.unsigned_abs());
        if ms < 0 { self.checked_sub(by).unwrap() } else { self + by }
    }
}

fn run(fleet: &mut Fleet, now: Timestamp, command: &Command) -> Answer {
    Turn::run(now, fleet, command).answer.unwrap_or_else(|rejection| panic!("{command:?}: {rejection}"))
}

/// A fleet with a hold of a minute, an allocation that lives for a minute, and a machine that is lost after a minute of silence,
/// each begun at `now`.
fn begun(now: Timestamp) -> Fleet {
    let mut catalog = Catalog::default();
    let declaration = Arc::new(declaration(Growth::Fixed, MINUTE));
    let declare = CatalogCommand::Declare { declaration, edit: Edit::by("test") };
    Turn::run(now, &mut catalog, &declare).answer.unwrap();
    let mut spec = FleetSpec::clone(catalog.fleets().next().unwrap());
    spec.idle_servers = IdleServers::StartOnAllocation;
    spec.hosting.allocation_ttl = AllocationTtl::Age(MINUTE);
    spec.hosting.machines.lost_after = MINUTE;
    let (region, configuration) = (spec.regions[0].id, spec.configurations[0].configuration.id);
    let mut fleet = Fleet::new(1);
    run(&mut fleet, now, &Command::Configure(Arc::new(spec)));
    let mut servers = Vec::new();
    for (key, stream) in [(1, Some(StreamId(1))), (2, None)] {
        let join = Command::Join {
            key: mainstay_core::MachineKey(Uuid::from_u128(key)),
            region,
            name: "machine".into(),
            addresses: Addresses::default(),
            slots: vec![Ports { game: 9000, query: 9001 }, Ports { game: 9002, query: 9003 }],
            boot: None,
            host: None,
        };
        let Answer::Joined { machine, slots } = run(&mut fleet, now, &join) else { panic!("it joins") };
        let Some(stream) = stream else { continue };
        let idle = |slot: &JoinedSlot| mainstay_core::slot::Status {
            server: slot.server,
            generation: Generation::NONE,
            configuration: None,
            run: 0,
            phase: mainstay_core::slot::Phase::Stopped(mainstay_core::slot::Stopped::Idle),
        };
        let statuses = slots.iter().map(idle).collect();
        run(&mut fleet, now, &Command::Connect { machine, stream, statuses });
        servers = slots;
    }
    fleet.observe(now, Observation::Listening);
    let request =
        Request { configuration, region, payload: None, renewal: Renewal::Keep, purpose: Purpose::Session };
    let id = AllocationId(Uuid::from_u128(7));
    let Answer::Placed { server } = run(&mut fleet, now, &Command::Allocate { id, request }) else {
        panic!("it is placed")
    };
    let held = servers.iter().map(|slot| slot.server).find(|other| *other != server).unwrap();
    let process = fleet.server(held).unwrap().generation;
    run(&mut fleet, now, &Command::Hold { server: held, process, time: MINUTE });
    fleet
}

/// Issue 3, point 10: "Wall-clock jumps are logged and expire no hold, TTL or lease early": the jump is told, for the log
/// (`the_log_tells_a_jump` in `services/runtime`), and what runs for a minute runs until a minute of the one clock is over,
/// which is steered by a tenth at most, and not before.
#[test]
fn a_wall_clock_that_is_set_expires_nothing_early() {
    let day = i64::try_from(DAY.as_millis()).unwrap();
    for off in [day, -day] {
        let (mut clock, _) = OneClock::start(readings(Duration::ZERO, off), Wall::Alone, Past::Unknown);
        let (began, _) = clock.read(readings(Duration::ZERO, off));
        let mut fleet = begun(began);
        let counted = |fleet: &Fleet| {
            let held = fleet.servers(None).filter(|(_, server)| server.held_until().is_some()).count();
            let lost = fleet.machines().filter(|(_, machine)| !machine.life.serves()).count();
            (held, fleet.live(), lost)
        };
        let mut jumps = Vec::new();
        let mut second = Duration::ZERO;
        let ended = loop {
            second += Duration::from_secs(1);
            let (now, jump) = clock.read(readings(second, off));
            jumps.extend(jump);
            while fleet.next_deadline().is_some_and(|(due, _)| due <= now) {
                run(&mut fleet, now, &Command::Due);
            }
            if counted(&fleet) != (1, 1, 0) {
                break second;
            }
            assert!(second < 2 * MINUTE, "nothing ever ends");
        };
        assert_eq!(jumps, vec![Jump { by_ms: off }], "told once");
        assert!(ended >= MINUTE_STEERED, "{off}: something ended {ended:?} after it began");
        assert_eq!(counted(&fleet), (0, 0, 1), "all three at once, by the one clock");
    }
}
