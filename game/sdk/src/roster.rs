//! Who plays a session and who is on the way: what backfill is kept in step with. Pure: time is a parameter.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use serde_json::{Value, json};

use crate::error::Error;

/// A player of a session, as its match brought it.
#[derive(Debug, Clone, PartialEq)]
pub struct Joiner {
    /// Its id: `type!id` where it is another entity than a player.
    pub player: String,
    /// The team it is on.
    pub team: Option<String>,
    /// What the queue's rules read of it.
    pub attributes: Value,
}

/// How many play when nobody is missing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum BackfillSize {
    /// As many as the session's match had, on each team and in all.
    #[default]
    AsMatched,
    /// So many, whatever the match had: where a queue forms smaller matches than the game has room for. Of what the queue does not let into
    /// a match (`MaxMatchSize`, `MaxTeamSize`) nobody comes.
    Of {
        /// In all.
        players: usize,
        /// On each team, for players who come back; one that is not named here as the match had it.
        teams: BTreeMap<String, usize>,
    },
}

/// The most players that are remembered after they left: a full match of the largest size, three times over.
const GONE_MAX: usize = 300;

/// The players of a session.
#[derive(Debug)]
pub(crate) struct Roster {
    queue: String,
    /// How many play when nobody is missing.
    size: usize,
    /// How many of them on each team.
    teams: BTreeMap<String, usize>,
    seats: BTreeMap<String, Seat>,
    /// Who left, or was told to play and is not here, the latest last: what their matches said of them, in case they come back.
    gone: VecDeque<Joiner>,
    /// The newest ticket whose match is known.
    known: Option<String>,
}

#[derive(Debug)]
struct Seat {
    joiner: Joiner,
    presence: Presence,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Presence {
    /// Matched, and not here yet.
    Expected {
        /// Since this moment of the asking thread's clock.
        since: Duration,
    },
    Here,
}

impl Seat {
    /// What a match says of a player that plays already fills in what was not known.
    fn learn(&mut self, told: Joiner) {
        if self.joiner.team.is_none() {
            self.joiner.team = told.team;
        }
        if self.joiner.attributes.is_null() {
            self.joiner.attributes = told.attributes;
        }
    }
}

impl Roster {
    /// From the payload of a session that a match was placed on: PlayFab's answer to `GetMatch`, with the queue's name.
    pub(crate) fn of_payload(payload: &str, size: &BackfillSize, now: Duration) -> Result<Self, Error> {
        let senseless =
            || Error::Senseless("the payload names no queue: no match was placed here".to_owned());
        let read: Value = serde_json::from_str(payload).map_err(|_| senseless())?;
        let queue = read["QueueName"].as_str().ok_or_else(senseless)?.to_owned();
        if read["AttributesTold"] == "None" {
            // Told without, they would be matched with anybody.
            return Err(Error::AttributesLeftOut);
        }
        let members = read["Members"].as_array().map(Vec::as_slice).unwrap_or_default();
        let mut roster = Self {
            queue,
            size: members.len(),
            teams: BTreeMap::new(),
            seats: BTreeMap::new(),
            gone: VecDeque::new(),
            known: None,
        };
        for member in members {
            let (kind, id) = (member["Entity"]["Type"].as_str(), member["Entity"]["Id"].as_str());
            let player = match (kind, id) {
                (Some("title_player_account"), Some(id)) => id.to_owned(),
                (Some(kind), Some(id)) => format!("{kind}!{id}"),
                (_, None) | (None, _) => return Err(senseless()),
            };
            let team = member["TeamId"].as_str().map(str::to_owned);
            if let Some(team) = &team {
                *roster.teams.entry(team.clone()).or_default() += 1;
            }
            let attributes = member["Attributes"]["DataObject"].clone();
            roster.expect(Joiner { player, team, attributes }, now);
        }
        match size {
            BackfillSize::AsMatched => {}
            BackfillSize::Of { players, teams } => {
                roster.size = *players;
                roster.teams.extend(teams.iter().map(|(team, size)| (team.clone(), *size)));
            }
        }
        Ok(roster)
    }

    /// A player was matched. It may be here before this is heard.
    fn expect(&mut self, joiner: Joiner, now: Duration) {
        let presence =
            self.seats.get(&joiner.player).map_or(Presence::Expected { since: now }, |it| it.presence);
        self.seats.insert(joiner.player.clone(), Seat { joiner, presence });
    }

