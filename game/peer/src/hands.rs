//! The hands of one peer: the one task that owns its links and its sessions, feeds the rules what happened and does what
//! they ask for.
//!
//! - `command` is what a game asks for, `asked` how that is done, `place` what is known of one of its sessions;
//! - `ahead` is what a new host's game says before this peer obeys it;
//! - `unsaid` is what the session's level keeps back, `uncarried` what no link takes, `words` what members say to their host;
//! - `entrance` is how this peer comes into one; `links` whom it should have a link to, `lan` who is told on a LAN.

mod ahead;
mod asked;
mod command;
mod entrance;
mod lan;
mod links;
mod place;
mod uncarried;
mod unsaid;
mod words;

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use mainstay_core::Timestamp;
use mainstay_migration::{Body, End, Input, Message, Output, PeerId, Said, Session, SessionId, Stamp};
use mainstay_wire::peer::{Game, Packet, Word};
use tokio::sync::{mpsc, oneshot};

pub(crate) use command::{Answer, Command, Entrance, SeatId, Seated, Under};
use entrance::SEEK_AGAIN;
use place::{Life, Opening, Outside, Place};
pub use uncarried::NotCarried;
pub use unsaid::NotSaid;

use crate::clock::Clock;
use crate::dials::{Course, Dials};
use crate::key::{Key, Whom};
use crate::lan::Farewell;
use crate::link::{Arrival, Ending, Rank, Unreached, Way};
use crate::lobby::{Brought, Errand, Line, RULINGS_MAX, Told};
use crate::mailbox::{Mail, Room};
use crate::mirror::Mirror;
use crate::quic::Quic;
use crate::reach::{Left, Reach};
use crate::seat::{Event, Over};
use crate::service::Flags;
use crate::transport::Transport;

/// How often links are looked after: fresh members wait so long for theirs at most.
pub(crate) const TEND: Duration = Duration::from_millis(100);
/// How long nobody is woken where nothing is due.
const IDLE: Duration = Duration::from_secs(1);

/// What is left to be said when the hands rest.
#[derive(Debug)]
pub(crate) struct Leaving {
    lines: Vec<JoinHandle<()>>,
    farewells: Vec<Farewell>,
}

impl Leaving {
    /// Waits until lobbies and the LAN were told.
    pub(crate) fn wait(self) {
        self.farewells.iter().for_each(Farewell::wait);
        // Whoever panicked there has said so.
        self.lines.into_iter().for_each(|line| drop(line.join()));
    }
}

#[derive(Debug)]
pub(crate) struct Hands {
    me: PeerId,
    key: Key,
    clock: Clock,
    quic: Quic,
    /// The game's own.
    transport: Option<Box<dyn Transport>>,
    mirror: Mirror,
    flags: Arc<Flags>,
    arrivals: mpsc::Receiver<Arrival>,
    commands: mpsc::Receiver<Command>,
    /// What lobbies answer, and where their threads put it.
    rulings: mpsc::Receiver<Brought>,
    brought: mpsc::Sender<Brought>,
    lines: Vec<JoinHandle<()>>,
    farewells: Vec<Farewell>,
    reach: Reach,
    dials: Dials,
    /// Hosts of other sides that were dialed, and when.
    sought: BTreeMap<PeerId, Instant>,
    places: BTreeMap<SessionId, Place>,
    tend_at: Instant,
    strangers_at: Instant,
}

impl Hands {
    pub(crate) fn new(
        key: Key,
        (quic, transport): (Quic, Option<Box<dyn Transport>>),
        flags: Arc<Flags>,
        arrivals: mpsc::Receiver<Arrival>,
        commands: mpsc::Receiver<Command>,
    ) -> Self {
        let now = Instant::now();
        let me = key.peer;
        let (brought, rulings) = mpsc::channel(RULINGS_MAX);
        Self {
            me,
            key,
            clock: Clock::new(),
            mirror: quic.mirror().clone(),
            quic,
            transport,
            flags,
            arrivals,
            commands,
            rulings,
            brought,
            lines: Vec::new(),
            farewells: Vec::new(),
            reach: Reach::new(me),
            dials: Dials::default(),
            sought: BTreeMap::new(),
            places: BTreeMap::new(),
            tend_at: now,
            strangers_at: now,
        }
    }

