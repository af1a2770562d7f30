//! The command line of `queue`, `ticket`, `backfill` and `match`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};

/// Which queue is meant.
#[derive(Debug, Args)]
pub struct OfQueue {
    /// The queue; may be left out where an id tells it, or there is one alone
    #[arg(long)]
    pub queue: Option<String>,
}

/// The same, with its name where it stands for itself.
#[derive(Debug, Args)]
pub struct OneQueue {
    /// Its name; may be left out where there is one alone
    #[arg(value_name = "NAME", conflicts_with = "queue")]
    pub name: Option<String>,
    #[command(flatten)]
    pub of: OfQueue,
}

impl OneQueue {
    /// Which queue is meant, however it was named.
    pub fn of(&self) -> OfQueue {
        OfQueue { queue: self.name.clone().or_else(|| self.of.queue.clone()) }
    }
}

/// Which tickets are listed.
#[derive(Debug, Args)]
pub struct ListOf {
    #[command(flatten)]
    pub of: OfQueue,
    /// The open one of this player alone, by its id
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    pub player: Option<String>,
}

/// What can be done with queues.
#[derive(Debug, Subcommand)]
pub enum QueueVerb {
    /// All of them, with who waits in them
    List,
    /// One of them, with what it matches by
    Get {
        /// Its name
        name: String,
    },
    /// Make a queue, or have one match by other rules
    #[command(after_help = "Examples:\n  mainstay queue set duel.json\n  mainstay apply mainstay.yaml")]
    Set {
        /// PlayFab's JSON of it; - for standard input
        file: PathBuf,
    },
    /// Remove a queue and cancel its tickets
    Delete {
        /// Its name
        name: String,
    },
    /// How it does: who waits, how long matching took, why tickets ended without
    Stats(OneQueue),
    /// How many pairs of waiting tickets each rule leaves: which one keeps players apart
    Funnel(OneQueue),
    /// What it would do with some players, without anybody waiting
    #[command(
        after_help = "Examples:\n  mainstay queue try --player 'alice={\"skill\": 10}' --player 'bob={\"skill\": 12}'\n  mainstay queue try --queue duel --rules tighter.json --player alice --player bob"
    )]
    Try {
        #[command(flatten)]
        of: OfQueue,
        /// A player who comes alone, by its id, and =JSON with the attributes that the rules read
        #[arg(long = "player", value_name = "ID[=JSON]", required = true, allow_hyphen_values = true)]
        players: Vec<String>,
        /// How many seconds to look ahead
        #[arg(long, default_value_t = 120)]
        within: u32,
        /// Other rules to try them by: PlayFab's JSON of a queue; - for standard input
        #[arg(long, value_name = "FILE")]
        rules: Option<PathBuf>,
    },
    /// Form no matches until it is resumed; tickets come and wait as ever
    Pause(OneQueue),
    /// Match again
    Resume(OneQueue),
}

/// What can be done with the tickets of players.
#[derive(Debug, Subcommand)]
pub enum TicketVerb {
    /// Those that are open, and those that ended a short while ago
    List(ListOf),
    /// One of them
    Get(OneTicket),
    /// Have players look for a match together
    #[command(
        after_help = "Examples:\n  mainstay ticket create --player alice --player bob\n  mainstay ticket create --queue duel --player 'alice={\"skill\": 0.4}' --wait\n  mainstay ticket create --player alice --invite bob"
    )]
    Create {
        #[command(flatten)]
        of: OfQueue,
        /// A player by its id, and =JSON with the attributes that the queue's rules read
        #[arg(long = "player", value_name = "ID[=JSON]", required = true, allow_hyphen_values = true)]
        players: Vec<String>,
        /// Whom the one player invites, by its id: the search begins once each of them has joined
        #[arg(long = "invite", value_name = "ID", allow_hyphen_values = true)]
        invited: Vec<String>,
        /// How long they look, in seconds
        #[arg(long, default_value_t = 120)]
        give_up_after: u32,
        #[command(flatten)]
        waiting: Waiting,
    },
    /// Have a player join who was invited
    #[command(
        after_help = "Example:\n  mainstay ticket join 6f1c2a9e-0d43-4b8e-9a57-2f6d8c1b0e34 --player 'bob={\"skill\": 0.5}' --wait"
    )]
    Join {
        #[command(flatten)]
        ticket: OneTicket,
        /// The player by its id, and =JSON with the attributes that the queue's rules read
        #[arg(long, value_name = "ID[=JSON]", allow_hyphen_values = true)]
        player: String,
        #[command(flatten)]
        waiting: Waiting,
    },
    /// Cancel one
    Cancel(OneTicket),
    /// Cancel whatever ticket a player is in
    CancelAll(OnePlayer),
    /// Why it is not matched yet: the nearest others, and what keeps each away
    Why(OneTicket),
}

/// What can be done with the tickets of games that want more players.
#[derive(Debug, Subcommand)]
pub enum BackfillVerb {
    /// Those that are open, and those that ended a short while ago
    List(ListOf),
    /// One of them
    Get(OneTicket),
    /// Ask for more players for a game
    #[command(
        after_help = "Example:\n  mainstay backfill create --queue duel game.json\n\nThe file is as POST /v1/queues/{queue}/backfills takes it: players with teams, server, places, giveUpAfterSeconds."
    )]
    Create {
        #[command(flatten)]
        of: OfQueue,
        /// What is asked, as JSON; - for standard input
        file: PathBuf,
    },
    /// Cancel one
    Cancel(OneTicket),
    /// Free a player of the game it was in, also of one that crashed
    CancelAll(OnePlayer),
}

/// What can be done with matches.
#[derive(Debug, Subcommand)]
pub enum MatchVerb {
    /// Those of the last minutes
    List(OfQueue),
    /// One of them
    Get(OneTicket),
    /// Where its time went: from the tickets to the server
    Waterfall(OneTicket),
}

/// Whether a ticket is waited for.
#[derive(Debug, Args)]
pub struct Waiting {
    /// Wait until they are matched, or no longer look
    #[arg(long)]
    pub wait: bool,
    /// Wait so long at most, such as 30s; the ticket searches on
    #[arg(long, value_name = "TIME", requires = "wait", value_parser = super::lifetime)]
    pub timeout: Option<Duration>,
}

/// What can be drawn.
#[derive(Debug, Subcommand)]
pub enum DrawVerb {
    /// Who waits in a queue and how long, and what its rules leave of all pairs
    #[command(after_help = "Example:\n  mainstay draw queue duel > duel.svg")]
    Queue {
        /// Its name; may be left out where there is one alone
        name: Option<String>,
    },
}

/// A ticket or a match.
#[derive(Debug, Args)]
pub struct OneTicket {
    /// Its id
    pub id: String,
    // Its queue may be left out: whichever has it is found.
    #[command(flatten)]
    pub of: OfQueue,
}

/// A player.
#[derive(Debug, Args)]
pub struct OnePlayer {
    /// Its id
    #[arg(long, allow_hyphen_values = true)]
    pub player: String,
    #[command(flatten)]
    pub of: OfQueue,
}
