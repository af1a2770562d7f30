//! The Multiplay allocation API as its callers know it (reference section 1).

use serde_json::json;

use crate::caller::{Credentials, Fleet, new_id};
use crate::product::{Home, Product, until};

/// The one fleet of an installation.
pub fn fleet_of(up: &Product<'_>) -> Fleet {
    let fleets = up.json(&["fleet", "list"]);
    Fleet::from(&up.json(&["fleet", "get", fleets[0]["id"].as_str().unwrap()]))
}

#[test]
fn an_allocation_is_accepted_fulfilled_listed_and_ended() {
    let home = Home::new();
    let up = home.up(&["--demo"]);
    let (caller, fleet, id) = (up.caller(), fleet_of(&up), new_id());

    let accepted = caller.allocate(&fleet, &id);
    assert!((200..300).contains(&accepted.status), "{accepted:?}");
    assert_eq!(accepted.json()["allocationId"], id.as_str());
    let href = accepted.json()["href"].as_str().unwrap().to_owned();
    assert!(href.ends_with(&id), "{href}");

    let seen = caller.fulfilled(&fleet, &id);
    assert_eq!(seen["buildConfigurationId"], fleet.configuration);
    assert_eq!(seen["regionId"], fleet.region.as_str());
    let server = up.server(&seen["serverId"].to_string());
    assert_eq!(server["status"], "ALLOCATED", "{server}");
    assert_eq!(server["allocationId"], id.as_str(), "{server}");

    let listed = caller.get(&caller.allocations(&fleet.id)).json();
    assert!(listed["allocations"].as_array().unwrap().iter().any(|one| one["allocationId"] == id.as_str()));
    assert!(listed["pagination"]["limit"].is_u64() && listed["pagination"]["offset"].is_u64(), "{listed}");

    let ended = caller.delete(&format!("{}/{id}", caller.allocations(&fleet.id)));
    assert_eq!(ended.status, 204, "{ended:?}");
    until("the server is free again", || {
        let server = up.server(&seen["serverId"].to_string());
        (server["status"] != "ALLOCATED" && server["allocationId"].as_str().is_none_or(str::is_empty))
            .then_some(())
    });
}

/// Reference 1.1: an id that exists causes no action. Issue 2, section 9: an allocation that ended stays readable, and
/// a repeated POST of its id never makes a new one.
#[test]
fn a_repeated_id_returns_the_first_allocation_even_after_it_ended() {
    let home = Home::new();
    let up = home.up(&["--demo"]);
    let (caller, fleet, id) = (up.caller(), fleet_of(&up), new_id());
    let first = caller.allocate(&fleet, &id).json();
    let server = caller.fulfilled(&fleet, &id)["serverId"].clone();
    assert_eq!(caller.allocate(&fleet, &id).json(), first);
    let path = format!("{}/{id}", caller.allocations(&fleet.id));
    assert_eq!(caller.delete(&path).status, 204);
    assert_eq!(caller.allocation(&fleet, &id).status, 200);
    assert_eq!(caller.allocate(&fleet, &id).json(), first);
    let allocated = up.servers().into_iter().filter(|one| one["allocationId"] == id.as_str()).count();
    assert_eq!(allocated, 0, "server {server}");
}

/// Reference 1.3: token exchange answers 201 with an access token, which then serves as Bearer.
#[test]
fn a_token_from_the_exchange_opens_the_api() {
    let home = Home::new();
    let up = home.up(&["--demo"]);
    let (caller, fleet) = (up.caller(), fleet_of(&up));
    let path =
        format!("/auth/v1/token-exchange?projectId={}&environmentId={}", caller.project, caller.environment);
    let answer = caller.post(&path, json!({"scopes": []}).to_string().as_bytes());
    assert_eq!(answer.status, 201, "{answer:?}");
    let token = answer.json()["accessToken"].as_str().unwrap().to_owned();
    let with_token = caller.with(Credentials::Bearer(token.clone()));
    assert_eq!(with_token.get(&caller.allocations(&fleet.id)).status, 200);
    let forged = caller.with(Credentials::Bearer(format!("{token}x")));
    assert_eq!(forged.get(&caller.allocations(&fleet.id)).status, 401);
}

