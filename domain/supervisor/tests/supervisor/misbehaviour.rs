//! One example for each sentence of seed 001 on misbehavior, pre-recovery and the back-off they share with crashes. The
//! sentence stands above its example.

use std::sync::Arc;
use std::time::Duration;

use crate::world::{Behaviour, GOOD, Uses, World, allocation, configuration, server, spec};
use mainstay_core::StateMachine as _;
use mainstay_core::slot::{
    Check, Checks, Exit, Fault, Heard, Incident, Intent, Killer, Phase, Reading, Recovery, RestartPolicy,
    Spec,
};
use mainstay_supervisor::{Act, Command, Event, Life, Observation, Supervisor};

const A: u128 = 0xa;
const B: u128 = 0xb;
const MINUTE: Duration = Duration::from_secs(60);

/// A server with the settings of the seed, changed as wanted, that plays.
fn up(session: Option<u128>, change: impl FnOnce(&mut Spec)) -> World {
    let mut spec = Spec::clone(&spec(configuration(9)));
    change(&mut spec);
    let mut world = World::default();
    world.behaviours.insert(configuration(9), GOOD);
    world.tell(Command::TakeSpecs { specs: vec![Arc::new(spec)] });
    world.order(1, Intent::Run, configuration(9), session);
    world.settle();
    assert!(matches!(world.phase(1), Phase::Online { .. }));
    world
}

fn usual(_: &mut Spec) {}

fn behaves(world: &mut World, behaviour: Behaviour) {
    world.behaviours.insert(configuration(9), behaviour);
}

const SILENT: Behaviour = Behaviour { answers: false, ..GOOD };
const BUSY: Behaviour = Behaviour { uses: Uses::CpuMillis(1_101), ..GOOD };
const LARGE: Behaviour = Behaviour { uses: Uses::MemoryBytes((512 << 20) + 200_000_001), ..GOOD };

fn checks_of(world: &World) -> usize {
    world.checked
}

fn failures(world: &World) -> Vec<Check> {
    let failed =
        |event: &Event| if let Event::CheckFailed { check, .. } = event { Some(*check) } else { None };
    world.log.iter().filter_map(|(_, event)| failed(event)).collect()
}

fn misbehaved(world: &World) -> Option<Check> {
    world
        .log
        .iter()
        .find_map(|(_, event)| if let Event::Misbehaved { check, .. } = event { Some(*check) } else { None })
}

/// The agent's process is killed and started.
fn replayed(world: &World) -> Supervisor {
    let mut again = Supervisor::new();
    for (at, event) in &world.log {
        again.apply(*at, event);
    }
    assert_eq!(again, world.state);
    again
}

fn incident(world: &World) -> Incident {
    world.state.incidents(server(1)).last().cloned().expect("an incident")
}

/// "Multiplay Hosting checks for misbehaving servers using a series of game server checks that run every minute."
#[test]
fn checks_run_every_minute() {
    let mut world = up(Some(A), usual);
    world.pass(Duration::ZERO);
    assert_eq!(checks_of(&world), 1, "at once: it begins the measuring");
    world.pass(MINUTE * 10);
    assert_eq!(checks_of(&world), 11);
    assert_eq!(failures(&world), []);
}

/// "Within the expected CPU usage limits (with a 10% tolerance)."
#[test]
fn cpu_has_a_tolerance_of_10_percent() {
    for (uses, fails) in [(1_000, 0), (1_100, 0), (1_101, 1)] {
        let mut world = up(Some(A), usual);
        world.pass(Duration::ZERO);
        behaves(&mut world, Behaviour { uses: Uses::CpuMillis(uses), ..GOOD });
        world.pass(MINUTE);
        assert_eq!(failures(&world).len(), fails, "{uses} of 1000");
    }
}

