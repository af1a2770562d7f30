//! One member's calls to its lobby.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use mainstay_core::Timestamp;
use mainstay_migration::{CanBeHost, Epoch, Pace, PeerId, Question, Renewal, Ruling};
use mainstay_wire::lobby::{bytes, peer_of};
use mainstay_wire::native::{
    BeatAnswer, BeatRequest, ClaimRequest, MemberAnswer, MemberUpdate, MemberView, PaceView, SessionView,
    refused,
};
use mainstay_wire::peer::{ADDRESSES_MAX, Card};
use mainstay_wire::problem::Problem;
use serde::Serialize;
use serde::de::DeserializeOwned;
use ureq::http::StatusCode;

use super::door::{Answered, As, is_passing};
use super::entry::berth_of;
use super::guest::Guest;
use super::signed::{certificate_of, pass_of, receipt_of, relayed_of};
use super::{Done, Heeded, Listing, Lobby, LobbyError, News, Token};
use crate::Support;

/// How often a member tries to renew what it has, where that fails: in the half of its life that is left, ten times at least.
const RENEW_AGAIN: Duration = Duration::from_secs(60);

/// How many keys are remembered, before those who are members now come in: four times the largest session's.
const KEYS_MAX: usize = 256;

/// A member of a session.
#[derive(Debug)]
pub(crate) struct Member {
    guest: Guest,
    session: String,
    token: Token,
    /// Members' keys as the lobby writes them, and of some who were members.
    keys: BTreeMap<PeerId, String>,
    /// Whom the lobby keeps out.
    kicked: BTreeSet<PeerId>,
    can_be_host: CanBeHost,
    /// How often the session has changed, as far as this member has read.
    revision: u64,
    clock: LobbyClock,
    /// Of its token and its pass.
    freshness: Freshness,
    /// Until the hands ask.
    news: Vec<News>,
}

/// Where the members of a session say that they are.
pub(super) fn cards(session: &SessionView) -> Vec<Card> {
    let card = |member: &MemberView| {
        let peer = bytes::<32>(&member.peer).map(|key| peer_of(&key))?;
        let addresses = member.addresses.iter().filter_map(|told| told.parse().ok());
        Some(Card { peer, addresses: addresses.take(ADDRESSES_MAX).collect() })
    };
    session.members.iter().filter_map(card).collect()
}

/// The lobby's clock, late by what its answer took, and anew with each pass.
#[derive(Debug)]
struct LobbyClock {
    told: u64,
    at: Instant,
}

impl LobbyClock {
    fn of(answer: &MemberAnswer) -> Self {
        Self { told: answer.as_of, at: Instant::now() }
    }

    /// In milliseconds.
    fn now(&self) -> u64 {
        self.told.saturating_add(u64::try_from(self.at.elapsed().as_millis()).unwrap_or(u64::MAX))
    }
}

/// How long a token and a pass last, and when they are renewed.
#[derive(Debug)]
struct Freshness {
    life: Duration,
    due: Instant,
}

impl Freshness {
    /// Of what was given just now: it is renewed at half of its life.
    fn of(answer: &MemberAnswer) -> Self {
        let life = Duration::from_millis(answer.token_expires.saturating_sub(answer.as_of));
        Self { life, due: Instant::now() + life / 2 }
    }

    /// Whether it is time; the next is then later.
    fn is_due(&mut self) -> bool {
        let now = Instant::now();
        if now < self.due {
            return false;
        }
        self.due = now + RENEW_AGAIN.min(self.life / 20);
        true
    }
}

impl Member {
    pub(super) fn new(guest: Guest, answer: &MemberAnswer, can_be_host: CanBeHost) -> Self {
        let mut member = Self {
            guest,
            session: answer.session.id.to_string(),
            token: answer.token.as_str().into(),
            keys: BTreeMap::new(),
            kicked: BTreeSet::new(),
            can_be_host,
            revision: answer.session.revision,
            clock: LobbyClock::of(answer),
            freshness: Freshness::of(answer),
            news: Vec::new(),
        };
        member.learn(&answer.session);
        member
    }

