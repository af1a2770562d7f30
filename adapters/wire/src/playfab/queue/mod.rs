//! `MatchmakingQueueConfig`: a queue as PlayFab's API and its Game Manager write it, and as its documentation does.
//!
//! The API has a list for each type of rule (`DifferenceRules`, …), the documentation one list `Rules` whose elements say
//! their `Type`. Both are read, and the API's is written. Source: `MatchmakingQueueConfig` of PlayFab's API specification; the
//! pages *Configuring matchmaking queues* and *Matchmaking configuration examples*.

mod dialect;
mod expansion;
mod gather;
mod rule;
pub mod shape;

use std::sync::Arc;

use mainstay_lobby::Service;
use mainstay_matchmaking::spec::{
    Declared, Fault, Gather, PlayFabBuild, QueueSpec, ServerAllocation, Shown, TeamSpec, Unread, Venue,
    Visibility,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use self::expansion::{Custom, Linear, Override};
pub use self::rule::{QueueRule, QueueRuleAttribute};
use self::rule::{Reading, Type};
use super::lenient;
use super::types::{self, LeftOut};

/// A queue.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct MatchmakingQueueConfig {
    /// Its name.
    #[serde(deserialize_with = "lenient::or_default")]
    pub name: String,
    /// The least players of a match.
    #[serde(deserialize_with = "lenient::integer_or_default")]
    pub min_match_size: u32,
    /// The most players of a match.
    #[serde(deserialize_with = "lenient::integer_or_default")]
    pub max_match_size: u32,
    /// The most players of a ticket; 0 as absent.
    #[serde(deserialize_with = "lenient::integer", skip_serializing_if = "Option::is_none")]
    pub max_ticket_size: Option<u32>,
    /// Whether a match gets a server.
    #[serde(deserialize_with = "lenient::or_default")]
    pub server_allocation_enabled: bool,
    /// What runs there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub build_id: Option<String>,
    /// The same, by an alias.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub build_alias_params: Option<BuildAliasParams>,
    /// Ours: the lobby service in whose sessions its players host their matches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Ours: how long those who come are gathered before they are looked at, as `1s`; absent: not at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gather: Option<String>,
    /// Ours: the regions there are. A ticket that has none of them is refused; none: any may be named.
    #[serde(deserialize_with = "lenient::list", skip_serializing_if = "Vec::is_empty")]
    pub regions: Vec<String>,
    /// Its teams.
    #[serde(deserialize_with = "lenient::list", skip_serializing_if = "Vec::is_empty")]
    pub teams: Vec<MatchmakingQueueTeam>,
    /// What players may see of its statistics.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub statistics_visibility_to_players: Option<StatisticsVisibilityToPlayers>,
    /// Rules of texts.
    #[serde(deserialize_with = "lenient::list", skip_serializing_if = "Vec::is_empty")]
    pub string_equality_rules: Vec<QueueRule>,
    /// Rules of numbers.
    #[serde(deserialize_with = "lenient::list", skip_serializing_if = "Vec::is_empty")]
    pub difference_rules: Vec<QueueRule>,
    /// Rules of lists.
    #[serde(deserialize_with = "lenient::list", skip_serializing_if = "Vec::is_empty")]
    pub set_intersection_rules: Vec<QueueRule>,
    /// Rules of sums.
    #[serde(deserialize_with = "lenient::list", skip_serializing_if = "Vec::is_empty")]
    pub match_total_rules: Vec<QueueRule>,
    /// The rule of latencies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub region_selection_rule: Option<QueueRule>,
    /// Rules of the averages of teams.
    #[serde(deserialize_with = "lenient::list", skip_serializing_if = "Vec::is_empty")]
    pub team_difference_rules: Vec<QueueRule>,
    /// The rule of the sizes of teams.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub team_size_balance_rule: Option<QueueRule>,
    /// The rule of parties.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub team_ticket_size_similarity_rule: Option<QueueRule>,
}

/// A build by its alias.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct BuildAliasParams {
    /// The alias.
    #[serde(deserialize_with = "lenient::or_default")]
    pub alias_id: String,
}

