//! What a shard does to the world, once the state that asks for it is durable.

use std::time::Duration;

use mainstay_core::StateMachine;

/// Carries out what a state machine owes to the outside.
///
/// Two steps, because what is owed must be derived from exactly the state whose events it waits for: a later state may
/// hold orders that are not durable yet. [`Hands::take_up`] derives while that state is at hand; [`Hands::deliver`] acts
/// after the sync. What is lost between the two is owed again: to whoever connects next, or after a restart.
pub trait Hands<S: StateMachine>: Send + 'static {
    /// What is delivered later.
    type Delivery: Send + 'static;

    /// Derives what is owed to a target now; `None` where that is nothing, or nobody is there to take it.
    fn take_up(&mut self, target: &S::Target, state: &S) -> Option<TakenUp<S, Self::Delivery>>;

    /// A turn that nobody asked for, since its time had come, took so long to decide: for whoever measures.
    fn due_took(&mut self, _took: Duration) {}

    /// Delivers, after the sync, everything that one sync released. Must not block.
    fn deliver(&mut self, deliveries: Vec<Self::Delivery>);
}

/// Something owed that is on its way.
#[derive(Debug)]
pub struct TakenUp<S: StateMachine, D> {
    /// What [`Hands::deliver`] gets once the state is durable.
    pub delivery: D,
    /// What the state machine is told at once (soft), so that the next turn does not owe the same again.
    pub noted: Option<S::Observation>,
}

/// Hands of a state machine that owes nothing.
#[derive(Debug, Clone, Copy)]
pub struct NoHands;

impl<S: StateMachine + 'static> Hands<S> for NoHands {
    type Delivery = std::convert::Infallible;

    fn take_up(&mut self, _target: &S::Target, _state: &S) -> Option<TakenUp<S, Self::Delivery>> {
        None
    }

    fn deliver(&mut self, _deliveries: Vec<Self::Delivery>) {}
}
