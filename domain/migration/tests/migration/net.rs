//! A few peers and a network without faults but those that a test asks for; time goes from deadline to deadline.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use mainstay_core::Timestamp;
use mainstay_migration::{
    Acting, Admission, Answer, Arbiter, Beat, Body, CanBeHost, Certificate, Closed, Config, Epoch, Grant,
    Handover, Input, Joined, Joining, Keys, Kind, Level, ListenerId, MEMBERS_MAX, Message, Migratable,
    Moving, NatType, Order, Output, Pace, Pass, PeerId, Piece, Priority, Proof, Question, Receipt, Renewal,
    Report, Ruling, Session, SessionId, Signature, Stage, Stamp, StateId, Support, Tick, WithoutMajority,
};

/// When every net begins.
const BEGINNING: Timestamp = Timestamp::from_unix_ms(1_000_000);
/// One way of a message.
pub const WAY: Duration = Duration::from_millis(20);
/// To the lobby and back.
const ROUND_TRIP_MS: u64 = 40;
/// What becomes of a message that was sent: it arrives after so long.
pub type Travels = fn(&Body) -> Duration;
/// How long a pass of the lobby's is one.
pub const PASS_LASTS: Duration = Duration::from_secs(3_600);
/// How often a host's game steps.
const STEP: Duration = Duration::from_millis(100);

/// What became of one peer, as its game saw it.
#[derive(Debug, Default)]
pub struct Seen {
    pub stages: Vec<Stage>,
    /// What its listener was told with each.
    pub told: Vec<(Stage, Moving)>,
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
    /// Who was not let in.
    pub refused: BTreeMap<PeerId, Closed>,
    pub seen: BTreeMap<PeerId, Seen>,
    under_way: VecDeque<(Timestamp, PeerId, PeerId, Message)>,
    /// What came to somebody, where a test listens.
    pub overheard: Option<Vec<(PeerId, PeerId, Message)>>,
    /// Directed links that carry nothing.
    pub cut: BTreeSet<(PeerId, PeerId)>,
    /// Who has no link to whom: elsewhere all who play have one, as long as they do.
    pub unlinked: BTreeSet<(PeerId, PeerId)>,
    linked: BTreeMap<PeerId, BTreeSet<PeerId>>,
    pub frozen: BTreeSet<PeerId>,
    stepped: Timestamp,
    /// Games give what a test has them give, and nothing by themselves.
    pub idle: bool,
    pub travels: Travels,
    pub weather: Weather,
    /// What every listener answers.
    pub answers: Answer,
    /// How many messages were sent.
    pub sent: usize,
    /// And how many of them asked for a vote.
    pub claims: usize,
    pub config: Config,
    pub lobby: Lobby,
    questions: VecDeque<(Timestamp, PeerId, Question)>,
}

/// What becomes of messages: some are lost, come twice, or so late that others overtake them. Drawn from a number that goes on, so each life is the same again.
#[derive(Debug, Clone, Copy)]
pub struct Weather {
    /// How many of a hundred meet each of the three.
    pub percent: u64,
    drawn: u64,
}

impl Default for Weather {
    fn default() -> Self {
        Self { percent: 0, drawn: 0x9e37_79b9_7f4a_7c15 }
    }
}

impl Weather {
    /// The longest that one is late: as a queue of a home router holds it.
    const SPIKE_MS: u64 = 300;

    /// By how much each copy of a message is late that comes.
    fn copies(&mut self) -> Vec<Duration> {
        if self.percent == 0 {
            return vec![Duration::ZERO];
        }
        let is_lost = self.draw(100) < self.percent;
        let comes_twice = self.draw(100) < self.percent;
        let count = usize::from(!is_lost) + usize::from(comes_twice);
        (0..count)
            .map(|_| {
                let is_late = self.draw(100) < self.percent;
                Duration::from_millis(if is_late { self.draw(Self::SPIKE_MS) } else { 0 })
            })
            .collect()
    }

    /// Marsaglia's xorshift, of 64 bits.
    fn draw(&mut self, below: u64) -> u64 {
        self.drawn ^= self.drawn << 13;
        self.drawn ^= self.drawn >> 7;
        self.drawn ^= self.drawn << 17;
        self.drawn % below
    }
}

/// For how long a host may be silent that renews its lease every two seconds.
const PATIENCE: Duration = Duration::from_secs(4);