    fn learn(&mut self, session: &SessionView) {
        let keys = session.members.iter().filter_map(|member| {
            Some((bytes::<32>(&member.peer).map(|key| peer_of(&key))?, member.peer.clone()))
        });
        let keys: BTreeMap<PeerId, String> = keys.collect();
        // Whom a host throws out may have gone before its lobby hears of it.
        if self.keys.len() > KEYS_MAX {
            self.keys.clear();
        }
        self.keys.extend(keys);
        self.revision = session.revision;
        self.kicked = ids(&session.kicked);
        self.news.extend(self.kicked.iter().copied().map(News::Kicked));
        self.news.retain(|news| !matches!(news, News::Members(_) | News::Replaced(_)));
        self.news.push(News::Replaced(ids(&session.replaced)));
        self.news.push(News::Members(cards(session)));
    }

    fn place(&self, of: &str) -> String {
        format!("/v1/sessions/{}{of}", self.session)
    }

    fn post<T: DeserializeOwned>(&self, of: &str, body: &impl Serialize) -> Option<Answered<T>> {
        self.heard(self.guest.door.post(As::Member(&self.token), &self.place(of), body))
    }

    fn heard<T>(&self, answered: Result<T, LobbyError>) -> Option<T> {
        answered.inspect_err(|error| tracing::debug!(%error, "the lobby does not answer")).ok()
    }

    /// A member's key: who is not known is looked up.
    fn key_of(&mut self, peer: PeerId) -> Option<String> {
        self.look_up(&[peer]);
        self.keys.get(&peer).cloned()
    }

    /// The keys of members, as many as the lobby knows: who has just come in is looked up.
    fn keys_of(&mut self, peers: &[PeerId]) -> Vec<String> {
        self.look_up(peers);
        peers.iter().filter_map(|peer| self.keys.get(peer).cloned()).collect()
    }

    /// Reads who they are where somebody is not known, if the lobby answers.
    fn look_up(&mut self, peers: &[PeerId]) -> Done {
        if peers.iter().all(|peer| self.keys.contains_key(peer)) { Done::Yes } else { self.look() }
    }

    /// Reads the session anew, if the lobby answers.
    fn look(&mut self) -> Done {
        let seen = self.guest.door.get(As::Member(&self.token), &self.place(""));
        match self.heard(seen) {
            Some(Answered::Yes(session)) => {
                self.learn(&session);
                Done::Yes
            }
            Some(Answered::No(..)) => Done::Yes,
            None => Done::NotYet,
        }
    }

    /// What a refusal comes to. A member that was counted as lost joins again, and is answered the next time.
    fn ruling(&mut self, status: StatusCode, problem: &Problem) -> Option<Ruling> {
        if let Some(certificate) = problem.certificate.as_ref().and_then(certificate_of) {
            return Some(Ruling::Host(certificate));
        }
        match problem.code.as_str() {
            refused::NOT_FOUND | refused::OVER | refused::KICKED | refused::REPLACED => Some(Ruling::Over),
            refused::LEASE_STANDS => Some(Ruling::Stands),
            refused::UNSUITABLE | refused::NOT_HOST => Some(Ruling::Unfit),
            refused::NOT_MIGRATABLE => Some(Ruling::Stays),
            refused::NOT_MEMBER => self.come_again(),
            // While its machine slept the clock stood still: the next pass tells the time.
            refused::STALE => {
                self.freshness.due = Instant::now();
                None
            }
            // Its machine slept for longer than its token lasts.
            _ if status == StatusCode::UNAUTHORIZED => self.come_again(),
            code => {
                tracing::debug!(%status, code, detail = problem.detail, "the lobby says neither yes nor no");
                None
            }
        }
    }

    fn come_again(&mut self) -> Option<Ruling> {
        match self.heard(self.guest.enter(&self.session, self.can_be_host))? {
            Answered::Yes(answer) => {
                self.be_given(&answer);
                None
            }
            Answered::No(_, problem) => match problem.code.as_str() {
                refused::NOT_FOUND | refused::OVER | refused::KICKED | refused::REPLACED | refused::FULL => {
                    Some(Ruling::Over)
                }
                _ => None,
            },
        }
    }