/// A team.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct MatchmakingQueueTeam {
    /// Its name.
    #[serde(deserialize_with = "lenient::or_default")]
    pub name: String,
    /// The least players.
    #[serde(deserialize_with = "lenient::integer_or_default")]
    pub min_team_size: u32,
    /// The most players.
    #[serde(deserialize_with = "lenient::integer_or_default")]
    pub max_team_size: u32,
}

/// What players may see.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct StatisticsVisibilityToPlayers {
    /// How many players are matching.
    #[serde(deserialize_with = "lenient::or_default")]
    pub show_number_of_players_matching: bool,
    /// How long matching takes.
    #[serde(deserialize_with = "lenient::or_default")]
    pub show_time_to_match: bool,
}

impl MatchmakingQueueConfig {
    /// Reads a queue of either dialect.
    ///
    /// # Errors
    /// What is no queue: everything of another type than it should be, each with its place, every rule that cannot be turned, and what is
    /// wrong with the rest; where there is nothing of that, what the reader says.
    pub fn read(body: Value) -> Result<Self, Vec<Fault>> {
        let no_objects = types::no_objects(&body);
        if !no_objects.is_empty() {
            return Err(no_objects);
        }
        let sent = body.clone();
        let (typed, unturned) = dialect::typed(body);
        match serde_json::from_value(typed) {
            Ok(queue) if unturned.is_empty() => Ok(queue),
            Ok(_) => Err(Self::faults(sent, None)),
            Err(error) => Err(Self::faults(sent, Some(&error))),
        }
    }

    /// All that is wrong with what is no queue.
    fn faults(mut sent: Value, error: Option<&serde_json::Error>) -> Vec<Fault> {
        let mut faults = types::faults(&sent);
        let left_out = faults.iter().map(|fault| LeftOut::of(&mut sent, &fault.place)).collect::<Vec<_>>();
        let (typed, unturned) = dialect::typed(sent);
        faults.extend(unturned);
        if let Ok(rest) = serde_json::from_value::<Self>(typed) {
            let is_missed = |fault: &Fault| left_out.iter().any(|field| field.is_missed_by(fault));
            faults.extend(rest.besides().into_iter().filter(|fault| !is_missed(fault)));
        }
        if let Some(error) = error.filter(|_| faults.is_empty()) {
            faults.push(Fault { place: "queue".into(), what: error.to_string() });
        }
        faults
    }

    /// What is wrong with it besides, of a queue of which rules are left out.
    fn besides(&self) -> Vec<Fault> {
        let (declared, faults) = self.understood(None);
        // They need a rule, which may be left out.
        let declared = Declared { regions: Vec::new(), ..declared };
        let understood = if faults.is_empty() { Ok(()) } else { Err(faults) };
        Fault::both(understood, QueueSpec::new(declared)).err().unwrap_or_default()
    }

    /// What runs on the servers of its matches, as PlayFab calls it; `None`: they get none.
    ///
    /// # Errors
    /// Where servers are wanted and it does not say of what, or says two things.
    pub fn build(&self) -> Result<Option<PlayFabBuild>, Vec<Fault>> {
        if !self.server_allocation_enabled {
            return Ok(None);
        }
        let id = self.build_id.as_deref().filter(|id| !id.is_empty());
        let alias =
            self.build_alias_params.as_ref().map(|alias| &*alias.alias_id).filter(|id| !id.is_empty());
        let what = match (id, alias) {
            (Some(id), None) => return Ok(Some(PlayFabBuild::Id(id.into()))),
            (None, Some(alias)) => return Ok(Some(PlayFabBuild::Alias(alias.into()))),
            (None, None) => "ServerAllocationEnabled, and neither BuildId nor BuildAliasParams",
            (Some(_), Some(_)) => "BuildId and BuildAliasParams: one of them",
        };
        Err(vec![Fault { place: "BuildId".into(), what: what.into() }])
    }

