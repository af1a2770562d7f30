//! One agent's stream, from hello to its end.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use mainstay_core::density::Host;
use mainstay_core::{BootId, FleetId, MachineId, MachineKey, RegionId};
use mainstay_fleet::{Addresses, Answer, Command, Fleet, Observation, Rejection, StreamId};
use mainstay_runtime::{Growth, Handle, Reply};
use mainstay_wire::agent::{
    self, ASKS, Hello, INSTALLS, Incidents, JoiningMachine, Readings, Statuses, Up, Welcome, WelcomedMachine,
    proto,
};
use mainstay_wire::join::Credential;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;
use tokio::sync::watch;
use tonic::{Code, Status, Streaming};

use super::asks::{self, ASKS_IN_FLIGHT_MAX};
use super::desk::{Desk, Told};
use super::installs::Installing;
use super::looks::Looking;
use super::outbox::Outbox;
use super::{HELLO_WITHIN, Watching};
use crate::doors::{Peer, Protected};
use crate::http::raised;
use crate::metrics::Watch;
use crate::shards::Fleets;

/// The most reports of one stream that are on their way through the rules: further ones wait in the network.
const REPORTS_IN_FLIGHT_MAX: usize = 256;

pub(super) struct Session {
    pub(super) stream: StreamId,
    pub(super) fleets: Fleets,
    pub(super) token_sha256: [u8; 32],
    pub(super) desk: Arc<Desk>,
    /// Whom the connection is with that the stream runs on.
    pub(super) peer: Peer,
    pub(super) outbox: Outbox,
    pub(super) installing: Installing,
    pub(super) looking: Looking,
    pub(super) closing: watch::Receiver<bool>,
    pub(super) watching: Watching,
}

/// The machines that a stream speaks for.
type Machines = BTreeMap<MachineId, Handle<Fleet>>;

/// Who an agent showed it is.
enum Shown {
    /// An agent of this very host, by the control plane's own secret: it may bring any machine.
    Host,
    /// A machine, by the credential it has for a join token.
    Machine(Bound),
}

/// What a hello says of the host of all its machines.
#[derive(Debug, Clone)]
struct Said {
    /// The run of its kernel.
    boot: Option<BootId>,
    host: Option<Host>,
}

/// What a credential is bound to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Bound {
    machine: MachineKey,
    fleet: FleetId,
    region: RegionId,
}

type Answering =
    std::pin::Pin<Box<dyn Future<Output = Result<Reply<Fleet>, mainstay_runtime::Error>> + Send>>;

type Granting = std::pin::Pin<Box<dyn Future<Output = agent::Answer> + Send>>;

impl Session {
    /// Serves the stream until either side ends it, then says in the fleets that it is gone.
    pub(super) async fn run(self, mut up: Streaming<proto::Up>) {
        let mut machines = Machines::new();
        let mut watch = Watch::new(Arc::clone(&self.watching.metrics));
        let outbox = self.outbox.clone();
        let mut seat = None;
        let status = tokio::select! {
            status = self.serve(&mut up, &mut machines, &mut seat, &mut watch) => status,
            () = outbox.ended() => Status::cancelled("the stream has ended"),
        };
        if status.code() != Code::Ok {
            tracing::info!(stream = ?self.stream, code = ?status.code(), why = status.message(), "an agent's stream ended");
        }
        self.outbox.cut(status);
        if let Some(machine) = seat {
            self.desk.leave(machine, self.stream);
        }
        self.looking.gone(self.stream);
        for (machine, fleet) in machines {
            self.installing.forget(self.stream, machine);
            // A fleet that has ended hears nothing any more, and need not.
            let _ended = fleet.observe(Observation::Disconnected { machine, stream: self.stream }).await;
        }
    }

    async fn serve(
        &self,
        up: &mut Streaming<proto::Up>,
        machines: &mut Machines,
        seat: &mut Option<MachineKey>,
        watch: &mut Watch,
    ) -> Status {
        let first = tokio::time::timeout(HELLO_WITHIN, next(up)).await;
        let hello = match first {
            Err(_elapsed) => {
                return Status::deadline_exceeded(format!("MS-S603: no hello within {HELLO_WITHIN:?}"));
            }
            Ok(Err(status)) => return status,
            Ok(Ok(None)) => return Status::ok(""),
            Ok(Ok(Some(Up::Hello(hello)))) => hello,
            Ok(Ok(Some(
                Up::Resync(_)
                | Up::Report(_)
                | Up::Incidents(_)
                | Up::Readings(_)
                | Up::Ask(_)
                | Up::Installs(_)
                | Up::Looked(_),
            ))) => {
                return Status::invalid_argument("MS-S604: the first message of a stream is a hello");
            }
        };
        let shown = match self.shown(&hello, seat).await {
            Ok(shown) => shown,
            Err(status) => return status,
        };
        let looks = hello.looks;
        match self.welcome(hello, &shown, machines, watch).await {
            Err(status) => return status,
            Ok(welcome) => self.outbox.welcome(welcome),
        }
        if looks > 0 {
            self.looking.may_ask(self.stream);
        }
        match shown {
            Shown::Host => self.listen(up, machines, watch).await,
            Shown::Machine(Bound { machine, .. }) => tokio::select! {
                status = self.listen(up, machines, watch) => status,
                ended = self.desk.ended(machine) => ended,
            },
        }
    }

