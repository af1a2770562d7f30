//! What callers of `/v1` say and what they are told are types of their own: the one is read strictly, the other with what comes later.

use mainstay_matchmaking::Entity;
use mainstay_wire::native::{
    BackfillRequest, GameStands, PartyView, PlayerOfTicket, PlayerRequest, TicketRequest,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

fn refused<T: DeserializeOwned>(mut said: Value) -> String {
    said["players"] = json!([{ "player": "alice", "atributes": { "skill": 5 } }]);
    serde_json::from_value::<T>(said).map_or_else(|error| error.to_string(), |_| "it is taken".to_owned())
}

/// A misspelt word would be a player without attributes, who is matched with anybody.
#[test]
fn what_is_said_of_a_player_besides_is_refused() {
    for refused in [
        refused::<TicketRequest>(json!({ "giveUpAfterSeconds": 60 })),
        refused::<BackfillRequest>(json!({ "giveUpAfterSeconds": 60 })),
        refused::<GameStands>(json!({ "queue": "arena", "places": 1 })),
        refused::<PartyView>(json!({})),
    ] {
        assert!(refused.contains("atributes"), "{refused}");
    }
}

/// Whoever was built with this version reads the answers of the next.
#[test]
fn what_is_told_of_a_player_besides_is_passed_over() {
    let told = json!({ "player": "alice", "team": "red", "seenBefore": true });
    let read: PlayerOfTicket = serde_json::from_value(told).expect("a later version may tell more");
    assert_eq!((&*read.player, read.team.as_deref()), ("alice", Some("red")));
}

/// Who is told is found by the same text, and no two are told alike.
#[test]
fn a_player_is_told_so_that_it_is_read_again() {
    for (kind, id, expected) in [
        (Entity::PLAYER, "alice", "alice"),
        (Entity::PLAYER, "character!7", "title_player_account!character!7"),
        (Entity::PLAYER, "!", "title_player_account!!"),
        ("character", "7", "character!7"),
        ("character", "7!8", "character!7!8"),
    ] {
        let entity = Entity::new(kind, id).expect("it is short");
        let player = PlayerOfTicket::told(&entity);
        assert_eq!(player, expected);
        let asked = PlayerRequest { player, ..PlayerRequest::default() };
        assert_eq!(asked.entity(), Some(entity));
    }
}
