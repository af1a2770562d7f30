//! What many tickets have alike is kept once: a waiting ticket of one player is small, and a heap's smallest piece is not.

use alloc::sync::Arc;

use crate::entity::Entity;
use crate::ticket::Member;

/// Soft: it may begin anew at any instant.
#[derive(Debug, Clone, Default)]
pub(crate) struct Shares {
    nobody: Arc<[Entity]>,
    creator: Option<Entity>,
}

impl Shares {
    /// Who made a ticket: its first member, or nearly always who made the one before.
    pub(crate) fn creator(&mut self, creator: &Entity, members: &[Member]) -> Entity {
        let first = members.first().map(|member| &member.entity);
        if let Some(known) = first.into_iter().chain(&self.creator).find(|known| *known == creator) {
            return known.clone();
        }
        self.creator.insert(creator.clone()).clone()
    }

    /// Who was invited: nearly always nobody.
    pub(crate) fn invited(&self, invited: &Arc<[Entity]>) -> Arc<[Entity]> {
        if invited.is_empty() { self.nobody.clone() } else { invited.clone() }
    }
}
