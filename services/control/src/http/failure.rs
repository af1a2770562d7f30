//! How each face tells what went wrong.

mod lobby;
mod matching;

pub(crate) use self::matching::{code_of, fix_of};

use std::error::Error as _;
use std::time::Duration;

use axum::Json;
use axum::extract::Request;
use axum::extract::rejection::BytesRejection;
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER as RETRY_AFTER_HEADER, WWW_AUTHENTICATE};
use axum::http::{HeaderName, HeaderValue, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use mainstay_config::Refused;
use mainstay_fleet::Rejection;
use mainstay_fleet::catalog::CatalogRejection;
use mainstay_fleet::catalog::admission::AdmissionRejection;
use mainstay_runtime::RETRY_AFTER;
use mainstay_wire::multiplay::{BodyError, ErrorBody, FieldError};
use mainstay_wire::native::CertificateView;
use mainstay_wire::problem::Problem;
use serde::de::DeserializeOwned;
use serde_json::Value;
use uuid::Uuid;

use super::access::Denied;
use crate::chronicle::Untold;
use crate::error::ApplyError;
use crate::streams::{No, Unseen};

/// The header that carries our code where a body has no place for it.
pub(crate) const CODE_HEADER: HeaderName = HeaderName::from_static("mainstay-code");
/// How a body is mended that is not what its call takes.
pub(super) const MEND_BODY: &str =
    "mend the body; the fields are in docs/reference/, and in /v1/openapi.json";

/// What went wrong, before it is told in a face's shape.
#[derive(Debug, Clone)]
pub(super) struct Failure {
    status: StatusCode,
    code: &'static str,
    detail: String,
    fix: &'static str,
    problems: Vec<Value>,
    /// What only few failures tell.
    more: Option<Box<More>>,
    fields: Vec<FieldError>,
}

/// What only few failures tell. Apart, so that the others stay small.
#[derive(Debug, Clone, Default)]
struct More {
    /// After how long to ask again, where that is known.
    retry_after: Option<Duration>,
    /// The proof of the host that there is, for whoever claimed an epoch too late.
    certificate: Option<CertificateView>,
}

/// A failure, as Unity's gateway tells it.
#[derive(Debug)]
pub(super) struct Unity(Failure);

/// A failure, as the native face tells it. [`tell`] writes the body, since it knows the path.
#[derive(Debug)]
pub(super) struct Native(Failure);

impl Native {
    /// The failure itself, for another face.
    pub(super) fn failure(self) -> Failure {
        self.0
    }
}

impl Failure {
    pub(super) const fn code(&self) -> &'static str {
        self.code
    }

    /// What went wrong and how to mend it, in one text.
    pub(super) fn told(&self) -> String {
        format!("{}; {}", self.detail, self.fix)
    }

    /// A server's files cannot be seen on its machine now.
    pub(crate) fn unseen(unseen: &Unseen) -> Self {
        let fix = match unseen {
            Unseen::Unheard => {
                "is its agent running, and does it reach the control plane? mainstay machine list"
            }
            Unseen::TooOld => "upgrade the machine's agent; its servers play on meanwhile",
            Unseen::Busy | Unseen::Silent => "ask again",
            Unseen::Failed(_) => "look whether the agent's data directory can be read on the machine",
        };
        let status = match unseen {
            Unseen::Failed(_) => StatusCode::INTERNAL_SERVER_ERROR,
            Unseen::Unheard | Unseen::TooOld | Unseen::Busy | Unseen::Silent => {
                StatusCode::SERVICE_UNAVAILABLE
            }
        };
        let detail = format!("the server's files cannot be read: {unseen}");
        Self::new(status, "MS-S608", detail, fix)
    }

    pub(super) const fn new(
        status: StatusCode,
        code: &'static str,
        detail: String,
        fix: &'static str,
    ) -> Self {
        Self { status, code, detail, fix, problems: Vec::new(), more: None, fields: Vec::new() }
    }

    /// Which field of the body is at fault.
    pub(super) fn of_field(mut self, field: &str) -> Self {
        self.fields.push(FieldError { field: field.to_owned(), error: self.detail.clone() });
        self
    }

    /// A configuration that may not be used: every problem at once.
    pub(super) fn configuration(refused: &Refused) -> Self {
        let all = refused.problems.len() + refused.left_out;
        let detail = match refused.left_out {
            0 => format!("the configuration has problems: {all}"),
            left_out => format!("the configuration has problems: {all}, of which {left_out} are left out"),
        };
        let fix = "mend them all: each says where it is and how";
        Self {
            problems: reports(&refused.problems),
            ..Self::new(StatusCode::BAD_REQUEST, "MS-U111", detail, fix)
        }
    }

    /// What a caller of the admin API gave is not what a file may have: every problem, each by the field it came in.
    pub(super) fn given(refused: &Refused) -> Self {
        let field = |it: &mainstay_config::Problem| FieldError {
            field: field_of(&it.path),
            error: format!("{} ({})", it.what, it.code),
        };
        Self { fields: refused.problems.iter().map(field).collect(), ..Self::configuration(refused) }
    }

    fn not_found(code: &'static str, detail: String, fix: &'static str) -> Self {
        Self::new(StatusCode::NOT_FOUND, code, detail, fix)
    }

    pub(super) fn no_allocation() -> Self {
        let detail = "there is no such allocation, or it ended longer ago than the retention time";
        Self::not_found("MS-P009", detail.to_owned(), "list them: mainstay allocation list")
    }

    pub(super) fn no_fleet(named: &str) -> Self {
        let detail = format!("there is no fleet {named}");
        Self::not_found("MS-U105", detail, "list them: mainstay fleet list")
    }

    pub(super) fn no_server(named: &str) -> Self {
        Self::not_found("MS-S001", format!("there is no server {named}"), "list them: mainstay server list")
    }

    pub(super) fn no_machine(named: &str) -> Self {
        Self::not_found("MS-S002", format!("there is no machine {named}"), "list them: mainstay machine list")
    }

    pub(super) fn bad_request(detail: String, fix: &'static str) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "MS-U101", detail, fix)
    }

    /// Its code and its text, where it is a conflict (409).
    pub(super) fn conflict(&self) -> Option<(&'static str, String)> {
        (self.status == StatusCode::CONFLICT).then(|| (self.code, format!("{}; {}", self.detail, self.fix)))
    }

    /// What something else would have to do first (424).
    pub(super) fn dependency(self) -> Self {
        Self { status: StatusCode::FAILED_DEPENDENCY, ..self }
    }

    pub(super) fn internal(detail: String) -> Self {
        let fix = "this is our bug: please report it with the log";
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "MS-U109", detail, fix)
    }
}

