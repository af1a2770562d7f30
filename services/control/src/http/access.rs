//! Who asks, and what they may.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

use axum::http::header::AUTHORIZATION;
use axum::http::{HeaderMap, StatusCode};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use mainstay_core::{ServerId, Tenure, Timestamp};
use mainstay_fleet::catalog::{CredentialDeclaration, Role};
use mainstay_matchmaking::Caller as Asker;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use super::App;
use super::failure::Failure;
use super::token::{Claims, OfServer};
use crate::config::SECRET_BYTES_MAX;
use crate::identity::Purpose;

/// Where players, game servers and the title show who they are: as on PlayFab's face.
const ENTITY_TOKEN: &str = "x-entitytoken";
/// What images in a registry begin with: they are no files of this host.
const REGISTRY: &str = "docker://";

/// The credentials there are, by key id: what the catalog says, beside it, since every call asks.
#[derive(Debug)]
pub(crate) struct Access(RwLock<HashMap<String, Known>>);

#[derive(Debug, Clone, Copy)]
struct Known {
    secret_sha256: [u8; 32],
    role: Role,
}

/// Something that a caller may or may not do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Permission {
    AllocationsCreate,
    AllocationsGet,
    AllocationsList,
    AllocationsDelete,
    /// Fleets, machines, servers, status.
    Read,
    /// Start, stop and restart servers; read what they print.
    Operate,
    /// Change builds, build configurations and fleets.
    Configure,
    /// Make and cancel tickets; store what their rules read of players.
    Match,
    /// Make and end sessions that players host, and vouch for their players.
    Sessions,
    /// Let machines in, and turn them out.
    Admit,
    /// Make service accounts, and revoke them.
    Accounts,
    /// Name files of the control plane's host that no build had before: it reads them as who it runs as, which is often root.
    HostPaths,
}

/// Why a caller is turned away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Denied {
    #[error("the call has no credentials")]
    NoCredentials,
    #[error("the Authorization header is neither Basic nor Bearer, or cannot be read")]
    Unreadable,
    #[error("no such service account, or another secret")]
    WrongCredentials,
    #[error("the token is not ours, or has expired")]
    WrongToken,
    #[error("the entity token is not ours, or has expired")]
    WrongEntityToken,
    #[error("the token is one of a session's member, and has expired")]
    MemberOver,
    #[error("the process that this token was given to has ended, or its session has")]
    ProcessOver,
    #[error("these credentials may not do this: {0} is needed")]
    Forbidden(&'static str),
    #[error("a player's token does not open this call: it is for game servers and the title")]
    ForServers,
    #[error("this token does not open this call: it is for the title, and for service accounts")]
    ForTheTitle,
    #[error("no token of a player, a game server or the title opens this call: it is for service accounts")]
    ForAccounts,
    #[error(
        "no service account opens this call: it is for the session's members, each with the `token` that making or joining gave it"
    )]
    ForMembers,
}

/// A caller who showed who they are.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    key: String,
    rights: Rights,
    scopes: Scopes,
}

/// What a caller's permissions come from.
#[derive(Debug, Clone)]
enum Rights {
    /// A service account's role.
    Role(Role),
    /// It is this game server: it may look at itself and at its own session, and as a process in a session ask for backfill.
    Server(OfServer),
    /// It is whom PlayFab's logins gave an entity token: a player, a game server or the title. It may what it may on that face.
    Entity(Asker),
}

/// What of their role's permissions a caller has.
#[derive(Debug, Clone)]
pub(crate) enum Scopes {
    All,
    Only(Vec<String>),
}

impl Access {
    pub(crate) fn new(credentials: impl IntoIterator<Item = CredentialDeclaration>) -> Self {
        let known = |it: CredentialDeclaration| {
            (it.key.to_string(), Known { secret_sha256: it.secret_sha256, role: it.role })
        };
        Self(RwLock::new(credentials.into_iter().map(known).collect()))
    }

    /// A credential is durable, and may ask.
    pub(crate) fn admit(&self, it: &CredentialDeclaration) {
        let known = Known { secret_sha256: it.secret_sha256, role: it.role };
        self.0.write().unwrap_or_else(PoisonError::into_inner).insert(it.key.to_string(), known);
    }