/// The smallest lobby that grants an epoch once: `domain/lobby` is the real one, and the simulator asks that.
#[derive(Debug, Default)]
pub struct Lobby {
    /// It answers nobody.
    pub down: bool,
    /// Its service's sessions do not move.
    pub stays: bool,
    pub host: Option<(Epoch, PeerId)>,
    /// Who does not reach it.
    pub cut: BTreeSet<PeerId>,
    /// From when on it counts its host's lease.
    pub renewed: Timestamp,
    /// For how long its host may be silent.
    pub patience: Duration,
    /// What it has given to members that brought a renewal.
    pub receipts: Vec<Receipt>,
    /// Everything it was asked since it was looked at, answered or not.
    pub asked: Vec<(PeerId, Question)>,
    /// Who misses its host: when each said so, and when it heard that host last.
    missed_by: BTreeMap<PeerId, (Timestamp, Option<Timestamp>)>,
}

/// For how long a report counts.
const REPORT_LIFE: Duration = Duration::from_secs(4);

/// How long a host's lease lasts.
const LEASE: Duration = Duration::from_secs(6);

/// Whose keys stand for the lobby's.
const LOBBY: PeerId = PeerId(0);

fn words(grant: &Grant) -> Vec<u8> {
    [&grant.session.0.to_be_bytes()[..], &grant.epoch.0.to_be_bytes(), &grant.host.0.to_be_bytes()].concat()
}

/// What the lobby of these tests signs.
pub fn granted(session: SessionId, epoch: Epoch, host: PeerId) -> Certificate {
    let proof = Proof::Lobby(NamedKeys(LOBBY).sign(&words(&Grant { session, epoch, host })));
    Certificate { epoch, host, proof }
}

/// What the lobby of these tests gives to whom it lets in, whose clock may be another than the peers'.
pub fn admitted(
    session: SessionId,
    holder: PeerId,
    (as_of, at): (Timestamp, Timestamp),
    expires: Timestamp,
) -> Admission {
    let unsigned = Pass { expires, player: b"ann".to_vec(), signature: Signature::default() };
    let signature = NamedKeys(LOBBY).sign(&pass_words(session, holder, &unsigned));
    Admission { pass: Pass { signature, ..unsigned }, as_of, at }
}

fn receipt_words(session: SessionId, epoch: Epoch, receipt: &Receipt) -> Vec<u8> {
    let [renewed, as_of] = [receipt.renewed, receipt.as_of].map(|at| at.unix_ms().to_be_bytes());
    [&session.0.to_be_bytes()[..], &epoch.0.to_be_bytes(), &renewed, &as_of].concat()
}

fn pass_words(session: SessionId, peer: PeerId, pass: &Pass) -> Vec<u8> {
    let expires = pass.expires.unix_ms().to_be_bytes();
    [&session.0.to_be_bytes()[..], &peer.0.to_be_bytes(), &expires, &pass.player].concat()
}

impl Lobby {
    fn answer(
        &mut self,
        now: Timestamp,
        session: SessionId,
        from: PeerId,
        question: Question,
    ) -> Option<Ruling> {
        self.asked.push((from, question.clone()));
        let (newest, host) = self.host.filter(|_| !self.down && !self.cut.contains(&from))?;
        let told = Ruling::Host(granted(session, newest, host));
        let is_given = matches!(question, Question::HandOver { .. });
        let (epoch, next) = match question {
            Question::Renew { epoch, pace, .. } => {
                if (epoch, from) != (newest, host) {
                    return Some(told);
                }
                self.renewed = now;
                self.patience = match pace {
                    Pace::Usual => PATIENCE,
                    Pace::Quick => PATIENCE / 4,
                };
                return Some(Ruling::Noted(epoch));
            }
            Question::Bring { epoch, renewal, .. } => {
                let words = Renewal::words(session, epoch, renewal.as_of);
                if epoch != newest || !NamedKeys(host).is_by(host, &words, &renewal.signature) {
                    return Some(told);
                }
                self.renewed = self.renewed.max(renewal.as_of);
                let unsigned =
                    Receipt { renewed: renewal.as_of, as_of: now, signature: Signature::default() };
                let signature = NamedKeys(LOBBY).sign(&receipt_words(session, epoch, &unsigned));
                let receipt = Receipt { signature, ..unsigned };
                self.receipts.push(receipt.clone());
                return Some(Ruling::Counted(receipt));
            }
            Question::Misses { epoch, silent } => {
                self.missed_by.insert(from, (now, silent.map(|silent| now.back(silent))));
                if self.stays && now >= self.renewed + LEASE {
                    return Some(Ruling::Stays);
                }
                return Some(if epoch == newest { Ruling::Noted(epoch) } else { told });
            }
            Question::HandOver { epoch, to } => (epoch, to),
            Question::Claim { epoch } => (epoch, from),
        };
        let is_silent = now >= self.renewed + self.patience;
        // Of two and three members that is more than half; larger sessions are the real lobby's matter.
        let is_missed = is_silent || self.missed_by.len() >= 2;
        let own = self.missed_by.get(&from).and_then(|(_, heard)| *heard);
        let is_later = |heard: Timestamp| own.is_none_or(|own| own + Duration::from_secs(1) < heard);
        let comes_first = |(peer, (at, heard)): (&PeerId, &(Timestamp, Option<Timestamp>))| {
            *peer != from && now < *at + REPORT_LIFE && heard.is_some_and(is_later)
        };
        let is_next = !self.missed_by.iter().any(comes_first);
        let may = is_given || from == host || is_missed && is_next;
        if epoch != newest {
            return Some(told);
        } else if self.stays {
            return Some(Ruling::Stays);
        } else if !may {
            return Some(Ruling::Stands);
        }
        let granted_now = (newest.next(), next);
        (self.host, self.renewed, self.patience) = (Some(granted_now), now, PATIENCE);
        self.missed_by.clear();
        Some(Ruling::Host(granted(session, granted_now.0, granted_now.1)))
    }
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

