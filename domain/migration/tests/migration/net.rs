//! A few peers and a network without faults but those that a test asks for; time goes from deadline to deadline.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use mainstay_core::Timestamp;
use mainstay_migration::{
    Acting, Answer, Beat, Body, CanBeHost, Config, Input, Joined, Joining, Keys, Kind, Level, Message,
    Migratable, NatType, Order, Output, PeerId, Piece, Priority, Report, Session, SessionId, Signature,
    Stage, StateId, Tick, WithoutMajority,
};

/// One way of a message.
const WAY: Duration = Duration::from_millis(20);
/// How often a host's game steps.
const STEP: Duration = Duration::from_millis(100);

/// What became of one peer, as its game saw it.
#[derive(Debug, Default)]
pub struct Seen {
    pub stages: Vec<Stage>,
    pub reports: Vec<Report>,
    pub outputs: Vec<Output>,
    pub tick: Tick,
    /// From which tick it went on as host.
    pub led_from: Option<Tick>,
    /// Whose inputs it applied as host.
    pub applied: Vec<(PeerId, u64)>,
    acts: bool,
}

pub struct Net {
    pub now: Timestamp,
    pub peers: BTreeMap<PeerId, Session>,
    joining: BTreeMap<PeerId, Joining>,
    pub seen: BTreeMap<PeerId, Seen>,
    under_way: VecDeque<(Timestamp, PeerId, PeerId, Message)>,
    /// Directed links that carry nothing.
    pub cut: BTreeSet<(PeerId, PeerId)>,
    frozen: BTreeSet<PeerId>,
    stepped: Timestamp,
    pub config: Config,
}

/// Keys as they behave, not as they are made: who signs is who has them, and no other words have the same signature.
#[derive(Debug)]
pub struct NamedKeys(pub PeerId);

impl Keys for NamedKeys {
    fn sign(&self, words: &[u8]) -> Signature {
        let mix =
            |mixed: u128, byte: &u8| (mixed ^ u128::from(*byte)).wrapping_mul(0x0100_0000_01b3_0000_0001);
        let mixed = words.iter().fold(self.0.0, mix);
        Signature([self.0.0.to_be_bytes(), mixed.to_be_bytes()].concat())
    }

    fn is_by(&self, signer: PeerId, words: &[u8], signature: &Signature) -> bool {
        Self(signer).sign(words) == *signature
    }
}

pub fn peer(number: u128) -> PeerId {
    PeerId(number)
}

/// The game at that tick.
pub fn snapshot(tick: Tick) -> Piece {
    Piece { tick, kind: Kind::Snapshot, bytes: tick.0.to_be_bytes().to_vec() }
}

impl Net {
    /// A session of so many, with one listener each, all of them suitable and open.
    pub fn of(count: u128) -> Self {
        Self::with(count, Migratable::Yes, WithoutMajority::Fork)
    }

    pub fn with(count: u128, migratable: Migratable, without_majority: WithoutMajority) -> Self {
        Self::created(count, migratable, without_majority, Level::Asynchronous)
    }

    pub fn at_level(count: u128, level: Level) -> Self {
        Self::created(count, Migratable::Yes, WithoutMajority::Fork, level)
    }

    fn created(count: u128, migratable: Migratable, without_majority: WithoutMajority, level: Level) -> Self {
        let now = Timestamp::from_unix_ms(1_000_000);
        let config = Config {
            me: peer(1),
            session: SessionId(9),
            order: Order::Documented,
            migratable,
            without_majority,
            level,
            keys: Arc::new(NamedKeys(peer(1))),
        };
        let mut net = Self {
            now,
            peers: BTreeMap::new(),
            joining: BTreeMap::new(),
            seen: BTreeMap::new(),
            under_way: VecDeque::new(),
            cut: BTreeSet::new(),
            frozen: BTreeSet::new(),
            stepped: now,
            config: config.clone(),
        };
        net.peers.insert(peer(1), Session::found(now, config));
        net.settle_in(peer(1), CanBeHost::Yes);
        for number in 2..=count {
            net.join(peer(number));
            net.run(Duration::from_millis(500));
            assert!(net.peers.contains_key(&peer(number)), "{number} is in");
            net.settle_in(peer(number), CanBeHost::Yes);
        }
        net.run(Duration::from_secs(1));
        net
    }

