//! How often players, game servers and the title may call what, by their entity tokens: on whichever face, and on both together. Where PlayFab publishes a limit it is that one, but for three (record 0041): polls, of which its pages
//! disagree; what servers do, since the published limits of servers make games that are always open impossible; and statistics, which are
//! live here.

use std::hash::Hash;

use mainstay_core::{ServerId, Tenure, Timestamp};
use mainstay_matchmaking::{Caller, Entity};

use crate::limiter::{Exceeded, Limit};

/// Tickets that a player comes to be in, a minute and queue (PlayFab's `TicketMembershipsPerMinute`: "a user is charged when a
/// ticket with them in it is created").
const MEMBERSHIPS: u32 = 5;
/// Tickets a minute that a queue refuses and that are not charged for, of one player in a queue: from then on they are, so that nobody
/// has rules judged for ever.
const REFUSED: u32 = 30;
/// Polls of tickets a minute: every six seconds, as clients are told (record 0041). A player's in a queue; a server's of one ticket.
const POLLS: u32 = 10;
/// Renewals a minute of one backfill ticket's lease beside looks at it: the shortest lease lasts a second, and half of it may be lost on the
/// way.
const RENEWALS: u32 = 120;
/// Lists of a player's tickets a minute (`ListTicketsForPlayerPerMinute`).
const LISTS: u32 = 3;
/// Lists of a player's backfill tickets a minute (`ServerBackfillListTicketsForPlayerPerMinute`), counted apart.
const BACKFILL_LISTS: u32 = 3;
/// Reads of matches a minute: a player's in a queue (`MatchGetsPerMinute`).
const MATCHES: u32 = 3;
/// A server's of one match (PlayFab has 100 for all matches of a title).
const MATCHES_BY_SERVERS: u32 = 100;
/// Backfill tickets of the same player, and of the same game server, a minute and queue: a game that fills one player at a time, each within a second. PlayFab's 5
/// are its users' most frequent complaint.
const BACKFILLS: u32 = 60;
/// Looks at statistics a minute (`QueueStatisticGetsPerMinute` is 1; they are live here).
const STATISTICS: u32 = 6;
/// Cancellations a minute: each is a write. Of the same player, or of one ticket by a server.
const CANCELLATIONS: u32 = 10;
/// Objects stored or read a minute by one entity, or by the title, for one entity.
const OBJECTS: u32 = 30;
/// Looks by the title at the token of one game server hosted here, a minute: as many as that server's own calls. Each asks its fleet.
const TOKENS: u32 = 300;
/// Logins a minute of one address, where players log in by themselves: every player of a machine in the making comes from one.
const LOGINS: u32 = 3_000;
/// Logins a minute that one address vouches for by the title's secret: a studio's backend logs all its players in, a thousand a second.
const VOUCHED_LOGINS: u32 = 60_000;
/// Tokens of the title itself, a minute: stock game servers ask for one at every start, and a whole fleet may start anew at once.
const TITLE_TOKENS: u32 = 6_000;
/// Tries with a wrong secret a minute of one address: 256 random bits are not guessed, but each try is noted in the log.
const WRONG_SECRETS: u32 = 30;

/// Every limit, and who has used how much of it.
#[derive(Debug)]
pub(crate) struct Allowance {
    memberships: Limit,
    refused: Limit,
    polls: Limit,
    renewals: Limit,
    lists: Limit,
    backfill_lists: Limit,
    matches: Limit,
    matches_by_servers: Limit,
    backfills: Limit,
    statistics: Limit,
    cancellations: Limit,
    /// Objects, by entity.
    objects: Limit,
    /// The title's looks at tokens, by game server.
    tokens: Limit,
    /// Logins, by address.
    pub(crate) logins: Limit,
    /// Logins that the title vouches for, by address.
    pub(crate) vouched_logins: Limit,
    /// The title's own tokens.
    pub(crate) title_tokens: Limit,
    /// Wrong secrets, by address.
    pub(crate) wrong_secrets: Limit,
}

