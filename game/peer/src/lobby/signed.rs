//! What a lobby signs, as the rules have it: whose key it is about goes before the signature.

use mainstay_core::Timestamp;
use mainstay_migration::{
    Certificate, Epoch, Grant, Pass, PeerId, Proof, Receipt, Renewal, SessionId, Signature,
};
use mainstay_wire::lobby::{LobbyKey, bytes, peer_of, text};
use mainstay_wire::native::{BeatAnswer, CertificateView, MemberAnswer, RelayedRenewal};

/// A certificate: the host's key goes before the lobby's signature.
pub(super) fn certificate_of(view: &CertificateView) -> Option<Certificate> {
    let (host, signature) = (bytes::<32>(&view.host)?, bytes::<64>(&view.signature)?);
    let proof = Proof::Lobby(Signature([&host[..], &signature[..]].concat()));
    Some(Certificate { epoch: Epoch(view.epoch), host: peer_of(&host), proof })
}

/// A pass: the peer's own key goes before the lobby's signature. `None` where it is none.
pub(super) fn pass_of(answer: &MemberAnswer) -> Option<Pass> {
    let (peer, signature) = (bytes::<32>(&answer.pass.peer)?, bytes::<64>(&answer.pass.signature)?);
    Some(Pass {
        expires: Timestamp::from_unix_ms(answer.pass.expires),
        player: answer.pass.player.clone().into_bytes(),
        signature: Signature([&peer[..], &signature[..]].concat()),
    })
}

/// A renewal as a lobby reads it, which knows its host's key.
pub(super) fn relayed_of(renewal: &Renewal) -> Option<RelayedRenewal> {
    let (_key, signature) = split(&renewal.signature)?;
    Some(RelayedRenewal { as_of: renewal.as_of.unix_ms(), signature: text(&signature.0) })
}

/// A lobby's receipt for a renewal that this peer brought, where there is one.
pub(super) fn receipt_of(renewal: &Renewal, answer: &BeatAnswer) -> Option<Receipt> {
    let signature = bytes::<64>(answer.receipt.as_ref()?)?;
    Some(Receipt {
        renewed: renewal.as_of,
        as_of: Timestamp::from_unix_ms(answer.as_of),
        signature: Signature(signature.to_vec()),
    })
}

/// A key of 32 bytes, and what the lobby has signed about it in 64.
fn split(signature: &Signature) -> Option<([u8; 32], mainstay_wire::lobby::Signature)> {
    let (key, signature) = signature.0.split_first_chunk::<32>()?;
    Some((*key, mainstay_wire::lobby::Signature(signature.try_into().ok()?)))
}

/// Whether the lobby of that key has signed a pass for that peer; whether it has run out is the rules' matter.
pub(crate) fn is_pass(lobby: &LobbyKey, session: SessionId, peer: PeerId, pass: &Pass) -> bool {
    let Some((key, signature)) = split(&pass.signature) else { return false };
    let Ok(player) = std::str::from_utf8(&pass.player) else { return false };
    let signed = mainstay_wire::lobby::Pass {
        session: mainstay_core::SessionId(uuid::Uuid::from_u128(session.0)),
        peer: mainstay_wire::lobby::PeerKey(key),
        player: mainstay_wire::lobby::Player(player.into()),
        expires: pass.expires,
    };
    peer_of(&key) == peer && signed.is_signed(lobby, &signature).is_ok()
}

/// Whether the lobby of that key has signed a grant.
pub(crate) fn is_of_lobby(lobby: &LobbyKey, grant: &Grant, signature: &Signature) -> bool {
    let Some((host, signature)) = split(signature) else { return false };
    let certificate = mainstay_wire::lobby::Certificate {
        session: mainstay_core::SessionId(uuid::Uuid::from_u128(grant.session.0)),
        epoch: mainstay_wire::lobby::Epoch(grant.epoch.0),
        host: mainstay_wire::lobby::PeerKey(host),
    };
    peer_of(&host) == grant.host && certificate.verify(lobby, &signature).is_ok()
}

/// Whether the lobby of that key has signed a receipt for the host of that epoch.
pub(crate) fn is_receipt(lobby: &LobbyKey, session: SessionId, epoch: Epoch, receipt: &Receipt) -> bool {
    let Ok(signature) = receipt.signature.0.as_slice().try_into() else { return false };
    let signed = mainstay_wire::lobby::Receipt {
        session: mainstay_core::SessionId(uuid::Uuid::from_u128(session.0)),
        epoch: mainstay_wire::lobby::Epoch(epoch.0),
        renewed: receipt.renewed,
        as_of: receipt.as_of,
    };
    signed.verify(lobby, &mainstay_wire::lobby::Signature(signature)).is_ok()
}