    fn be_given(&mut self, answer: &MemberAnswer) {
        self.token = answer.token.as_str().into();
        self.learn(&answer.session);
        self.clock = LobbyClock::of(answer);
        self.freshness = Freshness::of(answer);
        let as_of = Timestamp::from_unix_ms(answer.as_of);
        self.news.extend(pass_of(answer).map(|pass| News::Admitted { pass, as_of }));
        self.news.push(News::Relay(berth_of(&self.guest, answer)));
    }

    fn beat(&mut self, request: &BeatRequest) -> Option<Ruling> {
        match self.post::<BeatAnswer>("/beats", request)? {
            Answered::Yes(answer) => Some(self.noted(&answer)),
            Answered::No(status, problem) => self.ruling(status, &problem),
        }
    }

    fn noted(&mut self, answer: &BeatAnswer) -> Ruling {
        let support = if answer.migrates { Support::Supported } else { Support::Unsupported };
        self.news.push(News::Supports(support));
        if answer.revision != self.revision {
            self.look();
        }
        match answer.certificate.as_ref().and_then(certificate_of) {
            Some(certificate) => Ruling::Host(certificate),
            None => Ruling::Noted(Epoch(answer.epoch)),
        }
    }

    /// Brings what the host signed, and whatever the lobby gives for it.
    fn bring(&mut self, epoch: Epoch, renewal: &Renewal, hears: &[PeerId]) -> Option<Ruling> {
        let (relayed, hears) = (Some(relayed_of(renewal)?), self.keys_of(hears));
        let request = BeatRequest { epoch: epoch.0, hears, relayed, ..BeatRequest::default() };
        match self.post::<BeatAnswer>("/beats", &request)? {
            Answered::Yes(answer) => {
                let noted = self.noted(&answer);
                Some(receipt_of(renewal, &answer).map_or(noted, Ruling::Counted))
            }
            Answered::No(status, problem) => self.ruling(status, &problem),
        }
    }

    fn claim(&mut self, epoch: Epoch, to: Option<String>) -> Option<Ruling> {
        let request = ClaimRequest { expected_epoch: epoch.0, to, as_of: Some(self.clock.now()) };
        match self.post::<SessionView>("/claims", &request)? {
            Answered::Yes(session) => {
                self.learn(&session);
                session.certificate.as_ref().and_then(certificate_of).map(Ruling::Host)
            }
            Answered::No(status, problem) => self.ruling(status, &problem),
        }
    }

    /// Says of this member what is to be known.
    fn update(&mut self) -> Done {
        let request = MemberUpdate {
            can_be_host: self.can_be_host == CanBeHost::Yes,
            addresses: self.guest.told_addresses(),
        };
        let own = self.place(&format!("/members/{}", self.guest.key));
        let said = self.guest.door.put::<SessionView>(As::Member(&self.token), &own, &request);
        match self.heard(said) {
            Some(Answered::Yes(_)) => Done::Yes,
            Some(Answered::No(status, problem)) => {
                // Whoever was counted as lost comes in again first.
                let _ruling = self.ruling(status, &problem);
                if is_passing(status) || problem.code == refused::NOT_MEMBER {
                    Done::NotYet
                } else {
                    Done::Yes
                }
            }
            None => Done::NotYet,
        }
    }
}

const fn told(pace: Pace) -> PaceView {
    match pace {
        Pace::Usual => PaceView::Usual,
        Pace::Quick => PaceView::Quick,
    }
}

/// Whose keys these are.
fn ids(keys: &[String]) -> BTreeSet<PeerId> {
    keys.iter().filter_map(|key| bytes::<32>(key).map(|key| peer_of(&key))).collect()
}

