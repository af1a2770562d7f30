//! Queues, tickets, backfill tickets and matches on the native face.

use jiff::Timestamp as Instant;
use mainstay_core::{MatchId, Tenure, TicketId, Timestamp};
use mainstay_matchmaking::spec::{QueueSpec, Venue};
use mainstay_matchmaking::why::{Asked, Judged, Neighbour, Short, Step, Text, Verdict, WhyNot};
use mainstay_matchmaking::{
    BackfillStage, BackfillTicket, Entity, Hold, Kind, Lease, Match, Member, Port, Protocol, Seated,
    ServerDetails, Stage, Statistics, Ticket,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::multiplay::instant;

/// A queue.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct QueueView {
    /// Its name.
    pub name: String,
    /// How many tickets and backfill tickets are open.
    pub open_tickets: usize,
    /// How many players search.
    pub players_matching: usize,
    /// How long the last thousand tickets searched that were matched within an hour; absent where none was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_to_match: Option<TimeToMatchView>,
    /// Since when it forms no matches, where an operator has it pause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub paused_since: Option<Instant>,
    /// What it matches by, as PlayFab's `SetMatchmakingQueue` takes it.
    pub configuration: Value,
}

/// Seconds from a search's beginning to its match.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TimeToMatchView {
    /// On average.
    pub average_seconds: f64,
    /// At most so long for half of the tickets.
    pub p50_seconds: f64,
    /// For nine of ten.
    pub p90_seconds: f64,
    /// For 99 of 100.
    pub p99_seconds: f64,
}

/// A player who is to be matched, or plays already. A misspelt word would be a player without attributes, who is matched with anybody.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PlayerRequest {
    /// Its id, which the studio chooses: of another type than a player, and of a player whose id holds a `!`, `type!id`.
    pub player: String,
    /// Its team, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub team: Option<String>,
    /// What the queue's rules read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attributes: Option<Value>,
}

/// A player of a ticket or a match, as it is told. Whoever reads it passes over what a later version tells besides.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlayerOfTicket {
    /// Its id, which the studio chooses: of another type than a player, and of a player whose id holds a `!`, `type!id`.
    pub player: String,
    /// Its team, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub team: Option<String>,
    /// What the queue's rules read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attributes: Option<Value>,
}

/// A ticket that is asked for: players who look for a match together.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TicketRequest {
    /// Who.
    pub players: Vec<PlayerRequest>,
    /// Whom the one player invites: the ticket searches once each of them has joined.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub invited: Vec<String>,
    /// How many seconds it waits: 1 to 86400.
    pub give_up_after_seconds: u32,
}

/// A backfill ticket that is asked for: a game that goes on and wants more players.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BackfillRequest {
    /// Who plays already.
    pub players: Vec<PlayerRequest>,
    /// How the game is reached; absent: who joins is told nothing of it. Where a rule looks at regions its `region` is needed.
    #[serde(default)]
    pub server: ReachView,
    /// How many players are wanted at most; absent: as many as fit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub places: Option<u32>,
    /// How many seconds it waits: 1 to 86400.
    pub give_up_after_seconds: u32,
    /// Where the game's server is not hosted here: withdraw it when nothing was heard of its server for so many seconds, 1 to
    /// 3600. A ticket whose `server.serverId` names a live allocation ends with that, and needs none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_seconds: Option<u32>,
    /// What becomes of it when a player is taken out.
    #[serde(default)]
    pub on_player_taken_out: OnPlayerTakenOut,
}

/// What becomes of a backfill ticket when a player is taken out of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum OnPlayerTakenOut {
    /// It is cancelled, as PlayFab does.
    #[default]
    Cancel,
    /// It goes on without the player, with its age and its place.
    GoOn,
}

/// A ticket of either kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TicketView {
    /// Its id.
    #[schema(value_type = String, format = "uuid")]
    pub id: TicketId,
    /// Its queue.
    pub queue: String,
    /// `WaitingForPlayers`, `WaitingForMatch`, `WaitingForServer`, `Matched` or `Canceled`.
    pub status: String,
    /// When it was made.
    #[schema(value_type = String, format = DateTime)]
    pub created: Instant,
    /// Since when it searches, while it does: limits grow from then on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub searching_since: Option<Instant>,
    /// When it gives up.
    #[schema(value_type = String, format = DateTime)]
    pub gives_up: Instant,
    /// Who is in it.
    pub players: Vec<PlayerOfTicket>,
    /// Who was invited and has not joined.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// Of a backfill ticket: how its game is reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<ReachView>,
    /// Of a backfill ticket: how many players it wants at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub places: Option<u32>,
    /// Of a backfill ticket: what it lives by besides its time; absent where nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<LeaseView>,
    /// The match it ended in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = "uuid")]
    pub match_id: Option<MatchId>,
    /// Why it ended without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancellation_reason: Option<String>,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub ended: Option<Instant>,
}

