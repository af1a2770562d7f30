//! One stream, from hello to its end.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use mainstay_core::slot::{Phase, Status, Stopped};
use mainstay_core::{Generation, MachineId, MachineKey, ServerId};
use mainstay_wire::agent::proto::agent_link_client::AgentLinkClient;
use mainstay_wire::agent::{
    self, Down, INSTALLS_PER_MACHINE_MAX, Incidents, Installs, MESSAGE_BYTES_MAX, Readings,
    Statuses as MachineStatuses, Up, Welcome, proto,
};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::Channel;
use tonic::{Code, Streaming};

use super::{StreamEnd, Uplink, looks, orders};
use crate::asks::Asks;
use crate::config::{Config, MachineOffer};
use crate::pass::{Pass, connect, renew};
use crate::roster::{Member, Membership, Roster};
use crate::statuses::News;

/// How long the plane may take to answer a hello: it writes that down first.
const WELCOME_WITHIN: Duration = Duration::from_secs(15);
/// The pause before another try to renew a credential, while the stream itself goes on.
const RENEW_AGAIN: Duration = Duration::from_secs(10);
/// Messages on their way up: reports wait here while the network is slow, and the newest word is then still the one
/// that is said.
const UP_MESSAGES_MAX: usize = 8;
/// Statuses in one report.
const REPORT_STATUSES_MAX: usize = 1_024;

/// Whether the plane took us in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Welcomed {
    Yes,
    No,
}

/// Which machine each slot of this agent belongs to.
type Machines = BTreeMap<ServerId, MachineId>;

/// Connects, and speaks until something ends it.
pub(super) async fn once(uplink: &Uplink) -> (StreamEnd, Welcomed) {
    let begun = match begin(uplink, Company::Everyone).await {
        Err(StreamEnd::Ended(status)) if status.code() == Code::NotFound && has_withdrawn(uplink).await => {
            let why = status.message();
            tracing::warn!(why, "a machine that is offered no longer has no fleet any more: it is given up");
            begin(uplink, Company::Offered).await
        }
        begun => begun,
    };
    match begun {
        Err(end) => (end, Welcomed::No),
        Ok(Begun { channel, up, down, machines, asks, installs }) => {
            tracing::info!(uri = uplink.config.plane.uri, "the control plane is there");
            uplink.asks.line_up(machines.clone(), asks);
            let _line = LineUp(&uplink.asks);
            let ended = tokio::select! {
                ended = speak(uplink, up, down, &machines, installs) => ended,
                ended = keep_pass(uplink, channel) => ended,
            };
            let end = match ended {
                Err(end) => end,
                Ok(never) => match never {},
            };
            (end, Welcomed::Yes)
        }
    }
}

/// Which machines say hello.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Company {
    /// All that ever joined: what a changed configuration no longer offers may have sessions, and the plane alone ends
    /// those.
    Everyone,
    /// Those offered now.
    Offered,
}

/// A machine that says hello, as it is named.
struct Joining<'a> {
    member: &'a Member,
    fleet: String,
    region: String,
    name: String,
}

fn joining<'a>(config: &Config, roster: &'a Roster, company: Company) -> Vec<Joining<'a>> {
    let one = |member: &'a Member| {
        if let Some(offer) = config.machines.iter().find(|offer| member.is_for(offer)) {
            let MachineOffer { fleet, region, name, .. } = offer.clone();
            return Some(Joining { member, fleet, region, name });
        }
        // A machine's own credential is for one fleet region alone.
        match (company, &config.plane.pass, &member.membership) {
            (Company::Everyone, Pass::Host(_), Some(membership)) => Some(Joining {
                member,
                fleet: membership.fleet.to_string(),
                region: membership.region.to_string(),
                name: config.machines.first().map(|offer| offer.name.clone())?,
            }),
            (Company::Everyone | Company::Offered, Pass::Host(_) | Pass::Machine(_), _) => None,
        }
    };
    roster.members().iter().filter_map(one).collect()
}

