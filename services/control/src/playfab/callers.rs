//! Who asks: by entity token, session ticket or the title's secret.

use axum::http::HeaderMap;
use mainstay_core::Tenure;
use mainstay_matchmaking::{Caller, Entity};

use super::Face;
use super::door::Asked;
use super::refusal::Refusal;
use crate::identity::{Fault, Holder, Purpose};
use crate::queues::NotAdmitted;

/// Where an entity token stands.
const ENTITY_TOKEN: &str = "x-entitytoken";
/// Where a session ticket stands; PlayFab's own text also calls it the second.
const SESSION: [&str; 2] = ["x-authorization", "x-authentication"];
/// Where the title's secret stands.
const SECRET: &str = "x-secretkey";

/// Who showed an entity token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Shown {
    /// An entity that logged in, or that the title vouched for.
    Entity(Holder),
    /// A process hosted here, by its daemon's token; it stood as it was shown.
    Hosted(Tenure),
}

/// A game server, or the title.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Server {
    /// As the rules know it.
    pub(super) caller: Caller,
    /// What stands as the creator of its tickets.
    pub(super) entity: Entity,
}

impl Face {
    /// The holder of an entity token, or the process that its daemon gave one to.
    pub(super) async fn shown(&self, headers: &HeaderMap) -> Result<Shown, Refusal> {
        let shown = self.holder(text(headers, ENTITY_TOKEN).ok_or_else(Refusal::no_token)?)?;
        if let Shown::Hosted(tenure) = shown {
            admitted(self.queues.hosts().admit(tenure).await)?;
        }
        Ok(shown)
    }

    /// Whose a token is that the title asks about: its own call, and none of the game server's.
    pub(super) async fn asked_about(&self, token: &str) -> Result<Shown, Refusal> {
        let shown = self.holder(token)?;
        if let Shown::Hosted(tenure) = shown {
            self.allowance.about_token(tenure.server, self.now()).map_err(|it| Refusal::rate(&it))?;
            admitted(self.queues.hosts().stands(tenure).await)?;
        }
        Ok(shown)
    }

    /// Whose a token says that it is; of a process, whether or not that still stands.
    fn holder(&self, token: &str) -> Result<Shown, Refusal> {
        let fault = match self.identity.read(Purpose::Entity, token, self.now()) {
            Ok(holder) => return Ok(Shown::Entity(holder)),
            Err(fault) => fault,
        };
        let hosted = self.tokens.server(token, self.now()).and_then(|shown| shown.tenure);
        let Some(tenure) = hosted else { return Err(Refusal::token(fault)) };
        Ok(Shown::Hosted(tenure))
    }

    /// Who asks for matching.
    pub(super) fn caller(&self, asked: &Asked) -> Result<Caller, Refusal> {
        Ok(match asked.shown.clone()? {
            Shown::Entity(holder) => self.identity.caller(&holder),
            Shown::Hosted(tenure) => Caller::Hosted(tenure),
        })
    }

    /// A game server or the title, where nobody else may ask.
    pub(super) fn server(&self, asked: &Asked) -> Result<Server, Refusal> {
        let caller = self.caller(asked)?;
        let entity = match &caller {
            Caller::Server(server) => server.clone(),
            Caller::Hosted(tenure) => Entity::hosted(tenure.server),
            Caller::Title => self.identity.title()?,
            Caller::Player(_) => return Err(Refusal::players_may_not()),
        };
        Ok(Server { caller, entity })
    }

    /// The title, by its entity token.
    pub(super) fn title_only(&self, asked: &Asked) -> Result<(), Refusal> {
        match self.caller(asked)? {
            Caller::Title => Ok(()),
            Caller::Player(_) | Caller::Server(_) | Caller::Hosted(_) => {
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
            return match asked.shown.clone()? {
                Shown::Entity(holder) => Ok(holder),
                Shown::Hosted(_) => Err(Refusal::may_not(
                    "a process hosted here is given its tokens by its local daemon: GET /token",
                )),
            };
        }
        Err(Refusal::nobody())
    }

    fn check(&self, asked: &Asked, secret: &str) -> Result<(), Refusal> {
        if self.identity.is_title_secret(secret) {
            return Ok(());
        }
        self.allowance.wrong_secrets.charge([asked.from], self.now()).map_err(|it| Refusal::rate(&it))?;
        tracing::warn!(from = ?asked.from, "the PlayFab face was shown a wrong secret of the title");
        Err(Refusal::secret())
    }
}

/// Whether a process stands that showed its token, or whose token was shown.
fn admitted(is: Result<(), NotAdmitted>) -> Result<(), Refusal> {
    is.map_err(|not| match not {
        NotAdmitted::Over => Refusal::token(Fault::Expired),
        NotAdmitted::TooOften(exceeded) => Refusal::matching_rate(&exceeded),
        NotAdmitted::Unanswered(error) => error.into(),
    })
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok().filter(|text| !text.is_empty())
}