    /// A credential may ask no longer, and neither may tokens that were bought with it.
    pub(crate) fn revoke(&self, key: &str) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).remove(key);
    }

    /// Whether a credential may ask still.
    pub(crate) fn is_known(&self, key: &str) -> bool {
        self.known(key).is_some()
    }

    fn known(&self, key: &str) -> Option<Known> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(key).copied()
    }

    /// The caller of a key id and its secret. The key id is public; the secret is compared in constant time.
    pub(crate) fn check(&self, key: &str, secret: &str) -> Result<Caller, Denied> {
        if secret.len() > SECRET_BYTES_MAX {
            return Err(Denied::WrongCredentials);
        }
        let known = self.known(key).ok_or(Denied::WrongCredentials)?;
        if bool::from(sha256(secret.as_bytes()).ct_eq(&known.secret_sha256)) {
            Ok(Caller { key: key.to_owned(), rights: Rights::Role(known.role), scopes: Scopes::All })
        } else {
            Err(Denied::WrongCredentials)
        }
    }

    /// The caller of a token: their account must still be there.
    fn of_token(&self, claims: Claims) -> Result<Caller, Denied> {
        let known = self.known(&claims.sub).ok_or(Denied::WrongToken)?;
        let scopes = if claims.scopes.is_empty() { Scopes::All } else { Scopes::Only(claims.scopes) };
        Ok(Caller { key: claims.sub, rights: Rights::Role(known.role), scopes })
    }
}

impl App {
    /// Who asks, by their header; by an entity token, where there is none but that.
    pub(crate) fn caller(&self, headers: &HeaderMap) -> Result<Caller, Denied> {
        let Some(header) = headers.get(AUTHORIZATION) else {
            let token = headers.get(ENTITY_TOKEN).ok_or(Denied::NoCredentials)?;
            return self.of_entity(token.to_str().map_err(|_| Denied::Unreadable)?);
        };
        let header = header.to_str().map_err(|_| Denied::Unreadable)?;
        let (scheme, rest) = header.split_once(' ').ok_or(Denied::Unreadable)?;
        if scheme.eq_ignore_ascii_case("basic") {
            let (key, secret) = basic(rest).ok_or(Denied::Unreadable)?;
            return self.access.check(&key, &secret);
        }
        if scheme.eq_ignore_ascii_case("bearer") {
            let (token, now) = (rest.trim(), self.now());
            if let Some(server) = self.tokens.server(token, now) {
                let key = format!("server:{}", server.server.number());
                return Ok(Caller { key, rights: Rights::Server(server), scopes: Scopes::Only(Vec::new()) });
            }
            let was_member = || self.tokens.was_member(token, now);
            let wrong = || if was_member() { Denied::MemberOver } else { Denied::WrongToken };
            return self.access.of_token(self.tokens.read(token, now).ok_or_else(wrong)?);
        }
        Err(Denied::Unreadable)
    }

    /// Whose entity token this is: of PlayFab's logins, where there are any.
    fn of_entity(&self, token: &str) -> Result<Caller, Denied> {
        let identity = self.identity.as_ref().ok_or(Denied::WrongEntityToken)?;
        let holder =
            identity.read(Purpose::Entity, token, self.now()).map_err(|_| Denied::WrongEntityToken)?;
        let asker = identity.caller(&holder);
        let key = match &asker {
            Asker::Player(player) => format!("player:{player}"),
            Asker::Server(server) => format!("entity:{server}"),
            Asker::Title => format!("entity:{}", holder.entity),
            // A process has its daemon's token, which is shown as a bearer's.
            Asker::Hosted(_) => return Err(Denied::WrongEntityToken),
        };
        Ok(Caller { key, rights: Rights::Entity(asker), scopes: Scopes::Only(Vec::new()) })
    }

    /// Who asks, if they may.
    pub(crate) fn permit(&self, headers: &HeaderMap, permission: Permission) -> Result<(), Denied> {
        self.caller(headers)?.may(permission)
    }

    /// Refuses builds that are to come from a path of this host that no build had before, unless an admin names it.
    pub(super) async fn may_name(&self, caller: &Caller, places: Vec<String>) -> Result<(), Failure> {
        let named = |place: &String| !place.is_empty() && !place.starts_with(REGISTRY);
        if caller.may(Permission::HostPaths).is_ok() {
            return Ok(());
        }
        let fresh = self.catalog.query(move |catalog, _| {
            let had = |place: &String| catalog.builds().any(|build| build.declared.folder == *place);
            places.into_iter().find(|place| named(place) && !had(place))
        });
        match fresh.await? {
            None => Ok(()),
            Some(place) => {
                let detail = format!(
                    "{place} of the control plane's host was no build's before: only an admin names one"
                );
                let fix = "let an admin name it once, or upload the files";
                Err(Failure::new(StatusCode::FORBIDDEN, "MS-A012", detail, fix))
            }
        }
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }
}

impl Caller {
    pub(crate) fn key(&self) -> &str {
        &self.key
    }

    pub(crate) const fn scopes(&self) -> &Scopes {
        &self.scopes
    }

    /// The game server that asks, where one does.
    pub(crate) const fn server(&self) -> Option<ServerId> {
        match &self.rights {
            Rights::Server(shown) => Some(shown.server),
            Rights::Role(_) | Rights::Entity(_) => None,
        }
    }

    /// The process and session that the asking game server's token was given to.
    pub(crate) const fn tenure(&self) -> Option<Tenure> {
        match &self.rights {
            Rights::Server(shown) => shown.tenure,
            Rights::Role(_) | Rights::Entity(_) => None,
        }
    }

