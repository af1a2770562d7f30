//! The stored form of what the catalog knows about machines that join: pinned by its bytes, and whatever is in it survives.
//! A golden test that fails is a new format, never new bytes in this file.

use std::time::Duration;

use mainstay_core::{FleetId, JoinTokenId, MachineKey, RegionId, Timestamp};
use mainstay_fleet::catalog::admission::{AdmissionEvent, NewToken, Scope, Secret, TokenStage};
use mainstay_fleet::catalog::{Catalog, CatalogEvent};
use mainstay_journal::stored::Stored;
use proptest::prelude::*;

const ID: &str = "00112233-4455-6677-8899-aabbccddeeff";

fn id<T: std::str::FromStr>() -> T
where
    T::Err: std::fmt::Debug,
{
    ID.parse().unwrap()
}

fn secret(byte: u8) -> Secret {
    Secret { sha256: [byte; 32], expires: Timestamp::from_unix_ms(300) }
}

fn keeps_its_bytes(event: AdmissionEvent, golden: &str) {
    let event = CatalogEvent::Admission(event);
    let mut bytes = Vec::new();
    Catalog::store(std::slice::from_ref(&event), &mut bytes);
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(hex, format!("03010a{golden}"), "{event:?}");
    // Format 2 was the same, but for its number.
    let since_2: Vec<u8> = std::iter::once(2).chain(bytes[1..].iter().copied()).collect();
    assert_eq!(Catalog::load(&since_2).unwrap(), vec![event.clone()]);
    assert_eq!(Catalog::load(&bytes).unwrap(), vec![event]);
}

#[test]
fn admission_events_keep_their_bytes() {
    let (uuid, one, two) = ("1000112233445566778899aabbccddeeff", "01".repeat(32), "02".repeat(32));
    let (machine, token, fleet, region) = (id(), id(), id(), id());
    let new = |scope| NewToken {
        secret_sha256: [1; 32],
        scope,
        uses: 3,
        life: Duration::from_secs(60),
        credential_life: Duration::from_secs(90),
    };
    for (scope, golden) in [
        (Scope::Anywhere, "00".to_owned()),
        (Scope::Fleet(fleet), format!("01{uuid}")),
        (Scope::Region(fleet, region), format!("02{uuid}{uuid}")),
        (Scope::Machine(fleet, region, machine), format!("03{uuid}{uuid}{uuid}")),
    ] {
        let expires = Timestamp::from_unix_ms(300);
        let event = AdmissionEvent::TokenMade { token, new: new(scope), expires };
        keeps_its_bytes(event, &format!("00{uuid}{one}{golden}033c005a00ac02"));
    }
    let life = Duration::from_millis(1_500);
    let nanos = "0180cab5ee01";
    let at = Timestamp::from_unix_ms(300);
    let (current, former) = (secret(1), secret(2));
    let (has_one, has_two) = (format!("{one}ac02"), format!("{two}ac02"));
    for (event, golden) in [
        (AdmissionEvent::TokenWithdrawn(token), format!("01{uuid}")),
        (
            AdmissionEvent::MachineAdmitted { machine, fleet, region, token, secret: current, life },
            format!("02{uuid}{uuid}{uuid}{uuid}{has_one}{nanos}"),
        ),
        (
            AdmissionEvent::CredentialRenewed { machine, former, current },
            format!("03{uuid}{has_two}{has_one}"),
        ),
        (AdmissionEvent::FormerDropped(machine), format!("04{uuid}")),
        (AdmissionEvent::MachineRevoked { machine, at }, format!("05{uuid}ac02")),
        (AdmissionEvent::TokenStood { token, stage: TokenStage::Open { left: 2 } }, format!("06{uuid}0002")),
        (AdmissionEvent::TokenStood { token, stage: TokenStage::UsedUp }, format!("06{uuid}01")),
        (AdmissionEvent::TokenStood { token, stage: TokenStage::Withdrawn }, format!("06{uuid}02")),
        (
            AdmissionEvent::RevokedStood { machine, fleet, region, token, at },
            format!("07{uuid}{uuid}{uuid}{uuid}ac02"),
        ),
        (
            AdmissionEvent::LiveStood { machine, fleet, region, token, current, former: Some(former), life },
            format!("08{uuid}{uuid}{uuid}{uuid}{has_one}01{has_two}{nanos}"),
        ),
        (
            AdmissionEvent::LiveStood { machine, fleet, region, token, current, former: None, life },
            format!("08{uuid}{uuid}{uuid}{uuid}{has_one}00{nanos}"),
        ),
    ] {
        keeps_its_bytes(event, &golden);
    }
}

