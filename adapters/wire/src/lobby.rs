//! What a lobby and its peers sign, and how whoever reads it checks that without asking anybody.
//!
//! Every statement is a text that says what it is, followed by fields of fixed length in a fixed order, numbers with their highest
//! byte first: nothing that is signed as one can be read as another. Keys and signatures are Ed25519 (RFC 8032).

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use mainstay_core::{SessionId, Timestamp};
use mainstay_lobby::PLAYER_BYTES_MAX;
pub use mainstay_lobby::{Epoch, PeerKey, Player};
use mainstay_migration::PeerId;
use ring::digest::{SHA256, digest};
use ring::signature::{ED25519, UnparsedPublicKey};

/// A host stops when its lobby does: what peers reckon with is what the lobby grants.
const _: () = assert!(mainstay_migration::LOBBY_LEASE.as_millis() == mainstay_lobby::LEASE.as_millis());
/// Whoever a lobby lets in can show so.
const _: () = assert!(mainstay_migration::PASS_PLAYER_BYTES_MAX == PLAYER_BYTES_MAX);

/// The peer whose key that is, as peers name it among each other: the first half of the key's SHA-256. Nobody finds a second key to one in 2^128 tries.
#[must_use]
pub fn peer_of(key: &[u8; 32]) -> PeerId {
    let mut half = [0; 16];
    half.copy_from_slice(&digest(&SHA256, key).as_ref()[..16]);
    PeerId(u128::from_be_bytes(half))
}

/// The public key of a lobby.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LobbyKey(pub [u8; 32]);

/// An Ed25519 signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Signature(pub [u8; 64]);

/// Why something signed proves nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unproven {
    /// Another wrote it, or it was changed.
    #[error("the signature is not the key's")]
    Forged,
    /// It has run out.
    #[error("it has run out")]
    Expired,
}

/// Who is host of which epoch of a session: signed by the lobby, for everybody. There is one for each epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Certificate {
    /// Of which session.
    pub session: SessionId,
    /// Which epoch.
    pub epoch: Epoch,
    /// The host's key.
    pub host: PeerKey,
}

/// That a process is a member of a session: signed by the lobby, shown to other peers, and worth nothing without the process's
/// private key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pass {
    /// Of which session.
    pub session: SessionId,
    /// The process's key.
    pub peer: PeerKey,
    /// Whose process it is.
    pub player: Player,
    /// Until when, by the lobby's clock.
    pub expires: Timestamp,
}

/// That whoever asks a lobby to let a key in has the private half: signed by the peer, for one lobby.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asks {
    /// Which lobby, by its key.
    pub lobby: LobbyKey,
}

/// That the host of an epoch goes on: signed by it, to be brought to the lobby by another member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Renews {
    /// Of which session.
    pub session: SessionId,
    /// Which epoch.
    pub epoch: Epoch,
    /// The newest moment of the lobby's clock that the host knew of.
    pub as_of: Timestamp,
}

/// That the lobby has counted a renewal which another member brought: signed by the lobby, for the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Receipt {
    /// Of which session.
    pub session: SessionId,
    /// Which epoch.
    pub epoch: Epoch,
    /// As of when the renewal was.
    pub renewed: Timestamp,
    /// What the lobby's clock said as it was counted.
    pub as_of: Timestamp,
}

impl Certificate {
    const SAYS: &[u8] = b"mainstay lobby certificate 1\0";

    /// What is signed.
    #[must_use]
    pub fn signed_bytes(&self) -> Vec<u8> {
        let session = self.session.0.as_bytes();
        [Self::SAYS, session, &self.epoch.0.to_be_bytes(), &self.host.0].concat()
    }

    /// # Errors
    /// [`Unproven::Forged`].
    pub fn verify(&self, lobby: &LobbyKey, signature: &Signature) -> Result<(), Unproven> {
        lobby.verify(&self.signed_bytes(), signature)
    }
}

impl Pass {
    const SAYS: &[u8] = b"mainstay lobby pass 1\0";

    /// What is signed.
    #[must_use]
    pub fn signed_bytes(&self) -> Vec<u8> {
        let player = self.player.0.as_bytes();
        // A lobby takes no longer name.
        let player = &player[..player.len().min(PLAYER_BYTES_MAX)];
        let length = u8::try_from(player.len()).unwrap_or(u8::MAX);
        let session = self.session.0.as_bytes();
        [Self::SAYS, session, &self.peer.0, &self.expires.unix_ms().to_be_bytes(), &[length], player].concat()
    }

