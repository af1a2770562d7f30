//! A session: its members, its host, and whom it has thrown out.

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::sync::Arc;
use alloc::vec::Vec;

use mainstay_core::{SessionId, Timestamp};

use crate::id::{Epoch, PeerKey, Player, Service};
use crate::limits::FORMER_MAX;
use crate::rejection::Rejection;
use crate::settings::{Migratable, Settings, Takeover};

/// Who is the host of which epoch. There is one for each epoch, ever.
///
/// The host is a peer of the session today. A dedicated server would be another kind here: no word of a certificate says of what kind its host is, and whoever asks
/// whether the host is a member (`Session::is_hostless`, `decide::may`, the beats in `pulse`) asks it of a peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grant {
    /// Which epoch.
    pub epoch: Epoch,
    /// Who.
    pub host: PeerKey,
    /// Since when.
    pub at: Timestamp,
}

/// Whether a member may become host (`CRYSESSION_LOCAL_FLAG_HOST_MIGRATION_CAN_BE_HOST`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CanBeHost {
    /// The game has said so.
    Yes,
    /// It has not.
    NotYet,
}

/// How far a session is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Its players gather.
    Gathering,
    /// They play.
    Started,
}

/// A member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Whose process it is.
    pub player: Player,
    /// Whether it may become host.
    pub can_be_host: CanBeHost,
    /// How others reach it, the best first, as it says.
    pub addresses: Vec<Arc<str>>,
    /// Since when.
    pub joined: Timestamp,
}

/// Who was a member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Former {
    /// Its last process here.
    pub peer: PeerKey,
    /// Its player.
    pub player: Player,
}

/// Why a member is one no longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gone {
    /// It left.
    Left,
    /// It was kicked, perhaps after it had gone: its player and its key never come back.
    Kicked,
    /// Nothing was heard of it.
    Lost,
    /// Its player came with another process.
    Replaced,
}

/// Why a session ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// Its host, or an operator, ended it.
    Closed,
    /// Nobody is left.
    Empty,
    /// Its host is gone, and it does not move.
    HostLost,
    /// The match it was for is not wanted any more.
    Withdrawn,
}

/// A session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// Its id.
    pub id: SessionId,
    /// The service it belongs to.
    pub service: Service,
    /// What it was made with, and its host changed since.
    pub settings: Settings,
    /// How far it is.
    pub phase: Phase,
    /// Since when.
    pub created: Timestamp,
    /// Rises with every change that is told.
    pub revision: u64,
    /// Its host; `None` before the first.
    pub grant: Option<Grant>,
    /// Who is in it.
    pub members: BTreeMap<PeerKey, Member>,
    /// Players of a match who have not come, and until when their seats are kept.
    pub seats: BTreeSet<Player>,
    /// Until when.
    pub seats_until: Timestamp,
    /// Who left, was lost or was replaced, the latest last: its player may come again while nobody new may, and a process stays out while its
    /// player is here with another. At most [`FORMER_MAX`].
    pub former: VecDeque<Former>,
    /// Who was thrown out.
    pub kicked: BTreeSet<Player>,
    /// And their processes.
    pub kicked_peers: BTreeSet<PeerKey>,
}

impl Session {
    /// The newest epoch that has a host.
    #[must_use]
    pub fn epoch(&self) -> Epoch {
        self.grant.map_or(Epoch::NONE, |grant| grant.epoch)
    }

    /// How many seats are free.
    #[must_use]
    pub fn free(&self) -> usize {
        let size = usize::try_from(self.settings.size).unwrap_or(usize::MAX);
        size.saturating_sub(self.members.len() + self.seats.len())
    }

    /// Whether a player that is here no longer was.
    pub(crate) fn was_here(&self, player: &Player) -> bool {
        self.former.iter().any(|former| former.player == *player)
    }

    /// The player of a process that is here, or was and whose player is not.
    pub(crate) fn player_of(&self, peer: &PeerKey) -> Option<&Player> {
        let was = || self.players_before(peer).find(|player| self.peer_of(player).is_none());
        self.members.get(peer).map(|member| &member.player).or_else(was)
    }

    /// Whether the player of a process is here with another.
    pub(crate) fn is_replaced(&self, peer: &PeerKey) -> bool {
        self.players_before(peer).any(|player| self.peer_of(player).is_some())
    }

    /// The processes whose players are here with others.
    pub fn replaced(&self) -> impl Iterator<Item = &PeerKey> {
        let is_here = |former: &&Former| {
            self.peer_of(&former.player).is_some() && !self.members.contains_key(&former.peer)
        };
        self.former.iter().filter(is_here).map(|former| &former.peer)
    }

    /// Whose a process was that is here no longer: one player's, unless somebody tells lies.
    fn players_before(&self, peer: &PeerKey) -> impl Iterator<Item = &Player> {
        self.former.iter().filter(move |former| former.peer == *peer).map(|former| &former.player)
    }

    /// Why a process that asks as a member is none.
    #[must_use]
    pub fn is_out(&self, peer: PeerKey) -> Rejection {
        if self.kicked_peers.contains(&peer) {
            Rejection::Kicked
        } else if self.is_replaced(&peer) {
            Rejection::Replaced
        } else {
            Rejection::NotMember(peer)
        }
    }

    /// A player that is a member no longer may come again.
    pub(crate) fn remember(&mut self, former: Former) {
        self.former.push_back(former);
        if self.former.len() > FORMER_MAX {
            self.former.pop_front();
        }
    }

    /// The process of a player, if it is here.
    #[must_use]
    pub fn peer_of(&self, player: &Player) -> Option<PeerKey> {
        self.members.iter().find(|(_, member)| member.player == *player).map(|(peer, _)| *peer)
    }

    /// Whether its newest host is gone, or there was none: then nobody renews a lease.
    #[must_use]
    pub fn is_hostless(&self) -> bool {
        self.grant.is_none_or(|grant| !self.members.contains_key(&grant.host))
    }

    /// Whether its host, which was thrown out or replaced, is given the rest of its lease: until it learns so it acts, and beside it nobody may. One
    /// that leaves acts no more.
    pub(crate) fn waits_out(&self) -> bool {
        let acts = |Grant { host, .. }: Grant| self.kicked_peers.contains(&host) || self.is_replaced(&host);
        self.settings.takeover == Takeover::Strict && self.grant.is_some_and(acts)
    }

    /// Whether it has to end when nothing else happens: nobody is left or to come, or its host is and it does not move.
    pub(crate) fn over(&self) -> Option<Ending> {
        let host_lost = self.grant.is_some() && self.is_hostless();
        if self.members.is_empty() && self.seats.is_empty() {
            Some(Ending::Empty)
        } else if host_lost && self.settings.migratable == Migratable::No {
            Some(Ending::HostLost)
        } else {
            None
        }
    }

    /// What it takes, in bytes, about.
    pub(crate) fn weight(&self) -> usize {
        let member = |member: &Member| {
            160 + member.player.0.len() + member.addresses.iter().map(|it| it.len() + 32).sum::<usize>()
        };
        let members: usize = self.members.values().map(member).sum();
        let former = self.former.iter().map(|former| &former.player);
        let players = self.seats.iter().chain(&self.kicked).chain(former);
        let players: usize = players.map(|player| player.0.len() + 48).sum();
        400 + self.settings.weight() + members + players + (self.kicked_peers.len() + self.former.len()) * 48
    }
}
