//! The lobby of a world whose session has one: the production rules (`mainstay_lobby::Lobby`), between lost questions, and
//! down now and then.
//!
//! It is asked as `game/peer` asks over HTTP: hands that are no members any more join again, and whoever changed its mind on
//! being host says so first.

use std::collections::BTreeMap;

use mainstay_core::{StateMachine as _, Timestamp, Turn};
use mainstay_lobby::{
    self as lobby, Answer, Authority, CanBeHost, Command, Joiner, Lease, Lobby, Misses, Observation, PeerKey,
    Player, Rejection, Service, Session, Settings, Support, Takeover,
};
use mainstay_migration::{
    Admission, Arbiter, Certificate, Epoch, Grant, Guards, Input, Keys as _, Pace, Pass, PeerId, Proof,
    Question, Receipt, Renewal, Ruling, SessionId, Signature, Standing,
};

use super::keys::NamedKeys;
use super::scenario::Clocks;
use super::{BEGIN_MS, Happening, World};
use crate::agenda::Micros;
use crate::laws::{Broken, ensure};

/// Whose keys stand for the lobby's.
pub(super) const LOBBY: PeerId = PeerId(0);
/// How long a pass lasts: a day.
const PASS_MS: u64 = 86_400_000;
/// How many seats a world's session has: nobody is kept out for want of one.
const SEATS: u32 = 64;

/// A lobby and what is wrong with it.
#[derive(Debug, Default)]
pub(super) struct Directory {
    rules: Lobby,
    down: bool,
    /// Until when somebody's questions do not get there.
    cut: BTreeMap<PeerId, Micros>,
    /// Whom hosts have thrown out and not told yet.
    kicked: Vec<(PeerId, PeerId)>,
    /// Until when it was away for somebody, at most.
    away_until: Micros,
    /// How much faster its clock goes than the world's, or slower: a control plane's is steered towards the wall clock so.
    skew: i64,
}

/// How many of a million microseconds that is at most: a tenth.
const SKEW_MAX: u64 = 100_000;

/// What the lobby signs, in this world.
pub(super) fn signed(grant: &Grant) -> Signature {
    let words =
        [&grant.session.0.to_be_bytes()[..], &grant.epoch.0.to_be_bytes(), &grant.host.0.to_be_bytes()];
    NamedKeys(LOBBY).sign(&words.concat())
}

/// And of passes.
pub(super) fn signed_pass(session: SessionId, peer: PeerId, pass: &Pass) -> Signature {
    let expires = pass.expires.unix_ms().to_be_bytes();
    let words = [&session.0.to_be_bytes()[..], &peer.0.to_be_bytes(), &expires, &pass.player];
    NamedKeys(LOBBY).sign(&words.concat())
}

/// And of what members brought.
pub(super) fn signed_receipt(session: SessionId, epoch: Epoch, receipt: &Receipt) -> Signature {
    let [renewed, as_of] = [receipt.renewed, receipt.as_of].map(|at| at.unix_ms().to_be_bytes());
    let words = [&session.0.to_be_bytes()[..], &epoch.0.to_be_bytes(), &renewed, &as_of];
    NamedKeys(LOBBY).sign(&words.concat())
}

fn key(peer: PeerId) -> PeerKey {
    let mut bytes = [0; 32];
    bytes[..16].copy_from_slice(&peer.0.to_be_bytes());
    PeerKey(bytes)
}

pub(super) fn peer_of(key: &PeerKey) -> PeerId {
    PeerId(key.0[..16].iter().fold(0, |sum, byte| sum << 8 | u128::from(*byte)))
}

impl<G: Guards> World<G> {
    pub(super) fn has_lobby(&self) -> bool {
        self.scenario.arbiter == Arbiter::Lobby
    }

    fn session_id(&self) -> mainstay_core::SessionId {
        mainstay_core::SessionId(uuid::Uuid::from_u128(self.session.0))
    }

    fn joiner(&self, peer: PeerId) -> Joiner {
        Joiner {
            peer: key(peer),
            player: Player(format!("player of {peer}").into()),
            can_be_host: self.can_be_host(peer),
            addresses: Vec::new(),
        }
    }

    fn can_be_host(&self, peer: PeerId) -> CanBeHost {
        match self.peers[&peer].suitable {
            mainstay_migration::CanBeHost::Yes => CanBeHost::Yes,
            mainstay_migration::CanBeHost::NotYet => CanBeHost::NotYet,
        }
    }

