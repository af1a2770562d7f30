//! `/v1/lobbies` and `/v1/sessions`: sessions that players host, for games and for the studio.
//!
//! A game shows the token that joining gave it; the studio its service account. Whoever makes or joins a session is a player of the
//! title (`X-EntityToken`), one that a service account vouches for, or, where players say by themselves who they are, anybody.

mod beats;
mod claims;
mod events;
mod lobbies;
mod members;
mod seats;
mod sessions;

use std::sync::Arc;

use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use mainstay_core::{SessionId, Timestamp};
use mainstay_lobby::{Answer, Authority, CanBeHost, Command, Epoch, Joiner, PeerKey, Player, Session};
use mainstay_wire::lobby::{Asks, Signature, Unproven, bytes, text};
use mainstay_wire::native::{Addresses, MemberAnswer, MemberRequest};
use utoipa_axum::router::OpenApiRouter;

use super::super::App;
use super::super::access::{Denied, Permission};
use super::super::failure::{Failure, Native};
use super::super::token::OfMember;
use crate::identity::Purpose;
use crate::lobby::{Lobbies, Seen};
use crate::playfab::Logins;

pub(super) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .merge(lobbies::routes())
        .merge(sessions::routes())
        .merge(members::routes())
        .merge(seats::routes())
        .merge(claims::routes())
        .merge(beats::routes())
        .merge(events::routes())
}

/// Where an entity token stands.
const ENTITY_TOKEN: &str = "x-entitytoken";
/// What the names of players begin with for whom nobody vouches.
const UNKNOWN: &str = "peer!";

fn lobby(app: &App) -> Result<&Lobbies, Native> {
    app.lobby.as_ref().ok_or_else(|| Failure::no_lobby().into())
}

fn session_of(named: &str) -> Result<SessionId, Native> {
    let fix = "take the id that the session was made with";
    named
        .parse()
        .map_err(|_| Failure::bad_request(format!("`{named}` is no session id: it is a UUID"), fix).into())
}

fn peer_of(named: &str) -> Result<PeerKey, Native> {
    let fix = "write the 32 bytes of the public key in base64url";
    bytes(named)
        .map(PeerKey)
        .ok_or_else(|| Failure::bad_request(format!("`{named}` is no peer's key"), fix).into())
}

fn signature_of(named: &str) -> Result<Signature, Native> {
    bytes(named).map(Signature).ok_or_else(|| Failure::unproven(Unproven::Forged).into())
}

/// The member whose token is shown, if one is.
fn shown(app: &App, headers: &HeaderMap, now: Timestamp) -> Option<OfMember> {
    app.tokens.member(bearer(headers)?, now)
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
}

/// Whoever acts shows who it is before anything else is looked at: a member of some session, or a service account.
fn acts(app: &App, headers: &HeaderMap) -> Result<(), Native> {
    if shown(app, headers, app.now()).is_none() {
        app.caller(headers)?;
    }
    Ok(())
}

/// And so does whoever comes in: a player, whoever has a seat, a service account, or anybody where that is enough.
fn comes(app: &App, headers: &HeaderMap) -> Result<(), Native> {
    let has_seat = || bearer(headers).is_some_and(|token| app.tokens.seat(token, app.now()).is_some());
    if player_shown(app, headers)?.is_some() || has_seat() {
        return Ok(());
    }
    if headers.contains_key(AUTHORIZATION) {
        app.caller(headers)?;
        return Ok(());
    }
    match lobby(app)?.logins() {
        Logins::Open => Ok(()),
        Logins::Vouched => Err(Denied::NoCredentials.into()),
    }
}

/// The member of this session whose token is shown.
fn member(app: &App, headers: &HeaderMap, session: SessionId) -> Result<PeerKey, Native> {
    match shown(app, headers, app.now()) {
        Some(member) if member.session == session => Ok(member.peer),
        Some(_) => Err(Failure::not_own(session).into()),
        None if headers.contains_key(AUTHORIZATION) => Err(Denied::ForMembers.into()),
        None => Err(Denied::NoCredentials.into()),
    }
}

