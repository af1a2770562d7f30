//! What queues know of the servers that games run on here: whose a process is, and when it is over (record 0043).
//!
//! Nothing is remembered. A queue's state says which processes its backfill tickets hang on, the fleet's says whether they stand;
//! whoever looks at both, whenever, comes to the same. So a crash of this program between any two steps loses nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use mainstay_core::{AllocationId, ClaimId, FleetNumber, ServerId, Tenure, Timestamp};
use mainstay_fleet::Fleet;
use mainstay_journal::ShardName;
use mainstay_matchmaking::{Command, Queue, ServerDetails};
use mainstay_runtime::{Clock, Error, Growth, Handle, JournalHandle};
use mainstay_wire::native::{NativeAllocation, Within};
use tokio::sync::{broadcast, watch};
use uuid::Uuid;

use super::changes::Changes;
use super::placement::{details, wait_for};
use crate::limiter::{Exceeded, Limit};
use crate::shards::{FLEET_PREFIX, Fleets, OpenFleet};

/// How often the processes that tickets hang on are looked at while no fleet decides anything: that a process was replaced is a
/// report, and reports alone are not journalled.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// The shortest between two looks, however much the fleets decide: ten reads a second of each fleet and queue, each of what has
/// changed since the one before.
const LOOK_AFTER: Duration = Duration::from_millis(100);

/// Calls of one server's token a minute, on both faces together. A game looks at its ticket every six seconds and makes a new one
/// whenever somebody leaves; one that found the tickets of a crashed game lists and cancels for each of a hundred players at once.
const CALLS: u32 = 300;

/// The servers of games.
#[derive(Clone)]
pub(crate) struct Hosts {
    fleets: Fleets,
    clock: Arc<dyn Clock>,
    /// By server: a process that is started again has not called less.
    calls: Arc<Limit>,
    /// Counts the durable turns of fleets.
    turns: watch::Receiver<u64>,
}

impl std::fmt::Debug for Hosts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hosts").field("fleets", &self.fleets).finish_non_exhaustive()
    }
}

/// What plays for an allocation that is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Plays {
    /// A process hosted here.
    Here(Tenure),
    /// Nothing yet, or nothing that its machine has told of: which of its processes would play is not known.
    NotYet,
    /// Nothing any more.
    Over,
    /// Nothing that is known: the name is of a server elsewhere, or of what nobody remembers.
    Elsewhere,
}

impl Hosts {
    /// Follows what fleets decide, from now on.
    pub(super) fn new(fleets: Fleets, clock: Arc<dyn Clock>, journal: &JournalHandle) -> Self {
        let (decided, turns) = watch::channel(0);
        let mut tail = journal.tail();
        tokio::spawn(async move {
            let is_fleets = |shard: &ShardName| shard.as_str().starts_with(FLEET_PREFIX);
            loop {
                let news = match tail.recv().await {
                    Ok(batch) => batch.iter().any(|turn| is_fleets(&turn.shard)),
                    Err(broadcast::error::RecvError::Lagged(_)) => true,
                    Err(broadcast::error::RecvError::Closed) => return,
                };
                if news {
                    decided.send_modify(|turns| *turns += 1);
                }
            }
        });
        let calls = Arc::new(Limit::new("calls of one server's token", CALLS));
        Self { fleets, clock, calls, turns }
    }

    /// What plays for an allocation.
    ///
    /// # Errors
    /// Where a fleet gives no answer.
    pub(crate) async fn of_allocation(&self, named: &str) -> Result<Plays, Error> {
        let Ok(allocation) = named.parse::<AllocationId>() else { return Ok(Plays::Elsewhere) };
        let read = move |fleet: &Fleet, now: Timestamp| {
            let known = fleet.allocation(allocation, now)?;
            Some(match (known.end(), fleet.tenure_of(allocation)) {
                (Some(_), _) => Plays::Over,
                (None, Some(tenure)) => Plays::Here(tenure),
                (None, None) => Plays::NotYet,
            })
        };
        for fleet in self.fleets.now().all() {
            if let Some(plays) = fleet.read(read).await? {
                return Ok(plays);
            }
        }
        Ok(Plays::Elsewhere)
    }

    /// Lets in a call of a process that showed the token it was given.
    ///
    /// # Errors
    /// See [`NotAdmitted`].
    pub(crate) async fn admit(&self, tenure: Tenure) -> Result<(), NotAdmitted> {
        self.calls.charge([tenure.server], self.clock.now())?;
        self.stands(tenure).await
    }

    /// Whether a process stands whose token somebody else asks about: not its own call.
    ///
    /// # Errors
    /// See [`NotAdmitted`].
    pub(crate) async fn stands(&self, tenure: Tenure) -> Result<(), NotAdmitted> {
        let stands = match self.fleet(&tenure) {
            Some(fleet) => fleet.read(move |fleet, _| !fleet.is_over(&tenure)).await?,
            None => false,
        };
        if stands { Ok(()) } else { Err(NotAdmitted::Over) }
    }