async fn has_withdrawn(uplink: &Uplink) -> bool {
    let roster = uplink.roster.lock().await;
    let count = |company| joining(&uplink.config, &roster, company).len();
    count(Company::Everyone) > count(Company::Offered)
}

/// A stream on which the plane has said welcome.
struct Begun {
    channel: Channel,
    up: mpsc::Sender<proto::Up>,
    down: Streaming<proto::Down>,
    machines: Machines,
    /// The version of asks that the plane takes.
    asks: u32,
    /// The version of installs that it takes.
    installs: u32,
}

/// Games can ask for things while this lives.
struct LineUp<'a>(&'a Asks);

impl Drop for LineUp<'_> {
    fn drop(&mut self) {
        self.0.line_down();
    }
}

async fn begin(uplink: &Uplink, company: Company) -> Result<Begun, StreamEnd> {
    let plane = &uplink.config.plane;
    let ca = match &plane.pass {
        Pass::Host(_) => None,
        Pass::Machine(pass) => Some(pass.ca()),
    };
    let channel = connect(&plane.uri, ca).await?;
    let mut client = AgentLinkClient::new(channel.clone())
        .max_decoding_message_size(MESSAGE_BYTES_MAX)
        .max_encoding_message_size(MESSAGE_BYTES_MAX);
    let (up, rx) = mpsc::channel(UP_MESSAGES_MAX);
    let hello = hello(uplink, company).await;
    let asked = hello.machines.len();
    let hello = proto::Up { what: Some(proto::up::What::Hello(hello)) };
    up.send(hello).await.map_err(|_| StreamEnd::Closed)?;
    let answer = async {
        let mut down = client.connect(ReceiverStream::new(rx)).await.map_err(StreamEnd::Ended)?.into_inner();
        Ok::<_, StreamEnd>((next(&mut down).await?, down))
    };
    let (first, down) =
        timeout(WELCOME_WITHIN, answer).await.map_err(|_| StreamEnd::Mute(WELCOME_WITHIN))??;
    let welcome = match first {
        Down::Welcome(welcome) => welcome,
        Down::Frames(_) | Down::Answer(_) | Down::Look(_) => {
            return Err(StreamEnd::OtherMachines { asked, found: 0 });
        }
    };
    let (asks, installs) = (welcome.asks, welcome.installs);
    let machines = join(uplink, company, welcome, asked).await?;
    resync(uplink, &up, &machines).await?;
    Ok(Begun { channel, up, down, machines, asks, installs })
}

/// Renews the machine's credential in good time, for as long as the stream lasts.
async fn keep_pass(uplink: &Uplink, channel: Channel) -> Result<std::convert::Infallible, StreamEnd> {
    let pass = match &uplink.config.plane.pass {
        Pass::Host(_) => return std::future::pending().await,
        Pass::Machine(pass) => pass,
    };
    loop {
        let pause = match renew(pass, channel.clone()).await {
            Ok(renewal) => renewal.renew_in,
            Err(error) if error.is_passing() => {
                tracing::warn!(error = %crate::slot::ended::in_full(&error), "the machine's credential is not renewed yet");
                RENEW_AGAIN
            }
            Err(error) => return Err(StreamEnd::Renew(error)),
        };
        tokio::time::sleep(pause).await;
    }
}

/// Who we are.
async fn hello(uplink: &Uplink, company: Company) -> proto::Hello {
    let config = &uplink.config;
    let roster = uplink.roster.lock().await;
    let machines = joining(config, &roster, company).into_iter().map(|joining| {
        let Joining { member, fleet, region, name } = joining;
        let ports = |it: &crate::Ports| proto::Ports { game: it.game.into(), query: it.query.into() };
        proto::JoiningMachine {
            key: member.key.0.into_bytes().to_vec(),
            fleet,
            region,
            name,
            ipv4: config.addresses.ipv4.map(|address| address.to_string()).unwrap_or_default(),
            ipv6: config.addresses.ipv6.map(|address| address.to_string()).unwrap_or_default(),
            slots: member.ports.iter().map(ports).collect(),
        }
    });
    proto::Hello {
        protocol: agent::PROTOCOL,
        agent_version: env!("CARGO_PKG_VERSION").to_owned(),
        boot_id: uplink.boot_id.clone(),
        token: config.plane.pass.shown(),
        machines: machines.collect(),
        looks: agent::LOOKS,
        host: Some(config.host.clone().into()),
    }
}