    /// Who says hello: a machine with a credential, or an agent of this host.
    async fn shown(&self, hello: &Hello, seat: &mut Option<MachineKey>) -> Result<Shown, Status> {
        if let Ok(credential) = hello.token.parse::<Credential>() {
            *seat = Some(credential.machine);
            let told = self.desk.show(&credential, self.stream, self.peer).await?;
            let Told { fleet, region, .. } = told;
            return Ok(Shown::Machine(Bound { machine: credential.machine, fleet, region }));
        }
        of_this_host(self.peer, &hello.token, &self.token_sha256).map(|()| Shown::Host)
    }

    async fn welcome(
        &self,
        hello: Hello,
        shown: &Shown,
        machines: &mut Machines,
        watch: &mut Watch,
    ) -> Result<Welcome, Status> {
        let mut welcomed = Vec::with_capacity(hello.machines.len());
        // An agent that does not know is no worse off: its machine's return tells less.
        let said = Said { boot: hello.boot_id.trim().parse::<BootId>().ok(), host: hello.host };
        for machine in hello.machines {
            let key = machine.key;
            let (one, fleet) = self.join(machine, &said, shown).await?;
            tracing::debug!(%key, machine = %one.machine, "a machine is here");
            self.installing.arrived(self.stream, one.machine, one.region_id);
            watch.joined(one.machine, &one.region_name, self.watching.clock.since_boot());
            machines.insert(one.machine, fleet);
            welcomed.push(one);
        }
        Ok(Welcome { machines: welcomed, asks: ASKS, installs: INSTALLS })
    }

    async fn join(
        &self,
        machine: JoiningMachine,
        said: &Said,
        shown: &Shown,
    ) -> Result<(WelcomedMachine, Handle<Fleet>), Status> {
        let fleets = self.fleets.now();
        let fleet = fleets.named(&machine.fleet).ok_or_else(|| {
            Status::not_found(format!(
                "MS-S605: machine {} names fleet {}, which does not exist",
                machine.name, machine.fleet
            ))
        })?;
        let region = fleet.region(&machine.region).ok_or_else(|| {
            Status::not_found(format!(
                "MS-S606: machine {} names region {}, which fleet {} does not have",
                machine.name, machine.region, fleet.spec.name
            ))
        })?;
        let JoiningMachine { key, name, ipv4, ipv6, slots, .. } = machine;
        if let Shown::Machine(bound) = shown
            && *bound != (Bound { machine: key, fleet: fleet.spec.id, region })
        {
            return Err(Status::permission_denied(format!(
                "MS-A010: the credential is for another machine, fleet or region than {name} in {}",
                fleet.spec.name
            )));
        }
        let addresses = Addresses { ipv4, ipv6 };
        let Said { boot, host } = said.clone();
        let join = Command::Join { key, region, name, addresses, slots, boot, host };
        match fleet.shard.command(join, Growth::Grows).await {
            Ok(Ok(Answer::Joined { machine, slots })) => {
                let welcomed = WelcomedMachine {
                    machine,
                    fleet_id: fleet.spec.id,
                    fleet_name: fleet.spec.name.to_string(),
                    region_id: region,
                    region_name: fleet.region_name(region),
                    slots,
                };
                Ok((welcomed, fleet.shard.clone()))
            }
            Ok(Ok(
                Answer::Done
                | Answer::Placed { .. }
                | Answer::Waiting { .. }
                | Answer::Known
                | Answer::Deferred
                | Answer::Held { .. }
                | Answer::Reserved(_)
                | Answer::Orphans(_),
            )) => Err(Status::internal("a join was answered with something else; this is our bug")),
            Ok(Err(rejection)) => Err(refused(&rejection)),
            Err(error) => Err(unavailable(error)),
        }
    }