    /// Works until its peer is gone.
    pub(crate) async fn run(mut self, mut gone: oneshot::Receiver<Infallible>) -> Leaving {
        loop {
            let wake = tokio::time::Instant::from_std(self.wake_at());
            tokio::select! {
                Some(arrival) = self.arrivals.recv() => self.arrive(arrival),
                Some(Brought { session, told }) = self.rulings.recv() => self.hear(session, told),
                Some(seen_as) = self.mirror.next() => self.seen_as(seen_as),
                Some(command) = self.commands.recv() => self.obey(command),
                _gone = &mut gone => break,
                () = tokio::time::sleep_until(wake) => {}
            }
            self.pass();
        }
        // A seat that another thread holds may go on asking.
        self.commands.close();
        while let Ok(command) = self.commands.try_recv() {
            self.obey(command);
        }
        let left: Vec<SessionId> = self.places.keys().copied().collect();
        for id in left {
            self.give(id, Input::Leave);
            self.over(id, Over::Ended(End::Left));
        }
        self.quic.close().await;
        Leaving { lines: self.lines, farewells: self.farewells }
    }

    fn hear(&mut self, id: SessionId, told: Told) {
        match told {
            Told::Rules(input) => self.give(id, *input),
            Told::Members(cards) => self.expect(id, &cards),
            Told::Relay(berth) => self.moor(id, berth),
            // What a host said that is one no more is the next one's to say.
            Told::NotListed(_) if !self.is_host(id) => {}
            Told::NotListed(why) => {
                tracing::warn!(session = %id, %why, "not listed");
                if self.places.get(&id).is_some_and(|place| !place.said.is_assumed(why.listing)) {
                    self.tell(id, Event::NotListed(why));
                }
            }
        }
    }

    fn now(&self) -> Timestamp {
        self.clock.now()
    }

    fn wake_at(&self) -> Instant {
        let deadlines = self.places.values().filter_map(|place| match &place.life {
            Life::Seeks { until, dialed, .. } => {
                Some(dialed.map_or(Timestamp::EPOCH, |dialed| dialed + SEEK_AGAIN).min(*until))
            }
            Life::Joins(joining) => Some(joining.next_deadline()),
            Life::In(session) => session.next_deadline(),
        });
        let due = deadlines.min().map(|due| self.clock.instant(due));
        let tend = if self.places.is_empty() { Instant::now() + IDLE } else { self.tend_at };
        due.map_or(tend, |due| due.min(tend))
    }

    /// Everything whose time has come.
    fn pass(&mut self) {
        let now = self.now();
        let due: Vec<SessionId> = self
            .places
            .iter()
            .filter(|(_, place)| match &place.life {
                Life::Seeks { .. } => true,
                Life::Joins(joining) => joining.next_deadline() <= now,
                Life::In(session) => session.next_deadline().is_none_or(|due| due <= now),
            })
            .map(|(session, _)| *session)
            .collect();
        for session in due {
            self.wake(session, now);
        }
        let instant = Instant::now();
        if instant >= self.tend_at {
            self.tend_at = instant + TEND;
            self.tend(instant);
            self.speak_up();
            self.own_up(instant);
        }
    }

    fn wake(&mut self, id: SessionId, now: Timestamp) {
        let Some(place) = self.places.get_mut(&id) else { return };
        match &mut place.life {
            Life::Seeks { .. } => self.seek(id, now),
            Life::Joins(joining) => {
                let joined = joining.wake(now);
                self.joined(id, joined);
            }
            Life::In(_) => self.give(id, Input::Wake),
        }
    }

    fn dial(&mut self, address: SocketAddr, whom: Whom) {
        let hung_up = self.dials.begin(whom, address);
        if let Err(error) = self.quic.dial(address, whom, hung_up) {
            tracing::warn!(%address, %error, "cannot dial");
        }
    }

