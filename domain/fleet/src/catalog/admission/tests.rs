//! Admission, by example, and whatever is asked in whatever order.

use alloc::vec;
use alloc::vec::Vec;
use core::time::Duration;

use mainstay_core::{
    FleetId, JoinTokenId, MachineKey, Outcome, RegionId, StateMachine as _, Timestamp, Turn,
};
use proptest::prelude::*;
use uuid::Uuid;

use super::*;
use crate::catalog::{Catalog, CatalogAnswer, CatalogCommand, CatalogEvent, CatalogRejection};

const HOUR: Duration = Duration::from_hours(1);
const DAY: Duration = Duration::from_hours(24);
const FLEET: FleetId = FleetId(Uuid::from_u128(1));
const REGION: RegionId = RegionId(Uuid::from_u128(2));
const TOKEN: JoinTokenId = JoinTokenId(Uuid::from_u128(3));
const TOKEN_SECRET: SecretHash = [9; 32];

fn at(span: Duration) -> Timestamp {
    Timestamp::from_unix_ms(1_800_000_000_000) + span
}

fn key(n: u8) -> MachineKey {
    MachineKey(Uuid::from_u128(u128::from(n) << 64))
}

fn new(scope: Scope, uses: u32) -> NewToken {
    NewToken { secret_sha256: TOKEN_SECRET, scope, uses, life: HOUR, credential_life: DAY }
}

fn run(catalog: &mut Catalog, now: Timestamp, command: AdmissionCommand) -> Outcome<Catalog> {
    let outcome = Turn::run(now, catalog, &CatalogCommand::Admission(command));
    let mut told = Catalog::default();
    for (at, event) in catalog.snapshot() {
        told.apply(at, &event);
    }
    assert_eq!(told.admission, catalog.admission, "a snapshot rebuilds it");
    outcome
}

fn ask(
    catalog: &mut Catalog,
    now: Timestamp,
    command: AdmissionCommand,
) -> Result<Option<Admitted>, AdmissionRejection> {
    match run(catalog, now, command).answer {
        Ok(CatalogAnswer::Admitted(admitted)) => Ok(Some(admitted)),
        Ok(CatalogAnswer::Done) => Ok(None),
        Err(CatalogRejection::Admission(rejection)) => Err(rejection),
        Err(other) => panic!("{other}"),
    }
}

fn made(scope: Scope, uses: u32) -> Catalog {
    let mut catalog = Catalog::default();
    ask(
        &mut catalog,
        at(Duration::ZERO),
        AdmissionCommand::MakeToken { token: TOKEN, new: new(scope, uses) },
    )
    .unwrap();
    catalog
}

fn redeem(machine: u8, fresh: u8) -> AdmissionCommand {
    AdmissionCommand::Redeem {
        token: TOKEN,
        shown: TOKEN_SECRET,
        machine: key(machine),
        fleet: FLEET,
        region: REGION,
        fresh: [fresh; 32],
    }
}

fn show(machine: u8, shown: u8) -> AdmissionCommand {
    AdmissionCommand::Show { machine: key(machine), shown: [shown; 32] }
}

fn renew(machine: u8, shown: u8, fresh: u8) -> AdmissionCommand {
    AdmissionCommand::Renew { machine: key(machine), shown: [shown; 32], fresh: [fresh; 32] }
}

/// Issue 3, section 4: "the join token is short-lived and exchanged for a revocable credential per machine".
#[test]
fn a_token_is_exchanged_for_a_credential_once_for_each_use() {
    let mut catalog = made(Scope::Anywhere, 2);
    let now = at(Duration::from_secs(1));
    let admitted = ask(&mut catalog, now, redeem(1, 11)).unwrap().unwrap();
    assert_eq!((admitted.fleet, admitted.region, admitted.expires), (FLEET, REGION, now + DAY));
    ask(&mut catalog, now, redeem(2, 12)).unwrap();
    assert_eq!(ask(&mut catalog, now, redeem(3, 13)), Err(AdmissionRejection::TokenUsedUp { uses: 2 }));
    assert!(ask(&mut catalog, now, show(1, 11)).is_ok());
    assert_eq!(ask(&mut catalog, now, show(3, 13)), Err(AdmissionRejection::UnknownCredential));
}

