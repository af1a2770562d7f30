//! Whether what a server's process began still stands: the question of whoever keeps something for it elsewhere, such as a queue
//! its backfill ticket.
//!
//! The answer is read from the state, so it may be asked at any time and by anybody, also after a restart: sessions and
//! incidents are durable, and how a process stands is said again by its agent on each stream.

use alloc::collections::VecDeque;
use core::mem::{Discriminant, discriminant};

use mainstay_core::slot::Phase;
use mainstay_core::{AllocationId, ClaimId, ServerId, Tenure};

use crate::claim::Claim;
use crate::fleet::Fleet;
use crate::server::{Seen, Server};

/// The most changes that are remembered: some seconds of the busiest fleet, which is looked at ten times a second. Whoever is
/// further behind looks at everything.
const MOVES_MAX: usize = 4_096;

/// The servers whose sessions or processes have changed, in the order of it. Soft.
#[derive(Debug, Clone, Default)]
pub(crate) struct Moves {
    /// How many are forgotten.
    forgotten: u64,
    newest: VecDeque<ServerId>,
}

impl Moves {
    pub(crate) const fn new() -> Self {
        Self { forgotten: 0, newest: VecDeque::new() }
    }

    pub(crate) fn add(&mut self, server: ServerId) {
        if self.newest.len() == MOVES_MAX {
            self.newest.pop_front();
            self.forgotten += 1;
        }
        self.newest.push_back(server);
    }

    fn next(&self) -> u64 {
        self.forgotten + u64::try_from(self.newest.len()).unwrap_or(u64::MAX)
    }
}

/// What of a server tenures hang on, besides incidents: its session, and which run of its process is where.
type Standing = (Option<ClaimId>, Option<(u64, Discriminant<Phase>)>);

pub(crate) fn standing(server: &Server) -> Standing {
    (session(server), server.seen().map(|seen| (seen.run, discriminant(&seen.phase))))
}

impl Fleet {
    /// The servers whose sessions or processes have changed since a mark, and the next mark. `None` where that is longer ago than is
    /// remembered: then any may have.
    #[must_use]
    pub fn moved_since(&self, mark: u64) -> (u64, Option<impl Iterator<Item = ServerId>>) {
        let next = self.moves.next();
        let known = (self.moves.forgotten..=next).contains(&mark);
        let behind = known.then(|| usize::try_from(mark - self.moves.forgotten).unwrap_or(usize::MAX));
        (next, behind.map(|behind| self.moves.newest.iter().skip(behind).copied()))
    }

    /// The tenure of the process that plays for an allocation; `None` where its agent has not said that one does: before, the last
    /// one that it told of is another, or one that will be replaced.
    #[must_use]
    pub fn tenure_of(&self, allocation: AllocationId) -> Option<Tenure> {
        let number = self.allocations.get(&allocation).filter(|it| it.end().is_none())?.placed()?.server;
        let server = self.server(number)?;
        let plays =
            |seen: &&Seen| seen.generation == server.generation && matches!(seen.phase, Phase::Online { .. });
        let run = server.seen().filter(plays)?.run;
        let tenure = Tenure { server: number, session: allocation.into(), run: (run > 0).then_some(run) };
        (!self.is_over(&tenure)).then_some(tenure)
    }

    /// The tenure of a run of a server's process, in the session the server has; `None` where it has none.
    #[must_use]
    pub fn tenure(&self, server: ServerId, run: u64) -> Option<Tenure> {
        let session = session(self.server(server)?)?;
        Some(Tenure { server, session, run: Some(run) }).filter(|tenure| !self.is_over(tenure))
    }

    /// Whether a tenure is over: its session ended or moved, its process ended, or its server is gone. A machine that is only
    /// silent ends nothing before it is lost, and with it its sessions.
    #[must_use]
    pub fn is_over(&self, tenure: &Tenure) -> bool {
        let Some(server) = self.server(tenure.server) else { return true };
        session(server) != Some(tenure.session)
            || tenure.run.is_some_and(|run| has_ended(server, tenure.session, run))
    }
}

fn session(server: &Server) -> Option<ClaimId> {
    match server.claim {
        Claim::Allocated(allocation) => Some(allocation.into()),
        Claim::Reserved(reservation) => Some(reservation.id.into()),
        Claim::Free | Claim::Held { .. } => None,
    }
}

/// What the agent says counts, where it has spoken. An ask of a run may overtake the first word of that run, so only a later run
/// is another one; a machine that was made anew counts from the beginning, so an incident speaks of its own session alone.
fn has_ended(server: &Server, session: ClaimId, run: u64) -> bool {
    let incident = server
        .incident()
        .filter(|incident| incident.allocation.is_none_or(|allocation| ClaimId::from(allocation) == session))
        .map(|incident| incident.run);
    match server.seen().filter(|seen| seen.run > 0) {
        Some(seen) if seen.run == run => match seen.phase {
            Phase::Stopped(_) | Phase::BackedOff { .. } | Phase::PreRecovery { .. } | Phase::Lost => true,
            Phase::Starting { .. } | Phase::Online { .. } | Phase::Stopping { .. } => incident == Some(run),
        },
        Some(seen) => seen.run > run,
        None => incident.is_some_and(|ended| ended >= run),
    }
}
