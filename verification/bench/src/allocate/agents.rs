//! Simulated agents over the real stream: they say hello with their machines, say that every server runs idle, and obey
//! each order at once. What they leave out is the processes.

use mainstay_core::slot::{Phase, Status};
use mainstay_core::{Generation, MachineKey};
use mainstay_fleet::Ports;
use mainstay_wire::agent::proto::agent_link_client::AgentLinkClient;
use mainstay_wire::agent::{Down, Frame, Hello, JoiningMachine, PROTOCOL, Statuses, Up, Welcome, proto};
use tokio::sync::mpsc;
use tonic::Streaming;

use crate::Failure;

/// How many messages may wait on an agent's side of its stream.
const OUTGOING_MAX: usize = 1024;

/// What an agent joins with.
#[derive(Debug, Clone)]
pub struct Joining {
    /// The address of the control plane's agents.
    pub uri: String,
    /// Its join token.
    pub token: String,
    /// The fleet.
    pub fleet: String,
    /// The region.
    pub region: String,
    /// Which agent this is.
    pub number: u16,
    /// How many machines it answers for.
    pub machines: u16,
    /// How many slots each has.
    pub slots: u16,
    /// The build configuration that its servers run idle.
    pub configuration: mainstay_core::slot::ConfigurationRef,
}

/// Joins, and obeys for as long as it is let. Returns once every machine is resynchronised.
pub async fn start(joining: Joining) -> Result<tokio::task::JoinHandle<Result<(), Failure>>, Failure> {
    let channel = tonic::transport::Endpoint::from_shared(joining.uri.clone())?.connect().await?;
    let mut client = AgentLinkClient::new(channel);
    let (up, outgoing) = mpsc::channel(OUTGOING_MAX);
    up.send(Up::Hello(hello(&joining)).into()).await?;
    let outgoing = tokio_stream::wrappers::ReceiverStream::new(outgoing);
    let mut down = client.connect(outgoing).await?.into_inner();
    let Down::Welcome(welcome) = next(&mut down).await? else {
        return Err("the plane did not answer the hello".into());
    };
    for statuses in idle(&welcome, joining.configuration) {
        up.send(Up::Resync(statuses).into()).await?;
    }
    Ok(tokio::spawn(async move { obey(&up, &mut down).await }))
}

async fn obey(up: &mpsc::Sender<proto::Up>, down: &mut Streaming<proto::Down>) -> Result<(), Failure> {
    loop {
        match next(down).await? {
            Down::Welcome(_) => return Err("a second welcome".into()),
            Down::Answer(_) => return Err("an answer, and nothing was asked".into()),
            Down::Look(_) => {}
            Down::Frames(frames) => {
                for frame in frames.into_iter().filter(|frame| !frame.orders.is_empty()) {
                    up.send(Up::Report(obeyed(frame)).into()).await?;
                }
            }
        }
    }
}

fn obeyed(frame: Frame) -> Statuses {
    let status = |order: mainstay_core::slot::Order| Status {
        server: order.server,
        generation: order.generation,
        configuration: Some(order.configuration),
        run: 0,
        phase: Phase::Online { pid: 4711 },
    };
    Statuses { machine: frame.machine, statuses: frame.orders.into_iter().map(status).collect() }
}

async fn next(down: &mut Streaming<proto::Down>) -> Result<Down, Failure> {
    let message = down.message().await?.ok_or("the plane closed the stream")?;
    Ok(message.try_into()?)
}

fn hello(joining: &Joining) -> Hello {
    let machine = |number: u16| JoiningMachine {
        key: MachineKey(uuid::Uuid::from_u64_pair(u64::from(joining.number), u64::from(number) + 1)),
        fleet: joining.fleet.clone(),
        region: joining.region.clone(),
        name: format!("simulated {}-{number}", joining.number).into(),
        ipv4: Some(std::net::Ipv4Addr::LOCALHOST),
        ipv6: None,
        slots: (0..joining.slots)
            .map(|slot| Ports { game: 20_000 + 2 * slot, query: 20_001 + 2 * slot })
            .collect(),
    };
    Hello {
        agent_version: format!("bench, protocol {PROTOCOL}"),
        boot_id: "bench".into(),
        token: joining.token.clone(),
        machines: (0..joining.machines).map(machine).collect(),
        looks: 0,
        host: None,
    }
}

fn idle(
    welcome: &Welcome,
    configuration: mainstay_core::slot::ConfigurationRef,
) -> impl Iterator<Item = Statuses> + '_ {
    welcome.machines.iter().map(move |machine| Statuses {
        machine: machine.machine,
        statuses: machine
            .slots
            .iter()
            .map(|slot| Status {
                server: slot.server,
                generation: Generation::NONE,
                configuration: Some(configuration),
                run: 0,
                phase: Phase::Online { pid: 4711 },
            })
            .collect(),
    })
}
