//! Tokens prove what they say, and no more; keys change without anybody noticing.

use std::os::unix::fs::PermissionsExt as _;

use super::*;

const SECRET: &str = "a secret of the title";
const DAY: Duration = Duration::from_hours(24);

fn title(dir: &std::path::Path) -> Title {
    Title { id: "A1B2C3".into(), secrets_sha256: vec![sha256(SECRET.as_bytes())], dir: dir.to_owned() }
}

fn at(moment: u64) -> Timestamp {
    Timestamp::from_unix_ms(1_700_000_000_000 + moment)
}

fn holder(identity: &Identity, custom_id: &str) -> Holder {
    let Player { account, entity } = identity.player(custom_id).unwrap();
    Holder { entity, account: Some(account) }
}

#[test]
fn a_player_has_one_id_for_ever_and_another_in_another_title() {
    let dir = tempfile::tempdir().unwrap();
    let identity = Identity::open(title(dir.path()), at(0)).unwrap();
    let player = identity.player("custom").unwrap();
    assert_eq!(player.entity.kind(), "title_player_account");
    for id in [player.entity.id(), &player.account] {
        assert_eq!(id.len(), 16, "{id}");
        assert!(id.chars().all(|digit| digit.is_ascii_digit() || ('A'..='F').contains(&digit)), "{id}");
    }
    assert_ne!(player.entity.id(), player.account);
    assert_ne!(identity.player("Custom").unwrap(), player);
    assert_ne!(identity.game_server("custom").unwrap().id(), player.entity.id());
    let again = Identity::open(title(dir.path()), at(9)).unwrap();
    assert_eq!(again.player("custom").unwrap(), player);
    let other = Identity::open(Title { id: "A1B2C4".into(), ..title(dir.path()) }, at(9)).unwrap();
    assert_ne!(other.player("custom").unwrap(), player);
    let mode = std::fs::metadata(dir.path().join("keys.json")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn a_token_is_good_for_its_use_its_title_and_its_time() {
    let dir = tempfile::tempdir().unwrap();
    let identity = Identity::open(title(dir.path()), at(0)).unwrap();
    let holder = holder(&identity, "custom");
    let token = identity.mint(Purpose::Entity, &holder, at(0)).unwrap();
    assert_eq!(token.expires, at(0) + DAY);
    let read = |purpose, text: &str, now| identity.read(purpose, text, now);
    assert_eq!(read(Purpose::Entity, &token.text, at(0)), Ok(holder));
    assert_eq!(read(Purpose::Session, &token.text, at(0)), Err(Fault::Invalid));
    assert_eq!(read(Purpose::Entity, &token.text, at(0) + DAY), Err(Fault::Expired));
    let stranger = tempfile::tempdir().unwrap();
    let stranger = Identity::open(title(stranger.path()), at(0)).unwrap();
    assert_eq!(stranger.read(Purpose::Entity, &token.text, at(0)), Err(Fault::Invalid));
    let other = Identity::open(Title { id: "OTHER".into(), ..title(dir.path()) }, at(0)).unwrap();
    assert_eq!(other.read(Purpose::Entity, &token.text, at(0)), Err(Fault::Invalid));
    for wrong in ["", "x", "a.b.c", &token.text[1..], &"x".repeat(100_000)] {
        assert_eq!(read(Purpose::Entity, wrong, at(0)), Err(Fault::Invalid));
    }
    assert!(identity.is_title_secret(SECRET));
    assert!(!identity.is_title_secret("a secret of the titl"));
}

/// A changed byte anywhere makes it another's or nobody's, never the same holder's under other claims.
#[test]
fn no_changed_token_is_believed() {
    let dir = tempfile::tempdir().unwrap();
    let identity = Identity::open(title(dir.path()), at(0)).unwrap();
    let holder = holder(&identity, "custom");
    let token = identity.mint(Purpose::Entity, &holder, at(0)).unwrap().text;
    for place in 0..token.len() {
        let mut bytes = token.clone().into_bytes();
        bytes[place] = if bytes[place] == b'A' { b'B' } else { b'A' };
        let changed = String::from_utf8(bytes).unwrap();
        // The last character holds bits that no byte has; what differs in them alone is the same signature.
        let read = identity.read(Purpose::Entity, &changed, at(0));
        assert!(
            read == Err(Fault::Invalid) || (place + 1 == token.len() && read == Ok(holder.clone())),
            "{place}"
        );
    }
}

/// "Keys that rotate without logging everyone out."
#[test]
fn a_key_that_is_changed_goes_on_being_believed_until_its_tokens_have_run_out() {
    let dir = tempfile::tempdir().unwrap();
    let week = DAY * 7;
    let open = |now| Identity::open(title(dir.path()), now).unwrap();
    let identity = open(at(0));
    let (holder, late) = (holder(&identity, "custom"), at(0) + week);
    let first = identity.mint(Purpose::Entity, &holder, late).unwrap();
    identity.keys.rotate(at(1)).unwrap();
    assert_eq!(identity.keys.good(at(1)).len(), 1, "a fresh key is not changed");
    identity.keys.rotate(late).unwrap();
    let second = identity.mint(Purpose::Entity, &holder, late).unwrap();
    assert_ne!(
        jsonwebtoken::decode_header(&first.text).unwrap().kid,
        jsonwebtoken::decode_header(&second.text).unwrap().kid
    );
    let soon = late + DAY.saturating_sub(Duration::from_secs(1));
    // Also after a restart: both are durable.
    for identity in [&identity, &open(late)] {
        for token in [&first, &second] {
            assert_eq!(identity.read(Purpose::Entity, &token.text, soon), Ok(holder.clone()));
        }
        assert_eq!(identity.keys.good(late + DAY).len(), 1);
        assert_eq!(identity.read(Purpose::Entity, &first.text, late + DAY), Err(Fault::Invalid));
    }
    // Years later there are still two at most.
    for years in 1..5 {
        let now = late + week * 52 * years;
        identity.keys.rotate(now).unwrap();
        assert!(identity.keys.good(now).len() <= 2);
    }
}

#[test]
fn keys_that_others_could_read_are_closed_and_damaged_ones_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("keys.json");
    let token = {
        let identity = Identity::open(title(dir.path()), at(0)).unwrap();
        identity.mint(Purpose::Session, &holder(&identity, "custom"), at(0)).unwrap()
    };
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    let identity = Identity::open(title(dir.path()), at(0)).unwrap();
    identity.read(Purpose::Session, &token.text, at(0)).unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let whole = std::fs::read_to_string(&path).unwrap();
    for damaged in ["", "{}", &whole[..whole.len() / 2], "{\"ids\":\"AA\",\"signing\":[]}"] {
        std::fs::write(&path, damaged).unwrap();
        let error = Identity::open(title(dir.path()), at(0)).err().unwrap();
        assert!(matches!(error, IdentityError::Damaged { .. }), "{error}");
    }
}