    fn over(&mut self, id: SessionId, over: Over) {
        if let Some(Place { life: Life::In(session), .. }) = self.places.get(&id) {
            tracing::debug!(me = %self.me, session = %id, ?over, stood = session.shown(), "over");
        }
        // By the time that the game reads it, it can take a place in that session again.
        let mailbox = self.places.get(&id).map(|place| Arc::clone(&place.seated.mailbox));
        self.forget(id);
        if let Some(mailbox) = mailbox {
            mailbox.close(over);
        }
    }

    fn forget(&mut self, id: SessionId) {
        if let Some(Place { outside: Outside::Lan(voice), .. }) = self.places.remove(&id) {
            self.farewells.extend(voice.leave());
        }
    }

    /// Hands something to a session, and does what it then asks for.
    fn give(&mut self, id: SessionId, input: Input) {
        let now = self.now();
        let Some(place) = self.places.get_mut(&id) else { return };
        match &mut place.life {
            Life::In(session) => session.handle(now, input),
            Life::Seeks { .. } | Life::Joins(_) => return self.note(id, input),
        }
        self.drain(id);
    }

    /// What a game says before it is in counts as soon as it is.
    fn note(&mut self, id: SessionId, input: Input) {
        let Some(place) = self.places.get_mut(&id) else { return };
        match input {
            Input::Leave => self.over(id, Over::Ended(End::Left)),
            Input::Suitable(can_be_host) => place.early.can_be_host = Some(can_be_host),
            Input::Newcomers(newcomers) => place.early.newcomers = Some(newcomers),
            Input::Upstream(bps) => place.early.upstream_bps = Some(bps),
            Input::Set { name, value } => {
                if let Err(why) = place.early.settings.set(&name, &value) {
                    self.tell(id, Event::NotSet(why));
                }
            }
            // These are a member's or a host's, and it is neither.
            Input::Wake
            | Input::Message { .. }
            | Input::LinkLost(_)
            | Input::Linked(_)
            | Input::Found(_)
            | Input::Answered { .. }
            | Input::State(_)
            | Input::StateMissed
            // It is kept with the place.
            | Input::Phase(_)
            | Input::Play(_)
            | Input::Reachable { .. }
            | Input::Plays { .. }
            | Input::NoLongerNeeded(_)
            | Input::HandOver { .. }
            | Input::Kick(_)
            | Input::Lobby { .. }
            | Input::Admitted(_)
            | Input::Replaced(_)
            | Input::Supports(_)
            // It is looked up as soon as it is in.
            | Input::OwnFlag(_) => {}
        }
    }

    fn drain(&mut self, id: SessionId) {
        while let Some(Place { life: Life::In(session), .. }) = self.places.get_mut(&id) {
            let outputs = session.take_outputs();
            if outputs.is_empty() {
                break;
            }
            outputs.into_iter().for_each(|output| self.act(id, output));
        }
        self.keep_listed(id);
        self.say_what_is_held(id);
        self.attend(id);
    }

