//! One host an epoch: what a peer has promised, whom it obeys, and what it takes to be obeyed.
//!
//! This is all that safety rests on, and it knows no time: whatever clocks, detectors and hint lists do, two certificates
//! of one epoch do not come about. `tests/migration/model.rs` shows it by trying every order of every message for three
//! peers. The rules are those of Raft (Ongaro 2014) with one kind of entry, the view:
//!
//! - a peer votes once an epoch, and only for a candidate whose view is not older than its own;
//! - having promised a later epoch, it takes no more views of an earlier host;
//! - a view changes by one member at a time, and only once the view before was taken by a majority of its members; but the
//!   host may always go back to the members of the last one that was: their majorities meet those of the view between;
//! - a host opens with the view that elected it, unchanged, before it changes any.
//!
//! Under a lobby nobody votes: whom it signs is host, and views say only who is there.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::marker::PhantomData;

use crate::certificate::{Certificate, Forged, Proof, Vote};
use crate::lobby::Arbiter;
use crate::seal::Sealed;
use crate::view::{View, ViewId};
use crate::{ChannelId, Epoch, Guard, Guarded, Guards, PeerId, Signature};

/// How many certificates a peer keeps, to explain to one that was away how it came to the host of today: as many hosts as
/// the largest session can lose. Whoever comes in is told no more than that of the hosts before.
pub const LINEAGE_MAX: usize = crate::MEMBERS_MAX;

/// What a peer has accepted and promised in one session.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Ballot<G: Guards = Guarded> {
    guards: PhantomData<G>,
    arbiter: Arbiter,
    me: PeerId,
    epoch: Epoch,
    host: PeerId,
    view: View,
    promise: Option<Promise>,
    standing: Standing,
    lineage: BTreeMap<Epoch, PeerId>,
    /// By epoch, ascending. Of a lobby's the newest proves the host; those before prove who wrote what is left of their time.
    certificates: Vec<Certificate>,
}

/// The one vote of the highest epoch that a peer has voted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Promise {
    epoch: Epoch,
    candidate: PeerId,
}

/// What a peer is in the eyes of its ballot.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Standing {
    /// It obeys a host.
    Follows,
    /// It asks for votes.
    Asks { epoch: Epoch, votes: BTreeMap<PeerId, Signature> },
    /// It is the host; these have taken its newest view, and these were the members of the last one that most had taken.
    Reigns { taken: BTreeSet<PeerId>, settled: Option<BTreeMap<PeerId, ChannelId>> },
}

impl Standing {
    fn reigning(me: PeerId) -> Self {
        Self::Reigns { taken: BTreeSet::from([me]), settled: None }
    }
}

/// A host that whoever comes in has to believe, for it knows nobody yet: the certificates that it is told begin there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Root {
    /// Which.
    pub epoch: Epoch,
    /// Its host.
    pub host: PeerId,
}

/// What a candidate says to every member.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Claim {
    /// The epoch it would be host of.
    pub epoch: Epoch,
    /// Who it is.
    pub candidate: PeerId,
    /// The newest view it has: its members are the electorate.
    pub view: View,
}

/// Why a peer gives no vote.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// That epoch has passed; these certificates say how.
    Passed(Vec<Certificate>),
    /// Another was promised this epoch, or somebody a later one.
    Promised(Epoch),
    /// The voter has a newer view.
    NewerView(View),
    /// The voter is no member of the view the candidate asks.
    NotMine,
    /// The voter hears its host, and the candidate is another.
    HostLives,
    /// The candidate may not be a host: it has not said that it can, or it was lost in this very migration.
    Unsuitable,
}

/// What came of a certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accepted {
    /// Its host is obeyed from now on.
    Newer,
    /// It was known, or has passed.
    Known,
}