/// The field of a call that became what is written at these keys of a file.
fn field_of(path: &[String]) -> String {
    // The section, and the entry's name.
    let within = path.get(2..).unwrap_or_default();
    let mut field = String::new();
    for key in within {
        let key = match key.as_str() {
            "variables" => "configuration",
            "build" => "buildID",
            "image" => "container.imageTag",
            key => key,
        };
        if !field.is_empty() && !key.starts_with('[') {
            field.push('.');
        }
        field.push_str(key);
    }
    if field.is_empty() { "name".to_owned() } else { field }
}

/// The field where a body is not what a call takes, or that is missing; `None` where it is no JSON object at all.
pub(super) fn at_fault<T: DeserializeOwned>(body: &[u8]) -> Option<String> {
    let mut reader = serde_json::Deserializer::from_slice(body);
    let error = serde_path_to_error::deserialize::<_, T>(&mut reader).err()?;
    let within = error.path().to_string();
    let within = if within == "." { String::new() } else { within };
    let said = error.inner().to_string();
    let missing = said.strip_prefix("missing field `").and_then(|rest| rest.split_once('`'));
    let field = match missing {
        Some((missing, _)) if within.is_empty() => missing.to_owned(),
        Some((missing, _)) => format!("{within}.{missing}"),
        None => within,
    };
    (!field.is_empty()).then_some(field)
}