/// What a backfill ticket lives by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum LeaseView {
    /// The word of its server.
    Renewed {
        /// How many seconds after the last it is withdrawn.
        within_seconds: u32,
    },
    /// A process hosted here: it ends with that, or with its session.
    Hosted {
        /// The server.
        #[schema(value_type = String)]
        server: String,
        /// Its session: the id of an allocation or reservation.
        session: String,
        /// The process, as its machine counts starts; absent for whichever runs.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        run: Option<u64>,
    },
}

/// A match.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct MatchView {
    /// Its id.
    #[schema(value_type = String, format = "uuid")]
    pub id: MatchId,
    /// Its queue.
    pub queue: String,
    /// When it was formed.
    #[schema(value_type = String, format = DateTime)]
    pub formed: Instant,
    /// Who plays, each with its team.
    pub players: Vec<PlayerOfTicket>,
    /// Where it could be played, the best first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub regions: Vec<String>,
    /// Where it is played, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<ReachView>,
}

/// How a game is reached. All of it may be absent, and the address may be any text.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct ReachView {
    /// Its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fqdn: Option<String>,
    /// Its address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ipv4_address: Option<String>,
    /// Its ports.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ports: Vec<PortView>,
    /// Where it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// Its id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_id: Option<String>,
}

/// A port.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PortView {
    /// Its name.
    pub name: String,
    /// Its number.
    pub number: u16,
    /// `tcp` or `udp`.
    pub protocol: PortProtocol,
}

/// What a port speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum PortProtocol {
    /// Streams.
    Tcp,
    /// Packets.
    Udp,
}

/// Why a ticket is not matched yet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct WhyView {
    /// For how many seconds it has searched.
    pub waited_seconds: u32,
    /// How many players a match has at least.
    pub players_min: u32,
    /// And at most.
    pub players_max: u32,
    /// How many others search that it could meet: two games never meet, and for a player there are no games.
    pub others: usize,
    /// How many of them were looked at.
    pub looked_at: usize,
    /// How many of those fit it by every rule between two tickets.
    pub fitting: usize,
    /// How many players these have.
    pub fitting_players: usize,
    /// How many of those looked at each rule keeps away, the rule that keeps most first.
    pub kept_away: Vec<KeptAwayView>,
    /// The nearest of them.
    pub nearest: Vec<NeighbourView>,
    /// What it would be as one match with the nearest of those that fit it: what still keeps them from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub together: Option<TogetherView>,
    /// When a rule next gives way for this ticket; absent where none will.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<StepView>,
    /// Where the queue forms no matches, because an operator has it pause: since when.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub paused_since: Option<Instant>,
    /// Whom it waits for: those who were invited and have not joined. It searches once they have, and tells nothing else before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// Where others were found for it, and their match waits for a server: then nobody is looked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<ServerWaitView>,
}

/// A match that waits for its place: a server, or a session of the lobby.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServerWaitView {
    /// Since when.
    #[schema(value_type = String, format = DateTime)]
    pub since: Instant,
    /// How many tickets it is made of.
    pub tickets: usize,
    /// The fleet that is asked for a server; absent where the lobby is asked for a session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fleet: Option<String>,
    /// The region that is asked now; absent where those of the fleet are tried in turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// The server that it has, and whose game has not called ready yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_ready: Option<u64>,
    /// How often it was refused one.
    pub refusals: u32,
    /// The code of the last refusal: `mainstay explain CODE`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// From when on it is asked for, where that is not now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub asked_again: Option<Instant>,
}

/// What a rule keeps away.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct KeptAwayView {
    /// The rule; `matchSize`: together they are too many players; `samePlayer`: a player is in both.
    pub rule: String,
    /// How many tickets.
    pub tickets: usize,
}

/// Another ticket, and what is between.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NeighbourView {
    /// Its id; a player is not told it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = "uuid")]
    pub id: Option<TicketId>,
    /// Whether it is a game's.
    pub backfill: bool,
    /// With how many players.
    pub players: usize,
    /// By each rule.
    pub rules: Vec<JudgedView>,
}

/// Some tickets as one match.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TogetherView {
    /// How many tickets, this one among them.
    pub tickets: usize,
    /// How many players.
    pub players: u32,
    /// The rules that keep them from being a match; none where they would be one.
    pub rules: Vec<JudgedView>,
}