impl<G: Guards> Ballot<G> {
    /// Of a member of a session that begins, or of one that joins: `certificates` lead from the host of `root` to the present
    /// one. A lobby's stand for themselves, the newest for them all, and a founder has one, too.
    ///
    /// # Errors
    /// Certificates that lead nowhere, or a view that another host wrote.
    pub fn new(
        arbiter: Arbiter,
        me: PeerId,
        root: Root,
        view: View,
        certificates: &[Certificate],
    ) -> Result<Self, Forged> {
        let standing = if root.host == me { Standing::reigning(me) } else { Standing::Follows };
        let mut ballot = Self {
            guards: PhantomData,
            arbiter,
            me,
            epoch: root.epoch,
            host: root.host,
            view,
            promise: None,
            standing,
            lineage: BTreeMap::from([(root.epoch, root.host)]),
            certificates: Vec::new(),
        };
        match arbiter {
            Arbiter::Majority => {
                for certificate in certificates {
                    ballot.accept(certificate)?;
                }
            }
            Arbiter::Lobby => {
                let newest = certificates.iter().max_by_key(|certificate| certificate.epoch);
                let newest = newest.ok_or(Forged::Arbiter)?;
                newest.check(arbiter, &ballot.lineage)?;
                ballot.lineage.clear();
                ballot.crown(newest);
                ballot.standing = ballot.before_asking();
            }
        }
        let written_by = ballot.lineage.get(&ballot.view.id.epoch);
        match arbiter {
            Arbiter::Majority if written_by != Some(&ballot.view.host) => Err(Forged::Electorate),
            Arbiter::Majority | Arbiter::Lobby => Ok(ballot),
        }
    }

    /// The newest certified epoch it has accepted.
    #[must_use]
    pub const fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// The host of that epoch.
    #[must_use]
    pub const fn host(&self) -> PeerId {
        self.host
    }

    /// The newest view it has.
    #[must_use]
    pub const fn view(&self) -> &View {
        &self.view
    }

    /// The highest epoch it has voted in, or accepted.
    #[must_use]
    pub fn promised(&self) -> Epoch {
        self.promise.map_or(self.epoch, |promise| promise.epoch.max(self.epoch))
    }

    /// What somebody who comes in is told of the hosts: the oldest known here from whom certificates lead on to the present
    /// one, and those certificates. A lobby's stands for itself.
    #[must_use]
    pub fn history(&self) -> (Root, Vec<Certificate>) {
        if self.arbiter == Arbiter::Lobby {
            return (Root { epoch: self.epoch, host: self.host }, self.certificates_after(Epoch(0)));
        }
        let leads_on = |epoch: Epoch| {
            let mut after = self.certificates.iter().filter(|certificate| certificate.epoch > epoch);
            after.all(|certificate| certificate.electorate_epoch().is_none_or(|from| from >= epoch))
        };
        let oldest = self.lineage.iter().find(|(epoch, _)| leads_on(**epoch));
        let (epoch, host) = oldest.map_or((self.epoch, self.host), |(epoch, host)| (*epoch, *host));
        (Root { epoch, host }, self.certificates_after(epoch))
    }

    /// About how many bytes it takes on a line to tell how it went on after that epoch, and the newest view.
    pub(crate) fn weight_after(&self, epoch: Epoch) -> usize {
        let certificates: usize = self.after(epoch).iter().map(Certificate::weight).sum();
        certificates + self.view.weight()
    }

    /// Whether that one was host of an epoch that this peer knows of.
    #[must_use]
    pub fn was_host(&self, peer: PeerId) -> bool {
        self.lineage.values().any(|host| *host == peer)
    }

    /// Who was host of that epoch, where this peer knows it.
    #[must_use]
    pub fn host_of(&self, epoch: Epoch) -> Option<PeerId> {
        self.lineage.get(&epoch).copied()
    }

    /// The certificate of that epoch, where it has it still.
    #[must_use]
    pub fn certificate_of(&self, epoch: Epoch) -> Option<&Certificate> {
        self.certificates.iter().find(|certificate| certificate.epoch == epoch)
    }

    /// How many hosts of the past it knows, or certificates.
    pub(crate) fn kept(&self) -> usize {
        self.lineage.len().max(self.certificates.len())
    }

    /// What leads from that epoch to the present one: the certificates of all after it that it has accepted, oldest first; a lobby's
    /// newest stands for them all.
    #[must_use]
    pub fn certificates_after(&self, epoch: Epoch) -> Vec<Certificate> {
        self.after(epoch).to_vec()
    }

    fn after(&self, epoch: Epoch) -> &[Certificate] {
        let count = self.certificates.len();
        let from = match self.arbiter {
            Arbiter::Lobby if epoch < self.epoch => count.saturating_sub(1),
            Arbiter::Lobby => count,
            Arbiter::Majority => self.certificates.partition_point(|certificate| certificate.epoch <= epoch),
        };
        &self.certificates[from..]
    }

