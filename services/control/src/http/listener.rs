//! Accepts HTTP connections, a bounded number of them, and none that only waits.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tower::util::MapRequest;

use crate::doors::{Wire, greet};

/// The most connections at once; further ones wait in the system's own queue. Each costs some 20 KB of buffers, so a
/// stranger who opens all of them takes 80 MB and no more.
const CONNECTIONS_MAX: usize = 4_096;
/// How long a connection may stand idle, or take to say what it wants. Longer than the pools of clients keep theirs (60 s
/// and less), so that a connection is not closed under a call.
const HEAD_WITHIN: Duration = Duration::from_secs(75);
/// How long accepting pauses after it failed: most often for want of file descriptors, which others must give back first.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Serves on every listener until told to close; then lets calls that are being answered end.
pub(crate) async fn serve(
    listeners: Vec<TcpListener>,
    tls: Option<TlsAcceptor>,
    router: Router,
    closed: watch::Receiver<bool>,
) {
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let mut doors = JoinSet::new();
    for listener in listeners {
        doors.spawn(serve_one(listener, tls.clone(), router.clone(), Arc::clone(&places), closed.clone()));
    }
    while doors.join_next().await.is_some() {}
}

async fn serve_one(
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    router: Router,
    places: Arc<Semaphore>,
    mut closed: watch::Receiver<bool>,
) {
    let mut connections = JoinSet::new();
    loop {
        let (stream, place) = tokio::select! {
            () = raised(&mut closed) => break,
            accepted = accept(&listener, &places) => accepted,
            Some(_ended) = connections.join_next() => continue,
        };
        let (tls, router, mut closed) = (tls.clone(), router.clone(), closed.clone());
        connections.spawn(async move {
            let wire = tokio::select! {
                () = raised(&mut closed) => None,
                wire = greet(stream, place, tls.as_ref(), HEAD_WITHIN) => wire,
            };
            if let Some(wire) = wire {
                connection(wire, router, closed).await;
            }
        });
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
}

/// The next connection, with its place among those there may be.
pub(crate) async fn accept(
    listener: &TcpListener,
    places: &Arc<Semaphore>,
) -> (TcpStream, Option<OwnedSemaphorePermit>) {
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

async fn connection(wire: Wire, router: Router, mut closed: watch::Receiver<bool>) {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD_WITHIN);
    let (peer, protected) = (wire.peer(), wire.protected());
    let told = MapRequest::new(router, move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(peer);
        request.extensions_mut().insert(protected);
        request
    });
    let mut served =
        std::pin::pin!(http.serve_connection(TokioIo::new(wire), TowerToHyperService::new(told)));
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
