//! Whatever happens in whatever order: the laws hold, replay and snapshot rebuild the state, forgetting is safe, and
//! once the trouble is over reality is what was ordered.

use std::time::Duration;

use crate::world::{Behaviour, GOOD, Uses, World, configuration, order, server};
use mainstay_core::slot::{Exit, Heard, Intent, Phase, Reading, Scene};
use mainstay_core::{StateMachine, Timestamp};
use mainstay_supervisor::{Command, Ending, Life, Observation, RunNumber, Sight, Supervisor};
use proptest::prelude::*;

const SLOTS: u32 = 3;

#[derive(Debug, Clone)]
enum Step {
    Order { slot: u32, intent: Intent, configuration: u32, session: Option<u128> },
    OldOrder { slot: u32 },
    Work { slot: u32, steps: u8 },
    Dies { slot: u32, code: Option<i32> },
    Behave { configuration: u32, behaviour: Behaviour },
    Stale { slot: u32, run: u64 },
    Pass { ms: u32 },
    Forget,
    Restart,
    Unassign { slot: u32 },
    Park,
    Resume,
}

fn steps() -> impl Strategy<Value = Step> {
    let slot = 1..=SLOTS;
    let intent = prop_oneof![Just(Intent::Stop), Just(Intent::Run), Just(Intent::Renew), Just(Intent::Leave)];
    let uses =
        prop_oneof![Just(Uses::Little), Just(Uses::CpuMillis(5_000)), Just(Uses::MemoryBytes(1 << 40)),];
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), uses);
    prop_oneof![
        6 => (slot.clone(), intent, 1_u32..=3, proptest::option::of(1_u128..9)).prop_map(
            |(slot, intent, configuration, session)| Step::Order { slot, intent, configuration, session }
        ),
        1 => slot.clone().prop_map(|slot| Step::OldOrder { slot }),
        10 => (slot.clone(), 1_u8..6).prop_map(|(slot, steps)| Step::Work { slot, steps }),
        4 => (slot.clone(), proptest::option::of(-1..3)).prop_map(|(slot, code)| Step::Dies { slot, code }),
        1 => (1_u32..=3, flags).prop_map(|(configuration, (starts, answers, obeys, uses))| Step::Behave {
            configuration,
            behaviour: Behaviour { starts, answers, obeys, uses },
        }),
        1 => (slot.clone(), 0_u64..20).prop_map(|(slot, run)| Step::Stale { slot, run }),
        4 => (0_u32..90_000).prop_map(|ms| Step::Pass { ms }),
        1 => Just(Step::Forget),
        1 => Just(Step::Restart),
        1 => slot.prop_map(|slot| Step::Unassign { slot }),
        1 => Just(Step::Park),
        1 => Just(Step::Resume),
    ]
}

fn take(world: &mut World, step: &Step) {
    match step {
        Step::Order { slot, intent, configuration: n, session } => {
            let idle = matches!(intent, Intent::Stop | Intent::Leave);
            world.order(*slot, *intent, configuration(*n), session.filter(|_| !idle));
        }
        Step::OldOrder { slot } => {
            let old = order(*slot, 0, configuration(1), Intent::Renew);
            if world.state.slot(server(*slot)).is_some() {
                world.tell(Command::TakeOrders { orders: vec![old] });
            }
        }
        Step::Work { slot, steps } => {
            for _ in 0..*steps {
                world.work(*slot);
            }
        }
        Step::Dies { slot, code } => {
            world.dies(*slot, code.map(Exit::Code));
        }
        Step::Behave { configuration: n, behaviour } => {
            world.behaviours.insert(configuration(*n), *behaviour);
        }
        Step::Stale { slot, run } => stale(world, *slot, *run),
        Step::Pass { ms } => {
            world.now = world.now + Duration::from_millis(u64::from(*ms));
            world.tell(Command::Due);
        }
        Step::Forget => world.observe(Observation::Forgot),
        Step::Restart => restart(world),
        Step::Unassign { slot } => {
            world.tell(Command::ForgetSlots { servers: vec![server(*slot)] });
        }
        Step::Park => {
            world.tell(Command::Park);
        }
        Step::Resume => {
            world.tell(Command::Resume);
        }
    }
}

