//! What is signed, and how: a vote, a view and a state are worth something to whoever gets them from a third peer, so they
//! carry a signature of whoever gave them. Everything else is only believed of the peer whose link it comes over.
//!
//! The words that are signed name the session and the epoch, so nothing signed for one can be shown in another. Which keys
//! and which scheme they are signed with is the hands' matter: [`Keys`] is pure, and reads neither clock nor chance (Ed25519
//! signs without chance).

use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use mainstay_core::Timestamp;

use crate::certificate::{Certificate, Proof, Vote};
use crate::lobby::{Grant, PASS_PLAYER_BYTES_MAX, Pass, Receipt, Renewal};
use crate::message::{Announcement, Body, Message};
use crate::state::StateId;
use crate::view::View;
use crate::{Epoch, PeerId, Refusal, SessionId};

/// The longest signature with whatever proves the key that made it: of Ed25519 96 bytes, of P-256 129.
pub const SIGNATURE_BYTES_MAX: usize = 160;

/// A signature, in a form that only the hands read. Empty: none.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Signature(pub Vec<u8>);

impl fmt::Debug for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "signature of {} bytes", self.0.len())
    }
}

/// The keys of one peer. A [`PeerId`] is the fingerprint of a public key; a signature has to hold what proves that key.
pub trait Keys: fmt::Debug + Send + Sync {
    /// Signs as this peer. The same words always get the same signature.
    fn sign(&self, words: &[u8]) -> Signature;

    /// Whether that peer has signed exactly these words.
    fn is_by(&self, signer: PeerId, words: &[u8], signature: &Signature) -> bool;

    /// Whether every one of these was signed by whom it names. The votes of a majority come together, and many schemes check many
    /// at once for less than they cost one by one: of 64 peers each checks 33 when a host goes, all in the same moment.
    fn are_by(&self, all: &[Signed<'_>]) -> bool {
        all.iter().all(|it| self.is_by(it.signer, &it.words, it.signature))
    }

    /// Whether the lobby of this session has signed exactly this. A session without a lobby has nobody who could.
    fn is_of_lobby(&self, _grant: &Grant, _signature: &Signature) -> bool {
        false
    }

    /// Whether the lobby of this session has signed that pass, for that peer. Whether it has run out is not asked.
    fn is_pass(&self, _session: SessionId, _peer: PeerId, _pass: &Pass) -> bool {
        false
    }

    /// Whether the lobby of this session has signed that receipt, for the host of that epoch.
    fn is_receipt(&self, _session: SessionId, _epoch: Epoch, _receipt: &Receipt) -> bool {
        false
    }
}

/// Words, and who is said to have signed them.
#[derive(Debug)]
pub struct Signed<'a> {
    /// Who is said to have.
    pub signer: PeerId,
    /// What was signed.
    pub words: Vec<u8>,
    /// What proves it.
    pub signature: &'a Signature,
}

impl Vote {
    /// What a voter signs.
    #[must_use]
    pub fn words(&self, session: SessionId) -> Vec<u8> {
        let mut words = Words::of(b"mainstay vote 1", session);
        words.number(u128::from(self.epoch.0), 4);
        words.number(self.candidate.0, 16);
        words.number(self.voter.0, 16);
        words.number(u128::from(self.electorate.epoch.0), 4);
        words.number(u128::from(self.electorate.version), 4);
        words.0
    }

    fn signed(&self, session: SessionId) -> Signed<'_> {
        Signed { signer: self.voter, words: self.words(session), signature: &self.signature }
    }

    fn is_genuine(&self, session: SessionId, keys: &dyn Keys) -> bool {
        fits(&self.signature) && keys.are_by(&[self.signed(session)])
    }
}

impl View {
    /// What a host signs.
    #[must_use]
    pub fn words(&self, session: SessionId) -> Vec<u8> {
        let mut words = Words::of(b"mainstay view 1", session);
        words.number(u128::from(self.id.epoch.0), 4);
        words.number(u128::from(self.id.version), 4);
        words.number(self.host.0, 16);
        words.number(self.members.len() as u128, 4);
        for (peer, channel) in &self.members {
            words.number(peer.0, 16);
            words.number(u128::from(channel.stamp.epoch.0), 4);
            words.number(u128::from(channel.stamp.fork), 4);
            words.number(u128::from(channel.number), 4);
        }
        words.0
    }

    fn is_genuine(&self, session: SessionId, keys: &dyn Keys) -> bool {
        fits(&self.signature) && keys.is_by(self.host, &self.words(session), &self.signature)
    }
}

impl Certificate {
    pub(crate) fn is_genuine(&self, session: SessionId, keys: &dyn Keys) -> bool {
        match &self.proof {
            Proof::Majority { electorate, votes } => {
                let votes: Vec<Vote> = self.votes(electorate.id, votes).collect();
                votes.iter().all(|vote| fits(&vote.signature))
                    && electorate.is_genuine(session, keys)
                    && keys.are_by(&votes.iter().map(|vote| vote.signed(session)).collect::<Vec<_>>())
            }
            Proof::Lobby(signature) => {
                let grant = Grant { session, epoch: self.epoch, host: self.host };
                fits(signature) && keys.is_of_lobby(&grant, signature)
            }
        }
    }
}