/// Who asks to change a session.
#[derive(Debug, Clone, Copy)]
enum Asker {
    Member(PeerKey),
    Studio,
}

impl Asker {
    /// By what right: a member as the host of the epoch it names.
    fn authority(self, epoch: Option<u32>) -> Result<Authority, Native> {
        match (self, epoch) {
            (Self::Studio, _) => Ok(Authority::Studio),
            (Self::Member(peer), Some(epoch)) => Ok(Authority::Host { peer, epoch: Epoch(epoch) }),
            (Self::Member(_), None) => {
                let fix = "name the epoch that you are host of";
                Err(Failure::bad_request("`epoch` is missing".to_owned(), fix).into())
            }
        }
    }
}

/// A member of this session by its token, or the studio by a service account that may change sessions.
fn asker(app: &App, headers: &HeaderMap, session: SessionId) -> Result<Asker, Native> {
    if shown(app, headers, app.now()).is_some() {
        let peer = member(app, headers, session)?;
        lobby(app)?.limits().call(session, peer, app.now())?;
        return Ok(Asker::Member(peer));
    }
    app.permit(headers, Permission::Sessions)?;
    Ok(Asker::Studio)
}

/// Whoever may look for sessions: a member, a player, whoever has a seat, the studio, or anybody where players say by themselves who they are.
fn looks(app: &App, headers: &HeaderMap) -> Result<Looks, Native> {
    let now = app.now();
    if let Some(member) = shown(app, headers, now) {
        return Ok(Looks::Member(member));
    }
    if let Some(player) = player_shown(app, headers)? {
        return Ok(Looks::Player(player));
    }
    if let Some(seat) = bearer(headers).and_then(|token| app.tokens.seat(token, now)) {
        return Ok(Looks::Player(seat.player));
    }
    if headers.contains_key(AUTHORIZATION) {
        let caller = app.caller(headers)?;
        caller.may(Permission::Read)?;
        return Ok(Looks::Studio(caller.key().to_owned()));
    }
    match lobby(app)?.logins() {
        Logins::Open => Ok(Looks::Anybody),
        Logins::Vouched => Err(Denied::NoCredentials.into()),
    }
}

/// Who looks.
#[derive(Debug, Clone)]
enum Looks {
    Member(OfMember),
    Player(Player),
    Studio(String),
    /// All of them are counted as one.
    Anybody,
}

impl Looks {
    /// What its searches are counted by.
    fn counted(&self) -> String {
        match self {
            Self::Member(member) => text(&member.peer.0),
            Self::Player(player) => player.to_string(),
            Self::Studio(key) => key.clone(),
            Self::Anybody => String::new(),
        }
    }

    /// Whether it is told where a session's members are.
    fn addresses(&self, session: &Session) -> Addresses {
        match self {
            Self::Studio(_) => Addresses::Told,
            Self::Member(_) | Self::Player(_) | Self::Anybody if self.is_member_of(session) => {
                Addresses::Told
            }
            Self::Member(_) | Self::Player(_) | Self::Anybody => Addresses::Untold,
        }
    }

    /// Whether it shows a member's token, and that is one still.
    fn is_member_of(&self, session: &Session) -> bool {
        match self {
            Self::Member(member) => {
                member.session == session.id && session.members.contains_key(&member.peer)
            }
            Self::Player(_) | Self::Studio(_) | Self::Anybody => false,
        }
    }
}

/// The player whose entity token is shown, if one is.
fn player_shown(app: &App, headers: &HeaderMap) -> Result<Option<Player>, Native> {
    let Some(token) = headers.get(ENTITY_TOKEN) else { return Ok(None) };
    let token = token.to_str().map_err(|_| Denied::Unreadable)?;
    let identity = app.identity.as_ref().ok_or(Denied::WrongEntityToken)?;
    let holder = identity.read(Purpose::Entity, token, app.now()).map_err(|_| Denied::WrongEntityToken)?;
    Ok(Some(Player(holder.entity.as_str().into())))
}

