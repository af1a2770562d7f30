//! Events in the life of an allocation.

use mainstay_core::slot::ConfigurationRef;
use mainstay_core::{AllocationId, RegionId, ServerId, Timestamp};

use crate::allocation::{Allocation, End, Placed, Purpose, Request, Stage};
use crate::claim::Claim;
use crate::fleet::Fleet;
use crate::tally::Telling;

/// The most ended allocations kept readable, whatever the retention time: at some 300 bytes each this bounds what a
/// caller can fill memory with by allocating and deallocating in a loop to about 60 MB.
const ENDED_MAX: usize = 200_000;

impl Fleet {
    pub(super) fn requested(&mut self, at: Timestamp, id: AllocationId, request: &Request, until: Timestamp) {
        let allocation = Allocation {
            request: request.clone(),
            requested: at,
            ready: None,
            stage: Stage::Waiting { until },
        };
        self.allocations.insert(id, allocation);
        self.by_request.insert((at, id));
        self.live.insert((at, id));
        match request.purpose {
            Purpose::Session => {}
            Purpose::Test => {
                self.tests.insert((at, id));
            }
        }
        self.queue(id, request.region, at, until);
    }

    pub(super) fn placed(
        &mut self,
        at: Timestamp,
        id: AllocationId,
        server: ServerId,
        wanted: ConfigurationRef,
    ) {
        let choice = match self.telling() {
            Telling::Happens => self.choosing(server, wanted),
            Telling::Told => None,
        };
        if let Some(server) = self.servers.get_mut(&server) {
            server.choice = choice;
        }
        self.leave_waiting(id);
        let Some(allocation) = self.allocations.get_mut(&id) else { return };
        allocation.stage = Stage::Placed(Placed { server, at });
        self.claim(at, server, Claim::Allocated(id));
    }

    /// An allocation that had a server waits again, in the place its request gives it.
    pub(super) fn displaced(&mut self, at: Timestamp, id: AllocationId, until: Timestamp) {
        let Some(allocation) = self.allocations.get_mut(&id) else { return };
        let Some(Placed { server, .. }) = allocation.placed() else { return };
        allocation.stage = Stage::Waiting { until };
        allocation.ready = None;
        let (region, requested) = (allocation.request.region, allocation.requested);
        self.queue(id, region, requested, until);
        if self.servers.get(&server).and_then(|server| server.allocation()) == Some(id) {
            self.claim(at, server, Claim::Free);
        }
    }

    pub(super) fn fulfilled(&mut self, at: Timestamp, id: AllocationId) {
        let Some(allocation) = self.allocations.get_mut(&id) else { return };
        if let Some(placed) = allocation.placed() {
            allocation.stage = Stage::Fulfilled { placed, at };
        }
    }

    pub(super) fn ended(&mut self, at: Timestamp, id: AllocationId, end: &End) {
        self.leave_waiting(id);
        let Some(allocation) = self.allocations.get_mut(&id) else { return };
        let placed = allocation.placed();
        allocation.stage = Stage::Ended { placed, fulfilled: allocation.fulfilled(), at, end: end.clone() };
        allocation.request.payload = None;
        self.live.remove(&(allocation.requested, id));
        self.tests.remove(&(allocation.requested, id));
        self.ended.insert((at, id));
        if let Some(Placed { server, .. }) = placed
            && self.servers.get(&server).and_then(|server| server.allocation()) == Some(id)
        {
            self.claim(at, server, Claim::Free);
        }
    }

    /// Forgetting by age needs no event: the turn's time says when.
    pub(super) fn forget_ended(&mut self, at: Timestamp) {
        let Some(retention) = self.spec.as_ref().map(|spec| spec.retention) else { return };
        while let Some(&(ended, id)) = self.ended.first() {
            if at.since(ended) < retention && self.ended.len() <= ENDED_MAX {
                return;
            }
            self.ended.pop_first();
            if let Some(allocation) = self.allocations.remove(&id) {
                self.by_request.remove(&(allocation.requested, id));
            }
        }
    }

    fn leave_waiting(&mut self, id: AllocationId) {
        if let Some(Allocation { request, requested, stage: Stage::Waiting { until }, .. }) =
            self.allocations.get(&id)
        {
            self.waiting.remove(&(request.region, *requested, id));
            self.waiting_until.remove(&(*until, id));
            if let Some(pool) = self.pools.get_mut(&request.region) {
                pool.waiting -= 1;
            }
        }
    }

    fn queue(&mut self, id: AllocationId, region: RegionId, requested: Timestamp, until: Timestamp) {
        self.waiting.insert((region, requested, id));
        self.waiting_until.insert((until, id));
        self.pools.entry(region).or_default().waiting += 1;
    }
}
