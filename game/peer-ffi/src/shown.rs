//! How a session stands, as a game can draw it: who is what, who plays what, and the hints that the two console toggles show.

use mainstay_peer::Shown;
use mainstay_peer::migration::{ActorId, CanBeHost, ChannelId, Entry, Identification, PeerId, Standing};

use crate::memory::{change, write_list};
use crate::peer::{MainstayNat, MainstayTerms};
use crate::seat::{MainstaySeat, with};
use crate::status::{Fault, MainstayStatus};
use crate::{MainstayChannel, MainstayId};

/// What a peer is in a session: seed 000's "either 'HOST', 'ANTICIPATED NEW HOST' or 'MEMBER'".
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MainstayIdentification {
    /// `MEMBER`
    Member = 0,
    /// `ANTICIPATED NEW HOST`
    AnticipatedNewHost = 1,
    /// `HOST`
    Host = 2,
}

impl From<Identification> for MainstayIdentification {
    fn from(role: Identification) -> Self {
        match role {
            Identification::Host => Self::Host,
            Identification::AnticipatedNewHost => Self::AnticipatedNewHost,
            Identification::Member => Self::Member,
        }
    }
}

/// How things stand.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct MainstayShown {
    /// Whether this peer is the host.
    pub is_host: bool,
    /// What it is.
    pub role: MainstayIdentification,
    /// Whether that is to be drawn: `net_show_host_identificiation` is on.
    pub shows_identification: bool,
    /// Whom it obeys.
    pub host: MainstayId,
    /// How many hosts the session has had.
    pub epoch: u32,
    /// How many since then without a majority.
    pub fork: u32,
    /// Whether this peer is the host and no majority, nor the lobby, is behind it, as it has heard lately.
    pub is_unconfirmed: bool,
    /// Whether somebody could be host next.
    pub has_anticipated: bool,
    /// Who, if somebody could.
    pub anticipated: MainstayId,
    /// How many members there are, this peer included.
    pub members: usize,
    /// How many of them have a say in who is host next: whoever has just come has none for some tenths of a second, and if the host is lost
    /// meanwhile, who is left may be no majority. Under a lobby all of them.
    pub voters: usize,
    /// To how many of them it has a link.
    pub linked: usize,
    /// To how many of those only through the lobby's relay.
    pub relayed: usize,
    /// How far this peer has its host's game: the tick of the newest state that it holds. As host its own.
    pub holds: u64,
    /// How many bytes of the game it has sent others to hold so far, mostly as host to its standbys: before they are encrypted, and without headers.
    pub handed_on: u64,
}

/// A member of a session.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct MainstayMember {
    /// Who.
    pub peer: MainstayId,
    /// On which channel.
    pub channel: MainstayChannel,
    /// Whether it is the host.
    pub is_host: bool,
    /// Whether the game has given it an actor (mainstay_seat_bind_actor).
    pub has_actor: bool,
    /// Which, if it has.
    pub actor: u64,
}

/// What a peer tells of itself as a host.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct MainstayHint {
    /// Its channel: what decides between equals.
    pub channel: MainstayChannel,
    /// Whether it may be host at all.
    pub can_be_host: bool,
    /// How others reach it.
    pub nat: MainstayNat,
    /// How many peers it has a live link to; 255 stands for more.
    pub connections: u8,
    /// The mean round trip to them, in milliseconds; 65,535 where nobody has measured.
    pub ping_ms: u16,
    /// What it can send, in bits a second; 0 where nobody has measured.
    pub upstream_bps: u32,
}

/// What one of the others tells of itself.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct MainstayPeerHint {
    /// Who.
    pub peer: MainstayId,
    /// What.
    pub hint: MainstayHint,
}

impl From<&Entry> for MainstayHint {
    fn from(entry: &Entry) -> Self {
        Self {
            channel: entry.channel.into(),
            can_be_host: entry.hint.can_be_host == CanBeHost::Yes,
            nat: entry.hint.nat.into(),
            connections: entry.hint.connections,
            ping_ms: entry.hint.ping_ms,
            upstream_bps: entry.hint.upstream_bps,
        }
    }
}

/// # Safety
/// As [`with`]. Runs something with how things stand.
unsafe fn look(seat: *const MainstaySeat, run: impl FnOnce(Shown) -> Result<(), Fault>) -> MainstayStatus {
    // SAFETY: the caller's promise.
    unsafe { with(seat, |seat| run(seat.shown()?.ok_or(MainstayStatus::Nothing)?)) }
}

