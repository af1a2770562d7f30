//! Accepts games' connections: a bounded number of them, a bounded number for each user, and each with its user known.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Extension;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::rate::Bucket;
use super::{CALLS, Daemon, calls, ended, peer};

/// The most connections at once: an event socket and a call for each of the 4,096 slots that an agent can have. Further
/// ones wait in the system's own queue.
const CONNECTIONS_MAX: usize = 8_192;
/// The most connections of one slot's user: an SDK has one socket and one or two calls. Where slots have no users of
/// their own, games share one, and [`CONNECTIONS_MAX`] alone counts.
const CONNECTIONS_PER_USER_MAX: usize = 16;
/// How long a connection may stand idle, or take to say what it wants.
const HEAD_WITHIN: Duration = Duration::from_secs(75);
/// How long accepting pauses after it failed: most often for want of file descriptors, which others must give back first.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Who is at the other end of a connection.
#[derive(Debug)]
pub(super) struct Peer {
    /// Its user, where slots have users of their own and the kernel knew.
    pub(super) uid: Option<u32>,
    /// How often it may call.
    pub(super) calls: Bucket,
}

/// How many connections there may still be, over all listeners.
#[derive(Debug, Clone)]
pub(super) struct Doors {
    places: Arc<Semaphore>,
    users: Users,
}

impl Default for Doors {
    fn default() -> Self {
        Self { places: Arc::new(Semaphore::new(CONNECTIONS_MAX)), users: Users::default() }
    }
}

/// How many connections each user has.
#[derive(Debug, Clone, Default)]
struct Users(Arc<Mutex<BTreeMap<u32, usize>>>);

/// A user's place among its connections.
pub(super) struct Place {
    users: Users,
    uid: u32,
}

pub(super) async fn serve(listener: TcpListener, daemon: Daemon) {
    let Doors { places, users } = daemon.doors();
    let mut ending = daemon.ending();
    loop {
        let (stream, from, place) = tokio::select! {
            () = ended(&mut ending) => return,
            accepted = accept(&listener, &places) => accepted,
        };
        let uid = if daemon.users_tell() {
            stream.local_addr().ok().and_then(|ours| peer::uid(ours, from))
        } else {
            None
        };
        let Ok(of_user) = uid.map(|uid| users.enter(uid)).transpose() else {
            tracing::warn!(uid, max = CONNECTIONS_PER_USER_MAX, "a game opens more connections than it may");
            continue;
        };
        let (daemon, peer) = (daemon.clone(), Arc::new(Peer { uid, calls: Bucket::new(CALLS) }));
        tokio::spawn(async move {
            connection(stream, daemon, peer, (place, of_user)).await;
        });
    }
}

async fn accept(
    listener: &TcpListener,
    places: &Arc<Semaphore>,
) -> (TcpStream, SocketAddr, Option<OwnedSemaphorePermit>) {
    // The semaphore is never closed.
    let place = Arc::clone(places).acquire_owned().await.ok();
    loop {
        match listener.accept().await {
            Ok((stream, from)) => return (stream, from, place),
            Err(error) => {
                tracing::warn!(%error, "a game's connection was not accepted; the next try follows");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// What a connection holds for as long as it, or the socket it became, lives.
pub(super) type Places = (Option<OwnedSemaphorePermit>, Option<Place>);

async fn connection(stream: TcpStream, daemon: Daemon, peer: Arc<Peer>, places: Places) {
    // Small answers leave at once; a socket that cannot do that is slower, not wrong.
    let _slower = stream.set_nodelay(true);
    let places = Arc::new(places);
    let mut ending = daemon.ending();
    let router = calls::router(daemon).layer(Extension(peer)).layer(Extension(places));
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD_WITHIN);
    let served =
        http.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router)).with_upgrades();
    tokio::select! {
        served = served => if let Err(error) = served {
            tracing::debug!(%error, "a game's connection broke");
        },
        () = ended(&mut ending) => {}
    }
}

/// Kept by whoever takes a connection over.
pub(super) type KeptPlaces = Extension<Arc<Places>>;

impl Users {
    fn enter(&self, uid: u32) -> Result<Place, ()> {
        let mut users = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = users.entry(uid).or_default();
        if *count == CONNECTIONS_PER_USER_MAX {
            return Err(());
        }
        *count += 1;
        Ok(Place { users: self.clone(), uid })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut users = self.users.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = users.get_mut(&self.uid) {
            *count -= 1;
            if *count == 0 {
                users.remove(&self.uid);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_has_so_many_places_and_gets_them_back() {
        let users = Users::default();
        let mut places: Vec<Place> =
            (0..CONNECTIONS_PER_USER_MAX).map(|_| users.enter(7).ok().unwrap()).collect();
        assert!(users.enter(7).is_err());
        assert!(users.enter(8).is_ok(), "one user does not take another's");
        places.pop();
        assert!(users.enter(7).is_ok());
        drop(places);
        assert!(users.0.lock().unwrap().is_empty());
    }
}
