//! One process: a key, a socket, and places in sessions.

use std::collections::BTreeMap;
use std::ffi::{c_char, c_void};
use std::sync::{Arc, Mutex, PoisonError};

use mainstay_peer::migration::{
    Compare, Entry, Level, MEMBERS_MAX, Migratable, NatType, Order, OrderName, Priority, Terms,
    WithoutMajority,
};
use mainstay_peer::{Peer, Registered, Seat, Service, SessionOptions, Support};

use crate::MainstayId;
use crate::listener::{Called, MainstayListener};
use crate::memory::{address, change, fixed, free, read, read_addresses, read_text, write_text};
use crate::seat::MainstaySeat;
use crate::shown::MainstayHint;
use crate::status::{Fault, MainstayStatus, guard};

/// One life of one process: a key, one UDP socket and a thread.
#[derive(Debug)]
pub struct MainstayPeer {
    peer: Peer,
    /// One more of it is held by every seat.
    seats: Arc<()>,
}

/// What a side does that has lost its host, or its members, and has no majority.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MainstayWithoutMajority {
    /// It goes on, marked unconfirmed, and merges when the sides meet.
    Fork = 0,
    /// It ends.
    End = 1,
    /// It stands still and waits.
    Hold = 2,
}

/// By what hosts are chosen.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MainstayOrder {
    /// By NAT type, then active connections, then channel.
    Documented = 0,
    /// As CRYENGINE 5.1 really does: by connections, ping, upstream, NAT type, channel.
    Cryengine = 1,
    /// As the game's own comparator says.
    Game = 2,
}

/// A game's own order: below 0 where the first would be the better host, above 0 where the second would, 0 where they are alike: then the
/// channel tells them apart. It has to be total, to read nothing but its arguments, and to be the same on every peer. It is called
/// by the library's own thread, at any time until the process ends, and may call nothing of the library.
pub type MainstayCompare =
    Option<unsafe extern "C" fn(one: *const MainstayHint, other: *const MainstayHint) -> i32>;

/// A comparator as the rules take it: one for each function, kept as long as the process, for sessions keep it as long as they like.
fn comparator(
    function: unsafe extern "C" fn(*const MainstayHint, *const MainstayHint) -> i32,
) -> &'static Compare {
    static KNOWN: Mutex<BTreeMap<usize, &'static Compare>> = Mutex::new(BTreeMap::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    *known.entry(function as usize).or_insert_with(|| {
        Box::leak(Box::new(move |one: &Entry, other: &Entry| {
            let (one, other) = (MainstayHint::from(one), MainstayHint::from(other));
            // SAFETY: the caller's promise of a comparator; both live here.
            unsafe { function(&raw const one, &raw const other) }.cmp(&0)
        }))
    })
}

/// How much of a game's state goes along.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MainstayLevel {
    /// The standbys are sent all of it, and nobody waits for them.
    Asynchronous = 0,
    /// Nothing, as in CRYENGINE: a new host goes on from what it has as a client.
    None = 1,
    /// An event is told once it is held; everything else at once: what a host says by MAINSTAY_WAY_STREAM after it gave an event
    /// waits until that is held, and what it says by MAINSTAY_WAY_DATAGRAM does not.
    DurableEvents = 2,
    /// Nothing is told before it is held: what a host says waits until what it gave before that is held.
    Synchronous = 3,
}

/// What a session is, as whoever founds it says. All zero is what seed 000 describes, but not migratable. Whoever joins goes by what its host
/// says, whatever its own options say: of those only MAINSTAY_ORDER_GAME with its number has to be the session's, or it is not let in
/// (`MS-S246`). Which counts says mainstay_seat_terms.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct MainstayOptions {
    /// Whether it goes on with another host (`CRYSESSION_CREATE_FLAG_MIGRATABLE`).
    pub migratable: bool,
    /// A MainstayWithoutMajority.
    pub without_majority: u32,
    /// A MainstayOrder.
    pub order: u32,
    /// For MAINSTAY_ORDER_GAME; else not read.
    pub compare: MainstayCompare,
    /// Which comparator that is: the number alone is told to others, and who has another is not let in. Else not read.
    pub compare_number: u32,
    /// A MainstayLevel.
    pub level: u32,
    /// How many members it has at most, up to 64; 0 is 64.
    pub size: u32,
    /// Called for each stage of a migration; may be null.
    pub listener: MainstayListener,
    /// What the listener is called with. It has to outlive the seat.
    pub user: *mut c_void,
}

