//! Formats 1 to 10 of a queue's events: each only appends cases, so that one enum reads all.

use std::sync::Arc;

use mainstay_core::{MatchId, TicketId, Timestamp};
use mainstay_matchmaking::spec::{Gather, QueueSpec, Unread, Venue};
use mainstay_matchmaking::{self as domain, Entity, Event as DomainEvent};
use serde::{Deserialize, Serialize};

use super::queue_spec_v1::{self, Allocation, Spec};
use super::queue_ticket_v1::{
    BackfillStage, Cancellation, Cursor, Member, Seated, Server, Stage, Terms, shared, texts,
};

#[derive(Serialize, Deserialize)]
pub(super) enum Event<'a> {
    Configured {
        #[serde(borrow)]
        spec: Spec<'a>,
        form: u32,
    },
    Closed,
    TicketCreated {
        ticket: TicketId,
        creator: &'a str,
        members: Vec<Member<'a>>,
        invited: Vec<&'a str>,
        give_up_after: u32,
    },
    TicketJoined {
        ticket: TicketId,
        member: Member<'a>,
    },
    TicketCanceled {
        ticket: TicketId,
        reason: Cancellation,
    },
    BackfillCreated {
        ticket: TicketId,
        owner: Option<&'a str>,
        members: Vec<Seated<'a>>,
        server: Server<'a>,
        places: Option<u32>,
        give_up_after: u32,
    },
    BackfillCanceled {
        ticket: TicketId,
        reason: Cancellation,
    },
    MatchFormed {
        id: MatchId,
        tickets: Vec<(TicketId, Option<u8>)>,
        backfill: Option<(TicketId, Vec<u8>)>,
        regions: Vec<&'a str>,
    },
    Searched(Cursor),
    Stood {
        form: u32,
        arrivals: u64,
        until: Cursor,
        anew: u64,
    },
    TicketStood {
        id: TicketId,
        creator: &'a str,
        members: Vec<Member<'a>>,
        invited: Vec<&'a str>,
        created: u64,
        give_up_after: u32,
        changes: u32,
        stage: Stage,
    },
    BackfillStood {
        id: TicketId,
        owner: Option<&'a str>,
        members: Vec<Seated<'a>>,
        server: Server<'a>,
        places: Option<u32>,
        created: u64,
        give_up_after: u32,
        stage: BackfillStage,
    },
    MatchStood {
        id: MatchId,
        formed: u64,
        members: Vec<Seated<'a>>,
        regions: Vec<&'a str>,
        server: Option<Server<'a>>,
    },
    /// Since format 2.
    ConfiguredWithServers {
        spec: Spec<'a>,
        form: u32,
        allocation: Allocation<'a>,
    },
    MatchHeld {
        id: MatchId,
        tickets: Vec<(TicketId, Option<u8>)>,
        regions: Vec<&'a str>,
    },
    MatchPlaced {
        hold: MatchId,
        server: Server<'a>,
    },
    PlacementRefused {
        hold: MatchId,
        code: &'a str,
        again: u64,
    },
    HoldReleased {
        hold: MatchId,
    },
    PlacementUndone {
        id: MatchId,
    },
    HoldStood {
        id: MatchId,
        tickets: Vec<(TicketId, Option<u8>)>,
        regions: Vec<&'a str>,
        allocation: Allocation<'a>,
        held: u64,
        refusals: u32,
        refused: Option<&'a str>,
        from: u64,
    },
    UndoStood {
        id: MatchId,
        fleet: &'a str,
    },
    /// Since format 3. On the terms that there were before, a backfill ticket is still told as before.
    BackfillCreatedOn {
        ticket: TicketId,
        owner: Option<&'a str>,
        members: Vec<Seated<'a>>,
        server: Server<'a>,
        places: Option<u32>,
        give_up_after: u32,
        terms: Terms,
    },
    BackfillChanged {
        ticket: TicketId,
        members: Vec<Seated<'a>>,
        places: Option<u32>,
    },
    BackfillStoodOn {
        id: TicketId,
        owner: Option<&'a str>,
        members: Vec<Seated<'a>>,
        server: Server<'a>,
        places: Option<u32>,
        created: u64,
        give_up_after: u32,
        stage: BackfillStage,
        terms: Terms,
    },
    /// Since format 4: matches that are played in sessions of a lobby.
    ConfiguredWithSessions {
        spec: Spec<'a>,
        form: u32,
        lobby: &'a str,
    },
    HoldStoodForSession {
        id: MatchId,
        tickets: Vec<(TicketId, Option<u8>)>,
        regions: Vec<&'a str>,
        lobby: &'a str,
        held: u64,
        refusals: u32,
        refused: Option<&'a str>,
        from: u64,
    },
    UndoStoodInLobby {
        id: MatchId,
    },
    /// Since format 5: an operator may have a queue pause.
    Paused,
    Resumed,
    /// Since format 7: a queue that gathers. Of any other is told as before.
    ConfiguredGathering {
        spec: Spec<'a>,
        form: u32,
        venue: Option<queue_spec_v1::Venue<'a>>,
        gather_ms: u32,
    },
    /// Since format 8: a queue that was told what nothing reads. Of any other is told as before.
    ConfiguredWithUnread {
        spec: Spec<'a>,
        form: u32,
        venue: Option<queue_spec_v1::Venue<'a>>,
        gather_ms: u32,
        unread: queue_spec_v1::Unread<'a>,
    },
    /// Since format 10.
    Merged(Cursor),
}

