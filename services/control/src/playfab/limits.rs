//! How often who may call what. Where PlayFab publishes a limit it is that one, but for two: polls (its pages disagree, record 0041),
//! and what servers do, since the published limits of servers make games that are always open impossible.

use mainstay_core::Timestamp;
use mainstay_matchmaking::{Caller, Entity};

use crate::limiter::{Exceeded, Limit};

/// Tickets that a player comes to be in, a minute and queue (PlayFab's `TicketMembershipsPerMinute`: "a user is charged when a
/// ticket with them in it is created").
const MEMBERSHIPS: u32 = 5;
/// Polls of tickets a minute: every six seconds, as clients are told (record 0041). A player's in a queue; a server's of one ticket.
const POLLS: u32 = 10;
/// Lists of a player's tickets a minute (`ListTicketsForPlayerPerMinute`).
const LISTS: u32 = 3;
/// Reads of matches a minute: a player's in a queue (`MatchGetsPerMinute`).
const MATCHES: u32 = 3;
/// A server's of one match (PlayFab has 100 for all matches of a title).
const MATCHES_BY_SERVERS: u32 = 100;
/// Backfill tickets of the same player a minute and queue: a game that fills one player at a time, each within a second. PlayFab's 5
/// are its users' most frequent complaint.
const BACKFILLS: u32 = 60;
/// Looks at statistics a minute (`QueueStatisticGetsPerMinute` is 1; they are live here).
const STATISTICS: u32 = 6;
/// Cancellations a minute: each is a write. Of the same player, or of one ticket by a server.
const CANCELLATIONS: u32 = 10;
/// Objects stored or read a minute by one entity for one entity.
const OBJECTS: u32 = 30;
/// Logins a minute of one address, where players log in by themselves: every player of a machine in the making comes from one.
const LOGINS: u32 = 3_000;
/// Tries with a wrong secret a minute of one address: 256 random bits are not guessed, but each try is noted in the log.
const WRONG_SECRETS: u32 = 30;

/// Every limit, and who has used how much of it.
#[derive(Debug)]
pub(super) struct Limits {
    memberships: Limit,
    polls: Limit,
    lists: Limit,
    matches: Limit,
    matches_by_servers: Limit,
    backfills: Limit,
    statistics: Limit,
    cancellations: Limit,
    /// Objects, by entity.
    pub(super) objects: Limit,
    /// Logins, by address.
    pub(super) logins: Limit,
    /// Wrong secrets, by address.
    pub(super) wrong_secrets: Limit,
}

impl Limits {
    pub(super) fn new() -> Self {
        Self {
            memberships: Limit::new("tickets of one player in a queue", MEMBERSHIPS),
            polls: Limit::new("polls", POLLS),
            lists: Limit::new("lists of tickets", LISTS),
            matches: Limit::new("reads of matches", MATCHES),
            matches_by_servers: Limit::new("reads of one match", MATCHES_BY_SERVERS),
            backfills: Limit::new("backfill tickets of one player in a queue", BACKFILLS),
            statistics: Limit::new("looks at a queue's statistics", STATISTICS),
            cancellations: Limit::new("cancellations", CANCELLATIONS),
            objects: Limit::new("calls about one entity's objects", OBJECTS),
            logins: Limit::new("logins of one address", LOGINS),
            wrong_secrets: Limit::new("wrong secrets of one address", WRONG_SECRETS),
        }
    }

    /// These players come to be in a ticket.
    pub(super) fn membership<'a>(
        &self,
        queue: &str,
        players: impl Iterator<Item = &'a Entity>,
        now: Timestamp,
    ) -> Result<(), Exceeded> {
        self.memberships.charge(players.map(|player| (queue, player)), now)
    }

    /// These players come to be in a backfill ticket.
    pub(super) fn backfill<'a>(
        &self,
        queue: &str,
        players: impl Iterator<Item = &'a Entity>,
        now: Timestamp,
    ) -> Result<(), Exceeded> {
        self.backfills.charge(players.map(|player| (queue, player)), now)
    }

    /// A look at a ticket.
    pub(super) fn poll(&self, asked: &Asked<'_>, now: Timestamp) -> Result<(), Exceeded> {
        self.polls.charge([asked.one()], now)
    }

    /// A cancellation.
    pub(super) fn cancellation(&self, asked: &Asked<'_>, now: Timestamp) -> Result<(), Exceeded> {
        self.cancellations.charge([asked.one()], now)
    }

    /// A list of a player's tickets.
    pub(super) fn list(&self, asked: &Asked<'_>, now: Timestamp) -> Result<(), Exceeded> {
        self.lists.charge([asked.one()], now)
    }

    /// A look at a match.
    pub(super) fn read_match(&self, asked: &Asked<'_>, now: Timestamp) -> Result<(), Exceeded> {
        let limit = match asked.caller {
            Caller::Player(_) => &self.matches,
            Caller::Server(_) | Caller::Hosted(_) | Caller::Title => &self.matches_by_servers,
        };
        limit.charge([asked.one()], now)
    }

    /// A look at statistics.
    pub(super) fn look(&self, asked: &Asked<'_>, now: Timestamp) -> Result<(), Exceeded> {
        self.statistics.charge([asked.one()], now)
    }
}

/// Who asks about what, in a queue there is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asked<'a> {
    pub(super) caller: &'a Caller,
    pub(super) queue: &'a str,
    /// The ticket, match or player it is about.
    pub(super) about: &'a str,
}

impl<'a> Asked<'a> {
    /// What is charged as one: all that a player asks of a queue, and what servers ask about one thing, since they ask for many.
    fn one(&self) -> (Option<&'a Entity>, &'a str, &'a str) {
        match self.caller {
            Caller::Player(player) => (Some(player), self.queue, ""),
            Caller::Server(server) => (Some(server), self.queue, self.about),
            Caller::Hosted(_) | Caller::Title => (None, self.queue, self.about),
        }
    }
}
