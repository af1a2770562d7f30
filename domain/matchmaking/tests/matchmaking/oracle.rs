//! What a match is, said once more and independently: from the declaration and the players' values alone, by trying everything.
//!
//! It shares nothing with the engine but the words of the specification.

use std::collections::BTreeSet;
use std::sync::Arc;

use mainstay_core::{TicketId, Timestamp};
use mainstay_matchmaking::spec::{Gather, Merge, Missing, QueueSpec, Rule, RuleKind};
use mainstay_matchmaking::{
    Amount, BackfillStage, BackfillTicket, Member, Queue, Searching, Stage, Ticket, Value,
};

/// A waiting ticket.
#[derive(Debug, Clone)]
pub enum Waiting {
    Ticket(Arc<Ticket>),
    Game(Arc<BackfillTicket>),
}

impl Waiting {
    pub fn members(&self) -> Vec<&Member> {
        match self {
            Self::Ticket(ticket) => ticket.members.iter().collect(),
            Self::Game(game) => game.members.iter().map(|seated| &seated.member).collect(),
        }
    }

    /// Which.
    pub fn id(&self) -> TicketId {
        match self {
            Self::Ticket(ticket) => ticket.id,
            Self::Game(game) => game.id,
        }
    }

    /// Since when it waits.
    pub fn since(&self) -> Timestamp {
        self.searching().since
    }

    /// From when on it can be met: whoever is gathered waits for the next time that anybody is looked at, and so does whoever comes back.
    pub fn comes(&self, gather: Gather) -> Timestamp {
        let Searching { since, back, .. } = self.searching();
        gather.next_after(back.map_or(since, |back| back.at.max(since)))
    }

    fn searching(&self) -> Searching {
        match self {
            Self::Ticket(ticket) => match ticket.stage {
                Stage::Searching(searching) => searching,
                Stage::Gathering | Stage::Held { .. } | Stage::Matched { .. } | Stage::Canceled { .. } => {
                    panic!("it does not search")
                }
            },
            Self::Game(game) => match game.stage {
                BackfillStage::Searching(searching) => searching,
                BackfillStage::Matched { .. } | BackfillStage::Canceled { .. } => {
                    panic!("it does not search")
                }
            },
        }
    }

    fn waited(&self, now: Timestamp) -> u32 {
        u32::try_from(now.since(self.since()).as_secs()).unwrap()
    }

    pub fn is_game(&self) -> bool {
        matches!(self, Self::Game(_))
    }
}

/// Everything that searches.
pub fn waiting(queue: &Queue) -> Vec<Waiting> {
    let tickets = queue.tickets().filter(|ticket| matches!(ticket.stage, Stage::Searching(_)));
    let games = queue.backfills().filter(|game| matches!(game.stage, BackfillStage::Searching(_)));
    tickets.cloned().map(Waiting::Ticket).chain(games.cloned().map(Waiting::Game)).collect()
}

/// Everything that was looked at when anything was last, and when that was. Where a queue gathers those who come, whoever has come or come back since
/// waits for the next time; and so does everybody where its limits have changed since.
pub fn looked_at(
    spec: &QueueSpec,
    queue: &Queue,
    configured: Timestamp,
    now: Timestamp,
) -> (Vec<Waiting>, Timestamp) {
    let at = spec.gather.last_until(now);
    let is_anew = spec.gather.next_after(configured) > at;
    let mut all = waiting(queue);
    all.retain(|it| it.comes(spec.gather) <= at && !is_anew);
    (all, at)
}

/// Any group of these that is a match; `None` where there is none at all. Every group is tried but those of another size, and those with two
/// who cannot be [together](may_be_together) whoever else is there.
pub fn missed_among(spec: &QueueSpec, all: &[Waiting], now: Timestamp) -> Option<Vec<Waiting>> {
    assert!(all.len() <= 14, "{} tickets are too many to try everything", all.len());
    let size = spec.min_match_size as usize..=spec.max_match_size as usize;
    let players: Vec<usize> = all.iter().map(|it| it.members().len()).collect();
    let friends: Vec<u32> = all
        .iter()
        .map(|one| {
            let fits = |other: &Waiting| u32::from(may_be_together(spec, [one, other], now));
            all.iter().enumerate().map(|(at, other)| fits(other) << at).sum()
        })
        .collect();
    let sized = (1..1_u32 << all.len()).filter(|group| {
        group.count_ones() >= 2 && size.contains(&of_group(*group).map(|at| players[at]).sum())
    });
    sized
        .filter(|group| of_group(*group).all(|at| group & !friends[at] & !(1 << at) == 0))
        .map(|group| of_group(group).map(|at| all[at].clone()).collect())
        .find(|group: &Vec<Waiting>| why_not(spec, group, now).is_none())
}

