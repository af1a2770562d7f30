//! Formats 1 and 2 of what happens in a lobby: 2 tells of a session who was a member of it, in a variant of its own.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use mainstay_core::{SessionId, Timestamp};
use mainstay_lobby as domain;
use mainstay_lobby::{Event as DomainEvent, PeerKey, Player};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
pub(super) enum Event<'a> {
    Configured {
        service: Service,
        migration: Support,
    },
    Opened {
        session: SessionId,
        service: Service,
        settings: Settings<'a>,
        seats: Vec<Cow<'a, str>>,
        seats_until: u64,
    },
    Joined {
        session: SessionId,
        peer: [u8; 32],
        player: Cow<'a, str>,
        can_be_host: CanBeHost,
        addresses: Vec<Cow<'a, str>>,
    },
    Introduced {
        session: SessionId,
        peer: [u8; 32],
        can_be_host: CanBeHost,
        addresses: Vec<Cow<'a, str>>,
    },
    Went {
        session: SessionId,
        peer: [u8; 32],
        gone: Gone,
    },
    Granted {
        session: SessionId,
        epoch: u32,
        host: Host,
    },
    Updated {
        session: SessionId,
        update: Update<'a>,
    },
    SeatsGivenUp {
        session: SessionId,
    },
    Ended {
        session: SessionId,
        ending: Ending,
    },
    /// Of format 1.
    Stood(Box<Session<'a>>),
    StoodAfter {
        session: Box<Session<'a>>,
        former: Vec<([u8; 32], Cow<'a, str>)>,
    },
}

/// What hosts an epoch. Other kinds append here.
#[derive(Serialize, Deserialize)]
pub(super) enum Host {
    Peer([u8; 32]),
}

#[derive(Serialize, Deserialize)]
pub(super) enum Service {
    Lan,
    Online,
}

#[derive(Serialize, Deserialize)]
pub(super) enum Support {
    Supported,
    Unsupported,
}

#[derive(Serialize, Deserialize)]
pub(super) enum CanBeHost {
    Yes,
    NotYet,
}

#[derive(Serialize, Deserialize)]
pub(super) enum Gone {
    Left,
    Kicked,
    Lost,
    Replaced,
}

#[derive(Serialize, Deserialize)]
pub(super) enum Ending {
    Closed,
    Empty,
    HostLost,
    Withdrawn,
}

#[derive(Serialize, Deserialize)]
pub(super) enum Migratable {
    Yes,
    No,
}

#[derive(Serialize, Deserialize)]
pub(super) enum Searchable {
    Yes,
    No,
}

#[derive(Serialize, Deserialize)]
pub(super) enum Joining {
    Open,
    Closed,
}

#[derive(Serialize, Deserialize)]
pub(super) enum Takeover {
    Fast,
    Strict,
}

#[derive(Serialize, Deserialize)]
pub(super) enum WithoutMajority {
    Fork,
    End,
    Hold,
}

#[derive(Serialize, Deserialize)]
pub(super) enum Phase {
    Gathering,
    Started,
}

alike! {
    Service = domain::Service { Lan, Online };
    Support = domain::Support { Supported, Unsupported };
    CanBeHost = domain::CanBeHost { Yes, NotYet };
    Gone = domain::Gone { Left, Kicked, Lost, Replaced };
    Ending = domain::Ending { Closed, Empty, HostLost, Withdrawn };
    Migratable = domain::Migratable { Yes, No };
    Searchable = domain::Searchable { Yes, No };
    Joining = domain::Joining { Open, Closed };
    Takeover = domain::Takeover { Fast, Strict };
    WithoutMajority = domain::WithoutMajority { Fork, End, Hold };
    Phase = domain::Phase { Gathering, Started };
}

#[derive(Serialize, Deserialize)]
pub(super) struct Settings<'a> {
    name: Cow<'a, str>,
    size: u32,
    migratable: Migratable,
    searchable: Searchable,
    joining: Joining,
    takeover: Takeover,
    without_majority: WithoutMajority,
    attributes: Vec<(Cow<'a, str>, Cow<'a, str>)>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct Update<'a> {
    name: Option<Cow<'a, str>>,
    searchable: Option<Searchable>,
    joining: Option<Joining>,
    phase: Option<Phase>,
    attributes: Vec<(Cow<'a, str>, Option<Cow<'a, str>>)>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct Session<'a> {
    id: SessionId,
    service: Service,
    settings: Settings<'a>,
    phase: Phase,
    created: u64,
    revision: u64,
    grant: Option<Grant>,
    members: Vec<Member<'a>>,
    seats: Vec<Cow<'a, str>>,
    seats_until: u64,
    kicked: Vec<Cow<'a, str>>,
    kicked_peers: Vec<[u8; 32]>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct Grant {
    epoch: u32,
    host: Host,
    at: u64,
}

#[derive(Serialize, Deserialize)]
pub(super) struct Member<'a> {
    peer: [u8; 32],
    player: Cow<'a, str>,
    can_be_host: CanBeHost,
    addresses: Vec<Cow<'a, str>>,
    joined: u64,
}