/// Problems of a configuration in the form of `mainstay check -o json`.
pub(super) fn reports(problems: &[mainstay_config::Problem]) -> Vec<Value> {
    // A report is texts and numbers, which always serialise.
    problems.iter().filter_map(|problem| serde_json::to_value(problem.report()).ok()).collect()
}

impl From<CatalogRejection> for Failure {
    fn from(rejection: CatalogRejection) -> Self {
        let status = match rejection {
            CatalogRejection::UnknownBuild { .. } | CatalogRejection::UnknownConfiguration { .. } => {
                StatusCode::BAD_REQUEST
            }
            CatalogRejection::Unknown { .. } => StatusCode::NOT_FOUND,
            CatalogRejection::Outdated { .. } => StatusCode::PRECONDITION_FAILED,
            CatalogRejection::TooMany { .. }
            | CatalogRejection::InUse { .. }
            | CatalogRejection::FleetOnline { .. } => StatusCode::CONFLICT,
            CatalogRejection::Admission(rejection) => return No::from(rejection).into(),
        };
        Self::new(status, rejection.code(), rejection.to_string(), rejection.mend())
    }
}

impl From<ApplyError> for Failure {
    fn from(error: ApplyError) -> Self {
        match error {
            ApplyError::Refused(rejection) => rejection.into(),
            ApplyError::Needed(needed) => needed.into(),
            ApplyError::Runtime(error) => error.into(),
        }
    }
}

impl From<Untold> for Failure {
    fn from(untold: Untold) -> Self {
        let fix = "see the log: a history that does not open is put aside, and a new one begins with the next start";
        match untold {
            Untold::NotKept => Self::not_found("MS-U113", untold.to_string(), fix),
            Untold::Failed(_) | Untold::Bug(_) => {
                Self::new(StatusCode::INTERNAL_SERVER_ERROR, "MS-U113", untold.to_string(), fix)
            }
        }
    }
}

impl From<Denied> for Failure {
    fn from(denied: Denied) -> Self {
        let status = StatusCode::from_u16(denied.status()).unwrap_or(StatusCode::UNAUTHORIZED);
        Self::new(status, denied.code(), denied.to_string(), denied.mend())
    }
}

impl From<mainstay_runtime::Error> for Failure {
    fn from(error: mainstay_runtime::Error) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, error.code(), error.to_string(), error.mend())
    }
}

impl From<Rejection> for Failure {
    fn from(rejection: Rejection) -> Self {
        let status = match rejection {
            Rejection::NotConfigured => StatusCode::SERVICE_UNAVAILABLE,
            Rejection::UnknownRegion(_)
            | Rejection::UnknownConfiguration(_)
            | Rejection::HoldTooShort
            | Rejection::HoldTooLong { .. }
            | Rejection::PayloadTooLarge { .. } => StatusCode::BAD_REQUEST,
            Rejection::UnknownAllocation(_) | Rejection::UnknownServer(_) | Rejection::UnknownMachine(_) => {
                StatusCode::NOT_FOUND
            }
            Rejection::TooManyWaiting { .. } => StatusCode::TOO_MANY_REQUESTS,
            Rejection::RegionOffline(_)
            | Rejection::AtMaximum { .. }
            | Rejection::NoServer(_)
            | Rejection::ServerAllocated { .. }
            | Rejection::ServerReserved { .. }
            | Rejection::StaleProcess { .. }
            | Rejection::NotHoldable { .. }
            | Rejection::OfAnotherPurpose(_)
            | Rejection::NotAReservationFleet
            | Rejection::NotAnAllocationFleet
            | Rejection::StaleStream
            | Rejection::SlotsChanged(_)
            | Rejection::MachineGone(_)
            | Rejection::MachineAway { .. }
            | Rejection::MachineInUse { .. }
            | Rejection::MachineComesBack(_)
            | Rejection::TooManySlots { .. } => StatusCode::CONFLICT,
        };
        Self::new(status, rejection.code(), rejection.to_string(), rejection.mend())
    }
}

