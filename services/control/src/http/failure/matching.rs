//! What goes wrong with queues and tickets, as the native face tells it.

use std::time::Duration;

use axum::http::StatusCode;
use mainstay_core::TicketId;
use mainstay_matchmaking::spec::Fault;
use mainstay_matchmaking::{Entity, Rejection};
use mainstay_wire::native::{KEPT_BYTES_MAX, PlayerOfTicket};
use serde_json::json;

use super::Failure;
use crate::limiter::Exceeded;
use crate::queues::{Need, Needed, NoLease, NotTaken, QueueError};

/// The most players that a text names: a game's process hears texts alone, and in one message.
const USERS_IN_WORDS_MAX: usize = 10;

impl Failure {
    /// A queue that may not be used: every fault at once.
    pub(in crate::http) fn queue(faults: &[Fault]) -> Self {
        let problems = faults.iter().map(|fault| json!({ "place": fault.place, "what": fault.what }));
        let told: Vec<String> = faults.iter().map(ToString::to_string).collect();
        let fix = "mend them all; the rules are in docs/reference/queues.md";
        Self {
            problems: problems.collect(),
            ..Self::new(
                StatusCode::BAD_REQUEST,
                "MS-M001",
                format!("the queue has faults: {}", told.join("; ")),
                fix,
            )
        }
    }

    /// Whose tickets are in the way: each a problem, the first of them in words.
    fn of_users(mut self, users: &[Entity]) -> Self {
        let names: Vec<String> = users.iter().map(PlayerOfTicket::told).collect();
        let problem = |name: &String| json!({ "place": "players", "what": name });
        self.problems = names.iter().map(problem).collect();
        let more = match names.len().saturating_sub(USERS_IN_WORDS_MAX) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let first = &names[..names.len().min(USERS_IN_WORDS_MAX)];
        self.detail = format!("{}: {}{more}", self.detail.trim_end_matches('.'), first.join(", "));
        self
    }

    pub(in crate::http) fn no_queue(name: &str) -> Self {
        Self::not_found("MS-M002", format!("there is no queue {name}"), "list them: mainstay queue list")
    }

    /// Backfill is a session's.
    pub(in crate::http) fn no_session() -> Self {
        let detail = "the server has no session, or the asking process is none of it any more".to_owned();
        let fix = "ask once the server is allocated, or has reserved itself";
        Self::new(StatusCode::CONFLICT, "MS-M017", detail, fix)
    }

    /// A game server's token was shown more often than it may be.
    pub(in crate::http) fn too_often(exceeded: &Exceeded) -> Self {
        let fix =
            "look at a ticket every six seconds, and use the SDK's backfill, which asks through the agent";
        Self::new(StatusCode::TOO_MANY_REQUESTS, "MS-M018", exceeded.to_string(), fix)
            .again_in(Duration::from_secs(exceeded.seconds()))
    }

    /// A player asked about its tickets more often than it may.
    pub(in crate::http) fn polls_too_often(exceeded: &Exceeded) -> Self {
        let fix = "watch the ticket: GET …/tickets/{ticket}/events tells each change as it happens";
        Self::new(StatusCode::TOO_MANY_REQUESTS, "MS-M018", exceeded.to_string(), fix)
            .again_in(Duration::from_secs(exceeded.seconds()))
    }

    /// An entity token was shown more often than it may be.
    pub(in crate::http) fn calls_too_often(exceeded: &Exceeded) -> Self {
        let fix = "wait as long as Retry-After says; the limits are in docs/reference/playfab.md";
        Self::new(StatusCode::TOO_MANY_REQUESTS, "MS-M018", exceeded.to_string(), fix)
            .again_in(Duration::from_secs(exceeded.seconds()))
    }

    /// What a game is to be told finds no room in a message, even without attributes.
    pub(in crate::http) fn untellable() -> Self {
        let detail = format!("how the game's backfill stands takes more than {KEPT_BYTES_MAX} bytes");
        let fix = "use shorter ids of players and teams, or smaller matches";
        Self::new(StatusCode::BAD_REQUEST, "MS-M020", detail, fix)
    }

