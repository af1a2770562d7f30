//! How peers and a lobby sign.

use mainstay_migration::{Epoch, Grant, Keys, Pass, PeerId, Receipt, SessionId, Signature};

/// Keys as they behave, not as they are made: a peer signs with its own alone, and liars have no others.
#[derive(Debug)]
pub(super) struct NamedKeys(pub PeerId);

impl Keys for NamedKeys {
    fn sign(&self, words: &[u8]) -> Signature {
        let own = words.iter().fold(crate::random::mix(self.0.0 as u64), |mixed, byte| {
            (mixed ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        Signature(own.to_be_bytes().to_vec())
    }

    fn is_by(&self, signer: PeerId, words: &[u8], signature: &Signature) -> bool {
        Self(signer).sign(words) == *signature
    }

    fn is_of_lobby(&self, grant: &Grant, signature: &Signature) -> bool {
        super::lobby::signed(grant) == *signature
    }

    fn is_pass(&self, session: SessionId, peer: PeerId, pass: &Pass) -> bool {
        super::lobby::signed_pass(session, peer, pass) == pass.signature
    }

    fn is_receipt(&self, session: SessionId, epoch: Epoch, receipt: &Receipt) -> bool {
        super::lobby::signed_receipt(session, epoch, receipt) == receipt.signature
    }
}