/// "Within the expected memory usage limits (with a 200 megabyte tolerance)": megabytes of a million bytes, above a limit
/// counted in MiB.
#[test]
fn memory_has_a_tolerance_of_200_megabytes() {
    let most = (512 << 20) + 200_000_000;
    for (uses, fails) in [(512 << 20, 0), (most, 0), (most + 1, 1)] {
        let mut world = up(Some(A), usual);
        world.pass(Duration::ZERO);
        behaves(&mut world, Behaviour { uses: Uses::MemoryBytes(uses), ..GOOD });
        world.pass(MINUTE);
        assert_eq!(failures(&world).len(), fails, "{uses} of {most}");
    }
}

/// "Responding to queries."
#[test]
fn silence_fails_the_query_check() {
    let mut world = up(Some(A), usual);
    world.pass(Duration::ZERO);
    behaves(&mut world, SILENT);
    world.pass(MINUTE);
    assert_eq!(failures(&world), [Check::Query]);
}

/// "Multiplay Hosting only checks if game servers respond to queries if you implement a query protocol in the build and
/// specify it in the build configuration." "Multiplay Hosting only detects crashes if you implement a query protocol in the
/// build and specify it in the build configuration": none is seen in silence; the exit of a process is, with or without
/// one. Seed 002: "Game Server Hosting only checks if game servers respond to queries if you implement a query protocol in
/// the build and specify it in the build configuration."
#[test]
fn without_a_query_protocol_nothing_is_asked() {
    let mut world = up(Some(A), |spec| spec.query = None);
    behaves(&mut world, SILENT);
    world.pass(MINUTE * 10);
    assert_eq!(checks_of(&world), 11, "CPU and memory are checked all the same");
    assert_eq!(failures(&world), []);
    assert!(matches!(world.phase(1), Phase::Online { .. }), "{:?}", world.phase(1));
    behaves(&mut world, BUSY);
    world.pass(MINUTE);
    assert_eq!(failures(&world), [Check::Cpu]);
    world.exits(1, Exit::Code(1));
    assert_eq!(world.started.len(), 2, "an exit needs no query to be seen");
}

/// "When Multiplay Hosting detects that a game server no longer responds to server state queries (using the implemented
/// server query protocol), it checks if the game server was allocated during the crash by reading the allocation UUID."
#[test]
fn what_follows_silence_is_decided_by_the_allocation() {
    for session in [Some(A), None] {
        let mut world = up(session, usual);
        world.pass(Duration::ZERO);
        behaves(&mut world, SILENT);
        world.pass(MINUTE * 2);
        world.after_signal = Some(GOOD);
        world.pass(MINUTE);
        let waits = matches!(world.phase(1), Phase::PreRecovery { .. });
        assert_eq!(waits, session.is_some(), "{session:?}: {:?}", world.phase(1));
        assert_eq!(world.running(1).is_some(), session.is_none());
    }
}

/// "If Multiplay Hosting detects that a build executable process is misbehaving, it sends the process a SIGSEGV signal."
#[test]
fn a_misbehaving_process_gets_sigsegv() {
    for (behaviour, check) in [(BUSY, Check::Cpu), (LARGE, Check::Memory), (SILENT, Check::Query)] {
        let mut world = up(Some(A), usual);
        world.pass(Duration::ZERO);
        behaves(&mut world, behaviour);
        world.pass(MINUTE * 3);
        assert_eq!(misbehaved(&world), Some(check));
        assert_eq!(world.signals, [11]);
        let known = incident(&world);
        assert_eq!(known.fault, Fault::Misbehaviour(check));
        assert_eq!(known.exit, Some(Exit::Signal { signal: 11, killed_by: Killer::Unknown }));
        assert_eq!(known.allocation, Some(allocation(A)));
    }
}

/// The same, by another signal: it is a setting.
#[test]
fn the_signal_is_a_setting() {
    let mut world = up(Some(A), |spec| spec.checks.signal = 6);
    world.pass(Duration::ZERO);
    behaves(&mut world, SILENT);
    world.pass(MINUTE * 3);
    assert_eq!(world.signals, [6]);
}