    pub(in crate::http) fn no_ticket(ticket: TicketId) -> Self {
        let detail = Rejection::TicketNotFound(ticket).to_string();
        Self::not_found("MS-M003", detail, "list them: mainstay ticket list --queue NAME")
    }

    pub(in crate::http) fn not_searching(ticket: TicketId, status: &str) -> Self {
        let detail = format!("ticket {ticket} does not search: it is {status}");
        Self::new(StatusCode::CONFLICT, "MS-M010", detail, "ask about a ticket that is open")
    }

    pub(in crate::http) fn too_many_streams() -> Self {
        let detail = "as many streams are read as there may be beside other calls".to_owned();
        Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "MS-U132",
            detail,
            "end streams that nobody reads any more, or ask now and then instead",
        )
    }

    pub(in crate::http) fn too_many_watched() -> Self {
        let detail = crate::queues::Watched::limits();
        Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "MS-M011",
            detail,
            "end streams that nobody reads any more",
        )
    }
}

/// What stands for a refusal of a queue: its status, our code, and how it is mended.
const fn told_as(rejection: &Rejection) -> (StatusCode, &'static str, &'static str) {
    const SEE: &str = "see docs/reference/queues.md";
    match rejection {
        Rejection::QueueNotFound => (StatusCode::NOT_FOUND, "MS-M002", "list them: mainstay queue list"),
        Rejection::TicketNotFound(_) => {
            (StatusCode::NOT_FOUND, "MS-M003", "list them: mainstay ticket list --queue NAME")
        }
        Rejection::MatchNotFound(_) => {
            (StatusCode::NOT_FOUND, "MS-M004", "take the matchId of a ticket; matches are kept for minutes")
        }
        Rejection::AttributeInvalid(_)
        | Rejection::EntityInvalid { .. }
        | Rejection::NumberOfPlayersTooLarge { .. }
        | Rejection::NoRoom(_)
        | Rejection::BadRequest(_)
        | Rejection::GiveUpAfterInvalid { .. }
        | Rejection::TeamInvalid { .. } => (StatusCode::BAD_REQUEST, "MS-M006", SEE),
        Rejection::RequestTypeMismatch(_)
        | Rejection::AlreadyJoined(_)
        | Rejection::NotJoined(_)
        | Rejection::AlreadyCompleted(_) => (StatusCode::CONFLICT, "MS-M007", "look how the ticket stands"),
        Rejection::Unmatchable => (
            StatusCode::CONFLICT,
            "MS-M019",
            "say who plays as it is, or have the queue's rules expand further",
        ),
        Rejection::KeyReused { .. } => {
            (StatusCode::CONFLICT, "MS-M024", "send a key that is new for each ticket")
        }
        Rejection::MembershipLimitExceeded { .. } => {
            (StatusCode::CONFLICT, "MS-M008", "cancel the other ticket, or wait for its end")
        }
        Rejection::TooManyValues | Rejection::TooManyWaiting { .. } => {
            (StatusCode::TOO_MANY_REQUESTS, "MS-M009", "wait until tickets are matched, or give up")
        }
        Rejection::OtherForm { .. } => {
            (StatusCode::SERVICE_UNAVAILABLE, "MS-M012", "the queue is being configured: ask again")
        }
        Rejection::Unauthorized { .. } => (StatusCode::FORBIDDEN, "MS-M013", SEE),
    }
}

/// Our code of a refusal, for faces whose own say nothing of it.
pub(crate) const fn code_of(rejection: &Rejection) -> &'static str {
    told_as(rejection).1
}

/// How a refusal is mended, likewise.
pub(crate) const fn fix_of(rejection: &Rejection) -> &'static str {
    told_as(rejection).2
}

