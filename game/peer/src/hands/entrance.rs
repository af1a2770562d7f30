//! How this peer comes into a session: it founds one, or dials who may know it and asks to be let in.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use mainstay_core::Timestamp;
use mainstay_migration::{
    Admission, Arbiter, Config, Forged, Input, Joined, Joining, PeerId, Session, SessionId, Support,
};
use mainstay_wire::peer::Card;

use super::Hands;
use super::command::{Entrance, Seated, Under};
use super::links::named;
use super::place::{Life, Outside, Place};
use crate::SeatError;
use crate::key::{SessionKeys, Whom};
use crate::lobby::{Entered, Line};
use crate::mailbox::Mail;
use crate::seat::{Doors, Event, Over, SessionOptions};
use crate::service::Service;

/// How long a joiner dials before it gives up: as long as it then asks.
pub(super) const SEEK_MAX: Duration = Duration::from_secs(15);
/// How often it dials the same door again.
pub(super) const SEEK_AGAIN: Duration = Duration::from_secs(1);
/// How many members somebody who wants in asks, the host first: each of them knows who is host, and each try takes a moment.
const ASKED_MAX: usize = 8;

impl Hands {
    /// A peer has one place in a session at most: what comes over a link is for that.
    pub(super) fn may_sit(&self, session: SessionId) -> Result<(), SeatError> {
        if self.places.contains_key(&session) { Err(SeatError::Seated { session }) } else { Ok(()) }
    }

    pub(super) fn sit(&mut self, now: Timestamp, options: &SessionOptions, seated: Seated, by: Entrance) {
        let (under, doors, cards) = match by {
            Entrance::Founds(under) => return self.found(now, options, seated, under),
            Entrance::Doors(doors) => (Under::Nobody, doors, Vec::new()),
            Entrance::Members(members) => {
                let cards = members.into_iter().map(|peer| Card { peer, addresses: Vec::new() });
                (Under::Nobody, Doors::new(), cards.take(ASKED_MAX).collect())
            }
            Entrance::Lan(voice, doors) => (Under::Lan(voice), doors, Vec::new()),
            Entrance::Lobby(entered) => {
                let cards = entered.members.iter().take(ASKED_MAX).cloned().collect();
                (Under::Lobby(entered), Doors::new(), cards)
            }
        };
        let config = self.config(options, &under);
        let life = if cards.is_empty() {
            Life::Seeks { doors, until: now + SEEK_MAX, dialed: None }
        } else {
            cards.iter().for_each(|card: &Card| self.reach.learn(card));
            let asked = cards.iter().map(|card| card.peer).collect();
            Life::Joins(Box::new(Joining::new(now, config.clone(), asked)))
        };
        let outside = self.outside(under);
        self.places.insert(options.session, Place::new(config, seated, outside, life));
    }

    fn found(&mut self, now: Timestamp, options: &SessionOptions, seated: Seated, under: Under) {
        let config = self.config(options, &under);
        let founded = match &under {
            Under::Nobody | Under::Lan(_) => Ok(Session::found(now, config.clone())),
            Under::Lobby(entered) => match &entered.certificate {
                Some(certificate) => Session::found_certified(now, config.clone(), certificate),
                None => Err(Forged::Arbiter),
            },
        };
        let outside = self.outside(under);
        match founded {
            Ok(session) => {
                let place = Place::new(config, seated, outside, Life::In(Box::new(session)));
                self.places.insert(options.session, place);
                self.settle_in(options.session);
            }
            Err(why) => {
                let _hung = seated.mailbox.put(Mail::Event(Event::Over(Over::Forged(why))));
            }
        }
    }

    /// Who is told of this seat. Without a thread that asks the lobby no question is answered, and the session does what it does
    /// without its lobby.
    pub(super) fn outside(&mut self, under: Under) -> Outside {
        let entered = match under {
            Under::Nobody => return Outside::Nobody,
            Under::Lan(voice) => return Outside::Lan(voice),
            Under::Lobby(entered) => entered,
        };
        let Entered { session, lobby, berth, .. } = *entered;
        let moored = berth.map(|berth| self.quic.hailer().enter(named(session), berth));
        match Line::start(session, Box::new(lobby), self.brought.clone(), self.clock) {
            Ok((line, thread)) => {
                self.lines.retain(|thread| !thread.is_finished());
                self.lines.push(thread);
                Outside::Lobby { line: Some(line), moored }
            }
            Err(error) => {
                tracing::error!(%session, %error, "no thread for what is to be asked of the lobby");
                Outside::Lobby { line: None, moored }
            }
        }
    }

    /// Dials until somebody answers.
    pub(super) fn seek(&mut self, id: SessionId, now: Timestamp) {
        let Some(place) = self.places.get_mut(&id) else { return };
        let Life::Seeks { doors, until, dialed } = &mut place.life else { return };
        let known = self.reach.at(doors);
        if !known.is_empty() {
            place.life = Life::Joins(Box::new(Joining::new(now, place.config.clone(), known)));
            return self.wake(id, now);
        }
        if now >= *until {
            return self.not_let_in(id);
        }
        if dialed.is_none_or(|dialed| now >= dialed + SEEK_AGAIN) {
            *dialed = Some(now);
            let doors = doors.clone();
            doors.into_iter().for_each(|door| self.dial(door, Whom::Anybody));
        }
    }