/// Takes the names we are given, and gives up what is no longer ours.
async fn join(
    uplink: &Uplink,
    company: Company,
    welcome: Welcome,
    asked: usize,
) -> Result<Machines, StreamEnd> {
    let found = welcome.machines.len();
    if found != asked {
        return Err(StreamEnd::OtherMachines { asked, found });
    }
    let mut roster = uplink.roster.lock().await;
    let joining = joining(&uplink.config, &roster, company);
    let keys: Vec<MachineKey> = joining.iter().map(|joining| joining.member.key).collect();
    let mut machines = Machines::new();
    for (key, machine) in keys.into_iter().zip(welcome.machines) {
        let servers: Vec<ServerId> = machine.slots.iter().map(|slot| slot.server).collect();
        machines.extend(servers.iter().map(|&server| (server, machine.machine)));
        let membership = Membership {
            machine: machine.machine,
            fleet: machine.fleet_id,
            region: machine.region_id,
            region_name: machine.region_name,
            servers,
        };
        roster.joined(&uplink.config.data_dir, key, membership)?;
    }
    uplink.context.add_facts(roster.slots());
    drop(roster);
    let kept: BTreeSet<ServerId> = machines.keys().copied().collect();
    uplink.brain.forget_all_but(kept).await.map_err(|_| StreamEnd::AgentEnds)?;
    Ok(machines)
}

/// Says how every slot of every machine stands.
async fn resync(uplink: &Uplink, up: &mpsc::Sender<proto::Up>, machines: &Machines) -> Result<(), StreamEnd> {
    let known: BTreeSet<ServerId> = uplink.brain.servers().await.map_err(|_| StreamEnd::AgentEnds)?;
    let newest = uplink.statuses.all();
    let mut by_machine: BTreeMap<MachineId, Vec<Status>> = BTreeMap::new();
    for (&server, &machine) in machines {
        let statuses = by_machine.entry(machine).or_default();
        match newest.get(&server) {
            Some(status) => statuses.push(status.clone()),
            None if !known.contains(&server) => statuses.push(untouched(server)),
            // Not looked at yet; its word follows as a report.
            None => {}
        }
    }
    for (machine, statuses) in by_machine {
        send(up, Up::Resync(MachineStatuses { machine, statuses })).await?;
    }
    Ok(())
}

/// A slot that no order has ever reached.
fn untouched(server: ServerId) -> Status {
    Status {
        server,
        generation: Generation::NONE,
        configuration: None,
        run: 0,
        phase: Phase::Stopped(Stopped::Idle),
    }
}

async fn speak(
    uplink: &Uplink,
    up: mpsc::Sender<proto::Up>,
    down: Streaming<proto::Down>,
    machines: &Machines,
    installs: u32,
) -> Result<std::convert::Infallible, StreamEnd> {
    let known: BTreeSet<ServerId> = machines.keys().copied().collect();
    // Parts that never wait for each other: a slow plane must not keep orders from being obeyed.
    tokio::select! {
        end = listen(uplink, &up, down, &known) => end,
        end = report(uplink, up.clone(), machines) => end,
        end = install(uplink, up.clone(), machines, installs) => end,
        end = ask(uplink, up.clone()) => end,
    }
}

