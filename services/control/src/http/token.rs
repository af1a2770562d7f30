//! The token exchange: a service account for a short-lived token (reference 1.3).

use std::sync::Arc;
use std::time::Duration;

use axum::extract::rejection::BytesRejection;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::{Json, body::Bytes};
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use mainstay_core::{ClaimId, FleetId, ServerId, SessionId, Tenure, Timestamp};
use mainstay_lobby::{PeerKey, Player};
use mainstay_wire::multiplay::{ErrorBody, TOKEN_BODY_BYTES_MAX, TokenAnswer, TokenRequest};
use serde::{Deserialize, Serialize};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

use super::App;
use super::access::{Denied, sha256};
use super::failure::Unity;
use super::files::Sealed;

/// How long a game server's token lasts: its daemon hands each out for half of it, and whoever is shown one looks at it
/// within seconds.
const SERVER_TOKEN_LIFE: Duration = Duration::from_secs(600);
/// How long the token of a seat lasts: as long as its player may come again after a crash of its own. The seat itself is kept for less.
const SEAT_TOKEN_LIFE: Duration = Duration::from_hours(24);
/// How long a token lasts (stock clients renew theirs an hour after they got it, or by `exp`).
const TOKEN_LIFE: Duration = Duration::from_secs(3600);

pub(super) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new().routes(routes!(exchange))
}

/// What tokens are signed and checked with.
pub(crate) struct TokenKeys {
    sign: EncodingKey,
    check: DecodingKey,
    validation: Validation,
}

/// What a token says.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Claims {
    /// The service account's key id.
    pub(crate) sub: String,
    exp: u64,
    iat: u64,
    project_id: Uuid,
    environment_id: Uuid,
    /// Empty for everything the account may.
    pub(crate) scopes: Vec<String>,
}

/// What a game server's own token says. It has no scopes, so that it is none of the exchange's tokens.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ServerClaims {
    /// `server:` and the server's id.
    sub: String,
    exp: u64,
    iat: u64,
    project_id: Uuid,
    environment_id: Uuid,
    /// Its fleet.
    fleet_id: Uuid,
    /// The server, as its `server.json` has it.
    server_id: u64,
    /// Of a process in a session: what the server is taken for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    session: Option<Uuid>,
    /// And which process, as its machine counts starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    run: Option<u64>,
}

/// What a member's token says. It has no account and no server in it, so that it is none of the others.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct MemberClaims {
    /// Of which session.
    member_of: Uuid,
    /// The key of its process, in base64url.
    peer: String,
    exp: u64,
    iat: u64,
}

/// Whose a member's token is. Whether it is a member still is the lobby's to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OfMember {
    /// Of which session.
    pub(crate) session: SessionId,
    /// The key of its process.
    pub(crate) peer: PeerKey,
}

/// What the token of a seat says: of a player whom a match has given one.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct SeatClaims {
    /// In which session.
    seat_in: Uuid,
    player: String,
    exp: u64,
    iat: u64,
}

/// Whose a seat's token is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OfSeat {
    /// In which session.
    pub(crate) session: SessionId,
    /// Who may take it.
    pub(crate) player: Player,
}

/// Whose a game server's token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OfServer {
    /// The server.
    pub(crate) server: ServerId,
    /// The process it was given to and its session, where it had one; whether these stand still is the fleet's to say.
    pub(crate) tenure: Option<Tenure>,
}

/// Whose tokens a control plane makes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Issuer {
    pub(crate) project: Uuid,
    pub(crate) environment: Uuid,
}

impl TokenKeys {
    /// Keys that another control plane with the same secret has, too, so that tokens outlive a restart.
    pub(crate) fn of(secret: &str) -> Self {
        let key = sha256(format!("mainstay token exchange\0{secret}").as_bytes());
        let mut validation = Validation::new(Algorithm::HS256);
        // Compared with the one clock, in `read`.
        validation.validate_exp = false;
        validation.required_spec_claims.clear();
        Self { sign: EncodingKey::from_secret(&key), check: DecodingKey::from_secret(&key), validation }
    }

