//! The hands of one peer: the one task that owns its links and its sessions, feeds the rules what happened and does what
//! they ask for.

mod lan;
mod links;

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bytes::Bytes;
use mainstay_core::Timestamp;
use mainstay_migration::{
    Admission, Arbiter, Body, Config, End, Forged, Input, Joined, Joining, Message, Output, PeerId, Priority,
    Session, SessionId,
};
use mainstay_wire::peer::{Card, GAME_BYTES_MAX, Game, Packet};
use tokio::sync::{mpsc, oneshot};

use links::{Known, named};

use crate::clock::Clock;
use crate::key::{Key, SessionKeys, Whom};
use crate::lan::{Farewell, Voice};
use crate::link::{Arrival, Ending, Way};
use crate::lobby::{Brought, Entered, Errand, Line, RULINGS_MAX, Told};
use crate::mailbox::{Mail, Mailbox, Room};
use crate::mirror::Mirror;
use crate::quic::Quic;
use crate::reach::{Left, Reach};
use crate::relay::Moored;
use crate::seat::{Doors, Event, Over, SessionOptions, Shown, To};

/// How often links are looked after: fresh members wait so long for theirs at most.
pub(crate) const TEND: Duration = Duration::from_millis(100);
/// How long a joiner dials before it gives up: as long as it then asks.
const SEEK_MAX: Duration = Duration::from_secs(15);
/// How often it dials the same door again.
const SEEK_AGAIN: Duration = Duration::from_secs(1);
/// How many deeds wait for the host's game: a second of the largest session's. Of more the newest are lost, and said again.
const DEEDS_MAX: usize = 64 * 20;
/// How many members somebody who wants in asks, the host first: each of them knows who is host, and each try takes a moment.
const ASKED_MAX: usize = 8;
/// How long nobody is woken where nothing is due.
const IDLE: Duration = Duration::from_secs(1);

/// What a game asks of its hands.
#[derive(Debug)]
pub(crate) enum Command {
    Found {
        options: SessionOptions,
        seated: Seated,
        under: Under,
    },
    Join {
        options: SessionOptions,
        seated: Seated,
        way: Entrance,
    },
    Give {
        session: SessionId,
        input: Input,
    },
    /// The host's game is so far, and holds so much of what it was told.
    Write {
        session: SessionId,
        applied: u64,
        input: Input,
    },
    Say {
        session: SessionId,
        to: To,
        way: Way,
        bytes: Vec<u8>,
    },
    Look {
        session: SessionId,
        answer: oneshot::Sender<Option<Shown>>,
    },
}

/// Who proves the hosts of a session.
#[derive(Debug)]
pub(crate) enum Under {
    /// Its members.
    Nobody,
    /// Its members, and whoever of them is host says so on the LAN.
    Lan(Box<Voice>),
    /// A lobby that this peer has a place in it from.
    Lobby(Box<Entered>),
}

/// How somebody comes into a session.
#[derive(Debug)]
pub(crate) enum Entrance {
    /// By addresses, at least one of which is a member's.
    Doors(Doors),
    /// As it was announced on the LAN, where it will be announced again.
    Lan(Box<Voice>, Doors),
    /// The lobby has let it in, and names the members.
    Lobby(Box<Entered>),
}

/// What a session's hands know of its game.
#[derive(Debug, Clone)]
pub(crate) struct Seated {
    pub(crate) mailbox: Arc<Mailbox>,
    pub(crate) listeners: Vec<(String, Priority)>,
}

#[derive(Debug)]
struct Place {
    config: Config,
    seated: Seated,
    outside: Outside,
    life: Life,
    /// Whom the lobby has named, and who is no member here yet.
    expected: BTreeMap<PeerId, Instant>,
    /// When the round trips of its links were measured last.
    measured: Option<Instant>,
    /// What was told of where members are.
    known: Option<Known>,
    /// Deeds that wait until the game has given a state: what comes out of them is in the next one.
    deeds: VecDeque<Input>,
    /// How often the game was told what its next state has to hold: a deed, or the state that it is host from on.
    told: u64,
}

