//! What fleets keep for queues: a queue gets the servers of its matches of one build configuration of one fleet, and whoever takes
//! that away without giving the queue another has every group of it refused.

use std::collections::BTreeSet;
use std::sync::Arc;

use mainstay_fleet::catalog::{Declaration, FleetDeclaration};
use mainstay_matchmaking::spec::{QueueSpec, ServerAllocation, Venue};

use super::Queues;
use crate::shards::OpenFleet;

/// The most queues that one message names: a line has room for these, and `problems` has all.
const NAMED_MAX: usize = 10;

/// A change of fleets would take the servers of queues away. Nothing of it is done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("queues get their servers of what would be gone: {} (MS-M027)", told(.0))]
pub struct Needed(Vec<Need>);

/// What one queue would lose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Need {
    pub(crate) queue: Arc<str>,
    pub(crate) of: ServerAllocation,
}

impl Needed {
    /// Of each queue, by its name.
    pub(crate) fn needs(&self) -> &[Need] {
        &self.0
    }
}

/// The first of them by name.
fn told(needs: &[Need]) -> String {
    let named: Vec<String> = needs.iter().take(NAMED_MAX).map(Need::told).collect();
    match needs.len().saturating_sub(NAMED_MAX) {
        0 => named.join(", "),
        more => format!("{}, and {more} more", named.join(", ")),
    }
}

impl Need {
    pub(crate) fn told(&self) -> String {
        let Self { queue, of } = self;
        format!("{queue} of build configuration {} of fleet {}", of.build_configuration, of.fleet)
    }
}

impl Queues {
    /// Refuses a declaration whose fleets no longer have what queues get their servers of, but for queues that are `set` after it.
    ///
    /// # Errors
    /// See [`Needed`].
    pub(crate) fn keep<'a>(
        &self,
        declaration: &Declaration,
        set: impl IntoIterator<Item = &'a Arc<QueueSpec>>,
    ) -> Result<(), Needed> {
        let set: BTreeSet<&str> = set.into_iter().map(|spec| &*spec.name).collect();
        let lost = |fleet: &OpenFleet, of: &ServerAllocation| {
            let mut named = declaration.fleets.iter().filter(|it| it.name == fleet.spec.name);
            named.any(|it| drops(it, fleet, &of.build_configuration))
        };
        self.needed(|queue, fleet, of| !set.contains(queue) && lost(fleet, of))
    }

    /// Refuses to delete a fleet that queues get their servers of.
    ///
    /// # Errors
    /// See [`Needed`].
    pub(crate) fn keep_fleet(&self, deleted: &OpenFleet) -> Result<(), Needed> {
        self.needed(|_, fleet, _| fleet.spec.number == deleted.spec.number)
    }

    fn needed(&self, lost: impl Fn(&str, &OpenFleet, &ServerAllocation) -> bool) -> Result<(), Needed> {
        let fleets = self.0.placement.fleets().now();
        let open = self.now();
        let needs = open.iter().filter_map(|(name, queue)| match queue.rules().spec.venue.clone()? {
            Venue::Server(of) => {
                let fleet = fleets.named(&of.fleet)?;
                lost(name, fleet, &of).then(|| Need { queue: Arc::clone(name), of })
            }
            Venue::Session { .. } => None,
        });
        let needs: Vec<Need> = needs.collect();
        if needs.is_empty() { Ok(()) } else { Err(Needed(needs)) }
    }

    /// Says of which queues the fleets that there are have no servers, as a start finds them: they keep their tickets, which still fill
    /// games that go on.
    pub(crate) fn tell_without_servers(&self) {
        for (name, queue) in &*self.now() {
            let Some(Venue::Server(of)) = queue.rules().spec.venue.clone() else { continue };
            if let Err(fault) = self.0.placement.check(&of, &[]) {
                tracing::warn!(queue = %name, why = %fault.what, "no match of the queue gets a server (MS-M027)");
            }
        }
    }
}

/// Whether a fleet has a build configuration now, and would not by this. What it lacks already is no loss.
fn drops(declared: &FleetDeclaration, fleet: &OpenFleet, named: &str) -> bool {
    let id = fleet.configuration(named);
    let known = fleet.spec.configurations.iter().find(|it| Some(it.configuration.id) == id);
    known.is_some_and(|known| !declared.configurations.contains(&known.name))
}