    fn sign(&self, claims: &Claims) -> Result<String, jsonwebtoken::errors::Error> {
        jsonwebtoken::encode(&Header::new(Algorithm::HS256), claims, &self.sign)
    }

    /// A link's token. It has no account in it, so that it is none of the exchange's tokens.
    pub(super) fn seal(&self, sealed: &Sealed) -> Result<String, jsonwebtoken::errors::Error> {
        jsonwebtoken::encode(&Header::new(Algorithm::HS256), sealed, &self.sign)
    }

    /// What a link's token says, while it lasts.
    pub(super) fn open(&self, token: &str, now: Timestamp) -> Option<Sealed> {
        let sealed = jsonwebtoken::decode::<Sealed>(token, &self.check, &self.validation).ok()?.claims;
        (now.unix_ms() / 1000 < sealed.exp).then_some(sealed)
    }

    /// What a game server shows to prove that it is its server, and how long that is good.
    pub(crate) fn of_server(
        &self,
        issuer: Issuer,
        fleet: FleetId,
        OfServer { server, tenure }: OfServer,
        now: Timestamp,
    ) -> Result<(String, Duration), jsonwebtoken::errors::Error> {
        let claims = ServerClaims {
            sub: format!("server:{}", server.number()),
            exp: (now + SERVER_TOKEN_LIFE).unix_ms() / 1000,
            iat: now.unix_ms() / 1000,
            project_id: issuer.project,
            environment_id: issuer.environment,
            fleet_id: fleet.0,
            server_id: server.number(),
            session: tenure.map(|tenure| tenure.session.0),
            run: tenure.and_then(|tenure| tenure.run),
        };
        let token = jsonwebtoken::encode(&Header::new(Algorithm::HS256), &claims, &self.sign)?;
        Ok((token, SERVER_TOKEN_LIFE))
    }

    /// The server whose token this is, while it lasts.
    pub(crate) fn server(&self, token: &str, now: Timestamp) -> Option<OfServer> {
        let claims = jsonwebtoken::decode::<ServerClaims>(token, &self.check, &self.validation).ok()?.claims;
        if now.unix_ms() / 1000 >= claims.exp {
            return None;
        }
        let server = ServerId::from_number(claims.server_id).ok()?;
        let tenure = claims.session.zip(claims.run);
        let tenure =
            tenure.map(|(session, run)| Tenure { server, session: ClaimId(session), run: Some(run) });
        Some(OfServer { server, tenure })
    }

    /// What a member of a lobby's session shows the lobby.
    pub(crate) fn of_member(
        &self,
        OfMember { session, peer }: OfMember,
        now: Timestamp,
        expires: Timestamp,
    ) -> Result<String, jsonwebtoken::errors::Error> {
        let claims = MemberClaims {
            member_of: session.0,
            peer: mainstay_wire::lobby::text(&peer.0),
            exp: expires.unix_ms() / 1000,
            iat: now.unix_ms() / 1000,
        };
        jsonwebtoken::encode(&Header::new(Algorithm::HS256), &claims, &self.sign)
    }

    /// The member whose token this is, while it lasts.
    pub(crate) fn member(&self, token: &str, now: Timestamp) -> Option<OfMember> {
        let claims = jsonwebtoken::decode::<MemberClaims>(token, &self.check, &self.validation).ok()?.claims;
        let peer = mainstay_wire::lobby::bytes(&claims.peer).map(PeerKey)?;
        let is_good = now.unix_ms() / 1000 < claims.exp;
        is_good.then_some(OfMember { session: SessionId(claims.member_of), peer })
    }

    /// Whether it was a member's token, and has run out.
    pub(crate) fn was_member(&self, token: &str, now: Timestamp) -> bool {
        self.member(token, now).is_none() && self.member(token, Timestamp::EPOCH).is_some()
    }

