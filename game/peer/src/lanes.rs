//! What waits for one link, and in which order it goes. What the rules say goes before states, and states before what the game says; each
//! has room of its own, waiting and under way, so that a game that says more than a line carries holds up neither the vote that
//! finds its next host nor the beats that keep the present one.
//!
//! QUIC sends datagrams before streams, the oldest first, and so it is given few at a time: what the game says in them waits here, and of
//! more than may wait the oldest go, for they are said again. One that is too long for a packet of the line goes on a stream, and is still
//! none that has to come: it waits behind the game's words, and goes where a newer one waits and it is stale.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use mainstay_wire::peer::{PACKET_BYTES_MAX, lay_out};
use quinn::{Connection, ConnectionError, SendDatagramError};
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, mpsc};

use crate::link::{Load, Obstacle, Rank};
use crate::quic::Said;

/// How many packets of one rank are under way on streams: a second of states and views.
const UNDER_WAY_MAX: usize = 64;
/// How many long datagrams are: a third of a second of thirty a second. A line that takes longer has no use for more.
const LONG_UNDER_WAY_MAX: usize = 10;
/// After how long a datagram is stale, where a newer one waits: a few ticks of a game.
const STALE: Duration = Duration::from_millis(250);
/// How many streams the other end lets a link have: those of all ranks, and the eighth part that QUIC gives back late.
pub(crate) const STREAMS_MAX: u32 = 240;
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
/// How many bytes of the game's datagrams wait, and of the long ones among them are under way: a second of states at 2 Mbit/s. One that is
/// longer goes alone.
const DATAGRAMS_WAITING_MAX: usize = 256 * 1024;
/// How many bytes of datagrams QUIC itself is given to keep: as long as it has one it sends no stream, so few enough that each
/// acknowledgement, of eight packets, has room for both.
pub(crate) const DATAGRAMS_GIVEN_MAX: usize = 4 * 1024;

/// How many priorities the packets of one rank have. Once they are used up they begin anew: the first of those then overtakes.
const TURNS: i32 = 1 << 28;

const _: () = {
    let ranks = 3;
    assert!(ranks * UNDER_WAY_MAX + LONG_UNDER_WAY_MAX <= (STREAMS_MAX - STREAMS_MAX / 8) as usize);
    let bytes = ranks * UNDER_WAY_BYTES_MAX + DATAGRAMS_WAITING_MAX;
    assert!(bytes <= (WINDOW_BYTES - WINDOW_BYTES / 8) as usize);
};

/// Where whoever sends puts it.
#[derive(Debug)]
pub(crate) struct Lanes {
    rules: Lane,
    states: Lane,
    game: Lane,
    datagrams: Arc<Datagrams>,
    long: Arc<Datagrams>,
}

/// What takes it from there to its connection.
#[derive(Debug)]
pub(crate) struct Carrier {
    rules: mpsc::Receiver<Parcel>,
    states: mpsc::Receiver<Parcel>,
    game: mpsc::Receiver<Parcel>,
    datagrams: Arc<Datagrams>,
    long: Arc<Datagrams>,
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
    /// Each with when it was given.
    datagrams: VecDeque<(Instant, Bytes)>,
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
        let [datagrams, long] = [(); 2].map(|()| Arc::new(Datagrams::default()));
        let lanes = Self {
            rules: in_rules,
            states: in_states,
            game: in_game,
            datagrams: Arc::clone(&datagrams),
            long: Arc::clone(&long),
        };
        (lanes, Carrier { rules, states, game, datagrams, long })
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
                let waiting = self.datagrams.lock();
                if waiting.datagrams.is_empty() && connection.datagram_send_buffer_space() >= bytes.len() {
                    return give(connection, bytes);
                }
                drop(waiting);
                self.datagrams.put(bytes);
            }
        }
    }

    /// One of the game's that is too long for that.
    pub(crate) fn put_long_datagram(&self, bytes: Bytes) {
        self.long.put(bytes);
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
        let Self { rules, states, game, datagrams, long } = self;
        tokio::select! {
            ended = carry_streams(connection, rules, 4 * TURNS) => ended,
            ended = carry_streams(connection, states, 3 * TURNS) => ended,
            ended = carry_streams(connection, game, 2 * TURNS) => ended,
            ended = long.carry_on_streams(connection, TURNS) => ended,
            ended = datagrams.carry(connection) => ended,
        }
    }
}

/// What a rank has under way on streams. Each packet has a stream of its own. QUIC fills what it sends with streams of the highest priority, a
/// bit of each of the same; so that they do not all come whole at the end, or too late, each has one of its own, below that of the rank and the
/// one before.
struct Streams<'a> {
    connection: &'a Connection,
    places: Arc<Semaphore>,
    window: Arc<Semaphore>,
    window_bytes: usize,
    rank: i32,
    /// How many have gone.
    gone: i32,
}

/// A place among the packets that are under way.
struct Place {
    priority: i32,
    held: [OwnedSemaphorePermit; 2],
}

impl<'a> Streams<'a> {
    fn new(connection: &'a Connection, rank: i32, places: usize, window_bytes: usize) -> Self {
        let [places, window] = [places, window_bytes].map(|most| Arc::new(Semaphore::new(most)));
        Self { connection, places, window, window_bytes, rank, gone: 0 }
    }