/// What a rule says of two tickets, or of those of a match.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct JudgedView {
    /// The rule.
    pub rule: String,
    /// Whether they fit by it.
    pub fits: bool,
    /// What is missing, in words with numbers, where they do not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Of two tickets that do not: when they will, if both wait on; absent where neither waits so long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub fits_at: Option<Instant>,
}

/// A rule that gives way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct StepView {
    /// Which.
    pub rule: String,
    /// When.
    #[schema(value_type = String, format = DateTime)]
    pub at: Instant,
    /// What it asks until then.
    pub from: String,
    /// What it asks from then on.
    pub to: String,
}

impl PlayerRequest {
    /// Who: a player by its id alone, or any entity as `type!id`, as [`PlayerOfTicket::told`] tells it; `None` where the text is neither.
    #[must_use]
    pub fn entity(&self) -> Option<Entity> {
        let (kind, id) = self.player.split_once('!').unwrap_or((Entity::PLAYER, &self.player));
        Entity::new(kind, id)
    }
}

impl PlayerOfTicket {
    /// A player's id, with its type where that is another than a player's, or the id alone would be read as one with its type.
    #[must_use]
    pub fn told(entity: &Entity) -> String {
        let is_plain = entity.kind() == Entity::PLAYER && !entity.id().contains('!');
        if is_plain { entity.id().to_owned() } else { entity.to_string() }
    }

    fn of(member: &Member) -> Self {
        // What was sent was JSON.
        let attributes = member.attributes.raw.as_deref().and_then(|raw| serde_json::from_str(raw).ok());
        Self { player: Self::told(&member.entity), team: None, attributes }
    }

    fn seated(seated: &Seated) -> Self {
        Self { team: seated.team.as_deref().map(str::to_owned), ..Self::of(&seated.member) }
    }
}

impl TimeToMatchView {
    /// How long matching took; `None` before the first match.
    #[must_use]
    pub fn of(statistics: &Statistics) -> Option<Self> {
        statistics.time_to_match.map(|times| Self {
            average_seconds: times.average.as_secs_f64(),
            p50_seconds: times.percentile50.as_secs_f64(),
            p90_seconds: times.percentile90.as_secs_f64(),
            p99_seconds: times.percentile99.as_secs_f64(),
        })
    }
}

/// How a ticket ended: in which match, or why without one, and when.
type End = (Option<MatchId>, Option<String>, Option<Timestamp>);

impl TicketView {
    /// A ticket of players.
    #[must_use]
    pub fn of(ticket: &Ticket, queue: &str) -> Self {
        let end: End = match ticket.stage {
            Stage::Gathering | Stage::Searching(_) | Stage::Held { .. } => (None, None, None),
            Stage::Matched { id, at } => (Some(id), None, Some(at)),
            Stage::Canceled { reason, at } => (None, Some(reason.as_str().to_owned()), Some(at)),
        };
        let waiting = ticket.stage == Stage::Gathering;
        let since = match ticket.stage {
            Stage::Searching(searching) => Some(searching.since),
            Stage::Gathering | Stage::Held { .. } | Stage::Matched { .. } | Stage::Canceled { .. } => None,
        };
        Self {
            players: ticket.members.iter().map(PlayerOfTicket::of).collect(),
            missing: ticket.missing().filter(|_| waiting).map(PlayerOfTicket::told).collect(),
            searching_since: since.map(instant),
            ..Self::new(ticket.id, queue, ticket.stage.as_str(), (ticket.created, ticket.gives_up()), end)
        }
    }

    /// A backfill ticket.
    #[must_use]
    pub fn of_game(ticket: &BackfillTicket, queue: &str) -> Self {
        let end: End = match ticket.stage {
            BackfillStage::Searching(_) => (None, None, None),
            BackfillStage::Matched { id, at } => (Some(id), None, Some(at)),
            BackfillStage::Canceled { reason, at } => (None, Some(reason.as_str().to_owned()), Some(at)),
        };
        let since = match ticket.stage {
            BackfillStage::Searching(searching) => Some(searching.since),
            BackfillStage::Matched { .. } | BackfillStage::Canceled { .. } => None,
        };
        Self {
            searching_since: since.map(instant),
            players: ticket.members.iter().map(PlayerOfTicket::seated).collect(),
            server: Some(ReachView::of(&ticket.server)),
            places: ticket.places,
            lease: LeaseView::of(&ticket.terms.lease),
            ..Self::new(ticket.id, queue, ticket.stage.as_str(), (ticket.created, ticket.gives_up()), end)
        }
    }

