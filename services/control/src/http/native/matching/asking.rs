//! Who asks about queues, and how often it may.
//!
//! A service account speaks as the title, for players and games it vouches for. Who shows an entity token of PlayFab's logins (a player,
//! a game server, the title) may what it may on PlayFab's face, as often as there, and both faces count as one. A process hosted here asks
//! for itself by its daemon's token, while it stands.

use mainstay_core::{MatchId, TicketId};
use mainstay_matchmaking::{Caller as Asker, Entity, Kind};

use super::super::super::App;
use super::super::super::access::{Caller, Denied, Permission};
use super::super::super::failure::{Failure, Native};
use super::title;
use crate::allowance::{Allowance, Asked};
use crate::limiter::Exceeded;
use crate::queues::{NotAdmitted, Sent};

/// Who asks.
pub(in crate::http::native) struct Asking<'a> {
    app: &'a App,
    asker: Asker,
    account: Account,
}

/// What its calls are on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Account {
    /// Nothing is counted: a service account is the studio's own, and how often a hosted process asks is judged where it is let in.
    Free,
    /// An entity token.
    Token,
}

impl<'a> Asking<'a> {
    /// A service account that may do so, or anybody by an entity token.
    pub(in crate::http::native) fn by_account_or_token(
        app: &'a App,
        caller: &Caller,
        permission: Permission,
    ) -> Result<Self, Native> {
        if let Some(asker) = caller.entity() {
            return Ok(Self { app, asker: asker.clone(), account: Account::Token });
        }
        caller.may(permission)?;
        Ok(Self { app, asker: Asker::Title, account: Account::Free })
    }

    /// The same, or a process hosted here, while it stands.
    pub(super) async fn by_anybody(
        app: &'a App,
        caller: &Caller,
        permission: Permission,
    ) -> Result<Self, Native> {
        let Some(tenure) = caller.tenure() else { return Self::by_account_or_token(app, caller, permission) };
        match app.queues.hosts().admit(tenure).await {
            Ok(()) => Ok(Self { app, asker: Asker::Hosted(tenure), account: Account::Free }),
            Err(NotAdmitted::Over) => Err(Denied::ProcessOver.into()),
            Err(NotAdmitted::TooOften(exceeded)) => Err(Failure::too_often(&exceeded).into()),
            Err(NotAdmitted::Unanswered(error)) => Err(error.into()),
        }
    }

    /// Anybody but a player: backfill is of servers alone.
    pub(super) async fn by_servers(
        app: &'a App,
        caller: &Caller,
        permission: Permission,
    ) -> Result<Self, Native> {
        let asking = Self::by_anybody(app, caller, permission).await?;
        match asking.asker {
            Asker::Player(_) => Err(Denied::ForServers.into()),
            Asker::Server(_) | Asker::Hosted(_) | Asker::Title => Ok(asking),
        }
    }

    /// A service account that may do so, or the title.
    pub(super) fn by_title(app: &'a App, caller: &Caller, permission: Permission) -> Result<Self, Native> {
        let asking = Self::by_account_or_token(app, caller, permission)?;
        match asking.asker {
            Asker::Title => Ok(asking),
            Asker::Player(_) | Asker::Server(_) | Asker::Hosted(_) => Err(Denied::ForTheTitle.into()),
        }
    }

    pub(super) const fn app(&self) -> &App {
        self.app
    }

    pub(in crate::http::native) const fn asker(&self) -> &Asker {
        &self.asker
    }

    /// Who says something of this player: an account vouches for it.
    pub(super) fn as_player(&self, player: &Entity) -> Asker {
        match self.account {
            Account::Free => Asker::Player(player.clone()),
            Account::Token => self.asker.clone(),
        }
    }

    /// What stands as the creator of a server's tickets.
    pub(super) fn creator(&self) -> Result<Entity, Native> {
        match (&self.asker, self.account, &self.app.identity) {
            (Asker::Server(server), ..) => Ok(server.clone()),
            (Asker::Title, Account::Token, Some(identity)) => {
                identity.title().map_err(|error| Failure::internal(error.to_string()).into())
            }
            (Asker::Title | Asker::Player(_) | Asker::Hosted(_), ..) => Ok(title()),
        }
    }

    /// A look at a ticket.
    pub(super) fn polls(&self, queue: &str, ticket: TicketId) -> Result<(), Native> {
        let charge = |asked: &Asked<'_>, allowance: &Allowance| allowance.poll(asked, self.app.now());
        self.charged(queue, &ticket.to_string(), charge)
            .map_err(|exceeded| Failure::polls_too_often(&exceeded).into())
    }

