//! What waits for one link, and in which order it goes. What the rules say goes before states, and states before what the game says; each
//! has room of its own, waiting and under way, so that a game that says more than a line carries holds up neither the vote that
//! finds its next host nor the beats that keep the present one.
//!
//! QUIC sends datagrams before streams, the oldest first, and so it is given few at a time: what the game says in them waits here, and of
//! more than may wait the oldest go, for they are said again.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use mainstay_wire::peer::{PACKET_BYTES_MAX, lay_out};
use quinn::{Connection, ConnectionError, SendDatagramError};
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, mpsc};

use crate::link::{Load, Obstacle, Rank};
use crate::quic::Said;

/// How many packets of one rank are under way on streams: a second of states and views.
const UNDER_WAY_MAX: usize = 64;
/// How many streams the other end lets a link have: those of all ranks, and the eighth part that QUIC gives back late.
pub(crate) const STREAMS_MAX: u32 = 224;
/// How many of their bytes: a second at 4 Mbit/s. One that is longer goes alone.
const UNDER_WAY_BYTES_MAX: usize = 512 * 1024;
/// How much of one link is under way, each way: what all ranks have, and the eighth part that QUIC gives back late.
pub(crate) const WINDOW_BYTES: u32 = 2 * (1 << 20);
/// How many packets of the rules, and how many states, wait for a stream: more would be old before they come, and are said again.
const WAITING_MAX: usize = 64;
/// How many of the game: what a busy host says to one member in a second, fifty a tick at 20 Hz.
const MESSAGES_WAITING_MAX: usize = 1_024;
/// How many bytes of each rank wait: two of the longest packets, which a line of 2 Mbit/s carries in eight seconds. What is said to all
/// members is in memory once.
const WAITING_BYTES_MAX: usize = 2 * PACKET_BYTES_MAX;
/// How many bytes of the game's datagrams wait: a second of states at 2 Mbit/s.
const DATAGRAMS_WAITING_MAX: usize = 256 * 1024;
/// How many bytes of datagrams QUIC itself is given to keep: as long as it has one it sends no stream, so few enough that each
/// acknowledgement, of eight packets, has room for both.
pub(crate) const DATAGRAMS_GIVEN_MAX: usize = 4 * 1024;

/// How many priorities the packets of one rank have. Once they are used up they begin anew: the first of those then overtakes.
const TURNS: i32 = 1 << 29;

const _: () = {
    let ranks = 3;
    assert!(ranks * UNDER_WAY_MAX <= (STREAMS_MAX - STREAMS_MAX / 8) as usize);
    assert!(ranks * UNDER_WAY_BYTES_MAX <= (WINDOW_BYTES - WINDOW_BYTES / 8) as usize);
};

/// Where whoever sends puts it.
#[derive(Debug)]
pub(crate) struct Lanes {
    rules: Lane,
    states: Lane,
    game: Lane,
    datagrams: Arc<Datagrams>,
}

/// What takes it from there to its connection.
#[derive(Debug)]
pub(crate) struct Carrier {
    rules: mpsc::Receiver<Parcel>,
    states: mpsc::Receiver<Parcel>,
    game: mpsc::Receiver<Parcel>,
    datagrams: Arc<Datagrams>,
}

#[derive(Debug)]
struct Lane {
    parcels: mpsc::Sender<Parcel>,
    /// In bytes.
    room: Arc<Semaphore>,
}

/// A packet that waits for a stream.
#[derive(Debug)]
struct Parcel {
    bytes: Bytes,
    said: Said,
    /// What it takes of its lane.
    room: OwnedSemaphorePermit,
}

/// The game's, the oldest first.
#[derive(Debug, Default)]
struct Datagrams {
    waiting: Mutex<Waiting>,
    filled: Notify,
}

#[derive(Debug, Default)]
struct Waiting {
    datagrams: VecDeque<Bytes>,
    bytes: usize,
}

/// As many bytes as there are, up to so many.
fn weight(bytes: usize, most: usize) -> u32 {
    u32::try_from(bytes.min(most)).unwrap_or(u32::MAX)
}

impl Lanes {
    pub(crate) fn new() -> (Self, Carrier) {
        let (in_rules, rules) = Lane::new(WAITING_MAX);
        let (in_states, states) = Lane::new(WAITING_MAX);
        let (in_game, game) = Lane::new(MESSAGES_WAITING_MAX);
        let datagrams = Arc::new(Datagrams::default());
        let lanes =
            Self { rules: in_rules, states: in_states, game: in_game, datagrams: Arc::clone(&datagrams) };
        (lanes, Carrier { rules, states, game, datagrams })
    }

    /// A packet that goes on a stream.
    pub(crate) fn put(&self, rank: Rank, bytes: Bytes, said: Said) -> Result<(), Obstacle> {
        let lane = match rank {
            Rank::Rules => &self.rules,
            Rank::State => &self.states,
            Rank::Game => &self.game,
        };
        lane.put(bytes, said)
    }