    fn new(
        id: TicketId,
        queue: &str,
        status: &str,
        (created, gives_up): (Timestamp, Timestamp),
        (match_id, cancellation_reason, ended): End,
    ) -> Self {
        Self {
            id,
            queue: queue.to_owned(),
            status: status.to_owned(),
            created: instant(created),
            searching_since: None,
            gives_up: instant(gives_up),
            players: Vec::new(),
            missing: Vec::new(),
            server: None,
            places: None,
            lease: None,
            match_id,
            cancellation_reason,
            ended: ended.map(instant),
        }
    }
}

impl LeaseView {
    fn of(lease: &Lease) -> Option<Self> {
        match lease {
            Lease::Free => None,
            Lease::Renewed { within } => Some(Self::Renewed { within_seconds: *within }),
            Lease::Hosted(Tenure { server, session, run }) => {
                Some(Self::Hosted { server: server.to_string(), session: session.to_string(), run: *run })
            }
        }
    }
}

impl MatchView {
    /// A match.
    #[must_use]
    pub fn of(formed: &Match, queue: &str) -> Self {
        Self {
            id: formed.id,
            queue: queue.to_owned(),
            formed: instant(formed.formed),
            players: formed.members.iter().map(PlayerOfTicket::seated).collect(),
            regions: formed.regions.iter().map(ToString::to_string).collect(),
            server: formed.server.as_deref().map(ReachView::of),
        }
    }
}

impl ReachView {
    fn of(details: &ServerDetails) -> Self {
        let text = |text: &Option<std::sync::Arc<str>>| text.as_deref().map(str::to_owned);
        let port = |port: &Port| PortView {
            name: port.name.to_string(),
            number: port.number,
            protocol: match port.protocol {
                Protocol::Tcp => PortProtocol::Tcp,
                Protocol::Udp => PortProtocol::Udp,
            },
        };
        Self {
            fqdn: text(&details.fqdn),
            ipv4_address: text(&details.ipv4_address),
            ports: details.ports.iter().map(port).collect(),
            region: text(&details.region),
            server_id: text(&details.server_id),
        }
    }

    /// What the rules keep.
    #[must_use]
    pub fn details(self) -> ServerDetails {
        let text = |text: Option<String>| text.map(Into::into);
        let port = |port: PortView| Port {
            name: port.name.into(),
            number: port.number,
            protocol: match port.protocol {
                PortProtocol::Tcp => Protocol::Tcp,
                PortProtocol::Udp => Protocol::Udp,
            },
        };
        ServerDetails {
            fqdn: text(self.fqdn),
            ipv4_address: text(self.ipv4_address),
            ports: self.ports.into_iter().map(port).collect(),
            region: text(self.region),
            server_id: text(self.server_id),
        }
    }
}

impl From<&WhyNot> for WhyView {
    fn from(why: &WhyNot) -> Self {
        let (players_min, players_max) = why.players_wanted;
        let kept = |(rule, tickets): &(std::sync::Arc<str>, usize)| KeptAwayView {
            rule: rule.to_string(),
            tickets: *tickets,
        };
        Self {
            waited_seconds: why.waited,
            players_min,
            players_max,
            others: why.others,
            looked_at: why.looked_at,
            fitting: why.fitting,
            fitting_players: why.fitting_players,
            kept_away: why.kept_away.iter().map(kept).collect(),
            nearest: why.nearest.iter().map(NeighbourView::from).collect(),
            together: Some(TogetherView {
                tickets: why.together.tickets,
                players: why.together.players,
                rules: why.together.rules.iter().map(JudgedView::from).collect(),
            }),
            next: why.next.as_ref().map(StepView::from),
            paused_since: None,
            missing: Vec::new(),
            server: None,
        }
    }
}

impl WhyView {
    /// Of a ticket that has not searched since some of those whom it invites have not joined.
    #[must_use]
    pub fn of_group(ticket: &Ticket, spec: &QueueSpec) -> Self {
        Self { missing: ticket.missing().map(PlayerOfTicket::told).collect(), ..Self::of_nobody(0, spec) }
    }

    /// Of a ticket that searched since then and whose match waits for a server of this queue's.
    #[must_use]
    pub fn of_hold(hold: &Hold, searched: Timestamp, spec: &QueueSpec, now: Timestamp) -> Self {
        let waited = u32::try_from(now.since(searched).as_secs()).unwrap_or(u32::MAX);
        let server = ServerWaitView::of(hold, now);
        Self { server: Some(server), ..Self::of_nobody(waited, spec) }
    }