    /// Takes reports in as they come; their answers are watched, not waited for one by one.
    async fn listen(&self, up: &mut Streaming<proto::Up>, machines: &Machines, watch: &mut Watch) -> Status {
        let mut answers: FuturesUnordered<Answering> = FuturesUnordered::new();
        let mut wishes: FuturesUnordered<Granting> = FuturesUnordered::new();
        let mut closing = self.closing.clone();
        loop {
            tokio::select! {
                biased;
                Some(answer) = wishes.next(), if !wishes.is_empty() => self.outbox.answer(answer),
                Some(answer) = answers.next(), if !answers.is_empty() => match answer {
                    Ok(Ok(_done)) => {}
                    Ok(Err(rejection)) => return refused(&rejection),
                    Err(error) => return unavailable(error),
                },
                () = raised(&mut closing) => {
                    return Status::unavailable("the control plane is stopping; connect again");
                }
                message = next(up), if answers.len() < REPORTS_IN_FLIGHT_MAX => {
                    let taken = match message {
                        Err(status) => return status,
                        Ok(None) => return Status::ok(""),
                        Ok(Some(Up::Ask(ask))) => {
                            of(machines, ask.machine).map(|fleet| {
                                if wishes.len() < ASKS_IN_FLIGHT_MAX {
                                    let watching = self.watching.clone();
                                    wishes.push(Box::pin(asks::answer(fleet.clone(), ask, watching)));
                                } else {
                                    self.outbox.answer(asks::no_room(ask.id));
                                }
                                None
                            })
                        }
                        Ok(Some(Up::Hello(_))) => {
                            return Status::invalid_argument("MS-S604: a stream has one hello");
                        }
                        Ok(Some(Up::Readings(readings))) => {
                            watch.heard(readings.machine, self.watching.clock.since_boot());
                            self.see(readings, machines).await.map(|()| None)
                        }
                        Ok(Some(Up::Resync(statuses))) => {
                            watch.told(statuses.machine, &statuses.statuses, self.watching.clock.since_boot());
                            self.resync(statuses, machines).await.map(Some)
                        }
                        Ok(Some(Up::Report(statuses))) => {
                            watch.told(statuses.machine, &statuses.statuses, self.watching.clock.since_boot());
                            self.report(statuses, machines).await.map(Some)
                        }
                        Ok(Some(Up::Installs(told))) => of(machines, told.machine).map(|_fleet| {
                            self.installing.note(self.stream, told, self.watching.clock.now());
                            None
                        }),
                        Ok(Some(Up::Looked(looked))) => {
                            self.looking.found(self.stream, looked);
                            Ok(None)
                        }
                        Ok(Some(Up::Incidents(incidents))) => {
                            self.note(incidents, machines).await.map(Some)
                        }
                    };
                    match taken {
                        Ok(answer) => answers.extend(answer),
                        Err(status) => return status,
                    }
                }
            }
        }
    }

    async fn resync(&self, told: Statuses, machines: &Machines) -> Result<Answering, Status> {
        let (stream, Statuses { machine, statuses }) = (self.stream, told);
        submit(machines, machine, Command::Connect { machine, stream, statuses }).await
    }

    async fn report(&self, told: Statuses, machines: &Machines) -> Result<Answering, Status> {
        let (stream, Statuses { machine, statuses }) = (self.stream, told);
        submit(machines, machine, Command::Report { machine, stream, statuses }).await
    }

    /// What ended as nobody wished becomes part of the server's story, a full disk or not.
    async fn note(&self, told: Incidents, machines: &Machines) -> Result<Answering, Status> {
        let (stream, Incidents { machine, incidents }) = (self.stream, told);
        submit(machines, machine, Command::TakeIncidents { machine, stream, incidents }).await
    }

    /// What was read changes nothing durable, and nobody waits for it.
    async fn see(&self, told: Readings, machines: &Machines) -> Result<(), Status> {
        let (stream, Readings { machine, readings }) = (self.stream, told);
        let read = Observation::Read { machine, stream, readings };
        of(machines, machine)?.observe(read).await.map_err(unavailable)
    }
}

/// Whether it is the secret of agents on this very host, over loopback.
pub(super) fn of_this_host(peer: Peer, token: &str, token_sha256: &[u8; 32]) -> Result<(), Status> {
    match peer.protected {
        Protected::Loopback => {}
        Protected::Tls => {
            return Err(Status::unauthenticated(
                "MS-A005: only a machine's credential is taken from another host; join with a token of `mainstay token \
                 create`",
            ));
        }
    }
    let secret: [u8; 32] = Sha256::digest(token.as_bytes()).into();
    if bool::from(secret.ct_eq(token_sha256)) {
        return Ok(());
    }
    Err(Status::unauthenticated(
        "MS-A004: the join token is not this control plane's; it is in credentials.json",
    ))
}

fn of(machines: &Machines, machine: MachineId) -> Result<&Handle<Fleet>, Status> {
    machines.get(&machine).ok_or_else(|| {
        Status::permission_denied(format!("MS-S607: this stream does not speak for machine {machine}"))
    })
}

async fn submit(machines: &Machines, machine: MachineId, command: Command) -> Result<Answering, Status> {
    let answer = of(machines, machine)?.submit(command, Growth::Shrinks).await.map_err(unavailable)?;
    Ok(Box::pin(answer))
}

async fn next(up: &mut Streaming<proto::Up>) -> Result<Option<Up>, Status> {
    match up.message().await? {
        None => Ok(None),
        Some(message) => Up::try_from(message)
            .map(Some)
            .map_err(|malformed| Status::invalid_argument(format!("MS-S604: {malformed}"))),
    }
}

fn refused(rejection: &Rejection) -> Status {
    Status::failed_precondition(format!("{}: {rejection}; {}", rejection.code(), rejection.mend()))
}

fn unavailable(error: mainstay_runtime::Error) -> Status {
    Status::unavailable(format!("{}: {error}", error.code()))
}