    /// Whether the lobby has signed it, be it that it has run out.
    ///
    /// # Errors
    /// [`Unproven::Forged`].
    pub fn is_signed(&self, lobby: &LobbyKey, signature: &Signature) -> Result<(), Unproven> {
        lobby.verify(&self.signed_bytes(), signature)
    }

    /// # Errors
    /// See [`Unproven`].
    pub fn verify(&self, lobby: &LobbyKey, signature: &Signature, now: Timestamp) -> Result<(), Unproven> {
        self.is_signed(lobby, signature)?;
        if now < self.expires { Ok(()) } else { Err(Unproven::Expired) }
    }
}

impl Asks {
    const SAYS: &[u8] = b"mainstay lobby join 1\0";

    /// What is signed.
    #[must_use]
    pub fn signed_bytes(&self) -> Vec<u8> {
        [Self::SAYS, &self.lobby.0].concat()
    }

    /// # Errors
    /// [`Unproven::Forged`].
    pub fn verify(&self, peer: &PeerKey, signature: &Signature) -> Result<(), Unproven> {
        verify(&peer.0, &self.signed_bytes(), signature)
    }
}

impl Renews {
    const SAYS: &[u8] = b"mainstay lobby renewal 1\0";

    /// What is signed.
    #[must_use]
    pub fn signed_bytes(&self) -> Vec<u8> {
        let session = self.session.0.as_bytes();
        let as_of = self.as_of.unix_ms().to_be_bytes();
        [Self::SAYS, session, &self.epoch.0.to_be_bytes(), &as_of].concat()
    }

    /// # Errors
    /// [`Unproven::Forged`].
    pub fn verify(&self, host: &PeerKey, signature: &Signature) -> Result<(), Unproven> {
        verify(&host.0, &self.signed_bytes(), signature)
    }
}

impl Receipt {
    const SAYS: &[u8] = b"mainstay lobby receipt 1\0";

    /// What is signed.
    #[must_use]
    pub fn signed_bytes(&self) -> Vec<u8> {
        let session = self.session.0.as_bytes();
        let (renewed, as_of) = (self.renewed.unix_ms().to_be_bytes(), self.as_of.unix_ms().to_be_bytes());
        [Self::SAYS, session, &self.epoch.0.to_be_bytes(), &renewed, &as_of].concat()
    }

    /// # Errors
    /// [`Unproven::Forged`].
    pub fn verify(&self, lobby: &LobbyKey, signature: &Signature) -> Result<(), Unproven> {
        lobby.verify(&self.signed_bytes(), signature)
    }
}

impl LobbyKey {
    /// # Errors
    /// [`Unproven::Forged`].
    fn verify(&self, bytes: &[u8], signature: &Signature) -> Result<(), Unproven> {
        verify(&self.0, bytes, signature)
    }
}

fn verify(key: &[u8; 32], bytes: &[u8], signature: &Signature) -> Result<(), Unproven> {
    UnparsedPublicKey::new(&ED25519, key).verify(bytes, &signature.0).map_err(|_| Unproven::Forged)
}

