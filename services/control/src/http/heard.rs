//! Whether a call was heard to its end before it was answered.
//!
//! A connection on which something unheard is still to come is closed after the answer, and clients have to be told: one that keeps
//! connections would send its next call there.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use axum::body::{Bytes, HttpBody};
use axum::http::header::CONNECTION;
use axum::http::{HeaderValue, Request, Response};
use hyper::body::{Frame, Incoming, SizeHint};

/// The body of a call, and who knows whether it was heard.
pub(super) struct Said {
    body: Incoming,
    heard: Heard,
}

/// Knows it.
pub(super) struct Heard(Arc<AtomicBool>);

impl Heard {
    /// Listens to a call.
    pub(super) fn listens(request: Request<Incoming>) -> (Request<Said>, Self) {
        let heard = Arc::new(AtomicBool::new(request.body().is_end_stream()));
        (request.map(|body| Said { body, heard: Self(Arc::clone(&heard)) }), Self(heard))
    }

    /// Says with the answer whether the connection goes on.
    pub(super) fn answer<B>(&self, mut response: Response<B>) -> Response<B> {
        if !self.0.load(Ordering::Relaxed) {
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }
}

impl HttpBody for Said {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        if matches!(polled, Poll::Ready(None)) || self.body.is_end_stream() {
            self.heard.0.store(true, Ordering::Relaxed);
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
