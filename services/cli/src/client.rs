//! Speaks to a running instance: the one that a data directory belongs to, or one elsewhere.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::Value;
use ureq::http::{Response, StatusCode};
use ureq::{Body, RequestBuilder};

use crate::events::Events;
use crate::failure::{Exit, Failure};
use crate::target::{ApiUrl, Elsewhere, Target, Token, Trust, refusal};

/// How long one call may take. The API answers after one sync of its journal; a listing of a hundred thousand servers
/// takes a second.
const CALL_TIMEOUT: Duration = Duration::from_secs(30);

/// The largest answer read: a page of servers has some 300 bytes each, and a page at most 1,000 of them; logs come with
/// at most 1 MB.
const ANSWER_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// What a stream of events is called.
const EVENTS: &str = "text/event-stream";

/// A running instance.
pub struct Client {
    agent: ureq::Agent,
    at: At,
    token: Token,
}

/// Where it is.
pub enum At {
    /// On this host, listening there.
    Here(Ports),
    /// Elsewhere.
    There(ApiUrl),
}

/// `DIR/ports.json`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, serde::Serialize)]
pub struct Ports {
    /// The native API and the allocation API.
    pub api: String,
    /// Where agents connect.
    pub agents: String,
    /// The local daemon of Multiplay's SDKs.
    pub multiplay: String,
    /// Matchmaking for PlayFab's SDKs, on this very host.
    #[serde(default)]
    pub playfab: String,
    /// The same over TLS, which PlayFab's SDK for Node asks for; none with `--tls off`.
    #[serde(rename = "playfabTls", default, skip_serializing_if = "Option::is_none")]
    pub playfab_tls: Option<String>,
    /// Every address listened to, both versions of IP.
    #[serde(default)]
    pub listening: Listening,
}

impl Ports {
    /// What the file says, where there is one that can be read: of a run that may be over.
    pub fn of(data_dir: &Path) -> Option<Self> {
        read(data_dir, PORTS_FILE).ok()
    }
}

/// Every address listened to, as URLs: `https` for those that other hosts reach.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, serde::Serialize)]
pub struct Listening {
    /// The HTTP faces.
    pub api: Vec<String>,
    /// The agents' streams.
    pub agents: Vec<String>,
    /// The local daemon.
    pub multiplay: Vec<String>,
    /// Matchmaking for PlayFab's SDKs.
    #[serde(default)]
    pub playfab: Vec<String>,
}

/// `DIR/credentials.json`.
#[derive(Clone, Deserialize, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Credentials {
    /// The service account's public half.
    pub key_id: String,
    /// Its secret half.
    pub secret_key: String,
    /// The project in the paths of the allocation API.
    pub project_id: uuid::Uuid,
    /// The environment in them.
    pub environment_id: uuid::Uuid,
    /// What agents show when they connect.
    pub join_token: String,
    /// What PlayFab's SDKs name this instance by; empty in a file of before there was one, until the next start.
    #[serde(default)]
    pub title_id: String,
    /// What proves the title to them (`X-SecretKey`); likewise.
    #[serde(default)]
    pub playfab_secret_key: String,
    /// The one before, which proves it as well for as long as it stands here: until every game server knows the other.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub playfab_former_secret_key: String,
}

impl Credentials {
    /// Whatever proves the title.
    pub fn title_secrets(&self) -> impl Iterator<Item = &str> {
        [&self.playfab_secret_key, &self.playfab_former_secret_key]
            .into_iter()
            .map(String::as_str)
            .filter(|secret| !secret.is_empty())
    }
}

/// The name of the file with the ports.
pub const PORTS_FILE: &str = "ports.json";
/// The name of the file with the credentials.
pub const CREDENTIALS_FILE: &str = "credentials.json";

impl Client {
    /// The instance that is meant.
    pub fn of(target: &Target) -> Result<Self, Failure> {
        match target {
            Target::Here(data_dir) => Self::here(data_dir),
            Target::Elsewhere(Elsewhere { url, token, trust }) => {
                // A proxy sees nothing of what TLS carries, and everything else.
                let proxy = if url.is_sealed() { ureq::Proxy::try_from_env() } else { None };
                Ok(Self { agent: agent(proxy, trust), at: At::There(url.clone()), token: token.clone() })
            }
        }
    }

    /// The instance of a data directory.
    pub fn here(data_dir: &Path) -> Result<Self, Failure> {
        let ports: Ports = read(data_dir, PORTS_FILE)?;
        let Credentials { key_id, secret_key, .. } = read(data_dir, CREDENTIALS_FILE)?;
        let token = Token::account(&key_id, &secret_key);
        Ok(Self { agent: agent(None, &Trust::System), at: At::Here(ports), token })
    }

