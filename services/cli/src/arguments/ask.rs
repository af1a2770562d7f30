//! The commands that ask an instance, wherever it is.

use clap::Subcommand;

use super::{
    AccountVerb, AllocationVerb, ApplyArguments, BackfillVerb, DrawVerb, LobbyVerb, Look, MachineVerb,
    MatchVerb, OneTicket, QueueVerb, ServerVerb, SessionVerb, TicketVerb, TokenVerb,
};

/// What is asked of an instance.
#[derive(Debug, Subcommand)]
pub enum Ask {
    /// Bring what a configuration file says to a running instance: all of it, or nothing and every reason at once
    #[command(
        after_help = "Examples:\n  mainstay apply mainstay.yaml\n  mainstay apply mainstay.yaml --dry-run -o json"
    )]
    Apply(ApplyArguments),
    /// What is running, and where
    Status,
    /// Run every law against the running instance and its journal, or against a stopped data directory, and look at this
    /// host; exit code 1 where something is broken
    #[command(
        after_help = "Examples:\n  mainstay doctor\n  mainstay doctor --data-dir /var/lib/mainstay -o json"
    )]
    Doctor,
    /// Fleets
    #[command(subcommand, visible_aliases = ["fleets", "fl"])]
    Fleet(Look),
    /// Machines
    #[command(subcommand, visible_aliases = ["machines", "mch"])]
    Machine(MachineVerb),
    /// Join tokens: what lets another machine in
    #[command(subcommand, visible_alias = "tokens")]
    Token(TokenVerb),
    /// Service accounts: who may ask
    #[command(subcommand, visible_alias = "accounts")]
    Account(AccountVerb),
    /// Servers
    #[command(subcommand, visible_aliases = ["servers", "srv"])]
    Server(ServerVerb),
    /// Allocations
    #[command(subcommand, visible_aliases = ["allocations", "alc"])]
    Allocation(AllocationVerb),
    /// Queues that match players
    #[command(subcommand, visible_aliases = ["queues", "q"])]
    Queue(QueueVerb),
    /// Players who look for a match
    #[command(subcommand, visible_aliases = ["tickets", "tk"])]
    Ticket(TicketVerb),
    /// Games that want more players
    #[command(subcommand, visible_alias = "backfills")]
    Backfill(BackfillVerb),
    /// Matches
    #[command(subcommand, visible_alias = "matches")]
    Match(MatchVerb),
    /// Sessions that players host
    #[command(subcommand, visible_aliases = ["sessions", "ses"])]
    Session(SessionVerb),
    /// Lobby services, and whether their sessions migrate
    #[command(subcommand, visible_alias = "lobbies")]
    Lobby(LobbyVerb),
    /// Whatever has this id: a server, an allocation, a machine, a fleet, a session, a queue, a ticket or a match
    #[command(
        after_help = "Examples:\n  mainstay show srv-1-1\n  mainstay show 6f1c2a9e-0d43-4b8e-9a57-2f6d8c1b0e34 --watch"
    )]
    Show {
        /// Its id or name
        id: String,
    },
    /// Why a ticket is not matched yet: the nearest others, and what keeps each away
    #[command(after_help = "Example:\n  mainstay why 6f1c2a9e-0d43-4b8e-9a57-2f6d8c1b0e34 --watch")]
    Why(OneTicket),
    /// Pictures as SVG
    #[command(subcommand)]
    Draw(DrawVerb),
}

impl Ask {
    /// Whether what it answers has an id or a name.
    pub const fn is_answered_by_names(&self) -> bool {
        !matches!(
            self,
            Self::Apply(_)
                | Self::Status
                | Self::Doctor
                | Self::Why(_)
                | Self::Server(ServerVerb::Logs { .. })
                | Self::Queue(QueueVerb::Stats(_) | QueueVerb::Funnel(_) | QueueVerb::Try { .. })
                | Self::Ticket(TicketVerb::Why(_))
        )
    }

    /// Whether it only looks, and can look again.
    pub const fn watches(&self) -> bool {
        matches!(
            self,
            Self::Show { .. }
                | Self::Why(_)
                | Self::Status
                | Self::Fleet(_)
                | Self::Machine(MachineVerb::List | MachineVerb::Get { .. })
                | Self::Server(ServerVerb::List { .. } | ServerVerb::Get { .. })
                | Self::Allocation(AllocationVerb::List { .. } | AllocationVerb::Get { .. })
                | Self::Queue(
                    QueueVerb::List | QueueVerb::Get { .. } | QueueVerb::Stats(_) | QueueVerb::Funnel(_)
                )
                | Self::Ticket(TicketVerb::List(_) | TicketVerb::Get(_) | TicketVerb::Why(_))
                | Self::Backfill(BackfillVerb::List(_) | BackfillVerb::Get(_))
                | Self::Match(MatchVerb::List(_) | MatchVerb::Get(_) | MatchVerb::Waterfall(_))
                | Self::Session(SessionVerb::List | SessionVerb::Get(_))
                | Self::Lobby(LobbyVerb::List | LobbyVerb::Get { .. })
        )
    }
}