impl Lobby for Member {
    fn ask(&mut self, question: &Question) -> Option<Ruling> {
        match question {
            Question::Renew { epoch, pace, hears } => {
                let (hears, pace) = (self.keys_of(hears), told(*pace));
                self.beat(&BeatRequest { epoch: epoch.0, hears, pace, ..BeatRequest::default() })
            }
            Question::Bring { epoch, renewal, hears } => self.bring(*epoch, renewal, hears),
            Question::Misses { epoch, silent } => {
                let silent_ms = silent.map(|silent| u64::try_from(silent.as_millis()).unwrap_or(u64::MAX));
                let (epoch, as_of) = (epoch.0, Some(self.clock.now()));
                self.beat(&BeatRequest {
                    epoch,
                    misses_host: true,
                    silent_ms,
                    as_of,
                    ..BeatRequest::default()
                })
            }
            Question::Claim { epoch } => self.claim(*epoch, None),
            Question::HandOver { epoch, to } => {
                let Some(to) = self.key_of(*to) else { return Some(Ruling::Unfit) };
                self.claim(*epoch, Some(to))
            }
        }
    }

    fn renew(&mut self) -> Option<Ruling> {
        if !self.freshness.is_due() {
            return None;
        }
        match self.post::<MemberAnswer>(&format!("/members/{}/pass", self.guest.key), &())? {
            Answered::Yes(answer) => {
                self.be_given(&answer);
                None
            }
            // It was away for longer than its token lasts: it comes in as anybody does.
            Answered::No(StatusCode::UNAUTHORIZED, _) => self.come_again(),
            Answered::No(_, problem) => match problem.code.as_str() {
                refused::NOT_FOUND | refused::OVER | refused::KICKED | refused::REPLACED => {
                    Some(Ruling::Over)
                }
                // Whom the lobby counts as lost comes again with its next question; nobody is brought back by time alone.
                code => {
                    tracing::debug!(code, detail = problem.detail, "the pass is not renewed");
                    None
                }
            },
        }
    }

    fn news(&mut self) -> Vec<News> {
        std::mem::take(&mut self.news)
    }

    fn introduce(&mut self, can_be_host: CanBeHost) -> Done {
        self.can_be_host = can_be_host;
        self.update()
    }

    fn seen_as(&mut self, address: SocketAddr) -> Done {
        self.guest.is_seen_as(address);
        self.update()
    }

    fn kick(&mut self, peer: PeerId, epoch: Epoch) -> Heeded {
        // Whom the lobby keeps out by its own word is known already.
        if self.kicked.contains(&peer) {
            return Heeded::Yes;
        }
        if self.look_up(&[peer]) == Done::NotYet {
            return Heeded::NotYet;
        }
        let Some(key) = self.keys.get(&peer).cloned() else {
            return Heeded::Refused {
                code: refused::NOT_MEMBER.to_owned(),
                detail: format!("{peer} is unknown"),
            };
        };
        let place = self.place(&format!("/members/{key}?epoch={}", epoch.0));
        match self.heard(self.guest.door.delete(As::Member(&self.token), &place)) {
            Some(Answered::Yes(())) => {
                self.kicked.insert(peer);
                Heeded::Yes
            }
            Some(Answered::No(status, problem)) => match problem.code.as_str() {
                // For nobody's sake: this peer itself is out, or the session is over.
                refused::KICKED | refused::REPLACED | refused::NOT_FOUND | refused::OVER => Heeded::Yes,
                _ if is_passing(status) => Heeded::NotYet,
                _ => Heeded::Refused { code: problem.code, detail: problem.detail },
            },
            None => Heeded::NotYet,
        }
    }

    fn list(&mut self, listing: Listing, epoch: Epoch) -> Heeded {
        let said = self.guest.door.patch::<SessionView>(
            As::Member(&self.token),
            &self.place(""),
            &listing.update(epoch.0),
        );
        match self.heard(said) {
            Some(Answered::Yes(_)) => Heeded::Yes,
            Some(Answered::No(status, problem)) => {
                // Whoever was counted as lost comes in again first.
                let _ruling = self.ruling(status, &problem);
                if is_passing(status) || problem.code == refused::NOT_MEMBER {
                    Heeded::NotYet
                } else {
                    Heeded::Refused { code: problem.code, detail: problem.detail }
                }
            }
            None => Heeded::NotYet,
        }
    }

    fn leave(&mut self) {
        let own = self.place(&format!("/members/{}", self.guest.key));
        if self.heard(self.guest.door.delete(As::Member(&self.token), &own)).is_none() {
            tracing::debug!(me = %self.guest.me, "the lobby will count this peer as lost");
        }
    }
}