#[test]
fn an_answer_that_was_lost_is_given_again_and_uses_nothing() {
    let mut catalog = made(Scope::Anywhere, 1);
    let first = ask(&mut catalog, at(Duration::ZERO), redeem(1, 11)).unwrap();
    // Even after the token has ended.
    let again = run(&mut catalog, at(HOUR * 2), redeem(1, 11));
    assert_eq!((again.answer.unwrap(), again.events), (CatalogAnswer::Admitted(first.unwrap()), vec![]));
    // With another secret it is another request.
    assert_eq!(
        ask(&mut catalog, at(Duration::ZERO), redeem(1, 12)),
        Err(AdmissionRejection::TokenUsedUp { uses: 1 })
    );
}

#[test]
fn a_token_ends_by_itself_by_hand_and_for_the_wrong_place() {
    let mut catalog = made(Scope::Anywhere, 5);
    let ended = ask(&mut catalog, at(HOUR), redeem(1, 11));
    assert_eq!(ended, Err(AdmissionRejection::TokenExpired { ago: Duration::ZERO, now: at(HOUR) }));
    ask(&mut catalog, at(Duration::ZERO), AdmissionCommand::WithdrawToken(TOKEN)).unwrap();
    assert_eq!(ask(&mut catalog, at(Duration::ZERO), redeem(1, 11)), Err(AdmissionRejection::TokenWithdrawn));
    let elsewhere = RegionId(Uuid::from_u128(99));
    for (scope, fits) in [
        (Scope::Fleet(FLEET), true),
        (Scope::Fleet(FleetId(Uuid::nil())), false),
        (Scope::Region(FLEET, REGION), true),
        (Scope::Region(FLEET, elsewhere), false),
    ] {
        let answer = ask(&mut made(scope, 1), at(Duration::ZERO), redeem(1, 11));
        assert_eq!(answer.is_ok(), fits, "{scope:?}");
        assert!(fits || answer == Err(AdmissionRejection::OutOfScope));
    }
    for (scope, answer) in [
        (Scope::Machine(FLEET, REGION, key(1)), None),
        (Scope::Machine(FLEET, REGION, key(2)), Some(AdmissionRejection::ForAnotherMachine)),
        (Scope::Machine(FLEET, elsewhere, key(2)), Some(AdmissionRejection::OutOfScope)),
    ] {
        assert_eq!(ask(&mut made(scope, 1), at(Duration::ZERO), redeem(1, 11)).err(), answer);
    }
}

#[test]
fn a_wrong_secret_and_an_unknown_token_are_told_alike() {
    let mut catalog = made(Scope::Anywhere, 1);
    let AdmissionCommand::Redeem { machine, fleet, region, fresh, .. } = redeem(1, 11) else { panic!() };
    for (token, shown) in [(TOKEN, [8; 32]), (JoinTokenId(Uuid::nil()), TOKEN_SECRET)] {
        let wrong = AdmissionCommand::Redeem { token, shown, machine, fleet, region, fresh };
        assert_eq!(ask(&mut catalog, at(Duration::ZERO), wrong), Err(AdmissionRejection::UnknownToken));
    }
}

#[test]
fn lives_and_uses_have_bounds() {
    let mut catalog = Catalog::default();
    let good = new(Scope::Anywhere, 1);
    let tiny = Duration::from_millis(999);
    for bad in [
        NewToken { life: tiny, ..good },
        NewToken { life: Admission::TOKEN_LIFE_MAX + tiny, ..good },
        NewToken { credential_life: tiny, ..good },
        NewToken { credential_life: Admission::CREDENTIAL_LIFE_MAX + tiny, ..good },
        NewToken { uses: 0, ..good },
        NewToken { uses: Admission::USES_MAX + 1, ..good },
    ] {
        let make = AdmissionCommand::MakeToken { token: TOKEN, new: bad };
        let refused = ask(&mut catalog, at(Duration::ZERO), make).unwrap_err();
        assert_eq!(refused.code(), "MS-A028", "{bad:?}: {refused}");
    }
}

