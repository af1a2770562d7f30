//! The listener contract of seed 000.

use std::time::Duration;

use mainstay_core::Timestamp;
use mainstay_migration::{
    Answer, Call, Failure, ListenerId, PACE, Priority, Role, Stage, Stages, TERMINATE_MAX,
};

const BUDGET: Duration = Duration::from_secs(30);

fn at(ms: u64) -> Timestamp {
    Timestamp::from_unix_ms(ms)
}

fn two() -> Stages {
    let listeners = [("game", Priority::PostEngine), ("engine", Priority::Engine)];
    let numbered = (0..).map(ListenerId).zip(listeners.map(|(name, priority)| (name.to_owned(), priority)));
    Stages::begin(at(0), &numbered.collect())
}

fn answer(stages: &mut Stages, now: Timestamp, call: &Call, answer: &Answer) {
    stages.answer(now, call.listener, call.number, call.state + 1, answer);
}

/// Everybody answers Done until nothing is left to call.
fn finish(stages: &mut Stages, now: Timestamp) -> Vec<Stage> {
    let mut called = Vec::new();
    loop {
        let calls = stages.advance(now, BUDGET);
        if calls.is_empty() {
            return called;
        }
        for call in calls {
            called.push(call.stage);
            answer(stages, now, &call, &Answer::Done);
        }
    }
}

/// "Each method returns a boolean, with true meaning 'all processing for this stage is complete', and false meaning 'more processing
/// is required'." "Only when all the registered listeners for a given state have returned true does the host migration process move onto the
/// next state."
#[test]
fn a_stage_waits_for_all_listeners() {
    let mut stages = two();
    let calls = stages.advance(at(0), BUDGET);
    assert_eq!(
        calls.iter().map(|call| call.listener).collect::<Vec<_>>(),
        [ListenerId(1), ListenerId(0)],
        "by priority"
    );
    answer(&mut stages, at(0), &calls[0], &Answer::Done);
    assert_eq!(
        stages.advance(at(5_000), BUDGET),
        [],
        "the other is pending, and whoever is done is left alone"
    );
    answer(&mut stages, at(5_000), &calls[1], &Answer::Done);
    let next = stages.advance(at(5_000), BUDGET);
    let called: Vec<(ListenerId, Stage)> = next.iter().map(|call| (call.listener, call.stage)).collect();
    let both = [ListenerId(1), ListenerId(0)].map(|listener| (listener, Stage::DisconnectClient));
    assert_eq!(called, both, "and then goes on with both");
}

/// "This allows asynchronous tasks such as disconnecting or reconnecting to fully complete before moving onto the next state (the
/// passed reference 'state' is guaranteed to be 0 the first time the listener is invoked, and will persist its value on subsequent
/// invocations, until the listener completes - useful for controlling switch based state machines)."
#[test]
fn state_begins_at_0_and_is_kept() {
    let mut stages = two();
    let first = stages.advance(at(0), BUDGET);
    let [engine, game] = first.as_slice() else { panic!("{first:?}") };
    assert_eq!((engine.state, game.state), (0, 0));
    answer(&mut stages, at(0), engine, &Answer::Done);
    let mut now = at(0);
    answer(&mut stages, now, game, &Answer::Wait);
    // It takes two calls more, each with what the one before left.
    for kept in [1, 2] {
        now = now + PACE;
        let again = stages.advance(now, BUDGET);
        let [again] = again.as_slice() else { panic!("{again:?}") };
        assert_eq!((again.listener, again.stage, again.state), (game.listener, Stage::Initiate, kept));
        answer(&mut stages, now, again, if kept == 2 { &Answer::Done } else { &Answer::Wait });
    }
    let next: Vec<(Stage, u32)> =
        stages.advance(now, BUDGET).iter().map(|call| (call.stage, call.state)).collect();
    assert_eq!(next, [(Stage::DisconnectClient, 0); 2], "and in the next stage from 0 again");
}

/// "The methods are called in the order they are declared in the interface": the first six of
/// `struct IHostMigrationEventListener`.
#[test]
fn stages_come_in_their_order() {
    for (role, own) in [(Role::Host, Stage::PromoteToServer), (Role::Client, Stage::DemoteToClient)] {
        let mut stages = two();
        assert_eq!(
            finish(&mut stages, at(0)),
            [Stage::Initiate; 2].into_iter().chain([Stage::DisconnectClient; 2]).collect::<Vec<_>>()
        );
        assert!(stages.elected(role));
        assert_eq!(
            finish(&mut stages, at(1)),
            [own; 2].into_iter().chain([Stage::ReconnectClient; 2]).collect::<Vec<_>>()
        );
        stages.settle();
        assert_eq!(finish(&mut stages, at(2)), [Stage::Finalise; 2]);
        assert!(stages.is_complete());
        assert_eq!(stages.failure(), None);
    }
}

