//! Uploads that a power cut broke off.

use serde_json::json;

use crate::admin::{gateway, link};
use crate::support::World;

/// Issue 3, "Proof": "a real power cut". One may fall between the last byte and the file: a piece of none ends it then, and makes no
/// file of fewer bytes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_upload_whose_bytes_have_all_come_is_ended_by_a_piece_of_none() {
    let world = World::new().await;
    let made = world.post(&gateway("builds", "/builds"), &json!({ "buildName": "made" })).await;
    let files = gateway("builds", &format!("/builds/{}/files", made.body["buildID"]));
    let link = link(&world.put_json(&files, &json!({ "path": "server" })).await.body);
    let piece = |range: &str| hyper::Request::builder().header("content-range", range);
    let first = world.request(piece("bytes 0-2/6"), "PUT", &link, b"abc".to_vec()).await;
    assert_eq!((first.status, first.header("upload-offset")), (202, Some("3")), "{}", first.text);
    world.request(piece("bytes */6"), "PUT", &link, vec![]).await.expect(409, "MS-U114");
    let ended = world.request(piece("bytes */3"), "PUT", &link, vec![]).await;
    assert_eq!((ended.status, &ended.body["uploaded"]), (200, &json!(true)), "{}", ended.text);
}
