//! How often rules were judged, and which refused, for whoever watches. Who fits is counted once for all rules; which rule it was is
//! asked only where somebody was refused.

use alloc::vec::Vec;

use super::plan::Plan;

/// A rule of the queue: its kind, and which one of that kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rule {
    Number(usize),
    Region,
    List(usize),
    Text(usize),
    Total(usize),
    Average(usize),
    Balance,
    Similarity,
}

/// The counts, since the engine was built.
#[derive(Debug, Clone, Default)]
pub(super) struct Judged {
    /// Candidates that every rule between tickets let into a group.
    candidates: u64,
    /// Groups that every rule of whole matches let be one.
    groups: u64,
    /// By rule, in the queue's order, how often it was the first to refuse.
    refused: Vec<u64>,
}

impl Judged {
    pub(super) const fn candidate_fits(&mut self) {
        self.candidates += 1;
    }

    pub(super) const fn group_fits(&mut self) {
        self.groups += 1;
    }

    #[cold]
    pub(super) fn refused(&mut self, plan: &Plan, by: Rule) {
        if let Some(at) = plan.rules.iter().position(|rule| *rule == by) {
            self.refused.resize(plan.rules.len(), 0);
            self.refused[at] += 1;
        }
    }

    /// By rule, in the queue's order, how often it let pass, and how often it refused.
    pub(super) fn told(&self, plan: &Plan) -> Vec<(u64, u64)> {
        let passed = |rule: &Rule| match rule {
            Rule::Number(_) | Rule::Region | Rule::List(_) | Rule::Text(_) => self.candidates,
            Rule::Total(_) | Rule::Average(_) | Rule::Balance | Rule::Similarity => self.groups,
        };
        let refused = self.refused.iter().copied().chain(core::iter::repeat(0));
        plan.rules.iter().map(passed).zip(refused).collect()
    }
}
