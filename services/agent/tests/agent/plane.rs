//! The other end of the agent's stream: it orders what a test says, and writes down what it hears. The stream is the
//! real one.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mainstay_core::slot::{Incident, Intent, Order, Phase, Reading, Session, Spec, Status};
use mainstay_core::{AllocationId, Generation, MachineId, ServerId};
use mainstay_wire::agent::proto::agent_link_server::{AgentLink, AgentLinkServer};
use mainstay_wire::agent::{Answer, Ask, Down, Frame, Outcome, Up, proto};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio_stream::Stream;
use tokio_stream::wrappers::{ReceiverStream, TcpListenerStream};
use tonic::{Request, Response, Streaming};
use uuid::Uuid;

use crate::games::fleet;

/// Long enough for a machine busy with other builds; a condition that holds ends the wait at once.
pub const PATIENCE: Duration = Duration::from_secs(90);

/// What the plane wants, and what it has heard.
#[derive(Default)]
struct Book {
    specs: Vec<Spec>,
    orders: BTreeMap<ServerId, Order>,
    statuses: BTreeMap<ServerId, Status>,
    said: Vec<Status>,
    incidents: Vec<Incident>,
    readings: BTreeMap<ServerId, Reading>,
    streams: u32,
    /// The machine that spoke last of each server.
    spoke_for: BTreeMap<ServerId, MachineId>,
    /// Servers are numbered from here: raised, every slot is another server's.
    first_server: u32,
    /// What games asked for, in order.
    asks: Vec<Ask>,
    down: Option<mpsc::Sender<Result<proto::Down, tonic::Status>>>,
    /// A connection outlives the listener that took it, so each ends by itself.
    listeners: Vec<JoinHandle<()>>,
}

/// A scripted control plane.
pub struct Plane {
    book: Arc<Mutex<Book>>,
    heard: watch::Receiver<u64>,
    ears: Arc<watch::Sender<u64>>,
    pub address: SocketAddr,
    task: Option<JoinHandle<()>>,
}

impl Plane {
    pub async fn start(specs: Vec<Spec>) -> Self {
        let (ears, heard) = watch::channel(0);
        let book = Book { specs, first_server: 1, ..Book::default() };
        let mut plane = Self {
            book: Arc::new(Mutex::new(book)),
            heard,
            ears: Arc::new(ears),
            address: ([127, 0, 0, 1], 0).into(),
            task: None,
        };
        plane.come_up().await;
        plane
    }

    /// Listens, at the address it had.
    pub async fn come_up(&mut self) {
        let listener = TcpListener::bind(self.address).await.expect("the plane's port is free");
        self.address = listener.local_addr().expect("an address");
        let link = Link { book: Arc::clone(&self.book), ears: Arc::clone(&self.ears) };
        let server = tonic::transport::Server::builder().add_service(AgentLinkServer::new(link));
        self.task = Some(tokio::spawn(async move {
            server.serve_with_incoming(TcpListenerStream::new(listener)).await.expect("the plane serves");
        }));
    }

    /// Vanishes, with every stream.
    pub async fn go_away(&mut self) {
        if let Some(task) = self.task.take() {
            task.abort();
            let _cancelled = task.await;
        }
        let mut book = self.book();
        book.down = None;
        book.listeners.drain(..).for_each(|listener| listener.abort());
    }

    /// Gives every slot to another server.
    pub fn renumber(&self, first_server: u32) {
        let mut book = self.book();
        book.first_server = first_server;
        book.orders.clear();
        book.statuses.clear();
    }

    /// The ask of a game at this place, once it has come.
    pub async fn ask(&self, place: usize) -> Ask {
        self.wait("an ask", |book| book.asks.get(place).cloned()).await
    }

    /// Says what became of an ask.
    pub async fn answer(&self, id: u64, outcome: Outcome) {
        let down = self.book().down.clone().expect("a stream");
        down.send(Ok(Down::Answer(Answer { id, outcome }).into())).await.expect("the agent listens");
    }

    /// The newest order's generation of a slot.
    pub fn generation(&self, n: u32) -> Generation {
        self.book().orders[&server(n)].generation
    }

