//! What functions answer, why a call came to nothing, and the wall that no panic crosses.

use std::cell::RefCell;
use std::error::Error;
use std::ffi::c_char;
use std::panic::{AssertUnwindSafe, catch_unwind};

use mainstay_peer::lan::LanError;
use mainstay_peer::listener::ListError;
use mainstay_peer::{
    AttributeError, Closing, ListenersError, LobbyError, PlayError, SayError, SeatError, StartError,
    TrustError,
};

use crate::memory::{change, fixed};

/// What came of a call.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MainstayStatus {
    /// It is done.
    Ok = 0,
    /// Nothing has happened in the time that was given.
    Nothing = 1,
    /// A pointer that may not be null is.
    NullPointer = 2,
    /// A text is not UTF-8.
    NotText = 3,
    /// An address is not of the form `192.0.2.1:5555` or `[2001:db8::1]:5555`.
    NotAnAddress = 4,
    /// A number that stands for none of its choices.
    NotAChoice = 5,
    /// The address is taken, or none of this machine's.
    NotBound = 6,
    /// The system gives no thread, no socket or no random bytes.
    System = 7,
    /// A seat has 64 listeners at most.
    TooManyListeners = 8,
    /// The peer is shut down.
    Closing = 9,
    /// Its seats are to be freed first.
    SeatsLeft = 10,
    /// The place for the answer is too short.
    TooShort = 11,
    /// A bug of the library: what it was called with is to be freed and not used any more.
    Panicked = 12,
    /// The lobby refuses, and MainstayError has its code.
    LobbyRefused = 13,
    /// Nothing can be found or announced on the LAN: the system refuses multicast DNS, or a name is too long.
    Lan = 14,
    /// No lobby answers there: it may later.
    LobbyUnreachable = 15,
    /// What answers there cannot prove that it is the lobby, and was told nothing.
    LobbyUntrusted = 16,
    /// What answers there is no lobby.
    NotALobby = 17,
    /// A text holds no certificates of authorities in PEM form, or one that cannot be read.
    NotAuthorities = 18,
    /// The lobby's address is none, or the entity token holds what no token does, such as the end of a line.
    LobbyUnaskable = 19,
    /// An attribute has a name or a value that no session of a lobby has, or there are too many.
    NotAnAttribute = 20,
    /// The peer has a seat in that session that is not over: it is to be left or freed first.
    Seated = 21,
    /// The game has not read MAINSTAY_EVENT_KIND_ENTERED yet, or has read MAINSTAY_EVENT_KIND_OVER: there is no player.
    NotIn = 22,
    /// A deed or a message has more than 65,536 bytes.
    TooLong = 23,
    /// Entities are listed from OnDemoteToClient until OnFinalise, by whoever is not the new host: at any other time nothing would come of it.
    NotDemoted = 24,
}

impl MainstayStatus {
    /// For people.
    const fn says(self) -> &'static str {
        match self {
            Self::Ok => "it is done",
            Self::Nothing => "nothing has happened",
            Self::NullPointer => "a pointer that may not be null is",
            Self::NotText => "a text is not UTF-8",
            Self::NotAnAddress => "a text is no address",
            Self::NotAChoice => "a number stands for none of its choices: the header names them",
            Self::NotBound => "the address is taken, or none of this machine's",
            Self::System => "the system refuses",
            Self::TooManyListeners => "a seat has 64 listeners at most: one has to be removed first",
            Self::Closing => "the peer is shut down",
            Self::SeatsLeft => "seats of this peer are left: they are to be freed first",
            Self::TooShort => "the place for the answer is too short",
            Self::Panicked => "a bug of the library: what it was called with is to be freed",
            Self::LobbyRefused => "the lobby refuses",
            Self::Lan => "nothing can be found or announced on the LAN",
            Self::LobbyUnreachable => "no lobby answers",
            Self::LobbyUntrusted => "what answers cannot prove that it is the lobby",
            Self::NotALobby => "what answers is no lobby",
            Self::LobbyUnaskable => "the lobby's address is none, or the entity token is none",
            Self::NotAuthorities => "a text holds no certificates of authorities",
            Self::NotIn => "the game has not read yet that it is in, or has read that it is over",
            Self::TooLong => "a deed or a message is too long",
            Self::NotDemoted => {
                "entities are listed from OnDemoteToClient until OnFinalise, by whoever is not the new host"
            }
            Self::Seated => "the peer has a seat in that session that is not over",
            Self::NotAnAttribute => "no session of a lobby has such attributes",
        }
    }
}

