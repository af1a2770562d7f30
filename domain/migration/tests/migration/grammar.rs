//! I8, I11 and I12 of reference/host-migration.md as properties of one migration: whatever listeners answer and whatever becomes of hosts
//! meanwhile, callbacks come in the order of seed 000, and it ends in time.

use std::collections::BTreeMap;
use std::time::Duration;

use mainstay_core::Timestamp;
use mainstay_migration::{Answer, Call, Failure, ListenerId, Priority, Role, Stage, Stages, TERMINATE_MAX};
use proptest::prelude::*;

const BUDGET: Duration = Duration::from_secs(30);
/// Listeners of a migration.
const LISTENERS: u32 = 3;

/// What happens next.
#[derive(Debug, Clone)]
enum Step {
    /// One that was called answers.
    Answers(usize, Answer),
    Elected(Role),
    Settles,
    Loses,
    Fails,
    /// One is unregistered.
    Removes(u32),
    /// So many milliseconds go by.
    Passes(u64),
}

fn any_step() -> impl Strategy<Value = Step> {
    let answer = prop_oneof![6 => Just(Answer::Done), 3 => Just(Answer::Wait), 1 => Just(Answer::Veto)];
    prop_oneof![
        40 => (0..8_usize, answer).prop_map(|(which, answer)| Step::Answers(which, answer)),
        6 => prop_oneof![Just(Role::Host), Just(Role::Client)].prop_map(Step::Elected),
        6 => Just(Step::Settles),
        3 => Just(Step::Loses),
        1 => Just(Step::Fails),
        1 => (0..LISTENERS).prop_map(Step::Removes),
        20 => prop_oneof![4 => 0..100_u64, 1 => 0..5_000_u64].prop_map(Step::Passes),
    ]
}

pub fn follows(before: Option<Stage>, next: Stage) -> bool {
    match next {
        Stage::Initiate => before.is_none(),
        Stage::DisconnectClient => matches!(before, Some(Stage::Initiate | Stage::Reset)),
        Stage::DemoteToClient | Stage::PromoteToServer => before == Some(Stage::DisconnectClient),
        Stage::ReconnectClient => matches!(before, Some(Stage::DemoteToClient | Stage::PromoteToServer)),
        Stage::Finalise => before == Some(Stage::ReconnectClient),
        Stage::Reset => matches!(
            before,
            Some(
                Stage::DisconnectClient
                    | Stage::DemoteToClient
                    | Stage::PromoteToServer
                    | Stage::ReconnectClient
                    | Stage::Reset
            )
        ),
        Stage::Terminate => before != Some(Stage::Terminate),
    }
}

/// A game that does what it is told.
struct Game {
    stages: Stages,
    now: Timestamp,
    stage: Option<Stage>,
    /// The state of each listener, and whether it is done with this stage.
    listeners: BTreeMap<ListenerId, (u32, bool)>,
    /// Calls that nobody has answered yet.
    pending: Vec<Call>,
    terminated: u32,
}

impl Game {
    fn begin() -> Self {
        let now = Timestamp::from_unix_ms(0);
        let names = (0..LISTENERS).map(|id| (ListenerId(id), (id.to_string(), Priority::Engine)));
        let stages = Stages::begin(now, &names.collect());
        let listeners = (0..LISTENERS).map(|id| (ListenerId(id), (0, false))).collect();
        Self { stages, now, stage: None, listeners, pending: Vec::new(), terminated: 0 }
    }

    fn advance(&mut self) -> Result<(), TestCaseError> {
        for call in self.stages.advance(self.now, BUDGET) {
            if self.stage != Some(call.stage) {
                prop_assert!(follows(self.stage, call.stage), "{:?} after {:?}", call.stage, self.stage);
                let is_over = self.listeners.values().all(|(_, done)| *done);
                let cuts_short = matches!(call.stage, Stage::Terminate | Stage::Reset);
                prop_assert!(self.stage.is_none() || is_over || cuts_short, "{:?} is pending", self.stage);
                self.stage = Some(call.stage);
                self.terminated += u32::from(call.stage == Stage::Terminate);
                self.listeners.values_mut().for_each(|listener| *listener = (0, false));
                self.pending.clear();
            }
            let (state, done) = self.listeners[&call.listener];
            prop_assert!(!done, "{call:?} is done");
            prop_assert_eq!(call.state, state, "{:?}", call);
            self.pending.push(call);
        }
        prop_assert!(self.terminated <= 1);
        Ok(())
    }

    fn take(&mut self, step: Step) {
        match step {
            Step::Answers(which, answer) if !self.pending.is_empty() => {
                let call = self.pending.remove(which % self.pending.len());
                self.stages.answer(self.now, call.listener, call.number, call.state + 1, &answer);
                let done = matches!(answer, Answer::Done | Answer::Veto);
                self.listeners.insert(call.listener, (call.state + 1, done));
            }
            Step::Answers(..) => {}
            Step::Elected(role) => {
                self.stages.elected(role);
            }
            Step::Settles => self.stages.settle(),
            Step::Loses => {
                self.stages.lose(self.now);
            }
            Step::Fails => self.stages.fail(self.now, Failure::NoMajority),
            Step::Removes(id) => {
                self.stages.remove(ListenerId(id));
                self.listeners.remove(&ListenerId(id));
                self.pending.retain(|call| call.listener != ListenerId(id));
            }
            Step::Passes(ms) => self.now = self.now + Duration::from_millis(ms),
        }
    }
}

proptest! {
    #[test]
    fn callbacks_come_in_their_order_and_a_migration_ends(steps in prop::collection::vec(any_step(), 0..200)) {
        let mut game = Game::begin();
        game.advance()?;
        for step in steps {
            game.take(step);
            game.advance()?;
        }
        // From here on nobody answers, and no host comes.
        let end = game.now.max(Timestamp::from_unix_ms(0) + BUDGET) + TERMINATE_MAX;
        while !game.stages.is_complete() {
            let next = game.stages.next_deadline(BUDGET);
            prop_assert!(next.is_some(), "it waits for something");
            game.now = next.unwrap_or(game.now).max(game.now);
            game.advance()?;
            prop_assert!(game.now <= end, "{:?} is after {end:?}", game.now);
        }
        let last_stage = game.stage;
        match game.stages.failure() {
            Some(_) => prop_assert!(game.terminated == 1 || game.listeners.is_empty()),
            None => prop_assert!(last_stage == Some(Stage::Finalise) || game.listeners.is_empty()),
        }
    }
}