    /// A player is here: on the way, or back. One that comes back is on its team again, where that has a place; one that nobody
    /// announced plays without a team.
    pub(crate) fn joined(&mut self, player: &str) {
        if let Some(seat) = self.seats.get_mut(player) {
            seat.presence = Presence::Here;
            return;
        }
        let back =
            self.gone.iter().position(|gone| gone.player == player).and_then(|at| self.gone.remove(at));
        let mut joiner =
            back.unwrap_or_else(|| Joiner { player: player.to_owned(), team: None, attributes: Value::Null });
        joiner.team = joiner.team.filter(|team| self.has_place(team));
        self.seats.insert(player.to_owned(), Seat { joiner, presence: Presence::Here });
    }

    fn has_place(&self, team: &str) -> bool {
        let on_it = self.seats.values().filter(|seat| seat.joiner.team.as_deref() == Some(team)).count();
        self.teams.get(team).is_some_and(|size| on_it < *size)
    }

    /// A player is gone.
    pub(crate) fn left(&mut self, player: &str) {
        if let Some(seat) = self.seats.remove(player) {
            self.remember(seat.joiner);
        }
    }

    fn remember(&mut self, joiner: Joiner) {
        self.gone.retain(|gone| gone.player != joiner.player);
        if self.gone.len() == GONE_MAX {
            self.gone.pop_front();
        }
        self.gone.push_back(joiner);
    }

    /// Who has not come for so long comes no more.
    pub(crate) fn give_up(&mut self, now: Duration, after: Duration) {
        let is_late = |seat: &Seat| match seat.presence {
            Presence::Here => false,
            Presence::Expected { since } => now.saturating_sub(since) >= after,
        };
        let late = self.seats.iter().filter(|(_, seat)| is_late(seat));
        let late: Vec<String> = late.map(|(player, _)| player.clone()).collect();
        late.iter().for_each(|player| self.left(player));
    }

    /// How many players are missing.
    pub(crate) fn missing(&self) -> usize {
        self.size.saturating_sub(self.seats.len())
    }

    /// Whether somebody is on the way.
    pub(crate) fn expects(&self) -> bool {
        self.seats.values().any(|seat| seat.presence != Presence::Here)
    }

    /// What the daemon is told.
    pub(crate) fn told(&self) -> String {
        let player = |seat: &Seat| {
            let Joiner { player, team, attributes } = &seat.joiner;
            let mut told = json!({ "player": player });
            if let Some(team) = team {
                told["team"] = json!(team);
            }
            if !attributes.is_null() {
                told["attributes"] = attributes.clone();
            }
            told
        };
        let players: Vec<Value> = self.seats.values().map(player).collect();
        let mut told = json!({ "queue": self.queue, "players": players, "places": self.missing() });
        if let Some(known) = &self.known {
            told["known"] = json!(known);
        }
        told.to_string()
    }

