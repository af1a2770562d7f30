//! The Multiplay face: allocations, the token exchange and error bodies (reference multiplay.md section 1).
//!
//! Absent fields are left out, never `null` and never an epoch date: the stock matchmaker adapter reads state from which
//! datetimes are there.

use jiff::Timestamp as Instant;
use mainstay_core::slot::ReadySignal;
use mainstay_core::{AllocationId, BuildConfigurationId, FleetId, RegionId, Timestamp};
use mainstay_fleet::{Addresses, Allocation, End, Machine, Purpose, Renewal, Request, Server};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

/// The largest body of an allocation request: a payload of 30 KB in which every byte is escaped as `\u00XX`, and the other
/// fields.
pub const ALLOCATE_BODY_BYTES_MAX: usize = 6 * Request::PAYLOAD_MAX + 4 * 1024;
/// The largest body of a token exchange: a few scopes.
pub const TOKEN_BODY_BYTES_MAX: usize = 16 * 1024;
/// The most allocations a page lists, and what it lists unasked (legacy API: limit 10 to 50; ids at most 100).
pub const LIST_LIMIT_MAX: usize = 100;
/// The most ids a list may name (legacy API: poll at most 100 uuids a call).
pub const LIST_IDS_MAX: usize = 100;

/// The body of ProcessAllocation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AllocateRequest {
    /// The caller's id.
    pub allocation_id: AllocationId,
    /// Which build configuration.
    pub build_configuration_id: u64,
    /// Where.
    pub region_id: RegionId,
    /// For the game.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<String>,
    /// Whether a running process is restarted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restart: Option<bool>,
}

/// Why a body is no allocation request.
#[derive(Debug, thiserror::Error)]
pub enum BodyError {
    /// Not the JSON it should be.
    #[error("the body is not the JSON this call takes")]
    Json(#[source] serde_json::Error),
    /// A payload above the limit ("payload > 30 KB → 400").
    #[error("the payload has {bytes} bytes, {} are allowed", Request::PAYLOAD_MAX)]
    PayloadTooLarge {
        /// How large it is.
        bytes: usize,
    },
    /// More scopes than a token carries.
    #[error("{found} scopes are asked for, {SCOPES_MAX} are allowed")]
    TooManyScopes {
        /// How many.
        found: usize,
    },
    /// The nil UUID, which clients send where they forgot to make an id: the second session of such a client would be taken
    /// for the first.
    #[error("allocationId is the nil UUID: every session needs an id of its own, made at random")]
    NilAllocation,
    /// An id that no Mainstay gave out.
    #[error("buildConfigurationId is no id")]
    ConfigurationId(#[source] mainstay_core::IdError),
}

impl BodyError {
    /// Its code, explained by `mainstay explain`.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Json(_) | Self::TooManyScopes { .. } | Self::NilAllocation | Self::ConfigurationId(_) => {
                "MS-U101"
            }
            Self::PayloadTooLarge { .. } => "MS-P008",
        }
    }
}

impl AllocateRequest {
    /// Reads a body.
    ///
    /// # Errors
    /// See [`BodyError`].
    pub fn read(body: &[u8]) -> Result<Self, BodyError> {
        let request: Self = crate::object::read(body).map_err(BodyError::Json)?;
        if request.allocation_id.0.is_nil() {
            return Err(BodyError::NilAllocation);
        }
        match request.payload.as_ref().map(String::len) {
            Some(bytes) if bytes > Request::PAYLOAD_MAX => Err(BodyError::PayloadTooLarge { bytes }),
            Some(_) | None => Ok(request),
        }
    }

    /// As the rules take it.
    ///
    /// # Errors
    /// [`BodyError::ConfigurationId`] above 2^53 - 1.
    pub fn request(self, purpose: Purpose) -> Result<(AllocationId, Request), BodyError> {
        let configuration = BuildConfigurationId::from_number(self.build_configuration_id)
            .map_err(BodyError::ConfigurationId)?;
        let renewal = match self.restart {
            Some(true) => Renewal::Restart,
            Some(false) | None => Renewal::Keep,
        };
        let payload = self.payload.map(Into::into);
        let region = self.region_id;
        Ok((self.allocation_id, Request { configuration, region, payload, renewal, purpose }))
    }
}

/// The answer to ProcessAllocation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AllocateAnswer {
    /// The caller's id.
    pub allocation_id: AllocationId,
    /// The path at which the allocation is read.
    pub href: String,
}

/// An allocation as its callers see it (reference 1.1).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AllocationView {
    /// The caller's id.
    #[schema(value_type = String, format = "uuid")]
    pub allocation_id: AllocationId,
    /// What it runs.
    pub build_configuration_id: u64,
    /// When it got a server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub created: Option<Instant>,
    /// Its fleet.
    #[schema(value_type = String, format = "uuid")]
    pub fleet_id: FleetId,
    /// When its server began to play.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub fulfilled: Option<Instant>,
    /// Where players connect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub game_port: Option<u16>,
    /// Its machine's IPv4 address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ipv4: Option<String>,
    /// Its machine's IPv6 address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ipv6: Option<String>,
    /// Its machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine_id: Option<u64>,
    /// Whether its build configuration waits for the game's own ready signal.
    pub readiness: bool,
    /// When the game said it is ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub ready: Option<Instant>,
    /// Where.
    #[schema(value_type = String, format = "uuid")]
    pub region_id: RegionId,
    /// The request that made it.
    #[schema(value_type = String, format = "uuid")]
    pub request_id: Uuid,
    /// When it was asked for.
    #[schema(value_type = String, format = DateTime)]
    pub requested: Instant,
    /// Its server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_id: Option<u64>,
    /// Whether it ended without having been wanted to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<bool>,
    /// When it ended. Ours: Multiplay forgets an allocation that ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub ended: Option<Instant>,
    /// Why it ended, in words. Ours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_reason: Option<String>,
}

