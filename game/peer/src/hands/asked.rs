//! What a game asks for, done: commands of its seats, and what its host says, as far as the session's level lets it be told.

use std::time::Instant;

use bytes::Bytes;
use mainstay_migration::{Input, ListenerId, PeerId, Priority, SessionId, Stamp, StateId, Telling};
use mainstay_wire::peer::{Game, Packet, Word};

use super::Hands;
use super::command::{Command, SeatId};
use super::place::{Life, Place};
use super::uncarried::{NotCarried, Together};
use super::unsaid::{NotSaid, Saying};
use crate::link::Way;
use crate::lobby::{Errand, Listing};
use crate::seat::{Event, Shown, To};
use crate::service::Service;

impl Hands {
    pub(super) fn obey(&mut self, command: Command) {
        let now = self.now();
        match command {
            // Whoever asked may have gone.
            Command::MaySit { session, answer } => drop(answer.send(self.may_sit(session))),
            Command::Sit { options, seated, by, answer } => {
                let may_sit = self.may_sit(options.session);
                let sits = may_sit.is_ok();
                if answer.send(may_sit).is_ok() && sits {
                    self.sit(now, &options, seated, by);
                }
            }
            Command::Give { seat, .. }
            | Command::Write { seat, .. }
            | Command::Say { seat, .. }
            | Command::Listen { seat, .. }
            | Command::Unlisten { seat, .. }
            | Command::List { seat, .. }
                if !self.is_seated(seat) => {}
            Command::Give { seat: SeatId { session, .. }, input } => {
                if let Input::Suitable(can_be_host) = &input {
                    self.errand(session, Errand::Introduce(*can_be_host));
                } else if let Input::Kick(peer) = &input {
                    self.kick_online(session, *peer);
                } else if let Input::Phase(phase) = &input {
                    self.note_listing(session, Listing::Phase(*phase));
                }
                self.give(session, input);
            }
            Command::Write { seat, applied, input } => self.write(seat.session, applied, input),
            Command::Listen { seat, listener, name, priority } => {
                self.listen(seat.session, listener, name, priority);
            }
            Command::Unlisten { seat, listener } => self.unlisten(seat.session, listener),
            Command::List { seat, listing } => {
                if let Listing::Joining(joining) = listing {
                    self.give(seat.session, Input::Newcomers(joining.newcomers()));
                }
                // What others say is not heard there.
                if self.is_host(seat.session) {
                    self.note_listing(seat.session, listing);
                }
            }
            Command::Say { seat, to, way, bytes } => self.say(seat.session, to, way, bytes),
            Command::Look { seat, answer } => {
                let shown = if self.is_seated(seat) { self.look(seat.session) } else { None };
                drop(answer.send(shown));
            }
            Command::Flagged(service) => self.go_by_flag(service),
        }
    }

    /// Whether that place is not over: what is asked from one that is is of no use, and not for the place that came after it.
    fn is_seated(&self, seat: SeatId) -> bool {
        self.places.get(&seat.session).is_some_and(|place| place.seated.id == seat)
    }

    fn kick_online(&self, id: SessionId, peer: PeerId) {
        if let Some(Place { life: Life::In(session), .. }) = self.places.get(&id)
            && session.is_host()
        {
            self.errand(id, Errand::Kick { peer, epoch: session.stamp().epoch });
        }
    }

    pub(super) fn is_host(&self, id: SessionId) -> bool {
        matches!(self.places.get(&id), Some(Place { life: Life::In(session), .. }) if session.is_host())
    }

    fn note_listing(&mut self, id: SessionId, listing: Listing) {
        if let Some(place) = self.places.get_mut(&id) {
            place.said.note(listing);
        }
        self.list(id, &[listing]);
    }

    /// This peer may be certified (anew), also where its game hears nothing of it: what its lobby was told before was of an epoch that is
    /// over, or another host's, who may not have come to tell it. So with whom it threw out, be it before it was certified, or a host before it did:
    /// the lobby would let them in again.
    pub(super) fn keep_listed(&mut self, id: SessionId) {
        if let Some(Place { life: Life::In(session), listed, .. }) = self.places.get_mut(&id) {
            let reigns = session.is_host().then(|| session.stamp().epoch);
            if core::mem::replace(listed, reigns) != reigns {
                self.list_anew(id);
            }
        }
    }

