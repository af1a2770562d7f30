//! Moments as PlayFab's SDKs read them: with three digits of a second, always. The one for Java takes the digits for milliseconds, however many
//! they are, and reads a moment without any as one of another zone.

use jiff::Timestamp as Instant;
use serde::Serializer;

/// Writes one.
///
/// # Errors
/// Those of what it is written into.
pub(super) fn dated<S: Serializer>(at: &Instant, into: S) -> Result<S::Ok, S::Error> {
    into.collect_str(&format_args!("{at:.3}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_has_three_digits_of_a_second() {
        for (at, told) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (1_700_000_000_570, "2023-11-14T22:13:20.570Z"),
            (1_700_000_000_005, "2023-11-14T22:13:20.005Z"),
        ] {
            let at = Instant::from_millisecond(at).unwrap();
            let mut text = Vec::new();
            dated(&at, &mut serde_json::Serializer::new(&mut text)).unwrap();
            assert_eq!(String::from_utf8(text).unwrap(), format!("{told:?}"));
        }
    }
}