/// "By default, Multiplay Hosting only considers build executables as misbehaving if they fail the same check three times
/// within a 30-minute period": three, of the same check, within it.
#[test]
fn three_failures_of_the_same_check_within_30_minutes_are_misbehaviour() {
    let mut two = up(Some(A), usual);
    two.pass(Duration::ZERO);
    behaves(&mut two, BUSY);
    two.pass(MINUTE * 2);
    assert_eq!((failures(&two).len(), misbehaved(&two)), (2, None), "twice is not enough");
    behaves(&mut two, LARGE);
    two.pass(MINUTE * 2);
    assert_eq!((failures(&two).len(), misbehaved(&two)), (4, None), "twice and twice are not the same check");
    behaves(&mut two, GOOD);
    two.pass(MINUTE * 20);
    behaves(&mut two, BUSY);
    two.pass(MINUTE);
    assert_eq!(misbehaved(&two), Some(Check::Cpu), "passing in between forgives nothing within the window");

    let mut late = up(Some(A), usual);
    late.pass(Duration::ZERO);
    behaves(&mut late, BUSY);
    late.pass(MINUTE * 2);
    behaves(&mut late, GOOD);
    late.pass(MINUTE * 28);
    behaves(&mut late, BUSY);
    late.pass(MINUTE);
    assert_eq!((failures(&late).len(), misbehaved(&late)), (3, None), "the first lies 30 minutes back");
}

/// The same: each number is a setting.
#[test]
fn check_strikes_window_and_tolerances_are_settings() {
    let fastest = |spec: &mut Spec| {
        spec.checks = Checks {
            every: Duration::from_millis(100),
            failures: 2,
            within: Duration::from_secs(1),
            cpu_tolerance_percent: 0,
            memory_tolerance_bytes: 0,
            signal: 11,
        };
    };
    for behaviour in [
        Behaviour { uses: Uses::CpuMillis(1_001), ..GOOD },
        Behaviour { uses: Uses::MemoryBytes((512 << 20) + 1), ..GOOD },
        SILENT,
    ] {
        let mut world = up(Some(A), fastest);
        world.pass(Duration::ZERO);
        behaves(&mut world, behaviour);
        world.pass(Duration::from_millis(100));
        assert_eq!(misbehaved(&world), None);
        world.pass(Duration::from_millis(100));
        assert!(misbehaved(&world).is_some(), "{behaviour:?}");
    }
    // The second failure within the second, or just past it.
    for (good, counts) in [(8, true), (9, false)] {
        let mut world = up(Some(A), fastest);
        world.pass(Duration::ZERO);
        behaves(&mut world, SILENT);
        world.pass(Duration::from_millis(100));
        behaves(&mut world, GOOD);
        world.pass(good * Duration::from_millis(100));
        behaves(&mut world, SILENT);
        world.pass(Duration::from_millis(100));
        assert_eq!((failures(&world).len(), misbehaved(&world).is_some()), (2, counts));
    }
}

/// The misbehaviour is recorded before the signal: it is owed only after the events that tell it, and the record survives
/// a restart of the agent in between.
#[test]
fn misbehaviour_is_recorded_before_the_signal() {
    let mut world = up(Some(A), usual);
    world.pass(Duration::ZERO);
    behaves(&mut world, SILENT);
    world.pass(MINUTE * 2);
    let run = world.state.slot(server(1)).unwrap().live_run().unwrap().number;
    world.now = world.now + MINUTE;
    let silence = Reading { cpu_millis: Some(1), memory_bytes: Some(1), heard: Heard::Silence };
    world.tell(Command::Checked { server: server(1), run, reading: silence });
    let known = incident(&world);
    assert_eq!((known.run, &known.exit), (run.number(), &None), "known, and not ended yet");
    assert_eq!(&*known.cause, "failed its query check 3 times within 30 min: no answer within 1 s");
    assert_eq!(world.state.owed(&server(1)).act, Act::Signal { run, signal: 11 });
    assert_eq!(world.phase(1), Phase::Stopping { pid: world.pid(1) });
    assert!(world.signals.is_empty());

    world.state = replayed(&world);
    assert_eq!(incident(&world), known);
    world.settle();
    assert_eq!(world.signals, [11], "the agent that comes back sends it");
}