/// Issue 2, section 15: each bad input a clear error with a code, in the face's own shape; a malformed body is 400
/// before any check of state.
#[test]
fn bad_input_is_refused_in_the_faces_own_shape() {
    let home = Home::new();
    let up = home.up(&["--demo"]);
    let (caller, fleet) = (up.caller(), fleet_of(&up));
    let path = caller.allocations(&fleet.id);
    let body = |configuration: i64, region: &str, payload: &str| {
        json!({"allocationId": new_id(), "buildConfigurationId": configuration, "regionId": region, "payload": payload})
            .to_string()
    };
    let nowhere = caller.allocations(&new_id());
    let large = "x".repeat(30 * 1024 + 1);
    let cases = [
        ("no JSON", caller.post(&path, b"{"), 400),
        ("no JSON for a fleet that is not there", caller.post(&nowhere, b"{"), 400),
        ("no allocation id", caller.post(&path, b"{}"), 400),
        (
            "a payload over 30 KB",
            caller.post(&path, body(fleet.configuration, &fleet.region, &large).as_bytes()),
            400,
        ),
        ("an unknown allocation", caller.allocation(&fleet, &new_id()), 404),
        (
            "an unknown fleet",
            caller.post(&nowhere, body(fleet.configuration, &fleet.region, "").as_bytes()),
            404,
        ),
        ("an unknown region", caller.post(&path, body(fleet.configuration, &new_id(), "").as_bytes()), 400),
        ("an unknown configuration", caller.post(&path, body(999_999, &fleet.region, "").as_bytes()), 400),
        ("no credentials", caller.with(Credentials::Nothing).get(&path), 401),
        (
            "wrong credentials",
            caller
                .with(Credentials::Basic { key: "nobody".to_owned(), secret: "wrong".to_owned() })
                .get(&path),
            401,
        ),
    ];
    for (what, answer, status) in cases {
        assert_eq!(answer.status, status, "{what}: {answer:?}");
        let seen = answer.json();
        assert!(seen["title"].is_string() && seen["detail"].is_string(), "{what}: {answer:?}");
        assert_eq!(seen["status"], status, "{what}: {answer:?}");
        assert!(answer.code.as_deref().is_some_and(|code| code.starts_with("MS-")), "{what}: {answer:?}");
    }
}

/// Issue 2, section 9: when the fleet cannot grow, an allocation is refused at once with a code.
#[test]
fn a_full_fleet_that_cannot_grow_refuses_at_once_and_takes_again_after_a_deallocation() {
    let home = Home::new();
    let up = home.up(&["--demo"]);
    let (caller, fleet) = (up.caller(), fleet_of(&up));
    let taken: Vec<String> = up
        .servers()
        .iter()
        .map(|_| {
            let id = new_id();
            let answer = caller.allocate(&fleet, &id);
            assert!((200..300).contains(&answer.status), "{answer:?}");
            id
        })
        .collect();
    let refused = caller.allocate(&fleet, &new_id());
    assert!(refused.status >= 400, "{refused:?}");
    assert!(refused.code.as_deref().is_some_and(|code| code.starts_with("MS-P")), "{refused:?}");
    let servers: std::collections::BTreeSet<String> =
        taken.iter().map(|id| caller.fulfilled(&fleet, id)["serverId"].to_string()).collect();
    assert_eq!(servers.len(), taken.len(), "one server each");
    assert_eq!(caller.delete(&format!("{}/{}", caller.allocations(&fleet.id), taken[0])).status, 204);
    let answer = caller.allocate(&fleet, &new_id());
    assert!((200..300).contains(&answer.status), "{answer:?}");
}
