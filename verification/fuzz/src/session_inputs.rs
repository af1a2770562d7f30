//! Any conversation with a session of several peers, at any time: whatever a member that lies and strangers send, and whatever games, links
//! and listeners do meanwhile, the rules do not panic, an epoch has one host for all, nobody goes back to an earlier one, and what is kept
//! has its limits.
//!
//! Four peers run the rules; a fifth member and the strangers are the input's. A packet begins with what is done (`World::act`) and
//! to whom. Keys behave as keys do: nobody signs as another, and what was signed can be said again by whoever heard it. Each input begins
//! with the same session, which has come together by itself.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use mainstay_core::Timestamp;
use mainstay_migration::{
    ActorId, Answer, Arbiter, CanBeHost, Config, EntityId, Epoch, GamePhase, Handover, Input, Joined,
    Joining, Keys, Kind, Level, ListenerId, MEMBERS_MAX, Message, Migratable, NAMES, NatType, Order, Output,
    PARTS_MAX, PeerId, Piece, Priority, Ruling, Session, SessionId, Signature, Stamp, Support, Tick,
    WithoutMajority,
};
use mainstay_wire::peer::{PACKET_BYTES_MAX, Packet};

use crate::packets;

/// The session and the peers of the golden packets, and one more.
const SESSION: SessionId = SessionId(7);
const HONEST: [PeerId; 4] = [PeerId(0xa), PeerId(0xb), PeerId(0xc), PeerId(0xe)];
/// A member whose words are the input's.
const LIAR: PeerId = PeerId(0xd);
/// Whoever is none begins here.
const STRANGERS: u128 = 0x7000;
/// One way of a message.
const WAY: Duration = Duration::from_millis(16);
/// How many of them one step of the input lets pass: a second.
const WAYS_MAX: u8 = 64;
/// How many messages are under way at most: the oldest are lost.
const UNDER_WAY_MAX: usize = 1_024;
/// How long a session is, written down: many times what one of five is, and far less than what a list without a limit would come to.
const WRITTEN_MAX: usize = 4 * 1024 * 1024;

#[derive(Debug)]
struct NamedKeys(PeerId);

impl Keys for NamedKeys {
    fn sign(&self, words: &[u8]) -> Signature {
        let mix = |mixed: u64, byte: &u8| (mixed ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        let seed = self.0.0 as u64 ^ 0xcbf2_9ce4_8422_2325;
        Signature(words.iter().fold(seed, mix).to_be_bytes().to_vec())
    }

    fn is_by(&self, signer: PeerId, words: &[u8], signature: &Signature) -> bool {
        Self(signer).sign(words) == *signature
    }
}

/// Feeds one input; panics where a promise is broken.
pub fn run(bytes: &[u8]) {
    static BEGINS: OnceLock<World> = OnceLock::new();
    let mut world = BEGINS.get_or_init(World::of_five).clone();
    for said in packets(bytes) {
        world.act(said);
        world.judge();
    }
    for session in world.sessions.values() {
        is_bounded(session);
    }
}

#[derive(Debug, Clone)]
struct World {
    now: Timestamp,
    sessions: BTreeMap<PeerId, Session>,
    under_way: VecDeque<(PeerId, PeerId, Message)>,
    /// Who is host of which epoch, as anybody knows it.
    hosts: BTreeMap<Epoch, PeerId>,
    stamps: BTreeMap<PeerId, Stamp>,
    tick: u64,
}

fn config(me: PeerId) -> Config {
    Config {
        me,
        session: SESSION,
        arbiter: Arbiter::Majority,
        order: Order::Documented,
        migratable: Migratable::Yes,
        without_majority: WithoutMajority::Fork,
        level: Level::Asynchronous,
        size: MEMBERS_MAX,
        support: Support::Supported,
        admission: None,
        keys: Arc::new(NamedKeys(me)),
    }
}

impl World {
    /// A session that five have come into, the last of whom says nothing by itself any more.
    fn of_five() -> Self {
        let now = Timestamp::from_unix_ms(1_000);
        let [founder, others @ ..] = HONEST;
        let sessions = BTreeMap::from([(founder, Session::found(now, config(founder)))]);
        let (under_way, hosts, stamps) = (VecDeque::new(), BTreeMap::new(), BTreeMap::new());
        let mut world = Self { now, sessions, under_way, hosts, stamps, tick: 0 };
        for newcomer in others.into_iter().chain([LIAR]) {
            let mut joining = Joining::new(world.now, config(newcomer), vec![founder]);
            let Joined::NotYet(asks) = joining.wake(world.now) else { panic!("it has asked nobody yet") };
            world.take(newcomer, asks);
            while !world.sessions.contains_key(&newcomer) {
                for (from, to, message) in world.pass() {
                    assert_eq!(to, newcomer, "nobody else is on its way in");
                    if let Joined::In(session) = joining.receive(world.now, from, &message) {
                        world.sessions.insert(newcomer, *session);
                    }
                }
            }
            (0..60).for_each(|_| drop(world.pass()));
        }
        for session in world.sessions.values_mut() {
            session.add_listener(ListenerId(0), "game", Priority::PostEngine);
            session.handle(world.now, Input::Suitable(CanBeHost::Yes));
        }
        (0..60).for_each(|_| drop(world.pass()));
        world.sessions.remove(&LIAR);
        assert_eq!(world.sessions[&founder].view().members.len(), HONEST.len() + 1, "all of them vote");
        world
    }