    /// How players reach a process that stands; its region by one of these names, where one is its region's.
    ///
    /// # Errors
    /// Where its fleet gives no answer.
    pub(crate) async fn details(
        &self,
        tenure: Tenure,
        regions: &[Arc<str>],
    ) -> Result<Option<ServerDetails>, Error> {
        let Some(fleet) = self.fleet(&tenure) else { return Ok(None) };
        let spec = Arc::clone(&fleet.spec);
        let read = move |state: &Fleet, now: Timestamp| -> Option<NativeAllocation> {
            if state.is_over(&tenure) {
                return None;
            }
            let id = AllocationId(tenure.session.0);
            let allocation = state.allocation(id, now)?;
            Some(Within { spec: &spec, fleet: state }.allocation(id, allocation))
        };
        let view = fleet.read(read).await?;
        Ok(view.map(|view| {
            let region = Some(view.allocation.region_id);
            let named = regions.iter().find(|named| fleet.region(named) == region);
            details(&view, &fleet, named)
        }))
    }

    fn fleet(&self, tenure: &Tenure) -> Option<OpenFleet> {
        self.fleets.now().number(tenure.server.fleet()).cloned()
    }

    /// Tells a queue of each process that its tickets hang on and that is over, until its shard ends.
    pub(super) async fn watch(mut self, queue: Handle<Queue>, hanging: Changes<Tenure, Hangs>) {
        let mut watched = BTreeMap::new();
        loop {
            tokio::select! {
                _ended = queue.ended() => return,
                changed = hanging.take() => note(&mut watched, changed),
                () = self.something_happens(), if !watched.is_empty() => {}
            }
            for tenure in self.over(&mut watched).await {
                if tell(&queue, tenure).await.is_err() {
                    return;
                }
            }
            tokio::time::sleep(LOOK_AFTER).await;
        }
    }

    async fn something_happens(&mut self) {
        tokio::select! {
            // The sender ends with the journal, and then the queue does.
            changed = self.turns.changed() => if changed.is_err() { std::future::pending().await },
            () = tokio::time::sleep(LOOK_EVERY) => {}
        }
    }

    /// Those that are over, of what has changed since the last look. A fleet that gives no answer is asked again at the next one.
    async fn over(&self, watched: &mut BTreeMap<FleetNumber, OfFleet>) -> Vec<Tenure> {
        let mut over = Vec::new();
        for (number, of) in watched {
            let Some(fleet) = self.fleets.now().number(*number).cloned() else {
                // A fleet that was deleted has no servers.
                over.extend(of.tenures.iter().copied());
                continue;
            };
            let (tenures, fresh, mark) = (Arc::clone(&of.tenures), std::mem::take(&mut of.fresh), of.mark);
            let asked = fresh.clone();
            let looked = fleet.read(move |fleet, _| look(fleet, &tenures, &asked, mark)).await;
            match looked {
                Ok((mark, ended)) => {
                    of.mark = mark;
                    over.extend(ended);
                }
                Err(_later) => of.fresh = fresh,
            }
        }
        over
    }
}

/// The processes of one fleet that tickets of a queue hang on.
#[derive(Debug, Default)]
struct OfFleet {
    tenures: Arc<BTreeSet<Tenure>>,
    /// Those that were never looked at.
    fresh: Vec<Tenure>,
    /// Up to where the fleet's changes are known.
    mark: u64,
}

fn note(watched: &mut BTreeMap<FleetNumber, OfFleet>, changed: BTreeMap<Tenure, Hangs>) {
    for (tenure, hangs) in changed {
        let number = tenure.server.fleet();
        let of = watched.entry(number).or_default();
        let tenures = Arc::make_mut(&mut of.tenures);
        match hangs {
            Hangs::Some => {
                tenures.insert(tenure);
                of.fresh.push(tenure);
            }
            Hangs::None => {
                tenures.remove(&tenure);
                if tenures.is_empty() {
                    watched.remove(&number);
                }
            }
        }
    }
}

/// The fleet's mark, and those of these processes that are over: all that were never looked at, and those whose server has changed.
fn look(fleet: &Fleet, tenures: &BTreeSet<Tenure>, fresh: &[Tenure], mark: u64) -> (u64, Vec<Tenure>) {
    let over = |tenure: &Tenure| fleet.is_over(tenure);
    let (next, moved) = fleet.moved_since(mark);
    let Some(moved) = moved else { return (next, tenures.iter().copied().filter(over).collect()) };
    let moved: BTreeSet<ServerId> = moved.collect();
    let of = |server: ServerId| {
        let lowest = Tenure { server, session: ClaimId(Uuid::nil()), run: None };
        tenures.range(lowest..).take_while(move |it| it.server == server)
    };
    let ended = moved.into_iter().flat_map(of).chain(fresh).copied().filter(over);
    (next, ended.collect::<BTreeSet<_>>().into_iter().collect())
}

/// Why a process's call is not let in.
#[derive(Debug)]
pub(crate) enum NotAdmitted {
    /// The process or its session is over, as far as is known.
    Over,
    /// It called too often.
    TooOften(Exceeded),
    /// Its fleet gives no answer.
    Unanswered(Error),
}

impl From<Exceeded> for NotAdmitted {
    fn from(exceeded: Exceeded) -> Self {
        Self::TooOften(exceeded)
    }
}

impl From<Error> for NotAdmitted {
    fn from(error: Error) -> Self {
        Self::Unanswered(error)
    }
}

/// Whether tickets hang on a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hangs {
    Some,
    None,
}

async fn tell(queue: &Handle<Queue>, tenure: Tenure) -> Result<(), Error> {
    loop {
        match queue.command(Command::TenureOver(tenure), Growth::Shrinks).await {
            Ok(_cancelled) => {
                tracing::info!(server = %tenure.server, session = %tenure.session, run = tenure.run, "backfill tickets end with their game's process");
                return Ok(());
            }
            Err(error) => wait_for(error).await?,
        }
    }
}
