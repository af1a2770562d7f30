//! Who a caller is: the least of PlayFab's authentication that its SDKs need before they can match.

use jiff::Timestamp as Instant;
use serde::{Deserialize, Serialize};

use super::dated::dated;
use super::entity::EntityKey;
use super::lenient;

/// `/Client/LoginWithCustomID`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct LoginWithCustomId {
    /// The title.
    #[serde(deserialize_with = "lenient::or_default")]
    /// PlayFab's SDK for PHP writes it `titleId`.
    #[serde(alias = "titleId")]
    pub title_id: String,
    /// The player's id, which the studio chooses.
    pub custom_id: Option<String>,
    /// Whether a player that is not known is made.
    pub create_account: Option<bool>,
}

/// `/Server/LoginWithServerCustomId`: the title vouches for a player of its own backend.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct LoginWithServerCustomId {
    /// The player's id, which the studio chooses.
    #[serde(deserialize_with = "lenient::or_default")]
    pub server_custom_id: String,
}

/// `LoginResult`, and `ServerLoginResult`. The SDKs of C# and the web read `EntityToken.Entity`, `PlayFabId` and `SessionTicket` without looking whether
/// they are there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct LoginResult {
    /// What proves the player to calls that take no entity token.
    pub session_ticket: String,
    /// The player's account.
    pub play_fab_id: String,
    /// Whether it was made now.
    pub newly_created: bool,
    /// What proves the player to all calls of matching.
    pub entity_token: EntityTokenAnswer,
}

/// `/Authentication/GetEntityToken`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct GetEntityToken {
    /// Whose token is wanted; without it, the caller's own.
    pub entity: Option<EntityKey>,
}

/// A token, until when it holds, and whose it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct EntityTokenAnswer {
    /// It.
    pub entity_token: String,
    /// Until when.
    #[serde(serialize_with = "dated")]
    pub token_expiration: Instant,
    /// Whose.
    pub entity: EntityKey,
}

/// `/Authentication/ValidateEntityToken`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ValidateEntityToken {
    /// The token that somebody showed.
    #[serde(deserialize_with = "lenient::or_default")]
    pub entity_token: String,
}

/// Whose it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct ValidatedEntityToken {
    /// Who.
    pub entity: EntityKey,
    /// To what it belongs.
    pub lineage: EntityLineage,
}

/// To what an entity belongs.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct EntityLineage {
    /// Its title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title_id: Option<String>,
    /// Of a player: its account over all titles.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub master_player_account_id: Option<String>,
    /// Of a player: itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title_player_account_id: Option<String>,
}

/// `/GameServerIdentity/AuthenticateGameServerWithCustomId`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct AuthenticateGameServer {
    /// The server's id, which the title chooses.
    #[serde(deserialize_with = "lenient::or_default")]
    pub custom_id: String,
}

/// A game server's token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct AuthenticatedGameServer {
    /// It.
    pub entity_token: EntityTokenAnswer,
    /// Whether the server was made now.
    pub newly_created: bool,
}
