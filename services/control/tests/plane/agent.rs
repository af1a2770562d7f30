//! An agent that obeys at once: it speaks the real protocol over a real stream, and its processes exist only on paper.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use mainstay_core::density::{Host, MachineSize};
use mainstay_core::slot::{Intent, Order, Phase, Status, Stopped};
use mainstay_core::{Generation, MachineId, MachineKey, ServerId};
use mainstay_fleet::Ports;
use mainstay_wire::agent::proto::agent_link_client::AgentLinkClient;
use mainstay_wire::agent::{
    Answer, Ask, Down, Frame, Hello, JoiningMachine, MESSAGE_BYTES_MAX, Outcome, Statuses, Up, Welcome, proto,
};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Streaming;
use tonic::transport::Endpoint;
use uuid::Uuid;

/// What the paper processes do when they are told to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Habit {
    /// They are online at once.
    Obeys,
    /// Orders are noted and never obeyed.
    Sleeps,
}

/// A connected agent.
pub struct PaperAgent {
    pub machine: MachineId,
    pub servers: Vec<ServerId>,
    /// Every order that arrived, in order.
    pub orders: Arc<Mutex<Vec<Order>>>,
    up: mpsc::Sender<proto::Up>,
    answers: tokio::sync::Mutex<mpsc::UnboundedReceiver<Answer>>,
    listening: JoinHandle<tonic::Status>,
}

/// A slot as the agent keeps it between streams.
pub type Slots = Arc<Mutex<BTreeMap<ServerId, Status>>>;

pub fn joining(key: u8, fleet: &str, slots: u16) -> JoiningMachine {
    let port = |slot: u16| 20_000 + u16::from(key) * 100 + slot * 2;
    JoiningMachine {
        key: MachineKey(Uuid::from_bytes([key; 16])),
        fleet: fleet.to_owned(),
        region: "local".to_owned(),
        name: format!("host-{key}").into(),
        ipv4: Some([127, 0, 0, 1].into()),
        ipv6: None,
        slots: (0..slots).map(|slot| Ports { game: port(slot), query: port(slot) + 1 }).collect(),
    }
}

/// What every test's machine runs on.
pub fn host() -> Host {
    let size = MachineSize { cores: 8, speed_mhz: Some(2_400), memory_mib: 16_000 };
    Host { size, processor: "a processor".into() }
}

pub fn hello(token: &str, machines: Vec<JoiningMachine>) -> Up {
    Up::Hello(Hello {
        host: Some(host()),
        agent_version: "paper".to_owned(),
        boot_id: "boot".to_owned(),
        token: token.to_owned(),
        machines,
        looks: 0,
    })
}

/// Opens a stream and says the first thing on it.
pub async fn open(
    address: SocketAddr,
    first: Up,
) -> Result<(mpsc::Sender<proto::Up>, Streaming<proto::Down>), tonic::Status> {
    let endpoint = Endpoint::from_shared(format!("http://{address}")).unwrap();
    let client = AgentLinkClient::new(endpoint.connect().await.unwrap());
    let mut client = client.max_decoding_message_size(MESSAGE_BYTES_MAX);
    let (up, sent) = mpsc::channel(64);
    up.send(first.into()).await.unwrap();
    let down = client.connect(ReceiverStream::new(sent)).await?.into_inner();
    Ok((up, down))
}

/// The next message, or how the stream ended.
pub async fn next(down: &mut Streaming<proto::Down>) -> Result<Down, tonic::Status> {
    match down.message().await? {
        Some(message) => Ok(message.try_into().unwrap()),
        None => Err(tonic::Status::ok("")),
    }
}

impl PaperAgent {
    /// Joins, resynchronises from what `slots` says, and obeys by its habit. Its stream is its machine's current one: the
    /// control plane has told it what it may run.
    pub async fn connect(address: SocketAddr, token: &str, joining: JoiningMachine, habit: Habit) -> Self {
        Self::reconnect(address, token, joining, habit, Slots::default()).await
    }

    pub async fn reconnect(
        address: SocketAddr,
        token: &str,
        joining: JoiningMachine,
        habit: Habit,
        slots: Slots,
    ) -> Self {
        let (up, mut down) = open(address, hello(token, vec![joining])).await.unwrap();
        let Down::Welcome(Welcome { machines, .. }) = next(&mut down).await.unwrap() else {
            panic!("no welcome")
        };
        let [welcomed] = <[_; 1]>::try_from(machines).unwrap();
        let servers: Vec<ServerId> = welcomed.slots.iter().map(|slot| slot.server).collect();
        let statuses = {
            let mut known = slots.lock().unwrap();
            for server in &servers {
                known.entry(*server).or_insert(Status {
                    server: *server,
                    generation: Generation::NONE,
                    configuration: None,
                    run: 0,
                    phase: Phase::Stopped(Stopped::Idle),
                });
            }
            known.values().cloned().collect()
        };
        let machine = welcomed.machine;
        up.send(Up::Resync(Statuses { machine, statuses }).into()).await.unwrap();
        let orders = Arc::new(Mutex::new(Vec::new()));
        let (answered, answers) = mpsc::unbounded_channel();
        let (first, current) = oneshot::channel();
        let heard = Heard { orders: Arc::clone(&orders), first: Some(first) };
        let listening = tokio::spawn(listen(machine, down, up.clone(), habit, slots, heard, answered));
        current.await.unwrap();
        let answers = tokio::sync::Mutex::new(answers);
        Self { machine, servers, orders, up, answers, listening }
    }

