//! The lobby over its HTTP face (`docs/reference/lobby.md`).

use std::collections::BTreeMap;
use std::net::{SocketAddr, ToSocketAddrs as _, UdpSocket};
use std::thread;
use std::time::{Duration, Instant};

use mainstay_core::Timestamp;
use mainstay_migration::{
    CanBeHost, Certificate, Epoch, Grant, Migratable, Pass, PeerId, Proof, Question, Ruling, SessionId,
    Signature, WithoutMajority,
};
use mainstay_wire::lobby::{Asks, LobbyKey, PeerKey, bytes, text};
use mainstay_wire::native::{
    BeatAnswer, BeatRequest, CertificateView, ClaimRequest, JoinRequest, JoiningView, LobbyView,
    MemberAnswer, MemberRequest, MemberUpdate, MemberView, SessionRequest, SessionView, TakeoverView,
    WithoutMajorityView, refused,
};
use mainstay_wire::peer::{ADDRESSES_MAX, Card};
use mainstay_wire::problem::Problem;
use mainstay_wire::relay::Ticket;
use serde::Serialize;
use serde::de::DeserializeOwned;
use ureq::http::uri::Scheme;
use ureq::http::{StatusCode, Uri};

use super::trust::refusal;
use super::{Bound, Done, Lobby, LobbyError, NewSession, News, Online};
use crate::key::{Key, id_of};
use crate::relay::Berth;

/// How long one call may take: rules count a lobby that says nothing for two seconds as away.
const CALL_WITHIN: Duration = Duration::from_millis(1_500);
/// How long somebody who wants in waits for a session that is on its way to another host.
const JOIN_WITHIN: Duration = Duration::from_secs(15);
/// How often it asks meanwhile: what it is told (`Retry-After`).
const JOIN_AGAIN: Duration = Duration::from_secs(1);
/// How often a member tries that lives on an old token: it has half a day left.
const JOIN_AGAIN_LATER: Duration = Duration::from_secs(60);
/// The longest answer read: a session of 64 with 8 addresses each.
const ANSWER_BYTES_MAX: u64 = 256 * 1024;

/// A place in a session of a lobby.
#[derive(Debug)]
pub(crate) struct Entered {
    pub(crate) session: SessionId,
    pub(crate) lobby_key: LobbyKey,
    /// What this peer shows to other members.
    pub(crate) pass: Pass,
    /// What the lobby's clock said when it gave it.
    pub(crate) as_of: Timestamp,
    /// Of the newest host.
    pub(crate) certificate: Option<Certificate>,
    /// Where the other members may be found, the host first.
    pub(crate) members: Vec<Card>,
    /// What carries for it, where there is such a thing.
    pub(crate) berth: Option<Berth>,
    pub(crate) migratable: Migratable,
    pub(crate) without_majority: WithoutMajority,
    pub(crate) lobby: HttpLobby,
}

/// One member's calls.
#[derive(Debug)]
pub(crate) struct HttpLobby {
    site: Site,
    session: String,
    token: String,
    /// Members' keys as the lobby writes them.
    keys: BTreeMap<PeerId, String>,
    can_be_host: CanBeHost,
    /// How often the session has changed, as far as this member has read.
    revision: u64,
    /// When it joins again, for a new token and a new pass.
    joins_again: Instant,
    /// Until the hands ask.
    news: Vec<News>,
}

/// A lobby, and who comes to it.
#[derive(Debug)]
struct Site {
    agent: ureq::Agent,
    url: String,
    me: PeerId,
    key: String,
    proof: String,
    player: Option<String>,
    entity_token: Option<String>,
    addresses: Vec<SocketAddr>,
    lobby_key: LobbyKey,
}

/// What an answer was.
enum Answered<T> {
    Yes(T),
    No(StatusCode, Box<Problem>),
}