    fn act(&mut self, id: SessionId, output: Output) {
        match output {
            Output::Send { to, message } => {
                let is_state = matches!(message.body, Body::State(_));
                let bytes = self.send(to, message);
                if let Some(place) = self.places.get_mut(&id).filter(|_| is_state) {
                    place.handed_on += bytes;
                }
            }
            Output::Call(call, moving) => self.mail(id, Mail::Call(call, moving)),
            Output::AskLobby { asked, question } => {
                if let Some(line) = self.line(id) {
                    line.ask(asked, question);
                }
            }
            Output::Lead { stamp, state } => {
                tracing::debug!(me = %self.me, session = %id, ?stamp, "leads");
                // What the game gives before it has read this goes on from another state.
                self.tell_what_counts(id, Event::Lead { stamp, state });
                if let Some(place) = self.places.get_mut(&id) {
                    place.audience.begin(stamp);
                    place.opening = Opening::Awaited;
                }
            }
            Output::Follow { leader, stamp } => {
                tracing::debug!(me = %self.me, session = %id, %leader, ?stamp, "follows");
                self.tell(id, Event::Follow { leader, stamp });
                let Some(place) = self.places.get_mut(&id) else { return };
                place.said.yield_to_another();
                let Life::In(session) = &place.life else { return };
                let counts = |from, way, stamp| counts(session, from, way, stamp);
                for (stamp, bytes) in place.ahead.obey(stamp, session.roster(), counts) {
                    self.tell(id, Event::FromHost { stamp, bytes });
                }
                self.pass_words(id);
            }
            Output::HostNoMore { stamp, cause } => self.end_audience(id, stamp, cause),
            Output::Act(acting) => self.tell(id, Event::Act(acting)),
            Output::Connected { peer, channel, actor } => {
                self.tell(id, Event::Connected { peer, channel, actor })
            }
            Output::Discard(entities) => self.tell(id, Event::Discard(entities)),
            Output::Progress(progress) => self.tell(id, Event::Progress(progress)),
            Output::SomebodyBetter(better) => self.tell(id, Event::SomebodyBetter(better)),
            Output::NobodyBetter => self.tell(id, Event::NobodyBetter),
            Output::Gone(peer) => self.tell(id, Event::Gone(peer)),
            Output::Durable(state) => self.tell(id, Event::Durable(state)),
            Output::Apply { from, number, bytes } => {
                self.tell_what_counts(id, Event::Apply { from, number, bytes });
            }
            Output::NotTaken(why) => self.tell(id, Event::NotTaken(why)),
            Output::InputForgotten { number } => self.tell(id, Event::InputForgotten { number }),
            Output::Rewritten { host, told, known } => self.tell(id, Event::Rewritten { host, told, known }),
            Output::Confirmed(stamp) => {
                // Its lobby may have been away for long.
                self.list_anew(id);
                self.tell(id, Event::Confirmed(stamp));
            }
            Output::StateWanted(stamp) => self.tell(id, Event::StateWanted(stamp)),
            Output::Migrated(report) => {
                tracing::debug!(me = %self.me, session = %id, ?report, "migrated");
                self.tell(id, Event::Migrated(report));
            }
            Output::NotSet(why) => self.tell(id, Event::NotSet(why)),
            Output::Ended(end) => self.over(id, Over::Ended(end)),
        }
    }

    fn errand(&self, id: SessionId, errand: Errand) {
        if let Some(line) = self.line(id) {
            line.owe(errand);
        }
    }

    fn line(&self, id: SessionId) -> Option<&Line> {
        match &self.places.get(&id)?.outside {
            Outside::Lobby { line, .. } => line.as_ref(),
            Outside::Nobody | Outside::Lan(_) => None,
        }
    }

    /// Others see this peer there: lobbies tell it to newcomers.
    fn seen_as(&self, address: SocketAddr) {
        tracing::debug!(%address, "seen by others");
        self.places.keys().for_each(|id| self.errand(*id, Errand::SeenAs(address)));
    }

    /// Returns how many bytes it is, before they are encrypted and divided.
    fn send(&self, to: PeerId, message: Message) -> u64 {
        let (way, rank) = match &message.body {
            // What is said again anyway is not worth a stream.
            Body::Beat(_) | Body::Ask | Body::Answer(_) => (Way::Datagram, Rank::Rules),
            Body::State(_) | Body::Play { .. } => (Way::Stream, Rank::State),
            Body::Claim(_)
            | Body::Vote(_)
            | Body::Refusal { .. }
            | Body::Announce(_)
            | Body::View(_)
            | Body::Taken(_)
            | Body::Roster(_)
            | Body::Hints(_)
            | Body::Holds(_)
            | Body::Pull(_)
            | Body::Join { .. }
            | Body::Present { .. }
            | Body::Welcome(_)
            | Body::Redirect(_)
            | Body::Leave
            | Body::Refused(_)
            | Body::Bring { .. }
            | Body::Counted(_) => (Way::Stream, Rank::Rules),
        };
        // Whoever is sent elsewhere has to find it.
        if let Body::Redirect(host) = &message.body
            && let Some(card) = self.reach.card(*host)
        {
            let book = Packet::Book(vec![card]).encode().into();
            self.reach.send_or_lose(to, book, Way::Stream, Rank::Rules);
        }
        let packet = Packet::Protocol(message).encode();
        let bytes = packet.len() as u64;
        self.reach.send_or_lose(to, packet.into(), way, rank);
        bytes
    }

