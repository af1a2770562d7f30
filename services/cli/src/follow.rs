//! What becomes of one thing: told by its stream of events, so that nobody polls; looked at again and again where that cannot be had, as from an
//! instance that knows no such stream or tells too many already.

use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::client::Client;
use crate::events::{Events, Heard};
use crate::failure::Failure;

/// How often it is looked at without a stream, and how long after one broke off.
const LOOK_AGAIN: Duration = Duration::from_millis(250);

/// One thing that is followed.
pub struct Follow<'a> {
    client: &'a Client,
    path: String,
    stream: Stream,
}

/// How it is told.
enum Stream {
    /// It is not asked for yet.
    Unasked,
    /// By events.
    Open(Events),
    /// Not at all.
    Refused,
}

impl<'a> Follow<'a> {
    /// What is at this path, whose events are below it.
    pub const fn of(client: &'a Client, path: String) -> Self {
        Self { client, path, stream: Stream::Unasked }
    }

    /// How it is now.
    ///
    /// # Errors
    /// As for any call; [`Exit::Gone`](crate::failure::Exit::Gone) and the like where it is over.
    pub fn now(&self) -> Result<Value, Failure> {
        self.client.get(&self.path)
    }

    /// How it is, where that is told within so long: at once the first time.
    ///
    /// # Errors
    /// As [`Self::now`].
    pub fn next(&mut self, within: Duration) -> Result<Option<Value>, Failure> {
        if matches!(self.stream, Stream::Unasked) {
            let events = self.client.events(&format!("{}/events", self.path));
            self.stream = events.map_or(Stream::Refused, Stream::Open);
        }
        match &mut self.stream {
            Stream::Open(events) => match events.next(within) {
                // The last one of a session says that it ended, and not how it is.
                Heard::Event(data) if data.get("why").is_some() => self.now().map(Some),
                Heard::Event(data) => Ok(Some(data)),
                Heard::Nothing => Ok(None),
                Heard::Over => {
                    self.stream = Stream::Unasked;
                    self.looked(within)
                }
            },
            Stream::Unasked | Stream::Refused => self.looked(within),
        }
    }

    fn looked(&self, within: Duration) -> Result<Option<Value>, Failure> {
        thread::sleep(LOOK_AGAIN.min(within));
        self.now().map(Some)
    }
}