    /// What the player of a match shows to come into its session.
    pub(crate) fn of_seat(
        &self,
        OfSeat { session, player }: OfSeat,
        now: Timestamp,
    ) -> Result<String, jsonwebtoken::errors::Error> {
        let claims = SeatClaims {
            seat_in: session.0,
            player: player.to_string(),
            exp: (now + SEAT_TOKEN_LIFE).unix_ms() / 1000,
            iat: now.unix_ms() / 1000,
        };
        jsonwebtoken::encode(&Header::new(Algorithm::HS256), &claims, &self.sign)
    }

    /// The seat whose token this is, while it lasts.
    pub(crate) fn seat(&self, token: &str, now: Timestamp) -> Option<OfSeat> {
        let claims = jsonwebtoken::decode::<SeatClaims>(token, &self.check, &self.validation).ok()?.claims;
        let is_good = now.unix_ms() / 1000 < claims.exp;
        let player = Player(claims.player.into());
        is_good.then_some(OfSeat { session: SessionId(claims.seat_in), player })
    }

    /// What a token of ours says, while it lasts.
    pub(super) fn read(&self, token: &str, now: Timestamp) -> Option<Claims> {
        let claims = jsonwebtoken::decode::<Claims>(token, &self.check, &self.validation).ok()?.claims;
        (now.unix_ms() / 1000 < claims.exp).then_some(claims)
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Asked {
    project_id: Option<Uuid>,
    environment_id: Option<Uuid>,
}

/// A service account for a token that lasts an hour; in Multiplay's shape. The keys may come in the body instead of a header.
#[utoipa::path(
    post,
    operation_id = "exchangeToken",
    path = "/auth/v1/token-exchange",
    tag = "service accounts",
    params(
        ("projectId" = Option<String>, Query, description = "Ours, or left out"),
        ("environmentId" = Option<String>, Query, description = "Ours, or left out"),
    ),
    request_body = TokenRequest,
    security(("basic" = []), ()),
    responses(
        (status = 201, description = "The token", body = TokenAnswer),
        (status = 400, description = "What was sent cannot be read", body = ErrorBody),
        (status = 401, description = "Nobody shows who they are", body = ErrorBody),
        (status = 404, description = "The project or environment is another", body = ErrorBody),
    ),
)]
async fn exchange(
    State(app): State<Arc<App>>,
    asked: Result<Query<Asked>, axum::extract::rejection::QueryRejection>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Unity> {
    let body = body.map_err(Unity::body)?;
    if body.len() > TOKEN_BODY_BYTES_MAX {
        return Err(Unity::body_too_large(body.len(), TOKEN_BODY_BYTES_MAX));
    }
    let request =
        TokenRequest::read(&body).map_err(|error| Unity::malformed::<TokenRequest>(&error, &body))?;
    let caller = match (&request.api_key_public_identifier, &request.secret) {
        (Some(key), Some(secret)) => app.access.check(key, secret)?,
        (Some(_), None) | (None, Some(_)) | (None, None) => app.caller(&headers)?,
    };
    let Query(asked) = asked.map_err(|error| Unity::bad_query(&error.body_text()))?;
    // Some stock clients name the project alone; another project than ours does not exist here.
    let known = asked.project_id.is_none_or(|project| project == app.project)
        && asked.environment_id.is_none_or(|environment| environment == app.environment);
    if !known {
        return Err(Unity::unknown_project());
    }
    // A token buys no more than what it was bought with.
    caller.may_exchange()?;
    let now = app.now();
    let claims = Claims {
        sub: caller.key().to_owned(),
        exp: (now + TOKEN_LIFE).unix_ms() / 1000,
        iat: now.unix_ms() / 1000,
        project_id: app.project,
        environment_id: app.environment,
        scopes: request.scopes,
    };
    let access_token = app.tokens.sign(&claims).map_err(|error| Unity::bug(&error))?;
    Ok((StatusCode::CREATED, Json(TokenAnswer { access_token })).into_response())
}

impl super::access::Caller {
    /// A token is bought with a service account, never with another token.
    fn may_exchange(&self) -> Result<(), Denied> {
        match self.scopes() {
            super::access::Scopes::All => Ok(()),
            super::access::Scopes::Only(_) => Err(Denied::Forbidden("a service account")),
        }
    }
}
