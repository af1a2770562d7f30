//! One place in one session: what happens comes out, what the game does goes in.

use std::ffi::c_char;
use std::sync::Arc;
use std::time::Duration;

use mainstay_peer::link::Way;
use mainstay_peer::migration::{ActorId, CanBeHost, GamePhase, Handover, Kind, Piece, Tick};
use mainstay_peer::{Joining, Searchable, Seat, To};

use crate::MainstayId;
use crate::event::{Held, MainstayEvent};
use crate::memory::{change, free, read, read_list, read_text};
use crate::status::{Fault, MainstayStatus, guard};

/// A place in one session.
#[derive(Debug)]
pub struct MainstaySeat {
    pub(crate) seat: Seat,
    held: Held,
    /// Says that the peer is still needed.
    _of_peer: Arc<()>,
}

impl MainstaySeat {
    pub(crate) fn new(seat: Seat, of_peer: Arc<()>) -> Self {
        Self { seat, held: Held::default(), _of_peer: of_peer }
    }
}

/// To whom a game speaks.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MainstayTo {
    /// To its host.
    Host = 0,
    /// As host, to every member.
    Members = 1,
    /// As host, to one.
    Member = 2,
}

/// How a message of the game travels.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MainstayWay {
    /// At once, and perhaps lost.
    Datagram = 0,
    /// Until it is there. Two messages may come in either order.
    Stream = 1,
}

/// Why a host hands over.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MainstayHandover {
    /// Another is more suitable, before the game begins.
    Lobby = 0,
    /// It quits.
    Leaves = 1,
}

/// # Safety
/// As [`read`]. Runs something with a seat.
pub(crate) unsafe fn with(
    seat: *const MainstaySeat,
    run: impl FnOnce(&Seat) -> Result<(), Fault>,
) -> MainstayStatus {
    guard(|| {
        // SAFETY: the caller's promise.
        run(unsafe { &read(seat)?.seat })
    })
}

/// Leaves the session, and frees the seat. A host that wants no gap hands over first. Null is freed already.
///
/// # Safety
/// `seat` is null, or of a function that takes a seat and not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mainstay_seat_free(seat: *mut MainstaySeat) -> MainstayStatus {
    // SAFETY: the caller's promise.
    guard(|| unsafe { free(seat) })
}

/// What happened next, waiting for it so many milliseconds: MAINSTAY_STATUS_NOTHING if nothing did. Calls listeners.
///
/// # Safety
/// `seat` is not freed and used by nobody else meanwhile, `out` a place for an event.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mainstay_seat_next(
    seat: *mut MainstaySeat,
    patience_ms: u32,
    out: *mut MainstayEvent,
) -> MainstayStatus {
    guard(|| {
        // SAFETY: the caller's promise.
        let (seat, out) = unsafe { (change(seat)?, change(out)?) };
        let event =
            seat.seat.next(Duration::from_millis(patience_ms.into())).ok_or(MainstayStatus::Nothing)?;
        *out = seat.held.tell(event);
        Ok(())
    })
}

/// Which session: of one that was founded in a lobby the id that the lobby gave it, which others join by.
///
/// # Safety
/// `seat` is not freed, `out` a place for an id.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mainstay_seat_session(
    seat: *const MainstaySeat,
    out: *mut MainstayId,
) -> MainstayStatus {
    // SAFETY: the caller's promise.
    unsafe {
        with(seat, |seat| {
            *change(out)? = seat.session().into();
            Ok(())
        })
    }
}

/// Says whether this peer may be host of the session (`HOST_MIGRATION_CAN_BE_HOST`); before it is said, it may not. Said before
/// MAINSTAY_EVENT_KIND_ENTERED, it counts from then on.
///
/// # Safety
/// `seat` is not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mainstay_seat_can_be_host(seat: *const MainstaySeat, can: bool) -> MainstayStatus {
    // SAFETY: the caller's promise.
    unsafe {
        with(seat, |seat| Ok(seat.set_can_be_host(if can { CanBeHost::Yes } else { CanBeHost::NotYet })?))
    }
}

/// What this player can send, in bits a second, of which the order of CRYENGINE 5.1 and the game's own make use. Nothing measures it: a link
/// shows what it carries only when it is full. 0, as it is until it is said, takes it back. Each change is told to everybody. Said before
/// MAINSTAY_EVENT_KIND_ENTERED, it counts from then on.
///
/// # Safety
/// `seat` is not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mainstay_seat_set_upstream(
    seat: *const MainstaySeat,
    bits_per_second: u32,
) -> MainstayStatus {
    // SAFETY: the caller's promise.
    unsafe { with(seat, |seat| Ok(seat.set_upstream(bits_per_second)?)) }
}