/// Makes a session there, whose first host this peer is.
pub(crate) fn create(
    online: &Online,
    key: &Key,
    bound: Bound<'_>,
    new: &NewSession,
    migratable: Migratable,
    without_majority: WithoutMajority,
) -> Result<Entered, LobbyError> {
    let site = Site::find(online, key, bound)?;
    let request = SessionRequest {
        name: new.name.clone(),
        size: new.size,
        migratable: migratable == Migratable::Yes,
        searchable: true,
        joining: JoiningView::Open,
        takeover: TakeoverView::Fast,
        without_majority: match without_majority {
            WithoutMajority::Fork => WithoutMajorityView::Fork,
            WithoutMajority::End => WithoutMajorityView::End,
            WithoutMajority::Hold => WithoutMajorityView::Hold,
        },
        attributes: BTreeMap::new(),
        member: site.member(CanBeHost::Yes),
    };
    match site.come("/v1/lobbies/online/sessions", &request)? {
        Answered::Yes(answer) => site.entered(answer, CanBeHost::Yes),
        Answered::No(_, problem) => Err(told(*problem)),
    }
}

/// Joins a session there; one that is on its way to another host is waited for.
pub(crate) fn join(
    online: &Online,
    key: &Key,
    bound: Bound<'_>,
    session: SessionId,
) -> Result<Entered, LobbyError> {
    let site = Site::find(online, key, bound)?;
    let until = Instant::now() + JOIN_WITHIN;
    loop {
        match site.enter(&uuid_of(session), CanBeHost::NotYet)? {
            Answered::Yes(answer) => return site.entered(answer, CanBeHost::NotYet),
            Answered::No(StatusCode::SERVICE_UNAVAILABLE, _) if Instant::now() < until => {
                thread::sleep(JOIN_AGAIN);
            }
            Answered::No(_, problem) => return Err(told(*problem)),
        }
    }
}

fn told(problem: Problem) -> LobbyError {
    LobbyError::Refused { code: problem.code, detail: problem.detail }
}

fn uuid_of(session: SessionId) -> String {
    mainstay_core::SessionId(uuid::Uuid::from_u128(session.0)).to_string()
}

/// A certificate as the rules have it: the host's key goes before the lobby's signature.
fn certificate_of(view: &CertificateView) -> Option<Certificate> {
    let (host, signature) = (bytes::<32>(&view.host)?, bytes::<64>(&view.signature)?);
    let proof = Proof::Lobby(Signature([&host[..], &signature[..]].concat()));
    Some(Certificate { epoch: Epoch(view.epoch), host: id_of(&host)?, proof })
}

/// A pass as the rules have it: the peer's own key goes before the lobby's signature. `None` where it is none.
fn pass_of(answer: &MemberAnswer) -> Option<Pass> {
    let (peer, signature) = (bytes::<32>(&answer.pass.peer)?, bytes::<64>(&answer.pass.signature)?);
    Some(Pass {
        expires: Timestamp::from_unix_ms(answer.pass.expires),
        player: answer.pass.player.clone().into_bytes(),
        signature: Signature([&peer[..], &signature[..]].concat()),
    })
}

/// When a token and a pass are old enough for new ones: half of the time that they last.
fn half_of(answer: &MemberAnswer) -> Instant {
    Instant::now() + Duration::from_millis(answer.token_expires.saturating_sub(answer.as_of) / 2)
}

/// Whether the same may be answered otherwise in a while.
fn is_passing(status: StatusCode) -> bool {
    status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS
}

/// A key of 32 bytes, and what the lobby has signed about it in 64.
fn split(signature: &Signature) -> Option<([u8; 32], mainstay_wire::lobby::Signature)> {
    let (key, signature) = signature.0.split_first_chunk::<32>()?;
    Some((*key, mainstay_wire::lobby::Signature(signature.try_into().ok()?)))
}

/// Whether the lobby of that key has signed a pass for that peer; whether it has run out is the rules' matter.
pub(crate) fn is_pass(lobby: &LobbyKey, session: SessionId, peer: PeerId, pass: &Pass) -> bool {
    let Some((key, signature)) = split(&pass.signature) else { return false };
    let Ok(player) = std::str::from_utf8(&pass.player) else { return false };
    let signed = mainstay_wire::lobby::Pass {
        session: mainstay_core::SessionId(uuid::Uuid::from_u128(session.0)),
        peer: mainstay_wire::lobby::PeerKey(key),
        player: mainstay_wire::lobby::Player(player.into()),
        expires: pass.expires,
    };
    id_of(&key) == Some(peer) && signed.is_signed(lobby, &signature).is_ok()
}

