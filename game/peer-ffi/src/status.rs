//! What functions answer, how arguments are read, and the wall that no panic crosses.

use std::ffi::{CStr, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

use mainstay_peer::{Closing, SeatError, StartError};

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
    /// A seat has one listener at most here.
    TooManyListeners = 8,
    /// The peer is shut down.
    Closing = 9,
    /// Its seats are to be freed first.
    SeatsLeft = 10,
    /// The place for the answer is too short.
    TooShort = 11,
    /// A bug of the library: what it was called with is to be freed and not used any more.
    Panicked = 12,
    /// The lobby gives no place.
    Lobby = 13,
    /// Nothing can be found or announced on the LAN: the system refuses multicast DNS, or a name is too long.
    Lan = 14,
}

impl From<StartError> for MainstayStatus {
    fn from(error: StartError) -> Self {
        match error {
            StartError::Bind { .. } => Self::NotBound,
            StartError::Io(_) | StartError::NoRandomness | StartError::Key(_) | StartError::NoCipher => {
                Self::System
            }
        }
    }
}

impl From<SeatError> for MainstayStatus {
    fn from(error: SeatError) -> Self {
        match error {
            SeatError::Closing(_) => Self::Closing,
            SeatError::Listeners { .. } => Self::TooManyListeners,
            SeatError::Lobby(_) => Self::Lobby,
            SeatError::Lan(_) => Self::Lan,
        }
    }
}

impl From<Closing> for MainstayStatus {
    fn from(_: Closing) -> Self {
        Self::Closing
    }
}

/// Runs the inside of a function of the ABI: whatever goes wrong becomes a status.
pub(crate) fn guard(run: impl FnOnce() -> Result<(), MainstayStatus>) -> MainstayStatus {
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(Ok(())) => MainstayStatus::Ok,
        Ok(Err(status)) => status,
        Err(_panic) => MainstayStatus::Panicked,
    }
}

/// # Safety
/// `pointer` is null, or points to a value that nobody changes meanwhile.
pub(crate) unsafe fn read<'a, T>(pointer: *const T) -> Result<&'a T, MainstayStatus> {
    // SAFETY: the caller's promise; null becomes `None`.
    unsafe { pointer.as_ref() }.ok_or(MainstayStatus::NullPointer)
}

/// # Safety
/// `pointer` is null, or points to a value that nobody else uses meanwhile.
pub(crate) unsafe fn change<'a, T>(pointer: *mut T) -> Result<&'a mut T, MainstayStatus> {
    // SAFETY: the caller's promise; null becomes `None`.
    unsafe { pointer.as_mut() }.ok_or(MainstayStatus::NullPointer)
}

/// # Safety
/// `text` is null, or points to a text that ends with a zero byte.
pub(crate) unsafe fn read_text<'a>(text: *const c_char) -> Result<&'a str, MainstayStatus> {
    if text.is_null() {
        return Err(MainstayStatus::NullPointer);
    }
    // SAFETY: it is not null, and the caller promises the zero byte.
    unsafe { CStr::from_ptr(text) }.to_str().map_err(|_| MainstayStatus::NotText)
}

/// # Safety
/// `bytes` points to `length` of them, or `length` is 0.
pub(crate) unsafe fn read_bytes(bytes: *const u8, length: usize) -> Result<Vec<u8>, MainstayStatus> {
    match (bytes.is_null(), length) {
        (_, 0) => Ok(Vec::new()),
        (true, _) => Err(MainstayStatus::NullPointer),
        // SAFETY: it is not null, and the caller promises the length.
        (false, _) => Ok(unsafe { std::slice::from_raw_parts(bytes, length) }.to_vec()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_panic_crosses() {
        assert_eq!(guard(|| panic!("a bug")), MainstayStatus::Panicked);
        assert_eq!(guard(|| Err(MainstayStatus::Nothing)), MainstayStatus::Nothing);
    }

    #[test]
    fn null_and_what_is_no_text_are_told() {
        // SAFETY: null is allowed, and the text ends with zero.
        let (null, text, none) = unsafe {
            (read_text(std::ptr::null()), read_text(c"\xff".as_ptr()), read_bytes(std::ptr::null(), 3))
        };
        assert_eq!(null, Err(MainstayStatus::NullPointer));
        assert_eq!(text, Err(MainstayStatus::NotText));
        assert_eq!(none, Err(MainstayStatus::NullPointer));
    }
}
