//! The one trait of the house: rules as a value that turns commands into events.

use alloc::vec::Vec;

use crate::Timestamp;

/// Pure rules over durable and soft state.
///
/// *Durable* state changes only by events, through [`StateMachine::apply`]. *Soft* state changes by
/// [`StateMachine::observe`], is never journalled and may vanish at any instant. Two laws: replaying the recorded events
/// gives the same durable state; forgetting all soft state at any moment is safe.
pub trait StateMachine: Sized {
    /// What is asked.
    type Command;
    /// What happened: durable before anyone hears of it.
    type Event: Clone;
    /// What the caller is told once the events are durable.
    type Answer;
    /// Why not.
    type Rejection;
    /// What was seen: changes soft state alone.
    type Observation;
    /// Someone outside to whom effects can be owed.
    type Target: Ord + Clone;
    /// What the outside must do.
    type Effects;
    /// What a deadline is for.
    type Why;

    /// Every rule. Refusals come before the first [`Turn::emit`].
    ///
    /// # Errors
    /// The rejection, with nothing changed.
    fn decide(turn: &mut Turn<'_, Self>, command: &Self::Command) -> Result<Self::Answer, Self::Rejection>;

    /// The only change of durable state. Holds no rule and cannot fail.
    fn apply(&mut self, at: Timestamp, event: &Self::Event);

    /// The only change of soft state.
    fn observe(&mut self, now: Timestamp, observation: Self::Observation);

    /// What the outside still owes this state, for one target: derived until acknowledged, so repeating it does no harm.
    fn owed(&self, target: &Self::Target) -> Self::Effects;

    /// The targets whose owed effects may have changed since this was last called.
    fn take_touched(&mut self) -> Vec<Self::Target>;

    /// When this state next wants a turn of its own, and why. Nobody ticks: everyone sleeps until this.
    fn next_deadline(&self) -> Option<(Timestamp, Self::Why)>;

    /// The shortest story that rebuilds the durable state: events with the times they are applied at, in order of
    /// application. Times need not rise. One by one, where the state is large: all of them together weigh as much.
    fn story(&self) -> impl Iterator<Item = (Timestamp, Self::Event)>;

    /// The whole story.
    fn snapshot(&self) -> Vec<(Timestamp, Self::Event)> {
        self.story().collect()
    }
}

/// What a turn came to.
#[derive(Debug)]
pub struct Outcome<S: StateMachine> {
    /// What the caller is told, once [`Outcome::events`] and everything before them are durable.
    pub answer: Result<S::Answer, S::Rejection>,
    /// What happened, in order; empty where the answer is a refusal.
    pub events: Vec<S::Event>,
}

/// One command's passage through the rules: the time, the state, and the one way to change it.
#[derive(Debug)]
pub struct Turn<'a, S: StateMachine> {
    now: Timestamp,
    state: &'a mut S,
    events: Vec<S::Event>,
}

impl<'a, S: StateMachine> Turn<'a, S> {
    /// Runs one command to its end.
    ///
    /// # Panics
    /// Where a rule refuses after it has emitted: a bug in the rule, and half a turn must not become durable.
    pub fn run(now: Timestamp, state: &'a mut S, command: &S::Command) -> Outcome<S> {
        let mut turn = Turn { now, state, events: Vec::new() };
        let answer = S::decide(&mut turn, command);
        let events = turn.events;
        assert!(answer.is_ok() || events.is_empty(), "a refusal comes before the first event");
        Outcome { answer, events }
    }

    /// The turn's time; stored with its events.
    #[must_use]
    pub const fn now(&self) -> Timestamp {
        self.now
    }

    /// The state, with every event emitted so far applied.
    #[must_use]
    pub const fn state(&self) -> &S {
        self.state
    }

    /// Applies an event at once and records it.
    pub fn emit(&mut self, event: S::Event) {
        self.state.apply(self.now, &event);
        self.events.push(event);
    }

    /// Changes soft state within the turn; recorded nowhere.
    pub fn observe(&mut self, observation: S::Observation) {
        self.state.observe(self.now, observation);
    }

    /// How many events the turn has emitted.
    #[must_use]
    pub fn emitted(&self) -> usize {
        self.events.len()
    }
}
