//! The players of a ticket, and where it came from, in little room: most tickets are of one player who made them, or of one for whom a
//! service made them.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::Deref;

use crate::entity::Entity;
use crate::ticket::Member;

/// The players of a ticket. One alone lies in the ticket itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Members(Kept);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Kept {
    One(Member),
    /// Any other number of them.
    Other(Arc<[Member]>),
}

impl Deref for Members {
    type Target = [Member];

    fn deref(&self) -> &[Member] {
        match &self.0 {
            Kept::One(member) => core::slice::from_ref(member),
            Kept::Other(members) => members,
        }
    }
}

impl From<&Arc<[Member]>> for Members {
    fn from(members: &Arc<[Member]>) -> Self {
        Self(match &**members {
            [one] => Kept::One(one.clone()),
            _other => Kept::Other(members.clone()),
        })
    }
}

impl FromIterator<Member> for Members {
    fn from_iter<I: IntoIterator<Item = Member>>(members: I) -> Self {
        Self::from(&members.into_iter().collect::<Vec<_>>().into())
    }
}

/// Who made a ticket, and who was asked to join it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin(Option<Arc<Made>>);

#[derive(Debug, PartialEq, Eq)]
struct Made {
    creator: Entity,
    invited: Arc<[Entity]>,
}

impl Origin {
    /// Of a ticket of these players. What its first player made for those it has is said by its players alone.
    #[must_use]
    pub fn new(creator: &Entity, members: &[Member], invited: &Arc<[Entity]>) -> Self {
        let by_first = members.first().is_some_and(|first| first.entity == *creator);
        let made = || Arc::new(Made { creator: creator.clone(), invited: invited.clone() });
        Self((!by_first || !invited.is_empty()).then(made))
    }

    /// Whether its first player made it, for those it has.
    pub(crate) const fn is_of_first(&self) -> bool {
        self.0.is_none()
    }

    /// Who made the ticket of these players.
    pub(crate) fn creator<'a>(&'a self, members: &'a [Member]) -> &'a Entity {
        self.0.as_ref().map_or_else(|| &members[0].entity, |made| &made.creator)
    }

    pub(crate) fn invited(&self) -> &[Entity] {
        self.0.as_ref().map_or(&[], |made| &made.invited)
    }
}