/// "is renewed before it ends": the one before goes on until its successor is shown, so that a lost answer locks nobody
/// out.
#[test]
fn a_renewed_credential_leaves_the_one_before_until_the_new_one_is_shown() {
    let mut catalog = made(Scope::Anywhere, 1);
    ask(&mut catalog, at(Duration::ZERO), redeem(1, 11)).unwrap();
    let renewed = ask(&mut catalog, at(HOUR), renew(1, 11, 12)).unwrap().unwrap();
    assert_eq!(renewed.expires, at(HOUR) + DAY);
    let repeat = run(&mut catalog, at(HOUR * 2), renew(1, 11, 12));
    assert_eq!((repeat.answer.unwrap(), repeat.events), (CatalogAnswer::Admitted(renewed), vec![]));
    assert!(ask(&mut catalog, at(HOUR), show(1, 11)).is_ok(), "its answer may have been lost");
    // Another one asked for with the former takes the place of the one that never was shown.
    ask(&mut catalog, at(HOUR), renew(1, 11, 13)).unwrap();
    assert_eq!(ask(&mut catalog, at(HOUR), show(1, 12)), Err(AdmissionRejection::UnknownCredential));
    assert!(ask(&mut catalog, at(HOUR), show(1, 13)).is_ok());
    assert_eq!(ask(&mut catalog, at(HOUR), show(1, 11)), Err(AdmissionRejection::UnknownCredential));
}

#[test]
fn a_credential_that_is_not_renewed_ends_and_a_new_token_brings_the_machine_back() {
    let mut catalog = made(Scope::Anywhere, 1);
    ask(&mut catalog, at(Duration::ZERO), redeem(1, 11)).unwrap();
    let ended = AdmissionRejection::CredentialExpired { ago: Duration::ZERO, now: at(DAY) };
    for command in [show(1, 11), renew(1, 11, 12)] {
        assert_eq!(ask(&mut catalog, at(DAY), command), Err(ended.clone()));
    }
    assert_eq!(catalog.admission().ends(at(DAY), key(1)), Err(ended));
    ask(&mut catalog, at(DAY), AdmissionCommand::MakeToken { token: TOKEN, new: new(Scope::Anywhere, 2) })
        .unwrap();
    ask(&mut catalog, at(DAY), redeem(1, 14)).unwrap();
    assert!(ask(&mut catalog, at(DAY), show(1, 14)).is_ok());
}

/// "`mainstay machine revoke ID` ends it at once": and what it came with lets nobody else in.
#[test]
fn a_revoked_machine_is_out_and_so_is_the_token_it_came_with() {
    let mut catalog = made(Scope::Anywhere, 5);
    ask(&mut catalog, at(Duration::ZERO), redeem(1, 11)).unwrap();
    ask(&mut catalog, at(Duration::ZERO), AdmissionCommand::Revoke(key(1))).unwrap();
    let revoked = Err(AdmissionRejection::Revoked { ago: HOUR });
    assert_eq!(ask(&mut catalog, at(HOUR), show(1, 11)), revoked);
    assert_eq!(ask(&mut catalog, at(HOUR), renew(1, 11, 12)), revoked);
    for machine in [1, 2] {
        let again = ask(&mut catalog, at(Duration::ZERO), redeem(machine, 21));
        assert_eq!(again, Err(AdmissionRejection::TokenWithdrawn), "the stolen token opens nothing");
    }
    let repeat = run(&mut catalog, at(HOUR), AdmissionCommand::Revoke(key(1)));
    assert_eq!(repeat.events, vec![]);
    assert_eq!(
        ask(&mut catalog, at(HOUR), AdmissionCommand::Revoke(key(7))),
        Err(AdmissionRejection::NoCredential)
    );
}