/// What a session was made with, and goes by whoever is host.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct MainstayTerms {
    /// Whether it goes on with another host.
    pub migratable: bool,
    /// What its sides do that have no majority.
    pub without_majority: MainstayWithoutMajority,
    /// By what hosts are chosen.
    pub order: MainstayOrder,
    /// Which comparator, for MAINSTAY_ORDER_GAME; else 0.
    pub compare_number: u32,
    /// How much of the game goes along.
    pub level: MainstayLevel,
    /// How many members it has at most.
    pub size: u32,
}

impl From<Terms> for MainstayTerms {
    fn from(terms: Terms) -> Self {
        let (order, compare_number) = match terms.order {
            OrderName::Documented => (MainstayOrder::Documented, 0),
            OrderName::CryEngine51 => (MainstayOrder::Cryengine, 0),
            OrderName::Game(number) => (MainstayOrder::Game, number),
        };
        Self {
            migratable: terms.migratable == Migratable::Yes,
            without_majority: match terms.without_majority {
                WithoutMajority::Fork => MainstayWithoutMajority::Fork,
                WithoutMajority::End => MainstayWithoutMajority::End,
                WithoutMajority::Hold => MainstayWithoutMajority::Hold,
            },
            order,
            compare_number,
            level: match terms.level {
                Level::Asynchronous => MainstayLevel::Asynchronous,
                Level::None => MainstayLevel::None,
                Level::DurableEvents => MainstayLevel::DurableEvents,
                Level::Synchronous => MainstayLevel::Synchronous,
            },
            size: terms.size.into(),
        }
    }
}

impl MainstayOptions {
    fn read(&self, session: &MainstayId) -> Result<(SessionOptions, Vec<Registered>), Fault> {
        let without_majority = match self.without_majority {
            0 => WithoutMajority::Fork,
            1 => WithoutMajority::End,
            2 => WithoutMajority::Hold,
            _ => return Err(MainstayStatus::NotAChoice.into()),
        };
        let order = match self.order {
            0 => Order::Documented,
            1 => Order::CryEngine51,
            2 => {
                let compare = comparator(self.compare.ok_or(MainstayStatus::NullPointer)?);
                Order::Game { number: self.compare_number, compare }
            }
            _ => return Err(MainstayStatus::NotAChoice.into()),
        };
        let level = match self.level {
            0 => Level::Asynchronous,
            1 => Level::None,
            2 => Level::DurableEvents,
            3 => Level::Synchronous,
            _ => return Err(MainstayStatus::NotAChoice.into()),
        };
        let defaults = SessionOptions::new(session.session());
        let size = match self.size {
            0 => defaults.size,
            size if size as usize <= MEMBERS_MAX => size,
            size => {
                let why = format!("a session of {size}: the largest has {MEMBERS_MAX}");
                return Err(Fault::new(MainstayStatus::NotAChoice, why));
            }
        };
        let migratable = if self.migratable { Migratable::Yes } else { Migratable::No };
        let options = SessionOptions { migratable, without_majority, order, level, size, ..defaults };
        let listener = self.listener.map(|function| Registered {
            name: "C".to_owned(),
            priority: Priority::PostEngine,
            listener: Box::new(Called { function, user: self.user }),
        });
        Ok((options, listener.into_iter().collect()))
    }
}