    pub(super) fn list_anew(&self, id: SessionId) {
        let Some(place) = self.places.get(&id) else { return };
        self.list(id, &place.said.listings());
        if let Life::In(session) = &place.life {
            session.roster().kicked.iter().for_each(|peer| self.kick_online(id, *peer));
        }
    }

    /// What its host says of a session counts in its lobby.
    fn list(&self, id: SessionId, listings: &[Listing]) {
        if let Some(Place { life: Life::In(session), .. }) = self.places.get(&id)
            && session.is_host()
        {
            let epoch = session.stamp().epoch;
            listings.iter().for_each(|listing| self.errand(id, Errand::List { listing: *listing, epoch }));
        }
    }

    /// What is played counts as well: whoever is not in yet goes by it as soon as it is.
    fn go_by_flag(&mut self, service: Service) {
        let of_it = |place: &Place| place.outside.service() == Some(service);
        let those: Vec<SessionId> =
            self.places.iter().filter(|(_, place)| of_it(place)).map(|(id, _)| *id).collect();
        let support = self.flags.get(service);
        those.into_iter().for_each(|id| self.give(id, Input::OwnFlag(support)));
    }

    fn listen(&mut self, id: SessionId, listener: ListenerId, name: String, priority: Priority) {
        let Some(place) = self.places.get_mut(&id) else { return };
        if let Life::In(session) = &mut place.life {
            // The seat refuses more than there is room for.
            let _room = session.add_listener(listener, &name, priority);
        }
        place.seated.listeners.insert(listener, (name, priority));
    }

    fn unlisten(&mut self, id: SessionId, listener: ListenerId) {
        let Some(place) = self.places.get_mut(&id) else { return };
        place.seated.listeners.remove(&listener);
        if let Life::In(session) = &mut place.life {
            session.remove_listener(listener);
            // Somebody may have waited for nobody else.
            self.give(id, Input::Wake);
        }
    }

    fn say(&mut self, id: SessionId, to: To, way: Way, bytes: Vec<u8>) {
        let Some(Place { life: Life::In(session), unsaid, .. }) = self.places.get_mut(&id) else { return };
        // What may be lost on its way tells of nothing that must not be.
        let telling = match way {
            Way::Datagram => Telling::Standing,
            Way::Stream => Telling::Events,
        };
        let after = match to {
            To::Host => None,
            To::Members | To::Member(_) => session.waits_for(telling),
        };
        match after {
            Some(after) => unsaid.keep(Saying { after, to, way, bytes }),
            None => self.transmit(id, Saying { after: StateId::NONE, to, way, bytes }),
        }
    }

    /// What was not kept, the game hears: a few times a second, however much it says.
    pub(super) fn own_up(&mut self, now: Instant) {
        let refused = |(id, place): (&SessionId, &mut Place)| Some((*id, place.unsaid.take_refused()?));
        let refused: Vec<(SessionId, NotSaid)> = self.places.iter_mut().filter_map(refused).collect();
        for (id, why) in refused {
            tracing::warn!(session = %id, %why, "of what the game says");
            self.tell(id, Event::NotSaid(why));
        }
        let uncarried: Vec<(SessionId, Vec<NotCarried>)> =
            self.places.iter_mut().map(|(id, place)| (*id, place.uncarried.take(now))).collect();
        for (id, all) in uncarried.into_iter().filter(|(_, all)| !all.is_empty()) {
            tracing::warn!(session = %id, why = %Together(&all), "of what the game says");
            all.into_iter().for_each(|why| self.tell(id, Event::NotCarried(why)));
        }
    }

    /// What was kept back, as far as what it waits for is held by now.
    pub(super) fn say_what_is_held(&mut self, id: SessionId) {
        while let Some(Place { life: Life::In(session), unsaid, .. }) = self.places.get_mut(&id) {
            if !session.is_host() {
                return unsaid.forget();
            }
            let Some(saying) = unsaid.next(|state| session.may_tell(state)) else {
                return;
            };
            self.transmit(id, saying);
        }
    }

