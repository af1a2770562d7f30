//! How the daemon says no: the SDKs' body (`status`, `title`, `detail`), our code in a header, and when to come back.

use axum::Json;
use axum::http::header::{HeaderName, RETRY_AFTER};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use mainstay_core::{AllocationId, ServerId};
use mainstay_wire::daemon::calls::{BadBody, ErrorBody, PayloadErrorBody, TokenView};

use super::CONTROL_BACK_SECONDS;
use super::rate::Rate;
use crate::asks::Unanswered;
use crate::brain::Ended;

/// The header that carries our code.
const CODE_HEADER: HeaderName = HeaderName::from_static("mainstay-code");

/// Why a call was not done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Failure {
    pub(super) status: StatusCode,
    code: HeaderValue,
    detail: String,
}

impl Failure {
    pub(super) fn new(status: StatusCode, code: &'static str, detail: String) -> Self {
        Self { status, code: HeaderValue::from_static(code), detail }
    }

    /// What the plane said.
    pub(super) fn of_plane(status: StatusCode, code: &str, detail: String) -> Self {
        let code = HeaderValue::from_str(code).unwrap_or(HeaderValue::from_static("MS-S426"));
        Self { status, code, detail }
    }

    pub(super) fn no_path(path: &str) -> Self {
        let detail = format!("there is nothing at {path}; the paths are in docs/reference/local-daemon.md");
        Self::new(StatusCode::NOT_FOUND, "MS-S420", detail)
    }

    pub(super) fn no_method(path: &str) -> Self {
        let detail = format!("{path} does not take this method; see docs/reference/local-daemon.md");
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "MS-S420", detail)
    }

    pub(super) fn bad(detail: String) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "MS-S421", detail)
    }

    pub(super) fn bad_body(error: &BadBody) -> Self {
        let cause = std::error::Error::source(error).map(|cause| format!(": {cause}")).unwrap_or_default();
        Self::bad(format!("{error}{cause}"))
    }

    pub(super) fn no_server(server: ServerId) -> Self {
        let detail =
            format!("server {} is none of this machine; take serverID from server.json", server.number());
        Self::new(StatusCode::NOT_FOUND, "MS-S422", detail)
    }

    pub(super) fn not_yours(server: ServerId) -> Self {
        let detail = format!(
            "server {} is another user's; a game asks for itself alone, with serverID from its own server.json",
            server.number()
        );
        Self::new(StatusCode::FORBIDDEN, "MS-S423", detail)
    }

    pub(super) fn no_process(server: ServerId) -> Self {
        let detail = format!(
            "server {} has no process, or one that is being stopped, so nobody there can ask for anything",
            server.number()
        );
        Self::new(StatusCode::NOT_FOUND, "MS-S424", detail)
    }

    pub(super) fn no_allocation(allocation: AllocationId) -> Self {
        let detail = format!("allocation {allocation} is not this server's; its own is in server.json");
        Self::new(StatusCode::NOT_FOUND, "MS-S425", detail)
    }

    pub(super) fn too_often(what: &str, rate: Rate) -> Self {
        let detail = format!(
            "more than {} {what} at once, and after that more than one each {} ms; call less often",
            rate.at_once,
            rate.every.as_millis()
        );
        Self::new(StatusCode::TOO_MANY_REQUESTS, "MS-S427", detail)
    }

    pub(super) fn whose_token(live: usize) -> Self {
        let detail = format!(
            "which server asks cannot be told: {live} of this machine's run, and without root they are all one user"
        );
        Self::new(StatusCode::BAD_REQUEST, "MS-S428", detail)
    }

    /// As a body of the token calls.
    pub(super) fn of_token(self) -> Response {
        let body = TokenView { token: String::new(), error: self.told() };
        self.with_headers((self.status, Json(body)).into_response())
    }

    /// As a body of the payload call.
    pub(super) fn of_payload(self) -> Response {
        let body = PayloadErrorBody {
            success: false,
            error: title(self.status),
            error_code: self.status.as_u16(),
            error_message: self.told(),
        };
        self.with_headers((self.status, Json(body)).into_response())
    }

    fn told(&self) -> String {
        format!("{} ({})", self.detail, self.code.to_str().unwrap_or_default())
    }

    fn with_headers(&self, mut response: Response) -> Response {
        let headers = response.headers_mut();
        headers.insert(CODE_HEADER, self.code.clone());
        if self.status == StatusCode::SERVICE_UNAVAILABLE || self.status == StatusCode::TOO_MANY_REQUESTS {
            headers.insert(RETRY_AFTER, HeaderValue::from(CONTROL_BACK_SECONDS));
        }
        response
    }
}

impl From<Ended> for Failure {
    fn from(_: Ended) -> Self {
        let detail = "the agent is ending; the next one answers at the same address".to_owned();
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "MS-S426", detail)
    }
}

impl From<Unanswered> for Failure {
    fn from(why: Unanswered) -> Self {
        let detail = match why {
            Unanswered::Away => "the control plane is away; servers go on, and this is asked again later",
            Unanswered::Older => {
                "the control plane is of a version that does not take this; bring it up to date"
            }
            Unanswered::Full(max) => {
                let detail = format!("{max} calls wait for the control plane already; ask again later");
                return Self::new(StatusCode::TOO_MANY_REQUESTS, "MS-S427", detail);
            }
            Unanswered::Late => {
                "the control plane did not answer in time; it may have done what was asked, and asking again is safe"
            }
            Unanswered::NotHere => {
                "the control plane does not count this server to this machine yet; ask again"
            }
        };
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "MS-S426", detail.to_owned())
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let body = ErrorBody { status: self.status.as_u16(), detail: self.told(), title: title(self.status) };
        tracing::debug!(status = body.status, detail = body.detail, "a game's call was refused");
        self.with_headers((self.status, Json(body)).into_response())
    }
}

fn title(status: StatusCode) -> String {
    status.canonical_reason().unwrap_or("Error").to_owned()
}
