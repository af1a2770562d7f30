//! PlayFab's bodies: its published examples are read and told again.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::BTreeSet;
use std::sync::Arc;

use mainstay_core::{MatchId, TicketId, Timestamp};
use mainstay_matchmaking::spec::{Delta, Expansion, QueueSpec, RuleKind, UNREAD_BYTES_MAX, Unread};
use mainstay_matchmaking::{
    Amount, Attributes, Entity, Match, Member, Seated, TEXT_BYTES_MAX, TEXTS_MAX, Value as Found,
};
use mainstay_wire::playfab::answer::MatchAnswer;
use mainstay_wire::playfab::queue::MatchmakingQueueConfig;
use mainstay_wire::playfab::request::CreateServerTicket;
use mainstay_wire::playfab::{
    EntityKey, MatchmakingPlayer, MatchmakingPlayerAttributes, Objects, ServerDetails, Stored, Success,
    attributes, types,
};
use serde_json::{Value, json};

fn read(queue: Value) -> MatchmakingQueueConfig {
    MatchmakingQueueConfig::read(queue).unwrap()
}

/// The example of `SetMatchmakingQueue` in the API specification (Apache-2.0), which has every type of rule.
fn published() -> Value {
    let body: Value = serde_json::from_str(include_str!("playfab/set_matchmaking_queue.json")).unwrap();
    body["MatchmakingQueue"].clone()
}

#[test]
fn the_published_example_is_read_and_told_again_as_it_is() {
    let queue = read(published());
    let declared = queue.declared(None).unwrap();
    assert_eq!(declared.rules.len(), 8);
    let mut told = MatchmakingQueueConfig::of(&declared);
    // Placement is apart.
    told.server_allocation_enabled = queue.server_allocation_enabled;
    told.build_id.clone_from(&queue.build_id);
    let (told, sent) = (serde_json::to_value(&told).unwrap(), published());
    for (field, value) in sent.as_object().unwrap() {
        assert_eq!(as_numbers(&told[field]), as_numbers(value), "{field}");
    }
}

/// The base of a rule with overrides counts nothing, and is told as it was set: whoever takes the overrides away has it. Where none was
/// set it is told as their first value, or 0, since PlayFab's clients read a number there.
#[test]
fn the_base_beside_overrides_is_told_as_it_was_set() {
    let queue = |rule: &str, (field, base): (&str, Value), expansion: Value| {
        let mut queue = json!({ "Name": "q", "MinMatchSize": 2, "MaxMatchSize": 4,
            "Teams": [{ "Name": "a", "MinTeamSize": 1, "MaxTeamSize": 2 }, { "Name": "b", "MinTeamSize": 1, "MaxTeamSize": 2 }] });
        let mut written = json!({ "Name": "r", "CustomExpansion": expansion });
        if rule != "TeamSizeBalanceRule" {
            written["Path"] = json!("latency");
            written["Attribute"] = json!({ "Path": "a", "Source": "User" });
            written["DefaultAttributeValue"] =
                if rule == "SetIntersectionRules" { json!(["x"]) } else { json!(1) };
        }
        if !base.is_null() {
            written[field] = base;
        }
        queue[rule] = if rule.ends_with('s') { json!([written]) } else { written };
        let told =
            serde_json::to_value(MatchmakingQueueConfig::of(&read(queue).declared(None).unwrap())).unwrap();
        let told = if rule.ends_with('s') { &told[rule][0] } else { &told[rule] };
        told[field].clone()
    };
    for (rule, field, lists) in [
        ("DifferenceRules", "Difference", "DifferenceOverrides"),
        ("TeamDifferenceRules", "Difference", "DifferenceOverrides"),
        ("TeamSizeBalanceRule", "Difference", "DifferenceOverrides"),
        ("SetIntersectionRules", "MinIntersectionSize", "MinIntersectionSizeOverrides"),
        ("RegionSelectionRule", "MaxLatency", "MaxLatencyOverrides"),
    ] {
        let told = |base, first: Value| {
            let expansion = json!({ lists: [first, { "Value": 1 }], "SecondsBetweenExpansions": 5 });
            queue(rule, (field, base), expansion)
        };
        assert_eq!(told(json!(3), Value::Null), json!(3), "{rule}");
        assert_eq!(told(json!(3), json!({ "Value": 2 })), json!(3), "{rule}");
        assert_eq!(told(Value::Null, json!({ "Value": 2 })), json!(2), "{rule}");
        assert_eq!(told(Value::Null, Value::Null), json!(0), "{rule}");
    }
}

/// Ours, and like the regions of a queue told on either face: what is shown can be set again.
#[test]
fn how_long_a_queue_gathers_is_told_as_it_was_set() {
    let queue =
        |gather: Value| read(json!({ "Name": "q", "MinMatchSize": 2, "MaxMatchSize": 2, "Gather": gather }));
    let declared = queue(json!("1s")).declared(None).unwrap();
    assert_eq!(declared.gather.ms(), 1_000);
    assert_eq!(serde_json::to_value(MatchmakingQueueConfig::of(&declared)).unwrap()["Gather"], "1s");
    let not_at_all = queue(Value::Null).declared(None).unwrap();
    assert_eq!(serde_json::to_value(MatchmakingQueueConfig::of(&not_at_all)).unwrap().get("Gather"), None);
    let faults = queue(json!("soon")).declared(None).unwrap_err();
    assert_eq!(
        faults[0].to_string(),
        "gather: `soon` is no time: a whole number of ms, s or m, as 500ms or 1s"
    );
    let faults = QueueSpec::new(queue(json!("2m")).declared(None).unwrap()).unwrap_err();
    assert_eq!(faults[0].to_string(), "gather: 120000 ms, at most 60000");
}