    fn lobby_time(&self) -> Timestamp {
        let gained = i128::from(self.now) * i128::from(self.lobby.skew) / 1_000_000;
        let counted = self.now.saturating_add_signed(i64::try_from(gained).unwrap_or_default());
        Timestamp::from_unix_ms(BEGIN_MS + counted / 1_000)
    }

    /// Its clock goes otherwise than the world's, where clocks are bad.
    pub(super) fn skews_lobby(&mut self) {
        if self.scenario.clocks == Clocks::Bad {
            let drawn = self.fates.below(2 * SKEW_MAX + 1);
            self.lobby.skew = i64::try_from(drawn).unwrap_or_default() - SKEW_MAX.cast_signed();
        }
    }

    /// One turn of the lobby; whatever is due has its own before.
    fn turn(&mut self, command: &Command) -> Result<Answer, Rejection> {
        let now = self.lobby_time();
        let rules = &mut self.lobby.rules;
        while rules.next_deadline().is_some_and(|(at, _)| at <= now) {
            if Turn::run(now, rules, &Command::Due).answer.is_err() {
                break;
            }
        }
        Turn::run(now, rules, command).answer
    }

    fn reaches_lobby(&self, peer: PeerId) -> bool {
        !self.lobby.down && self.lobby.cut.get(&peer).is_none_or(|until| *until <= self.now)
    }

    /// The founder makes its session, and is certified.
    pub(super) fn makes_session(&mut self, founder: PeerId) -> Result<Certificate, Broken> {
        let settings = Settings { takeover: self.scenario.takeover, ..Settings::of_size(SEATS) };
        let (session, by) = (self.session_id(), self.joiner(founder));
        match self.turn(&Command::Create { session, service: Service::Online, settings, by }) {
            Ok(Answer::Session(session)) => {
                self.oracle.let_in(founder);
                self.newest(&session).ok_or_else(|| Broken::new("who makes is host", founder))
            }
            other => Err(Broken::new("a session can be made", format!("{other:?}"))),
        }
    }

    /// Whether the lobby lets somebody in now; else it asks again later.
    pub(super) fn is_let_in_by_lobby(&mut self, peer: PeerId) -> bool {
        let (session, by) = (self.session_id(), self.joiner(peer));
        let is_in = self.reaches_lobby(peer) && self.turn(&Command::Join { session, by }).is_ok();
        if is_in {
            self.oracle.let_in(peer);
        }
        is_in
    }

    /// What the lobby gives to whom it lets in.
    pub(super) fn admits(&self, peer: PeerId) -> Admission {
        self.pass_of(peer, self.session, self.tomorrow())
    }

    fn pass_of(&self, peer: PeerId, session: SessionId, expires: Timestamp) -> Admission {
        let (as_of, at) = (self.lobby_time(), self.clock(peer));
        let unsigned = Pass { expires, player: b"ann".to_vec(), signature: Signature::default() };
        let signature = signed_pass(session, peer, &unsigned);
        Admission { pass: Pass { signature, ..unsigned }, as_of, at }
    }

    fn tomorrow(&self) -> Timestamp {
        Timestamp::from_unix_ms(self.lobby_time().unix_ms() + PASS_MS)
    }

    /// What somebody shows whom the lobby has not let in.
    pub(super) fn worthless_pass(&mut self, intruder: PeerId) -> Option<Admission> {
        let member = self.running().into_iter().next();
        match self.random.below(5) {
            // One that has run out, whatever clock one goes by.
            0 => {
                let yesterday = self.lobby_time().unix_ms() - PASS_MS;
                Some(self.pass_of(intruder, self.session, Timestamp::from_unix_ms(yesterday)))
            }
            1 => Some(self.pass_of(intruder, SessionId(self.session.0 + 1), self.tomorrow())),
            // A member's, which it saw.
            2 => member.map(|member| self.pass_of(member, self.session, self.tomorrow())),
            3 => {
                let admission = self.pass_of(intruder, self.session, self.tomorrow());
                let signature = NamedKeys(intruder).sign(b"let me in");
                Some(Admission { pass: Pass { signature, ..admission.pass }, ..admission })
            }
            _ => None,
        }
    }

    fn granted(&self) -> Option<lobby::Grant> {
        self.lobby.rules.session(self.session_id()).ok()?.grant
    }

