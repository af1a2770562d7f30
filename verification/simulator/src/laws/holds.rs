//! What a hold may do (seed 003), and what it may not.

use mainstay_core::Timestamp;
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

/// After a turn of the deadlines, no hold is left whose time has come.
pub(crate) fn none_outlives_its_time(fleet: &Fleet, now: Timestamp) -> Result<(), Broken> {
    let late = fleet.servers(None).find(|(_, server)| server.held_until().is_some_and(|until| until <= now));
    ensure(late.is_none(), "a hold never outlives its time", || {
        format!("{:?} at {now:?}", late.map(|(id, server)| (id, server.claim)))
    })
}