impl From<No> for Failure {
    fn from(no: No) -> Self {
        let status = match &no {
            No::Rules(rejection) => match rejection {
                AdmissionRejection::UnknownToken | AdmissionRejection::UnknownCredential => {
                    StatusCode::NOT_FOUND
                }
                AdmissionRejection::OutOfBounds { .. } => StatusCode::BAD_REQUEST,
                AdmissionRejection::TooMany { .. } => StatusCode::TOO_MANY_REQUESTS,
                AdmissionRejection::TokenExpired { .. }
                | AdmissionRejection::TokenUsedUp { .. }
                | AdmissionRejection::TokenWithdrawn
                | AdmissionRejection::OutOfScope
                | AdmissionRejection::ForAnotherMachine
                | AdmissionRejection::CredentialExpired { .. }
                | AdmissionRejection::Revoked { .. }
                | AdmissionRejection::NoCredential => StatusCode::CONFLICT,
            },
            No::Fleet(_) | No::Region(_) => StatusCode::NOT_FOUND,
            No::Unsaid(_) | No::Text(_) => StatusCode::BAD_REQUEST,
            No::Unpinnable => StatusCode::CONFLICT,
            No::Runtime(_) => StatusCode::SERVICE_UNAVAILABLE,
            No::Bug => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Self::new(status, no.code(), no.to_string(), no.mend())
    }
}

impl From<&BodyError> for Failure {
    fn from(error: &BodyError) -> Self {
        let detail = match error.source() {
            Some(cause) => format!("{error}: {cause}"),
            None => error.to_string(),
        };
        let fix = match error {
            BodyError::PayloadTooLarge { .. } => "send a reference to the data instead",
            BodyError::NilAllocation => "make a random UUID for each session",
            BodyError::Json(_) | BodyError::TooManyScopes { .. } | BodyError::ConfigurationId(_) => MEND_BODY,
        };
        let failure = Self::new(StatusCode::BAD_REQUEST, error.code(), detail, fix);
        match error {
            // Which field it is only its text says.
            BodyError::Json(_) => failure,
            BodyError::PayloadTooLarge { .. } => failure.of_field("payload"),
            BodyError::NilAllocation => failure.of_field("allocationId"),
            BodyError::TooManyScopes { .. } => failure.of_field("scopes"),
            BodyError::ConfigurationId(_) => failure.of_field("buildConfigurationId"),
        }
    }
}

impl<F: Into<Failure>> From<F> for Unity {
    fn from(failure: F) -> Self {
        Self(failure.into())
    }
}

impl<F: Into<Failure>> From<F> for Native {
    fn from(failure: F) -> Self {
        Self(failure.into())
    }
}

impl Unity {
    /// A body that was no `T`, or that says what it may not.
    pub(super) fn malformed<T: DeserializeOwned>(error: &BodyError, body: &[u8]) -> Self {
        let failure = Failure::from(error);
        match (error, at_fault::<T>(body)) {
            (BodyError::Json(_), Some(field)) => Self(failure.of_field(&field)),
            (
                BodyError::Json(_)
                | BodyError::PayloadTooLarge { .. }
                | BodyError::NilAllocation
                | BodyError::TooManyScopes { .. }
                | BodyError::ConfigurationId(_),
                _,
            ) => Self(failure),
        }
    }

    /// A body that could not be read, or was over the limit: any such allocation request has a payload above 30 KB, which
    /// is 400 here.
    pub(super) fn body(rejection: BytesRejection) -> Self {
        let detail = format!("the body was not read: {}", rejection.body_text());
        Self(Failure::new(StatusCode::BAD_REQUEST, "MS-U102", detail, "send a smaller body"))
    }

    pub(super) fn body_too_large(bytes: usize, max: usize) -> Self {
        let detail = format!("the body has {bytes} bytes, {max} are allowed");
        Self(Failure::new(StatusCode::BAD_REQUEST, "MS-U102", detail, "send a smaller body"))
    }