    /// One way's time: what was under way comes, and everybody wakes. Returns what came for whoever runs no session.
    fn pass(&mut self) -> Vec<(PeerId, PeerId, Message)> {
        self.now = self.now + WAY;
        let mut for_others = Vec::new();
        for (from, to, message) in std::mem::take(&mut self.under_way) {
            if self.sessions.contains_key(&to) {
                self.give(to, Input::Message { from, message });
            } else {
                for_others.push((from, to, message));
            }
        }
        for peer in self.sessions.keys().copied().collect::<Vec<_>>() {
            if self.sessions[&peer].next_deadline().is_some_and(|at| at <= self.now) {
                self.give(peer, Input::Wake);
            }
        }
        for_others
    }

    fn give(&mut self, peer: PeerId, input: Input) {
        let now = self.now;
        let Some(session) = self.sessions.get_mut(&peer) else { return };
        session.handle(now, input);
        let outputs = session.take_outputs();
        self.take(peer, outputs);
    }

    fn take(&mut self, from: PeerId, outputs: Vec<Output>) {
        for output in outputs {
            if let Output::Call(call, _) = output {
                let (listener, number, state) = (call.listener, call.number, call.state + 1);
                self.give(from, Input::Answered { listener, number, state, answer: Answer::Done });
            } else if let Output::Send { to, message } = output {
                let packet = Packet::Protocol(message.clone());
                let bytes = packet.encode();
                assert!(bytes.len() <= PACKET_BYTES_MAX, "{} bytes", bytes.len());
                assert_eq!(Packet::decode(&bytes), Ok(packet), "what one peer says another reads");
                if self.under_way.len() >= UNDER_WAY_MAX {
                    self.under_way.pop_front();
                }
                self.under_way.push_back((from, to, message));
            }
        }
    }

    /// What the input says: what is done, to whom, and with what.
    fn act(&mut self, said: &[u8]) {
        let [what, whom, with @ ..] = said else { return };
        let peer = HONEST[usize::from(*whom) % HONEST.len()];
        let number = with.first().copied().unwrap_or_default();
        match what % 8 {
            // Time passes.
            0 => (0..number % WAYS_MAX).for_each(|_| drop(self.pass())),
            // The liar or a stranger says anything.
            1 => {
                if let Ok(Packet::Protocol(message)) = Packet::decode(with) {
                    let from = if whom & 0x80 == 0 { LIAR } else { PeerId(STRANGERS + u128::from(*whom)) };
                    self.give(peer, Input::Message { from, message });
                }
            }
            // The liar says again what somebody said, with a byte of it changed.
            2 => {
                let Some(message) = self.nth(number).map(|(_, _, message)| message.clone()) else { return };
                let mut bytes = Packet::Protocol(message).encode();
                let at = usize::from(with.get(1).copied().unwrap_or_default()) % bytes.len();
                bytes[at] ^= with.get(2).copied().unwrap_or_default();
                if let Ok(Packet::Protocol(message)) = Packet::decode(&bytes) {
                    self.give(peer, Input::Message { from: LIAR, message });
                }
            }
            // A message overtakes others, and comes twice.
            3 => {
                let Some((from, to, message)) = self.nth(number).cloned() else { return };
                self.give(to, Input::Message { from, message });
            }
            // Messages are lost.
            4 => self.under_way.truncate(self.under_way.len().saturating_sub(usize::from(number))),
            // A game, a link or a listener does something.
            5 => {
                let input = self.input(with);
                self.give(peer, input);
            }
            // A peer crashes.
            6 if self.sessions.len() > 1 => drop(self.sessions.remove(&peer)),
            6 => {}
            // Everybody's clock leaps ahead: up to a minute.
            _ => {
                self.now = self.now + Duration::from_millis(256 * u64::from(number));
                drop(self.pass());
            }
        }
    }

