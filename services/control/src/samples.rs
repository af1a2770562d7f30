//! How fleets stood, minute by minute, for a day: what charts show. Soft: it begins anew with the process.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use mainstay_core::{FleetNumber, RegionId, Timestamp};
use tokio::sync::watch;

use crate::counted::Counted;
use crate::http::raised;
use crate::shards::{Fleets, OpenFleet};

/// How often a fleet is looked at: what people watch changes over minutes.
const INTERVAL: Duration = Duration::from_secs(60);
/// How many looks are kept: a day of them, 70 KB a region.
const KEPT: usize = 24 * 60;
/// The most regions, of all fleets together, that are sampled: 70 MB. Further ones have no charts.
const REGIONS_MAX: usize = 1_000;

/// How a region of a fleet stood.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sample {
    pub(crate) at: Timestamp,
    pub(crate) counted: Counted,
    pub(crate) machines: u32,
}

type Rings = BTreeMap<(FleetNumber, RegionId), VecDeque<Sample>>;

/// The samples of a running control plane.
#[derive(Debug, Clone, Default)]
pub(crate) struct Samples(Arc<Mutex<Rings>>);

impl Samples {
    /// Of one region of a fleet, or of all together; oldest first.
    pub(crate) fn of(&self, fleet: FleetNumber, region: Option<RegionId>) -> Vec<Sample> {
        let rings = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let of_fleet = rings
            .iter()
            .filter(|((number, id), _)| *number == fleet && region.is_none_or(|region| region == *id));
        let mut at: BTreeMap<Timestamp, Sample> = BTreeMap::new();
        for sample in of_fleet.flat_map(|(_, ring)| ring) {
            let none = Sample { at: sample.at, counted: Counted::default(), machines: 0 };
            let sum = at.entry(sample.at).or_insert(none);
            sum.counted += sample.counted;
            sum.machines += sample.machines;
        }
        at.into_values().collect()
    }

    /// Looks every minute until told to stop.
    pub(crate) async fn run(self, fleets: Fleets, mut closed: watch::Receiver<bool>) {
        loop {
            for fleet in fleets.now().all() {
                self.look(fleet).await;
            }
            tokio::select! {
                () = tokio::time::sleep(INTERVAL) => {}
                () = raised(&mut closed) => return,
            }
        }
    }

    async fn look(&self, fleet: &OpenFleet) {
        let spec = Arc::clone(&fleet.spec);
        let looked = fleet.read(move |state, now| {
            let region = |region: &mainstay_fleet::RegionSpec| {
                let machines = state.machines().filter(|(_, machine)| machine.region == region.id).count();
                let machines = u32::try_from(machines).unwrap_or(u32::MAX);
                let counted = Counted::region(state, region.id);
                (region.id, Sample { at: now, counted, machines })
            };
            spec.regions.iter().map(region).collect::<Vec<_>>()
        });
        // A shard that does not answer is a minute without a sample.
        let Ok(looked) = looked.await else { return };
        let mut rings = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (region, sample) in looked {
            let key = (fleet.spec.number, region);
            if rings.len() >= REGIONS_MAX && !rings.contains_key(&key) {
                continue;
            }
            let ring = rings.entry(key).or_default();
            if ring.len() == KEPT {
                ring.pop_front();
            }
            ring.push_back(sample);
        }
    }
}
