//! Sessions in a lobby, which proves their hosts.

use std::ffi::c_char;

use mainstay_peer::{
    Attributes, Authorities, Joining, NewSession, Online, Searchable, Support, Takeover, Token, Trust,
};

use crate::MainstayId;
use crate::memory::{change, read, read_addresses, read_list, read_optional_text, read_text};
use crate::peer::{MainstayOptions, MainstayPeer, open};
use crate::seat::MainstaySeat;
use crate::status::{Fault, MainstayStatus, guard};

/// Where a lobby is, and as whom this process comes to it. All zero but `url` is a player without a name, in a lobby that whomever this
/// system trusts vouches for.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct MainstayOnline {
    /// Its address, such as `https://games.example:7700`; `http` is answered to callers on the lobby's own host alone.
    pub url: *const c_char,
    /// Certificates in PEM form of who alone vouches for it: a studio's own authority, or `tls/ca.pem` of a control plane's data
    /// directory. Null for whomever this system trusts.
    pub authorities: *const c_char,
    /// What a login of PlayFab's face gave this player (`EntityToken`): a lobby that other hosts reach asks for it. Null for none.
    pub entity_token: *const c_char,
    /// For a session that a match has made: the token of this player's seat in it, which the studio's service reads and hands on; it is
    /// shown instead of the entity token. Null for none.
    pub seat_token: *const c_char,
    /// Whose process this is: read by lobbies that ask nobody for credentials. Null for a name that nobody else has.
    pub player: *const c_char,
    /// How others reach this peer, such as `192.0.2.1:5555`; without any, the address that the lobby's STUN responder sees it at, and
    /// the one that it reaches the lobby from.
    pub addresses: *const *const c_char,
    /// How many.
    pub addresses_length: usize,
}

impl MainstayOnline {
    /// # Safety
    /// The fields point to what they say.
    pub(crate) unsafe fn read(&self) -> Result<Online, Fault> {
        // SAFETY: the caller's promise.
        let (url, authorities, entity_token, seat_token, player, addresses) = unsafe {
            (
                read_text(self.url)?,
                read_optional_text(self.authorities)?,
                read_optional_text(self.entity_token)?,
                read_optional_text(self.seat_token)?,
                read_optional_text(self.player)?,
                read_addresses(self.addresses, self.addresses_length)?,
            )
        };
        let trust = match authorities {
            Some(pem) => Trust::Only(Authorities::from_pem(pem.as_bytes())?),
            None => Trust::System,
        };
        Ok(Online {
            url: url.to_owned(),
            trust,
            entity_token: entity_token.map(Token::from),
            seat_token: seat_token.map(Token::from),
            player: player.map(str::to_owned),
            addresses,
        })
    }
}

/// What sessions of a lobby are found by, such as `mode` and `capture`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct MainstayAttribute {
    /// 1 to 64 letters, digits and `_ - .`.
    pub name: *const c_char,
    /// 256 bytes at most, without control characters.
    pub value: *const c_char,
}

/// Of two of the same name the last counts.
///
/// # Safety
/// As [`read_list`], and the fields are texts that end with a zero byte.
pub(crate) unsafe fn read_attributes(
    attributes: *const MainstayAttribute,
    length: usize,
) -> Result<Attributes, Fault> {
    let mut read = Attributes::default();
    // SAFETY: the caller's promise.
    for MainstayAttribute { name, value } in unsafe { read_list(attributes, length)? } {
        // SAFETY: the caller's promise.
        let (name, value) = unsafe { (read_text(*name)?, read_text(*value)?) };
        read.set(name, value)?;
    }
    Ok(read)
}

/// When another may be host of a session while its lobby still hears the last one.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MainstayTakeover {
    /// Once more than half of all members miss it.
    Fast = 0,
    /// Not before its lease has run out: for what has lasting effects.
    Strict = 1,
}

/// A session as it is made in a lobby. All zero but `name` is one that everybody finds and may come into.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct MainstayNewSession {
    /// For people, 64 characters at most.
    pub name: *const c_char,
    /// What others find it by (mainstay_listing_start).
    pub attributes: *const MainstayAttribute,
    /// How many, 16 at most.
    pub attributes_length: usize,
    /// Whether only whoever was told of it comes (mainstay_seat_set_searchable).
    pub is_hidden: bool,
    /// Whether newcomers are not let in (mainstay_seat_set_joining).
    pub is_closed: bool,
    /// A MainstayTakeover.
    pub takeover: u32,
}

/// Whether sessions of that lobby move: its own flag `eCLSF_SupportHostMigration`, which who runs it sets. Waits for its answer.
///
/// # Safety
/// `online` points to what its type says, `out` is a place for the answer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mainstay_lobby_support(
    online: *const MainstayOnline,
    out: *mut bool,
) -> MainstayStatus {
    guard(|| {
        // SAFETY: the caller's promise.
        let (online, out) = unsafe { (read(online)?.read()?, change(out)?) };
        *out = online.support()? == Support::Supported;
        Ok(())
    })
}

/// Makes a session in a lobby, of which this peer is the first host: mainstay_seat_session says which, for the lobby makes its id. Where the
/// online service or the lobby does not support migration it does not move. Waits for the lobby's answers, some seconds at most.
///
/// # Safety
/// `peer` is of mainstay_peer_start and not freed; the others point to what their types say.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mainstay_peer_found_online(
    peer: *const MainstayPeer,
    online: *const MainstayOnline,
    new_session: *const MainstayNewSession,
    options: *const MainstayOptions,
    out: *mut *mut MainstaySeat,
) -> MainstayStatus {
    let none_yet = MainstayId::default();
    // SAFETY: the caller's promise.
    unsafe {
        open(peer, &raw const none_yet, options, out, |peer, options, listeners| {
            let (online, asked) = (read(online)?.read()?, read(new_session)?);
            let takeover = match asked.takeover {
                0 => Takeover::Fast,
                1 => Takeover::Strict,
                _ => return Err(MainstayStatus::NotAChoice.into()),
            };
            let new = NewSession {
                name: read_text(asked.name)?.to_owned(),
                size: options.size,
                attributes: read_attributes(asked.attributes, asked.attributes_length)?,
                searchable: if asked.is_hidden { Searchable::No } else { Searchable::Yes },
                joining: if asked.is_closed { Joining::Closed } else { Joining::Open },
                takeover,
            };
            Ok(peer.found_online(&online, &new, options, listeners)?)
        })
    }
}

/// Joins a session of a lobby: one that somebody has made there, or a match's, whose id is the match's. It has what it was made with,
/// whatever `options` say. One that is on its way to another host is waited for, 15 s at most. A match's has no
/// host at first: whichever of its players the lobby hears first is it, and is told MAINSTAY_EVENT_KIND_LEAD without parts.
/// MAINSTAY_EVENT_KIND_ENTERED says that it is in.
///
/// # Safety
/// `peer` is of mainstay_peer_start and not freed; the others point to what their types say.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mainstay_peer_join_online(
    peer: *const MainstayPeer,
    online: *const MainstayOnline,
    session: *const MainstayId,
    options: *const MainstayOptions,
    out: *mut *mut MainstaySeat,
) -> MainstayStatus {
    // SAFETY: the caller's promise.
    unsafe {
        open(peer, session, options, out, |peer, options, listeners| {
            let online = read(online)?.read()?;
            Ok(peer.join_online(&online, options.session, options, listeners)?)
        })
    }
}
