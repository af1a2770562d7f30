//! What the compactor rebuilds of a control plane's journal.

use mainstay_fleet::Fleet;
use mainstay_fleet::catalog::Catalog;
use mainstay_journal::{Cause, Fold, ShardName, StoredFold, TurnRecord};

use super::{CATALOG, FLEET_PREFIX};

/// The fold of any shard of a control plane.
#[derive(Debug)]
pub enum PlaneFold {
    /// The catalog.
    Catalog(StoredFold<Catalog>),
    /// A fleet.
    Fleet(StoredFold<Fleet>),
}

impl PlaneFold {
    /// The fold of a shard's first state; `None` where the shard is none of a control plane's.
    #[must_use]
    pub fn of(shard: &ShardName) -> Option<Self> {
        match shard.as_str() {
            CATALOG => Some(Self::Catalog(StoredFold::new(Catalog::default()))),
            // Nobody chooses ids for this copy: its tables may begin anywhere.
            fleet if fleet.starts_with(FLEET_PREFIX) => Some(Self::Fleet(StoredFold::new(Fleet::new(0)))),
            _others => None,
        }
    }
}

impl Fold for PlaneFold {
    fn take_chunk(&mut self, chunk: &[u8]) -> Result<(), Cause> {
        match self {
            Self::Catalog(fold) => fold.take_chunk(chunk),
            Self::Fleet(fold) => fold.take_chunk(chunk),
        }
    }

    fn take_turn(&mut self, turn: &TurnRecord) -> Result<(), Cause> {
        match self {
            Self::Catalog(fold) => fold.take_turn(turn),
            Self::Fleet(fold) => fold.take_turn(turn),
        }
    }

    fn chunks(&self) -> Vec<Vec<u8>> {
        match self {
            Self::Catalog(fold) => fold.chunks(),
            Self::Fleet(fold) => fold.chunks(),
        }
    }
}