    pub(super) fn bad_query(detail: &str) -> Self {
        Self(Failure::bad_request(detail.to_owned(), "mend the query; see docs/reference/http-api.md"))
    }

    pub(super) fn bad_id(kind: &str, text: &str) -> Self {
        let detail = format!("`{text}` is no {kind} id: it is a UUID");
        Self(Failure::bad_request(detail, "take the id from the call that made it"))
    }

    pub(super) fn unknown_project() -> Self {
        let detail = "there is no such project or environment here".to_owned();
        let fix = "take projectId and environmentId from credentials.json in the data directory";
        Self(Failure::not_found("MS-U104", detail, fix))
    }

    pub(super) fn bug(error: &dyn std::error::Error) -> Self {
        Self(Failure::internal(error.to_string()))
    }
}

/// By what a caller and the log speak of one answer. Nothing hangs on it: where the system gives no random bytes it is nil.
pub(crate) fn request_id() -> Uuid {
    getrandom::u64().map_or(Uuid::nil(), |high| {
        let low = getrandom::u64().unwrap_or_default();
        uuid::Builder::from_random_bytes(((u128::from(high) << 64) | u128::from(low)).to_be_bytes())
            .into_uuid()
    })
}

impl IntoResponse for Unity {
    fn into_response(self) -> Response {
        let Self(failure) = self;
        let request_id = request_id();
        let body = ErrorBody {
            status: failure.status.as_u16(),
            title: title(failure.status),
            detail: format!("{}; {}", failure.detail, failure.fix),
            details: failure.fields.clone(),
            request_id,
        };
        tracing::debug!(%request_id, code = failure.code, status = body.status, detail = failure.detail, "refused");
        with_headers((failure.status, Json(body)).into_response(), &failure)
    }
}

impl IntoResponse for Native {
    fn into_response(self) -> Response {
        let mut response = self.0.status.into_response();
        response.extensions_mut().insert(self.0);
        response
    }
}

/// Writes the body of a native failure: around every native call.
pub(super) async fn tell(uri: Uri, request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    match response.extensions_mut().remove::<Failure>() {
        None => response,
        Some(failure) => problem(&failure, uri.path()),
    }
}

/// A failure in the native face's shape.
pub(super) fn problem(failure: &Failure, instance: &str) -> Response {
    let problem = Problem {
        status: failure.status.as_u16(),
        code: failure.code.to_owned(),
        title: title(failure.status),
        detail: failure.detail.clone(),
        fix: Some(failure.fix.to_owned()),
        docs: Problem::docs_of(failure.code),
        instance: instance.to_owned(),
        problems: failure.problems.clone(),
        certificate: failure.more.as_ref().and_then(|more| more.certificate.clone()),
    };
    let mut response = (failure.status, Json(problem)).into_response();
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(Problem::CONTENT_TYPE));
    with_headers(response, failure)
}

fn title(status: StatusCode) -> String {
    status.canonical_reason().unwrap_or("Error").to_owned()
}

fn with_headers(mut response: Response, failure: &Failure) -> Response {
    let headers = response.headers_mut();
    headers.insert(CODE_HEADER, HeaderValue::from_static(failure.code));
    let is_for_now =
        failure.status == StatusCode::SERVICE_UNAVAILABLE || failure.status == StatusCode::TOO_MANY_REQUESTS;
    let known = failure.more.as_ref().and_then(|more| more.retry_after);
    if let Some(wait) = known.or(is_for_now.then_some(RETRY_AFTER)) {
        // Whole seconds, and never too early.
        let seconds = wait.as_millis().div_ceil(1_000).max(1);
        headers.insert(RETRY_AFTER_HEADER, HeaderValue::from(u64::try_from(seconds).unwrap_or(u64::MAX)));
    }
    if failure.status == StatusCode::UNAUTHORIZED {
        headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Basic realm=\"mainstay\", Bearer"));
    }
    response
}