    /// Where the instance is.
    pub const fn at(&self) -> &At {
        &self.at
    }

    /// Where its API is.
    pub fn api(&self) -> String {
        match &self.at {
            At::Here(ports) => ports.api.clone(),
            At::There(url) => url.to_string(),
        }
    }

    /// GET.
    pub fn get(&self, path: &str) -> Result<Value, Failure> {
        self.read(self.sent("GET", path, |url| self.shown(self.agent.get(url)).call())?)
    }

    /// GET of a text.
    pub fn get_text(&self, path: &str) -> Result<String, Failure> {
        let mut response = self.sent("GET", path, |url| self.shown(self.agent.get(url)).call())?;
        if response.status().is_success() {
            return response.body_mut().read_to_string().map_err(|error| self.unreachable(&error));
        }
        let status = response.status();
        let problem = response.body_mut().read_json().unwrap_or(Value::Null);
        Err(self.refused(status, &problem))
    }

    /// The events that a path tells, for as long as it does.
    pub fn events(&self, path: &str) -> Result<Events, Failure> {
        let mut response = self.sent("GET", path, |url| {
            let request = self.shown(self.agent.get(url)).header("accept", EVENTS).config();
            // It lasts as long as what it tells of; that it answers at all does not.
            let request = request.timeout_global(None).timeout_connect(Some(CALL_TIMEOUT));
            request.timeout_recv_response(Some(CALL_TIMEOUT)).build().call()
        })?;
        let status = response.status();
        if !status.is_success() {
            let problem = response.body_mut().read_json().unwrap_or(Value::Null);
            return Err(self.refused(status, &problem));
        }
        if response.body().mime_type() != Some(EVENTS) {
            return Err(self.stranger("it answers, and not with events"));
        }
        Ok(Events::of(response.into_body().into_reader()))
    }

    /// POST.
    pub fn post(&self, path: &str, body: &Value) -> Result<Value, Failure> {
        self.read(self.sent("POST", path, |url| self.shown(self.agent.post(url)).send_json(body))?)
    }

    /// PUT of a text, for one revision or whichever there is.
    pub fn put(&self, path: &str, kind: &str, revision: Option<u64>, body: &[u8]) -> Result<Value, Failure> {
        self.read(self.sent("PUT", path, |url| {
            let request = self.shown(self.agent.put(url)).header("content-type", kind);
            let request = match revision {
                Some(revision) => request.header("if-match", format!("\"{revision}\"")),
                None => request,
            };
            request.send(body)
        })?)
    }

    /// DELETE.
    pub fn delete(&self, path: &str) -> Result<Value, Failure> {
        self.read(self.sent("DELETE", path, |url| self.shown(self.agent.delete(url)).call())?)
    }

    /// A request that says who asks.
    fn shown<B>(&self, request: RequestBuilder<B>) -> RequestBuilder<B> {
        request.header("authorization", self.token.header())
    }

