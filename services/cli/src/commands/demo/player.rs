//! A player of the demo: steers a boat over UDP, and joins again where the game went away under it.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use mainstay_tugboat::client::{Client, ClientError};
use mainstay_tugboat::world::Helm;

/// How long a player asks to join before it looks for the server anew.
const JOINS_FOR: Duration = Duration::from_secs(1);
/// After how long without a state a player takes the game for gone. It comes ten times a second and more.
const SILENT_FOR: Duration = Duration::from_millis(500);
/// How long a player waits before it joins again.
const PAUSE: Duration = Duration::from_millis(20);
/// How often a player steers.
const STEERS_EVERY: Duration = Duration::from_millis(200);

/// A player that plays until it is told to leave.
pub struct Player {
    name: String,
    seen: Arc<Mutex<Seen>>,
    leaves: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// What a player has seen of its game.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    /// How often it got into the game.
    pub joins: u32,
    /// The last state's moment.
    pub last: Option<Instant>,
    /// The last state's tick.
    pub tick: u32,
    /// How long it saw nothing when it last got in again.
    pub gap: Option<Duration>,
}

impl Player {
    /// Plays from now on, on a thread of its own.
    pub fn start(name: &str, server: SocketAddr) -> Self {
        let (seen, leaves) = (Arc::default(), Arc::new(AtomicBool::new(false)));
        let thread = {
            let (name, seen, leaves) = (name.to_owned(), Arc::clone(&seen), Arc::clone(&leaves));
            thread::spawn(move || play(&name, server, &seen, &leaves))
        };
        Self { name: name.to_owned(), seen, leaves, thread: Some(thread) }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it has seen so far.
    pub fn seen(&self) -> Seen {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Player {
    /// Leaves the game, so that the server knows at once.
    fn drop(&mut self) {
        self.leaves.store(true, Ordering::Relaxed);
        if let Some(Err(panicked)) = self.thread.take().map(JoinHandle::join) {
            std::panic::resume_unwind(panicked);
        }
    }
}

fn play(name: &str, server: SocketAddr, seen: &Mutex<Seen>, leaves: &AtomicBool) {
    while !leaves.load(Ordering::Relaxed) {
        // Whatever went wrong, the way out is to join again: the server may just be starting.
        let Err(_gone) = round(name, server, seen, leaves) else { return };
        thread::sleep(PAUSE);
    }
}

/// Plays until it leaves, or the game is gone.
fn round(name: &str, server: SocketAddr, seen: &Mutex<Seen>, leaves: &AtomicBool) -> Result<(), ClientError> {
    let mut client = Client::join(server, name, JOINS_FOR)?;
    let (mut again, mut steered) = (true, Instant::now());
    while !leaves.load(Ordering::Relaxed) {
        let state = client.state(SILENT_FOR)?;
        let now = Instant::now();
        {
            let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
            if again {
                seen.joins += 1;
                seen.gap = seen.last.map(|last| now - last);
                again = false;
            }
            (seen.last, seen.tick) = (Some(now), state.world.tick());
        }
        if steered.elapsed() >= STEERS_EVERY {
            client.steer(Helm { throttle: 60, rudder: 10 })?;
            steered = now;
        }
    }
    client.leave()
}