/// The player whose seat's token is shown, if it is one of this session.
fn seated(app: &App, headers: &HeaderMap, session: Option<SessionId>) -> Option<Player> {
    let seat = app.tokens.seat(bearer(headers)?, app.now())?;
    (Some(seat.session) == session).then_some(seat.player)
}

/// Who wants to come in: its key is its own, and somebody vouches for who it is. `session` is the one it joins, if it makes none.
fn joiner(
    app: &App,
    headers: &HeaderMap,
    asked: &MemberRequest,
    session: Option<SessionId>,
) -> Result<Joiner, Native> {
    let lobbies = lobby(app)?;
    let named = asked.player.as_deref().map(|player| Player(player.into()));
    let peer = peer_of(&asked.peer)?;
    let unknown = || Player(format!("{UNKNOWN}{}", asked.peer).into());
    let player = if let Some(player) = player_shown(app, headers)? {
        player
    } else if let Some(player) = seated(app, headers, session) {
        player
    } else if headers.contains_key(AUTHORIZATION) {
        app.permit(headers, Permission::Sessions)?;
        named.unwrap_or_else(unknown)
    } else {
        match lobbies.logins() {
            Logins::Open => named.unwrap_or_else(unknown),
            Logins::Vouched => return Err(Denied::NoCredentials.into()),
        }
    };
    Asks { lobby: lobbies.key() }.verify(&peer, &signature_of(&asked.proof)?).map_err(Failure::unproven)?;
    lobbies.limits().join(&player.0, app.now())?;
    Ok(Joiner {
        peer,
        player,
        can_be_host: can(asked.can_be_host),
        addresses: asked.addresses.iter().map(|address| address.as_str().into()).collect(),
    })
}

const fn can(be_host: bool) -> CanBeHost {
    if be_host { CanBeHost::Yes } else { CanBeHost::NotYet }
}

/// Asks the rules about a session; a refusal is told with what is known of the session's host.
async fn ask(app: &App, session: SessionId, command: Command) -> Result<Answer, Native> {
    let lobbies = lobby(app)?;
    let answered = lobbies.ask(command).await?;
    answered.map_err(|rejection| Failure::lobby(lobbies, session, &rejection).into())
}

/// A session that goes on.
async fn look(app: &App, session: SessionId) -> Result<Seen, Native> {
    let lobbies = lobby(app)?;
    let seen = lobbies.look(session).await?;
    seen.map_err(|rejection| Failure::lobby(lobbies, session, &rejection).into())
}

/// What somebody is given who came in.
async fn welcome(app: &App, session: SessionId, by: &Joiner) -> Result<MemberAnswer, Native> {
    // It may have been thrown out, or its player have come with another process, in between.
    given(app, &look(app, session).await?, by.peer)
}

/// What a member is given: a token and a pass for itself, as long as it is one.
fn given(app: &App, seen: &Seen, peer: PeerKey) -> Result<MemberAnswer, Native> {
    let lobbies = lobby(app)?;
    let session = seen.session.id;
    let Some(member) = seen.session.members.get(&peer) else {
        return Err(Failure::lobby(lobbies, session, &seen.session.is_out(peer)).into());
    };
    let expires = seen.now + lobbies.pass_life(seen.session.service);
    let token = app
        .tokens
        .of_member(OfMember { session, peer }, seen.now, expires)
        .map_err(|error| Failure::internal(format!("failed to sign: {error}")))?;
    Ok(MemberAnswer {
        session: lobbies.view(seen, Addresses::Told),
        lobby_key: text(&lobbies.key().0),
        token,
        token_expires: expires.unix_ms(),
        pass: lobbies.pass(session, peer, &member.player, expires),
        as_of: seen.now.unix_ms(),
        relay: lobbies.relay(session, &peer),
    })
}
