//! The event socket's protocol, Centrifuge JSON version 1, from the client's side.

use serde_json::{Value, json};

/// What the daemon says on the socket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Said {
    /// A command was done.
    Done(u64),
    /// A command was refused.
    Refused {
        /// Why.
        why: String,
    },
    /// The server was allocated.
    Allocated(String),
    /// The server was deallocated.
    Deallocated(String),
    /// Something else, which a newer daemon may say.
    Other,
}

/// The command that begins.
pub(crate) fn connect(id: u64) -> String {
    json!({"id": id, "params": {"name": "mainstay-sdk"}}).to_string()
}

/// The command that asks for a server's events.
pub(crate) fn subscribe(id: u64, server: u64) -> String {
    json!({"id": id, "method": 1, "params": {"channel": format!("server#{server}")}}).to_string()
}

/// The command that asks whether the daemon is there.
pub(crate) fn ping(id: u64) -> String {
    json!({"id": id, "method": 7}).to_string()
}

/// Reads one message: one JSON object or more, one after another.
pub(crate) fn read(text: &str) -> Result<Vec<Said>, serde_json::Error> {
    serde_json::Deserializer::from_str(text)
        .into_iter::<Value>()
        .map(|value| value.map(|value| said(&value)))
        .collect()
}

fn said(value: &Value) -> Said {
    if let Some(error) = value.get("error").filter(|error| !error.is_null()) {
        return Said::Refused { why: error["message"].as_str().unwrap_or("no reason given").to_owned() };
    }
    if let Some(id) = value["id"].as_u64() {
        return Said::Done(id);
    }
    let event = &value["result"]["data"]["data"];
    // C# clients accept both names of the key; so do we.
    let kind = event["EventType"].as_str().or_else(|| event["EventTyp"].as_str());
    match (kind, event["AllocationID"].as_str()) {
        (Some("AllocateEventType"), Some(id)) => Said::Allocated(id.to_owned()),
        (Some("DeallocateEventType"), Some(id)) => Said::Deallocated(id.to_owned()),
        (Some(_) | None, Some(_) | None) => Said::Other,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Reference multiplay.md 2.3, the observed exchange.
    #[test]
    fn the_recorded_exchange_is_written_and_read() {
        assert_eq!(connect(1), r#"{"id":1,"params":{"name":"mainstay-sdk"}}"#);
        assert_eq!(subscribe(2, 123), r#"{"id":2,"method":1,"params":{"channel":"server#123"}}"#);
        assert_eq!(ping(3), r#"{"id":3,"method":7}"#);
        assert_eq!(read(r#"{"id":1,"result":{"client":"x","version":"y"}}"#).unwrap(), [Said::Done(1)]);
        let event = r#"{"result":{"channel":"server#123","data":{"data":{"EventType":"AllocateEventType","EventID":"e","ServerID":123,"AllocationID":"a"}}}}"#;
        assert_eq!(read(event).unwrap(), [Said::Allocated("a".to_owned())]);
        let ended = event.replace("Allocate", "Deallocate").replace("DeallocateID", "AllocationID");
        assert_eq!(read(&ended).unwrap()[0], Said::Deallocated("a".to_owned()));
        let both = format!("{{\"id\":2,\"result\":{{}}}}\n{event}");
        assert_eq!(read(&both).unwrap(), [Said::Done(2), Said::Allocated("a".to_owned())]);
        let no = r#"{"id":2,"error":{"code":103,"message":"permission denied"},"result":{}}"#;
        assert_eq!(read(no).unwrap(), [Said::Refused { why: "permission denied".to_owned() }]);
    }

    proptest! {
        #[test]
        fn whatever_is_said_is_read_or_refused(text in ".{0,200}") {
            let _said_or_error = read(&text);
        }

        #[test]
        fn any_json_is_something_said(id in any::<Option<u64>>(), kind in ".{0,12}", allocation in ".{0,12}") {
            let text = json!({"id": id, "result": {"data": {"data": {"EventType": kind, "AllocationID": allocation}}}});
            prop_assert_eq!(read(&text.to_string()).unwrap().len(), 1);
        }
    }
}