    /// Takes what the daemon answered.
    pub(crate) fn take(&mut self, answer: &str, now: Duration) -> Result<Stands, Error> {
        let senseless = || Error::Senseless(answer.chars().take(200).collect());
        let read: Value = serde_json::from_str(answer).map_err(|_| senseless())?;
        let Some(ticket) = read.get("ticket").filter(|ticket| !ticket.is_null()) else {
            return Ok(Stands::Closed);
        };
        let id = ticket["id"].as_str().ok_or_else(senseless)?;
        match ticket["status"].as_str() {
            Some("WaitingForMatch") => Ok(Stands::Searching { places: self.missing() }),
            Some("Matched") => {
                // Forgotten by now, where this took minutes: then they come by themselves.
                let players = read["match"]["players"].as_array().cloned().unwrap_or_default();
                let mut joiners = Vec::new();
                for told in players {
                    let player = told["player"].as_str().ok_or_else(senseless)?.to_owned();
                    let team = told["team"].as_str().map(str::to_owned);
                    let joiner = Joiner { player, team, attributes: told["attributes"].clone() };
                    if !was_told(ticket, &joiner.player) {
                        joiners.push(joiner.clone());
                        self.expect(joiner, now);
                    } else if let Some(seat) = self.seats.get_mut(&joiner.player) {
                        seat.learn(joiner);
                    } else if !self.gone.iter().any(|gone| gone.player == joiner.player) {
                        // A process before this one told of it, and its client may still come back.
                        self.remember(joiner);
                    }
                }
                self.known = Some(id.to_owned());
                Ok(Stands::Filled { joiners })
            }
            Some(_) => Ok(Stands::Closed),
            None => Err(senseless()),
        }
    }
}

/// Whether a player was told with the ticket: one that left since does not come back by its match.
fn was_told(ticket: &Value, player: &str) -> bool {
    let players = ticket["players"].as_array().map(Vec::as_slice).unwrap_or_default();
    players.iter().any(|told| told["player"].as_str() == Some(player))
}

/// How a session's backfill stands.
#[derive(Debug, Clone, PartialEq)]
pub enum Stands {
    /// Players are looked for.
    Searching {
        /// How many.
        places: usize,
    },
    /// These were found, and come.
    Filled {
        /// Who.
        joiners: Vec<Joiner>,
    },
    /// Nobody is looked for.
    Closed,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PAYLOAD: &str = r#"{"MatchId":"m","QueueName":"arena","Members":[
        {"Entity":{"Id":"alice","Type":"title_player_account"},"TeamId":"red","Attributes":{"DataObject":{"skill":3}}},
        {"Entity":{"Id":"bob","Type":"title_player_account"},"TeamId":"blue"}]}"#;

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn told(roster: &Roster) -> Value {
        serde_json::from_str(&roster.told()).unwrap()
    }

    /// "kept up from the players the server reports": who leaves is wanted, who was matched is expected, and nobody twice.
    #[test]
    fn who_leaves_is_missing_until_somebody_is_matched() {
        let mut roster = Roster::of_payload(PAYLOAD, &BackfillSize::AsMatched, at(0)).unwrap();
        assert_eq!((roster.missing(), roster.expects()), (0, true));
        roster.joined("alice");
        roster.joined("bob");
        assert!(!roster.expects());
        roster.left("bob");
        let expected = json!({ "queue": "arena", "places": 1,
            "players": [{ "player": "alice", "team": "red", "attributes": { "skill": 3 } }] });
        assert_eq!(told(&roster), expected);
        let searching = r#"{"ticket":{"id":"t1","status":"WaitingForMatch","players":[]}}"#;
        assert_eq!(roster.take(searching, at(1)).unwrap(), Stands::Searching { places: 1 });
        let filled = r#"{"ticket":{"id":"t1","status":"Matched","players":[{"player":"alice"}]},
            "match":{"players":[{"player":"alice","team":"red"},{"player":"carol","team":"blue","attributes":{"skill":4}}]}}"#;
        let Stands::Filled { joiners } = roster.take(filled, at(2)).unwrap() else { panic!() };
        assert_eq!(
            joiners.iter().map(|it| (&*it.player, it.team.as_deref())).collect::<Vec<_>>(),
            [("carol", Some("blue"))]
        );
        assert_eq!((roster.missing(), &told(&roster)["known"]), (0, &json!("t1")));
        // Carol never comes.
        roster.give_up(at(61), at(60));
        assert_eq!(roster.missing(), 0);
        roster.give_up(at(62), at(60));
        assert_eq!(roster.missing(), 1);
    }

    /// Who is faster than the word of the match gets its team by it, and is not looked for again.
    #[test]
    fn who_comes_before_its_match_is_heard_is_one_player() {
        let mut roster = Roster::of_payload(PAYLOAD, &BackfillSize::AsMatched, at(0)).unwrap();
        roster.left("bob");
        roster.joined("carol");
        let filled = r#"{"ticket":{"id":"t1","status":"Matched","players":[{"player":"alice"}]},
            "match":{"players":[{"player":"alice"},{"player":"carol","team":"blue"}]}}"#;
        let Stands::Filled { joiners } = roster.take(filled, at(2)).unwrap() else { panic!() };
        assert_eq!((joiners.len(), roster.missing()), (1, 0));
        assert_eq!(told(&roster)["players"][1], json!({ "player": "carol", "team": "blue" }));
        roster.give_up(at(500), at(60));
        assert!(told(&roster)["players"].as_array().unwrap().len() == 1, "alice never came, carol is here");
    }

    /// Who left while the match was formed is not brought back by it.
    #[test]
    fn a_match_brings_back_nobody_who_left() {
        let mut roster = Roster::of_payload(PAYLOAD, &BackfillSize::AsMatched, at(0)).unwrap();
        roster.left("alice");
        roster.left("bob");
        let filled = r#"{"ticket":{"id":"t1","status":"Matched","players":[{"player":"alice"}]},
            "match":{"players":[{"player":"alice"},{"player":"carol"}]}}"#;
        let Stands::Filled { joiners } = roster.take(filled, at(2)).unwrap() else { panic!() };
        assert_eq!(joiners.len(), 1);
        assert_eq!(roster.missing(), 1);
    }

    /// Who comes back is who left: the rules read the same of it, and its team is its own, unless another took its place meanwhile.
    #[test]
    fn who_reconnects_has_its_team_and_attributes_still() {
        let mut roster = Roster::of_payload(PAYLOAD, &BackfillSize::AsMatched, at(0)).unwrap();
        roster.joined("alice");
        roster.joined("bob");
        let before = told(&roster);
        roster.left("alice");
        roster.joined("alice");
        assert_eq!(told(&roster), before);
        // Its place was given to carol.
        roster.left("alice");
        let filled = r#"{"ticket":{"id":"t1","status":"Matched","players":[{"player":"bob"}]},
            "match":{"players":[{"player":"bob"},{"player":"carol","team":"red"}]}}"#;
        roster.take(filled, at(1)).unwrap();
        roster.joined("alice");
        assert_eq!(told(&roster)["players"][0], json!({ "player": "alice", "attributes": { "skill": 3 } }));
        // Who came too late for its place is known all the same.
        let mut roster = Roster::of_payload(PAYLOAD, &BackfillSize::AsMatched, at(0)).unwrap();
        roster.give_up(at(60), at(60));
        assert_eq!(roster.missing(), 2);
        roster.joined("alice");
        assert_eq!(told(&roster)["players"][0]["team"], "red");
    }

    /// A process that was started again learns from the newest match who had joined since its session began.
    #[test]
    fn a_restarted_game_knows_who_was_matched_into_it() {
        let mut roster = Roster::of_payload(PAYLOAD, &BackfillSize::AsMatched, at(0)).unwrap();
        roster.joined("carol");
        let filled = r#"{"ticket":{"id":"t2","status":"Matched","players":[{"player":"carol"},{"player":"dave"}]},
            "match":{"players":[{"player":"carol","team":"red","attributes":{"skill":4}},{"player":"dave","team":"blue"},{"player":"erin","team":"blue"}]}}"#;
        let Stands::Filled { joiners } = roster.take(filled, at(2)).unwrap() else { panic!() };
        assert_eq!(joiners.len(), 1, "erin alone is new");
        roster.left("alice");
        roster.left("bob");
        roster.left("erin");
        roster.joined("dave");
        let expected = json!([{ "player": "carol", "team": "red", "attributes": { "skill": 4 } }, { "player": "dave", "team": "blue" }]);
        assert_eq!(told(&roster)["players"], expected);
    }

    /// Issue 4: "every match satisfies every rule of its queue". Who is told without attributes is matched with anybody, where the rules
    /// let those be who have none.
    #[test]
    fn whose_attributes_did_not_fit_is_not_told_as_one_who_has_none() {
        let of = |told: &str| PAYLOAD.replacen('{', &format!(r#"{{"AttributesTold":"{told}","#), 1);
        for told in ["All", "Read"] {
            let roster = Roster::of_payload(&of(told), &BackfillSize::AsMatched, at(0)).unwrap();
            assert!(roster.expects(), "{told}");
        }
        let none = Roster::of_payload(&of("None"), &BackfillSize::AsMatched, at(0));
        assert!(matches!(none, Err(Error::AttributesLeftOut)));
    }

    /// A match that began with two goes on to six: whoever the game has room for is looked for, and who comes back finds its team.
    #[test]
    fn a_game_with_more_room_than_its_match_wants_more() {
        let teams = [("red", 3), ("blue", 3)].map(|(team, size)| (team.to_owned(), size)).into();
        let size = BackfillSize::Of { players: 6, teams };
        let mut roster = Roster::of_payload(PAYLOAD, &size, at(0)).unwrap();
        assert_eq!((roster.missing(), told(&roster)["places"].as_u64()), (4, Some(4)));
        roster.joined("alice");
        let filled = r#"{"ticket":{"id":"t1","status":"Matched","players":[{"player":"alice"},{"player":"bob"}]},
            "match":{"players":[{"player":"alice"},{"player":"bob"},{"player":"carol","team":"red"}]}}"#;
        roster.take(filled, at(1)).unwrap();
        assert_eq!(roster.missing(), 3);
        roster.left("alice");
        roster.joined("alice");
        assert_eq!(told(&roster)["players"][0]["team"], "red", "two of three are on it");
        // Fewer than the match had: nobody is wanted, and nobody sent away.
        let size = BackfillSize::Of { players: 1, teams: BTreeMap::new() };
        assert_eq!(Roster::of_payload(PAYLOAD, &size, at(0)).unwrap().missing(), 0);
    }

    #[test]
    fn who_is_remembered_is_bounded() {
        let mut roster = Roster::of_payload(PAYLOAD, &BackfillSize::AsMatched, at(0)).unwrap();
        for n in 0..2 * GONE_MAX {
            roster.joined(&n.to_string());
            roster.left(&n.to_string());
        }
        assert_eq!(roster.gone.len(), GONE_MAX);
    }

    proptest! {
        #[test]
        fn whatever_is_told_is_read_or_refused(text in ".{0,200}") {
            let _roster_or_error = Roster::of_payload(&text, &BackfillSize::AsMatched, at(0));
            let _stands_or_error = Roster::of_payload(PAYLOAD, &BackfillSize::AsMatched, at(0)).unwrap().take(&text, at(1));
        }
    }
}
