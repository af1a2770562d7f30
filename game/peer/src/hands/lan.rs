//! Sessions on a LAN: their hosts announce them, and sides of one that hear each other come together.

use std::time::{Duration, Instant};

use mainstay_migration::{Identification, Input};

use super::Hands;
use super::place::{Life, Outside};
use crate::key::Whom;
use crate::lan::{FoundSession, Word};

/// How often the host of another side is dialed, of whom the LAN may remember more than there is.
const RIVAL_AGAIN: Duration = Duration::from_secs(5);

impl Hands {
    /// Whoever is host says so on its LAN; and where another side of its session does, the two are brought together.
    pub(super) fn speak_up(&mut self) {
        let mut found = Vec::new();
        for (id, place) in &mut self.places {
            let (Outside::Lan(voice), Life::In(session)) = (&mut place.outside, &place.life) else {
                continue;
            };
            if session.role() != Identification::Host {
                voice.hush();
                continue;
            }
            let (stamp, members) = (session.stamp(), session.roster().members.len());
            voice.say(Word { stamp, members, joining: session.newcomers().into(), terms: session.terms() });
            let rivals = voice.rivals().into_iter();
            found.extend(
                rivals.filter(|it| !session.roster().members.contains_key(&it.host)).map(|it| (*id, it)),
            );
        }
        for (id, FoundSession { host, doors, .. }) in found {
            if self.reach.is_linked(host) {
                self.give(id, Input::Found(host));
            } else if self.sought.get(&host).is_none_or(|sought| sought.elapsed() >= RIVAL_AGAIN) {
                self.sought.insert(host, Instant::now());
                doors.iter().for_each(|door| self.dial(*door, Whom::Peer(host)));
            }
        }
        self.sought.retain(|_, sought| sought.elapsed() < RIVAL_AGAIN);
    }
}
