//! What a match's server reads of who comes.

use mainstay_core::Timestamp;
use mainstay_fleet::Request;
use mainstay_matchmaking::{Ask, Match};
use mainstay_wire::playfab::answer::MatchAnswer;
use mainstay_wire::playfab::{Objects, read_in_a_game};

/// How much of its players' attributes a game is told by its payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Told {
    All,
    /// What rules read, so that whoever is looked for later fits whoever plays.
    Read,
    None,
}

impl Told {
    /// As the payload says it (`AttributesTold`).
    const fn as_str(self) -> &'static str {
        match self {
            Self::All => "All",
            Self::Read => "Read",
            Self::None => "None",
        }
    }
}

/// What the game server reads of who comes: what `GetMatch` will say, the queue, and of attributes what there is room for: `GetMatch` has
/// them all. Players are never left out: a payload that is too large without attributes the fleet refuses.
pub(super) fn payload(ask: &Ask) -> String {
    let all = shown(ask, Told::All);
    if all.len() <= Request::PAYLOAD_MAX {
        return all;
    }
    let read = shown(ask, Told::Read);
    if read.len() <= Request::PAYLOAD_MAX { read } else { shown(ask, Told::None) }
}

fn shown(ask: &Ask, told: Told) -> String {
    let formed = Match {
        id: ask.id,
        formed: Timestamp::EPOCH,
        members: ask.members.clone(),
        regions: ask.regions.clone(),
        server: None,
    };
    let objects = match told {
        Told::All | Told::Read => Some(Objects::Plain),
        Told::None => None,
    };
    let mut answer = MatchAnswer::of(&formed, objects);
    if told == Told::Read {
        for attributes in answer.members.iter_mut().filter_map(|member| member.attributes.as_mut()) {
            attributes.data_object =
                attributes.data_object.take().map(|sent| read_in_a_game(&ask.spec, &sent));
        }
    }
    let mut answer = serde_json::to_value(answer).expect("a match is plain data");
    answer["QueueName"] = serde_json::Value::from(&*ask.spec.name);
    answer["AttributesTold"] = serde_json::Value::from(told.as_str());
    answer.to_string()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use mainstay_core::MatchId;
    use mainstay_matchmaking::spec::{QueueSpec, ServerAllocation, Venue};
    use mainstay_matchmaking::{Attributes, Entity, Member, Seated};
    use mainstay_wire::playfab::queue::MatchmakingQueueConfig;

    use super::*;

    /// A match of the most players there can be, with ids of these many bytes, whose rules read a number and a list.
    fn ask(id: usize, sent: &serde_json::Value) -> Ask {
        let spec: MatchmakingQueueConfig = serde_json::from_value(serde_json::json!({
            "Name": "arena", "MinMatchSize": 100, "MaxMatchSize": 100,
            "DifferenceRules": [{ "Name": "d", "Weight": 1, "Difference": 5, "AttributeNotSpecifiedBehavior": "MatchAny",
                "Attribute": { "Path": "is.skill", "Source": "User" }, "MergeFunction": "Average" }],
            "SetIntersectionRules": [{ "Name": "s", "Weight": 1, "MinIntersectionSize": 1,
                "AttributeNotSpecifiedBehavior": "MatchAny", "Attribute": { "Path": "maps", "Source": "User" } }],
            "RegionSelectionRule": { "Name": "r", "Path": "latencies", "MaxLatency": 200 },
        }))
        .unwrap();
        let spec = Arc::new(QueueSpec::new(spec.declared(None).unwrap()).unwrap());
        let player = |at: usize| {
            let entity = Entity::new(Entity::PLAYER, &format!("{at:0id$}")).unwrap();
            let attributes = Attributes { raw: Some(sent.to_string().into()), values: [].into() };
            Seated { member: Member { entity, attributes }, team: None }
        };
        Ask {
            id: MatchId(uuid::Uuid::from_u128(1)),
            spec,
            members: (0..100).map(player).collect(),
            region: None,
            regions: [].into(),
            venue: Arc::new(Venue::Server(ServerAllocation {
                fleet: "f".into(),
                build_configuration: "b".into(),
                build: None,
            })),
            refusals: 0,
            from: Timestamp::EPOCH,
        }
    }

    /// Attributes make room, players never; those that rules read last, but for latencies: a game is where it is. Issue 4: "every match
    /// satisfies every rule of its queue", also those that automatic backfill forms by what the payload told.
    #[test]
    fn no_payload_loses_a_player_and_what_rules_read_goes_last() {
        let sent = |pad: usize, maps: &[&str]| {
            serde_json::json!({
                "is": { "skill": 50, "pad": "x".repeat(pad) }, "maps": maps,
                "latencies": [{ "region": "East", "latency": 30 }],
            })
        };
        let read = serde_json::json!({ "is": { "skill": 50 }, "maps": ["a"] });
        let long = "m".repeat(256);
        for (id, sent, told, shown) in [
            (16, sent(1, &["a"]), "All", Some(sent(1, &["a"]))),
            (16, sent(1_000, &["a"]), "Read", Some(read)),
            (16, sent(1, &[&long]), "None", None),
            (128, sent(1_000, &["a"; 9]), "None", None),
        ] {
            let payload = payload(&ask(id, &sent));
            assert!(payload.len() <= Request::PAYLOAD_MAX, "{id} {told}: {} bytes", payload.len());
            let read: serde_json::Value = serde_json::from_str(&payload).unwrap();
            assert_eq!(read["AttributesTold"], told);
            let members = read["Members"].as_array().unwrap();
            assert_eq!(members.len(), 100, "{id} {told}");
            let of = |member: &serde_json::Value| member.pointer("/Attributes/DataObject").cloned();
            assert!(members.iter().all(|member| of(member) == shown), "{told} {}", members[0]);
        }
    }
}
