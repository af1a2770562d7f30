//! The native face's words about machines that join.

use jiff::Timestamp as Instant;
use mainstay_core::{FleetId, JoinTokenId, MachineKey, RegionId};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The body that makes a join token. Everything has a default.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct JoinTokenRequest {
    /// How long it lasts, in seconds; an hour.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_seconds: Option<u64>,
    /// How many machines it lets in; one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uses: Option<u32>,
    /// The only fleet they may join, by name or id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fleet: Option<String>,
    /// The only region of it, by name or id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// How long their credentials last unless renewed, in seconds; 30 days.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential_ttl_seconds: Option<u64>,
}

/// A join token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct JoinTokenView {
    /// Its public half.
    #[schema(value_type = String, format = "uuid")]
    pub id: JoinTokenId,
    /// The whole text: told once, by the call that makes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// `open`, `usedUp`, `withdrawn` or `expired`.
    pub state: String,
    /// When it ends.
    #[schema(value_type = String, format = DateTime)]
    pub expires_at: Instant,
    /// How many machines it lets in.
    pub uses: u32,
    /// How many more.
    pub uses_left: u32,
    /// The only fleet they may join.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = "uuid")]
    pub fleet_id: Option<FleetId>,
    /// The only region of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = "uuid")]
    pub region_id: Option<RegionId>,
    /// How long their credentials last unless renewed.
    pub credential_ttl_seconds: u64,
}

/// The credential of a machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CredentialView {
    /// What the machine calls itself.
    #[schema(value_type = String, format = "uuid")]
    pub machine_key: MachineKey,
    /// `live`, `expired` or `revoked`.
    pub state: String,
    /// The token it came with.
    #[schema(value_type = String, format = "uuid")]
    pub token_id: JoinTokenId,
    /// When it ends unless renewed; absent once revoked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub expires_at: Option<Instant>,
}