/// 10 and 10.0 are one number.
fn as_numbers(value: &Value) -> Value {
    match value {
        Value::Number(number) => json!(number.as_f64()),
        Value::Array(all) => all.iter().map(as_numbers).collect(),
        Value::Object(fields) => fields.iter().map(|(name, it)| (name.clone(), as_numbers(it))).collect(),
        Value::Null | Value::Bool(_) | Value::String(_) => value.clone(),
    }
}

/// The documentation's dialect: one list of rules, overrides as bare numbers, `MaxDifference`.
#[test]
fn the_documentations_dialect_is_the_same_queue() {
    let documented = read(json!({
        "Name": "ranked", "MinMatchSize": 4, "MaxMatchSize": 8, "ServerAllocationEnabled": false,
        "Rules": [
            { "Type": "StringEqualityRule", "Name": "mode", "Attribute": { "Path": "Mode", "Source": "User" },
              "AttributeNotSpecifiedBehavior": "MatchAny", "Weight": 1.0 },
            { "Type": "DifferenceRule", "Name": "skill", "Attribute": { "Path": "Skill", "Source": "User" },
              "MergeFunction": "Average", "MaxDifference": 0.2, "Weight": 2,
              "AttributeNotSpecifiedBehavior": "UseDefault", "DefaultAttributeValue": 0.5,
              "Expansion": { "Type": "Linear", "Delta": 0.1, "Limit": 0.5, "SecondsBetweenExpansions": 5 } },
            { "Type": "MatchTotalRule", "Name": "players", "Attribute": { "Path": "One", "Source": "User" },
              "Min": 1, "Max": 50, "Weight": 1,
              "Expansion": { "Type": "Custom", "MinOverrides": [50, 45, 40], "SecondsBetweenExpansions": 30 } },
            { "Type": "RegionSelectionRule", "Name": "near", "Path": "Latencies", "MaxLatency": 100, "Weight": 1,
              "Expansion": { "Type": "Custom", "MaxLatencyOverrides": [100, 150, null], "SecondsBetweenExpansions": 10 } },
        ],
    }));
    let typed = read(json!({
        "Name": "ranked", "MinMatchSize": 4, "MaxMatchSize": 8,
        "StringEqualityRules": [{ "Name": "mode", "Attribute": { "Path": "Mode", "Source": "User" },
            "AttributeNotSpecifiedBehavior": "MatchAny", "Weight": 1 }],
        "DifferenceRules": [{ "Name": "skill", "Attribute": { "Path": "Skill", "Source": "User" }, "MergeFunction": "Average",
            "Difference": 0.2, "Weight": 2, "AttributeNotSpecifiedBehavior": "UseDefault", "DefaultAttributeValue": 0.5,
            "LinearExpansion": { "Delta": 0.1, "Limit": 0.5, "SecondsBetweenExpansions": 5 } }],
        "MatchTotalRules": [{ "Name": "players", "Attribute": { "Path": "One", "Source": "User" }, "Min": 1, "Max": 50,
            "Weight": 1, "Expansion": { "MinOverrides": [{ "Value": 50 }, { "Value": 45 }, { "Value": 40 }],
            "SecondsBetweenExpansions": 30 } }],
        "RegionSelectionRule": { "Name": "near", "Path": "Latencies", "MaxLatency": 100, "Weight": 1,
            "CustomExpansion": { "MaxLatencyOverrides": [{ "Value": 100 }, { "Value": 150 }, null],
            "SecondsBetweenExpansions": 10 } },
        "SetIntersectionRules": {}, "Teams": null, "Something": "unknown",
    }));
    let of = |queue: &MatchmakingQueueConfig| queue.declared(None).unwrap();
    assert_eq!(of(&documented), of(&typed));
    let queue = QueueSpec::new(of(&typed)).unwrap();
    let RuleKind::MatchTotal { min, max, .. } = &queue.rules[2].kind else { panic!("{:?}", queue.rules[2]) };
    let seen: Vec<_> = [0, 29, 30, 60, 600].map(|at| min.after(at).unwrap()).into();
    assert_eq!(seen, [50, 50, 45, 40, 40].map(Amount::whole));
    assert_eq!(*max, Expansion::Fixed(Amount::whole(50)));
}

/// Record 0041: the delta of a set rule is taken off, for an expansion relaxes.
#[test]
fn the_deltas_of_set_rules_go_down_and_those_of_differences_by_their_sign() {
    let queue = read(json!({
        "Name": "q", "MinMatchSize": 2, "MaxMatchSize": 2,
        "SetIntersectionRules": [{ "Name": "maps", "Attribute": { "Path": "Maps" }, "AttributeNotSpecifiedBehavior": "MatchAny",
            "MinIntersectionSize": 3, "LinearExpansion": { "Delta": 1, "SecondsBetweenExpansions": 5 } }],
        "DifferenceRules": [{ "Name": "skill", "Attribute": { "Path": "Skill" }, "AttributeNotSpecifiedBehavior": "MatchAny",
            "Difference": 3, "LinearExpansion": { "Delta": -1, "Limit": 1, "SecondsBetweenExpansions": 5 } }],
    }));
    let declared = queue.declared(None).unwrap();
    let deltas = |name: &str| declared.rules.iter().find(|rule| &*rule.name == name).unwrap().kind.clone();
    let RuleKind::SetIntersection { shared: Expansion::Linear { delta, .. }, .. } = deltas("maps") else {
        panic!()
    };
    assert_eq!(delta, Delta::Down(1));
    let RuleKind::Difference { allowed: Expansion::Linear { delta, .. }, .. } = deltas("skill") else {
        panic!()
    };
    assert_eq!(delta, Delta::Down(Amount::ONE));
}

