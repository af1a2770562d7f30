//! What always holds of a lobby. Run by tests, by the simulator, and by `mainstay doctor`.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use mainstay_core::SessionId;

use crate::event::Event;
use crate::limits::FORMER_MAX;
use crate::lobby::Lobby;
use crate::session::{Former, Session};
use crate::settings::Searchable;

/// Everything that does not hold of what an event touched.
#[must_use]
pub fn after(lobby: &Lobby, event: &Event) -> Vec<String> {
    let mut broken = Vec::new();
    let id = match event {
        Event::Configured { .. } => return broken,
        Event::Opened { session, .. }
        | Event::Joined { session, .. }
        | Event::Introduced { session, .. }
        | Event::Went { session, .. }
        | Event::Granted { session, .. }
        | Event::Updated { session, .. }
        | Event::SeatsGivenUp { session }
        | Event::Ended { session, .. } => *session,
        Event::Stood(session) => session.id,
    };
    if let Some(session) = lobby.sessions.get(&id) {
        whole(lobby, session, &mut broken);
    }
    over_once(lobby, id, &mut broken);
    broken
}

/// Everything that does not hold.
#[must_use]
pub fn all(lobby: &Lobby) -> Vec<String> {
    let mut broken = Vec::new();
    for session in lobby.sessions.values() {
        whole(lobby, session, &mut broken);
        over_once(lobby, session.id, &mut broken);
    }
    let bytes: usize = lobby.sessions.values().map(|session| session.weight()).sum();
    if bytes != lobby.bytes {
        broken.push(format!("sessions take {bytes} bytes, and {} are noted", lobby.bytes));
    }
    let derived = |id: &SessionId| lobby.sessions.contains_key(id);
    if !lobby.found.iter().all(|(_, id)| derived(id)) || !lobby.seats.iter().all(|(_, id)| derived(id)) {
        broken.push("a session that is gone is still looked up".into());
    }
    let order: BTreeSet<&SessionId> = lobby.ended_order.iter().collect();
    if order.len() != lobby.ended_order.len() || order.len() != lobby.ended.len() {
        broken.push(format!(
            "{} sessions ended, and {} are noted in their order",
            lobby.ended.len(),
            lobby.ended_order.len()
        ));
    }
    if lobby.pulses.listening().is_some() {
        let members: BTreeSet<_> = lobby
            .sessions
            .values()
            .flat_map(|session| session.members.keys().map(|peer| (session.id, *peer)))
            .collect();
        if lobby.pulses.counted() != members {
            broken.push("somebody's silence is not counted, or that of somebody who is gone".into());
        }
    }
    broken
}

fn over_once(lobby: &Lobby, id: SessionId, broken: &mut Vec<String>) {
    if lobby.sessions.contains_key(&id) && lobby.ended.contains_key(&id) {
        broken.push(format!("session {id} goes on and has ended"));
    }
}

fn whole(lobby: &Lobby, session: &Session, broken: &mut Vec<String>) {
    let id = session.id;
    let taken = session.members.len() + session.seats.len();
    if taken > usize::try_from(session.settings.size).unwrap_or(usize::MAX) {
        broken.push(format!("session {id} has {taken} members and seats, at most {}", session.settings.size));
    }
    let players: BTreeSet<_> = session.members.values().map(|member| &member.player).collect();
    if players.len() != session.members.len() {
        broken.push(format!("session {id} has a player twice"));
    }
    let back = session.members.iter().find(|(peer, member)| {
        session.kicked_peers.contains(*peer) || session.kicked.contains(&member.player)
    });
    if let Some((peer, _)) = back {
        broken.push(format!("session {id}: {peer} was kicked and is a member"));
    }
    let is_here = |former: &Former| {
        let member = session.members.get(&former.peer);
        member.is_some_and(|member| member.player == former.player) || session.kicked.contains(&former.player)
    };
    let former: BTreeSet<_> = session.former.iter().map(|former| &former.player).collect();
    if former.len() != session.former.len() || former.len() > FORMER_MAX || session.former.iter().any(is_here)
    {
        broken.push(format!(
            "session {id} remembers somebody twice, or who is here, was kicked, or is one too many"
        ));
    }
    if session.grant.is_some_and(|grant| grant.epoch.0 == 0) {
        broken.push(format!("session {id} has a host of no epoch"));
    }
    if session.over().is_some() {
        broken.push(format!("session {id} is over and goes on"));
    }
    let is_found = lobby.found.contains(&(session.service, id));
    if is_found != (session.settings.searchable == Searchable::Yes) {
        broken.push(format!("session {id} is found, or not, against its settings"));
    }
    if lobby.seats.contains(&(session.seats_until, id)) == session.seats.is_empty() {
        broken.push(format!("session {id}: its seats are given up never, or were already"));
    }
}
