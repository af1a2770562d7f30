//! PlayFab's own SDKs, as npm and PyPI have them, against a `mainstay up`: only their base URL is changed.
//!
//! `./check` installs both and says in `MAINSTAY_TEST_NODE` and `MAINSTAY_TEST_PYTHON` where; without them this test fails, because
//! a test that did not run proves nothing. The SDK for Node speaks HTTPS alone, the one for Python is given plain HTTP.

mod placed;
mod results;
mod scenario;
mod sdk;

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use self::scenario::{Title, drive};
use self::sdk::Sdk;
use crate::product::{Home, Product};

/// Where `./check` put something.
#[track_caller]
fn given(variable: &str) -> PathBuf {
    std::env::var_os(variable)
        .map(PathBuf::from)
        .unwrap_or_else(|| panic!("{variable} is not set: run ./check"))
}

/// What a game that is out has compiled in.
const TITLE: &str = "1A2B3";

fn title(up: &Product<'_>) -> Title {
    let credentials = up.file("credentials.json");
    let text = |name: &str| credentials[name].as_str().unwrap().to_owned();
    Title { id: text("titleId"), secret: text("playfabSecretKey") }
}

/// The SDK for Node, over TLS with a certificate that this file vouches for. A title's prefix before the calls' paths is passed over.
fn node(trusted: &Path, up: &Product<'_>) -> Sdk {
    let folder = given("MAINSTAY_TEST_NODE");
    let bridge = folder.join("bridge.js");
    std::fs::write(&bridge, include_str!("playfab/bridge.js")).unwrap();
    let url = format!("{}/titles/{}", up.file("ports.json")["playfabTls"].as_str().unwrap(), title(up).id);
    let mut command = Command::new("node");
    command.arg(bridge).args([&url, &title(up).id]).env("NODE_EXTRA_CA_CERTS", trusted);
    Sdk::start("node", command)
}

/// The SDK for Python, in the clear.
fn python(up: &Product<'_>) -> Sdk {
    let url = up.file("ports.json")["playfab"].as_str().unwrap().to_owned();
    let mut command = Command::new(given("MAINSTAY_TEST_PYTHON"));
    command.arg("-c").arg(include_str!("playfab/bridge.py")).args([&url, &title(up).id]);
    Sdk::start("python", command)
}

/// Every Match call, good and bad, and the logins before them, by both SDKs; each answer is one of the published specification. Between
/// the two the program is killed: tokens, queues, tickets and stored objects are there afterwards.
///
/// Shows `npm playfab-sdk` and `PyPI playfab`; by both
/// `Match/CreateMatchmakingTicket`, `Match/CreateServerMatchmakingTicket`, `Match/JoinMatchmakingTicket`,
/// `Match/GetMatchmakingTicket`, `Match/CancelMatchmakingTicket`, `Match/CancelAllMatchmakingTicketsForPlayer`,
/// `Match/ListMatchmakingTicketsForPlayer`, `Match/GetMatch`, `Match/GetQueueStatistics`, `Match/CreateServerBackfillTicket`,
/// `Match/GetServerBackfillTicket`, `Match/CancelServerBackfillTicket`, `Match/CancelAllServerBackfillTicketsForPlayer`,
/// `Match/ListServerBackfillTicketsForPlayer`, `Match/GetMatchmakingQueue`, `Match/ListMatchmakingQueues`,
/// `Match/SetMatchmakingQueue`, `Match/RemoveMatchmakingQueue`, `Client/LoginWithCustomID`, `Authentication/GetEntityToken`,
/// `Authentication/ValidateEntityToken`, `Object/SetObjects` and `Object/GetObjects`; `MatchmakingEntityInvalid 2001`,
/// `MatchmakingPlayerAttributesInvalid 2002`, `MatchmakingQueueNotFound 2016`, `MatchmakingMatchNotFound 2017`,
/// `MatchmakingTicketNotFound 2018`, `MatchmakingAlreadyJoinedTicket 2028`, `MatchmakingTicketAlreadyCompleted 2029`,
/// `MatchmakingQueueConfigInvalid 2031`, `MatchmakingPlayerAttributesTooLarge 2043`,
/// `MatchmakingNumberOfPlayersInTicketTooLarge 2044`, `MatchmakingAttributeInvalid 2046`,
/// `MatchmakingPlayerHasNotJoinedTicket 2053`, `MatchmakingRateLimitExceeded 2054`,
/// `MatchmakingTicketMembershipLimitExceeded 2055`, `MatchmakingUnauthorized 2056`, `MatchmakingRequestTypeMismatch 2058`,
/// `MatchmakingBadRequest 2059`, `InvalidSessionTicket 1100` and `EntityProfileVersionMismatch 1352`. Of seed 004, as its samples have
/// them: `CreateServerBackfillTicket`, the `nested Port`, the `body of 2055`, and members read again by `ReturnMemberAttributes`.
#[test]
fn the_stock_sdks_match_players_with_their_base_url_alone_changed() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("mainstay.yaml");
    std::fs::write(&file, format!("version: 1.0\nplayfab: {{ titleId: {TITLE} }}\n")).unwrap();
    let file = file.to_str().unwrap().to_owned();
    let home = Home::new();
    let up = home.up(&[&file]);

    assert_eq!(title(&up).id, TITLE, "what the SDKs send, as the game had it");
    let mut sdk = node(&home.path().join("tls/ca.pem"), &up);
    drive(&mut sdk, &title(&up));
    let left = scenario::leave_a_ticket(&mut sdk, &title(&up));
    sdk.end();
    up.kill_nine();

    let up = home.up(&[&file]);
    let mut sdk = python(&up);
    scenario::find_it_again(&mut sdk, &left);
    drive(&mut sdk, &title(&up));
    sdk.end();

    // Neither the title's secret nor a token is told to anybody who reads the log.
    let log = up.log();
    for secret in [title(&up).secret.as_str(), left.token.as_str()] {
        assert!(!log.contains(secret));
    }
    assert_eq!(up.stop().code(), Some(0));
}

/// "HTTPS with a given or a generated certificate": an SDK that trusts the studio's own alone is answered, and one that trusts what `up`
/// made is not.
#[test]
fn a_given_certificate_is_shown_to_playfabs_sdks() {
    let home = Home::new();
    let key = rcgen::KeyPair::generate().unwrap();
    let names = vec!["127.0.0.1".to_owned()];
    let certificate = rcgen::CertificateParams::new(names).unwrap().self_signed(&key).unwrap();
    let (given, its_key) = (home.path().with_file_name("given.pem"), home.path().with_file_name("given.key"));
    std::fs::write(&given, certificate.pem()).unwrap();
    std::fs::write(&its_key, key.serialize_pem()).unwrap();
    let (shown, kept) = (given.to_str().unwrap(), its_key.to_str().unwrap());
    let up = home.up(&["--demo", "--tls-cert", shown, "--tls-key", kept]);
    let secret = json!({ "secret": title(&up).secret });
    let token = node(&given, &up).ok(&secret, "Authentication.GetEntityToken", json!({}));
    assert_eq!(token["Entity"]["Id"], title(&up).id.as_str());
    let distrusted =
        node(&home.path().join("tls/ca.pem"), &up).call(&secret, "Authentication.GetEntityToken", &json!({}));
    assert!(distrusted["data"].is_null(), "{distrusted}");
}

/// What every call's outcome is asked with: nothing, or what proves somebody.
fn nobody() -> Value {
    json!({})
}
