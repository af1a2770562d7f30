//! The Multiplay face: allocations, the token exchange and error bodies (reference multiplay.md section 1).
//!
//! Absent fields are left out, never `null` and never an epoch date: the stock matchmaker adapter reads state from which
//! datetimes are there.

use jiff::Timestamp as Instant;
use mainstay_core::{AllocationId, BuildConfigurationId, FleetId, RegionId, Timestamp};
use mainstay_fleet::{Allocation, Machine, Renewal, Request, Server};
use serde::{Deserialize, Serialize};
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
    #[error("the body is not the JSON this call takes: {0}")]
    Json(#[source] serde_json::Error),
    /// A payload above the limit ("payload > 30 KB → 400").
    #[error("the payload has {bytes} bytes, {} are allowed", Request::PAYLOAD_MAX)]
    PayloadTooLarge {
        /// How large it is.
        bytes: usize,
    },
    /// An id that no Mainstay gave out.
    #[error("buildConfigurationId: {0}")]
    ConfigurationId(#[source] mainstay_core::IdError),
}

impl BodyError {
    /// Its code, explained by `mainstay explain`.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Json(_) => "MS-U101",
            Self::PayloadTooLarge { .. } => "MS-P008",
            Self::ConfigurationId(_) => "MS-U101",
        }
    }
}

impl AllocateRequest {
    /// Reads a body.
    ///
    /// # Errors
    /// See [`BodyError`].
    pub fn read(body: &[u8]) -> Result<Self, BodyError> {
        let request: Self = serde_json::from_slice(body).map_err(BodyError::Json)?;
        match request.payload.as_ref().map(String::len) {
            Some(bytes) if bytes > Request::PAYLOAD_MAX => Err(BodyError::PayloadTooLarge { bytes }),
            Some(_) | None => Ok(request),
        }
    }

    /// As the rules take it.
    ///
    /// # Errors
    /// [`BodyError::ConfigurationId`] above 2^53 - 1.
    pub fn request(self) -> Result<(AllocationId, Request), BodyError> {
        let configuration = BuildConfigurationId::from_number(self.build_configuration_id)
            .map_err(BodyError::ConfigurationId)?;
        let renewal = match self.restart {
            Some(true) => Renewal::Restart,
            Some(false) | None => Renewal::Keep,
        };
        let payload = self.payload.map(Into::into);
        Ok((self.allocation_id, Request { configuration, region: self.region_id, payload, renewal }))
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AllocationView {
    /// The caller's id.
    pub allocation_id: AllocationId,
    /// What it runs.
    pub build_configuration_id: u64,
    /// When it got a server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created: Option<Instant>,
    /// Its fleet.
    pub fleet_id: FleetId,
    /// When its server began to play.
    #[serde(default, skip_serializing_if = "Option::is_none")]
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
    pub ready: Option<Instant>,
    /// Where.
    pub region_id: RegionId,
    /// The request that made it.
    pub request_id: Uuid,
    /// When it was asked for.
    pub requested: Instant,
    /// Its server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_id: Option<u64>,
    /// Whether it ended without having been wanted to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<bool>,
    /// When it ended. Ours: Multiplay forgets an allocation when it ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deallocated: Option<Instant>,
    /// Why it ended, in a word, with the code of a failure. Ours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<EndView>,
}

/// Why an allocation ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EndView {
    /// In a word.
    pub reason: EndReason,
    /// With numbers, where there is more to say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// Why an allocation ended, in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum EndReason {
    /// Its caller.
    Deallocated,
    /// Its server's process, by exit code 0.
    Completed,
    /// No server came free in time.
    PlacementTimedOut,
    /// Its server crashed too often.
    BackedOff,
    /// Its machine lost the process.
    Lost,
}

impl AllocationView {
    /// An allocation with the server and machine it has or had.
    #[must_use]
    pub fn of(
        id: AllocationId,
        fleet: FleetId,
        allocation: &Allocation,
        server: Option<&Server>,
        machine: Option<&Machine>,
    ) -> Self {
        let placed = allocation.placed();
        // What is over is nowhere: its port may be another session's already.
        let at = |value| if allocation.end().is_none() { value } else { None };
        Self {
            allocation_id: id,
            build_configuration_id: allocation.request.configuration.number(),
            created: placed.map(|placed| instant(placed.at)),
            fleet_id: fleet,
            fulfilled: allocation.fulfilled().map(instant),
            game_port: at(server).map(|server| server.ports.game),
            ipv4: machine
                .filter(|_| allocation.end().is_none())
                .and_then(|machine| machine.addresses.ipv4)
                .map(|ip| ip.to_string()),
            ipv6: machine
                .filter(|_| allocation.end().is_none())
                .and_then(|machine| machine.addresses.ipv6)
                .map(|ip| ip.to_string()),
            machine_id: server.map(|server| server.machine.number()),
            readiness: false,
            ready: None,
            region_id: allocation.request.region,
            request_id: id.0,
            requested: instant(allocation.requested),
            server_id: placed.map(|placed| placed.server.number()),
            failed: allocation.end().map(|(_, end)| end.failed()),
            deallocated: allocation.end().map(|(at, _)| instant(at)),
            end: allocation.end().map(|(_, end)| end_view(end)),
        }
    }
}

fn end_view(end: &mainstay_fleet::End) -> EndView {
    use mainstay_fleet::End;
    let (reason, detail) = match end {
        End::Deallocated => (EndReason::Deallocated, None),
        End::Completed => (EndReason::Completed, None),
        End::PlacementTimedOut(losers) => (EndReason::PlacementTimedOut, Some(losers.to_string())),
        End::BackedOff { crashes, cause } => (
            EndReason::BackedOff,
            Some(format!("{crashes} crashes within the restart policy's window; the last: {cause}")),
        ),
        End::Lost => (EndReason::Lost, None),
    };
    EndView { reason, detail }
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
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TokenRequest {
    /// Scopes, by name.
    #[serde(default)]
    pub scopes: Vec<String>,
}

/// The answer to a token exchange (201).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TokenAnswer {
    /// A JWT with `exp`.
    pub access_token: String,
}

/// An error as Unity's gateway tells it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
    pub request_id: Uuid,
}

/// What is wrong with one field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