impl AllocationView {
    /// An allocation with the server and machine it has or had, and whether players wait for its game's ready call.
    #[must_use]
    pub fn of(
        id: AllocationId,
        fleet: FleetId,
        allocation: &Allocation,
        place: (Option<&Server>, Option<&Machine>),
        ready_signal: ReadySignal,
    ) -> Self {
        let (server, machine) = place;
        let placed = allocation.placed();
        // What is over is nowhere: its port may be another session's already.
        let (place, addresses) = match allocation.end() {
            None => (server, machine.map(|machine| machine.addresses).unwrap_or_default()),
            Some(_) => (None, Addresses::default()),
        };
        Self {
            allocation_id: id,
            build_configuration_id: allocation.request.configuration.number(),
            created: placed.map(|placed| instant(placed.at)),
            fleet_id: fleet,
            fulfilled: allocation.fulfilled().map(instant),
            game_port: place.map(|server| server.ports.game),
            ipv4: addresses.ipv4.map(|address| address.to_string()),
            ipv6: addresses.ipv6.map(|address| address.to_string()),
            machine_id: server.map(|server| server.machine.number()),
            readiness: matches!(ready_signal, ReadySignal::Awaited),
            ready: allocation.ready.map(instant),
            region_id: allocation.request.region,
            request_id: id.0,
            requested: instant(allocation.requested),
            server_id: placed.map(|placed| placed.server.number()),
            failed: allocation.end().map(|(_, end)| end.failed()),
            ended: allocation.end().map(|(at, _)| instant(at)),
            end_reason: allocation.end().map(|(_, end)| end_reason(end)),
        }
    }
}

fn end_reason(end: &End) -> String {
    match end {
        End::Deallocated => "deallocated".to_owned(),
        End::Completed => "completed: the server exited with code 0".to_owned(),
        End::PlacementTimedOut(losers) => format!("no server came free in time: {losers}"),
        End::BackedOff { crashes, cause } => {
            format!(
                "the server crashed {crashes} times within its restart policy's window; the last: {cause}"
            )
        }
        End::PreRecovery { cause } => format!("the server no longer answered its query: {cause}"),
        End::Idle { ttl } => {
            format!("nobody played on its server for {} s, the fleet's allocation TTL", ttl.as_secs())
        }
        End::Aged { ttl } => {
            format!("it was asked for {} s ago, the fleet's allocation TTL", ttl.as_secs())
        }
        End::RolledOut => "a build version was forced onto its server".to_owned(),
        End::MachineLost => "its machine was lost".to_owned(),
        End::Lost => "the machine lost the process: it rebooted, or the process's holder died".to_owned(),
    }
}

/// A page of allocations.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AllocationList {
    /// Which page.
    pub pagination: Pagination,
    /// The newest request first.
    pub allocations: Vec<AllocationView>,
}

/// Which page of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Pagination {
    /// How many at most.
    pub limit: usize,
    /// From which on.
    pub offset: usize,
}

/// The body of a token exchange. A missing or empty list of scopes asks for all.
#[derive(Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TokenRequest {
    /// Scopes, by name.
    #[serde(default)]
    pub scopes: Vec<String>,
    /// The service account's key id, where it is not in a Basic header (Unity's own sample sends it here).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_key_public_identifier: Option<String>,
    /// Its secret key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
}

impl std::fmt::Debug for TokenRequest {
    /// Without the secret.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TokenRequest").field("scopes", &self.scopes).finish_non_exhaustive()
    }
}

/// The most scopes of one token.
pub const SCOPES_MAX: usize = 64;

impl TokenRequest {
    /// Reads a body. An empty one asks for everything: stock clients send none at all.
    ///
    /// # Errors
    /// [`BodyError::Json`] where the body is JSON but another one.
    pub fn read(body: &[u8]) -> Result<Self, BodyError> {
        if body.iter().all(u8::is_ascii_whitespace) {
            return Ok(Self::default());
        }
        let request: Self = crate::object::read(body).map_err(BodyError::Json)?;
        match request.scopes.len() {
            found if found > SCOPES_MAX => Err(BodyError::TooManyScopes { found }),
            _fits => Ok(request),
        }
    }
}

/// The answer to a token exchange (201).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TokenAnswer {
    /// A JWT with `exp`.
    pub access_token: String,
}

/// An error as Unity's gateway tells it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ErrorBody {
    /// The HTTP status.
    pub status: u16,
    /// What, in a few words.
    pub title: String,
    /// Why, with numbers, and the way out.
    pub detail: String,
    /// One entry a field, where fields are at fault.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub details: Vec<FieldError>,
    /// To find the request in the log.
    #[schema(value_type = String, format = "uuid")]
    pub request_id: Uuid,
}

/// What is wrong with one field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FieldError {
    /// Which.
    pub field: String,
    /// What is wrong.
    pub error: String,
}

/// RFC 3339 in UTC with milliseconds.
#[must_use]
pub fn instant(at: Timestamp) -> Instant {
    let ms = i64::try_from(at.unix_ms()).unwrap_or(i64::MAX);
    Instant::from_millisecond(ms).unwrap_or(Instant::MAX)
}