    pub fn join(&mut self, id: PeerId) {
        let config = Config { me: id, keys: Arc::new(NamedKeys(id)), ..self.config.clone() };
        let known = self.peers.keys().copied().collect();
        self.joining.insert(id, Joining::new(self.now, config, known));
    }

    pub fn settle_in(&mut self, id: PeerId, can_be_host: CanBeHost) {
        let now = self.now;
        let session = self.peers.get_mut(&id).unwrap();
        session.add_listener("game", Priority::PostEngine);
        session.handle(now, Input::Reachable { nat: NatType::Open, ping_ms: 40, upstream_bps: 0 });
        session.handle(now, Input::Suitable(can_be_host));
    }

    pub fn give(&mut self, id: PeerId, input: Input) {
        let now = self.now;
        self.peers.get_mut(&id).unwrap().handle(now, input);
        self.drain(id);
    }

    pub fn set(&mut self, id: PeerId, name: &str, value: &str) {
        self.give(id, Input::Set { name: name.to_owned(), value: value.to_owned() });
    }

    /// A power cut: silent.
    pub fn kill(&mut self, id: PeerId) {
        self.peers.remove(&id);
    }

    pub fn freeze(&mut self, id: PeerId) {
        self.frozen.insert(id);
    }

    pub fn thaw(&mut self, id: PeerId) {
        self.frozen.remove(&id);
        self.give(id, Input::Wake);
    }

    pub fn cut_both(&mut self, one: PeerId, other: PeerId) {
        self.cut.extend([(one, other), (other, one)]);
    }

    pub fn session(&self, id: PeerId) -> &Session {
        &self.peers[&id]
    }

    pub fn stages(&self, id: PeerId) -> &[Stage] {
        &self.seen[&id].stages
    }

    /// Whoever all of them obey.
    pub fn host(&self) -> PeerId {
        let hosts: BTreeSet<PeerId> = self.peers.values().map(Session::leader).collect();
        assert_eq!(hosts.len(), 1, "{:?}", self.peers.values().map(Session::shown).collect::<Vec<_>>());
        *hosts.first().unwrap()
    }

    pub fn run(&mut self, span: Duration) {
        let end = self.now + span;
        while self.now < end {
            let deadlines = self
                .peers
                .iter()
                .filter(|(id, _)| !self.frozen.contains(id))
                .filter_map(|(_, session)| session.next_deadline());
            let joins = self.joining.values().map(Joining::next_deadline);
            let arrivals = self.under_way.iter().map(|(at, ..)| *at);
            let next =
                deadlines.chain(joins).chain(arrivals).chain([self.stepped + STEP, end]).min().unwrap();
            self.now = next.max(self.now + Duration::from_millis(1));
            self.step_games();
            while self.under_way.front().is_some_and(|(at, ..)| *at <= self.now) {
                let (_, from, to, message) = self.under_way.pop_front().unwrap();
                self.deliver(from, to, message);
            }
            let ids: Vec<PeerId> = self.peers.keys().copied().collect();
            for id in ids.into_iter().filter(|id| !self.frozen.contains(id)).collect::<Vec<_>>() {
                self.give(id, Input::Wake);
            }
            let ids: Vec<PeerId> = self.joining.keys().copied().collect();
            for id in ids {
                let now = self.now;
                let joined = self.joining.get_mut(&id).unwrap().wake(now);
                self.joined(id, joined);
            }
        }
    }

