//! Accepts HTTP connections, a bounded number of them, and none that only waits.

use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;
use tower::ServiceExt as _;

use super::crowd::{Crowd, Visitor};
use super::heard::Heard;
use crate::doors::{Guard, Wire, greet, part};

/// How long a connection may stand idle, or take to say what it wants. Longer than the pools of clients keep theirs (60 s
/// and less), so that a connection is not closed under a call.
const HEAD_WITHIN: Duration = Duration::from_secs(75);
/// How long accepting pauses after it failed: most often for want of file descriptors, which others must give back first.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Serves on every listener until told to close; then lets calls that are being answered end.
pub(crate) async fn serve(
    listeners: Vec<TcpListener>,
    guard: Guard,
    router: Router,
    closed: watch::Receiver<bool>,
) {
    serve_many(listeners, guard, router, Crowd::of(Crowd::STANDARD), closed).await;
}

async fn serve_many(
    listeners: Vec<TcpListener>,
    guard: Guard,
    router: Router,
    crowd: Crowd,
    closed: watch::Receiver<bool>,
) {
    let mut doors = JoinSet::new();
    for listener in listeners {
        doors.spawn(serve_one(listener, guard.clone(), router.clone(), crowd.clone(), closed.clone()));
    }
    while doors.join_next().await.is_some() {}
}