/// Whether the lobby of that key has signed a grant.
pub(crate) fn is_of_lobby(lobby: &LobbyKey, grant: &Grant, signature: &Signature) -> bool {
    let Some((host, signature)) = split(signature) else { return false };
    let certificate = mainstay_wire::lobby::Certificate {
        session: mainstay_core::SessionId(uuid::Uuid::from_u128(grant.session.0)),
        epoch: mainstay_wire::lobby::Epoch(grant.epoch.0),
        host: mainstay_wire::lobby::PeerKey(host),
    };
    id_of(&host) == Some(grant.host) && certificate.verify(lobby, &signature).is_ok()
}

impl Site {
    /// Asks the lobby for its key, and signs that this process would come in.
    fn find(online: &Online, key: &Key, bound: Bound<'_>) -> Result<Self, LobbyError> {
        let config = ureq::Agent::config_builder()
            .timeout_global(Some(CALL_WITHIN))
            .http_status_as_error(false)
            .proxy(None)
            .tls_config(online.trust.config(key.provider()))
            .max_redirects(0);
        let url = online.url.trim_end_matches('/').to_owned();
        let addresses = if online.addresses.is_empty() {
            seen_from(&url, bound.address)
        } else {
            online.addresses.clone()
        };
        let mut site = Self {
            agent: config.build().new_agent(),
            url,
            me: key.peer,
            key: text(&key.public()),
            proof: String::new(),
            player: Some(online.player.clone().unwrap_or_else(|| format!("peer-{:032x}", key.peer.0))),
            entity_token: online.entity_token.clone(),
            addresses,
            lobby_key: LobbyKey([0; 32]),
        };
        let request = site.as_player(site.agent.get(format!("{}/v1/lobbies/online", site.url)));
        let lobby: LobbyView = match site.read(request.call())? {
            Answered::Yes(lobby) => lobby,
            Answered::No(_, problem) => return Err(told(*problem)),
        };
        let Some(lobby_key) = bytes::<32>(&lobby.lobby_key).map(LobbyKey) else {
            return Err(site.unreadable("its key is none"));
        };
        site.lobby_key = lobby_key;
        // Asked in any case, for the router's class is told to the other players; said only where nobody said it better.
        let responder = lobby.stun.and_then(|told| told.parse().ok()).and_then(|told| at(&site.url, told));
        if let Some(seen_as) = responder.and_then(|responder| bound.mirror.look(responder))
            && online.addresses.is_empty()
        {
            site.is_seen_as(seen_as);
        }
        site.proof = text(&key.signature(&Asks { lobby: lobby_key }.signed_bytes()));
        Ok(site)
    }

    fn member(&self, can_be_host: CanBeHost) -> MemberRequest {
        MemberRequest {
            peer: self.key.clone(),
            proof: self.proof.clone(),
            player: self.player.clone(),
            can_be_host: can_be_host == CanBeHost::Yes,
            addresses: self.told_addresses(),
        }
    }

    fn told_addresses(&self) -> Vec<String> {
        self.addresses.iter().map(ToString::to_string).collect()
    }

    /// The newest goes first; what was said before may be right again.
    fn is_seen_as(&mut self, address: SocketAddr) {
        self.addresses.retain(|known| *known != address);
        self.addresses.insert(0, address);
        self.addresses.truncate(ADDRESSES_MAX);
    }

    fn enter(&self, session: &str, can_be_host: CanBeHost) -> Result<Answered<MemberAnswer>, LobbyError> {
        let request = JoinRequest { member: self.member(can_be_host) };
        self.come(&format!("/v1/sessions/{session}/members"), &request)
    }