/// SIGKILL follows after the stop timeout.
#[test]
fn sigkill_follows_the_stop_timeout() {
    let mut world = up(Some(A), usual);
    world.pass(Duration::ZERO);
    behaves(&mut world, Behaviour { obeys: false, ..SILENT });
    world.pass(MINUTE * 3);
    assert_eq!(world.signals, [11]);
    world.pass(Duration::from_secs(19));
    assert_eq!(world.signals, [11]);
    world.pass(Duration::from_secs(1));
    assert_eq!(world.signals, [11, 9]);
    let cause = "misbehaved: failed its query check 3 times within 30 min: no answer within 1 s".into();
    assert_eq!(world.phase(1), Phase::PreRecovery { cause });
}

/// The exit counts as misbehaviour whatever its code: stock servers catch SIGSEGV and exit with 2, or with 0.
#[test]
fn the_exit_of_a_misbehaving_process_is_misbehaviour_whatever_its_code() {
    for code in [0, 2] {
        let mut world = up(Some(A), usual);
        world.pass(Duration::ZERO);
        behaves(&mut world, Behaviour { obeys: false, ..BUSY });
        world.pass(MINUTE * 3);
        behaves(&mut world, GOOD);
        world.exits(1, Exit::Code(code));
        assert!(matches!(world.phase(1), Phase::Online { .. }), "restarted, not completed");
        let known = incident(&world);
        assert_eq!((known.fault, known.exit), (Fault::Misbehaviour(Check::Cpu), Some(Exit::Code(code))));
    }
}

/// CPU and memory are then treated as a crash: "it attempts to recover the game session by restarting it with the same
/// allocation ID".
#[test]
fn too_much_cpu_or_memory_restarts_with_the_same_allocation() {
    for behaviour in [BUSY, LARGE] {
        let mut world = up(Some(A), usual);
        world.pass(Duration::ZERO);
        behaves(&mut world, behaviour);
        world.pass(MINUTE * 2);
        world.after_signal = Some(GOOD);
        world.pass(MINUTE);
        let given: Vec<_> = world.started.iter().map(|process| process.allocation).collect();
        assert_eq!(given, [Some(allocation(A)); 2], "{behaviour:?}");
        assert!(matches!(world.phase(1), Phase::Online { .. }));
    }
}

/// It takes part in back-off: "backs off and stops trying to recover a game session ... if the build executable process
/// crashes more than a specific number of times within a 30-minute period".
#[test]
fn misbehaviour_counts_in_back_off() {
    let mut world = up(Some(A), usual);
    world.pass(Duration::ZERO);
    behaves(&mut world, BUSY);
    world.pass(MINUTE * 6);
    let Phase::BackedOff { crashes: 2, cause } = world.phase(1) else { panic!("{:?}", world.phase(1)) };
    assert_eq!(
        &*cause,
        "misbehaved: failed its cpu check 3 times within 30 min: 1101 of 1000 thousandths of a core, 10 % tolerated"
    );
    assert_eq!((world.started.len(), world.running(1)), (2, None), "one restart");
    assert_eq!(world.told(1), None, "its id is cleared from server.json");
    world.pass(MINUTE * 120);
    assert_eq!(world.started.len(), 2, "it stays down");
}