#[test]
fn what_ended_long_ago_is_forgotten_and_makes_room() {
    let mut catalog = made(Scope::Anywhere, 1);
    ask(&mut catalog, at(Duration::ZERO), redeem(1, 11)).unwrap();
    let later = at(Admission::REMEMBERED + DAY * 2);
    let other = JoinTokenId(Uuid::from_u128(77));
    ask(&mut catalog, later, AdmissionCommand::MakeToken { token: other, new: new(Scope::Anywhere, 1) })
        .unwrap();
    assert_eq!(catalog.admission().tokens().map(|(id, _)| id).collect::<Vec<_>>(), vec![other]);
    assert_eq!(catalog.admission().member(key(1)), None);
}

#[derive(Debug, Clone, Copy)]
enum Step {
    Ask(AdmissionCommand),
    Wait(u32),
}

fn step() -> impl Strategy<Value = Step> {
    let token = || (0..3_u8).prop_map(|n| JoinTokenId(Uuid::from_u128(u128::from(n) + 1)));
    let (machine, secret) = (|| (0..3_u8).prop_map(key), || (0..4_u8).prop_map(|n| [n; 32]));
    let uses = 0..4_u32;
    prop_oneof![
        2 => (token(), uses, secret()).prop_map(|(token, uses, secret_sha256)| {
            let new = NewToken { secret_sha256, ..new(Scope::Anywhere, uses) };
            Step::Ask(AdmissionCommand::MakeToken { token, new })
        }),
        1 => token().prop_map(|token| Step::Ask(AdmissionCommand::WithdrawToken(token))),
        6 => (token(), secret(), machine(), secret()).prop_map(|(token, shown, machine, fresh)| {
            Step::Ask(AdmissionCommand::Redeem { token, shown, machine, fleet: FLEET, region: REGION, fresh })
        }),
        3 => (machine(), secret(), secret()).prop_map(|(machine, shown, fresh)| {
            Step::Ask(AdmissionCommand::Renew { machine, shown, fresh })
        }),
        3 => (machine(), secret()).prop_map(|(machine, shown)| {
            Step::Ask(AdmissionCommand::Show { machine, shown })
        }),
        1 => machine().prop_map(|machine| Step::Ask(AdmissionCommand::Revoke(machine))),
        2 => (0..100_000_u32).prop_map(Step::Wait),
    ]
}

proptest! {
    /// In whatever order: replay and snapshot give the same state; no token lets in more than its uses; whoever was
    /// revoked is out until a token that is still open brings it back.
    #[test]
    fn whatever_is_asked_the_laws_hold(steps in proptest::collection::vec(step(), 0..60)) {
        let (mut catalog, mut replayed) = (Catalog::default(), Catalog::default());
        let mut now = at(Duration::ZERO);
        let mut let_in = alloc::collections::BTreeMap::<JoinTokenId, u32>::new();
        for step in steps {
            let command = match step {
                Step::Wait(seconds) => {
                    now = now + Duration::from_secs(seconds.into());
                    continue;
                }
                Step::Ask(command) => command,
            };
            let outcome = run(&mut catalog, now, command);
            for event in &outcome.events {
                replayed.apply(now, event);
                if let CatalogEvent::Admission(AdmissionEvent::TokenMade { token, .. }) = event {
                    let_in.insert(*token, 0);
                }
                if let CatalogEvent::Admission(AdmissionEvent::MachineAdmitted { token, .. }) = event {
                    *let_in.entry(*token).or_default() += 1;
                }
            }
            prop_assert_eq!(&replayed.admission, &catalog.admission);
            for (id, token) in catalog.admission().tokens() {
                prop_assert!(let_in.get(&id).is_none_or(|count| *count <= token.made.uses));
            }
            if let AdmissionCommand::Show { machine, .. } | AdmissionCommand::Renew { machine, .. } = command
                && outcome.answer.is_ok()
            {
                let member = catalog.admission().member(machine).unwrap();
                let live = matches!(member.standing, Standing::Live { .. });
                prop_assert!(live);
                prop_assert!(catalog.admission().ends(now, machine).is_ok());
            }
        }
    }
}
