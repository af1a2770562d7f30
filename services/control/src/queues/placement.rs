//! Asks fleets for the servers of matches, and the lobby for their sessions, and takes back what is no longer wanted.
//!
//! An ask across shards: a queue owes it (durable there), it is repeated after every restart, the fleet knows it by its id, and its
//! answer goes back as a command. One allocation is asked about at a time by one task, in the order in which the queue came to owe
//! things: its end is never asked for before it was (record 0040, *Placement*).

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use mainstay_core::{AllocationId, MatchId, SessionId};
use mainstay_fleet::{Command as FleetCommand, Purpose, Rejection, Renewal, Request};
use mainstay_lobby as rules;
use mainstay_matchmaking::spec::{Fault, ServerAllocation, Venue};
use mainstay_matchmaking::{Ask, Asked, Command, Outcome, Owed, Port, Protocol, Queue, ServerDetails};
use mainstay_runtime::{Clock, Error, Growth, Handle, RETRY_AFTER};
use mainstay_wire::native::{AllocationState, NativeAllocation, Within};
use tokio::sync::watch;

use super::changes::Changes;
use super::payload::payload;
use crate::lobby::Lobbies;
use crate::shards::{Fleets, OpenFleet, growth};

/// How soon after it was asked for an allocation is looked at, doubled with each look: a server that runs takes it within some
/// milliseconds.
const FIRST_LOOK: Duration = Duration::from_millis(10);
/// The longest between two looks: a machine that has to be made takes minutes, and ten thousand allocations that wait for one cost
/// ten thousand reads in this time.
const LOOK_EVERY_MAX: Duration = Duration::from_secs(1);
/// Where no region is asked after another.
const ONE: u32 = 1;
/// What players connect to, among the ports of a server.
const GAME_PORT: &str = "game";

/// What is owed for allocations, as it changes.
pub(super) type News = Changes<MatchId, Option<Owed>>;

/// Where servers are had.
#[derive(Clone)]
pub(crate) struct Placement {
    fleets: Fleets,
    /// Where sessions are had, where there is a lobby.
    lobby: Option<Lobbies>,
    clock: Arc<dyn Clock>,
    /// Raised once every fleet there is is open: before that, one that is not found may still come.
    open: watch::Sender<bool>,
}

impl std::fmt::Debug for Placement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Placement").field("fleets", &self.fleets).finish_non_exhaustive()
    }
}

impl Placement {
    pub(crate) fn new(fleets: Fleets, lobby: Option<Lobbies>, clock: Arc<dyn Clock>) -> Self {
        Self { fleets, lobby, clock, open: watch::Sender::new(false) }
    }

    pub(super) const fn fleets(&self) -> &Fleets {
        &self.fleets
    }

    pub(super) fn clock(&self) -> Arc<dyn Clock> {
        Arc::clone(&self.clock)
    }

    /// Refuses what no match could get a server of, and regions in which none could.
    pub(super) fn check(&self, allocation: &ServerAllocation, regions: &[String]) -> Result<(), Fault> {
        let ServerAllocation { fleet: named, build_configuration, .. } = allocation;
        let fault = |what| Fault { place: "BuildId".into(), what };
        let fleets = self.fleets.now();
        let fleet = fleets.named(named).ok_or_else(|| fault(format!("there is no fleet {named}")))?;
        if fleet.configuration(build_configuration).is_none() {
            return Err(fault(format!("fleet {named} has no build configuration {build_configuration}")));
        }
        let unknown: Vec<&str> =
            regions.iter().map(String::as_str).filter(|region| fleet.region(region).is_none()).collect();
        let fault = |what| Fault { place: "regions".into(), what };
        if !unknown.is_empty() {
            return Err(fault(format!("fleet {named} has no region {}", unknown.join(", "))));
        }
        let mut named_so = HashMap::new();
        let twice = regions.iter().find_map(|name| Some((named_so.insert(fleet.region(name)?, name)?, name)));
        match twice {
            Some((one, other)) => Err(fault(format!("{one} and {other} are one region of fleet {named}"))),
            None => Ok(()),
        }
    }

    /// Waits until every fleet that there is is open.
    pub(super) async fn begun(&self) {
        // The sender is ours.
        let _open = self.open.subscribe().wait_for(|open| *open).await.map(|open| *open);
    }

    /// Every fleet that there is is open.
    pub(crate) fn begin(&self) {
        self.open.send_replace(true);
    }

    /// Serves a queue until its shard ends.
    pub(super) async fn run(self, queue: Handle<Queue>, owed: News) {
        let mut asked: HashMap<MatchId, watch::Sender<Option<Owed>>> = HashMap::new();
        loop {
            let changed = tokio::select! {
                _ended = queue.ended() => return,
                changed = owed.take() => changed,
            };
            for (id, owed) in changed {
                match (asked.get(&id), owed) {
                    (Some(task), Some(owed)) => {
                        task.send_replace(Some(owed));
                    }
                    (None, Some(owed)) => {
                        let (task, seen) = watch::channel(Some(owed));
                        tokio::spawn(self.clone().see_to(id, queue.clone(), seen));
                        asked.insert(id, task);
                    }
                    (Some(task), None) => {
                        task.send_replace(None);
                        asked.remove(&id);
                    }
                    (None, None) => {}
                }
            }
        }
    }

