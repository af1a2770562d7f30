//! What was lately read of a slot's process, kept for the evidence of its end. It goes with the agent: what counts against a
//! process is the rules' to remember.

use std::collections::VecDeque;

use mainstay_core::Timestamp;
use mainstay_core::slot::Reading;
use mainstay_supervisor::RunNumber;
use mainstay_wire::native::DatedReadingView;

/// The most that are kept of one process: more than the checks of half an hour at their default pace, the window that judges
/// them.
const KEPT_MAX: usize = 40;

/// The newest readings of one run.
#[derive(Debug, Default)]
pub(super) struct Readings {
    run: RunNumber,
    kept: VecDeque<(Timestamp, Reading)>,
}

impl Readings {
    /// Keeps one; the first of another run drops those before it.
    pub(super) fn note(&mut self, run: RunNumber, at: Timestamp, reading: Reading) {
        if run != self.run {
            self.run = run;
            self.kept.clear();
        }
        if self.kept.len() == KEPT_MAX {
            self.kept.pop_front();
        }
        self.kept.push_back((at, reading));
    }

    /// Those of a run, oldest first.
    pub(super) fn of(&self, run: RunNumber) -> Vec<DatedReadingView> {
        let of_run = self.kept.iter().filter(|_| run == self.run);
        of_run.map(|(at, reading)| DatedReadingView::of(*at, reading)).collect()
    }
}
