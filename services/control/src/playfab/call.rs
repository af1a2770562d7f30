//! The calls there are, and where.

/// Writes the enum of the calls with their paths.
macro_rules! calls {
    ($($(#[$doc:meta])* $call:ident = $path:literal,)*) => {
        /// A call.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(super) enum Call {
            $($(#[$doc])* $call,)*
        }

        impl Call {
            /// Where it is, as metrics name it.
            pub(super) const fn route(self) -> &'static str {
                match self {
                    $(Self::$call => concat!("/", $path),)*
                }
            }

            fn at(path: &str) -> Option<Self> {
                match path {
                    $($path => Some(Self::$call),)*
                    _ => None,
                }
            }
        }
    };
}

calls! {
    /// A player logs in by the studio's id of it.
    LoginWithCustomId = "Client/LoginWithCustomID",
    /// The title logs a player in that it vouches for.
    LoginWithServerCustomId = "Server/LoginWithServerCustomId",
    /// A token for the caller.
    GetEntityToken = "Authentication/GetEntityToken",
    /// Whose a token is.
    ValidateEntityToken = "Authentication/ValidateEntityToken",
    /// A token for a game server.
    AuthenticateGameServer = "GameServerIdentity/AuthenticateGameServerWithCustomId",
    /// Stores objects.
    SetObjects = "Object/SetObjects",
    /// Reads them.
    GetObjects = "Object/GetObjects",
    /// A player looks for a match.
    CreateTicket = "Match/CreateMatchmakingTicket",
    /// A server looks for one for players.
    CreateServerTicket = "Match/CreateServerMatchmakingTicket",
    /// An invited player joins.
    JoinTicket = "Match/JoinMatchmakingTicket",
    /// How a ticket stands.
    GetTicket = "Match/GetMatchmakingTicket",
    /// It ends.
    CancelTicket = "Match/CancelMatchmakingTicket",
    /// A player's tickets end.
    CancelAllTickets = "Match/CancelAllMatchmakingTicketsForPlayer",
    /// A player's tickets.
    ListTickets = "Match/ListMatchmakingTicketsForPlayer",
    /// A match.
    GetMatch = "Match/GetMatch",
    /// How a queue does.
    GetStatistics = "Match/GetQueueStatistics",
    /// A game looks for more players.
    CreateBackfill = "Match/CreateServerBackfillTicket",
    /// How a backfill ticket stands.
    GetBackfill = "Match/GetServerBackfillTicket",
    /// It ends.
    CancelBackfill = "Match/CancelServerBackfillTicket",
    /// Those a player is in end.
    CancelAllBackfills = "Match/CancelAllServerBackfillTicketsForPlayer",
    /// Those a player is in.
    ListBackfills = "Match/ListServerBackfillTicketsForPlayer",
    /// A queue as it is configured.
    GetQueue = "Match/GetMatchmakingQueue",
    /// All of them.
    ListQueues = "Match/ListMatchmakingQueues",
    /// A queue is made or changed.
    SetQueue = "Match/SetMatchmakingQueue",
    /// It is removed.
    RemoveQueue = "Match/RemoveMatchmakingQueue",
    /// For native SDKs alone, over a socket of their own.
    Subscribe = "Match/SubscribeToMatchmakingResource",
    /// Likewise.
    Unsubscribe = "Match/UnsubscribeFromMatchmakingResource",
}

impl Call {
    /// The call of a path: its last two parts.
    pub(super) fn of(path: &str) -> Option<Self> {
        let (rest, name) = path.rsplit_once('/')?;
        let group = rest.rsplit_once('/').map_or(rest, |(_, group)| group);
        Self::at(&format!("{group}/{name}"))
    }
}