    /// Tells what the game's next state has to hold.
    fn tell_what_counts(&mut self, id: SessionId, event: Event) {
        if let Some(place) = self.places.get_mut(&id) {
            place.told += 1;
        }
        self.tell(id, event);
    }

    fn tell(&mut self, id: SessionId, event: Event) {
        self.mail(id, Mail::Event(event));
    }

    fn mail(&mut self, id: SessionId, mail: Mail) {
        let Some(place) = self.places.get_mut(&id) else { return };
        if place.seated.mailbox.put(mail) == Room::Yes {
            return;
        }
        tracing::warn!(session = %id, "the game does not read what happens in its session: it leaves");
        let mut farewell = Vec::new();
        if let Life::In(session) = &mut place.life {
            session.handle(self.clock.now(), Input::Leave);
            farewell = session.take_outputs();
        }
        self.over(id, Over::GameHung);
        for output in farewell {
            if let Output::Send { to, message } = output {
                self.send(to, message);
            }
        }
    }

    fn arrive(&mut self, arrival: Arrival) {
        match arrival {
            Arrival::Up(link) => {
                tracing::debug!(peer = %link.peer(), address = ?link.address(), "linked");
                let peer = link.peer();
                self.dials.hang_up(peer, if link.is_relayed() { Course::Relayed } else { Course::Direct });
                self.reach.up(link);
                self.admit(peer);
            }
            Arrival::Packet { from, link, packet } => {
                self.reach.heard(from, link);
                self.receive(from, packet);
                self.admit(from);
            }
            Arrival::Down { peer, link, why } => {
                let left = self.reach.down(peer, link);
                tracing::debug!(%peer, ?why, ?left, "link down");
                if left == Left::None && why == Ending::Closed {
                    // Where it is made anew at once, that is told, too.
                    self.places.values_mut().for_each(|place| {
                        place.linked.remove(&peer);
                    });
                    let sessions: Vec<SessionId> = self.places.keys().copied().collect();
                    sessions.into_iter().for_each(|id| self.give(id, Input::LinkLost(peer)));
                }
            }
            Arrival::Unreached { peer, address, why } => {
                tracing::debug!(?peer, %address, ?why, "not reached");
                if why == Unreached::OtherProtocol {
                    self.find_foreign(peer, address);
                }
            }
        }
    }

    /// Whoever is of a session of this peer's is no stranger.
    fn admit(&mut self, peer: PeerId) {
        if self.reach.is_strange(peer) && self.is_companion(peer) {
            self.reach.admit(peer);
        }
    }

    fn receive(&mut self, from: PeerId, packet: Packet) {
        match packet {
            Packet::Protocol(message) => {
                let now = self.now();
                let id = message.session;
                let Some(place) = self.places.get_mut(&id) else { return };
                match &mut place.life {
                    Life::In(_) => self.give(id, Input::Message { from, message }),
                    Life::Joins(joining) => {
                        let joined = joining.receive(now, from, &message);
                        self.joined(id, joined);
                    }
                    Life::Seeks { .. } => {}
                }
            }
            Packet::Game(game) => self.play(from, Way::Datagram, game),
            Packet::Word(Word { session, stamp, number: 0, bytes }) => {
                self.play(from, Way::Stream, Game { session, stamp, bytes });
            }
            Packet::Word(Word { session, stamp, number, bytes }) => {
                self.hear_word(Said { from, stamp, number, bytes }, session);
            }
            Packet::Heard { session, stamp, given } => self.hear_what_was_given(from, session, stamp, &given),
            Packet::Book(cards) if self.is_companion(from) => {
                cards.iter().for_each(|card| self.reach.learn(card));
            }
            Packet::Book(_) => tracing::debug!(peer = %from, "a stranger tells where others are"),
        }
    }

    /// Whether it is of a session that this peer is in, or one of those whom it asks to be let in: nobody else is believed where others
    /// are, for everybody dials there.
    fn is_companion(&self, peer: PeerId) -> bool {
        self.places.values().any(|place| match &place.life {
            Life::Seeks { .. } => false,
            Life::Joins(joining) => joining.asks().contains(&peer),
            Life::In(session) => session.has_met(peer) && !session.roster().kicked.contains(&peer),
        })
    }

