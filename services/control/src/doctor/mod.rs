//! `mainstay doctor`: every law against what is stored and against what lives, and whether everybody is heard.
//!
//! What is stored is read on a connection of its own and replayed into states of its own, so that no turn waits for it
//! ([`stored()`]; also on a stopped data directory). What lives is asked in turns that are short: a fleet is looked at whole
//! in one of them only where that takes milliseconds, and else part by part (`live`).

pub(crate) mod live;
mod providers;
mod stored;

pub use mainstay_wire::native::{DoctorView, Finding, Verdict};
pub use stored::{damage, stored};

/// Checks outside the control plane's own shards: its journal's files, its host, the agent in its process. May block.
pub trait HostChecks: Send + Sync + 'static {
    /// Everything that is found.
    fn look(&self) -> Vec<Finding>;
}

/// There is nothing to look at beside the shards.
#[derive(Debug, Clone, Copy)]
pub struct NoHostChecks;

impl HostChecks for NoHostChecks {
    fn look(&self) -> Vec<Finding> {
        Vec::new()
    }
}

/// The most broken laws of one check that are told: one is enough to look, and a broken index breaks for every server.
const TOLD_MAX: usize = 5;

/// What a check of laws found.
fn laws(check: String, held: String, broken: &[String]) -> Finding {
    if broken.is_empty() {
        return Finding::ok(check, held);
    }
    let more = broken.len().saturating_sub(TOLD_MAX);
    let mut why = broken.iter().take(TOLD_MAX).cloned().collect::<Vec<_>>().join("; ");
    if more > 0 {
        why = format!("{why}; and {more} more");
    }
    Finding::fail(
        check,
        why,
        "MS-U126",
        "a bug of ours: report it with this output; a restart derives every index anew from the journal",
    )
}