impl From<Rejection> for Failure {
    fn from(rejection: Rejection) -> Self {
        let (status, code, fix) = told_as(&rejection);
        let failure = Self::new(status, code, rejection.to_string(), fix);
        match &rejection {
            Rejection::MembershipLimitExceeded { users, .. } => failure.of_users(users),
            Rejection::QueueNotFound
            | Rejection::OtherForm { .. }
            | Rejection::TicketNotFound(_)
            | Rejection::MatchNotFound(_)
            | Rejection::RequestTypeMismatch(_)
            | Rejection::KeyReused { .. }
            | Rejection::Unauthorized { .. }
            | Rejection::EntityInvalid { .. }
            | Rejection::AttributeInvalid(_)
            | Rejection::TooManyValues
            | Rejection::NumberOfPlayersTooLarge { .. }
            | Rejection::NoRoom(_)
            | Rejection::BadRequest(_)
            | Rejection::GiveUpAfterInvalid { .. }
            | Rejection::TeamInvalid { .. }
            | Rejection::Unmatchable
            | Rejection::AlreadyJoined(_)
            | Rejection::NotJoined(_)
            | Rejection::AlreadyCompleted(_)
            | Rejection::TooManyWaiting { .. } => failure,
        }
    }
}

impl From<mainstay_players::Rejection> for Failure {
    fn from(rejection: mainstay_players::Rejection) -> Self {
        use mainstay_players::Rejection;
        let (status, code, fix) = match &rejection {
            Rejection::OtherVersion { .. } => {
                (StatusCode::CONFLICT, "MS-M021", "read them, and change what is there now")
            }
            Rejection::Name { .. }
            | Rejection::TooLarge { .. }
            | Rejection::TooDeep { .. }
            | Rejection::TooMany { .. } => {
                (StatusCode::BAD_REQUEST, "MS-M022", "store only what the rules of queues read")
            }
            Rejection::Full { .. } => {
                (StatusCode::SERVICE_UNAVAILABLE, "MS-M023", "remove objects of players who are gone")
            }
        };
        Self::new(status, code, rejection.to_string(), fix)
    }
}

impl From<NoLease> for Failure {
    fn from(not: NoLease) -> Self {
        match not {
            NoLease::Over => Self::new(
                StatusCode::CONFLICT,
                "MS-M017",
                not.to_string(),
                "name a server that plays, or none",
            ),
            NoLease::NotYet => Self::new(
                StatusCode::CONFLICT,
                "MS-M028",
                not.to_string(),
                "ask again once GET /v1/allocations/{id} says fulfilled",
            ),
            NoLease::Refused(rejection) => rejection.into(),
            NoLease::Unanswered(error) => error.into(),
        }
    }
}

impl From<NotTaken> for Failure {
    fn from(not: NotTaken) -> Self {
        match not {
            NotTaken::AttributesTooLarge { .. } | NotTaken::AttributesTooDeep { .. } => {
                let fix = "send only what the queue's rules read, and what the game server is to be told";
                Self::new(StatusCode::BAD_REQUEST, "MS-M006", not.to_string(), fix)
            }
            NotTaken::AttributesUnnamed { .. } => {
                let fix = "send an object with a name for each attribute, as the queue's rules read them";
                Self::new(StatusCode::BAD_REQUEST, "MS-M006", not.to_string(), fix)
            }
            NotTaken::Refused(rejection) => rejection.into(),
            NotTaken::Unanswered(error) => error.into(),
        }
    }
}

impl From<Needed> for Failure {
    fn from(needed: Needed) -> Self {
        let problem = |need: &Need| json!({ "place": format!("queues.{}", need.queue), "what": need.told() });
        let fix = "set those queues to another first (in the same file), or remove them";
        let detail = needed.to_string();
        Self {
            problems: needed.needs().iter().map(problem).collect(),
            ..Self::new(StatusCode::CONFLICT, "MS-M027", detail, fix)
        }
    }
}

impl From<QueueError> for Failure {
    fn from(error: QueueError) -> Self {
        match error {
            QueueError::TooMany => Self::new(
                StatusCode::CONFLICT,
                "MS-M005",
                error.to_string(),
                "remove queues that nobody asks any more: mainstay queue delete NAME",
            ),
            QueueError::Refused(rejection) => rejection.into(),
            QueueError::Runtime(error) => error.into(),
            QueueError::Start(_) | QueueError::Read(_) => {
                let detail = format!(
                    "{error}: {}",
                    std::error::Error::source(&error).map_or_else(String::new, ToString::to_string)
                );
                Self::new(
                    StatusCode::SERVICE_UNAVAILABLE,
                    "MS-M014",
                    detail,
                    "see the log; the journal may be damaged: mainstay doctor",
                )
            }
        }
    }
}