    /// A member, as the lobby knows it.
    pub(super) fn lobby_member(&self, peer: PeerId) -> Option<&lobby::Member> {
        self.lobby.rules.session(self.session_id()).ok()?.members.get(&key(peer))
    }

    /// The certificate of a session's newest host: from now on somebody may know it.
    fn newest(&mut self, session: &Session) -> Option<Certificate> {
        let grant = session.grant?;
        let (epoch, host) = (Epoch(grant.epoch.0), peer_of(&grant.host));
        if self.oracle.crown(epoch, host, self.now) {
            self.counts.certified += 1;
            self.say(host, |_| format!("is certified for {epoch} by the lobby"));
        }
        let proof = Proof::Lobby(signed(&Grant { session: self.session, epoch, host }));
        Some(Certificate { epoch, host, proof })
    }

    /// A peer's question is on its way.
    pub(super) fn asks_lobby(&mut self, peer: PeerId, asked: Timestamp, question: Question) {
        if self.random.chance(self.scenario.loss) {
            return self.oracle.trouble_between(peer, LOBBY, self.now);
        }
        let way = self.way_to_lobby();
        self.after(way, Happening::Asks { peer, asked, question });
    }

    fn way_to_lobby(&mut self) -> Micros {
        self.scenario.delay + self.random.below(self.scenario.jitter + 1)
    }

    /// It gets there, and is answered, if the lobby is there.
    pub(super) fn is_asked(
        &mut self,
        peer: PeerId,
        asked: Timestamp,
        question: &Question,
    ) -> Result<(), Broken> {
        if !self.reaches_lobby(peer) {
            self.is_answered_by_another(peer, asked, question);
            return Ok(());
        }
        self.counts.questions += 1;
        let (before, grant) = (self.counts.certified, self.granted());
        let Some(ruling) = self.rules_on(peer, question) else { return Ok(()) };
        if let (Some(former), Question::Claim { .. }) = (grant.filter(|_| grant != self.granted()), question)
        {
            super::laws::grants(self, peer, former)?;
        }
        if self.counts.certified > before && self.lobby_meets(peer)? {
            return Ok(());
        }
        if self.random.chance(self.scenario.loss) {
            self.oracle.trouble_between(peer, LOBBY, self.now);
            return Ok(());
        }
        let way = self.way_to_lobby();
        self.after(way, Happening::Ruled { peer, asked, ruling });
        Ok(())
    }

    pub(super) fn is_ruled(&mut self, peer: PeerId, asked: Timestamp, ruling: Ruling) -> Result<(), Broken> {
        self.hears_of_flag(peer)?;
        self.give(peer, Input::Lobby { asked, ruling })
    }

    /// Somebody turns a service's flag.
    pub(super) fn configures(&mut self, service: Service, migration: Support) -> Result<(), Broken> {
        let told = self.turn(&Command::Configure { service, migration });
        told.map(drop).map_err(|why| Broken::new("a service's flag can be turned", format!("{why}")))
    }

