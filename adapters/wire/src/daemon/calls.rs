//! The bodies of the local daemon's HTTP calls.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use mainstay_core::{BuildConfigurationId, ReservationId, Timestamp};
use serde::{Deserialize, Serialize};

/// The largest body taken: all of these are below 100 bytes.
pub const BODY_BYTES_MAX: usize = 4 * 1024;

/// Why a body is not what the call takes.
#[derive(Debug, thiserror::Error)]
pub enum BadBody {
    /// No JSON, or other JSON.
    #[error("the body is not the JSON this call takes")]
    Json(#[source] serde_json::Error),
    /// A timeout that is no duration.
    #[error("`timeout` is {text:?}; it is whole hours, minutes and seconds, such as \"10m\" or \"1h30m\"")]
    Timeout {
        /// What was given, cut after 40 characters.
        text: String,
    },
}

/// How long a hold is asked for: `{"timeout":"10m"}`.
///
/// # Errors
/// See [`BadBody`].
pub fn read_hold(body: &[u8]) -> Result<Duration, BadBody> {
    #[derive(Deserialize)]
    struct Body {
        timeout: String,
    }
    let Body { timeout } = serde_json::from_slice(body).map_err(BadBody::Json)?;
    duration(&timeout).ok_or_else(|| BadBody::Timeout { text: timeout.chars().take(40).collect() })
}

/// Whether a server takes players: `{"ready":true}`.
///
/// # Errors
/// [`BadBody::Json`].
pub fn read_ready(body: &[u8]) -> Result<Readiness, BadBody> {
    #[derive(Deserialize)]
    struct Body {
        ready: bool,
    }
    let Body { ready } = serde_json::from_slice(body).map_err(BadBody::Json)?;
    Ok(if ready { Readiness::Ready } else { Readiness::Unready })
}

/// Whether a server takes players.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readiness {
    /// It does.
    Ready,
    /// It does not.
    Unready,
}

/// A duration as Go writes them, in whole hours, minutes and seconds: each at most once, the largest first.
#[must_use]
pub fn duration(text: &str) -> Option<Duration> {
    let mut seconds = 0_u64;
    let mut rest = text;
    let mut units = [('h', 3_600), ('m', 60), ('s', 1)].into_iter();
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        let (number, tail) = rest.split_at(digits);
        let mut tail = tail.chars();
        let unit = tail.next()?;
        let (_, factor) = units.by_ref().find(|(name, _)| *name == unit)?;
        let number: u64 = number.parse().ok()?;
        seconds = seconds.checked_add(number.checked_mul(factor)?)?;
        rest = tail.as_str();
    }
    Some(Duration::from_secs(seconds))
}

/// Whether a server is held, and until when.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct HoldView {
    /// Unix seconds; 0 where it is not held.
    #[serde(rename = "expiresAt")]
    pub expires_at: u64,
    /// Whether it is.
    pub held: bool,
}

impl HoldView {
    /// From when a hold ends. A part of a second is left away: a hold never lasts less than it says.
    #[must_use]
    pub const fn of(until: Option<Timestamp>) -> Self {
        match until {
            Some(until) => Self { expires_at: until.unix_ms() / 1_000, held: true },
            None => Self { expires_at: 0, held: false },
        }
    }
}

/// A reservation, as the server that made it is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReservationView {
    /// What the server runs.
    #[serde(rename = "buildConfigurationId")]
    pub configuration: BuildConfigurationId,
    /// When it was made. All three are one moment: a server that asks for itself waits for nobody.
    pub created: jiff::Timestamp,
    /// See `created`.
    pub fulfilled: jiff::Timestamp,
    /// Where players connect.
    pub game_port: u16,
    /// The machine's address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ipv4: Option<Ipv4Addr>,
    /// The machine's address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ipv6: Option<Ipv6Addr>,
    /// See `created`.
    pub requested: jiff::Timestamp,
    /// Its id.
    pub reservation_id: ReservationId,
}

/// What went wrong, as the SDKs' models have it (`status`, `detail`, `title`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ErrorBody {
    /// The HTTP status.
    pub status: u16,
    /// What went wrong, with our code and the way out.
    pub detail: String,
    /// The status in words.
    pub title: String,
}

/// What went wrong with a payload, in a shape of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PayloadErrorBody {
    /// Never.
    pub success: bool,
    /// What went wrong.
    pub error: String,
    /// The HTTP status.
    pub error_code: u16,
    /// What went wrong, with our code and the way out.
    pub error_message: String,
}

/// A token for calls to others, or why there is none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TokenView {
    /// The token; empty where there is none.
    pub token: String,
    /// Why there is none; empty where there is one.
    pub error: String,
}