    /// What proves the present host to whoever stopped at that epoch: the certificates of all after it, and of those before it that the hosts of these were elected by.
    /// The other may never have obeyed those, for it went another way: two hosts of neighbouring epochs may both have been elected by the members of one view.
    #[must_use]
    pub fn proof_for(&self, epoch: Epoch) -> Vec<Certificate> {
        let mut proof: BTreeMap<Epoch, &Certificate> =
            self.after(epoch).iter().map(|certificate| (certificate.epoch, certificate)).collect();
        let mut before: Vec<Epoch> = proof.values().filter_map(|it| it.electorate_epoch()).collect();
        while let Some(earlier) = before.pop() {
            if earlier >= epoch || proof.contains_key(&earlier) {
                continue;
            }
            if let Some(certificate) = self.certificate_of(earlier) {
                before.extend(certificate.electorate_epoch());
                proof.insert(earlier, certificate);
            }
        }
        proof.into_values().cloned().collect()
    }

    /// Asks for votes in that epoch, or in the next that it has not voted in itself.
    /// `None` where its newest view does not name it: it was put out, and cannot be host; or where no votes count.
    pub fn claim(&mut self, epoch: Epoch) -> Option<Claim> {
        if !self.view.members.contains_key(&self.me) || self.arbiter == Arbiter::Lobby {
            return None;
        }
        let epoch = self.promised().next().max(epoch);
        self.promise = Some(Promise { epoch, candidate: self.me });
        let claim = Claim { epoch, candidate: self.me, view: self.view.clone() };
        self.standing = Standing::Asks { epoch, votes: BTreeMap::new() };
        Some(claim)
    }

    /// In which epoch it asks for votes, if it does.
    #[must_use]
    pub const fn asks(&self) -> Option<Epoch> {
        match &self.standing {
            Standing::Asks { epoch, .. } => Some(*epoch),
            Standing::Follows | Standing::Reigns { .. } => None,
        }
    }

    /// Whether that one has voted for the claim that is open.
    #[must_use]
    pub fn has_vote_of(&self, peer: PeerId) -> bool {
        matches!(&self.standing, Standing::Asks { votes, .. } if votes.contains_key(&peer))
    }

    /// The claim that is open, if one is: to be said again.
    #[must_use]
    pub fn open_claim(&self) -> Option<Claim> {
        match &self.standing {
            Standing::Asks { epoch, .. } => {
                Some(Claim { epoch: *epoch, candidate: self.me, view: self.view.clone() })
            }
            Standing::Follows | Standing::Reigns { .. } => None,
        }
    }

    /// The vote a candidate gives itself, to be signed. A view of one member is a majority by it.
    #[must_use]
    pub fn own_vote(&self) -> Option<Vote> {
        let claim = self.open_claim()?;
        let (epoch, electorate) = (claim.epoch, claim.view.id);
        let signature = Signature::default();
        Some(Vote { epoch, candidate: self.me, voter: self.me, electorate, signature })
    }

    /// Votes for a candidate, or says why not. A claim that comes twice gets the same vote twice. The vote is to be signed.
    ///
    /// # Errors
    /// Why not.
    pub fn consider(&mut self, claim: &Claim) -> Result<Vote, Refusal> {
        if claim.epoch <= self.epoch && G::stands(Guard::Epoch) {
            return Err(Refusal::Passed(self.proof_for(claim.view.id.epoch)));
        }
        let bound = self.promise.filter(|promise| {
            promise.epoch > claim.epoch
                || (promise.epoch == claim.epoch && promise.candidate != claim.candidate)
        });
        if let Some(promise) = bound {
            return Err(Refusal::Promised(promise.epoch));
        }
        if claim.view.id < self.view.id {
            return Err(Refusal::NewerView(self.view.clone()));
        }
        if !claim.view.members.contains_key(&self.me) || self.arbiter == Arbiter::Lobby {
            return Err(Refusal::NotMine);
        }
        if !matches!(&self.standing, Standing::Asks { epoch, .. } if *epoch == claim.epoch) {
            self.stop_asking();
        }
        self.promise = Some(Promise { epoch: claim.epoch, candidate: claim.candidate });
        let (epoch, candidate, electorate) = (claim.epoch, claim.candidate, claim.view.id);
        Ok(Vote { epoch, candidate, voter: self.me, electorate, signature: Signature::default() })
    }

