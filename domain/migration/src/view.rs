//! Who votes, and who plays: the members of a session as its host has written them down.
//!
//! Votes are counted in a [`View`], which changes one member at a time and only with a majority. Whoever plays stands in the
//! [`Roster`], which is the host's word alone: there a newcomer stands before it votes, and on a side without a majority,
//! whose view cannot change, there is no other way in.

use alloc::collections::{BTreeMap, BTreeSet};

use crate::terms::Support;
use crate::{ActorId, ChannelId, Epoch, PeerId, Signature, Stamp};

/// How many peers a session has at most: CRYENGINE's lobby ends there too.
pub const MEMBERS_MAX: usize = 64;

/// Which view: views of one host are numbered from 0, those of a later host come after.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ViewId {
    /// The epoch of the host that wrote it.
    pub epoch: Epoch,
    /// Its number among that host's.
    pub version: u32,
}

/// The members of a session, signed by `host`: [`View::words`].
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct View {
    /// Which one.
    pub id: ViewId,
    /// Who wrote it: the host of its epoch.
    pub host: PeerId,
    /// Everyone who votes, the host too.
    pub members: BTreeMap<PeerId, ChannelId>,
    /// The host's.
    pub signature: Signature,
}

/// Everybody who plays, whether they vote or not. Taken from its host's own link and from nobody else.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Roster {
    /// Whose host wrote it.
    pub stamp: Stamp,
    /// Counts its changes.
    pub version: u32,
    /// Everyone, the host too.
    pub members: BTreeMap<PeerId, ChannelId>,
    /// Who was thrown out, by this host or one before.
    pub kicked: BTreeSet<PeerId>,
    /// What each of them plays, where the game has said so: bound to who holds the key, never to a name (B10), and known to
    /// everybody who may be host next.
    pub actors: BTreeMap<PeerId, ActorId>,
    /// Whether sessions of its lobby service move, as this host's process has it and its lobby, if there is one, told it last: either may be set
    /// while they are played, and whoever misses this host may not be able to ask.
    pub support: Support,
}

impl Roster {
    /// Whoever votes plays, too. `true` where somebody does from now on.
    ///
    /// Who plays already keeps its channel: under a lobby a host writes down who is with it on a side, too, and what it gave somebody there the
    /// host of another side may have given to somebody else. Whose channel another has asks to be let in, as whoever comes from another side.
    pub fn seat(&mut self, voters: &BTreeMap<PeerId, ChannelId>) -> bool {
        let before = self.members.len();
        for (peer, channel) in voters {
            if !self.members.contains_key(peer) && !self.members.values().any(|taken| taken == channel) {
                self.members.insert(*peer, *channel);
            }
        }
        self.members.len() > before
    }
}

impl View {
    /// About how many bytes it takes on a line.
    pub(crate) fn weight(&self) -> usize {
        self.members.len() * size_of::<(PeerId, ChannelId)>() + self.signature.0.len()
    }

    /// How many make a majority.
    #[must_use]
    pub fn majority(&self) -> usize {
        self.members.len() / 2 + 1
    }

    /// Whether so many of these are a majority of the members.
    #[must_use]
    pub fn is_majority<'a>(&self, voters: impl IntoIterator<Item = &'a PeerId>) -> bool {
        let members = voters.into_iter().filter(|voter| self.members.contains_key(voter)).count();
        members >= self.majority()
    }

    /// Whether the other has exactly one member more or one less: then every majority of one meets every majority of the
    /// other, which is what lets views change while hosts are elected.
    #[must_use]
    pub fn is_neighbour(&self, other: &BTreeMap<PeerId, ChannelId>) -> bool {
        let gone = self.members.keys().filter(|peer| !other.contains_key(peer)).count();
        let come = other.keys().filter(|peer| !self.members.contains_key(peer)).count();
        gone + come == 1
    }
}