    fn nth(&self, number: u8) -> Option<&(PeerId, PeerId, Message)> {
        self.under_way.get(usize::from(number) % self.under_way.len().max(1))
    }

    fn input(&mut self, with: &[u8]) -> Input {
        let at = |index: usize| with.get(index).copied().unwrap_or_default();
        let (other, bytes) = (PeerId(0xa + u128::from(at(1) % 8)), with.get(2..).unwrap_or_default());
        self.tick += 1;
        let kind = [Kind::Snapshot, Kind::Delta, Kind::Event][usize::from(at(2)) % 3];
        let piece = Piece { tick: Tick(self.tick), kind, bytes: bytes.to_vec() };
        match at(0) % 18 {
            0 => Input::Leave,
            1 => Input::Kick(other),
            2 => Input::HandOver { to: Some(other), why: Handover::Leaves, last: piece },
            3 => Input::HandOver { to: None, why: Handover::Lobby, last: piece },
            4 => Input::Suitable(if at(1) % 2 == 0 { CanBeHost::Yes } else { CanBeHost::NotYet }),
            5 if at(2) % 2 == 0 => Input::Reachable { nat: NatType::Strict, ping_ms: u16::from(at(1)) },
            5 => Input::Upstream(u32::from(at(1))),
            6 => Input::Phase(if at(1) % 2 == 0 { GamePhase::Gathering } else { GamePhase::Started }),
            7 => Input::Set {
                name: NAMES[usize::from(at(1)) % NAMES.len()].to_owned(),
                value: String::from_utf8_lossy(bytes).into_owned(),
            },
            8 => Input::LinkLost(other),
            9 => Input::Found(other),
            10 => Input::Plays { peer: other, actor: ActorId(u64::from(at(2))) },
            11 => Input::Play(bytes.to_vec()),
            12 => Input::StateMissed,
            13 => Input::NoLongerNeeded(bytes.iter().map(|id| EntityId(u64::from(*id))).collect()),
            14 => Input::Answered {
                listener: ListenerId(0),
                number: u32::from(at(1)),
                state: u32::MAX - 1,
                answer: [Answer::Done, Answer::Wait, Answer::Veto][usize::from(at(2)) % 3].clone(),
            },
            15 => Input::Lobby {
                asked: self.now,
                ruling: [Ruling::Stays, Ruling::Unfit][usize::from(at(1)) % 2].clone(),
            },
            16 if at(2) % 2 == 0 => {
                Input::OwnFlag(if at(1) % 2 == 0 { Support::Supported } else { Support::Unsupported })
            }
            _ => Input::State(piece),
        }
    }

    /// Of an epoch nobody knows another host than anybody else does, and nobody goes back to an earlier host.
    fn judge(&mut self) {
        for (peer, session) in &self.sessions {
            let (epoch, host) = (session.ballot().epoch(), session.ballot().host());
            let known = *self.hosts.entry(epoch).or_insert(host);
            assert_eq!(known, host, "{peer} obeys another host of {epoch}");
            let before = self.stamps.insert(*peer, session.stamp());
            assert!(before <= Some(session.stamp()), "{peer}: {before:?} and then {:?}", session.stamp());
        }
    }
}

/// Whatever it was told, it keeps no more of it than there can be.
fn is_bounded(session: &Session) {
    let roster = session.roster();
    for length in
        [roster.members.len(), roster.kicked.len(), roster.actors.len(), session.view().members.len()]
    {
        assert!(length <= MEMBERS_MAX, "{length}");
    }
    assert!(session.held().parts().len() <= PARTS_MAX);
    let written = format!("{session:?}").len();
    assert!(written <= WRITTEN_MAX, "{written}");
}