    fn transmit(&mut self, id: SessionId, saying: Saying) {
        let Some(Place { life: Life::In(session), .. }) = self.places.get(&id) else { return };
        let (leads, stamp) = (session.is_host(), session.stamp());
        // Its listeners may still hear a migration out.
        if session.is_over() {
            return;
        }
        match (saying.to, saying.way) {
            (To::Host, Way::Stream) => self.say_to_host(id, saying.bytes),
            (To::Host, Way::Datagram) if leads => {
                self.tell(id, Event::FromMember { peer: self.me, bytes: saying.bytes });
            }
            (To::Host, Way::Datagram) => self.send_game(id, stamp, &[session.leader()], saying),
            (To::Members | To::Member(_), _) if leads => self.transmit_as_host(id, stamp, saying),
            (To::Members | To::Member(_), _) => {}
        }
    }

    /// To its members, as the host of that stamp.
    pub(super) fn transmit_as_host(&mut self, id: SessionId, stamp: Stamp, saying: Saying) {
        let Some(Place { life: Life::In(session), .. }) = self.places.get(&id) else { return };
        let members: Vec<PeerId> = match saying.to {
            To::Host => return,
            To::Members => session.roster().members.keys().copied().filter(|peer| *peer != self.me).collect(),
            To::Member(peer) => vec![peer],
        };
        self.send_game(id, stamp, &members, saying);
    }

    fn send_game(&mut self, id: SessionId, stamp: Stamp, to: &[PeerId], saying: Saying) {
        let Some(place) = self.places.get_mut(&id) else { return };
        let rank = place.opening.rank(&saying);
        let Saying { way, bytes, .. } = saying;
        let packet = match way {
            Way::Datagram => Packet::Game(Game { session: id, stamp, bytes }),
            Way::Stream => Packet::Word(Word { session: id, stamp, number: 0, bytes }),
        };
        let bytes = Bytes::from(packet.encode());
        for peer in to {
            let sent = self.reach.send(*peer, bytes.clone(), way, rank);
            if let (Err(obstacle), Way::Stream) = (sent, way) {
                place.uncarried.note(*peer, obstacle);
            }
        }
    }