fn uuid<T: std::str::FromStr + std::fmt::Debug>() -> impl Strategy<Value = T>
where
    T::Err: std::fmt::Debug,
{
    any::<u128>().prop_map(|bits| format!("{bits:032x}").parse().unwrap())
}

fn event() -> impl Strategy<Value = AdmissionEvent> {
    let time = || any::<u64>().prop_map(Timestamp::from_unix_ms);
    let span = || (any::<u64>(), 0..1_000_000_000_u32).prop_map(|(secs, nanos)| Duration::new(secs, nanos));
    let secret = move || (any::<[u8; 32]>(), time()).prop_map(|(sha256, expires)| Secret { sha256, expires });
    let ids = || (uuid::<MachineKey>(), uuid::<FleetId>(), uuid::<RegionId>(), uuid::<JoinTokenId>());
    let scope = prop_oneof![
        Just(Scope::Anywhere),
        uuid().prop_map(Scope::Fleet),
        (uuid(), uuid()).prop_map(|(fleet, region)| Scope::Region(fleet, region)),
        (uuid(), uuid(), uuid()).prop_map(|(fleet, region, machine)| Scope::Machine(fleet, region, machine)),
    ];
    let stage = prop_oneof![
        any::<u32>().prop_map(|left| TokenStage::Open { left }),
        Just(TokenStage::UsedUp),
        Just(TokenStage::Withdrawn),
    ];
    let new = (any::<[u8; 32]>(), scope, any::<u32>(), span(), span()).prop_map(
        |(secret_sha256, scope, uses, life, credential_life)| NewToken {
            secret_sha256,
            scope,
            uses,
            life,
            credential_life,
        },
    );
    prop_oneof![
        (uuid(), new, time()).prop_map(|(token, new, expires)| AdmissionEvent::TokenMade {
            token,
            new,
            expires
        }),
        uuid().prop_map(AdmissionEvent::TokenWithdrawn),
        (uuid(), stage).prop_map(|(token, stage)| AdmissionEvent::TokenStood { token, stage }),
        (ids(), secret(), span()).prop_map(|((machine, fleet, region, token), secret, life)| {
            AdmissionEvent::MachineAdmitted { machine, fleet, region, token, secret, life }
        }),
        (uuid(), secret(), secret()).prop_map(|(machine, former, current)| {
            AdmissionEvent::CredentialRenewed { machine, former, current }
        }),
        uuid().prop_map(AdmissionEvent::FormerDropped),
        (uuid(), time()).prop_map(|(machine, at)| AdmissionEvent::MachineRevoked { machine, at }),
        (ids(), time()).prop_map(|((machine, fleet, region, token), at)| {
            AdmissionEvent::RevokedStood { machine, fleet, region, token, at }
        }),
        (ids(), secret(), proptest::option::of(secret()), span()).prop_map(
            |((machine, fleet, region, token), current, former, life)| {
                AdmissionEvent::LiveStood { machine, fleet, region, token, current, former, life }
            }
        ),
    ]
}

proptest! {
    #[test]
    fn every_admission_event_survives(event in event()) {
        let events = vec![CatalogEvent::Admission(event)];
        let mut bytes = Vec::new();
        Catalog::store(&events, &mut bytes);
        prop_assert_eq!(Catalog::load(&bytes).unwrap(), events);
    }
}