/// Of every number six decimal places are kept: a difference of 0.0000001 would be none at all.
#[test]
fn a_number_that_would_be_kept_as_0_is_a_fault() {
    let told = |fields: Value| {
        let mut rule =
            json!({ "Name": "r", "Attribute": { "Path": "p" }, "AttributeNotSpecifiedBehavior": "MatchAny" });
        rule.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        let queue = json!({ "Name": "q", "MinMatchSize": 2, "MaxMatchSize": 2, "DifferenceRules": [rule] });
        let faults = read(queue).declared(None).err().unwrap_or_default();
        faults.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let linear =
        |delta: f64, limit: f64| json!({ "Delta": delta, "Limit": limit, "SecondsBetweenExpansions": 5 });
    let values = json!({ "DifferenceOverrides": [{ "Value": 1e-7 }], "SecondsBetweenExpansions": 5 });
    for (field, fields) in [
        ("Difference", json!({ "Difference": 1e-7 })),
        ("Weight", json!({ "Difference": 1, "Weight": 1e-7 })),
        ("Delta", json!({ "Difference": 1, "LinearExpansion": linear(1e-7, 5.0) })),
        ("Limit", json!({ "Difference": 0, "LinearExpansion": linear(1.0, 1e-7) })),
        ("override", json!({ "CustomExpansion": values })),
    ] {
        let fault = format!("rule r: {field} 0.0000001: it has six decimal places, by which it would be 0");
        assert_eq!(told(fields), [fault]);
    }
    let default = json!({ "AttributeNotSpecifiedBehavior": "UseDefault", "DefaultAttributeValue": 1e-7, "Difference": 1 });
    assert_eq!(
        told(default),
        ["rule r: DefaultAttributeValue 1e-7: a number of six decimal places is needed"]
    );
    for kept in [json!({ "Difference": 1e-6 }), json!({ "Difference": 0 })] {
        assert_eq!(told(kept), [""; 0]);
    }
}

#[test]
fn everything_wrong_with_the_rules_is_told_at_once_by_their_names() {
    let queue = read(json!({
        "Name": "q", "MinMatchSize": 2, "MaxMatchSize": 2,
        "DifferenceRules": [
            { "Name": "a", "Attribute": { "Path": "p", "Source": "Server" }, "AttributeNotSpecifiedBehavior": "MatchAny", "Difference": 1 },
            { "Name": "b", "Attribute": { "Path": "p" }, "AttributeNotSpecifiedBehavior": "UseDefault", "Difference": 1 },
            { "Name": "c", "Attribute": { "Path": "p" }, "AttributeNotSpecifiedBehavior": "MatchAny", "Difference": 1, "Weight": 0 },
            { "Name": "d", "Attribute": { "Path": "p" }, "AttributeNotSpecifiedBehavior": "MatchAny" },
        ],
        "TeamSizeBalanceRule": { "Name": "e", "Difference": 1.5 },
    }));
    let faults = queue.declared(None).unwrap_err();
    let told: Vec<String> = faults.iter().map(ToString::to_string).collect();
    for (fault, says) in told.iter().zip([
        "rule a: Attribute.Source Server",
        "rule b: ",
        "rule c: Weight 0",
        "rule d: Difference",
        "rule e: Difference 1.5",
    ]) {
        assert!(fault.starts_with(says), "{fault} is not {says}");
    }
    // With what is wrong besides, and not what hangs on rules that are not understood.
    let queue = read(json!({
        "Name": "a queue", "MinMatchSize": 1, "MaxMatchSize": 2, "Regions": ["EastUs"],
        "RegionSelectionRule": { "Name": "r", "Path": "l" },
    }));
    let faults = queue.spec(None).unwrap_err();
    let places: Vec<&str> = faults.iter().map(|fault| fault.place.as_str()).collect();
    assert_eq!(places, ["rule r", "name", "minMatchSize"]);
    for wrong in [
        json!([]),
        json!({ "Rules": [{ "Type": "Nonsense" }] }),
        json!({ "Rules": [{}] }),
        json!({ "Rules": 5 }),
        json!({ "Rules": [{ "Type": "DifferenceRule", "Expansion": { "Type": "Wild" } }] }),
    ] {
        MatchmakingQueueConfig::read(wrong).unwrap_err();
    }
}

/// `DataObject` or `EscapedDataObject`, `Type` or `TypeString`, nulls as the C# SDK sends them.
#[test]
fn players_are_read_in_every_form_that_sdks_send() {
    let player = |body: Value| -> MatchmakingPlayer { serde_json::from_value(body).unwrap() };
    let one = player(json!({ "Entity": { "Id": "A", "Type": "title_player_account", "TypeString": null },
        "Attributes": { "DataObject": { "Skill": 5 }, "EscapedDataObject": null }, "CustomTags": null }));
    let other = player(json!({ "Entity": { "Id": "A", "TypeString": "title_player_account" },
        "Attributes": { "EscapedDataObject": "{\"Skill\":5}" }, "TeamId": "" }));
    assert_eq!(one.entity.entity(), other.entity.entity());
    let object = |player: &MatchmakingPlayer| player.attributes.as_ref().unwrap().object().unwrap();
    assert_eq!((object(&one), object(&other)), (Some(json!({ "Skill": 5 })), Some(json!({ "Skill": 5 }))));
    for wrong in ["[1]", "5", "{"] {
        let attributes =
            MatchmakingPlayerAttributes { data_object: None, escaped_data_object: Some(wrong.to_owned()) };
        attributes.object().unwrap_err();
    }
    let escaped = MatchmakingPlayerAttributes::told(Some("{}"), Objects::Escaped);
    assert_eq!(
        serde_json::to_value(escaped).unwrap(),
        json!({ "DataObject": null, "EscapedDataObject": "{}" })
    );
}

/// Seed 004's own sample nests each port under `Port`; the API has them flat. Both are the same, and flat is told.
#[test]
fn ports_are_read_nested_and_flat_and_told_flat() {
    let details = |body: Value| -> ServerDetails { serde_json::from_value(body).unwrap() };
    let nested = details(
        json!({ "IPV4Address": "10.250.24.54", "Ports": [{ "Port": { "Name": "game", "Num": 1243, "Protocol": "UDP" } }],
        "Region": "WestUS", "Fqdn": "vm.example", "ServerId": "359e" }),
    );
    let flat = json!({ "IPV4Address": "10.250.24.54", "Ports": [{ "Name": "game", "Num": 1243, "Protocol": "UDP" }],
        "Region": "WestUS", "Fqdn": "vm.example", "ServerId": "359e" });
    assert_eq!(nested.details().unwrap(), details(flat.clone()).details().unwrap());
    assert_eq!(serde_json::to_value(ServerDetails::of(&nested.details().unwrap())).unwrap(), flat);
    let wrong = details(json!({ "Ports": [{ "Name": "game", "Num": 70000 }] }));
    assert!(wrong.details().unwrap_err().contains("70000"));
    let empty: CreateServerTicket =
        serde_json::from_value(json!({ "Members": {}, "ServerDetails": null })).unwrap();
    assert_eq!(empty, CreateServerTicket::default());
}

/// "nestExample.exp", and a JSONPath whose first step is the name of a stored object; 40 and "40" are two things.
#[test]
fn attributes_are_found_by_the_paths_of_their_rules() {
    let rule = |name: &str, source: &str, path: &str| {
        json!({ "Name": name, "Attribute": { "Path": path, "Source": source }, "AttributeNotSpecifiedBehavior": "MatchAny",
            "Difference": 1, "Weight": 1 })
    };
    let queue = read(json!({
        "Name": "q", "MinMatchSize": 2, "MaxMatchSize": 4,
        "DifferenceRules": [rule("nested", "User", "nestExample.exp"), rule("stored", "PlayerEntity", "$.playerSkill.skillDetail.mu"),
            rule("absent", "User", "none.at.all"), rule("text", "User", "Text")],
        "RegionSelectionRule": { "Name": "near", "Path": "Latencies", "MaxLatency": 100 },
    }));
    let spec = QueueSpec::new(queue.declared(None).unwrap()).unwrap();
    let sent = json!({ "nestExample": { "exp": 40 }, "Text": "40", "Latencies": [{ "region": "EastUs", "latency": 50.2 }] });
    let stored = Stored::from([("playerSkill".to_owned(), json!({ "skillDetail": { "mu": 25.5 } }))]);
    let read = attributes(&spec, Some(&sent), &stored);
    let number = |number: f64| Some(Found::Number(Amount::from_f64(number).unwrap()));
    let near: Arc<[(Arc<str>, u32)]> = [("EastUs".into(), 51)].into();
    let expected =
        [number(40.0), number(25.5), None, Some(Found::Text("40".into())), Some(Found::Latencies(near))];
    assert_eq!(read.values[..], expected);
    assert_eq!(read.raw.as_deref(), Some(sent.to_string().as_str()));
    assert_eq!(attributes(&spec, None, &Stored::new()).values[..], [None, None, None, None, None]);
}

/// Bytes of a whole answer: ids in lower case, `TeamId` an empty text without a team, no null but the one that is published.
#[test]
fn a_match_is_told_in_these_bytes() {
    let entity = Entity::new(Entity::PLAYER, "A").unwrap();
    let member = Member {
        entity,
        attributes: Attributes { raw: Some("{\"Skill\":5}".into()), ..Attributes::default() },
    };
    let id = TicketId(uuid::Uuid::from_u128(0xABCD));
    let formed = Match {
        id: MatchId::around(id, Timestamp::from_unix_ms(0)),
        formed: Timestamp::from_unix_ms(0),
        members: vec![Seated { member, team: None }],
        regions: ["EastUs".into()].into(),
        server: None,
    };
    let told = |objects| serde_json::to_string(&Success::of(MatchAnswer::of(&formed, objects))).unwrap();
    let id = formed.id.to_string();
    let who = r#""Entity":{"Id":"A","Type":"title_player_account","TypeString":"title_player_account"}"#;
    assert_eq!(
        told(None),
        format!(
            r#"{{"code":200,"status":"OK","data":{{"MatchId":"{id}","Members":[{{{who},"TeamId":""}}],"RegionPreferences":["EastUs"]}}}}"#
        )
    );
    assert!(
        told(Some(Objects::Escaped))
            .contains(r#""Attributes":{"DataObject":null,"EscapedDataObject":"{\"Skill\":5}"}"#)
    );
    assert!(told(Some(Objects::Plain)).contains(r#""Attributes":{"DataObject":{"Skill":5}}"#));
}

/// "named by code", and by field: what is of another type is told in the words of whoever sent it, all of it at once.
#[test]
fn what_is_of_another_type_is_told_with_its_place_and_all_at_once() {
    let told = |body: Value| types::faults(&body).iter().map(ToString::to_string).collect::<Vec<_>>();
    let queue = json!({
        "Name": 5, "MinMatchSize": "2", "MaxMatchSize": 2.5, "ServerAllocationEnabled": "yes", "Teams": [{ "MinTeamSize": -1 }],
        "DifferenceRules": [{ "Name": "skill", "Weight": "1", "Attribute": "Skill", "CustomExpansion": { "DifferenceOverrides": [1, null, "5", { "Value": [] }] } }],
        "Rules": [{ "Type": "StringEqualityRule", "Expansion": { "EnabledOverrides": [0] } }],
    });
    let expected = [
        "DifferenceRules[0].Attribute: an object is needed, and this is the text \"Skill\"",
        "DifferenceRules[0].CustomExpansion.DifferenceOverrides[2]: a number, or an object with a Value, is needed, and this is the text \"5\"",
        "DifferenceRules[0].CustomExpansion.DifferenceOverrides[3].Value: a number is needed, and this is a list",
        "DifferenceRules[0].Weight: a number is needed, and this is the text \"1\"",
        "MaxMatchSize: a whole number from 0 to 4294967295 is needed, and this is 2.5",
        "MinMatchSize: a whole number from 0 to 4294967295 is needed, and this is the text \"2\"",
        "Name: a text is needed, and this is 5",
        "Rules[0].Expansion.EnabledOverrides[0]: true or false is needed, and this is 0",
        "ServerAllocationEnabled: true or false is needed, and this is the text \"yes\"",
        "Teams[0].MinTeamSize: a whole number from 0 to 4294967295 is needed, and this is -1",
    ];
    let sorted = |mut told: Vec<String>| {
        told.sort();
        told
    };
    assert_eq!(sorted(told(queue.clone())), expected);
    let refused = MatchmakingQueueConfig::read(queue).unwrap_err();
    let besides = [
        "rule : AttributeNotSpecifiedBehavior UseDefault needs a DefaultAttributeValue",
        "team : maxTeamSize 0: nobody could be on it",
        "teams: one team alone; none, or at least two",
    ];
    let all = expected.into_iter().chain(besides).map(str::to_owned).collect();
    assert_eq!(sorted(refused.iter().map(ToString::to_string).collect()), sorted(all));

    let players: Vec<Value> = (0..7)
        .map(|at| {
            if at == 6 {
                json!({ "Entity": {}, "Attributes": 5 })
            } else {
                json!({ "Entity": { "Id": "A" } })
            }
        })
        .collect();
    let long = "x".repeat(100);
    let game = json!({ "Members": players, "GiveUpAfterSeconds": "soon", "OnPlayerTakenOut": long, "ServerDetails": { "Ports": [
        { "Name": "game", "Num": "7000", "Protocol": "tcp" }, { "Port": { "Num": 1 } }, 7000 ] } });
    assert_eq!(
        sorted(told(game)),
        [
            "GiveUpAfterSeconds: a whole number is needed, and this is the text \"soon\"".to_owned(),
            "Members[6].Attributes: an object is needed, and this is 5".to_owned(),
            format!("OnPlayerTakenOut: Cancel or GoOn is needed, and this is the text {:?}…", "x".repeat(40)),
            "ServerDetails.Ports[0].Num: a whole number from 0 to 65535 is needed, and this is the text \"7000\"".to_owned(),
            "ServerDetails.Ports[0].Protocol: TCP or UDP is needed, and this is the text \"tcp\"".to_owned(),
            "ServerDetails.Ports[1].Port.Name: it is missing".to_owned(),
            "ServerDetails.Ports[2]: an object is needed, and this is 7000".to_owned(),
        ]
    );
    // What players bring is theirs, and what is nothing is right everywhere.
    let theirs = json!({ "Members": [{ "Attributes": { "DataObject": { "Name": 5, "Weight": "heavy" } } }], "QueueName": null, "Regions": {} });
    assert_eq!(told(theirs), Vec::<String>::new());
    let many = json!({ "Regions": (0..100).collect::<Vec<_>>() });
    assert_eq!(told(many).len(), 20);
}

/// Every name that a queue is written with has a type to be told: else a fault of it would be told in the reader's words.
#[test]
fn every_name_of_a_queue_is_known_by_its_type() {
    fn names(value: &Value, found: &mut BTreeSet<String>) {
        for (name, value) in value.as_object().into_iter().flatten() {
            found.insert(name.clone());
            names(value, found);
        }
        value.as_array().into_iter().flatten().for_each(|value| names(value, found));
    }
    let mut found = BTreeSet::new();
    names(&published(), &mut found);
    names(&serde_json::to_value(MatchmakingQueueConfig::default()).unwrap(), &mut found);
    // Of the rule's own type.
    assert!(found.remove("DefaultAttributeValue"));
    assert!(found.len() > 30, "{found:?}");
    for name in found {
        // Neither a value, nor an object, nor a list of any.
        assert_eq!(types::faults(&json!({ &name: [[]] })).len(), 1, "{name}");
    }
}

/// "omitted = null": and an empty `Type` names none.
#[test]
fn null_and_empty_are_as_if_left_out() {
    let read = |port: Value| serde_json::from_value::<ServerDetails>(json!({ "Ports": [port] })).unwrap();
    let left_out = read(json!({ "Name": "game", "Num": 7 }));
    assert_eq!(read(json!({ "Name": "game", "Num": 7, "Protocol": null })), left_out);
    let key = |body: Value| serde_json::from_value::<EntityKey>(body).unwrap().entity();
    let player = Entity::new(Entity::PLAYER, "A");
    for kind in [
        json!({ "Id": "A" }),
        json!({ "Id": "A", "Type": "" }),
        json!({ "Id": "A", "Type": "", "TypeString": "" }),
    ] {
        assert_eq!(key(kind), player);
    }
    assert_eq!(key(json!({ "Id": "A", "Type": "", "TypeString": "title" })), Entity::new("title", "A"));
}

/// A list of another rule's would be another limit.
#[test]
fn an_expansion_with_another_rules_list_is_a_fault() {
    let near = |expansion: Value| {
        let rule =
            json!({ "Name": "near", "Path": "latency", "MaxLatency": 100, "CustomExpansion": expansion });
        read(json!({ "Name": "q", "MinMatchSize": 2, "MaxMatchSize": 2, "RegionSelectionRule": rule }))
            .declared(None)
    };
    near(json!({ "MaxLatencyOverrides": [5], "SecondsBetweenExpansions": 1 })).unwrap();
    for wrong in [
        json!({ "DifferenceOverrides": [5], "SecondsBetweenExpansions": 1 }),
        json!({ "MaxLatencyOverrides": [5], "DifferenceOverrides": [5], "SecondsBetweenExpansions": 1 }),
    ] {
        let told = near(wrong).unwrap_err()[0].to_string();
        assert_eq!(
            told,
            "rule near: its CustomExpansion has DifferenceOverrides, which is of other rules: MaxLatencyOverrides"
        );
    }
}

/// What nothing reads is shown as it was told: whoever turns servers on again, or `MatchAny` off, finds it.
#[test]
fn what_nothing_reads_is_shown_as_it_was_told() {
    let rule = |name: &str, default: Value| {
        json!({ "Name": name, "Attribute": { "Path": name, "Source": "User" }, "AttributeNotSpecifiedBehavior": "MatchAny",
            "DefaultAttributeValue": default, "Difference": 1, "MinIntersectionSize": 1, "Weight": 1 })
    };
    let told = |allocation: bool, default: Value| {
        read(
            json!({ "Name": "q", "MinMatchSize": 2, "MaxMatchSize": 2, "ServerAllocationEnabled": allocation, "BuildId": "build",
            "BuildAliasParams": { "AliasId": "alias" }, "DifferenceRules": [rule("skill", default)],
            "SetIntersectionRules": [rule("maps", json!(["arena"]))] }),
        )
    };
    let spec = QueueSpec::new(told(false, json!(5)).declared(None).unwrap()).unwrap();
    let shown = MatchmakingQueueConfig::of(spec.declared());
    assert_eq!(shown.build_id.as_deref(), Some("build"));
    assert_eq!(shown.build_alias_params.as_ref().map(|it| &*it.alias_id), Some("alias"));
    assert_eq!(shown.difference_rules[0].default_attribute_value, Some(json!(5)));
    assert_eq!(shown.set_intersection_rules[0].default_attribute_value, Some(json!(["arena"])));
    assert_eq!(shown.declared(None).unwrap(), *spec.declared(), "and set again it is the same queue");
    assert!(told(true, json!(5)).build().is_err(), "with servers both are read");
}

/// Of what nothing reads as much is kept as a rule could read.
#[test]
fn what_nothing_reads_is_no_longer_than_what_a_rule_could_read() {
    let told = |texts: usize, bytes: usize| {
        let maps: Vec<String> = (0..texts).map(|_| "x".repeat(bytes)).collect();
        let rule = json!({ "Name": "m".repeat(255), "Attribute": { "Path": "maps" }, "MinIntersectionSize": 1,
            "AttributeNotSpecifiedBehavior": "MatchAny", "DefaultAttributeValue": maps });
        let queue = read(
            json!({ "Name": "q", "MinMatchSize": 2, "MaxMatchSize": 2, "SetIntersectionRules": [rule] }),
        );
        QueueSpec::new(queue.declared(None).unwrap())
    };
    let most = (TEXTS_MAX * (TEXT_BYTES_MAX + 3) + 1) + 255;
    assert_eq!(most, UNREAD_BYTES_MAX);
    assert!(told(TEXTS_MAX, TEXT_BYTES_MAX).is_ok());
    let faults = told(TEXTS_MAX, TEXT_BYTES_MAX + 1).unwrap_err();
    assert_eq!(faults[0].place, "DefaultAttributeValue", "{faults:?}");
}

/// Types without such a behavior pass it over: their default is read, or is none of theirs.
#[test]
fn a_behavior_that_a_type_has_not_makes_no_default_unread() {
    let rule = |name: &str| {
        json!({ "Name": name, "Attribute": { "Path": name }, "AttributeNotSpecifiedBehavior": "MatchAny",
            "DefaultAttributeValue": 5, "Difference": 1, "Min": 1, "Max": 2 })
    };
    let team = |name: &str| json!({ "Name": name, "MinTeamSize": 1, "MaxTeamSize": 1 });
    let queue =
        read(json!({ "Name": "q", "MinMatchSize": 2, "MaxMatchSize": 2, "Teams": [team("a"), team("b")],
        "MatchTotalRules": [rule("total")], "TeamDifferenceRules": [rule("skill")] }));
    let declared = queue.declared(None).unwrap();
    assert_eq!(declared.unread, Unread::default());
    assert_eq!(MatchmakingQueueConfig::of(&declared).declared(None), Ok(declared));
}

/// How a rule is written with an expansion, in the list of its type.
fn giving_way(list: &str, limit: Value, expansion: Value) -> MatchmakingQueueConfig {
    let mut rule = json!({ "Name": "r", "Attribute": { "Path": "a" }, "AttributeNotSpecifiedBehavior": "MatchAny",
        "DefaultAttributeValue": 1 });
    for part in [limit, expansion] {
        for (field, value) in part.as_object().unwrap() {
            rule[field] = value.clone();
        }
    }
    read(json!({ "Name": "q", "MinMatchSize": 2, "MaxMatchSize": 2, list: [rule] }))
}

/// An expansion says by its fields what it is, also in the API's lists, where it stands when a rule was moved there; and a rule there may
/// call its limit as the documentation does.
#[test]
fn an_expansion_is_what_its_fields_say_in_either_dialect() {
    let linear = json!({ "Delta": 1, "Limit": 4, "SecondsBetweenExpansions": 5 });
    let custom = json!({ "DifferenceOverrides": [1, 2], "SecondsBetweenExpansions": 5 });
    let with = |mut expansion: Value, kind: Option<&str>| {
        expansion["Type"] = json!(kind);
        json!({ "Expansion": expansion })
    };
    for (written, kind, api) in
        [(&linear, "Linear", "LinearExpansion"), (&custom, "Custom", "CustomExpansion")]
    {
        let expected = giving_way("DifferenceRules", json!({ "Difference": 1 }), json!({ api: written }));
        for list in ["DifferenceRules", "Rules"] {
            for said in [Some(kind), None] {
                let limit = json!({ "MaxDifference": 1, "Difference": null, "Type": (list == "Rules").then_some("DifferenceRule") });
                assert_eq!(
                    giving_way(list, limit, with(written.clone(), said)),
                    expected,
                    "{list} {said:?} {written}"
                );
            }
        }
    }
    let by_intervals = |kind: Option<&str>| {
        let expansion =
            with(json!({ "EnabledOverrides": [true, false], "SecondsBetweenExpansions": 5 }), kind);
        giving_way("StringEqualityRules", json!({}), expansion).declared(None).unwrap()
    };
    assert_eq!(by_intervals(None), by_intervals(Some("Custom")));
}

/// "refused at the door where the specification allows, named by code": with every fault at once, whatever kind each is of.
#[test]
fn a_queue_that_is_none_is_told_everything_that_is_wrong_with_it() {
    let attribute = json!({ "Path": "a[0]", "Source": "Elsewhere" });
    let queue = json!({
        "Name": "q", "MinMatchSize": 4, "MaxMatchSize": 2,
        "Rules": [
            { "Type": "NoSuchRule", "Name": "one" },
            { "Type": "DifferenceRule", "Name": "two", "Attribute": attribute, "Difference": -1, "Weight": 0,
              "MergeFunction": "Most", "AttributeNotSpecifiedBehavior": "MatchAny" },
            { "Type": "StringEqualityRule", "Name": "three", "Attribute": { "Path": "b" }, "Weight": "heavy",
              "AttributeNotSpecifiedBehavior": "Sometimes" },
        ],
    });
    let faults = MatchmakingQueueConfig::read(queue).unwrap_err();
    let told: Vec<String> = faults.iter().map(ToString::to_string).collect();
    for part in [
        "Rules[2].Weight: a number is needed, and this is the text",
        "no rule of Type NoSuchRule",
        "rule two: MergeFunction Most",
        "rule two: Attribute.Source Elsewhere",
        "rule two: path `a[0]`",
        "rule two: Weight 0",
        "rule three: AttributeNotSpecifiedBehavior Sometimes",
        "MatchSize",
    ] {
        assert!(told.iter().any(|fault| fault.contains(part)), "{part} in {told:#?}");
    }
}

/// Whatever is wrong with a rule is told by its name and field; what the specification requires of it has no default that nobody wrote.
#[test]
fn what_a_rule_lacks_is_told_by_its_name_and_field() {
    let told = |list: &str, fields: Value| {
        let faults =
            giving_way(list, json!({ "Difference": 1 }), fields).declared(None).err().unwrap_or_default();
        faults.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    for none in [Value::Null, json!("5")] {
        assert_eq!(
            told("TeamDifferenceRules", json!({ "DefaultAttributeValue": none })),
            ["rule r: DefaultAttributeValue is missing, or no number"]
        );
    }
    let custom = |overrides: Value| json!({ "CustomExpansion": { "DifferenceOverrides": overrides, "SecondsBetweenExpansions": 5 } });
    for (wrong, shown) in
        [(json!({}), "{}"), (json!({ "Value": null }), "{\"Value\":null}"), (json!("5"), "\"5\"")]
    {
        assert_eq!(
            told("DifferenceRules", custom(json!([1, wrong]))),
            [format!("rule r: override {shown}: a number, an object with a number as its `Value`, or null")]
        );
    }
    let mut below = custom(json!([1, null, { "Value": 2 }]));
    assert_eq!(told("DifferenceRules", below.clone()), [""; 0]);
    below["Difference"] = json!(-1);
    for list in ["DifferenceRules", "TeamDifferenceRules"] {
        assert_eq!(told(list, below.clone()), ["rule r: Difference -1: not a negative one"]);
    }
}

/// Nobody's queue matches by other limits than were written: what would not be read, or would move nothing, is a fault.
#[test]
fn an_expansion_that_would_be_passed_over_is_a_fault() {
    let linear = json!({ "Delta": 1, "SecondsBetweenExpansions": 5 });
    let total = json!({ "Min": 1, "Max": 2 });
    let ten = json!({ "Difference": 10 });
    let every = |fields: Value| {
        let mut expansion = fields;
        expansion["SecondsBetweenExpansions"] = json!(5);
        expansion
    };
    let not_read = "is not read: rules of its type have";
    let rows = [
        (
            "StringEqualityRules",
            json!({}),
            json!({ "Expansion": { "Type": "Linear", "Delta": 1 } }),
            format!("its LinearExpansion {not_read} an Expansion with EnabledOverrides"),
        ),
        (
            "StringEqualityRules",
            json!({}),
            json!({ "LinearExpansion": linear }),
            format!("its LinearExpansion {not_read} an Expansion with EnabledOverrides"),
        ),
        (
            "StringEqualityRules",
            json!({}),
            json!({ "CustomExpansion": every(json!({ "EnabledOverrides": [true] })) }),
            format!("its CustomExpansion {not_read} an Expansion with EnabledOverrides"),
        ),
        (
            "MatchTotalRules",
            total,
            json!({ "LinearExpansion": linear }),
            format!("its LinearExpansion {not_read} an Expansion with MinOverrides or MaxOverrides"),
        ),
        (
            "TeamTicketSizeSimilarityRule",
            json!({}),
            json!({ "LinearExpansion": linear }),
            format!("its LinearExpansion {not_read} none"),
        ),
        (
            "DifferenceRules",
            ten.clone(),
            json!({ "CustomExpansion": every(json!({ "EnabledOverrides": [true] })) }),
            "its CustomExpansion has EnabledOverrides, which is of other rules: DifferenceOverrides".into(),
        ),
        (
            "DifferenceRules",
            ten.clone(),
            json!({ "LinearExpansion": every(json!({ "Delta": 1, "Limit": 5 })) }),
            "its linear expansion never moves Difference 10: Limit 5 is below, and Delta goes up".into(),
        ),
        (
            "DifferenceRules",
            ten.clone(),
            json!({ "LinearExpansion": every(json!({ "Delta": -1, "Limit": 15 })) }),
            "its linear expansion never moves Difference 10: Limit 15 is above, and Delta goes down".into(),
        ),
        (
            "DifferenceRules",
            ten.clone(),
            json!({ "LinearExpansion": every(json!({ "Delta": 0 })) }),
            "its linear expansion never moves Difference: Delta is 0, or missing".into(),
        ),
        (
            "DifferenceRules",
            ten.clone(),
            json!({ "LinearExpansion": every(json!({ "Limit": 20 })) }),
            "its linear expansion never moves Difference: Delta is 0, or missing".into(),
        ),
        (
            "SetIntersectionRules",
            json!({ "MinIntersectionSize": 2 }),
            json!({ "LinearExpansion": every(json!({ "Delta": 1, "Limit": 3 })) }),
            "its linear expansion never moves MinIntersectionSize 2: Limit 3 is above, and Delta goes down"
                .into(),
        ),
        (
            "TeamDifferenceRules",
            ten,
            json!({ "LinearExpansion": every(json!({})) }),
            "its linear expansion never moves Difference: Delta is 0, or missing".into(),
        ),
    ];
    for (list, limit, expansion, told) in rows {
        let queue = if list == "TeamTicketSizeSimilarityRule" {
            let rule = json!({ "Name": "r", "Expansion": expansion["LinearExpansion"] });
            read(json!({ "Name": "q", "MinMatchSize": 2, "MaxMatchSize": 2, list: rule }))
        } else {
            giving_way(list, limit.clone(), expansion.clone())
        };
        let faults = queue.declared(None).map(|_| format!("{list} {expansion} was taken")).unwrap_err();
        assert_eq!(faults.iter().map(ToString::to_string).collect::<Vec<_>>(), [format!("rule r: {told}")]);
    }
    // What says two things is told by the reader already, of every rule at once.
    let rule = |expansion: Value| json!({ "Name": "r", "Difference": 1, "Attribute": { "Path": "a" }, "Expansion": expansion });
    let both = json!({ "Delta": 1, "DifferenceOverrides": [1] });
    let mut twice = rule(json!({ "Delta": 1 }));
    twice["LinearExpansion"] = linear;
    let custom = json!({ "Name": "r", "Difference": 1, "CustomExpansion": { "Limit": 1 } });
    let queue = json!({ "DifferenceRules": [
        rule(both), rule(json!({ "Type": "Linear", "DifferenceOverrides": [1] })), rule(json!({ "Type": "Wild" })),
        rule(json!({ "SecondsBetweenExpansions": 5 })), twice, custom,
    ] });
    let told = MatchmakingQueueConfig::read(queue).unwrap_err();
    // What they lack besides is told as well.
    let told = told.iter().map(ToString::to_string).filter(|fault| fault.contains("Expansion"));
    assert_eq!(
        told.collect::<Vec<_>>(),
        [
            "rule r: its Expansion is linear, and has DifferenceOverrides, which custom ones have",
            "rule r: its Expansion is linear, and has DifferenceOverrides, which custom ones have",
            "rule r: an Expansion is Linear or Custom, not \"Wild\"",
            "rule r: its Expansion has neither a Delta nor overrides",
            "rule r: Expansion and LinearExpansion: one of them",
            "rule r: its CustomExpansion is custom, and has Limit, which linear ones have",
        ]
    );
}

/// Who sends latencies otherwise than they are read is told how, and not only that.
#[test]
fn latencies_that_are_none_are_told_by_their_first_fault() {
    let near = json!({ "Name": "near", "Path": "near", "MaxLatency": 100 });
    let queue = json!({ "Name": "q", "MinMatchSize": 2, "MaxMatchSize": 2, "RegionSelectionRule": near });
    let spec = QueueSpec::new(read(queue).declared(None).unwrap()).unwrap();
    let good = json!({ "region": "EastUs", "latency": 5 });
    for (wrong, told) in [
        (json!(5), "an element that is no object"),
        (json!({ "Region": "EastUs", "Latency": 5 }), "`Region` and `Latency`, which are written small"),
        (json!({ "region": 5, "latency": 5 }), "whose `region` is no text"),
        (json!({ "region": "", "latency": 5 }), "whose `region` is empty"),
        (json!({ "region": "EastUs", "latency": "5" }), "whose `latency` is no number"),
        (json!({ "region": "EastUs", "latency": -1 }), "whose `latency` is negative"),
    ] {
        let sent = json!({ "near": [good, wrong] });
        let Some(Found::Other(found)) = attributes(&spec, Some(&sent), &Stored::new()).values[0].clone()
        else {
            panic!("{sent} was taken")
        };
        assert!(found.contains(told), "{sent}: {found}");
    }
}