    /// The player, game server or title that asks by an entity token, where one does.
    pub(crate) const fn entity(&self) -> Option<&Asker> {
        match &self.rights {
            Rights::Entity(asker) => Some(asker),
            Rights::Role(_) | Rights::Server(_) => None,
        }
    }

    /// # Errors
    /// As [`Self::may`], where they may neither look at every server nor are this one.
    pub(crate) fn may_look_at(&self, server: ServerId) -> Result<(), Denied> {
        if self.server() == Some(server) { Ok(()) } else { self.may(Permission::Read) }
    }

    /// # Errors
    /// Where they may not: [`Denied::Forbidden`] with what a service account lacks, [`Denied::ForAccounts`] to anybody else.
    pub(crate) fn may(&self, permission: Permission) -> Result<(), Denied> {
        let by_role = match self.rights {
            Rights::Role(Role::Admin) => true,
            Rights::Role(Role::Operator) => {
                !matches!(permission, Permission::Admit | Permission::Accounts | Permission::HostPaths)
            }
            Rights::Role(Role::Allocator) => !matches!(
                permission,
                Permission::Operate
                    | Permission::Configure
                    | Permission::Admit
                    | Permission::Accounts
                    | Permission::HostPaths
            ),
            Rights::Role(Role::Viewer) => matches!(
                permission,
                Permission::Read | Permission::AllocationsGet | Permission::AllocationsList
            ),
            Rights::Server(_) | Rights::Entity(_) => return Err(Denied::ForAccounts),
        };
        let scope = permission.scope();
        let by_scope = match &self.scopes {
            Scopes::All => true,
            Scopes::Only(scopes) => scopes.iter().any(|has| has == scope),
        };
        if by_role && by_scope { Ok(()) } else { Err(Denied::Forbidden(scope)) }
    }
}

impl Permission {
    /// The scope that grants it (reference 1.3; those of `mainstay` are ours).
    const fn scope(self) -> &'static str {
        match self {
            Self::AllocationsCreate => "multiplay.allocations.create",
            Self::AllocationsGet => "multiplay.allocations.get",
            Self::AllocationsList => "multiplay.allocations.list",
            Self::AllocationsDelete => "multiplay.allocations.delete",
            Self::Read => "multiplay.machines.list",
            Self::Operate => "mainstay.servers.operate",
            Self::Configure => "mainstay.configure",
            Self::Match => "mainstay.tickets.write",
            Self::Sessions => "mainstay.sessions.write",
            Self::Admit => "mainstay.machines.admit",
            Self::Accounts => "mainstay.accounts",
            Self::HostPaths => "mainstay.hostpaths",
        }
    }
}

impl Denied {
    pub(crate) const fn status(self) -> u16 {
        match self {
            Self::NoCredentials
            | Self::Unreadable
            | Self::WrongCredentials
            | Self::WrongToken
            | Self::WrongEntityToken
            | Self::MemberOver
            | Self::ProcessOver => 401,
            Self::Forbidden(_)
            | Self::ForServers
            | Self::ForTheTitle
            | Self::ForAccounts
            | Self::ForMembers => 403,
        }
    }

    pub(crate) const fn code(self) -> &'static str {
        match self {
            Self::NoCredentials | Self::Unreadable => "MS-A001",
            Self::WrongCredentials
            | Self::WrongToken
            | Self::WrongEntityToken
            | Self::MemberOver
            | Self::ProcessOver => "MS-A002",
            Self::Forbidden(_)
            | Self::ForServers
            | Self::ForTheTitle
            | Self::ForAccounts
            | Self::ForMembers => "MS-A003",
        }
    }

    pub(crate) const fn mend(self) -> &'static str {
        match self {
            Self::NoCredentials | Self::Unreadable => {
                "send `Authorization: Basic` with keyId:secretKey of credentials.json in base64"
            }
            Self::WrongCredentials => "take keyId and secretKey from credentials.json in the data directory",
            Self::WrongToken => "exchange the service account for a new token: POST /auth/v1/token-exchange",
            Self::WrongEntityToken => "log in again, or ask for another token: GetEntityToken",
            Self::MemberOver => "join the session again: POST /v1/sessions/{session}/members",
            Self::ProcessOver => "ask the local daemon for a token anew: GET /token",
            Self::Forbidden(_) => {
                "use a service account with more rights, or ask for a token with this scope"
            }
            Self::ForServers | Self::ForTheTitle | Self::ForAccounts => {
                "who may ask what is in docs/reference/queues.md"
            }
            Self::ForMembers => "who may ask what is in docs/reference/lobby.md",
        }
    }
}

fn basic(encoded: &str) -> Option<(String, String)> {
    let bytes = STANDARD.decode(encoded.trim()).ok()?;
    let pair = String::from_utf8(bytes).ok()?;
    pair.split_once(':').map(|(key, secret)| (key.to_owned(), secret.to_owned()))
}

pub(crate) fn sha256(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}