    /// Waits for a place for one of so many bytes. Where neither semaphore is ever closed there is one.
    async fn place(&mut self, bytes: usize) -> Option<Place> {
        let place = Arc::clone(&self.places).acquire_owned().await.ok()?;
        let weight = weight(bytes, self.window_bytes);
        let window = Arc::clone(&self.window).acquire_many_owned(weight).await.ok()?;
        self.gone = (self.gone + 1) % TURNS;
        Some(Place { priority: self.rank - 1 - self.gone, held: [place, window] })
    }

    /// Sends it; it has its place until it has arrived, and so does what `held` is. An error means that the connection has ended.
    async fn send(
        &self,
        mut pieces: Vec<Bytes>,
        place: Place,
        held: impl Send + 'static,
    ) -> Result<(), ConnectionError> {
        let mut stream = self.connection.open_uni().await?;
        // Of a stream that the other end does not want nothing is left to do.
        if stream.set_priority(place.priority).is_ok() && stream.write_all_chunks(&mut pieces).await.is_ok() {
            let _stopped = stream.finish();
            tokio::spawn(async move {
                let _arrived = stream.stopped().await;
                drop((held, place.held));
            });
        }
        Ok(())
    }
}

async fn carry_streams(
    connection: &Connection,
    mut parcels: mpsc::Receiver<Parcel>,
    rank: i32,
) -> ConnectionError {
    let mut streams = Streams::new(connection, rank, UNDER_WAY_MAX, UNDER_WAY_BYTES_MAX);
    while let Some(Parcel { bytes, said, room }) = parcels.recv().await {
        let pieces = lay_out(&bytes);
        let Some(place) = streams.place(pieces.iter().map(Bytes::len).sum()).await else { break };
        drop(room);
        if let Err(ended) = streams.send(pieces, place, said).await {
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

    /// The same of those that are too long for a packet. Which one goes is decided once there is room for it.
    async fn carry_on_streams(&self, connection: &Connection, rank: i32) -> ConnectionError {
        let mut streams = Streams::new(connection, rank, LONG_UNDER_WAY_MAX, DATAGRAMS_WAITING_MAX);
        loop {
            self.some().await;
            let longest = self.lock().longest();
            let Some(place) = streams.place(longest).await else { return connection.closed().await };
            let Some(bytes) = self.lock().take(Instant::now()) else { continue };
            if let Err(ended) = streams.send(lay_out(&bytes), place, ()).await {
                return ended;
            }
        }
    }

    fn put(&self, bytes: Bytes) {
        self.lock().put(Instant::now(), bytes);
        self.filled.notify_one();
    }

    /// Waits until one waits.
    async fn some(&self) {
        while self.lock().datagrams.is_empty() {
            self.filled.notified().await;
        }
    }

    async fn next(&self) -> Bytes {
        loop {
            if let Some(datagram) = self.lock().take(Instant::now()) {
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
    fn put(&mut self, now: Instant, datagram: Bytes) {
        self.bytes += datagram.len();
        self.datagrams.push_back((now, datagram));
        while self.bytes > DATAGRAMS_WAITING_MAX && self.datagrams.len() > 1 {
            self.drop_oldest();
        }
    }

    /// The oldest that is not stale; the newest, if all are.
    fn take(&mut self, now: Instant) -> Option<Bytes> {
        while self.datagrams.len() > 1 && self.datagrams.front().is_some_and(|(put, _)| now >= *put + STALE) {
            self.drop_oldest();
        }
        self.drop_oldest()
    }

    fn drop_oldest(&mut self) -> Option<Bytes> {
        let (_, datagram) = self.datagrams.pop_front()?;
        self.bytes -= datagram.len();
        Some(datagram)
    }

    fn longest(&self) -> usize {
        self.datagrams.iter().map(|(_, datagram)| datagram.len()).max().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// "How things stand" is told again: on a line that is behind what is old gives way to what is new, and nothing waits for it.
    #[test]
    fn of_what_waits_the_stale_goes_but_never_all() {
        let (mut waiting, began) = (Waiting::default(), Instant::now());
        let put = |waiting: &mut Waiting, ms, byte: u8| {
            waiting.put(began + Duration::from_millis(ms), Bytes::from(vec![byte; 1_000]));
        };
        [0, 50, 100].into_iter().zip(1..).for_each(|(ms, byte)| put(&mut waiting, ms, byte));
        let take =
            |waiting: &mut Waiting, ms| waiting.take(began + Duration::from_millis(ms)).map(|bytes| bytes[0]);
        assert_eq!(take(&mut waiting, 100), Some(1), "in order");
        assert_eq!(take(&mut waiting, 320), Some(3), "the one before has waited too long");
        put(&mut waiting, 400, 4);
        assert_eq!(take(&mut waiting, 4_000), Some(4), "there is nothing newer");
        assert_eq!((take(&mut waiting, 4_000), waiting.bytes), (None, 0));
    }

    #[test]
    fn of_too_many_bytes_the_oldest_go_and_one_stays_however_long() {
        let (mut waiting, now) = (Waiting::default(), Instant::now());
        for byte in 1..=3 {
            waiting.put(now, Bytes::from(vec![byte; DATAGRAMS_WAITING_MAX / 2]));
        }
        assert_eq!(waiting.take(now).map(|bytes| bytes[0]), Some(2));
        waiting.put(now, Bytes::from(vec![4; DATAGRAMS_WAITING_MAX + 1]));
        assert_eq!((waiting.datagrams.len(), waiting.longest()), (1, DATAGRAMS_WAITING_MAX + 1));
    }
}