    /// Makes a call, and tells with `-v` what came of it.
    fn sent(
        &self,
        method: &str,
        path: &str,
        call: impl FnOnce(&str) -> Result<Response<Body>, ureq::Error>,
    ) -> Result<Response<Body>, Failure> {
        let (url, began) = (self.url(path), Instant::now());
        let answered = call(&url);
        let ms = began.elapsed().as_millis();
        match &answered {
            Ok(response) => tracing::debug!(status = response.status().as_u16(), ms, "{method} {url}"),
            Err(error) => tracing::debug!(%error, ms, "{method} {url}"),
        }
        answered.map_err(|error| self.unreachable(&error))
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.api())
    }

    fn read(&self, mut response: Response<Body>) -> Result<Value, Failure> {
        let status = response.status();
        let body = response.body_mut().with_config().limit(ANSWER_BYTES_MAX).read_to_vec();
        let body = body.map_err(|error| self.unreachable(&error))?;
        let value = if body.is_empty() { Some(Value::Null) } else { serde_json::from_slice(&body).ok() };
        match (status.is_success(), value) {
            (true, Some(value)) => Ok(value),
            (true, None) => Err(self.stranger("it answers, and not in JSON")),
            (false, value) => Err(self.refused(status, &value.unwrap_or(Value::Null))),
        }
    }

    /// The instance says no; or something else does, which gives its answers no code.
    fn refused(&self, status: StatusCode, problem: &Value) -> Failure {
        match problem.get("code") {
            Some(_) => refused(status, problem),
            None => self.stranger(&format!("it answers {status}")),
        }
    }

    fn stranger(&self, why: &str) -> Failure {
        Failure::new(
            Exit::Failed,
            "MS-U058",
            format!("what answers at {} is no instance of Mainstay", self.api()),
        )
        .why(why)
        .fix("is the address the one of the API, and does every proxy on the way let /v1 through?")
    }

    fn unreachable(&self, error: &ureq::Error) -> Failure {
        let api = self.api();
        if let ureq::Error::Timeout(what) = error {
            let fix = match &self.at {
                At::Here(_) => "is the machine overloaded, or its disk slow? look at the log of mainstay up",
                At::There(_) => {
                    "is the machine overloaded, or does something on the way drop what is sent there?"
                }
            };
            return Failure::new(Exit::TimedOut, "MS-U016", format!("no answer from {api}"))
                .why(format!("{what} took longer than {} s", CALL_TIMEOUT.as_secs()))
                .fix(fix);
        }
        if let Some(why) = refusal(error) {
            return Failure::new(Exit::Unreachable, "MS-U056", format!("{api} does not show that it is the one that is meant"))
                .why(why)
                .fix("name who vouches for it: --ca FILE, a copy of tls/ca.pem of its data directory; or is it http:// there?");
        }
        let fix = match &self.at {
            At::Here(_) => "start it: mainstay up, with the same --data-dir",
            At::There(_) => {
                "is the address right, does it run with --listen, and does its port let this host through?"
            }
        };
        Failure::new(Exit::Unreachable, "MS-U002", format!("nothing answers at {api}")).why(error).fix(fix)
    }
}

/// What makes the calls. Whoever else an answer may name is not to see the credentials.
fn agent(proxy: Option<ureq::Proxy>, trust: &Trust) -> ureq::Agent {
    let config = ureq::Agent::config_builder()
        .timeout_global(Some(CALL_TIMEOUT))
        .http_status_as_error(false)
        .proxy(proxy)
        .tls_config(trust.config())
        .max_redirects(0)
        .max_redirects_will_error(false);
    config.build().into()
}

fn refused(status: StatusCode, problem: &Value) -> Failure {
    let text = |field: &str| problem.get(field).and_then(Value::as_str).map(str::to_owned);
    let exit = match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Exit::Denied,
        StatusCode::NOT_FOUND => Exit::NotFound,
        StatusCode::GONE => Exit::Gone,
        StatusCode::CONFLICT | StatusCode::PRECONDITION_FAILED => Exit::Refused,
        StatusCode::BAD_REQUEST | StatusCode::UNPROCESSABLE_ENTITY => Exit::Usage,
        _ => Exit::Failed,
    };
    // The title is the status in words; the detail says what happened.
    let what =
        text("detail").or_else(|| text("title")).unwrap_or_else(|| format!("the API answered {status}"));
    let what_of = what.clone();
    let mut failure = Failure::new(exit, &text("code").unwrap_or_default(), what);
    let problems = problem.get("problems").and_then(Value::as_array).into_iter().flatten();
    // What the sentence names already is not told twice.
    let is_told = |problem: &&Value| problem["what"].as_str().is_some_and(|it| !what_of.contains(it));
    let lines: Vec<String> = problems.filter(is_told).map(crate::commands::apply::one_line).collect();
    failure.why = (!lines.is_empty()).then(|| lines.join("\n       "));
    failure.fix = text("fix");
    failure
}

/// The way out where a file of the data directory is damaged.
pub fn mend(name: &str) -> &'static str {
    match name {
        PORTS_FILE => "restart the instance: it writes the file anew",
        CREDENTIALS_FILE => {
            "restore it from a copy; or remove it while the instance is stopped: the next start makes new credentials, and \
             whoever asks with the old ones must be given them"
        }
        _ => "restore it from a copy",
    }
}

fn read<T: for<'de> Deserialize<'de>>(data_dir: &Path, name: &str) -> Result<T, Failure> {
    let path: PathBuf = data_dir.join(name);
    let text = std::fs::read(&path).map_err(|error| {
        Failure::new(Exit::Unreachable, "MS-U001", format!("no running instance in {}", data_dir.display()))
            .why(format!("{}: {error}", path.display()))
            .fix("start one: mainstay up --demo; or name its folder: --data-dir DIR")
    })?;
    serde_json::from_slice(&text).map_err(|error| {
        Failure::new(Exit::Failed, "MS-U003", format!("{} is damaged", path.display()))
            .why(error)
            .fix(mend(name))
    })
}
