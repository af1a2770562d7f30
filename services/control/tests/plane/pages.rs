//! Which calls pages of other sites may make (CORS): PlayFab's are in `playfab.rs`.

use crate::support::{ADMIN, World, basic};

/// A game in a browser waits for its ticket by the native face, which is on another port than its page: it may ask, and reads what it is answered, refusals
/// too. What operators call answers no page.
#[tokio::test]
async fn pages_of_other_sites_call_what_players_do() {
    let world = World::new().await;
    let asks = |wanted: &str| {
        let asked = hyper::Request::builder().header("origin", "https://game.example");
        let asked = asked.header("access-control-request-method", "GET");
        asked.header("access-control-request-headers", wanted)
    };
    let allows = "access-control-allow-origin";
    let event_stream = "/v1/queues/q/tickets/018f5c1e-0000-7000-8000-000000000000/events";
    let answer = world.send(asks("x-entitytoken,x-mine"), "OPTIONS", event_stream, vec![]).await;
    assert_eq!((answer.status, &*answer.text, answer.header(allows)), (204, "", Some("*")));
    let sends = answer.header("access-control-allow-headers").unwrap();
    assert!(
        ["x-entitytoken", "idempotency-key", "x-mine"].iter().all(|name| sends.contains(name)),
        "{sends}"
    );
    let refused = world.send(asks(""), "GET", event_stream, vec![]).await;
    assert_eq!((refused.status, refused.header(allows)), (401, Some("*")), "{}", refused.text);
    assert!(
        refused.header("mainstay-code").is_some() && refused.body["code"].is_string(),
        "{}",
        refused.text
    );
    // What takes the place of an answer, too.
    let by_title = asks("").header("authorization", basic(ADMIN));
    let large = world.send(by_title, "POST", "/v1/queues/q/tickets", vec![b' '; 3 << 20]).await;
    assert_eq!((large.status, large.header(allows)), (413, Some("*")), "{}", large.text);
    let operators = world.send(asks("authorization"), "OPTIONS", "/v1/fleets", vec![]).await;
    assert_eq!((operators.status, operators.header(allows)), (405, None), "{}", operators.text);
}