    /// The host's game gives a state, which has to hold everything that it was told of.
    fn write(&mut self, id: SessionId, applied: u64, input: Input) {
        if let Input::HandOver { .. } = input {
            self.hold_unread(id);
        }
        let Some(place) = self.places.get_mut(&id) else { return };
        if applied != place.told {
            self.tell(id, Event::Behind);
            return self.give(id, Input::StateMissed);
        }
        self.give(id, input);
        // What members do waits while the game makes its next state, so that each state holds exactly what came before.
        if let Some(Place { life: Life::In(session), .. }) = self.places.get_mut(&id) {
            session.read_deeds();
        }
        self.drain(id);
    }

    /// A message of the game: from the host that this peer obeys, or the one that gave the session to it; or to this host from one that obeys it. Whatever
    /// is of an earlier host is fenced off here; of a later one it waits for its proof.
    fn play(&mut self, from: PeerId, way: Way, game: Game) {
        let Game { session: id, stamp, bytes } = game;
        let Some(Place { life: Life::In(session), ahead, .. }) = self.places.get_mut(&id) else { return };
        let is_of_member =
            session.is_host() && stamp == session.stamp() && session.roster().members.contains_key(&from);
        if from != self.me && counts(session, from, way, stamp) {
            self.tell(id, Event::FromHost { stamp, bytes });
        } else if is_of_member && way == Way::Datagram {
            self.tell(id, Event::FromMember { peer: from, bytes });
        } else if stamp > session.stamp() {
            ahead.keep((from, way), stamp, bytes, session.roster());
        } else if way == Way::Stream {
            tracing::debug!(me = %self.me, session = %id, %from, ?stamp, stands = ?session.stamp(), "a word of nobody who counts");
        }
    }
}

/// Whether what a host said is the game's to hear.
fn counts(session: &Session, from: PeerId, way: Way, stamp: Stamp) -> bool {
    match way {
        Way::Datagram => session.is_of_host(from, stamp),
        Way::Stream => session.is_word_of_host(from, stamp),
    }
}

#[cfg(test)]
mod tests {
    use mainstay_migration::{Hint, OrderName, Stamp};
    use mainstay_wire::peer::Card;

    use super::*;
    use crate::link::ARRIVALS_MAX;
    use crate::mailbox::Mailbox;
    use crate::seat::SessionOptions;

    /// Whoever has the address of a peer has a link to it, and everybody dials where its book says.
    #[tokio::test]
    async fn nobody_but_who_plays_is_believed_where_others_are() {
        let key = Key::new().unwrap();
        let (arrivals_in, arrivals) = mpsc::channel(ARRIVALS_MAX);
        let (_commands_in, commands) = mpsc::channel(1);
        let quic = Quic::bind(SocketAddr::from(([127, 0, 0, 1], 0)), &key, arrivals_in).unwrap();
        let mut hands = Hands::new(key, (quic, None), Arc::default(), arrivals, commands);
        let options = SessionOptions::new(SessionId(1));
        let id = SeatId::new(options.session);
        let (mailbox, listeners) = (Arc::new(Mailbox::default()), BTreeMap::new());
        let seated = Seated { id, mailbox, listeners };
        let (answer, _may_sit) = oneshot::channel();
        let by = Entrance::Founds(Under::Nobody);
        hands.obey(Command::Sit { options, seated, by, answer });

        let (bob, victim) = (PeerId(2), PeerId(3));
        let addresses = vec![SocketAddr::from(([192, 0, 2, 3], 5_555))];
        let book = || Packet::Book(vec![Card { peer: victim, addresses: addresses.clone() }]);
        hands.receive(bob, book());
        assert_eq!(hands.reach.card(victim), None, "a stranger's word");
        let body = Body::Join { hint: Hint::UNSUITABLE, order: OrderName::Documented };
        let message = Message { session: options.session, stamp: Stamp::NOBODY, body };
        hands.receive(bob, Packet::Protocol(message));
        hands.receive(bob, book());
        assert_eq!(hands.reach.card(victim).map(|card| card.addresses), Some(addresses), "a member's");
    }
}
