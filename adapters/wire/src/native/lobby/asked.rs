//! What is asked of a lobby.

use std::collections::BTreeMap;

use mainstay_lobby as domain;
use mainstay_lobby::{Migratable, Searchable};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{JoiningView, PaceView, PhaseView, TakeoverView, WithoutMajorityView};

/// What of a lobby service is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LobbyRequest {
    /// Whether its sessions migrate.
    pub supports_host_migration: bool,
}

/// A session that is asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SessionRequest {
    /// For people: up to 64 characters.
    #[serde(default)]
    pub name: String,
    /// How many members it has at most: 1 to 64.
    pub size: u32,
    /// Whether it outlives its host.
    #[serde(default = "yes")]
    pub migratable: bool,
    /// Whether it is found by searches.
    #[serde(default = "yes")]
    pub searchable: bool,
    /// Whether newcomers are let in.
    #[serde(default)]
    pub joining: JoiningView,
    /// When another may take over from a host that is missed.
    #[serde(default)]
    pub takeover: TakeoverView,
    /// What its peers do while the lobby is away and their host is lost.
    #[serde(default)]
    pub without_majority: WithoutMajorityView,
    /// What searches are narrowed by: up to 16, names of 64 and values of 256 bytes at most.
    #[serde(default)]
    pub attributes: BTreeMap<String, String>,
    /// The first member, and host.
    pub member: MemberRequest,
}

const fn yes() -> bool {
    true
}

/// A process that wants to be a member.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MemberRequest {
    /// Its public key: Ed25519, in base64url. It is made when the process starts.
    pub peer: String,
    /// Its signature over `mainstay lobby join 1`, a zero byte and the lobby's key, in base64url.
    pub proof: String,
    /// Whose process it is, where a service account vouches for that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub player: Option<String>,
    /// Whether it may become host.
    #[serde(default)]
    pub can_be_host: bool,
    /// How others reach it, the best first: up to 8.
    #[serde(default)]
    pub addresses: Vec<String>,
}

/// Somebody who wants to come in.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct JoinRequest {
    /// Who.
    pub member: MemberRequest,
}

/// What a member says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MemberUpdate {
    /// Whether it may become host.
    pub can_be_host: bool,
    /// How others reach it, the best first: up to 8.
    #[serde(default)]
    pub addresses: Vec<String>,
}

/// What a host changes of its session; what is left out stays.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SessionUpdate {
    /// The epoch that whoever asks is host of; left out by a service account.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epoch: Option<u32>,
    /// Its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Whether searches find it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub searchable: Option<bool>,
    /// Whether newcomers are let in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub joining: Option<JoiningView>,
    /// How far it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<PhaseView>,
    /// Attributes by name: what they become; null where they go.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub attributes: BTreeMap<String, Option<String>>,
}

/// A sign of life, which is written nowhere.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BeatRequest {
    /// The newest epoch it knows.
    pub epoch: u32,
    /// Of a host: the members it hears, by their keys. With `relayed`: those that the host hears.
    #[serde(default)]
    pub hears: Vec<String>,
    /// Of a host: when it beats again.
    #[serde(default)]
    pub pace: PaceView,
    /// Of a member: that it misses the host of that epoch.
    #[serde(default)]
    pub misses_host: bool,
    /// Of a member that misses it: how many milliseconds ago it heard it last as host of that epoch. Left out: it never did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub silent_ms: Option<u64>,
    /// When `silentMs` was so, in milliseconds of the lobby's clock, as it reckons from an `asOf` that it was told: a beat may take long. Left out: just now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub as_of: Option<u64>,
    /// What the host of that epoch, which does not reach the lobby, asked it to bring.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relayed: Option<RelayedRenewal>,
}

/// A renewal that another brings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RelayedRenewal {
    /// `asOf` of an answer of the lobby that the host knows of: the lease counts from then.
    pub as_of: u64,
    /// The host's signature over `mainstay lobby renewal 1`, a zero byte, the session's id, the epoch and `asOf`, highest bytes
    /// first, in base64url.
    pub signature: String,
}

/// A claim of the next epoch.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ClaimRequest {
    /// The newest epoch that whoever asks knows; 0 where nobody has been host.
    pub expected_epoch: u32,
    /// Of the host of that epoch, which hands over: the next, by its key. Left out: whoever asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// When whoever asks wanted that, in milliseconds of the lobby's clock, as it reckons from an `asOf` that it was told: what comes more than
    /// 3 s later is refused. Left out: just now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub as_of: Option<u64>,
}

impl SessionRequest {
    /// As the rules take it.
    #[must_use]
    pub fn settings(&self) -> domain::Settings {
        domain::Settings {
            name: self.name.as_str().into(),
            migratable: if self.migratable { Migratable::Yes } else { Migratable::No },
            searchable: if self.searchable { Searchable::Yes } else { Searchable::No },
            joining: self.joining.into(),
            takeover: self.takeover.into(),
            without_majority: self.without_majority.into(),
            attributes: self
                .attributes
                .iter()
                .map(|(name, value)| (name.as_str().into(), value.as_str().into()))
                .collect(),
            ..domain::Settings::of_size(self.size)
        }
    }
}

impl SessionUpdate {
    /// As the rules take it.
    #[must_use]
    pub fn update(&self) -> domain::Update {
        let attribute = |(name, value): (&String, &Option<String>)| {
            (name.as_str().into(), value.as_deref().map(Into::into))
        };
        domain::Update {
            name: self.name.as_deref().map(Into::into),
            searchable: self.searchable.map(|yes| if yes { Searchable::Yes } else { Searchable::No }),
            joining: self.joining.map(Into::into),
            phase: self.phase.map(Into::into),
            attributes: self.attributes.iter().map(attribute).collect(),
        }
    }
}
