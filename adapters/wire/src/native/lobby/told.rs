//! What a lobby tells.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use jiff::Timestamp as Instant;
use mainstay_core::SessionId;
use mainstay_lobby as domain;
use mainstay_lobby::{CanBeHost, Grant, Member, Migratable, PeerKey, Searchable, Session};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{JoiningView, PhaseView, TakeoverView, WithoutMajorityView};
use crate::lobby::{Certificate, LobbyKey, Pass, Signature, peer_of, text};
use crate::multiplay::instant;
use crate::relay::Ticket;

/// A lobby service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LobbyView {
    /// `lan` or `online`.
    pub service: String,
    /// Whether its sessions migrate, if they were made so.
    pub supports_host_migration: bool,
    /// The public key that certificates and passes are signed with: Ed25519, in base64url.
    pub lobby_key: String,
    /// How often a host has to be heard.
    pub renew_every_seconds: u64,
    /// How long its lease lasts from then.
    pub lease_seconds: u64,
    /// Where peers ask how they are seen (STUN, RFC 5780): IP address and port, an unspecified address standing for the one that
    /// the lobby is reached at. Absent where nobody answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stun: Option<String>,
}

/// What a sign of life is answered with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BeatAnswer {
    /// The lobby's clock, in milliseconds since 1970.
    pub as_of: u64,
    /// How many hosts the session has had.
    pub epoch: u32,
    /// Of its host: `vacant`, `awaited`, `held` or `lost`.
    pub lease: String,
    /// Rises with every change of the session: another one than is known is a reason to read it.
    pub revision: u64,
    /// Whether it migrates: its service's flag may be set while it is played, which is no change of the session.
    pub migrates: bool,
    /// The proof of the newest host, where who asked knew of an older epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate: Option<CertificateView>,
    /// Where it brought a renewal (`relayed`) that counts: the lobby's signature over `mainstay lobby receipt 1`, a zero byte, the
    /// session's id, the epoch, the renewal's `asOf` and this answer's, highest bytes first, in base64url. It is for the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receipt: Option<String>,
}

/// What somebody who came in is given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct MemberAnswer {
    /// The session.
    pub session: SessionView,
    /// The lobby's public key: certificates and passes are signed with it.
    pub lobby_key: String,
    /// What it shows the lobby from now on, as `Authorization: Bearer`; for nobody else's eyes.
    pub token: String,
    /// Until when, in milliseconds since 1970 by the lobby's clock. Joining again gives a new one.
    pub token_expires: u64,
    /// What it shows other peers.
    pub pass: PassView,
    /// The lobby's clock, in milliseconds since 1970: the passes of others are measured by it.
    pub as_of: u64,
    /// What carries its packets where routers let nothing through; absent where nothing does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relay: Option<RelayView>,
}

/// A place at the lobby's relay.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RelayView {
    /// IP address and port, an unspecified address standing for the one that the lobby is reached at.
    pub address: String,
    /// What the member shows there, in base64url; for nobody else's eyes.
    pub ticket: String,
}

/// Who is the host of an epoch, as the lobby signed it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CertificateView {
    /// Of which session.
    #[schema(value_type = String, format = "uuid")]
    pub session: SessionId,
    /// Which epoch.
    pub epoch: u32,
    /// The host's key, in base64url.
    pub host: String,
    /// The lobby's signature, in base64url.
    pub signature: String,
}

/// That a process is a member, as the lobby signed it: to be shown to other peers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PassView {
    /// Of which session.
    #[schema(value_type = String, format = "uuid")]
    pub session: SessionId,
    /// The process's key, in base64url.
    pub peer: String,
    /// Whose process it is.
    pub player: String,
    /// Until when, in milliseconds since 1970 by the lobby's clock.
    pub expires: u64,
    /// The lobby's signature, in base64url.
    pub signature: String,
}

/// The host of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionHostView {
    /// `peer`: a member. Other kinds may follow.
    pub kind: String,
    /// Its key, in base64url.
    pub peer: String,
    /// Since when.
    #[schema(value_type = String, format = DateTime)]
    pub since: Instant,
}

/// The seat of a player whom a match brings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SeatView {
    /// Whose.
    pub player: String,
    /// What lets the player in, as `Authorization: Bearer` of joining; for nobody else's eyes.
    pub token: String,
}

/// A member of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct MemberView {
    /// Its key, in base64url.
    pub peer: String,
    /// What players call it: the first half of the key's SHA-256, in hexadecimal digits.
    #[serde(default)]
    pub id: String,
    /// Whose process it is.
    pub player: String,
    /// Whether it may become host.
    pub can_be_host: bool,
    /// Since when.
    #[schema(value_type = String, format = DateTime)]
    pub joined: Instant,
    /// How others reach it; told to members and service accounts alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<String>,
}