/// Which tickets are in a group, one bit each.
fn of_group(mut group: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let first = (group != 0).then(|| group.trailing_zeros())?;
        group &= group - 1;
        Some(first as usize)
    })
}

/// Whether two can be in any match together: what they break by themselves, or with each other, nobody who joins them makes good. Of totals and
/// teams that is not so.
fn may_be_together(spec: &QueueSpec, pair: [&Waiting; 2], now: Timestamp) -> bool {
    let pair = pair.map(Waiting::clone);
    spec.rules.iter().enumerate().all(|(index, rule)| match rule.kind {
        RuleKind::StringEquality { .. }
        | RuleKind::Difference { .. }
        | RuleKind::SetIntersection { .. }
        | RuleKind::RegionSelection { .. } => holds(index, rule, &pair, now),
        RuleKind::MatchTotal { .. }
        | RuleKind::TeamDifference { .. }
        | RuleKind::TeamSizeBalance { .. }
        | RuleKind::TeamTicketSizeSimilarity => true,
    })
}

/// Why a group is no match at a moment; `None` where it is one.
pub fn why_not(spec: &QueueSpec, group: &[Waiting], now: Timestamp) -> Option<String> {
    let players: usize = group.iter().map(|it| it.members().len()).sum();
    let games = group.iter().filter(|it| it.is_game()).count();
    let size = spec.min_match_size as usize..=spec.max_match_size as usize;
    if group.len() < 2 || games > 1 || !size.contains(&players) {
        return Some(format!("{} tickets, {games} games, {players} players", group.len()));
    }
    let mut all = BTreeSet::new();
    if let Some(twice) = group.iter().flat_map(Waiting::members).find(|member| !all.insert(&member.entity)) {
        return Some(format!("{} twice", twice.entity));
    }
    for game in group {
        if let Waiting::Game(game) = game
            && let Some(places) = game.places
            && players > game.members.len() + places as usize
        {
            return Some("more players than places".into());
        }
    }
    let broken = spec.rules.iter().enumerate().find(|(index, rule)| !holds(*index, rule, group, now));
    if let Some((_, rule)) = broken {
        return Some(format!("rule {}", rule.name));
    }
    (!spec.teams.is_empty() && !can_be_seated(spec, group, now)).then(|| "teams".into())
}

/// The age by which a rule of the whole match is judged: that of the ticket that has waited longest.
fn eldest(group: &[Waiting], now: Timestamp) -> u32 {
    group.iter().min_by_key(|it| (it.since(), it.searching().arrival)).unwrap().waited(now)
}

fn is_optional(rule: &Rule, waited: u32) -> bool {
    rule.optional_after.is_some_and(|after| waited >= after)
}

/// What a rule finds of a player; of whom nothing was told, nothing.
fn value(member: &Member, index: usize) -> Option<Value> {
    member.attributes.values.get(index).cloned().flatten()
}

fn values(ticket: &Waiting, index: usize) -> Vec<Option<Value>> {
    ticket.members().iter().map(|member| value(member, index)).collect()
}

