//! What players have stored, on the native face.

use std::collections::BTreeMap;

use mainstay_matchmaking::Entity;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::PlayerOfTicket;

/// A player's stored objects: what rules of source `PlayerEntity` read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ObjectsView {
    /// Whose.
    pub player: String,
    /// Rises with every change; 0 before the first.
    pub version: u32,
    /// The objects by name.
    #[schema(value_type = BTreeMap<String, Value>)]
    pub objects: BTreeMap<String, Value>,
}

/// What some of a player's objects become; those that are not named stay.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ObjectsRequest {
    /// Each by its name: any JSON, and `null` removes it. All of them, or none where one is refused.
    #[schema(value_type = BTreeMap<String, Value>)]
    pub objects: BTreeMap<String, Value>,
    /// The `version` that was read before, where a write over another is to be refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_version: Option<u32>,
}

impl ObjectsView {
    /// An entity's objects.
    #[must_use]
    pub fn of(entity: &Entity, version: u32, objects: BTreeMap<String, Value>) -> Self {
        Self { player: PlayerOfTicket::told(entity), version, objects }
    }
}