    fn entered(self, answer: MemberAnswer, can_be_host: CanBeHost) -> Result<Entered, LobbyError> {
        let session = &answer.session;
        let host = session.host.as_ref().and_then(|host| bytes::<32>(&host.peer)).and_then(|key| id_of(&key));
        let mut members = cards(session);
        members.retain(|card| card.peer != self.me);
        members.sort_by_key(|card| Some(card.peer) != host);
        let certificate = match &session.certificate {
            Some(view) => {
                Some(certificate_of(view).ok_or_else(|| self.unreadable("its certificate is none"))?)
            }
            None => None,
        };
        let pass = pass_of(&answer).ok_or_else(|| self.unreadable("its pass is none"))?;
        let berth = answer.relay.as_ref().and_then(|told| {
            let relay = at(&self.url, told.address.parse().ok()?)?;
            Some(Berth { relay, peer: PeerKey(bytes(&self.key)?), ticket: Ticket(bytes(&told.ticket)?) })
        });
        let mut lobby = HttpLobby {
            revision: answer.session.revision,
            joins_again: half_of(&answer),
            news: Vec::new(),
            session: session.id.to_string(),
            token: answer.token.clone(),
            keys: BTreeMap::new(),
            can_be_host,
            site: self,
        };
        lobby.learn(session);
        Ok(Entered {
            session: SessionId(session.id.0.as_u128()),
            lobby_key: lobby.site.lobby_key,
            pass,
            as_of: Timestamp::from_unix_ms(answer.as_of),
            certificate,
            members,
            berth,
            migratable: if session.migrates { Migratable::Yes } else { Migratable::No },
            without_majority: match session.without_majority {
                WithoutMajorityView::Fork => WithoutMajority::Fork,
                WithoutMajorityView::End => WithoutMajority::End,
                WithoutMajorityView::Hold => WithoutMajority::Hold,
            },
            lobby,
        })
    }

    /// What a player asks that is no member yet.
    fn come<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> Result<Answered<T>, LobbyError> {
        let request = self.as_player(self.agent.post(format!("{}{path}", self.url)));
        self.read(request.send_json(body))
    }

    /// Shows who plays, to a lobby that believes no names.
    fn as_player<B>(&self, request: ureq::RequestBuilder<B>) -> ureq::RequestBuilder<B> {
        match &self.entity_token {
            Some(token) => request.header("X-EntityToken", token),
            None => request,
        }
    }

    fn read<T: DeserializeOwned>(
        &self,
        response: Result<ureq::http::Response<ureq::Body>, ureq::Error>,
    ) -> Result<Answered<T>, LobbyError> {
        let failed = |source| self.failed(source);
        let mut response = response.map_err(failed)?;
        let status = response.status();
        let body = response.body_mut().with_config().limit(ANSWER_BYTES_MAX);
        let read = body.read_to_vec().map_err(failed)?;
        if status.is_success() {
            let answer =
                serde_json::from_slice(&read).map_err(|_| self.unreadable("an answer has another form"))?;
            Ok(Answered::Yes(answer))
        } else {
            let problem =
                serde_json::from_slice(&read).map_err(|_| self.unreadable("a refusal has another form"))?;
            Ok(Answered::No(status, problem))
        }
    }

    /// What came instead of an answer.
    fn failed(&self, source: ureq::Error) -> LobbyError {
        let url = self.url.clone();
        if let Some(why) = refusal(&source) {
            return LobbyError::Untrusted { url, why: why.clone() };
        }
        let was_never_sent = matches!(source, ureq::Error::BadUri(_) | ureq::Error::Http(_));
        let source = Box::new(source);
        if was_never_sent {
            LobbyError::Unaskable { url, source }
        } else {
            LobbyError::Unreachable { url, source }
        }
    }

    fn unreadable(&self, what: &'static str) -> LobbyError {
        LobbyError::Unreadable { url: self.url.clone(), what }
    }
}

/// Where the members of a session say that they are.
fn cards(session: &SessionView) -> Vec<Card> {
    let card = |member: &MemberView| {
        let peer = bytes::<32>(&member.peer).and_then(|key| id_of(&key))?;
        let addresses = member.addresses.iter().filter_map(|told| told.parse().ok());
        Some(Card { peer, addresses: addresses.take(ADDRESSES_MAX).collect() })
    };
    session.members.iter().filter_map(card).collect()
}