    fn is_of_lobby(&self, grant: &Grant, signature: &Signature) -> bool {
        self.is_by(LOBBY, &words(grant), signature)
    }

    fn is_pass(&self, session: SessionId, peer: PeerId, pass: &Pass) -> bool {
        self.is_by(LOBBY, &pass_words(session, peer, pass), &pass.signature)
    }

    fn is_receipt(&self, session: SessionId, epoch: Epoch, receipt: &Receipt) -> bool {
        self.is_by(LOBBY, &receipt_words(session, epoch, receipt), &receipt.signature)
    }
}

pub fn peer(number: u128) -> PeerId {
    PeerId(number)
}

/// The game at that tick.
pub fn snapshot(tick: Tick) -> Piece {
    Piece { tick, kind: Kind::Snapshot, bytes: tick.0.to_be_bytes().to_vec() }
}

/// How a session is made.
#[derive(Debug, Clone, Copy)]
pub struct Made {
    pub session: SessionId,
    pub arbiter: Arbiter,
    pub migratable: Migratable,
    pub without_majority: WithoutMajority,
    pub level: Level,
    pub size: usize,
}

impl Made {
    pub const DEFAULT: Self = Self {
        session: SessionId(9),
        arbiter: Arbiter::Majority,
        migratable: Migratable::Yes,
        without_majority: WithoutMajority::Fork,
        level: Level::Asynchronous,
        size: MEMBERS_MAX,
    };

    pub fn config(self) -> Config {
        let Self { session, arbiter, migratable, without_majority, level, size } = self;
        let now = BEGINNING;
        let admission = admitted(session, peer(1), (now, now), now + PASS_LASTS);
        Config {
            me: peer(1),
            admission: (arbiter == Arbiter::Lobby).then_some(admission),
            session,
            arbiter,
            order: Order::Documented,
            migratable,
            without_majority,
            level,
            size,
            support: Support::Supported,
            keys: Arc::new(NamedKeys(peer(1))),
        }
    }

    /// And so many are in it.
    fn by(self, count: u128) -> Net {
        Net::created(self, count)
    }
}

impl Net {
    /// A session of so many, with one listener each, all of them suitable and open.
    pub fn of(count: u128) -> Self {
        Made::DEFAULT.by(count)
    }

    pub fn with(count: u128, migratable: Migratable, without_majority: WithoutMajority) -> Self {
        Made { migratable, without_majority, ..Made::DEFAULT }.by(count)
    }

    /// The same peers in another session.
    pub fn of_session(session: SessionId, count: u128) -> Self {
        Made { session, ..Made::DEFAULT }.by(count)
    }

    /// As many as may be in it.
    pub fn full(count: u128) -> Self {
        Made { size: count as usize, ..Made::DEFAULT }.by(count)
    }

    pub fn at_level(count: u128, level: Level) -> Self {
        Made { level, ..Made::DEFAULT }.by(count)
    }

    /// One that waits where it has no majority.
    pub fn that_stands_still(count: u128, level: Level) -> Self {
        Made { without_majority: WithoutMajority::Hold, level, ..Made::DEFAULT }.by(count)
    }

    pub fn under_lobby(count: u128, without_majority: WithoutMajority) -> Self {
        Made { arbiter: Arbiter::Lobby, without_majority, ..Made::DEFAULT }.by(count)
    }