    /// Orders, with the next generation.
    pub async fn order(&self, n: u32, intent: Intent, spec: &Spec, session: Option<u128>) {
        self.order_with(n, intent, spec, session, None).await;
    }

    /// Orders, with a payload.
    pub async fn order_with(
        &self,
        n: u32,
        intent: Intent,
        spec: &Spec,
        session: Option<u128>,
        payload: Option<&str>,
    ) {
        let server = server(n);
        let (order, down) = {
            let mut book = self.book();
            let before = book.orders.get(&server).map_or(Generation::NONE, |order| order.generation);
            let order = Order {
                server,
                generation: before.next(),
                configuration: spec.configuration,
                allocation: session
                    .map(|id| Session { allocation: allocation(id), payload: payload.map(Into::into) }),
                intent,
            };
            book.orders.insert(server, order.clone());
            (order, book.down.clone())
        };
        if let Some(down) = down {
            // A stream that has just ended is followed by one that is told everything.
            let _ended = down.send(Ok(frames(None, vec![order]))).await;
        }
    }

    /// Waits for a word on a slot's newest order.
    pub async fn until(&self, n: u32, what: &str, holds: impl Fn(&Phase) -> bool) -> Phase {
        let wanted = self.book().orders[&server(n)].generation;
        let found = |book: &Book| {
            let status = book.statuses.get(&server(n))?;
            (status.generation == wanted && holds(&status.phase)).then(|| status.phase.clone())
        };
        self.wait(what, found).await
    }

    /// Waits until a slot is online, and gives its pid.
    pub async fn online(&self, n: u32) -> u32 {
        self.online_not(n, 0).await
    }

    /// Waits until a slot is online with another process than `old`, and gives its pid.
    pub async fn online_not(&self, n: u32, old: u32) -> u32 {
        let phase =
            self.until(n, "online", |phase| matches!(phase, Phase::Online { pid } if *pid != old)).await;
        let Phase::Online { pid } = phase else { panic!("{phase:?}") };
        pid
    }

    /// Waits until a number of streams have been greeted.
    pub async fn streams(&self, count: u32) {
        self.wait("a stream", |book| (book.streams >= count).then_some(())).await;
    }

    pub fn streams_so_far(&self) -> u32 {
        self.book().streams
    }

    /// Waits for the last word on a run that ended as nobody wished.
    pub async fn incident(&self, n: u32, what: &str, holds: impl Fn(&Incident) -> bool) -> Incident {
        let found =
            |book: &Book| book.incidents.iter().rev().find(|it| it.server == server(n) && holds(it)).cloned();
        self.wait(what, found).await
    }

    /// Waits for what was read of a slot.
    pub async fn reading(&self, n: u32, what: &str, holds: impl Fn(&Reading) -> bool) -> Reading {
        let found = |book: &Book| book.readings.get(&server(n)).copied().filter(|reading| holds(reading));
        self.wait(what, found).await
    }

    /// Every word on a slot so far, in order.
    pub fn said(&self, n: u32) -> Vec<Phase> {
        let book = self.book();
        book.said
            .iter()
            .filter(|status| status.server == server(n))
            .map(|status| status.phase.clone())
            .collect()
    }

    /// Which of the agent's machines speaks for a server: the first is 0.
    pub fn machine_of(&self, n: u32) -> u32 {
        self.book().spoke_for[&server(n)].counter() - 1
    }

    async fn wait<T>(&self, what: &str, found: impl Fn(&Book) -> Option<T>) -> T {
        let mut heard = self.heard.clone();
        let waiting = async {
            loop {
                heard.borrow_and_update();
                if let Some(value) = found(&self.book()) {
                    return value;
                }
                heard.changed().await.expect("the plane has ears");
            }
        };
        match tokio::time::timeout(PATIENCE, waiting).await {
            Ok(value) => value,
            Err(_) => panic!("not {what} within {PATIENCE:?}: {:?}", self.book().statuses),
        }
    }

    fn book(&self) -> std::sync::MutexGuard<'_, Book> {
        self.book.lock().expect("nobody panics with the book")
    }
}

impl Drop for Plane {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}

pub fn server(n: u32) -> ServerId {
    ServerId::of(fleet(), n)
}

