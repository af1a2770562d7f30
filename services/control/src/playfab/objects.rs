//! Stored objects: an entity's own, or anybody's for the title.

use std::sync::Arc;

use mainstay_matchmaking::{Caller, Entity};
use mainstay_players::{Becomes, Change, Done, Profile};
use mainstay_wire::playfab::EntityKey;
use mainstay_wire::playfab::object::{
    GetObjects, ObjectResult, ObjectsAnswer, ObjectsSet, OperationTypes, SetObject, SetObjectInfo, SetObjects,
};
use serde_json::Value;

use super::Face;
use super::door::Asked;
use super::refusal::Refusal;

impl Face {
    /// `SetObjects`.
    pub(super) async fn set_objects(&self, asked: &Asked) -> Result<ObjectsSet, Refusal> {
        let caller = self.caller(asked)?;
        let set: SetObjects = asked.read()?;
        let entity = self.whose(&caller, set.entity.as_ref())?;
        let changes: Vec<Change> = set.objects.iter().enumerate().map(change).collect::<Result<_, _>>()?;
        if changes.is_empty() {
            return Err(Refusal::field("Objects", "it is empty"));
        }
        let expected = set.expected_profile_version.map(|expected| {
            u32::try_from(expected)
                .map_err(|_| Refusal::field("ExpectedProfileVersion", "a version is not negative"))
        });
        let expected = expected.transpose()?;
        let sent: Vec<Arc<str>> = changes.iter().map(|change| Arc::clone(&change.name)).collect();
        let answer = self.objects.set(&entity, changes, expected).await?;
        let answer = answer.map_err(|rejection| Refusal::objects(&rejection, &sent))?;
        let told = |(name, done): (Arc<str>, Done)| SetObjectInfo {
            object_name: name.to_string(),
            set_result: match done {
                Done::Created => OperationTypes::Created,
                Done::Updated => OperationTypes::Updated,
                Done::Deleted => OperationTypes::Deleted,
                Done::Nothing => OperationTypes::None,
            },
        };
        Ok(ObjectsSet {
            profile_version: answer.version,
            set_results: answer.done.into_iter().map(told).collect(),
        })
    }

    /// `GetObjects`.
    pub(super) async fn get_objects(&self, asked: &Asked) -> Result<ObjectsAnswer, Refusal> {
        let caller = self.caller(asked)?;
        let get: GetObjects = asked.read()?;
        let entity = self.whose(&caller, get.entity.as_ref())?;
        let Profile { version, objects } = self.objects.of(&entity).await?;
        let told = |(name, json): (Arc<str>, Arc<str>)| {
            let (data_object, escaped_data_object) = if get.escape_object {
                (None, Some(json.to_string()))
            } else {
                (serde_json::from_str(&json).ok(), None)
            };
            let object_name = name.to_string();
            (object_name.clone(), ObjectResult { object_name, data_object, escaped_data_object })
        };
        Ok(ObjectsAnswer {
            entity: EntityKey::of(&entity),
            objects: objects.into_iter().map(told).collect(),
            profile_version: version,
        })
    }

    /// Whose objects a call is about, if the caller may: its own, or the title anybody's.
    fn whose(&self, caller: &Caller, key: Option<&EntityKey>) -> Result<Entity, Refusal> {
        let key = key.ok_or_else(|| Refusal::field("Entity", "it is missing"))?;
        let entity = key.entity().ok_or_else(|| {
            Refusal::entity_type("an Entity has an Id and a Type, without control characters")
        })?;
        let (is_own, by) = match caller {
            Caller::Title => (true, None),
            Caller::Player(own) | Caller::Server(own) => (*own == entity, Some(own)),
            Caller::Hosted(_) => return Err(Refusal::may_not("a hosted process keeps no objects")),
        };
        let now = self.now();
        self.allowance.about_objects(by, &entity, now).map_err(|it| Refusal::rate(&it))?;
        if is_own { Ok(entity) } else { Err(Refusal::may_not("these objects are another entity's")) }
    }
}

/// "Only one of Object or EscapedDataObject fields may be used"; "both DataObject and EscapedDataObject must not be set as well" where
/// an object is deleted.
fn change((at, object): (usize, &SetObject)) -> Result<Change, Refusal> {
    let place = |field: &str| format!("Objects[{at}].{field}");
    let data = object.data_object.as_ref().filter(|data| !data.is_null());
    let escaped = object.escaped_data_object.as_deref().filter(|text| !text.is_empty());
    let becomes = match (data, escaped, object.delete_object) {
        (None, None, true) => Becomes::Gone,
        (Some(data), None, false) => Becomes::Json(data.to_string().into()),
        (None, Some(text), false) => {
            let value: Value = serde_json::from_str(text)
                .map_err(|error| Refusal::no_json(&format!("{}: {error}", place("EscapedDataObject"))))?;
            Becomes::Json(value.to_string().into())
        }
        (None, None, false) => {
            return Err(Refusal::field(&place("DataObject"), "it is missing, and nothing is deleted"));
        }
        (Some(_), Some(_), _) | (_, Some(_), true) | (Some(_), _, true) => {
            return Err(Refusal::field(
                &place("DataObject"),
                "one of DataObject, EscapedDataObject and DeleteObject, not two",
            ));
        }
    };
    Ok(Change { name: object.object_name.as_str().into(), becomes })
}