    fn created(made: Made, count: u128) -> Self {
        Self::founded(made.config(), count)
    }

    /// One that was made so.
    pub fn founded(config: Config, count: u128) -> Self {
        let (now, arbiter) = (BEGINNING, config.arbiter);
        let mut net = Self {
            now,
            peers: BTreeMap::new(),
            joining: BTreeMap::new(),
            refused: BTreeMap::new(),
            seen: BTreeMap::new(),
            under_way: VecDeque::new(),
            overheard: None,
            cut: BTreeSet::new(),
            unlinked: BTreeSet::new(),
            linked: BTreeMap::new(),
            frozen: BTreeSet::new(),
            stepped: now,
            idle: false,
            travels: |_| WAY,
            weather: Weather::default(),
            sent: 0,
            answers: Answer::Done,
            claims: 0,
            config: config.clone(),
            lobby: Lobby {
                host: Some((Epoch::FIRST, peer(1))),
                renewed: now,
                patience: PATIENCE,
                ..Lobby::default()
            },
            questions: VecDeque::new(),
        };
        let founder = match arbiter {
            Arbiter::Majority => Session::found(now, config),
            Arbiter::Lobby => {
                let certificate = granted(config.session, Epoch::FIRST, peer(1));
                Session::found_certified(now, config, &certificate).unwrap()
            }
        };
        net.peers.insert(peer(1), founder);
        net.settle_in(peer(1), CanBeHost::Yes);
        for number in 2..=count {
            net.join(peer(number));
            net.run(Duration::from_millis(500));
            assert!(net.peers.contains_key(&peer(number)), "{number} is in");
            net.settle_in(peer(number), CanBeHost::Yes);
        }
        // And all are counted.
        net.run(Duration::from_secs(3));
        net
    }

    /// Somebody wants in, whom the lobby, where there is one, has let in.
    pub fn join(&mut self, id: PeerId) {
        let under_lobby = self.config.arbiter == Arbiter::Lobby;
        let admission = admitted(self.config.session, id, (self.now, self.now), self.now + PASS_LASTS);
        self.join_with(id, under_lobby.then_some(admission));
    }

    /// Somebody wants in, with that.
    pub fn join_with(&mut self, id: PeerId, admission: Option<Admission>) {
        self.join_as(id, Config { admission, ..self.config.clone() });
    }

    /// Somebody wants in whose own program says that of the session.
    pub fn join_as(&mut self, id: PeerId, config: Config) {
        let config = Config { me: id, keys: Arc::new(NamedKeys(id)), ..config };
        let known = self.peers.keys().copied().collect();
        self.joining.insert(id, Joining::new(self.now, config, known));
    }

    /// Whether anybody wants in who was neither let in nor refused, and still hopes.
    pub fn somebody_asks(&self) -> bool {
        !self.joining.is_empty()
    }

