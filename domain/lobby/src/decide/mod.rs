//! Every rule of a lobby, one command a file.

mod again;
mod claim;
mod configure;
mod create;
mod due;
mod end;
mod hand_over;
mod introduce;
mod join;
mod kick;
mod leave;
mod reserve;
mod update;

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use mainstay_core::{SessionId, Timestamp, Turn};

use crate::command::{Answer, Authority, Command, Observation};
use crate::event::Event;
use crate::id::{Epoch, PeerKey};
use crate::limits::{
    ADDRESS_BYTES_MAX, ADDRESSES_MAX, CLAIM_LIFE, PLAYER_BYTES_MAX, SESSIONS_MAX, STORED_BYTES_MAX,
};
use crate::lobby::Lobby;
use crate::rejection::Rejection;
use crate::session::{Gone, Session};
use crate::settings::Unfit;
use crate::{Joiner, Player};

pub(crate) fn decide(turn: &mut Turn<'_, Lobby>, command: &Command) -> Result<Answer, Rejection> {
    turn.observe(Observation::Listening);
    match command {
        Command::Configure { service, migration } => Ok(configure::configure(turn, *service, *migration)),
        Command::Create { session, service, settings, by } => {
            create::create(turn, *session, *service, settings, by)
        }
        Command::Reserve { session, service, settings, players } => {
            reserve::reserve(turn, *session, *service, settings, players)
        }
        Command::Withdraw { session } => Ok(reserve::withdraw(turn, *session)),
        Command::Join { session, by } => join::join(turn, *session, by),
        Command::Introduce { session, peer, can_be_host, addresses } => {
            introduce::introduce(turn, *session, *peer, *can_be_host, addresses)
        }
        Command::Leave { session, peer } => leave::leave(turn, *session, *peer),
        Command::Kick { session, peer, by } => kick::kick(turn, *session, *peer, *by),
        Command::Claim { session, expected, by, as_of } => {
            claim::claim(turn, *session, *expected, *by, *as_of)
        }
        Command::HandOver { session, expected, by, to, as_of } => {
            hand_over::hand_over(turn, *session, *expected, (*by, *to), *as_of)
        }
        Command::Update { session, by, update } => update::update(turn, *session, *by, update),
        Command::End { session, by } => end::end(turn, *session, *by),
        Command::Due => Ok(due::due(turn)),
    }
}

/// What was under way for long may not be wanted any more: a member that could not reach the lobby may obey another by now, and a host have
/// taken back what it wanted to hand over.
fn fresh(turn: &Turn<'_, Lobby>, as_of: Option<Timestamp>) -> Result<(), Rejection> {
    let age = as_of.map_or(Duration::ZERO, |as_of| turn.now().since(as_of));
    if age > CLAIM_LIFE { Err(Rejection::Stale { age }) } else { Ok(()) }
}

/// The session as it is now.
fn session(turn: &Turn<'_, Lobby>, id: SessionId) -> Result<Arc<Session>, Rejection> {
    turn.state().session(id).cloned()
}

fn told(turn: &Turn<'_, Lobby>, id: SessionId) -> Answer {
    // It goes on, or this would have been refused, or it has just ended.
    turn.state().session(id).map_or(Answer::Done, |session| Answer::Session(Arc::clone(session)))
}

fn heard(turn: &mut Turn<'_, Lobby>, session: SessionId, peer: PeerKey) {
    turn.observe(Observation::Heard { session, peers: Vec::from([peer]) });
}

/// Refuses whoever is not the host of the newest epoch, nor the studio.
fn may(session: &Session, by: Authority) -> Result<(), Rejection> {
    match by {
        Authority::Studio => Ok(()),
        Authority::Host { peer, epoch } => {
            newest(session, epoch)?;
            match session.grant {
                Some(grant) if grant.host == peer && session.members.contains_key(&peer) => Ok(()),
                Some(_) | None => Err(Rejection::NotHost(peer)),
            }
        }
    }
}

/// Refuses whoever believes in another epoch: an old host is fenced here.
fn newest(session: &Session, expected: Epoch) -> Result<(), Rejection> {
    let found = session.epoch();
    if found == expected { Ok(()) } else { Err(Rejection::Passed { expected, found, grant: session.grant }) }
}

/// A member is one no longer, and the session may be over with that.
fn goes(turn: &mut Turn<'_, Lobby>, session: SessionId, peer: PeerKey, gone: Gone) {
    turn.emit(Event::Went { session, peer, gone });
    ends_if_over(turn, session);
}

fn ends_if_over(turn: &mut Turn<'_, Lobby>, id: SessionId) {
    let over = turn.state().session(id).ok().and_then(|session| session.over());
    if let Some(ending) = over {
        turn.emit(Event::Ended { session: id, ending });
    }
}

fn check_addresses(addresses: &[Arc<str>]) -> Result<(), Unfit> {
    let fits = |address: &Arc<str>| {
        (1..=ADDRESS_BYTES_MAX).contains(&address.len()) && address.chars().all(|it| it.is_ascii_graphic())
    };
    if addresses.len() <= ADDRESSES_MAX && addresses.iter().all(fits) {
        Ok(())
    } else {
        Err(Unfit::Addresses)
    }
}

fn check_player(player: &Player) -> Result<(), Unfit> {
    let fits = (1..=PLAYER_BYTES_MAX).contains(&player.0.len()) && !player.0.chars().any(char::is_control);
    if fits { Ok(()) } else { Err(Unfit::Player) }
}

fn check_joiner(by: &Joiner) -> Result<(), Unfit> {
    check_player(&by.player)?;
    check_addresses(&by.addresses)
}

/// Refuses what would take more than there is room for.
fn room_for(turn: &Turn<'_, Lobby>, more: usize) -> Result<(), Rejection> {
    let bytes = turn.state().bytes() + more;
    if bytes > STORED_BYTES_MAX { Err(Rejection::NoRoom { bytes }) } else { Ok(()) }
}

fn room_for_session(turn: &Turn<'_, Lobby>, more: usize) -> Result<(), Rejection> {
    if turn.state().len() >= SESSIONS_MAX {
        return Err(Rejection::TooMany);
    }
    room_for(turn, more)
}

/// What a member takes at most, in bytes: what is checked before the member is there to be weighed.
const MEMBER_BYTES_MAX: usize = 160 + PLAYER_BYTES_MAX + ADDRESSES_MAX * (ADDRESS_BYTES_MAX + 32);
/// What a session takes besides its settings and its members.
const SESSION_BYTES: usize = 400;
