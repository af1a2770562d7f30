//! What a session plays outlives what an operator takes away.

use mainstay_core::slot::ConfigurationRef;
use mainstay_wire::builds::CREDENTIAL_HEADER;
use mainstay_wire::builds::proto::ResolveRequest;
use mainstay_wire::builds::proto::builds_client::BuildsClient;
use serde_json::json;
use tonic::transport::Endpoint;

use crate::admin::{casual_of, gateway, link};
use crate::agent::Habit;
use crate::support::{FLEET, TOKEN, World, allocation, allocations, id, request};

/// Reference 3.9: 409 `ACTIVE`. What a session plays is given to its machine as long as it plays, also where its fleet has it no
/// more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_session_plays_is_not_deleted_and_its_machine_gets_it_still() {
    let (world, agent) = World::with_agent(1, Habit::Obeys).await;
    let (build, casual) = world.made().await;
    let files = gateway("builds", &format!("/builds/{build}/files"));
    let named = world.put_json(&files, &json!({ "path": "server" })).await;
    world.call("PUT", &link(&named.body), None, b"#!/bin/sh\n".to_vec()).await;
    let released = world.post(&gateway("builds", &format!("/builds/{build}/versions")), &json!({})).await;
    assert_eq!(released.status, 202, "{}", released.text);
    let fleet = gateway("fleets", &format!("/fleets/{FLEET}"));
    let of_fleet = async |all: &[u64]| {
        let set = world.put_json(&fleet, &json!({ "name": "arena", "buildConfigurations": all })).await;
        assert_eq!(set.status, 200, "{}", set.text);
    };
    of_fleet(&[casual]).await;
    world.post(&allocations(), &request(id(1), casual)).await;
    let played = allocation(id(1));
    world.eventually(&played, |it| it.get("fulfilled").is_some()).await;
    let playing = agent.until_order(|order| order.allocation.is_some()).await.configuration;
    let endpoint = Endpoint::from_shared(format!("http://{}", world.plane.agents())).unwrap();
    let mut builds = BuildsClient::new(endpoint.connect().await.unwrap());
    let mut resolve = async |asked: ConfigurationRef| {
        let mut request = tonic::Request::new(ResolveRequest::from(asked));
        request.metadata_mut().insert(CREDENTIAL_HEADER, format!("Bearer {TOKEN}").parse().unwrap());
        builds.resolve(request).await.map(tonic::Response::into_inner)
    };
    let first = resolve(playing).await.unwrap();
    // Another version: its machine gets the one it plays, should it have lost it.
    world.call("PUT", &link(&named.body), None, b"#!/bin/sh\n:\n".to_vec()).await;
    let released = world.post(&gateway("builds", &format!("/builds/{build}/versions")), &json!({})).await;
    assert_eq!(released.status, 202, "{}", released.text);
    let next = ConfigurationRef { revision: playing.revision + 1, ..playing };
    assert_ne!(resolve(next).await.unwrap(), first);
    assert_eq!(resolve(playing).await.unwrap(), first);
    of_fleet(&[]).await;
    assert_eq!(resolve(playing).await.unwrap(), first);
    let other = ConfigurationRef { revision: playing.revision + 2, ..playing };
    assert!(resolve(other).await.unwrap_err().message().starts_with(concat!("MS-", "S640")));

    let configuration = gateway("build-configurations", &format!("/build-configurations/{casual}"));
    for path in [configuration.clone(), format!("{configuration}?dryRun=true")] {
        let refused = world.delete(&path).await;
        refused.expect(409, "MS-P025");
        assert_eq!(refused.body["conflicts"][0]["conflictType"], "ACTIVE", "{}", refused.text);
        assert_eq!(refused.body["conflicts"][0]["resourceId"], agent.servers[0].number().to_string());
    }
    // Nor where its configuration has another build by now.
    let another = world.post(&gateway("builds", "/builds"), &json!({ "buildName": "another" })).await;
    let moved = world.put_json(&configuration, &casual_of(&another.body["buildID"])).await;
    assert_eq!(moved.status, 200, "{}", moved.text);
    let one = gateway("builds", &format!("/builds/{build}"));
    let refused = world.delete(&one).await;
    refused.expect(409, "MS-P025");
    assert_eq!(refused.body["conflicts"][0]["conflictType"], "ACTIVE", "{}", refused.text);
    assert_eq!(world.delete(&played).await.status, 204);
    assert_eq!(world.delete(&configuration).await.status, 204);
    assert_eq!(world.delete(&one).await.status, 204);
}
