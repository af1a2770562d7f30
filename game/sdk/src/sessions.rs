//! Follows the server's sessions on a thread of its own: by the event socket, and by `server.json` where there is none.
//!
//! The socket is told what goes on when it subscribes, so nothing is missed by one that breaks: the next one is told. The
//! file is looked at once after each subscription, for what ended between its first reading and that moment, and once a
//! second while there is no socket.

use std::io::ErrorKind;
use std::net::{Shutdown, TcpStream, ToSocketAddrs as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use tungstenite::protocol::WebSocketConfig;
use tungstenite::{Message, WebSocket};

use crate::centrifuge::{self, Said};
use crate::daemon::host_of;
use crate::error::Error;
use crate::server_json::{News, ServerJson, Watch};
use crate::tracker::Tracker;

/// How often the file is looked at while there is no socket, and how long until the next try for one.
const PAUSE: Duration = Duration::from_secs(1);
/// How long a quiet socket is believed; then it is pinged, as stock clients do.
const PING_AFTER: Duration = Duration::from_secs(25);
/// How long the daemon may take to accept a connection, and one write to be taken.
const WITHIN: Duration = Duration::from_secs(10);
/// The largest message read: an event is below 500 bytes.
const MESSAGE_BYTES_MAX: usize = 64 * 1024;

/// What happened to the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// It has this session now.
    Allocated(String),
    /// This session is over.
    Deallocated(String),
}

/// The server's sessions, as they come and go. Dropping it ends its thread.
#[derive(Debug)]
pub struct Sessions {
    events: Mutex<Receiver<Event>>,
    line: Arc<Line>,
    thread: Option<JoinHandle<()>>,
}

/// What the thread shares with who stops it.
#[derive(Debug, Default)]
struct Line {
    stopped: AtomicBool,
    socket: Mutex<Option<TcpStream>>,
    wake: Mutex<Option<Sender<()>>>,
}

impl Sessions {
    /// Follows the server of this home. A session that `server.json` names already is the first event.
    ///
    /// # Errors
    /// [`Error::Thread`]. That there is no daemon is no error: then the file is watched.
    pub fn follow(home: &Path, server: &ServerJson) -> Result<Self, Error> {
        let (events, receiver) = mpsc::channel();
        let (wake, woken) = mpsc::channel();
        let line = Arc::new(Line { wake: Mutex::new(Some(wake)), ..Line::default() });
        let mut follower = Follower {
            home: home.to_owned(),
            watch: Watch::new(Some(home)),
            address: server.daemon().and_then(host_of).map(str::to_owned),
            server: server.server(),
            tracker: Tracker::default(),
            events,
            line: Arc::clone(&line),
            woken,
        };
        follower.tell(|tracker| tracker.is(server.allocation()));
        let thread = std::thread::Builder::new()
            .name("mainstay-sdk".to_owned())
            .spawn(move || follower.run())
            .map_err(Error::Thread)?;
        Ok(Self { events: Mutex::new(receiver), line, thread: Some(thread) })
    }

    /// The next event, if there is one: for a loop that ticks.
    pub fn next(&self) -> Option<Event> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner).try_recv().ok()
    }

    /// The next event, waited for at most so long.
    pub fn wait(&self, most: Duration) -> Option<Event> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(most).ok()
    }
}

impl Drop for Sessions {
    fn drop(&mut self) {
        self.line.stopped.store(true, Ordering::Release);
        self.line.wake.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(socket) = &*self.line.socket.lock().unwrap_or_else(PoisonError::into_inner) {
            // A socket that is closed already reads nothing more either.
            let _closed = socket.shutdown(Shutdown::Both);
        }
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has ended, which is all that is wanted of it.
            let _ended = thread.join();
        }
    }
}

struct Follower {
    home: PathBuf,
    watch: Watch,
    /// `host:port` of the daemon.
    address: Option<String>,
    server: Option<u64>,
    tracker: Tracker,
    events: Sender<Event>,
    line: Arc<Line>,
    woken: Receiver<()>,
}

