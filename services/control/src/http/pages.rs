//! Pages of other sites may call where players do (CORS): who asks shows a token, and no cookie says who they are.

use axum::body::Body;
use axum::extract::Request;
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS,
};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};

/// What pages may send to a face, and read of it.
pub(crate) struct Pages {
    pub(crate) methods: &'static str,
    /// The headers that a page may send at least.
    pub(crate) sends: &'static str,
    pub(crate) reads: &'static str,
}

/// What players call of the native face.
const NATIVE: Pages = Pages {
    methods: "GET, POST, PUT, DELETE, OPTIONS",
    sends: "content-type, x-entitytoken, idempotency-key",
    reads: "retry-after, mainstay-code",
};

impl Pages {
    /// A page asks whether it may send these headers. It may, whichever: games add their own, and what we do not know is not read.
    pub(crate) fn asked_before(&self, headers: &HeaderMap) -> Response {
        let mut response = self.allowed(StatusCode::NO_CONTENT.into_response());
        let wanted = headers.get(ACCESS_CONTROL_REQUEST_HEADERS).and_then(|wanted| wanted.to_str().ok());
        let all = wanted.map(|wanted| HeaderValue::try_from(format!("{}, {wanted}", self.sends)));
        if let Some(Ok(all)) = all {
            response.headers_mut().insert(ACCESS_CONTROL_ALLOW_HEADERS, all);
        }
        response
    }

    /// Lets pages of any site read the answer.
    pub(crate) fn allowed(&self, mut response: Response<Body>) -> Response {
        let headers = response.headers_mut();
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
        headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static(self.methods));
        headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static(self.sends));
        headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(self.reads));
        headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("86400"));
        response
    }
}

/// An answer in the place of another, which was made after that: pages that may read the one may read the other.
pub(super) fn instead_of<B>(before: &Response<B>, response: Response) -> Response {
    if before.headers().contains_key(ACCESS_CONTROL_ALLOW_ORIGIN) {
        NATIVE.allowed(response)
    } else {
        response
    }
}

/// Around the calls of the native face that players make.
pub(super) async fn of_players(request: Request, next: Next) -> Response {
    if request.method() == Method::OPTIONS {
        return NATIVE.asked_before(request.headers());
    }
    NATIVE.allowed(next.run(request).await)
}