async fn listen(
    uplink: &Uplink,
    up: &mpsc::Sender<proto::Up>,
    mut down: Streaming<proto::Down>,
    known: &BTreeSet<ServerId>,
) -> Result<std::convert::Infallible, StreamEnd> {
    let mut waiting = orders::Waiting::default();
    loop {
        let message = tokio::select! {
            message = next(&mut down) => message?,
            () = waiting.turn() => {
                waiting.again(uplink).await?;
                continue;
            }
        };
        match message {
            Down::Frames(frames) => {
                for frame in frames {
                    waiting.take(uplink, frame, known).await?;
                }
            }
            Down::Answer(answer) => uplink.asks.answered(answer),
            Down::Look(look) => looks::answer(&uplink.context, up.clone(), look),
            Down::Welcome(_) => tracing::warn!("the control plane says welcome twice"),
        }
    }
}

async fn report(
    uplink: &Uplink,
    up: mpsc::Sender<proto::Up>,
    machines: &Machines,
) -> Result<std::convert::Infallible, StreamEnd> {
    loop {
        let News { statuses, incidents, readings } = uplink.statuses.next(REPORT_STATUSES_MAX).await;
        // How a process ended comes before what followed: so it stands in the server's story.
        for (machine, incidents) in by_machine(machines, incidents, |incident| incident.server) {
            send(&up, Up::Incidents(Incidents { machine, incidents })).await?;
        }
        for (machine, statuses) in by_machine(machines, statuses, |status| status.server) {
            send(&up, Up::Report(MachineStatuses { machine, statuses })).await?;
        }
        for (machine, readings) in by_machine(machines, readings, |(server, _)| *server) {
            send(&up, Up::Readings(Readings { machine, readings })).await?;
        }
    }
}

/// Says how far builds are, whenever that has changed.
async fn install(
    uplink: &Uplink,
    up: mpsc::Sender<proto::Up>,
    machines: &Machines,
    version: u32,
) -> Result<std::convert::Infallible, StreamEnd> {
    if version == 0 {
        return std::future::pending().await;
    }
    let builds = &uplink.context.builds;
    let mut told = builds.told();
    let ours: BTreeSet<MachineId> = machines.values().copied().collect();
    loop {
        told.borrow_and_update();
        for &machine in &ours {
            let disk = Some(builds.disk_use()).filter(|disk| disk.budget > 0);
            let progress = builds.progress(machine);
            let mut parts: Vec<_> = progress.chunks(INSTALLS_PER_MACHINE_MAX).map(<[_]>::to_vec).collect();
            if parts.is_empty() {
                parts.push(Vec::new());
            }
            for installs in parts {
                send(&up, Up::Installs(Installs { machine, installs, disk })).await?;
            }
        }
        // Its sender lives as long as this agent.
        let _changed = told.changed().await;
    }
}

/// What is about several machines' slots, machine by machine; what is about none of ours is left out.
fn by_machine<T>(
    machines: &Machines,
    told: Vec<T>,
    server: impl Fn(&T) -> ServerId,
) -> BTreeMap<MachineId, Vec<T>> {
    let mut sorted: BTreeMap<MachineId, Vec<T>> = BTreeMap::new();
    for one in told {
        if let Some(&machine) = machines.get(&server(&one)) {
            sorted.entry(machine).or_default().push(one);
        }
    }
    sorted
}

/// Says what games want.
async fn ask(uplink: &Uplink, up: mpsc::Sender<proto::Up>) -> Result<std::convert::Infallible, StreamEnd> {
    loop {
        send(&up, Up::Ask(uplink.asks.next().await)).await?;
    }
}

async fn send(up: &mpsc::Sender<proto::Up>, message: Up) -> Result<(), StreamEnd> {
    up.send(message.into()).await.map_err(|_| StreamEnd::Closed)
}

async fn next(down: &mut Streaming<proto::Down>) -> Result<Down, StreamEnd> {
    match down.message().await {
        Ok(Some(message)) => Down::try_from(message).map_err(StreamEnd::Malformed),
        Ok(None) => Err(StreamEnd::Closed),
        Err(status) => Err(StreamEnd::Ended(status)),
    }
}
