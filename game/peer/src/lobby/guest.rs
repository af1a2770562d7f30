//! Who comes to a lobby: a key that is proven, a player's name, and the addresses that others reach it at.

use std::net::SocketAddr;

use mainstay_migration::{CanBeHost, PeerId};
use mainstay_wire::lobby::{Asks, LobbyKey, bytes, text};
use mainstay_wire::native::{JoinRequest, LobbyView, MemberAnswer, MemberRequest};
use mainstay_wire::peer::ADDRESSES_MAX;

use super::address::{at, seen_from};
use super::door::{Answered, As, Door, Longest};
use super::{Bound, LobbyError, Online};
use crate::Support;
use crate::key::{Key, provider};

/// The longest answer about one session: one of 64 with 8 addresses each.
const SESSION_BYTES_MAX: Longest = Longest(256 * 1024);

/// A process that comes to a lobby.
#[derive(Debug)]
pub(super) struct Guest {
    pub(super) door: Door,
    pub(super) me: PeerId,
    /// As the lobby writes it.
    pub(super) key: String,
    pub(super) lobby_key: LobbyKey,
    proof: String,
    player: String,
    addresses: Vec<SocketAddr>,
}

/// What a lobby is, and of whom it says so.
fn lobby_of(door: &Door) -> Result<LobbyView, LobbyError> {
    door.get(As::Player, "/v1/lobbies/online")?.granted()
}

/// Whether its sessions move.
pub(super) fn supports(online: &Online) -> Result<Support, LobbyError> {
    let lobby = lobby_of(&Door::new(online, provider(), SESSION_BYTES_MAX))?;
    Ok(if lobby.supports_host_migration { Support::Supported } else { Support::Unsupported })
}

impl Guest {
    /// Asks the lobby for its key, and signs that this process would come in.
    pub(super) fn new(online: &Online, key: &Key, bound: Bound<'_>) -> Result<Self, LobbyError> {
        let door = Door::new(online, key.provider(), SESSION_BYTES_MAX);
        let lobby = lobby_of(&door)?;
        let lobby_key = bytes::<32>(&lobby.lobby_key).map(LobbyKey);
        let lobby_key = lobby_key.ok_or_else(|| door.unreadable("its key is none"))?;
        let addresses = if online.addresses.is_empty() {
            seen_from(door.url(), bound.address)
        } else {
            online.addresses.clone()
        };
        // Asked in any case, for the router's class is told to the other players; said only where nobody said it better.
        let responder = lobby.stun.and_then(|told| told.parse().ok()).and_then(|told| at(door.url(), told));
        let seen_as = responder.and_then(|responder| bound.mirror.look(responder));
        let mut guest = Self {
            door,
            me: key.peer,
            key: text(&key.public()),
            lobby_key,
            proof: text(&key.signature(&Asks { lobby: lobby_key }.signed_bytes())),
            player: online.player.clone().unwrap_or_else(|| format!("peer-{:032x}", key.peer.0)),
            addresses,
        };
        if let Some(seen_as) = seen_as.filter(|_| online.addresses.is_empty()) {
            guest.is_seen_as(seen_as);
        }
        Ok(guest)
    }

    /// What it says of itself to come in.
    pub(super) fn says(&self, can_be_host: CanBeHost) -> MemberRequest {
        MemberRequest {
            peer: self.key.clone(),
            proof: self.proof.clone(),
            player: Some(self.player.clone()),
            can_be_host: can_be_host == CanBeHost::Yes,
            addresses: self.told_addresses(),
        }
    }

    pub(super) fn told_addresses(&self) -> Vec<String> {
        self.addresses.iter().map(ToString::to_string).collect()
    }

    /// The newest goes first; what was said before may be right again.
    pub(super) fn is_seen_as(&mut self, address: SocketAddr) {
        self.addresses.retain(|known| *known != address);
        self.addresses.insert(0, address);
        self.addresses.truncate(ADDRESSES_MAX);
    }

    /// Comes into a session, or comes in again.
    pub(super) fn enter(
        &self,
        session: &str,
        can_be_host: CanBeHost,
    ) -> Result<Answered<MemberAnswer>, LobbyError> {
        let request = JoinRequest { member: self.says(can_be_host) };
        self.door.post(As::Player, &format!("/v1/sessions/{session}/members"), &request)
    }
}