    /// Says anything.
    pub async fn say(&self, what: Up) {
        self.up.send(what.into()).await.unwrap();
    }

    /// The first order that ever came.
    pub async fn first_order(&self) -> Order {
        self.until_order(|_| true).await
    }

    /// The first order of a kind, as soon as it has come.
    pub async fn until_order(&self, holds: impl Fn(&Order) -> bool) -> Order {
        loop {
            if let Some(order) = self.orders.lock().unwrap().iter().find(|order| holds(order)) {
                return order.clone();
            }
            tokio::task::yield_now().await;
        }
    }

    /// Says how a slot stands, whatever its orders are.
    pub async fn report(&self, status: Status) {
        let report = Up::Report(Statuses { machine: self.machine, statuses: vec![status] });
        self.up.send(report.into()).await.unwrap();
    }

    /// Says that a server's process is its machine's n-th, by its newest order.
    pub async fn runs(&self, server: ServerId, run: u64) {
        let status = {
            let orders = self.orders.lock().unwrap();
            let order = orders.iter().rfind(|order| order.server == server).unwrap();
            Status {
                server,
                generation: order.generation,
                configuration: Some(order.configuration),
                run,
                phase: Phase::Online { pid: 1000 + u32::try_from(run).unwrap() },
            }
        };
        self.report(status).await;
    }

    /// Says what a game wants, and waits for what becomes of it.
    pub async fn ask(&self, ask: Ask) -> Outcome {
        let id = ask.id;
        self.up.send(Up::Ask(ask).into()).await.unwrap();
        let answer = self.answers.lock().await.recv().await.unwrap();
        assert_eq!(answer.id, id);
        answer.outcome
    }

    /// Breaks the stream.
    pub fn vanish(self) {
        self.listening.abort();
    }

    /// How the stream ended.
    pub async fn ended(self) -> tonic::Status {
        self.listening.await.unwrap()
    }
}

/// What came down a stream.
struct Heard {
    orders: Arc<Mutex<Vec<Order>>>,
    /// Whoever waits for the first frame.
    first: Option<oneshot::Sender<()>>,
}

async fn listen(
    machine: MachineId,
    mut down: Streaming<proto::Down>,
    up: mpsc::Sender<proto::Up>,
    habit: Habit,
    slots: Slots,
    mut heard: Heard,
    answered: mpsc::UnboundedSender<Answer>,
) -> tonic::Status {
    loop {
        let frames = match next(&mut down).await {
            Err(status) => return status,
            Ok(Down::Welcome(_)) => panic!("a second welcome"),
            Ok(Down::Frames(frames)) => frames,
            Ok(Down::Answer(answer)) => {
                let _test_ended = answered.send(answer);
                continue;
            }
            // It says that it takes none.
            Ok(Down::Look(look)) => panic!("asked for {look:?}"),
        };
        if let Some(first) = heard.first.take() {
            first.send(()).unwrap();
        }
        for Frame { machine: of, orders, .. } in frames {
            assert_eq!(of, machine);
            heard.orders.lock().unwrap().extend(orders.iter().cloned());
            if habit == Habit::Sleeps {
                continue;
            }
            let statuses: Vec<Status> = orders.iter().map(|order| obey(order, &slots)).collect();
            // Where the plane takes no more, how it ended the stream is told by the other half.
            let _ended = up.send(Up::Report(Statuses { machine, statuses }).into()).await;
        }
    }
}

fn obey(order: &Order, slots: &Slots) -> Status {
    let mut slots = slots.lock().unwrap();
    let slot = slots.get_mut(&order.server).unwrap();
    assert!(order.generation >= slot.generation, "an older order after a newer one: {order:?}");
    slot.generation = order.generation;
    match order.intent {
        Intent::Run | Intent::Renew => {
            slot.configuration = Some(order.configuration);
            slot.phase = Phase::Online { pid: 1000 + order.server.counter() };
        }
        Intent::Stop => slot.phase = Phase::Stopped(Stopped::Ordered),
        Intent::Leave => {}
    }
    slot.clone()
}
