//! Around every call: an answer in time, and no refusal without a code in its face's own shape, whoever refused.

use std::time::Duration;

use axum::extract::Request;
use axum::http::header::CONTENT_LENGTH;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};

use super::failure::{CODE_HEADER, Failure, Unity, problem};

/// How long a call may take, its body included: no answer of ours takes a second, and a caller that sends a byte now and
/// then would hold its connection for ever.
const CALL_WITHIN: Duration = Duration::from_secs(30);
/// How slowly a long body may come, in bytes a second: slower than any line that a build is uploaded over.
const BODY_BYTES_A_SECOND_MIN: u64 = 64 * 1024;

/// Whose errors a path answers with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Face {
    /// Unity's gateway.
    Unity,
    /// Our own.
    Native,
}

impl Face {
    /// Where Unity's gateway has its paths.
    const UNITY: [&str; 4] = ["/v1/allocations/projects/", "/multiplay/", "/api/multiplay/", "/auth/"];

    pub(super) fn of(path: &str) -> Self {
        if Self::UNITY.iter().any(|root| path.starts_with(root)) { Self::Unity } else { Self::Native }
    }

    fn tell(self, failure: Failure, uri: &Uri) -> Response {
        match self {
            Self::Unity => Unity::from(failure).into_response(),
            Self::Native => problem(&failure, uri.path()),
        }
    }
}

/// The outermost layer.
pub(super) async fn shaped(uri: Uri, request: Request, next: Next) -> Response {
    let face = Face::of(uri.path());
    let within = allowed(request.headers());
    let Ok(response) = tokio::time::timeout(within, next.run(request)).await else {
        let detail = format!("the call took longer than {} s, its body included", within.as_secs());
        let fix = "send the body at once; if it was sent, the machine is overloaded: try again later";
        return face.tell(Failure::new(StatusCode::REQUEST_TIMEOUT, "MS-U117", detail, fix), &uri);
    };
    let status = response.status();
    let is_refusal = status.is_client_error() || status.is_server_error();
    if !is_refusal || response.headers().contains_key(CODE_HEADER) {
        return response;
    }
    face.tell(untold(status, &uri), &uri)
}

/// What a library refused before any of our handlers saw it.
fn untold(status: StatusCode, uri: &Uri) -> Failure {
    let path = uri.path();
    let fix = "paths and methods are in docs/reference/http-api.md";
    match status {
        StatusCode::NOT_FOUND => Failure::new(status, "MS-U103", format!("there is nothing at {path}"), fix),
        StatusCode::METHOD_NOT_ALLOWED => {
            Failure::new(status, "MS-U103", format!("{path} does not take this method"), fix)
        }
        _ => Failure::new(status, "MS-U101", format!("{path} cannot be read"), fix),
    }
}

fn allowed(headers: &HeaderMap) -> Duration {
    let length = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    CALL_WITHIN + Duration::from_secs(length.unwrap_or(0) / BODY_BYTES_A_SECOND_MIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_tells_whose_errors_it_answers_with() {
        let rows = [
            ("/v1/allocations/projects/a/environments/b/fleets/c/allocations", Face::Unity),
            ("/multiplay/v1/anything", Face::Unity),
            ("/api/multiplay/fleets/v4/projects/a", Face::Unity),
            ("/auth/v1/token-exchange", Face::Unity),
            ("/v1/allocations", Face::Native),
            ("/v1/fleets/%ff", Face::Native),
            ("/", Face::Native),
        ];
        for (path, face) in rows {
            assert_eq!(Face::of(path), face, "{path}");
        }
    }

    #[test]
    fn a_long_body_has_longer() {
        let with = |length: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(CONTENT_LENGTH, length.parse().unwrap());
            allowed(&headers)
        };
        assert_eq!(allowed(&HeaderMap::new()), CALL_WITHIN);
        assert_eq!(with("100"), CALL_WITHIN);
        assert_eq!(with("6553600"), CALL_WITHIN + Duration::from_secs(100));
        assert_eq!(with("-1"), CALL_WITHIN);
    }
}