    /// A word of a backfill ticket's server.
    pub(super) fn renews(&self, queue: &str, ticket: TicketId) -> Result<(), Native> {
        self.calls(queue, &ticket.to_string(), |asked, allowance| allowance.renewal(asked, self.app.now()))
    }

    /// A cancellation of a ticket, or of a player's.
    pub(super) fn cancels(&self, queue: &str, about: &str) -> Result<(), Native> {
        self.calls(queue, about, |asked, allowance| allowance.cancellation(asked, self.app.now()))
    }

    /// A list of a player's tickets of a kind.
    pub(super) fn lists(&self, kind: Kind, queue: &str, player: &Entity) -> Result<(), Native> {
        self.calls(queue, player.as_str(), |asked, allowance| match kind {
            Kind::Ordinary => allowance.list(asked, self.app.now()),
            Kind::Backfill => allowance.list_backfills(asked, self.app.now()),
        })
    }

    /// A look at a match.
    pub(super) fn reads_match(&self, queue: &str, formed: MatchId) -> Result<(), Native> {
        let formed = formed.to_string();
        self.calls(queue, &formed, |asked, allowance| allowance.read_match(asked, self.app.now()))
    }

    /// A look at statistics.
    pub(super) fn looks(&self, queue: &str) -> Result<(), Native> {
        self.calls(queue, "", |asked, allowance| allowance.look(asked, self.app.now()))
    }

    /// A call about what an entity has stored.
    pub(in crate::http::native) fn about_objects(&self, entity: &Entity) -> Result<(), Native> {
        let by = match (&self.asker, self.account) {
            (_, Account::Free) => return Ok(()),
            (Asker::Player(own) | Asker::Server(own), Account::Token) => Some(own),
            (Asker::Title | Asker::Hosted(_), Account::Token) => None,
        };
        let charged = self.app.allowance.about_objects(by, entity, self.app.now());
        charged.map_err(|exceeded| Failure::calls_too_often(&exceeded))?;
        if by.is_none_or(|own| own == entity) { Ok(()) } else { Err(Denied::ForTheTitle.into()) }
    }

    /// These players come to be in a ticket of this kind. Of a player itself alone, whomever it names: others could be kept out by that.
    pub(super) fn enters(&self, kind: Kind, queue: &str, players: &[Sent]) -> Result<(), Native> {
        let (allowance, now) = (&self.app.allowance, self.app.now());
        let charged = self.charges(players);
        let charged = match kind {
            Kind::Ordinary => allowance.membership(queue, charged.into_iter(), now),
            Kind::Backfill => allowance.backfill(queue, self.owner(), charged.into_iter(), now),
        };
        charged.map_err(|exceeded| Failure::calls_too_often(&exceeded).into())
    }

    /// They did not: the queue refused it.
    pub(super) fn does_not_enter(&self, kind: Kind, queue: &str, players: &[Sent]) {
        let (allowance, now) = (&self.app.allowance, self.app.now());
        let charged = self.charges(players);
        match kind {
            Kind::Ordinary => allowance.no_membership(queue, charged.into_iter(), now),
            Kind::Backfill => allowance.no_backfill(queue, self.owner(), charged.into_iter(), now),
        }
    }

    /// Whose backfill tickets are counted: those of an account are the studio's.
    const fn owner(&self) -> &Asker {
        match self.account {
            Account::Free => &Asker::Title,
            Account::Token => &self.asker,
        }
    }

    fn charges<'p>(&'p self, players: &'p [Sent]) -> Vec<&'p Entity> {
        match (&self.asker, self.account) {
            (_, Account::Free) => Vec::new(),
            (Asker::Player(player), Account::Token) => vec![player],
            (Asker::Server(_) | Asker::Hosted(_) | Asker::Title, Account::Token) => {
                players.iter().map(|player| &player.entity).collect()
            }
        }
    }

    fn calls(
        &self,
        queue: &str,
        about: &str,
        charge: impl FnOnce(&Asked<'_>, &Allowance) -> Result<(), Exceeded>,
    ) -> Result<(), Native> {
        self.charged(queue, about, charge).map_err(|exceeded| Failure::calls_too_often(&exceeded).into())
    }

    fn charged(
        &self,
        queue: &str,
        about: &str,
        charge: impl FnOnce(&Asked<'_>, &Allowance) -> Result<(), Exceeded>,
    ) -> Result<(), Exceeded> {
        match self.account {
            Account::Free => Ok(()),
            Account::Token => charge(&Asked { caller: &self.asker, queue, about }, &self.app.allowance),
        }
    }
}
