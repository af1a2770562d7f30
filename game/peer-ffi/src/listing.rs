//! Sessions of a lobby, found by what they are like.

use std::ffi::c_char;

use mainstay_peer::migration::Migratable;
use mainstay_peer::{Joining, ListedSession, OnlineSearch, Wanted};

use crate::MainstayId;
use crate::memory::{change, fixed, free, read, read_text, write_text};
use crate::online::{MainstayAttribute, MainstayOnline, read_attributes};
use crate::status::{MainstayStatus, guard};

/// How long the name of a session of a lobby is at most, the zero byte at its end included: 64 characters.
pub const MAINSTAY_LISTED_NAME_LENGTH: usize = 64 * 4 + 1;
/// How long the value of an attribute is at most, the zero byte at its end included.
pub const MAINSTAY_ATTRIBUTE_LENGTH: usize = 257;

/// A search of a lobby.
#[derive(Debug)]
pub struct MainstayListing {
    search: OnlineSearch,
    /// What was told last.
    told: Option<ListedSession>,
}

/// What a session is to be like. All zero is any, be it full or closed.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct MainstayWanted {
    /// With room for so many more; 0 finds full and closed ones, too.
    pub free: u32,
    /// With each of these attributes.
    pub attributes: *const MainstayAttribute,
    /// How many, 16 at most.
    pub attributes_length: usize,
}

/// A session that a lobby lists, as it stood then. mainstay_peer_join_online joins it.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct MainstayListed {
    /// Which.
    pub session: MainstayId,
    /// How many hosts it has had.
    pub epoch: u32,
    /// How many play.
    pub members: u32,
    /// How many it has at most.
    pub size: u32,
    /// How many more there is room for: seats of players who are on their way are taken.
    pub free: u32,
    /// Whether newcomers are let in, and not only those whom a match brings.
    pub open: bool,
    /// Whether it goes on with another host.
    pub migratable: bool,
    /// For people: UTF-8, with a zero byte at its end.
    pub name: [c_char; MAINSTAY_LISTED_NAME_LENGTH],
}

impl From<&ListedSession> for MainstayListed {
    fn from(listed: &ListedSession) -> Self {
        let count = |many: usize| u32::try_from(many).unwrap_or(u32::MAX);
        Self {
            session: listed.session.into(),
            epoch: listed.epoch.0,
            members: count(listed.members),
            size: listed.size,
            free: count(listed.free),
            open: listed.joining == Joining::Open,
            migratable: listed.migratable == Migratable::Yes,
            name: fixed(&listed.name),
        }
    }
}

/// Begins to search a lobby for sessions that were made with mainstay_peer_found_online. Nothing is asked before
/// mainstay_listing_next.
///
/// # Safety
/// `online` and `wanted` point to what their types say, `out` is a place for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mainstay_listing_start(
    online: *const MainstayOnline,
    wanted: *const MainstayWanted,
    out: *mut *mut MainstayListing,
) -> MainstayStatus {
    guard(|| {
        // SAFETY: the caller's promise.
        let (online, wanted, out) = unsafe { (read(online)?.read()?, read(wanted)?, change(out)?) };
        // SAFETY: the caller's promise.
        let attributes = unsafe { read_attributes(wanted.attributes, wanted.attributes_length)? };
        let search = OnlineSearch::new(&online, &Wanted { free: wanted.free, attributes });
        *out = Box::into_raw(Box::new(MainstayListing { search, told: None }));
        Ok(())
    })
}

/// The next session that fits, in no order that means anything: MAINSTAY_STATUS_NOTHING once all were told. Waits for the lobby, some
/// seconds at most, where it has to be asked for more. What failed may be asked again.
///
/// # Safety
/// `listing` is of mainstay_listing_start, not freed and used by nobody else meanwhile, `out` a place for a session.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mainstay_listing_next(
    listing: *mut MainstayListing,
    out: *mut MainstayListed,
) -> MainstayStatus {
    guard(|| {
        // SAFETY: the caller's promise.
        let (listing, out) = unsafe { (change(listing)?, change(out)?) };
        let found = listing.search.find()?.ok_or(MainstayStatus::Nothing)?;
        *out = (&found).into();
        listing.told = Some(found);
        Ok(())
    })
}

/// An attribute of the session that mainstay_listing_next told last, as a text that ends with a zero byte: MAINSTAY_ATTRIBUTE_LENGTH is
/// always enough. MAINSTAY_STATUS_NOTHING where it has no such attribute.
///
/// # Safety
/// `listing` is of mainstay_listing_start and not freed, `name` a text that ends with a zero byte, `out` a place for `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mainstay_listing_attribute(
    listing: *const MainstayListing,
    name: *const c_char,
    out: *mut c_char,
    length: usize,
) -> MainstayStatus {
    guard(|| {
        // SAFETY: the caller's promise.
        let (listing, name) = unsafe { (read(listing)?, read_text(name)?) };
        let value = listing.told.as_ref().and_then(|told| told.attributes.get(name));
        // SAFETY: the caller's promise.
        unsafe { write_text(value.ok_or(MainstayStatus::Nothing)?, out, length) }
    })
}

/// Ends a search. Null is freed already.
///
/// # Safety
/// `listing` is null, or of mainstay_listing_start and not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mainstay_listing_free(listing: *mut MainstayListing) -> MainstayStatus {
    // SAFETY: the caller's promise.
    guard(|| unsafe { free(listing) })
}