    fn look(&self, id: SessionId) -> Option<Shown> {
        let Some(Place { life: Life::In(session), handed_on, .. }) = self.places.get(&id) else {
            return None;
        };
        let members: Vec<_> =
            session.roster().members.iter().map(|(peer, channel)| (*peer, *channel)).collect();
        Some(Shown {
            role: session.role(),
            identification: session.identification(),
            leader: session.leader(),
            stamp: session.stamp(),
            standing: session.standing(),
            anticipated: session.anticipated(),
            holds: session.held().id().tick,
            handed_on: *handed_on,
            nat: self.mirror.reach().nat,
            relayed: members.iter().filter(|(peer, _)| self.reach.is_relayed(*peer)).count(),
            linked: members.iter().filter(|(peer, _)| self.reach.is_linked(*peer)).count(),
            voters: members.iter().filter(|(peer, _)| session.view().members.contains_key(peer)).count(),
            members,
            terms: session.terms(),
            actors: session.roster().actors.clone(),
            hints: session.shown_hints(),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};
    use std::net::SocketAddr;
    use std::sync::Arc;
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::time::Duration;

    use mainstay_migration::{
        Arbiter, CanBeHost, Certificate, Config, Epoch, GamePhase, Grant, Keys, Pass, Proof, Question,
        Receipt, Ruling, Session, Signature,
    };
    use tokio::sync::mpsc;

    use super::*;
    use crate::hands::command::{Seated, Under};
    use crate::hands::place::Outside;
    use crate::key::Key;
    use crate::link::ARRIVALS_MAX;
    use crate::lobby::{Done, Heeded, Joining, Line, Lobby, News};
    use crate::mailbox::Mailbox;
    use crate::quic::Quic;
    use crate::seat::SessionOptions;

    /// Keys that nobody is asked for: whatever is shown is good.
    #[derive(Debug)]
    struct Trusting;

    impl Keys for Trusting {
        fn sign(&self, _: &[u8]) -> Signature {
            Signature::default()
        }
        fn is_by(&self, _: PeerId, _: &[u8], _: &Signature) -> bool {
            true
        }
        fn is_of_lobby(&self, _: &Grant, _: &Signature) -> bool {
            true
        }
        fn is_pass(&self, _: SessionId, _: PeerId, _: &Pass) -> bool {
            true
        }
        fn is_receipt(&self, _: SessionId, _: Epoch, _: &Receipt) -> bool {
            true
        }
    }

    /// A lobby that only takes down what its host says of the session.
    #[derive(Debug)]
    struct Notes(Sender<String>);

    impl Notes {
        fn note(&self, errand: Errand) -> Heeded {
            self.0.send(format!("{errand:?}")).unwrap();
            Heeded::Yes
        }
    }

    impl Lobby for Notes {
        fn ask(&mut self, _: &Question) -> Option<Ruling> {
            None
        }
        fn renew(&mut self) -> Option<Ruling> {
            None
        }
        fn news(&mut self) -> Vec<News> {
            Vec::new()
        }
        fn introduce(&mut self, _: CanBeHost) -> Done {
            Done::Yes
        }
        fn seen_as(&mut self, _: SocketAddr) -> Done {
            Done::Yes
        }
        fn kick(&mut self, peer: PeerId, epoch: Epoch) -> Heeded {
            self.note(Errand::Kick { peer, epoch })
        }
        fn list(&mut self, listing: Listing, epoch: Epoch) -> Heeded {
            self.note(Errand::List { listing, epoch })
        }
        fn leave(&mut self) {}
    }

    /// Its game has given no state, so it is asked for none, and hears nothing. What its lobby was told of an epoch that is over it may have refused:
    /// so whom a host threw out before it was certified came back in. "A game that says nothing has begun": a lobby that makes a session as one whose
    /// players gather is told so.
    #[tokio::test]
    async fn a_host_that_is_certified_anew_says_its_listings_and_whom_it_threw_out_anew() {
        let key = Key::new().unwrap();
        let (arrivals_in, arrivals) = mpsc::channel(ARRIVALS_MAX);
        let (_commands_in, commands) = mpsc::channel(1);
        let quic = Quic::bind(SocketAddr::from(([127, 0, 0, 1], 0)), &key, arrivals_in).unwrap();
        let mut hands = Hands::new(key, (quic, None), Arc::default(), arrivals, commands);
        let options = SessionOptions::new(SessionId(1));
        let (id, me, now) = (options.session, hands.me, hands.now());
        let seat = SeatId::new(id);
        let (mailbox, listeners) = (Arc::new(Mailbox::default()), BTreeMap::new());
        let seated = Seated { id: seat, mailbox, listeners };
        let config = hands.config(&options, &Under::Nobody);
        let config = Config { arbiter: Arbiter::Lobby, keys: Arc::new(Trusting), ..config };
        let certified =
            |epoch| Certificate { epoch: Epoch(epoch), host: me, proof: Proof::Lobby(Signature::default()) };
        let session = Session::found_certified(now, config.clone(), &certified(1)).unwrap();
        let (noted, notes): (_, Receiver<String>) = channel();
        let (line, _thread) =
            Line::start(id, Box::new(Notes(noted)), hands.brought.clone(), hands.clock).unwrap();
        let outside = Outside::Lobby { line: Some(line), moored: None };
        hands.places.insert(id, Place::new(config, seated, outside, Life::In(Box::new(session))));
        hands.settle_in(id);

        let heard = || notes.recv_timeout(Duration::from_secs(10)).unwrap();
        let listing = Listing::Joining(Joining::Closed);
        let closed = |epoch| format!("{:?}", Errand::List { listing, epoch: Epoch(epoch) });
        let kicked = |epoch| format!("{:?}", Errand::Kick { peer: PeerId(7), epoch: Epoch(epoch) });
        let started = |epoch| {
            let listing = Listing::Phase(GamePhase::Started);
            format!("{:?}", Errand::List { listing, epoch: Epoch(epoch) })
        };
        assert_eq!(heard(), started(1));
        hands.obey(Command::List { seat, listing });
        assert_eq!(heard(), closed(1));
        hands.obey(Command::Give { seat, input: Input::Kick(PeerId(7)) });
        assert_eq!(heard(), kicked(1));
        hands.give(id, Input::Lobby { asked: now, ruling: Ruling::Host(certified(2)) });
        let anew = BTreeSet::from([started(2), closed(2), kicked(2)]);
        assert_eq!(BTreeSet::from([heard(), heard(), heard()]), anew);
    }
}