async fn serve_one(
    listener: TcpListener,
    guard: Guard,
    router: Router,
    crowd: Crowd,
    mut closed: watch::Receiver<bool>,
) {
    let mut connections = JoinSet::new();
    loop {
        // Nothing else may end this wait: one that waits for a place would be dropped unanswered, by those who make room for it most of all.
        let (stream, place) = tokio::select! {
            () = raised(&mut closed) => break,
            accepted = visited(&listener, &crowd) => accepted,
        };
        while connections.try_join_next().is_some() {}
        let (guard, router, mut closed) = (guard.clone(), router.clone(), closed.clone());
        let mut visitor = crowd.visitor();
        connections.spawn(async move {
            let wire = tokio::select! {
                () = raised(&mut closed) => None,
                () = visitor.gives_way() => None,
                wire = greet(stream, place, &guard, HEAD_WITHIN) => wire,
            };
            if let Some(wire) = wire {
                connection(wire, router, visitor, closed).await;
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
    (next(listener).await, place)
}

/// The next connection, once there is a place for it.
async fn visited(listener: &TcpListener, crowd: &Crowd) -> (TcpStream, Option<OwnedSemaphorePermit>) {
    let stream = next(listener).await;
    (stream, crowd.place().await)
}

async fn next(listener: &TcpListener) -> TcpStream {
    loop {
        match listener.accept().await {
            Ok((stream, _from)) => return stream,
            Err(error) => {
                tracing::warn!(%error, "a connection was not accepted; the next try follows");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

async fn connection(wire: Wire, router: Router, mut visitor: Visitor, mut closed: watch::Receiver<bool>) {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD_WITHIN);
    let (peer, protected) = (wire.peer(), wire.protected());
    let (asking, answering) = (visitor.clone(), visitor.clone());
    let told = service_fn(move |mut request: Request<Incoming>| {
        asking.asks(request.uri().path());
        request.extensions_mut().insert(peer);
        request.extensions_mut().insert(protected);
        let (request, heard) = Heard::listens(request);
        let (router, answering) = (router.clone(), answering.clone());
        Box::pin(async move {
            router.oneshot(request).await.map(|response| answering.answer(heard.answer(response)))
        })
    });
    // It is not closed at the end of its last call: that is for `part`.
    let mut served = http.serve_connection(TokioIo::new(wire), told);
    let ended = tokio::select! {
        ended = poll_fn(|context| served.poll_without_shutdown(context)) => ended,
        () = visitor.gives_way() => return,
        () = raised(&mut closed) => {
            Pin::new(&mut served).graceful_shutdown();
            poll_fn(|context| served.poll_without_shutdown(context)).await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection broke");
        return;
    }
    let mut wire = served.into_parts().io.into_inner();
    tokio::select! {
        () = part(&mut wire) => {}
        () = visitor.gives_way() => {}
        () = raised(&mut closed) => {}
    }
}

/// Waits until a flag is raised, or nobody is left to raise it.
pub(crate) async fn raised(flag: &mut watch::Receiver<bool>) {
    let _gone = flag.wait_for(|raised| *raised).await.map(drop);
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use axum::http::StatusCode;
    use axum::response::Sse;
    use axum::response::sse::Event;
    use axum::routing::get;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::super::crowd::Places;
    use super::*;
    use crate::doors::Refused;

    /// A face with so many places, of a call and of a stream that says one thing and stands.
    async fn face(places: Places) -> (SocketAddr, watch::Sender<bool>) {
        let (close, closed) = watch::channel(false);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let stands = || async {
            let first =
                futures_util::stream::iter([Ok::<_, std::convert::Infallible>(Event::default().data("x"))]);
            Sse::new(futures_util::StreamExt::chain(first, futures_util::stream::pending()))
        };
        let router = Router::new()
            .route("/call", get(|| async { "called" }).post(|| async { StatusCode::PAYLOAD_TOO_LARGE }))
            .route("/stream", get(stands));
        let open = Guard { tls: None, refuses: Refused::natively };
        tokio::spawn(serve_many(vec![listener], open, router, Crowd::of(places), closed));
        (address, close)
    }

    async fn says(address: SocketAddr, words: &str) -> TcpStream {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(words.as_bytes()).await.unwrap();
        stream
    }

    /// What is answered, up to those words; all of it where they do not come.
    async fn hears(stream: &mut TcpStream, words: &str) -> String {
        let mut heard = Vec::new();
        let mut byte = [0];
        while !String::from_utf8_lossy(&heard).contains(words)
            && stream.read(&mut byte).await.unwrap_or(0) == 1
        {
            heard.extend(byte);
        }
        String::from_utf8(heard).unwrap()
    }

    /// Strangers who take all connections and say nothing, or a byte, kept everybody out for as long as they liked.
    #[tokio::test]
    async fn who_asks_for_nothing_gives_way() {
        let (address, _close) = face(Places { connections: 3, streams: 1 }).await;
        let mut silent = says(address, "").await;
        let mut slow = says(address, "G").await;
        let mut answered = says(address, "GET /call HTTP/1.1\r\nHost: a\r\n\r\n").await;
        assert!(hears(&mut answered, "called").await.ends_with("called"));
        let mut comes = says(address, "GET /call HTTP/1.1\r\nHost: a\r\n\r\n").await;
        assert!(hears(&mut comes, "called").await.ends_with("called"));
        for gone in [&mut silent, &mut slow, &mut answered] {
            assert_eq!(hears(gone, "anything").await, "", "it is closed");
        }
    }

    /// The connection was reset as soon as the answer was out, so a client that sends first and reads then had no answer.
    #[tokio::test]
    async fn who_is_refused_before_all_is_said_hears_it() {
        let (address, _close) = face(Places { connections: 3, streams: 1 }).await;
        let said = vec![b'x'; 32 << 20];
        let head = format!("POST /call HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n", said.len());
        let mut stream = says(address, &head).await;
        stream.write_all(&said).await.unwrap();
        let heard = hears(&mut stream, "anything").await;
        assert!(heard.starts_with("HTTP/1.1 413 ") && heard.contains("connection: close"), "{heard}");
    }

    #[tokio::test]
    async fn streams_leave_places_to_calls_and_do_not_give_way() {
        let (address, _close) = face(Places { connections: 2, streams: 1 }).await;
        let asks = "GET /stream HTTP/1.1\r\nHost: a\r\n\r\n";
        let mut stream = says(address, asks).await;
        assert!(hears(&mut stream, "data: x").await.contains("200 OK"));
        let mut second = says(address, asks).await;
        let refused = hears(&mut second, "}").await;
        assert!(refused.starts_with("HTTP/1.1 503 "), "one has its place: {refused}");
        assert!(
            refused.contains("mainstay-code: MS-U132") && refused.contains(r#""instance":"/stream""#),
            "{refused}"
        );
        drop(second);
        for _ in 0..2 {
            let mut call = says(address, "GET /call HTTP/1.1\r\nHost: a\r\n\r\n").await;
            assert!(hears(&mut call, "called").await.ends_with("called"));
        }
        let mut byte = [0];
        let read = stream.try_read(&mut byte).map_err(|error| error.kind());
        assert!(matches!(read, Ok(1) | Err(std::io::ErrorKind::WouldBlock)), "it stands: {read:?}");
    }
}
