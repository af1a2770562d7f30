//! Who has a place where all connections are taken.
//!
//! Whoever asks for nothing gives way to one that comes: a stranger who opens all the connections there may be, and says nothing or a byte, keeps nobody out for
//! longer than [`IDLE_LEAST`]. Streams stand for as long as what they tell of does, so they have no more than [`Crowd::STANDARD`] gives them: calls find the rest.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::http::header::CONTENT_TYPE;
use axum::response::Response;
use hyper::body::{Frame, SizeHint};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::{Instant, timeout};

use super::failure::{Failure, problem};
use super::pages;

/// How long a connection asks for nothing before it gives way: a client that asks one thing after another is quicker.
const IDLE_LEAST: Duration = Duration::from_secs(1);

/// How many there may be.
#[derive(Debug, Clone, Copy)]
pub(super) struct Places {
    /// Connections at once; further ones wait in the system's own queue.
    pub(super) connections: usize,
    /// Streams among them.
    pub(super) streams: usize,
}

/// All connections of one face.
#[derive(Debug, Clone)]
pub(super) struct Crowd {
    places: Arc<Semaphore>,
    streams: Arc<Semaphore>,
    /// Somebody waits for a place.
    wanted: watch::Sender<()>,
}

impl Crowd {
    /// Each connection costs some 20 KB of buffers, so a stranger who opens all of them takes 80 MB and no more. A thousand are left to calls.
    pub(super) const STANDARD: Places = Places { connections: 4_096, streams: 3_072 };

    pub(super) fn of(places: Places) -> Self {
        Self {
            places: Arc::new(Semaphore::new(places.connections)),
            streams: Arc::new(Semaphore::new(places.streams)),
            wanted: watch::Sender::new(()),
        }
    }

    /// The next place. While there is none, whoever asks for nothing is sent away. `None` never: the semaphore is not closed.
    pub(super) async fn place(&self) -> Option<OwnedSemaphorePermit> {
        loop {
            if let Ok(place) = Arc::clone(&self.places).try_acquire_owned() {
                return Some(place);
            }
            self.wanted.send_replace(());
            if let Ok(place) = timeout(IDLE_LEAST, Arc::clone(&self.places).acquire_owned()).await {
                return place.ok();
            }
        }
    }

    /// One that has come, and asks for nothing yet.
    pub(super) fn visitor(&self) -> Visitor {
        Visitor { state: State::idle(), streams: Arc::clone(&self.streams), wanted: self.wanted.subscribe() }
    }
}

/// What a connection does, as its parts know together.
#[derive(Debug, Clone)]
struct State(Arc<Mutex<Does>>);

#[derive(Debug)]
enum Does {
    /// It asks for nothing.
    Nothing { since: Instant },
    /// It asks for that path.
    Asks(Box<str>),
}

impl State {
    fn idle() -> Self {
        Self(Arc::new(Mutex::new(Does::Nothing { since: Instant::now() })))
    }

    fn set(&self, does: Does) {
        *self.lock() = does;
    }

    fn has_been_idle(&self) -> bool {
        match *self.lock() {
            Does::Nothing { since } => since.elapsed() >= IDLE_LEAST,
            Does::Asks(_) => false,
        }
    }

    fn path(&self) -> String {
        match &*self.lock() {
            Does::Nothing { .. } => String::new(),
            Does::Asks(path) => path.to_string(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Does> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One connection.
#[derive(Debug, Clone)]
pub(super) struct Visitor {
    state: State,
    streams: Arc<Semaphore>,
    wanted: watch::Receiver<()>,
}

impl Visitor {
    /// Comes back once somebody wants a place, and this one asks for nothing.
    pub(super) async fn gives_way(&mut self) {
        while self.wanted.changed().await.is_ok() {
            if self.state.has_been_idle() {
                return;
            }
        }
        std::future::pending().await
    }

    /// It asks something.
    pub(super) fn asks(&self, path: &str) {
        self.state.set(Does::Asks(path.into()));
    }

    /// It is answered by this, unless that is a stream and there is no place for one.
    pub(super) fn answer(&self, response: Response) -> Response<Answer> {
        let is_stream = response
            .headers()
            .get(CONTENT_TYPE)
            .is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
        let (response, stream) = match is_stream.then(|| Arc::clone(&self.streams).try_acquire_owned()) {
            None => (response, None),
            Some(Ok(place)) => (response, Some(place)),
            Some(Err(_full)) => {
                let refused = problem(&Failure::too_many_streams(), &self.state.path());
                (pages::instead_of(&response, refused), None)
            }
        };
        response.map(|body| Answer { body, _stream: stream, _asks: Asks(self.state.clone()) })
    }
}

/// A connection asks for something, until this is gone.
struct Asks(State);

impl Drop for Asks {
    fn drop(&mut self) {
        self.0.set(Does::Nothing { since: Instant::now() });
    }
}

/// The body of an answer; what it takes is given back once it is sent.
pub(super) struct Answer {
    body: Body,
    _stream: Option<OwnedSemaphorePermit>,
    _asks: Asks,
}

impl HttpBody for Answer {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