/// "OnTerminate() is called in the event of an error (which could happen at any point in the host migration process, so make sure
/// any clean-up done in OnFinalise() is also done here)." "where <your_class_name> is just a text string that's used to aid
/// debugging listeners": the report names it. Here because a listener vetoes, at each stage, and exactly once. These are
/// the other two of `struct IHostMigrationEventListener`, OnTerminate and OnReset.
#[test]
fn a_veto_terminates_once_from_any_stage() {
    let of_both = [Stage::Initiate, Stage::DisconnectClient, Stage::Reset, Stage::ReconnectClient];
    let of_host = of_both.into_iter().chain([Stage::PromoteToServer]).map(|stage| (Role::Host, stage));
    let of_client = of_both.into_iter().chain([Stage::DemoteToClient]).map(|stage| (Role::Client, stage));
    for (role, vetoed) in of_host.chain(of_client) {
        let mut stages = two();
        stages.elected(role);
        let mut called = Vec::new();
        loop {
            let calls = stages.advance(at(0), BUDGET);
            if calls.is_empty() && !called.contains(&vetoed) {
                // The new host is lost, too: a reset, and then the same again.
                assert!(stages.lose(at(0)) && stages.elected(role), "{role:?} {vetoed:?}");
                continue;
            }
            if calls.is_empty() {
                break;
            }
            for call in calls {
                called.push(call.stage);
                let veto = if call.stage == vetoed { Answer::Veto } else { Answer::Done };
                answer(&mut stages, at(0), &call, &veto);
            }
        }
        assert!(stages.is_complete(), "{role:?} {vetoed:?}");
        assert!(matches!(stages.failure(), Some(Failure::Vetoed(name)) if name == "engine"));
        assert_eq!(called.iter().filter(|stage| **stage == Stage::Terminate).count(), 2, "once for each");
    }
}

/// What has been finalised is not undone: a veto there counts as done.
#[test]
fn a_veto_while_finalising_comes_too_late() {
    let mut stages = two();
    stages.elected(Role::Client);
    finish(&mut stages, at(0));
    stages.settle();
    for call in stages.advance(at(1), BUDGET) {
        assert_eq!(call.stage, Stage::Finalise);
        answer(&mut stages, at(1), &call, &Answer::Veto);
    }
    assert_eq!(stages.advance(at(1), BUDGET), []);
    assert!(stages.is_complete() && stages.failure().is_none());
}

/// B6: what a listener does in OnTerminate may take several calls; B7: and nothing brings the migration back to life.
#[test]
fn b6_and_b7_terminate_keeps_its_state_and_is_final() {
    let mut stages = two();
    stages.advance(at(0), BUDGET);
    let late = at(0) + BUDGET;
    let calls = stages.advance(late, BUDGET);
    assert!(calls.iter().all(|call| (call.stage, call.state) == (Stage::Terminate, 0)));
    answer(&mut stages, late, &calls[0], &Answer::Wait);
    let again = stages.advance(late + PACE, BUDGET);
    assert_eq!(
        again.iter().map(|call| call.state).collect::<Vec<_>>(),
        [1],
        "its state is kept after the budget"
    );
    assert!(!stages.lose(late + PACE));
    assert!(!stages.elected(Role::Host));
    assert_eq!(stages.stage(), Some(Stage::Terminate));
    stages.advance(late + TERMINATE_MAX, BUDGET);
    assert!(stages.is_complete(), "it is bounded");
    assert_eq!(stages.failure(), Some(&Failure::TimeLimit));
}

/// The budget is for all stages: a listener that never finishes OnFinalise does not keep its session in a migration for ever.
#[test]
fn who_waits_in_finalise_runs_out_of_time_too() {
    let mut stages = two();
    finish(&mut stages, at(0));
    stages.elected(Role::Client);
    finish(&mut stages, at(1_000));
    stages.settle();
    let mut now = at(1_000);
    for call in stages.advance(now, BUDGET) {
        assert_eq!(call.stage, Stage::Finalise);
        answer(&mut stages, now, &call, &Answer::Wait);
    }
    while now < at(0) + BUDGET {
        now = stages.next_deadline(BUDGET).unwrap();
        for call in stages.advance(now, BUDGET) {
            answer(&mut stages, now, &call, &Answer::Wait);
        }
    }
    assert_eq!(stages.stage(), Some(Stage::Terminate));
    assert_eq!(stages.failure(), Some(&Failure::TimeLimit));
    stages.advance(now + TERMINATE_MAX, BUDGET);
    assert!(stages.is_complete());
}

/// "All migration(s) must occur for the session within this time frame": the budget is one for all attempts.
#[test]
fn the_budget_goes_on_through_resets() {
    let mut stages = two();
    finish(&mut stages, at(0));
    for attempt in 1..=3_u64 {
        let now = at(attempt * 9_000);
        stages.elected(Role::Client);
        finish(&mut stages, now);
        assert!(stages.lose(now));
        assert_eq!(finish(&mut stages, now)[0], Stage::Reset);
    }
    assert_eq!(stages.resets(), 3);
    let calls = stages.advance(at(0) + BUDGET, BUDGET);
    assert!(calls.iter().all(|call| call.stage == Stage::Terminate));
}

/// "called when the anticipated new host leaves part way through the host migration process": once there is one, and as soon as there is something to go back to.
#[test]
fn a_new_host_that_leaves_before_a_role_is_played_resets_what_was_called() {
    // Not while `OnInitiate` runs, for what comes next is called all the same.
    let mut stages = two();
    assert_eq!(stages.advance(at(0), BUDGET)[0].stage, Stage::Initiate);
    stages.elected(Role::Client);
    assert!(stages.lose(at(1)));
    assert_eq!((stages.stage(), stages.resets()), (Some(Stage::Initiate), 0));

    // A listener still disconnects.
    let mut stages = two();
    for call in stages.advance(at(0), BUDGET) {
        answer(&mut stages, at(0), &call, &Answer::Done);
    }
    assert_eq!(stages.advance(at(0), BUDGET)[0].stage, Stage::DisconnectClient);
    stages.elected(Role::Client);
    assert!(stages.lose(at(1)));
    let (reset, again) = (Stage::Reset, Stage::DisconnectClient);
    assert_eq!(finish(&mut stages, at(1)), [reset, reset, again, again]);
    assert_eq!(stages.resets(), 1);

    // The one that leaves had been elected by nobody yet.
    assert!(stages.lose(at(2)));
    stages.elected(Role::Host);
    assert_eq!(finish(&mut stages, at(2))[0], Stage::PromoteToServer);
    assert_eq!(stages.resets(), 1);
}
