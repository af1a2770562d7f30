//! What a hosted game says of its players so that its backfill is kept up, and what it is told: JSON from the game's SDK through its
//! local daemon and its agent's stream to the plane, and back.

use std::collections::BTreeSet;

use mainstay_core::TicketId;
use serde::{Deserialize, Serialize};

use super::matching::{MatchView, PlayerRequest, TicketView};

/// The longest of either, in bytes: a hundred players with 600 bytes of attributes each. A payload has half of it.
pub const KEPT_BYTES_MAX: usize = 64 * 1024;

/// A game as it stands: who plays, and how many are wanted besides.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GameStands {
    /// The queue its players came from.
    pub queue: String,
    /// Who plays, and who is on the way.
    pub players: Vec<PlayerRequest>,
    /// How many are wanted; 0: none.
    pub places: u32,
    /// The newest ticket of it whose match the game knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known: Option<TicketId>,
}

/// Whose attributes are told.
#[derive(Debug, Clone, Copy)]
enum Attributes {
    /// Everybody's.
    All,
    /// Those of a match once, with the match.
    Once,
    /// Of those who join, and not of those the game named.
    Joiners,
    /// Nobody's.
    None,
}

/// How its backfill stands.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BackfillStands {
    /// The ticket: open, or matched since the game last heard; absent where nobody is wanted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ticket: Option<TicketView>,
    /// The match it ended in: who plays from now on.
    #[serde(default, rename = "match", skip_serializing_if = "Option::is_none")]
    pub formed: Option<MatchView>,
}

impl BackfillStands {
    /// As JSON of at most [`KEPT_BYTES_MAX`] bytes, which leaves out as many attributes as it must, first those that the game knows;
    /// `None` where it is longer even without any.
    #[must_use]
    pub fn told(mut self) -> Option<String> {
        [Attributes::All, Attributes::Once, Attributes::Joiners, Attributes::None].into_iter().find_map(
            |whose| {
                self.leave(whose);
                let told = serde_json::to_string(&self).expect("a ticket and a match are plain data");
                (told.len() <= KEPT_BYTES_MAX).then_some(told)
            },
        )
    }

    /// Leaves these attributes, and no others.
    fn leave(&mut self, whose: Attributes) {
        let named = self.ticket.iter_mut().flat_map(|ticket| &mut ticket.players);
        let mut known = BTreeSet::new();
        for player in named {
            if !matches!(whose, Attributes::All) {
                player.attributes = None;
            }
            known.insert(player.player.as_str());
        }
        for player in self.formed.iter_mut().flat_map(|formed| &mut formed.players) {
            let told = match whose {
                Attributes::All | Attributes::Once => true,
                Attributes::Joiners => !known.contains(player.player.as_str()),
                Attributes::None => false,
            };
            if !told {
                player.attributes = None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use mainstay_core::MatchId;
    use serde_json::{Value, json};
    use uuid::Uuid;

    use super::*;
    use crate::native::PlayerOfTicket;

    fn player(name: &str, bytes: usize) -> PlayerOfTicket {
        let attributes = Some(json!({ "note": "x".repeat(bytes) }));
        PlayerOfTicket { player: name.to_owned(), team: Some("red".to_owned()), attributes }
    }

    /// A ticket of alice, matched with bob.
    fn stands(name: &str, alice: usize, bob: usize) -> BackfillStands {
        let players = vec![player(name, alice)];
        let id = Uuid::from_u128(1);
        let ticket = json!({ "id": id, "queue": "arena", "status": "Matched", "created": "2026-01-01T00:00:00Z",
            "givesUp": "2026-01-01T00:00:00Z", "players": players });
        let formed = json!({ "id": MatchId(id), "queue": "arena", "formed": "2026-01-01T00:00:00Z",
            "players": [player(name, alice), player("bob", bob)] });
        BackfillStands {
            ticket: Some(serde_json::from_value(ticket).unwrap()),
            formed: Some(serde_json::from_value(formed).unwrap()),
        }
    }

    /// Whose attributes are told: of alice with the ticket, with the match, and of bob.
    fn told(name: &str, alice: usize, bob: usize) -> Option<[bool; 3]> {
        let told = stands(name, alice, bob).told()?;
        assert!(told.len() <= KEPT_BYTES_MAX, "{}", told.len());
        let told: Value = serde_json::from_str(&told).unwrap();
        let has = |at: &str| told.pointer(at).is_some();
        assert!(has("/ticket/players/0/player") && has("/match/players/1/team"), "who plays is always told");
        Some(
            ["/ticket/players/0", "/match/players/0", "/match/players/1"]
                .map(|at| has(&format!("{at}/attributes"))),
        )
    }

    #[test]
    fn what_is_too_long_is_told_without_attributes_and_what_the_game_knows_goes_first() {
        let half = KEPT_BYTES_MAX / 2;
        assert_eq!(told("alice", 10, 10), Some([true; 3]));
        assert_eq!(told("alice", half, 10), Some([false, true, true]));
        assert_eq!(told("alice", half, half), Some([false, false, true]));
        assert_eq!(told("alice", 10, KEPT_BYTES_MAX), Some([false; 3]));
        assert_eq!(told(&"a".repeat(KEPT_BYTES_MAX), 10, 10), None);
    }

    /// The largest message there is fits, byte for byte.
    #[test]
    fn the_limit_is_the_length_that_is_let_in() {
        let empty = stands("alice", 0, 0).told().unwrap().len();
        let exact = stands("alice", 0, KEPT_BYTES_MAX - empty).told().unwrap();
        assert_eq!(exact.len(), KEPT_BYTES_MAX);
        assert_eq!(told("alice", 0, KEPT_BYTES_MAX - empty + 1), Some([false, true, true]));
    }
}