/// Whether a group keeps a rule, whatever the rule says of its teams.
pub fn holds(index: usize, rule: &Rule, group: &[Waiting], now: Timestamp) -> bool {
    let restricts = |ticket: &Waiting| !is_optional(rule, ticket.waited(now));
    match &rule.kind {
        RuleKind::StringEquality { missing, enforced, .. } => {
            let mut all = BTreeSet::new();
            let mut restricted = false;
            for ticket in group {
                let own: Vec<String> =
                    values(ticket, index).into_iter().filter_map(|it| text(&it, missing)).collect();
                restricted |=
                    !own.is_empty() && restricts(ticket) && enforced.after(ticket.waited(now)).is_some();
                all.extend(own);
            }
            !restricted || all.len() <= 1
        }
        RuleKind::Difference { missing, merge, allowed, .. } => {
            let numbers: Vec<(Amount, Option<Amount>)> = group
                .iter()
                .filter_map(|ticket| {
                    let own =
                        values(ticket, index).into_iter().filter_map(|it| amount(&it, missing)).collect();
                    let limit = allowed.after(ticket.waited(now)).filter(|_| restricts(ticket));
                    merged(own, *merge).map(|number| (number, limit))
                })
                .collect();
            numbers.iter().all(|(one, limit)| {
                limit.is_none_or(|limit| {
                    numbers.iter().all(|(other, _)| {
                        one.millionths().abs_diff(other.millionths()) <= limit.millionths().unsigned_abs()
                    })
                })
            })
        }
        RuleKind::SetIntersection { missing, shared, .. } => {
            let mut common: Option<BTreeSet<Arc<str>>> = None;
            let mut need = 0;
            for ticket in group {
                let own: Vec<BTreeSet<Arc<str>>> =
                    values(ticket, index).into_iter().filter_map(|it| set(&it, missing)).collect();
                if own.is_empty() {
                    continue;
                }
                let limit = shared.after(ticket.waited(now)).filter(|_| restricts(ticket));
                need = need.max(limit.unwrap_or(0));
                for own in own {
                    common = Some(
                        common.map_or(own.clone(), |common| common.intersection(&own).cloned().collect()),
                    );
                }
            }
            common.is_none_or(|common| common.len() >= need as usize)
        }
        RuleKind::MatchTotal { min, max, .. } => {
            let waited = eldest(group, now);
            let sum: i64 = group
                .iter()
                .flat_map(|ticket| values(ticket, index))
                .map(|value| amount(&value, &Missing::MatchAny).unwrap().millionths())
                .sum();
            is_optional(rule, waited)
                || (min.after(waited).is_none_or(|min| sum >= min.millionths())
                    && max.after(waited).is_none_or(|max| sum <= max.millionths()))
        }
        RuleKind::RegionSelection { latency, .. } => {
            let fits = |region: &str| {
                group.iter().all(|ticket| {
                    can_play(ticket, region, index, restricts(ticket), latency.after(ticket.waited(now)))
                })
            };
            let mut named: Vec<String> = group.iter().flat_map(|ticket| regions(ticket, index)).collect();
            // Where nobody's rule restricts any region does, also one that nobody named.
            named.push("elsewhere".into());
            named.iter().any(|region| fits(region))
        }
        RuleKind::TeamDifference { .. }
        | RuleKind::TeamSizeBalance { .. }
        | RuleKind::TeamTicketSizeSimilarity => true,
    }
}

fn regions(ticket: &Waiting, index: usize) -> Vec<String> {
    if let Waiting::Game(game) = ticket {
        return game.server.region.iter().map(|region| region.to_lowercase()).collect();
    }
    let measured = values(ticket, index).into_iter().flatten().flat_map(|value| match value {
        Value::Latencies(measured) => measured.iter().map(|(region, _)| region.to_lowercase()).collect(),
        Value::Text(_) | Value::Number(_) | Value::Texts(_) | Value::Other(_) => Vec::new(),
    });
    measured.collect()
}

fn can_play(ticket: &Waiting, region: &str, index: usize, restricts: bool, limit: Option<u32>) -> bool {
    if ticket.is_game() {
        return regions(ticket, index).iter().any(|own| own == region);
    }
    let Some(limit) = limit.filter(|_| restricts) else { return true };
    values(ticket, index).into_iter().all(|value| {
        let Some(Value::Latencies(measured)) = value else { return false };
        let own: Vec<u32> =
            measured.iter().filter(|(name, _)| name.to_lowercase() == region).map(|(_, ms)| *ms).collect();
        own.iter().max().is_some_and(|worst| *worst <= limit)
    })
}

fn can_be_seated(spec: &QueueSpec, group: &[Waiting], now: Timestamp) -> bool {
    let mut seated: Vec<Vec<(Member, bool)>> = vec![Vec::new(); spec.teams.len()];
    let mut units: Vec<Vec<Member>> = Vec::new();
    for ticket in group {
        match ticket {
            Waiting::Ticket(ticket) => units.push(ticket.members.to_vec()),
            Waiting::Game(game) => {
                for member in game.members.iter() {
                    match &member.team {
                        None => units.push(vec![member.member.clone()]),
                        Some(team) => {
                            let team = spec.teams.iter().position(|it| it.name == *team).unwrap();
                            seated[team].push((member.member.clone(), false));
                        }
                    }
                }
            }
        }
    }
    let similar = !group.iter().any(Waiting::is_game);
    seat(spec, &units, &mut seated, eldest(group, now), similar)
}