impl<'a> Event<'a> {
    fn configured(spec: &'a QueueSpec, form: u32) -> Self {
        let (venue, gather_ms) = (spec.venue.as_ref().map(Into::into), spec.gather.ms());
        if spec.unread != Unread::default() {
            let unread = (&spec.unread).into();
            return Self::ConfiguredWithUnread { spec: spec.into(), form, venue, gather_ms, unread };
        }
        if spec.gather != Gather::NONE {
            return Self::ConfiguredGathering { spec: spec.into(), form, venue, gather_ms };
        }
        match &spec.venue {
            None => Self::Configured { spec: spec.into(), form },
            Some(Venue::Server(allocation)) => {
                Self::ConfiguredWithServers { spec: spec.into(), form, allocation: allocation.into() }
            }
            Some(Venue::Session { lobby }) => Self::ConfiguredWithSessions { spec: spec.into(), form, lobby },
        }
    }
}

impl<'a> From<&'a DomainEvent> for Event<'a> {
    fn from(event: &'a DomainEvent) -> Self {
        match event {
            DomainEvent::Configured { spec, form } => Self::configured(spec, *form),
            DomainEvent::MatchHeld { id, tickets, regions } => {
                Self::MatchHeld { id: *id, tickets: tickets.to_vec(), regions: texts(regions) }
            }
            DomainEvent::MatchPlaced { hold, server } => {
                Self::MatchPlaced { hold: *hold, server: (&**server).into() }
            }
            DomainEvent::PlacementRefused { hold, code, again } => {
                Self::PlacementRefused { hold: *hold, code, again: again.unix_ms() }
            }
            DomainEvent::HoldReleased { hold } => Self::HoldReleased { hold: *hold },
            DomainEvent::PlacementUndone { id } => Self::PlacementUndone { id: *id },
            DomainEvent::HoldStood(hold) => {
                let domain::Hold { id, tickets, regions, venue, held, refusals, refused, from } = &**hold;
                match &**venue {
                    Venue::Server(allocation) => Self::HoldStood {
                        id: *id,
                        tickets: tickets.to_vec(),
                        regions: texts(regions),
                        allocation: allocation.into(),
                        held: held.unix_ms(),
                        refusals: *refusals,
                        refused: refused.as_deref(),
                        from: from.unix_ms(),
                    },
                    Venue::Session { lobby } => Self::HoldStoodForSession {
                        id: *id,
                        tickets: tickets.to_vec(),
                        regions: texts(regions),
                        lobby,
                        held: held.unix_ms(),
                        refusals: *refusals,
                        refused: refused.as_deref(),
                        from: from.unix_ms(),
                    },
                }
            }
            DomainEvent::UndoStood { id, of: domain::Asked::Fleet(fleet) } => {
                Self::UndoStood { id: *id, fleet }
            }
            DomainEvent::UndoStood { id, of: domain::Asked::Lobby } => Self::UndoStoodInLobby { id: *id },
            DomainEvent::Closed => Self::Closed,
            DomainEvent::Paused => Self::Paused,
            DomainEvent::Resumed => Self::Resumed,
            DomainEvent::TicketCreated { ticket, creator, members, invited, give_up_after } => {
                Self::TicketCreated {
                    ticket: *ticket,
                    creator: creator.as_str(),
                    members: all(members),
                    invited: entities(invited),
                    give_up_after: *give_up_after,
                }
            }
            DomainEvent::TicketJoined { ticket, member } => {
                Self::TicketJoined { ticket: *ticket, member: member.into() }
            }
            DomainEvent::TicketCanceled { ticket, reason } => {
                Self::TicketCanceled { ticket: *ticket, reason: (*reason).into() }
            }
            DomainEvent::BackfillCreated { ticket, owner, members, server, places, give_up_after, terms } => {
                let (ticket, places, give_up_after) = (*ticket, *places, *give_up_after);
                let owner = owner.as_ref().map(Entity::as_str);
                let (members, server) = (all(members), (&**server).into());
                match Terms::told(terms) {
                    None => Self::BackfillCreated { ticket, owner, members, server, places, give_up_after },
                    Some(terms) => Self::BackfillCreatedOn {
                        ticket,
                        owner,
                        members,
                        server,
                        places,
                        give_up_after,
                        terms,
                    },
                }
            }
            DomainEvent::BackfillChanged { ticket, members, places } => {
                Self::BackfillChanged { ticket: *ticket, members: all(members), places: *places }
            }
            DomainEvent::BackfillCanceled { ticket, reason } => {
                Self::BackfillCanceled { ticket: *ticket, reason: (*reason).into() }
            }
            DomainEvent::MatchFormed { id, tickets, backfill, regions } => Self::MatchFormed {
                id: *id,
                tickets: tickets.to_vec(),
                backfill: backfill.as_ref().map(|filled| (filled.ticket, filled.teams.to_vec())),
                regions: texts(regions),
            },
            DomainEvent::Searched(cursor) => Self::Searched((*cursor).into()),
            DomainEvent::Merged(first) => Self::Merged((*first).into()),
            DomainEvent::Stood { form, arrivals, looked_at } => Self::Stood {
                form: *form,
                arrivals: *arrivals,
                until: looked_at.until.into(),
                anew: looked_at.anew.unix_ms(),
            },
            DomainEvent::TicketStood(ticket) => {
                let domain::Ticket { id, origin: _, members, created, give_up_after, changes, stage } =
                    &**ticket;
                Self::TicketStood {
                    id: *id,
                    creator: ticket.creator().as_str(),
                    members: all(members),
                    invited: entities(ticket.invited()),
                    created: created.unix_ms(),
                    give_up_after: *give_up_after,
                    changes: *changes,
                    stage: (*stage).into(),
                }
            }
            DomainEvent::BackfillStood(ticket) => {
                let domain::BackfillTicket {
                    id,
                    owner,
                    members,
                    server,
                    places,
                    created,
                    give_up_after,
                    terms,
                    stage,
                } = &**ticket;
                let (id, places, give_up_after) = (*id, *places, *give_up_after);
                let owner = owner.as_ref().map(Entity::as_str);
                let (members, server) = (all(members), (&**server).into());
                let (created, stage) = (created.unix_ms(), (*stage).into());
                match Terms::told(terms) {
                    None => Self::BackfillStood {
                        id,
                        owner,
                        members,
                        server,
                        places,
                        created,
                        give_up_after,
                        stage,
                    },
                    Some(terms) => Self::BackfillStoodOn {
                        id,
                        owner,
                        members,
                        server,
                        places,
                        created,
                        give_up_after,
                        stage,
                        terms,
                    },
                }
            }
            DomainEvent::MatchStood(formed) => {
                let domain::Match { id, formed, members, regions, server } = &**formed;
                Self::MatchStood {
                    id: *id,
                    formed: formed.unix_ms(),
                    members: all(members),
                    regions: texts(regions),
                    server: server.as_deref().map(Into::into),
                }
            }
        }
    }
}

