//! Sessions on a LAN: their hosts announce them, and sides of one that hear each other come together.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use mainstay_migration::{Identification, Input, Terms};
use mainstay_wire::peer::Card;

use super::Hands;
use super::place::{Life, Outside, Place};
use crate::key::Whom;
use crate::lan::{FoundSession, Word};
use crate::seat::Doors;

/// How often the host of another side is dialed, of whom the LAN may remember more than there is.
const RIVAL_AGAIN: Duration = Duration::from_secs(5);

/// How many addresses whoever seeks a session dials: the LAN may remember hosts that it had.
const DOORS_MAX: usize = 32;

/// Where else the session may be found.
fn learn(doors: &mut Doors, door: SocketAddr) {
    if doors.len() < DOORS_MAX && !doors.contains(&door) {
        doors.push(door);
    }
}

impl Hands {
    /// Whoever is host says so on its LAN; and where another side of its session does, the two are brought together.
    pub(super) fn speak_up(&mut self) {
        let (mut found, mut hosts) = (Vec::new(), Vec::new());
        for (id, place) in &mut self.places {
            let Outside::Lan(voice) = &mut place.outside else { continue };
            let session = match &mut place.life {
                Life::In(session) => session,
                // Its host may go while it is on its way in: whoever says that it is host by now is asked, too.
                Life::Seeks { doors, .. } => {
                    let new = voice.rivals().into_iter().flat_map(|it| it.doors);
                    new.for_each(|door| learn(doors, door));
                    continue;
                }
                Life::Joins(_) => {
                    hosts.extend(voice.rivals().into_iter().map(|it| (*id, it)));
                    continue;
                }
            };
            if session.role() != Identification::Host {
                voice.hush();
                continue;
            }
            let (stamp, members) = (session.stamp(), session.roster().members.len());
            let (joining, terms) = (session.newcomers().into(), session.terms());
            let migratable = session.roster().support.of(terms.migratable);
            voice.say(Word { stamp, members, joining, terms: Terms { migratable, ..terms } });
            let rivals = voice.rivals().into_iter();
            found.extend(
                rivals.filter(|it| !session.roster().members.contains_key(&it.host)).map(|it| (*id, it)),
            );
        }
        for (id, FoundSession { host, doors, .. }) in hosts {
            self.reach.learn(&Card { peer: host, addresses: doors });
            let now = self.now();
            if let Some(Place { life: Life::Joins(joining), .. }) = self.places.get_mut(&id) {
                let joined = joining.find(now, host);
                self.joined(id, joined);
            }
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