/// "By default, Multiplay Hosting only tries to restart the build executable process once": the number is a setting.
#[test]
fn the_number_of_restarts_is_a_setting() {
    for attempts in [0, 2] {
        let mut world = up(Some(A), |spec| {
            spec.restart = RestartPolicy { attempts, within: MINUTE * 30 };
        });
        while world.running(1).is_some() {
            world.exits(1, Exit::Code(1));
        }
        assert_eq!(world.started.len(), 1 + attempts as usize);
        assert!(matches!(world.phase(1), Phase::BackedOff { crashes, .. } if crashes == attempts + 1));
    }
}

/// "If the game server has an allocation UUID, Multiplay Hosting won't restart the game server process. Instead, the game
/// server remains stopped until it receives a new allocation. This prevents Multiplay Hosting from starting game servers
/// with stale allocation information."
#[test]
fn a_silent_server_with_an_allocation_waits_for_a_new_one() {
    let mut world = up(Some(A), usual);
    world.pass(Duration::ZERO);
    behaves(&mut world, SILENT);
    world.pass(MINUTE * 3);
    assert!(matches!(world.phase(1), Phase::PreRecovery { .. }), "{:?}", world.phase(1));
    assert_eq!((world.running(1), world.told(1)), (None, None), "stopped, its id cleared from server.json");
    world.order(1, Intent::Leave, configuration(9), None);
    world.settle();
    world.pass(MINUTE * 60);
    assert_eq!(world.started.len(), 1);
    assert!(matches!(world.phase(1), Phase::PreRecovery { .. }), "until an order starts it");

    behaves(&mut world, GOOD);
    world.order(1, Intent::Run, configuration(9), Some(B));
    world.settle();
    assert_eq!(world.running(1), Some((configuration(9), Some(allocation(B)))));
    world.exits(1, Exit::Code(1));
    assert!(matches!(world.phase(1), Phase::Online { .. }), "the new session starts afresh in back-off too");
}

/// A manual start afterwards starts without an allocation.
#[test]
fn a_manual_start_after_pre_recovery_starts_without_an_allocation() {
    let mut world = up(Some(A), usual);
    world.pass(Duration::ZERO);
    behaves(&mut world, SILENT);
    world.pass(MINUTE * 3);
    behaves(&mut world, GOOD);
    world.order(1, Intent::Run, configuration(9), None);
    world.settle();
    assert_eq!(world.running(1), Some((configuration(9), None)));
}

/// "If the game server doesn't have an allocation UUID, Multiplay Hosting restarts the build executable process. If the
/// game server continues to crash, Multiplay Hosting stops restarting the game server."
#[test]
fn a_silent_server_without_an_allocation_is_restarted_until_back_off() {
    let mut world = up(None, usual);
    world.pass(Duration::ZERO);
    behaves(&mut world, SILENT);
    world.pass(MINUTE * 2);
    world.after_signal = Some(GOOD);
    world.pass(MINUTE);
    assert_eq!(world.running(1), Some((configuration(9), None)), "restarted, idle");
    assert!(matches!(world.phase(1), Phase::Online { .. }));
    behaves(&mut world, SILENT);
    world.pass(MINUTE * 4);
    assert!(matches!(world.phase(1), Phase::BackedOff { crashes: 2, .. }), "{:?}", world.phase(1));
}

/// Both readings of the seed: with the other policy silence is recovered "by restarting it with the same allocation ID".
#[test]
fn the_other_recovery_restarts_a_silent_server_with_its_allocation() {
    let mut world = up(Some(A), |spec| spec.recovery = Recovery::Restart);
    world.pass(Duration::ZERO);
    behaves(&mut world, SILENT);
    world.pass(MINUTE * 2);
    world.after_signal = Some(GOOD);
    world.pass(MINUTE);
    assert_eq!(world.running(1), Some((configuration(9), Some(allocation(A)))));
}

