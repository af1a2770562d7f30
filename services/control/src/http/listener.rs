//! Accepts HTTP connections, a bounded number of them, and none that only waits.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

/// The most connections at once; further ones wait in the system's own queue. Each costs some 20 KB of buffers, so a
/// stranger who opens all of them takes 80 MB and no more.
const CONNECTIONS_MAX: usize = 4_096;
/// How long a connection may stand idle, or take to say what it wants. Longer than the pools of clients keep theirs (60 s
/// and less), so that a connection is not closed under a call.
const HEAD_WITHIN: Duration = Duration::from_secs(75);
/// How long accepting pauses after it failed: most often for want of file descriptors, which others must give back first.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Serves until told to close; then lets calls that are being answered end.
pub(crate) async fn serve(listener: TcpListener, router: Router, mut closed: watch::Receiver<bool>) {
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            () = raised(&mut closed) => break,
            accepted = accept(&listener, &places) => accepted,
            Some(_ended) = connections.join_next() => continue,
        };
        let (stream, place) = accepted;
        let connection = connection(stream, router.clone(), closed.clone());
        connections.spawn(async move {
            connection.await;
            drop(place);
        });
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
}

async fn accept(
    listener: &TcpListener,
    places: &Arc<Semaphore>,
) -> (TcpStream, Option<tokio::sync::OwnedSemaphorePermit>) {
    // The semaphore is never closed.
    let place = Arc::clone(places).acquire_owned().await.ok();
    loop {
        match listener.accept().await {
            Ok((stream, _from)) => return (stream, place),
            Err(error) => {
                tracing::warn!(%error, "a connection was not accepted; the next try follows");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

async fn connection(stream: TcpStream, router: Router, mut closed: watch::Receiver<bool>) {
    // Small answers leave at once; a socket that cannot do that is slower, not wrong.
    let _slower = stream.set_nodelay(true);
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD_WITHIN);
    let mut served =
        std::pin::pin!(http.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router)));
    let ended = tokio::select! {
        ended = &mut served => ended,
        () = raised(&mut closed) => {
            served.as_mut().graceful_shutdown();
            served.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection broke");
    }
}

/// Waits until a flag is raised, or nobody is left to raise it.
pub(crate) async fn raised(flag: &mut watch::Receiver<bool>) {
    let _gone = flag.wait_for(|raised| *raised).await.map(drop);
}
