//! The way to a lobby over HTTP: where it is, what this process shows there, and what comes back (`docs/reference/lobby.md`).

use std::sync::Arc;
use std::time::Duration;

use mainstay_wire::problem::Problem;
use rustls::crypto::CryptoProvider;
use serde::Serialize;
use serde::de::DeserializeOwned;
use ureq::http::{Response, StatusCode};
use ureq::{Body, RequestBuilder};

use super::trust::refusal;
use super::{LobbyError, Online, Token};

/// How long one call may take: rules count a lobby that says nothing for two seconds as away.
const CALL_WITHIN: Duration = Duration::from_millis(1_500);

/// The longest answer that is read, in bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Longest(pub(super) u64);

/// A lobby.
#[derive(Debug, Clone)]
pub(super) struct Door {
    agent: ureq::Agent,
    url: String,
    player: Shows,
    longest: Longest,
}

/// What says which player comes.
#[derive(Debug, Clone)]
enum Shows {
    Nothing,
    /// A login's token.
    Entity(Token),
    /// A seat's, in the session of a match.
    Seat(Token),
}

impl Shows {
    fn of(online: &Online) -> Self {
        match (&online.seat_token, &online.entity_token) {
            (Some(token), _) => Self::Seat(token.clone()),
            (None, Some(token)) => Self::Entity(token.clone()),
            (None, None) => Self::Nothing,
        }
    }
}

/// As whom it is called.
#[derive(Debug, Clone, Copy)]
pub(super) enum As<'a> {
    /// A player: by its token, where it has one.
    Player,
    /// A member: by the token that it was given.
    Member(&'a Token),
}

/// What an answer was.
pub(super) enum Answered<T> {
    Yes(T),
    No(StatusCode, Box<Problem>),
}

impl<T> Answered<T> {
    /// # Errors
    /// A refusal.
    pub(super) fn granted(self) -> Result<T, LobbyError> {
        match self {
            Self::Yes(answer) => Ok(answer),
            Self::No(_, problem) => Err(LobbyError::Refused { code: problem.code, detail: problem.detail }),
        }
    }
}

/// Whether the same may be answered otherwise in a while.
pub(super) fn is_passing(status: StatusCode) -> bool {
    status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS
}

impl Door {
    pub(super) fn new(online: &Online, provider: Arc<CryptoProvider>, longest: Longest) -> Self {
        let config = ureq::Agent::config_builder()
            .timeout_global(Some(CALL_WITHIN))
            .http_status_as_error(false)
            .proxy(None)
            .tls_config(online.trust.config(provider))
            .max_redirects(0);
        Self {
            agent: config.build().new_agent(),
            url: online.url.trim_end_matches('/').to_owned(),
            player: Shows::of(online),
            longest,
        }
    }

    /// Where it is.
    pub(super) fn url(&self) -> &str {
        &self.url
    }

    pub(super) fn get<T: DeserializeOwned>(&self, by: As<'_>, path: &str) -> Result<Answered<T>, LobbyError> {
        self.search(by, path, &[])
    }

    /// As [`Door::get`], narrowed.
    pub(super) fn search<T: DeserializeOwned>(
        &self,
        by: As<'_>,
        path: &str,
        query: &[(String, String)],
    ) -> Result<Answered<T>, LobbyError> {
        let query = query.iter().map(|(name, value)| (name, value));
        let request = self.agent.get(self.at(path)).query_pairs(query);
        self.read(self.show(by, request).call())
    }

    pub(super) fn post<T: DeserializeOwned>(
        &self,
        by: As<'_>,
        path: &str,
        body: &impl Serialize,
    ) -> Result<Answered<T>, LobbyError> {
        self.read(self.show(by, self.agent.post(self.at(path))).send_json(body))
    }

    /// As [`Door::post`], of what it makes once however often it is asked for under that key.
    pub(super) fn make<T: DeserializeOwned>(
        &self,
        by: As<'_>,
        path: &str,
        key: &str,
        body: &impl Serialize,
    ) -> Result<Answered<T>, LobbyError> {
        let request = self.agent.post(self.at(path)).header("Idempotency-Key", key);
        self.read(self.show(by, request).send_json(body))
    }

    pub(super) fn put<T: DeserializeOwned>(
        &self,
        by: As<'_>,
        path: &str,
        body: &impl Serialize,
    ) -> Result<Answered<T>, LobbyError> {
        self.read(self.show(by, self.agent.put(self.at(path))).send_json(body))
    }

    pub(super) fn patch<T: DeserializeOwned>(
        &self,
        by: As<'_>,
        path: &str,
        body: &impl Serialize,
    ) -> Result<Answered<T>, LobbyError> {
        self.read(self.show(by, self.agent.patch(self.at(path))).send_json(body))
    }

    pub(super) fn delete(&self, by: As<'_>, path: &str) -> Result<Answered<()>, LobbyError> {
        let answered = self.show(by, self.agent.delete(self.at(path))).call();
        // What is gone is told without a body.
        match answered {
            Ok(answer) if answer.status().is_success() => Ok(Answered::Yes(())),
            answered @ (Ok(_) | Err(_)) => self.read(answered),
        }
    }

    fn at(&self, path: &str) -> String {
        format!("{}{path}", self.url)
    }

    fn show<B>(&self, by: As<'_>, request: RequestBuilder<B>) -> RequestBuilder<B> {
        match (by, &self.player) {
            (As::Member(token), _) | (As::Player, Shows::Seat(token)) => {
                request.header("Authorization", format!("Bearer {}", token.text()))
            }
            (As::Player, Shows::Entity(token)) => request.header("X-EntityToken", token.text()),
            (As::Player, Shows::Nothing) => request,
        }
    }

    fn read<T: DeserializeOwned>(
        &self,
        response: Result<Response<Body>, ureq::Error>,
    ) -> Result<Answered<T>, LobbyError> {
        let failed = |source| self.failed(source);
        let mut response = response.map_err(failed)?;
        let status = response.status();
        let body = response.body_mut().with_config().limit(self.longest.0);
        let read = body.read_to_vec().map_err(failed)?;
        if status.is_success() {
            let answer =
                serde_json::from_slice(&read).map_err(|_| self.unreadable("an answer has another form"))?;
            Ok(Answered::Yes(answer))
        } else {
            let problem =
                serde_json::from_slice(&read).map_err(|_| self.unreadable("a refusal has another form"))?;
            Ok(Answered::No(status, problem))
        }
    }

    /// What came instead of an answer.
    fn failed(&self, source: ureq::Error) -> LobbyError {
        let url = self.url.clone();
        if let Some(why) = refusal(&source) {
            return LobbyError::Untrusted { url, why: why.clone() };
        }
        let was_never_sent = matches!(source, ureq::Error::BadUri(_) | ureq::Error::Http(_));
        let source = Box::new(source);
        if was_never_sent {
            LobbyError::Unaskable { url, source }
        } else {
            LobbyError::Unreachable { url, source }
        }
    }

    pub(super) fn unreadable(&self, what: &'static str) -> LobbyError {
        LobbyError::Unreadable { url: self.url.clone(), what }
    }
}