impl StateId {
    /// What the host that wrote it signs.
    #[must_use]
    pub fn words(&self, session: SessionId) -> Vec<u8> {
        let mut words = Words::of(b"mainstay state seal 1", session);
        words.number(u128::from(self.stamp.epoch.0), 4);
        words.number(u128::from(self.stamp.fork), 4);
        words.number(u128::from(self.number), 8);
        words.number(u128::from(self.tick.0), 8);
        words.number(self.hash.0, 16);
        words.0
    }

    pub(crate) fn is_sealed(
        &self,
        seal: &Signature,
        writer: PeerId,
        session: SessionId,
        keys: &dyn Keys,
    ) -> bool {
        fits(seal) && keys.is_by(writer, &self.words(session), seal)
    }
}

impl Pass {
    pub(crate) fn is_genuine(&self, session: SessionId, peer: PeerId, keys: &dyn Keys) -> bool {
        let fits = fits(&self.signature) && self.player.len() <= PASS_PLAYER_BYTES_MAX;
        fits && keys.is_pass(session, peer, self)
    }
}

impl Renewal {
    /// What a host signs. The lobby reads the same: `adapters/wire` compares them.
    #[must_use]
    pub fn words(session: SessionId, epoch: Epoch, as_of: Timestamp) -> Vec<u8> {
        let mut words = Words::of(b"mainstay lobby renewal 1\0", session);
        words.number(u128::from(epoch.0), 4);
        words.number(u128::from(as_of.unix_ms()), 8);
        words.0
    }

    pub(crate) fn signed(session: SessionId, epoch: Epoch, as_of: Timestamp, keys: &dyn Keys) -> Self {
        Self { as_of, signature: keys.sign(&Self::words(session, epoch, as_of)) }
    }
}

impl Receipt {
    pub(crate) fn is_genuine(&self, session: SessionId, epoch: Epoch, keys: &dyn Keys) -> bool {
        fits(&self.signature) && keys.is_receipt(session, epoch, self)
    }
}

/// Something in a message that somebody has signed.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Sealed<'a> {
    Certificate(&'a Certificate),
    View(&'a View),
    Vote(&'a Vote),
}

impl Sealed<'_> {
    pub(crate) fn is_genuine(self, session: SessionId, keys: &dyn Keys) -> bool {
        match self {
            Self::Certificate(certificate) => certificate.is_genuine(session, keys),
            Self::View(view) => view.is_genuine(session, keys),
            Self::Vote(vote) => vote.is_genuine(session, keys),
        }
    }
}

impl Message {
    /// Whether everything in it that is signed is signed by whom it names.
    #[must_use]
    pub fn is_genuine(&self, keys: &dyn Keys) -> bool {
        self.sealed().into_iter().all(|sealed| sealed.is_genuine(self.session, keys))
    }

    /// Everything in it that is signed.
    pub(crate) fn sealed(&self) -> Vec<Sealed<'_>> {
        let all = |certificates| <[Certificate]>::iter(certificates).map(Sealed::Certificate);
        match &self.body {
            Body::Claim(claim) => vec![Sealed::View(&claim.view)],
            Body::Vote(vote) => vec![Sealed::Vote(vote)],
            Body::Refusal { why: Refusal::Passed(certificates), .. } => all(certificates).collect(),
            Body::Refusal { why: Refusal::NewerView(view), .. } | Body::View(view) => {
                vec![Sealed::View(view)]
            }
            Body::Announce(Announcement { certificates, view, .. }) => {
                all(certificates).chain([Sealed::View(view)]).collect()
            }
            Body::Welcome(welcome) => {
                all(&welcome.certificates).chain([Sealed::View(&welcome.view)]).collect()
            }
            Body::Refusal {
                why: Refusal::Promised(_) | Refusal::NotMine | Refusal::HostLives | Refusal::Unsuitable,
                ..
            }
            | Body::Beat(_)
            | Body::Ask
            | Body::Answer(_)
            | Body::Taken(_)
            | Body::Roster(_)
            | Body::Hints(_)
            // Whether a host wrote it is asked where it is taken: that depends on whose state it is.
            | Body::State(_)
            | Body::Holds(_)
            | Body::Pull(_)
            | Body::Play { .. }
            | Body::Join { .. }
            // Whether it is the sender's is asked where it is let in.
            | Body::Present { .. }
            | Body::Redirect(_)
            | Body::Leave
            | Body::Refused(_)
            // The lobby checks the one, and the host who needs it the other.
            | Body::Bring { .. }
            | Body::Counted(_) => Vec::new(),
        }
    }
}

fn fits(signature: &Signature) -> bool {
    signature.0.len() <= SIGNATURE_BYTES_MAX
}

/// Numbers of fixed width, the highest byte first, after what they are and for which session.
struct Words(Vec<u8>);

impl Words {
    fn of(what: &[u8], session: SessionId) -> Self {
        let mut words = Self(what.to_vec());
        words.number(session.0, 16);
        words
    }

    fn number(&mut self, number: u128, width: usize) {
        let bytes = number.to_be_bytes();
        self.0.extend_from_slice(&bytes[bytes.len() - width..]);
    }
}