/// How far a game is.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MainstayPhase {
    /// Its players gather.
    Gathering = 0,
    /// They play, or are about to.
    Started = 1,
}

/// How far this peer's game is, a MainstayPhase; before it says so it has started. While players gather the host gives the session, by itself,
/// to whoever suits better: after 10 s in which nobody came or went, at most once in 30 s, and not while net_automigrate_host is 0 where it
/// is. Each peer's game says it, for whoever is host goes by its own. In a lobby the session's phase is the host's.
///
/// # Safety
/// `seat` is not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mainstay_seat_set_phase(seat: *const MainstaySeat, phase: u32) -> MainstayStatus {
    // SAFETY: the caller's promise.
    unsafe {
        with(seat, |seat| {
            let phase = match phase {
                0 => GamePhase::Gathering,
                1 => GamePhase::Started,
                _ => return Err(MainstayStatus::NotAChoice.into()),
            };
            Ok(seat.set_phase(phase)?)
        })
    }
}

/// As host of a session of a lobby: whether searches find it. What others say is not heard.
///
/// # Safety
/// `seat` is not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mainstay_seat_set_searchable(
    seat: *const MainstaySeat,
    searchable: bool,
) -> MainstayStatus {
    let searchable = if searchable { Searchable::Yes } else { Searchable::No };
    // SAFETY: the caller's promise.
    unsafe { with(seat, |seat| Ok(seat.set_searchable(searchable)?)) }
}

/// As host: whether newcomers are let in, such as into a game that goes on; they are until it is said. In a lobby only the host is heard, and
/// what it said stands under the next one. Elsewhere each peer's game says it, for whoever is host goes by its own; who was a member comes
/// back all the same.
///
/// # Safety
/// `seat` is not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mainstay_seat_set_joining(seat: *const MainstaySeat, open: bool) -> MainstayStatus {
    let joining = if open { Joining::Open } else { Joining::Closed };
    // SAFETY: the caller's promise.
    unsafe { with(seat, |seat| Ok(seat.set_joining(joining)?)) }
}

/// Sets a console variable by its name. A wrong name or value comes back as MAINSTAY_EVENT_KIND_NOT_SET. Said before
/// MAINSTAY_EVENT_KIND_ENTERED, it counts from then on.
///
/// # Safety
/// `seat` is not freed, `name` and `value` are texts that end with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mainstay_seat_set(
    seat: *const MainstaySeat,
    name: *const c_char,
    value: *const c_char,
) -> MainstayStatus {
    // SAFETY: the caller's promise.
    unsafe { with(seat, |seat| Ok(seat.set(read_text(name)?, read_text(value)?)?)) }
}

/// This peer's game does something: it goes to the host, whoever that is, until a state holds it, and comes out there as
/// MAINSTAY_EVENT_KIND_APPLY, once and in its order, after the host's game has given a state (mainstay_seat_hold, at whatever level): a game
/// that gives none is told of no deed. Before MAINSTAY_EVENT_KIND_ENTERED is read and after MAINSTAY_EVENT_KIND_OVER is, the answer is
/// MAINSTAY_STATUS_NOT_IN; of more than 65,536 bytes MAINSTAY_STATUS_TOO_LONG.
///
/// # Safety
/// `seat` is not freed, `bytes` points to `length` of them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mainstay_seat_play(
    seat: *const MainstaySeat,
    bytes: *const u8,
    length: usize,
) -> MainstayStatus {
    // SAFETY: the caller's promise.
    unsafe { with(seat, |seat| Ok(seat.play(read_list(bytes, length)?.to_vec())?)) }
}

/// As host: the game is so far, and holds every MAINSTAY_EVENT_KIND_APPLY that was read. `kind` is a MainstayKind; the first state of a
/// host is a snapshot, and so is the next after one that was not taken, and after 256 parts or 256 KiB.
///
/// # Safety
/// `seat` is not freed, `bytes` points to `length` of them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mainstay_seat_hold(
    seat: *const MainstaySeat,
    tick: u64,
    kind: u32,
    bytes: *const u8,
    length: usize,
) -> MainstayStatus {
    // SAFETY: the caller's promise.
    unsafe {
        with(seat, |seat| {
            let kind = match kind {
                0 => Kind::Snapshot,
                1 => Kind::Delta,
                2 => Kind::Event,
                _ => return Err(MainstayStatus::NotAChoice.into()),
            };
            Ok(seat.hold(Piece { tick: Tick(tick), kind, bytes: read_list(bytes, length)?.to_vec() })?)
        })
    }
}

