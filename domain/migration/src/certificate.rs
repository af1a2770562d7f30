//! The proof of a host: for each epoch at most one exists.

use alloc::collections::BTreeMap;

use crate::lobby::Arbiter;
use crate::seal::Signature;
use crate::view::{View, ViewId};
use crate::{Epoch, PeerId};

/// One peer's word for one candidate of one epoch, signed: [`Vote::words`].
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Vote {
    /// For which epoch.
    pub epoch: Epoch,
    /// For whom.
    pub candidate: PeerId,
    /// Whose it is.
    pub voter: PeerId,
    /// The view whose majority the candidate asks.
    pub electorate: ViewId,
    /// The voter's.
    pub signature: Signature,
}

/// Who is host of an epoch, and what proves it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Certificate {
    /// Of which epoch.
    pub epoch: Epoch,
    /// The host of that epoch.
    pub host: PeerId,
    /// The word of the session's arbiter.
    pub proof: Proof,
}

/// What proves a host. Which of them does, the session's [`Arbiter`] says; the other proves nothing in it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Proof {
    /// The votes of a majority of one view.
    Majority {
        /// Who could vote.
        electorate: View,
        /// Who did, each with its signature of the [`Vote`] for this host, this epoch and this electorate.
        votes: BTreeMap<PeerId, Signature>,
    },
    /// The lobby's signature of the [`crate::Grant`], with what shows that the key it names is this peer's.
    Lobby(Signature),
}

/// Why a certificate proves nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Forged {
    /// Its votes, counted once a member, are too few.
    #[error("{votes} of {needed} votes that would be a majority")]
    TooFew {
        /// How many count.
        votes: usize,
        /// How many would be enough.
        needed: usize,
    },
    /// Its host is no member of the electorate.
    #[error("its host is no member of the view that elected it")]
    Outsider,
    /// The electorate was written by somebody who was not the host of its epoch.
    #[error("the view that elected it was not written by the host of its epoch")]
    Electorate,
    /// Something in it is not signed by whom it names.
    #[error("something in it is not signed by whom it names")]
    Signature,
    /// It came over the link of somebody that it does not prove to be host.
    #[error("whoever sent it is not the host that it proves")]
    Sender,
    /// It comes after an epoch whose host this peer has never been told of: the certificates between are missing.
    #[error("certificates of the epochs between are missing")]
    Gap,
    /// Another proves the hosts of this session.
    #[error("it is not proven by the arbiter of this session")]
    Arbiter,
}

impl Certificate {
    /// About how many bytes it takes on a line.
    pub(crate) fn weight(&self) -> usize {
        match &self.proof {
            Proof::Majority { electorate, votes } => {
                let signed: usize =
                    votes.values().map(|signature| size_of::<PeerId>() + signature.0.len()).sum();
                signed + electorate.weight()
            }
            Proof::Lobby(signature) => size_of::<PeerId>() + signature.0.len(),
        }
    }

    /// Whether it proves what it says. `lineage` are the hosts of the epochs that are known.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn check(&self, arbiter: Arbiter, lineage: &BTreeMap<Epoch, PeerId>) -> Result<(), Forged> {
        match (&self.proof, arbiter) {
            (Proof::Majority { electorate, votes }, Arbiter::Majority) => {
                self.check_votes(electorate, votes, lineage)
            }
            // The signature says all there is to know, and was checked as the certificate came.
            (Proof::Lobby(_), Arbiter::Lobby) => Ok(()),
            (Proof::Majority { .. }, Arbiter::Lobby) | (Proof::Lobby(_), Arbiter::Majority) => {
                Err(Forged::Arbiter)
            }
        }
    }

    /// The epoch of the view that elected its host; `None` where a lobby made it one.
    pub(crate) const fn electorate_epoch(&self) -> Option<Epoch> {
        match &self.proof {
            Proof::Majority { electorate, .. } => Some(electorate.id.epoch),
            Proof::Lobby(_) => None,
        }
    }

    /// The votes of a majority that prove it.
    pub(crate) fn votes<'a>(
        &self,
        electorate: ViewId,
        votes: &'a BTreeMap<PeerId, Signature>,
    ) -> impl Iterator<Item = Vote> + 'a {
        let (epoch, candidate) = (self.epoch, self.host);
        votes.iter().map(move |(voter, signature)| Vote {
            epoch,
            candidate,
            voter: *voter,
            electorate,
            signature: signature.clone(),
        })
    }

    fn check_votes(
        &self,
        electorate: &View,
        votes: &BTreeMap<PeerId, Signature>,
        lineage: &BTreeMap<Epoch, PeerId>,
    ) -> Result<(), Forged> {
        match lineage.get(&electorate.id.epoch) {
            None => return Err(Forged::Gap),
            Some(host) if *host != electorate.host => return Err(Forged::Electorate),
            Some(_) => {}
        }
        if electorate.id.epoch >= self.epoch {
            return Err(Forged::Electorate);
        }
        if !electorate.members.contains_key(&self.host) {
            return Err(Forged::Outsider);
        }
        let counted = votes.keys().filter(|voter| electorate.members.contains_key(voter)).count();
        if counted < electorate.majority() {
            return Err(Forged::TooFew { votes: counted, needed: electorate.majority() });
        }
        Ok(())
    }
}
