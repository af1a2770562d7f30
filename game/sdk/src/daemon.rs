//! The local daemon's calls. Each may be made again: what is granted twice is granted once.

use std::time::Duration;

use serde_json::{Value, json};
use ureq::http::{Method, Request, Response};

use crate::error::Error;
use crate::server_json::ServerJson;

/// How long a call may take: what Multiplay's own SDKs wait.
pub const CALL_WITHIN: Duration = Duration::from_secs(10);
/// The longest answer read: a payload has at most 30 KB.
const ANSWER_BYTES_MAX: u64 = 64 * 1024;
/// When to come back, where the daemon does not say.
const LATER: Duration = Duration::from_secs(1);

/// The calls of one server to its local daemon. Cheap to clone; the calls block.
#[derive(Debug, Clone)]
pub struct Daemon {
    http: ureq::Agent,
    url: String,
    server: u64,
}

/// Whether the server is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hold {
    /// Until then, in Unix seconds by the control plane's clock.
    Until(u64),
    /// It is not.
    No,
}

/// A reservation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reservation {
    /// Its id: the same for as long as the server is reserved.
    pub id: String,
}

impl Daemon {
    /// The daemon that `server.json` names.
    ///
    /// # Errors
    /// [`Error::Missing`] or [`Error::Address`]. Nothing is sent yet.
    pub fn of(server: &ServerJson) -> Result<Self, Error> {
        let url = server.daemon().ok_or(Error::Missing("localProxyUrl"))?;
        let server = server.server().ok_or(Error::Missing("serverID"))?;
        let host = host_of(url).ok_or_else(|| Error::Address(url.to_owned()))?;
        let config = ureq::Agent::config_builder()
            .timeout_global(Some(CALL_WITHIN))
            .http_status_as_error(false)
            .proxy(None)
            .max_redirects(0);
        Ok(Self { http: config.build().new_agent(), url: format!("http://{host}"), server })
    }

    /// The players of this session may come.
    ///
    /// # Errors
    /// See [`Error`]; 404 where the server is not for this session.
    pub fn ready(&self, allocation: &str) -> Result<(), Error> {
        let path = format!("/v1/servers/{}/allocations/{allocation}", self.server);
        self.call(Method::PATCH, &path, &json!({"ready": true}).to_string()).map(drop)
    }

    /// Players may not come yet, or no longer.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn unready(&self) -> Result<(), Error> {
        self.call(Method::POST, &format!("/v1/server/{}/unready", self.server), "").map(drop)
    }

    /// Keeps the server's machine for this time from now on (whole seconds), or for another time than before.
    ///
    /// # Errors
    /// See [`Error`]; 409 where the server is allocated or reserved.
    pub fn hold(&self, time: Duration) -> Result<Hold, Error> {
        let body = json!({"timeout": format!("{}s", time.as_secs())}).to_string();
        hold_in(&self.call(Method::POST, &self.holds(), &body)?)
    }

    /// Whether the server is held.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn held(&self) -> Result<Hold, Error> {
        hold_in(&self.call(Method::GET, &self.holds(), "")?)
    }

    /// Ends a hold; without one, nothing is done.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn release(&self) -> Result<(), Error> {
        self.call(Method::DELETE, &self.holds(), "").map(drop)
    }

    /// Takes the server out of its reservation fleet's pool: it has players of its own.
    ///
    /// # Errors
    /// See [`Error`]; 403 where the fleet is none whose servers reserve themselves.
    pub fn reserve(&self) -> Result<Reservation, Error> {
        let answer = self.call(Method::POST, &self.reservations(), "{}")?;
        let read: Value = serde_json::from_str(&answer).map_err(|_| Error::Senseless(start(&answer)))?;
        let id = read["reservationId"].as_str().ok_or_else(|| Error::Senseless(start(&answer)))?;
        Ok(Reservation { id: id.to_owned() })
    }

    /// Gives the server back to the pool; without a reservation, nothing is done.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn unreserve(&self) -> Result<(), Error> {
        self.call(Method::DELETE, &self.reservations(), "").map(drop)
    }

    /// What the allocation's caller sent along; empty where it sent nothing.
    ///
    /// # Errors
    /// See [`Error`]; 404 where the server is not for this session.
    pub fn payload(&self, allocation: &str) -> Result<String, Error> {
        self.call(Method::GET, &format!("/payload/{allocation}"), "")
    }

    /// Says who plays and how many are wanted, and hears how the session's backfill stands: both JSON, `GameStands` and
    /// `BackfillStands` of the plane. [`crate::Backfill`] does so by itself.
    ///
    /// # Errors
    /// See [`Error`]; 409 where the server has no session.
    pub(crate) fn backfill(&self, game: &str) -> Result<String, Error> {
        self.call(Method::PUT, &format!("/v1/servers/{}/backfill", self.server), game)
    }

    fn holds(&self) -> String {
        format!("/v1/servers/{}/hold", self.server)
    }

    fn reservations(&self) -> String {
        format!("/v1/servers/{}/reservations", self.server)
    }

    fn call(&self, method: Method, path: &str, body: &str) -> Result<String, Error> {
        let url = format!("{}{path}", self.url);
        let head = Request::builder().method(&method).uri(&url).header("Content-Type", "application/json");
        let senseless = |error: ureq::http::Error| Error::Senseless(error.to_string());
        let unreachable = |source| Error::Unreachable { url: self.url.clone(), source: Box::new(source) };
        let answered = if method == Method::GET || method == Method::DELETE {
            self.http.run(head.body(()).map_err(senseless)?)
        } else {
            self.http.run(head.body(body.to_owned()).map_err(senseless)?)
        };
        let mut answer = answered.map_err(unreachable)?;
        let read = answer.body_mut().with_config().limit(ANSWER_BYTES_MAX).read_to_string();
        judge(&answer, read.map_err(unreachable)?)
    }
}