fn address_of(url: &str) -> Option<SocketAddr> {
    let url: Uri = url.parse().ok()?;
    let host = url.host()?.trim_matches(['[', ']']);
    let usual = if url.scheme() == Some(&Scheme::HTTPS) { 443 } else { 80 };
    (host, url.port_u16().unwrap_or(usual)).to_socket_addrs().ok()?.next()
}

/// What a lobby offers at an address of its own that it does not know: the one it is reached at.
fn at(url: &str, offered: SocketAddr) -> Option<SocketAddr> {
    if !offered.ip().is_unspecified() {
        return Some(offered);
    }
    address_of(url).map(|lobby| SocketAddr::new(lobby.ip(), offered.port()))
}

/// The address that packets to the lobby leave from, with the port of the peer's socket.
fn seen_from(url: &str, bound: SocketAddr) -> Vec<SocketAddr> {
    if !bound.ip().is_unspecified() {
        return vec![bound];
    }
    let own = || {
        let lobby = address_of(url)?;
        let any: SocketAddr = if lobby.is_ipv4() { ([0, 0, 0, 0], 0).into() } else { ([0_u16; 8], 0).into() };
        let socket = UdpSocket::bind(any).ok()?;
        // Of UDP this sends nothing: the system says which of its addresses it would send from.
        socket.connect(lobby).ok()?;
        socket.local_addr().ok()
    };
    own().map(|own| SocketAddr::new(own.ip(), bound.port())).into_iter().collect()
}

impl HttpLobby {
    fn learn(&mut self, session: &SessionView) {
        let keys = session.members.iter().filter_map(|member| {
            Some((bytes::<32>(&member.peer).and_then(|key| id_of(&key))?, member.peer.clone()))
        });
        self.keys = keys.collect();
        self.revision = session.revision;
        let kicked = session.kicked.iter().filter_map(|key| bytes::<32>(key).and_then(|key| id_of(&key)));
        self.news.extend(kicked.map(News::Kicked));
        self.news.retain(|news| !matches!(news, News::Members(_)));
        self.news.push(News::Members(cards(session)));
    }

    fn place(&self, of: &str) -> String {
        format!("/v1/sessions/{}{of}", self.session)
    }

    fn post<T: DeserializeOwned>(&self, of: &str, body: &impl Serialize) -> Option<Answered<T>> {
        let request = self.site.agent.post(format!("{}{}", self.site.url, self.place(of)));
        let request = request.header("Authorization", format!("Bearer {}", self.token));
        self.heard(self.site.read(request.send_json(body)))
    }

    fn heard<T>(&self, answered: Result<Answered<T>, LobbyError>) -> Option<Answered<T>> {
        answered.inspect_err(|error| tracing::debug!(%error, "the lobby does not answer")).ok()
    }

    /// A member's key: who is not known is looked up.
    fn key_of(&mut self, peer: PeerId) -> Option<String> {
        if !self.keys.contains_key(&peer) {
            self.look();
        }
        self.keys.get(&peer).cloned()
    }

    fn look(&mut self) {
        let request = self.site.agent.get(format!("{}{}", self.site.url, self.place("")));
        let request = request.header("Authorization", format!("Bearer {}", self.token));
        if let Some(Answered::Yes(session)) = self.heard(self.site.read(request.call())) {
            self.learn(&session);
        }
    }

    /// What a refusal comes to. A member that was counted as lost joins again, and is answered the next time.
    fn ruling(&mut self, status: StatusCode, problem: &Problem) -> Option<Ruling> {
        if let Some(certificate) = problem.certificate.as_ref().and_then(certificate_of) {
            return Some(Ruling::Host(certificate));
        }
        match problem.code.as_str() {
            refused::NOT_FOUND | refused::OVER | refused::KICKED => Some(Ruling::Over),
            refused::LEASE_STANDS => Some(Ruling::Stands),
            refused::UNSUITABLE | refused::NOT_HOST => Some(Ruling::Unfit),
            refused::NOT_MIGRATABLE => Some(Ruling::Stays),
            refused::NOT_MEMBER => self.come_again(),
            code => {
                tracing::debug!(%status, code, detail = problem.detail, "the lobby says neither yes nor no");
                None
            }
        }
    }