    fn rules_on(&mut self, peer: PeerId, question: &Question) -> Option<Ruling> {
        if self.keeps_to_itself(peer, question) {
            return Some(Ruling::Stands);
        }
        let session = self.session_id();
        for (_, kicked) in self.lobby.kicked.extract_if(.., |(host, _)| *host == peer).collect::<Vec<_>>() {
            // As a studio may at any time, also the host of now.
            let _refused = self.turn(&Command::Kick { session, peer: key(kicked), by: Authority::Studio });
        }
        let known = match self.turn(&Command::Due).and(self.lobby.rules.session(session).cloned()) {
            Ok(known) => known,
            Err(_ended) => return Some(Ruling::Over),
        };
        match known.members.get(&key(peer)) {
            None => match self.turn(&Command::Join { session, by: self.joiner(peer) }) {
                Ok(_) => {}
                Err(Rejection::Moving { .. }) => return None,
                Err(_refused) => return Some(Ruling::Over),
            },
            Some(member) if member.can_be_host != self.can_be_host(peer) => {
                let (peer, can_be_host) = (key(peer), self.can_be_host(peer));
                let says = Command::Introduce { session, peer, can_be_host, addresses: Vec::new() };
                self.turn(&says).ok()?;
            }
            Some(_) => {}
        }
        match question {
            Question::Renew { epoch, pace, hears } => {
                let (host, hears) = (key(peer), hears.iter().copied().map(key).collect());
                let epoch = lobby::Epoch(epoch.0);
                let renewal = lobby::Renewal::Now(match pace {
                    Pace::Usual => lobby::Pace::Usual,
                    Pace::Quick => lobby::Pace::Quick,
                });
                self.notes(epoch, Observation::Renewed { session, epoch, host, renewal, hears })
            }
            Question::Bring { epoch, renewal, hears } => self.takes_brought(peer, *epoch, renewal, hears),
            Question::Misses { epoch, silent } => {
                let (peer, epoch) = (key(peer), lobby::Epoch(epoch.0));
                let misses = Misses::Yes { silent: *silent };
                let noted = self.notes(epoch, Observation::Misses { session, epoch, peer, misses });
                let known = self.lobby.rules.session(session).ok()?;
                let goes_on = self.lobby.rules.goes_on(known, self.lobby_time()).is_ok();
                if goes_on { noted } else { Some(Ruling::Stays) }
            }
            Question::Claim { epoch } => {
                let expected = lobby::Epoch(epoch.0);
                self.decides(&Command::Claim { session, expected, by: key(peer), as_of: None })
            }
            Question::HandOver { epoch, to } => {
                let expected = lobby::Epoch(epoch.0);
                self.decides(&Command::HandOver {
                    session,
                    expected,
                    by: key(peer),
                    to: key(*to),
                    as_of: None,
                })
            }
        }
    }

    fn notes(&mut self, epoch: lobby::Epoch, observed: Observation) -> Option<Ruling> {
        let (now, session) = (self.lobby_time(), self.session_id());
        let known = self.lobby.rules.session(session).ok()?.clone();
        if known.epoch() != epoch {
            return self.newest(&known).map(Ruling::Host);
        }
        self.lobby.rules.observe(now, observed);
        Some(Ruling::Noted(Epoch(epoch.0)))
    }

    /// What a member brings of its host, as `services/control` takes it.
    fn takes_brought(
        &mut self,
        by: PeerId,
        epoch: Epoch,
        renewal: &Renewal,
        hears: &[PeerId],
    ) -> Option<Ruling> {
        let (now, session) = (self.lobby_time(), self.session_id());
        let known = self.lobby.rules.session(session).ok()?.clone();
        let grant = known.grant?;
        if grant.epoch.0 != epoch.0 {
            return self.newest(&known).map(Ruling::Host);
        }
        let words = Renewal::words(self.session, epoch, renewal.as_of);
        if !NamedKeys(by).is_by(peer_of(&grant.host), &words, &renewal.signature) {
            return None;
        }
        let (host, epoch_of) = (grant.host, grant.epoch);
        let rules = &mut self.lobby.rules;
        let misses = Misses::No;
        rules.observe(now, Observation::Misses { session, epoch: epoch_of, peer: key(by), misses });
        let brought = lobby::Renewal::AsOf(renewal.as_of);
        let hears = hears.iter().copied().map(key).collect();
        rules.observe(now, Observation::Renewed { session, epoch: epoch_of, host, renewal: brought, hears });
        if !rules.lease(&known, now).has_counted(renewal.as_of, now) {
            return Some(Ruling::Noted(epoch));
        }
        self.counts.brought += 1;
        let unsigned = Receipt { renewed: renewal.as_of, as_of: now, signature: Signature::default() };
        let signature = signed_receipt(self.session, epoch, &unsigned);
        Some(Ruling::Counted(Receipt { signature, ..unsigned }))
    }

    fn decides(&mut self, command: &Command) -> Option<Ruling> {
        let answer = self.turn(command);
        let session = self.lobby.rules.session(self.session_id()).ok()?.clone();
        match answer {
            Ok(_) | Err(Rejection::Passed { .. } | Rejection::NotHost(_)) => {
                self.newest(&session).map(Ruling::Host)
            }
            Err(
                Rejection::LeaseStands { .. } | Rejection::LeaseToEnd { .. } | Rejection::OthersFirst { .. },
            ) => Some(Ruling::Stands),
            Err(Rejection::Unsuitable(_) | Rejection::NotMember(_)) => Some(Ruling::Unfit),
            Err(Rejection::Unsupported(_) | Rejection::NotMigratable) => Some(Ruling::Stays),
            Err(_) => None,
        }
    }

