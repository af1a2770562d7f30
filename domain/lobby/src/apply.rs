//! The only change of what a lobby durably knows.

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::sync::Arc;
use alloc::vec::Vec;

use mainstay_core::{SessionId, Timestamp};

use crate::command::Update;
use crate::event::Event;
use crate::id::PeerKey;
use crate::limits::{ENDED_KEPT, ENDED_MAX};
use crate::lobby::{Ended, Lobby};
use crate::session::{Former, Gone, Grant, Member, Phase, Session};
use crate::settings::Searchable;

pub(crate) fn apply(lobby: &mut Lobby, at: Timestamp, event: &Event) {
    match event {
        Event::Configured { service, migration } => {
            lobby.support.insert(*service, *migration);
        }
        Event::Opened { session, service, settings, seats, seats_until } => {
            lobby.put(Session {
                id: *session,
                service: *service,
                settings: settings.clone(),
                phase: Phase::Gathering,
                created: at,
                revision: 0,
                grant: None,
                members: BTreeMap::new(),
                seats: seats.iter().cloned().collect(),
                seats_until: *seats_until,
                former: VecDeque::new(),
                kicked: BTreeSet::new(),
                kicked_peers: BTreeSet::new(),
            });
        }
        Event::Joined { session, peer, player, can_be_host, addresses } => lobby.change(*session, |it| {
            it.seats.remove(player);
            // Another process of this player is remembered: it stays out while this one is here.
            it.former.retain(|former| former.player != *player || former.peer != *peer);
            let member = Member {
                player: player.clone(),
                can_be_host: *can_be_host,
                addresses: addresses.clone(),
                joined: at,
            };
            it.members.insert(*peer, member);
        }),
        Event::Introduced { session, peer, can_be_host, addresses } => lobby.change(*session, |it| {
            if let Some(member) = it.members.get_mut(peer) {
                member.can_be_host = *can_be_host;
                member.addresses.clone_from(addresses);
            }
        }),
        Event::Went { session, peer, gone } => {
            lobby.pulses.forget(*session, peer);
            lobby.change(*session, |it| {
                let Some(player) = it.player_of(peer).cloned() else { return };
                it.members.remove(peer);
                let former =
                    it.former.iter().filter(|former| former.player == player).map(|former| former.peer);
                let processes: Vec<PeerKey> = former.chain([*peer]).collect();
                it.former.retain(|former| former.player != player);
                match gone {
                    Gone::Kicked => {
                        it.kicked.insert(player);
                        // A pass outlives the process that it was given to: hosts have to know every key of that player.
                        it.kicked_peers.extend(processes);
                    }
                    Gone::Left | Gone::Lost | Gone::Replaced => it.remember(Former { peer: *peer, player }),
                }
            });
        }
        Event::Granted { session, epoch, host } => lobby.change(*session, |it| {
            it.grant = Some(Grant { epoch: *epoch, host: *host, at });
        }),
        Event::Updated { session, update } => lobby.change(*session, |it| updated(it, update)),
        Event::SeatsGivenUp { session } => lobby.change(*session, |it| it.seats.clear()),
        Event::Ended { session, ending } => {
            lobby.take(*session);
            lobby.pulses.end(*session);
            lobby.touched.insert(*session);
            lobby.ended.insert(*session, Ended { at, ending: *ending });
            lobby.ended_order.push_back(*session);
            lobby.forget_ended(at);
        }
        Event::Stood(session) => lobby.put(Session::clone(session)),
    }
}

fn updated(session: &mut Session, update: &Update) {
    let Update { name, searchable, joining, phase, attributes } = update;
    let settings = &mut session.settings;
    if let Some(name) = name {
        settings.name = name.clone();
    }
    settings.searchable = searchable.unwrap_or(settings.searchable);
    settings.joining = joining.unwrap_or(settings.joining);
    session.phase = phase.unwrap_or(session.phase);
    for (name, value) in attributes {
        match value {
            Some(value) => settings.attributes.insert(name.clone(), value.clone()),
            None => settings.attributes.remove(name),
        };
    }
}

impl Lobby {
    fn change(&mut self, id: SessionId, change: impl FnOnce(&mut Session)) {
        let Some(mut session) = self.take(id) else { return };
        let changed = Arc::make_mut(&mut session);
        change(changed);
        changed.revision += 1;
        self.put_shared(session);
    }

    fn put(&mut self, session: Session) {
        self.put_shared(Arc::new(session));
    }

    /// Puts a session, and what is derived of it.
    fn put_shared(&mut self, session: Arc<Session>) {
        self.bytes += session.weight();
        match session.settings.searchable {
            Searchable::Yes => self.found.insert((session.service, session.id)),
            Searchable::No => false,
        };
        if !session.seats.is_empty() {
            self.seats.insert((session.seats_until, session.id));
        }
        self.touched.insert(session.id);
        self.sessions.insert(session.id, session);
    }

    /// Takes a session, and what is derived of it.
    fn take(&mut self, id: SessionId) -> Option<Arc<Session>> {
        let session = self.sessions.remove(&id)?;
        self.bytes -= session.weight();
        self.found.remove(&(session.service, id));
        self.seats.remove(&(session.seats_until, id));
        Some(session)
    }

    fn forget_ended(&mut self, now: Timestamp) {
        while let Some(oldest) = self.ended_order.front() {
            let is_old = self.ended.get(oldest).is_none_or(|ended| ended.at + ENDED_KEPT <= now);
            if !is_old && self.ended_order.len() <= ENDED_MAX {
                return;
            }
            self.ended.remove(oldest);
            self.ended_order.pop_front();
        }
    }
}