/// Servers of one machine are numbered from the next multiple of this, plus one.
pub const MACHINE: u32 = 100;

fn machine(n: u32) -> MachineId {
    MachineId::of(fleet(), n + 1)
}

pub fn allocation(n: u128) -> AllocationId {
    AllocationId(Uuid::from_u128(n))
}

fn frames(specs: Option<Vec<Spec>>, orders: Vec<Order>) -> proto::Down {
    let specs = specs.map(|specs| (1, specs));
    Down::Frames(vec![Frame { machine: machine(0), specs, slots: None, orders }]).into()
}

/// The service behind the stream.
struct Link {
    book: Arc<Mutex<Book>>,
    ears: Arc<watch::Sender<u64>>,
}

type Downstream = Pin<Box<dyn Stream<Item = Result<proto::Down, tonic::Status>> + Send>>;

#[tonic::async_trait]
impl AgentLink for Link {
    type ConnectStream = Downstream;

    async fn connect(
        &self,
        request: Request<Streaming<proto::Up>>,
    ) -> Result<Response<Downstream>, tonic::Status> {
        let up = request.into_inner();
        let (down, answers) = mpsc::channel(64);
        let (book, ears) = (Arc::clone(&self.book), Arc::clone(&self.ears));
        let listener = tokio::spawn(async move { listen(up, down, &book, &ears).await });
        self.book.lock().expect("book").listeners.push(listener);
        Ok(Response::new(Box::pin(ReceiverStream::new(answers))))
    }
}

async fn listen(
    mut up: Streaming<proto::Up>,
    down: mpsc::Sender<Result<proto::Down, tonic::Status>>,
    book: &Mutex<Book>,
    ears: &watch::Sender<u64>,
) {
    while let Ok(Some(message)) = up.message().await {
        match Up::try_from(message).expect("the agent says what makes sense") {
            Up::Hello(hello) => {
                let first = book.lock().expect("book").first_server;
                let welcome = welcome(&hello, first);
                let _ended = down.send(Ok(welcome)).await;
            }
            Up::Resync(statuses) => {
                let told = {
                    let mut book = book.lock().expect("book");
                    hear(&mut book, statuses);
                    book.streams += 1;
                    book.down = Some(down.clone());
                    frames(Some(book.specs.clone()), book.orders.values().cloned().collect())
                };
                let _ended = down.send(Ok(told)).await;
            }
            Up::Report(statuses) => hear(&mut book.lock().expect("book"), statuses),
            Up::Incidents(told) => book.lock().expect("book").incidents.extend(told.incidents),
            Up::Readings(told) => book.lock().expect("book").readings.extend(told.readings),
            Up::Ask(ask) => book.lock().expect("book").asks.push(ask),
            Up::Installs(_) | Up::Looked(_) => {}
        }
        ears.send_modify(|count| *count += 1);
    }
}

fn hear(book: &mut Book, statuses: mainstay_wire::agent::Statuses) {
    for status in statuses.statuses {
        book.spoke_for.insert(status.server, statuses.machine);
        book.said.push(status.clone());
        book.statuses.insert(status.server, status);
    }
}

fn welcome(hello: &mainstay_wire::agent::Hello, first: u32) -> proto::Down {
    let machines = (0..).zip(&hello.machines).map(|(place, joining)| proto::WelcomedMachine {
        machine: machine(place).number(),
        fleet_id: Uuid::from_u128(0xf).into_bytes().to_vec(),
        fleet_name: joining.fleet.clone(),
        region_id: Uuid::from_u128(0xe).into_bytes().to_vec(),
        region_name: joining.region.clone(),
        slots: (first + place * MACHINE..)
            .zip(&joining.slots)
            .map(|(n, ports)| proto::WelcomedSlot {
                server: server(n).number(),
                ports: Some(proto::Ports { game: ports.game.into(), query: ports.query.into() }),
            })
            .collect(),
    });
    let (protocol, asks) = (mainstay_wire::agent::PROTOCOL, mainstay_wire::agent::ASKS);
    let welcome = proto::Welcome { protocol, machines: machines.collect(), asks, installs: 0 };
    proto::Down { what: Some(proto::down::What::Welcome(welcome)) }
}