    fn come_again(&mut self) -> Option<Ruling> {
        match self.heard(self.site.enter(&self.session, self.can_be_host))? {
            Answered::Yes(answer) => {
                self.token.clone_from(&answer.token);
                self.learn(&answer.session);
                self.joins_again = half_of(&answer);
                let as_of = Timestamp::from_unix_ms(answer.as_of);
                self.news.extend(pass_of(&answer).map(|pass| News::Admitted { pass, as_of }));
                None
            }
            Answered::No(_, problem) => match problem.code.as_str() {
                refused::NOT_FOUND | refused::OVER | refused::KICKED | refused::FULL => Some(Ruling::Over),
                _ => None,
            },
        }
    }

    fn beat(&mut self, request: &BeatRequest) -> Option<Ruling> {
        match self.post::<BeatAnswer>("/beats", request)? {
            Answered::Yes(answer) => {
                if answer.revision != self.revision {
                    self.look();
                }
                match answer.certificate.as_ref().and_then(certificate_of) {
                    Some(certificate) => Some(Ruling::Host(certificate)),
                    None => Some(Ruling::Noted(Epoch(answer.epoch))),
                }
            }
            Answered::No(status, problem) => self.ruling(status, &problem),
        }
    }

    fn claim(&mut self, request: &ClaimRequest) -> Option<Ruling> {
        match self.post::<SessionView>("/claims", request)? {
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
            addresses: self.site.told_addresses(),
        };
        let url = format!("{}{}", self.site.url, self.place(&format!("/members/{}", self.site.key)));
        let sent = self.site.agent.put(url).header("Authorization", format!("Bearer {}", self.token));
        match self.heard(self.site.read::<SessionView>(sent.send_json(&request))) {
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

impl Lobby for HttpLobby {
    fn ask(&mut self, question: &Question) -> Option<Ruling> {
        if Instant::now() >= self.joins_again {
            self.joins_again = Instant::now() + JOIN_AGAIN_LATER;
            if let Some(over) = self.come_again() {
                return Some(over);
            }
        }
        match question {
            Question::Renew { epoch, hears } => {
                if hears.iter().any(|peer| !self.keys.contains_key(peer)) {
                    self.look();
                }
                let hears = hears.iter().filter_map(|peer| self.keys.get(peer).cloned()).collect();
                self.beat(&BeatRequest { epoch: epoch.0, hears, misses_host: false, relayed: None })
            }
            Question::Misses { epoch } => {
                let request =
                    BeatRequest { epoch: epoch.0, hears: Vec::new(), misses_host: true, relayed: None };
                self.beat(&request)
            }
            Question::Claim { epoch } => self.claim(&ClaimRequest { expected_epoch: epoch.0, to: None }),
            Question::HandOver { epoch, to } => {
                let Some(to) = self.key_of(*to) else { return Some(Ruling::Unfit) };
                self.claim(&ClaimRequest { expected_epoch: epoch.0, to: Some(to) })
            }
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
        self.site.is_seen_as(address);
        self.update()
    }

    fn kick(&mut self, peer: PeerId, epoch: Epoch) -> Done {
        let Some(key) = self.key_of(peer) else { return Done::Yes };
        let url = format!("{}{}?epoch={}", self.site.url, self.place(&format!("/members/{key}")), epoch.0);
        let sent =
            self.site.agent.delete(url).header("Authorization", format!("Bearer {}", self.token)).call();
        match sent.map(|answer| answer.status()) {
            Ok(status) if is_passing(status) => Done::NotYet,
            Ok(_done_or_of_no_use) => Done::Yes,
            Err(error) => {
                tracing::debug!(%error, "the lobby does not answer");
                Done::NotYet
            }
        }
    }

    fn leave(&mut self) {
        let url = format!("{}{}", self.site.url, self.place(&format!("/members/{}", self.site.key)));
        let sent =
            self.site.agent.delete(url).header("Authorization", format!("Bearer {}", self.token)).call();
        if let Err(error) = sent {
            tracing::debug!(me = %self.site.me, %error, "the lobby will count this peer as lost");
        }
    }
}