    /// The queue as the rules take it, still unchecked, with what [`MatchmakingQueueConfig::build`] stands for here.
    ///
    /// # Errors
    /// Every number that is none, and every word that is unknown.
    pub fn declared(&self, allocation: Option<ServerAllocation>) -> Result<Declared, Vec<Fault>> {
        let (declared, faults) = self.understood(allocation);
        if faults.is_empty() { Ok(declared) } else { Err(faults) }
    }

    /// The queue as it is matched by, with what [`MatchmakingQueueConfig::build`] stands for here.
    ///
    /// # Errors
    /// Everything that is wrong with it: what is not understood, and what of the rest does not work out.
    pub fn spec(&self, allocation: Option<ServerAllocation>) -> Result<QueueSpec, Vec<Fault>> {
        let (declared, faults) = self.understood(allocation);
        let understood = if faults.is_empty() { Ok(()) } else { Err(faults) };
        Fault::both(understood, QueueSpec::new(declared)).map(|((), spec)| spec)
    }

    /// What of it is understood, without the rules that are not; and every number that is none, and every word that is unknown.
    fn understood(&self, allocation: Option<ServerAllocation>) -> (Declared, Vec<Fault>) {
        let mut faults = Vec::new();
        let rules =
            self.rules().filter_map(|(kind, rule)| Reading { rule, faults: &mut faults }.declared(kind));
        let rules = rules.collect();
        // What hangs on a rule is no fault of its own where rules are not understood.
        let regions = if faults.is_empty() { &self.regions[..] } else { &[] };
        let regions = regions.iter().map(|region| region.as_str().into()).collect();
        let venue = self.venue(allocation, &mut faults);
        let gather = gather::read(self.gather.as_deref()).unwrap_or_else(|fault| {
            faults.push(fault);
            Gather::NONE
        });
        let declared = Declared {
            name: self.name.as_str().into(),
            min_match_size: self.min_match_size,
            max_match_size: self.max_match_size,
            max_ticket_size: self.max_ticket_size.filter(|size| *size > 0),
            teams: self.teams.iter().map(TeamSpec::from).collect(),
            rules,
            regions,
            visibility: self.statistics_visibility_to_players.unwrap_or_default().into(),
            venue,
            gather,
            unread: self.unread(),
        };
        (declared, faults)
    }

    /// What is told and has no meaning beside the rest.
    fn unread(&self) -> Unread {
        let told = |id: Option<&str>| id.filter(|id| !id.is_empty()).map(Arc::from);
        let (build_id, build_alias) = if self.server_allocation_enabled {
            (None, None)
        } else {
            let alias = self.build_alias_params.as_ref().map(|alias| &*alias.alias_id);
            (told(self.build_id.as_deref()), told(alias))
        };
        let defaults = self.rules().filter_map(|(kind, rule)| rule.unread_default(kind));
        Unread { build_id, build_alias, defaults: defaults.collect() }
    }

    /// Where its matches are played, with what was made of its build.
    fn venue(&self, allocation: Option<ServerAllocation>, faults: &mut Vec<Fault>) -> Option<Venue> {
        let mut fault = |what: String| faults.push(Fault { place: "Session".into(), what });
        match (allocation.map(Venue::Server), self.session.as_deref()) {
            (server, None) => server,
            (None, Some(lobby)) if Service::ALL.iter().any(|service| service.name() == lobby) => {
                Some(Venue::Session { lobby: lobby.into() })
            }
            (None, Some(lobby)) => {
                fault(format!("`{lobby}` is no lobby service: online or lan"));
                None
            }
            (server @ Some(_), Some(_)) => {
                fault("a match is played on a server or in a session of its players, not both".to_owned());
                server
            }
        }
    }

