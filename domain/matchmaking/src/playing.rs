//! Who is in which open ticket: a player in one of each kind at most, "tracked separately".

use mainstay_core::{Table, TicketId};

use crate::engine::Kind;
use crate::entity::Entity;

/// The open tickets of players. A table for each kind: hardly anybody is in both.
#[derive(Debug, Clone)]
pub(crate) struct Playing {
    tickets: Table<Entity, TicketId>,
    backfills: Table<Entity, TicketId>,
}

impl Playing {
    /// Nobody's. The seed keeps strangers from choosing what collides.
    pub(crate) const fn seeded(seed: u64) -> Self {
        Self { tickets: Table::seeded(seed), backfills: Table::seeded(seed) }
    }

    /// A player's open ticket of a kind.
    pub(crate) fn of(&self, player: &Entity, kind: Kind) -> Option<TicketId> {
        match kind {
            Kind::Ordinary => self.tickets.get(player).copied(),
            Kind::Backfill => self.backfills.get(player).copied(),
        }
    }

    /// A player is in this ticket of a kind from now on, or in none.
    pub(crate) fn set(&mut self, player: &Entity, kind: Kind, ticket: Option<TicketId>) {
        let table = match kind {
            Kind::Ordinary => &mut self.tickets,
            Kind::Backfill => &mut self.backfills,
        };
        match ticket {
            Some(ticket) => table.insert(player.clone(), ticket),
            None => table.remove(player),
        };
    }

    /// How many players are in a ticket of a kind.
    pub(crate) fn players(&self, kind: Kind) -> usize {
        match kind {
            Kind::Ordinary => self.tickets.len(),
            Kind::Backfill => self.backfills.len(),
        }
    }
}