impl From<Event<'_>> for DomainEvent {
    fn from(event: Event<'_>) -> Self {
        match event {
            Event::Configured { spec, form } => Self::Configured { spec: Arc::new(spec.into()), form },
            Event::ConfiguredWithServers { spec, form, allocation } => {
                Self::Configured { spec: Arc::new(spec.at(Venue::Server(allocation.into()))), form }
            }
            Event::ConfiguredWithSessions { spec, form, lobby } => {
                Self::Configured { spec: Arc::new(spec.at(Venue::Session { lobby: lobby.into() })), form }
            }
            Event::ConfiguredGathering { spec, form, venue, gather_ms } => {
                Self::Configured { spec: Arc::new(spec.gathering(venue, gather_ms)), form }
            }
            Event::ConfiguredWithUnread { spec, form, venue, gather_ms, unread } => {
                Self::Configured { spec: Arc::new(spec.told(venue, gather_ms, unread)), form }
            }
            Event::MatchHeld { id, tickets, regions } => {
                Self::MatchHeld { id, tickets: tickets.into(), regions: shared(&regions) }
            }
            Event::MatchPlaced { hold, server } => {
                Self::MatchPlaced { hold, server: Arc::new(server.into()) }
            }
            Event::PlacementRefused { hold, code, again } => {
                Self::PlacementRefused { hold, code: code.into(), again: Timestamp::from_unix_ms(again) }
            }
            Event::HoldReleased { hold } => Self::HoldReleased { hold },
            Event::PlacementUndone { id } => Self::PlacementUndone { id },
            Event::HoldStood { id, tickets, regions, allocation, held, refusals, refused, from } => {
                Self::HoldStood(Arc::new(domain::Hold {
                    id,
                    tickets: tickets.into(),
                    regions: shared(&regions),
                    venue: Arc::new(Venue::Server(allocation.into())),
                    held: Timestamp::from_unix_ms(held),
                    refusals,
                    refused: refused.map(Into::into),
                    from: Timestamp::from_unix_ms(from),
                }))
            }
            Event::HoldStoodForSession { id, tickets, regions, lobby, held, refusals, refused, from } => {
                Self::HoldStood(Arc::new(domain::Hold {
                    id,
                    tickets: tickets.into(),
                    regions: shared(&regions),
                    venue: Arc::new(Venue::Session { lobby: lobby.into() }),
                    held: Timestamp::from_unix_ms(held),
                    refusals,
                    refused: refused.map(Into::into),
                    from: Timestamp::from_unix_ms(from),
                }))
            }
            Event::UndoStood { id, fleet } => Self::UndoStood { id, of: domain::Asked::Fleet(fleet.into()) },
            Event::UndoStoodInLobby { id } => Self::UndoStood { id, of: domain::Asked::Lobby },
            Event::Closed => Self::Closed,
            Event::Paused => Self::Paused,
            Event::Resumed => Self::Resumed,
            Event::TicketCreated { ticket, creator, members, invited, give_up_after } => {
                Self::TicketCreated {
                    ticket,
                    creator: Entity::kept(creator),
                    members: raised(members),
                    invited: kept(&invited),
                    give_up_after,
                }
            }
            Event::TicketJoined { ticket, member } => Self::TicketJoined { ticket, member: member.into() },
            Event::TicketCanceled { ticket, reason } => {
                Self::TicketCanceled { ticket, reason: reason.into() }
            }
            Event::BackfillCreated { ticket, owner, members, server, places, give_up_after } => {
                Self::BackfillCreated {
                    ticket,
                    owner: owner.map(Entity::kept),
                    members: raised(members),
                    server: Arc::new(server.into()),
                    places,
                    give_up_after,
                    terms: domain::Terms::default(),
                }
            }
            Event::BackfillCreatedOn { ticket, owner, members, server, places, give_up_after, terms } => {
                Self::BackfillCreated {
                    ticket,
                    owner: owner.map(Entity::kept),
                    members: raised(members),
                    server: Arc::new(server.into()),
                    places,
                    give_up_after,
                    terms: terms.into(),
                }
            }
            Event::BackfillChanged { ticket, members, places } => {
                Self::BackfillChanged { ticket, members: raised(members), places }
            }
            Event::BackfillCanceled { ticket, reason } => {
                Self::BackfillCanceled { ticket, reason: reason.into() }
            }
            Event::MatchFormed { id, tickets, backfill, regions } => Self::MatchFormed {
                id,
                tickets: tickets.into(),
                backfill: backfill.map(|(ticket, teams)| domain::Filled { ticket, teams: teams.into() }),
                regions: shared(&regions),
            },
            Event::Searched(cursor) => Self::Searched(cursor.into()),
            Event::Merged(first) => Self::Merged(first.into()),
            Event::Stood { form, arrivals, until, anew } => {
                // What fell behind is told of its own.
                let (until, anew, merged) = (until.into(), Timestamp::from_unix_ms(anew), None);
                Self::Stood { form, arrivals, looked_at: domain::LookedAt { until, anew, merged } }
            }
            Event::TicketStood { id, creator, members, invited, created, give_up_after, changes, stage } => {
                let members: domain::Members = members.into_iter().map(Into::into).collect();
                Self::TicketStood(Arc::new(domain::Ticket {
                    id,
                    origin: domain::Origin::new(&Entity::kept(creator), &members, &kept(&invited)),
                    members,
                    created: Timestamp::from_unix_ms(created),
                    give_up_after,
                    changes,
                    stage: stage.into(),
                }))
            }
            Event::BackfillStood { id, owner, members, server, places, created, give_up_after, stage } => {
                Self::BackfillStood(Arc::new(domain::BackfillTicket {
                    id,
                    owner: owner.map(Entity::kept),
                    members: raised(members),
                    server: Arc::new(server.into()),
                    places,
                    created: Timestamp::from_unix_ms(created),
                    give_up_after,
                    terms: domain::Terms::default(),
                    stage: stage.into(),
                }))
            }
            Event::BackfillStoodOn {
                id,
                owner,
                members,
                server,
                places,
                created,
                give_up_after,
                stage,
                terms,
            } => Self::BackfillStood(Arc::new(domain::BackfillTicket {
                id,
                owner: owner.map(Entity::kept),
                members: raised(members),
                server: Arc::new(server.into()),
                places,
                created: Timestamp::from_unix_ms(created),
                give_up_after,
                terms: terms.into(),
                stage: stage.into(),
            })),
            Event::MatchStood { id, formed, members, regions, server } => {
                Self::MatchStood(Arc::new(domain::Match {
                    id,
                    formed: Timestamp::from_unix_ms(formed),
                    members: members.into_iter().map(Into::into).collect(),
                    regions: shared(&regions),
                    server: server.map(|server| Arc::new(server.into())),
                }))
            }
        }
    }
}

fn all<'a, T, S: From<&'a T>>(items: &'a [T]) -> Vec<S> {
    items.iter().map(S::from).collect()
}

fn raised<S, T: From<S>>(items: Vec<S>) -> Arc<[T]> {
    items.into_iter().map(T::from).collect()
}

fn entities(entities: &[Entity]) -> Vec<&str> {
    entities.iter().map(Entity::as_str).collect()
}

fn kept(entities: &[&str]) -> Arc<[Entity]> {
    entities.iter().copied().map(Entity::kept).collect()
}
