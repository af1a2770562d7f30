//! Where the servers of a queue can be: what its fleet has at this moment, for the rules that judge it. A region that is added to the fleet,
//! or given another name, needs no word to the queue; who waits by then keeps the name that counted when it came.

use std::sync::Arc;

use mainstay_fleet::{RegionOpening, RegionSpec};
use mainstay_matchmaking::Places;
use mainstay_matchmaking::spec::{QueueSpec, Venue};

use super::placement::Placement;

impl Placement {
    /// The regions of the fleet that the queue gets its servers of. A fleet that is gone tells so where its servers are asked for.
    pub(super) fn places(&self, spec: &QueueSpec) -> Option<Places> {
        let Some(Venue::Server(of)) = &spec.venue else { return None };
        if !Places::count_in(spec) {
            return None;
        }
        let fleet = self.fleets().now().named(&of.fleet).cloned()?;
        let called = |region: &RegionSpec| {
            let id: Arc<str> = region.id.to_string().into();
            (region.name.clone(), region.aliases.iter().cloned().chain([id]).collect::<Vec<_>>())
        };
        // One that is taken out of the file stays among them as long as anybody remembers what was there.
        let (open, closed): (Vec<_>, Vec<_>) =
            fleet.spec.regions.iter().partition(|region| region.opening == RegionOpening::Online);
        Some(Places::new(open.into_iter().map(called), closed.into_iter().map(called)))
    }
}