impl<'a> From<&'a DomainEvent> for Event<'a> {
    fn from(event: &'a DomainEvent) -> Self {
        match event {
            DomainEvent::Configured { service, migration } => {
                Self::Configured { service: (*service).into(), migration: (*migration).into() }
            }
            DomainEvent::Opened { session, service, settings, seats, seats_until } => Self::Opened {
                session: *session,
                service: (*service).into(),
                settings: settings.into(),
                seats: players(seats),
                seats_until: seats_until.unix_ms(),
            },
            DomainEvent::Joined { session, peer, player, can_be_host, addresses } => Self::Joined {
                session: *session,
                peer: peer.0,
                player: (&*player.0).into(),
                can_be_host: (*can_be_host).into(),
                addresses: texts(addresses),
            },
            DomainEvent::Introduced { session, peer, can_be_host, addresses } => Self::Introduced {
                session: *session,
                peer: peer.0,
                can_be_host: (*can_be_host).into(),
                addresses: texts(addresses),
            },
            DomainEvent::Went { session, peer, gone } => {
                Self::Went { session: *session, peer: peer.0, gone: (*gone).into() }
            }
            DomainEvent::Granted { session, epoch, host } => {
                Self::Granted { session: *session, epoch: epoch.0, host: Host::Peer(host.0) }
            }
            DomainEvent::Updated { session, update } => {
                Self::Updated { session: *session, update: update.into() }
            }
            DomainEvent::SeatsGivenUp { session } => Self::SeatsGivenUp { session: *session },
            DomainEvent::Ended { session, ending } => {
                Self::Ended { session: *session, ending: (*ending).into() }
            }
            DomainEvent::Stood(session) => Self::StoodAfter {
                session: Box::new((&**session).into()),
                former: session.former.iter().map(|it| (it.peer.0, (&*it.player.0).into())).collect(),
            },
        }
    }
}

impl From<Event<'_>> for DomainEvent {
    fn from(event: Event<'_>) -> Self {
        match event {
            Event::Configured { service, migration } => {
                Self::Configured { service: service.into(), migration: migration.into() }
            }
            Event::Opened { session, service, settings, seats, seats_until } => Self::Opened {
                session,
                service: service.into(),
                settings: settings.into(),
                seats: seats.iter().map(player).collect(),
                seats_until: Timestamp::from_unix_ms(seats_until),
            },
            Event::Joined { session, peer, player: who, can_be_host, addresses } => Self::Joined {
                session,
                peer: PeerKey(peer),
                player: player(&who),
                can_be_host: can_be_host.into(),
                addresses: addresses.iter().map(text).collect(),
            },
            Event::Introduced { session, peer, can_be_host, addresses } => Self::Introduced {
                session,
                peer: PeerKey(peer),
                can_be_host: can_be_host.into(),
                addresses: addresses.iter().map(text).collect(),
            },
            Event::Went { session, peer, gone } => {
                Self::Went { session, peer: PeerKey(peer), gone: gone.into() }
            }
            Event::Granted { session, epoch, host: Host::Peer(host) } => {
                Self::Granted { session, epoch: domain::Epoch(epoch), host: PeerKey(host) }
            }
            Event::Updated { session, update } => Self::Updated { session, update: update.into() },
            Event::SeatsGivenUp { session } => Self::SeatsGivenUp { session },
            Event::Ended { session, ending } => Self::Ended { session, ending: ending.into() },
            Event::Stood(session) => Self::Stood(Arc::new((*session).into())),
            Event::StoodAfter { session, former } => Self::Stood(Arc::new(domain::Session {
                former: former.iter().map(|(peer, who)| former_of(*peer, who)).collect(),
                ..(*session).into()
            })),
        }
    }
}

impl<'a> From<&'a domain::Settings> for Settings<'a> {
    fn from(settings: &'a domain::Settings) -> Self {
        Self {
            name: (&*settings.name).into(),
            size: settings.size,
            migratable: settings.migratable.into(),
            searchable: settings.searchable.into(),
            joining: settings.joining.into(),
            takeover: settings.takeover.into(),
            without_majority: settings.without_majority.into(),
            attributes: settings
                .attributes
                .iter()
                .map(|(name, value)| ((&**name).into(), (&**value).into()))
                .collect(),
        }
    }
}

