//! What the hands are to do, in order. As a migration begins a second queue begins: seed 000 has OnInitiate "store any pertinent information
//! required to persist across the migration", and what the game is told since, such as the state that it goes on from, waits for that call.

use alloc::vec::Vec;

use crate::session::words::Output;

#[derive(Debug, Clone, Default)]
pub(super) struct Outbox {
    ready: Vec<Output>,
    /// While listeners are to be called first.
    waiting: Option<Vec<Output>>,
}

impl Outbox {
    pub(super) fn push(&mut self, output: Output) {
        self.waiting.as_mut().unwrap_or(&mut self.ready).push(output);
    }

    pub(super) fn extend(&mut self, outputs: impl IntoIterator<Item = Output>) {
        self.waiting.as_mut().unwrap_or(&mut self.ready).extend(outputs);
    }

    /// What is said from now on waits for the listeners.
    pub(super) fn hold(&mut self) {
        self.waiting.get_or_insert_default();
    }

    /// What has waited, which comes after what the listeners are told now.
    pub(super) fn release(&mut self) -> Vec<Output> {
        self.waiting.take().unwrap_or_default()
    }

    /// Takes back what is not said yet, and not true any more.
    pub(super) fn withdraw(&mut self, is_void: impl Fn(&Output) -> bool) {
        for queue in [Some(&mut self.ready), self.waiting.as_mut()].into_iter().flatten() {
            queue.retain(|output| !is_void(output));
        }
    }

    /// Everything that waits for nobody, once.
    pub(super) fn take(&mut self) -> Vec<Output> {
        core::mem::take(&mut self.ready)
    }
}
