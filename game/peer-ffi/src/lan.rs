//! Sessions on a LAN, found without any server.

use std::ffi::c_char;
use std::time::Duration;

use mainstay_peer::Joining;
use mainstay_peer::lan::{FoundSession, NAME_BYTES_MAX, Search};
use mainstay_peer::migration::Migratable;

use crate::MainstayId;
use crate::memory::{change, fixed, free, read, read_text, write_list};
use crate::peer::{MainstayOptions, MainstayPeer, open};
use crate::seat::MainstaySeat;
use crate::status::{MainstayStatus, guard};

/// How long the name of a session is at most, the zero byte at its end included.
pub const MAINSTAY_NAME_LENGTH: usize = 129;
const _: () = assert!(MAINSTAY_NAME_LENGTH == NAME_BYTES_MAX + 1);

/// A look around on the LAN, which goes on until it is freed.
#[derive(Debug)]
pub struct MainstaySearch {
    search: Search,
}

/// A session that somebody on this LAN hosts.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct MainstayFound {
    /// Which.
    pub session: MainstayId,
    /// Its host.
    pub host: MainstayId,
    /// How many hosts it has had.
    pub epoch: u32,
    /// How many since then without a majority.
    pub fork: u32,
    /// How many play.
    pub members: u32,
    /// How many it has at most.
    pub size: u32,
    /// Whether it goes on with another host.
    pub migratable: bool,
    /// Whether newcomers are not let in (mainstay_seat_set_joining).
    pub is_closed: bool,
    /// For people: UTF-8, with a zero byte at its end.
    pub name: [c_char; MAINSTAY_NAME_LENGTH],
}

impl From<&FoundSession> for MainstayFound {
    fn from(found: &FoundSession) -> Self {
        Self {
            session: found.session.into(),
            host: found.host.into(),
            epoch: found.stamp.epoch.0,
            fork: found.stamp.fork,
            members: found.members,
            size: found.size,
            migratable: found.migratable == Migratable::Yes,
            is_closed: found.joining == Joining::Closed,
            name: fixed(&found.name),
        }
    }
}

/// Begins to look around on the LAN.
///
/// # Safety
/// `out` is a place for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mainstay_search_start(out: *mut *mut MainstaySearch) -> MainstayStatus {
    guard(|| {
        // SAFETY: the caller's promise.
        let out = unsafe { change(out)? };
        let search = Search::start()?;
        *out = Box::into_raw(Box::new(MainstaySearch { search }));
        Ok(())
    })
}

/// Looks for so many milliseconds more, and tells which sessions stand: `length` is how many there are, of which the first `capacity`
/// are put at `out`. Two seconds find whoever is there.
///
/// # Safety
/// `search` is not freed and used by nobody else meanwhile, `out` has room for `capacity` sessions, `length` for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mainstay_search_list(
    search: *mut MainstaySearch,
    patience_ms: u32,
    out: *mut MainstayFound,
    capacity: usize,
    length: *mut usize,
) -> MainstayStatus {
    guard(|| {
        // SAFETY: the caller's promise.
        let search = unsafe { change(search)? };
        let _none = search.search.find(Duration::from_millis(patience_ms.into()), |_| false);
        let found = search.search.sessions().iter().map(MainstayFound::from).collect();
        // SAFETY: the caller's promise.
        unsafe { write_list(found, out, capacity, length) }
    })
}

/// Ends a look around. Null is freed already.
///
/// # Safety
/// `search` is null, or of mainstay_search_start and not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mainstay_search_free(search: *mut MainstaySearch) -> MainstayStatus {
    // SAFETY: the caller's promise.
    guard(|| unsafe { free(search) })
}

/// Founds a session that everybody on this LAN can find, whoever of those who came by mainstay_peer_join_lan is its host. `name` has at
/// most 128 bytes. Where the LAN's service does not support migration (mainstay_peer_set_support) it does not move.
///
/// # Safety
/// `peer` is of mainstay_peer_start and not freed, `name` a text that ends with a zero byte; the others point to what their types say.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mainstay_peer_found_lan(
    peer: *const MainstayPeer,
    session: *const MainstayId,
    name: *const c_char,
    options: *const MainstayOptions,
    out: *mut *mut MainstaySeat,
) -> MainstayStatus {
    // SAFETY: the caller's promise.
    unsafe {
        open(peer, session, options, out, |peer, options, listeners| {
            Ok(peer.found_lan(read_text(name)?, options, listeners)?)
        })
    }
}

/// Joins a session that this look around has found: MAINSTAY_STATUS_NOTHING where it stands no more. What it was made with counts,
/// whatever `options` say.
///
/// # Safety
/// `peer` is of mainstay_peer_start and `search` of mainstay_search_start, neither freed, and `search` used by nobody else meanwhile; the
/// others point to what their types say.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mainstay_peer_join_lan(
    peer: *const MainstayPeer,
    search: *mut MainstaySearch,
    session: *const MainstayId,
    options: *const MainstayOptions,
    out: *mut *mut MainstaySeat,
) -> MainstayStatus {
    // SAFETY: the caller's promise.
    unsafe {
        open(peer, session, options, out, |peer, options, listeners| {
            let (search, wanted) = (change(search)?, read(session)?.session());
            let found = search.search.sessions().into_iter().find(|found| found.session == wanted);
            let found = found.ok_or(MainstayStatus::Nothing)?;
            Ok(peer.join_lan(&found, options, listeners)?)
        })
    }
}
