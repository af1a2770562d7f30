//! How a session of a lobby is made or joined, and what a peer holds that is in.

use std::thread;
use std::time::{Duration, Instant};

use mainstay_core::Timestamp;
use mainstay_migration::{CanBeHost, Certificate, Migratable, Pass, SessionId, WithoutMajority};
use mainstay_wire::lobby::{LobbyKey, PeerKey, bytes, peer_of};
use mainstay_wire::native::{ClaimRequest, MemberAnswer, SessionRequest, SessionView, WithoutMajorityView};
use mainstay_wire::peer::Card;
use mainstay_wire::relay::Ticket;
use ureq::http::StatusCode;

use super::address::at;
use super::door::{Answered, As};
use super::guest::Guest;
use super::making::make;
use super::member::{Member, cards};
use super::signed::{certificate_of, pass_of};
use super::{Bound, LobbyError, NewSession, Online, Searchable};
use crate::key::Key;
use crate::relay::Berth;

/// How long somebody who wants in waits for a session that is on its way to another host.
const JOIN_WITHIN: Duration = Duration::from_secs(15);
/// How often it asks meanwhile: what it is told (`Retry-After`).
const JOIN_AGAIN: Duration = Duration::from_secs(1);

/// How somebody comes into a session of a lobby.
#[derive(Debug)]
pub(crate) enum Entry {
    /// It has a host.
    Joins(Entered),
    /// This peer is its first host.
    Founds(Entered),
}

/// A place in a session of a lobby.
#[derive(Debug)]
pub(crate) struct Entered {
    pub(crate) session: SessionId,
    /// How many members it has at most.
    pub(crate) size: u32,
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
    pub(crate) lobby: Member,
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
    let guest = Guest::new(online, key, bound)?;
    let request = SessionRequest {
        name: new.name.clone(),
        size: new.size,
        migratable: migratable == Migratable::Yes,
        searchable: new.searchable == Searchable::Yes,
        joining: new.joining.into(),
        takeover: new.takeover.into(),
        without_majority: match without_majority {
            WithoutMajority::Fork => WithoutMajorityView::Fork,
            WithoutMajority::End => WithoutMajorityView::End,
            WithoutMajority::Hold => WithoutMajorityView::Hold,
        },
        attributes: new.attributes.told(),
        member: guest.says(CanBeHost::Yes),
    };
    let answer = make(&guest.door, &guest.key, &request)?;
    Entered::new(guest, &answer, CanBeHost::Yes)
}

/// Joins a session there; one that is on its way to another host is waited for. One that nobody hosts yet is a match's: whoever claims
/// it first founds it.
pub(crate) fn join(
    online: &Online,
    key: &Key,
    bound: Bound<'_>,
    session: SessionId,
) -> Result<Entry, LobbyError> {
    let guest = Guest::new(online, key, bound)?;
    let named = mainstay_core::SessionId(uuid::Uuid::from_u128(session.0)).to_string();
    let until = Instant::now() + JOIN_WITHIN;
    loop {
        let answered = guest.enter(&named, CanBeHost::NotYet)?;
        let may_wait = Instant::now() < until;
        match answered {
            Answered::Yes(answer) if answer.session.host.is_none() && may_wait => {
                if let Some(answer) = claim_first(&guest, &named)? {
                    return Ok(Entry::Founds(Entered::new(guest, &answer, CanBeHost::Yes)?));
                }
            }
            Answered::No(StatusCode::SERVICE_UNAVAILABLE, _) if may_wait => thread::sleep(JOIN_AGAIN),
            answered @ (Answered::Yes(_) | Answered::No(..)) => {
                let answer = answered.granted()?;
                return Ok(Entry::Joins(Entered::new(guest, &answer, CanBeHost::NotYet)?));
            }
        }
    }
}

/// As a member that could be host, for nobody else may claim. `None` where somebody was faster.
fn claim_first(guest: &Guest, named: &str) -> Result<Option<MemberAnswer>, LobbyError> {
    let answer = guest.enter(named, CanBeHost::Yes)?.granted()?;
    if answer.session.host.is_some() {
        return Ok(None);
    }
    let request = ClaimRequest { expected_epoch: 0, to: None, as_of: Some(answer.as_of) };
    let place = format!("/v1/sessions/{named}/claims");
    match guest.door.post::<SessionView>(As::Member(&answer.token.as_str().into()), &place, &request)? {
        Answered::No(StatusCode::CONFLICT, problem) if problem.certificate.is_some() => Ok(None),
        answered @ (Answered::Yes(_) | Answered::No(..)) => {
            Ok(Some(MemberAnswer { session: answered.granted()?, ..answer }))
        }
    }
}

impl Entered {
    fn new(guest: Guest, answer: &MemberAnswer, can_be_host: CanBeHost) -> Result<Self, LobbyError> {
        let session = &answer.session;
        let host = session.host.as_ref().and_then(|host| bytes::<32>(&host.peer)).map(|key| peer_of(&key));
        let mut members = cards(session);
        members.retain(|card| card.peer != guest.me);
        members.sort_by_key(|card| Some(card.peer) != host);
        let certificate = match &session.certificate {
            Some(view) => {
                Some(certificate_of(view).ok_or_else(|| guest.door.unreadable("its certificate is none"))?)
            }
            None => None,
        };
        let pass = pass_of(answer).ok_or_else(|| guest.door.unreadable("its pass is none"))?;
        Ok(Self {
            session: SessionId(session.id.0.as_u128()),
            size: session.size,
            lobby_key: guest.lobby_key,
            pass,
            as_of: Timestamp::from_unix_ms(answer.as_of),
            certificate,
            members,
            berth: berth_of(&guest, answer),
            migratable: if session.migratable { Migratable::Yes } else { Migratable::No },
            without_majority: match session.without_majority {
                WithoutMajorityView::Fork => WithoutMajority::Fork,
                WithoutMajorityView::End => WithoutMajority::End,
                WithoutMajorityView::Hold => WithoutMajority::Hold,
            },
            lobby: Member::new(guest, answer, can_be_host),
        })
    }
}

/// Its place at the lobby's relay.
pub(super) fn berth_of(guest: &Guest, answer: &MemberAnswer) -> Option<Berth> {
    let told = answer.relay.as_ref()?;
    let relay = at(guest.door.url(), told.address.parse().ok()?)?;
    Some(Berth { relay, peer: PeerKey(bytes(&guest.key)?), ticket: Ticket(bytes(&told.ticket)?) })
}