impl Follower {
    fn run(mut self) {
        while !self.stopped() {
            if let (Some(address), Some(server)) = (self.address.clone(), self.server) {
                // Whatever breaks it, the file is watched until the next one stands.
                self.listen(&address, server);
            }
            self.look();
            // Whoever stops us drops the other end.
            if self.woken.recv_timeout(PAUSE) == Err(RecvTimeoutError::Disconnected) {
                return;
            }
        }
    }

    fn stopped(&self) -> bool {
        self.line.stopped.load(Ordering::Acquire)
    }

    /// Looks at the file. One that is missing or half-written is looked at again a second later.
    fn look(&mut self) {
        if matches!(self.watch.poll(), Ok(News::Changed)) {
            let read = self.watch.last();
            // A daemon that came back may be elsewhere.
            self.address = read.daemon().and_then(host_of).map(str::to_owned).or_else(|| self.address.take());
            self.server = read.server().or(self.server);
            let allocation = read.allocation().map(str::to_owned);
            self.tell(|tracker| tracker.is(allocation.as_deref()));
        }
    }

    fn tell(&mut self, learn: impl FnOnce(&mut Tracker) -> Vec<Event>) {
        for event in learn(&mut self.tracker) {
            // Nobody listens any more: then we are being stopped.
            let _stopped = self.events.send(event);
        }
    }

    /// Listens until the socket breaks, or the daemon will not have us.
    fn listen(&mut self, address: &str, server: u64) {
        let Some(mut socket) = self.connect(address) else { return };
        self.speak(&mut socket, server);
        self.line.socket.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    fn connect(&self, address: &str) -> Option<WebSocket<TcpStream>> {
        let stream = address
            .to_socket_addrs()
            .ok()?
            .find_map(|address| TcpStream::connect_timeout(&address, WITHIN).ok())?;
        stream.set_nodelay(true).ok()?;
        stream.set_write_timeout(Some(WITHIN)).ok()?;
        stream.set_read_timeout(Some(WITHIN)).ok()?;
        *self.line.socket.lock().unwrap_or_else(PoisonError::into_inner) = stream.try_clone().ok();
        if self.stopped() {
            return None;
        }
        let config = WebSocketConfig::default()
            .max_message_size(Some(MESSAGE_BYTES_MAX))
            .max_frame_size(Some(MESSAGE_BYTES_MAX));
        let url = format!("ws://{address}/v1/connection/websocket");
        let (socket, _answer) = tungstenite::client::client_with_config(url, stream, Some(config)).ok()?;
        socket.get_ref().set_read_timeout(Some(PING_AFTER)).ok()?;
        Some(socket)
    }

    fn speak(&mut self, socket: &mut WebSocket<TcpStream>, server: u64) {
        const SUBSCRIBED: u64 = 2;
        let mut asked = SUBSCRIBED;
        for command in [centrifuge::connect(1), centrifuge::subscribe(SUBSCRIBED, server)] {
            if socket.send(Message::text(command)).is_err() {
                return;
            }
        }
        let mut pinged = false;
        loop {
            let text = match socket.read() {
                Ok(Message::Text(text)) => text,
                Ok(Message::Close(_)) => return,
                Ok(Message::Binary(_) | Message::Ping(_) | Message::Pong(_) | Message::Frame(_)) => continue,
                // Quiet: one ping, and if that stays unanswered, another socket.
                Err(tungstenite::Error::Io(error))
                    if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) && !pinged =>
                {
                    pinged = true;
                    asked += 1;
                    if socket.send(Message::text(centrifuge::ping(asked))).is_err() {
                        return;
                    }
                    continue;
                }
                Err(_broken) => return,
            };
            pinged = false;
            let Ok(all) = centrifuge::read(&text) else { return };
            for said in all {
                match said {
                    Said::Done(SUBSCRIBED) => {
                        // The file says what was true when it was written, so one reading after the subscription is
                        // enough: whatever changes later is told here.
                        self.watch = Watch::new(Some(&self.home));
                        self.look();
                    }
                    Said::Done(_) | Said::Other => {}
                    Said::Refused { .. } => return,
                    Said::Allocated(id) => self.tell(|tracker| tracker.allocated(&id)),
                    Said::Deallocated(id) => self.tell(|tracker| tracker.deallocated(&id)),
                }
            }
        }
    }
}
