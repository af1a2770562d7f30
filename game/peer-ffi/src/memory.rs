//! How arguments are read out of a caller's memory, and texts put into it.

use std::ffi::{CStr, c_char};
use std::net::SocketAddr;

use crate::status::{Fault, MainstayStatus};

/// # Safety
/// `pointer` is null, or points to a value that nobody changes meanwhile.
pub(crate) unsafe fn read<'a, T>(pointer: *const T) -> Result<&'a T, Fault> {
    // SAFETY: the caller's promise; null becomes `None`.
    unsafe { pointer.as_ref() }.ok_or(MainstayStatus::NullPointer.into())
}

/// # Safety
/// `pointer` is null, or points to a value that nobody else uses meanwhile.
pub(crate) unsafe fn change<'a, T>(pointer: *mut T) -> Result<&'a mut T, Fault> {
    // SAFETY: the caller's promise; null becomes `None`.
    unsafe { pointer.as_mut() }.ok_or(MainstayStatus::NullPointer.into())
}

/// Frees what a function gave its caller. Null is freed already.
///
/// # Safety
/// `pointer` is null, or of `Box::into_raw` and not freed.
pub(crate) unsafe fn free<T>(pointer: *mut T) -> Result<(), Fault> {
    if !pointer.is_null() {
        // SAFETY: the caller's promise.
        drop(unsafe { Box::from_raw(pointer) });
    }
    Ok(())
}

/// # Safety
/// `text` is null, or points to a text that ends with a zero byte.
pub(crate) unsafe fn read_text<'a>(text: *const c_char) -> Result<&'a str, Fault> {
    if text.is_null() {
        return Err(MainstayStatus::NullPointer.into());
    }
    // SAFETY: it is not null, and the caller promises the zero byte.
    unsafe { CStr::from_ptr(text) }.to_str().map_err(|_| MainstayStatus::NotText.into())
}

/// A text that may be left out, by null.
///
/// # Safety
/// As [`read_text`].
pub(crate) unsafe fn read_optional_text<'a>(text: *const c_char) -> Result<Option<&'a str>, Fault> {
    if text.is_null() {
        return Ok(None);
    }
    // SAFETY: the caller's promise.
    unsafe { read_text(text) }.map(Some)
}

/// # Safety
/// `items` points to `length` of them that nobody changes meanwhile, or `length` is 0.
pub(crate) unsafe fn read_list<'a, T>(items: *const T, length: usize) -> Result<&'a [T], Fault> {
    match (items.is_null(), length) {
        (_, 0) => Ok(&[]),
        (true, _) => Err(MainstayStatus::NullPointer.into()),
        // SAFETY: it is not null, and the caller promises the length.
        (false, _) => Ok(unsafe { std::slice::from_raw_parts(items, length) }),
    }
}

/// # Safety
/// As [`read_list`], and each text ends with a zero byte.
pub(crate) unsafe fn read_addresses(
    texts: *const *const c_char,
    length: usize,
) -> Result<Vec<SocketAddr>, Fault> {
    // SAFETY: the caller's promise.
    unsafe { read_list(texts, length)?.iter().map(|text| address(read_text(*text)?)).collect() }
}

pub(crate) fn address(text: &str) -> Result<SocketAddr, Fault> {
    text.parse().map_err(|_| {
        let why = format!("`{text}` is no address: `192.0.2.1:5555` and `[2001:db8::1]:5555` are");
        Fault::new(MainstayStatus::NotAnAddress, why)
    })
}

/// Puts a text and its zero byte into a caller's place.
///
/// # Safety
/// `out` is null, or a place for `length` bytes, which the text is not in.
pub(crate) unsafe fn write_text(text: &str, out: *mut c_char, length: usize) -> Result<(), Fault> {
    if out.is_null() {
        return Err(MainstayStatus::NullPointer.into());
    }
    if text.len() >= length {
        return Err(MainstayStatus::TooShort.into());
    }
    // SAFETY: there is room for the text and its zero byte, and the text is not in that place.
    unsafe {
        std::ptr::copy_nonoverlapping(text.as_ptr().cast(), out, text.len());
        *out.add(text.len()) = 0;
    }
    Ok(())
}

