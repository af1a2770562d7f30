//! What a lobby is asked and what it signs, as other programs write it: any JSON, any key, any signature. What is read keeps its
//! form, and nothing proves what it was not made for.

use mainstay_core::{SessionId, Timestamp};
use mainstay_lobby::{Epoch, PeerKey, Player};
use mainstay_wire::lobby::{self, Asks, Certificate, LobbyKey, Pass, Renews, Signature};
use mainstay_wire::native::{
    BeatRequest, CertificateView, ClaimRequest, JoinRequest, MemberRequest, MemberUpdate, PassView,
    SessionRequest, SessionUpdate,
};
use mainstay_wire::relay::Frame;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The public key of RFC 8032's first test, whose private half no input holds.
const KEY: [u8; 32] = [
    0xd7, 0x5a, 0x98, 0x01, 0x82, 0xb1, 0x0a, 0xb7, 0xd5, 0x4b, 0xfe, 0xd3, 0xc9, 0x64, 0x07, 0x3a, 0x0e,
    0xe1, 0x72, 0xf3, 0xda, 0xa6, 0x23, 0x25, 0xaf, 0x02, 0x1a, 0x68, 0xf7, 0x07, 0x51, 0x1a,
];

/// Feeds one input; panics where a promise is broken.
pub fn run(bytes: &[u8]) {
    if let Ok(text) = std::str::from_utf8(bytes) {
        keeps::<32>(text);
        keeps::<64>(text);
    }
    json::<SessionRequest>(bytes);
    json::<SessionUpdate>(bytes);
    json::<JoinRequest>(bytes);
    json::<MemberRequest>(bytes);
    json::<MemberUpdate>(bytes);
    json::<BeatRequest>(bytes);
    json::<ClaimRequest>(bytes);
    json::<CertificateView>(bytes);
    json::<PassView>(bytes);
    if let Ok(request) = serde_json::from_slice::<SessionRequest>(bytes) {
        // Whatever was asked becomes settings, or is refused by the rules behind them.
        let _settings = request.settings();
    }
    if let Some(frame) = Frame::decode(bytes) {
        assert_eq!(frame.encode(), bytes);
    }
    nothing_is_proven(bytes);
}

/// A key or signature that is read is written as the same text.
fn keeps<const N: usize>(text: &str) {
    if let Some(read) = lobby::bytes::<N>(text) {
        assert_eq!(lobby::text(&read), text);
    }
}

/// What is read is written so that it is read as the same.
fn json<T: DeserializeOwned + Serialize + PartialEq + std::fmt::Debug>(bytes: &[u8]) {
    if let Ok(read) = serde_json::from_slice::<T>(bytes) {
        let written = serde_json::to_vec(&read).unwrap_or_default();
        let again = serde_json::from_slice::<T>(&written).ok();
        assert_eq!(again.as_ref(), Some(&read));
    }
}

/// Any bytes as the fields, the key and the signature of each statement.
fn nothing_is_proven(bytes: &[u8]) {
    let Some((key, rest)) = bytes.split_first_chunk::<32>() else { return };
    let Some((signature, rest)) = rest.split_first_chunk::<64>() else { return };
    let Some((id, player)) = rest.split_first_chunk::<16>() else { return };
    let (lobby, peer, signature) = (LobbyKey(KEY), PeerKey(*key), Signature(*signature));
    let session = SessionId(uuid::Uuid::from_bytes(*id));
    let epoch = Epoch(u32::from(id[0]));
    let certificate = Certificate { session, epoch, host: peer };
    let expires = Timestamp::from_unix_ms(1);
    let pass = Pass { session, peer, player: Player(String::from_utf8_lossy(player).into()), expires };
    let renews = Renews { session, epoch, as_of: expires };
    let says = [
        certificate.signed_bytes(),
        pass.signed_bytes(),
        Asks { lobby }.signed_bytes(),
        renews.signed_bytes(),
    ];
    for (index, one) in says.iter().enumerate() {
        assert!(says[index + 1..].iter().all(|other| other != one), "each says what it is");
    }
    assert!(certificate.verify(&lobby, &signature).is_err());
    assert!(pass.verify(&lobby, &signature, expires).is_err());
    assert!(Asks { lobby }.verify(&PeerKey(KEY), &signature).is_err());
    assert!(renews.verify(&PeerKey(KEY), &signature).is_err());
}
