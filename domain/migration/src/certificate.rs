//! The proof of a host: for each epoch at most one exists.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

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

/// The votes of a majority of one view.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Certificate {
    /// Of which epoch.
    pub epoch: Epoch,
    /// The host of that epoch.
    pub host: PeerId,
    /// Who could vote.
    pub electorate: View,
    /// Who did.
    pub votes: Vec<Vote>,
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
    /// It came over the link of somebody that it does not prove to be host.
    #[error("whoever sent it is not the host that it proves")]
    Sender,
    /// It comes after an epoch whose host this peer has never been told of: the certificates between are missing.
    #[error("certificates of the epochs between are missing")]
    Gap,
}

impl Certificate {
    /// Whether it proves what it says. `lineage` are the hosts of the epochs that are known.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn check(&self, lineage: &BTreeMap<Epoch, PeerId>) -> Result<(), Forged> {
        match lineage.get(&self.electorate.id.epoch) {
            None => return Err(Forged::Gap),
            Some(host) if *host != self.electorate.host => return Err(Forged::Electorate),
            Some(_) => {}
        }
        if self.electorate.id.epoch >= self.epoch {
            return Err(Forged::Electorate);
        }
        if !self.electorate.members.contains_key(&self.host) {
            return Err(Forged::Outsider);
        }
        let counted: BTreeMap<&PeerId, &Vote> = self
            .votes
            .iter()
            .filter(|vote| {
                vote.epoch == self.epoch
                    && vote.candidate == self.host
                    && vote.electorate == self.electorate.id
                    && self.electorate.members.contains_key(&vote.voter)
            })
            .map(|vote| (&vote.voter, vote))
            .collect();
        if counted.len() < self.electorate.majority() {
            return Err(Forged::TooFew { votes: counted.len(), needed: self.electorate.majority() });
        }
        Ok(())
    }
}
