//! Tokens: who gets one, and for whom.
//!
//! A login writes nothing, so nobody can say whether a player has been here before: `NewlyCreated` is false, and `CreateAccount`
//! changes nothing.

use mainstay_matchmaking::{Caller, Entity};
use mainstay_wire::multiplay::instant;
use mainstay_wire::playfab::EntityKey;
use mainstay_wire::playfab::login::{
    AuthenticateGameServer, AuthenticatedGameServer, EntityLineage, EntityTokenAnswer, GetEntityToken,
    LoginResult, LoginWithCustomId, LoginWithServerCustomId, ValidateEntityToken, ValidatedEntityToken,
};

use super::callers::Shown;
use super::door::Asked;
use super::refusal::Refusal;
use super::{Face, Logins};
use crate::identity::{Holder, Player, Purpose};

/// Longest id that a studio gives a player or a server, in bytes: PlayFab's limit for custom ids.
const CUSTOM_ID_BYTES_MAX: usize = 100;

impl Face {
    /// `LoginWithCustomID`: a player says who it is.
    pub(super) fn login(&self, asked: &Asked, login: &LoginWithCustomId) -> Result<LoginResult, Refusal> {
        match self.logins {
            Logins::Open => {}
            Logins::Vouched => {
                return Err(Refusal::may_not(
                    "players do not log in by themselves where others reach this: let your backend call \
                     /Server/LoginWithServerCustomId with X-SecretKey, and hand the EntityToken on",
                ));
            }
        }
        self.allowance.logins.charge([asked.from], self.now()).map_err(|it| Refusal::rate(&it))?;
        let known = self.identity.title_id();
        if !login.title_id.eq_ignore_ascii_case(known) {
            return Err(Refusal::title(&login.title_id, known));
        }
        self.logged_in("CustomId", login.custom_id.as_deref().unwrap_or_default())
    }

    /// `LoginWithServerCustomId`: the title vouches for a player.
    pub(super) fn login_vouched(&self, asked: &Asked) -> Result<LoginResult, Refusal> {
        self.by_secret(asked)?;
        self.allowance.vouched_logins.charge([asked.from], self.now()).map_err(|it| Refusal::rate(&it))?;
        let login: LoginWithServerCustomId = asked.read()?;
        self.logged_in("ServerCustomId", &login.server_custom_id)
    }

    fn logged_in(&self, field: &str, custom_id: &str) -> Result<LoginResult, Refusal> {
        let Player { account, entity } = self.identity.player(custom(field, custom_id)?)?;
        let holder = Holder { entity, account: Some(account.clone()) };
        let entity_token = self.entity_token_of(&holder)?;
        let session_ticket = self.identity.mint(Purpose::Session, &holder, self.now())?.text;
        Ok(LoginResult { session_ticket, play_fab_id: account, newly_created: false, entity_token })
    }

    /// `GetEntityToken`: by the title's secret, a session ticket, or a token that is to be renewed.
    pub(super) fn entity_token(&self, asked: &Asked) -> Result<EntityTokenAnswer, Refusal> {
        let holder = self.anybody(asked)?;
        let wanted: GetEntityToken = asked.read()?;
        match wanted.entity.filter(|wanted| *wanted != EntityKey::default()) {
            Some(wanted) => self.entity_token_of(&self.related(holder, &wanted)?),
            None => self.entity_token_of(&holder),
        }
    }

    /// Whom a caller gets a token for: itself, or for the title one of its players and game servers (record 0042).
    fn related(&self, holder: Holder, wanted: &EntityKey) -> Result<Holder, Refusal> {
        if wanted.names(&holder.entity) {
            return Ok(holder);
        }
        match (self.identity.caller(&holder), wanted.entity()) {
            (Caller::Title, Some(entity)) if self.identity.could_have_made(&entity) => {
                Ok(Holder { entity, account: None })
            }
            (Caller::Title | Caller::Player(_) | Caller::Server(_) | Caller::Hosted(_), _) => {
                Err(Refusal::may_not(
                    "a token is given for the caller's own entity, and to the title for a title_player_account or game_server \
                     by the id that its login was answered with",
                ))
            }
        }
    }

    fn entity_token_of(&self, holder: &Holder) -> Result<EntityTokenAnswer, Refusal> {
        let now = self.now();
        match self.identity.caller(holder) {
            Caller::Title => {
                self.allowance.title_tokens.charge([()], now).map_err(|it| Refusal::rate(&it))?
            }
            Caller::Player(_) | Caller::Server(_) | Caller::Hosted(_) => {
                self.identity.count(&holder.entity, now)?;
            }
        }
        let token = self.identity.mint(Purpose::Entity, holder, now)?;
        Ok(EntityTokenAnswer {
            entity_token: token.text,
            token_expiration: instant(token.expires),
            entity: EntityKey::of(&holder.entity),
        })
    }

    /// `ValidateEntityToken`: for the title's servers, whom players show their tokens.
    pub(super) async fn validate(&self, asked: &Asked) -> Result<ValidatedEntityToken, Refusal> {
        self.title_only(asked)?;
        let shown: ValidateEntityToken = asked.read()?;
        let holder = match self.asked_about(&shown.entity_token).await? {
            Shown::Entity(holder) => holder,
            Shown::Hosted(tenure) => Holder { entity: Entity::hosted(tenure.server), account: None },
        };
        let is_player = holder.entity.kind() == Entity::PLAYER;
        Ok(ValidatedEntityToken {
            entity: EntityKey::of(&holder.entity),
            lineage: EntityLineage {
                title_id: Some(self.identity.title_id().to_owned()),
                title_player_account_id: is_player.then(|| holder.entity.id().to_owned()),
                master_player_account_id: holder.account,
            },
        })
    }

    /// `AuthenticateGameServerWithCustomId`: a token of its own for each of the title's game servers.
    pub(super) fn game_server(&self, asked: &Asked) -> Result<AuthenticatedGameServer, Refusal> {
        self.title_only(asked)?;
        let wanted: AuthenticateGameServer = asked.read()?;
        let entity = self.identity.game_server(custom("CustomId", &wanted.custom_id)?)?;
        let entity_token = self.entity_token_of(&Holder { entity, account: None })?;
        Ok(AuthenticatedGameServer { entity_token, newly_created: false })
    }
}

fn custom<'a>(field: &str, id: &'a str) -> Result<&'a str, Refusal> {
    if id.is_empty() || id.len() > CUSTOM_ID_BYTES_MAX || id.contains(char::is_control) {
        let message = format!("{} bytes: 1 to {CUSTOM_ID_BYTES_MAX}, without control characters", id.len());
        return Err(Refusal::field(field, message));
    }
    Ok(id)
}
