//! The tickets of a demo: whatever way it ends, nobody goes on looking, and no server is kept.

use std::cell::RefCell;

use serde_json::{Value, json};

use super::play::{QUEUE, text};
use crate::client::Client;
use crate::failure::{Exit, Failure};

/// How long tickets wait, where even this program's end is not its own.
const GIVE_UP_AFTER_S: u64 = 60;

/// What was asked for, so that it can be taken back.
pub struct Tickets<'a> {
    client: &'a Client,
    /// The players, each with its ticket once that is known.
    asked: RefCell<Vec<(&'static str, Option<String>)>>,
}

/// A player's ticket.
pub struct Ticket {
    pub player: &'static str,
    pub path: String,
    pub id: String,
}

impl<'a> Tickets<'a> {
    pub const fn new(client: &'a Client) -> Self {
        Self { client, asked: RefCell::new(Vec::new()) }
    }

    /// A player looks for a match.
    pub fn make(&self, (player, skill): (&'static str, i32)) -> Result<Ticket, Failure> {
        // Of a demo that was killed.
        self.cancel(player)?;
        // Before it is asked: an answer that is lost may have made one.
        self.asked.borrow_mut().push((player, None));
        let players = [json!({ "player": player, "attributes": { "skill": skill } })];
        let body = json!({ "players": players, "giveUpAfterSeconds": GIVE_UP_AFTER_S });
        let made = self.client.post(&format!("{QUEUE}/tickets"), &body)?;
        let id = text(&made["id"]).to_owned();
        let path = format!("{QUEUE}/tickets/{id}");
        if let Some((_, known)) = self.asked.borrow_mut().last_mut() {
            *known = Some(path.clone());
        }
        Ok(Ticket { player, path, id })
    }

    /// Cancels what still waits, and gives back the servers of what was matched: all of it, whatever fails on the way. Tells
    /// which sessions are over.
    pub fn end(self) -> Result<Vec<String>, Failure> {
        let asked = self.asked.take();
        let canceled: Vec<Result<(), Failure>> =
            asked.iter().map(|(player, _)| self.cancel(player)).collect();
        let given: Vec<Result<Option<String>, Failure>> =
            asked.iter().filter_map(|(_, path)| Some(self.give_back(path.as_ref()?))).collect();
        canceled.into_iter().collect::<Result<(), Failure>>()?;
        let sessions: Vec<Option<String>> = given.into_iter().collect::<Result<_, Failure>>()?;
        Ok(sessions.into_iter().flatten().collect())
    }

    fn cancel(&self, player: &str) -> Result<(), Failure> {
        self.client.delete(&format!("{QUEUE}/tickets?player={player}")).map(drop)
    }

    fn give_back(&self, ticket: &str) -> Result<Option<String>, Failure> {
        let seen: Value = self.client.get(ticket)?;
        let Some(session) = seen["matchId"].as_str() else { return Ok(None) };
        match self.client.delete(&format!("/v1/allocations/{session}")) {
            Ok(_) => Ok(Some(session.to_owned())),
            // Of a match that a running game was filled by: its server is another match's.
            Err(failure) if failure.exit == Exit::NotFound => Ok(None),
            Err(failure) => Err(failure),
        }
    }
}
