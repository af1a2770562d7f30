//! Tokens and credentials as text: one spelling each, and nothing of a refused one is told.

use mainstay_core::{JoinTokenId, MachineKey};
use proptest::prelude::*;
use uuid::Uuid;

use super::*;

fn token() -> JoinToken {
    JoinToken {
        ca: CaPin([0xab; 32]),
        id: JoinTokenId(Uuid::from_u128(0x0011_2233_4455_6677_8899_aabb_ccdd_eeff)),
        secret: Secret::of([7; 32]),
    }
}

fn credential() -> Credential {
    Credential { machine: MachineKey(Uuid::from_u128(1)), secret: Secret::of([0xff; 32]) }
}

#[test]
fn the_texts_are_what_they_were_when_they_were_first_given_out() {
    let ca = "ab".repeat(32);
    let join = format!(
        "mainstay-join-1.{ca}.00112233445566778899aabbccddeeff.BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc"
    );
    assert_eq!(token().reveal(), join);
    assert_eq!(join.parse(), Ok(token()));
    let machine =
        "mainstay-machine-1.00000000000000000000000000000001.__________________________________________8";
    assert_eq!(credential().reveal(), machine);
    assert_eq!(machine.parse(), Ok(credential()));
    assert!(join.len() <= TEXT_BYTES_MAX && machine.len() <= TEXT_BYTES_MAX);
}

#[test]
fn what_is_wrong_with_a_text_is_told_and_nothing_of_its_secret() {
    let whole = token().reveal();
    let cases = [
        (String::new(), "does not begin"),
        ("K10abc::server:x".to_owned(), "does not begin"),
        (credential().reveal(), "does not begin"),
        (whole[..whole.len() - 1].to_owned(), "secret is not"),
        (format!("{whole}A"), "secret is not"),
        (format!("{whole}.x"), "4 parts"),
        (whole[..whole.rfind('.').unwrap()].to_owned(), "2 parts"),
        (whole.replace("ab", "AB"), "fingerprint is not"),
        (whole.replace("eeff.", "eefg."), "id is not"),
        (
            whole.replace("00112233445566778899aabbccddeeff", "00112233-4455-6677-8899-aabbccddeeff"),
            "id is not",
        ),
        // The last letter carries two bits too many: another spelling of the same secret.
        (whole[..whole.len() - 1].to_owned() + "d", "secret is not"),
        (format!(" {whole}"), "does not begin"),
        ("x".repeat(10_000), "10000 bytes"),
        (format!("mainstay-join-1.{}", "é".repeat(40)), "1 parts"),
    ];
    for (text, why) in cases {
        let error = text.parse::<JoinToken>().unwrap_err();
        assert!(error.to_string().contains(why), "{text}: {error}");
        assert!(!error.to_string().contains("BwcH"), "{error}");
        assert_eq!(error.code(), "MS-U106");
    }
}

#[test]
fn debugging_shows_no_secret() {
    let shown = format!("{:?} {:?} {:?}", token(), credential(), Secret::of([7; 32]));
    assert!(!shown.contains("BwcH") && !shown.contains('7'.to_string().repeat(3).as_str()), "{shown}");
}

#[test]
fn requests_are_read_whole_or_refused() {
    let good = proto::JoinRequest {
        protocol: PROTOCOL,
        token: token().reveal(),
        machine: vec![1; 16],
        secret_sha256: vec![2; 32],
        ..Default::default()
    };
    assert!(Join::try_from(good.clone()).is_ok());
    for bad in [
        proto::JoinRequest { protocol: PROTOCOL + 1, ..good.clone() },
        proto::JoinRequest { machine: vec![1; 15], ..good.clone() },
        proto::JoinRequest { secret_sha256: vec![], ..good.clone() },
        proto::JoinRequest { token: "x".repeat(TEXT_BYTES_MAX + 1), ..good.clone() },
        proto::JoinRequest { fleet: "x".repeat(NAME_BYTES_MAX + 1), ..good },
    ] {
        assert!(Join::try_from(bad).is_err());
    }
    let renew =
        proto::RenewRequest { protocol: PROTOCOL, credential: credential().reveal(), ..Default::default() };
    assert!(Renew::try_from(renew.clone()).is_ok_and(|renew| renew.fresh.is_none()));
    assert!(Renew::try_from(proto::RenewRequest { secret_sha256: vec![1; 31], ..renew }).is_err());
}

proptest! {
    /// Whatever arrives is a token with exactly this text, or a reason.
    #[test]
    fn hostile_texts_are_one_spelling_or_a_reason(text in "\\PC{0,300}") {
        if let Ok(token) = text.parse::<JoinToken>() {
            prop_assert_eq!(token.reveal(), text.clone());
        }
        if let Ok(credential) = text.parse::<Credential>() {
            prop_assert_eq!(credential.reveal(), text);
        }
    }

    /// The same for texts that are nearly right: one byte of a good one is another.
    #[test]
    fn one_changed_byte_is_another_token_or_a_reason(at in 0..158_usize, byte in 0..128_u8) {
        let whole = token().reveal();
        let mut bytes = whole.clone().into_bytes();
        let at = at % bytes.len();
        bytes[at] = byte;
        let text = String::from_utf8(bytes).unwrap();
        match text.parse::<JoinToken>() {
            Ok(read) => {
                prop_assert_eq!(read.reveal(), text.clone());
                prop_assert_eq!(read == token(), text == whole);
            }
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
    }

    /// Every token comes back from its text.
    #[test]
    fn tokens_come_back(ca: [u8; 32], id: u128, secret: [u8; 32]) {
        let id = Uuid::from_u128(id);
        let token = JoinToken { ca: CaPin(ca), id: JoinTokenId(id), secret: Secret::of(secret) };
        prop_assert_eq!(token.reveal().parse(), Ok(token));
        let credential = Credential { machine: MachineKey(id), secret: Secret::of(secret) };
        prop_assert_eq!(credential.reveal().parse(), Ok(credential));
    }
}