    fn step_games(&mut self) {
        if self.now < self.stepped + STEP {
            return;
        }
        self.stepped = self.now;
        let acting: Vec<PeerId> =
            self.peers.keys().filter(|id| self.seen.get(id).is_some_and(|seen| seen.acts)).copied().collect();
        for id in acting.into_iter().filter(|id| !self.frozen.contains(id)).collect::<Vec<_>>() {
            let seen = self.seen.get_mut(&id).unwrap();
            seen.tick.0 += 1;
            let piece = snapshot(seen.tick);
            self.give(id, Input::State(piece));
        }
    }

    pub fn deliver(&mut self, from: PeerId, to: PeerId, message: Message) {
        if self.frozen.contains(&to) {
            return;
        }
        if self.peers.contains_key(&to) {
            self.give(to, Input::Message { from, message });
        } else if let Some(joining) = self.joining.get_mut(&to) {
            let joined = joining.receive(self.now, from, &message);
            self.joined(to, joined);
        }
    }

    fn joined(&mut self, id: PeerId, joined: Joined) {
        match joined {
            Joined::NotYet(outputs) => self.send(id, outputs),
            Joined::In(session) => {
                self.joining.remove(&id);
                self.peers.insert(id, *session);
                self.drain(id);
            }
            Joined::Refused(_) | Joined::NoAnswer => drop(self.joining.remove(&id)),
            Joined::Forged(why) => panic!("{why}"),
        }
    }

    fn send(&mut self, from: PeerId, outputs: Vec<Output>) {
        for output in outputs {
            if let Output::Send { to, message } = output
                && !self.cut.contains(&(from, to))
            {
                self.under_way.push_back((self.now + WAY, from, to, message));
            }
        }
    }

    fn drain(&mut self, id: PeerId) {
        loop {
            let outputs = self.peers.get_mut(&id).map(Session::take_outputs).unwrap_or_default();
            if outputs.is_empty() {
                return;
            }
            let (sends, others): (Vec<Output>, Vec<Output>) =
                outputs.into_iter().partition(|output| matches!(output, Output::Send { .. }));
            self.send(id, sends);
            for output in others {
                let seen = self.seen.entry(id).or_default();
                match &output {
                    Output::Call(call) => {
                        seen.stages.push(call.stage);
                        let (listener, number) = (call.listener, call.number);
                        let answer = Input::Answered { listener, number, state: 1, answer: Answer::Done };
                        let now = self.now;
                        self.peers.get_mut(&id).unwrap().handle(now, answer);
                    }
                    Output::Act(acting) => seen.acts = *acting == Acting::Yes,
                    Output::Lead { state, .. } if state.id() != StateId::NONE => {
                        seen.tick = state.id().tick;
                        seen.led_from = Some(seen.tick);
                    }
                    Output::Apply { from, number, .. } => seen.applied.push((*from, *number)),
                    Output::Migrated(report) => seen.reports.push(report.clone()),
                    Output::Send { .. }
                    | Output::Lead { .. }
                    | Output::Follow { .. }
                    | Output::Connected { .. }
                    | Output::Gone(_)
                    | Output::Durable(_)
                    | Output::NotTaken(_)
                    | Output::Discard(_)
                    | Output::InputForgotten { .. }
                    | Output::Rewritten { .. }
                    | Output::Confirmed(_)
                    | Output::NotSet(_)
                    | Output::Ended(_) => {}
                }
                self.seen.entry(id).or_default().outputs.push(output);
            }
        }
    }

    /// The next beat of a peer.
    pub fn beat_of(&mut self, id: PeerId) -> Beat {
        let later = self.now + Duration::from_millis(200);
        let session = self.peers.get_mut(&id).unwrap();
        session.handle(later, Input::Wake);
        let beat = session.take_outputs().into_iter().find_map(|output| {
            let Output::Send { message: Message { body: Body::Beat(beat), .. }, .. } = output else {
                return None;
            };
            Some(beat)
        });
        beat.expect("it beats ten times a second")
    }

    /// Something that somebody says without being asked.
    pub fn say(&mut self, from: PeerId, to: PeerId, body: Body) {
        let message = Message { session: self.config.session, stamp: self.session(from).stamp(), body };
        self.deliver(from, to, message);
    }
}