    /// Whoever is there speaks otherwise than this peer does. Where that is so at all its doors, nobody will let it in.
    pub(super) fn find_foreign(&mut self, peer: Option<PeerId>, address: SocketAddr) {
        let mut shut = Vec::new();
        for (id, place) in &mut self.places {
            match &place.life {
                Life::Seeks { doors, .. } if doors.contains(&address) => {
                    place.foreign.insert(address);
                    if doors.iter().all(|door| place.foreign.contains(door)) {
                        shut.push(*id);
                    }
                }
                Life::Joins(joining) if peer.is_some_and(|peer| joining.asks().contains(&peer)) => {
                    place.foreign.insert(address);
                }
                Life::Seeks { .. } | Life::Joins(_) | Life::In(_) => {}
            }
        }
        shut.into_iter().for_each(|id| self.not_let_in(id));
    }

    /// Nobody who could let it in has answered, or not in words that it knows.
    fn not_let_in(&mut self, id: SessionId) {
        let is_foreign = self.places.get(&id).is_some_and(|place| !place.foreign.is_empty());
        self.over(id, if is_foreign { Over::OtherProtocol } else { Over::NoAnswer });
    }

    pub(super) fn joined(&mut self, id: SessionId, joined: Joined) {
        match joined {
            Joined::NotYet(outputs) => outputs.into_iter().for_each(|output| self.act(id, output)),
            Joined::In(session) => {
                let Some(place) = self.places.get_mut(&id) else { return };
                place.life = Life::In(session);
                self.settle_in(id);
            }
            Joined::Refused(why) => self.over(id, Over::Refused(why)),
            Joined::NoAnswer => self.not_let_in(id),
            Joined::Forged(why) => self.over(id, Over::Forged(why)),
        }
    }

    pub(super) fn settle_in(&mut self, id: SessionId) {
        let Some(place) = self.places.get_mut(&id) else { return };
        if let Life::In(session) = &mut place.life {
            for (listener, (name, priority)) in &place.seated.listeners {
                // The seat refuses more than there is room for.
                let _room = session.add_listener(*listener, name, *priority);
            }
        }
        // It may have been set while this peer was on its way in.
        let flag = place.outside.service().map(|service| Input::OwnFlag(self.flags.get(service)));
        let early = flag.into_iter().chain(place.early.inputs(place.said.phase)).collect::<Vec<_>>();
        self.tell(id, Event::Entered);
        early.into_iter().for_each(|input| self.give(id, input));
        self.give(id, Input::Wake);
    }

    pub(super) fn config(&self, options: &SessionOptions, under: &Under) -> Config {
        let support = match under {
            Under::Nobody => Support::Supported,
            Under::Lan(_) => self.flags.get(Service::Lan),
            Under::Lobby(_) => self.flags.get(Service::Online),
        };
        let (arbiter, lobby, admission) = match under {
            Under::Nobody | Under::Lan(_) => (Arbiter::Majority, None, None),
            Under::Lobby(entered) => {
                let (pass, as_of) = (entered.pass.clone(), entered.as_of);
                let admission = Admission { pass, as_of, at: self.now() };
                (Arbiter::Lobby, Some(entered.lobby_key), Some(admission))
            }
        };
        Config {
            me: self.me,
            session: options.session,
            arbiter,
            order: options.order,
            migratable: options.migratable,
            without_majority: options.without_majority,
            level: options.level,
            size: usize::try_from(options.size).unwrap_or(usize::MAX),
            support,
            admission,
            keys: Arc::new(SessionKeys { own: self.key.clone(), lobby }),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use quinn::crypto::rustls::QuicServerConfig;
    use quinn::{Endpoint, ServerConfig};

    use super::*;
    use crate::Peer;
    use crate::key::Key;

    /// Reference 6.2, "mixed protocol versions": a player whose game is older than its friends' is told so, and at once; not after fifteen
    /// seconds that nobody answers.
    #[test]
    fn who_speaks_another_version_is_not_waited_for() {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let tls = Key::new().unwrap().server(b"mainstay-peer/0").unwrap();
        let config = ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(tls).unwrap()));
        let door = {
            let _inside = runtime.enter();
            let endpoint = Endpoint::server(config, SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
            let door = endpoint.local_addr().unwrap();
            runtime.spawn(async move {
                while let Some(incoming) = endpoint.accept().await {
                    // They have no protocol in common.
                    let _refused = incoming.await;
                }
            });
            door
        };
        let peer = Peer::start(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
        let began = Instant::now();
        let mut seat = peer.join(SessionOptions::new(SessionId(1)), vec![door], Vec::new()).unwrap();
        let over = std::iter::from_fn(|| seat.next(Duration::from_secs(30)))
            .find_map(|event| if let Event::Over(over) = event { Some(over) } else { None });
        assert_eq!(over, Some(Over::OtherProtocol));
        assert!(began.elapsed() < SEEK_MAX, "it was told before it gave up");
    }
}