impl Allowance {
    pub(crate) fn new() -> Self {
        Self {
            memberships: Limit::new("tickets of one player in a queue", MEMBERSHIPS),
            refused: Limit::new("refused tickets of one player in a queue", REFUSED),
            polls: Limit::new("polls", POLLS),
            renewals: Limit::new("renewals of one lease", RENEWALS),
            lists: Limit::new("lists of tickets", LISTS),
            backfill_lists: Limit::new("lists of backfill tickets", BACKFILL_LISTS),
            matches: Limit::new("reads of matches", MATCHES),
            matches_by_servers: Limit::new("reads of one match", MATCHES_BY_SERVERS),
            backfills: Limit::new("backfill tickets of one player or game server in a queue", BACKFILLS),
            statistics: Limit::new("looks at a queue's statistics", STATISTICS),
            cancellations: Limit::new("cancellations", CANCELLATIONS),
            objects: Limit::new("calls about one entity's objects", OBJECTS),
            tokens: Limit::new("looks at the token of one game server", TOKENS),
            logins: Limit::new("logins of one address", LOGINS),
            vouched_logins: Limit::new("logins vouched for from one address", VOUCHED_LOGINS),
            title_tokens: Limit::new("tokens of the title", TITLE_TOKENS),
            wrong_secrets: Limit::new("wrong secrets of one address", WRONG_SECRETS),
        }
    }

    /// A call about what an entity has stored, by some entity, or by the title: whoever asks for its own keeps the title from nothing.
    ///
    /// # Errors
    /// As [`Limit::charge`].
    pub(crate) fn about_objects(
        &self,
        by: Option<&Entity>,
        of: &Entity,
        now: Timestamp,
    ) -> Result<(), Exceeded> {
        self.objects.charge([(by, of)], now)
    }

    /// The title asks whose a token is, which is that of a game server hosted here.
    pub(crate) fn about_token(&self, server: ServerId, now: Timestamp) -> Result<(), Exceeded> {
        self.tokens.charge([server], now)
    }

    /// These players come to be in a ticket.
    pub(crate) fn membership<'a>(
        &self,
        queue: &str,
        players: impl Iterator<Item = &'a Entity>,
        now: Timestamp,
    ) -> Result<(), Exceeded> {
        self.memberships.charge(players.map(|player| (queue, player)), now)
    }

    /// These players come to be in a backfill ticket of whoever asks. A game server is charged too, hosted here or not, since a game may have nobody: how
    /// many the title makes is the studio's own affair.
    pub(crate) fn backfill<'a>(
        &self,
        queue: &str,
        by: &'a Caller,
        players: impl Iterator<Item = &'a Entity>,
        now: Timestamp,
    ) -> Result<(), Exceeded> {
        self.backfills.charge(payers(by, players).map(|payer| (queue, payer)), now)
    }

    /// These players did not come to be in a ticket that they were charged for: its queue refused it.
    pub(crate) fn no_membership<'a>(
        &self,
        queue: &str,
        players: impl Iterator<Item = &'a Entity> + Clone,
        now: Timestamp,
    ) {
        self.give_back(&self.memberships, players.map(|player| (queue, player)), now);
    }

    /// Nor in a backfill ticket.
    pub(crate) fn no_backfill<'a>(
        &self,
        queue: &str,
        by: &'a Caller,
        players: impl Iterator<Item = &'a Entity> + Clone,
        now: Timestamp,
    ) {
        self.give_back(&self.backfills, payers(by, players).map(|payer| (queue, payer)), now);
    }

    fn give_back<K: Hash + Copy>(&self, limit: &Limit, charged: impl Iterator<Item = K>, now: Timestamp) {
        for one in charged {
            if self.refused.charge([one], now).is_ok() {
                limit.give_back([one]);
            }
        }
    }

    /// A look at a ticket.
    pub(crate) fn poll(&self, asked: &Asked<'_>, now: Timestamp) -> Result<(), Exceeded> {
        self.polls.charge([asked.one()], now)
    }

    /// A server says of its backfill ticket that it goes on, where it does not look at it.
    pub(crate) fn renewal(&self, asked: &Asked<'_>, now: Timestamp) -> Result<(), Exceeded> {
        self.renewals.charge([asked.one()], now)
    }

    /// A cancellation.
    pub(crate) fn cancellation(&self, asked: &Asked<'_>, now: Timestamp) -> Result<(), Exceeded> {
        self.cancellations.charge([asked.one()], now)
    }

    /// A list of a player's tickets.
    pub(crate) fn list(&self, asked: &Asked<'_>, now: Timestamp) -> Result<(), Exceeded> {
        self.lists.charge([asked.one()], now)
    }

    /// A list of a player's backfill tickets.
    pub(crate) fn list_backfills(&self, asked: &Asked<'_>, now: Timestamp) -> Result<(), Exceeded> {
        self.backfill_lists.charge([asked.one()], now)
    }

    /// A look at a match.
    pub(crate) fn read_match(&self, asked: &Asked<'_>, now: Timestamp) -> Result<(), Exceeded> {
        let limit = match asked.caller {
            Caller::Player(_) => &self.matches,
            Caller::Server(_) | Caller::Hosted(_) | Caller::Title => &self.matches_by_servers,
        };
        limit.charge([asked.one()], now)
    }

    /// A look at statistics.
    pub(crate) fn look(&self, asked: &Asked<'_>, now: Timestamp) -> Result<(), Exceeded> {
        self.statistics.charge([asked.one()], now)
    }
}