/// Makes a key, binds a UDP socket at an address such as `0.0.0.0:0`, and starts a thread.
///
/// # Safety
/// `bind` is a text that ends with a zero byte, `out` a place for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mainstay_peer_start(
    bind: *const c_char,
    out: *mut *mut MainstayPeer,
) -> MainstayStatus {
    guard(|| {
        // SAFETY: the caller's promise.
        let (bind, out) = unsafe { (read_text(bind)?, change(out)?) };
        let peer = Peer::start(address(bind)?)?;
        *out = Box::into_raw(Box::new(MainstayPeer { peer, seats: Arc::new(()) }));
        Ok(())
    })
}

/// Tells every other peer that this one goes, waits until that is sent, and frees it. Its seats are to be freed before: while
/// one is left nothing happens, and the answer is MAINSTAY_STATUS_SEATS_LEFT. Null is freed already.
///
/// # Safety
/// `peer` is null, or of mainstay_peer_start and not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mainstay_peer_free(peer: *mut MainstayPeer) -> MainstayStatus {
    guard(|| {
        // SAFETY: the caller's promise.
        let Ok(kept) = (unsafe { read(peer) }) else { return Ok(()) };
        if Arc::strong_count(&kept.seats) > 1 {
            return Err(MainstayStatus::SeatsLeft.into());
        }
        // SAFETY: the caller's promise.
        unsafe { free(peer) }
    })
}

/// Who this peer is.
///
/// # Safety
/// `peer` is of mainstay_peer_start and not freed, `out` a place for an id.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mainstay_peer_id(peer: *const MainstayPeer, out: *mut MainstayId) -> MainstayStatus {
    guard(|| {
        // SAFETY: the caller's promise.
        let (peer, out) = unsafe { (read(peer)?, change(out)?) };
        *out = peer.peer.id().into();
        Ok(())
    })
}

/// Where its socket is, as a text that ends with a zero byte: MAINSTAY_ADDRESS_LENGTH is always enough.
///
/// # Safety
/// `peer` is of mainstay_peer_start and not freed, `out` a place for `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mainstay_peer_address(
    peer: *const MainstayPeer,
    out: *mut c_char,
    length: usize,
) -> MainstayStatus {
    guard(|| {
        // SAFETY: the caller's promise.
        let peer = unsafe { read(peer)? };
        // SAFETY: the caller's promise.
        unsafe { write_text(&peer.peer.address().to_string(), out, length) }
    })
}

/// How others reach a peer, as far as that was found out.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MainstayNat {
    /// Nobody has found out, or the lobby has no two addresses to ask.
    Unknown = 0,
    /// Anybody reaches it.
    Open = 1,
    /// Whoever it has written to reaches it.
    Moderate = 2,
    /// Only whoever it writes to, from a port that others cannot foresee.
    Strict = 3,
}

impl From<NatType> for MainstayNat {
    fn from(nat: NatType) -> Self {
        match nat {
            NatType::Unknown => Self::Unknown,
            NatType::Open => Self::Open,
            NatType::Moderate => Self::Moderate,
            NatType::Strict => Self::Strict,
        }
    }
}

/// A lobby service.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MainstayService {
    /// `eCLS_LAN`
    Lan = 0,
    /// `eCLS_Online`: its lobby has such a flag of its own, too (mainstay_lobby_support).
    Online = 1,
}

fn service_of(number: u32) -> Result<Service, Fault> {
    match number {
        0 => Ok(Service::Lan),
        1 => Ok(Service::Online),
        _ => Err(MainstayStatus::NotAChoice.into()),
    }
}

/// Whether sessions of a service move (`GetLobbyServiceFlag(..., eCLSF_SupportHostMigration)`), as this process has it: they do until
/// mainstay_peer_set_support says otherwise. `service` is a MainstayService.
///
/// # Safety
/// `peer` is of mainstay_peer_start and not freed, `out` a place for the answer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mainstay_peer_support(
    peer: *const MainstayPeer,
    service: u32,
    out: *mut bool,
) -> MainstayStatus {
    guard(|| {
        // SAFETY: the caller's promise.
        let (peer, out) = unsafe { (read(peer)?, change(out)?) };
        *out = peer.peer.support(service_of(service)?) == Support::Supported;
        Ok(())
    })
}