/// Puts as many of these as there is room for into a caller's place, and says how many there are.
///
/// # Safety
/// `out` is a place for `capacity` of them, or null where that is 0; `length` is null, or a place for a number.
pub(crate) unsafe fn write_list<T>(
    items: Vec<T>,
    out: *mut T,
    capacity: usize,
    length: *mut usize,
) -> Result<(), Fault> {
    if out.is_null() && capacity > 0 {
        return Err(MainstayStatus::NullPointer.into());
    }
    // SAFETY: the caller's promise.
    *unsafe { change(length)? } = items.len();
    for (at, item) in items.into_iter().take(capacity).enumerate() {
        // SAFETY: it is not null, and the caller promises the room.
        unsafe { out.add(at).write(item) };
    }
    Ok(())
}

/// A text in a place of fixed length, with a zero byte at its end: what does not fit is cut, between two characters.
pub(crate) fn fixed<const LENGTH: usize>(text: &str) -> [c_char; LENGTH] {
    let fits = (0..LENGTH).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    let mut place = [0; LENGTH];
    for (to, from) in place.iter_mut().zip(text.bytes().take(fits)) {
        *to = c_char::from_ne_bytes([from]);
    }
    place
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status<T>(read: Result<T, Fault>) -> Option<MainstayStatus> {
        read.err().map(|fault| fault.status)
    }

    #[test]
    fn null_and_what_is_no_text_are_told() {
        let null = std::ptr::null();
        // SAFETY: null is allowed, and the text ends with zero.
        unsafe {
            assert_eq!(status(read_text(null)), Some(MainstayStatus::NullPointer));
            assert_eq!(read_optional_text(null), Ok(None));
            assert_eq!(status(read_text(c"\xff".as_ptr())), Some(MainstayStatus::NotText));
            assert_eq!(status(read_list(std::ptr::null::<u8>(), 3)), Some(MainstayStatus::NullPointer));
            assert_eq!(read_list(std::ptr::null::<u8>(), 0), Ok(&[][..]));
            let names = [c"192.0.2.1:5".as_ptr(), c"example.org:5".as_ptr()];
            assert_eq!(status(read_addresses(names.as_ptr(), 2)), Some(MainstayStatus::NotAnAddress));
            assert_eq!(read_addresses(names.as_ptr(), 1), Ok(vec![([192, 0, 2, 1], 5).into()]));
        }
    }

    #[test]
    fn a_place_has_room_for_the_zero_byte_too() {
        let mut place: [c_char; 3] = [1; 3];
        // SAFETY: there is a place of that length, or none.
        unsafe {
            assert_eq!(status(write_text("ab", std::ptr::null_mut(), 3)), Some(MainstayStatus::NullPointer));
            assert_eq!(status(write_text("abc", place.as_mut_ptr(), 3)), Some(MainstayStatus::TooShort));
            assert_eq!(place, [1; 3]);
            assert_eq!(write_text("ab", place.as_mut_ptr(), 3), Ok(()));
            assert_eq!(CStr::from_ptr(place.as_ptr()), c"ab");
            assert_eq!(write_text("", place.as_mut_ptr(), 1), Ok(()));
            assert_eq!(CStr::from_ptr(place.as_ptr()), c"");
        }
    }

    #[test]
    fn a_text_that_does_not_fit_is_cut_between_two_characters() {
        let bytes = |text: &str| fixed::<4>(text).map(|one| one.to_ne_bytes()[0]);
        assert_eq!(bytes("ab"), *b"ab\0\0");
        assert_eq!(bytes("abcd"), *b"abc\0");
        assert_eq!(bytes("ab\u{e9}"), *b"ab\0\0");
    }
}