/// Whose calls are counted together.
#[derive(Debug, Clone, Copy, Hash)]
enum Payer<'a> {
    /// A player, or a server that runs elsewhere.
    Entity(&'a Entity),
    /// A process that is hosted here.
    Hosted(Tenure),
    /// Whoever shows the title's token.
    Title,
}

/// Who is charged for a backfill ticket of these players.
fn payers<'a>(by: &'a Caller, players: impl Iterator<Item = &'a Entity>) -> impl Iterator<Item = Payer<'a>> {
    let server = match by {
        Caller::Server(server) => Some(Payer::Entity(server)),
        Caller::Hosted(tenure) => Some(Payer::Hosted(*tenure)),
        Caller::Player(_) | Caller::Title => None,
    };
    players.map(Payer::Entity).chain(server)
}

/// Who asks about what, in a queue there is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked<'a> {
    pub(crate) caller: &'a Caller,
    pub(crate) queue: &'a str,
    /// The ticket, match or player it is about.
    pub(crate) about: &'a str,
}

impl<'a> Asked<'a> {
    /// What is charged as one: all that a player asks of a queue, and what servers ask about one thing, since they ask for many.
    const fn one(&self) -> (Payer<'a>, &'a str, &'a str) {
        match self.caller {
            Caller::Player(player) => (Payer::Entity(player), self.queue, ""),
            Caller::Server(server) => (Payer::Entity(server), self.queue, self.about),
            Caller::Hosted(tenure) => (Payer::Hosted(*tenure), self.queue, self.about),
            Caller::Title => (Payer::Title, self.queue, self.about),
        }
    }
}

#[cfg(test)]
mod tests {
    use mainstay_core::{ClaimId, FleetNumber};