    pub fn settle_in(&mut self, id: PeerId, can_be_host: CanBeHost) {
        let now = self.now;
        let session = self.peers.get_mut(&id).unwrap();
        session.add_listener(ListenerId(0), "game", Priority::PostEngine);
        session.handle(now, Input::Reachable { nat: NatType::Open, ping_ms: 40 });
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

    /// What is on its way to that one, of those, is lost.
    pub fn lose(&mut self, to: PeerId, is_meant: impl Fn(&Body) -> bool) {
        self.under_way.retain(|(_, _, of, message)| *of != to || !is_meant(&message.body));
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
            let arrivals = arrivals.chain(self.questions.iter().map(|(at, ..)| *at));
            let next =
                deadlines.chain(joins).chain(arrivals).chain([self.stepped + STEP, end]).min().unwrap();
            self.now = next.max(self.now + Duration::from_millis(1));
            self.step_games();
            while self.under_way.front().is_some_and(|(at, ..)| *at <= self.now) {
                let (_, from, to, message) = self.under_way.pop_front().unwrap();
                self.deliver(from, to, message);
            }
            self.ask_lobby();
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

    /// A question takes a way to the lobby, and its answer one back: both of them here at once.
    fn ask_lobby(&mut self) {
        while self.questions.front().is_some_and(|(at, ..)| *at <= self.now) {
            let (at, from, question) = self.questions.pop_front().unwrap();
            let ruling = self.lobby.answer(self.now, self.config.session, from, question);
            if let Some(ruling) =
                ruling.filter(|_| self.peers.contains_key(&from) && !self.frozen.contains(&from))
            {
                let asked = Timestamp::from_unix_ms(at.unix_ms() - ROUND_TRIP_MS);
                self.give(from, Input::Lobby { asked, ruling });
            }
        }
    }

    fn tell_links(&mut self) {
        let awake = self.peers.iter().filter(|(id, _)| !self.frozen.contains(id));
        let links = awake.map(|(id, session)| {
            let others = session.roster().members.keys().filter(|other| *other != id);
            (*id, others.copied().filter(|other| !self.unlinked.contains(&(*id, *other))).collect())
        });
        for (id, links) in links.collect::<Vec<(PeerId, BTreeSet<PeerId>)>>() {
            if self.linked.insert(id, links.clone()).as_ref() != Some(&links) {
                self.give(id, Input::Linked(links));
            }
        }
    }

    fn step_games(&mut self) {
        if self.now < self.stepped + STEP {
            return;
        }
        self.stepped = self.now;
        self.tell_links();
        if self.idle {
            return;
        }
        let acting: Vec<PeerId> =
            self.peers.keys().filter(|id| self.seen.get(id).is_some_and(|seen| seen.acts)).copied().collect();
        for id in acting.into_iter().filter(|id| !self.frozen.contains(id)).collect::<Vec<_>>() {
            let seen = self.seen.get_mut(&id).unwrap();
            seen.tick.0 += 1;
            let piece = snapshot(seen.tick);
            self.give(id, Input::State(piece));
            self.peers.get_mut(&id).unwrap().read_deeds();
            self.drain(id);
        }
    }

    pub fn deliver(&mut self, from: PeerId, to: PeerId, message: Message) {
        if self.frozen.contains(&to) {
            return;
        }
        if let Some(overheard) = &mut self.overheard {
            overheard.push((from, to, message.clone()));
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
            Joined::Refused(why) => {
                self.joining.remove(&id);
                self.refused.insert(id, why);
            }
            Joined::NoAnswer => drop(self.joining.remove(&id)),
            Joined::Forged(why) => panic!("{why}"),
        }
    }

    fn send(&mut self, from: PeerId, outputs: Vec<Output>) {
        for output in outputs {
            if let Output::Send { to, message } = output
                && !self.cut.contains(&(from, to))
            {
                self.sent += 1;
                self.claims += usize::from(matches!(message.body, Body::Claim(_)));
                let usual = self.now + (self.travels)(&message.body);
                for late in self.weather.copies() {
                    let at = usual + late;
                    let after = self.under_way.partition_point(|(due, ..)| *due <= at);
                    self.under_way.insert(after, (at, from, to, message.clone()));
                }
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
                    Output::AskLobby { asked, question } => {
                        let at = *asked + Duration::from_millis(ROUND_TRIP_MS);
                        self.questions.push_back((at, id, question.clone()));
                    }
                    Output::Call(call, moving) => {
                        seen.stages.push(call.stage);
                        seen.told.push((call.stage, *moving));
                        let (listener, number) = (call.listener, call.number);
                        let answer =
                            Input::Answered { listener, number, state: 1, answer: self.answers.clone() };
                        let now = self.now;
                        self.peers.get_mut(&id).unwrap().handle(now, answer);
                    }
                    Output::SomebodyBetter(who) if !self.idle => {
                        // What it did since it gave a state goes along.
                        seen.tick.0 += 1;
                        let last = snapshot(seen.tick);
                        let (now, to) = (self.now, Some(*who));
                        let hand_over = Input::HandOver { to, why: Handover::Lobby, last };
                        self.peers.get_mut(&id).unwrap().handle(now, hand_over);
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
                    | Output::HostNoMore { .. }
                    | Output::Durable(_)
                    | Output::NotTaken(_)
                    | Output::SomebodyBetter(_)
                    | Output::NobodyBetter
                    | Output::Progress(_)
                    | Output::Discard(_)
                    | Output::InputForgotten { .. }
                    | Output::Rewritten { .. }
                    | Output::Confirmed(_)
                    | Output::StateWanted(_)
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

    /// Something that somebody says to the founder who is on its way in.
    pub fn say_as_newcomer(&mut self, from: PeerId, body: Body) {
        let message = Message { session: self.config.session, stamp: Stamp::NOBODY, body };
        self.deliver(from, peer(1), message);
    }

    /// Something that somebody says without being asked.
    pub fn say(&mut self, from: PeerId, to: PeerId, body: Body) {
        let message = Message { session: self.config.session, stamp: self.session(from).stamp(), body };
        self.deliver(from, to, message);
    }
}