/// News of a run that is not the live one.
fn stale(world: &mut World, slot: u32, run: u64) {
    let (server, run) = (server(slot), RunNumber::from_number(run));
    let live = world.state.slot(server).and_then(|slot| slot.live_run()).map(|live| live.number);
    if live != Some(run) {
        let before = world.state.clone();
        for command in [
            Command::Exited { server, run, exit: Exit::Code(1), scene: Scene::empty() },
            Command::Lost { server, run },
            Command::NeverRan { server, run },
            Command::Answered { server, run },
            Command::Checked {
                server,
                run,
                reading: Reading { cpu_millis: Some(9_999), memory_bytes: None, heard: Heard::Silence },
            },
        ] {
            world.tell(command);
        }
        world.observe(Observation::Saw { server, run, sight: Sight::Running { pid: 1 } });
        assert_eq!(world.state, before);
        assert_eq!(world.state.owed(&server), before.owed(&server));
    }
}

/// The agent's process is killed and started: the state comes back from the journal, or from its snapshot.
fn restart(world: &mut World) {
    let replayed = replay(&world.log);
    assert_eq!(replayed, world.state, "replaying the recorded events gives the same state");
    let rebuilt = replay(&world.state.snapshot());
    assert_eq!(rebuilt, world.state, "a snapshot rebuilds the state");
    assert_eq!(rebuilt.snapshot(), world.state.snapshot());
    world.state = rebuilt;
}

fn replay(log: &[(Timestamp, mainstay_supervisor::Event)]) -> Supervisor {
    let mut state = Supervisor::new();
    for (at, event) in log {
        state.apply(*at, event);
    }
    state
}

/// The trouble ends: games behave, hands work, time passes.
fn heal(world: &mut World) {
    for n in 1..=3 {
        world.behaviours.insert(configuration(n), GOOD);
    }
    world.tell(Command::Resume);
    for _ in 0..4 {
        world.settle();
        world.pass(Duration::from_secs(60));
    }
}

fn reality_is_what_was_ordered(world: &World) {
    for (id, slot) in world.state.slots() {
        let n = id.counter();
        let (configuration, session) = (slot.order.configuration, slot.order.allocation.as_ref());
        let session = session.map(|session| session.allocation);
        match &slot.life {
            Life::Up { run, .. } => {
                assert!(matches!(world.phase(n), Phase::Online { .. }), "{slot:?}");
                assert_eq!(world.told(n), session, "{slot:?}");
                let (running, _) = world.running(n).unwrap_or_else(|| panic!("no process: {slot:?}"));
                assert_eq!(running, run.configuration);
                match slot.order.intent {
                    Intent::Run | Intent::Renew => assert_eq!(running, configuration, "{slot:?}"),
                    Intent::Leave => {}
                    Intent::Stop => panic!("runs though stopped: {slot:?}"),
                }
            }
            Life::Fresh | Life::Down { .. } => {
                assert_eq!((world.running(n), world.told(n)), (None, None), "{slot:?}");
                let excused = matches!(
                    &slot.life,
                    Life::Down {
                        ending: Ending::BackedOff { .. }
                            | Ending::PreRecovery { .. }
                            | Ending::Lost
                            | Ending::Completed,
                        ..
                    }
                );
                let wanted = matches!(slot.order.intent, Intent::Run | Intent::Renew);
                assert!(!wanted || excused, "down without a reason: {slot:?}");
            }
            Life::Resting { .. } | Life::Stopping { .. } => panic!("did not come to rest: {slot:?}"),
        }
    }
    for (id, disk) in &world.disk {
        assert!(disk.process.is_none() || world.state.slot(*id).is_some(), "an unwatched process in {id}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(512) })]

    #[test]
    fn the_laws_hold_and_reality_follows(steps in proptest::collection::vec(steps(), 1..120)) {
        let mut world = World::default();
        for step in &steps {
            take(&mut world, step);
        }
        restart(&mut world);
        heal(&mut world);
        reality_is_what_was_ordered(&world);
    }

    /// Forgetting changes no decision: a twin that forgets everything at one moment ends where the other ends, up to
    /// how it got there.
    #[test]
    fn forgetting_is_safe(steps in proptest::collection::vec(steps(), 1..60), at in 0_usize..60) {
        let mut world = World::default();
        for (n, step) in steps.iter().enumerate() {
            if n == at {
                let before = world.state.clone();
                world.observe(Observation::Forgot);
                prop_assert_eq!(&before, &world.state);
            }
            take(&mut world, step);
        }
        heal(&mut world);
        reality_is_what_was_ordered(&world);
    }
}