    use super::*;

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_unix_ms(1_000_000 + seconds * 1_000)
    }

    /// How often something is let in at one moment.
    fn at_once(mut ask: impl FnMut() -> Result<(), Exceeded>) -> u32 {
        (0..).find(|_| ask().is_err()).unwrap_or(u32::MAX)
    }

    /// Reference 2.8 (PlayFab's tier limits), and where we differ record 0041 and `docs/reference/playfab.md`: the numbers that are told.
    #[test]
    fn the_limits_are_those_that_are_published() {
        let (player, limits) = (Entity::new(Entity::PLAYER, "A").expect("an id"), Allowance::new());
        let (by_player, by_title) = (Caller::Player(player.clone()), Caller::Title);
        let of = |caller| Asked { caller, queue: "q", about: "one" };
        let players = || std::iter::once(&player);
        assert_eq!(at_once(|| limits.membership("q", players(), at(0))), 5);
        assert_eq!(at_once(|| limits.membership("other", players(), at(0))), 5, "each queue by itself");
        assert_eq!(at_once(|| limits.membership("q", players(), at(60))), 5, "a minute later");
        assert_eq!(at_once(|| limits.backfill("q", &by_title, players(), at(0))), 60);
        let (server, nobody) = (Entity::new(Entity::GAME_SERVER, "S").expect("an id"), std::iter::empty);
        assert_eq!(
            at_once(|| limits.backfill("q", &Caller::Server(server.clone()), nobody(), at(0))),
            60,
            "of nobody"
        );
        let process = |server| {
            let server = ServerId::of(FleetNumber::new(1).expect("a number"), server);
            Caller::Hosted(Tenure { server, session: ClaimId(uuid::Uuid::nil()), run: Some(1) })
        };
        let (hosted, other_hosted) = (process(1), process(2));
        assert_eq!(at_once(|| limits.backfill("q", &hosted, nobody(), at(0))), 60);
        for caller in [&by_player, &by_title, &hosted, &other_hosted] {
            assert_eq!(at_once(|| limits.poll(&of(caller), at(0))), 10);
            assert_eq!(at_once(|| limits.renewal(&of(caller), at(0))), 120);
            assert_eq!(at_once(|| limits.list(&of(caller), at(0))), 3);
            assert_eq!(at_once(|| limits.list_backfills(&of(caller), at(0))), 3, "counted apart");
            assert_eq!(at_once(|| limits.cancellation(&of(caller), at(0))), 10);
            assert_eq!(at_once(|| limits.look(&of(caller), at(0))), 6);
        }
        assert_eq!(at_once(|| limits.read_match(&of(&by_player), at(0))), 3);
        assert_eq!(at_once(|| limits.read_match(&of(&by_title), at(0))), 100);
        // A server's are of one ticket or match, a player's of all.
        let another = |caller| Asked { caller, queue: "q", about: "another" };
        assert_eq!(at_once(|| limits.poll(&another(&by_title), at(0))), 10);
        assert_eq!(at_once(|| limits.poll(&another(&by_player), at(0))), 0);
        let (ann, bea) = (Entity::kept("title_player_account!ann"), Entity::kept("title_player_account!bea"));
        for by in [Some(&ann), Some(&bea), None] {
            assert_eq!(
                at_once(|| limits.about_objects(by, &ann, at(0))),
                30,
                "{by:?}: nobody uses up another's"
            );
        }
        let token_of = |server| ServerId::of(FleetNumber::new(1).expect("a number"), server);
        assert_eq!(at_once(|| limits.about_token(token_of(1), at(0))), 300);
        assert_eq!(at_once(|| limits.about_token(token_of(2), at(0))), 300, "each server by itself");
        assert_eq!(at_once(|| limits.wrong_secrets.charge([1], at(0))), 30);
        assert_eq!(at_once(|| limits.logins.charge([1], at(0))), 3_000);
        assert_eq!(at_once(|| limits.title_tokens.charge([()], at(0))), 6_000);
        assert_eq!(at_once(|| limits.vouched_logins.charge([1], at(0))), 60_000);
    }

    /// Of refused tickets so many are not charged for, and then they are.
    #[test]
    fn what_a_queue_refuses_is_given_back_up_to_a_limit() {
        let (player, limits) = (Entity::new(Entity::PLAYER, "A").expect("an id"), Allowance::new());
        let players = || std::iter::once(&player);
        let refused = || {
            limits.membership("q", players(), at(0))?;
            limits.no_membership("q", players(), at(0));
            Ok(())
        };
        assert_eq!(at_once(refused), REFUSED + MEMBERSHIPS);
    }
}