impl From<Settings<'_>> for domain::Settings {
    fn from(settings: Settings<'_>) -> Self {
        Self {
            name: text(&settings.name),
            size: settings.size,
            migratable: settings.migratable.into(),
            searchable: settings.searchable.into(),
            joining: settings.joining.into(),
            takeover: settings.takeover.into(),
            without_majority: settings.without_majority.into(),
            attributes: settings.attributes.iter().map(|(name, value)| (text(name), text(value))).collect(),
        }
    }
}

impl<'a> From<&'a domain::Update> for Update<'a> {
    fn from(update: &'a domain::Update) -> Self {
        let attribute = |(name, value): &'a (Arc<str>, Option<Arc<str>>)| {
            ((&**name).into(), value.as_deref().map(Cow::Borrowed))
        };
        Self {
            name: update.name.as_deref().map(Cow::Borrowed),
            searchable: update.searchable.map(Into::into),
            joining: update.joining.map(Into::into),
            phase: update.phase.map(Into::into),
            attributes: update.attributes.iter().map(attribute).collect(),
        }
    }
}

impl From<Update<'_>> for domain::Update {
    fn from(update: Update<'_>) -> Self {
        Self {
            name: update.name.as_ref().map(text),
            searchable: update.searchable.map(Into::into),
            joining: update.joining.map(Into::into),
            phase: update.phase.map(Into::into),
            attributes: update
                .attributes
                .iter()
                .map(|(name, value)| (text(name), value.as_ref().map(text)))
                .collect(),
        }
    }
}

impl<'a> From<&'a domain::Session> for Session<'a> {
    fn from(session: &'a domain::Session) -> Self {
        let member = |(peer, member): (&PeerKey, &'a domain::Member)| Member {
            peer: peer.0,
            player: (&*member.player.0).into(),
            can_be_host: member.can_be_host.into(),
            addresses: texts(&member.addresses),
            joined: member.joined.unix_ms(),
        };
        let grant = |grant: domain::Grant| Grant {
            epoch: grant.epoch.0,
            host: Host::Peer(grant.host.0),
            at: grant.at.unix_ms(),
        };
        Self {
            id: session.id,
            service: session.service.into(),
            settings: (&session.settings).into(),
            phase: session.phase.into(),
            created: session.created.unix_ms(),
            revision: session.revision,
            grant: session.grant.map(grant),
            members: session.members.iter().map(member).collect(),
            seats: players(&session.seats),
            seats_until: session.seats_until.unix_ms(),
            kicked: players(&session.kicked),
            kicked_peers: session.kicked_peers.iter().map(|peer| peer.0).collect(),
        }
    }
}

impl From<Session<'_>> for domain::Session {
    fn from(session: Session<'_>) -> Self {
        let member = |stored: Member<'_>| {
            let member = domain::Member {
                player: player(&stored.player),
                can_be_host: stored.can_be_host.into(),
                addresses: stored.addresses.iter().map(text).collect(),
                joined: Timestamp::from_unix_ms(stored.joined),
            };
            (PeerKey(stored.peer), member)
        };
        let grant = |Grant { epoch, host: Host::Peer(host), at }| domain::Grant {
            epoch: domain::Epoch(epoch),
            host: PeerKey(host),
            at: Timestamp::from_unix_ms(at),
        };
        Self {
            id: session.id,
            service: session.service.into(),
            settings: session.settings.into(),
            phase: session.phase.into(),
            created: Timestamp::from_unix_ms(session.created),
            revision: session.revision,
            grant: session.grant.map(grant),
            members: session.members.into_iter().map(member).collect::<BTreeMap<_, _>>(),
            seats: session.seats.iter().map(player).collect::<BTreeSet<_>>(),
            seats_until: Timestamp::from_unix_ms(session.seats_until),
            former: VecDeque::new(),
            kicked: session.kicked.iter().map(player).collect(),
            kicked_peers: session.kicked_peers.into_iter().map(PeerKey).collect(),
        }
    }
}

fn text(text: impl AsRef<str>) -> Arc<str> {
    Arc::from(text.as_ref())
}

fn former_of(peer: [u8; 32], who: &str) -> domain::Former {
    domain::Former { peer: PeerKey(peer), player: player(who) }
}

fn texts(texts: &[Arc<str>]) -> Vec<Cow<'_, str>> {
    texts.iter().map(|text| Cow::Borrowed(&**text)).collect()
}

fn player(text: impl AsRef<str>) -> Player {
    Player(Arc::from(text.as_ref()))
}

fn players<'a>(players: impl IntoIterator<Item = &'a Player>) -> Vec<Cow<'a, str>> {
    players.into_iter().map(|player| Cow::Borrowed(&*player.0)).collect()
}