    /// A peer's hands leave for it; where the lobby is away they do not try for ever.
    pub(super) fn leaves_lobby(&mut self, peer: PeerId) {
        if self.has_lobby() && self.reaches_lobby(peer) {
            // It may have been none any more.
            let _gone = self.turn(&Command::Leave { session: self.session_id(), peer: key(peer) });
        }
    }

    pub(super) fn is_kicked_from_lobby(&mut self, host: PeerId, peer: PeerId) {
        self.lobby.kicked.push((host, peer));
    }

    /// Its process ends, and somebody starts it again.
    pub(super) fn lobby_stops(&mut self, span: Micros) {
        self.lobby.down = true;
        self.lobby.away_until = self.lobby.away_until.max(self.now + span);
    }

    /// Whether somebody may not have been answered since then.
    pub(super) const fn has_lobby_been_away_since(&self, since: Micros) -> bool {
        self.lobby.away_until > since
    }

    /// Whether the lobby waits for the end of a lease that its host renews, though so many miss that host.
    pub(super) fn lobby_keeps_its_host(&self, missed_by: usize) -> bool {
        let Ok(session) = self.lobby.rules.session(self.session_id()) else { return false };
        let is_held = matches!(self.lobby.rules.lease(session, self.lobby_time()), Lease::Held { .. });
        let may_miss = match self.scenario.takeover {
            Takeover::Strict => usize::MAX,
            Takeover::Fast => self.running().len() / 2,
        };
        is_held && missed_by <= may_miss
    }

    /// The lobby dies and comes back, or some do not reach it for a while.
    pub(super) fn strikes_lobby(&mut self) {
        let span = self.random.between(200_000, 25_000_000);
        self.counts.outages += 1;
        if self.random.chance(500_000) {
            self.lobby_stops(span);
            self.after(span, Happening::LobbyStarts);
            return self.say("lobby", |_| format!("is down for {span} µs"));
        }
        let until = self.now + span;
        self.lobby.away_until = self.lobby.away_until.max(until);
        for peer in self.running() {
            if self.random.chance(500_000) {
                self.lobby.cut.insert(peer, until);
            }
        }
        self.say("lobby", |world| format!("until {until} µs out of reach of {:?}", world.lobby.cut.keys()));
    }

    /// The host alone does not reach the lobby, for ten leases at most.
    pub(super) fn cuts_host_from_lobby(&mut self) {
        let Some(host) = self.host().filter(|_| self.running().len() > 1) else { return };
        let span = self.random.between(1_000_000, 60_000_000);
        self.lobby.cut.insert(host, self.now + span);
        self.lobby.away_until = self.lobby.away_until.max(self.now + span);
        self.counts.outages += 1;
        self.say(host, |_| format!("does not reach the lobby for {span} µs"));
    }

    /// Where nobody but the host is out of the lobby's reach, nothing is lost by it: the lobby counts its lease, and it knows that.
    pub(super) fn lease_stands(&self, id: PeerId) -> Result<(), Broken> {
        let Ok(known) = self.lobby.rules.session(self.session_id()) else { return Ok(()) };
        let lease = self.lobby.rules.lease(known, self.lobby_time());
        ensure(
            matches!(lease, Lease::Awaited { .. } | Lease::Held { .. }),
            "a lease stands while members reach host and lobby",
            || format!("{lease:?}"),
        )?;
        let standing = self.peers[&id].session().and_then(mainstay_migration::Session::standing);
        ensure(standing != Some(Standing::Unconfirmed), "and its host knows that it does", || id)?;
        ensure(known.members.contains_key(&key(id)), "and nobody is lost whom the host hears", || id)
    }

    /// It is up again: what was durable is there, and nothing else.
    pub(super) fn lobby_starts(&mut self) -> Result<(), Broken> {
        if !std::mem::take(&mut self.lobby.down) {
            return Ok(());
        }
        self.say("lobby", |_| "is up".to_owned());
        let mut replayed = Lobby::default();
        for (at, event) in self.lobby.rules.snapshot() {
            replayed.apply(at, &event);
        }
        let before = std::mem::replace(&mut self.lobby.rules, replayed);
        ensure(before.snapshot() == self.lobby.rules.snapshot(), "a lobby forgets no grant", || "its restart")
    }

    pub(super) fn heal_lobby(&mut self) {
        self.lobby.cut.clear();
        if self.lobby.down {
            self.after(1, Happening::LobbyStarts);
        }
    }
}