/// How long the code of a refusal is at most, the zero byte at its end included.
pub const MAINSTAY_CODE_LENGTH: usize = 16;
/// How long the reason of an error is at most, the zero byte at its end included; what is longer is cut.
pub const MAINSTAY_WHY_LENGTH: usize = 512;

/// Why a call came to nothing.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct MainstayError {
    /// What the call answered; MAINSTAY_STATUS_OK where none has failed on this thread yet.
    pub status: MainstayStatus,
    /// By what code the lobby has refused, such as `MS-G007` (docs/reference/error-codes.md); otherwise empty. Ends with a zero byte.
    pub code: [c_char; MAINSTAY_CODE_LENGTH],
    /// For people: what, where and why, in UTF-8, with a zero byte at its end.
    pub why: [c_char; MAINSTAY_WHY_LENGTH],
}

/// What stands against a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) status: MainstayStatus,
    code: String,
    why: String,
}

impl Fault {
    pub(crate) fn new(status: MainstayStatus, why: impl Into<String>) -> Self {
        Self { status, code: String::new(), why: why.into() }
    }

    /// With everything that led to it.
    fn of(status: MainstayStatus, error: &(dyn Error + 'static)) -> Self {
        let causes = std::iter::successors(Some(error), |error| (*error).source());
        let why: Vec<String> = causes.map(ToString::to_string).collect();
        Self::new(status, why.join(": "))
    }
}

impl From<MainstayStatus> for Fault {
    fn from(status: MainstayStatus) -> Self {
        Self::new(status, status.says())
    }
}

impl From<StartError> for Fault {
    fn from(error: StartError) -> Self {
        let status = match error {
            StartError::Bind { .. } => MainstayStatus::NotBound,
            StartError::Io(_) | StartError::NoRandomness | StartError::Key(_) | StartError::NoCipher => {
                MainstayStatus::System
            }
        };
        Self::of(status, &error)
    }
}

impl From<SeatError> for Fault {
    fn from(error: SeatError) -> Self {
        match error {
            SeatError::Lobby(error) => error.into(),
            SeatError::Lan(error) => error.into(),
            SeatError::Closing(closing) => closing.into(),
            SeatError::Seated { .. } => Self::of(MainstayStatus::Seated, &error),
            SeatError::Listeners(error) => error.into(),
        }
    }
}

impl From<LobbyError> for Fault {
    fn from(error: LobbyError) -> Self {
        let (status, code) = match &error {
            LobbyError::Unreachable { .. } => (MainstayStatus::LobbyUnreachable, ""),
            LobbyError::Unaskable { .. } => (MainstayStatus::LobbyUnaskable, ""),
            LobbyError::Untrusted { .. } => (MainstayStatus::LobbyUntrusted, ""),
            LobbyError::Refused { code, .. } => (MainstayStatus::LobbyRefused, code.as_str()),
            LobbyError::Unreadable { .. } => (MainstayStatus::NotALobby, ""),
        };
        Self { code: code.to_owned(), ..Self::of(status, &error) }
    }
}

impl From<AttributeError> for Fault {
    fn from(error: AttributeError) -> Self {
        Self::of(MainstayStatus::NotAnAttribute, &error)
    }
}

impl From<Closing> for Fault {
    fn from(_: Closing) -> Self {
        MainstayStatus::Closing.into()
    }
}

impl From<PlayError> for Fault {
    fn from(error: PlayError) -> Self {
        match error {
            PlayError::Closing(closing) => closing.into(),
            PlayError::NotIn => Self::of(MainstayStatus::NotIn, &error),
            PlayError::TooLong { .. } => Self::of(MainstayStatus::TooLong, &error),
        }
    }
}

impl From<SayError> for Fault {
    fn from(error: SayError) -> Self {
        match error {
            SayError::Closing(closing) => closing.into(),
            SayError::TooLong { .. } => Self::of(MainstayStatus::TooLong, &error),
        }
    }
}

impl From<ListenersError> for Fault {
    fn from(error: ListenersError) -> Self {
        match error {
            ListenersError::Closing(closing) => closing.into(),
            ListenersError::TooMany => Self::of(MainstayStatus::TooManyListeners, &error),
        }
    }
}

impl From<ListError> for Fault {
    fn from(error: ListError) -> Self {
        match error {
            ListError::Closing(closing) => closing.into(),
            ListError::NotDemoted => Self::of(MainstayStatus::NotDemoted, &error),
        }
    }
}

impl From<LanError> for Fault {
    fn from(error: LanError) -> Self {
        Self::of(MainstayStatus::Lan, &error)
    }
}

impl From<TrustError> for Fault {
    fn from(error: TrustError) -> Self {
        Self::of(MainstayStatus::NotAuthorities, &error)
    }
}

thread_local! {
    /// Of the last call of this thread that failed.
    static LAST: RefCell<Option<Fault>> = const { RefCell::new(None) };
}

/// Runs the inside of a function of the ABI: whatever goes wrong becomes a status, and what is an error is kept for who asks why.
pub(crate) fn guard(run: impl FnOnce() -> Result<(), Fault>) -> MainstayStatus {
    let fault = match catch_unwind(AssertUnwindSafe(run)) {
        Ok(Ok(())) => return MainstayStatus::Ok,
        Ok(Err(Fault { status: MainstayStatus::Nothing, .. })) => return MainstayStatus::Nothing,
        Ok(Err(fault)) => fault,
        Err(_panic) => MainstayStatus::Panicked.into(),
    };
    let status = fault.status;
    LAST.set(Some(fault));
    status
}

/// Why the last call that failed on this thread did: one that answered neither MAINSTAY_STATUS_OK nor MAINSTAY_STATUS_NOTHING.
///
/// # Safety
/// `out` is a place for an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mainstay_last_error(out: *mut MainstayError) -> MainstayStatus {
    guard(|| {
        // SAFETY: the caller's promise.
        let out = unsafe { change(out)? };
        let last = LAST.with_borrow(Clone::clone);
        let Fault { status, code, why } = last.unwrap_or_else(|| Fault::new(MainstayStatus::Ok, ""));
        *out = MainstayError { status, code: fixed(&code), why: fixed(&why) };
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use std::ffi::CStr;

    use mainstay_peer::migration::SessionId;

    use super::*;

    fn last() -> (MainstayStatus, String, String) {
        let mut error =
            MainstayError { status: MainstayStatus::Ok, code: fixed("old"), why: fixed("as old") };
        // SAFETY: there is a place for it, and both texts end with zero.
        unsafe {
            assert_eq!(mainstay_last_error(&raw mut error), MainstayStatus::Ok);
            let read = |text: &[c_char]| CStr::from_ptr(text.as_ptr()).to_str().unwrap().to_owned();
            (error.status, read(&error.code), read(&error.why))
        }
    }

    #[test]
    fn no_panic_crosses() {
        assert_eq!(guard(|| panic!("a bug")), MainstayStatus::Panicked);
        assert_eq!(last().0, MainstayStatus::Panicked);
        assert_eq!(guard(|| Err(MainstayStatus::Nothing.into())), MainstayStatus::Nothing);
        assert_eq!(last().0, MainstayStatus::Panicked, "that nothing happened is no error");
    }

    #[test]
    fn who_asks_is_told_why() {
        assert_eq!(last(), (MainstayStatus::Ok, String::new(), String::new()), "before anything failed");
        let refused = LobbyError::Refused { code: "MS-G006".to_owned(), detail: "it is full".to_owned() };
        assert_eq!(guard(|| Err(SeatError::from(refused).into())), MainstayStatus::LobbyRefused);
        let (_, code, why) = last();
        assert_eq!((code.as_str(), why.contains("it is full")), ("MS-G006", true), "{why}");
        let seated = SeatError::Seated { session: SessionId(7) };
        assert_eq!(guard(|| Err(seated.into())), MainstayStatus::Seated);
        assert!(last().2.contains("00000007 that is not over"), "{}", last().2);
        let source = std::io::Error::other("no route");
        let unbound = StartError::Bind { address: ([127, 0, 0, 1], 7).into(), source };
        assert_eq!(guard(|| Err(unbound.into())), MainstayStatus::NotBound);
        assert_eq!(
            last(),
            (MainstayStatus::NotBound, String::new(), "cannot bind UDP 127.0.0.1:7: no route".to_owned())
        );
        let elsewhere = std::thread::spawn(last).join().unwrap();
        assert_eq!(elsewhere.0, MainstayStatus::Ok, "each thread has its own");
    }
}
