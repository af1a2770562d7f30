//! What players get: how long they wait, by the size of their party and by their skill, how even their teams are, and how far away they play. The mean hides who
//! suffers.

use std::collections::BTreeMap;
use std::sync::Arc;

use mainstay_core::Timestamp;
use mainstay_matchmaking::bare::{Facts, Found, Handle};

use super::pool::Put;
use crate::report::percentile;

/// Skill that makes the odds of winning ten to one, as chess counts it.
const TEN_TO_ONE: f64 = 400.0;
/// Between what chances of the stronger team a match counts as even, in percent.
const EVEN: std::ops::RangeInclusive<f64> = 45.0..=55.0;
const TENTHS: usize = 10;

/// Those who wait, and what became of those who did.
#[derive(Debug, Default)]
pub struct Account {
    /// Who waits, by handle.
    waiting: BTreeMap<Handle, Waiting>,
    tickets: Vec<Matched>,
    /// Of each match: the mean skill of its best team less that of its worst.
    uneven: Vec<f64>,
    /// And between its best and its worst ticket.
    spreads: Vec<f64>,
    /// Of each ticket the latency to the region of its match, and how much more that is than to the nearest.
    latencies: Vec<f64>,
    detours: Vec<f64>,
    /// The worst latency of each match.
    worst: Vec<f64>,
}

#[derive(Debug)]
struct Waiting {
    since: Timestamp,
    players: u8,
    /// On average.
    skill: f64,
    latencies: Vec<(Arc<str>, u32)>,
}

#[derive(Debug, Clone, Copy)]
struct Matched {
    waited: f64,
    players: u8,
    skill: f64,
}

impl Account {
    /// A ticket has come.
    pub fn note(&mut self, put: Put, since: Timestamp, facts: &Facts) {
        let skill =
            facts.numbers.first().copied().flatten().map_or(0.0, |skill| skill.millionths() as f64 / 1e6);
        let (players, latencies) = (facts.players, facts.latencies.clone());
        self.waiting.insert(put.handle, Waiting { since, players, skill, latencies });
    }

    /// A match was formed, in the region of that name.
    pub fn matched(&mut self, at: Timestamp, found: &Found, region: Option<&str>) {
        let tickets: Vec<(Waiting, Option<u8>)> = found
            .tickets
            .iter()
            .filter_map(|(handle, team)| Some((self.waiting.remove(handle)?, *team)))
            .collect();
        let skills = || tickets.iter().map(|(ticket, _)| ticket.skill);
        self.spreads.push(skills().fold(f64::MIN, f64::max) - skills().fold(f64::MAX, f64::min));
        // The others of a game that goes on are not known here.
        if found.backfill.is_none() {
            self.uneven.extend(unevenness(&tickets));
        }
        let mut worst: Option<u32> = None;
        for (ticket, _) in tickets {
            let own = ticket.latencies.iter().find(|(name, _)| Some(&**name) == region);
            if let Some(((_, own), nearest)) = own.zip(ticket.latencies.iter().map(|(_, it)| *it).min()) {
                self.latencies.push(f64::from(*own));
                self.detours.push(f64::from(own - nearest));
                worst = worst.max(Some(*own));
            }
            let waited = at.since(ticket.since).as_secs_f64();
            self.tickets.push(Matched { waited, players: ticket.players, skill: ticket.skill });
        }
        self.worst.extend(worst.map(f64::from));
    }

    /// What was before is not measured.
    pub fn begin(&mut self) {
        *self = Self { waiting: core::mem::take(&mut self.waiting), ..Self::default() };
    }