    /// Sees to one allocation until nothing is owed for it.
    async fn see_to(self, id: MatchId, queue: Handle<Queue>, mut owed: watch::Receiver<Option<Owed>>) {
        loop {
            let Some(now) = owed.borrow_and_update().clone() else { return };
            let told = async {
                let outcome = self.outcome(&now).await?;
                tell(&queue, id, outcome).await
            };
            tokio::select! {
                changed = owed.changed() => if changed.is_err() { return },
                told = told => match told {
                    // What is owed changes by the answer; or it had changed before.
                    Ok(()) => if owed.changed().await.is_err() { return },
                    // The process ends, and the next one asks again.
                    Err(_ended) => return,
                },
            }
        }
    }

    async fn outcome(&self, owed: &Owed) -> Result<Outcome, Error> {
        self.begun().await;
        match owed {
            Owed::Allocate(ask) => {
                tokio::time::sleep(ask.from.since(self.clock.now())).await;
                match &*ask.venue {
                    Venue::Server(allocation) => self.allocate(ask, allocation).await,
                    Venue::Session { lobby } => self.reserve(ask, lobby).await,
                }
            }
            Owed::Undo { id, of: Asked::Lobby } => {
                if let Some(lobby) = &self.lobby {
                    let session = SessionId(id.0);
                    let _ended_or_never_was = ask_lobby(lobby, rules::Command::Withdraw { session }).await?;
                }
                Ok(Outcome::Undone)
            }
            Owed::Undo { id, of: Asked::Fleet(fleet) } => {
                // A fleet that was deleted has no allocations.
                if let Some(fleet) = self.fleets.now().named(fleet).cloned() {
                    let id = AllocationId(id.0);
                    // One that is not known was never asked for, or has been over for long.
                    let _known_or_not = ask_fleet(&fleet, FleetCommand::Deallocate { id }).await?;
                }
                Ok(Outcome::Undone)
            }
        }
    }

    /// A session with a seat for each player of the match; it has the match's id.
    async fn reserve(&self, ask: &Ask, named: &str) -> Result<Outcome, Error> {
        let service = rules::Service::ALL.into_iter().find(|service| service.name() == named);
        let (Some(lobby), Some(service)) = (&self.lobby, service) else {
            return Ok(refused(ask, ONE, "MS-G017", &"there is no such lobby"));
        };
        let player = |entity: &str| rules::Player(entity.into());
        let players: Vec<_> =
            ask.members.iter().map(|seated| player(seated.member.entity.as_str())).collect();
        // A size that is no number is refused as any other that is too large.
        let size = u32::try_from(players.len()).unwrap_or(u32::MAX);
        let settings = rules::Settings {
            joining: rules::Joining::Closed,
            searchable: rules::Searchable::No,
            ..rules::Settings::of_size(size)
        };
        let session = SessionId(ask.id.0);
        let command = rules::Command::Reserve { session, service, settings, players };
        if let Err(rejection) = ask_lobby(lobby, command).await? {
            return Ok(refused(ask, ONE, "MS-G021", &rejection));
        }
        let server_id = Some(session.to_string().into());
        let region = ask.region.clone();
        Ok(Outcome::Placed(Arc::new(ServerDetails { server_id, region, ..ServerDetails::default() })))
    }

    /// The server of an allocation that runs and whose game has not called ready.
    pub(crate) async fn not_ready(&self, fleet: &str, id: MatchId) -> Result<Option<u64>, Error> {
        let Some(fleet) = self.fleets.now().named(fleet).cloned() else { return Ok(None) };
        let (spec, id) = (Arc::clone(&fleet.spec), AllocationId(id.0));
        let view = fleet.read(move |state, now| {
            Some(Within { spec: &spec, fleet: state }.allocation(id, state.allocation(id, now)?))
        });
        let waits = view.await?.filter(|it| it.state == AllocationState::Fulfilled && !takes_players(it));
        Ok(waits.and_then(|it| it.allocation.server_id))
    }