    fn stop_asking(&mut self) {
        if matches!(self.standing, Standing::Asks { .. }) {
            // Who was host before it asked anew goes on as one: nobody has been certified after it yet.
            self.standing = self.before_asking();
        }
    }

    fn before_asking(&self) -> Standing {
        if self.host == self.me { Standing::reigning(self.me) } else { Standing::Follows }
    }

    /// Gives up asking: somebody else is heard of.
    pub fn withdraw(&mut self) {
        self.stop_asking();
    }

    /// Counts a vote. With the last that was missing, this peer is the host and here is its proof; its view is to be signed.
    pub fn count(&mut self, vote: &Vote) -> Option<Certificate> {
        let Standing::Asks { epoch, votes } = &mut self.standing else { return None };
        let mine = vote.epoch == *epoch && vote.candidate == self.me && vote.electorate == self.view.id;
        if !mine || !self.view.members.contains_key(&vote.voter) {
            return None;
        }
        votes.insert(vote.voter, vote.signature.clone());
        if !self.view.is_majority(votes.keys()) {
            return None;
        }
        let certificate = Certificate {
            epoch: *epoch,
            host: self.me,
            proof: Proof::Majority { electorate: self.view.clone(), votes: votes.clone() },
        };
        self.crown(&certificate);
        self.open_reign();
        Some(certificate)
    }

    /// A host opens with the view that it has.
    fn open_reign(&mut self) {
        self.view.id = ViewId { epoch: self.epoch, version: 0 };
        self.view.host = self.me;
        self.view.signature = Signature::default();
        self.standing = Standing::reigning(self.me);
    }

    /// Obeys a host that proves itself, or is it, where a lobby says so; its view is to be signed then.
    ///
    /// # Errors
    /// What is wrong with the proof.
    pub fn accept(&mut self, certificate: &Certificate) -> Result<Accepted, Forged> {
        let known = self.lineage.get(&certificate.epoch) == Some(&certificate.host);
        if certificate.epoch == self.epoch && known {
            return Ok(Accepted::Known);
        }
        if certificate.epoch <= self.epoch && G::stands(Guard::Epoch) {
            if self.lacks(certificate) {
                self.check(certificate)?;
                self.note(certificate);
            }
            return Ok(Accepted::Known);
        }
        self.check(certificate)?;
        self.crown(certificate);
        match self.arbiter {
            Arbiter::Lobby if self.host == self.me => self.open_reign(),
            Arbiter::Lobby | Arbiter::Majority => self.standing = Standing::Follows,
        }
        Ok(Accepted::Newer)
    }