    fn rules(&self) -> impl Iterator<Item = (Type, &QueueRule)> {
        let lists = [
            (Type::StringEquality, &self.string_equality_rules[..]),
            (Type::Difference, &self.difference_rules),
            (Type::SetIntersection, &self.set_intersection_rules),
            (Type::MatchTotal, &self.match_total_rules),
            (Type::RegionSelection, self.region_selection_rule.as_slice()),
            (Type::TeamDifference, &self.team_difference_rules),
            (Type::TeamSizeBalance, self.team_size_balance_rule.as_slice()),
            (Type::TeamTicketSizeSimilarity, self.team_ticket_size_similarity_rule.as_slice()),
        ];
        lists.into_iter().flat_map(|(kind, rules)| rules.iter().map(move |rule| (kind, rule)))
    }

    /// The queue as it is shown. One that was not pasted calls its build `FLEET/BUILDCONFIGURATION`.
    #[must_use]
    pub fn of(queue: &Declared) -> Self {
        let mut shown = Self {
            name: queue.name.to_string(),
            min_match_size: queue.min_match_size,
            max_match_size: queue.max_match_size,
            max_ticket_size: queue.max_ticket_size,
            regions: queue.regions.iter().map(ToString::to_string).collect(),
            teams: queue.teams.iter().map(MatchmakingQueueTeam::from).collect(),
            statistics_visibility_to_players: Some(queue.visibility.into()),
            gather: gather::shown(queue.gather),
            build_id: queue.unread.build_id.as_deref().map(str::to_owned),
            build_alias_params: queue.unread.build_alias.as_ref().map(BuildAliasParams::of),
            ..Self::default()
        };
        match &queue.venue {
            None => {}
            Some(Venue::Session { lobby }) => shown.session = Some(lobby.to_string()),
            Some(Venue::Server(allocation)) => shown.plays_on(allocation),
        }
        for rule in &queue.rules {
            let written = QueueRule::of(rule).with_unread(&queue.unread);
            match Type::of(&rule.kind) {
                Type::StringEquality => shown.string_equality_rules.push(written),
                Type::Difference => shown.difference_rules.push(written),
                Type::SetIntersection => shown.set_intersection_rules.push(written),
                Type::MatchTotal => shown.match_total_rules.push(written),
                Type::RegionSelection => shown.region_selection_rule = Some(written),
                Type::TeamDifference => shown.team_difference_rules.push(written),
                Type::TeamSizeBalance => shown.team_size_balance_rule = Some(written),
                Type::TeamTicketSizeSimilarity => shown.team_ticket_size_similarity_rule = Some(written),
            }
        }
        shown
    }

    fn plays_on(&mut self, allocation: &ServerAllocation) {
        let ServerAllocation { fleet, build_configuration, build } = allocation;
        self.server_allocation_enabled = true;
        match build {
            Some(PlayFabBuild::Id(id)) => self.build_id = Some(id.to_string()),
            Some(PlayFabBuild::Alias(id)) => self.build_alias_params = Some(BuildAliasParams::of(id)),
            None => self.build_id = Some(format!("{fleet}/{build_configuration}")),
        }
    }
}

impl BuildAliasParams {
    fn of(id: &Arc<str>) -> Self {
        Self { alias_id: id.to_string() }
    }
}

impl From<&MatchmakingQueueTeam> for TeamSpec {
    fn from(team: &MatchmakingQueueTeam) -> Self {
        Self { name: team.name.as_str().into(), min: team.min_team_size, max: team.max_team_size }
    }
}

impl From<&TeamSpec> for MatchmakingQueueTeam {
    fn from(team: &TeamSpec) -> Self {
        Self { name: team.name.to_string(), min_team_size: team.min, max_team_size: team.max }
    }
}

impl From<StatisticsVisibilityToPlayers> for Visibility {
    fn from(told: StatisticsVisibilityToPlayers) -> Self {
        let shown = |shown| if shown { Shown::ToPlayers } else { Shown::Hidden };
        Self {
            players_matching: shown(told.show_number_of_players_matching),
            time_to_match: shown(told.show_time_to_match),
        }
    }
}

impl From<Visibility> for StatisticsVisibilityToPlayers {
    fn from(visibility: Visibility) -> Self {
        Self {
            show_number_of_players_matching: visibility.players_matching == Shown::ToPlayers,
            show_time_to_match: visibility.time_to_match == Shown::ToPlayers,
        }
    }
}
