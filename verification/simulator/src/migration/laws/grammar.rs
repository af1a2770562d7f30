//! I11 and I12: the callbacks of one peer, in the order of seed 000, and to each listener that it has registered.

use std::collections::{BTreeMap, BTreeSet};

use mainstay_migration::{Answer, Call, ListenerId, Outcome, Report, Stage};

use crate::laws::{Broken, ensure};

/// What one peer's listeners have heard.
#[derive(Debug, Default)]
pub(in super::super) struct Grammar {
    /// All of them, whoever is called.
    registered: BTreeSet<ListenerId>,
    stage: Option<Stage>,
    /// How far each is with this stage.
    turns: BTreeMap<ListenerId, Turn>,
    calls: BTreeMap<ListenerId, u32>,
}

/// How far one listener is with a stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    /// It has not been called.
    Uncalled,
    /// It was, and is to be called again with that state.
    Called(u32),
    Done,
}

impl Grammar {
    /// A game registers a listener, while no migration runs.
    pub(in super::super) fn register(&mut self, listener: ListenerId) {
        self.registered.insert(listener);
    }

    /// A listener is called.
    pub(in super::super) fn called(&mut self, call: &Call) -> Result<(), Broken> {
        if self.stage != Some(call.stage) {
            let ok = follows(self.stage, call.stage);
            ensure(ok, "I11: callbacks come in the order of the seed", || {
                format!("{:?} after {:?}", call.stage, self.stage)
            })?;
            self.all_heard()?;
            let may_cut_short = matches!(call.stage, Stage::Terminate | Stage::Reset);
            ensure(
                may_cut_short || self.are_all_done(),
                "I12: no stage begins while a listener is pending",
                || format!("{:?} after {:?}: {:?}", call.stage, self.stage, self.turns),
            )?;
            self.stage = Some(call.stage);
            self.turns = self.registered.iter().map(|listener| (*listener, Turn::Uncalled)).collect();
        }
        let turn = self.turns.get(&call.listener).copied();
        ensure(turn.is_some(), "I12: nobody is called who has not registered", || format!("{call:?}"))?;
        ensure(turn != Some(Turn::Done), "I12: a listener that is done is not called again", || {
            format!("{call:?}")
        })?;
        let state = match turn {
            Some(Turn::Called(state)) => state,
            Some(Turn::Uncalled | Turn::Done) | None => 0,
        };
        ensure(call.state == state, "I11: state is 0 at first and kept until a listener is done", || {
            format!("{call:?}, not {state}")
        })?;
        self.turns.insert(call.listener, Turn::Called(state));
        self.calls.insert(call.listener, call.number);
        Ok(())
    }

    /// It answers.
    pub(in super::super) fn answered(
        &mut self,
        listener: ListenerId,
        number: u32,
        state: u32,
        answer: &Answer,
    ) {
        if self.calls.get(&listener) != Some(&number) {
            return;
        }
        if let Some(turn) = self.turns.get_mut(&listener) {
            *turn = match answer {
                Answer::Done | Answer::Veto => Turn::Done,
                Answer::Wait => Turn::Called(state),
            };
        }
    }

    /// A migration is over for the peer.
    pub(super) fn completed(&mut self, report: &Report) -> Result<(), Broken> {
        self.all_heard()?;
        let last = self.stage.take();
        let is_last = |stage| last == Some(stage) || last.is_none() && self.registered.is_empty();
        let ok = match &report.outcome {
            Outcome::Moved { .. } => is_last(Stage::Finalise) && self.are_all_done(),
            Outcome::Terminated(_) => is_last(Stage::Terminate),
        };
        ensure(ok, "I11: a migration ends with Finalise or Terminate", || format!("{last:?}: {report:?}"))?;
        self.turns.clear();
        Ok(())
    }

    /// Whoever has registered is called in every stage that anybody is called in.
    fn all_heard(&self) -> Result<(), Broken> {
        let unheard = self.turns.iter().find(|(_, turn)| **turn == Turn::Uncalled);
        ensure(unheard.is_none(), "I12: every listener is called in every stage", || {
            format!("{:?}: {unheard:?}", self.stage)
        })
    }

    fn are_all_done(&self) -> bool {
        self.turns.values().all(|turn| *turn == Turn::Done)
    }

    pub(super) const fn is_running(&self) -> bool {
        self.stage.is_some()
    }

    /// Whether that stage has not begun.
    pub(in super::super) fn is_new(&self, stage: Stage) -> bool {
        self.stage != Some(stage)
    }
}

fn follows(before: Option<Stage>, next: Stage) -> bool {
    match next {
        Stage::Initiate => before.is_none(),
        Stage::DisconnectClient => matches!(before, Some(Stage::Initiate | Stage::Reset)),
        Stage::DemoteToClient | Stage::PromoteToServer => before == Some(Stage::DisconnectClient),
        Stage::ReconnectClient => {
            matches!(before, Some(Stage::DemoteToClient | Stage::PromoteToServer))
        }
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
        // "An error … could happen at any point": also while a listener finalises.
        Stage::Terminate => before != Some(Stage::Terminate),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(calls: &[(u32, Stage)]) -> Result<(), Broken> {
        let mut grammar = Grammar::default();
        (0..2).for_each(|listener| grammar.register(ListenerId(listener)));
        for (number, (listener, stage)) in (1..).zip(calls) {
            let listener = ListenerId(*listener);
            grammar.called(&Call { listener, stage: *stage, number, state: 0 })?;
            grammar.answered(listener, number, 1, &Answer::Done);
        }
        Ok(())
    }

    /// "Only when all the registered listeners for a given state have returned true": one that is never asked has not.
    #[test]
    fn a_listener_that_is_never_called_is_noticed() {
        let (first, next) = (Stage::Initiate, Stage::DisconnectClient);
        assert_eq!(heard(&[(0, first), (1, first), (0, next), (1, next)]), Ok(()));
        let law = |calls: &[(u32, Stage)]| heard(calls).err().map(|broken| broken.law);
        let unheard = Some("I12: every listener is called in every stage".to_owned());
        assert_eq!(law(&[(0, first), (0, next)]), unheard);
        assert_eq!(law(&[(0, first), (0, Stage::Terminate)]), unheard, "also where it is cut short");
        let unknown = Some("I12: nobody is called who has not registered".to_owned());
        assert_eq!(law(&[(0, first), (2, first)]), unknown);
    }
}