    /// Whether it proves what it says, whoever signed it.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn check(&self, certificate: &Certificate) -> Result<(), Forged> {
        if G::stands(Guard::Certificate) { certificate.check(self.arbiter, &self.lineage) } else { Ok(()) }
    }

    /// Whether anything can come of it here. Of what is known nothing does, so nobody has to ask who signed it: of a large
    /// session's certificates the votes of a majority.
    pub(crate) fn heeds(&self, sealed: Sealed<'_>) -> bool {
        match sealed {
            Sealed::Certificate(certificate) => {
                certificate.epoch > self.epoch || self.lacks(certificate) || !G::stands(Guard::Epoch)
            }
            Sealed::View(view) => *view != self.view,
            Sealed::Vote(vote) => {
                matches!(&self.standing, Standing::Asks { epoch, .. } if *epoch == vote.epoch)
            }
        }
    }

    fn crown(&mut self, certificate: &Certificate) {
        self.epoch = certificate.epoch;
        self.host = certificate.host;
        self.note(certificate);
    }

    /// Whether it tells of a host that this peer has missed. Nothing is obeyed for it; but it may have written the newest state that is left, and
    /// members may have elected the present host in its epoch.
    fn lacks(&self, certificate: &Certificate) -> bool {
        let oldest = self.lineage.first_key_value().map_or(Epoch::FIRST, |(epoch, _)| *epoch);
        let has_room = self.lineage.len() < LINEAGE_MAX || certificate.epoch > oldest;
        !self.lineage.contains_key(&certificate.epoch) && has_room
    }

    fn note(&mut self, certificate: &Certificate) {
        self.lineage.insert(certificate.epoch, certificate.host);
        if self.lineage.len() > LINEAGE_MAX {
            self.lineage.pop_first();
        }
        let at = self.certificates.partition_point(|known| known.epoch < certificate.epoch);
        self.certificates.insert(at, certificate.clone());
        if self.certificates.len() > LINEAGE_MAX {
            self.certificates.remove(0);
        }
    }

    /// Whether the newest view of this host was taken by a majority of its members, where that matters to anybody. `false`
    /// where it is no host.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        match &self.standing {
            Standing::Reigns { taken, .. } => self.arbiter == Arbiter::Lobby || self.view.is_majority(taken),
            Standing::Follows | Standing::Asks { .. } => false,
        }
    }

    /// Who has not yet taken this host's newest view.
    #[must_use]
    pub fn missing(&self) -> Vec<PeerId> {
        match &self.standing {
            Standing::Reigns { taken, .. } => {
                self.view.members.keys().filter(|peer| !taken.contains(peer)).copied().collect()
            }
            Standing::Follows | Standing::Asks { .. } => Vec::new(),
        }
    }

    /// Writes the next view: one member more or less, or the members of the last that was settled; any members where nobody
    /// votes. It is to be signed, and is not said before: [`Ballot::sign_view`]. `false` where this peer is no host, or may not write that one.
    pub fn write_view(&mut self, members: BTreeMap<PeerId, ChannelId>) -> bool {
        let is_settled = self.is_settled();
        let Standing::Reigns { settled, .. } = &self.standing else { return false };
        let follows = match self.arbiter {
            Arbiter::Lobby => members != self.view.members,
            Arbiter::Majority if is_settled => self.view.is_neighbour(&members),
            Arbiter::Majority => members != self.view.members && settled.as_ref() == Some(&members),
        };
        let fits = follows
            && self.promised() == self.epoch
            && members.contains_key(&self.me)
            && members.len() <= crate::MEMBERS_MAX;
        if !fits {
            return false;
        }
        let settled = if is_settled { Some(self.view.members.clone()) } else { settled.clone() };
        self.view.members = members;
        self.view.id.version += 1;
        self.view.signature = Signature::default();
        self.standing = Standing::Reigns { taken: BTreeSet::from([self.me]), settled };
        true
    }

    /// The members of the last view that most had taken, where the newest is not settled and can be taken back.
    #[must_use]
    pub fn last_settled(&self) -> Option<&BTreeMap<PeerId, ChannelId>> {
        match &self.standing {
            Standing::Reigns { settled, .. } if !self.is_settled() => settled.as_ref(),
            Standing::Reigns { .. } | Standing::Follows | Standing::Asks { .. } => None,
        }
    }

    /// This host signs the view that it has written.
    pub fn sign_view(&mut self, signature: Signature) {
        self.view.signature = signature;
    }

    /// Takes a view of the present host. `true` says that it stands now, and the host may count on it.
    pub fn take_view(&mut self, view: &View) -> bool {
        let from_host = view.id.epoch == self.epoch && view.host == self.host && self.host != self.me;
        // Not even one it has: it may have learnt it from another after it promised.
        if !from_host || view.id < self.view.id || self.promised() > self.epoch {
            return false;
        }
        self.view = view.clone();
        true
    }

    /// Learns a newer view from somebody who refused a claim for it. The host cannot count on that: see
    /// [`Ballot::take_view`]. A claim that was open is void, for its electorate is another.
    ///
    /// # Errors
    /// A view that the host of its epoch did not write.
    pub fn learn_view(&mut self, view: &View) -> Result<(), Forged> {
        match self.lineage.get(&view.id.epoch) {
            None => return Err(Forged::Gap),
            Some(host) if *host != view.host => return Err(Forged::Electorate),
            Some(_) => {}
        }
        if view.id > self.view.id && self.host != self.me {
            self.stop_asking();
            // Whoever has not promised anything yet does so now, or the host would count on it later.
            if self.promised() == self.epoch {
                self.promise = Some(Promise { epoch: self.epoch.next(), candidate: self.me });
            }
            self.view = view.clone();
        }
        Ok(())
    }

    /// A member has taken this host's view.
    pub fn taken(&mut self, member: PeerId, id: ViewId) {
        let known = id == self.view.id && self.view.members.contains_key(&member);
        if let (true, Standing::Reigns { taken, .. }) = (known, &mut self.standing) {
            taken.insert(member);
        }
    }
}