/// "The allocation pre-recovery process prevents Multiplay Hosting from automatically restarting game servers that were
/// allocated when they crashed": a session that was deallocated while its hung process was being ended is none.
#[test]
fn what_counts_is_the_allocation_at_the_end() {
    let mut world = up(Some(A), usual);
    world.pass(Duration::ZERO);
    behaves(&mut world, Behaviour { obeys: false, ..SILENT });
    world.pass(MINUTE * 3);
    world.order(1, Intent::Leave, configuration(9), None);
    behaves(&mut world, GOOD);
    world.exits(1, Exit::Signal { signal: 9, killed_by: Killer::Unknown });
    assert_eq!(world.running(1), Some((configuration(9), None)));
}

/// Strikes survive agent restarts, and restarts make no strikes of their own: an agent that comes back looks at once.
#[test]
fn strikes_survive_agent_restarts_and_are_not_made_by_them() {
    let mut world = up(Some(A), usual);
    world.pass(Duration::ZERO);
    behaves(&mut world, SILENT);
    world.pass(MINUTE * 2);
    assert_eq!(failures(&world).len(), 2);
    for _ in 0..5 {
        world.state = replayed(&world);
        world.settle();
        world.pass(Duration::from_secs(1));
    }
    assert_eq!(failures(&world).len(), 2, "looked at five times within a minute: no strike");
    world.pass(MINUTE);
    assert_eq!(misbehaved(&world), Some(Check::Query), "the third, with two from before");
}

/// A new process begins without failures: they were the old one's.
#[test]
fn a_new_process_begins_without_failures() {
    let mut world = up(None, usual);
    world.pass(Duration::ZERO);
    behaves(&mut world, BUSY);
    world.pass(MINUTE * 2);
    world.exits(1, Exit::Code(1));
    world.pass(MINUTE * 2);
    assert_eq!((failures(&world).len(), misbehaved(&world)), (4, None), "two of each");
}

/// What was found of an ended process is kept, the newest few.
#[test]
fn incidents_are_kept_with_their_evidence() {
    let mut world = up(Some(A), |spec| spec.restart.attempts = 20);
    for code in 1..=6 {
        world.exits(1, Exit::Code(code));
    }
    let kept = world.state.incidents(server(1));
    assert_eq!(kept.len(), Incident::KEPT_MAX);
    let exits: Vec<_> = kept.iter().map(|incident| incident.exit.clone()).collect();
    assert_eq!(exits, [3, 4, 5, 6].map(|code| Some(Exit::Code(code))));
    assert!(
        kept.iter().all(|incident| incident.fault == Fault::Crash && incident.cause.starts_with("exited"))
    );
}

/// A stop that was ordered while a process was being ended for misbehaviour is that stop's end; the evidence stays.
#[test]
fn a_stop_on_top_of_misbehaviour_keeps_the_evidence() {
    let mut world = up(None, usual);
    world.pass(Duration::ZERO);
    behaves(&mut world, Behaviour { obeys: false, ..BUSY });
    world.pass(MINUTE * 3);
    world.order(1, Intent::Stop, configuration(9), None);
    world.exits(1, Exit::Signal { signal: 9, killed_by: Killer::Unknown });
    assert_eq!(world.running(1), None);
    let known = incident(&world);
    assert_eq!(known.fault, Fault::Misbehaviour(Check::Cpu));
    assert!(known.exit.is_some());
}

/// A check of a process that is over changes nothing.
#[test]
fn a_late_check_changes_nothing() {
    let mut world = up(Some(A), usual);
    let run = world.state.slot(server(1)).unwrap().live_run().unwrap().number;
    world.exits(1, Exit::Code(1));
    let before = world.state.clone();
    let reading = Reading { cpu_millis: Some(9_999), memory_bytes: Some(u64::MAX), heard: Heard::Silence };
    world.tell(Command::Checked { server: server(1), run, reading });
    world.observe(Observation::CheckDue { server: server(1), run });
    assert_eq!(world.state, before);
    assert_eq!(world.state.reading(server(1)), None);
    assert!(matches!(world.state.slot(server(1)).unwrap().life, Life::Up { .. }));
}
