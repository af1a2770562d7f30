//! Who asks: by entity token, session ticket or the title's secret.

use axum::http::HeaderMap;
use mainstay_matchmaking::{Caller, Entity};

use super::Face;
use super::door::Asked;
use super::refusal::Refusal;
use crate::identity::{Holder, Purpose};

/// Where an entity token stands.
const ENTITY_TOKEN: &str = "x-entitytoken";
/// Where a session ticket stands; PlayFab's own text also calls it the second.
const SESSION: [&str; 2] = ["x-authorization", "x-authentication"];
/// Where the title's secret stands.
const SECRET: &str = "x-secretkey";

/// A game server, or the title.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Server {
    /// As the rules know it.
    pub(super) caller: Caller,
    /// What stands as the creator of its tickets.
    pub(super) entity: Entity,
}

impl Face {
    /// The holder of an entity token.
    pub(super) fn holder(&self, headers: &HeaderMap) -> Result<Holder, Refusal> {
        let token = text(headers, ENTITY_TOKEN).ok_or_else(Refusal::no_token)?;
        self.identity.read(Purpose::Entity, token, self.now()).map_err(Refusal::token)
    }

    /// Who asks for matching.
    pub(super) fn caller(&self, asked: &Asked) -> Result<Caller, Refusal> {
        asked.holder.clone().map(|holder| self.identity.caller(&holder))
    }

    /// A game server or the title, where nobody else may ask.
    pub(super) fn server(&self, asked: &Asked) -> Result<Server, Refusal> {
        let holder = asked.holder.clone()?;
        match self.identity.caller(&holder) {
            caller @ (Caller::Server(_) | Caller::Title) => Ok(Server { caller, entity: holder.entity }),
            Caller::Player(_) => Err(Refusal::players_may_not()),
        }
    }

    /// The title, by its entity token.
    pub(super) fn title_only(&self, asked: &Asked) -> Result<(), Refusal> {
        match self.caller(asked)? {
            Caller::Title => Ok(()),
            Caller::Player(_) | Caller::Server(_) => {
                Err(Refusal::may_not("the title alone makes this call: GetEntityToken with X-SecretKey"))
            }
        }
    }

    /// The title, by its secret.
    pub(super) fn by_secret(&self, asked: &Asked) -> Result<(), Refusal> {
        let secret = text(&asked.headers, SECRET).ok_or_else(Refusal::nobody)?;
        self.check(asked, secret)
    }

    /// Whoever shows anything: the title's secret, a session ticket, or an entity token to be renewed.
    pub(super) fn anybody(&self, asked: &Asked) -> Result<Holder, Refusal> {
        if let Some(secret) = text(&asked.headers, SECRET) {
            self.check(asked, secret)?;
            return Ok(Holder { entity: self.identity.title()?, account: None });
        }
        if let Some(session) = SESSION.iter().find_map(|name| text(&asked.headers, name)) {
            return self.identity.read(Purpose::Session, session, self.now()).map_err(Refusal::session);
        }
        if asked.headers.contains_key(ENTITY_TOKEN) {
            return asked.holder.clone();
        }
        Err(Refusal::nobody())
    }

    fn check(&self, asked: &Asked, secret: &str) -> Result<(), Refusal> {
        if self.identity.is_title_secret(secret) {
            return Ok(());
        }
        self.limits.wrong_secrets.charge([asked.from], self.now()).map_err(|it| Refusal::rate(&it))?;
        tracing::warn!(from = ?asked.from, "the PlayFab face was shown a wrong secret of the title");
        Err(Refusal::secret())
    }
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok().filter(|text| !text.is_empty())
}