/// Who is told of a session beside its members.
#[derive(Debug)]
enum Outside {
    Nobody,
    /// Whoever listens on the LAN.
    Lan(Box<Voice>),
    Lobby {
        /// To whom questions go; `None` where the system gave no thread for them.
        line: Option<Line>,
        /// At its relay, where it has one.
        moored: Option<Moored>,
    },
}

impl Place {
    const fn new(config: Config, seated: Seated, outside: Outside, life: Life) -> Self {
        Self {
            config,
            seated,
            outside,
            life,
            expected: BTreeMap::new(),
            measured: None,
            known: None,
            deeds: VecDeque::new(),
            told: 0,
        }
    }
}

#[derive(Debug)]
enum Life {
    /// It dials whoever may know the session.
    Seeks { doors: Doors, until: Timestamp, dialed: Option<Timestamp> },
    /// It asks to be let in.
    Joins(Box<Joining>),
    /// It is a member.
    In(Box<Session>),
}

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
    mirror: Mirror,
    arrivals: mpsc::Receiver<Arrival>,
    commands: mpsc::Receiver<Command>,
    /// What lobbies answer, and where their threads put it.
    rulings: mpsc::Receiver<Brought>,
    brought: mpsc::Sender<Brought>,
    lines: Vec<JoinHandle<()>>,
    farewells: Vec<Farewell>,
    reach: Reach,
    /// Hosts of other sides that were dialed, and when.
    sought: BTreeMap<PeerId, Instant>,
    places: BTreeMap<SessionId, Place>,
    tend_at: Instant,
}

