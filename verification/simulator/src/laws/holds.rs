//! What a game gets that asks for a hold (seed 003). What an event of a hold may do, the rules' own laws say.

use mainstay_fleet::Fleet;

use super::{Broken, ensure};
use crate::message::GameAsk;

/// How many servers were in the pool before a turn.
pub(crate) struct Before {
    unclaimed: u32,
}

impl Before {
    pub(crate) fn of(fleet: &Fleet) -> Self {
        Self { unclaimed: fleet.counts().unclaimed() }
    }

    /// "Holding a server does not negatively influence the number of available servers."
    pub(crate) fn changed_nothing_by_holding(self, asked: &GameAsk, fleet: &Fleet) -> Result<(), Broken> {
        match asked {
            GameAsk::Hold(_) | GameAsk::ReleaseHold => {}
            GameAsk::Reserve(_) | GameAsk::Unreserve | GameAsk::Ready | GameAsk::Unready => return Ok(()),
        }
        let now = fleet.counts().unclaimed();
        ensure(now == self.unclaimed, "holds never change available counts", || {
            format!("{} before a game asked {asked:?}, {now} after", self.unclaimed)
        })
    }
}