fn judge<B>(answer: &Response<B>, text: String) -> Result<String, Error> {
    let header = |name: &str| answer.headers().get(name)?.to_str().ok().map(str::to_owned);
    let detail = || {
        let read: Value = serde_json::from_str(&text).unwrap_or_default();
        let detail = read["detail"].as_str().or_else(|| read["error_message"].as_str());
        detail.map_or_else(|| start(&text), str::to_owned)
    };
    match answer.status().as_u16() {
        200..=299 => Ok(text),
        429 | 503 => {
            let after = header("retry-after").and_then(|text| text.parse().ok()).map(Duration::from_secs);
            Err(Error::Later { after: after.unwrap_or(LATER), detail: detail() })
        }
        status => Err(Error::Refused { status, code: header("mainstay-code"), detail: detail() }),
    }
}

fn hold_in(answer: &str) -> Result<Hold, Error> {
    let read: Value = serde_json::from_str(answer).map_err(|_| Error::Senseless(start(answer)))?;
    match (read["held"].as_bool(), read["expiresAt"].as_u64()) {
        (Some(true), Some(until)) => Ok(Hold::Until(until)),
        (Some(false), _) => Ok(Hold::No),
        (Some(true) | None, _) => Err(Error::Senseless(start(answer))),
    }
}

/// As much of an answer as a message shows.
fn start(text: &str) -> String {
    text.chars().take(200).collect()
}

/// The `host:port` of an `http://` address.
pub(crate) fn host_of(url: &str) -> Option<&str> {
    let host = url.strip_prefix("http://")?.trim_end_matches('/');
    let (name, port) = host.rsplit_once(':')?;
    (!name.is_empty() && !host.contains(['/', '?', '#', '@']) && port.parse::<u16>().is_ok()).then_some(host)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_daemons_address_is_host_and_port() {
        for (url, host) in [
            ("http://localhost:8086", Some("localhost:8086")),
            ("http://127.0.0.1:8086/", Some("127.0.0.1:8086")),
            ("http://[::1]:8086", Some("[::1]:8086")),
            ("https://localhost:8086", None),
            ("http://localhost", None),
            ("http://:8086", None),
            ("http://a:1/b:2", None),
            ("", None),
        ] {
            assert_eq!(host_of(url), host, "{url}");
        }
        let nothing = ServerJson::parse(b"{}").unwrap();
        assert!(matches!(Daemon::of(&nothing), Err(Error::Missing("localProxyUrl"))));
    }

    #[test]
    fn an_answer_is_judged_by_its_status() {
        let judge = |status: u16, text: &str| {
            let answer =
                Response::builder().status(status).header("mainstay-code", "MS-H003").body(()).unwrap();
            judge(&answer, text.to_owned())
        };
        assert_eq!(judge(204, "").unwrap(), "");
        let Err(Error::Refused { status, code, detail }) = judge(409, r#"{"detail":"it is ALLOCATED"}"#)
        else {
            panic!()
        };
        assert_eq!((status, code.as_deref(), detail.as_str()), (409, Some("MS-H003"), "it is ALLOCATED"));
        let Err(Error::Later { after, .. }) = judge(503, "{") else { panic!() };
        assert_eq!(after, LATER);
    }

    #[test]
    fn a_hold_is_read_or_makes_no_sense() {
        assert_eq!(hold_in(r#"{"expiresAt":17,"held":true}"#).unwrap(), Hold::Until(17));
        assert_eq!(hold_in(r#"{"expiresAt":0,"held":false}"#).unwrap(), Hold::No);
        for text in ["", "{}", r#"{"held":true}"#, r#"{"held":"true","expiresAt":1}"#, "[]"] {
            assert!(matches!(hold_in(text), Err(Error::Senseless(_))), "{text}");
        }
    }

    proptest! {
        #[test]
        fn whatever_is_answered_is_read_or_refused(text in ".{0,200}", url in ".{0,40}") {
            let _hold_or_error = hold_in(&text);
            let _host_or_none = host_of(&url);
        }
    }
}
