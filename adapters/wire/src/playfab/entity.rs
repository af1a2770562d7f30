//! Entities, and players with what they bring, as PlayFab writes them.

use mainstay_matchmaking::Entity;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::lenient;

/// `EntityKey`: who.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct EntityKey {
    /// Its id.
    #[serde(deserialize_with = "lenient::or_default")]
    pub id: String,
    /// Its type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub r#type: Option<String>,
    /// The same, by its name of 2018: read where `Type` is absent, and written beside it, as PlayFab does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub type_string: Option<String>,
}

impl EntityKey {
    /// An entity as it is told.
    #[must_use]
    pub fn of(entity: &Entity) -> Self {
        let kind = entity.kind().to_owned();
        Self { id: entity.id().to_owned(), r#type: Some(kind.clone()), type_string: Some(kind) }
    }

    /// The entity; `None` where it is none. Without a type it is a player.
    #[must_use]
    pub fn entity(&self) -> Option<Entity> {
        Entity::new(self.kind().unwrap_or(Entity::PLAYER), &self.id)
    }

    /// Whether it names this entity; without a type, whatever that is.
    #[must_use]
    pub fn names(&self, entity: &Entity) -> bool {
        self.id == entity.id() && self.kind().is_none_or(|kind| kind == entity.kind())
    }

    fn kind(&self) -> Option<&str> {
        let mut said = [&self.r#type, &self.type_string].into_iter().flatten().map(String::as_str);
        said.find(|kind| !kind.is_empty())
    }
}

/// `MatchmakingPlayer`, and `MatchmakingPlayerWithTeamAssignment`: a player of a ticket.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct MatchmakingPlayer {
    /// Who.
    #[serde(deserialize_with = "lenient::or_default")]
    pub entity: EntityKey,
    /// What the rules read of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attributes: Option<MatchmakingPlayerAttributes>,
    /// Its team. Told as an empty text where it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub team_id: Option<String>,
}

/// A player's attributes: an object, or the same as a text of JSON.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct MatchmakingPlayerAttributes {
    /// The object.
    pub data_object: Option<Value>,
    /// As text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub escaped_data_object: Option<String>,
}

/// How objects are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Objects {
    /// As objects.
    Plain,
    /// As texts of JSON (`EscapeObject`), for clients without a reader of any object.
    Escaped,
}

impl MatchmakingPlayerAttributes {
    /// What was sent, as an object; `None` where nothing was.
    ///
    /// # Errors
    /// A text that is no JSON object, and an object that is none.
    pub fn object(&self) -> Result<Option<Value>, String> {
        let sent = match (&self.data_object, &self.escaped_data_object) {
            (Some(object), Some(text)) if !object.is_null() && !text.is_empty() => {
                return Err("DataObject and EscapedDataObject: one of them".to_owned());
            }
            (Some(object), None) => object.clone(),
            (Some(object), Some(_)) if !object.is_null() => object.clone(),
            (Some(_) | None, Some(text)) if text.is_empty() => return Ok(None),
            (Some(_) | None, Some(text)) => serde_json::from_str(text)
                .map_err(|error| format!("EscapedDataObject is no JSON: {error}"))?,
            (None, None) => return Ok(None),
        };
        match sent {
            Value::Null => Ok(None),
            Value::Object(_) => Ok(Some(sent)),
            Value::Array(_) | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                Err("the attributes are an object".to_owned())
            }
        }
    }

    /// What was sent, told again: as PlayFab does, the escaped form beside an explicit `null`.
    #[must_use]
    pub fn told(raw: Option<&str>, objects: Objects) -> Self {
        match objects {
            Objects::Escaped => Self { data_object: None, escaped_data_object: raw.map(str::to_owned) },
            Objects::Plain => {
                let data_object = raw.and_then(|raw| serde_json::from_str(raw).ok());
                Self { data_object, escaped_data_object: None }
            }
        }
    }
}