/// Sets it, also for what is played: where it is false, no session moves there whose host this peer is, and it does not go along where
/// another host's moves. What it founds meanwhile is made so that it never does.
///
/// # Safety
/// `peer` is of mainstay_peer_start and not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mainstay_peer_set_support(
    peer: *const MainstayPeer,
    service: u32,
    supports: bool,
) -> MainstayStatus {
    guard(|| {
        // SAFETY: the caller's promise.
        let peer = unsafe { read(peer)? };
        let support = if supports { Support::Supported } else { Support::Unsupported };
        peer.peer.set_support(service_of(service)?, support);
        Ok(())
    })
}

/// How long an address is at most, the zero byte at its end included.
pub const MAINSTAY_ADDRESS_LENGTH: usize = 64;

/// How others see a peer.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct MainstayReach {
    /// How strictly its router translates.
    pub nat: MainstayNat,
    /// At which address, with a zero byte at its end; empty where nothing has answered.
    pub seen_as: [c_char; MAINSTAY_ADDRESS_LENGTH],
}

/// How others see this peer, and how strictly its router translates: known some seconds after it entered a session of a lobby that
/// answers STUN, and as long as it runs.
///
/// # Safety
/// `peer` is of mainstay_peer_start and not freed, `out` a place for the answer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mainstay_peer_reach(
    peer: *const MainstayPeer,
    out: *mut MainstayReach,
) -> MainstayStatus {
    guard(|| {
        // SAFETY: the caller's promise.
        let (peer, out) = unsafe { (read(peer)?, change(out)?) };
        let reach = peer.peer.reach();
        let seen_as = reach.seen_as.map(|address| address.to_string()).unwrap_or_default();
        *out = MainstayReach { nat: reach.nat.into(), seen_as: fixed(&seen_as) };
        Ok(())
    })
}

/// Founds a session: this peer is its first host.
///
/// # Safety
/// `peer` is of mainstay_peer_start and not freed; the others point to what their types say.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mainstay_peer_found(
    peer: *const MainstayPeer,
    session: *const MainstayId,
    options: *const MainstayOptions,
    out: *mut *mut MainstaySeat,
) -> MainstayStatus {
    // SAFETY: the caller's promise.
    unsafe {
        open(peer, session, options, out, |peer, options, listeners| Ok(peer.found(options, listeners)?))
    }
}

/// Joins a session of which some member can be reached at one of these addresses. MAINSTAY_EVENT_KIND_ENTERED says that it is in.
///
/// # Safety
/// `peer` is of mainstay_peer_start and not freed, `doors` points to `doors_length` texts, each ending with a zero byte; the others
/// point to what their types say.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mainstay_peer_join(
    peer: *const MainstayPeer,
    session: *const MainstayId,
    options: *const MainstayOptions,
    doors: *const *const c_char,
    doors_length: usize,
    out: *mut *mut MainstaySeat,
) -> MainstayStatus {
    // SAFETY: the caller's promise.
    unsafe {
        open(peer, session, options, out, |peer, options, listeners| {
            Ok(peer.join(options, read_addresses(doors, doors_length)?, listeners)?)
        })
    }
}

/// What every function does that takes a seat.
///
/// # Safety
/// As [`read`] and [`change`].
pub(crate) unsafe fn open(
    peer: *const MainstayPeer,
    session: *const MainstayId,
    options: *const MainstayOptions,
    out: *mut *mut MainstaySeat,
    sit: impl FnOnce(&Peer, SessionOptions, Vec<Registered>) -> Result<Seat, Fault>,
) -> MainstayStatus {
    guard(|| {
        // SAFETY: the caller's promise.
        let (peer, session, options, out) =
            unsafe { (read(peer)?, read(session)?, read(options)?, change(out)?) };
        let (options, listeners) = options.read(session)?;
        let seat = sit(&peer.peer, options, listeners)?;
        *out = Box::into_raw(Box::new(MainstaySeat::new(seat, Arc::clone(&peer.seats))));
        Ok(())
    })
}