    /// In words, line by line.
    pub fn told(&mut self) -> Vec<String> {
        let players: u64 = self.tickets.iter().map(|it| u64::from(it.players)).sum();
        let (p50_p99, mut told) = (|figures: &[f64]| told_of(figures, &[50, 99]), Vec::new());
        let largest = self.tickets.iter().map(|it| it.players).max().unwrap_or(0);
        let by_party = (1..=largest).map(|size| {
            let waits =
                self.tickets.iter().filter(|it| it.players == size).map(|it| it.waited).collect::<Vec<_>>();
            format!("{size}: {}", told_of(&waits, &[50, 90, 99]))
        });
        told.push(format!(
            "{players} players matched; waits p50 / p90 / p99 by party, s: {}",
            joined(by_party)
        ));
        self.tickets.sort_by(|one, other| one.skill.total_cmp(&other.skill));
        let tenth = self.tickets.len().div_ceil(TENTHS).max(1);
        let by_skill = self.tickets.chunks(tenth).map(|tenth| {
            let waits: Vec<f64> = tenth.iter().map(|it| it.waited).collect();
            told_of(&waits, &[99])
        });
        told.push(format!("waits p99 by tenths of skill, the lowest first, s: {}", joined(by_skill)));
        told.push(format!("best less worst ticket of a match p50 / p99: {}", p50_p99(&self.spreads)));
        if !self.uneven.is_empty() {
            let chances: Vec<f64> = self.uneven.iter().map(|by| chance(*by)).collect();
            let even = chances.iter().filter(|it| EVEN.contains(it)).count();
            told.push(format!(
                "best less worst team p50 / p99: {}; the best beats the worst in p50 / p99 {} %, {:.1} % of matches within 45 to 55",
                p50_p99(&self.uneven),
                p50_p99(&chances),
                100.0 * even as f64 / chances.len() as f64
            ));
        }
        if !self.latencies.is_empty() {
            told.push(format!(
                "latency p50 / p99 {} ms, of the worst of a match {}, more than to the nearest region {}",
                p50_p99(&self.latencies),
                p50_p99(&self.worst),
                p50_p99(&self.detours)
            ));
        }
        told
    }
}

/// By how much the mean skill of the teams differs; `None` where there are none.
fn unevenness(tickets: &[(Waiting, Option<u8>)]) -> Option<f64> {
    let mut teams: BTreeMap<u8, (f64, f64)> = BTreeMap::new();
    for (ticket, team) in tickets {
        let (players, skill) = teams.entry((*team)?).or_default();
        *players += f64::from(ticket.players);
        *skill += ticket.skill * f64::from(ticket.players);
    }
    let means = || teams.values().map(|(players, skill)| skill / players);
    Some(means().fold(f64::MIN, f64::max) - means().fold(f64::MAX, f64::min))
}

/// In how many of a hundred games the stronger wins.
fn chance(by: f64) -> f64 {
    100.0 / (1.0 + 10.0_f64.powf(-by / TEN_TO_ONE))
}

fn told_of(figures: &[f64], percents: &[usize]) -> String {
    let figures = percents.iter().map(|percent| format!("{:.1}", percentile(figures, *percent)));
    figures.collect::<Vec<_>>().join(" / ")
}

fn joined(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stronger_team_wins_as_often_as_its_skill_says() {
        assert_eq!(chance(0.0), 50.0);
        // Ten to one.
        assert!((chance(TEN_TO_ONE) - 1_000.0 / 11.0).abs() < 1e-9);
    }

    #[test]
    fn teams_differ_by_the_mean_of_their_players_and_not_of_their_tickets() {
        let of = |players: u8, skill: f64, team: u8| {
            (Waiting { since: Timestamp::EPOCH, players, skill, latencies: Vec::new() }, Some(team))
        };
        // 3 x 100 and 1 x 500 are 200 on average, and four of 260 are that.
        let tickets = [of(3, 100.0, 0), of(1, 500.0, 0), of(4, 260.0, 1)];
        assert_eq!(unevenness(&tickets), Some(60.0));
    }

    #[test]
    fn a_match_is_accounted_by_its_region_and_its_waits() {
        let mut account = Account::default();
        let latencies = |here: u32, there: u32| vec![("here".into(), here), ("there".into(), there)];
        let tickets: Vec<(Handle, Option<u8>)> = [(40, 20), (60, 90)]
            .into_iter()
            .enumerate()
            .map(|(at, (here, there))| {
                let facts = Facts { players: 1, latencies: latencies(here, there), ..Facts::default() };
                account.note(
                    Put { handle: at as u32, arrival: 0 },
                    Timestamp::from_unix_ms(at as u64 * 1_000),
                    &facts,
                );
                (at as u32, None)
            })
            .collect();
        let found = Found { tickets, ..Found::default() };
        account.matched(Timestamp::from_unix_ms(3_000), &found, Some("here"));
        assert_eq!(account.tickets.iter().map(|it| it.waited).collect::<Vec<_>>(), [3.0, 2.0]);
        assert_eq!(
            (account.latencies, account.detours, account.worst),
            (vec![40.0, 60.0], vec![20.0, 0.0], vec![60.0])
        );
    }
}
