//! Two tickets, rule by rule: whether they fit, and by how much they do not.

use alloc::sync::Arc;
use alloc::vec::Vec;

use mainstay_core::Timestamp;

use super::limits::{self, Best, restricts};
use crate::amount::Amount;
use crate::attribute::{Facts, Text};
use crate::distance;
use crate::engine::Kind;
use crate::entity::Entity;
use crate::spec::{QueueSpec, Rule, RuleKind};

/// A ticket as the rules see it.
pub(super) struct Side<'a> {
    pub kind: Kind,
    pub players: Vec<&'a Entity>,
    pub facts: Facts,
    /// The most players of a match it may be in.
    pub room: u32,
    /// In seconds.
    pub waited: u32,
}

/// What a rule says of two tickets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judged {
    /// Its name; that of the match's size is `matchSize`, and that of nobody being in a match twice `samePlayer`.
    pub rule: Arc<str>,
    /// What it says.
    pub verdict: Verdict,
    /// Of a rule that keeps two tickets apart: when it will do so no more, if both wait on as they are; `None` where neither waits so long, and of a whole match.
    pub fits_at: Option<Timestamp>,
}

/// Whether two tickets fit by a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// They do, or the rule does not restrict either of them, or it looks at whole teams.
    Fits,
    /// They do not.
    Fails(Short),
}

/// What keeps tickets apart: two of them, or those of a whole match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Short {
    /// Too many players for a match.
    Players {
        /// How many they are.
        players: u32,
        /// How many a match has at most.
        max: u32,
    },
    /// Different texts, or a ticket whose own players differ, which fits nobody.
    Texts {
        /// This ticket's.
        own: Text,
        /// The other's.
        other: Text,
    },
    /// Numbers too far apart.
    Apart {
        /// By how much they differ.
        by: Amount,
        /// By how much they may, for the stricter of the two.
        allowed: Amount,
    },
    /// Too few values in common.
    Shared {
        /// How many.
        shared: u32,
        /// How many it takes, for the stricter of the two.
        needed: u32,
    },
    /// Nobody else: a match is of two tickets at least.
    Alone,
    /// Too few players for a match.
    TooFew {
        /// How many they are.
        players: u32,
        /// How many a match has at least.
        min: u32,
    },
    /// A sum that is too small still.
    TotalBelow {
        /// It.
        sum: Amount,
        /// How large it has to be.
        min: Amount,
    },
    /// No way to seat them: a ticket is not divided.
    Seats {
        /// How many the largest ticket has.
        largest: u32,
        /// For how many the emptiest team has places, besides those who play on it already.
        max: u32,
    },
    /// Too few on a team.
    TeamTooFew {
        /// Which.
        team: Arc<str>,
        /// How many they would be.
        players: u32,
        /// How many it has at least.
        min: u32,
    },
    /// Teams whose sizes are too far apart.
    Uneven {
        /// By how many players the largest and the smallest differ.
        by: u32,
        /// By how many they may.
        allowed: u32,
    },
    /// Large parties on some teams, and on others none.
    Parties {
        /// On how many teams.
        with: usize,
        /// Of how many.
        teams: usize,
    },
    /// A sum that is too large already.
    Total {
        /// It.
        sum: Amount,
        /// How large it may be.
        max: Amount,
    },
    /// A player in both: nobody is in a match twice.
    SamePlayer,
    /// No region near enough for both.
    Region {
        /// The best of those that all measured whose rule restricts, with the latency of whoever is furthest beyond its own limit.
        best: Option<(Arc<str>, u32)>,
        /// The largest latency for that one.
        allowed: u32,
    },
}

impl Judged {
    /// As things are now.
    pub(super) const fn now(rule: Arc<str>, verdict: Verdict) -> Self {
        Self { rule, verdict, fits_at: None }
    }

    /// Whether the rule keeps them apart.
    #[must_use]
    pub const fn fails(&self) -> bool {
        matches!(self.verdict, Verdict::Fails(_))
    }
}

/// How the size of a match is named among the rules.
const MATCH_SIZE: &str = "matchSize";
/// How it is named that the two share a player, where they do.
const SAME_PLAYER: &str = "samePlayer";

/// The name of what stands at a place of [`judge`]'s list.
pub(super) fn name(spec: &QueueSpec, index: usize) -> Arc<str> {
    let after = if index == spec.rules.len() { MATCH_SIZE } else { SAME_PLAYER };
    spec.rules.get(index).map_or_else(|| after.into(), |rule| rule.name.clone())
}