/// Every seating there is.
fn seat(
    spec: &QueueSpec,
    units: &[Vec<Member>],
    teams: &mut Vec<Vec<(Member, bool)>>,
    waited: u32,
    similar: bool,
) -> bool {
    let Some((unit, rest)) = units.split_first() else { return teams_hold(spec, teams, waited, similar) };
    let largest = spec.teams.iter().map(|team| team.max as usize).max().unwrap();
    let large = unit.len() >= 2 && unit.len() * 2 >= largest;
    (0..teams.len()).any(|team| {
        let before = teams[team].len();
        if before + unit.len() > spec.teams[team].max as usize {
            return false;
        }
        teams[team].extend(unit.iter().map(|member| (member.clone(), large)));
        let found = seat(spec, rest, teams, waited, similar);
        teams[team].truncate(before);
        found
    })
}

fn teams_hold(spec: &QueueSpec, teams: &[Vec<(Member, bool)>], waited: u32, similar: bool) -> bool {
    let sized = teams
        .iter()
        .zip(&spec.teams)
        .all(|(team, it)| (it.min as usize..=it.max as usize).contains(&team.len()));
    sized
        && spec.rules.iter().enumerate().all(|(index, rule)| {
            is_optional(rule, waited) || team_rule_holds(index, rule, teams, waited, similar)
        })
}

fn team_rule_holds(
    index: usize,
    rule: &Rule,
    teams: &[Vec<(Member, bool)>],
    waited: u32,
    similar: bool,
) -> bool {
    match &rule.kind {
        RuleKind::TeamDifference { default, allowed, .. } => {
            let averages = teams.iter().filter(|team| !team.is_empty()).map(|team| {
                let own = |member: &Member| amount(&value(member, index), &Missing::UseDefault(*default));
                let sum: i64 = team.iter().map(|(member, _)| own(member).unwrap().millionths()).sum();
                sum.div_euclid(i64::try_from(team.len()).unwrap())
            });
            let (low, high) = (averages.clone().min().unwrap_or(0), averages.max().unwrap_or(0));
            allowed.after(waited).is_none_or(|allowed| high - low <= allowed.millionths())
        }
        RuleKind::TeamSizeBalance { allowed } => {
            let sizes = teams.iter().map(Vec::len);
            let spread = sizes.clone().max().unwrap() - sizes.min().unwrap();
            allowed.after(waited).is_none_or(|allowed| spread <= allowed as usize)
        }
        RuleKind::TeamTicketSizeSimilarity => {
            let large = teams.iter().filter(|team| team.iter().any(|(_, large)| *large)).count();
            !similar || large == 0 || large == teams.len()
        }
        RuleKind::StringEquality { .. }
        | RuleKind::Difference { .. }
        | RuleKind::SetIntersection { .. }
        | RuleKind::MatchTotal { .. }
        | RuleKind::RegionSelection { .. } => true,
    }
}

fn text(value: &Option<Value>, missing: &Missing<Arc<str>>) -> Option<String> {
    match (value, missing) {
        (Some(Value::Text(text)), _) | (None, Missing::UseDefault(text)) => Some(text.to_string()),
        (None, Missing::MatchAny) => None,
        (Some(other), _) => panic!("{other:?} was let in as a text"),
    }
}

fn amount(value: &Option<Value>, missing: &Missing<Amount>) -> Option<Amount> {
    match (value, missing) {
        (Some(Value::Number(number)), _) | (None, Missing::UseDefault(number)) => Some(*number),
        (None, Missing::MatchAny) => None,
        (Some(other), _) => panic!("{other:?} was let in as a number"),
    }
}

fn set(value: &Option<Value>, missing: &Missing<Arc<[Arc<str>]>>) -> Option<BTreeSet<Arc<str>>> {
    match (value, missing) {
        (Some(Value::Texts(texts)), _) | (None, Missing::UseDefault(texts)) => {
            Some(texts.iter().cloned().collect())
        }
        (None, Missing::MatchAny) => None,
        (Some(other), _) => panic!("{other:?} was let in as a list"),
    }
}

fn merged(numbers: Vec<Amount>, merge: Merge) -> Option<Amount> {
    let count = i64::try_from(numbers.len()).unwrap();
    match merge {
        Merge::Min => numbers.into_iter().min(),
        Merge::Max => numbers.into_iter().max(),
        Merge::Average if count == 0 => None,
        Merge::Average => {
            let sum: i64 = numbers.iter().map(|number| number.millionths()).sum();
            Some(Amount::from_millionths(sum.div_euclid(count)))
        }
    }
}