    /// One that goes as a datagram, which is not too long for that.
    pub(crate) fn put_datagram(&self, connection: &Connection, rank: Rank, bytes: Bytes) {
        match rank {
            Rank::Rules | Rank::State => give(connection, bytes),
            Rank::Game => {
                let mut waiting = self.datagrams.lock();
                if waiting.datagrams.is_empty() && connection.datagram_send_buffer_space() >= bytes.len() {
                    return give(connection, bytes);
                }
                waiting.put(bytes);
                drop(waiting);
                self.datagrams.filled.notify_one();
            }
        }
    }
}

/// Of what QUIC has kept it may forget the oldest for it.
fn give(connection: &Connection, bytes: Bytes) {
    if let Err(error) = connection.send_datagram(bytes) {
        tracing::trace!(%error, "a datagram was not sent");
    }
}

impl Lane {
    fn new(most: usize) -> (Self, mpsc::Receiver<Parcel>) {
        let (parcels, waiting) = mpsc::channel(most);
        (Self { parcels, room: Arc::new(Semaphore::new(WAITING_BYTES_MAX)) }, waiting)
    }

    fn put(&self, bytes: Bytes, said: Said) -> Result<(), Obstacle> {
        let load = Load {
            messages: self.parcels.max_capacity() - self.parcels.capacity(),
            bytes: WAITING_BYTES_MAX - self.room.available_permits(),
        };
        let weight = weight(bytes.len(), WAITING_BYTES_MAX);
        let room = Arc::clone(&self.room).try_acquire_many_owned(weight).map_err(|_| Obstacle::Full(load))?;
        self.parcels.try_send(Parcel { bytes, said, room }).map_err(|refused| match refused {
            TrySendError::Full(_) => Obstacle::Full(load),
            TrySendError::Closed(_) => Obstacle::NoLink,
        })
    }
}

impl Carrier {
    /// Until the connection ends.
    pub(crate) async fn carry(self, connection: &Connection) -> ConnectionError {
        let Self { rules, states, game, datagrams } = self;
        tokio::select! {
            ended = carry_streams(connection, rules, 3 * TURNS) => ended,
            ended = carry_streams(connection, states, 2 * TURNS) => ended,
            ended = carry_streams(connection, game, TURNS) => ended,
            ended = datagrams.carry(connection) => ended,
        }
    }
}

/// Each packet has a stream of its own. QUIC fills what it sends with streams of the highest priority, a bit of each of the same; so that
/// they do not all come whole at the end, or too late, each has one of its own, below `turn` and the one before.
async fn carry_streams(
    connection: &Connection,
    mut parcels: mpsc::Receiver<Parcel>,
    turn: i32,
) -> ConnectionError {
    let mut priorities = (turn - TURNS..turn).rev().cycle();
    let streams = Arc::new(Semaphore::new(UNDER_WAY_MAX));
    let window = Arc::new(Semaphore::new(UNDER_WAY_BYTES_MAX));
    while let Some(Parcel { bytes, said, room }) = parcels.recv().await {
        let mut pieces = lay_out(&bytes);
        let weight = weight(pieces.iter().map(Bytes::len).sum(), UNDER_WAY_BYTES_MAX);
        // Neither is ever closed.
        let stream_place = Arc::clone(&streams).acquire_owned().await;
        let window_place = Arc::clone(&window).acquire_many_owned(weight).await;
        drop(room);
        let priority = priorities.next().unwrap_or(turn);
        let sent = async {
            let mut stream = connection.open_uni().await.map_err(Some)?;
            stream.set_priority(priority).map_err(|_| None)?;
            stream.write_all_chunks(&mut pieces).await.map_err(|_| None)?;
            // An error means that the other end wants it no more.
            let _stopped = stream.finish();
            tokio::spawn(async move {
                let _arrived = stream.stopped().await;
                drop((said, stream_place, window_place));
            });
            Ok::<_, Option<ConnectionError>>(())
        };
        if let Err(Some(ended)) = sent.await {
            return ended;
        }
    }
    // The link was let go; what still comes in is read until the connection ends.
    connection.closed().await
}

impl Datagrams {
    /// Gives QUIC the next as soon as it has room.
    async fn carry(&self, connection: &Connection) -> ConnectionError {
        loop {
            match connection.send_datagram_wait(self.next().await).await {
                Err(SendDatagramError::ConnectionLost(ended)) => return ended,
                Ok(()) => {}
                // The way has become narrower since.
                Err(
                    error @ (SendDatagramError::UnsupportedByPeer
                    | SendDatagramError::Disabled
                    | SendDatagramError::TooLarge),
                ) => tracing::trace!(%error, "a datagram was not sent"),
            }
        }
    }

    async fn next(&self) -> Bytes {
        loop {
            if let Some(datagram) = self.lock().take() {
                return datagram;
            }
            self.filled.notified().await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    fn put(&mut self, datagram: Bytes) {
        self.bytes += datagram.len();
        self.datagrams.push_back(datagram);
        while self.bytes > DATAGRAMS_WAITING_MAX && self.take().is_some() {}
    }

    fn take(&mut self) -> Option<Bytes> {
        let datagram = self.datagrams.pop_front()?;
        self.bytes -= datagram.len();
        Some(datagram)
    }
}