/// Keys and signatures as texts: base64url without padding.
#[must_use]
pub fn text(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Reads them.
#[must_use]
pub fn bytes<const N: usize>(text: &str) -> Option<[u8; N]> {
    // Nothing longer is one, and nothing longer is decoded.
    if text.len() > N.div_ceil(3) * 4 {
        return None;
    }
    URL_SAFE_NO_PAD.decode(text).ok()?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ring::signature::{Ed25519KeyPair, KeyPair as _};

    fn pair(seed: u8) -> (Ed25519KeyPair, [u8; 32]) {
        let pair = Ed25519KeyPair::from_seed_unchecked(&[seed; 32]).unwrap();
        let public = pair.public_key().as_ref().try_into().unwrap();
        (pair, public)
    }

    fn sign(pair: &Ed25519KeyPair, bytes: &[u8]) -> Signature {
        Signature(pair.sign(bytes).as_ref().try_into().unwrap())
    }

    fn session() -> SessionId {
        "00010203-0405-4607-8809-0a0b0c0d0e0f".parse().unwrap()
    }

    /// A golden test that fails is another statement, with another number in its text: peers of both are about.
    #[test]
    fn what_is_signed_keeps_its_bytes() {
        let certificate = Certificate { session: session(), epoch: Epoch(0x0102), host: PeerKey([7; 32]) };
        let mut golden = b"mainstay lobby certificate 1\0\x00\x01\x02\x03\x04\x05\x46\x07\x88\x09\x0a\x0b\x0c\x0d\x0e\x0f\x00\x00\x01\x02".to_vec();
        golden.extend([7; 32]);
        assert_eq!(certificate.signed_bytes(), golden);
        let pass = Pass {
            session: session(),
            peer: PeerKey([7; 32]),
            player: Player("ann".into()),
            expires: Timestamp::from_unix_ms(0x0506),
        };
        let mut golden =
            b"mainstay lobby pass 1\0\x00\x01\x02\x03\x04\x05\x46\x07\x88\x09\x0a\x0b\x0c\x0d\x0e\x0f"
                .to_vec();
        golden.extend([7; 32]);
        golden.extend(b"\0\0\0\0\0\0\x05\x06\x03ann");
        assert_eq!(pass.signed_bytes(), golden);
        let renews = Renews { session: session(), epoch: Epoch(1), as_of: Timestamp::from_unix_ms(2) };
        let golden = b"mainstay lobby renewal 1\0\x00\x01\x02\x03\x04\x05\x46\x07\x88\x09\x0a\x0b\x0c\x0d\x0e\x0f\0\0\0\x01\0\0\0\0\0\0\0\x02";
        assert_eq!(renews.signed_bytes(), golden);
        // What the rules of a host have it sign is what its lobby reads.
        let of_rules = mainstay_migration::Renewal::words(
            mainstay_migration::SessionId(session().0.as_u128()),
            mainstay_migration::Epoch(1),
            Timestamp::from_unix_ms(2),
        );
        assert_eq!(of_rules, golden);
        let receipt = Receipt {
            session: session(),
            epoch: Epoch(1),
            renewed: Timestamp::from_unix_ms(2),
            as_of: Timestamp::from_unix_ms(3),
        };
        let golden = b"mainstay lobby receipt 1\0\x00\x01\x02\x03\x04\x05\x46\x07\x88\x09\x0a\x0b\x0c\x0d\x0e\x0f\0\0\0\x01\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0\x03";
        assert_eq!(receipt.signed_bytes(), golden);
        let asks = Asks { lobby: LobbyKey([7; 32]) };
        assert_eq!(asks.signed_bytes(), [&b"mainstay lobby join 1\0"[..], &[7; 32]].concat());
    }

    #[test]
    fn what_another_signed_or_somebody_changed_proves_nothing() {
        let ((lobby, key), (_, other)) = (pair(1), pair(2));
        let certificate = Certificate { session: session(), epoch: Epoch(3), host: PeerKey(other) };
        let signature = sign(&lobby, &certificate.signed_bytes());
        assert_eq!(certificate.verify(&LobbyKey(key), &signature), Ok(()));
        assert_eq!(certificate.verify(&LobbyKey(other), &signature), Err(Unproven::Forged));
        let later = Certificate { epoch: Epoch(4), ..certificate };
        assert_eq!(later.verify(&LobbyKey(key), &signature), Err(Unproven::Forged));
        let pass = Pass {
            session: session(),
            peer: PeerKey(other),
            player: Player("ann".into()),
            expires: Timestamp::from_unix_ms(10),
        };
        let signature = sign(&lobby, &pass.signed_bytes());
        let at = Timestamp::from_unix_ms;
        assert_eq!(pass.verify(&LobbyKey(key), &signature, at(9)), Ok(()));
        assert_eq!(pass.verify(&LobbyKey(key), &signature, at(10)), Err(Unproven::Expired));
        let receipt = Receipt { session: session(), epoch: Epoch(3), renewed: at(1), as_of: at(2) };
        let signature = sign(&lobby, &receipt.signed_bytes());
        assert_eq!(receipt.verify(&LobbyKey(key), &signature), Ok(()));
        let of_another = Receipt { renewed: at(2), ..receipt };
        assert_eq!(of_another.verify(&LobbyKey(key), &signature), Err(Unproven::Forged));
        let signature = sign(&lobby, &pass.signed_bytes());
        let another = Pass { player: Player("eve".into()), ..pass };
        assert_eq!(another.verify(&LobbyKey(key), &signature, at(9)), Err(Unproven::Forged));
    }

    #[test]
    fn texts_of_keys_are_read_back_and_nothing_else_is() {
        assert_eq!(bytes::<32>(&text(&[9; 32])), Some([9; 32]));
        for wrong in ["", "AAAA", &text(&[9; 33]), &"A".repeat(1_000_000), "!", "\u{e9}"] {
            assert_eq!(bytes::<32>(wrong), None);
        }
    }
}
