//! Service accounts, as the native face shows them.

use mainstay_fleet::catalog::Role;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What a service account may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum AccountRole {
    /// Everything.
    Admin,
    /// Everything but let machines in and make accounts.
    Operator,
    /// Allocate, read and deallocate.
    Allocator,
    /// Read.
    Viewer,
}

/// The body that makes a service account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ServiceAccountRequest {
    /// What it may do.
    pub role: AccountRole,
}

/// A service account.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServiceAccountView {
    /// Its public half.
    pub key_id: String,
    /// Its secret half: told once, as it is made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_key: Option<String>,
    /// What it may do.
    pub role: AccountRole,
}

impl std::fmt::Debug for ServiceAccountView {
    /// Without the secret.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServiceAccountView")
            .field("key_id", &self.key_id)
            .field("role", &self.role)
            .finish_non_exhaustive()
    }
}

impl From<AccountRole> for Role {
    fn from(role: AccountRole) -> Self {
        match role {
            AccountRole::Admin => Self::Admin,
            AccountRole::Operator => Self::Operator,
            AccountRole::Allocator => Self::Allocator,
            AccountRole::Viewer => Self::Viewer,
        }
    }
}

impl From<Role> for AccountRole {
    fn from(role: Role) -> Self {
        match role {
            Role::Admin => Self::Admin,
            Role::Operator => Self::Operator,
            Role::Allocator => Self::Allocator,
            Role::Viewer => Self::Viewer,
        }
    }
}
