//! An entity's stored objects: what rules of source `PlayerEntity` read.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::entity::EntityKey;
use super::lenient;

/// `/Object/SetObjects`.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct SetObjects {
    /// Whose.
    pub entity: Option<EntityKey>,
    /// Which, and what they become.
    #[serde(deserialize_with = "lenient::list")]
    pub objects: Vec<SetObject>,
    /// The version that was read before, where a write over another is to be refused.
    #[serde(deserialize_with = "lenient::integer")]
    pub expected_profile_version: Option<i64>,
}

/// One of them.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct SetObject {
    /// Its name.
    #[serde(deserialize_with = "lenient::or_default")]
    pub object_name: String,
    /// What it becomes.
    pub data_object: Option<Value>,
    /// The same as a text of JSON.
    pub escaped_data_object: Option<String>,
    /// Whether it goes.
    #[serde(deserialize_with = "lenient::or_default")]
    pub delete_object: bool,
}

/// `/Object/GetObjects`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct GetObjects {
    /// Whose.
    pub entity: Option<EntityKey>,
    /// Whether objects are told as texts of JSON.
    #[serde(deserialize_with = "lenient::or_default")]
    pub escape_object: bool,
}

/// `SetObjectsResponse`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct ObjectsSet {
    /// The profile's version now.
    pub profile_version: u32,
    /// What became of each object.
    pub set_results: Vec<SetObjectInfo>,
}

/// What became of one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct SetObjectInfo {
    /// Its name.
    pub object_name: String,
    /// What.
    pub set_result: OperationTypes,
}

/// What became of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum OperationTypes {
    /// There was none of that name.
    Created,
    /// There was one.
    Updated,
    /// It is gone.
    Deleted,
    /// Nothing: there was none to delete.
    None,
}

/// `GetObjectsResponse`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct ObjectsAnswer {
    /// Whose.
    pub entity: EntityKey,
    /// The objects by name.
    pub objects: BTreeMap<String, ObjectResult>,
    /// The profile's version.
    pub profile_version: u32,
}

/// One object.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ObjectResult {
    /// Its name.
    pub object_name: String,
    /// It.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data_object: Option<Value>,
    /// It as a text of JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub escaped_data_object: Option<String>,
}
