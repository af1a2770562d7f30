//! What a game can draw: the two display toggles of seed 000 as data.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::hint::Entry;
use crate::message::Standing;
use crate::session::reign::Mandate;
use crate::session::{Leadership, Session};
use crate::settings::Switch;
use crate::{Guards, PeerId};

/// Seed 000: "will show either 'HOST', 'ANTICIPATED NEW HOST' or 'MEMBER'".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Identification {
    /// `HOST`.
    Host,
    /// `ANTICIPATED NEW HOST`.
    AnticipatedNewHost,
    /// `MEMBER`.
    Member,
}

impl Identification {
    /// In the seed's words.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Host => "HOST",
            Self::AnticipatedNewHost => "ANTICIPATED NEW HOST",
            Self::Member => "MEMBER",
        }
    }
}

impl<G: Guards> Session<G> {
    /// How things stand, in one line for logs and reports of broken laws.
    #[must_use]
    pub fn shown(&self) -> String {
        let state = match &self.leadership {
            Leadership::Follows => "follows",
            Leadership::Doubts(_) => "doubts",
            Leadership::Vacant(_) => "vacant",
            Leadership::Reigns(_) => "reigns",
            Leadership::Outside { .. } => "outside",
            Leadership::Over => "over",
        };
        let (view, contacts) = (self.view(), self.contacts.len());
        format!(
            "{state} {} {:?}, view {:?} of {:?}, promised {}, {contacts} contacts",
            self.leader(),
            self.stamp(),
            view.id,
            view.members.keys(),
            self.ballot.promised(),
        )
    }

    /// What this peer is in this session.
    #[must_use]
    pub fn role(&self) -> Identification {
        if self.is_host() {
            Identification::Host
        } else if self.anticipated() == Some(self.config.me) {
            Identification::AnticipatedNewHost
        } else {
            Identification::Member
        }
    }

    /// Whether it obeys another, as far as it knows: there is somebody who hears what its game says.
    #[must_use]
    pub const fn has_host(&self) -> bool {
        matches!(self.leadership, Leadership::Follows | Leadership::Doubts(_))
    }

    /// Whether it is the host.
    #[must_use]
    pub const fn is_host(&self) -> bool {
        matches!(self.leadership, Leadership::Reigns(_))
    }

    /// Whether a majority stands behind it, where this peer is the host: without one it stands still for a while, and then goes on
    /// unconfirmed if the session's policy is to.
    #[must_use]
    pub fn standing(&self) -> Option<Standing> {
        let Leadership::Reigns(reign) = &self.leadership else { return None };
        Some(match reign.mandate {
            Mandate::Confirmed => Standing::Confirmed,
            Mandate::Lapsed | Mandate::Unconfirmed => Standing::Unconfirmed,
        })
    }

    /// Who would be host next: nobody where the session does not move.
    #[must_use]
    pub fn anticipated(&self) -> Option<PeerId> {
        self.standbys().first().copied().filter(|_| self.migrates())
    }

    /// Whom it waits for while there is no host: itself, where it is its turn.
    #[must_use]
    pub fn awaited(&self) -> Option<PeerId> {
        match &self.leadership {
            Leadership::Vacant(vacancy) => vacancy.waits.map(|(peer, _)| peer),
            Leadership::Follows
            | Leadership::Doubts(_)
            | Leadership::Reigns(_)
            | Leadership::Outside { .. }
            | Leadership::Over => None,
        }
    }

    /// [`Session::role`], while `net_show_host_identificiation` is on.
    #[must_use]
    pub fn identification(&self) -> Option<Identification> {
        (self.settings.show_host_identification == Switch::On).then(|| self.role())
    }

    /// The hint list, while `net_show_new_host_hinting` is on. Seed 000: "The host will have a hint for every client in the
    /// game (excluding themselves), and each client will have a hint for each peer connected client (excluding themselves
    /// and the host)."
    #[must_use]
    pub fn shown_hints(&self) -> Vec<(PeerId, Entry)> {
        if self.settings.show_new_host_hinting == Switch::Off {
            return Vec::new();
        }
        let (me, leader) = (self.config.me, self.leader());
        let is_connected = |peer: &PeerId| leader == me || self.is_linked(*peer);
        let others = self.hints.entries.iter().filter(|(peer, _)| **peer != me && **peer != leader);
        let shown = others.filter(|(peer, _)| is_connected(peer));
        shown.map(|(peer, entry)| (*peer, *entry)).collect()
    }
}