/// Every rule in order, then the size of a match, and that they share a player where they do; and how far apart the two are by those that measure.
pub(super) fn judge(spec: &QueueSpec, own: &Side<'_>, other: &Side<'_>) -> (Vec<Judged>, f64) {
    let mut at = Places::default();
    let mut apart = 0.0;
    let mut judged: Vec<Judged> = Vec::with_capacity(spec.rules.len() + 1);
    for rule in &spec.rules {
        let (short, distance) = between(rule, own, other, &mut at);
        apart += distance;
        let verdict = short.map_or(Verdict::Fits, Verdict::Fails);
        judged.push(Judged::now(rule.name.clone(), verdict));
    }
    let players = u32::from(own.facts.players) + u32::from(other.facts.players);
    let max = own.room.min(other.room);
    let verdict = if players > max { Verdict::Fails(Short::Players { players, max }) } else { Verdict::Fits };
    judged.push(Judged::now(MATCH_SIZE.into(), verdict));
    if own.players.iter().any(|player| other.players.contains(player)) {
        judged.push(Judged::now(SAME_PLAYER.into(), Verdict::Fails(Short::SamePlayer)));
    }
    (judged, apart)
}

/// How many rules of each kind came before.
#[derive(Default)]
struct Places {
    texts: usize,
    numbers: usize,
    sets: usize,
    totals: usize,
}

fn next(place: &mut usize) -> usize {
    *place += 1;
    *place - 1
}

fn between(rule: &Rule, own: &Side<'_>, other: &Side<'_>, at: &mut Places) -> (Option<Short>, f64) {
    // Of rules between tickets each ticket's own limit holds (record 0041, 11).
    let sides = [own, other];
    match &rule.kind {
        RuleKind::StringEquality { enforced, .. } => {
            let index = next(&mut at.texts);
            let text = |side: &Side<'_>| side.facts.texts.get(index).cloned().unwrap_or(Text::Any);
            // Who fits anyone asks nothing by it.
            let is_asked = |side: &Side<'_>| {
                restricts(rule, side) && enforced.after(side.waited).is_some() && text(side) != Text::Any
            };
            let (own, other) = (text(own), text(other));
            let same = match (&own, &other) {
                (Text::Mixed, _) | (_, Text::Mixed) => false,
                (Text::Any, _) | (_, Text::Any) => true,
                (Text::Same(own), Text::Same(other)) => own == other,
            };
            let is_near = same || own == Text::Any || other == Text::Any;
            let restricted = sides.into_iter().any(is_asked);
            let short = (restricted && !same).then_some(Short::Texts { own, other });
            (short, if is_near { 0.0 } else { 1.0 })
        }
        RuleKind::Difference { allowed, .. } => {
            let index = next(&mut at.numbers);
            let number = |side: &Side<'_>| side.facts.numbers.get(index).copied().flatten();
            let (Some(one), Some(two)) = (number(own), number(other)) else { return (None, 0.0) };
            let by = Amount::from_millionths((one.millionths() - two.millionths()).abs());
            let limits = sides.iter().filter(|side| restricts(rule, side));
            let limit = limits.filter_map(|side| allowed.after(side.waited)).min();
            let scale = allowed.after(own.waited).unwrap_or(Amount::ONE);
            let short = limit.filter(|limit| by > *limit).map(|allowed| Short::Apart { by, allowed });
            (short, distance::difference(by.to_f64(), scale.to_f64()))
        }
        RuleKind::SetIntersection { shared: least, .. } => {
            let index = next(&mut at.sets);
            let (shared, needed) = limits::shared((rule, least), index, sides.into_iter());
            let fits_any = |side: &&Side<'_>| side.facts.sets.get(index).is_none_or(Option::is_none);
            let short = (shared < needed).then_some(Short::Shared { shared, needed });
            (short, if sides.iter().any(fits_any) { 0.0 } else { distance::set(shared) })
        }
        RuleKind::MatchTotal { max, .. } => {
            let index = next(&mut at.totals);
            let total = |side: &Side<'_>| side.facts.totals.get(index).copied().unwrap_or_default();
            let sum = total(own) + total(other);
            // Of rules of the whole match, the age of whoever has waited longest counts.
            let waited = own.waited.max(other.waited);
            let restricts = rule.optional_after.is_none_or(|after| waited < after);
            let max = max.after(waited).filter(|max| restricts && sum > *max);
            (max.map(|max| Short::Total { sum, max }), 0.0)
        }
        RuleKind::RegionSelection { latency, .. } => {
            let Some(best) = Best::of((rule, latency), sides.into_iter()) else { return (None, 0.0) };
            let near = distance::region(best.quality());
            (best.short(), near)
        }
        RuleKind::TeamDifference { .. }
        | RuleKind::TeamSizeBalance { .. }
        | RuleKind::TeamTicketSizeSimilarity => (None, 0.0),
    }
}
