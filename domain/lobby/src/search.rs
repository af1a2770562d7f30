//! Looking for sessions: pages of bounded size, each after a bounded number of looks.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::Bound::{Excluded, Included, Unbounded};

use mainstay_core::SessionId;

use crate::id::Service;
use crate::limits::LOOKS_MAX;
use crate::lobby::Lobby;
use crate::session::Session;
use crate::settings::Joining;

/// What is looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filter {
    /// Of which service.
    pub service: Service,
    /// With at least so many free seats; 0 finds full and closed ones, too.
    pub free: usize,
    /// With these attributes.
    pub attributes: Vec<(Arc<str>, Arc<str>)>,
}

/// A page of what was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Sessions, in order of their ids.
    pub sessions: Vec<Arc<Session>>,
    /// Behind which to go on; `None`: that was all. A page may be empty and have one: then nothing fitted among those that were
    /// looked at.
    pub next: Option<SessionId>,
}

impl Filter {
    fn fits(&self, session: &Session) -> bool {
        let has_room =
            self.free == 0 || (session.settings.joining == Joining::Open && session.free() >= self.free);
        let has = |(name, value): &(Arc<str>, Arc<str>)| session.settings.attributes.get(name) == Some(value);
        has_room && self.attributes.iter().all(has)
    }
}

impl Lobby {
    /// Sessions that can be found and fit, behind `after`, `limit` at most.
    #[must_use]
    pub fn search(&self, filter: &Filter, after: Option<SessionId>, limit: usize) -> Found {
        let from =
            after.map_or(Included((filter.service, SessionId::LOWEST)), |id| Excluded((filter.service, id)));
        let mut sessions = Vec::new();
        for (looked, (service, id)) in self.found.range((from, Unbounded)).enumerate() {
            if *service != filter.service {
                break;
            }
            if sessions.len() == limit || looked == LOOKS_MAX {
                let next = self.found.range((Unbounded, Excluded((*service, *id)))).next_back();
                return Found { sessions, next: next.map(|(_, id)| *id) };
            }
            if let Some(session) = self.sessions.get(id).filter(|session| filter.fits(session)) {
                sessions.push(Arc::clone(session));
            }
        }
        Found { sessions, next: None }
    }
}
