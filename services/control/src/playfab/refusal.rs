//! Why a call was not done: PlayFab's name and number, which its SDKs read; and our code, which `mainstay explain` does and which goes into
//! a header, since the envelope has no place for it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use mainstay_matchmaking::Rejection;
use mainstay_matchmaking::spec::Fault;
use mainstay_wire::playfab::Failure;

use crate::doors::{NO_TLS, NO_TLS_FIX, NO_TLS_WHY};
use crate::http::{code_of, fix_of};
use crate::identity::{self, IdentityError, TooMany};
use crate::limiter::Exceeded;
use crate::queues::{NoLease, NotTaken, QueueError};

/// So much of a queue's name is told again: as long as one may be.
const NAME_CHARS_TOLD_MAX: usize = 64;

/// A refusal, before it is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    status: StatusCode,
    /// Ours.
    code: &'static str,
    error: &'static str,
    number: u32,
    message: String,
    details: BTreeMap<String, Vec<String>>,
    retry_after: Option<Duration>,
}

impl Refusal {
    fn new(
        (status, code): (StatusCode, &'static str),
        (error, number): (&'static str, u32),
        message: impl Into<String>,
    ) -> Self {
        let message = message.into();
        Self { status, code, error, number, message, details: BTreeMap::new(), retry_after: None }
    }

    fn after(self, wait: Duration) -> Self {
        Self { retry_after: Some(wait), ..self }
    }

    fn with(mut self, field: impl Into<String>, told: Vec<String>) -> Self {
        self.details.insert(field.into(), told);
        self
    }

    /// There is no such call.
    pub(super) fn no_call(path: &str) -> Self {
        let message = format!("there is no call at {path}; docs/reference/playfab.md lists them");
        Self::new((StatusCode::NOT_FOUND, "MS-U103"), ("InvalidAPIEndpoint", 1131), message)
    }

    /// Not a POST.
    pub(super) fn no_method(method: &str) -> Self {
        let message = format!("every call is a POST, not a {method}");
        Self::new((StatusCode::METHOD_NOT_ALLOWED, "MS-U103"), ("InvalidAPIEndpoint", 1131), message)
    }

    /// From another host, and readable to whoever stands between.
    pub(super) fn no_tls() -> Self {
        let message = format!("{NO_TLS_WHY}: {NO_TLS_FIX}");
        Self::new((StatusCode::BAD_REQUEST, NO_TLS), ("InvalidRequest", 1071), message)
    }

    /// The body is not said to be JSON.
    pub(super) fn no_json_said() -> Self {
        let message = "send `Content-Type: application/json`";
        Self::new((StatusCode::BAD_REQUEST, "MS-U101"), ("InvalidContentType", 1144), message)
    }

    /// The body is compressed in a way that is not read here.
    pub(super) fn encoding(said: &str) -> Self {
        let message = format!("Content-Encoding {said:?}: send the body as it is, or as gzip");
        Self::new((StatusCode::UNSUPPORTED_MEDIA_TYPE, "MS-U101"), ("InvalidRequest", 1071), message)
    }

    /// The body was not read.
    pub(super) fn unread(message: impl Into<String>) -> Self {
        Self::new((StatusCode::BAD_REQUEST, "MS-U102"), ("InvalidRequest", 1071), message)
    }

    /// The body is larger than any call's; how large, where that is said.
    pub(super) fn too_large(length: Option<u64>, max: usize) -> Self {
        let message = match length {
            Some(length) => format!("the body has {length} bytes, and at most {max} are read"),
            None => format!("the body has more than {max} bytes"),
        };
        Self::new((StatusCode::PAYLOAD_TOO_LARGE, "MS-U102"), ("InvalidRequest", 1071), message)
    }

    /// The call took too long.
    pub(super) fn too_slow(within: Duration) -> Self {
        let message = format!("the call took longer than {} s, its body included", within.as_secs());
        Self::new((StatusCode::REQUEST_TIMEOUT, "MS-U117"), ("ServiceUnavailable", 1123), message)
    }

    /// The body is no request of this call.
    pub(super) fn no_request(path: &str, message: &str) -> Self {
        let field = if path == "." { "body" } else { path };
        Self::new(
            (StatusCode::BAD_REQUEST, "MS-U101"),
            ("InvalidParams", 1000),
            format!("{field}: {message}"),
        )
        .with(field, vec![message.to_owned()])
    }

    /// Fields of the body are missing, or of other types than they should be.
    pub(super) fn fields(faults: &[Fault]) -> Self {
        let message: Vec<String> = faults.iter().map(ToString::to_string).collect();
        let refusal =
            Self::new((StatusCode::BAD_REQUEST, "MS-U101"), ("InvalidParams", 1000), message.join("; "));
        faults.iter().fold(refusal, |refusal, fault| refusal.with(&fault.place, vec![fault.what.clone()]))
    }

    /// A field is missing or wrong.
    pub(super) fn field(field: &str, message: impl Into<String>) -> Self {
        Self::no_request(field, &message.into())
    }

    /// No token.
    pub(super) fn no_token() -> Self {
        let message = "the call needs X-EntityToken: log in, or call GetEntityToken";
        Self::new((StatusCode::UNAUTHORIZED, "MS-A001"), ("EntityTokenMissing", 1334), message)
    }

    /// A token that proves nothing.
    pub(super) fn token(fault: identity::Fault) -> Self {
        let code = match fault {
            identity::Fault::Invalid => ("EntityTokenInvalid", 1335),
            identity::Fault::Expired => ("EntityTokenExpired", 1336),
        };
        let message = format!(
            "{fault}; log in again, or as a server that is hosted here ask the local daemon for the next (GET /token): its token counts while the server \
             has a session, and that of a server without one counts nothing here"
        );
        Self::new((StatusCode::UNAUTHORIZED, "MS-A002"), code, message)
    }

    /// A session ticket that proves nothing.
    pub(super) fn session(fault: identity::Fault) -> Self {
        let message = format!("X-Authorization: {fault}; log in again");
        Self::new((StatusCode::UNAUTHORIZED, "MS-A002"), ("InvalidSessionTicket", 1100), message)
    }

    /// Nothing that shows who asks.
    pub(super) fn nobody() -> Self {
        let message = "the call needs X-SecretKey, X-Authorization or X-EntityToken";
        Self::new((StatusCode::UNAUTHORIZED, "MS-A001"), ("NotAuthenticated", 1074), message)
    }

    /// Another secret than the title's.
    pub(super) fn secret() -> Self {
        let message = "X-SecretKey is not the title's: take playfabSecretKey of credentials.json";
        Self::new((StatusCode::UNAUTHORIZED, "MS-A002"), ("NotAuthenticated", 1074), message)
    }

    /// One who may not do this.
    pub(super) fn may_not(why: &str) -> Self {
        Self::new((StatusCode::FORBIDDEN, "MS-A003"), ("NotAuthorized", 1089), why)
    }

    /// A player asked for what servers alone do.
    pub(super) fn players_may_not() -> Self {
        let why = "only game servers and the title make this call";
        Rejection::Unauthorized { who: "a player", why }.into()
    }

    /// A body that is none.
    pub(super) fn no_json_body(error: &serde_json::Error) -> Self {
        Self::no_json(&format!("the body is no JSON: {error}")).with("body", vec![error.to_string()])
    }

    /// A text that is to be JSON.
    pub(super) fn no_json(message: &str) -> Self {
        Self::new((StatusCode::BAD_REQUEST, "MS-U101"), ("InvalidJSONContent", 1200), message)
    }

    /// Another title than this one.
    pub(super) fn title(asked: &str, known: &str) -> Self {
        let message = format!("TitleId {asked:?}: this is title {known}");
        Self::new((StatusCode::BAD_REQUEST, "MS-U101"), ("InvalidTitleId", 1004), message)
            .with("TitleId", vec!["it is another title".to_owned()])
    }

    /// An entity that is none, or not of the kind that belongs here.
    pub(super) fn entity(message: impl Into<String>) -> Self {
        Self::new((StatusCode::BAD_REQUEST, "MS-M006"), ("MatchmakingEntityInvalid", 2001), message)
    }

    /// The same, of a call that is not of matching.
    pub(super) fn entity_type(message: &str) -> Self {
        Self::new((StatusCode::BAD_REQUEST, "MS-M006"), ("InvalidEntityType", 1373), message)
    }

    /// Attributes that are no object, or nest too deep.
    pub(super) fn attributes(message: impl Into<String>) -> Self {
        Self::new((StatusCode::BAD_REQUEST, "MS-M006"), ("MatchmakingPlayerAttributesInvalid", 2002), message)
    }

    /// A queue that is not there.
    pub(super) fn no_queue(name: &str) -> Self {
        let name: String = name.chars().take(NAME_CHARS_TOLD_MAX).collect();
        let message = format!("there is no queue {name:?}; {}", fix_of(&Rejection::QueueNotFound));
        Self { message, ..Rejection::QueueNotFound.into() }
    }

    /// A queue that cannot be.
    pub(super) fn queue_config(faults: &[Fault]) -> Self {
        let told: Vec<String> = faults.iter().map(ToString::to_string).collect();
        Self::new(
            (StatusCode::BAD_REQUEST, "MS-M001"),
            ("MatchmakingQueueConfigInvalid", 2031),
            told.join("; "),
        )
        .with("MatchmakingQueue", told)
    }

    /// What contradicts itself.
    pub(super) fn bad_request(message: impl Into<String>) -> Self {
        Self::new((StatusCode::BAD_REQUEST, "MS-M006"), ("MatchmakingBadRequest", 2059), message)
    }

    /// News come by polling here.
    pub(super) fn no_push() -> Self {
        let message = "news of tickets come by asking: PubSub is for PlayFab's native SDKs";
        Self::new((StatusCode::BAD_REQUEST, "MS-M025"), ("PubSubFeatureNotEnabledForTitle", 2500), message)
    }

    /// More calls of matching than the caller may make.
    pub(super) fn matching_rate(exceeded: &Exceeded) -> Self {
        let code = ("MatchmakingRateLimitExceeded", 2054);
        Self::new((StatusCode::TOO_MANY_REQUESTS, "MS-M018"), code, exceeded.to_string()).after(exceeded.wait)
    }

    /// More other calls than the caller may make.
    pub(super) fn rate(exceeded: &Exceeded) -> Self {
        let code = ("APIClientRequestRateLimitExceeded", 1199);
        Self::new((StatusCode::TOO_MANY_REQUESTS, "MS-M026"), code, exceeded.to_string()).after(exceeded.wait)
    }

    /// A bug of ours.
    pub(super) fn bug(error: &dyn std::error::Error) -> Self {
        tracing::error!(%error, code = "MS-U109", "a call of the PlayFab face failed");
        let message = "a bug of ours: report it with the log (MS-U109)";
        Self::new((StatusCode::INTERNAL_SERVER_ERROR, "MS-U109"), ("InternalServerError", 1110), message)
    }

    /// Ours.
    pub(super) const fn code(&self) -> &'static str {
        self.code
    }

    pub(super) const fn status(&self) -> StatusCode {
        self.status
    }

    /// What is told.
    pub(super) fn told(self) -> Failure {
        let status = self.status.canonical_reason().unwrap_or("Error");
        Failure {
            code: self.status.as_u16(),
            status: status.split(' ').collect(),
            error: self.error.to_owned(),
            error_code: self.number,
            error_message: self.message,
            error_details: self.details,
            retry_after_seconds: self
                .retry_after
                .map(|wait| u32::try_from(wait.as_millis().div_ceil(1000)).unwrap_or(u32::MAX)),
        }
    }
}

impl From<Rejection> for Refusal {
    fn from(rejection: Rejection) -> Self {
        let status = match &rejection {
            Rejection::Unauthorized { .. } => StatusCode::FORBIDDEN,
            Rejection::TooManyValues | Rejection::TooManyWaiting { .. } => StatusCode::TOO_MANY_REQUESTS,
            Rejection::OtherForm { .. } => StatusCode::SERVICE_UNAVAILABLE,
            // Nor is it 404 where something is not there: PlayFab's SDK for Java reads no body of one, and tells its game of a service that is gone.
            Rejection::QueueNotFound
            | Rejection::TicketNotFound(_)
            | Rejection::MatchNotFound(_)
            | Rejection::RequestTypeMismatch(_)
            | Rejection::EntityInvalid { .. }
            | Rejection::AttributeInvalid(_)
            | Rejection::NumberOfPlayersTooLarge { .. }
            | Rejection::NoRoom(_)
            | Rejection::BadRequest(_)
            | Rejection::GiveUpAfterInvalid { .. }
            | Rejection::TeamInvalid { .. }
            | Rejection::Unmatchable
            | Rejection::KeyReused { .. }
            | Rejection::AlreadyJoined(_)
            | Rejection::NotJoined(_)
            | Rejection::AlreadyCompleted(_)
            | Rejection::MembershipLimitExceeded { .. } => StatusCode::BAD_REQUEST,
        };
        let ours = code_of(&rejection);
        let has_seeds_text = matches!(rejection, Rejection::MembershipLimitExceeded { .. });
        let message = if has_seeds_text {
            rejection.to_string()
        } else {
            format!("{rejection}; {}", fix_of(&rejection))
        };
        let refusal = Self::new((status, ours), rejection.code(), message);
        match &rejection {
            Rejection::MembershipLimitExceeded { users, .. } => {
                refusal.with("UsersExceedingMembershipLimit", users.iter().map(String::from).collect())
            }
            Rejection::TooManyValues | Rejection::TooManyWaiting { .. } | Rejection::OtherForm { .. } => {
                refusal.after(mainstay_runtime::RETRY_AFTER)
            }
            Rejection::QueueNotFound
            | Rejection::TicketNotFound(_)
            | Rejection::MatchNotFound(_)
            | Rejection::RequestTypeMismatch(_)
            | Rejection::Unauthorized { .. }
            | Rejection::EntityInvalid { .. }
            | Rejection::AttributeInvalid(_)
            | Rejection::NumberOfPlayersTooLarge { .. }
            | Rejection::NoRoom(_)
            | Rejection::BadRequest(_)
            | Rejection::GiveUpAfterInvalid { .. }
            | Rejection::TeamInvalid { .. }
            | Rejection::Unmatchable
            | Rejection::KeyReused { .. }
            | Rejection::AlreadyJoined(_)
            | Rejection::NotJoined(_)
            | Rejection::AlreadyCompleted(_) => refusal,
        }
    }
}

impl Refusal {
    /// Of the objects of these names, in the order in which they were sent.
    pub(super) fn objects(rejection: &mainstay_players::Rejection, sent: &[Arc<str>]) -> Self {
        use mainstay_players::Rejection;
        let message = rejection.to_string();
        let place = |name: &Arc<str>, field: &str| {
            let at = sent.iter().position(|it| it == name);
            at.map_or_else(|| field.to_owned(), |at| format!("Objects[{at}].{field}"))
        };
        match rejection {
            Rejection::OtherVersion { .. } => {
                Self::new((StatusCode::CONFLICT, "MS-M021"), ("EntityProfileVersionMismatch", 1352), message)
            }
            Rejection::Name { name } => {
                Self { code: "MS-M022", ..Self::field(&place(name, "ObjectName"), message) }
            }
            Rejection::TooLarge { name, .. } | Rejection::TooDeep { name, .. } => {
                Self { code: "MS-M022", ..Self::field(&place(name, "DataObject"), message) }
            }
            Rejection::TooMany { .. } => Self { code: "MS-M022", ..Self::field("Objects", message) },
            Rejection::Full { .. } => {
                Self::new((StatusCode::SERVICE_UNAVAILABLE, "MS-M023"), ("ServiceUnavailable", 1123), message)
            }
        }
    }
}

impl From<mainstay_runtime::Error> for Refusal {
    fn from(error: mainstay_runtime::Error) -> Self {
        let message = format!("{error}; {} ({})", error.mend(), error.code());
        Self::new((StatusCode::SERVICE_UNAVAILABLE, error.code()), ("ServiceUnavailable", 1123), message)
            .after(mainstay_runtime::RETRY_AFTER)
    }
}

impl From<QueueError> for Refusal {
    fn from(error: QueueError) -> Self {
        match error {
            QueueError::TooMany => Self::new(
                (StatusCode::BAD_REQUEST, "MS-M005"),
                ("MatchmakingQueueLimitExceeded", 2057),
                error.to_string(),
            ),
            QueueError::Refused(rejection) => rejection.into(),
            QueueError::Runtime(error) => error.into(),
            QueueError::Start(_) | QueueError::Read(_) => Self { code: "MS-M014", ..Self::bug(&error) },
        }
    }
}

impl From<NoLease> for Refusal {
    fn from(not: NoLease) -> Self {
        match not {
            NoLease::Over => {
                Self { code: "MS-M017", ..Self::bad_request(format!("ServerDetails.ServerId: {not}")) }
            }
            NoLease::NotYet => Self::new(
                (StatusCode::SERVICE_UNAVAILABLE, "MS-M028"),
                ("ServiceUnavailable", 1123),
                format!("ServerDetails.ServerId: {not}; ask again once it does"),
            )
            .after(mainstay_runtime::RETRY_AFTER),
            NoLease::Refused(rejection) => rejection.into(),
            NoLease::Unanswered(error) => error.into(),
        }
    }
}

impl From<NotTaken> for Refusal {
    fn from(not: NotTaken) -> Self {
        match not {
            NotTaken::AttributesTooLarge { .. } => Self::new(
                (StatusCode::BAD_REQUEST, "MS-M006"),
                ("MatchmakingPlayerAttributesTooLarge", 2043),
                not.to_string(),
            ),
            NotTaken::AttributesUnnamed { .. } | NotTaken::AttributesTooDeep { .. } => {
                Self::attributes(not.to_string())
            }
            NotTaken::Refused(rejection) => rejection.into(),
            NotTaken::Unanswered(error) => error.into(),
        }
    }
}

impl From<IdentityError> for Refusal {
    fn from(error: IdentityError) -> Self {
        Self::bug(&error)
    }
}

impl From<TooMany> for Refusal {
    fn from(error: TooMany) -> Self {
        let refusal = Self::new(
            (StatusCode::TOO_MANY_REQUESTS, "MS-M026"),
            ("APIClientRequestRateLimitExceeded", 1199),
            error.to_string(),
        );
        match error {
            TooMany::Tokens { wait } => refusal.after(wait),
            TooMany::Holders => refusal,
        }
    }
}