/// As host: another shall be it: `to`, or the best where that is null; in the lobby that is only who suits better than this host, and otherwise,
/// or where `to` cannot be it any more, MAINSTAY_EVENT_KIND_NOBODY_BETTER comes. `why` is a MainstayHandover; `bytes` are the whole game at its last tick.
///
/// # Safety
/// `seat` is not freed, `to` is null or points to an id, `bytes` points to `length` of them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mainstay_seat_hand_over(
    seat: *const MainstaySeat,
    to: *const MainstayId,
    why: u32,
    tick: u64,
    bytes: *const u8,
    length: usize,
) -> MainstayStatus {
    // SAFETY: the caller's promise.
    unsafe {
        with(seat, |seat| {
            let why = match why {
                0 => Handover::Lobby,
                1 => Handover::Leaves,
                _ => return Err(MainstayStatus::NotAChoice.into()),
            };
            let last =
                Piece { tick: Tick(tick), kind: Kind::Snapshot, bytes: read_list(bytes, length)?.to_vec() };
            Ok(seat.hand_over(to.as_ref().map(|to| to.peer()), why, last)?)
        })
    }
}

/// Says something of the game's own, for which nobody keeps anything: at most 65,536 bytes. `to` is a MainstayTo, `peer` who is meant by
/// MAINSTAY_TO_MEMBER and else not read, `way` a MainstayWay. What a host says waits as the session's MainstayLevel says, 4,096 messages and
/// 4 MiB at most: more is not sent, and MAINSTAY_EVENT_KIND_NOT_SAID tells so. What a member says to its host by MAINSTAY_WAY_STREAM waits while there is
/// none, and is said to the next where the host gives the session away before its game has read it: 1,024 messages and 2 MiB. For each link 1,024 messages by MAINSTAY_WAY_STREAM wait, and
/// 2 MiB: more is not sent there, and MAINSTAY_EVENT_KIND_NOT_CARRIED tells so.
///
/// # Safety
/// `seat` is not freed, `peer` points to an id where it is read, `bytes` points to `length` of them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mainstay_seat_say(
    seat: *const MainstaySeat,
    to: u32,
    peer: *const MainstayId,
    way: u32,
    bytes: *const u8,
    length: usize,
) -> MainstayStatus {
    // SAFETY: the caller's promise.
    unsafe {
        with(seat, |seat| {
            let to = match to {
                0 => To::Host,
                1 => To::Members,
                2 => To::Member(read(peer)?.peer()),
                _ => return Err(MainstayStatus::NotAChoice.into()),
            };
            let way = match way {
                0 => Way::Datagram,
                1 => Way::Stream,
                _ => return Err(MainstayStatus::NotAChoice.into()),
            };
            Ok(seat.say(to, way, read_list(bytes, length)?.to_vec())?)
        })
    }
}

/// As host: gives a member its actor, by a number of the game's own. Whoever is host next hears it with MAINSTAY_EVENT_KIND_CONNECTED.
///
/// # Safety
/// `seat` is not freed, `peer` points to an id.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mainstay_seat_bind_actor(
    seat: *const MainstaySeat,
    peer: *const MainstayId,
    actor: u64,
) -> MainstayStatus {
    // SAFETY: the caller's promise.
    unsafe { with(seat, |seat| Ok(seat.bind_actor(read(peer)?.peer(), ActorId(actor))?)) }
}

/// As host: throws somebody out.
///
/// # Safety
/// `seat` is not freed, `peer` points to an id.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mainstay_seat_kick(
    seat: *const MainstaySeat,
    peer: *const MainstayId,
) -> MainstayStatus {
    // SAFETY: the caller's promise.
    unsafe { with(seat, |seat| Ok(seat.kick(read(peer)?.peer())?)) }
}

/// Leaves; MAINSTAY_EVENT_KIND_OVER says when it has.
///
/// # Safety
/// `seat` is not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mainstay_seat_leave(seat: *const MainstaySeat) -> MainstayStatus {
    // SAFETY: the caller's promise.
    unsafe { with(seat, |seat| Ok(seat.leave()?)) }
}
