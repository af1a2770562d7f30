//! From a group that is full to a match: the rules of whole matches, who plays on which team, and where.

use alloc::vec::Vec;
use core::hint::cold_path;

use super::lanes::{bits, by_name};
use super::search::{Field, Found, Searcher};
use super::slab::{Kind, UNMEASURED};

impl Searcher {
    /// The group as a match, if every rule of whole matches allows it. "it won't return a match found until it matches at
    /// least one other ticket".
    pub(super) fn complete(&mut self, field: Field<'_>) -> Option<Found> {
        let plan = field.plan;
        let tickets = self.group.members().len();
        if tickets < 2 || self.group.players() < plan.min {
            return None;
        }
        if let Some(rule) = self.group.broken_total(plan) {
            self.group.judged.refused(plan, rule);
            return None;
        }
        if !plan.teams.is_empty() && !self.on_teams(field, |teams, demand| teams.seat(demand)) {
            if let Some(rule) = self.seats.broken {
                self.group.judged.refused(plan, rule);
            }
            if self.seats.steps.is_over() {
                // Without steps to seat others with, none are tried.
                self.looks = 0;
            }
            return None;
        }
        self.group.judged.group_fits();
        let regions = self.regions(field);
        let mut found = Found { regions, tickets: Vec::with_capacity(tickets), ..Found::default() };
        let mut seats = self.seats.found().iter().copied();
        self.seated.clear();
        for handle in self.group.members() {
            let row = field.slab.get(*handle);
            match row.shape().kind {
                Kind::Backfill => {
                    cold_path();
                    let loose = field.games.game(Some(*handle)).loose.len();
                    found.backfill = Some((*handle, seats.by_ref().take(loose).collect()));
                }
                Kind::Ordinary => self.seated.push((row.arrival(), *handle, seats.next())),
            }
        }
        self.seated.sort_unstable_by_key(|(arrival, ..)| *arrival);
        found.tickets.extend(self.seated.iter().map(|(_, handle, team)| (*handle, *team)));
        Some(found)
    }

    /// The common regions: the one with the least worst latency first, among equals the one with the least sum, then by name.
    fn regions(&mut self, field: Field<'_>) -> Vec<u32> {
        if field.plan.region.is_none() {
            return Vec::new();
        }
        let judged = bits(self.group.regions()).filter_map(|region| {
            let rows = self.group.members().iter().map(|handle| field.slab.get(*handle));
            let (mut measured, mut worst, mut sum) = (false, 0, 0_u32);
            for latency in rows.map(|row| row.latency(region as usize)) {
                measured |= latency != UNMEASURED;
                worst = worst.max(latency);
                sum += u32::from(latency);
            }
            measured.then_some((worst, sum, region))
        });
        self.common.clear();
        self.common.extend(judged);
        self.common.sort_unstable_by(|one, other| {
            let by_latency = (one.0, one.1).cmp(&(other.0, other.1));
            by_latency.then_with(|| by_name(field.names.regions, one.2, other.2))
        });
        self.common.iter().map(|(_, _, region)| *region).collect()
    }
}
