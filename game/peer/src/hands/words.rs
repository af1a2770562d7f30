//! What games say to their session's host over [`Way::Stream`]: it comes to whoever that is once, also where the session is given to another meanwhile
//! ([`mainstay_migration::Speech`], [`mainstay_migration::Audience`]).

use bytes::Bytes;
use mainstay_migration::{
    Audience, Cause, Ear, Given, Hearing, PeerId, Said, Session, SessionId, Speech, Stamp,
};
use mainstay_wire::peer::{Packet, Word};

use super::Hands;
use super::place::{Life, Place};
use crate::link::{Load, Obstacle, Rank, Way};
use crate::mailbox::Mail;

/// How this peer hears what is said to it as the host of that stamp.
fn ear(session: &Session, audience: &Audience, stamp: Stamp) -> Ear {
    if session.is_host() {
        if audience.is_open() && !session.hands_over() { Ear::Opens } else { Ear::Waits }
    } else if stamp > session.stamp() {
        Ear::Waits
    } else {
        Ear::Shut
    }
}

/// Whether there is a host that goes on hearing what is said to it.
fn hears(session: &Session, speech: &Speech) -> bool {
    (session.has_host() || session.is_host()) && !speech.is_over(session.leader(), session.stamp())
}

impl Hands {
    /// Its game says that to the session's host, which may be this peer, and may be so without its game knowing yet.
    pub(super) fn say_to_host(&mut self, id: SessionId, bytes: Vec<u8>) {
        let now = self.now();
        let Some(Place { life: Life::In(session), speech, uncarried, .. }) = self.places.get_mut(&id) else {
            return;
        };
        let (host, stamp) = (session.leader(), session.stamp());
        if !hears(session, speech) {
            if let Err((messages, bytes)) = speech.wait(bytes) {
                uncarried.note(host, Obstacle::Full(Load { messages, bytes }));
            }
            return;
        }
        let number = speech.say(now, host, stamp, bytes.clone());
        if host == self.me {
            return self.hear_word(Said { from: host, stamp, number, bytes }, id);
        }
        let packet = Packet::Word(Word { session: id, stamp, number, bytes });
        if let Err(obstacle) = self.reach.send(host, Bytes::from(packet.encode()), Way::Stream, Rank::Game) {
            speech.unsay(number);
            uncarried.note(host, obstacle);
        }
    }

    /// What waited for a host, or for this peer to be none any more.
    pub(super) fn pass_words(&mut self, id: SessionId) {
        let Some(Place { life: Life::In(session), speech, audience, .. }) = self.places.get_mut(&id) else {
            return;
        };
        let held = audience.take_held();
        let waiting = if hears(session, speech) { speech.take_waiting() } else { Vec::new() };
        for said in held {
            self.hear_word(said, id);
        }
        for bytes in waiting {
            self.say_to_host(id, bytes);
        }
    }

    /// A member says something to this peer, which it takes for its host.
    pub(super) fn hear_word(&mut self, said: Said, id: SessionId) {
        let Some(Place { life: Life::In(session), audience, .. }) = self.places.get_mut(&id) else { return };
        if !session.roster().members.contains_key(&said.from) {
            return;
        }
        let (from, stamp) = (said.from, said.stamp);
        match audience.hear(ear(session, audience, stamp), said) {
            Hearing::Give(said) => self.mail(id, Mail::Word(said)),
            Hearing::Known => {}
            Hearing::Tell => {
                let given = audience.given(from);
                self.tell_what_was_given(id, from, stamp, &given);
            }
        }
    }

    fn tell_what_was_given(&mut self, session: SessionId, to: PeerId, stamp: Stamp, given: &Given) {
        if to == self.me {
            return self.hear_what_was_given(to, session, stamp, given);
        }
        let packet = Packet::Heard { session, stamp, given: *given };
        self.reach.send_or_lose(to, Bytes::from(packet.encode()), Way::Stream, Rank::Rules);
    }

    /// Whoever was this peer's host tells what its game was given.
    pub(super) fn hear_what_was_given(&mut self, from: PeerId, id: SessionId, stamp: Stamp, given: &Given) {
        if let Some(place) = self.places.get_mut(&id) {
            place.speech.learn(from, stamp, given);
            self.pass_words(id);
        }
    }

    /// As host: its game is given what its members say, or is not, for it has given its last state.
    pub(super) fn attend(&mut self, id: SessionId) {
        let Some(Place { life: Life::In(session), .. }) = self.places.get(&id) else { return };
        if session.hands_over() {
            self.hold_unread(id);
        } else if session.is_host() {
            self.pass_words(id);
        }
    }

    /// The host's game reads no more before it is known who is host: what it has not read it is not given.
    pub(super) fn hold_unread(&mut self, id: SessionId) {
        if let Some(Place { seated, audience, .. }) = self.places.get_mut(&id) {
            seated.mailbox.take_words().into_iter().for_each(|said| audience.put_back(said));
        }
    }

    /// This peer is host no more. What its game said as long as it was, and what waited only for a state that the next host goes on from, counts.
    pub(super) fn end_audience(&mut self, id: SessionId, stamp: Stamp, cause: Cause) {
        self.hold_unread(id);
        let Some(Place { life: Life::In(session), audience, .. }) = self.places.get_mut(&id) else { return };
        audience.end();
        audience.keep(session.roster());
        let given: Vec<(PeerId, Given)> =
            session.roster().members.keys().map(|peer| (*peer, audience.given(*peer))).collect();
        for (peer, given) in given {
            self.tell_what_was_given(id, peer, stamp, &given);
        }
        match cause {
            Cause::Lobby | Cause::Controlled => {
                while let Some(saying) =
                    self.places.get_mut(&id).and_then(|place| place.unsaid.next(|_| true))
                {
                    self.transmit_as_host(id, stamp, saying);
                }
            }
            Cause::Catastrophic | Cause::Fenced | Cause::Merge => {}
        }
    }
}