    async fn allocate(&self, ask: &Ask, of: &ServerAllocation) -> Result<Outcome, Error> {
        let Some(fleet) = self.fleets.now().named(&of.fleet).cloned() else {
            return Ok(refused(ask, ONE, "MS-M015", &"there is no such fleet"));
        };
        let regions = u32::try_from(fleet.spec.regions.len()).unwrap_or(u32::MAX);
        let request = match request(&fleet, ask, of) {
            Ok(request) => request,
            Err((code, why)) => return Ok(refused(ask, regions, code, &why)),
        };
        let id = AllocationId(ask.id.0);
        if let Err(rejection) = ask_fleet(&fleet, FleetCommand::Allocate { id, request }).await? {
            return Ok(refused(ask, regions, rejection.code(), &rejection));
        }
        let mut pause = FIRST_LOOK;
        loop {
            let spec = Arc::clone(&fleet.spec);
            let view = fleet.read(move |state, now| {
                let allocation = state.allocation(id, now)?;
                Some(Within { spec: &spec, fleet: state }.allocation(id, allocation))
            });
            match view.await? {
                Some(view) if takes_players(&view) => {
                    return Ok(Outcome::Placed(Arc::new(details(&view, &fleet, ask.region.as_ref()))));
                }
                Some(view) => match view.state {
                    AllocationState::Waiting | AllocationState::Placed | AllocationState::Fulfilled => {}
                    AllocationState::Failed | AllocationState::Ended => {
                        let why = view.allocation.end_reason.unwrap_or_default();
                        return Ok(refused(ask, regions, "MS-M016", &why));
                    }
                },
                None => return Ok(refused(ask, regions, "MS-P009", &"the allocation is gone")),
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LOOK_EVERY_MAX);
        }
    }
}

fn refused(ask: &Ask, regions: u32, code: &'static str, why: &dyn std::fmt::Display) -> Outcome {
    tracing::info!(
        queue = %ask.spec.name, allocation = %ask.id, region = ask.region.as_deref(), refusals = ask.refusals, code, %why,
        "a match gets no server here"
    );
    Outcome::Refused { code: code.into(), regions }
}

/// Its server plays, and its game has called ready where that is waited for.
fn takes_players(view: &NativeAllocation) -> bool {
    let allocation = &view.allocation;
    view.state == AllocationState::Fulfilled && (!allocation.readiness || allocation.ready.is_some())
}

/// The region as the queue names it: players' latencies and the game's own backfill tickets say it so.
pub(super) fn details(
    view: &NativeAllocation,
    fleet: &OpenFleet,
    region: Option<&Arc<str>>,
) -> ServerDetails {
    let allocation = &view.allocation;
    let port =
        allocation.game_port.map(|number| Port { name: GAME_PORT.into(), number, protocol: Protocol::Udp });
    ServerDetails {
        fqdn: None,
        ipv4_address: allocation.ipv4.as_ref().or(allocation.ipv6.as_ref()).map(|it| it.as_str().into()),
        ports: port.into_iter().collect(),
        region: Some(region.cloned().unwrap_or_else(|| fleet.region_name(allocation.region_id).into())),
        server_id: Some(allocation.allocation_id.to_string().into()),
    }
}

fn request(fleet: &OpenFleet, ask: &Ask, of: &ServerAllocation) -> Result<Request, (&'static str, String)> {
    let regions = &fleet.spec.regions;
    let turn = usize::try_from(ask.refusals).unwrap_or(usize::MAX) % regions.len().max(1);
    let region = match &ask.region {
        Some(region) => fleet.region(region),
        None => regions.get(turn).map(|region| region.id),
    };
    let region =
        region.ok_or_else(|| ("MS-P002", format!("fleet {} has no such region", fleet.spec.name)))?;
    let named = &of.build_configuration;
    let configuration = fleet.configuration(named).ok_or_else(|| {
        ("MS-P003", format!("fleet {} has no build configuration {named}", fleet.spec.name))
    })?;
    let payload = Some(payload(ask).into());
    Ok(Request { configuration, region, payload, renewal: Renewal::Keep, purpose: Purpose::Session })
}

/// Asks until there is an answer.
async fn ask_fleet(fleet: &OpenFleet, command: FleetCommand) -> Result<Result<(), Rejection>, Error> {
    loop {
        match fleet.shard.command(command.clone(), growth(&command)).await {
            Ok(answered) => return Ok(answered.map(|_answer| ())),
            Err(error) => wait_for(error).await?,
        }
    }
}

/// Asks until there is an answer.
async fn ask_lobby(lobby: &Lobbies, command: rules::Command) -> Result<Result<(), rules::Rejection>, Error> {
    loop {
        match lobby.shard().command(command.clone(), crate::lobby::growth(&command)).await {
            Ok(answered) => return Ok(answered.map(|_answer| ())),
            Err(error) => wait_for(error).await?,
        }
    }
}

async fn tell(queue: &Handle<Queue>, id: MatchId, outcome: Outcome) -> Result<(), Error> {
    loop {
        let command = Command::Placement { id, outcome: outcome.clone() };
        match queue.command(command, Growth::Shrinks).await {
            Ok(Ok(_done)) => return Ok(()),
            Ok(Err(rejection)) => {
                tracing::error!(%id, %rejection, "a queue refuses an answer it asked for; this is our bug");
                return Ok(());
            }
            Err(error) => wait_for(error).await?,
        }
    }
}

pub(super) async fn wait_for(error: Error) -> Result<(), Error> {
    match error {
        Error::Busy { .. } | Error::JournalFull => {
            tokio::time::sleep(RETRY_AFTER).await;
            Ok(())
        }
        Error::Stopping | Error::Lost(_) => Err(error),
    }
}