/// A session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionView {
    /// Its id.
    #[schema(value_type = String, format = "uuid")]
    pub id: SessionId,
    /// Its lobby service.
    pub service: String,
    /// Its name.
    pub name: String,
    /// How many members it has at most.
    pub size: u32,
    /// How many more there is room for.
    pub free: usize,
    /// Whether it migrates: it was made so, and its service supports it.
    pub migrates: bool,
    /// Whether it was made so.
    pub migratable: bool,
    /// Whether searches find it.
    pub searchable: bool,
    /// Whether newcomers are let in.
    pub joining: JoiningView,
    /// When another may take over.
    pub takeover: TakeoverView,
    /// What its peers do while the lobby is away and their host is lost.
    pub without_majority: WithoutMajorityView,
    /// How far it is.
    pub phase: PhaseView,
    /// What searches are narrowed by.
    pub attributes: BTreeMap<String, String>,
    /// Since when.
    #[schema(value_type = String, format = DateTime)]
    pub created: Instant,
    /// Rises with every change.
    pub revision: u64,
    /// How many hosts it has had.
    pub epoch: u32,
    /// The host of that epoch; absent before the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<SessionHostView>,
    /// Of its host: `vacant` (there is none, or it left), `awaited` (granted, and not heard since), `held` or `lost`.
    pub lease: String,
    /// Who is in it.
    pub members: Vec<MemberView>,
    /// Players of its match who have not come.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub seats: Vec<String>,
    /// Keys that were thrown out, in base64url: their passes may last, and the host does not let them in. For members alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kicked: Vec<String>,
    /// Keys of processes whose players are here with others, in base64url: their passes may last, and the host does not let them in.
    /// For members alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replaced: Vec<String>,
    /// The proof of its host; absent before the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate: Option<CertificateView>,
}

/// What a view of a session says besides the session.
#[derive(Debug, Clone)]
pub struct Look {
    /// Whether it migrates, of its own and by its service.
    pub migrates: bool,
    /// How its host's lease stands.
    pub lease: domain::Lease,
    /// The proof of its host.
    pub certificate: Option<CertificateView>,
    /// Whether addresses are told, and who was thrown out or replaced.
    pub addresses: Addresses,
}

/// Whether who asks is told members' addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Addresses {
    /// A member, or the studio.
    Told,
    /// Anybody else.
    Untold,
}

impl SessionView {
    /// As it is told.
    #[must_use]
    pub fn of(session: &Session, look: Look) -> Self {
        let settings = &session.settings;
        let member = |(peer, member): (&PeerKey, &Member)| MemberView {
            peer: text(&peer.0),
            id: format!("{:032x}", peer_of(&peer.0).0),
            player: member.player.to_string(),
            can_be_host: member.can_be_host == CanBeHost::Yes,
            joined: instant(member.joined),
            addresses: match look.addresses {
                Addresses::Told => member.addresses.iter().map(ToString::to_string).collect(),
                Addresses::Untold => Vec::new(),
            },
        };
        Self {
            id: session.id,
            service: session.service.to_string(),
            name: settings.name.to_string(),
            size: settings.size,
            free: session.free(),
            migrates: look.migrates,
            migratable: settings.migratable == Migratable::Yes,
            searchable: settings.searchable == Searchable::Yes,
            joining: settings.joining.into(),
            takeover: settings.takeover.into(),
            without_majority: settings.without_majority.into(),
            phase: session.phase.into(),
            attributes: settings
                .attributes
                .iter()
                .map(|(name, value)| (name.to_string(), value.to_string()))
                .collect(),
            created: instant(session.created),
            revision: session.revision,
            epoch: session.epoch().0,
            host: session.grant.map(SessionHostView::of),
            lease: lease_word(look.lease).to_owned(),
            members: session.members.iter().map(member).collect(),
            seats: session.seats.iter().map(ToString::to_string).collect(),
            kicked: match look.addresses {
                Addresses::Told => session.kicked_peers.iter().map(|key| text(&key.0)).collect(),
                Addresses::Untold => Vec::new(),
            },
            replaced: match look.addresses {
                Addresses::Told => session.replaced().map(|key| text(&key.0)).collect(),
                Addresses::Untold => Vec::new(),
            },
            certificate: look.certificate,
        }
    }
}

impl SessionHostView {
    fn of(grant: Grant) -> Self {
        Self { kind: "peer".to_owned(), peer: text(&grant.host.0), since: instant(grant.at) }
    }
}

impl CertificateView {
    /// As it is told.
    #[must_use]
    pub fn of(certificate: &Certificate, signature: &Signature) -> Self {
        Self {
            session: certificate.session,
            epoch: certificate.epoch.0,
            host: text(&certificate.host.0),
            signature: text(&signature.0),
        }
    }
}

impl RelayView {
    /// As it is told.
    #[must_use]
    pub fn of(address: SocketAddr, ticket: &Ticket) -> Self {
        Self { address: address.to_string(), ticket: text(&ticket.0) }
    }
}

impl PassView {
    /// As it is told.
    #[must_use]
    pub fn of(pass: &Pass, signature: &Signature) -> Self {
        Self {
            session: pass.session,
            peer: text(&pass.peer.0),
            player: pass.player.to_string(),
            expires: pass.expires.unix_ms(),
            signature: text(&signature.0),
        }
    }
}

impl LobbyView {
    /// As it is told.
    #[must_use]
    pub fn of(
        service: domain::Service,
        support: domain::Support,
        key: &LobbyKey,
        stun: Option<SocketAddr>,
    ) -> Self {
        Self {
            service: service.to_string(),
            supports_host_migration: support == domain::Support::Supported,
            lobby_key: text(&key.0),
            renew_every_seconds: domain::RENEW_EVERY.as_secs(),
            lease_seconds: domain::LEASE.as_secs(),
            stun: stun.map(|address| address.to_string()),
        }
    }
}

/// How a lease stands, in a word.
#[must_use]
pub const fn lease_word(lease: domain::Lease) -> &'static str {
    match lease {
        domain::Lease::Vacant => "vacant",
        domain::Lease::Awaited { .. } => "awaited",
        domain::Lease::Held { .. } => "held",
        domain::Lease::Lost => "lost",
    }
}