impl Hands {
    pub(crate) fn new(
        key: Key,
        quic: Quic,
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
            arrivals,
            commands,
            rulings,
            brought,
            lines: Vec::new(),
            farewells: Vec::new(),
            reach: Reach::new(me),
            sought: BTreeMap::new(),
            places: BTreeMap::new(),
            tend_at: now,
        }
    }

    /// Works until nobody can ask for anything any more.
    pub(crate) async fn run(mut self) -> Leaving {
        loop {
            let wake = tokio::time::Instant::from_std(self.wake_at());
            tokio::select! {
                Some(arrival) = self.arrivals.recv() => self.arrive(arrival),
                Some(Brought { session, told }) = self.rulings.recv() => self.hear(session, told),
                Some(seen_as) = self.mirror.next() => self.seen_as(seen_as),
                command = self.commands.recv() => match command {
                    Some(command) => self.obey(command),
                    None => break,
                },
                () = tokio::time::sleep_until(wake) => {}
            }
            self.pass();
        }
        let left: Vec<SessionId> = self.places.keys().copied().collect();
        left.into_iter().for_each(|id| self.forget(id));
        self.quic.close().await;
        Leaving { lines: self.lines, farewells: self.farewells }
    }

    fn hear(&mut self, id: SessionId, told: Told) {
        match told {
            Told::Rules(input) => self.give(id, *input),
            Told::Members(cards) => self.expect(id, &cards),
            Told::Relay(berth) => self.moor(id, berth),
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

    /// Dials until somebody answers.
    fn seek(&mut self, id: SessionId, now: Timestamp) {
        let Some(place) = self.places.get_mut(&id) else { return };
        let Life::Seeks { doors, until, dialed } = &mut place.life else { return };
        let known = self.reach.at(doors);
        if !known.is_empty() {
            place.life = Life::Joins(Box::new(Joining::new(now, place.config.clone(), known)));
            return self.wake(id, now);
        }
        if now >= *until {
            return self.over(id, Over::NoAnswer);
        }
        if dialed.is_none_or(|dialed| now >= dialed + SEEK_AGAIN) {
            *dialed = Some(now);
            let doors = doors.clone();
            doors.into_iter().for_each(|door| self.dial(door, Whom::Anybody));
        }
    }

    fn dial(&self, address: SocketAddr, whom: Whom) {
        if let Err(error) = self.quic.dial(address, whom) {
            tracing::warn!(%address, %error, "cannot dial");
        }
    }

    fn joined(&mut self, id: SessionId, joined: Joined) {
        match joined {
            Joined::NotYet(outputs) => outputs.into_iter().for_each(|output| self.act(id, output)),
            Joined::In(session) => {
                let Some(place) = self.places.get_mut(&id) else { return };
                place.life = Life::In(session);
                self.settle_in(id);
            }
            Joined::Refused(why) => self.over(id, Over::Refused(why)),
            Joined::NoAnswer => self.over(id, Over::NoAnswer),
            Joined::Forged(why) => self.over(id, Over::Forged(why)),
        }
    }

    fn settle_in(&mut self, id: SessionId) {
        let Some(place) = self.places.get_mut(&id) else { return };
        if let Life::In(session) = &mut place.life {
            for (name, priority) in &place.seated.listeners {
                // The seat was refused where there are too many.
                let _id = session.add_listener(name, *priority);
            }
        }
        self.tell(id, Event::Entered);
        self.give(id, Input::Wake);
    }

    fn over(&mut self, id: SessionId, over: Over) {
        if let Some(Place { life: Life::In(session), .. }) = self.places.get(&id) {
            tracing::debug!(me = %self.me, session = %id, ?over, stood = session.shown(), "over");
        }
        self.tell(id, Event::Over(over));
        self.forget(id);
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
            Life::Seeks { .. } | Life::Joins(_) => {
                if input == Input::Leave {
                    self.over(id, Over::Ended(End::Left));
                }
                return;
            }
        }
        self.drain(id);
    }

    fn drain(&mut self, id: SessionId) {
        while let Some(Place { life: Life::In(session), .. }) = self.places.get_mut(&id) {
            let outputs = session.take_outputs();
            if outputs.is_empty() {
                break;
            }
            outputs.into_iter().for_each(|output| self.act(id, output));
        }
    }

    fn act(&mut self, id: SessionId, output: Output) {
        match output {
            Output::Send { to, message } => self.send(to, message),
            Output::Call(call) => self.mail(id, Mail::Call(call)),
            Output::AskLobby { asked, question } => self.errand(id, Errand::Ask { asked, question }),
            Output::Lead { stamp, state } => {
                tracing::debug!(me = %self.me, session = %id, ?stamp, "leads");
                // What the game gives before it has read this goes on from another state.
                self.tell_what_counts(id, Event::Lead { stamp, state });
            }
            Output::Follow { leader, stamp } => {
                tracing::debug!(me = %self.me, session = %id, %leader, ?stamp, "follows");
                self.tell(id, Event::Follow { leader, stamp });
            }
            Output::Act(acting) => self.tell(id, Event::Act(acting)),
            Output::Connected { peer, channel, actor } => {
                self.tell(id, Event::Connected { peer, channel, actor })
            }
            Output::Discard(entities) => self.tell(id, Event::Discard(entities)),
            Output::Gone(peer) => self.tell(id, Event::Gone(peer)),
            Output::Durable(state) => self.tell(id, Event::Durable(state)),
            Output::Apply { from, number, bytes } => {
                self.tell_what_counts(id, Event::Apply { from, number, bytes });
            }
            Output::NotTaken(why) => self.tell(id, Event::NotTaken(why)),
            Output::InputForgotten { number } => self.tell(id, Event::InputForgotten { number }),
            Output::Rewritten { host, told, known } => self.tell(id, Event::Rewritten { host, told, known }),
            Output::Confirmed(stamp) => self.tell(id, Event::Confirmed(stamp)),
            Output::Migrated(report) => {
                tracing::debug!(me = %self.me, session = %id, ?report, "migrated");
                self.tell(id, Event::Migrated(report));
            }
            Output::NotSet(why) => self.tell(id, Event::NotSet(why)),
            Output::Ended(end) => self.over(id, Over::Ended(end)),
        }
    }

    fn errand(&self, id: SessionId, errand: Errand) {
        if let Some(Place { outside: Outside::Lobby { line: Some(line), .. }, .. }) = self.places.get(&id) {
            line.send(errand);
        }
    }

    /// Others see this peer there: lobbies tell it to newcomers.
    fn seen_as(&self, address: SocketAddr) {
        tracing::debug!(%address, "seen by others");
        self.places.keys().for_each(|id| self.errand(*id, Errand::SeenAs(address)));
    }

    fn send(&self, to: PeerId, message: Message) {
        // What is said again anyway is not worth a stream.
        let way = match &message.body {
            Body::Beat(_) | Body::Ask | Body::Answer(_) => Way::Datagram,
            Body::Claim(_)
            | Body::Vote(_)
            | Body::Refusal { .. }
            | Body::Announce { .. }
            | Body::View(_)
            | Body::Taken(_)
            | Body::Roster(_)
            | Body::Hints(_)
            | Body::State(_)
            | Body::Holds(_)
            | Body::Pull(_)
            | Body::Play { .. }
            | Body::Join(_)
            | Body::Present(_)
            | Body::Welcome(_)
            | Body::Redirect(_)
            | Body::Leave
            | Body::Refused(_) => Way::Stream,
        };
        // Whoever is sent elsewhere has to find it.
        if let Body::Redirect(host) = &message.body
            && let Some(card) = self.reach.card(*host)
        {
            self.reach.send(to, Packet::Book(vec![card]).encode().into(), Way::Stream);
        }
        self.reach.send(to, Packet::Protocol(message).encode().into(), way);
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
        if place.seated.mailbox.put(mail) == Room::No {
            tracing::warn!(session = %id, "the game does not read what happens in its session: it leaves");
            self.forget(id);
        }
    }

    fn arrive(&mut self, arrival: Arrival) {
        match arrival {
            Arrival::Up(link) => {
                tracing::debug!(peer = %link.peer(), address = ?link.address(), "linked");
                self.reach.up(link);
            }
            Arrival::Packet { from, link, packet } => {
                self.reach.heard(from, link);
                self.receive(from, packet);
            }
            Arrival::Down { peer, link, why } => {
                let left = self.reach.down(peer, link);
                tracing::debug!(%peer, ?why, ?left, "link down");
                if left == Left::None && why == Ending::Closed {
                    let sessions: Vec<SessionId> = self.places.keys().copied().collect();
                    sessions.into_iter().for_each(|id| self.give(id, Input::LinkLost(peer)));
                }
            }
            Arrival::Unreached { peer, address } => tracing::debug!(?peer, %address, "not reached"),
        }
    }

    fn receive(&mut self, from: PeerId, packet: Packet) {
        match packet {
            Packet::Protocol(message) => {
                let now = self.now();
                let id = message.session;
                let Some(place) = self.places.get_mut(&id) else { return };
                match &mut place.life {
                    Life::In(_) => self.play_or_give(id, Input::Message { from, message }),
                    Life::Joins(joining) => {
                        let joined = joining.receive(now, from, &message);
                        self.joined(id, joined);
                    }
                    Life::Seeks { .. } => {}
                }
            }
            Packet::Game(game) => self.play(from, game),
            Packet::Book(cards) => cards.iter().for_each(|card| self.reach.learn(card)),
        }
    }

    /// What members do waits while this peer's game makes its next state, so that each state holds exactly what came before.
    fn play_or_give(&mut self, id: SessionId, input: Input) {
        let is_told =
            matches!(&input, Input::Message { message, .. } if matches!(message.body, Body::Play { .. }));
        let is_deed = is_told || matches!(input, Input::Play(_));
        if is_deed
            && let Some(Place { life: Life::In(session), deeds, .. }) = self.places.get_mut(&id)
            && session.is_host()
        {
            if deeds.len() < DEEDS_MAX {
                deeds.push_back(input);
            }
            return;
        }
        self.give(id, input);
    }

    /// The host's game gives a state, which has to hold everything that it was told of.
    fn write(&mut self, id: SessionId, applied: u64, input: Input) {
        let Some(place) = self.places.get_mut(&id) else { return };
        if applied != place.told {
            self.tell(id, Event::Behind);
            return self.give(id, Input::StateMissed);
        }
        let deeds = std::mem::take(&mut place.deeds);
        self.give(id, input);
        deeds.into_iter().for_each(|deed| self.give(id, deed));
    }

    /// A message of the game: from the host that this peer obeys, or to this host from one that obeys it. Whatever is of
    /// another host is fenced off here.
    fn play(&mut self, from: PeerId, game: Game) {
        let Game { session: id, stamp, bytes } = game;
        let Some(Place { life: Life::In(session), .. }) = self.places.get(&id) else { return };
        let leads = session.is_host();
        if leads && stamp == session.stamp() && session.roster().members.contains_key(&from) {
            self.tell(id, Event::FromMember { peer: from, bytes });
        } else if !leads && session.is_of_host(from, stamp) {
            self.tell(id, Event::FromHost { stamp, bytes });
        }
    }

    fn obey(&mut self, command: Command) {
        let now = self.now();
        match command {
            Command::Found { options, seated, under } => self.found(now, &options, seated, under),
            Command::Join { options, seated, way } => self.join(now, &options, seated, way),
            Command::Give { session, input: Input::Play(bytes) } if bytes.len() > GAME_BYTES_MAX => {
                tracing::warn!(%session, length = bytes.len(), "a deed of the game is too long");
            }
            Command::Give { session, input } => {
                if let Input::Suitable(can_be_host) = &input {
                    self.errand(session, Errand::Introduce(*can_be_host));
                } else if let Input::Kick(peer) = &input {
                    self.kick_online(session, *peer);
                }
                self.play_or_give(session, input);
            }
            Command::Write { session, applied, input } => self.write(session, applied, input),
            Command::Say { session, to, way, bytes } => self.say(session, to, way, bytes),
            Command::Look { session, answer } => {
                // Whoever asked may have gone.
                let _gone = answer.send(self.look(session));
            }
        }
    }

    fn join(&mut self, now: Timestamp, options: &SessionOptions, seated: Seated, way: Entrance) {
        let (under, doors, cards) = match way {
            Entrance::Doors(doors) => (Under::Nobody, doors, Vec::new()),
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
                // The game is told before its place is forgotten.
                let _hung = seated.mailbox.put(Mail::Event(Event::Over(Over::Forged(why))));
            }
        }
    }

    /// Who is told of this seat. Without a thread that asks the lobby no question is answered, and the session does what it does
    /// without its lobby.
    fn outside(&mut self, under: Under) -> Outside {
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

    fn kick_online(&self, id: SessionId, peer: PeerId) {
        if let Some(Place { life: Life::In(session), .. }) = self.places.get(&id)
            && session.is_host()
        {
            self.errand(id, Errand::Kick { peer, epoch: session.stamp().epoch });
        }
    }

    fn config(&self, options: &SessionOptions, under: &Under) -> Config {
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
            admission,
            keys: Arc::new(SessionKeys { own: self.key.clone(), lobby }),
        }
    }

    fn say(&self, id: SessionId, to: To, way: Way, bytes: Vec<u8>) {
        let Some(Place { life: Life::In(session), .. }) = self.places.get(&id) else { return };
        if bytes.len() > GAME_BYTES_MAX {
            return tracing::warn!(length = bytes.len(), "a message of the game is too long");
        }
        let leads = session.is_host();
        let members: Vec<PeerId> = match to {
            To::Host if leads => return,
            To::Host => vec![session.leader()],
            To::Members | To::Member(_) if !leads => return,
            To::Members => session.roster().members.keys().copied().filter(|peer| *peer != self.me).collect(),
            To::Member(peer) => vec![peer],
        };
        let packet = Packet::Game(Game { session: id, stamp: session.stamp(), bytes });
        let bytes = Bytes::from(packet.encode());
        members.into_iter().for_each(|peer| self.reach.send(peer, bytes.clone(), way));
    }

    fn look(&self, id: SessionId) -> Option<Shown> {
        let Some(Place { life: Life::In(session), .. }) = self.places.get(&id) else { return None };
        let members: Vec<_> =
            session.roster().members.iter().map(|(peer, channel)| (*peer, *channel)).collect();
        Some(Shown {
            role: session.role(),
            identification: session.identification(),
            leader: session.leader(),
            stamp: session.stamp(),
            anticipated: session.anticipated(),
            nat: self.mirror.reach().nat,
            relayed: members.iter().filter(|(peer, _)| self.reach.is_relayed(*peer)).count(),
            linked: members.iter().filter(|(peer, _)| self.reach.is_linked(*peer)).count(),
            members,
            actors: session.roster().actors.clone(),
            hints: session.shown_hints(),
        })
    }
}