/// How things stand: MAINSTAY_STATUS_NOTHING while this peer is no member.
///
/// # Safety
/// `seat` is not freed, `out` a place for the answer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mainstay_seat_shown(
    seat: *const MainstaySeat,
    out: *mut MainstayShown,
) -> MainstayStatus {
    // SAFETY: the caller's promise.
    unsafe {
        look(seat, |shown| {
            *change(out)? = MainstayShown {
                is_host: shown.role == Identification::Host,
                role: shown.role.into(),
                shows_identification: shown.identification.is_some(),
                host: shown.leader.into(),
                epoch: shown.stamp.epoch.0,
                fork: shown.stamp.fork,
                is_unconfirmed: shown.standing == Some(Standing::Unconfirmed),
                has_anticipated: shown.anticipated.is_some(),
                anticipated: shown.anticipated.map_or_else(MainstayId::default, MainstayId::from),
                members: shown.members.len(),
                voters: shown.voters,
                linked: shown.linked,
                relayed: shown.relayed,
                holds: shown.holds.0,
                handed_on: shown.handed_on,
            };
            Ok(())
        })
    }
}

/// What the session was made with, and goes by whoever is host: its founder's options, not this peer's. MAINSTAY_STATUS_NOTHING while this peer
/// is no member.
///
/// # Safety
/// `seat` is not freed, `out` a place for the answer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mainstay_seat_terms(
    seat: *const MainstaySeat,
    out: *mut MainstayTerms,
) -> MainstayStatus {
    // SAFETY: the caller's promise.
    unsafe {
        look(seat, |shown| {
            *change(out)? = shown.terms.into();
            Ok(())
        })
    }
}

/// Who plays: `length` is how many there are, of whom the first `capacity` are put at `out`; a session has 64 at most.
/// MAINSTAY_STATUS_NOTHING while this peer is no member.
///
/// # Safety
/// `seat` is not freed, `out` has room for `capacity` members, `length` for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mainstay_seat_members(
    seat: *const MainstaySeat,
    out: *mut MainstayMember,
    capacity: usize,
    length: *mut usize,
) -> MainstayStatus {
    let told = |shown: &Shown, (peer, channel): (PeerId, ChannelId)| {
        let actor = shown.actors.get(&peer);
        MainstayMember {
            peer: peer.into(),
            channel: channel.into(),
            is_host: peer == shown.leader,
            has_actor: actor.is_some(),
            actor: actor.map_or(0, |actor| actor.0),
        }
    };
    // SAFETY: the caller's promise.
    unsafe {
        look(seat, |shown| {
            let members = shown.members.iter().map(|member| told(&shown, *member));
            write_list(members.collect(), out, capacity, length)
        })
    }
}

/// The hint list, while `net_show_new_host_hinting` is on; none while it is off. Seed 000: a host has "a hint for every client in the game
/// (excluding themselves), and each client will have a hint for each peer connected client (excluding themselves and the host)". `length` is
/// how many there are, of which the first `capacity` are put at `out`.
///
/// # Safety
/// `seat` is not freed, `out` has room for `capacity` hints, `length` for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mainstay_seat_hints(
    seat: *const MainstaySeat,
    out: *mut MainstayPeerHint,
    capacity: usize,
    length: *mut usize,
) -> MainstayStatus {
    // SAFETY: the caller's promise.
    unsafe {
        look(seat, |shown| {
            let told = |(peer, entry): &(PeerId, Entry)| MainstayPeerHint {
                peer: (*peer).into(),
                hint: entry.into(),
            };
            write_list(shown.hints.iter().map(told).collect(), out, capacity, length)
        })
    }
}

/// Seed 000's `SetChannelForMigratingPlayer`: the actor that plays on that channel. MAINSTAY_STATUS_NOTHING where none was given to it.
///
/// # Safety
/// `seat` is not freed, `channel` points to one, `actor` is a place for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mainstay_seat_actor_for_channel(
    seat: *const MainstaySeat,
    channel: *const MainstayChannel,
    actor: *mut u64,
) -> MainstayStatus {
    // SAFETY: the caller's promise.
    unsafe {
        look(seat, |shown| {
            let (channel, actor) = (crate::memory::read(channel)?.channel(), change(actor)?);
            let ActorId(found) = shown.actor_for_channel(channel).ok_or(MainstayStatus::Nothing)?;
            *actor = found;
            Ok(())
        })
    }
}