    /// Of a ticket that looks for nobody.
    fn of_nobody(waited_seconds: u32, spec: &QueueSpec) -> Self {
        Self {
            waited_seconds,
            players_min: spec.min_match_size,
            players_max: spec.max_match_size,
            others: 0,
            looked_at: 0,
            fitting: 0,
            fitting_players: 0,
            kept_away: Vec::new(),
            nearest: Vec::new(),
            together: None,
            next: None,
            paused_since: None,
            missing: Vec::new(),
            server: None,
        }
    }
}

impl ServerWaitView {
    fn of(hold: &Hold, now: Timestamp) -> Self {
        Self {
            since: instant(hold.held),
            tickets: hold.tickets.len(),
            fleet: match &*hold.venue {
                Venue::Server(allocation) => Some(allocation.fleet.to_string()),
                Venue::Session { .. } => None,
            },
            region: hold.region().map(ToString::to_string),
            not_ready: None,
            refusals: hold.refusals,
            refused: hold.refused.as_ref().map(ToString::to_string),
            asked_again: (hold.from > now).then(|| instant(hold.from)),
        }
    }
}

impl From<&Neighbour> for NeighbourView {
    fn from(neighbour: &Neighbour) -> Self {
        Self {
            id: Some(neighbour.ticket),
            backfill: neighbour.kind == Kind::Backfill,
            players: neighbour.players,
            rules: neighbour.rules.iter().map(JudgedView::from).collect(),
        }
    }
}

impl From<&Judged> for JudgedView {
    fn from(judged: &Judged) -> Self {
        let why = match &judged.verdict {
            Verdict::Fits => None,
            Verdict::Fails(short) => Some(words(short)),
        };
        Self { rule: judged.rule.to_string(), fits: why.is_none(), why, fits_at: judged.fits_at.map(instant) }
    }
}

fn words(short: &Short) -> String {
    match short {
        Short::Players { players, max } => format!("{players} players together, at most {max}"),
        Short::Texts { own, other } => {
            let told = |text: &Text| match text {
                Text::Any => "anything".to_owned(),
                Text::Same(text) => format!("`{text}`"),
                Text::Mixed => "players who differ".to_owned(),
            };
            format!("{} here, {} there", told(own), told(other))
        }
        Short::Apart { by, allowed } => format!("{by} apart, at most {allowed}"),
        Short::Shared { shared, needed } => format!("{shared} in common, at least {needed}"),
        Short::Alone => "nobody else fits, and a ticket alone is no match".to_owned(),
        Short::TooFew { players, min } => format!("{players} players together, at least {min}"),
        Short::TotalBelow { sum, min } => format!("{sum} together, at least {min}"),
        Short::Seats { largest, max } => {
            format!(
                "no way to seat them: the largest ticket has {largest}, and no team has more than {max} places"
            )
        }
        Short::TeamTooFew { team, players, min } => format!("{players} on team {team}, at least {min}"),
        Short::Uneven { by, allowed } => format!("teams {by} players apart, at most {allowed}"),
        Short::Parties { with, teams } => format!("large parties on {with} of {teams} teams: on all or none"),
        Short::Total { sum, max } => format!("{sum} together, at most {max}"),
        Short::Region { best: Some((region, latency)), allowed } => {
            format!("{latency} ms to {region}, the best for both; at most {allowed} ms")
        }
        Short::SamePlayer => "a player is in both, and nobody is in a match twice".to_owned(),
        Short::Region { best: None, .. } => "no region that both measured".to_owned(),
    }
}

impl From<&Step> for StepView {
    fn from(step: &Step) -> Self {
        Self { rule: step.rule.to_string(), at: instant(step.at), from: asked(step.from), to: asked(step.to) }
    }
}

fn asked(asked: Asked) -> String {
    match asked {
        Asked::Nothing => "anything".to_owned(),
        Asked::Sameness => "the same".to_owned(),
        Asked::Apart(most) => most.to_string(),
        Asked::Sum(Some(least), Some(most)) => format!("{least} to {most}"),
        Asked::Sum(Some(least), None) => format!("at least {least}"),
        Asked::Sum(None, Some(most)) => format!("at most {most}"),
        // A rule that asks for neither does not restrict.
        Asked::Sum(None, None) => "anything".to_owned(),
        Asked::Count(count) => count.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use mainstay_matchmaking::Amount;

    use super::*;

    #[test]
    fn what_a_rule_asks_of_a_sum_is_told_without_bounds_that_it_has_not() {
        let (least, most) = (Amount::from_f64(8.0), Amount::from_f64(20.5));
        assert_eq!(asked(Asked::Sum(least, most)), "8 to 20.5");
        assert_eq!(asked(Asked::Sum(least, None)), "at least 8");
        assert_eq!(asked(Asked::Sum(None, most)), "at most 20.5");
    }
}
