//! From a group that is full to a match: the rules of whole matches, who plays on which team, and where.

use alloc::vec::Vec;

use super::lanes::bits;
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
        let mut seats: Vec<u8> = Vec::new();
        if !plan.teams.is_empty()
            && !self.on_teams(field, |teams, demand| {
                teams.seat(demand).map(|found| seats.extend_from_slice(found)).is_some()
            })
        {
            if let Some(rule) = self.seats.broken {
                self.group.judged.refused(plan, rule);
            }
            return None;
        }
        self.group.judged.group_fits();
        let mut seats = seats.into_iter();
        let mut found = Found { regions: self.regions(field), ..Found::default() };
        for handle in self.group.members() {
            match field.slab.get(*handle).shape().kind {
                Kind::Backfill => {
                    let loose = field.games.game(Some(*handle)).loose.len();
                    found.backfill = Some((*handle, seats.by_ref().take(loose).collect()));
                }
                Kind::Ordinary => found.tickets.push((*handle, seats.next())),
            }
        }
        found.tickets.sort_by_key(|(handle, _)| field.slab.get(*handle).arrival());
        Some(found)
    }

    /// The common regions: the one with the least worst latency first, among equals the one with the least sum, then by name.
    fn regions(&self, field: Field<'_>) -> Vec<u32> {
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
        let mut judged: Vec<(u16, u32, u32)> = judged.collect();
        let name = |region: u32| field.names.regions.text(region);
        judged.sort_unstable_by(|one, other| {
            (one.0, one.1).cmp(&(other.0, other.1)).then_with(|| name(one.2).cmp(&name(other.2)))
        });
        judged.into_iter().map(|(_, _, region)| region).collect()
    }
}
